"""The ledger of a game: every look that evaluations have taken at its held-back states.

Picking the best of ten agents by their results in held-back states amounts to training on them. The
ledger tells how often somebody could have picked.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from minibrains.errors import GameError
from minibrains.evaluation.player import Player
from minibrains.evaluation.protocol import Protocol
from minibrains.files import LineFile, sync_folders

LEDGER: Final = "held_back.jsonl"
"""The name of the ledger, beside the game's splits.json."""


@dataclass(frozen=True, slots=True)
class Look:
    """A look at held-back states, as it is recorded."""

    path: Path
    number: int
    """Its number among the looks at the states of this ROM, from 1."""
    entry: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the look for the results of an evaluation, as a JSON object."""
        return {"number": self.number, "ledger": str(self.path), **self.entry}


def record_look(folder: Path, protocol: Protocol, players: Sequence[Player], episodes: int) -> Look:
    """Record that some players are evaluated on held-back states, before they are.

    The same evaluation again, after an interruption say, is the same look: it has the same results.
    More episodes are another one.

    Args:
        folder: The folder of the game's splits.json.
        protocol: The protocol, with all states that are looked at.
        players: The evaluated players and those that they are compared with, without the game's
            own baselines.
        episodes: The number of episodes of each.

    Raises:
        GameError: The ledger cannot be read or written, so the states must not be looked at.
    """
    path = folder / LEDGER
    entry = {
        "rom_sha1": protocol.rom_sha1,
        "states": f"{protocol.split}/{protocol.only}",
        "seed": protocol.seed,
        "episodes": episodes,
        "players": [_who(player) for player in players],
    }
    try:
        before = _looks(path, protocol.rom_sha1)
        for number, known in enumerate(before, 1):
            if known["look"] == entry:
                return Look(path, number, entry)
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with closing(LineFile(path)) as file:
            file.append(json.dumps({"when": when, "look": entry}))
        sync_folders(folder)
    except OSError as error:
        raise GameError(
            f"{path} cannot be written: {error.strerror or error}; "
            "held-back states are evaluated only where each look at them is recorded"
        ) from None
    return Look(path, len(before) + 1, entry)


def _who(player: Player) -> dict[str, Any]:
    brains = {name: brain["sha256"] for name, brain in player.graph.brain_files().items()}
    return {
        "workflow": player.name,
        "opponent": player.protocol.opponent,
        "key": player.key,
        "brains": brains,
    }


def _looks(path: Path, rom_sha1: str) -> list[dict[str, Any]]:
    """Return the entries of the ledger for a ROM. Raises GameError if one cannot be read."""
    if not path.exists():
        return []
    looks: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            known = json.loads(line)
            if known["look"]["rom_sha1"] == rom_sha1:
                looks.append(known)
        except (ValueError, KeyError, TypeError):
            raise GameError(
                f"{path}, line {number}: it is not an entry of a ledger; expected a JSON object "
                'with "look"; restore the line from the history of the file'
            ) from None
    return looks
