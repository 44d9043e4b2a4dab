"""Make the save states and splits.json for this very ROM: `make states`.

Every level and match-up from the start of a fight, random starts (reached by both sides playing), and
starts for two pads. Made again, states are of the same moments, but not the same bytes: Genesis Plus GX
saves pointers of its own with them. The hashes in splits.json are of the committed files.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random

from games.source.duel import FOLDER
from games.source.duel.matches import CPU_CPU, PAD_CPU, PAD_PAD, Bench

NAMES = ("Kaze", "Bron", "Mira", "Tarn")
STAGES = ("Harbour", "Forest", "Foundry", "Observatory")
LEVELS = range(1, 9)
HELD_BACK_STAGE = 3
HELD_BACK_MATCH_UPS = ((0, 2), (1, 0), (2, 3), (3, 1))
"""Each character once on each side."""
VALIDATION_MATCH_UPS = ((0, 3), (2, 1))
INTRO_LEFT = 4
"""Frames of "FIGHT!" left in a state of a start: what a host writes then counts from the first blow on."""
INTRO_FRAMES = 64
RANDOM_STARTS = 16
FIGHT = 3


def stage_of(agent: int, enemy: int) -> int:
    """One of the three stages that are not held back."""
    return (agent + 2 * enemy) % 3


def name(level: int, agent: int, enemy: int, extra: str = "") -> str:
    return f"Level{level}.{NAMES[agent]}Vs{NAMES[enemy]}{extra}"


class Maker:
    def __init__(self) -> None:
        self.bench = Bench()
        self.kinds: dict[str, tuple[int, int, int, str]] = {}

    def start(self, state: str, level: int, agent: int, enemy: int, stage: int, kind: str, mode: int = PAD_CPU) -> None:
        """The last frames before a fight."""
        self.begin(level, agent, enemy, stage, mode)
        for _ in range(INTRO_FRAMES - INTRO_LEFT):
            self.bench.emulator.step()
        self.save(state, agent, enemy, stage, kind)

    def begin(self, level: int, agent: int, enemy: int, stage: int, mode: int, seed: int = 0x12345678) -> None:
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

    def random_start(self, number: int, rng: random.Random) -> None:
        """Two opponents have fought for a while; from here on pad 1 has a person or an agent."""
        allowed = [(a, e) for a in range(4) for e in range(4) if (a, e) not in (*HELD_BACK_MATCH_UPS, *VALIDATION_MATCH_UPS)]
        agent, enemy = allowed[number % len(allowed)]
        level, stage = rng.randrange(1, 9), number % 3
        while True:
            self.begin(level, agent, enemy, stage, CPU_CPU, rng.randrange(1, 2**32))
            for _ in range(INTRO_FRAMES + rng.randrange(60, 1800)):
                self.bench.emulator.step()
            if self.bench.get("phase") == FIGHT and self.bench.get("agent_actionable") and self.bench.get("enemy_actionable"):
                break
        self.bench.set("mode", PAD_CPU)
        self.bench.emulator.step()
        self.save(f"Random{number:02}.Level{level}.{NAMES[agent]}Vs{NAMES[enemy]}", agent, enemy, stage, "random")

    def save(self, state: str, agent: int, enemy: int, stage: int, kind: str) -> None:
        # level 9, no time or name inside: the same state gives the same file
        data = gzip.compress(self.bench.emulator.get_state(), 9, mtime=0)
        (FOLDER / f"{state}.state").write_bytes(data)
        self.kinds[state] = agent, enemy, stage, kind


def part(agent: int, enemy: int, stage: int) -> str:
    if (agent, enemy) in HELD_BACK_MATCH_UPS or stage == HELD_BACK_STAGE:
        return "held_back"
    return "validation" if (agent, enemy) in VALIDATION_MATCH_UPS else "training"


def splits(kinds: dict[str, tuple[int, int, int, str]]) -> dict[str, object]:
    parts: dict[str, dict[str, str]] = {"training": {}, "validation": {}, "held_back": {}}
    for state, (agent, enemy, stage, _) in sorted(kinds.items()):
        digest = hashlib.sha256((FOLDER / f"{state}.state").read_bytes()).hexdigest()
        parts[part(agent, enemy, stage)][state] = digest
    return {
        "about": "Save states by the SHA-256 of their files. Nothing is trained or collected on those held back.",
        "rom_sha1": (FOLDER / "rom.sha").read_text().strip(),
        "held_back_match_ups": [f"{NAMES[a]}Vs{NAMES[e]}" for a, e in HELD_BACK_MATCH_UPS],
        "validation_match_ups": [f"{NAMES[a]}Vs{NAMES[e]}" for a, e in VALIDATION_MATCH_UPS],
        "held_back_stage": STAGES[HELD_BACK_STAGE],
        "decided_by": ["agent_character", "enemy_character", "stage", "start"],
        **parts,
    }


def main() -> None:
    for old in FOLDER.glob("*.state"):
        old.unlink()
    maker = Maker()
    for agent in range(4):
        for enemy in range(4):
            for level in LEVELS:
                maker.start(name(level, agent, enemy), level, agent, enemy, stage_of(agent, enemy), "start")
    for level in (2, 4, 6, 8):  # the held-back stage, with match-ups that are themselves not held back
        agent, enemy = ((0, 1), (1, 2), (2, 0), (3, 0))[level // 2 - 1]
        maker.start(name(level, agent, enemy, f".{STAGES[HELD_BACK_STAGE]}"), level, agent, enemy, HELD_BACK_STAGE, "stage")
    for agent, enemy in ((0, 1), (2, 2)):
        maker.start(f"TwoPads.{NAMES[agent]}Vs{NAMES[enemy]}", 3, agent, enemy, stage_of(agent, enemy), "two pads", PAD_PAD)
    rng = random.Random(2026)
    for number in range(RANDOM_STARTS):
        maker.random_start(number, rng)
    (FOLDER / "splits.json").write_text(json.dumps(splits(maker.kinds), indent=1) + "\n")
    size = sum(path.stat().st_size for path in FOLDER.glob("*.state"))
    print(f"{len(maker.kinds)} states, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
