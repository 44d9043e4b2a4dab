"""Boxes made of nodes of a workflow, as the editor makes them."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any


def boxed(workflow: dict[str, Any], inside: Collection[str], box: str) -> dict[str, Any]:
    """Return the workflow with a box in place of these nodes, which stay the same."""
    result = copy.deepcopy(workflow)
    nodes = result["nodes"]
    inner = {name: entry for name, entry in nodes.items() if name in inside}
    inputs: dict[str, list[str]] = {}
    links: dict[str, str] = {}
    outputs: dict[str, str] = {}

    def enter(source: str, end: str) -> None:
        socket = source.replace(".", "_").replace("/", "_")
        links[socket] = source
        inputs.setdefault(socket, []).append(end)

    def leave(source: str) -> str:
        node, _, output = source.partition(".")
        if node not in inside:
            return source
        outputs[f"{node}_{output}"] = source
        return f"{box}.{node}_{output}"

    for name, entry in inner.items():
        for socket, texts in list(entry.get("in", {}).items()):
            own = []
            for position, source in enumerate(texts if isinstance(texts, list) else [texts]):
                if source.partition(".")[0] in inside:
                    own.append(source)
                else:
                    enter(source, f"{name}.{socket}.{position}")
            entry["in"][socket] = own
        if entry.get("when") and entry["when"].partition(".")[0] not in inside:
            enter(entry.pop("when"), f"{name}.when")
    outside: dict[str, Any] = {}
    for name, entry in nodes.items():
        if name in inside:
            outside.setdefault(box, {})
            continue
        outside[name] = entry
        for socket, texts in entry.get("in", {}).items():
            if isinstance(texts, list):
                entry["in"][socket] = [leave(text) for text in texts]
            else:
                entry["in"][socket] = leave(texts)
        if entry.get("when"):
            entry["when"] = leave(entry["when"])
    name = f"{box}_inside"
    outside[box] = {"type": f"defs/{name}", "in": links}
    subgraph = {"nodes": inner, "inputs": inputs, "outputs": outputs}
    return {**result, "nodes": outside, "defs": {**result.get("defs", {}), name: subgraph}}


def renamed(workflow: dict[str, Any], inside: Collection[str], box: str) -> dict[str, Any]:
    """Return the flat workflow in which these nodes have the ids that they have in a box."""

    def follow(source: str) -> str:
        if source.partition(".")[0] in inside:
            return f"{box}/{source}"
        return source

    result = copy.deepcopy(workflow)
    nodes: dict[str, Any] = {}
    for name, entry in result["nodes"].items():
        for socket, texts in entry.get("in", {}).items():
            if isinstance(texts, list):
                entry["in"][socket] = [follow(text) for text in texts]
            else:
                entry["in"][socket] = follow(texts)
        if entry.get("when"):
            entry["when"] = follow(entry["when"])
        nodes[f"{box}/{name}" if name in inside else name] = entry
    return {**result, "nodes": nodes}
