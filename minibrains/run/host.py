"""The Host of a node in a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any, Final, Protocol

from minibrains.engine.engine import Engine
from minibrains.engine.node_runtime import NodeRuntime
from minibrains.errors import RunError
from minibrains.hooks import NodeProgress
from minibrains.host import EpisodeStart, Host, Item, Result, WorkflowInfo, map_here
from minibrains.run.spec import RunSpec

_SHOW_EVERY: Final = 0.05
"""Seconds between two reports of a node's progress."""


class Map(Protocol):
    """The implementation of `host.map`: `map_here`, or the method of a worker."""

    def __call__(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> list[Result]: ...


@dataclass(slots=True)
class RunHost(Host):
    """The Host of one node in a run; see Host for its methods."""

    runtime: NodeRuntime
    folder: Path
    """The node's folder, created on first use."""
    engine: Engine
    notify: Callable[[str], None]
    show: Callable[[NodeProgress], None]
    metadata: dict[str, str]
    info: WorkflowInfo
    spec: RunSpec
    mapper: Map = map_here
    _next_shown: float = 0.0
    """The time before which no more progress is shown, unless it is the end."""

    @property
    def node(self) -> str:
        return self.runtime.name

    @property
    def dir(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder

    @property
    def tick(self) -> int:
        return self.engine.tick

    @property
    def frame_rate(self) -> float | None:
        return self.engine.frame_rate

    @property
    def workflow(self) -> WorkflowInfo:
        return self.info

    def sources(self, socket: str) -> tuple[str, ...]:
        cls = self.runtime.checked.cls
        if not cls.reads_sources:
            raise RunError(
                f"{self.node}: {cls.__name__} asks for its links; "
                "write reads_sources=True in its class line"
            )
        return self.runtime.sources.get(socket, ())

    @property
    def start(self) -> EpisodeStart | None:
        return self.engine.start

    def begin(self, start: EpisodeStart) -> None:
        self.engine.start = start

    def size(self, **sizes: int) -> None:
        self.runtime.sizes.update(sizes)

    def rate(self, frames_per_second: float) -> None:
        self.engine.frame_rate = frames_per_second

    def say(self, text: str) -> None:
        self.notify(f"{self.node}: {text}")

    def record(self, **metadata: str) -> None:
        self.metadata.update(metadata)

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        now = perf_counter()
        if now < self._next_shown and done != total:
            return
        self._next_shown = now + _SHOW_EVERY
        self.show(NodeProgress(self.node, done, total, text))

    @property
    def stopping(self) -> bool:
        return self.engine.stopping

    @property
    def packs(self) -> tuple[Path, ...]:
        return tuple(Path(file).absolute() for file in self.spec.packs)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        return self.mapper(function, items)

    def run(
        self,
        workflow: str,
        *,
        episodes: int | None = None,
        seed: int | None = None,
        workers: int = 1,
        widgets: Mapping[str, Any] = MappingProxyType({}),
        brains: Mapping[str, Path] = MappingProxyType({}),
    ) -> dict[str, Any]:
        from minibrains.run.nested import run_nested  # it imports Run, which makes these hosts

        spec = RunSpec(
            workflow,
            episodes=episodes,
            seed=seed,
            workers=workers,
            widgets=widgets,
            brains=brains,
            packs=self.spec.packs,
            installed_packs=self.spec.installed_packs,
            models=self.spec.models,
            command=self.spec.command,
        )
        return run_nested(spec, self)
