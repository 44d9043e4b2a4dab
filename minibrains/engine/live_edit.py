"""Live edit: everything needed to switch to another plan, prepared while the game runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from minibrains.engine.execution_state import ExecutionState
from minibrains.engine.instantiate import instantiate_nodes
from minibrains.engine.node_runtime import NodeRuntime, sort_registers_first
from minibrains.engine.plan import Plan
from minibrains.engine.replay_policy import Tape, is_replayed
from minibrains.errors import RunError
from minibrains.graph.check import CheckedNode
from minibrains.host import Episode


class NodeChange(Enum):
    """What an edit does for a node of the new plan, which is matched by id with one of the old."""

    KEEP = auto()
    """Keep the node, its state and its running call; set the widgets that have changed."""
    REPLACE_WITH_STATE = auto()
    """Make a new node, which inherits the state of the old one: the brain has changed, or the
    executor, or the links of a node whose class has the option `reads_sources`."""
    REPLACE_WITHOUT_STATE = auto()
    """Make a new node that inherits nothing: there was none of this type with this id; a widget
    with `rebuild` has changed; it is a constant node with changed widgets, or from now on; or the
    old one would have given its state to a new node, but keeps none."""


@dataclass(eq=False)
class Edit:
    """A change from one plan to another, prepared while the first one runs.

    The calls, in this order: `between` and the preparation of the new nodes while the game goes on;
    `try_apply` and `commit` between two ticks; `close` while the game goes on again. `refuse` takes
    the place of those that are left, at any time.
    """

    plan: Plan
    tape_value: Any
    """The value of the edit's event on the tape; None: write no event."""
    old_runtimes: Mapping[str, NodeRuntime]
    """The node runtimes that the edit was prepared for; if another edit replaced them first, it
    cannot be applied."""
    runtimes: dict[str, NodeRuntime]
    """The new node runtimes. That of a node that stays has the same node as the old one."""
    changes: Mapping[str, NodeChange]
    """What becomes of each node of the new plan."""
    changed_widgets: dict[str, dict[str, Any]]
    """Node that stays -> its changed widgets, with their new values."""
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
    def between(
        cls,
        old: Plan,
        new: Plan,
        old_runtimes: Mapping[str, NodeRuntime],
        tape_value: Any,
        tape: Tape | None,
    ) -> Edit:
        """Return the edit from one plan to another, with its new nodes, which are not open yet.

        Raises what instantiating a node raises, or a node that refuses its new widgets.
        """
        changes: dict[str, NodeChange] = {}
        changed_widgets: dict[str, dict[str, Any]] = {}
        new_constants = new.constant_nodes - old.constant_nodes
        for name, checked in new.graph.nodes.items():
            runtime = old_runtimes.get(name)
            changes[name] = change = _find_change(runtime, checked, new, name in new_constants)
            if runtime is None or change is not NodeChange.KEEP:
                continue
            if changed := _changed_widgets(runtime.checked, checked):
                changed_widgets[name] = changed

        # the new nodes
        # throwaway nodes, only to run `check()` on the new widgets
        instantiate_nodes(new, changed_widgets)
        to_make = [name for name, change in changes.items() if change is not NodeChange.KEEP]
        made = instantiate_nodes(new, to_make, tape)

        # the runtimes of all
        runtimes: dict[str, NodeRuntime] = {}
        for name, checked in new.graph.nodes.items():
            if name in made:
                runtimes[name] = made[name]
            else:
                runtimes[name] = old_runtimes[name].carried_over(
                    checked, is_replayed(new, name, tape)
                )
        return cls(new, tape_value, old_runtimes, runtimes, changes, changed_widgets)

    def describe(self) -> str:
        """Return a description of the changes, for people."""
        parts: list[str] = []
        for name, widgets in self.changed_widgets.items():
            for widget, value in widgets.items():
                parts.append(f"{name}.{widget} = {value!r}")
        for runtime in self._new_runtimes():
            how = "replaced" if runtime.name in self.old_runtimes else "added"
            parts.append(f"{runtime.name} {how}")
        for name in self.old_runtimes:
            if name not in self.runtimes:
                parts.append(f"{name} removed")
        return ", ".join(parts) or "no more than links, clocks, time limits and latencies"

    def resume_calls(self, calls: Mapping[str, Mapping[str, Any]]) -> None:
        """Give nodes that stay, and were not open before, the results that they were working on.

        Args:
            calls: Node -> the state of its `NonBlockingCalls`.
        """
        for name, call in calls.items():
            runtime = self.runtimes.get(name)
            if runtime is not None and runtime.non_blocking is not None and self._is_kept(runtime):
                runtime.non_blocking.load_state(call)

    def try_apply(self, make_episode: Callable[[str], Episode], tick: int) -> None:
        """Do everything that a node may refuse: start the episode in new nodes,
        set the widgets of those that stay.

        Args:
            make_episode: Returns the episode for a node, by id.
            tick: The number of the next tick.

        Raises NodeFailed; the nodes that stay are then as they were.
        """
        for runtime in self._new_runtimes():
            if runtime.is_open:
                self._begin_episode(runtime, make_episode(runtime.name), tick)
        for name, widgets in self.changed_widgets.items():
            runtime = self.runtimes[name]
            if runtime.is_open:
                try:
                    runtime.callee.set(**widgets)
                except Exception as error:
                    self._restore_widgets()
                    raise runtime.failure(tick, error) from error

    def commit(self, old: ExecutionState) -> None:
        """Take over the values of the old plan's tables, between two ticks.

        `closing` has the removed nodes afterwards.
        """
        # new time limits and latencies apply from the next tick on, also in nodes that stay
        for runtime in self.runtimes.values():
            runtime.apply_timing()

        # whose values are valid in the new plan, and which nodes must run again
        surviving: set[str] = set()
        rerun: set[str] = set()
        for name, runtime in self.runtimes.items():
            if self.changes[name] is not NodeChange.REPLACE_WITHOUT_STATE:
                surviving.add(name)
            old_runtime = self.old_runtimes.get(name)
            if old_runtime is not None and runtime.runs_again_after(old_runtime):
                rerun.add(name)

        # the tables
        constant: dict[str, Mapping[str, Any]] = {}
        for name, runtime in self.runtimes.items():
            if runtime.constant is not None:
                constant[name] = runtime.constant.outputs
        self.execution.inherit_from(old, surviving, rerun, constant)

        self.closing = [
            runtime
            for runtime in sort_registers_first(self.old_runtimes)
            if not self._is_kept(runtime)
        ]

    def refuse(self, error: RunError) -> None:
        """Mark the edit as not applied; the nodes that it opened have to be closed."""
        self.error = error
        self.closing = self._new_runtimes()

    def close(self) -> list[str]:
        """Close the nodes that are no longer needed; return a sentence for each that failed."""
        sentences: list[str] = []
        while self.closing:
            sentences += self.closing.pop().close()
        return sentences

    def _is_kept(self, runtime: NodeRuntime) -> bool:
        """Return True if the node of a runtime is in both the old and the new plan."""
        return self.changes.get(runtime.name) is NodeChange.KEEP

    def _new_runtimes(self) -> list[NodeRuntime]:
        """Return the runtimes whose node is new, registers first."""
        return [
            runtime for runtime in sort_registers_first(self.runtimes) if not self._is_kept(runtime)
        ]

    def _begin_episode(self, runtime: NodeRuntime, episode: Episode, tick: int) -> None:
        try:
            runtime.reset(episode)
            if self.changes[runtime.name] is NodeChange.REPLACE_WITH_STATE:
                runtime.inherit_from(self.old_runtimes[runtime.name])
        except Exception as error:
            raise runtime.failure(tick, error) from error

    def _restore_widgets(self) -> None:
        for name, widgets in self.changed_widgets.items():
            runtime = self.old_runtimes[name]
            old_widgets = runtime.checked.widgets
            if runtime.is_open:
                with suppress(Exception):
                    runtime.callee.set(**{widget: old_widgets[widget] for widget in widgets})


