"""Snapshots of node states: MessagePack that cannot contain, or create, anything that runs code.

A state may hold plain values, collections, NumPy arrays and generators, random.Random, and objects
of classes that are defined in named modules, those of the plan's nodes. A function is never among
them.

A snapshot is a list of steps, which make the objects of the state one after the other; an object is
referred to by its number. Objects are taken apart as for a pickle (`__reduce_ex__`), so that what
two objects share is shared again.
"""

from __future__ import annotations

import collections
import copyreg
import random
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.random import (
    MT19937,
    PCG64,
    PCG64DXSM,
    SFC64,
    BitGenerator,
    Generator,
    Philox,
    SeedSequence,
)

from minibrains.annotations import ABSENT
from minibrains.codec import pack, unpack
from minibrains.errors import MinibrainsError
from minibrains.loading import BrainRef

LARGEST: Final = 1 << 30
"""Largest size of a state in bytes, before compression."""
_START: Final = b"MBS1"
_CRC: Final = 4
_PROTOCOL: Final = 4
"""The version of the pickle protocol with which objects are taken apart."""
_PLAIN: Final = frozenset({type(None), bool, int, float, str, bytes})


def dump(state: Any, modules: Collection[str]) -> bytes:
    """Encode a state.

    Raises MinibrainsError if it contains what `load` with the same modules would refuse.
    """
    writer = _Writer(modules)
    try:
        writer.steps.append(["state", writer.put(state)])
        packed = pack(writer.steps)
    except MinibrainsError:
        raise
    except Exception as error:  # a class's own code may raise anything
        raise MinibrainsError(
            f"the state cannot be kept in a snapshot: {error or type(error).__name__}"
        ) from error
    if len(packed) > LARGEST:
        raise MinibrainsError(
            f"the state cannot be kept in a snapshot: it has more than {LARGEST} bytes"
        )
    squeezed = zlib.compress(packed, 1)
    return _START + zlib.crc32(squeezed).to_bytes(_CRC, "little") + squeezed


def is_snapshot(data: Any) -> bool:
    """Return whether `load` may read these bytes; those of older versions were pickles."""
    return isinstance(data, bytes) and data.startswith(_START)


def load(data: bytes, modules: Collection[str]) -> Any:
    """Decode a state, with objects of classes defined in `modules`, which must be imported already.

    Raises MinibrainsError on any other bytes.
    """
    checksum, squeezed = data[len(_START) : len(_START) + _CRC], data[len(_START) + _CRC :]
    if not is_snapshot(data) or zlib.crc32(squeezed).to_bytes(_CRC, "little") != checksum:
        raise MinibrainsError("the snapshot is damaged: its checksum is wrong")
    try:
        inflate = zlib.decompressobj()
        packed = inflate.decompress(squeezed, LARGEST + 1)
        if len(packed) > LARGEST:
            raise ValueError(f"it has more than {LARGEST} bytes")
        if not inflate.eof or inflate.unused_data:
            raise ValueError("it is not whole")
        return _Reader(modules).read(unpack(packed))
    except MinibrainsError:
        raise
    except Exception as error:  # a class's own code may raise anything
        raise MinibrainsError(
            f"the snapshot cannot be restored: {error or type(error).__name__}"
        ) from error


