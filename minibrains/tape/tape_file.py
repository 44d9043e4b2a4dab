"""The file of a tape: an append-only sequence of records,
readable after any interruption of the writing.

The first 8 bytes identify the file. Each record then consists of its length and checksum, 4 bytes
each, little-endian, and the bytes themselves. A checksum continues the one before, so that a record
that was left out, repeated or moved is detected like a changed one.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from minibrains.errors import MinibrainsError, RunError

LONGEST: Final = 256 << 20
"""Largest size of a record in bytes."""
_NAME: Final = b"mbtape"
_VERSION: Final = 1
_START: Final = _NAME + _VERSION.to_bytes(2, "little")
_LENGTH: Final = struct.Struct("<I")
_HEAD: Final = struct.Struct("<II")


def _checksum(record: bytes, before: int) -> int:
    return zlib.crc32(record, zlib.crc32(_LENGTH.pack(len(record)), before))


class TapeWriter:
    """Writes a new tape.

    An appended record is in the kernel's hands, so it survives the end of this process.
    """

    def __init__(self, path: Path) -> None:
        """Create the file. Raises RunError if it exists or cannot be created."""
        self.path = path
        self.records = 0
        """Number of appended records."""
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RunError(f"the tape {path} cannot be made: {error.strerror}") from error
        self._end = 0
        self._last = zlib.crc32(_START)
        try:
            self._write(_START)
        except RunError:
            os.close(self._file)
            raise

    def append(self, record: bytes) -> None:
        """Append a record of at most LONGEST bytes.

        If it raises RunError, the tape still ends with the record before.
        """
        if len(record) > LONGEST:
            raise RunError(
                f"the tape {self.path} takes records of at most {LONGEST} bytes; "
                f"this one has {len(record)}"
            )
        checksum = _checksum(record, self._last)
        self._write(_HEAD.pack(len(record), checksum) + record)
        self._last = checksum
        self.records += 1

    def close(self) -> None:
        """Wait until everything is on the disk, and close the file. Raises RunError."""
        try:
            os.fsync(self._file)
        except OSError as error:
            raise self._failed(error) from error
        finally:
            os.close(self._file)

    def _write(self, data: bytes) -> None:
        written = 0
        try:
            # a full disk accepts a part first, and reports the reason only on the next call
            while written < len(data):
                written += os.pwrite(
                    self._file, data[written:] if written else data, self._end + written
                )
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise self._failed(error) from error
        self._end += len(data)

    def _failed(self, error: OSError) -> RunError:
        return RunError(
            f"the tape {self.path} cannot be written: {error.strerror}; "
            f"it ends with its record {self.records}; what came before can be replayed"
        )


class TapeReader:
    """Reads the whole records of a tape, up to its end or to where it was cut or damaged.

    It can be iterated again, each time from the beginning.
    """

    def __init__(self, path: Path) -> None:
        """Check the beginning of the file.

        Raises MinibrainsError if it is not a tape that this version can read.
        """
        self.path = path
        self.sentence = ""
        """A sentence about damage, known once all records were read; empty if there is none."""
        try:
            with path.open("rb") as file:
                start = file.read(len(_START))
        except OSError as error:
            raise self._unreadable(error) from error
        if not start.startswith(_NAME) or len(start) < len(_START):
            raise MinibrainsError(
                f"{path} is not a tape: it starts with {start!r}, not with {_START!r}"
            )
        version = int.from_bytes(start[len(_NAME) :], "little")
        if version != _VERSION:
            raise MinibrainsError(
                f"the tape {path} has version {version}, this Minibrains reads {_VERSION}; "
                "update Minibrains"
            )

    @property
    def whole(self) -> bool:
        """True if the tape ends with a complete record, as far as it was read."""
        return not self.sentence

    def __iter__(self) -> Iterator[bytes]:
        """Yield the records. Raises MinibrainsError if the disk cannot be read."""
        self.sentence = ""
        last, offset, count = zlib.crc32(_START), len(_START), 0
        try:
            with self.path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(offset)
                while offset < size:
                    head = file.read(_HEAD.size)
                    length, checksum = LONGEST, 0
                    if len(head) == _HEAD.size:
                        length, checksum = _HEAD.unpack(head)
                    end = offset + _HEAD.size + length
                    if end > size:
                        self.sentence = (
                            f"the tape {self.path} ends in the middle of a record, "
                            f"after {count} whole ones"
                        )
                        return
                    record = b""
                    if length <= LONGEST:
                        record = file.read(length)
                    last = _checksum(record, last)
                    if last != checksum or len(record) != length:
                        self.sentence = (
                            f"the tape {self.path} is damaged at byte {offset}, "
                            f"after {count} whole records"
                        )
                        return
                    yield record
                    offset, count = end, count + 1
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> MinibrainsError:
        return MinibrainsError(f"the tape {self.path} cannot be read: {error.strerror}")
