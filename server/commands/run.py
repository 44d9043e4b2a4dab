"""`run`: play a workflow, show how it goes, print what came of it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from minibrains import __version__
from minibrains.engine.compile import compile_graph
from minibrains.engine.engine import Engine
from minibrains.engine.kept import KeptOutputs
from minibrains.engine.plan import Plan
from minibrains.errors import MinibrainsError, as_error
from minibrains.files import home
from minibrains.graph.catalog import find_workflow
from minibrains.graph.check import Graph
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import RunSettings
from minibrains.run.folder import RunFolder
from minibrains.run.live import LiveFile
from minibrains.run.play import play
from minibrains.run.recipe import Recipe
from minibrains.run.spread import Spread
from minibrains.run.summary import Results, summarise
from minibrains.run.video import Clip
from minibrains.tape.recording import Recorder, name_packs, recorded
from server.cli import DONE, STOPPED, explain
from server.commands.interrupt import stop_on_interrupt
from server.commands.progress import progress_bar
from server.commands.run_table import describe
from server.commands.workers_argument import choose_launcher
from server.commands.workflow_arguments import check_workflow, read_registry, read_workflow


def main(arguments: argparse.Namespace) -> int:
    registry = read_registry(arguments)
    workflow, brains = read_workflow(arguments)
    own = workflow.run
    given = {name: getattr(arguments, name) for name in ("episodes", "ticks", "seed", "clock")}
    settings = replace(workflow.run, **{name: value for name, value in given.items() if value is not None})
    workflow = workflow.with_run(settings)
    clip = Clip(Path(arguments.video), workflow) if arguments.video else None
    graph = check_workflow(clip.workflow if clip else workflow, registry, brains)
    plan = compile_graph(graph)
    launcher = choose_launcher(arguments.workers)
    if launcher is not None and (arguments.record or arguments.live):
        raise MinibrainsError("--record and --live are for a run in one process; leave out --workers")
    recorder = Recorder() if arguments.record else None
    engine = Engine(plan, KeptOutputs(folder=home() / "kept"), recorder)
    folder = RunFolder(Path(arguments.runs), workflow)
    recipe = Recipe(graph.workflow, brains, not arguments.no_packs, arguments.pack)
    spread = Spread(launcher, recipe, settings, folder) if launcher else None
    results = Results()
    if settings.ticks is None and not plan.terminals:
        _say("nothing in this workflow ends an episode, and no --ticks was given: Ctrl-C ends it")
    if outside := [name for name, node in graph.nodes.items() if node.register and getattr(node.cls, "outside", False)]:
        _say(f"{', '.join(outside)}: nobody plays on the command line; play in the editor: python -m server serve")
    errors: list[BaseException] = []
    try:
        with stop_on_interrupt(spread or engine), progress_bar(settings) as progress:
            if spread is not None:
                spread.play(graph, results, _say, progress)
            else:
                tape = (recorder, _header(graph, arguments)) if recorder else None
                live = None
                if arguments.live:
                    file = find_workflow(arguments.workflow)
                    live = LiveFile(file, _reader(arguments, registry, settings, own), _say)
                play(engine, settings, folder, results, _say, progress, tape, live)
    except (Exception, KeyboardInterrupt) as error:
        errors.append(error)
    try:
        if clip is not None and clip.deliver(folder.path):
            results.facts["clip"] = str(clip.file)
    except Exception as error:
        errors.append(error)
    summary = {**(as_error(errors[0]) if errors else {}), **summarise(graph, results, settings, folder)}
    try:
        folder.finish(summary)
    except Exception as error:
        errors.append(error)
        summary = {**as_error(errors[0]), **summary}
    if arguments.json:
        print(json.dumps(summary, default=repr))
    elif results.episodes:
        print(describe(summary))
    if errors:
        folder.keep_traceback(errors[0])
        return explain(errors[0])
    return STOPPED if (spread or engine).stopping else DONE


def _header(graph: Graph, arguments: argparse.Namespace) -> dict[str, Any]:
    """What a replay needs to open this run again."""
    path = "" if graph.workflow.path is None else str(graph.workflow.path.absolute())
    packs = name_packs(map(Path, arguments.pack))
    return {"minibrains": __version__, "path": path, "packs": packs, **recorded(graph)}


def _reader(
    arguments: argparse.Namespace, registry: Registry, settings: RunSettings, own: RunSettings
) -> Callable[[], tuple[Plan, Any]]:
    """Reads the file as it is now, with what the command line changes, and what the tape shall have of it.

    `own`: the settings that stood in the file. The run keeps those it began with, and says so when others stand there.
    """

    def read() -> tuple[Plan, Any]:
        nonlocal own
        workflow, brains = read_workflow(arguments)
        again, workflow = workflow.run, workflow.with_run(settings)
        clip = Clip(Path(arguments.video), workflow) if arguments.video else None
        graph = check_workflow(clip.workflow if clip else workflow, registry, brains)
        if again != own:
            own = again
            _say('the change of "run" is for the next run: this one keeps its episodes, ticks, seed and clock')
        return compile_graph(graph), recorded(graph)

    return read


def _say(text: str) -> None:
    print(text, file=sys.stderr)
