"""`bench workers`: the same episodes in one process and in two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from minibrains.errors import RunError
from minibrains.graph.check import Graph
from minibrains.graph.workflow import RunSettings
from minibrains.process.process_workers import ProcessLauncher
from minibrains.run.folder import RunFolder
from minibrains.run.recipe import Recipe
from minibrains.run.spread import Spread
from minibrains.run.summary import Results, summarise

REPEATS = 5
SETTINGS = RunSettings(episodes=16, ticks=1200)


def run(graph: Graph, recipe: Recipe) -> dict[str, Any]:
    """`{"workflow", "episodes", "ticks", "one_per_s", "two_per_s", "ratio", "lowest", "highest"}`, episodes a second.

    From the first tick of any worker to the end of the last episode, starting not counted; medians of runs that take
    turns. `ratio` is the median over pairs of two workers to one, `lowest` and `highest` its extremes. Raises RunError
    if the two do not play the same.
    """
    rates: dict[int, list[float]] = {1: [], 2: []}
    hashes = set()
    for _ in range(REPEATS):
        for count, taken in rates.items():
            summary, seconds = _play(graph, recipe, count)
            taken.append(SETTINGS.episodes / seconds)
            hashes.add(summary["actions_sha256"])
    if len(hashes) != 1:
        raise RunError("bench workers: one and two workers did not press the same buttons")
    ratios = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    return {
        "workflow": str(graph.workflow.path or ""),
        "episodes": SETTINGS.episodes,
        "ticks": SETTINGS.ticks,
        "one_per_s": round(median(rates[1]), 3),
        "two_per_s": round(median(rates[2]), 3),
        "ratio": round(median(ratios), 3),
        "lowest": round(min(ratios), 3),
        "highest": round(max(ratios), 3),
    }


def _play(graph: Graph, recipe: Recipe, count: int) -> tuple[dict[str, Any], float]:
    results = Results()
    with TemporaryDirectory() as path:
        folder = RunFolder(Path(path), replace(graph.workflow, path=None))
        spread = Spread(ProcessLauncher(count), recipe, SETTINGS, folder)
        spread.play(graph, results, lambda text: None, lambda *_: None)
        summary = summarise(graph, results, SETTINGS, folder)
        folder.finish(summary)
    return summary, results.seconds
