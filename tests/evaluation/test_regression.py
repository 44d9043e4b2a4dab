"""The alarm of `--no-worse-than`, of `evaluate` and of `bench`."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibrains.errors import MinibrainsError
from minibrains.evaluation.protocol import Protocol
from minibrains.evaluation.regression import LEVEL, EarlierResult, judge_regression
from minibrains.evaluation.statistics import one_sided_sign_test, sign_test
from server.commands.bench.regression import slower
from tests.evaluation.alarm_rates import ALIKE, MIXED, alarms
from tests.support.command import Command

ALONE = ("--states", "validation/Level4.*", "--baselines", "0", "--json")


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_one_sided_test_counts_what_is_at_least_as_bad(better: int, worse: int) -> None:
    total = better + worse
    exact = sum(comb(total, count) for count in range(better + 1)) / 2**total
    assert one_sided_sign_test(better, worse) == pytest.approx(exact, rel=1e-12)
    assert sign_test(better, worse) == sign_test(worse, better)


@pytest.mark.slow
@pytest.mark.parametrize("chances", [ALIKE, MIXED])
def test_a_false_alarm_is_rarer_than_the_level_and_a_true_one_is_frequent(
    chances: tuple[float, float],
) -> None:
    # three standard deviations of 600 repeats are 2.7 points at 5 %
    assert alarms(chances, 0, repeats=600) < LEVEL + 0.027
    assert alarms(chances, 0, episodes=60, opponents=12, repeats=300) < LEVEL + 0.038
    assert alarms(chances, 10, repeats=300) > 0.7


def _rows(won: str) -> dict[int, dict[str, Any]]:
    rows: dict[int, dict[str, Any]] = {}
    for index, letter in enumerate(won):
        rows[index] = {
            "ended": "done",
            "won": letter == "W",
            "drawn": False,
            "start": None,
        }
    return rows


def test_the_sentence_says_test_level_and_figures() -> None:
    earlier = Path("earlier.json")
    as_before = ("", _rows("W" * 15), _rows("W" * 15))
    result = judge_regression("agent", earlier, [as_before])
    assert result["worse"] is False
    assert result["comparisons"][0]["p"] == 1.0

    worse = ("", _rows("L" * 5 + "W" * 5), _rows("W" * 10))
    result = judge_regression("agent", earlier, [worse])
    assert result["worse"] is True
    assert result["sentence"].startswith(
        "agent wins less than in earlier.json: -50.0 points in 10 pairs, 95 % interval "
    )
    assert result["sentence"].endswith("p 0.031 (exact one-sided sign test, level 5 %)")


def test_several_opponents_share_the_level() -> None:
    bad = ("bad", _rows("L" * 5 + "W" * 5), _rows("W" * 10))
    same = ("same", _rows("W" * 10), _rows("W" * 10))
    result = judge_regression("agent", Path("e"), [bad, same])
    assert result["worse"] is False

    worst = ("worst", _rows("L" * 6 + "W" * 4), _rows("W" * 10))
    result = judge_regression("agent", Path("e"), [bad, same, worst])
    # 1/64 <= 5 % / 3, and then 1/32 > 5 % / 2
    found = [each["regression"] for each in result["comparisons"]]
    assert found == [False, False, True]
    assert "against worst -60.0 points" in result["sentence"]
    assert "against bad" not in result["sentence"]


def test_an_earlier_result_may_have_the_former_name_of_noop_max(tmp_path: Path) -> None:
    protocol = Protocol("Counting", "", "validation", "*", {"Start": ""}, 7, {}, 5, 3, {})
    former = protocol.as_json()
    former["noops"] = former.pop("noop_max")
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes" / "agent.jsonl").write_text('{"episode": 0, "won": true}\n')
    result = {
        "protocol": former,
        "episodes": 1,
        "players": ["agent"],
        "files": {"episodes": ["agent.jsonl"]},
    }
    file = tmp_path / "result.json"
    file.write_text(json.dumps(result))
    assert EarlierResult(file).rows(protocol) == {0: {"episode": 0, "won": True}}


@pytest.mark.slow
def test_an_agent_that_has_become_worse_fails_and_one_as_before_does_not(
    tmp_path: Path, minibrains: Command
) -> None:
    arguments = ("evaluate", "sf2_vector", *ALONE, "--episodes", "8")
    good = minibrains(*arguments)
    assert good.returncode == 0, good.stderr
    file = json.loads(good.stdout)["files"]["json"]

    again = minibrains(*arguments, "--no-worse-than", file)
    assert again.returncode == 0, again.stderr
    assert "sf2_vector is not shown to win less than in" in again.stderr

    untrained = "head=vector_policy/duel-untrained.safetensors"
    bad = minibrains(*arguments, "--brain", untrained, "--no-worse-than", file)
    result = json.loads(bad.stdout)
    assert bad.returncode == 1, bad.stderr
    assert result["regression"]["worse"] is True
    assert result["regression"]["sentence"] in bad.stderr
    assert json.loads((tmp_path / result["files"]["json"]).read_text()) == result


def test_only_a_result_of_the_same_conditions_is_compared(
    tmp_path: Path, minibrains: Command
) -> None:
    arguments = ("evaluate", "duel_simple", *ALONE, "--episodes", "1", "--ticks", "60")
    done = minibrains(*arguments)
    file = tmp_path / json.loads(done.stdout)["files"]["json"]
    changes = {
        "was made under other conditions: seed 0, now 3; expected the same": ("--seed", "3"),
        "opponent '', now 'training/rusher'": ("--opponents", "training/rusher"),
    }
    for words, change in changes.items():
        done = minibrains(*arguments, *change, "--no-worse-than", str(file))
        assert done.returncode == 2
        assert words in done.stderr

    for episodes in (tmp_path / "evaluations/episodes").iterdir():
        episodes.rename(tmp_path / episodes.name)
    done = minibrains(*arguments, "--no-worse-than", str(file))
    assert done.returncode == 2
    assert "keep the folder `episodes` beside it" in done.stderr

    for content in ("[]", '{"opponents": 3}', "{}", "no JSON"):
        file.write_text(content)
        done = minibrains(*arguments, "--no-worse-than", str(file))
        assert done.returncode == 2
        assert "is not a result of an evaluation" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_rate_that_is_lower_by_more_than_the_tolerance_is_named() -> None:
    before = {
        "workflow": "a/x.json",
        "workflow_ticks_per_s": 1000.0,
        "by_hand_ticks_per_s": 1100.0,
    }
    now = {**before, "workflow": "b/x.json", "workflow_ticks_per_s": 899.0}
    file = Path("before.json")

    just_fast_enough = {**now, "workflow_ticks_per_s": 900.0}
    assert slower(just_fast_enough, before, file, 0.1) is None
    assert slower(now, before, file, 0.1) == (
        "slower than in before.json by more than 10 %: workflow_ticks_per_s 899, was 1000 "
        "(by_hand_ticks_per_s 1100, was 1100)"
    )
    assert slower(now, before, file, 0.2) is None

    with pytest.raises(MinibrainsError, match="another benchmark or workflow"):
        slower({**now, "workflow": "y.json"}, before, file, 0.1)

    cases = {
        "cases": [
            {"what": "reading", "samples_per_s": 9.0},
            {"what": "b", "steps_per_s": 1},
        ]
    }
    later = {"cases": [{"what": "reading", "samples_per_s": 4.0}]}
    assert "reading samples_per_s 4, was 9" in str(slower(later, cases, file, 0.5))


@pytest.mark.slow
def test_a_benchmark_that_is_slower_than_before_fails(tmp_path: Path, minibrains: Command) -> None:
    done = minibrains("bench", "tape", "duel_expert", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)

    for factor, status in ((0.01, 0), (100, 1)):
        rates = {key: result[key] * factor for key in result if key.endswith("_per_s")}
        before = json.dumps({**result, **rates})
        (tmp_path / "before.json").write_text(before)
        again = minibrains("bench", "tape", "duel_expert", "--no-worse-than", "before.json")
        assert again.returncode == status, again.stderr
        assert ("tape is slower than in before.json" in again.stderr) is bool(status)

    done = minibrains("bench", "--no-worse-than", "before.json")
    assert done.returncode == 2
    assert "name it before the option" in done.stderr
