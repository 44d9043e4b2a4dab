"""ComfyUI's /object_info: what a client of ComfyUI must know to build a graph that runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, get_args, get_origin

from aiohttp import web

from minibrains.console import Console
from minibrains.games.catalog import games_here
from minibrains.graph.describe import node_heading
from minibrains.graph.registry import Registry
from minibrains.node import Node
from minibrains.sockets import SocketTypes
from minibrains.values import to_json
from minibrains.widgets import Widget
from server.http.brain_files import BrainFiles

_TYPES: Final = {int: "INT", float: "FLOAT", bool: "BOOLEAN", str: "STRING"}
_NO_BRAIN: Final = ""
"""The choice that stands for no brain, of a node that may have none."""
_WHEN: Final = ("FLAG", {"tooltip": "run only on ticks on which it is true"})
_EVERY: Final = ("INT", {"default": 1, "min": 1, "tooltip": "run on one tick in this many"})


class ObjectInfo:
    """The node types in ComfyUI's form."""

    def __init__(self, registry: Registry, brains: BrainFiles) -> None:
        self._registry = registry
        self._brains = brains

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/object_info", self.all)
        yield web.get("/object_info/{name}", self.one)

    async def all(self, request: web.Request) -> web.Response:
        """Answer GET /object_info: all node types."""
        return web.json_response(await self._describe(self._registry))

    async def one(self, request: web.Request) -> web.Response:
        """Answer GET /object_info/{name}: one node type, or {} if it is not known."""
        name = request.match_info["name"]
        found = {}
        if name in self._registry:
            found[name] = self._registry[name]
        return web.json_response(await self._describe(found))

    async def _describe(self, types: Mapping[str, type[Node]]) -> dict[str, Any]:
        brains = await self._brains.by_kind()
        games = await asyncio.to_thread(lambda: list(games_here()))
        return {name: _node_info(name, cls, brains, games) for name, cls in types.items()}


def _node_info(
    name: str, cls: type[Node], brains: Mapping[str, Sequence[str]], games: Sequence[str]
) -> dict[str, Any]:
    schema = cls.schema
    heading = node_heading(name, cls)
    required: dict[str, Any] = {}
    optional: dict[str, Any] = {}

    for socket in schema.inputs.values():
        group = required if socket.must_be_linked else optional
        group[socket.name] = [_socket_type(socket.type), _tooltip(socket.doc)]

    if schema.brain is not None:
        files = list(brains.get(schema.brain.kind, ()))
        about = _tooltip(f"a brain of the kind {schema.brain.kind}")
        if schema.brain_required:
            required["brain"] = [files, about]
        else:
            optional["brain"] = [[_NO_BRAIN, *files], about]

    for widget in schema.widgets.values():
        group = required if widget.required else optional
        group[widget.name] = _widget(widget, games)

    optional.setdefault("when", list(_WHEN))
    optional.setdefault("every", list(_EVERY))

    return {
        "input": {"required": required, "optional": optional},
        "input_order": {"required": list(required), "optional": list(optional)},
        "output": [_socket_type(output.type) for output in schema.outputs.values()],
        "output_is_list": [False] * len(schema.outputs),
        "output_name": list(schema.outputs),
        "output_tooltips": [output.doc for output in schema.outputs.values()],
        "name": name,
        "display_name": name.rpartition(".")[2],
        "description": heading["doc"],
        "python_module": cls.__module__,
        "category": heading["category"],
        "output_node": not schema.outputs or issubclass(cls, Console),
    }


def _socket_type(kind: SocketTypes) -> str:
    names = dict.fromkeys(option.name.upper() for option in kind.options)
    return ",".join(names) or "*"


def _tooltip(doc: str) -> dict[str, str]:
    if not doc:
        return {}
    return {"tooltip": doc}


def _widget(widget: Widget, games: Sequence[str]) -> list[Any]:
    """Describe a widget. ComfyUI has no widgets for lists and objects: they are texts of JSON."""
    default = to_json(widget.default)
    limits = {"default": default, "min": widget.min, "max": widget.max}

    options: dict[str, Any] = {}
    for name, value in limits.items():
        if value is not None:
            options[name] = value
    options |= _tooltip(widget.doc)

    if get_origin(widget.annotation) is Literal:
        return [list(get_args(widget.annotation)), options]
    if widget.names == "game" and games:
        return [list(games), _with_default_among(options, games)]
    if widget.annotation in _TYPES:
        return [_TYPES[widget.annotation], options]

    if not isinstance(default, str):
        options["default"] = json.dumps(default)
    options["tooltip"] = f"{widget.doc} (as JSON: {widget.describe()})".strip()
    return ["STRING", options]


def _with_default_among(options: dict[str, Any], choices: Sequence[str]) -> dict[str, Any]:
    """Return the options of a list of choices, whose default must be one of them."""
    if options.get("default") not in choices:
        options["default"] = choices[0]
    return options
