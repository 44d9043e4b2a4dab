"""The command `nodes`: list node types, describe one of them in full,
or print the schema of workflow files.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from minibrains.errors import MinibrainsError, suggest
from minibrains.graph.describe import describe_node, node_heading
from minibrains.graph.registry import Registry
from minibrains.graph.schema import workflow_schema
from minibrains.graph.workflow import dump_json
from minibrains.node import Node
from server.cli import DONE
from server.commands.workflow_arguments import read_registry
from server.terminal import printable

_READING = {"last": "the last value", "on": "on delivery", "aged": "the last value with its age"}


def main(arguments: argparse.Namespace) -> int:
    """Print all node types, one of them, or the schema.

    Raises MinibrainsError if there is no such type.
    """
    registry = read_registry(arguments)
    if arguments.schema:
        print(dump_json(workflow_schema(registry)), end="")
    elif arguments.type is None:
        nodes = [node_heading(name, cls) for name, cls in registry.items()]
        if arguments.json:
            print(json.dumps({"nodes": nodes}))
        else:
            print(printable(describe_all(nodes)))
    else:
        description = describe_node(*_find(registry, arguments.type))
        if arguments.json:
            print(json.dumps(description))
        else:
            print(printable("\n".join(describe(description))))
    return DONE


def _find(registry: Registry, text: str) -> tuple[str, type[Node]]:
    name = text.partition("@")[0]
    if name not in registry:
        hint = suggest(name, registry) or "`nodes` without a name lists them all"
        raise MinibrainsError(f"there is no node type {text!r}. {hint}")
    return name, registry[name]


def describe_all(nodes: list[dict[str, Any]]) -> str:
    """Return the list of all node types for people, by category."""
    width = max(len(node["type"]) for node in nodes)
    lines = []
    by_category = itemgetter("category")
    for category, members in groupby(sorted(nodes, key=by_category), by_category):
        lines.append(category)
        for node in members:
            lines.append(f"  {node['type']:<{width}}  {node['doc']}")
    return "\n".join(lines)


def describe(description: dict[str, Any]) -> Iterator[str]:
    """Yield the full description of one node type for people, line by line."""
    yield f"{description['type']}, in {description['category']}"
    yield from description["doc"].splitlines()
    if description["register"]:
        yield "\nA register: gives out at the start of a tick and takes its inputs at the end."
    elif description["every_tick"]:
        yield "\nClocked: runs on every tick of its clock, not only when something was delivered."
    for part in ("inputs", "outputs", "widgets"):
        if description[part]:
            yield f"\n{part}"
            yield from _table(description[part])
    brain = description["brain"]
    if brain:
        optional = "" if brain["required"] else ", optional"
        yield f"\nbrain of kind {brain['kind']}, version {brain['version']}{optional}"
        yield from _table(brain["tensors"])
        if brain["further_tensors"]:
            yield "  tensors that follow from the settings"
        yield from _table(brain["settings"])


def _table(entries: list[dict[str, Any]]) -> Iterator[str]:
    width = max((len(entry["name"]) for entry in entries), default=0)
    for entry in entries:
        described = ", ".join([entry["type"], *remarks(entry)])
        yield f"  {entry['name']:<{width}}  {described}"


def remarks(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a described socket, widget, tensor or setting declares besides its type,
    and last its documentation.
    """
    if "reading" in entry:
        yield _READING[entry["reading"]]
    if entry.get("many"):
        yield "any number of links"
    if entry.get("optional"):
        yield "may be left unlinked"
    if entry.get("lazy"):
        yield "made only when something reads it"
    if entry.get("absent"):
        yield "not delivered on every tick"
    if entry.get("required"):
        yield "must be set"
    elif "required" in entry:
        yield f"default {json.dumps(entry['default'])}"
    if entry.get("doc"):
        yield entry["doc"]
