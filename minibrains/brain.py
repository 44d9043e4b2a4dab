"""Brains: what a node has learned or been told, as one safetensors file.

Nothing else is ever opened as a brain: no pickle, no code. The header is bounded and checked in full
before a tensor is touched. Metadata: `minibrains.kind`, `minibrains.version`, `config` (JSON), and for
people `title`, `description`, `license`, `author`, `made_by`, `parents`, `metrics`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, get_origin

import numpy as np

from minibrains.errors import BrainError, NodeClassError, near
from minibrains.files import write_whole
from minibrains.sockets import Dim, parse_spec
from minibrains.values import is_value_type, name_type, parse_json, plain_value, read_value

HEADER_LIMIT: Final = 100_000_000
"""Bytes; the same bound the safetensors library has."""
MAP_FROM: Final = 64 * 2**20
"""Files of at least this many bytes are memory-mapped. Smaller ones are read, because a mapped file that
somebody else truncates kills the process."""

_DTYPES: Final[Mapping[str, tuple[str, int]]] = MappingProxyType({
    "BOOL": ("bool", 1), "U8": ("u8", 1), "I8": ("i8", 1), "U16": ("u16", 2), "I16": ("i16", 2), "F16": ("f16", 2),
    "BF16": ("bf16", 2), "U32": ("u32", 4), "I32": ("i32", 4), "F32": ("f32", 4), "U64": ("u64", 8), "I64": ("i64", 8),
    "F64": ("f64", 8),
})  # fmt: skip
_NUMPY: Final = {
    "bool": "?", "u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "f16": "<f2", "bf16": "<u2", "u32": "<u4",
    "i32": "<i4", "f32": "<f4", "u64": "<u8", "i64": "<i8", "f64": "<f8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where one tensor lies in the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.dtype}[{' '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class BrainHeader:
    """What a brain file says about itself, read without touching a tensor."""

    path: Path
    size: int
    data_start: int
    tensors: Mapping[str, TensorInfo]
    metadata: Mapping[str, str]
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str | None:
        return self.metadata.get("minibrains.kind")

    @property
    def version(self) -> int:
        text = self.metadata.get("minibrains.version", "1")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def read_header(path: Path) -> BrainHeader:
    """Read and check the header of a safetensors file. Raises BrainError with one sentence."""
    try:
        with path.open("rb") as file:
            return _read_header(path, file)
    except OSError as error:
        raise BrainError(f"{path}: the brain cannot be read: {error.strerror or error}") from None


def hash_file(path: Path) -> str:
    """The SHA-256 of a file, as people and workflows name a brain."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_header(path: Path, file: typing.BinaryIO) -> BrainHeader:
    size = os.fstat(file.fileno()).st_size
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or not 2 <= length <= min(HEADER_LIMIT, size - 8):
        # only now: the length of a sound header may begin with the same two bytes
        if start[:2] == b"PK" or (len(start) > 1 and start[0] == 0x80 and start[1] in range(2, 6)):
            raise BrainError(
                f"{path}: this is a Python pickle or a torch archive, not safetensors; it is never opened, because it can "
                "run code. Save the tensors with safetensors"
            )
        raise BrainError(f"{path}: this is not a safetensors file: a header of {length} bytes in a file of {size}")
    header = _read_json(file.read(length), f"{path}: the header")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise BrainError(f"{path}: __metadata__ in the header is not an object of texts")
    config = _read_json(metadata.get("config", "{}").encode(), f"{path}: config in the header")
    tensors = {name: _read_tensor_info(path, name, entry) for name, entry in header.items()}
    position = 0
    for name, info in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].end)):
        if info.start != position:
            raise BrainError(
                f"{path}: tensor {_short(name)} starts at byte {info.start}, expected {position} (no gap, no overlap)"
            )
        position = info.end
    if position != size - 8 - length:
        raise BrainError(f"{path}: the header describes {position} bytes of tensors, the file holds {size - 8 - length}")
    return BrainHeader(path, size, 8 + length, MappingProxyType(tensors), MappingProxyType(metadata), config)


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
        raise BrainError(f"{path}: tensor {_short(name)} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise BrainError(f"{path}: tensor {_short(name)} has dtype {_short(dtype)}; expected one of {', '.join(_DTYPES)}")
    if not whole(shape) or not whole(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        where = f"shape {_short(shape)} at bytes {_short(offsets)}"
        raise BrainError(f"{path}: tensor {_short(name)} has {where}; expected whole numbers in order")
    label, width = _DTYPES[dtype]
    if len(shape) > 64 or math.prod(size for size in shape if size) * width >= 2**63:
        raise BrainError(f"{path}: tensor {_short(name)} has shape {_short(shape)}, more than any array can have")
    if math.prod(shape) * width != offsets[1] - offsets[0]:
        raise BrainError(f"{path}: tensor {_short(name)} {label}{shape} needs {math.prod(shape) * width} bytes, not {offsets}")
    return TensorInfo(label, tuple(shape), offsets[0], offsets[1])


def _short(value: Any) -> str:
    """A value of the header for a sentence; it may be as long as the file."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:199]}…"


_UNSET: Final = object()


@dataclass(frozen=True, slots=True)
class _Tensor:
    spec: str
    doc: str


@dataclass(frozen=True, slots=True)
class _Setting:
    default: Any
    doc: str


def tensor(spec: str, doc: str = "") -> Any:
    """Declare a tensor of a brain: `recovery: np.ndarray = tensor("i32[actions]", "frames")`."""
    return _Tensor(spec, doc)


def setting(default: Any = _UNSET, doc: str = "") -> Any:
    """Declare an entry of a brain's `config`: `buttons: tuple[str, ...] = setting(doc="names")`."""
    return _Setting(default, doc)


class Brain:
    """Base of all kinds of brains: subclasses declare tensors and settings as fields.

    Sizes named in the tensors' specs, and whole numbers among the settings, are sizes of the node that
    holds the brain: `{actions}` in a socket's spec reads them.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    _tensor_fields: ClassVar[Mapping[str, _Tensor]] = MappingProxyType({})
    _settings: ClassVar[Mapping[str, tuple[Any, _Setting]]] = MappingProxyType({})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not isinstance(cls.__dict__.get("kind"), str):
            raise NodeClassError(f'the brain class {cls.__name__} has no kind; write kind = "…", the name in the file')
        hints = typing.get_type_hints(cls, include_extras=True)
        tensors: dict[str, _Tensor] = dict(cls._tensor_fields)
        settings: dict[str, tuple[Any, _Setting]] = dict(cls._settings)
        for name in inspect.get_annotations(cls):
            declared = cls.__dict__.get(name)
            if isinstance(declared, _Tensor):
                try:
                    parse_spec(declared.spec)
                except NodeClassError as error:
                    raise NodeClassError(f"{cls.__name__}.{name}: {error}") from None
                tensors[name] = declared
            elif isinstance(declared, _Setting) and is_value_type(hints[name]):
                settings[name] = (hints[name], declared)
            elif get_origin(hints[name]) is not ClassVar:
                raise NodeClassError(f"{cls.__name__}.{name} is neither tensor(…) nor setting(…) of a JSON type")
        cls._tensor_fields, cls._settings = MappingProxyType(tensors), MappingProxyType(settings)

    def __init__(self, tensors: Mapping[str, np.ndarray] | None = None, **fields: Any) -> None:
        """A brain made in memory: tensors and settings by name, or all `tensors` of a network at once.

        Raises BrainError if a tensor or setting is missing, unknown, or of another dtype or shape.
        """
        arrays = dict(tensors or {})
        config = {}
        for name, value in fields.items():
            if name in self._settings:
                config[name] = value
            else:
                arrays[name] = np.asarray(value)
        infos = {name: TensorInfo(_label(array), array.shape, 0, 0) for name, array in arrays.items()}
        self._fill(f"{type(self).__name__}", self.read_config(type(self).__name__, config), infos, arrays)

    def _fill(
        self, where: str, config: Mapping[str, Any], infos: Mapping[str, TensorInfo], arrays: Mapping[str, np.ndarray]
    ) -> None:
        self.sizes: Mapping[str, int] = self.check_tensors(where, config, infos)
        self.config = config
        self.tensors: Mapping[str, np.ndarray] = MappingProxyType({name: _read_only(a) for name, a in arrays.items()})
        for name, value in config.items():
            setattr(self, name, value)
        for name in self._tensor_fields:
            setattr(self, name, self.tensors[name])
        self.check(where)

    def check(self, where: str) -> None:
        """Look at the values. Subclasses raise BrainError, starting with `where`."""

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Name -> spec of every tensor; networks override it, because their tensors depend on `config`."""
        return {name: declared.spec for name, declared in cls._tensor_fields.items()}

    @classmethod
    def derived_sizes(cls, sizes: Mapping[str, int], config: Mapping[str, Any]) -> Mapping[str, int]:
        """Further sizes that sockets may name, worked out from those of the tensors and the settings."""
        return {}

    @classmethod
    def read_config(cls, where: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """The settings with their defaults. Raises BrainError naming the first that is wrong."""
        result = {}
        for name, (annotation, declared) in cls._settings.items():
            if name not in config and declared.default is _UNSET:
                raise BrainError(f"{where}: the setting {name!r} is missing; expected {name_type(annotation)}")
            try:
                result[name] = read_value(annotation, config.get(name, declared.default))
            except ValueError as error:
                raise BrainError(f"{where}: the setting {name!r}: {error}") from None
        for name in config:
            if name not in result:
                raise BrainError(f"{where}: there is no setting {_short(name)}. {near(name, result) or ''}".rstrip(" "))
        return MappingProxyType(result)

    @classmethod
    def check_tensors(cls, where: str, config: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> Mapping[str, int]:
        """Check names, dtypes and shapes; returns the sizes they say. Raises BrainError."""
        sizes: dict[str, int] = {name: value for name, value in config.items() if type(value) is int}
        try:
            specs = cls.tensor_specs(config)
            parsed = {name: parse_spec(spec) for name, spec in specs.items()}
        except (BrainError, NodeClassError) as error:
            raise BrainError(f"{where}: the settings describe no network: {error}") from None
        for name in specs:
            if name not in tensors:
                raise BrainError(f"{where}: the tensor {name!r} {specs[name]} is missing")
        for name, info in tensors.items():
            if name not in specs:
                raise BrainError(
                    f"{where}: there is no tensor {_short(name)} in a {cls.kind}. {near(name, specs) or ''}".rstrip(" ")
                )
            dtype, dims = parsed[name]
            if info.dtype != dtype or len(info.shape) != len(dims):
                raise BrainError(f"{where}: tensor {name!r}: expected {specs[name]}, found {info}")
            for dim, size in zip(dims, info.shape, strict=True):
                if _size(dim, sizes, size) != size:
                    raise BrainError(f"{where}: tensor {name!r}: expected {specs[name]} with {dim} = "
                                     f"{_size(dim, sizes, size)}, found {info}")  # fmt: skip
        return MappingProxyType({**sizes, **cls.derived_sizes(sizes, config)})

    @classmethod
    def check_header(cls, header: BrainHeader) -> Mapping[str, int]:
        """Check that a file holds this kind of brain, before a tensor is read; returns its sizes."""
        where = str(header.path)
        if header.kind != cls.kind or header.version != cls.version:
            found = "no brain of ours" if header.kind is None else f"kind {_short(header.kind)} version {header.version}"
            raise BrainError(f"{where}: expected a brain of kind {cls.kind!r} version {cls.version}, found {found}")
        return cls.check_tensors(where, cls.read_config(where, header.config), header.tensors)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a brain file. Raises BrainError in one sentence if it is not a sound brain of this kind."""
        try:
            with path.open("rb") as file:
                header = _read_header(path, file)
                cls.check_header(header)
                if header.size >= MAP_FROM and header.size > header.data_start:
                    data = memoryview(np.memmap(file, np.uint8, "r", header.data_start).data)
                else:
                    data = memoryview(file.read())
        except OSError as error:
            raise BrainError(f"{path}: the brain cannot be read: {error.strerror or error}") from None
        if len(data) != header.size - header.data_start:
            raise BrainError(f"{path}: the file changed while it was read")
        arrays = {
            name: np.frombuffer(data[info.start : info.end], _NUMPY[info.dtype]).reshape(info.shape)
            for name, info in header.tensors.items()
        }
        brain = cls.__new__(cls)
        brain._fill(str(path), cls.read_config(str(path), header.config), header.tensors, arrays)
        return brain

    def save(self, path: Path, *, title: str, made_by: str, **people: Any) -> str:
        """Write the brain (temporary file, then rename) and return its SHA-256.

        `made_by` is the command or workflow that made it; `people` may hold description, license, author,
        parents (a list of SHA-256) and metrics. Equal brains give equal bytes.
        """
        import safetensors.numpy

        metadata = {
            "minibrains.kind": self.kind,
            "minibrains.version": str(self.version),
            "config": json.dumps(plain_value(self.config), sort_keys=True),
            "title": title,
            "made_by": made_by,
            **{name: text if isinstance(text, str) else json.dumps(text, sort_keys=True) for name, text in people.items()},
        }
        arrays = {name: np.asarray(array, order="C") for name, array in self.tensors.items()}
        data = _sorted_header(safetensors.numpy.save(arrays, metadata))
        write_whole(path, data)
        return hashlib.sha256(data).hexdigest()


def _sorted_header(data: bytes) -> bytes:
    """The same file with its header in a fixed order; the library writes metadata in the order of a hash map."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def _size(dim: Dim, sizes: dict[str, int], found: int) -> int:
    return dim if isinstance(dim, int) else sizes.setdefault(dim.strip("{}"), found)


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _label(array: np.ndarray) -> str:
    labels = {np.dtype(code): label for label, code in _NUMPY.items() if label != "bf16"}
    return labels.get(array.dtype, str(array.dtype))
