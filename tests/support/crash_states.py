"""What a power cut may leave of a folder: a program's calls, recorded by strace,
played on a model of a disk.

The model is a journaling file system like ext4, XFS, btrfs or APFS. Of the changes to folders a
power cut leaves the first few, in their order; an fsync of a folder keeps all until then. What a
file holds is certain once that file was synced. What was written since may be there, or half of it,
or nothing.
"""

from __future__ import annotations

import ast
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Final

CALLS: Final = (
    "openat,creat,write,pwrite64,writev,ftruncate,truncate,fsync,fdatasync,rename,renameat,renameat2,"
    "unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,copy_file_range,sendfile,fallocate"
)
_LINE: Final = re.compile(
    r"(?P<began>[\d.]+) (?P<name>\w+)\((?P<arguments>.*)\) += "
    r"(?P<result>\d+).* <(?P<lasted>[\d.]+)>"
)
_TEXT: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_OPENED: Final = re.compile(r"\d+<([^>]*)>")
_NUMBER: Final = re.compile(r"(\d+)$")
_SHARES: Final = (0.0, 0.5, 1.0)
"""How much of what was not synced a power cut may leave of a file."""

Files = Mapping[str, bytes]
"""What is on the disk: names below the folder that was looked at, with what is in them."""


def record(traces: Path) -> list[str]:
    """Return what to write before a command, so that its calls are recorded: a file each thread.

    Its process id stays its own.
    """
    options = ["-D", "-ff", "-ttt", "-T", "-y", "--seccomp-bpf", "-s", str(1 << 22)]
    return ["strace", *options, "-e", f"trace={CALLS}", "-o", str(traces / "thread")]


@dataclass(frozen=True)
class Call:
    """A call that went well, with what is needed of its arguments."""

    ended: float
    """Seconds since 1970, on the clock of `time.time()`."""
    name: str
    opened: str
    """The path of its file descriptor, or empty."""
    texts: tuple[bytes, ...]
    """Paths and data."""
    last: int
    """The last argument, if that is a number."""
    flags: str
    result: int

    def __str__(self) -> str:
        names = [Path(path).name for path in self.paths]
        return f"{self.name}({', '.join(names)})"

    @property
    def paths(self) -> list[str]:
        """The paths it was called with."""
        if self.opened:
            return [self.opened]
        return [text.decode() for text in self.texts]


def read_calls(traces: Path) -> list[Call]:
    """Return the calls of all threads in their order."""
    calls = []
    for file in traces.iterdir():
        for line in file.read_text("ascii").splitlines():
            found = _LINE.fullmatch(line)
            if found is not None:
                calls.append(_read_call(found))
    return sorted(calls, key=lambda call: call.ended)


def _read_call(line: re.Match[str]) -> Call:
    arguments = line["arguments"]
    opened = ""
    if found := _OPENED.match(arguments):
        opened = _unquote(found[1]).decode()
    last = 0
    if found := _NUMBER.search(arguments):
        last = int(found[1])
    return Call(
        ended=float(line["began"]) + float(line["lasted"]),
        name=line["name"],
        opened=opened,
        texts=tuple(map(_unquote, _TEXT.findall(arguments))),
        last=last,
        flags=_TEXT.sub("", arguments),
        result=int(line["result"]),
    )


def _unquote(text: str) -> bytes:
    value: bytes = ast.literal_eval(f'b"{text}"')
    return value


@dataclass(eq=False)
class _File:
    """What a program has written to a file, and what of it is certain."""

    written: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    position: int = 0
    """Where the next write goes. A file is written by one at a time."""
    appends: bool = False

    def write(self, data: bytes, place: int) -> None:
        gap = place - len(self.written)
        self.written.extend(bytes(max(0, gap)))
        self.written[place : place + len(data)] = data

    def left(self, share: float) -> bytes:
        """Return what a power cut leaves of it, with that share of what is not certain."""
        if share == 0 or self.written == self.synced:
            return self.synced
        length = len(self.synced) + int(share * (len(self.written) - len(self.synced)))
        return bytes(self.written[:length])


_Names = dict[str, "_File | None"]
"""Path -> file, or None for a folder."""


@dataclass(frozen=True)
class _Change:
    """A change to folders: a path gets a file, or a folder, or what another path had;
    or it is gone.
    """

    path: str
    file: _File | None = None
    source: str | None = None
    is_removed: bool = False

    @property
    def folders(self) -> set[str]:
        paths = {self.path, self.source or self.path}
        return set(map(os.path.dirname, paths))

    def apply(self, names: _Names) -> None:
        if self.is_removed:
            del names[self.path]
        elif self.source is None:
            names[self.path] = self.file
        else:
            moved = [
                name for name in names if name == self.source or name.startswith(f"{self.source}/")
            ]
            for name in moved:
                names[self.path + name.removeprefix(self.source)] = names.pop(name)


