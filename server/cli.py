"""The command line. The module of a command is imported only when that command is given."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

DONE, FAILED, WRONG, STOPPED = 0, 1, 2, 130
"""Exit status: done; the run failed; the request was wrong; stopped by Ctrl-C."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    command_line = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = parser().parse_args(command_line)
        arguments.command = shlex.join(["python", "-m", "server", *command_line])
        command = importlib.import_module(f"server.commands.{arguments.module}")
        status: int = command.main(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:  # perhaps in the middle of an import, so nothing more can be imported
        if "--json" in command_line:
            print(json.dumps({"error": {"message": "stopped by Ctrl-C"}}))
        print("stopped by Ctrl-C", file=sys.stderr)
        return STOPPED
    except SystemExit:  # --help
        raise
    except BaseException as error:  # libraries in Rust and C do not always raise an Exception
        if "--json" in command_line:
            from minibrains.errors import as_error

            print(json.dumps(as_error(error)))
        return explain(error)


def explain(error: BaseException) -> int:
    """Print the error on standard error; return its exit status."""
    from minibrains.errors import MinibrainsError, is_refusal, sentence
    from server.terminal import tell

    tell(sentence(error))
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    if is_refusal(error):
        return WRONG
    if not isinstance(error, (MinibrainsError, OSError)):
        tell("".join(traceback.format_exception(error)))
    return FAILED


class _Parser(argparse.ArgumentParser):
    """A parser that reports errors like all other parts of Minibrains.

    Options cannot be abbreviated.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments as argparse does, but refuse an unknown option where its likely meaning
        is known: in the parser of the command.
        """
        found, rest = super().parse_known_args(args, namespace)
        if rest and self._subparsers is None:
            from minibrains.errors import suggest

            message = f"unrecognized arguments: {' '.join(rest)}"
            if hint := suggest(rest[0].partition("=")[0], self._option_string_actions):
                message = f"{message} ({hint})"
            self.error(message)
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Raise MinibrainsError with a hint at `--help`."""
        from minibrains.errors import MinibrainsError

        raise MinibrainsError(f"{self.prog}: {message}. All options: {self.prog} --help")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line, without importing any command's module."""
    top = _Parser(
        prog="minibrains", description="Build game-playing agents from small nodes, and run them."
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    # options that several commands share
    packs = _Parser(add_help=False)
    packs.add_argument(
        "--no-packs", action="store_true", help="do not load the node packs of installed packages"
    )
    packs.add_argument(
        "--pack",
        metavar="FILE",
        action="append",
        default=[],
        help="load nodes from this Python file too",
    )
    as_json = _Parser(add_help=False)
    as_json.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object on standard output and nothing else",
    )
    changes = _Parser(add_help=False)
    changes.add_argument(
        "--set", metavar="NODE.WIDGET=VALUE", action="append", default=[], help="set a widget"
    )
    changes.add_argument(
        "--brain",
        metavar="NODE=FILE",
        action="append",
        default=[],
        help="give a node another brain",
    )
    changes.add_argument(
        "--mute",
        metavar="NODE",
        action="append",
        default=[],
        help="mute a node, so that it delivers nothing",
    )
    workflow = _Parser(add_help=False, parents=[changes])
    workflow.add_argument(
        "workflow", metavar="WORKFLOW", help="a workflow file, or the name of a shipped one"
    )

    run = commands.add_parser("run", help="run a workflow", parents=[workflow, packs, as_json])
    run.add_argument("--episodes", metavar="N", type=_count, help="number of episodes")
    run.add_argument("--ticks", metavar="N", type=_count, help="end an episode after N ticks")
    run.add_argument("--seed", metavar="S", type=_seed, help="seed of all randomness (default 0)")
    run.add_argument(
        "--clock",
        choices=["fast", "realtime"],
        help="as fast as possible, or at the console's own frame rate (default fast)",
    )
    run.add_argument("--video", metavar="FILE", help="write a clip of the first episode (.mp4)")
    run.add_argument(
        "--record", action="store_true", help="write a tape into the run folder, for replay"
    )
    run.add_argument(
        "--person",
        action="store_true",
        help="play it yourself, on a page of your browser; in real time, unless --clock says fast",
    )
    run.add_argument(
        "--live", action="store_true", help="apply changes of the workflow file while it runs"
    )
    run.add_argument(
        "--workers",
        metavar="N",
        default="1",
        help="play in N processes, or on Ray: ray://HOST:PORT[?n=N]",
    )
    run.add_argument(
        "--runs", metavar="DIR", default="runs", help="folder for run folders (default runs)"
    )
    run.set_defaults(module="run")

    games = _Parser(add_help=False)
    games.add_argument(
        "--states",
        metavar="SPLIT[/PATTERN]",
        required=True,
        help="a split of the game's splits.json: validation, …",
    )
    games.add_argument(
        "--episodes",
        metavar="N",
        type=_count,
        required=True,
        help="number of episodes, the same ones for each player",
    )
    games.add_argument(
        "--ticks",
        metavar="N",
        type=_count,
        help="end an episode after N ticks (default: the game's own limit)",
    )
    games.add_argument(
        "--seed",
        metavar="S",
        type=_seed,
        default=0,
        help="seed of the choice and order of starts (default 0)",
    )
    games.add_argument(
        "--workers",
        metavar="N",
        default="1",
        help="play in N processes, or on Ray: ray://HOST:PORT[?n=N]",
    )
    games.add_argument(
        "--out",
        metavar="DIR",
        default="evaluations",
        help="folder for results and episodes (default evaluations)",
    )
    evaluate = commands.add_parser(
        "evaluate", help="measure the win rate, with a confidence interval and baselines",
        parents=[workflow, games, packs, as_json],
    )  # fmt: skip
    evaluate.add_argument(
        "--baselines",
        metavar="N",
        type=_seed,
        help="the game's own baselines play only the first N episodes (default: all; 0: none)",
    )
    evaluate.add_argument(
        "--opponents",
        metavar="GROUP[/NAME]|FILE",
        help="play against these opponents: training, held_back, '*', or those of a JSON file",
    )
    evaluate.add_argument(
        "--compare-with",
        metavar="WORKFLOW|NODE=FILE",
        action="append",
        default=[],
        help="compare with this workflow, or with this brain, in pairs of episodes",
    )
    evaluate.add_argument(
        "--no-worse-than",
        metavar="RESULT",
        help="exit with status 1 if it wins significantly less often than in this earlier result",
    )
    evaluate.set_defaults(module="evaluate")

    sweep = commands.add_parser(
        "sweep", help="vary a widget or a brain, and measure the win rate of each",
        parents=[workflow, games, packs, as_json],
    )  # fmt: skip
    sweep.add_argument(
        "--vary",
        metavar="NODE.WIDGET=VALUE,VALUE",
        action="append",
        default=[],
        help="values of a widget; several times for a grid",
    )
    sweep.add_argument(
        "--vary-brain",
        metavar="NODE=FILE,FILE",
        action="append",
        default=[],
        help="brains of a node; several times for a grid",
    )
    sweep.set_defaults(module="sweep")

    doctor = commands.add_parser(
        "doctor", help="find out what is wrong with a policy that plays badly",
        parents=[workflow, packs, as_json],
    )  # fmt: skip
    doctor.add_argument(
        "--node",
        metavar="NODE",
        action="append",
        required=True,
        help="the policy, which outputs logits; repeat it for a policy of several nodes",
    )
    doctor.add_argument("--data", metavar="NAME", help="the data set that it was trained on")
    doctor.add_argument(
        "--variable", metavar="NAME", help="count the values of this variable of the game"
    )
    doctor.add_argument(
        "--episodes",
        metavar="N",
        type=_count,
        help="number of episodes (default: at most 50, until there are 500 decisions)",
    )
    doctor.add_argument("--ticks", metavar="N", type=_count, help="end an episode after N ticks")
    doctor.add_argument("--seed", metavar="S", type=_seed, help="seed of all randomness")
    doctor.add_argument(
        "--runs", metavar="DIR", default="runs", help="folder for run folders (default runs)"
    )
    doctor.set_defaults(module="doctor")

    data = commands.add_parser(
        "data", help="list your data sets, or count what is in one", parents=[as_json]
    )
    data.add_argument("name", metavar="NAME", nargs="?", help="your data set")
    data.add_argument(
        "--brain",
        metavar="FILE",
        help="ask this policy_head, vlm or lora_adapter about each sample, and count its answers",
    )
    data.add_argument(
        "--question",
        metavar="TEXT",
        help="the question that a model is asked (default: the first that it has learned)",
    )
    data.set_defaults(module="data")

    serve = commands.add_parser(
        "serve",
        help="start the editor and the service that runs workflows",
        parents=[packs, as_json],
    )
    serve.add_argument(
        "--host",
        metavar="HOST",
        default="127.0.0.1",
        help="address to listen on; any but loopback needs a token",
    )
    serve.add_argument(
        "--port",
        metavar="PORT",
        type=_port,
        default=8188,
        help="port to listen on, 0 for any free one (default 8188)",
    )
    serve.add_argument(
        "--data",
        metavar="DIR",
        help="folder for workflows, models and runs (default $MINIBRAINS_HOME or ~/.minibrains)",
    )
    serve.add_argument(
        "--token", metavar="T", help="token that clients must send; generated if one is needed"
    )
    serve.add_argument(
        "--parallel",
        metavar="N",
        type=_count,
        help="number of simultaneous runs (default: one per core, at least 2)",
    )
    serve.set_defaults(module="serve")

    replay = commands.add_parser(
        "replay",
        help="play a tape back and verify that the run is the same",
        parents=[packs, as_json],
    )
    replay.add_argument("run", metavar="RUN", help="a run folder, or the tape in it")
    replay.add_argument(
        "--from",
        metavar="TICK",
        type=_seed,
        default=0,
        dest="start",
        help="start at the last snapshot before this tick",
    )
    replay.set_defaults(module="replay")

    fork = commands.add_parser(
        "fork",
        help="play a recorded run on from one of its ticks, with another brain or setting",
        parents=[changes, packs, as_json],
    )
    fork.add_argument("run", metavar="RUN", help="a run folder, or the tape in it")
    fork.add_argument(
        "--tick", metavar="N", type=_seed, required=True, help="tick of the run, from 0"
    )
    fork.add_argument(
        "--runs", metavar="DIR", default="runs", help="folder for run folders (default runs)"
    )
    fork.set_defaults(module="fork")

    export = commands.add_parser(
        "export",
        help="write a workflow with its brains into one file, to share it",
        parents=[workflow, packs, as_json],
    )
    export.add_argument("file", metavar="FILE", help="the file to write (.zip)")
    export.add_argument("--tape", metavar="RUN", help="include the tape of this recorded run")
    export.add_argument("--picture", metavar="FILE", help="include this picture (.png)")
    export.set_defaults(module="export")

    import_ = commands.add_parser(
        "import",
        help="take a workflow and its brains from a file that export has written",
        parents=[packs, as_json],
    )
    import_.add_argument("file", metavar="FILE", help="the file")
    import_.add_argument(
        "--limit",
        metavar="MIB",
        type=_count,
        default=1024,
        help="largest total size after unpacking, in MiB (default 1024)",
    )
    import_.set_defaults(module="import_")

    check = commands.add_parser(
        "check",
        help="report what is wrong with a workflow, or print its plan",
        parents=[workflow, packs, as_json],
    )
    check.add_argument(
        "--source", action="store_true", help="print the generated step functions instead"
    )
    check.set_defaults(module="check")

    nodes = commands.add_parser(
        "nodes",
        help="list node types, or describe one: sockets, widgets, brain",
        parents=[packs, as_json],
    )
    nodes.add_argument("type", metavar="TYPE", nargs="?", help="describe this type in full")
    nodes.add_argument(
        "--schema", action="store_true", help="print the JSON Schema of workflow files instead"
    )
    nodes.set_defaults(module="nodes")

    brain = commands.add_parser(
        "brain", help="show a brain's header, tensors and lineage", parents=[as_json]
    )
    brain.add_argument("file", metavar="FILE", help="a brain file, or its name within models/")
    brain.set_defaults(module="brain")

    save = commands.add_parser(
        "save-state", help="save the state of a game, of a workflow or a recorded run",
        parents=[changes, packs, as_json],
    )  # fmt: skip
    save.add_argument(
        "workflow",
        metavar="RUN_OR_WORKFLOW",
        help="a workflow, or the folder or the tape of a recorded run",
    )
    save.add_argument("name", metavar="NAME", help="name of the state, for the widget `states`")
    save.add_argument(
        "--episode", metavar="N", type=_count, default=1, help="episode, from 1 (default 1)"
    )
    save.add_argument(
        "--tick",
        metavar="N",
        type=_seed,
        default=0,
        help="save the state just before this tick of the episode (default 0)",
    )
    save.add_argument("--seed", metavar="S", type=_seed, help="seed of the workflow's run")
    save.add_argument(
        "--force", action="store_true", help="overwrite a state of yours with this name"
    )
    save.set_defaults(module="save_state")

    roms = commands.add_parser("roms", help="manage your own ROMs").add_subparsers(
        required=True, metavar="ACTION"
    )
    add = roms.add_parser(
        "import", help="copy ROMs of known games into the ROM folder", parents=[as_json]
    )
    add.add_argument(
        "paths", metavar="PATH", nargs="+", help="ROM files, zip archives or folders of them"
    )
    add.set_defaults(module="roms")

    onnx = commands.add_parser(
        "export-onnx",
        help="write the networks of some nodes as an ONNX file",
        parents=[workflow, packs, as_json],
    )
    onnx.add_argument("file", metavar="FILE", help="the file to write, .onnx")
    onnx.add_argument(
        "--node",
        metavar="NODE",
        action="append",
        required=True,
        help="a node with a network; several times for several nodes that are linked",
    )
    onnx.set_defaults(module="export_onnx")

    policy = commands.add_parser(
        "import-policy", help="turn a policy of Stable-Baselines3 into a brain of yours"
    )
    policy.add_argument("file", metavar="FILE", help="the zip file that model.save has written")
    policy.add_argument(
        "name", metavar="NAME", nargs="?", help="name of the brain (default: that of the file)"
    )
    policy.set_defaults(module="import_policy")

    fetch = commands.add_parser(
        "fetch-model", help="download a model's files from the Hugging Face Hub"
    )
    fetch.add_argument(
        "repository",
        metavar="REPO",
        nargs="?",
        help="its name there, like HuggingFaceTB/SmolVLM-Instruct; without it, models that are "
        "known to work are listed",
    )
    fetch.add_argument("--endpoint", metavar="URL", help="another server with the Hub's interface")
    fetch.set_defaults(module="fetch_model")

    pack = commands.add_parser(
        "pack-model", help="turn a model folder of transformers or PEFT into one brain file"
    )
    pack.add_argument("folder", metavar="FOLDER", help="what save_pretrained has written")
    pack.add_argument("file", metavar="FILE", help="the brain file to write, .safetensors")
    pack.add_argument(
        "--answers",
        metavar="TEXT",
        nargs="+",
        default=[],
        help="the answers to choose from, each one token, like 0 1 2 3 (default: it generates)",
    )
    pack.set_defaults(module="pack_model")

    unpack = commands.add_parser(
        "unpack-model", help="turn such a brain file into a folder for transformers or PEFT again"
    )
    unpack.add_argument("file", metavar="FILE", help="the brain, as written in a workflow")
    unpack.add_argument("folder", metavar="FOLDER", help="the new folder")
    unpack.set_defaults(module="unpack_model")

    new = commands.add_parser("new-node", help="write a template file for a node of your own")
    new.add_argument("name", metavar="NAME", help="name of the class, like EdgeFilter")
    new.set_defaults(module="new_node")

    make = commands.add_parser("make-brains", help="rebuild the shipped brains byte for byte")
    make.add_argument(
        "names", metavar="NAME", nargs="*", help="files within models/ (default: all of them)"
    )
    make.add_argument(
        "--into", metavar="DIR", default="models", help="folder to write to (default models)"
    )
    make.set_defaults(module="make_brains")

    bench = commands.add_parser(
        "bench", help="run benchmarks, each with its baseline", parents=[changes, packs, as_json]
    )
    names = [
        "engine",
        "agent",
        "realtime",
        "tape",
        "workers",
        "train",
        "environment",
        "network",
        "vlm",
        "thoughts",
        "start",
        "editor",
    ]
    bench.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        choices=names,
        help=", ".join(names) + " (default: the first two)",
    )
    bench.add_argument(
        "workflow",
        metavar="WORKFLOW",
        nargs="?",
        help="workflow to play, for benchmarks that play one (default airstriker; vlm: sf2)",
    )
    bench.add_argument(
        "--seconds",
        metavar="N",
        type=_count,
        help="duration: realtime (default 60), editor (600), agent (101 turns), thoughts (10 for "
        "each row)",
    )
    bench.add_argument(
        "--kill", metavar="NODE", help="realtime: kill the process of this node every ten seconds"
    )
    bench.add_argument(
        "--model",
        metavar="NAME",
        action="append",
        default=[],
        help="thoughts: a model or a family, like Qwen3-VL; several times for several (default: "
        "all)",
    )
    bench.add_argument(
        "--device", metavar="DEVICE", help="thoughts: cpu, cuda, mps or auto (the default)"
    )
    bench.add_argument(
        "--precision",
        metavar="TYPE",
        action="append",
        default=[],
        help="thoughts: f32, bf16, int8 or nf4; several times for several (default: bf16 and nf4)",
    )
    bench.add_argument(
        "--no-worse-than",
        metavar="RESULT",
        help="exit with status 1 if it is slower than in this earlier result of --json",
    )
    bench.add_argument(
        "--tolerance",
        metavar="SHARE",
        type=_share,
        default=0.1,
        help="allowed slowdown, as a fraction (default 0.1)",
    )
    bench.set_defaults(module="bench")
    return top


def _count(text: str) -> int:
    return _whole(text, 1)


def _seed(text: str) -> int:
    return _whole(text, 0)


def _port(text: str) -> int:
    port = _whole(text, 0)
    if port > 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, found {text!r}")
    return port


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to below 1, found {text!r}")
    return share


def _whole(text: str, minimum: int) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18 or int(text) < minimum:
        raise argparse.ArgumentTypeError(f"expected a whole number from {minimum}, found {text!r}")
    return int(text)
