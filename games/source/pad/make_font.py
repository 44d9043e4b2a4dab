"""Turn font.txt into C: `make_font.py font.txt font.h`."""

from __future__ import annotations

import sys
from pathlib import Path

FIRST, LAST = 32, 95
"""The characters of the table: from the blank to the underscore."""
COLUMNS, ROWS = 5, 7
LEFT_MARGIN = 1
"""A glyph stands one pixel off the left edge of its 8x8 tile."""


def read_font(text: str) -> dict[str, list[int]]:
    """Each character's eight rows; the highest bit is the leftmost pixel."""
    lines = [line for line in text.splitlines() if line and not line.startswith("# ")]
    glyphs = {}
    for start in range(0, len(lines), 1 + ROWS):
        for place, character in enumerate(lines[start]):
            at = place * (COLUMNS + 1)
            drawn = [line[at : at + COLUMNS] for line in lines[start + 1 : start + 1 + ROWS]]
            if any(len(row) != COLUMNS or set(row) - set("#.") for row in drawn):
                raise ValueError(f"the drawing of {character!r} is not {COLUMNS} columns of # and .")
            bits = [int(row.replace("#", "1").replace(".", "0"), 2) for row in drawn]
            glyphs[character] = [bit << (8 - LEFT_MARGIN - COLUMNS) for bit in bits] + [0]
    return glyphs


def as_c(glyphs: dict[str, list[int]]) -> str:
    """The glyphs as a table indexed by character, less FIRST; one that is not drawn is blank."""
    rows = [glyphs.get(chr(code), [0] * 8) for code in range(FIRST, LAST + 1)]
    table = "\n".join("    {" + ", ".join(f"0x{bits:02X}" for bits in row) + "}," for row in rows)
    return f"/* Made by make_font.py from font.txt. */\nstatic const u8 font[{len(rows)}][8] = {{\n{table}\n}};\n"


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(as_c(read_font(source.read_text())))