class Disk:
    """A folder on a disk, empty at first, and what its calls make of it."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._now: _Names = {}
        self._certain: _Names = {}
        """What a power cut leaves at least."""
        self._uncertain: list[_Change] = []

    def play(self, call: Call) -> bool:
        """Do what a call did; return whether it had to do with this folder."""
        paths = call.paths
        if not any(map(self._has, paths)):
            return False
        path = paths[0]
        if call.name == "openat":
            self._open(path, call.flags)
        elif call.name in ("write", "pwrite64"):
            self._write(path, call)
        elif call.name == "ftruncate":
            del self._file(path).written[call.last :]
        elif call.name in ("fsync", "fdatasync"):
            self._sync(path)
        elif call.name.startswith("mkdir"):
            self._change(_Change(path))
        elif call.name.startswith("rename"):
            self._change(_Change(paths[1], source=path))
        elif call.name.startswith("unlink") or call.name == "rmdir":
            self._change(_Change(path, is_removed=True))
        else:
            raise NotImplementedError(
                f"the model does not know {call.name}, which was called for {path}"
            )
        return True

    def states(self) -> Iterator[Files]:
        """Yield what a power cut may leave now."""
        names = dict(self._certain)
        for change in (None, *self._uncertain):
            if change is not None:
                change.apply(names)
            for share in _SHARES:
                files: dict[str, bytes] = {}
                for path, file in names.items():
                    if file is not None:
                        files[path.removeprefix(f"{self._root}/")] = file.left(share)
                yield files

    def _open(self, path: str, flags: str) -> None:
        if path not in self._now:
            if "O_CREAT" not in flags:
                return
            self._change(_Change(path, _File()))
        file = self._now[path]
        if file is not None:
            file.position = 0
            file.appends = "O_APPEND" in flags
            if "O_TRUNC" in flags:
                file.written.clear()

    def _write(self, path: str, call: Call) -> None:
        file = self._file(path)
        data = call.texts[0][: call.result]
        if call.name == "pwrite64":
            file.write(data, call.last)
            return
        if file.appends:
            file.position = len(file.written)
        file.write(data, file.position)
        file.position += len(data)

    def _sync(self, path: str) -> None:
        file = self._now.get(path)
        if file is not None:
            file.synced = bytes(file.written)
            return
        count = 0
        for number, change in enumerate(self._uncertain, 1):
            if path in change.folders:
                count = number
        for change in self._uncertain[:count]:
            change.apply(self._certain)
        del self._uncertain[:count]

    def _change(self, change: _Change) -> None:
        change.apply(self._now)
        self._uncertain.append(change)

    def _file(self, path: str) -> _File:
        file = self._now[path]
        assert file is not None, f"{path} is a folder"
        return file

    def _has(self, path: str) -> bool:
        return path == self._root or path.startswith(f"{self._root}/")


@dataclass
class _Promise:
    words: str
    holds: Callable[[Files], bool]
    asked: float
    given: float = inf


class Promises:
    """What a server has answered, and what has to be on the disk from then on."""

    def __init__(self) -> None:
        self._promises: dict[str, list[_Promise]] = defaultdict(list)

    @contextmanager
    def asking(self, about: str, words: str, holds: Callable[[Files], bool]) -> Iterator[None]:
        """Note that something holds once the block is left; while it is in the block, it may.

        It replaces what was before.

        Args:
            about: what it is about: of each thing only the newest promise counts
            words: what is broken if it does not hold
            holds: looks at what is on the disk
        """
        promise = _Promise(words, holds, asked=time.time())
        self._promises[about].append(promise)
        yield
        promise.given = time.time()

    def broken(self, files: Files, now: float) -> Iterator[str]:
        """Yield the words of each promise that a power cut at this time broke."""
        for promises in self._promises.values():
            newest: _Promise | None = None
            asked: list[_Promise] = []
            for promise in promises:
                if promise.given <= now:
                    newest = promise
                elif promise.asked < now:
                    asked.append(promise)
            if newest is None:
                continue
            if not any(promise.holds(files) for promise in (newest, *asked)):
                yield newest.words


def find_broken(calls: Iterable[Call], root: Path, promises: Promises) -> dict[str, str]:
    """Cut the power between any two calls; return what is broken then,
    and after which call that was so first.
    """
    disk = Disk(root)
    after = "the start"
    states = list(disk.states())
    broken: dict[str, str] = {}

    def cut_power(now: float) -> None:
        for files in states:
            for words in promises.broken(files, now):
                broken.setdefault(words, after)

    for call in calls:
        cut_power(call.ended)
        if disk.play(call):
            after = str(call)
            states = list(disk.states())
    cut_power(inf)
    return broken
