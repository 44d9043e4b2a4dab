"""Measure how long a frame of Meadow takes to emulate: `python -m
games.source.meadow.time_frames`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from games.source.meadow import FOLDER
from games.source.meadow.cartridge import Cartridge
from games.source.meadow.players import STEP_FRAMES
from nodes.consoles.retro import read_state

ROUNDS, FRAMES = 9, 1000
STATES = (
    "Title",
    "Game1.Step0.Home",
    "Game1.Step1.ElderHouse",
    "Game1.Step2.Forest",
    "Game1.Step3.Depths",
)
STANDING = ("LEFT",)
"""The hero soon stands at a wall."""
WALKING = ("LEFT", "DOWN", "RIGHT", "UP")


def microseconds(cartridge: Cartridge, state: str, buttons: Sequence[str]) -> float:
    """Return the processor's time of a frame after a state, in µs: the shortest mean of several
    rounds, in which each button is held for a step, over and over.
    """
    best = float("inf")
    for _ in range(ROUNDS):
        cartridge.emulator.set_state(read_state(FOLDER / f"{state}.state"))
        start = time.process_time()
        for frame in range(FRAMES):
            step, frame_of_step = divmod(frame, STEP_FRAMES)
            if frame_of_step == 0:
                cartridge.hold(buttons[step % len(buttons)])
            cartridge.emulator.step()
        best = min(best, (time.process_time() - start) / FRAMES)
    return 1e6 * best


def main() -> None:
    """Print a row of the README's table for each state."""
    cartridge = Cartridge()
    for state in STATES:
        standing = microseconds(cartridge, state, STANDING)
        walking = microseconds(cartridge, state, WALKING)
        print(
            f"| `{state}` | {standing:.0f} | {1e6 / standing:,.0f} "
            f"| {walking:.0f} | {1e6 / walking:,.0f} |"
        )


if __name__ == "__main__":
    main()
