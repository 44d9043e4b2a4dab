"""RegionPolicy: the networks of a region as an actor-critic policy of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import CategoricalDistribution, Distribution
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import nn
from torch.distributions import kl_divergence

from minibrains.training.module import RegionModule


class SeparateCritic(nn.Module):
    """A network like the region's, with weights of its own, from an observation to its value."""

    def __init__(self, network: RegionModule, outputs: int) -> None:
        """Take a network of the region's kind, of which the weights are replaced by random ones.

        Args:
            network: The network.
            outputs: The number of its outputs.
        """
        super().__init__()
        for module in network.modules():
            reset: Any = getattr(module, "reset_parameters", None)
            if reset is not None:
                reset()
        self.network = network.requires_grad_()
        self.value = nn.Linear(outputs, 1)

    def forward(self, observation: Any, *state: torch.Tensor) -> Any:
        """Return the values [B, 1] of observations.

        Args:
            observation: The observations.
            state: State and starts of RegionModule.forward, if the region is recurrent. Then the
                result is a tuple of the values and the next state.
        """
        found = self.network(observation, *state)
        if not state:
            return self.value(found)
        hidden, after = found
        return self.value(hidden), after


class SharedCritic(nn.Module):
    """The value of an observation that a node of the region itself gives out."""

    def __init__(self, network: RegionModule) -> None:
        """Take the region's network as it gives out that number: a result of its `with_output`."""
        super().__init__()
        self.network = network

    def forward(self, observation: Any, *state: torch.Tensor) -> Any:
        """Return the values [B, 1] of observations, as SeparateCritic does."""
        found = self.network(observation, *state)
        if not state:
            return found[:, None]
        values, after = found
        return values[:, None], after


class RegionPolicy(ActorCriticPolicy):
    """A policy whose actor is a region that gives out logits.

    Stable-Baselines3 adds `ent_coef` times the third result of `evaluate_actions` to what it
    maximises. Here that is the whole bonus: `entropy` times the entropy of the policy, less `kl`
    times its divergence from the policy that it began with, so that it does not forget what that
    has learned. Give PPO `ent_coef=1`.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Callable[[float], float],
        *,
        make_network: Callable[[], RegionModule],
        critic: str = "",
        entropy: float = 0.0,
        kl: float = 0.0,
        use_sde: bool = False,
    ) -> None:
        """Make the networks.

        Args:
            observation_space: The observations.
            action_space: The actions, `Discrete`.
            lr_schedule: The learning rate, by the share of the training that is left.
            make_network: Makes the region's network with the weights to begin with. Nodes whose
                weights require no gradient keep them.
            critic: The output of one of its nodes that is the value, "node.socket"; empty: a
                network of the same form, with weights of its own.
            entropy: The weight of the entropy.
            kl: The weight of the divergence from the policy to begin with.
            use_sde: Not used.
        """
        # before nn.Module's own attributes are there, only plain values can be set
        self.make_network, self._critic, self._kl = make_network, critic, kl
        self.entropy = entropy
        """The weight of the entropy."""
        self.mean_entropy = 0.0
        """The entropy of the policy in the last batch, in nats."""
        self.second_best: np.ndarray | None = None
        """int64 [B]: the most likely of the other actions, for those that `forward` chose last."""
        # not super(): the recurrent policy's other base class would make an LSTM of its own
        ActorCriticPolicy.__init__(
            self, observation_space, action_space, lr_schedule, net_arch=[], use_sde=use_sde
        )

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        assert isinstance(self.action_space, spaces.Discrete)
        self.actor = self.make_network()
        self._learning: list[str] = []
        for node in self.actor.nodes:
            weights = self.actor.network(node).parameters()
            if any(each.requires_grad for each in weights):
                self._learning.append(node)
        self.critic: SeparateCritic | SharedCritic
        if self._critic:
            self.critic = SharedCritic(self.actor.with_output(self._critic))
        else:
            self.critic = SeparateCritic(self.make_network(), int(self.action_space.n))
        self.prior = self.make_network().requires_grad_(False) if self._kl else None
        # what both have is learned once
        learned = dict.fromkeys([*self.actor.parameters(), *self.critic.parameters()])
        self.optimizer = self.optimizer_class(  # type: ignore[call-arg]
            list(learned), lr=lr_schedule(1.0), **self.optimizer_kwargs
        )

    def let_actor_learn(self, learns: bool) -> None:
        """Let the nodes of the actor learn that do not keep their weights anyway, or no node."""
        for node in self._learning:
            self.actor.network(node).requires_grad_(learns)

    def set_training_mode(self, mode: bool) -> None:
        """Keep the networks as they play: PPO compares the probability of an action before and
        after a step, and dropout would change it at random.

        Source: M. Hausknecht, N. Wagener, Consistent dropout for policy gradient reinforcement
            learning, arXiv:2202.11818 (2022).
        """
        super().set_training_mode(False)

    def forward(
        self, obs: torch.Tensor, deterministic: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return actions [B], values [B, 1] and log-probabilities [B]."""
        actions, log_probabilities = self.choose(self.actor(obs), deterministic)
        return actions, self.critic(obs), log_probabilities

    def choose(
        self, logits: torch.Tensor, deterministic: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return actions [B] and their log-probabilities [B], and note the second best ones.

        Args:
            logits: Float32 [B, actions].
            deterministic: Whether to take the most likely actions.
        """
        distribution = self.distribution(logits)
        actions = distribution.get_actions(deterministic=deterministic)
        others = logits.scatter(1, actions[:, None], -torch.inf)
        self.second_best = others.argmax(1).numpy()
        return actions, distribution.log_prob(actions)

    def distribution(self, logits: torch.Tensor) -> CategoricalDistribution:
        """Return the distribution of the actions that has these logits."""
        assert isinstance(self.action_space, spaces.Discrete)
        distribution = CategoricalDistribution(int(self.action_space.n))
        return distribution.proba_distribution(logits)

    def _predict(self, observation: Any, deterministic: bool = False) -> torch.Tensor:
        actions, _, _ = self.forward(observation, deterministic)
        return actions

    def get_distribution(self, obs: Any) -> Distribution:
        """Return the distribution of the actions."""
        return self.distribution(self.actor(obs))

    def predict_values(self, obs: Any) -> torch.Tensor:
        """Return the values [B, 1] of observations."""
        values: torch.Tensor = self.critic(obs)
        return values

    def evaluate_actions(
        self, obs: Any, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return values [B, 1], log-probabilities [B] and the bonus [B]."""
        distribution = self.get_distribution(obs)
        entropy = distribution.entropy()
        assert entropy is not None
        self.mean_entropy = float(entropy.detach().mean())
        bonus = self.entropy * entropy
        if self.prior is not None:
            prior = self.distribution(self.prior(obs))
            bonus = bonus - self._kl * kl_divergence(
                distribution.distribution,  # type: ignore[arg-type]
                prior.distribution,
            )
        return self.critic(obs), distribution.log_prob(actions), bonus
