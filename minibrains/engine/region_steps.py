"""The steps of a region: instead of calling its nodes, they ask for an answer,
which is then delivered as if the nodes had given it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from minibrains.annotations import ABSENT
from minibrains.engine.execution_state import ExecutionState
from minibrains.engine.plan import OutputPlan, RegionPlan, Step
from minibrains.engine.steps import UNSET, StepFunction, make_step
from minibrains.graph.socket_ref import SocketRef


class RegionSteps:
    """The steps of a region, and the delivery of its answers.

    The region is due when a node of it that reads from outside is. Whatever its nodes are, an
    answer is needed only at the step of the last one.
    """

    def __init__(self, execution: ExecutionState, plan: RegionPlan) -> None:
        """Prepare the steps of a plan with a region.

        Args:
            execution: The tables of the plan.
            plan: The region's part of the plan.
        """
        region = execution.plan.graph.region
        assert region is not None
        self.plan = plan
        self.needs_answer = False
        """An answer is needed before the next step."""
        self._region, self._execution = region, execution
        self._steps = [execution.plan.steps[index] for index in plan.steps]
        self._is_due = False
        own: set[int] = set()
        for step in self._steps:
            for output in step.outputs:
                own.update(output.slots.values())
        self._required: set[int] = set()
        """The slots that must have been written once: inputs of the region, and those of muted
        nodes, which never are."""
        for step in self._steps:
            self._required.update(slot for slot in step.required if slot not in own)
        self._answer: Mapping[SocketRef, Any] = {}
        self._deliveries = [self._delivery(step) for step in self._steps]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The ids of its nodes."""
        return self._region.nodes

    def reset(self) -> None:
        """Begin an episode."""
        self.needs_answer = self._is_due = False

    def reads_from_outside(self, step: Step) -> bool:
        """Return whether a step of the region reads an output of another node."""
        for plan in step.inputs:
            for source in plan.sources:
                if source.slot in self.plan.inputs:
                    return True
        return False

    def step(self, step: Step) -> StepFunction:
        """Return what a step of the region does where its node would be called."""
        if not self.reads_from_outside(step):
            return _nothing
        due_flags, last = self._execution.due_flags, self.plan.steps[-1]

        def enter() -> None:
            self._is_due = True
            due_flags[last] = 1

        return enter

    def ask_after(self, run: StepFunction) -> StepFunction:
        """Return the function of the last step: what `run` does, then it asks if the region is
        due.
        """
        values = self._execution.values

        def ask() -> None:
            run()
            if not self._is_due:
                return
            self._is_due = False
            for slot in self._required:
                if values[slot] is UNSET:
                    return
            self.needs_answer = True

        return ask

    def inputs(self) -> list[Any]:
        """Return the values of `Region.inputs`."""
        values = self._execution.values
        return [values[slot] for slot in self.plan.inputs]

    def deliver(self, answer: Mapping[SocketRef, Any]) -> None:
        """Deliver values for `Region.outputs`, which the steps after the region read."""
        self._answer = answer
        for delivery in self._deliveries:
            delivery()

    def _delivery(self, step: Step) -> StepFunction:
        execution = self._execution
        node = execution.plan.graph.nodes[step.node]
        links = [SocketRef(step.node, output.name) for output in step.outputs]

        def take() -> Any:
            values = [self._answer.get(link, ABSENT) for link in links]
            return values if node.cls.schema.returns_tuple else values[0]

        outputs = [self._seen_outside(step, output) for output in step.outputs]
        return make_step(
            take,
            (),
            outputs,
            node.cls.schema.returns_tuple,
            execution.values,
            execution.due_flags,
            execution.one_tick_slots,
            self._execution.flags_to_set,
        )

    def _seen_outside(self, step: Step, output: OutputPlan) -> OutputPlan:
        """Return the plan of an output without what only the region's own nodes read of it."""
        if SocketRef(step.node, output.name) not in self._region.outputs:
            return OutputPlan(output.name, output.absent)
        steps = self._execution.plan.steps
        steps_to_flag = [
            index for index in output.steps_to_flag if steps[index].node not in self._region.nodes
        ]
        return replace(output, steps_to_flag=steps_to_flag)


def _nothing() -> None:
    """Do nothing: an inner node of the region, whose last step answers for it."""
