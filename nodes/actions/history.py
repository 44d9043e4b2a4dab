"""ActionHistory: a prompt with the last actions in words, in play and for a data set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from minibrains import Episode, MinibrainsError, On, Register, Text, widget
from nodes.actions.sink import ActionTable, TableAction

NUMBER: Final = 3
"""The number of actions that {actions} stands for."""
_PLACE: Final = re.compile(r"\{actions(?::([1-9][0-9]?))?\}")


def longest_history(prompt: str) -> int:
    """Return the largest number of actions that a prompt has a place for; 0: it has none."""
    numbers = [_number(place) for place in _PLACE.finditer(prompt)]
    return max(numbers, default=0)


def fill_history(prompt: str, names: Sequence[str], taken: Sequence[int]) -> str:
    """Return a prompt with the last actions in words, oldest first: "back, none, down+X".

    Args:
        prompt: In it, {actions} stands for the last three actions, {actions:5} for the last five.
        names: The names of all actions.
        taken: The actions that were taken before, oldest first.
    """

    def words(place: re.Match[str]) -> str:
        last = [names[action] for action in taken[-_number(place) :]]
        return ", ".join(last) or "nothing yet"

    return _PLACE.sub(words, prompt)


def _number(place: re.Match[str]) -> int:
    return int(place[1]) if place[1] else NUMBER


class PromptWithHistory(NamedTuple):
    """The output of ActionHistory."""

    text: Text


class ActionHistory(Register, category="actions"):
    """Tell a model which actions were taken last, in the words of its prompt.

    action:  the action that is taken, when one is; link it to the gate
    text:    `prompt` with the actions that were taken before this tick, oldest first, such as
             "back, none, down+X", and "nothing yet" before the first

    Its brain is the action table that the sink uses; it has the names of the actions. A TrainVLM
    whose `prompts` have the same places asks the same questions about a data set, from the actions
    that were played there.
    """

    brain: ActionTable
    prompt: str = widget(
        default="{actions}",
        rebuild=True,
        doc="the text, in which {actions} stands for the last three actions, and {actions:5} for "
        "the last five",
    )

    def check(self) -> None:
        if not longest_history(self.prompt):
            raise MinibrainsError(
                f"prompt is {self.prompt[:100]!r}; expected {{actions}} or {{actions:5}} in it, "
                "or use a Constant"
            )

    def reset(self, episode: Episode) -> None:
        self._remember(())

    def emit(self) -> PromptWithHistory:
        return PromptWithHistory(self.text)

    def latch(self, action: On[TableAction] = None) -> None:
        if action is not None:
            self._remember((*self.taken, action))

    def _remember(self, taken: tuple[int, ...]) -> None:
        """Keep the last of these actions, and the text, which does not change between actions."""
        self.taken = taken[-longest_history(self.prompt) :]
        self.text = fill_history(self.prompt, self.brain.names, self.taken)
