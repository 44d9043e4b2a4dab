"""Build the API reference: HTML pages from the docstrings, made by pdoc.

    python -m tests.project.api_reference            write the pages, from build/api/index.html on
    python -m tests.project.api_reference --check    check the pages and their links, keep nothing

It covers what `minibrains` exports, `minibrains.testing`, `minibrains.evaluation` and the node
packages. A node class gets tables of its sockets, widgets and brain, from its declarations.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import re
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pdoc
import pdoc.doc
import pdoc.render

import minibrains
import nodes
from minibrains.brain import Brain
from minibrains.graph.describe import describe_node
from minibrains.graph.registry import Registry
from minibrains.node import Node
from minibrains.node_options import NodeOptions
from server.commands.nodes import remarks
from tests.support.paths import ROOT

TARGET = ROOT / "build" / "api"

PAGES = (
    "minibrains",
    "minibrains.testing",
    "minibrains.evaluation",
    "minibrains.evaluation.protocol",
    "minibrains.evaluation.rules",
    "minibrains.evaluation.player",
    "minibrains.evaluation.play",
    "minibrains.evaluation.rows",
    "minibrains.evaluation.report",
    "minibrains.evaluation.statistics",
)
"""The modules that have a page, beside those of `nodes`."""

_EXAMPLE = re.compile(r"^(Example:\n)((?:[ \t]+.*\n?|\n)+)", re.MULTILINE)
_CODE = re.compile(r"^ {4}.*$|```.*?```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_QUALIFIED = re.compile(r"<code>([A-Z]\w*)\.([a-z]\w*)(?:\([^<]*\))?</code>")


class BrokenReference(Exception):
    """A docstring cannot be shown as it is written, or one of its references leads nowhere."""


# -- texts -----------------------------------------------------------------------------------------


def mark_examples(docstring: str) -> str:
    """Return a docstring in which the code of `Example:` is a block of code in Markdown."""
    return _EXAMPLE.sub(_fence, docstring)


def _fence(section: re.Match[str]) -> str:
    code = inspect.cleandoc(section[2])
    language = "pycon" if code.startswith(">>>") else "python"
    lines = [f"```{language}", *code.splitlines(), "```"]
    return section[1] + "\n".join(f"    {line}" for line in lines) + "\n\n"


def node_docs(name: str, cls: type[Any]) -> str:
    """Return the documentation of a node class as Markdown: its prose,
    and tables of what it declares.
    """
    described = describe_node(name, cls)
    parts = [described["doc"], f"Type `{described['type']}`, category {described['category']}."]
    parts += _table("Input", "type", described["inputs"])
    parts += _table("Output", "type", described["outputs"])
    parts += _table("Widget", "values", described["widgets"])
    brain = described["brain"]
    if brain is not None:
        optional = "" if brain["required"] else " (optional)"
        parts.append(f"Brain: kind `{brain['kind']}`{optional}.")
        parts += _table("Tensor", "type", brain["tensors"])
        parts += _table("Setting", "values", brain["settings"])
    return "\n\n".join(parts)


def _table(title: str, second: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a table of sockets, widgets, tensors or settings, unless there are none."""
    lines = [f"| {title} | {second} | meaning |", "|---|---|---|"]
    for row in rows:
        meaning = ", ".join(remarks(row))
        cells = [f"`{row['name']}`", f"`{row['type']}`", meaning]
        escaped = [cell.replace("|", "\\|") for cell in cells]
        lines.append(f"| {' | '.join(escaped)} |")
    if len(lines) > 2:
        yield "\n".join(lines)


# -- pages -----------------------------------------------------------------------------------------


