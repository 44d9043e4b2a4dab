"""Checked graph -> plan: one flat list of steps in a fixed order, with integer slots instead of names.

Three things are found out here, so that no tick has to: the order; which steps are due on every tick
anyway, so that nobody has to tell them; and which clock each node has, its own or its consumers'.
"""

from __future__ import annotations

import graphlib
from collections import defaultdict
from collections.abc import Iterable, Mapping

from minibrains.engine.plan import Clock, InputPlan, Latch, OutputPlan, Plan, Source, Step, Use
from minibrains.graph.check import CheckedNode, Edge, Graph
from minibrains.graph.error_policy import always_delivers, may_skip_runs
from minibrains.graph.workflow import Link
from minibrains.node import Node, Register
from minibrains.node_schema import Input, Reading


def compile_graph(graph: Graph) -> Plan:
    """Compile a checked graph; checking has made sure that every loop crosses a register."""
    return _Compiler(graph).plan()


def _stateless(cls: type[Node]) -> bool:
    return cls.reset is Node.reset and not cls.clocked


class _Compiler:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.slots: list[Use] = ["last"]
        self.in_edges: dict[str, list[Edge]] = defaultdict(list)
        self.out_edges: dict[tuple[str, str], list[Edge]] = defaultdict(list)
        for edge in graph.edges:
            self.in_edges[edge.target].append(edge)
            self.out_edges[edge.source, edge.output.name].append(edge)
        terminals = {(name, node.cls.terminal) for name, node in graph.nodes.items() if issubclass(node.cls, Register)}
        self.observed = {(link.node, link.socket) for link in graph.gates.values()} | terminals
        """Outputs that the engine itself reads on every tick."""
        self.main = {name: self._main_step(node) for name, node in graph.nodes.items()}
        """The step that takes a node's inputs; a register's takes none."""
        self.producers = {name: self._producing_step(node) for name, node in graph.nodes.items()}
        """The step that delivers a node's outputs."""
        self.clock_owner = {clock: name for name, step in self.main.items() for clock in step.clocks}
        """A node that has this clock in the workflow."""
        self.readers = {
            (name, output.name): Step("read", name)
            for name, node in graph.nodes.items()
            for output in node.cls.schema.outputs.values()
            if output.lazy and (self.out_edges[name, output.name] or (name, output.name) in self.observed)
        }

    def plan(self) -> Plan:
        ordered = self._order()
        position = {id(step): index for index, step in enumerate(ordered)}
        self._find_constants(ordered)
        self._inherit_clocks(ordered, position)
        steps = self._with_gates(ordered)
        for index, step in enumerate(steps):
            step.index = index
        self._lay_slots()
        self._find_always_due(steps)
        latches = tuple(self._latch(node) for node in self.graph.nodes.values() if node.register)
        terminals = tuple(
            self._slot(self._producer(name, terminal)[1], "optional")
            for name, node in self.graph.nodes.items()
            if (terminal := node.cls.terminal) is not None
        )
        return Plan(self.graph, tuple(steps), latches, tuple(self.slots), terminals)

    # -- steps and their order ------------------------------------------------------------------

    def _main_step(self, node: CheckedNode) -> Step:
        declared = node.cls.schema.outputs.values()
        outputs = [OutputPlan(output.name, output.absent and not output.lazy) for output in declared]
        entry = node.entry
        clocks: frozenset[Clock] = frozenset()
        if not node.register:
            clock = Clock(entry.every, entry.hertz, entry.offset, self.graph.gates.get(node.id, entry.when), entry.optional)
            if clock != Clock():
                clocks = frozenset([clock])
        if node.continues:
            return Step("launch", node.id, clocks=clocks)
        return Step("emit" if node.register else "tick", node.id, outputs=outputs, clocks=clocks)

    def _producing_step(self, node: CheckedNode) -> Step:
        if not node.continues:
            return self.main[node.id]
        return Step("arrive", node.id, outputs=[OutputPlan(name, absent=True) for name in node.cls.schema.outputs])

    def _producer(self, node: str, socket: str) -> tuple[Step, OutputPlan]:
        """The step that delivers an output, and its plan there."""
        reader = self.readers.get((node, socket))
        if reader is not None:
            if not reader.outputs:
                source = self.graph.nodes[node]
                absent = source.cls.schema.outputs[socket].absent or not always_delivers(source.entry.on_error)
                reader.outputs.append(OutputPlan(socket, absent))
            return reader, reader.outputs[0]
        step = self.producers[node]
        return step, next(output for output in step.outputs if output.name == socket)

    def _order(self) -> list[Step]:
        """Emits first, then everything after what it reads; ancestors of `when` flags as early as can be."""
        nodes = self.graph.nodes
        before: dict[str, set[str]] = {name: set() for name, node in nodes.items() if not node.register}
        for edge in self.graph.edges:
            if edge.target in before and not nodes[edge.source].delays:
                before[edge.target].add(edge.source)
        for name, link in self.graph.gates.items():
            if name in before and self._live(link) and not nodes[link.node].delays:
                before[name].add(link.node)
        order = list(graphlib.TopologicalSorter(before).static_order())
        early: set[str] = set()
        frontier = [link.node for link in self.graph.gates.values() if self._live(link) and not nodes[link.node].delays]
        while frontier:
            name = frontier.pop()
            if name not in early:
                early.add(name)
                frontier.extend(before[name])
        emits = [self.producers[name] for name, node in nodes.items() if node.delays]
        first = [self.main[name] for name in order if name in early]
        then = [self.main[name] for name in order if name not in early]
        read_first = {
            output: output in self.observed or any(edge.target in early for edge in self.out_edges[output])
            for output in self.readers
        }
        early_readers = [step for output, step in self.readers.items() if read_first[output]]
        late_readers = [step for output, step in self.readers.items() if not read_first[output]]
        return [*emits, *early_readers, *first, *late_readers, *then]

    def _find_constants(self, ordered: Iterable[Step]) -> None:
        for step in ordered:
            node = self.graph.nodes[step.node]
            plain = step.role == "tick" and _stateless(node.cls) and not step.clocks
            if plain and may_skip_runs(node.entry.on_error) and node.cls.schema.outputs:
                step.constant = all(self.producers[edge.source].constant for edge in self.in_edges[step.node])

    # -- clocks -------------------------------------------------------------------------------------

    def _inherit_clocks(self, ordered: Iterable[Step], position: Mapping[int, int]) -> None:
        """A step without state is done only when one of its consumers may run, if they all have slower clocks.

        Nobody may see the difference. So its last run before a consumer's has to give what all its skipped
        runs together would have given: the last value. One that can give nothing, or fail and be held, or
        reads how old its inputs are keeps its own clock, and so does one of which a consumer reads when it delivered.
        """
        outputs = {id(step): [output] for output, step in self.readers.items()}
        for step in reversed(list(ordered)):
            node = self.graph.nodes[step.node]
            read = step.role == "read"
            plain = step.role == "tick" and _stateless(node.cls) and not step.constant
            if step.clocks or not (read or plain) or not may_skip_runs(node.entry.on_error):
                continue
            given = outputs.get(id(step)) or [(step.node, output.name) for output in step.outputs]
            edges = [edge for output in given for edge in self.out_edges[output]]
            if not edges or any(output in self.observed for output in given):
                continue
            if any(self.graph.nodes[edge.target].register or not self.main[edge.target].clocks for edge in edges):
                continue
            reads_timestamp = any(edge.input.reading != "last" for edge in [*edges, *self.in_edges[step.node]])
            if any(edge.output.absent for edge in edges) or (reads_timestamp and not read):
                continue
            clocks = frozenset(clock for edge in edges for clock in self.main[edge.target].clocks)
            sources = [self._producer(c.when.node, c.when.socket)[0] for c in clocks if c.when and self._live(c.when)]
            if all(position[id(source)] < position[id(step)] for source in sources):
                step.clocks = clocks

    def _live(self, link: Link) -> bool:
        return link.node in self.graph.nodes

    def _with_gates(self, ordered: Iterable[Step]) -> list[Step]:
        """Put a gate step for every clock before the first of its members, right after the flag it waits for."""
        ordered = list(ordered)
        gates: dict[Clock, Step] = {}
        after: dict[int, list[Step]] = defaultdict(list)
        plain: list[Step] = []
        for step in ordered:
            for clock in step.clocks:
                if clock not in gates:
                    gates[clock] = gate = Step("gate", self.clock_owner[clock], clock=clock)
                    if clock.when is not None and self._live(clock.when):
                        after[id(self._producer(clock.when.node, clock.when.socket)[0])].append(gate)
                    else:
                        plain.append(gate)
        steps = plain
        for step in ordered:
            steps.append(step)
            steps.extend(after[id(step)])
        self.gates = gates
        return steps

    # -- slots and deliveries -----------------------------------------------------------------------

    def _slot(self, output: OutputPlan, use: Use) -> int:
        if use not in output.slots:
            output.slots[use] = len(self.slots)
            self.slots.append(use)
        return output.slots[use]

    def _lay_slots(self) -> None:
        for name, node in self.graph.nodes.items():
            if not node.register:
                step = self.main[name]
                step.inputs, step.required = self._read_inputs(node)
        for (name, socket), reader in self.readers.items():
            callable_slot = self._slot(next(o for o in self.producers[name].outputs if o.name == socket), "last")
            reader.inputs = [InputPlan((Source(callable_slot),), False)]
            self._producer(name, socket)
        for clock, gate in self.gates.items():
            if clock.when is not None and self._live(clock.when):
                flag = self._slot(self._producer(clock.when.node, clock.when.socket)[1], "optional")
                gate.inputs = [InputPlan((Source(flag),), False)]

    def _read_inputs(self, node: CheckedNode) -> tuple[list[InputPlan], list[int]]:
        plans: list[InputPlan] = []
        required: list[int] = []
        by_socket: dict[str, list[Edge]] = defaultdict(list)
        for edge in self.in_edges[node.id]:
            by_socket[edge.input.name].append(edge)
        for name, declared in node.cls.schema.inputs.items():
            sources = [self._source(edge, declared) for edge in by_socket[name]]
            if declared.required:
                required.extend(source.slot for source in sources)
                if not sources and not declared.many:
                    required.append(self._never())
            plans.append(InputPlan(tuple(sources), declared.many, declared.required))
        return plans, required

    def _never(self) -> int:
        """A slot nothing is ever delivered to: a required input behind a muted node."""
        self.slots.append("last")
        return len(self.slots) - 1

    def _source(self, edge: Edge, declared: Input) -> Source:
        output = self._producer(edge.source, edge.output.name)[1]
        uses: dict[Reading, Use] = {"last": "last" if declared.required else "optional", "on": "on", "sample": "last"}
        delivered_at = self._slot(output, "delivered_at") if declared.reading == "sample" else None
        return Source(self._slot(output, uses[declared.reading]), delivered_at)

    def _latch(self, node: CheckedNode) -> Latch:
        inputs, required = self._read_inputs(node)
        return Latch(node.id, tuple(inputs), tuple(required))

    # -- what is due anyway -------------------------------------------------------------------------

    def _find_always_due(self, steps: Iterable[Step]) -> None:
        for step in steps:
            node = self.graph.nodes[step.node]
            if step.role in ("emit", "gate", "read"):
                step.always_due = step.always_polled = True
            elif step.role == "arrive":
                step.always_polled = True
            else:
                edges = self.in_edges[step.node]
                always_due = {id(edge): self._is_always_due(edge, step) for edge in edges}
                linked = {edge.input.name for edge in edges}
                step.always_polled = node.cls.clocked or any(always_due.values())
                step.always_due = step.always_polled and all(
                    declared.name in linked or declared.many for declared in node.cls.schema.inputs.values() if declared.required
                )
                step.always_due = step.always_due and all(always_due[id(edge)] for edge in edges if edge.input.required)
            for clock in step.clocks:
                self.gates[clock].members.append(step.index)
        for (source, socket), edges in self.out_edges.items():
            output = self._producer(source, socket)[1]
            targets = (self.main[edge.target] for edge in edges if not self.graph.nodes[edge.target].register)
            output.marks = sorted({target.index for target in targets if not target.always_polled})

    def _is_always_due(self, edge: Edge, step: Step) -> bool:
        """Return whether the edge delivers on every tick on which `step` may run."""
        producer, output = self._producer(edge.source, edge.output.name)
        if not producer.always_due or output.absent or not always_delivers(self.graph.nodes[edge.source].entry.on_error):
            return False
        return not producer.clocks or (bool(step.clocks) and step.clocks <= producer.clocks)
