"""Check the names of files in the run folder: no two nodes may write the same one,
and no node a file of the run itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from minibrains.brain_file import short
from minibrains.errors import Fault
from minibrains.files import is_plain_name
from minibrains.host import file_stem

if TYPE_CHECKING:
    from minibrains.graph.check import CheckedNode

OF_THE_RUN: Final = frozenset(
    {
        "episodes.jsonl",
        "error.txt",
        "request.json",
        "run.tape",
        "summary.json",
        "workers",
        "workflow.json",
    },
)
"""Files and folders that a run, its workers and the service write into the run folder."""


def file_faults(nodes: Mapping[str, CheckedNode]) -> Iterator[Fault]:
    """Yield a fault for each name in the run folder that is invalid or taken,
    ignoring upper and lower case.
    """
    owners = dict.fromkeys(OF_THE_RUN, "the run itself")
    for name, node in nodes.items():
        if node.widgets.keys() != node.cls.schema.widgets.keys():
            continue  # a widget is wrong, which is a fault already
        for file in node.cls.run_files(file_stem(name), node.widgets):
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
