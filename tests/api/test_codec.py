"""Values of links as bytes: exactly back again,
and nothing but ValueError from bytes that are none.
"""

from __future__ import annotations

import math
import struct
import sys
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from minibrains import ABSENT
from minibrains.annotations import Aged
from minibrains.codec import pack, unpack
from nodes.training.ppo import PPOLearning


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any = field(default=0, init=False)


@dataclass(frozen=True, slots=True)
class Slotted:
    only: Any

    def __post_init__(self) -> None:
        if self.only == "refused":
            raise RuntimeError("its own code ran")


class Longer(NamedTuple):
    x: Any
    added: Any = 0


@dataclass(frozen=True)
class LongerFrozen:
    a: Any
    added: Any = ABSENT


@dataclass
class Thawed:
    a: int


class Outer:
    class Inner(NamedTuple):
        z: int

    class _Hidden(NamedTuple):
        z: int


class Number(IntEnum):
    ONE = 1


Alias = Point
DTYPES = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.unsigned_integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
)
ARRAYS = DTYPES.flatmap(
    lambda dtype: arrays.arrays(
        dtype, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    )
)
SCALARS = DTYPES.flatmap(lambda dtype: arrays.arrays(dtype, ())).map(lambda array: array[()])
TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
KEYS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    TEXT,
    st.binary(max_size=8),
    st.tuples(TEXT, st.integers()),
)
LEAVES = st.one_of(KEYS, st.floats(allow_nan=True), st.just(ABSENT), ARRAYS, SCALARS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
        st.builds(Point, inner, inner),
        st.builds(Frozen, inner),
        st.builds(Aged, inner, st.integers(0, 100)),
    ),
    max_leaves=12,
)


