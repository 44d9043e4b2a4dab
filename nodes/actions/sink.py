"""The sink turns an action into held buttons by a table; PadToAction goes the other way."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Annotated, Final, NamedTuple

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    Brain,
    Episode,
    Flag,
    Host,
    Node,
    On,
    Pad,
    Socket,
    setting,
    tensor,
)
from minibrains.errors import BrainError, MinibrainsError

TableAction = Annotated[int, Socket("action", "index[{actions}]")]

FACING = {True: {"FORWARD": "RIGHT", "BACK": "LEFT"}, False: {"FORWARD": "LEFT", "BACK": "RIGHT"}}
"""The buttons that FORWARD and BACK stand for: while facing right, and while facing left."""
DIRECTIONS: Final = frozenset({"UP", "DOWN", "LEFT", "RIGHT", "FORWARD", "BACK"})
"""The buttons that move a fighter; the others attack."""


class ActionTable(Brain):
    """For each action a sequence of rows; each row names the buttons held for one tick.

    Besides the buttons of the pad there may be FORWARD and BACK, which depend on the direction that
    the player faces.
    """

    kind = "action_table"
    names: tuple[str, ...] = setting(doc="the name of each action")
    buttons: tuple[str, ...] = setting(doc="the names of the buttons, the columns of rows")
    starts: np.ndarray = tensor(
        "i32[ends]", "the first row of each action, and the end of the last one's rows"
    )
    rows: np.ndarray = tensor("u8[rows buttons]", "1: held during this tick")

    @classmethod
    def derived_sizes(cls, sizes: dict[str, int], config: object) -> dict[str, int]:  # type: ignore[override]
        return {"actions": sizes["ends"] - 1}

    def check(self, where: str) -> None:
        starts = self.starts.tolist()
        rising = all(first < second for first, second in itertools.pairwise(starts))
        if len(starts) < 2 or starts[0] != 0 or starts[-1] != len(self.rows) or not rising:
            raise BrainError(
                f"{where}: starts must rise from 0 to {len(self.rows)}, the number of rows; "
                f"found {starts}"
            )
        if len(self.names) != len(starts) - 1 or len(self.buttons) != self.rows.shape[1]:
            raise BrainError(
                f"{where}: {len(starts) - 1} actions and {self.rows.shape[1]} "
                "buttons need one name each"
            )
        if (self.rows > 1).any():
            raise BrainError(f"{where}: rows must be 0 or 1")

    @property
    def pressed(self) -> frozenset[str]:
        """Return the buttons that at least one row holds."""
        pressed: set[str] = set()
        for column in np.flatnonzero(self.rows.any(axis=0)):
            button = self.buttons[column]
            for directions in FACING.values():
                pressed.add(directions.get(button, button))
        return frozenset(pressed)

    def attacks(self, buttons: Collection[str] = ()) -> tuple[int, ...]:
        """Return the actions that press one of these buttons; if none are given, any button other
        than a direction.

        Raises MinibrainsError if the table has no such button.
        """
        others = [name for name in self.buttons if name not in DIRECTIONS]
        for name in buttons:
            if name not in others:
                raise MinibrainsError(
                    f"the action table has no button {name!r} to attack with; expected some of "
                    f"{', '.join(others)}"
                )
        places = [self.buttons.index(name) for name in buttons or others]
        attacks: list[int] = []
        for action, (start, end) in enumerate(itertools.pairwise(self.starts.tolist())):
            if self.rows[start:end, places].any():
                attacks.append(action)
        return tuple(attacks)

    @property
    def by_facing(self) -> bool:
        """Return whether the table names FORWARD or BACK,
        which depend on the direction that the player faces.
        """
        return not FACING[True].keys().isdisjoint(self.buttons)

    @property
    def relative_buttons(self) -> tuple[str, ...]:
        """The buttons of the table, without LEFT and RIGHT if it has FORWARD and BACK, which stand
        for them.
        """
        if not self.by_facing:
            return self.buttons
        return tuple(button for button in self.buttons if button not in ("LEFT", "RIGHT"))

    def pads(self, action: int, right: bool = True) -> tuple[tuple[str, ...], ...]:
        """Return the rows of an action as names of buttons, for a player who faces right,
        or left.
        """
        buttons = [FACING[right].get(button, button) for button in self.buttons]
        pads: list[tuple[str, ...]] = []
        for row in self.rows[self.starts[action] : self.starts[action + 1]]:
            held = [buttons[column] for column in np.flatnonzero(row)]
            pads.append(tuple(held))
        return tuple(pads)


def _check_facing(table: ActionTable, facing: bool | None) -> None:
    """Raise MinibrainsError if the table needs a direction, and there is none."""
    if facing is None and table.by_facing:
        raise MinibrainsError(
            "the table names FORWARD or BACK, but nothing says which way; link facing, "
            "GameFeatures has it"
        )


class Pressed(NamedTuple):
    """The buttons to hold now."""

    pad: Pad
    busy: Flag


class EmulatorSink(Node, category="actions", every_tick=True):
    """Turn an action into held buttons: run its sequence once,
    then hold the last row until the next action.

    action:  the index of an action in the table; one that arrives while a sequence runs is dropped
    facing:  True: the player faces right; needed by a table that names FORWARD or BACK, whose
             meaning is fixed when an action begins, so that turning round does not break a motion
    pad:     the names of the buttons to hold now; the console knows its own button order
    busy:    True while rows of a sequence are still to come
    """

    brain: ActionTable

    def open(self, host: Host) -> None:
        self._sequences = {right: self._sequences_of(right) for right in FACING}
        self._nothing = [Pressed((), False)]

    def button_names(self) -> frozenset[str]:
        """Return the names of the buttons that the table may hold."""
        return self.brain.pressed

    def action_names(self) -> tuple[str, ...]:
        """Return the names of the actions of the table."""
        return self.brain.names

    def _sequences_of(self, right: bool) -> list[list[Pressed]]:
        sequences: list[list[Pressed]] = []
        for action in range(self.brain.sizes["actions"]):
            *before, last = self.brain.pads(action, right)
            sequence = [Pressed(pad, True) for pad in before]
            sequence.append(Pressed(last, False))
            sequences.append(sequence)
        return sequences

    def reset(self, episode: Episode) -> None:
        self.rows, self.place = self._nothing, 0

    def tick(self, action: On[TableAction], facing: Flag | None = None) -> Pressed:
        pressed = self.rows[self.place]
        if pressed.busy:
            self.place += 1
            return self.rows[self.place]
        if action is None:
            return pressed
        _check_facing(self.brain, facing)
        self.rows, self.place = self._sequences[facing is not False][action], 0
        return self.rows[0]


class HeldAction(NamedTuple):
    """The action whose buttons are held."""

    action: TableAction | Absent
    begins: Flag


class PadToAction(Node, category="actions"):
    """Find the action of a table that holds the buttons which a person, or anything else, holds.

    pad:     the buttons held now
    facing:  True: the player faces right; needed by a table that names FORWARD or BACK
    action:  the action that begins with exactly these buttons, or, if there is none, the one that
             begins with most of them and no others; nothing while there is no pad, or if no action
             fits
    begins:  True: the action has changed since the last tick

    Motions, which press further buttons after their first row as a projectile's do, are never
    named, because a single pad does not show them. Of actions that begin alike, one with FORWARD or
    BACK is preferred, because it is learned for both directions at once; then the first.
    """

    brain: ActionTable

    def open(self, host: Host) -> None:
        self._beginning = {right: self._actions_by_beginning(right) for right in FACING}
        self._named: dict[tuple[bool, Pad], int | Absent] = {}
        """The action that was found for a direction and a pad."""

    def _actions_by_beginning(self, right: bool) -> dict[frozenset[str], int]:
        """Return the action that begins with each set of buttons, motions left out."""
        table = self.brain
        relative = np.isin(table.buttons, list(FACING[right]))
        first_rows = table.rows[table.starts[:-1]]
        by_facing = first_rows[:, relative].any(axis=1)
        # those with FORWARD or BACK come first
        order = np.argsort(~by_facing, kind="stable")

        actions: dict[frozenset[str], int] = {}
        for action in order.tolist():
            first, *rest = map(frozenset, table.pads(action, right))
            is_motion = any(not later <= first for later in rest)
            if not is_motion:
                actions.setdefault(first, action)
        return actions

    def reset(self, episode: Episode) -> None:
        self.last: int | Absent = ABSENT

    def tick(self, pad: On[Pad], facing: Flag | None = None) -> HeldAction:
        action: int | Absent = ABSENT
        if pad is not None:
            _check_facing(self.brain, facing)
            key = (facing is not False, pad)
            if key not in self._named:
                self._named[key] = self._nearest(*key)
            action = self._named[key]
        begins = action is not ABSENT and action != self.last
        self.last = action
        return HeldAction(action, begins)

    def _nearest(self, right: bool, pad: Pad) -> int | Absent:
        """Return the action that begins with most of the buttons of a pad, and with no others."""
        held = frozenset(pad)
        actions = self._beginning[right]
        fitting = [buttons for buttons in actions if buttons <= held]
        if not fitting:
            return ABSENT
        return actions[max(fitting, key=len)]
