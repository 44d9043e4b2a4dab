"""Forks: runs that begin in the middle of a recorded one, perhaps with another workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minibrains.engine.compile import compile_graph
from minibrains.engine.plan import Plan
from minibrains.graph.check import Graph
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import Workflow, parse_workflow
from minibrains.run.replay import decimation_at, recorded_spec, verify_brains
from minibrains.run.spec import RunSpec
from minibrains.tape import snapshot
from minibrains.tape.recording import TapePlayer, modules, recorded_workflow
from minibrains.tape.tape import Event

if TYPE_CHECKING:
    from minibrains.run.run import Run


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """A moment between two ticks of a recorded run, from which `Run(spec, fork=…)` plays on.

    `Rewind.fork_point` makes it. It can be pickled, because a process can have only one emulator.

    The fork plays the rest of that episode. It begins with the recorded workflow and the state of
    its nodes, and goes over to its own workflow as in a live edit. Its tape is complete: it begins
    with a copy of the recorded one.
    """

    tick: int
    """The tick of the recorded run, and of the fork, which counts on from there."""
    episode: tuple[int, int, int | None]
    """Index, seed and limit of the episode."""
    recorded: Mapping[str, Any]
    """The workflow that was played, and its brains, as on the tape."""
    path: str
    """The workflow's file when it was recorded."""
    added: frozenset[str]
    """Nodes of it that hooks had added, to film it, say. They are left out."""
    before: tuple[Event, ...]
    """The header of the tape, and everything that came from outside before this tick."""
    inputs: tuple[Event, ...]
    """The inputs of the whole tape: nobody has to play again."""
    state: bytes
    """A snapshot, without the nodes whose results are on the tape."""
    calls: Mapping[str, Mapping[str, Any]]
    """Non-blocking node that is thinking -> the state of its `NonBlockingCalls`, with the answer
    from the tape."""

    def spec(self, models: Path | None = None) -> RunSpec:
        """Return the spec of a fork without changes, to be changed with `dataclasses.replace`.

        `models` is the user's own folder of brains; None: the default one.
        """
        return recorded_spec(self._played(), self.path, models)

    def settings(self, workflow: Workflow) -> Workflow:
        """Return a workflow with the settings of the recorded episode."""
        _, seed, limit = self.episode
        return workflow.with_run(replace(workflow.run, episodes=1, seed=seed, ticks=limit))

    def plan(self, spec: RunSpec, registry: Registry) -> Plan:
        """Return the plan with which the fork begins: that of the recorded workflow.

        Raises WorkflowError, or MinibrainsError if a brain has changed.
        """
        before = recorded_spec(self.recorded, self.path, spec.models, self.added)
        plan = compile_graph(before.check(before.load_workflow(), registry))
        verify_brains(plan, self.player(), self.recorded)
        return plan

    def player(self) -> TapePlayer:
        """Return a tape with the recorded inputs, and no results."""
        return TapePlayer(self.inputs)

    def restore(self, run: Run) -> None:
        """Bring an open run, which has the plan of `plan`, to this moment, and then to its own
        workflow.

        Raises what a live edit raises.
        """
        engine = run.engine
        engine.load_state(snapshot.load(self.state, modules(engine)))
        engine.context.decimation = decimation_at(list(self.before), self.tick)
        engine.context.tape = run.recorder
        tape_value = None
        if self._is_changed(run.graph):
            tape_value = recorded_workflow(run.graph)
        edit = engine.prepare(compile_graph(run.graph), tape_value, run.make_host)
        edit.resume_calls(self.calls)
        engine.edits.append(edit)
        engine.apply_edits()
        for error in engine.finish_edit(edit):
            run.say(error)

    def _played(self) -> dict[str, Any]:
        """Return the recorded workflow and its brains, without the nodes of hooks."""
        workflow = self.recorded["workflow"]
        nodes, brains = dict(workflow["nodes"]), dict(self.recorded["brains"])
        for name in self.added:
            nodes.pop(name, None)
            brains.pop(name, None)
        return {"workflow": {**workflow, "nodes": nodes}, "brains": brains}

    def _is_changed(self, graph: Graph) -> bool:
        """Return whether a graph is another one than was recorded."""
        return _content(self._played()) != _content(recorded_workflow(graph))


def _content(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes of a recorded workflow, with the hashes of their brains, wherever these
    were found.
    """
    nodes: dict[str, Any] = {}
    for name, entry in parse_workflow(recorded["workflow"]).nodes.items():
        nodes[name] = dict(entry.raw)
        if name in recorded["brains"]:
            nodes[name]["brain"] = recorded["brains"][name]["sha256"]
    return nodes
