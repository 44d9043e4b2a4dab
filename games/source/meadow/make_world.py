"""Turn a world into C: `make_world.py WORLD BUILD` writes world_data.c and world_data.h into the
folder BUILD.

A world is a folder: world.toml has what is the same everywhere, areas/NAME.toml an area: its map,
doors, creatures and
things, which are people and whatever else can be faced and talked to. What a thing says and does
is a list of rules, of
which the first whose conditions hold is run. README.md of this folder explains the format.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from games.source.meadow import gen_art

COLUMNS, ROWS = 30, 18
TEXT_COLUMNS, TEXT_ROWS = 28, 3
OPTION_COLUMNS, MOST_OPTIONS = 12, 4
QUEST_COLUMNS = 16
"""The longest name that leaves a gap before the steps on the menu."""
MOST_THINGS, MOST_CREATURES, MOST_DOORS, MOST_ITEMS, MOST_FLAGS = 8, 4, 4, 16, 64
MOST_SIDE_QUESTS = 8
QUEST_TYPES = ("main story", "side", "collection", "exploration", "skill")
SPECIAL_CONDITIONS = ("night", "timer", "everywhere")
"""Conditions besides flags and items: it is night, the timer runs, every area was entered."""
DIRECTIONS = ("down", "up", "left", "right")
SIDES = {"south": "down", "north": "up", "west": "left", "east": "right"}
"""Side of an area -> the way that leads there, in the order of DIRECTIONS."""
SOLID, HURTS, HEALS = 1, 2, 4
NOWHERE = 255
FIRST_WORD = 0x80
"""The character that stands for the first word of the first secret."""
WORDS_A_SECRET = 4
MOST_ASKED = 2 * WORDS_A_SECRET
OPERATIONS = (
    "END", "SAY", "ASK", "SET", "CLEAR", "GIVE", "TAKE", "EARN", "PAY", "HEAL", "HURT", "GOTO",
    "WARP", "FIGHT", "TRY", "MOVE", "WAIT", "TEST", "CUTSCENE", "TIMER", "WIN",
)  # fmt: skip
(
    END, SAY, ASK, SET, CLEAR, GIVE, TAKE, EARN, PAY, HEAL, HURT, GOTO, WARP, FIGHT, TRY, MOVE,
    WAIT, TEST, CUTSCENE, TIMER, WIN,
) = range(len(OPERATIONS))  # fmt: skip
HERE = Path(__file__).parent
WORLDS = HERE / "worlds"


class WorldError(ValueError):
    """Something in a world's files is wrong."""


