"""VLMStrategist: a vision-language model that is shown the fight and asked for an action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, NamedTuple

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
from minibrains.loading import BrainRef
from minibrains.torch_node import compute_on_one_thread
from nodes.language.asking import Pretrained
from nodes.language.lora import Adapter, OwnAdapter, check_base, merged
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


class VLMStrategist(Node, category="language", background="either", fallback=NO_ANSWER):
    """Show a vision-language model a picture, ask it a question, and deliver its answer.

    image:     uint8 [h, w, 3]; a picture whose size is not a multiple of the model's patches is
               scaled to one
    prompt:    the question
    adapters:  any number of LoRALoaders, all for this model
    text:      the answer
    tokens:    the number of tokens of picture and prompt
    confidence:     of the chosen answer, 0 to 1; only when choosing
    probabilities:  of all answers it could choose from; only when choosing
    second:         the second most probable answer; only when choosing, from two answers on
    "choose" takes one pass through the model; "generate" takes one more for each token, always the
    most probable one. With `"on_error": "fallback"` a run goes on when it fails or exceeds its
    `"timeout"`: the answer is then an empty text.
    """

    brain: VLMBrain
    answer: Literal["generate", "choose"] = widget(
        default="generate",
        rebuild=True,
        doc="generate an answer token by token, or choose one of the brain's answers",
    )
    most: int = widget(
        default=50, min=1, max=4096, doc="the largest number of tokens of a generated answer"
    )

    def check(self) -> None:
        if self.answer == "choose" and not self.brain.answers:
            raise MinibrainsError(
                'the brain names no answers to choose from; set answer to "generate"'
            )

    def open(self, host: Host) -> None:
        import torch

        compute_on_one_thread()
        if self.brain.ref is None:
            raise MinibrainsError("a model is loaded from its file, and this brain is in none")
        self._host, self._ref = host, self.brain.ref
        self._plain: Pretrained = host.load(self._ref, "nodes.language.pretrained", load_pretrained)
        if self.answer == "choose":
            self._tokens = torch.tensor(
                [self._plain.token(answer) for answer in self.brain.answers]
            )

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        self._model(constants.get("adapters", []))

    def tick(self, image: ColorFrame, prompt: Text, adapters: list[OwnAdapter]) -> Answer:
        import torch

        model = self._model([adapter for adapter in adapters if adapter is not None])
        with torch.inference_mode():
            inputs = self._plain.read(image, prompt)
            asked = inputs["input_ids"].shape[1]
            if self.answer == "choose":
                logits = self._plain.next_logits(model, inputs)[self._tokens]
                shares = dict(
                    zip(self.brain.answers, torch.softmax(logits, 0).tolist(), strict=True)
                )
                best, *others = sorted(shares, key=shares.__getitem__, reverse=True)
                second = others[0] if others else ABSENT
                return Answer(best, asked, shares[best], shares, second)
            tokens = model.generate(**inputs, **GREEDY, max_new_tokens=self.most)[0, asked:]
            return Answer(
                self._plain.processor.decode(tokens, skip_special_tokens=True),
                asked,
                ABSENT,
                ABSENT,
            )

    def _model(self, adapters: list[Adapter]) -> Any:
        """Return the model with these adapters, from the process's cache.

        Raises BrainError if one is for another model.
        """
        if not adapters:
            return self._plain.model
        for adapter in adapters:
            check_base(self._ref, adapter)
        refs = [(adapter.ref, adapter.weight) for adapter in adapters]
        ref = replace(self._ref, adapters=tuple(refs))
        return self._host.load(ref, "nodes.language.lora", self._merged)

    def _merged(self, ref: BrainRef) -> Any:
        return merged(self._plain.model, ref.adapters)
