"""Workers as actors on a Ray cluster, which may be many machines."""

from __future__ import annotations

import os
import pickle
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import Final

from minibrains.errors import MinibrainsError, RunError
from minibrains.packages import install_extra_command
from minibrains.process.pool import Events
from minibrains.process.worker import Worker

_ATTEMPTS: Final = 4
"""Processes that the head of a cluster is asked for, until one of them lives."""


class RayLauncher:
    """Starts workers as Ray actors of one CPU each."""

    def __init__(self, address: str, count: int | None) -> None:
        """Connect to the cluster at `address`, in the form of `ray.init`,
        or start one on this machine for "local".

        With `count` None there is a worker for each CPU of the cluster. Raises MinibrainsError.
        """
        # Ray reads these when it is imported: no usage reports, no warning about a future change of
        # GPU variables
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        os.environ["RAY_ENABLE_AUTO_CONNECT"] = (
            "0"  # otherwise a call would start a cluster here when the real one is gone
        )
        try:
            import ray
        except ImportError:
            raise MinibrainsError(
                "--workers ray://… needs Ray, which is not installed: "
                f"{install_extra_command('cluster')}"
            ) from None
        options: dict[str, object] = {
            "address": address,
            "log_to_driver": False,
            "logging_level": "ERROR",
        }
        if address == "local":
            options |= {"include_dashboard": False, "num_cpus": count}
        try:
            _connect(options)
        except Exception as error:
            reason = _first_sentence(error)
            raise MinibrainsError(
                f"workers: the Ray cluster {address} cannot be reached: {reason}"
            ) from error
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < (count or 1):
            ray.shutdown()
            raise MinibrainsError(
                f"workers: {count or 1} workers need a CPU each; "
                f"the Ray cluster {address} has {cpus}"
            )
        self.count = count or cpus
        self._address = address

    def launch(self, number: int, task: bytes, events: Events) -> RayWorker:
        """Start a worker. Raises RunError if the cluster is gone, or has no Minibrains."""
        try:
            return RayWorker(number, task, events)
        except Exception as error:  # a lost connection shows as one of a dozen exception classes
            reason = _first_sentence(error)
            raise RunError(
                f"worker {number} cannot be started on the Ray cluster {self._address}: {reason}"
            ) from error

    def close(self) -> None:
        """Disconnect from the cluster."""
        import ray

        ray.shutdown()


def _connect(options: dict[str, object]) -> None:
    """Call `ray.init`, again if the process dies that the head starts for each client:
    threads of gRPC abort it now and then (ray-project/ray, issue 63202).
    """
    import ray

    for _ in range(_ATTEMPTS - 1):
        try:
            ray.init(**options)
        except ConnectionAbortedError:
            continue
        return
    ray.init(**options)


def _first_sentence(error: Exception) -> str:
    first, *others = str(error).strip().split("\n")
    if others and first.endswith(":"):
        return f"{first} {others[-1]}"  # the last line of a traceback names the reason
    return first


class RayWorker:
    """The pool's end of an actor."""

    def __init__(self, number: int, task: bytes, events: Events) -> None:
        import ray

        # two calls at a time: one delivers while the other waits for the worker's messages
        actor = ray.remote(num_cpus=1, max_concurrency=2)(_Actor)
        threads = os.environ.get("OMP_NUM_THREADS") or str(len(os.sched_getaffinity(0)))
        self._actor = actor.remote(number, task, threads)
        self._exit_reason = "the end of its work"
        threading.Thread(target=self._read, args=(number, events), daemon=True).start()

    def post(self, data: bytes) -> None:
        """Queue a message without waiting. Does nothing if the cluster is gone."""
        with suppress(Exception):  # the cluster is gone, which `_read` reports
            self._actor.deliver.remote(data)

    def kill(self) -> None:
        """Kill the actor, without waiting for its end."""
        import ray

        with suppress(Exception):
            ray.kill(self._actor)

    def exit_reason(self) -> str:
        """Describe how it ended."""
        return self._exit_reason

    def _read(self, number: int, events: Events) -> None:
        import ray

        try:
            while messages := ray.get(self._actor.receive.remote()):
                for data in messages:
                    events.put((number, data))
            ray.kill(self._actor)
        except Exception as error:
            self._exit_reason = str(error)
            if isinstance(error, ray.exceptions.RayActorError):
                self._exit_reason = "the end of its Ray actor"
        events.put((number, None))


class _Actor:
    """A worker within an actor.

    It runs on a thread of its own, because an actor is called on any thread.
    """

    def __init__(self, number: int, task: bytes, threads: str) -> None:
        # Ray gives an actor as many threads as CPUs, but sums depend on the number of threads.
        # torch reads this on import
        os.environ["OMP_NUM_THREADS"] = threads
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._worker = Worker(number, pickle.loads(task), self._outbox.put)
        threading.Thread(target=self._live, daemon=True).start()

    def deliver(self, data: bytes) -> None:
        """Give the worker a message of the pool."""
        self._worker.deliver(data)

    def receive(self) -> list[bytes]:
        """Return the worker's messages since the last call, waiting for at least one;
        empty after the end.
        """
        batch = []
        while (data := self._outbox.get()) is not None:
            batch.append(data)
            if self._outbox.empty():
                return batch
        if batch:
            self._outbox.put(None)  # the end, for the next call
        return batch

    def _live(self) -> None:
        try:
            self._worker.run()
        finally:
            self._outbox.put(None)
