"""Plays the missing episodes of evaluations and sweeps in worker processes, with a bar."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from minibrains.evaluation.play import EpisodeRunner
from minibrains.evaluation.player import Player
from minibrains.evaluation.report import outcome
from minibrains.evaluation.rows import Rows
from minibrains.process.launchers import choose_launcher
from minibrains.process.local import ProcessLauncher
from minibrains.process.pool import Launcher
from server.commands.interrupt import stop_on_interrupt
from server.terminal import tell


def play_games(
    workers: str,
    players: Sequence[Player],
    missing: Sequence[Sequence[int]],
    rows: Sequence[Rows],
    whole: int,
    out: Path,
) -> bool:
    """Play the missing episodes of each player; return True if that was stopped.

    Args:
        workers: The number of processes, or the address of a Ray cluster.
        players: The players.
        missing: The numbers of the episodes that each has still to play.
        rows: Get the rows of the episodes.
        whole: The number of all episodes, with those that were played before.
        out: The folder below which nodes write.
    """
    form = "{desc} {bar} {n_fmt}/{total_fmt} {elapsed}<{remaining}{postfix}"
    ends: Counter[str] = Counter()
    with tqdm(
        total=whole,
        initial=whole - sum(map(len, missing)),
        bar_format=form,
        disable=None,
        leave=False,
    ) as bar:

        def ended(row: dict[str, Any]) -> None:
            ends[outcome(row)] += 1
            bar.set_postfix_str(f"won {ends['won']} of {ends.total()}", refresh=False)
            bar.update()

        games = EpisodeRunner(lambda: launcher(workers), tell, ended)
        with stop_on_interrupt(games):
            for player, indices, known in zip(players, missing, rows, strict=True):
                bar.set_description(f"{player.name} {player.protocol.opponent}".rstrip())
                ends.clear()
                games.play(player, indices, known, out / "nodes" / player.title)
    return games.stopping


def launcher(workers: str) -> Launcher:
    """Return the launcher.

    Games never run in this process, so a crash is a failed episode instead of a lost evaluation.
    """
    return choose_launcher(workers) or ProcessLauncher(1)


def say_stopped(arguments: argparse.Namespace, there: int, whole: int) -> None:
    """Tell how many episodes are kept; the same command resumes from there."""
    stopped = f"stopped; {there} of {whole} episodes are kept in {arguments.out}"
    message = f"{stopped}; the same command resumes from there"
    if arguments.json:
        print(json.dumps({"error": {"message": message}}))
    tell(message)
