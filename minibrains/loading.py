"""References to brains, which travel on links,
and the cache of the objects that are made from brains, which do not.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any, Final, TypeVar

import numpy as np

from minibrains.brain_file import hash_file
from minibrains.budgets import budget_of
from minibrains.errors import BrainError
from minibrains.savings import tell_saving

MODELS_VARIABLE: Final = "MINIBRAINS_MODELS_MB"
T = TypeVar("T")
_HOLD_NOTHING: Final = (str, bytes, int, float, type, ModuleType)
"""Types of objects that are not searched for arrays and tensors."""


@dataclass(frozen=True, slots=True)
class BrainRef:
    """A reference to a brain: a file and its SHA-256,
    and the adapters to merge with their weights.
    """

    file: str
    """The path of the file."""
    sha256: str
    """Its SHA-256, in hexadecimal."""
    adapters: tuple[tuple[BrainRef, float], ...] = ()
    """Adapters with the weights to merge them with."""

    @property
    def label(self) -> str:
        """The name of the file and the number of adapters, for people."""
        count = len(self.adapters)
        if not count:
            return Path(self.file).name
        return f"{Path(self.file).name} with {count} {'adapter' if count == 1 else 'adapters'}"

    def verify(self) -> None:
        """Raise BrainError if a file is missing or is no longer the one that was meant."""
        try:
            found = hash_file(Path(self.file))
        except OSError as error:
            raise BrainError(f"{self.file}: the brain cannot be read: {error.strerror}") from None
        if found != self.sha256:
            raise BrainError(
                f"{self.file}: the file has changed; expected SHA-256 {self.sha256}, found {found}"
            )
        for adapter, _ in self.adapters:
            adapter.verify()


@dataclass(frozen=True, slots=True)
class _Entry:
    made: Any
    seconds: float
    """Seconds that it took to make."""
    memory: Mapping[int, int]
    """The blocks of memory that it holds: address -> size in bytes."""


@dataclass(eq=False, slots=True)
class _Turn:
    """A lock for making one thing, and the number of threads that use it."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    threads: int = 0
    """Number of threads that hold the lock or wait for it."""


class ModelCache:
    """Objects made of brains, by reference; the least recently used are evicted first.

    `host.load` uses MODEL_CACHE.
    """

    def __init__(self, budget: int | None = None) -> None:
        """Hold at most `budget` bytes of arrays and tensors; None: `model_budget()`.

        The newest entry stays even if it is larger.
        """
        self._budget = budget
        self.used = 0
        """Bytes in use. Memory that several entries share, like weights that no adapter changes,
        counts once."""
        self.loads = 0
        """Number of times that something had to be made."""
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[BrainRef, str], _Entry] = OrderedDict()
        self._turns: dict[tuple[BrainRef, str], _Turn] = {}
        self._holders: Counter[int] = Counter()
        """Address of a block of memory -> number of entries that hold it."""

    def load(self, ref: BrainRef, what: str, make: Callable[[BrainRef], T]) -> T:
        """Return what `make` made from this brain; `what` tells two makers apart.

        Raises BrainError.

        While something is being made, a thread that wants the same waits for it; a thread that
        wants another thing does not.
        """
        key = ref, what
        with self._alone(key):
            entry = self._find(key)
            if entry is None:
                ref.verify()
                began = perf_counter()
                made = make(ref)
                entry = _Entry(made, perf_counter() - began, find_memory(made))
                self._keep(key, entry)
            else:
                tell_saving(f"{ref.label} in memory", entry.seconds)
        found: T = entry.made
        return found

    def clear(self) -> None:
        """Remove all entries. Objects that are in use stay alive."""
        with self._lock:
            while self._entries:
                self._drop_oldest()

    @contextmanager
    def _alone(self, key: tuple[BrainRef, str]) -> Iterator[None]:
        """Let one thread at a time through for a key, even if the one before failed."""
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.threads += 1
        try:
            with turn.lock:
                yield
        finally:
            with self._lock:
                turn.threads -= 1
                if not turn.threads:
                    del self._turns[key]

    def _find(self, key: tuple[BrainRef, str]) -> _Entry | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
            return entry

    def _keep(self, key: tuple[BrainRef, str], entry: _Entry) -> None:
        with self._lock:
            self._entries[key] = entry
            self.loads += 1
            for address, size in entry.memory.items():
                if not self._holders[address]:
                    self.used += size
                self._holders[address] += 1
            budget = model_budget() if self._budget is None else self._budget
            while self.used > budget and len(self._entries) > 1:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, entry = self._entries.popitem(last=False)
        for address, size in entry.memory.items():
            self._holders[address] -= 1
            if not self._holders[address]:
                del self._holders[address]
                self.used -= size


def find_memory(made: Any) -> dict[int, int]:
    """Return the memory of all arrays and tensors that can be reached from an object:
    address -> bytes.
    """
    found: dict[int, int] = {}
    seen: dict[int, Any] = {}
    waiting = [made]
    torch = sys.modules.get("torch")
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, _HOLD_NOTHING):
            continue
        seen[id(value)] = value
        if isinstance(value, np.ndarray):
            while isinstance(value.base, np.ndarray):
                value = value.base
            found[value.ctypes.data] = value.nbytes
        elif torch is not None and isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, (list, tuple, set, frozenset)):
            waiting.extend(value)
        elif hasattr(value, "__dict__"):
            waiting.extend(vars(value).values())
    return found


def model_budget() -> int:
    """Return the bytes that models may take in a process: $MINIBRAINS_MODELS_MB megabytes,
    or else half of the memory.

    Raises MinibrainsError if the variable is not a number.
    """
    return budget_of(MODELS_VARIABLE, _half_of_memory())


def _half_of_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError):  # Windows
        return 8 << 30


MODEL_CACHE: Final = ModelCache()
"""The cache of this process."""
