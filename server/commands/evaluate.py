"""The command `evaluate`: the share of episodes that a workflow wins,
compared with others in the same episodes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from minibrains.evaluation import chart
from minibrains.evaluation.ledger import Look, record_look
from minibrains.evaluation.opponents import name_opponents
from minibrains.evaluation.player import Player
from minibrains.evaluation.protocol import Protocol, choose_game, make_protocol
from minibrains.evaluation.regression import EarlierResult, judge_regression
from minibrains.evaluation.report import (
    compared,
    describe,
    is_compared,
    judge,
    made_with,
    outcome,
    table,
)
from minibrains.evaluation.rows import Rows
from minibrains.evaluation.rules import Baseline, Rules
from minibrains.files import write_atomic
from minibrains.games.catalog import Game
from minibrains.games.splits import HELD_BACK, Splits
from minibrains.graph.registry import Registry
from minibrains.graph.socket_ref import NODE_ID
from minibrains.graph.workflow import Workflow
from minibrains.run.spec import RunSpec
from server.cli import DONE, FAILED, STOPPED
from server.commands.play_games import play_games, say_stopped
from server.commands.workflow_arguments import read_registry, read_spec
from server.terminal import printable, tell


@dataclass(frozen=True)
class _Section:
    """The players of the same episodes, the evaluated one first."""

    name: str
    """The name of the opponent; empty without `--opponents`."""
    protocol: Protocol
    players: list[Player]


def main(arguments: argparse.Namespace) -> int:
    """Evaluate a workflow and print the results. Returns the exit status."""
    # the players, and the rows of each
    registry = read_registry(arguments)
    game, rules, protocol, sections = _prepare(arguments, registry)
    earlier = _read_earlier(arguments, sections)
    look = _record_look(arguments, game, protocol, sections)
    players: list[Player] = []
    for section in sections:
        players.extend(section.players)
    out = Path(arguments.out)
    rows_of: dict[str, Rows] = {}
    for player in players:
        rows_of[player.key] = Rows(out / "episodes" / f"{player.title}.jsonl", player.identity)
    whole = sum(len(_requested(arguments, player)) for player in players)
    rows = [rows_of[player.key] for player in players]
    missing = _missing(arguments, players, rows_of)
    if play_games(arguments.workers, players, missing, rows, whole, out):
        remaining = sum(map(len, _missing(arguments, players, rows_of)))
        say_stopped(arguments, whole - remaining, whole)
        return STOPPED

    # the rows that count: the file of a player may have more episodes than are requested now
    counted: dict[str, dict[int, dict[str, Any]]] = {}
    failed: list[str] = []
    for player in players:
        counted[player.key] = {}
        for index in _requested(arguments, player):
            row = rows_of[player.key].episodes[index]
            counted[player.key][index] = row
            if outcome(row) == "failed":
                failed.append(row["error"])

    # the result and its files
    result = _result(arguments, rules, protocol, sections, counted)
    if look is not None:
        result["look"] = look.as_json()
    if earlier is not None:
        result["regression"] = _judge_regression(earlier, sections, counted)
    count = str(arguments.episodes)
    if arguments.baselines is not None:
        count += f"-{arguments.baselines}"
    stem = f"{players[0].name}-{players[0].protocol.split}-{count}-{_tag(players)}"
    json_file, chart_file = out / f"{stem}.json", out / f"{stem}.png"
    row_files = [str(rows.path) for rows in rows_of.values()]
    result["files"] = {"json": str(json_file), "png": str(chart_file), "episodes": row_files}
    write_atomic(json_file, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    chart.draw(result, chart_file)
    if arguments.json:
        print(json.dumps(result))
    else:
        lines = [describe(result), str(json_file), str(chart_file)]
        print(printable("\n".join(lines)))
    if failed:
        tell(f"{len(failed)} episodes failed, they count as not won; the first: {failed[0]}")
        return FAILED
    if earlier is not None:
        tell(result["regression"]["sentence"])
        if result["regression"]["worse"]:
            return FAILED
    return DONE


def _read_earlier(arguments: argparse.Namespace, sections: list[_Section]) -> EarlierResult | None:
    """Read the result that `--no-worse-than` names; None if there is none.

    Raises MinibrainsError if it was not made under the same conditions.
    """
    if arguments.no_worse_than is None:
        return None
    earlier = EarlierResult(Path(arguments.no_worse_than))
    for section in sections:
        earlier.rows(section.protocol)
    return earlier


def _judge_regression(
    earlier: EarlierResult, sections: list[_Section], rows: dict[str, dict[int, dict[str, Any]]]
) -> dict[str, Any]:
    pairs = []
    for section in sections:
        now = rows[section.players[0].key]
        pairs.append((section.name, now, earlier.rows(section.protocol)))
    return judge_regression(sections[0].players[0].name, earlier.path, pairs)


def _requested(arguments: argparse.Namespace, player: Player) -> range:
    """Return the numbers of the episodes that a player plays."""
    if arguments.baselines is None or _is_chosen(player):
        return range(arguments.episodes)
    return range(min(arguments.baselines, arguments.episodes))


def _missing(
    arguments: argparse.Namespace, players: list[Player], rows_of: dict[str, Rows]
) -> list[list[int]]:
    """Return for each player the numbers of the episodes that are still to be played."""
    missing: list[list[int]] = []
    for player in players:
        known = rows_of[player.key].episodes
        requested = _requested(arguments, player)
        missing.append([index for index in requested if index not in known])
    return missing


def _prepare(
    arguments: argparse.Namespace, registry: Registry
) -> tuple[Game, Rules, Protocol, list[_Section]]:
    """Determine players and conditions: one section, or with --opponents one for each opponent."""
    spec = read_spec(arguments)
    workflow = spec.load_workflow()
    game, rules = choose_game(workflow, registry)
    protocol = make_protocol(game, rules, arguments.states, arguments.seed, arguments.ticks)
    protocols = {"": protocol}
    if arguments.opponents is not None:
        protocols = name_opponents(arguments.opponents, protocol, rules, spec, registry)

    specs = [("evaluated", spec)]
    for other in arguments.compare_with:
        specs.append(_compared(spec, other))
    if arguments.baselines != 0:
        baselines = {role: Baseline(name) for role, name in rules.baselines.items()}
        if arguments.opponents is None:
            baselines |= rules.simple_players(rules.level_of(list(protocol.states)))
        for role, baseline in baselines.items():
            specs.append((role, _other(spec, baseline.workflow, baseline.widgets)))
    entrants = [(role, each, each.load_workflow()) for role, each in specs]

    sections: list[_Section] = []
    for name, conditions in protocols.items():
        players = _players(arguments, registry, conditions, entrants)
        sections.append(_Section(name, conditions, players))
    return game, rules, protocol, sections


def _compared(spec: RunSpec, text: str) -> tuple[str, RunSpec]:
    """Return the role and the spec of a player that `--compare-with` names:
    a workflow, or the evaluated one with another brain for a node.
    """
    node, separator, file = text.partition("=")
    if separator and NODE_ID.fullmatch(node):
        return f"compared: {text}", replace(spec, brains={**spec.brains, node: file})
    return "compared", _other(spec, text, {})


def _other(spec: RunSpec, workflow: str, widgets: Mapping[str, Any]) -> RunSpec:
    """Return the spec of another workflow, with the packs of this one."""
    return RunSpec(
        workflow, widgets=widgets, packs=spec.packs, installed_packs=spec.installed_packs
    )


def _is_chosen(player: Player) -> bool:
    """Return True unless the player is one of the game's own baselines."""
    return "evaluated" in player.roles or is_compared(player.roles)


