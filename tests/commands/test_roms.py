"""`roms import`: found by content, wherever it lies and whatever it is called."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import stable_retro.data

from minibrains.files import bundled_dir
from minibrains.games import catalog as games
from server.cli import main
from server.commands import roms

GAME = "Airstriker-Genesis-v0"
ROM = Path(stable_retro.data.get_romfile_path(GAME)).read_bytes()
NES_BODY = bytes(range(256)) * 64
NES_GAME = "Nobody-Nes-v0"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def search(tmp_path: Path) -> Any:
    folder = tmp_path / "search"
    (folder / "deep" / "deeper").mkdir(parents=True)
    return folder


def zipped(**members: Any) -> Any:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def imported(capsys: pytest.CaptureFixture[str], *paths: Any) -> Any:
    assert main(["roms", "import", *map(str, paths), "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert err.splitlines() == found["left_out"]
    return found


def stored(home: Path) -> Any:
    return {
        str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()
    }


def test_a_renamed_rom_in_a_nested_folder(
    capsys: pytest.CaptureFixture[str], home: Path, search: Path
) -> None:
    (search / "deep" / "deeper" / "what is this.bin").write_bytes(ROM)
    (search / "notes.txt").write_text("no ROM")
    found = imported(capsys, search)
    target = home / "roms" / GAME / "rom.md"
    assert found == {
        "imported": {GAME: str(target)},
        "already_there": {},
        "looked_at": 2,
        "left_out": [],
    }
    assert stored(home) == {f"roms/{GAME}/rom.md": ROM}


def test_an_imported_rom_is_found_by_the_console(
    capsys: pytest.CaptureFixture[str],
    home: Path,
    search: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    data = tmp_path / "games" / GAME
    data.mkdir(parents=True)
    (data / "data.json").write_text("{}")
    monkeypatch.setattr(games, "folders", lambda: [data.parent])
    monkeypatch.setattr(roms, "known_hashes", lambda: {hashlib.sha1(ROM).hexdigest(): GAME})
    (search / "rom").write_bytes(ROM)
    imported(capsys, search)
    assert games.find_game([GAME]).rom == home / "roms" / GAME / "rom.md"


def test_an_own_cartridge_plays_under_the_shared_map(home: Path) -> None:
    game = "StreetFighterIISpecialChampionEdition-Genesis-v0"
    ours = bundled_dir("games") / game
    assert dict(games.known_games())[game] == ours
    assert games.known_hashes()[(ours / "rom.sha").read_text().strip()] == game
    rom = home / "roms" / game / "rom.md"
    rom.parent.mkdir(parents=True)
    rom.write_bytes(b"a cartridge")
    found = games.find_game([game])
    assert (found.rom, found.data) == (rom, ours)
    state = found.state_file(found.default_state(1) or "")
    assert state.parent.name == game, "stable-retro's own, to begin from"
    assert state.parent != ours


def test_a_zipped_rom_never_says_where_it_goes(
    capsys: pytest.CaptureFixture[str], home: Path, search: Path, tmp_path: Path
) -> None:
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(home)}
    archive = search / "deep" / "roms.ZIP"
    archive.write_bytes(
        zipped(**{"readme": "x", "../../../evil.md": ROM, "/tmp/evil.md": ROM, "folder/": ""})
    )
    found = imported(capsys, search)
    assert list(found["imported"]) == [GAME]
    assert found["looked_at"] == 3
    assert stored(home) == {f"roms/{GAME}/rom.md": ROM}
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(home)} - before == {
        archive
    }


def test_several_paths_and_one_rom_twice(capsys: pytest.CaptureFixture[str], search: Path) -> None:
    first, second = search / "a.md", search / "b.zip"
    first.write_bytes(ROM)
    second.write_bytes(zipped(rom=ROM))
    found = imported(capsys, first, second)
    assert list(found["imported"]) == [GAME]
    assert found["already_there"] == {}
    assert found["looked_at"] == 2


def test_what_is_there_stays_there(
    capsys: pytest.CaptureFixture[str], home: Path, search: Path
) -> None:
    (search / "rom.md").write_bytes(ROM)
    imported(capsys, search)
    target = home / "roms" / GAME / "rom.md"
    written = target.stat().st_ino
    found = imported(capsys, search)
    assert (found["imported"], found["already_there"]) == ({}, {GAME: str(target)})
    assert target.stat().st_ino == written


def test_a_damaged_copy_is_replaced(
    capsys: pytest.CaptureFixture[str], home: Path, search: Path
) -> None:
    target = home / "roms" / GAME / "rom.md"
    target.parent.mkdir(parents=True)
    target.write_bytes(ROM[:-1])
    (search / "rom.md").write_bytes(ROM)
    assert list(imported(capsys, search)["imported"]) == [GAME]
    assert target.read_bytes() == ROM


def test_an_nes_rom_is_known_without_its_header(
    capsys: pytest.CaptureFixture[str], home: Path, search: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {hashlib.sha1(NES_BODY).hexdigest(): NES_GAME}
    monkeypatch.setattr(roms, "known_hashes", lambda: known)
    (search / "game.nes").write_bytes(b"NES\x1a" + bytes(12) + NES_BODY)
    imported(capsys, search)
    assert stored(home) == {f"roms/{NES_GAME}/rom.nes": b"NES\x1a" + bytes(12) + NES_BODY}


def test_an_arcade_game_cannot_be_stored_as_one_rom(
    capsys: pytest.CaptureFixture[str], home: Path, search: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        roms, "known_hashes", lambda: {hashlib.sha1(ROM).hexdigest(): "Nobody-Arcade-v0"}
    )
    (search / "rom.md").write_bytes(ROM)
    assert main(["roms", "import", str(search)]) == 2
    assert not home.exists()


def test_unreadable_files_are_left_out_and_named(
    capsys: pytest.CaptureFixture[str], search: Path
) -> None:
    whole = zipped(first=ROM, second=b"x" * 1000)
    damaged = bytearray(whole)
    damaged[200:260] = bytes(60)
    encrypted = whole.replace(
        b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00"
    )
    assert encrypted != whole
    (search / "damaged.zip").write_bytes(damaged)
    (search / "encrypted.zip").write_bytes(encrypted)
    (search / "no.zip").write_bytes(b"PK, but no archive")
    (search / "rom.md").write_bytes(ROM)
    found = imported(capsys, search)
    assert list(found["imported"]) == [GAME]
    for name in ("damaged.zip, 'first'", "encrypted.zip, 'first'", "no.zip"):
        assert any(
            sentence.startswith(f"{search / name}: left out: ") for sentence in found["left_out"]
        )


def test_what_is_too_large_is_left_out(
    capsys: pytest.CaptureFixture[str], search: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roms, "SIZE_LIMIT", len(ROM))
    (search / "big.md").write_bytes(ROM + b"x")
    (search / "big.zip").write_bytes(zipped(big=ROM + bytes(10**6), good=ROM))
    found = imported(capsys, search)
    assert list(found["imported"]) == [GAME]
    assert [sentence.partition(": left out: ")[0] for sentence in found["left_out"]] == [
        str(search / "big.md"),
        f"{search / 'big.zip'}, 'big'",
    ]


def test_people_read_the_same(capsys: pytest.CaptureFixture[str], home: Path, search: Path) -> None:
    (search / "rom.md").write_bytes(ROM)
    for word in ("imported", "already there"):
        assert main(["roms", "import", str(search)]) == 0
        first, last = capsys.readouterr().out.splitlines()
        assert first.split("  ")[0] == word
        assert first.endswith(GAME)
        assert last == f"files looked at: 1; the ROMs are in {home / 'roms'}"


def test_nothing_known_is_a_wrong_request(
    capsys: pytest.CaptureFixture[str], home: Path, search: Path
) -> None:
    (search / "notes.txt").write_text("no ROM")
    assert main(["roms", "import", str(search), "--json"]) == 2
    out, err = capsys.readouterr()
    message = json.loads(out)["error"]["message"]
    assert message.startswith(f"no ROM of a known game is in {search} (files looked at: 1)")
    assert message in err
    assert not home.exists()


def test_a_path_that_is_not_there(capsys: pytest.CaptureFixture[str], search: Path) -> None:
    assert main(["roms", "import", str(search / "none")]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err


def test_a_rom_folder_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], home: Path, search: Path
) -> None:
    home.write_text("a file where the folder should be")
    (search / "rom.md").write_bytes(ROM)
    assert main(["roms", "import", str(search)]) == 2
    assert "the ROM cannot be written" in capsys.readouterr().err
