"""WalkScript: the brain of a WalkTo, which has the names of a world and the goals of a walk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, get_type_hints

from minibrains import Brain, setting
from minibrains.errors import BrainError
from minibrains.values import parse_value

WORDS: Final = 4
"""Number of words of a secret that follow each other."""
WORD: Final = re.compile(r"\{(\w+)\.(\d)\}")
"""A word of a secret in a text: {secret.n}."""


class Goal(NamedTuple):
    """Something to talk to, until something is known or carried."""

    talk: tuple[str, ...]
    """Names of things, one after the other, over and over."""
    until: str
    """The name of a flag or of an item."""
    choose: str = ""
    """The option to choose when there is a choice; empty: the first."""
    when: str = ""
    """"night": wait for it."""
    costs: int = 0
    """Coins that are needed for it."""
    earn_in: str = ""
    """The area whose creatures it fights for them."""
    quest: str = ""
    """The side quest that it belongs to; empty: the main quest."""


def read_goal(value: Mapping[str, Any]) -> Goal:
    """Read a goal from JSON. Raises ValueError, with a sentence, if it is not one."""
    if not {"talk", "until"} <= value.keys() <= {*Goal._fields}:
        raise ValueError(f"a goal has {', '.join(map(repr, value))}; expected {Goal._fields}")
    kinds = get_type_hints(Goal)
    fields: dict[str, Any] = {}
    for name, found in value.items():
        fields[name] = parse_value(kinds[name], found)
    goal = Goal(**fields)
    if not goal.talk or goal.when not in ("", "night"):
        raise ValueError("a goal needs something to talk to, and a time that is empty or night")
    return goal


class WalkScript(Brain):
    """A world's names, in the order of their numbers, and the goals of a walk through it."""

    kind = "walk_script"
    areas: tuple[str, ...] = setting(doc="the areas")
    ways: Mapping[str, tuple[str, ...]] = setting(doc="for each area those that it leads to")
    things: tuple[tuple[str, ...], ...] = setting(doc="the things, each with its area")
    flags: tuple[str, ...] = setting(doc="what can have happened")
    items: tuple[str, ...] = setting(doc="what can be carried")
    secrets: tuple[tuple[str, ...], ...] = setting(
        doc="the secrets, each with its words after its name"
    )
    creatures: tuple[str, ...] = setting(doc="the creatures")
    keepers: tuple[str, ...] = setting(doc="the creatures from which nobody can flee")
    rests: tuple[Mapping[str, str | int], ...] = setting(
        doc="the places that restore health: area, x and y of each"
    )
    goals: tuple[Mapping[str, str | int | tuple[str, ...]], ...] = setting(
        doc="for each goal what to talk to, until when, perhaps what to choose and what it costs"
    )

    def check(self, where: str) -> None:
        if not all(len(thing) == 2 for thing in self.things):
            raise BrainError(f"{where}: things are not all pairs; expected each with its area")
        if not all(len(secret) >= 2 for secret in self.secrets):
            raise BrainError(f"{where}: a secret has no words; expected its name and its words")
        self._check_areas(where)
        for value in self.goals:
            try:
                goal = read_goal(value)
            except ValueError as error:
                raise BrainError(f"{where}: {error}") from None
            self._check_goal(where, goal)

    def _check_areas(self, where: str) -> None:
        """Raise BrainError unless everything is in an area that there is."""
        named = {area for _, area in self.things}
        for area, beside in self.ways.items():
            named |= {area, *beside}
        for rest in self.rests:
            if rest.keys() != {"area", "x", "y"} or not isinstance(rest["area"], str):
                raise BrainError(f"{where}: a rest has {list(rest)}; expected area, x and y")
            named.add(rest["area"])
        unknown = named - {*self.areas}
        if unknown:
            raise BrainError(f"{where}: there is no area {min(unknown)!r}")
        if not self.ways.keys() >= {*self.areas} or not all(self.ways.values()):
            raise BrainError(f"{where}: an area leads nowhere; expected a way for each")

    def _check_goal(self, where: str, goal: Goal) -> None:
        """Raise BrainError if a goal names what there is not."""
        things = {thing for thing, _ in self.things}
        secrets = {secret[0] for secret in self.secrets}
        if goal.until not in (*self.flags, *self.items):
            raise BrainError(f"{where}: {goal.until!r} is neither a flag nor an item")
        if goal.costs and goal.earn_in not in self.areas:
            raise BrainError(f"{where}: there is no area {goal.earn_in!r} to earn money in")
        for text in (*goal.talk, goal.choose):
            for secret, number in WORD.findall(text):
                if secret not in secrets or not 1 <= int(number) <= WORDS:
                    raise BrainError(f"{where}: there is no word {number} of a secret {secret!r}")
        for thing in goal.talk:
            if thing not in things and not WORD.search(thing):
                raise BrainError(f"{where}: there is no {thing!r} to talk to")
