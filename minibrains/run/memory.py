"""The memory of a run: the objects that it has when it begins, or after a second of ticks with the
fast clock, are frozen and moved into huge pages.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_COLLAPSE: Final = 25
"""MADV_COLLAPSE: move a range into huge pages now. In Linux since 6.1, but not yet in Python's
mmap."""
_LARGE: Final = 1 << 21
"""Size of a huge page in bytes."""
_POLICY: Final = Path("/sys/kernel/mm/transparent_hugepage/enabled")
"""The administrator's setting for huge pages, "always [madvise] never", which MADV_COLLAPSE itself
would ignore."""


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector while nodes are opened:
    the objects that imports make are kept anyway.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def freeze_heap() -> None:
    """Freeze all objects that exist now, and move them into huge pages where the system has them.

    Call it when the nodes are open, and `gc.unfreeze()` once they are closed. The garbage
    collector skips frozen objects. Huge pages help because an emulated frame evicts the processor's
    caches, so that every small page that a tick touches has to be looked up again.
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
            # a range that is refused stays as it is
            advise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _COLLAPSE)


def _ranges() -> Iterator[tuple[int, int]]:
    """Yield the ranges of memory that are not mapped from a file."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, _offset, _device, inode, *name = line.split()
        if rights.startswith("rw") and inode == "0" and name in ([], ["[heap]"]):
            start, end = span.split("-")
            yield int(start, 16), int(end, 16)
