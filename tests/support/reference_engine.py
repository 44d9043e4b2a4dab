"""The engine as docs/architecture.md describes it, written to be read and not to be fast.

Nothing is compiled, shared, skipped or inherited: on each tick every register gives out everything
it has, every node is asked whether it is due, and every register that has its inputs takes them.
What a node with state, a sink or a register is called with must be the same here and in the real
engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from minibrains import ABSENT, Aged, Episode, Node, Register
from minibrains.graph.socket_ref import SocketRef
from minibrains.graph.workflow import NodeEntry, Workflow
from minibrains.node_schema import Input

_FAILED = object()


class Loop(Exception):
    """The links form a loop that crosses no register."""


class Broken(Exception):
    """What a node under test raises when it means to."""


class ReferenceEngine:
    """Has the life of an Engine: open, reset, advance, close."""

    def __init__(self, workflow: Workflow, types: Mapping[str, type[Node]]) -> None:
        self.all_entries = workflow.nodes
        self.all_types = {name: types[entry.type] for name, entry in workflow.nodes.items()}
        self.entries: dict[str, NodeEntry] = {}
        self.nodes: dict[str, Any] = {}
        self.registers: list[str] = []
        self.thinking: list[str] = []
        for name, entry in workflow.nodes.items():
            if entry.mode != "run":
                continue
            node = self.all_types[name](**entry.set)
            self.entries[name] = entry
            self.nodes[name] = node
            if isinstance(node, Register):
                self.registers.append(name)
            if node.background and entry.busy == "continue":
                self.thinking.append(name)
        self.order = self._topological_order()
        self.frame_rate: float | None = None
        self.tick = 0
        self.runs = dict.fromkeys(self.nodes, 0)
        self.errors = dict.fromkeys(self.nodes, 0)

    # -- links -------------------------------------------------------------------------------------

    def source(self, link: SocketRef) -> SocketRef | None:
        """The output that really feeds a link: a muted node gives nothing,
        a bypassed one what feeds it.
        """
        passed = set()
        while link not in passed:
            passed.add(link)
            entry, schema = self.all_entries[link.node], self.all_types[link.node].schema
            if entry.mode == "run":
                return link
            if entry.mode == "mute":
                return None
            # like ComfyUI: what feeds the input at the same place if it has the same type, else the
            # first that has
            kind, place = (
                schema.outputs[link.socket].type.label,
                list(schema.outputs).index(link.socket),
            )
            alike = [
                name for name, declared in schema.inputs.items() if declared.type.label == kind
            ]
            if not alike:
                return None
            name = alike[0]
            if place < len(schema.inputs) and list(schema.inputs)[place] in alike:
                name = list(schema.inputs)[place]
            feeding = entry.inputs.get(name, ())
            if not feeding:
                return None
            link = feeding[0]
        return None

    def sources(self, name: str, socket: str) -> list[SocketRef]:
        sources: list[SocketRef] = []
        for link in self.entries[name].inputs.get(socket, ()):
            source = self.source(link)
            if source is not None:
                sources.append(source)
        return sources

    def all_sources(self, name: str) -> list[SocketRef]:
        sources: list[SocketRef] = []
        for socket in self.nodes[name].schema.inputs:
            sources.extend(self.sources(name, socket))
        return sources

    def flag(self, name: str) -> SocketRef | None:
        """The output that a node's `when` really reads."""
        gate = self.entries[name].when
        if gate is None:
            return None
        return self.source(gate)

    def _topological_order(self) -> list[str]:
        order: list[str] = []
        waiting = [name for name in self.nodes if name not in self.registers]
        while waiting:
            for name in waiting:
                before = self.all_sources(name)
                flag = self.flag(name)
                if flag is not None:
                    before.append(flag)
                there = {*order, *self.registers, *self.thinking}
                if all(link.node in there for link in before):
                    break
            else:
                raise Loop(waiting)
            order.append(name)
            waiting.remove(name)
        return order

    # -- life --------------------------------------------------------------------------------------

    def open(self, make_host: Callable[[Any, Any], Any]) -> None:
        for name, node in self.nodes.items():
            node.open(make_host(SimpleNamespace(name=name, sizes={}), self))
            node.settle()

    def reset(self, index: int, seed: int) -> None:
        self.tick = 0
        self.count = 0
        self.delivered: dict[SocketRef, tuple[Any, int, int]] = {}
        """Output -> its last delivered value, the tick of that, and a running number."""
        self.last_run: dict[str, int] = {}
        """Node -> the running number when it last ran."""
        self.pending: dict[str, tuple[int, Any]] = {}
        """Node -> when its result will be given out, and the result."""
        for name, node in self.nodes.items():
            node.reset(Episode(index, seed, name))

    def advance(self, ticks: int) -> bool:
        for _ in range(ticks):
            ended = self._one_tick()
            self.tick += 1
            if ended:
                return True
        return False

    def close(self) -> None:
        for node in self.nodes.values():
            node.close()

    # -- one tick ----------------------------------------------------------------------------------

    def _one_tick(self) -> bool:
        for name in self.registers:
            self._run(name, self.nodes[name].emit)
        for name in self.thinking:
            if name in self.pending and self.pending[name][0] == self.tick:
                self._arrive(name)
        last = False
        for name in self.registers:
            terminal = self.nodes[name].terminal
            if terminal and self._value(SocketRef(name, terminal)):
                last = True
        for name in self.order:
            if self._is_due(name) and self._clock_is_open(name) and self._is_complete(name):
                arguments = self._arguments(name)
                if name not in self.thinking:
                    self.last_run[name] = self.count
                    self._run(name, self.nodes[name].tick, *arguments)
                elif name not in self.pending:
                    self.runs[name] += 1
                    self.last_run[name] = self.count
                    if not last:
                        self._launch(name, *arguments)
        if last:
            return True
        for name in self.registers:
            if self._is_complete(name):
                self._try(name, self.nodes[name].latch, *self._arguments(name))
        return False

    def _launch(self, name: str, *arguments: Any) -> None:
        try:
            result = self.nodes[name].tick(*arguments)
        except Broken as error:
            result = error
        self.pending[name] = self.tick + (self.entries[name].latency or 1), result

    def _arrive(self, name: str) -> None:
        _, result = self.pending.pop(name)
        if isinstance(result, Broken):
            self.errors[name] += 1
        else:
            self._deliver(name, result)

    def _is_due(self, name: str) -> bool:
        if self.nodes[name].every_tick:
            return True
        sources = self.all_sources(name)
        if not sources:
            return name not in self.last_run
        for source in sources:
            if source in self.delivered and self.delivered[source][2] > self.last_run.get(name, 0):
                return True
        return False

    def _clock_is_open(self, name: str) -> bool:
        entry = self.entries[name]
        if entry.when is not None:
            flag = self.flag(name)
            if flag is None or not self._value(flag):
                return False
        if entry.hertz is not None:
            each = Fraction(str(entry.hertz)) / Fraction(str(self.frame_rate))
            return self.tick == 0 or self.tick * each // 1 > (self.tick - 1) * each // 1
        return self.tick % entry.every == entry.offset

    def _is_complete(self, name: str) -> bool:
        """Every link of every required input has delivered once."""
        for socket, declared in self.nodes[name].schema.inputs.items():
            sources = self.sources(name, socket)
            if declared.required and not (sources or declared.many):
                return False
            if declared.required and any(source not in self.delivered for source in sources):
                return False
        return True

    def _arguments(self, name: str) -> list[Any]:
        arguments: list[Any] = []
        for socket, declared in self.nodes[name].schema.inputs.items():
            read = [self._read(source, declared) for source in self.sources(name, socket)]
            if declared.many:
                arguments.append(read)
            else:
                arguments.append(read[0] if read else None)
        return arguments

    def _read(self, source: SocketRef, declared: Input) -> Any:
        if source not in self.delivered:
            return None
        value, tick, _ = self.delivered[source]
        if declared.reading == "on":
            return value if tick == self.tick else None
        if declared.reading == "aged":
            return Aged(value, self.tick - tick)
        return value

    def _value(self, source: SocketRef) -> Any:
        if source not in self.delivered:
            return None
        return self.delivered[source][0]

    def _run(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Let a node run and deliver what it gives out."""
        self.runs[name] += 1
        result = self._try(name, function, *arguments)
        if result is not _FAILED:
            self._deliver(name, result)

    def _deliver(self, name: str, result: Any) -> None:
        schema = self.nodes[name].schema
        if not schema.outputs:
            return
        values = result if schema.returns_tuple else [result]
        for output, value in zip(schema.outputs.values(), values, strict=True):
            delivered = self._try(name, value) if output.lazy else value
            if delivered is not _FAILED and delivered is not ABSENT:
                self.count += 1
                self.delivered[SocketRef(name, output.name)] = delivered, self.tick, self.count

    def _try(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """A node on hold that raises delivers nothing: its last output stands."""
        try:
            return function(*arguments)
        except Broken:
            if self.entries[name].on_error != "hold":
                raise
            self.errors[name] += 1
            return _FAILED
