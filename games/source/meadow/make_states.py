"""Make the save states and splits.json of a world for its current ROM: `make states`, or
`make_states.py WORLD`.

The teacher plays whole games. A state is saved at the title, at each step of the main quest and of
the side quests, in each area after each step, and at random moments; where the hero is and how far
the main quest has come decide to which part a state belongs (splits.py).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import sys
from collections import defaultdict

from games.source.meadow import FOLDERS
from games.source.meadow.cartridge import WALK, Cartridge
from games.source.meadow.make_world import WORLDS
from games.source.meadow.splits import SplitRule
from minibrains import Episode
from nodes.exploring.walking import WalkTo

WHOLE_GAMES = 4
RANDOM_STATES = 24
LONGEST_GAME = 60_000
"""Frames; the teacher needs about 14 000."""
SETTLED = 30
"""Frames after a step of the quest, so that no window hides where the hero is."""


class Maker:
    """The cartridge, the teacher, and the states that were saved."""

    def __init__(self, world: str) -> None:
        self.folder = FOLDERS[world]
        self.rule = SplitRule(WORLDS / world)
        self.cartridge = Cartridge(self.folder)
        self.teacher = WalkTo(brain=self.cartridge.script)
        self.areas = self.cartridge.script.areas
        self.side_quests: list[str] = []
        for variable in self.cartridge.variables():
            if variable.startswith("side_"):
                self.side_quests.append(variable.removeprefix("side_"))
        self.digests: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """The states of each part by name, with the SHA-256 of their files."""

    def begin(self, seed: int, side_quests: bool = False) -> None:
        """Begin a game, with text that appears letter by letter."""
        self.cartridge.begin(seed, text_speed=0)
        self.teacher.side_quests = side_quests
        self.teacher.reset(Episode(seed, 0))

    def play(self) -> None:
        """Play a frame."""
        pad = self.teacher.tick(self.cartridge.variables())
        self.cartridge.step(*pad)

    def save(self, name: str, part: str) -> None:
        """Save the present moment as a state of a part, and record the SHA-256 of its file."""
        data = gzip.compress(self.cartridge.emulator.get_state(), 9, mtime=0)
        (self.folder / f"{name}.state").write_bytes(data)
        self.digests[part][name] = hashlib.sha256(data).hexdigest()

    def save_here(self, name: str) -> None:
        """Save the present moment under a name that says where the hero is."""
        area = self.areas[self.cartridge.get("area")]
        step = self.cartridge.get("step")
        place = "".join(word.capitalize() for word in area.split("_"))
        self.save(f"{name}.Step{step}.{place}", self.rule.part_of(area, step))


def whole_game(maker: Maker, seed: int) -> None:
    """Play a game to its end, and save each step of the main quest."""
    maker.begin(seed)
    saved = -1
    walked = 0
    for _ in range(LONGEST_GAME):
        if maker.cartridge.get("won"):
            return
        walked = walked + 1 if maker.cartridge.get("mode") == WALK else 0
        if maker.cartridge.get("step") > saved and walked == SETTLED:
            saved = maker.cartridge.get("step")
            maker.save_here(f"Game{seed}")
        maker.play()
    raise RuntimeError(f"the teacher did not complete the game of seed {seed}")


def side_game(maker: Maker, seed: int) -> None:
    """Play a game with all side quests to its end, and save each of their steps."""
    maker.begin(seed, side_quests=True)
    saved = dict.fromkeys(maker.side_quests, 0)
    for _ in range(LONGEST_GAME):
        if maker.cartridge.get("won"):
            return
        if maker.cartridge.get("mode") == WALK:
            for name, before in saved.items():
                saved[name] = maker.cartridge.get(f"side_{name}")
                if saved[name] > before:
                    maker.save_here(f"Side.{name.capitalize()}{saved[name]}")
        maker.play()
    raise RuntimeError(f"the teacher did not complete the game of seed {seed}")


def area_game(maker: Maker, seed: int) -> None:
    """Play a game with all side quests to its end, and save where the hero first walks in each
    area after each step of the main quest.
    """
    maker.begin(seed, side_quests=True)
    saved: set[tuple[int, int]] = set()
    before = (-1, -1)
    walked = 0
    for _ in range(LONGEST_GAME):
        if maker.cartridge.get("won"):
            return
        place = (maker.cartridge.get("area"), maker.cartridge.get("step"))
        is_walking = maker.cartridge.get("mode") == WALK and place == before
        walked = walked + 1 if is_walking else 0
        before = place
        if walked == SETTLED and place not in saved:
            saved.add(place)
            maker.save_here("Area")
        maker.play()
    raise RuntimeError(f"the teacher did not complete the game of seed {seed}")


def random_moment(maker: Maker, number: int, rng: random.Random) -> None:
    """Save a random moment of a game, at which the hero can walk."""
    maker.begin(rng.randrange(1, 2**32), side_quests=number % 2 == 1)
    for _ in range(rng.randrange(200, 9000)):
        maker.play()
        if maker.cartridge.get("won"):
            return
    while maker.cartridge.get("mode") != WALK:
        maker.play()
    maker.save_here(f"Random{number:02}")


def main(world: str) -> None:
    """Replace all states of a world's game, and write splits.json."""
    maker = Maker(world)
    folder = maker.folder
    for old in folder.glob("*.state"):
        old.unlink()
    maker.cartridge.emulator.set_state(maker.cartridge.title)
    maker.save("Title", "training")
    for seed in range(1, WHOLE_GAMES + 1):
        whole_game(maker, seed)
    side_game(maker, WHOLE_GAMES + 1)
    area_game(maker, WHOLE_GAMES + 2)
    rng = random.Random(2026)
    for number in range(RANDOM_STATES):
        random_moment(maker, number, rng)
    splits: dict[str, object] = {
        "about": (
            "Save states by the SHA-256 of their files. "
            "Nothing is trained or collected on those held back."
        ),
        "rom_sha1": (folder / "rom.sha").read_text().strip(),
        **maker.rule.description(),
    }
    for part in ("training", "validation", "held_back"):
        splits[part] = dict(sorted(maker.digests[part].items()))
        print(part, len(maker.digests[part]))
    (folder / "splits.json").write_text(json.dumps(splits, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
