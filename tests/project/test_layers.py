"""The layers of docs/architecture.md: imports run downwards only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.paths import ROOT

OURS = {"games", "minibrains", "nodes", "server", "tests"}
LAYERS = [
    {"minibrains", "minibrains.games"},
    {"minibrains.graph"},
    {"minibrains.process"},
    {"minibrains.engine"},
    {"minibrains.tape"},
    {"minibrains.run"},
    {"minibrains.doctor", "minibrains.evaluation", "minibrains.sharing", "minibrains.training"},
    {"server"},
]
"""From the lowest to the highest, each named by the longest prefix of its modules; `minibrains` is
what a node author imports."""
MAY_IMPORT: dict[str, set[str]] = {}
for height, layer in enumerate(LAYERS, start=1):
    for name in layer:
        MAY_IMPORT[name] = set().union(*LAYERS[:height])
# a stranger's model is tried out in a process, and a trainer plays a workflow of its own
MAY_IMPORT["nodes"] = LAYERS[0] | {
    "nodes",
    "minibrains.process",
    "minibrains.training",
}
# the doctor plays a workflow to watch a policy in it
MAY_IMPORT["nodes.doctor"] = MAY_IMPORT["nodes"] | {
    "nodes.doctor",
    "minibrains.doctor",
    "minibrains.evaluation",
    "minibrains.graph",
    "minibrains.run",
}
# a console plays our game natively, by modules of its sources that import no nodes
NATIVE_DUEL = {
    f"games.source.duel.{name}" for name in ("native.compiled", "native.game", "splits", "starts")
}
MAY_IMPORT.update(dict.fromkeys(NATIVE_DUEL, LAYERS[0]))
MAY_IMPORT["nodes.consoles.native_duel"] = MAY_IMPORT["nodes"] | NATIVE_DUEL
MAY_IMPORT["server"] |= {"nodes", "nodes.doctor"}
"""A layer, and the layers its modules may import."""
NEVER_IN_THE_ENGINE = {"aiohttp", "json", "torch", "transformers"}
LATE = {
    "torch", "stable_retro", "transformers", "peft", "imageio_ffmpeg", "PIL", "pyarrow", "ray",
    "tqdm",
}  # fmt: skip
"""Only imported inside functions, so that listing and checking stay fast."""
LATE_ALREADY = {"commands", "training"}
"""Folders of modules that are themselves imported only when they are used."""

FILES: list[Path] = []
for folder in ("minibrains", "nodes", "server"):
    FILES += sorted((ROOT / folder).rglob("*.py"))


def _imports(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name
            elif isinstance(node, ast.ImportFrom):
                yield node.module or "."


def _layer(module: str, layers: dict[str, set[str]]) -> str:
    prefix = module
    while prefix not in layers:
        prefix, dot, _ = prefix.rpartition(".")
        assert dot, f"{module} is in no layer"
    return prefix


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def test_imports_run_downwards() -> None:
    faults: list[str] = []
    for path in FILES:
        module = _module(path)
        layer = _layer(module, MAY_IMPORT)
        for name in _imports(ast.parse(path.read_text()).body):
            package = name.split(".")[0]
            if package in OURS and _layer(name, MAY_IMPORT) not in MAY_IMPORT[layer]:
                faults.append(f"{module} imports {name}, which is not below it")
            if layer == "minibrains.engine" and package in NEVER_IN_THE_ENGINE:
                faults.append(f"{module} imports {name}")
    assert not faults, "\n".join(faults)


def test_heavy_packages_are_imported_late() -> None:
    faults: list[str] = []
    for path in FILES:
        if not LATE_ALREADY.isdisjoint(path.parts):
            continue
        for statement in ast.parse(path.read_text()).body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name in _imports([statement]):
                    if name.split(".")[0] in LATE:
                        faults.append(f"{_module(path)} imports {name} at its top")
    assert not faults, "\n".join(faults)
