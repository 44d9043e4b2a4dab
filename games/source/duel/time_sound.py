"""Measure how much Duel's sound effects slow down a step of the emulator.

    python -m games.source.duel.time_sound

The ROM is built a second time, without sound effects. The same matches of two computer opponents
are played on both ROMs alternately, each in a process of its own, because a process can open only
one emulator.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import stable_retro

from games.source.duel import FOLDER
from games.source.duel.matches import CPU_CPU

SOURCE = Path(__file__).resolve().parent
THE_CALL = "        sound_step(!BLANK && PACE == 1);\n"
"""The line of main.c that plays the sounds of each frame."""
STEPS = 4000
PAIRS = 12


def build_without_sound(folder: Path) -> Path:
    """Build the ROM without sound effects below `folder`, and return its game folder.

    Raises:
        SystemExit: main.c does not have the line THE_CALL.
    """
    games = folder / "games"
    shutil.copytree(SOURCE.parent, games / "source", ignore=shutil.ignore_patterns("build"))
    shutil.copytree(FOLDER, games / FOLDER.name)
    main = games / "source" / SOURCE.name / "main.c"
    text = main.read_text()
    if THE_CALL not in text:
        raise SystemExit(
            f"main.c does not have the line {THE_CALL.strip()!r}, which time_sound.py removes; "
            "update THE_CALL"
        )
    main.write_text(text.replace(THE_CALL, ""))
    subprocess.run(["make", "--silent", "-C", main.parent, f"PYTHON={sys.executable}"], check=True)
    return games / FOLDER.name


def time_match(game: Path, seed: int) -> dict[str, Any]:
    """Play STEPS frames of a match; return the median step in microseconds,
    and the variables at the end.
    """
    emulator = stable_retro.RetroEmulator(str(game / "rom.md"))
    data = stable_retro.data.GameData()
    data.load(str(game / "data.json"), str(game / "scenario.json"))
    emulator.configure_data(data)
    for _ in range(60):  # the game starts up
        emulator.step()
    data.update_ram()
    for name, value in {
        "mode": CPU_CPU,
        "agent_level": 8,
        "enemy_level": 8,
        "seed": seed,
        "start": 1,
    }.items():
        data.set_value(name, value)
    data.update_ram()
    times = []
    for _ in range(STEPS):
        began = time.perf_counter_ns()
        emulator.step()
        times.append(time.perf_counter_ns() - began)
    data.update_ram()
    stands = {name: data.lookup_value(name) for name in ("frame", "agent_hp", "enemy_hp", "round")}
    return {"median_us": statistics.median(times) / 1000, "stands": stands}


def time_in_a_process(game: Path, seed: int) -> dict[str, Any]:
    """Call `time_match` in a process of its own, and return its result."""
    command = [
        sys.executable,
        "-m",
        "games.source.duel.time_sound",
        "--game",
        str(game),
        "--seed",
        str(seed),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def compare() -> None:
    """Time both ROMs alternately, and print the medians and their ratios.

    Raises:
        SystemExit: A match goes differently without sound.
    """
    with tempfile.TemporaryDirectory() as folder:
        silent_game = build_without_sound(Path(folder))
        ratios = []
        for seed in range(PAIRS):
            order = [FOLDER, silent_game]
            if seed % 2:
                order.reverse()
            measured = {game: time_in_a_process(game, seed) for game in order}
            heard, silent = measured[FOLDER], measured[silent_game]
            if heard["stands"] != silent["stands"]:
                raise SystemExit(
                    f"seed {seed}: the matches differ: with sound {heard['stands']}, "
                    f"without {silent['stands']}"
                )
            ratios.append(heard["median_us"] / silent["median_us"])
            print(
                f"seed {seed}: {heard['median_us']:.1f} us with sound, "
                f"{silent['median_us']:.1f} us without"
            )
    print(
        f"ratio: median {statistics.median(ratios):.3f}, lowest {min(ratios):.3f}, "
        f"highest {max(ratios):.3f}"
    )


def main() -> None:
    """Compare the ROMs, or, in a child process, time one match on one of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.game is None:
        compare()
    else:
        print(json.dumps(time_match(asked.game, asked.seed)))


if __name__ == "__main__":
    main()
