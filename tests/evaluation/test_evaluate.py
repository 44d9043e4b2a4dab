"""`evaluate`: its two numbers, what counts, the conditions that are the same for all,
and going on where it was.
"""

from __future__ import annotations

import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from math import sqrt
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from minibrains.errors import MinibrainsError
from minibrains.evaluation.report import compare, describe, figures, judge
from minibrains.evaluation.rules import read_rules
from minibrains.evaluation.statistics import mean_interval, paired_difference, sign_test, wilson
from minibrains.files import bundled_dir
from nodes.language.lora import LoraAdapter
from server import cli
from tests.support.command import run_in_new_process, run_in_this_process
from tests.support.paths import DATA, ROOT
from tests.support.timeouts import TIMEOUT

Evaluate = Callable[..., subprocess.CompletedProcess[str]]

PACK = DATA / "worker_pack.py"
SF2 = "StreetFighterIISpecialChampionEdition-Genesis-v0"
LEVEL4 = ("--states", "validation/Level4.*", "--ticks", "120", "--episodes")


# -- the two numbers


@given(
    st.integers(1, 400).flatmap(lambda played: st.tuples(st.integers(0, played), st.just(played)))
)
def test_wilsons_interval_is_every_share_that_the_score_test_allows(
    counts: tuple[int, int],
) -> None:
    won, played = counts

    def allowed(p: float) -> bool:
        return abs(won / played - p) <= 1.959963984540054 * sqrt(p * (1 - p) / played) + 1e-12

    low, high = wilson(won, played)
    assert 0 <= low <= won / played <= high <= 1
    for bound, way in ((low, -1), (high, 1)):
        assert allowed(min(max(bound - way * 1e-9, 0), 1))
        assert bound in (0, 1) or not allowed(bound + way * 1e-6)


@given(st.integers(0, 12).flatmap(lambda pairs: st.tuples(st.integers(0, pairs), st.just(pairs))))
def test_the_sign_test_counts_every_way_in_which_pairs_may_fall(counts: tuple[int, int]) -> None:
    better, pairs = counts
    uneven = abs(2 * better - pairs)
    as_uneven = 0
    for way in itertools.product((0, 1), repeat=pairs):
        if abs(2 * sum(way) - pairs) >= uneven:
            as_uneven += 1
    assert sign_test(better, pairs - better) == pytest.approx(as_uneven / 2**pairs, rel=1e-12)


def test_both_numbers_as_they_stand_in_books() -> None:
    assert wilson(48, 76) == pytest.approx((0.5193, 0.7312), abs=1e-4)
    assert wilson(0, 0) == (0, 1)
    assert sign_test(9, 1) == 0.021484375
    assert 0 < sign_test(1000, 0) < 1e-300


@given(st.tuples(*[st.integers(0, 300)] * 4).filter(sum))
def test_the_interval_of_a_difference_is_around_it_and_turns_with_the_players(
    counts: tuple[int, int, int, int],
) -> None:
    both, better, worse, neither = counts
    low, high = paired_difference(both, better, worse, neither)
    difference = (better - worse) / sum(counts)
    assert -1 - 1e-9 <= low <= difference + 1e-9
    assert difference - 1e-9 <= high <= 1 + 1e-9
    turned = paired_difference(both, worse, better, neither)
    assert turned == pytest.approx((-high, -low), abs=1e-9)


def test_pairs_that_go_together_tell_more_about_a_difference() -> None:
    apart = paired_difference(both=25, better=30, worse=20, neither=25)
    together = paired_difference(both=50, better=10, worse=0, neither=40)
    assert apart[0] < 0 < together[0]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40))
def test_the_interval_of_a_mean_is_around_it_and_within_what_is_possible(
    values: list[int],
) -> None:
    mean = sum(values) / len(values)
    low, high = mean_interval(values, most=12)
    assert -1e-9 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 12 + 1e-9
    low, high = mean_interval(values, most=None)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def test_values_that_are_nothing_or_all_have_wilsons_interval() -> None:
    assert mean_interval([6] * 48 + [0] * 28, most=6) == pytest.approx(
        tuple(6 * bound for bound in wilson(48, 76))
    )


# -- what counts


