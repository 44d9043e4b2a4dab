"""Look at the values in a running graph between two ticks, without disturbing it."""

from __future__ import annotations

from typing import Any

from minibrains.annotations import ABSENT
from minibrains.engine.engine import Engine
from minibrains.engine.execution_state import ExecutionState
from minibrains.engine.steps import UNSET


def peek(engine: Engine, node: str, socket: str) -> Any:
    """Return the current value of an output; None if nothing has been delivered yet,
    or the value is not kept.

    A register shows its output of the coming tick, and a lazy output is called for it. The outputs
    of other nodes are kept only if they are linked.
    """
    checked = engine.plan.graph.nodes.get(node)
    if checked is None or socket not in checked.cls.schema.outputs or not engine.execution.values:
        return None
    if checked.register and not checked.cls.outside:
        return _emitted(engine.runtimes[node].node, socket)
    slots = _slots(engine.execution, node, socket)
    if not slots:
        return None
    value = engine.execution.values[slots[0]]
    return None if value is UNSET else value


def _emitted(node: Any, socket: str) -> Any:
    schema = node.schema
    try:
        value = node.emit()
        if schema.returns_tuple:
            value = getattr(value, socket)
        if schema.outputs[socket].lazy and value is not ABSENT:
            value = value()
    except Exception:
        return None  # the tick itself will raise it
    return None if value is ABSENT else value


def _slots(execution: ExecutionState, node: str, socket: str) -> list[int]:
    known = execution.output_slots
    return [
        known[node, socket, use] for use in ("last", "last_or_none") if (node, socket, use) in known
    ]
