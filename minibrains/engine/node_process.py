"""A node in a process of its own: for work in Python, which would hold up the tick even on another thread."""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from minibrains.errors import MinibrainsError, RunError
from minibrains.host import Episode, Host, map_here
from minibrains.loading import LOADED, BrainRef
from minibrains.node import Node, check_names
from minibrains.process.spawn import start_shielded, take_no_orders

_SPAWN: Final = multiprocessing.get_context("spawn")  # a fork would copy the emulator and its threads
_PATIENCE: Final = 5.0
"""Seconds that a process gets to come to an end."""


def _view(items: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(items)


ForkingPickler.register(MappingProxyType, lambda view: (_view, (dict(view),)))  # objects in widgets and on links are read-only


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make the node: everything can be sent to another process."""

    module: str
    file: str | None
    """Where the module lies, if it cannot be imported by its name."""
    name: str
    widgets: Mapping[str, Any]
    brain: BrainRef | None

    @classmethod
    def of(cls, node: type[Node], widgets: Mapping[str, Any], brain: BrainRef | None) -> Recipe:
        module = sys.modules[node.__module__]
        return cls(module.__name__, getattr(module, "__file__", None), node.__qualname__, {**widgets}, brain)

    def make(self) -> Node:
        try:
            module = importlib.import_module(self.module)
        except ModuleNotFoundError:
            spec = importlib.util.spec_from_file_location(self.module, self.file or "")
            if spec is None or spec.loader is None:
                raise
            module = sys.modules[self.module] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        node: type[Node] = attrgetter(self.name)(module)
        kind = node.schema.brain
        brain = None
        if kind is not None and self.brain is not None:
            self.brain.verify()  # it may have been replaced since the run began
            brain = kind.load(Path(self.brain.file))
        return node(brain=brain, **self.widgets)


class NodeDied(RunError):
    """A node's process came to an end by itself."""


class NodeProcess:
    """Stands for a node in another process: the same life, asked for over a pipe, one thing at a time.

    A process that died is started anew when the node is next wanted, and its node is as after `reset`.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._episode: Episode | None = None
        self._killed = False

    def open(self, host: Host) -> None:
        """Start the process and open the node there. Raises RunError with what went wrong."""
        self._host = host
        self._start()

    def settle(self) -> None:
        """The other process has done it."""

    def revive(self) -> None:
        """Start the process anew if it died or was killed."""
        if self._killed:
            self._let_go()
        if self._pipe is None:
            self._start()

    def reset(self, episode: Episode) -> None:
        self._episode = episode
        self._ask("reset", episode)

    def tick(self, *arguments: Any) -> Any:
        return self._ask("tick", *arguments)

    def report(self) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._ask("report")
        return answer

    def state(self) -> dict[str, Any]:
        answer: dict[str, Any] = self._ask("state")
        return answer

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._ask("load_state", state)

    def set(self, **widgets: Any) -> None:
        self.recipe = replace(self.recipe, widgets={**self.recipe.widgets, **widgets})
        self._ask("set", **widgets)

    def kill(self) -> None:
        """End the process at once, whatever it is doing. The only thing that may be called from another thread."""
        self._killed = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Close the node and end its process. Raises RunError if that takes more than five seconds; then it is killed."""
        if self._pipe is None:
            return
        try:
            if not self._killed:
                self._pipe.send(("close", self._host.tick, (), {}))
                self._hear(_PATIENCE)
        except OSError:
            raise self._death() from None
        finally:
            self._let_go()

    def _start(self) -> None:
        ours, theirs = _SPAWN.Pipe()
        about = _About(self._host.node, self._host.dir, self._host.frame_rate)
        process = _SPAWN.Process(target=_serve, args=(theirs, self.recipe, about), daemon=True)
        start_shielded(process)
        theirs.close()
        self._process, self._pipe, self._killed = process, ours, False
        try:
            self._hear()
            if self._episode is not None:
                self._ask("reset", self._episode)
        except BaseException:
            self.kill()
            self._let_go()
            raise

    def _ask(self, what: str, *arguments: Any, **named: Any) -> Any:
        self.revive()
        assert self._pipe is not None
        try:
            self._pipe.send((what, self._host.tick, arguments, named))
        except OSError:
            raise self._death() from None
        except Exception as error:
            raise RunError(f"what the node was given cannot be sent to another process: {error}") from error
        return self._hear()

    def _hear(self, patience: float | None = None) -> Any:
        """The answer; what the node says to its host on the way is passed on."""
        assert self._pipe is not None
        refused: Exception | None = None
        while True:
            try:
                if not self._pipe.poll(patience):
                    self.kill()
                    raise RunError(f"its process did not answer within {patience:g} s")
                kind, what = self._pipe.recv()
            except (EOFError, OSError):
                raise self._death() from None
            except MinibrainsError:
                raise
            except Exception as error:
                raise RunError(f"what the node gave out cannot be read outside of its process: {error}") from error
            if kind == "host":
                method, arguments, named = what
                try:
                    getattr(self._host, method)(*arguments, **named)
                except Exception as error:  # the answer is still to come
                    refused = error
                continue
            if refused is not None:
                raise refused
            if kind == "done":
                return what
            raise RunError(what) if kind == "failed" else MinibrainsError(what)

    def _death(self) -> NodeDied:
        code = self._let_go()
        how = f"by {signal.Signals(-code).name}" if code is not None and code < 0 else f"with status {code}"
        return NodeDied(f"its process ended {how}")

    def _let_go(self) -> int | None:
        """See the process to its end; returns how it ended."""
        process, pipe, self._process, self._pipe, self._killed = self._process, self._pipe, None, None, False
        if pipe is not None:
            pipe.close()
        if process is None:
            return None
        process.join(_PATIENCE)
        if process.exitcode is None:
            process.kill()
            process.join()
        return process.exitcode


@dataclass(frozen=True, slots=True)
class _About:
    node: str
    dir: Path
    frame_rate: float | None


class _PipeHost:
    """The Host of a node in another process: what it says goes back over the pipe."""

    def __init__(self, pipe: Connection, about: _About) -> None:
        self._pipe = pipe
        self.node, self.dir, self.frame_rate = about.node, about.dir, about.frame_rate
        self.tick = 0
        self.load = LOADED.load
        self.map = map_here

    def __getattr__(self, name: str) -> Any:
        if name not in ("size", "say", "record"):
            raise AttributeError(f"the host of a node in a process of its own has no {name!r}")
        return lambda *arguments, **named: self._pipe.send(("host", (name, arguments, named)))


def _serve(pipe: Connection, recipe: Recipe, about: _About) -> None:
    """The other process: make the node, and do what it is asked to until the pipe ends."""
    take_no_orders(signal.SIGINT)  # but SIGTERM: with that multiprocessing ends what is left when the run's process ends
    threading.Thread(target=_end_with_run, daemon=True).start()
    os.dup2(2, 1)  # standard output is the run's: what a node prints is for people
    host: Any = _PipeHost(pipe, about)
    node: Any = None

    def opened() -> None:
        nonlocal node
        node = recipe.make()
        node.open(host)
        check_names(node)
        node.settle()

    def reset(episode: Episode) -> None:
        node.reset(episode)
        check_names(node)

    if not _answer(pipe, opened):
        with suppress(Exception):
            node.close()
        return
    while True:
        try:
            what, host.tick, arguments, named = pipe.recv()
        except (EOFError, OSError):
            return  # the run is gone
        except Exception as error:
            pipe.send(("failed", f"what the node was given cannot be read in its process: {error}"))
            continue
        _answer(pipe, reset if what == "reset" else getattr(node, what), *arguments, **named)
        if what == "close":
            return


def _end_with_run() -> None:
    """When the run's process is killed: a node that is thinking does not see that its pipe has ended."""
    run = multiprocessing.parent_process()
    assert run is not None
    run.join()
    time.sleep(_PATIENCE)
    os._exit(1)


def _answer(pipe: Connection, function: Any, *arguments: Any, **named: Any) -> bool:
    """Send what the function returns, or why it does not; whether it went well."""
    try:
        answer = ("done", function(*arguments, **named))
    except RunError as error:
        answer = ("failed", str(error))
    except MinibrainsError as error:
        answer = ("refused", str(error))
    except Exception as error:
        answer = ("failed", f"{type(error).__name__}: {error}")
    try:
        pipe.send(answer)
    except OSError:
        return False  # nobody listens any more
    except Exception as error:
        pipe.send(("failed", f"what the node gave out cannot be sent to another process: {error}"))
    return answer[0] == "done"
