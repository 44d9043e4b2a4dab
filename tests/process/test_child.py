"""Child processes: what they say arrives, whatever they do they come to an end,
and it is known how.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minibrains.errors import RunError
from minibrains.process.child import ChildProcess
from minibrains.process.messages import Failure
from minibrains.process.parent import ParentProcess
from tests.support.paths import ROOT
from tests.support.timeouts import TIMEOUT

LARGE = bytes(1 << 22)
"""More than a pipe takes while nobody reads."""


def echo(parent: ParentProcess) -> None:
    while True:
        try:
            parent.send(parent.receive())
        except EOFError:
            return


def end(parent: ParentProcess, how: str) -> None:
    parent.send(b"farewell")
    print("my last words", file=sys.stderr, flush=True)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "real-time signal":
        os.kill(os.getpid(), signal.SIGRTMIN + 1)
    if how == "exit":
        os._exit(3)
    if how == "raise":
        raise ValueError("no")


def hang(parent: ParentProcess) -> None:
    parent.send(b"from now on")
    threading.Event().wait()


def leave_a_fork(parent: ParentProcess) -> None:
    """End, and leave a process that holds everything open which this one had open."""
    fork = os.fork()
    if not fork:
        signal.sigwait([signal.SIGUSR1])
        os._exit(0)
    parent.send(str(fork).encode())
    os._exit(0)


@contextmanager
def started(
    function: Callable[..., None], *arguments: Any, **options: Any
) -> Iterator[ChildProcess]:
    options = {"name": "child", "shutdown_timeout": TIMEOUT, **options}
    child = ChildProcess(function, *arguments, **options)
    try:
        yield child
    finally:
        child.kill()


class Heard:
    """What a child that is listened to says."""

    def __init__(self, child: ChildProcess) -> None:
        self.messages: list[bytes] = []
        self.exited = threading.Event()
        child.listen(self.messages.append, self.exited.set)


def test_a_question_is_answered_and_the_end_is_in_good_order() -> None:
    with started(echo) as child:
        for message in (b"one", b"", LARGE):
            child.send(message)
            assert child.receive() == message
        child.close()
    assert child.exit_reason() == "exit status 0"


def test_what_is_posted_is_read_in_turn() -> None:
    with started(echo) as child:
        heard = Heard(child)
        messages = [str(number).encode() for number in range(100)]
        for message in messages:
            child.post(message)
        child.post(LARGE)
        while len(heard.messages) <= 100:
            assert not heard.exited.wait(0.01)
        assert heard.messages == [*messages, LARGE]


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("kill", "signal SIGKILL"),
        ("real-time signal", f"signal {signal.SIGRTMIN + 1:d}"),
        ("exit", "exit status 3"),
        ("raise", "exit status 1"),
        ("return", "exit status 0"),
    ],
)
def test_how_it_ended_is_known_and_what_it_said_before_is_heard(how: str, reason: str) -> None:
    with started(end, how, keep_output=True) as child:
        assert child.receive() == b"farewell"
        with pytest.raises(EOFError):
            child.receive()
        child.close()
    assert child.exit_reason() == reason
    assert "my last words" in child.output_tail
    with started(end, how, keep_output=True) as child:
        heard = Heard(child)
        assert heard.exited.wait(TIMEOUT)
    assert heard.messages == [b"farewell"]
    assert child.exit_reason() == reason
    assert "my last words" in child.output_tail


def test_what_it_forked_does_not_hide_its_end() -> None:
    with started(leave_a_fork) as child:
        fork = int(child.receive())
        try:
            with pytest.raises(EOFError):
                child.receive()
            child.close()
        finally:
            os.kill(fork, signal.SIGUSR1)
    assert child.exit_reason() == "exit status 0"
    with started(leave_a_fork) as child:
        heard = Heard(child)
        assert heard.exited.wait(TIMEOUT)
        os.kill(int(heard.messages[0]), signal.SIGUSR1)


def test_silence_is_told_after_the_time_that_was_given() -> None:
    with started(echo) as child:
        with pytest.raises(TimeoutError):
            child.receive(0.05)
        child.send(b"late")
        assert child.receive() == b"late"
        child.close()


def test_one_that_does_not_end_is_killed() -> None:
    with started(hang, shutdown_timeout=0.1) as child:
        child.receive()
        child.close()
    assert child.exit_reason() == "signal SIGKILL"


def test_nobody_waits_for_one_that_does_not_read() -> None:
    with started(hang) as child:
        heard = Heard(child)
        for _ in range(10):
            child.post(LARGE)
        child.kill()
        assert heard.exited.wait(TIMEOUT)
        child.post(b"to nobody")
    assert child.exit_reason() == "signal SIGKILL"


def test_signals_of_a_terminal_are_not_for_a_child() -> None:
    with started(echo) as child:
        child.send(b"there?")
        child.receive()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            assert child.pid is not None
            os.kill(child.pid, number)
        child.send(b"still there?")
        assert child.receive() == b"still there?"
        child.close()
    assert child.exit_reason() == "exit status 0"


def test_what_cannot_be_sent_is_a_sentence_that_names_it() -> None:
    with pytest.raises(RunError, match="what child needs cannot be sent to another process: "):
        ChildProcess(end, threading.Lock(), name="child", shutdown_timeout=TIMEOUT)


def test_an_exception_that_cannot_be_made_again_is_its_words() -> None:
    def refuse(number: int) -> None:
        raise ValueError(f"not {number}")

    with pytest.raises(ValueError, match="not 3") as caught:
        refuse(3)
    sent = Failure.of(caught.value)
    assert sent.exception is not None
    unknown = sent.exception.replace(b"ValueError", b"NotAnError")
    again = Failure(sent.message, sent.trace, unknown).unpack()
    assert type(again) is RunError
    assert str(again) == "ValueError: not 3"
    assert "in refuse" in str(again.__cause__)


def test_an_exception_comes_with_what_it_was_raised_from() -> None:
    error = ValueError("it cannot begin")
    error.__cause__ = ModuleNotFoundError("it is not there", name="numpy", path="numpy.py")
    cause = Failure.of(error).unpack().__cause__
    assert isinstance(cause, ModuleNotFoundError)
    assert (cause.name, cause.path) == ("numpy", "numpy.py")
    assert "it cannot begin" in str(cause.__cause__)


UNGUARDED = """
from minibrains.process.child import ChildProcess
from tests.process.test_child import hang

ChildProcess(hang, bytes(1_000_000), name="child", shutdown_timeout=0.5, keep_output=True).receive()
"""


def test_a_script_that_a_child_cannot_import_does_not_hang(tmp_path: Path) -> None:
    """Each process imports the script of its parent, and this one starts another process."""
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 1
    assert "EOFError: the process has ended" in done.stderr


# -- the end of the parent -------------------------------------------------------------------------

PARENT = """
import sys
from minibrains.process.child import ChildProcess
from tests.process.test_child import hang

if __name__ == "__main__":
    child = ChildProcess(hang, name="child", shutdown_timeout=0.5)
    child.receive()
    print("it hangs", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("way", ["killed", "ends without a word to its child"])
def test_a_busy_child_ends_with_its_parent(way: str, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, script], stdin=pipe, stdout=pipe, env=environment
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        if way == "killed":
            parent.kill()
        # its standard output ends when nobody has it open any more: the child had
        parent.communicate(timeout=TIMEOUT)
