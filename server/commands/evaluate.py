"""`evaluate`: how many episodes a workflow wins, beside others that play the same ones."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from tqdm import tqdm

from minibrains.evaluation import chart
from minibrains.evaluation.play import Games
from minibrains.evaluation.player import Player
from minibrains.evaluation.protocol import Protocol, agree, choose_game
from minibrains.evaluation.report import describe, evaluation, outcome
from minibrains.evaluation.rows import Rows
from minibrains.files import write_whole
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import Workflow
from minibrains.process.launchers import choose_launcher
from minibrains.process.local import ProcessLauncher
from minibrains.process.pool import Launcher
from minibrains.run.spec import RunSpec
from server.cli import DONE, FAILED, STOPPED
from server.commands.interrupt import stop_on_interrupt
from server.commands.workflow_arguments import read_registry, read_spec
from server.terminal import printable, tell


def main(arguments: argparse.Namespace) -> int:
    protocol, players = _players(arguments, read_registry(arguments))
    out, wanted = Path(arguments.out), range(arguments.episodes)
    kept = [Rows(out / "episodes" / f"{player.title}.jsonl", player.facts) for player in players]
    if _play(arguments, players, kept, out):
        there = sum(len(rows.episodes.keys() & set(wanted)) for rows in kept)
        said = f"stopped; {there} of {len(kept) * len(wanted)} episodes are kept in {out}, the same command goes on from there"
        if arguments.json:
            print(json.dumps({"error": {"message": said}}))
        _say(said)
        return STOPPED
    rows = [{index: kept_rows.episodes[index] for index in wanted} for kept_rows in kept]
    result = evaluation(protocol, [player.as_json() for player in players], rows)
    stem = f"{players[0].name}-{protocol.split}-{arguments.episodes}-{_tag(players)}"
    files = {kind: out / f"{stem}.{kind}" for kind in ("json", "png")}
    result["files"] = {**{kind: str(file) for kind, file in files.items()}, "episodes": [str(each.path) for each in kept]}
    write_whole(files["json"], json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    chart.draw(result, files["png"])
    print(json.dumps(result) if arguments.json else printable("\n".join([describe(result), *map(str, files.values())])))
    failed = sum(player["failed"] for player in result["players"])
    if failed:
        why = next(row["error"] for each in rows for row in each.values() if outcome(row) == "failed")
        _say(f"{failed} episodes failed, they count as not won; the first: {why}")
    return FAILED if failed else DONE


def _players(arguments: argparse.Namespace, registry: Registry) -> tuple[Protocol, list[Player]]:
    """Who plays, the evaluated one first; who would play exactly the same games as another is the same player."""
    spec = read_spec(arguments)
    workflow = spec.load_workflow()
    game, rules = choose_game(workflow, registry)
    protocol = agree(game, rules, arguments.states, arguments.seed, arguments.ticks)
    players: dict[str, Player] = {}

    def add(role: str, spec: RunSpec, workflow: Workflow) -> None:
        graph = spec.check(protocol.pin(workflow, registry, arguments.episodes), registry)
        left_out = protocol.left_out(graph.workflow, registry)
        player = Player([role], graph, spec.for_worker(graph.workflow), protocol, left_out)
        known = players.setdefault(player.key, player)
        if known is not player:
            known.roles.append(role)

    add("evaluated", spec, workflow)
    others = [*(("against", name) for name in arguments.against), *rules.baselines.items()]
    for role, name in others:
        other = RunSpec(name, packs=spec.packs, installed_packs=spec.installed_packs)
        add(role, other, other.load_workflow())
    return protocol, list(players.values())


def _play(arguments: argparse.Namespace, players: list[Player], kept: list[Rows], out: Path) -> bool:
    """Play what is missing; True if that was stopped."""
    missing = [[index for index in range(arguments.episodes) if index not in rows.episodes] for rows in kept]
    whole = len(players) * arguments.episodes
    form = "{desc} {bar} {n_fmt}/{total_fmt} {elapsed}<{remaining}{postfix}"
    ends: Counter[str] = Counter()
    with tqdm(total=whole, initial=whole - sum(map(len, missing)), bar_format=form, disable=None, leave=False) as bar:

        def ended(row: dict[str, Any]) -> None:
            ends[outcome(row)] += 1
            bar.set_postfix_str(f"won {ends['won']} of {ends.total()}", refresh=False)
            bar.update()

        games = Games(lambda: _launcher(arguments), _say, ended)
        with stop_on_interrupt(games):
            for player, rows, indices in zip(players, kept, missing, strict=True):
                bar.set_description(player.name)
                ends.clear()
                games.play(player, indices, rows, out / "nodes" / player.title)
    return games.stopping


def _launcher(arguments: argparse.Namespace) -> Launcher:
    """Games are never played in this process: one that crashes is a failed episode, not a lost evaluation."""
    return choose_launcher(arguments.workers) or ProcessLauncher(1)


def _tag(players: list[Player]) -> str:
    return hashlib.sha256("".join(player.key for player in players).encode()).hexdigest()[:8]


def _say(text: str) -> None:
    tell(text)
