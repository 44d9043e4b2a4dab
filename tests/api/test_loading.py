"""What is made of brain files: once a process, within a budget of bytes."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from minibrains.brain_file import hash_file
from minibrains.errors import BrainError
from minibrains.loading import BrainRef, ModelCache, find_memory
from minibrains.savings import Savings, collect_savings
from tests.support.timeouts import TIMEOUT


def _brain(file: Path) -> BrainRef:
    file.write_bytes(file.name.encode())
    return BrainRef(str(file), hash_file(file))


def _array(size: int) -> Callable[[BrainRef], Any]:
    return lambda ref: SimpleNamespace(weights=np.zeros(size, np.uint8))


def test_the_same_brain_is_loaded_once(tmp_path: Path) -> None:
    loaded, brain = ModelCache(100), _brain(tmp_path / "a")
    first = loaded.load(brain, "model", _array(10))
    assert loaded.load(BrainRef(brain.file, brain.sha256), "model", _array(10)) is first
    assert loaded.load(brain, "tokenizer", _array(20)) is not first
    assert (loaded.loads, loaded.used) == (2, 30)
    loaded.clear()
    assert loaded.used == 0


def test_the_budget_lets_go_of_what_was_not_used_for_longest(tmp_path: Path) -> None:
    loaded, brains = ModelCache(100), [_brain(tmp_path / name) for name in "abc"]
    made = [loaded.load(brain, "model", _array(40)) for brain in brains[:2]]
    assert loaded.load(brains[0], "model", _array(40)) is made[0]
    loaded.load(brains[2], "model", _array(40))
    assert loaded.used == 80
    assert loaded.load(brains[0], "model", _array(40)) is made[0]
    assert loaded.load(brains[1], "model", _array(40)) is not made[1]


def test_weights_that_two_models_share_count_once_and_the_newest_stays_even_if_it_is_larger(
    tmp_path: Path,
) -> None:
    loaded, base = ModelCache(100), _brain(tmp_path / "base")
    model = loaded.load(base, "model", _array(90))
    adapted = BrainRef(base.file, base.sha256, ((_brain(tmp_path / "adapter"), 0.5),))

    def merge(ref: BrainRef) -> Any:
        return {"shared": model.weights, "changed": [np.zeros(8, np.uint8)]}

    loaded.load(adapted, "merged", merge)
    assert loaded.used == 98
    other = BrainRef(base.file, base.sha256, ((adapted.adapters[0][0], 0.25),))
    newest = loaded.load(other, "merged", merge)
    assert loaded.used == 98, "the model was let go of, but for what the merged ones hold of it"
    assert loaded.load(base, "model", _array(90)) is not model
    assert loaded.used == 90, "and with the last of them that is gone as well"
    assert loaded.load(other, "merged", merge) is not newest


def test_memory_is_that_of_arrays_and_tensors_however_they_are_held() -> None:
    array, tensor = np.zeros(10, np.float32), torch.zeros(10, dtype=torch.float16)
    module = torch.nn.Linear(4, 2)
    held = {
        "views": [array[2:], array.reshape(2, 5)],
        "half": (tensor[:3], "text", 3),
        "module": module,
    }
    memory = find_memory(SimpleNamespace(held=held, kind=int))
    assert sum(memory.values()) == 40 + 20 + 4 * (8 + 2)


def test_who_wants_another_thing_does_not_wait_for_one_that_is_being_made(tmp_path: Path) -> None:
    loaded, slow, quick = ModelCache(100), _brain(tmp_path / "slow"), _brain(tmp_path / "quick")
    begun, go_on = threading.Event(), threading.Event()

    def make(ref: BrainRef) -> object:
        begun.set()
        assert go_on.wait(TIMEOUT)
        return object()

    made: list[object] = []
    threads = [
        threading.Thread(target=lambda: made.append(loaded.load(slow, "model", make)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(TIMEOUT)
    assert loaded.load(quick, "model", lambda ref: "made meanwhile") == "made meanwhile"
    go_on.set()
    for thread in threads:
        thread.join()
    assert made[0] is made[1]
    assert loaded.loads == 2


def test_what_is_found_is_told_with_the_time_it_took_to_make(tmp_path: Path) -> None:
    loaded, base = ModelCache(100), _brain(tmp_path / "base")
    adapter = _brain(tmp_path / "adapter")
    refs = [
        base,
        BrainRef(base.file, base.sha256, ((adapter, 0.5),)),
        BrainRef(base.file, base.sha256, ((adapter, 0.5),) * 2),
    ]
    first: Savings = {}
    savings: Savings = {}
    for heard in (first, savings):
        with collect_savings(heard):
            for ref in refs:
                loaded.load(ref, "model", _array(1))
    assert first == {}
    assert list(savings) == [
        "base in memory",
        "base with 1 adapter in memory",
        "base with 2 adapters in memory",
    ]
    assert all(seconds > 0 for seconds in savings.values())


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [("cut", "the file has changed"), ("gone", "cannot be read: No such file")],
)
def test_a_file_that_is_no_longer_the_brain_is_a_sentence_and_what_was_loaded_stays(
    damage: str, sentence: str, tmp_path: Path
) -> None:
    loaded, brain = ModelCache(100), _brain(tmp_path / "a")
    (tmp_path / "a").write_bytes(b"aaa")
    brain = BrainRef(brain.file, hash_file(tmp_path / "a"))
    model = loaded.load(brain, "model", lambda ref: object())
    if damage == "cut":
        (tmp_path / "a").write_bytes(b"a")
    else:
        (tmp_path / "a").unlink()
    assert loaded.load(brain, "model", lambda ref: object()) is model
    with pytest.raises(BrainError, match=sentence):
        ModelCache(100).load(brain, "model", lambda ref: object())


class Name(str):
    """A name that can be watched."""


def test_what_cannot_be_made_is_let_go_of(tmp_path: Path) -> None:
    def fail(ref: BrainRef) -> Any:
        raise BrainError("no such model")

    loaded, brain, name = ModelCache(100), _brain(tmp_path / "a"), Name("model")
    watched = weakref.ref(name)
    with pytest.raises(BrainError, match="no such model"):
        loaded.load(brain, name, fail)
    del name
    gc.collect()
    assert watched() is None
    assert loaded.load(brain, "model", _array(10)).weights.size == 10


def test_one_thread_at_a_time_makes_a_thing_also_after_one_has_failed(tmp_path: Path) -> None:
    """The first fails while the second waits for it; while the second makes it, the third waits."""
    loaded, brain = ModelCache(100), _brain(tmp_path / "a")
    begun = [threading.Event() for _ in range(3)]
    go_on = [threading.Event() for _ in range(3)]
    made: list[int] = []

    def load(number: int) -> None:
        def make(ref: BrainRef) -> object:
            begun[number].set()
            assert go_on[number].wait(TIMEOUT)
            if not number:
                raise BrainError("no such model")
            made.append(number)
            return object()

        with suppress(BrainError):
            loaded.load(brain, "model", make)

    threads = [threading.Thread(target=load, args=(number,)) for number in range(3)]
    threads[0].start()
    assert begun[0].wait(TIMEOUT)
    threads[1].start()
    go_on[0].set()
    threads[0].join()
    assert begun[1].wait(TIMEOUT)
    threads[2].start()
    for event in go_on:
        event.set()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert loaded.loads == 1
