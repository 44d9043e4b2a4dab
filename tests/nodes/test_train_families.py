"""Models of every family learn: all of their weights, or an adapter, which is merged and plays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from minibrains import Absent, Episode, MinibrainsError
from minibrains.testing import opened
from nodes.language.answering import Answer
from nodes.language.asking import Pretrained
from nodes.language.lora import Adapter, LoraAdapter, LoRALoader
from nodes.language.merging import MergeLoRA
from nodes.language.model_files import FAMILIES
from nodes.language.pretrained import VLMBrain, load_pretrained
from nodes.language.vlm import LLMStrategist, VLMStrategist
from nodes.training.train_vlm import TrainLoRA, TrainVLM, VLMTraining
from server.commands.unpack_model import unpack
from tests.support import tiny_families
from tests.support.tiny_vlm import NAME, PROMPTS, write_pictures

pytestmark = [
    pytest.mark.usefixtures("tried_here"),
    # transformers' processor of PaliGemma, and PEFT's own question to the model
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning"),
]

PICTURE = np.random.default_rng(5).integers(0, 256, (32, 96, 3), np.uint8)
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
STEP: dict[str, Any] = {
    "data": NAME,
    "name": "small",
    "validation": 0.5,
    "batch_size": 64,
    "epochs": 1,
    "learning_rate": 0.02,
}
"""Widgets of a training that takes one step."""
LAYERS = {
    "Qwen2.5-VL": "model.language_model.layers",
    "Qwen3-VL": "model.language_model.layers",
    "Idefics3": "model.text_model.layers",
    "PaliGemma 1": "model.language_model.layers",
    "PaliGemma 2": "model.language_model.layers",
    "Gemma 3": "model.language_model.layers",
    "Qwen3": "model.layers",
}
"""The name of a family -> the layers of its language model."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, for this process."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(params=tiny_families.FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    """The name of a family."""
    name: str = request.param
    return name


@pytest.fixture
def model(family: str, tmp_path: Path) -> VLMBrain:
    """A tiny model of the family, with random weights."""
    tiny_families.FAMILIES[family](tmp_path / "folder")
    path = tmp_path / "model.safetensors"
    brain = VLMBrain.of_folder(tmp_path / "folder", ("0", "1", "2"))
    brain.save(path, title=family, made_by="a test")
    return VLMBrain.load(path)


def _adapted(family: str) -> set[str]:
    """Return the names of the layers that an adapter for a family changes."""
    names: set[str] = set()
    for layer in range(tiny_families.LAYERS["num_hidden_layers"]):
        for projection in PROJECTIONS:
            part = "mlp" if projection in PROJECTIONS[4:] else "self_attn"
            names.add(f"{LAYERS[family]}.{layer}.{part}.{projection}")
    if family.startswith("PaliGemma"):
        names.add("model.multi_modal_projector.linear")
    return names


def _loaded(brain: VLMBrain) -> Pretrained:
    assert brain.ref is not None
    return load_pretrained(brain.ref)


def _train(kind: type[VLMTraining], brain: VLMBrain, **widgets: Any) -> None:
    """Take a step on the pictures of a match."""
    write_pictures(2)
    node = kind(brain=brain, prompts=PROMPTS, **{**STEP, **widgets})
    with opened(node):
        node.reset(Episode(0, 0, "train"))
        while not node.emit().finished:
            node.latch()
        assert node.report()["steps"] == 1


def _logits(asked: Pretrained, model: Any) -> torch.Tensor:
    with torch.inference_mode():
        return asked.next_logits(model, asked.read(PICTURE, PROMPTS[0]))


def _shares(brain: VLMBrain, *adapters: Adapter) -> list[float]:
    """Return the probability of each answer, as the strategist in a game delivers it."""
    answer: Answer
    if brain.sees:
        seeing = VLMStrategist(brain=brain, answer="choose")
        with opened(seeing):
            answer = seeing.tick(PICTURE, PROMPTS[0], list(adapters))
    else:
        reading = LLMStrategist(brain=brain, answer="choose")
        with opened(reading):
            answer = reading.tick(PROMPTS[0], list(adapters))
    assert not isinstance(answer.probabilities, Absent)
    return list(answer.probabilities.values())


@pytest.mark.slow
def test_an_adapter_trains_a_step_is_merged_and_plays(
    family: str, model: VLMBrain, tmp_path: Path, home: Path
) -> None:
    from peft import PeftModel
    from safetensors.numpy import save_file

    _train(TrainLoRA, model, rank=4, alpha=8.0)
    path = home / "models/lora_adapter/small.safetensors"
    adapter = LoraAdapter.load(path)
    changed: set[str] = set()
    for name in adapter.tensors:
        changed.add(name.removeprefix("base_model.model.").partition(".lora_")[0])
    assert changed == _adapted(family)

    # as PEFT computes it, beside the weights
    folder = tmp_path / "peft"
    folder.mkdir()
    unpacked = unpack(path)
    (folder / "adapter_config.json").write_text(unpacked.texts["adapter_config.json"])
    save_file(dict(unpacked.tensors), folder / unpacked.weights)
    asked = _loaded(model)
    before = _logits(asked, asked.model)
    beside = PeftModel.from_pretrained(_loaded(model).model, folder)
    unmerged = _logits(asked, beside.base_model.model)
    assert not torch.allclose(unmerged, before, atol=1e-2), "it has learned something"

    # merged into a model of its own
    link = LoRALoader(brain=adapter).tick()
    merge = MergeLoRA(brain=model, name="merged")
    with opened(merge):
        merge.reset(Episode(0, 0, "merge"))
        merge.latch([link])
    own = _loaded(VLMBrain.load(home / "models/vlm/merged.safetensors"))
    assert torch.allclose(_logits(own, own.model), unmerged, atol=1e-3)

    # in play
    tokens = [asked.token(answer) for answer in model.answers]
    expected = torch.softmax(unmerged[tokens], 0).tolist()
    assert _shares(model, link) == pytest.approx(expected, abs=1e-3)


def test_what_sees_has_no_gradients(family: str, model: VLMBrain) -> None:
    from peft import LoraConfig, get_peft_model

    asked = _loaded(model)
    adapted = FAMILIES[model.model_type].adapted
    settings = LoraConfig(r=2, target_modules=adapted, init_lora_weights=False)
    learner = get_peft_model(asked.model, settings)
    inputs = asked.read(PICTURE, PROMPTS[0])
    learner(**inputs).logits.sum().backward()
    learned: set[str] = set()
    for name, parameter in learner.named_parameters():
        if parameter.grad is not None:
            learned.add(name)
            assert parameter.grad.abs().max() > 0, name
    expected: set[str] = set()
    for layer in _adapted(family):
        for half in "AB":
            expected.add(f"base_model.model.{layer}.lora_{half}.default.weight")
    assert learned == expected


def test_questions_asked_at_once_are_answered_as_if_each_were_asked_alone(model: VLMBrain) -> None:
    asked = _loaded(model)
    questions: list[Any] = []
    expected: list[torch.Tensor] = []
    answered: list[Any] = []
    for number, prompt in enumerate((*PROMPTS, "")):
        picture = np.roll(PICTURE, 20 * number, axis=1)
        inputs = asked.read(picture, prompt)
        questions.append(inputs)
        answered.append(asked.with_answer(inputs, asked.token("1")))
        with torch.inference_mode():
            expected.append(asked.next_logits(asked.model, inputs))
    with torch.inference_mode():
        together = asked.model(**asked.joined(questions)).logits[:, -1]
        # in training the answer is there as well, and the question must not see it
        learning = asked.model(**asked.joined(answered)).logits[:, -2]
    for found in (together, learning):
        assert torch.allclose(found, torch.stack(expected), atol=1e-4)


@pytest.mark.slow
def test_all_of_its_weights_train_a_step(model: VLMBrain, home: Path) -> None:
    auxiliary = ("agent_x-enemy_x", "height") if model.sees else ()
    _train(TrainVLM, model, weights="f32", auxiliary=auxiliary)
    trained = VLMBrain.load(home / "models/vlm/small.safetensors")
    assert trained.tensors.keys() == model.tensors.keys()
    assert _shares(trained) != pytest.approx(_shares(model), abs=1e-3)
    same: set[str] = set()
    for name, array in trained.tensors.items():
        if np.array_equal(array, model.tensors[name]):
            same.add(name)
    # only what the answer does not depend on
    assert all("vision_tower.head" in name for name in same), sorted(same)


def test_only_a_picture_tells_auxiliary_variables(model: VLMBrain) -> None:
    node = TrainVLM(brain=model, data=NAME, name="small", prompts=PROMPTS, auxiliary=("height",))
    if model.sees:
        node.check()
        return
    with pytest.raises(MinibrainsError, match="the model of this brain sees nothing; leave aux"):
        node.check()