def _row(
    ended: str = "done",
    won: bool = False,
    drawn: bool = False,
    trajectory: str = "",
    state: str = "A",
) -> dict[str, Any]:
    start = {"state": state, "noops": 0}
    return {
        "ended": ended,
        "won": won,
        "drawn": drawn,
        "ticks": 10,
        "start": start,
        "trajectory_sha256": trajectory,
    }


def test_everything_that_is_no_win_counts_and_what_went_alike_counts_once() -> None:
    rows = [
        _row(won=True, trajectory="a"),
        _row(won=True, trajectory="a", state="B"),
        _row(trajectory="b"),
        _row(drawn=True, trajectory="c"),
        _row("limit", trajectory="d"),
        _row("failed", trajectory="e"),
        _row("failed", trajectory="e"),
        {
            "ended": "failed",
            "won": None,
            "drawn": None,
            "ticks": 0,
            "start": None,
            "error": "a worker died",
        },
    ]
    result = figures(rows)
    assert (result["n"], result["distinct"]) == (8, 7)
    assert (result["won"], result["lost"], result["drawn"]) == (1, 1, 1)
    assert (result["timed_out"], result["failed"]) == (1, 3)
    assert result["share"] == round(1 / 7, 6)
    low, high = wilson(1, 7)
    assert (result["low"], result["high"]) == (round(low, 6), round(high, 6))
    assert result["by_state"] == {"A": {"n": 6, "won": 1}, "unknown": {"n": 1, "won": 0}}


def test_pairs_that_differ_are_counted_by_side_and_repeated_ones_once() -> None:
    mine: list[Any] = []
    theirs: list[Any] = []
    for won, they_won in (
        (True, True),
        (True, False),
        (True, False),
        (False, True),
        (False, False),
    ):
        mine.append(_row(won=won, trajectory=str(len(mine))))
        theirs.append(_row(won=they_won, trajectory=str(len(theirs))))
    repeated = compare(dict(enumerate([*mine, mine[1]])), dict(enumerate([*theirs, theirs[1]])))
    low, high = paired_difference(both=1, better=2, worse=1, neither=1)
    assert repeated == {
        "pairs": 5,
        "better": 2,
        "worse": 1,
        "p": 1.0,
        "difference": 0.2,
        "low": round(low, 6),
        "high": round(high, 6),
    }


def test_a_win_by_the_clock_is_counted_apart() -> None:
    rows = [
        {**_row(won=True, trajectory="a"), "rounds_by_clock": 2},
        {**_row(won=True, trajectory="b"), "rounds_by_clock": 0},
        {**_row(trajectory="c"), "rounds_by_clock": 1},
    ]
    assert (figures(rows)["won"], figures(rows)["by_clock"]) == (2, 1)
    assert figures([_row(won=True)])["by_clock"] is None, "nobody tells"


def test_what_a_game_measures_has_a_mean_and_its_interval() -> None:
    rows = [
        {**_row(trajectory="a"), "quest_steps": 2, "deaths": 1},
        {**_row(trajectory="b"), "quest_steps": 4, "deaths": 1},
        {**_row(trajectory="b"), "quest_steps": 4, "deaths": 1},
        {**_row("failed"), "quest_steps": 6, "deaths": 9},
    ]
    measures = figures(rows, {"quest_steps": 6, "deaths": None, "coins": None})["measures"]
    assert measures.keys() == {"quest_steps", "deaths"}, "nobody tells of coins"
    assert measures["deaths"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "most": None}
    low, high = mean_interval([2, 4], most=6)
    assert measures["quest_steps"] == {
        "mean": 3.0,
        "low": round(low, 6),
        "high": round(high, 6),
        "most": 6,
    }
    assert figures(rows)["measures"] == {}


def test_an_agent_is_good_only_above_the_best_simple_player() -> None:
    agent = {"name": "agent", "roles": ["evaluated"], "low": 0.6, "high": 0.9}
    loop = {"name": "duel_simple", "roles": ["simple: loop"], "low": 0.5, "high": 0.59}
    rule = {"name": "duel_simple", "roles": ["simple: rule"], "low": 0.1, "high": 0.2}
    reference = {"name": "other", "roles": ["reference"], "low": 0.9, "high": 1.0}
    simple = {"simple: loop", "simple: rule"}
    verdict = judge([agent, loop, rule, reference], "*Level4.*", simple)
    assert verdict["sentence"] == (
        "agent is better than simple players at *Level4.*: its lower bound is 60.0 %, "
        "the upper bound of the best of them, "
        "duel_simple (simple: loop), is 59.0 %"
    )
    assert (verdict["above"], verdict["best"], verdict["level"]) == (
        True,
        "duel_simple (simple: loop)",
        "*Level4.*",
    )
    verdict = judge([{**agent, "low": 0.59}, loop, rule, reference], "*Level4.*", simple)
    assert verdict["above"] is False
    assert verdict["sentence"].startswith(
        "agent is not shown to be better than simple players at *Level4.*: "
    )
    verdict = judge([agent, reference], None, set())
    assert (verdict["above"], verdict["sentence"][:11]) == (None, "No verdict:")


