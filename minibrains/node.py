"""The node protocol: a small class whose annotations are its sockets and whose fields are its widgets."""

from __future__ import annotations

import copy
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    Unpack,
    dataclass_transform,
    get_args,
    get_origin,
)

from minibrains.brain import Brain
from minibrains.errors import NodeClassError, near
from minibrains.host import Episode, Host
from minibrains.node_options import Background, Migration, NodeOptions, set_options
from minibrains.sockets import SocketTypes, read_socket
from minibrains.values import is_value_type, name_type, read_value

T = TypeVar("T")


class Absent(Enum):
    """The type of ABSENT."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
"""Returned as an output: nothing is delivered there on this tick. Declare it: `-> Action | Absent`."""


class _OnDelivery:
    pass


class _Lazy:
    pass


On = Annotated[T | None, _OnDelivery()]
"""An input read as an event: the value on the tick it is delivered, None on every other tick."""
Lazy = Annotated[Callable[[], T], _Lazy()]
"""A register's output given as a function, called only on ticks on which somebody reads the output."""


class Sample(NamedTuple, Generic[T]):
    """An input read with its age: the last value and the number of ticks since it was delivered."""

    value: T
    age: int


Reading = Literal["last", "on", "sample"]


@dataclass(frozen=True, slots=True)
class Input:
    """One input socket of a node class."""

    name: str
    kind: SocketTypes
    reading: Reading = "last"
    many: bool = False
    required: bool = True
    """The node waits for the first delivery."""
    needed: bool = True
    """Something must be linked to it."""


@dataclass(frozen=True, slots=True)
class Output:
    """One output socket of a node class."""

    name: str
    kind: SocketTypes
    absent: bool = False
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Widget:
    """One widget of a node class: a parameter that a person sets."""

    name: str
    annotation: Any
    default: Any
    required: bool = False
    min: float | None = None
    max: float | None = None
    doc: str = ""
    rebuild: bool = False
    """A change in a running graph needs a new node; otherwise it is set in place."""

    def describe(self) -> str:
        """What the widget takes, in words: `int from 1 to 60`, `one of 'repeat', 'release'`."""
        text = name_type(self.annotation)
        if self.min is not None and self.max is not None:
            return f"{text} from {self.min} to {self.max}"
        if self.min is not None:
            return f"{text} of at least {self.min}"
        return f"{text} of at most {self.max}" if self.max is not None else text

    def read(self, value: Any) -> Any:
        """The value as the node gets it (lists become tuples, objects read-only). Raises ValueError."""
        result = read_value(self.annotation, value)
        number = isinstance(result, (int, float)) and not isinstance(result, bool)
        if number and ((self.min is not None and result < self.min) or (self.max is not None and result > self.max)):
            raise ValueError
        return result


_REQUIRED: Final = object()


@dataclass(frozen=True, slots=True)
class _WidgetField:
    default: Any
    min: float | None
    max: float | None
    doc: str
    rebuild: bool


def widget(
    *, default: Any = _REQUIRED, min: float | None = None, max: float | None = None, doc: str = "", rebuild: bool = False
) -> Any:
    """Declare a widget: `size: int = widget(default=84, min=1, max=512, doc="pixels")`. Without a default it must be set.

    `rebuild`: `open` makes something of it, so a change in a running graph takes a new node; the others are set in place.
    """
    return _WidgetField(default, min, max, doc, rebuild)


