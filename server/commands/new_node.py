"""The command `new-node`: write a template file for a node of one's own."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
from pathlib import Path
from string import Template

import minibrains
from minibrains.errors import MinibrainsError
from minibrains.graph.registry import ENTRY_POINT
from server.cli import DONE

_NODE = Template('''"""The node $name and its test."""

from minibrains import Episode, Node, Number, widget
from minibrains.testing import check_node


class $name(Node):
    """Smooth a number: each new value counts for `share`, the rest is the old value.

    value:  the number to smooth
    Out:    the smoothed number, beginning with the first value
    """

    # a widget: people set it in the workflow; it is checked before anything runs
    share: float = widget(default=0.5, min=0.0, max=1.0, doc="weight of a new value")

    def reset(self, episode: Episode) -> None:
        # state begins here, once an episode; episode.rng() is for anything random
        self.smooth: float | None = None

    # a parameter is an input, the return annotation the output, named like its type
    def tick(self, value: Number) -> Number:
        if self.smooth is None:
            self.smooth = value
        self.smooth += self.share * (value - self.smooth)
        return self.smooth


def test_$stem() -> None:
    node = $name(share=0.25)
    given = check_node(node, {"value": 8.0}, {"value": 0.0}, {"value": 6.0})
    assert given == [8.0, 6.0, 6.0]
''')

_HINTS = Template("""$file has the node $name and its test.
  test it      python -m pytest $file
  look at it   python -m server nodes $stem.$name --pack $file
  wire it      "smooth": {"type": "$stem.$name@1", "set": {"share": 0.25}, \
"in": {"value": "console.reward"}}
  run it       python -m server run WORKFLOW --pack $file
  ship it      as a package of your own whose pyproject.toml names its module:
                 [project.entry-points."$group"]
                 $stem = "YOUR_PACKAGE.$stem\"""")


def main(arguments: argparse.Namespace) -> int:
    """Write the file to the current folder.

    Raises MinibrainsError if the name cannot be used or the file exists.
    """
    name = arguments.name
    _check_name(name)
    stem = snake_case(name)
    path = Path(f"{stem}.py")
    values = {"name": name, "stem": stem, "file": str(path), "group": ENTRY_POINT}
    try:
        if not path.exists() and importlib.util.find_spec(stem):
            raise MinibrainsError(
                f"{path} would hide the Python module {stem!r}; choose another name than {name!r}"
            )
        with path.open("x", encoding="utf-8") as file:
            file.write(_NODE.substitute(values))
    except FileExistsError:
        raise MinibrainsError(
            f"{path} is already there and stays as it is; choose another name, or move it away"
        ) from None
    except OSError as error:
        raise MinibrainsError(f"{path} cannot be written: {error.strerror or error}") from None
    print(_HINTS.substitute(values))
    return DONE


def snake_case(name: str) -> str:
    """Convert a name: EdgeFilter -> edge_filter, HTTPReader -> http_reader."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name) or {name, name.lower()} & set(keyword.kwlist):
        raise MinibrainsError(
            f"{name!r} cannot be the name of a node class; expected CamelCase, like EdgeFilter"
        )
    if name in minibrains.__all__:
        raise MinibrainsError(
            f"{name!r} is a name that nodes import from minibrains; choose another, like My{name}"
        )
