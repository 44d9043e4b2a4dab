"""Draw all pictures of a world: `gen_art.py WORLD BUILD` writes art.c and art.h into the folder
BUILD.

The world's art.toml names its people, things and creatures, and may change colours; its
terrain.toml names the tiles. The pictures are our own. Tiles are functions of a pixel's place,
sprites are drawn with letters, and everything is computed with plain integers, so that the bytes
depend on no library. A tile of the map may look different beside its own kind: such a tile has a
picture for each of the 16 sets of neighbours that are of another kind.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from games.source.pad.make_font import read_font

Picture = list[list[int]]
"""Rows of palette indices."""
Color = tuple[int, int, int]
"""Red, green and blue, 5 bits each."""

SIDE = 8
FRAMES = 4
"""Pictures of an animated tile."""
NORTH, EAST, SOUTH, WEST = 1, 2, 4, 8
"""Sides on which a tile has a neighbour of another kind."""
HERE = Path(__file__).parent

# ---- palettes ----

NATURE: dict[str, Color] = {
    "grass": (12, 22, 9), "grass dark": (9, 18, 8), "grass light": (16, 25, 11),
    "path": (25, 21, 14), "path dark": (20, 16, 10), "water": (7, 14, 25),
    "water light": (14, 21, 29), "water dark": (5, 10, 20), "leaf": (6, 15, 7),
    "leaf dark": (3, 10, 6), "leaf light": (10, 19, 8), "trunk": (12, 8, 5),
    "red": (28, 9, 9), "yellow": (30, 27, 10), "white": (30, 30, 29),
}  # fmt: skip
MASONRY: dict[str, Color] = {
    "line": (4, 4, 6), "roof": (23, 9, 7), "roof dark": (17, 6, 6), "roof light": (27, 13, 9),
    "plaster": (28, 26, 21), "plaster dark": (22, 19, 15), "wood": (18, 12, 7),
    "wood dark": (12, 8, 5), "glass": (14, 22, 28), "stone": (17, 17, 18),
    "stone dark": (11, 11, 13), "stone light": (22, 22, 23), "floor": (22, 17, 11),
    "floor dark": (18, 13, 8), "gold": (29, 24, 9),
}  # fmt: skip
LETTERS: dict[str, Color] = {
    "ink": (30, 30, 29), "paper": (3, 5, 10), "frame": (19, 22, 27), "health": (12, 25, 10),
    "hurt": (27, 8, 8), "empty": (8, 9, 13), "accent": (30, 26, 10), "sky": (15, 24, 30),
    "shadow": (5, 12, 6),
}  # fmt: skip
PEOPLE: dict[str, Color] = {
    "K": (4, 3, 5), "S": (29, 22, 16), "s": (23, 15, 10), "n": (13, 8, 4), "g": (20, 20, 21),
    "y": (28, 23, 9), "R": (26, 7, 7), "r": (17, 4, 6), "B": (8, 12, 26), "b": (5, 7, 17),
    "G": (8, 19, 9), "D": (4, 12, 7), "W": (30, 30, 29), "P": (20, 9, 22), "C": (11, 23, 27),
}  # fmt: skip
"""The colours of sprites, by the letter that draws them."""
PHASES: dict[str, tuple[Color, int]] = {
    "day": ((32, 32, 32), 0),
    "dusk": ((34, 25, 22), 1),
    "night": ((14, 17, 26), 1),
    "dawn": ((29, 26, 27), 2),
}
"""For each part of the day, how the colours of the map change: a factor for each channel in
32nds, and what is added.
"""


def tinted(color: Color, phase: str) -> Color:
    """Return a colour as it looks in a part of the day."""
    factors, added = PHASES[phase]
    channels: list[int] = []
    for value, factor in zip(color, factors, strict=True):
        channels.append(min(31, value * factor // 32 + added))
    red, green, blue = channels
    return red, green, blue


def color_indices(colors: Iterable[str]) -> dict[str, int]:
    """Return for each colour of a palette its index; 0 is transparent."""
    return {name: index for index, name in enumerate(colors, start=1)}


def blank(width: int, height: int, index: int = 0) -> Picture:
    """Return a picture of one colour."""
    return [[index] * width for _ in range(height)]


def noise(x: int, y: int, salt: int = 0) -> int:
    """Return a number from 0 to 255 that looks random, the same for the same place."""
    value = (x * 374761393 + y * 668265263 + salt * 2246822519) & 0xFFFFFFFF
    value = ((value ^ value >> 13) * 1274126177) & 0xFFFFFFFF
    return (value ^ value >> 16) & 0xFF


# ---- tiles of the map ----

Pixel = Callable[[int, int, int, int], str]
"""The name of the colour at x, y, with a set of other neighbours, in a frame of an animation."""


class Tile(NamedTuple):
    """The drawing of a kind of ground."""

    pixel: Pixel
    palette: int = 0
    edged: bool = False
    """It has a picture for each set of neighbours."""
    animated: bool = False
    size: int = 1
    """It is drawn over this many tiles each way, aligned to the area's corner."""


