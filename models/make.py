"""Make the brains in this folder that people set by hand, or that are untrained: `python models/make.py`.

Run again it writes the same bytes. Brains that were trained come from workflows instead.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from minibrains.files import shipped
from nodes.actions.gates import RecoveryTable
from nodes.actions.sink import ActionTable
from nodes.consoles.pads import ButtonColumns, PadFace
from nodes.fighting.features import FightNumbers
from nodes.language.prompt import PromptTemplate
from nodes.language.reply import ReplyWords
from nodes.policies.baselines import ReflexTable
from nodes.policies.network import PolicyWeights
from nodes.vision.frames import FrameStackTaps
from nodes.vision.overlay import OverlayStyle
from nodes.vision.tiles import TileCodebook

MADE_BY = "python models/make.py"
LICENSE = "MIT"
GENESIS = ["B", "A", "MODE", "START", "UP", "DOWN", "LEFT", "RIGHT", "C", "Y", "X", "Z"]
"""The twelve buttons of a Genesis pad, in stable-retro's order."""


def action_table(actions: dict[str, list[str]], buttons: list[str]) -> ActionTable:
    """A table from readable sequences: each row of an action is the buttons held, joined by +."""
    rows, starts = [], [0]
    for sequence in actions.values():
        for held in sequence:
            names = held.split("+") if held else []
            rows.append([button in names for button in buttons])
        starts.append(len(rows))
    return ActionTable(names=tuple(actions), buttons=tuple(buttons), starts=np.int32(starts), rows=np.uint8(rows))


def airstriker_actions() -> ActionTable:
    """Six actions. Airstriker fires once a press of B, so firing is 4 frames held and 4 released."""
    fire = {way: ["+".join(filter(None, [way, "B"]))] * 4 + [way] * 4 for way in ("", "LEFT", "RIGHT")}
    return action_table(
        {
            "nothing": [""],
            "left": ["LEFT"],
            "right": ["RIGHT"],
            "fire": fire[""],
            "left and fire": fire["LEFT"],
            "right and fire": fire["RIGHT"],
        },
        ["B", "LEFT", "RIGHT"],
    )


def duel_actions() -> ActionTable:
    """The 44 actions that Duel is calibrated with, as they stand beside the game."""
    table = json.loads((shipped("games") / "Duel-Genesis/actions.json").read_text())["actions"]
    return action_table(table, GENESIS)


STICK = ("", "UP", "DOWN", "LEFT", "RIGHT", "UP+LEFT", "UP+RIGHT", "DOWN+LEFT", "DOWN+RIGHT")


def combos() -> ActionTable:
    """57 actions of one row: 9 positions of the stick, and each of six buttons with 8 of them, all but straight up."""
    held = [*STICK, *("+".join(filter(None, [way, button])) for button in "ABCXYZ" for way in STICK if way != "UP")]
    return action_table({row.lower() or "none": [row] for row in held}, GENESIS)


SF2_STICK = ("none", "up", "down", "left", "up+back", "down+back", "right", "up+forward", "down+forward")
SF2_PUNCHES, SF2_KICKS = ("", "down", "back", "forward"), ("", "down", "back", "forward", "down+back", "down+forward")
SF2_MOTIONS = {
    "projectile": ["DOWN", "DOWN", "DOWN+FORWARD", "DOWN+FORWARD", *["FORWARD+Y"] * 3, ""],
    "rising": ["FORWARD", "FORWARD", "DOWN", "DOWN", *["DOWN+FORWARD+Z"] * 3, ""],
    "forward": ["FORWARD"],
    "back": ["BACK"],
    "jump kick": ["UP", "UP", "UP", "", "", "C", "C", "C"],
}


def sf2_actions() -> ActionTable:
    """44 actions by facing: 0 none, 1 up, 2 down, 3 left, 6 right, 9 punch, 21 kick, as in the first seed.

    A blow is 4 frames of the button, then its direction is held on; specials are motions, a row a frame.
    """
    table = {name: ["" if name == "none" else name.upper()] for name in SF2_STICK}
    for buttons, ways in (("XYZ", SF2_PUNCHES), ("ABC", SF2_KICKS)):
        for button in buttons:
            for way in ways:
                name = "+".join(filter(None, [way, button]))
                table[name] = [name.upper()] * 4 + [way.upper()]
    pad = ["UP", "DOWN", "LEFT", "RIGHT", "BACK", "FORWARD", "X", "Y", "Z", "A", "B", "C"]
    return action_table(table | SF2_MOTIONS, pad)


