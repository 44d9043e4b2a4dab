"""Film: a hook that adds a VideoWriter to the workflow for one run,
and moves its clip to the requested file.

The pads that the console receives are drawn below its screen.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from minibrains.errors import Fault, MinibrainsError, RunError, WorkflowError
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import Workflow
from minibrains.hooks import Hook
from minibrains.video import append_workflow

if TYPE_CHECKING:
    from minibrains.run.run import Run

_FACE: Final = "pad_face/plain.safetensors"


class Film(Hook):
    """Films the first episode of a run: links a VideoWriter to the console's screen,
    and moves its clip, which then carries the workflow, to `file`.
    """

    def __init__(self, file: Path) -> None:
        """Film to `file`. Raises MinibrainsError if no clip can be written there."""
        self.file = file.absolute()
        if file.suffix != ".mp4" or file.is_dir():
            raise MinibrainsError(f"--video: expected a file ending in .mp4, found {file}")
        if not os.access(self.file.parent, os.W_OK):
            raise MinibrainsError(
                f"--video: the folder {self.file.parent} is not there or cannot be written to"
            )
        self._made = f"video-{os.getpid()}.mp4"

    def prepare(self, workflow: Workflow, registry: Registry) -> Workflow:
        """Add the VideoWriter. Raises WorkflowError if there is nothing to film."""
        consoles = [console for console in registry.consoles(workflow) if console.mode == "run"]
        if not consoles:
            message = "there is no running console, a RetroEmulator say, in this workflow to film"
            raise WorkflowError([Fault(message, code="missing_console")], "--video")
        frame = f"{consoles[0].id}.frame"
        inputs = consoles[0].inputs
        for pad in (*inputs.get("pad1", ()), *inputs.get("pad2", ())):
            entry = {"type": "PadView@1", "brain": _FACE, "in": {"frame": frame, "pad": str(pad)}}
            name, workflow = _with(workflow, "video_pad", entry)
            frame = f"{name}.frame"
        entry = {"type": "VideoWriter@1", "set": {"file": self._made}, "in": {"frame": frame}}
        _, workflow = _with(workflow, "video", entry)
        return workflow

    def after_close(self, run: Run) -> None:
        """Move the clip, if there is one, from the run folder to its file, as a whole.

        Raises RunError.
        """
        # the folder of the run itself, or of the worker that played the first episode
        found = [run.dir / self._made, *run.dir.glob(f"workers/*/{self._made}")]
        made = next((path for path in found if path.exists()), None)
        if made is None:
            return
        partial = self.file.with_suffix(".partial.mp4")
        try:
            shutil.copyfile(made, partial)
            append_workflow(partial, run.workflow.to_json())
            os.replace(partial, self.file)
            made.unlink()
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise RunError(
                f"--video: {self.file} cannot be written: {error.strerror}; the clip is {made}"
            ) from error
        run.results.metadata["clip"] = str(self.file)


def _with(workflow: Workflow, name: str, entry: dict[str, Any]) -> tuple[str, Workflow]:
    """Return the workflow with one more node, and the id of that node: `name`,
    unless it is taken.
    """
    while name in workflow.nodes:
        name += "_"
    return name, workflow.with_node(name, entry)
