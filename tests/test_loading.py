"""What is made of brain files: once a process, within a budget of bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from minibrains.brain_file import hash_file
from minibrains.errors import BrainError
from minibrains.loading import BrainRef, Loaded


def _brain(file: Path, size: int) -> BrainRef:
    file.write_bytes(file.name.encode().ljust(size))
    return BrainRef(str(file), hash_file(file))


def test_the_same_brain_is_loaded_once(tmp_path: Path) -> None:
    loaded, brain = Loaded(100), _brain(tmp_path / "a", 10)
    first = loaded.load(brain, "model", lambda ref: object())
    assert loaded.load(BrainRef(brain.file, brain.sha256), "model", lambda ref: object()) is first
    assert loaded.load(brain, "tokenizer", lambda ref: object()) is not first
    assert (loaded.loads, loaded.used) == (2, 20)


def test_the_budget_lets_go_of_what_was_not_used_for_longest(tmp_path: Path) -> None:
    loaded, brains = Loaded(100), [_brain(tmp_path / name, 40) for name in "abc"]
    made = [loaded.load(brain, "model", lambda ref: object()) for brain in brains[:2]]
    assert loaded.load(brains[0], "model", lambda ref: object()) is made[0]
    loaded.load(brains[2], "model", lambda ref: object())
    assert loaded.used == 80
    assert loaded.load(brains[0], "model", lambda ref: object()) is made[0]
    assert loaded.load(brains[1], "model", lambda ref: object()) is not made[1]


def test_adapters_count_and_the_newest_stays_even_if_it_is_larger(tmp_path: Path) -> None:
    loaded, base = Loaded(100), _brain(tmp_path / "base", 90)
    loaded.load(base, "model", lambda ref: object())
    adapted = BrainRef(base.file, base.sha256, ((_brain(tmp_path / "adapter", 20), 0.5),))
    model = loaded.load(adapted, "model", lambda ref: object())
    assert loaded.used == 110
    assert loaded.load(adapted, "model", lambda ref: object()) is model


@pytest.mark.parametrize(("damage", "sentence"), [("cut", "the file has changed"), ("gone", "cannot be read: No such file")])
def test_a_file_that_is_no_longer_the_brain_is_a_sentence_and_what_was_loaded_stays(
    damage: str, sentence: str, tmp_path: Path
) -> None:
    loaded, brain = Loaded(100), _brain(tmp_path / "a", 10)
    model = loaded.load(brain, "model", lambda ref: object())
    if damage == "cut":
        (tmp_path / "a").write_bytes(b"a")
    else:
        (tmp_path / "a").unlink()
    assert loaded.load(brain, "model", lambda ref: object()) is model
    with pytest.raises(BrainError, match=sentence):
        Loaded(100).load(brain, "model", lambda ref: object())
