"""A run's summary as a table for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MIN_SAVED: Final = 0.001
"""Least number of saved seconds for a line about a cache."""
HEADING: Final = f"{'score':>9}  {'won':>4}  {'ticks':>7}  ended"
"""The columns of an episode's outcome."""
_TO_STATE: Final = len(HEADING) + 2
"""Characters of an episode's outcome: the longest way to end has two more than its heading."""
_COLUMNS: Final = frozenset({"score", "ticks"})
"""The numbers that these columns show."""


def describe(summary: dict[str, Any]) -> str:
    """Return the summary as a table for people."""
    episodes = summary["episodes"]
    lines = _episodes(episodes)
    scores: list[float] = []
    for episode in episodes:
        if episode["ended"] in ("done", "limit") and episode["score"] is not None:
            scores.append(episode["score"])
    if scores:
        mean = f"mean score {sum(scores) / len(scores):.1f} over {len(scores)} episodes"
        distinct = summary["distinct_episodes"] or "?"
        lines.append(f"{mean} that were played to their end, {distinct} distinct")
    lines.extend(_reported(episodes))
    times = summary["tick_ms"]
    if times["p50"] is not None:
        lines.append(f"{summary['ticks']} ticks, {summary['ticks_per_s']:.0f} a second; "
                     "a tick took "
                     f"p50 {times['p50']:.3f}, p99 {times['p99']:.3f}, "
                     f"at most {times['max']:.3f} ms")  # fmt: skip
    if "deadlines" in summary:
        lines.extend(_deadlines(summary))
    for name, node in summary["nodes"].items():
        if "errors" in node:
            lines.append(
                f"{name} failed {node['errors']} times, and the run went on: {node['first_error']}"
            )
    for name in summary["brains"]:
        if f"{name}_model" in summary:
            lines.append(f"{name} computed in {summary[f'{name}_model']}")
    if "cache" in summary:
        lines.extend(_cache(summary["cache"]))
    if summary["worker_deaths"]:
        lines.append(f"workers died {summary['worker_deaths']} times")
    lines.extend(_slowest_nodes(summary["nodes"]))
    lines.extend(_thinking(summary["nodes"]))
    if summary["game"]:
        lines.append(
            f"game {summary['game']}, actions {(summary['actions_sha256'] or '-')[:16]}, "
            f"seed {summary['seed']}"
        )
    lines.append(f"run folder {summary['run_dir']}")
    if "clip" in summary:
        lines.append(f"clip {summary['clip']}")
    return "\n".join(lines)


def _episodes(episodes: list[dict[str, Any]]) -> list[str]:
    if not any(episode.get("start") or episode["score"] is not None for episode in episodes):
        return []  # nothing was played: the workflow is a training, or another job
    lines = [f"{'episode':>7}  {HEADING:<{_TO_STATE}}  began in"]
    for number, episode in enumerate(episodes[:40], 1):
        row = f"{number:>7}  {outcome(episode):<{_TO_STATE}}"
        if episode.get("start"):
            row += f"  {episode['start'].get('state', '')}"
        lines.append(row.rstrip())
    if len(episodes) > 40:
        lines.append(f"    ... {len(episodes) - 40} more in episodes.jsonl")
    return lines


def _reported(episodes: list[dict[str, Any]]) -> list[str]:
    """Return a line about each number that nodes have reported of the episodes."""
    numbers: dict[str, list[float]] = {}
    for episode in episodes:
        for name, value in episode.items():
            if name not in _COLUMNS and type(value) in (int, float):
                numbers.setdefault(name, []).append(value)
    return [
        f"{name} {sum(values) / len(values):.4g}{_mean_of(values)}"
        for name, values in numbers.items()
    ]


def _mean_of(values: list[float]) -> str:
    if len(values) == 1:
        return ""
    return f", mean of {len(values)} episodes"


def outcome(episode: Mapping[str, Any]) -> str:
    """Return the columns of `HEADING` for one episode."""
    won = {True: "yes", False: "no", None: "-"}[episode["won"]]
    if episode["drawn"]:
        won = "draw"
    score = "-"
    if episode["score"] is not None:
        score = f"{episode['score']:g}"
    return f"{score:>9}  {won:>4}  {episode['ticks']:>7}  {episode['ended']}"


def _slowest_nodes(nodes: dict[str, dict[str, Any]]) -> list[str]:
    """Return lines about the five nodes that took most time."""
    lines = [f"{'slowest nodes':<20}  {'runs':>9}  {'skips':>9}  {'µs a run':>9}"]
    slow = sorted(nodes.items(), key=lambda item: -(item[1]["mean_us"] or 0) * item[1]["runs"])
    for name, node in slow[:5]:
        mean = "-"
        if node["mean_us"] is not None:
            mean = f"{node['mean_us']:.2f}"
        lines.append(f"{name:<20}  {node['runs']:>9}  {node['skips']:>9}  {mean:>9}")
    return lines


def _thinking(nodes: dict[str, dict[str, Any]]) -> list[str]:
    """Return a line about each node that computes in the background: its times are not in those of
    the tick.
    """
    lines: list[str] = []
    for name, node in nodes.items():
        if "think_ms" not in node:
            continue
        line = f"{name} thought {node['runs']} times, {node['think_ms']:.1f} ms on average"
        if "think_p95_ms" in node:
            line += f"; 95 % of the times within {node['think_p95_ms']:.0f} ms"
        lines.append(line)
    return lines


def _cache(cache: dict[str, Any]) -> list[str]:
    """Return lines about what was found in caches, the largest saving first,
    without those below MIN_SAVED.
    """
    answers = [answer for answer in cache["answers"] if answer["saved_s"] >= MIN_SAVED]
    if not answers:
        return []
    answers.sort(key=lambda answer: -answer["saved_s"])
    lines = [f"found in a cache, which saved {cache['saved_s']:.3f} s:"]
    for answer in answers[:5]:
        name = answer["node"] or "the workflow"
        lines.append(f"{name:<20}  {answer['saved_s']:>7.3f} s  {answer['what']}")
    return lines


def _deadlines(summary: dict[str, Any]) -> list[str]:
    deadlines = summary["deadlines"]
    missed = deadlines["missed"]
    share = "-"
    if deadlines["on_time"] is not None:
        share = f"{100 * deadlines['on_time']:.2f} %"
    late_ms = deadlines["late_ms"]["max"]
    lines = [
        f"realtime at {deadlines['rate']:.2f} hz: {share} on time, not counting ticks when the "
        f"process was not scheduled; ticks began at most {late_ms:.1f} ms late"
    ]
    if not summary["misses"]:
        return lines
    causes = [f"{count} by {name}" for name, count in missed["nodes"].items() if count]
    if missed["engine"]:
        causes.append(f"{missed['engine']} by the engine")
    if missed["unscheduled"]:
        causes.append(f"{missed['unscheduled']} while the process was not scheduled")
    line = f"{summary['misses']} deadlines missed: {', '.join(causes)}"
    if deadlines["slipped_s"]:
        line += f"; the schedule moved by {deadlines['slipped_s']:.2f} s"
    return [*lines, line]