# -- the rules of a game


_RULES: dict[str, Any] = {"noop_max": 30, "write": {}, "ticks": 9, "baselines": {}}
_OPPONENTS: dict[str, Any] = {
    "write": {},
    "nodes": {"opponent": {"type": "A@1"}},
    "training": {},
    "held_back": {},
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"nodes": {"a": {"type": "A@1", "in": {"x": ["b.c"]}}}},
            r"evaluation\.json: expected text, found",
        ),
        (
            {"simple": {"*": {"loop": {"set": {}}}}},
            "the simple player 'loop' has set; expected \"workflow\"",
        ),
        ({"simple": {"Level1": {}}}, "\"simple\" names no player for 'Level1'; expected a player"),
        (
            {"opponents": {"write": {}}},
            '"opponents" has write; expected write, nodes, training, held_back',
        ),
        (
            {"opponents": {**_OPPONENTS, "training": {"x": {"other.style": "y"}}}},
            "\"opponents\" sets 'other.style'; expected NODE.WIDGET with one of the nodes opponent",
        ),
        ({"measures": {"areas": 0}}, "areas is at most 0; expected 1 or more"),
        ({"measures": {"areas": "all"}}, r"evaluation\.json: .*'all'"),
        (
            {"oponents": {}},
            (
                "oponents; expected noop_max, write, ticks, baselines, and perhaps nodes, simple, "
                "measures, opponents"
            ),
        ),
    ],
)
def test_rules_that_cannot_be_read_are_refused(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    file = tmp_path / "evaluation.json"
    file.write_text(json.dumps({**_RULES, **change}))
    with pytest.raises(MinibrainsError, match=words):
        read_rules(file)


def test_rules_may_have_the_former_name_of_noop_max(tmp_path: Path) -> None:
    file = tmp_path / "evaluation.json"
    former = {**_RULES, "noops": 7}
    del former["noop_max"]
    file.write_text(json.dumps(former))
    assert read_rules(file).noop_max == 7


def test_the_states_of_one_level_have_simple_players() -> None:
    rules = read_rules(bundled_dir("games") / "Duel-Genesis/evaluation.json")
    assert rules.level_of(["Level4.KazeVsBron", "Random01.Level4.KazeVsBron"]) == "*Level4.*"
    assert rules.level_of(["Level4.KazeVsBron", "Level5.KazeVsBron"]) is None
    assert set(rules.simple_players("*Level4.*")) == {
        "simple: blind loop",
        "simple: one threshold",
        "simple: side loop",
        "simple: table",
        "simple: turtle",
        "simple: two thresholds",
    }
    assert rules.simple_players(None) == {}


# -- the command


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """Four episodes of 120 ticks of five players: the folder, the result, and what was said."""
    folder = tmp_path_factory.mktemp("four")
    other = json.loads(
        (bundled_dir("workflows") / "duel_expert.json").read_text().replace("console", "box")
    )
    other["nodes"]["box"]["set"] = {
        "game": [SF2, "Duel-Genesis"],
        "states": ["Level8.TarnVsTarn"],
        "noop_max": 3,
    }
    other["nodes"]["fighter"]["set"]["style"] = "aggressive"
    (folder / "other.json").write_text(json.dumps(other))
    arguments = ["evaluate", "duel_expert", *LEVEL4, "4", "--compare-with", "other.json", "--json"]
    done = run_in_new_process(arguments, folder, {})
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout), done.stderr


@pytest.fixture
def with_baselines(four: tuple[Path, dict[str, Any], str], tmp_path: Path) -> Path:
    """A folder in which the baselines of LEVEL4 are played already."""
    (tmp_path / "evaluations/episodes").mkdir(parents=True)
    for name in ("duel_nothing", "duel_random", "duel_simple", "sf2_scripted"):
        for file in four[0].glob(f"evaluations/episodes/{name}-*.jsonl"):
            shutil.copy(file, tmp_path / "evaluations/episodes")
    return tmp_path


