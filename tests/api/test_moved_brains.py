"""Brains in shipped folders that were renamed: workflows,
command lines and tapes may have the former names.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minibrains import Brain, RunSpec
from minibrains.brain_file import hash_file
from minibrains.files import bundled_dir
from minibrains.tape.tape import Event
from nodes.language.lora import LoraAdapter
from nodes.language.prompt import PromptTemplate
from server.cli import main
from tests.support.command import Command
from tests.support.rewritten_tape import rewrite_tape

MODELS = bundled_dir("models")
MOVED = {
    "lora": ("lora/sf2-untrained.safetensors", MODELS / "lora_adapter/sf2-untrained.safetensors"),
    "prompt": ("prompt/sf2.safetensors", MODELS / "prompt_template/sf2.safetensors"),
}
"""Node of sf2 -> the name that its brain had, and the file that it is now."""


def brain_files(spec: RunSpec) -> dict[str, Path]:
    """The brain file of each node."""
    registry, _ = spec.load_node_types()
    graph = spec.check(spec.load_workflow(), registry)
    return {node: Path(brain["file"]) for node, brain in graph.brain_files().items()}


def former_workflow(folder: Path, **sha256: str) -> Path:
    """The workflow sf2 with the names that its brains had, in a file of its own;
    those of some nodes are pinned.
    """
    workflow = json.loads((bundled_dir("workflows") / "sf2_ram_text.json").read_text())
    for node, (name, _) in MOVED.items():
        workflow["nodes"][node]["brain"] = name
        if node in sha256:
            workflow["nodes"][node]["brain"] = {"file": name, "sha256": sha256[node]}
    path = folder / "former.json"
    path.write_text(json.dumps(workflow))
    return path


def test_a_workflow_with_former_names_is_checked_and_plays_as_the_shipped_one(
    summary: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    workflow = former_workflow(tmp_path, lora=hash_file(MOVED["lora"][1]))
    assert main(["check", str(workflow)]) == 0
    former, present = summary(workflow, "--ticks", 60), summary("sf2_ram_text", "--ticks", 60)
    assert former["actions_sha256"] == present["actions_sha256"]
    assert former["brains"] == present["brains"]


def test_a_former_name_that_is_pinned_to_other_contents_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(former_workflow(tmp_path, prompt="0" * 64))]) == 2
    assert "prompt.brain" in (said := capsys.readouterr().err)
    assert f"{MOVED['prompt'][1]} is not the brain this workflow was saved with" in said


@pytest.mark.parametrize("form", ["{name}", "./{name}", "{models}/{name}", "models/{name}"])
def test_the_command_line_takes_former_names_and_paths(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(MODELS.parent)
    brains = {node: form.format(name=name, models=MODELS) for node, (name, _) in MOVED.items()}
    found = brain_files(RunSpec("sf2_ram_text", brains=brains))
    assert {node: found[node] for node in MOVED} == {
        node: file for node, (_, file) in MOVED.items()
    }


@pytest.mark.parametrize("beside", [True, False])
def test_a_brain_of_the_user_comes_before_a_shipped_one_that_had_its_name(
    beside: bool, tmp_path: Path
) -> None:
    """Beside the workflow, or in the user's own models."""
    folder = tmp_path if beside else tmp_path / "models"
    classes: dict[str, type[Brain]] = {"lora": LoraAdapter, "prompt": PromptTemplate}
    expected = {}
    for node, (name, file) in MOVED.items():
        expected[node] = folder / name
        classes[node].load(file).save(folder / name, title="my own", made_by="a test")
    found = brain_files(RunSpec(former_workflow(tmp_path), models=tmp_path / "models"))
    assert {node: found[node] for node in MOVED} == expected


@pytest.mark.parametrize(
    "name",
    [
        "lora",
        "lora/",
        "lora/none.safetensors",
        "lora/../../README.md",
        "lora/../prompt/sf2.safetensors",
    ],
)
def test_other_names_in_a_former_folder_mean_nothing(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "sf2_ram_text", "--brain", f"lora={name}"]) == 2
    assert f"there is no brain {name!r}" in capsys.readouterr().err


def test_a_tape_with_the_path_that_a_brain_had_replays(
    summary: Callable[..., dict[str, Any]], minibrains: Command, tmp_path: Path
) -> None:
    """A tape has the absolute path of a brain that was named with `--brain`."""
    name, file = MOVED["prompt"]
    workflow = tmp_path / "asks.json"
    nodes = {
        "console": {"type": "RetroEmulator@3", "set": {"game": "Duel-Genesis"}},
        "features": {"type": "GameFeatures@1", "in": {"variables": "console.variables"}},
        "prompt": {"type": "PromptBuilder@1", "in": {"fight": "features.fight"}, "every": 30},
    }
    workflow.write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    played = summary(workflow, "--brain", f"prompt={name}", "--ticks", 60, "--record")

    def name_the_former_folder(event: Event) -> Event:
        if event.kind == "header":
            node = event.value["workflow"]["nodes"]["prompt"]
            assert node["brain"] == str(file)
            node["brain"] = event.value["brains"]["prompt"]["file"] = str(MODELS / name)
        return event

    rewrite_tape(Path(played["run_dir"]), name_the_former_folder)
    done = minibrains("replay", played["run_dir"], "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["equal"]
