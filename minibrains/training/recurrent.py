"""RecurrentRegionPolicy: a recurrent region as a policy of sb3-contrib's RecurrentPPO."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.distributions import Distribution
from torch.nn.functional import pad

from minibrains.training.policy import RegionPolicy

Halves = tuple[torch.Tensor, ...]
"""The state of a network as RecurrentPPO stores it, hidden and cell state of an LSTM, each float32
[1, B, columns]. Here these are the two halves of the columns of a RegionModule's state."""


class RecurrentRegionPolicy(RegionPolicy, RecurrentActorCriticPolicy):  # type: ignore[misc]
    """A policy whose actor is a recurrent region that gives out logits.

    Actor and critic each have a state. An observation may be that of a step in a sequence, in the
    order of RegionModule.forward.

    Stable-Baselines3 weighs the entropy by `ent_coef` here, since only it knows which steps merely
    fill up shorter sequences.

    Source: S. Kapturowski et al., Recurrent experience replay in distributed reinforcement
        learning, ICLR (2019): sequences begin with the state that was stored when they were played.
    """

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        super()._build(lr_schedule)
        columns = (self.actor.state_size + 1) // 2
        # RecurrentPPO and `predict` read the sizes of the states from these
        self.lstm_actor: Any = SimpleNamespace(num_layers=1, hidden_size=columns)
        self.lstm_hidden_state_shape = (1, 1, columns)

    def forward(  # type: ignore[override]
        self,
        obs: Any,
        lstm_states: RNNStates,
        episode_starts: torch.Tensor,
        deterministic: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, RNNStates]:
        """Return actions [B], values [B, 1], log-probabilities [B] and the next states."""
        logits, actor_state = self._act(obs, lstm_states.pi, episode_starts)
        values, critic_state = self._value(obs, lstm_states.vf, episode_starts)
        actions, log_probabilities = self.choose(logits, deterministic)
        return actions, values, log_probabilities, RNNStates(actor_state, critic_state)

    def _predict(  # type: ignore[override]
        self,
        observation: Any,
        lstm_states: Halves,
        episode_starts: torch.Tensor,
        deterministic: bool = False,
    ) -> tuple[torch.Tensor, Halves]:
        logits, state = self._act(observation, lstm_states, episode_starts)
        actions, _ = self.choose(logits, deterministic)
        return actions, state

    def get_distribution(  # type: ignore[override]
        self, obs: Any, lstm_states: Halves, episode_starts: torch.Tensor
    ) -> tuple[Distribution, Halves]:
        """Return the distribution of the actions, and the actor's next state."""
        logits, state = self._act(obs, lstm_states, episode_starts)
        return self.distribution(logits), state

    def predict_values(  # type: ignore[override]
        self, obs: Any, lstm_states: Halves, episode_starts: torch.Tensor
    ) -> torch.Tensor:
        """Return the values [B, 1] of observations."""
        values, _ = self._value(obs, lstm_states, episode_starts)
        return values

    def evaluate_actions(  # type: ignore[override]
        self,
        obs: Any,
        actions: torch.Tensor,
        lstm_states: RNNStates,
        episode_starts: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return values [B, 1], log-probabilities [B] and entropies [B], in nats."""
        distribution, _ = self.get_distribution(obs, lstm_states.pi, episode_starts)
        values = self.predict_values(obs, lstm_states.vf, episode_starts)
        entropy = distribution.entropy()
        assert entropy is not None
        return values, distribution.log_prob(actions), entropy

    def _act(self, obs: Any, states: Halves, starts: torch.Tensor) -> tuple[torch.Tensor, Halves]:
        """Return logits [B, actions] and the actor's next state."""
        state = _joined(states, self.actor.state_size)
        logits, after = self.actor(obs, state, starts > 0)
        return logits, _halves(after)

    def _value(self, obs: Any, states: Halves, starts: torch.Tensor) -> tuple[torch.Tensor, Halves]:
        """Return values [B, 1] and the critic's next state."""
        state = _joined(states, self.actor.state_size)
        values, after = self.critic(obs, state, starts > 0)
        return values, _halves(after)


def _joined(states: Halves, columns: int) -> torch.Tensor:
    """Return the state of a RegionModule, [B, columns]."""
    return torch.cat(states, 2)[0, :, :columns]


def _halves(state: torch.Tensor) -> Halves:
    """Return the state of a RegionModule as it is stored."""
    odd = state.shape[1] % 2
    hidden, cell = pad(state, (0, odd))[None].chunk(2, 2)
    return hidden.contiguous(), cell.contiguous()
