"""Brains are asked about a data set as in play, and people find the samples where they err."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import Absent
from minibrains.brain_file import read_header
from minibrains.errors import BrainError, DataError, MinibrainsError
from minibrains.files import bundled_dir
from minibrains.testing import ScratchHost, opened
from nodes.language.lora import LoraAdapter, LoRALoader
from nodes.language.vlm import VLMStrategist
from nodes.policies.network import PolicyHead, PolicyHeadBrain
from nodes.training import asked_brains
from nodes.training.asked_brains import Answers, load_asked, questions_of, refusal
from nodes.training.data_set import DataSet
from nodes.training.episode_file import NONE
from nodes.training.examples import Examples, Job, PreprocessingParts, preprocess
from nodes.training.sample_table import SampleFilter, SampleTable
from nodes.training.trainer import normalised
from tests.support.data_sets import ACTIONS
from tests.support.fights import PREPROCESSING, write_fights, write_untrained_policy
from tests.support.tiny_vlm import PROMPTS, save_model, write_pictures

pytestmark = pytest.mark.usefixtures("tried_here")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, for this process."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def _number(value: float | Absent) -> float:
    assert not isinstance(value, Absent)
    return value


def test_a_policy_is_asked_with_the_eyes_of_its_training(home: Path) -> None:
    data = write_fights(1)
    path = write_untrained_policy(home / "models")
    (info,) = data.episodes()
    answers = load_asked(path, home / "models").ask(data.read(info))

    found = preprocess(
        Job(data.folder, info, PreprocessingParts.of(PREPROCESSING), (), actionable=False)
    )
    head = PolicyHead(brain=PolicyHeadBrain.load(path))
    head.module = head.make_module()
    frames = Examples(PREPROCESSING, [found]).frames(np.arange(info.samples))
    probabilities = head.logits(normalised(frames)).softmax(1).detach().numpy()

    assert np.array_equal(answers.ticks, data.read(info).ticks)
    assert np.array_equal(answers.actions, probabilities.argmax(1))
    assert np.array_equal(answers.probabilities, probabilities.max(1))


def test_a_model_is_asked_as_in_play(tmp_path: Path) -> None:
    data = write_pictures(1)
    model = save_model(tmp_path / "tiny.safetensors")
    (info,) = data.episodes()
    samples = data.read(info)
    asked = load_asked(tmp_path / "tiny.safetensors", tmp_path, PROMPTS[0])
    answers = asked.ask(samples)

    node = VLMStrategist(brain=model, answer="choose")
    with opened(node, ScratchHost(tmp_path)):
        for row in range(0, len(samples), 8):
            found = node.tick(samples.picture(row), PROMPTS[0], [])
            assert answers.actions[row] == int(found.text)
            assert answers.probabilities[row] == np.float32(_number(found.confidence))


def test_an_adapter_is_asked_with_its_model(tmp_path: Path, home: Path) -> None:
    data = write_pictures(1)
    path = home / "models" / "vlm" / "tiny.safetensors"
    model = save_model(path)
    assert model.ref is not None

    name = "base_model.model.model.language_model.layers.0.mlp.down_proj"
    random = np.random.default_rng(3)
    tensors = {
        f"{name}.lora_A.weight": random.normal(size=(2, 64)).astype(np.float32),
        f"{name}.lora_B.weight": random.normal(size=(64, 2)).astype(np.float32),
    }
    settings = {"peft_type": "LORA", "r": 2, "lora_alpha": 4}
    adapter = LoraAdapter(tensors, adapter=settings, base="Tiny", base_sha256=model.ref.sha256)
    adapter.save(tmp_path / "adapter.safetensors", title="Adapter", made_by="a test")

    (info,) = data.episodes()
    asked = load_asked(tmp_path / "adapter.safetensors", home / "models", PROMPTS[0])
    answers = asked.ask(data.read(info))

    loader = LoRALoader(brain=LoraAdapter.load(tmp_path / "adapter.safetensors"))
    node = VLMStrategist(brain=model, answer="choose")
    picture = data.read(info).picture(0)
    with opened(node, ScratchHost(tmp_path)), opened(loader, ScratchHost(tmp_path)):
        adapted = node.tick(picture, PROMPTS[0], [loader.tick()])
        plain = node.tick(picture, PROMPTS[0], [])
    assert answers.probabilities[0] == np.float32(_number(adapted.confidence))
    assert answers.probabilities[0] != np.float32(_number(plain.confidence))

    path.unlink()
    with pytest.raises(BrainError, match="needs the vlm brain with the SHA-256"):
        load_asked(tmp_path / "adapter.safetensors", home / "models", PROMPTS[0])


def test_answers_are_kept_as_long_as_the_pictures_are_the_same(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_fights(1)
    (info,) = data.episodes()
    asked = load_asked(write_untrained_policy(home / "models"), home / "models")
    first = asked.ask(data.read(info))

    data.correct({info.key: {0: 0, 10: 0, 20: 0}})
    monkeypatch.delattr(asked_brains, "preprocess_samples")  # so it cannot be asked again
    (corrected,) = data.episodes()
    again = asked.ask(data.read(corrected))
    assert np.array_equal(again.actions, first.actions)

    data.correct({info.key: {0: None}})
    (shorter,) = data.episodes()
    with pytest.raises(NameError):
        asked.ask(data.read(shorter))


def test_brains_that_do_not_fit_are_told_apart(tmp_path: Path, home: Path) -> None:
    policy = read_header(write_untrained_policy(home / "models"))
    assert refusal(policy, ACTIONS) == ""
    assert refusal(policy, ("wait", "punch", "kick")) == "it chooses among other actions"

    untrained = read_header(bundled_dir("models") / "policy_head/airstriker-untrained.safetensors")
    assert refusal(untrained, ()) == "its header does not say what it was shown in training"

    save_model(tmp_path / "tiny.safetensors")
    model = read_header(tmp_path / "tiny.safetensors")
    assert refusal(model, ACTIONS) == ""
    assert refusal(model, ACTIONS[:2]) == "its answers are not the numbers of these actions"
    assert questions_of(model) == []


def test_other_pictures_are_a_sentence(tmp_path: Path, home: Path) -> None:
    asked = load_asked(write_untrained_policy(home / "models"), home / "models")
    data = write_pictures(1)
    with pytest.raises(DataError, match="row 0: the picture has 32x96 pixels"):
        asked.ask(data.read(data.episodes()[0]))

    save_model(tmp_path / "tiny.safetensors")
    with pytest.raises(MinibrainsError, match="the question is empty"):
        load_asked(tmp_path / "tiny.safetensors", tmp_path, " ")


def _table(data: DataSet) -> SampleTable:
    """A table with the answer 1 to everything in the first of two episodes."""
    first, _ = data.episodes()
    ticks = data.read(first).ticks
    probabilities = np.linspace(0.5, 1, len(ticks), dtype=np.float32)
    return SampleTable(data, {first.key: Answers(ticks, np.ones_like(ticks), probabilities)})


def test_samples_are_selected() -> None:
    data = write_fights(2)
    first, second = data.episodes()
    tick = 30
    wrong = 20
    labels = data.label_by_tick(first.key)
    label = (labels[wrong] or 0) + 1
    data.correct({first.key: {tick: None, wrong: label % 3}})

    table = _table(data)

    def count(**wanted: Any) -> int:
        return len(table.select(SampleFilter(**wanted)))

    assert count() == 79
    assert count(episode=first.key) == 39
    assert count(episode="other") == 0
    assert count(kept="deleted") == 1
    assert count(kept="corrected") == 1
    assert sum(count(label=action) for action in range(3)) == 79
    assert count(actionable=True) + count(actionable=False) == 79
    assert count(answer="agrees") + count(answer="differs") == 39
    assert count(answer="agrees") == count(episode=first.key, label=1)
    assert table.agreement() == (39, count(answer="agrees"))
    assert sum(number for _, _, number in table.confusions()) == count(answer="differs")
    by_share = table.select(SampleFilter(answer="differs", order="share"))
    assert (np.diff(table.probabilities[by_share]) <= 0).all()

    (row,) = table.select(SampleFilter(kept="deleted"))
    found = table.describe(row)
    assert (found["episode"], found["tick"]) == (first.key, tick)
    assert (found["label"], found["original"]) == (None, labels[tick])

    (row,) = table.select(SampleFilter(kept="corrected"))
    assert table.describe(row)["label"] == label % 3

    (*_, row) = table.select(SampleFilter(episode=second.key))
    assert table.describe(row) == {
        "episode": second.key,
        "tick": 390,
        "label": int(table.labels[row]),
        "original": int(table.labels[row]),
        "second": None,
        "played": None,
        "actionable": False,
        "answer": None,
        "share": None,
    }
    assert table.answers[row] == NONE
