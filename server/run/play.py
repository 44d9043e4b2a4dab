"""Play the episodes of a run: the loop around the engine, and what is written down of it."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from minibrains.brain_file import hash_file
from minibrains.errors import MinibrainsError, RunError
from minibrains.workflow import RunSettings
from server.engine.engine import Engine
from server.run.folder import RunFolder

Say = Callable[[str], None]
Progress = Callable[[int, int, float, float | None], None]
"""Called now and then: the episode's number, its ticks, ticks a second, its score so far."""

_LOOK_UP_EVERY = 0.1
"""Seconds from one look at the progress to the next."""


@dataclass(frozen=True, slots=True)
class RunHost:
    """The Host of one node in a run."""

    node: str
    dir: Path
    engine: Engine
    tell: Say
    facts: dict[str, str]

    @property
    def tick(self) -> int:
        return self.engine.tick

    @property
    def frame_rate(self) -> float | None:
        return self.engine.frame_rate

    def size(self, **sizes: int) -> None:
        self.engine.sizes.setdefault(self.node, {}).update(sizes)

    def rate(self, frames_per_second: float) -> None:
        self.engine.frame_rate = frames_per_second

    def say(self, text: str) -> None:
        self.tell(f"{self.node}: {text}")

    def record(self, **facts: str) -> None:
        self.facts.update(facts)


@dataclass(slots=True)
class Results:
    """What a run has come to so far."""

    episodes: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    brains: dict[str, dict[str, str]] = field(default_factory=dict)
    """Node -> the file and SHA-256 of the brain it played with."""
    seconds: float = 0.0
    """Spent in ticks."""


def play(engine: Engine, settings: RunSettings, folder: RunFolder, results: Results, say: Say, progress: Progress) -> None:
    """Open the engine, play the episodes into `results` and `folder`, close it.

    Ends early, in good order, once `engine.stopping` is set. Raises what the engine raises; what was
    played before stays in `results`, an episode that failed included.
    """
    for name, node in engine.plan.graph.nodes.items():
        if node.brain is not None:
            results.brains[name] = {"file": str(node.brain), "sha256": hash_file(node.brain)}
    try:
        engine.open(lambda node, engine: RunHost(node, folder.path, engine, say, results.facts))
        gc.collect()
        gc.freeze()  # what was made until now stays: the collector need not look at it during ticks
        for index in range(settings.episodes):
            if engine.stopping:
                break
            engine.reset(index, settings.seed)
            ended = "failed"
            try:
                ended = _play_episode(engine, index, settings.ticks, results, progress)
            finally:
                results.episodes.append({**_EMPTY, **engine.report(), "ticks": engine.tick, "ended": ended})
                folder.append_episode(results.episodes[-1])
    finally:
        gc.unfreeze()
        troubles = engine.close()
        for trouble in troubles:
            say(trouble)
    if troubles:
        raise RunError("; ".join(troubles))


_EMPTY = {"score": None, "won": None, "start": None}


def _play_episode(engine: Engine, index: int, limit: int | None, results: Results, progress: Progress) -> str:
    """Play to the end of the episode: "done", "limit" or "stopped"."""
    chunk = 16
    while not engine.stopping:
        left = chunk if limit is None else min(chunk, limit - engine.tick)
        if not left:
            return "limit"
        started = perf_counter()
        try:
            ended = engine.advance(left)
        finally:
            seconds = perf_counter() - started
            results.seconds += seconds
        chunk = max(1, min(1 << 20, int(left * _LOOK_UP_EVERY / max(seconds, 1e-6))))
        progress(index, engine.tick, engine.ticks / results.seconds, engine.report().get("score"))
        if ended:
            return "done"
    return "stopped"


def summarise(engine: Engine, results: Results, settings: RunSettings, folder: RunFolder) -> dict[str, Any]:
    """The object that `--json` prints and summary.json holds."""
    times, episodes = engine.times, results.episodes
    whole = [episode for episode in episodes if episode["ended"] in ("done", "limit")]
    trajectories = [episode["trajectory_sha256"] for episode in whole if "trajectory_sha256" in episode]

    def milliseconds(seconds: float | None) -> float | None:
        return None if seconds is None else round(seconds * 1e3, 4)

    return {
        "workflow": str(engine.plan.graph.workflow.path or ""),
        "game": results.facts.get("game"),
        "rom_sha1": results.facts.get("rom_sha1"),
        "episodes": episodes,
        "ticks": engine.ticks,
        "ticks_per_s": round(engine.ticks / results.seconds, 1) if results.seconds else None,
        "tick_ms": {
            "p50": milliseconds(times.quantile(0.50)),
            "p99": milliseconds(times.quantile(0.99)),
            "max": milliseconds(times.longest if times.count else None),
        },
        "misses": 0,
        "nodes": {
            name: {
                "runs": node.runs,
                "skips": node.skips,
                "mean_us": round(node.seconds / node.runs * 1e6, 3) if node.runs else None,
                **({"errors": node.errors} if node.errors else {}),
            }
            for name, node in engine.node_times().items()
        },
        "actions_sha256": _fold([episode["actions_sha256"] for episode in episodes if "actions_sha256" in episode]),
        "distinct_episodes": len(set(trajectories)) if trajectories else None,
        "seed": settings.seed,
        "run_dir": str(folder.path),
        "brains": results.brains,
        **{name: fact for name, fact in results.facts.items() if name not in ("game", "rom_sha1")},
    }


def _fold(digests: list[str]) -> str | None:
    """One hash over those of the episodes, in order: the same however the episodes were spread."""
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else None


def as_error(error: BaseException) -> dict[str, Any]:
    """A failure as `--json` prints it."""
    faults = [fault.as_json() for fault in getattr(error, "faults", ())]
    return {"error": {"message": sentence(error), **({"faults": faults} if faults else {})}}


def sentence(error: BaseException) -> str:
    """What went wrong, in words for people."""
    if isinstance(error, MinibrainsError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "stopped by Ctrl-C"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    return f"a fault in Minibrains itself: {type(error).__name__}: {error}"
