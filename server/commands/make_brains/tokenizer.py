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
"""The folder of the corpus: plain text in english.txt; in prompts.txt, each paragraph is a template
of a prompt."""
VOCABULARY = 3072
"""Number of tokens. With fewer, reworded prompts become longer; with more, most would be words that
hardly ever occur."""
REPEATED = 20
"""Number of times that a template is filled in and an answer given, so that the words of a decision
become whole tokens."""
ACTIONS = 44
"""Numbers below this are one token each, because an answer must be one; all others are split into
digits."""

SPECIAL = {
    "pad_token": "<|endoftext|>",
    "start_token": "<|im_start|>",
    "eos_token": "<|im_end|>",
    "image_token": "<|image_pad|>",
    "video_token": "<|video_pad|>",
    "vision_start_token": "<|vision_start|>",
    "vision_end_token": "<|vision_end|>",
}
"""Special tokens, in the order of their ids, to which the configuration refers."""

CHAT = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% for part in message.content -%}
{%- if part.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>\
{%- else -%}{{ part.text }}{%- endif -%}
{%- endfor -%}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}
"""


def train_tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer.

    No token spans two words, and only text outside of known words is encoded as bytes.
    """
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
    others = {
        name: token for name, token in SPECIAL.items() if name not in ("pad_token", "eos_token")
    }
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=SPECIAL["pad_token"],
        eos_token=SPECIAL["eos_token"],
        extra_special_tokens=others,
        chat_template=CHAT,
    )


def _pattern() -> str:
    """Return the regular expression for the largest possible tokens: a word, an action's number,
    a digit, punctuation.

    A token includes the space before it.
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
    yield english.lower()  # the first word of a sentence here may be inside a sentence elsewhere
    random = np.random.default_rng(0)
    original = sf2_prompt()
    for text in (CORPUS / "prompts.txt").read_text("utf-8").strip().split("\n\n"):
        template = PromptTemplate(
            template=text, close=original.close, mid=original.mid, far=original.far
        )
        for question in random_questions(template, REPEATED, random):
            yield f"user\n{question}"
    for action in range(ACTIONS):
        yield from [f"assistant\n{action} {action}"] * REPEATED
