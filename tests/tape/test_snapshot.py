"""Snapshots: what is saved comes back, and a hostile one runs nothing.

tests/nodes/test_conform.py brings back the state of every shipped node.
"""

from __future__ import annotations

import copy
import fractions
import os
import pickle
import random
import sys
import zlib
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from minibrains import ABSENT, Episode, MinibrainsError
from minibrains.codec import pack
from minibrains.loading import BrainRef
from minibrains.tape import snapshot
from minibrains.tape.snapshot import dump, load
from nodes.fighting import fighters, styles
from nodes.language.lora import Adapter

MODULES = {__name__, "nodes.fighting.fighters"}


class Pack:
    """A small class of a node pack."""

    def __init__(self, number: int) -> None:
        self.number = number


class Color(Enum):
    RED = (255, 0)
    BLUE = (0, 255)


class Named(NamedTuple):
    left: Any
    right: Any


@dataclass(slots=True)
class Slotted:
    content: Any


@dataclass(frozen=True, slots=True)
class Frozen:
    content: Any


class Row(list[Any]):
    """A list with an attribute."""

    name = ""


class Table(dict[Any, Any]):
    def __getstate__(self) -> Any:
        return {"size": len(self)}

    def __setstate__(self, state: Any) -> None:
        self.size = state["size"]


