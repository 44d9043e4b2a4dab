"""How a workflow names nodes and their sockets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

NODE_ID = re.compile(r"[a-z0-9_]+(?:/[a-z0-9_]+)*")
"""The id of a node. That of a node inside of a box is a path: the box's id, `/`, and its own."""
SOCKET_REF = re.compile(rf"({NODE_ID.pattern})\.([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class SocketRef:
    """A socket of a node: in most places, the output that a link comes from.

    In a workflow file it is written as `node.socket`. The ends of a box's inside may also be
    inputs, widgets and brains.
    """

    node: str
    socket: str

    def __str__(self) -> str:
        return f"{self.node}.{self.socket}"


def parse_socket_ref(text: Any) -> SocketRef | None:
    """Return the socket that a text of a workflow file names; None if it names none."""
    if not isinstance(text, str):
        return None
    match = SOCKET_REF.fullmatch(text)
    if match is None:
        return None
    return SocketRef(match[1], match[2])
