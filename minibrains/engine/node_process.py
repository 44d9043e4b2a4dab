"""A node in a process of its own, for Python code that would delay the
tick even on another thread.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Literal

from minibrains.errors import RunError, describe_error
from minibrains.host import Episode, EpisodeStart, Host, WorkflowInfo
from minibrains.loading import BrainRef
from minibrains.node import Node, check_names
from minibrains.process.child import ChildProcess
from minibrains.process.messages import Failure, decode, encode
from minibrains.process.parent import ParentProcess
from minibrains.savings import Savings, collect_savings, tell_savings

_SHUTDOWN_TIMEOUT: Final = 5.0
"""Seconds that a process gets to end."""
_MAX_STARTS: Final = 5
"""Number of failed starts in a row after which the process is given up."""
_FIRST_DELAY: Final = 0.5
_LONGEST_DELAY: Final = 8.0
"""The shortest and the longest delay in seconds before a restart; it doubles after each start
without a result."""
Health = Literal["ready", "restarting", "lost"]
"""The health of a node's process; "lost": it ended and could not be started again."""

_CONSTANTS: Final = "what the node is given and does not change"
_GIVEN: Final = "what the node was given"
_GIVEN_OUT: Final = "what the node gave out"


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """The specification of a node, which can be sent to another process."""

    module: str
    file: str | None
    """The path of the module, if it cannot be imported by name."""
    name: str
    widgets: Mapping[str, Any]
    brain: BrainRef | None

    @classmethod
    def of(cls, node: type[Node], widgets: Mapping[str, Any], brain: BrainRef | None) -> NodeSpec:
        """Return the spec of a node of this class."""
        module = sys.modules[node.__module__]
        return cls(
            module.__name__,
            getattr(module, "__file__", None),
            node.__qualname__,
            {**widgets},
            brain,
        )

    def make(self) -> Node:
        """Make the node. Raises BrainError if its brain file was replaced since the run began."""
        try:
            module = importlib.import_module(self.module)
        except ModuleNotFoundError:
            module_spec = importlib.util.spec_from_file_location(self.module, self.file or "")
            if module_spec is None or module_spec.loader is None:
                raise
            module = sys.modules[self.module] = importlib.util.module_from_spec(module_spec)
            module_spec.loader.exec_module(module)
        node: type[Node] = attrgetter(self.name)(module)
        brain_class = node.schema.brain
        brain = None
        if brain_class is not None and self.brain is not None:
            self.brain.verify()  # it may have been replaced since the run began
            brain = brain_class.load(Path(self.brain.file))
        return node(brain=brain, **self.widgets)


@dataclass(frozen=True, slots=True)
class _About:
    """The attributes of a node's host that are known when its process starts."""

    node: str
    dir: Path
    frame_rate: float | None
    workflow: WorkflowInfo


@dataclass(frozen=True, slots=True)
class _HostCall:
    """A call of the node's host, on its way to the process of the run."""

    method: str
    content: bytes


@dataclass(frozen=True, slots=True)
class _HostRead:
    """A question for the node's host, which the process of the run answers at once."""

    attribute: Literal["stopping", "start"]


@dataclass(frozen=True, slots=True)
class _Ready:
    """Health: the node is open in its process, warmed up, and has begun the episode."""

    child: ChildProcess


@dataclass(frozen=True, slots=True)
class _Restarting:
    """Health: the process is being started, or has ended and will be replaced."""


@dataclass(frozen=True, slots=True)
class _Lost:
    """Health: there will be no other process."""

    why: str


class NodeDied(RunError):
    """A node's process ended by itself, or there is none any more."""


