"""Make the screenshots of a world's README.md: `make pictures`, or `make_pictures.py WORLD`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
from PIL import Image

from games.source.meadow.cartridge import BATTLE, DIALOGUE, WALK
from games.source.meadow.make_states import Maker
from nodes.consoles.retro import read_state

COLUMNS = 3
SHOWN_AREAS: Mapping[str, tuple[str, str, str, str]] = {
    "meadow": ("village", "forest", "depths", "field"),
    "north": ("harbour", "lake", "mine", "shore"),
}
"""For each world four areas; the last is shown at night."""


def main(world: str) -> None:
    """Write WORLD.png beside the game, with pictures in rows of three."""
    maker = Maker(world)
    if world == "maze":
        shots = _mazes(maker)
    else:
        shots = _tour(maker, world)
    rows: list[np.ndarray] = []
    for start in range(0, len(shots), COLUMNS):
        rows.append(np.concatenate(shots[start : start + COLUMNS], axis=1))
    picture = Image.fromarray(np.concatenate(rows, axis=0))
    picture.quantize(128).save(maker.folder / f"{world}.png", optimize=True)


def _mazes(maker: Maker) -> list[np.ndarray]:
    """Return the garden, and the mazes of two seeds, each u8 [160, 240, 3]."""
    cartridge = maker.cartridge
    shots: list[np.ndarray] = []
    for seed in (1, 2):
        maker.begin(seed)
        cartridge.step(frames=60)
        if not shots:
            shots.append(cartridge.screen())
        while maker.areas[cartridge.get("area")] != "maze":
            maker.play()
        cartridge.step(frames=60)
        shots.append(cartridge.screen())
    return shots


def _tour(maker: Maker, world: str) -> list[np.ndarray]:
    """Return the title, a question, four areas by day and by night, a battle, the quests, the
    ending, each u8 [160, 240, 3].
    """
    first, second, third, by_night = SHOWN_AREAS[world]
    cartridge = maker.cartridge
    cartridge.emulator.set_state(cartridge.title)
    cartridge.step(frames=20)
    shots = [cartridge.screen()]
    maker.begin(seed=3)
    wanted = {"question", "battle", *SHOWN_AREAS[world]}
    shown: dict[str, np.ndarray] = {}
    walked, before = 0, ""
    while not cartridge.get("won") and len(shown) < len(wanted):
        mode = cartridge.get("mode")
        area = maker.areas[cartridge.get("area")]
        walked = walked + 1 if mode == WALK and area == before else 0
        before = area
        is_time = area != by_night or cartridge.get("clock") >= 22 * 60
        if walked > 60 and area in wanted and area not in shown and is_time:
            shown[area] = cartridge.screen()
        if mode == DIALOGUE and cartridge.get("choices") == 4:
            shown.setdefault("question", cartridge.screen())
        if mode == BATTLE and cartridge.get("choices"):
            shown.setdefault("battle", cartridge.screen())
        maker.play()
    for name in (first, "question", second, third, "battle", by_night):
        shots.append(shown[name])
    while cartridge.get("mode") != WALK:
        maker.play()
    shots += [_quests(maker), _ending(maker)]
    return shots


def _quests(maker: Maker) -> np.ndarray:
    """Return the menu's page of quests in another game, u8 [160, 240, 3]."""
    cartridge = maker.cartridge
    here = cartridge.emulator.get_state()
    (state,) = maker.folder.glob("Side.Race2.*.state")
    cartridge.emulator.set_state(read_state(state))
    cartridge.hold()
    cartridge.step()
    cartridge.press("START")
    cartridge.press("RIGHT")
    for _ in range(2):
        cartridge.press("DOWN")
    cartridge.step(frames=90)
    shot = cartridge.screen()
    cartridge.emulator.set_state(here)
    return shot


def _ending(maker: Maker) -> np.ndarray:
    """Return a frame of the cutscene at the end, u8 [160, 240, 3]."""
    while maker.cartridge.get("step") < 6:
        maker.play()
    while maker.cartridge.get("text_00") == 0:
        maker.play()
    maker.cartridge.step(frames=90)
    return maker.cartridge.screen()


if __name__ == "__main__":
    main(*sys.argv[1:])
