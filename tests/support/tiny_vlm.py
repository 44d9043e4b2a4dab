"""A vision-language model of the real class that learns in seconds, and what it learns from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from minibrains.files import bundled_dir
from minibrains.tensors import as_array
from nodes.language.pretrained import VLMBrain
from nodes.training.data_set import DataSet
from nodes.training.episode_file import Sample, encode_picture
from tests.support.fights import info

NAME = "small-pictures"
PROMPTS = ("Which action?", "What now? Choose a number.")
LEARNING: dict[str, Any] = {
    "data": NAME,
    "name": "small",
    "prompts": PROMPTS[:1],
    "validation": 0.1,
    "batch_size": 16,
    "checkpoint": 5,
}
"""Widgets of a TrainVLM or TrainLoRA that takes seconds."""


def save_model(path: Path, seed: int = 0) -> VLMBrain:
    """Save a model with random weights, and return it."""
    import torch
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    untrained = VLMBrain.load(bundled_dir("models") / "vlm/sf2-untrained.safetensors")
    config = json.loads(untrained.files["config.json"])
    config["text_config"] |= {"hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 1}
    config["vision_config"] |= {
        "hidden_size": 64, "intermediate_size": 64, "num_heads": 1, "out_hidden_size": 64
    }  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = Qwen3VLForConditionalGeneration(Qwen3VLConfig.from_dict(config))
    tensors = {name: as_array(tensor.half()) for name, tensor in model.named_parameters()}
    files = {**untrained.files, "config.json": json.dumps(config)}
    brain = VLMBrain(tensors, files=files, answers=("0", "1", "2"))
    brain.save(path, title=f"Tiny {seed}", made_by="a test")
    return VLMBrain.load(path)


def match(number: int, other: bool = False, count: int = 40) -> list[Sample]:
    """The samples of a match: a square on the left, in the middle or on the right, each of its own
    colour, and the teacher's action of that number; with `other`, of the number after it.
    """
    random = np.random.default_rng(number)
    samples: list[Sample] = []
    for row in range(count):
        place = int(random.integers(3))
        picture = np.full((32, 96, 3), 40, np.uint8)
        top = int(random.integers(8, 16))
        picture[top : top + 12, 32 * place + 8 : 32 * place + 24, place] = 250
        action = place
        if other:
            action = (place + 1) % 3
        features = {"agent_x": 0.0, "enemy_x": float(place), "height": float(top)}
        png = encode_picture(picture)
        samples.append(Sample(10 * row, png, action, None, None, row % 8 != 7, features))
    return samples


def write_pictures(matches: int = 6, other: bool = False, name: str = NAME) -> DataSet:
    """Write a data set of matches into $MINIBRAINS_HOME, and return it."""
    data = DataSet.named(name)
    for number in range(matches):
        data.write(info(number), match(number, other))
    return data
