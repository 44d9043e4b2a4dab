"""`bench thoughts`: a row for each model, precision and picture."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from minibrains.brain_file import hash_file
from minibrains.loading import BrainRef
from nodes.language import placement
from nodes.language.model_files import FAMILIES
from nodes.language.placement import place
from nodes.language.pretrained import VLMBrain, load_pretrained
from server.commands.bench import published_models, thoughts
from server.commands.bench.published_models import PUBLISHED, PublishedModel
from server.commands.bench.random_models import TEXTS, ModelSize, RandomModel
from tests.support import tiny_families
from tests.support.command import Command
from tests.support.paths import ROOT

pytestmark = [
    pytest.mark.usefixtures("tried_here"),
    # transformers' processor of PaliGemma
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

TINY = {
    "Qwen2.5-VL": PublishedModel("Qwen2.5-VL", "qwen2_5_vl", tiny_families.qwen_size("qwen2_5_vl")),
    "Qwen3-VL": PublishedModel("Qwen3-VL", "qwen3_vl", tiny_families.qwen_size("qwen3_vl")),
    "Idefics3": PublishedModel("Idefics3", "idefics3", tiny_families.idefics3_size()),
    "PaliGemma 2": PublishedModel(
        "PaliGemma 2", "paligemma", tiny_families.paligemma_size("gemma2")
    ),
    "Gemma 3": PublishedModel("Gemma 3", "gemma3", tiny_families.gemma3_size()),
    "Qwen3": PublishedModel("Qwen3", "qwen3", ModelSize(tiny_families.TEXT)),
}
PARAMETERS = {
    "Qwen2.5-VL-3B": 3755,
    "Qwen3-VL-2B": 2128,
    "SmolVLM-256M": 256,
    "SmolVLM-500M": 507,
    "PaliGemma2-3B-224": 3032,
    "Gemma3-4B": 4300,
    "Qwen3-0.6B": 596,
    "Qwen3-4B": 4022,
}
"""The millions of parameters of the published models."""
TIMES = (
    "first_ms", "first_p95_ms", "first_cpu_ms", "eight_ms", "eight_p95_ms", "eight_cpu_ms",
)  # fmt: skip


@pytest.fixture(autouse=True)
def few_thoughts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure each thought once."""
    monkeypatch.setattr(thoughts, "REPEATS", 1)


def _check_rows(rows: list[dict[str, Any]], pictures: list[str | None]) -> None:
    assert [row["picture"] for row in rows] == pictures
    for row in rows:
        assert row["not_measured"] == ""
        assert row["tokens"] > len(thoughts.PROMPT)
        assert row["repeats"] == 1
        assert min(row[time] for time in TIMES) > 0
        assert row["mb"] >= 0


def test_the_command_measures_a_model_with_each_picture(
    minibrains: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published_models, "PUBLISHED", TINY)
    monkeypatch.setattr(thoughts, "SECONDS", 0.0)
    asked = ("--model", "Qwen3-VL", "--precision", "bf16", "--device", "cpu")
    done = minibrains("bench", "thoughts", *asked, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["device"]
    _check_rows(result["cases"], ["64x192", "360x480"])
    assert {row["model"] for row in result["cases"]} == {"Qwen3-VL"}
    assert {row["precision"] for row in result["cases"]} == {"bf16"}


@pytest.mark.slow
@pytest.mark.parametrize("family", TINY)
def test_every_family_is_measured(family: str) -> None:
    result = thoughts.run({family: TINY[family]}, "cpu", ["bf16", "f32"], 0)
    pictures: list[str | None] = ["64x192", "360x480"] if family != "Qwen3" else [None]
    _check_rows(result["cases"], pictures * 2)


def test_models_are_of_all_families() -> None:
    assert {model.model_type for model in PUBLISHED.values()} == FAMILIES.keys() == TEXTS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_model_has_the_published_number_of_parameters(name: str) -> None:
    model = PUBLISHED[name]
    made = RandomModel(model.model_type, model.size)
    assert made.parameters / 1e6 == pytest.approx(PARAMETERS[name], rel=0.005)
    assert made.file_size == 2 * made.parameters, "weights that are used twice are written once"
    assert PUBLISHED.keys() == PARAMETERS.keys()


def test_the_longer_thought_has_eight_tokens(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    RandomModel("qwen3", TINY["Qwen3"].size).write(path, ("0", "1"))
    asked = load_pretrained(BrainRef(str(path), hash_file(path)), place("cpu", "bf16"))
    inputs = asked.read(None, "which?")
    passes: list[None] = []
    asked.model.register_forward_hook(lambda *_: passes.append(None))
    with torch.inference_mode():
        written = asked.model.generate(**inputs, do_sample=False, max_new_tokens=8)
    assert written.shape[1] - inputs["input_ids"].shape[1] == len(passes) == 8
    assert asked.model.generation_config.eos_token_id is None, "so that no thought ends earlier"


def test_a_model_without_room_is_a_row_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIBRAINS_MODELS_MB", "0")
    (row,) = thoughts.run({"tiny": TINY["Qwen3"]}, "cpu", ["bf16"], 0)["cases"]
    assert "models may take 0.0 MB" in row["not_measured"]
    assert row["tokens"] is row["first_ms"] is row["mb"] is None


def test_weights_that_cannot_be_quantised_are_rows_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placement, "find_spec", lambda name: None)
    (row,) = thoughts.run({"tiny": TINY["Qwen3"]}, "cpu", ["nf4"], 0)["cases"]
    assert row["not_measured"].startswith("weights in nf4 need the package bitsandbytes")
    assert row["precision"] == "nf4"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--model", "Qwen3-LV"), "there is no model or family 'Qwen3-LV'"),
        (("--device", "gpu"), "there is no device 'gpu'; expected one of cpu, auto, cuda"),
        (("--precision", "f16"), "there is no precision 'f16'; expected one of auto, f32, bf16"),
        (("Qwen3-VL",), "plays no workflow, and was given Qwen3-VL"),
    ],
)
def test_what_does_not_exist_is_refused(
    minibrains: Callable[..., Any], options: tuple[str, ...], sentence: str
) -> None:
    done = minibrains("bench", "thoughts", *options)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_its_options_are_for_it_alone(minibrains: Callable[..., Any]) -> None:
    done = minibrains("bench", "vlm", "--device", "cpu")
    assert done.returncode == 2
    assert "--device is for `bench thoughts` only" in done.stderr


def test_the_documented_memory_of_published_models_is_what_the_loader_counts() -> None:
    lines = (ROOT / "docs/models.md").read_text().splitlines()
    begin = lines.index("| family | repository | f32 | bf16 | int8 | nf4 |") + 2
    documented: list[list[str]] = []
    for line in lines[begin : begin + len(PUBLISHED)]:
        documented.append(line.strip("| ").split(" | ")[2:])
    counted: list[list[str]] = []
    for model in PUBLISHED.values():
        sizes = VLMBrain.memory_sizes(RandomModel(model.model_type, model.size).tensors)
        counted.append([f"{sizes[name] / 1e9:.1f}" for name in ("f32", "bf16", "int8", "nf4")])
    assert documented == counted
