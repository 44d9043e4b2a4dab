"""The sizes of published models of each family, for `bench thoughts`.

They are those of the models' own configurations: whatever determines how much is computed. What a
model knows, and settings without an effect on time and memory, are not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from minibrains.errors import MinibrainsError, suggest
from server.commands.bench.random_models import ModelSize


class PublishedModel(NamedTuple):
    """A published model, without its weights."""

    family: str
    """The name of its family in docs/models.md."""
    model_type: str
    """The same in a configuration."""
    size: ModelSize


_SO400M: Final[Mapping[str, Any]] = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "patch_size": 14,
    "vision_use_head": False,
}
"""SigLIP So400m, which several families see with."""


def _smolvlm(text: Mapping[str, Any]) -> PublishedModel:
    """Return one of the smaller SmolVLM, which see with SigLIP base."""
    vision = {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "patch_size": 16,
        "image_size": 512,
    }
    pictures = {"size": {"longest_edge": 2048}, "max_image_size": {"longest_edge": 512}}
    others = {"scale_factor": 4}
    text = {"vocab_size": 49280, "head_dim": 64, **text}
    size = ModelSize(text, vision, pictures, picture_tokens=64, others=others, parts=6)
    return PublishedModel("Idefics3", "idefics3", size)


def _qwen3(text: Mapping[str, Any]) -> PublishedModel:
    text = {"vocab_size": 151936, "num_key_value_heads": 8, "head_dim": 128, **text}
    return PublishedModel("Qwen3", "qwen3", ModelSize(text, others={"tie_word_embeddings": True}))


PUBLISHED: Final[Mapping[str, PublishedModel]] = {
    "Qwen2.5-VL-3B": PublishedModel(
        "Qwen2.5-VL",
        "qwen2_5_vl",
        ModelSize(
            text={
                "vocab_size": 151936,
                "hidden_size": 2048,
                "intermediate_size": 11008,
                "num_hidden_layers": 36,
                "num_attention_heads": 16,
                "num_key_value_heads": 2,
                "rope_parameters": {
                    "rope_type": "default",
                    "rope_theta": 1e6,
                    "mrope_section": [16, 24, 24],
                },
            },
            vision={
                "depth": 32,
                "hidden_size": 1280,
                "intermediate_size": 3420,
                "num_heads": 16,
                "out_hidden_size": 2048,
                "patch_size": 14,
                "window_size": 112,
                "fullatt_block_indexes": [7, 15, 23, 31],
            },
            pictures={"size": {"shortest_edge": 3136, "longest_edge": 12845056}},
            others={"tie_word_embeddings": True},
        ),
    ),
    "Qwen3-VL-2B": PublishedModel(
        "Qwen3-VL",
        "qwen3_vl",
        ModelSize(
            text={
                "vocab_size": 151936,
                "hidden_size": 2048,
                "intermediate_size": 6144,
                "num_hidden_layers": 28,
                "num_attention_heads": 16,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "rope_parameters": {
                    "rope_type": "default",
                    "rope_theta": 5e6,
                    "mrope_section": [24, 20, 20],
                    "mrope_interleaved": True,
                },
            },
            vision={
                "depth": 24,
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "num_heads": 16,
                "out_hidden_size": 2048,
                "patch_size": 16,
                "num_position_embeddings": 2304,
                "deepstack_visual_indexes": [5, 11, 17],
            },
            pictures={"size": {"shortest_edge": 65536, "longest_edge": 16777216}},
            others={"tie_word_embeddings": True},
        ),
    ),
    "SmolVLM-256M": _smolvlm(
        {
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
        }
    ),
    "SmolVLM-500M": _smolvlm(
        {
            "hidden_size": 960,
            "intermediate_size": 2560,
            "num_hidden_layers": 32,
            "num_attention_heads": 15,
            "num_key_value_heads": 5,
        }
    ),
    "PaliGemma2-3B-224": PublishedModel(
        "PaliGemma 2",
        "paligemma",
        ModelSize(
            text={
                "model_type": "gemma2",
                "vocab_size": 257216,
                "hidden_size": 2304,
                "intermediate_size": 9216,
                "num_hidden_layers": 26,
                "num_attention_heads": 8,
                "num_key_value_heads": 4,
                "head_dim": 256,
            },
            vision={**_SO400M, "image_size": 224, "projection_dim": 2304},
            pictures={"size": {"height": 224, "width": 224}},
            picture_tokens=256,
            others={"projection_dim": 2304, "hidden_size": 2304},
        ),
    ),
    "Gemma3-4B": PublishedModel(
        "Gemma 3",
        "gemma3",
        ModelSize(
            text={
                "vocab_size": 262208,
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "num_hidden_layers": 34,
                "num_attention_heads": 8,
                "num_key_value_heads": 4,
                "head_dim": 256,
                "sliding_window": 1024,
            },
            vision={**_SO400M, "image_size": 896},
            pictures={"size": {"height": 896, "width": 896}},
            picture_tokens=256,
        ),
    ),
    "Qwen3-0.6B": _qwen3(
        {
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
        }
    ),
    "Qwen3-4B": _qwen3(
        {
            "hidden_size": 2560,
            "intermediate_size": 9728,
            "num_hidden_layers": 36,
            "num_attention_heads": 32,
        }
    ),
}
"""The name of a model -> its family and sizes."""


def find_models(names: Sequence[str]) -> dict[str, PublishedModel]:
    """Return the models with these names, or of the families with these names; all if there is no
    name.

    Raises MinibrainsError if a name is neither.
    """
    if not names:
        return dict(PUBLISHED)
    families = [model.family for model in PUBLISHED.values()]
    known = list(dict.fromkeys([*families, *PUBLISHED]))
    found: dict[str, PublishedModel] = {}
    for name in names:
        if name not in known:
            hint = suggest(name, known) or ""
            raise MinibrainsError(
                f"there is no model or family {name!r} to measure; expected one of "
                f"{', '.join(known)}. {hint}".rstrip(" ")
            )
        for title, model in PUBLISHED.items():
            if name in (title, model.family):
                found[title] = model
    return found
