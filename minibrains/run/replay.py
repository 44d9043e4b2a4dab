"""Replay a tape, and compare the run with what was recorded."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minibrains.engine.compile import compile_graph
from minibrains.engine.engine import Engine
from minibrains.engine.plan import Plan
from minibrains.engine.replay_policy import Tape, is_replayed
from minibrains.errors import MinibrainsError, RunError
from minibrains.files import home
from minibrains.graph.catalog import find_imported_brain
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import parse_workflow
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from minibrains.tape import snapshot
from minibrains.tape.recording import TapePlayer, check_report, modules
from minibrains.tape.tape import Event


@dataclass(slots=True)
class Replayed:
    """The progress and the outcome of a replay."""

    first: int = 0
    """The tick of the run at which the replay begins."""
    ticks: int = 0
    """Number of ticks that were replayed."""
    episodes: int = 0
    checks: int = 0
    """Number of checks that were compared."""
    difference: dict[str, Any] | None = None
    """The first difference: the ticks between which it arose, what was expected, and what was
    found."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """The metadata that nodes recorded for the whole run, such as the ROM."""
    run: Run | None = None
    """The run that replays the tape, while it is open."""
    arrived: bool = False
    """True once it has reached the tick at which it was to end."""


def replay(
    events: list[Event], registry: Registry, start: int = 0, end: int | None = None
) -> Generator[Replayed, None, None]:
    """Replay a tape from the last snapshot at or before tick `start`,
    and yield the progress after each event.

    With an `end`, it stops at that tick and yields once more there; the events that were recorded
    on that tick have been applied by then.

    Background nodes are not called, and no person has to play: their results and inputs come from
    the tape.

    Args:
        events: All events of the tape, in the order of their ticks.
        registry: Node types, including those of the run's packs.
        start: A tick of the run.
        end: A tick of the run; None: its end.

    Raises:
        MinibrainsError: The workflow can no longer be opened, or a brain that is needed has
            changed.
    """
    header = events[0].value
    if end is not None:
        events = [event for event in events if event.tick <= end]

    # where it begins: with the snapshot, or with the first event
    start = max(start, first_tick(events))
    snapshot_event = _last_snapshot(events, start)
    done = Replayed()
    recorded = header
    following = 0
    if snapshot_event is not None:
        done.first = snapshot_event.tick
        following = events.index(snapshot_event) + 1
        recorded = workflow_at(events, done.first)

    # the run as it was then
    player = TapePlayer(events)
    run = Run(recorded_spec(recorded, header["path"]), registry=registry, tape=player)
    verify_brains(run.engine.plan, player, recorded)
    with run:
        done.run = run
        done.metadata = run.results.metadata
        engine = run.engine
        if snapshot_event is not None:
            engine.load_state(snapshot.load(snapshot_event.value, modules(engine)))
            engine.context.decimation = decimation_at(events, done.first)
            done.episodes = 1
        player.begin(engine)

        # what happened since
        compared_at = done.first
        for event in events[following:]:
            failure = come_to(engine, event)
            if failure is not None:
                expected = f"to go on to tick {event.tick}"
                done.difference = {
                    "from": compared_at,
                    "to": engine.total_ticks,
                    "expected": expected,
                    "found": failure,
                }
            elif event.kind == "episode" and "ended" not in event.value:
                engine.reset(event.value["index"], event.value["seed"], event.value.get("limit"))
                done.episodes += 1
            elif event.kind in ("check", "episode"):
                done.difference = compare(engine, event, compared_at)
                done.checks += 1
                compared_at = event.tick
            elif event.kind == "edit":
                apply_recorded_edit(run, player, event.value, header["path"])
            elif event.kind == "pace":
                engine.context.decimation = event.value
            done.ticks = engine.total_ticks - done.first
            yield done
            if done.difference is not None:
                return
        if end is not None:
            failure = come_to(engine, Event(end, "", "check", None))
            if failure is not None:
                raise RunError(f"the run cannot be played again to its tick {end}: {failure}")
            done.ticks = end - done.first
            done.arrived = True
            yield done


def first_tick(events: list[Event]) -> int:
    """Return the tick with which a tape begins: 0, or that of a snapshot, if it has only the last
    ticks of a run.
    """
    first: int = events[0].value.get("first", 0)
    return first


def _last_snapshot(events: list[Event], start: int) -> Event | None:
    """Return the last snapshot at or before a tick, except those of older versions,
    which were pickles.
    """
    found = None
    for event in events:
        if (
            start
            and event.kind == "snapshot"
            and event.tick <= start
            and snapshot.is_snapshot(event.value)
        ):
            found = event
    return found


def workflow_at(events: list[Event], tick: int) -> Any:
    """Return the recorded workflow at a tick: that of the last edit,
    or of the header if there was none.
    """
    recorded = events[0].value
    for event in events:
        if event.kind == "edit" and event.tick <= tick:
            recorded = event.value
    return recorded


def decimation_at(events: list[Event], tick: int) -> int:
    """Return the decimation of optional nodes at a tick."""
    decimation = 1
    for event in events:
        if event.kind == "pace" and event.tick <= tick:
            decimation = event.value
    return decimation


def recorded_spec(
    recorded: Mapping[str, Any],
    path: str,
    models: Path | None = None,
    mute: Collection[str] = (),
) -> RunSpec:
    """Return the spec of a recorded run, on the fast clock.

    Args:
        recorded: The workflow and its brains, as on the tape.
        path: The workflow's file at that time.
        models: The user's own folder of brains; None: the default one.
        mute: Nodes that deliver nothing, as far as the workflow has them.

    Brains that were imported with the tape are found by their hash; others that were named by their
    path are taken from there.
    """
    workflow = parse_workflow(recorded["workflow"], Path(path))
    brains: dict[str, str | Path] = {}
    for node, entry in workflow.nodes.items():
        if entry.brain is None:
            continue
        name = entry.brain.file
        imported = None
        if node in recorded["brains"]:
            sha256 = recorded["brains"][node]["sha256"]
            imported = find_imported_brain(name, sha256, home())
        if imported is not None:
            brains[node] = imported
        elif Path(name).is_absolute():
            brains[node] = name
    muted = tuple(node for node in workflow.nodes if node in mute)
    return RunSpec(workflow, clock="fast", brains=brains, models=models, mute=muted)


def verify_brains(plan: Plan, tape: Tape, recorded: Mapping[str, Any]) -> None:
    """Raise MinibrainsError if a brain that the replay needs has changed."""
    for node, brain in recorded["brains"].items():
        if (
            _needs_brain(plan, tape, node)
            and plan.graph.nodes[node].brain_sha256 != brain["sha256"]
        ):
            raise MinibrainsError(
                f"{node}: {brain['file']} is no longer the brain of the run; "
                f"its SHA-256 was {brain['sha256']}"
            )


def _needs_brain(plan: Plan, tape: Tape, node: str) -> bool:
    """Return whether the replay depends on a node's brain.

    It does not if the node's results come from the tape, if the node is constant and feeds only
    such nodes, like an adapter for a model, or if it is muted.
    """
    if node not in plan.graph.nodes:
        return False
    if is_replayed(plan, node, tape):
        return False
    if node not in plan.constant_nodes:
        return True
    targets = {edge.target for edge in plan.graph.edges if edge.source == node}
    return any(not is_replayed(plan, target, tape) for target in targets)


def compare(engine: Engine, event: Event, compared_at: int) -> dict[str, Any] | None:
    """Return the difference between the replay and a check; None if they are equal."""
    reported = event.value
    if event.kind == "episode":
        reported = event.value["report"]
    found = check_report(engine)
    if found == reported:
        return None
    difference: dict[str, Any] = {
        "from": compared_at,
        "to": event.tick,
        "expected": {},
        "found": {},
    }
    for name, expected in reported.items():
        if expected != found.get(name):
            difference["expected"][name] = expected
            difference["found"][name] = found.get(name)
    return difference


def apply_recorded_edit(
    run: Run, player: TapePlayer, recorded: Mapping[str, Any], path: str
) -> None:
    """Apply a live edit between the same two ticks as in the recorded run."""
    spec = recorded_spec(recorded, path, run.spec.models, run.spec.mute)
    plan = compile_graph(spec.check(spec.load_workflow(), run.registry))
    verify_brains(plan, player, recorded)
    edit = run.engine.prepare(plan, recorded, run.make_host)
    run.engine.edits.append(edit)
    run.engine.apply_edits()
    run.engine.finish_edit(edit)


def come_to(engine: Engine, event: Event) -> str | None:
    """Play to the tick of an event.

    Returns why it was not reached, unless the recorded run ended there as well.
    """
    try:
        while engine.total_ticks < event.tick:
            if engine.stopping:
                return "the replay was stopped"
            if engine.advance(event.tick - engine.total_ticks) and engine.total_ticks < event.tick:
                return "the episode ended"
    except RunError as error:
        if event.kind != "episode" or event.value.get("ended") != "failed":
            return str(error)
    return None


def find_tape(run: Path, name: str) -> Path:
    """Return the tape for a path: a run folder, or the file itself. Raises MinibrainsError."""
    for path in (run / name, run):
        if path.is_file():
            return path
    if run.is_dir():
        raise MinibrainsError(
            f"{run} has no {name}; record one with: python -m server run WORKFLOW --record"
        )
    raise MinibrainsError(f"there is no run {run}; expected a run folder, or the tape in it")
