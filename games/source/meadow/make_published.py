"""Turn published.txt into C and JSON: `make_published.py WORLD BUILD GAME` writes published.h
into the folder BUILD,
data.json and truth.json into the folder GAME.

The names of items and side quests come from the world; text goes into the JSON as numbers of eight
characters each.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ADDRESS = 0x02000000
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "char": 1}
CHARACTERS = 8
"""The characters in one number: the widest that stable-retro reads."""
HERE = Path(__file__).parent


class Variable(NamedTuple):
    """A line of published.txt."""

    name: str
    kind: str
    length: int
    """0: it is not an array."""
    readers: str
    offset: int


def read_table(text: str) -> list[Variable]:
    """Return the variables, each at the next place that fits its type. Raises ValueError for a
    line that is none.
    """
    variables: list[Variable] = []
    offset = 0
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        name, type_and_count, readers = line.split()
        kind, _, count = type_and_count.partition(":")
        if kind not in SIZES or readers not in ("host", "known", "truth"):
            raise ValueError(f"published.txt: {line!r} is not a variable")
        size = SIZES[kind]
        offset += -offset % size
        variables.append(Variable(name, kind, int(count or 0), readers, offset))
        offset += size * max(1, int(count or 0))
    return variables


def header(variables: list[Variable]) -> str:
    """Return C with the variables as one struct at their address."""
    lines = [
        "/* Made by make_published.py from published.txt. */",
        "#ifndef PUBLISHED_H",
        "#define PUBLISHED_H",
        '#include "console.h"',
        "typedef struct {",
    ]
    for variable in variables:
        array = f"[{variable.length}]" if variable.length else ""
        lines.append(f"    {variable.kind} {variable.name}{array};")
    lines += ["} Published;", f"#define game (*(Published *)0x{ADDRESS:08X})"]
    for variable in variables:
        lines.append(
            f"_Static_assert(__builtin_offsetof(Published, {variable.name}) == {variable.offset}, "
            f'"{variable.name}");'
        )
    return "\n".join([*lines, "#endif", ""])


def entries(variable: Variable, elements: Mapping[str, list[str]]) -> dict[str, dict[str, object]]:
    """Return the entries of one variable in a file of stable-retro's.

    Args:
        variable: The variable; an array has an entry for each element.
        elements: For arrays whose elements have names, these; an array may be longer.
    """
    address = ADDRESS + variable.offset
    size = SIZES[variable.kind]
    kind = f"<u{size}" if size > 1 else "|u1"
    if not variable.length:
        return {variable.name: {"address": address, "type": kind}}
    found: dict[str, dict[str, object]] = {}
    if variable.kind == "char":
        for place in range(0, variable.length, CHARACTERS):
            name = f"{variable.name}_{place // CHARACTERS:02}"
            found[name] = {"address": address + place, "type": f"<u{CHARACTERS}"}
        return found
    numbers = [f"{place:02}" for place in range(variable.length)]
    for place, name in enumerate(elements.get(variable.name, numbers)):
        found[f"{variable.name}_{name}"] = {"address": address + place * size, "type": kind}
    return found


def main(world: Path, build: Path, game: Path) -> None:
    """Write the three files."""
    variables = read_table((HERE / "published.txt").read_text())
    settings = tomllib.loads((world / "world.toml").read_text())
    _, *side_quests = settings["quests"]
    elements = {"item": list(settings["items"]), "side": side_quests}
    known: dict[str, dict[str, object]] = {}
    truth: dict[str, dict[str, object]] = {}
    for variable in variables:
        target = truth if variable.readers == "truth" else known
        target |= entries(variable, elements)
    (build / "published.h").write_text(header(variables))
    for name, info in (("data.json", known), ("truth.json", truth)):
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in info.items()]
        (game / name).write_text('{\n "info": {\n' + ",\n".join(lines) + "\n }\n}\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
