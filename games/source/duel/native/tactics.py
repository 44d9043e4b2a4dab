"""The opponent's tables of tactics, read and written natively,
and the outcome of each of its choices.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from games.source.duel.matches import Setting
from games.source.duel.native.players import (
    RESULT,
    Player,
    Results,
    compiled,
    compiled_settings,
    loaded,
)

HEADER = Path(__file__).resolve().parent.parent / "tactics.h"
TABLE = HEADER.with_name("tactics.c")


def names_of(enumeration: str) -> list[str]:
    """Return the names of an enumeration of tactics.h, without the last, which is their number."""
    found = re.search(rf"enum {enumeration} \{{(.*?)\}};", HEADER.read_text(), re.DOTALL)
    assert found is not None
    body = re.sub(r"/\*.*?\*/", "", found[1], flags=re.DOTALL)
    names = re.findall(r"\w+", body)
    return names[:-1]


def constant(name: str) -> int:
    """Return a number that tactics.h defines."""
    found = re.search(rf"#define {name} (\d+)", HEADER.read_text())
    assert found is not None
    return int(found[1])


SITUATIONS, DEEDS, CIRCUMSTANCES = names_of("situation"), names_of("deed"), names_of("circumstance")
MOST_OPTIONS = constant("MOST_OPTIONS")

OPTIONS = np.dtype(
    [
        ("count", np.uint8),
        ("deeds", np.uint8, MOST_OPTIONS),
        ("logarithms", np.int8, (len(CIRCUMSTANCES), MOST_OPTIONS)),
    ]
)
"""The options in a situation: `struct options` of tactics.h."""
SAMPLE = np.dtype(
    [
        ("situation", np.uint8),
        ("option", np.uint8),
        ("circumstances", np.uint16),
        ("gained", np.float32),
    ]
)
"""A choice and its outcome: `struct sample` of tuning.h."""
MOST_SAMPLES = 8192
"""The greatest number of choices in a match."""
Table = np.ndarray[Any, np.dtype[np.void]]
Samples = np.ndarray[Any, np.dtype[np.void]]


def read_tactics() -> Table:
    """Return the table that the opponent plays by in this process:
    a row of dtype OPTIONS for each situation.
    """
    table = np.zeros(len(SITUATIONS), OPTIONS)
    loaded().duel_read_tactics(table.ctypes.data_as(ctypes.c_void_p))
    return table


def write_tactics(table: Table) -> None:
    """Let the opponent play by another table in this process."""
    loaded().duel_write_tactics(table.ctypes.data_as(ctypes.c_void_p))


def sample(
    player: Player, matches: Sequence[Setting], weights: np.ndarray[Any, np.dtype[np.float32]]
) -> tuple[Samples, Results]:
    """Let a player play some matches, and record what the opponent chooses.

    Args:
        player: The player of pad 1.
        matches: The matches.
        weights: For each frame after a choice, how much it counts what the opponent gains or loses
            on it.

    Returns:
        The opponent's choices, of dtype SAMPLE, and the results, of dtype RESULT.
    """
    samples = np.zeros(MOST_SAMPLES * len(matches), SAMPLE)
    results = np.zeros(len(matches), RESULT)
    count = loaded().duel_sample(
        ctypes.byref(compiled(player)),
        compiled_settings(matches),
        len(matches),
        weights.ctypes.data_as(ctypes.c_void_p),
        len(weights),
        samples.ctypes.data_as(ctypes.c_void_p),
        len(samples),
        results.ctypes.data_as(ctypes.c_void_p),
    )
    return samples[:count], results


# ---- tactics.c ----


def wrapped(head: str, items: Sequence[object], indent: int) -> list[str]:
    """Return an initializer's lines, none too long."""
    lines = [head]
    for item in items:
        if len(lines[-1]) + len(f"{item}, ") > 118:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * indent)
        lines[-1] += f"{item}, "
    lines[-1] = lines[-1].rstrip().rstrip(",") + "},"
    return lines


def as_source(table: Table, how: str) -> str:
    """Return tactics.c.

    Args:
        table: Its content.
        how: A sentence on how it was made, for its first line.
    """
    lines = [
        f"/* {how} */",
        '#include "tactics.h"',
        "",
        "TACTICS struct options tactics[SITUATIONS] = {",
    ]
    for situation, options in zip(SITUATIONS, table, strict=True):
        count = int(options["count"])
        deeds = [DEEDS[deed] for deed in options["deeds"][:count]]
        lines += [f"    [{situation}] = {{", f"        .count = {count},"]
        lines += wrapped("        .deeds = {", deeds, 12)
        lines += ["        .logarithms = {"]
        for circumstance, row in zip(CIRCUMSTANCES, options["logarithms"], strict=True):
            lines += wrapped(f"            [{circumstance}] = {{", row[:count].tolist(), 16)
        lines += ["        },", "    },"]
    return "\n".join([*lines, "};", ""])
