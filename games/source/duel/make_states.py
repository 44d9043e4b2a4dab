"""Make the save states and splits.json for the current ROM: `make states`.

There are states at the start of a fight for every level and match-up, states in the middle of a
fight, and states for two pads; splits.py determines the part and the stage of each. Made again, the
states are of the same moments, but not the same bytes, because Genesis Plus GX saves pointers with
them. The hashes in splits.json are those of the committed files.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections import defaultdict

from games.source.duel import FOLDER, LEVELS
from games.source.duel.matches import CPU_CPU, PAD_CPU, PAD_PAD, RomBench
from games.source.duel.splits import PARTS, TRAINING, description, match_up_name
from games.source.duel.starts import FIRST_SEED, INTRO_FRAMES, INTRO_LEFT, TWO_PADS_LEVEL

RANDOM_STARTS = 16
FIGHT = 3


class Maker:
    """The emulator, on which the wanted moments are reached and saved."""

    def __init__(self) -> None:
        self.bench = RomBench()
        self.digests: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """The states of each part by name, with the SHA-256 of their files."""

    def begin(
        self, level: int, agent: int, enemy: int, stage: int, mode: int, seed: int = FIRST_SEED
    ) -> None:
        """Begin a match with both sides on the same level, and play its first frame."""
        self.bench.begin(
            mode=mode,
            agent_level=level,
            enemy_level=level,
            agent_character=agent,
            enemy_character=enemy,
            stage=stage,
            blank=0,
            seed=seed,
        )
        self.bench.emulator.step()

    def start(
        self, state: str, part: str, level: int, agent: int, enemy: int, mode: int = PAD_CPU
    ) -> None:
        """Save a state a few frames before the fight begins."""
        stage = PARTS[part].stage(agent, level)
        self.begin(level, agent, enemy, stage, mode)
        for _ in range(INTRO_FRAMES - INTRO_LEFT):
            self.bench.emulator.step()
        self.save(state, part)

    def random_start(self, number: int, rng: random.Random) -> None:
        """Save a state after two computer opponents have fought for a while;
        pad 1 is free from then on.
        """
        match_ups = TRAINING.match_ups()
        turn, place = divmod(number, len(match_ups))
        agent, enemy = match_ups[place]
        level = rng.randint(1, LEVELS)
        stage = TRAINING.stages[turn % len(TRAINING.stages)]
        while True:
            self.begin(level, agent, enemy, stage, CPU_CPU, rng.randrange(1, 2**32))
            for _ in range(INTRO_FRAMES + rng.randrange(60, 1800)):
                self.bench.emulator.step()
            both_act = self.bench.get("agent_actionable") and self.bench.get("enemy_actionable")
            if self.bench.get("phase") == FIGHT and both_act:
                break
        self.bench.set("mode", PAD_CPU)
        self.bench.emulator.step()
        self.save(f"Random{number:02}.Level{level}.{match_up_name(agent, enemy)}", "training")

    def save(self, state: str, part: str) -> None:
        """Save the present moment as a state of a part, and record the SHA-256 of its file."""
        # without time and name in the header, the same state gives the same file
        data = gzip.compress(self.bench.emulator.get_state(), 9, mtime=0)
        (FOLDER / f"{state}.state").write_bytes(data)
        self.digests[part][state] = hashlib.sha256(data).hexdigest()


def make_states() -> Maker:
    """Write all states into the game's folder, and return the maker with their hashes."""
    maker = Maker()
    for part, shares in PARTS.items():
        for agent, enemy in shares.match_ups():
            for level in range(1, LEVELS + 1):
                maker.start(
                    f"Level{level}.{match_up_name(agent, enemy)}", part, level, agent, enemy
                )
    for agent, enemy in ((0, 1), (2, 2)):
        maker.start(
            f"TwoPads.{match_up_name(agent, enemy)}",
            "training",
            TWO_PADS_LEVEL,
            agent,
            enemy,
            PAD_PAD,
        )
    rng = random.Random(2026)
    for number in range(RANDOM_STARTS):
        maker.random_start(number, rng)
    return maker


def main() -> None:
    """Replace all states of the game, and write splits.json."""
    for old in FOLDER.glob("*.state"):
        old.unlink()
    maker = make_states()
    splits = {
        "about": (
            "Save states by the SHA-256 of their files. "
            "Nothing is trained or collected on those held back."
        ),
        "rom_sha1": (FOLDER / "rom.sha").read_text().strip(),
        **description(),
    }
    for part, digests in maker.digests.items():
        splits[part] = dict(sorted(digests.items()))
    (FOLDER / "splits.json").write_text(json.dumps(splits, indent=1) + "\n")
    count, size = 0, 0
    for path in FOLDER.glob("*.state"):
        count += 1
        size += path.stat().st_size
    print(f"{count} states, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
