"""The benchmark `bench vlm`: questions a second that eight runs ask a vision-language model, each
its own or all the same one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, thread_time
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains.errors import MinibrainsError
from minibrains.loading import MODEL_CACHE, BrainRef
from minibrains.process.child import ChildProcess
from minibrains.process.messages import decode, encode
from minibrains.process.parent import ParentProcess
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from nodes.language.answering import LocalModel, Question
from nodes.language.placement import place
from nodes.language.pretrained import VLMBrain
from nodes.language.shared_model import SharedModel
from nodes.language.vlm import VLMStrategist
from server.commands.bench.measure import take_turns

RUNS: Final = 8
SECONDS: Final = 3.0
"""Seconds for which runs ask in a turn."""
TURNS: Final = 3
REPEATS: Final = 15
SIZE: Final = (64, 192, 3)
"""The size of the picture that sf2 shows its model."""
PROMPT: Final = "You are on the left. Which action?"
MAX_TOKENS: Final = 8
"""The largest number of tokens of a generated answer."""
_OWN: Final = b"own"
_SHARED: Final = b"shared"
"""The model that a run is told to ask."""
_SHUTDOWN_TIMEOUT: Final = 10.0
_TIMEOUT: Final = 600.0
"""Seconds within which a run has loaded its model, or asked its questions."""


class _Rate(NamedTuple):
    """How fast a model answers."""

    per_s: float
    """Answers a second."""
    cpu: float
    """Seconds of processor time of an answer; NaN where the system does not tell."""


class _Asked(NamedTuple):
    """What a run has asked in a turn."""

    questions: int
    seconds: float
    cpu: float
    """Seconds of processor time of its process."""


def run(spec: RunSpec) -> dict[str, Any]:
    """Return `{"cases": [{"what", "per_s", "cpu_ms"}], "together", "at_8_runs", "cpu_at_8_runs"}`
    for the model of the first VLMStrategist of the workflow: a row for each way to ask it, with the
    answers a second and the milliseconds of processor time of an answer.

    The first rows are of one thread in this process: a question at a time, one that it was asked
    before or in new words each time, or eight questions together, which choose or generate up to 8
    tokens. The others are of processes that ask one question after the other, each a model of its
    own, or all a shared one; its processor time is theirs and that of the shared process, where the
    system tells it.

    `together` is how many times as many answers a second the thread gives to eight at once;
    `at_8_runs`, how many times as many eight processes get from a shared model; `cpu_at_8_runs`,
    how many times as much processor time an answer takes them without it.

    Raises MinibrainsError if there is no VLMStrategist.
    """
    ref, answers = _model(spec)
    one = "choose" if answers else "generate"
    cases = _ask_here(ref, answers)
    cases |= _ask_elsewhere(ref, answers)
    rows: list[dict[str, Any]] = []
    for what, (rate, cpu) in cases.items():
        rows.append({"what": what, "per_s": round(rate, 1), "cpu_ms": round(1e3 * cpu, 2)})
    together = cases[f"{one}, 8 together"].per_s / cases[one].per_s
    own, shared = cases["eight runs, own"], cases["eight runs, shared"]
    return {
        "cases": rows,
        "together": round(together, 2),
        "at_8_runs": round(shared.per_s / own.per_s, 2),
        "cpu_at_8_runs": round(own.cpu / shared.cpu, 2),
    }


def _median(turns: Sequence[_Rate]) -> _Rate:
    return _Rate(median(turn.per_s for turn in turns), median(turn.cpu for turn in turns))


def _model(spec: RunSpec) -> tuple[BrainRef, tuple[str, ...]]:
    """Return the file of the model of a workflow, and the answers it chooses from."""
    for node in Run(spec).graph.nodes.values():
        if issubclass(node.cls, VLMStrategist) and node.brain is not None:
            brain = VLMBrain.load(node.brain)
            assert brain.ref is not None
            return brain.ref, brain.answers
    raise MinibrainsError("the workflow has no VLMStrategist; expected one with it, such as sf2")


def _ask_here(ref: BrainRef, answers: Sequence[str]) -> dict[str, _Rate]:
    """Return how fast one thread of this process answers, by what it is asked."""
    model = LocalModel(ref, place("cpu", "f32"), answers, MODEL_CACHE.load)
    random, numbers = np.random.default_rng(0), count()
    pictures = random.integers(0, 256, (RUNS, *SIZE), np.uint8)
    cpu: dict[str, list[float]] = {}

    def ask(what: str, most: int, at_once: int, in_new_words: bool = False) -> None:
        began = thread_time()
        for first in range(0, RUNS, at_once):
            questions: list[Question] = []
            for picture in pictures[first : first + at_once]:
                prompt = PROMPT
                if in_new_words:
                    prompt = f"{next(numbers):06d} {PROMPT}"
                questions.append(Question(picture, prompt, (), most))
            for reply in model.answer(questions):
                if isinstance(reply, Exception):
                    raise reply
        cpu.setdefault(what, []).append(thread_time() - began)

    works = {
        "choose": partial(ask, "choose", 0, 1),
        "choose, 8 together": partial(ask, "choose, 8 together", 0, RUNS),
        "generate": partial(ask, "generate", MAX_TOKENS, 1),
        "generate, 8 together": partial(ask, "generate, 8 together", MAX_TOKENS, RUNS),
    }
    if not answers:
        del works["choose"], works["choose, 8 together"]
    works["in new words"] = partial(ask, "in new words", 0 if answers else MAX_TOKENS, 1, True)
    for work in works.values():
        work()
    cases: dict[str, _Rate] = {}
    for what, taken in take_turns(works, REPEATS).items():
        cases[what] = _Rate(RUNS / median(taken), median(cpu[what]) / RUNS)
    return cases


def _ask_elsewhere(ref: BrainRef, answers: tuple[str, ...]) -> dict[str, _Rate]:
    """Return how fast the models of one process and of eight answer, and the one that they
    share.
    """
    cases: dict[str, _Rate] = {}
    model = SharedModel(ref, place("cpu", "f32"), answers)
    with ExitStack() as ends:
        ends.callback(model.close)
        children: list[ChildProcess] = []
        for number in range(RUNS):
            child = ChildProcess(
                _ask,
                ref,
                answers,
                number,
                name=f"run {number}",
                shutdown_timeout=_SHUTDOWN_TIMEOUT,
            )
            ends.callback(child.close)
            children.append(child)
        for child in children:
            child.receive(_TIMEOUT)
        for runs, name in ((1, "one run"), (RUNS, "eight runs")):
            own: list[_Rate] = []
            shared: list[_Rate] = []
            for _ in range(TURNS):  # in turn, so that a busy moment affects both
                own.append(_take_turn(children[:runs], _OWN, model))
                shared.append(_take_turn(children[:runs], _SHARED, model))
            cases[f"{name}, own"] = _median(own)
            cases[f"{name}, shared"] = _median(shared)
    return cases


def _take_turn(children: Sequence[ChildProcess], which: bytes, model: SharedModel) -> _Rate:
    before = _cpu_of(model)
    for child in children:
        child.send(which)
    asked: list[_Asked] = []
    for child in children:
        asked.append(decode(child.receive(_TIMEOUT), "what was asked", "outside of its run"))
    cpu = sum(each.cpu for each in asked) + _cpu_of(model) - before
    rate = sum(each.questions / each.seconds for each in asked)
    return _Rate(rate, cpu / sum(each.questions for each in asked))


def _ask(parent: ParentProcess, ref: BrainRef, answers: tuple[str, ...], number: int) -> None:
    """Ask one question after the other in a process of its own, for some seconds each time the
    parent says of which model.
    """
    placement = place("cpu", "f32")
    picture = np.random.default_rng(number).integers(0, 256, SIZE, np.uint8)
    question = Question(picture, PROMPT, (), 0 if answers else MAX_TOKENS)
    own = LocalModel(ref, placement, answers, MODEL_CACHE.load)
    with closing(SharedModel(ref, placement, answers)) as shared, suppress(EOFError):
        models: dict[bytes, LocalModel | SharedModel] = {_OWN: own, _SHARED: shared}
        for model in models.values():
            model.answer([question])
        parent.send(b"ready")
        while which := parent.receive():
            model = models[which]
            began, worked, questions = perf_counter(), process_time(), 0
            while perf_counter() - began < SECONDS:
                model.answer([question])
                questions += 1
            asked = _Asked(questions, perf_counter() - began, process_time() - worked)
            parent.send(encode(asked, "what was asked"))


def _cpu_of(model: SharedModel) -> float:
    """Return the seconds of processor time of a shared process so far; NaN if unknown."""
    try:
        stat = Path(f"/proc/{model.process.pid}/stat").read_text()
    except OSError:  # not Linux
        return math.nan
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
