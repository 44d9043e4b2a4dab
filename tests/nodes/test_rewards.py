"""Rewards: each term by itself, their sum, and the table of what each contributed."""

from __future__ import annotations

import csv
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import ABSENT, BrainError, Episode, MinibrainsError, Node, Number, widget
from minibrains.engine.engine import Engine
from minibrains.engine.node_runtime import NodeRuntime
from minibrains.errors import RunError
from minibrains.files import bundled_dir
from minibrains.testing import ScratchHost, opened, play
from nodes.rewards.breakdown import append_row
from nodes.rewards.fight import (
    ComboReward,
    DamageReward,
    DangerReward,
    DistanceReward,
    EdgeReward,
    KnockoutReward,
    WinReward,
)
from nodes.rewards.general import ProgressReward, TimePenalty
from nodes.rewards.sum import RewardSum, RewardWeights
from tests.support.engine_fixtures import FakeHost, make_engine, make_plan, node
from tests.support.paths import ROOT
from tests.support.timeouts import TIMEOUT

BLOCK = re.compile(r"^```(?:python|json) (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGE = dict(BLOCK.findall((ROOT / "docs/rewards.md").read_text()))
TERMS = ("damage", "win", "knockout", "combo", "distance", "edge", "danger", "time")
BARS = RewardWeights.load(bundled_dir("models") / "reward_weights/bars.safetensors")
DENSE = RewardWeights.load(bundled_dir("models") / "reward_weights/dense.safetensors")
SPARSE = RewardWeights.load(bundled_dir("models") / "reward_weights/sparse.safetensors")
START = {
    "agent_hp": 176,
    "enemy_hp": 176,
    "agent_x": 205,
    "enemy_x": 307,
    "agent_status": 512,
    "round_countdown": 900,
    "agent_victories": 0,
    "enemy_victories": 0,
}


Changes = tuple[dict[str, int], ...]
"""The variables that change, tick by tick."""


def _rewards(node: Node, *changes: dict[str, int]) -> list[float]:
    """What a node gives for a fight; each tick changes some variables of the one before."""
    variables = START
    ticks = []
    for change in changes:
        variables = {**variables, **change}
        ticks.append({"variables": variables})
    with opened(node):
        return play(node, *ticks)


# -- each term -------------------------------------------------------------------------------------


def test_damage_is_health_taken_less_health_lost() -> None:
    fight: Changes = (
        {},
        {"enemy_hp": 150},
        {"agent_hp": 170},
        {"agent_hp": 160, "enemy_hp": 145},
        {},
    )
    assert _rewards(DamageReward(), *fight) == [0, 26, -6, -5, 0]
    assert _rewards(DamageReward(dealt=2, taken=0.5), *fight) == [0, 52, -3, 5, 0]


def test_a_knock_out_takes_what_was_left_and_a_new_round_is_no_damage() -> None:
    fight: Changes = (
        {"agent_hp": 30, "enemy_hp": 20},
        {"enemy_hp": -1},
        {"agent_hp": 176, "enemy_hp": 176},
        {"agent_hp": 0},
        {"agent_hp": -1},
    )
    assert _rewards(DamageReward(), *fight) == [0, 20, 0, -176, 0]


def test_who_is_knocked_out_counts_once() -> None:
    ko = {"enemy_hp": -1}
    new_round = {"agent_hp": 176, "enemy_hp": 176}
    assert _rewards(KnockoutReward(), {}, ko, {}, new_round, {"agent_hp": -1}) == [0, 1, 0, 0, -1]
    assert _rewards(KnockoutReward(), {}, {"agent_hp": -1, "enemy_hp": -1}) == [0, 0]
    assert _rewards(KnockoutReward(), ko, {}) == [0, 0], "it was before the episode"
    assert _rewards(KnockoutReward(), {}, {"enemy_hp": 0}) == [0, 0], "no health left, but standing"


@pytest.mark.parametrize(
    ("own", "enemy", "terminated", "reward"),
    [(2, 1, True, 1), (0, 2, True, -1), (1, 1, True, 0), (2, 1, False, 0)],
)
def test_a_match_is_won_when_it_is_over(
    own: int, enemy: int, terminated: bool, reward: float
) -> None:
    variables = {"agent_victories": own, "enemy_victories": enemy}
    tick = {"variables": variables, "terminated": terminated}
    node = WinReward()
    with opened(node):
        assert play(node, tick) == [reward]


HIT, HURT, PAUSE = "hit", "hurt", "pause"


@pytest.mark.parametrize(
    ("ticks", "rewards"),
    [
        ([HIT, HIT, HIT], [0, 1, 1]),
        ([HIT, PAUSE, PAUSE, HIT], [0, 0, 0, 1]),
        ([HIT, PAUSE, PAUSE, PAUSE, HIT, HIT], [0, 0, 0, 0, 0, 1]),
        ([HIT, HURT, HIT, HIT], [0, 0, 0, 1]),
    ],
)
def test_hits_in_a_row_are_a_combo(ticks: list[str], rewards: list[float]) -> None:
    own, enemy = 176, 176
    fight: list[dict[str, int]] = [{}]
    for tick in ticks:
        own -= 5 * (tick == HURT)
        enemy -= 5 * (tick == HIT)
        fight.append({"agent_hp": own, "enemy_hp": enemy})
    assert _rewards(ComboReward(window=3), *fight) == [0, *rewards]


def test_a_combo_may_begin_later_and_ends_with_the_round() -> None:
    fight: Changes = ({}, {"enemy_hp": 20}, {"enemy_hp": 10}, {"enemy_hp": -1})
    assert _rewards(ComboReward(hits=3), *fight) == [0, 0, 0, 1]
    new_round = ({"agent_hp": 176, "enemy_hp": 176}, {"enemy_hp": 160})
    assert _rewards(ComboReward(), *fight, *new_round) == [0, 0, 1, 1, 0, 0]


def test_distance_is_what_came_closer_except_through_a_new_round() -> None:
    fight: Changes = (
        {"agent_x": 100, "enemy_x": 200},
        {"agent_x": 103},
        {"enemy_x": 210},
        {"agent_x": 230},
        {"agent_x": 205, "enemy_x": 307, "round_countdown": 999},
        {"enemy_x": 306, "round_countdown": 998},
    )
    assert _rewards(DistanceReward(), *fight) == [0, 3, -10, 87, 0, 1]


@pytest.mark.parametrize(
    ("own", "enemy", "reward"),
    [(100, 63, 1), (100, 64, 0), (400, 449, 1), (400, 448, 0), (20, 40, 0), (500, 480, 0)],
)
def test_pressure_is_the_other_at_the_edge(own: int, enemy: int, reward: float) -> None:
    moment = {"agent_x": own, "enemy_x": enemy}
    assert _rewards(EdgeReward(), moment, moment) == [0, reward]
    assert _rewards(EdgeReward(), moment, {"enemy_hp": -1}) == [0, 0], "nobody stands there"


def test_danger_is_little_health_without_blocking() -> None:
    fight: Changes = (
        {},
        {"agent_hp": 44},
        {"agent_hp": 43},
        {"agent_status": 518},
        {"agent_status": 512},
    )
    assert _rewards(DangerReward(), *fight) == [0, 0, -1, 0, -1]
    assert _rewards(DangerReward(), {"agent_hp": 10}, {"agent_hp": -1}) == [0, 0]
    assert _rewards(DangerReward(below=0.5), {"agent_hp": 80}, {}) == [0, -1]


def test_time_passes_after_the_first_tick() -> None:
    node = TimePenalty()
    with opened(node):
        assert play(node, {}, {}, {}) == [0, -1, -1]
        assert play(node, {}, {}) == [0, -1], "in the next episode as well"


def _progress(node: ProgressReward, values: list[int], priorities: list[Any]) -> list[float]:
    ticks = []
    for value, priority in zip(values, priorities, strict=True):
        ticks.append({"variables": {"quest": value}, "priority": priority})
    with opened(node):
        return play(node, *ticks)


def test_progress_is_a_variable_that_changes() -> None:
    values = [3, 3, 4, 7, 5]
    node = ProgressReward(variable="quest")
    assert _progress(node, values, [None] * 5) == [0, 0, 1, 1, 0]
    node = ProgressReward(variable="quest", rise=2, fall=-50)
    assert _progress(node, values, [None, 10, 10, 5, 1]) == [0, 0, 20, 10, -50]
    node = ProgressReward(variable="quest", fall=-1, per="unit")
    assert _progress(node, values, [None] * 5) == [0, 0, 1, 3, -2]


@pytest.mark.parametrize(
    ("node", "needed"),
    [
        (DamageReward(), "no variable 'agent_hp'; DamageReward needs agent_hp, enemy_hp"),
        (DistanceReward(), "no variable 'agent_x'; DistanceReward needs agent_x, enemy_x"),
        (ProgressReward(variable="quest"), "no variable 'quest'; it has lives, score"),
    ],
)
def test_a_game_without_the_variable_is_named(node: Node, needed: str) -> None:
    with opened(node), pytest.raises(MinibrainsError, match=needed):
        play(node, {"variables": {"lives": 3, "score": 0}})


def test_a_game_without_victories_is_named() -> None:
    node = WinReward()
    with opened(node), pytest.raises(MinibrainsError, match="no variable 'agent_victories'"):
        play(node, {"variables": {"lives": 3}, "terminated": True})


# -- their sum -------------------------------------------------------------------------------------


def _weights(**weights: float) -> RewardWeights:
    return RewardWeights(weights=weights)


def _host(folder: Path, *names: str) -> ScratchHost:
    return ScratchHost(folder, linked={"rewards": names})


def test_the_sum_is_weighted_and_given_on_every_tick(tmp_path: Path) -> None:
    node = RewardSum(brain=_weights(win=100, damage=1, time=0))
    ticks: list[dict[str, Any]] = [
        {"rewards": [3.0, None, -1.0]},
        {"rewards": [None, None, None]},
        {"rewards": [-2.0, 1.0, -1.0]},
    ]
    with opened(node, _host(tmp_path, "damage", "win", "time")):
        sums = play(node, *ticks)
        assert sums == [(3, ABSENT), (0, ABSENT), (98, ABSENT)]
        terms = {"damage": 1, "win": 100, "time": 0}
        assert node.report() == {"reward": 101, "rewards": terms}
        play(node, {"rewards": [3.0, None, None]})
        assert node.report()["reward"] == 3, "an episode begins with nothing"


def test_without_a_brain_every_weight_is_1(tmp_path: Path) -> None:
    node = RewardSum(brain=None)
    with opened(node, _host(tmp_path, "damage", "win")):
        (sums,) = play(node, {"rewards": [3.0, -1.0]})
    assert sums.reward == 2


def test_the_total_is_from_one_decision_to_the_next(tmp_path: Path) -> None:
    rewards = [[1.0, None], [2.0, 0.5], [None, None], [4.0, None], [None, None], [8.0, 0.0]]
    now = [True, False, None, True, True, True]
    ticks = [{"rewards": given, "now": flag} for given, flag in zip(rewards, now, strict=True)]
    node = RewardSum(brain=None)
    with opened(node, _host(tmp_path, "one", "two")):
        sums = play(node, *ticks)
    assert [out.total for out in sums] == [1.0, ABSENT, ABSENT, 6.5, 0.0, 8.0]
    assert [out.reward for out in sums] == [1.0, 2.5, 0.0, 4.0, 0.0, 8.0]


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        (["damage", "wim"], "no weight for the reward of 'wim'; it has .* Did you mean 'win'?"),
        (["damage", "damage"], "two rewards come from the node 'damage'; expected one from each"),
        (["damage", "ticks"], "'ticks', which is the name of a column .* another id"),
    ],
)
def test_links_that_cannot_be_terms_are_refused(
    tmp_path: Path, names: list[str], wrong: str
) -> None:
    node = RewardSum(brain=_weights(damage=1, win=100))
    host = _host(tmp_path, *names)
    with pytest.raises(MinibrainsError, match=wrong), opened(node, host):
        pass


