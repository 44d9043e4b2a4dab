"""The command `doctor`: it plays, names what was planted in a brain, and writes a report."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from minibrains.doctor.evidence import Buttons
from minibrains.doctor.network import Network
from minibrains.doctor.watch import Watch, find_logits
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from minibrains.training.module import region
from nodes.actions.sink import ActionTable
from nodes.doctor import examination
from nodes.fighting.features import FightVectorBrain
from nodes.policies.buttons import (
    DIRECTIONS,
    ButtonCalibration,
    ButtonHead,
    ButtonHeadBrain,
)
from nodes.policies.vector import VectorPolicy, VectorPolicyBrain
from nodes.training.clone_buttons import presses_by_action
from nodes.training.data_set import DataSet
from nodes.training.episode_file import Sample, encode_picture
from tests.support.command import Command
from tests.support.data_sets import INFO
from tests.support.paths import ROOT

TABLE = ActionTable.load(ROOT / "models/action_table/sf2.safetensors")
QUICK = {"clock.ticks": 5, "before.ticks": 5, "before.offset": 1}
"""Widgets of duel_vector with which it decides six times as often, so that a test is short."""
TICKS = 2500
LATE = ("--set", "clock.ticks=300", "--set", "clock.offset=200")
BLOCK = re.compile(r"^```python (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = dict(BLOCK.findall((ROOT / "docs/doctor.md").read_text()))
"""The scripts of the page, by name."""
Weights = dict[str, np.ndarray]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of commands, for this process as well."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


Doctor = Callable[..., dict[str, Any]]


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write no report, because to draw its figures takes a second."""
    monkeypatch.setattr(examination, "write_report", lambda *arguments: [])


@pytest.fixture
def doctor(minibrains: Command) -> Doctor:
    """Examine the policy of duel_vector, and return the diagnosis."""

    def examine(brain: Path | str, *arguments: object, episodes: int = 1) -> dict[str, Any]:
        widgets: list[str] = []
        for name, value in QUICK.items():
            widgets += ["--set", f"{name}={value}"]
        done = minibrains(
            "doctor", "duel_vector", "--node", "head", "--brain", f"head={brain}", *widgets,
            "--ticks", TICKS, "--episodes", episodes, "--json", *arguments,
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        diagnosis: dict[str, Any] = json.loads(done.stdout)
        assert diagnosis["sick"] == bool(done.returncode)
        return diagnosis

    return examine


def _plant(path: Path, change: Callable[[Weights], None]) -> Path:
    """Save the shipped brain with changed weights."""
    original = VectorPolicyBrain.load(ROOT / "models/vector_policy/duel.safetensors")
    weights = {name: np.array(tensor) for name, tensor in original.tensors.items()}
    change(weights)
    brain = VectorPolicyBrain(weights, **original.config)
    brain.save(path, title="Sick", made_by="a test", environment={"workflow": "duel_vector"})
    return path


def _pressing(*buttons: str) -> np.ndarray:
    """The actions that press one of these buttons: bool [actions]."""
    columns = [name in buttons for name in TABLE.buttons]
    pressing = np.zeros(len(TABLE.names), bool)
    for action in range(len(TABLE.names)):
        rows = TABLE.rows[TABLE.starts[action] : TABLE.starts[action + 1]]
        pressing[action] = rows[:, columns].any()
    return pressing


def always_none(weights: Weights) -> None:
    weights["output.bias"][TABLE.names.index("none")] += 100


def nearly_uniform(weights: Weights) -> None:
    weights["output.weight"] *= 0.02
    weights["output.bias"] *= 0.02


def ignores_its_input(weights: Weights) -> None:
    weights["hidden1.weight"] *= 1e-6


def dead_gradients(weights: Weights) -> None:
    weights["hidden2.bias"] += 1000


def stuck(weights: Weights) -> None:
    weights["output.bias"][TABLE.names.index("forward")] += 100


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("plant", "cause"),
    [
        (always_none, "never presses"),
        (nearly_uniform, "nearly uniform"),
        (ignores_its_input, "ignores its input"),
        (dead_gradients, "dead gradients"),
        (stuck, "stuck in one action"),
    ],
)
def test_what_was_planted_in_a_brain_is_named(
    plant: Callable[[Weights], None], cause: str, doctor: Doctor, tmp_path: Path
) -> None:
    diagnosis = doctor(_plant(tmp_path / "sick.safetensors", plant))
    assert diagnosis["causes"][0] == cause, diagnosis["verdict"]


