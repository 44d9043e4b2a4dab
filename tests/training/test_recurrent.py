"""A recurrent region: its state over batches, sequences and episodes."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from sb3_contrib.common.recurrent.type_aliases import RNNStates

from minibrains.training.module import RegionModule, region
from minibrains.training.recurrent import RecurrentRegionPolicy
from nodes.policies.memory import VectorMemory
from tests.support.paths import DATA

PACK = DATA / "fading_pack.py"


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RegionModule:
    """Two recurrent nodes, one after the other."""
    monkeypatch.chdir(tmp_path)
    untrained = {"title": "Untrained", "made_by": "a test"}
    config = {"numbers": 2, "hidden": 2, "layers": 2}
    VectorMemory.new_brain(config).save(Path("memory.safetensors"), **untrained)
    fading = runpy.run_path(str(PACK))["Fading"]
    fading.new_brain({}).save(Path("fading.safetensors"), **untrained)
    nodes = {
        "dark": {"type": "fading_pack.Darkness@1", "in": {"action": "choose.action"}},
        "memory": {
            "type": "VectorMemory@1",
            "in": {"vector": "dark.vector"},
            "brain": "memory.safetensors",
        },
        "fading": {
            "type": "fading_pack.Fading@1",
            "in": {"vector": "memory.vector"},
            "brain": "fading.safetensors",
        },
        "choose": {"type": "ActionSampler@1", "in": {"logits": "fading.logits"}},
    }
    Path("dark.json").write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    return region("dark.json", ["memory", "fading"], packs=[PACK])


def step_by_step(
    network: RegionModule, seen: torch.Tensor, state: torch.Tensor, starts: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what a region gives out for one sequence after the other, each step on its own.

    Args:
        network: The region.
        seen: Float32 [sequences, steps, 2].
        state: Those before, float32 [sequences, columns].
        starts: Bool [sequences, steps].
    """
    found: list[torch.Tensor] = []
    after: list[torch.Tensor] = []
    for sequence, before, begins in zip(seen, state, starts, strict=True):
        now = before[None]
        for shown, is_start in zip(sequence, begins, strict=True):
            if is_start:
                now = network.initial(1)
            logits, now = network(shown[None], now)
            found.append(logits)
        after.append(now)
    return torch.cat(found), torch.cat(after)


@pytest.fixture
def sequences(network: RegionModule) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Three sequences of five steps: what is seen, the states before, and where episodes start."""
    generator = torch.Generator().manual_seed(0)
    seen = torch.randn(3, 5, 2, generator=generator)
    state = torch.rand(3, network.state_size, generator=generator)
    state[:, -1] = torch.tensor([1.0, 7.0, 2.0])  # the number of the step
    starts = torch.zeros(3, 5, dtype=torch.bool)
    starts[0, 0] = starts[1, 3] = True
    return seen, state, starts


def test_sequences_are_computed_as_step_by_step(
    network: RegionModule, sequences: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
) -> None:
    seen, state, starts = sequences
    wanted, wanted_after = step_by_step(network, seen, state, starts)
    found, after = network(seen.flatten(0, 1), state, starts.flatten())
    assert torch.allclose(found, wanted, atol=1e-6)
    assert torch.allclose(after, wanted_after, atol=1e-6)


def test_the_gradient_reaches_the_first_step_of_an_episode(
    network: RegionModule, sequences: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
) -> None:
    seen, state, starts = sequences
    seen.requires_grad_()
    found, _ = network(seen.flatten(0, 1), state, starts.flatten())
    found.unflatten(0, (3, 5))[:, -1].sum().backward()
    assert seen.grad is not None
    reached = seen.grad.abs().sum(2) > 0
    assert reached.tolist() == [[True] * 5, [False] * 3 + [True] * 2, [True] * 5]


def test_a_policy_keeps_an_odd_number_of_columns(
    network: RegionModule, sequences: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
) -> None:
    assert network.state_size % 2 == 1
    policy = RecurrentRegionPolicy(
        Box(-np.inf, np.inf, (2,), np.float32),
        Discrete(2),
        lambda _: 0.0,
        make_network=lambda: region("dark.json", ["memory", "fading"], packs=[PACK]),
    )
    seen, state, starts = sequences
    starts[:, 0] = True
    wanted, _ = step_by_step(network, seen, state, starts)

    zeros = torch.zeros(1, 3, (network.state_size + 1) // 2)
    states = RNNStates((zeros, zeros), (zeros, zeros))
    actions: list[torch.Tensor] = []
    with torch.no_grad():
        for step in range(5):
            chosen, _, _, states = policy(
                seen[:, step], states, starts[:, step].float(), deterministic=True
            )
            actions.append(chosen)
    assert torch.equal(torch.stack(actions, 1).flatten(), wanted.argmax(1))
