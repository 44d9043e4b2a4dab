"""TrainVLM and TrainLoRA: a vision-language model learns to answer as a teacher would act."""

from __future__ import annotations

import json
import warnings
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple

from minibrains import (
    Brain,
    Episode,
    Host,
    MinibrainsError,
    widget,
)
from minibrains.errors import DataError
from minibrains.files import home, write_atomic
from minibrains.tensors import as_array, torch_dtype
from minibrains.torch_node import Device, find_device, limit_threads
from nodes.language.asking import Pretrained
from nodes.language.lora import LoraAdapter
from nodes.language.model_files import FAMILIES
from nodes.language.pretrained import (
    VLMBrain,
    load_pretrained,
    silence_transformers,
    weights_of,
)
from nodes.training import curves
from nodes.training.checkpoint import check_same, renamed, resume, settings_of, writing
from nodes.training.data_set import DataSet
from nodes.training.episode_file import EpisodeInfo, load_arrow
from nodes.training.examples import hash_data, lineage, split
from nodes.training.imitation import NOTHING_YET, Imitation, Learning
from nodes.training.trainer import (
    CURVES,
    VALIDATIONS,
    NotFiniteError,
    best_validation,
    count_labels,
    validation_metrics,
)
from nodes.training.vlm_samples import BatchReader, VLMSamples

if TYPE_CHECKING:
    from minibrains.training.answers import (
        AnswerLearner,
        AnswerLoss,
        AnswerTrainer,
        AnswerTraining,
    )

LATEST: Final = "training.json"
"""The file in the folder of a training with what it depends on and its last complete checkpoint."""
_FREE: Final = {"name", "device", "title", "license"}
"""Widgets on which the course of a training does not depend."""
_STATE: Final = "trainer_state.json"
"""The file of a checkpoint with the curves."""

_SINCE_VERSION_3: Final = renamed("label_smoothing", "second_weight", "metric_for_best", "patience")


class _Data(NamedTuple):
    """The data sets, split."""

    infos: list[EpisodeInfo]
    """The episodes of `data`."""
    training: VLMSamples
    validation: VLMSamples
    answers: tuple[str, ...]
    """The answers that the model chooses from: numbers of actions."""
    instructed: Mapping[str, Mapping[str, Any]]
    """For each data set of `instructions` what the header of a brain says of it."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of all actions."""
        return self.infos[0].actions


