"""The benchmark `bench thoughts`: how long real-sized language models of each family think, with
random weights.
"""

from __future__ import annotations

import gc
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Any, Final, NamedTuple, get_args

import numpy as np

from minibrains.brain_file import hash_file
from minibrains.errors import MinibrainsError
from minibrains.loading import BrainRef
from minibrains.torch_node import Device, find_device
from nodes.language.answering import LocalModel, Question, raised
from nodes.language.asking import Pretrained
from nodes.language.placement import Placement, Precision, megabytes, place
from nodes.language.pretrained import VLMBrain
from server.commands.bench.measure import take_turns
from server.commands.bench.published_models import PublishedModel
from server.commands.bench.random_models import RandomModel

DEVICE: Final = "auto"
PRECISIONS: Final = ("bf16", "nf4")
SECONDS: Final = 10.0
"""Seconds for which thoughts about a picture are measured."""
REPEATS: Final = 5
"""The smallest number of thoughts of each length."""
SIZES: Final = ((64, 192), (360, 480))
"""Heights and widths of the pictures: the one that sf2 shows its model, and a usual one."""
PROMPT: Final = (
    "You play a fighting game; the picture shows the fight. You: 120 hp. Other: 95 hp, near, "
    "jumping. Actions: 0 wait, 1 jump, 2 crouch, 3 punch. Which one?"
)
"""A question of 151 tokens, because each byte is one; those of sf2_ram_text have about as many."""
ANSWERS: Final = ("0", "1", "2", "3")
MAX_TOKENS: Final = 8
"""The number of tokens of the longer thought."""
_FAILURES: Final = (MinibrainsError, MemoryError, RuntimeError)
"""What is raised for a model that cannot be loaded or asked: torch's errors of an accelerator
without enough memory are RuntimeErrors."""


class Latency(NamedTuple):
    """The times of a thought, in milliseconds, for a row of the table."""

    tokens: int | None
    """The number of tokens of the question, with its picture."""
    repeats: int
    first_ms: float | None
    first_p95_ms: float | None
    first_cpu_ms: float | None
    eight_ms: float | None
    eight_p95_ms: float | None
    eight_cpu_ms: float | None


_NO_LATENCY: Final = Latency(None, 0, None, None, None, None, None, None)


def run(
    models: Mapping[str, PublishedModel], device: str, precisions: Sequence[str], seconds: float
) -> dict[str, Any]:
    """Return `{"cases": [{"model", "family", "parameters", "precision", "mb", "picture", "tokens",
    "repeats", "first_ms", "first_p95_ms", "first_cpu_ms", "eight_ms", "eight_p95_ms",
    "eight_cpu_ms", "not_measured"}], "device"}`: a row for each model, precision and picture.

    Each model is made with random weights, written into a temporary folder, and loaded and asked as
    VLMStrategist and LLMStrategist do. The first token is that of a chosen answer; the longer
    thought generates 8 tokens. Both take turns. Times are medians, and those within which 95 % of
    the repeats ended; `cpu` is the time in which the thread computed, which on a busy machine is
    less. `parameters` is in millions, `mb` the memory that the weights take when they are loaded,
    and `picture` height and width, None if the model sees nothing. Of a model that cannot be loaded
    or asked, `not_measured` is a sentence with the reason, and what was not found out is None.

    Args:
        models: The models, by their names.
        device: A name for `find_device`.
        precisions: The types of numbers to compute in.
        seconds: How long to measure for each row; at least 5 thoughts of each length.

    Raises:
        MinibrainsError: There is no such device here, or no such precision at all.
    """
    if device not in get_args(Device):
        raise MinibrainsError(
            f"there is no device {device!r}; expected one of {', '.join(get_args(Device))}"
        )
    for precision in precisions:
        if precision not in get_args(Precision):
            raise MinibrainsError(
                f"there is no precision {precision!r}; "
                f"expected one of {', '.join(get_args(Precision))}"
            )
    found = find_device(device)
    rows: list[dict[str, Any]] = []
    for name, model in models.items():
        rows += _measure_model(name, model, str(found), precisions, seconds)
    return {"cases": rows, "device": _describe(found)}


def _measure_model(
    name: str, model: PublishedModel, device: str, precisions: Sequence[str], seconds: float
) -> list[dict[str, Any]]:
    """Return the rows of a model."""
    made = RandomModel(model.model_type, model.size)
    about = {
        "model": name,
        "family": model.family,
        "parameters": round(made.parameters / 1e6),
    }
    rows: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.safetensors"
        for precision in precisions:
            for row in _measure_precision(made, path, device, precision, seconds):
                rows.append(about | row)
            _free_memory()
    return rows