class WorldMap:
    """A world as it is read, and the tables of C that it becomes."""

    def __init__(self, folder: Path) -> None:
        self.settings = tomllib.loads((folder / "world.toml").read_text())
        self.terrain = tomllib.loads((folder / "terrain.toml").read_text())
        self.area_names: list[str] = self.settings["areas"]
        self.areas: list[dict[str, Any]] = []
        for name in self.area_names:
            self.areas.append(tomllib.loads((folder / "areas" / f"{name}.toml").read_text()))
        self.flags: list[str] = self.settings["flags"]
        self.items = list(self.settings["items"])
        self.secrets = list(self.settings["secrets"])
        self.creatures = list(self.settings["creatures"])
        self.quests: list[dict[str, Any]] = list(self.settings["quests"].values())
        self.maze: dict[str, Any] = self.settings.get("maze", {})
        """The parts of the maze and what is placed in it at random; empty without a maze."""
        self.maze_area: str = self.maze.get("area", "")
        self.style = gen_art.Style(folder)
        self.sprites = self.style.sprite_numbers()
        self.things: list[str] = []
        for area in self.areas:
            for thing in area.get("things", []):
                self.things.append(thing["id"])
        self.texts: list[str] = []
        self.conditions: list[int] = [0]
        self.code: list[int] = [END]
        if len(self.items) > MOST_ITEMS or len(self.flags) > MOST_FLAGS:
            raise WorldError(f"expected at most {MOST_ITEMS} items and {MOST_FLAGS} flags")
        if len(self.quests) > 1 + MOST_SIDE_QUESTS:
            raise WorldError(f"expected at most {MOST_SIDE_QUESTS} quests besides the main one")
        for quest in self.quests:
            if len(quest["name"]) > QUEST_COLUMNS:
                raise WorldError(f"the quest {quest['name']!r} is longer than {QUEST_COLUMNS}")

    # ---- names ----

    def number(self, kind: str, name: str, names: Sequence[str]) -> int:
        """Return the place of a name. Raises WorldError if there is none."""
        if name not in names:
            raise WorldError(f"there is no {kind} {name!r}; expected one of {', '.join(names)}")
        return list(names).index(name)

    def condition(self, entry: Mapping[str, Any]) -> int:
        """Return where the conditions of an entry begin in the table; 0: there are none."""
        codes: list[int] = []
        for key, negated in (("if", 0), ("unless", 0x80)):
            for name in entry.get(key, []):
                if name in SPECIAL_CONDITIONS:
                    code = 1 + MOST_FLAGS + MOST_ITEMS + SPECIAL_CONDITIONS.index(name)
                elif name in self.items:
                    code = 1 + MOST_FLAGS + self.items.index(name)
                else:
                    code = 1 + self.number("flag or item", name, self.flags)
                codes.append(code | negated)
        if not codes:
            return 0
        self.conditions += [*codes, 0]
        return len(self.conditions) - len(codes) - 1

    def only_condition(self, entry: Mapping[str, Any], key: str) -> int:
        """Return the same for the one condition that an entry has under a key."""
        if key not in entry:
            return 0
        return self.condition({"if": [entry[key]]})

    # ---- texts ----

    def text(self, text: str) -> int:
        """Return the number of a text, broken into lines and pages."""
        broken = broken_text(self.with_words(text), self.word_width)
        if broken not in self.texts:
            self.texts.append(broken)
        return self.texts.index(broken)

    def with_words(self, text: str) -> str:
        """Return a text in which {secret.n} is a character of its own."""
        for number, secret in enumerate(self.secrets):
            for place in range(WORDS_A_SECRET):
                code = chr(FIRST_WORD + WORDS_A_SECRET * number + place)
                text = text.replace(f"{{{secret}.{place + 1}}}", code)
        if "{" in text:
            raise WorldError(f"{text!r} names a secret that there is not")
        return text

    def word_width(self, character: str) -> int:
        """Return the columns that a character takes: 1, or those of the longest word that it may
        stand for.
        """
        if ord(character) < FIRST_WORD:
            return 1
        secret = self.secrets[(ord(character) - FIRST_WORD) // WORDS_A_SECRET]
        return max(map(len, self.settings["secrets"][secret]["words"]))

    # ---- scripts ----

    def script(self, statements: Sequence[Any]) -> int:
        """Compile statements; return where they begin in the table of scripts."""
        if not statements:
            return 0
        code = self.compiled(statements, len(self.code))
        start = len(self.code)
        self.code += [*code, END]
        return start

    def compiled(self, statements: Sequence[Any], start: int) -> list[int]:
        """Return the code of statements that begin at a place of the table."""
        code: list[int] = []
        for statement in statements:
            at = start + len(code)
            if isinstance(statement, str):
                code += self.simple(statement)
            elif "ask" in statement:
                code += self.ask(statement, at)
            elif "pay" in statement:
                code += self.branch([PAY, *word(statement["pay"])], statement, at)
            elif "try" in statement:
                code += self.attempt(statement, at)
            else:
                test = [TEST, *word(self.condition(statement))]
                code += self.branch(test, statement, at)
        return code

    def simple(self, statement: str) -> list[int]:
        """Return the code of a statement of one line."""
        verb, _, rest = statement.partition(" ")
        words = rest.split()
        match verb:
            case "say":
                return [SAY, *word(self.text(rest))]
            case "set":
                return [SET, self.number("flag", rest, self.flags)]
            case "clear":
                return [CLEAR, self.number("flag", rest, self.flags)]
            case "give":
                return [GIVE, self.number("item", words[0], self.items), int(words[1])]
            case "take":
                return [TAKE, self.number("item", words[0], self.items), int(words[1])]
            case "earn":
                return [EARN, *word(int(rest))]
            case "heal":
                return [HEAL, int(rest)]
            case "hurt":
                return [HURT, int(rest)]
            case "warp":
                area = self.number("area", words[0], self.area_names)
                facing = self.number("direction", words[3], DIRECTIONS)
                return [WARP, area, int(words[1]), int(words[2]), facing]
            case "fight":
                return [FIGHT, self.number("creature", rest, self.creatures)]
            case "move":
                thing = self.number("thing", words[0], self.things)
                return [MOVE, thing, self.number("direction", words[1], DIRECTIONS), int(words[2])]
            case "wait":
                return [WAIT, int(rest)]
            case "timer":
                return [TIMER, *word(int(rest))]
            case "cutscene":
                return [CUTSCENE]
            case "win":
                return [WIN]
        raise WorldError(f"{statement!r} is not a statement")

    def branch(self, test: list[int], statement: Mapping[str, Any], at: int) -> list[int]:
        """Return code that tests, does one thing or else another."""
        then = self.compiled(statement["do"], at + len(test) + 2)
        other_at = at + len(test) + 2 + len(then) + 3
        other = self.compiled(statement.get("else", []), other_at)
        end = other_at + len(other)
        return [*test, *word(other_at), *then, GOTO, *word(end), *other]

    def ask(self, statement: Mapping[str, Any], at: int) -> list[int]:
        """Return code that shows a question with options, and goes on with what was chosen."""
        options = statement["options"]
        if not 2 <= len(options) <= MOST_OPTIONS:
            raise WorldError(f"{statement['ask']!r} has {len(options)} options; expected 2 to 4")
        head = [ASK, *word(self.text(statement["ask"])), len(options)]
        body_at = at + len(head) + 4 * len(options)
        bodies: list[list[int]] = []
        for name, does in options:
            if len(name) > OPTION_COLUMNS:
                raise WorldError(f"the option {name!r} is longer than {OPTION_COLUMNS}")
            head += [*word(self.text(name)), *word(body_at)]
            bodies.append(self.compiled(does, body_at))
            body_at += len(bodies[-1]) + 3
        code = head
        for body in bodies:
            code = [*code, *body, GOTO, *word(body_at)]
        return code

    def attempt(self, statement: Mapping[str, Any], at: int) -> list[int]:
        """Return code that offers a word of a secret: what happens if it was the last, a wrong
        one, or one of several.
        """
        secret_name, offered = statement["try"].split()
        words = self.settings["secrets"][secret_name]["words"]
        secret = self.number("secret", secret_name, self.secrets)
        cost = statement.get("cost", "hurt 2")
        head = [TRY, secret, self.number("word", offered, words)]
        right_at = at + len(head) + 4
        right = self.compiled([statement["right"], f"say {statement['says']}"], right_at)
        wrong_at = right_at + len(right) + 3
        wrong = self.compiled([f"say {statement['wrong']}", cost], wrong_at)
        part_at = wrong_at + len(wrong) + 3
        part: list[int] = []
        if "part" in statement:
            part = self.simple(f"say {statement['part']}")
        end = part_at + len(part)
        jump = [GOTO, *word(end)]
        return [*head, *word(wrong_at), *word(part_at), *right, *jump, *wrong, *jump, *part]


def word(value: int) -> list[int]:
    """Return a number as two bytes, the lower first."""
    return [value & 255, value >> 8]


def broken_text(text: str, width: Any) -> str:
    """Return a text with a newline after each line and a form feed after each page that is full."""
    lines: list[str] = []
    line, used = "", 0
    for part in text.split():
        columns = sum(map(width, part))
        if columns > TEXT_COLUMNS:
            raise WorldError(f"the word {part!r} is longer than a line")
        if line and used + 1 + columns > TEXT_COLUMNS:
            lines.append(line)
            line, used = "", 0
        if line:
            line += " "
            used += 1
        line += part
        used += columns
    lines.append(line)
    pages: list[str] = []
    for start in range(0, len(lines), TEXT_ROWS):
        pages.append("\n".join(lines[start : start + TEXT_ROWS]))
    return "\f".join(pages)


def quoted(text: str) -> str:
    """Return a text as a string of C."""
    result = ""
    for character in text:
        if character in '"\\':
            result += "\\" + character
        elif 32 <= ord(character) < 127:
            result += character
        else:
            result += f"\\{ord(character):03o}"
    return f'"{result}"'


# ---- maps ----


def read_map(name: str, area: Mapping[str, Any], terrain: Mapping[str, Any]) -> list[str]:
    """Return the rows of an area's map. Raises WorldError if it has other characters or another
    size.
    """
    rows: list[str] = area["map"].split("\n")[:-1]
    sizes = {len(row) for row in rows}
    if len(rows) != ROWS or sizes != {COLUMNS}:
        raise WorldError(
            f"{name}: the map has {len(rows)} rows of {sorted(sizes)}; expected 18 of 30"
        )
    for y, row in enumerate(rows):
        for x, character in enumerate(row):
            if character not in terrain:
                raise WorldError(f"{name}: {character!r} at {x}, {y} is not terrain")
    return rows


ALIKE = {"=": "~-", "d": "w", "o": "w", "w": "od", "~": "=", "-": "=cd", "#": "c", "c": "#"}
"""Terrain that is no other kind to its neighbour: a path goes on over a bridge."""


def neighbours(rows: Sequence[str], x: int, y: int) -> int:
    """Return the sides on which a tile has a neighbour of another kind; beyond the map there is
    its own kind.
    """
    mask = 0
    sides = (
        (gen_art.NORTH, 0, -1), (gen_art.EAST, 1, 0), (gen_art.SOUTH, 0, 1), (gen_art.WEST, -1, 0),
    )  # fmt: skip
    here = rows[y][x]
    for side, dx, dy in sides:
        if 0 <= x + dx < COLUMNS and 0 <= y + dy < ROWS:
            there = rows[y + dy][x + dx]
            if there != here and there not in ALIKE.get(here, ""):
                mask |= side
    return mask


def cells(name: str, rows: Sequence[str], world: WorldMap) -> list[int]:
    """Return what the background layer shows at each tile: the number of a picture, and its
    palette.

    Raises WorldError for a part of a large picture: trees take two tiles each way, from even
    places on.
    """
    first = world.style.first_pictures()
    result: list[int] = []
    for y, row in enumerate(rows):
        for x, character in enumerate(row):
            art = world.terrain[character]["art"]
            tile = gen_art.TILES[art]
            number = first[art]
            if tile.edged:
                number += neighbours(rows, x, y)
            if tile.size > 1:
                left, top = x - x % 2, y - y % 2
                if {rows[top][left : left + 2], rows[top + 1][left : left + 2]} != {character * 2}:
                    raise WorldError(f"{name}: half of a {art} at {x}, {y}")
                number += x % 2 + 2 * (y % 2)
            result.append(number | (1 + tile.palette) << 12)
    return result


def ground(rows: Sequence[str], terrain: Mapping[str, Any]) -> list[int]:
    """Return what each tile does to who steps on it, as bits."""
    result: list[int] = []
    for row in rows:
        for character in row:
            kind = terrain[character]
            bits = SOLID * kind.get("solid", False)
            bits |= HURTS * kind.get("hurts", False) | HEALS * kind.get("heals", False)
            result.append(bits)
    return result


# ---- C ----


def numbers(kind: str, name: str, values: Sequence[int]) -> str:
    """Return C with an array of numbers."""
    lines = [f"{kind} {name}[{max(1, len(values))}] = {{"]
    for start in range(0, len(values), 30):
        lines.append(f"    {', '.join(map(str, values[start : start + 30]))},")
    return "\n".join([*lines, "};"])


def source(world: WorldMap) -> str:
    """Return the whole of world_data.c."""
    settings = world.settings
    areas: list[str] = []
    doors: list[str] = []
    things: list[str] = []
    rules: list[str] = []
    spawns: list[str] = []
    arrays: list[str] = []
    maps: dict[str, list[str]] = {}
    for name, area in zip(world.area_names, world.areas, strict=True):
        maps[name] = read_map(name, area, world.terrain)
    for name, area in zip(world.area_names, world.areas, strict=True):
        rows = maps[name]
        solid = ground(rows, world.terrain)
        counts = {
            "things": (len(area.get("things", [])), MOST_THINGS),
            "creatures": (len(area.get("creatures", [])), MOST_CREATURES),
            "doors": (len(area.get("doors", [])), MOST_DOORS),
        }
        for kind, (count, most) in counts.items():
            if count > most:
                raise WorldError(f"{name} has {count} {kind}; expected at most {most}")
        if name != world.maze_area:
            drawn_cells = cells(name, rows, world)
            arrays.append(numbers("static const u16", f"cells_{name}", drawn_cells))
            arrays.append(numbers("static const u8", f"ground_{name}", solid))
        first_door, first_thing, first_spawn = len(doors), len(things), len(spawns)
        for door in area.get("doors", []):
            x, y = door["at"]
            to_x, to_y = door["arrive"]
            target = world.number("area", door["to"], world.area_names)
            there = world.terrain[maps[door["to"]][to_y][to_x]]
            if world.terrain[rows[y][x]].get("solid") or there.get("solid"):
                raise WorldError(f"{name}: the door at {x}, {y} is in a wall, or leads into one")
            facing = world.number("direction", door["facing"], DIRECTIONS)
            needs = world.only_condition(door, "needs")
            refuse = 0
            if "refuse" in door:
                refuse = world.script([door["refuse"]])
            doors.append(f"{{{x}, {y}, {target}, {to_x}, {to_y}, {facing}, {needs}, {refuse}}}")
        for thing in area.get("things", []):
            x, y = thing["at"]
            if solid[y * COLUMNS + x] & SOLID:
                raise WorldError(f"{name}: {thing['id']} stands in a wall")
            first_rule = len(rules)
            for rule in thing["talk"]:
                rules.append(f"{{{world.condition(rule)}, {world.script(rule['do'])}}}")
            sprite = world.number("look", thing["look"], list(world.sprites))
            facing = world.number("direction", thing.get("facing", "down"), DIRECTIONS)
            shown = world.condition(thing)
            count = len(rules) - first_rule
            things.append(f"{{{x}, {y}, {sprite}, {facing}, {shown}, {first_rule}, {count}}}")
        for creature in area.get("creatures", []):
            x, y = creature["at"]
            if solid[y * COLUMNS + x]:
                raise WorldError(f"{name}: a {creature['kind']} at {x}, {y} stands on no free tile")
            species = world.number("creature", creature["kind"], world.creatures)
            spawns.append(f"{{{species}, {x}, {y}}}")
        edges: list[str] = []
        for side in SIDES:
            edge = NOWHERE
            if side in area:
                edge = world.area_names.index(area[side])
            edges.append(str(edge))
        battle = cells(name, [area["battle"] * COLUMNS] * ROWS, world)[0]
        areas.append(
            f"{{{quoted(area['name'])}, cells_{name}, ground_{name}, "
            f"{int(area.get('outdoors', False))}, {battle}, {{{', '.join(edges)}}}, "
            f"{first_door}, {len(doors) - first_door}, {first_thing}, "
            f"{len(things) - first_thing}, {first_spawn}, {len(spawns) - first_spawn}}}"
        )
    check_edges(world, maps)
    items: list[str] = []
    for item in settings["items"].values():
        use = world.script(item.get("use", []))
        items.append(
            f"{{{quoted(item['name'])}, {quoted(item['about'])}, {use}, {item.get('attack', 0)}}}"
        )
    creatures: list[str] = []
    for name, creature in settings["creatures"].items():
        sprite = world.sprites[name]
        armour = world.only_condition(creature, "armour")
        when = world.only_condition(creature, "when")
        creatures.append(
            f"{{{quoted(creature['name'])}, {sprite}, {creature['health']}, {creature['attack']}, "
            f"{creature['money']}, {creature['pace']}, {int(creature.get('keeps', False))}, "
            f"{armour}, {when}}}"
        )
    secrets: list[str] = []
    for secret in settings["secrets"].values():
        if not 1 <= secret["asked"] <= MOST_ASKED:
            raise WorldError(
                f"a secret asks for {secret['asked']} words; expected 1 to {MOST_ASKED}"
            )
        words = ", ".join(map(quoted, secret["words"]))
        secrets.append(f"{{{secret['asked']}, {{{words}}}}}")
    quests: list[str] = []
    steps: list[str] = []
    for quest in world.quests:
        world.number("type of quest", quest["type"], QUEST_TYPES)
        name, kind = quoted(quest["name"]), quoted(quest["type"].capitalize())
        quests.append(f"{{{name}, {kind}, {len(steps)}, {len(quest['steps'])}}}")
        for step in quest["steps"]:
            flag = world.number("flag", step["flag"], world.flags)
            steps.append(f"{{{flag}, {world.text(step['hint'])}}}")
    start, after = settings["start"], settings["after_death"]
    lines = ["/* Made by make_world.py. */", '#include "world.h"', *arrays]
    lines.append(numbers("const u8", "conditions", world.conditions))
    lines.append(numbers("const u8", "scripts", world.code))
    tables = {
        "const struct door doors": doors,
        "PLACED struct thing things": things,
        "const struct rule rules": rules,
        "const struct spawn spawns": spawns,
        "const struct area areas": areas,
        "const struct item items": items,
        "const struct creature creatures": creatures,
        "const struct secret secrets": secrets,
        "const struct quest quests": quests,
        "const struct step steps": steps,
        "const char *const texts": list(map(quoted, world.texts)),
    }
    for declaration, entries in tables.items():
        lines.append(f"{declaration}[] = {{\n    " + ",\n    ".join(entries) + ",\n};")
    for name, place in (("start_place", start), ("after_death", after)):
        x, y = place["at"]
        number = world.number("area", place["area"], world.area_names)
        facing = world.number("direction", place["facing"], DIRECTIONS)
        lines.append(f"const struct place {name} = {{{number}, {x}, {y}, {facing}}};")
    lines.append(f"const char world_subtitle[] = {quoted(settings['subtitle'])};")
    return "\n".join([*lines, ""])


def check_edges(world: WorldMap, maps: Mapping[str, Sequence[str]]) -> None:
    """Raise WorldError unless a tile at an edge that leads on lies beside a free one, there and
    back.
    """
    for name, area in zip(world.area_names, world.areas, strict=True):
        for side, direction in SIDES.items():
            free = border(maps[name], side, world.terrain)
            if side not in area:
                if free and not any(tuple(door["at"]) in free for door in area.get("doors", [])):
                    raise WorldError(f"{name}: the {side} edge is open, but leads nowhere")
                continue
            opposite = {"north": "south", "south": "north", "west": "east", "east": "west"}[side]
            there = border(maps[area[side]], opposite, world.terrain)
            axis = int(direction in ("left", "right"))
            if [place[axis] for place in free] != [place[axis] for place in there]:
                raise WorldError(f"{name}: its {side} edge does not fit {area[side]}")


def border(rows: Sequence[str], side: str, terrain: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the free tiles of one side of a map."""
    free: list[tuple[int, int]] = []
    for y, row in enumerate(rows):
        for x, character in enumerate(row):
            sides = {
                "north": y == 0,
                "south": y == ROWS - 1,
                "west": x == 0,
                "east": x == COLUMNS - 1,
            }
            if sides[side] and not terrain[character].get("solid"):
                free.append((x, y))
    return free


def header(world: WorldMap) -> str:
    """Return the whole of world_data.h."""
    start = world.settings["start"]
    counts = {
        "AREAS": len(world.areas),
        "THINGS": len(world.things),
        "ITEMS": len(world.items),
        "FLAGS": len(world.flags),
        "CREATURES": len(world.creatures),
        "SECRETS": len(world.secrets),
        "QUESTS": len(world.quests),
        "START_MONEY": start["money"],
        "START_HEALTH": start["health"],
        "MOST_DAYS": world.settings["days"],
        "POTION": world.items.index("potion"),
    }
    lines = ["/* Made by make_world.py. */", "#ifndef WORLD_DATA_H", "#define WORLD_DATA_H"]
    for name, value in counts.items():
        lines.append(f"#define {name} {value}")
    operations = ", ".join(f"OP_{name}" for name in OPERATIONS)
    if world.maze:
        lines += maze_header(world)
    else:
        lines.append("#define PLACED const")
    return "\n".join([*lines, f"enum {{ {operations} }};", "#endif", ""])


def maze_header(world: WorldMap) -> list[str]:
    """Return the part of world_data.h for maze.c. Raises WorldError for things that cannot be
    placed.
    """
    maze = world.maze
    doors = [world.number("thing", name, world.things) for name in maze["doors"]]
    keys = [world.number("thing", name, world.things) for name in maze["keys"]]
    for kind, found in (("doors", doors), ("keys", keys)):
        if found != list(range(found[0], found[0] + len(doors))):
            raise WorldError(f"the {kind} of the maze are {found}; expected one after the other")
    # a wall whose sides are all alike has the number of the first of its 16 pictures
    wall, *_ = cells(world.maze_area, [maze["wall"] * COLUMNS] * ROWS, world)
    floor, *_ = cells(world.maze_area, [maze["floor"] * COLUMNS] * ROWS, world)
    values = {
        "MAZE_DOORS": len(doors),
        "MAZE_FIRST_DOOR": doors[0],
        "MAZE_FIRST_KEY": keys[0],
        "MAZE_GOAL": world.number("thing", maze["goal"], world.things),
        "MAZE_NOTE": world.number("thing", maze["note"], world.things),
        "MAZE_WALL": wall,
        "MAZE_FLOOR": floor,
    }
    lines = [f"#define {name} {value}" for name, value in values.items()]
    lines.append("#define PLACED")
    lines.append("extern u16 cells_maze[];")
    lines.append("extern u8 ground_maze[];")
    return lines


def main(folder: Path, build: Path) -> None:
    """Write both files."""
    world = WorldMap(folder)
    (build / "world_data.c").write_text(source(world))
    (build / "world_data.h").write_text(header(world))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
