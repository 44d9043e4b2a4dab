"""RunSpec: everything that a run is made from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from minibrains.errors import Fault, MinibrainsError, WorkflowError, suggest
from minibrains.files import home
from minibrains.graph.catalog import brain_finder, find_brain_file, find_workflow, node_types
from minibrains.graph.check import FindBrain, Graph, check
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import RunClock, Workflow, load_workflow, parse_workflow
from minibrains.host import WorkflowInfo


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything that a run is made from. It can be pickled, and makes the same run in any process.

    A field that is None takes its value from the workflow file.

    Example:
        >>> from dataclasses import replace
        >>> spec = RunSpec("sf2", episodes=3, widgets={"console.noop_max": 10})
        >>> other = replace(spec, seed=8)
        >>> spec.seed, other.seed, other.episodes
        (None, 8, 3)
    """

    workflow: str | os.PathLike[str] | Mapping[str, Any] | Workflow
    """A file, the name of a shipped workflow, a JSON object, or a Workflow."""
    episodes: int | None = None
    """Number of episodes, from 1."""
    ticks: int | None = None
    """Number of ticks after which an episode ends, from 1."""
    seed: int | None = None
    """The seed of all randomness in the run, from 0."""
    clock: RunClock | None = None
    """"fast" (as fast as possible) or "realtime" (at the console's own frame rate)."""
    widgets: Mapping[str, Any] = field(default_factory=dict)
    """Widget values that replace those of the file: "node.widget" -> value."""
    brains: Mapping[str, str | os.PathLike[str]] = field(default_factory=dict)
    """Brains that replace those of the file: node -> a path, or a name as in a workflow file."""
    mute: tuple[str, ...] = ()
    """Nodes that deliver nothing in this run."""
    packs: tuple[str | os.PathLike[str], ...] = ()
    """Python files with nodes; each becomes a pack named like the file."""
    installed_packs: bool = True
    """True to load the node packs of installed packages."""
    record: bool = False
    """Write a tape into the run folder, for replay."""
    runs: str | os.PathLike[str] | None = None
    """The folder in which to make a run folder for episodes, summary and the files of nodes. None:
    nothing is stored."""
    workers: int | str = 1
    """Number of processes that play the episodes, or the address of a Ray cluster
    (`ray://HOST:PORT?n=N`)."""
    models: Path | None = None
    """The user's own folder of brains, which is searched before the shipped ones. None: `models` in
    ~/.minibrains, where the editor puts files that are dropped into it."""

    train: tuple[str, ...] | None = None
    """The nodes in whose place a learner answers; see `WorkflowEnv`, which plays such a spec. None:
    a run without a learner."""
    reward: str | None = None
    """The output that is the learner's reward, "node.socket". None: the output `reward` of the only
    node that has one, or else of the console."""

    command: str = ""
    """The command that the run was started with, for the metadata of what nodes write."""
    origin: WorkflowInfo | None = None
    """The workflow as the nodes are told of it; None: its own name and hash, and `command`."""

    def __post_init__(self) -> None:
        for name, minimum in (("episodes", 1), ("ticks", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < minimum):
                raise MinibrainsError(
                    f"{name} of a run: expected a whole number from {minimum}, found {value!r}"
                )
        if self.clock not in (None, *get_args(RunClock)):
            raise MinibrainsError(
                f"clock of a run: expected 'fast' or 'realtime', found {self.clock!r}"
            )
        if isinstance(self.packs, (str, os.PathLike)):
            raise MinibrainsError(
                f"packs of a run: expected a tuple of files, found {self.packs!r}"
            )
        if isinstance(self.mute, str):
            raise MinibrainsError(f"mute of a run: expected a tuple of nodes, found {self.mute!r}")
        for node, file in self.brains.items():
            if not isinstance(file, (str, os.PathLike)):
                raise MinibrainsError(
                    f"brains of a run: {node}: expected a file, found {type(file).__name__}; "
                    "save it first"
                )
        if self.record and str(self.workers) != "1":
            raise MinibrainsError(
                "a tape is recorded of a run in one process; leave out --workers, or record"
            )

    def load_node_types(self) -> tuple[Registry, list[str]]:
        """Import all node types; return them,
        and a sentence for each pack that could not be loaded.
        """
        return node_types(self.installed_packs, map(Path, self.packs))

    def load_workflow(self) -> Workflow:
        """Read the workflow, with the changes of this spec. Raises WorkflowError."""
        workflow = self._read()
        for target, value in self.widgets.items():
            node, dot, widget = target.partition(".")
            if not dot:
                fault = Fault(
                    "cannot be read", expected="NODE.WIDGET", found=target, code="invalid_argument"
                )
                raise WorkflowError([fault], "the change of settings")
            if node in workflow.boxes and widget in workflow.boxes[node].widgets:
                shown = workflow.boxes[node].widgets[widget]
                node, widget = shown.node, shown.socket
            entry = _entry(workflow, node, "the change of settings")
            workflow = workflow.with_node(
                node, {**entry, "set": {**workflow.nodes[node].set, widget: value}}
            )
        for node, file in self.brain_files(workflow).items():
            if node in workflow.boxes and len(workflow.boxes[node].brains) == 1:
                (node,) = workflow.boxes[node].brains.values()
            workflow = workflow.with_node(
                node, {**_entry(workflow, node, "the choice of brains"), "brain": str(file)}
            )
        for name in self.mute:
            for node in workflow.nodes_of(name):
                workflow = workflow.with_node(
                    node, {**_entry(workflow, node, "the list of muted nodes"), "mode": "mute"}
                )
        given: dict[str, Any] = {}
        for name in ("episodes", "ticks", "seed", "clock"):
            value = getattr(self, name)
            if value is not None:
                given[name] = value
        return workflow.with_run(replace(workflow.run, **given))

    def brain_files(self, workflow: Workflow) -> dict[str, Path]:
        """Find the files of `brains`: node -> absolute path. Raises MinibrainsError."""
        found = {}
        for node, file in self.brains.items():
            found[node] = find_brain_file(
                os.fspath(file), workflow.path, self._own_models
            ).absolute()
        return found

    def check(self, workflow: Workflow, registry: Registry) -> Graph:
        """Check a workflow, with brains from where this spec allows them.

        Raises WorkflowError with all faults, or MinibrainsError if `train` is not a region.
        """
        graph = check(workflow, registry, self.brain_finder(workflow))
        if self.train is not None:
            train: list[str] = []
            for name in self.train:
                train.extend(workflow.nodes_of(name))
            graph = graph.with_region(train, self.reward)
        return graph

    def brain_finder(self, workflow: Workflow) -> FindBrain:
        """Return a function that finds the brains of a workflow where this spec allows them."""
        named = self.brain_files(workflow).values()
        return brain_finder(workflow.path, named, self._own_models)

    def info(self, workflow: Workflow, graph: Graph) -> WorkflowInfo:
        """Return what the nodes are told about the workflow.

        Args:
            workflow: The workflow with the changes of this spec, without the nodes of hooks.
            graph: The same, checked, perhaps with nodes of hooks.
        """
        if self.origin is not None:
            return self.origin
        brains = {name: file["sha256"] for name, file in graph.brain_files().items()}
        return WorkflowInfo(workflow.name, workflow.hash(brains), self.command)

    def for_worker(self, workflow: Workflow, origin: WorkflowInfo | None = None) -> RunSpec:
        """Return the spec that makes this run's engine in another process,
        which may be in another folder.

        `workflow` is the one that was prepared and checked here; its file is not read again. The
        nodes there are told that it is `origin`; None: what it is there.
        """
        absolute = replace(workflow, path=workflow.path and workflow.path.absolute())
        packs = tuple(Path(file).absolute() for file in self.packs)
        brains = self.brain_files(workflow)
        return RunSpec(
            absolute,
            brains=brains,
            packs=packs,
            installed_packs=self.installed_packs,
            models=self._own_models,
            origin=origin,
        )

    @property
    def _own_models(self) -> Path:
        return (self.models or home() / "models").absolute()

    def _read(self) -> Workflow:
        if isinstance(self.workflow, Workflow):
            return self.workflow
        if isinstance(self.workflow, Mapping):
            return parse_workflow(dict(self.workflow))
        return load_workflow(find_workflow(os.fspath(self.workflow)))


def _entry(workflow: Workflow, node: str, where: str) -> Mapping[str, Any]:
    if node in workflow.boxes:
        box = workflow.boxes[node]
        shown = ", ".join(box.widgets) or "none"
        hint = f"Name one of the nodes inside: {', '.join(box.nodes)}. Widgets shown: {shown}"
        fault = Fault(f"{node!r} is a box, which has no such part", hint=hint, code="unknown_node")
        raise WorkflowError([fault], where)
    if node not in workflow.nodes:
        fault = Fault(
            f"there is no node {node!r}", hint=suggest(node, workflow.nodes), code="unknown_node"
        )
        raise WorkflowError([fault], where)
    return workflow.nodes[node].raw
