"""Make the nodes of a plan, each with its widgets and its brain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minibrains.engine.node_process import NodeProcess, Recipe
from minibrains.engine.plan import Plan
from minibrains.errors import Fault, MinibrainsError, RunError, WorkflowError, in_words
from minibrains.graph.check import CheckedNode


class NodeFailed(RunError):
    """A node raised. `node` names it; the exception it raised is the cause."""

    def __init__(self, node: str, type_: str, tick: int | None, error: BaseException) -> None:
        when = "before the first tick" if tick is None else f"on tick {tick}"
        super().__init__(f"{node} ({type_}) failed {when}: {in_words(error)}")
        self.node = node


def make_nodes(plan: Plan, names: Iterable[str]) -> dict[str, Any]:
    """Make these nodes. Raises WorkflowError with all that the nodes themselves find wrong."""
    nodes: dict[str, Any] = {}
    faults = []
    for name in names:
        checked = plan.graph.nodes[name]
        try:
            nodes[name] = _make(checked)
        except MinibrainsError as error:
            faults.append(Fault(str(error), name))
        except Exception as error:
            raise NodeFailed(name, checked.entry.type, None, error) from error
    if faults:
        raise WorkflowError(faults, plan.graph.workflow.where)
    return nodes


def _make(checked: CheckedNode) -> Any:
    kind = checked.cls.schema.brain
    brain = kind.load(checked.brain) if kind is not None and checked.brain is not None else None
    node = checked.cls(brain=brain, **checked.widgets)
    node.check()
    if checked.cls.background != "process":
        return node
    return NodeProcess(Recipe.of(checked.cls, checked.widgets, None if brain is None else brain.ref))
