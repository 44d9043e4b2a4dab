"""How dense our Python is: comprehensions and conditional expressions per 1000 statements.

    python -m tests.project.density              the packages, others' packages beside them, and
                                                 our twenty densest files
    python -m tests.project.density --files 0    the packages, and every file
    python -m tests.project.density minibrains/engine nodes/vision
    python -m tests.project.density --where minibrains/graph/check.py    the nested expressions

Everything but the tokens is counted in the syntax tree, so line breaks, parentheses and trailing
commas change nothing.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.support.paths import ROOT

PACKAGES = ("minibrains", "nodes", "server", "games", "tests")
OTHERS = ("gymnasium", "safetensors", "aiohttp", "_pytest", "peft")
"""Packages by other people, which are known to be easy to read."""

MOST_COMPREHENSIONS = 27
"""What a package may have per 1000 statements."""
MOST_CONDITIONALS = 11
"""What a package may have per 1000 statements."""

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
CONDITIONALS = (ast.IfExp,)
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
"""Tokens that nobody reads."""


@dataclass
class Density:
    """What was counted in a file, or in all files of a package."""

    statements: int = 0
    """Without docstrings."""
    comprehensions: int = 0
    conditionals: int = 0
    nested: int = 0
    """Comprehensions and conditional expressions inside another one, or at least two calls deep."""
    tokens: int = 0
    lines: int = 0
    """Those that have a token, without comments and docstrings."""

    def add(self, other: Density) -> None:
        self.statements += other.statements
        self.comprehensions += other.comprehensions
        self.conditionals += other.conditionals
        self.nested += other.nested
        self.tokens += other.tokens
        self.lines += other.lines

    def per_thousand(self, count: int) -> float:
        return 1000 * count / max(1, self.statements)

    @property
    def excess(self) -> float:
        """Expressions that would have to go for the file to keep both bounds:
        by this the worst files come first.
        """
        comprehensions = self.comprehensions - MOST_COMPREHENSIONS * self.statements / 1000
        conditionals = self.conditionals - MOST_CONDITIONALS * self.statements / 1000
        return max(0.0, comprehensions) + max(0.0, conditionals)


@dataclass(frozen=True)
class Nested:
    """A comprehension or a conditional expression that stands inside too much else."""

    line: int
    source: str


def count(source: str) -> Density:
    tree = ast.parse(source)
    density = Density(nested=len(list(find_nested(tree))))
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not _is_text(node):
            density.statements += 1
        elif isinstance(node, COMPREHENSIONS):
            density.comprehensions += 1
        elif isinstance(node, CONDITIONALS):
            density.conditionals += 1
    density.tokens, density.lines = _count_tokens(source, tree)
    return density


def find_nested(node: ast.AST, around: int = 0, calls: int = 0) -> Iterator[Nested]:
    """Those below `node`, which has `around` comprehensions and conditionals and `calls` calls
    around it in its statement.
    """
    if isinstance(node, ast.stmt):
        around = calls = 0
    elif isinstance(node, COMPREHENSIONS + CONDITIONALS):
        if around or calls > 1:
            yield Nested(node.lineno, ast.unparse(node))
        around += 1
    elif isinstance(node, ast.Call):
        calls += 1
    for child in ast.iter_child_nodes(node):
        yield from find_nested(child, around, calls)


def _is_text(node: ast.stmt) -> bool:
    """Whether the statement is nothing but a string: the docstring of something."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _count_tokens(source: str, tree: ast.Module) -> tuple[int, int]:
    """The tokens that people read, and the lines that they stand on."""
    texts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and _is_text(node):
            texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    count = 0
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        line = token.start[0]
        if token.type not in LAYOUT and line not in texts:
            count += 1
            lines.add(line)
    return count, len(lines)


def python_files(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    return [
        path
        for path in sorted(folder.rglob("*.py"))
        if "build" not in path.relative_to(folder).parts
    ]


def _row(name: str, density: Density) -> str:
    comprehensions = density.per_thousand(density.comprehensions)
    conditionals = density.per_thousand(density.conditionals)
    nested = density.per_thousand(density.nested)
    tokens = density.tokens / max(1, density.lines)
    return (
        f"{name:44} {density.statements:10} {comprehensions:14.1f} {conditionals:12.1f} "
        f"{nested:7.1f} {tokens:11.1f}"
    )


def _report(folders: list[Path], most_files: int) -> None:
    files: dict[str, Density] = {}
    print(
        f"{'':44} {'statements':>10} {'comprehensions':>14} {'conditionals':>12} "
        f"{'nested':>7} {'tokens/line':>11}"
    )
    everything = Density()
    for folder in folders:
        total = Density()
        for path in python_files(folder):
            name = str(path.relative_to(ROOT))
            files[name] = count(path.read_text(encoding="utf-8"))
            total.add(files[name])
        everything.add(total)
        print(_row(str(folder.relative_to(ROOT)), total))
    print(_row("all", everything))
    for package in OTHERS:
        folder = _installed(package)
        total = Density()
        for path in python_files(folder):
            total.add(count(path.read_text(encoding="utf-8")))
        print(_row(package, total))
    print()
    worst = sorted(files, key=lambda name: files[name].excess, reverse=True)
    for name in worst[: most_files or None]:
        print(_row(name, files[name]))


def _installed(package: str) -> Path:
    """Return the folder of an installed package."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _report_nested(folders: list[Path]) -> None:
    for folder in folders:
        for path in python_files(folder):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for nested in find_nested(tree):
                print(f"{path.relative_to(ROOT)}:{nested.line}: {nested.source}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folders", nargs="*", default=PACKAGES, help="packages, folders or files (all packages)"
    )
    parser.add_argument(
        "--files",
        type=int,
        default=20,
        metavar="N",
        help="how many of the densest files; 0: every file",
    )
    parser.add_argument("--where", action="store_true", help="list nested expressions instead")
    arguments = parser.parse_args()
    folders = [Path(folder).resolve() for folder in arguments.folders]
    if arguments.where:
        _report_nested(folders)
    else:
        _report(folders, arguments.files)


if __name__ == "__main__":
    main()
