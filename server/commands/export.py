"""The command `export`: a workflow with its brains, and perhaps a tape, in one file."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from minibrains.run.replay import find_tape
from minibrains.run.run import Run
from minibrains.sharing.exporting import export_workflow
from minibrains.tape.recording import FILE
from server.cli import DONE
from server.commands.workflow_arguments import read_registry, read_spec
from server.terminal import printable


def main(arguments: argparse.Namespace) -> int:
    """Write the file and print what is in it. Raises WorkflowError with everything wrong."""
    registry = read_registry(arguments)
    run = Run(read_spec(arguments), registry=registry)
    tape = picture = None
    if arguments.tape is not None:
        tape = find_tape(Path(arguments.tape), FILE)
    if arguments.picture is not None:
        picture = Path(arguments.picture)
    file = Path(arguments.file)
    lock = export_workflow(run.graph, run.spec.brain_finder(run.workflow), file, tape, picture)
    size = file.stat().st_size
    if arguments.json:
        print(json.dumps({"file": str(file), "size": size, "lock": asdict(lock)}))
        return DONE
    lines = [f"{file}: {lock.name}, {size / 1e6:.1f} MB"]
    for name in lock.brains:
        lines.append(f"  brain  {name}")
    if tape is not None:
        lines.append(f"  tape   {tape}")
    for pack in arguments.pack:
        lines.append(f"  not in it: {pack}; pass it on as well, and import with --pack")
    lines.append(f"To play it on another machine: python -m server import {file.name}")
    print(printable("\n".join(lines)))
    return DONE
