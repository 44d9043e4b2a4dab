"""Step functions: the few lines of Python that one step of a plan is while it runs.

A step fetches its arguments from slots, calls the node, stores what it got, and marks who has to hear
of it. Written once for all shapes of nodes, that would cost several times what it does here, so the
function for a shape (how many arguments, how each is read, where each output goes) is written as
source and compiled once; steps of the same shape share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from minibrains.annotations import ABSENT, Sample
from minibrains.engine.plan import TICK_SLOT, InputPlan, OutputPlan, Use

StepFunction = Callable[[], None]


class _Unset:
    """What a slot holds before the first delivery."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


class UndeclaredAbsence(TypeError):
    """A node returned ABSENT on an output that is not declared `| Absent`."""


def _undeclared(name: str) -> None:
    raise UndeclaredAbsence(f"ABSENT was returned for the output {name!r}, which is not declared `| Absent`")


ArgumentShape = tuple[bool, bool, tuple[bool, ...]]
"""Takes many links; is required; for each link, whether it is read as a Sample."""
OutputShape = tuple[bool, tuple[Use, ...], int]
"""May be absent; its slots; how many steps a delivery marks."""
ONE_BY_ONE: Final = 4
"""Up to this many steps are marked one by one, which is quicker than a loop."""


def make_step(
    call: Callable[..., Any],
    inputs: Sequence[InputPlan],
    outputs: Sequence[OutputPlan],
    record: bool,
    values: list[Any],
    marks: bytearray,
    event_slots: list[int],
    targets: Callable[[OutputPlan], tuple[int, ...]],
) -> StepFunction:
    """The function of one step, bound to its node and its slots."""
    arguments = tuple(
        (plan.many, plan.required, tuple(source.delivered_at is not None for source in plan.sources)) for plan in inputs
    )
    results = tuple((output.absent, tuple(output.slots), min(len(output.marks), ONE_BY_ONE + 1)) for output in outputs)
    numbers: list[Any] = []
    for plan in inputs:
        for source in plan.sources:
            numbers.append(source.slot)
            if source.delivered_at is not None:
                numbers.append(source.delivered_at)
    for output in outputs:
        numbers.extend(output.slots.values())
        marked = targets(output)
        numbers.extend(marked if len(marked) <= ONE_BY_ONE else [marked])
    names = tuple(output.name for output in outputs)
    run: StepFunction = _maker(arguments, results, record)(call, values, marks, event_slots, names, *numbers)
    return run


@cache
def _maker(arguments: tuple[ArgumentShape, ...], outputs: tuple[OutputShape, ...], record: bool) -> Callable[..., StepFunction]:
    parameters: list[str] = []

    def number(letter: str) -> str:
        parameters.append(f"{letter}{len(parameters)}")
        return parameters[-1]

    def fetch(required: bool, sampled: bool) -> str:
        value = f"values[{number('s')}]"
        if not sampled:
            return value
        delivered_at = f"values[{number('s')}]"
        sample = f"Sample({value}, values[{TICK_SLOT}] - {delivered_at})"
        return sample if required else f"(None if {delivered_at} is None else {sample})"

    written = []
    for many, required, links in arguments:
        fetched = ", ".join(fetch(required, sampled) for sampled in links)
        written.append(f"[{fetched}]" if many else fetched or "None")
    body = [f"call({', '.join(written)})"]
    if record:
        used = [f"out{index}" if slots or mark_count else "_" for index, (_, slots, mark_count) in enumerate(outputs)]
        body = [f"{', '.join(used)}, = {body[0]}"]
    elif outputs:
        body = [f"out0 = {body[0]}"]
    for index, (absent, slots, mark_count) in enumerate(outputs):
        if not slots and not mark_count:
            continue
        indent = ""
        if absent:
            body.append(f"if out{index} is not ABSENT:")
            indent = "    "
        else:
            body.append(f"if out{index} is ABSENT: undeclared(names[{index}])")
        for use in slots:
            slot = number("s")
            body.append(f"{indent}values[{slot}] = {f'values[{TICK_SLOT}]' if use == 'delivered_at' else f'out{index}'}")
            if use == "on":
                body.append(f"{indent}event_slots.append({slot})")
        if mark_count > ONE_BY_ONE:
            body.append(f"{indent}for target in {number('t')}: marks[target] = 1")
        else:
            body += [f"{indent}marks[{number('t')}] = 1" for _ in range(mark_count)]
    head = ", ".join(["call", "values", "marks", "event_slots", "names", *parameters])
    source = f"def make({head}):\n    def run():\n" + "".join(f"        {line}\n" for line in body) + "    return run\n"
    scope: dict[str, Any] = {"ABSENT": ABSENT, "Sample": Sample, "undeclared": _undeclared}
    exec(source, scope)
    maker: Callable[..., StepFunction] = scope["make"]
    return maker
