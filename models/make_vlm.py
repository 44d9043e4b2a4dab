"""Make the vision-language model and the adapter in this folder, both untrained: `python models/make_vlm.py`.

Run again it writes the same bytes. Trained ones come from workflows instead.
"""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from make import LICENSE, SF2_BASIC, SF2_KEYWORDS, sf2_prompt
from peft import LoraConfig, get_peft_model
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3VLConfig, Qwen3VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from minibrains.loading import BrainRef
from nodes.fighting.features import STATUS
from nodes.language.lora import LoraAdapter
from nodes.language.pretrained import VisionLanguageModel, load_pretrained

MADE_BY = "python models/make_vlm.py"
PEOPLE = {"made_by": MADE_BY, "license": LICENSE, "author": "Minibrains"}
ANSWERS = tuple(map(str, SF2_BASIC))
SPECIAL = {
    "pad_token": "<|endoftext|>", "start_token": "<|im_start|>", "eos_token": "<|im_end|>", "image_token": "<|image_pad|>",
    "video_token": "<|video_pad|>", "vision_start_token": "<|vision_start|>", "vision_end_token": "<|vision_end|>",
}  # fmt: skip
"""In the order of their ids, which the configuration names."""
CHAT = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% for part in message.content -%}
{%- if part.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>{%- else -%}{{ part.text }}{%- endif -%}
{%- endfor -%}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}
"""
FILLED_IN = (
    "right", "left", "even", "you lead by ", "you are behind by ", "close", "mid", "far", "unknown", "nothing yet", "you ",
    "-", "+",
    *(f" hp, {moved}{end}" for moved in ("toward", "away", "still") for end in ("; other ", "")),
)  # fmt: skip
"""What the prompt's braces may be filled with, beside numbers, statuses and advice."""
# few and wide layers: a decision has so many milliseconds, and at this size a layer costs more by its calls than by its sums;
# wider where there are fewest tokens: 12 are merged from the picture's 48 patches, and the text layers see 60
TEXT = {
    "vocab_size": 512, "hidden_size": 192, "intermediate_size": 208, "num_hidden_layers": 2, "num_attention_heads": 3,
    "num_key_value_heads": 1, "head_dim": 64, "max_position_embeddings": 4096,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [12, 10, 10], "mrope_interleaved": True},
}  # fmt: skip
VISION = {
    "depth": 1, "hidden_size": 160, "intermediate_size": 448, "num_heads": 2, "patch_size": 16, "out_hidden_size": 192,
    "num_position_embeddings": 400, "deepstack_visual_indexes": [],
}  # fmt: skip
MODULES = r"^(?!.*(visual|vision)).*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)$"


def phrases() -> list[str]:
    """What our prompts say in the same words each time, the longest first."""
    prompt = sf2_prompt()
    between = [text for text, *_ in Formatter().parse(prompt.template)]
    said = {*between, prompt.close, prompt.mid, prompt.far, *FILLED_IN, *STATUS.values()}
    return sorted((text for text in said if " " in text), key=lambda text: (-len(text), text))


def tokenizer() -> PreTrainedTokenizerFast:
    """One token for each phrase and each word of our prompts, with the space before it, for each digit and for each answer.

    All other text is told in bytes. Phrases: a model of this size is the quicker the less it has to read, and what never
    changes tells it nothing.
    """
    texts = [*phrases(), *FILLED_IN, *STATUS.values(), "user", "assistant"]
    texts += [word for words in SF2_KEYWORDS.values() for word in words]
    longer = "|".join(answer for answer in ANSWERS if len(answer) > 1)
    whole = "|".join(re.escape(text) + r"(?![A-Za-z])" * text[-1].isalpha() for text in phrases())
    pattern = Regex(rf"{whole}| ?(?<![0-9])(?:{longer})(?![0-9])| ?[0-9]| ?[A-Za-z]+| ?[^\sA-Za-z0-9]+|\n| ")
    words = {word for text in texts for word in re.findall(r"[A-Za-z]+|[^\sA-Za-z0-9]+", text)} | {*ANSWERS, *"0123456789"}
    split = pre_tokenizers.Split(pattern, "isolated")
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = sorted(bytes_.alphabet())
    spaced = [f"{before}{word}" for word in sorted(words) for before in ("", "Ġ")]
    as_bytes = [bytes_.pre_tokenize_str(text)[0][0] for text in phrases()]
    tokens = dict.fromkeys([*SPECIAL.values(), *alphabet, *spaced, *as_bytes])
    # without merges: what is no token as a whole is its bytes
    result = Tokenizer(models.BPE({token: place for place, token in enumerate(tokens)}, [], ignore_merges=True))
    result.pre_tokenizer = pre_tokenizers.Sequence([split, bytes_])
    result.decoder = decoders.ByteLevel()
    named = {name: token for name, token in SPECIAL.items() if name in ("pad_token", "eos_token")}
    others = {name: token for name, token in SPECIAL.items() if name not in named}
    return PreTrainedTokenizerFast(tokenizer_object=result, extra_special_tokens=others, chat_template=CHAT, **named)


