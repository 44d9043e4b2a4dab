"""A shipped brain that a node saves in the run of a shipped workflow."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from minibrains.files import bundled_dir, write_atomic
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec


@dataclass(frozen=True, slots=True)
class WorkflowBrain:
    """A brain that comes from a workflow."""

    workflow: str
    """The name of the shipped workflow."""
    file: str
    """The name of the brain in its run folder."""

    def save(self, path: Path) -> str:
        """Run the workflow, write the file and return its SHA-256. Equal runs give equal bytes.

        Raises:
            MinibrainsError: An episode failed, or the run cannot begin.
        """
        workflow = bundled_dir("workflows") / f"{self.workflow}.json"
        with TemporaryDirectory() as runs:
            with Run(RunSpec(workflow, runs=runs)) as run:
                for _ in run:
                    pass
            (made,) = Path(runs).glob(f"*/{self.file}")
            data = made.read_bytes()
        write_atomic(path, data)
        return hashlib.sha256(data).hexdigest()
