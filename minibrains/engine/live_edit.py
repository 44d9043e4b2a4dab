"""Live edit: everything needed to switch to another plan, prepared while the game runs."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from minibrains.engine.execution_state import ExecutionState
from minibrains.engine.instantiate import instantiate_nodes
from minibrains.engine.node_runtime import NodeRuntime, registers_first
from minibrains.engine.plan import Plan
from minibrains.engine.replay_policy import Tape, is_replayed
from minibrains.errors import RunError
from minibrains.host import Episode


@dataclass(eq=False)
class Edit:
    """One edit. Nodes are matched by id and type: they keep their state, and widgets are set in place.

    A node whose brain changed, or that is to compute in another place, is replaced by a new node that inherits its state.
    A node with a changed widget that has `rebuild` is replaced by a new one without the state.
    """

    plan: Plan
    source: Any
    """The record of the edit for the tape."""
    before: Mapping[str, NodeRuntime]
    """The records that the edit was prepared for; if another edit replaced them first, it cannot be applied."""
    runtimes: dict[str, NodeRuntime]
    """The new records. The record of a node that stays shares its node with the record before."""
    inheriting: set[str]
    """New nodes that take over the state of their predecessors."""
    settings: dict[str, dict[str, Any]]
    """Changed widgets of the nodes that stay."""
    execution: ExecutionState = field(init=False)
    closing: list[NodeRuntime] = field(default_factory=list)
    """Nodes to close: those that were removed, or those of an edit that was refused."""
    error: RunError | None = None
    """The reason why it could not be applied."""
    done: threading.Event = field(default_factory=threading.Event)
    """Set once the edit is applied or refused."""

    def __post_init__(self) -> None:
        self.execution = ExecutionState(self.plan)

    @classmethod
    def diff(cls, old: Plan, new: Plan, before: Mapping[str, NodeRuntime], source: Any, tape: Tape | None) -> Edit:
        """Return the edit from one plan to another, with its new nodes. Raises what instantiating them raises."""
        # what becomes of each node
        to_make: list[str] = []
        inheriting: set[str] = set()
        settings: dict[str, dict[str, Any]] = {}
        was_constant, is_constant = old.constant_nodes, new.constant_nodes
        for name, checked in new.graph.nodes.items():
            runtime = before.get(name)
            if runtime is None or runtime.checked.cls is not checked.cls:
                to_make.append(name)
                continue
            widgets = runtime.checked.widgets
            changed = {key: value for key, value in checked.widgets.items() if widgets.get(key) != value}
            if any(checked.cls.schema.widgets[key].rebuild for key in changed):
                to_make.append(name)
            elif name in is_constant and (changed or name not in was_constant):
                to_make.append(name)  # the new node is run beside the game, while the old one may still be in use
            elif (runtime.checked.brain_sha256, runtime.checked.background) != (checked.brain_sha256, checked.background):
                to_make.append(name)
                if runtime.has_state:
                    inheriting.add(name)
            elif changed:
                settings[name] = changed

        # the new nodes, and the records of those that stay
        instantiate_nodes(new, settings)  # throwaway nodes, only to run `check()` on the new widgets
        made = instantiate_nodes(new, to_make, tape)
        runtimes: dict[str, NodeRuntime] = {}
        for name, checked in new.graph.nodes.items():
            if name in made:
                runtimes[name] = made[name]
            else:
                runtimes[name] = before[name].carried_over(checked, is_replayed(new, name, tape))
        return cls(new, source, before, runtimes, inheriting, settings)

    def describe(self) -> str:
        """Return a description of the changes, for people."""
        parts: list[str] = []
        for name, widgets in self.settings.items():
            for widget, value in widgets.items():
                parts.append(f"{name}.{widget} = {value!r}")
        for runtime in self._new():
            how = "recreated" if runtime.name in self.before else "added"
            parts.append(f"{runtime.name} {how}")
        for name in self.before:
            if name not in self.runtimes:
                parts.append(f"{name} removed")
        return ", ".join(parts) or "links and clocks only"

    def begin(self, episode: tuple[int, int, int | None], tick: int) -> None:
        """Do everything that a node may refuse: start the episode in new nodes, set the widgets of those that stay.

        Raises NodeFailed; the nodes that stay are then as they were.
        """
        for runtime in self._new():
            if runtime.is_open:
                self._begin_episode(runtime, episode, tick)
        for name, widgets in self.settings.items():
            runtime = self.runtimes[name]
            if runtime.is_open:
                try:
                    runtime.endpoint.set(**widgets)
                except Exception as error:
                    self._undo_settings()
                    raise runtime.failure(tick, error) from error

    def take_over(self, old: ExecutionState) -> None:
        """Take over the values of the old plan's tables, between two ticks."""
        surviving = self.inheriting.copy()
        rerun: set[str] = set()
        constant: dict[str, Mapping[str, Any]] = {}
        for name, runtime in self.runtimes.items():
            runtime.apply_limits()
            before = self.before.get(name)
            if before is not None and before.node is runtime.node:
                surviving.add(name)
            if before is not None and runtime.runs_again_after(before):
                rerun.add(name)
            if runtime.constant is not None:
                constant[name] = runtime.constant.outputs
        self.execution.transfer_from(old, surviving, rerun, constant)
        self.closing = [runtime for runtime in registers_first(self.before) if not self._stays(runtime)]

    def refuse(self, error: RunError) -> None:
        """Mark the edit as not applied; the nodes that it opened have to be closed."""
        self.error = error
        self.closing = self._new()

    def close(self) -> list[str]:
        """Close the nodes that are no longer needed; return a sentence for each that failed."""
        sentences: list[str] = []
        while self.closing:
            sentences += self.closing.pop().close()
        return sentences

    def _stays(self, runtime: NodeRuntime) -> bool:
        """Return True if the node of a record is in both the old and the new plan."""
        old, new = self.before.get(runtime.name), self.runtimes.get(runtime.name)
        return old is not None and new is not None and old.node is new.node

    def _new(self) -> list[NodeRuntime]:
        """Return the nodes that are not in the old plan, registers first."""
        return [runtime for runtime in registers_first(self.runtimes) if not self._stays(runtime)]

    def _begin_episode(self, runtime: NodeRuntime, episode: tuple[int, int, int | None], tick: int) -> None:
        index, seed, limit = episode
        try:
            runtime.reset(Episode(index, seed, runtime.name, limit))
            if runtime.name in self.inheriting:
                runtime.take_state(self.before[runtime.name])
        except Exception as error:
            raise runtime.failure(tick, error) from error

    def _undo_settings(self) -> None:
        for name, widgets in self.settings.items():
            runtime, before = self.before[name], self.before[name].checked.widgets
            if runtime.is_open:
                with suppress(Exception):
                    runtime.endpoint.set(**{widget: before[widget] for widget in widgets})
