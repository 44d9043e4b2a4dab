"""Shared code of the calibration's commands: types of arguments, and worker processes."""

from __future__ import annotations

import argparse
import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from games.source.duel import LEVELS

STOPPED = 130
"""The exit code after Ctrl-C."""


def positive(text: str) -> int:
    """Return an argument as a number. Raises ArgumentTypeError if it is not at least 1."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return number


def writable(text: str) -> Path:
    """Return the path of a file to write.

    Raises:
        ArgumentTypeError: The path is a folder, or its folder does not exist.
    """
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder; expected a file")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"there is no folder {path.parent} to write {path.name} to"
        )
    return path


def level_numbers(text: str) -> list[int]:
    """Return the levels in an argument, such as "4,6".

    Raises ArgumentTypeError if one does not exist.
    """
    try:
        levels = list(map(int, text.split(",")))
    except ValueError:
        levels = []
    if not levels or not set(levels) <= set(range(1, LEVELS + 1)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of levels; expected some of 1 to {LEVELS}, such as 4,6"
        )
    return levels


def start_processes(count: int) -> ProcessPoolExecutor:
    """Start worker processes that end at once on Ctrl-C, without tracebacks."""
    return ProcessPoolExecutor(
        count, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_DFL)
    )


def end_processes() -> None:
    """Terminate all processes that `multiprocessing` has started from this one."""
    for process in multiprocessing.active_children():
        process.terminate()
