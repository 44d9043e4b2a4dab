"""The command `import-policy`: a policy of Stable-Baselines3 becomes a brain.

Only its weights are read: nothing in the file is executed.
"""

from __future__ import annotations

import argparse
import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import torch

from minibrains.brain import Brain
from minibrains.errors import BrainError, MinibrainsError
from minibrains.files import home, is_plain_name
from nodes.policies.network import PolicyHeadBrain
from nodes.policies.vector import VectorPolicyBrain
from server.cli import DONE

LARGEST: Final = 256 << 20
"""The most bytes that a part of the file may have."""
NATURE_CNN: Final = ((0, 4), (2, 2), (4, 1))
"""Number of each convolution in Stable-Baselines3's NatureCNN, and its stride."""


def main(arguments: argparse.Namespace) -> int:
    """Write the brain into the user's models, and print its name and SHA-256.

    Raises MinibrainsError.
    """
    path = Path(arguments.file)
    if not path.suffix and not path.exists():
        path = path.with_suffix(".zip")  # as model.save and PPO.load do
    name = arguments.name or path.stem
    if not is_plain_name(name):
        raise MinibrainsError(f"{name!r} cannot be the name of a brain; expected a plain file name")
    brain = read_policy(path)
    target = home() / "models" / brain.kind / f"{name}.safetensors"
    if target.exists():
        raise MinibrainsError(f"{target} exists; choose another name: import-policy FILE NAME")
    target.parent.mkdir(parents=True, exist_ok=True)
    sha256 = brain.save(target, title=name, made_by=f"python -m server import-policy {path.name}")
    print(f"{sha256}  {brain.kind}/{target.name}")
    return DONE


def read_policy(path: Path) -> Brain:
    """Return the policy of a file that `model.save` of Stable-Baselines3 has written.

    Args:
        path: A zip file with a PPO or A2C model whose actions are Discrete: an MlpPolicy with tanh
            and hidden layers of the same width, or a CnnPolicy.

    Returns:
        A VectorPolicyBrain or a PolicyHeadBrain, which give the same logits.

    Raises:
        BrainError: It is no such file.
    """
    about = json.loads(_read(path, "data"))
    try:
        weights = torch.load(BytesIO(_read(path, "policy.pth")), "cpu", weights_only=True)
    except Exception as error:
        raise BrainError(f"{path}: policy.pth cannot be read: {error}") from None
    tensors = {name: tensor.float().numpy() for name, tensor in weights.items()}
    if "action_net.weight" not in tensors or "log_std" in tensors:
        raise BrainError(
            f"{path} has no policy with logits; expected a PPO or A2C model with Discrete actions"
        )
    if "features_extractor.cnn.0.weight" in tensors:
        return _convolutional(path, about, tensors)
    return _fully_connected(path, about, tensors)


def _read(path: Path, part: str) -> bytes:
    try:
        with zipfile.ZipFile(path) as file:
            if file.getinfo(part).file_size > LARGEST:
                raise BrainError(f"{path}: {part} is larger than {LARGEST >> 20} MB")
            return file.read(part)
    except FileNotFoundError:
        raise BrainError(f"there is no file {path}; expected one of model.save") from None
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise BrainError(
            f"{path} is not a model of Stable-Baselines3: {error}; expected a file of model.save"
        ) from None


def _fully_connected(path: Path, about: Any, tensors: dict[str, Any]) -> VectorPolicyBrain:
    activation = str(about.get("policy_kwargs", {}).get("activation_fn", "Tanh"))
    if "Tanh" not in activation:
        raise BrainError(f"{path}: its activation is {activation}; expected tanh, the default")
    numbers = [
        name.split(".")[2] for name in tensors if name.startswith("mlp_extractor.policy_net")
    ]
    layers = sorted(set(numbers), key=int)
    widths = {len(tensors[f"mlp_extractor.policy_net.{layer}.bias"]) for layer in layers}
    if len(widths) != 1:
        raise BrainError(
            f"{path}: its hidden layers have {sorted(widths)} units; expected at least one layer, "
            "and all of the same width"
        )
    renamed: dict[str, Any] = {}
    for index, layer in enumerate(layers, start=1):
        for part in ("weight", "bias"):
            renamed[f"hidden{index}.{part}"] = tensors[f"mlp_extractor.policy_net.{layer}.{part}"]
    return VectorPolicyBrain(
        renamed | _output(tensors),
        numbers=renamed["hidden1.weight"].shape[1],
        actions=len(tensors["action_net.bias"]),
        hidden=widths.pop(),
        layers=len(layers),
    )


def _convolutional(path: Path, about: Any, tensors: dict[str, Any]) -> PolicyHeadBrain:
    if any(name.startswith("mlp_extractor.policy_net") for name in tensors):
        raise BrainError(f"{path}: it has layers after those of NatureCNN; expected none")
    renamed: dict[str, Any] = {}
    convolutions: list[tuple[int, int, int]] = []
    for index, (number, stride) in enumerate(NATURE_CNN):
        for part in ("weight", "bias"):
            renamed[f"convolution{index}.{part}"] = tensors[
                f"features_extractor.cnn.{number}.{part}"
            ]
        filters, _, kernel, _ = renamed[f"convolution{index}.weight"].shape
        convolutions.append((filters, kernel, stride))
    for part in ("weight", "bias"):
        renamed[f"hidden.{part}"] = tensors[f"features_extractor.linear.0.{part}"]
    channels, height, width = about["observation_space"]["_shape"]
    return PolicyHeadBrain(
        renamed | _output(tensors),
        channels=channels,
        height=height,
        width=width,
        actions=len(tensors["action_net.bias"]),
        hidden=len(renamed["hidden.bias"]),
        convolutions=tuple(convolutions),
    )


def _output(tensors: dict[str, Any]) -> dict[str, Any]:
    return {
        "output.weight": tensors["action_net.weight"],
        "output.bias": tensors["action_net.bias"],
    }
