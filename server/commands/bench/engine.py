"""The benchmark `bench engine`: the engine's cost per node,
compared with calling the same ticks in a plain loop.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from minibrains import ABSENT, Absent, Number, Register
from minibrains.engine.compile import compile_graph
from minibrains.engine.engine import Engine
from minibrains.engine.plan import Plan
from minibrains.errors import RunError
from minibrains.graph.catalog import brain_finder
from minibrains.graph.check import check
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import Workflow, parse_workflow
from minibrains.host import Episode
from minibrains.node import Node
from minibrains.testing import ScratchHost
from server.commands.bench.measure import medians

SIZES = (12, 100, 1000, 10_000)
REPEATS = 15
BOXED, IN_A_BOX = 1000, 10
"""Largest number of nodes that are put into boxes, and the number in each box."""
NODE_TICKS = 200_000
"""Number of ticks times number of nodes in one repeat."""


class Live(Register):
    """A register that delivers on every tick."""

    def reset(self, episode: Episode) -> None:
        self.count = 0

    def emit(self) -> Number:
        return self.count

    def latch(self) -> None:
        self.count += 1


class Pulse(Register):
    """A register that delivers on the first tick of an episode only."""

    def reset(self, episode: Episode) -> None:
        self.given = False

    def emit(self) -> Number | Absent:
        return ABSENT if self.given else 1

    def latch(self) -> None:
        self.given = True


class One(Node):
    """One input, one output."""

    def tick(self, x: Number) -> Number:
        return x


class Pair(NamedTuple):
    """Two outputs."""

    a: Number
    b: Number


class Four(Node):
    """Four inputs, two outputs in a NamedTuple."""

    def tick(self, p: Number, q: Number, r: Number, s: Number) -> Pair:
        return Pair(p, q)


def run(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Return `{"cases": [{"shape", "n", "active_us", "skip_us", "plain_us",
    "boxed_ratio", "compile_s"}…]}` in µs per node and tick.

    active_us: all n nodes run on every tick; the time of a tick divided by n. skip_us: a tenth of
    the nodes run; the additional time over a graph of that tenth alone, divided by the number of
    idle nodes. plain_us: the same ticks in a plain Python loop. Shapes: a chain, a fan from one
    register, a chain of nodes with four inputs and two outputs.

    boxed_ratio: the time of a tick with the nodes in boxes, ten in each, ten of these in each outer
    box, relative to the flat chain, in turns; None for the other shapes and for 10 000 nodes.
    """
    cases = []
    for shape in ("chain", "wide", "four"):
        for n in sizes:
            cases.append(_case(shape, n))
    return {"cases": cases}


