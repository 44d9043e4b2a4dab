"""Brains, models, adapters and workflows as no program of ours writes them: each is taken,
or refused in a sentence.

What fails is printed with its seed: `odd_values` makes the same one of it again.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from minibrains import BrainError
from minibrains.files import bundled_dir
from minibrains.graph.catalog import node_types
from minibrains.graph.workflow import load_workflow
from nodes.language.lora import LoraAdapter, merged
from nodes.language.pretrained import VLMBrain, load_pretrained
from tests.support.odd_values import as_json, mutate, mutate_bytes
from tests.support.service_fixtures import Page, Talk, serving

MODELS = bundled_dir("models")
SMALL = [path for path in sorted(MODELS.rglob("*.safetensors")) if path.stat().st_size < 100_000]
KINDS = {
    cls.schema.brain.kind: cls.schema.brain
    for cls in node_types()[0].values()
    if cls.schema.brain is not None
}
MUTATIONS_PER_BRAIN = 1200
ADAPTERS = 500
MODELS_TRIED = 20
WORKFLOWS = 1500
PLAYED = ("airstriker_random", "hello", "pad", "airstriker")
"""Workflows that play without a large model."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))


@pytest.mark.soak
@pytest.mark.parametrize(
    "shipped_brain", SMALL, ids=lambda path: path.relative_to(MODELS).as_posix()
)
def test_a_mutated_brain_is_taken_or_refused(shipped_brain: Path, tmp_path: Path) -> None:
    sound = shipped_brain.read_bytes()
    kind = json.loads(sound[8 : 8 + int.from_bytes(sound[:8], "little")])["__metadata__"][
        "minibrains.kind"
    ]
    path, ends = tmp_path / "mutated.safetensors", Counter[str]()
    for seed in range(MUTATIONS_PER_BRAIN):
        path.write_bytes(_mutate_brain(sound, random.Random(seed)))
        ends[_end_of(partial(KINDS[kind].load, path), f"seed {seed}")] += 1
    print(shipped_brain.name, dict(ends))
    assert ends["refused"] > ends["taken"] / 10


def _end_of(work: Callable[[], object], about: str) -> str:
    """Return whether something was taken, or refused in one line."""
    try:
        work()
    except BrainError as error:
        sentence = str(error)
    except Exception as error:
        raise AssertionError(about) from error
    else:
        return "taken"
    assert "\n" not in sentence, about
    return "refused"


def _mutate_brain(sound: bytes, dice: random.Random) -> bytes:
    """Change bytes anywhere, or what the header says."""
    if dice.random() < 0.3:
        return mutate_bytes(sound, dice)
    length = int.from_bytes(sound[:8], "little")
    header = json.loads(sound[8 : 8 + length])
    metadata = header["__metadata__"]
    if dice.random() < 0.5 and "config" in metadata:
        metadata["config"] = as_json(mutate(json.loads(metadata["config"]), dice)).decode()
    else:
        header = mutate(header, dice)
    written = as_json(header)
    return len(written).to_bytes(8, "little") + written + sound[8 + length :]


@pytest.mark.soak
def test_a_mutated_adapter_is_applied_or_refused(tmp_path: Path) -> None:
    sound = LoraAdapter.load(MODELS / "lora_adapter/sf2-untrained.safetensors")
    model = VLMBrain.load(MODELS / "vlm/sf2-untrained.safetensors")
    assert model.ref is not None
    pretrained, path = load_pretrained(model.ref).model, tmp_path / "mutated.safetensors"
    ends = Counter[str]()
    for seed in range(ADAPTERS):
        dice = random.Random(seed)
        config = mutate(dict(sound.adapter), dice, dice.randrange(1, 3))
        ends[
            _end_of(partial(_apply, pretrained, sound, config, path), f"seed {seed}: {config}")
        ] += 1
    print(dict(ends))
    assert min(ends["refused"], ends["taken"]) > ADAPTERS / 20


def _apply(model: Any, sound: LoraAdapter, config: Any, path: Path) -> None:
    """Write an adapter with another configuration, read it, and add it to a model."""
    brain = LoraAdapter(
        sound.tensors, adapter=config, base=sound.base, base_sha256=sound.base_sha256
    )
    brain.save(path, title="mutated", made_by="a test")
    merged(model, [(LoraAdapter.load(path).ref, 1.0)])  # type: ignore[list-item]


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(MODELS_TRIED))
def test_a_mutated_vision_language_model_is_loaded_or_refused(seed: int, tmp_path: Path) -> None:
    """Each is tried out in a process of its own, which is what takes the time."""
    dice = random.Random(seed)
    sound = VLMBrain.load(MODELS / "vlm/sf2-untrained.safetensors")
    name = sorted(sound.files)[seed % len(sound.files)]
    text = sound.files[name]
    if name.endswith(".json"):
        changed = as_json(mutate(json.loads(text), dice, 2)).decode()
    else:
        changed = mutate_bytes(text.encode(), dice).decode(errors="replace")
    path = tmp_path / "mutated.safetensors"

    def load() -> None:
        brain = VLMBrain(sound.tensors, files={**sound.files, name: changed}, answers=sound.answers)
        brain.save(path, title="mutated", made_by="a test")
        load_pretrained(VLMBrain.load(path).ref)  # type: ignore[arg-type]

    print(f"seed {seed}, {name}: {_end_of(load, name)}")


@pytest.mark.soak
def test_a_mutated_workflow_is_checked_and_what_passes_is_played(tmp_path: Path) -> None:
    sound = {
        path.stem: load_workflow(path).to_json()
        for path in sorted(bundled_dir("workflows").glob("*.json"))
    }
    with serving(tmp_path / "data", "--parallel", 2) as server:

        async def talk(client: Talk) -> None:
            async with client.page() as page:
                for seed in range(WORKFLOWS):
                    dice = random.Random(seed)
                    name = dice.choice(sorted(sound))
                    workflow = mutate(sound[name], dice, dice.randrange(1, 4))
                    async with client.session.post(
                        "/check", data=as_json({"workflow": workflow})
                    ) as answer:
                        said = await answer.json()
                        assert answer.status in (200, 400), f"seed {seed}: {said}"
                    ends[f"{answer.status}"] += 1
                    if answer.status == 200 and not said["faults"] and name in PLAYED:
                        ends[await _play(client, page, workflow, f"seed {seed}")] += 1

        ends = Counter[str]()
        server.talk(talk, timeout=1200)
        print(dict(ends))
        assert ends["done"] > 20


async def _play(client: Talk, page: Page, workflow: Any, about: str) -> str:
    """Play some ticks of it; return how that ended."""
    body = {
        "prompt": workflow,
        "extra_data": {"settings": {"ticks": 20, "episodes": 1, "clock": "fast"}},
    }
    async with client.session.post("/prompt", data=as_json(body)) as answer:
        said = await answer.json()
    if answer.status == 400:
        return "refused"
    assert answer.status == 200, f"{about}: {said}"
    outcome = await client.outcome(page, said["prompt_id"])
    message = outcome["summary"].get("error", {}).get("message", "")
    assert "worker" not in message, f"{about}: {message}"
    assert "fault in Minibrains" not in message, f"{about}: {message}"
    return str(outcome["state"])
