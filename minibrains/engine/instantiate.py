"""Instantiate the nodes of a plan, each with its widgets and its brain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minibrains.engine.node_process import NodeProcess, NodeSpec
from minibrains.engine.node_runtime import NodeFailed, NodeRuntime
from minibrains.engine.plan import Plan
from minibrains.engine.replay_policy import Tape, is_replayed
from minibrains.errors import Fault, MinibrainsError, WorkflowError, describe_error
from minibrains.graph.check import CheckedNode


def instantiate_nodes(
    plan: Plan, names: Iterable[str], tape: Tape | None = None
) -> dict[str, NodeRuntime]:
    """Make the nodes with these ids, and their runtimes.

    Raises WorkflowError with every fault that the nodes find.
    """
    runtimes: dict[str, NodeRuntime] = {}
    faults = []
    for name in names:
        checked = plan.graph.nodes[name]
        try:
            node = _instantiate(checked)
        except MinibrainsError as error:
            faults.append(Fault(describe_error(error), name, code="custom_validation_failed"))
        except Exception as error:
            raise NodeFailed(name, checked.entry.type, None, error) from error
        else:
            runtimes[name] = runtime = NodeRuntime(checked, node, is_replayed(plan, name, tape))
            if checked.cls.reads_sources:
                runtime.sources = plan.graph.sources(name)
    if faults:
        raise WorkflowError(faults, plan.graph.workflow.where)
    return runtimes


def _instantiate(checked: CheckedNode) -> Any:
    brain_class = checked.cls.schema.brain
    brain = None
    if brain_class is not None and checked.brain is not None:
        brain = brain_class.load(checked.brain)
    node = checked.cls(brain=brain, **checked.widgets)
    node.check()
    if checked.background != "process":
        return node
    ref = None
    if brain is not None:
        ref = brain.ref
    return NodeProcess(NodeSpec.of(checked.cls, checked.widgets, ref))
