"""Encode the values that travel on links as bytes, and decode them exactly:
the format of the tape and of cached outputs.

The bytes are MessagePack. A value that MessagePack cannot represent becomes a list whose first item
is an extension that says what the rest is; `_plain` and `_value` are each other's inverse.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import prod
from typing import Any, Final

import msgpack
import numpy as np

from minibrains.annotations import ABSENT
from minibrains.values import DEEPEST

_INT, _ABSENT, _TUPLE, _MAPPING, _RECORD, _ARRAY, _SCALAR = range(1, 8)
_TUPLE_MARK: Final = msgpack.ExtType(_TUPLE, b"")
_MAPPING_MARK: Final = msgpack.ExtType(_MAPPING, b"")
_ARRAY_FORM: Final = re.compile(rb"[<>|][biuf]\d{1,2}( \d{1,19}){0,64}")
_PLAIN: Final = frozenset({type(None), bool, float, str, bytes})


def pack(value: Any) -> bytes:
    """Encode a value as bytes.

    The value may be None, bool, int, float, str, bytes, ABSENT, a NumPy array or scalar of bools,
    integers or floats, or a list, tuple, mapping, NamedTuple or frozen dataclass of these. Raises
    TypeError, naming the type and its place, on anything else, on a class that its module does not
    have under its name, and on a value that is nested too deeply.
    """
    try:
        plain = _plain(value, DEEPEST)
    except _Unknown as unknown:
        where = ""
        if unknown.location:
            where = f" at value{''.join(reversed(unknown.location))}"
        raise TypeError(f"{unknown}{where} cannot be packed") from None
    data: bytes = msgpack.packb(plain, unicode_errors="surrogatepass")
    return data


def unpack(data: bytes) -> Any:
    """Decode bytes that `pack` made. Mappings come back as dicts, arrays in C order and read-only.

    A NamedTuple or dataclass is made only of a class whose module is already imported; its
    constructor is not called. If the class has gained fields at its end since then, they have their
    defaults. Raises ValueError on bytes that `pack` cannot have made, whatever they are.
    """
    try:
        parts = msgpack.Unpacker(max_buffer_size=max(len(data), 1))
        parts.feed(data)
        # every item is there, whatever lengths are claimed: unpacking allocates no more than needed
        parts.skip()
        if parts.tell() != len(data):
            raise ValueError("there is trailing data")
        plain = msgpack.unpackb(data, max_map_len=0, unicode_errors="surrogatepass")
        return _value(plain, DEEPEST)
    except (ValueError, TypeError, OverflowError, AttributeError, msgpack.UnpackException) as error:
        raise ValueError(f"not a packed value: {error or type(error).__name__}") from None


class _Unknown(Exception):
    """Raised for a value that cannot be packed; on its way up it collects the value's place,
    innermost first.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.location: list[str] = []


def _plain(value: Any, depth: int) -> Any:
    """Return a value in the form in which MessagePack can represent it;
    `_value` makes the value again.

    Args:
        value: Any value.
        depth: The number of levels that it may be nested.

    Raises:
        _Unknown: It contains a value that cannot be packed.
        TypeError: It is nested too deeply.
    """
    # plain values
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if kind is int:
        if -(2**63) <= value < 2**64:
            return value
        return msgpack.ExtType(
            _INT, value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        )
    if value is ABSENT:
        return msgpack.ExtType(_ABSENT, b"")

    # collections
    if not depth:
        raise TypeError(f"a value nested more than {DEEPEST} deep cannot be packed")
    if kind is list:
        return _plain_items(enumerate(value), depth)
    if kind is tuple:
        return [_TUPLE_MARK, *_plain_items(enumerate(value), depth)]
    if isinstance(value, Mapping):
        items = _plain_items(value.items(), depth)
        keys = [_plain(key, depth - 1) for key in value]
        plain = [_MAPPING_MARK]
        for key, item in zip(keys, items, strict=True):
            plain += (key, item)
        return plain

    # NumPy
    if kind is np.ndarray or isinstance(value, np.generic):
        if value.dtype.kind not in "biuf":
            raise _Unknown(
                f"a NumPy {'array' if kind is np.ndarray else 'scalar'} of {value.dtype}"
            )
        form = " ".join([value.dtype.str, *map(str, value.shape)]).encode()
        code = _ARRAY if kind is np.ndarray else _SCALAR
        raw: Any = np.ascontiguousarray(value)
        if value.dtype.kind == "b":
            raw = raw.view(np.uint8) != 0
        return [msgpack.ExtType(code, form), memoryview(raw)]

    # NamedTuples and frozen dataclasses
    mark = _record_mark(kind)
    if mark is None:
        raise _Unknown(f"{kind.__module__}.{kind.__qualname__}")
    fields = _fields(kind) or ()
    values = value
    if not isinstance(value, tuple):
        values = [getattr(value, field) for field in fields]
    return [mark, *_plain_items(zip(fields, values, strict=True), depth)]


def _plain_items(items: Iterable[tuple[Any, Any]], depth: int) -> list[Any]:
    result = []
    for location, item in items:
        try:
            result.append(_plain(item, depth - 1))
        except _Unknown as unknown:
            unknown.location.append(f"[{location!r}]")
            raise
    return result


