"""ScriptedFighter: plays one of the styles, for either pad. It knows the variables some frames late, as a person does."""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from minibrains import Episode, MinibrainsError, Node, Pad, Variables, widget
from nodes.fighting.styles import FLOOR, HELD_BACK, SHOT_LEAVES, SHOT_SPEED, SPECIAL, STYLES, Plan, Rule, View

READ = ("agent_x", "agent_status", "enemy_x", "enemy_y", "enemy_status")
"""The variables that styles look at."""
LATE = 12
"""Frames between what happens and what a scripted style knows."""

Side = Literal["agent", "enemy"]
"""As variables are called: the agent holds pad 1, the enemy pad 2."""

Held = tuple[str, ...]


@dataclass
class Scripted:
    """Plays by an ordered list of rules: the first that has something to say is followed."""

    rules: Iterable[Rule]
    late: int = LATE
    seen: deque[Mapping[str, int]] = field(default_factory=deque)

    def reset(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seen = deque(maxlen=self.late + 1)
        self.plan: Plan = []
        self.left = 0
        self.held: Held = ()
        self.status, self.since, self.last_x, self.last_y = 0, 0, 0, FLOOR
        self.shot_in = -100.0

    def view(self, now: Mapping[str, int]) -> View:
        mine, theirs = now["agent_x"], now["enemy_x"]
        right = mine <= theirs
        status, height = now["enemy_status"], FLOOR - now["enemy_y"]
        self.since = self.since + 1 if status == self.status else 0
        comes = (self.last_x - theirs) * (1 if right else -1)
        falls = now["enemy_y"] > self.last_y
        self.status, self.last_x, self.last_y = status, theirs, now["enemy_y"]
        # walking towards it brings it nearer
        self.shot_in -= 1.6 if ("RIGHT" if right else "LEFT") in self.held and "DOWN" not in self.held else 1
        if status == SPECIAL and self.since == 0:
            self.shot_in = SHOT_LEAVES + (abs(mine - theirs) - 46) / SHOT_SPEED - self.late
        ahead, back = ("RIGHT", "LEFT") if right else ("LEFT", "RIGHT")
        return View(
            abs(mine - theirs),
            now["agent_status"],
            status,
            height,
            falls,
            comes,
            self.since,
            self.shot_in,
            ahead,
            back,
            self.random,
        )

    def pad(self, variables: Mapping[str, int]) -> Held:
        self.seen.append(variables)
        view = self.view(self.seen[0])
        if self.left == 0 and not self.plan:
            self.plan = list(next((plan for rule in self.rules if (plan := rule(view))), ()))
        if self.left == 0:
            held, self.left = self.plan.pop(0) if self.plan else ("", 1)
            names = {"F": view.ahead, "G": view.back}
            self.held = tuple(names.get(name, name) for name in held.split("+") if name)
        self.left -= 1
        return self.held


def _seen_by_the_enemy(name: str) -> str:
    who, _, what = name.partition("_")
    return f"enemy_{what}" if who == "agent" else f"agent_{what}"


_SOURCES: Final[Mapping[Side, Mapping[str, str]]] = {
    "agent": {name: name for name in READ},
    "enemy": {name: _seen_by_the_enemy(name) for name in READ},
}
"""For each variable that styles look at, where a side finds it: the one who plays is `agent` to itself."""


def noticed(variables: Variables, side: Side = "agent") -> dict[str, int]:
    """Return the variables that styles look at, as this side sees them.

    Raises MinibrainsError naming the one that the game does not have.
    """
    try:
        return {name: variables[source] for name, source in _SOURCES[side].items()}
    except KeyError as missing:
        needed = ", ".join(_SOURCES[side].values())
        raise MinibrainsError(f"the game's map, its data.json, has no variable {missing}; a fighter needs {needed}") from None


class ScriptedFighter(Node, category="fighting"):
    """Fight by rules: the expert that an agent is compared with, and a sparring partner.

    variables:  of the Street Fighter II map; x and y in pixels, status 512 stand … 524 hit
    Out:        the buttons to hold now
    """

    style: Literal[
        "aggressive", "defensive", "zoner", "grappler",
        "rusher", "jumper", "sweeper", "turtle", "thrower", "shoto", "dancer", "mixed",
    ] = widget(default="defensive", rebuild=True, doc="which rules, in which order")  # fmt: skip
    late: int = widget(default=LATE, min=0, max=120, doc="frames between what happens and what the fighter knows")
    side: Side = widget(default="agent", doc="whose pad it holds: the agent's, pad 1, or the enemy's, pad 2")

    def check_collectors(self, names: Sequence[str]) -> None:
        if self.style in HELD_BACK:
            allowed = ", ".join(style for style in STYLES if style not in HELD_BACK)
            who = " and ".join(names)
            raise MinibrainsError(
                f"{who} must not learn from the style {self.style!r}: it is held back for evaluations; expected one of {allowed}"
            )

    def reset(self, episode: Episode) -> None:
        self.player = Scripted(STYLES[self.style], self.late)
        self.player.reset(int(episode.rng().integers(2**31)))

    def tick(self, variables: Variables) -> Pad:
        return self.player.pad(noticed(variables, self.side))

    def state(self) -> dict[str, Any]:
        """What the player has seen and means to do; its rules are functions, which follow from the style."""
        return copy.deepcopy({name: value for name, value in vars(self.player).items() if name != "rules"})

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.player = Scripted(STYLES[self.style])
        vars(self.player).update(copy.deepcopy(dict(state)))
