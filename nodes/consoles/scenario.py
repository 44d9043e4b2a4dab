"""Reward and end of a game, computed from its variables as defined by its scenario.json.

stable-retro can compute them too, but first copies every block of the console's memory on each
frame. The rules are the same, and a test compares the two. Games whose scenario is a Lua script
still use stable-retro (`ScriptedScenario`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Variables = Mapping[str, int]
Measure = Callable[[int], float]


class Scenario(Protocol):
    """The rules of a game, which a console applies after each frame."""

    def restart(self, variables: Variables) -> None:
        """Start an episode with these variables."""

    def frame(self, variables: Variables) -> tuple[float, bool]:
        """Return the reward of the frame that led to these variables,
        and whether the game is over.
        """


def needs_script(scenario: Mapping[str, Any]) -> bool:
    """Return True if a script of the game computes reward or end."""
    return (
        any("script" in scenario.get(part, {}) for part in ("reward", "done"))
        or "rewards" in scenario
    )


_TESTS: Mapping[str, Callable[[int, int], int]] = {
    "equal": lambda value, reference: value == reference,
    "negative-equal": lambda value, reference: value == -reference,
    "not-equal": lambda value, reference: value != reference,
    "less-than": lambda value, reference: value < reference,
    "greater-than": lambda value, reference: value > reference,
    "less-or-equal": lambda value, reference: value <= reference,
    "greater-or-equal": lambda value, reference: value >= reference,
    "nonzero": lambda value, reference: value != 0,
    "zero": lambda value, reference: value == 0,
    "negative": lambda value, reference: value < 0,
    "positive": lambda value, reference: value > 0,
    "sign": lambda value, reference: (value > 0) - (value < 0),
}


class PlainScenario:
    """A scenario of variables and conditions, without a script."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        reward = scenario.get("reward", {})
        self._terms: list[tuple[str, bool, Measure, float, float]] = []
        for name, spec in reward.get("variables", {}).items():
            delta = spec.get("measurement", "delta") == "delta"
            self._terms.append((name, delta, _measure(spec), *_weights(spec)))
        time = reward.get("time", {})
        self._per_frame = 0.0
        if time:
            self._per_frame = _weighted(_measure(time)(1), *_weights(time))
        self._done = _condition(scenario.get("done", {}))
        self.names = sorted({*reward.get("variables", {}), *_names(scenario.get("done", {}))})
        """The variables that it reads."""
        self._last: Variables = {}

    def restart(self, variables: Variables) -> None:
        self._last = variables

    def frame(self, variables: Variables) -> tuple[float, bool]:
        last, total = self._last, self._per_frame
        for name, delta, measure, up, down in self._terms:
            value = variables[name]
            if delta:
                value -= last[name]
            total += _weighted(measure(value), up, down)
        done = self._done(variables, last)
        self._last = variables
        return total, done


class ScriptedScenario:
    """A scenario that stable-retro computes, because it includes a script."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def restart(self, variables: Variables) -> None:
        self._data.reset()
        self._data.update_ram()

    def frame(self, variables: Variables) -> tuple[float, bool]:
        self._data.update_ram()
        return float(self._data.current_reward(0)), bool(self._data.is_done())


def _weights(spec: Mapping[str, Any]) -> tuple[float, float]:
    return float(spec.get("reward", 0.0)), float(spec.get("penalty", 0.0))


def _weighted(measured: float, up: float, down: float) -> float:
    if measured > 0:
        return measured * up
    return measured * down


def _measure(spec: Mapping[str, Any]) -> Measure:
    test = _TESTS.get(spec.get("op", ""))
    reference = spec.get("reference", 0)
    if test is None:
        return float
    return lambda value: test(value, reference)


def _names(node: Mapping[str, Any]) -> set[str]:
    """Return the variables that one node of the tree of conditions reads."""
    names = set(node.get("variables", {}))
    for child in node.get("nodes", {}).values():
        names |= _names(child)
    return names


def _condition(node: Mapping[str, Any]) -> Callable[[Variables, Variables], bool]:
    """Return the function for one node of the tree of conditions; without conditions,
    "all" holds and "any" does not.
    """
    together = all if node.get("condition") == "all" else any
    tests: list[tuple[str, bool, Measure]] = []
    for name, spec in node.get("variables", {}).items():
        delta = spec.get("measurement", "absolute") == "delta"
        tests.append((name, delta, _measure(spec)))
    inner = [_condition(child) for child in node.get("nodes", {}).values()]

    def holds(variables: Variables, last: Variables) -> bool:
        held: list[bool] = []
        for name, delta, measure in tests:
            value = variables[name]
            if delta:
                value -= last[name]
            held.append(measure(value) > 0)
        for condition in inner:
            held.append(condition(variables, last))
        return together(held)

    return holds
