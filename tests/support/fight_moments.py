"""Situations of a fight, as a fighter reads them from the variables."""

from __future__ import annotations

import random

from nodes.fighting.styles import ATTACK, CROUCH, HIT, JUMP, SPECIAL, STAND


def moments(count: int) -> list[dict[str, int]]:
    """Situations that change every 20 frames, as players see them."""
    rng = random.Random(5)
    frames: list[dict[str, int]] = []
    while len(frames) < count:
        situation = {
            "agent_x": rng.randrange(30, 480),
            "enemy_x": rng.randrange(30, 480),
            "enemy_y": rng.choice((192, 192, 150)),
            "agent_status": rng.choice((STAND, CROUCH, JUMP)),
            "enemy_status": rng.choice((STAND, CROUCH, JUMP, ATTACK, SPECIAL, HIT)),
        }
        frames += [situation] * 20
    return frames
