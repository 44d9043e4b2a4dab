"""Measure for the benchmarks: alternating repeats, and medians."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call in seconds."""
    started = perf_counter()
    work()
    return perf_counter() - started


def take_turns(
    works: Mapping[str, Callable[[], object]], repeats: int, at_least: float = 0.0
) -> dict[str, list[float]]:
    """Measure each piece of work at least `repeats` times and for `at_least` seconds;
    return the seconds of each repeat.

    They take turns, so that a busy moment affects all of them alike.
    """
    taken: dict[str, list[float]] = {name: [] for name in works}
    gc.collect()
    gc.disable()
    began, turns = perf_counter(), 0
    try:
        while turns < repeats or perf_counter() - began < at_least:
            turns += 1
            for name, work in works.items():
                taken[name].append(seconds(work))
    finally:
        gc.enable()
    return taken


def medians(works: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each piece of work."""
    return {name: median(times) for name, times in take_turns(works, repeats).items()}
