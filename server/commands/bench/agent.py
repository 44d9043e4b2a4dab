"""The benchmark `bench agent`: a workflow against a hand-written loop around the same emulator.

The loop is what one would write without Minibrains: it sets the buttons when they change, emulates
a frame, reads the variables, computes reward and end, reads the screen on the ticks on which the
agent does, processes it as the agent does, and calls the same models. The buttons are recorded
beforehand, so the additional time of the workflow is that of its other nodes and of the engine.
Thinking is measured separately, and counts for neither side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import ceil, sqrt
from statistics import median, quantiles
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import numpy as np

from minibrains.console import find_console
from minibrains.engine.engine import Engine
from minibrains.engine.peek import peek
from minibrains.errors import MinibrainsError
from minibrains.host import Episode
from minibrains.node import Node
from minibrains.run.memory import freeze_heap
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from server.commands.bench.measure import take_turns
from server.commands.bench.street_fighter import GameResult, in_time, is_the_agent, street_fighter

REPEATS = 101
_PARTS = ("emulator", "data", "scenario")
"""Attributes of the console that the hand-written loop uses."""
MAX_TICKS = 300
"""Number of ticks from the beginning of the episode. With many short turns, a disturbance hits both
sides of a pair."""


def run(spec: RunSpec, seconds: float = 0.0) -> dict[str, Any]:
    """Measure in at least REPEATS turns and for at least `seconds`, and return `{"workflow",
    "ticks", "pairs", "workflow_ticks_per_s", "by_hand_ticks_per_s", "ratio", "ratio_95",
    "quartiles", "overhead_us", "tick_cpu_ms"}`.

    `ratio` is the median ratio of the workflow's ticks a second to the loop's, over pairs measured
    one after the other, with its 95 % interval and the quartiles of the pairs; `tick_cpu_ms` is CPU
    time of the ticking thread. If the workflow is the Street Fighter agent, the same figures for
    that agent's own loop begin with `written_out_`, and those for the loop that runs the model
    without a time limit, on its own thread, with `unlimited_`; `written_out_cpu_ratio` compares CPU
    time of the ticking threads, which depends less on other load. With nodes that think on a thread
    there are also `thoughts`, `thought_cpu_ms_p50` and `_p99`: CPU time of background calls.
    """
    bench = Run(replace(spec, clock="fast"))
    engine, plan = bench.engine, bench.engine.plan
    name, console = find_console(engine.nodes)
    with bench, ThreadPoolExecutor(1) as pool:
        if not all(hasattr(console, part) for part in _PARTS):
            parts = ", ".join(_PARTS)
            raise MinibrainsError(
                f"{name}: the loop by hand is written for a console of stable-retro, "
                f"which has {parts}"
            )
        script = _record(engine, console)
        freeze_heap()

        # the loops
        episode, ticks = Episode(0, 0, name), len(script)
        loops = {"by_hand": _by_hand(console, episode, script)}
        if is_the_agent(engine.nodes):
            (background_node,) = _background_nodes(engine)
            strategist, limit = (
                engine.nodes[background_node],
                plan.graph.nodes[background_node].entry.timeout,
            )
            asked = {"written_out": in_time(strategist, pool, limit), "unlimited": strategist.tick}
            for side, ask in asked.items():
                loops[side] = _written_out(
                    engine, console, street_fighter(engine.nodes, episode, ticks, ask), ticks
                )

        # the measurement, in turns
        thinking: dict[str, list[float]] = defaultdict(list)
        cpu, cpu_written_out = list[float](), list[float]()

        def workflow() -> None:
            before, began = engine.blocked_seconds, thread_time()
            engine.reset(0, 0)
            engine.advance(ticks)
            cpu.append(thread_time() - began)
            thinking["workflow"].append(engine.blocked_seconds - before)

        def loop(side: str) -> None:
            began = thread_time()
            thinking[side].append(loops[side]())
            if side == "written_out":  # the model thinks on another thread
                cpu_written_out.append(thread_time() - began)

        works: dict[str, Callable[[], None]] = {"workflow": workflow}
        for side in loops:
            works[side] = partial(loop, side)
        taken = take_turns(works, REPEATS, seconds)
        with _background_calls(engine) as cpu_seconds:
            if _background_nodes(engine):
                # not in a pair: the loops think on another thread, which would slow the next
                # background call here
                for _ in range(REPEATS):
                    engine.reset(0, 0)
                    engine.advance(ticks)

    # the result
    times: dict[str, list[float]] = {}
    for side in taken:
        pairs = zip(taken[side], thinking[side], strict=True)
        times[side] = [whole - background for whole, background in pairs]
    workflow_times, by_hand_times = times.pop("workflow"), times.pop("by_hand")
    result = {
        "workflow": str(plan.graph.workflow.path or ""),
        "ticks": ticks,
        "pairs": len(cpu),
        "workflow_ticks_per_s": round(ticks / median(workflow_times), 1),
        **_compared(workflow_times, by_hand_times, ticks),
    }
    for side, loop_times in times.items():
        for figure, value in _compared(workflow_times, loop_times, ticks).items():
            result[f"{side}_{figure}"] = value
    result["tick_cpu_ms"] = round(median(cpu) / ticks * 1e3, 4)
    if cpu_written_out:
        result["written_out_cpu_ratio"] = round(median(_ratios(cpu, cpu_written_out)), 4)
    return {**result, **_summed_up(cpu_seconds)}


def _written_out(
    engine: Engine, console: Any, play: Callable[[], GameResult], ticks: int
) -> Callable[[], float]:
    """Return the agent's own loop.

    Raises MinibrainsError if it does not play as the workflow does.
    """
    engine.reset(0, 0)
    engine.advance(ticks)
    variables = console.data.lookup_all()
    play()
    if console.data.lookup_all() != variables:
        raise MinibrainsError("the loop written out by hand plays differently from the workflow")
    return lambda: play().model_seconds


def _compared(workflow: list[float], loop: list[float], ticks: int) -> dict[str, Any]:
    ratios = _ratios(workflow, loop)
    low, middle, high = quantiles(ratios, n=4)
    least, most = _interval(ratios)
    return {
        "by_hand_ticks_per_s": round(ticks / median(loop), 1),
        "ratio": round(middle, 4),
        "ratio_95": [round(least, 4), round(most, 4)],
        "quartiles": [round(low, 4), round(high, 4)],
        "overhead_us": round((median(workflow) - median(loop)) / ticks * 1e6, 3),
    }


def _interval(ratios: list[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median from order statistics,
    which assumes that the numbers are independent.
    """
    count = len(ratios)
    apart = 0.98 * sqrt(count)
    low, high = max(int(count / 2 - apart), 0), min(ceil(count / 2 + apart), count - 1)
    return sorted(ratios)[low], sorted(ratios)[high]


