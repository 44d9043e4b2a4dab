"""TrainPPO with a policy that remembers;
a script of docs/reinforcement.md learns what others cannot.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import MinibrainsError, Run, RunSpec, TorchNode
from minibrains.hooks import Budget, Hook
from minibrains.training.module import region
from minibrains.training.recurrent import RecurrentRegionPolicy
from minibrains.training.vec_env import WorkflowVecEnv
from nodes.policies.memory import VectorMemory, VectorMemoryBrain
from nodes.policies.vector import VectorPolicy
from tests.support.command import Command
from tests.support.page_scripts import read_scripts

TRAIN = ["memory", "head"]
CONFIGS: dict[str, dict[str, int]] = {
    "memory": {"numbers": 2, "hidden": 16},
    "head": {"numbers": 16, "actions": 2, "hidden": 16, "layers": 1},
}
RESTLESS = {"memory": "restless-memory.safetensors", "head": "restless-head.safetensors"}
"""Brains with which the actions change from tick to tick."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, where trainings and brains are."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The script of the page, whose game in recall.json is in the current folder."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "remember.py"
    file.write_text(read_scripts("reinforcement.md")["remember.py"].text)
    runpy.run_path(str(file))["write_game"](memory=True)
    classes: dict[str, type[TorchNode]] = {"memory": VectorMemory, "head": VectorPolicy}
    for node, cls in classes.items():
        calm = cls.new_brain(CONFIGS[node], seed=1)
        tensors = {name: 8 * array for name, array in calm.tensors.items()}
        restless = type(calm)(tensors, **calm.config)
        restless.save(Path(RESTLESS[node]), title="Restless", made_by="a test")
    return str(file)


def train(pack: str, updates: int | None = None, **settings: Any) -> Run:
    """Train for some updates, or to the end; return the run."""
    usual: dict[str, Any] = {
        "workflow": "recall.json",
        "train": TRAIN,
        "n_envs": 4,
        "total_timesteps": 4 * 15 * 4,
        "n_steps": 15,  # an update ends within an episode, which has six decisions
        "batch_size": 20,
        "n_epochs": 1,
        "learning_rate": 1e-2,
        "checkpoint": 1,
    }
    nodes = {"ppo": {"type": "TrainPPO@3", "set": {**usual, **settings}}}
    run = Run(RunSpec({"minibrains": 1, "nodes": nodes}, packs=(pack,), ticks=updates))
    with run:
        for _ in run:
            pass
    return run


def table(home: Path, name: str, file: str = "updates.csv") -> str:
    """Return a table of a training."""
    return (home / "training" / name / file).read_text()


@pytest.mark.slow
def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(pack: str, home: Path) -> None:
    train(pack, name="whole")
    train(pack, name="parts", updates=2)
    assert len(table(home, "parts").splitlines()) == 1 + 2
    train(pack, name="parts")

    assert table(home, "whole") == table(home, "parts")
    for folder in ("update-000003", "update-000004"):
        brains: list[dict[str, list[float]]] = []
        for name in ("whole", "parts"):
            brain = VectorMemoryBrain.load(home / "training" / name / folder / "memory.safetensors")
            brains.append({name: array.tolist() for name, array in brain.tensors.items()})
        assert brains[0] == brains[1]


def test_an_evaluation_plays_the_episodes_of_a_run(pack: str, home: Path) -> None:
    # so few games play several episodes, one after the other
    train(pack, name="evaluated", evaluation_episodes=9, seed=5, learning_rate=0.1, n_epochs=4)
    head, *rows = table(home, "evaluated", "evaluations.csv").splitlines()
    shares: list[float] = []
    for row in rows:
        values = dict(zip(head.split(","), map(float, row.split(",")), strict=True))
        folder = home / f"training/evaluated/update-{int(values['update']):06d}"
        brains = {name: folder / f"{name}.safetensors" for name in TRAIN}
        spec = RunSpec("recall.json", episodes=9, seed=5, brains=brains, packs=(pack,))
        with Run(spec) as run:
            won = [bool(episode.won) for episode in run]
        assert np.mean(won) == pytest.approx(values["won"])
        shares.append(values["won"])
    assert len(set(shares)) > 1


