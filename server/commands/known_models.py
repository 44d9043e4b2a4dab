"""Models that agents like ours have been built with, for `fetch-model`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class KnownModel(NamedTuple):
    """A model on the Hugging Face Hub."""

    licence: str
    """As on its page, on 2026-11-27."""
    gigabytes: float
    """The size of its weights, which are fetched; of quantised models only about."""
    parameters: float
    """In billions; 0 for a quantised model, which cannot be loaded here."""
    embeddings: float
    """In billions, how many of them are embeddings of tokens, or the layer that gives the logits of
    tokens: these stay in bf16 when the others are quantised."""
    here: str
    """The family that it is loaded as."""

    @property
    def memory(self) -> str:
        """The memory that it takes in each precision, in GB, for people."""
        if not self.parameters:
            return "-"
        kept = 2 * self.embeddings
        quantised = self.parameters - self.embeddings
        # a byte for each weight; or a half, and a scale of 4 bytes for each block of 64
        int8, nf4 = quantised + kept, (1 / 2 + 4 / 64) * quantised + kept
        sizes = (4 * self.parameters, 2 * self.parameters, int8, nf4)
        return " / ".join(f"{size:.1f}" for size in sizes)


KNOWN_MODELS: Final[Mapping[str, KnownModel]] = {
    "Qwen/Qwen3-4B-Instruct-2507": KnownModel("Apache 2.0", 8.0, 4.02, 0.39, "Qwen3: text only"),
    "HuggingFaceTB/SmolVLM-Instruct": KnownModel("Apache 2.0", 4.5, 2.25, 0.2, "Idefics3"),
    "Qwen/Qwen2.5-VL-3B-Instruct": KnownModel(
        "Qwen Research License: no commercial use", 7.5, 3.75, 0.31, "Qwen2.5-VL"
    ),
    "Qwen/Qwen2.5-VL-7B-Instruct": KnownModel("Apache 2.0", 16.6, 8.29, 1.09, "Qwen2.5-VL"),
    "Qwen/Qwen2.5-VL-72B-Instruct-AWQ": KnownModel(
        "Qwen License: commercial use up to 100 million users", 43.0, 0, 0, "only on a server: AWQ"
    ),
    "unsloth/Qwen3-VL-8B-Instruct-unsloth-bnb-4bit": KnownModel(
        "Apache 2.0", 7.0, 0, 0, "only on a server: bitsandbytes"
    ),
    "google/paligemma-3b-pt-224": KnownModel(
        "Gemma Terms of Use, to be accepted on its page", 11.7, 2.92, 0.53, "PaliGemma 1"
    ),
}
"""Repository -> what is known of it."""


def describe_known_models() -> str:
    """Return a table of them, for people."""
    head = ("model", "licence", "GB", "GB in f32 / bf16 / int8 / nf4", "here")
    rows = [head]
    for name, model in KNOWN_MODELS.items():
        rows.append((name, model.licence, f"{model.gigabytes:.1f}", model.memory, model.here))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
