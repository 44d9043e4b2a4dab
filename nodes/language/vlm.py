"""VLMStrategist and LLMStrategist: a language model that is asked for an action, and shown the
fight if it sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from minibrains import ABSENT, ColorFrame, Host, MinibrainsError, Node, Text, widget
from minibrains.loading import BrainRef
from minibrains.torch_node import Device
from nodes.language.answering import Adapters, Answer, LocalModel, Question, raised
from nodes.language.lora import Adapter, OwnAdapter, check_base
from nodes.language.placement import Precision, place
from nodes.language.pretrained import VLMBrain
from nodes.language.shared_model import SharedModel

NO_ANSWER: Final = Answer("", 0, ABSENT, ABSENT)
"""The answer of a model that failed."""


class Strategist(
    Node,
    abstract=True,
    background="either",
    fallback=NO_ANSWER,
    version=2,
    renamed_widgets={1: {"most": "max_tokens"}},
):
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
    max_tokens: int = widget(
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
        doc='the type of its weights; "auto": bf16 on an accelerator, and f32 on the processor; '
        "int8, nf4: 8 and 4 bits",
    )
    shared: bool = widget(
        default=False,
        rebuild=True,
        doc="ask a process that all runs with this model share: it is in memory once, and answers "
        "questions together that wait at the same time",
    )

    def open(self, host: Host) -> None:
        if self.brain.ref is None:
            raise MinibrainsError("this model has no file to be loaded from; save it first")
        self._ref = self.brain.ref
        answers: tuple[str, ...] = ()
        if self.answer == "choose":
            answers = self.brain.answers
            if not answers:
                host.say("the brain names no answers to choose from, so the model generates them")
        self._chooses = bool(answers)
        placement = place(self.device, self.precision)
        self._model: LocalModel | SharedModel
        if self.shared:
            self._model = SharedModel(self._ref, placement, answers)
        else:
            self._model = LocalModel(self._ref, placement, answers, host.load)
        host.record(**{f"{host.node}_model": self._model.description})

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        self._model.prepare(self._in_use(constants.get("adapters", [])))

    def close(self) -> None:
        model = getattr(self, "_model", None)
        if isinstance(model, SharedModel):
            model.close()

    def ask(self, image: np.ndarray | None, prompt: str, adapters: Sequence[Adapter]) -> Answer:
        """Return the answer of the model with these adapters.

        Args:
            image: The picture, uint8 [h, w, 3]; None if the model does not see.
            prompt: The question.
            adapters: All of them for this model, unless their weight is 0.
        """
        max_tokens = 0 if self._chooses else self.max_tokens
        (reply,) = self._model.answer([Question(image, prompt, self._in_use(adapters), max_tokens)])
        return raised(reply)

    def _in_use(self, adapters: Sequence[Adapter]) -> Adapters:
        """Return the adapters that change something.

        Raises BrainError if one of them is for another model.
        """
        used: list[tuple[BrainRef, float]] = []
        for adapter in adapters:
            if adapter.weight != 0:
                check_base(self._ref, adapter)
                used.append((adapter.ref, adapter.weight))
        return tuple(used)


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
    """Ask a text-only language model a question, and deliver its answer.

    "choose" takes one pass through the model; "generate" takes one more for each token, always the
    most probable one. With `"on_error": "fallback"` a run goes on when it fails or exceeds its
    `"timeout"`: the answer is then an empty text.
    """

    def check(self) -> None:
        if self.brain.sees:
            raise MinibrainsError("the model of this brain sees; use a VLMStrategist")

    def tick(self, prompt: Text, adapters: list[OwnAdapter]) -> Answer:
        return self.ask(None, prompt, [adapter for adapter in adapters if adapter is not None])
