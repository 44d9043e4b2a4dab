"""Events that may be lost: deliveries to an `On` input on a tick on which its node does not run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from minibrains.engine.plan import Clock, OutputPlan, Plan, Step
from minibrains.graph.check import Edge

Ticks = frozenset[Clock] | None
"""The ticks on which an output may be delivered: those on which one of these clocks opens; None:
any tick."""


@dataclass(frozen=True, slots=True)
class LostEvents:
    """A link on which events may be lost."""

    edge: Edge
    thinks: bool
    """True if the node misses events while it thinks; False if it misses them while its clock is
    closed."""

    def __str__(self) -> str:
        edge = self.edge
        when = "while it thinks" if self.thinks else "on a tick on which it does not run"
        return (
            f"{edge.target}, input {edge.input.name!r}: reads events, "
            f"and loses what {edge.source}.{edge.output.name} "
            f"delivers {when}"
        )


def find_lost_events(plan: Plan) -> list[LostEvents]:
    """Find the links on which events may be lost.

    Assumes that a node answers an event on the tick of its delivery: an output that may be absent
    is delivered on the ticks of the events that the node reads, if it reads any.
    """
    in_edges: dict[str, list[Edge]] = defaultdict(list)
    for edge in plan.graph.edges:
        in_edges[edge.target].append(edge)
    delivered: dict[tuple[str, str], Ticks] = {}
    for step in plan.steps:
        for output in step.outputs:
            delivered[step.node, output.name] = _ticks_of(
                plan, step, output, in_edges[step.node], delivered
            )
    found: list[LostEvents] = []
    for step in plan.steps:
        if step.role not in ("tick", "submit"):
            continue
        for edge in in_edges[step.node]:
            if edge.input.reading != "on":
                continue
            ticks = delivered[edge.source, edge.output.name]
            thinks = step.role == "submit"
            closed = bool(step.clocks) and (ticks is None or not ticks <= step.clocks)
            if thinks or closed:
                found.append(LostEvents(edge, thinks))
    return found


def _ticks_of(
    plan: Plan,
    step: Step,
    output: OutputPlan,
    edges: Iterable[Edge],
    delivered: Mapping[tuple[str, str], Ticks],
) -> Ticks:
    """Return the ticks on which a step may deliver an output."""
    if step.clocks:
        return step.clocks
    if step.role != "tick":
        return None
    cls = plan.graph.nodes[step.node].cls
    events = [edge for edge in edges if edge.input.reading == "on"]
    if events and cls.schema.outputs[output.name].absent:
        causes = events
    elif cls.every_tick:
        return None
    else:
        causes = list(edges)
    clocks: set[Clock] = set()
    for edge in causes:
        ticks = delivered[edge.source, edge.output.name]
        if ticks is None:
            return None
        clocks |= ticks
    # a node without links delivers once, whichever clock is open then
    if causes:
        return frozenset(clocks)
    return None
