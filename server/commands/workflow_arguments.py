"""WORKFLOW, --set and --brain: from the command line to a checked graph."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minibrains.errors import Fault, WorkflowError, near
from minibrains.graph.catalog import brain_finder, find_brain_file, find_workflow, node_types
from minibrains.graph.check import Graph, check
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import Workflow, load_workflow
from minibrains.values import parse_json


def read_registry(arguments: argparse.Namespace) -> Registry:
    """The node types there are; says on standard error which packs could not be loaded."""
    registry, broken = node_types(not arguments.no_packs, map(Path, arguments.pack))
    for sentence in broken:
        print(sentence, file=sys.stderr)
    return registry


def read_workflow(arguments: argparse.Namespace) -> tuple[Workflow, list[Path]]:
    """The workflow as the command line changes it, and the brain files it was given there."""
    workflow = load_workflow(find_workflow(arguments.workflow))
    for text in arguments.set:
        place, separator, value = text.partition("=")
        node, dot, name = place.partition(".")
        if not separator or not dot:
            raise WorkflowError([Fault("cannot be read", expected="NODE.WIDGET=VALUE", found=text)], "--set")
        entry = _entry(workflow, node, "--set")
        workflow = workflow.with_node(node, {**entry, "set": {**workflow.nodes[node].set, name: _value(value)}})
    brains = []
    for text in arguments.brain:
        node, separator, name = text.partition("=")
        if not separator:
            raise WorkflowError([Fault("cannot be read", expected="NODE=FILE", found=text)], "--brain")
        file = find_brain_file(name, workflow.path).absolute()
        brains.append(file)
        workflow = workflow.with_node(node, {**_entry(workflow, node, "--brain"), "brain": str(file)})
    return workflow, brains


def check_workflow(workflow: Workflow, registry: Registry, brains: list[Path]) -> Graph:
    """Check a workflow with its brains where they belong, and `brains` where the command line says."""
    return check(workflow, registry, brain_finder(workflow.path, brains))


def _entry(workflow: Workflow, node: str, option: str) -> Mapping[str, Any]:
    if node not in workflow.nodes:
        raise WorkflowError([Fault(f"there is no node {node!r}", hint=near(node, workflow.nodes))], option)
    return workflow.nodes[node].raw


def _value(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text
