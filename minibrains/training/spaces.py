"""Convert between values on links and the spaces of Gymnasium."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from minibrains.errors import MinibrainsError
from minibrains.sockets import DTYPES, SocketTypes

if TYPE_CHECKING:
    import gymnasium


_IMPOSSIBLE: Final = 1e9
"""A difference of logits that no temperature makes possible."""


class Ranked(NamedTuple):
    """An action, and the one to take if that is not let through: the answer to a sampler that
    delivers a second best action as well.
    """

    best: int
    second: int


class Port:
    """An output of a workflow, as a part of an observation or of an action.

    | on the link | space |
    |---|---|
    | an array uint8 | `Box`, 0 to 255 |
    | an array of floats | `Box`, unlimited |
    | `index[n]`, an action say | `Discrete(n)` |
    | logits [n], as an action | `Discrete(n)`: delivered as logits of which only one is possible |
    | a number | `Box` [1], unlimited |
    | True or False | `Discrete(2)` |
    """

    def __init__(self, name: str, kind: SocketTypes, is_action: bool) -> None:
        """Find the space of an output.

        Args:
            name: The output, "node/socket", which torch takes as the name of a module.
            kind: Its type, with all sizes.
            is_action: It is a part of the action, not of the observation.

        Raises:
            MinibrainsError: There is no space for its type, or a size is not known.
        """
        from gymnasium.spaces import Box, Discrete

        self.name = name
        self._is_logits = False
        if len(kind.options) != 1:
            raise _refusal(name, kind)
        (option,) = kind.options
        self._python = option.python
        self.space: gymnasium.Space[Any]
        if option.dtype == "index":
            (size,) = _sizes(name, kind, option.dims)
            self.space = Discrete(size)
            self._python = int
        elif option.python is bool:
            self.space = Discrete(2)
        elif option.python is float:
            self.space = Box(-np.inf, np.inf, (1,), np.float32)
        elif option.dtype in DTYPES and option.dtype != "bf16":
            dtype, shape = DTYPES[option.dtype], _sizes(name, kind, option.dims)
            self._is_logits = is_action and option.name == "logits" and len(shape) == 1
            if self._is_logits:
                self.space = Discrete(shape[0])
            elif np.issubdtype(dtype, np.floating):
                self.space = Box(-np.inf, np.inf, shape, dtype.type)
            else:
                limits = np.iinfo(dtype)
                self.space = Box(limits.min, limits.max, shape, dtype.type)
        else:
            raise _refusal(name, kind)

    def observed(self, value: Any) -> Any:
        """Return the value of a link as an element of the space."""
        if self._python is float:
            return np.array([value], np.float32)
        if self._python in (int, bool):
            return np.int64(value)
        return np.array(value, self.space.dtype)

    def value(self, action: Any) -> Any:
        """Return an element of the space as the value of a link.

        Args:
            action: An element. For logits also a Ranked.

        Raises:
            MinibrainsError: It is none of the space's elements.
        """
        if isinstance(action, Ranked) and self._is_logits and action.best != action.second:
            return self._logits([self._element(action.best), self._element(action.second)])
        element = self._element(action)
        if self._is_logits:
            return self._logits([element])
        if self._python is float:
            return float(element.item())
        if self._python in (int, bool):
            return self._python(element)
        return element

    def _element(self, action: Any) -> Any:
        try:
            element = np.asarray(action)
            dtype = self.space.dtype
            if dtype is not None and np.can_cast(element.dtype, dtype, "same_kind"):
                element = element.astype(dtype)
            if self.space.contains(element):
                return element
        except (TypeError, ValueError):
            pass  # it is not an array at all
        raise MinibrainsError(f"{self.name}: the action {action!r} is none of {self.space}")

    def _logits(self, actions: Sequence[Any]) -> np.ndarray:
        """Return logits of which the first action is certain, at any temperature, and of the others
        the second is the best.
        """
        logits = np.full(self.space.n, -np.inf, np.float32)  # type: ignore[attr-defined]
        for rank, action in enumerate(actions):
            logits[int(action)] = -rank * _IMPOSSIBLE
        return logits


def _sizes(name: str, kind: SocketTypes, dims: Sequence[object]) -> tuple[int, ...]:
    sizes = tuple(dim for dim in dims if isinstance(dim, int))
    if len(sizes) != len(dims):
        raise MinibrainsError(
            f"{name} carries {kind}, whose sizes are not known; expected numbers, which a brain or "
            "a widget of the workflow gives"
        )
    return sizes


def _refusal(name: str, kind: SocketTypes) -> MinibrainsError:
    return MinibrainsError(
        f"{name} carries {kind}, which a learner cannot take; expected an array, a number, an "
        "index or a flag"
    )
