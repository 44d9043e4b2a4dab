"""ScriptedFighter through the runtime: it plays Duel by the variables of the shared map alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minibrains.files import shipped
from nodes.fighters import READ, RULES


def test_it_reads_only_variables_of_the_shared_map() -> None:
    shared = json.loads((shipped("games") / "Duel-Genesis/data_sf2.json").read_text())["info"]
    assert set(READ) <= set(shared)
    assert len(shared) == 14


def test_every_style_plays_a_match_to_its_end(summary: Callable[..., dict[str, Any]]) -> None:
    trajectories = set()
    for style in RULES:
        result = summary("duel_expert", "--episodes", 1, "--set", f"fighter.style={style}")
        (episode,) = result["episodes"]
        assert result["game"] == "Duel-Genesis"
        assert episode["ended"] == "done"
        assert episode["won"] is (episode["score"] > 0)
        trajectories.add(episode["trajectory_sha256"])
    assert len(trajectories) == len(RULES)


def test_its_matches_differ_by_seed_and_repeat(summary: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    first, again = summary("duel_expert", "--episodes", 3), summary("duel_expert", "--episodes", 3)
    assert first["actions_sha256"] == again["actions_sha256"]
    assert first["distinct_episodes"] == 3
    assert summary("duel_expert", "--episodes", 3, "--seed", 1)["actions_sha256"] != first["actions_sha256"]
