"""Look at the values in a running graph between two ticks, without disturbing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minibrains.annotations import ABSENT
from minibrains.engine.background import NodeCall
from minibrains.engine.engine import Engine
from minibrains.engine.execution_state import ExecutionState
from minibrains.engine.steps import UNSET
from minibrains.node_schema import NodeSchema


def peek(engine: Engine, node: str, socket: str) -> Any:
    """Return the current value of an output; None if nothing has been delivered yet,
    or the value is not kept.

    A register shows its output of the coming tick, and a lazy output is called for it. The outputs
    of other nodes are kept only if they are linked.
    """
    checked = engine.plan.graph.nodes.get(node)
    if checked is None or socket not in checked.cls.schema.outputs or not engine.execution.values:
        return None
    if checked.is_register and not checked.cls.external:
        return _emitted(engine.runtimes[node].node, socket)
    slots = _slots(engine.execution, node, socket)
    if not slots:
        return None
    value = engine.execution.values[slots[0]]
    return None if value is UNSET else value


def peek_item(engine: Engine, node: str, socket: str, item: str) -> Any:
    """Return an item of the current value of an output, such as a variable of the game; None if it
    has none of that name. With "" it is the whole value.
    """
    value = peek(engine, node, socket)
    if not item:
        return value
    return value.get(item) if isinstance(value, Mapping) else None


def is_kept(engine: Engine, node: str, socket: str) -> bool:
    """Return whether the values of an output of the graph can be peeked at."""
    checked = engine.plan.graph.nodes[node]
    if checked.is_register and not checked.cls.external:
        return True
    return bool(_slots(engine.execution, node, socket))


def peek_in_full(engine: Engine, node: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the latest inputs and outputs of a node by name, without lazy ones and those that
    have no value or are not kept.

    Those of a background node are the arguments and the result of its latest call, so they belong
    together; all its outputs are kept.
    """
    if node not in engine.plan.graph.nodes:
        return {}, {}
    runtime = engine.runtimes[node]
    if runtime.background is not None and runtime.background.answered is not None:
        return _answered(runtime.checked.cls.schema, runtime.background.answered)
    outputs: dict[str, Any] = {}
    if runtime.constant is not None:
        outputs.update(runtime.constant.outputs)
    else:
        for name, output in runtime.checked.cls.schema.outputs.items():
            if not output.lazy:
                outputs[name] = peek(engine, node, name)
    return _with_value(_inputs(engine, node)), _with_value(outputs)


def _answered(schema: NodeSchema, call: NodeCall) -> tuple[dict[str, Any], dict[str, Any]]:
    inputs = dict(zip(schema.inputs, call.arguments, strict=False))
    if schema.returns_tuple:
        outputs = {name: getattr(call.result, name) for name in schema.outputs}
    else:
        outputs = dict.fromkeys(schema.outputs, call.result)
    return _with_value(inputs), _with_value(outputs)


def _inputs(engine: Engine, node: str) -> dict[str, Any]:
    """Return the values on the links to a node; those of an input with many links as a list."""
    inputs: dict[str, Any] = {}
    for edge in engine.plan.graph.edges:
        if edge.target != node or edge.output.lazy:
            continue
        value = peek(engine, edge.source, edge.output.name)
        name = edge.input.name
        if edge.input.many:
            inputs.setdefault(name, []).append(value)
        else:
            inputs[name] = value
    return inputs


def _with_value(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in values.items() if value is not None and value is not ABSENT
    }


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
