"""TrainPPO: a policy gets better by playing, goes on after a stop, and refuses what it cannot."""

from __future__ import annotations

import json
import multiprocessing
import re
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from PIL import Image
from stable_baselines3.common.monitor import load_results

from minibrains import Episode, MinibrainsError, Run, RunSpec
from minibrains.brain_file import read_header
from minibrains.errors import is_refusal
from minibrains.testing import ScratchHost, opened
from nodes.policies.vector import VectorPolicy, VectorPolicyBrain
from nodes.training.ppo import TrainPPO
from nodes.training.ppo_memory import free_memory
from tests.support.walking import write_walk


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, where trainings and brains are."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def walk(tmp_path: Path) -> str:
    """The file of a workflow that rewards each pixel to the right."""
    return write_walk(tmp_path)


def make(walk: str, **settings: Any) -> TrainPPO:
    """Return a node that trains `walk` for a few seconds."""
    usual: dict[str, Any] = {
        "workflow": walk,
        "train": ("head",),
        "name": "walker",
        "reward": "reward.number",
        "n_envs": 4,
        "total_timesteps": 4 * 96 * 8,
        "learning_rate": 3e-3,
        "n_steps": 96,
        "batch_size": 96,
        "n_epochs": 4,
        "checkpoint": 2,
    }
    return TrainPPO(**{**usual, **settings})


SHORT: dict[str, Any] = {"n_steps": 24, "batch_size": 24, "total_timesteps": 4 * 24 * 8}
"""Settings with which each update has one episode of each game, for tests in which nothing need be
learned."""


def train(
    node: TrainPPO, tmp_path: Path, updates: int = 1000, host: ScratchHost | None = None
) -> ScratchHost:
    """Let a node train until it is finished, or for some updates."""
    (tmp_path / "run").mkdir(exist_ok=True)
    with opened(node, host or ScratchHost(tmp_path / "run")) as host:
        node.reset(Episode(0, 0, "node"))
        for _ in range(updates):
            if node.emit().finished:
                break
            node.latch()
    return host


def table(home: Path, name: str = "walker", file: str = "updates.csv") -> dict[str, np.ndarray]:
    """Return the columns of a table of a training."""
    head, *lines = (home / "training" / name / file).read_text().splitlines()
    names = head.split(",")
    rows = np.array([line.split(",") for line in lines], float)
    return dict(zip(names, rows.T, strict=True))


def assert_same_tables(home: Path, one: str, other: str, file: str = "updates.csv") -> None:
    """Assert that two trainings went the same way."""
    columns = table(home, other, file)
    for column, values in table(home, one, file).items():
        assert values.tolist() == columns[column].tolist()


def kept_updates(home: Path) -> list[int]:
    """Return the updates of which the training has checkpoints."""
    updates: list[int] = []
    for folder in sorted((home / "training/walker").glob("update-*")):
        updates.append(int(folder.name.removeprefix("update-")))
    return updates


def brain_of(home: Path, update: int) -> Path:
    """Return the brain of a checkpoint."""
    return home / f"training/walker/update-{update:06d}/head.safetensors"


def trained_weights(host: ScratchHost) -> dict[str, Any]:
    """Return the weights of the brain that a training has saved, as lists."""
    brain = VectorPolicyBrain.load(Path(host.facts["policy"]))
    return {name: array.tolist() for name, array in brain.tensors.items()}