@pytest.mark.usefixtures("undrawn")
def test_the_policy_of_the_documentation_that_never_attacks_is_named(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(EXAMPLES["silent.py"], {})
    diagnosis = doctor(tmp_path / "silent.safetensors")
    assert diagnosis["causes"][0] == "never presses", diagnosis["verdict"]


def test_the_example_for_buttons_prints_what_the_page_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(EXAMPLES["buttons.py"], {})
    assert capsys.readouterr().out == "never presses\n"


@pytest.mark.usefixtures("undrawn")
def test_an_untrained_network_is_called_nearly_uniform(doctor: Doctor) -> None:
    diagnosis = doctor("vector_policy/duel-untrained.safetensors")
    assert diagnosis["causes"][0] == "nearly uniform", diagnosis["verdict"]


@pytest.mark.usefixtures("undrawn")
def test_another_encoding_than_that_of_the_training_is_shown_as_a_difference(
    doctor: Doctor, tmp_path: Path
) -> None:
    original = FightVectorBrain.load(ROOT / "models/fight_vector/duel.safetensors")
    names = list(original.names)
    names[0], names[1] = names[1], names[0]
    other = tmp_path / "other.safetensors"
    FightVectorBrain(dict(original.tensors), names=tuple(names)).save(
        other, title="Other", made_by="a test"
    )
    brain = "vector_policy/duel.safetensors"
    diagnosis = doctor(brain, "--brain", f"vector={other}")
    assert diagnosis["causes"][0] == "mismatched encodings", diagnosis["verdict"]
    assert "FightVector.brain is " in diagnosis["verdict"]


# -- healthy ones


def test_the_shipped_network_is_healthy_and_its_report_is_complete(doctor: Doctor) -> None:
    diagnosis = doctor("vector_policy/duel.safetensors", "--variable", "agent_status")
    assert diagnosis["verdict"].startswith("Healthy"), diagnosis["verdict"]
    page, picture = map(Path, diagnosis["files"])
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = page.read_text()
    assert diagnosis["verdict"] in text
    assert 'src="data:' in text
    assert "http" not in text, "it needs no other file"
    assert (page.parent / "episodes.jsonl").exists(), "it is in the folder of the run"


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    "policy",
    [
        "sf2_pixels --node head",
        "sf2_policy --node encoder --node history --node groups --node times --node head",
        "sf2_vector --node head --brain vector=fight_vector/sf2.safetensors "
        "--brain head=vector_policy/fight.safetensors",
        "duel_combos --node head --brain head=vector_policy/combos.safetensors",
    ],
)
def test_the_other_shipped_policies_are_healthy(policy: str, minibrains: Command) -> None:
    examined = minibrains("doctor", *policy.split(), "--json")
    verdict = json.loads(examined.stdout)["verdict"]
    assert verdict.startswith("Healthy"), verdict


def _behaviour() -> tuple[torch.Tensor, torch.Tensor]:
    """What the shipped network sees in some decisions of two matches, and its best actions."""
    brain = ROOT / "models/vector_policy/duel.safetensors"
    spec = RunSpec("duel_vector", episodes=2, ticks=TICKS, widgets=QUICK, brains={"head": brain})
    registry, _ = spec.load_node_types()
    graph = spec.check(spec.load_workflow(), registry).with_region(["head"], None)
    assert graph.region is not None
    network = Network(region("duel_vector", ["head"], brains=spec.brains), "head/logits")
    buttons = Buttons.alone(TABLE.names)
    watch = Watch(graph.region, network, find_logits(graph, ["head"]), buttons, None, 0)
    with Run(spec, [watch], registry=registry) as run:
        for _ in run:
            pass
    (vectors,) = watch.selection.latest.values()
    shown = torch.from_numpy(vectors)
    teacher: Any = VectorPolicy(brain=VectorPolicyBrain.load(brain))
    teacher.module = teacher.make_module()
    with torch.no_grad():
        return shown, teacher.forward(shown).argmax(1)


