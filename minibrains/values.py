"""JSON values and the Python annotations that they are read by:
the possible values of widgets and brain settings.

Allowed are int, float, str, bool, None, Any, Literal[…], unions, tuple[X, ...] for a JSON list and
Mapping[str, X] for a JSON object. Values are immutable once read. A type variable is read like Any.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

DEEPEST: Final = 100
"""Largest nesting depth of lists and objects."""
_UNUSUAL_NUMBER: Final = re.compile(r"[0-9]{19}|[eE]\+?[0-9]{3}")
"""Matches every text with a number of more than 64 bits, or too large for a float; it matches
others too."""
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
"""Matches every text with a lone surrogate; it matches others too."""


def parse_json(data: bytes | str) -> Any:
    """Parse strict JSON: UTF-8, no duplicate keys in an object, no NaN,
    no number that is too large.

    Raises ValueError.

    The result can be processed by recursion and written again.
    """
    try:
        if isinstance(data, bytes):
            text = data.decode("utf-8")
        else:
            text = data
        # json calls a Python function for each number, unless it is one of these two types
        read_integer: Callable[[str], Any] = int
        read_float: Callable[[str], Any] = float
        if _UNUSUAL_NUMBER.search(text):
            read_integer, read_float = _read_integer, _read_float
        value = json.loads(
            text,
            object_pairs_hook=_read_object,
            parse_int=read_integer,
            parse_float=read_float,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_depth(value)
    if _SURROGATE.search(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = Counter(name for name, _ in pairs)
        name, _ = names.most_common(1)[0]
        raise ValueError(f"{name!r} is named twice")
    return result


def _read_integer(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"the number {text[:24]}… has more than 64 bits")
    return number


def _read_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:24]} is too large")
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number that JSON has")


def _check_depth(value: Any) -> None:
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        deeper: list[Any] = []
        for outer in level:
            items: Iterable[Any] = outer.values() if isinstance(outer, dict) else outer
            deeper.extend(inner for inner in items if isinstance(inner, (list, dict)))
        level = deeper
    if level:
        raise ValueError("it is nested too deeply")


def parse_value(annotation: Any, value: Any) -> Any:
    """Convert a JSON value to the type of an annotation.

    Raises ValueError if it has another type.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any or isinstance(annotation, TypeVar):
        return _frozen(value)
    if origin is Literal:
        for choice in arguments:
            if type(choice) is type(value) and choice == value:
                return value
    elif origin in (Union, UnionType):
        for option in arguments:
            try:
                return parse_value(option, value)
            except ValueError:
                continue
    elif origin is tuple:
        if isinstance(value, (list, tuple)):
            return tuple(parse_value(arguments[0], item) for item in value)
    elif _is_mapping(origin):
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            read = {key: parse_value(arguments[1], item) for key, item in value.items()}
            return MappingProxyType(read)
    elif annotation is float:
        if (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and abs(value) <= sys.float_info.max
        ):
            return float(value)
    elif annotation in (int, str, bool, NoneType) and type(value) is annotation:
        return value
    raise ValueError(f"expected {describe_type(annotation)}, found {value!r}")


def to_json(value: Any) -> Any:
    """Convert a value back to lists and dicts for JSON: the inverse of `parse_value`."""
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def is_value_type(annotation: Any) -> bool:
    """Return True if `parse_value` supports this annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if (
        annotation in (int, float, str, bool, NoneType, Any)
        or origin is Literal
        or isinstance(annotation, TypeVar)
    ):
        return True
    if origin in (Union, UnionType):
        return all(map(is_value_type, arguments))
    if origin is tuple:
        return len(arguments) == 2 and arguments[1] is Ellipsis and is_value_type(arguments[0])
    return _is_mapping(origin) and arguments[0] is str and is_value_type(arguments[1])


def describe_type(annotation: Any) -> str:
    """Describe an annotation in words: `list of text`, `one of 'greedy', 'sample'`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if origin is tuple:
        return f"list of {describe_type(arguments[0])}"
    if _is_mapping(origin):
        return f"object of {describe_type(arguments[1])}"
    if origin in (Union, UnionType):
        return " or ".join(map(describe_type, arguments))
    if isinstance(annotation, TypeVar):
        return "any value"
    return {str: "text", Any: "any value", NoneType: "null"}.get(annotation) or str(
        annotation.__name__
    )


def value_schema(annotation: Any) -> dict[str, Any]:
    """Return the JSON Schema of an annotation."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, UnionType):
        return {"anyOf": [value_schema(option) for option in arguments]}
    if origin is tuple:
        return {"type": "array", "items": value_schema(arguments[0])}
    if _is_mapping(origin):
        return {"type": "object", "additionalProperties": value_schema(arguments[1])}
    names = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null"}
    if annotation not in names:
        return {}
    return {"type": names[annotation]}


def _is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping) and not issubclass(origin, dict)


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        frozen = {key: _frozen(item) for key, item in value.items()}
        return MappingProxyType(frozen)
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    return value
