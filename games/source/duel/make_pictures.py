"""Make the screenshots of Duel's README.md: `make pictures`."""

from __future__ import annotations

import numpy as np
from PIL import Image

from games.source.duel import FOLDER
from games.source.duel.matches import CPU_CPU, RomBench

HIT_STOP_SHOWN = 5


def title(bench: RomBench) -> np.ndarray:
    """Return the title screen, u8 [height, width, 3]."""
    bench.emulator.set_state(bench.title)
    for _ in range(40):
        bench.emulator.step()
    return np.array(bench.emulator.get_screen())


def blow(bench: RomBench, stage: int, agent: int, enemy: int, seed: int) -> np.ndarray:
    """Return a frame with a heavy hit in a match of two computer opponents, u8 [height, width,
    3].
    """
    bench.begin(
        mode=CPU_CPU,
        agent_level=7,
        enemy_level=7,
        agent_character=agent,
        enemy_character=enemy,
        stage=stage,
        seed=seed,
        blank=0,
    )
    found, before = 0, 0
    for frame in range(4000):
        bench.emulator.step()
        now = bench.get("hit_stop")
        found += now > HIT_STOP_SHOWN >= before
        before = now
        if frame > 200 and found >= 3 and now == HIT_STOP_SHOWN:
            break
    return np.array(bench.emulator.get_screen())


def main() -> None:
    """Write duel.png: the title, a hit on each stage, and one more, in two rows of three."""
    bench = RomBench()
    shots = [title(bench)]
    for stage in range(4):
        enemy = (stage + 1 + stage % 2) % 4
        shots.append(blow(bench, stage, stage, enemy, 40 + stage))
    shots.append(blow(bench, 1, 3, 2, 77))
    upper = np.concatenate(shots[:3], axis=1)
    lower = np.concatenate(shots[3:], axis=1)
    picture = Image.fromarray(np.concatenate([upper, lower], axis=0))
    picture.quantize(64).save(FOLDER / "duel.png", optimize=True)


if __name__ == "__main__":
    main()