class Actions(Hook):
    """The actions of each episode of a run, tick by tick."""

    def __init__(self) -> None:
        self.episodes: list[list[int]] = []

    def before_episode(self, run: Run, index: int) -> None:
        self.episodes.append([])

    def between_ticks(self, run: Run) -> Budget:
        action = run.peek("choose.action")
        if action is not None:
            self.episodes[-1].append(action)
        return Budget(ticks=1)


def test_it_plays_as_it_was_trained(pack: str) -> None:
    watch = Actions()
    spec = RunSpec("recall.json", episodes=4, seed=5, brains=RESTLESS, packs=(pack,))
    with Run(spec, [watch]) as run:
        for _ in run:
            pass

    arguments = {"workflow": "recall.json", "train": TRAIN, "brains": RESTLESS, "packs": [pack]}
    games = WorkflowVecEnv(arguments, games=2, processes=0)
    policy = RecurrentRegionPolicy(
        games.observation_space,
        games.action_space,
        lambda _: 0.0,
        make_network=lambda: region("recall.json", TRAIN, brains=RESTLESS, packs=[pack]),
    )
    # one plays the episodes 0 and 1, the other one 2 and 3
    shown = games.go_to(
        [{"seed": 5, "index": index, "states": (), "actions": []} for index in (0, 2)]
    )
    memory, begins = None, np.ones(2, bool)
    actions: list[np.ndarray] = []
    for _ in range(12):
        chosen, memory = policy.predict(shown, memory, begins, deterministic=True)
        actions.append(chosen)
        shown, _, begins, _ = games.step(chosen)
    games.close()

    trained = np.stack(actions, 1).reshape(4, 6).tolist()
    assert trained == [episode[:6] for episode in watch.episodes]
    assert len({tuple(episode) for episode in trained}) > 1
    assert any(len(set(episode)) > 1 for episode in trained)


def test_a_prior_is_refused(pack: str) -> None:
    with pytest.raises(
        MinibrainsError, match=r"kl is 0\.1, and the policy is recurrent.*set kl to 0"
    ):
        train(pack, name="near", kl=0.1)


def test_a_last_batch_of_one_decision_is_refused(pack: str) -> None:
    with pytest.raises(MinibrainsError, match=r"one decision of 60.*a batch_size other than 59"):
        train(pack, name="one", batch_size=59)


def test_a_missing_package_is_named_with_the_command(
    pack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    with pytest.raises(MinibrainsError, match=r"sb3-contrib.* pip install .*\[learn\]"):
        train(pack, name="missing")


def _deaf(brain: VectorMemoryBrain) -> VectorMemoryBrain:
    """Return a memory into which nothing flows."""
    tensors = {name: np.array(array) for name, array in brain.tensors.items()}
    tensors["weight_ih_l0"][:] = 0
    return VectorMemoryBrain(tensors, **brain.config)


def test_the_doctor_looks_for_what_it_remembers(minibrains: Command, pack: str) -> None:
    _deaf(VectorMemoryBrain.load(RESTLESS["memory"])).save(
        Path("deaf.safetensors"), title="Deaf", made_by="a test"
    )
    for memory, sick in ((RESTLESS["memory"], False), ("deaf.safetensors", True)):
        done = minibrains(
            "doctor", "recall.json", "--pack", pack, "--node", "memory", "--node", "head",
            "--brain", f"memory={memory}", "--brain", f"head={RESTLESS['head']}", "--json",
        )  # fmt: skip
        causes = json.loads(done.stdout)["causes"]
        assert ("ignores its input" in causes) == sick, done.stdout
