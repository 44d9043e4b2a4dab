"""The claim of the README: the reflex beats random actions and doing nothing,
over 30 different episodes, and over fewer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minibrains.files import bundled_dir


def _scores(result: dict[str, Any], episodes: int) -> dict[int, float]:
    assert [episode["ended"] for episode in result["episodes"]] == ["done"] * episodes
    return {episode["start"]["noops"]: episode["score"] for episode in result["episodes"]}


@pytest.mark.slow
@pytest.mark.parametrize("episodes", [6, pytest.param(30, marks=pytest.mark.soak)])
def test_the_reflex_beats_random_and_doing_nothing(
    summary: Callable[..., dict[str, Any]], tmp_path: Path, episodes: int
) -> None:
    nothing = json.loads((bundled_dir("workflows") / "airstriker.json").read_text())
    nothing["nodes"]["reflex"]["mode"] = "mute"
    (tmp_path / "nothing.json").write_text(json.dumps(nothing))

    names = ("airstriker", "airstriker_random", "nothing.json")
    results = [summary(name, "--episodes", episodes) for name in names]
    reflex, random, idle = [_scores(result, episodes) for result in results]
    assert [result["distinct_episodes"] for result in results] == [episodes] * 3
    assert len(reflex) == episodes, "as many different starts"
    for start in reflex:
        assert reflex[start] > random[start] > idle[start] == 0
    assert min(reflex.values()) > max(random.values())
