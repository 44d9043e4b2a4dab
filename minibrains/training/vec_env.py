"""WorkflowVecEnv: many environments, spread over processes, as a VecEnv of Stable-Baselines3."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from minibrains.errors import RunError
from minibrains.process.child import ChildProcess
from minibrains.process.messages import Failure, decode, encode
from minibrains.training.local_games import LocalGames, serve_games
from minibrains.training.policy import RegionPolicy

SHUTDOWN: Final = 5.0
"""Seconds that a process gets to close its games before it is killed."""


class WorkflowVecEnv(VecEnv):
    """Many games of a workflow, as Stable-Baselines3 plays them.

    A game that is over begins its next episode at once. Each process has as many games as the
    others, or one fewer; they are played at the same time, those within a process one after the
    other. A game goes the same way wherever it is played.

    With `policy`, each action goes to its game with the second best one, so that a node such as
    AntiRepeat has it, as in play.
    """

    policy: RegionPolicy | None = None

    def __init__(self, arguments: Mapping[str, Any], games: int, processes: int) -> None:
        """Open the games.

        Args:
            arguments: Those of WorkflowEnv.
            games: The number of games, from 1.
            processes: The number of processes that play them, up to `games`; 0: this one does.

        Raises:
            MinibrainsError: A game cannot be opened.
        """
        self._groups: list[LocalGames | _RemoteGames] = []
        self._counts = [games]
        try:
            if processes == 0:
                self._groups.append(LocalGames(arguments, games))
            else:
                shares = np.array_split(np.arange(games), processes)
                self._counts = [len(share) for share in shares]
                for number, count in enumerate(self._counts):
                    self._groups.append(_RemoteGames(arguments, count, number))
            observations, actions, self.workflow_sha256 = self._all("about", [()])[0]
        except BaseException:
            self.close()
            raise
        super().__init__(games, observations, actions)
        self._actions: np.ndarray = np.zeros(games)

    def reset(self) -> Any:
        """Begin an episode in each game; return the observations [games, …]."""
        found = self._each("reset", self._seeds)
        self._reset_seeds()
        self._reset_options()
        return _stacked(found)

    def step_async(self, actions: np.ndarray) -> None:
        """Send an action to each game."""
        if self.policy is not None and self.policy.second_best is not None:
            actions = np.stack([actions, self.policy.second_best], 1)
        self._actions = actions
        for group, share in zip(self._groups, self._shared(actions), strict=True):
            if isinstance(group, _RemoteGames):
                group.send("step", share)

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Return observations [games, …], rewards f32 [games], which episodes are over, infos."""
        results: list[tuple[Any, float, bool, dict[str, Any]]] = []
        parts = self._receive("step", [(share,) for share in self._shared(self._actions)])
        for part in parts:
            results += part
        observations, rewards, over, infos = zip(*results, strict=True)
        return (
            _stacked(observations),
            np.array(rewards, np.float32),
            np.array(over, bool),
            list(infos),
        )

    def begin_in(self, states: Sequence[str]) -> None:
        """Let the next episodes of all games begin in these states, out of those of the console;
        none: in any.
        """
        self._all("begin_in", [(tuple(states),)])

    def moments(self) -> list[dict[str, Any]]:
        """Return the present moment of each game, for `go_to`."""
        found: list[dict[str, Any]] = []
        for moments in self._all("moments", [()]):
            found += moments
        return found

    def go_to(self, moments: Sequence[Mapping[str, Any]]) -> Any:
        """Go to a moment in each game; return the observations [games, …]."""
        return _stacked(self._each("go_to", moments))

    def close(self) -> None:
        """Close the games and end their processes."""
        for group in self._groups:
            group.close()
        self._groups.clear()

    # -- not needed by an algorithm that plays from beginning to end

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return the render mode of each game, which VecEnv asks for; nothing else is known."""
        if attr_name != "render_mode":
            raise AttributeError(attr_name)
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise AttributeError: nothing of a game can be set."""
        raise AttributeError(attr_name)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Raise AttributeError: games have no methods to call here."""
        raise AttributeError(method_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each game."""
        return [False] * self.num_envs

    # -- local and remote games

    def _shared(self, values: Sequence[Any] | np.ndarray) -> list[Any]:
        """Return the part of each group."""
        parts: list[Any] = []
        start = 0
        for count in self._counts:
            parts.append(values[start : start + count])
            start += count
        return parts

    def _each(self, method: str, values: Sequence[Any]) -> list[Any]:
        """Call a method of each group with its part of the values; return all results in order."""
        found: list[Any] = []
        for results in self._all(method, [(share,) for share in self._shared(values)]):
            found += results
        return found

    def _all(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of all groups at the same time, with the arguments of each, or the same."""
        if len(arguments) == 1:
            arguments = list(arguments) * len(self._groups)
        for group, given in zip(self._groups, arguments, strict=True):
            if isinstance(group, _RemoteGames):
                group.send(method, *given)
        return self._receive(method, arguments)

    def _receive(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return what the groups answer to a call, after the calls of those in this process.

        If one has failed, the answers of the others are taken as well, so that the next call gets
        its own.
        """
        results: list[Any] = []
        errors: list[Exception] = []
        for group, given in zip(self._groups, arguments, strict=True):
            try:
                if isinstance(group, _RemoteGames):
                    results.append(group.receive())
                else:
                    results.append(getattr(group, method)(*given))
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return results


class _RemoteGames:
    """Some games in a process of their own."""

    def __init__(self, arguments: Mapping[str, Any], count: int, number: int) -> None:
        self._name = f"games {number}"
        self._child = ChildProcess(
            serve_games, dict(arguments), count, name=self._name, shutdown_timeout=SHUTDOWN
        )

    def send(self, method: str, *arguments: Any) -> None:
        """Call a method of the group; `receive` returns what it returns."""
        try:
            self._child.send(encode((method, arguments), method))
        except OSError:
            raise self._ended() from None

    def receive(self) -> Any:
        try:
            data = self._child.receive(math.inf)
        except EOFError:
            raise self._ended() from None
        result = decode(data, "what a game answered", "here")
        if isinstance(result, Failure):
            raise result.unpack()
        return result

    def close(self) -> None:
        self._child.close()

    def _ended(self) -> RunError:
        self._child.close()  # waits for its end, of which the reason is known afterwards
        return RunError(
            f"the process {self._name} has ended ({self._child.exit_reason()}); run the workflow "
            "again, and it goes on from the last checkpoint; if memory was full, give it fewer "
            "environments"
        )


def _stacked(observations: Iterable[Any]) -> Any:
    """Return observations as arrays [games, …]."""
    parts = list(observations)
    if isinstance(parts[0], Mapping):
        return {name: np.stack([part[name] for part in parts]) for name in parts[0]}
    return np.stack(parts)