def test_a_reward_that_is_no_number_is_named(tmp_path: Path) -> None:
    node = RewardSum(brain=None)
    with opened(node, _host(tmp_path, "damage", "win")):
        play(node)
        with pytest.raises(MinibrainsError, match="the reward of 'win' is nan on tick 0; expected"):
            node.tick([1.0, float("nan")])
        with pytest.raises(MinibrainsError, match="the sum of the rewards on tick 0 is too large"):
            node.tick([1.5e308, 1.5e308])


@pytest.mark.parametrize("file", ["../a.csv", "rewards.txt", ".csv"])
def test_a_file_outside_of_the_run_folder_is_refused(file: str) -> None:
    with pytest.raises(MinibrainsError, match=r"expected a plain name ending in \.csv"):
        RewardSum(brain=None, file=file).check()


@pytest.mark.parametrize("weight", [float("inf"), float("nan"), "much"])
def test_a_weight_that_is_no_number_is_refused(weight: Any) -> None:
    with pytest.raises(BrainError, match="the setting 'weights': expected float, found"):
        RewardWeights(weights={"damage": 1.0, "win": weight})


def test_the_presets_have_the_values_of_the_page() -> None:
    rows = re.findall(
        r"\| `(\w+)` \| ([\d./]*) ?\| ([\d.]+) \| ([\d.]+) \|",
        (ROOT / "docs/rewards.md").read_text(),
    )

    bars = {name: float(Fraction(weight)) for name, weight, _, _ in rows if weight}
    sparse = {name: float(weight) for name, _, weight, _ in rows}
    dense = {name: float(weight) for name, _, _, weight in rows}

    assert bars == BARS.weights
    assert sparse == SPARSE.weights
    assert dense == DENSE.weights
    assert tuple(dense) == TERMS


