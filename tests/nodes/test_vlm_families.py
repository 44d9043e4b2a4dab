"""Families of language models: asked by transformers' own calls,
or by a way that comes to the same in less time.
"""

from __future__ import annotations

import copy
import json
import shutil
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import (
    AutoImageProcessor,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoProcessor,
    AutoTokenizer,
)

from minibrains import ABSENT, Absent, BrainError, MinibrainsError
from minibrains.brain_file import read_header
from minibrains.files import bundled_dir, home
from minibrains.process import trial
from minibrains.testing import opened
from nodes.language import placement
from nodes.language.answering import GREEDY, Answer
from nodes.language.asking import Pretrained
from nodes.language.lora import Adapter, LoraAdapter, LoRALoader, merged
from nodes.language.model_files import FAMILIES, LANGUAGE_LAYERS
from nodes.language.pretrained import VLMBrain, load_pretrained, weights_of
from nodes.language.prompt import PromptTemplate
from nodes.language.qwen3_vl_fast import FastQwen3VL
from nodes.language.vlm import LLMStrategist, VLMStrategist
from server.commands.pack_model import pack
from tests.support import tiny_families
from tests.support.trials import try_here

pytestmark = [
    # transformers' processor of PaliGemma, and PEFT's own question to the model
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning"),
]

QWEN = VLMBrain.load(bundled_dir("models") / "vlm/sf2-untrained.safetensors")
PROMPT = PromptTemplate.load(bundled_dir("models") / "prompt_template/sf2.safetensors").template
RANDOM = np.random.default_rng(3)


def _picture(height: int, width: int) -> np.ndarray:
    return RANDOM.integers(0, 256, (height, width, 3), np.uint8)


QUESTIONS = [
    (_picture(96, 128), PROMPT),
    (_picture(96, 128), "jump or kick?"),
    (_picture(64, 96), ""),
    (_picture(50, 70), PROMPT),
    (_picture(96, 128), PROMPT),
]


# -- Qwen3-VL: both ways ---------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Try models out in this process, also for the fixtures of the module; keep it in a home of
    its own which ones were.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINIBRAINS_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr(trial, "_verdict", try_here)
        yield


@pytest.fixture(scope="module")
def both() -> tuple[Pretrained, Pretrained]:
    """The shipped model twice: asked by transformers' own calls, and in less time."""
    assert QWEN.ref is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FAMILIES, "qwen3_vl", FAMILIES["qwen3_vl"]._replace(faster=None))
        plain = load_pretrained(QWEN.ref)
    fast = load_pretrained(QWEN.ref)
    assert (type(plain), type(fast)) == (Pretrained, FastQwen3VL)
    return plain, fast


@pytest.mark.parametrize("question", range(len(QUESTIONS)))
def test_the_fast_way_reads_and_answers_as_transformers_own_calls_do(
    both: Any, question: int
) -> None:
    image, prompt = QUESTIONS[question]
    plain, fast = both
    expected = plain.read(image, prompt)
    inputs = fast.read(image, prompt)
    assert inputs.keys() == expected.keys()
    for name, tensor in expected.items():
        assert inputs[name].dtype == tensor.dtype, name
        assert torch.equal(inputs[name], tensor), name
    with torch.inference_mode():
        same_forwards = Pretrained.next_logits(fast, fast.model, inputs)
        logits = fast.next_logits(fast.model, inputs)
        slow = plain.next_logits(plain.model, expected)
        plain_text = plain.model.generate(**inputs, **GREEDY, max_new_tokens=12)
        fast_text = fast.model.generate(**inputs, **GREEDY, max_new_tokens=12)
    assert torch.allclose(logits, same_forwards, atol=1e-5), "part by part is the whole"
    assert torch.allclose(logits, slow, atol=1e-5), (
        "but for the order in which patches and norms are summed up"
    )
    assert plain_text.tolist() == fast_text.tolist()


