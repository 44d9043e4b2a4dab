"""The claim of the README: the reflex beats random actions and doing nothing, over 30 different episodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minibrains.files import bundled_dir

N = 30


def _scores(result: dict[str, Any]) -> dict[int, float]:
    assert [episode["ended"] for episode in result["episodes"]] == ["done"] * N
    return {episode["start"]["noops"]: episode["score"] for episode in result["episodes"]}


def test_the_reflex_beats_random_and_doing_nothing(summary: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    nothing = json.loads((bundled_dir("workflows") / "airstriker.json").read_text())
    nothing["nodes"]["reflex"]["mode"] = "mute"
    (tmp_path / "nothing.json").write_text(json.dumps(nothing))

    results = [summary(name, "--episodes", N) for name in ("airstriker", "airstriker_random", "nothing.json")]
    reflex, random, idle = map(_scores, results)
    assert [result["distinct_episodes"] for result in results] == [N, N, N]
    assert len(reflex) == N, "as many different starts"
    for start in reflex:
        assert reflex[start] > random[start] > idle[start] == 0
    assert min(reflex.values()) > max(random.values())