class _Writer:
    """Takes a state apart.

    A plain value stands for itself; a list of one number refers to the object of that number.
    """

    def __init__(self, modules: Collection[str]) -> None:
        self.steps: list[list[Any]] = []
        self._modules = modules
        self._numbers: dict[int, int] = {}
        """The id of an object -> its number."""
        self._kept: list[Any] = []
        """All objects with numbers: as long as they are here, no other object has their id."""

    def put(self, value: Any) -> Any:
        """Return a plain value, or a reference to the object that the steps so far make."""
        if type(value) in _PLAIN or value is ABSENT or isinstance(value, np.generic):
            return value
        if id(value) not in self._numbers:
            self._make(value)
        return [self._numbers[id(value)]]

    def _make(self, value: Any) -> None:
        """Add the steps that make an object, and those that fill it."""
        kind = type(value)
        if isinstance(value, type):
            _check(value, _KNOWN, self._modules)
            self._add(value, "class", value.__module__, value.__qualname__)
        elif kind is list:
            self._add(value, "list")
            self._fill(value, items=value)
        elif kind is dict:
            self._add(value, "dict")
            self._fill(value, pairs=value.items())
        elif kind is tuple:
            self._add(value, "tuple", *map(self.put, value))
        elif kind in (set, frozenset):
            self._add(value, kind.__name__, *map(self.put, value))
        elif kind is bytearray:
            self._add(value, "bytearray", bytes(value))
        elif kind is complex:
            self._add(value, "complex", value.real, value.imag)
        elif kind is Fraction:
            self._add(value, "fraction", value.numerator, value.denominator)
        elif kind is np.ndarray:
            self._add(value, "array", *_laid_out(value))
        elif kind is Generator:
            self._add(value, "generator", self.put(value.bit_generator))
        elif isinstance(value, BitGenerator):
            self._add(
                value,
                "bit_generator",
                kind.__name__,
                self.put(value.state),
                self.put(value.seed_seq),
            )
        elif kind is SeedSequence:
            self._add(value, "seeds", self.put(value.state))
        else:
            self._reduce(value)

    def _reduce(self, value: Any) -> None:
        """Add the steps for an object that its class takes apart: as it is made, its state,
        its items.
        """
        if isinstance(value, Enum):
            self._add(value, "call", self.put(type(value)), self.put(value.value))
            return
        reduced = value.__reduce_ex__(_PROTOCOL)
        # a name, or a function of its own that sets the state
        if not isinstance(reduced, tuple) or len(reduced) > 5:
            raise _refused(value if hasattr(value, "__qualname__") else type(value), self._modules)
        parts: list[Any] = [*reduced, *[None] * (5 - len(reduced))]
        function, arguments, state, items, pairs = parts
        step = "call"
        if function is getattr(copyreg, "__newobj__"):  # noqa: B009 - not in typeshed
            step, (function, *arguments) = "new", arguments
        if not isinstance(function, type):
            raise _refused(function, self._modules)
        _check(function, _MADE, self._modules)
        self._add(value, step, self.put(function), *map(self.put, arguments))
        if state is not None or items is not None or pairs is not None:
            self._fill(value, state, items or (), pairs or ())

    def _add(self, value: Any, *step: Any) -> None:
        """Add the step that makes an object, and give the object its number."""
        if id(value) in self._numbers:
            raise ValueError(f"a {type(value).__name__} contains itself")
        self.steps.append(list(step))
        self._numbers[id(value)] = len(self._kept)
        self._kept.append(value)

    def _fill(
        self, value: Any, state: Any = None, items: Iterable[Any] = (), pairs: Iterable[Any] = ()
    ) -> None:
        """Add the step that fills an object, if there is anything to fill it with.

        Args:
            value: The object; the step that makes it was added before, because its content may
                refer to it.
            state: Its attributes, as `__reduce_ex__` returns them.
            items: The items of a list.
            pairs: The keys and values of a mapping.
        """
        number = self._numbers[id(value)]
        content = [self.put(state), [self.put(item) for item in items]]
        for key, item in pairs:
            content += [self.put(key), self.put(item)]
        if content != [None, []]:
            self.steps.append(["fill", number, *content])


class _Reader:
    """Makes the objects of a state, step by step."""

    def __init__(self, modules: Collection[str]) -> None:
        self._modules = modules
        self._made: list[Any] = []
        self._to_fill: set[int] = set()
        """Numbers of the objects that were made without their content."""

    def read(self, steps: Any) -> Any:
        """Follow the steps, and return the state."""
        for step, *content in steps:
            if step == "state":
                (state,) = content
                return self._get(state)
            if step == "fill":
                self._fill(*content)
                continue
            self._made.append(self._make(step, content))
        raise ValueError("it has no end")

    def _get(self, value: Any) -> Any:
        """Return a plain value, or the object that is referred to."""
        if type(value) is not list:
            if type(value) in _PLAIN or value is ABSENT or isinstance(value, np.generic):
                return value
            raise ValueError(f"a {type(value).__name__} is not allowed here")
        (number,) = value
        return self._made[self._number(number)]

    def _number(self, number: Any) -> int:
        if type(number) is not int or not 0 <= number < len(self._made):
            raise ValueError(f"there is no object {number!r} yet")
        return number

    def _make(self, step: str, content: list[Any]) -> Any:
        if step in ("list", "dict", "call", "new"):
            self._to_fill.add(len(self._made))
        if step == "array":
            return _array(*content)
        if step == "class":
            module, name = content
            return _find_name(module, name, self._modules)
        values = [self._get(item) for item in content]
        if step in _BUILT:
            return _BUILT[step](values)
        if step not in ("call", "new"):
            raise ValueError(f"there is no step {step!r}")
        cls, *arguments = values
        if not isinstance(cls, type):
            raise ValueError("only a class can be called")
        _check(cls, _MADE, self._modules)
        if step == "call":
            return cls(*arguments)
        return cls.__new__(cls, *arguments)

    def _fill(self, number: Any, state: Any, items: list[Any], *pairs: Any) -> None:
        """Give an object its state, its items, and its keys with their values, as a pickle does."""
        self._to_fill.remove(self._number(number))
        value = self._made[number]
        if items:
            value.extend([self._get(item) for item in items])
        for key, item in zip(pairs[::2], pairs[1::2], strict=True):
            value[self._get(key)] = self._get(item)
        state = self._get(state)
        if state is None:
            return
        if hasattr(value, "__setstate__"):
            value.__setstate__(state)
            return
        slots: Mapping[str, Any] = {}
        if isinstance(state, tuple):
            state, slots = state
        if state:
            vars(value).update(state)
        for name, item in slots.items():
            setattr(value, name, item)


