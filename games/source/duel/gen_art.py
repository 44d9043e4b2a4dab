"""Draw all of Duel's pictures: `gen_art.py build` writes tiles.bin,
art.c and art.h into the folder `build`.

The pictures are our own. Shapes are rasterized with plain arithmetic, not by an imaging library, so
that the bytes do not depend on the version of a library. `gen_art.py --preview FILE` draws all
poses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Point = tuple[float, float]
Image = np.ndarray  # uint8 palette indices

# A fighter's palette. Its line of colour RAM is filled with the colours of the character in art.c.
(
    OUTLINE, SKIN, SKIN_LIGHT, SKIN_DARK, SUIT, SUIT_LIGHT, SUIT_DARK, HAIR, HAIR_LIGHT, TRIM,
    TRIM_DARK, WHITE,
) = range(1, 13)  # fmt: skip
GLOW, GLOW_LIGHT, GLOW_DARK = 13, 14, 15
SHADES = {
    SKIN: (SKIN_DARK, SKIN, SKIN_LIGHT),
    SUIT: (SUIT_DARK, SUIT, SUIT_LIGHT),
    HAIR: (HAIR, HAIR, HAIR_LIGHT),
    TRIM: (TRIM_DARK, TRIM, TRIM),
}

# The joints of a pose, facing right: head, neck, hip, then elbow and hand of the far and of the
# near arm, knee and foot of the far and of the near leg. The feet are at y = 62, the centre at x =
# 30.
POSES: dict[str, list[Point]] = {
    "STAND_1": [
        (34, 11), (32, 19), (30, 37), (26, 28), (34, 26), (39, 29), (44, 22), (24, 49), (20, 61),
        (38, 49), (39, 61),
    ],
    "STAND_2": [
        (34, 12), (32, 20), (30, 38), (26, 29), (34, 28), (39, 30), (44, 24), (24, 50), (20, 61),
        (38, 50), (39, 61),
    ],
    "STAND_3": [
        (35, 13), (33, 21), (30, 38), (27, 30), (35, 29), (40, 31), (45, 25), (23, 50), (20, 61),
        (38, 50), (39, 61),
    ],
    "WALK_1": [
        (34, 11), (32, 19), (30, 37), (26, 28), (34, 26), (40, 28), (44, 22), (27, 49), (24, 61),
        (35, 49), (35, 61),
    ],
    "WALK_2": [
        (35, 11), (33, 19), (30, 37), (26, 28), (34, 26), (41, 28), (45, 22), (22, 49), (15, 60),
        (40, 48), (44, 61),
    ],
    "WALK_3": [
        (35, 10), (33, 18), (30, 36), (26, 27), (34, 25), (41, 27), (45, 21), (30, 48), (25, 58),
        (33, 49), (33, 61),
    ],
    "CROUCH": [
        (35, 29), (33, 36), (29, 48), (26, 43), (34, 42), (40, 45), (45, 38), (20, 52), (21, 61),
        (42, 50), (39, 61),
    ],
    "CROUCH_GUARD": [
        (32, 30), (31, 37), (28, 48), (35, 42), (38, 32), (40, 44), (42, 33), (20, 52), (21, 61),
        (41, 50), (38, 61),
    ],
    "GUARD": [
        (31, 12), (30, 20), (29, 37), (35, 24), (38, 13), (40, 26), (42, 14), (23, 49), (19, 61),
        (37, 49), (37, 61),
    ],
    "JUMP": [
        (34, 9), (32, 17), (31, 33), (24, 22), (20, 15), (41, 22), (45, 15), (24, 38), (28, 47),
        (40, 38), (37, 48),
    ],
    "JUMP_TUCK": [
        (36, 15), (34, 22), (29, 34), (30, 31), (38, 33), (40, 31), (46, 30), (26, 43), (22, 51),
        (41, 41), (36, 50),
    ],
    "JAB": [
        (35, 11), (33, 19), (30, 37), (27, 28), (34, 26), (45, 22), (55, 21), (24, 49), (19, 61),
        (38, 49), (40, 61),
    ],
    "PUNCH_BACK": [
        (32, 12), (31, 20), (30, 37), (22, 27), (24, 21), (35, 30), (41, 25), (23, 49), (18, 61),
        (38, 48), (40, 61),
    ],
    "STRAIGHT": [
        (37, 12), (34, 20), (29, 37), (26, 29), (33, 30), (46, 22), (60, 21), (23, 49), (16, 61),
        (39, 48), (42, 61),
    ],
    "HEAVY_PUNCH": [
        (40, 15), (37, 22), (30, 38), (28, 31), (34, 36), (50, 21), (64, 20), (21, 50), (11, 61),
        (42, 47), (46, 61),
    ],
    "KNEE": [
        (30, 12), (30, 20), (30, 37), (24, 28), (32, 26), (37, 30), (40, 23), (27, 49), (25, 61),
        (43, 34), (40, 45),
    ],
    "SHIN_KICK": [
        (28, 12), (29, 20), (30, 37), (22, 27), (22, 20), (36, 29), (40, 24), (28, 49), (27, 61),
        (42, 42), (55, 49),
    ],
    "SIDE_KICK": [
        (25, 13), (27, 21), (30, 37), (19, 27), (17, 20), (34, 29), (32, 35), (28, 49), (28, 61),
        (44, 33), (61, 30),
    ],
    "HIGH_KICK": [
        (21, 15), (25, 22), (30, 36), (16, 28), (12, 22), (32, 30), (29, 36), (29, 49), (30, 61),
        (45, 25), (64, 14),
    ],
    "LOW_JAB": [
        (36, 29), (34, 36), (29, 48), (27, 43), (35, 43), (45, 39), (57, 39), (20, 52), (21, 61),
        (42, 50), (39, 61),
    ],
    "UPPERCUT": [
        (37, 16), (34, 24), (30, 42), (27, 33), (32, 38), (44, 18), (47, 1), (22, 51), (18, 61),
        (40, 51), (41, 61),
    ],
    "LOW_KICK": [
        (29, 30), (29, 37), (27, 49), (21, 43), (20, 52), (36, 43), (39, 37), (19, 54), (23, 61),
        (43, 55), (57, 59),
    ],
    "SWEEP": [
        (25, 33), (27, 40), (27, 51), (17, 46), (13, 57), (35, 45), (37, 39), (19, 56), (22, 61),
        (45, 57), (64, 60),
    ],
    "JUMP_PUNCH": [
        (37, 13), (34, 20), (30, 34), (27, 30), (33, 33), (44, 27), (54, 35), (24, 41), (20, 50),
        (39, 41), (34, 50),
    ],
    "JUMP_KICK": [
        (28, 9), (29, 17), (30, 32), (21, 22), (16, 17), (36, 24), (33, 30), (22, 38), (27, 46),
        (43, 38), (58, 48),
    ],
    "GRAB": [
        (36, 12), (34, 20), (30, 37), (42, 25), (51, 22), (44, 27), (53, 26), (23, 49), (17, 61),
        (39, 48), (42, 61),
    ],
    "THROW": [
        (26, 17), (27, 25), (30, 40), (20, 20), (13, 13), (33, 16), (24, 7), (22, 50), (17, 61),
        (40, 50), (43, 61),
    ],
    "CAST_BACK": [
        (30, 14), (30, 22), (29, 39), (22, 33), (17, 38), (28, 36), (21, 41), (22, 50), (16, 61),
        (39, 49), (42, 61),
    ],
    "CAST": [
        (39, 15), (36, 22), (30, 39), (45, 26), (57, 24), (46, 30), (58, 29), (21, 50), (12, 61),
        (42, 49), (45, 61),
    ],
    "RISE": [
        (35, 14), (32, 21), (29, 37), (25, 31), (27, 38), (40, 13), (42, -3), (26, 48), (22, 58),
        (41, 42), (35, 51),
    ],
    "HIT": [
        (22, 14), (25, 21), (31, 37), (17, 28), (12, 23), (33, 28), (39, 33), (26, 49), (22, 61),
        (39, 48), (40, 61),
    ],
    "CROUCH_HIT": [
        (24, 32), (26, 38), (29, 49), (18, 43), (14, 50), (34, 45), (40, 48), (21, 54), (21, 61),
        (42, 51), (39, 61),
    ],
    "FALL": [
        (12, 34), (18, 38), (32, 40), (14, 46), (8, 51), (22, 29), (17, 22), (42, 36), (50, 42),
        (43, 32), (54, 32),
    ],
    "LIE": [
        (10, 56), (17, 57), (34, 58), (22, 60), (14, 61), (25, 60), (31, 61), (44, 56), (54, 60),
        (45, 59), (57, 61),
    ],
    "GET_UP": [
        (36, 37), (33, 43), (27, 51), (30, 52), (33, 61), (40, 52), (42, 60), (19, 56), (16, 61),
        (39, 52), (34, 61),
    ],
    "WIN_1": [
        (33, 10), (32, 18), (31, 37), (23, 16), (24, 3), (40, 25), (35, 33), (26, 49), (25, 61),
        (37, 49), (37, 61),
    ],
    "WIN_2": [
        (33, 9), (32, 17), (31, 36), (22, 13), (22, 0), (41, 13), (42, 0), (26, 49), (25, 61),
        (37, 49), (37, 61),
    ],
}  # fmt: skip

MIDDLE, FLOOR = 30.0, 62.0
WIDE, HIGH = 144, 112
AT = (60, 104)
"""The size of a pose's canvas, and the point on it at which the fighter's centre line meets the
floor."""


@dataclass(frozen=True)
class Build:
    """The looks of a character: proportions, clothes, hair, and colours of 3 bits per channel."""

    name: str
    width: float
    height: float
    limbs: float
    torso: float
    head: float
    hair: str
    sleeves: bool
    colours: tuple[tuple[int, int, int], ...]


def _ramp(*colours: tuple[int, int, int]) -> tuple[tuple[int, int, int], ...]:
    return colours


GLOWS = {
    "blue": ((1, 4, 7), (6, 7, 7), (0, 2, 6)),
    "green": ((2, 6, 3), (6, 7, 5), (0, 4, 2)),
    "pink": ((7, 3, 6), (7, 6, 7), (5, 1, 4)),
    "gold": ((7, 5, 1), (7, 7, 5), (6, 3, 0)),
}
INK = (1, 1, 2)
BUILDS = (
    Build(
        "KAZE",
        1.2,
        1.2,
        1.0,
        1.0,
        1.0,
        "band",
        True,
        _ramp(
            INK,
            (6, 4, 3),
            (7, 6, 4),
            (5, 3, 2),
            (2, 3, 6),
            (4, 5, 7),
            (1, 1, 4),
            (1, 1, 1),
            (3, 2, 2),
            (7, 1, 1),
            (4, 0, 1),
            (7, 7, 7),
            *GLOWS["blue"],
        ),
    ),
    Build(
        "BRON",
        1.26,
        1.24,
        1.42,
        1.5,
        1.06,
        "beard",
        False,
        _ramp(
            INK,
            (6, 4, 2),
            (7, 5, 4),
            (4, 2, 1),
            (1, 4, 1),
            (3, 6, 2),
            (0, 2, 1),
            (4, 2, 0),
            (6, 3, 1),
            (6, 5, 1),
            (4, 3, 0),
            (7, 7, 7),
            *GLOWS["green"],
        ),
    ),
    Build(
        "MIRA",
        1.14,
        1.15,
        0.82,
        0.82,
        0.96,
        "tail",
        False,
        _ramp(
            INK,
            (7, 5, 4),
            (7, 6, 5),
            (5, 3, 3),
            (6, 1, 4),
            (7, 4, 6),
            (4, 0, 3),
            (6, 4, 0),
            (7, 6, 2),
            (7, 7, 7),
            (5, 5, 6),
            (7, 7, 7),
            *GLOWS["pink"],
        ),
    ),
    Build(
        "TARN",
        1.3,
        1.24,
        0.86,
        0.9,
        0.96,
        "hood",
        True,
        _ramp(
            INK,
            (4, 3, 2),
            (6, 4, 3),
            (2, 2, 1),
            (5, 4, 2),
            (7, 6, 4),
            (3, 2, 1),
            (3, 1, 5),
            (5, 3, 7),
            (3, 1, 5),
            (2, 0, 3),
            (7, 7, 7),
            *GLOWS["gold"],
        ),
    ),
)


class Canvas:
    """An image of palette indices; 0 is transparent."""

    def __init__(self, width: int, height: int) -> None:
        self.image: Image = np.zeros((height, width), np.uint8)
        self.y, self.x = np.mgrid[0:height, 0:width].astype(np.float64)

    def limb(
        self, a: Point, b: Point, thick_a: float, thick_b: float, shades: tuple[int, int, int]
    ) -> None:
        """Draw a tapered, rounded limb, lit from the upper left.

        Args:
            a: The point at which it begins.
            b: The point at which it ends; the same point gives a disc.
            thick_a: Its thickness at the beginning, in pixels.
            thick_b: Its thickness at the end.
            shades: The dark, middle and bright colour.
        """
        dx, dy = b[0] - a[0], b[1] - a[1]
        length = dx * dx + dy * dy
        if length:
            along = np.clip(((self.x - a[0]) * dx + (self.y - a[1]) * dy) / length, 0, 1)
        else:
            along = np.zeros_like(self.x)
        off_x, off_y = self.x - (a[0] + along * dx), self.y - (a[1] + along * dy)
        radius = (thick_a + along * (thick_b - thick_a)) / 2
        inside = off_x * off_x + off_y * off_y <= radius * radius
        light = (off_x * 0.5 + off_y * 0.85) / np.maximum(radius, 0.5)
        dark, mid, bright = shades
        upper = np.where(light < -0.4, bright, mid)
        shaded = np.where(light > 0.42, dark, upper)
        self.image[inside] = shaded[inside]

    def disc(self, at: Point, radius: float, shades: tuple[int, int, int]) -> None:
        """Draw a disc, lit from the upper left."""
        self.limb(at, at, 2 * radius, 2 * radius, shades)

    def where(self, condition: np.ndarray, colour: int) -> None:
        """Colour the pixels for which a condition holds, bool [height, width]."""
        self.image[condition] = colour

    def outline(self, colour: int) -> None:
        """Draw a line of one pixel around everything drawn so far."""
        solid = self.image > 0
        near = np.zeros_like(solid)
        near[1:] |= solid[:-1]
        near[:-1] |= solid[1:]
        near[:, 1:] |= solid[:, :-1]
        near[:, :-1] |= solid[:, 1:]
        self.image[near & ~solid] = colour

    def put(self, other: Canvas) -> None:
        """Draw another canvas of the same size over this one."""
        solid = other.image > 0
        self.image[solid] = other.image[solid]


def draw_pose(pose: str, build: Build) -> Image:
    """Return a picture of a fighter in a pose, u8 [HIGH, WIDE]."""
    joints: list[Point] = []
    for x, y in POSES[pose]:
        joint_x = AT[0] + (x - MIDDLE) * build.width
        joint_y = AT[1] + (y - FLOOR) * build.height
        joints.append((joint_x, joint_y))
    (
        head, neck, hip, far_elbow, far_hand, near_elbow, near_hand, far_knee, far_foot, near_knee,
        near_foot,
    ) = joints  # fmt: skip
    thick = build.limbs * 1.15
    skin, suit, trim, hair = SHADES[SKIN], SHADES[SUIT], SHADES[TRIM], SHADES[HAIR]
    sleeve = suit if build.sleeves else skin
    shade = (SUIT_DARK, SUIT_DARK, SUIT)
    skin_shade = (SKIN_DARK, SKIN_DARK, SKIN)
    toe = 4.0 * build.width
    picture = Canvas(WIDE, HIGH)

    def layer(*parts: tuple[Point, Point, float, float, tuple[int, int, int]]) -> None:
        sheet = Canvas(WIDE, HIGH)
        for a, b, thick_a, thick_b, shades in parts:
            sheet.limb(a, b, thick_a * thick, thick_b * thick, shades)
        sheet.outline(OUTLINE)
        picture.put(sheet)

    far_sleeve = shade if build.sleeves else skin_shade
    if build.hair == "tail":
        layer(
            (head, (head[0] - 10, head[1] + 1), 5, 4, hair),
            ((head[0] - 10, head[1] + 1), (head[0] - 15, head[1] + 13), 4, 1.5, hair),
        )
    if build.hair == "band":
        layer(((head[0] - 5, head[1] - 2), (head[0] - 15, head[1] + 3), 2.5, 1.5, trim))
    layer(
        (neck, far_elbow, 6, 5, far_sleeve),
        (far_elbow, far_hand, 5, 4, skin_shade),
        (far_hand, far_hand, 7, 7, trim),
    )
    layer(
        (hip, far_knee, 10, 7, shade),
        (far_knee, far_foot, 7, 5, shade),
        (far_foot, (far_foot[0] + toe, far_foot[1]), 5, 3.5, trim),
    )
    layer(
        (hip, near_knee, 10, 8, suit),
        (near_knee, near_foot, 8, 5, suit),
        (near_foot, (near_foot[0] + toe, near_foot[1]), 5, 4, trim),
    )
    chest = (neck[0] + (hip[0] - neck[0]) * 0.28, neck[1] + (hip[1] - neck[1]) * 0.28)
    wide = build.torso / build.limbs
    layer(
        (chest, hip, 15 * wide, 11 * wide, suit),
        (neck, chest, 11 * wide, 15 * wide, suit),
        (neck, neck, 6, 6, skin),
    )
    across = ((hip[1] - neck[1]) / 10, -(hip[0] - neck[0]) / 10)
    layer(
        (
            (hip[0] - across[0] * 2, hip[1] - across[1] * 2),
            (hip[0] + across[0] * 2, hip[1] + across[1] * 2),
            4.5,
            4.5,
            trim,
        )
    )

    sheet = Canvas(WIDE, HIGH)
    radius = 7.0 * build.head
    sheet.disc(head, radius, skin)
    rx, ry = (sheet.x - head[0]) / radius, (sheet.y - head[1]) / radius
    in_head = rx * rx + ry * ry <= 1
    if build.hair == "hood":
        sheet.disc((head[0] - 1.5, head[1] - 1), radius + 2, (HAIR, HAIR, HAIR_LIGHT))
        face = ((rx - 0.45) / 0.62) ** 2 + ((ry - 0.12) / 0.68) ** 2 <= 1
        sheet.where(face, SKIN_DARK)
    else:
        if build.hair == "beard":
            sheet.where(in_head & (ry > 0.35) & (rx > -0.7), HAIR)
            sheet.where(in_head & (ry > 0.35) & (ry < 0.5) & (rx > 0), HAIR_LIGHT)
        else:
            sheet.where(in_head & (ry < -0.2 - 0.5 * (rx > 0.2)), HAIR)
            sheet.where(in_head & (rx < -0.35), HAIR)
            sheet.where(in_head & (ry < -0.62) & (rx < 0.2), HAIR_LIGHT)
        if build.hair == "band":
            sheet.where(in_head & (ry > -0.42) & (ry < -0.12), TRIM)
    eye = GLOW_LIGHT if build.hair == "hood" else OUTLINE
    sheet.where((np.abs(rx - 0.52) < 0.17) & (np.abs(ry - 0.05) < 0.17), eye)
    sheet.outline(OUTLINE)
    picture.put(sheet)

    layer(
        (neck, near_elbow, 7, 6, sleeve),
        (near_elbow, near_hand, 6, 4.5, skin),
        (near_hand, near_hand, 8, 8, trim),
    )
    return picture.image


# ---- tiles ----


def tile_words(image: Image) -> bytes:
    """Return an 8 x 8 tile as the video chip stores it: two pixels per byte."""
    return bytes((image[:, 0::2] << 4 | image[:, 1::2]).astype(np.uint8).tobytes())


def sprite_tiles(image: Image) -> bytes:
    """Return the tiles of a picture, column by column within each sprite of at most 4 x 4 tiles."""
    rows, columns = image.shape[0] // 8, image.shape[1] // 8
    out: list[bytes] = []
    for top in range(0, rows, 4):
        for left in range(0, columns, 4):
            for column in range(left, min(left + 4, columns)):
                strip = image[top * 8 : (top + 4) * 8, column * 8 : column * 8 + 8]
                for row in range(0, strip.shape[0], 8):
                    out.append(tile_words(strip[row : row + 8]))
    return b"".join(out)


def trimmed(image: Image) -> tuple[int, int, Image]:
    """Return the left and top edge, relative to AT,
    and the smallest part in whole tiles that is not empty.
    """
    rows, columns = np.flatnonzero(image.any(1)), np.flatnonzero(image.any(0))
    top, left = int(rows[0]), int(columns[0])
    height = _whole_tiles(int(rows[-1]) + 1 - top)
    width = _whole_tiles(int(columns[-1]) + 1 - left)
    room = np.zeros((height, width), np.uint8)
    part = image[top : top + height, left : left + width]
    room[: part.shape[0], : part.shape[1]] = part
    return left - AT[0], top - AT[1], room


def _whole_tiles(pixels: int) -> int:
    """Return a length rounded up to whole tiles of 8 pixels."""
    return -(-pixels // 8) * 8


# ---- letters, bars, logo: palette line 0 ----

INK_WHITE, INK_YELLOW, INK_RED, INK_DARK, INK_BLUE, INK_ORANGE, INK_GREY = 15, 14, 13, 12, 11, 10, 9
HUD_COLOURS = {
    15: (7, 7, 7),
    14: (7, 6, 0),
    13: (7, 1, 0),
    12: (1, 0, 1),
    11: (2, 4, 7),
    10: (7, 4, 0),
    9: (4, 4, 4),
    8: (2, 2, 2),
    7: (6, 7, 7),
    6: (7, 7, 4),
}

FONT = {
    " ": "0000000", "0": "EJJJJJE", "1": "4C4444E", "2": "EJ1248V", "3": "EJ161JE", "4": "26AIV22",
    "5": "VGU11JE", "6": "6GGUJJE", "7": "V112448", "8": "EJJEJJE", "9": "EJJF11C", "A": "EJJVJJJ",
    "B": "UJJUJJU", "C": "EJGGGJE", "D": "UJJJJJU", "E": "VGGUGGV", "F": "VGGUGGG", "G": "EJGNJJF",
    "H": "JJJVJJJ", "I": "E44444E", "J": "7222IIC", "K": "JIKOKIJ", "L": "GGGGGGV", "M": "JRVLJJJ",
    "N": "JJPLNJJ", "O": "EJJJJJE", "P": "UJJUGGG", "Q": "EJJJLID", "R": "UJJUKIJ", "S": "FGGE11U",
    "T": "V444444", "U": "JJJJJJE", "V": "JJJJJA4", "W": "JJJLLRJ", "X": "JJA4AJJ", "Y": "JJA4444",
    "Z": "V1248GV", "-": "000V000", "!": "4444404", ".": "0000066", ":": "0440440", "*": "4VEVA00",
    "<": "248G842", ">": "8421248",
}  # fmt: skip
"""Rows of five pixels, as digits in base 32 (A is 10), except that J is 17, the two outer
pixels."""


def _row(code: str) -> int:
    return int({"J": "H"}.get(code, code), 32)


OUTLINE_OF_LETTERS = 2
"""The width in pixels; 1 would leave gaps at the corners of letters."""


def font_tiles() -> bytes:
    """Return the tiles of the letters, with dark outlines,
    so that they are readable on light backgrounds.
    """
    out = []
    for rows in FONT.values():
        letter = Canvas(8, 8)
        for y, code in enumerate(rows):
            for x in range(5):
                if _row(code) >> (4 - x) & 1:
                    letter.image[y, x + 1] = INK_WHITE
        for _ in range(OUTLINE_OF_LETTERS):
            letter.outline(INK_DARK)
        out.append(tile_words(letter.image))
    return b"".join(out)


def bar_tiles() -> bytes:
    """Return nine tiles of a health bar, with 0 to 8 full columns,
    and dark rows next to the letters.
    """
    out = []
    for full in range(9):
        tile = np.full((8, 8), INK_DARK, np.uint8)
        tile[1:7] = INK_WHITE
        tile[2:6] = INK_RED
        if full:
            tile[2, :full] = 6
            tile[3:5, :full] = INK_YELLOW
            tile[5, :full] = INK_ORANGE
        out.append(tile_words(tile))
    return b"".join(out)


def mark_tiles() -> bytes:
    """Return the tiles of the mark for a round won, and for one not won yet."""
    out = []
    y, x = np.mgrid[0:8, 0:8] - 3.5
    for colours in ((INK_YELLOW, INK_ORANGE), (8, 8)):
        tile = np.zeros((8, 8), np.uint8)
        tile[np.abs(x) + np.abs(y) <= 4] = INK_DARK
        tile[np.abs(x) + np.abs(y) <= 3] = colours[1]
        tile[np.abs(x) + np.abs(y) <= 2] = colours[0]
        out.append(tile_words(tile))
    return b"".join(out)


LOGO_WIDE, LOGO_HIGH = 160, 56


def draw_logo() -> Image:
    """Return a picture of the word DUEL in slanted strokes, with a cut through it,
    u8 [LOGO_HIGH, LOGO_WIDE].
    """
    canvas = Canvas(LOGO_WIDE, LOGO_HIGH)
    strokes = {
        "D": [
            ((0, 0), (0, 40)),
            ((0, 0), (16, 0)),
            ((16, 0), (24, 10)),
            ((24, 10), (24, 30)),
            ((24, 30), (16, 40)),
            ((16, 40), (0, 40)),
        ],
        "U": [
            ((0, 0), (0, 32)),
            ((0, 32), (7, 40)),
            ((7, 40), (17, 40)),
            ((17, 40), (24, 32)),
            ((24, 32), (24, 0)),
        ],
        "E": [((0, 0), (0, 40)), ((0, 0), (22, 0)), ((0, 20), (17, 20)), ((0, 40), (22, 40))],
        "L": [((0, 0), (0, 40)), ((0, 40), (22, 40))],
    }
    for position, letter in enumerate("DUEL"):
        for stroke in strokes[letter]:
            a, b = ((18 + position * 36 + x - (y - 20) * 0.22, 8 + y) for x, y in stroke)
            canvas.limb(a, b, 9, 9, (INK_RED, INK_ORANGE, INK_YELLOW))
    cut = np.abs(canvas.y - (34 - canvas.x * 0.09)) < 1.1
    canvas.where(cut & (canvas.image > 0), 0)
    canvas.outline(INK_DARK)
    return canvas.image


def picture_tiles(image: Image) -> bytes:
    """Return the tiles of a picture row by row, for a plane."""
    out: list[bytes] = []
    for y in range(0, image.shape[0], 8):
        for x in range(0, image.shape[1], 8):
            out.append(tile_words(image[y : y + 8, x : x + 8]))
    return b"".join(out)


# ---- sparks, projectile, shadow ----


def draw_spark(kind: str, frame: int) -> Image:
    """Return a frame of the spark of a "light" or "heavy" hit or of a "block", u8 [32, 32]."""
    canvas = Canvas(32, 32)
    x, y = canvas.x - 15.5, canvas.y - 15.5
    far = np.sqrt(x * x + y * y)
    near = np.minimum(np.abs(x), np.abs(y))
    slant = np.minimum(np.abs(x - y), np.abs(x + y)) * 0.7071
    if kind == "block":
        ring = 5 + frame * 4
        canvas.where(np.abs(far - ring) < 2.6 - frame * 0.6, INK_BLUE)
        canvas.where(np.abs(far - ring) < 1.2, 7)
        return canvas.image
    sizes = (9, 14, 15) if kind == "heavy" else (6, 10, 11)
    size = sizes[frame]
    hole = (0, 3, 9)[frame]
    edge = np.minimum(near * 1.5, slant * 2.2)
    canvas.where((far < size) & (edge < (size - far) * 0.45 + 0.4), INK_ORANGE)
    canvas.where((far < size * 0.8) & (edge < (size * 0.8 - far) * 0.45), INK_YELLOW)
    canvas.where((far < size * 0.5) & (edge < (size * 0.55 - far) * 0.6), INK_WHITE)
    canvas.where(far < hole * 0.8, 0)
    return canvas.image


def draw_projectile(frame: int) -> Image:
    """Return one of the two frames of a projectile flying to the right, u8 [24, 32]."""
    canvas = Canvas(32, 24)
    x, y = canvas.x - 19.5, canvas.y - 11.5
    tail, core = (15, 6) if frame else (18, 5)
    body = x * x + y * y
    canvas.where(
        (x < 0)
        & (x > -tail)
        & (np.abs(y) < (1 + x / tail) * 8 - (np.floor(canvas.x / 2 + frame) % 2)),
        GLOW_DARK,
    )
    canvas.where(body <= 10.5 * 10.5, GLOW_DARK)
    canvas.where(body <= 9 * 9, GLOW)
    canvas.where((x - 2) ** 2 + (y + 1) ** 2 <= core**2, GLOW_LIGHT)
    canvas.where((x - 3) ** 2 + (y + 1) ** 2 <= 9, WHITE)
    return canvas.image


def draw_shadow() -> Image:
    """Return the shadow of a fighter, u8 [8, 32]: every second pixel,
    so that the floor stays visible.
    """
    canvas = Canvas(32, 8)
    x, y = (canvas.x - 15.5) / 15.5, (canvas.y - 3.5) / 3.6
    canvas.where((x * x + y * y <= 1) & ((canvas.x + canvas.y) % 2 == 0), INK_DARK)
    return canvas.image


# ---- stages: 512 x 224, palette line 3 ----

STAGE_WIDE, STAGE_HIGH, HORIZON = 512, 224, 168


def _noise(x: np.ndarray, y: np.ndarray, salt: int) -> np.ndarray:
    """Return numbers from 0 to 255 that depend only on the position and the salt."""
    n = (
        x.astype(np.int64) * 374761393 + y.astype(np.int64) * 668265263 + salt * 974634777
    ) & 0xFFFFFFFF
    n = ((n ^ (n >> 13)) * 1274126177) & 0xFFFFFFFF
    return (n ^ (n >> 16)) & 255


class Stage(Canvas):
    """A backdrop in colours 1 to 15, whose lower part is the floor."""

    def __init__(self) -> None:
        super().__init__(STAGE_WIDE, STAGE_HIGH)

    def bands(self, edges: list[int], colours: list[int]) -> None:
        """Draw a sky in bands, with dithered rows between them."""
        for place, colour in enumerate(colours):
            self.where((self.y >= edges[place]) & (self.y < edges[place + 1]), colour)
            if place:
                self.where(
                    (np.abs(self.y - edges[place] + 2) < 2) & ((self.x + self.y) % 2 == 0), colour
                )

    def box(self, left: float, top: float, right: float, bottom: float, colour: int) -> None:
        """Draw a filled rectangle."""
        self.where(
            (self.x >= left) & (self.x < right) & (self.y >= top) & (self.y < bottom), colour
        )

    def tiled_floor(self, colours: tuple[int, int, int], plank: int) -> None:
        """Draw the floor, in planks of `plank` pixels, with a light, a middle and a dark colour."""
        light, mid, dark = colours
        depth = self.y - HORIZON
        self.where(depth >= 0, mid)
        self.where((depth >= 0) & (depth < 3), dark)
        for edge in (10, 20, 34):
            self.where(np.abs(depth - edge) < 0.6, dark)
        self.where((depth > 20) & (depth < 34) & (self.x % plank < 2), dark)
        self.where((depth > 3) & (depth < 10) & ((self.x + plank / 4) % (plank / 2) < 1), dark)
        self.where((depth > 34) & ((self.x + plank / 2) % (plank * 2) < 2), dark)
        self.where((depth >= 3) & (depth < 5), light)


def harbour() -> tuple[Image, list[tuple[int, int, int]]]:
    """Return the picture of Harbour, and the colours 1 to 15 of its palette."""
    s = Stage()
    s.bands([0, 40, 72, 100, HORIZON], [1, 2, 3, 4])
    sun = (s.x - 352) ** 2 + (s.y - 88) ** 2
    s.where(sun < 30 * 30, 5)
    s.where((sun < 30 * 30) & (s.y > 88) & (s.y % 6 < 2), 4)
    s.where(s.y >= 120, 6)
    s.where(
        (s.y >= 120) & (s.y < HORIZON) & ((s.x + 8 * (s.y // 6 % 2)) % 16 < 6) & (s.y % 6 < 1), 7
    )
    for mast in (64, 192, 448):
        s.where((s.y > 112) & (s.y < 140) & (np.abs(s.x - mast) < 44 - (s.y - 112) * 0.6), 8)
        s.box(mast - 2, 48, mast + 2, 112, 9)
        s.where(
            (s.y > 52) & (s.y < 106) & (s.x > mast + 2) & (s.x < mast + 2 + (s.y - 48) * 0.6), 10
        )
        s.where(
            (s.y > 60) & (s.y < 106) & (s.x < mast - 3) & (s.x > mast - 3 - (s.y - 56) * 0.4), 11
        )
    s.tiled_floor((12, 13, 14), 32)
    for post in range(16, 512, 64):
        s.box(post, 152, post + 8, 174, 14)
        s.box(post, 152, post + 3, 174, 13)
    return s.image, [
        (2, 1, 4), (4, 2, 4), (6, 3, 3), (7, 5, 3), (7, 7, 4), (1, 3, 5), (5, 5, 6), (2, 1, 1),
        (3, 2, 1), (7, 6, 5), (6, 5, 4), (6, 5, 3), (4, 3, 2), (2, 1, 1), (7, 7, 7),
    ]  # fmt: skip


def forest() -> tuple[Image, list[tuple[int, int, int]]]:
    """Return the picture of Forest, and the colours 1 to 15 of its palette."""
    s = Stage()
    s.bands([0, 48, 96, HORIZON], [1, 2, 3])
    s.where(s.y > 100 + 14 * np.abs((s.x % 128) / 64 - 1) + 6 * np.abs((s.x % 64) / 32 - 1), 4)
    for trunk in range(24, 512, 64):
        lean = (trunk // 64 % 3 - 1) * 4
        s.box(trunk - 7 + lean, 40, trunk + 7 + lean, HORIZON, 6)
        s.box(trunk - 7 + lean, 40, trunk - 2 + lean, HORIZON, 5)
        s.box(trunk + 4 + lean, 40, trunk + 7 + lean, HORIZON, 7)
    for row, (top, colour) in enumerate(((0, 8), (14, 9), (30, 10))):
        edge = (
            56
            - top
            + 10 * np.abs(((s.x + 16 * row) % 64) / 32 - 1)
            - 6 * np.abs(((s.x + 8 * row) % 16) / 8 - 1)
        )
        s.where(s.y < edge, colour)
    s.where((s.y < 60) & (_noise(s.x % 32 // 2, s.y % 32 // 2, 3) < 18) & (s.image >= 8), 11)
    s.tiled_floor((12, 13, 14), 64)
    s.where(
        (s.y >= HORIZON - 6) & (s.y < HORIZON) & ((s.x * 3 + s.y * 5) % 8 < s.y - HORIZON + 7), 12
    )
    return s.image, [
        (1, 3, 5), (2, 5, 5), (4, 6, 5), (1, 3, 2), (5, 3, 2), (3, 2, 1), (2, 1, 0), (0, 2, 1),
        (1, 3, 1), (1, 4, 1), (3, 6, 2), (3, 5, 1), (2, 4, 1), (1, 2, 0), (7, 7, 7),
    ]  # fmt: skip


PIPE = 44
"""The top of Foundry's pipes, below the clock and the names."""


