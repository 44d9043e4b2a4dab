"""Checkpoints of trainings: one safetensors file with everything to go on with."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from minibrains import Node
from minibrains.errors import MinibrainsError
from minibrains.files import is_plain_name
from minibrains.values import to_json

if TYPE_CHECKING:
    import torch

Tensors = Mapping[str, "torch.Tensor"]

RESUME: Final = "training.safetensors"
"""The name of the checkpoint in the folder of a training."""
_FORMER: Final[Mapping[str, str]] = {
    "learning_rate": "rate",
    "batch_size": "batch",
    "weight_decay": "decay",
    "gradient_accumulation_steps": "accumulate",
    "total_timesteps": "decisions",
    "n_envs": "environments",
    "n_steps": "steps",
    "n_epochs": "epochs",
    "ent_coef": "entropy",
    "clip_range": "clip",
    "gamma": "discount",
    "gae_lambda": "trace",
    "metric_for_best": "better",
    "patience": "stop_after",
    "max_checkpoints": "most",
    "lr_multipliers": "factors",
    "priority_alpha": "priority",
    "label_smoothing": "smoothing",
    "second_weight": "second",
    "class_weight": "importance",
    "focal_gamma": "focus",
    "mirror": "turn",
}
"""What settings were called in earlier versions of the trainers, in workflows and checkpoints."""


def renamed(*names: str) -> dict[str, str]:
    """Return settings by their former names, as a trainer's `renamed_widgets` has them."""
    return {_FORMER[name]: name for name in names}


def check_training_name(name: str) -> None:
    """Raise MinibrainsError if a training, whose folder is called so, cannot have this name."""
    if not is_plain_name(name):
        raise MinibrainsError(
            f"{name[:100]!r} cannot be the name of a training; "
            "expected the name of a folder, without / and not beginning with a dot"
        )


def check_frozen(freeze: Sequence[str], train: Sequence[str]) -> None:
    """Raise MinibrainsError unless nodes that keep their weights are some, not all, of those that
    are trained.
    """
    unknown = [node for node in freeze if node not in train]
    if unknown:
        raise MinibrainsError(
            f"freeze has {unknown[0]!r}; expected some of train: {', '.join(train)}"
        )
    if set(freeze) >= set(train):
        raise MinibrainsError(
            f"freeze has all of {', '.join(train)}; expected at least one node that learns"
        )


def pack(parts: Mapping[str, Tensors], metadata: Mapping[str, str]) -> bytes:
    """Return a checkpoint as a safetensors file, which `unpack` reads.

    Args:
        parts: Tensors by the name of a part and their own names.
        metadata: Texts for the header.
    """
    from safetensors.torch import save

    tensors: dict[str, torch.Tensor] = {}
    for part, members in parts.items():
        for name, tensor in members.items():
            # it may be a view of a tensor that goes on changing, or that another name has as well
            tensors[f"{part}/{name}"] = tensor.detach().clone().contiguous()
    return save(tensors, dict(metadata))


def unpack(data: bytes) -> tuple[dict[str, dict[str, torch.Tensor]], dict[str, str]]:
    """Return the parts and the metadata of a checkpoint. Raises ValueError if it is none."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(data)
        length = int.from_bytes(data[:8], "little")
        metadata: dict[str, str] = json.loads(data[8 : 8 + length])["__metadata__"]
    except (SafetensorError, KeyError) as error:
        raise ValueError(str(error)) from None

    parts: dict[str, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        part, _, rest = name.partition("/")
        parts.setdefault(part, {})[rest] = tensor
    return parts, metadata


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Return the moments of an optimizer, by the number of the parameter and their name."""
    tensors: dict[str, torch.Tensor] = {}
    for index, moments in optimizer.state_dict()["state"].items():
        for name, tensor in moments.items():
            tensors[f"{index}/{name}"] = tensor
    return tensors


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Give an optimizer the moments that `optimizer_tensors` has returned."""
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        index, _, rest = name.partition("/")
        moments.setdefault(int(index), {})[rest] = tensor
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": moments, "param_groups": groups})


def resume(path: Path, load: Callable[[bytes], None]) -> None:
    """Read a checkpoint, and go on from it.

    Args:
        path: The file.
        load: Goes on from its bytes; raises ValueError if it cannot read them.

    Raises:
        MinibrainsError: It cannot be read.
    """
    try:
        load(path.read_bytes())
    except (OSError, ValueError) as error:
        raise MinibrainsError(
            f"{path} cannot be read, so the training cannot go on: {error}; "
            "choose another name, or remove its folder"
        ) from None


def settings_of(node: Node, free: Collection[str]) -> dict[str, Any]:
    """Return the widgets of a trainer on which the course of its training depends, as in JSON.

    Args:
        node: The trainer.
        free: The names of widgets on which it does not depend.
    """
    settings: dict[str, Any] = {}
    for name in sorted(node.schema.widgets.keys() - set(free)):
        settings[name] = to_json(getattr(node, name))
    return settings


def environment_of(node: Any, sha256: str) -> dict[str, Any]:
    """Return what the header of a brain says of the workflow in which it was trained: its name and
    hash, and the widgets and brains that were changed in it.

    Args:
        node: The trainer.
        sha256: The hash.
    """
    return {
        "workflow": node.workflow,
        "sha256": sha256,
        "widgets": to_json(node.widgets),
        "brains": dict(node.brains),
    }


def check_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Compare what a training depended on with what it depends on now. A setting that is newer
    than the checkpoint is not compared.

    Raises MinibrainsError if they differ, because it would not be the same training.
    """
    for name, value in now.items():
        known_as = name if name in before else _FORMER.get(name, name)
        if known_as not in before:
            continue
        earlier = before[known_as]
        if earlier != value:
            what = f"with {name} {_short(earlier)} instead of {_short(value)}"
            if name == "data_sha256":
                what = "with a data set that has changed since, or another one"
            raise MinibrainsError(
                f"another training has this name, {what}; choose another name, or remove its folder"
            )


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    if len(text) > 80:
        return text[:80] + "…"
    return text


@contextmanager
def writing(folder: Path, saved: int) -> Iterator[None]:
    """Turn an OSError of what is written inside into a MinibrainsError.

    Args:
        folder: The folder of the training.
        saved: The step of the last checkpoint; -1: there is none.
    """
    try:
        yield
    except OSError as error:
        last = "there is no checkpoint yet"
        if saved >= 0:
            last = f"the checkpoint of step {saved} is good"
        raise MinibrainsError(
            f"{folder} cannot be written: {error.strerror or error}; {last}; "
            "make room, then run the workflow again, and the training goes on"
        ) from None
