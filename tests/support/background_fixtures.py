"""What the tests of background nodes share: a graph with one, an engine that plays it,
and what it saw.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from minibrains import Node
from minibrains.engine.engine import Engine
from tests.support import thinking_nodes
from tests.support.engine_fixtures import Entries, make_engine, node, open_engine

NODES = [
    cls for cls in vars(thinking_nodes).values() if isinstance(cls, type) and issubclass(cls, Node)
]
TYPES = [cls for cls in NODES if hasattr(cls, "schema")]


def thinks(
    kind: str, /, set: Mapping[str, Any] | None = None, **rest: Any
) -> dict[str, dict[str, Any]]:
    """A clock, a node that thinks about its number, and one that sees what comes out."""
    return {
        "clock": node("Clock"),
        "slow": node(kind, {"number": "clock.number"}, set=set or {}, **rest),
        "seen": node("Seen", {"value": "slow.number"}),
    }


@contextmanager
def running(entries: Entries) -> Iterator[Engine]:
    """An open engine, in its first episode; afterwards nothing of it may be left."""
    engine = make_engine(entries, TYPES)
    try:
        begin(engine)
        yield engine
    finally:
        errors = engine.close()
    assert not errors
    assert nothing_is_left()


def begin(engine: Engine) -> None:
    open_engine(engine)
    engine.reset(0, 0)


def nothing_is_left() -> bool:
    for thread in threading.enumerate():
        if thread.name.startswith("thinks: "):
            return False
    return not multiprocessing.active_children()


def seen(engine: Engine) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = engine.nodes["seen"].all
    return found
