"""The values that reach a run from outside, and those that its replay takes from the tape instead.

| | a run that is recorded | its replay |
|---|---|---|
| background node | results and failures are written down | not opened; both come from the tape |
| the same, with a constant result | nothing is written down | opened and run |
| external register | each new value is written down | opened; values come from the tape |
| the same in a fork | those of the run that it comes from, until somebody else plays | as above |
| any other node | nothing is written down | opened and run |
| edit, decimation of optional nodes | written down | made by the caller of the replay |

Whatever comes from the tape arrives on the tick on which it arrived in the run. A node that is not
opened has neither a thread nor a process, is asked for no report and no state, and its brain file
may have been replaced since. An external register is reset and latched like others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from minibrains.engine.plan import Plan
from minibrains.engine.steps import UNSET
from minibrains.errors import RunError, describe_error
from minibrains.graph.check import CheckedNode

Result = tuple[str, Any]
"""A value from outside: ("result", value), ("failed", sentence) or ("input", value)."""


class Tape(Protocol):
    """The engine's view of a tape: values from outside are written to it,
    or read from it in a replay.
    """

    @property
    def replays(self) -> bool:
        """True if values are read from the tape, False if they are written to it."""

    @property
    def inherits(self) -> bool:
        """True if it is the tape of a fork, which gives the inputs of the run that it comes from
        as well.
        """

    def add(self, node: str, kind: str, value: Any) -> None:
        """Write down a value that came from outside on this tick."""

    def take(self, node: str) -> Result | None:
        """Return the value that came for this node on this tick; None if there is none."""


def is_replayed(plan: Plan, node: str, tape: Tape | None) -> bool:
    """Return whether the results of a node come from the tape,
    so it is neither opened nor called.
    """
    if tape is None or not tape.replays:
        return False
    in_background = plan.graph.nodes[node].background is not None
    return in_background and node not in plan.constant_nodes


def taped_emit(
    emit: Callable[[], Any], register: CheckedNode, tape: Tape | None
) -> Callable[[], Any]:
    """Return the function to call as `emit`.

    For an external register, new values go to the tape or come from it.
    """
    if tape is None or not register.cls.external:
        return emit
    node = register.id
    last: Any = UNSET
    if tape.inherits:
        emit = _inherited(emit, node, tape)

    def record() -> Any:
        nonlocal last
        value = emit()
        if value is not last:
            tape.add(node, "input", value)
            last = value
        return value

    def replay() -> Any:
        nonlocal last
        found = tape.take(node)
        if found is not None:
            last = found[1]
        return last

    return replay if tape.replays else record


def _inherited(emit: Callable[[], Any], node: str, tape: Tape) -> Callable[[], Any]:
    """Wrap `emit` so that it gives what came in the run that a fork comes from, until something
    else comes from outside: then somebody has begun to play.
    """
    first: Any = UNSET
    inherited: Any = UNSET
    is_played = False

    def inherit() -> Any:
        nonlocal first, inherited, is_played
        value = emit()
        if first is UNSET:
            first = value
        if value is not first:
            is_played = True
        if is_played:
            return value
        found = tape.take(node)
        if found is not None:
            inherited = found[1]
        return value if inherited is UNSET else inherited

    return inherit


def record_result(call: Callable[..., Any], node: str, tape: Tape | None) -> Callable[..., Any]:
    """Wrap the call of a background node so that its result or failure is written to the tape."""
    if tape is None:
        return call

    def record(*arguments: Any) -> Any:
        try:
            result = call(*arguments)
            tape.add(node, "result", result)
        except Exception as error:
            tape.add(node, "failed", describe_error(error))
            raise
        return result

    return record


def replay_result(result: Result) -> Any:
    """Return the result of a background node from the tape. Raises RunError if the node failed."""
    kind, value = result
    if kind == "failed":
        raise RunError(value)
    return value
