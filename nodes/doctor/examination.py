"""Examination: a policy plays in its workflow and is tested, for the command and the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from minibrains.doctor.checks import Diagnosis, examine
from minibrains.doctor.evidence import (
    Buttons,
    ChannelStatistics,
    Demonstrations,
    Evidence,
    Kind,
    best,
)
from minibrains.doctor.network import BATCH, Network
from minibrains.doctor.watch import Sampler, Watch, find_logits, find_sampler, kind_of
from minibrains.errors import MinibrainsError
from minibrains.graph.check import Graph
from minibrains.graph.encoding import compare_encodings, find_encoding
from minibrains.graph.registry import Registry
from minibrains.graph.socket_ref import SocketRef
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from nodes.actions.sink import ActionTable, EmulatorSink
from nodes.doctor.report import write_report
from nodes.doctor.training import find_trained_encoding, find_trained_together, read_demonstrations
from nodes.policies.buttons import ButtonCalibration, ButtonSampler

ENOUGH: Final = 500
"""Decisions after which no other episode begins, unless it is said how many: of none in 500, the
share is below 0.8 %."""
MOST_EPISODES: Final = 50
"""Episodes of an examination, unless it is said how many."""


class Examination:
    """A policy that is to be examined: prepare, let a Run with `watch` play, then diagnose."""

    def __init__(
        self,
        spec: RunSpec,
        nodes: Sequence[str],
        registry: Registry,
        *,
        data: str = "",
        variable: str | None = None,
    ) -> None:
        """Find the policy in its workflow.

        Args:
            spec: The run in which it plays.
            nodes: The ids of the nodes that it consists of.
            registry: All node types.
            data: The user's data set to compare it with; empty: none.
            variable: A variable of the game whose values are counted; None: none.

        Raises:
            MinibrainsError: There is no such policy, or no such data set.
        """
        from minibrains.training.module import region

        workflow = spec.load_workflow()
        graph = spec.check(workflow, registry)
        logits = find_logits(graph, nodes)
        self._graph = graph = graph.with_region(nodes, None)
        assert graph.region is not None
        module = region(workflow, nodes, brains=spec.brains, packs=spec.packs)
        self._network = Network(module, f"{logits.node}/{logits.socket}")
        self._logits, self._kind = logits, kind_of(graph, logits)
        self._buttons, self._names = _find_outputs(graph, logits, self._kind)
        self._sampler = find_sampler(graph, logits)
        self._calibration = _find_calibration(graph, self._sampler)
        self._rng = np.random.default_rng(spec.seed or 0)
        self._data: Demonstrations | None = None
        if data:
            self._data = read_demonstrations(
                data, graph, self._network, self._names, self._corrected, self._rng
            )
        self.about = {
            "workflow": workflow.name,
            "nodes": list(nodes),
            "brains": _brains(graph),
        }
        """The workflow, the nodes and their brains, for the title of a report."""
        self.watch = Watch(
            graph.region,
            self._network,
            logits,
            self._buttons,
            variable,
            spec.seed or 0,
            kind=self._kind,
            sampler=self._sampler,
            corrected=self._corrected,
        )
        """The hook of the run."""

    def play(self, run: Run, *, all_episodes: bool) -> None:
        """Play an open run, with `watch` as a hook, until there are enough decisions.

        Args:
            run: The run.
            all_episodes: Play all episodes of the run, even if there are enough.
        """
        for _ in run:
            if not all_episodes and len(self.watch.logits) >= ENOUGH:
                break

    def diagnose(self) -> Diagnosis:
        """Make all tests. Raises MinibrainsError if the policy has made no decision."""
        if not self.watch.logits:
            raise MinibrainsError(
                f"{self._logits.node} made no decision; give it another clock, or the episodes "
                "more ticks"
            )
        self._evidence = self._gather()
        self._diagnosis = examine(self._evidence)
        return self._diagnosis

    def write(self, folder: Path) -> list[str]:
        """Write doctor.html and doctor.png, and return the files; see `write_report`."""
        return write_report(folder, self.about, self._evidence, self._diagnosis, self.watch)

    def _gather(self) -> Evidence:
        """Put together what was seen, and ask the network about it."""
        watch, kind = self.watch, self._kind
        logits = np.stack(watch.logits)
        broken = int((~np.isfinite(logits)).any(axis=1).sum())
        if broken:
            raise MinibrainsError(
                f"{self._logits.node} gave NaN or infinity in {broken} of {len(logits)} decisions: "
                "its brain, or that of a node before it, is broken; train it again, from a "
                "checkpoint before its loss became so"
            )
        thresholds = None
        if self._calibration is not None:
            thresholds = np.asarray(self._calibration.thresholds)
        chosen = best(kind, logits, thresholds)
        if watch.choices:
            chosen = np.stack(watch.choices)
        moments = watch.selection
        figures: dict[str, ChannelStatistics] = {}
        for name, values in moments.latest.items():
            if values.ndim > 1:
                figures[name] = ChannelStatistics.of(values)
        probes = self._network.probe(kind, moments, self._rng) if len(logits) > 1 else []
        games: dict[str, tuple[int, int]] = {}
        for opponent, won in watch.games.items():
            games[opponent] = (sum(won), len(won))
        return Evidence(
            kind=kind,
            names=self._names,
            buttons=self._buttons,
            logits=logits,
            chosen=chosen,
            thresholds=thresholds,
            data=self._data,
            inputs=figures,
            probes=tuple(probes),
            parts=tuple(self._network.parts(moments.select(slice(BATCH)))),
            differences=self._differences(),
            games=games,
        )

    def _differences(self) -> tuple[str, ...] | None:
        assert self._graph.region is not None
        trained = find_trained_encoding(self._graph)
        if trained is None:
            return None
        before = [link.node for link in self._graph.region.inputs]
        here = find_encoding(self._graph, before)
        # what has learned with the policy is not as it was before the training
        together = find_trained_together(self._graph)
        expected = dict(trained)
        for name, settings in here.items():
            then = expected.get(name)
            if settings is not None and settings["brain"] in together and then is not None:
                expected[name] = {**then, "brain": settings["brain"]}
        return compare_encodings(expected, here)

    def _corrected(self, logits: np.ndarray) -> np.ndarray:
        """Return logits as the sampler turns them into probabilities."""
        if self._calibration is not None:
            return self._calibration.corrected(logits)
        return logits / _temperature(self._graph, self._sampler)


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


def _find_calibration(graph: Graph, sampler: Sampler | None) -> ButtonCalibration | None:
    """Return the brain of a ButtonSampler; None: another node chooses, or none."""
    if sampler is None:
        return None
    node = graph.nodes[sampler.node]
    if not issubclass(node.cls, ButtonSampler) or node.brain is None:
        return None
    return ButtonCalibration.load(node.brain)


def _temperature(graph: Graph, sampler: Sampler | None) -> float:
    """Return the temperature at which an ActionSampler draws; 1 if it takes the best action."""
    if sampler is None:
        return 1.0
    widgets = graph.nodes[sampler.node].widgets
    if widgets.get("mode") != "sample":
        return 1.0
    return float(widgets.get("temperature", 1.0))


def _find_outputs(graph: Graph, logits: SocketRef, kind: Kind) -> tuple[Buttons, tuple[str, ...]]:
    """Return the buttons that a policy's outputs press, and the names of the outputs.

    Actions are those of the sink with as many of them. Without one, every action but the first
    counts as a button.
    """
    policy = graph.nodes[logits.node]
    if kind == "buttons":
        assert policy.header is not None
        names = tuple(policy.header.config["buttons"])
        return Buttons.alone(names), names
    count = policy.sizes["actions"]
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
    """Return the buttons of an action table."""
    names = table.relative_buttons
    columns = [table.buttons.index(name) for name in names]
    presses = np.zeros((len(table.names), len(columns)), bool)
    for action in range(len(table.names)):
        rows = table.rows[table.starts[action] : table.starts[action + 1]]
        presses[action] = np.any(rows[:, columns], axis=0)
    return Buttons(names=names, presses=presses)


def _brains(graph: Graph) -> Mapping[str, Any]:
    assert graph.region is not None
    files = graph.brain_files()
    return {name: files[name] for name in graph.region.nodes if name in files}
