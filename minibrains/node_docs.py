'''The docstring of a node class: prose, and a line for each of its sockets.

    """Let an action through only when the last one has recovered.

    action:  the action wanted now
    ready:   True when an action would be let through on the next tick
    """

A line that begins with names and a colon is about the sockets of these names; indented lines
continue it. `Out:` is about the only output of a node that returns no NamedTuple, `action (out):`
about an output whose name an input has too. Everything else is prose.
'''

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from minibrains.errors import NodeClassError, suggest

ONLY_OUTPUT = "Out"
"""The name of the only output in the documentation."""

_SOCKETS = re.compile(
    r"(?P<names>Out|[a-z_]\w*(?:, [a-z_]\w*)*)(?P<out> \(out\))?:\s+(?P<text>\S.*)"
)


@dataclass(frozen=True, slots=True)
class NodeDocs:
    """The parsed docstring of a node class."""

    prose: str
    sockets: Mapping[str, str]
    """Text by name: `action` for an input or output, `action (out)` for an output, `Out` for the
    only output."""


def read_docs(cls: type) -> NodeDocs:
    """Parse the docstring of a class.

    Raises NodeClassError if it has two lines about one socket.
    """
    prose: list[str] = []
    sockets: dict[str, str] = {}
    continued: list[str] = []
    """The sockets that an indented line is about; empty within prose."""
    for line in inspect.cleandoc(cls.__doc__ or "").splitlines():
        found = _SOCKETS.fullmatch(line)
        if found is not None:
            continued = [name + (found["out"] or "") for name in found["names"].split(", ")]
            for name in continued:
                if name in sockets:
                    raise NodeClassError(
                        f"{cls.__name__}: the documentation has two lines about {name!r}; "
                        "expected one"
                    )
                sockets[name] = found["text"]
        elif continued and line.startswith(" "):
            for name in continued:
                sockets[name] += f" {line.strip()}"
        else:
            continued = []
            prose.append(line)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(prose))
    return NodeDocs(text.strip(), sockets)


def inherited_docs(bases: Iterable[type]) -> NodeDocs:
    """Return the docs of a class, including those of sockets that its bases documented.

    Args:
        bases: The node classes that it derives from, the most general first, and the class itself.
    """
    prose = ""
    sockets: dict[str, str] = {}
    for base in bases:
        docs = read_docs(base)
        prose = docs.prose
        sockets.update(docs.sockets)
    return NodeDocs(prose, sockets)


def output_key(name: str, returns_tuple: bool, inputs: Collection[str]) -> str:
    """Return the name of an output in the documentation; `returns_tuple`:
    it is a field of a NamedTuple.
    """
    if not returns_tuple:
        return ONLY_OUTPUT
    if name in inputs:
        return f"{name} (out)"
    return name


def check_docs(cls: type, known: Collection[str]) -> None:
    """Raise NodeClassError if a class documents a socket that it does not have; `known`:
    the documented names of its sockets.
    """
    for name in read_docs(cls).sockets:
        if name in known:
            continue
        hint = suggest(name, known) or f"Its sockets are: {', '.join(known) or 'none'}"
        raise NodeClassError(
            f"{cls.__name__}: the documentation has a line about {name!r}, "
            f"which is not one of its sockets. {hint}"
        )
