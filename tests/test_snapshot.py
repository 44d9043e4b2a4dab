"""Snapshots: the state of every shipped node comes back, and a hostile one runs nothing."""

from __future__ import annotations

import copy
import fractions
import io
import os
import pickle
import random
import struct
import sys
import zlib
from collections import Counter, OrderedDict, defaultdict, deque
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_nodes_conform import CASES

from minibrains import ABSENT, Episode, MinibrainsError
from minibrains.loading import BrainRef
from minibrains.tape import snapshot
from minibrains.tape.snapshot import dump, load
from minibrains.testing import ScratchHost, check_node
from nodes.fighting import fighters, styles
from nodes.language.lora import Adapter

MODULES = {__name__, "nodes.fighting.fighters"}


class Pack:
    """A small class of a node pack."""

    def __init__(self, number: int) -> None:
        self.number = number


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


def wrap(pickled: bytes) -> bytes:
    """A pickle in the form of a snapshot, as an attacker makes it."""
    squeezed = zlib.compress(pickled)
    return zlib.crc32(squeezed).to_bytes(4, "little") + squeezed


@pytest.mark.parametrize("name", CASES)
def test_the_state_of_every_node_comes_back(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The conformance test, which goes back to the state of every tick, with snapshots in the place of pickle."""
    make, ticks = CASES[name]
    node = make()
    modules = {type(node).__module__}
    saved: list[bytes] = []

    def dumps(state: Any) -> bytes:
        saved.append(dump(state, modules))
        return saved[-1]

    monkeypatch.setattr("minibrains.testing.pickle", SimpleNamespace(dumps=dumps, loads=lambda data: load(data, modules)))
    check_node(node, *ticks, host=ScratchHost(tmp_path, "part", frame_rate=59.92))
    assert len(saved) == len(ticks)


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
    state = {
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
    assert [type(number) for number in back["numbers"]] == [type(number) for number in state["numbers"]]


def test_arrays_lie_in_memory_as_before_and_can_be_written() -> None:
    whole = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for array in (whole, np.asfortranarray(whole), whole.transpose(2, 0, 1), np.array(3.0), np.zeros((0, 3), bool)):
        back = load(dump(array, ()), ())
        assert np.array_equal(back, array)
        assert (back.dtype, back.strides) == (array.dtype, array.strides)
        assert back.flags.writeable
    assert np.array_equal(load(dump(whole[:, ::2, ::-1], ()), ()), whole[:, ::2, ::-1])


@pytest.mark.parametrize("kind", snapshot._BIT_GENERATORS.values())
def test_random_generators_go_on(kind: Any) -> None:
    state = {"a": np.random.Generator(kind([1, 2, 3])), "python": random.Random(4)}
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
        print, a_function, lambda: 0, random.Random(1).random, sys, Meta, Outer.Inner(), Outer.Inner, Path("a"), partial(print),
        np.random.RandomState(1), np.ma.masked_array([1]), np.array([None]), np.dtype("u1"), iter([1]), range(3),
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


def _attack(function: Any, *arguments: Any) -> bytes:
    return pickle.dumps(Reduces(function, *arguments), 5)


def _named(module: str, name: str, *arguments: Any) -> bytes:
    """A pickle that calls what stands under a name, whether or not it is there."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file, 5)
    pickler.dump(arguments)
    inner = file.getvalue()[2:-1]  # without PROTO and STOP
    text = b"".join(b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name))
    return b"\x80\x05" + text + b"\x93" + inner + b"R."


REFUSED_NAMES = {
    "os.system": _attack(os.system, "true"),
    "posix.system": _named("posix", "system", "true"),
    "subprocess.Popen": _named("subprocess", "Popen", "true"),
    "eval": _attack(eval, "1"),
    "exec": _attack(exec, "1"),
    "open": _attack(open, "/etc/passwd"),
    "getattr": _attack(getattr, [], "append"),
    "__import__": _attack(__import__, "antigravity"),
    "type": _attack(type, "X", (), {}),
    "a dotted name": _named(__name__, "os.system", "true"),
    "a class within a class": _named(__name__, "Outer.Inner"),
    "a method": _named(__name__, "Pack.__init__"),
    "a function of an allowed module": _named(__name__, "a_function"),
    "a module in an allowed module": _named(__name__, "os"),
    "a class imported into an allowed module": _named(__name__, "Path", "a"),
    "a class of classes": _named(__name__, "Meta", "X", (), {}),
    "a module that is not allowed": _named("nodes.recording.output", "Log"),
    "a module that is not imported": _named("antigravity", "geohash"),
    "numpy.load": _attack(np.load, "/etc/passwd"),
    "numpy.fromfile": _attack(np.fromfile, "/etc/passwd"),
    "numpy.memmap": _attack(np.memmap, "/etc/passwd"),
    "numpy's own reconstructor": pickle.dumps(np.zeros((2, 3))[:, ::2], 5),
    "numpy.dtype": pickle.dumps(np.dtype("O"), 5),
    "copyreg": _named("copyreg", "_reconstructor", Pack, object, None),
    "operator.attrgetter": _named("operator", "attrgetter", "x"),
    "functools.partial": _named("functools", "partial", 1),
    "the codec": _named("minibrains.codec", "unpack", b""),
    "pickle": _named("pickle", "loads", b""),
}


