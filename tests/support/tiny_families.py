"""A tiny model with random weights of each family, of transformers' real classes, as a folder that
`save_pretrained` has written.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

LAYERS = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
TEXT = {
    **LAYERS,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EYES = {**LAYERS, "image_size": 32, "patch_size": 8}
QWEN_CHAT = """\
{% for message in messages %}<|im_start|>{{ message.role }}
{% for part in message.content %}{% if part.type == 'image' %}<|vision_start|><|image_pad|>\
<|vision_end|>{% else %}{{ part.text }}{% endif %}{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TEXT_CHAT = """\
{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
IDEFICS_CHAT = """\
{% for message in messages %}<|im_start|>{{ message.role }}:
{% for part in message.content %}{% if part.type == 'image' %}<image>{% else %}\
{{ part.text }}{% endif %}{% endfor %}
<end_of_utterance>
{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"""
GEMMA_CHAT = """\
{{ bos_token }}{% for message in messages %}<start_of_turn>{{ message.role }}
{% for part in message.content %}{% if part.type == 'image' %}<start_of_image>{% else %}\
{{ part.text | trim }}{% endif %}{% endfor %}<end_of_turn>
{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}"""


def tokenizer(*special: str, named: dict[str, str] | None = None, room: int = 0) -> Any:
    """Return a tokenizer in which each byte is a token.

    Args:
        special: The special tokens after padding, beginning and end, which are 0, 1 and 2.
        named: Special tokens that the tokenizer has attributes for.
        room: Number of further tokens, up to which the vocabulary is filled.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokens = ["<pad>", "<bos>", "<eos>", *special, *sorted(letters.alphabet())]
    tokens += [f"<unused{place}>" for place in range(room - len(tokens))]
    whole = Tokenizer(models.BPE({token: place for place, token in enumerate(tokens)}, []))
    whole.pre_tokenizer = letters
    whole.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=whole,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        extra_special_tokens=named or list(special),
    )


def save_qwen(folder: Path, model_type: str) -> None:
    """Save a Qwen2.5-VL or a Qwen3-VL."""
    import transformers
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    marks = ("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>")
    words = tokenizer(*marks, "<|image_pad|>", "<|video_pad|>")
    places = {
        "vision_start_token_id": 5,
        "vision_end_token_id": 6,
        "image_token_id": 7,
        "video_token_id": 8,
    }
    eyes: dict[str, Any] = {"depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2}
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    text = {**TEXT, "vocab_size": len(words), "rope_parameters": rope}
    if model_type == "qwen3_vl":
        patch, kind = 16, "Qwen3VL"
        eyes |= {
            "out_hidden_size": 32,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        }
    else:
        patch, kind = 14, "Qwen2_5_VL"
        text.pop("head_dim")
        eyes |= {"out_hidden_size": 32, "window_size": 56, "fullatt_block_indexes": [1]}
    eyes |= {"patch_size": patch, "spatial_merge_size": 2, "temporal_patch_size": 2}
    config = getattr(transformers, f"{kind}Config")(
        text_config=text, vision_config=eyes, tie_word_embeddings=False, **places
    )
    _save_model(getattr(transformers, f"{kind}ForConditionalGeneration"), config, folder)
    words.chat_template = QWEN_CHAT
    words.save_pretrained(folder)
    sizes = {"shortest_edge": 4 * patch**2, "longest_edge": 64 * patch**2}
    Qwen2VLImageProcessorPil(patch_size=patch, size=sizes).save_pretrained(folder)


def save_idefics3(folder: Path) -> None:
    """Save an Idefics3, whose pictures are cut up as SmolVLM's are."""
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration, Idefics3Processor
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    marks = ("<|im_start|>", "<fake_token_around_image>", "<image>", "<global-img>")
    words = tokenizer(*marks, "<end_of_utterance>")
    pictures = Idefics3ImageProcessorPil(
        size={"longest_edge": 64}, max_image_size={"longest_edge": 32}
    )
    config = Idefics3Config(
        image_token_id=5,
        pad_token_id=0,
        scale_factor=2,
        vision_config=EYES,
        text_config={**TEXT, "vocab_size": len(words), "model_type": "llama"},
    )
    _save_model(Idefics3ForConditionalGeneration, config, folder)
    Idefics3Processor(pictures, words, image_seq_len=4, chat_template=IDEFICS_CHAT).save_pretrained(
        folder
    )


def save_paligemma(folder: Path, text_type: str) -> None:
    """Save a PaliGemma, with the text model of version 1 (gemma) or 2 (gemma2)."""
    from transformers import (
        PaliGemmaConfig,
        PaliGemmaForConditionalGeneration,
        PaliGemmaProcessor,
    )
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

    words = tokenizer(named={"image_token": "<image>"})
    pictures = SiglipImageProcessorPil(size={"height": 32, "width": 32})
    pictures.image_seq_length = 16
    processor = PaliGemmaProcessor(pictures, words)
    config = PaliGemmaConfig(
        image_token_id=processor.image_token_id,
        projection_dim=32,
        hidden_size=32,
        vision_config={**EYES, "projection_dim": 32, "model_type": "siglip_vision_model"},
        text_config={**TEXT, "vocab_size": len(words), "model_type": text_type},
    )
    _save_model(PaliGemmaForConditionalGeneration, config, folder)
    processor.save_pretrained(folder)


def save_gemma3(folder: Path) -> None:
    """Save a Gemma 3."""
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration, Gemma3Processor
    from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

    marks = {
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
        "image_token": "<image_soft_token>",
    }
    words = tokenizer(*marks.values(), "<start_of_turn>", "<end_of_turn>", named=marks)
    pictures = Gemma3ImageProcessorPil(size={"height": 32, "width": 32})
    config = Gemma3Config(
        mm_tokens_per_image=4,
        boi_token_index=3,
        eoi_token_index=4,
        image_token_index=5,
        vision_config=EYES,
        text_config={**TEXT, "vocab_size": len(words)},
    )
    _save_model(Gemma3ForConditionalGeneration, config, folder)
    Gemma3Processor(pictures, words, chat_template=GEMMA_CHAT, image_seq_length=4).save_pretrained(
        folder
    )


def save_qwen3(folder: Path) -> None:
    """Save a Qwen3, which sees nothing."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    words = tokenizer("<|im_start|>", "<|im_end|>")
    _save_model(Qwen3ForCausalLM, Qwen3Config(**TEXT, vocab_size=len(words)), folder)
    words.chat_template = TEXT_CHAT
    words.save_pretrained(folder)


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


def _save_model(kind: Any, config: Any, folder: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model = kind(config)
        for parameter in model.parameters():
            if parameter.ndim > 1:
                # larger than transformers does: else all answers are about equal
                parameter.data.normal_(std=0.1)
    model.generation_config.update(eos_token_id=2, pad_token_id=0, bos_token_id=1)
    model.save_pretrained(folder)
