"""Checked graph -> plan: one flat list of steps in a fixed order, with integer slots instead of names.

Three things are found out here, so that no tick has to: the order; which steps are due on every tick
anyway, so that nobody has to tell them; and which clock each node has, its own or its consumers'.
"""

from __future__ import annotations

import graphlib
from collections import defaultdict
from collections.abc import Iterable, Mapping

from minibrains.engine.plan import Clock, InputPlan, Latch, OutputPlan, Plan, Source, Step, Use
from minibrains.graph.check import CheckedNode, Graph, Wire
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
        self.into: dict[str, list[Wire]] = defaultdict(list)
        self.out_of: dict[tuple[str, str], list[Wire]] = defaultdict(list)
        for wire in graph.wires:
            self.into[wire.target].append(wire)
            self.out_of[wire.source, wire.output.name].append(wire)
        terminals = {(name, node.cls.terminal) for name, node in graph.nodes.items() if issubclass(node.cls, Register)}
        self.watched = {(link.node, link.socket) for link in graph.gates.values()} | terminals
        """Outputs that the engine itself looks at on every tick."""
        self.main = {name: self._main_step(node) for name, node in graph.nodes.items()}
        """The step that takes a node's inputs; a register's takes none."""
        self.giving = {name: self._giving_step(node) for name, node in graph.nodes.items()}
        """The step that gives out a node's outputs."""
        self.paced = {clock: name for name, step in self.main.items() for clock in step.clocks}
        """A node that was given this clock in the workflow."""
        self.readers = {
            (name, output.name): Step("read", name)
            for name, node in graph.nodes.items()
            for output in node.cls.schema.outputs.values()
            if output.lazy and (self.out_of[name, output.name] or (name, output.name) in self.watched)
        }

    def plan(self) -> Plan:
        ordered = self._order()
        position = {id(step): place for place, step in enumerate(ordered)}
        self._find_constants(ordered)
        self._inherit_clocks(ordered, position)
        steps = self._with_gates(ordered)
        for index, step in enumerate(steps):
            step.index = index
        self._lay_slots()
        self._find_sure(steps)
        latches = tuple(self._latch(node) for node in self.graph.nodes.values() if node.register)
        terminals = tuple(
            self._slot(self._giver(name, terminal)[1], "optional")
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

    def _giving_step(self, node: CheckedNode) -> Step:
        if not node.continues:
            return self.main[node.id]
        return Step("arrive", node.id, outputs=[OutputPlan(name, absent=True) for name in node.cls.schema.outputs])

    def _giver(self, node: str, socket: str) -> tuple[Step, OutputPlan]:
        """The step that delivers an output, and its plan there."""
        reader = self.readers.get((node, socket))
        if reader is not None:
            if not reader.outputs:
                source = self.graph.nodes[node]
                absent = source.cls.schema.outputs[socket].absent or not always_delivers(source.entry.on_error)
                reader.outputs.append(OutputPlan(socket, absent))
            return reader, reader.outputs[0]
        step = self.giving[node]
        return step, next(output for output in step.outputs if output.name == socket)

    def _order(self) -> list[Step]:
        """Emits first, then everything after what it reads; ancestors of `when` flags as early as can be."""
        nodes = self.graph.nodes
        before: dict[str, set[str]] = {name: set() for name, node in nodes.items() if not node.register}
        for wire in self.graph.wires:
            if wire.target in before and not nodes[wire.source].delays:
                before[wire.target].add(wire.source)
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
        emits = [self.giving[name] for name, node in nodes.items() if node.delays]
        first = [self.main[name] for name in order if name in early]
        then = [self.main[name] for name in order if name not in early]
        read_first = {
            output: output in self.watched or any(wire.target in early for wire in self.out_of[output]) for output in self.readers
        }
        early_readers = [step for output, step in self.readers.items() if read_first[output]]
        late_readers = [step for output, step in self.readers.items() if not read_first[output]]
        return [*emits, *early_readers, *first, *late_readers, *then]

    def _find_constants(self, ordered: Iterable[Step]) -> None:
        for step in ordered:
            node = self.graph.nodes[step.node]
            plain = step.role == "tick" and _stateless(node.cls) and not step.clocks
            if plain and may_skip_runs(node.entry.on_error) and node.cls.schema.outputs:
                step.constant = all(self.giving[wire.source].constant for wire in self.into[step.node])

    # -- clocks -------------------------------------------------------------------------------------

    def _inherit_clocks(self, ordered: Iterable[Step], position: Mapping[int, int]) -> None:
        """A step without state is done only when one of its consumers may run, if they all have slower clocks.

        Nobody may see the difference. So its last run before a consumer's has to give what all its skipped
        runs together would have given: the last value. One that can give nothing, or fail and be held, or
        reads how old its inputs are keeps its own pace, and so does one whose deliveries are dated by a consumer.
        """
        outputs = {id(step): [output] for output, step in self.readers.items()}
        for step in reversed(list(ordered)):
            node = self.graph.nodes[step.node]
            read = step.role == "read"
            plain = step.role == "tick" and _stateless(node.cls) and not step.constant
            if step.clocks or not (read or plain) or not may_skip_runs(node.entry.on_error):
                continue
            given = outputs.get(id(step)) or [(step.node, output.name) for output in step.outputs]
            wires = [wire for output in given for wire in self.out_of[output]]
            if not wires or any(output in self.watched for output in given):
                continue
            if any(self.graph.nodes[wire.target].register or not self.main[wire.target].clocks for wire in wires):
                continue
            dated = any(wire.input.reading != "last" for wire in [*wires, *self.into[step.node]])
            if any(wire.output.absent for wire in wires) or (dated and not read):
                continue
            clocks = frozenset(clock for wire in wires for clock in self.main[wire.target].clocks)
            sources = [self._giver(c.when.node, c.when.socket)[0] for c in clocks if c.when and self._live(c.when)]
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
                    gates[clock] = gate = Step("gate", self.paced[clock], clock=clock)
                    if clock.when is not None and self._live(clock.when):
                        after[id(self._giver(clock.when.node, clock.when.socket)[0])].append(gate)
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
            callable_slot = self._slot(next(o for o in self.giving[name].outputs if o.name == socket), "last")
            reader.inputs = [InputPlan((Source(callable_slot),), False)]
            self._giver(name, socket)
        for clock, gate in self.gates.items():
            if clock.when is not None and self._live(clock.when):
                flag = self._slot(self._giver(clock.when.node, clock.when.socket)[1], "optional")
                gate.inputs = [InputPlan((Source(flag),), False)]

    def _read_inputs(self, node: CheckedNode) -> tuple[list[InputPlan], list[int]]:
        plans: list[InputPlan] = []
        required: list[int] = []
        by_socket: dict[str, list[Wire]] = defaultdict(list)
        for wire in self.into[node.id]:
            by_socket[wire.input.name].append(wire)
        for name, declared in node.cls.schema.inputs.items():
            sources = [self._source(wire, declared) for wire in by_socket[name]]
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

    def _source(self, wire: Wire, declared: Input) -> Source:
        output = self._giver(wire.source, wire.output.name)[1]
        uses: dict[Reading, Use] = {"last": "last" if declared.required else "optional", "on": "on", "sample": "last"}
        stamp = self._slot(output, "stamp") if declared.reading == "sample" else None
        return Source(self._slot(output, uses[declared.reading]), stamp)

    def _latch(self, node: CheckedNode) -> Latch:
        inputs, required = self._read_inputs(node)
        return Latch(node.id, tuple(inputs), tuple(required))

    # -- what is due anyway -------------------------------------------------------------------------

    def _find_sure(self, steps: Iterable[Step]) -> None:
        for step in steps:
            node = self.graph.nodes[step.node]
            if step.role in ("emit", "gate", "read"):
                step.sure = step.visited = True
            elif step.role == "arrive":
                step.visited = True
            else:
                wires = self.into[step.node]
                sure = {id(wire): self._is_sure(wire, step) for wire in wires}
                linked = {wire.input.name for wire in wires}
                step.visited = node.cls.clocked or any(sure.values())
                step.sure = step.visited and all(
                    declared.name in linked or declared.many for declared in node.cls.schema.inputs.values() if declared.required
                )
                step.sure = step.sure and all(sure[id(wire)] for wire in wires if wire.input.required)
            for clock in step.clocks:
                self.gates[clock].members.append(step.index)
        for (source, socket), wires in self.out_of.items():
            output = self._giver(source, socket)[1]
            targets = (self.main[wire.target] for wire in wires if not self.graph.nodes[wire.target].register)
            output.marks = sorted({target.index for target in targets if not target.visited})

    def _is_sure(self, wire: Wire, step: Step) -> bool:
        """True if the wire delivers on every tick on which `step` may run."""
        giver, output = self._giver(wire.source, wire.output.name)
        if not giver.sure or output.absent or not always_delivers(self.graph.nodes[wire.source].entry.on_error):
            return False
        return not giver.clocks or (bool(step.clocks) and step.clocks <= giver.clocks)
