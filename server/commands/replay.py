"""The command `replay`: play a tape back and verify that the run is the same."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from minibrains.brain_file import hash_file
from minibrains.errors import MinibrainsError
from minibrains.run.replay import Replayed, find_tape, replay
from minibrains.tape.recording import FILE, read_events
from server.cli import DONE, FAILED
from server.commands.workflow_arguments import read_registry
from server.terminal import printable, tell


def main(arguments: argparse.Namespace) -> int:
    """Replay a tape and print the outcome. Returns the exit status."""
    from tqdm import tqdm

    # first, because results on the tape have types from the nodes' modules
    registry = read_registry(arguments)
    events, cut = read_events(find_tape(Path(arguments.run), FILE))
    header = events[0].value
    ask_for_packs(header["packs"], arguments.pack)
    last = max(event.tick for event in events)
    if arguments.start > last:
        raise MinibrainsError(f"--from {arguments.start}: the tape ends at tick {last}")
    done = Replayed()
    with tqdm(total=last, unit=" ticks", disable=None, leave=False) as bar:
        for done in replay(events, registry, arguments.start):
            bar.n = done.first + done.ticks
            bar.refresh()
    if cut:
        tell(cut)
    if done.metadata.get("rom_sha1") != header["facts"].get("rom_sha1"):
        tell(
            f"the ROM is a different one: {done.metadata.get('rom_sha1')}, "
            f"not {header['facts'].get('rom_sha1')}"
        )
    if arguments.json:
        print(json.dumps(_as_json(done, cut)))
    else:
        print(printable(_describe(done)))
    return FAILED if done.difference else DONE


def ask_for_packs(recorded: list[dict[str, str]], given: list[str]) -> None:
    """Raise MinibrainsError unless the user gave the tape's node packs:
    a tape may come from anybody, so it cannot load code.
    """
    hashes: set[str] = set()
    names: set[str] = set()
    for file in map(Path, given):
        names.add(file.name)
        if file.is_file():
            hashes.add(hash_file(file))
    for pack in recorded:
        if pack["sha256"] in hashes:
            continue
        file = Path(pack["file"])
        if file.name not in names:
            raise MinibrainsError(
                f"the run took nodes from {file}; if you trust that file, say so: --pack {file}"
            )
        tell(
            f"{file.name} is not the file that the run took nodes from; "
            f"its SHA-256 was {pack['sha256']}"
        )


def _as_json(done: Replayed, cut: str) -> dict[str, Any]:
    return {
        "equal": done.difference is None,
        "ticks": done.ticks,
        "first_tick": done.first,
        "episodes": done.episodes,
        "checks": done.checks,
        "difference": done.difference,
        "tape": cut or None,
    }


def _describe(done: Replayed) -> str:
    span = (
        f"ticks {done.first} to {done.first + done.ticks}, {done.episodes} episodes, "
        f"compared at {done.checks} points"
    )
    if done.difference is None:
        return f"equal: {span}"
    difference = done.difference
    return (
        f"different between ticks {difference['from']} and {difference['to']} ({span}):\n"
        f"  expected {difference['expected']}\n  found    {difference['found']}"
    )