class NodeProcess:
    """A proxy for a node in another process: the same methods, called over a pipe, one at a time.

    When the process has ended, `restart_if_ended` starts another, whose node is as after `reset`.
    `kill` and `dismiss` and the methods about the health of the process may be called from any
    thread; all others, from one thread only.
    """

    def __init__(self, spec: NodeSpec) -> None:
        self.spec = spec
        self.restarts = 0
        """Number of times that the process ended and was replaced."""
        self._state: _Ready | _Restarting | _Lost = _Restarting()
        self._child: ChildProcess | None = None
        """The process, from the moment it is started."""
        self._constants: bytes | None = None
        """The encoded constants that the node was warmed up with."""
        self._episode: Episode | None = None
        self._delay = 0.0
        """Delay in seconds before the next start: 0 after a result, then doubling."""
        self._unreported: NodeDied | None = None
        """The death of a process that nobody was waiting for: the next call raises it."""
        self._dismissed = threading.Event()

    def open(self, host: Host) -> None:
        """Start the process and open the node there. Raises what opening it raised, or NodeDied."""
        self._host = host
        savings = self._start()
        tell_savings(savings)

    def settle(self) -> None:
        """Do nothing: the node was settled in the other process."""

    # -- health ------------------------------------------------------------------------------------

    @property
    def health(self) -> Health:
        """The health of the process: whether it would answer a call now."""
        match self._state:
            case _Lost():
                return "lost"
            case _Ready(child) if not child.killed:
                return "ready"
            case _:
                return "restarting"

    def check_health(self) -> None:
        """Raise NodeDied unless the process is ready for a call."""
        if self.health != "ready":
            self._raise_unreported()
            raise self._absence("its process is being started again")

    def _absence(self, otherwise: str) -> NodeDied:
        """Return the error for a call that no process can take: why the node is lost,
        or else `otherwise`.
        """
        if isinstance(self._state, _Lost):
            return NodeDied(self._state.why)
        return NodeDied(otherwise)

    def restart_if_ended(self) -> None:
        """If the process has ended, start another; if its node cannot be opened there,
        wait and try again a few times.
        """
        child = self._child
        if child is not None and not child.killed and not child.has_ended:
            return
        if child is not None:
            death = self._death(child)
            self._unreported = None if child.killed else death  # the caller of `kill` knows already
        if not isinstance(self._state, _Lost):
            self._restart()

    def _restart(self) -> None:
        began = perf_counter()
        for _ in range(_MAX_STARTS):
            if self._dismissed.wait(self._delay):
                return
            self._delay = min(_LONGEST_DELAY, max(_FIRST_DELAY, 2 * self._delay))
            try:
                self._start()
            except Exception as error:
                failure = error
            else:
                self.restarts += 1
                self._say(
                    f"its process had ended; another was ready after {perf_counter() - began:.1f} s"
                )
                return
        if not self._dismissed.is_set():
            sentence = (
                f"its process ended, and {_MAX_STARTS} others could not open the node: "
                f"{describe_error(failure)}"
            )
            self._state = _Lost(sentence)
            self._say(sentence)

    def _say(self, sentence: str) -> None:
        with suppress(Exception):  # there is no call that this error could be the answer to
            self._host.say(sentence)

    def kill(self) -> None:
        """End the process at once, whatever it is doing."""
        child = self._child
        if child is not None:
            child.kill()

    def dismiss(self) -> None:
        """Start no more processes, and end one that is being started."""
        self._dismissed.set()
        if self.health != "ready":
            self.kill()

    # -- the node's life cycle ---------------------------------------------------------------------

    def is_warmed_up(self, constants: Mapping[str, Any]) -> bool:
        """Return whether the node was warmed up with exactly these constants.

        May be called from any thread.
        """
        return self._constants == encode(constants, _CONSTANTS)

    def warm_up(self, constants: Mapping[str, Any]) -> Savings:
        """Warm the node up, and from now on every node that replaces it;
        return the work that caches saved.

        If the process ends meanwhile, the next call raises that too. A lost node is not warmed up.
        """
        if isinstance(self._state, _Lost):
            return {}
        encoded = encode(constants, _CONSTANTS)
        try:
            savings: Savings = self._call_child("warm_up", encoded)
        except NodeDied as death:
            self._unreported = NodeDied(str(death))
            raise
        self._constants = encoded
        return savings

    def reset(self, episode: Episode) -> None:
        """Start an episode of the node."""
        self._episode = episode
        self._call_child("reset", episode)

    def tick(self, *arguments: Any) -> Any:
        """Call the node's `tick` and wait for its result.

        Raises what the node raises, or NodeDied.
        """
        self._raise_unreported()
        result = self._call_child("tick", *arguments)
        self._delay = 0.0
        return result

    def report(self) -> Mapping[str, Any]:
        """Return the node's results of the episode."""
        report: Mapping[str, Any] = self._call_child("report")
        return report

    def is_done(self, episode: Episode) -> bool:
        """Return whether the node has everything of an episode."""
        return bool(self._call_child("is_done", episode))

    def finish(self, results: Mapping[str, Any]) -> None:
        """Finish an episode of the node."""
        self._call_child("finish", dict(results))

    def state(self) -> dict[str, Any]:
        """Return a copy of the node's state."""
        state: dict[str, Any] = self._call_child("state")
        return state

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `state` returned."""
        self._call_child("load_state", state)

    def set(self, **widgets: Any) -> None:
        """Change widgets of the node."""
        self.spec = replace(self.spec, widgets={**self.spec.widgets, **widgets})
        self._call_child("set", widgets)

    def close(self) -> None:
        """Close the node and end its process; after five seconds, kill it and raise RunError."""
        child = self._child
        if child is None:
            return
        try:
            if not child.killed:
                self._call(child, _SHUTDOWN_TIMEOUT, "close")
        finally:
            self._let_go()

    def _start(self) -> Savings:
        """Start a process and bring its node to the state of the one before;
        return the work that caches saved.
        """
        host = self._host
        about = _About(host.node, host.dir, host.frame_rate, host.workflow)
        name = f"node {about.node}"
        child = ChildProcess(
            _serve, self.spec, about, name=name, shutdown_timeout=_SHUTDOWN_TIMEOUT
        )
        self._child = child
        if self._dismissed.is_set():
            child.kill()
        try:
            savings: Savings = self._take_answer(child)
            if self._constants is not None:
                self._call(child, math.inf, "warm_up", self._constants)
            if self._episode is not None:
                self._call(child, math.inf, "reset", self._episode)
        except BaseException:
            child.kill()
            self._let_go()
            raise
        self._state = _Ready(child)
        return savings

    def _call_child(self, method: str, *arguments: Any) -> Any:
        if self._child is None:
            raise self._absence("its process has ended")
        return self._call(self._child, math.inf, method, *arguments)

    def _call(self, child: ChildProcess, timeout: float, method: str, *arguments: Any) -> Any:
        request = encode((method, self._host.tick, arguments), _GIVEN)
        try:
            child.send(request)
        except OSError:
            raise self._death(child) from None
        return self._take_answer(child, timeout)

    def _take_answer(self, child: ChildProcess, timeout: float = math.inf) -> Any:
        """Wait for the answer, and forward the node's calls of its host meanwhile."""
        refused: Exception | None = None
        while True:
            message = decode(self._receive(child, timeout), _GIVEN_OUT, "outside of its process")
            if isinstance(message, _HostCall):
                try:
                    self._pass_on(message)
                except Exception as error:  # the answer is still to come
                    refused = error
                continue
            if isinstance(message, _HostRead):
                answer = getattr(self._host, message.attribute)
                with suppress(OSError):  # the process has ended: `_receive` will say how
                    child.send(encode(answer, "what the host answered"))
                continue
            value, failure = message
            if refused is not None:
                raise refused
            if failure is not None:
                raise failure.unpack()
            return value

    def _receive(self, child: ChildProcess, timeout: float) -> bytes:
        try:
            return child.receive(timeout)
        except EOFError:
            raise self._death(child) from None
        except TimeoutError:
            child.kill()
            raise RunError(f"its process did not answer within {timeout:g} s") from None

    def _pass_on(self, call: _HostCall) -> None:
        arguments, named = decode(
            call.content, "what the node told its host", "outside of its process"
        )
        getattr(self._host, call.method)(*arguments, **named)

    def _death(self, child: ChildProcess) -> NodeDied:
        self._let_go()
        how = f"by {child.exit_signal}" if child.exit_signal else f"with status {child.exit_status}"
        return NodeDied(f"its process ended {how}")

    def _raise_unreported(self) -> None:
        death, self._unreported = self._unreported, None
        if death is not None:
            raise death

    def _let_go(self) -> None:
        """Close the pipe and wait for the end of the process."""
        if isinstance(self._state, _Ready):
            self._state = _Restarting()
        child, self._child = self._child, None
        if child is not None:
            child.close()


