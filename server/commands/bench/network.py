"""The benchmark `bench network`: what a decision of a workflow's networks takes, and how long their
brains take to load, beside torch's own loader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Any, Final

import numpy as np

from minibrains.engine.engine import Engine
from minibrains.engine.peek import peek_in_full
from minibrains.errors import MinibrainsError
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from minibrains.tensors import as_tensor
from minibrains.torch_node import TorchNode
from server.commands.bench.measure import medians

TICKS: Final = 60
"""Ticks that are played before, after which every network has something to look at."""
WARM_UP: Final = 20
DECISIONS: Final = 300
LOADS: Final = 9


def run(spec: RunSpec) -> dict[str, Any]:
    """Return `{"cases": [{"what", "numbers", "median_ms", "p99_ms", "cpu_median_ms", "cpu_p99_ms",
    "load_ms", "torch_load_ms"}]}`: a row for each network of the workflow, and one for all of them
    together.

    A decision is the tick of each network, one after the other, with what it is shown in play;
    NumPy in and out, on one thread. `cpu` is the time in which the thread computed: on a busy
    machine the other figures also have the time in which it waited for a core. Loading is from a
    file to tensors in memory: a brain, whose header is checked and whose SHA-256 is computed, and
    the same tensors as torch.save has written them.

    Raises MinibrainsError if there is no network in the workflow, and what the run raises.
    """
    with Run(replace(spec, ticks=TICKS + 1, clock="fast", workers=1, runs=None)) as played:
        engine = played.engine
        engine.reset(0, 0)
        engine.advance(TICKS)
        networks, shown = _networks(engine)
        if not networks:
            raise MinibrainsError(
                "the workflow has no network; expected one with TorchNodes, such as sf2_policy"
            )
        wall, cpu = _decide(list(networks.values()), shown)
        cases: list[dict[str, Any]] = []
        for index, (name, node) in enumerate(networks.items()):
            cases.append(_case(name, wall[:, index], cpu[:, index], [node]))
        cases.append(_case("all", wall.sum(1), cpu.sum(1), list(networks.values())))
    return {"cases": cases}


def _networks(engine: Engine) -> tuple[dict[str, Any], list[list[Any]]]:
    """Return the networks in the order in which they run, and what each was shown last."""
    networks: dict[str, Any] = {}
    shown: list[list[Any]] = []
    for step in engine.plan.steps:
        node = engine.nodes.get(step.node)
        if step.role == "tick" and isinstance(node, TorchNode):
            networks[step.node] = node
            inputs, _ = peek_in_full(engine, step.node)
            shown.append([inputs[socket] for socket in node.schema.inputs])
    return networks, shown


def _decide(
    networks: Sequence[Any], shown: Sequence[Sequence[Any]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the seconds of each network in each decision, and those of its thread's processor
    time: float64 [DECISIONS, networks].
    """
    wall = np.empty((WARM_UP + DECISIONS, len(networks)))
    cpu = np.empty_like(wall)
    for decision in range(WARM_UP + DECISIONS):
        for index, (node, inputs) in enumerate(zip(networks, shown, strict=True)):
            began, worked = perf_counter(), thread_time()
            node.tick(*inputs)
            cpu[decision, index] = thread_time() - worked
            wall[decision, index] = perf_counter() - began
    return wall[WARM_UP:], cpu[WARM_UP:]


def _case(what: str, wall: np.ndarray, cpu: np.ndarray, networks: Sequence[Any]) -> dict[str, Any]:
    load, torch_load = _load(networks)
    numbers = 0
    for node in networks:
        numbers += sum(array.size for array in node.brain.tensors.values())
    return {
        "what": what,
        "numbers": numbers,
        "median_ms": _milliseconds(np.median(wall)),
        "p99_ms": _milliseconds(np.percentile(wall, 99)),
        "cpu_median_ms": _milliseconds(np.median(cpu)),
        "cpu_p99_ms": _milliseconds(np.percentile(cpu, 99)),
        "load_ms": _milliseconds(load),
        "torch_load_ms": _milliseconds(torch_load),
    }


def _load(networks: Sequence[Any]) -> tuple[float, float]:
    """Return the seconds in which the brains are loaded, and in which torch loads the same."""
    import torch

    with TemporaryDirectory() as folder:
        files: list[Path] = []
        for index, node in enumerate(networks):
            files.append(Path(folder) / f"{index}.pt")
            torch.save(_tensors(node.brain), files[-1])

        def load_brains() -> None:
            for node in networks:
                _tensors(type(node.brain).load(Path(node.brain.ref.file)))

        def load_files() -> None:
            for file in files:
                torch.load(file, weights_only=True)

        taken = medians({"brains": load_brains, "torch": load_files}, LOADS)
    return taken["brains"], taken["torch"]


def _tensors(brain: Any) -> dict[str, Any]:
    return {name: as_tensor(array) for name, array in brain.tensors.items()}


def _milliseconds(seconds: float) -> float:
    return round(float(seconds) * 1e3, 3)
