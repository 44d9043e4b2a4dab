"""The protocol of an evaluation, shared by all players: the game, its states,
and how episodes begin and end.

It comes with the game, in two files beside its ROM: `splits.json` names save states by the SHA-256
of their files, and `evaluation.json` defines how episodes begin and end, and which workflows are
the baselines. So the conditions are never chosen by the person whose agent is evaluated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from minibrains.brain_file import hash_file
from minibrains.errors import Fault, GameError, WorkflowError
from minibrains.evaluation.rules import RULES, Opponent, Rules, read_rules
from minibrains.games.catalog import Game, find_game, known_games, read_json
from minibrains.games.splits import HELD_BACK, Splits
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import RunSettings, Workflow
from minibrains.node import Node
from minibrains.values import to_json

PINNED = ("game", "states", "noop_max", "write")
"""The widgets of a console that are the same for all players."""
_CONSOLE = "console"
"""The name for the console of a workflow in the nodes of an evaluation.json."""


@dataclass(frozen=True)
class Protocol:
    """The conditions under which every player plays, the same for each episode."""

    game: str
    rom_sha1: str
    split: str
    """The split, as named in splits.json."""
    only: str
    """The pattern that selected states of the split by name; "*" for all."""
    states: Mapping[str, str]
    """Name of the state -> SHA-256 of its file."""
    noop_max: int
    write: Mapping[str, int | str]
    ticks: int
    seed: int
    nodes: Mapping[str, Mapping[str, Any]]
    """Nodes that are added to every player's workflow."""
    opponent: str = ""
    """The name of the opponent at the other pad; empty if the game itself plays there."""
    clock: str = "fast"
    brain_files: Mapping[str, Path] = field(default_factory=dict)
    """The brains of added nodes: node -> absolute path. `nodes` has their SHA-256."""

    def as_json(self) -> dict[str, Any]:
        """Return the conditions for the results, as a JSON object, without paths."""
        values: dict[str, Any] = {}
        for each in fields(self):
            if each.name != "brain_files":
                values[each.name] = to_json(getattr(self, each.name))
        return values

    def against(self, opponent: Opponent) -> Protocol:
        """Return the same protocol with this opponent at the other pad."""
        write = {**self.write, **opponent.write}
        nodes = {**self.nodes, **opponent.nodes}
        return replace(
            self,
            opponent=opponent.title,
            write=write,
            nodes=nodes,
            brain_files=opponent.brain_files,
        )

    def pin(self, workflow: Workflow, registry: Registry, episodes: int) -> Workflow:
        """Return the workflow with its console,
        its run settings and the added nodes set to these conditions.

        Args:
            workflow: The player's workflow.
            registry: The node types.
            episodes: The number of episodes.

        Raises:
            WorkflowError: It cannot play this game, or has a node or a link where one is to be
                added.
        """
        workflow = registry.migrate(workflow)
        name, games = only_console(workflow, registry)
        if self.game not in games:
            fault = Fault(
                "it plays another game",
                name,
                "game",
                expected=repr(self.game),
                found=", ".join(map(repr, games)),
                code="wrong_game",
            )
            raise WorkflowError([fault], workflow.where)
        console = workflow.nodes[name]
        pinned = {
            "game": self.game,
            "states": sorted(self.states),
            "noop_max": self.noop_max,
            "write": to_json(self.write),
        }
        workflow = workflow.with_node(name, {**console.raw, "set": {**console.set, **pinned}})
        for collector in self.left_out(workflow, registry):
            workflow = workflow.with_node(
                collector, {**workflow.nodes[collector].raw, "mode": "mute"}
            )
        for added, raw in self.nodes.items():
            entry = to_json(raw)
            if added in self.brain_files:
                entry["brain"]["file"] = str(self.brain_files[added])
            workflow = _with_added(workflow, name, added, entry)
        return registry.migrate(
            workflow.with_run(RunSettings(episodes, self.ticks, self.seed, "fast"))
        )

    def left_out(self, workflow: Workflow, registry: Registry) -> list[str]:
        """Return the nodes to mute: those that collect or train,
        if the states or the opponent are held back; otherwise those that keep episodes, because an
        evaluation is not a part of their data.
        """
        group, _, _ = self.opponent.partition("/")
        held_back = HELD_BACK in (self.split, group)
        collecting: list[str] = []
        for name, cls in registry.items():
            if cls.is_done is not Node.is_done or (held_back and cls.collects_data):
                collecting.append(name)
        return [entry.id for entry in workflow.nodes.values() if entry.type in collecting]


