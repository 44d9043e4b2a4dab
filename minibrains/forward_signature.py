"""The annotations of a TorchNode's `forward`: read when the class is made,
and refused if a network cannot have such sockets.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from minibrains.errors import NodeClassError
from minibrains.node_schema import Input, Output
from minibrains.sockets import SocketTypes
from minibrains.tensor_sockets import TensorForm, tensor_form


def tick_signature(where: str, forward: Callable[..., Any], recurrent: bool) -> inspect.Signature:
    """Return the signature of `forward` without its state.

    Args:
        where: The name of the function in error messages.
        forward: The function of the class.
        recurrent: Whether it takes and returns a state.

    Raises:
        NodeClassError: An annotation is missing or cannot be read, or outputs and state are not as
            they should be.
    """
    signature = inspect.signature(forward)
    try:
        hints = typing.get_type_hints(forward, include_extras=True)
    except Exception as error:
        raise NodeClassError(f"{where}: an annotation cannot be read: {error}") from None
    if "return" not in hints:
        raise NodeClassError(
            f"{where} has no return annotation; write the socket type of its output"
        )
    parameters = dict(signature.parameters)
    returns = hints["return"]
    if recurrent:
        if parameters.pop("state", None) is None:
            raise NodeClassError(
                f"{where} takes no state, and there is initial(batch); name its last argument state"
            )
        if get_origin(returns) is not tuple or len(get_args(returns)) != 2:
            raise NodeClassError(
                f"{where} is annotated to return {returns!r}; expected tuple[…, …], "
                "of outputs and state"
            )
        returns = get_args(returns)[0]
    elif get_origin(returns) is tuple:
        raise NodeClassError(
            f"{where} is annotated to return {returns!r}; "
            "expected a NamedTuple for several outputs, "
            "or a method initial(batch) besides for a state"
        )
    for name, parameter in parameters.items():
        if parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            raise NodeClassError(
                f"{where}: {parameter} is not a named positional input; use list[…] for many links"
            )
        if name != "self" and name not in hints:
            raise NodeClassError(
                f"{where}: the input {name!r} has no annotation; write its socket type"
            )
        parameters[name] = parameter.replace(annotation=hints.get(name, parameter.annotation))
    return signature.replace(parameters=list(parameters.values()), return_annotation=returns)


def input_forms(where: str, inputs: Mapping[str, Input]) -> dict[str, TensorForm]:
    """Return the tensor forms of the inputs.

    Raises NodeClassError for one that a network cannot take.
    """
    for name, declared in inputs.items():
        if declared.reading == "on":
            raise NodeClassError(
                f"{where}: {name!r} is On[…], which would be there for some items of a batch only; "
                "take the last value, and a Flag that says when it is new"
            )
    return {name: _form(where, name, declared.type) for name, declared in inputs.items()}


def output_forms(where: str, outputs: Mapping[str, Output]) -> dict[str, TensorForm]:
    """Return the tensor forms of the outputs.

    Raises NodeClassError for one that a network cannot give.
    """
    if not outputs:
        raise NodeClassError(
            f"{where} gives out nothing; expected a socket type, or a NamedTuple of some"
        )
    for name, declared in outputs.items():
        if declared.absent:
            raise NodeClassError(
                f"{where}: {name!r} is declared `| Absent`, "
                "but every item of a batch gets something; "
                "give out a Flag besides that says when it counts"
            )
    return {name: _form(where, name, declared.type) for name, declared in outputs.items()}


def _form(where: str, name: str, types: SocketTypes) -> TensorForm:
    form = tensor_form(types)
    if form is None:
        raise NodeClassError(
            f"{where}: {name!r} is {types}, which is not a tensor of one type; "
            "expected an array with a dtype, a number, a flag "
            "or a whole number"
        )
    return form
