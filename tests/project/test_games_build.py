"""The games' ROMs are what their sources say: built again, they are the committed bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minibrains import GameError
from minibrains.files import bundled_dir
from minibrains.games.catalog import find_game, known_games
from tests.support.timeouts import TIMEOUT

COMPILERS = {"arm-none-eabi-gcc": "gcc-arm-none-eabi", "m68k-linux-gnu-gcc": "gcc-m68k-linux-gnu"}
"""Cross compilers and the Debian packages that have them."""
ROMS = sorted(bundled_dir("games").glob("*/rom.[gm]*"))


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of games/ without its ROMs, after `make` there."""
    missing = [package for compiler, package in COMPILERS.items() if shutil.which(compiler) is None]
    if missing:
        pytest.fail(
            f"the games cannot be built here; on Debian: apt-get install {' '.join(missing)}",
            pytrace=False,
        )
    folder = tmp_path_factory.mktemp("built") / "games"
    built = shutil.ignore_patterns("build", "rom.gba", "rom.md", "__pycache__")
    shutil.copytree(bundled_dir("games"), folder, ignore=built)
    # make's own variables of a make that runs this test are none of this one's
    environment = dict(os.environ)
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
        environment.pop(name, None)
    command = ["make", "-C", str(folder), f"PYTHON={sys.executable}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_there_are_games() -> None:
    assert {rom.parent.name for rom in ROMS} >= {"Pad-Genesis", "Pad-GbAdvance"}


def test_the_sources_are_no_game() -> None:
    assert (bundled_dir("games") / "source").is_dir()
    assert "source" not in dict(known_games())
    with pytest.raises(GameError, match="there is no game called 'source'"):
        find_game(("source",))


@pytest.mark.parametrize("rom", ROMS, ids=lambda rom: rom.parent.name)
def test_a_game_holds_only_what_is_read_at_play_time(rom: Path) -> None:
    kinds = {path.suffix for path in rom.parent.iterdir()}
    assert kinds <= {rom.suffix, ".sha", ".json", ".jsonl", ".state", ".md", ".png"}


@pytest.mark.slow
@pytest.mark.parametrize("rom", ROMS, ids=lambda rom: rom.parent.name)
def test_a_rebuilt_rom_has_the_committed_bytes(rom: Path, rebuilt: Path) -> None:
    again = rebuilt / rom.parent.name / rom.name
    assert again.read_bytes() == rom.read_bytes(), (
        f"{rom} is not what its sources say: make -C games, then its states"
    )


@pytest.mark.parametrize("rom", ROMS, ids=lambda rom: rom.parent.name)
def test_rom_sha_is_of_this_rom(rom: Path) -> None:
    assert (rom.parent / "rom.sha").read_text().split() == [
        hashlib.sha1(rom.read_bytes()).hexdigest()
    ]


@pytest.mark.parametrize("rom", ROMS, ids=lambda rom: rom.parent.name)
def test_no_console_maker_is_named_in_a_rom(rom: Path) -> None:
    words = rom.read_bytes().upper()
    assert b"SEGA" not in words
    assert b"NINTENDO" not in words


@pytest.mark.parametrize(
    "rom", sorted(bundled_dir("games").glob("*/rom.gba")), ids=lambda rom: rom.parent.name
)
def test_a_gba_header_has_zeros_where_the_logo_was(rom: Path) -> None:
    assert not any(rom.read_bytes()[0x04:0xA0])


@pytest.mark.parametrize(
    "rom", sorted(bundled_dir("games").glob("*/rom.md")), ids=lambda rom: rom.parent.name
)
def test_a_genesis_header_has_our_own_words(rom: Path) -> None:
    assert rom.read_bytes()[0x100:0x110].strip() == b"MINIBRAINS"
