"""Ask a model one question, or several in a batch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import numpy as np

from minibrains import ABSENT, Absent, BrainError, Number, Socket, Text
from minibrains.brain_file import read_header
from minibrains.loading import BrainRef
from minibrains.torch_node import limit_threads
from nodes.language.asking import Pretrained
from nodes.language.lora import merged
from nodes.language.placement import Placement, megabytes
from nodes.language.pretrained import VLMBrain, load_pretrained

if TYPE_CHECKING:
    import torch

Probabilities = Annotated[Mapping[str, float], Socket("probabilities")]
"""The probability of each answer, 0 to 1; they sum to 1."""
Adapters = tuple[tuple[BrainRef, float], ...]
"""Adapters, and the weights to merge them with."""

GREEDY: Final = {
    "do_sample": False,
    "num_beams": 1,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
}
"""Greedy decoding, regardless of a model's own generation_config.json."""


class Question(NamedTuple):
    """What a model is asked."""

    image: np.ndarray | None
    """The picture, uint8 [h, w, 3]; None if the model does not see."""
    prompt: str
    adapters: Adapters
    max_tokens: int
    """The largest number of tokens of a generated answer; 0: choose one of the answers."""


class Answer(NamedTuple):
    """The answer of a model."""

    text: Text
    tokens: Number
    confidence: Number | Absent
    probabilities: Probabilities | Absent
    second: Text | Absent = ABSENT


class LocalModel:
    """A model in this process."""

    def __init__(
        self,
        ref: BrainRef,
        placement: Placement,
        answers: Sequence[str],
        load: Callable[[BrainRef, str, Callable[[BrainRef], Any]], Any],
    ) -> None:
        """Load it, unless another node of this process has.

        Args:
            ref: Its file.
            placement: Where it computes, and in which type of numbers.
            answers: The answers to choose from; may be empty.
            load: The cache of loaded models, as `Host.load`.

        Raises:
            BrainError: The model does not fit its configuration, or failed its trial; or an answer
                is not exactly one token.
            MinibrainsError: It has no room.
        """
        import torch

        limit_threads()
        self._ref, self._placement, self._load = ref, placement, load
        self._answers = tuple(answers)
        memory = VLMBrain.memory_sizes(read_header(Path(ref.file)).tensors)
        placement.check_room(memory)
        self._plain: Pretrained = load(ref, f"nodes.language.pretrained in {placement}", self._make)
        self.description = f"{placement}, {megabytes(memory[placement.precision])}"
        """Where it computes, and the memory that its weights take, for people."""
        self._tokens = torch.tensor([self._plain.token(answer) for answer in self._answers])

    def prepare(self, adapters: Adapters) -> None:
        """Merge adapters in advance. Raises BrainError if one does not fit."""
        self._model(adapters)

    def answer(self, questions: Sequence[Question]) -> list[Answer | Exception]:
        """Return the answer to each question, or the exception that it raised.

        Questions with the same adapters, and with pictures of the same size, are answered together.
        """
        import torch

        replies: dict[int, Answer | Exception] = {}
        groups: dict[Hashable, list[int]] = {}
        read: dict[int, Mapping[str, torch.Tensor]] = {}
        with torch.inference_mode():
            for place, question in enumerate(questions):
                try:
                    read[place] = self._placement.receive(
                        self._plain.read(question.image, question.prompt)
                    )
                except Exception as error:
                    replies[place] = error
                    continue
                key = (question.adapters, question.max_tokens, _sizes(read[place]))
                groups.setdefault(key, []).append(place)
            for places in groups.values():
                adapters, max_tokens = (
                    questions[places[0]].adapters,
                    questions[places[0]].max_tokens,
                )
                inputs = [read[place] for place in places]
                try:
                    found = self._answer_together(adapters, max_tokens, inputs)
                except Exception as error:
                    replies.update(dict.fromkeys(places, error))
                    continue
                replies.update(zip(places, found, strict=True))
        return [replies[place] for place in range(len(questions))]

    def _answer_together(
        self, adapters: Adapters, max_tokens: int, inputs: Sequence[Mapping[str, torch.Tensor]]
    ) -> list[Answer]:
        model = self._model(adapters)
        lengths = [each["input_ids"].shape[1] for each in inputs]
        answers: list[Answer] = []
        if max_tokens:
            together = self._plain.joined(inputs)
            written = model.generate(**together, **GREEDY, max_new_tokens=max_tokens)
            for tokens, length in zip(written[:, max(lengths) :], lengths, strict=True):
                text = self._plain.tokenizer.decode(tokens, skip_special_tokens=True)
                answers.append(Answer(text, length, ABSENT, ABSENT))
            return answers
        logits = self._plain.logits_of_each(model, inputs)
        probabilities = logits[:, self._tokens].float().softmax(1)
        for found, length in zip(probabilities.tolist(), lengths, strict=True):
            answers.append(self._chosen(found, length))
        return answers

    def _chosen(self, found: Sequence[float], length: int) -> Answer:
        probabilities = dict(zip(self._answers, found, strict=True))
        best, *others = sorted(probabilities, key=probabilities.__getitem__, reverse=True)
        second = others[0] if others else ABSENT
        return Answer(best, length, probabilities[best], probabilities, second)

    def _model(self, adapters: Adapters) -> Any:
        """Return the model with these adapters, from the process's cache."""
        if not adapters:
            return self._plain.model
        if self._placement.is_quantized:
            raise BrainError(
                f"adapters cannot be merged into weights in {self._placement.precision}; set "
                'precision to "bf16", or the weight of the adapter to 0'
            )
        ref = replace(self._ref, adapters=adapters)
        return self._load(ref, f"nodes.language.lora in {self._placement}", self._merged)

    def _make(self, ref: BrainRef) -> Pretrained:
        return load_pretrained(ref, self._placement)

    def _merged(self, ref: BrainRef) -> Any:
        return merged(self._plain.model, ref.adapters)


def _sizes(inputs: Mapping[str, torch.Tensor]) -> Hashable:
    """Return the names and sizes of the inputs besides the length of the question: only questions
    in which these are equal can be asked together.
    """
    question = inputs["input_ids"].shape
    sizes: list[tuple[str, tuple[int, ...]]] = []
    for name, tensor in sorted(inputs.items()):
        shape = () if tensor.shape == question else tuple(tensor.shape)
        sizes.append((name, shape))
    return tuple(sizes)


def raised(reply: Answer | Exception) -> Answer:
    """Return an answer, or raise the exception that is in its place."""
    if isinstance(reply, Exception):
        raise reply
    return reply
