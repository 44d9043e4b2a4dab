"""Keep signals away from child processes: a terminal sends Ctrl-C and hang-ups to all,
but only the command may react.
"""

from __future__ import annotations

import signal
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Final

BLOCKED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start_with_signals_blocked(process: BaseProcess) -> None:
    """Start a process with these signals blocked, until it calls `ignore_signals`."""
    # The first spawn also starts the resource tracker, which would unblock the signals again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_signals() -> None:
    """Ignore these signals. Called in the child, which its parent ends over the pipe."""
    for number in BLOCKED:
        # Not SIG_IGN, because programs that a node starts would inherit it.
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
