"""Transformers' Trainer for a vision-language model that learns to answer with one of its answers.

Nodes that train such models are in `nodes/training/train_vlm.py`.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional
from transformers import (
    EvalPrediction,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from minibrains.errors import MinibrainsError, describe_error
from minibrains.host import Host

WEIGHTS: Final = "learner.safetensors"
"""The file of a checkpoint with everything that learns, beside those of transformers."""
_ROOM: Final = 1 << 20
"""A disk with less free space in bytes is full."""
BETA: Final = 0.05
"""The beta of the smooth L1 loss of auxiliary variables, in deviations: larger errors count
linearly and not with their square, so that small ones still matter."""


@dataclass(frozen=True, kw_only=True)
class AnswerLoss:
    """The loss of a sample."""

    answers: tuple[int, ...]
    """The token of each answer."""
    end: int
    """The token that ends an answer."""
    smoothing: float = 0.0
    """Share of the loss that is about all answers alike."""
    second: float = 0.0
    """Share of the loss that is about the second best answer."""
    auxiliary_weight: float = 0.0
    """Weight of the auxiliary variables."""


class AnswerLearner(nn.Module):
    """A vision-language model that learns to answer, with a head that predicts variables.

    The auxiliary variables are told from the picture's tokens alone, by a layer that no brain has:
    a small model does not learn to look from its answers alone.
    """

    answers: torch.Tensor
    """int64 [answers], the token of each answer."""

    def __init__(self, model: nn.Module, loss: AnswerLoss) -> None:
        """Wrap a model of transformers, or of PEFT, whose parameters that learn require gradients.

        Args:
            model: The model.
            loss: The loss.
        """
        super().__init__()
        self.model = model
        self.loss = loss
        self.auxiliary: nn.Module = nn.Identity()
        self.register_buffer("answers", torch.tensor(loss.answers), persistent=False)
        self.right = self.seen = 0
        """Number of samples answered as labelled since they were counted last, and of all."""
        self._picture: Any = None

    def add_auxiliary_head(
        self, vision_tower: nn.Module, numbers: int, targets: int, seed: int
    ) -> None:
        """Add a layer that tells auxiliary variables from what a part of the model gives out.

        Args:
            vision_tower: The part, whose output is the picture's tokens.
            numbers: How many numbers that is for one picture.
            targets: The number of variables.
            seed: The seed of the layer's weights.
        """
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self.auxiliary = nn.Linear(numbers, targets)
        vision_tower.register_forward_hook(self._look)

    def forward(
        self,
        labels: torch.Tensor,
        seconds: torch.Tensor,
        targets: torch.Tensor,
        inputs: Mapping[str, torch.Tensor],
    ) -> dict[str, torch.Tensor]:
        """Return the loss, and the logits of the answers, f32 [b, answers].

        Args:
            labels: int64 [b], the index of the right answer.
            seconds: int64 [b], the index of the second best one.
            targets: f32 [b, targets], scaled to mean 0 and deviation 1.
            inputs: Those of the model, of which the last token of each row is the right answer.
        """
        # the token before the last one answers, and the last one ends the answer
        logits = self.model(**inputs, use_cache=False, logits_to_keep=2).logits.float()
        log_probs = functional.log_softmax(logits[:, 0], dim=1)[:, self.answers]
        ends = torch.full_like(labels, self.loss.end)
        total = self._answer_loss(log_probs, labels, seconds)
        total = total + functional.cross_entropy(logits[:, 1], ends)
        if not isinstance(self.auxiliary, nn.Identity):
            total = total + self._auxiliary_loss(targets)
        self.right += int((log_probs.argmax(1) == labels).sum())
        self.seen += len(labels)
        return {"loss": total, "logits": log_probs.detach()}

    def _answer_loss(
        self, log_probs: torch.Tensor, labels: torch.Tensor, second_best: torch.Tensor
    ) -> torch.Tensor:
        """Return the mean negative log-likelihood of the right and the second best answers, with
        label smoothing over all answers.

        Args:
            log_probs: f32 [b, answers].
            labels: int64 [b].
            second_best: int64 [b].
        """
        loss = self.loss
        label_nll = -log_probs.gather(1, labels[:, None])[:, 0]
        second_nll = -log_probs.gather(1, second_best[:, None])[:, 0]
        losses = (1 - loss.second) * label_nll + loss.second * second_nll
        losses = (1 - loss.smoothing) * losses - loss.smoothing * log_probs.mean(1)
        return losses.mean()

    def _auxiliary_loss(self, targets: torch.Tensor) -> torch.Tensor:
        predicted = self.auxiliary(self._picture.float().reshape(len(targets), -1))
        distance = functional.smooth_l1_loss(predicted, targets, beta=BETA)
        return self.loss.auxiliary_weight * distance

    def learned(self) -> dict[str, torch.Tensor]:
        """Return the parameters that learn, by name."""
        return {name: each for name, each in self.named_parameters() if each.requires_grad}

    def _look(self, module: nn.Module, given: Any, out: Any) -> None:
        self._picture = out if isinstance(out, torch.Tensor) else out.pooler_output


@dataclass(frozen=True, kw_only=True)
class AnswerTraining:
    """The settings of a training."""

    folder: Path
    """The folder for checkpoints."""
    epochs: int
    """The number of times that each sample is shown."""
    batch_size: int
    """Number of samples that are computed at once."""
    gradient_accumulation_steps: int
    """Number of such batches in a step."""
    learning_rate: float
    """The highest learning rate, which is reached after a tenth of the steps; then it falls as a
    cosine to 0."""
    weight_decay: float
    bf16: bool
    seed: int
    device: str

    def steps(self, samples: int) -> int:
        """Return the number of steps of the optimizer for so many samples.

        The last step of each epoch may be of fewer batches, and its last batch of fewer samples.
        """
        return self.epochs * ceil(
            ceil(samples / self.batch_size) / self.gradient_accumulation_steps
        )


class CheckpointCallback(TrainerCallback):  # type: ignore[misc]
    """Stops transformers' Trainer after some steps, with a validation and a checkpoint."""

    def __init__(self, host: Host, every: int, keep: Callable[[int], None]) -> None:
        """Prepare a training.

        Args:
            host: Receives the progress, and may ask to stop early: then there is a checkpoint
                without a validation.
            every: The number of steps from one checkpoint to the next.
            keep: Is told the step of each checkpoint.
        """
        self._host, self._every, self._keep = host, every, keep
        self._agreement = ""
        """What was found in the last validation."""

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Stop if a checkpoint is due."""
        due = state.global_step % self._every == 0 or state.global_step == state.max_steps
        if due:
            control.should_evaluate = True
        if due or self._host.stopping:
            control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any, **others: Any) -> None:
        """Show the progress."""
        if "eval_agreement" in logs:
            self._agreement = f", last validation: agreement {logs['eval_agreement']:.1%}"
        if "loss" in logs:
            text = f"loss {logs['loss']:.3f}{self._agreement}"
            self._host.progress(state.global_step, state.max_steps, text)

    def on_save(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Keep the checkpoint."""
        self._keep(state.global_step)


