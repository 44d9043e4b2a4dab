"""Who writes which file of a run folder: no two nodes the same, and none a file of the run itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from minibrains.brain_file import short
from minibrains.errors import Fault
from minibrains.files import is_plain_name

if TYPE_CHECKING:
    from minibrains.graph.check import CheckedNode

OF_THE_RUN: Final = frozenset(
    {"episodes.jsonl", "error.txt", "request.json", "run.tape", "summary.json", "workers", "workflow.json"},
)
"""What a run, the service and the workers of a run put into its folder."""


def file_faults(nodes: Mapping[str, CheckedNode]) -> Iterator[Fault]:
    """Find the names in the run folder that cannot be, or that somebody else has; capitals make no other file."""
    owners = dict.fromkeys(OF_THE_RUN, "the run itself")
    for name, node in nodes.items():
        if node.widgets.keys() != node.cls.schema.widgets.keys():
            continue  # a widget is wrong, and that is a fault already
        for file in node.cls.run_files(name, node.widgets):
            if not is_plain_name(file):
                message = "no file in the run folder can have this name"
                yield Fault(message, name, found=short(file), code="invalid_file_name")
                continue
            owner = owners.setdefault(file.casefold(), name)
            if owner != name:
                message = f"it would write {file} in the run folder, which is written by {owner}"
                yield Fault(message, name, hint=_hint(node, file), code="file_taken")


def _hint(node: CheckedNode, file: str) -> str:
    widget = next((key for key, value in node.widgets.items() if value == file), None)
    if widget is None:
        return "Give the node another name"
    return f"Set {widget} to another name"
