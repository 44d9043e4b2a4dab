"""The table of what each term contributed to the rewards of episodes: a CSV file to which rows are
appended, and columns when there are new ones.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from minibrains.files import LineFile, write_atomic

BREAKDOWN: Final = "reward_breakdown.csv"
"""The usual name of the table."""
COLUMNS: Final = "episode", "ticks", "ended", "total"
"""The columns before those of the terms."""


def breakdown_row(episode: int, results: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of an episode.

    Args:
        episode: Its number, from 0.
        results: Its results, with those of a RewardSum.
    """
    values = (episode, results["ticks"], results["ended"], results["reward"])
    return {**dict(zip(COLUMNS, values, strict=True)), **results["rewards"]}


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Append a row, as a whole line; nothing is lost when the process is killed.

    Columns that the file does not have yet are added to it: in the rows before, they are empty.

    Args:
        path: The file; made, with its line of columns, if it does not exist.
        row: The values by column; columns of the file that are missing here stay empty.

    Raises:
        OSError: The file cannot be read or written; then it is as it was.
    """
    columns = _columns(path)
    added = [name for name in row if name not in columns]
    if added:
        _add_columns(path, added)
        columns += added
    cells = [row.get(name, "") for name in columns]
    file = LineFile(path)
    try:
        file.append(_line(cells))
    finally:
        file.close()


def _columns(path: Path) -> list[str]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return next(csv.reader(file), [])


def _add_columns(path: Path, added: list[str]) -> None:
    """Write the file anew, with more columns."""
    lines: list[list[str]] = [[]]
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file)) or lines
    lines[0] = [*lines[0], *added]
    for line in lines[1:]:
        line += [""] * len(added)
    text = "".join(f"{_line(line)}\n" for line in lines)
    write_atomic(path, text)


def _line(values: Iterable[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values)
    return text.getvalue()
