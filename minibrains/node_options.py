"""Class options: what a node class says in its class line, as in `class Every(Node, clocked=True)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import get_annotations, isroutine
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, get_type_hints

from minibrains.errors import NodeClassError, closest, near
from minibrains.node_schema import Output
from minibrains.values import describe_type, is_value_type, read_value

if TYPE_CHECKING:
    from minibrains.node import Node

Background = Literal["thread", "process", "either", "optional"]
Place = Literal["thread", "process"]
"""Where a background node computes."""

PLACES: Final[Mapping[Background | None, tuple[Place, ...]]] = {
    None: (),
    "thread": ("thread",),
    "process": ("process",),
    "either": ("thread", "process"),
    "optional": ("thread", "process"),
}
"""Where a node with this class option can compute beside the tick; where it does if the workflow does not say comes first."""
Migration = Callable[[dict[str, Any]], dict[str, Any]]


class NodeOptions(TypedDict, total=False):
    """The class options of a node. All but `abstract` are inherited, and can be read as attributes: `cls.clocked`."""

    abstract: bool
    """This class is only a base of others: it is no node type, and is not checked."""

    category: str
    """Where lists of node types show it; without one, under the name of its pack."""

    version: int
    """Raised by a change that breaks saved workflows, together with an entry in `migrations` or `renamed_outputs`."""

    migrations: Mapping[int, Migration]
    """From version n to n + 1: a function that takes and returns the node's entry in a workflow file."""

    renamed_outputs: Mapping[int, Mapping[str, str]]
    """From version n to n + 1: outputs that have another name, old -> new. In a workflow file the links to them follow."""

    clocked: bool
    """Run on every tick of the node's clock, not only when something was delivered."""

    background: Background | None
    """The node may take longer than a frame, so the engine runs it off the tick: on a thread (work that releases the
    interpreter lock, like torch's), or in a process of its own (work in Python). "either": on a thread, or in a process where
    the workflow says `"background": "process"`. "optional": the same where the workflow says "busy" or "background",
    otherwise within the tick."""

    keep: bool
    """If the node's result is constant, cache it on the disk too, for the next process."""

    collects: bool
    """What the node leaves behind is what a model can be trained on, samples of what was seen with what was done about it, or
    is a trained brain. No console plays a held-back state for its graph. What shows a run to people, or repeats it, collects
    nothing: a film, a log of one output, a tape."""

    fallback: Any
    """What the node gives out instead of a result when it fails and the workflow says `"on_error": "fallback"`: a value, or
    a function that makes one from the node's sizes by name."""

    terminal: str | None
    """Of a register: the Flag output that ends the episode."""

    outside: bool
    """Of a register: what it gives out comes from outside the run (a person's pad), so it is put on the tape."""


_TYPES: Final = get_type_hints(NodeOptions)


def set_options(cls: type, options: Mapping[str, Any]) -> None:
    """Check the options of a class line and set them on the class. Raises NodeClassError."""
    for name, value in options.items():
        _check_option(cls, name, value)
    for name, value in vars(cls).items():
        _check_body(cls, name, value)
    for name, value in options.items():
        setattr(cls, name, value)


def check_options(cls: type[Node], outputs: Mapping[str, Output], register: bool) -> None:
    """Check the options of a class, its own and those it inherits, against its methods. Raises NodeClassError."""
    _check_version(cls)
    _check_renamed_outputs(cls, outputs)
    if register:
        _check_foreground(cls)
        _check_terminal(cls, outputs)
    else:
        _check_no_register(cls)


def _check_version(cls: type[Node]) -> None:
    where = f"{cls.__name__}: the class option"
    if cls.version < 1:
        raise NodeClassError(f"{where} 'version' is {cls.version}; expected a whole number from 1")
    if not isinstance(cls.migrations, Mapping):
        raise NodeClassError(f"{where} 'migrations' is {cls.migrations!r}; expected a dict from a version to a function")
    for version in range(1, cls.version):
        if version not in cls.renamed_outputs and not callable(cls.migrations.get(version)):
            raise NodeClassError(f"{cls.__name__} has version {cls.version} but no migration from version {version}")


def _check_renamed_outputs(cls: type[Node], outputs: Mapping[str, Output]) -> None:
    for version in cls.renamed_outputs:
        if version not in range(1, cls.version):
            raise NodeClassError(
                f"{cls.__name__} renames outputs of version {version}; expected a version below its own, {cls.version}"
            )
    for old, new in cls.renamed_outputs.get(cls.version - 1, {}).items():
        if new not in outputs:
            raise NodeClassError(f"{cls.__name__} renames the output {old!r} to {new!r}, which it does not have")


def _check_foreground(cls: type[Node]) -> None:
    if cls.background is not None:
        raise NodeClassError(f"{cls.__name__}: the class option 'background' is for a node with tick(), and this is a register")


def _check_terminal(cls: type[Node], outputs: Mapping[str, Output]) -> None:
    if cls.terminal is None:
        return
    output = outputs.get(cls.terminal)
    if output is None or output.kind.label != "flag":
        raise NodeClassError(
            f"{cls.__name__}: the class option 'terminal' is {cls.terminal!r}, which is no Flag output; "
            f"its outputs are {', '.join(outputs)}"
        )


def _check_no_register(cls: type[Node]) -> None:
    for option in ("terminal", "outside"):
        if getattr(cls, option):
            raise NodeClassError(f"{cls.__name__}: the class option {option!r} is for registers; derive the class from Register")


def _check_option(cls: type, name: str, value: Any) -> None:
    if name not in _TYPES:
        hint = near(name, _TYPES) or f"The options are: {', '.join(_TYPES)}"
        raise NodeClassError(f"{cls.__name__}: there is no class option {name!r}. {hint}")
    annotation = _TYPES[name]
    if not is_value_type(annotation):
        return
    try:
        read_value(annotation, value)
    except ValueError:
        expected = describe_type(annotation)
        raise NodeClassError(f"{cls.__name__}: the class option {name!r} is {value!r}; expected {expected}") from None


def _check_body(cls: type, name: str, value: Any) -> None:
    """Refuse a class option, or what looks like a misspelt one, in the body of the class."""
    if name in _TYPES:
        line = _class_line(cls, name, value)
        raise NodeClassError(
            f"{cls.__name__}.{name} stands in the class body, but {name!r} is a class option; "
            f"write {line}, or give it another name"
        )
    if name.startswith("_") or not name.islower() or not _is_plain(cls, name, value):
        return
    meant = closest(name, _TYPES)
    if meant is not None:
        line = _class_line(cls, meant, value)
        raise NodeClassError(
            f"{cls.__name__}.{name} looks like the class option {meant!r}; write {line}, or annotate it as ClassVar"
        )


def _is_plain(cls: type, name: str, value: Any) -> bool:
    """Return True for `name = value`, False for a method, a property or a class, and for what is annotated."""
    if name in get_annotations(cls):
        return False
    return not isroutine(value) and not isinstance(value, (type, property))


def _class_line(cls: type, option: str, value: Any) -> str:
    bases = ", ".join(base.__name__ for base in cls.__bases__)
    shown = repr(value) if isinstance(value, (bool, int, str)) else "…"
    return f"class {cls.__name__}({bases}, {option}={shown})"
