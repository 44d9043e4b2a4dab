"""Publish the best simple players that a search has found, for comparison with agents.

    python -m games.source.duel.calibrate --only exploits --rows rows.jsonl --json exploits.json
    python -m games.source.duel.search.publish exploits.json
    python -m server make-brains simple_players/duel.safetensors

The best player of each class and level goes into the game's simple_players.json, and its
evaluation.json refers to it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from games.source.duel import FOLDER
from games.source.duel.counting import Row
from games.source.duel.search.summary import FINAL
from minibrains.graph.workflow import dump_json

ABOUT: Final = (
    "Players that an agent has to be better than, "
    "as nodes/fighting/simple.py reads them. F is towards the enemy, G away from it."
)

Best = dict[tuple[int, str], Row]


def best_of_each(rows: Iterable[Row]) -> Best:
    """Return the row of the best player of each level and class, by upper bound,
    whatever its delay.
    """
    best: Best = {}
    for row in rows:
        match = FINAL.fullmatch(row["what"])
        if "all" not in row or match is None:
            continue
        group = int(match["level"]), match["kind"]
        if group not in best or row["high"] > best[group]["high"]:
            best[group] = row
    return dict(sorted(best.items()))


def simple_players(best: Best, rom_sha1: str) -> dict[str, Any]:
    """Return the content of simple_players.json."""
    players: dict[str, Any] = {}
    for (level, kind), row in best.items():
        players[f"level {level}, {kind}"] = row["player"]
    return {
        "about": ABOUT,
        "rom_sha1": rom_sha1,
        "made_by": (
            "by calibrate.py --only exploits: the best of each class and level in fresh matches"
        ),
        "players": players,
    }


def baselines(best: Best) -> dict[str, dict[str, Any]]:
    """Return the entry `simple` of evaluation.json."""
    levels: dict[str, dict[str, Any]] = {}
    for level, kind in best:
        player = {"workflow": "duel_simple", "set": {"fighter.player": f"level {level}, {kind}"}}
        levels.setdefault(f"*Level{level}.*", {})[kind] = player
    return levels


def publish(report: Mapping[str, Any], folder: Path) -> None:
    """Write simple_players.json, and the entry `simple` of evaluation.json.

    Args:
        report: The report that calibrate.py writes with --json.
        folder: The folder of the game.
    """
    best = best_of_each(report["rows"])
    rules = json.loads((folder / "evaluation.json").read_text())
    rules["simple"] = baselines(best)
    (folder / "simple_players.json").write_text(dump_json(simple_players(best, report["rom_sha1"])))
    (folder / "evaluation.json").write_text(dump_json(rules))


def main() -> None:
    """Publish the players of the report on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", type=Path, help="the report that calibrate.py wrote with --json")
    options = parser.parse_args()
    publish(json.loads(options.report.read_text()), FOLDER)


if __name__ == "__main__":
    main()
