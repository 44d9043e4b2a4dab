"""A small vision-language model and an adapter for it, both with random weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from minibrains.loading import BrainRef
from nodes.language.lora import LoraAdapter
from nodes.language.pretrained import VisionLanguageModel, load_pretrained
from server.commands.make_brains.fighting import BASIC
from server.commands.make_brains.made_brain import MadeBrain
from server.commands.make_brains.tokenizer import SPECIAL, VOCABULARY, train_tokenizer

if TYPE_CHECKING:
    from transformers import Qwen3VLForConditionalGeneration

MADE_BY = "python models/make_vlm.py"
ANSWERS = tuple(str(action) for action in BASIC)

# few and wide layers: a decision has so many milliseconds, and at this size a layer costs more by its calls than by its sums;
# wider where there are fewest tokens: 12 are merged from the picture's 48 patches, and the text layers see 60
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
"""Fewest and most pixels of a picture; it is scaled to lie between."""
ADAPTED = r"^(?!.*(visual|vision)).*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)$"
"""The layers that the adapter changes: those of the text."""


def untrained_vlm() -> MadeBrain:
    """The model with its tokenizer and the processor of its pictures."""
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    with TemporaryDirectory() as folder:
        untrained_model(5).save_pretrained(folder)
        train_tokenizer().save_pretrained(folder)
        Qwen2VLImageProcessorPil(size=PICTURE, patch_size=16).save_pretrained(folder)
        model = VisionLanguageModel.of_folder(Path(folder), ANSWERS)
    text = "Random weights: it looks, reads and answers, but knows nothing. To show the graph a trained one will play in."
    return MadeBrain(model, "Qwen3-VL of 1.6 million numbers, untrained", MADE_BY, {"description": text})


def untrained_lora() -> MadeBrain:
    """A random change of that model, of rank 4."""
    from peft import LoraConfig, get_peft_model

    with TemporaryDirectory() as folder:
        file = Path(folder) / "base.safetensors"
        base = BrainRef(str(file), untrained_vlm().save(file))
        config = LoraConfig(r=4, lora_alpha=8, target_modules=ADAPTED)
        changed = get_peft_model(load_pretrained(base).model, config)
        weights = {name: weight for name, weight in changed.named_parameters() if "lora_" in name}
        _fill(weights, 0.1, seed=1)
        adapter_folder = Path(folder) / "adapter"
        changed.half().save_pretrained(adapter_folder, save_embedding_layers=False)
        adapter = LoraAdapter.of_folder(adapter_folder, base)
    more = {
        "description": "Random numbers: it changes what the model answers, and teaches it nothing.",
        "parents": [base.sha256],
    }
    return MadeBrain(adapter, "A random change of the untrained Qwen3-VL", MADE_BY, more)


def untrained_model(seed: int) -> Qwen3VLForConditionalGeneration:
    """Return a Qwen3-VL of 1.6 million numbers with random weights."""
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
    _fill(dict(model.named_parameters()), 0.05, seed)
    return model.half()


def _fill(parameters: Mapping[str, Any], scale: float, seed: int) -> None:
    """Fill matrices with random numbers; of what has one dimension, biases with 0 and scales with 1."""
    import torch

    random = np.random.default_rng(seed)
    for name, parameter in sorted(parameters.items()):
        # drawn for every parameter, so that what one is does not change the numbers of the next
        numbers = random.standard_normal(parameter.shape, np.float32) * scale
        if parameter.ndim > 1:
            parameter.data = torch.from_numpy(numbers)
        elif name.endswith("bias"):
            parameter.data = torch.full_like(parameter, 0.0)
        else:
            parameter.data = torch.full_like(parameter, 1.0)
