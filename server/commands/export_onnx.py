"""The command `export-onnx`: the networks of some nodes of a workflow as an ONNX file.

Other programs can then compute what these nodes compute, without Python. The file is compared with
the networks before it gets its name.
"""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from minibrains.errors import MinibrainsError
from minibrains.packages import install_extra_command
from minibrains.training.module import RegionModule, region_of
from server.cli import DONE
from server.commands.workflow_arguments import read_spec

TOLERANCE: Final = 1e-3
"""The largest difference of an output of the file from that of the networks."""
COMPARED: Final = 20
"""Number of random inputs that both are given."""
_STATE: Final = "state"


def main(arguments: argparse.Namespace) -> int:
    """Write the file, and print its inputs, its outputs and the largest difference.

    Raises MinibrainsError.
    """
    path = Path(arguments.file)
    if path.suffix != ".onnx":
        raise MinibrainsError(f"{path} is not a name for an ONNX file; expected NAME.onnx")
    module = region_of(replace(read_spec(arguments), train=tuple(arguments.node)))
    about = export(module, path)
    if arguments.json:
        print(json.dumps(about))
        return DONE
    for side in ("inputs", "outputs"):
        for name, shape in about[side].items():
            print(f"{side[:-1]:7}{name} {shape}")
    print(f"{path} differs by at most {about['difference']:.1e} on {COMPARED} random inputs")
    return DONE


def export(module: RegionModule, path: Path) -> dict[str, Any]:
    """Write the networks of a region as an ONNX file for one decision at a time.

    The inputs and outputs are those of the region, "node/socket" with a first dimension of 1. If
    one of its nodes is recurrent, there are `state` before, zeros at the start of an episode unless
    the node says otherwise, and `state_after`.

    Args:
        module: The networks.
        path: The file.

    Returns:
        `{"inputs": {name: shape}, "outputs": {name: shape}, "difference"}`: the largest difference
        of an output from that of torch.

    Raises:
        MinibrainsError: A package is missing, a network cannot be exported, or the file does not
            compute the same.
    """
    onnxruntime = _load_runtime()
    module.eval().requires_grad_(False)
    inputs = module.example_inputs()
    if module.state_size:
        inputs[_STATE] = module.initial(1)
    flat = _Flat(module, tuple(inputs))
    outputs = flat(*inputs.values())
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".exporting.", dir=path.parent) as folder:
        written = Path(folder) / path.name
        _write(flat, inputs, written)
        session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
        difference = _largest_difference(flat, session, inputs)
        if not difference <= TOLERANCE:
            raise MinibrainsError(
                f"the exported file differs by {difference:g} from the networks; expected at most "
                f"{TOLERANCE:g}"
            )
        written.rename(path)
    return {
        "inputs": {name: list(value.shape) for name, value in inputs.items()},
        "outputs": {
            name: list(value.shape) for name, value in zip(flat.outputs, outputs, strict=True)
        },
        "difference": difference,
    }


class _Flat(nn.Module):
    """The networks with their inputs and outputs one after the other, as ONNX has them."""

    def __init__(self, module: RegionModule, inputs: tuple[str, ...]) -> None:
        super().__init__()
        self.module = module
        self._inputs = inputs
        self.outputs = module.outputs
        if module.state_size:
            self.outputs = (*self.outputs, f"{_STATE}_after")

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        by_name = dict(zip(self._inputs, values, strict=True))
        state = by_name.pop(_STATE, None)
        found = self.module(by_name, state)
        after: list[torch.Tensor] = []
        if state is not None:
            found, state_after = found
            after.append(state_after)
        if isinstance(found, torch.Tensor):
            found = {self.outputs[0]: found}
        return (*found.values(), *after)


def _load_runtime() -> Any:
    try:
        import onnxruntime
        import onnxscript  # noqa: F401  # torch exports with it
    except ModuleNotFoundError as error:
        raise MinibrainsError(
            f"to export needs the Python package {error.name}, which is missing; install it with: "
            f"{install_extra_command('onnx')}"
        ) from None
    return onnxruntime


def _write(flat: _Flat, inputs: Mapping[str, torch.Tensor], path: Path) -> None:
    """Let torch write the file. Raises MinibrainsError."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                flat,
                tuple(inputs.values()),
                path,
                input_names=list(inputs),
                output_names=list(flat.outputs),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
    except torch.onnx.OnnxExporterError as error:
        first, *_ = str(error).splitlines()
        nodes = ", ".join(flat.module.nodes)
        raise MinibrainsError(f"{nodes} cannot be exported to ONNX: {first}") from None


def _largest_difference(flat: _Flat, session: Any, inputs: Mapping[str, torch.Tensor]) -> float:
    """Return the largest difference of an output from that of torch, on random inputs."""
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(COMPARED):
        given: dict[str, np.ndarray] = {}
        for name, example in inputs.items():
            values = rng.random(example.shape)
            if not example.is_floating_point():
                values = values.round()  # pressed buttons, for example
            given[name] = values.astype(example.numpy().dtype)
        expected = flat(*map(torch.from_numpy, given.values()))
        for value, other in zip(expected, session.run(None, given), strict=True):
            largest = max(largest, float(np.abs(value.numpy() - other).max()))
    return largest
