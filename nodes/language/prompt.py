"""PromptBuilder: describes a fight in words, with a template as its brain."""

from __future__ import annotations

from string import Formatter
from typing import NamedTuple

from minibrains import Brain, BrainError, Node, Number, Text, setting
from nodes.fighting.features import FightSocket

FIELDS = (
    "own_hp", "enemy_hp", "advantage", "distance", "band", "facing", "own_status", "enemy_status",
    "own_height", "enemy_height", "history", "actions", "strategy",
)  # fmt: skip
"""The names that a template may contain in braces."""


class PromptTemplate(Brain):
    """A prompt: a text with {fields}, and advice for each distance."""

    kind = "prompt_template"
    template: str = setting(doc=f"the prompt; in braces any of {', '.join(FIELDS)}")
    close: str = setting(doc="{strategy} at a distance of less than 40 pixels")
    mid: str = setting(doc="{strategy} at a distance of 40 to 80 pixels")
    far: str = setting(doc="{strategy} further away")

    def check(self, where: str) -> None:
        try:
            parts = list(Formatter().parse(self.template))
        except ValueError as error:
            raise BrainError(
                f"{where}: the template cannot be read: {error}; a brace itself is written twice"
            ) from None
        for _, name, spec, conversion in parts:
            if name is not None and (name not in FIELDS or spec or conversion):
                raise BrainError(
                    f"{where}: the template names {{{name}}}; "
                    f"expected plain names out of {', '.join(FIELDS)}"
                )


class Prompt(NamedTuple):
    """A prompt and its length."""

    prompt: Text
    characters: Number
    words: Number


class PromptBuilder(Node, category="language"):
    """Describe the situation, the recent history and a strategy for this distance,
    with the template of its brain.

    fight:    from GameFeatures
    history:  from FrameHistory; without it the template's {history} is "unknown"
    actions:  from ActionHistory; without it the template's {actions} is "unknown"
    prompt:   the prompt for the model
    characters, words:  its length; only the model's tokenizer can count its tokens
    Health is given in points out of 100, distances and heights in pixels.
    """

    brain: PromptTemplate

    def tick(
        self, fight: FightSocket, history: Text | None = None, actions: Text | None = None
    ) -> Prompt:
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
        facing = "right" if fight.right else "left"
        text = brain.template.format(
            own_hp=own,
            enemy_hp=enemy,
            advantage=advantage,
            distance=fight.distance,
            band=fight.band,
            facing=facing,
            own_status=fight.own_status,
            enemy_status=fight.enemy_status,
            own_height=fight.own_height,
            enemy_height=fight.enemy_height,
            history=history or "unknown",
            actions=actions or "unknown",
            strategy=strategy,
        )
        return Prompt(text, len(text), len(text.split()))