@pytest.mark.slow
def test_it_learns_to_walk_to_the_right(walk: str, home: Path, tmp_path: Path) -> None:
    host = train(make(walk), tmp_path)
    folder = home / "training/walker"

    curves = table(home)
    assert curves["decisions"].tolist() == [4 * 96 * update for update in range(1, 9)]
    rewards = curves["ep_rew_mean"]
    assert rewards[-1] > rewards[0] + 3  # 30 pixels further in four seconds
    assert curves["entropy"][-1] < curves["entropy"][0]

    # a line for each episode that ended, of 24 decisions
    monitor = load_results(str(folder))
    assert len(monitor) == 4 * 96 * 8 // 24
    assert set(monitor["l"]) == {24}
    behavior = (folder / "behavior_metrics.csv").read_text().splitlines()
    assert behavior[0] == "decisions,won,ticks,reward"
    with Image.open(folder / "training_curves.png") as picture:
        assert picture.size == (800, 900)

    # the terms of its reward
    head, *rows = (folder / "reward_breakdown.csv").read_text().splitlines()
    assert head == "episode,ticks,ended,total,reward"
    totals: list[float] = []
    for number, row in enumerate(rows):
        episode, ticks, ended, total, term = row.split(",")
        assert episode == str(number)
        assert ticks == "240"
        assert ended == "limit"
        assert float(total) == float(term)
        totals.append(float(total))
    # the training is told the reward of each decision as float32
    assert np.allclose(totals, monitor["r"], atol=1e-4)

    # the brain
    path = home / "models/vector_policy/walker.safetensors"
    assert host.facts["policy"] == str(path)
    metadata = read_header(path).metadata
    assert json.loads(metadata["environment"])["workflow"] == walk
    assert json.loads(metadata["metrics"])["decisions"] == 4 * 96 * 8
    assert VectorPolicyBrain.load(path).actions == 44


MIDWAY: dict[str, Any] = {"n_steps": 30, "batch_size": 30, "total_timesteps": 4 * 30 * 5}
"""Settings with which updates end in the middle of episodes, which have 24 decisions."""


@pytest.mark.slow
def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(
    walk: str, home: Path, tmp_path: Path
) -> None:
    whole = train(make(walk, name="whole", **MIDWAY), tmp_path)

    train(make(walk, name="parts", **MIDWAY), tmp_path, updates=3)
    second_part = make(walk, name="parts", processes=2, **MIDWAY)
    parts = train(second_part, tmp_path)

    assert parts.messages[0] == "the training parts goes on after update 3"
    assert_same_tables(home, "whole", "parts")
    assert trained_weights(parts) == trained_weights(whole)


