"""Where a language model computes, and in which type of numbers."""

from __future__ import annotations

import pytest
import torch

from minibrains import MinibrainsError
from nodes.language.placement import place

HAS_CUDA = torch.cuda.is_available()


def test_on_the_processor_it_is_f32_unless_bf16_is_asked_for() -> None:
    assert str(place("cpu", "auto")) == "f32 on cpu"
    assert str(place("cpu", "bf16")) == "bf16 on cpu"


@pytest.mark.skipif(HAS_CUDA, reason="there is a GPU")
def test_without_a_gpu_auto_is_the_processor_and_cuda_is_refused() -> None:
    assert str(place("auto", "auto")) in {"f32 on cpu", "bf16 on mps"}
    with pytest.raises(MinibrainsError, match="there is no device 'cuda:0' here; expected cpu"):
        place("cuda", "auto")


@pytest.mark.skipif(not HAS_CUDA, reason="there is no GPU")
def test_auto_is_the_first_gpu() -> None:
    assert place("auto", "f32").device == torch.device("cuda:0")


def test_what_is_too_large_is_offered_in_fewer_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIBRAINS_MODELS_MB", "10")
    sizes = {"f32": 20_000_000, "bf16": 10_000_000, "int8": 6_000_000, "nf4": 4_000_000}
    place("cpu", "bf16").check_room(sizes)
    with pytest.raises(MinibrainsError, match=r'20.0 MB in f32.* "bf16", which takes 10.0 MB'):
        place("cpu", "f32").check_room(sizes)
    twice = {name: 2 * size for name, size in sizes.items()}
    with pytest.raises(MinibrainsError, match=r'set precision to "nf4", which takes 8\.0 MB'):
        place("cpu", "bf16").check_room(twice)
    with pytest.raises(MinibrainsError, match="choose a smaller model, or ask it on a server"):
        place("cpu", "nf4").check_room({name: 5 * size for name, size in sizes.items()})


def test_a_budget_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIBRAINS_MODELS_MB", "4 GB")
    with pytest.raises(MinibrainsError, match="MINIBRAINS_MODELS_MB is '4 GB'; expected a whole"):
        place("cpu", "f32").check_room({"f32": 1, "bf16": 1})
