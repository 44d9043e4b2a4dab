"""The API reference can be built, its references are right, and the examples in docstrings run."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import minibrains
import nodes
from minibrains.graph.registry import Registry
from tests.project import api_reference
from tests.project.api_reference import BrokenReference, build, mark_examples
from tests.project.density import python_files
from tests.support.paths import ROOT

PACKAGES = ("minibrains", "nodes", "server")

_SECTION = re.compile(r"^(Args|Returns|Yields|Raises|Example|Examples):", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \([^)]*\))?: ", re.MULTILINE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the pages."""
    folder = tmp_path_factory.mktemp("api")
    build(folder, show_source=False)
    return folder


@pytest.mark.slow
def test_the_reference_covers_all_exports_and_all_nodes(pages: Path) -> None:
    exports = (pages / "minibrains.html").read_text()
    for name in minibrains.__all__:
        assert f'<section id="{name}">' in exports
    registry = Registry()
    registry.add_module(nodes)
    for cls in registry.values():
        page = (pages / (cls.__module__.replace(".", "/") + ".html")).read_text()
        assert f'<section id="{cls.__name__}">' in page
    assert (pages / "index.html").is_file()


@pytest.mark.slow
def test_sections_and_socket_tables_are_shown(pages: Path) -> None:
    assert '<h6 id="arguments">Arguments:</h6>' in (pages / "minibrains.html").read_text()
    frames = (pages / "nodes" / "vision" / "frames.html").read_text()
    assert "<td><code>frame u8[h w 1]</code></td>" in frames


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<p id="here"><a href="#here">fine</a> <a href="#there">broken</a></p>')
    with pytest.raises(BrokenReference, match="#there leads nowhere"):
        api_reference._check_links([page])


def test_a_member_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<p><code>Run.open()</code> and <code>RunSpec.seed</code> and <code>Run.begin</code></p>"
    )
    with pytest.raises(BrokenReference, match="Run has no begin"):
        api_reference._check_links([page])


def test_code_in_an_example_section_becomes_a_block() -> None:
    text = mark_examples("Do it.\n\nExample:\n    >>> 1 + 1\n    2\n\nMore.")
    assert "    ```pycon\n    >>> 1 + 1\n    2\n    ```\n" in text
    assert text.endswith("More.")


def _functions(tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def _parameters(function: Function) -> set[str]:
    arguments = function.args
    every = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    return {argument.arg for argument in every if argument is not None}


def _documented_arguments(text: str) -> Iterator[str]:
    """Yield the names in the `Args:` section of a docstring."""
    parts = _SECTION.split(text)
    for title, section in zip(parts[1::2], parts[2::2], strict=True):
        if title != "Args":
            continue
        for names in _ENTRY.findall(section):
            for name in names.split(", "):
                yield name.lstrip("*")


@pytest.mark.parametrize("package", PACKAGES)
def test_documented_arguments_exist(package: str) -> None:
    wrong = []
    for path in python_files(ROOT / package):
        for function in _functions(ast.parse(path.read_text(encoding="utf-8"))):
            text = ast.get_docstring(function) or ""
            for name in _documented_arguments(text):
                if name not in _parameters(function):
                    wrong.append(
                        f"{path.relative_to(ROOT)}:{function.lineno}: "
                        f"{function.name} has no argument {name!r}"
                    )
    assert not wrong, "\n".join(wrong)


def _modules_with_examples() -> Iterator[str]:
    for package in (minibrains, nodes):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            source = Path(package.__path__[0]).parent / (info.name.replace(".", "/") + ".py")
            if source.is_file() and ">>> " in source.read_text(encoding="utf-8"):
                yield info.name


@pytest.mark.parametrize("name", sorted(_modules_with_examples()))
def test_the_examples_in_docstrings_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.attempted
    assert not result.failed


def test_every_example_section_is_one_that_runs() -> None:
    for package in PACKAGES:
        for path in python_files(ROOT / package):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Module | ast.ClassDef | Function):
                    text = ast.get_docstring(node) or ""
                    assert not re.search(r"^Examples?:\n(?! +>>> )", text, re.MULTILINE), (
                        f"{path}: {text}"
                    )
