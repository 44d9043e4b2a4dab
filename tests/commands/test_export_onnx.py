"""Networks are exported to ONNX, and the file is compared with them before it has its name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from minibrains.training.module import region
from tests.support.command import Command

HEAD = ("airstriker_pixels", "--node", "head")
PARTS = ("encoder", "history", "groups", "times", "head", "value")


@pytest.mark.slow
def test_the_file_computes_what_the_nodes_do(minibrains: Command, tmp_path: Path) -> None:
    workflow, *nodes = HEAD
    path = tmp_path / "head.onnx"
    done = minibrains("export-onnx", workflow, str(path), *nodes, "--json")
    assert done.returncode == 0, done.stderr
    about = json.loads(done.stdout)
    assert about["inputs"] == {"stack/frames": [1, 4, 84, 84]}
    assert about["outputs"] == {"head/logits": [1, 6]}
    assert about["difference"] <= 1e-3

    frames = np.random.default_rng(3).random((1, 4, 84, 84), np.float32)
    (logits,) = onnxruntime.InferenceSession(path).run(None, {"stack/frames": frames})
    with torch.no_grad():
        expected = region(workflow, ["head"])(torch.from_numpy(frames))
    np.testing.assert_allclose(logits, expected.numpy(), atol=1e-3)


@pytest.mark.slow
def test_what_a_network_remembers_goes_in_and_comes_out(
    minibrains: Command, tmp_path: Path
) -> None:
    path = tmp_path / "policy.onnx"
    nodes: list[str] = []
    for name in PARTS:
        nodes += ["--node", name]
    done = minibrains("export-onnx", "sf2_policy", str(path), *nodes, "--json")
    assert done.returncode == 0, done.stderr
    about = json.loads(done.stdout)
    assert about["difference"] <= 1e-3

    module = region("sf2_policy", PARTS).eval()
    session = onnxruntime.InferenceSession(path)
    rng = np.random.default_rng(0)
    state = module.initial(1)
    remembered = state.numpy()
    for _ in range(3):
        given: dict[str, np.ndarray] = {}
        for name, example in module.example_inputs().items():
            given[name] = rng.random(example.shape).round(2).astype(example.numpy().dtype)
        with torch.no_grad():
            shown = {name: torch.from_numpy(value) for name, value in given.items()}
            expected, state = module(shown, state)
        logits, remembered = session.run(None, {**given, "state": remembered})
        np.testing.assert_allclose(logits, expected.numpy(), atol=1e-3)
    np.testing.assert_allclose(remembered, state.numpy(), atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("head.pb", "--node", "head"), "is not a name for an ONNX file; expected NAME.onnx"),
        (("head.onnx", "--node", "stack"), "stack (FrameStack) has no network"),
        (("head.onnx", "--node", "nobody"), "nobody"),
    ],
)
def test_what_cannot_be_exported_is_a_sentence(
    minibrains: Command, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = minibrains("export-onnx", "airstriker_pixels", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not list(tmp_path.rglob("*.onnx"))


def test_a_missing_package_is_named_with_how_to_install_it(
    minibrains: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    workflow, *nodes = HEAD
    done = minibrains("export-onnx", workflow, "head.onnx", *nodes)
    assert done.returncode == 2
    assert "onnxruntime, which is missing; install it with: " in done.stderr
