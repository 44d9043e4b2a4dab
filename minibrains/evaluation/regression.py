"""An alarm: does an agent win less than in an earlier evaluation, by more than chance?

The episodes are the same in both, so they are compared in pairs, by the one-sided exact sign test
at the level LEVEL. With several opponents, Holm's correction keeps the probability of a false alarm
about any of them below that level.

Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
Statistics 6 (1979), 65-70.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from minibrains.errors import MinibrainsError
from minibrains.evaluation.protocol import Protocol
from minibrains.evaluation.report import Row, check_starts, compare
from minibrains.evaluation.rows import read_rows
from minibrains.evaluation.statistics import one_sided_sign_test

LEVEL: Final = 0.05
"""The probability of an alarm about an agent that is as good as before is not greater than this."""


@dataclass(frozen=True)
class _Games:
    """The games of the evaluated player under one protocol."""

    protocol: Mapping[str, Any]
    rows: Mapping[int, Row]


class EarlierResult:
    """The result of an earlier evaluation: the games of its evaluated player."""

    def __init__(self, path: Path) -> None:
        """Read the JSON file that an evaluation has written, and the episodes beside it.

        Raises:
            MinibrainsError: It cannot be read, or is something else.
        """
        self.path = path
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            sections = result.get("opponents") or [result]
            files = result["files"]["episodes"]
            played: list[_Games] = []
            position = 0
            for section in sections:
                rows = self._rows(files[position], section["episodes"])
                protocol = dict(section["protocol"])
                if "noops" in protocol:  # its former name
                    protocol["noop_max"] = protocol.pop("noops")
                played.append(_Games(protocol, rows))
                position += len(section["players"])
        except OSError as error:
            raise MinibrainsError(f"{path} cannot be read: {error.strerror or error}") from None
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise MinibrainsError(
                f"{path} is not a result of an evaluation; expected the JSON file that "
                "`evaluate` has written into its folder"
            ) from None
        self._played = played

    def _rows(self, name: str, episodes: int) -> dict[int, Row]:
        file = self.path.parent / "episodes" / Path(name).name
        if not file.is_file():
            raise MinibrainsError(
                f"{self.path} needs its episodes: there is no {file}; "
                "keep the folder `episodes` beside it"
            )
        rows = read_rows(file)
        return {index: row for index, row in rows.items() if index < episodes}

    def rows(self, protocol: Protocol) -> Mapping[int, Row]:
        """Return the episodes that were played under this protocol, by number.

        Raises MinibrainsError if there are none.
        """
        wanted = json.loads(json.dumps(protocol.as_json()))
        for games in self._played:
            if games.protocol == wanted:
                return games.rows
        nearest = min(
            (games.protocol for games in self._played), key=lambda it: _unlike(wanted, it)
        )
        details: list[str] = []
        for key in _unlike(wanted, nearest):
            details.append(f"{key} {_short(nearest.get(key))}, now {_short(wanted[key])}")
        raise MinibrainsError(
            f"{self.path} was made under other conditions: {'; '.join(details)}; "
            "expected the same game, states, seed, limit and opponents"
        )


def _unlike(wanted: Mapping[str, Any], protocol: Mapping[str, Any]) -> list[str]:
    return [key for key in wanted if protocol.get(key) != wanted[key]]


def _short(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "others"
    return repr(value)


def judge_regression(
    name: str, earlier: Path, pairs: Sequence[tuple[str, Mapping[int, Row], Mapping[int, Row]]]
) -> dict[str, Any]:
    """Judge whether an agent wins less than before.

    Args:
        name: The agent.
        earlier: The file of the earlier result.
        pairs: For each opponent its name, empty for the game's own, the episodes of today, and
            those of the earlier result, by number.

    Returns:
        `worse`: whether it does; `sentence`: the same for people; `earlier`, `test` and `level`;
        `comparisons`: for each opponent the figures of `compare`, with the `p` of the one-sided
        test instead, and `regression`: whether the agent wins less against this one.
    """
    comparisons: list[dict[str, Any]] = []
    for opponent, now, before in pairs:
        check_starts(now, before)
        compared = compare(now, before)
        compared["p"] = one_sided_sign_test(compared["better"], compared["worse"])
        comparisons.append({"opponent": opponent, "regression": False, **compared})

    # Holm: the smallest p first, each against its share of the level
    by_p = sorted(comparisons, key=lambda compared: float(compared["p"]))
    for position, compared in enumerate(by_p):
        if compared["p"] > LEVEL / (len(by_p) - position):
            break
        compared["regression"] = True

    regressions = [compared for compared in comparisons if compared["regression"]]
    found = "wins less than" if regressions else "is not shown to win less than"
    details = "; ".join(map(_detail, regressions or by_p[:1]))
    correction = f", {len(by_p)} opponents, Holm" if len(by_p) > 1 else ""
    return {
        "earlier": str(earlier),
        "test": "exact one-sided sign test",
        "level": LEVEL,
        "worse": bool(regressions),
        "comparisons": comparisons,
        "sentence": (
            f"{name} {found} in {earlier}: {details} "
            f"(exact one-sided sign test, level {100 * LEVEL:g} %{correction})"
        ),
    }


def _detail(compared: Mapping[str, Any]) -> str:
    against = f"against {compared['opponent']} " if compared["opponent"] else ""
    points = [f"{100 * compared[key]:+.1f}" for key in ("difference", "low", "high")]
    return (
        f"{against}{points[0]} points in {compared['pairs']} pairs, "
        f"95 % interval {points[1]} to {points[2]}, p {compared['p']:.2g}"
    )
