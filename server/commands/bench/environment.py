"""The benchmark `bench environment`: a workflow as an environment, beside one written by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final

import gymnasium
import numpy as np
from PIL import Image

from minibrains.console import find_console
from minibrains.graph.catalog import find_workflow
from minibrains.training.env import WorkflowEnv
from minibrains.training.vec_env import WorkflowVecEnv
from nodes.actions.sink import ActionTable
from server.commands.bench.measure import medians

WORKFLOW: Final = "airstriker_pixels"
EVERY: Final = 8
"""Frames between two decisions of the workflow."""
TAPS: Final = (12, 8, 4, 0)
"""The frames that its stack shows."""
STEPS: Final = 40
"""Decisions in a turn."""
TURNS: Final = 31
FEW: Final = 8
MANY: Final = 64
"""Games of Duel that are played at a time; duel_ppo plays the larger number."""
ROUNDS: Final = 100
"""Decisions of each of them in a turn."""
DUEL_TURNS: Final = 7


def run() -> dict[str, Any]:
    """Return `{"cases": [{"what", "steps_per_s", "beside", "beside_per_s", "ratio"}]}`.

    `airstriker_pixels` with `head` left to a learner is played in turns with a Gymnasium
    environment as one writes it for stable-retro, on the same emulator: pads from a table, grey,
    scaled and stacked frames, the reward of each frame. Then 8 games of `duel_vector`, and
    64, are played in turns by one process and by two, and one game with NativeDuel and with
    RetroEmulator. Ratios are those of medians.
    """
    cases = [_beside_by_hand(), _two_processes(FEW), _two_processes(MANY), _native()]
    return {"cases": cases}


def _case(what: str, rate: float, beside: str, other: float) -> dict[str, Any]:
    return {
        "what": what,
        "steps_per_s": round(rate, 1),
        "beside": beside,
        "beside_per_s": round(other, 1),
        "ratio": round(rate / other, 3),
    }


def _beside_by_hand() -> dict[str, Any]:
    with closing(WorkflowEnv(WORKFLOW, train=["head"])) as env:
        _, console = find_console(env.nodes)
        by_hand = ByHand(console, env.nodes["sink"].brain)
        seconds = medians({"workflow": _player(env), "by hand": _player(by_hand)}, TURNS)
    workflow_rate = STEPS / seconds["workflow"]
    by_hand_rate = STEPS / seconds["by hand"]
    return _case(WORKFLOW, workflow_rate, "by hand", by_hand_rate)


def _player(env: gymnasium.Env[Any, Any]) -> Callable[[], None]:
    """Return a function that plays the same STEPS decisions from the beginning of an episode."""
    actions = np.random.default_rng(0).integers(6, size=STEPS).tolist()

    def play() -> None:
        env.reset(seed=0)
        for action in actions:
            env.step(action)

    return play


class ByHand(gymnasium.Env[np.ndarray, int]):
    """An environment as one writes it for stable-retro, without Minibrains."""

    def __init__(self, console: Any, table: ActionTable) -> None:
        """Take the emulator of a console, because a process can have only one."""
        self._emulator = console.emulator
        self._data = console.data
        self._start = self._emulator.get_state()
        buttons = console.buttons()
        self._masks: list[list[np.ndarray]] = []
        """For each action the buttons of its frames; those of the last are held."""
        for action in range(len(table.names)):
            masks: list[np.ndarray] = []
            for pad in table.pads(action):
                masks.append(np.isin(buttons, pad).astype(np.uint8))
            self._masks.append(masks)
        self._frames: list[np.ndarray] = []
        """The newest frames, oldest first."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._emulator.set_state(self._start)
        self._emulator.step()
        self._data.reset()
        self._data.update_ram()
        self._frames = [self._frame()] * (TAPS[0] + 1)
        return self._stack(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        masks = self._masks[action]
        last = len(masks) - 1
        reward = 0.0
        terminated = False
        for frame in range(EVERY):
            self._emulator.set_button_mask(masks[min(frame, last)], 0)
            self._emulator.step()
            self._data.update_ram()
            self._frames = [*self._frames[1:], self._frame()]
            reward += self._data.current_reward(0)
            terminated = self._data.is_done()
            if terminated:
                break
        return self._stack(), reward, terminated, False, {}

    def _frame(self) -> np.ndarray:
        """Return the screen: grey, float32 [84, 84], 0 to 1."""
        grey = Image.fromarray(self._emulator.get_screen()).convert("L")
        small = grey.resize((84, 84), Image.Resampling.BOX)
        return np.asarray(small, np.float32) / np.float32(255)

    def _stack(self) -> np.ndarray:
        """Return the observation: float32 [4, 84, 84]."""
        return np.stack([self._frames[-1 - tap] for tap in TAPS])


def _two_processes(games: int) -> dict[str, Any]:
    with (
        closing(WorkflowVecEnv(_duel(), games, 1)) as one,
        closing(WorkflowVecEnv(_duel(), games, 2)) as two,
    ):
        seconds = medians({"one": _decisions(one), "two": _decisions(two)}, DUEL_TURNS)
    decisions = games * ROUNDS
    rate_of_one = decisions / seconds["one"]
    rate_of_two = decisions / seconds["two"]
    return _case(f"{games} of Duel, native, two processes", rate_of_two, "one process", rate_of_one)


def _native() -> dict[str, Any]:
    on_rom = {**_duel(), "workflow": _with_emulator()}
    with (
        closing(WorkflowVecEnv(_duel(), 1, 1)) as native,
        closing(WorkflowVecEnv(on_rom, 1, 1)) as emulated,
    ):
        players = {"native": _decisions(native), "emulated": _decisions(emulated)}
        seconds = medians(players, DUEL_TURNS)
    native_rate = ROUNDS / seconds["native"]
    emulated_rate = ROUNDS / seconds["emulated"]
    return _case("Duel, native", native_rate, "the ROM", emulated_rate)


def _duel() -> dict[str, Any]:
    """Return the arguments of an environment of Duel."""
    return {"workflow": "duel_vector", "train": ["head"]}


def _decisions(games: WorkflowVecEnv) -> Callable[[], None]:
    """Return a function that plays ROUNDS decisions in each game, from its next episode on."""

    def play() -> None:
        random = np.random.default_rng(0)
        games.reset()
        for _ in range(ROUNDS):
            actions = random.integers(44, size=games.num_envs)
            games.step(actions)

    return play


def _with_emulator() -> dict[str, Any]:
    """Return duel_vector with a RetroEmulator in the place of its NativeDuel."""
    workflow: dict[str, Any] = json.loads(find_workflow("duel_vector").read_text())
    workflow["nodes"]["console"]["type"] = "RetroEmulator@3"
    return workflow
