"""The evaluations of a policy that learns by playing, and the best policy so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

    from minibrains.training.policy import RegionPolicy
    from minibrains.training.vec_env import WorkflowVecEnv


class Evaluations:
    """The evaluations of a policy: in each it plays the same episodes.

    They draw no random number, and have games of their own, so a training is the same with and
    without them.
    """

    def __init__(self, games: WorkflowVecEnv | None, settings: Mapping[str, Any]) -> None:
        """Begin with none.

        Args:
            games: The games that are played; None: there are no evaluations.
            settings: What their results depend on beside the policy, JSON: "seed" of the run whose
                episodes are played, "episodes", their number, and others.
        """
        self._games = games
        self._settings = dict(settings)
        self.curves: dict[str, list[float]] = {}
        """The columns of evaluations.csv, with a row for each evaluation."""
        self.best_weights: dict[str, torch.Tensor] = {}
        """The actor of the best evaluation."""

    def is_due(self, update: int) -> bool:
        """Return whether the policy of an update is still to be evaluated."""
        return self._games is not None and self.curves.get("update", [])[-1:] != [update]

    def evaluate(
        self, policy: RegionPolicy, update: int, decisions: int, is_stopping: Callable[[], bool]
    ) -> bool:
        """Add an evaluation of the policy of an update; return False if that was stopped.

        At each decision the policy chooses its most likely action.
        """
        assert self._games is not None
        count = self._settings["episodes"]
        results = play_episodes(self._games, policy, count, self._settings["seed"], is_stopping)
        if results is None:
            return False
        row = {"update": float(update), "decisions": float(decisions)}
        for name in results[0]:
            values = [result[name] for result in results]
            row[name] = float(np.mean(values))
        for name, value in row.items():
            self.curves.setdefault(name, []).append(value)
        if self.is_best(update):
            weights = policy.actor.state_dict()
            self.best_weights = {name: tensor.clone() for name, tensor in weights.items()}
        return True

    @property
    def best(self) -> int:
        """The index of the best evaluation: the first with the greatest share of episodes won, and
        of those the greatest reward.
        """
        won = np.nan_to_num(self.curves["won"], nan=-1.0)  # a game without victories
        return max(range(len(won)), key=lambda index: (won[index], self.curves["reward"][index]))

    @property
    def since_best(self) -> int:
        """The number of evaluations after the best one."""
        if not self.curves:
            return 0
        return len(self.curves["update"]) - 1 - self.best

    def is_best(self, update: int) -> bool:
        """Return whether the best evaluation is that of an update."""
        return bool(self.curves) and self.curves["update"][self.best] == update

    def at(self, update: int) -> dict[str, float]:
        """Return the results of the evaluation of an update, if there is one; names begin with
        "evaluation_".
        """
        if update not in self.curves.get("update", []):
            return {}
        index = self.curves["update"].index(update)
        values: dict[str, float] = {}
        for name, column in self.curves.items():
            if name not in ("update", "decisions") and np.isfinite(column[index]):
                values[f"evaluation_{name}"] = column[index]
        return values

    def close(self) -> None:
        """Close the games."""
        if self._games is not None:
            self._games.close()

    def state(self) -> dict[str, Any]:
        """Return all results; JSON, for `load_state`."""
        return {"settings": self._settings, "curves": self.curves}

    def load_state(self, state: Mapping[str, Any], weights: Mapping[str, torch.Tensor]) -> None:
        """Go on from what `state` has returned, unless these were other evaluations.

        Args:
            state: The results.
            weights: `best_weights`.
        """
        if state["settings"] == self._settings:
            self.curves = {name: list(column) for name, column in state["curves"].items()}
            self.best_weights = dict(weights)


def play_episodes(
    games: WorkflowVecEnv,
    policy: RegionPolicy,
    count: int,
    seed: int,
    is_stopping: Callable[[], bool],
) -> list[dict[str, float]] | None:
    """Play the first episodes of a run, with a policy that chooses its most likely actions.

    Args:
        games: Games to play them, up to as many as episodes. Each plays consecutive
            ones; one that has played its share goes on, because a VecEnv cannot stop single games,
            and what it plays then is ignored.
        policy: The policy.
        count: The number of episodes.
        seed: The seed of the run.
        is_stopping: Returns whether to stop, after each decision.

    Returns:
        For each episode the sum of its rewards, "won" (1, 0, or NaN if the game defines no
        victory), "ticks", and the terms of its reward by name; None if it was stopped.
    """
    blocks = np.array_split(np.arange(count), games.num_envs)
    starts: list[dict[str, Any]] = []
    for block in blocks:
        starts.append({"seed": seed, "index": int(block[0]), "states": (), "actions": []})
    observations = games.go_to(starts)

    games.policy = policy
    memory: Any = None
    begins = np.ones(games.num_envs, bool)
    results: list[list[dict[str, float]]] = [[] for _ in blocks]
    sums = [0.0 for _ in blocks]
    missing = count
    while missing:
        if is_stopping():
            return None
        actions, memory = policy.predict(observations, memory, begins, deterministic=True)
        observations, rewards, begins, infos = games.step(actions)
        for game, (reward, info) in enumerate(zip(rewards, infos, strict=True)):
            sums[game] += float(reward)
            if not begins[game]:
                continue
            if len(results[game]) < len(blocks[game]):
                results[game].append(_result(sums[game], info["results"]))
                missing -= 1
            sums[game] = 0.0

    episodes: list[dict[str, float]] = []
    for block_results in results:
        episodes += block_results
    return episodes


def _result(reward: float, row: Mapping[str, Any]) -> dict[str, float]:
    won = row.get("won")
    result = {
        "reward": reward,
        "won": np.nan if won is None else float(won),
        "ticks": float(row["ticks"]),
    }
    for name, value in row.get("rewards", {}).items():
        result[f"reward_{name}"] = float(value)
    return result
