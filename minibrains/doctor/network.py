"""A policy's network: its answers to changed inputs, and the parts that get a gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from minibrains.doctor.evidence import InputProbe, Kind, Part, log_probabilities
from minibrains.errors import MinibrainsError

if TYPE_CHECKING:
    import torch
    from torch import nn

    from minibrains.training.module import RegionModule

BATCH: Final = 64
"""Moments that are shown to the network at once."""
NEGLIGIBLE: Final = 1e-8
"""Share of the largest gradient of a network below which a gradient counts as none."""

Inputs = Mapping[str, np.ndarray]
"""float32 [n, …] by "node/socket": what flows into the policy in n moments."""


class Network:
    """The network of a policy, which is asked about arrays."""

    def __init__(self, module: RegionModule, logits: str) -> None:
        """Take a network.

        Args:
            module: The network, which is not trained further here.
            logits: The output that is its answer, "node/socket".

        Raises:
            MinibrainsError: It is recurrent.
        """
        if module.state_size:
            raise MinibrainsError(
                f"the policy {', '.join(module.nodes)} remembers, and the doctor asks about single "
                "moments; expected nodes that are not recurrent"
            )
        self._module = module.eval()
        self._logits = logits

    def answer(self, inputs: Inputs) -> np.ndarray:
        """Return the logits for inputs: float32 [n, outputs]."""
        import torch

        count = _moments(inputs)
        answers: list[np.ndarray] = []
        with torch.inference_mode():
            for start in range(0, count, BATCH):
                rows = slice(start, start + BATCH)
                answers.append(self._forward(inputs, rows).float().numpy())
        return np.concatenate(answers)

    def probe(self, kind: Kind, inputs: Inputs, rng: np.random.Generator) -> list[InputProbe]:
        """Replace each of the inputs in turn, by that of another moment and by zeros.

        Args:
            kind: What the logits mean.
            inputs: At least two moments.
            rng: Chooses the other moments.

        Returns:
            A probe for each input.
        """
        before = log_probabilities(kind, self.answer(inputs))
        others = _other_moments(_moments(inputs), rng)
        probes: list[InputProbe] = []
        for name, values in inputs.items():
            swapped = values[others]
            shuffled = self.answer({**inputs, name: swapped})
            blank = self.answer({**inputs, name: np.zeros_like(values)})
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

    def answer_shuffled(self, inputs: Inputs, rng: np.random.Generator) -> np.ndarray:
        """Return the logits for the inputs of other moments: float32 [n, outputs]."""
        others = _other_moments(_moments(inputs), rng)
        return self.answer({name: values[others] for name, values in inputs.items()})

    def parts(self, inputs: Inputs) -> list[Part]:
        """Follow the gradient of the logits back through each part of the network.

        The gradient is that of a random combination of the logits, because the one of a loss
        vanishes where the network is sure. Parts that the logits do not depend on by their
        structure, such as a second head, and embeddings are left out.

        Args:
            inputs: Some dozens of moments; each is followed back on its own.
        """
        import torch

        largest = self._units()
        used: set[str] = set()
        generator = torch.Generator().manual_seed(0)
        for row in range(_moments(inputs)):
            self._module.zero_grad(set_to_none=True)
            logits = self._forward(inputs, slice(row, row + 1))
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

    def _forward(self, inputs: Inputs, rows: slice) -> torch.Tensor:
        import torch

        tensors = {name: torch.from_numpy(values[rows]) for name, values in inputs.items()}
        given = self._module(tensors)
        if isinstance(given, torch.Tensor):
            return given
        logits: torch.Tensor = given[self._logits]
        return logits

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


def _moments(inputs: Inputs) -> int:
    return len(next(iter(inputs.values())))


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
