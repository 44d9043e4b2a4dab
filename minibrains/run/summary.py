"""The results of a run, from one engine or from several, and their summary."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from minibrains.engine.engine import Engine
from minibrains.engine.stats import NodeStats
from minibrains.engine.timing import LatencyHistogram, buckets, upper_quantile
from minibrains.graph.check import Graph
from minibrains.graph.workflow import RunSettings
from minibrains.run.deadlines import Deadlines
from minibrains.run.folder import RunFolder
from minibrains.savings import Savings


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Statistics of one engine over all its episodes."""

    ticks: int
    times: LatencyHistogram
    nodes: Mapping[str, NodeStats]
    deadlines: Deadlines | None = None
    """The deadlines of a realtime run; None for other runs."""
    paces: list[dict[str, Any]] = field(default_factory=list)
    """The changes that the load shedder made."""

    @classmethod
    def of(
        cls,
        engine: Engine,
        ticks: int,
        deadlines: Deadlines | None = None,
        paces: list[dict[str, Any]] | None = None,
    ) -> EngineStats:
        """Collect the statistics of an engine, which has played so many ticks."""
        return cls(ticks, engine.times, engine.node_stats(), deadlines, paces or [])


@dataclass(slots=True)
class Results:
    """The results of a run so far."""

    episodes: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    brains: dict[str, dict[str, str]] = field(default_factory=dict)
    """Node -> the file and SHA-256 of its brain."""
    stats: dict[int, EngineStats] = field(default_factory=dict)
    """The latest statistics of each worker; those of the engine in this process have number 0."""
    savings: Savings = field(default_factory=dict)
    """The work that caches saved, apart from that of nodes."""
    seconds: float = 0.0
    """Seconds spent in ticks; with workers, from the first tick of any of them to the last."""
    workers: int = 1
    deaths: int = 0
    """Number of workers that died."""


def summarise(
    graph: Graph, results: Results, settings: RunSettings, folder: RunFolder | None
) -> dict[str, Any]:
    """Return the JSON object of the summary, which `--json` prints and summary.json holds."""
    metadata = dict(results.metadata)
    game, rom_sha1 = metadata.pop("game", None), metadata.pop("rom_sha1", None)
    run_dir = None
    if folder is not None:
        run_dir = str(folder.path)
    return {
        "workflow": str(graph.workflow.path or ""),
        "game": game,
        "rom_sha1": rom_sha1,
        "episodes": results.episodes,
        **_speed(results),
        "clock": settings.clock,
        **_realtime(results),
        "nodes": _nodes(graph, results),
        **_cache(results),
        **_fingerprints(results.episodes),
        "seed": settings.seed,
        "workers": results.workers,
        "worker_deaths": results.deaths,
        "run_dir": run_dir,
        "brains": results.brains,
        **metadata,
    }


def _speed(results: Results) -> dict[str, Any]:
    """Return the number of ticks and how long they took."""
    ticks = 0
    times = LatencyHistogram()
    for stats in results.stats.values():
        ticks += stats.ticks
        times.merge(stats.times)
    ticks_per_s, longest = None, None
    if results.seconds:
        ticks_per_s = round(ticks / results.seconds, 1)
    if times.count:
        longest = times.longest
    return {
        "ticks": ticks,
        "ticks_per_s": ticks_per_s,
        "tick_ms": {
            "p50": _milliseconds(times.quantile(0.50)),
            "p99": _milliseconds(times.quantile(0.99)),
            "max": _milliseconds(longest),
        },
    }


def _milliseconds(seconds: float | None) -> float | None:
    if seconds is None:
        return None
    return round(seconds * 1e3, 4)


