"""Policies of Stable-Baselines3 become brains that choose the same actions."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.envs import FakeImageEnv

from minibrains import Brain
from nodes.policies.network import PolicyHead, PolicyHeadBrain
from nodes.policies.vector import VectorPolicy, VectorPolicyBrain
from tests.support.command import Command


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of the command."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def choices(node: Any, inputs: np.ndarray) -> np.ndarray:
    """Return the best actions of a node with a network."""
    node.module = node.make_module()
    with torch.inference_mode():
        best: np.ndarray = node.forward(torch.from_numpy(inputs)).argmax(1).numpy()
    return best


def imported(minibrains: Command, model: Any, tmp_path: Path, home: Path, kind: type[Brain]) -> Any:
    """Save a model, import it, and return its brain."""
    model.save(tmp_path / "model")  # it appends .zip
    result = minibrains("import-policy", str(tmp_path / "model"), "mine")
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith(f"  {kind.kind}/mine.safetensors\n")
    return kind.load(home / "models" / kind.kind / "mine.safetensors")


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_an_mlp_policy_chooses_the_same_actions(
    algorithm: Any, minibrains: Command, tmp_path: Path, home: Path
) -> None:
    model = algorithm("MlpPolicy", gymnasium.make("CartPole-v1"), n_steps=64, seed=1, device="cpu")
    model.learn(128)

    brain = imported(minibrains, model, tmp_path, home, VectorPolicyBrain)

    seen = np.random.default_rng(0).normal(size=(1000, 4)).astype(np.float32)
    wanted, _ = model.predict(seen, deterministic=True)
    assert np.array_equal(choices(VectorPolicy(brain=brain), seen), wanted)


def test_a_cnn_policy_chooses_the_same_actions(
    minibrains: Command, tmp_path: Path, home: Path
) -> None:
    env = FakeImageEnv(6, 84, 84, n_channels=4, channel_first=True)
    model = PPO("CnnPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=1, device="cpu")
    model.learn(32)

    brain = imported(minibrains, model, tmp_path, home, PolicyHeadBrain)

    pictures = np.random.default_rng(0).integers(0, 256, (100, 4, 84, 84), np.uint8)
    wanted, _ = model.predict(pictures, deterministic=True)
    seen = pictures.astype(np.float32) / np.float32(255)
    assert np.array_equal(choices(PolicyHead(brain=brain), seen), wanted)


def test_what_is_no_such_policy_is_refused(minibrains: Command, tmp_path: Path) -> None:
    file = tmp_path / "no.zip"
    result = minibrains("import-policy", str(tmp_path / "no"))
    assert result.returncode == 2
    assert f"there is no file {file}; expected one of model.save" in result.stderr

    file.write_bytes(b"no zip")
    assert "is not a model of Stable-Baselines3" in minibrains("import-policy", str(file)).stderr

    with zipfile.ZipFile(file, "w") as empty:
        empty.writestr("data", "{}")
        empty.writestr("policy.pth", b"no weights")
    result = minibrains("import-policy", str(file))
    assert (result.returncode, "policy.pth cannot be read" in result.stderr) == (2, True)

    relu = {"activation_fn": torch.nn.ReLU}
    PPO("MlpPolicy", gymnasium.make("CartPole-v1"), policy_kwargs=relu).save(file)
    assert "expected tanh, the default" in minibrains("import-policy", str(file)).stderr

    widths = {"net_arch": [64, 32]}
    PPO("MlpPolicy", gymnasium.make("CartPole-v1"), policy_kwargs=widths).save(file)
    assert "its hidden layers have [32, 64] units" in minibrains("import-policy", str(file)).stderr

    PPO("MlpPolicy", gymnasium.make("Pendulum-v1")).save(file)
    assert (
        "expected a PPO or A2C model with Discrete actions"
        in minibrains("import-policy", str(file)).stderr
    )


def test_a_brain_is_not_replaced(minibrains: Command, tmp_path: Path) -> None:
    PPO("MlpPolicy", gymnasium.make("CartPole-v1")).save(tmp_path / "mine.zip")
    assert minibrains("import-policy", str(tmp_path / "mine.zip")).returncode == 0
    assert (
        "exists; choose another name"
        in minibrains("import-policy", str(tmp_path / "mine.zip")).stderr
    )
