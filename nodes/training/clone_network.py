"""CloneNetwork: the networks of several nodes imitate a teacher where they stand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    ColorFrame,
    Episode,
    Flag,
    Host,
    MinibrainsError,
    Number,
    Register,
    widget,
)
from minibrains.files import home, write_atomic
from minibrains.torch_node import limit_threads
from minibrains.values import to_json
from nodes.training import checkpoint, curves

if TYPE_CHECKING:
    import torch

    from minibrains.training.env import WorkflowEnv
    from minibrains.training.module import RegionModule

_FREE: Final = {"title", "license", "total_timesteps", "checkpoint"}
"""Widgets that may differ when a training is resumed."""
_ONLY: Final = "only"
"""The name of the input of a network that has no other."""
_COLUMNS: Final = ("step", "loss", "agreement")
"""The columns of training.csv, which has a row for each update: the number of decisions, and the
means of its batches, each before a step was taken with it for the first time."""


class Imitating(NamedTuple):
    """The outputs of CloneNetwork."""

    decisions: Number | Absent
    loss: Number | Absent
    agreement: Number | Absent
    curves: ColorFrame | Absent
    finished: Flag


class Rollout(NamedTuple):
    """Decisions of a game, one after the other."""

    inputs: Mapping[str, torch.Tensor]
    """The inputs of the network, tensors [n, …], by "node/socket"; the only one as _ONLY."""
    labels: torch.Tensor
    """int64 [n]: the teacher's actions."""
    starts: torch.Tensor
    """bool [n]: whether an episode starts."""

    def part(self, begin: int, end: int) -> Rollout:
        """Return the decisions from one to before another."""
        inputs = {name: values[begin:end] for name, values in self.inputs.items()}
        return Rollout(inputs, self.labels[begin:end], self.starts[begin:end])


