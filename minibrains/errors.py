"""Errors for people: one sentence that names the problem, the place, what was expected,
and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final, Literal

from minibrains.packages import install_command, missing_package

FaultCode = Literal[
    "bad_linked_input",
    "custom_validation_failed",
    "cycle_never_begins",
    "dependency_cycle",
    "file_taken",
    "invalid_argument",
    "invalid_brain",
    "invalid_file",
    "invalid_file_name",
    "invalid_input_type",
    "invalid_node_id",
    "invalid_node_type",
    "invalid_value",
    "invalid_workflow",
    "migration_failed",
    "missing_console",
    "missing_node_type",
    "more_faults",
    "newer_version",
    "not_applicable",
    "rate_not_available",
    "request_failed",
    "required_brain_missing",
    "required_input_missing",
    "return_type_mismatch",
    "too_many_links",
    "unknown_input",
    "unknown_key",
    "unknown_node",
    "unknown_output",
    "unknown_widget",
    "value_bigger_than_max",
    "value_not_in_list",
    "value_smaller_than_min",
    "wrong_game",
]
"""The kinds of faults, for programs; they do not change between versions. docs/protocol.md explains
each."""

FAULTS_TOLD: Final = 100
"""Largest number of faults of a workflow that are listed; the rest are only counted."""
_LONGEST: Final = 20_000
"""Longest message in characters: the exception of a node may have one of any length."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a workflow, and its place."""

    code: FaultCode = field(kw_only=True)
    message: str
    node: str | None = None
    socket: str | None = None
    expected: str | None = None
    found: str | None = None
    cause: str | None = None
    """For sizes that disagree: where each of them comes from."""
    hint: str | None = None

    def __str__(self) -> str:
        text = self.message
        location = [part for part in (self.node, self.socket) if part]
        if location:
            text = f"{'.'.join(location)}: {text}"
        evidence: list[str] = []
        if self.expected is not None:
            evidence.append(f"expected {self.expected}")
        if self.found is not None:
            evidence.append(f"found {self.found}")
        if evidence:
            text += f"; {', '.join(evidence)}"
        if self.cause:
            text += f". {self.cause}"
        if self.hint:
            text += f". {self.hint}"
        return shorten(text)

    def as_json(self) -> dict[str, str | None]:
        """Return all fields as a JSON object."""
        texts = {declared.name: getattr(self, declared.name) for declared in fields(self)}
        return {name: text and shorten(text) for name, text in texts.items()}


class MinibrainsError(Exception):
    """Base class of our errors: the request was wrong.

    The message is written for the person who made it.
    """


class NodeClassError(MinibrainsError, TypeError):
    """A node or brain class is declared wrongly; raised when its module is imported."""


class BrainError(MinibrainsError):
    """A brain file is missing, damaged, of the wrong kind, or does not fit its node."""


class DataError(MinibrainsError):
    """A data set is damaged, does not fit what it is used for, or must not be learned from."""


class GameError(MinibrainsError):
    """A game cannot be played: its ROM, state or data is missing or wrong."""


class WorkflowError(MinibrainsError):
    """A workflow is wrong; `faults` lists everything at once."""

    def __init__(self, faults: Iterable[Fault], where: str = "the workflow") -> None:
        self.faults = tuple(faults)
        count = len(self.faults)
        lines = [f"{where} has {count} fault{'s' if count != 1 else ''}:"]
        lines.extend(f"  {fault}" for fault in self.faults[:FAULTS_TOLD])
        if count > FAULTS_TOLD:
            lines.append(f"  {_more_faults(count)}")
        super().__init__("\n".join(lines))


class RunError(MinibrainsError):
    """A run failed while it was being played."""


def shorten(text: str) -> str:
    """Return the text, shortened if it is longer than a message may be."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… ({len(text)} characters)"


def text_of(error: BaseException) -> str:
    """Return the message of an error, even if its `__str__` raises."""
    try:
        return shorten(str(error))
    except Exception as second:
        return f"its message cannot be read: __str__ raised {type(second).__name__}"


def is_refusal(error: BaseException) -> bool:
    """Return whether an error refuses a request. Otherwise, the request was tried and failed."""
    if isinstance(error, MinibrainsError):
        return not isinstance(error, RunError)
    return missing_package(error) is not None


def describe_error(error: BaseException) -> str:
    """Describe an error: the message of our own errors, which are sentences;
    type and message of all others.
    """
    package = missing_package(error)
    if package is not None:
        command = install_command(package)
        return f"the Python package {package} is missing; install it with: {command}"
    text = text_of(error)
    if isinstance(error, MinibrainsError):
        return text
    return f"{type(error).__name__}: {text}"


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to `name`, or None.

    Only the first thousand are compared, because that is slow.
    """
    matches: Sequence[str] = get_close_matches(name[:100], list(islice(known, 1000)), n=1)
    if matches:
        return matches[0]
    return None


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return a hint with the known name that was probably meant, or None."""
    meant = closest(name, known)
    if meant:
        return f"Did you mean {meant!r}?"
    return None


def sentence(error: BaseException) -> str:
    """Return the message that a command ends with, for people."""
    if isinstance(error, MinibrainsError) or missing_package(error):
        return describe_error(error)
    if isinstance(error, KeyboardInterrupt):
        return "stopped by Ctrl-C"
    if isinstance(error, OSError):
        reason = shorten(error.strerror) if error.strerror else text_of(error)
        if error.filename:
            return f"{error.filename}: {reason}"
        return reason
    return f"a fault in Minibrains itself: {describe_error(error)}"


def _more_faults(count: int) -> str:
    return f"and {count - FAULTS_TOLD} more; fix the first {FAULTS_TOLD} and check again"


def faults_of(error: BaseException) -> list[dict[str, str | None]]:
    """Return all faults of an error as JSON objects; none if it has no faults."""
    if isinstance(error, WorkflowError):
        faults = [fault.as_json() for fault in error.faults[:FAULTS_TOLD]]
        if len(error.faults) > FAULTS_TOLD:
            more = Fault(_more_faults(len(error.faults)), code="more_faults")
            faults.append(more.as_json())
        return faults
    return [Fault(sentence(error), code="request_failed").as_json()]


def as_error(error: BaseException) -> dict[str, Any]:
    """Return the object that `--json` prints for an error: `{"error": {"message", "faults"}}`,
    `faults` only for workflows.
    """
    about: dict[str, Any] = {"message": sentence(error)}
    if isinstance(error, WorkflowError):
        about["faults"] = faults_of(error)
    return {"error": about}