def _measure_precision(
    made: RandomModel, path: Path, device: str, precision: Any, seconds: float
) -> list[dict[str, Any]]:
    """Return the rows of a model in one precision, without what is known of the model.

    Args:
        made: The model.
        path: Its file, which is written unless it is there already.
        device: A name for `find_device`.
        precision: The type of numbers to compute in.
        seconds: How long to measure for each row.
    """
    try:
        placement = place(device, precision)
        model, size = _load(made, path, placement)
    except _FAILURES as error:
        return [_row(precision, None, None, _NO_LATENCY, _reason(error, path))]
    pictures: Sequence[tuple[int, int] | None] = (None,)
    if made.sees:
        pictures = SIZES
    rows: list[dict[str, Any]] = []
    for picture in pictures:
        latency, reason = _NO_LATENCY, ""
        try:
            latency = _measure(model, picture, seconds)
        except _FAILURES as error:
            reason = _reason(error, path)
        rows.append(_row(placement.precision, size, picture, latency, reason))
    return rows


def _load(made: RandomModel, path: Path, placement: Placement) -> tuple[LocalModel, int]:
    """Return a model, and the memory of its weights in MB, after writing its file if it is not
    there yet.

    Raises one of _FAILURES.
    """
    placement.check_room(VLMBrain.memory_sizes(made.tensors))
    if not path.exists():
        _write(made, path)
    loaded: list[Pretrained] = []

    # not into the cache of the process: there may not be room for the next model beside it
    def load(ref: BrainRef, what: str, make: Callable[[BrainRef], Any]) -> Any:
        loaded.append(make(ref))
        return loaded[-1]

    model = LocalModel(BrainRef(str(path), hash_file(path)), placement, ANSWERS, load)
    return model, round(loaded[0].model.get_memory_footprint() / 1e6)


def _free_memory() -> None:
    """Free the memory of models that are no longer used, on the accelerator as well."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _row(
    precision: str,
    megabytes_taken: int | None,
    picture: tuple[int, int] | None,
    latency: Latency,
    reason: str,
) -> dict[str, Any]:
    return {
        "precision": precision,
        "mb": megabytes_taken,
        "picture": "x".join(map(str, picture)) if picture else None,
        **latency._asdict(),
        "not_measured": reason,
    }


def _write(made: RandomModel, path: Path) -> None:
    """Write the file of a model. Raises MinibrainsError if the disk has no room for it."""
    free = shutil.disk_usage(path.parent).free
    if made.file_size > free:
        raise MinibrainsError(
            f"its file takes {megabytes(made.file_size)}, and {path.parent.parent} has "
            f"{megabytes(free)} of free space; set TMPDIR to a folder on a larger disk"
        )
    made.write(path, ANSWERS)


def _measure(model: LocalModel, size: tuple[int, int] | None, seconds: float) -> Latency:
    """Return the times of a model's thoughts about a picture. Raises what the model raises."""
    picture = None
    if size is not None:
        picture = np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8)
    cpu: dict[int, list[float]] = {0: [], MAX_TOKENS: []}

    def think(max_tokens: int) -> int:
        began = thread_time()
        (reply,) = model.answer([Question(picture, PROMPT, (), max_tokens)])
        cpu[max_tokens].append(thread_time() - began)
        return int(raised(reply).tokens)

    works = {"first": partial(think, 0), "eight": partial(think, MAX_TOKENS)}
    tokens = think(MAX_TOKENS)
    think(0)
    for times in cpu.values():
        times.clear()
    taken = take_turns(works, REPEATS, seconds)
    first, eight = taken["first"], taken["eight"]
    return Latency(
        tokens,
        len(first),
        _milliseconds(median(first)),
        _milliseconds(_p95(first)),
        _milliseconds(median(cpu[0])),
        _milliseconds(median(eight)),
        _milliseconds(_p95(eight)),
        _milliseconds(median(cpu[MAX_TOKENS])),
    )


def _p95(seconds: Sequence[float]) -> float:
    """Return the shortest time within which 95 % of the repeats ended."""
    return sorted(seconds)[math.ceil(0.95 * len(seconds)) - 1]


def _milliseconds(seconds: float) -> float:
    return round(1e3 * seconds, 1)


def _reason(error: BaseException, path: Path) -> str:
    """Return why a model was not measured, in one line without the name of its file."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text.replace(f"{path}: ", "")


def _describe(device: Any) -> str:
    """Return the name of a device for people."""
    import platform

    import torch

    if device.type == "cuda":
        name: str = torch.cuda.get_device_name(device)
        return name
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, name = line.partition(":")
            if key.strip() == "model name":
                return name.strip()
    return platform.processor() or str(device)
