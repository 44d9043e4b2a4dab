"""TrainPPO: a policy gets better by playing, with PPO."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from time import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

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
from minibrains.errors import WorkflowError
from minibrains.files import LineFile, home, write_atomic
from minibrains.torch_node import compute_on_one_thread
from nodes.learning import curves
from nodes.learning.checkpoint import RESUME, check_training_name, resume
from nodes.learning.ppo_checkpoint import pack, size_of, unpack
from nodes.learning.ppo_evaluation import Evaluations
from nodes.learning.ppo_figures import Figures
from nodes.learning.ppo_memory import (
    Size,
    estimate,
    estimate_games,
    format_bytes,
    free_memory,
    is_out_of_memory,
    out_of_memory,
)

if TYPE_CHECKING:
    from stable_baselines3 import PPO

    from minibrains.training.games import Games
    from minibrains.training.module import RegionModule

_FREE: Final = {
    "title", "license", "processes", "decisions", "checkpoint", "save", "most",
    "evaluation_episodes", "evaluation_widgets", "stop_after",
}  # fmt: skip
"""Widgets that may be changed when a training goes on."""


class Preset(NamedTuple):
    """Settings of PPO that go together."""

    rate: float
    steps: int
    batch: int
    epochs: int
    entropy: float
    clip: float


PRESETS: Final[Mapping[str, Preset]] = MappingProxyType({
    "default": Preset(2.5e-4, 512, 64, 10, 0.01, 0.2),
    "fast": Preset(5e-4, 256, 64, 20, 0.05, 0.3),
    "stable": Preset(1e-4, 2048, 128, 5, 0.005, 0.1),
})  # fmt: skip


class PPOLearning(NamedTuple):
    """The outputs of TrainPPO."""

    decisions: Number | Absent
    reward: Number | Absent
    won: Number | Absent
    entropy: Number | Absent
    curves: ColorFrame | Absent
    finished: Flag


class TrainPPO(Register, category="learning", collects=True, terminal="finished"):
    """Let a policy get better by playing another workflow, with PPO of Stable-Baselines3.

    decisions:  the number of decisions so far
    reward:     mean sum of rewards of the last 100 episodes
    won:        share of them that was won, 0 to 1, if the game defines winning
    entropy:    of the policy, in nats, in the last update
    curves:     uint8 [180, 320, 3], after each update: rewards in blue, wins in green
    finished:   True: the policy is saved; this ends the episode

    `workflow` is the environment: nodes of it, `train`, give out logits, and in their place the
    policy chooses what it tries. Each tick is an update: the policy plays `steps` decisions in each
    of `environments` games, and learns from them. The critic is a network of the same form with
    weights of its own.

    With `evaluation_episodes`, each checkpoint is evaluated: the policy plays these episodes, with
    the most likely action at each decision. That changes nothing of the training.

    The folder `training/NAME` in $MINIBRAINS_HOME has checkpoints that can be played, updates.csv,
    evaluations.csv and monitor.csv, and everything to go on with: a training that was stopped or
    killed goes on from the last checkpoint when the workflow is run again, as if it had not been
    interrupted. At the end each trained brain is saved as `KIND/NAME.safetensors` in `models` in
    that folder, or `KIND/NAME-NODE.safetensors` if there are several.

    Source: J. Schulman et al., Proximal policy optimization algorithms, arXiv:1707.06347 (2017);
        A. Raffin et al., Stable-Baselines3, Journal of Machine Learning Research 22 (2021).
    """

    workflow: str = widget(rebuild=True, doc="the workflow that is the environment, or its file")
    train: tuple[str, ...] = widget(
        rebuild=True, doc="ids of the nodes of it that are trained; they give out logits"
    )
    name: str = widget(rebuild=True, doc="the name of the training and of its policy")
    reward: str = widget(
        default="",
        rebuild=True,
        doc="the output that is the reward, NODE.SOCKET; empty: the output `reward` of the only "
        "node that has one, or else of the console",
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
    environments: int = widget(
        default=8, min=1, max=1024, rebuild=True, doc="the number of games played at a time"
    )
    processes: int = widget(
        default=0,
        min=0,
        max=1024,
        rebuild=True,
        doc="the number of processes that play them; 0: this one does. A process can have only one "
        "emulator",
    )
    decisions: int = widget(
        default=100_000, min=1, rebuild=True, doc="the number of decisions, of all games together"
    )

    preset: Literal["default", "fast", "stable"] = widget(
        default="default",
        rebuild=True,
        doc="the values of the settings below that are 0, and of entropy if it is -1",
    )
    rate: float = widget(
        default=0.0,
        min=0.0,
        rebuild=True,
        doc="learning rate, which falls to a twentieth towards the end",
    )
    steps: int = widget(default=0, min=0, rebuild=True, doc="decisions of each game in an update")
    batch: int = widget(default=0, min=0, rebuild=True, doc="decisions in a step of the optimizer")
    epochs: int = widget(default=0, min=0, rebuild=True, doc="times that an update uses each")
    entropy: float = widget(
        default=-1.0,
        min=-1.0,
        rebuild=True,
        doc="weight of the policy's entropy; falls like `rate`",
    )
    clip: float = widget(
        default=0.0, min=0.0, rebuild=True, doc="how far an update may change a probability"
    )
    discount: float = widget(
        default=0.99, min=0.0, max=1.0, rebuild=True, doc="of a reward, for each decision"
    )
    trace: float = widget(
        default=0.95, min=0.0, max=1.0, rebuild=True, doc="lambda of the advantage's estimate"
    )
    kl: float = widget(
        default=0.0,
        min=0.0,
        rebuild=True,
        doc="weight of the divergence from the policy that it began with, which it otherwise "
        "forgets",
    )
    critic_first: int = widget(
        default=0,
        min=0,
        rebuild=True,
        doc="number of updates at the beginning in which only the critic learns",
    )
    seed: int = widget(default=0, min=0, rebuild=True, doc="of weights, games and choices")

    stages: tuple[tuple[str, ...], ...] = widget(
        default=(),
        rebuild=True,
        doc="a curriculum: for each stage the states that its episodes begin from, as patterns: "
        "Level4.*; none: any state of the console",
    )
    rise: float = widget(
        default=0.8,
        min=0.0,
        max=1.0,
        rebuild=True,
        doc="share of the last 100 episodes that must be won for the next stage",
    )
    fall: float = widget(
        default=0.2,
        min=0.0,
        max=1.0,
        rebuild=True,
        doc="share below which it goes back to the stage before",
    )

    checkpoint: int = widget(
        default=20, min=1, rebuild=True, doc="number of updates from one checkpoint to the next"
    )
    save: Literal["always", "better"] = widget(
        default="always",
        doc="whether every checkpoint has the brains, or only one that is the best so far: by its "
        "evaluation, or without evaluations by its mean reward. With evaluations, the best is then "
        "also what is saved at the end, in place of the last",
    )
    most: int = widget(
        default=200,
        min=1,
        max=100_000,
        doc="the number of checkpoints whose brains are kept: the latest, and every tenth of those "
        "before, as far as there is room",
    )

    evaluation_episodes: int = widget(
        default=0,
        min=0,
        rebuild=True,
        doc="the number of episodes that each checkpoint is evaluated in, always the same ones; 0: "
        "there are no evaluations",
    )
    evaluation_widgets: Mapping[str, Any] = widget(
        default=MappingProxyType({}),
        rebuild=True,
        doc="widget values of the workflow in evaluations, beside `widgets`: NODE.WIDGET -> value, "
        "such as console.states -> validation/Level4.*",
    )
    stop_after: int = widget(
        default=0,
        min=0,
        doc="the number of evaluations without a better one after which the training ends; 0: it "
        "does not",
    )
    title: str = widget(default="", doc="the title in the header of brains; empty: the name")
    license: str = widget(default="", doc="the licence in the header; empty: none is named")

    def check(self) -> None:
        check_training_name(self.name)
        if self.processes > self.environments:
            raise MinibrainsError(
                f"processes is {self.processes}, and environments {self.environments}; expected at "
                "least one game for each process"
            )
        if self.stop_after and not self.evaluation_episodes:
            raise MinibrainsError(
                f"stop_after is {self.stop_after}, and there are no evaluations; set "
                "evaluation_episodes"
            )
        preset = self._ppo_settings()
        if preset.batch < 2 or preset.steps * self.environments < 2:
            raise MinibrainsError(
                "an update needs at least two decisions; expected batch, and steps times "
                "environments, from 2 on"
            )

    def open(self, host: Host) -> None:
        _load_stable_baselines()  # what may be missing is better missed now
        self._host = host
        self._folder = home() / "training" / self.name
        self._model: PPO | None = None
        self._games: Games | None = None
        self._evaluations = Evaluations(None, {})
        self._monitor: LineFile | None = None
        self._events = curves.Events(self._folder / "events")
        self._preset = self._ppo_settings()
        decisions = self._preset.steps * self.environments
        self._wanted = Size(min(self._preset.batch, decisions), self.environments)
        self._size = self._wanted
        self._boundary: bytes | None = None
        """The training at the end of the last update, if it is not in a checkpoint."""

    def _ppo_settings(self) -> Preset:
        """Return the settings of PPO: its own, and for the others those of the preset."""
        preset = PRESETS[self.preset]
        return Preset(
            rate=self.rate or preset.rate,
            steps=self.steps or preset.steps,
            batch=self.batch or preset.batch,
            epochs=self.epochs or preset.epochs,
            entropy=preset.entropy if self.entropy < 0 else self.entropy,
            clip=self.clip or preset.clip,
        )

    def reset(self, episode: Episode) -> None:
        self._close_games()
        self.now = PPOLearning(ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, False)

    def emit(self) -> PPOLearning:
        return self.now

    def latch(self) -> None:
        if self._model is None:
            self._open_training()
        assert self._model is not None
        model = self._model
        # an evaluation that was stopped is made up for before the next update
        if not self._evaluation_is_due() and not self._is_finished():
            if not self._update(model):
                return  # stopped within an update, which counts for nothing
            self._boundary = self._pack()
        if self._evaluation_is_due() and not self._evaluate(model):
            return

        finished = self._is_finished()
        try:
            if finished or self._is_at_checkpoint():
                self._write_checkpoint(model)
            if finished:
                self._finish(model)
        except OSError as error:
            raise MinibrainsError(
                f"{self._folder} cannot be written: {error.strerror or error}; the last checkpoint "
                "is good: make room, then run the workflow again, and the training goes on"
            ) from None
        self._show(model, finished)

    def _is_at_checkpoint(self) -> bool:
        """Return whether a checkpoint is due after this update."""
        assert self._model is not None
        is_last = self._model.num_timesteps >= self.decisions
        return is_last or self._figures.updates % self.checkpoint == 0

    def _evaluation_is_due(self) -> bool:
        updates = self._figures.updates
        return updates > 0 and self._is_at_checkpoint() and self._evaluations.is_due(updates)

    def _is_finished(self) -> bool:
        assert self._model is not None
        if self._model.num_timesteps >= self.decisions:
            return True
        return 0 < self.stop_after <= self._evaluations.since_best

    def report(self) -> Mapping[str, Any]:
        if self._model is None or not self._figures.updates:
            return {}
        return self._metrics(self._figures.updates)

    def _metrics(self, update: int) -> dict[str, float]:
        """Return the figures after an update, with those of its evaluation."""
        return {**self._figures.at(update), **self._evaluations.at(update)}

    def close(self) -> None:
        if not hasattr(self, "_events"):
            return
        if self._boundary is not None:  # what was learned since the last checkpoint
            self._write_progress()
        self._events.close()
        self._close_games()

    def state(self) -> dict[str, Any]:
        """Return the whole training."""
        packed = None
        if self._model is not None:
            packed = self._pack()
        return {"now": self.now, "packed": packed}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.now = state["now"]
        self._close_games()
        if state["packed"] is not None:
            self._open_training(state["packed"])

    # -- beginning ---------------------------------------------------------------------------------

    def _open_training(self, packed: bytes | None = None) -> None:
        """Open the games, and make the networks, as large as memory allows.

        Args:
            packed: A training to go on with; None: that of the last checkpoint, if there is one.
        """
        gc.collect()  # a model that was too large refers to itself
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / RESUME
        if packed is not None:
            self._read_size(packed)
        elif path.exists():
            resume(path, self._read_size)
        self._fit_games()
        while True:
            # last: opening games draws from the random numbers that the model begins with
            self._games = self._open_games(self._size.environments, self.widgets)
            self._evaluations = self._open_evaluations()
            self._fit_learning(self._games)
            if self._size.environments == self._games.num_envs:
                break
            self._close_games()

        compute_on_one_thread()  # games that were closed before have given back the others
        self._figures = Figures(self._size.environments)
        model = self._make_model(self._games)
        self._about = self._dependencies()
        if packed is not None:
            self._unpack(packed, model)
        elif path.exists():
            self._resume(model, path)
        self._begin_stage()
        self._monitor = self._open_monitor()
        self._events.begin(model.num_timesteps)
        self._model = model

    def _read_size(self, data: bytes) -> None:
        """Take over what was lowered when a training was packed. Raises ValueError."""
        self._size = self._size.at_most(size_of(data) or self._wanted)

    def _fit_games(self) -> None:
        """Lower the number of games until they fit what is free."""
        while True:
            environments = self._size.environments
            need = estimate_games(environments, min(self.processes, environments))
            evaluated = min(environments, self.evaluation_episodes)
            need += estimate_games(evaluated, min(self.processes, evaluated))
            free = free_memory()
            if need <= free:
                return
            reason = f"the games need about {format_bytes(need)}, and {format_bytes(free)} is free"
            self._lower(reason, batch_first=False)

    def _fit_learning(self, games: Games) -> None:
        """Lower batch and number of games until all that comes beside the games fits what is free.

        It says how much it is, if it is much.
        """
        network = self._make_network()
        while True:
            need = estimate(
                network, games.observation_space, self._size, self._preset.steps, self.kl > 0
            )
            free = free_memory()
            reason = f"{need} is needed beside the games, and {format_bytes(free)} is free"
            if sum(need) <= free:
                break
            self._lower(reason, batch_first=need.rollouts + need.networks <= free)
        if sum(need) > free / 2 and self._size.environments == games.num_envs:
            self._host.say(reason)

    def _lower(self, reason: str, batch_first: bool = True) -> None:
        """Go down to the next smaller size, and say so. Raises MinibrainsError if there is none."""
        lower = self._size.lowered(batch_first)
        if lower is None:
            raise out_of_memory(reason, self._size)
        self._size = lower
        lowered = lower.difference(self._wanted)
        self._host.say(f"not enough memory: {reason}; goes on with {lowered}")
        self._host.record(lowered=lowered)

    def _pack(self) -> bytes:
        assert self._model is not None
        assert self._games is not None
        return pack(self._model, self._games, self._figures, self._evaluations, self._about)

    def _unpack(self, data: bytes, model: PPO) -> None:
        assert self._games is not None
        unpack(data, model, self._games, self._figures, self._evaluations, self._about)

    def _open_evaluations(self) -> Evaluations:
        """Return the evaluations, with games if there are any."""
        if not self.evaluation_episodes:
            return Evaluations(None, {})
        widgets = {**self.widgets, **self.evaluation_widgets}
        games = self._open_games(min(self._size.environments, self.evaluation_episodes), widgets)
        settings = {"seed": self.seed, "episodes": self.evaluation_episodes, "widgets": widgets}
        return Evaluations(games, json.loads(json.dumps(settings)))

    def _begin_stage(self) -> None:
        """Let the next episodes begin in the states of the present stage."""
        assert self._games is not None
        if self.stages:
            self._games.begin_in(self.stages[self._figures.stage])

    def _open_monitor(self) -> LineFile:
        """Open monitor.csv, without the episodes since the checkpoint, which are played again."""
        path = self._folder / "monitor.csv"
        head: dict[str, Any] = {"t_start": time(), "env_id": "minibrains/Workflow-v0"}
        lines: list[str] = []
        if path.exists():
            first, _, *lines = path.read_text().splitlines(keepends=True)
            head = json.loads(first.removeprefix("#"))
        self._started: float = head["t_start"]
        kept = "".join(lines[: self._figures.episodes])
        write_atomic(path, f"#{json.dumps(head)}\nr,l,t,won\n{kept}")
        return LineFile(path)

    def _close_games(self) -> None:
        """Close the games, if they are open."""
        self._boundary = None
        if self._games is not None:
            self._games.close()
        self._evaluations.close()
        if self._monitor is not None:
            self._monitor.close()
        self._games = self._model = self._monitor = None

    def _open_games(self, count: int, widgets: Mapping[str, Any]) -> Games:
        """Open games of the environment with widget values."""
        from minibrains.training.games import Games

        arguments = {
            "workflow": self.workflow,
            "train": list(self.train),
            "reward": self.reward or None,
            "widgets": dict(widgets),
            "brains": dict(self.brains),
            "packs": self._host.packs,
        }
        try:
            return Games(arguments, count, min(self.processes, count))
        except WorkflowError as error:
            if "a process can have one emulator" not in str(error):
                raise
            raise MinibrainsError(
                "a process can have only one emulator, so each game needs its own process: set "
                "processes and environments to the same number"
            ) from None

    def _make_network(self) -> RegionModule:
        """Return the network to begin with."""
        from minibrains.training.module import region

        return region(self.workflow, self.train, brains=dict(self.brains), packs=self._host.packs)

    def _make_model(self, games: Games) -> PPO:
        from gymnasium.spaces import Discrete
        from stable_baselines3 import PPO
        from stable_baselines3.common.logger import configure

        from minibrains.training.policy import RegionPolicy

        if not isinstance(games.action_space, Discrete):
            raise MinibrainsError(
                f"{self.workflow}: {', '.join(self.train)} give out {games.action_space}; "
                "expected nodes whose only output is logits"
            )
        preset = self._preset
        model = PPO(
            RegionPolicy,
            games,
            learning_rate=lambda _: preset.rate * self._schedule(),
            n_steps=preset.steps,
            batch_size=min(self._size.batch, preset.steps * self._size.environments),
            n_epochs=preset.epochs,
            gamma=self.discount,
            gae_lambda=self.trace,
            clip_range=preset.clip,
            ent_coef=1.0,  # the policy weighs its bonus itself
            seed=self.seed,
            device="cpu",
            policy_kwargs={
                "make_network": self._make_network,
                "entropy": preset.entropy,
                "kl": self.kl,
            },
        )
        model.set_logger(configure(None, []))
        games.policy = model.policy  # type: ignore[assignment]
        return model

    def _schedule(self) -> float:
        """Return what is left of learning rate and entropy: from 1 down to a twentieth."""
        done = 0 if self._model is None else self._model.num_timesteps
        return max(0.05, 1.0 - done / self.decisions)

    def _dependencies(self) -> dict[str, Any]:
        """Return everything that the training depends on; JSON."""
        assert self._games is not None
        about: dict[str, Any] = {"environment": self._games.workflow_sha256}
        for name in self.schema.widgets.keys() - _FREE:
            value = getattr(self, name)
            about[name] = dict(value) if isinstance(value, Mapping) else value
        settings: dict[str, Any] = json.loads(json.dumps(about, sort_keys=True))
        return settings

    # -- an update ---------------------------------------------------------------------------------

    def _update(self, model: PPO) -> bool:
        """Play and learn; return False if that was stopped, or will be tried again with less
        memory.
        """
        try:
            return self._play_and_learn(model)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
        # the error and all that it holds are gone here
        self._lower(f"update {self._figures.updates + 1} did not fit")
        if self._boundary is not None:
            self._write_progress()
        self._close_games()  # the next tick opens the training again
        return False

    def _play_and_learn(self, model: PPO) -> bool:
        policy: Any = model.policy
        policy.entropy = self._preset.entropy * self._schedule()
        policy.actor.requires_grad_(self._figures.updates >= self.critic_first)
        try:
            model.learn(
                self._preset.steps * self._size.environments,
                callback=self._on_decisions,
                reset_num_timesteps=False,
                log_interval=2,  # never: this call is one update
            )
        except ValueError:
            # torch refuses logits that are no numbers
            self._check_finite(*[float(weights.detach().sum()) for weights in policy.parameters()])
            raise
        if self._host.stopping:
            return False
        values = model.logger.name_to_value
        losses = [value for name, value in values.items() if name.endswith(("loss", "kl"))]
        self._check_finite(
            *losses, *[float(weights.detach().sum()) for weights in policy.parameters()]
        )
        self._figures.end_update(
            model.num_timesteps,
            entropy=policy.mean_entropy,
            value_loss=values["train/value_loss"],
            kl=values["train/approx_kl"],
            clipped=values["train/clip_fraction"],
        )
        if self._figures.change_stage(len(self.stages), self.rise, self.fall):
            self._begin_stage()
            self._host.say(f"stage {self._figures.stage + 1} of {len(self.stages)}")
        for name, value in self._figures.at(self._figures.updates).items():
            self._events.add(f"ppo/{name}", value, model.num_timesteps)
        return True

    def _evaluate(self, model: PPO) -> bool:
        """Evaluate the policy; return False if that was stopped."""
        update, decisions = self._figures.updates, model.num_timesteps
        self._host.progress(decisions, self.decisions, "evaluation")
        policy: Any = model.policy
        if not self._evaluations.evaluate(policy, update, decisions, lambda: self._host.stopping):
            return False
        self._boundary = self._pack()
        for name, value in self._evaluations.at(update).items():
            self._events.add(f"ppo/{name}", value, decisions)
        if decisions < self.decisions and self._is_finished():
            self._host.say(
                f"stopped after update {update}: {self.stop_after} evaluations were no better than "
                f"that of {self._evaluations.curves['decisions'][self._evaluations.best]:.0f} "
                "decisions"
            )
        return True

    def _check_finite(self, *values: float) -> None:
        """Raise MinibrainsError if a loss or a weight is no number."""
        if not np.isfinite(values).all():
            raise MinibrainsError(
                f"the loss of update {self._figures.updates + 1} is no number; train again with "
                "another name, and a smaller rate or smaller rewards"
            )

    def _on_decisions(self, local: Mapping[str, Any], _: Any) -> bool:
        """Note the rewards of a decision in each game; return False to stop."""
        seconds = time() - self._started
        over = self._figures.add(local["rewards"], local["dones"], local["infos"], seconds)
        assert self._monitor is not None
        for line in over:
            self._monitor.append(line)
        model = local["self"]
        self._host.progress(model.num_timesteps, self.decisions, self._figures.text())
        return not self._host.stopping

    # -- checkpoints -------------------------------------------------------------------------------

    def _write_checkpoint(self, model: PPO) -> None:
        """Write a checkpoint: the brains, the curves, and last of all what it goes on from."""
        update = self._figures.updates
        if self.save == "always" or self._is_best(update):
            folder = self._folder / f"update-{update:06d}"
            folder.mkdir(exist_ok=True)
            for node, brain in self._brains(model).items():
                self._save(brain, folder / f"{node}.safetensors", update)
            self._remove_old_brains()
        self._write_progress()

    def _is_best(self, update: int) -> bool:
        """Return whether the policy is the best so far: by its evaluation, if there are any."""
        if self.evaluation_episodes:
            return self._evaluations.is_best(update)
        rewards = self._figures.curves["reward"]
        return bool(rewards[-1] >= np.nanmax(rewards))

    def _write_progress(self) -> None:
        """Write the curves, and what the training goes on from, if it is not written yet."""
        curves.write_csv(self._folder / "updates.csv", self._figures.curves)
        curves.write_csv(self._folder / "behavior_metrics.csv", self._figures.behavior_curves)
        if self._evaluations.curves:
            curves.write_csv(self._folder / "evaluations.csv", self._evaluations.curves)
        if self._boundary is not None:
            write_atomic(self._folder / RESUME, self._boundary)
            self._boundary = None

    def _remove_old_brains(self) -> None:
        """Remove the brains of old checkpoints, so that `most` are left: of those before the latest
        half, first all but every tenth, then the oldest.
        """
        folders = sorted(self._folder.glob("update-??????*"))
        old = folders[: max(0, len(folders) - self.most // 2)]
        milestones = {folder for number, folder in enumerate(old) if number % 10 == 0}
        by_worth = sorted(old, key=lambda folder: (folder in milestones, folder.name))
        for folder in by_worth[: max(0, len(folders) - self.most)]:
            shutil.rmtree(folder)

    def _resume(self, model: PPO, path: Path) -> None:
        resume(path, lambda data: self._unpack(data, model))
        self._host.say(f"the training {self.name} goes on after update {self._figures.updates}")

    def _brains(self, model: PPO) -> dict[str, Any]:
        policy: Any = model.policy
        brains: dict[str, Any] = policy.actor.brains()
        return brains

    def _finish(self, model: PPO) -> None:
        """Save the trained brains among those of the user: the last, or the best evaluated."""
        brains, update = self._brains(model), self._figures.updates
        if self.save == "better" and self._evaluations.curves:
            policy: Any = model.policy
            network = policy.make_network()
            network.load_state_dict(self._evaluations.best_weights)
            brains = network.brains()
            update = int(self._evaluations.curves["update"][self._evaluations.best])
        for node, brain in brains.items():
            name = self.name if len(self.train) == 1 else f"{self.name}-{node}"
            path = home() / "models" / brain.kind / f"{name}.safetensors"
            path.parent.mkdir(parents=True, exist_ok=True)
            sha256 = self._save(brain, path, update)
            self._host.say(f"saved the brain {brain.kind}/{path.name}, {sha256}")
            self._host.record(policy=str(path), policy_sha256=sha256)

    def _save(self, brain: Any, path: Path, update: int) -> str:
        """Write the brain of an update, whose header says how it was made; return its SHA-256."""
        workflow = self._host.workflow
        licensed: dict[str, str] = {}
        if self.license:
            licensed["license"] = self.license
        sha256: str = brain.save(
            path,
            title=self.title or self.name,
            made_by=workflow.command or f"python -m server run {workflow.name}",
            workflow=workflow.name,
            workflow_sha256=workflow.sha256,
            environment={"workflow": self.workflow, "sha256": self._about["environment"]},
            metrics={name: round(value, 6) for name, value in self._metrics(update).items()},
            **licensed,
        )
        return sha256

    def _show(self, model: PPO, finished: bool) -> None:
        latest = self._figures.at(self._figures.updates)
        self.now = PPOLearning(
            model.num_timesteps,
            latest.get("reward", ABSENT),
            latest.get("won", ABSENT),
            latest["entropy"],
            curves.sketch_rewards(self._figures.curves, self.decisions),
            finished,
        )


def _load_stable_baselines() -> None:
    """Import Stable-Baselines3. Raises MinibrainsError if it is missing."""
    try:
        import stable_baselines3  # noqa: F401
    except ModuleNotFoundError:
        raise MinibrainsError(
            "learning by playing needs the Python package stable-baselines3, which is missing; "
            "install it with: pip install 'minibrains[learn]'"
        ) from None
