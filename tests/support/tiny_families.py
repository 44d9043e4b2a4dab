"""A tiny model with random weights of each family, of transformers' real classes, as a folder that
`save_pretrained` has written.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from nodes.language.model_files import FAMILIES as CLASSES
from server.commands.bench.random_models import TEXTS, ModelSize

LAYERS = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
TEXT = {**LAYERS, "num_key_value_heads": 1, "head_dim": 16}
EYES = {**LAYERS, "image_size": 32, "patch_size": 8}


def qwen_size(model_type: str) -> ModelSize:
    """Return the sizes of a Qwen2.5-VL or a Qwen3-VL."""
    eyes: dict[str, Any] = {"depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2}
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    text = {**TEXT, "rope_parameters": rope}
    if model_type == "qwen3_vl":
        patch = 16
        eyes |= {
            "out_hidden_size": 32,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        }
    else:
        patch = 14
        text.pop("head_dim")
        eyes |= {"out_hidden_size": 32, "window_size": 56, "fullatt_block_indexes": [1]}
    eyes |= {"patch_size": patch, "spatial_merge_size": 2, "temporal_patch_size": 2}
    edges = {"shortest_edge": 4 * patch**2, "longest_edge": 64 * patch**2}
    return ModelSize(text, eyes, {"size": edges}, others={"tie_word_embeddings": False})


def idefics3_size() -> ModelSize:
    """Return the sizes of an Idefics3, whose pictures are cut up as SmolVLM's are."""
    pictures = {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}}
    return ModelSize(TEXT, EYES, pictures, picture_tokens=4, others={"scale_factor": 2})


def paligemma_size(text_type: str) -> ModelSize:
    """Return the sizes of a PaliGemma with the text model of version 1 (gemma) or 2 (gemma2)."""
    return ModelSize(
        {**TEXT, "model_type": text_type},
        {**EYES, "projection_dim": 32},
        {"size": {"height": 32, "width": 32}},
        picture_tokens=16,
        others={"projection_dim": 32, "hidden_size": 32},
    )


def gemma3_size() -> ModelSize:
    """Return the sizes of a Gemma 3."""
    return ModelSize(TEXT, EYES, {"size": {"height": 32, "width": 32}}, picture_tokens=4)


def save_qwen(folder: Path, model_type: str) -> None:
    """Save a Qwen2.5-VL or a Qwen3-VL."""
    _save(folder, model_type, qwen_size(model_type))


def save_idefics3(folder: Path) -> None:
    """Save an Idefics3."""
    _save(folder, "idefics3", idefics3_size())


def save_paligemma(folder: Path, text_type: str) -> None:
    """Save a PaliGemma of version 1 (gemma) or 2 (gemma2)."""
    _save(folder, "paligemma", paligemma_size(text_type))


def save_gemma3(folder: Path) -> None:
    """Save a Gemma 3."""
    _save(folder, "gemma3", gemma3_size())


def save_qwen3(folder: Path) -> None:
    """Save a Qwen3, which sees nothing."""
    _save(folder, "qwen3", ModelSize(TEXT))


FAMILIES: dict[str, Callable[[Path], None]] = {
    "Qwen2.5-VL": lambda folder: save_qwen(folder, "qwen2_5_vl"),
    "Qwen3-VL": lambda folder: save_qwen(folder, "qwen3_vl"),
    "Idefics3": save_idefics3,
    "PaliGemma 1": lambda folder: save_paligemma(folder, "gemma"),
    "PaliGemma 2": lambda folder: save_paligemma(folder, "gemma2"),
    "Gemma 3": save_gemma3,
    "Qwen3": save_qwen3,
}
"""The name of a family -> what saves a model of it in a folder."""


def _save(folder: Path, model_type: str, size: ModelSize) -> None:
    import transformers

    texts = TEXTS[model_type](size)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model = getattr(transformers, CLASSES[model_type].model)(texts.config)
        for parameter in model.parameters():
            if parameter.ndim > 1:
                # larger than transformers does: else all answers are about equal
                parameter.data.normal_(std=0.1)
    model.generation_config.update(eos_token_id=2, pad_token_id=0, bos_token_id=1)
    model.save_pretrained(folder)
    for reader in texts.readers:
        reader.save_pretrained(folder)
