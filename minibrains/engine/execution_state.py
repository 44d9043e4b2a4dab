"""The tables of a running plan: slots, flags of what is due, counters, and step functions.

When does a step run? An example with four steps: 0 the clock gate of a clock that opens on every
fourth tick, 1 the emit of a register that delivers on some ticks only, 2 a node that reads it, 3 a
node with that clock, which reads step 2.

- `due_every_tick` is 1, 1, 0, 0: registers and clock gates run on every tick. A tick begins by
  copying it to the first half of `due_flags`.
- When step 1 delivers, it sets `due_flags[2]`. Step 2 comes later in the same pass, and so runs on
  this tick.
- When step 2 delivers, it sets `due_flags[4 + 3]`, in the second half: step 3 is pending until its
  clock opens.
- On every fourth tick, the clock gate sets `due_flags[3]`. The function of step 3 runs only if it
  is pending, and clears that flag.
- `due_next_tick` has the flags to set on the next tick: at the beginning, and after a live edit.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from minibrains.engine.plan import TICK_SLOT, OutputPlan, Plan, SlotUse, Step
from minibrains.engine.steps import UNSET, StepFunction
from minibrains.errors import describe_error

if TYPE_CHECKING:
    from minibrains.engine.region_steps import RegionSteps


class ExecutionState:
    """The tables of one plan.

    `Engine.advance` runs on them; a live edit makes new ones and carries the values over.
    """

    def __init__(self, plan: Plan) -> None:
        """Make the tables; `build_steps` adds the step functions,
        and `reset` the values before the first tick.
        """
        self.plan = plan
        self.size = len(plan.steps)
        # one entry for each step, then one for each latch
        self.owners: list[str] = []
        """The id of its node."""
        self.roles: list[str] = []
        for step in plan.steps:
            self.owners.append(step.node)
            self.roles.append(step.role)
        for latch in plan.latches:
            self.owners.append(latch.node)
            self.roles.append("latch")
        self.calls = [0] * len(self.owners)
        """Number of times that the function of each step or latch was called."""
        self.idle_calls = [0] * len(self.owners)
        """Number of calls on which it had nothing to do: it was waiting, or its result was
        constant."""
        self.step_seconds = [0.0] * len(self.owners)
        """Seconds that its calls took."""
        self.errors = [0] * len(self.owners)
        self.reasons = [""] * len(self.owners)
        """The message of the first error of each step."""
        # one entry for each step
        self.cached = [0] * self.size
        """Number of times that a cached output was delivered instead of a run."""
        self.open_counts = [0] * self.size
        """For clock gates that the load shedder may keep closed: number of times that they could
        have opened."""
        # one entry for each slot
        self.values: list[Any] = []
        """The current values; empty before the first `reset`."""
        self.initial: list[Any] = []
        """The values before the first tick of an episode."""
        for use in plan.slots:
            self.initial.append(UNSET if use == "last" else None)
        # the steps that are due
        self.due_flags = bytearray(2 * self.size)
        """One byte a step: due on this tick; then one byte a step: due as soon as its clock
        opens."""
        self.due_every_tick = bytearray(self.size)
        """The flags that every tick begins with: the steps that are due on all ticks."""
        for step in plan.steps:
            self.due_every_tick[step.index] = step.unconditional and not step.clocks
        self.due_next_tick: list[int] = []
        """Flags to set when the next tick begins."""
        self.one_tick_slots: list[int] = []
        """Slots to clear at the end of the tick."""
        # the functions of steps and latches, each with its index
        self.steps: list[tuple[int, StepFunction]] = []
        """The functions of the next tick: a step that waits for first deliveries replaces its own
        once they are there."""
        self.latches: list[tuple[int, StepFunction]] = []
        self.initial_steps: list[tuple[int, StepFunction]] = []
        """The functions of the first tick of an episode."""
        self.initial_latches: list[tuple[int, StepFunction]] = []
        self.region: RegionSteps | None = None
        """The steps of the region that is trained, if there is one."""

    def record_error(self, index: int, error: BaseException) -> None:
        """Count an error of a step, and keep the message of the first; the run goes on."""
        self.errors[index] += 1
        self.reasons[index] = self.reasons[index] or describe_error(error)

    def reset(self) -> None:
        """Set the tables to their values before the first tick of an episode."""
        self.values[:] = self.initial
        self.due_flags[:] = bytes(len(self.due_flags))
        self.open_counts[:] = bytes(len(self.open_counts))
        self.one_tick_slots.clear()
        self.due_next_tick[:] = self._first()
        self.rearm()

    def rearm(self) -> None:
        """Make every step check again whether its inputs have been delivered."""
        self.steps[:] = self.initial_steps
        self.latches[:] = self.initial_latches

    def flag_index(self, step: Step) -> int:
        """Return the index in `due_flags` that a delivery to a step sets: due now if it has no
        clock, else due when its clock opens.
        """
        if step.clocks:
            return step.index + self.size
        return step.index

    def flags_to_set(self, output: OutputPlan) -> tuple[int, ...]:
        """Return the indices in `due_flags` that a delivery on an output sets."""
        return tuple(self.flag_index(self.plan.steps[reader]) for reader in output.steps_to_flag)

    def _first(self) -> list[int]:
        """Return the flags of the steps without inputs, which are due once."""
        first: list[int] = []
        for step in self.plan.steps:
            is_fed = any(plan.sources for plan in step.inputs)
            if not step.unconditional and not is_fed:
                first.append(self.flag_index(step))
        return first

    # -- state -------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return everything that the next tick depends on, except the nodes.

        Call it between two ticks.
        """
        left_out = self._lazy_slots() | {TICK_SLOT}
        values: dict[int, Any] = {}
        for slot, value in enumerate(self.values):
            if slot not in left_out and value is not self.initial[slot]:
                values[slot] = value
        return {
            "values": values,
            "pending": bytes(self.due_flags[self.size :]),
            "due": list(self.due_next_tick),
            "openings": list(self.open_counts),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `state()` returned."""
        self.reset()
        for slot, value in state["values"].items():
            self.values[slot] = value
        self.due_flags[self.size :] = state["pending"]
        self.due_next_tick[:] = state["due"]
        self.open_counts[:] = state["openings"]

    def inherit_from(
        self,
        old: ExecutionState,
        surviving: set[str],
        rerun: set[str],
        constant: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Take over the values, counters and due steps of the tables of another plan,
        between two ticks.

        Before, these tables are as `__init__` and `build_steps` left them. Afterwards, the next
        tick can run on them:

        - A slot has its old value if its node survives and had delivered one; otherwise it is as
          before the first tick.
        - A step or latch that both plans have goes on counting from its old counters.
        - `due_next_tick` has the steps that must run although nothing is delivered to them from now
          on; no other step is marked.
        - Every step function checks again whether its inputs have been delivered.

        `old` is not changed.

        Args:
            old: The tables of the plan before.
            surviving: Nodes whose old outputs are valid: they stay, or inherit the state of the
                node that they replace.
            rerun: Nodes that have to run again, whether they stay or are new.
            constant: Constant node -> the value of each of its outputs in this plan. If the node
                needs no rerun, these were delivered before.
        """
        up_to_date = surviving - rerun
        delivered_constants = {name: constant[name] for name in constant.keys() & up_to_date}
        self._inherit_values(old, surviving, delivered_constants)
        old_indices = {key: index for index, key in enumerate(old.keys())}
        self._inherit_counters(old, old_indices)
        self.due_next_tick[:] = self._due_after_edit(old, old_indices, up_to_date)
        self.rearm()

    def _inherit_values(
        self,
        old: ExecutionState,
        surviving: set[str],
        delivered_constants: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Fill the slots with the last values of the old ones;
        all others are as before the first tick.

        Values for a single tick, which `On` inputs read, are not taken over: they are gone by now.
        """
        self.values[:] = self.initial
        now = self.values[TICK_SLOT] = old.values[TICK_SLOT]

        # (node, output) -> its last value and the tick of its delivery; a constant that nothing
        # read has no old slot
        delivered: dict[tuple[str, str], tuple[Any, int]] = {}
        for name, outputs in delivered_constants.items():
            for output, value in outputs.items():
                delivered[name, output] = value, now
        delivered |= old._delivered()

        for (node, output, use), slot in self._slots().items():
            if node in surviving and use != "on" and (node, output) in delivered:
                value, delivered_at = delivered[node, output]
                self.values[slot] = delivered_at if use == "delivered_at" else value

    def _inherit_counters(self, old: ExecutionState, old_indices: Mapping[Hashable, int]) -> None:
        """Take over the counters of all steps and latches that the old plan has as well."""
        for index, key in enumerate(self.keys()):
            old_index = old_indices.get(key)
            if old_index is None:
                continue
            self.calls[index] = old.calls[old_index]
            self.idle_calls[index] = old.idle_calls[old_index]
            self.step_seconds[index] = old.step_seconds[old_index]
            self.errors[index] = old.errors[old_index]
            self.reasons[index] = old.reasons[old_index]
            if index < self.size:  # latches do not have these
                self.cached[index] = old.cached[old_index]
                self.open_counts[index] = old.open_counts[old_index]

    def _due_after_edit(
        self, old: ExecutionState, old_indices: Mapping[Hashable, int], up_to_date: set[str]
    ) -> list[int]:
        """Return the flags of the steps that take inputs and have to run once more.

        - A step that is new, or whose node has another state: it has no results yet.
        - One with other links: their last values were delivered, but not to this step.
        - One that was pending or due: it would have run anyway.
        - One that ran whenever its clock opened, and now waits for deliveries: those so far were
          not noted for it, so there may have been one.

        Args:
            old: The tables of the plan before.
            old_indices: Key of a step or latch of the old plan -> its index there.
            up_to_date: Nodes whose last outputs are valid: those that stay, and those that inherit
                a state, unless they have to run again.
        """
        due: list[int] = []
        # the keys of latches come last
        for step, key in zip(self.plan.steps, self.keys(), strict=False):
            if step.role not in ("tick", "submit"):
                continue
            old_index = old_indices.get(key)
            is_new = old_index is None or step.node not in up_to_date
            if is_new or self._has_work_left(step, old, old_indices[key]):
                due.append(self.flag_index(step))
        return due

    def _has_work_left(self, step: Step, old: ExecutionState, old_index: int) -> bool:
        """Return whether a step of a node that is up to date has something to do that it has not
        done: the last three cases of `_due_after_edit`.
        """
        has_new_links = old.plan.in_edges(step.node) != self.plan.in_edges(step.node)
        pending_flag = old.size + old_index
        was_pending = old.due_flags[pending_flag] or pending_flag in old.due_next_tick
        was_due = old_index in old.due_next_tick
        old_step = old.plan.steps[old_index]
        ran_without_deliveries = old_step.unconditional and bool(old_step.clocks)
        waits_from_now_on = ran_without_deliveries and not step.unconditional
        return has_new_links or bool(was_pending) or was_due or waits_from_now_on

    def keys(self) -> list[Hashable]:
        """Return a key for each step and latch that means the same in another plan."""
        keys: list[Hashable] = []
        for step in self.plan.steps:
            if step.role in ("tick", "submit"):
                keys.append(("takes", step.node))
            else:
                names = [output.name for output in step.outputs]
                keys.append((step.role, step.node, step.clock, *names))
        for latch in self.plan.latches:
            keys.append(("latch", latch.node))
        return keys

    @cached_property
    def output_slots(self) -> dict[tuple[str, str, SlotUse], int]:
        """Return the slot of each output: (node, output, use) -> slot,
        without the functions of lazy outputs.
        """
        return self._slots()

    def _slots(self) -> dict[tuple[str, str, SlotUse], int]:
        lazy = self._lazy_slots()
        slots: dict[tuple[str, str, SlotUse], int] = {}
        for step in self.plan.steps:
            for output in step.outputs:
                for use, slot in output.slots.items():
                    if slot not in lazy:
                        slots[step.node, output.name, use] = slot
        return slots

    def _delivered(self) -> dict[tuple[str, str], tuple[Any, int]]:
        """Return the last value of each output, and the tick of its delivery;
        the last tick if that is not known.
        """
        found: dict[tuple[str, str], tuple[Any, int]] = {}
        slots = self._slots()
        for (node, socket, use), slot in slots.items():
            value = self.values[slot]
            if use in ("last", "last_or_none") and value is not self.initial[slot]:
                delivered_at = slots.get((node, socket, "delivered_at"), TICK_SLOT)
                found[node, socket] = value, self.values[delivered_at]
        return found

    def _lazy_slots(self) -> set[int]:
        """Return the slots that hold lazy outputs' functions; registers fill them on every tick."""
        return {step.inputs[0].sources[0].slot for step in self.plan.steps if step.role == "read"}
