"""Brains: what a node has learned or been told, as one safetensors file.

Nothing else is ever opened as a brain: no pickle, no code. The header is bounded and checked in full
before a tensor is touched. Metadata: `minibrains.kind`, `minibrains.version`, `config` (JSON), and for
people `title`, `description`, `license`, `author`, `made_by`, `parents`, `metrics`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, get_origin

import numpy as np

from minibrains.brain_file import BrainHeader, TensorInfo, hash_file, read_open_header, short
from minibrains.errors import BrainError, NodeClassError, suggest
from minibrains.files import write_atomic
from minibrains.loading import BrainRef
from minibrains.sockets import DTYPES, parse_spec
from minibrains.values import describe_type, is_value_type, parse_value, to_json

MAP_FROM: Final = 64 * 2**20
"""Files of at least this many bytes are memory-mapped. Smaller ones are read, because a mapped file that
another process truncates kills this one."""

UNSET: Final = object()
"""The default of a setting that has no default: it must be given."""


@dataclass(frozen=True, slots=True)
class TensorField:
    """A tensor that a kind of brain declares."""

    spec: str
    doc: str


@dataclass(frozen=True, slots=True)
class SettingField:
    """A setting that a kind of brain declares; its default is UNSET if it must be given."""

    default: Any
    doc: str
    annotation: Any = None


@dataclass(frozen=True, slots=True)
class BrainSchema:
    """The tensors and settings that a kind of brain declares, by name."""

    tensors: Mapping[str, TensorField]
    settings: Mapping[str, SettingField]


def tensor(spec: str, doc: str = "") -> Any:
    """Declare a tensor of a brain: `recovery: np.ndarray = tensor("i32[actions]", "frames")`."""
    return TensorField(spec, doc)


def setting(default: Any = UNSET, doc: str = "") -> Any:
    """Declare an entry of a brain's `config`: `buttons: tuple[str, ...] = setting(doc="names")`."""
    return SettingField(default, doc)


