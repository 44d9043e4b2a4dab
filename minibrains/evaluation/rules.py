"""A game's evaluation.json: how its episodes begin and end,
and which baselines and opponents there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from minibrains.errors import GameError, MinibrainsError
from minibrains.games.catalog import read_json
from minibrains.values import parse_value

RULES: Final = "evaluation.json"
"""The name of the file, which is beside the game's ROM."""

TRAINING, HELD_BACK = "training", "held_back"
"""The two sets of opponents."""

_Nodes = Mapping[str, Mapping[str, Any]]
"""Nodes that an evaluation adds to a workflow, in the form of a workflow file. `console` is the
workflow's own console."""

_Widgets = Mapping[str, Any]
"""Widgets of such nodes or of a workflow: "node.widget" -> value."""


@dataclass(frozen=True)
class Baseline:
    """A workflow to compare the agent with, perhaps with other widget values than in its file."""

    workflow: str
    widgets: _Widgets = field(default_factory=dict)


@dataclass(frozen=True)
class Opponent:
    """A player at the other pad."""

    name: str
    group: str
    """TRAINING or HELD_BACK; "workflow" for a workflow that is not part of the game."""
    write: Mapping[str, int | str]
    """Variables that make the game read the other pad."""
    nodes: _Nodes
    brain_files: Mapping[str, Path] = field(default_factory=dict)
    """The brains of these nodes: node -> absolute path."""

    @property
    def title(self) -> str:
        """The opponent's name in `--opponents` and in the results: GROUP/NAME."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True)
class OtherPad:
    """The way in which a workflow holds the other pad."""

    write: Mapping[str, int | str]
    """Variables that make the game read the other pad."""
    console: Mapping[str, Any]
    """The changes of the evaluated workflow's console; the workflow is linked in the place of its
    links."""
    views: _Nodes
    """Output of the console -> the node that gives it to the player at the other pad."""


@dataclass(frozen=True)
class Rules:
    """The contents of an evaluation.json."""

    noop_max: int
    """Episodes start after 0 to this many frames in which no button is held."""
    write: Mapping[str, int | str]
    """Variables that are set at the start, in the form of the console's `write` widget."""
    ticks: int
    """Time limit of an episode in ticks."""
    baselines: Mapping[str, str]
    """Role (random, reference, …) -> name of the workflow."""
    nodes: _Nodes = field(default_factory=dict)
    """Nodes that are added to every player's workflow to report more about its episodes."""
    simple: Mapping[str, Mapping[str, Baseline]] = field(default_factory=dict)
    """Pattern of states -> the best simple player of each class."""
    measures: Mapping[str, int | None] = field(default_factory=dict)
    """Numbers in the results of an episode of which the mean is shown -> the largest that there can
    be; None if there is none."""
    opponents: Sequence[Opponent] = ()
    other_pad: OtherPad | None = None
    """None: only the opponents named here can hold the other pad."""

    def level_of(self, states: Sequence[str]) -> str | None:
        """Return the pattern of `simple` that all these states match; None if there is none."""
        for pattern in self.simple:
            if all(fnmatchcase(state, pattern) for state in states):
                return pattern
        return None

    def simple_players(self, level: str | None) -> Mapping[str, Baseline]:
        """Return the simple players of a level, by their role in an evaluation."""
        players = self.simple.get(level or "", {})
        return {f"simple: {name}": player for name, player in players.items()}

    def choose_opponents(self, pattern: str) -> list[Opponent]:
        """Return the opponents that match a GROUP, a GROUP/NAME, or a pattern of such names.

        Raises GameError if there is none.
        """
        if not self.opponents:
            raise GameError(f"--opponents: the game's {RULES} names no opponents; leave it out")
        whole = pattern
        if "/" not in pattern:
            whole = f"{pattern}/*"
        chosen = [opponent for opponent in self.opponents if fnmatchcase(opponent.title, whole)]
        if not chosen:
            known = ", ".join(opponent.title for opponent in self.opponents)
            raise GameError(
                f"--opponents: no opponent matches {pattern!r}; expected some of {known}"
            )
        return chosen