@dataclass(slots=True)
class _ProcessHost(Host):
    """The Host of a node in another process: its calls are sent back over the pipe."""

    parent: ParentProcess
    about: _About
    tick: int = 0

    @property
    def node(self) -> str:
        return self.about.node

    @property
    def dir(self) -> Path:
        return self.about.dir

    @property
    def frame_rate(self) -> float | None:
        return self.about.frame_rate

    def size(self, **sizes: int) -> None:
        self._send("size", **sizes)

    def rate(self, frames_per_second: float) -> None:
        raise AttributeError("the host of a node in a process of its own has no 'rate'")

    def say(self, text: str) -> None:
        self._send("say", text)

    def record(self, **metadata: str) -> None:
        self._send("record", **metadata)

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        self._send("progress", done, total, text)

    @property
    def stopping(self) -> bool:
        return bool(self._read("stopping"))

    @property
    def workflow(self) -> WorkflowInfo:
        return self.about.workflow

    @property
    def start(self) -> EpisodeStart | None:
        start: EpisodeStart | None = self._read("start")
        return start

    def begin(self, start: EpisodeStart) -> None:
        raise AttributeError("the host of a node in a process of its own has no 'begin'")

    def _read(self, attribute: Literal["stopping", "start"]) -> Any:
        self.parent.send(encode(_HostRead(attribute), "what the node asked its host"))
        return decode(self.parent.receive(), "what the host answered", "in its process")

    def _send(self, method: str, *arguments: Any, **named: Any) -> None:
        what = "what the node told its host"
        content = encode((arguments, named), what)
        self.parent.send(encode(_HostCall(method, content), what))