@pytest.fixture
def evaluate(capfd: pytest.CaptureFixture[str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command in a folder, in this process."""

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_in_this_process(["evaluate", *arguments], folder, {}, capfd)

    return run


def _episodes(folder: Path, name: str) -> list[dict[str, Any]]:
    (file,) = folder.glob(f"evaluations/episodes/{name}-*.jsonl")
    return _rows(file)


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()[1:]]


@pytest.mark.slow
def test_a_world_is_measured_by_its_quests_and_areas(evaluate: Evaluate, tmp_path: Path) -> None:
    arguments = ["meadow_walk", "--states", "training/Title", "--episodes", "2", "--ticks", "2500"]
    done = evaluate(tmp_path, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    teacher, nothing, chance = [player["measures"] for player in result["players"]]
    assert teacher["quest_steps"]["mean"] >= 1 > nothing["quest_steps"]["mean"] == 0
    assert teacher["areas"]["mean"] > chance["areas"]["mean"] >= nothing["areas"]["mean"] == 0
    assert teacher["areas"]["most"] == 12
    assert nothing["deaths"] == {"mean": 0, "low": 0, "high": 0, "most": None}
    assert "quest_steps, of 6" in describe(result)


@pytest.mark.slow
def test_the_result_states_the_conditions_and_who_played(
    four: tuple[Path, dict[str, Any], str],
) -> None:
    folder, result, _ = four
    protocol = result["protocol"]
    splits = json.loads((bundled_dir("games") / "Duel-Genesis/splits.json").read_text())
    states = {}
    for match_up in splits["validation_match_ups"]:
        name = f"Level4.{match_up}"
        states[name] = splits["validation"][name]
    assert protocol["states"] == states
    assert (protocol["split"], protocol["rom_sha1"]) == ("validation", splits["rom_sha1"])
    assert (protocol["seed"], protocol["noop_max"], protocol["ticks"], protocol["clock"]) == (
        0,
        30,
        120,
        "fast",
    )
    assert [(player["name"], player["roles"]) for player in result["players"]] == [
        ("duel_expert", ["evaluated"]),
        ("other", ["compared"]),
        ("duel_nothing", ["nothing"]),
        ("duel_random", ["random"]),
        ("sf2_scripted", ["reference"]),
        ("duel_simple", ["simple: blind loop"]),
        ("duel_simple", ["simple: one threshold"]),
        ("duel_simple", ["simple: side loop"]),
        ("duel_simple", ["simple: table"]),
        ("duel_simple", ["simple: turtle"]),
        ("duel_simple", ["simple: two thresholds"]),
    ]
    for player in result["players"]:
        assert (player["n"], player["distinct"], player["timed_out"]) == (4, 4, 4)
    assert "paired" not in result["players"][0]
    assert result["players"][4]["brains"].keys() == {"strategist", "gate", "sink"}
    assert result["software"].keys() >= {"minibrains", "python", "stable-retro", "torch", "code"}
    assert result["machine"]["cpu"]
    assert json.loads((folder / result["files"]["json"]).read_text()) == result
    with Image.open(folder / result["files"]["png"]) as picture:
        assert picture.width == 1600
        assert len(picture.convert("RGB").getcolors(1 << 20) or ()) > 50


@pytest.mark.slow
def test_the_baselines_may_play_fewer_episodes(
    four: tuple[Path, dict[str, Any], str], with_baselines: Path, evaluate: Evaluate
) -> None:
    shutil.copy(four[0] / "other.json", with_baselines)
    for file in four[0].glob("evaluations/episodes/other-*.jsonl"):
        shutil.copy(file, with_baselines / "evaluations/episodes")
    arguments = ("duel_expert", *LEVEL4, "5", "--baselines", "2", "--compare-with", "other.json")
    done = evaluate(with_baselines, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    counts = {player["name"]: player["n"] for player in result["players"]}
    assert counts == {
        "duel_expert": 5,
        "other": 5,
        "duel_nothing": 2,
        "duel_random": 2,
        "sf2_scripted": 2,
        "duel_simple": 2,
    }
    text = describe(result)
    assert "5 episodes each (baselines: 2), seed 0" in text
    assert "duel_expert minus other (compared): +0.0 points in 5 pairs, 95 % interval " in text


@pytest.mark.slow
def test_episode_by_episode_everybody_has_the_same_start(
    four: tuple[Path, dict[str, Any], str],
) -> None:
    """Whatever the console is called, and whatever its workflow had set."""
    folder, result, _ = four
    starts: list[list[Any]] = []
    actions: set[str] = set()
    for file in result["files"]["episodes"]:
        rows = _rows(folder / file)
        starts.append(_each("start", rows))
        actions.update(_each("actions_sha256", rows))
    assert len(starts) == len(result["players"])
    assert starts[1:] == starts[:1] * (len(starts) - 1)
    assert len(set(map(json.dumps, starts[0]))) == 4
    assert len(actions) > 20, "but not everybody does the same"


@pytest.mark.slow
def test_the_example_of_the_page_plays_real_matches_and_none_twice(
    tmp_path: Path, evaluate: Evaluate
) -> None:
    page = (ROOT / "docs/evaluate.md").read_text()
    arguments = shlex.split(page.partition("    python -m server evaluate ")[2].partition("\n")[0])
    done = evaluate(tmp_path, *arguments)
    again = evaluate(tmp_path, *arguments, "--json")
    assert (done.returncode, again.returncode) == (0, 0), done.stderr
    lines = done.stdout.splitlines()
    table, files = lines[:-2], lines[-2:]
    indented = [f"    {line}".rstrip() for line in table]
    shown = page.splitlines()
    first = shown.index(indented[0])
    assert indented == shown[first : first + len(table)], done.stdout
    assert sorted(tmp_path.glob("evaluations/*.*")) == [tmp_path / file for file in files]
    for file in json.loads(again.stdout)["files"]["episodes"]:
        assert _each("ended", _rows(tmp_path / file)) == ["done", "done"]


@pytest.mark.slow
def test_opponents_hold_the_other_pad_and_the_same_ones_for_all(
    tmp_path: Path, evaluate: Evaluate
) -> None:
    arguments = ("duel_expert", *LEVEL4, "2", "--opponents", "held_back/t*", "--json")
    done = evaluate(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    protocols = _each("protocol", result["opponents"])
    assert _each("opponent", protocols) == ["held_back/turtle", "held_back/thrower"]
    trajectories = set()
    for section in result["opponents"]:
        assert section["protocol"]["write"] == {"seed": "$seed", "mode": 1}
        assert _each("roles", section["players"]) == [
            ["evaluated"],
            ["nothing"],
            ["random"],
            ["reference"],
        ]
        assert _each("n", section["players"]) == [2, 2, 2, 2]
    kept: dict[Path, bytes] = {}
    for name in result["files"]["episodes"]:
        file = tmp_path / name
        kept[file] = file.read_bytes()
        for row in _rows(file):
            assert (row["start"]["write"]["mode"], row["ended"]) == (1, "limit")
            trajectories.add(row["trajectory_sha256"])
    assert len(trajectories) == 2 * 4 * 2
    assert "verdict" not in result
    again = evaluate(tmp_path, *arguments)
    assert json.loads(again.stdout) == result
    for file, before in kept.items():
        assert file.read_bytes() == before, "nothing is played twice"


@pytest.mark.slow
def test_what_collects_is_left_out_against_opponents_that_are_held_back(
    tmp_path: Path, evaluate: Evaluate
) -> None:
    opponents = ("--opponents", "*/[rs]*o*", "--ticks", "40", "--json")
    done = evaluate(tmp_path, "sf2_ram_text", *LEVEL4, "1", *opponents)
    assert done.returncode == 0, done.stderr
    sections = json.loads(done.stdout)["opponents"]
    (section,) = sections
    assert section["protocol"]["opponent"] == "held_back/shoto"
    assert section["players"][0]["left_out"] == ["decisions"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"opponent": {"type": "ScriptedFighter@1", "in": {"variables": "console.variables"}}},
            "opponent: the evaluation adds",
        ),
        (
            {"console": {"pad2": "fighter.pad"}},
            "console.pad2: it is linked, and the evaluation links its opponent there",
        ),
    ],
)
def test_a_workflow_that_has_an_opponent_of_its_own_is_refused(
    change: dict[str, Any], words: str, tmp_path: Path, evaluate: Evaluate
) -> None:
    workflow = json.loads((bundled_dir("workflows") / "duel_expert.json").read_text())
    if "console" in change:
        workflow["nodes"]["console"]["in"].update(change["console"])
    else:
        workflow["nodes"].update(change)
    (tmp_path / "mine.json").write_text(json.dumps(workflow))
    done = evaluate(tmp_path, "mine.json", *LEVEL4, "1", "--opponents", "training/rusher")
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_a_killed_evaluation_goes_on_where_it_was(
    with_baselines: Path, four: tuple[Path, dict[str, Any], str], evaluate: Evaluate
) -> None:
    command = [sys.executable, "-m", "server", "evaluate", "duel_expert", *LEVEL4, "4000"]
    with subprocess.Popen(command, cwd=with_baselines, stderr=subprocess.DEVNULL) as run:
        _await(lambda: len(_kept(with_baselines)) > 3, run)
        run.kill()
    (file,) = with_baselines.glob("evaluations/episodes/duel_expert-*.jsonl")
    kept = file.read_bytes()
    # as when the machine went down within a line
    file.write_bytes(kept + b'{"episode": 3999, "won": tr')
    done = evaluate(with_baselines, "duel_expert", *LEVEL4, "4", "--json")
    assert json.loads(done.stdout)["players"][0]["n"] == 4
    more = len(kept.splitlines()) + 2
    done = evaluate(with_baselines, "duel_expert", *LEVEL4, str(more), "--json")
    assert done.returncode == 0, done.stderr
    assert file.read_bytes().startswith(kept)
    rows = _whole_rows(file)
    assert sorted(_each("episode", rows)) == list(range(more))
    assert rows[:4] == _episodes(four[0], "duel_expert")
    assert json.loads(done.stdout)["players"][0]["n"] == more


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_played(with_baselines: Path) -> None:
    command = [sys.executable, "-m", "server", "evaluate", "duel_expert", *LEVEL4, "4000", "--json"]
    with subprocess.Popen(
        command,
        cwd=with_baselines,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        _await(lambda: len(_kept(with_baselines)) > 1, run)
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=TIMEOUT)
    assert run.returncode == 130, err
    assert "Traceback" not in err
    message = json.loads(out)["error"]["message"]
    assert message.startswith("stopped; ")
    assert "are kept in evaluations; the same command resumes from there" in message
    assert not list(with_baselines.glob("evaluations/*.json"))
    for row in _kept(with_baselines):
        assert row["ended"] == "limit"


@pytest.mark.slow
def test_a_node_that_failed_while_the_game_went_on_is_named(
    with_baselines: Path, evaluate: Evaluate
) -> None:
    workflow = json.loads((bundled_dir("workflows") / "duel_expert.json").read_text())
    workflow["nodes"]["extra"] = {
        "type": "worker_pack.Raises@1",
        "in": {"reward": "console.reward"},
        "on_error": "hold",
    }
    (with_baselines / "mine.json").write_text(json.dumps(workflow))
    done = evaluate(with_baselines, "mine.json", "--pack", str(PACK), *LEVEL4, "2")
    assert done.returncode == 0, done.stderr
    assert (
        "mine (evaluated): extra failed 1 times, and the game went on: ValueError: REAL REASON"
        in done.stdout
    )
    first, second = _episodes(with_baselines, "mine")
    assert first["nodes"]["extra"]["errors"] == 1
    assert "errors" not in second.get("nodes", {}).get("extra", {})


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ledger of a copy of Duel, which takes the place of the shipped one."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    own = tmp_path / "home" / "games" / "Duel-Genesis"
    without = shutil.ignore_patterns("held_back.jsonl")
    shutil.copytree(bundled_dir("games") / "Duel-Genesis", own, ignore=without)
    return own / "held_back.jsonl"


ONE_MATCH = ("--states", "validation", "--episodes", "1")
HELD_BACK = ("duel_expert", "--states", "held_back/Level4.*", "--ticks", "60", "--json")


@pytest.mark.slow
def test_every_look_at_held_back_states_is_recorded(
    with_baselines: Path, ledger: Path, evaluate: Evaluate
) -> None:
    numbers = []
    for episodes in ("1", "1", "2"):
        done = evaluate(with_baselines, *HELD_BACK, "--episodes", episodes)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        numbers.append(result["look"]["number"])
    assert numbers == [1, 1, 2], "the same evaluation again is the same look"
    assert f"look 2 at held-back states of this ROM: {ledger}" in describe(result)
    first, second = map(json.loads, ledger.read_text().splitlines())
    assert (first["look"]["episodes"], second["look"]["episodes"]) == (1, 2)
    assert first["look"]["states"] == "held_back/Level4.*"
    (player,) = first["look"]["players"]
    assert player["workflow"] == "duel_expert"
    brains = result["players"][0]["brains"]
    assert player["brains"] == {name: brain["sha256"] for name, brain in brains.items()}


@pytest.mark.slow
def test_looks_at_states_of_another_rom_are_not_counted(
    with_baselines: Path, ledger: Path, evaluate: Evaluate
) -> None:
    ledger.write_text('{"when": "2026-01-01T00:00:00Z", "look": {"rom_sha1": "another"}}\n')
    done = evaluate(with_baselines, *HELD_BACK, "--episodes", "1")
    assert json.loads(done.stdout)["look"]["number"] == 1
    assert len(ledger.read_text().splitlines()) == 2


def test_only_looks_at_held_back_states_are_recorded(
    tmp_path: Path, ledger: Path, evaluate: Evaluate
) -> None:
    done = evaluate(tmp_path, "duel_expert", *LEVEL4, "1", "--baselines", "0", "--json")
    assert "look" not in json.loads(done.stdout)
    assert not ledger.exists()


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.write_text("{}\n"), "line 1: it is not an entry of a ledger"),
    ],
    ids=["a folder", "another file"],
)
def test_held_back_states_are_not_looked_at_without_a_ledger(
    tmp_path: Path,
    ledger: Path,
    evaluate: Evaluate,
    break_it: Callable[[Path], object],
    words: str,
) -> None:
    break_it(ledger)
    done = evaluate(tmp_path, *HELD_BACK, "--episodes", "1")
    assert done.returncode == 2
    assert words in done.stderr
    assert not list(tmp_path.glob("evaluations/episodes/*-held_back-*"))


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(("split", "left_out"), [("held_back", ["decisions"]), ("validation", [])])
def test_what_collects_is_left_out_where_states_are_held_back(
    with_baselines: Path, split: str, left_out: list[str], evaluate: Evaluate
) -> None:
    states = ["--states", f"{split}/Level4.*", "--ticks", "60", "--episodes"]
    done = evaluate(with_baselines, "sf2_ram_text", *states, "1", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert _each("left_out", result["players"]) == [left_out] + [[]] * (len(result["players"]) - 1)
    told = (
        "sf2_ram_text (evaluated): decisions was left out, because it collects or trains, "
        "and these states or opponents are held back"
    )
    assert (told in describe(result)) is bool(left_out)
    written = list((with_baselines / "evaluations/nodes").glob("sf2_ram_text-*/**/decisions.jsonl"))
    assert bool(written) is not bool(left_out)


def test_an_adapter_for_another_model_is_refused_before_a_game(
    tmp_path: Path, evaluate: Evaluate
) -> None:
    adapter = LoraAdapter.load(bundled_dir("models") / "lora_adapter/sf2-untrained.safetensors")
    other = LoraAdapter(
        adapter.tensors, adapter=adapter.adapter, base="another model", base_sha256="0" * 64
    )
    other.save(tmp_path / "other.safetensors", title="other", made_by="test")
    done = evaluate(
        tmp_path, "sf2_ram_text", "--brain", "lora=other.safetensors", *LEVEL4, "2", "--json"
    )
    assert done.returncode == 2
    assert "other.safetensors of lora was made for, 'another model'" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (
            {"type": "worker_pack.Raises@1", "set": {"episode": 1}},
            "extra (worker_pack.Raises) failed on tick 50: ValueError",
        ),
        (
            {"type": "worker_pack.Dies@1", "set": {"episode": 1, "times": 2}},
            "the worker died twice (signal SIGKILL)",
        ),
    ],
)
def test_an_episode_that_fails_counts_and_the_others_are_played(
    with_baselines: Path, extra: dict[str, Any], words: str, evaluate: Evaluate
) -> None:
    workflow = json.loads((bundled_dir("workflows") / "duel_expert.json").read_text())
    widgets = dict(extra["set"])
    if "Dies" in extra["type"]:
        widgets["marks"] = str(with_baselines)
    workflow["nodes"]["extra"] = {**extra, "set": widgets, "in": {"reward": "console.reward"}}
    (with_baselines / "mine.json").write_text(json.dumps(workflow))
    done = evaluate(with_baselines, "mine.json", "--pack", str(PACK), *LEVEL4, "3", "--json")
    assert done.returncode == 1, done.stderr
    assert "1 episodes failed, they count as not won" in done.stderr
    assert "Traceback" not in done.stderr
    mine = json.loads(done.stdout)["players"][0]
    assert (mine["n"], mine["distinct"], mine["failed"], mine["timed_out"]) == (3, 3, 1, 2)
    rows = sorted(_episodes(with_baselines, "mine"), key=itemgetter("episode"))
    assert words in rows[1]["error"]
    assert _each("ended", rows) == ["limit", "failed", "limit"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("duel_expert", "--states", "validatoin", "--episodes", "1"),
            "no split 'validatoin'; expected training, validation, held",
        ),
        (
            ("duel_expert", "--states", "training/Level11*", "--episodes", "1"),
            "no state of the split 'training' matches 'Level11*'",
        ),
        (("duel_expert", "--episodes", "1"), "--states"),
        (
            ("duel_expert", "--states", "validation", "--episodes", "1", "--opponents", "heldback"),
            "no opponent matches 'heldback'; expected some of training/aggressive",
        ),
        (
            ("duel_expert", "--states", "validation", "--episodes", "0"),
            "expected a whole number from 1, found '0'",
        ),
        (
            ("duel_expert", "--states", "validation", "--episodes", "1", "--workers", "0"),
            "workers: expected",
        ),
        (
            ("airstriker", "--states", "validation", "--episodes", "1"),
            "evaluation.json that says how to evaluate; expected one of Duel-Genesis",
        ),
        (("hello", "--states", "validation", "--episodes", "1"), "an evaluation needs one console"),
        (
            ("duel_expert", *ONE_MATCH, "--compare-with", "airstriker"),
            "it plays another game",
        ),
        (
            ("duel_expert", *ONE_MATCH, "--compare-with", "duel_expret"),
            "Did you mean 'duel_expert'?",
        ),
    ],
)
def test_a_wrong_request_is_a_sentence(
    arguments: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["evaluate", *arguments]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert "Traceback" not in said.err
    assert not said.out


def test_a_state_that_was_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    games = tmp_path / "games"
    shutil.copytree(bundled_dir("games") / "Duel-Genesis", games / "Duel-Genesis")
    monkeypatch.setattr("minibrains.games.catalog.bundled_dir", tmp_path.joinpath)
    monkeypatch.chdir(tmp_path)
    (games / "Duel-Genesis/Level4.KazeVsMira.state").write_bytes(b"another")
    assert cli.main(["evaluate", "duel_expert", *LEVEL4, "1"]) == 2
    assert "Level4.KazeVsMira.state is not the state that" in capsys.readouterr().err
    (games / "Duel-Genesis/rom.md").write_bytes(b"another")
    assert cli.main(["evaluate", "duel_expert", *LEVEL4, "1"]) == 2
    assert "splits.json is for the ROM" in capsys.readouterr().err
    (games / "Duel-Genesis/evaluation.json").write_text(
        '{"noop_max": "many", "write": {}, "ticks": 9, "baselines": {}}'
    )
    assert cli.main(["evaluate", "duel_expert", *LEVEL4, "1"]) == 2
    assert "evaluation.json: expected int, found 'many'" in capsys.readouterr().err
    assert not (tmp_path / "evaluations").exists()


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        row: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return row


def _kept(folder: Path) -> list[dict[str, Any]]:
    """The whole rows of the evaluated player, while it plays."""
    rows: list[dict[str, Any]] = []
    for file in folder.glob("evaluations/episodes/duel_expert-*"):
        rows.extend(_whole_rows(file))
    return rows


def _whole_rows(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of which the last may be half written."""
    rows = map(_parsed, file.read_text().splitlines()[1:])
    return list(filter(None, rows))


def _each(key: str, entries: list[dict[str, Any]]) -> list[Any]:
    return [entry[key] for entry in entries]


def _await(condition: Callable[[], object], process: subprocess.Popen[Any] | None = None) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        assert process is None or process.poll() is None, f"it ended with {process.returncode}"
        time.sleep(0.02)