@pytest.mark.slow
def test_a_training_that_was_killed_goes_on_from_the_last_checkpoint(
    walk: str, home: Path, tmp_path: Path
) -> None:
    settings = {**MIDWAY, "kl": 0.1, "critic_first": 3}
    whole = train(make(walk, name="whole", **settings), tmp_path)

    checkpoint = home / "training/killed/training.safetensors"
    train(make(walk, name="killed", **settings), tmp_path, updates=2)
    kept = checkpoint.read_bytes()
    train(make(walk, name="killed", **settings), tmp_path, updates=2)
    checkpoint.write_bytes(kept)  # as if it had been killed before these two were kept
    killed = train(make(walk, name="killed", **settings), tmp_path)

    assert killed.messages[0] == "the training killed goes on after update 2"
    assert trained_weights(killed) == trained_weights(whole)
    monitor = load_results(str(home / "training/killed"))
    assert len(monitor) == 4 * (30 * 5 // 24)
    breakdown_of_whole = (home / "training/whole/reward_breakdown.csv").read_text()
    breakdown_of_killed = (home / "training/killed/reward_breakdown.csv").read_text()
    assert breakdown_of_killed == breakdown_of_whole


@pytest.mark.slow
def test_it_does_not_matter_where_the_games_are_played(
    walk: str, home: Path, tmp_path: Path
) -> None:
    train(make(walk, name="here"), tmp_path, updates=2)
    train(make(walk, name="there", processes=2), tmp_path, updates=2)
    assert_same_tables(home, "here", "there")


@pytest.mark.slow
def test_it_stays_near_the_policy_that_it_began_with(walk: str, home: Path, tmp_path: Path) -> None:
    train(make(walk, kl=100.0, name="near", total_timesteps=4 * 96 * 4), tmp_path)
    train(make(walk, name="far", total_timesteps=4 * 96 * 4), tmp_path)
    near = table(home, "near")["entropy"]
    far = table(home, "far")["entropy"]
    assert near[-1] > far[-1] + 0.1


def test_only_the_critic_learns_at_first(walk: str, home: Path, tmp_path: Path) -> None:
    train(make(walk, critic_first=2, checkpoint=1, **SHORT), tmp_path, updates=3)
    weights: list[np.ndarray] = []
    for update in (1, 2, 3):
        brain = VectorPolicyBrain.load(brain_of(home, update))
        weights.append(brain.tensors["output.weight"])
    first, second, third = weights
    assert np.array_equal(first, second)
    assert not np.array_equal(second, third)


@pytest.mark.slow
def test_a_curriculum_goes_on_and_is_remembered(home: Path, tmp_path: Path) -> None:
    walk = write_walk(tmp_path, ticks=60)
    stages = (("Level1.*",), ("Level1.Kaze*",), ("Level1.KazeVsKaze",))
    # any share of wins is enough: 16 episodes in each update, and 100 in a stage
    settings: dict[str, Any] = {
        **SHORT,
        "stages": stages,
        "rise": 0.0,
        "fall": 0.0,
        "n_epochs": 1,
        "checkpoint": 1,
        "total_timesteps": 4 * 24 * 15,
    }

    host = train(make(walk, **settings), tmp_path, updates=8)
    assert host.messages == ["stage 2 of 3"]

    host = train(make(walk, **settings), tmp_path)
    assert "stage 3 of 3" in host.messages
    assert table(home)["stage"].tolist() == [0] * 7 + [1] * 7 + [2]


def test_old_checkpoints_are_removed_but_milestones_last_longer(
    walk: str, home: Path, tmp_path: Path
) -> None:
    few = {"n_steps": 8, "batch_size": 16, "n_epochs": 1, "total_timesteps": 4 * 8 * 24}
    train(make(walk, checkpoint=1, max_checkpoints=6, **few), tmp_path)
    kept = kept_updates(home)
    assert len(kept) == 6
    assert kept[-3:] == [22, 23, 24]


def test_brains_are_kept_only_if_they_are_better(walk: str, home: Path, tmp_path: Path) -> None:
    train(make(walk, checkpoint=1, save="better", **SHORT), tmp_path)
    rewards = table(home)["ep_rew_mean"]
    better: list[int] = []
    for index, reward in enumerate(rewards):
        if reward >= np.nanmax(rewards[: index + 1]):
            better.append(index + 1)
    assert len(rewards) == 8
    assert kept_updates(home) == better


def test_a_loss_that_is_no_number_ends_it(walk: str, tmp_path: Path) -> None:
    with pytest.raises(MinibrainsError, match=r"the loss of update 1 is NaN or infinite"):
        train(make(walk, learning_rate=1e30, **SHORT), tmp_path)


def test_settings_that_make_no_update_are_refused(walk: str) -> None:
    with pytest.raises(
        MinibrainsError, match="expected batch_size, and n_steps times n_envs, from 2 on"
    ):
        make(walk, n_steps=1, n_envs=1).check()
    with pytest.raises(MinibrainsError, match="at least one game for each process"):
        make(walk, processes=5).check()


# -- evaluations -----------------------------------------------------------------------------------

EVALUATED: dict[str, Any] = {
    "evaluation_episodes": 6,
    "evaluation_widgets": {"console.states": ["validation/Level1.*"]},
}


def test_an_evaluation_plays_the_episodes_of_a_run(walk: str, home: Path, tmp_path: Path) -> None:
    train(make(walk, seed=5, **SHORT, **EVALUATED), tmp_path, updates=4)
    evaluations = table(home, file="evaluations.csv")
    assert evaluations["update"].tolist() == [2, 4]
    assert evaluations["decisions"].tolist() == [2 * 4 * 24, 4 * 4 * 24]

    for update, reward in zip((2, 4), evaluations["reward"], strict=True):
        spec = RunSpec(
            walk,
            episodes=6,
            seed=5,
            widgets=EVALUATED["evaluation_widgets"],
            brains={"head": brain_of(home, update)},
        )
        with Run(spec) as run:
            rewards = [episode.row["reward"] for episode in run]
        assert np.mean(rewards) == pytest.approx(reward, abs=1e-4)


def test_a_training_is_the_same_with_evaluations(walk: str, home: Path, tmp_path: Path) -> None:
    few = {**MIDWAY, "total_timesteps": 4 * 30 * 4}
    without = train(make(walk, name="without", **few), tmp_path)
    evaluated = train(make(walk, name="evaluated", **few, **EVALUATED), tmp_path)
    assert trained_weights(evaluated) == trained_weights(without)
    assert_same_tables(home, "without", "evaluated")


@pytest.mark.slow
def test_the_best_evaluation_is_the_result(walk: str, home: Path, tmp_path: Path) -> None:
    settings = {"save": "better", "checkpoint": 1, "learning_rate": 0.05, **SHORT, **EVALUATED}
    host = train(make(walk, **settings), tmp_path)
    rewards = table(home, file="evaluations.csv")["reward"]
    best = int(rewards.argmax()) + 1

    # checkpoints of those evaluations that were better than all before
    better: list[int] = []
    for index, reward in enumerate(rewards):
        if index == 0 or reward > rewards[:index].max():
            better.append(index + 1)
    assert kept_updates(home) == better

    # the result is the best one
    brain = VectorPolicyBrain.load(brain_of(home, best))
    weights = {name: array.tolist() for name, array in brain.tensors.items()}
    assert trained_weights(host) == weights
    metrics = json.loads(read_header(Path(host.facts["policy"])).metadata["metrics"])
    assert metrics["evaluation_reward"] == pytest.approx(rewards.max(), abs=1e-6)
    assert metrics["decisions"] == best * 4 * 24


def test_it_ends_when_evaluations_get_no_better(walk: str, home: Path, tmp_path: Path) -> None:
    settings = {"learning_rate": 1e-12, "checkpoint": 1, "n_epochs": 1, "patience": 2}
    host = train(make(walk, **settings, **SHORT, **EVALUATED), tmp_path)
    assert table(home)["decisions"].tolist() == [4 * 24, 2 * 4 * 24, 3 * 4 * 24]
    assert host.messages[0] == (
        "stopped after update 3: 2 evaluations were no better than that of 96 decisions"
    )
    assert Path(host.facts["policy"]).exists()


class StoppedHost(ScratchHost):
    """A host that stops the first evaluation."""

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        self.stopping = text == "evaluation"


@pytest.mark.slow
def test_an_evaluation_that_was_stopped_is_made_up_for(
    walk: str, home: Path, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {**SHORT, "n_epochs": 1, "total_timesteps": 4 * 24 * 4, **EVALUATED}
    train(make(walk, name="whole", **settings), tmp_path)

    node = make(walk, name="parts", **settings)
    with opened(node, StoppedHost(tmp_path / "run")) as host:
        node.reset(Episode(0, 0, "node"))
        while not host.stopping:
            node.latch()
    train(make(walk, name="parts", **settings), tmp_path)

    assert_same_tables(home, "whole", "parts")
    assert_same_tables(home, "whole", "parts", "evaluations.csv")


@pytest.mark.slow
def test_games_of_an_emulator_are_evaluated_in_processes_of_their_own(
    home: Path, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "workflow": "airstriker_pixels",
        "train": ("head",),
        "name": "pilot",
        "reward": "",
        "n_envs": 1,
        "n_steps": 32,
        "batch_size": 16,
        "n_epochs": 1,
        "total_timesteps": 64,
        "checkpoint": 1,
        "evaluation_episodes": 1,
    }
    with pytest.raises(MinibrainsError, match="a process can have only one emulator"):
        train(make("", **settings), tmp_path)
    train(make("", processes=1, **settings), tmp_path)
    assert len(table(home, "pilot", "evaluations.csv")["reward"]) == 2


# -- memory ----------------------------------------------------------------------------------------

DECISION = 2 * 21 * 4 + 32
"""Bytes of a decision of `walk` in the rollouts: the observation twice, and eight numbers."""


def test_games_that_do_not_fit_are_fewer(
    walk: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as much as now, whatever other programs take meanwhile
    free = free_memory()
    monkeypatch.setattr("nodes.training.ppo_memory.free_memory", lambda: free)
    # rollouts of two games would take more memory than is free, and those of one most of it
    steps = free * 2 // 3 // DECISION // 64 * 64
    node = make(walk, n_envs=2, n_steps=steps, batch_size=64, total_timesteps=2 * steps)
    with opened(node, ScratchHost(tmp_path, stopping=True)) as host:
        node.reset(Episode(0, 0, "node"))
        node.latch()
    assert len(host.messages) == 2
    assert re.match(r"not enough memory: .* GB \(rollouts", host.messages[0])
    assert host.messages[0].endswith("is free; goes on with n_envs 1 in place of 2")
    assert "is needed beside the games" in host.messages[1]  # much, but it fits
    assert host.facts["lowered"] == "n_envs 1 in place of 2"


def test_what_fits_in_no_size_is_refused(walk: str, tmp_path: Path) -> None:
    steps = 4 * psutil.virtual_memory().available // DECISION
    node = make(walk, n_envs=2, n_steps=steps, batch_size=64, total_timesteps=2 * steps)
    with pytest.raises(
        MinibrainsError, match=r"even with batch_size 64 and n_envs 1; set a smaller n_steps"
    ):
        train(node, tmp_path)


@pytest.mark.slow
def test_an_update_that_does_not_fit_is_tried_again_with_a_smaller_batch(
    walk: str, home: Path, tmp_path: Path
) -> None:
    wide = {"numbers": 21, "actions": 44, "hidden": 8192, "layers": 1}
    brain = tmp_path / "wide.safetensors"
    VectorPolicy.new_brain(wide).save(brain, title="Wide", made_by="a test")
    settings: dict[str, Any] = {
        "brains": {"head": str(brain)},
        "n_steps": 256,
        "batch_size": 1024,
        "total_timesteps": 4 * 256,
        "n_epochs": 1,
    }
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        messages = pool.submit(train_in_little_memory, walk, settings, tmp_path).result()
    assert messages[0] == (
        "not enough memory: update 1 did not fit; goes on with batch_size 512 in place of 1024"
    )
    train(make(walk, name="smaller", **{**settings, "batch_size": 512}), tmp_path)
    assert_same_tables(home, "smaller", "little")


class LimitedHost(ScratchHost):
    """A host whose process gets enough memory when it has said that there is not enough."""

    def say(self, text: str) -> None:
        super().say(text)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def train_in_little_memory(walk: str, settings: dict[str, Any], folder: Path) -> list[str]:
    """Train in this process with 80 MB more than it has after a small training; return what is
    said.
    """
    train(
        make(walk, name="first", total_timesteps=64, n_steps=16, batch_size=16, n_epochs=1), folder
    )
    taken = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (taken + 80 * 2**20, resource.RLIM_INFINITY))
    host = LimitedHost(folder)
    train(make(walk, name="little", **settings), folder, host=host)
    return host.messages


# -- known errors and their remedies; those about memory and losses are above ----------------------


def test_a_missing_package_is_named_with_the_command(
    walk: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(MinibrainsError, match=r" pip install .*\[learn\]"):
        train(make(walk), tmp_path)


def test_a_brain_for_other_observations_is_refused_with_both_sizes(
    walk: str, tmp_path: Path
) -> None:
    brain = tmp_path / "other.safetensors"
    config = {"numbers": 20, "actions": 44, "hidden": 8, "layers": 1}
    VectorPolicy.new_brain(config).save(brain, title="Other", made_by="a test")
    with pytest.raises(
        MinibrainsError, match=r"head\.vector.*expected vector f32\[20\], found vector f32\[21\]"
    ):
        train(make(walk, brains={"head": str(brain)}), tmp_path)


def test_a_process_of_games_that_was_killed_is_named_with_the_remedy(
    walk: str, tmp_path: Path
) -> None:
    class KillingHost(ScratchHost):
        """A host that kills the processes of games, as a system without memory does."""

        def progress(self, done: float, total: float | None = None, text: str = "") -> None:
            for child in multiprocessing.active_children():
                child.kill()

    with pytest.raises(
        MinibrainsError, match=r"SIGKILL.*run the workflow again.*fewer environments"
    ):
        train(make(walk, processes=1), tmp_path, host=KillingHost(tmp_path))


def test_a_disk_that_refuses_a_checkpoint_loses_nothing(
    walk: str, home: Path, tmp_path: Path
) -> None:
    blocked = home / "training/walker/update-000002"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where a folder is to be made")
    with pytest.raises(
        MinibrainsError, match=r"cannot be written: .*; the last checkpoint is good"
    ):
        train(make(walk, **SHORT), tmp_path)
    blocked.unlink()
    host = train(make(walk, **SHORT), tmp_path)
    assert host.messages[0] == "the training walker goes on after update 2"


# -- refusals --------------------------------------------------------------------------------------


def test_another_training_of_the_same_name_is_refused(walk: str, tmp_path: Path) -> None:
    train(make(walk, **SHORT), tmp_path, updates=2)
    with pytest.raises(
        MinibrainsError,
        match=r"with learning_rate 0\.003 instead of 0\.001; choose another name",
    ):
        train(make(walk, learning_rate=1e-3, **SHORT), tmp_path, updates=1)


def test_a_damaged_checkpoint_is_refused(walk: str, home: Path, tmp_path: Path) -> None:
    train(make(walk, **SHORT), tmp_path, updates=2)
    file = home / "training/walker/training.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(MinibrainsError, match=r"training\.safetensors cannot be read"):
        train(make(walk, **SHORT), tmp_path, updates=1)


def test_nodes_without_a_network_are_refused(walk: str, tmp_path: Path) -> None:
    with pytest.raises(MinibrainsError, match=r"choose \(ActionSampler\) has no network"):
        train(make(walk, train=("choose",)), tmp_path, updates=1)


def test_a_workflow_with_a_fault_is_refused_with_it(walk: str, tmp_path: Path) -> None:
    with pytest.raises(MinibrainsError, match="the workflow has no node 'haed'") as error:
        train(make(walk, train=("haed",)), tmp_path, updates=1)
    assert is_refusal(error.value), "nothing was played"


def test_states_that_are_held_back_are_refused(walk: str, tmp_path: Path) -> None:
    settings = {"console.states": ["held_back/Level1.*"]}
    with pytest.raises(MinibrainsError, match="held back"):
        train(make(walk, widgets=settings), tmp_path, updates=1)
    evaluated = {"evaluation_episodes": 2, "evaluation_widgets": settings}
    with pytest.raises(MinibrainsError, match="held back"):
        train(make(walk, **evaluated), tmp_path, updates=1)


def test_stopping_early_needs_evaluations(walk: str) -> None:
    with pytest.raises(MinibrainsError, match="there are no evaluations; set evaluation_episodes"):
        make(walk, patience=3).check()


def test_a_name_that_is_no_folder_is_refused(walk: str) -> None:
    with pytest.raises(MinibrainsError, match="cannot be the name of a training"):
        make(walk, name="../walker").check()
