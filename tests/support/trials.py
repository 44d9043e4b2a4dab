"""Trials in the process of the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minibrains.errors import MinibrainsError
from minibrains.process.trial import Verdict


def try_here(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Verdict:
    """Run a trial in this process and without limits."""
    try:
        return Verdict(None, function(*arguments))
    except MinibrainsError as error:
        return Verdict(str(error))
