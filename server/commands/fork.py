"""The command `fork`: play a recorded run on from one of its ticks, and compare the two."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from minibrains.errors import MinibrainsError
from minibrains.hooks import Budget, Hook
from minibrains.run.digest import digest_of
from minibrains.run.fork import ForkPoint
from minibrains.run.replay import find_tape
from minibrains.run.rewind import Rewind
from minibrains.run.run import Run
from minibrains.tape.recording import FILE, read_events
from minibrains.tape.tape import Event
from server.cli import DONE, STOPPED, explain
from server.commands.interrupt import stop_on_interrupt
from server.commands.progress import PrintMessages, progress_hook
from server.commands.replay import ask_for_packs
from server.commands.run_table import HEADING, outcome
from server.commands.workflow_arguments import read_changes, read_registry
from server.terminal import printable, tell


def main(arguments: argparse.Namespace) -> int:
    """Play a fork, and print both outcomes. Returns the exit status."""
    # first, because results on the tape have types from the nodes' modules
    registry = read_registry(arguments)
    events, cut = read_events(find_tape(Path(arguments.run), FILE))
    if cut:
        tell(cut)
    ask_for_packs(events[0].value["packs"], arguments.pack)
    with Rewind(events, registry) as rewind:
        point = _find(rewind, arguments.tick)
    if point.tick != arguments.tick:
        tell(
            f"the fork begins at tick {point.tick}: a node was asked then, and its answer is not "
            "on the tape"
        )

    difference = FirstDifference(rewind.first, rewind.digests)
    spec = replace(
        point.spec(), runs=arguments.runs, command=arguments.command, **read_changes(arguments)
    )
    run = Run(spec, [PrintMessages(), progress_hook(), difference], registry=registry, fork=point)
    try:
        with stop_on_interrupt(run), run:
            for _ in run:
                pass
    except BaseException:
        if run.error is None:
            raise
    result = {
        "tick": point.tick,
        "episode": point.episode[0] + 1,
        "first_difference": difference.tick,
        "recorded": _recorded(events, point),
        **run.summary,
    }
    if arguments.json:
        print(json.dumps(result, default=repr))
    elif run.results.episodes:
        print(printable(_describe(result)))
    if run.error is not None:
        return explain(run.error)
    return STOPPED if run.stopping else DONE


class FirstDifference(Hook):
    """Finds the first tick at which a run differs from another one."""

    def __init__(self, first: int, digests: list[bytes]) -> None:
        """Compare with the digests of the ticks after the first."""
        self.tick: int | None = None
        self._first, self._digests = first, digests

    def between_ticks(self, run: Run) -> Budget | None:
        if self.tick is not None:
            return None
        self._compare(run)
        return Budget(ticks=1)

    def after_episode(self, run: Run, episode: Any) -> None:
        self._compare(run)

    def _compare(self, run: Run) -> None:
        index = run.engine.total_ticks - self._first - 1
        is_known = 0 <= index < len(self._digests)
        if self.tick is None and is_known and digest_of(run.engine) != self._digests[index]:
            self.tick = run.engine.total_ticks


def _find(rewind: Rewind, tick: int) -> ForkPoint:
    """Play the recorded run, and return the tick at which to fork it."""
    from tqdm import tqdm

    with tqdm(total=rewind.last, unit=" ticks", disable=None, leave=False) as bar:
        for _ in rewind.scan():
            bar.update()
    if tick > rewind.last:
        raise MinibrainsError(f"--tick {tick}: the run can be played to tick {rewind.last}")
    rewind.go_to(tick)
    return rewind.fork_point()


def _recorded(events: list[Event], point: ForkPoint) -> dict[str, Any] | None:
    """Return the outcome of the recorded episode; None if it was cut off."""
    index = point.episode[0]
    for event in events:
        if event.kind == "episode" and event.value["index"] == index and "ended" in event.value:
            report = event.value["report"]
            found = {name: report.get(name) for name in ("score", "won", "drawn")}
            return {**found, "ticks": report["tick"], "ended": event.value["ended"]}
    return None


def _describe(result: Mapping[str, Any]) -> str:
    lines = [f"{'':<10}{HEADING}"]
    for name, episode in (("recorded", result["recorded"]), ("fork", result["episodes"][0])):
        if episode is not None:
            lines.append(f"{name:<10}{outcome(episode)}")
    difference = "the two are identical up to the end of the shorter one"
    if result["first_difference"] is not None:
        difference = f"they differ from tick {result['first_difference']} on"
    lines.append(f"from tick {result['tick']}; {difference}")
    lines.append(f"run folder {result['run_dir']}")
    return "\n".join(lines)