class VLMTraining(Imitation, abstract=True):
    """The common part of trainings of a vision-language model.

    validation_loss:  cross-entropy over the answers, on the matches that are not learned from,
        after each validation
    """

    _makes: ClassVar[type[Brain]]
    """The kind of brain that is made."""

    brain: VLMBrain
    prompts: tuple[str, ...] = widget(
        rebuild=True,
        doc="the question; with several, each sample is asked one of them, so that the model "
        "learns to read; {actions} stands for the last three actions, and {actions:5} for the last "
        "five, as in ActionHistory; {prompt} for the prompt of the sample itself",
    )
    instructions: Mapping[str, tuple[str, ...]] = widget(
        default=MappingProxyType({}),
        rebuild=True,
        doc="further data sets of another way to act, each with the questions that its samples are "
        "asked, such as an instruction to attack: the model learns to follow it",
    )
    label_smoothing: float = widget(
        default=0.02, min=0.0, max=1.0, rebuild=True, doc="share of the loss about all answers"
    )
    second_weight: float = widget(
        default=0.1,
        min=0.0,
        max=0.5,
        rebuild=True,
        doc="share of the loss that is about the teacher's second best action",
    )
    device: Device = widget(
        default="cpu", rebuild=True, doc='where it computes; "auto": an accelerator if there is one'
    )
    validation_samples: int = widget(
        default=2000,
        min=1,
        rebuild=True,
        doc="the most samples of these matches that a validation asks about",
    )
    checkpoint: int = widget(
        default=200,
        min=1,
        rebuild=True,
        doc="number of steps from one checkpoint, with its validation, to the next",
    )

    def check(self) -> None:
        super().check()
        _check_questions("prompts", self.prompts)
        for name, questions in self.instructions.items():
            DataSet.named(name)
            _check_questions(f"instructions of {name}", questions)

    def open(self, host: Host) -> None:
        load_arrow()  # a missing package is refused now, not after an hour
        curves.load_pyplot()
        silence_transformers()
        import minibrains.training.answers  # noqa: F401  # takes a while

        if self.brain.ref is None:
            raise MinibrainsError("this model has no file to be loaded from; save it first")
        limit_threads(self.threads)
        self._host, self._ref = host, self.brain.ref
        self._folder = home() / "training" / self.name
        self._data_set = DataSet.named(self.data)
        self._data: _Data | None = None
        self._about: dict[str, Any] = {}
        self._trainer: AnswerTrainer | None = None
        self._saved = -1
        """The step of the last checkpoint."""
        self._events = curves.Events(self._folder / "events")

    def reset(self, episode: Episode) -> None:
        super().reset(episode)
        self._trainer, self._saved = None, -1

    def latch(self) -> None:
        if self._trainer is None:
            self._begin()
        else:
            self._learn(self._trainer)

    def report(self) -> Mapping[str, Any]:
        if getattr(self, "_trainer", None) is None or not self._history(VALIDATIONS)["step"]:
            return {}
        return {"steps": self._saved, **self._metrics()}

    def close(self) -> None:
        if hasattr(self, "_events"):
            self._events.close()

    def state(self) -> dict[str, Any]:
        """Return the whole training but its data: the files of its last checkpoint."""
        files: dict[str, bytes] = {}
        if self._saved >= 0:
            for path in (*sorted(self._checkpoint.rglob("*")), self._folder / LATEST):
                if path.is_file():
                    files[str(path.relative_to(self._folder))] = path.read_bytes()
        return {"now": tuple(self.now), "has_begun": self._trainer is not None, "files": files}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.now = Learning(*state["now"])
        self._trainer, self._saved = None, -1
        (self._folder / LATEST).unlink(missing_ok=True)
        for name, data in state["files"].items():
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data)
        if state["has_begun"]:
            self._begin()

    # -- for the two trainings

    @abstractmethod
    def _settings(self) -> AnswerTraining:
        """Return the settings of the trainer."""

    @abstractmethod
    def _answers_to(self, labels: Collection[int]) -> tuple[str, ...]:
        """Return the answers that the model chooses from.

        Args:
            labels: The actions that are right somewhere.
        """

    @abstractmethod
    def _make_learner(self, asked: Pretrained, data: _Data, reader: BatchReader) -> AnswerLearner:
        """Return what learns."""

    @abstractmethod
    def _brain_of(self, learner: AnswerLearner) -> Brain:
        """Return what has been learned, as a brain that can be played."""

    def _training(
        self, epochs: int, batch_size: int, gradient_accumulation_steps: int, learning_rate: float
    ) -> AnswerTraining:
        """Return the settings of the trainer: these, and those that both trainings have."""
        from minibrains.training.answers import AnswerTraining

        return AnswerTraining(
            folder=self._folder,
            epochs=epochs,
            batch_size=batch_size,
            gradient_accumulation_steps=gradient_accumulation_steps,
            learning_rate=learning_rate,
            weight_decay=self.weight_decay,
            bf16=self.precision == "bf16",
            seed=self.seed,
            device=str(find_device(self.device)),
        )

    def _loss(
        self, asked: Pretrained, reader: BatchReader, auxiliary_weight: float = 0.0
    ) -> AnswerLoss:
        from minibrains.training.answers import AnswerLoss

        return AnswerLoss(
            answers=reader.tokens,
            end=asked.tokenizer.eos_token_id,
            smoothing=self.label_smoothing,
            second=self.second_weight,
            auxiliary_weight=auxiliary_weight,
        )

    # -- beginning

    def _begin(self) -> None:
        """Read the data, and make the training, which goes on from the last checkpoint."""
        self._host.progress(0, None, "the data set is read")
        data = self._data = self._read()
        self._about = {
            "data_sha256": hash_data(self._data_set, data.infos),
            "instructed": data.instructed,
            "model_sha256": self._ref.sha256,
            **settings_of(self, _FREE),
        }
        asked = load_pretrained(self._ref)
        targets = data.training.targets
        reader = BatchReader(asked, data.answers, targets.mean(axis=0), targets.std(axis=0) + 1e-3)
        self._trainer = self._make_trainer(self._make_learner(asked, data, reader), reader)
        latest = self._folder / LATEST
        if latest.exists():
            resume(latest, self._read_latest)
            self._host.say(f"the training {self.name} goes on after step {self._saved}")
        self._events.begin(max(self._saved, 0))

    def _read(self) -> _Data:
        infos = self._data_set.episodes(game=self.game or None)
        sides = self._read_sides(self._data_set, infos, self.prompts)
        instructed: dict[str, dict[str, Any]] = {}
        for name, questions in self.instructions.items():
            further = DataSet.named(name)
            others = further.episodes(infos[0].game, infos[0].actions)
            for side, added in zip(
                sides, self._read_sides(further, others, questions), strict=True
            ):
                side.add(added)
            instructed[name] = {
                "questions": list(questions),
                "episodes": len(others),
                "sha256": hash_data(further, others),
            }
        labels = {*sides[0].labels.tolist(), *sides[1].labels.tolist()}
        answers = self._answers_to(labels)
        self._leave_out_others(sides, answers, infos[0].actions)
        return _Data(infos, sides[0], sides[1], answers, instructed)

    def _read_sides(
        self, data: DataSet, infos: Sequence[EpisodeInfo], prompts: Sequence[str]
    ) -> list[VLMSamples]:
        """Return the samples of a data set to learn from, and those to validate with."""
        sides: list[VLMSamples] = []
        for side in split(infos, self.validation, self.seed):
            sides.append(VLMSamples(data, side, prompts, self._auxiliary, self.seed))
        return sides

    def _leave_out_others(
        self, sides: Sequence[VLMSamples], answers: Collection[str], actions: tuple[str, ...]
    ) -> None:
        """Leave out the samples with an action that is not an answer of the model, and say so.

        Raises DataError if none is left to learn from, or to validate with.
        """
        others: set[str] = set()
        count = 0
        for side in sides:
            for label in set(side.labels.tolist()):
                if str(label) not in answers:
                    others.add(actions[label])
            count += side.leave_out_others([int(answer) for answer in answers])
        if not others:
            return
        names = ", ".join(sorted(others))
        if not all(sides):
            raise DataError(
                f"the data set {self.data} has the actions {names}, which are not answers of the "
                "model; expected a model that was trained on the same actions"
            )
        self._host.say(
            f"left out {count} samples whose actions are not answers of the model: {names}"
        )

    @property
    def _auxiliary(self) -> tuple[str, ...]:
        return ()

    def _make_trainer(self, learner: AnswerLearner, reader: BatchReader) -> AnswerTrainer:
        from minibrains.training.answers import AnswerTrainer, CheckpointCallback

        assert self._data is not None
        config = self._settings()
        self._steps = config.steps(len(self._data.training))
        samples = (self._data.training, self._data.validation.decimated(self.validation_samples))
        interval = CheckpointCallback(self._host, self.checkpoint, self._keep)
        return AnswerTrainer(learner, config, samples, reader, interval, NotFiniteError)

    def _read_latest(self, data: bytes) -> None:
        """Find the last checkpoint and its curves; the rest is read when the training goes on.

        Args:
            data: The file LATEST.

        Raises:
            MinibrainsError: It is of another training.
            OSError: The curves cannot be read.
            ValueError: It is no such file, or the curves are damaged.
        """
        from transformers import TrainerState

        assert self._trainer is not None
        try:
            latest = json.loads(data)
            check_same(latest["about"], self._about)
            self._saved = latest["step"]
            self._trainer.state = TrainerState.load_from_json(str(self._checkpoint / _STATE))
        except (KeyError, TypeError) as error:
            raise ValueError(str(error)) from None

    @property
    def _checkpoint(self) -> Path:
        """The folder of the last checkpoint."""
        return self._folder / f"checkpoint-{self._saved}"

    # -- learning

    def _learn(self, trainer: AnswerTrainer) -> None:
        """Learn until the next checkpoint, from the last one on."""
        if not self._is_over():
            resumed = str(self._checkpoint) if self._saved >= 0 else None
            try:
                with writing(self._folder, self._saved):
                    trainer.train(resume_from_checkpoint=resumed)
            except NotFiniteError as error:
                path = self._folder / f"not-finite-{error.step:06d}.npz"
                with writing(self._folder, self._saved):
                    error.save(path)
                self._trainer = None
                raise error.kept_in(path) from None
            except BaseException:
                self._trainer = None  # the next tick begins at the last checkpoint
                raise
        finished = self._is_over()
        if finished:
            self._finish()
        self._show(finished)

    def _is_over(self) -> bool:
        """Return whether all steps are done, or nothing has got better for long."""
        validations = len(self._history(VALIDATIONS)["step"])
        since = validations - 1 - self._best() if validations else 0
        return self._saved >= self._steps or 0 < self.patience <= since

    def _keep(self, step: int) -> None:
        """Keep a checkpoint that transformers has written: as a brain too, and as the last one."""
        assert self._trainer is not None
        learner: AnswerLearner = self._trainer.model
        self._save(self._brain_of(learner), self._step_file(step))
        for table, names in (("training", CURVES), ("validation", VALIDATIONS)):
            curves.write_csv(self._folder / f"{table}.csv", self._history(names))
        self._add_events(self._saved)
        latest = {"step": step, "about": self._about}
        write_atomic(self._folder / LATEST, json.dumps(latest, indent=1))
        self._saved = step

    def _step_file(self, step: int) -> Path:
        return self._folder / f"step-{step:06d}.safetensors"

    def _add_events(self, since: int) -> None:
        for part, names in (("training", CURVES), ("validation", VALIDATIONS)):
            history = self._history(names)
            for index, step in enumerate(history["step"]):
                if step > since:
                    for name in names[1:]:
                        self._events.add(f"{part}/{name}", history[name][index], int(step))

    def _finish(self) -> None:
        """Save what had the best validation, and draw the curves."""
        best = int(self._history(VALIDATIONS)["step"][self._best()])
        kind = type(self)._makes
        path = home() / "models" / kind.kind / f"{self.name}.safetensors"
        with writing(self._folder, self._saved):
            sha256 = self._save(kind.load(self._step_file(best)), path)
            picture = self._folder / "training_curves.png"
            history = self._history(CURVES), self._history(VALIDATIONS)
            curves.draw(picture, self.title or self.name, *history)
        self._host.say(f"saved the brain {kind.kind}/{path.name}, {sha256}")
        self._host.record(policy=str(path), policy_sha256=sha256)

    def _save(self, brain: Brain, path: Path) -> str:
        """Write a brain whose header says what it comes from, and return its SHA-256."""
        assert self._data is not None
        data = self._data
        metrics: dict[str, Any] = {}
        if self._history(VALIDATIONS)["step"]:
            metrics = self._metrics()
        origin = lineage(
            self._host.workflow,
            self._data_set,
            data.infos,
            self._about["data_sha256"],
            count_labels(data.training.labels, data.actions),
            (len(data.training), len(data.validation)),
        )
        if data.instructed:
            origin["instructions"] = data.instructed
        return brain.save(
            path,
            title=self.title or self.name,
            license=self.license,
            prompts=self._questions(),
            parents=[self._ref.sha256],
            metrics=metrics,
            **origin,
        )

    def _questions(self) -> list[str]:
        """Return all questions that the model learns to answer."""
        questions = list(self.prompts)
        for instruction in self.instructions.values():
            questions += instruction
        return questions

    # -- figures

    def _history(self, names: tuple[str, ...]) -> dict[str, list[float]]:
        """Return curves, CURVES or VALIDATIONS, from what transformers has logged."""
        assert self._trainer is not None
        logged = _LOGGED[names]
        history: dict[str, list[float]] = {name: [] for name in names}
        for entry in self._trainer.state.log_history:
            if logged[1] in entry:
                for name, key in zip(names, logged, strict=True):
                    history[name].append(entry[key])
        return history

    def _best(self) -> int:
        """Return the index of the best validation."""
        return best_validation(self._history(VALIDATIONS), self.metric_for_best)

    def _metrics(self) -> dict[str, float]:
        return validation_metrics(self._history(VALIDATIONS), self._best())

    def _show(self, finished: bool) -> None:
        training, validation = self._history(CURVES), self._history(VALIDATIONS)
        self.now = NOTHING_YET._replace(finished=finished).with_step(training)
        if validation["step"]:
            self.now = self.now.with_validation(training, validation, self._steps)


