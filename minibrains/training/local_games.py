"""Games that are played in one process. A process for games imports this module, and neither torch
nor Stable-Baselines3, unless its nodes do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from minibrains.process.messages import Failure, decode, encode
from minibrains.process.parent import ParentProcess
from minibrains.training.env import WorkflowEnv
from minibrains.training.spaces import Ranked


class LocalGames:
    """Some games in this process, which are played one after the other."""

    def __init__(self, arguments: Mapping[str, Any], count: int) -> None:
        """Open games.

        Args:
            arguments: Those of WorkflowEnv.
            count: The number of games.
        """
        self.games: list[WorkflowEnv] = []
        try:
            for _ in range(count):
                self.games.append(WorkflowEnv(**arguments))
        except BaseException:
            self.close()
            raise

    def about(self) -> tuple[Any, Any, str]:
        """Return the spaces of observation and action, and the workflow hash."""
        game = self.games[0]
        return game.observation_space, game.action_space, game.workflow_sha256

    def reset(self, seeds: Sequence[int | None]) -> list[Any]:
        """Begin an episode in each game; return the observations."""
        return [game.reset(seed=seed)[0] for game, seed in zip(self.games, seeds, strict=True)]

    def step(self, actions: Sequence[Any]) -> list[tuple[Any, float, bool, dict[str, Any]]]:
        """Go on by a decision in each game; one that is over begins its next episode.

        Returns:
            For each game the observation, the reward, whether an episode is over, and an info,
            which then has "terminal_observation" and "TimeLimit.truncated".
        """
        results: list[tuple[Any, float, bool, dict[str, Any]]] = []
        for game, action in zip(self.games, actions, strict=True):
            observation, reward, terminated, truncated, info = game.step(_ranked(game, action))
            over = terminated or truncated
            if over:
                info["terminal_observation"] = observation
                info["TimeLimit.truncated"] = truncated
                observation, _ = game.reset()
            results.append((observation, reward, over, info))
        return results

    def begin_in(self, states: Sequence[str]) -> None:
        """Let the next episodes of all games begin in these states."""
        for game in self.games:
            game.begin_in(states)

    def moments(self) -> list[dict[str, Any]]:
        """Return the present moment of each game."""
        return [game.moment() for game in self.games]

    def go_to(self, moments: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Go to a moment in each game; return the observations."""
        observations: list[Any] = []
        for game, moment in zip(self.games, moments, strict=True):
            actions = [_ranked(game, action) for action in moment["actions"]]
            observations.append(game.go_to({**moment, "actions": actions}))
        return observations

    def close(self) -> None:
        """Close the games."""
        for game in self.games:
            game.close()


def _ranked(game: WorkflowEnv, action: Any) -> Any:
    """Return an action of a game; a pair of actions, the best and the second best, as a Ranked."""
    if np.shape(action) == (2,) and isinstance(game.action_space, Discrete):
        return Ranked(*map(int, action))
    return action


def serve_games(parent: ParentProcess, arguments: Mapping[str, Any], count: int) -> None:
    """Open a group, and do what the parent says until it closes the pipe."""
    group: LocalGames | None = None
    try:
        while True:
            method, given = decode(parent.receive(), "what to play", "in a process of games")
            try:
                if group is None:
                    group = LocalGames(arguments, count)
                answer: Any = getattr(group, method)(*given)
            except Exception as error:
                answer = Failure.of(error)
            parent.send(encode(answer, "what a game answers"))
    except EOFError:
        pass
    finally:
        if group is not None:
            group.close()
