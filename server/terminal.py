"""Text for terminals, without control characters: a terminal obeys them,
and names and errors may come from anywhere.
"""

from __future__ import annotations

import sys


def printable(text: str) -> str:
    """Escape all unprintable characters, as in `\\x1b`, except line breaks and tabs."""
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
