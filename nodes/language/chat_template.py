"""The effect of a model's chat template: a text before the question and one after it.

A chat template is a program by the model's author. It runs only when the model is tried out, in a
process with limits, and it must put the same text around every question; otherwise the model is
refused.
"""

from __future__ import annotations

import secrets
from typing import Any, Final, NamedTuple

from minibrains import BrainError

_LONGEST: Final = 65536
"""Largest number of characters that it may put around a question."""
_ODD_QUESTIONS: Final = (
    "",
    "?",
    "{{ 1 }} {% raw %}",
    "<b>&amp; 'so' \"it\" \\n is</b>",
    "Fight!\n\nFlee?\n",
    "字 " * 500,
)


class Frame(NamedTuple):
    """The text around a question."""

    before: str
    after: str
    is_stripped: bool
    """True if white space at the ends of a question is removed."""

    def put(self, question: str) -> str:
        """Return the whole text."""
        if self.is_stripped:
            question = question.strip()
        return self.before + question + self.after

    def template(self, sees: bool) -> str:
        """Return a template with the same effect, for one message: with the picture first if the
        model sees, otherwise of the question alone.
        """
        text = "messages[0]['content']"
        if sees:
            text += "[1]['text']"
        if self.is_stripped:
            text += " | trim"
        # string literals in a template are written as in Python
        parts = (ascii(self.before), text, ascii(self.after))
        return "".join("{{ " + part + " }}" for part in parts)


def find_frame(processor: Any, sees: bool) -> Frame:
    """Run a processor's chat template on some questions.

    Args:
        processor: The processor, or the tokenizer of a model that does not see.
        sees: True if a picture comes before the question.

    Raises:
        BrainError: It does not put the same text around all of them.
    """
    word = secrets.token_hex(16)  # a word that no template can know
    question = f" {word} "
    whole = _render(processor, question, sees)
    is_stripped = question not in whole
    if is_stripped:
        question = word
    before, found, after = whole.partition(question)
    frame = Frame(before, after, is_stripped)
    if not found or any(_render(processor, odd, sees) != frame.put(odd) for odd in _ODD_QUESTIONS):
        raise BrainError(
            "its chat template does more to a question than to put something before and after it"
        )
    if len(before) + len(after) > _LONGEST:
        raise BrainError(
            f"its chat template puts {len(before) + len(after)} characters around a question; "
            f"at most {_LONGEST}"
        )
    return frame


def _render(processor: Any, question: str, sees: bool) -> str:
    content: Any = question
    if sees:
        content = [{"type": "image"}, {"type": "text", "text": question}]
    message = {"role": "user", "content": content}
    rendered: str = processor.apply_chat_template(
        [message], add_generation_prompt=True, tokenize=False
    )
    return rendered
