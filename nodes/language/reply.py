"""ActionParser: finds an action of the table in any answer of a language model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    Brain,
    BrainError,
    Episode,
    Flag,
    Host,
    Node,
    On,
    Text,
    setting,
    tensor,
    widget,
)
from nodes.actions.sink import TableAction

METHODS: Final = ("basic", "number", "complex", "keyword", "fallback")
"""The ways in which an action is found, from the most certain to a guess."""
NUMBER: Final = re.compile(r"(?<![\w.\-])[0-9]+(?![\w%]|\.[0-9])", re.ASCII)
"""Matches a separate whole number: not -3, 0.5, 40% or the 2 of HP2. A comma separates two
numbers."""


class ReplyWords(Brain):
    """The basic actions, the basic action that stands for each action,
    and the words that mean one.
    """

    kind = "reply_words"
    basic: tuple[int, ...] = setting(
        doc="the basic actions, in the order in which the fallback goes through them"
    )
    keywords: Mapping[str, int] = setting(
        doc="words or phrases, in lower case, and the action that each stands for"
    )
    to_basic: np.ndarray = tensor(
        "i32[facings actions]",
        (
            "the basic action nearest to each action, "
            "for a player who faces right and for one who faces left"
        ),
    )

    def check(self, where: str) -> None:
        (facings, actions), basic = self.to_basic.shape, set(self.basic)
        if facings != 2:
            raise BrainError(
                f"{where}: to_basic has {facings} rows; expected 2, looking right and looking left"
            )
        if not basic or min(basic) < 0 or max(basic) >= actions:
            raise BrainError(
                f"{where}: basic is {list(self.basic)}; "
                f"expected at least one action from 0 to {actions - 1}"
            )
        if not basic.issuperset(self.to_basic.flat):
            raise BrainError(
                f"{where}: to_basic names an action that is not basic; "
                f"expected only {sorted(basic)}"
            )
        for word, action in self.keywords.items():
            if not word or word != word.lower() or not 0 <= action < actions:
                raise BrainError(
                    f"{where}: the keyword {word!r} means {action}; "
                    f"expected small letters and an action from 0 to {actions - 1}"
                )


class Parsed(NamedTuple):
    """The action of a reply, and how it was found."""

    action: TableAction | Absent
    method: Text | Absent


_NO_REPLY: Final = Parsed(ABSENT, ABSENT)


class ActionParser(Node, category="language", version=2, renamed_outputs={1: {"rung": "method"}}):
    """Find the action in a reply.

    There is always one. Each reply is read once, on the tick on which it is delivered.

    text:    the model's answer, any text
    facing:  True, or no link: the player faces right; decides which basic action is nearest to
             forward or back
    action:  the index of an action in the table
    method:  how it was found, the first of these that yields one: "basic" the first number that is
             a basic action; "complex" the first number that is an action, as the basic one nearest
             to it; "keyword" the first word with a meaning; "fallback" the next basic action in
             turn. With `basic_first` off, the first two are replaced by "number": the first number
             that is an action, unchanged
    With `basic_first` off, all actions can be chosen, including those that block while crouching.
    """

    brain: ReplyWords
    basic_first: bool = widget(default=True, doc="for a number in the reply, choose a basic action")

    def open(self, host: Host) -> None:
        longest_first = sorted(self.brain.keywords, key=len, reverse=True)
        words = "|".join(map(re.escape, longest_first))
        pattern = r"(?!)"  # matches nothing
        if words:
            pattern = rf"\b(?:{words})\b"
        self._keyword = re.compile(pattern, re.IGNORECASE | re.ASCII)
        self._basic = frozenset(self.brain.basic)
        self._to_basic = dict(zip((True, False), self.brain.to_basic.tolist(), strict=True))
        plain = [str(action) for action in range(self.brain.to_basic.shape[1])]
        self._plain: dict[tuple[bool, bool], dict[str, Parsed | None]] = {}
        for right, basic in product((True, False), repeat=2):
            self._plain[right, basic] = {text: self._numbered(text, right, basic) for text in plain}

    def reset(self, episode: Episode) -> None:
        self.turn = 0
        self.methods: dict[Text | Absent, int] = dict.fromkeys(METHODS, 0)

    def tick(self, text: On[Text], facing: Flag | None = None) -> Parsed:
        if text is None:
            return _NO_REPLY
        how = facing is not False, self.basic_first
        # a model that chooses replies with a bare number, which is looked up: right after it has
        # run, caches are cold, and a search would be slow
        parsed = (
            self._plain[how].get(text)
            or self._numbered(text, *how)
            or self._worded(text)
            or self._in_turn()
        )
        self.methods[parsed.method] += 1
        return parsed

    def report(self) -> Mapping[str, Any]:
        return {"parse_methods": dict(self.methods)}

    def _numbered(self, text: str, right: bool, basic_first: bool) -> Parsed | None:
        to_basic, nearest = self._to_basic[right], None
        for digits in NUMBER.findall(text):
            if len(digits) > 9 or (action := int(digits)) >= len(to_basic):
                continue
            if not basic_first:
                return Parsed(action, "number")
            if action in self._basic:
                return Parsed(action, "basic")
            if nearest is None:
                nearest = to_basic[action]
        if nearest is None:
            return None
        return Parsed(nearest, "complex")

    def _worded(self, text: str) -> Parsed | None:
        found = self._keyword.search(text)
        if found:
            return Parsed(self.brain.keywords[found[0].lower()], "keyword")
        return None

    def _in_turn(self) -> Parsed:
        action = self.brain.basic[self.turn]
        self.turn = (self.turn + 1) % len(self.brain.basic)
        return Parsed(action, "fallback")
