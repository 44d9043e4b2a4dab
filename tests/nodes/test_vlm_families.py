"""Families of vision-language models: asked by transformers' own calls,
or by a way that comes to the same in less time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from minibrains import Absent, MinibrainsError
from minibrains.files import bundled_dir
from minibrains.testing import check_node, opened
from nodes.language.asking import Pretrained
from nodes.language.model_files import FAMILIES
from nodes.language.pretrained import VLMBrain, load_pretrained
from nodes.language.prompt import PromptTemplate
from nodes.language.qwen3_vl_fast import FastQwen3VL
from nodes.language.vlm import GREEDY, VLMStrategist

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
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where it is kept which models were tried out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINIBRAINS_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def both() -> tuple[Pretrained, Pretrained]:
    """The shipped model twice: asked by transformers' own calls, and in less time."""
    assert QWEN.ref is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FAMILIES, "qwen3_vl", FAMILIES["qwen3_vl"]._replace(asked_by=Pretrained))
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
    found: dict[type[Pretrained], list[str]] = {}
    for asked_by in (Pretrained, FastQwen3VL):
        monkeypatch.setitem(FAMILIES, "qwen3_vl", FAMILIES["qwen3_vl"]._replace(asked_by=asked_by))
        # a file of its own, so that no other test's model is found
        path = tmp_path / asked_by.__name__
        brain = VLMBrain(QWEN.tensors, files=QWEN.files, answers=QWEN.answers)
        brain.save(path, title="t", made_by="test")
        found[asked_by] = []
        for answer in ("choose", "generate"):
            node = VLMStrategist(brain=VLMBrain.load(path), answer=answer, most=6)
            with opened(node):
                for image, prompt in QUESTIONS:
                    found[asked_by].append(node.tick(image, prompt, []).text)
    assert found[Pretrained] == found[FastQwen3VL]


# -- Idefics3, the family of SmolVLM: nothing but its classes --------------------------------------

CHAT = """\
{% for message in messages %}<|im_start|>{{ message.role }}:
{% for part in message.content %}{% if part.type == 'image' %}<image>{% else %}\
{{ part.text }}{% endif %}{% endfor %}
<end_of_utterance>
{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"""
MARKS = [
    "<pad>",
    "<|im_start|>",
    "<end_of_utterance>",
    "<fake_token_around_image>",
    "<image>",
    "<global-img>",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Idefics3 as transformers saves it; each byte is a token,
    and pictures are cut up as SmolVLM's are.
    """
    from transformers import (
        Idefics3Config,
        Idefics3ForConditionalGeneration,
        Idefics3Processor,
        PreTrainedTokenizerFast,
    )
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokens = [*MARKS, *sorted(bytes_.alphabet())]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    letters = Tokenizer(models.BPE(vocabulary, []))
    letters.pre_tokenizer = bytes_
    letters.decoder = decoders.ByteLevel()
    others = ["<|im_start|>", "<fake_token_around_image>", "<image>", "<global-img>"]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=letters,
        pad_token="<pad>",
        eos_token="<end_of_utterance>",
        extra_special_tokens=others,
    )
    pictures = Idefics3ImageProcessorPil(
        size={"longest_edge": 64}, max_image_size={"longest_edge": 32}
    )
    layers = {
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    text = {
        "vocab_size": len(vocabulary),
        "num_key_value_heads": 1,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    config = Idefics3Config(
        image_token_id=4,
        pad_token_id=0,
        scale_factor=2,
        vision_config={**layers, "image_size": 32, "patch_size": 8},
        text_config={**layers, **text, "model_type": "llama"},
    )
    torch.manual_seed(0)
    model = Idefics3ForConditionalGeneration(config)
    model.generation_config.update(eos_token_id=2, pad_token_id=0)
    folder = tmp_path_factory.mktemp("idefics3")
    model.save_pretrained(folder)
    Idefics3Processor(pictures, tokenizer, image_seq_len=4, chat_template=CHAT).save_pretrained(
        folder
    )
    return folder


@pytest.fixture(scope="module")
def small(folder: Path) -> VLMBrain:
    path = folder.parent / "idefics3.safetensors"
    VLMBrain.of_folder(folder, ("0", "1", "9")).save(path, title="A tiny Idefics3", made_by="test")
    return VLMBrain.load(path)


@pytest.mark.slow
def test_a_family_without_a_fast_way_answers_as_transformers_alone_does(
    folder: Path, small: VLMBrain
) -> None:
    from transformers import AutoProcessor, Idefics3ForConditionalGeneration

    model = Idefics3ForConditionalGeneration.from_pretrained(folder).eval()
    processor = AutoProcessor.from_pretrained(folder)
    tokens = [processor.tokenizer.convert_tokens_to_ids(answer) for answer in small.answers]
    chooser = VLMStrategist(brain=small, answer="choose")
    writer = VLMStrategist(brain=small, most=8)
    with opened(chooser), opened(writer), torch.inference_mode():
        for image, prompt in QUESTIONS:
            content = [
                {"type": "image", "image": Image.fromarray(image)},
                {"type": "text", "text": prompt},
            ]
            inputs = processor.apply_chat_template(
                [{"role": "user", "content": content}],
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
            )
            asked = inputs["input_ids"].shape[1]
            shares = torch.softmax(model(**inputs).logits[0, -1, tokens], 0)
            chosen = chooser.tick(image, prompt, [])
            assert not isinstance(chosen.probabilities, Absent)
            assert list(chosen.probabilities.values()) == pytest.approx(shares.tolist(), abs=1e-6)
            assert (chosen.text, chosen.tokens) == (small.answers[int(shares.argmax())], asked)
            written = model.generate(**inputs, **GREEDY, max_new_tokens=8)[0, asked:]
            assert writer.tick(image, prompt, []).text == processor.decode(
                written, skip_special_tokens=True
            )


def test_a_family_without_a_fast_way_keeps_the_rules(small: VLMBrain) -> None:
    ticks = [{"image": image, "prompt": prompt, "adapters": []} for image, prompt in QUESTIONS[:3]]
    first, second, third = check_node(VLMStrategist(brain=small, answer="choose"), *ticks)
    assert len({first.confidence, second.confidence, third.confidence}) == 3, (
        "it looks, and it reads"
    )


def test_a_marker_of_another_family_is_no_second_picture(small: VLMBrain) -> None:
    node = VLMStrategist(brain=small)
    with (
        opened(node),
        pytest.raises(MinibrainsError, match="contains <image>, which stands for a picture"),
    ):
        node.tick(QUESTIONS[0][0], "what is <image>?", [])


def test_what_a_folder_says_of_pictures_is_in_the_file(small: VLMBrain) -> None:
    assert json.loads(small.files["processor_config.json"])["image_seq_len"] == 4
    assert small.ref is not None
    asked = load_pretrained(small.ref)
    assert type(asked) is Pretrained
    assert asked.processor.image_seq_len == 4
