"""Step functions: the few lines of generated Python that run one step of a plan.

A step fetches its arguments from slots, calls the node, stores the result, and marks the steps that
read it. A single function for all shapes of nodes would take several times as long. So the source
of a function is generated and compiled once for each shape (how many arguments, how each is read,
where each output goes), and steps of the same shape share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from minibrains.annotations import ABSENT, Aged
from minibrains.engine.plan import TICK_SLOT, InputPlan, OutputPlan, SlotUse

StepFunction = Callable[[], None]


class _Unset:
    """The type of UNSET, which a slot with the last value holds before the first delivery."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


class UndeclaredAbsence(TypeError):
    """A node returned ABSENT on an output that is not declared `| Absent`."""


def _undeclared(name: str) -> None:
    raise UndeclaredAbsence(
        f"ABSENT was returned for the output {name!r}, which is not declared `| Absent`"
    )


ArgumentShape = tuple[bool, bool, tuple[bool, ...]]
"""Shape of an argument: whether it takes many links; whether it is required; for each link, whether
it is read as an Aged."""
OutputShape = tuple[bool, tuple[SlotUse, ...], int]
"""Shape of an output: whether it may be absent; the kinds of its slots; the number of steps that a
delivery marks as due."""
Shape = tuple[tuple[ArgumentShape, ...], tuple[OutputShape, ...], bool]
"""The arguments; the outputs; whether the node returns a tuple of them."""
ONE_BY_ONE: Final = 4
"""Largest number of flags that are set without a loop, which is quicker."""


def make_step(
    call: Callable[..., Any],
    inputs: Sequence[InputPlan],
    outputs: Sequence[OutputPlan],
    returns_tuple: bool,
    values: list[Any],
    due_flags: bytearray,
    one_tick_slots: list[int],
    flags_to_set: Callable[[OutputPlan], tuple[int, ...]],
) -> StepFunction:
    """Return the function of one step, bound to its node and its slots.

    Args:
        call: Called with the arguments of the step; returns its output, or a tuple of its outputs.
        inputs: The arguments, in order.
        outputs: The outputs, in order.
        returns_tuple: Whether `call` returns a tuple.
        values: The values of all slots.
        due_flags: The flags of all steps.
        one_tick_slots: Gets the slots to clear at the end of the tick.
        flags_to_set: Returns the indices in `due_flags` that a delivery on an output sets.
    """
    names = tuple(output.name for output in outputs)
    make = _maker(shape_of(inputs, outputs, returns_tuple))
    numbers = _numbers(inputs, outputs, flags_to_set)
    return make(call, values, due_flags, one_tick_slots, names, *numbers)


def _numbers(
    inputs: Sequence[InputPlan],
    outputs: Sequence[OutputPlan],
    flags_to_set: Callable[[OutputPlan], tuple[int, ...]],
) -> list[Any]:
    """Return the numbers of slots and flags, in the order in which `_SourceWriter` has parameters
    for them: it visits the same inputs and outputs.
    """
    numbers: list[Any] = []
    for plan in inputs:
        for source in plan.sources:
            numbers.append(source.slot)
            if source.delivered_at is not None:
                numbers.append(source.delivered_at)
    for output in outputs:
        numbers.extend(output.slots.values())
        flags = flags_to_set(output)
        if len(flags) <= ONE_BY_ONE:
            numbers.extend(flags)
        else:
            numbers.append(flags)
    return numbers


def shape_of(
    inputs: Sequence[InputPlan], outputs: Sequence[OutputPlan], returns_tuple: bool
) -> Shape:
    """Return the shape of a step: everything that its source depends on.

    Nodes and slot numbers are parameters.
    """
    arguments: list[ArgumentShape] = []
    for plan in inputs:
        aged = tuple(source.delivered_at is not None for source in plan.sources)
        arguments.append((plan.many, plan.required, aged))
    results: list[OutputShape] = []
    for output in outputs:
        flag_count = min(len(output.steps_to_flag), ONE_BY_ONE + 1)
        results.append((output.absent, tuple(output.slots), flag_count))
    return tuple(arguments), tuple(results), returns_tuple


