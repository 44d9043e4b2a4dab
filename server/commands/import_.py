"""The command `import`: a workflow and its brains from a file that `export` has written."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from minibrains.files import home
from minibrains.sharing.importing import import_workflow
from server.cli import DONE
from server.commands.workflow_arguments import read_registry
from server.terminal import printable, tell


def main(arguments: argparse.Namespace) -> int:
    """Import the file and print where everything is now. Raises MinibrainsError."""
    registry = read_registry(arguments)
    packs = {type_.rpartition(".")[0] for type_ in registry}
    imported = import_workflow(
        Path(arguments.file), home(), frozenset(packs), arguments.limit << 20
    )
    for remark in imported.remarks:
        tell(remark)
    if arguments.json:
        about = {
            "workflow": str(imported.workflow),
            "brains": {name: str(path) for name, path in imported.brains.items()},
            "tape": imported.tape and str(imported.tape),
            "remarks": imported.remarks,
        }
        print(json.dumps(about))
        return DONE
    lines = [f"workflow  {imported.workflow}"]
    for path in imported.brains.values():
        lines.append(f"brain     {path}")
    lines.append(f"To play it: python -m server run {imported.workflow}")
    if imported.tape is not None:
        lines.append(f"To play its recorded run again: python -m server replay {imported.tape}")
    print(printable("\n".join(lines)))
    return DONE
