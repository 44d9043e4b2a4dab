"""A process that several processes of a user share: each finds it by its name, or starts it.

Unlike a child process it has no parent, so it may outlive the process that started it. It ends when
nobody has been connected for a while. Requests that wait at the same time are handled together;
while it waits for others whom it answered last, with those that follow within a millisecond.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Final

from minibrains.errors import RunError, text_of
from minibrains.file_lock import locked
from minibrains.files import home, write_atomic
from minibrains.process.messages import Failure, decode, encode

LINGER: Final = 10.0
"""Seconds after which it ends when nobody is connected."""
MOST: Final = 16
"""The largest number of requests that are handled together."""

Handler = Callable[[Sequence[Any]], Sequence[Any]]
"""Takes some requests, and returns for each of them a reply, or an exception."""

_PROGRAM: Final = "from minibrains.process.shared import main; main()"
_READY: Final = b"ready\n"
_GATHER: Final = 0.001
"""Seconds to wait for one more request, while somebody who was answered last has none in the batch:
replies to a batch go out at once, so the next requests of all come one shortly after the other."""
_CHECK: Final = 1.0
"""Seconds after which an idle process looks whether anybody is connected."""
_SPINS: Final = "4000"
"""How often an OpenMP thread checks whether the others are done before it sleeps (GOMP_SPINCOUNT of
libgomp, 300,000 by default). One that goes on checking may occupy the core that another needs; one
that sleeps at once is woken too late."""
_ENDED: Final = (EOFError, OSError)
"""What is raised at the end of a connection."""
_UNREACHABLE: Final = (*_ENDED, AuthenticationError, ValueError, LookupError, TypeError)
"""What is raised if there is no such process, or its file is damaged."""

_started: Final[list[subprocess.Popen[bytes]]] = []
"""The processes that this one has started, so that those that have ended are not left in the list
of processes."""


class SharedProcess:
    """A connection to a process of some name; one thread may use it."""

    def __init__(self, name: str, make: Callable[..., Handler], *arguments: Any) -> None:
        """Remember how to reach or start the process.

        Args:
            name: A plain file name. Processes of the same name are the same.
            make: A function at the top of a module. In the process, `make(*arguments)` makes the
                handler; if it raises, every request is answered with that exception.
            arguments: Anything that can be pickled.

        Raises:
            RunError: An argument cannot be pickled.
        """
        self._name = name
        self._task = encode((make, arguments), f"what {name} needs")
        self._connection: Connection | None = None

    @property
    def pid(self) -> int:
        """The id of the process, as it was when it was reached last. Raises OSError."""
        found: int = json.loads(self._file("json").read_bytes())["pid"]
        return found

    def ask(self, request: Any) -> Any:
        """Return the reply to a request, from a process that is started if there is none.

        If it ends meanwhile, another one is started and asked the same, once.

        Args:
            request: Anything that can be pickled.

        Raises:
            RunError: The process cannot be started, or ended twice; or something cannot be pickled.
            Exception: What the handler raised for this request.
        """
        asked = encode(request, f"a request to {self._name}")
        try:
            reply = self._exchange(asked)
        except _ENDED:
            try:
                reply = self._exchange(asked)
            except _ENDED:
                raise RunError(
                    f"the process {self._name} ended twice while it was asked the same; see "
                    f"{self._file('log')}"
                ) from None
        if isinstance(reply, Failure):
            raise reply.unpack()
        return reply

    def close(self) -> None:
        """Leave the process. It may be asked again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _exchange(self, asked: bytes) -> Any:
        """Send a request, and return the reply. Raises one of _ENDED if the process has ended."""
        if self._connection is None:
            try:
                self._connection = self._connect()
            except OSError as error:
                raise RunError(
                    f"the process {self._name} cannot be started: {text_of(error)}"
                ) from None
        try:
            self._connection.send_bytes(asked)
            reply = self._connection.recv_bytes()
        except BaseException:
            self.close()  # whatever it still sends is not a reply to the next request
            raise
        return decode(reply, f"the reply of {self._name}", "outside of it")

    def _file(self, suffix: str) -> Path:
        return home() / "shared" / f"{self._name}.{suffix}"

    def _connect(self) -> Connection:
        """Reach the process, or start it. Raises RunError if it cannot be started."""
        folder = self._file("json").parent
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)  # it has the keys
        with locked(self._file("lock")):
            try:
                return _reach(self._file("json"))
            except _UNREACHABLE:
                self._start()
            try:
                return _reach(self._file("json"))
            except _UNREACHABLE:
                raise self._not_started() from None

    def _start(self) -> None:
        for started in list(_started):
            if started.poll() is not None:
                _started.remove(started)
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        environment = {**os.environ, "PYTHONPATH": paths}
        if "OMP_WAIT_POLICY" not in environment:
            environment.setdefault("GOMP_SPINCOUNT", _SPINS)
        with self._file("log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, self._file("json")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,  # Ctrl-C is for those that use it
            )
        _started.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError), process.stdin as its_input:
            its_input.write(self._task)
        with process.stdout as its_output:
            if its_output.readline() != _READY:
                raise self._not_started()

    def _not_started(self) -> RunError:
        return RunError(
            f"the process {self._name} ended before it could be asked; see {self._file('log')}"
        )


