"""SimpleFighter plays as a person could write it on a card: an endless loop,
a rule of one or two questions, a table.

Such players are found by search, and an agent has to be better than they are. The game's source has
the same players in C, for the search; here they play in a workflow.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Literal, NamedTuple

from minibrains import Brain, Episode, Host, MinibrainsError, Node, Pad, Variables, setting, widget
from minibrains.errors import BrainError, suggest
from minibrains.values import parse_value
from nodes.fighting.styles import FLOOR, STAND

BUTTONS: Final = ("UP", "DOWN", "LEFT", "RIGHT", "A", "B", "C", "X", "Y", "Z", "START", "MODE")
TOWARDS, AWAY = "F", "G"
"""The names that a step may use beside those of the buttons."""
STATUSES: Final = 7
"""The number of statuses: from stand to hit, every second number."""
STATUS_GROUPS, HEIGHT_BANDS = 3, 2
LONGEST: Final = 255
"""The most frames of a status that are told apart, and of a step."""
MOST_LATE: Final = 60

Feature = Literal["distance", "height", "lead", "enemy frames", "own frames", "enemy is", "own is"]
Kind = Literal["loop", "rule", "table"]

_LEFT_AND_RIGHT: Final = {"LEFT": "RIGHT", "RIGHT": "LEFT"}


class Sight(NamedTuple):
    """One frame as a simple player sees it."""

    distance: int
    height: int
    """Height of the enemy above the floor, in pixels."""
    lead: int
    """Health that the agent has more than the enemy."""
    enemy_is_left: bool
    enemy_status: int
    """0 stand, 1 crouch, 2 jump, 3 block, 4 attack, 5 special, 6 hit."""
    own_status: int
    enemy_frames: int
    """Frames for which the enemy's status has lasted."""
    own_frames: int


