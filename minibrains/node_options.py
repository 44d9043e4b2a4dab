"""Class options: the keyword arguments in the class line of a node, as in `class Every(Node,
every_tick=True)`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from inspect import get_annotations, isroutine
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, get_type_hints

from minibrains.errors import NodeClassError, closest, suggest
from minibrains.node_schema import NodeSchema, Output
from minibrains.values import describe_type, is_value_type, parse_value

if TYPE_CHECKING:
    from minibrains.node import Node

Background = Literal["thread", "process", "either", "allowed"]
Executor = Literal["thread", "process"]
"""The executor of a background node: a thread of this process, or a process of the node's own."""

EXECUTORS: Final[Mapping[Background | None, tuple[Executor, ...]]] = {
    None: (),
    "thread": ("thread",),
    "process": ("process",),
    "either": ("thread", "process"),
    "allowed": ("thread", "process"),
}
"""Class option -> the executors that such a node can have; the default comes first."""
Migration = Callable[[dict[str, Any]], dict[str, Any]]


class NodeOptions(TypedDict, total=False):
    """The class options of a node.

    All but `abstract` are inherited, and can be read as attributes: `cls.every_tick`.
    """

    abstract: bool
    """This class is only a base class: it is not a node type, and is not checked."""

    category: str
    """The heading under which lists of node types show it; without one, the name of its pack."""

    version: int
    """Raised by a change that breaks saved workflows, together with an entry in `migrations`,
    `renamed_inputs`, `renamed_outputs` or `renamed_widgets`."""

    migrations: Mapping[int, Migration]
    """Version n -> a function that takes the node's entry in a workflow file, and returns it in
    version n + 1."""

    renamed_inputs: Mapping[int, Mapping[str, str]]
    """Version n -> the inputs that were renamed in version n + 1, old -> new."""

    renamed_outputs: Mapping[int, Mapping[str, str]]
    """Version n -> the outputs that were renamed in version n + 1, old -> new. The links in a
    workflow file are adapted."""

    renamed_widgets: Mapping[int, Mapping[str, str]]
    """Version n -> the widgets that were renamed in version n + 1, old -> new."""

    renamed_attributes: Mapping[str, str]
    """Attributes of the node's state that were renamed, old -> new. Snapshots on older tapes have
    the old names. It needs no new version, because workflows do not name attributes."""

    every_tick: bool
    """The node runs on every tick of its clock, not only when something was delivered."""

    background: Background | None
    """The node may take longer than a frame, so the engine runs it off the tick: on a thread (work
    that releases the interpreter lock, like torch's), or in a process of its own (work in Python).
    "either": on a thread, or in a process where the workflow says `"background": "process"`.
    "allowed": the same where the workflow says "busy" or "background", otherwise within the
    tick."""

    cache_on_disk: bool
    """If the node's result is constant, it is also cached on disk, for the next process."""

    collects_data: bool
    """The node writes data that a model can be trained on, such as observations with the actions
    that were taken, or a trained brain. No console plays a held-back state in its graph. Nodes that
    only show or repeat a run do not collect: a film, a log of one output, a tape."""

    reads_sources: bool
    """The node asks `host.sources` where its links come from. If a live edit changes them, it is
    replaced by a new node, which inherits the state."""

    fallback: Any
    """The value that is delivered when the node fails and the workflow says `"on_error":
    "fallback"`, or a function that makes one from the node's sizes by name."""

    terminal: str | None
    """For a register: the Flag output that ends the episode."""

    external: bool
    """For a register: its output comes from outside the run (a person's pad), so it is written to
    the tape."""


_TYPES: Final = get_type_hints(NodeOptions)

_RENAMED: Final = {
    "collects": "collects_data",
    "keep": "cache_on_disk",
    "named_links": "reads_sources",
    "outside": "external",
}
"""Class options that were renamed, old -> new."""


def set_options(cls: type, options: Mapping[str, Any]) -> None:
    """Check the options of a class line and set them on the class. Raises NodeClassError."""
    for name, value in options.items():
        _check_option(cls, name, value)
    for name, value in vars(cls).items():
        _check_body(cls, name, value)
    for name, value in options.items():
        setattr(cls, name, value)