def _reach(file: Path) -> Connection:
    """Connect to the process that has written this file. Raises one of _UNREACHABLE."""
    about = json.loads(file.read_bytes())
    return Client(about["address"], authkey=bytes.fromhex(about["key"]))


# -- in the process --------------------------------------------------------------------------------


def main() -> None:
    """Serve as the process whose file is named in the command line, and whose task is written into
    standard input.
    """
    file = Path(sys.argv[1])
    make, arguments = decode(sys.stdin.buffer.read(), "its task", "in its process")
    key = secrets.token_bytes(32)
    with Listener(authkey=key) as listener:
        about = {"address": listener.address, "key": key.hex(), "pid": os.getpid()}
        write_atomic(file, json.dumps(about))
        server = _Server(listener)
        sys.stdout.buffer.write(_READY)
        sys.stdout.flush()
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody reads it any more
        server.serve(make, arguments)


class _Server:
    """The process as its users see it: connections, and the requests that wait."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._waiting: SimpleQueue[tuple[Connection, bytes]] = SimpleQueue()
        self._lock = threading.Lock()
        self._users = 0
        """Number of connections."""
        self._left = monotonic()
        """The time at which the last one was closed."""
        threading.Thread(target=self._accept, daemon=True).start()

    def serve(self, make: Callable[..., Handler], arguments: tuple[Any, ...]) -> None:
        """Make the handler, and handle requests until nobody is connected any more."""
        linger = LINGER
        try:
            handler = make(*arguments)
        except Exception as error:
            handler = _Refusal(error)
            linger = 0.0  # the next one may succeed
        answered: set[Connection] = set()
        while True:
            try:
                batch = [self._waiting.get(timeout=_CHECK)]
            except Empty:
                if self._is_unused(linger):
                    return
                continue
            missing = answered - {batch[0][0]}
            with suppress(Empty):
                while len(batch) < MOST:
                    batch.append(self._waiting.get(timeout=_GATHER if missing else 0))
                    missing.discard(batch[-1][0])
            answered = {connection for connection, _ in batch}
            self._handle(handler, batch)

    def _is_unused(self, linger: float) -> bool:
        with self._lock:
            return not self._users and monotonic() - self._left >= linger

    def _handle(self, handler: Handler, batch: Sequence[tuple[Connection, bytes]]) -> None:
        replies: Sequence[Any]
        try:
            replies = handler([decode(data, "a request", "in its process") for _, data in batch])
        except Exception as error:
            replies = [error] * len(batch)
        for (connection, _), reply in zip(batch, replies, strict=True):
            if isinstance(reply, Exception):
                reply = Failure.of(reply)
            with suppress(OSError):  # it does not wait any more
                connection.send_bytes(encode(reply, "a reply"))

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except (OSError, EOFError, AuthenticationError):
                continue
            with self._lock:
                self._users += 1
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: Connection) -> None:
        with suppress(OSError, EOFError):
            while True:
                self._waiting.put((connection, connection.recv_bytes()))
        with self._lock:
            self._users -= 1
            self._left = monotonic()


class _Refusal:
    """Answers every request with the exception that the handler could not be made for."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __call__(self, requests: Sequence[Any]) -> Sequence[Any]:
        return [self._error] * len(requests)