@pytest.mark.parametrize("name", REFUSED_NAMES)
def test_a_name_that_no_state_needs_is_refused(name: str) -> None:
    with pytest.raises(MinibrainsError, match=r"a snapshot cannot hold \S+\.\S+; expected plain values, or classes defined in"):
        load(wrap(REFUSED_NAMES[name]), MODULES)
    assert "antigravity" not in sys.modules


BROKEN = {
    "nothing": b"",
    "no end": pickle.dumps([1, 2], 5)[:-1],
    "no pickle": b"junk",
    "a pickle of another protocol": pickle.dumps(deque(), 0),
    "a name in the old way": b"cos\nsystem\n(S'true'\ntR.",
    "an instance in the old way": b"(S'true'\nios\nsystem\n.",
    "an extension": b"\x80\x05\x82\x01.",
    "a persistent id": b"\x80\x05\x8c\x01xQ.",
    "a place far out in the memo": b"\x80\x05]r\xff\xff\xff\x7f.",
    "an unknown place in the memo": b"\x80\x05h\x05.",
    "a buffer from outside": b"\x80\x05\x97.",
    "a length beyond the data": b"\x80\x05\x8e" + struct.pack("<Q", 1 << 40) + b"x.",
    "an empty stack": b"\x80\x050.",
    "a call of what is no function": b"\x80\x05]\x85R.",
    "a state for what has none": b"\x80\x05]K\x01b.",
    "wrong arguments": _named("collections", "deque", 1, 2, 3),
    "a class that raises": _named("random", "Random", [], []),
    "an array of nothing": _named("minibrains.tape.snapshot", "_array", b"", ()),
    "a list as array": _named("minibrains.tape.snapshot", "_array", snapshot.pack([1]), ()),
    "wrong axes": _named("minibrains.tape.snapshot", "_array", snapshot.pack(np.zeros(3)), (5,)),
    "an unknown generator": _named("minibrains.tape.snapshot", "_bit_generator", "X", {"state": {}}, None),
    "seeds of another kind": _named("minibrains.tape.snapshot", "_bit_generator", "PCG64", {"state": {}}, 1),
    "a pool too large": _named("minibrains.tape.snapshot", "_seed_sequence", {"entropy": 1, "pool_size": 1 << 40}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_snapshot_gives_one_sentence(name: str) -> None:
    with pytest.raises(MinibrainsError, match=r"^the snapshot cannot be restored: .+"):
        load(wrap(BROKEN[name]), MODULES)


@pytest.mark.parametrize(("kind", "path"), [("MT19937", ("state", "pos")), ("Philox", ("buffer_pos",))])
def test_a_generator_outside_of_its_buffer_is_refused(kind: str, path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    good = getattr(np.random, kind)(1)
    for place in (-1, 10**6, 1.5):
        state = copy.deepcopy(good.state)
        inner = state[path[0]] if len(path) == 2 else state
        inner[path[-1]] = place
        monkeypatch.setattr(snapshot._Pickler, "reducer_override", _reduce_with(state))
        data = dump(good, ())
        monkeypatch.undo()
        with pytest.raises(MinibrainsError, match=f"a random generator cannot be at place {place}"):
            load(data, ())


def _reduce_with(state: Any) -> Any:
    kept = snapshot._Pickler.reducer_override

    def reduce(self: Any, value: Any) -> Any:
        if isinstance(value, np.random.BitGenerator):
            return snapshot._bit_generator, (type(value).__name__, state, value.seed_seq)
        return kept(self, value)

    return reduce


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "LARGEST", 1 << 20)
    bomb = wrap(pickle.dumps(bytes(1 << 26), 5))
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
    for length in range(len(data) - 4):  # cut by somebody who knows about the checksum
        squeezed = data[4 : 4 + length]
        with pytest.raises(MinibrainsError, match="the snapshot cannot be restored"):
            load(zlib.crc32(squeezed).to_bytes(4, "little") + squeezed, ())


def test_random_damage_to_the_pickle_itself_gives_a_value_or_a_sentence() -> None:
    state = {"a": deque([1, 2]), "b": np.arange(5), "c": random.Random(1), "d": Pack(3), "e": np.random.default_rng(1)}
    pickled = zlib.decompress(dump(state, MODULES)[4:])
    dice = random.Random(0)
    refused = 0
    for _ in range(3000):
        damaged = bytearray(pickled)
        for _ in range(dice.randint(1, 3)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            load(wrap(bytes(damaged)), MODULES)
        except MinibrainsError:
            refused += 1
    assert refused
