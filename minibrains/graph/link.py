"""Links: how a workflow names nodes and their outputs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

NODE_ID = re.compile(r"[a-z0-9_]+(?:/[a-z0-9_]+)*")
"""The id of a node. That of a node inside of a box is a path: the box's id, `/`, and its own."""
LINK = re.compile(rf"({NODE_ID.pattern})\.([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Link:
    """The source of a link: an output of a node."""

    node: str
    socket: str

    def __str__(self) -> str:
        return f"{self.node}.{self.socket}"


def parse_link(text: Any) -> Link | None:
    """Return the link that a text of a workflow file names; None if it names none."""
    if not isinstance(text, str):
        return None
    match = LINK.fullmatch(text)
    if match is None:
        return None
    return Link(match[1], match[2])
