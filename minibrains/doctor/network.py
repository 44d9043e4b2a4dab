"""A policy's network: its answers to changed inputs, and the parts that get a gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from minibrains.doctor.evidence import InputProbe, Kind, Part, log_probabilities

if TYPE_CHECKING:
    import torch
    from torch import nn

    from minibrains.training.module import RegionModule

BATCH: Final = 64
"""Moments that are shown to the network at once."""
NEGLIGIBLE: Final = 1e-8
"""Share of the largest gradient of a network below which a gradient counts as none."""

WINDOW: Final = 8
"""Decisions of which a recurrent network is shown the inputs, the last one being the moment that it
is asked about. What was before is in its state."""


@dataclass(frozen=True, kw_only=True)
class Moments:
    """What flows into a policy in n moments, and for a recurrent one in the decisions before."""

    inputs: Mapping[str, np.ndarray]
    """[n, …] by "node/socket"; for a recurrent network [n, WINDOW, …], oldest first."""
    state: np.ndarray | None = None
    """float32 [n, state_size]: the network's state before the window; None: it is not recurrent."""
    starts: np.ndarray | None = None
    """bool [n, WINDOW]: the decisions at which an episode starts."""

    @classmethod
    def joined(cls, moments: Sequence[Moments]) -> Moments:
        """Return the moments of several, at least one, one after the other."""
        inputs: dict[str, np.ndarray] = {}
        for name in moments[0].inputs:
            inputs[name] = np.concatenate([each.inputs[name] for each in moments])
        states = [each.state for each in moments if each.state is not None]
        starts = [each.starts for each in moments if each.starts is not None]
        return cls(
            inputs=inputs,
            state=np.concatenate(states) if states else None,
            starts=np.concatenate(starts) if starts else None,
        )

    def __len__(self) -> int:
        return len(next(iter(self.inputs.values())))

    @property
    def latest(self) -> dict[str, np.ndarray]:
        """The inputs of the moments alone: [n, …] by "node/socket"."""
        if self.state is None:
            return dict(self.inputs)
        return {name: values[:, -1] for name, values in self.inputs.items()}

    def select(self, rows: slice | np.ndarray) -> Moments:
        """Return some of these moments."""
        return Moments(
            inputs={name: values[rows] for name, values in self.inputs.items()},
            state=None if self.state is None else self.state[rows],
            starts=None if self.starts is None else self.starts[rows],
        )

    def with_input(self, name: str, values: np.ndarray) -> Moments:
        """Return the same moments with another input."""
        return replace(self, inputs={**self.inputs, name: values})


