"""What people read in a terminal: a terminal obeys control characters, and names and errors may come from anywhere."""

from __future__ import annotations

import sys


def printable(text: str) -> str:
    """Return a text with `\\x1b` and the like in the place of what is no printable character, but for line ends and tabs."""
    if text.isprintable():
        return text
    return "".join(map(_printable, text))


def tell(text: str) -> None:
    """Print a text on standard error."""
    print(printable(text), file=sys.stderr, flush=True)


def _printable(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return character.encode("unicode_escape").decode()
