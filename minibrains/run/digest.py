"""What happens on each tick, and digests of it, by which two runs are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from minibrains.console import Console
from minibrains.engine.engine import Engine
from minibrains.engine.peek import peek

SIZE: Final = 8
"""Size of a digest in bytes."""


def happened(engine: Engine) -> dict[str, Any]:
    """Return what happened on the last tick: the pads that each console took, and the reward and
    all variables that it delivers next. Call it between two ticks.

    These are the same things that the hash of a trajectory covers, but for the start of the
    episode.

    Returns:
        The values, by "NODE.INPUT", "NODE.reward" and "NODE.variables.NAME"; empty in a graph
        without a console.
    """
    seen: dict[str, Any] = {}
    for name, node in engine.nodes.items():
        if not isinstance(node, Console):
            continue
        for edge in engine.plan.graph.edges:
            if edge.target == name:
                seen[f"{name}.{edge.input.name}"] = peek(engine, edge.source, edge.output.name)
        seen[f"{name}.reward"] = peek(engine, name, "reward")
        for variable, value in (peek(engine, name, "variables") or {}).items():
            seen[f"{name}.variables.{variable}"] = value
    return seen


def digest_of(engine: Engine) -> bytes:
    """Return the digest of what happened on the last tick. Call it between two ticks."""
    return blake2b(repr(happened(engine)).encode(), digest_size=SIZE).digest()


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


def differences(
    these: Mapping[str, Any], those: Mapping[str, Any]
) -> dict[str, tuple[Any | None, Any | None]]:
    """Return the values that differ in what happened on a tick of two runs, by their names; None
    where one of them has no such value.
    """
    found: dict[str, tuple[Any | None, Any | None]] = {}
    for name in {**these, **those}:
        values = these.get(name), those.get(name)
        if values[0] != values[1]:
            found[name] = values
    return found
