"""A model that several runs ask: together, and in one process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import Absent, MinibrainsError
from minibrains.files import bundled_dir
from minibrains.loading import MODEL_CACHE
from minibrains.process import shared
from minibrains.testing import opened
from nodes.language.answering import Answer, LocalModel, Question
from nodes.language.lora import LoraAdapter, LoRALoader
from nodes.language.placement import place
from nodes.language.pretrained import VLMBrain
from nodes.language.shared_model import SharedModel
from nodes.language.vlm import VLMStrategist
from tests.support import tiny_families

pytestmark = [
    pytest.mark.usefixtures("tried_here"),
    # transformers' processor of PaliGemma
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

MODELS = bundled_dir("models")
BRAIN = VLMBrain.load(MODELS / "vlm/sf2-untrained.safetensors")
ADAPTER = LoraAdapter.load(MODELS / "lora_adapter/sf2-untrained.safetensors")
PLACEMENT = place("cpu", "f32")
RUNS = 8


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The home folder, for this process and those that it starts, which end after the test."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    yield
    for started in shared._started:
        started.kill()
        started.wait()


def _questions(count: int, max_tokens: int = 0) -> list[Question]:
    """Return questions of different lengths about different pictures."""
    random = np.random.default_rng(7)
    questions: list[Question] = []
    for number in range(count):
        picture = random.integers(0, 256, (32, 96, 3), np.uint8)
        questions.append(Question(picture, "Which action?"[: 5 + number % 9], (), max_tokens))
    return questions


def _check_equal(found: Answer | Exception, expected: Answer | Exception) -> None:
    assert isinstance(found, Answer)
    assert isinstance(expected, Answer)
    assert (found.text, found.tokens, found.second) == (
        expected.text,
        expected.tokens,
        expected.second,
    )
    if not isinstance(expected.probabilities, Absent):
        assert not isinstance(found.probabilities, Absent)
        assert list(found.probabilities) == list(expected.probabilities)
        # their logarithms differ by as much as the logits do
        values = np.log(list(expected.probabilities.values()))
        assert np.log(list(found.probabilities.values())) == pytest.approx(values, abs=1e-4)


@pytest.mark.parametrize("family", tiny_families.FAMILIES)
def test_questions_that_are_asked_together_are_answered_as_alone(
    family: str, tmp_path: Path
) -> None:
    tiny_families.FAMILIES[family](tmp_path / "folder")
    path = tmp_path / "model.safetensors"
    VLMBrain.of_folder(tmp_path / "folder", ("0", "1", "2")).save(path, title="t", made_by="test")
    brain = VLMBrain.load(path)
    assert brain.ref is not None
    model = LocalModel(brain.ref, PLACEMENT, brain.answers, MODEL_CACHE.load)
    questions = [*_questions(3), *_questions(3, max_tokens=6)]
    larger = np.zeros((64, 96, 3), np.uint8)
    questions.insert(2, questions[0]._replace(image=larger))
    for together, question in zip(model.answer(questions), questions, strict=True):
        (alone,) = model.answer([question])
        _check_equal(together, alone)


def test_a_question_that_cannot_be_asked_fails_alone() -> None:
    assert BRAIN.ref is not None
    model = LocalModel(BRAIN.ref, PLACEMENT, BRAIN.answers, MODEL_CACHE.load)
    first, second, third = _questions(3)
    marked = second._replace(prompt="<|image_pad|>")
    replies = model.answer([first, marked, third])
    assert isinstance(replies[1], MinibrainsError)
    assert "which stands for a picture" in str(replies[1])
    for reply, question in ((replies[0], first), (replies[2], third)):
        _check_equal(reply, model.answer([question])[0])


@pytest.mark.slow
def test_strategists_share_a_model_in_a_process_of_its_own() -> None:
    picture = _questions(1)[0].image
    assert picture is not None
    link = LoRALoader(brain=ADAPTER).tick()
    nodes = [VLMStrategist(brain=BRAIN, answer="choose", shared=True) for _ in range(2)]
    alone = VLMStrategist(brain=BRAIN, answer="choose")
    with opened(nodes[0]) as host, opened(nodes[1]), opened(alone):
        assert host.facts["node_model"].startswith("f32 on cpu, ")
        assert host.facts["node_model"].endswith(" MB, shared")
        processes: set[int] = set()
        for node in nodes:
            assert isinstance(node._model, SharedModel)
            processes.add(node._model.process.pid)
            node.warm_up({"adapters": [link]})
            for adapters in ([], [link]):
                expected = alone.tick(picture, "jump?", adapters)
                _check_equal(node.tick(picture, "jump?", adapters), expected)
            with pytest.raises(MinibrainsError, match="which stands for a picture"):
                node.tick(picture, "<|image_pad|>", [])
        assert len(processes) == 1
        assert os.getpid() not in processes


def test_a_model_that_has_no_room_is_refused_by_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MINIBRAINS_MODELS_MB", "0")
    with (
        pytest.raises(MinibrainsError, match=r"takes 8\.\d MB in f32 on cpu, and models may take"),
        opened(VLMStrategist(brain=BRAIN, answer="choose", shared=True)),
    ):
        pass


@pytest.mark.slow
def test_a_thousand_answers_of_eight_runs_are_those_of_a_model_of_their_own() -> None:
    assert BRAIN.ref is not None
    ref, questions = BRAIN.ref, _questions(1000)
    found: dict[int, Any] = {}

    def ask(run: int) -> None:
        model = SharedModel(ref, PLACEMENT, BRAIN.answers)
        for number in range(run, len(questions), RUNS):
            (found[number],) = model.answer([questions[number]])
        model.close()

    threads = [threading.Thread(target=ask, args=(run,)) for run in range(RUNS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    model = LocalModel(ref, PLACEMENT, BRAIN.answers, MODEL_CACHE.load)
    for number, question in enumerate(questions):
        (alone,) = model.answer([question])
        _check_equal(found[number], alone)
