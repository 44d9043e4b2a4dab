"""Compile a checked graph into a plan: a flat list of steps in a fixed order,
with integer slots instead of names.

Three things are decided here, so that no tick has to: the order of the steps; which steps are due
on every tick anyway, so that nothing has to mark them; and which clock each node has, its own or
that of its consumers.
"""

from __future__ import annotations

import graphlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from minibrains.engine.plan import (
    Clock,
    InputPlan,
    Latch,
    OutputPlan,
    Plan,
    RegionPlan,
    SlotUse,
    Source,
    Step,
)
from minibrains.graph.check import CheckedNode, Edge, Graph
from minibrains.graph.error_policy import always_delivers, may_skip_runs
from minibrains.graph.socket_ref import SocketRef
from minibrains.node import Node, Register
from minibrains.node_schema import Input


def compile_graph(graph: Graph) -> Plan:
    """Compile a checked graph. The checker has made sure that every loop is broken."""
    return _Compiler(graph).plan()


def _stateless(cls: type[Node]) -> bool:
    return cls.reset is Node.reset and not cls.every_tick


def _output_of(step: Step, socket: str) -> OutputPlan:
    return next(output for output in step.outputs if output.name == socket)


class _Compiler:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.slots: list[SlotUse] = ["last"]
        self.in_edges: dict[str, list[Edge]] = defaultdict(list)
        self.out_edges: dict[tuple[str, str], list[Edge]] = defaultdict(list)
        for edge in graph.edges:
            self.in_edges[edge.target].append(edge)
            self.out_edges[edge.source, edge.output.name].append(edge)
        self._region_nodes: tuple[str, ...] = ()
        if graph.region is not None:
            self._region_nodes = graph.region.nodes
        self.read_by_engine = self._find_read_by_engine()
        """Outputs that the engine itself reads on every tick."""
        self.main_steps: dict[str, Step] = {}
        """Node -> the step that takes its inputs; that of a register takes none."""
        self.producers: dict[str, Step] = {}
        """Node -> the step that delivers its outputs."""
        for name, node in graph.nodes.items():
            self.main_steps[name] = self._main_step(node)
            self.producers[name] = self._producing_step(node)
        self.clock_owner: dict[Clock, str] = {}
        """Clock -> a node that has it in the workflow."""
        for name, step in self.main_steps.items():
            for clock in step.clocks:
                self.clock_owner[clock] = name
        self.read_steps = self._make_read_steps()
        """For each lazy output with a consumer, the step that reads it."""
        self.clock_gates: dict[Clock, Step] = {}
        """Clock -> the step that opens it."""

    def plan(self) -> Plan:
        """Compile the graph. Each phase needs the results of those before it."""
        # which steps there are, in which order, and on which ticks they may run
        ordered = self._order()
        self._find_constants(ordered)
        self._inherit_clocks(ordered)
        steps = self._insert_clock_gates(ordered)
        for index, step in enumerate(steps):
            step.index = index

        # which slots they read and write
        self._lay_slots()
        region = self._plan_region(steps)

        # which steps have to be told by a delivery that they are due, and which need not
        self._find_unconditional(steps)

        # what the engine does once all steps have run
        latches = self._latches()
        terminals = self._terminals()
        return Plan(
            self.graph, tuple(steps), tuple(latches), tuple(self.slots), tuple(terminals), region
        )

    # -- steps and their order ------------------------------------------------------------------

    def _find_read_by_engine(self) -> set[tuple[str, str | None]]:
        found: set[tuple[str, str | None]] = set()
        for link in self.graph.when_links.values():
            found.add((link.node, link.socket))
        for name, node in self.graph.nodes.items():
            if issubclass(node.cls, Register):
                found.add((name, node.cls.terminal))
        region = self.graph.region
        if region is not None and region.reward is not None:
            found.add((region.reward.node, region.reward.socket))
        return found

    def _make_read_steps(self) -> dict[tuple[str, str], Step]:
        steps: dict[tuple[str, str], Step] = {}
        for name, node in self.graph.nodes.items():
            for output in node.cls.schema.outputs.values():
                ref = name, output.name
                is_read = self.out_edges[ref] or ref in self.read_by_engine
                if output.lazy and is_read:
                    absent = output.absent or not always_delivers(node.entry.on_error)
                    steps[name, output.name] = Step(
                        "read", name, outputs=[OutputPlan(output.name, absent)]
                    )
        return steps

    def _main_step(self, node: CheckedNode) -> Step:
        declared = node.cls.schema.outputs.values()
        outputs = [
            OutputPlan(output.name, output.absent and not output.lazy) for output in declared
        ]
        if node.is_register:
            return Step("emit", node.id, outputs=outputs)
        clocks = self._own_clocks(node)
        if node.is_non_blocking:
            return Step("submit", node.id, clocks=clocks)
        return Step("tick", node.id, outputs=outputs, clocks=clocks)

    def _own_clocks(self, node: CheckedNode) -> frozenset[Clock]:
        """Return the clock that the workflow gives a node; empty if it gives none."""
        entry = node.entry
        condition = self.graph.when_links.get(node.id, entry.when)
        clock = Clock(entry.every, entry.hertz, entry.offset, condition, entry.optional)
        if clock == Clock():
            return frozenset()
        return frozenset([clock])

    def _producing_step(self, node: CheckedNode) -> Step:
        if not node.is_non_blocking:
            return self.main_steps[node.id]
        outputs = [OutputPlan(name, absent=True) for name in node.cls.schema.outputs]
        return Step("poll", node.id, outputs=outputs)

    def _producer(self, node: str, socket: str) -> tuple[Step, OutputPlan]:
        """Return the step that delivers an output, and the plan of the output."""
        read_step = self.read_steps.get((node, socket))
        if read_step is not None:
            return read_step, read_step.outputs[0]
        step = self.producers[node]
        return step, _output_of(step, socket)

    def _order(self) -> list[Step]:
        """Order the steps: emits first, then each step after those it reads,
        ancestors of `when` conditions as early as possible.
        """
        before = self._predecessors()
        early = self._ancestors_of_conditions(before)
        emits: list[Step] = []
        for name, node in self.graph.nodes.items():
            if node.breaks_cycles:
                emits.append(self.producers[name])
        first: list[Step] = []
        then: list[Step] = []
        for name in graphlib.TopologicalSorter(before).static_order():
            if name in early:
                first.append(self.main_steps[name])
            else:
                then.append(self.main_steps[name])
        early_reads: list[Step] = []
        late_reads: list[Step] = []
        for output, step in self.read_steps.items():
            targets = {edge.target for edge in self.out_edges[output]}
            if output in self.read_by_engine or not early.isdisjoint(targets):
                early_reads.append(step)
            else:
                late_reads.append(step)
        return [*emits, *early_reads, *first, *late_reads, *then]

    def _predecessors(self) -> dict[str, set[str]]:
        """Return, for each node that is not a register,
        the nodes that must run before it on the same tick.
        """
        nodes = self.graph.nodes
        before: dict[str, set[str]] = {
            name: set() for name, node in nodes.items() if not node.is_register
        }
        for edge in self.graph.edges:
            if edge.target in before and not nodes[edge.source].breaks_cycles:
                before[edge.target].add(edge.source)
        for name, link in self.graph.when_links.items():
            if name in before and self._is_same_tick(link):
                before[name].add(link.node)
        self._order_region(before)
        return before

    def _order_region(self, before: dict[str, set[str]]) -> None:
        """Let all nodes that depend on the region within the tick run after the whole of it,
        and all others before it.

        So the reward is known by then, if it does not depend on the answer.
        """
        region = self._region_nodes
        if not region:
            return
        after: set[str] = set()
        for name in before:
            if name not in region and not self._ancestors(name, before).isdisjoint(region):
                after.add(name)
        for name in after:
            before[name].update(region)
        for name in region:
            before[name].update(before.keys() - after - set(region))

    def _ancestors(self, name: str, before: Mapping[str, set[str]]) -> set[str]:
        """Return a node, and all nodes that must run before it on the same tick."""
        found: set[str] = set()
        frontier = [name]
        while frontier:
            ancestor = frontier.pop()
            if ancestor not in found:
                found.add(ancestor)
                frontier.extend(before[ancestor])
        return found

    def _ancestors_of_conditions(self, before: Mapping[str, set[str]]) -> set[str]:
        """Return the nodes that deliver the conditions of `when`,
        and all nodes that these depend on within the tick.
        """
        early: set[str] = set()
        for link in self.graph.when_links.values():
            if not self._is_same_tick(link):
                continue
            early |= self._ancestors(link.node, before)
            if link.node in self._region_nodes:  # it is answered with all others
                for name in self._region_nodes:
                    early |= self._ancestors(name, before)
        return early

    def _is_same_tick(self, condition: SocketRef) -> bool:
        """Return whether the condition of a `when` is computed on the tick on which it is read."""
        return self._exists(condition) and not self.graph.nodes[condition.node].breaks_cycles

    def _find_constants(self, ordered: Iterable[Step]) -> None:
        for step in ordered:
            node = self.graph.nodes[step.node]
            plain = step.role == "tick" and _stateless(node.cls) and not step.clocks
            if step.node in self._region_nodes:
                continue
            if plain and may_skip_runs(node.entry.on_error) and node.cls.schema.outputs:
                step.constant = all(
                    self.producers[edge.source].constant for edge in self.in_edges[step.node]
                )

    # -- clocks ------------------------------------------------------------------------------------

    def _inherit_clocks(self, ordered: Sequence[Step]) -> None:
        """Give each step whose consumers all have clocks these clocks too,
        if no node can notice the skipped runs.

        A consumer with a clock reads the step only while that clock is open. If the step computes
        its outputs from its inputs alone, it need not run on other ticks: the consumer reads the
        same value. If only a network reads a picture, and has `"every": 4`, the nodes that prepare
        that picture run on every 4th tick as well, if they have no state.

        Steps are visited in reverse, each after its consumers, so clocks pass up a whole chain of
        steps. Afterwards:

        - A step that has inherited runs on all ticks on which one of its consumers may.
        - The condition of each clock of a step is delivered by an earlier step of the same tick, or
          by none.
        """
        position = {id(step): index for index, step in enumerate(ordered)}
        for step in reversed(ordered):
            if not self._may_skip_runs(step):
                continue
            edges: list[Edge] = []
            for output in step.outputs:
                edges.extend(self.out_edges[step.node, output.name])
            if self._reveals_skipped_runs(step, edges):
                continue
            clocks = self._clocks_of_consumers(edges)
            conditions = [clock.when for clock in clocks if clock.when is not None]
            if all(self._is_known_before(each, step, position) for each in conditions):
                step.clocks = clocks

    def _may_skip_runs(self, step: Step) -> bool:
        """Return whether a step without a clock would deliver the same on any tick,
        whichever of its runs were skipped.
        """
        node = self.graph.nodes[step.node]
        if step.clocks or not may_skip_runs(node.entry.on_error):
            return False
        if step.role == "read":
            return True
        return step.role == "tick" and _stateless(node.cls) and not step.constant

    def _reveals_skipped_runs(self, step: Step, edges: Iterable[Edge]) -> bool:
        """Return whether the engine, or a link from or to a step,
        can tell if the step ran on a tick.

        Args:
            step: A step that may skip runs.
            edges: The links from its outputs.
        """
        for output in step.outputs:
            if (step.node, output.name) in self.read_by_engine:
                return True
        for edge in edges:
            if edge.output.absent:
                return True
            if step.role != "read" and edge.input.reading != "last":
                return True
        if step.role == "read":
            return False
        return any(edge.input.reading != "last" for edge in self.in_edges[step.node])

    def _clocks_of_consumers(self, edges: Iterable[Edge]) -> frozenset[Clock]:
        """Return the clocks of all consumers of these links; empty if there are none,
        or one of them runs on every tick.
        """
        clocks: set[Clock] = set()
        for edge in edges:
            consumer = self.main_steps[edge.target]
            if self.graph.nodes[edge.target].is_register or not consumer.clocks:
                return frozenset()
            clocks |= consumer.clocks
        return frozenset(clocks)

    def _is_known_before(
        self, condition: SocketRef, step: Step, position: Mapping[int, int]
    ) -> bool:
        """Return whether the condition of a `when` is known before a step runs;
        that of a muted node always is.

        `position`: the id of each step -> its position in the order.
        """
        if not self._exists(condition):
            return True
        sources = self._condition_sources(condition)
        return all(position[id(source)] < position[id(step)] for source in sources)

    def _condition_sources(self, condition: SocketRef) -> list[Step]:
        """Return the steps after which the condition of a `when` is known."""
        if condition.node in self._region_nodes:
            return [self.main_steps[name] for name in self._region_nodes]
        source, _ = self._producer(condition.node, condition.socket)
        return [source]

    def _exists(self, link: SocketRef) -> bool:
        return link.node in self.graph.nodes

    def _insert_clock_gates(self, ordered: Sequence[Step]) -> list[Step]:
        """Return the steps with a clock gate for each clock,
        which comes before all steps that have the clock.

        Clock gates without a condition come first; the others come right after the step that
        delivers their condition.
        """
        # the clock gates
        position = {id(step): index for index, step in enumerate(ordered)}
        first: list[Step] = []
        after: dict[int, list[Step]] = defaultdict(list)
        """The id of a step -> the clock gates whose condition the step delivers."""
        for step in ordered:
            for clock in step.clocks:
                if clock in self.clock_gates:
                    continue
                gate = self.clock_gates[clock] = Step("gate", self.clock_owner[clock], clock=clock)
                if clock.when is not None and self._exists(clock.when):
                    sources = self._condition_sources(clock.when)
                    last = max(sources, key=lambda source: position[id(source)])
                    after[id(last)].append(gate)
                else:
                    first.append(gate)

        # all steps
        steps = first
        for step in ordered:
            steps.append(step)
            steps.extend(after[id(step)])
        return steps

    # -- slots and deliveries ----------------------------------------------------------------------

    def _slot(self, output: OutputPlan, use: SlotUse) -> int:
        if use not in output.slots:
            output.slots[use] = len(self.slots)
            self.slots.append(use)
        return output.slots[use]

    def _lay_slots(self) -> None:
        for name, node in self.graph.nodes.items():
            if not node.is_register:
                step = self.main_steps[name]
                step.inputs, step.required = self._read_inputs(node)
        for (name, socket), read_step in self.read_steps.items():
            callable_slot = self._slot(_output_of(self.producers[name], socket), "last")
            read_step.inputs = [InputPlan((Source(callable_slot),), False)]
        for clock, gate in self.clock_gates.items():
            if clock.when is not None and self._exists(clock.when):
                _, output = self._producer(clock.when.node, clock.when.socket)
                condition = self._slot(output, "last_or_none")
                gate.inputs = [InputPlan((Source(condition),), False)]

    def _plan_region(self, steps: Sequence[Step]) -> RegionPlan | None:
        region = self.graph.region
        if region is None:
            return None
        inputs: list[int] = []
        for link in region.inputs:
            _, output = self._producer(link.node, link.socket)
            inputs.append(self._slot(output, "last"))
        reward = None
        if region.reward is not None:
            _, output = self._producer(region.reward.node, region.reward.socket)
            reward = self._slot(output, "on")
        members = [
            step.index for step in steps if step.node in region.nodes and step.role == "tick"
        ]
        return RegionPlan(tuple(members), tuple(inputs), reward)

    def _read_inputs(self, node: CheckedNode) -> tuple[list[InputPlan], list[int]]:
        plans: list[InputPlan] = []
        required: list[int] = []
        by_socket: dict[str, list[Edge]] = defaultdict(list)
        for edge in self.in_edges[node.id]:
            by_socket[edge.input.name].append(edge)
        for name, declared in node.cls.schema.inputs.items():
            sources: list[Source] = []
            for edge in by_socket[name]:
                source = self._source(edge, declared)
                sources.append(source)
                if declared.required:
                    required.append(source.slot)
            if declared.required and not declared.many and not sources:
                required.append(self._never())
            plans.append(InputPlan(tuple(sources), declared.many, declared.required))
        return plans, required

    def _never(self) -> int:
        """Return a slot that nothing is ever delivered to,
        for a required input behind a muted node.
        """
        self.slots.append("last")
        return len(self.slots) - 1

    def _source(self, edge: Edge, declared: Input) -> Source:
        _, output = self._producer(edge.source, edge.output.name)
        if declared.reading == "aged":
            delivered_at = self._slot(output, "delivered_at")
            return Source(self._slot(output, "last"), delivered_at)
        if declared.reading == "on":
            return Source(self._slot(output, "on"))
        if declared.required:
            return Source(self._slot(output, "last"))
        return Source(self._slot(output, "last_or_none"))

    def _latches(self) -> list[Latch]:
        latches: list[Latch] = []
        for name, node in self.graph.nodes.items():
            if node.is_register:
                inputs, required = self._read_inputs(node)
                latches.append(Latch(name, tuple(inputs), tuple(required)))
        return latches

    def _terminals(self) -> list[int]:
        """Return the slots of the outputs that end the episode."""
        terminals: list[int] = []
        for name, node in self.graph.nodes.items():
            if node.cls.terminal is not None:
                _, output = self._producer(name, node.cls.terminal)
                terminals.append(self._slot(output, "last_or_none"))
        return terminals

    # -- what is due anyway ------------------------------------------------------------------------

    def _find_unconditional(self, steps: Iterable[Step]) -> None:
        """Decide which steps need no flag, because they are called on each tick of their clocks,
        and which of these need not even test whether their inputs are there.

        | step | reads | unconditional | inputs_certain |
        |---|---|---|---|
        | emit of a console | nothing | yes | yes |
        | tick | a frame that comes on each tick | yes | yes |
        | tick | that frame, and a required answer of a model, which may come later | yes | no |
        | tick with `every_tick` | the answer only | yes | no |
        | tick | the answer only | no: it is due when that is delivered | no |

        The last one has a flag, which whatever delivers the answer sets (`steps_to_flag`).
        """
        for step in steps:
            node = self.graph.nodes[step.node]
            if step.role in ("emit", "gate", "read"):
                step.inputs_certain = step.unconditional = True
            elif step.role == "poll":
                step.unconditional = True
            else:
                self._find_readiness(step, node)
            for clock in step.clocks:
                self.clock_gates[clock].members.append(step.index)
        for (source, socket), edges in self.out_edges.items():
            _, output = self._producer(source, socket)
            readers: set[int] = set()
            for edge in edges:
                target = self.main_steps[edge.target]
                if not self.graph.nodes[edge.target].is_register and not target.unconditional:
                    readers.add(target.index)
            output.steps_to_flag = sorted(readers)

    def _find_readiness(self, step: Step, node: CheckedNode) -> None:
        """Decide whether a tick or submit is called on every tick of its clocks, and whether all of
        its required arguments are there by then.

        Such a step needs no flags and no test, so it is fast. Where it is not sure, the answer is
        no: a step that was wrongly called would run without an input, or without a delivery.
        """
        step.unconditional = node.cls.every_tick
        complete = True
        linked: set[str] = set()
        for edge in self.in_edges[step.node]:
            linked.add(edge.input.name)
            if self._delivers_every_tick(edge, step):
                step.unconditional = True
            elif edge.input.required:
                complete = False
        for declared in node.cls.schema.inputs.values():
            if declared.required and not declared.many and declared.name not in linked:
                complete = False
        step.inputs_certain = step.unconditional and complete

    def _delivers_every_tick(self, edge: Edge, step: Step) -> bool:
        """Return whether the edge delivers on every tick on which `step` may run."""
        producer, output = self._producer(edge.source, edge.output.name)
        if not producer.inputs_certain or output.absent:
            return False
        if not always_delivers(self.graph.nodes[edge.source].entry.on_error):
            return False
        return not producer.clocks or (bool(step.clocks) and step.clocks <= producer.clocks)
