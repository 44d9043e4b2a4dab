"""The benchmark `bench train`: collecting, reading and training, the last beside a plain loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from nodes.policies.network import PolicyHead
from nodes.training.clone import ClonePolicy
from nodes.training.data_set import DataSet
from nodes.training.examples import Examples, Job, Preprocessing, PreprocessingParts, preprocess
from server.commands.bench import train_answers
from server.commands.bench.measure import medians, seconds

DATA = "duel"
MATCHES = 4
STEPS = 4
"""Steps of the optimizer in a turn."""
TURNS = 12
NEVER = 1_000_000


def run() -> dict[str, Any]:
    """Return `{"cases": [{"what", "samples_per_s", "plain_per_s", "ratio"}]}`.

    A few matches of `duel_collect` are played into an empty folder, read with all pictures, and
    preprocessed as by `duel_clone`, all in one process. Then `duel_clone` trains in turns
    with a plain loop of torch: the same network, optimizer, size of batches and samples, which are
    all in memory, without auxiliary variables, curves and checkpoints. The last case is that of
    `train_answers`. `ratio` is that of the medians. Raises what a run raises.
    """
    with TemporaryDirectory() as folder, home_in(folder):
        collecting = seconds(_collect)
        data = DataSet.named(DATA)
        samples = sum(info.samples for info in data.episodes())
        reading = seconds(lambda: _read(data))
        with Run(RunSpec("duel_clone", widgets=_settings())) as run:
            run.engine.reset(0, 0)
            node = run.engine.nodes["clone"]
            began = perf_counter()
            examples = _preprocess(data, node)
            looking = perf_counter() - began
            run.engine.advance(3)  # preprocess, make the trainer, and warm up
            works = {
                "training": lambda: run.engine.advance(1),
                "plain": plain_loop(node, examples),
            }
            taken = medians(works, TURNS)
        answering, plain = train_answers.measure()

    cases: list[dict[str, Any]] = []
    for what, took in (("collecting", collecting), ("reading", reading), ("looking", looking)):
        cases.append(_case(what, samples / took))
    batches = STEPS * node.batch_size
    cases.append(_case("training", batches / taken["training"], batches / taken["plain"]))
    cases.append(_case("training to answer", answering, plain))
    return {"cases": cases}


def _case(what: str, rate: float, plain: float | None = None) -> dict[str, Any]:
    case: dict[str, Any] = {
        "what": what,
        "samples_per_s": round(rate, 1),
        "plain_per_s": None,
        "ratio": None,
    }
    if plain is not None:
        case["plain_per_s"] = round(plain, 1)
        case["ratio"] = round(rate / plain, 3)
    return case


@contextmanager
def home_in(folder: str) -> Iterator[None]:
    """Let a folder be the user's own, which is what $MINIBRAINS_HOME says."""
    before = os.environ.get("MINIBRAINS_HOME")
    os.environ["MINIBRAINS_HOME"] = folder
    try:
        yield
    finally:
        del os.environ["MINIBRAINS_HOME"]
        if before is not None:
            os.environ["MINIBRAINS_HOME"] = before


def _collect() -> None:
    with Run(RunSpec("duel_collect", episodes=MATCHES)) as run:
        for _ in run:
            pass


def _read(data: DataSet) -> None:
    for info in data.episodes():
        samples = data.read(info)
        for row in range(len(samples)):
            samples.picture(row)


def _settings() -> dict[str, Any]:
    """Return the widgets with which all steps are alike: none of them validates or saves."""
    return {
        "clone.steps": STEPS,
        "clone.epochs": 10_000,
        "clone.validate": NEVER,
        "clone.checkpoint": NEVER,
        "clone.auxiliary": [],
        "clone.second_weight": 0.0,
    }


def _preprocess(data: DataSet, node: ClonePolicy) -> Examples:
    preprocessing = Preprocessing(
        node.brain, node.mirror, node.pictures, node.center, node.box, node.size
    )
    seen = [
        preprocess(Job(data.folder, info, PreprocessingParts.of(preprocessing), ()))
        for info in data.episodes()
    ]
    return Examples(preprocessing, seen)


def plain_loop(node: ClonePolicy, examples: Examples) -> Callable[[], None]:
    """Return a function that takes STEPS steps, as anybody would write them."""
    import torch
    from torch.nn import functional

    frames = torch.from_numpy(examples.frames(np.arange(len(examples))))
    labels = torch.from_numpy(examples.labels)
    channels, height, width = frames.shape[1:]
    config = {
        "channels": channels,
        "height": height,
        "width": width,
        "hidden": node.hidden,
        "convolutions": node.convolutions,
        "layers": node.layers,
        "profiles": node.profiles,
        "actions": int(labels.max()) + 1,
    }
    head = PolicyHead(brain=PolicyHead.new_brain(config, 0))
    head.module = net = head.make_module()
    optimizer = torch.optim.AdamW(
        net.parameters(), lr=node.learning_rate, weight_decay=node.weight_decay
    )

    def steps() -> None:
        for _ in range(STEPS):
            rows = torch.randint(len(labels), (node.batch_size,))
            logits: Any = head.forward(frames[rows].float() / 255)  # type: ignore[arg-type]
            loss = functional.cross_entropy(
                logits, labels[rows], label_smoothing=node.label_smoothing
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    return steps