_BEFORE: Final = Sight(0, 0, 0, False, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Step:
    """Buttons held for some frames; of a player that takes actions, the name of an action."""

    held: str
    frames: int


@dataclass(frozen=True, slots=True)
class Condition:
    """A question: whether a number is below another, or a status one of several."""

    feature: Feature
    below: int
    """A number, or for the last two features a set of statuses: bit n is status n."""

    def holds(self, sight: Sight) -> bool:
        """Return True if the answer is yes for what the player sees."""
        if self.feature == "enemy is":
            return bool(self.below >> sight.enemy_status & 1)
        if self.feature == "own is":
            return bool(self.below >> sight.own_status & 1)
        number: int = getattr(sight, self.feature.replace(" ", "_"))
        return number < self.below


@dataclass(frozen=True, slots=True)
class SimplePlayer:
    """A simple player, as written in a brain."""

    kind: Kind
    answers: tuple[tuple[Step, ...], ...]
    """A loop has one. A rule has one for each way in which its conditions may hold: none, the last,
    the first, both. A table has one for each band of distance, group of the enemy's status, and low
    or high."""
    late: int
    """Frames until it sees what has happened."""
    interval: int
    """Frames from one action to the next; 0: it holds the pad itself."""
    knows_side: bool
    """Left and right are mirrored while the enemy stands on its left."""
    conditions: tuple[Condition, ...]
    distance_edges: tuple[int, ...]
    """The distances at which the second band begins, the third, and so on."""
    height_edge: int
    """From here on the enemy is high."""
    status_groups: tuple[int, ...]
    """The group of each of the enemy's statuses."""

    def answer(self, sight: Sight) -> tuple[Step, ...]:
        """Return the answer to what the player sees."""
        if self.kind == "loop":
            return self.answers[0]
        if self.kind == "rule":
            cell = 0
            for condition in self.conditions:
                cell = 2 * cell + condition.holds(sight)
            return self.answers[cell]
        band = sum(sight.distance >= edge for edge in self.distance_edges)
        group = self.status_groups[sight.enemy_status]
        is_high = sight.height >= self.height_edge
        return self.answers[(band * STATUS_GROUPS + group) * HEIGHT_BANDS + is_high]


def read_player(value: Mapping[str, Any]) -> SimplePlayer:
    """Read a player from JSON. Raises ValueError, with a sentence, if it is not one."""
    types: Mapping[str, Any] = {
        "kind": Kind,
        "answers": tuple[tuple[Mapping[str, str | int], ...], ...],
        "late": int,
        "interval": int,
        "knows_side": bool,
        "conditions": tuple[Mapping[str, str | int], ...],
        "distance_edges": tuple[int, ...],
        "height_edge": int,
        "status_groups": tuple[int, ...],
    }
    if value.keys() != types.keys():
        raise ValueError(f"it has {', '.join(map(repr, value))}; expected {', '.join(types)}")
    fields = {name: parse_value(kind, value[name]) for name, kind in types.items()}
    answers: list[tuple[Step, ...]] = []
    for answer in fields["answers"]:
        answers.append(tuple(map(_read_step, answer)))
    fields["answers"] = tuple(answers)
    fields["conditions"] = tuple(map(_read_condition, fields["conditions"]))
    player = SimplePlayer(**fields)
    _check_player(player)
    return player


def _read_step(value: Mapping[str, Any]) -> Step:
    if value.keys() != {"held", "frames"}:
        raise ValueError(f"a step has {', '.join(map(repr, value))}; expected held, frames")
    step = Step(parse_value(str, value["held"]), parse_value(int, value["frames"]))
    if not 1 <= step.frames <= LONGEST:
        raise ValueError(f"a step lasts {step.frames} frames; expected 1 to {LONGEST}")
    return step


def _read_condition(value: Mapping[str, Any]) -> Condition:
    if value.keys() != {"feature", "below"}:
        names = ", ".join(map(repr, value))
        raise ValueError(f"a condition has {names}; expected feature, below")
    return Condition(parse_value(Feature, value["feature"]), parse_value(int, value["below"]))


def _check_player(player: SimplePlayer) -> None:
    bands = len(player.distance_edges) + 1
    answers = {
        "loop": 1,
        "rule": 2 ** len(player.conditions),
        "table": bands * STATUS_GROUPS * HEIGHT_BANDS,
    }
    if len(player.answers) != answers[player.kind] or not all(player.answers):
        raise ValueError(
            f"a {player.kind} of this form has {answers[player.kind]} answers of at least one step"
        )
    if not 0 <= player.late <= MOST_LATE or player.interval < 0:
        raise ValueError(f"expected late from 0 to {MOST_LATE} and interval from 0")
    groups = player.status_groups
    if player.kind == "table" and (
        len(groups) != STATUSES or not set(groups) <= set(range(STATUS_GROUPS))
    ):
        raise ValueError(f"status_groups: expected {STATUSES} numbers below {STATUS_GROUPS}")


class SimplePlayers(Brain):
    """Simple players by name, and the actions of those that take actions."""

    kind = "simple_players"
    players: Mapping[str, Mapping[str, Any]] = setting(
        doc="for each name its kind, answers, conditions and so on"
    )
    actions: Mapping[str, tuple[str, ...]] = setting(
        doc="for each action its frames of held buttons; the last is held on"
    )

    def check(self, where: str) -> None:
        if not self.players:
            raise BrainError(f"{where}: expected at least one player")
        for name, value in self.players.items():
            try:
                self._check_steps(read_player(value))
            except ValueError as error:
                raise BrainError(f"{where}: the player {name!r}: {error}") from None

    def _check_steps(self, player: SimplePlayer) -> None:
        known = {*BUTTONS, TOWARDS, AWAY}
        if player.interval:
            known = {*self.actions}
        for step in chain.from_iterable(player.answers):
            names = step.held.split("+")
            if player.interval:
                names = [step.held]
            for name in names:
                if name and name not in known:
                    expected = ", ".join(map(repr, sorted(known)))
                    raise ValueError(f"there is no {name!r} to hold; expected some of {expected}")


class PlayerState:
    """A simple player at play, with the frames that it has seen and its position in its answer."""

    def __init__(self, player: SimplePlayer, actions: Mapping[str, tuple[str, ...]]) -> None:
        self.player = player
        self.actions = actions
        self.seen: deque[Sight] = deque(maxlen=player.late + 1)
        self.frame = 0
        self.answer: tuple[Step, ...] = ()
        self.at = 0
        self.remaining = 0
        self.mirrored = False
        self.held = ""
        self.action_frame = 0

    def pad(self, variables: Mapping[str, int]) -> Pad:
        """Return the buttons to hold on the next frame."""
        before = self.seen[-1] if self.seen else _BEFORE
        self.seen.append(_look(variables, before))
        if self.player.interval:
            pad = self._action_pad()
        else:
            pad = self._step_pad()
        self.frame += 1
        return pad

    def _action_pad(self) -> Pad:
        if self.frame % self.player.interval == 0:
            self._next_step()
            self.action_frame = 0
        rows = self.actions[self.held]
        held = rows[min(self.action_frame, len(rows) - 1)]
        self.action_frame += 1
        names = [name for name in held.split("+") if name]
        if self.mirrored:
            names = [_LEFT_AND_RIGHT.get(name, name) for name in names]
        return tuple(names)

    def _step_pad(self) -> Pad:
        if self.remaining == 0:
            self._next_step()
        self.remaining -= 1
        ways = {TOWARDS: "RIGHT", AWAY: "LEFT"}
        if self.mirrored:
            ways = {TOWARDS: "LEFT", AWAY: "RIGHT"}
        return tuple(ways.get(name, name) for name in self.held.split("+") if name)

    def _next_step(self) -> None:
        """Begin the next step, of a new answer if there is none left.

        A loop looks for the enemy's side at each step, the others when an answer begins: a motion
        is not turned round in the middle of it.
        """
        known = self.seen[0]
        is_over = self.at >= len(self.answer)
        if is_over:
            self.answer = self.player.answer(known)
            self.at = 0
        if self.player.knows_side and (is_over or self.player.kind == "loop"):
            self.mirrored = known.enemy_is_left
        step = self.answer[self.at]
        self.at += 1
        self.held = step.held
        self.remaining = step.frames


def _look(variables: Mapping[str, int], before: Sight) -> Sight:
    mine, theirs = variables["agent_x"], variables["enemy_x"]
    enemy_status = _number(variables["enemy_status"])
    own_status = _number(variables["agent_status"])
    return Sight(
        distance=abs(mine - theirs),
        height=FLOOR - variables["enemy_y"],
        lead=variables["agent_hp"] - variables["enemy_hp"],
        enemy_is_left=theirs < mine,
        enemy_status=enemy_status,
        own_status=own_status,
        enemy_frames=_lasted(enemy_status, before.enemy_status, before.enemy_frames),
        own_frames=_lasted(own_status, before.own_status, before.own_frames),
    )


def _number(status: int) -> int:
    """Return the number of a status, from 0 for stand; an unknown one counts as stand."""
    number = (status - STAND) // 2
    if 0 <= number < STATUSES:
        return number
    return 0


def _lasted(status: int, status_before: int, frames_before: int) -> int:
    """Return the frames for which a status has lasted, at most LONGEST."""
    if status == status_before:
        return min(frames_before + 1, LONGEST)
    return 0


class SimpleFighter(Node, category="fighting", renamed_attributes={"left": "remaining"}):
    """Fight as simply as can be: a loop of buttons, a rule, a table.

    An agent has to be better than the best of them.

    variables:  of the Street Fighter II map, on every frame
    Out:        the buttons to hold now
    """

    brain: SimplePlayers
    player: str = widget(rebuild=True, doc="which of the brain's players")

    def open(self, host: Host) -> None:
        if self.player not in self.brain.players:
            hint = (
                suggest(self.player, self.brain.players)
                or f"Expected one of {', '.join(map(repr, self.brain.players))}"
            )
            raise MinibrainsError(f"the brain has no player {self.player!r}. {hint}")
        self._player = read_player(self.brain.players[self.player])

    def reset(self, episode: Episode) -> None:
        self.progress = PlayerState(self._player, self.brain.actions)

    def state(self) -> dict[str, Any]:
        """Return the attributes of the progress, except for those that come from the brain."""
        given = ("player", "actions")
        return {
            name: copy.copy(value)
            for name, value in vars(self.progress).items()
            if name not in given
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.progress = PlayerState(self._player, self.brain.actions)
        for name, value in state.items():
            setattr(self.progress, name, copy.copy(value))

    def tick(self, variables: Variables) -> Pad:
        try:
            return self.progress.pad(variables)
        except KeyError as missing:
            raise MinibrainsError(
                f"the game's map, its data.json, has no variable {missing}, which it needs"
            ) from None
