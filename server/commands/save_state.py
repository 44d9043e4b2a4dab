"""The command `save-state`: write the state of a game on a certain tick,
of a workflow or of a recorded run, as a save state.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from minibrains.console import find_console
from minibrains.engine.engine import Engine
from minibrains.errors import MinibrainsError, RunError
from minibrains.games.save_states import SaveState
from minibrains.graph.registry import Registry
from minibrains.run.replay import find_tape, replay
from minibrains.run.run import Run
from minibrains.tape.recording import FILE, read_events
from minibrains.tape.tape import Event
from server.cli import DONE
from server.commands.interrupt import stop_on_interrupt
from server.commands.progress import PrintMessages
from server.commands.replay import ask_for_packs
from server.commands.workflow_arguments import read_registry, read_spec


def main(arguments: argparse.Namespace) -> int:
    """Write a save state and print its file. Returns the exit status."""
    registry = read_registry(arguments)
    source = Path(arguments.workflow)
    if source.is_dir() or source.suffix == ".tape":
        saved = _replay(arguments, registry)
    else:
        saved = _play(arguments, registry)
    file = saved.keep(arguments.name, arguments.force)
    result = {
        "state": arguments.name,
        "game": saved.game.name,
        "episode": arguments.episode,
        "tick": arguments.tick,
        "file": str(file),
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        print(f"{saved.game.name}, tick {arguments.tick} of episode {arguments.episode}: {file}")
    return DONE


def _play(arguments: argparse.Namespace, registry: Registry) -> SaveState:
    """Play the episode of a workflow up to the tick. Raises KeyboardInterrupt if it is stopped."""
    run = Run(replace(read_spec(arguments), clock="fast"), [PrintMessages()], registry=registry)
    limit = run.settings.ticks
    if limit is not None and arguments.tick >= limit:
        raise MinibrainsError(
            f"--tick {arguments.tick}: the workflow ends an episode after {limit} ticks; "
            "expected a tick below"
        )
    _, console = find_console(run.engine.nodes)
    with stop_on_interrupt(run), run:
        run.engine.reset(arguments.episode - 1, run.settings.seed, limit)
        _advance(run.engine, arguments.tick)
        return console.save_state()


def _advance(engine: Engine, tick: int) -> None:
    while engine.tick < tick:
        ended = engine.advance(tick - engine.tick)
        if ended:
            raise RunError(
                f"--tick {tick}: the episode ended on its tick {engine.tick - 1}; "
                "expected that tick or one before"
            )
        if engine.stopping:
            raise KeyboardInterrupt


def _replay(arguments: argparse.Namespace, registry: Registry) -> SaveState:
    """Replay a recorded run up to the tick of its episode."""
    if arguments.set or arguments.brain or arguments.seed is not None:
        raise MinibrainsError(
            "--set, --brain and --seed are for a workflow; a recorded run plays as it did"
        )
    events, cut = read_events(find_tape(Path(arguments.workflow), FILE))
    if cut:
        print(cut, file=sys.stderr)
    ask_for_packs(events[0].value["packs"], arguments.pack)
    tick = _tick_of_run(events, arguments.episode, arguments.tick)
    with closing(replay(events, registry, start=tick, end=tick)) as replayed:
        for done in replayed:
            if done.difference is not None:
                raise RunError(
                    "the run does not play again as it did, so its state would be another: "
                    f"{done.difference}"
                )
            if done.arrived and done.run is not None:
                _, console = find_console(done.run.engine.nodes)
                return console.save_state()
    raise RunError(f"the run cannot be played again to its tick {tick}")


def _tick_of_run(events: list[Event], episode: int, tick: int) -> int:
    """Convert a tick of an episode, which count from 1, to the tick of the run."""
    about = [
        event for event in events if event.kind == "episode" and event.value["index"] == episode - 1
    ]
    if not about:
        count = len({event.value["index"] for event in events if event.kind == "episode"})
        raise MinibrainsError(f"--episode {episode}: the run has {count} episodes")
    begins = about[0].tick
    ends = events[-1].tick + 1
    if len(about) > 1:
        ends = about[1].tick
    if begins + tick >= ends:
        raise MinibrainsError(
            f"--tick {tick}: that episode of the run has {ends - begins} ticks; expected one below"
        )
    return begins + tick
