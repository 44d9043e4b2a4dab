"""Measure how long a frame of Meadow takes to emulate: `python -m
games.source.meadow.time_frames`.
"""

from __future__ import annotations

import time

from games.source.meadow import FOLDER
from games.source.meadow.cartridge import Cartridge
from nodes.consoles.retro import read_state

ROUNDS, FRAMES = 9, 1000
STATES = (
    "Title",
    "Game1.Step0.Home",
    "Game1.Step1.ElderHouse",
    "Game1.Step2.Forest",
    "Game1.Step3.Depths",
)


def microseconds(cartridge: Cartridge, state: str) -> float:
    """Return the processor's time of a frame after a state, in µs: the shortest mean of several
    rounds.
    """
    best = float("inf")
    for _ in range(ROUNDS):
        cartridge.emulator.set_state(read_state(FOLDER / f"{state}.state"))
        cartridge.hold("LEFT")
        start = time.process_time()
        for _ in range(FRAMES):
            cartridge.emulator.step()
        best = min(best, (time.process_time() - start) / FRAMES)
    return 1e6 * best


def main() -> None:
    """Print a row of the README's table for each state."""
    cartridge = Cartridge()
    for state in STATES:
        us = microseconds(cartridge, state)
        print(f"| `{state}` | {us:.0f} | {1e6 / us:,.0f} |")


if __name__ == "__main__":
    main()
