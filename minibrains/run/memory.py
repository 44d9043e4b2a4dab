"""The memory of a run: what was allocated before its first tick is frozen, and moved into huge pages."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_COLLAPSE: Final = 25
"""MADV_COLLAPSE, in Linux since 6.1: put a range into large pages now. Python's mmap does not name it yet."""
_LARGE: Final = 1 << 21
"""Bytes of a large page."""
_POLICY: Final = Path("/sys/kernel/mm/transparent_hugepage/enabled")
"""The administrator's word on large pages, which the advice itself does not ask for: "always [madvise] never"."""


@contextmanager
def without_collector() -> Iterator[None]:
    """Let the collector rest while nodes are opened: what libraries make as they are imported stays."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def freeze_heap() -> None:
    """Call it when the nodes are open; `gc.unfreeze()` when they are to be closed.

    The collector need not look at what is there now. And it goes into large pages, where the system has them: an emulated frame
    leaves little in the processor's caches, and every small page that a tick touches has first to be looked up again.
    """
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":
        with suppress(OSError):
            if "[never]" not in _POLICY.read_text():
                _use_large_pages()


def _use_large_pages() -> None:
    advise = ctypes.CDLL(None).madvise
    for start, end in _ranges():
        first, last = -(-start // _LARGE) * _LARGE, end // _LARGE * _LARGE
        if first < last:
            advise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _COLLAPSE)  # what is refused stays as it is


def _ranges() -> Iterator[tuple[int, int]]:
    """Where memory lies that is in no file."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, _offset, _device, inode, *name = line.split()
        if rights.startswith("rw") and inode == "0" and name in ([], ["[heap]"]):
            start, end = span.split("-")
            yield int(start, 16), int(end, 16)
