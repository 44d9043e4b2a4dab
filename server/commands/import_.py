"""The command `import`: a workflow and its brains from a file that `export` has written."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from minibrains.files import home
from minibrains.sharing.importing import import_workflow
from server.cli import DONE
from server.commands.workflow_arguments import read_registry
from server.terminal import printable, tell


def main(arguments: argparse.Namespace) -> int:
    """Import the file and print where everything is now. Raises MinibrainsError."""
    registry = read_registry(arguments)
    imported = import_workflow(Path(arguments.file), home(), registry, arguments.limit << 20)
    for remark in imported.remarks:
        tell(remark)
    if arguments.json:
        about = {
            "workflow": str(imported.workflow),
            "brains": dict(imported.brains),
            "tape": imported.tape and str(imported.tape),
            "remarks": imported.remarks,
        }
        print(json.dumps(about))
        return DONE
    lines = [f"workflow  {imported.workflow}"]
    for name in imported.brains.values():
        lines.append(f"brain     {name}")
    packs = "".join(f" --pack {shlex.quote(pack)}" for pack in arguments.pack)
    lines.append(f"To play it: python -m server run {imported.workflow}{packs}")
    if imported.tape is not None:
        replay = f"python -m server replay {imported.tape}{packs}"
        lines.append(f"To play its recorded run again: {replay}")
    print(printable("\n".join(lines)))
    return DONE
