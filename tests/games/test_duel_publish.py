"""The best players of a search become those that agents are compared with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from games.source.duel import FOLDER
from games.source.duel.search.publish import publish
from minibrains.evaluation.rules import read_rules
from nodes.fighting.simple import SimplePlayers


def _row(what: str, high: float, held: str) -> dict[str, Any]:
    player = json.loads((FOLDER / "simple_players.json").read_text())["players"][
        "level 4, side loop"
    ]
    answers = [[{"held": held, "frames": 1}]]
    return {
        "what": what,
        "high": high,
        "all": [],
        "player": {**player, "interval": 0, "answers": answers},
    }


def test_of_each_class_the_best_at_each_level_is_published(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "evaluation.json", tmp_path)
    before = read_rules(tmp_path / "evaluation.json")
    rows = [
        _row("side loop, 0 late, at 4", 0.8, "A"),
        _row("side loop, 12 late, at 4", 0.9, "B"),
        _row("table, 0 late, at 10", 0.1, "C"),
        {"what": "search: side loop, 0 late, raw pads at 4", "high": 1.0},
    ]
    publish({"rom_sha1": "0" * 40, "rows": rows}, tmp_path)
    found = json.loads((tmp_path / "simple_players.json").read_text())
    assert list(found["players"]) == ["level 4, side loop", "level 10, table"]
    brain = SimplePlayers(players=found["players"], actions={})
    assert brain.players["level 4, side loop"]["answers"][0][0]["held"] == "B"
    rules = read_rules(tmp_path / "evaluation.json")
    assert rules.level_of(["Level10.KazeVsBron"]) == "*Level10.*"
    ((role, baseline),) = rules.simple_players("*Level4.*").items()
    assert (role, baseline.workflow) == ("simple: side loop", "duel_simple")
    assert baseline.widgets == {"fighter.player": "level 4, side loop"}
    assert (rules.opponents, rules.baselines) == (before.opponents, before.baselines)