def build(target: Path, *, show_source: bool = True) -> list[Path]:
    """Write all pages into a folder, and return their files.

    Args:
        target: The folder.
        show_source: Whether the pages contain the source, which takes twice as long.

    Raises:
        BrokenReference: A docstring cannot be shown as it is written, or names something that does
            not exist.
        Warning: pdoc could not resolve a name or an annotation.
    """
    pdoc.render.configure(
        docformat="google",
        include_undocumented=False,
        footer_text=f"Minibrains {minibrains.__version__}",
        show_source=show_source,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        modules = load_modules()
        _check_texts(modules)
        pages: dict[Path, str] = {}
        for name, module in modules.items():
            pages[target / (name.replace(".", "/") + ".html")] = pdoc.render.html_module(
                module, modules
            )
        pages[target / "index.html"] = pdoc.render.html_index(modules)
        pages[target / "search.js"] = pdoc.render.search_index(modules)
    for file, text in pages.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    written = list(pages)
    _check_links([file for file in written if file.suffix == ".html"])
    return written


def load_modules() -> dict[str, pdoc.doc.Module]:
    """Return the modules that have a page, by name, with docstrings that pdoc can show."""
    _resolve_exports()
    modules: dict[str, pdoc.doc.Module] = {}
    for name in (*PAGES, *_node_modules()):
        modules[name] = pdoc.doc.Module(importlib.import_module(name))
    _document_exports(modules["minibrains"])
    _document_options(modules["minibrains"])
    _document_nodes(modules)
    for module in modules.values():
        for doc in walk(module):
            doc.docstring = mark_examples(doc.docstring)
            if isinstance(doc, pdoc.doc.Class):
                _hide_constructor(doc)
                _name_exported_bases(doc)
    return modules


def _node_modules() -> Iterator[str]:
    """Yield the packages of nodes, and those of their modules that define nodes or brains."""
    yield nodes.__name__
    for info in pkgutil.walk_packages(nodes.__path__, "nodes."):
        module = importlib.import_module(info.name)
        if info.ispkg or any(_is_declared(value, info.name) for value in vars(module).values()):
            yield info.name


def _is_declared(value: object, module: str) -> bool:
    return (
        isinstance(value, type) and issubclass(value, (Node, Brain)) and value.__module__ == module
    )


def walk(namespace: pdoc.doc.Namespace[Any]) -> Iterator[pdoc.doc.Doc[Any]]:
    """Yield the documentation of a module or class, and that of everything in it."""
    yield namespace
    for member in namespace.members.values():
        if isinstance(member, pdoc.doc.Class):
            yield from walk(member)
        elif not isinstance(member, pdoc.doc.Module):
            yield member


def _resolve_exports() -> None:
    """Import the names that `minibrains` exports, which are otherwise imported on first access."""
    for name in minibrains.__all__:
        setattr(minibrains, name, getattr(minibrains, name))


def _hide_constructor(record: pdoc.doc.Class) -> None:
    """Leave out the constructor of a NamedTuple,
    whose generated docstring only repeats the fields.
    """
    if issubclass(record.obj, tuple) and "__init__" in record.members:
        record.members["__init__"].docstring = ""


def _name_exported_bases(cls: pdoc.doc.Class) -> None:
    """Refer to an exported base class, and to what is inherited from it,
    by the name that users import.
    """
    bases: list[tuple[str, str, str]] = []
    for module, name, text in cls.bases:
        if module in minibrains._NAMES and name in minibrains._NAMES[module]:
            module, text = "minibrains", name
        bases.append((module, name, text))
    cls.bases = bases
    inherited: dict[tuple[str, str], list[pdoc.doc.Doc[Any]]] = {}
    for (module, name), members in cls.inherited_members.items():
        if module in minibrains._NAMES and name in minibrains._NAMES[module]:
            module = "minibrains"
            for member in members:
                member.taken_from = (module, f"{name}.{member.name}")
        inherited[module, name] = members
    cls.inherited_members = inherited


def _document_exports(page: pdoc.doc.Module) -> None:
    """Take the docstrings of exported variables, such as socket types,
    from the modules that define them.
    """
    for module, names in minibrains._NAMES.items():
        defined = pdoc.doc.Module(sys.modules[module])
        for name in names:
            exported = page.members[name]
            if isinstance(exported, pdoc.doc.Variable):
                exported.docstring = defined.members[name].docstring


def _document_options(page: pdoc.doc.Module) -> None:
    """Document the class options of a node, which can be read as attributes of the class."""
    options = pdoc.doc.Module(sys.modules[NodeOptions.__module__]).members[NodeOptions.__name__]
    node = page.members["Node"]
    assert isinstance(options, pdoc.doc.Class)
    assert isinstance(node, pdoc.doc.Class)
    for name, option in options.members.items():
        if name in node.members:
            node.members[name].docstring = f"Class option. {option.docstring}"


def _document_nodes(modules: Mapping[str, pdoc.doc.Module]) -> None:
    registry = Registry()
    registry.add_module(nodes)
    for name, cls in registry.items():
        documented = modules[cls.__module__].members[cls.__name__]
        documented.docstring = node_docs(name, cls)


# -- checks ----------------------------------------------------------------------------------------


def _check_texts(modules: Mapping[str, pdoc.doc.Module]) -> None:
    """Refuse exports without a docstring, and texts in angle brackets,
    which a browser would take for a tag.
    """
    for name in minibrains.__all__:
        if not modules["minibrains"].members[name].docstring:
            raise BrokenReference(f"minibrains.{name} has no docstring")
    for module in modules.values():
        for doc in walk(module):
            tag = re.search(r"<[a-z/][^>]*>", _CODE.sub("", doc.docstring))
            if tag is not None:
                raise BrokenReference(
                    f"{doc.fullname}: {tag[0]} in the docstring would be hidden; "
                    "put it between backticks"
                )


class _Page(HTMLParser):
    """The anchors of a page, and the links on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if name == "href" and value and tag == "a":
                self.links.append(value)


def _check_links(files: Iterable[Path]) -> None:
    """Refuse links to pages and members that do not exist,
    and names like `Run.edit` of members that do not exist.
    """
    pages: dict[Path, _Page] = {}
    for file in files:
        text = file.read_text(encoding="utf-8")
        pages[file.resolve()] = _Page(text)
        for owner, member in _QUALIFIED.findall(text):
            _check_member(file, owner, member)
    for file, page in pages.items():
        for link in page.links:
            if "://" in link:
                continue
            path, _, anchor = link.partition("#")
            linked = (file.parent / path).resolve() if path else file
            if linked not in pages or (anchor and anchor not in pages[linked].anchors):
                raise BrokenReference(f"{file}: the link {link} leads nowhere")


def _check_member(file: Path, owner: str, member: str) -> None:
    if owner not in minibrains.__all__:
        return
    cls = getattr(minibrains, owner)
    if not hasattr(cls, member) and member not in inspect.get_annotations(cls):
        raise BrokenReference(f"{file}: {owner} has no {member}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="check the pages, and keep nothing")
    arguments = parser.parse_args()
    try:
        if arguments.check:
            with tempfile.TemporaryDirectory() as folder:
                build(Path(folder), show_source=False)
        else:
            build(TARGET)
            print(TARGET / "index.html")
    except (BrokenReference, Warning) as error:
        sys.exit(f"the API reference cannot be built: {error}")


if __name__ == "__main__":
    main()
