"""Prompts in ComfyUI's API format, which become workflows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, get_origin

from minibrains.errors import Fault, WorkflowError
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import FORMAT, is_comfyui_prompt
from minibrains.node import Node
from minibrains.values import parse_json
from minibrains.widgets import Widget

_KEYS: Final = (
    "brain", "every", "offset", "when", "background", "busy", "latency", "timeout", "optional",
    "mode", "on_error",
)  # fmt: skip
"""Keys of a node in a workflow file that a prompt may give as inputs."""
_VERSION: Final = re.compile(r"@[1-9][0-9]*")
_NAMED: Final = 5
"""Number of unknown node types that an error message names."""


def workflow_of(prompt: Any, registry: Registry) -> Any:
    """Return the workflow for a prompt in ComfyUI's API format: `{id: {"class_type": …, "inputs":
    {name: value or [id, index of the output]}}}`. Anything else is returned unchanged.

    An input that the node declares becomes a link, a widget is set, and any other one sets the key
    of this name, such as `brain`. What is wrong with the nodes is left to the checks of workflows.

    Raises WorkflowError if none of the node types is known, as in a prompt for ComfyUI itself.
    """
    if not is_comfyui_prompt(prompt):
        return prompt
    classes: dict[str, type[Node] | None] = {}
    for name, node in prompt.items():
        type_name = _VERSION.sub("", str(node["class_type"]))
        classes[name] = registry.get(type_name)
    if not any(classes.values()):
        raise WorkflowError([_foreign(prompt)])
    nodes: dict[str, Any] = {}
    for name, node in prompt.items():
        nodes[name] = _entry(node, classes[name], classes)
    return {"minibrains": FORMAT, "nodes": nodes}


def _foreign(prompt: Mapping[str, Any]) -> Fault:
    names = sorted({str(node["class_type"]) for node in prompt.values()})
    more = ", …" if len(names) > _NAMED else ""
    return Fault(
        "this is a prompt for ComfyUI: none of its node types is installed here",
        expected="types that GET /object_info lists",
        found=", ".join(names[:_NAMED]) + more,
        hint="A prompt in ComfyUI's API format can be played if its nodes are those of Minibrains",
        code="missing_node_type",
    )


def _entry(
    node: Mapping[str, Any], cls: type[Node] | None, classes: Mapping[str, type[Node] | None]
) -> dict[str, Any]:
    """Return the entry of a node in a workflow file."""
    type_name = str(node["class_type"])
    if not _VERSION.search(type_name):
        type_name += f"@{cls.version if cls else 1}"
    entry: dict[str, Any] = {"type": type_name}
    inputs, widgets = {}, {}
    given = node.get("inputs", {})
    if not isinstance(given, dict):
        given = {"inputs": given}
    for name, value in given.items():
        if cls is not None and name in cls.schema.inputs:
            inputs[name] = _links(value, classes)
        elif cls is not None and name in cls.schema.widgets:
            widgets[name] = _widget_value(cls.schema.widgets[name], value)
        elif name in _KEYS:
            entry[name] = _link(value, classes) or value
        elif (link := _link(value, classes)) is not None:
            inputs[name] = link
        else:
            widgets[name] = value
    if entry.get("brain") == "":
        del entry["brain"]
    meta = node.get("_meta")
    if isinstance(meta, dict) and isinstance(meta.get("title"), str):
        entry["title"] = meta["title"]
    return {**entry, "in": inputs, "set": widgets}


def _links(value: Any, classes: Mapping[str, type[Node] | None]) -> Any:
    """Return one link or several; what is neither is returned, to be reported."""
    link = _link(value, classes)
    if link is None and isinstance(value, list):
        return [_link(one, classes) or one for one in value]
    return value if link is None else link


def _link(value: Any, classes: Mapping[str, type[Node] | None]) -> str | None:
    """Return a link `[id, index of the output]` as workflow files write it; None if it is none."""
    if not isinstance(value, list) or [type(part) for part in value] != [str, int]:
        return None
    source, index = value
    cls = classes.get(source)
    if cls is None:
        return f"{source}.output_{index}"
    outputs = list(cls.schema.outputs)
    if 0 <= index < len(outputs):
        return f"{source}.{outputs[index]}"
    return f"{source}.output_{index}"


def _widget_value(widget: Widget, value: Any) -> Any:
    """Return the value of a widget; clients of ComfyUI send lists and objects as texts of JSON."""
    if isinstance(value, dict) and set(value) == {"__value__"}:
        return value["__value__"]
    if not isinstance(value, str) or widget.annotation is str:
        return value
    if get_origin(widget.annotation) is Literal:
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value
