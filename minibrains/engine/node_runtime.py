"""The runtime of a node: the node itself, and everything the engine keeps
about it while the plan runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from minibrains.engine.background import BackgroundNode, NonBlockingCalls, ReplayedCall
from minibrains.engine.node_process import Health
from minibrains.errors import Fault, RunError, WorkflowError, describe_error, is_refusal
from minibrains.graph.check import CheckedNode
from minibrains.graph.error_policy import reports_hanging
from minibrains.host import Episode, Host
from minibrains.node import Node, check_names
from minibrains.savings import Savings, collect_savings


class NodeFailed(RunError):
    """A node raised an exception, which is the cause of this one. `node` is its id."""

    def __init__(self, node: str, type_: str, tick: int | None, error: BaseException) -> None:
        when = "before the first tick" if tick is None else f"on tick {tick}"
        super().__init__(f"{node} ({type_}) failed {when}: {describe_error(error)}")
        self.node = node


@dataclass(frozen=True, slots=True)
class ConstantResult:
    """The result of a constant node, which is the same on every tick."""

    result: Any
    computed: bool
    """True if the node was run, False if the result was found in the cache."""
    signature: str
    outputs: Mapping[str, Any]
    """The values to deliver, by output."""


@dataclass(eq=False, slots=True)
class NodeRuntime:
    """Everything that the engine knows about one node, and the node's life cycle: opened, called,
    closed.

    An edit makes a new runtime for each node that stays. It has the same node as the old one, and
    the same running call if the node is still non-blocking; it takes effect when the edit is
    applied.
    """

    checked: CheckedNode
    """Its entry in the workflow, its class, widgets and brain."""
    node: Any
    from_tape: bool
    """True if its results come from a tape, so it is neither opened nor called."""
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Input -> the ids of the nodes that are linked to it; empty unless its class has the option
    `reads_sources`."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Sizes of its sockets that it gave to `host.size`."""
    background: BackgroundNode | None = None
    """The thread on which it is called once it is open, if it is a background node."""
    non_blocking: NonBlockingCalls | None = None
    """The result of a non-blocking node: computed while the game goes on, and delivered later."""
    replayed_call: ReplayedCall = field(default_factory=ReplayedCall)
    constant: ConstantResult | None = None
    savings: Savings = field(default_factory=dict)
    """The work that caches saved when it was opened and warmed up."""
    is_open: bool = False
    is_hanging: bool = False
    """True if it had not answered `report` when Ctrl-C came."""

    @property
    def name(self) -> str:
        """The node's id."""
        return self.checked.id

    @property
    def callee(self) -> Any:
        """The object to call: the node itself, or the thread that it runs on."""
        return self.node if self.background is None else self.background

    @property
    def has_state(self) -> bool:
        """True if it has a state, which an episode changes.

        A node without state need not be reset, so one that hangs is not waited for.
        """
        return self.checked.cls.reset is not Node.reset

    @property
    def is_thinking(self) -> bool:
        """True while the node computes a result in the background."""
        return self.background is not None and self.background.is_ticking

    @property
    def has_unfinished_call(self) -> bool:
        """True while a call of the node would have to wait."""
        if self.non_blocking is not None and self.non_blocking.call is not None:
            return True
        return self.background is not None and self.background.has_unfinished_call

    def open(self, host: Host, where: str) -> None:
        """Open the node; a background node gets its thread.

        Args:
            host: The node's host.
            where: The name of the workflow in messages: its file.

        Raises:
            WorkflowError: The node refused its widgets or brain.
            NodeFailed: The node failed in another way.
        """
        self.is_open = True
        try:
            with collect_savings(self.savings):
                self.node.open(host)
            check_names(self.node)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if is_refusal(error):
                fault = Fault(describe_error(error), self.name, code="custom_validation_failed")
                raise WorkflowError([fault], where) from error
            raise self.failure(None, error) from error
        self.node.settle()
        if self.checked.background is not None:
            self.background = BackgroundNode(self.node, self.name)
            if self.checked.is_non_blocking:
                self.non_blocking = NonBlockingCalls(self.background)
        self.apply_timing()

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        """Give an open node the values of its inputs that do not change, so that it can prepare.

        Raises NodeFailed.
        """
        overridden = self.checked.cls.warm_up is not Node.warm_up
        if not overridden or not self.is_open:
            return
        try:
            with collect_savings(self.savings):
                self.callee.warm_up(constants)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self.failure(None, error) from error

    def reset(self, episode: Episode) -> None:
        """Start an episode. Raises what the node raises."""
        self.callee.reset(episode)
        check_names(self.node)

    @property
    def keeps_episodes(self) -> bool:
        """True if the node can say which episodes need not be played."""
        return self.is_open and self.checked.cls.is_done is not Node.is_done

    def is_done(self, episode: Episode) -> bool:
        """Return whether the node has everything of an episode. Raises what the node raises."""
        return bool(self.callee.is_done(episode))

    def finish_episode(self, results: Mapping[str, Any]) -> None:
        """Tell the node that the episode is over. Raises what the node raises."""
        overridden = self.checked.cls.finish is not Node.finish
        if overridden and self.is_open and not self.is_hanging:
            self.callee.finish(results)

    @property
    def health(self) -> Health:
        """The health of its process; a node without a process of its own is always ready."""
        return "ready" if self.background is None else self.background.health

    def report(self, waits: bool) -> Mapping[str, Any]:
        """Return the node's results of the episode; empty if the call would have to wait.

        Raises what the node raises.

        Args:
            waits: Wait for a process that is being started.
        """
        overridden = self.checked.cls.report is not Node.report
        if not overridden or not self.is_open or self.is_hanging or self.has_unfinished_call:
            return {}
        if self.health != "ready" and not waits:
            return {}
        try:
            report: Mapping[str, Any] = self.callee.report()
        except BaseException as error:
            # after Ctrl-C while the node was waited for, it must not be waited for again
            if not isinstance(error, Exception):
                self.is_hanging = True
            raise
        return report

    def close(self, timeout: float | None = None) -> list[str]:
        """Close the node if it is open, after the thread that it runs on.

        Args:
            timeout: Seconds that the thread gets to finish what it is doing; 5 if None.

        Returns:
            One sentence if that failed and was not reported yet, else an empty list.
        """
        if not self.is_open:
            return []
        self.is_open = False
        try:
            if self.background is not None:
                self.background.close(timeout)
            self.node.close()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            hangs = self.background is not None and self.background.timed_out
            if not hangs or reports_hanging(self.checked.entry.on_error):
                return [f"{self.name} could not be closed: {describe_error(error)}"]
        return []

    def failure(self, tick: int | None, error: BaseException) -> NodeFailed:
        """Return the NodeFailed for an exception of this node;
        `tick` is None before the first tick.
        """
        return NodeFailed(self.name, self.checked.entry.type, tick, error)

    def carried_over(self, checked: CheckedNode, from_tape: bool) -> NodeRuntime:
        """Return the runtime of the same node in an edited plan,
        still without a constant result.
        """
        non_blocking = self.non_blocking if checked.is_non_blocking else None
        begins_to_continue = checked.is_non_blocking and non_blocking is None and not from_tape
        if begins_to_continue and self.background is not None:
            non_blocking = NonBlockingCalls(self.background)
        replayed_call = self.replayed_call if checked.is_non_blocking else ReplayedCall()
        return replace(
            self,
            checked=checked,
            from_tape=from_tape,
            non_blocking=non_blocking,
            replayed_call=replayed_call,
            constant=None,
        )

    def inherit_from(self, before: NodeRuntime) -> None:
        """Take over the state and the running call of the node that this one replaces."""
        if before.non_blocking is not None:
            before.non_blocking.finish()
        self.callee.load_state(before.callee.state())
        if before.non_blocking is not None and self.non_blocking is not None:
            self.non_blocking.inherit_from(before.non_blocking)

    def runs_again_after(self, before: NodeRuntime) -> bool:
        """Return whether a node that stays has to run again: its constant result changed,
        or its running call is dropped.
        """
        if self.constant is not None:
            return before.constant is None or before.constant.signature != self.constant.signature
        dropped = before.non_blocking if self.non_blocking is None else None
        return dropped is not None and (dropped.call is not None or dropped.resubmit)

    def apply_timing(self) -> None:
        """Apply the workflow's time limit and latency of the node."""
        entry = self.checked.entry
        if self.background is not None:
            self.background.timeout = entry.timeout
        if self.non_blocking is not None:
            self.non_blocking.latency = entry.latency or 1


def sort_registers_first(runtimes: Mapping[str, NodeRuntime]) -> list[NodeRuntime]:
    """Return the runtimes in the order in which nodes are opened, reset and asked for a report:
    registers first.
    """
    return sorted(runtimes.values(), key=lambda runtime: not runtime.checked.is_register)
