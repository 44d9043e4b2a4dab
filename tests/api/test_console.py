"""Consoles of any kind: what the framework looks for, and how an episode ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from minibrains import Console, ConsoleOutput, Episode, Flag, Number, Pad
from minibrains.console import find_console
from minibrains.engine.compile import compile_graph
from minibrains.engine.engine import Engine
from minibrains.errors import MinibrainsError, NodeClassError, WorkflowError
from minibrains.evaluation.protocol import Protocol
from minibrains.graph.catalog import brain_finder, node_types
from minibrains.graph.check import Graph, check
from minibrains.graph.workflow import Workflow, load_workflow, parse_workflow
from minibrains.run.film import Film
from minibrains.tape.recording import FILE, read_events
from minibrains.testing import ScratchHost, opened, play
from nodes.consoles.retro import RetroEmulator
from tests.support.command import Command
from tests.support.paths import DATA

Summary = Callable[..., dict[str, Any]]
PACK = DATA / "console_pack.py"
OLD = DATA / "console1.json"
REGISTRY, _ = node_types(False, [PACK])


def ending(console: dict[str, Any]) -> dict[str, Any]:
    """A workflow of a console and a node that acts on how the episode ends."""
    ends = {
        "type": "console_pack.Ending@1",
        "in": {"terminated": "console.terminated", "truncated": "console.truncated"},
    }
    return {
        "minibrains": 1,
        "nodes": {"console": {**console, "in": {"pad1": "ends.pad"}}, "ends": ends},
    }


COUNTING = ending({"type": "console_pack.Counting@1", "set": {"game": "Counting"}})
RETRO = ending({"type": "RetroEmulator@3", "set": {"game": "Pad-Genesis"}})


def checked(workflow: Workflow) -> Graph:
    return check(workflow, REGISTRY, brain_finder(None))


def links(graph: Graph) -> list[str]:
    return sorted(f"{edge.source}.{edge.output.name} -> {edge.target}" for edge in graph.edges)


# -- a console is found by its class ---------------------------------------------------------------


class Endless(NamedTuple):
    reward: Number
    terminated: Flag


def test_a_console_without_one_of_its_sockets_is_refused() -> None:
    with pytest.raises(
        NodeClassError,
        match="Half is a Console without the output 'frame'; return a ConsoleOutput from emit",
    ):

        class Half(Console):
            def emit(self) -> Endless:  # type: ignore[override]
                raise NotImplementedError

            def latch(self, pad1: Pad | None = None, pad2: Pad | None = None) -> None: ...

    with pytest.raises(NodeClassError, match="Single is a Console without the input 'pad2'"):

        class Single(Console):
            def emit(self) -> ConsoleOutput:
                raise NotImplementedError

            def latch(self, pad1: Pad | None = None) -> None: ...  # type: ignore[override]


def test_every_console_has_what_evaluation_pins() -> None:
    for name in ("RetroEmulator", "console_pack.Counting"):
        cls = REGISTRY[name]
        assert issubclass(cls, Console)
        assert set(cls.schema.widgets) >= {"game", "states", "noop_max", "write", "players"}
        assert cls.schema.outputs["terminated"].type == cls.schema.outputs["truncated"].type
    assert REGISTRY["console_pack.Counting"].schema.widgets["game"].required
    assert REGISTRY["RetroEmulator"].schema.widgets["game"].default == "Airstriker-Genesis-v0"


def test_a_console_of_another_kind_is_filmed(summary: Summary, tmp_path: Path) -> None:
    (tmp_path / "counting.json").write_text(json.dumps(COUNTING))
    clip = tmp_path / "clip.mp4"
    found = summary("counting.json", "--pack", PACK, "--video", clip)
    assert (found["episodes"][0]["ticks"], found["episodes"][0]["ended"]) == (10, "done")
    assert clip.stat().st_size > 0


def test_a_console_of_another_kind_is_evaluated_and_measured(tmp_path: Path) -> None:
    protocol = Protocol(
        "Counting", "", "validation", "*", {"Start": ""}, 7, {"seed": "$seed"}, 5, 3, {}
    )
    pinned = protocol.pin(parse_workflow(COUNTING), REGISTRY, 2)
    graph = checked(pinned)
    assert graph.nodes["console"].widgets == {
        "game": "Counting", "states": ("Start",), "noop_max": 7, "write": {"seed": "$seed"},
        "players": 1,
    }  # fmt: skip
    engine = Engine(compile_graph(graph))
    name, console = find_console(engine.nodes)
    assert (name, type(console).__name__) == ("console", "Counting")


def test_without_a_console_nothing_is_filmed_or_measured(tmp_path: Path) -> None:
    workflow = parse_workflow(
        {"minibrains": 1, "nodes": {"every": {"type": "Every@1", "set": {"ticks": 2}}}}
    )
    with pytest.raises(WorkflowError, match="no running console"):
        Film(tmp_path / "x.mp4").prepare(workflow, REGISTRY)
    with pytest.raises(
        MinibrainsError, match="one console, a RetroEmulator say, is needed; found 0"
    ):
        find_console(Engine(compile_graph(checked(workflow))).nodes)


# -- how an episode ends ---------------------------------------------------------------------------


def shown(limit: int | None, ticks: int) -> list[tuple[Flag, Flag]]:
    """`terminated` and `truncated` of the first ticks of an episode that a limit ends."""
    console = RetroEmulator(game="Pad-Genesis")
    with opened(console, ScratchHost(Path("/nonexistent"))):
        return [
            (given[3], given[4])
            for given in play(console, *[{}] * ticks, episode=Episode(0, 0, "console", limit))
        ]


@pytest.mark.parametrize("limit", [1, 2, 30])
def test_truncated_is_true_on_the_last_tick_before_the_limit(limit: int) -> None:
    assert shown(limit, limit) == [(False, False)] * (limit - 1) + [(False, True)]


def test_without_a_limit_nothing_is_truncated() -> None:
    assert shown(None, 30) == [(False, False)] * 30


@pytest.mark.parametrize(
    ("limit", "ends", "ended"),
    [
        (4, ["truncated"], "limit"),
        (9, ["truncated"], "limit"),
        (10, ["terminated"], "done"),
        (11, ["terminated"], "done"),
    ],
)
def test_an_episode_is_terminated_or_truncated_and_never_both(
    limit: int, ends: list[str], ended: str, summary: Summary, tmp_path: Path
) -> None:
    (tmp_path / "counting.json").write_text(json.dumps(COUNTING))
    for episode in summary("counting.json", "--pack", PACK, "--ticks", limit, "--episodes", 2)[
        "episodes"
    ]:
        assert (episode["ends"], episode["ended"], episode["ticks"]) == (
            ends,
            ended,
            min(limit, 10),
        )
        assert episode["score"] == ("truncated" in ends), "the tick that is truncated is latched"


def test_a_replay_is_truncated_where_the_run_was(
    summary: Summary, minibrains: Command, tmp_path: Path
) -> None:
    (tmp_path / "pad.json").write_text(json.dumps(RETRO))
    played = summary("pad.json", "--pack", PACK, "--ticks", 40, "--episodes", 2, "--record")
    assert [episode["ends"] for episode in played["episodes"]] == [["truncated"]] * 2
    replayed = minibrains("replay", played["run_dir"], "--pack", PACK, "--json")
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads(replayed.stdout)["equal"], (
        "the pad that was pressed on that tick is in the hash"
    )
    events, _ = read_events(Path(played["run_dir"]) / FILE)
    assert [
        event.value["limit"]
        for event in events
        if event.kind == "episode" and "ended" not in event.value
    ] == [40, 40]


# -- workflows of version 1 ------------------------------------------------------------------------


def test_an_older_workflow_plays_and_its_links_follow() -> None:
    graph = checked(load_workflow(OLD))
    assert links(graph) == [
        "console.reward -> last", "console.terminated -> or", "console.terminated -> or",
        "console.variables -> fighter",
        "fighter.pad -> console",
    ]  # fmt: skip
    assert str(graph.when_links["last"]) == "console.terminated"
    assert graph.nodes["console"].widgets["game"] == "Duel-Genesis"


def test_an_older_workflow_runs_is_filmed_recorded_and_replayed(
    summary: Summary, minibrains: Command, tmp_path: Path
) -> None:
    played = summary(OLD, "--record", "--video", tmp_path / "clip.mp4")
    assert played["episodes"][0]["ended"] == "limit"
    assert minibrains("replay", played["run_dir"]).returncode == 0
