"""Collecting: what a teacher would do, in a data set, also of runs that are killed or repeated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import Episode, MinibrainsError
from minibrains.errors import DataError
from minibrains.files import bundled_dir
from minibrains.games.catalog import find_game
from minibrains.games.splits import Splits
from minibrains.host import EpisodeStart
from minibrains.testing import ScratchHost, opened, play
from nodes.actions.sink import ActionTable
from nodes.training.data_set import DataSet
from nodes.training.episode_file import NONE, EpisodeInfo, Sample
from nodes.training.writer import SampleWriter
from tests.support.command import Command
from tests.support.timeouts import TIMEOUT

TABLE = ActionTable.load(bundled_dir("models") / "action_table/sf2.safetensors")
START = EpisodeStart("Duel-Genesis", "ab" * 20, "Level4.KazeVsBron", "cd" * 32, 3, {"seed": 9})
DONE = {"ended": "done", "won": True, "drawn": False, "score": 2.0, "ticks": 40}
PICTURE = np.random.default_rng(1).integers(0, 256, (16, 24, 3), np.uint8)
MOMENT: dict[str, Any] = {"picture": PICTURE, "variables": {"hp": 5, "enemy_hp": -1}, "label": 3}
SHORT = ["--ticks", "200"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of commands, for this process as well."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def _everything(name: str) -> list[tuple[EpisodeInfo, Sample]]:
    return list(DataSet.named(name).samples())


def _collect(command: Command, name: str, *options: object) -> dict[str, Any]:
    done = command(
        "run", "duel_collect", "--set", f"writer.name={name}", *SHORT, *options, "--json"
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _ends(result: dict[str, Any]) -> list[str]:
    return [episode["ended"] for episode in result["episodes"]]


def _samples(name: str) -> list[Sample]:
    """Return all samples of a data set."""
    return [sample for _, sample in _everything(name)]


def _host(folder: Path) -> ScratchHost:
    """Return a host of a game that has begun."""
    return ScratchHost(folder, start=START, frame_rate=60.0)


# -- the node


def test_a_sample_is_made_whenever_the_teacher_says_something(tmp_path: Path) -> None:
    node = SampleWriter(name="moments", brain=TABLE)
    data = DataSet.named("moments")
    with opened(node, _host(tmp_path)) as host:
        node.reset(Episode(2, 5, "node"))
        host.tick = 10
        node.tick(**MOMENT, second=7, played=12, actionable=True)
        host.tick = 15
        node.tick(**{**MOMENT, "label": None}, played=4)
        host.tick = 20
        node.tick(**MOMENT)
        assert not data.files(), "an episode is written when it is over"
        node.finish(DONE)

    # the episode
    (info,) = data.episodes()
    assert info.game == "Duel-Genesis"
    assert info.state == "Level4.KazeVsBron"
    assert info.noops == 3
    assert info.written == {"seed": 9}
    assert info.seed == 5
    assert info.episode == 2
    assert info.outcome == "won"
    assert info.samples == 2
    assert info.actions == TABLE.names

    # its samples
    columns = data.read(info)
    assert columns.ticks.tolist() == [10, 20]
    assert columns.actions.tolist() == [3, 3]
    assert columns.second_best.tolist() == [7, NONE]
    assert columns.played.tolist() == [12, NONE]
    assert columns.features.tolist() == [[-1.0, 5.0], [-1.0, 5.0]]
    assert np.array_equal(columns.picture(1), PICTURE)
    assert (data.folder / "README.md").exists()


def _play_prompts(
    node: SampleWriter, host: ScratchHost, episode: int, prompts: Sequence[str | None]
) -> None:
    """Play an episode with a sample for each prompt."""
    host.tick = 0
    node.reset(Episode(episode, 5, "node"))
    for tick, prompt in enumerate(prompts):
        host.tick = tick
        node.tick(**MOMENT, prompt=prompt)


def test_a_sample_keeps_what_a_model_would_be_asked(tmp_path: Path) -> None:
    node = SampleWriter(name="moments", brain=TABLE)
    with opened(node, _host(tmp_path)) as host:
        _play_prompts(node, host, 0, ("Near", "Far"))
        node.finish(DONE)

        # a prompt is missing in one sample, or in all
        _play_prompts(node, host, 1, ("Near", None))
        with pytest.raises(DataError, match="a prompt in all samples"):
            node.finish(DONE)
        with pytest.raises(DataError, match="all have prompts, or none"):
            _play_prompts(node, host, 2, (None,))

    data = DataSet.named("moments")
    (info,) = data.episodes()
    assert info.prompted
    assert data.read(info).prompts == ["Near", "Far"]
    assert data.sample(info.key, 1).prompt == "Far"


def test_a_sample_keeps_how_probable_each_action_was(tmp_path: Path) -> None:
    node = SampleWriter(name="moments", brain=TABLE)
    actions = len(TABLE.names)
    even = np.zeros(actions, np.float32)
    sure = np.where(np.arange(actions) == 1, 30, 0).astype(np.float32)
    with opened(node, _host(tmp_path)) as host:
        node.reset(Episode(0, 5))
        for tick, logits in enumerate((even, sure)):
            host.tick = tick
            node.tick(**MOMENT, logits=logits)
        node.finish(DONE)

    data = DataSet.named("moments")
    (info,) = data.episodes()
    assert info.probabilities
    probabilities = data.read(info).probabilities
    assert np.allclose(probabilities[0], 1 / actions)
    assert np.allclose(probabilities[1], np.eye(actions)[1])


def test_logits_of_another_table_are_refused(tmp_path: Path) -> None:
    node = SampleWriter(name="moments", brain=TABLE)
    with opened(node, _host(tmp_path)):
        node.reset(Episode(0, 5))
        with pytest.raises(MinibrainsError, match=f"of 3 actions, .* has {len(TABLE.names)};"):
            node.tick(**MOMENT, logits=np.zeros(3, np.float32))


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, "won"),
        ({"won": False}, "lost"),
        ({"won": False, "drawn": True}, "drawn"),
        ({"won": None}, "unknown"),
        ({"ended": "limit"}, "unfinished"),
    ],
)
def test_the_outcome_is_the_console_s(tmp_path: Path, change: dict[str, Any], outcome: str) -> None:
    node = SampleWriter(name="moments", brain=TABLE)
    with opened(node, ScratchHost(tmp_path, start=START)):
        play(node, MOMENT)
        node.finish({**DONE, **change})
    assert [info.outcome for info in DataSet.named("moments").episodes()] == [outcome]


def test_an_episode_that_was_stopped_is_left_out(tmp_path: Path) -> None:
    node = SampleWriter(name="moments", brain=TABLE)
    with opened(node, ScratchHost(tmp_path, start=START)):
        play(node, MOMENT)
        node.finish({**DONE, "ended": "stopped"})
        assert not node.is_done(Episode(0, 0, "node"))
    assert not DataSet.named("moments").folder.exists()


def test_an_episode_that_is_there_is_done(tmp_path: Path) -> None:
    node = SampleWriter(name="moments", brain=TABLE)
    with opened(node, ScratchHost(tmp_path, start=START)):
        play(node, MOMENT)
        node.finish(DONE)
        assert node.is_done(Episode(0, 0, "node"))
        assert not node.is_done(Episode(1, 0, "node"))
        assert not node.is_done(Episode(0, 1, "node"))


def test_later_samples_than_the_limit_are_left_out(tmp_path: Path) -> None:
    node = SampleWriter(name="moments", brain=TABLE, limit=2)
    with opened(node, ScratchHost(tmp_path, start=START)) as host:
        node.reset(Episode(0, 0, "node"))
        for tick in range(5):
            host.tick = tick
            node.tick(**MOMENT)
        node.finish(DONE)
    assert [sample.tick for sample in _samples("moments")] == [0, 1]


def test_what_began_before_the_node_was_there_is_left_out(tmp_path: Path) -> None:
    node = SampleWriter(name="moments", brain=TABLE)
    with opened(node, ScratchHost(tmp_path, start=START, tick=7)) as host:
        play(node, MOMENT)
        node.finish(DONE)
    assert host.messages == [
        "episode 1 is not in the data set: this node was not there from its beginning"
    ]
    assert not DataSet.named("moments").folder.exists()


def test_a_data_set_of_another_action_table_is_refused(tmp_path: Path) -> None:
    first = SampleWriter(name="moments", brain=TABLE)
    with opened(first, ScratchHost(tmp_path, start=START)):
        play(first, MOMENT)
        first.finish(DONE)

    other = ActionTable.load(bundled_dir("models") / "action_table/airstriker.safetensors")
    second = SampleWriter(name="moments", brain=other)
    refused = pytest.raises(DataError, match=r"has another action table.*of another name")
    with opened(second, ScratchHost(tmp_path, start=START)), refused:
        second.reset(Episode(1, 0, "node"))


def test_without_a_console_there_is_a_sentence(tmp_path: Path) -> None:
    node = SampleWriter(name="moments", brain=TABLE)
    with opened(node, ScratchHost(tmp_path)):
        play(node, MOMENT)
        with pytest.raises(Exception, match="nothing says how the episode began"):
            node.finish(DONE)


def test_a_name_that_is_no_folder_is_refused() -> None:
    with pytest.raises(DataError, match="cannot be the name of a data set"):
        SampleWriter(name="a/b", brain=TABLE).check()


# -- real games


def test_the_shipped_workflow_collects_from_training_states(minibrains: Command) -> None:
    result = _collect(minibrains, "duel", "--episodes", "2")
    assert _ends(result) == ["limit", "limit"]

    data = DataSet.named("duel")
    splits = Splits.named("Duel-Genesis")
    assert splits is not None
    episodes = data.episodes("Duel-Genesis", TABLE.names)
    for info, row in zip(episodes, result["episodes"], strict=True):
        # where it came from
        assert info.state_sha256 == splits.parts["training"][info.state]
        level = int(info.state.removeprefix("Level")[0])
        assert 2 <= level <= 7
        start = row["start"]
        assert info.state == start["state"]
        assert info.noops == start["noops"]
        assert info.written == start["write"]
        assert info.trajectory_sha256 == row["trajectory_sha256"]
        assert info.workflow == "duel_collect"
        assert info.outcome == "unfinished"
        assert info.command.startswith("python -m server run duel_collect --set writer.name=duel")

        # when samples were taken
        columns = data.read(info)
        assert columns.ticks[0] == 0
        assert set(columns.ticks.tolist()) < set(range(0, 200, 10))
        assert (columns.actionable == 1).all(), "only moments in which an action has an effect"
        decided = columns.ticks[columns.played != NONE]
        assert (decided % 30 == 0).all()

        # their pictures: seven and three ticks before, and now, one below the other
        first = np.split(columns.picture(0), 3)
        later = np.split(columns.picture(len(columns) - 1), 3)
        assert first[0].shape == (224, 320, 3)
        assert np.array_equal(first[0], first[2])
        assert not np.array_equal(later[0], later[2])

        # their features
        column = info.features.index("enemy_level")
        assert columns.features[0, column] == level


def test_two_runs_add_up_and_none_is_played_twice(minibrains: Command) -> None:
    first = _collect(minibrains, "duel", "--episodes", "2")
    assert _ends(first) == ["limit", "limit"]
    with_other_seed = _collect(minibrains, "duel", "--episodes", "2", "--seed", "1")
    assert _ends(with_other_seed) == ["limit", "limit"]
    before = _everything("duel")
    assert len({info.key for info, _ in before}) == 4

    again = _collect(minibrains, "duel", "--episodes", "3")
    assert _ends(again) == ["skipped", "skipped", "limit"]
    assert [episode["ticks"] for episode in again["episodes"]] == [0, 0, 200]

    after = _everything("duel")
    for sample in before:
        assert sample in after
    assert len({info.key for info, _ in after}) == 5
    moments = {(info.key, sample.tick) for info, sample in after}
    assert len(moments) == len(after)


def test_another_workflow_is_another_episode(minibrains: Command) -> None:
    _collect(minibrains, "duel", "--episodes", "1")
    changed = _collect(minibrains, "duel", "--episodes", "1", "--set", "noise.probability=1.0")
    assert _ends(changed) == ["limit"]
    first, second = DataSet.named("duel").episodes()
    assert first.workflow_sha256 != second.workflow_sha256


@pytest.mark.slow
def test_several_workers_collect_the_same(minibrains_process: Command) -> None:
    _collect(minibrains_process, "one", "--episodes", "3")
    result = _collect(minibrains_process, "two", "--episodes", "3", "--workers", "2")
    assert _ends(result) == ["limit"] * 3
    assert _samples("two") == _samples("one")
    card = (DataSet.named("two").folder / "README.md").read_text()
    assert "| episodes | 3, 3 distinct |" in card

    again = _collect(minibrains_process, "two", "--episodes", "3", "--workers", "2")
    assert _ends(again) == ["skipped"] * 3


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_stopped(
    minibrains_process: Command, tmp_path: Path, home: Path
) -> None:
    collect = ["duel_collect", "--ticks", "300"]
    into_killed = ["--set", "writer.name=killed"]
    data = DataSet.named("killed")

    # a run that is killed once it has written two episodes
    process = subprocess.Popen(
        [sys.executable, "-m", "server", "run", *collect, "--episodes", "1000", *into_killed],
        cwd=tmp_path,
        env={**os.environ, "MINIBRAINS_HOME": str(home)},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + TIMEOUT
    while len(data.files()) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(data.files())
    assert kept >= 2
    total = kept + 4
    episodes = [*collect, "--episodes", str(total)]
    for info, _ in _everything("killed"):
        assert info.ticks == 300, "whatever is there is complete"
    before = _samples("killed")

    # it goes on
    done = minibrains_process("run", *episodes, *into_killed, "--json")
    assert done.returncode == 0, done.stderr
    assert _ends(json.loads(done.stdout)) == ["skipped"] * kept + ["limit"] * (total - kept)
    after = _samples("killed")
    assert after[: len(before)] == before

    # the same as without being killed
    whole = minibrains_process("run", *episodes, "--set", "writer.name=whole")
    assert whole.returncode == 0
    assert after == _samples("whole")


def test_held_back_states_are_refused_before_anything_is_played(minibrains: Command) -> None:
    refused = minibrains(
        "run", "duel_collect", "--set", 'console.states=["held_back/Level4.*"]', *SHORT
    )
    assert refused.returncode == 2
    assert "writer collects or trains, and the state" in refused.stderr
    assert "is held back by" in refused.stderr
    assert not DataSet.named("duel").folder.exists()


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ("trainig/Level4.*", "Duel-Genesis has no split 'trainig'; expected training, validation"),
        ("training/Level99.*", "no state of the split 'training' matches 'Level99.*'; it has"),
    ],
)
def test_a_selection_of_no_states_is_a_sentence(
    minibrains: Command, states: str, message: str
) -> None:
    refused = minibrains("check", "duel_collect", "--set", f'console.states=["{states}"]')
    assert refused.returncode == 2
    assert message in refused.stderr


def test_a_game_without_splits_has_none_to_select(minibrains: Command) -> None:
    refused = minibrains("check", "airstriker_random", "--set", 'console.states=["training/*"]')
    assert refused.returncode == 2
    assert "names a split, but" in refused.stderr
    assert Splits.of(find_game(("Airstriker-Genesis-v0",))) is None


@pytest.mark.slow
def test_an_evaluation_adds_nothing(minibrains: Command, home: Path) -> None:
    options = ["--states", "training/Level4.KazeVsBron", "--episodes", "1", "--ticks", "60"]
    done = minibrains("evaluate", "duel_collect", *options, "--out", home / "out")
    assert done.returncode == 0, done.stderr
    assert (
        "writer was left out, because an evaluation adds no episodes to a data set" in done.stdout
    )
    assert not DataSet.named("duel").folder.exists()


def test_frames_of_the_recent_past_are_one_picture(minibrains: Command, tmp_path: Path) -> None:
    workflow = json.loads((bundled_dir("workflows") / "duel_collect.json").read_text())
    del workflow["nodes"]["picture"]
    workflow["nodes"]["recent"] = {
        "type": "RecentFrames@1",
        "in": {"frame": "console.frame", "now": "moments.now"},
    }
    workflow["nodes"]["writer"]["in"]["picture"] = "recent.stacked"
    (tmp_path / "stacked.json").write_text(json.dumps(workflow))

    done = minibrains("run", tmp_path / "stacked.json", "--episodes", "1", "--ticks", "60")
    assert done.returncode == 0, done.stderr

    data = DataSet.named("duel")
    columns = data.read(data.episodes()[0])
    first, later = columns.picture(0), columns.picture(3)
    assert first.shape == (3 * 224, 320, 3)
    assert later.shape == (3 * 224, 320, 3)
    assert np.array_equal(first[:224], first[448:]), "the first picture stands for missing ones"


def test_without_pyarrow_there_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    node = SampleWriter(name="moments", brain=TABLE)
    with pytest.raises(DataError, match=r"pyarrow, which is missing; .* pip install .*\[learn\]"):
        node.open(ScratchHost(tmp_path))