def sf2_recovery() -> RecoveryTable:
    """The first seed's frames after an action: a jump 15, a punch 11, a kick 12, anything else none."""
    frames = []
    for action in range((table := sf2_actions()).sizes["actions"]):
        pressed = {button for row in table.pads(action) for button in row}
        frames.append(15 if "UP" in pressed else 11 if pressed & set("XYZ") else 12 if pressed & set("ABC") else 0)
    return RecoveryTable(recovery=np.int32(frames))


SF2_NUMBERS = {
    "own_hp": (0.5, 0.5), "enemy_hp": (0.5, 0.5), "advantage": (0, 1), "own_hp_change": (0, 0.25), "enemy_hp_change": (0, 0.25),
    "distance": (128, 128), "facing": (0, 1), "own_x": (256, 256), "enemy_x": (256, 256), "own_toward": (0, 8),
    "enemy_toward": (0, 8), "own_height": (0, 128), "enemy_height": (0, 128),
    **{f"{who}_{status}": (0, 1) for who in ("own", "enemy") for status in ("crouching", "blocking", "attacking", "hit")},
}  # fmt: skip
"""The middle and the scale of each number, for changes from one frame to the next."""


def sf2_numbers() -> FightNumbers:
    middle, scale = np.float32(list(SF2_NUMBERS.values())).T
    return FightNumbers(names=tuple(SF2_NUMBERS), middle=middle.copy(), scale=scale.copy())


SF2_PROMPT = """\
You play a one-on-one fighting game; the picture shows the fight. You are looking {facing}.
Situation: you {own_hp} hp, {own_status}; other {enemy_hp} hp, {enemy_status}; {advantage}.
Distance: {distance} px, {band}.
History, oldest first:
{history}
Strategy: {strategy}
Actions: 0 wait, 1 jump, 2 crouch, 3 left, 6 right, 9 punch, 21 kick. Walking away from the other is also blocking.
Answer with the number of one action."""


def sf2_prompt() -> PromptTemplate:
    """The first seed's prompt: situation, history, a strategy by distance and the seven basic actions."""
    return PromptTemplate(
        template=SF2_PROMPT,
        close="close: punch, kick or block.",
        mid="middle distance: move closer.",
        far="far: move forward or jump.",
    )


