"""The result of one episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from minibrains.engine.stats import NodeStats

_EMPTY_REPORT: Final = {"score": None, "won": None, "drawn": None, "start": None}


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """One episode that is over."""

    index: int
    """The number of the episode in its run, from 0."""
    score: float | None
    """The score of the game; None if no node reports one."""
    won: bool | None
    """None if the game does not define winning."""
    ended: str
    """"done" (by itself), "limit" (by the run's `ticks`), "stopped", "failed", or "skipped" (not
    played, because the nodes have everything of it from an earlier run)."""
    ticks: int
    """The number of ticks played."""
    row: Mapping[str, Any]
    """Everything that the nodes reported, as written to episodes.jsonl and the summary."""

    @classmethod
    def of(cls, index: int, row: Mapping[str, Any]) -> EpisodeResult:
        """Return the result of an episode from its row."""
        return cls(index, row["score"], row["won"], row["ended"], row["ticks"], row)


def episode_row(report: Mapping[str, Any], ticks: int, ended: str) -> dict[str, Any]:
    """Make the row of an episode from what its nodes report."""
    return {**_EMPTY_REPORT, **report, "ticks": ticks, "ended": ended}


def lost_episode(reason: str) -> dict[str, Any]:
    """Make the row of an episode whose results were lost."""
    return {**episode_row({}, 0, "failed"), "error": reason}


def errors_since(before: Mapping[str, NodeStats], now: Mapping[str, NodeStats]) -> dict[str, Any]:
    """Return the entry of a row with the nodes that failed meanwhile, how often,
    and their first error; empty if none did.
    """
    errors = {}
    for name, node in now.items():
        count = node.errors
        if name in before:
            count -= before[name].errors
        if count > 0:
            errors[name] = {"errors": count, "first_error": node.reason}
    if errors:
        return {"nodes": errors}
    return {}