def _ratios(workflow: list[float], loop: list[float]) -> list[float]:
    """Return the loop's seconds divided by the workflow's, for each pair."""
    return [hand / flow for hand, flow in zip(loop, workflow, strict=True)]


@contextmanager
def _background_calls(engine: Engine) -> Iterator[list[float]]:
    """Collect the CPU seconds of every background call."""
    seconds: list[float] = []
    nodes, background_nodes = engine.nodes, _background_nodes(engine)
    originals = {type(nodes[name]): type(nodes[name]).tick for name in background_nodes}

    def timed(tick: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*arguments: Any) -> Any:
            began = thread_time()
            try:
                return tick(*arguments)
            finally:
                seconds.append(thread_time() - began)

        return measured

    try:
        for cls, tick in originals.items():
            cls.tick = timed(tick)
        yield seconds
    finally:
        for cls, tick in originals.items():
            cls.tick = tick


def _summed_up(cpu_seconds: list[float]) -> dict[str, Any]:
    if len(cpu_seconds) < 2:
        return {}
    shares = quantiles(cpu_seconds, n=100)
    return {
        "thoughts": len(cpu_seconds),
        "thought_cpu_ms_p50": round(median(cpu_seconds) * 1e3, 3),
        "thought_cpu_ms_p99": round(shares[98] * 1e3, 3),
    }