def _record_look(
    arguments: argparse.Namespace, game: Game, protocol: Protocol, sections: list[_Section]
) -> Look | None:
    """Record that held-back states are looked at; return None if the states are others."""
    splits = Splits.of(game)
    if splits is None or protocol.split != HELD_BACK:
        return None
    compared: list[Player] = []
    for section in sections:
        for player in section.players:
            if _is_chosen(player):
                compared.append(player)
    return record_look(splits.path.parent, protocol, compared, arguments.episodes)


def _players(
    arguments: argparse.Namespace,
    registry: Registry,
    protocol: Protocol,
    entrants: list[tuple[str, RunSpec, Workflow]],
) -> list[Player]:
    """Make the players of these roles, merging those that would play exactly the same games."""
    players: dict[str, Player] = {}
    for role, spec, workflow in entrants:
        # the brains of an opponent may be anywhere, like those that are named on the command line
        spec = replace(spec, brains={**spec.brains, **protocol.brain_files})
        graph = spec.check(protocol.pin(workflow, registry, arguments.episodes), registry)
        left_out = protocol.left_out(graph.workflow, registry)
        player = Player([role], graph, spec.for_worker(graph.workflow), protocol, left_out)
        known = players.setdefault(player.key, player)
        if known is not player:
            known.roles.append(role)
    return list(players.values())


def _result(
    arguments: argparse.Namespace,
    rules: Rules,
    protocol: Protocol,
    sections: list[_Section],
    rows: dict[str, dict[int, dict[str, Any]]],
) -> dict[str, Any]:
    """Return the results of these episodes, which are given by the keys of their players."""
    played: list[dict[str, Any]] = []
    for section in sections:
        who: list[dict[str, Any]] = []
        episodes: list[dict[int, dict[str, Any]]] = []
        for player in section.players:
            who.append(player.as_json())
            episodes.append(rows[player.key])
        players = compared(who, episodes, rules.measures)
        conditions = _conditions(arguments, section.protocol)
        played.append({"name": section.name, **conditions, "players": players})
    if arguments.opponents is not None:
        conditions = _conditions(arguments, protocol)
        return {**conditions, "table": table(played), "opponents": played, **made_with()}
    del played[0]["name"]
    level = rules.level_of(list(sections[0].protocol.states))
    verdict = judge(played[0]["players"], level, rules.simple_players(level).keys())
    return {**played[0], "verdict": verdict, **made_with()}


def _conditions(arguments: argparse.Namespace, protocol: Protocol) -> dict[str, Any]:
    return {
        "protocol": protocol.as_json(),
        "episodes": arguments.episodes,
        "baseline_episodes": arguments.baselines,
    }


def _tag(players: list[Player]) -> str:
    keys = [player.key for player in players]
    return hashlib.sha256("".join(keys).encode()).hexdigest()[:8]