class Reduces:
    """Pickled as a call of what it was given."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


class Meta(type):
    pass


class Outer:
    class Inner:
        pass


def a_function() -> None:
    raise AssertionError("it was called")


def wrap(packed: bytes) -> bytes:
    """The inside of a snapshot in its outer form, as an attacker makes it."""
    squeezed = zlib.compress(packed)
    return b"MBS1" + zlib.crc32(squeezed).to_bytes(4, "little") + squeezed


def snapshot_of(*steps: Any) -> bytes:
    """A snapshot of these steps, whose state is the object that was made last."""
    made = sum(step[0] != "fill" for step in steps)
    return wrap(pack([*map(list, steps), ["state", [made - 1]]]))


def test_an_adapter_on_its_link_comes_back() -> None:
    link = Adapter(BrainRef("a.safetensors", "0" * 64), 0.5, "a model", "1" * 64)
    assert load(dump(link, {"nodes.language.lora"}), {"nodes.language.lora"}) == link


def test_a_fighter_may_go_on_in_another_process_with_its_style_changed() -> None:
    fighter = fighters.ScriptedFighter(style="zoner", late=2)
    fighter.reset(Episode(0, 0, "fighter"))
    other = fighters.ScriptedFighter(style="grappler", late=2)
    other.load_state(fighter.state())
    assert other.player.rules == styles.STYLES["grappler"]


def test_collections_numbers_and_objects_come_back() -> None:
    shared = np.zeros(3)
    state: dict[str, Any] = {
        "deque": deque([1, (2, "x")], 3),
        "counts": Counter("aab"),
        "ordered": OrderedDict(a=1),
        "default": defaultdict(list, a=[1]),
        "sets": ({1, 2}, frozenset([3])),
        "bytes": (b"x", bytearray(b"y")),
        "numbers": (1j, 2**3000, -0.5, fractions.Fraction(1, 3), np.float32(0.1), np.int64(-1)),
        "absent": ABSENT,
        "nested": [[(None, True)]],
    }
    back = load(dump({**state, "pack": Pack(7), "ring": [shared] * 4}, MODULES), MODULES)
    assert back.pop("pack").number == 7
    ring = back.pop("ring")
    assert all(array is ring[0] for array in ring)
    assert back == state
    assert back["deque"].maxlen == 3
    assert back["absent"] is ABSENT
    assert [type(number) for number in back["numbers"]] == [
        type(number) for number in state["numbers"]
    ]


def test_objects_of_the_modules_come_back_whatever_their_kind() -> None:
    row = Row([1, [2]])
    row.name = "first"
    state = [Color.BLUE, Named(1, Frozen({3})), Slotted([4]), row, Table(a=1), Pack, slice(1, None)]
    back = load(dump(state, MODULES), MODULES)
    assert back[0] is Color.BLUE
    assert back[1] == state[1]
    assert back[2] == state[2]
    assert (type(back[3]), back[3], back[3].name) == (Row, row, "first")
    assert (type(back[4]), back[4], back[4].size) == (Table, {"a": 1}, 1)
    assert back[5:] == [Pack, slice(1, None)]


def test_what_objects_share_they_share_again_even_in_a_circle() -> None:
    pack = Pack(1)
    ring: list[Any] = [pack]
    ring.append(ring)
    pack.number = ring  # type: ignore[assignment]
    back = load(
        dump({"ring": ring, "pack": pack, "key": {("a", frozenset([1])): pack}}, MODULES), MODULES
    )
    assert back["ring"][1] is back["ring"]
    assert back["ring"][0] is back["pack"] is back["key"]["a", frozenset([1])]
    assert back["pack"].number is back["ring"]
    itself: tuple[list[Any]] = ([],)
    itself[0].append(itself)
    with pytest.raises(
        MinibrainsError, match="cannot be kept in a snapshot: a tuple contains itself"
    ):
        dump(itself, MODULES)


def test_arrays_lie_in_memory_as_before_and_can_be_written() -> None:
    whole = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for array in (
        whole,
        np.asfortranarray(whole),
        whole.transpose(2, 0, 1),
        np.array(3.0),
        np.zeros((0, 3), bool),
    ):
        back = load(dump(array, ()), ())
        assert np.array_equal(back, array)
        assert (back.dtype, back.strides) == (array.dtype, array.strides)
        assert back.flags.writeable
    assert np.array_equal(load(dump(whole[:, ::2, ::-1], ()), ()), whole[:, ::2, ::-1])


@pytest.mark.parametrize("kind", snapshot._BIT_GENERATORS.values())
def test_random_generators_go_on(kind: Any) -> None:
    state: dict[str, Any] = {"a": np.random.Generator(kind([1, 2, 3])), "python": random.Random(4)}
    state["a"].random(700)
    state["a"].integers(2**31, dtype=np.int32)
    state["a"].spawn(1)
    state["python"].gauss()
    state["b"] = state["a"]
    back = load(dump(state, ()), ())
    assert back["a"] is back["b"]
    assert back["a"].random(1000).tolist() == state["a"].random(1000).tolist()
    assert back["a"].spawn(2)[1].random() == state["a"].spawn(2)[1].random()
    assert [back["python"].gauss() for _ in range(3)] == [state["python"].gauss() for _ in range(3)]


@pytest.mark.parametrize(
    "value",
    [
        print, a_function, lambda: 0, random.Random(1).random, sys, Meta, Outer.Inner(),
        Outer.Inner, Path("a"), partial(print), np.random.RandomState(1), np.ma.masked_array([1]),
        np.array([None]), np.dtype("u1"), iter([1]), range(3),
        Reduces(os.getpid),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_could_not_be_loaded_is_refused_when_it_is_kept(value: Any) -> None:
    with pytest.raises(MinibrainsError, match=r"a snapshot"):
        dump({"x": value}, MODULES)


def test_a_state_nested_without_end_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(MinibrainsError, match=r"cannot be kept in a snapshot: .*recursion"):
        dump(deep, ())


REFUSED_NAMES = {
    "os.system": ("posix", "system"),
    "subprocess.Popen": ("subprocess", "Popen"),
    "eval": ("builtins", "eval"),
    "open": ("io", "open"),
    "getattr": ("builtins", "getattr"),
    "__import__": ("builtins", "__import__"),
    "type": ("builtins", "type"),
    "a dotted name": (__name__, "os.system"),
    "a class within a class": (__name__, "Outer.Inner"),
    "a method": (__name__, "Pack.__init__"),
    "a function of an allowed module": (__name__, "a_function"),
    "a module in an allowed module": (__name__, "os"),
    "a class imported into an allowed module": (__name__, "Path"),
    "a class of classes": (__name__, "Meta"),
    "a module that is not allowed": ("nodes.recording.output", "Log"),
    "a module that is not imported": ("antigravity", "geohash"),
    "numpy.memmap": ("numpy", "memmap"),
    "numpy.dtype": ("numpy", "dtype"),
    "a generator of NumPy": ("numpy.random._generator", "Generator"),
    "operator.attrgetter": ("operator", "attrgetter"),
    "functools.partial": ("functools", "partial"),
    "the codec": ("minibrains.codec", "unpack"),
    "pickle": ("_pickle", "Unpickler"),
}


@pytest.mark.parametrize("name", REFUSED_NAMES)
@pytest.mark.parametrize("step", ["call", "new"])
def test_a_name_that_no_state_needs_is_refused(step: str, name: str) -> None:
    with pytest.raises(
        MinibrainsError,
        match=r"a snapshot cannot hold \S+\.\S+; expected plain values, or classes defined in",
    ):
        load(snapshot_of(("class", *REFUSED_NAMES[name]), (step, [0], "true")), MODULES)
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    "name", ["bool", "int", "float", "complex", "list", "tuple", "dict", "set", "frozenset"]
)
@pytest.mark.parametrize("step", ["call", "new"])
def test_a_factory_is_referred_to_but_not_called(step: str, name: str) -> None:
    with pytest.raises(MinibrainsError, match=rf"a snapshot cannot hold builtins\.{name}"):
        load(snapshot_of(("class", "builtins", name), (step, [0])), MODULES)


RANDOM = ("class", "random", "Random")
DEQUE = ("class", "collections", "deque")
PACK = ("class", __name__, "Pack")
BROKEN = {
    "nothing": b"",
    "no MessagePack": b"\xc1",
    "a pickle": pickle.dumps([1, 2], 5),
    "no steps": pack(3),
    "a step that is none": pack([3]),
    "no end": pack([["list"]]),
    "an end without a state": pack([["state"]]),
    "an unknown step": snapshot_of(("eval", "1")),
    "an object that is not made yet": snapshot_of(("tuple", [0])),
    "a negative number": snapshot_of(("list",), ("tuple", [-1])),
    "a number that is none": snapshot_of(("list",), ("tuple", [True])),
    "two numbers": snapshot_of(("list",), ("tuple", [0, 0])),
    "a tuple in the place of a value": snapshot_of(("tuple", (1, 2))),
    "a mapping in the place of a value": snapshot_of(("tuple", {"a": 1})),
    "an array in the place of a value": snapshot_of(("tuple", np.zeros(3))),
    "a call of what is not a class": snapshot_of(("list",), ("call", [0])),
    "a call of nothing": snapshot_of(("call",)),
    "a call of a text": snapshot_of(("call", "os.system", "true")),
    "a list filled twice": snapshot_of(("list",), ("fill", 0, None, [1]), ("fill", 0, None, [1])),
    "a tuple that is filled": snapshot_of(("tuple",), ("fill", 0, None, [1])),
    "a class that is filled": snapshot_of(PACK, ("tuple",), ("fill", 0, [1], [])),
    "a state for what has none": snapshot_of(("list",), ("fill", 0, 1, [])),
    "a state that is not a mapping": snapshot_of(PACK, ("new", [0]), ("fill", 1, 3, [])),
    "items for what has none": snapshot_of(PACK, ("new", [0]), ("fill", 1, None, [3])),
    "a key without a value": snapshot_of(("dict",), ("fill", 0, None, [], "a")),
    "a key that cannot be one": snapshot_of(("list",), ("dict",), ("fill", 1, None, [], [0], 1)),
    "a set of lists": snapshot_of(("list",), ("set", [0])),
    "wrong arguments": snapshot_of(DEQUE, ("call", [0], 1, 2, 3)),
    "a class that raises": snapshot_of(RANDOM, ("list",), ("call", [0], [1], [1])),
    "a random generator of nothing": snapshot_of(
        RANDOM, ("call", [0]), ("tuple", 3, 4), ("fill", 1, [2], [])
    ),
    "a bytearray of a number": snapshot_of(("bytearray", 1 << 40)),
    "a fraction of a text": snapshot_of(("fraction", "1e999999999", 1)),
    "an array of nothing": snapshot_of(("array", b"", ())),
    "a list as array": snapshot_of(("array", [1], ())),
    "wrong axes": snapshot_of(("array", np.zeros(3), (5,))),
    "an unknown generator": snapshot_of(("dict",), ("bit_generator", "X", [0], None)),
    "a generator of a list": snapshot_of(("list",), ("generator", [0])),
    "seeds of another kind": snapshot_of(("dict",), ("bit_generator", "PCG64", [0], 1)),
    "a pool too large": snapshot_of(
        ("dict",), ("fill", 0, None, [], "entropy", 1, "pool_size", 1 << 40), ("seeds", [0])
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_snapshot_gives_one_sentence(name: str) -> None:
    data = BROKEN[name]
    if not data.startswith(b"MBS1"):
        data = wrap(data)
    with pytest.raises(MinibrainsError, match=r"^the snapshot cannot be restored: .+"):
        load(data, MODULES)


def test_a_snapshot_of_an_older_version_is_none() -> None:
    squeezed = zlib.compress(pickle.dumps([1, 2], 5))
    data = zlib.crc32(squeezed).to_bytes(4, "little") + squeezed
    assert not snapshot.is_snapshot(data)
    with pytest.raises(MinibrainsError, match="the snapshot is damaged"):
        load(data, ())


@pytest.mark.parametrize(
    ("kind", "path"), [("MT19937", ("state", "pos")), ("Philox", ("buffer_pos",))]
)
def test_a_generator_outside_of_its_buffer_is_refused(kind: str, path: tuple[str, ...]) -> None:
    good = getattr(np.random, kind)(1)
    for place in (-1, 10**6, 1.5):
        state = copy.deepcopy(good.state)
        inner = state[path[0]] if len(path) == 2 else state
        inner[path[-1]] = place
        writer = snapshot._Writer(())
        made = [writer.put(state), writer.put(good.seed_seq)]
        with pytest.raises(MinibrainsError, match=f"a random generator cannot be at place {place}"):
            load(snapshot_of(*writer.steps, ("bit_generator", kind, *made)), ())


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "LARGEST", 1 << 20)
    bomb = wrap(pack(bytes(1 << 26)))
    assert len(bomb) < 1 << 17
    with pytest.raises(MinibrainsError, match="it has more than 1048576 bytes"):
        load(bomb, ())
    with pytest.raises(MinibrainsError, match="it has more than 1048576 bytes"):
        dump(bytes(1 << 21), ())


def test_a_snapshot_cut_or_damaged_anywhere_gives_one_sentence() -> None:
    data = dump({"a": [1, 2, deque([3])], "b": np.arange(5)}, ())
    for length in range(len(data)):
        with pytest.raises(MinibrainsError, match="the snapshot is damaged"):
            load(data[:length], ())
        damaged = bytearray(data)
        damaged[length] ^= 0x10
        with pytest.raises(MinibrainsError, match="the snapshot is damaged"):
            load(bytes(damaged), ())
    for length in range(len(data) - 8):  # cut by somebody who knows about the checksum
        squeezed = data[8 : 8 + length]
        with pytest.raises(MinibrainsError, match="the snapshot cannot be restored"):
            load(b"MBS1" + zlib.crc32(squeezed).to_bytes(4, "little") + squeezed, ())


def test_random_damage_to_the_steps_themselves_gives_a_value_or_a_sentence() -> None:
    state = {
        "a": deque([1, 2]),
        "b": np.arange(5),
        "c": random.Random(1),
        "d": Pack(3),
        "e": np.random.default_rng(1),
    }
    packed = zlib.decompress(dump(state, MODULES)[8:])
    dice = random.Random(0)
    refused = 0
    for _ in range(3000):
        damaged = bytearray(packed)
        for _ in range(dice.randint(1, 3)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            load(wrap(bytes(damaged)), MODULES)
        except MinibrainsError:
            refused += 1
    assert refused
