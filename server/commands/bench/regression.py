"""An alarm: are the rates of a benchmark lower than in an earlier result of it?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from minibrains.errors import MinibrainsError

BASELINES: Final[Mapping[str, str | None]] = {
    "workflow_ticks_per_s": "by_hand_ticks_per_s",
    "plain_ticks_per_s": None,
    "recorded_ticks_per_s": None,
    "recent_ticks_per_s": None,
    "ticks_per_s": None,
    "one_per_s": None,
    "two_per_s": None,
    "steps_per_s": "beside_per_s",
    "samples_per_s": "plain_per_s",
}
"""Our own rates -> the rate of the baseline that was measured beside it; None if there is none."""


def read_earlier(path: Path) -> dict[str, Any]:
    """Read the result that `bench NAME --json` has printed. Raises MinibrainsError."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MinibrainsError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise MinibrainsError(f"{path} is not JSON: {error}") from None
    if not isinstance(result, dict) or not _rates(result):
        raise MinibrainsError(
            f"{path} has no rates; expected what `bench NAME --json` has printed, "
            f"with one of {', '.join(BASELINES)}"
        )
    return result


def slower(
    result: Mapping[str, Any], earlier: Mapping[str, Any], path: Path, tolerance: float
) -> str | None:
    """Return a sentence about the rates that are lower by more than a share; None if none is.

    Args:
        result: The result of today.
        earlier: That of the same benchmark before.
        path: The file of the earlier result.
        tolerance: The share by which a rate may be lower, 0 to 1.

    Raises:
        MinibrainsError: The two are not of the same benchmark and workflow.
    """
    workflows = [Path(str(each.get("workflow", ""))).name for each in (result, earlier)]
    rates, before = _rates(result), _rates(earlier)
    common = [key for key in rates if key in before]
    if workflows[0] != workflows[1] or not common:
        raise MinibrainsError(
            f"{path} is of another benchmark or workflow; expected a result of the same"
        )
    found: list[str] = []
    for key in common:
        if rates[key] < (1 - tolerance) * before[key]:
            found.append(_detail(key, result, earlier))
    if not found:
        return None
    return f"slower than in {path} by more than {100 * tolerance:g} %: {'; '.join(found)}"


def _rates(result: Mapping[str, Any], wanted: Mapping[str, Any] = BASELINES) -> dict[Any, float]:
    """Return the rates of a result: (case, rate) -> its value. The case is empty without cases."""
    rates: dict[Any, float] = {}
    for case in result.get("cases", [result]):
        for name in wanted:
            if case.get(name):
                rates[case.get("what", ""), name] = case[name]
    return rates


def _detail(key: tuple[str, str], result: Mapping[str, Any], earlier: Mapping[str, Any]) -> str:
    case, name = key
    rates = _rates(result)[key], _rates(earlier)[key]
    detail = f"{case} {name} {rates[0]:g}, was {rates[1]:g}".lstrip()
    baseline = BASELINES[name]
    if baseline is not None:
        beside = [
            _rates(each, {baseline: None}).get((case, baseline)) for each in (result, earlier)
        ]
        if all(beside):
            detail += f" ({baseline} {beside[0]:g}, was {beside[1]:g})"
    return detail
