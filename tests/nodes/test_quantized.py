"""Models whose weights have 8 or 4 bits, by bitsandbytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minibrains import Absent, BrainError, MinibrainsError
from minibrains.brain_file import read_header
from minibrains.loading import MODEL_CACHE
from nodes.language import placement
from nodes.language.answering import Answer, LocalModel, Question
from nodes.language.placement import Precision, place
from nodes.language.pretrained import VLMBrain
from tests.support import tiny_families

# PaliGemma's processor
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

ANSWERS = ("0", "1", "2")
PICTURE = np.random.default_rng(5).integers(0, 256, (32, 64, 3), np.uint8)


def _pack(tmp_path: Path, family: str) -> VLMBrain:
    tiny_families.FAMILIES[family](tmp_path / "folder")
    path = tmp_path / "model.safetensors"
    VLMBrain.of_folder(tmp_path / "folder", ANSWERS).save(path, title="t", made_by="test")
    return VLMBrain.load(path)


def _load(brain: VLMBrain, precision: Precision) -> LocalModel:
    assert brain.ref is not None
    return LocalModel(brain.ref, place("cpu", precision), ANSWERS, MODEL_CACHE.load)


def _shares(model: LocalModel, brain: VLMBrain) -> list[float]:
    """Return the probability of each answer to a question about a picture."""
    picture = PICTURE if brain.sees else None
    (answer,) = model.answer([Question(picture, "Which action?", (), 0)])
    assert isinstance(answer, Answer), answer
    assert not isinstance(answer.probabilities, Absent)
    return [answer.probabilities[text] for text in ANSWERS]


def _check_memory(model: LocalModel, brain: VLMBrain, precision: str) -> None:
    """Check that the size that is named in advance is that of the loaded model."""
    assert brain.ref is not None
    said = VLMBrain.memory_sizes(read_header(Path(brain.ref.file)).tensors)[precision]
    taken = model._plain.model.get_memory_footprint()
    assert said == pytest.approx(taken, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("family", tiny_families.FAMILIES)
def test_in_8_bits_it_answers_nearly_the_same_in_less_memory(family: str, tmp_path: Path) -> None:
    brain = _pack(tmp_path, family)
    model = _load(brain, "int8")
    expected = _shares(_load(brain, "f32"), brain)
    found = _shares(model, brain)
    assert found == pytest.approx(expected, abs=0.05)
    assert model.description.startswith("int8 on cpu, ")
    _check_memory(model, brain, "int8")


@pytest.mark.slow
def test_in_4_bits_it_answers_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # layers whose inputs are whole blocks
    monkeypatch.setitem(tiny_families.TEXT, "hidden_size", 64)
    monkeypatch.setitem(tiny_families.TEXT, "intermediate_size", 64)
    monkeypatch.setitem(tiny_families.TEXT, "head_dim", 32)
    brain = _pack(tmp_path, "Qwen3")
    model = _load(brain, "nf4")
    expected = _shares(_load(brain, "f32"), brain)
    found = _shares(model, brain)
    assert found == pytest.approx(expected, abs=0.1)
    _check_memory(model, brain, "nf4")


@pytest.mark.slow
def test_rows_that_are_no_whole_blocks_are_refused_in_4_bits(tmp_path: Path) -> None:
    brain = _pack(tmp_path, "Qwen3")
    sentence = r"has 32 inputs, .* multiples of 64; .* \"int8\""
    with pytest.raises(BrainError, match=sentence):
        _load(brain, "nf4")


def test_an_adapter_is_not_merged_into_8_bits(tmp_path: Path) -> None:
    brain = _pack(tmp_path, "Qwen3")
    assert brain.ref is not None
    model = _load(brain, "int8")
    with pytest.raises(BrainError, match=r"cannot be merged into weights in int8; .* \"bf16\""):
        model.prepare(((brain.ref, 1.0),))


def test_without_bitsandbytes_it_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "find_spec", lambda name: None)
    with pytest.raises(MinibrainsError, match="in nf4 need the package bitsandbytes; install it"):
        place("cpu", "nf4")
