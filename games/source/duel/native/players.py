"""Simple players that play natively: loops, rules with one or two conditions, tables.

They are those of `players.h`, with names for the buttons: F is forward, G is back. To measure how
often a player wins:

    rise = Player("rule", late=12, conditions=(Condition("distance", 70),),
                  answers=((Step("F", 1),), (Step("F", 2), Step("DOWN", 2), Step("DOWN+F+Z", 3),
                  Step("", 40))))
    win_share(rise, level=4, matches=300)
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np

from games.source.duel import fighters
from games.source.duel.matches import BITS, CPU_CPU, PAD_CPU, Setting, settings
from games.source.duel.native.compiled import library

Kind = Literal["loop", "rule", "table"]
KINDS: tuple[Kind, ...] = ("loop", "rule", "table")

FEATURES = ("distance", "height", "enemy frames", "own frames", "lead", "enemy is", "own is")
"""The features that conditions test: the last two for being in a set of statuses, the others for
being below a number."""
STATUSES = ("stand", "crouch", "jump", "block", "attack", "special", "hit")
MOST_STEPS, MOST_CONDITIONS, MOST_LATE = 6, 2, 60
LONGEST_STEP = 255
DISTANCE_BANDS, STATUS_GROUPS, HEIGHT_BANDS = 4, 3, 2
CELLS = DISTANCE_BANDS * STATUS_GROUPS * HEIGHT_BANDS
"""The number of answers of a table."""
MOST_ACTION_FRAMES = 8
MOST_FRAMES = 60_000
HELD = {**BITS, "F": 4096, "G": 8192}
"""The bits of the names that a step can hold."""


@dataclass(frozen=True)
class Step:
    """Buttons held for some frames, or one of the 44 actions if the player takes actions."""

    held: str
    """Names of buttons joined by +, where F is towards the enemy and G away from it; or an action's
    name."""
    frames: int = 1


Answer = tuple[Step, ...]


@dataclass(frozen=True)
class Condition:
    """A condition of a rule."""

    feature: str
    below: int
    """The number that the feature must be below; for "enemy is" and "own is", a set of statuses as
    bits."""

    def __str__(self) -> str:
        if not self.feature.endswith(" is"):
            return f"{self.feature} < {self.below}"
        names = []
        for number, name in enumerate(STATUSES):
            if self.below >> number & 1:
                names.append(name)
        return f"{self.feature} {' or '.join(names)}"


@dataclass(frozen=True)
class Player:
    """A simple player.

    With two conditions, the answers are for neither, the second, the first, and both.
    """

    kind: Kind
    answers: tuple[Answer, ...]
    late: int = 0
    """The delay of what it sees, in frames."""
    interval: int = 0
    """Frames between two actions; 0 if it holds the pad directly."""
    knows_side: bool = True
    """True if its inputs are mirrored while the enemy is on the left."""
    conditions: tuple[Condition, ...] = ()
    """The conditions of a rule."""
    distance_edges: tuple[int, ...] = ()
    """The distances at which the second, third and fourth band of a table begin, in pixels."""
    height_edge: int = 0
    """The height in pixels from which the enemy is in the upper band of a table."""
    status_groups: tuple[int, ...] = ()
    """The group of each of the enemy's statuses in a table."""

    def __post_init__(self) -> None:
        """Check the limits that the C code relies on.

        Raises:
            ValueError: A number is out of range.
        """
        wanted = {"loop": 1, "rule": 2 ** len(self.conditions), "table": CELLS}[self.kind]
        if len(self.answers) != wanted:
            raise ValueError(f"a {self.kind} with {len(self.answers)} answers; expected {wanted}")
        if len(self.conditions) > MOST_CONDITIONS:
            raise ValueError(
                f"{len(self.conditions)} conditions; expected {MOST_CONDITIONS} at most"
            )
        if not 0 <= self.late <= MOST_LATE:
            raise ValueError(f"a player that is {self.late} frames late; expected 0 to {MOST_LATE}")
        if not 0 <= self.interval <= LONGEST_STEP:
            raise ValueError(
                f"an action every {self.interval} frames; expected 0 to {LONGEST_STEP}"
            )
        for condition in self.conditions:
            if not -(2**15) <= condition.below < 2**15:
                raise ValueError(f"a condition {condition}; expected a number of 16 bits")
        if self.kind == "table":
            self._check_bands()
        for answer in self.answers:
            if not 1 <= len(answer) <= MOST_STEPS:
                raise ValueError(f"an answer of {len(answer)} steps; expected 1 to {MOST_STEPS}")
            for step in answer:
                if not 1 <= step.frames <= LONGEST_STEP:
                    raise ValueError(
                        f"a step that is not 1 to {LONGEST_STEP} frames long: {answer}"
                    )

    def _check_bands(self) -> None:
        edges, groups = self.distance_edges, self.status_groups
        if len(edges) != DISTANCE_BANDS - 1:
            raise ValueError(f"{len(edges)} edges of distances; expected {DISTANCE_BANDS - 1}")
        if len(groups) != len(STATUSES):
            raise ValueError(f"groups of {len(groups)} statuses; expected {len(STATUSES)}")
        if not set(groups) <= set(range(STATUS_GROUPS)):
            raise ValueError(f"groups of statuses {groups}; expected 0 to {STATUS_GROUPS - 1}")

    def as_json(self) -> dict[str, Any]:
        """Return a dict for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Player:
        """Return the player that was written by `as_json`."""
        fields = dict(kept)
        answers: list[Answer] = []
        for answer in kept["answers"]:
            steps = [Step(**step) for step in answer]
            answers.append(tuple(steps))
        conditions = [Condition(**condition) for condition in kept["conditions"]]
        fields["answers"] = tuple(answers)
        fields["conditions"] = tuple(conditions)
        for name in ("distance_edges", "status_groups"):
            fields[name] = tuple(kept[name])
        return cls(**fields)


NOBODY = Player("loop", ((Step(""),),), knows_side=False)
"""A player that presses nothing, for matches between two computer opponents."""


# ---- structures of C ----


class _Step(ctypes.Structure):
    _fields_ = (("held", ctypes.c_uint16), ("frames", ctypes.c_uint8))


class _Answer(ctypes.Structure):
    _fields_ = (("steps", ctypes.c_uint8), ("step", _Step * MOST_STEPS))


class _Condition(ctypes.Structure):
    _fields_ = (("feature", ctypes.c_uint8), ("below", ctypes.c_int16))


class _Player(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_uint8),
        ("late", ctypes.c_uint8),
        ("interval", ctypes.c_uint8),
        ("knows_side", ctypes.c_uint8),
        ("conditions", ctypes.c_uint8),
        ("condition", _Condition * MOST_CONDITIONS),
        ("distance_edge", ctypes.c_int16 * (DISTANCE_BANDS - 1)),
        ("height_edge", ctypes.c_int16),
        ("status_group", ctypes.c_uint8 * len(STATUSES)),
        ("answer", _Answer * CELLS),
    )


class _Action(ctypes.Structure):
    _fields_ = (
        ("frames", ctypes.c_uint8),
        ("mirrored", ctypes.c_uint8),
        ("held", ctypes.c_uint16 * MOST_ACTION_FRAMES),
    )


class _Setting(ctypes.Structure):
    _fields_ = (
        ("seed", ctypes.c_uint32),
        ("mode", ctypes.c_uint16),
        ("agent_level", ctypes.c_uint16),
        ("enemy_level", ctypes.c_uint16),
        ("agent_character", ctypes.c_uint16),
        ("enemy_character", ctypes.c_uint16),
        ("stage", ctypes.c_uint16),
    )


RESULT = np.dtype(
    [
        ("frames", np.uint32),
        ("trace", np.uint32),
        ("landed", np.uint32, 2),
        ("dealt", np.uint16),
        ("taken", np.uint16),
        ("victories", np.uint8, 2),
        ("rounds", np.uint8),
        ("time_outs", np.uint8),
    ],
    align=True,
)
"""The result of a match: `struct result` of players.h."""
Results = np.ndarray[Any, np.dtype[np.void]]


@functools.cache
def _held_bits(held: str) -> int:
    bits = 0
    for name in held.split("+"):
        if name:
            bits += HELD[name]
    return bits


@functools.cache
def action_numbers() -> dict[str, int]:
    """Return the numbers of the 44 actions by name."""
    return {name: number for number, name in enumerate(fighters.action_names())}


def mirrored(action: str) -> str:
    """Return the name of the mirrored action."""
    sides = {"left": "right", "right": "left"}
    parts = re.split(r"([+ ])", action)
    return "".join(sides.get(part, part) for part in parts)


@functools.cache
def loaded() -> ctypes.PyDLL:
    """Return the library, after setting its table of actions."""
    native = library()
    table = (_Action * len(action_numbers()))()
    for entry, name, frames in zip(table, action_numbers(), fighters.actions(), strict=True):
        entry.frames = len(frames)
        entry.mirrored = action_numbers()[mirrored(name)]
        for place, pad in enumerate(frames):
            entry.held[place] = _held_bits("+".join(pad))
    native.duel_set_actions.argtypes = (ctypes.POINTER(_Action),)
    native.duel_play.argtypes = (
        ctypes.POINTER(_Player),
        ctypes.c_uint32,
        ctypes.POINTER(_Setting),
        ctypes.c_uint32,
        ctypes.c_void_p,
    )
    native.duel_record.argtypes = (
        ctypes.POINTER(_Player),
        ctypes.POINTER(_Setting),
        ctypes.POINTER(ctypes.c_uint16),
        ctypes.c_uint32,
        ctypes.c_void_p,
    )
    native.duel_set_actions(table)
    return native


def compiled(player: Player) -> _Player:
    """Return a player as a structure of C."""
    in_c = _Player(
        kind=KINDS.index(player.kind),
        late=player.late,
        interval=player.interval,
        knows_side=player.knows_side,
        conditions=len(player.conditions),
        distance_edge=player.distance_edges,
        height_edge=player.height_edge,
        status_group=player.status_groups,
    )
    for place, condition in enumerate(player.conditions):
        in_c.condition[place] = _Condition(FEATURES.index(condition.feature), condition.below)
    for place, answer in enumerate(player.answers):
        in_c.answer[place] = compiled_answer(answer, player.interval)
    return in_c


def compiled_answer(answer: Answer, interval: int) -> _Answer:
    """Return an answer of a player with this interval as a structure of C."""
    in_c = _Answer(steps=len(answer))
    for place, step in enumerate(answer):
        if interval:
            held = action_numbers()[step.held]
        else:
            held = _held_bits(step.held)
        in_c.step[place] = _Step(held, step.frames)
    return in_c


def _native(setting: Setting) -> _Setting:
    mode = CPU_CPU if setting.agent_level else PAD_CPU
    level = setting.agent_level or 1
    return _Setting(
        setting.seed, mode, level, setting.level, setting.agent, setting.enemy, setting.stage
    )


def compiled_settings(matches: Sequence[Setting]) -> ctypes.Array[_Setting]:
    """Return settings as structures of C."""
    return (_Setting * len(matches))(*map(_native, matches))


# ---- matches ----


def play(players: Sequence[Player], matches: Sequence[Setting]) -> Results:
    """Play all these matches with each of the players.

    Args:
        players: The players of pad 1.
        matches: The matches. Where a setting has an `agent_level`, the computer plays in the
            player's place.

    Returns:
        The results, RESULT [players, matches].
    """
    in_c = (_Player * len(players))(*map(compiled, players))
    results = np.zeros((len(players), len(matches)), RESULT)
    loaded().duel_play(
        in_c, len(players), compiled_settings(matches), len(matches), results.ctypes.data
    )
    return results


def record(player: Player, match: Setting) -> tuple[list[int], Results]:
    """Play one match with a player.

    Returns:
        Its pad on each frame, as bits of the variable `agent_pad`, and the result.
    """
    pads = (ctypes.c_uint16 * MOST_FRAMES)()
    result = np.zeros(1, RESULT)
    frames = loaded().duel_record(
        compiled(player), _native(match), pads, MOST_FRAMES, result.ctypes.data
    )
    return list(pads[:frames]), result[0]


def won(results: Results) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return a mask of the results in which pad 1 won the match, bool of the same shape."""
    victories = results["victories"]
    return np.asarray(victories[..., 0] > victories[..., 1])


def win_share(player: Player, level: int, matches: int, name: str = "win share") -> float:
    """Return the share of matches that a player wins against a level,
    over all match-ups and stages in turn.

    Args:
        player: The player of pad 1.
        level: The level of the computer opponent.
        matches: The number of matches; each has a seed of its own.
        name: The text from which the seeds are derived; another name gives other matches.
    """
    drawn = list(islice(settings(name, level), matches))
    results = play([player], drawn)
    return float(won(results).mean())
