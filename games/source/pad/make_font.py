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
    """Return the eight rows of each character; the highest bit is the leftmost pixel.

    Raises ValueError if a drawing has other characters than # and ., or not COLUMNS of them.
    """
    lines: list[str] = []
    for line in text.splitlines():
        if line and not line.startswith("# "):
            lines.append(line)
    glyphs: dict[str, list[int]] = {}
    for start in range(0, len(lines), 1 + ROWS):
        drawings = lines[start + 1 : start + 1 + ROWS]
        for position, character in enumerate(lines[start]):
            left = position * (COLUMNS + 1)
            rows: list[int] = []
            for drawing in drawings:
                drawn = drawing[left : left + COLUMNS]
                if len(drawn) != COLUMNS or set(drawn) - set("#."):
                    raise ValueError(
                        f"the drawing of {character!r} is not {COLUMNS} columns of # and ."
                    )
                bits = int(drawn.replace("#", "1").replace(".", "0"), 2)
                rows.append(bits << (8 - LEFT_MARGIN - COLUMNS))
            glyphs[character] = [*rows, 0]
    return glyphs


def as_c(glyphs: dict[str, list[int]]) -> str:
    """Return C with the glyphs as a table indexed by character, less FIRST;
    one that is not drawn is blank.
    """
    count = LAST + 1 - FIRST
    lines = ["/* Made by make_font.py from font.txt. */", f"static const u8 font[{count}][8] = {{"]
    for code in range(FIRST, LAST + 1):
        rows = glyphs.get(chr(code), [0] * 8)
        numbers = ", ".join(f"0x{bits:02X}" for bits in rows)
        lines.append(f"    {{{numbers}}},")
    return "\n".join([*lines, "};", ""])


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(as_c(read_font(source.read_text())))