def _find_change(
    runtime: NodeRuntime | None, checked: CheckedNode, new: Plan, becomes_constant: bool
) -> NodeChange:
    """Return what becomes of a node; `docs/architecture.md` has the same as a table.

    Args:
        runtime: The runtime of the old node with its id; None: there is none.
        checked: The node in the new plan.
        new: The new plan.
        becomes_constant: Whether it is a constant node in the new plan only.
    """
    # no node to keep anything of, or one whose output is computed while the game goes on, when the
    # old one may still be in use
    if runtime is None or runtime.checked.cls is not checked.cls or becomes_constant:
        return NodeChange.REPLACE_WITHOUT_STATE
    changed_widgets = _changed_widgets(runtime.checked, checked)
    if changed_widgets and checked.id in new.constant_nodes:
        return NodeChange.REPLACE_WITHOUT_STATE

    # another beginning, so a state of the old one would be wrong
    if any(checked.cls.schema.widgets[widget].rebuild for widget in changed_widgets):
        return NodeChange.REPLACE_WITHOUT_STATE

    # the same node in other surroundings
    has_other_brain = runtime.checked.brain_sha256 != checked.brain_sha256
    has_other_executor = runtime.checked.background != checked.background
    has_other_links = False
    if checked.cls.reads_sources:
        has_other_links = runtime.sources != new.graph.sources(checked.id)
    if not (has_other_brain or has_other_executor or has_other_links):
        return NodeChange.KEEP
    return NodeChange.REPLACE_WITH_STATE if runtime.has_state else NodeChange.REPLACE_WITHOUT_STATE


def _changed_widgets(old: CheckedNode, new: CheckedNode) -> dict[str, Any]:
    """Return the widgets that have changed, with their new values."""
    changed: dict[str, Any] = {}
    for widget, value in new.widgets.items():
        if old.widgets.get(widget) != value:
            changed[widget] = value
    return changed