@dataclass(frozen=True, slots=True)
class NodeSchema:
    """Everything a node class says about itself, read once from its annotations."""

    inputs: Mapping[str, Input]
    outputs: Mapping[str, Output]
    widgets: Mapping[str, Widget]
    brain: type[Brain] | None
    brain_required: bool
    record: bool
    """True if the outputs are the fields of a NamedTuple, False if the node returns its only output itself."""


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(widget,))
class Node:
    """A part of an agent. Subclass it, annotate `tick`, and it is a node.

    Life: `open(host)`, then for each episode `reset(episode)` and many `tick(…)`, then `close()`. A node
    that has `reset` has state. Inputs are never modified, outputs never written after they were returned.
    """

    # the class options, as they are unless the class line says otherwise
    category: ClassVar[str | None] = None
    version: ClassVar[int] = 1
    migrations: ClassVar[Mapping[int, Migration]] = MappingProxyType({})
    clocked: ClassVar[bool] = False
    background: ClassVar[Background | None] = None
    keep: ClassVar[bool] = False
    collects: ClassVar[bool] = False
    fallback: ClassVar[Any] = None
    terminal: ClassVar[str | None] = None
    outside: ClassVar[bool] = False

    schema: ClassVar[NodeSchema]

    brain: Any

    def __init__(self, *, brain: Brain | None = None, **widgets: Any) -> None:
        """Set widgets by name. Raises TypeError on an unknown or missing one, ValueError on a bad value."""
        schema = self.schema
        for name in widgets:
            if name not in schema.widgets:
                hint = near(name, schema.widgets)
                raise TypeError(f"{type(self).__name__} has no widget {name!r}{'. ' + hint if hint else ''}")
        for name, declared in schema.widgets.items():
            if name in widgets:
                try:
                    setattr(self, name, declared.read(widgets[name]))
                except ValueError:
                    raise ValueError(
                        f"{type(self).__name__}.{name}: expected {declared.describe()}, found {widgets[name]!r}"
                    ) from None
            elif declared.required:
                raise TypeError(f"{type(self).__name__} needs its widget {name!r} ({declared.describe()})")
            else:
                setattr(self, name, declared.default)
        if not isinstance(brain, schema.brain or NoneType) and (brain is not None or schema.brain_required):
            wanted = f"needs a brain of kind {schema.brain.kind!r}" if schema.brain else "has no brain"
            raise TypeError(f"{type(self).__name__} {wanted}, found {brain!r}")
        self.brain = brain
        self._made_by_open: frozenset[str] = frozenset(vars(self)) | {"_made_by_open"}

    def __init_subclass__(cls, **options: Unpack[NodeOptions]) -> None:
        super().__init_subclass__()
        set_options(cls, options)
        if not options.get("abstract", False):
            cls.schema = _read_class(cls)

    def check(self) -> None:
        """Look at the widgets and the brain together, before anything is opened. Raises a MinibrainsError."""

    def open(self, host: Host) -> None:
        """Take hold of what the node needs: files, processes, modules. Raises a MinibrainsError in words."""

    def reset(self, episode: Episode) -> None:
        """Start an episode: afterwards the node is as if it were new."""

    def close(self) -> None:
        """Let go of everything. Called once after `open`, also when the run failed."""

    def report(self) -> Mapping[str, Any]:
        """What the finished episode was worth, for the run's results: score, won, start, …"""
        return {}

    def state(self) -> dict[str, Any]:
        """A copy of everything that `reset` and `tick` have set."""
        return {name: copy.deepcopy(value) for name, value in vars(self).items() if name not in self._made_by_open}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Become what `state()` described."""
        for name, value in state.items():
            setattr(self, name, copy.deepcopy(value))

    def set(self, **widgets: Any) -> None:
        """Change widgets in a running graph, between two ticks; they were checked. Not those that say `rebuild`."""
        for name, value in widgets.items():
            setattr(self, name, value)

    def settle(self) -> None:
        """Called after `open`: what the node holds now belongs to it for life, what comes later is state."""
        self._made_by_open = frozenset(vars(self))


class Register(Node, abstract=True):
    """A node that keeps a value from one tick to the next: `emit()` starts a tick, `latch(…)` ends it.

    Loops in a graph go through a register. `terminal` names a Flag output that ends the episode.
    """

    def receive(self, value: Any) -> None:
        """Take what a page sends to a register that is `outside`: any JSON, or None when nobody sends any more.

        Called on another thread, at any time: keep it in one assignment, for `emit` to give out. Give out the same
        object for as long as nothing changed; each new one goes to the tape.
        """


_METHODS: Final = frozenset({"tick", "emit", "latch"}.union(name for name in dir(Register) if callable(getattr(Register, name))))


def check_names(node: object) -> None:
    """Raises NodeClassError if the node has put something of its own in the place of one of its methods."""
    for name in _METHODS & vars(node).keys():
        raise NodeClassError(
            f"{type(node).__name__} sets self.{name}, but {name} is a method that every node has; give it another name"
        )


def _read_class(cls: type[Node]) -> NodeSchema:
    name = cls.__name__
    try:
        hints: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            if issubclass(base, Node) and base not in (Node, Register):
                hints.update(inspect.get_annotations(base, eval_str=True))
        register = issubclass(cls, Register)
        signatures = {}
        for step in ("emit", "latch") if register else ("tick",):
            if not hasattr(cls, step):
                raise NodeClassError(f"{name} has no {step}(); a {'register' if register else 'node'} needs one")
            signatures[step] = _signature(getattr(cls, step), f"{name}.{step}")
        taking, giving = signatures["latch" if register else "tick"], signatures["emit" if register else "tick"]
        outputs, record = _read_outputs(name, giving.return_annotation)
    except NodeClassError:
        raise
    except Exception as error:
        raise NodeClassError(f"{name}: an annotation cannot be read: {error}") from None
    if register and len(giving.parameters) > 1:
        raise NodeClassError(f"{name}.emit takes nothing but self; inputs belong to {name}.latch")
    if register and taking.return_annotation not in (None, NoneType):
        raise NodeClassError(f"{name}.latch returns nothing; outputs belong to {name}.emit")
    widgets: dict[str, Widget] = {}
    brain: type[Brain] | None = None
    brain_required = False
    for field, annotation in hints.items():
        if get_origin(annotation) is ClassVar or annotation is ClassVar:
            continue
        if field == "brain":
            options = [option for option in get_args(annotation) or (annotation,) if option is not NoneType]
            if len(options) != 1 or not (isinstance(options[0], type) and issubclass(options[0], Brain)) or options[0] is Brain:
                raise NodeClassError(f"{name}.brain is annotated {annotation!r}; expected one subclass of Brain")
            brain, brain_required = options[0], NoneType not in get_args(annotation)
            continue
        widgets[field] = _read_widget(name, field, annotation, getattr(cls, field, None))
    for field in dir(cls):
        if isinstance(getattr(cls, field, None), _WidgetField) and field not in widgets:
            raise NodeClassError(
                f"{name}.{field} is a widget without an annotation in a node class; write {field}: … = widget(…)"
            )
    inputs = {
        parameter.name: _read_input(name, parameter) for parameter in taking.parameters.values() if parameter.name != "self"
    }
    for output in outputs.values():
        if output.lazy and not register:
            raise NodeClassError(f"{name} gives {output.name!r} as Lazy, which only a register can; give the value itself")
    for socket in inputs:
        if socket in widgets:
            raise NodeClassError(f"{name}.{socket} is both an input and a widget; give one of them another name")
    if outputs and any(socket.kind.anything for socket in inputs.values()):
        raise NodeClassError(f"{name} takes Any and gives outputs; use a TypeVar, so that the type of what flows is known")
    if cls.background and register:
        raise NodeClassError(f"{name}: the class option 'background' is for a node with tick(), and this is a register")
    _check_version(cls)
    _check_terminal(cls, outputs)
    return NodeSchema(inputs, outputs, widgets, brain, brain_required, record)


def _check_version(cls: type[Node]) -> None:
    if not isinstance(cls.migrations, Mapping):
        found = repr(cls.migrations)
        raise NodeClassError(
            f"{cls.__name__}: the class option 'migrations' is {found}; expected a dict from a version to a function"
        )
    if cls.version < 1:
        raise NodeClassError(f"{cls.__name__}: the class option 'version' is {cls.version}; expected a whole number from 1")
    for version in range(1, cls.version):
        if not callable(cls.migrations.get(version)):
            raise NodeClassError(f"{cls.__name__} has version {cls.version} but no migration from version {version}")


def _check_terminal(cls: type[Node], outputs: Mapping[str, Output]) -> None:
    if not issubclass(cls, Register) and (cls.terminal is not None or cls.outside):
        raise NodeClassError(
            f"{cls.__name__}: the class options 'terminal' and 'outside' are for registers; derive it from Register"
        )
    if cls.terminal is None:
        return
    if cls.terminal not in outputs or outputs[cls.terminal].kind.label != "flag":
        raise NodeClassError(
            f"{cls.__name__}: the class option 'terminal' is {cls.terminal!r}, which is no Flag output; "
            f"outputs are {', '.join(outputs)}"
        )


def _signature(function: Callable[..., Any], where: str) -> inspect.Signature:
    signature = inspect.signature(function)
    hints = typing.get_type_hints(function, include_extras=True)
    for parameter in signature.parameters.values():
        if parameter.name != "self" and parameter.name not in hints:
            raise NodeClassError(f"{where}: the input {parameter.name!r} has no annotation; write its socket type")
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.KEYWORD_ONLY):
            raise NodeClassError(f"{where}: {parameter} is not a named positional input; use list[…] for many links")
    if "return" not in hints:
        raise NodeClassError(f"{where} has no return annotation; write the output's socket type, a NamedTuple, or None")
    return signature.replace(
        parameters=[p.replace(annotation=hints.get(p.name, p.annotation)) for p in signature.parameters.values()],
        return_annotation=hints["return"],
    )


def _read_widget(name: str, field: str, annotation: Any, value: Any) -> Widget:
    if not isinstance(value, _WidgetField):
        raise NodeClassError(f"{name}.{field} is annotated but is no widget; write {field}: … = widget(…) or ClassVar")
    if hasattr(Register, field) or field in Node.__annotations__:
        raise NodeClassError(f"{name}.{field} is a name that every node has already; give the widget another one")
    if not is_value_type(annotation):
        raise NodeClassError(
            f"{name}.{field}: {annotation!r} is no widget type; "
            "expected int, float, str, bool, Literal, tuple[…, ...] or Mapping[str, …]"
        )
    required = value.default is _REQUIRED
    if isinstance(value.default, (list, dict, set, bytearray)):
        raise NodeClassError(f"{name}.{field} has a mutable default {value.default!r}; use a tuple or MappingProxyType")
    result = Widget(field, annotation, None, required, value.min, value.max, value.doc, value.rebuild)
    if required:
        return result
    try:
        return replace(result, default=result.read(value.default))
    except ValueError:
        raise NodeClassError(f"{name}.{field}: the default {value.default!r} is not {result.describe()}") from None


def _read_input(name: str, parameter: inspect.Parameter) -> Input:
    annotation, reading, many = parameter.annotation, "last", False
    required = parameter.default is inspect.Parameter.empty
    if not required and parameter.default is not None:
        raise NodeClassError(
            f"{name}.{parameter.name} has the default {parameter.default!r}; "
            "an input's default can only be None, other values belong into a widget"
        )
    if get_origin(annotation) is list:
        (annotation,), many = get_args(annotation), True
    if get_origin(annotation) is Annotated and any(isinstance(m, _OnDelivery) for m in annotation.__metadata__):
        annotation, reading, required = annotation.__origin__, "on", False
        annotation = _without(NoneType, annotation)
    elif get_origin(annotation) in (Union, UnionType) and NoneType in get_args(annotation):
        if required:
            raise NodeClassError(f"{name}.{parameter.name} may be None but has no default; write `= None`")
        annotation = _without(NoneType, annotation)
    if get_origin(annotation) is Sample and reading == "last":
        (annotation,), reading = get_args(annotation), "sample"
    kind = _read_kind(f"{name}.{parameter.name}", annotation)
    if kind is None:
        raise NodeClassError(f"{name}.{parameter.name}: {annotation!r} is no socket type; use one of minibrains.sockets")
    needed = parameter.default is inspect.Parameter.empty and not many
    return Input(parameter.name, kind, typing.cast(Reading, reading), many, required, needed)


def _read_outputs(name: str, annotation: Any) -> tuple[dict[str, Output], bool]:
    if annotation in (None, NoneType):
        return {}, False
    if isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        hints = typing.get_type_hints(annotation, include_extras=True)
        return {field: _read_output(f"{name}.{field}", field, hints[field]) for field in annotation._fields}, True
    output = _read_output(f"{name}'s output", None, annotation)
    return {output.name: output}, False


def _read_output(where: str, field: str | None, annotation: Any) -> Output:
    lazy = get_origin(annotation) is Annotated and any(isinstance(m, _Lazy) for m in annotation.__metadata__)
    if lazy:
        annotation = get_args(annotation.__origin__)[1]
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    absent = Absent in options
    if absent:
        annotation = _without(Absent, annotation)
    kind = _read_kind(where, annotation)
    if kind is None or kind.anything:
        raise NodeClassError(f"{where}: {annotation!r} is no socket type an output can have")
    socket = field or kind.label
    if not (socket.isidentifier() and socket.isascii()):
        raise NodeClassError(
            f"{where} would be called {socket!r}, which no link can name; return a NamedTuple with a field for it"
        )
    return Output(socket, kind, absent, lazy)


def _read_kind(where: str, annotation: Any) -> SocketTypes | None:
    try:
        return read_socket(annotation)
    except NodeClassError as error:
        raise NodeClassError(f"{where}: {error}") from None


def _without(option: type, union: Any) -> Any:
    return Union[tuple(other for other in get_args(union) if other is not option)]
