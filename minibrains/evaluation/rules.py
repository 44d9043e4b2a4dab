"""A game's evaluation.json: how its episodes begin and end, and who plays beside the agent and against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from minibrains.errors import GameError, MinibrainsError
from minibrains.games.catalog import read_json
from minibrains.values import read_value

RULES: Final = "evaluation.json"
"""Its name, beside the game's ROM."""

TRAINING, HELD_BACK = "training", "held_back"
"""The two sets of opponents."""

_Nodes = Mapping[str, Mapping[str, Any]]
"""Nodes that an evaluation adds to a workflow, as they stand in a workflow file. `console` is the workflow's own console."""

_Widgets = Mapping[str, Any]
"""Widgets of such nodes or of a workflow: "node.widget" -> value."""


@dataclass(frozen=True)
class Baseline:
    """A workflow that plays beside the agent, perhaps with other widgets than in its file."""

    workflow: str
    widgets: _Widgets = field(default_factory=dict)


@dataclass(frozen=True)
class Opponent:
    """Somebody who holds the other pad."""

    name: str
    group: str
    """TRAINING or HELD_BACK."""
    write: Mapping[str, int | str]
    """Variables that make the game listen to the other pad."""
    nodes: _Nodes

    @property
    def title(self) -> str:
        """What `--opponents` and the results call it."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True)
class Rules:
    """What an evaluation.json says."""

    noops: int
    """Episodes start after 0 to this many frames without a button."""
    write: Mapping[str, int | str]
    """Variables set at the start, as the console's widget has them."""
    ticks: int
    """An episode that has not ended by then is a time-out."""
    baselines: Mapping[str, str]
    """What they are (random, ceiling, …) and the names of their workflows."""
    nodes: _Nodes = field(default_factory=dict)
    """Added to every player's workflow: they tell more about its episodes."""
    simple: Mapping[str, Mapping[str, Baseline]] = field(default_factory=dict)
    """For a pattern of states, the best simple player of each class."""
    opponents: Sequence[Opponent] = ()

    def level_of(self, states: Sequence[str]) -> str | None:
        """Return the pattern of `simple` that all these states match; None if they do not all match one of them."""
        for pattern in self.simple:
            if all(fnmatchcase(state, pattern) for state in states):
                return pattern
        return None

    def simple_players(self, level: str | None) -> Mapping[str, Baseline]:
        """Return the simple players of a level, by the role that they have in an evaluation."""
        players = self.simple.get(level or "", {})
        return {f"simple: {name}": player for name, player in players.items()}

    def choose_opponents(self, pattern: str) -> list[Opponent]:
        """List the opponents that a GROUP, GROUP/NAME or pattern of such names asks for.

        Raises GameError if there is none.
        """
        if not self.opponents:
            raise GameError(f"--opponents: the game's {RULES} names no opponents; leave it out")
        whole = pattern if "/" in pattern else f"{pattern}/*"
        chosen = [opponent for opponent in self.opponents if fnmatchcase(opponent.title, whole)]
        if not chosen:
            known = ", ".join(opponent.title for opponent in self.opponents)
            raise GameError(f"--opponents: no opponent matches {pattern!r}; expected some of {known}")
        return chosen


def read_rules(path: Path) -> Rules:
    """Read an evaluation.json. Raises MinibrainsError."""
    values = {key: value for key, value in read_json(path).items() if key != "about"}
    required = {
        "noops": int,
        "write": Mapping[str, int | str],
        "ticks": int,
        "baselines": Mapping[str, str],
    }
    optional = {
        "nodes": _Nodes,
        "simple": Mapping[str, Mapping[str, Mapping[str, Any]]],
        "opponents": Mapping[str, Any],
    }
    if not required.keys() <= values.keys() <= required.keys() | optional.keys():
        expected = f"{', '.join(required)}, and perhaps {', '.join(optional)}"
        raise MinibrainsError(f"{path} has {', '.join(values)}; expected {expected}")
    types = {**required, **optional}
    try:
        read = {key: read_value(types[key], value) for key, value in values.items()}
        _check_nodes(read.get("nodes", {}))
        simple = {}
        for pattern, players in read.pop("simple", {}).items():
            if not players:
                raise ValueError(f'"simple" names nobody for {pattern!r}; expected a player, or leave the pattern out')
            simple[pattern] = {name: _read_baseline(name, player) for name, player in players.items()}
        opponents = _read_opponents(read.pop("opponents", {}))
    except ValueError as error:
        raise GameError(f"{path}: {error}") from None
    return Rules(**read, simple=simple, opponents=opponents)


def _read_baseline(name: str, player: Mapping[str, Any]) -> Baseline:
    if not {"workflow"} <= player.keys() <= {"workflow", "set"}:
        raise ValueError(f'the simple player {name!r} has {", ".join(player)}; expected "workflow", and perhaps "set"')
    workflow = read_value(str, player["workflow"])
    widgets = read_value(Mapping[str, Any], player.get("set", {}))
    return Baseline(workflow, widgets)


def _read_opponents(section: Mapping[str, Any]) -> list[Opponent]:
    """Read `opponents`: what all of them have in common, and the widgets in which they differ. Raises ValueError."""
    if not section:
        return []
    types: Mapping[str, Any] = {
        "write": Mapping[str, int | str],
        "nodes": _Nodes,
        TRAINING: Mapping[str, _Widgets],
        HELD_BACK: Mapping[str, _Widgets],
    }
    if section.keys() != types.keys():
        raise ValueError(f'"opponents" has {", ".join(section)}; expected {", ".join(types)}')
    read = {key: read_value(kind, section[key]) for key, kind in types.items()}
    _check_nodes(read["nodes"])
    opponents = []
    for group in (TRAINING, HELD_BACK):
        for name, widgets in read[group].items():
            nodes = _with_widgets(read["nodes"], widgets)
            opponents.append(Opponent(name, group, read["write"], nodes))
    return opponents


def _check_nodes(nodes: _Nodes) -> None:
    """Raise ValueError unless what is linked and set in these nodes can be read; the rest is checked with the workflow."""
    for entry in nodes.values():
        read_value(Mapping[str, str], entry.get("in", {}))
        read_value(_Widgets, entry.get("set", {}))


def _with_widgets(nodes: _Nodes, widgets: _Widgets) -> _Nodes:
    changed = {name: dict(entry) for name, entry in nodes.items()}
    for target, value in widgets.items():
        node, _, widget = target.partition(".")
        if node not in changed or not widget:
            raise ValueError(f'"opponents" sets {target!r}; expected NODE.WIDGET with one of the nodes {", ".join(changed)}')
        changed[node]["set"] = {**changed[node].get("set", {}), widget: value}
    return changed
