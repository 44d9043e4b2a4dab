"""The data of a plan: steps, slots and clocks. `compile_graph` makes a plan; an Engine runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from minibrains.graph.check import Graph
from minibrains.graph.socket_ref import SocketRef

TICK_SLOT = 0
"""The slot that holds the number of the current tick."""

SlotUse = Literal["last", "last_or_none", "on", "delivered_at"]
"""The content of a slot: the last value; the same, but None before the first; the value on its
delivery tick, else None; the tick of the last delivery.
"""


@dataclass(frozen=True, slots=True)
class Clock:
    """The ticks on which a step may run: `offset`, `offset + every`, …,
    and only while the condition in `when` is true.

    The clock is open on these ticks.
    """

    every: int = 1
    hertz: float | None = None
    offset: int = 0
    when: SocketRef | None = None
    sheddable: bool = False
    """The load shedder may open the clock less often: it is the clock of a node with `"optional":
    true`."""


@dataclass(slots=True)
class OutputPlan:
    """The slots that an output of a step is written to, and the steps that read them."""

    name: str
    absent: bool
    slots: dict[SlotUse, int] = field(default_factory=dict)
    steps_to_flag: list[int] = field(default_factory=list)
    """The indices of the steps that a delivery makes due, or pending if they have a clock."""


@dataclass(frozen=True, slots=True)
class Source:
    """One link as a step reads it: the slots it looks at."""

    slot: int
    delivered_at: int | None = None


@dataclass(frozen=True, slots=True)
class InputPlan:
    """One argument of a step: its links (none: it gets None, or an empty list),
    in the order of the file.
    """

    sources: tuple[Source, ...]
    many: bool
    required: bool = True
    """The step does not run before the first delivery."""


Role = Literal["emit", "tick", "read", "gate", "submit", "poll"]


@dataclass(slots=True, eq=False)
class Step:
    """One entry of the step table: a node's tick, a register's emit, the read of a lazy output,
    a clock gate.

    A non-blocking node has two: `submit` takes its inputs, `poll` delivers the result some
    ticks later.
    """

    role: Role
    node: str
    index: int = -1
    inputs: list[InputPlan] = field(default_factory=list)
    outputs: list[OutputPlan] = field(default_factory=list)
    required: list[int] = field(default_factory=list)
    """Slots that must have been written once before the step can run."""
    clocks: frozenset[Clock] = frozenset()
    """Empty: every tick. More than one: whenever any of them is open; all of them are inherited."""
    inputs_certain: bool = False
    """The step is called on each tick of its clocks (`unconditional`), and all its required inputs
    are sure to have been delivered by then."""
    unconditional: bool = False
    """The step is called on each tick of its clocks, but may still wait for the first delivery of
    an input."""
    constant: bool = False
    """Nothing upstream ever changes, so the step runs once, and its output holds for the whole
    run."""
    clock: Clock | None = None
    """For a clock gate: the clock that it opens for `members`."""
    members: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Latch:
    """A register's latch, done after the step phase."""

    node: str
    inputs: tuple[InputPlan, ...]
    required: tuple[int, ...]
    """Slots that must have been written once before the register can latch."""


@dataclass(frozen=True, slots=True)
class RegionPlan:
    """The steps and slots of the region that is trained."""

    steps: tuple[int, ...]
    """The indices of the steps of its nodes. The answer is needed at the last one."""
    inputs: tuple[int, ...]
    """The slots of `Region.inputs`."""
    reward: int | None
    """The slot of the reward on the ticks of its deliveries."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled graph, which an Engine runs."""

    graph: Graph
    steps: tuple[Step, ...]
    latches: tuple[Latch, ...]
    slots: tuple[SlotUse, ...]
    """The kind of each slot, by the number of the slot."""
    terminals: tuple[int, ...]
    """Slots that end the episode when they hold True."""
    region: RegionPlan | None = None

    @property
    def constant_nodes(self) -> frozenset[str]:
        """Return the ids of the constant nodes."""
        return frozenset(step.node for step in self.steps if step.constant)

    def in_edges(self, node: str) -> set[tuple[str, str, str]]:
        """Return the edges to a node: (source, its output, the node's input)."""
        return {
            (edge.source, edge.output.name, edge.input.name)
            for edge in self.graph.edges
            if edge.target == node
        }
