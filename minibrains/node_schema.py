"""The schema of a node class: its sockets, widgets and brain,
read once from annotations and refused if they are wrong.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Union, get_args, get_origin

from minibrains.annotations import Absent, Aged, OnDelivery, OnDemand
from minibrains.brain import Brain
from minibrains.errors import NodeClassError
from minibrains.node_docs import check_docs, inherited_docs, output_key
from minibrains.sockets import SocketTypes, read_socket
from minibrains.widgets import Widget, WidgetField, read_widget

ReadMode = Literal["last", "on", "aged"]


@dataclass(frozen=True, slots=True)
class Input:
    """One input socket of a node class."""

    name: str
    type: SocketTypes
    reading: ReadMode = "last"
    many: bool = False
    required: bool = True
    """The node does not run before the first delivery."""
    must_be_linked: bool = True
    """A workflow without a link to the input has a fault."""
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """One output socket of a node class."""

    name: str
    type: SocketTypes
    absent: bool = False
    lazy: bool = False
    doc: str = ""


@dataclass(frozen=True, slots=True)
class NodeSchema:
    """Everything that a node class declares."""

    inputs: Mapping[str, Input]
    outputs: Mapping[str, Output]
    widgets: Mapping[str, Widget]
    brain: type[Brain] | None
    brain_required: bool
    returns_tuple: bool
    """True if the outputs are the fields of a NamedTuple, False if the node returns its only output
    itself."""
    doc: str
    """The documentation, without the lines about sockets, which are in `doc` of the sockets."""

    @property
    def summary(self) -> str:
        """The first paragraph of the documentation, as one line."""
        paragraph, _, _ = self.doc.partition("\n\n")
        return " ".join(paragraph.splitlines())


class Steps(NamedTuple):
    """The methods that take inputs and give outputs: `tick` for both;
    for a register `latch` and `emit`.
    """

    takes: inspect.Signature
    gives: inspect.Signature


def read_schema(bases: Sequence[type], register: bool, reserved: Collection[str]) -> NodeSchema:
    """Read the schema of a node class.

    Args:
        bases: The node classes that it derives from, the most general first, and the class itself.
        register: Whether it has `emit` and `latch` instead of `tick`.
        reserved: Names that every node has already.

    Raises:
        NodeClassError: The class is declared wrongly.
    """
    cls = bases[-1]
    try:
        fields = _read_fields(bases)
        steps = _read_steps(cls, register)
        outputs, returns_tuple = _read_outputs(cls, steps.gives.return_annotation)
    except NodeClassError:
        raise
    except Exception as error:  # an annotation may be any expression
        raise NodeClassError(f"{cls.__name__}: an annotation cannot be read: {error}") from None
    if register:
        _check_register(cls, steps)
    else:
        _check_not_lazy(cls, outputs)
    brain, brain_required = _read_brain(cls, fields.pop("brain", None))
    widgets = _read_widgets(cls, fields, reserved)
    inputs = _read_inputs(cls, steps.takes)
    _check_names(cls, inputs, widgets)
    _check_anything(cls, inputs, outputs)

    docs = inherited_docs(bases)
    output_keys = {name: output_key(name, returns_tuple, inputs) for name in outputs}
    check_docs(cls, [*inputs, *output_keys.values()])
    return NodeSchema(
        {
            name: replace(declared, doc=docs.sockets.get(name, ""))
            for name, declared in inputs.items()
        },
        {
            name: replace(declared, doc=docs.sockets.get(output_keys[name], ""))
            for name, declared in outputs.items()
        },
        widgets,
        brain,
        brain_required,
        returns_tuple,
        docs.prose,
    )


# -- methods ---------------------------------------------------------------------------------------


def _read_steps(cls: type, register: bool) -> Steps:
    if not register:
        tick = _read_signature(cls, "tick", "node")
        return Steps(takes=tick, gives=tick)
    emit = _read_signature(cls, "emit", "register")
    latch = _read_signature(cls, "latch", "register")
    return Steps(takes=latch, gives=emit)


def _read_signature(cls: type, method: str, role: str) -> inspect.Signature:
    """Return the signature of a method with its annotations evaluated."""
    function = getattr(cls, method, None)
    if function is None:
        raise NodeClassError(f"{cls.__name__} has no {method}(); a {role} needs one")
    where = f"{cls.__name__}.{method}"
    signature = inspect.signature(function)
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            raise NodeClassError(
                f"{where}: {parameter} is not a named positional input; use list[…] for many links"
            )
        if parameter.name == "self":
            continue
        if parameter.name not in hints:
            raise NodeClassError(
                f"{where}: the input {parameter.name!r} has no annotation; "
                "write its socket type, such as Frame"
            )
        parameters.append(parameter.replace(annotation=hints[parameter.name]))
    if "return" not in hints:
        raise NodeClassError(
            f"{where} has no return annotation; write the output's socket type, "
            "a NamedTuple, or None"
        )
    return signature.replace(parameters=parameters, return_annotation=hints["return"])


def _check_register(cls: type, steps: Steps) -> None:
    name = cls.__name__
    if steps.gives.parameters:
        raise NodeClassError(f"{name}.emit takes nothing but self; inputs belong to {name}.latch")
    if steps.takes.return_annotation not in (None, NoneType):
        raise NodeClassError(f"{name}.latch returns nothing; outputs belong to {name}.emit")


# -- fields ----------------------------------------------------------------------------------------


def _read_fields(bases: Sequence[type]) -> dict[str, Any]:
    """Return the annotations of the fields of a class and its bases, by name,
    without those of class variables.
    """
    hints: dict[str, Any] = {}
    for base in bases:
        hints.update(inspect.get_annotations(base, eval_str=True))
    return {
        name: hint
        for name, hint in hints.items()
        if hint is not ClassVar and get_origin(hint) is not ClassVar
    }


def _read_brain(cls: type, annotation: Any) -> tuple[type[Brain] | None, bool]:
    """Return the kind of brain that a class declares, and whether it needs one."""
    if annotation is None:
        return None, False
    options = get_args(annotation) or (annotation,)
    kinds = [option for option in options if option is not NoneType]
    if len(kinds) != 1 or not _is_kind_of_brain(kinds[0]):
        raise NodeClassError(
            f"{cls.__name__}.brain is annotated {annotation!r}; expected one subclass of Brain"
        )
    return kinds[0], NoneType not in options


def _is_kind_of_brain(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Brain) and kind is not Brain


def _read_widgets(
    cls: type, fields: Mapping[str, Any], reserved: Collection[str]
) -> dict[str, Widget]:
    widgets: dict[str, Widget] = {}
    for name, annotation in fields.items():
        where = f"{cls.__name__}.{name}"
        declared = getattr(cls, name, None)
        if not isinstance(declared, WidgetField):
            raise NodeClassError(
                f"{where} is annotated but is not a widget; write {name}: … = widget(…) or ClassVar"
            )
        if name in reserved:
            raise NodeClassError(
                f"{where} is a name that every node has already; give the widget another one"
            )
        widgets[name] = read_widget(where, name, annotation, declared)
    for name in dir(cls):
        if isinstance(getattr(cls, name, None), WidgetField) and name not in widgets:
            raise NodeClassError(
                f"{cls.__name__}.{name} is a widget without an annotation in a node class; "
                f"write {name}: … = widget(…)"
            )
    return widgets


# -- inputs ----------------------------------------------------------------------------------------


def _read_inputs(cls: type, signature: inspect.Signature) -> dict[str, Input]:
    return {name: _read_input(cls, parameter) for name, parameter in signature.parameters.items()}


def _read_input(cls: type, parameter: inspect.Parameter) -> Input:
    where = f"{cls.__name__}.{parameter.name}"
    annotation = parameter.annotation
    reading: ReadMode = "last"
    many = False
    has_default = parameter.default is not inspect.Parameter.empty
    required = not has_default
    if has_default and parameter.default is not None:
        raise NodeClassError(
            f"{where} has the default {parameter.default!r}; "
            "an input's default can only be None, and other values belong in a widget"
        )
    if get_origin(annotation) is list:
        (annotation,) = get_args(annotation)
        many = True
    if _is_marked(annotation, OnDelivery):
        reading = "on"
        required = False
        annotation = _without(NoneType, annotation.__origin__)
    elif _is_union(annotation) and NoneType in get_args(annotation):
        if required:
            raise NodeClassError(f"{where} may be None but has no default; write `= None`")
        annotation = _without(NoneType, annotation)
    if get_origin(annotation) is Aged and reading == "last":
        (annotation,) = get_args(annotation)
        reading = "aged"
    types = _read_type(where, annotation)
    if types is None:
        raise NodeClassError(
            f"{where}: {annotation!r} is not a socket type; use one of minibrains.sockets"
        )
    must_be_linked = not has_default and not many
    return Input(parameter.name, types, reading, many, required, must_be_linked)


def _check_names(cls: type, inputs: Mapping[str, Input], widgets: Mapping[str, Widget]) -> None:
    for name in inputs:
        if name in widgets:
            raise NodeClassError(
                f"{cls.__name__}.{name} is both an input and a widget; "
                "give one of them another name"
            )


def _check_anything(cls: type, inputs: Mapping[str, Input], outputs: Mapping[str, Output]) -> None:
    if outputs and any(declared.type.anything for declared in inputs.values()):
        raise NodeClassError(
            f"{cls.__name__} takes Any and gives outputs; use a TypeVar, "
            "so that the type of the values is known"
        )


# -- outputs ---------------------------------------------------------------------------------------


def _read_outputs(cls: type, annotation: Any) -> tuple[dict[str, Output], bool]:
    """Return the outputs by name, and whether they are the fields of a NamedTuple."""
    if annotation in (None, NoneType):
        return {}, False
    if not _is_named_tuple(annotation):
        output = _read_output(f"{cls.__name__}'s output", None, annotation)
        return {output.name: output}, False
    hints = typing.get_type_hints(annotation, include_extras=True)
    outputs = {}
    for field in annotation._fields:
        outputs[field] = _read_output(f"{cls.__name__}.{field}", field, hints[field])
    return outputs, True


def _read_output(where: str, field: str | None, annotation: Any) -> Output:
    lazy = _is_marked(annotation, OnDemand)
    if lazy:
        # Annotated[Callable[[], T], OnDemand()]: what the function returns
        annotation = get_args(annotation.__origin__)[1]
    absent = annotation is Absent or (_is_union(annotation) and Absent in get_args(annotation))
    if absent:
        annotation = _without(Absent, annotation)
    types = _read_type(where, annotation)
    if types is None or types.anything:
        raise NodeClassError(
            f"{where}: {annotation!r} is not a socket type that an output can have"
        )
    name = field or types.label
    if not (name.isidentifier() and name.isascii()):
        raise NodeClassError(
            f"{where} would be called {name!r}, which no link can name; "
            "return a NamedTuple with a field for it"
        )
    return Output(name, types, absent, lazy)


def _check_not_lazy(cls: type, outputs: Mapping[str, Output]) -> None:
    for output in outputs.values():
        if output.lazy:
            raise NodeClassError(
                f"{cls.__name__} gives {output.name!r} as Lazy, which only a register can; "
                "give the value itself"
            )


# -- annotations -----------------------------------------------------------------------------------


def _read_type(where: str, annotation: Any) -> SocketTypes | None:
    try:
        return read_socket(annotation)
    except NodeClassError as error:
        raise NodeClassError(f"{where}: {error}") from None


def _is_named_tuple(annotation: Any) -> bool:
    return (
        isinstance(annotation, type)
        and issubclass(annotation, tuple)
        and hasattr(annotation, "_fields")
    )


def _is_marked(annotation: Any, mark: type) -> bool:
    if get_origin(annotation) is not Annotated:
        return False
    return any(isinstance(data, mark) for data in annotation.__metadata__)


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType)


def _without(option: type, union: Any) -> Any:
    others = [other for other in get_args(union) if other is not option]
    return Union[tuple(others)]
