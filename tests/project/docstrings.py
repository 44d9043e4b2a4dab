"""Measure our docstrings: how many begin with a question word,
and how many public definitions have one.

    python -m tests.project.docstrings                     the packages, without the tests
    python -m tests.project.docstrings minibrains/engine   folders or files
    python -m tests.project.docstrings --where server      list both kinds, line by line

A docstring that begins with "What", "Who" or "Of" is usually half a sentence. PEP 257 asks for
"Return …" or a noun phrase.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.project.density import python_files
from tests.support.paths import ROOT

PACKAGES = ("minibrains", "nodes", "server", "games")
"""Without the tests, whose names are their documentation."""
QUESTION_WORDS = frozenset(
    {"What", "Who", "Whom", "Whose", "Of", "Whether", "How", "Where", "Which"}
)

Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Docstring:
    """A docstring of a module, class or function,
    or of the attribute that is assigned right before it.
    """

    line: int
    text: str

    @property
    def begins_with_question_word(self) -> bool:
        words = self.text.split(maxsplit=1)
        return bool(words) and words[0].strip(",.:;`") in QUESTION_WORDS


@dataclass(frozen=True)
class PublicDefinition:
    """A module, a class, a function, or a method of a public class,
    whose name has no leading underscore.
    """

    name: str
    line: int
    documented: bool


@dataclass
class Counts:
    """The counts of one file, or the sums over a package."""

    docstrings: int = 0
    questions: int = 0
    """Docstrings that begin with a question word."""
    public: int = 0
    documented: int = 0
    """Public definitions that have a docstring, or inherit one."""

    def add(self, other: Counts) -> None:
        self.docstrings += other.docstrings
        self.questions += other.questions
        self.public += other.public
        self.documented += other.documented


class Classes:
    """The classes of the measured files by name,
    to look up whether a method inherits its docstring, as `help` does.
    """

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        self._bases: dict[str, set[str]] = {}
        self._documented: dict[str, set[str]] = {}
        for tree in trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self._add(node)

    def _add(self, node: ast.ClassDef) -> None:
        bases = self._bases.setdefault(node.name, set())
        documented = self._documented.setdefault(node.name, set())
        for base in node.bases:
            name = ast.unparse(base).partition("[")[0].rpartition(".")[2]
            if name != node.name:
                bases.add(name)
        for statement in node.body:
            if (
                isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
                and ast.get_docstring(statement) is not None
            ):
                documented.add(statement.name)

    def documents(self, name: str, method: str) -> bool:
        """Return whether the class `name`, or one that it derives from,
        has a docstring for the method.
        """
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if method in self._documented.get(name, ()):
                return True
            waiting += self._bases.get(name, ())
        return False


def find_docstrings(tree: ast.Module) -> Iterator[Docstring]:
    """Yield all docstrings of a file, private ones and those of attributes too."""
    for node in ast.walk(tree):
        if not isinstance(node, Definition):
            continue
        for position, statement in enumerate(node.body):
            text = _text_of(statement)
            if text is None:
                continue
            if position == 0 or isinstance(node.body[position - 1], (ast.Assign, ast.AnnAssign)):
                yield Docstring(statement.lineno, text)


def find_public(tree: ast.Module, classes: Classes) -> Iterator[PublicDefinition]:
    """Yield the public definitions of a file."""
    yield PublicDefinition("module", 1, ast.get_docstring(tree) is not None)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _find_in_class(node, node.name, classes)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith(
            "_"
        ):
            yield PublicDefinition(node.name, node.lineno, ast.get_docstring(node) is not None)


def _find_in_class(parent: ast.ClassDef, name: str, classes: Classes) -> Iterator[PublicDefinition]:
    if parent.name.startswith("_"):
        return
    yield PublicDefinition(name, parent.lineno, ast.get_docstring(parent) is not None)
    for node in parent.body:
        if isinstance(node, ast.ClassDef):
            yield from _find_in_class(node, f"{name}.{node.name}", classes)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith(
            "_"
        ):
            yield PublicDefinition(
                f"{name}.{node.name}", node.lineno, classes.documents(parent.name, node.name)
            )


def _text_of(node: ast.stmt) -> str | None:
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        return node.value.value
    return None


def count(tree: ast.Module, classes: Classes) -> Counts:
    docstrings = list(find_docstrings(tree))
    public = list(find_public(tree, classes))
    return Counts(
        docstrings=len(docstrings),
        questions=sum(docstring.begins_with_question_word for docstring in docstrings),
        public=len(public),
        documented=sum(definition.documented for definition in public),
    )


def _parse(folders: list[Path]) -> dict[Path, dict[Path, ast.Module]]:
    """Return the syntax trees of the files by folder."""
    trees: dict[Path, dict[Path, ast.Module]] = {}
    for folder in folders:
        trees[folder] = {
            path: ast.parse(path.read_text(encoding="utf-8")) for path in python_files(folder)
        }
    return trees


def _row(name: str, counts: Counts) -> str:
    questions = 100 * counts.questions / max(1, counts.docstrings)
    documented = 100 * counts.documented / max(1, counts.public)
    return (
        f"{name:20} {counts.docstrings:10} {questions:12.1f} % "
        f"{counts.public:8} {documented:10.1f} %"
    )


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def _report(trees: dict[Path, dict[Path, ast.Module]], classes: Classes) -> None:
    print(f"{'':20} {'docstrings':>10} {'question word':>14} {'public':>8} {'documented':>12}")
    everything = Counts()
    for folder, files in trees.items():
        total = Counts()
        for tree in files.values():
            total.add(count(tree, classes))
        everything.add(total)
        print(_row(_name(folder), total))
    print(_row("all", everything))


def _report_where(trees: dict[Path, dict[Path, ast.Module]], classes: Classes) -> None:
    for files in trees.values():
        for path, tree in files.items():
            for docstring in find_docstrings(tree):
                if docstring.begins_with_question_word:
                    print(
                        f"{_name(path)}:{docstring.line}: {docstring.text.strip().splitlines()[0]}"
                    )
            for definition in find_public(tree, classes):
                if not definition.documented:
                    print(f"{_name(path)}:{definition.line}: {definition.name} has no docstring")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folders",
        nargs="*",
        default=PACKAGES,
        help="packages, folders or files (all packages but the tests)",
    )
    parser.add_argument(
        "--where",
        action="store_true",
        help="list the docstrings and definitions instead of counting them",
    )
    arguments = parser.parse_args()
    folders = [Path(folder).absolute() for folder in arguments.folders]
    trees = _parse(folders)
    every_tree: list[ast.Module] = []
    for files in trees.values():
        every_tree += files.values()
    report = _report_where if arguments.where else _report
    report(trees, Classes(every_tree))


if __name__ == "__main__":
    main()
