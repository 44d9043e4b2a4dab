"""Action tables: the buttons that each action holds, and the delay before the next one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from minibrains.files import bundled_dir
from nodes.actions.gates import RecoveryBrain
from nodes.actions.sink import ActionTable
from nodes.consoles.pads import ButtonHistoryBrain
from server.commands.make_brains.made_brain import MadeBrain

GENESIS = ("B", "A", "MODE", "START", "UP", "DOWN", "LEFT", "RIGHT", "C", "Y", "X", "Z")
"""The twelve buttons of a Genesis pad, in stable-retro's order."""

SF2_STICK = (
    "none", "up", "down", "left", "up+back", "down+back", "right", "up+forward", "down+forward",
)  # fmt: skip
SF2_PUNCHES = ("", "down", "back", "forward")
SF2_KICKS = ("", "down", "back", "forward", "down+back", "down+forward")
SF2_MOTIONS = {
    "projectile": [
        "DOWN", "DOWN", "DOWN+FORWARD", "DOWN+FORWARD", "FORWARD+Y", "FORWARD+Y", "FORWARD+Y", "",
    ],
    "rising": [
        "FORWARD", "FORWARD", "DOWN", "DOWN", "DOWN+FORWARD+Z", "DOWN+FORWARD+Z", "DOWN+FORWARD+Z",
        "",
    ],
    "forward": ["FORWARD"],
    "back": ["BACK"],
    "jump kick": ["UP", "UP", "UP", "", "", "C", "C", "C"],
}  # fmt: skip
SF2_BUTTONS = ("UP", "DOWN", "LEFT", "RIGHT", "BACK", "FORWARD", "X", "Y", "Z", "A", "B", "C")
"""The buttons of the table; BACK and FORWARD depend on the direction that the player faces."""


def airstriker() -> MadeBrain:
    """Make a table of six actions.

    Airstriker fires once per press of B, so firing holds it for 4 frames of 8.
    """
    actions = {
        "nothing": [""],
        "left": ["LEFT"],
        "right": ["RIGHT"],
        "fire": ["B"] * 4 + [""] * 4,
        "left and fire": ["LEFT+B"] * 4 + ["LEFT"] * 4,
        "right and fire": ["RIGHT+B"] * 4 + ["RIGHT"] * 4,
    }
    return MadeBrain(_table(actions, ("B", "LEFT", "RIGHT")), "Airstriker: steer and fire")


def airstriker_recovery() -> MadeBrain:
    """Make the recovery table: the three actions that fire take 7 frames more."""
    recovery = np.array([0, 0, 0, 7, 7, 7], np.int32)
    return MadeBrain(RecoveryBrain(recovery=recovery), "Airstriker: a shot is 8 frames")


def duel() -> MadeBrain:
    """Make the table of the 44 actions that Duel is calibrated with,
    from the file beside the game.
    """
    file = bundled_dir("games") / "Duel-Genesis" / "actions.json"
    actions = json.loads(file.read_text())["actions"]
    return MadeBrain(_table(actions, GENESIS), "Duel: the 44 actions of the first seed")


def meadow() -> MadeBrain:
    """Make a table of eight actions, for one every 9 frames: a step takes 8 of them."""
    actions = {"nothing": [""]}
    for button in ("UP", "DOWN", "LEFT", "RIGHT"):
        actions[button.lower()] = [button]
    for button in ("A", "B", "START"):
        actions[button.lower()] = [button] * 8 + [""]
    return MadeBrain(
        _table(actions, ("UP", "DOWN", "LEFT", "RIGHT", "A", "B", "START")),
        "Meadow: steps, and presses of a button",
    )


def combos57() -> MadeBrain:
    """Make the brain with the table of `combos57_table`."""
    return MadeBrain(
        combos57_table("LEFT", "RIGHT"),
        "Genesis: 57 combinations of the stick and one of six buttons",
    )


def combos57_by_facing() -> MadeBrain:
    """Make the same table, with back and forward in the place of left and right."""
    return MadeBrain(
        combos57_table("BACK", "FORWARD"),
        "Genesis: the same 57 combinations, forward and back by facing",
    )


def combos57_table(left: str, right: str) -> ActionTable:
    """Return 57 actions of one row: 9 positions of the stick, and six buttons with each of them
    except straight up.

    Args:
        left, right: What the stick's sides are called.
    """
    stick = ["", "UP", "DOWN", left, right]
    for way in ("UP", "DOWN"):
        stick += [f"{way}+{left}", f"{way}+{right}"]

    held = list(stick)
    for button in "ABCXYZ":
        for way in stick:
            if way != "UP":
                held.append(_joined(way, button))

    actions = {row.lower() or "none": [row] for row in held}
    named = {"LEFT": left, "RIGHT": right}
    return _table(actions, [named.get(button, button) for button in GENESIS])


def genesis8() -> MadeBrain:
    """Make the list of buttons of which a network reads the last pads."""
    columns = ButtonHistoryBrain(buttons=GENESIS, steps=8)
    return MadeBrain(columns, "Genesis: the last 8 pads of twelve buttons")


def sf2() -> MadeBrain:
    """Make the brain with the table of `sf2_table`."""
    return MadeBrain(
        sf2_table(), "Street Fighter II and Duel: 44 actions, forward and back by facing"
    )


def sf2_table() -> ActionTable:
    """Return 44 actions by facing: 0 none, 1 up, 2 down, 3 left, 6 right, 9 punch, 21 kick.

    A blow holds the button for 4 frames, then only its direction.
    """
    actions: dict[str, Sequence[str]] = {}
    for position in SF2_STICK:
        actions[position] = [position.upper()]
    actions["none"] = [""]
    for buttons, ways in (("XYZ", SF2_PUNCHES), ("ABC", SF2_KICKS)):
        for button in buttons:
            for way in ways:
                name = _joined(way, button)
                actions[name] = [name.upper()] * 4 + [way.upper()]
    actions |= SF2_MOTIONS
    return _table(actions, SF2_BUTTONS)


def sf2_recovery() -> MadeBrain:
    """Make the recovery table in frames: a jump 15, a punch 11, a kick 12, any other action 0."""
    table = sf2_table()
    frames = [_recovery(table, action) for action in range(table.sizes["actions"])]
    recovery = RecoveryBrain(recovery=np.array(frames, np.int32))
    return MadeBrain(recovery, "Street Fighter II and Duel: punch 11, kick 12, jump 15 frames")


def _recovery(table: ActionTable, action: int) -> int:
    pressed: set[str] = set()
    for row in table.pads(action):
        pressed.update(row)
    if "UP" in pressed:
        return 15
    if pressed & set("XYZ"):
        return 11
    if pressed & set("ABC"):
        return 12
    return 0


def _table(actions: Mapping[str, Sequence[str]], buttons: Sequence[str]) -> ActionTable:
    """Return a table made of text: each row of an action has the names of the buttons held,
    joined by +.
    """
    rows: list[list[bool]] = []
    starts = [0]
    for sequence in actions.values():
        for held in sequence:
            names = held.split("+")
            rows.append([button in names for button in buttons])
        starts.append(len(rows))
    return ActionTable(
        names=tuple(actions),
        buttons=tuple(buttons),
        starts=np.array(starts, np.int32),
        rows=np.array(rows, np.uint8),
    )


def _joined(way: str, button: str) -> str:
    if way:
        return f"{way}+{button}"
    return button