def _clone(path: Path, shown: torch.Tensor, labels: torch.Tensor, seed: int) -> Path:
    """Train a small network to do the same."""
    config = {"numbers": shown.shape[1], "actions": len(TABLE.names), "hidden": 32, "layers": 1}
    node: Any = VectorPolicy(brain=VectorPolicy.new_brain(config, seed))
    node.module = module = node.make_module()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(150):
        loss = functional.cross_entropy(node.forward(shown), labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    node.brain_of(module).save(path, title="Small", made_by="a test")
    return path


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_ten_small_networks_that_learned_from_the_shipped_one_are_healthy(
    doctor: Doctor, tmp_path: Path
) -> None:
    shown, labels = _behaviour()
    for seed in range(10):
        brain = _clone(tmp_path / f"small-{seed}.safetensors", shown, labels, seed)
        diagnosis = doctor(brain, "--seed", seed)
        assert not diagnosis["sick"], diagnosis["verdict"]


# -- beside a data set


def _write_data(*, without: str = "") -> str:
    """Write a data set in which all actions are labelled, but those that press one button."""
    pressing = _pressing(without)
    actions = [action for action in range(len(TABLE.names)) if not pressing[action]]
    picture = encode_picture(np.zeros((4, 4, 3), np.uint8))
    data = DataSet.named("taught")
    rng = np.random.default_rng(0)
    for number in range(2):
        samples: list[Sample] = []
        for row in range(400):
            action = int(rng.choice(actions))
            samples.append(Sample(row, picture, action, None, None, True, {"hp": 1.0}))
        info = replace(INFO, actions=TABLE.names, features=("hp",), samples=400, episode=number)
        data.write(info, samples)
    return data.folder.name


@pytest.mark.usefixtures("undrawn")
def test_a_button_that_the_data_does_not_show_is_named(doctor: Doctor) -> None:
    data = _write_data(without="UP")
    diagnosis = doctor("vector_policy/duel.safetensors", "--data", data)
    assert diagnosis["causes"][0] == "unused in the data", diagnosis["verdict"]
    assert "the data has UP in 0 of 800 samples" in diagnosis["verdict"]


@pytest.mark.usefixtures("undrawn")
def test_a_button_that_the_policy_has_not_learned_is_named(doctor: Doctor, tmp_path: Path) -> None:
    def never_up(weights: Weights) -> None:
        weights["output.bias"][_pressing("UP")] -= 100

    brain = _plant(tmp_path / "sick.safetensors", never_up)
    diagnosis = doctor(brain, "--data", _write_data())
    assert diagnosis["causes"][0] == "unused by the policy", diagnosis["verdict"]
    assert "the data has UP in" in diagnosis["verdict"]


# -- bad input


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["duel_vector", "--node", "choose"], "outputs with logits"),
        (["duel_vector", "--node", "gate"], "the policy's nodes: gate has 0 outputs with logits"),
        (["duel_vector", "--node", "hed"], "the policy's nodes: the workflow has no node 'hed'"),
        (["duel_vector", "--node", "head", "--mute", "head"], "head is muted or bypassed"),
        (["duel_vector"], "the following arguments are required: --node"),
        (["duel_vector", "--node", "head", "--data", "nothing"], "has no episodes"),
        (["duel_vector", "--node", "head", "--variable", "mood", "--ticks", 50], "no variable"),
        (
            ["duel_vector", "--node", "head", "--ticks", 50, "--episodes", 1, *LATE],
            "made no decision",
        ),
    ],
)
def test_a_wrong_request_is_refused_in_a_sentence(
    arguments: list[object], sentence: str, minibrains: Command
) -> None:
    done = minibrains("doctor", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


# -- as a node


def test_the_node_leaves_its_report_in_the_run_folder_and_shows_it(
    tmp_path: Path, minibrains: Command
) -> None:
    untrained = {"head": "vector_policy/duel-untrained.safetensors"}
    nodes = {
        "doctor": {
            "type": "PolicyDoctor@1",
            "set": {"workflow": "duel_vector", "brains": untrained, "episodes": 2, "ticks": TICKS},
        },
        "figures": {"type": "Preview@2", "in": {"value": "doctor.picture"}},
    }
    file = tmp_path / "look.json"
    file.write_text(json.dumps({"minibrains": 1, "run": {"ticks": 100}, "nodes": nodes}))
    done = minibrains("run", file, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    (episode,) = summary["episodes"]
    folder = Path(summary["run_dir"])
    assert episode["doctor"]["causes"][0] == "nearly uniform", episode["doctor"]["verdict"]
    assert episode["doctor"]["verdict"] in (folder / "doctor.html").read_text()
    assert (folder / "doctor.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "figures.png").read_bytes().startswith(b"\x89PNG"), "the editor shows it"


# -- policies with buttons


BUTTONS = TABLE.relative_buttons


def _write_buttons(folder: Path, bias: float, thresholds: float) -> str:
    """Write a workflow with a policy of random weights that sees the screen, and its brains.

    Args:
        folder: The folder.
        bias: Of the logits of all buttons but the directions.
        thresholds: The probability above which a button is pressed.
    """
    config = {
        "buttons": BUTTONS,
        "channels": 4,
        "height": 21,
        "width": 21,
        "hidden": 32,
        "convolutions": ((8, 4, 2),),
    }
    brain = ButtonHead.new_brain(config)
    weights = {name: np.array(tensor) for name, tensor in brain.tensors.items()}
    weights["output.weight"] *= 20  # it is sure of what it does
    for row, button in enumerate(BUTTONS):
        weights["output.bias"][row] = 0.0 if button in DIRECTIONS else bias
    ButtonHeadBrain(weights, **brain.config).save(
        folder / "head.safetensors", title="Buttons", made_by="a test"
    )
    of_each = dict.fromkeys(BUTTONS, thresholds) | dict.fromkeys(DIRECTIONS, 0.5)
    ButtonCalibration(
        buttons=BUTTONS,
        thresholds=tuple(of_each[button] for button in BUTTONS),
        bias=(0.0,) * len(BUTTONS),
    ).save(folder / "calibration.safetensors", title="Buttons", made_by="a test")
    clock = {"every": 4}
    nodes: dict[str, Any] = {
        "console": {
            "type": "RetroEmulator@3",
            "set": {"game": "Duel-Genesis", "noop_max": 30},
            "in": {"pad1": "press.pad"},
        },
        "features": {"type": "GameFeatures@1", "in": {"variables": "console.variables"}},
        "grey": {"type": "Grayscale@1", "in": {"frame": "console.frame"}, **clock},
        "small": {
            "type": "Resize@1",
            "set": {"width": 21, "height": 21},
            "in": {"frame": "grey.frame"},
        },
        "stack": {
            "type": "FrameStack@1",
            "in": {"frame": "small.frame"},
            "brain": "frame_stack/grey4.safetensors",
            **clock,
        },
        "head": {
            "type": "ButtonHead@1",
            "in": {"frames": "stack.frames"},
            "brain": "head.safetensors",
            **clock,
        },
        "press": {
            "type": "ButtonSampler@1",
            "set": {"hold": 2},
            "in": {"logits": "head.button_logits", "facing": "features.facing"},
            "brain": "calibration.safetensors",
        },
    }
    file = folder / "buttons.json"
    file.write_text(json.dumps({"minibrains": 1, "run": {"ticks": 1700}, "nodes": nodes}))
    return str(file)


@pytest.mark.slow
def test_the_data_set_of_a_policy_with_buttons_is_read(minibrains: Command, tmp_path: Path) -> None:
    workflow = _write_buttons(tmp_path, 0.0, 0.5)
    path = tmp_path / "head.safetensors"
    brain = ButtonHeadBrain.load(path)
    brain.save(path, title="Buttons", made_by="a test", presses=presses_by_action(TABLE))
    data = _write_data()
    done = minibrains("doctor", workflow, "--node", "head", "--data", data, "--json")
    assert done.returncode in (0, 1), done.stderr
    findings = json.loads(done.stdout)["findings"]
    assert any("the data" in finding["text"] for finding in findings)


@pytest.mark.slow
def test_what_was_trained_together_is_no_other_encoding(
    minibrains: Command, tmp_path: Path
) -> None:
    sizes = ("total_timesteps=32", "n_steps=16", "n_envs=2", "batch_size=16", "n_epochs=1")
    settings: list[str] = []
    for setting in sizes:
        settings += ["--set", f"ppo.{setting}"]
    done = minibrains("run", "sf2_policy_train", *settings, "--set", "ppo.name=together")
    assert done.returncode == 0, done.stderr
    kinds = {
        "encoder": "frame_encoder",
        "groups": "cross_attention",
        "times": "temporal_attention",
        "head": "action_head",
        "value": "value_head",
    }
    brains: list[str] = []
    for node, kind in kinds.items():
        brains += ["--brain", f"{node}={kind}/together-{node}.safetensors"]
    short = ("--ticks", 300, "--episodes", 1, "--json")
    examined = minibrains("doctor", "sf2_policy", "--node", "head", *brains, *short)
    assert "mismatched encodings" not in json.loads(examined.stdout)["causes"], examined.stdout


@pytest.mark.slow
def test_whatever_feeds_a_network_of_several_nodes_is_compared(
    minibrains: Command, tmp_path: Path
) -> None:
    original = FightVectorBrain.load(ROOT / "models/fight_vector/sf2.safetensors")
    names = [*original.names[1:], original.names[0]]
    other = tmp_path / "other.safetensors"
    FightVectorBrain(dict(original.tensors), names=tuple(names)).save(
        other, title="Other", made_by="a test"
    )
    nodes: list[str] = []
    for node in ("encoder", "history", "groups", "times", "head"):
        nodes += ["--node", node]
    short = ("--ticks", 400, "--episodes", 1, "--json")
    examined = minibrains("doctor", "sf2_policy", *nodes, "--brain", f"numbers={other}", *short)
    verdict = json.loads(examined.stdout)["verdict"]
    assert verdict.startswith("Sick: mismatched encodings"), verdict
    assert "FightVector.brain is " in verdict


def test_a_brain_that_was_changed_in_training_is_no_other_encoding(
    minibrains: Command, tmp_path: Path
) -> None:
    vector = "fight_vector/sf2.safetensors"
    begin = tmp_path / "begin.safetensors"
    shutil.copy(ROOT / "models/vector_policy/fight-untrained.safetensors", begin)
    brains = {"vector": vector, "head": str(begin)}
    settings = [
        "name=told-less", f"brains={json.dumps(brains)}",
        "total_timesteps=32", "n_steps=16", "n_envs=2", "batch_size=16", "n_epochs=1",
    ]  # fmt: skip
    arguments: list[str] = []
    for setting in settings:
        arguments += ["--set", f"ppo.{setting}"]
    done = minibrains("run", "duel_ppo", *arguments)
    assert done.returncode == 0, done.stderr
    begin.unlink()

    examined = minibrains(
        "doctor", "duel_vector", "--node", "head",
        "--brain", f"vector={vector}", "--brain", "head=vector_policy/told-less.safetensors",
        "--ticks", 300, "--episodes", 1, "--json",
    )  # fmt: skip
    findings = {finding["test"]: finding for finding in json.loads(examined.stdout)["findings"]}
    assert findings["encodings of training and play"]["status"] == "healthy"


def test_a_broken_brain_is_named(minibrains: Command, tmp_path: Path) -> None:
    def break_it(weights: Weights) -> None:
        weights["output.bias"][0] = np.nan

    brain = _plant(tmp_path / "sick.safetensors", break_it)
    done = minibrains(
        "doctor", "duel_vector", "--node", "head", "--brain", f"head={brain}", "--ticks", 300
    )
    assert done.returncode == 2
    assert "head gave NaN or infinity in" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("thresholds", "cause"), [(0.5, "never presses"), (0.0001, None)], ids=["silent", "calibrated"]
)
def test_a_policy_whose_buttons_never_reach_their_thresholds_is_named(
    thresholds: float, cause: str | None, minibrains: Command, tmp_path: Path
) -> None:
    workflow = _write_buttons(tmp_path, -8.0, thresholds)
    done = minibrains("doctor", workflow, "--node", "head", "--episodes", 1, "--json")
    assert done.returncode in (0, 1), done.stderr
    diagnosis = json.loads(done.stdout)
    assert ("never presses" in diagnosis["causes"]) == (cause is not None), diagnosis["verdict"]
    assert "A is used" in [finding["test"] for finding in diagnosis["findings"]]
    page, _ = map(Path, diagnosis["files"])
    assert "it presses with a probability of" in page.read_text()
