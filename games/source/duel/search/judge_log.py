"""The log judge.jsonl: every use of a judge, and the players that made a ROM fail."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from games.source.duel.native.players import Player
from minibrains.files import LineFile

LOG = Path(__file__).resolve().parent / "judge.jsonl"


def read_log() -> list[dict[str, Any]]:
    """Return the entries of judge.jsonl, without truncated lines."""
    if not LOG.exists():
        return []
    entries = []
    for line in LOG.read_text().splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def write_log(entry: dict[str, Any]) -> None:
    """Append an entry to judge.jsonl, with the current time."""
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with closing(LineFile(LOG)) as file:
        file.append(json.dumps({"when": when, **entry}))


def players_of_judges() -> Iterator[Player]:
    """Yield the players that made a ROM fail, which the exploit search knows from then on."""
    for entry in read_log():
        for row in entry.get("rows", ()):
            yield from map(Player.from_json, row.get("players", ()))
