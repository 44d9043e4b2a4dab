"""The command `doctor`: play with a policy, test it, and say what is wrong with it."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Final

from minibrains.doctor.checks import Diagnosis
from minibrains.run.run import Run
from nodes.doctor.examination import MOST_EPISODES, Examination, as_json
from server.cli import DONE
from server.commands.interrupt import stop_on_interrupt
from server.commands.progress import PrintMessages, progress_hook
from server.commands.workflow_arguments import read_registry, read_spec
from server.terminal import printable, tell

SICK: Final = 1
"""Exit status if a fault was found."""


def main(arguments: argparse.Namespace) -> int:
    """Examine a policy and print the verdict.

    Returns the exit status: 0 healthy, 1 sick. Raises KeyboardInterrupt if it was stopped.
    """
    registry = read_registry(arguments)
    spec = read_spec(arguments)
    if spec.episodes is None:
        spec = replace(spec, episodes=MOST_EPISODES)
    examination = Examination(
        spec, arguments.node, registry, data=arguments.data or "", variable=arguments.variable
    )
    hooks = [PrintMessages(), progress_hook(), examination.watch]
    run = Run(spec, hooks, registry=registry)
    with stop_on_interrupt(run), run:
        examination.play(run, all_episodes=arguments.episodes is not None)
    if run.stopping:
        raise KeyboardInterrupt  # there is no verdict
    diagnosis = examination.diagnose()
    files: list[str] = []
    if run.folder is not None:
        files = examination.write(run.folder.path)
    if arguments.json:
        print(json.dumps({**examination.about, **as_json(diagnosis), "files": files}))
    else:
        print(printable(describe(diagnosis)))
        for file in files:
            tell(file)
    return SICK if diagnosis.sick else DONE


def describe(diagnosis: Diagnosis) -> str:
    """Return all findings and the verdict as lines of text."""
    lines: list[str] = []
    for finding in diagnosis.findings:
        lines.append(f"{finding.check} {finding.status:8} {finding.test}: {finding.text}")
    return "\n".join([*lines, "", diagnosis.verdict()])