def _value(plain: Any, depth: int) -> Any:
    kind = type(plain)
    if kind in _PLAIN or kind is int:
        return plain
    if kind is msgpack.ExtType:
        if plain.code == _INT:
            return int.from_bytes(plain.data, "little", signed=True)
        if plain.code == _ABSENT and not plain.data:
            return ABSENT
        raise ValueError(f"an extension {plain.code} is not allowed here")
    if kind is not list:
        raise ValueError(f"a {kind.__name__} is not allowed here")
    if not depth:
        raise ValueError("it is nested too deeply")
    mark = plain[0] if plain and type(plain[0]) is msgpack.ExtType else None
    if mark is None or mark.code in (_INT, _ABSENT):
        return [_value(item, depth - 1) for item in plain]
    if mark.code in (_ARRAY, _SCALAR):
        return _array(mark, *plain[1:])
    values = [_value(item, depth - 1) for item in plain[1:]]
    if mark == _TUPLE_MARK:
        return tuple(values)
    if mark == _MAPPING_MARK:
        mapping = dict(zip(values[::2], values[1::2], strict=True))
        if 2 * len(mapping) != len(values):
            raise ValueError("it has a duplicate key")
        return mapping
    if mark.code == _RECORD:
        return _record(mark.data.decode(), values)
    raise ValueError(f"an extension {mark.code} is not allowed here")


def _array(mark: Any, data: bytes) -> Any:
    if not _ARRAY_FORM.fullmatch(mark.data) or type(data) is not bytes:
        raise ValueError(f"an array cannot be {mark.data[:80]!r}")
    name, *dims = mark.data.decode().split(" ")
    dtype, shape = np.dtype(name), tuple(map(int, dims))
    if dtype.str != name or prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"an array {name} {shape} does not have {len(data)} bytes")
    if dtype.kind == "b" and data.translate(None, b"\0\1"):
        raise ValueError("a bool has another byte than 0 and 1")
    array = np.ndarray(shape, dtype, data)
    if mark.code == _ARRAY:
        return array
    if shape:
        raise ValueError("a scalar has no shape")
    return array[()]


_MOVED: Final = {
    "nodes.vlm:Answer": "nodes.language.answering:Answer",
    "nodes.language.vlm:Answer": "nodes.language.answering:Answer",
    "minibrains.node:Sample": "minibrains.annotations:Aged",
    "minibrains.annotations:Sample": "minibrains.annotations:Aged",
    "nodes.learning.": "nodes.training.",
}
"""Names of classes that have changed since older tapes were written, or how they begin: old ->
new."""


def _fields(cls: type) -> tuple[str, ...] | None:
    """Return the fields of a NamedTuple or frozen dataclass; None for any other class."""
    fields = getattr(cls, "_fields", None)
    if issubclass(cls, tuple) and type(fields) is tuple:
        return fields
    if dataclasses.is_dataclass(cls) and getattr(cls, "__dataclass_params__").frozen:  # noqa: B009 - not in typeshed
        return tuple(field.name for field in dataclasses.fields(cls))
    return None


@lru_cache(256)
def _record_mark(cls: type) -> Any:
    fields = _fields(cls)
    name = f"{cls.__module__}:{cls.__qualname__}"
    if fields is None or _find_class(name) is not cls:
        return None
    return msgpack.ExtType(_RECORD, " ".join([name, *fields]).encode())


def _record(form: str, values: list[Any]) -> Any:
    """Make the NamedTuple or dataclass `module:Class field …` without calling its constructor.

    Fields that the class has at its end since the value was packed have their defaults.
    """
    name, *fields = form.split(" ")
    cls = _find_class(_current_name(name))
    expected = None if cls is None else _fields(cls)
    if cls is None or expected is None or len(values) != len(fields):
        raise ValueError(f"there is no imported NamedTuple or frozen dataclass {form[:200]!r}")
    added = expected[len(fields) :]
    defaults = _defaults(cls) if added else {}
    if expected != (*fields, *added) or not defaults.keys() >= set(added):
        raise ValueError(f"there is no imported NamedTuple or frozen dataclass {form[:200]!r}")
    values = [*values, *(defaults[field] for field in added)]
    if issubclass(cls, tuple):
        return tuple.__new__(cls, values)
    record = object.__new__(cls)
    for field, value in zip(expected, values, strict=True):
        object.__setattr__(record, field, value)
    return record


def _current_name(name: str) -> str:
    """Return the present name of a class that a tape names."""
    for old, new in _MOVED.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def _defaults(cls: type) -> dict[str, Any]:
    """Return the defaults of the fields of a NamedTuple or frozen dataclass that have one."""
    if not dataclasses.is_dataclass(cls):
        defaults: dict[str, Any] = getattr(cls, "_field_defaults")  # noqa: B009 - not in typeshed
        return defaults
    return {
        field.name: field.default
        for field in dataclasses.fields(cls)
        if field.default is not dataclasses.MISSING
    }


def _find_class(name: str) -> type | None:
    """Find the class `module:Outer.Inner`, if its module is imported and defines
    it under that public name.
    """
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        if part.startswith("_") or not hasattr(found, "__dict__"):
            return None
        found = vars(found).get(part)
    if isinstance(found, type) and (found.__module__, found.__qualname__) == (module, path):
        return found
    return None