def distance_to_edge(x: int, y: int, mask: int) -> int:
    """Return how many pixels lie between a pixel and the nearest side with another neighbour; 8
    if there is none.
    """
    nearest = SIDE
    for side, distance in ((NORTH, y), (EAST, 7 - x), (SOUTH, 7 - y), (WEST, x)):
        if mask & side:
            nearest = min(nearest, distance)
    return nearest


def grass(x: int, y: int, mask: int, frame: int) -> str:
    spot = noise(x, y, 1)
    if spot < 18:
        return "grass dark"
    if spot > 244:
        return "grass light"
    return "grass"


def flowers(x: int, y: int, mask: int, frame: int) -> str:
    for middle_x, middle_y, color in ((2, 2, "red"), (6, 5, "yellow"), (1, 6, "white")):
        if abs(x - middle_x) + abs(y - middle_y) == 1:
            return color
        if (x, y) == (middle_x, middle_y):
            if color != "yellow":
                return "yellow"
            return "red"
    return grass(x, y, mask, frame)


def path(x: int, y: int, mask: int, frame: int) -> str:
    depth = distance_to_edge(x, y, mask)
    if depth == 0 and noise(x, y, 2) < 150:
        return grass(x, y, mask, frame)
    if depth <= 1 and noise(x, y, 3) < 120:
        return "path dark"
    if noise(x, y, 4) < 14:
        return "path dark"
    return "path"