def check_options(cls: type[Node], schema: NodeSchema, register: bool) -> None:
    """Check a class's own and inherited options against its methods, sockets and widgets.

    Raises NodeClassError.
    """
    _check_version(cls)
    _check_renamed(cls, "input", cls.renamed_inputs, schema.inputs)
    _check_renamed(cls, "output", cls.renamed_outputs, schema.outputs)
    _check_renamed(cls, "widget", cls.renamed_widgets, schema.widgets)
    if register:
        _check_foreground(cls)
        _check_terminal(cls, schema.outputs)
    else:
        _check_no_register(cls)


def _check_version(cls: type[Node]) -> None:
    where = f"{cls.__name__}: the class option"
    if cls.version < 1:
        raise NodeClassError(f"{where} 'version' is {cls.version}; expected a whole number from 1")
    if not isinstance(cls.migrations, Mapping):
        raise NodeClassError(
            f"{where} 'migrations' is {cls.migrations!r}; "
            "expected a dict from a version to a function"
        )
    renamed = {*cls.renamed_inputs, *cls.renamed_outputs, *cls.renamed_widgets}
    for version in range(1, cls.version):
        if version not in renamed and not callable(cls.migrations.get(version)):
            raise NodeClassError(
                f"{cls.__name__} has version {cls.version} but no migration from version {version}"
            )


def _check_renamed(
    cls: type[Node], what: str, renamed: Mapping[int, Mapping[str, str]], there: Collection[str]
) -> None:
    for version in renamed:
        if version not in range(1, cls.version):
            raise NodeClassError(
                f"{cls.__name__} renames {what}s of version {version}; "
                f"expected a version below its own, {cls.version}"
            )
    for old, new in renamed.get(cls.version - 1, {}).items():
        if new not in there:
            raise NodeClassError(
                f"{cls.__name__} renames the {what} {old!r} to {new!r}, which it does not have"
            )


def _check_foreground(cls: type[Node]) -> None:
    if cls.background is not None:
        raise NodeClassError(
            f"{cls.__name__}: the class option 'background' is for a node with tick(), "
            "and this is a register"
        )


def _check_terminal(cls: type[Node], outputs: Mapping[str, Output]) -> None:
    if cls.terminal is None:
        return
    output = outputs.get(cls.terminal)
    if output is None or output.type.label != "flag":
        raise NodeClassError(
            f"{cls.__name__}: the class option 'terminal' is {cls.terminal!r}, "
            "which is not a Flag output; "
            f"its outputs are {', '.join(outputs)}"
        )


def _check_no_register(cls: type[Node]) -> None:
    for option in ("terminal", "external"):
        if getattr(cls, option):
            raise NodeClassError(
                f"{cls.__name__}: the class option {option!r} is for registers; "
                "derive the class from Register"
            )


def _check_option(cls: type, name: str, value: Any) -> None:
    if name not in _TYPES:
        hint = suggest(name, _TYPES) or f"The options are: {', '.join(_TYPES)}"
        if name in _RENAMED:
            hint = f"It is called {_RENAMED[name]!r} now"
        raise NodeClassError(f"{cls.__name__}: there is no class option {name!r}. {hint}")
    annotation = _TYPES[name]
    if not is_value_type(annotation):
        return
    try:
        parse_value(annotation, value)
    except ValueError:
        expected = describe_type(annotation)
        raise NodeClassError(
            f"{cls.__name__}: the class option {name!r} is {value!r}; expected {expected}"
        ) from None


def _check_body(cls: type, name: str, value: Any) -> None:
    """Refuse a class option, or a probable misspelling of one, in the body of the class."""
    if name in _TYPES:
        line = _class_line(cls, name, value)
        raise NodeClassError(
            f"{cls.__name__}.{name} is in the class body, but {name!r} is a class option; "
            f"write {line}, or give it another name"
        )
    if name.startswith("_") or not name.islower() or not _is_plain(cls, name, value):
        return
    meant = closest(name, _TYPES)
    if meant is not None:
        line = _class_line(cls, meant, value)
        raise NodeClassError(
            f"{cls.__name__}.{name} looks like the class option {meant!r}; write {line}, "
            "or annotate it as ClassVar"
        )


def _is_plain(cls: type, name: str, value: Any) -> bool:
    """Return True for `name = value`; False for methods, properties,
    classes and annotated attributes.
    """
    if name in get_annotations(cls):
        return False
    return not isroutine(value) and not isinstance(value, (type, property))


def _class_line(cls: type, option: str, value: Any) -> str:
    bases = ", ".join(base.__name__ for base in cls.__bases__)
    shown = repr(value) if isinstance(value, (bool, int, str)) else "…"
    return f"class {cls.__name__}({bases}, {option}={shown})"
