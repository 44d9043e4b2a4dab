"""VLMStrategist and LLMStrategist: a language model that is asked for an action, and shown the
fight if it sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    ColorFrame,
    Host,
    MinibrainsError,
    Node,
    Number,
    Socket,
    Text,
    widget,
)
from minibrains.brain_file import read_header
from minibrains.loading import BrainRef
from minibrains.torch_node import Device, compute_on_one_thread
from nodes.language.asking import Pretrained
from nodes.language.lora import Adapter, OwnAdapter, check_base, merged
from nodes.language.placement import Precision, megabytes, place
from nodes.language.pretrained import VLMBrain, load_pretrained

Probabilities = Annotated[Mapping[str, float], Socket("probabilities")]
"""The probability of each answer, 0 to 1; they sum to 1."""


GREEDY: Final = {
    "do_sample": False,
    "num_beams": 1,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
}
"""Greedy decoding, regardless of a model's own generation_config.json."""


class Answer(NamedTuple):
    """The answer of a model."""

    text: Text
    tokens: Number
    confidence: Number | Absent
    probabilities: Probabilities | Absent
    second: Text | Absent = ABSENT


NO_ANSWER: Final = Answer("", 0, ABSENT, ABSENT)
"""The answer of a model that failed."""


class Strategist(Node, abstract=True, background="either", fallback=NO_ANSWER):
    """The base class of nodes that ask a model in this process.

    prompt:    the question
    adapters:  any number of LoRALoaders, all for this model
    text:      the answer
    tokens:    the number of tokens of the question, with its picture
    confidence:     of the chosen answer, 0 to 1; only when choosing
    probabilities:  of all answers it could choose from; only when choosing
    second:         the second most probable answer; only when choosing, from two answers on
    """

    brain: VLMBrain
    answer: Literal["generate", "choose"] = widget(
        default="generate",
        rebuild=True,
        doc="generate an answer token by token, or choose one of the brain's answers; a model "
        "whose brain names none generates in any case",
    )
    most: int = widget(
        default=50, min=1, max=4096, doc="the largest number of tokens of a generated answer"
    )

    device: Device = widget(
        default="cpu",
        rebuild=True,
        doc='where the model computes; "auto": an accelerator if there is one',
    )
    precision: Precision = widget(
        default="auto",
        rebuild=True,
        doc='in which it computes; "auto": bf16 on an accelerator, and f32 on the processor',
    )

    def open(self, host: Host) -> None:
        import torch

        compute_on_one_thread()
        if self.brain.ref is None:
            raise MinibrainsError("a model is loaded from its file, and this brain is in none")
        self._host, self._ref = host, self.brain.ref
        self._placement = place(self.device, self.precision)
        memory = VLMBrain.memory_sizes(read_header(Path(self._ref.file)).tensors)
        self._placement.check_room(memory)
        self._plain: Pretrained = host.load(
            self._ref, f"nodes.language.pretrained in {self._placement}", self._load
        )
        size = megabytes(memory[self._placement.precision])
        host.record(**{f"{host.node}_model": f"{self._placement}, {size}"})
        self._chooses = self.answer == "choose" and bool(self.brain.answers)
        if self._chooses:
            self._tokens = torch.tensor(
                [self._plain.token(answer) for answer in self.brain.answers]
            )
        elif self.answer == "choose":
            host.say("the brain names no answers to choose from, so the model generates them")

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        self._model(constants.get("adapters", []))

    def ask(self, image: np.ndarray | None, prompt: str, adapters: Sequence[Adapter]) -> Answer:
        """Return the answer of the model with these adapters.

        Args:
            image: The picture, uint8 [h, w, 3]; None if the model does not see.
            prompt: The question.
            adapters: All of them for this model.
        """
        import torch

        model = self._model(adapters)
        with torch.inference_mode():
            inputs = self._placement.receive(self._plain.read(image, prompt))
            asked = inputs["input_ids"].shape[1]
            if self._chooses:
                found = self._plain.shares(model, inputs, self._tokens).tolist()
                shares = dict(zip(self.brain.answers, found, strict=True))
                best, *others = sorted(shares, key=shares.__getitem__, reverse=True)
                second = others[0] if others else ABSENT
                return Answer(best, asked, shares[best], shares, second)
            tokens = model.generate(**inputs, **GREEDY, max_new_tokens=self.most)[0, asked:]
            return Answer(
                self._plain.tokenizer.decode(tokens, skip_special_tokens=True),
                asked,
                ABSENT,
                ABSENT,
            )

    def _model(self, adapters: Sequence[Adapter]) -> Any:
        """Return the model with these adapters, from the process's cache.

        Raises BrainError if one is for another model.
        """
        adapters = [adapter for adapter in adapters if adapter.weight != 0]
        if not adapters:
            return self._plain.model
        for adapter in adapters:
            check_base(self._ref, adapter)
        refs = [(adapter.ref, adapter.weight) for adapter in adapters]
        ref = replace(self._ref, adapters=tuple(refs))
        return self._host.load(ref, f"nodes.language.lora in {self._placement}", self._merged)

    def _load(self, ref: BrainRef) -> Pretrained:
        return load_pretrained(ref, self._placement)

    def _merged(self, ref: BrainRef) -> Any:
        return merged(self._plain.model, ref.adapters)


class VLMStrategist(Strategist, category="language"):
    """Show a vision-language model a picture, ask it a question, and deliver its answer.

    image:     uint8 [h, w, 3]; a picture whose size is not a multiple of the model's patches is
               scaled to one
    "choose" takes one pass through the model; "generate" takes one more for each token, always the
    most probable one. With `"on_error": "fallback"` a run goes on when it fails or exceeds its
    `"timeout"`: the answer is then an empty text.
    """

    def check(self) -> None:
        if not self.brain.sees:
            raise MinibrainsError("the model of this brain sees nothing; use an LLMStrategist")

    def tick(self, image: ColorFrame, prompt: Text, adapters: list[OwnAdapter]) -> Answer:
        return self.ask(image, prompt, [adapter for adapter in adapters if adapter is not None])


class LLMStrategist(Strategist, category="language"):
    """Ask a language model that does not see a question, and deliver its answer.

    "choose" takes one pass through the model; "generate" takes one more for each token, always the
    most probable one. With `"on_error": "fallback"` a run goes on when it fails or exceeds its
    `"timeout"`: the answer is then an empty text.
    """

    def check(self) -> None:
        if self.brain.sees:
            raise MinibrainsError("the model of this brain sees; use a VLMStrategist")

    def tick(self, prompt: Text, adapters: list[OwnAdapter]) -> Answer:
        return self.ask(None, prompt, [adapter for adapter in adapters if adapter is not None])