def tall_grass(x: int, y: int, mask: int, frame: int) -> str:
    sway = 0
    if y % 4 < 2:
        sway = (0, 1, 0, -1)[frame]
    blade = (x + sway + 2 * (y // 4)) % 4
    if blade == 0:
        if y % 4:
            return "leaf"
        return "grass light"
    if blade == 1 and y % 4 > 1:
        return "grass dark"
    return "grass"


def water(x: int, y: int, mask: int, frame: int) -> str:
    depth = distance_to_edge(x, y, mask)
    if depth == 0:
        if mask & NORTH and y == 0:
            return "path dark"
        return "leaf dark"
    if depth == 1 and (x + y + frame) % 4:
        return "water light"
    wave = (x + 2 * frame + 4 * (y // 4)) % 8
    if y % 4 == 1 and wave < 3:
        return "water light"
    if y % 4 == 2 and wave < 3:
        return "water dark"
    return "water"


def bridge(x: int, y: int, mask: int, frame: int) -> str:
    if y % 4 == 3:
        return "trunk"
    if noise(x, y // 4, 5) < 60:
        return "path dark"
    return "path"


def spring(x: int, y: int, mask: int, frame: int) -> str:
    ring = (2 * x - 7) ** 2 + (2 * y - 7) ** 2
    if ring > 66:
        return grass(x, y, mask, frame)
    if ring > 42:
        return "white"
    if (ring // 8 + frame) % 4 == 0:
        return "water light"
    return "water"


def brambles(x: int, y: int, mask: int, frame: int) -> str:
    if (x + y) % 5 == 0 or (x - y) % 5 == 1:
        if noise(x, y, 6) < 40:
            return "red"
        return "leaf dark"
    return grass(x, y, mask, frame)


def tree(x: int, y: int, mask: int, frame: int) -> str:
    crown = (2 * x - 15) ** 2 + (2 * y - 12) ** 2 + noise(x, y, 7) // 8
    if crown <= 200:
        light = x + 2 * y + noise(x // 2, y // 2, 8) // 32
        if crown > 165:
            return "leaf dark"
        if light < 17:
            return "leaf light"
        if light < 28:
            return "leaf"
        return "leaf dark"
    if y >= 11 and 6 <= x <= 9:
        return "trunk"
    if y > 12 and crown < 330:
        return "grass dark"
    return grass(x % 8, y % 8, mask, frame)


def pine(x: int, y: int, mask: int, frame: int) -> str:
    half = 1 + y % 5 + y // 5
    beside = abs(2 * x - 15)
    if y < 13 and beside <= 2 * half:
        if y % 5 == 0:
            return "grass light"
        if beside > 2 * half - 3 or y % 5 == 4:
            return "leaf dark"
        if x < 7:
            return "leaf light"
        return "leaf"
    if y >= 13 and 7 <= x <= 8:
        return "trunk"
    if y == 15 and beside < 12:
        return "grass dark"
    return grass(x % 8, y % 8, mask, frame)


def ice(x: int, y: int, mask: int, frame: int) -> str:
    if (x + 2 * y) % 8 == 0 and noise(x, y, 15) < 180:
        return "white"
    if noise(x, y, 16) < 10:
        return "water"
    return "water light"


def fence(x: int, y: int, mask: int, frame: int) -> str:
    if y in (3, 6) or (x % 4 == 1 and y > 1):
        if y in (6, 7) or x % 4 == 1:
            return "trunk"
        return "path dark"
    return grass(x, y, mask, frame)


def roof(x: int, y: int, mask: int, frame: int) -> str:
    if distance_to_edge(x, y, mask) == 0:
        return "line"
    if mask & NORTH and y < 3:
        return "roof light"
    if y % 4 == 3:
        return "roof dark"
    if (x + 2 * (y // 4)) % 4 == 0:
        return "roof dark"
    return "roof"


def house_wall(x: int, y: int, mask: int, frame: int) -> str:
    if distance_to_edge(x, y, mask & (EAST | WEST)) == 0 or (mask & SOUTH and y == 7):
        return "wood dark"
    if mask & NORTH and y < 2:
        return "plaster dark"
    if noise(x, y, 9) < 12:
        return "plaster dark"
    return "plaster"


def log_wall(x: int, y: int, mask: int, frame: int) -> str:
    if distance_to_edge(x, y, mask & (EAST | WEST)) == 0 or y % 4 == 3:
        return "wood dark"
    if y % 4 == 0:
        return "floor"
    return "wood"


def window(x: int, y: int, mask: int, frame: int) -> str:
    if 1 <= x <= 6 and 1 <= y <= 6:
        if x in (1, 6) or y in (1, 6):
            return "wood"
        if x + y == 7:
            return "plaster"
        return "glass"
    return "plaster"


def door(x: int, y: int, mask: int, frame: int) -> str:
    if x in (0, 7) or y == 0:
        return "wood dark"
    if (x, y) == (5, 4):
        return "gold"
    if x == 4 and y > 1:
        return "wood dark"
    return "wood"


def cave_mouth(x: int, y: int, mask: int, frame: int) -> str:
    arch = (2 * x - 7) ** 2 + max(0, 10 - 2 * y) ** 2
    if arch < 40:
        return "line"
    return "stone dark"


def rock(x: int, y: int, mask: int, frame: int) -> str:
    depth = distance_to_edge(x, y, mask)
    if depth == 0:
        return "line"
    if mask & SOUTH and y >= 4:
        if (x + y // 2) % 3:
            return "stone dark"
        return "line"
    if depth == 1:
        return "stone light"
    spot = noise(x // 2, y // 2, 10)
    if spot > 225:
        return "stone light"
    if spot < 50:
        return "stone dark"
    return "stone"


def cave_floor(x: int, y: int, mask: int, frame: int) -> str:
    if noise(x, y, 11) < 6:
        return "line"
    return "stone dark"


def room_wall(x: int, y: int, mask: int, frame: int) -> str:
    if distance_to_edge(x, y, mask & ~SOUTH) == 0:
        return "wood dark"
    if mask & SOUTH:
        if y >= 6:
            return "wood"
        if x % 4 == 0:
            return "plaster dark"
        return "plaster"
    if noise(x, y, 12) < 40:
        return "wood dark"
    return "wood"


def planks(x: int, y: int, mask: int, frame: int) -> str:
    if y % 4 == 3:
        return "floor dark"
    if x == 3 + 4 * (y // 4):
        return "floor dark"
    return "floor"


def rug(x: int, y: int, mask: int, frame: int) -> str:
    if (x + y) % 4 == 0:
        return "gold"
    if (x - y) % 4 == 0:
        return "roof dark"
    return "roof"


def bed(x: int, y: int, mask: int, frame: int) -> str:
    if x in (0, 7) or y in (0, 7):
        return "wood dark"
    if y < 3:
        return "plaster"
    if y == 3:
        return "plaster dark"
    return "glass"


def table(x: int, y: int, mask: int, frame: int) -> str:
    if y > 5:
        if x in (1, 6):
            return "wood dark"
        return "floor dark"
    if y == 5 or x in (0, 7):
        return "wood dark"
    return "wood"


def shelf(x: int, y: int, mask: int, frame: int) -> str:
    if y % 4 == 3 or x in (0, 7):
        return "wood dark"
    return ("roof", "glass", "gold", "plaster dark")[noise(x // 2, y // 4, 13) % 4]


def bricks(x: int, y: int, mask: int, frame: int) -> str:
    if distance_to_edge(x, y, mask) == 0:
        return "line"
    if y % 4 == 3 or (x + 4 * (y // 4)) % 8 == 0:
        return "stone dark"
    if y % 4 == 0:
        return "stone light"
    return "stone"


def flagstones(x: int, y: int, mask: int, frame: int) -> str:
    if x == 7 or y == 7:
        return "stone dark"
    if noise(x, y, 14) < 8:
        return "stone dark"
    return "plaster dark"


def pillar(x: int, y: int, mask: int, frame: int) -> str:
    if x in (0, 7):
        return "stone dark"
    if y in (0, 1, 6, 7):
        if y in (0, 6):
            return "stone light"
        return "line"
    if x in (1, 2):
        return "stone light"
    if x % 3 == 0:
        return "stone dark"
    return "stone"


def nothing(x: int, y: int, mask: int, frame: int) -> str:
    return "line"


TILES: dict[str, Tile] = {
    # the animated ones come first: their pictures are copied to the video RAM as one block
    "water": Tile(water, edged=True, animated=True),
    "tall_grass": Tile(tall_grass, animated=True),
    "spring": Tile(spring, animated=True),
    "grass": Tile(grass),
    "flowers": Tile(flowers),
    "path": Tile(path, edged=True),
    "bridge": Tile(bridge),
    "brambles": Tile(brambles),
    "tree": Tile(tree, size=2),
    "pine": Tile(pine, size=2),
    "ice": Tile(ice),
    "fence": Tile(fence),
    "roof": Tile(roof, 1, edged=True),
    "house_wall": Tile(house_wall, 1, edged=True),
    "log_wall": Tile(log_wall, 1, edged=True),
    "window": Tile(window, 1),
    "door": Tile(door, 1),
    "cave_mouth": Tile(cave_mouth, 1),
    "rock": Tile(rock, 1, edged=True),
    "cave_floor": Tile(cave_floor, 1),
    "room_wall": Tile(room_wall, 1, edged=True),
    "planks": Tile(planks, 1),
    "rug": Tile(rug, 1),
    "bed": Tile(bed, 1),
    "table": Tile(table, 1),
    "shelf": Tile(shelf, 1),
    "bricks": Tile(bricks, 1, edged=True),
    "flagstones": Tile(flagstones, 1),
    "pillar": Tile(pillar, 1),
    "nothing": Tile(nothing, 1),
}


def pictures(tile: Tile, frame: int, palettes: Sequence[Mapping[str, Color]]) -> list[Picture]:
    """Return the pictures of a tile in one frame: one, one for each set of neighbours, or the
    parts of a large one.
    """
    colors = color_indices(palettes[tile.palette])
    masks = 1
    if tile.edged:
        masks = 16
    drawn: list[Picture] = []
    for mask in range(masks):
        for top in range(0, SIDE * tile.size, SIDE):
            for left in range(0, SIDE * tile.size, SIDE):
                picture: Picture = []
                for y in range(top, top + SIDE):
                    row: list[int] = []
                    for x in range(left, left + SIDE):
                        row.append(colors[tile.pixel(x, y, mask, frame)])
                    picture.append(row)
                drawn.append(picture)
    return drawn


# ---- sprites ----

HEAD = {
    "down": "..KKKK.. .KHHHHK. KHHHHHHK KHSSSSHK KSKSSKSK .KSSSSK.",
    "up": "..KKKK.. .KHHHHK. KHHHHHHK KHHHHHHK KHHHHHHK .KHHHHK.",
    "side": "..KKKK.. .KHHHHK. KHHHHHHK KHHHSSSK KHHSSKSK .KHSSSK.",
}
BODY = {
    "down": "..KKKK.. .KTTTTK. KTTTTTTK KSTttTSK .KTTTTK.",
    "up": "..KKKK.. .KTTTTK. KTTTTTTK KSTTTTSK .KTTTTK.",
    "side": "..KKKK.. ..KTTK.. .KTTtTK. .KTSStK. ..KTTK..",
}
LEGS = {
    "down": (".KLLLLK. .KLKKLK. .KK..KK.", ".KLLLLK. .KLKKK.. .KK....."),
    "up": (".KLLLLK. .KLKKLK. .KK..KK.", ".KLLLLK. .KLKKK.. .KK....."),
    "side": ("..KLLK.. ..KLLK.. ..KKKK..", ".KLLLLK. KLKKKLLK KK...KK."),
}
THINGS: dict[str, str] = {
    "chest": """........ ........ ........ ........ ........ ........ ........ .KKKKKK.
        KnnnnnnK KnyyyynK KKKKKKKK KnnyynnK KnnyynnK KnnnnnnK KKKKKKKK ........""",
    "open_chest": """........ ........ ........ ........ ........ KKKKKKKK KnnnnnnK KnKKKKnK
        KKKKKKKK KKbbbbKK KKKKKKKK KnnyynnK KnnnnnnK KnnnnnnK KKKKKKKK ........""",
    "sign": """........ ........ ........ ........ ........ KKKKKKKK KyyyyyyK KyKKyKyK
        KyyyyyyK KyKyKKyK KyyyyyyK KKKKKKKK ...nn... ...nn... ...nn... ........""",
    "lever_red": """........ ........ ........ ........ ..KKK... ..KRK... ..KKK... ...gK...
        ...gK... ....gK.. ....gK.. .KKKKKK. KggggggK KgKKKKgK KKKKKKKK ........""",
    "book": """........ ........ ........ ........ ........ ........ ........ ........
        ........ .KKKKKK. KRRWWBBK KRRWWBBK KRRWWBBK .KKKKKK. ........ ........""",
    "gate": """KKKKKKKK KgKgKgKK KgKgKgKK KgKgKgKK KKKKKKKK KgKgKgKK KgKgKgKK KgKgKgKK
        KKKKKKKK KgKgKgKK KgKyyKKK KgKyyKKK KKKKKKKK KgKgKgKK KgKgKgKK KKKKKKKK""",
    "basin": """........ ........ ........ ........ ........ ........ ........ ..KKKK..
        .KggggK. KgKKKKgK KgKKKKgK KggggggK .KggggK. ..KggK.. .KggggK. ........""",
    "full_basin": """........ ........ ........ ...CC... ..C..C.. ...CC... ..C..C.. ..KKKK..
        .KCWCCK. KgBCWBgK KgCBBCgK KggggggK .KggggK. ..KggK.. .KggggK. ........""",
    "stone": """........ ........ ........ ........ ........ ...WW... ..WCCW.. .KCWCCK.
        .KCCCBK. .KBCCBK. ..KBBK.. .KKKKKK. KggggggK .KKKKKK. ........ ........""",
    "feather": """........ ........ ........ ........ ........ ........ ........
        ........ .....KK. ....KWWK ...KWWgK ..KWWgK. .KWWgK.. .KggK... KWKK.... ........""",
    "post": """...KK... ..KRRKK. ..KRRRRK ..KWWWRK ..KRRRRK ..KRRKK. ..KgK... ..KgK...
        ..KgK... ..KgK... ..KgK... ..KgK... ..KgK... .KKgKK.. KnnnnnK. KKKKKKK.""",
    "statue": """..KKKK.. .KggggK. KggggggK KgKggKgK KggggggK .KgKKgK. ..KKKK.. .KggggK.
        KggggggK KgKggKgK KgKggKgK .KggggK. .KgKKgK. .KgKKgK. KggggggK KKKKKKKK""",
    "key": """........ ........ ........ ........ ........ ........ ..KKKK.. .KyyyyK.
        .KyKKyK. .KyyyyK. ..KyyK.. ...KyK.. ...KyKK. ...KyyK. ...KyKK. ...KKK..""",
    "wheel_iron": """........ ........ ........ ........ ..KKKK.. .KRRRRK. KRKRRKRK KRRKKRRK
        KRRKKRRK KRKRRKRK .KRRRRK. ..KKKK.. ...gK... ...gK... .KKgKKK. KKKKKKKK""",
    "shell": """........ ........ ........ ........ ........ ........ ........ ........
        ........ ..KKKK.. .KyWyWK. KWyWyWyK KyWyWyWK .KKKKKK. ........ ........""",
    "bell": """..KKKK.. .KnnnnK. .KnKKnK. .Kn..nK. .KnKKnK. .KKyyKK. .KyyyyK. .KyWyyK.
        .KyWyyK. KyyWyyyK KyyyyyyK KKKKKKKK .Kn..nK. .Kn..nK. .Kn..nK. .KK..KK.""",
    "yeti": """..KKKK.. .KWWWWK. KWWWWWWK KWKWWKWK KWWWWWWK .KWKKWK. KKWWWWKK KWWWWWWK
        KWKWWKWK KWKWWKWK KWKWWKWK .KWWWWK. .KWKKWK. .KWKKWK. KWWKKWWK KKKKKKKK""",
}  # fmt: skip
for _lever, _color in (("lever_blue", "B"), ("lever_green", "G"), ("lever_white", "W")):
    THINGS[_lever] = THINGS["lever_red"].replace("R", _color)
for _color_name, _color in (("red", "R"), ("blue", "B"), ("green", "G")):
    THINGS[f"gate_{_color_name}"] = THINGS["gate"].replace("g", _color)
    THINGS[f"key_{_color_name}"] = THINGS["key"].replace("y", _color)
_WHEEL = THINGS["wheel_iron"]
THINGS["wheel_iron"] = _WHEEL.replace("R", "g")
for _wheel, _color in (("wheel_copper", "R"), ("wheel_silver", "W"), ("wheel_gold", "y")):
    THINGS[_wheel] = _WHEEL.replace("R", _color)
CREATURES: dict[str, tuple[str, str]] = {
    "slime": (
        """........ ........ ........ ........ ........ ........ ........ ........
        ..KKKK.. .KGGGGK. KGWGGGGK KGKGGKGK KGGGGGGK KGDDDDGK .KKKKKK. ........""",
        """........ ........ ........ ........ ........ ........ ..KKKK.. .KGGGGK.
        .KWGGGK. .KGGGGK. .KKGGKK. KGGGGGGK KGGDDGGK KDDDDDDK .KKKKKK. ........""",
    ),
    "wasp": (
        """........ ........ ........ WW....WW .WW..WW. ..WKKW.. ..KyyK.. .KyKKyK.
        .KyyyyK. .KKKKKK. .KyyyyK. ..KKKK.. ..KyyK.. ...KK... ........ ........""",
        """........ ........ ........ ........ ........ ..KKKK.. ..KyyK.. WKyKKyKW
        WWyyyyWW .KKKKKK. .KyyyyK. ..KKKK.. ..KyyK.. ...KK... ........ ........""",
    ),
    "bat": (
        """........ ........ ........ ........ K......K PK....KP PPK..KPP PPPKKPPP
        KPPPPPPK .KRPPRK. ..KPPK.. ..KWWK.. ...KK... ........ ........ ........""",
        """........ ........ ........ ........ ........ ........ ..K..K.. ..KKKK..
        .KPPPPK. KPRPPRPK PPKPPKPP PK.KK.KP K......K ........ ........ ........""",
    ),
    "wolf": (
        """........ ........ ........ ........ ........ ........ ......K. .....KgK
        K....KgK gKKKKggg KggggggK .KggggK. .KgKKgK. .KgK.KgK .KK..KK. ........""",
        """........ ........ ........ ........ ........ ........ ......K. .....KgK
        .....KgK KKKKKggg gggggggK .KggggK. ..KgKgK. ..KgKgK. ..KK.KK. ........""",
    ),
    "crab": (
        """........ ........ ........ ........ ........ ........ ........ RR....RR
        .R....R. .RKKKKR. .KWRRWK. KRRRRRRK .KRRRRK. K.KKKK.K .K....K. ........""",
        """........ ........ ........ ........ ........ ........ ........ ........
        RRR..RRR .RKKKKR. .KWRRWK. KRRRRRRK .KRRRRK. .KKKKKK. K......K ........""",
    ),
    "mite": (
        """........ ........ ........ ........ ........ ........ ........ ........
        .W.WW.W. ..KCCK.. .KCWCCK. KCKCCKCK KCCCCCCK .KCCCCK. K.KKKK.K ........""",
        """........ ........ ........ ........ ........ ........ ........ ........
        ........ W.WWWW.W ..KCCK.. .KCWCCK. KCKCCKCK KCCCCCCK .KKKKKK. .K....K.""",
    ),
    "ice_yeti": (THINGS["yeti"], THINGS["yeti"].replace("KWKWWKWK", "KRKWWKRK", 1)),
    "guardian": (THINGS["statue"], THINGS["statue"].replace("KgKggKgK", "KRKggKRK", 1)),
}
MARKS: dict[str, str] = {
    "bubble": """..KKKK.. .KWWWWK. KWKKKKWK KWWWWWWK .KWWWWK. ..KWWK.. ...KK... ........
        ........ ........ ........ ........ ........ ........ ........ ........""",
}


def drawn(text: str) -> Picture:
    """Return the picture that rows of letters draw; a dot is transparent."""
    index = {".": 0, **color_indices(PEOPLE)}
    picture: Picture = []
    for row in text.split():
        picture.append([index[letter] for letter in row])
    return picture


def person(look: str) -> list[Picture]:
    """Return the six pictures of a person, 8 by 16: standing and walking down, up and to the
    right.
    """
    hair, clothes, shade, legs = list(look)
    frames: list[Picture] = []
    for way in ("down", "up", "side"):
        for legs_drawn in LEGS[way]:
            rows = " ".join(["........ ........", HEAD[way], BODY[way], legs_drawn])
            letters = str.maketrans("HTtL", hair + clothes + shade + legs)
            frames.append(drawn(rows.translate(letters)))
    return frames


PERSON_FRAMES = 6
LARGE = 4
"""Width and height in tiles of a creature in a battle: the small picture, enlarged and smoothed."""


def enlarged(picture: Picture) -> Picture:
    """Return a picture at twice its size, its steps smoothed (Scale2x)."""
    height, width = len(picture), len(picture[0])
    large = blank(2 * width, 2 * height)
    for y in range(height):
        for x in range(width):
            here = picture[y][x]
            up = picture[max(0, y - 1)][x]
            down = picture[min(height - 1, y + 1)][x]
            left = picture[y][max(0, x - 1)]
            right = picture[y][min(width - 1, x + 1)]
            corners = [here] * 4
            if up != down and left != right:
                if left == up:
                    corners[0] = left
                if right == up:
                    corners[1] = right
                if left == down:
                    corners[2] = left
                if right == down:
                    corners[3] = right
            large[2 * y][2 * x], large[2 * y][2 * x + 1] = corners[:2]
            large[2 * y + 1][2 * x], large[2 * y + 1][2 * x + 1] = corners[2:]
    return large


def portrait(text: str) -> Picture:
    """Return the 32 by 32 picture of a creature in a battle."""
    small = drawn(text)
    rows = [row for row in small if any(row)]
    rows = blank(8, 8 - len(rows)) + rows
    large = enlarged(rows)
    if len(rows) <= 8:
        large = enlarged(large)
    width, height = len(large[0]), len(large)
    left = (32 - width) // 2
    picture = blank(32, 32 - height)
    for row in large:
        picture.append([0] * left + row + [0] * (32 - width - left))
    return picture


# ---- a world's choice ----


class Style:
    """The look of a world: the colours of its map, its tiles and sprites."""

    def __init__(self, world: Path) -> None:
        """Read art.toml and terrain.toml. Raises KeyError for what is not drawn here."""
        chosen = tomllib.loads((world / "art.toml").read_text())
        colors = chosen.get("colors", {})
        self.palettes = (NATURE | _colors(colors, NATURE), MASONRY | _colors(colors, MASONRY))
        terrain = tomllib.loads((world / "terrain.toml").read_text())
        used = {kind["art"] for kind in terrain.values()}
        self.tiles = {name: tile for name, tile in TILES.items() if name in used}
        self.people: dict[str, str] = chosen["people"]
        """For each person the letters of hair, clothes, their shade and legs."""
        self.things = {name: THINGS[name] for name in chosen["things"]}
        self.creatures = {name: CREATURES[name] for name in chosen["creatures"]}

    def first_pictures(self) -> dict[str, int]:
        """Return for each tile the number of its first picture in the video RAM."""
        numbers: dict[str, int] = {}
        count = 0
        for name, tile in self.tiles.items():
            numbers[name] = count
            count += len(pictures(tile, 0, self.palettes))
        return numbers

    def sprite_numbers(self) -> dict[str, int]:
        """Return for each sprite its number: people, things, creatures and marks, in this order."""
        names = [*self.people, *self.things, *self.creatures, *MARKS]
        return {name: number for number, name in enumerate(names)}


def _colors(changed: Mapping[str, list[int]], palette: Mapping[str, Color]) -> dict[str, Color]:
    """Return the changed colours of one palette."""
    found: dict[str, Color] = {}
    for name, (red, green, blue) in changed.items():
        if name in palette:
            found[name] = (red, green, blue)
    return found


def sprite_tiles(style: Style) -> tuple[list[Picture], list[int]]:
    """Return the tiles of all sprites, and for each sprite the number of its first tile."""
    tiles: list[Picture] = []
    first: list[int] = []
    for look in style.people.values():
        first.append(len(tiles))
        for frame in person(look):
            tiles += cut(frame)
    for text in style.things.values():
        first.append(len(tiles))
        tiles += cut(drawn(text))
    for texts in style.creatures.values():
        first.append(len(tiles))
        for text in texts:
            tiles += cut(drawn(text))
    for text in MARKS.values():
        first.append(len(tiles))
        tiles += cut(drawn(text))
    return tiles, first


def cut(picture: Picture) -> list[Picture]:
    """Return a picture in tiles, row by row. Raises ValueError if they do not fill it."""
    if len(picture) % SIDE or len(picture[0]) % SIDE:
        raise ValueError(
            f"a picture has {len(picture)} rows of {len(picture[0])}; expected multiples of {SIDE}"
        )
    tiles: list[Picture] = []
    for top in range(0, len(picture), SIDE):
        for left in range(0, len(picture[0]), SIDE):
            tiles.append([row[left : left + SIDE] for row in picture[top : top + SIDE]])
    return tiles


# ---- letters, frames and bars ----

FIRST_LETTER, LAST_LETTER = 32, 126


def letter_tiles() -> list[Picture]:
    """Return the tiles of the text layer: a clear one, the letters, the parts of a window, a bar
    of 0 to 8 pixels, the characters of the upper status line.
    """
    color = color_indices(LETTERS)
    font = read_font((HERE.parent / "pad" / "font.txt").read_text())
    font |= read_font((HERE / "lowercase.txt").read_text())
    tiles = [blank(SIDE, SIDE)]
    for code in range(FIRST_LETTER, LAST_LETTER + 1):
        tiles.append(letter(font.get(chr(code), [0] * 8)))
    for mask in (NORTH | WEST, NORTH, NORTH | EAST, WEST, EAST, SOUTH | WEST, SOUTH, SOUTH | EAST):
        tile = blank(SIDE, SIDE, color["paper"])
        for y in range(SIDE):
            for x in range(SIDE):
                if distance_to_edge(x, y, mask) in (1, 2):
                    tile[y][x] = color["frame"]
        tiles.append(tile)
    for filled in range(SIDE + 1):
        tile = blank(SIDE, SIDE, color["paper"])
        for y in range(2, 6):
            tile[y] = [color["health"]] * filled + [color["empty"]] * (SIDE - filled)
        tiles.append(tile)
    for bits in read_font((HERE / "status.txt").read_text()).values():
        tiles.append(letter(bits))
    return tiles


def letter(bits: Sequence[int]) -> Picture:
    """Return the tile of a character, whose rows are bits with the highest at the left."""
    color = color_indices(LETTERS)
    tile = blank(SIDE, SIDE, color["paper"])
    for y, row in enumerate(bits):
        for x in range(SIDE):
            if row & 0x80 >> x:
                tile[y][x] = color["ink"]
    return tile


LOGO = "MEADOW"
LOGO_SCALE = 4


def logo() -> list[Picture]:
    """Return the tiles of the game's name in large letters, row by row."""
    font = read_font((HERE.parent / "pad" / "font.txt").read_text())
    color = color_indices(LETTERS)
    width = len(LOGO) * 6 * LOGO_SCALE
    picture = blank(width, SIDE * LOGO_SCALE)
    for place, letter in enumerate(LOGO):
        for y in range(7 * LOGO_SCALE):
            for x in range(5 * LOGO_SCALE):
                if font[letter][y // LOGO_SCALE] & 0x40 >> x // LOGO_SCALE:
                    left = place * 6 * LOGO_SCALE + x
                    picture[y + 2][left + 2] = picture[y + 2][left + 2] or color["shadow"]
                    picture[y][left] = color["ink"]
                    if y < 12:
                        picture[y][left] = color["accent"]
    return cut(picture)


# ---- C ----


def words(tile: Picture) -> list[str]:
    """Return a tile as 8 words of 4 bits a pixel, the leftmost in the lowest."""
    result: list[str] = []
    for row in tile:
        word = 0
        for x, pixel in enumerate(row):
            word |= pixel << 4 * x
        result.append(f"0x{word:08X}")
    return result


def array_of_tiles(name: str, tiles: Sequence[Picture]) -> str:
    """Return C with tiles as an array of words."""
    lines = [f"const u32 {name}[{len(tiles) * 8}] = {{"]
    for tile in tiles:
        lines.append(f"    {', '.join(words(tile))},")
    return "\n".join([*lines, "};"])


def palette(colors: Sequence[Color]) -> str:
    """Return C with 16 colours, the first of which is transparent."""
    numbers = ["0"]
    for red, green, blue in colors:
        numbers.append(f"0x{red | green << 5 | blue << 10:04X}")
    numbers += ["0"] * (16 - len(numbers))
    return "{" + ", ".join(numbers) + "}"


def main(world: Path, build: Path) -> None:
    """Write art.c and art.h."""
    style = Style(world)
    animated: list[Picture] = []
    still: list[Picture] = []
    for frame in range(FRAMES):
        for tile in style.tiles.values():
            if tile.animated:
                animated += pictures(tile, frame, style.palettes)
            elif frame == 0:
                still += pictures(tile, 0, style.palettes)
    sprites, first = sprite_tiles(style)
    portraits: list[Picture] = []
    for texts in style.creatures.values():
        portraits += cut(portrait(texts[0]))
    letters = letter_tiles()
    name = logo()
    phases: list[str] = []
    for phase in PHASES:
        rows: list[str] = []
        for colors in (*style.palettes, PEOPLE):
            rows.append(palette([tinted(color, phase) for color in colors.values()]))
        phases.append("    {" + ", ".join(rows) + "},")
    counts = {
        "ANIMATED_TILES": len(animated) // FRAMES,
        "ANIMATION_FRAMES": FRAMES,
        "STILL_TILES": len(still),
        "SPRITE_TILES": len(sprites),
        "SPRITES": len(first),
        "PERSON_SPRITES": len(style.people),
        "FIRST_CREATURE_SPRITE": len(style.people) + len(style.things),
        "BUBBLE_SPRITE": len(style.people) + len(style.things) + len(style.creatures),
        "PORTRAIT_TILES": LARGE * LARGE,
        "PORTRAITS": len(style.creatures),
        "LETTER_TILES": len(letters),
        "LOGO_COLUMNS": len(LOGO) * 6 * LOGO_SCALE // SIDE,
        "LOGO_ROWS": LOGO_SCALE,
        "PHASES": len(PHASES),
        "MAP_PALETTES": len(style.palettes),
    }
    header = ["/* Made by gen_art.py. */", "#ifndef ART_H", "#define ART_H", '#include "console.h"']
    for constant, value in counts.items():
        header.append(f"#define {constant} {value}")
    header += [
        "extern const u32 art_animated[], art_still[], art_sprites[];",
        "extern const u32 art_portraits[], art_letters[], art_logo[];",
        "extern const u16 art_sprite_first_tile[SPRITES];",
        "/* palettes of the map, then that of sprites */",
        "extern const u16 art_phases[PHASES][MAP_PALETTES + 1][16];",
        "extern const u16 art_letter_colours[16];",
        "#endif",
    ]
    source = [
        "/* Made by gen_art.py. */",
        '#include "art.h"',
        array_of_tiles("art_animated", animated),
        array_of_tiles("art_still", still),
        array_of_tiles("art_sprites", sprites),
        array_of_tiles("art_portraits", portraits),
        array_of_tiles("art_letters", letters),
        array_of_tiles("art_logo", name),
        f"const u16 art_sprite_first_tile[SPRITES] = {{{', '.join(map(str, first))}}};",
        "const u16 art_phases[PHASES][MAP_PALETTES + 1][16] = {",
        *phases,
        "};",
        f"const u16 art_letter_colours[16] = {palette(list(LETTERS.values()))};",
    ]
    (build / "art.h").write_text("\n".join([*header, ""]))
    (build / "art.c").write_text("\n".join([*source, ""]))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