@cache
def _maker(shape: Shape) -> Callable[..., StepFunction]:
    scope: dict[str, Any] = {"ABSENT": ABSENT, "Aged": Aged, "undeclared": _undeclared}
    exec(write_source(shape), scope)
    maker: Callable[..., StepFunction] = scope["make"]
    return maker


def write_source(shape: Shape) -> str:
    """Write the function that makes the step functions of a shape.

    A node with a required input and an output that is declared `| Absent`, stored in one slot, with
    one reader:

        def make(call, values, due_flags, one_tick_slots, names, s0, s1, t2):
            def run():
                out0 = call(values[s0])
                if out0 is not ABSENT:
                    values[s1] = out0
                    due_flags[t2] = 1
            return run
    """
    return _SourceWriter().write(shape)


class _SourceWriter:
    def __init__(self) -> None:
        self._parameters: list[str] = []
        """Parameter names of the slots (s) and of the flags to set (t), in the order in which
        `_numbers` lists their numbers."""
        self._body: list[str] = []

    def write(self, shape: Shape) -> str:
        arguments, outputs, returns_tuple = shape
        self._write_call(arguments, outputs, returns_tuple)
        for index, output in enumerate(outputs):
            self._write_delivery(index, output)
        head = ", ".join(
            ["call", "values", "due_flags", "one_tick_slots", "names", *self._parameters]
        )
        lines = [f"def make({head}):", "    def run():"]
        for line in self._body:
            lines.append(f"        {line}")
        lines.append("    return run")
        return "\n".join(lines) + "\n"

    def _parameter(self, letter: str) -> str:
        name = f"{letter}{len(self._parameters)}"
        self._parameters.append(name)
        return name

    def _write_call(
        self,
        arguments: Sequence[ArgumentShape],
        outputs: Sequence[OutputShape],
        returns_tuple: bool,
    ) -> None:
        written: list[str] = []
        for many, required, links in arguments:
            fetched = ", ".join([self._fetch(required, aged) for aged in links])
            if many:
                fetched = f"[{fetched}]"
            written.append(fetched or "None")
        call = f"call({', '.join(written)})"
        if returns_tuple:
            names: list[str] = []
            for index, (_, slots, flag_count) in enumerate(outputs):
                names.append(f"out{index}" if slots or flag_count else "_")
            call = f"{', '.join(names)}, = {call}"
        elif outputs:
            call = f"out0 = {call}"
        self._body.append(call)

    def _fetch(self, required: bool, aged: bool) -> str:
        value = f"values[{self._parameter('s')}]"
        if not aged:
            return value
        delivered_at = f"values[{self._parameter('s')}]"
        with_age = f"Aged({value}, values[{TICK_SLOT}] - {delivered_at})"
        if required:
            return with_age
        return f"(None if {delivered_at} is None else {with_age})"

    def _write_delivery(self, index: int, output: OutputShape) -> None:
        absent, slots, flag_count = output
        if not slots and not flag_count:
            return
        indent = ""
        if absent:
            self._body.append(f"if out{index} is not ABSENT:")
            indent = "    "
        else:
            self._body.append(f"if out{index} is ABSENT: undeclared(names[{index}])")
        for use in slots:
            slot = self._parameter("s")
            delivered = f"values[{TICK_SLOT}]" if use == "delivered_at" else f"out{index}"
            self._body.append(f"{indent}values[{slot}] = {delivered}")
            if use == "on":
                self._body.append(f"{indent}one_tick_slots.append({slot})")
        if flag_count > ONE_BY_ONE:
            self._body.append(f"{indent}for flag in {self._parameter('t')}: due_flags[flag] = 1")
        else:
            for _ in range(flag_count):
                self._body.append(f"{indent}due_flags[{self._parameter('t')}] = 1")
