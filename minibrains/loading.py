"""References to brains, which travel on links, and what is made of them, which does not."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from minibrains.brain_file import hash_file
from minibrains.errors import BrainError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BrainRef:
    """Which brain: a file and its SHA-256, and adapters on top of it with their weights."""

    file: str
    sha256: str
    adapters: tuple[tuple[BrainRef, float], ...] = ()

    def files(self) -> list[Path]:
        """The file and those of the adapters."""
        return [Path(self.file), *(file for adapter, _ in self.adapters for file in adapter.files())]

    def verify(self) -> None:
        """Raises BrainError if a file is gone or no longer the one that was meant."""
        try:
            found = hash_file(Path(self.file))
        except OSError as error:
            raise BrainError(f"{self.file}: the brain cannot be read: {error.strerror}") from None
        if found != self.sha256:
            raise BrainError(f"{self.file}: the file has changed; expected SHA-256 {self.sha256}, found {found}")
        for adapter, _ in self.adapters:
            adapter.verify()


class Loaded:
    """What was made of brains, by reference; the least recently used goes first. `host.load` asks the process's own."""

    def __init__(self, budget: int) -> None:
        """`budget`: bytes of brain files that it may hold. The newest stays even if it is larger."""
        self.budget = budget
        self.used = 0
        self.loads = 0
        """How often something had to be made."""
        self._lock = threading.RLock()
        self._made: OrderedDict[tuple[BrainRef, str], tuple[Any, int]] = OrderedDict()

    def load(self, ref: BrainRef, what: str, make: Callable[[BrainRef], T]) -> T:
        """What `make` made of this brain; `what` names it, so that two makers are not mixed up. Raises BrainError."""
        with self._lock:
            key = ref, what
            if key not in self._made:
                ref.verify()
                made = make(ref)
                size = sum(file.stat().st_size for file in ref.files())
                self._made[key] = made, size
                self.used += size
                self.loads += 1
                while self.used > self.budget and len(self._made) > 1:
                    self.used -= self._made.popitem(last=False)[1][1]
            self._made.move_to_end(key)
            found: T = self._made[key][0]
            return found

    def clear(self) -> None:
        """Let go of everything; who still uses something keeps it."""
        with self._lock:
            self._made.clear()
            self.used = 0


def _half_of_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError):  # Windows
        return 8 << 30


LOADED: Final = Loaded(_half_of_memory())
"""This process's."""
