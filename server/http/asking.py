"""Asking a brain about the samples of a data set, in a process beside the server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from minibrains.errors import MinibrainsError, describe_error
from minibrains.process.child import ChildProcess
from minibrains.process.messages import decode, encode
from minibrains.process.parent import ParentProcess
from nodes.training.asked_brains import Answers, load_asked
from nodes.training.data_set import DataSet
from nodes.training.episode_file import read_samples

_NICENESS: Final = 2
"""Games that are being played come first."""
_SHUTDOWN_TIMEOUT: Final = 2.0


@dataclass
class Asking:
    """A brain that is asked about a data set, or was asked."""

    data: str
    """The name of the data set."""
    brain: str
    """The name of the brain's file."""
    question: str
    """The question; empty for a brain that is asked none."""
    episode: str | None
    """The only episode that is asked about; None: all."""
    total: int
    """Number of samples."""
    done: int = 0
    """Number of samples that were asked about."""
    state: Literal["running", "done", "failed", "stopped"] = "running"
    error: str | None = None
    answers: dict[str, Answers] = field(default_factory=dict)
    """The answers by the name of the episode."""

    def describe(self) -> dict[str, Any]:
        """Return it as an object of JSON, without the answers."""
        return {
            "data": self.data,
            "brain": self.brain,
            "question": self.question,
            "episode": self.episode,
            "state": self.state,
            "done": self.done,
            "total": self.total,
            "error": self.error,
        }


class Asker:
    """Asks one brain at a time. Its methods belong to the event loop."""

    def __init__(self, models: Path, changed: Callable[[Asking], None]) -> None:
        """Ask nothing yet.

        Args:
            models: The user's folder of brains.
            changed: Called whenever there are answers, and at the end.
        """
        self._models, self._changed = models, changed
        self._child: ChildProcess | None = None
        self.asking: Asking | None = None
        """The latest one, with its answers."""

    async def start(self, asking: Asking, data: DataSet, brain: Path) -> None:
        """Begin to ask; answers of the one before are kept if it was the same brain and question.

        The one before must be over. Raises OSError if there is no memory for a process.
        """
        before = self.asking
        if before is not None and _is_same(before, asking):
            asking.answers = dict(before.answers)
        loop = asyncio.get_running_loop()

        def start() -> None:
            child = ChildProcess(
                _ask_main,
                data.folder,
                asking.episode,
                brain,
                self._models,
                asking.question,
                name="asks a brain",
                shutdown_timeout=_SHUTDOWN_TIMEOUT,
                keep_output=True,
            )
            self._child = child

            def call(function: Callable[..., None], *arguments: Any) -> None:
                with suppress(RuntimeError):  # the event loop has ended
                    loop.call_soon_threadsafe(function, *arguments)

            child.listen(
                lambda message: call(self._take, asking, message),
                lambda: call(self._end, asking, child),
            )

        self.asking = asking
        try:
            await asyncio.to_thread(start)
        except BaseException:
            asking.state = "failed"
            raise
        if asking.state != "running" and self._child is not None:
            self._child.kill()  # it was stopped while it was being started

    def stop(self) -> None:
        """End it. The answers that there are stay."""
        if self._child is not None and self.asking is not None:
            if self.asking.state == "running":
                self.asking.state = "stopped"
                self._changed(self.asking)
            self._child.kill()

    def _take(self, asking: Asking, message: bytes) -> None:
        """Take a message of the process: the answers to an episode, the end, or an error."""
        if asking.state != "running":
            return
        kind, *content = decode(message, "answers", "in the server")
        if kind == "answers":
            key, answers = content
            asking.answers[key] = answers
            asking.done += len(answers.ticks)
        elif kind == "done":
            asking.state = "done"
            asking.done = asking.total
        else:
            asking.state, (asking.error,) = "failed", content
        self._changed(asking)

    def _end(self, asking: Asking, child: ChildProcess) -> None:
        """Note that the process has ended, which nobody may have asked for."""
        if asking.state == "running":
            words = child.output_tail[-300:] or "it wrote no output"
            asking.state = "failed"
            asking.error = f"the process that asked ended with {child.exit_reason()}: {words}"
            self._changed(asking)


def _is_same(one: Asking, other: Asking) -> bool:
    """Return whether both have the same data set, brain and question."""
    return (one.data, one.brain, one.question) == (other.data, other.brain, other.question)


def _ask_main(
    parent: ParentProcess,
    folder: Path,
    episode: str | None,
    brain: Path,
    models: Path,
    question: str,
) -> None:
    """Ask about one episode after another, in the process beside the server."""
    os.nice(_NICENESS)
    try:
        data = DataSet(folder)
        data.episodes()  # refuses what is held back, or does not belong together
        asked = load_asked(brain, models, question)
        paths = data.files() if episode is None else [data.path_of(episode)]
        for path in paths:
            if not path.is_file():
                continue  # all of its samples were deleted meanwhile
            samples = read_samples(path)
            answers = asked.ask(samples)
            parent.send(encode(("answers", samples.info.key, answers), "answers"))
    except MinibrainsError as error:
        parent.send(encode(("failed", str(error)), "an error"))
    except (OSError, MemoryError, ImportError) as error:
        parent.send(encode(("failed", describe_error(error)), "an error"))
    else:
        parent.send(encode(("done",), "the end"))
