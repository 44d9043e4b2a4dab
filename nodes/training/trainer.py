"""Behaviour cloning: a network learns to choose as a teacher would."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import cos, pi
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from minibrains.errors import DataError, MinibrainsError
from nodes.policies.network import FrameNetwork
from nodes.training.checkpoint import (
    check_same,
    load_optimizer,
    optimizer_tensors,
    pack,
    unpack,
)
from nodes.training.examples import Examples
from nodes.training.objectives import Objective
from nodes.training.replay import PrioritizedReplay

if TYPE_CHECKING:
    import torch
    from torch import nn

CURVES: Final = ("step", "loss", "agreement", "rate")
"""One entry for each step: its number from 1, loss and agreement of its batch, learning rate."""
VALIDATIONS: Final = ("step", "loss", "agreement")
"""One entry for each validation."""
AUXILIARY_BETA: Final = 0.05
"""The beta of the smooth L1 loss of auxiliary variables, in deviations: larger errors count
linearly and not with their square, so that small ones still matter."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The settings of a training; see the widgets of ClonePolicy."""

    seed: int
    epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    precision: str
    freeze: tuple[str, ...]
    lr_multipliers: Mapping[str, float]
    auxiliary_weight: float
    validate: int
    patience: int
    metric_for_best: str
    priority_alpha: float