def _realtime(results: Results) -> dict[str, Any]:
    """Return the missed deadlines and the changes of the load shedder; on the fast clock,
    only that none was missed.
    """
    parts: list[Deadlines] = []
    paces: list[dict[str, Any]] = []
    for stats in results.stats.values():
        if stats.deadlines:
            parts.append(stats.deadlines)
        paces.extend(stats.paces)
    realtime: dict[str, Any] = {"misses": 0}
    if parts:
        deadlines = Deadlines.merged(parts)
        realtime["misses"] = deadlines.misses
        realtime["deadlines"] = deadlines.report()
    if paces:
        realtime["thinned"] = paces
    return realtime


def _nodes(graph: Graph, results: Results) -> dict[str, dict[str, Any]]:
    """Return the entries of the graph's nodes, in its order,
    then of nodes that only other workers or earlier graphs had.
    """
    names = dict.fromkeys(graph.nodes)
    for stats in results.stats.values():
        names.update(dict.fromkeys(stats.nodes))
    return {name: _node(name, results) for name in names}


def _node(name: str, results: Results) -> dict[str, Any]:
    """Return the entry of one node, summed up over all workers;
    counts and times that are zero are left out.

    `mean_us`: microseconds of a run within the tick, None if there was no run. `think_ms`:
    milliseconds of a run in the background. `think_times`: the distribution of the latter, and
    `think_p95_ms`: the upper bound of the bucket with its 95th percentile.
    """
    # the sums
    runs = skips = late = restarts = cached = errors = 0
    seconds = thinking = 0.0
    first_error = ""
    histograms: list[Sequence[int]] = []
    for stats in results.stats.values():
        if name not in stats.nodes:
            continue
        part = stats.nodes[name]
        runs += part.runs
        skips += part.skips
        seconds += part.seconds
        thinking += part.thinking
        late += part.late
        restarts += part.restarts
        cached += part.cached
        errors += part.errors
        first_error = first_error or part.reason
        histograms.append(part.think_times)

    # the entry
    think_times = [sum(counts) for counts in zip_longest(*histograms, fillvalue=0)]
    mean_us, think_ms = None, 0.0
    if runs:
        mean_us = round(seconds / runs * 1e6, 3)
        think_ms = round(thinking / runs * 1e3, 3)
    unless_zero = {
        "think_ms": think_ms,
        "think_p95_ms": upper_quantile(think_times, 0.95),
        "think_times": buckets(think_times),
        "late": late,
        "restarts": restarts,
        "cached": cached,
        "errors": errors,
        "first_error": first_error,
    }
    entry: dict[str, Any] = {"runs": runs, "skips": skips, "mean_us": mean_us}
    for key, value in unless_zero.items():
        if value:
            entry[key] = value
    return entry


def _cache(results: Results) -> dict[str, Any]:
    """Return the entry about caches: what was found, for which node, and the seconds saved;
    empty if nothing was found.
    """
    found: dict[tuple[str | None, str], float] = defaultdict(float)
    for what, seconds in results.savings.items():
        found[None, what] += seconds
    for stats in results.stats.values():
        for name, node in stats.nodes.items():
            for what, seconds in node.savings.items():
                found[name, what] += seconds
    if not found:
        return {}
    answers = []
    for (node_name, what), seconds in found.items():
        answers.append({"node": node_name, "what": what, "saved_s": round(seconds, 4)})
    return {"cache": {"saved_s": round(sum(found.values()), 4), "answers": answers}}


def _fingerprints(episodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one hash over the pads of all episodes, and the number of episodes that differ.

    The hashes are taken in the order of the episodes, so it does not matter how the episodes were
    distributed.
    """
    actions: list[str] = []
    trajectories: set[str] = set()
    for episode in episodes:
        if "actions_sha256" in episode:
            actions.append(episode["actions_sha256"])
        if episode["ended"] in ("done", "limit") and "trajectory_sha256" in episode:
            trajectories.add(episode["trajectory_sha256"])
    actions_sha256 = None
    if actions:
        actions_sha256 = hashlib.sha256("".join(actions).encode()).hexdigest()
    return {"actions_sha256": actions_sha256, "distinct_episodes": len(trajectories) or None}
