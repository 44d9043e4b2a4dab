"""Snapshots of node states: restricted pickles that cannot contain, or create, anything that runs code.

A state may hold plain values, collections, NumPy arrays and generators, random.Random, and objects of classes
that are defined in named modules, those of the plan's nodes. A function is never among them.
"""

from __future__ import annotations

import builtins
import collections
import fractions
import io
import pickle
import pickletools
import random
import sys
import zlib
from collections.abc import Collection, Mapping
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import numpy as np
from numpy.random import MT19937, PCG64, PCG64DXSM, SFC64, BitGenerator, Generator, Philox, SeedSequence

from minibrains.annotations import Absent
from minibrains.codec import pack, unpack
from minibrains.errors import MinibrainsError
from minibrains.loading import BrainRef

LARGEST: Final = 1 << 30
"""Largest size of a state in bytes, before compression."""
_CRC: Final = 4
_OPCODES: Final = {
    "PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "MEMOIZE", "BINGET", "LONG_BINGET", "NONE", "NEWTRUE", "NEWFALSE",
    "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8",
    "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "EMPTY_LIST", "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1",
    "TUPLE2", "TUPLE3", "EMPTY_DICT", "SETITEM", "SETITEMS", "EMPTY_SET", "ADDITEMS", "FROZENSET", "STACK_GLOBAL", "NEWOBJ",
    "NEWOBJ_EX", "REDUCE", "BUILD",
}  # fmt: skip
"""The opcodes that protocol 5 writes. The others look names up in other ways, or refer to unfilled places in the memo."""


def dump(state: Any, modules: Collection[str]) -> bytes:
    """Encode a state. Raises MinibrainsError if it contains what `load` with the same modules would refuse."""
    file = io.BytesIO()
    try:
        _Pickler(file, modules).dump(state)
    except MinibrainsError:
        raise
    except Exception as error:  # a class's own pickling code may raise anything
        raise MinibrainsError(f"the state cannot be kept in a snapshot: {error or type(error).__name__}") from error
    if file.tell() > LARGEST:
        raise MinibrainsError(f"the state cannot be kept in a snapshot: it has more than {LARGEST} bytes")
    squeezed = zlib.compress(file.getbuffer(), 1)
    return zlib.crc32(squeezed).to_bytes(_CRC, "little") + squeezed


def load(data: bytes, modules: Collection[str]) -> Any:
    """Decode a state, with objects of classes defined in `modules`, which must be imported already.

    Raises MinibrainsError on any other bytes.
    """
    squeezed = data[_CRC:]
    if zlib.crc32(squeezed).to_bytes(_CRC, "little") != data[:_CRC]:
        raise MinibrainsError("the snapshot is damaged: its checksum is wrong")
    try:
        inflate = zlib.decompressobj()
        pickled = inflate.decompress(squeezed, LARGEST + 1)
        if len(pickled) > LARGEST:
            raise ValueError(f"it has more than {LARGEST} bytes")
        if not inflate.eof or inflate.unused_data:
            raise ValueError("it is not whole")
        for opcode, _, _ in pickletools.genops(pickled):
            if opcode.name not in _OPCODES:
                raise ValueError(f"it uses {opcode.name}, which no snapshot needs")
        return _Unpickler(io.BytesIO(pickled), modules).load()
    except MinibrainsError:
        raise
    except Exception as error:  # a hostile pickle may raise anything
        raise MinibrainsError(f"the snapshot cannot be restored: {error or type(error).__name__}") from error


class _Pickler(pickle.Pickler):
    """Replaces objects that a function of another module would restore, and names nothing that _Unpickler refuses."""

    def __init__(self, file: io.BytesIO, modules: Collection[str]) -> None:
        super().__init__(file, 5)
        self._modules = modules

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            if _find(value.__module__, value.__qualname__, self._modules) is not value:
                raise MinibrainsError(f"the state cannot be kept in a snapshot: its module has another {value.__qualname__}")
            return NotImplemented
        if type(value) is np.ndarray or isinstance(value, np.generic):
            return _array, _laid_out(value)
        if isinstance(value, Enum):
            return type(value), (value.value,)
        if isinstance(value, BitGenerator):
            return _bit_generator, (type(value).__name__, value.state, value.seed_seq)
        if type(value) is Generator:
            return Generator, (value.bit_generator,)
        if type(value) is SeedSequence:
            return _seed_sequence, (value.state,)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, modules: Collection[str]) -> None:
        super().__init__(file)
        self._modules = modules

    def find_class(self, module: str, name: str) -> Any:
        return _find(module, name, self._modules)


def _find(module: str, name: str, modules: Collection[str]) -> Any:
    known = _KNOWN.get((module, name))
    if known is not None:
        return known
    if module in modules and module in sys.modules:
        found = vars(sys.modules[module]).get(name)
        if isinstance(found, type) and not issubclass(found, type) and found.__module__ == module:
            return found
    where = ", ".join(sorted(modules)) or "no module"
    raise MinibrainsError(f"a snapshot cannot hold {module}.{name}; expected plain values, or classes defined in {where}")


def _laid_out(array: Any) -> tuple[bytes, tuple[int, ...]]:
    """Return an array's bytes in the order of memory, and its axes in that order: the last bits of sums depend on it."""
    axes = tuple(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))
    if array.flags.c_contiguous or not array.transpose(axes).flags.c_contiguous:
        axes = tuple(range(array.ndim))
    return pack(array.transpose(axes)), axes


def _array(data: bytes, axes: tuple[int, ...]) -> Any:
    array = unpack(data)
    if isinstance(array, np.generic):
        return array
    if type(array) is not np.ndarray:
        raise ValueError(f"a {type(array).__name__} stands in the place of an array")
    return array.copy().transpose([axes.index(axis) for axis in range(array.ndim)])


_BIT_GENERATORS: Final = {kind.__name__: kind for kind in (MT19937, PCG64, PCG64DXSM, SFC64, Philox)}


def _bit_generator(name: str, state: Mapping[str, Any], seeds: SeedSequence) -> BitGenerator:
    """Restore a bit generator. Its position in its own buffer is checked, because NumPy would read beyond the end."""
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


_KNOWN: Final[Mapping[tuple[str, str], Any]] = {
    (thing.__module__, thing.__qualname__): thing
    for thing in (
        *(builtins.bool, builtins.int, builtins.float, builtins.complex, builtins.object, builtins.slice),
        *(builtins.list, builtins.tuple, builtins.dict, builtins.set, builtins.frozenset),  # factories of a defaultdict
        *(collections.deque, collections.OrderedDict, collections.Counter, collections.defaultdict),
        *(fractions.Fraction, random.Random, Absent, BrainRef, Generator),
        *(_array, _bit_generator, _seed_sequence),
    )
} | {("minibrains.node", "Absent"): Absent}  # its module when older tapes were written
"""The names that a state may contain besides the classes of its modules. None of these can open, import, or run anything."""
