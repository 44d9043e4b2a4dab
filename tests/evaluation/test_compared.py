"""`evaluate --compare-with`: two workflows, or two brains of one, in the same episodes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from minibrains.brain_file import hash_file
from minibrains.evaluation.report import compare, describe
from minibrains.evaluation.statistics import paired_difference, sign_test
from minibrains.files import bundled_dir
from tests.support.command import Command

LEVEL4 = ("--states", "validation/Level4.*", "--baselines", "0", "--json")
TRAINED = "vector_policy/duel.safetensors"
UNTRAINED = "vector_policy/duel-untrained.safetensors"


def _row(number: int, won: bool, rounds_by_clock: int) -> dict[str, Any]:
    return {
        "ended": "done",
        "won": won,
        "drawn": False,
        "trajectory_sha256": str(number),
        "rounds_by_clock": rounds_by_clock,
    }


def test_knockouts_and_wins_by_the_clock_are_compared_apart() -> None:
    mine, theirs = {}, {}
    results = [
        # won, rounds by clock; of both players
        ((True, 0), (False, 0)),
        ((True, 0), (False, 1)),
        ((True, 1), (False, 0)),
        ((True, 0), (True, 2)),
        ((False, 0), (True, 1)),
    ]
    for number, (my_result, their_result) in enumerate(results):
        mine[number] = _row(number, *my_result)
        theirs[number] = _row(number, *their_result)
    paired = compare(mine, theirs)
    assert (paired["better"], paired["worse"]) == (3, 1)
    assert (paired["by_knockout"]["better"], paired["by_knockout"]["worse"]) == (3, 0)
    assert (paired["by_clock"]["better"], paired["by_clock"]["worse"]) == (1, 2)
    assert paired["by_knockout"]["p"] == sign_test(3, 0)
    low, high = paired_difference(both=0, better=1, worse=2, neither=2)
    assert (paired["by_clock"]["low"], paired["by_clock"]["high"]) == (
        round(low, 6),
        round(high, 6),
    )
    assert paired["by_clock"]["difference"] == -0.2


@pytest.mark.slow
def test_two_brains_of_a_node_play_the_same_matches(minibrains: Command) -> None:
    done = minibrains(
        "evaluate", "sf2_vector", *LEVEL4, "--episodes", "2", "--compare-with", f"head={UNTRAINED}"
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    mine, theirs = result["players"]
    models = bundled_dir("models")
    assert mine["brains"]["head"]["sha256"] == hash_file(models / TRAINED)
    assert theirs["brains"]["head"]["sha256"] == hash_file(models / UNTRAINED)
    assert mine["nodes_sha256"] == theirs["nodes_sha256"]
    assert theirs["roles"] == [f"compared: head={UNTRAINED}"]
    assert (mine["won"], theirs["won"]) == (2, 0)
    paired = theirs["paired"]
    assert (paired["pairs"], paired["better"], paired["worse"], paired["p"]) == (2, 2, 0, 0.5)
    assert paired["by_knockout"]["better"] + paired["by_clock"]["better"] == 2
    text = describe(result)
    assert f"sf2_vector minus sf2_vector (compared: head={UNTRAINED}): +100.0 points" in text
    hashes = f"{hash_file(models / TRAINED)[:12]} and {hash_file(models / UNTRAINED)[:12]}"
    assert f"  other brain of head, SHA-256 {hashes}" in text
    assert "No verdict: no simple player at *Level4.* has played" in text


def test_a_brain_with_the_same_contents_is_the_same_player(
    tmp_path: Path, minibrains: Command
) -> None:
    shutil.copy(
        bundled_dir("models") / "simple_players/duel.safetensors", tmp_path / "copy.safetensors"
    )
    arguments = ("--episodes", "2", "--ticks", "60", "--compare-with", "fighter=copy.safetensors")
    done = minibrains("evaluate", "duel_simple", *LEVEL4, *arguments)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    (player,) = result["players"]
    assert player["roles"] == ["evaluated", "compared: fighter=copy.safetensors"]
    text = describe(result)
    assert "these are the same nodes and brains, so the same games" in text
    assert f"{player['name']} " in text.splitlines()[2], "a player that is alone has its row, too"
    assert "95 % interval" in text.splitlines()[1]


@pytest.mark.parametrize(
    ("compared", "words"),
    [
        ("hed=copy.safetensors", "there is no brain 'copy.safetensors'"),
        (f"hed={TRAINED}", "there is no node 'hed'. Did you mean 'head'?"),
        ("head=policy_head/duel.safetensors", "expected a brain of kind 'vector_policy'"),
        (f"clock={TRAINED}", "Every has no brain"),
        ("./head=mine.json", "there is no such workflow file"),
    ],
)
def test_a_brain_that_cannot_play_is_refused_before_a_game(
    compared: str, words: str, tmp_path: Path, minibrains: Command
) -> None:
    done = minibrains(
        "evaluate", "sf2_vector", *LEVEL4, "--episodes", "1", "--compare-with", compared
    )
    assert done.returncode == 2
    assert words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "evaluations").exists()