def foundry() -> tuple[Image, list[tuple[int, int, int]]]:
    """Return the picture of Foundry, and the colours 1 to 15 of its palette."""
    s = Stage()
    s.where(s.y < HORIZON, 2)
    s.where((s.y < HORIZON) & ((s.y % 16 < 1) | ((s.x + 16 * (s.y // 16 % 2)) % 32 < 1)), 1)
    s.where((s.y > 130) & (s.y < HORIZON) & ((s.x + s.y) % 2 == 0), 3)
    for at in range(0, 512, 128):
        s.box(at + 24, 76, at + 88, HORIZON, 4)
        s.box(at + 30, 84, at + 82, 150, 5)
        fire = 150 - 34 * (1 - np.abs(s.x - at - 56) / 28) - 7 * np.abs((s.x % 16) / 8 - 1)
        s.where((np.abs(s.x - at - 56) < 26) & (s.y < 150) & (s.y > fire), 6)
        s.where((np.abs(s.x - at - 56) < 22) & (s.y < 150) & (s.y > fire + 10), 7)
        s.where((np.abs(s.x - at - 56) < 18) & (s.y < 150) & (s.y > fire + 22), 8)
        s.where((np.abs(s.x - at - 56) < 26) & (s.y > 84) & (s.y < 150) & (s.x % 12 < 2), 9)
        s.box(at + 104, PIPE, at + 116, HORIZON, 9)
        s.box(at + 104, PIPE, at + 108, HORIZON, 10)
        s.box(at + 100, 60, at + 120, 68, 9)
    s.box(0, PIPE, 512, PIPE + 10, 9)
    s.box(0, PIPE, 512, PIPE + 3, 10)
    s.tiled_floor((11, 12, 13), 64)
    s.where((s.y > HORIZON + 34) & (s.y < HORIZON + 42) & ((s.x + s.y) % 32 < 16), 14)
    return s.image, [
        (1, 0, 1), (2, 1, 1), (3, 1, 1), (2, 2, 2), (1, 0, 0), (6, 1, 0), (7, 4, 0), (7, 7, 3),
        (2, 2, 3), (4, 4, 5), (4, 4, 4), (3, 3, 3), (1, 1, 2), (6, 5, 0), (7, 7, 7),
    ]  # fmt: skip


MOON = (84, 70)
"""Its centre: below the names, and left of the announcements."""
COLUMN_TOP = 106
"""Below the announcements."""


def observatory() -> tuple[Image, list[tuple[int, int, int]]]:
    """Return the picture of Observatory, and the colours 1 to 15 of its palette."""
    s = Stage()
    s.bands([0, 56, 108, HORIZON], [1, 2, 3])
    # above it are letters, and a star beside one is a full stop
    star_sky = (s.y > 44) & (s.y < 120)
    s.where(star_sky & (_noise(s.x % 128, s.y, 7) < 1), 15)
    s.where(star_sky & (_noise(s.x % 128, s.y, 9) < 1), 12)
    x, y = s.x - MOON[0], s.y - MOON[1]
    moon = x**2 + y**2 < 26 * 26
    s.where(moon, 5)
    s.where(moon & ((x - 10) ** 2 + (y + 6) ** 2 > 26 * 26), 4)
    s.where((x + 8) ** 2 + (y - 6) ** 2 < 20, 4)
    s.where(s.y > 128 + 26 * np.abs((s.x % 256) / 128 - 1) - 10 * np.abs((s.x % 64) / 32 - 1), 6)
    dome = (s.x - 360) ** 2 + (s.y - 130) ** 2
    s.where((dome < 48 * 48) & (s.y < 130), 8)
    s.where((dome < 48 * 48) & (s.y < 130) & (s.x < 346), 7)
    s.where((dome < 48 * 48) & (s.y < 130) & (np.abs(s.x - 370) < 7), 1)
    s.box(312, 130, 408, HORIZON, 9)
    s.box(312, 130, 408, 134, 10)
    for column in range(16, 512, 64):
        if not 290 < column < 420:
            s.box(column, COLUMN_TOP, column + 14, HORIZON, 7)
            s.box(column, COLUMN_TOP, column + 5, HORIZON, 8)
            s.box(column + 11, COLUMN_TOP, column + 14, HORIZON, 9)
            s.box(column - 4, COLUMN_TOP, column + 18, COLUMN_TOP + 8, 8)
    s.tiled_floor((10, 11, 13), 32)
    s.where((s.y > HORIZON + 20) & (s.y < HORIZON + 34) & (s.x % 64 < 32) & (s.image == 11), 14)
    return s.image, [
        (0, 0, 2), (1, 0, 3), (2, 1, 4), (5, 5, 5), (7, 7, 6), (1, 1, 2), (4, 4, 5), (6, 6, 7),
        (2, 2, 4), (5, 5, 7), (3, 3, 5), (5, 5, 7), (1, 1, 3), (2, 2, 4), (7, 7, 7),
    ]  # fmt: skip


STAGES = {"HARBOUR": harbour, "FOREST": forest, "FOUNDRY": foundry, "OBSERVATORY": observatory}


def stage_tiles(image: Image) -> tuple[bytes, list[int]]:
    """Return the different tiles, and the map of the plane, in which tiles may be mirrored."""
    known: dict[bytes, int] = {}
    tiles: list[bytes] = []
    plane: list[int] = []
    for y in range(0, STAGE_HIGH, 8):
        for x in range(0, STAGE_WIDE, 8):
            tile = image[y : y + 8, x : x + 8]
            code = tile_words(tile)
            if code not in known:
                for flips, view in (
                    (0x000, tile),
                    (0x800, tile[:, ::-1]),
                    (0x1000, tile[::-1]),
                    (0x1800, tile[::-1, ::-1]),
                ):
                    known.setdefault(tile_words(view), len(tiles) | flips)
                tiles.append(code)
            plane.append(known[code])
    return b"".join(tiles), plane


# ---- the files for the program ----


def colour_word(colour: tuple[int, int, int]) -> int:
    """Return a colour as the video chip stores it."""
    red, green, blue = colour
    return blue << 9 | green << 5 | red << 1


def words(values: Iterable[int]) -> str:
    """Return numbers as the content of an initializer in C."""
    return ",".join(f"0x{value:x}" for value in values)


def build_art(folder: Path) -> None:
    """Write tiles.bin, art.c and art.h into a folder."""
    data = bytearray()

    def store(tiles: bytes) -> int:
        """Append tiles, and return the number of the first."""
        begin = len(data) // 32
        data.extend(tiles)
        return begin

    header = ["/* generated by gen_art.py */", "#ifndef ART_H", "#define ART_H"]
    source = ["/* generated by gen_art.py */", '#include "art_types.h"', '#include "build/art.h"']
    poses = ", ".join(f"POSE_{name}" for name in POSES)
    header.append(f"enum {{ {poses}, POSES }};")

    # letters, bars and the logo
    ui = font_tiles()
    names = {"FONT": 0, "BAR": len(ui) // 32}
    ui += bar_tiles()
    names["MARK"] = len(ui) // 32
    ui += mark_tiles()
    for name, first in names.items():
        header.append(f"#define UI_{name} {first}")
    header += [
        f"#define UI_TILES {len(ui) // 32}",
        f"#define LOGO_COLUMNS {LOGO_WIDE // 8}",
        f"#define LOGO_ROWS {LOGO_HIGH // 8}",
    ]
    letters = "".join(FONT)
    header.append(f'#define FONT_LETTERS "{letters}"')

    # sparks, projectile and shadow
    effects = b""
    for kind in ("light", "heavy", "block"):
        for frame in range(3):
            effects += sprite_tiles(draw_spark(kind, frame))
    header.append("#define EFFECT_SPARK 0")
    header.append(f"#define EFFECT_PROJECTILE {len(effects) // 32}")
    for frame in range(2):
        effects += sprite_tiles(draw_projectile(frame))
    header.append(f"#define EFFECT_SHADOW {len(effects) // 32}")
    effects += sprite_tiles(draw_shadow())
    header.append(f"#define EFFECT_TILES {len(effects) // 32}")
    source += [
        f"const u32 ui_tiles_at = {store(ui)};",
        f"const u32 effect_tiles_at = {store(effects)};",
    ]
    source.append(f"const u32 logo_tiles_at = {store(picture_tiles(draw_logo()))};")

    # the poses of the fighters, and their colours
    most = 0
    source.append("const struct pose poses[CHARACTERS][POSES] = {")
    for build in BUILDS:
        rows = []
        for pose in POSES:
            left, top, picture = trimmed(draw_pose(pose, build))
            height, width = picture.shape
            rows.append(
                f"{{{store(sprite_tiles(picture))},{left},{top},{width // 8},{height // 8}}}"
            )
            most = max(most, picture.size // 64)
        source.append(f" {{{','.join(rows)}}},")
    source.append("};")
    header.append(f"#define MOST_POSE_TILES {most}")
    source.append("const u16 character_colours[CHARACTERS][16] = {")
    for build in BUILDS:
        palette = words([0, *map(colour_word, build.colours)])
        source.append(f" {{{palette}}},")
    source.append("};")
    hud_colours = [HUD_COLOURS.get(number, (0, 0, 0)) for number in range(16)]
    source.append(f"const u16 hud_colours[16] = {{{words(map(colour_word, hud_colours))}}};")

    # the stages
    stages, most = [], 0
    for name, draw in STAGES.items():
        image, colours = draw()
        tiles, plane = stage_tiles(image)
        most = max(most, len(tiles) // 32)
        source.append(f"static const u16 {name.lower()}_plane[] = {{{words(plane)}}};")
        palette = words([colour_word(colours[0]), *map(colour_word, colours)])
        stages.append(
            f' {{"{name}",{store(tiles)},{len(tiles) // 32},{name.lower()}_plane,{{{palette}}}}},'
        )
    source += ["const struct stage_art stage_art[STAGES] = {", *stages, "};"]
    header += [f"#define MOST_STAGE_TILES {most}", "#endif"]

    folder.mkdir(exist_ok=True)
    (folder / "tiles.bin").write_bytes(bytes(data))
    (folder / "art.c").write_text("\n".join(source) + "\n")
    (folder / "art.h").write_text("\n".join(header) + "\n")


def preview(path: Path) -> None:
    """Write a picture of all poses of all characters in their colours."""
    from PIL import Image as Pictures

    columns = 13
    rows = -(-len(POSES) // columns)
    sheet = np.full((len(BUILDS) * rows * HIGH, columns * WIDE, 3), 90, np.uint8)
    for which, build in enumerate(BUILDS):
        background = (90, 90, 90)
        colours = np.array([background, *(36 * np.array(build.colours))], np.uint8)
        for place, pose in enumerate(POSES):
            top, left = (which * rows + place // columns) * HIGH, place % columns * WIDE
            sheet[top : top + HIGH, left : left + WIDE] = colours[draw_pose(pose, build)]
    Pictures.fromarray(sheet).save(path)


if __name__ == "__main__":
    if sys.argv[1] == "--preview":
        preview(Path(sys.argv[2]))
    else:
        build_art(Path(sys.argv[1]))
