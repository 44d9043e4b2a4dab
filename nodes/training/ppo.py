"""TrainPPO: a policy gets better by playing, with PPO."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from pathlib import Path
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
from minibrains.files import home, write_atomic
from minibrains.torch_node import limit_threads
from minibrains.values import to_json
from nodes.training.checkpoint import (
    check_frozen,
    check_training_name,
    environment_of,
    renamed,
    resume,
    settings_of,
)
from nodes.training.curves import load_pyplot, sketch_rewards
from nodes.training.ppo_checkpoint import pack, size_of, unpack
from nodes.training.ppo_evaluation import Evaluations
from nodes.training.ppo_folder import TrainingFolder
from nodes.training.ppo_learner import PRESETS, Learner, Preset, load_package
from nodes.training.ppo_memory import FittedSize, Size, is_out_of_memory
from nodes.training.ppo_metrics import Metrics

if TYPE_CHECKING:
    from minibrains.training.module import RegionModule
    from minibrains.training.vec_env import WorkflowVecEnv

_FREE: Final = {
    "title", "license", "processes", "total_timesteps", "checkpoint", "save", "max_checkpoints",
    "evaluation_episodes", "evaluation_widgets", "patience",
}  # fmt: skip
"""Widgets that may be changed when a training goes on."""


class PPOLearning(NamedTuple):
    """The outputs of TrainPPO."""

    decisions: Number | Absent
    reward: Number | Absent
    won: Number | Absent
    entropy: Number | Absent
    curves: ColorFrame | Absent
    finished: Flag


class TrainPPO(
    Register,
    category="training",
    collects_data=True,
    terminal="finished",
    version=3,
    renamed_widgets={
        1: renamed(
            "n_envs",
            "total_timesteps",
            "learning_rate",
            "n_steps",
            "batch_size",
            "n_epochs",
            "ent_coef",
            "clip_range",
            "gamma",
            "gae_lambda",
            "patience",
            "max_checkpoints",
        ),
        2: renamed("patience", "max_checkpoints"),
    },
):
    """Let a policy get better by playing another workflow, with PPO of Stable-Baselines3.

    decisions:  the number of decisions so far
    reward:     mean sum of rewards of the last 100 episodes
    won:        share of them that was won, 0 to 1, if the game defines winning
    entropy:    of the policy, in nats, in the last update
    curves:     uint8 [180, 320, 3], after each update: rewards in blue, wins in green
    finished:   True: the policy is saved; this ends the episode

    `workflow` is the environment: nodes of it, `train`, give out logits, and in their place the
    policy chooses what it tries. Each tick is an update: the policy plays `n_steps` decisions in
    each of `n_envs` games, and learns from them. The critic is a network of the same form with
    weights of its own, or one of the nodes, such as a ValueHead: then the gradients of both go
    through what they share. If one of these nodes is recurrent, as a VectorMemory is, it learns
    with RecurrentPPO of sb3-contrib, and remembers from each decision of an episode to the next.
    Nodes in `freeze` keep their weights.

    With `evaluation_episodes`, each checkpoint is evaluated: the policy plays these episodes, with
    the most likely action at each decision. That changes nothing of the training.

    The folder `training/NAME` in $MINIBRAINS_HOME has checkpoints that can be played, updates.csv,
    evaluations.csv and monitor.csv, at the end training_curves.png, and everything to go on with: a
    training that was stopped or killed goes on from the last checkpoint when the workflow is run
    again, as if it had not been interrupted. At the end each trained brain is saved as
    `KIND/NAME.safetensors` in `models` in that folder, or `KIND/NAME-NODE.safetensors` if there are
    several.

    Source: J. Schulman et al., Proximal policy optimization algorithms, arXiv:1707.06347 (2017);
        A. Raffin et al., Stable-Baselines3, Journal of Machine Learning Research 22 (2021).
    """

    workflow: str = widget(rebuild=True, doc="the workflow that is the environment, or its file")
    train: tuple[str, ...] = widget(
        rebuild=True, doc="ids of the nodes of it that are trained; they give out logits"
    )
    critic: str = widget(
        default="",
        rebuild=True,
        doc="the output of one of these nodes that learns to predict the value, NODE.SOCKET; "
        "empty: a network of the same form as theirs, which is not saved",
    )
    freeze: tuple[str, ...] = widget(
        default=(), rebuild=True, doc="ids of those of these nodes that keep their weights"
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
    n_envs: int = widget(
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
    total_timesteps: int = widget(
        default=100_000, min=1, rebuild=True, doc="the number of decisions, of all games together"
    )

    preset: Literal["default", "fast", "stable"] = widget(
        default="default",
        rebuild=True,
        doc="the values of the settings below that are 0, and of ent_coef if it is -1",
    )
    learning_rate: float = widget(
        default=0.0,
        min=0.0,
        rebuild=True,
        doc="learning rate, which falls to a twentieth towards the end",
    )
    n_steps: int = widget(default=0, min=0, rebuild=True, doc="decisions of each game in an update")
    batch_size: int = widget(
        default=0, min=0, rebuild=True, doc="decisions in a step of the optimizer"
    )
    n_epochs: int = widget(
        default=0, min=0, rebuild=True, doc="number of times that an update uses each decision"
    )
    ent_coef: float = widget(
        default=-1.0,
        min=-1.0,
        rebuild=True,
        doc="weight of the policy's entropy; falls like `learning_rate`",
    )
    clip_range: float = widget(
        default=0.0, min=0.0, rebuild=True, doc="how far an update may change a probability"
    )
    gamma: float = widget(
        default=0.99,
        min=0.0,
        max=1.0,
        rebuild=True,
        doc="the discount of a reward, for each decision",
    )
    gae_lambda: float = widget(
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
    max_checkpoints: int = widget(
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
    patience: int = widget(
        default=0,
        min=0,
        doc="the number of evaluations without a better one after which the training ends; 0: it "
        "does not",
    )
    title: str = widget(default="", doc="the title in the header of brains; empty: the name")
    license: str = widget(default="", doc="the licence in the header; empty: none is named")

    def check(self) -> None:
        check_training_name(self.name)
        if self.processes > self.n_envs:
            raise MinibrainsError(
                f"processes is {self.processes}, and n_envs {self.n_envs}; expected at "
                "least one game for each process"
            )
        if self.patience and not self.evaluation_episodes:
            raise MinibrainsError(
                f"patience is {self.patience}, and there are no evaluations; set "
                "evaluation_episodes"
            )
        if self.critic and self.critic_first:
            raise MinibrainsError(
                f"critic_first is {self.critic_first}, and the critic {self.critic} learns with "
                "the policy; set critic_first to 0"
            )
        check_frozen(self.freeze, self.train)
        preset = self._ppo_settings()
        if preset.batch_size < 2 or preset.n_steps * self.n_envs < 2:
            raise MinibrainsError(
                "an update needs at least two decisions; expected batch_size, and n_steps times "
                "n_envs, from 2 on"
            )

    def open(self, host: Host) -> None:
        # missing packages are refused before the training
        load_package("stable_baselines3")
        load_pyplot()
        self._host = host
        self._folder = TrainingFolder(home() / "training" / self.name)
        self._games: WorkflowVecEnv | None = None
        self._learner: Learner | None = None
        self._evaluations = Evaluations(None, {})
        self._preset = self._ppo_settings()
        decisions = self._preset.n_steps * self.n_envs
        self._fitted = FittedSize(Size(min(self._preset.batch_size, decisions), self.n_envs), host)
        self._unsaved: bytes | None = None
        """The training at the end of the last update, if it is not in a checkpoint."""
        network = self._make_network()  # what is wrong with it is refused before the first tick
        if self.critic:
            network.with_output(self.critic)

    def _ppo_settings(self) -> Preset:
        """Return the settings of PPO: its own, and for the others those of the preset."""
        preset = PRESETS[self.preset]
        return Preset(
            learning_rate=self.learning_rate or preset.learning_rate,
            n_steps=self.n_steps or preset.n_steps,
            batch_size=self.batch_size or preset.batch_size,
            n_epochs=self.n_epochs or preset.n_epochs,
            ent_coef=preset.ent_coef if self.ent_coef < 0 else self.ent_coef,
            clip_range=self.clip_range or preset.clip_range,
        )

    def reset(self, episode: Episode) -> None:
        self._close_training()
        self.now = PPOLearning(ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, False)

    def emit(self) -> PPOLearning:
        return self.now

    def latch(self) -> None:
        learner = self._learner or self._open_training()

        # an update, the evaluation after it, the checkpoint, and at the end the result, each if it
        # is due; what is stopped counts for nothing, and an evaluation comes before the next update
        if not self._evaluation_is_due(learner) and not self._is_finished(learner):
            if not self._update(learner):
                return
            self._unsaved = self._pack(learner)
        if self._evaluation_is_due(learner):
            if not self._evaluate(learner):
                return
            self._unsaved = self._pack(learner)

        finished = self._is_finished(learner)
        try:
            if finished or self._is_at_checkpoint(learner):
                self._write_checkpoint(learner)
            if finished:
                self._save_result(learner)
        except OSError as error:
            raise MinibrainsError(
                f"{self._folder.path} cannot be written: {error.strerror or error}; the last "
                "checkpoint is good: make room, then run the workflow again, and the training goes "
                "on"
            ) from None
        self._show(learner, finished)

    def _is_at_checkpoint(self, learner: Learner) -> bool:
        """Return whether a checkpoint is due after this update."""
        is_last = learner.decisions >= self.total_timesteps
        return is_last or self._metrics.updates % self.checkpoint == 0

    def _evaluation_is_due(self, learner: Learner) -> bool:
        updates = self._metrics.updates
        return updates > 0 and self._is_at_checkpoint(learner) and self._evaluations.is_due(updates)

    def _is_finished(self, learner: Learner) -> bool:
        if learner.decisions >= self.total_timesteps:
            return True
        return 0 < self.patience <= self._evaluations.since_best

    def report(self) -> Mapping[str, Any]:
        if self._learner is None or not self._metrics.updates:
            return {}
        return self._metrics_at(self._metrics.updates)

    def _metrics_at(self, update: int) -> dict[str, float]:
        """Return the figures after an update, with those of its evaluation."""
        return {**self._metrics.at(update), **self._evaluations.at(update)}

    def close(self) -> None:
        if not hasattr(self, "_folder"):
            return
        if self._unsaved is not None:  # what was learned since the last checkpoint
            self._write_progress()
        self._close_training()

    def state(self) -> dict[str, Any]:
        """Return the whole training."""
        packed = None
        if self._learner is not None:
            packed = self._pack(self._learner)
        return {"now": self.now, "packed": packed}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.now = state["now"]
        self._close_training()
        if state["packed"] is not None:
            self._open_training(state["packed"])

    # -- beginning ---------------------------------------------------------------------------------

    def _open_training(self, packed: bytes | None = None) -> Learner:
        """Open the games, and make the networks, as large as memory allows.

        Args:
            packed: A training to go on with; None: that of the last checkpoint, if there is one.
        """
        gc.collect()  # a model that was too large refers to itself
        self._folder.make()
        if packed is not None:
            self._read_size(packed)
        elif self._folder.resume.exists():
            resume(self._folder.resume, self._read_size)

        games = self._open_fitting_games()
        limit_threads()  # games that were closed before have given back the others
        self._metrics = Metrics(games.num_envs)
        learner = self._make_learner(games)
        self._about = {"environment": games.workflow_sha256, **settings_of(self, _FREE)}
        if packed is not None:
            self._unpack(packed, learner)
        elif self._folder.resume.exists():
            resume(self._folder.resume, lambda data: self._unpack(data, learner))
            self._host.say(f"the training {self.name} goes on after update {self._metrics.updates}")
        self._begin_stage(games)
        self._folder.open_logs(self._metrics.episodes, learner.decisions)
        self._learner = learner
        return learner

    def _read_size(self, data: bytes) -> None:
        """Take over what was lowered when a training was packed. Raises ValueError."""
        self._fitted.size = self._fitted.size.at_most(size_of(data) or self._fitted.wanted)

    def _open_fitting_games(self) -> WorkflowVecEnv:
        """Open the games, and those of evaluations, as many as memory allows."""
        self._fitted.fit_games(self.processes, self.evaluation_episodes)
        while True:
            # last: opening games draws from the random numbers that the model begins with
            self._games = self._open_games(self._fitted.size.n_envs, self.widgets)
            self._evaluations = self._open_evaluations()
            network = self._make_network()
            self._fitted.fit_learning(network, self._games, self._preset.n_steps, self.kl > 0)
            if self._fitted.size.n_envs == self._games.num_envs:
                return self._games
            self._close_training()

    def _open_evaluations(self) -> Evaluations:
        """Return the evaluations, with games if there are any."""
        if not self.evaluation_episodes:
            return Evaluations(None, {})
        widgets = {**self.widgets, **self.evaluation_widgets}
        count = min(self._fitted.size.n_envs, self.evaluation_episodes)
        games = self._open_games(count, widgets)
        settings = {"seed": self.seed, "episodes": self.evaluation_episodes, "widgets": widgets}
        return Evaluations(games, to_json(settings))

    def _open_games(self, count: int, widgets: Mapping[str, Any]) -> WorkflowVecEnv:
        """Open games of the environment with widget values."""
        from minibrains.training.vec_env import WorkflowVecEnv

        arguments = {
            "workflow": self.workflow,
            "train": list(self.train),
            "reward": self.reward or None,
            "widgets": to_json(widgets),
            "brains": dict(self.brains),
            "packs": self._host.packs,
        }
        try:
            return WorkflowVecEnv(arguments, count, min(self.processes, count))
        except WorkflowError as error:
            if "a process can have one emulator" not in str(error):
                raise
            raise MinibrainsError(
                "a process can have only one emulator, so each game needs its own process: set "
                "processes and n_envs to the same number"
            ) from None

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

    def _make_learner(self, games: WorkflowVecEnv) -> Learner:
        from gymnasium.spaces import Discrete

        if not isinstance(games.action_space, Discrete):
            raise MinibrainsError(
                f"{self.workflow}: {', '.join(self.train)} give out {games.action_space}; "
                "expected nodes whose only output is logits"
            )
        return Learner(
            games,
            self._make_network,
            self._preset,
            total_timesteps=self.total_timesteps,
            batch_size=self._fitted.size.batch_size,
            gamma=self.gamma,
            gae_lambda=self.gae_lambda,
            critic=self.critic,
            kl=self.kl,
            seed=self.seed,
        )

    def _begin_stage(self, games: WorkflowVecEnv) -> None:
        """Let the next episodes begin in the states of the present stage."""
        if self.stages:
            games.begin_in(self.stages[self._metrics.stage])

    def _pack(self, learner: Learner) -> bytes:
        return pack(learner, self._metrics, self._evaluations, self._about)

    def _unpack(self, data: bytes, learner: Learner) -> None:
        unpack(data, learner, self._metrics, self._evaluations, self._about)

    def _close_training(self) -> None:
        """Close the games and the logs, if they are open."""
        self._unsaved = self._learner = None
        if self._games is not None:
            self._games.close()
            self._games = None
        self._evaluations.close()
        self._folder.close_logs()

    # -- an update ---------------------------------------------------------------------------------

    def _update(self, learner: Learner) -> bool:
        """Play and learn; return False if that was stopped, or will be tried again with less
        memory.
        """
        try:
            return self._play_and_learn(learner)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
        # the error and all that it holds are gone here
        self._fitted.lower(f"update {self._metrics.updates + 1} did not fit")
        if self._unsaved is not None:
            self._write_progress()
        self._close_training()  # the next tick opens the training again
        return False

    def _play_and_learn(self, learner: Learner) -> bool:
        metrics = self._metrics
        learned = learner.learn(
            metrics.updates + 1,
            self._on_decisions,
            critic_only=metrics.updates < self.critic_first,
        )
        if learned is None:
            return False
        metrics.end_update(learner.decisions, **learned)
        if metrics.change_stage(len(self.stages), self.rise, self.fall):
            self._begin_stage(learner.games)
            self._host.say(f"stage {metrics.stage + 1} of {len(self.stages)}")
        self._folder.log_scalars(metrics.at(metrics.updates), learner.decisions)
        return True

    def _on_decisions(self, local: Mapping[str, Any], _: Any) -> bool:
        """Note the rewards of a decision in each game; return False to stop."""
        seconds = self._folder.seconds
        over = self._metrics.add(local["rewards"], local["dones"], local["infos"], seconds)
        self._folder.log_episodes(over, local["infos"])
        decisions = local["self"].num_timesteps
        self._host.progress(decisions, self.total_timesteps, self._metrics.text())
        return not self._host.stopping

    # -- an evaluation -----------------------------------------------------------------------------

    def _evaluate(self, learner: Learner) -> bool:
        """Evaluate the policy; return False if that was stopped."""
        update, decisions = self._metrics.updates, learner.decisions
        self._host.progress(decisions, self.total_timesteps, "evaluation")
        policy = learner.model.policy
        if not self._evaluations.evaluate(policy, update, decisions, lambda: self._host.stopping):
            return False
        self._folder.log_scalars(self._evaluations.at(update), decisions)
        if decisions < self.total_timesteps and self._is_finished(learner):
            self._host.say(
                f"stopped after update {update}: {self.patience} evaluations were no better than "
                f"that of {self._evaluations.curves['decisions'][self._evaluations.best]:.0f} "
                "decisions"
            )
        return True

    # -- a checkpoint, and the result --------------------------------------------------------------

    def _write_checkpoint(self, learner: Learner) -> None:
        """Write a checkpoint: the brains, the curves, and last of all what it goes on from."""
        update = self._metrics.updates
        if self.save == "always" or self._is_best(update):
            folder = self._folder.make_checkpoint(update)
            for node, brain in self._learned(learner.model.policy.actor).items():
                self._save(brain, folder / f"{node}.safetensors", update)
            self._folder.remove_old_checkpoints(self.max_checkpoints)
        self._write_progress()

    def _learned(self, network: RegionModule) -> dict[str, Any]:
        """Return the brains of the nodes that learn; one without weights has nothing to learn."""
        learned: dict[str, Any] = {}
        for node, brain in network.brains().items():
            if node not in self.freeze and brain.tensors:
                learned[node] = brain
        return learned

    def _is_best(self, update: int) -> bool:
        """Return whether the policy is the best so far: by its evaluation, if there are any."""
        if self.evaluation_episodes:
            return self._evaluations.is_best(update)
        rewards = self._metrics.curves["ep_rew_mean"]
        return bool(rewards[-1] >= np.nanmax(rewards))

    def _write_progress(self) -> None:
        """Write the curves, and what the training goes on from, if it is not written yet."""
        self._folder.write_tables(self._metrics, self._evaluations)
        if self._unsaved is not None:
            write_atomic(self._folder.resume, self._unsaved)
            self._unsaved = None

    def _save_result(self, learner: Learner) -> None:
        """Save the trained brains among those of the user, the last or the best evaluated, and draw
        the curves.
        """
        network, update = learner.model.policy.actor, self._metrics.updates
        if self.save == "better" and self._evaluations.curves:
            network = self._make_network()
            network.load_state_dict(self._evaluations.best_weights)
            update = int(self._evaluations.curves["update"][self._evaluations.best])
        for node, brain in self._learned(network).items():
            name = self.name if len(self.train) == 1 else f"{self.name}-{node}"
            path = home() / "models" / brain.kind / f"{name}.safetensors"
            path.parent.mkdir(parents=True, exist_ok=True)
            sha256 = self._save(brain, path, update)
            self._host.say(f"saved the brain {brain.kind}/{path.name}, {sha256}")
            self._host.record(policy=str(path), policy_sha256=sha256)
        self._folder.draw_curves(self.title or self.name, self._metrics)

    def _save(self, brain: Any, path: Path, update: int) -> str:
        """Write the brain of an update, whose header says how it was made; return its SHA-256."""
        workflow = self._host.workflow
        sha256: str = brain.save(
            path,
            title=self.title or self.name,
            made_by=workflow.made_by,
            license=self.license,
            workflow=workflow.name,
            workflow_sha256=workflow.sha256,
            environment=environment_of(self, self._about["environment"]),
            metrics={name: round(value, 6) for name, value in self._metrics_at(update).items()},
        )
        return sha256

    def _show(self, learner: Learner, finished: bool) -> None:
        latest = self._metrics.at(self._metrics.updates)
        self.now = PPOLearning(
            learner.decisions,
            latest.get("ep_rew_mean", ABSENT),
            latest.get("won", ABSENT),
            latest["entropy"],
            sketch_rewards(self._metrics.curves, self.total_timesteps),
            finished,
        )
