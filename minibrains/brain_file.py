"""The safetensors file behind a brain: its header,
bounded and checked in full before a tensor is touched.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any, BinaryIO, Final

from minibrains.errors import BrainError
from minibrains.known_digests import FileState, find_digest, keep_digest
from minibrains.sockets import DTYPES
from minibrains.values import parse_json

HEADER_LIMIT: Final = 50_000_000
"""Largest header in bytes. The header holds the settings, and a language model's tokenizer takes
over ten million bytes."""
TENSOR_LIMIT: Final = 100_000
"""Largest number of tensors in one file."""

_NAMES: Final = {name.upper(): name for name in DTYPES}
"""The name of a dtype in safetensors -> its name in a spec."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """The dtype and shape of one tensor, and its position in the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.dtype}[{' '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class BrainHeader:
    """The header of a brain file, read without touching a tensor."""

    path: Path
    size: int
    data_start: int
    tensors: Mapping[str, TensorInfo]
    metadata: Mapping[str, str]
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str | None:
        """The kind of brain that the file declares; None if it declares none."""
        return self.metadata.get("minibrains.kind")

    @property
    def version(self) -> int:
        """The version of that kind: 1 if the file declares none,
        0 if what it declares is not a number.
        """
        text = self.metadata.get("minibrains.version", "1")
        if text.isascii() and text.isdigit() and len(text) < 10:
            return int(text)
        return 0


def read_header(path: Path) -> BrainHeader:
    """Read and check the header of a safetensors file. Raises BrainError with one sentence."""
    try:
        with path.open("rb") as file:
            return read_open_header(path, file)
    except OSError as error:
        raise BrainError(f"{path}: the brain cannot be read: {error.strerror or error}") from None


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, which is how people and workflows identify a brain."""
    return _hash_file(path.absolute(), FileState.of(path))


@lru_cache(1024)
def _hash_file(path: Path, state: FileState) -> str:
    known = find_digest(path, state)
    if known is not None:
        return known
    began = perf_counter()
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    keep_digest(path, state, digest, perf_counter() - began)
    return digest


def read_open_header(path: Path, file: BinaryIO) -> BrainHeader:
    """Read the header of a file that is open at its beginning,
    and leave it at the first byte of the first tensor.
    """
    size = os.fstat(file.fileno()).st_size
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or not 2 <= length <= size - 8:
        # only now: the length of a sound header may begin with the same two bytes
        if start[:2] == b"PK" or (len(start) > 1 and start[0] == 0x80 and start[1] in range(2, 6)):
            raise BrainError(
                f"{path}: this is a Python pickle or a torch archive, not safetensors; "
                "it is never opened, because it can "
                "run code. Save the tensors with safetensors"
            )
        raise BrainError(
            f"{path}: this is not a safetensors file: "
            f"a header of {length} bytes in a file of {size}"
        )
    if length > HEADER_LIMIT:
        raise BrainError(f"{path}: the header has {length} bytes; expected at most {HEADER_LIMIT}")
    header = _read_json(file.read(length), f"{path}: the header")
    metadata = header.pop("__metadata__", {})
    if len(header) > TENSOR_LIMIT:
        raise BrainError(
            f"{path}: the header has {len(header)} tensors; expected at most {TENSOR_LIMIT}"
        )
    if not isinstance(metadata, dict) or not all(
        isinstance(text, str) for text in metadata.values()
    ):
        raise BrainError(f"{path}: __metadata__ in the header is not an object of texts")
    config = _read_json(metadata.get("config", "{}").encode(), f"{path}: config in the header")
    tensors = {name: _read_tensor_info(path, name, entry) for name, entry in header.items()}
    position = 0
    for name, info in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].end)):
        if info.start != position:
            raise BrainError(
                f"{path}: tensor {short(name)} starts at byte {info.start}, "
                f"expected {position} (no gap, no overlap)"
            )
        position = info.end
    if position != size - 8 - length:
        raise BrainError(
            f"{path}: the header describes {position} bytes of tensors, "
            f"the file holds {size - 8 - length}"
        )
    return BrainHeader(
        path, size, 8 + length, MappingProxyType(tensors), MappingProxyType(metadata), config
    )


def _read_json(data: bytes, what: str) -> dict[str, Any]:
    try:
        value = parse_json(data)
    except ValueError as error:
        raise BrainError(f"{what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BrainError(f"{what} is not a JSON object")
    return value


def _read_tensor_info(path: Path, name: str, entry: Any) -> TensorInfo:
    def whole(numbers: Any) -> bool:
        return isinstance(numbers, list) and all(type(n) is int and 0 <= n < 2**63 for n in numbers)

    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise BrainError(
            f"{path}: tensor {short(name)} is not described by dtype, shape and data_offsets"
        )
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _NAMES:
        raise BrainError(
            f"{path}: tensor {short(name)} has dtype {short(dtype)}; "
            f"expected one of {', '.join(_NAMES)}"
        )
    if not whole(shape) or not whole(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        where = f"shape {short(shape)} at bytes {short(offsets)}"
        raise BrainError(
            f"{path}: tensor {short(name)} has {where}; expected whole numbers in order"
        )
    label = _NAMES[dtype]
    width = DTYPES[label].itemsize
    if len(shape) > 64 or math.prod(size for size in shape if size) * width >= 2**63:
        raise BrainError(
            f"{path}: tensor {short(name)} has shape {short(shape)}, more than any array can have"
        )
    if math.prod(shape) * width != offsets[1] - offsets[0]:
        raise BrainError(
            f"{path}: tensor {short(name)} {label}{shape} needs {math.prod(shape) * width} bytes, "
            f"not {offsets}"
        )
    return TensorInfo(label, tuple(shape), offsets[0], offsets[1])


def short(value: Any) -> str:
    """Shorten a value from the header for an error message: it may be as long as the file."""
    text = repr(value)
    if len(text) <= 200:
        return text
    return f"{text[:199]}…"
