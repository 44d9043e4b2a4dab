"""The description of a fight for a network and for a language model,
and the words of the model's answer.
"""

from __future__ import annotations

import json

import numpy as np

from minibrains.files import bundled_dir
from nodes.actions.sink import ActionTable
from nodes.fighting.features import CHARACTERS, MOVES, FightVectorBrain
from nodes.fighting.simple import SimplePlayers
from nodes.language.prompt import PromptTemplate
from nodes.language.reply import ReplyWords
from server.commands.make_brains.action_tables import sf2_table
from server.commands.make_brains.made_brain import MadeBrain

NUMBERS = {
    "own_hp": (0.5, 0.5),
    "enemy_hp": (0.5, 0.5),
    "advantage": (0, 1),
    "own_hp_change": (0, 0.25),
    "enemy_hp_change": (0, 0.25),
    "distance": (128, 128),
    "facing": (0, 1),
    "own_x": (256, 256),
    "enemy_x": (256, 256),
    "own_toward": (0, 8),
    "enemy_toward": (0, 8),
    "own_height": (0, 128),
    "enemy_height": (0, 128),
    "own_crouching": (0, 1),
    "own_blocking": (0, 1),
    "own_attacking": (0, 1),
    "own_hit": (0, 1),
    "enemy_crouching": (0, 1),
    "enemy_blocking": (0, 1),
    "enemy_attacking": (0, 1),
    "enemy_hit": (0, 1),
}
"""The centre and the scale of each number; changes are from one frame to the next."""

PROMPT = """\
You play a one-on-one fighting game; the picture shows the fight. You are looking {facing}.
Situation: you {own_hp} hp, {own_status}; other {enemy_hp} hp, {enemy_status}; {advantage}.
Distance: {distance} px, {band}.
History, oldest first:
{history}
Strategy: {strategy}
Actions: 0 wait, 1 jump, 2 crouch, 3 left, 6 right, 9 punch, 21 kick. \
Walking away from the other is also blocking.
Answer with the number of one action."""

BASIC = (0, 1, 2, 3, 6, 9, 21)
"""The actions in the prompt, as rows of the action table."""

KEYWORDS = {
    "none": ["wait", "rest", "nothing", "no action", "stay"],
    "up": ["jump", "up"],
    "down": ["crouch", "duck", "down"],
    "left": ["left"],
    "right": ["right"],
    "X": ["punch", "jab", "attack"],
    "A": ["kick"],
    "down+C": ["sweep"],
    "forward+Z": ["throw", "grab"],
    "projectile": ["projectile", "fireball", "hadoken"],
    "rising": ["uppercut", "anti-air", "rising attack"],
    "forward": ["forward", "closer", "approach", "advance"],
    "back": ["block", "guard", "defend", "back", "backward", "retreat", "away"],
    "jump kick": ["jump kick"],
}
"""Row of the action table -> words that mean this action."""

BASIC_BY_BUTTON = (
    (set("XYZ"), 9),
    (set("ABC"), 21),
    ({"UP"}, 1),
    ({"DOWN"}, 2),
    ({"LEFT"}, 3),
    ({"RIGHT"}, 6),
)
"""Pairs of buttons and the basic action closest to any action with one of these buttons; the first
match counts."""


def simple_players() -> MadeBrain:
    """Make the simple players that agents of Duel are compared with,
    from the file beside the game.
    """
    folder = bundled_dir("games") / "Duel-Genesis"
    found = json.loads((folder / "simple_players.json").read_text())
    table = json.loads((folder / "actions.json").read_text())
    brain = SimplePlayers(players=found["players"], actions=table["actions"])
    description = f"For the ROM {found['rom_sha1']}. Found {found['made_by']}."
    return MadeBrain(
        brain,
        "Duel: simple players",
        made_by="python -m server make-brains",
        more={"description": description},
    )


def fight_vector() -> MadeBrain:
    """Make the list of numbers that describe a fight, with the range that is scaled to -1 to 1."""
    middle, scale = zip(*NUMBERS.values(), strict=True)
    numbers = FightVectorBrain(
        names=tuple(NUMBERS),
        middle=np.array(middle, np.float32),
        scale=np.array(scale, np.float32),
    )
    return MadeBrain(numbers, "Street Fighter II and Duel: a fight in 21 numbers")


def duel_numbers() -> list[tuple[str, float, float]]:
    """Return numbers for a policy of Duel, with middle and scale: only those that a picture shows
    as well, the distance in steps of 12 pixels, because the reach of a move ends at a pixel.
    """
    numbers: list[tuple[str, float, float]] = []
    for middle in range(16, 260, 12):
        numbers.append(("distance", middle, 12))
    for side in ("own", "enemy"):
        numbers += [
            (f"{side}_height", 0, 60),
            (f"{side}_rise", 0, 16),
            (f"{side}_toward", 0, 8),
            (f"{side}_room", 256, 256),
            (f"{side}_move_frame", 0, 20),
            (f"{side}_move_frame", 8, 8),
            (f"{side}_shot", 0, 1),
            (f"{side}_shot_distance", 0, 40),
            (f"{side}_shot_distance", 0, 160),
        ]
        for status in ("standing", "crouching", "jumping", "blocking", "attacking", "hit"):
            numbers.append((f"{side}_{status}", 0, 1))
        for move in range(1, MOVES + 1):
            numbers.append((f"{side}_move_{move}", 0, 1))
        for character in range(CHARACTERS):
            numbers.append((f"{side}_character_{character}", 0, 1))
    return numbers


def duel_vector() -> MadeBrain:
    """Make the list of `duel_numbers`."""
    names, middles, scales = zip(*duel_numbers(), strict=True)
    brain = FightVectorBrain(
        names=names,
        middle=np.array(middles, np.float32),
        scale=np.array(scales, np.float32),
    )
    return MadeBrain(brain, f"Duel: a fight in {len(names)} numbers")


def prompt() -> MadeBrain:
    """Make the brain with the template of `sf2_prompt`."""
    return MadeBrain(sf2_prompt(), "Street Fighter II and Duel: the prompt of the first seed")


def sf2_prompt() -> PromptTemplate:
    """Return the template of the prompt: situation, history, a strategy by distance,
    and the seven basic actions.
    """
    return PromptTemplate(
        template=PROMPT,
        close="close: punch, kick or block.",
        mid="middle distance: move closer.",
        far="far: move forward or jump.",
    )


def reply_words() -> MadeBrain:
    """Make the words of seven basic actions.

    An action that punches or kicks counts as that, others by their stick.
    """
    table = sf2_table()
    words = {}
    for name, synonyms in KEYWORDS.items():
        for word in synonyms:
            words[word] = table.names.index(name)
    looking_right, looking_left = list[int](), list[int]()
    for action in range(table.sizes["actions"]):
        looking_right.append(_nearest_basic(table, action, True))
        looking_left.append(_nearest_basic(table, action, False))
    reply = ReplyWords(
        basic=BASIC,
        keywords=words,
        to_basic=np.array([looking_right, looking_left], np.int32),
    )
    return MadeBrain(reply, "Street Fighter II and Duel: seven basic actions and their words")


def _nearest_basic(table: ActionTable, action: int, right: bool) -> int:
    rows = table.pads(action, right)
    for buttons, basic in BASIC_BY_BUTTON:
        for row in rows:
            if not buttons.isdisjoint(row):
                return basic
    return 0
