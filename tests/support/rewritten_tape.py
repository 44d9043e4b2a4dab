"""Tapes that are not as they were recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from minibrains.tape.recording import FILE, read_events
from minibrains.tape.tape import Event
from minibrains.tape.tape_file import TapeWriter


def rewrite_tape(folder: Path, change: Callable[[Event], Event]) -> None:
    """Put a tape in place of that of a run folder, with each event as `change` returns it."""
    tape = folder / FILE
    events, _ = read_events(tape)
    tape.unlink()
    writer = TapeWriter(tape)
    for event in events:
        writer.append(change(event).encode())
    writer.close()