class Network:
    """The network of a policy, which is asked about arrays."""

    def __init__(self, module: RegionModule, logits: str) -> None:
        """Take a network.

        Args:
            module: The network, which is not trained further here.
            logits: The output that is its answer, "node/socket".
        """
        self._module = module.eval()
        self._logits = logits

    @property
    def is_recurrent(self) -> bool:
        """True if an answer depends on earlier decisions."""
        return self._module.state_size > 0

    def initial(self) -> np.ndarray:
        """Return the state at the start of an episode: float32 [state_size]."""
        state: np.ndarray = self._module.initial(1)[0].numpy()
        return state

    def advance(self, inputs: Mapping[str, np.ndarray], state: np.ndarray) -> np.ndarray:
        """Return the state of a recurrent network after a decision: float32 [state_size].

        Args:
            inputs: Those of the decision, […] by "node/socket".
            state: The state before it.
        """
        import torch

        tensors = {name: torch.from_numpy(value[None]) for name, value in inputs.items()}
        with torch.inference_mode():
            _, after = self._module(tensors, torch.from_numpy(state[None]))
        result: np.ndarray = after[0].numpy()
        return result

    def answer(self, moments: Moments) -> np.ndarray:
        """Return the logits: float32 [n, outputs]."""
        import torch

        batch = BATCH // WINDOW if self.is_recurrent else BATCH
        answers: list[np.ndarray] = []
        with torch.inference_mode():
            for start in range(0, len(moments), batch):
                some = moments.select(slice(start, start + batch))
                answers.append(self._forward(some).float().numpy())
        return np.concatenate(answers)

    def probe(self, kind: Kind, moments: Moments, rng: np.random.Generator) -> list[InputProbe]:
        """Replace each of the inputs in turn, by that of another moment and by zeros.

        Args:
            kind: What the logits mean.
            moments: At least two moments.
            rng: Chooses the other moments.

        Returns:
            A probe for each input. The one of a recurrent network is replaced in its whole window.
        """
        before = log_probabilities(kind, self.answer(moments))
        others = _other_moments(len(moments), rng)
        probes: list[InputProbe] = []
        for name, values in moments.inputs.items():
            swapped = values[others]
            shuffled = self.answer(moments.with_input(name, swapped))
            blank = self.answer(moments.with_input(name, np.zeros_like(values)))
            differs = (swapped != values).reshape(len(values), -1).any(axis=1)
            probes.append(
                InputProbe(
                    name=name,
                    shuffled=_largest_change(before, log_probabilities(kind, shuffled)),
                    blank=_largest_change(before, log_probabilities(kind, blank)),
                    differs=differs,
                )
            )
        return probes

    def answer_shuffled(self, moments: Moments, rng: np.random.Generator) -> np.ndarray:
        """Return the logits for other moments: float32 [n, outputs]."""
        return self.answer(moments.select(_other_moments(len(moments), rng)))

    def parts(self, moments: Moments) -> list[Part]:
        """Follow the gradient of the logits back through each part of the network.

        The gradient is that of a random combination of the logits, because the one of a loss
        vanishes where the network is sure. Parts that the logits do not depend on by their
        structure, such as a second head, and embeddings are left out.

        Args:
            moments: Some dozens of them; each is followed back on its own.
        """
        import torch

        largest = self._units()
        used: set[str] = set()
        generator = torch.Generator().manual_seed(0)
        for row in range(len(moments)):
            self._module.zero_grad(set_to_none=True)
            logits = self._forward(moments.select(slice(row, row + 1)))
            weights = torch.randn(logits.shape, generator=generator)
            (logits * weights).sum().backward()  # type: ignore[no-untyped-call]
            for name, module in self._named_parts():
                for parameter in module.parameters(recurse=False):
                    if parameter.grad is None:
                        continue
                    used.add(name)
                    slopes = _by_unit(parameter.grad)
                    if len(slopes) == len(largest[name]):
                        largest[name] = torch.maximum(largest[name], slopes)
        self._module.zero_grad(set_to_none=True)
        everywhere = float(torch.cat(list(largest.values())).max())
        parts: list[Part] = []
        for name, slopes in largest.items():
            if name in used:
                dead = int((slopes <= NEGLIGIBLE * everywhere).sum())
                parts.append(Part(name=name, units=len(slopes), dead=dead))
        return parts

    def _forward(self, moments: Moments) -> torch.Tensor:
        import torch

        tensors = {name: torch.from_numpy(values) for name, values in moments.inputs.items()}
        if moments.state is None or moments.starts is None:
            return self._logits_of(self._module(tensors))
        steps = {name: values.flatten(0, 1) for name, values in tensors.items()}
        starts = torch.from_numpy(moments.starts).flatten()
        found, _ = self._module(steps, torch.from_numpy(moments.state), starts)
        logits = self._logits_of(found)
        return logits.reshape(len(moments), -1, logits.shape[1])[:, -1]

    def _logits_of(self, found: torch.Tensor | Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the logits of what the module gives out."""
        if isinstance(found, Mapping):
            return found[self._logits]
        return found

    def _named_parts(self) -> list[tuple[str, nn.Module]]:
        """Return the modules that have parameters of their own, by node and name."""
        from torch import nn

        parts: list[tuple[str, nn.Module]] = []
        for node in self._module.nodes:
            for name, module in self._module.network(node).named_modules():
                own = list(module.parameters(recurse=False))
                if own and not isinstance(module, nn.Embedding):
                    parts.append((f"{node}.{name}".rstrip("."), module))
        return parts

    def _units(self) -> dict[str, torch.Tensor]:
        """Return a zero for each unit of each part: for each row of its longest parameter."""
        import torch

        units: dict[str, torch.Tensor] = {}
        for name, module in self._named_parts():
            rows = [_unit_count(own) for own in module.parameters(recurse=False)]
            units[name] = torch.zeros(max(rows))
        return units


def _other_moments(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return for each moment the row of another one: int64 [count]."""
    order = rng.permutation(count)
    others = np.empty(count, np.int64)
    others[order] = np.roll(order, 1)
    return others


def _largest_change(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the largest change of a log-probability of each moment: float64 [n]."""
    changes: np.ndarray = np.abs(after - before).max(axis=1)
    return changes


def _by_unit(gradient: torch.Tensor) -> torch.Tensor:
    """Return the largest absolute gradient of each row."""
    return gradient.abs().reshape(_unit_count(gradient), -1).amax(dim=1)


def _unit_count(parameter: torch.Tensor) -> int:
    """Return the number of rows of a parameter; a single number is one."""
    if parameter.ndim:
        return len(parameter)
    return 1
