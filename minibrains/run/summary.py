"""What a run has come to, from one engine or from several, and the summary of it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from minibrains.engine.engine import Engine
from minibrains.engine.stats import NodeStats
from minibrains.engine.timing import LatencyHistogram, buckets
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
    """Of a realtime run."""
    paces: list[dict[str, Any]] = field(default_factory=list)
    """What the load shedder did."""

    @classmethod
    def of(cls, engine: Engine, deadlines: Deadlines | None = None, paces: list[dict[str, Any]] | None = None) -> EngineStats:
        return cls(engine.ticks, engine.times, engine.node_stats(), deadlines, paces or [])


@dataclass(slots=True)
class Results:
    """What a run has come to so far."""

    episodes: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    brains: dict[str, dict[str, str]] = field(default_factory=dict)
    """Node -> the file and SHA-256 of the brain it played with."""
    stats: dict[int, EngineStats] = field(default_factory=dict)
    """The newest of each worker; of the engine in this process as number 0."""
    savings: Savings = field(default_factory=dict)
    """What caches answered in the place of work, but for the nodes."""
    seconds: float = 0.0
    """Spent in ticks; with workers, from the first tick of any to the last."""
    workers: int = 1
    deaths: int = 0
    """Workers that died."""


def summarise(graph: Graph, results: Results, settings: RunSettings, folder: RunFolder | None) -> dict[str, Any]:
    """The object that `--json` prints and summary.json holds."""
    episodes, ticks = results.episodes, sum(stats.ticks for stats in results.stats.values())
    times = LatencyHistogram()
    for stats in results.stats.values():
        times.merge(stats.times)
    clocks = [stats.deadlines for stats in results.stats.values() if stats.deadlines]
    deadlines = Deadlines.merged(clocks) if clocks else None
    names = dict.fromkeys([*graph.nodes, *(name for stats in results.stats.values() for name in stats.nodes)])
    paces = [pace for stats in results.stats.values() for pace in stats.paces]
    whole = [episode for episode in episodes if episode["ended"] in ("done", "limit")]
    trajectories = [episode["trajectory_sha256"] for episode in whole if "trajectory_sha256" in episode]

    def milliseconds(seconds: float | None) -> float | None:
        return None if seconds is None else round(seconds * 1e3, 4)

    return {
        "workflow": str(graph.workflow.path or ""),
        "game": results.metadata.get("game"),
        "rom_sha1": results.metadata.get("rom_sha1"),
        "episodes": episodes,
        "ticks": ticks,
        "ticks_per_s": round(ticks / results.seconds, 1) if results.seconds else None,
        "tick_ms": {
            "p50": milliseconds(times.quantile(0.50)),
            "p99": milliseconds(times.quantile(0.99)),
            "max": milliseconds(times.longest if times.count else None),
        },
        "clock": settings.clock,
        "misses": deadlines.misses if deadlines else 0,
        **({"deadlines": deadlines.report()} if deadlines else {}),
        **({"thinned": paces} if paces else {}),
        "nodes": {name: _node(name, results) for name in names},
        **_cache(results),
        "actions_sha256": _fold([episode["actions_sha256"] for episode in episodes if "actions_sha256" in episode]),
        "distinct_episodes": len(set(trajectories)) if trajectories else None,
        "seed": settings.seed,
        "workers": results.workers,
        "worker_deaths": results.deaths,
        "run_dir": str(folder.path) if folder is not None else None,
        "brains": results.brains,
        **{name: value for name, value in results.metadata.items() if name not in ("game", "rom_sha1")},
    }


def _node(name: str, results: Results) -> dict[str, Any]:
    parts = [stats.nodes[name] for stats in results.stats.values() if name in stats.nodes]
    runs, seconds = sum(part.runs for part in parts), sum(part.seconds for part in parts)
    thinking = sum(part.thinking for part in parts)
    now_and_then = {
        "think_ms": round(thinking / runs * 1e3, 3) if thinking and runs else 0,
        "think_times": buckets([sum(counts) for counts in zip_longest(*(part.think_times for part in parts), fillvalue=0)]),
        "late": sum(part.late for part in parts),
        "restarts": sum(part.restarts for part in parts),
        "cached": sum(part.cached for part in parts),
        "errors": sum(part.errors for part in parts),
        "first_error": next((part.reason for part in parts if part.reason), ""),
    }
    return {
        "runs": runs,
        "skips": sum(part.skips for part in parts),
        "mean_us": round(seconds / runs * 1e6, 3) if runs else None,
        **{name: value for name, value in now_and_then.items() if value},
    }


def _cache(results: Results) -> dict[str, Any]:
    """Return what was found in a cache, for whom, and what that saved; nothing if nothing was."""
    found: dict[tuple[str | None, str], float] = defaultdict(float)
    for what, seconds in results.savings.items():
        found[None, what] += seconds
    for stats in results.stats.values():
        for name, node in stats.nodes.items():
            for what, seconds in node.savings.items():
                found[name, what] += seconds
    if not found:
        return {}
    answers = [{"node": name, "what": what, "saved_s": round(seconds, 4)} for (name, what), seconds in found.items()]
    return {"cache": {"saved_s": round(sum(found.values()), 4), "answers": answers}}


def _fold(digests: list[str]) -> str | None:
    """One hash over those of the episodes, in order: the same however the episodes were spread."""
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else None