def untrained(seed: int) -> Qwen3VLForConditionalGeneration:
    """A Qwen3-VL of 1.6 million numbers with random weights."""
    place = {name: index for index, name in enumerate(SPECIAL)}
    ids = {f"{name}_id": place[name] for name in ("image_token", "video_token", "vision_start_token", "vision_end_token")}
    text = {**TEXT, "pad_token_id": place["pad_token"], "eos_token_id": place["eos_token"]}
    model = Qwen3VLForConditionalGeneration(
        Qwen3VLConfig(text_config=text, vision_config=VISION, tie_word_embeddings=True, **ids)
    )
    model.generation_config.update(eos_token_id=place["eos_token"], pad_token_id=place["pad_token"])
    _fill(dict(model.named_parameters()), 0.05, seed)
    return model.half()


def _fill(parameters: dict[str, Any], scale: float, seed: int) -> None:
    """Random matrices; of what has one dimension biases are 0 and scales 1."""
    random = np.random.default_rng(seed)
    for name, parameter in sorted(parameters.items()):
        numbers = random.standard_normal(parameter.shape, np.float32) * scale
        one = float(not name.endswith("bias"))
        parameter.data = torch.from_numpy(numbers) if parameter.ndim > 1 else torch.full_like(parameter, one)


def model(seed: int) -> VisionLanguageModel:
    """The untrained model with its tokenizer and the processor of its pictures."""
    with TemporaryDirectory() as folder:
        untrained(seed).save_pretrained(folder)
        tokenizer().save_pretrained(folder)
        size = {"shortest_edge": 32 * 32, "longest_edge": 640 * 640}
        Qwen2VLImageProcessorPil(size=size, patch_size=16).save_pretrained(folder)
        return VisionLanguageModel.of_folder(Path(folder), ANSWERS)


def adapter(base: BrainRef, seed: int) -> LoraAdapter:
    """A random change of that model, of rank 4."""
    config = LoraConfig(r=4, lora_alpha=8, target_modules=MODULES)
    changed = get_peft_model(load_pretrained(base).model, config)
    _fill({name: weights for name, weights in changed.named_parameters() if "lora_" in name}, 0.1, seed)
    with TemporaryDirectory() as folder:
        changed.half().save_pretrained(folder, save_embedding_layers=False)
        return LoraAdapter.of_folder(Path(folder), base)


def main(folder: Path) -> None:
    """Write both files below a folder."""
    name, title = "vlm/sf2-untrained.safetensors", "Qwen3-VL of 1.6 million numbers, untrained"
    text = "Random weights: it looks, reads and answers, but knows nothing. To show the graph a trained one will play in."
    base = BrainRef(str(folder / name), model(5).save(folder / name, title=title, description=text, **PEOPLE))
    print(f"{base.sha256[:16]}  {name}")
    name, title = "lora/sf2-untrained.safetensors", "A random change of the untrained Qwen3-VL"
    text = "Random numbers: it changes what the model answers, and teaches it nothing."
    sha256 = adapter(base, 1).save(folder / name, title=title, description=text, parents=[base.sha256], **PEOPLE)
    print(f"{sha256[:16]}  {name}")


if __name__ == "__main__":
    main(Path(__file__).resolve().parent)
