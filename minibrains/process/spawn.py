"""Processes that Ctrl-C does not reach."""

from __future__ import annotations

import signal
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def start_shielded(process: BaseProcess) -> None:
    """Start a process with Ctrl-C held back, which goes to the whole terminal, until it calls `take_no_orders`."""
    resource_tracker.ensure_running()  # starting the tracker, which the first spawn does, would let signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def take_no_orders(*signals: signal.Signals) -> None:
    """In the process itself: it is ended by whoever started it, over their pipe, and not by these signals."""
    for each in signals:
        signal.signal(each, lambda *_: None)  # not SIG_IGN, which the node's own child processes would inherit
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
