"""PromptBuilder: a fight told in words, by a template that is its brain."""

from __future__ import annotations

from string import Formatter
from typing import NamedTuple

from minibrains import Brain, BrainError, Node, Number, Text, setting
from nodes.fighting.features import FightSocket

FIELDS = (
    "own_hp", "enemy_hp", "advantage", "distance", "band", "facing", "own_status", "enemy_status", "own_height",
    "enemy_height", "history", "strategy",
)  # fmt: skip
"""What a template may name in braces."""


class PromptTemplate(Brain):
    """How to ask: a text with {fields}, and what to advise at each distance."""

    kind = "prompt_template"
    template: str = setting(doc=f"the prompt; in braces any of {', '.join(FIELDS)}")
    close: str = setting(doc="{strategy} at a distance of less than 40 pixels")
    mid: str = setting(doc="{strategy} at a distance of 40 to 80 pixels")
    far: str = setting(doc="{strategy} further away")

    def check(self, where: str) -> None:
        try:
            parts = list(Formatter().parse(self.template))
        except ValueError as error:
            raise BrainError(f"{where}: the template cannot be read: {error}; a brace itself is written twice") from None
        for _, name, spec, conversion in parts:
            if name is not None and (name not in FIELDS or spec or conversion):
                raise BrainError(f"{where}: the template names {{{name}}}; expected plain names out of {', '.join(FIELDS)}")


class Prompt(NamedTuple):
    """What to ask, and how long it is."""

    prompt: Text
    characters: Number
    words: Number


class PromptBuilder(Node, category="language"):
    """Tell the situation, what happened lately and what to try at this distance, as its brain's template has it.

    fight:    from GameFeatures
    history:  from FrameHistory; without it the template's {history} is "unknown"
    prompt:   what to ask the model
    characters, words:  its length; how many tokens that is only the model's tokenizer can say
    Health is told in points out of 100, distances and heights in pixels.
    Source: first seed, one prompt of situation, frame history and a strategy by distance.
    """

    brain: PromptTemplate

    def tick(self, fight: FightSocket, history: Text | None = None) -> Prompt:
        brain = self.brain
        own, enemy = round(100 * fight.own_hp), round(100 * fight.enemy_hp)
        if own > enemy:
            advantage = f"you lead by {own - enemy}"
        elif own < enemy:
            advantage = f"you are behind by {enemy - own}"
        else:
            advantage = "even"
        if fight.band == "close":
            strategy = brain.close
        elif fight.band == "mid":
            strategy = brain.mid
        else:
            strategy = brain.far
        text = brain.template.format(
            own_hp=own,
            enemy_hp=enemy,
            advantage=advantage,
            distance=fight.distance,
            band=fight.band,
            facing="right" if fight.right else "left",
            own_status=fight.own_status,
            enemy_status=fight.enemy_status,
            own_height=fight.own_height,
            enemy_height=fight.enemy_height,
            history=history or "unknown",
            strategy=strategy,
        )
        return Prompt(text, len(text), len(text.split()))
