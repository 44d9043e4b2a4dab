"""Node types, and checks of workflows, which the editor requests while a graph is edited."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from minibrains.console import Console
from minibrains.engine.compile import compile_graph
from minibrains.engine.instantiate import instantiate_nodes
from minibrains.errors import Fault, MinibrainsError, WorkflowError, faults_of
from minibrains.graph.catalog import brain_finder
from minibrains.graph.check import Draft, Graph, examine
from minibrains.graph.collectors import check_collectors
from minibrains.graph.describe import node_heading
from minibrains.graph.linking import Linking, SocketKey, linking
from minibrains.graph.registry import Registry
from minibrains.graph.schema import widget_schema, workflow_schema
from minibrains.graph.workflow import Workflow, parse_workflow
from minibrains.node import Node, Register
from minibrains.node_schema import Input, Output
from minibrains.sockets import SocketTypes
from minibrains.values import to_json
from minibrains.widgets import Widget
from server.http.digests import Digests
from server.http.folders import DataFolders
from server.http.http_errors import read_object, text

_DIGEST_TIMEOUT: Final = 5.0
"""Seconds that a check waits for the SHA-256 of a brain."""
_MAX_NODES: Final = 10_000
"""Largest number of nodes in a workflow."""


class NodeTypes:
    """The node types of this server, and checks of workflows with them."""

    def __init__(self, registry: Registry, folders: DataFolders, digests: Digests) -> None:
        self.registry = registry
        self._folders = folders
        self._digests = digests

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/nodes", self.nodes)
        yield web.get("/schema", self.schema)
        yield web.post("/check", self.check)

    async def parse(self, data: Any, path: Path | None) -> Workflow:
        """Read a workflow from a request.

        Raises WorkflowError if it is not a workflow, or too large.
        """
        return await asyncio.to_thread(_parse, data, path)

    async def check_fully(self, workflow: Workflow) -> None:
        """Check a workflow as far as possible before it runs.

        Raises MinibrainsError with all faults.
        """
        draft = await self._examine(workflow)
        await asyncio.to_thread(_prepare, draft)

    async def _examine(self, workflow: Workflow) -> Draft:
        """Read a workflow and collect its faults.

        Hashes of brains are compared if the workflow gives one, or if a link depends on one. A hash
        that is not known yet is awaited in the event loop: a waiting thread would be missing for
        all other requests.
        """
        unknown: set[Path] = set()
        draft = await asyncio.to_thread(self._examine_at_once, workflow, unknown)
        if not unknown:
            return draft
        await asyncio.gather(*(self._digests.of(file, _DIGEST_TIMEOUT) for file in unknown))
        return await asyncio.to_thread(self._examine_at_once, workflow, unknown)

    def _examine_at_once(self, workflow: Workflow, unknown: set[Path]) -> Draft:
        """Do the same without waiting; add the files whose SHA-256 would have
        been needed to `unknown`.
        """

        def known(file: Path, compared: bool) -> str | None:
            digest = self._digests.known(file)
            if digest is None and compared:
                unknown.add(file)
            return digest

        find = brain_finder(workflow.path, models=self._folders.models)
        return examine(workflow, self.registry, find, known)

    async def nodes(self, request: web.Request) -> web.Response:
        """Answer GET /nodes: the description of all node types."""
        return web.json_response(self._described)

    async def schema(self, request: web.Request) -> web.Response:
        """Answer GET /schema: the JSON Schema of workflow files."""
        return web.json_response(self._schema)

    async def check(self, request: web.Request) -> web.Response:
        """Answer POST /check: the faults of a workflow, its possible links and,
        if it was migrated, its new form.
        """
        body = await read_object(request)
        data, path = body.get("workflow"), self._folders.workflow(text(body, "name"))

        try:
            workflow = await self.parse(data, path)
            draft = await self._examine(workflow)
        except MinibrainsError as error:
            return web.json_response(
                {"faults": faults_of(error), "workflow": None, **_NOTHING_TO_LINK}
            )
        answer = await asyncio.to_thread(self._describe_draft, draft)
        answer["workflow"] = None
        # it is another object only if older nodes, or an older format, were migrated
        if draft.workflow.raw is not data:
            answer["workflow"] = draft.workflow.to_json()
        return web.json_response(answer)

    def _describe_draft(self, draft: Draft) -> dict[str, Any]:
        links = _describe_linking(linking(draft, self.registry.values()))
        _add_boxes(links, draft.workflow)
        try:
            _prepare(draft)
        except MinibrainsError as error:
            return {"faults": faults_of(error), **links}
        return {"faults": [], **links}

    @cached_property
    def _described(self) -> dict[str, Any]:
        return {
            f"{name}@{cls.version}": _describe(name, cls) for name, cls in self.registry.items()
        }

    @cached_property
    def _schema(self) -> dict[str, Any]:
        return workflow_schema(self.registry)


def _prepare(draft: Draft) -> Graph:
    """Return the graph, checked as far as possible before it runs.

    Raises WorkflowError with all faults.
    """
    graph = draft.graph()
    plan = compile_graph(graph)
    # faults that nodes themselves find, such as a missing game; reading brains in full is left to
    # the run
    without_brain = [name for name, node in graph.nodes.items() if node.brain is None]
    made = instantiate_nodes(plan, without_brain)
    check_collectors(graph, {name: runtime.node for name, runtime in made.items()})
    return graph


_NOTHING_TO_LINK: Final[dict[str, Any]] = {"outputs": {}, "inputs": {}, "fits": {}, "before": {}}


def _describe_linking(links: Linking) -> dict[str, Any]:
    return {
        "outputs": _by_socket(links.outputs),
        "inputs": _by_socket(links.inputs),
        "fits": links.fits,
        "before": links.before,
    }


def _add_boxes(links: dict[str, Any], workflow: Workflow) -> None:
    """Add the sockets of boxes, which have the types of those that they lead to."""
    for path, box in workflow.boxes.items():
        for name, output in box.outputs.items():
            if str(output) in links["outputs"]:
                links["outputs"][f"{path}.{name}"] = links["outputs"][str(output)]
        for name, ends in box.inputs.items():
            types = [links["inputs"][str(end)] for end in ends if str(end) in links["inputs"]]
            if types:
                links["inputs"][f"{path}.{name}"] = types[0]


def _by_socket(types: Mapping[SocketKey, str]) -> dict[str, str]:
    """Return the types by `node.socket`, as links are written in a workflow file."""
    return {f"{node}.{socket}": type_name for (node, socket), type_name in types.items()}


def _parse(data: Any, path: Path | None) -> Workflow:
    nodes = None
    if isinstance(data, dict):
        nodes = data.get("nodes")
    if isinstance(nodes, dict) and len(nodes) > _MAX_NODES:
        limit, found = f"at most {_MAX_NODES}", str(len(nodes))
        fault = Fault(
            "the workflow has too many nodes", expected=limit, found=found, code="invalid_workflow"
        )
        raise WorkflowError([fault])
    return parse_workflow(data, path)


def _describe(name: str, cls: type[Node]) -> dict[str, Any]:
    schema, heading = cls.schema, node_heading(name, cls)
    brain = None
    if schema.brain:
        brain = {"kind": schema.brain.kind, "required": schema.brain_required}
    return {
        "type": heading["type"],
        "category": heading["category"],
        "pack": name.rpartition(".")[0],
        "summary": heading["doc"],
        "doc": schema.doc,
        "inputs": {name: _input(declared) for name, declared in schema.inputs.items()},
        "outputs": {name: _output(declared) for name, declared in schema.outputs.items()},
        "widgets": {name: _widget(declared) for name, declared in schema.widgets.items()},
        "brain": brain,
        "register": issubclass(cls, Register),
        "console": issubclass(cls, Console),
        "external": cls.external,
        "every_tick": cls.every_tick,
        "background": cls.background,
        "terminal": cls.terminal,
    }


def _input(declared: Input) -> dict[str, Any]:
    return {
        **_kind(declared.type),
        "reading": declared.reading,
        "many": declared.many,
        "required": declared.required,
        "needed": declared.must_be_linked,
        "doc": declared.doc,
    }


def _output(declared: Output) -> dict[str, Any]:
    return {
        **_kind(declared.type),
        "absent": declared.absent,
        "lazy": declared.lazy,
        "doc": declared.doc,
    }


def _kind(kind: SocketTypes) -> dict[str, Any]:
    """Describe a socket's type: as text, and as a list of its alternatives."""
    options: list[dict[str, Any]] = []
    for option in kind.options:
        options.append({"label": option.name, "dtype": option.dtype, "dims": list(option.dims)})
    if options:
        first = options[0]
    else:
        label = "anything" if kind.anything else kind.variable
        first = {"label": label, "dtype": None, "dims": []}
    return {
        "kind": str(kind),
        **first,
        "options": options,
        "variable": kind.variable,
        "anything": kind.anything,
    }


def _widget(widget: Widget) -> dict[str, Any]:
    return {
        "type": widget.describe(),
        "schema": widget_schema(widget),
        "default": to_json(widget.default),
        "required": widget.required,
        "min": widget.min,
        "max": widget.max,
        "doc": widget.doc,
        "rebuild": widget.rebuild,
        "names": widget.names,
    }
