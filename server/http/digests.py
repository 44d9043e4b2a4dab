"""The SHA-256 of brain files, computed on a thread of its own,
because reading a large file takes too long for a request.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import Final

from minibrains.known_digests import FileKey, FileState, find_digest, keep_digest

_MAX_KNOWN: Final = 10_000
"""Number of digests that are kept."""
_BLOCK: Final = 1 << 20
"""Size of a block in bytes."""
_BLOCKS: Final = 32
"""Number of blocks of a file to read before checking whether another file has less left."""


class Digests:
    """Hashes files on demand, one at a time, and keeps the digests.

    All callers that want the same file share the work. The file with the fewest bytes left goes
    first, so a small one never waits for a large one. The methods belong to the event loop; `known`
    may be called from any thread.
    """

    def __init__(self, found: Callable[[], None]) -> None:
        """Start without digests; `found` is called after each one that was computed."""
        self._found = found
        self._known: dict[FileKey, str] = {}
        self._waiting: dict[FileKey, asyncio.Future[str | None]] = {}
        self._asked: SimpleQueue[_Unfinished] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def known(self, path: Path) -> str | None:
        """Return the digest if it is known, without reading the file."""
        key = file_key(path)
        if key is None:
            return None
        return self._known.get(key)

    def keep(self, path: Path, digest: str) -> None:
        """Keep a digest that was computed elsewhere."""
        key = file_key(path)
        if key is not None:
            self._keep(key, digest)

    async def of(self, path: Path, timeout: float | None = None) -> str | None:
        """Return the digest; None if the file cannot be read, or after `timeout` seconds,
        in which case the work goes on.
        """
        key = file_key(path)
        if key is None or key in self._known:
            if key is None:
                return None
            return self._known[key]
        if key not in self._waiting:
            self._waiting[key] = asyncio.get_running_loop().create_future()
            self._asked.put(_Unfinished(path, key))
        if self._thread is None:
            # a daemon thread, for which the process does not wait when it ends
            self._thread = threading.Thread(
                target=self._work, args=(asyncio.get_running_loop(),), name="hashes", daemon=True
            )
            self._thread.start()
        waiting = self._waiting[key]
        over, _ = await asyncio.wait([waiting], timeout=timeout)
        if over:
            return waiting.result()
        return None

    def _keep(self, key: FileKey, digest: str) -> None:
        self._known[key] = digest
        if len(self._known) > _MAX_KNOWN:
            del self._known[next(iter(self._known))]

    def _over(self, key: FileKey, digest: str | None) -> None:
        """Handle, in the event loop, the end of a file's hashing."""
        if digest is not None:
            self._keep(key, digest)
        self._waiting.pop(key).set_result(digest)
        if digest is not None:
            self._found()

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run on the thread: hash the file that has the fewest bytes left."""
        unfinished: list[_Unfinished] = []
        while True:
            while not unfinished or not self._asked.empty():
                unfinished.append(self._asked.get())
            nearest = min(unfinished, key=lambda file: file.remaining)
            try:
                digest = nearest.go_on()
                over = digest is not None
            except OSError:
                digest, over = None, True
            if over:
                unfinished.remove(nearest)
                with suppress(RuntimeError):  # the event loop has ended
                    loop.call_soon_threadsafe(self._over, nearest.key, digest)


class _Unfinished:
    """A partly hashed file."""

    def __init__(self, path: Path, key: FileKey) -> None:
        self.path, self.key = path, key
        self.remaining = key.size
        """Number of bytes that are not read yet."""
        self._position = 0
        self._hash = hashlib.sha256()
        self._state: FileState | None = None
        """State of the file before the first block was read."""
        self._seconds = 0.0
        """Seconds spent on it so far."""

    def go_on(self) -> str | None:
        """Read the next blocks; return the digest at the end.

        Raises OSError, also if the file has changed.
        """
        began = perf_counter()
        block = memoryview(bytearray(_BLOCK))
        with self.path.open("rb", buffering=0) as file:
            if file_key(file.fileno()) != self.key:
                raise OSError("the file has changed")
            if self._state is None:
                self._state = FileState.of(file.fileno())
                known = find_digest(self.path, self._state)
                if known is not None:
                    return known
            file.seek(self._position)
            for _ in range(_BLOCKS):
                count = file.readinto(block)
                self._hash.update(block[:count])
                self._position += count
                if not count:
                    return self._finish(file.fileno(), self._seconds + perf_counter() - began)
        self.remaining = self.key.size - self._position
        self._seconds += perf_counter() - began
        return None

    def _finish(self, file: int, seconds: float) -> str:
        if file_key(file) != self.key:
            raise OSError("the file has changed")
        digest = self._hash.hexdigest()
        assert self._state is not None
        keep_digest(self.path, self._state, digest, seconds)
        return digest


def file_key(file: Path | int) -> FileKey | None:
    """Return the key of a file; None if it does not exist or is not accessible."""
    try:
        return FileKey.of(os.stat(file))
    except OSError:
        return None