def same(a: Any, b: Any) -> bool:
    """Equal to the last bit, type by type."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (np.ndarray, np.generic)):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, Mapping):
        return len(a) == len(b) and all(map(same, a, b)) and all(map(same, a.values(), b.values()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (Frozen, Slotted)):
        return all(
            same(getattr(a, name), getattr(b, name)) for name in type(a).__dataclass_fields__
        )
    return bool(a == b)


@settings(deadline=None)
@given(VALUES)
def test_what_comes_back_is_what_was_packed(value: Any) -> None:
    assert same(unpack(pack(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        *(0, -1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 1 << 5000, -(1 << 5000)),
        *(0.0, -0.0, math.inf, struct.unpack("<d", b"\1\2\3\0\0\0\xf8\xff")[0]),
        *((), [], {}, ((),), [[], ()], [ABSENT], [1 << 70, 2], {(1, 2): {1: 2}}, "", b""),
        *(Outer.Inner(3), Slotted([1]), Aged(None, 3)),
        *(
            np.array(3.0),
            np.zeros((0, 10**6), np.uint8),
            np.longdouble(1) / 3,
            np.array([1], ">u2"),
            np.bool_(True),
        ),
    ],
    ids=repr,
)
def test_corners(value: Any) -> None:
    assert same(unpack(pack(value)), value)


def test_what_is_not_kept() -> None:
    assert type(unpack(pack(OrderedDict(a=1)))) is dict
    assert unpack(pack(MappingProxyType({"a": MappingProxyType({})}))) == {"a": {}}
    turned = np.arange(6, dtype=np.int32).reshape(2, 3).T
    back = unpack(pack(turned))
    assert back.flags.c_contiguous
    assert same(back, np.ascontiguousarray(turned))
    odd = np.array([7, 0, 1], np.uint8).view(bool)
    assert unpack(pack(odd)).view(np.uint8).tolist() == [1, 0, 1]


def test_arrays_come_back_read_only_and_aligned() -> None:
    for dtype in (np.uint8, np.float32, np.float64, bool):
        back = unpack(pack([1, np.zeros((3, 5), dtype)]))[1]
        assert not back.flags.writeable
        assert back.flags.aligned
        with pytest.raises(ValueError, match="WRITEABLE"):
            back.flags.writeable = True


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


Shadowed: Any = namedtuple("Other", "a")  # type: ignore[name-match]  # not found under its name


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (object(), "builtins.object cannot be packed"),
        ([1, {"k": {1, 2}}], r"builtins.set at value\[1\]\['k'\] cannot be packed"),
        (Point(1, [2, 1j]), r"builtins.complex at value\['y'\]\[1\] cannot be packed"),
        (np.array([None]), "a NumPy array of object cannot be packed"),
        (np.array(["text"]), "a NumPy array of <U4 cannot be packed"),
        (np.zeros(1, [("a", "u1")]), "a NumPy array of .* cannot be packed"),
        (np.datetime64(1, "s"), "a NumPy scalar of datetime64"),
        (np.ma.masked_array([1]), "numpy.ma.*MaskedArray"),
        (Thawed(1), "Thawed cannot be packed"),
        (Number.ONE, "Number cannot be packed"),
        (Outer._Hidden(1), "_Hidden cannot be packed"),
        (Shadowed(1), "Other cannot be packed"),
        ({frozenset(): 1}, "builtins.frozenset cannot be packed"),
        (Point, "builtins.type cannot be packed"),
        (lambda: 0, "builtins.function cannot be packed"),
        (_endless(), "nested more than 100 deep"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_cannot_be_packed_is_named_with_its_place(value: Any, sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        pack(value)


def mark(code: int, data: bytes = b"") -> Any:
    return msgpack.ExtType(code, data)


def record(name: str, *values: Any) -> Any:
    return [mark(5, name.encode()), *values]


HERE = __name__
HOSTILE: dict[str, Any] = {
    "a raw map": {"a": 1},
    "a timestamp": msgpack.Timestamp(1),
    "a mark alone": mark(3),
    "a mark in the middle": [1, mark(3)],
    "a mark of nothing": [mark(77), 1],
    "ABSENT with data": mark(2, b"x"),
    "a tuple's mark with data": [mark(3, b"x"), 1],
    "a mapping of three": [mark(4), 1, 2, 3],
    "a key twice": [mark(4), 1, 2, 1, 3],
    "a list as key": [mark(4), [1], 2],
    "an array as key": [mark(4), [mark(6, b"|u1 1"), b"x"], 2],
    "a module that is not imported": record("antigravity:Point x y", 1, 2),
    "a function": record("os:system x", "true"),
    "a class that is not a record": record("subprocess:Popen args", "true"),
    "a class imported from elsewhere": record(f"{HERE}:Aged value age", 1, 2),
    "another name of a class": record(f"{HERE}:Alias x y", 1, 2),
    "a private class": record(f"{HERE}:Outer._Hidden z", 1),
    "a way through dunders": record(f"{HERE}:Point.__class__ x", 1),
    "a module's module": record(f"{HERE}:np.ndarray x", 1),
    "other fields": record(f"{HERE}:Point x z", 1, 2),
    "too few values": record(f"{HERE}:Point x y", 1),
    "a dataclass that thaws": record(f"{HERE}:Thawed a", 1),
    "no name": record("", 1),
    "no text": [mark(5, b"\xff\xfe"), 1],
    "objects": [mark(6, b"|O 1"), b"12345678"],
    "text": [mark(6, b"<U1 1"), b"1234"],
    "structures": [mark(6, b"u1,O 1"), b"123456789"],
    "an integer of 3 bytes": [mark(6, b"<i3 1"), b"123"],
    "too little data": [mark(6, b"<i4 2"), b"1234"],
    "a size beyond all": [mark(6, b"|u1 0 9999999999999999999"), b""],
    "sizes whose product is beyond all": [mark(6, b"|u1 0 9999999999999 9999999999999"), b""],
    "more dimensions than NumPy has": [mark(6, b"|u1" + b" 1" * 65), b"1"],
    "a negative size": [mark(6, b"|u1 -1 -1"), b"1"],
    "a list as data": [mark(6, b"|u1 1"), [1]],
    "no data": [mark(6, b"|u1 1")],
    "more than data": [mark(6, b"|u1 1"), b"1", b"2"],
    "a bool that is neither": [mark(6, b"|b1 1"), b"\2"],
    "a scalar with a shape": [mark(7, b"|u1 1"), b"1"],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_forms_that_pack_never_makes(name: str) -> None:
    with pytest.raises(ValueError, match=r"^not a packed value: ."):
        unpack(msgpack.packb(HOSTILE[name]))


def test_a_record_is_made_without_its_constructor() -> None:
    back = unpack(msgpack.packb(record(f"{HERE}:Slotted only", "refused")))
    assert back.only == "refused"


def test_fields_that_a_class_has_gained_since_have_their_defaults() -> None:
    assert unpack(msgpack.packb(record(f"{HERE}:Longer x", 1))) == Longer(1)
    assert unpack(msgpack.packb(record(f"{HERE}:LongerFrozen a", 1))) == LongerFrozen(1)


def test_a_class_of_a_package_with_another_name_now_is_found() -> None:
    value = PPOLearning(ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, False)
    packed = pack(value)
    older = packed.replace(b"nodes.training.", b"nodes.learning.")
    assert older != packed
    assert unpack(older) == value


def test_a_module_is_never_imported_nor_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ModuleType("asked")
    asked.__getattr__ = lambda name: pytest.fail(f"{name} was looked up")  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "asked", asked)
    with pytest.raises(ValueError, match="no imported NamedTuple"):
        unpack(msgpack.packb(record("asked:Point x y", 1, 2)))
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        pack(1) + b"\0",
        pack("text")[:-1],
        b"\xdd\xff\xff\xff\xff" * 1000,
        b"\xdf\xff\xff\xff\xff" * 1000,
        b"\xc6\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\1",
        b"\x91" * 100_000,
        b"\x91" * 500 + b"\1",
        b"\x92\xc7\0\3" * 150 + b"\1",
    ],
    ids=lambda data: data[:8].hex() or "empty",
)
def test_bytes_that_are_nothing(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a packed value"):
        unpack(data)


def _value_or_value_error(data: bytes) -> None:
    try:
        value = unpack(data)
    except ValueError:
        return
    assert same(unpack(pack(value)), value)  # what got through is a value like any other


@settings(deadline=None, max_examples=500)
@given(st.binary(max_size=64))
def test_random_bytes(data: bytes) -> None:
    _value_or_value_error(data)


@settings(deadline=None, max_examples=500)
@given(
    VALUES,
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4),
    st.integers(0, 10),
)
def test_damaged_bytes(value: Any, changes: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(pack(value))
    for place, byte in changes:
        data[place % len(data)] = byte
    _value_or_value_error(bytes(data[: len(data) - cut]))
