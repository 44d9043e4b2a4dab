"""The command `doctor`: play with a policy, test it, and say what is wrong with it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from minibrains.doctor.checks import Diagnosis, examine
from minibrains.doctor.encoding import compare_encodings, find_encoding
from minibrains.doctor.evidence import Buttons, ChannelFigures, Demonstrations, Evidence, best
from minibrains.doctor.network import BATCH, Network
from minibrains.doctor.watch import Watch, find_logits
from minibrains.errors import MinibrainsError
from minibrains.graph.check import Graph
from minibrains.graph.workflow import Link
from minibrains.run.run import Run
from minibrains.training.module import region
from nodes.actions.sink import ActionTable, EmulatorSink
from server.cli import DONE, STOPPED
from server.commands.doctor.report import write_report
from server.commands.doctor.training import find_trained_encoding, read_demonstrations
from server.commands.interrupt import stop_on_interrupt
from server.commands.progress import PrintMessages, ProgressBar
from server.commands.workflow_arguments import read_registry, read_spec
from server.terminal import printable, tell

SICK: Final = 1
"""Exit status if a fault was found."""
ENOUGH: Final = 500
"""Decisions after which no other episode begins, unless --episodes says how many: of none in 500,
the share is below 0.8 %."""
MOST_EPISODES: Final = 50


def main(arguments: argparse.Namespace) -> int:
    """Examine a policy and print the verdict.

    Returns the exit status: 0 healthy, 1 sick, 2 if the request was wrong.
    """
    registry = read_registry(arguments)
    spec = read_spec(arguments)
    if spec.episodes is None:
        spec = replace(spec, episodes=MOST_EPISODES)
    workflow = spec.load_workflow()
    graph = spec.check(workflow, registry)
    logits = find_logits(graph, arguments.node)
    graph = graph.with_region(arguments.node, None)
    assert graph.region is not None
    module = region(workflow, arguments.node, brains=spec.brains, packs=spec.packs)
    network = Network(module, f"{logits.node}/{logits.socket}")
    buttons, names = _find_actions(graph, logits)
    rng = np.random.default_rng(spec.seed or 0)
    data = None
    if arguments.data:
        data = read_demonstrations(arguments.data, graph, network, names, rng)

    watch = Watch(graph.region, logits, buttons, arguments.variable, spec.seed or 0)
    run = Run(spec, [PrintMessages(), ProgressBar(), watch], registry=registry)
    with stop_on_interrupt(run), run:
        for _ in run:
            if arguments.episodes is None and len(watch.logits) >= ENOUGH:
                break
    if run.stopping:
        return STOPPED
    if not watch.logits:
        raise MinibrainsError(
            f"{logits.node} made no decision in {len(run.results.episodes)} episodes; give it "
            "another clock, or the episodes more ticks"
        )

    evidence = _gather(graph, watch, network, buttons, names, data, rng)
    diagnosis = examine(evidence)
    about = {"workflow": workflow.name, "nodes": list(arguments.node), "brains": _brains(graph)}
    files: list[str] = []
    if run.folder is not None:
        files = write_report(run.folder.path, about, evidence, diagnosis, watch)
    if arguments.json:
        print(json.dumps({**about, **as_json(diagnosis), "files": files}))
    else:
        print(printable(describe(diagnosis)))
        for file in files:
            tell(file)
    return SICK if diagnosis.sick else DONE


def as_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as a JSON object."""
    findings: list[dict[str, Any]] = []
    for finding in diagnosis.findings:
        findings.append(
            {
                "check": finding.check,
                "test": finding.test,
                "status": finding.status,
                "text": finding.text,
                "cause": finding.cause,
            }
        )
    return {
        "sick": diagnosis.sick,
        "causes": list(diagnosis.causes),
        "verdict": diagnosis.verdict(),
        "findings": findings,
    }


def describe(diagnosis: Diagnosis) -> str:
    """Return all findings and the verdict as lines of text."""
    lines: list[str] = []
    for finding in diagnosis.findings:
        lines.append(f"{finding.check} {finding.status:8} {finding.test}: {finding.text}")
    return "\n".join([*lines, "", diagnosis.verdict()])


def _gather(
    graph: Graph,
    watch: Watch,
    network: Network,
    buttons: Buttons,
    names: tuple[str, ...],
    data: Demonstrations | None,
    rng: np.random.Generator,
) -> Evidence:
    """Put together what was seen, and ask the network about it."""
    logits = np.stack(watch.logits) / _temperature(graph, watch)
    chosen = best("actions", logits)
    if watch.choices:
        chosen = np.eye(len(names), dtype=bool)[watch.choices]
    inputs = watch.inputs
    figures: dict[str, ChannelFigures] = {}
    for name, values in inputs.items():
        if values.ndim > 1:
            figures[name] = ChannelFigures.of(values)
    probes = network.probe("actions", inputs, rng) if len(watch.logits) > 1 else []
    some = {name: values[:BATCH] for name, values in inputs.items()}
    games: dict[str, tuple[int, int]] = {}
    for opponent, won in watch.games.items():
        games[opponent] = (sum(won), len(won))
    return Evidence(
        kind="actions",
        names=names,
        buttons=buttons,
        logits=logits,
        chosen=chosen,
        data=data,
        inputs=figures,
        probes=tuple(probes),
        parts=tuple(network.parts(some)),
        differences=_differences(graph),
        games=games,
    )


def _differences(graph: Graph) -> tuple[str, ...] | None:
    assert graph.region is not None
    trained = find_trained_encoding(graph)
    if trained is None:
        return None
    return compare_encodings(trained, find_encoding(graph, graph.region))


def _temperature(graph: Graph, watch: Watch) -> float:
    """Return the temperature at which the sampler draws; 1 if it takes the best action."""
    if watch.sampler is None:
        return 1.0
    widgets = graph.nodes[watch.sampler.node].widgets
    if widgets.get("mode") != "sample":
        return 1.0
    return float(widgets.get("temperature", 1.0))


def _find_actions(graph: Graph, logits: Link) -> tuple[Buttons, tuple[str, ...]]:
    """Return the buttons that a policy's actions press, and the names of the actions.

    They are those of the sink with as many actions. Without one, every action but the first counts
    as a button.
    """
    count = graph.nodes[logits.node].sizes["actions"]
    for node in graph.nodes.values():
        if issubclass(node.cls, EmulatorSink) and node.brain is not None:
            table = ActionTable.load(node.brain)
            if len(table.names) == count:
                return _buttons_of(table), table.names
    names = tuple(f"action {number}" for number in range(count))
    alone = Buttons.alone(names)
    alone.presses[0] = False
    return alone, names


def _buttons_of(table: ActionTable) -> Buttons:
    """Return the buttons of an action table.

    LEFT and RIGHT are left out of a table that has FORWARD and BACK, which stand for them.
    """
    columns: list[int] = []
    for column, name in enumerate(table.buttons):
        if not (table.by_facing and name in ("LEFT", "RIGHT")):
            columns.append(column)
    presses = np.zeros((len(table.names), len(columns)), bool)
    for action in range(len(table.names)):
        rows = table.rows[table.starts[action] : table.starts[action + 1]]
        presses[action] = np.any(rows[:, columns], axis=0)
    names = tuple(table.buttons[column] for column in columns)
    return Buttons(names=names, presses=presses)


def _brains(graph: Graph) -> Mapping[str, Any]:
    assert graph.region is not None
    files = graph.brain_files()
    return {name: files[name] for name in graph.region.nodes if name in files}
