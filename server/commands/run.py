"""`run`: play a workflow, show how it goes, print what came of it."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from server.cli import DONE, STOPPED, explain
from server.commands.progress import progress_bar
from server.commands.run_table import describe
from server.commands.workflow_arguments import check_workflow, read_registry, read_workflow
from server.engine.compile import compile_graph
from server.engine.engine import Engine
from server.run.folder import RunFolder
from server.run.interrupt import stop_on_interrupt
from server.run.play import Results, as_error, play, summarise
from server.run.video import Clip


def main(arguments: argparse.Namespace) -> int:
    registry = read_registry(arguments)
    workflow, brains = read_workflow(arguments)
    given = {name: getattr(arguments, name) for name in ("episodes", "ticks", "seed")}
    settings = replace(workflow.run, **{name: value for name, value in given.items() if value is not None})
    workflow = workflow.with_run(settings)
    clip = Clip(Path(arguments.video), workflow) if arguments.video else None
    graph = check_workflow(clip.workflow if clip else workflow, registry, brains)
    engine = Engine(compile_graph(graph))
    folder = RunFolder(Path(arguments.runs), workflow)
    results = Results()
    if settings.ticks is None and not engine.plan.terminals:
        _say("nothing in this workflow ends an episode, and no --ticks was given: Ctrl-C ends it")
    errors: list[BaseException] = []
    try:
        with stop_on_interrupt(engine), progress_bar(settings) as progress:
            play(engine, settings, folder, results, _say, progress)
    except (Exception, KeyboardInterrupt) as error:
        errors.append(error)
    try:
        if clip is not None and clip.deliver(folder.path):
            results.facts["clip"] = str(clip.file)
    except Exception as error:
        errors.append(error)
    summary = {**(as_error(errors[0]) if errors else {}), **summarise(engine, results, settings, folder)}
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
    return STOPPED if engine.stopping else DONE


def _say(text: str) -> None:
    print(text, file=sys.stderr)