class AnswerTrainer(Trainer):  # type: ignore[misc]
    """Transformers' Trainer, which writes only what learns, and refuses a loss that is not finite.

    A checkpoint is a folder `checkpoint-N` of transformers'.
    """

    def __init__(
        self,
        learner: AnswerLearner,
        config: AnswerTraining,
        samples: tuple[Any, Any],
        collate: Callable[[list[Any]], dict[str, Any]],
        callback: TrainerCallback,
        not_finite: Callable[[int, float, Mapping[str, np.ndarray]], Exception],
    ) -> None:
        """Prepare a training.

        Args:
            learner: What learns.
            config: The settings.
            samples: Those to learn from, and those to validate with; both have a length and items.
            collate: Makes a batch of samples, the arguments of `AnswerLearner.forward`.
            callback: Is told of each step, and says when to validate, to save and to stop.
            not_finite: Makes the error for a step, its loss and its batch.
        """
        steps = config.steps(len(samples[0]))
        arguments = TrainingArguments(
            output_dir=str(config.folder),
            max_steps=steps,
            per_device_train_batch_size=config.batch_size,
            per_device_eval_batch_size=max(config.batch_size, 64),
            gradient_accumulation_steps=config.gradient_accumulation_steps,
            learning_rate=config.learning_rate,
            weight_decay=config.weight_decay,
            lr_scheduler_type="cosine",
            warmup_steps=steps // 10,
            optim="adamw_torch",
            bf16=config.bf16,
            seed=config.seed,
            data_seed=config.seed,
            use_cpu=config.device == "cpu",
            logging_steps=1,
            logging_nan_inf_filter=False,
            save_strategy="no",
            save_total_limit=2,
            dataloader_pin_memory=False,
            remove_unused_columns=False,
            label_names=["labels"],
            report_to="none",
            disable_tqdm=True,
        )
        super().__init__(
            model=learner,
            args=arguments,
            train_dataset=samples[0],
            eval_dataset=samples[1],
            data_collator=collate,
            compute_metrics=_validation,
            callbacks=[callback],
        )
        self.remove_callback(PrinterCallback)
        self._not_finite = not_finite

    def compute_loss(self, model: Any, inputs: Any, *others: Any, **named: Any) -> Any:
        """Compute the loss, and refuse one that is NaN or infinite."""
        result = super().compute_loss(model, inputs, *others, **named)
        loss = result[0] if isinstance(result, tuple) else result
        if model.training and not torch.isfinite(loss):
            batch = {name: tensor.numpy(force=True) for name, tensor in _flat(inputs).items()}
            raise self._not_finite(self.state.global_step + 1, loss.item(), batch)
        return result

    def log(self, logs: dict[str, float], *others: Any, **named: Any) -> None:
        """Add the agreement of the batches of a step."""
        learner: AnswerLearner = self.model
        if "loss" in logs:
            logs["agreement"] = learner.right / max(learner.seen, 1)
        learner.right = learner.seen = 0
        super().log(logs, *others, **named)

    def _save_checkpoint(self, *arguments: Any, **named: Any) -> None:
        """Write a checkpoint. Raises OSError, whatever the libraries raise for a full disk."""
        try:
            super()._save_checkpoint(*arguments, **named)
        except (SafetensorError, RuntimeError) as error:
            if shutil.disk_usage(self.args.output_dir).free < _ROOM:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
            raise OSError(" ".join(str(error).split())) from None

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        folder = Path(output_dir or self.args.output_dir)
        os.makedirs(folder, exist_ok=True)
        learned = {name: each.detach() for name, each in self.model.learned().items()}
        save_file(learned, folder / WEIGHTS)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        with _reading(resume_from_checkpoint), torch.no_grad():
            found = load_file(Path(resume_from_checkpoint) / WEIGHTS)
            for name, parameter in self.model.learned().items():
                parameter.copy_(found[name])

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        with _reading(checkpoint):
            super()._load_optimizer_and_scheduler(checkpoint)

    def _load_rng_state(self, checkpoint: str | None) -> None:
        with _reading(checkpoint):
            super()._load_rng_state(checkpoint)


@contextmanager
def _reading(checkpoint: str | None) -> Iterator[None]:
    """Turn whatever is raised for a damaged checkpoint into a MinibrainsError."""
    try:
        yield
    except Exception as error:
        raise MinibrainsError(
            f"{checkpoint} cannot be read, so the training cannot go on: {describe_error(error)}; "
            "choose another name, or remove its folder"
        ) from None


def _flat(inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Return all tensors of a batch, by name."""
    tensors: dict[str, torch.Tensor] = {}
    for name, value in inputs.items():
        if isinstance(value, Mapping):
            tensors.update(_flat(value))
        else:
            tensors[name] = value
    return tensors


def _validation(results: EvalPrediction) -> dict[str, float]:
    """Return cross-entropy over the answers, and agreement."""
    words = results.predictions
    log_probabilities = words - np.logaddexp.reduce(words, axis=1, keepdims=True)
    labels = results.label_ids
    right = np.take_along_axis(log_probabilities, labels[:, None], axis=1)
    return {
        "answers": float(-right.mean()),
        "agreement": float((log_probabilities.argmax(axis=1) == labels).mean()),
    }
