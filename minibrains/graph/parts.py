"""Parts: subgraphs in files of their own, to be inserted into workflows.

A part is a JSON file: `{"minibrains": 1, "part": NAME, "defs": {NAME: …}}`, with the subgraph NAME
and those inside of it, in the form of a workflow file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minibrains.errors import Fault, WorkflowError
from minibrains.graph.workflow import FORMAT, parse_workflow

_KEYS = ("minibrains", "part", "defs")


def make_part(name: str, defs: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Return the contents of the file of a part.

    Args:
        name: The subgraph that is the part.
        defs: This subgraph, and those inside of it.
        version: The version of the part.

    Raises:
        WorkflowError: It is not a sound subgraph, or needs another one.
    """
    part: dict[str, Any] = {"minibrains": FORMAT, "part": name, "defs": dict(defs)}
    check_part(part, "the part")
    part["defs"][name] = {**defs[name], "version": version}
    return part


def check_part(data: Any, where: str) -> int:
    """Check the contents of the file of a part, without the types of its nodes; return its version.

    Raises WorkflowError.
    """
    if not isinstance(data, dict) or not isinstance(data.get("part"), str):
        expected = '{"minibrains": 1, "part": "eyes", "defs": {"eyes": …}}'
        raise WorkflowError(
            [Fault("this is not a part", expected=expected, code="invalid_file")], where
        )
    name = data["part"]
    faults = [
        Fault(f"the key {key!r} is not known", code="unknown_key")
        for key in data
        if key not in _KEYS
    ]
    box = {"type": f"defs/{name}"}
    content = {key: value for key, value in data.items() if key in ("minibrains", "defs")}
    faults.extend(parse_workflow({**content, "nodes": {"box": box}}).faults)
    if faults:
        raise WorkflowError(faults, where)
    version: int = data["defs"][name].get("version", 1)
    return version
