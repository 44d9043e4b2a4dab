"""The division of Duel's match-ups and stages into training, validation and held-back parts.

The rule:

1. The 16 ordered match-ups form four sets, in each of which every fighter is once on either side. A
   set belongs to one part as a whole.
2. A stage belongs to one part. A state belongs to a part if both its match-up and its stage do.
3. What was held back with an earlier ROM, and has been looked at, is never held back again: it
   validates.
4. Mirror matches are in training only, so that validation and held-back states are of the same
   kind. The match-up of the workflows, Kaze against Bron, is in training too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

FIGHTERS = ("Kaze", "Bron", "Mira", "Tarn")
STAGES = ("Harbour", "Forest", "Foundry", "Observatory")
HARBOUR, FOREST, FOUNDRY, OBSERVATORY = range(len(STAGES))

Rivals = tuple[int, int, int, int]
"""A set of match-ups: the opponents of Kaze, Bron, Mira and Tarn on pad 1."""


@dataclass(frozen=True)
class Part:
    """One part of the states. Every match-up and stage is in exactly one part."""

    sets: tuple[Rivals, ...]
    stages: tuple[int, ...]

    def match_ups(self) -> list[tuple[int, int]]:
        """Return the match-ups, as the numbers of the fighter on pad 1 and of its opponent."""
        pairs: list[tuple[int, int]] = []
        for rivals in self.sets:
            pairs += enumerate(rivals)
        return pairs

    def stage(self, agent: int, level: int) -> int:
        """Return the stage for a fighter on pad 1 and a level;
        two stages alternate from level to level.
        """
        return self.stages[(agent + level) % len(self.stages)]


TRAINING = Part(sets=((0, 1, 2, 3), (1, 3, 0, 2)), stages=(HARBOUR, FOUNDRY))
VALIDATION = Part(sets=((2, 0, 3, 1),), stages=(OBSERVATORY,))
HELD_BACK = Part(sets=((3, 2, 1, 0),), stages=(FOREST,))

PARTS: Mapping[str, Part] = {"training": TRAINING, "validation": VALIDATION, "held_back": HELD_BACK}

HELD_BACK_BEFORE: Sequence[Mapping[str, object]] = (
    {
        "rom_sha1": "436f95287f7d85e6e5caf336cae1f92297ee30c5",
        "match_ups": ["KazeVsMira", "BronVsKaze", "MiraVsTarn", "TarnVsBron"],
        "stages": ["Observatory"],
    },
)
"""The match-ups and stages that were held back with an earlier ROM and have been looked at."""


def match_up_name(agent: int, enemy: int) -> str:
    """Return the name of a match-up, such as "KazeVsBron", from the numbers of the fighters."""
    return f"{FIGHTERS[agent]}Vs{FIGHTERS[enemy]}"


def description() -> dict[str, object]:
    """Return the entries of splits.json that describe the division."""
    said: dict[str, object] = {}
    for name, part in PARTS.items():
        said[f"{name}_match_ups"] = list(starmap(match_up_name, part.match_ups()))
        said[f"{name}_stages"] = [STAGES[stage] for stage in part.stages]
    said["held_back_before"] = list(HELD_BACK_BEFORE)
    said["decided_by"] = ["agent_character", "enemy_character", "stage", "start"]
    return said
