"""A model in a process that all runs of a user ask, so that it is in memory once, and answers
questions together that wait at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from minibrains.loading import MODEL_CACHE, BrainRef
from minibrains.process.shared import Handler, SharedProcess
from minibrains.software import hash_with_software
from minibrains.torch_node import limit_threads
from nodes.language.answering import Adapters, Answer, LocalModel, Question
from nodes.language.placement import Placement

PER_THREAD: Final = 4
"""Questions for each thread. With fewer, the small model of sf2 lost more by threads that waited
for each other than it gained, on two cores that the games needed too.
"""


class _Prepare(NamedTuple):
    """A request to merge adapters in advance; the reply describes the model."""

    adapters: Adapters


class SharedModel:
    """A model in a process of its own, which is asked like a LocalModel."""

    def __init__(self, ref: BrainRef, placement: Placement, answers: Sequence[str]) -> None:
        """Let it be loaded, unless it is there.

        Args:
            ref: Its file.
            placement: Where it computes, and in which type of numbers.
            answers: The answers to choose from; may be empty.

        Raises:
            MinibrainsError: As LocalModel; or its process cannot be started.
        """
        # runs with other code, or another version of a library, ask a process of their own
        key = hash_with_software(repr((ref.sha256, str(placement), tuple(answers))))
        self.process = SharedProcess(
            f"model-{key[:16]}", make_handler, ref, placement, tuple(answers)
        )
        try:
            self.description = f"{self.process.ask(_Prepare(()))}, shared"
        except BaseException:
            self.process.close()
            raise

    def prepare(self, adapters: Adapters) -> None:
        """Let adapters be merged in advance. Raises BrainError if one does not fit."""
        self.process.ask(_Prepare(adapters))

    def answer(self, questions: Sequence[Question]) -> list[Answer | Exception]:
        """Return the answer to each question, one after the other: only those of different runs
        are answered together.
        """
        return [self.process.ask(question) for question in questions]

    def close(self) -> None:
        """Leave the process."""
        self.process.close()


def make_handler(ref: BrainRef, placement: Placement, answers: Sequence[str]) -> Handler:
    """Load a model in the shared process, and return what answers requests there."""
    model = LocalModel(ref, placement, answers, MODEL_CACHE.load)
    cores = os.cpu_count() or 1

    def handle(requests: Sequence[Any]) -> Sequence[Any]:
        replies: dict[int, Any] = {}
        questions: dict[int, Question] = {}
        for place, request in enumerate(requests):
            if isinstance(request, Question):
                questions[place] = request
                continue
            try:
                model.prepare(request.adapters)
                replies[place] = model.description
            except Exception as error:
                replies[place] = error
        limit_threads(min(max(len(questions) // PER_THREAD, 1), cores))
        answers = model.answer(list(questions.values()))
        replies.update(zip(questions, answers, strict=True))
        return [replies[place] for place in range(len(requests))]

    return handle
