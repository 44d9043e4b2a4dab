"""Behaviour cloning: a policy learns to act as a teacher would, from a data set of labelled
pictures. ClonePolicy trains one that chooses actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from minibrains import (
    Brain,
    Episode,
    Host,
    MinibrainsError,
    widget,
)
from minibrains.brain_file import hash_file
from minibrains.errors import DataError
from minibrains.files import find_inside, home, write_atomic
from minibrains.torch_node import limit_threads
from nodes.policies.network import MOST_LAYERS, FrameNetwork, PolicyHead
from nodes.training import curves
from nodes.training.checkpoint import (
    RESUME,
    renamed,
    resume,
    settings_of,
    writing,
)
from nodes.training.data_set import DataSet
from nodes.training.episode_file import EpisodeInfo, load_arrow
from nodes.training.examples import (
    PREPROCESSED_AT_ONCE,
    EpisodeExamples,
    ExampleFiles,
    Examples,
    Job,
    Preprocessing,
    PreprocessingParts,
    hash_data,
    lineage,
    preprocess,
    split,
)
from nodes.training.imitation import NOTHING_YET, Imitation, Learning
from nodes.training.objectives import ActionObjective, Objective
from nodes.training.trainer import (
    NotFiniteError,
    Trainer,
    TrainingConfig,
    check_resumable,
    check_training,
    count_labels,
    has_bf16,
    validation_metrics,
)
from nodes.vision.fighters import FighterColors

CLONING: Final = renamed("metric_for_best", "patience", "lr_multipliers", "priority_alpha")
"""What widgets of both trainers were called before their version 3."""
_POLICY: Final = renamed("label_smoothing", "second_weight", "class_weight")


class Cloning(Imitation, abstract=True):
    """Train a network to act as a teacher would, on the user's data set `data`.

    A subclass says which network it is, and what its outputs should be.
    """

    head: ClassVar[type[FrameNetwork]]
    """The node whose network is trained."""

    brain: FighterColors

    mirror: bool = widget(default=True, rebuild=True, doc="as in FighterMask")
    pictures: int = widget(
        default=3,
        min=1,
        max=64,
        rebuild=True,
        doc="pictures that are one below the other in those of the data set, as RecentFrames does",
    )
    center: tuple[int, ...] = widget(
        default=(70, 120),
        rebuild=True,
        doc="column and strip of CenterMasks, in pixels; empty: there is no CenterMasks",
    )
    box: tuple[int, ...] = widget(
        default=(0, 48, 440, 176),
        rebuild=True,
        doc="left, top, width and height of the box that Crop cuts out, in pixels",
    )
    size: tuple[int, ...] = widget(
        default=(176, 76), rebuild=True, doc="width and height that Resize scales it to, in pixels"
    )

    convolutions: tuple[tuple[int, ...], ...] = widget(
        default=((48, 4, 4), (64, 3, 2), (64, 3, 2)),
        rebuild=True,
        doc="of the network: [filters, kernel, stride] of each layer",
    )
    hidden: int = widget(
        default=256, min=1, max=65536, rebuild=True, doc="width of each hidden layer"
    )
    layers: int = widget(
        default=1,
        min=1,
        max=MOST_LAYERS,
        rebuild=True,
        doc="number of hidden layers before the output",
    )
    profiles: bool = widget(
        default=False,
        rebuild=True,
        doc="show the network the mean of each column and each row as well, which tell it exactly "
        "where something is",
    )
    weights: Literal["f16", "f32"] = widget(
        default="f16", rebuild=True, doc="the type in which brains store the weights"
    )
    start: str = widget(
        default="",
        rebuild=True,
        doc="a brain of the same kind below $MINIBRAINS_HOME to begin with, such as "
        "models/policy_head/duel.safetensors; it determines the architecture of the network; "
        "empty: random weights",
    )

    epochs: int = widget(
        default=7, min=1, max=10_000, rebuild=True, doc="number of passes over all samples"
    )
    batch_size: int = widget(
        default=128, min=1, max=65536, rebuild=True, doc="number of samples in a step"
    )
    learning_rate: float = widget(
        default=2e-3, min=0.0, rebuild=True, doc="the highest learning rate of its one cycle"
    )
    actionable: bool = widget(
        default=True,
        rebuild=True,
        doc="learn only from moments in which an action has an effect; in others a teacher presses "
        "hardly anything",
    )
    auxiliary: tuple[str, ...] = widget(
        default=(),
        rebuild=True,
        doc="variables that the network also learns to tell, which helps it to see; a-b is the "
        "distance of two; no brain has this part",
    )
    auxiliary_weight: float = widget(
        default=0.5, min=0.0, rebuild=True, doc="of the auxiliary variables in the loss"
    )
    freeze: tuple[str, ...] = widget(
        default=(),
        rebuild=True,
        doc="beginnings of the names of parameters that do not change, such as convolution0, or "
        "hidden. for the first hidden layer only",
    )
    lr_multipliers: Mapping[str, float] = widget(
        default=MappingProxyType({}),
        rebuild=True,
        doc="factor of the learning rate, by the beginning of the names of parameters",
    )
    priority_alpha: float = widget(
        default=0.0,
        min=0.0,
        max=1.0,
        rebuild=True,
        doc="prioritised replay: samples are drawn in proportion to their latest loss to the power "
        "of this, 0.6 say; 0: an epoch shows each of them once",
    )
    matches: int = widget(
        default=0,
        min=0,
        rebuild=True,
        doc="learn from so many of the other matches, to see what more data brings; 0: all",
    )
    validate: int = widget(
        default=100, min=1, rebuild=True, doc="number of steps from one validation to the next"
    )
    checkpoint: int = widget(
        default=200, min=1, rebuild=True, doc="number of steps from one checkpoint to the next"
    )
    steps: int = widget(default=5, min=1, max=100_000, doc="number of steps on a tick")

    def check(self) -> None:
        super().check()
        if len(self.box) != 4 or min(self.box) < 0 or min(self.box[2:]) < 1:
            raise MinibrainsError(
                f"box is {list(self.box)}; expected left, top, width and height in pixels"
            )
        if len(self.center) not in (0, 2) or min(self.center, default=0) < 0:
            raise MinibrainsError(
                f"center is {list(self.center)}; expected column and strip in pixels, or nothing"
            )
        if len(self.size) != 2 or min(self.size) < 1:
            raise MinibrainsError(f"size is {list(self.size)}; expected width and height in pixels")

    def open(self, host: Host) -> None:
        load_arrow()  # a missing package is refused now, not after an hour
        curves.load_pyplot()
        limit_threads(self.threads)
        if self.precision == "bf16" and not has_bf16():
            host.say(
                "this processor has no instructions for bf16, so that each step takes longer "
                "than in f32; set precision to f32"
            )
        self._host = host
        self._folder = home() / "training" / self.name
        self._data = DataSet.named(self.data)
        self._preprocessing = Preprocessing(
            self.brain, self.mirror, self.pictures, self.center, self.box, self.size
        )
        if not self.start:
            # an impossible size is better found now than when all pictures have been preprocessed
            self._kind.tensor_specs(self._network(("any",)))
        folder = self._folder / "looked"  # the name from before, so that no old one stays behind
        self._files = ExampleFiles(folder, self._preprocessing, self.auxiliary, self.actionable)
        self._examples: dict[str, EpisodeExamples] = {}
        """The examples of the episodes that were preprocessed, by their keys."""
        self._training: list[EpisodeInfo] = []
        self._validation: list[EpisodeInfo] = []
        self._about: dict[str, Any] = {}
        self._trainer: Trainer | None = None
        self._saved = -1
        """The step of the last checkpoint."""
        self._events = curves.Events(self._folder / "events")

    def reset(self, episode: Episode) -> None:
        super().reset(episode)
        self._trainer = None
        self._examples.clear()

    def latch(self) -> None:
        if not self._episodes:
            self._begin()
            path = self._folder / RESUME
            if path.exists():  # another training of this name is refused before the preprocessing
                resume(path, lambda data: check_resumable(data, self._about))
        if len(self._examples) < len(self._episodes):
            self._preprocess()
            return
        if self._trainer is None:
            self._trainer = self._make_trainer()
        trainer = self._trainer
        validations = len(trainer.validations["step"])
        for _ in range(self.steps):
            if trainer.finished or self._host.stopping:
                break
            self._train(trainer)
        if trainer.finished:
            self._finish(trainer)
        self._show(trainer, len(trainer.validations["step"]) > validations)

    def report(self) -> Mapping[str, Any]:
        trainer = self._trainer
        if trainer is None or not trainer.validations["step"]:
            return {}
        best = trainer.best_validation
        return {
            "steps": trainer.step,
            "best_step": int(trainer.validations["step"][best]),
            "validation_loss": trainer.validations["loss"][best],
            "validation_agreement": trainer.validations["agreement"][best],
            "majority": trainer.majority,
        }

    def close(self) -> None:
        trainer = getattr(self, "_trainer", None)
        if trainer is not None and trainer.step > self._saved:
            self._keep(trainer)
        if hasattr(self, "_events"):
            self._events.close()

    def state(self) -> dict[str, Any]:
        """Return the whole training but its data."""
        packed = None
        if self._trainer is not None:
            packed = self._trainer.pack(self._about)
        # "looked" is the name in snapshots
        return {"now": tuple(self.now), "looked": len(self._examples), "packed": packed}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.now = Learning(*state["now"])
        for info in self._episodes[state["looked"] :]:
            self._examples.pop(info.key, None)
        self._trainer = None
        if state["packed"] is not None:
            while len(self._examples) < len(self._episodes) or not self._episodes:
                if not self._episodes:
                    self._begin()
                self._preprocess()
            self._trainer = self._new_trainer()
            self._trainer.unpack(state["packed"], self._about)

    # -- looking

    def _begin(self) -> None:
        """Find the episodes. Raises DataError if they must not, or cannot, be learned from."""
        infos = self._data.episodes(game=self.game or None)
        self._about = {
            "data_sha256": hash_data(self._data, infos),
            "eyes_sha256": self._preprocessing.digest,
            "start_sha256": self._start_sha256(),
        }
        self._about |= settings_of(self, _FREE)
        training, self._validation = split(infos, self.validation, self.seed)
        self._training = training[: self.matches or None]

    def _preprocess(self) -> None:
        """Look at the next few episodes, or remember what was seen of them."""
        waiting = [info for info in self._episodes if info.key not in self._examples]
        found: dict[str, EpisodeExamples] = {}
        jobs: list[Job] = []
        for info in waiting[:PREPROCESSED_AT_ONCE]:
            seen = self._files.read(self._data, info)
            if seen is None:
                preprocessing = PreprocessingParts.of(self._preprocessing)
                jobs.append(
                    Job(self._data.folder, info, preprocessing, self.auxiliary, self.actionable)
                )
            else:
                found[info.key] = seen
        for job, seen in zip(jobs, self._host.map(preprocess, jobs), strict=True):
            self._write(self._files.write, self._data, job.info, seen)
            found[job.info.key] = seen
        for info in waiting[:PREPROCESSED_AT_ONCE]:
            self._examples[info.key] = found[info.key]
        self._host.progress(len(self._examples), len(self._episodes), "matches preprocessed")

    # -- training

    def _make_trainer(self) -> Trainer:
        """Return a training that goes on from the last checkpoint, if there is one."""
        trainer = self._new_trainer()
        path = self._folder / RESUME
        if path.exists():
            resume(path, lambda data: trainer.unpack(data, self._about))
            self._saved = trainer.step
            self._host.say(f"the training {self.name} goes on after step {trainer.step}")
        self._events.begin(trainer.step)
        return trainer

    def _new_trainer(self) -> Trainer:
        sides: list[Examples] = []
        for infos in (self._training, self._validation):
            examples = [self._examples[info.key] for info in infos]
            sides.append(Examples(self._preprocessing, examples))
        check_training(sides[0], "to learn from")
        check_training(sides[1], "to validate with")
        self._head = self._make_head()
        config = TrainingConfig(
            seed=self.seed,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            precision=self.precision,
            freeze=self.freeze,
            lr_multipliers=self.lr_multipliers,
            auxiliary_weight=self.auxiliary_weight,
            validate=self.validate,
            patience=self.patience,
            metric_for_best=self.metric_for_best,
            priority_alpha=self.priority_alpha,
        )
        return Trainer(config, self._head, self._objective(), *sides)  # type: ignore[arg-type]

    @property
    def _episodes(self) -> list[EpisodeInfo]:
        """Those to learn from and those to validate with."""
        return [*self._training, *self._validation]

    @property
    def _actions(self) -> tuple[str, ...]:
        return self._episodes[0].actions

    @property
    def _kind(self) -> type[Brain]:
        """The kind of brain that is trained."""
        kind = self.head.schema.brain
        assert kind is not None
        return kind

    def _objective(self) -> Objective:
        """Return what is learned. Raises MinibrainsError if the data set does not fit."""
        raise NotImplementedError

    def _outputs(self, actions: tuple[str, ...]) -> dict[str, Any]:
        """Return the settings of a brain that name its outputs, for the actions of a data set."""
        raise NotImplementedError

    def _metadata(self) -> dict[str, Any]:
        """Return what the header of a brain says beyond what it comes from."""
        return {}

    def _make_head(self) -> FrameNetwork:
        """Return the node whose network is trained, with random weights or those of `start`."""
        network = self._network(self._actions)
        if not self.start:
            return self.head(brain=self.head.new_brain(network, self.seed))
        brain = self._kind.load(self._start_path())
        for names, what in (
            (("channels", "height", "width"), "pictures and size"),
            (self._outputs(self._actions), f"the data set {self.data}"),
        ):
            expected = [network[name] for name in names]
            found = [brain.config[name] for name in names]
            if found != expected:
                raise MinibrainsError(
                    f"{self.start} has {', '.join(names)} of {found}; expected {expected}, as "
                    f"{what} say"
                )
        return self.head(brain=brain)

    def _network(self, actions: tuple[str, ...]) -> dict[str, Any]:
        """Return the settings of a brain with a network for these actions."""
        channels, height, width = self._preprocessing.shape
        return {
            "channels": channels,
            "height": height,
            "width": width,
            "hidden": self.hidden,
            "convolutions": self.convolutions,
            "layers": self.layers,
            "profiles": self.profiles,
            "weights": self.weights,
            **self._outputs(actions),
        }

    def _start_path(self) -> Path:
        path = find_inside(self.start, [home()])
        if path is None:
            raise MinibrainsError(
                f"there is no file {self.start!r} in {home()}; expected in start a "
                f"{self._kind.kind} brain, such as models/policy_head/duel.safetensors"
            )
        return path

    def _start_sha256(self) -> str:
        if not self.start:
            return ""
        return hash_file(self._start_path())

    def _train(self, trainer: Trainer) -> None:
        """Take a step, and keep it if a checkpoint is due."""
        try:
            trainer.train()
        except NotFiniteError as error:
            path = self._folder / f"not-finite-{error.step:06d}.npz"
            self._write(error.save, path)
            self._trainer = None  # there is nothing good to keep
            raise error.kept_in(path) from None
        step = trainer.step
        for name in ("loss", "agreement", "rate"):
            self._events.add(f"training/{name}", trainer.curves[name][-1], step)
        if trainer.validations["step"][-1:] == [step]:
            for name in ("loss", "agreement"):
                self._events.add(f"validation/{name}", trainer.validations[name][-1], step)
        if step % self.checkpoint == 0 or trainer.finished:
            self._keep(trainer)

    def _keep(self, trainer: Trainer) -> None:
        """Write a checkpoint: a brain, the curves, and last of all what it goes on from."""
        brain = self._head.brain_of(trainer.net)
        self._save(brain, self._folder / f"step-{trainer.step:06d}.safetensors", trainer)
        self._write(curves.write_csv, self._folder / "training.csv", trainer.curves)
        self._write(curves.write_csv, self._folder / "validation.csv", trainer.validations)
        self._write(write_atomic, self._folder / RESUME, trainer.pack(self._about))
        self._saved = trainer.step

    def _finish(self, trainer: Trainer) -> None:
        """Save the policy of the best validation, and draw the curves."""
        path = home() / "models" / self._kind.kind / f"{self.name}.safetensors"
        net: Any = self._head.make_module()
        net.load_state_dict(trainer.best)
        sha256 = self._save(self._head.brain_of(net), path, trainer)
        picture = self._folder / "training_curves.png"
        title = self.title or self.name
        self._write(curves.draw, picture, title, trainer.curves, trainer.validations)
        self._write(self._files.remove)
        self._host.say(f"saved the brain {self._kind.kind}/{path.name}, {sha256}")
        self._host.record(policy=str(path), policy_sha256=sha256)

    def _save(self, brain: Brain, path: Path, trainer: Trainer) -> str:
        """Write a brain whose header says what it comes from, and return its SHA-256."""
        metrics: dict[str, Any] = {"steps": trainer.step, "epochs": self.epochs}
        if trainer.validations["step"]:
            metrics |= self._metrics(trainer)
        parents = [self._about["start_sha256"]] if self.start else []
        if self.brain.ref is not None:
            parents.insert(0, self.brain.ref.sha256)
        origin = lineage(
            self._host.workflow,
            self._data,
            self._episodes,
            self._about["data_sha256"],
            count_labels(trainer.training.labels, self._actions),
            (len(trainer.training), len(trainer.validation)),
        )
        return self._write(  # type: ignore[no-any-return]
            brain.save,
            path,
            title=self.title or self.name,
            license=self.license,
            eyes={
                "fighter_colors_sha256": parents[0] if self.brain.ref is not None else "",
                "turn": self.mirror,
                "pictures": self.pictures,
                "center": self.center,
                "box": self.box,
                "size": self.size,
            },
            parents=parents,
            metrics=metrics,
            **origin,
            **self._metadata(),
        )

    def _metrics(self, trainer: Trainer) -> dict[str, Any]:
        return {
            **validation_metrics(trainer.validations, trainer.best_validation),
            "validation_majority": round(trainer.majority, 6),
        }

    def _write(self, write: Any, *arguments: Any, **named: Any) -> Any:
        """Write something, and return what that returns.

        Raises MinibrainsError if the disk is full, or otherwise refuses it.
        """
        try:
            with writing(self._folder, self._saved):
                return write(*arguments, **named)
        except MinibrainsError:
            self._trainer = None  # so that it is not tried again
            raise

    def _show(self, trainer: Trainer, validated: bool) -> None:
        """Deliver the figures of the last step, and those of a new validation."""
        text = "beginning"
        if trainer.step:
            text = f"loss {trainer.curves['loss'][-1]:.3f}"
        if trainer.validations["step"]:
            best = trainer.best_validation
            text += f", best validation: agreement {trainer.validations['agreement'][best]:.1%}"
        self.now = NOTHING_YET._replace(finished=trainer.finished).with_step(trainer.curves)
        if validated:
            self.now = self.now.with_validation(trainer.curves, trainer.validations, trainer.steps)
        self._host.progress(trainer.step, trainer.steps, text)


class ClonePolicy(
    Cloning,
    version=4,
    renamed_widgets={
        1: {**renamed("learning_rate", "batch_size", "weight_decay"), **CLONING, **_POLICY},
        2: {**CLONING, **_POLICY},
        3: renamed("mirror"),
    },
):
    """Train a network for PolicyHead to act as a teacher would, on the user's data set `data`.

    Its brain is that of the FighterMask that the policy will see through; FighterMask, CenterMasks,
    Crop and Resize themselves preprocess the pictures of the data set. In play, a FrameStack with a
    mean of 0 and a deviation of 1 stacks what they show. Labels are the teacher's actions; samples
    in which no action has an effect are left out.

    First all pictures are preprocessed, some episodes on each tick, by all workers of the run. Then
    each tick takes some steps of the optimizer. The folder `training/NAME` in $MINIBRAINS_HOME has
    checkpoints that PolicyHead can play, the curves, and everything to go on with: a training that
    was stopped or killed goes on from the last checkpoint when the workflow is run again, as if it
    had not been interrupted. At the end the policy of the best validation is saved as the brain
    `policy_head/NAME.safetensors`, in `models` in that folder.

    Source: D. A. Pomerleau, ALVINN: an autonomous land vehicle in a neural network, NIPS 1989; for
        data in which a student plays (MixedAction): S. Ross, G. Gordon and D. Bagnell, A reduction
        of imitation learning and structured prediction to no-regret online learning, AISTATS 2011.
    """

    head = PolicyHead

    label_smoothing: float = widget(
        default=0.02, min=0.0, max=1.0, rebuild=True, doc="of the labels"
    )
    second_weight: float = widget(
        default=0.1,
        min=0.0,
        max=0.5,
        rebuild=True,
        doc="share of the loss that is about the teacher's second best action, so that the network "
        "has one too, for an AntiRepeat",
    )
    class_weight: Mapping[str, float] = widget(
        default=MappingProxyType({}),
        rebuild=True,
        doc="weight of actions in the loss, by name; others have 1",
    )
    distillation: float = widget(
        default=0.0,
        min=0.0,
        max=1.0,
        rebuild=True,
        doc="share of the loss that is about how probable each action was to the teacher, if its "
        "logits were linked to the SampleWriter; class_weight, label_smoothing and second_weight "
        "apply to the rest only, and validation is about the action it chose",
    )

    def _begin(self) -> None:
        super()._begin()
        if self.distillation and not self._training[0].probabilities:
            raise DataError(
                f"the data set {self.data} does not have the probabilities that distillation "
                "learns from; set it to 0, or collect with logits linked to the SampleWriter"
            )

    def _objective(self) -> ActionObjective:
        return ActionObjective(
            self._actions,
            self.class_weight,
            self.label_smoothing,
            self.second_weight,
            self.distillation,
        )

    def _outputs(self, actions: tuple[str, ...]) -> dict[str, Any]:
        return {"actions": len(actions), "action_names": actions}


_FREE: Final = frozenset({"name", "steps", "checkpoint", "title", "license", "bias", "temperature"})
"""Widgets on which the course of a training does not depend."""
