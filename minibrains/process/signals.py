"""Keep signals away from child processes: a terminal sends Ctrl-C and its end to all of them, and only the command may act."""

from __future__ import annotations

import signal
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Final

BLOCKED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start_with_signals_blocked(process: BaseProcess) -> None:
    """Start a process with these signals blocked, until it calls `ignore_signals`."""
    # The first spawn starts the resource tracker, which would unblock the signals again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_signals() -> None:
    """In the child itself: ignore these signals. Its parent ends it, over their pipe."""
    for number in BLOCKED:
        # Not SIG_IGN, which programs that a node starts would inherit.
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
