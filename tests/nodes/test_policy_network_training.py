"""The policy network of sf2_policy learns by playing, as a whole and part by part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from sb3_contrib.common.recurrent.type_aliases import RNNStates

from minibrains import MinibrainsError, Run, RunSpec
from minibrains.brain_file import hash_file
from minibrains.files import bundled_dir
from minibrains.training.module import RegionModule, region
from minibrains.training.recurrent import RecurrentRegionPolicy

PARTS = ("encoder", "history", "groups", "times", "head", "value")
LEARNING = ("encoder", "groups", "times", "head", "value")
"""Those that have weights."""
OBSERVATION = Dict({
    "stack/frames": Box(-np.inf, np.inf, (24, 128, 180), np.float32),
    "numbers/vector": Box(-np.inf, np.inf, (21,), np.float32),
    "pressed/buttons": Box(0, 255, (8, 12), np.uint8),
})  # fmt: skip


def policy(*frozen: str, critic: str = "value.number") -> RecurrentRegionPolicy:
    """Return the slim network as a policy, of which some nodes keep their weights."""

    def make_network() -> RegionModule:
        network = region("sf2_policy", PARTS)
        for node in frozen:
            network.network(node).requires_grad_(False)
        return network

    return RecurrentRegionPolicy(
        OBSERVATION, Discrete(57), lambda _: 1e-2, make_network=make_network, critic=critic
    )


def learn(learner: RecurrentRegionPolicy) -> dict[str, dict[str, bool]]:
    """Take a step for four decisions of one game; return which weights of each node it changed."""
    before: dict[str, dict[str, torch.Tensor]] = {}
    for node in LEARNING:
        weights = learner.actor.network(node).state_dict()
        before[node] = {name: tensor.clone() for name, tensor in weights.items()}

    shown = {
        "stack/frames": torch.rand(4, 24, 128, 180),
        "numbers/vector": torch.rand(4, 21),
        "pressed/buttons": torch.randint(0, 2, (4, 8, 12), dtype=torch.uint8),
    }
    zeros = torch.zeros(1, 1, learner.lstm_actor.hidden_size)
    states = RNNStates((zeros, zeros), (zeros, zeros))
    starts = torch.tensor([1.0, 0, 0, 0])
    actions = torch.tensor([1, 20, 33, 56])
    found, likely, _ = learner.evaluate_actions(shown, actions, states, starts)
    assert found.shape == (4, 1)
    learner.optimizer.zero_grad()
    loss: Any = (found - 1).square().mean() - likely.mean()
    loss.backward()
    learner.optimizer.step()

    changed: dict[str, dict[str, bool]] = {}
    for node, weights in before.items():
        after = learner.actor.network(node).state_dict()
        changed[node] = {name: not torch.equal(after[name], old) for name, old in weights.items()}
    return changed


def test_a_step_changes_every_part_and_the_value_is_one() -> None:
    learner = policy()
    changed = learn(learner)
    for node in LEARNING:
        assert all(changed[node].values()), (node, changed[node])
    acting, learning = list(learner.actor.parameters()), list(learner.parameters())
    assert len(acting) == len(learning), "nothing is there twice"


@pytest.mark.parametrize("learner", LEARNING)
def test_one_part_alone_learns(learner: str) -> None:
    frozen = [node for node in PARTS if node != learner]
    changed = learn(policy(*frozen))
    assert all(changed.pop(learner).values())
    for others in changed.values():
        assert not any(others.values())


def test_a_part_that_keeps_its_weights_keeps_them_after_the_critic_was_alone() -> None:
    learner = policy("encoder", critic="")
    learner.let_actor_learn(False)
    for weights in learn(learner).values():
        assert not any(weights.values())
    learner.let_actor_learn(True)
    changed = learn(learner)
    assert not any(changed["encoder"].values())
    assert all(changed["head"].values())


def test_no_unit_is_left_out_while_ppo_compares() -> None:
    learner = policy()
    learner.set_training_mode(True)
    shown = {name: torch.zeros(1, *space.shape or ()) for name, space in OBSERVATION.items()}
    state = learner.actor.initial(1)
    assert torch.equal(learner.actor(shown, state)[0], learner.actor(shown, state)[0])


@pytest.mark.parametrize(
    ("critic", "message"),
    [
        ("value.vector", "is not an output of encoder, history, groups, times, head, value"),
        ("sink.pad", "is not an output of encoder"),
        ("head.logits", r"carries logits f32\[.*\]; expected a number"),
    ],
)
def test_a_critic_that_is_no_number_of_the_region_is_refused(critic: str, message: str) -> None:
    with pytest.raises(MinibrainsError, match=message):
        region("sf2_policy", PARTS).with_output(critic)


# -- TrainPPO --------------------------------------------------------------------------------------


def train(home: Path, **settings: Any) -> None:
    """Let the slim network play and learn for one update."""
    usual = {
        "workflow": "sf2_policy",
        "train": PARTS,
        "critic": "value.number",
        "name": "six",
        "n_envs": 1,
        "total_timesteps": 12,
        "n_steps": 12,
        "batch_size": 6,
        "n_epochs": 1,
        "learning_rate": 1e-3,
    }
    nodes = {"ppo": {"type": "TrainPPO@3", "set": {**usual, **settings}}}
    with Run(RunSpec({"minibrains": 1, "nodes": nodes})) as run:
        for _ in run:
            pass


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, where trainings and brains are."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.slow
def test_an_update_changes_every_part_and_what_it_saves_plays(
    home: Path, minibrains: Callable[..., Any]
) -> None:
    train(home)
    saved = {path.stem.removeprefix("six-"): path for path in (home / "models").rglob("*")}
    untrained = region("sf2_policy", PARTS).brains()
    learned = {node: saved[node] for node in LEARNING}
    trained = region("sf2_policy", PARTS, brains=learned).brains()
    for node in LEARNING:
        for name, array in trained[node].tensors.items():
            assert not np.array_equal(array, untrained[node].tensors[name]), (node, name)
    options = [f"--brain={node}={path}" for node, path in learned.items()]
    done = minibrains("run", "sf2_policy", "--ticks", 20, *options, "--json")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_parts_that_keep_their_weights_are_not_saved(home: Path) -> None:
    models = bundled_dir("models")
    before = {path: hash_file(path) for path in models.glob("*/sf2-slim-untrained.safetensors")}
    train(home, freeze=[node for node in PARTS if node != "head"])
    saved = [path.name for path in (home / "models").rglob("*.safetensors")]
    assert saved == ["six-head.safetensors"]
    assert before == {path: hash_file(path) for path in before}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"critic_first": 3}, "the critic value.number learns with the policy; set critic_first"),
        ({"freeze": ["hed"]}, "freeze has 'hed'; expected some of train: encoder, history"),
        ({"freeze": PARTS}, "expected at least one node that learns"),
        ({"critic": "value.vector"}, "is not an output of encoder, history"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    home: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(MinibrainsError, match=message):
        train(home, **settings)
