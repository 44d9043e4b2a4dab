"""Describe node types and brain files as JSON, for the command line and for the editor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from minibrains.brain import UNSET, Brain, SettingField
from minibrains.brain_file import BrainHeader
from minibrains.graph.registry import Registry
from minibrains.graph.schema import widget_schema
from minibrains.node import Node, Register
from minibrains.node_schema import Input, Output
from minibrains.values import describe_type, parse_json, to_json
from minibrains.widgets import Widget

FOR_PEOPLE: Final = ("title", "description", "license", "author", "made_by", "parents", "metrics")
"""The entries of a brain's header that are meant for people."""


def describe_node(name: str, cls: type[Node]) -> dict[str, Any]:
    """Return everything that a node class declares, in the form that `--json` prints."""
    schema = cls.schema
    brain = None
    if schema.brain:
        brain = _describe_brain(schema.brain, schema.brain_required)
    return {
        **node_heading(name, cls),
        "doc": schema.doc,
        "version": cls.version,
        "every_tick": cls.every_tick,
        "register": issubclass(cls, Register),
        "inputs": [_describe_input(declared) for declared in schema.inputs.values()],
        "outputs": [_describe_output(declared) for declared in schema.outputs.values()],
        "widgets": [_describe_widget(declared) for declared in schema.widgets.values()],
        "brain": brain,
    }


def _describe_widget(declared: Widget) -> dict[str, Any]:
    return {
        "name": declared.name,
        "type": declared.describe(),
        "required": declared.required,
        "default": to_json(declared.default),
        "doc": declared.doc,
        "schema": widget_schema(declared),
    }


def _describe_input(declared: Input) -> dict[str, Any]:
    return {
        "name": declared.name,
        "type": str(declared.type),
        "reading": declared.reading,
        "many": declared.many,
        "optional": not declared.required,
        "doc": declared.doc,
    }


def _describe_output(declared: Output) -> dict[str, Any]:
    return {
        "name": declared.name,
        "type": str(declared.type),
        "lazy": declared.lazy,
        "absent": declared.absent,
        "doc": declared.doc,
    }


def _describe_brain(brain_class: type[Brain], required: bool) -> dict[str, Any]:
    tensors = []
    for name, tensor in brain_class.schema.tensors.items():
        tensors.append({"name": name, "type": tensor.spec, "doc": tensor.doc})
    return {
        "kind": brain_class.kind,
        "version": brain_class.version,
        "required": required,
        "tensors": tensors,
        "further_tensors": _overrides(brain_class, "tensor_specs")
        or _overrides(brain_class, "check_tensors"),
        "settings": [
            _describe_setting(name, declared)
            for name, declared in brain_class.schema.settings.items()
        ],
    }


def _overrides(brain_class: type[Brain], method: str) -> bool:
    return getattr(brain_class, method).__func__ is not getattr(Brain, method).__func__


def _describe_setting(name: str, declared: SettingField) -> dict[str, Any]:
    required = declared.default is UNSET
    default = None
    if not required:
        default = to_json(declared.default)
    return {
        "name": name,
        "type": describe_type(declared.annotation),
        "required": required,
        "default": default,
        "doc": declared.doc,
    }


def node_heading(name: str, cls: type[Node]) -> dict[str, Any]:
    """Return a node type's entry for lists: its type,
    its category and the first line of its documentation.

    A pack's node without a category is shown under the pack's name.
    """
    category = cls.category or name.rpartition(".")[0]
    return {"type": f"{name}@{cls.version}", "category": category, "doc": cls.schema.summary}


def describe_brain(header: BrainHeader, sha256: str | None) -> dict[str, Any]:
    """Return the header of a brain in the form that `--json` prints; missing entries are None."""
    tensors = []
    for name, info in header.tensors.items():
        size = info.end - info.start
        tensors.append(
            {"name": name, "dtype": info.dtype, "shape": list(info.shape), "bytes": size}
        )
    more: dict[str, Any] = {}
    for name, text in header.metadata.items():
        if name not in (*FOR_PEOPLE, "config") and not name.startswith("minibrains."):
            more[name] = _plain(text)
    return {
        "file": str(header.path),
        "size": header.size,
        "sha256": sha256,
        "kind": header.kind,
        "version": header.version,
        **{name: _plain(header.metadata.get(name)) for name in FOR_PEOPLE},
        "more": more,
        "config": header.config,
        "tensors": tensors,
        "memory": {},
        "used_by": [],
    }


def _plain(text: str | None) -> Any:
    """Decode an entry of the header: lists and objects are JSON, everything else is plain text."""
    if text is None or text[:1] not in ("[", "{"):
        return text
    try:
        return parse_json(text)
    except ValueError:
        return text


def memory_sizes(header: BrainHeader, registry: Registry) -> dict[str, int]:
    """Return the bytes that a brain's weights take in memory, by type of number; empty if the node
    types that take it do not say.
    """
    for cls in registry.values():
        if cls.schema.brain is not None and cls.schema.brain.kind == header.kind:
            return dict(cls.schema.brain.memory_sizes(header.tensors))
    return {}


def users(header: BrainHeader, registry: Registry) -> Iterator[str]:
    """Yield the node types that take this brain.

    Raises BrainError if it is of their kind but does not fit.
    """
    for name, cls in registry.items():
        if cls.schema.brain is not None and cls.schema.brain.kind == header.kind:
            cls.schema.brain.check_header(header)
            yield f"{name}@{cls.version}"