# -- the table -------------------------------------------------------------------------------------


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_episode_is_a_row_that_adds_up(tmp_path: Path) -> None:
    node = RewardSum(brain=_weights(damage=0.5, win=100))
    with opened(node, _host(tmp_path, "damage", "win")):
        for index, ended in enumerate(("done", "limit")):
            play(
                node,
                {"rewards": [3.0, index]},
                {"rewards": [-8.0, None]},
                episode=Episode(index, 0, "node"),
            )
            node.finish({"ticks": 2, "ended": ended})
    text = (tmp_path / "reward_breakdown.csv").read_text()
    assert text.splitlines() == [
        "episode,ticks,ended,total,damage,win",
        "0,2,done,-2.5,-2.5,0.0",
        "1,2,limit,97.5,-2.5,100.0",
    ]


def test_a_new_term_is_a_new_column(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    append_row(path, {"episode": 0, "damage": 1.5})
    append_row(path, {"episode": 1, "damage": 2.5, "a, b": -1.0})
    append_row(path, {"episode": 2, "a, b": 3.0})
    assert _table(path) == [
        {"episode": "0", "damage": "1.5", "a, b": ""},
        {"episode": "1", "damage": "2.5", "a, b": "-1.0"},
        {"episode": "2", "damage": "", "a, b": "3.0"},
    ]


APPENDING = """
from itertools import count
from pathlib import Path
from sys import argv

from nodes.rewards.breakdown import append_row

for episode in count():
    row = {"episode": episode, "total": 0.1 * episode}
    row |= {f"term{number}": 0.1 for number in range(episode // 50)}
    append_row(Path(argv[1]), row)
"""


def test_a_table_of_a_process_that_is_killed_has_whole_rows(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    process = subprocess.Popen([sys.executable, "-c", APPENDING, path], cwd=ROOT)
    deadline = time.monotonic() + TIMEOUT
    while (not path.exists() or path.stat().st_size < 50_000) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert path.read_text().endswith("\n")
    table = _table(path)
    assert len(table) > 100
    for episode, row in enumerate(table):
        assert row["episode"] == str(episode)
        assert float(row["total"]) == 0.1 * episode
        assert None not in row
        assert None not in row.values()


def test_a_table_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "reward_breakdown.csv").mkdir()
    node = RewardSum(brain=None)
    with opened(node, _host(tmp_path, "damage")):
        play(node, {"rewards": [1.0]})
        with pytest.raises(
            RunError, match=r"reward_breakdown\.csv cannot be written: Is a directory"
        ):
            node.finish({"ticks": 1, "ended": "done"})


# -- in a graph ------------------------------------------------------------------------------------


class Same(Node, every_tick=True):
    """Delivers the same number on every tick."""

    number: float = widget(default=1.0)

    def reset(self, episode: Episode) -> None:
        """Make it a node with state, which runs on every tick."""

    def tick(self) -> Number:
        return self.number


def _lines(folder: Path, name: str) -> list[dict[str, Any]]:
    (path,) = folder.rglob(f"{name}.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def _with_logs(tmp_path: Path, **logged: str) -> Path:
    """The workflow of the page, which writes down these outputs."""
    workflow = json.loads(PAGE["rewards.json"])
    for name, output in logged.items():
        workflow["nodes"][name] = {"type": "Log@1", "in": {"value": output}}
    path = tmp_path / "rewards.json"
    path.write_text(json.dumps(workflow))
    return path


def _recomputed(frames: list[dict[str, int]], ended: bool) -> dict[str, float]:
    """The terms of an episode, counted in another way, from the variables of all its frames."""
    dealt = taken = knockouts = combo = distance = edge = danger = 0.0
    row, last_hit = 0, -1000
    for tick in range(1, len(frames)):
        before, now = frames[tick - 1], frames[tick]
        own, enemy = max(now["agent_hp"], 0), max(now["enemy_hp"], 0)
        own_before, enemy_before = max(before["agent_hp"], 0), max(before["enemy_hp"], 0)
        dealt += max(enemy_before - enemy, 0)
        taken += max(own_before - own, 0)
        if before["enemy_hp"] != -1 and now["enemy_hp"] == -1:
            knockouts += 1
        if before["agent_hp"] != -1 and now["agent_hp"] == -1:
            knockouts -= 1
        if now["agent_hp"] < before["agent_hp"] or now["enemy_hp"] > before["enemy_hp"]:
            last_hit = -1000
        if now["enemy_hp"] < before["enemy_hp"]:
            if tick - last_hit > 60:
                row = 0
            row += 1
            last_hit = tick
            combo += row >= 2
        if now["round"] == before["round"]:
            distance += abs(before["agent_x"] - before["enemy_x"])
            distance -= abs(now["agent_x"] - now["enemy_x"])
        if now["agent_hp"] >= 0 and now["enemy_hp"] >= 0:
            edge += now["enemy_x"] < min(64, now["agent_x"])
            edge += now["enemy_x"] > max(448, now["agent_x"])
            danger -= now["agent_hp"] < 44 and now["agent_status"] != 518
    won = frames[-1]["agent_victories"] - frames[-1]["enemy_victories"]
    return {
        "damage": dealt - taken,
        "win": float(np.sign(won)) if ended else 0.0,
        "knockout": knockouts,
        "combo": combo,
        "distance": distance,
        "edge": edge,
        "danger": danger,
        "time": 1.0 - len(frames),
    }


@pytest.mark.slow
def test_the_terms_of_real_matches_are_those_of_their_variables(
    summary: Callable[..., Any], tmp_path: Path
) -> None:
    path = _with_logs(
        tmp_path, variables="console.variables", reward="rewards.reward", ended="console.terminated"
    )
    result = summary(path, "--set", "fighter.style=aggressive")
    folder = Path(result["run_dir"])
    variables = _lines(folder, "variables")
    rewards = _lines(folder, "reward")
    table = _table(folder / "reward_breakdown.csv")
    assert len(table) == len(result["episodes"]) == 2
    seen: set[str] = set()
    for index, episode in enumerate(result["episodes"]):
        frames = [line["value"] for line in variables if line["episode"] == index]
        expected = _recomputed(frames, episode["ended"] == "done")
        for name, weight in DENSE.weights.items():
            expected[name] *= weight
            if expected[name]:
                seen.add(name)
        assert episode["rewards"] == pytest.approx(expected)
        assert episode["reward"] == pytest.approx(sum(expected.values()))
        ticks = [line["value"] for line in rewards if line["episode"] == index]
        assert len(ticks) == episode["ticks"], "a reward on every tick"
        assert sum(ticks) == pytest.approx(episode["reward"])
        row = table[index]
        assert (row["episode"], row["ended"]) == (str(index), episode["ended"])
        assert {name: float(row[name]) for name in TERMS} == episode["rewards"]
        assert float(row["total"]) == episode["reward"]
        assert int(row["ticks"]) == episode["ticks"]
    assert seen == set(TERMS)


def test_a_preset_and_a_muted_term_leave_the_others_as_they_are(
    summary: Callable[..., Any], tmp_path: Path
) -> None:
    path = _with_logs(tmp_path)
    dense = summary(path, "--ticks", 1500, "--episodes", 1)
    brain = "rewards=reward_weights/sparse.safetensors"
    sparse = summary(path, "--ticks", 1500, "--episodes", 1, "--brain", brain, "--mute", "knockout")
    (all_terms,) = (episode["rewards"] for episode in dense["episodes"])
    (some,) = (episode["rewards"] for episode in sparse["episodes"])
    assert "knockout" not in some
    assert some["damage"] == all_terms["damage"] != 0
    assert some["time"] == 0 != all_terms["time"]
    assert dense["actions_sha256"] == sparse["actions_sha256"]


def test_each_worker_writes_its_own_episodes(summary: Callable[..., Any], tmp_path: Path) -> None:
    path = _with_logs(tmp_path)
    result = summary(path, "--ticks", 300, "--episodes", 4, "--workers", 2)
    rows: dict[int, dict[str, str]] = {}
    for file in (Path(result["run_dir"]) / "workers").rglob("reward_breakdown.csv"):
        for row in _table(file):
            rows[int(row["episode"])] = row
    assert sorted(rows) == [0, 1, 2, 3]
    for index, episode in enumerate(result["episodes"]):
        assert float(rows[index]["total"]) == episode["reward"]


def test_a_workflow_with_a_node_without_weight_is_refused(
    minibrains: Callable[..., Any], tmp_path: Path
) -> None:
    workflow = json.loads(PAGE["rewards.json"])
    workflow["nodes"]["rewards"]["in"]["rewards"].append("console.reward")
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(workflow))
    done = minibrains("run", path, "--ticks", 10)
    assert done.returncode == 2
    assert "rewards" in done.stderr
    assert "the brain has no weight for the reward of 'console'" in done.stderr


def test_two_sums_in_one_graph_need_two_tables(
    minibrains: Callable[..., Any], tmp_path: Path
) -> None:
    workflow = json.loads(PAGE["rewards.json"])
    workflow["nodes"]["other"] = {"type": "RewardSum@2", "in": {"rewards": ["time.number"]}}
    path = tmp_path / "two.json"
    path.write_text(json.dumps(workflow))
    done = minibrains("check", path)
    assert done.returncode == 2
    assert "it would write reward_breakdown.csv in the run folder" in done.stderr
    assert "Set file to another name" in done.stderr


def test_the_weights_of_the_page_are_a_brain(
    summary: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_weights.py").write_text(PAGE["my_weights.py"])
    runpy.run_path(str(tmp_path / "my_weights.py"))
    workflow = json.loads(PAGE["rewards.json"])
    rewards = workflow["nodes"]["rewards"]
    rewards["in"]["rewards"] = ["damage.number", "win.number", "console.reward"]
    rewards["brain"] = "mine.safetensors"
    (tmp_path / "mine.json").write_text(json.dumps(workflow))
    result = summary(tmp_path / "mine.json", "--ticks", 100, "--episodes", 1)
    (episode,) = result["episodes"]
    assert list(episode["rewards"]) == ["damage", "win", "console"]


def _terms(*names: str) -> dict[str, dict[str, Any]]:
    """A graph of three nodes that deliver numbers, and the sum of those with these names."""
    entries: dict[str, dict[str, Any]] = {}
    for name, number in (("a", 1.0), ("b", 10.0), ("c", 100.0)):
        entries[name] = node("Same", set={"number": number})
    links = [f"{name}.number" for name in names]
    entries["rewards"] = {"type": "RewardSum@2", "in": {"rewards": links}}
    return entries


def test_terms_are_linked_and_unlinked_while_it_runs(tmp_path: Path) -> None:
    def host(runtime: NodeRuntime, engine: Engine) -> FakeHost:
        return FakeHost(runtime, engine, folder=tmp_path)

    types = [Same, RewardSum]
    engine = make_engine(_terms("a", "b"), types)
    engine.open(host)
    engine.reset(0, 0)
    engine.advance(3)
    for names in (("b", "c"), ("c", "b"), ()):
        edit = engine.prepare(make_plan(_terms(*names), types), {}, host)
        engine.edits.append(edit)
        engine.apply_edits()
        assert engine.finish_edit(edit) == []
        engine.advance(2)
    report = engine.report()
    assert report == {"reward": 473.0, "rewards": {"a": 3.0, "b": 70.0, "c": 400.0}}
    engine.finish_episode({"ticks": 9, "ended": "done"})
    assert engine.close() == []
    text = (tmp_path / "reward_breakdown.csv").read_text()
    assert text.splitlines() == ["episode,ticks,ended,total,a,b,c", "0,9,done,473.0,3.0,70.0,400.0"]


def test_who_decides_every_few_frames_is_given_all_the_rewards(
    summary: Callable[..., Any], tmp_path: Path
) -> None:
    """In a workflow of version 1 of the node, whose only output was the total."""
    nodes = {
        "console": {
            "type": "RetroEmulator@3",
            "set": {"game": "Airstriker-Genesis-v0"},
            "in": {"pad1": "sink.pad"},
        },
        "clock": {"type": "Every@1", "set": {"ticks": 8}},
        "random": {"type": "RandomPolicy@1", "set": {"actions": 6, "hold": 1}, "when": "clock.now"},
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "random.action"},
            "brain": "action_table/airstriker.safetensors",
        },
        "decided": {"type": "Any@1", "in": {"flags": ["clock.now", "console.terminated"]}},
        "rewards": {
            "type": "RewardSum@1",
            "in": {"rewards": ["console.reward"], "now": "decided.flag"},
        },
        "log": {"type": "Log@1", "in": {"value": "rewards.number"}},
    }
    (tmp_path / "skip.json").write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    result = summary("./skip.json", "--ticks", 4000, "--episodes", 1)
    (episode,) = result["episodes"]
    given = _lines(tmp_path, "log")
    assert episode["ended"] == "done"
    ticks = [line["tick"] for line in given]
    total = sum(line["value"] for line in given)
    assert total == episode["score"] == episode["reward"] > 0
    assert ticks[:-1] == list(range(0, episode["ticks"] - 1, 8))
