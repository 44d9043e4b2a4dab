"""Ask a loaded vision-language model by transformers' own calls, which work for every family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minibrains import BrainError, MinibrainsError

if TYPE_CHECKING:
    import torch


class Pretrained:
    """A model with its processor, ready to be asked."""

    answer_kinds: ClassVar[Mapping[str, int]] = MappingProxyType(
        {
            "mm_token_type_ids": 0,
            "token_type_ids": 0,
        }
    )
    """The inputs that tell kinds of tokens apart -> the kind of a token of the answer."""

    def __init__(self, model: Any, processor: Any) -> None:
        self.model = model
        self.processor = processor

    def read(self, image: np.ndarray | None, prompt: str) -> Mapping[str, torch.Tensor]:
        """Return the model's inputs for a picture and a question: one message, the picture first.

        Args:
            image: The picture, uint8 [h, w, 3]; None only for a model that does not see.
            prompt: The question.

        Raises:
            MinibrainsError: The question contains a marker that stands for a picture, or there is
                no picture.
        """
        from PIL import Image

        image = expect_picture(image)
        self.refuse_markers(prompt)
        picture = Image.fromarray(np.ascontiguousarray(image))
        content: list[dict[str, Any]] = [
            {"type": "image", "image": picture},
            {"type": "text", "text": prompt},
        ]
        return self._read_message(content)

    def with_answer(
        self, inputs: Mapping[str, torch.Tensor], answer: int
    ) -> dict[str, torch.Tensor]:
        """Return the inputs for a question with a token after it.

        Args:
            inputs: The result of `read`.
            answer: The token.
        """
        import torch

        longer = dict(inputs)
        after = {"input_ids": answer, "attention_mask": 1, **self.answer_kinds}
        for name, value in after.items():
            if name in longer:
                longer[name] = torch.cat([longer[name], torch.tensor([[value]])], dim=1)
        return longer

    def joined(self, questions: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
        """Return the inputs for several questions at once; shorter ones get padding tokens before
        them.

        Args:
            questions: Results of `read` or `with_answer`, whose pictures are of one size.
        """
        import torch
        from torch.nn import functional

        longest = max(each["input_ids"].shape[1] for each in questions)
        padding = self.tokenizer.pad_token_id
        inputs: dict[str, torch.Tensor] = {}
        for name, first in questions[0].items():
            parts = [each[name] for each in questions]
            if first.shape == questions[0]["input_ids"].shape:
                value = padding if name == "input_ids" else 0
                padded: list[torch.Tensor] = []
                for part in parts:
                    before = longest - part.shape[1]
                    padded.append(functional.pad(part, (before, 0), value=value))
                parts = padded
            inputs[name] = torch.cat(parts)
        return inputs

    @property
    def tokenizer(self) -> Any:
        """The part of the processor that reads words."""
        return self.processor.tokenizer

    def next_logits(self, model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the logits of the next token, f32 [vocabulary].

        Args:
            model: This model, perhaps with adapters merged into it.
            inputs: The result of `read`.
        """
        logits: torch.Tensor = model(**inputs, use_cache=False, logits_to_keep=1).logits
        return logits[0, -1]

    def answer_probabilities(
        self, model: Any, inputs: Mapping[str, torch.Tensor], answers: torch.Tensor
    ) -> torch.Tensor:
        """Return the probability of each answer, f32 [answers]; they sum to 1.

        Args:
            model: This model, perhaps with adapters merged into it.
            inputs: The result of `read`.
            answers: int64 [answers], the token of each answer.
        """
        return self.next_logits(model, inputs)[answers].float().softmax(0)

    def logits_of_each(
        self, model: Any, questions: Sequence[Mapping[str, torch.Tensor]]
    ) -> torch.Tensor:
        """Return the logits of the next token after each question, f32 [questions, vocabulary].

        Args:
            model: This model, perhaps with adapters merged into it.
            questions: Results of `read`, whose pictures are of one size.
        """
        if len(questions) == 1:
            return self.next_logits(model, questions[0])[None]
        together = self.joined(questions)
        logits: torch.Tensor = model(**together, use_cache=False, logits_to_keep=1).logits
        return logits[:, -1]

    def token(self, answer: str) -> int:
        """Return the token of an answer.

        Raises BrainError if the answer is not exactly one token.
        """
        tokens = self.tokenizer(answer, add_special_tokens=False)["input_ids"]
        if len(tokens) != 1:
            raise BrainError(
                f"the answer {answer!r} is {len(tokens)} tokens; one to choose must be one, "
                "else let it generate"
            )
        return int(tokens[0])

    def refuse_markers(self, prompt: str) -> None:
        """Raise MinibrainsError if the question contains a marker of the tokenizer
        that stands for a picture.
        """
        for marker in self.processor.all_special_multimodal_tokens:
            if marker in prompt:
                raise MinibrainsError(
                    f"the question contains {marker}, which stands for a picture; remove it"
                )

    def _read_message(self, content: str | list[dict[str, Any]]) -> Mapping[str, torch.Tensor]:
        """Return the model's inputs for one message by the user."""
        inputs: Mapping[str, torch.Tensor] = self.processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        return inputs


class PaliGemma(Pretrained):
    """A PaliGemma with its processor, ready to be asked."""

    # the tokens of a question look at each other, and must not look at its answer
    answer_kinds = MappingProxyType({"token_type_ids": 1})

    def read(self, image: np.ndarray | None, prompt: str) -> Mapping[str, torch.Tensor]:
        inputs = dict(super().read(image, prompt))
        # for training on the question itself; to ask for a part of the logits would contradict them
        inputs.pop("labels", None)
        return inputs


class TextModel(Pretrained):
    """A model that sees nothing, with its tokenizer, ready to be asked."""

    def read(self, image: np.ndarray | None, prompt: str) -> Mapping[str, torch.Tensor]:
        """Return the model's inputs for a question: one message."""
        return self._read_message(prompt)

    @property
    def tokenizer(self) -> Any:
        return self.processor


def expect_picture(image: np.ndarray | None) -> np.ndarray:
    """Return the picture. Raises MinibrainsError if there is none."""
    if image is None:
        raise MinibrainsError("this model answers questions about a picture, and there is none")
    return image
