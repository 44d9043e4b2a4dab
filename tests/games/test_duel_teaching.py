"""The search for the scripted teacher's rules: the teacher in C, a step of the policy gradient,
and the rules in Python.
"""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from games.source.duel import FOLDER, fighters
from games.source.duel.matches import Setting, bits, settings
from games.source.duel.native import Game
from games.source.duel.native.players import action_numbers, won
from games.source.duel.native.teacher import (
    ACTIONS,
    BANDS,
    CELLS,
    Teacher,
    Worth,
    record_teacher,
    teach,
)
from games.source.duel.search import teaching
from games.source.duel.search.teaching import GRADIENT, WEIGHTS, as_source, told_by_facing
from minibrains.files import bundled_dir
from nodes.actions.sink import ActionTable
from nodes.fighting.choices import PATIENT, Choice
from nodes.fighting.strategist import CASES

NAMES = told_by_facing()


def worth_of_the_rules() -> Worth:
    """Return logarithms by which the teacher in C chooses as nodes/fighting/choices.py says."""
    numbers = {name: number for number, name in NAMES.items()}
    worth = np.zeros((CELLS, ACTIONS), np.float32)
    choices: list[Choice] = []
    for case in CASES:
        choices += PATIENT[case]
    for row, (best, second) in zip(worth, choices, strict=True):
        row[numbers[best]] = 2.0
        row[numbers[second]] = 1.0
    return worth


def pads_of(player: fighters.Restricted, match: Setting, frames: int) -> list[int]:
    """Return the buttons that the player in Python holds on each frame, as bits of a pad."""
    names = list(json.loads((FOLDER / "data_sf2.json").read_text())["info"])
    game = Game()
    game.begin(
        seed=match.seed,
        mode=0,
        enemy_level=match.level,
        agent_character=match.agent,
        enemy_character=match.enemy,
    )
    player.reset(match.seed)
    pads = []
    for _ in range(frames):
        variables = {name: game.get(name) for name in names}
        pads.append(bits(player.pad(variables)))
        game.step(pads[-1])
    return pads


def test_the_teacher_chooses_among_the_actions_of_its_table() -> None:
    table = ActionTable.load(bundled_dir("models") / "action_table/sf2.safetensors")
    absolute = {"left", "right"}
    assert set(NAMES.values()) <= set(table.names) - absolute
    assert len(set(NAMES.values())) == len(NAMES) > 40
    assert set(NAMES) < set(action_numbers().values())


@pytest.mark.parametrize(("interval", "late"), [(30, 0), (30, 12), (12, 0), (6, 12)])
def test_the_teacher_in_c_plays_as_the_one_in_python(interval: int, late: int) -> None:
    for match in islice(settings("teacher", 6), 4):
        pads = record_teacher(Teacher(worth_of_the_rules(), list(NAMES), interval, late), match)
        assert pads == pads_of(fighters.Restricted(interval, late), match, len(pads))


def learned(steps: int, seed: int) -> tuple[Worth, list[float]]:
    """Take some steps of the policy gradient from nothing;
    also the share of its matches that it wins in each.
    """
    rng = Random(seed)
    worth = np.zeros((CELLS, ACTIONS), np.float32)
    shares = []
    for step in range(steps):
        matches = list(islice(settings(f"step {step}", 2), 64))
        lessons, results = teach(
            Teacher(worth, list(NAMES), explores=True), rng.getrandbits(31), matches, WEIGHTS
        )
        assert (lessons["cell"] < CELLS).all()
        assert (lessons["action"] < ACTIONS).all()
        GRADIENT.improve(worth, lessons)
        shares.append(float(won(results).mean()))
    return worth, shares


def test_a_teacher_learns_and_the_same_seed_teaches_the_same() -> None:
    worth, shares = learned(12, seed=3)
    assert max(shares[:2]) < min(shares[-2:])
    assert (learned(12, seed=3)[0] == worth).all()
    assert (worth.max(1) == 0).all()


def test_what_was_learned_is_written_as_rules() -> None:
    written: dict[str, Any] = {}
    exec(as_source(worth_of_the_rules(), NAMES), written)
    assert written["PATIENT"] == PATIENT
    exec(as_source(np.zeros((CELLS, ACTIONS), np.float32), NAMES), written)
    assert set(written["PATIENT"]["stand"]) == {("down+back", "back")}, (
        "where nothing was learned it guards"
    )
    assert len(written["PATIENT"]["stand"]) == BANDS


def test_the_command_writes_rules_and_says_what_they_win(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(teaching, "CHOICES", tmp_path / "choices.py")
    monkeypatch.setattr("sys.argv", ["teaching", "--steps", "2"])
    teaching.main()
    written: dict[str, Any] = {}
    exec((tmp_path / "choices.py").read_text(), written)
    assert list(written["PATIENT"]) == list(CASES)
    assert "of 300 at level 4" in capsys.readouterr().out