def _check(cls: type, known: Collection[type], modules: Collection[str]) -> None:
    """Raise MinibrainsError unless a class is one of those that are known,
    or is defined under its name in one of the modules.
    """
    if cls not in known and _look_up(cls.__module__, cls.__qualname__, modules) is not cls:
        raise _refused(cls, modules)


def _find_name(module: Any, name: Any, modules: Collection[str]) -> type:
    for cls in _KNOWN:
        if (module, name) == (cls.__module__, cls.__qualname__):
            return cls
    found = _look_up(module, name, modules)
    if found is None:
        raise _refusal(f"{module}.{name}", modules)
    return found


def _look_up(module: Any, name: Any, modules: Collection[str]) -> type | None:
    """Return the class of a name that one of the modules defines, if it is imported."""
    if module in modules and module in sys.modules:
        found = vars(sys.modules[module]).get(name)
        if isinstance(found, type) and not issubclass(found, type) and found.__module__ == module:
            return found
    return None


def _refused(thing: Any, modules: Collection[str]) -> MinibrainsError:
    return _refusal(f"{thing.__module__}.{thing.__qualname__}", modules)


def _refusal(name: str, modules: Collection[str]) -> MinibrainsError:
    where = ", ".join(sorted(modules)) or "no module"
    return MinibrainsError(
        f"a snapshot cannot hold {name}; expected plain values, or classes defined in {where}"
    )


def _laid_out(array: Any) -> tuple[Any, tuple[int, ...]]:
    """Return an array in the order of memory, and its axes in that order:
    the last bits of sums depend on it.
    """
    axes = tuple(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))
    if array.flags.c_contiguous or not array.transpose(axes).flags.c_contiguous:
        axes = tuple(range(array.ndim))
    return array.transpose(axes), axes


def _array(array: Any, axes: tuple[int, ...]) -> Any:
    if type(array) is not np.ndarray:
        raise ValueError(f"expected an array, found a {type(array).__name__}")
    return array.copy().transpose([axes.index(axis) for axis in range(array.ndim)])


_BIT_GENERATORS: Final = {
    kind.__name__: kind for kind in (MT19937, PCG64, PCG64DXSM, SFC64, Philox)
}


def _bit_generator(name: str, state: Mapping[str, Any], seeds: SeedSequence) -> BitGenerator:
    """Restore a bit generator.

    Its position in its own buffer is checked, because NumPy would read beyond the end.
    """
    if not isinstance(seeds, SeedSequence):
        raise ValueError("a random generator needs the seeds it was made from")
    for position, end in ((state["state"].get("pos", 0), 624), (state.get("buffer_pos", 0), 4)):
        if type(position) is not int or not 0 <= position <= end:
            raise ValueError(f"a random generator cannot be at place {position!r}")
    made: BitGenerator = _BIT_GENERATORS[name](seeds)
    made.state = state
    return made


def _seed_sequence(state: Mapping[str, Any]) -> SeedSequence:
    if not 4 <= state["pool_size"] <= 1024:
        raise ValueError(f"a random generator cannot have a pool of {state['pool_size']} numbers")
    return SeedSequence(**state)


def _fraction(numerator: Any, denominator: Any) -> Fraction:
    if type(numerator) is not int or type(denominator) is not int:
        raise ValueError("a fraction is made from two whole numbers")
    return Fraction(numerator, denominator)


def _generator(bits: Any) -> Generator:
    if not isinstance(bits, BitGenerator):
        raise ValueError("a random generator needs a bit generator")
    return Generator(bits)


def _bytearray(data: Any) -> bytearray:
    if type(data) is not bytes:
        raise ValueError("a bytearray is made from bytes")
    return bytearray(data)


_BUILT: Final[Mapping[str, Callable[[list[Any]], Any]]] = {
    "list": lambda values: [],
    "dict": lambda values: {},
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "bytearray": lambda values: _bytearray(*values),
    "complex": lambda values: complex(*values),
    "fraction": lambda values: _fraction(*values),
    "generator": lambda values: _generator(*values),
    "bit_generator": lambda values: _bit_generator(*values),
    "seeds": lambda values: _seed_sequence(*values),
}
"""Steps that make an object of one type from values."""

_MADE: Final[frozenset[type]] = frozenset(
    {
        *(object, slice, random.Random, BrainRef),
        *(collections.deque, collections.OrderedDict, collections.Counter, collections.defaultdict),
    }
)
"""The classes that the steps `call` and `new` may make, besides those of the state's modules."""
_KNOWN: Final = _MADE | {bool, int, float, complex, list, tuple, dict, set, frozenset}
"""The classes that a state may refer to, such as the factory of a defaultdict. None of them can
open, import, or run anything."""