class Brain:
    """Base of all kinds of brains: subclasses declare tensors and settings as fields.

    Sizes named in the tensors' specs, and whole numbers among the settings, are sizes of the node that
    holds the brain: `{actions}` in a socket's spec reads them. A setting called `base_sha256` says which other file the brain
    was made for, `base` what that one's title is: a socket of `sha256[base_sha256]` is linked only to what says the same file.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    schema: ClassVar[BrainSchema] = BrainSchema({}, {})
    ref: BrainRef | None = None
    """The reference to this brain that travels on links; None for a brain made in memory."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not isinstance(cls.__dict__.get("kind"), str):
            raise NodeClassError(f'the brain class {cls.__name__} has no kind; write kind = "…", the name in the file')
        hints = typing.get_type_hints(cls, include_extras=True)
        tensors, settings = dict(cls.schema.tensors), dict(cls.schema.settings)
        for name in inspect.get_annotations(cls):
            declared = cls.__dict__.get(name)
            if isinstance(declared, TensorField):
                try:
                    parse_spec(declared.spec)
                except NodeClassError as error:
                    raise NodeClassError(f"{cls.__name__}.{name}: {error}") from None
                tensors[name] = declared
            elif isinstance(declared, SettingField) and is_value_type(hints[name]):
                settings[name] = replace(declared, annotation=hints[name])
            elif get_origin(hints[name]) is not ClassVar:
                raise NodeClassError(f"{cls.__name__}.{name} is neither tensor(…) nor setting(…) of a JSON type")
        cls.schema = BrainSchema(MappingProxyType(tensors), MappingProxyType(settings))

    def __init__(self, tensors: Mapping[str, np.ndarray] | None = None, **fields: Any) -> None:
        """Make a brain in memory, from tensors and settings by name, or from all `tensors` of a network at once.

        Raises BrainError if a tensor or setting is missing, unknown, or of another dtype or shape.
        """
        arrays = dict(tensors or {})
        config = {}
        for name, value in fields.items():
            if name in self.schema.settings:
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
        read_only = {name: _read_only(array) for name, array in arrays.items()}
        self.tensors: Mapping[str, np.ndarray] = MappingProxyType(read_only)
        for name, value in config.items():
            setattr(self, name, value)
        for name in self.schema.tensors:
            setattr(self, name, self.tensors[name])
        self.check(where)

    def check(self, where: str) -> None:
        """Check the values. Subclasses raise BrainError with a message that starts with `where`."""

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the spec of every tensor by name; networks override it, because their tensors depend on `config`."""
        return {name: declared.spec for name, declared in cls.schema.tensors.items()}

    @classmethod
    def derived_sizes(cls, sizes: Mapping[str, int], config: Mapping[str, Any]) -> Mapping[str, int]:
        """Return further sizes that sockets may name, derived from the sizes of the tensors and from the settings."""
        return {}

    @classmethod
    def read_config(cls, where: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings, with defaults filled in. Raises BrainError naming the first that is wrong."""
        result = {}
        for name, declared in cls.schema.settings.items():
            if name not in config and declared.default is UNSET:
                raise BrainError(f"{where}: the setting {name!r} is missing; expected {describe_type(declared.annotation)}")
            try:
                result[name] = parse_value(declared.annotation, config.get(name, declared.default))
            except ValueError as error:
                raise BrainError(f"{where}: the setting {name!r}: {error}") from None
        for name in config:
            if name not in result:
                raise BrainError(f"{where}: there is no setting {short(name)}. {suggest(name, result) or ''}".rstrip(" "))
        return MappingProxyType(result)

    @classmethod
    def check_tensors(cls, where: str, config: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> Mapping[str, int]:
        """Check names, dtypes and shapes, and return the sizes that follow from them. Raises BrainError."""
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
                    f"{where}: there is no tensor {short(name)} in a {cls.kind}. {suggest(name, specs) or ''}".rstrip(" ")
                )
            dtype, dims = parsed[name]
            if info.dtype != dtype or len(info.shape) != len(dims):
                raise BrainError(f"{where}: tensor {name!r}: expected {specs[name]}, found {info}")
            for dim, size in zip(dims, info.shape, strict=True):
                wanted = _size(dim, sizes, size)
                if wanted != size:
                    meaning = "" if dim == str(wanted) else f" with {dim} = {wanted}"
                    raise BrainError(f"{where}: tensor {name!r}: expected {specs[name]}{meaning}, found {info}")
        return MappingProxyType({**sizes, **cls.derived_sizes(sizes, config)})

    @classmethod
    def check_header(cls, header: BrainHeader) -> Mapping[str, int]:
        """Check, before any tensor is read, that a file holds this kind of brain; return its sizes. Raises BrainError."""
        where = str(header.path)
        if header.kind != cls.kind or header.version != cls.version:
            found = "no brain of ours"
            if header.kind is not None:
                found = f"kind {short(header.kind)} version {header.version}"
            raise BrainError(f"{where}: expected a brain of kind {cls.kind!r} version {cls.version}, found {found}")
        return cls.check_tensors(where, cls.read_config(where, header.config), header.tensors)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a brain file. Raises BrainError with one sentence if it is not a valid brain of this kind."""
        try:
            with path.open("rb") as file:
                header = read_open_header(path, file)
                cls.check_header(header)
                if header.size >= MAP_FROM and header.size > header.data_start:
                    data = memoryview(np.memmap(file, np.uint8, "r", header.data_start).data)
                else:
                    data = memoryview(file.read())
        except OSError as error:
            raise BrainError(f"{path}: the brain cannot be read: {error.strerror or error}") from None
        if len(data) != header.size - header.data_start:
            raise BrainError(f"{path}: the file changed while it was read")
        arrays: dict[str, np.ndarray] = {}
        for name, info in header.tensors.items():
            numbers = np.frombuffer(data[info.start : info.end], DTYPES[info.dtype])
            arrays[name] = numbers.reshape(info.shape)
        brain = cls.__new__(cls)
        brain._fill(str(path), cls.read_config(str(path), header.config), header.tensors, arrays)
        brain.ref = BrainRef(str(path.absolute()), hash_file(path))
        return brain

    def save(self, path: Path, *, title: str, made_by: str, **people: Any) -> str:
        """Write the brain (temporary file, then rename) and return its SHA-256.

        `made_by` is the command or workflow that made it; `people` may hold description, license, author,
        parents (a list of SHA-256) and metrics. Equal brains give equal bytes.
        """
        import safetensors

        metadata = {
            "minibrains.kind": self.kind,
            "minibrains.version": str(self.version),
            "config": json.dumps(to_json(self.config), sort_keys=True),
            "title": title,
            "made_by": made_by,
        }
        for name, text in people.items():
            if not isinstance(text, str):
                text = json.dumps(text, sort_keys=True)
            metadata[name] = text
        arrays: list[np.ndarray] = []  # alive until they are written
        specs: dict[str, safetensors.TensorSpec] = {}
        for name, tensor_ in self.tensors.items():
            array = np.asarray(tensor_, order="C")
            arrays.append(array)
            specs[name] = safetensors.TensorSpec(
                dtype=_name(array.dtype), shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes
            )
        data = _sorted_header(safetensors.serialize(specs, metadata))
        write_atomic(path, data)
        return hashlib.sha256(data).hexdigest()


def _sorted_header(data: bytes) -> bytes:
    """Return the file with its header in a fixed order; the library writes metadata in the order of a hash map."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def _size(dim: int | str, sizes: dict[str, int], found: int) -> int:
    if isinstance(dim, int):
        return dim
    return sizes.setdefault(dim.strip("{}"), found)


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _label(array: np.ndarray) -> str:
    return next((label for label, dtype in DTYPES.items() if dtype == array.dtype), str(array.dtype))


def _name(dtype: np.dtype) -> str:
    """Return the name that safetensors has for a dtype."""
    return "bfloat16" if dtype == DTYPES["bf16"] else dtype.name
