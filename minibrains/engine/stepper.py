"""Tick an engine from one decision of its region to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from minibrains.engine.engine import Engine
from minibrains.engine.plan import SlotUse
from minibrains.engine.steps import UNSET, StepFunction
from minibrains.engine.tick import begin_tick, end_tick, is_terminal
from minibrains.errors import RunError
from minibrains.graph.socket_ref import SocketRef

_USES: Final[tuple[SlotUse, ...]] = ("last", "last_or_none", "on")
_TIMEOUT: Final = 100_000
"""The most ticks from one decision to the next: half an hour of a game."""


class Stepper:
    """Ticks an engine like `Engine.advance`, and stops within a tick where the region is asked.

    The phases of a tick, and what the nodes notice, are the same. No times are measured, and no
    edits are applied.
    """

    def __init__(self, engine: Engine) -> None:
        """Take an engine that is open, whose plan has a region."""
        region = engine.execution.region
        assert region is not None
        self.engine, self._region = engine, region
        self._reward_slot = region.plan.reward
        self.observation: list[Any] = []
        """The values of `Region.inputs` when it was due last; empty before."""
        self.reward = 0.0
        """The sum of the rewards since the last decision; with those before the first one, until it
        is answered."""
        self.terminated = self.truncated = False
        self._limit: int | None = None
        self._steps_left: Iterator[tuple[int, StepFunction]] | None = None
        """The steps of the current tick that are left; None between two ticks."""
        self._rewarded = self._answered = False
        self._asked_at = 0
        """The tick of the last decision."""

    def value(self, link: SocketRef) -> Any:
        """Return the value of an output at the present decision; None if nothing was delivered.

        It is kept only if something outside of the region reads it.
        """
        execution = self.engine.execution
        for use in _USES:
            slot = execution.output_slots.get((link.node, link.socket, use))
            if slot is not None and execution.values[slot] is not UNSET:
                return execution.values[slot]
        return None

    def reset(self, index: int, seed: int, limit: int | None) -> bool:
        """Begin an episode, and go on to its first decision.

        Args:
            index: The number of the episode, from 0.
            seed: The seed of the run.
            limit: Number of ticks after which the episode is truncated; None: no limit.

        Returns:
            False if the episode is over before there was one.
        """
        self.engine.reset(index, seed, limit)
        self._region.reset()
        self._limit, self._steps_left = limit, None
        self.observation = []
        self.reward = 0.0
        self.terminated = self.truncated = self._rewarded = self._answered = False
        self._asked_at = 0
        return self._go_on()

    def step(self, answer: Mapping[SocketRef, Any]) -> bool:
        """Answer in the region's place, and go on to the next decision, or to the end.

        Returns:
            False if the episode is over.
        """
        if self._steps_left is None:
            raise RunError("no decision is open: the episode has not begun, or is over")
        if self._answered:
            self.reward = 0.0
        self._answered = True
        self._region.deliver(answer)
        return self._go_on()

    def _go_on(self) -> bool:
        """Go on to the next decision; return False if the episode ends before."""
        while True:
            if self._steps_left is None:
                self._steps_left = begin_tick(self.engine)
                self._rewarded = False
            if self._is_asked(self._steps_left):
                self._take_reward()
                return True
            self._end()
            if self.terminated or self.truncated:
                return False
            if self.engine.tick - self._asked_at > _TIMEOUT:
                region = ", ".join(self._region.nodes)
                raise RunError(f"{region} was not due in {_TIMEOUT} ticks; give it another clock")

    def _is_asked(self, steps: Iterator[tuple[int, StepFunction]]) -> bool:
        """Run the steps that are left of the tick up to the region; return whether its answer is
        wanted.
        """
        while True:  # once, and again after each error that does not end the run
            try:
                for index, run in steps:  # noqa: B007 - used if it raises
                    run()
                    if not self._region.needs_answer:
                        continue
                    self._region.needs_answer = False
                    self.observation = self._region.inputs()
                    self._asked_at = self.engine.tick
                    if not is_terminal(self.engine):
                        return True
                    # nothing is latched on a terminal tick, so that no answer would matter: what
                    # depends on it goes on with the last one, if there is one
                    if not self._answered:
                        return False
                return False
            except Exception as error:
                self._steps_left = None
                self.engine.step_failed(index, error)
                self._steps_left = steps

    def _take_reward(self) -> None:
        """Add what was delivered as the reward on this tick, once."""
        if self._rewarded or self._reward_slot is None:
            return
        reward = self.engine.execution.values[self._reward_slot]
        if reward is not None:
            self.reward += reward
            self._rewarded = True

    def _end(self) -> None:
        """Run the phases of the tick that come after the steps."""
        engine = self.engine
        self._take_reward()
        self.terminated = is_terminal(engine)
        if not self.terminated:
            self._latch()
        end_tick(engine)
        self._steps_left = None
        self.truncated = not self.terminated and engine.tick == self._limit

    def _latch(self) -> None:
        latches = iter(self.engine.execution.latches)
        while True:  # again after each error that does not end the run
            try:
                for index, run in latches:  # noqa: B007 - used if it raises
                    run()
                return
            except Exception as error:
                self.engine.step_failed(index, error)
