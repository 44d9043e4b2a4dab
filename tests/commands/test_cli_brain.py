"""`brain`: what a header says, whom it fits, and what a bad file is called."""

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from minibrains.files import bundled_dir
from nodes.actions.gates import RecoveryBrain
from server.cli import main

NUMBERS = np.array([3, 0, 11], np.int32)


@pytest.fixture
def brain(tmp_path: Path) -> Any:
    path = tmp_path / "slow.safetensors"
    RecoveryBrain(recovery=NUMBERS).save(
        path, title="Slow hands", made_by="a test", description="three actions", license="MIT",
        author="somebody", parents=["ab" * 32], metrics={"score": 12.5},
        data={"name": "fights"},
    )  # fmt: skip
    return path


def strange(path: Any, metadata: Any, **tensors: Any) -> Any:
    path.write_bytes(safetensors.numpy.save(tensors, metadata))
    return str(path)


def test_everything_as_json(capsys: pytest.CaptureFixture[str], brain: Any) -> None:
    assert main(["brain", str(brain), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    data = brain.read_bytes()
    assert json.loads(out) == {
        "file": str(brain),
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "kind": "recovery",
        "version": 1,
        "title": "Slow hands",
        "description": "three actions",
        "license": "MIT",
        "author": "somebody",
        "made_by": "a test",
        "parents": ["ab" * 32],
        "metrics": {"score": 12.5},
        "more": {"data": {"name": "fights"}},
        "config": {},
        "tensors": [{"name": "recovery", "dtype": "i32", "shape": [3], "bytes": 12}],
        "memory": {},
        "used_by": ["CooldownGate@2"],
    }


def test_everything_for_people(capsys: pytest.CaptureFixture[str], brain: Any) -> None:
    assert main(["brain", str(brain)]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in [
        f"sha256 {hashlib.sha256(brain.read_bytes()).hexdigest()}",
        "kind recovery version 1",
        "title Slow hands",
        f'parents ["{"ab" * 32}"]',
        'metrics {"score": 12.5}',
        'data {"name": "fights"}',
        "used by CooldownGate@2",
        "tensors 1, 3 numbers, 12 bytes",
        "recovery i32[3], 12 bytes",
    ]:
        assert line in lines


def test_people_see_only_the_beginning_of_a_long_entry(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    name = strange(tmp_path / "long.safetensors", {"title": "a" * 5000}, x=NUMBERS)
    assert main(["brain", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) < 1200
    assert any(line.endswith("a … (5000 characters; --json shows all)") for line in lines)
    assert main(["brain", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "a" * 5000


def test_every_shipped_brain_is_found_by_name_and_fits(capsys: pytest.CaptureFixture[str]) -> None:
    folder = bundled_dir("models")
    names = sorted(str(path.relative_to(folder)) for path in folder.glob("**/*.safetensors"))
    assert names
    for name in names:
        assert main(["brain", name, "--json"]) == 0
        description = json.loads(capsys.readouterr().out)
        assert description["file"].endswith(name)
        assert description["used_by"]
        assert bool(description["memory"]) == (description["kind"] == "vlm")
        assert description["size"] > sum(tensor["bytes"] for tensor in description["tensors"])


def test_a_brain_that_does_not_fit_its_kind_is_shown_and_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    name = strange(
        tmp_path / "wrong.safetensors",
        {"minibrains.kind": "recovery"},
        recovery=NUMBERS.astype(np.float32),
    )
    assert main(["brain", name, "--json"]) == 2
    out, err = capsys.readouterr()
    description = json.loads(out)
    assert description["tensors"][0]["dtype"] == "f32"
    assert description["used_by"] == []
    assert (
        description["error"]["message"]
        == f"{name}: tensor 'recovery': expected i32[actions], found f32[3]"
    )
    assert description["error"]["message"] in err
    assert main(["brain", name]) == 2
    assert "f32[3]" in capsys.readouterr().out


def test_a_kind_nobody_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    name = strange(tmp_path / "other.safetensors", {"minibrains.kind": "dream"}, x=NUMBERS)
    assert main(["brain", name, "--json"]) == 0
    description = json.loads(capsys.readouterr().out)
    assert (description["kind"], description["used_by"], description["title"]) == (
        "dream",
        [],
        None,
    )


def test_somebody_elses_safetensors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    name = strange(
        tmp_path / "net.safetensors",
        {"format": "pt", "metrics": "[1, 2"},
        w=np.zeros((2, 3), np.float16),
    )
    assert main(["brain", name]) == 0
    out = capsys.readouterr().out
    assert "no brain of ours" in out
    assert "[1, 2" in out
    assert "f16[2 3], 12 bytes" in out


def test_control_characters_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    metadata = {"title": "\x1b[2Jall gone\r\n", "minibrains.kind": "\x07"}
    name = strange(tmp_path / "rude.safetensors", metadata, **{"\x1b[8m": NUMBERS})
    assert main(["brain", name]) == 0
    out = capsys.readouterr().out
    assert "all gone" in out
    assert all(character.isprintable() or character == "\n" for character in out)


def test_a_pickle_is_not_opened(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(pickle.dumps([1]))
    assert main(["brain", str(path), "--json"]) == 2
    out, err = capsys.readouterr()
    assert "never opened" in json.loads(out)["error"]["message"]
    assert "never opened" in err


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["brain", "recovery/airstrike.safetensors"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Did you mean 'recovery/airstriker.safetensors'?" in err


def test_no_brain_is_suggested_for_a_name_like_none_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "sf2", "--brain", "strategist=nothing.safetensors"]) == 2
    assert "Did you mean" not in capsys.readouterr().err
