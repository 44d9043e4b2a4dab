"""The memory of a run: it stays what it was, and lies in large pages where the system has them."""

from __future__ import annotations

import ctypes
import gc
import mmap
import sys
from pathlib import Path

import pytest

from minibrains import Budget, Hook, Run, RunSpec
from minibrains.run.memory import freeze_heap

COLLAPSE = 25


def _has_large_pages() -> bool:
    if "[never]" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text():
        return False
    with mmap.mmap(-1, 8 << 20) as pages:
        pages[:] = b"\1" * len(pages)
        start = ctypes.c_char.from_buffer(pages)
        first = -(-ctypes.addressof(start) // (2 << 20)) * (2 << 20)
        refused = ctypes.CDLL(None).madvise(
            ctypes.c_void_p(first), ctypes.c_size_t(4 << 20), COLLAPSE
        )
        del start
    return not refused


def _in_large_pages() -> int:
    """kB of this process."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep their pages")
def test_what_is_there_goes_into_large_pages() -> None:
    kept = [bytes([place % 256]) * 5000 for place in range(10_000)]
    try:
        freeze_heap()
        assert gc.get_freeze_count() > 1000
        # what is kept is 50 MB; memory that earlier tests gave back may have been in large pages
        # already
        assert not _has_large_pages() or _in_large_pages() >= 40_000
    finally:
        gc.unfreeze()
    assert all(block == bytes([place % 256]) * 5000 for place, block in enumerate(kept))


class Frozen(Hook):
    """Notes whether the heap is frozen, and stops the run as soon as it is."""

    def __init__(self) -> None:
        self.before_first_tick = False
        self.at_last_tick = False

    def after_open(self, run: Run) -> None:
        self.before_first_tick = gc.get_freeze_count() > 0

    def between_ticks(self, run: Run) -> Budget | None:
        self.at_last_tick = gc.get_freeze_count() > 0
        if self.at_last_tick:
            run.stopping = True
        return None


@pytest.mark.parametrize(
    ("spec", "before_first_tick", "at_last_tick"),
    [
        (RunSpec("hello", ticks=20), False, False),
        (RunSpec("airstriker", episodes=1000), False, True),
        (RunSpec("airstriker", episodes=1000, clock="realtime"), True, True),
    ],
    ids=["brief", "long", "realtime"],
)
def test_a_run_is_frozen_unless_it_is_soon_over(
    spec: RunSpec, before_first_tick: bool, at_last_tick: bool
) -> None:
    hook = Frozen()
    with Run(spec, [hook]) as run:
        for _ in run:
            pass
    assert (hook.before_first_tick, hook.at_last_tick) == (before_first_tick, at_last_tick)
    assert gc.get_freeze_count() == 0
