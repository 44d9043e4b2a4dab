"""The benchmark `bench workers`: the same episodes in one process and in two."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from minibrains.errors import RunError
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec

REPEATS = 5
EPISODES = 16
TICKS = 1200


def run(spec: RunSpec) -> dict[str, Any]:
    """Return `{"workflow", "episodes", "ticks", "one_per_s", "two_per_s", "ratio", "lowest",
    "highest"}` in episodes a second.

    Time is counted from the first tick of any worker to the end of the last episode, without
    start-up; the figures are medians of runs that take turns. `ratio` is the median ratio of two
    workers to one, over pairs; `lowest` and `highest` are its extremes. Raises RunError if the two
    do not play the same games.
    """
    rates: dict[int, list[float]] = {1: [], 2: []}
    hashes = set()
    for _ in range(REPEATS):
        for count, taken in rates.items():
            summary, seconds = _play(spec, count)
            taken.append(EPISODES / seconds)
            hashes.add(summary["actions_sha256"])
    if len(hashes) != 1:
        raise RunError("bench workers: one and two workers did not press the same buttons")
    ratios = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    return {
        "workflow": str(spec.load_workflow().path or ""),
        "episodes": EPISODES,
        "ticks": TICKS,
        "one_per_s": round(median(rates[1]), 3),
        "two_per_s": round(median(rates[2]), 3),
        "ratio": round(median(ratios), 3),
        "lowest": round(min(ratios), 3),
        "highest": round(max(ratios), 3),
    }


def _play(spec: RunSpec, count: int) -> tuple[dict[str, Any], float]:
    """Play the episodes; return the summary,
    and the seconds from the first tick to the end of the last episode.
    """
    with TemporaryDirectory() as folder:
        spec = replace(
            spec, episodes=EPISODES, ticks=TICKS, clock="fast", workers=count, runs=folder
        )
        with Run(spec) as run:
            started = perf_counter()
            for _ in run:
                pass
            seconds = perf_counter() - started
    if count > 1:
        seconds = run.results.seconds  # without the time that workers took to start
    return run.summary, seconds
