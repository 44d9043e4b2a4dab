"""ScriptedFighter plays one of the styles, for either pad.

It knows the variables some frames late, as a person does.
"""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from minibrains import Episode, MinibrainsError, Node, Pad, Variables, widget
from nodes.fighting.styles import (
    FLOOR,
    HELD_BACK,
    SHOT_LEAVES,
    SHOT_SPEED,
    SPECIAL,
    STYLES,
    Plan,
    Rule,
    View,
)

READ = ("agent_x", "agent_status", "enemy_x", "enemy_y", "enemy_status")
"""The variables that styles look at."""
LATE = 12
"""Frames until a scripted style knows what has happened."""

Side = Literal["agent", "enemy"]
"""The sides, as the variables are called: the agent has pad 1, the enemy pad 2."""

Held = tuple[str, ...]


@dataclass
class Scripted:
    """A player with an ordered list of rules, of which the first that applies is followed."""

    rules: Iterable[Rule]
    late: int = LATE
    """Frames until the player knows what has happened."""
    seen: deque[Mapping[str, int]] = field(default_factory=deque)
    """The variables of the last frames, of which the oldest are the ones that the player knows."""

    def reset(self, seed: int) -> None:
        """Begin a match; all chance comes from the seed."""
        self.random = random.Random(seed)
        self.seen = deque(maxlen=self.late + 1)
        self.plan: Plan = []
        self.remaining = 0
        self.held: Held = ()
        self.status, self.since, self.last_x, self.last_y = 0, 0, 0, FLOOR
        self.shot_in = -100.0

    def view(self, now: Mapping[str, int]) -> View:
        """Return the view of one frame, and remember what the view of the next one depends on."""
        mine, theirs = now["agent_x"], now["enemy_x"]
        gap = abs(mine - theirs)
        status, y = now["enemy_status"], now["enemy_y"]
        if mine <= theirs:
            ahead, back = "RIGHT", "LEFT"
            comes = self.last_x - theirs
        else:
            ahead, back = "LEFT", "RIGHT"
            comes = theirs - self.last_x

        if status == self.status:
            self.since += 1
        else:
            self.since = 0
        falls = y > self.last_y
        self.status, self.last_x, self.last_y = status, theirs, y

        # the projectile: walking towards it brings it nearer
        if ahead in self.held and "DOWN" not in self.held:
            self.shot_in -= 1.6
        else:
            self.shot_in -= 1
        if status == SPECIAL and self.since == 0:
            self.shot_in = SHOT_LEAVES + (gap - 46) / SHOT_SPEED - self.late

        return View(
            gap=gap,
            mine=now["agent_status"],
            theirs=status,
            height=FLOOR - y,
            falls=falls,
            comes=comes,
            since=self.since,
            shot_in=self.shot_in,
            ahead=ahead,
            back=back,
            random=self.random,
        )

    def pad(self, variables: Mapping[str, int]) -> Held:
        """Return the buttons to hold on the next frame, given the variables of this one."""
        self.seen.append(variables)
        view = self.view(self.seen[0])
        if self.remaining == 0:
            if not self.plan:
                self.plan = self._next_plan(view)
            self._begin_step(view)
        self.remaining -= 1
        return self.held

    def _next_plan(self, view: View) -> Plan:
        """Return the plan of the first rule that has one, else one without a step."""
        for rule in self.rules:
            plan = rule(view)
            if plan:
                return list(plan)
        return []

    def _begin_step(self, view: View) -> None:
        """Begin the next step of the plan; without one, hold nothing for a frame."""
        held, self.remaining = "", 1
        if self.plan:
            held, self.remaining = self.plan.pop(0)
        names = {"F": view.ahead, "G": view.back}
        self.held = tuple(names.get(name, name) for name in held.split("+") if name)


def _seen_by_the_enemy(name: str) -> str:
    """Return the name of a variable with the sides swapped."""
    sides = {"agent": "enemy", "enemy": "agent"}
    side, _, what = name.partition("_")
    return f"{sides[side]}_{what}"


_SOURCES: Final[Mapping[Side, Mapping[str, str]]] = {
    "agent": {name: name for name in READ},
    "enemy": {name: _seen_by_the_enemy(name) for name in READ},
}
"""For each side the variables that it reads for those that styles look at: the player is `agent` to
itself."""


def noticed(variables: Variables, side: Side = "agent") -> dict[str, int]:
    """Return the variables that styles look at, as this side sees them.

    Raises MinibrainsError, naming the variable, if the game does not have one of them.
    """
    try:
        return {name: variables[source] for name, source in _SOURCES[side].items()}
    except KeyError as missing:
        needed = ", ".join(_SOURCES[side].values())
        raise MinibrainsError(
            f"the game's map, its data.json, has no variable {missing}; a fighter needs {needed}"
        ) from None


class ScriptedFighter(Node, category="fighting", renamed_attributes={"left": "remaining"}):
    """Fight by rules: the expert that an agent is compared with, and a sparring partner.

    variables:  of the Street Fighter II map; x and y in pixels, status 512 stand … 524 hit
    Out:        the buttons to hold now
    """

    style: Literal[
        "aggressive", "defensive", "zoner", "grappler",
        "rusher", "jumper", "sweeper", "turtle", "thrower", "shoto", "dancer", "mixed",
    ] = widget(default="defensive", rebuild=True, doc="which rules, in which order")  # fmt: skip
    late: int = widget(
        default=LATE, min=0, max=120, doc="frames until the fighter knows what has happened"
    )
    side: Side = widget(
        default="agent", doc="whose pad it holds: the agent's, pad 1, or the enemy's, pad 2"
    )

    def check_collectors(self, names: Sequence[str]) -> None:
        if self.style in HELD_BACK:
            others = [style for style in STYLES if style not in HELD_BACK]
            allowed = ", ".join(others)
            who = " and ".join(names)
            raise MinibrainsError(
                f"{who} must not learn from the style {self.style!r}: "
                f"it is held back for evaluations; expected one of {allowed}"
            )

    def reset(self, episode: Episode) -> None:
        self.player = Scripted(STYLES[self.style], self.late)
        self.player.reset(int(episode.rng().integers(2**31)))

    def tick(self, variables: Variables) -> Pad:
        return self.player.pad(noticed(variables, self.side))

    def state(self) -> dict[str, Any]:
        """Return the player's attributes, except for its rules: they are functions,
        and follow from the style.
        """
        values = dict(vars(self.player))
        del values["rules"]
        return copy.deepcopy(values)

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.player = Scripted(STYLES[self.style])
        vars(self.player).update(copy.deepcopy(dict(state)))
