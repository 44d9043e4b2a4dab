"""The tokenizer of our language model: a byte-level BPE, trained on a corpus of our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nodes.language.prompt import PromptTemplate
from server.commands.make_brains.fighting import sf2_prompt
from server.commands.make_brains.questions import random_questions

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CORPUS = Path(__file__).parent / "corpus"
"""english.txt is read as it is; of prompts.txt each paragraph is a template, as a person might write one."""
VOCABULARY = 3072
"""Tokens. With fewer a prompt in other words becomes longer, with more they are words that a model hardly ever reads."""
REPEATED = 20
"""How often a template is filled in, and an answer is given: what is read at each decision shall be whole words."""
ACTIONS = 44
"""Numbers below are one token each, because an answer must be; all others are told digit by digit."""

SPECIAL = {
    "pad_token": "<|endoftext|>",
    "start_token": "<|im_start|>",
    "eos_token": "<|im_end|>",
    "image_token": "<|image_pad|>",
    "video_token": "<|video_pad|>",
    "vision_start_token": "<|vision_start|>",
    "vision_end_token": "<|vision_end|>",
}
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


def train_tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer. No token has parts of two words, and only text that is in no known word is told in bytes."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    words = pre_tokenizers.Split(Regex(_pattern()), "isolated")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, as_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=2,
        special_tokens=list(SPECIAL.values()),
        initial_alphabet=sorted(as_bytes.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(), trainer)
    others = {name: token for name, token in SPECIAL.items() if name not in ("pad_token", "eos_token")}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=SPECIAL["pad_token"],
        eos_token=SPECIAL["eos_token"],
        extra_special_tokens=others,
        chat_template=CHAT,
    )


def _pattern() -> str:
    """Return the regular expression of what a token is at most: a word, an action's number, a digit, signs.

    The space before it is part of it.
    """
    long_numbers = "|".join(str(number) for number in range(10, ACTIONS))
    alternatives = (
        r"'(?:s|t|d|m|re|ve|ll)(?!\p{L})",
        r" ?\p{L}+",
        rf" ?(?<!\p{{N}})(?:{long_numbers})(?!\p{{N}})",
        r" ?\p{N}",
        r" ?[^\s\p{L}\p{N}]+",
        r"\s",
    )
    return "|".join(alternatives)


def _corpus() -> Iterator[str]:
    """Yield the texts that the tokenizer is trained on."""
    english = (CORPUS / "english.txt").read_text("utf-8")
    yield english
    yield english.lower()  # a word that begins a sentence here may stand within one elsewhere
    random = np.random.default_rng(0)
    shipped = sf2_prompt()
    for text in (CORPUS / "prompts.txt").read_text("utf-8").strip().split("\n\n"):
        template = PromptTemplate(template=text, close=shipped.close, mid=shipped.mid, far=shipped.far)
        for question in random_questions(template, REPEATED, random):
            yield f"user\n{question}"
    for action in range(ACTIONS):
        yield from [f"assistant\n{action} {action}"] * REPEATED