def _boxed_ratio(n: int) -> float:
    """Return the time of a tick of the chain in boxes, relative to that of the flat one."""
    flat, boxed = _engine("chain", n, n), _opened(_compile_workflow(_boxed_chain(n)))
    ticks = max(5, NODE_TICKS // n)
    works: dict[str, Callable[[], object]] = {
        "flat": lambda: flat.advance(ticks),
        "boxed": lambda: boxed.advance(ticks),
    }
    taken = medians(works, REPEATS)
    runs = [stats.runs for name, stats in boxed.node_stats().items() if name != "live"]
    if runs != [boxed.total_ticks] * n:
        raise RunError(f"{len(runs)} nodes ran in boxes, expected {n} on each of the ticks")
    return round(taken["boxed"] / taken["flat"], 3)


def _boxed_chain(n: int) -> Workflow:
    """Return the chain with its nodes in boxes within boxes; the last ones may not be full."""
    defs: dict[str, Any] = {}

    def chained(entries: list[dict[str, Any]], first: str) -> dict[str, Any]:
        nodes: dict[str, Any] = {}
        source = first
        for index, entry in enumerate(entries):
            links = {"in": {"x": source}} if source else {}
            nodes[f"n{index}"] = {**entry, **links}
            source = f"n{index}.number"
        return nodes

    def in_boxes(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        boxes = []
        for start in range(0, len(entries), IN_A_BOX):
            name, inside = f"box{len(defs)}", entries[start : start + IN_A_BOX]
            outputs = {"number": f"n{len(inside) - 1}.number"}
            nodes = chained(inside, "")
            defs[name] = {"nodes": nodes, "inputs": {"x": "n0.x"}, "outputs": outputs}
            boxes.append({"type": f"defs/{name}"})
        return boxes

    boxes = in_boxes(in_boxes([{"type": "One@1"}] * n))
    nodes = {"live": {"type": "Live@1"}, **chained(boxes, "live.number")}
    return parse_workflow({"minibrains": 1, "nodes": nodes, "defs": defs})


def _case(shape: str, n: int) -> dict[str, Any]:
    awake = max(1, n // 10)
    active, tenth, alone = (
        _engine(shape, n, n),
        _engine(shape, n, awake),
        _engine(shape, awake, awake),
    )
    plain, ticks = _plain(shape, n), max(5, NODE_TICKS // n)
    works: dict[str, Callable[[], object]] = {
        "active": lambda: active.advance(ticks),
        "tenth": lambda: tenth.advance(ticks),
        "alone": lambda: alone.advance(ticks),
        "plain": lambda: plain(ticks),
    }
    per_tick = {name: taken / ticks * 1e6 for name, taken in medians(works, REPEATS).items()}
    _verify(active, n, n)
    _verify(tenth, n, awake)
    return {
        "shape": shape,
        "n": n,
        "active_us": round(per_tick["active"] / n, 4),
        "skip_us": round((per_tick["tenth"] - per_tick["alone"]) / (n - awake), 4),
        "plain_us": round(per_tick["plain"] / n, 4),
        "boxed_ratio": _boxed_ratio(n) if shape == "chain" and n <= BOXED else None,
        "compile_s": round(medians({"compile": lambda: _compile(shape, n, n)}, 3)["compile"], 4),
    }


def _verify(engine: Engine, n: int, awake: int) -> None:
    """Check by the counters that exactly the intended nodes ran;
    otherwise the figures would be meaningless.
    """
    counted = engine.node_stats()
    for index in range(n):
        times = counted[f"n{index}"]
        runs = engine.total_ticks if index < awake else 1
        if (times.runs, times.skips) != (runs, engine.total_ticks - runs):
            raise RunError(
                f"n{index} ran {times.runs} times in {engine.total_ticks} ticks, expected {runs}"
            )


def _compile(shape: str, n: int, awake: int) -> Plan:
    """Compile `awake` nodes behind a register that delivers on every tick,
    and the others behind one that does so once.
    """
    nodes: dict[str, Any] = {"live": {"type": "Live@1"}, "pulse": {"type": "Pulse@1"}}
    for index in range(n):
        before = f"n{index - 1}"
        is_first = index in (0, awake)
        source = "live.number" if index < awake else "pulse.number"
        if shape == "four":
            links = {"p": f"{before}.a", "q": f"{before}.b", "r": f"{before}.a", "s": source}
            if is_first:
                links = dict.fromkeys("pqrs", source)
            nodes[f"n{index}"] = {"type": "Four@1", "in": links}
        elif shape == "wide" or is_first:
            nodes[f"n{index}"] = {"type": "One@1", "in": {"x": source}}
        else:
            nodes[f"n{index}"] = {"type": "One@1", "in": {"x": f"{before}.number"}}
    return _compile_workflow(parse_workflow({"minibrains": 1, "nodes": nodes}))


def _compile_workflow(workflow: Workflow) -> Plan:
    registry = Registry()
    for cls in (Live, Pulse, One, Four):
        registry.add(cls)
    return compile_graph(check(workflow, registry, brain_finder(None)))


def _engine(shape: str, n: int, awake: int) -> Engine:
    return _opened(_compile(shape, n, awake))


def _opened(plan: Plan) -> Engine:
    engine = Engine(plan)
    engine.open(lambda runtime, _: ScratchHost(Path(), runtime.name))
    engine.reset(0, 0)
    engine.advance(2)
    return engine


def _plain(shape: str, n: int) -> Callable[[int], None]:
    """Return a loop that calls the same ticks one after another."""
    cls: type[One] | type[Four] = One
    arguments: tuple[int, ...] = (1,)
    if shape == "four":
        cls = Four
        arguments = (1, 2, 3, 4)
    calls: list[Callable[..., Any]] = [cls().tick for _ in range(n)]

    def loop(ticks: int) -> None:
        for _ in range(ticks):
            for call in calls:
                call(*arguments)

    return loop