@dataclass
class Trainer:
    """A training: the network, what it learns from, and how far it is.

    The order of the samples follows from the seed and the number of the step, and nothing else is
    random once the network is there. So a training that goes on from `pack` is equal to one that
    was not interrupted.
    """

    config: TrainingConfig
    head: FrameNetwork
    """The node whose network learns, from the weights of its brain on. It need not be opened."""
    objective: Objective
    training: Examples
    validation: Examples
    step: int = 0
    """Number of steps that are done."""
    curves: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in CURVES})
    validations: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in VALIDATIONS}
    )
    finished: bool = False
    best: dict[str, torch.Tensor] = field(default_factory=dict)
    """The weights of the best validation."""
    majority: float = field(init=False)
    """The share of the validation's samples in which the commonest answer of the training is
    right."""

    def __post_init__(self) -> None:
        import torch
        from torch import nn

        config = self.config
        self.head.module = self.head.make_module()
        # the colours of a pixel side by side: convolutions take a fifth less time
        self.net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.replay: PrioritizedReplay | None = None
        if config.priority_alpha:
            self.replay = PrioritizedReplay(len(self.training), config.priority_alpha)
        answers = self.objective.answers(self.training)
        found, counts = np.unique(answers, axis=0, return_counts=True)
        right = self.objective.answers(self.validation) == found[counts.argmax()]
        self.majority = float(right.all(axis=1).mean())
        self.steps_of_epoch = max(len(self.training) // config.batch_size, 1)
        self.steps = self.steps_of_epoch * config.epochs

        # what is guessed beside the action is scaled to mean 0 and deviation 1
        targets = self.training.targets
        self.mean, self.deviation = targets.mean(axis=0), targets.std(axis=0) + 1e-3
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(config.seed)
            self.auxiliary: nn.Module = nn.Identity()
            if targets.shape[1]:
                self.auxiliary = nn.Linear(self._output.in_features, targets.shape[1])

        groups: dict[float, list[nn.Parameter]] = {}
        for name, parameter in self._named_parameters():
            parameter.requires_grad_(not name.startswith(config.freeze))
            if parameter.requires_grad:
                groups.setdefault(self._factor(name), []).append(parameter)
        self._check_prefixes()
        self.optimizer = torch.optim.AdamW(
            [{"params": groups[factor], "factor": factor} for factor in sorted(groups)],
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
        )

    def train(self) -> None:
        """Take one step.

        Raises:
            NotFiniteError: The loss is NaN or infinite; it has the batch.
        """
        import torch
        from torch.nn import functional

        config = self.config
        rate = config.learning_rate * one_cycle(self.step / self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["factor"]

        rows, weights = self._batch()
        frames = normalised(self.training.frames(rows))
        scaled = (self.training.targets[rows] - self.mean) / self.deviation

        # the weights, the last layer and the loss remain f32
        with torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bf16"):
            hidden = self.head.last_hidden(frames)
        hidden = hidden.float()
        logits = self._output(hidden)
        losses = self.objective.losses(logits, self.training, rows)
        if self.replay is not None:
            self.replay.update(rows, losses.detach().numpy())
        if scaled.size:
            guessed = self.auxiliary(hidden)
            targets = torch.from_numpy(scaled)
            away = functional.smooth_l1_loss(
                guessed, targets, beta=AUXILIARY_BETA, reduction="none"
            )
            losses = losses + config.auxiliary_weight * away.mean(1)
        loss = (weights * losses).mean()
        if not torch.isfinite(loss):
            batch = {
                "rows": rows,
                "frames": self.training.frames(rows),
                "labels": self.training.labels[rows],
                "targets": self.training.targets[rows],
            }
            raise NotFiniteError(self.step + 1, loss.item(), batch)

        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

        self.step += 1
        agreement = self.objective.agrees(logits, self.training, rows).float().mean()
        now = (self.step, loss.item(), agreement.item(), rate)
        for name, value in zip(CURVES, now, strict=True):
            self.curves[name].append(value)
        if self.step % config.validate == 0 or self.step == self.steps:
            self._validate()

    def _validate(self) -> None:
        """Measure the network on matches that it does not learn from, and keep the best one."""
        import torch

        losses, right = 0.0, 0
        with torch.no_grad():
            for start in range(0, len(self.validation), 256):
                rows = np.arange(start, min(start + 256, len(self.validation)))
                frames = normalised(self.validation.frames(rows))
                logits = self.head.logits(frames)
                losses += float(self.objective.nll(logits, self.validation, rows))
                right += int(self.objective.agrees(logits, self.validation, rows).sum())
        count = len(self.validation)
        for name, value in zip(
            VALIDATIONS, (self.step, losses / count, right / count), strict=True
        ):
            self.validations[name].append(value)

        index = self.best_validation
        if index == len(self.validations["step"]) - 1:
            self.best = {name: tensor.clone() for name, tensor in self.net.state_dict().items()}
        since = len(self.validations["step"]) - 1 - index
        goes_on = not self.config.patience or since < self.config.patience
        self.finished = self.step == self.steps or not goes_on

    @property
    def best_validation(self) -> int:
        """The index of the best validation."""
        return best_validation(self.validations, self.config.metric_for_best)

    @property
    def net(self) -> nn.ModuleDict:
        """The network that learns."""
        module: nn.ModuleDict = self.head.module
        return module

    @property
    def _output(self) -> nn.Linear:
        """The network's last layer, from the last hidden one to the logits."""
        output: Any = self.net["output"]
        return output  # type: ignore[no-any-return]

    def _batch(self) -> tuple[np.ndarray, torch.Tensor]:
        """Return the rows of the next batch, and how much each of them counts: float32 [batch].

        Without replay, each epoch shows all samples in an order of its own, and leaves the last few
        out.
        """
        import torch

        config = self.config
        if self.replay is not None:
            rng = np.random.default_rng([config.seed, self.step])
            rows, weights = self.replay.draw(rng, config.batch_size, self.step / self.steps)
            return rows, torch.from_numpy(weights)
        epoch, index = divmod(self.step, self.steps_of_epoch)
        order = np.random.default_rng([config.seed, epoch]).permutation(len(self.training))
        rows = order[index * config.batch_size :][: config.batch_size]
        return rows, torch.ones(len(rows))

    def _named_parameters(self) -> list[tuple[str, nn.Parameter]]:
        return [*self.net.named_parameters(), *self.auxiliary.named_parameters("auxiliary")]

    def _factor(self, name: str) -> float:
        """Return the learning-rate factor of a parameter: that of the longest prefix."""
        prefixes = [prefix for prefix in self.config.lr_multipliers if name.startswith(prefix)]
        if not prefixes:
            return 1.0
        return self.config.lr_multipliers[max(prefixes, key=len)]

    def _check_prefixes(self) -> None:
        names = [name for name, _ in self._named_parameters()]
        for prefix in (*self.config.freeze, *self.config.lr_multipliers):
            if not any(name.startswith(prefix) for name in names):
                raise MinibrainsError(
                    f"no parameter begins with {prefix!r}; expected the beginning of some of "
                    f"{', '.join(names)}"
                )
        if not any(parameter.requires_grad for _, parameter in self._named_parameters()):
            raise MinibrainsError(
                f"freeze is {list(self.config.freeze)}, which are all parameters; "
                "expected at least one that learns"
            )

    # -- going on

    def pack(self, about: Mapping[str, Any]) -> bytes:
        """Return the whole training but its data, as a safetensors file; it is read by `unpack`.

        Args:
            about: What the training depends on; JSON.
        """
        import torch

        parts = {
            "net": self.net.state_dict(),
            "auxiliary": self.auxiliary.state_dict(),
            "best": self.best,
            "optimizer": optimizer_tensors(self.optimizer),
            "curves": _as_tensors(self.curves),
            "validations": _as_tensors(self.validations),
        }
        if self.replay is not None:
            parts["replay"] = {
                "priorities": torch.from_numpy(self.replay.priorities),
                "seen": torch.from_numpy(self.replay.seen),
            }
        metadata = {
            "about": json.dumps(about, sort_keys=True),
            "step": str(self.step),
            "finished": json.dumps(self.finished),
        }
        return pack(parts, metadata)

    def unpack(self, data: bytes, about: Mapping[str, Any]) -> None:
        """Go on from where a training was packed.

        Raises:
            MinibrainsError: It depends on something else than `about`.
            ValueError: It is no such file.
        """
        parts, metadata = unpack(data)
        check_same(_read_about(metadata), about)
        self.net.load_state_dict(parts["net"])
        self.auxiliary.load_state_dict(parts.get("auxiliary", {}))
        self.best = parts.get("best", {})
        load_optimizer(self.optimizer, parts.get("optimizer", {}))
        self.curves = {name: parts["curves"][name].tolist() for name in CURVES}
        self.validations = {name: parts["validations"][name].tolist() for name in VALIDATIONS}
        if self.replay is not None:
            self.replay.priorities = parts["replay"]["priorities"].numpy()
            self.replay.seen = parts["replay"]["seen"].numpy()
        self.step = int(metadata["step"])
        self.finished = json.loads(metadata["finished"])


def check_resumable(data: bytes, about: Mapping[str, Any]) -> None:
    """Check that a packed training depends on the same as the one that is to go on from it.

    Raises:
        MinibrainsError: It depends on something else than `about`.
        ValueError: It is no packed training.
    """
    _, metadata = unpack(data)
    check_same(_read_about(metadata), about)


def _read_about(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return what a packed training depends on. Raises ValueError if it is none."""
    try:
        about: dict[str, Any] = json.loads(metadata["about"])
    except KeyError as error:
        raise ValueError(str(error)) from None
    return about


class NotFiniteError(MinibrainsError):
    """A loss is NaN or infinite."""

    def __init__(self, step: int, loss: float, batch: Mapping[str, np.ndarray]) -> None:
        """Remember the batch: arrays by name."""
        super().__init__(f"the loss of step {step} is {loss}")
        self.step = step
        self.batch = batch

    def save(self, path: Path) -> None:
        """Write the batch into a file that `numpy.load` reads. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **self.batch)  # type: ignore[arg-type]  # none is a bool

    def kept_in(self, path: Path) -> MinibrainsError:
        """Return the error for people, after `save`."""
        return MinibrainsError(
            f"{self}, expected a number; its batch is in {path}; "
            "lower the learning_rate, and remove or keep the checkpoints before it"
        )


def normalised(frames: np.ndarray) -> torch.Tensor:
    """Return frames, uint8 [n, channels, height, width], as FrameStack shows them with a mean of 0
    and a deviation of 1: float32, 0 to 1.
    """
    import torch

    # turned round as bytes, which are a quarter as many
    shown = torch.from_numpy(frames).contiguous(memory_format=torch.channels_last)
    return shown.float().div_(255)


def has_bf16() -> bool:
    """Return whether this processor has instructions for bf16; True if that is not known."""
    import torch

    find = getattr(torch.cpu, "get_capabilities", None)  # older versions of torch lack it
    found = find() if find else {}
    if found.get("architecture") != "x86_64":
        return True
    return bool(found.get("avx512_bf16") or found.get("amx_bf16"))


def one_cycle(done: float) -> float:
    """Return the share of the highest learning rate: it rises from 1/25 for 30 % of the training,
    and falls to 0.

    Args:
        done: The share of the training that is done, 0 to 1.

    Source: L. N. Smith and N. Topin, Super-convergence: very fast training of neural networks using
        large learning rates, 2018, arXiv:1708.07120.
    """
    if done < 0.3:
        return 0.04 + 0.96 * (1 - cos(pi * done / 0.3)) / 2
    return (1 + cos(pi * (done - 0.3) / 0.7)) / 2


def best_validation(validations: Mapping[str, Sequence[float]], better: str) -> int:
    """Return the index of the best validation: the first with the least loss or most agreement.

    Args:
        validations: The curves VALIDATIONS, not empty.
        better: "loss" or "agreement".
    """
    if better == "loss":
        return int(np.argmin(validations["loss"]))
    return int(np.argmax(validations["agreement"]))


def validation_metrics(validations: Mapping[str, Sequence[float]], index: int) -> dict[str, float]:
    """Return the figures of a validation for the header of a brain."""
    return {
        "best_step": int(validations["step"][index]),
        "validation_loss": round(validations["loss"][index], 6),
        "validation_agreement": round(validations["agreement"][index], 6),
    }


def count_labels(labels: Sequence[int] | np.ndarray, actions: tuple[str, ...]) -> dict[str, int]:
    """Return the number of labels of each action that there is, by name."""
    counts = np.bincount(np.asarray(labels), minlength=len(actions)).tolist()
    return {name: count for name, count in zip(actions, counts, strict=True) if count}


def check_training(examples: Examples, what: str) -> None:
    """Raise DataError if there is nothing to learn from, or to validate with."""
    if not len(examples):
        raise DataError(
            f"the matches {what} have no sample in which an action has an effect; "
            "expected actionable to be linked where the data was collected"
        )


def _as_tensors(curves: Mapping[str, Sequence[float]]) -> dict[str, torch.Tensor]:
    import torch

    return {name: torch.tensor(values, dtype=torch.float64) for name, values in curves.items()}