SF2_BASIC = (0, 1, 2, 3, 6, 9, 21)
SF2_KEYWORDS = {
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


def sf2_words() -> ReplyWords:
    """The seven basic actions of the first seed. What presses a punch is a punch, a kick a kick, the rest by its stick."""
    table = sf2_actions()
    kinds = ((set("XYZ"), 9), (set("ABC"), 21), ({"UP"}, 1), ({"DOWN"}, 2), ({"LEFT"}, 3), ({"RIGHT"}, 6))
    nearest = [
        [
            next((basic for buttons, basic in kinds if any(not buttons.isdisjoint(row) for row in table.pads(action, right))), 0)
            for action in range(table.sizes["actions"])
        ]
        for right in (True, False)
    ]
    words = {word: table.names.index(name) for name, meant in SF2_KEYWORDS.items() for word in meant}
    return ReplyWords(basic=SF2_BASIC, keywords=words, to_basic=np.int32(nearest))


LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-.:!?%"
GLYPHS = (
    "75557 26227 71747 71717 55711 74717 74757 71122 75757 75717"  # 0 to 9
    " 25755 65656 34443 65556 74647 74644 34553 55755 72227 11152 55655 44447 57755 75555 25552"  # A to O
    " 65644 25563 65655 34216 72222 55557 55552 55775 55255 55222 71247"  # P to Z
    " 00700 00002 02020 22202 71202 51245"
)
"""A letter is five rows of three pixels, a row an octal digit."""
COLORS = {
    "wall": (220, 40, 40), "floor": (40, 200, 80), "water": (50, 90, 230), "door": (240, 210, 50), "person": (230, 90, 220),
    "fighter": (240, 210, 50), "background": (120, 120, 120),
}  # fmt: skip


def glyphs() -> np.ndarray:
    """The letters as uint8 [letters, 5, 3], 1: ink."""
    return np.uint8([[[int(row) >> bit & 1 for bit in (2, 1, 0)] for row in letter] for letter in GLYPHS.split()])


def plain_overlay() -> OverlayStyle:
    """Green to walk on, red for walls, blue for water, yellow for what matters; letters of 3 by 5 pixels."""
    return OverlayStyle(
        labels=tuple(COLORS),
        letters=LETTERS,
        palette=np.uint8([[*color, 90] for color in COLORS.values()]),
        grid=np.uint8([255, 255, 255, 60]),
        ink=np.uint8([255, 255, 255, 255]),
        glyphs=glyphs(),
    )


FACE_SIZE = 28, 160
GROUND, BODY, WORD = (16, 18, 22), (40, 44, 53), (104, 111, 125)
WHITE, BLUE, RED, YELLOW = (236, 240, 247), (92, 178, 255), (255, 118, 96), (250, 208, 84)
FACE = {
    "UP": (16, 3, 7, 8, WHITE), "DOWN": (16, 17, 7, 8, WHITE), "LEFT": (8.5, 10.5, 8, 7, WHITE),
    "RIGHT": (22.5, 10.5, 8, 7, WHITE),
    "L": (46, 4, 9, 9, WHITE), "START": (57, 4, 25, 9, YELLOW), "R": (84, 4, 9, 9, WHITE),
    "MODE": (46, 15, 18, 9, YELLOW), "SELECT": (66, 15, 27, 9, YELLOW),
    "X": (110, 2, 11, 11, BLUE), "Y": (124, 2, 11, 11, BLUE), "Z": (138, 2, 11, 11, BLUE),
    "A": (110, 15, 11, 11, RED), "B": (124, 15, 11, 11, RED), "C": (138, 15, 11, 11, RED),
}  # fmt: skip
"""Each button's left, top, width, height and colour when held."""


def plain_face() -> PadFace:
    """A d-pad, six buttons in two rows, and between them what is pressed now and then."""
    dark = np.full((*FACE_SIZE, 3), GROUND, np.float64)
    _shape(dark, 16, 10.5, 7, 7, 0, BODY)
    lit, button = dark.copy(), np.zeros(FACE_SIZE, np.uint8)
    for number, (name, (left, top, width, height, color)) in enumerate(FACE.items(), 1):
        corner = width / 2 if width == height == 11 else 2
        covered = _shape(dark, left, top, width, height, corner, BODY)
        _shape(lit, left, top, width, height, corner, color)
        button[covered > 0] = number
        if name not in ("UP", "DOWN", "LEFT", "RIGHT"):
            _word(dark, name, left, top, width, height, WORD)
            _word(lit, name, left, top, width, height, GROUND)
    pictures = [np.rint(picture).astype(np.uint8) for picture in (dark, lit)]
    return PadFace(buttons=tuple(FACE), dark=pictures[0], lit=pictures[1], button=button)


def _shape(picture: np.ndarray, left: float, top: float, width: float, height: float, corner: float, color) -> np.ndarray:
    """Paint a rectangle with round corners and soft edges; how much of each pixel it covers, 0 to 1."""
    y, x = np.mgrid[: picture.shape[0], : picture.shape[1]] + 0.5
    beside = np.maximum(np.abs(x - left - width / 2) - width / 2 + corner, 0)
    above = np.maximum(np.abs(y - top - height / 2) - height / 2 + corner, 0)
    covered = np.clip(0.5 + corner - np.sqrt(beside**2 + above**2), 0, 1)
    picture += covered[..., None] * (np.float64(color) - picture)
    return covered


def _word(picture: np.ndarray, word: str, left: float, top: float, width: float, height: float, color) -> None:
    letters = np.pad(glyphs()[[LETTERS.index(letter) for letter in word]], ((0, 0), (0, 0), (0, 1)))
    ink = np.concatenate(list(letters), axis=1)[:, :-1].astype(bool)
    y, x = int(top + (height - ink.shape[0]) / 2), int(left + (width - ink.shape[1]) / 2)
    picture[y : y + ink.shape[0], x : x + ink.shape[1]][ink] = color


DUEL_COLORS = {"background": (70, 76, 90, 165), "floor": (40, 150, 80, 165), "hud": (60, 100, 220, 120)}


def duel_overlay() -> OverlayStyle:
    """The stage is dimmed, so that what moves stands out in its own colours, also where no codebook has its tiles."""
    tensors = {**plain_overlay().tensors, "palette": np.uint8(list(DUEL_COLORS.values())), "grid": np.uint8([255, 255, 255, 25])}
    return OverlayStyle(tensors, labels=tuple(DUEL_COLORS), letters=LETTERS)


def airstriker_sweep() -> ReflexTable:
    """One macro: 56 frames to the left while firing, 56 to the right, the width of the screen each."""
    left, right, shots = 4, 5, 7
    return ReflexTable(actions=6, action=np.int32([[left] * shots + [right] * shots]), ticks=np.full((1, 2 * shots), 8, np.int32))


def flat_tiles() -> TileCodebook:
    """Two tiles, a black and a white one: enough to see which parts of a picture are empty."""
    tiles = np.stack([np.full((8, 8, 3), shade, np.uint8) for shade in (0, 255)])
    return TileCodebook(labels=("dark", "light"), tiles=tiles, label=np.int32([0, 1]))


def untrained_policy(actions: int, seed: int) -> PolicyWeights:
    """The network of PolicyHead with random weights, scaled as in He et al. 2015: it plays, but knows nothing."""
    config = {
        "channels": 4, "height": 84, "width": 84, "actions": actions, "hidden": 128,
        "convolutions": ((16, 8, 4), (32, 4, 2)),
    }  # fmt: skip
    random = np.random.default_rng(seed)
    tensors = {}
    for name, spec in PolicyWeights.tensor_specs(config).items():
        shape = [int(size) for size in spec[len("f32[") : -1].split()]
        scale = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.0
        tensors[name] = (random.standard_normal(shape) * scale).astype(np.float32)
    return PolicyWeights(tensors, **config)


def main() -> None:
    folder = Path(__file__).resolve().parent
    brains = {
        "action_table/airstriker.safetensors": (airstriker_actions(), "Airstriker: steer and fire"),
        "action_table/duel.safetensors": (duel_actions(), "Duel: the 44 actions of the first seed"),
        "action_table/combos57.safetensors": (combos(), "Genesis: 57 combinations of the stick and one of six buttons"),
        "action_table/sf2.safetensors": (sf2_actions(), "Street Fighter II and Duel: 44 actions, forward and back by facing"),
        "recovery/sf2.safetensors": (sf2_recovery(), "Street Fighter II and Duel: punch 11, kick 12, jump 15 frames"),
        "button_history/genesis8.safetensors": (
            ButtonColumns(buttons=tuple(GENESIS), steps=8),
            "Genesis: the last 8 pads of twelve buttons",
        ),
        "fight_vector/sf2.safetensors": (sf2_numbers(), "Street Fighter II and Duel: a fight in 21 numbers"),
        "prompt/sf2.safetensors": (sf2_prompt(), "Street Fighter II and Duel: the prompt of the first seed"),
        "reply_words/sf2.safetensors": (sf2_words(), "Street Fighter II and Duel: seven basic actions and their words"),
        "tile_codebook/flat.safetensors": (flat_tiles(), "Tiles of one colour: dark and light"),
        "overlay_style/plain.safetensors": (plain_overlay(), "Plain colours and letters"),
        "overlay_style/duel.safetensors": (duel_overlay(), "Duel: the stage dimmed, so that what moves stands out"),
        "pad_face/plain.safetensors": (plain_face(), "A pad of up to fifteen buttons"),
        "reflex/airstriker.safetensors": (airstriker_sweep(), "Airstriker: sweep from wall to wall while firing"),
        "recovery/airstriker.safetensors": (
            RecoveryTable(recovery=np.int32([0, 0, 0, 7, 7, 7])),
            "Airstriker: a shot is 8 frames",
        ),
        "frame_stack/grey4.safetensors": (
            FrameStackTaps(taps=np.int32([12, 8, 4, 0]), mean=np.float32([0]), std=np.float32([1])),
            "4 grey frames, 4 ticks apart",
        ),
        "frame_stack/rgb8.safetensors": (
            FrameStackTaps(taps=np.int32(range(7, -1, -1)), mean=np.float32([0, 0, 0]), std=np.float32([1, 1, 1])),
            "8 colour frames, one after the other",
        ),
        "policy_head/airstriker-untrained.safetensors": (untrained_policy(6, 0), "Airstriker: untrained, random weights"),
    }
    for name, (brain, title) in brains.items():
        digest = brain.save(folder / name, title=title, made_by=MADE_BY, license=LICENSE, author="Minibrains")
        print(f"{digest[:16]}  {name}")


if __name__ == "__main__":
    main()
