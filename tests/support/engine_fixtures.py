"""What the tests of the engine share: a host, a record of calls,
and a short way from JSON to an engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from minibrains import Host
from minibrains.engine.compile import compile_graph
from minibrains.engine.engine import Engine
from minibrains.engine.plan import Plan
from minibrains.graph.check import check
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import BrainPin, parse_workflow
from minibrains.host import WorkflowInfo
from minibrains.run.host import RunHost
from minibrains.run.spec import RunSpec
from minibrains.tape.tape import Event

Entries = Mapping[str, Mapping[str, Any]]
"""The "nodes" of a workflow file."""


class Call(NamedTuple):
    """One thing a node was called with."""

    node: str
    tick: int
    what: str
    arguments: tuple[Any, ...]


class FakeHost(RunHost):
    """The Host of one node under test, in an Engine or a ReferenceEngine:
    puts down what the node says and records.
    """

    def __init__(
        self, runtime: Any, engine: Any, calls: list[Call] | None = None, folder: Path = Path()
    ) -> None:
        """`runtime` is the node's record in the engine."""
        self.calls: list[Call] = [] if calls is None else calls
        info = WorkflowInfo("workflow", "0" * 64)
        super().__init__(
            runtime,
            folder,
            engine,
            lambda text: None,
            lambda progress: None,
            {},
            info,
            RunSpec({"minibrains": 1, "nodes": {}}),
        )

    def say(self, text: str) -> None:
        self.calls.append(Call(self.node, self.tick, "say", (text,)))

    def record(self, **metadata: str) -> None:
        self.calls.append(Call(self.node, self.tick, "record", (metadata,)))


class Noted:
    """Mixed into a node class: `note` puts down what the node was called with."""

    host: FakeHost

    def open(self, host: Host) -> None:
        assert isinstance(host, FakeHost)
        self.host = host

    def note(self, what: str, *arguments: Any) -> None:
        self.host.calls.append(Call(self.host.node, self.host.tick, what, arguments))


def node(type_: str, /, into: Mapping[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    """Return a node's entry in a workflow; `into`: its links."""
    return {"type": f"{type_}@1", "in": into or {}, **rest}


def make_plan(
    entries: Entries,
    types: Iterable[type[Any]],
    brains: Path | None = None,
    train: Sequence[str] = (),
    reward: str | None = None,
) -> Plan:
    """Through the doors: parse, check, compile.

    `brains`: the folder of the nodes' brains; `train`: the nodes of a region.
    """
    registry = Registry()
    for cls in types:
        registry.add(cls)
    workflow = parse_workflow({"minibrains": 1, "nodes": entries})
    graph = check(
        workflow, registry, _no_brain if brains is None else lambda pin: brains / pin.file
    )
    if train:
        graph = graph.with_region(train, reward)
    return compile_graph(graph)


def make_engine(
    entries: Entries,
    types: Iterable[type[Any]],
    train: Sequence[str] = (),
    reward: str | None = None,
) -> Engine:
    """Through all the doors: parse, check, compile, make."""
    return Engine(make_plan(entries, types, train=train, reward=reward))


def open_engine(engine: Any, calls: list[Call] | None = None) -> list[Call]:
    """Open an engine, or a reference engine, with fake hosts;
    returns the list its nodes note their calls in.
    """
    calls = [] if calls is None else calls
    engine.open(lambda runtime, engine: FakeHost(runtime, engine, calls))
    return calls


class Written:
    """A tape in memory."""

    replays = False
    inherits = False

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, node: str, kind: Any, value: Any) -> None:
        self.events.append(Event(self.engine.total_ticks, node, kind, value))

    def begin(self, engine: Engine) -> None:
        self.engine = engine


def _no_brain(pin: BrainPin) -> Path:
    raise AssertionError(f"no node under test has a brain, but one asked for {pin.file}")