_LOGGED: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = MappingProxyType({
    CURVES: ("step", "loss", "agreement", "learning_rate"),
    VALIDATIONS: ("step", "eval_answers", "eval_agreement"),
})  # fmt: skip
"""The names in transformers' log for those of our curves."""


def _check_questions(widget: str, questions: Sequence[str]) -> None:
    """Raise MinibrainsError unless there are questions, none empty."""
    if not questions or not all(question.strip() for question in questions):
        raise MinibrainsError(
            f"{widget} is {list(questions)}; expected at least one question, none empty"
        )


class TrainVLM(
    VLMTraining,
    version=3,
    renamed_widgets={
        1: {
            **renamed("learning_rate", "batch_size", "weight_decay"),
            **_SINCE_VERSION_3,
        },
        2: _SINCE_VERSION_3,
    },
):
    """Train a vision-language model to answer as a teacher would act, on the user's data set
    `data`, with the Trainer of transformers.

    Its brain is the model to begin with, which may have random weights. The pictures of the data
    set are what the model is shown, and the model's own processor reads them, as in play. The right
    answer is the number of the teacher's action, one token, which an ActionParser finds with
    `basic_first` off. Samples in which no action has an effect are left out.

    A small model does not learn to look from its answers alone, so the picture's tokens also learn
    to tell variables of the game, by a layer that no brain has (`auxiliary`).

    Each tick learns until the next checkpoint. The folder `training/NAME` in $MINIBRAINS_HOME has a
    model for each of them that VLMStrategist can play, transformers' own checkpoints, and tables of
    the curves. A training that was stopped or killed goes on from the last checkpoint when the
    workflow is run again, as if it had not been interrupted. At the end the model of the best
    validation is saved as the brain `vlm/NAME.safetensors`, in `models` in that folder.
    """

    auxiliary: tuple[str, ...] = widget(
        default=(),
        rebuild=True,
        doc="variables that the picture's tokens also learn to tell; a-b is the distance of two",
    )
    auxiliary_weight: float = widget(
        default=1.0, min=0.0, rebuild=True, doc="of the auxiliary variables in the loss"
    )
    epochs: int = widget(default=3, min=1, max=10_000, rebuild=True, doc="times all samples")
    batch_size: int = widget(
        default=64, min=1, max=65536, rebuild=True, doc="number of samples in a step"
    )
    learning_rate: float = widget(
        default=1e-3,
        min=0.0,
        rebuild=True,
        doc="the highest learning rate: it rises for a tenth of the steps, and falls as a cosine",
    )
    weights: Literal["f16", "f32"] = widget(
        default="f16", rebuild=True, doc="the type in which brains store the weights"
    )
    _makes = VLMBrain

    def check(self) -> None:
        super().check()
        if self.auxiliary and not self.brain.sees:
            raise MinibrainsError(
                "auxiliary variables are told from a picture, and the model of this brain sees "
                "nothing; leave auxiliary empty"
            )

    @property
    def _auxiliary(self) -> tuple[str, ...]:
        return self.auxiliary

    def _settings(self) -> AnswerTraining:
        return self._training(self.epochs, self.batch_size, 1, self.learning_rate)

    def _answers_to(self, labels: Collection[int]) -> tuple[str, ...]:
        return tuple(str(label) for label in sorted(labels))

    def _make_learner(self, asked: Pretrained, data: _Data, reader: BatchReader) -> AnswerLearner:
        from minibrains.training.answers import AnswerLearner

        asked.model.requires_grad_(True)
        learner = AnswerLearner(asked.model, self._loss(asked, reader, self.auxiliary_weight))
        if self.auxiliary:
            first = reader([data.training[0]])["inputs"]
            tokens = int((first["input_ids"] == asked.model.config.image_token_id).sum())
            width = asked.model.get_input_embeddings().embedding_dim
            family = FAMILIES[self.brain.model_type]
            learner.add_auxiliary_head(
                asked.model.get_submodule(family.eyes),
                tokens * width,
                len(self.auxiliary),
                self.seed,
            )
        self._answers = data.answers
        return learner

    def _brain_of(self, learner: AnswerLearner) -> VLMBrain:
        found = weights_of(learner.model)
        tensors: dict[str, Any] = {}
        for name in self.brain.tensors:
            tensors[name] = as_array(found[name].to(torch_dtype(self.weights)))
        return VLMBrain(tensors, files=self.brain.files, answers=self._answers)


