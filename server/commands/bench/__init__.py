"""The command `bench`: benchmarks, side by side with their baselines."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from minibrains.errors import MinibrainsError
from server.cli import DONE, FAILED
from server.commands.bench.regression import read_earlier, slower
from server.commands.workflow_arguments import read_spec
from server.terminal import tell


def main(arguments: argparse.Namespace) -> int:
    """Run one benchmark or the default ones, and print their results."""
    if arguments.kill and arguments.name != "realtime":
        raise MinibrainsError(
            "--kill is for `bench realtime` only: it kills the process of a "
            "node while the game goes on"
        )
    options = {
        "--model": arguments.model,
        "--device": arguments.device,
        "--precision": arguments.precision,
    }
    for option, given in options.items():
        if given and arguments.name != "thoughts":
            raise MinibrainsError(
                f"{option} is for `bench thoughts` only, whose models are made for it"
            )
    if arguments.name == "thoughts" and arguments.workflow is not None:
        raise MinibrainsError(
            f"`bench thoughts` plays no workflow, and was given {arguments.workflow}; choose a "
            "model or a family with --model"
        )
    if arguments.workflow is None:
        arguments.workflow = "sf2" if arguments.name == "vlm" else "airstriker"
    earlier = None
    if arguments.no_worse_than is not None:
        if arguments.name is None:
            raise MinibrainsError("--no-worse-than is for one benchmark: name it before the option")
        earlier = read_earlier(Path(arguments.no_worse_than))
    results: dict[str, Any] = {}
    if arguments.name in (None, "engine"):
        from server.commands.bench import engine

        results["engine"] = engine.run()
    if arguments.name in (None, "agent"):
        from server.commands.bench import agent

        results["agent"] = agent.run(read_spec(arguments), arguments.seconds or 0)
    if arguments.name == "realtime":
        from server.commands.bench import realtime

        results["realtime"] = realtime.run(
            read_spec(arguments), arguments.seconds or 60, arguments.kill
        )
    if arguments.name == "tape":
        from server.commands.bench import tape

        results["tape"] = tape.run(read_spec(arguments))
    if arguments.name == "workers":
        from server.commands.bench import workers

        results["workers"] = workers.run(read_spec(arguments))
    if arguments.name == "start":
        from server.commands.bench import start

        results["start"] = start.run(read_spec(arguments))
    if arguments.name == "train":
        from server.commands.bench import train

        results["train"] = train.run()
    if arguments.name == "environment":
        from server.commands.bench import environment

        results["environment"] = environment.run()
    if arguments.name == "network":
        from server.commands.bench import network

        results["network"] = network.run(read_spec(arguments))
    if arguments.name == "vlm":
        from server.commands.bench import vlm

        results["vlm"] = vlm.run(read_spec(arguments))
    if arguments.name == "thoughts":
        from server.commands.bench import published_models, thoughts

        results["thoughts"] = thoughts.run(
            published_models.find_models(arguments.model),
            arguments.device or thoughts.DEVICE,
            arguments.precision or thoughts.PRECISIONS,
            arguments.seconds or thoughts.SECONDS,
        )
    if arguments.name == "editor":
        from server.commands.bench import editor

        results["editor"] = editor.run(arguments.seconds or 600)
    if not arguments.json:
        tables = [_table(name, result) for name, result in results.items()]
        print("\n\n".join(tables))
    elif arguments.name:
        print(json.dumps(results[arguments.name]))
    else:
        print(json.dumps(results))
    if earlier is not None:
        path = Path(arguments.no_worse_than)
        sentence = slower(results[arguments.name], earlier, path, arguments.tolerance)
        if sentence is not None:
            tell(f"{arguments.name} is {sentence}")
            return FAILED
    return DONE


def _table(name: str, result: dict[str, Any]) -> str:
    rows = result.get("cases", [result])
    columns = list(rows[0])
    table = [columns]
    for row in rows:
        table.append([_cell(row[key]) for key in columns])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [name]
    for texts in table:
        lines.append("  ".join(map(str.rjust, texts, widths)))
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return str(value)
