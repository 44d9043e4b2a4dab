"""The part of `bench train` for vision-language models: TrainVLM beside transformers alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from nodes.language.model_files import FAMILIES
from nodes.language.pretrained import load_processor
from nodes.training.data_set import DataSet
from nodes.training.episode_file import decode_picture
from nodes.training.train_vlm import TrainVLM
from nodes.training.vlm_samples import VLMSample, VLMSamples
from server.commands.bench.measure import medians
from server.commands.unpack_model import unpack

MATCHES: Final = 4
STEPS: Final = 8
"""Steps of the optimizer in a turn."""
TURNS: Final = 7
_ANSWER: Final = 3
"""Number of tokens of the answer: itself, the end of the message, and a line break."""


def measure() -> tuple[float, float]:
    """Return how many samples a second TrainVLM learns from, and the Trainer of transformers alone.

    Matches of `sf2_distil` are played into the user's folder; both learn from them in turns, one
    model each, in batches of the same size. A turn of TrainVLM, which sf2_train_base has, includes
    its auxiliary variables, a validation of one sample, and a checkpoint. Raises what a run raises.
    """
    with Run(RunSpec("sf2_distil", episodes=MATCHES)) as run:
        for _ in run:
            pass
    widgets = {"train.checkpoint": STEPS, "train.epochs": 10_000, "train.validation_samples": 1}
    with Run(RunSpec("sf2_train_base", widgets=widgets)) as run, TemporaryDirectory() as folder:
        run.engine.reset(0, 0)
        node = run.engine.nodes["train"]
        run.engine.advance(2)  # make the trainer, and warm up
        plain = plain_training(node, Path(folder) / "model")
        plain()
        works = {"ours": lambda: run.engine.advance(1), "plain": plain}
        taken = medians(works, TURNS)
    samples = STEPS * node.batch_size
    return samples / taken["ours"], samples / taken["plain"]


def plain_training(node: TrainVLM, folder: Path) -> Callable[[], object]:
    """Return a function that takes STEPS steps, as the documentation of transformers shows it: its
    Trainer, the model's own processor, and the model's own loss over the tokens of the answer.

    Args:
        node: The training whose model, samples and settings it takes.
        folder: The folder for the model, which is not there yet.
    """
    import torch
    from transformers import (
        AutoModelForImageTextToText,
        PrinterCallback,
        Trainer,
        TrainingArguments,
    )

    assert node.brain.ref is not None
    unpack(Path(node.brain.ref.file)).write(folder)
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32)
    processor = load_processor(folder, FAMILIES[model.config.model_type])

    def collate(samples: Sequence[VLMSample]) -> dict[str, Any]:
        messages: list[Any] = []
        for sample in samples:
            picture = decode_picture(sample.picture)
            question = [
                {"type": "image", "image": picture.transpose(2, 0, 1)},
                {"type": "text", "text": sample.prompt},
            ]
            answer = [{"type": "text", "text": str(sample.label)}]
            messages.append(
                [
                    {"role": "user", "content": question},
                    {"role": "assistant", "content": answer},
                ]
            )
        batch = processor.apply_chat_template(
            messages, tokenize=True, return_dict=True, return_tensors="pt", padding=True
        )
        labels = batch["input_ids"].clone()
        labels[:, :-_ANSWER] = -100
        return {**batch, "labels": labels}

    arguments = TrainingArguments(
        output_dir=str(folder / "out"),
        max_steps=STEPS,
        per_device_train_batch_size=node.batch_size,
        learning_rate=node.learning_rate,
        weight_decay=node.weight_decay,
        use_cpu=True,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
    )
    data = DataSet.named(node.data)
    samples = VLMSamples(data, data.episodes(), node.prompts)
    trainer = Trainer(model=model, args=arguments, train_dataset=samples, data_collator=collate)
    trainer.remove_callback(PrinterCallback)  # it would print into the table
    train: Callable[[], object] = trainer.train
    return train
