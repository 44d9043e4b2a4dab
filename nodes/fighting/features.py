"""Features of a one-on-one fight in words and numbers,
from the variables of the Street Fighter II map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Annotated, Final, Literal, NamedTuple

import numpy as np

from minibrains import (
    Brain,
    BrainError,
    Episode,
    Flag,
    Host,
    MinibrainsError,
    Node,
    Number,
    Socket,
    Text,
    Variables,
    setting,
    tensor,
    widget,
)  # fmt: skip

FULL = 176
"""Health at the beginning of a round; a fighter who is knocked out has -1."""
FLOOR = 192
"""agent_y and enemy_y of a fighter that is standing on the floor."""
CLOSE, MID = 40, 80
"""Distances in pixels. Nearer than CLOSE is close; otherwise, no further away than MID is the
middle range."""
STATUS = {
    512: "standing", 514: "crouching", 516: "jumping", 518: "blocking", 520: "attacking",
    522: "using a special", 524: "hit",
}  # fmt: skip
READ = (
    "agent_hp", "agent_x", "agent_y", "agent_status", "enemy_hp", "enemy_x", "enemy_y",
    "enemy_status",
)  # fmt: skip
"""The variables that are read."""

MOVES = 21
"""The moves of Duel are numbered from 1 to this; 0 is none."""
CHARACTERS = 4
"""The characters of Duel are numbered from 0 to less than this."""
STAGE = 511
"""The right edge of the stage, in pixels."""

Band = Literal["close", "mid", "far"]


class Fight(NamedTuple):
    """One moment of a fight, seen from the first player."""

    own_hp: float
    """Share of the full health, 0 to 1; 0 is also knocked out."""
    enemy_hp: float
    distance: int
    """Between the two, in pixels, 0 to 511: from middle to middle, along the floor."""
    band: Band
    """close: less than 40 pixels, mid: 40 to 80, far."""
    right: bool
    """The first player is looking right: the other is to the right of it, or at the same place."""
    own_x: int
    """Pixels from the left edge of the stage, 0 to 511."""
    enemy_x: int
    own_height: int
    """Pixels above the floor, 0 to 192."""
    enemy_height: int
    own_status: str
    """A word of STATUS, or "unknown"."""
    enemy_status: str
    own_move: int = 0
    """The number of the move that the first player makes; 0 if it makes none, or the game does not
    tell."""
    enemy_move: int = 0
    own_move_frame: int = 0
    """Frames since the move began."""
    enemy_move_frame: int = 0
    own_shot_x: int = 0
    """Pixels from the left edge of the stage to the first player's projectile; 0 while there is
    none, or if the game does not tell."""
    enemy_shot_x: int = 0
    own_character: int = -1
    """The number of the first player's character; -1 if the game does not tell."""
    enemy_character: int = -1


FightSocket = Annotated[Fight, Socket("fight")]


class Features(NamedTuple):
    """A fight as one value, and its most wanted parts by themselves."""

    fight: FightSocket
    own_hp: Number
    enemy_hp: Number
    advantage: Number
    distance: Number
    facing: Flag
    band: Text


class GameFeatures(Node, category="fighting"):
    """Read a fight from the game's variables: Duel's, or those of a Street Fighter II cartridge.

    variables:  with agent_… and enemy_hp, _x, _y, _status; of others _move, _move_frame,
        _projectile_x and _character are looked at, if they are there
    fight:      all of it, for FrameHistory and PromptBuilder
    own_hp, enemy_hp:  share of the full health, 0 to 1
    advantage:  own_hp - enemy_hp, -1 to 1
    distance:   pixels, 0 to 511
    facing:     True: the other is to the right
    band:       "close" below 40 pixels, "mid" from 40 to 80, "far"
    """

    def tick(self, variables: Variables) -> Features:
        try:
            own, enemy = _share(variables["agent_hp"]), _share(variables["enemy_hp"])
            own_x, enemy_x = variables["agent_x"], variables["enemy_x"]
            distance, right = abs(own_x - enemy_x), own_x <= enemy_x
            range_band = band(distance)
            fight = Fight(
                own, enemy, distance, range_band, right, own_x, enemy_x,
                _height(variables["agent_y"]), _height(variables["enemy_y"]),
                STATUS.get(variables["agent_status"], "unknown"),
                STATUS.get(variables["enemy_status"], "unknown"),
                variables.get("agent_move", 0), variables.get("enemy_move", 0),
                variables.get("agent_move_frame", 0), variables.get("enemy_move_frame", 0),
                variables.get("agent_projectile_x", 0), variables.get("enemy_projectile_x", 0),
                variables.get("agent_character", -1), variables.get("enemy_character", -1),
            )  # fmt: skip
        except KeyError as missing:
            raise MinibrainsError(
                f"the game has no variable {missing}; a fight needs {', '.join(READ)}"
            ) from None
        return Features(fight, own, enemy, own - enemy, distance, right, range_band)


