"""WORKFLOW, --set, --brain and related options: from the command line to a RunSpec."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minibrains.errors import Fault, WorkflowError
from minibrains.graph.catalog import node_types
from minibrains.graph.registry import Registry
from minibrains.run.spec import RunSpec
from minibrains.values import parse_json
from server.terminal import tell

_OPTIONS = ("episodes", "ticks", "seed", "clock", "record", "runs", "workers", "command")
"""Arguments of some commands that have the same names as fields of the spec."""


def read_registry(arguments: argparse.Namespace) -> Registry:
    """Return all node types; print on standard error which packs could not be loaded."""
    registry, broken = node_types(not arguments.no_packs, map(Path, arguments.pack))
    for sentence in broken:
        tell(sentence)
    return registry


def read_spec(arguments: argparse.Namespace) -> RunSpec:
    """Return the spec of the run that the arguments describe.

    Raises WorkflowError if one cannot be read.
    """
    options = {name: getattr(arguments, name) for name in _OPTIONS if hasattr(arguments, name)}
    options |= {"packs": tuple(arguments.pack), "installed_packs": not arguments.no_packs}
    return RunSpec(arguments.workflow, **read_changes(arguments), **options)


def read_changes(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a spec that --set, --brain and --mute describe.

    Raises WorkflowError if one cannot be read.
    """
    widgets = {}
    for text in arguments.set:
        target, separator, value = text.partition("=")
        if not separator or "." not in target:
            fault = Fault(
                "cannot be read", expected="NODE.WIDGET=VALUE", found=text, code="invalid_argument"
            )
            raise WorkflowError([fault], "--set")
        widgets[target] = _value(value)
    brains = {}
    for text in arguments.brain:
        node, separator, file = text.partition("=")
        if not separator:
            fault = Fault(
                "cannot be read", expected="NODE=FILE", found=text, code="invalid_argument"
            )
            raise WorkflowError([fault], "--brain")
        brains[node] = file
    return {"widgets": widgets, "brains": brains, "mute": tuple(arguments.mute)}


def _value(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text