class CloneNetwork(
    Register,
    category="training",
    collects_data=True,
    terminal="finished",
    version=2,
    renamed_widgets={
        1: checkpoint.renamed(
            "total_timesteps", "n_steps", "n_epochs", "learning_rate", "batch_size", "weight_decay"
        )
    },
):
    """Let the networks of several nodes imitate a teacher in the workflow where they stand.

    decisions:  the number of decisions so far
    loss:       cross-entropy of the teacher's actions in the decisions of the last update, in nats,
                as it meets them for the first time, batch after batch
    agreement:  share of them in which the likeliest action was the teacher's, 0 to 1
    curves:     uint8 [180, 320, 3]: losses in blue, agreement in green
    finished:   True: the brains are saved; this ends the episode

    `workflow` has both: nodes `train`, which give out logits, and an output `teacher` with an
    action. Each tick is an update: the teacher's actions are played in the place of the network's,
    which then learns from what it would have been shown. Recurrent nodes remember from decision to
    decision, as in play; gradients go back through the decisions of a batch.

    Where one input tells what to do more easily than another, the network learns to go by that one
    alone, and ignores the other. `input_dropout` hides an input in some of the batches, so that the
    network learns to go by the others as well; loss and agreement count these batches too.

    The folder `training/NAME` in $MINIBRAINS_HOME has training.csv, and everything to go on with: a
    training that was stopped or killed goes on from the last checkpoint when the workflow is run
    again. At the end each trained brain is saved as `KIND/NAME-NODE.safetensors` in the folder
    `models` of $MINIBRAINS_HOME, for a TrainPPO to begin with.

    Source: D. A. Pomerleau, ALVINN: an autonomous land vehicle in a neural network, NIPS 1989;
        N. Neverova et al., ModDrop: adaptive multi-modal gesture recognition, arXiv:1501.00102
        (2015).
    """

    workflow: str = widget(rebuild=True, doc="the workflow in which both stand, or its file")
    train: tuple[str, ...] = widget(
        rebuild=True, doc="ids of the nodes of it that are trained; they give out logits"
    )
    teacher: str = widget(
        rebuild=True, doc="the output with the teacher's action, NODE.SOCKET; something reads it"
    )
    name: str = widget(rebuild=True, doc="the name of the training and of its policy")
    freeze: tuple[str, ...] = widget(
        default=(), rebuild=True, doc="ids of those of the nodes that keep their weights"
    )
    widgets: Mapping[str, Any] = widget(
        default=MappingProxyType({}),
        rebuild=True,
        doc="widget values that replace those of the workflow: NODE.WIDGET -> value",
    )
    brains: Mapping[str, str] = widget(
        default=MappingProxyType({}),
        rebuild=True,
        doc="brains to begin with, by node, such as policy_head/duel.safetensors",
    )
    total_timesteps: int = widget(
        default=100_000, min=1, rebuild=True, doc="the number of decisions"
    )
    n_steps: int = widget(default=256, min=2, rebuild=True, doc="decisions in an update")
    batch_size: int = widget(
        default=32, min=2, rebuild=True, doc="decisions in a step of the optimizer, in their order"
    )
    n_epochs: int = widget(default=2, min=1, rebuild=True, doc="times that an update uses each")
    learning_rate: float = widget(default=3e-4, min=0.0, rebuild=True, doc="learning rate")
    weight_decay: float = widget(
        default=0.01, min=0.0, rebuild=True, doc="of the weights, by AdamW"
    )
    input_dropout: Mapping[str, float] = widget(
        default=MappingProxyType({}),
        rebuild=True,
        doc="inputs of the network that are hidden, as zeros, from some batches: NODE.SOCKET, the "
        "output that is read -> share of the batches, 0 to 1",
    )
    seed: int = widget(default=0, min=0, rebuild=True, doc="of the games, and of dropout")
    checkpoint: int = widget(
        default=10, min=1, rebuild=True, doc="number of updates from one checkpoint to the next"
    )
    title: str = widget(default="", doc="the title in the header of brains; empty: the name")
    license: str = widget(default="", doc="the licence in the header; empty: none is named")

    def check(self) -> None:
        checkpoint.check_training_name(self.name)
        checkpoint.check_frozen(self.freeze, self.train)

    def open(self, host: Host) -> None:
        from minibrains.training.env import find_teacher

        self._host = host
        self._folder = home() / "training" / self.name
        self._training: _Training | None = None
        self._saved = -1
        """The number of decisions at the last checkpoint; -1: there is none."""
        # what is wrong with these is refused before the first tick
        network = self._make_network()
        find_teacher(network.graph, self.teacher)
        _check_dropout(self.input_dropout, network.inputs)

    def reset(self, episode: Episode) -> None:
        self._close_training()
        self.now = Imitating(ABSENT, ABSENT, ABSENT, ABSENT, False)

    def emit(self) -> Imitating:
        return self.now

    def latch(self) -> None:
        training = self._training or self._open_training()
        if training.decisions < self.total_timesteps:
            rollout = training.play(self.n_steps, lambda: self._host.stopping)
            if rollout is None:
                return  # stopped within an update, which counts for nothing
            training.learn(rollout)
        finished = training.decisions >= self.total_timesteps
        if finished or len(training.curves["step"]) % self.checkpoint == 0:
            self._write(training)
        if finished:
            self._save(training.network)
        self._show(training, finished)

    def report(self) -> Mapping[str, Any]:
        if self._training is None or not self._training.curves["step"]:
            return {}
        curve = self._training.curves
        return {"decisions": int(curve["step"][-1]), "agreement": round(curve["agreement"][-1], 6)}

    def close(self) -> None:
        if hasattr(self, "_folder"):
            self._close_training()

    def state(self) -> dict[str, Any]:
        """Return the whole training."""
        packed = None
        if self._training is not None:
            packed = self._training.pack(self._about)
        return {"now": tuple(self.now), "packed": packed}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.now = Imitating(*state["now"])
        self._close_training()
        if state["packed"] is not None:
            self._open_training(state["packed"])

    # -- beginning and ending

    def _open_training(self, packed: bytes | None = None) -> _Training:
        """Open the game, and go on from `packed`, or the last checkpoint, if there is one."""
        from minibrains.training.env import WorkflowEnv

        limit_threads()
        game = WorkflowEnv(
            self.workflow,
            self.train,
            teacher=self.teacher,
            widgets=to_json(self.widgets),
            brains=dict(self.brains),
            packs=self._host.packs,
        )
        try:
            training = self._training = _Training(self, game, self._make_network())
        except BaseException:
            game.close()
            raise
        self._about = {"environment": game.workflow_sha256, **checkpoint.settings_of(self, _FREE)}
        path = self._folder / checkpoint.RESUME
        if packed is not None:
            training.unpack(packed, self._about)
        elif path.exists():
            checkpoint.resume(path, lambda data: training.unpack(data, self._about))
            self._saved = training.decisions
            self._host.say(f"the training {self.name} goes on after {training.decisions} decisions")
        return training

    def _make_network(self) -> RegionModule:
        """Return the network to begin with."""
        from minibrains.training.module import region

        return region(
            self.workflow,
            self.train,
            freeze=self.freeze,
            brains=dict(self.brains),
            packs=self._host.packs,
        )

    def _close_training(self) -> None:
        if self._training is not None:
            self._training.game.close()
            self._training = None

    def _write(self, training: _Training) -> None:
        """Write a checkpoint. Raises MinibrainsError."""
        with checkpoint.writing(self._folder, self._saved):
            self._folder.mkdir(parents=True, exist_ok=True)
            curves.write_csv(self._folder / "training.csv", training.curves)
            write_atomic(self._folder / checkpoint.RESUME, training.pack(self._about))
        self._saved = training.decisions

    def _save(self, network: RegionModule) -> None:
        """Save the brains of the nodes that learn among those of the user."""
        workflow = self._host.workflow
        for node, brain in network.brains().items():
            if node in self.freeze or not brain.tensors:
                continue
            path: Path = home() / "models" / brain.kind / f"{self.name}-{node}.safetensors"
            path.parent.mkdir(parents=True, exist_ok=True)
            sha256 = brain.save(
                path,
                title=self.title or self.name,
                made_by=workflow.made_by,
                license=self.license,
                workflow=workflow.name,
                workflow_sha256=workflow.sha256,
                environment=checkpoint.environment_of(self, self._about["environment"]),
                metrics=self.report(),
            )
            self._host.say(f"saved the brain {brain.kind}/{path.name}, {sha256}")
            self._host.record(policy=str(path), policy_sha256=sha256)

    def _show(self, training: _Training, finished: bool) -> None:
        curve = training.curves
        picture = curves.sketch(curve, curve, self.total_timesteps)
        loss, agreement = curve["loss"][-1], curve["agreement"][-1]
        self.now = Imitating(training.decisions, loss, agreement, picture, finished)
        text = f"loss {loss:.3f}, agreement {agreement:.1%}"
        self._host.progress(training.decisions, self.total_timesteps, text)


