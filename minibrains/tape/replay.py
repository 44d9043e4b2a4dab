"""Play a tape again and hold the run to what it came to the first time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minibrains.engine.engine import Engine, MakeHost
from minibrains.engine.plan import Plan
from minibrains.errors import MinibrainsError, RunError
from minibrains.tape import snapshot
from minibrains.tape.recording import Recall, compared, modules
from minibrains.tape.tape import Event

MakePlan = Callable[[Any], Plan]
"""From a workflow as it was recorded, with its brains, to a plan."""


@dataclass(slots=True)
class Replayed:
    """What came of a replay."""

    ticks: int = 0
    """Ticks that were played again."""
    first: int = 0
    """The tick of the run from which on."""
    episodes: int = 0
    checks: int = 0
    """Points at which the run was compared."""
    difference: dict[str, Any] | None = field(default=None)
    """The first one that was found: between which ticks, and what was expected and found there."""


def replay(events: list[Event], start: int, make_plan: MakePlan, make_host: MakeHost) -> Iterator[Replayed]:
    """Play the events again, from the last snapshot at or before tick `start`; yields how far it is, last the end.

    Raises MinibrainsError if the workflow can no longer be opened, or there is nothing to replay.
    """
    kept = [event for event in events if event.kind == "snapshot" and event.tick <= start] if start else []
    begin = kept[-1] if kept else None
    first = begin.tick if begin else 0
    workflow = events[0].value
    for event in events:
        if begin and event.kind == "edit" and event.tick <= first:
            workflow = event.value
    recall = Recall(events)
    engine = Engine(make_plan(workflow), tape=recall)
    done = Replayed(first=first)
    try:
        engine.open(make_host)
        if begin is not None:
            engine.load_state(snapshot.load(begin.value, modules(engine)))
            engine.world.thinning = next((e.value for e in reversed(events) if e.kind == "pace" and e.tick <= first), 1)
            done.episodes = 1
        recall.begin(engine)
        checked = first
        for event in events[events.index(begin) + 1 if begin else 0 :]:
            failure = _come_to(engine, event)
            if failure is not None:
                expected = f"to go on to tick {event.tick}"
                done.difference = {"from": checked, "to": engine.ticks, "expected": expected, "found": failure}
            elif event.kind == "episode" and "ended" not in event.value:
                engine.reset(event.value["index"], event.value["seed"])
                done.episodes += 1
            elif event.kind in ("check", "episode"):
                expected = event.value["report"] if event.kind == "episode" else event.value
                if (found := compared(engine)) != expected:
                    names = [name for name in expected if expected[name] != found.get(name)]
                    done.difference = {
                        "from": checked,
                        "to": event.tick,
                        "expected": {name: expected[name] for name in names},
                        "found": {name: found.get(name) for name in names},
                    }
                checked = event.tick
                done.checks += 1
            elif event.kind == "edit":
                edit = engine.prepare(make_plan(event.value), event.value, make_host)
                engine.edits.append(edit)
                engine.advance(0)
                engine.finish_edit(edit)
            elif event.kind == "pace":
                engine.world.thinning = event.value
            done.ticks = engine.ticks - first
            yield done
            if done.difference is not None:
                return
    finally:
        engine.close()


def _come_to(engine: Engine, event: Event) -> str | None:
    """Play to the tick of an event; what kept it from getting there, unless that is what happened the first time."""
    try:
        while engine.ticks < event.tick:
            if engine.advance(event.tick - engine.ticks) and engine.ticks < event.tick:
                return "the episode ended"
    except RunError as error:
        if event.kind != "episode" or event.value.get("ended") != "failed":
            return str(error)
    return None


def find_tape(run: Path, name: str) -> Path:
    """The tape that a person means: a run folder, or the file itself. Raises MinibrainsError."""
    for path in (run / name, run):
        if path.is_file():
            return path
    if run.is_dir():
        raise MinibrainsError(f"{run} has no {name}; record one with: python -m server run WORKFLOW --record")
    raise MinibrainsError(f"there is no run {run}; expected a run folder, or the tape in it")
