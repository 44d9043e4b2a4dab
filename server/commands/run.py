"""The command `run`: play a workflow, show the progress, and print the results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from minibrains.errors import MinibrainsError
from minibrains.graph.catalog import find_workflow
from minibrains.hooks import Hook
from minibrains.run.film import Film
from minibrains.run.run import Run
from minibrains.run.watch import WorkflowWatcher
from minibrains.tape.recent import RecentTape
from server.cli import DONE, STOPPED, explain
from server.commands.interrupt import stop_on_interrupt
from server.commands.progress import PrintMessages, progress_hook
from server.commands.run_table import describe
from server.commands.workflow_arguments import read_registry, read_spec
from server.terminal import printable


def main(arguments: argparse.Namespace) -> int:
    """Play a workflow and print the summary. Returns the exit status."""
    registry = read_registry(arguments)
    if arguments.person:
        arguments.clock = arguments.clock or "realtime"
    spec = read_spec(arguments)
    hooks: list[Hook] = [PrintMessages(), progress_hook()]
    if arguments.video:
        hooks.append(Film(Path(arguments.video)))
    if arguments.live:
        if spec.workers != "1":
            raise MinibrainsError("--live is for a run in one process; leave out --workers")
        hooks.append(WorkflowWatcher(find_workflow(arguments.workflow)))
    recent = None
    if arguments.person:
        if spec.workers != "1":
            raise MinibrainsError("--person is for a run in one process; leave out --workers")
        # its server is loaded only for this
        from server.commands.play_page import PlayPage

        page = PlayPage()
        hooks += [page.controller, page]
        recent = RecentTape()
    run = Run(spec, hooks, registry=registry, recent=recent)
    _warn(run, arguments.person)
    try:
        with stop_on_interrupt(run), run:
            for _ in run:
                pass
    except BaseException:
        if run.error is None:
            raise
    if arguments.json:
        print(json.dumps(run.summary, default=repr))
    elif run.results.episodes:
        print(printable(describe(run.summary)))
    if run.error is not None:
        return explain(run.error)
    return STOPPED if run.stopping else DONE


def _warn(run: Run, is_played: bool) -> None:
    """Print warnings about this run, which a person plays or not.

    Raises MinibrainsError if there is nothing that a person can play with.
    """
    if run.settings.ticks is None and not run.engine.plan.terminals:
        run.say(
            "nothing in this workflow ends an episode, and no --ticks was given: Ctrl-C ends it"
        )
    external = [name for name, node in run.graph.nodes.items() if node.cls.external]
    if is_played and not external:
        raise MinibrainsError(
            "--person: nothing in this workflow takes a person's keys; give it a PersonPad, as "
            "sf2_human has one"
        )
    if external and not is_played:
        run.say(
            f"{', '.join(external)}: no input arrives on the command line; play with --person, or "
            "in the editor: python -m server serve"
        )