class _Training:
    """The game, the network that learns, and how far it is."""

    def __init__(self, settings: CloneNetwork, game: WorkflowEnv, network: RegionModule) -> None:
        import torch
        from gymnasium.spaces import Discrete

        if not isinstance(game.action_space, Discrete):
            raise MinibrainsError(
                f"{settings.workflow}: {', '.join(settings.train)} give out {game.action_space}; "
                "expected nodes whose only output is logits"
            )
        self._settings, self.game, self.network = settings, game, network
        learned = [weights for weights in network.parameters() if weights.requires_grad]
        self._optimizer = torch.optim.AdamW(
            learned, lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.curves: dict[str, list[float]] = {name: [] for name in _COLUMNS}
        self._now: tuple[Any, Any] | None = None
        """The inputs of the network now, and the teacher's action; None before the first game."""
        self._starts = True
        self._state: torch.Tensor | None = None
        """The state of a recurrent network before the next decision; None: that at a start."""
        self._inputs: dict[str, torch.Tensor] = {}
        """The inputs of a rollout by name, [n_steps, …]."""

    @property
    def decisions(self) -> int:
        """The number of decisions that were learned from."""
        if not self.curves["step"]:
            return 0
        return int(self.curves["step"][-1])

    def play(self, count: int, is_stopping: Callable[[], bool]) -> Rollout | None:
        """Let the teacher make some decisions; return None if that was stopped."""
        import torch

        if self._now is None:
            observation, info = self.game.reset(seed=self._settings.seed)
            self._now = observation, info["teacher"]
        labels: list[int] = []
        starts: list[bool] = []
        for number in range(count):
            if is_stopping():
                return None
            observation, label = self._now
            if label is None:
                raise MinibrainsError(
                    f"the teacher {self._settings.teacher} has not delivered an action yet; "
                    "expected one at each decision"
                )
            self._store(number, observation)
            labels.append(int(label))
            starts.append(self._starts)
            observation, _, terminated, truncated, info = self.game.step(label)
            self._starts = terminated or truncated
            if self._starts:
                observation, info = self.game.reset()
            self._now = observation, info["teacher"]
        return Rollout(dict(self._inputs), torch.tensor(labels), torch.tensor(starts))

    def _store(self, number: int, observation: Any) -> None:
        """Store the inputs of a decision in the rollout's tensors, which are used again for each
        rollout: to allocate gigabytes takes longer than to learn from them.
        """
        import torch

        inputs = _by_name(observation)
        if not self._inputs:
            for name, value in inputs.items():
                example = torch.as_tensor(value)
                self._inputs[name] = example.new_empty((self._settings.n_steps, *example.shape))
        for name, value in inputs.items():
            self._inputs[name][number] = torch.as_tensor(value)

    def learn(self, rollout: Rollout) -> None:
        """Train on a rollout for `n_epochs`, and record loss and agreement of the first."""
        import torch

        batch_metrics: list[tuple[float, float]] = []
        before = self._state
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(self._settings.seed + self.decisions)  # of dropout
            for epoch in range(self._settings.n_epochs):
                self._state = before
                found = self._learn_once(rollout)
                if epoch == 0:
                    batch_metrics = found
        count = len(rollout.labels)
        losses_sum, agreed_sum = np.sum(batch_metrics, axis=0)
        row = (self.decisions + count, losses_sum / count, agreed_sum / count)
        for name, value in zip(_COLUMNS, row, strict=True):
            self.curves[name].append(float(value))

    def _learn_once(self, rollout: Rollout) -> list[tuple[float, float]]:
        """Go through a rollout once, in order, with a step of the optimizer for each batch.

        Returns:
            For each batch the sum of the losses, and the number of decisions in which the network
            agreed.
        """
        import torch
        from torch.nn.functional import cross_entropy

        metrics: list[tuple[float, float]] = []
        size = self._settings.batch_size
        for begin in range(0, len(rollout.labels), size):
            part = rollout.part(begin, begin + size)
            logits = self._logits(part)
            loss = cross_entropy(logits, part.labels)
            if not torch.isfinite(loss):
                raise MinibrainsError(
                    f"the loss after {self.decisions} decisions is NaN or infinite; train "
                    "again with another name, and a smaller learning_rate"
                )
            agreed = (logits.argmax(1) == part.labels).sum()
            metrics.append((loss.item() * len(part.labels), agreed.item()))
            self._optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
        return metrics

    def _logits(self, part: Rollout) -> torch.Tensor:
        """Return the logits of decisions, and go on to the state after them."""
        shown = self._drop_inputs(part.inputs)
        inputs: Any = shown.get(_ONLY, shown)
        if not self.network.state_size:
            logits: torch.Tensor = self.network(inputs)
            return logits
        state = self._state
        if state is None:
            state = self.network.initial(1)
        logits, after = self.network(inputs, state, part.starts)
        self._state = after.detach()
        return logits

    def _drop_inputs(self, inputs: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
        """Return the inputs of a batch, of which `input_dropout` has made some all zeros."""
        import torch

        shown = dict(inputs)
        for output, share in self._settings.input_dropout.items():
            name = _ONLY if _ONLY in inputs else output.replace(".", "/")
            if torch.rand(()) < share:
                shown[name] = torch.zeros_like(shown[name])
        return shown

    # -- going on

    def pack(self, about: Mapping[str, Any]) -> bytes:
        """Return the whole training between two updates, as a safetensors file."""
        parts = {
            "network": self.network.state_dict(),
            "optimizer": checkpoint.optimizer_tensors(self._optimizer),
        }
        if self._state is not None:
            parts["memory"] = {"state": self._state}
        rest = {
            "curves": self.curves,
            "starts": self._starts,
            "moment": None if self._now is None else self.game.moment(),
        }
        metadata = {
            "about": json.dumps(about, sort_keys=True),
            "training": json.dumps(rest, default=int),
        }
        return checkpoint.pack(parts, metadata)

    def unpack(self, data: bytes, about: Mapping[str, Any]) -> None:
        """Go on from where a training was packed.

        Raises:
            MinibrainsError: It depends on something else than `about`.
            ValueError: It is no such file.
        """
        parts, metadata = checkpoint.unpack(data)
        try:
            before, rest = json.loads(metadata["about"]), json.loads(metadata["training"])
        except KeyError as error:
            raise ValueError(str(error)) from None
        checkpoint.check_same(before, about)
        self.network.load_state_dict(parts["network"])
        checkpoint.load_optimizer(self._optimizer, parts.get("optimizer", {}))
        self._state = parts.get("memory", {}).get("state")
        self.curves, self._starts = rest["curves"], rest["starts"]
        if rest["moment"] is not None:
            observation = self.game.go_to(rest["moment"])
            self._now = observation, self.game.teacher_action()


def _by_name(observation: Any) -> Mapping[str, Any]:
    """Return the inputs of a decision by name; the only one is called _ONLY."""
    if isinstance(observation, Mapping):
        return observation
    return {_ONLY: observation}


def _check_dropout(dropout: Mapping[str, float], inputs: Sequence[str]) -> None:
    """Raise MinibrainsError unless `dropout` has shares of these inputs, "node/socket"."""
    known = [name.replace("/", ".") for name in inputs]
    for output, share in dropout.items():
        if output not in known:
            raise MinibrainsError(
                f"input_dropout has {output!r}; expected outputs that the network reads: "
                f"{', '.join(known)}"
            )
        if not 0 <= share <= 1:
            raise MinibrainsError(
                f"input_dropout has {share} for {output}; expected a share of the batches, 0 to 1"
            )
