"""CloneNetwork: the networks of several nodes imitate a teacher that stands beside them."""

from __future__ import annotations

import errno
import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import MinibrainsError, Run, RunSpec, WorkflowEnv
from minibrains.errors import is_refusal
from nodes.policies.memory import VectorMemory, VectorMemoryBrain
from nodes.policies.vector import VectorPolicy
from tests.support.paths import DATA

PACK = DATA / "teacher_pack.py"
TRAIN = ["memory", "head"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, where trainings and brains are; the game is in the current folder."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    untrained = {"title": "Untrained", "made_by": "a test"}
    VectorMemory.new_brain({"numbers": 2, "hidden": 16}).save(
        Path("memory.safetensors"), **untrained
    )
    config = {"numbers": 16, "actions": 2, "hidden": 16, "layers": 1}
    VectorPolicy.new_brain(config).save(Path("head.safetensors"), **untrained)
    nodes = {
        "game": {"type": "teacher_pack.Cue@1", "in": {"action": "choose.action"}},
        "memory": {
            "type": "VectorMemory@1",
            "in": {"vector": "game.cue"},
            "brain": "memory.safetensors",
        },
        "head": {
            "type": "VectorPolicy@1",
            "in": {"vector": "memory.vector"},
            "brain": "head.safetensors",
        },
        "choose": {"type": "ActionSampler@1", "in": {"logits": "head.logits"}},
        "agree": {
            "type": "Agreement@1",
            "in": {"action": "choose.action", "label": "game.right"},
        },
    }
    Path("cue.json").write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    return tmp_path / "home"


def train(updates: int | None = None, **settings: Any) -> None:
    """Train for some updates, or to the end."""
    usual: dict[str, Any] = {
        "workflow": "cue.json",
        "train": TRAIN,
        "teacher": "game.right",
        "name": "cue",
        "total_timesteps": 160,
        "n_steps": 40,
        "batch_size": 20,
        "learning_rate": 0.01,
        "checkpoint": 1,
    }
    nodes = {"clone": {"type": "CloneNetwork@2", "set": {**usual, **settings}}}
    with Run(RunSpec({"minibrains": 1, "nodes": nodes}, packs=(PACK,), ticks=updates)) as run:
        for _ in run:
            pass


def curve(home: Path, name: str) -> list[str]:
    """Return the rows of training.csv."""
    return (home / f"training/{name}/training.csv").read_text().splitlines()[1:]


def agreement(home: Path, name: str = "cue") -> list[float]:
    """Return the agreement of each update."""
    return [float(row.split(",")[2]) for row in curve(home, name)]


def brain(home: Path, node: str, name: str = "cue") -> Path:
    """Return the file of a brain that was trained."""
    kind = {"memory": "vector_memory", "head": "vector_policy"}[node]
    return home / f"models/{kind}/{name}-{node}.safetensors"


@pytest.mark.slow
def test_it_learns_what_only_a_network_that_remembers_can_tell_and_plays_so(home: Path) -> None:
    train(total_timesteps=2000, n_steps=100, batch_size=50, n_epochs=4)
    shares = agreement(home)
    assert shares[0] < 0.9
    assert shares[-1] == 1.0
    brains = {node: brain(home, node) for node in TRAIN}
    with Run(RunSpec("cue.json", episodes=5, seed=9, brains=brains, packs=(PACK,))) as run:
        played = [episode.row for episode in run]
    assert [row["agreed"] for row in played] == [row["decisions"] for row in played]


def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(home: Path) -> None:
    train(name="whole")
    train(name="parts", updates=2)
    assert len(agreement(home, "parts")) == 2
    train(name="parts")
    assert agreement(home, "whole") == agreement(home, "parts")
    whole, parts = (VectorMemoryBrain.load(brain(home, "memory", of)) for of in ("whole", "parts"))
    for name, array in whole.tensors.items():
        assert np.array_equal(array, parts.tensors[name])


def test_a_network_learns_nothing_from_an_input_that_is_hidden_from_it(home: Path) -> None:
    settings = {"total_timesteps": 800, "n_epochs": 4}
    train(name="shown", **settings)
    train(name="hidden", input_dropout={"game.cue": 1.0}, **settings)
    assert np.mean(agreement(home, "shown")[-10:]) > 0.95
    assert np.mean(agreement(home, "hidden")[-10:]) < 0.75


def test_a_training_with_hidden_inputs_goes_on_as_if_it_had_not_been_stopped(home: Path) -> None:
    hidden = {"game.cue": 0.5}
    train(name="whole", input_dropout=hidden)
    train(name="parts", input_dropout=hidden, updates=2)
    train(name="parts", input_dropout=hidden)
    train(name="shown")
    whole, parts, shown = (curve(home, name) for name in ("whole", "parts", "shown"))
    assert whole == parts != shown


def test_a_full_disk_keeps_the_last_checkpoint(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    train(name="whole")
    train(name="parts", updates=2)
    with monkeypatch.context() as full:
        full.setattr("os.fsync", no_space)
        with pytest.raises(MinibrainsError, match="left on device; the checkpoint of step 80 is"):
            train(name="parts")
    train(name="parts")
    assert agreement(home, "whole") == agreement(home, "parts")


def test_a_node_that_keeps_its_weights_is_not_saved(home: Path) -> None:
    train(freeze=["memory"])
    assert brain(home, "head").exists()
    assert not brain(home, "memory").exists()


def test_other_settings_are_another_training(home: Path) -> None:
    train(updates=1)
    with pytest.raises(
        MinibrainsError, match="another training has this name, with learning_rate "
    ):
        train(learning_rate=0.1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"teacher": "game.wrong"},
            "'game.wrong' is not an output that something reads, outside of",
        ),
        (
            {"teacher": "head.logits"},
            "'head.logits' is not an output that something reads, outside of",
        ),
        ({"freeze": ["hed"]}, "freeze has 'hed'; expected some of train: memory, head"),
        (
            {"freeze": TRAIN},
            "freeze has all of memory, head; expected at least one node that learns",
        ),
        ({"train": ["hed"]}, "the workflow has no node 'hed'"),
        ({"train": ["game"]}, "game .* passes a value from one tick to the next"),
        ({"workflow": "nowhere"}, "there is no such workflow file"),
        ({"brains": {"head": "nowhere"}}, "there is no brain 'nowhere'"),
        (
            {"input_dropout": {"game.que": 0.5}},
            "input_dropout has 'game.que'; expected outputs that the network reads: game.cue",
        ),
        (
            {"input_dropout": {"game.cue": 1.5}},
            "input_dropout has 1.5 for game.cue; expected a share of the batches, 0 to 1",
        ),
        ({"name": "../cue"}, "cannot be the name of a training"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_the_first_tick(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(MinibrainsError, match=message) as error:
        train(**settings)
    assert is_refusal(error.value)


def test_nodes_that_do_not_choose_an_action_are_refused() -> None:
    with pytest.raises(MinibrainsError, match="memory give out Box"):
        train(train=["memory"])
    assert not gc.get_freeze_count(), "the game is still open"


def test_an_environment_tells_what_the_teacher_would_do() -> None:
    env = WorkflowEnv("cue.json", TRAIN, teacher="game.right", packs=[PACK])
    cue, info = env.reset(seed=3)
    told: list[int] = []
    over = False
    while not over:
        told.append(info["teacher"])
        _, _, over, _, info = env.step(0)
    env.close()
    assert told == [int(cue.argmax())] * 5
