"""The memory that a training with PPO needs, and what it gives up if there is less."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import psutil

from minibrains.errors import MinibrainsError

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from minibrains.host import Host
    from minibrains.training.module import RegionModule
    from minibrains.training.vec_env import WorkflowVecEnv

MIB: Final = 2**20
PROCESS: Final = 220 * MIB
"""Bytes of a process of games with its first one; measured with `psutil` for airstriker_pixels, 187
MB, and sf2_pixels, 217 MB."""
GAME: Final = 2 * MIB
"""Bytes of each game in a process after the first; measured for duel_vector: 1.5 MB."""
SMALLEST_BATCH: Final = 32
"""The smallest batch that a larger one is lowered to."""
_USABLE: Final = 0.9
"""The share of the free memory that a training takes at most."""
_PER_DECISION: Final = 8 + 6 * 4
"""Bytes of a decision in a rollout, beside the observation: an action, and six numbers."""


class Size(NamedTuple):
    """The settings that the memory of a training depends on, and that may be lowered."""

    batch_size: int
    n_envs: int

    def lowered(self, batch_first: bool = True) -> Size | None:
        """Return the next smaller size: half the batch, then half the environments.

        Args:
            batch_first: Whether a smaller batch helps.
        """
        if batch_first and self.batch_size > SMALLEST_BATCH:
            return self._replace(batch_size=max(self.batch_size // 2, SMALLEST_BATCH))
        if self.n_envs > 1:
            return self._replace(n_envs=self.n_envs // 2)
        return None

    def at_most(self, other: Size) -> Size:
        """Return the smaller of each."""
        return Size(*map(min, self, other))

    def difference(self, wanted: Size) -> str:
        """Return in words what is lowered from `wanted`; empty: nothing."""
        parts: list[str] = []
        for name, value, before in zip(self._fields, self, wanted, strict=True):
            if value != before:
                parts.append(f"{name} {value} in place of {before}")
        return ", ".join(parts)


class FittedSize:
    """The size of a training, lowered until it fits the memory that is free."""

    def __init__(self, wanted: Size, host: Host) -> None:
        """Begin with the size that is wanted; the host is told about each smaller one."""
        self.wanted = self.size = wanted
        self._host = host

    def fit_games(self, processes: int, evaluated: int) -> None:
        """Lower the number of games until they fit what is free.

        Args:
            processes: The number of processes that play them; 0: this one does.
            evaluated: The number of episodes of an evaluation, which has games of its own.

        Raises:
            MinibrainsError: Not even one fits.
        """
        while True:
            count = self.size.n_envs
            need = estimate_games(count, min(processes, count))
            others = min(count, evaluated)
            need += estimate_games(others, min(processes, others))
            free = free_memory()
            if need <= free:
                return
            reason = f"the games need about {format_bytes(need)}, and {format_bytes(free)} is free"
            self.lower(reason, batch_first=False)

    def fit_learning(
        self, network: RegionModule, games: WorkflowVecEnv, steps: int, has_prior: bool
    ) -> None:
        """Lower batch and number of games until all that comes beside the games fits what is free.

        It says how much it is, if it is much. See `estimate` for the arguments.

        Raises:
            MinibrainsError: Not even the smallest size fits.
        """
        while True:
            need = estimate(network, games.observation_space, self.size, steps, has_prior)
            free = free_memory()
            reason = f"{need} is needed beside the games, and {format_bytes(free)} is free"
            if sum(need) <= free:
                break
            self.lower(reason, batch_first=need.rollouts + need.networks <= free)
        if sum(need) > free / 2 and self.size.n_envs == games.num_envs:
            self._host.say(reason)

    def lower(self, reason: str, batch_first: bool = True) -> None:
        """Go down to the next smaller size, and say so. Raises MinibrainsError if there is none."""
        lower = self.size.lowered(batch_first)
        if lower is None:
            raise _out_of_memory(reason, self.size)
        self.size = lower
        lowered = lower.difference(self.wanted)
        self._host.say(f"not enough memory: {reason}; goes on with {lowered}")
        self._host.record(lowered=lowered)


class MemoryNeed(NamedTuple):
    """The memory that a training takes beside its games, in bytes; an estimate."""

    rollouts: int
    networks: int
    batch: int

    def __str__(self) -> str:
        parts = [f"{name} {format_bytes(value)}" for name, value in self._asdict().items()]
        return f"{format_bytes(sum(self))} ({', '.join(parts)})"


def estimate_games(environments: int, processes: int) -> int:
    """Return the bytes of games in so many processes of their own; 0: in this one."""
    return processes * PROCESS + (environments - processes) * GAME


def estimate(
    network: RegionModule, observations: Space[Any], size: Size, steps: int, has_prior: bool
) -> MemoryNeed:
    """Return the memory that a training takes beside its games.

    Args:
        network: The network that is trained; the critic is another one of its form.
        observations: The space of the observations.
        size: The batch, and the number of games.
        steps: Decisions of each game in an update.
        has_prior: Whether a third network is compared with.
    """
    weights = sum(parameter.nbytes for parameter in network.parameters())
    # observations, and the states of both networks, are copied once, to be sorted by game
    decision = 2 * (_example(observations, 1)[1] + 2 * 4 * network.state_size) + _PER_DECISION
    # each weight has a gradient and two moments of the optimizer
    copies = 2 * 4 + int(has_prior)
    return MemoryNeed(
        rollouts=steps * size.n_envs * decision,
        networks=copies * weights,
        batch=2 * size.batch_size * _saved_bytes(network, observations),
    )


def _saved_bytes(network: RegionModule, observations: Space[Any]) -> int:
    """Return the bytes that a network remembers of one observation until the gradient is there."""
    from torch.autograd.graph import saved_tensors_hooks

    weights = {parameter.untyped_storage().data_ptr() for parameter in network.parameters()}
    saved: dict[int, int] = {}

    def note(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    count = 2  # with one, some layers would keep views
    with saved_tensors_hooks(note, lambda tensor: tensor):
        result = network(_example(observations, count)[0])
    del result  # it has kept the memory, so that no two tensors have had the same
    return sum(saved.values()) // count


def _example(space: Space[Any], count: int) -> tuple[Any, int]:
    """Return a batch of observations that are zero, and the bytes of one."""
    import torch
    from gymnasium.spaces import Dict

    if isinstance(space, Dict):
        parts: dict[str, Any] = {}
        size = 0
        for name, part in space.items():
            parts[name], part_size = _example(part, count)
            size += part_size
        return parts, size
    assert space.shape is not None
    assert space.dtype is not None
    zeros = np.zeros((count, *space.shape), space.dtype)
    return torch.from_numpy(zeros), prod(space.shape) * space.dtype.itemsize


def free_memory() -> int:
    """Return the bytes that a training may take on this machine."""
    return int(_USABLE * psutil.virtual_memory().available)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory could not be allocated."""
    # torch has no class of its own for the memory of the processor
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def format_bytes(size: float) -> str:
    """Return a number of bytes for people."""
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.0f} MB"


def _out_of_memory(need: str, size: Size) -> MinibrainsError:
    """Return the error for a training that fits no memory, even in the smallest size."""
    return MinibrainsError(
        f"not enough memory: {need}, even with batch_size {size.batch_size} and n_envs "
        f"{size.n_envs}; set a smaller n_steps, train a smaller network, or end other programs"
    )
