"""Brain files: what is saved comes back, and no file, however broken,
does more than raise one BrainError.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import pickle
import re
import resource
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minibrains import Brain, BrainError, setting, tensor
from minibrains.brain_file import read_header
from minibrains.files import bundled_dir, find_inside, write_atomic
from minibrains.graph.catalog import node_types
from minibrains.sockets import DTYPES
from minibrains.tensors import as_array, as_tensor
from tests.support.json_values import mutate

SHIPPED = sorted(bundled_dir("models").glob("**/*.safetensors"))


NODES, _ = node_types(packs=False)  # imports all of nodes/


def kinds() -> dict[str, type[Brain]]:
    """Every kind of brain that a module in nodes/ declares."""

    def subclasses(cls: type[Brain]) -> Iterator[type[Brain]]:
        for sub in cls.__subclasses__():
            yield sub
            yield from subclasses(sub)

    ours = [cls for cls in subclasses(Brain) if cls.__module__.startswith("nodes.")]
    by_kind = {cls.kind: cls for cls in ours}
    assert len(by_kind) == len(ours), "two classes are of the same kind"
    return by_kind


KINDS = kinds()
fuzz = settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
"""Few examples of each kind of brain, because there are many."""


class Little(Brain):
    """A brain with a bit of everything, small enough to be broken in every place."""

    kind = "little"
    version = 2
    gain: np.ndarray = tensor("f32[n]")
    table: np.ndarray = tensor("u8[n m]")
    name: str = setting()
    limit: int = setting(3)

    def check(self, where: str) -> None:
        if (self.gain < 0).any():
            raise BrainError(f"{where}: gain must not be negative")


def make_little() -> Little:
    return Little(
        gain=np.array([1, 2], np.float32),
        table=np.array([[1, 2, 3], [4, 5, 6]], np.uint8),
        name="ü",
        limit=7,
    )


def write_little(path: Path) -> str:
    return make_little().save(
        path, title="Little", made_by="a test", parents=["ab"], metrics={"score": 1.5}
    )


# -- what is saved comes back ----------------------------------------------------------------------


def test_every_kind_of_brain_has_one_that_is_shipped() -> None:
    assert {read_header(path).kind for path in SHIPPED} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_class_of_a_brain_is_named_after_its_kind(kind: str) -> None:
    """In CamelCase; an acronym may be in capitals, and `Brain` be appended.

    No node has the name.
    """
    words = [f"({word.capitalize()}|{word.upper()})" for word in kind.split("_")]
    name = KINDS[kind].__name__
    assert re.fullmatch(f"{''.join(words)}(Brain)?", name)
    assert name not in {cls.__name__ for cls in NODES.values()}


@pytest.mark.parametrize("path", SHIPPED, ids=str)
def test_a_shipped_brain_is_in_the_folder_of_its_kind(path: Path) -> None:
    assert path.relative_to(bundled_dir("models")).parts == (read_header(path).kind, path.name)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_shipped_brain_saved_again_is_the_same_file(path: Path, tmp_path: Path) -> None:
    header = read_header(path)
    brain = KINDS[header.kind or ""].load(path)
    ours = ("minibrains.kind", "minibrains.version", "config")
    people = {name: text for name, text in header.metadata.items() if name not in ours}
    digests = {brain.save(tmp_path / name, **people) for name in ("first", "again")}
    for copy_ in (tmp_path / "first", tmp_path / "again"):
        assert copy_.read_bytes() == path.read_bytes()
        loaded = type(brain).load(copy_)
        assert (loaded.config, loaded.sizes, loaded.tensors.keys()) == (
            brain.config,
            brain.sizes,
            brain.tensors.keys(),
        )
        for name, array in brain.tensors.items():
            assert np.array_equal(loaded.tensors[name], array), name
    assert digests == {hashlib.sha256(path.read_bytes()).hexdigest()}


def test_a_saved_brain_is_a_safetensors_file_with_readable_metadata(tmp_path: Path) -> None:
    digest = write_little(tmp_path / "little")
    header = read_header(tmp_path / "little")
    assert digest == hashlib.sha256((tmp_path / "little").read_bytes()).hexdigest()
    assert (header.kind, header.version, header.config) == ("little", 2, {"name": "ü", "limit": 7})
    assert header.metadata["metrics"] == '{"score": 1.5}'
    assert {name: str(info) for name, info in header.tensors.items()} == {
        "gain": "f32[2]",
        "table": "u8[2 3]",
    }
    assert safetensors.numpy.load_file(tmp_path / "little")["table"].tolist() == [
        [1, 2, 3],
        [4, 5, 6],
    ]


@pytest.mark.parametrize("map_from", [0, 2**40], ids=["mapped", "read"])
def test_a_brain_cannot_be_written_to(
    map_from: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minibrains.brain.MAP_FROM", map_from)
    write_little(tmp_path / "little")
    for little in (Little.load(tmp_path / "little"), make_little()):
        assert (little.table.tolist(), little.name, little.sizes["m"]) == (
            [[1, 2, 3], [4, 5, 6]],
            "ü",
            3,
        )
        with pytest.raises(ValueError, match="read-only"):
            little.gain[0] = 5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3)], ids=str)
def test_tensors_of_every_dtype_and_rank_come_back(
    dtype: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    class Holder(Brain):
        kind = "holder"
        value: np.ndarray = tensor(f"{dtype}[{' '.join('abc'[: len(shape)])}]")

    value = np.arange(np.prod(shape)).reshape(shape).astype(DTYPES[dtype])
    Holder(value=value.T.copy().T).save(tmp_path / "holder", title="t", made_by="test")
    loaded = Holder.load(tmp_path / "holder").value
    assert (loaded.dtype, loaded.shape, loaded.tolist()) == (value.dtype, shape, value.tolist())
    assert str(read_header(tmp_path / "holder").tensors["value"]).startswith(f"{dtype}[")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3, 2)], ids=str)
def test_torch_reads_and_gives_back_tensors_of_every_dtype(
    dtype: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    """What torch itself writes and reads is the measure."""

    class Holder(Brain):
        kind = "holder"
        value: np.ndarray = tensor(f"{dtype}[{' '.join('ab'[: len(shape)])}]")

    names = {"bf16": "bfloat16", "bool": "bool", "u": "uint", "i": "int", "f": "float"}
    name = names.get(dtype) or names[dtype[0]] + dtype[1:]
    value = torch.arange(torch.Size(shape).numel()).reshape(shape).to(getattr(torch, name))
    path, metadata = tmp_path / "holder", {"minibrains.kind": "holder"}
    safetensors.torch.save_file({"value": value}, path, metadata)
    holder = Holder.load(path)
    assert torch.equal(as_tensor(holder.value), value)
    Holder(value=as_array(value)).save(path, title="t", made_by="test")
    assert torch.equal(safetensors.torch.load_file(path)["value"], value)


# A header may have any length, also one whose first bytes are those of a pickle (0x80 0x02 … 0x05)
# or a zip ("PK").
@pytest.mark.parametrize("length", [640, 896, 1152, 1408, int.from_bytes(b"PK", "little")])
def test_a_header_as_long_as_a_pickle_begins_is_read(length: int, tmp_path: Path) -> None:
    header, data = sound()
    text = json.dumps(header).encode().ljust(length)
    (tmp_path / "little").write_bytes(length.to_bytes(8, "little") + text + data)
    assert Little.load(tmp_path / "little").limit == 3


@pytest.mark.parametrize(
    ("fields", "culprit"),
    [
        ({"table": None}, "'table' u8"),
        ({"gain": np.array([1, 2], np.float64)}, "f64"),
        ({"gain": np.array([1, 2, 3], np.float32)}, "'table'.* n = 3"),
        ({"gain": np.array([-1, 1], np.float32)}, "negative"),
        ({"gaim": np.array([1, 2], np.float32)}, "Did you mean 'gain'"),
        ({"limit": "x"}, "'limit'"),
        ({"name": 3}, "'name'"),
    ],
)
def test_a_brain_made_in_memory_is_checked_too(fields: dict[str, Any], culprit: str) -> None:
    given = {
        "gain": np.array([1, 2], np.float32),
        "table": np.zeros((2, 2), np.uint8),
        "name": "n",
        **fields,
    }
    there = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(BrainError, match=culprit):
        Little(**there)


# -- broken files ----------------------------------------------------------------------------------


def sound() -> tuple[dict[str, Any], bytes]:
    """Header and data of a sound little brain."""
    header = {
        "__metadata__": {
            "minibrains.kind": "little",
            "minibrains.version": "2",
            "config": '{"name": "n"}',
        },
        "gain": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "table": {"dtype": "U8", "shape": [2, 3], "data_offsets": [8, 14]},
    }
    return header, np.array([1, 2], np.float32).tobytes() + bytes(6)


def packed(header: Any, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def edited(*path_and_value: Any, data: bytes | None = None) -> bytes:
    """The sound file with one value in its header replaced; `...` removes it."""
    header, right = sound()
    *path, last, value = path_and_value
    place: Any = header
    for step in path:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return packed(header, right if data is None else data)


def config(text: str) -> bytes:
    return edited("__metadata__", "config", text)


def torch_archive() -> bytes:
    file = io.BytesIO()
    torch.save({"gain": torch.ones(2)}, file)
    return file.getvalue()


HEADER, DATA = sound()
TEXT = json.dumps(HEADER).encode()
GAIN = HEADER["gain"]
BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "file of 0"),
    "seven bytes": (bytes(7), "file of 7"),
    "header of length 0": (bytes(8) + TEXT, "header of 0 bytes"),
    "header of length 2**64 - 1": (b"\xff" * 8 + TEXT, "header of 18446744073709551615 bytes"),
    "header longer than the file": ((len(TEXT) + 1).to_bytes(8, "little") + TEXT, "header"),
    "header not JSON": (packed(b"{'gain': 1}", DATA), "the header is not JSON"),
    "header not UTF-8": (packed(b'{"\xff": 1}', DATA), "the header is not JSON"),
    "header a list": (packed([GAIN], DATA), "not a JSON object"),
    "header with NaN": (packed(TEXT.replace(b"[2]", b"[NaN]"), DATA), "the header is not JSON"),
    "header nested too deeply for a parser": (
        packed(b'{"a":' * 100_000, DATA),
        "nested too deeply",
    ),
    "header nested too deeply for us": (
        packed(b'{"a":' + b"[" * 200 + b"]" * 200 + b"}", DATA),
        "nested too deeply",
    ),
    "tensor twice": (
        packed(TEXT[:-1] + b', "gain": ' + json.dumps(GAIN).encode() + b"}", DATA),
        "'gain' is named twice",
    ),
    "key twice in an entry": (
        packed(TEXT.replace(b'"shape": [2],', b'"shape": [2], "shape": [2],'), DATA),
        "'shape'",
    ),
    "a name half of a pair": (packed(TEXT.replace(b'"gain"', b'"\\ud800"'), DATA), "surrogates"),
    "a million names, one twice": (
        packed(b"{" + b"".join(b'"%d":1,' % i for i in range(10**5)) + b'"7":1}', b""),
        "'7'",
    ),
    # entries
    "entry no object": (edited("gain", [1]), "'gain'"),
    "entry without dtype": (edited("gain", "dtype", ...), "'gain'"),
    "entry with another key": (edited("gain", "more", 1), "'gain'"),
    "unknown dtype": (edited("gain", "dtype", "F8_E4M3"), "'F8_E4M3'"),
    "dtype a number": (edited("gain", "dtype", 32), "32"),
    "long name": (edited("x" * 10**6, 3), "xxx"),
    "gigantic number": (edited("gain", "shape", [10**4000]), "more than 64 bits"),
    # offsets
    "overlap": (edited("table", "data_offsets", [4, 10]), "'table' starts at byte 4, expected 8"),
    "gap": (
        edited("table", "data_offsets", [9, 15], data=DATA + b"0"),
        ("'table' starts at byte 9, expected 8"),
    ),
    "trailing bytes": (packed(HEADER, DATA + b"0"), "14 bytes"),
    "missing bytes": (packed(HEADER, DATA[:-1]), "14 bytes"),
    "offsets backwards": (edited("gain", "data_offsets", [8, 0]), "'gain'"),
    "offsets negative": (edited("gain", "data_offsets", [-8, 0]), "'gain'"),
    "offsets of three": (edited("gain", "data_offsets", [0, 4, 8]), "'gain'"),
    "offsets no list": (edited("gain", "data_offsets", "08"), "'gain'"),
    "offsets beyond the file": (
        edited("table", "data_offsets", [2**62, 2**62 + 6]),
        "'table' starts at byte",
    ),
    # metadata
    "metadata no object": (edited("__metadata__", [1]), "__metadata__"),
    "metadata null": (edited("__metadata__", None), "__metadata__"),
    "metadata not texts": (edited("__metadata__", "title", 3), "__metadata__"),
    "no metadata": (edited("__metadata__", ...), "no brain of ours"),
    "wrong kind": (edited("__metadata__", "minibrains.kind", "big"), "kind 'big'"),
    "wrong version": (edited("__metadata__", "minibrains.version", "3"), "version 3"),
    "version no number": (edited("__metadata__", "minibrains.version", "two"), "version 2"),
    "no version": (edited("__metadata__", "minibrains.version", ...), "version 1"),
    "config not JSON": (config("{"), "config in the header is not JSON"),
    "config NaN": (config('{"limit": NaN}'), "config in the header is not JSON"),
    "config infinite": (config('{"limit": 1e999}'), "config in the header is not JSON"),
    "config a list": (config("[]"), "config in the header is not a JSON object"),
    "config key twice": (config('{"name": "a", "name": "a"}'), "'name' is named twice"),
    "config half of a pair": (config('{"name": "\\ud800"}'), "config in the header"),
    "config a gigantic number": (
        config('{"name": "n", "limit": %s}' % ("9" * 4000)),
        "config in the header",
    ),
    "config nested": (config('{"name": %s}' % ("[" * 5000)), "nested too deeply"),
    "setting missing": (config("{}"), "'name'"),
    "setting of another type": (config('{"name": 3}'), "'name'"),
    "setting unknown": (config('{"name": "n", "limits": 3}'), "Did you mean 'limit'"),
    # tensors of another kind of brain
    "tensor missing": (
        edited("table", ..., data=DATA[:8]),
        ("the tensor 'table' u8[n m] is missing"),
    ),
    "tensor too many": (
        packed({**HEADER, "more": {"dtype": "U8", "shape": [0], "data_offsets": [14, 14]}}, DATA),
        "'more'",
    ),
    "tensor renamed": (packed(TEXT.replace(b'"gain"', b'"gaim"'), DATA), "'gain'"),
    "tensor of another dtype": (edited("gain", "dtype", "I32"), "expected f32[n], found i32[2]"),
    "tensor of another rank": (edited("gain", "shape", [2, 1]), "expected f32[n], found f32[2 1]"),
    "sizes that disagree": (edited("table", "shape", [3, 2]), "n = 2"),
    "a bad value": (
        packed(HEADER, np.array([1, -2], np.float32).tobytes() + bytes(6)),
        "gain must not be negative",
    ),
    # other files
    "pickle": (pickle.dumps({"gain": [1.0]}), "pickle"),
    "old pickle": (pickle.dumps({"gain": [1.0]}, protocol=2), "pickle"),
    "torch.save": (torch_archive(), "torch archive"),
    "text": (b"this is not a brain at all, but a text", "not a safetensors file"),
}
NO_SHAPES: list[Any] = [
    [-2], [True, 2], [2.0], ["2"], [None], [[2]], 2, None, {}, [2**63], [10.0**300],
]  # fmt: skip
WRONG_SHAPES: list[Any] = [
    [3],
    [1],
    [],
    [2**32, 2**32],
    [2**62] * 400,
    [2] + [1] * 100,
    [2**61, 8, 0],
]
for each in NO_SHAPES:
    BROKEN[f"shape {str(each)[:40]}"] = edited("gain", "shape", each), "whole numbers"
for each in WRONG_SHAPES:
    BROKEN[f"shape {str(each)[:40]}"] = edited("gain", "shape", each), "'gain'"
for each in ([0, 2**62], [2**62, 0, 2**62], [2**31, 2**31, 2**31, 0]):
    empty = {"dtype": "F32", "shape": each, "data_offsets": [0, 0]}
    BROKEN[f"empty tensor of shape {each}"] = edited("gain", empty, data=bytes(14)), "'gain'"


def refusal(path: Path, load: Callable[[Path], Any] = Little.load) -> str:
    """The sentence with which a file is refused."""
    with pytest.raises(BrainError) as error:
        load(path)
    sentence = str(error.value)
    assert path.name in sentence
    assert "\n" not in sentence
    assert len(sentence) < 2000
    return sentence


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_file_is_refused_in_one_sentence_that_names_file_and_culprit(
    broken: str, tmp_path: Path
) -> None:
    data, culprit = BROKEN[broken]
    path = tmp_path / "x.safetensors"
    path.write_bytes(data)
    assert culprit in refusal(path)


def test_no_number_in_a_file_says_how_much_memory_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    small = [data for data, _ in BROKEN.values() if len(data) < 20_000]
    assert len(small) > 60
    tracemalloc.start()
    try:
        for data in small:
            path.write_bytes(data)
            refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_file_truncated_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_little(path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refusal(path)


@pytest.mark.parametrize("load", [Little.load, read_header], ids=["load", "read_header"])
@pytest.mark.parametrize(
    ("name", "culprit"),
    [
        ("missing", "No such file"),
        ("folder", "directory"),
        ("file/x", "directory"),
        ("loop", "symbolic links"),
        ("x" * 300, "too long"),
    ],
)
def test_what_is_no_file_is_refused(
    name: str, culprit: str, load: Callable[[Path], Any], tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert culprit in refusal(tmp_path / name, load)


def test_a_large_file_without_any_tensor_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minibrains.brain.MAP_FROM", 0)

    class Nothing(Brain):
        kind = "nothing"

    path = tmp_path / "x.safetensors"
    path.write_bytes(packed({"__metadata__": {"minibrains.kind": "nothing"}}, b""))
    assert Nothing.load(path).tensors == {}


@pytest.mark.parametrize(
    ("settings_", "culprit"),
    [
        ({"convolutions": [[1, 2]]}, "[1, 2]"),
        ({"convolutions": [[1, 99, 1]]}, "convolution 0"),
        ({"channels": -4}, "-4"),
        ({"hidden": 0}, "hidden"),
        ({"height": 2**63}, "convolution"),
        ({"layers": 0}, "layers"),
        ({"layers": 2**31}, "layers"),
    ],
)
def test_settings_that_describe_no_network_are_refused(
    settings_: dict[str, Any], culprit: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.safetensors"
    right = {
        "channels": 4,
        "height": 8,
        "width": 8,
        "actions": 2,
        "hidden": 2,
        "convolutions": [[1, 2, 1]],
    }
    metadata = {"minibrains.kind": "policy_head", "config": json.dumps({**right, **settings_})}
    path.write_bytes(packed({"__metadata__": metadata}, b""))
    assert culprit in refusal(path, KINDS["policy_head"].load)


# -- files nobody would write ----------------------------------------------------------------------


def load_or_refuse(data: bytes, cls: type[Brain], path: Path) -> None:
    """Loading either succeeds or raises BrainError; any other exception fails the test."""
    path.write_bytes(data)
    sentence = None
    try:
        brain = cls.load(path)
    except BrainError as error:
        sentence = str(error)
    if sentence is None:
        # others take any tensors that are of the right form
        declares = "check_tensors" not in vars(cls)
        assert not declares or brain.tensors.keys() == cls.tensor_specs(brain.config).keys()
    else:
        assert str(path) in sentence
        assert "\n" not in sentence


def split(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


FUZZED = {**KINDS, "little": Little}
SEEDS = {read_header(path).kind or "": path.read_bytes() for path in SHIPPED}
SEEDS["little"] = packed(*sound())
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["flip", "delete", "insert", "truncate"]),
        st.integers(0, 1500),
        st.binary(min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("kind", FUZZED)
@fuzz
@given(edits=EDITS)
def test_bytes_changed_at_random_are_loaded_or_refused(
    kind: str, edits: list[Any], tmp_path: Path
) -> None:
    data = bytearray(SEEDS[kind])
    for what, place, new in edits:
        place %= len(data) + 1
        if what == "flip":
            data[place : place + len(new)] = new
        elif what == "insert":
            data[place:place] = new
        elif what == "truncate":
            del data[place:]
        else:
            del data[place : place + len(new)]
    load_or_refuse(bytes(data), FUZZED[kind], tmp_path / "x.safetensors")


@pytest.mark.slow
@pytest.mark.parametrize("kind", FUZZED)
@fuzz
@given(data=st.data())
def test_a_header_changed_at_random_is_loaded_or_refused(
    kind: str, data: st.DataObject, tmp_path: Path
) -> None:
    header, rest = split(SEEDS[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        header = mutate(header, data.draw)
    load_or_refuse(packed(header, rest), FUZZED[kind], tmp_path / "x.safetensors")


WIDTHS = {"BOOL": 1, "U8": 1, "I16": 2, "F16": 2, "BF16": 2, "I32": 4, "F32": 4, "F64": 8}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FUZZED)
@fuzz
@given(data=st.data())
def test_a_file_of_sound_form_with_any_tensors_and_settings_is_loaded_or_refused(
    kind: str, data: st.DataObject, tmp_path: Path
) -> None:
    seed, _ = split(SEEDS[kind])
    metadata = seed.pop("__metadata__")
    settings_ = json.loads(metadata["config"])
    for _ in range(data.draw(st.integers(0, 2))):
        settings_ = mutate(settings_, data.draw)
    header: dict[str, Any] = {"__metadata__": {**metadata, "config": json.dumps(settings_)}}
    end = 0
    for name, entry in seed.items():
        shape = data.draw(st.just(entry["shape"]) | st.lists(st.integers(0, 4), max_size=4))
        dtype = data.draw(st.just(entry["dtype"]) | st.sampled_from(sorted(WIDTHS)))
        start, end = end, end + int(np.prod(shape)) * WIDTHS[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    rest = bytes(end)
    if end < 4096:
        rest = data.draw(st.binary(min_size=end, max_size=end))
    load_or_refuse(packed(header, rest), FUZZED[kind], tmp_path / "x.safetensors")


# -- files that are never half written, and never outside ------------------------------------------


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()],
    ids=["full", "Ctrl-C"],
)
@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("before", [None, b"old"], ids=["new file", "old file"])
def test_a_failed_write_leaves_what_was_there_and_nothing_else(
    call: str,
    error: BaseException,
    before: bytes | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*arguments: Any) -> None:
        raise error

    path = tmp_path / "x.json"
    if before is not None:
        path.write_bytes(before)
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(error)):
        write_atomic(path, "new")
    if before is None:
        assert list(tmp_path.iterdir()) == []
    else:
        assert list(tmp_path.iterdir()) == [path]
        assert path.read_bytes() == before


def test_a_write_that_the_disk_refuses_halfway_leaves_nothing(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_atomic(tmp_path / "x", bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


def test_a_write_replaces_the_file_and_makes_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "x.txt"
    for text in ("first", "zweiter"):
        write_atomic(path, text)
        assert path.read_text() == text
    assert [file.name for file in path.parent.iterdir()] == ["x.txt"]


def test_a_file_is_found_in_the_first_folder_that_has_it(tmp_path: Path) -> None:
    for name in ("a/x", "b/x", "b/deep/y"):
        write_atomic(tmp_path / name, name)
    folders = [tmp_path / "a", tmp_path / "b", tmp_path / "missing"]
    assert find_inside("x", folders) == (tmp_path / "a/x").resolve()
    assert find_inside("deep/y", folders) == (tmp_path / "b/deep/y").resolve()
    assert find_inside("z", folders) is None


def test_no_name_leads_out_of_the_folders(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    folder = tmp_path / "models"
    (folder / "deep").mkdir(parents=True)
    (folder / "link").symlink_to(secret)
    (folder / "up").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder / "loop")
    names = [
        "../secret",
        "deep/../../secret",
        "./../models/../secret",
        str(secret),
        "link",
        "up/secret",
        "../models-2/x",
    ]
    nothing = ["", ".", "deep", "loop", "loop/x", "\0", "deep\0", "\ud800", "x" * 300, "x/" * 3000]
    (tmp_path / "models-2").mkdir()
    (tmp_path / "models-2" / "x").write_text("a neighbour whose name begins like the folder's")
    for name in names + nothing:
        assert find_inside(name, [folder]) is None, name


def test_a_setting_that_was_added_later_changes_no_older_file(tmp_path: Path) -> None:
    class Before(Brain):
        kind = "with_more"
        size: int = setting(doc="a number")

    class After(Before):
        kind = "with_more"
        names: tuple[str, ...] = setting((), "names", added=True)

    before, after = tmp_path / "before.safetensors", tmp_path / "after.safetensors"
    Before(size=3).save(before, title="Numbers", made_by="a test")
    After(size=3).save(after, title="Numbers", made_by="a test")
    assert before.read_bytes() == after.read_bytes()
    assert After.load(before).config["names"] == ()
    After(size=3, names=("a",)).save(after, title="Numbers", made_by="a test")
    assert After.load(after).config["names"] == ("a",)