def choose_game(workflow: Workflow, registry: Registry) -> tuple[Game, Rules]:
    """Return the game to evaluate a workflow in: the first of its games with splits.

    Raises MinibrainsError.
    """
    _, names = only_console(registry.migrate(workflow), registry)
    folders = dict(known_games())
    with_rules = [name for name in names if name in folders and (folders[name] / RULES).is_file()]
    if not with_rules:
        known = sorted(name for name, folder in folders.items() if (folder / RULES).is_file())
        raise GameError(
            f"{' and '.join(map(repr, names))} has no {RULES} that says how to evaluate; "
            f"expected one of {', '.join(known)}"
        )
    game = find_game((with_rules[0],))
    if "won" not in read_json(game.data / "metadata.json"):
        raise GameError(
            f'{game.data / "metadata.json"} does not say when an episode is won; expected "won": '
            '["mine", "theirs"]'
        )
    return game, read_rules(game.data / RULES)


def make_protocol(game: Game, rules: Rules, states: str, seed: int, ticks: int | None) -> Protocol:
    """Return the protocol of an evaluation.

    Args:
        game: The game.
        rules: The contents of its evaluation.json.
        states: A split, or SPLIT/PATTERN.
        seed: The seed of the choice and order of the starts.
        ticks: The limit of an episode in ticks; None: that of the rules.

    Raises:
        GameError: There are no such states, or a state or the ROM has been changed.
    """
    # the states
    splits = Splits.of(game)
    if splits is None:
        raise GameError(f"{game.data} has no splits.json, which names the states to evaluate on")
    try:
        chosen = splits.select(states)
    except GameError as error:
        raise GameError(f"--states: {error}") from None
    split, _, pattern = states.partition("/")

    # the ROM and the states are those that the splits were made with
    rom = hashlib.sha1(game.rom.read_bytes()).hexdigest()
    if rom != splits.rom_sha1:
        raise GameError(
            f"{splits.path} is for the ROM {splits.rom_sha1}; found {rom} in {game.rom}"
        )
    for state, digest in chosen.items():
        if hash_file(game.state_file(state)) != digest:
            raise GameError(
                f"{game.state_file(state)} is not the state that {splits.path} names; "
                f"expected SHA-256 {digest}"
            )

    return Protocol(
        game=game.name,
        rom_sha1=rom,
        split=split,
        only=pattern or "*",
        states=chosen,
        noop_max=rules.noop_max,
        write=rules.write,
        ticks=ticks or rules.ticks,
        seed=seed,
        nodes=rules.nodes,
    )


def only_console(workflow: Workflow, registry: Registry) -> tuple[str, Sequence[str]]:
    """Return the id of the only console of a migrated workflow, and its games.

    Raises WorkflowError.
    """
    if workflow.faults:
        raise WorkflowError(workflow.faults, workflow.where)
    consoles = registry.consoles(workflow)
    if len(consoles) != 1:
        fault = Fault(
            "an evaluation needs one console",
            expected="one console, a RetroEmulator say",
            found=str(len(consoles)),
            code="missing_console",
        )
        raise WorkflowError([fault], workflow.where)
    console = consoles[0]
    game = console.set.get("game", registry[console.type].schema.widgets["game"].default)
    if isinstance(game, str):
        return console.id, (game,)
    if isinstance(game, (list, tuple)):
        return console.id, list(game)
    return console.id, ()


def _relinked(sources: str | list[str], console: str) -> str | list[str]:
    """Return the sources of an input, with the console's own id in the place of `console`."""
    if isinstance(sources, list):
        return [str(_relinked(source, console)) for source in sources]
    node, _, output = sources.partition(".")
    if node == _CONSOLE:
        return f"{console}.{output}"
    return sources


def _with_added(workflow: Workflow, console: str, added: str, entry: Mapping[str, Any]) -> Workflow:
    """Return the workflow with one more node;
    an entry called `console` changes the workflow's own console instead.

    Links from `console` become links from the workflow's console, whatever its id. Raises
    WorkflowError if the id is taken.
    """
    links = {}
    for socket, sources in entry.get("in", {}).items():
        links[socket] = _relinked(sources, console)
    if added != _CONSOLE:
        if added in workflow.nodes:
            message = "the evaluation adds a node of this id; give yours another"
            raise WorkflowError([Fault(message, added, code="invalid_node_id")], workflow.where)
        return workflow.with_node(added, {**entry, "in": links})
    own = workflow.nodes[console]
    for socket in links:
        if socket in own.inputs:
            message = (
                "it is linked, and the evaluation links its opponent there; take that link out"
            )
            raise WorkflowError(
                [Fault(message, console, socket, code="too_many_links")], workflow.where
            )
    widgets = {**own.set, **entry.get("set", {})}
    return workflow.with_node(
        console, {**own.raw, "set": widgets, "in": {**own.raw.get("in", {}), **links}}
    )
