"""The JSON Schema of workflow files, generated from the node classes,
for editors and for programs that write such files.

It describes the form of a file and its widgets. Links, socket types and brains are left to the
checker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from minibrains.graph.breakpoint import CONDITION
from minibrains.graph.socket_ref import NODE_ID, SOCKET_REF
from minibrains.graph.subgraphs import SOCKET_NAME, SUBGRAPH_NAME, SUBGRAPH_TYPE
from minibrains.graph.workflow import (
    FORMAT,
    RATE,
    SHA256,
    Mode,
    OnError,
    RunClock,
    RunSettings,
)
from minibrains.node import Node
from minibrains.node_options import Executor
from minibrains.values import to_json, value_schema
from minibrains.widgets import Widget

_LINK = {"$ref": "#/$defs/link"}
_NULL = {"type": "null"}
_LINKS = {"anyOf": [_LINK, {"type": "array", "items": _LINK}]}
_ENTRY = {
    "if": {"properties": {"type": {"pattern": "^defs/"}}, "required": ["type"]},
    "then": {"$ref": "#/$defs/box"},
    "else": {"$ref": "#/$defs/node"},
}


def workflow_schema(registry: Mapping[str, type[Node]]) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of workflow files with these node types.

    It cannot express that a whole number is not written `8.0`, a rate is above 0, `offset` is below
    `every`.
    """
    known: list[str] = []
    by_type: list[dict[str, Any]] = []
    type_schemas: dict[str, Any] = {}
    for name, cls in registry.items():
        # an older entry is valid if it can be migrated; its widgets are those of an older class
        for version in range(1, cls.version + 1):
            known.append(f"{name}@{version}")
        current = f"{name}@{cls.version}"
        is_current = {"properties": {"type": {"const": current}}, "required": ["type"]}
        by_type.append({"if": is_current, "then": {"$ref": f"#/$defs/{current}"}})
        type_schemas[current] = _type_schema(cls)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Minibrains workflow",
        **_object(_file_keys(), required=("minibrains", "nodes")),
        "$defs": {
            "link": _matching(SOCKET_REF),
            "node": {
                **_object({"type": {"enum": known}, **_node_keys()}, required=("type",)),
                "allOf": by_type,
            },
            "box": _object(_box_keys(), required=("type",)),
            "subgraph": _object(_subgraph_keys(), required=("nodes",)),
            **type_schemas,
        },
    }


def widget_schema(widget: Widget) -> dict[str, Any]:
    """Return the JSON Schema of a widget's values."""
    schema = value_schema(widget.annotation)
    extras = {"minimum": widget.min, "maximum": widget.max, "description": widget.doc or None}
    schema.update({key: value for key, value in extras.items() if value is not None})
    if not widget.required:
        schema["default"] = to_json(widget.default)
    return schema


def _type_schema(cls: type[Node]) -> dict[str, Any]:
    widgets: dict[str, Any] = {}
    required: list[str] = []
    for name, widget in cls.schema.widgets.items():
        widgets[name] = widget_schema(widget)
        if widget.required:
            required.append(name)
    return {
        "properties": {
            "set": _object(widgets, required),
            "in": _object(dict.fromkeys(cls.schema.inputs, _LINKS)),
        },
        "required": ["set"] if required else [],
    }


def _file_keys() -> dict[str, Any]:
    run = {field.name: _whole(1, 2**63 - 1) for field in fields(RunSettings)}
    run["seed"] = _whole(0, 2**63 - 1)
    run["clock"] = value_schema(RunClock)
    return {
        "minibrains": {"const": FORMAT},
        "title": {"type": "string"},
        "description": {"type": "string"},
        "nodes": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": _matching(NODE_ID),
            "additionalProperties": _ENTRY,
        },
        "run": _object(run),
        "layout": {"type": "object"},
        "groups": {"type": "array"},
        "breakpoints": {
            "type": "object",
            "propertyNames": _matching(SOCKET_REF),
            "additionalProperties": _matching(CONDITION),
        },
        "defs": {
            "type": "object",
            "propertyNames": _matching(SUBGRAPH_NAME),
            "additionalProperties": {"$ref": "#/$defs/subgraph"},
        },
        "extra": {},
    }


def _box_keys() -> dict[str, Any]:
    node = _node_keys()
    return {
        "type": _matching(SUBGRAPH_TYPE),
        "title": node["title"],
        "set": {"type": "object"},
        "in": {"type": "object", "additionalProperties": _LINKS},
        "brains": {"type": "object", "additionalProperties": node["brain"]},
        "when": node["when"],
        "mode": node["mode"],
    }


def _subgraph_keys() -> dict[str, Any]:
    keys = _file_keys()
    text = {"type": "string"}
    named = {"type": "object", "propertyNames": _matching(SOCKET_NAME)}
    end = {"type": "string", "pattern": rf"^(?:{SOCKET_REF.pattern})(?:\.[0-9]{{1,4}})?$"}
    return {
        "title": text,
        "description": text,
        "version": _whole(1, 2**31 - 1),
        "nodes": {**keys["nodes"], "propertyNames": _matching(SUBGRAPH_NAME)},
        "inputs": {
            **named,
            "additionalProperties": {"anyOf": [end, {"type": "array", "items": end}]},
        },
        "outputs": {**named, "additionalProperties": _LINK},
        "widgets": {**named, "additionalProperties": _LINK},
        "brains": {**named, "additionalProperties": text},
        "layout": keys["layout"],
        "groups": keys["groups"],
        "part": text,
        "extra": {},
    }


def _node_keys() -> dict[str, Any]:
    file = {"type": "string", "pattern": r"^[^\0]+$"}
    sha256 = {"anyOf": [_matching(SHA256), _NULL]}
    return {
        "title": {"type": "string"},
        "set": {"type": "object"},
        "in": {"type": "object"},
        "brain": {
            "anyOf": [file, _object({"file": file, "sha256": sha256}, required=("file",)), _NULL]
        },
        "every": {"anyOf": [_whole(1, 2**31 - 1), _matching(RATE)]},
        "offset": _whole(0, 2**31 - 2),
        "when": {"anyOf": [_LINK, _NULL]},
        "background": {"anyOf": [value_schema(Executor), _NULL]},
        "busy": {"enum": ["wait", "continue"]},
        "latency": {"anyOf": [_whole(1, 2**31 - 1), _NULL]},
        "timeout": {
            "anyOf": [{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e6}, _NULL]
        },
        "optional": {"type": "boolean"},
        "mode": value_schema(Mode),
        "on_error": value_schema(OnError),
    }


def _object(properties: dict[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _whole(minimum: int, maximum: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def _matching(pattern: re.Pattern[str]) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^(?:{pattern.pattern})$"}