class Turn(NamedTuple):
    """The work of one tick."""

    looks: bool
    """True if the screen is read."""
    made: list[tuple[Callable[..., Any], dict[str, Any]]]
    """Functions that process pictures, and their arguments."""
    background_calls: list[tuple[Callable[..., Any], dict[str, Any]]]
    """Functions that run in the background, and their arguments."""
    masks: list[tuple[np.ndarray, int]]
    """Button masks that are set, and the player of each."""


Script = list[Turn]


class _Watched:
    """A wrapper of an emulator that records the calls of the workflow."""

    def __init__(self, emulator: Any) -> None:
        self._emulator = emulator
        self.masks: list[tuple[np.ndarray, int]] = []
        self.looked = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._emulator, name)

    def set_button_mask(self, mask: np.ndarray, player: int) -> None:
        """Record and forward the buttons of a player."""
        self.masks.append((mask, player))
        self._emulator.set_button_mask(mask, player)

    def get_screen(self) -> Any:
        """Record that the screen is read, and return it."""
        self.looked = True
        return self._emulator.get_screen()


def _record(engine: Engine, console: Any) -> Script:
    """Play the beginning of episode 0, and record the calls of the emulator on each tick."""
    emulator, script = console.emulator, Script()
    engine.reset(0, 0)
    console.emulator = watched = _Watched(emulator)
    painters, background_nodes = _painters(engine), _background_nodes(engine)
    try:
        while len(script) < MAX_TICKS:
            watched.masks, watched.looked = [], False
            before = engine.node_stats()
            if engine.advance(1):
                break
            after, looked = engine.node_stats(), watched.looked
            have_run = {name for name in after if after[name].runs > before[name].runs}
            made = _calls(engine, painters, have_run)
            background_calls = _calls(engine, background_nodes, have_run)
            script.append(Turn(looked, made, background_calls, watched.masks))
    finally:
        console.emulator = emulator
    return script


def _calls(
    engine: Engine, names: list[str], have_run: set[str]
) -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    """Return the nodes among `names` that have run, as functions with their arguments."""
    return [(engine.nodes[name].tick, _given(engine, name)) for name in names if name in have_run]


def _painters(engine: Engine) -> list[str]:
    """Return the nodes that process pictures, in the order in which they run."""
    painters: list[str] = []
    for step in engine.plan.steps:
        node = engine.plan.graph.nodes[step.node]
        if (
            step.role == "tick"
            and node.background is None
            and node.cls.schema.outputs
            and _takes_frame(node.cls)
        ):
            painters.append(step.node)
    return painters


def _takes_frame(cls: type[Node]) -> bool:
    for socket in cls.schema.inputs.values():
        if any(option.name == "frame" for option in socket.type.options):
            return True
    return False


def _background_nodes(engine: Engine) -> list[str]:
    """Return the nodes that think on a thread of this process."""
    return [
        name for name, runtime in engine.runtimes.items() if runtime.checked.background == "thread"
    ]


def _given(engine: Engine, node: str) -> dict[str, Any]:
    """Return the current values of a node's inputs."""
    given: dict[str, Any] = {}
    graph = engine.plan.graph
    for name, socket in graph.nodes[node].cls.schema.inputs.items():
        values = []
        for edge in graph.edges:
            if edge.target == node and edge.input.name == name:
                values.append(peek(engine, edge.source, edge.output.name))
        if socket.many:
            given[name] = values
        elif values:
            given[name] = values[0]
    return given


def _by_hand(console: Any, episode: Episode, script: Script) -> Callable[[], float]:
    """Return the hand-written loop, which returns the seconds that it spent thinking."""
    emulator, data, scenario = console.emulator, console.data, console.scenario

    def loop() -> float:
        thinking = 0.0
        console.reset(episode)
        for looks, made, background_calls, masks in script:
            if looks:
                emulator.get_screen()
            for make, given in made:
                make(**given)
            if background_calls:
                began = perf_counter()
                for think, given in background_calls:
                    think(**given)
                thinking += perf_counter() - began
            for mask, player in masks:
                emulator.set_button_mask(mask, player)
            emulator.step()
            scenario.frame(data.lookup_all())
        return thinking

    return loop