@pytest.mark.slow
def test_a_strategist_decides_the_same_both_ways(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found: dict[type[Pretrained] | None, list[str]] = {}
    for faster in (None, FastQwen3VL):
        monkeypatch.setitem(FAMILIES, "qwen3_vl", FAMILIES["qwen3_vl"]._replace(faster=faster))
        # a file of its own, so that no other test's model is found
        path = tmp_path / str(faster)
        brain = VLMBrain(QWEN.tensors, files=QWEN.files, answers=QWEN.answers)
        brain.save(path, title="t", made_by="test")
        found[faster] = []
        for answer in ("choose", "generate"):
            node = VLMStrategist(brain=VLMBrain.load(path), answer=answer, max_tokens=6)
            with opened(node):
                for image, prompt in QUESTIONS:
                    found[faster].append(node.tick(image, prompt, []).text)
    assert found[None] == found[FastQwen3VL]


# -- all families ----------------------------------------------------------------------------------


class Small(NamedTuple):
    """A tiny model of a family."""

    folder: Path
    brain: VLMBrain
    model: Any
    """Loaded by transformers alone."""
    asked: Pretrained
    """Loaded by us."""

    def node(self, **widgets: Any) -> VLMStrategist | LLMStrategist:
        """Return the node that asks it."""
        if self.brain.sees:
            return VLMStrategist(brain=self.brain, **widgets)
        return LLMStrategist(brain=self.brain, **widgets)

    def read(self, image: np.ndarray, prompt: str) -> Mapping[str, torch.Tensor]:
        """Return the inputs for a question, as transformers alone makes them."""
        model_type = self.model.config.model_type
        if model_type == "qwen3":
            return _read_text(self.folder, prompt)
        if model_type.startswith("qwen"):
            return _read_qwen(self.folder, image, prompt)
        picture = Image.fromarray(image)
        processor = AutoProcessor.from_pretrained(self.folder)
        if model_type == "paligemma":
            inputs = dict(processor(picture, f"<image>{prompt}", return_tensors="pt"))
            inputs.pop("labels")
            return inputs
        content = [{"type": "image", "image": picture}, {"type": "text", "text": prompt}]
        read: Mapping[str, torch.Tensor] = processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        return read


def _read_text(folder: Path, prompt: str) -> Mapping[str, torch.Tensor]:
    read: Mapping[str, torch.Tensor] = AutoTokenizer.from_pretrained(folder).apply_chat_template(
        [{"role": "user", "content": prompt}],
        add_generation_prompt=True,
        return_dict=True,
        return_tensors="pt",
    )
    return read


def _read_qwen(folder: Path, image: np.ndarray, prompt: str) -> Mapping[str, torch.Tensor]:
    """Do what the processor would do, which cannot be made without torchvision."""
    picture = AutoImageProcessor.from_pretrained(folder, backend="pil")(image, return_tensors="pt")
    pads = "<|image_pad|>" * int(picture["image_grid_thw"].prod() // 4)
    turn = f"<|vision_start|>{pads}<|vision_end|>{prompt}"
    text = f"<|im_start|>user\n{turn}<|im_end|>\n<|im_start|>assistant\n"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    words = tokenizer(text, return_tensors="pt")
    kinds = (words["input_ids"] == tokenizer.convert_tokens_to_ids("<|image_pad|>")).long()
    return {**words, **picture, "mm_token_type_ids": kinds}


@pytest.fixture(scope="module", params=tiny_families.FAMILIES)
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Small:
    folder = tmp_path_factory.mktemp("family")
    tiny_families.FAMILIES[request.param](folder)
    path = home() / "models/vlm" / f"{request.param}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    VLMBrain.of_folder(folder, ("0", "1", "9")).save(path, title=request.param, made_by="test")
    brain = VLMBrain.load(path)
    kind = AutoModelForImageTextToText if brain.sees else AutoModelForCausalLM
    assert brain.ref is not None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "__array__ implementation", DeprecationWarning)
        asked = load_pretrained(brain.ref)
    return Small(folder, brain, kind.from_pretrained(folder).eval(), asked)


def _logits(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    with torch.inference_mode():
        logits: torch.Tensor = model(**inputs).logits
    return logits[0, -1]


def _ask(node: Any, image: np.ndarray, prompt: str, *adapters: Adapter) -> Answer:
    answer: Answer
    if isinstance(node, VLMStrategist):
        answer = node.tick(image, prompt, list(adapters))
    else:
        answer = node.tick(prompt, list(adapters))
    return answer


@pytest.mark.slow
def test_it_reads_and_answers_as_transformers_alone_does(small: Small) -> None:
    asked = small.asked
    chooser, writer = small.node(answer="choose"), small.node(max_tokens=8)
    tokens = [asked.token(answer) for answer in small.brain.answers]
    seen: set[float] = set()
    questions = [QUESTIONS[0], QUESTIONS[3], QUESTIONS[1]]
    with opened(chooser), opened(writer):
        for image, prompt in questions:
            # the same inputs
            expected = small.read(image, prompt)
            inputs = asked.read(image, prompt)
            assert inputs.keys() == expected.keys()
            for name, tensor in expected.items():
                assert torch.equal(inputs[name], tensor), name

            # the same logits, and the answer that they choose
            logits = _logits(small.model, expected)
            with torch.inference_mode():
                found = asked.next_logits(asked.model, inputs)
            assert torch.allclose(found, logits, rtol=1e-4, atol=1e-5)
            shares = torch.softmax(logits[tokens], 0).tolist()
            chosen = _ask(chooser, image, prompt)
            assert not isinstance(chosen.probabilities, Absent)
            assert list(chosen.probabilities.values()) == pytest.approx(shares, abs=1e-5)
            seen.add(round(shares[0], 5))

            # the same text
            count = expected["input_ids"].shape[1]
            written = small.model.generate(**expected, **GREEDY, max_new_tokens=8)[0, count:]
            text = asked.tokenizer.decode(written, skip_special_tokens=True)
            assert _ask(writer, image, prompt) == Answer(text, count, ABSENT, ABSENT)
    assert len(seen) == (3 if small.brain.sees else 2), "it looks, and it reads"


def test_in_bf16_it_answers_as_transformers_does_in_bf16(small: Small) -> None:
    kind = AutoModelForImageTextToText if small.brain.sees else AutoModelForCausalLM
    # in bf16, one implementation of attention differs from another by more than a rounding
    attention = FAMILIES[small.brain.model_type].attention
    model = kind.from_pretrained(
        small.folder, dtype=torch.bfloat16, attn_implementation=attention
    ).eval()
    image, prompt = QUESTIONS[1]
    inputs: dict[str, torch.Tensor] = {}
    for name, tensor in small.read(image, prompt).items():
        inputs[name] = tensor.to(torch.bfloat16) if tensor.is_floating_point() else tensor
    tokens = [small.asked.token(answer) for answer in small.brain.answers]
    expected = torch.softmax(_logits(model, inputs)[tokens].float(), 0).tolist()
    node = small.node(answer="choose", precision="bf16")
    with opened(node) as host:
        chosen = _ask(node, image, prompt)
    assert not isinstance(chosen.probabilities, Absent)
    assert list(chosen.probabilities.values()) == pytest.approx(expected, abs=1e-4)
    assert host.facts["node_model"].startswith("bf16 on cpu, ")


def test_an_adapter_of_peft_changes_the_answers_as_peft_does(small: Small, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    settings = LoraConfig(r=2, target_modules=LANGUAGE_LAYERS, init_lora_weights=False)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        changed = get_peft_model(copy.deepcopy(small.model), settings)
    changed.save_pretrained(tmp_path, save_embedding_layers=False)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = Path(small.brain.ref.file).stem  # type: ignore[union-attr]
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))

    # the adapter as we have it
    adapter, _ = pack(tmp_path)
    layers = {name.partition(".lora_")[0] for name in adapter.tensors}
    assert len(layers) == 14, "seven of each of two layers, and nothing of what sees"
    adapter.save(tmp_path / "lora.safetensors", title="t", made_by="test")
    link = LoRALoader(brain=LoraAdapter.load(tmp_path / "lora.safetensors")).tick()

    # the answers with it are those of PEFT
    image, prompt = QUESTIONS[1]
    logits = _logits(changed.merge_and_unload(), small.read(image, prompt))
    places = [small.asked.token(answer) for answer in small.brain.answers]
    expected = torch.softmax(logits[places], 0).tolist()
    node = small.node(answer="choose")
    with opened(node):
        before = _ask(node, image, prompt)
        after = _ask(node, image, prompt, link)
    assert not isinstance(before.probabilities, Absent)
    assert not isinstance(after.probabilities, Absent)
    assert list(after.probabilities.values()) == pytest.approx(expected, abs=1e-5)
    assert list(before.probabilities.values()) != pytest.approx(expected, abs=1e-3)

    # merged weights keep their names
    weights = weights_of(merged(small.asked.model, [(link.ref, 1.0)]))
    assert weights.keys() >= small.brain.tensors.keys(), "the names of its file"


def test_an_adapter_is_added_to_weights_in_bf16_as_peft_does(small: Small, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    assert small.brain.ref is not None
    asked = load_pretrained(small.brain.ref, placement.place("cpu", "bf16"))
    settings = LoraConfig(r=2, target_modules=LANGUAGE_LAYERS, init_lora_weights=False)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        changed = get_peft_model(copy.deepcopy(asked.model), settings)
    changed.save_pretrained(tmp_path, save_embedding_layers=False)
    adapter = LoraAdapter.of_folder(tmp_path, small.brain.ref)
    adapter.save(tmp_path / "lora.safetensors", title="t", made_by="test")
    ref = LoraAdapter.load(tmp_path / "lora.safetensors").ref
    assert ref is not None
    found = merged(asked.model, [(ref, 1.0)]).state_dict()
    for name, tensor in changed.merge_and_unload().state_dict().items():
        assert torch.equal(found[name], tensor), name


def test_a_model_that_is_too_large_is_refused_with_its_size(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert small.brain.ref is not None
    tensors = read_header(Path(small.brain.ref.file)).tensors
    sizes = small.brain.memory_sizes(tensors)
    weights = sum(tensor.nbytes for tensor in small.asked.model.parameters())
    assert sizes["f32"] == weights == 2 * sizes["bf16"]
    monkeypatch.setenv("MINIBRAINS_MODELS_MB", "0")
    said = rf"takes {sizes['f32'] / 1e6:.1f} MB in f32 on cpu, and models may take 0.0 MB"
    with pytest.raises(MinibrainsError, match=said), opened(small.node()):
        pass


def test_the_node_for_the_other_kind_of_model_is_refused(small: Small) -> None:
    if small.brain.sees:
        with pytest.raises(MinibrainsError, match="the model of this brain sees; use a VLM"):
            LLMStrategist(brain=small.brain).check()
    else:
        with pytest.raises(MinibrainsError, match="sees nothing; use an LLMStrategist"):
            VLMStrategist(brain=small.brain).check()


def test_a_marker_of_any_family_is_no_second_picture(small: Small) -> None:
    if not small.brain.sees:
        return
    markers = small.asked.processor.all_special_multimodal_tokens
    assert markers
    for marker in markers:
        with pytest.raises(MinibrainsError, match="which stands for a picture"):
            small.asked.read(QUESTIONS[0][0], f"what is {marker}?")


# -- folders as the Hub has them -------------------------------------------------------------------


@pytest.mark.parametrize("family", tiny_families.FAMILIES)
@pytest.mark.parametrize("has_index", [True, False])
def test_a_model_in_several_files_under_the_names_of_the_hub_is_the_same_model(
    family: str, has_index: bool, tmp_path: Path
) -> None:
    tiny_families.FAMILIES[family](tmp_path / "new")
    shutil.copytree(tmp_path / "new", tmp_path / "old")
    weights = load_file(tmp_path / "old/model.safetensors")
    (tmp_path / "old/model.safetensors").unlink()
    parts: list[dict[str, torch.Tensor]] = [{}, {}]
    for place, name in enumerate(sorted(weights)):
        older = name.replace("vision_tower.", "vision_tower.vision_model.")
        parts[place % 2][older] = weights[name]
    weight_map: dict[str, str] = {}
    for place, part in enumerate(parts, start=1):
        file = f"model-{place:05}-of-00002.safetensors"
        save_file(part, tmp_path / "old" / file, {"format": "pt"})
        weight_map |= dict.fromkeys(part, file)
    if has_index:
        index = {"metadata": {}, "weight_map": weight_map}
        (tmp_path / "old/model.safetensors.index.json").write_text(json.dumps(index))
    models: list[Any] = []
    for name in ("new", "old"):
        path = tmp_path / f"{name}.safetensors"
        VLMBrain.of_folder(tmp_path / name).save(path, title=name, made_by="test")
        ref = VLMBrain.load(path).ref
        assert ref is not None
        models.append(load_pretrained(ref).model.state_dict())
    new, old = models
    assert new.keys() == old.keys()
    for name, tensor in new.items():
        assert torch.equal(tensor, old[name]), name


def test_a_configuration_whose_text_sizes_are_at_the_top_is_checked(tmp_path: Path) -> None:
    tiny_families.save_qwen(tmp_path, "qwen2_5_vl")
    config = json.loads((tmp_path / "config.json").read_text())
    config |= config.pop("text_config")
    config |= {"model_type": "qwen2_5_vl", "num_hidden_layers": 3}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(BrainError, match=r"num_hidden_layers is 3, and the tensors .* are of 2"):
        VLMBrain.of_folder(tmp_path).save(tmp_path / "a.safetensors", title="t", made_by="t")


def test_what_a_folder_says_of_pictures_is_in_the_file(tmp_path: Path) -> None:
    tiny_families.save_idefics3(tmp_path)
    brain = VLMBrain.of_folder(tmp_path)
    brain.save(tmp_path / "a.safetensors", title="t", made_by="t")
    assert json.loads(brain.files["processor_config.json"])["image_seq_len"] == 4
    ref = VLMBrain.load(tmp_path / "a.safetensors").ref
    assert ref is not None
    asked = load_pretrained(ref)
    assert type(asked) is Pretrained
    assert asked.processor.image_seq_len == 4
