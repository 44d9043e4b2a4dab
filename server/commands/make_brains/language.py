"""A small vision-language model and an adapter for it, both with random weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from minibrains.loading import BrainRef
from minibrains.torch_node import limit_threads
from nodes.language.asking import Pretrained
from nodes.language.lora import LoraAdapter
from nodes.language.model_files import FAMILIES, LANGUAGE_LAYERS
from nodes.language.pretrained import VLMBrain, load_pretrained, load_processor
from nodes.language.qwen3_vl_fast import FastQwen3VL
from server.commands.make_brains.fighting import BASIC, sf2_prompt
from server.commands.make_brains.made_brain import MadeBrain
from server.commands.make_brains.questions import random_questions
from server.commands.make_brains.tokenizer import SPECIAL, VOCABULARY, train_tokenizer

if TYPE_CHECKING:
    from transformers import Qwen3VLForConditionalGeneration

COMMAND = "python -m server make-brains"
MODEL = "vlm/sf2-untrained.safetensors"
ADAPTER_COMMAND = f"{COMMAND} lora/sf2-untrained.safetensors"
"""The command that made the adapter for the first time. It is part of the file's SHA-256, so it has
the former folder."""
ANSWERS = tuple(str(action) for action in BASIC)

QUESTIONS = 32
"""Number of random moments that the model is asked about, to see whether its answers vary."""
SPREAD = 3
"""Least number of different answers; none of them may be given to more than half of the
questions."""
SWAYED = QUESTIONS // 4
"""Least number of answers that the adapter must change."""

# few and wide layers: the time for a decision is limited, and at this size a layer's calls cost
# more than its arithmetic; wider where there are fewer tokens: 12 are merged from the picture's 48
# patches, while the text layers process 160
TEXT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 192,
    "intermediate_size": 208,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "head_dim": 64,
    "max_position_embeddings": 4096,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "mrope_section": [12, 10, 10],
        "mrope_interleaved": True,
    },
}
VISION = {
    "depth": 1,
    "hidden_size": 160,
    "intermediate_size": 448,
    "num_heads": 2,
    "patch_size": 16,
    "out_hidden_size": 192,
    "num_position_embeddings": 400,
    "deepstack_visual_indexes": [],
}
PICTURE = {
    "shortest_edge": 32 * 32,
    "longest_edge": 640 * 640,
}
"""Smallest and largest number of pixels of a picture, which is scaled to lie between them."""


def untrained_vlm() -> MadeBrain:
    """Make the model with its tokenizer and picture processor:
    the first random model whose answers vary.
    """
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    with TemporaryDirectory() as name:
        folder = Path(name)
        train_tokenizer().save_pretrained(folder)
        Qwen2VLImageProcessorPil(size=PICTURE, patch_size=16).save_pretrained(folder)
        model = _empty_model()
        asked = FastQwen3VL(model, load_processor(folder, FAMILIES["qwen3_vl"]))
        questions = _random_questions(asked)
        weights = dict(model.named_parameters())
        for seed in count():
            _fill(weights, 0.05, seed)
            if _vary(_answers(asked, model, questions)):
                break
        model.half().save_pretrained(folder)
        brain = VLMBrain.of_folder(folder, ANSWERS)
    text = (
        "Random weights: it looks, reads and answers, but knows nothing. "
        "To show the graph a trained one will play in."
    )
    return MadeBrain(
        brain,
        "Qwen3-VL of 2.1 million numbers, untrained",
        f"{COMMAND} {MODEL}",
        {"description": text},
    )


def untrained_lora() -> MadeBrain:
    """Make a random adapter of rank 4: the first one that changes enough
    answers and leaves them varied.
    """
    from peft import LoraConfig, get_peft_model

    with TemporaryDirectory() as folder:
        file = Path(folder) / "base.safetensors"
        base = BrainRef(str(file), untrained_vlm().save(file))
        asked = load_pretrained(base)
        questions = _random_questions(asked)
        before = _answers(asked, asked.model, questions)
        config = LoraConfig(r=4, lora_alpha=8, target_modules=LANGUAGE_LAYERS)
        changed = get_peft_model(asked.model, config)
        weights = {name: weight for name, weight in changed.named_parameters() if "lora_" in name}
        for seed in count():
            _fill(weights, 0.1, seed)
            after = _answers(asked, changed.base_model.model, questions)
            swayed = np.count_nonzero(np.not_equal(before, after))
            if swayed >= SWAYED and _vary(after):
                break
        adapter_folder = Path(folder) / "adapter"
        changed.half().save_pretrained(adapter_folder, save_embedding_layers=False)
        adapter = LoraAdapter.of_folder(adapter_folder, base)
    more = {
        "description": "Random numbers: it changes what the model answers, and teaches it nothing.",
        "parents": [base.sha256],
    }
    return MadeBrain(adapter, "A random change of the untrained Qwen3-VL", ADAPTER_COMMAND, more)


def _empty_model() -> Qwen3VLForConditionalGeneration:
    """Return a Qwen3-VL of 2.1 million parameters, not yet filled."""
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    ids = {name: number for number, name in enumerate(SPECIAL)}
    pad, end = ids["pad_token"], ids["eos_token"]
    config = Qwen3VLConfig(
        text_config={**TEXT, "pad_token_id": pad, "eos_token_id": end},
        vision_config=VISION,
        tie_word_embeddings=True,
        image_token_id=ids["image_token"],
        video_token_id=ids["video_token"],
        vision_start_token_id=ids["vision_start_token"],
        vision_end_token_id=ids["vision_end_token"],
    )
    model = Qwen3VLForConditionalGeneration(config)
    model.generation_config.update(eos_token_id=end, pad_token_id=pad)
    return model.eval()


def _random_questions(asked: Pretrained) -> list[Mapping[str, Any]]:
    """Return questions with pictures of coloured squares, as model inputs."""
    random = np.random.default_rng(0)
    questions = []
    for question in random_questions(sf2_prompt(), QUESTIONS, random):
        squares = random.integers(0, 256, (6, 8, 3), np.uint8)
        picture = squares.repeat(16, axis=0).repeat(16, axis=1)
        questions.append(asked.read(picture, question))
    return questions


def _answers(asked: Pretrained, model: Any, questions: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the index into ANSWERS that a model chooses for each question."""
    import torch

    limit_threads()
    tokens = [asked.token(answer) for answer in ANSWERS]
    answers = []
    with torch.inference_mode():
        for question in questions:
            logits = asked.next_logits(model, question)[tokens]
            answers.append(int(logits.argmax()))
    return answers


def _vary(answers: Sequence[int]) -> bool:
    """Return whether the answers depend on the questions."""
    counts = Counter(answers)
    return len(counts) >= SPREAD and max(counts.values()) <= len(answers) // 2


def _fill(parameters: Mapping[str, Any], scale: float, seed: int) -> None:
    """Fill matrices with random numbers, biases with 0, and one-dimensional scales with 1."""
    import torch

    random = np.random.default_rng(seed)
    for name, parameter in sorted(parameters.items()):
        # drawn for every parameter, so that the kind of one does not change the numbers of the next
        numbers = random.standard_normal(parameter.shape, np.float32) * scale
        if parameter.ndim > 1:
            rounded = torch.from_numpy(numbers).half()  # the precision of the file
            parameter.data = rounded.float()
        elif name.endswith("bias"):
            parameter.data = torch.full_like(parameter, 0.0)
        else:
            parameter.data = torch.full_like(parameter, 1.0)