def read_rules(path: Path) -> Rules:
    """Read an evaluation.json. Raises MinibrainsError."""
    values = dict(read_json(path))
    values.pop("about", None)
    if "noops" in values and "noop_max" not in values:  # its former name
        values["noop_max"] = values.pop("noops")
    required = {
        "noop_max": int,
        "write": Mapping[str, int | str],
        "ticks": int,
        "baselines": Mapping[str, str],
    }
    optional = {
        "nodes": _Nodes,
        "simple": Mapping[str, Mapping[str, Mapping[str, Any]]],
        "measures": Mapping[str, int | None],
        "opponents": Mapping[str, Any],
    }
    if not required.keys() <= values.keys() <= required.keys() | optional.keys():
        expected = f"{', '.join(required)}, and perhaps {', '.join(optional)}"
        raise MinibrainsError(f"{path} has {', '.join(values)}; expected {expected}")
    types = {**required, **optional}
    try:
        read = {key: parse_value(types[key], value) for key, value in values.items()}
        _check_nodes(read.get("nodes", {}))
        _check_measures(read.get("measures", {}))
        simple = _read_simple(read.pop("simple", {}))
        section = read.pop("opponents", {})
        opponents, other_pad = _read_opponents(section), _read_other_pad(section)
    except ValueError as error:
        raise GameError(f"{path}: {error}") from None
    return Rules(**read, simple=simple, opponents=opponents, other_pad=other_pad)


def _read_simple(
    section: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> dict[str, dict[str, Baseline]]:
    """Read `simple`: the simple players of each pattern of states. Raises ValueError."""
    simple: dict[str, dict[str, Baseline]] = {}
    for pattern, players in section.items():
        if not players:
            raise ValueError(
                f'"simple" names no player for {pattern!r}; expected a player, '
                "or leave the pattern out"
            )
        simple[pattern] = {name: _read_baseline(name, player) for name, player in players.items()}
    return simple


def _read_baseline(name: str, player: Mapping[str, Any]) -> Baseline:
    if not {"workflow"} <= player.keys() <= {"workflow", "set"}:
        raise ValueError(
            f'the simple player {name!r} has {", ".join(player)}; expected "workflow", '
            'and perhaps "set"'
        )
    workflow = parse_value(str, player["workflow"])
    widgets = parse_value(Mapping[str, Any], player.get("set", {}))
    return Baseline(workflow, widgets)


def _read_opponents(section: Mapping[str, Any]) -> list[Opponent]:
    """Read `opponents`: the nodes that they share, and the widgets in which they differ.

    Raises ValueError.
    """
    if not section:
        return []
    types: Mapping[str, Any] = {
        "write": Mapping[str, int | str],
        "nodes": _Nodes,
        TRAINING: Mapping[str, _Widgets],
        HELD_BACK: Mapping[str, _Widgets],
    }
    if not types.keys() <= section.keys() <= types.keys() | {"views"}:
        expected = f"{', '.join(types)}, and perhaps views"
        raise ValueError(f'"opponents" has {", ".join(section)}; expected {expected}')
    read = {key: parse_value(kind, section[key]) for key, kind in types.items()}
    _check_nodes(read["nodes"])
    opponents = []
    for group in (TRAINING, HELD_BACK):
        for name, widgets in read[group].items():
            nodes = _with_widgets(read["nodes"], widgets)
            opponents.append(Opponent(name, group, read["write"], nodes))
    return opponents


def _read_other_pad(section: Mapping[str, Any]) -> OtherPad | None:
    """Read `views` of `opponents`. Raises ValueError."""
    if "views" not in section:
        return None
    views = parse_value(_Nodes, section["views"])
    _check_nodes(views)
    return OtherPad(section["write"], section["nodes"].get("console", {}), views)


def _check_measures(measures: Mapping[str, int | None]) -> None:
    """Raise ValueError if the largest value of a measure is none."""
    for name, most in measures.items():
        if most is not None and most < 1:
            raise ValueError(
                f'"measures" says that {name} is at most {most}; expected 1 or more, '
                "or null if there is no largest value"
            )


def _check_nodes(nodes: _Nodes) -> None:
    """Raise ValueError unless the links and widgets of these nodes can be read;
    the rest is checked with the workflow.
    """
    for entry in nodes.values():
        parse_value(Mapping[str, str], entry.get("in", {}))
        parse_value(_Widgets, entry.get("set", {}))


def _with_widgets(nodes: _Nodes, widgets: _Widgets) -> _Nodes:
    changed = {name: dict(entry) for name, entry in nodes.items()}
    for target, value in widgets.items():
        node, _, widget = target.partition(".")
        if node not in changed or not widget:
            raise ValueError(
                f'"opponents" sets {target!r}; expected NODE.WIDGET with one of the '
                f"nodes {', '.join(changed)}"
            )
        changed[node]["set"] = {**changed[node].get("set", {}), widget: value}
    return changed