def _serve(parent: ParentProcess, spec: NodeSpec, about: _About) -> None:
    """Make the node in the other process, and call it as requested until the pipe ends."""
    # standard output belongs to the run, so what a node prints goes to standard error
    os.dup2(2, 1)
    host = _ProcessHost(parent, about)
    node: Any = None

    def opened() -> Savings:
        nonlocal node
        savings: Savings = {}
        with collect_savings(savings):
            node = spec.make()
            node.open(host)
        check_names(node)
        node.settle()
        return savings

    def warm_up(encoded: bytes) -> Savings:
        constants = decode(encoded, _CONSTANTS, "in its process")
        savings: Savings = {}
        with collect_savings(savings):
            node.warm_up(constants)
        return savings

    def reset(episode: Episode) -> None:
        node.reset(episode)
        check_names(node)

    def set_widgets(widgets: Mapping[str, Any]) -> None:
        node.set(**widgets)

    special: dict[str, Callable[..., Any]] = {
        "warm_up": warm_up,
        "reset": reset,
        "set": set_widgets,
    }
    if not _answer(parent, opened):
        with suppress(Exception):
            node.close()
        return
    while True:
        try:
            request = parent.receive()
        except EOFError:
            return  # the run has ended
        try:
            method, host.tick, arguments = decode(request, _GIVEN, "in its process")
        except RunError as error:
            parent.send(encode((None, Failure.of(error)), _GIVEN_OUT))
            continue
        function = special.get(method) or getattr(node, method)
        _answer(parent, function, *arguments)
        if method == "close":
            return


def _answer(parent: ParentProcess, function: Callable[..., Any], *arguments: Any) -> bool:
    """Send the result of the function, or its error; return whether it succeeded."""
    try:
        answer = encode((function(*arguments), None), _GIVEN_OUT)
        went_well = True
    except Exception as error:
        answer = encode((None, Failure.of(error)), _GIVEN_OUT)
        went_well = False
    parent.send(answer)
    return went_well
