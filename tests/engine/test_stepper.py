"""A region of a graph: something outside of it answers in the place of its nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from minibrains import ABSENT, Episode, MinibrainsError
from minibrains.engine.engine import Engine
from minibrains.engine.plan import Clock, Plan
from minibrains.engine.stepper import Stepper
from minibrains.graph.check import Edge
from minibrains.graph.socket_ref import SocketRef
from tests.engine.test_oracle import FAMILY, workflows
from tests.support.engine_fixtures import (
    Call,
    Entries,
    FakeHost,
    make_engine,
    make_plan,
    node,
    open_engine,
)

# -- the same as if the nodes themselves had answered ----------------------------------------------


def is_plain(edge: Edge) -> bool:
    """Return whether a link always delivers, and to an input that keeps the last value."""
    reads = edge.input.reading == "last" and edge.input.required and not edge.input.many
    return reads and not edge.output.absent


def regions(entries: Entries) -> list[list[str]]:
    """Return the regions of one node, and of one and another that only reads from it."""
    plan = make_plan(entries, FAMILY)
    found: list[list[str]] = []
    for name in plan.graph.nodes:
        if name in plan.constant_nodes:
            continue  # it is not called on any tick
        pairs = {edge.target for edge in plan.graph.edges if edge.source == name}
        for train in ([name], *([name, other] for other in sorted(pairs))):
            try:
                graph = plan.graph.with_region(train, None)
            except MinibrainsError:
                continue
            into_last = [edge for edge in graph.edges if edge.target == train[-1]]
            has_outputs = bool(graph.nodes[train[-1]].cls.schema.outputs)
            is_chain = all(edge.source == name and is_plain(edge) for edge in into_last)
            if len(train) == 1 or (has_outputs and is_chain):
                found.append(train)
    return found


def answer(
    engine: Engine, train: Sequence[str], observation: Sequence[Any]
) -> dict[SocketRef, Any]:
    """Return what the nodes of a region answer themselves."""
    graph = engine.plan.graph
    assert graph.region is not None
    values = dict(zip(graph.region.inputs, observation, strict=True))
    for name in train:
        sources = {
            edge.input.name: SocketRef(edge.source, edge.output.name)
            for edge in graph.edges
            if edge.target == name
        }
        schema = graph.nodes[name].cls.schema
        arguments = [values.get(sources.get(socket)) for socket in schema.inputs]  # type: ignore[arg-type]
        outputs = [SocketRef(name, socket) for socket in schema.outputs]
        result = engine.nodes[name].tick(*arguments)
        if not schema.returns_tuple:
            result = (result,)
        values.update(zip(outputs, result, strict=True))
    return {link: values.get(link, ABSENT) for link in graph.region.outputs}


def depends(engine: Engine) -> set[str]:
    """Return the nodes of the region, and those that depend on them within a tick."""
    graph = engine.plan.graph
    assert graph.region is not None
    found = set(graph.region.nodes)
    links = [(edge.source, edge.target) for edge in graph.edges]
    links += [(link.node, name) for name, link in graph.when_links.items()]
    for _ in graph.nodes:
        for source, target in links:
            if source in found and not graph.nodes[source].breaks_cycles:
                found.add(target)
    return found


def by_node(calls: list[Call], before: int | None) -> dict[str, list[Call]]:
    """Sort calls by node; those before a tick, of which nodes that think do not tell theirs."""
    found: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        if before is None or 0 <= call.tick < before:
            found[call.node].append(call)
    return found


def clocks(plan: Plan) -> dict[str, frozenset[Clock]]:
    """Return the clocks of each node, its own or inherited ones."""
    return {step.node: step.clocks for step in plan.steps if step.role == "tick"}


def assert_same_values(fewer: list[Call], more: list[Call]) -> None:
    """Assert that each call of a node with an inherited clock reads what it read last without."""
    for call in fewer:
        so_far = [other for other in more if other.tick <= call.tick]
        assert so_far
        assert call.arguments == so_far[-1].arguments


def compare(entries: Entries, train: Sequence[str], episodes: int, ticks: int) -> None:
    """Play with nodes that answer themselves, and with the same nodes as a region."""
    engine, trained = make_engine(entries, FAMILY), make_engine(entries, FAMILY, train)
    assert trained.plan.graph.region is not None
    train = [name for name in train if name in trained.plan.graph.region.nodes]
    wanted, found = open_engine(engine), open_engine(trained)
    for name in train:  # the engine does not open them
        trained.nodes[name].open(FakeHost(trained.runtimes[name], trained, found))
    stepper = Stepper(trained)
    # Nodes before the region may be before a flag that comes after it elsewhere. They do not
    # inherit its clock then, and run more often, which their consumers cannot notice.
    alone, trained_clocks = clocks(engine.plan), clocks(trained.plan)
    for index in range(episodes):
        wanted.clear()
        found.clear()
        engine.reset(index, seed=5)
        ended = False
        while not ended and engine.tick < ticks:
            ended = engine.advance(1)
        engine.state()  # waits for those that think

        for name in train:
            trained.nodes[name].reset(Episode(index, 5, name))
        asked = stepper.reset(index, seed=5, limit=ticks)
        while asked:
            asked = stepper.step(answer(trained, train, stepper.observation))
        trained.state()

        assert (stepper.terminated, trained.tick) == (ended, engine.tick)
        last = engine.tick - 1 if ended else None  # nothing is answered on a terminal tick
        dependent = depends(trained)
        for name in trained.nodes:
            before = last if name in dependent else None
            calls, as_wanted = by_node(found, before)[name], by_node(wanted, before)[name]
            if name in train:
                # all nodes of a region are asked together; alone, some may be asked less often
                if len(train) == 1:
                    assert calls == as_wanted
            elif alone.get(name) == trained_clocks.get(name):
                assert calls == as_wanted
            elif trained_clocks[name]:
                assert_same_values(calls, as_wanted)
            else:
                assert_same_values(as_wanted, calls)
    engine.close()
    trained.close()


@given(workflows(), st.data(), st.integers(1, 2), st.integers(1, 40))
@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_all_other_nodes_are_called_as_if_the_nodes_had_answered(
    entries: Entries, data: st.DataObject, episodes: int, ticks: int
) -> None:
    entries = {name: {**entry, "on_error": "stop"} for name, entry in entries.items()}
    for entry in entries.values():
        entry["set"].pop("breaks", None)
    try:
        make_plan(entries, FAMILY)
    except MinibrainsError:
        assume(False)
    candidates = regions(entries)
    assume(candidates)
    compare(entries, data.draw(st.sampled_from(candidates)), episodes, ticks)


def test_a_node_does_not_inherit_the_clock_of_a_flag_that_depends_on_the_region() -> None:
    entries = {
        "game": node("Console", set={"length": 5}),
        "policy": node("Add", {"a": "game.number"}),
        "counter": node("Counter"),
        "sum": node("Add", {"a": "counter.count"}),
        "parts": node("Split", {"a": "policy.number"}),
        "sink": node("Sink", {"numbers": ["sum.number"], "events": []}, when="parts.odd"),
    }
    plan, trained = make_plan(entries, FAMILY), make_plan(entries, FAMILY, train=["policy"])
    assert clocks(plan)["sum"] == clocks(plan)["sink"]
    assert not clocks(trained)["sum"]  # it runs before the region, as all that is not fed by it
    compare(entries, ["policy"], 2, 40)
