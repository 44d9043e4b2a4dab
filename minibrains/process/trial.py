"""Run a function once in a process with limited memory and processor time,
and keep the outcome on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from time import perf_counter
from typing import Any, Final, NamedTuple

from minibrains.disk_cache import Made, disk_cache
from minibrains.errors import MinibrainsError
from minibrains.process.child import ChildProcess
from minibrains.process.messages import Failure, decode, encode
from minibrains.process.parent import ParentProcess
from minibrains.savings import tell_saving
from minibrains.software import hash_with_software

MEMORY: Final = 4 << 30
"""Memory limit in bytes."""
SECONDS: Final = 60
"""Limit of processor time, which does not depend on how busy the machine is."""
_WALL_SECONDS: Final = 1800
"""Limit of wall time, for a function that waits instead of computing."""
_SHUTDOWN_TIMEOUT: Final = 5.0
_ANSWER: Final = "the result of the trial"


class Verdict(NamedTuple):
    """The outcome of a trial."""

    refused: str | None
    """The sentence that the function was refused with; None if it succeeded."""
    result: Any = None
    """The result of the function, if it succeeded."""


def try_out(key: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of `function(*arguments)` in a process with limits,
    or the kept result of an earlier trial.

    Args:
        key: A SHA-256 in hexadecimal digits of everything that the result follows from, besides
            software and machine.
        function: A function at the top level of a module. `minibrains.codec` must be able to pack
            its result.
        arguments: Anything that can be pickled.

    Raises:
        MinibrainsError: The function raised one, or exceeded a limit. This outcome is kept too.
    """
    cache = disk_cache()
    key = hash_with_software(f"trial {key}")
    try:
        verdict, seconds = cache.get(key, Verdict)
        tell_saving("its files were tried out before", seconds)
    except KeyError:
        began = perf_counter()
        verdict = _verdict(function, arguments)
        cache.put(key, Made(verdict, perf_counter() - began))
    if verdict.refused is not None:
        raise MinibrainsError(verdict.refused)
    return verdict.result


def _verdict(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Verdict:
    """Run the trial. Errors that do not come from the function, such as a full disk, are raised."""
    limits = SECONDS, MEMORY
    child = ChildProcess(
        _try,
        limits,
        function,
        arguments,
        name="trial",
        shutdown_timeout=_SHUTDOWN_TIMEOUT,
        keep_output=True,
    )
    with closing(child):
        try:
            result, failure = decode(
                child.receive(_WALL_SECONDS), _ANSWER, "outside of its process"
            )
        except EOFError:
            return Verdict(_why_it_ended(child))
        except BaseException:
            child.kill()
            raise
    if failure is None:
        return Verdict(None, result)
    error = failure.unpack()
    if isinstance(error, MemoryError):
        return Verdict(_TOO_MUCH_MEMORY)
    if isinstance(error, MinibrainsError):
        return Verdict(str(error))
    raise error


_TOO_MUCH_MEMORY: Final = f"it needs more than {MEMORY >> 30} GiB of memory"


def _why_it_ended(child: ChildProcess) -> str:
    """Describe what ended the process; raise if the function was not the cause."""
    child.close()
    if child.exit_signal == "SIGXCPU":
        return f"it takes more than {SECONDS} s of processor time"
    if "memory" in child.output_tail:
        return _TOO_MUCH_MEMORY
    # a process that ended before the function began sent nothing: it imports the script that this
    # process runs
    why = (
        child.output_tail[-300:]
        or 'a script of your own must keep its code below if __name__ == "__main__":'
    )
    raise MinibrainsError(f"the process it was tried in ended with {child.exit_reason()}: {why}")


def _try(
    parent: ParentProcess,
    limits: tuple[int, int],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    """Set the limits in the new process, and send what the function returns or raises."""
    import resource  # not available on Windows

    seconds, memory = limits
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    answer: tuple[Any, Failure | None]
    try:
        answer = function(*arguments), None
    except BaseException as error:
        answer = None, Failure.of(error)
    parent.send(encode(answer, _ANSWER))
