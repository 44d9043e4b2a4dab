"""The checkpoint of a training with PPO, between two updates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nodes.training import checkpoint
from nodes.training.ppo_evaluation import Evaluations
from nodes.training.ppo_memory import Size
from nodes.training.ppo_metrics import Metrics

if TYPE_CHECKING:
    import torch

    from nodes.training.ppo_learner import Learner


def pack(
    learner: Learner,
    metrics: Metrics,
    evaluations: Evaluations,
    about: Mapping[str, Any],
) -> bytes:
    """Return a whole training between two updates, as a safetensors file.

    The moments of the games are stored as the actions that lead to them.

    Args:
        learner: The policy and its games.
        metrics: What was counted so far.
        evaluations: The evaluations so far.
        about: What the training depends on; JSON.
    """
    import torch

    model, games = learner.model, learner.games
    kind, keys, place, has_gauss, gauss = np.random.get_state()
    parts = {
        "policy": model.policy.state_dict(),
        "optimizer": checkpoint.optimizer_tensors(model.policy.optimizer),
        "random": {
            "torch": torch.get_rng_state(),
            "numpy": torch.from_numpy(np.array(keys).astype(np.int64)),
        },
        "best": evaluations.best_weights,
        "memory": _recurrent_states(learner),
    }
    rest = {
        "decisions": model.num_timesteps,
        "numpy": [kind, place, has_gauss, gauss],
        "size": Size(model.batch_size, games.num_envs),
        "moments": games.moments(),
        "starts": np.asarray(model._last_episode_starts).tolist(),
        "figures": metrics.state(),
        "evaluations": evaluations.state(),
    }
    metadata = {
        "about": json.dumps(about),
        # the actions of the moments are NumPy's
        "training": json.dumps(rest, default=lambda number: number.tolist()),
    }
    return checkpoint.pack(parts, metadata)


def unpack(
    data: bytes,
    learner: Learner,
    metrics: Metrics,
    evaluations: Evaluations,
    about: Mapping[str, Any],
) -> None:
    """Go on from what `pack` has returned; with fewer games, with the first of them.

    Raises:
        MinibrainsError: It was begun with other settings.
        ValueError: It cannot be read.
    """
    import torch

    model, games = learner.model, learner.games
    parts, before, rest = _read(data)
    checkpoint.check_same(before, about)

    model.policy.load_state_dict(parts["policy"])
    checkpoint.load_optimizer(model.policy.optimizer, parts.get("optimizer", {}))
    model.num_timesteps = rest["decisions"]
    metrics.load_state(rest["figures"])
    if "evaluations" in rest:
        evaluations.load_state(rest["evaluations"], parts.get("best", {}))

    kind, place, has_gauss, gauss = rest["numpy"]
    keys = parts["random"]["numpy"].numpy().astype(np.uint32)
    np.random.set_state((kind, keys, place, has_gauss, gauss))
    torch.set_rng_state(parts["random"]["torch"])

    count = games.num_envs
    model._last_obs = games.go_to(rest["moments"][:count])
    model._last_episode_starts = np.array(rest["starts"][:count], bool)
    for name, tensor in _recurrent_states(learner).items():
        tensor.copy_(parts["memory"][name][:, :count])
    metrics.keep_games(count)


def _recurrent_states(learner: Learner) -> dict[str, torch.Tensor]:
    """Return the states of a recurrent policy in its games, float32 [1, games, columns]."""
    if not learner.is_recurrent:
        return {}
    states = learner.model._last_lstm_states
    tensors: dict[str, torch.Tensor] = {}
    for network in ("pi", "vf"):
        hidden, cell = getattr(states, network)
        tensors[f"{network}/hidden"] = hidden
        tensors[f"{network}/cell"] = cell
    return tensors


def size_of(data: bytes) -> Size | None:
    """Return the size of a training that `pack` has returned; None: it is not in there.

    Raises ValueError if it cannot be read.
    """
    _, _, rest = _read(data)
    if "size" not in rest:
        return None
    return Size(*rest["size"])


def _read(data: bytes) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the tensors, what the training depends on, and the rest. Raises ValueError."""
    parts, metadata = checkpoint.unpack(data)
    try:
        return parts, json.loads(metadata["about"]), json.loads(metadata["training"])
    except KeyError as error:
        raise ValueError(str(error)) from None
