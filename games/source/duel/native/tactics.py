"""The opponent's tables in the native library, and samples of its choices with their returns."""

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
    """Return the names in an enumeration of tactics.h, without the last, which is their number."""
    found = re.search(rf"enum {enumeration} \{{(.*?)\}};", HEADER.read_text(), re.DOTALL)
    assert found is not None
    body = re.sub(r"/\*.*?\*/", "", found[1], flags=re.DOTALL)
    names = re.findall(r"\w+", body)
    return names[:-1]


def constant(name: str) -> int:
    """Return the value of a number that tactics.h defines."""
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
"""A choice and its return: `struct sample` of tuning.h."""
MOST_SAMPLES = 8192
"""The greatest number of choices in a match."""
Table = np.ndarray[Any, np.dtype[np.void]]
Samples = np.ndarray[Any, np.dtype[np.void]]


def read_tactics() -> Table:
    """Return the opponent's table in this process, OPTIONS [situations]."""
    table = np.zeros(len(SITUATIONS), OPTIONS)
    loaded().duel_read_tactics(table.ctypes.data_as(ctypes.c_void_p))
    return table


def write_tactics(table: Table) -> None:
    """Replace the opponent's table in this process."""
    loaded().duel_write_tactics(table.ctypes.data_as(ctypes.c_void_p))


def sample(
    player: Player,
    matches: Sequence[Setting],
    weights: np.ndarray[Any, np.dtype[np.float32]],
    explores: int = 0,
) -> tuple[Samples, Results]:
    """Play some matches, and record the opponent's choices.

    Args:
        player: The player of pad 1.
        matches: The matches.
        weights: The weight of each frame after a choice in its return, f32 [frames].
        explores: The chance, out of 256, that the opponent chooses any option, regardless of their
            weights.

    Returns:
        The opponent's choices with their returns, SAMPLE [choices], and the results, RESULT
        [matches].
    """
    samples = np.zeros(MOST_SAMPLES * len(matches), SAMPLE)
    results = np.zeros(len(matches), RESULT)
    count = loaded().duel_sample(
        ctypes.byref(compiled(player)),
        compiled_settings(matches),
        len(matches),
        weights.ctypes.data_as(ctypes.c_void_p),
        len(weights),
        explores,
        samples.ctypes.data_as(ctypes.c_void_p),
        len(samples),
        results.ctypes.data_as(ctypes.c_void_p),
    )
    return samples[:count], results


# ---- tactics.c ----


def wrapped(head: str, items: Sequence[object], indent: int) -> list[str]:
    """Return the lines of a C initializer, wrapped at 118 columns.

    Args:
        head: The beginning of the first line.
        items: The items of the initializer.
        indent: The number of spaces before the other lines.
    """
    lines = [head]
    for item in items:
        if len(lines[-1]) + len(f"{item}, ") > 118:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * indent)
        lines[-1] += f"{item}, "
    lines[-1] = lines[-1].rstrip().rstrip(",") + "},"
    return lines


def as_source(table: Table, how: str) -> str:
    """Return the text of tactics.c.

    Args:
        table: The table, OPTIONS [situations].
        how: A sentence for the first line on how the file was made.
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