class LoRAPreset(NamedTuple):
    """Settings of a LoRA that go together."""

    rank: int
    alpha: float
    dropout: float
    batch_size: int
    gradient_accumulation_steps: int
    learning_rate: float
    epochs: int


PRESETS: Final[Mapping[str, LoRAPreset]] = MappingProxyType({
    "default": LoRAPreset(16, 32, 0.0, 32, 1, 2e-3, 3),
    "careful": LoRAPreset(16, 16, 0.05, 2, 4, 2e-4, 3),
})  # fmt: skip


class TrainLoRA(
    VLMTraining,
    version=3,
    renamed_widgets={
        1: {
            **renamed("learning_rate", "batch_size", "weight_decay"),
            **renamed("gradient_accumulation_steps"),
            **_SINCE_VERSION_3,
        },
        2: _SINCE_VERSION_3,
    },
):
    """Adapt a trained vision-language model to the user's data set `data`, by a LoRA of PEFT, with
    the Trainer of transformers.

    Its brain is the model to adapt. What changes are the seven projections of each layer of its
    language model, and in a PaliGemma the layer between the picture and the language model; the
    part that sees stays as it is. Give it a trained model: on one with random weights an adapter
    learns nothing. Samples whose action is not an answer of the model are left out.
    Everything else is as with TrainVLM; adapters are saved as `lora_adapter/NAME.safetensors`, for
    a LoRALoader.

    A setting that is 0, or a dropout below 0, is that of the preset.

    Source: E. J. Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, 2021,
        arXiv:2106.09685.
    """

    preset: Literal["default", "careful"] = widget(
        default="default",
        rebuild=True,
        doc="default: rank 16, alpha 32, batches of 32 at 2e-3; careful, as for large models: "
        "rank 16, alpha 16, dropout 0.05, 4 batches of 2 in a step at 2e-4; both 3 epochs",
    )
    rank: int = widget(default=0, min=0, max=4096, rebuild=True, doc="rank of each change")
    alpha: float = widget(
        default=0.0, min=0.0, rebuild=True, doc="the changes are scaled by alpha / rank"
    )
    dropout: float = widget(
        default=-1.0, min=-1.0, max=0.9, rebuild=True, doc="share of inputs that are left out"
    )
    batch_size: int = widget(
        default=0, min=0, max=65536, rebuild=True, doc="number of samples computed at once"
    )
    gradient_accumulation_steps: int = widget(
        default=0, min=0, max=65536, rebuild=True, doc="number of such batches in a step"
    )
    learning_rate: float = widget(
        default=0.0, min=0.0, rebuild=True, doc="the highest learning rate"
    )
    epochs: int = widget(default=0, min=0, max=10_000, rebuild=True, doc="times all samples")
    _makes = LoraAdapter

    def lora(self) -> LoRAPreset:
        """Return the settings: its own, and for the others those of the preset."""
        preset = PRESETS[self.preset]
        return LoRAPreset(
            rank=self.rank or preset.rank,
            alpha=self.alpha or preset.alpha,
            dropout=preset.dropout if self.dropout < 0 else self.dropout,
            batch_size=self.batch_size or preset.batch_size,
            gradient_accumulation_steps=(
                self.gradient_accumulation_steps or preset.gradient_accumulation_steps
            ),
            learning_rate=self.learning_rate or preset.learning_rate,
            epochs=self.epochs or preset.epochs,
        )

    def _settings(self) -> AnswerTraining:
        lora = self.lora()
        return self._training(
            lora.epochs, lora.batch_size, lora.gradient_accumulation_steps, lora.learning_rate
        )

    def _answers_to(self, labels: Collection[int]) -> tuple[str, ...]:
        return self.brain.answers

    def _make_learner(self, asked: Pretrained, data: _Data, reader: BatchReader) -> AnswerLearner:
        import torch
        from peft import LoraConfig, get_peft_model

        from minibrains.training.answers import AnswerLearner

        lora = self.lora()
        config = LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=FAMILIES[self.brain.model_type].adapted,
        )
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of PEFT's own question to the model
            torch.default_generator.manual_seed(self.seed)
            changed = get_peft_model(asked.model, config)
        return AnswerLearner(changed, self._loss(asked, reader))

    def _brain_of(self, learner: AnswerLearner) -> LoraAdapter:
        model: Any = learner.model
        with TemporaryDirectory() as folder:
            model.save_pretrained(folder, save_embedding_layers=False)
            return LoraAdapter.of_folder(Path(folder), self._ref)
