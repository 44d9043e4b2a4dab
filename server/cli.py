"""The command line. A command's own module is imported when that command is given, and not before."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

DONE, FAILED, WRONG, STOPPED = 0, 1, 2, 130
"""Exit status: done; the run failed; the request was wrong; stopped by Ctrl-C."""


def main(argv: Sequence[str] | None = None) -> int:
    """Do one command and return the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = parser().parse_args(words)
        command = importlib.import_module(f"server.commands.{arguments.module}")
        status: int = command.main(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (Exception, KeyboardInterrupt) as error:
        if "--json" in words:
            from server.run.play import as_error

            print(json.dumps(as_error(error)))
        return explain(error)


def explain(error: BaseException) -> int:
    """Say on standard error what went wrong; returns the exit status that goes with it."""
    from minibrains.errors import MinibrainsError, RunError
    from server.run.play import sentence

    print(sentence(error), file=sys.stderr)
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    if not isinstance(error, (MinibrainsError, OSError)):
        traceback.print_exception(error)
    return WRONG if isinstance(error, MinibrainsError) and not isinstance(error, RunError) else FAILED


class _Parser(argparse.ArgumentParser):
    """Says what is wrong the way every other part of Minibrains does."""

    def error(self, message: str) -> NoReturn:
        from minibrains.errors import MinibrainsError

        raise MinibrainsError(f"{self.prog}: {message}. {' '.join(self.format_usage().split())}")


def parser() -> argparse.ArgumentParser:
    """The whole command line, without any of the commands' modules."""
    top = _Parser(prog="minibrains", description="Wire game-playing agents out of small parts and run them.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    packs = _Parser(add_help=False)
    packs.add_argument("--no-packs", action="store_true", help="leave out the node packs of installed packages")
    packs.add_argument("--pack", metavar="FILE", action="append", default=[], help="take nodes from this Python file too")
    as_json = _Parser(add_help=False)
    as_json.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")
    workflow = _Parser(add_help=False)
    workflow.add_argument("workflow", metavar="WORKFLOW", help="a workflow file, or the name of a shipped one")
    workflow.add_argument("--set", metavar="NODE.WIDGET=VALUE", action="append", default=[], help="set a widget")
    workflow.add_argument("--brain", metavar="NODE=FILE", action="append", default=[], help="give a node another brain")

    run = commands.add_parser("run", help="run a workflow", parents=[workflow, packs, as_json])
    run.add_argument("--episodes", metavar="N", type=_count, help="how many games")
    run.add_argument("--ticks", metavar="N", type=_count, help="end an episode after so many ticks")
    run.add_argument("--seed", metavar="S", type=_seed, help="everything random follows from it (default 0)")
    run.add_argument("--video", metavar="FILE", help="write a clip of the first episode (.mp4)")
    run.add_argument("--runs", metavar="DIR", default="runs", help="where run folders go (default runs)")
    run.set_defaults(module="run")

    check = commands.add_parser("check", help="say what is wrong, or print the plan", parents=[workflow, packs, as_json])
    check.set_defaults(module="check")

    nodes = commands.add_parser("nodes", help="node types: sockets, widgets, brain", parents=[packs, as_json])
    nodes.add_argument("type", metavar="TYPE", nargs="?", help="only this one, in full")
    nodes.add_argument("--schema", action="store_true", help="print the JSON Schema of workflow files instead")
    nodes.set_defaults(module="nodes")

    brain = commands.add_parser("brain", help="a brain's header, tensors, lineage", parents=[as_json])
    brain.add_argument("file", metavar="FILE", help="a brain file, or its name within models/")
    brain.set_defaults(module="brain")

    roms = commands.add_parser("roms", help="a person's own ROMs").add_subparsers(required=True, metavar="ACTION")
    add = roms.add_parser("import", help="copy ROMs of known games into the ROM folder", parents=[as_json])
    add.add_argument("paths", metavar="PATH", nargs="+", help="ROM files, zip archives or folders of them")
    add.set_defaults(module="roms")

    new = commands.add_parser("new-node", help="write a starting file for a node of your own")
    new.add_argument("name", metavar="NAME", help="the class's name, like EdgeFilter")
    new.set_defaults(module="new_node")

    bench = commands.add_parser("bench", help="the benchmarks, each beside its baseline", parents=[packs, as_json])
    bench.add_argument("name", metavar="NAME", nargs="?", choices=["engine", "agent"], help="engine or agent (default both)")
    bench.add_argument("workflow", metavar="WORKFLOW", nargs="?", default="airstriker", help="for agent: what plays")
    bench.set_defaults(module="bench", set=[], brain=[])
    return top


def _count(text: str) -> int:
    return _whole(text, 1)


def _seed(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18 or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a whole number from {least}, found {text!r}")
    return int(text)
