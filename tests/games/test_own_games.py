"""Games, maps and save states of a person's own, in ~/.minibrains/games."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minibrains import GameError
from minibrains.games.catalog import find_game, known_games, known_hashes
from minibrains.testing import ScratchHost, opened, play
from nodes.consoles.retro import RetroEmulator
from tests.support.command import Command

SHIPPED = "Airstriker-Genesis-v0"
MINE = "Mine-Genesis-v0"


@pytest.fixture
def games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a person's own games, with one game in it."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "games"
    original = find_game([SHIPPED])
    shutil.copytree(original.data, folder / MINE)
    shutil.copyfile(original.rom, folder / MINE / "rom.md")
    return folder


def variables_of(console: RetroEmulator) -> Any:
    """The variables on the first tick of an episode."""
    with opened(console, ScratchHost(Path("/nonexistent"))):
        ((_, variables, *_),) = play(console, {})
    return variables


def test_a_folder_there_is_a_game(games: Path, summary: Callable[..., dict[str, Any]]) -> None:
    assert dict(known_games())[MINE] == games / MINE
    assert find_game([MINE]).rom == games / MINE / "rom.md"
    found = summary(
        "airstriker_random", "--set", f"console.game={MINE}", "--ticks", 30, "--episodes", 1
    )
    assert (found["game"], found["episodes"][0]["start"]["state"]) == (MINE, "Level1")


def test_save_states_there_are_the_game_s(games: Path) -> None:
    original = find_game([SHIPPED])
    own = games / SHIPPED
    own.mkdir()
    shutil.copyfile(original.state_file("Level1"), own / "Mine.state")
    game = find_game([SHIPPED])
    assert game.states() == ["Level1", "Mine"]
    assert (game.data, game.rom) == (original.data, original.rom)
    assert game.state_file("Level1") == original.state_file("Level1")
    assert variables_of(RetroEmulator(states=("Mine",))) == variables_of(RetroEmulator())


def test_what_is_there_comes_first(games: Path) -> None:
    original = find_game([SHIPPED])
    own = games / SHIPPED
    own.mkdir()
    for name in ("data.json", "scenario.json"):
        shutil.copyfile(original.data / name, own / name)
    (own / "metadata.json").write_text('{"default_state": "Level1"}')
    (own / "Level1.state").write_bytes(
        gzip.compress(gzip.decompress(original.state_file("Level1").read_bytes()))
    )
    game = find_game([SHIPPED])
    assert (game.data, game.state_file("Level1")) == (own, own / "Level1.state")
    assert game.rom == original.rom, "the ROM of the shipped one"
    assert dict(known_games())[SHIPPED] == own
    assert variables_of(RetroEmulator())


def test_a_map_of_one_s_own_does_not_lift_what_is_held_back(games: Path) -> None:
    original, own = find_game(["Duel-Genesis"]), games / "Duel-Genesis"
    own.mkdir()
    for name in ("data.json", "scenario.json", "metadata.json"):
        shutil.copyfile(original.data / name, own / name)
    console = RetroEmulator(game="Duel-Genesis", states=("Level4.KazeVsTarn",))
    with pytest.raises(GameError, match="held back by"):
        console.check_collectors(["writer"])


DEEP = "[" * 100_000
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "data.json that is not JSON": (
        {"data.json": "{"},
        r"data\.json cannot be read",
    ),
    "data.json that is not text": (
        {"data.json": b"\xff\xfe\x00"},
        r"data\.json cannot be read",
    ),
    "data.json that is a list": (
        {"data.json": "[]"},
        r"data\.json is not a JSON object",
    ),
    "data.json without variables": (
        {"data.json": "{}"},
        r"data\.json or scenario\.json cannot be read",
    ),
    "data.json nested deeply": (
        {"data.json": DEEP},
        r"data\.json cannot be read: it is nested too deeply",
    ),
    "an address that is a word": (
        {"data.json": '{"info": {"score": {"address": "there", "type": "|u1"}}}'},
        r"data\.json or scenario\.json cannot be read: .*type must be number",
    ),
    "no variable of the scenario": (
        {"data.json": '{"info": {"other": {"address": 16711680, "type": "|u1"}}}'},
        r"scenario\.json: the scenario needs the variable '\w+', which data\.json does not have",
    ),
    "no scenario.json": ({"scenario.json": None}, r"data\.json or scenario\.json cannot be read"),
    "scenario.json that is not JSON": (
        {"scenario.json": "]"},
        r"scenario\.json cannot be read",
    ),
    "scenario.json nested deeply": (
        {"scenario.json": DEEP},
        (
            r"scenario\.json .*nested "
            r"too deeply"
        ),
    ),
    "a reward that is a number": (
        {"scenario.json": '{"reward": 5}'},
        (
            r"(scenario\.json.* cannot "
            r"be read)"
        ),
    ),
    "metadata.json nested deeply": (
        {"metadata.json": DEEP},
        (
            r"metadata\.json .*nested "
            r"too deeply"
        ),
    ),
    "a default state that leads out": (
        {"metadata.json": '{"default_state": "../../x"}'},
        r"has no state '\.\./\.\./x'",
    ),
    "default states that are a number": (
        {"metadata.json": ('{"default_player_state": 5, "default_state": "x"}')},
        "no state 'x'",
    ),
    "a state that is none": (
        {"Level1.state": b"no state"},
        (
            r"Level1\.state: the save state "
            r"cannot be read"
        ),
    ),
    "a state of something else": (
        {"Level1.state": gzip.compress(b"else")},
        "'Level1' is not a save state of this game's",
    ),
    "a state that is far too large": (
        {"Level1.state": gzip.compress(bytes(65 << 20))},
        r"Level1\.state: .* larger than 64 MiB",
    ),
    "no ROM": ({"rom.md": None}, "no ROM of 'Mine-Genesis-v0' is there"),
    "a ROM that is none": ({"rom.md": b""}, r"the emulator cannot start .*rom\.md"),
    "a ROM of no console": (
        {"rom.md": None, "rom.txt": b"x"},
        (
            r"the emulator cannot start "
            r".*rom\.txt"
        ),
    ),
    "no data.json": (
        {"data.json": None},
        (
            r"games/Mine-Genesis-v0 is not a game: "
            r"it has no data\.json"
        ),
    ),
}


@pytest.mark.parametrize("files", BROKEN)
def test_a_broken_folder_is_told_in_a_sentence_and_takes_no_other_game_away(
    files: str, games: Path
) -> None:
    changes, words = BROKEN[files]
    for name, content in changes.items():
        (games / MINE / name).unlink(missing_ok=True)
        if content is not None:
            (games / MINE / name).write_bytes(
                content if isinstance(content, bytes) else content.encode()
            )
    with pytest.raises(GameError, match=words) as error:
        variables_of(RetroEmulator(game=MINE))
    assert "\n" not in str(error.value)
    assert variables_of(RetroEmulator(game=SHIPPED))


def test_whatever_lies_there_takes_no_other_game_away(games: Path) -> None:
    before = {name: folder for name, folder in known_games() if name != MINE}
    hashes = known_hashes()
    (games / "a file").write_bytes(b"\0")
    (games / "loop").symlink_to(games / "loop")
    (games / "up").symlink_to(games)
    (games / "Empty-Genesis-v0").mkdir()
    (games / MINE / "rom.sha").write_bytes(b"\xff\xfe" * 1000)
    (games / MINE / "Folder.state").mkdir()
    os.mkfifo(games / MINE / "Pipe.state")
    os.mkfifo(games / "fifo")
    thief = games / "Thief-Genesis-v0"
    thief.mkdir()
    (thief / "data.json").write_text("{}")
    (thief / "rom.sha").write_text(" ".join(hashes))
    assert {name: folder for name, folder in known_games() if name in before} == before
    found = known_hashes()
    assert {sha1: found[sha1] for sha1 in hashes} == hashes
    assert find_game([MINE]).states() == ["Level1"]


def test_check_says_what_is_wrong_with_an_own_game(games: Path, minibrains: Command) -> None:
    (games / MINE / "metadata.json").write_text("{")
    done = minibrains("check", "airstriker_random", "--set", f"console.game={MINE}")
    assert done.returncode == 2
    assert "metadata.json cannot be read" in done.stderr
    assert "Traceback" not in done.stderr
    assert minibrains("check", "airstriker_random").returncode == 0
