"""Sweeps: a widget or a brain is varied over a grid, and every variant plays the same episodes."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from minibrains.errors import Fault, GameError, MinibrainsError, WorkflowError
from minibrains.evaluation import chart
from minibrains.evaluation.player import Player
from minibrains.evaluation.protocol import PINNED, choose_game, make_protocol
from minibrains.evaluation.report import compared, headline, made_with, table_lines
from minibrains.evaluation.rows import Rows
from minibrains.files import write_atomic
from minibrains.games.splits import HELD_BACK
from minibrains.graph.registry import Registry
from minibrains.run.spec import RunSpec
from minibrains.values import parse_json

MAX_VARIANTS: Final = 200
"""Largest number of variants."""


class Axis(NamedTuple):
    """A widget, or the brain of a node, and what is tried in its place."""

    target: str
    """`node.widget`, or the id of a node whose brain is varied."""
    values: tuple[Any, ...]
    """Values of the widget, or the files of brains."""

    @property
    def is_brain(self) -> bool:
        """True if brains are varied."""
        return "." not in self.target

    def text(self, value: Any) -> str:
        """Return one of its values for people, as on the command line."""
        return f"{self.target}={value}"


def read_axis(text: str, is_brain: bool = False) -> Axis:
    """Read `node.widget=1,2,3`, or `node=FILE,FILE`.

    A value is JSON or else a text; values with commas in them are written as one JSON array.

    Raises:
        WorkflowError: It cannot be read.
    """
    target, separator, values = text.partition("=")
    if not separator or not values or ("." in target) == is_brain:
        expected = "NODE=FILE,FILE" if is_brain else "NODE.WIDGET=VALUE,VALUE"
        option = "--vary-brain" if is_brain else "--vary"
        fault = Fault("cannot be read", expected=expected, found=text, code="invalid_argument")
        raise WorkflowError([fault], option)
    if is_brain:
        return Axis(target, tuple(values.split(",")))
    whole = _value(values)
    if isinstance(whole, list):
        return Axis(target, tuple(whole))
    return Axis(target, tuple(map(_value, values.split(","))))


def _value(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text


@dataclass(frozen=True)
class Variant:
    """One point of the grid."""

    values: Mapping[str, Any]
    """Target -> the value that it has here."""
    player: Player


class Sweep:
    """A workflow whose variants play the same episodes: the same start states, waiting frames and
    seeds.
    """

    def __init__(
        self,
        spec: RunSpec,
        registry: Registry,
        axes: Sequence[Axis],
        states: str,
        episodes: int,
        seed: int = 0,
        ticks: int | None = None,
    ) -> None:
        """Check all variants; nothing is played yet.

        Args:
            spec: The workflow, with changes that all variants have.
            registry: The node types.
            axes: What is varied; the first one varies slowest.
            states: A split, or SPLIT/PATTERN.
            episodes: The number of episodes of each variant.
            seed: The seed of the choice and order of the starts.
            ticks: The limit of an episode in ticks; None: that of the game's rules.

        Raises:
            MinibrainsError: A variant cannot be played, there are too many, or the states are held
                back.
        """
        _check_axes(axes)
        if states.partition("/")[0] == HELD_BACK:
            raise GameError(
                "a sweep is there to choose the best of many, which amounts to training on its "
                "states; choose on training or validation, and evaluate the best on held_back"
            )
        self.axes = axes
        self.episodes = episodes
        workflow = spec.load_workflow()
        game, self.rules = choose_game(workflow, registry)
        self.protocol = make_protocol(game, self.rules, states, seed, ticks)
        consoles = registry.consoles(registry.migrate(workflow))
        for axis in axes:
            node, _, widget = axis.target.partition(".")
            if widget in PINNED and node == consoles[0].id:
                raise MinibrainsError(
                    f"{axis.target} is the same for all players of {game.name}: its rules say how "
                    "episodes begin; vary another widget"
                )
        targets = [axis.target for axis in axes]
        choices = [axis.values for axis in axes]
        self.variants: list[Variant] = []
        for values in itertools.product(*choices):
            chosen = dict(zip(targets, values, strict=True))
            self.variants.append(Variant(chosen, self._player(spec, registry, chosen)))

    def _player(self, spec: RunSpec, registry: Registry, chosen: Mapping[str, Any]) -> Player:
        brains, widgets = dict(spec.brains), dict(spec.widgets)
        texts: list[str] = []
        for axis in self.axes:
            changes = brains if axis.is_brain else widgets
            changes[axis.target] = chosen[axis.target]
            texts.append(axis.text(chosen[axis.target]))
        spec = replace(spec, brains=brains, widgets=widgets)
        pinned = self.protocol.pin(spec.load_workflow(), registry, self.episodes)
        graph = spec.check(pinned, registry)
        left_out = self.protocol.left_out(graph.workflow, registry)
        roles = [", ".join(texts)]
        return Player(roles, graph, spec.for_worker(graph.workflow), self.protocol, left_out)

    @property
    def title(self) -> str:
        """The title of the workflow, or else its name."""
        workflow = self.variants[0].player.graph.workflow
        return workflow.title or workflow.name

    @property
    def stem(self) -> str:
        """The name of the files of its result."""
        player = self.variants[0].player
        keys = "".join(variant.player.key for variant in self.variants)
        tag = hashlib.sha256(keys.encode()).hexdigest()[:8]
        return f"{player.name}-sweep-{self.protocol.split}-{self.episodes}-{tag}"

    def rows(self, out: Path) -> list[Rows]:
        """Open the files with the episodes of the variants, in a folder of evaluations: what was
        played before is not played again. Raises MinibrainsError.
        """
        opened: dict[str, Rows] = {}
        for variant in self.variants:
            player = variant.player
            if player.key not in opened:
                path = out / "episodes" / f"{player.title}.jsonl"
                opened[player.key] = Rows(path, player.identity)
        return [opened[variant.player.key] for variant in self.variants]

    def missing(self, rows: Sequence[Rows]) -> list[list[int]]:
        """Return for each variant the numbers of the episodes that are still to be played."""
        missing: list[list[int]] = []
        seen: set[str] = set()
        for variant, known in zip(self.variants, rows, strict=True):
            numbers: list[int] = []
            if variant.player.key not in seen:
                numbers = [n for n in range(self.episodes) if n not in known.episodes]
            seen.add(variant.player.key)
            missing.append(numbers)
        return missing

    def result(self, rows: Sequence[Rows]) -> dict[str, Any]:
        """Return the results so far, as a JSON object: each variant's figures, and its comparison
        in pairs of episodes with the first one.

        Variants that have played no episode yet have only `values`.

        Raises:
            RunError: An episode did not begin in the same way for two variants.
        """
        begun: list[int] = []
        who: list[dict[str, Any]] = []
        counted: list[dict[int, dict[str, Any]]] = []
        for index, known in enumerate(rows):
            played = {n: known.episodes[n] for n in sorted(known.episodes) if n < self.episodes}
            if played:
                begun.append(index)
                who.append(self.variants[index].player.as_json())
                counted.append(played)
        figures: dict[int, dict[str, Any]] = {}
        if begun:
            found = compared(who, counted, self.rules.measures)
            figures = dict(zip(begun, found, strict=True))
        variants: list[dict[str, Any]] = []
        for index, variant in enumerate(self.variants):
            variants.append({"values": dict(variant.values), **figures.get(index, {})})
        return {
            "title": self.title,
            "protocol": self.protocol.as_json(),
            "episodes": self.episodes,
            "baseline_episodes": None,
            "axes": [axis._asdict() for axis in self.axes],
            "variants": variants,
            **made_with(),
        }


def _check_axes(axes: Sequence[Axis]) -> None:
    if not axes:
        raise MinibrainsError("a sweep needs something to vary: --vary or --vary-brain")
    targets = [axis.target for axis in axes]
    for target in targets:
        if targets.count(target) > 1:
            raise MinibrainsError(f"{target} is varied twice; give all its values at once")
    count = 1
    for axis in axes:
        count *= len(axis.values)
    if count > MAX_VARIANTS:
        raise MinibrainsError(f"these are {count} variants; expected at most {MAX_VARIANTS}")


def write_result(sweep: Sweep, rows: Sequence[Rows], out: Path) -> dict[str, Any]:
    """Write the result of a sweep, and its picture, to a folder; return it with the paths of its
    files. Raises OSError.
    """
    result = sweep.result(rows)
    json_file, chart_file = out / f"{sweep.stem}.json", out / f"{sweep.stem}.png"
    result["files"] = {"json": str(json_file), "png": str(chart_file)}
    write_atomic(json_file, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    draw(result, chart_file)
    return result


def describe(result: Mapping[str, Any]) -> str:
    """Return the results of a sweep as a table for people."""
    named = [(_values_text(variant), variant) for variant in result["variants"]]
    lines = [result["title"], headline(result), *table_lines("variant", named)]
    lines.append(
        "better/worse: episodes that only the first variant, or only this one, won; p: exact "
        "two-sided sign test of those"
    )
    if len(named) > 2:
        lines.append(
            f"the best of {len(named)} looks better than it is: evaluate it on other states"
        )
    return "\n".join(lines)


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw a line for each variant, and write a PNG file. Raises OSError."""
    bars: list[chart.Bar] = []
    for variant in result["variants"]:
        name = ", ".join(_short(value) for value in variant["values"].values())
        bars.append(chart.Bar(name, ", ".join(variant["values"]), variant))
    chart.draw_bars(f"Episodes won: {result['title']}", headline(result), bars, path)


def _short(value: Any) -> str:
    """Return a value, or the name of a brain without its folder."""
    text = str(value)
    if text.endswith(".safetensors"):
        return Path(text).stem
    return text


def _values_text(variant: Mapping[str, Any]) -> str:
    return ", ".join(f"{target}={value}" for target, value in variant["values"].items())
