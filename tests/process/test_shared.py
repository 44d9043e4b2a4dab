"""Processes that are shared: found by their name, started again when they die, and ended when
nobody uses them.
"""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from minibrains.errors import BrainError, RunError
from minibrains.process import shared
from minibrains.process.shared import SharedProcess
from tests.support.timeouts import TIMEOUT


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, for this process and those that it starts."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def connect() -> Iterator[Callable[..., SharedProcess]]:
    """Connect to a process, and end it after the test."""
    made: list[SharedProcess] = []

    def connect(make: Any, *arguments: Any) -> SharedProcess:
        made.append(SharedProcess("test", make, *arguments))
        return made[-1]

    yield connect
    for process in made:
        process.close()
    for started in shared._started:
        started.kill()
        started.wait()


def make_counter(word: str) -> Any:
    """Make a handler that tells how many requests it was given at once."""

    def handle(requests: Sequence[Any]) -> Sequence[Any]:
        replies: list[Any] = []
        for request in requests:
            if request == "fail":
                replies.append(BrainError("this one fails"))
            elif request == "die":
                os._exit(3)
            else:
                replies.append((word, request, len(requests), os.getpid()))
        return replies

    return handle


def make_dying_once(mark: Path) -> Any:
    """Make a handler that ends its process at the first request, and answers the next one."""

    def handle(requests: Sequence[Any]) -> Sequence[Any]:
        if not mark.exists():
            mark.touch()
            os._exit(3)
        return list(requests)

    return handle


def make_nothing() -> Any:
    """Fail to make a handler."""
    raise BrainError("there is no room for it")


def test_two_that_ask_the_same_name_share_a_process(connect: Any, home: Path) -> None:
    first, second = connect(make_counter, "a"), connect(make_counter, "b")
    one, other = first.ask(1), second.ask(2)
    assert (one[:3], other[:3]) == (("a", 1, 1), ("a", 2, 1))
    assert one[3] == other[3] == first.pid != os.getpid()
    folder = home / "shared"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700, "it has the keys"


def test_an_exception_is_for_the_one_that_asked(connect: Any) -> None:
    process = connect(make_counter, "a")
    with pytest.raises(BrainError, match="this one fails"):
        process.ask("fail")
    assert process.ask(1)[1] == 1


def test_requests_that_wait_at_the_same_time_are_handled_together(connect: Any) -> None:
    assert connect(make_counter, "a").ask(0)[2] == 1, "alone"
    together = threading.Event()

    def ask_until(process: SharedProcess, number: int) -> None:
        while not together.is_set():
            reply = process.ask(number)
            assert reply[1] == number
            if reply[2] > 1:
                together.set()

    threads: list[threading.Thread] = []
    for number in range(6):
        process = connect(make_counter, "a")
        threads.append(threading.Thread(target=ask_until, args=(process, number)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_process_that_dies_is_replaced_and_nothing_is_lost(connect: Any, tmp_path: Path) -> None:
    process = connect(make_dying_once, tmp_path / "mark")
    assert process.ask("again") == "again"


def test_a_process_that_was_killed_is_replaced(connect: Any) -> None:
    first, second = connect(make_counter, "a"), connect(make_counter, "a")
    before = first.ask(1)[3]
    assert second.ask(1)[3] == before
    os.kill(before, signal.SIGKILL)
    shared._started[-1].wait()
    after = first.ask(2)[3]
    assert after != before
    assert second.ask(2)[3] == after, "the one that the first has started"


def test_a_request_that_it_dies_of_is_an_error(connect: Any) -> None:
    process = connect(make_counter, "a")
    with pytest.raises(RunError, match=r"test ended twice while it was asked the same; see .*log"):
        process.ask("die")
    assert process.ask(1)[1] == 1


def test_what_cannot_be_made_is_told_to_everyone_that_asks(connect: Any) -> None:
    for _ in range(2):
        process = connect(make_nothing)
        with pytest.raises(BrainError, match="there is no room for it"):
            process.ask(1)
        process.close()
    assert shared._started[-1].wait(TIMEOUT) == 0, "the next one may succeed"


@pytest.mark.slow
def test_a_process_that_nobody_uses_ends(connect: Any) -> None:
    process = connect(make_counter, "a")
    before = process.ask(1)[3]
    process.close()
    assert process.ask(2)[3] == before, "not at once"
    process.close()
    assert shared._started[-1].wait(TIMEOUT) == 0
    assert process.ask(3)[3] != before


def test_a_folder_that_cannot_be_made_is_a_sentence(connect: Any, home: Path) -> None:
    home.mkdir()
    (home / "shared").write_text("a file")
    with pytest.raises(RunError, match=r"the process test cannot be started: .*File exists"):
        connect(make_counter, "a").ask(1)
