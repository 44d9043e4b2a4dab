"""JSON values for hypothesis: any, and sound ones with one place changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
)


def mutate(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """A copy of JSON data with one value anywhere in it replaced, removed, renamed,
    doubled or wrapped up.
    """
    root = {"root": copy.deepcopy(value)}
    places: list[tuple[Any, Any]] = [(root, "root")]
    for container, key in places:
        inner = container[key]
        if isinstance(inner, dict):
            places.extend((inner, name) for name in inner)
        elif isinstance(inner, list):
            places.extend((inner, index) for index in range(len(inner)))
    container, key = places[draw(st.integers(0, len(places) - 1))]
    other, last = places[draw(st.integers(0, len(places) - 1))]
    match draw(st.sampled_from(["replace", "swap", "wrap", "remove", "rename"])):
        case "swap":
            container[key] = copy.deepcopy(other[last])
        case "wrap":
            for _ in range(draw(st.sampled_from([1, 2, 60, 300]))):
                container[key] = [container[key]]
        case "remove" if container is not root:
            del container[key]
        case "rename" if isinstance(container, dict) and container is not root:
            container[draw(st.text(max_size=8) | st.just(str(last)))] = container.pop(key)
        case _:
            container[key] = draw(JSON)
    return root["root"]
