"""The command `sweep`: a widget or a brain is varied, and every variant plays the same episodes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from minibrains.evaluation.report import outcome
from minibrains.evaluation.sweep import Sweep, describe, read_axis, write_result
from server.cli import DONE, FAILED, STOPPED
from server.commands.play_games import play_games, say_stopped
from server.commands.workflow_arguments import read_registry, read_spec
from server.terminal import printable, tell


def main(arguments: argparse.Namespace) -> int:
    """Play a sweep and print its table. Returns the exit status."""
    axes = [read_axis(text) for text in arguments.vary]
    axes += [read_axis(text, is_brain=True) for text in arguments.vary_brain]
    registry = read_registry(arguments)
    sweep = Sweep(
        read_spec(arguments),
        registry,
        axes,
        arguments.states,
        arguments.episodes,
        arguments.seed,
        arguments.ticks,
    )
    out = Path(arguments.out)
    rows = sweep.rows(out)
    players = [variant.player for variant in sweep.variants]
    whole = len({player.key for player in players}) * arguments.episodes
    missing = sweep.missing(rows)
    if play_games(arguments.workers, players, missing, rows, whole, out):
        remaining = sum(map(len, sweep.missing(rows)))
        say_stopped(arguments, whole - remaining, whole)
        return STOPPED

    result = write_result(sweep, rows, out)
    if arguments.json:
        print(json.dumps(result))
    else:
        print(printable("\n".join([describe(result), *result["files"].values()])))
    failed: list[str] = []
    for known in rows:
        for index in range(arguments.episodes):
            if outcome(known.episodes[index]) == "failed":
                failed.append(known.episodes[index]["error"])
    if failed:
        tell(f"{len(failed)} episodes failed, they count as not won; the first: {failed[0]}")
        return FAILED
    return DONE
