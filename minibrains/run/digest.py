"""Digests of what happens on each tick, by which two runs are compared."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final

from minibrains.console import Console
from minibrains.engine.engine import Engine
from minibrains.engine.peek import peek

SIZE: Final = 8
"""Size of a digest in bytes."""


def digest_of(engine: Engine) -> bytes:
    """Return the digest of the last tick: of the pads that each console took, and of the reward and
    all variables that it delivers next. Call it between two ticks.

    These are the same things that the hash of a trajectory covers, but for the start of the
    episode. The digest of a graph without a console is always the same.
    """
    seen: list[Any] = []
    for name, node in engine.nodes.items():
        if not isinstance(node, Console):
            continue
        for edge in engine.plan.graph.edges:
            if edge.target == name:
                seen.append((edge.input.name, peek(engine, edge.source, edge.output.name)))
        seen.append(peek(engine, name, "reward"))
        variables = peek(engine, name, "variables") or {}
        seen.append(hash(tuple(variables.values())))  # of numbers: the same in every process
    return blake2b(repr(seen).encode(), digest_size=SIZE).digest()


Digests = tuple[int, Sequence[bytes]]
"""A tick of a run, and the digests of those after it."""


def first_difference(these: Digests, those: Digests) -> int | None:
    """Return the first tick at which two runs differ; None if one is as the other as far as both
    are known.
    """
    first = max(these[0], those[0])
    pairs = zip(these[1][first - these[0] :], those[1][first - those[0] :], strict=False)
    for tick, (this, that) in enumerate(pairs, start=first + 1):
        if this != that:
            return tick
    return None
