"""`bench`: the benchmarks, side by side with their baselines."""

from __future__ import annotations

import argparse
import json
from typing import Any

from server.cli import DONE


def main(arguments: argparse.Namespace) -> int:
    results: dict[str, Any] = {}
    if arguments.name in (None, "engine"):
        from server.bench import engine

        results["engine"] = engine.run()
    if arguments.name in (None, "agent"):
        from server.bench import agent

        results["agent"] = agent.run(_plan(arguments))
    if arguments.json:
        print(json.dumps(results[arguments.name] if arguments.name else results))
    else:
        print("\n\n".join(_table(name, result) for name, result in results.items()))
    return DONE


def _plan(arguments: argparse.Namespace) -> Any:
    from server.commands.workflow_arguments import check_workflow, read_registry, read_workflow
    from server.engine.compile import compile_graph

    workflow, brains = read_workflow(arguments)
    return compile_graph(check_workflow(workflow, read_registry(arguments), brains))


def _table(name: str, result: dict[str, Any]) -> str:
    rows = result.get("cases", [result])
    widths = {key: max(len(key), *(len(str(row[key])) for row in rows)) for key in rows[0]}
    lines = [name, "  ".join(key.rjust(width) for key, width in widths.items())]
    lines += ["  ".join(str(row[key]).rjust(width) for key, width in widths.items()) for row in rows]
    return "\n".join(lines)
