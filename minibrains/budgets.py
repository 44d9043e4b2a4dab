"""Limits in megabytes that a person sets in an environment variable."""

from __future__ import annotations

import os
import re
from typing import Final

from minibrains.errors import MinibrainsError

_MEGABYTES: Final = re.compile("[0-9]{1,15}")


def budget_of(variable: str, default: int) -> int:
    """Return a budget in bytes: the megabytes in an environment variable, or else `default`.

    Raises:
        MinibrainsError: The variable is not a number, or larger than any disk.
    """
    text = os.environ.get(variable)
    if not text:
        return default
    if not _MEGABYTES.fullmatch(text):
        raise MinibrainsError(
            f"{variable} is {text[:40]!r}; expected a whole number of megabytes, of 15 digits at "
            "most, 0 to keep nothing"
        )
    return int(text) << 20
