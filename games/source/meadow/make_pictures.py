"""Make the screenshots of Meadow's README.md: `make pictures`."""

from __future__ import annotations

import numpy as np
from PIL import Image

from games.source.meadow import FOLDER
from games.source.meadow.cartridge import BATTLE, DIALOGUE, WALK
from games.source.meadow.make_states import Maker
from nodes.consoles.retro import read_state

COLUMNS = 3
SHOWN_AREAS = ("village", "forest", "depths", "field")


def main() -> None:
    """Write meadow.png: the title, a question, four areas by day and by night, a battle, the
    quests, the ending, in rows of three.
    """
    maker = Maker()
    cartridge = maker.cartridge
    cartridge.emulator.set_state(cartridge.title)
    cartridge.step(frames=20)
    shots = [cartridge.screen()]
    maker.begin(seed=3)
    wanted = {"question", "battle", *SHOWN_AREAS}
    shown: dict[str, np.ndarray] = {}
    walked, before = 0, ""
    while not cartridge.get("won") and len(shown) < len(wanted):
        mode = cartridge.get("mode")
        area = maker.areas[cartridge.get("area")]
        walked = walked + 1 if mode == WALK and area == before else 0
        before = area
        # the field is shown at night
        is_time = area != "field" or cartridge.get("clock") >= 22 * 60
        if walked > 60 and area in SHOWN_AREAS and area not in shown and is_time:
            shown[area] = cartridge.screen()
        if mode == DIALOGUE and cartridge.get("choices") == 4:
            shown.setdefault("question", cartridge.screen())
        if mode == BATTLE and cartridge.get("choices"):
            shown.setdefault("battle", cartridge.screen())
        maker.play()
    shots += [
        shown[name] for name in ("village", "question", "forest", "depths", "battle", "field")
    ]
    while cartridge.get("mode") != WALK:
        maker.play()
    shots += [_quests(maker), _ending(maker)]
    rows: list[np.ndarray] = []
    for start in range(0, len(shots), COLUMNS):
        rows.append(np.concatenate(shots[start : start + COLUMNS], axis=1))
    picture = Image.fromarray(np.concatenate(rows, axis=0))
    picture.quantize(128).save(FOLDER / "meadow.png", optimize=True)


def _quests(maker: Maker) -> np.ndarray:
    """Return the menu's page of quests in another game, u8 [160, 240, 3]."""
    cartridge = maker.cartridge
    here = cartridge.emulator.get_state()
    cartridge.emulator.set_state(read_state(FOLDER / "Side.Race2.Step2.River.state"))
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
    main()
