"""Brains: the learned or configured data of a node, as one safetensors file.

Nothing else is ever opened as a brain: no pickle, no code. The size of the header is limited, and
all of it is checked before a tensor is read. Metadata: `minibrains.kind`, `minibrains.version`,
`config` (JSON), and for people `title`, `description`, `license`, `author`, `made_by`, `parents`,
`metrics`.
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
"""Files of at least this many bytes are memory-mapped. Smaller ones are read, because a mapped file
that another process truncates kills this one."""

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
    added: bool = False
    annotation: Any = None


@dataclass(frozen=True, slots=True)
class BrainSchema:
    """The tensors and settings that a kind of brain declares, by name."""

    tensors: Mapping[str, TensorField]
    settings: Mapping[str, SettingField]


def tensor(spec: str, doc: str = "") -> Any:
    """Declare a tensor of a brain: `recovery: np.ndarray = tensor("i32[actions]", "frames")`.

    Args:
        spec: Its dtype and shape, as in a `Socket`.
        doc: Its meaning, with the unit.
    """
    return TensorField(spec, doc)


def setting(default: Any = UNSET, doc: str = "", added: bool = False) -> Any:
    """Declare an entry of a brain's `config`: `buttons: tuple[str, ...] = setting(doc="names")`.

    Args:
        default: The value for a file without this entry; without a default the entry is required.
        doc: Its meaning, with the unit.
        added: Whether files of this kind are older than the entry. It is left out where it has its
            default, so that the same brain still gives the same bytes.
    """
    return SettingField(default, doc, added)


class Brain:
    """Base class of all kinds of brains. Subclasses declare tensors and settings as fields.

    The sizes in the specs of the tensors, and the settings that are whole numbers, are sizes of the
    node that has the brain: `{actions}` in the spec of a socket refers to them. A setting called
    `base_sha256` is the hash of another file that the brain was made for, and `base` is the title
    of that file: a socket of type `sha256[base_sha256]` can be linked only to a socket for the same
    file.

    Example:
        >>> class Limits(Brain):
        ...     kind = "limits"
        ...     range: np.ndarray = tensor("f32[2]", "smallest and largest value")
        ...     unit: str = setting("", "for people")
        >>> limits = Limits(range=np.array([0, 9], np.float32))
        >>> limits.range.tolist(), limits.unit
        ([0.0, 9.0], '')
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    schema: ClassVar[BrainSchema] = BrainSchema({}, {})
    ref: BrainRef | None = None
    """The reference to this brain that travels on links; None for a brain made in memory."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not isinstance(cls.__dict__.get("kind"), str):
            raise NodeClassError(
                f'the brain class {cls.__name__} has no kind; write kind = "…", '
                "the name in the file"
            )
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
                raise NodeClassError(
                    f"{cls.__name__}.{name} is neither tensor(…) nor setting(…) of a JSON type"
                )
        cls.schema = BrainSchema(MappingProxyType(tensors), MappingProxyType(settings))

    def __init__(self, tensors: Mapping[str, np.ndarray] | None = None, **fields: Any) -> None:
        """Make a brain in memory.

        Args:
            tensors: Tensors by name, for example all those of a network.
            fields: Settings by name, and further tensors.

        Raises:
            BrainError: A tensor or setting is missing, unknown, or of another dtype or shape.
        """
        arrays = dict(tensors or {})
        config = {}
        for name, value in fields.items():
            if name in self.schema.settings:
                config[name] = value
            else:
                arrays[name] = np.asarray(value)
        infos = {
            name: TensorInfo(_label(array), array.shape, 0, 0) for name, array in arrays.items()
        }
        self._fill(
            f"{type(self).__name__}", self.read_config(type(self).__name__, config), infos, arrays
        )

    def _fill(
        self,
        where: str,
        config: Mapping[str, Any],
        infos: Mapping[str, TensorInfo],
        arrays: Mapping[str, np.ndarray],
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

    @classmethod
    def memory_sizes(cls, tensors: Mapping[str, TensorInfo]) -> Mapping[str, int]:
        """Return the bytes of memory that its weights take when they are loaded, by the type of
        number to compute in; empty if this kind does not say. Large models override it, because
        that is not the size of the file.

        Args:
            tensors: The tensors of its file by name.
        """
        return {}

    def check(self, where: str) -> None:
        """Check the values. Subclasses raise BrainError with a message that starts with `where`."""

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the spec of every tensor by name; networks override it,
        because their tensors depend on `config`.
        """
        return {name: declared.spec for name, declared in cls.schema.tensors.items()}

    @classmethod
    def derived_sizes(
        cls, sizes: Mapping[str, int], config: Mapping[str, Any]
    ) -> Mapping[str, int]:
        """Return further sizes that sockets may name,
        derived from the sizes of the tensors and from the settings.
        """
        return {}

    @classmethod
    def read_config(cls, where: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Check settings and fill in the defaults.

        Args:
            where: The beginning of the error message, such as the path of the file.
            config: The settings by name, as read from the file.

        Returns:
            All settings by name.

        Raises:
            BrainError: A setting is missing, unknown or of another type; names the first one.
        """
        result = {}
        for name, declared in cls.schema.settings.items():
            if name not in config and declared.default is UNSET:
                raise BrainError(
                    f"{where}: the setting {name!r} is missing; "
                    f"expected {describe_type(declared.annotation)}"
                )
            try:
                result[name] = parse_value(declared.annotation, config.get(name, declared.default))
            except ValueError as error:
                raise BrainError(f"{where}: the setting {name!r}: {error}") from None
        for name in config:
            if name not in result:
                hint = suggest(name, result) or ""
                raise BrainError(f"{where}: there is no setting {short(name)}. {hint}".rstrip(" "))
        return MappingProxyType(result)

    @classmethod
    def check_tensors(
        cls, where: str, config: Mapping[str, Any], tensors: Mapping[str, TensorInfo]
    ) -> Mapping[str, int]:
        """Check names, dtypes and shapes of tensors.

        Args:
            where: The beginning of the error message, such as the path of the file.
            config: All settings by name.
            tensors: The tensors of the file by name.

        Returns:
            The sizes that the node's sockets may name.

        Raises:
            BrainError: A tensor is missing, unknown, or of another dtype or shape.
        """
        sizes: dict[str, int] = {
            name: value for name, value in config.items() if type(value) is int
        }
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
                    (
                        f"{where}: there is no tensor {short(name)} in a {cls.kind}. "
                        f"{suggest(name, specs) or ''}"
                    ).rstrip(" ")
                )
            dtype, dims = parsed[name]
            if info.dtype != dtype or len(info.shape) != len(dims):
                raise BrainError(f"{where}: tensor {name!r}: expected {specs[name]}, found {info}")
            for dim, size in zip(dims, info.shape, strict=True):
                expected = _size(dim, sizes, size)
                if expected != size:
                    meaning = "" if dim == str(expected) else f" with {dim} = {expected}"
                    raise BrainError(
                        f"{where}: tensor {name!r}: expected {specs[name]}{meaning}, found {info}"
                    )
        return MappingProxyType({**sizes, **cls.derived_sizes(sizes, config)})

    @classmethod
    def check_header(cls, header: BrainHeader) -> Mapping[str, int]:
        """Check, before any tensor is read, that a file contains this kind of brain.

        Returns:
            The sizes that the node's sockets may name.

        Raises:
            BrainError: It is another kind of brain, or its settings or tensors are wrong.
        """
        where = str(header.path)
        if header.kind != cls.kind or header.version != cls.version:
            found = "no brain of ours; the command pack-model makes one of a model or an adapter"
            if header.kind is not None:
                found = f"kind {short(header.kind)} version {header.version}"
            raise BrainError(
                f"{where}: expected a brain of kind {cls.kind!r} version {cls.version}, "
                f"found {found}"
            )
        return cls.check_tensors(where, cls.read_config(where, header.config), header.tensors)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a brain file.

        Raises BrainError with one sentence if it is not a valid brain of this kind.
        """
        path = Path(path)
        try:
            with path.open("rb") as file:
                header = read_open_header(path, file)
                cls.check_header(header)
                if header.size >= MAP_FROM and header.size > header.data_start:
                    data = memoryview(np.memmap(file, np.uint8, "r", header.data_start).data)
                else:
                    data = memoryview(file.read())
        except OSError as error:
            raise BrainError(
                f"{path}: the brain cannot be read: {error.strerror or error}"
            ) from None
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

    def metadata(
        self, *, title: str, made_by: str, license: str = "", **people: Any
    ) -> dict[str, str]:
        """Return the metadata that `save` writes into the header of a file: the kind of the brain,
        its settings, and the entries for people, which are those of `save`.
        """
        config: dict[str, Any] = {}
        for name, value in self.config.items():
            declared = self.schema.settings[name]
            if not (declared.added and value == declared.default):
                config[name] = to_json(value)
        metadata = {
            "minibrains.kind": self.kind,
            "minibrains.version": str(self.version),
            "config": json.dumps(config, sort_keys=True),
            "title": title,
            "made_by": made_by,
        }
        if license:
            metadata["license"] = license
        for name, text in people.items():
            if not isinstance(text, str):
                text = json.dumps(text, sort_keys=True)
            metadata[name] = text
        return metadata

    def save(
        self, path: Path | str, *, title: str, made_by: str, license: str = "", **people: Any
    ) -> str:
        """Write the brain into a file, by renaming a temporary one. Equal brains give equal bytes.

        Args:
            path: The file, which is replaced if it exists.
            title: A title for people.
            made_by: The command or workflow that made the brain.
            license: Its licence; empty: the file names none.
            people: Further entries for people: description, author, parents (a list of SHA-256),
                metrics.

        Returns:
            The SHA-256 of the file.
        """
        import safetensors

        metadata = self.metadata(title=title, made_by=made_by, license=license, **people)
        arrays: list[np.ndarray] = []  # alive until they are written
        specs: dict[str, safetensors.TensorSpec] = {}
        for name, tensor_ in self.tensors.items():
            array = np.asarray(tensor_, order="C")
            arrays.append(array)
            specs[name] = safetensors.TensorSpec(
                dtype=_name(array.dtype),
                shape=array.shape,
                data_ptr=array.ctypes.data,
                data_len=array.nbytes,
            )
        data = _sorted_header(safetensors.serialize(specs, metadata))
        write_atomic(Path(path), data)
        return hashlib.sha256(data).hexdigest()


def _sorted_header(data: bytes) -> bytes:
    """Return the file with its header in a fixed order;
    the library writes metadata in the order of a hash map.
    """
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
    return next(
        (label for label, dtype in DTYPES.items() if dtype == array.dtype), str(array.dtype)
    )


def _name(dtype: np.dtype) -> str:
    """Return the name that safetensors has for a dtype."""
    return "bfloat16" if dtype == DTYPES["bf16"] else dtype.name