class SwapSides(Node, category="fighting"):
    """Let the player at pad 2 see itself as the agent: exchange the variables of the two fighters.

    variables:  of the Street Fighter II map, agent_… and enemy_…
    Out:        the same, with each of these names standing for the other fighter. Variables that
        only one of them has, and all others, are as they were
    """

    def tick(self, variables: Variables) -> Variables:
        others = _names_of_the_other(tuple(variables))
        return {name: variables[other] for name, other in others}


@lru_cache(maxsize=8)
def _names_of_the_other(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return each name with that of the same variable of the other fighter."""
    sides = {"agent": "enemy", "enemy": "agent"}
    others: list[tuple[str, str]] = []
    for name in names:
        side, _, what = name.partition("_")
        other = f"{sides.get(side, side)}_{what}"
        others.append((name, other if other in names else name))
    return others


class History(NamedTuple):
    """The recent past of a fight."""

    text: Text
    own_change: Number
    enemy_change: Number


class FrameHistory(Node, category="fighting"):
    """Remember the recent past: who lost health, and who went where.

    A step is from one tick on which it runs to the next.

    Run with the decision clock (`"when"`) it remembers decisions, without it frames.

    fight:  from GameFeatures
    text:   a line for each of the last steps, the oldest first: "you -7 hp, toward; other 0 hp,
            still",
           in points out of 100
    own_change, enemy_change:  health won or lost over the steps remembered, as a share, -1 to 1
    """

    steps: int = widget(default=4, min=1, max=100, doc="how many steps to remember")
    still: int = widget(
        default=3,
        min=0,
        max=511,
        doc="pixels; moving no further than this in one step counts as standing still",
    )

    def reset(self, episode: Episode) -> None:
        self.seen: list[Fight] = []
        self.lines: list[str] = []

    def tick(self, fight: FightSocket) -> History:
        if self.seen:
            self.lines = [*self.lines, self._line(self.seen[-1], fight)][-self.steps :]
        self.seen = [*self.seen, fight][-self.steps - 1 :]
        first = self.seen[0]
        return History(
            "\n".join(self.lines) or "nothing yet",
            fight.own_hp - first.own_hp,
            fight.enemy_hp - first.enemy_hp,
        )

    def _line(self, before: Fight, now: Fight) -> str:
        own_points = _points(now.own_hp - before.own_hp)
        own_way = self._way(_own_toward(before, now))
        enemy_points = _points(now.enemy_hp - before.enemy_hp)
        enemy_way = self._way(_enemy_toward(before, now))
        return f"you {own_points} hp, {own_way}; other {enemy_points} hp, {enemy_way}"

    def _way(self, toward: int) -> str:
        if abs(toward) <= self.still:
            return "still"
        if toward > 0:
            return "toward"
        return "away"


def _own_toward(before: Fight, now: Fight) -> int:
    """Return the pixels that the first player has gone towards where the other was."""
    moved = now.own_x - before.own_x
    return moved if before.right else -moved


def _enemy_toward(before: Fight, now: Fight) -> int:
    """Return the pixels that the other has gone towards where the first player was."""
    moved = now.enemy_x - before.enemy_x
    return -moved if before.right else moved


def _facing(before: Fight, now: Fight) -> int:
    return 1 if now.right else -1


def _distance_if_there(shot: int, target: int) -> int:
    """Return the pixels from a projectile to its target; 0 if there is no projectile."""
    if not shot:
        return 0
    return abs(shot - target)


def _room(x: int, looks_right: bool) -> int:
    """Return the pixels of the stage behind a fighter at x."""
    if looks_right:
        return x
    return STAGE - x


def _flags() -> dict[str, Callable[[Fight, Fight], float]]:
    """Return the numbers that are 1 while a fighter makes a certain move, or is a certain
    character.
    """
    values = {"move": range(1, MOVES + 1), "character": range(CHARACTERS)}
    numbers: dict[str, Callable[[Fight, Fight], float]] = {}
    for side in ("own", "enemy"):
        for what, possible in values.items():
            field = f"{side}_{what}"
            for value in possible:
                numbers[f"{field}_{value}"] = partial(_is, field, value)
    return numbers


def _is(field: str, value: int, before: Fight, now: Fight) -> float:
    found: int = getattr(now, field)
    return found == value


_ATTACKING: Final = "attacking", "using a special"
NUMBERS: Final[Mapping[str, Callable[[Fight, Fight], float]]] = MappingProxyType({
    "own_hp": lambda before, now: now.own_hp,
    "enemy_hp": lambda before, now: now.enemy_hp,
    "advantage": lambda before, now: now.own_hp - now.enemy_hp,
    "own_hp_change": lambda before, now: now.own_hp - before.own_hp,
    "enemy_hp_change": lambda before, now: now.enemy_hp - before.enemy_hp,
    "distance": lambda before, now: now.distance,
    "facing": _facing,
    "own_x": lambda before, now: now.own_x,
    "enemy_x": lambda before, now: now.enemy_x,
    "own_toward": _own_toward,
    "enemy_toward": _enemy_toward,
    "own_height": lambda before, now: now.own_height,
    "enemy_height": lambda before, now: now.enemy_height,
    "own_crouching": lambda before, now: now.own_status == "crouching",
    "own_blocking": lambda before, now: now.own_status == "blocking",
    "own_attacking": lambda before, now: now.own_status in _ATTACKING,
    "own_hit": lambda before, now: now.own_status == "hit",
    "enemy_crouching": lambda before, now: now.enemy_status == "crouching",
    "enemy_blocking": lambda before, now: now.enemy_status == "blocking",
    "enemy_attacking": lambda before, now: now.enemy_status in _ATTACKING,
    "enemy_hit": lambda before, now: now.enemy_status == "hit",
    "own_standing": lambda before, now: now.own_status == "standing",
    "own_jumping": lambda before, now: now.own_status == "jumping",
    "enemy_standing": lambda before, now: now.enemy_status == "standing",
    "enemy_jumping": lambda before, now: now.enemy_status == "jumping",
    "own_rise": lambda before, now: now.own_height - before.own_height,
    "enemy_rise": lambda before, now: now.enemy_height - before.enemy_height,
    "own_room": lambda before, now: _room(now.own_x, now.right),
    "enemy_room": lambda before, now: _room(now.enemy_x, not now.right),
    "own_move_frame": lambda before, now: now.own_move_frame,
    "enemy_move_frame": lambda before, now: now.enemy_move_frame,
    "own_shot": lambda before, now: now.own_shot_x > 0,
    "enemy_shot": lambda before, now: now.enemy_shot_x > 0,
    "own_shot_distance": lambda before, now: _distance_if_there(now.own_shot_x, now.enemy_x),
    "enemy_shot_distance": lambda before, now: _distance_if_there(now.enemy_shot_x, now.own_x),
    **_flags(),
})  # fmt: skip
"""The numbers of a fight for a network, computed from a moment and the one before it, in the units
of Fight."""


class FightVectorBrain(Brain):
    """The selection of the numbers of a fight for a network, and their scaling to -1 to 1:
    (number - middle) / scale.
    """

    kind = "fight_vector"
    names: tuple[str, ...] = setting(doc=f"in this order, any of {', '.join(NUMBERS)}")
    middle: np.ndarray = tensor(
        "f32[numbers]", "the value that becomes 0, in the number's own unit"
    )
    scale: np.ndarray = tensor("f32[numbers]", "the distance from the middle that becomes 1")

    def check(self, where: str) -> None:
        if not self.names or len(self.names) != len(self.scale):
            found = f"{len(self.scale)} numbers and {len(self.names)} names"
            raise BrainError(
                f"{where}: {found}; expected one name for each number, and at least one"
            )
        if unknown := sorted(set(self.names) - NUMBERS.keys()):
            raise BrainError(
                f"{where}: there is no number {unknown[0]!r}; "
                f"expected names out of {', '.join(NUMBERS)}"
            )
        if not (
            np.isfinite(self.middle).all()
            and np.isfinite(self.scale).all()
            and (self.scale > 0).all()
        ):
            raise BrainError(f"{where}: middle and scale must be finite, scale greater than 0")


FightArray = Annotated[np.ndarray, Socket("vector", "f32[{numbers}]")]


class FightVector(Node, category="fighting"):
    """Turn a fight into a row of numbers for a network; its brain says which,
    and where they become -1 and 1.

    fight:  from GameFeatures
    Out:    float32 [numbers], each from -1 to 1; values beyond are cut off

    There are these numbers, in their own units. A change is one since the last tick on which it
    ran, 0 on the first.

        own_hp, enemy_hp               share of the full health, 0 to 1
        advantage                      own_hp - enemy_hp, -1 to 1
        own_hp_change, enemy_hp_change health won or lost, -1 to 1
        distance                       pixels, 0 to 511
        facing                         1: the other is to the right; -1: to the left
        own_x, enemy_x                 pixels from the left edge of the stage, 0 to 511
        own_toward, enemy_toward       pixels gone towards where the other was; away is negative
        own_height, enemy_height       pixels above the floor, 0 to 192
        own_rise, enemy_rise           pixels risen; falling is negative
        own_room, enemy_room           pixels of the stage behind them
        own_… and enemy_…              standing, crouching, jumping, blocking, attacking (or a
                                       special), hit: 1 or 0
        own_move_1 … enemy_move_21     1 while that move is made, else 0; Duel's README names them
        own_move_frame, enemy_move_frame       frames since the move began
        own_character_0 … enemy_character_3    1: that character, else 0; Duel's README names them
        own_shot, enemy_shot           1 while their projectile is in flight, else 0
        own_shot_distance, enemy_shot_distance pixels from it to the one it is aimed at; 0: none

    A number may be in the brain several times, each time with another range. The last rows are 0 in
    games that have no such variables.
    """

    brain: FightVectorBrain

    def open(self, host: Host) -> None:
        self._numbers = [NUMBERS[name] for name in self.brain.names]

    def reset(self, episode: Episode) -> None:
        self.before: Fight | None = None

    def tick(self, fight: FightSocket) -> FightArray:
        before, self.before = self.before or fight, fight
        numbers = [number(before, fight) for number in self._numbers]
        scaled = (np.array(numbers, np.float32) - self.brain.middle) / self.brain.scale
        vector: np.ndarray = np.clip(scaled, -1, 1)
        return vector


def band(distance: float) -> Band:
    """Return the range that a distance in pixels belongs to."""
    if distance < CLOSE:
        return "close"
    if distance <= MID:
        return "mid"
    return "far"


def _share(health: int) -> float:
    """Return health as a share of the full health, 0 to 1."""
    if health < 0:
        return 0.0
    if health > FULL:
        return 1.0
    return health / FULL


def _height(y: int) -> int:
    """Return the pixels above the floor, at least 0."""
    return max(0, FLOOR - y)


def _points(change: float) -> str:
    """Return a change of a share in points out of 100: -7, 0, +100."""
    points = round(change * 100)
    if points:
        return f"{points:+d}"
    return "0"
