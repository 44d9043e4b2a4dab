"""What came of one episode."""

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
    score: float | None
    won: bool | None
    """None where the game does not say what winning is."""
    ended: str
    """done: by itself; limit: by the run's `ticks`; stopped; failed."""
    ticks: int
    row: Mapping[str, Any]
    """All that the nodes reported, as it stands in episodes.jsonl and in the summary."""

    @classmethod
    def of(cls, index: int, row: Mapping[str, Any]) -> EpisodeResult:
        """Read an episode from its row."""
        return cls(index, row["score"], row["won"], row["ended"], row["ticks"], row)


def episode_row(report: Mapping[str, Any], ticks: int, ended: str) -> dict[str, Any]:
    """Make the row of an episode from what its nodes report."""
    return {**_EMPTY_REPORT, **report, "ticks": ticks, "ended": ended}


def lost_episode(reason: str) -> dict[str, Any]:
    """Make the row of an episode of which nothing came back."""
    return {**episode_row({}, 0, "failed"), "error": reason}


def errors_since(before: Mapping[str, NodeStats], now: Mapping[str, NodeStats]) -> dict[str, Any]:
    """List which nodes failed meanwhile, how often, and why first: a part of a row, empty if none did."""
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
