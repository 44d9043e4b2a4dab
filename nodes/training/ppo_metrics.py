"""The figures of a policy that learns by playing: the columns of its tables."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

RECENT: Final = 100
"""The number of the latest episodes that figures are about."""
CURVES: Final = (
    "decisions",
    "ep_rew_mean",
    "won",
    "stage",
    "entropy",
    "value_loss",
    "approx_kl",
    "clip_fraction",
)
"""The columns of updates.csv, called as in Stable-Baselines3 where it has them."""
_FORMER: Final[Mapping[str, str]] = {
    "reward": "ep_rew_mean",
    "kl": "approx_kl",
    "clipped": "clip_fraction",
}
"""What older checkpoints call them."""


class Metrics:
    """The figures of a policy that learns."""

    def __init__(self, games: int) -> None:
        """Begin with nothing; `games` is the number of games that are played at a time."""
        self.updates = 0
        self.episodes = 0
        """The number of episodes that are over."""
        self.stage = 0
        """The number of the present stage of the curriculum, from 0."""
        self.won_in_stage: deque[bool] = deque(maxlen=RECENT)
        """True for each of the latest episodes that was won, since the stage began."""
        self.sums = [0.0] * games
        """The rewards of the current episode of each game."""
        self.lengths = [0] * games
        """Its decisions."""
        self.rewards: deque[float] = deque(maxlen=RECENT)
        self.won: deque[bool] = deque(maxlen=RECENT)
        self.behavior: deque[dict[str, float]] = deque(maxlen=RECENT)
        """The ticks of each of the latest episodes, and its reward term by term."""
        self.curves: dict[str, list[float]] = {name: [] for name in CURVES}
        self.behavior_curves: dict[str, list[float]] = {"decisions": [], "won": []}
        """The columns of behavior_metrics.csv: means of `behavior`."""

    def keep_games(self, count: int) -> None:
        """Forget the current episodes of all games but the first ones."""
        del self.sums[count:]
        del self.lengths[count:]

    def add(
        self,
        rewards: np.ndarray,
        dones: np.ndarray,
        infos: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> list[str]:
        """Add a decision of each game, some seconds after the beginning of the training.

        Returns:
            A line of monitor.csv for each episode that is over.
        """
        lines: list[str] = []
        for game, (reward, done, info) in enumerate(zip(rewards, dones, infos, strict=True)):
            self.sums[game] += float(reward)
            self.lengths[game] += 1
            if not done:
                continue
            won = info["results"].get("won")
            self.episodes += 1
            self.rewards.append(self.sums[game])
            if won is not None:
                self.won.append(won)
                self.won_in_stage.append(won)
            terms = {"ticks": info["results"]["ticks"], **info["results"].get("rewards", {})}
            self.behavior.append(terms)
            shown = "" if won is None else int(won)
            lines.append(f"{self.sums[game]:.6f},{self.lengths[game]},{seconds:.3f},{shown}")
            self.sums[game], self.lengths[game] = 0.0, 0
        return lines

    def end_update(self, decisions: int, **values: float) -> None:
        """Add a point to each curve."""
        self.updates += 1
        point = {
            "decisions": decisions,
            "ep_rew_mean": np.mean(self.rewards) if self.rewards else np.nan,
            "won": np.mean(self.won) if self.won else np.nan,
            "stage": self.stage,
            **values,
        }
        for name, column in self.curves.items():
            column.append(float(point[name]))
        if not self.behavior:
            return
        for name in self.behavior[-1]:
            point[name] = np.mean([terms[name] for terms in self.behavior])
            self.behavior_curves.setdefault(name, [])
        for name, column in self.behavior_curves.items():
            column.append(float(point[name]))

    def at(self, update: int) -> dict[str, float]:
        """Return the point of each curve after an update, from 1; no rewards and wins while no
        episode is over.
        """
        point = {name: column[update - 1] for name, column in self.curves.items()}
        return {name: value for name, value in point.items() if np.isfinite(value)}

    def change_stage(self, stages: int, rise: float, fall: float) -> bool:
        """Go to the next stage of a curriculum, or to the one before; return whether it changed.

        It is decided by the last 100 episodes, all of them since the stage began.
        """
        if len(self.won_in_stage) < RECENT:
            return False
        share = np.mean(self.won_in_stage)
        before = self.stage
        if share >= rise:
            self.stage = min(self.stage + 1, max(stages - 1, 0))
        elif share < fall:
            self.stage = max(self.stage - 1, 0)
        if self.stage == before:
            return False
        self.won_in_stage.clear()
        return True

    def state(self) -> dict[str, Any]:
        """Return all that is counted; JSON, for `load_state`."""
        state: dict[str, Any] = {}
        for name, value in vars(self).items():
            state[name] = list(value) if isinstance(value, deque) else value
        return state

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` has returned."""
        for name, value in state.items():
            if isinstance(getattr(self, name), deque):
                value = deque(value, maxlen=RECENT)
            if name == "curves":
                value = {_FORMER.get(column, column): points for column, points in value.items()}
            setattr(self, name, value)

    def text(self) -> str:
        """Return a few words for a progress bar."""
        if not self.rewards:
            return "first episodes"
        text = f"reward {np.mean(self.rewards):.2f}"
        if self.won:
            text += f", {np.mean(self.won):.0%} won"
        return text
