"""The learner of TrainPPO: a policy, the games that it plays, and PPO of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from minibrains.errors import MinibrainsError
from minibrains.packages import install_extra_command

if TYPE_CHECKING:
    from minibrains.training.module import RegionModule
    from minibrains.training.vec_env import WorkflowVecEnv


class Preset(NamedTuple):
    """Settings of PPO that go together."""

    learning_rate: float
    n_steps: int
    batch_size: int
    n_epochs: int
    ent_coef: float
    clip_range: float


PRESETS: Final[Mapping[str, Preset]] = MappingProxyType({
    "default": Preset(2.5e-4, 512, 64, 10, 0.01, 0.2),
    "fast": Preset(5e-4, 256, 64, 20, 0.05, 0.3),
    "stable": Preset(1e-4, 2048, 128, 5, 0.005, 0.1),
})  # fmt: skip


class Learner:
    """A policy that learns by playing: with PPO, or with RecurrentPPO if its region is recurrent.

    Learning rate and weight of the entropy fall to a twentieth towards the end.
    """

    def __init__(
        self,
        games: WorkflowVecEnv,
        make_network: Callable[[], RegionModule],
        preset: Preset,
        *,
        total_timesteps: int,
        batch_size: int,
        gamma: float,
        gae_lambda: float,
        critic: str,
        kl: float,
        seed: int,
    ) -> None:
        """Make the policy.

        Args:
            games: The games that it plays.
            make_network: Makes the network of its region with the weights to begin with.
            preset: The settings of PPO.
            total_timesteps: The number of decisions of the whole training.
            batch_size: Decisions in a step of the optimizer, in place of the preset's.
            gamma: The discount of a reward, for each decision.
            gae_lambda: Lambda of the advantage's estimate.
            critic: The output of the region's nodes that is the value; empty: the critic has a
                network of its own.
            kl: The weight of the divergence from the policy to begin with.
            seed: The seed of weights, games and choices.

        Raises:
            MinibrainsError: A recurrent policy cannot have `kl`, nor a last batch of one decision.
        """
        from stable_baselines3.common.logger import configure

        self.games = games
        self._preset, self._total_timesteps = preset, total_timesteps
        self.model: Any = None
        """The algorithm, with the policy as `policy`."""
        self.is_recurrent = make_network().state_size > 0
        if self.is_recurrent and kl:
            raise MinibrainsError(
                f"kl is {kl}, and the policy is recurrent; a recurrent policy is not kept near the "
                "one that it began with: set kl to 0"
            )
        decisions_of_update = preset.n_steps * games.num_envs
        batch_size = min(batch_size, decisions_of_update)
        if self.is_recurrent and decisions_of_update % batch_size == 1:
            raise MinibrainsError(
                f"the last batch of an update has one decision of {decisions_of_update}, and with "
                f"a recurrent policy it needs two; set a batch_size other than {batch_size}"
            )
        algorithm, policy = _algorithm(self.is_recurrent)
        self.model = algorithm(
            policy,
            games,
            learning_rate=lambda _: preset.learning_rate * self._left(),
            n_steps=preset.n_steps,
            batch_size=batch_size,
            n_epochs=preset.n_epochs,
            gamma=gamma,
            gae_lambda=gae_lambda,
            clip_range=preset.clip_range,
            ent_coef=1.0,  # a policy that is not recurrent weighs its bonus itself
            seed=seed,
            device="cpu",
            policy_kwargs={"make_network": make_network, "critic": critic, "kl": kl},
        )
        self.model.set_logger(configure(None, []))
        games.policy = self.model.policy

    @property
    def decisions(self) -> int:
        """The number of decisions so far."""
        done: int = self.model.num_timesteps
        return done

    def _left(self) -> float:
        """Return what is left of learning rate and entropy: from 1 down to a twentieth."""
        done = 0 if self.model is None else self.decisions
        return max(0.05, 1.0 - done / self._total_timesteps)

    def learn(
        self,
        update: int,
        on_decisions: Callable[[Mapping[str, Any], Any], bool],
        *,
        critic_only: bool,
    ) -> dict[str, float] | None:
        """Play the decisions of an update, and learn from them.

        Args:
            update: Its number, from 1.
            on_decisions: Is called after a decision of each game, as a callback of
                Stable-Baselines3; returns False to stop.
            critic_only: Whether the actor keeps its weights.

        Returns:
            The columns of updates.csv that the algorithm knows; None if it was stopped.

        Raises:
            MinibrainsError: A loss or a weight is NaN or infinite.
        """
        model, policy = self.model, self.model.policy
        policy.let_actor_learn(not critic_only)
        entropy_weight = self._preset.ent_coef * self._left()
        if self.is_recurrent:
            model.ent_coef = entropy_weight
        else:
            policy.entropy = entropy_weight

        try:
            model.learn(
                self._preset.n_steps * self.games.num_envs,
                callback=on_decisions,
                reset_num_timesteps=False,
                log_interval=2,  # never: this call is one update
            )
        except ValueError:
            # torch refuses logits that are not numbers
            _check_finite(update, self._sums())
            raise
        if not model.rollout_buffer.full:
            return None

        values = model.logger.name_to_value
        losses = [value for name, value in values.items() if name.endswith(("loss", "kl"))]
        _check_finite(update, [*losses, *self._sums()])
        entropy = -values["train/entropy_loss"] if self.is_recurrent else policy.mean_entropy
        return {
            "entropy": entropy,
            "value_loss": values["train/value_loss"],
            "approx_kl": values["train/approx_kl"],
            "clip_fraction": values["train/clip_fraction"],
        }

    def _sums(self) -> list[float]:
        """Return the sum of each tensor of weights."""
        return [float(weights.detach().sum()) for weights in self.model.policy.parameters()]


def _algorithm(is_recurrent: bool) -> tuple[type[Any], type[Any]]:
    """Return the class of the algorithm, and that of its policy."""
    if is_recurrent:
        contrib = load_package("sb3_contrib")
        from minibrains.training.recurrent import RecurrentRegionPolicy

        return contrib.RecurrentPPO, RecurrentRegionPolicy

    from minibrains.training.policy import RegionPolicy

    return load_package("stable_baselines3").PPO, RegionPolicy


def load_package(name: str) -> Any:
    """Import and return a package of the extra `learn`. Raises MinibrainsError if it is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise MinibrainsError(
            f"learning by playing needs the Python package {name.replace('_', '-')}, which is "
            f"missing; install it with: {install_extra_command('learn')}"
        ) from None


def _check_finite(update: int, values: list[float]) -> None:
    """Raise MinibrainsError if a loss or a weight is NaN or infinite."""
    if not np.isfinite(values).all():
        raise MinibrainsError(
            f"the loss of update {update} is NaN or infinite; train again with another name, and a "
            "smaller learning_rate or smaller rewards"
        )
