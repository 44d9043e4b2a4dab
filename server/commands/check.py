"""The command `check`: report faults of a workflow, or print its plan,
the events that may be lost, or its step functions.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from minibrains.engine.lost_events import find_lost_events
from minibrains.engine.plan import Clock, Plan, Step
from minibrains.engine.steps import shape_of, write_source
from minibrains.run.run import Run
from server.cli import DONE
from server.commands.workflow_arguments import read_registry, read_spec
from server.terminal import printable


def main(arguments: argparse.Namespace) -> int:
    """Check the workflow and print its plan. Raises WorkflowError with everything that is wrong."""
    registry = read_registry(arguments)
    # making the run also makes the nodes, which look for their brain, game and states; nothing is
    # opened
    plan = Run(read_spec(arguments), registry=registry).engine.plan
    if arguments.source:
        _print_source(step_sources(plan), arguments.json)
        return DONE
    description = describe_plan(plan)
    if arguments.json:
        print(json.dumps(description))
    else:
        print(printable(describe(description)))
    return DONE


def _print_source(sources: dict[str, list[str]], as_json: bool) -> None:
    if as_json:
        functions = [{"steps": steps, "source": source} for source, steps in sources.items()]
        print(json.dumps({"step_functions": functions}))
        return
    for source, steps in sources.items():
        print(printable(f"# {', '.join(steps)}"))
        print(source)


_TAKING = ("tick", "submit", "latch")
"""The roles of steps that take a node's inputs: tick, submit of a non-blocking node, latch of a
register."""


def describe_plan(plan: Plan) -> dict[str, Any]:
    """Return the plan in the form that `--json` prints: steps and latches in order,
    their inputs, events that may be lost.
    """
    lost_events = []
    for lost in find_lost_events(plan):
        edge = lost.edge
        lost_events.append({"node": edge.target, "socket": edge.input.name, "message": str(lost)})
    return {
        "workflow": str(plan.graph.workflow.path or ""),
        "nodes": len(plan.graph.workflow.nodes),
        "steps": [_step(plan, step) for step in plan.steps],
        "latches": [_about(plan, latch.node, "latch", "after the steps") for latch in plan.latches],
        "lost_events": lost_events,
    }


def step_sources(plan: Plan) -> dict[str, list[str]]:
    """Return the source of each shape of step function in a plan -> the steps of that shape.

    A clock gate has none. Everything else about a step, like waiting for a first delivery, a clock
    or a fallback, is plain Python around its function.
    """
    sources: dict[str, list[str]] = {}
    for step in plan.steps:
        if step.role == "gate":
            continue
        returns_tuple = plan.graph.nodes[step.node].cls.schema.returns_tuple and step.role not in (
            "read",
            "submit",
        )
        source = write_source(shape_of(step.inputs, step.outputs, returns_tuple))
        sources.setdefault(source, []).append(f"{step.role} {_name(step)}")
    for latch in plan.latches:
        source = write_source(shape_of(latch.inputs, (), returns_tuple=False))
        sources.setdefault(source, []).append(f"latch {latch.node}")
    return sources


def describe(description: dict[str, Any]) -> str:
    """Return the plan as a table for people."""
    steps, latches = description["steps"], description["latches"]
    rows = [_row(entry) for entry in [*steps, *latches]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    head = f"{description['workflow']}: nodes {description['nodes']}"
    lines = [f"{head}, steps {len(steps)}, latches {len(latches)}"]
    for row in rows:
        cells = map(str.ljust, row, widths)
        lines.append("  ".join(cells).rstrip())
    for lost in description["lost_events"]:
        lines.append(f"warning: {lost['message']}")
    return "\n".join(lines)


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    role, name, type_ = entry["role"], entry["node"], entry["type"]
    if role == "read":
        name += f".{entry['output']}"
    elif role == "gate":
        role, name, type_ = "clock gate", ", ".join(entry["opens"]), ""
    runs = entry["runs"]
    if entry.get("inherited"):
        runs = f"{runs} (inherited)"
    reads = []
    for socket, links in entry["reads"].items():
        reads.append(f"{socket}: {', '.join(links)}")
    return role, name, type_, runs, "; ".join(reads)


def _about(plan: Plan, name: str, role: str, runs: str) -> dict[str, Any]:
    reads: dict[str, list[str]] = {}
    for edge in plan.graph.edges:
        if edge.target == name and role in _TAKING:
            reads.setdefault(edge.input.name, []).append(f"{edge.source}.{edge.output.name}")
    entry = plan.graph.nodes[name].entry
    return {
        "role": role,
        "node": name,
        "type": f"{entry.type}@{entry.version}",
        "runs": runs,
        "reads": reads,
    }


def _step(plan: Plan, step: Step) -> dict[str, Any]:
    description = _about(plan, step.node, step.role, _runs(plan, step))
    if step.clock is not None:
        description["opens"] = [_name(plan.steps[member]) for member in step.members]
        description["reads"] = {}
        if step.inputs:
            description["reads"] = {"when": [str(step.clock.when)]}
        return description
    entry = plan.graph.nodes[step.node].entry
    has_clock = (entry.every, entry.hertz, entry.when, entry.optional) != (1, None, None, False)
    own = step.role in _TAKING and has_clock
    description["inherited"] = bool(step.clocks) and not own
    if step.role == "read":
        description["output"] = step.outputs[0].name
    return description


def _name(step: Step) -> str:
    """Return the name of a step: its node, or the lazy output that it reads."""
    if step.role == "read":
        return f"{step.node}.{step.outputs[0].name}"
    return step.node


def _runs(plan: Plan, step: Step) -> str:
    """Describe the ticks on which a step runs."""
    if step.clock is not None:
        return _clock(plan, step.clock)
    if step.role in _TAKING:
        socket = _starved(plan, step)
        if socket is not None:
            return f"never: nothing that runs is linked to {socket}"
    each_clock = [_clock(plan, clock) for clock in step.clocks]
    clocks = " or ".join(sorted(each_clock))
    if step.unconditional:
        return clocks or "every tick"
    due = "once"
    if any(read.sources for read in step.inputs):
        due = "when delivered"
    if clocks:
        return f"{clocks}, {due}"
    return due


def _starved(plan: Plan, step: Step) -> str | None:
    """Return a required input that only muted nodes feed; None if there is none."""
    inputs = plan.graph.nodes[step.node].cls.schema.inputs.values()
    for declared, read in zip(inputs, step.inputs, strict=True):
        if declared.required and not declared.many and not read.sources:
            return declared.name
    return None


def _clock(plan: Plan, clock: Clock) -> str:
    parts = []
    if clock.hertz is not None:
        parts.append(f"at {clock.hertz:g} hz")
    if clock.every > 1:
        parts.append(f"every {clock.every}")
        if clock.offset:
            parts.append(f"from tick {clock.offset}")
    if clock.when is not None:
        muted = "" if clock.when.node in plan.graph.nodes else " (muted)"
        parts.append(f"while {clock.when}{muted} is true")
    if clock.sheddable:
        parts.append("while there is room")
    return " ".join(parts)
