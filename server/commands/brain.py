"""The command `brain`: the header of a brain file, and the nodes that take it.

Only the header is interpreted.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from typing import Any

from minibrains.brain_file import hash_file, read_header
from minibrains.errors import BrainError, as_error
from minibrains.files import home
from minibrains.graph.catalog import find_brain_file, node_types
from minibrains.graph.describe import FOR_PEOPLE, describe_brain, memory_sizes, users
from server.cli import DONE, WRONG
from server.terminal import tell

LONGEST = 1000
"""The most characters of an entry that are shown."""


def main(arguments: argparse.Namespace) -> int:
    """Print the header.

    A file that claims to be of a known kind but does not fit is printed too, and the exit status is
    2.
    """
    registry, broken = node_types()
    for sentence in broken:
        tell(sentence)
    header = read_header(find_brain_file(arguments.file, None, home() / "models"))
    description, status = describe_brain(header, hash_file(header.path)), DONE
    try:
        description["used_by"] = list(users(header, registry))
        description["memory"] = memory_sizes(header, registry)
    except BrainError as error:
        description.update(as_error(error))
        status = WRONG
        tell(str(error))
    if arguments.json:
        print(json.dumps(description))
    else:
        print("\n".join(describe(description)))
    return status


def describe(description: dict[str, Any]) -> Iterator[str]:
    """Yield the header for people, line by line."""
    yield f"{description['file']}, {description['size']} bytes"
    yield f"sha256       {description['sha256']}"
    if description["kind"] is None:
        yield "kind         none: a safetensors file, but no brain of ours"
    else:
        yield f"kind         {_shown(description['kind'])} version {description['version']}"
    for name in (*FOR_PEOPLE, "config"):
        if description[name]:
            yield f"{name:<11}  {_cut(_shown(description[name]))}"
    for name, value in sorted(description["more"].items()):
        yield f"{_shown(name):<11}  {_cut(_shown(value))}"
    if description["used_by"]:
        yield f"used by      {', '.join(description['used_by'])}"
    if description["memory"]:
        sizes = [f"{size} bytes in {name}" for name, size in description["memory"].items()]
        yield f"memory       {', '.join(sizes)}"
    tensors = description["tensors"]
    numbers = size = width = 0
    for tensor in tensors:
        numbers += math.prod(tensor["shape"])
        size += tensor["bytes"]
        width = max(width, len(_shown(tensor["name"])))
    yield f"tensors      {len(tensors)}, {numbers} numbers, {size} bytes"
    for tensor in tensors:
        shape = f"{tensor['dtype']}[{' '.join(map(str, tensor['shape']))}]"
        yield f"  {_shown(tensor['name']):<{width}}  {shape}, {tensor['bytes']} bytes"


def _cut(text: str) -> str:
    """Return the beginning of a long text: a model's tokenizer has thousands of lines."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]} … ({len(text)} characters; --json shows all)"


def _shown(value: Any) -> str:
    """Return a value on one line without control characters: the file may come from anywhere,
    and a terminal obeys them.
    """
    text = value
    if not isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
    shown = ""
    for character in text:
        shown += character if character.isprintable() else " "
    return shown
