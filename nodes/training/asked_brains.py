"""Brains that choose actions, asked about the samples of a data set as they are asked in play."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

import numpy as np

from minibrains.brain_file import BrainHeader, hash_file, read_header
from minibrains.disk_cache import Made, disk_cache
from minibrains.errors import BrainError, MinibrainsError
from minibrains.files import bundled_dir
from minibrains.software import hash_with_software
from minibrains.torch_node import limit_threads
from nodes.actions.history import fill_history, longest_history
from nodes.language.lora import LoraAdapter, merged
from nodes.language.pretrained import VLMBrain, load_pretrained
from nodes.policies.network import PolicyHead, PolicyHeadBrain
from nodes.training.episode_file import EpisodeSamples
from nodes.training.examples import Examples, Preprocessing, preprocess_samples
from nodes.training.trainer import normalised
from nodes.training.vlm_samples import played_before, with_own_prompt
from nodes.vision.fighters import FighterColors

KINDS: Final = (PolicyHeadBrain.kind, VLMBrain.kind, LoraAdapter.kind)
"""The kinds of brains that can be asked."""
_BATCH: Final = 256
"""Number of samples that a policy is asked about at once."""


class Answers(NamedTuple):
    """The answers to the samples of an episode, in the order of their ticks."""

    ticks: np.ndarray
    """int64 [n]."""
    actions: np.ndarray
    """int64 [n]: the action that it would take."""
    probabilities: np.ndarray
    """float32 [n]: the probability of that action, 0 to 1."""


class AskedBrain(ABC):
    """A brain that is asked about the samples of a data set."""

    def __init__(self, sha256: str, question: str) -> None:
        """Name the brain.

        Args:
            sha256: The SHA-256 of its file.
            question: The question; empty for one that is asked none.
        """
        self.sha256, self.question = sha256, question

    def ask(self, samples: EpisodeSamples) -> Answers:
        """Return the answers to the samples of an episode, from the disk if it was asked before.

        Raises:
            MinibrainsError: The brain cannot be asked about these pictures; names file and row.
        """
        pictures = hashlib.sha256()
        for picture in samples.pictures:
            pictures.update(hashlib.sha256(picture).digest())
        pictures.update(samples.played.tobytes())  # a question may name what was played before
        about = ("answers", self.sha256, self.question, pictures.hexdigest())
        key, cache = hash_with_software(repr(about)), disk_cache()
        try:
            actions, probabilities = cache.get(key, tuple).value
        except KeyError:
            began = perf_counter()
            actions, probabilities = self._answer(samples)
            cache.put(key, Made((actions, probabilities), perf_counter() - began))
        return Answers(samples.ticks, actions, probabilities)

    @abstractmethod
    def _answer(self, samples: EpisodeSamples) -> tuple[np.ndarray, np.ndarray]:
        """Return the actions and their probabilities, as in Answers."""


class AskedPolicy(AskedBrain):
    """A policy head, with the preprocessing of its training."""

    def __init__(self, path: Path, models: Path) -> None:
        """Load it; see `load_asked`."""
        brain = PolicyHeadBrain.load(path)
        super().__init__(hash_file(path), "")
        settings = json.loads(read_header(path).metadata["eyes"])
        colors = _find(FighterColors.kind, settings["fighter_colors_sha256"], path, models)
        self._preprocessing = Preprocessing.of_settings(settings, FighterColors.load(colors))
        self._head = PolicyHead(brain=brain)
        self._head.module = self._head.make_module().eval()

    def _answer(self, samples: EpisodeSamples) -> tuple[np.ndarray, np.ndarray]:
        import torch

        episode = preprocess_samples(samples, self._preprocessing, (), actionable=False)
        examples = Examples(self._preprocessing, [episode])
        actions = np.empty(len(examples), np.int64)
        probabilities = np.empty(len(examples), np.float32)
        with torch.inference_mode():
            for start in range(0, len(examples), _BATCH):
                rows = np.arange(start, min(start + _BATCH, len(examples)))
                logits = self._head.logits(normalised(examples.frames(rows)))
                best = logits.softmax(1).max(1)
                actions[rows], probabilities[rows] = best.indices.numpy(), best.values.numpy()
        return actions, probabilities


class AskedModel(AskedBrain):
    """A vision-language model that chooses one of its answers, perhaps with an adapter."""

    def __init__(self, path: Path, models: Path, question: str) -> None:
        """Load it; see `load_asked`."""
        super().__init__(hash_file(path), question)
        import torch

        model, adapter = path, None
        if read_header(path).kind == LoraAdapter.kind:
            adapter = LoraAdapter.load(path)
            model = _find(VLMBrain.kind, adapter.base_sha256, path, models)
        brain = VLMBrain.load(model)
        assert brain.ref is not None
        self._pretrained = load_pretrained(brain.ref)
        self._model = self._pretrained.model
        if adapter is not None and adapter.ref is not None:
            self._model = merged(self._model, [(adapter.ref, 1.0)])
        self._actions = [int(answer) for answer in brain.answers]
        self._tokens = torch.tensor([self._pretrained.token(answer) for answer in brain.answers])

    def _answer(self, samples: EpisodeSamples) -> tuple[np.ndarray, np.ndarray]:
        import torch

        actions = np.empty(len(samples), np.int64)
        probabilities = np.empty(len(samples), np.float32)
        before = played_before(samples, longest_history(self.question))
        with torch.inference_mode():
            for row in range(len(samples)):
                picture = samples.picture(row)
                if picture.shape[2] != 3:
                    raise MinibrainsError(
                        f"{samples.path}, row {row}: the picture is grey; expected colours, as a "
                        "ToPicture makes them"
                    )
                question = with_own_prompt(self.question, samples, row)
                question = fill_history(question, samples.info.actions, before[row])
                inputs = self._pretrained.read(picture, question)
                probability_of = self._pretrained.answer_probabilities(
                    self._model, inputs, self._tokens
                )
                best = int(probability_of.argmax())
                actions[row], probabilities[row] = self._actions[best], probability_of[best]
        return actions, probabilities


def load_asked(path: Path, models: Path, question: str = "") -> AskedBrain:
    """Load a brain that `refusal` does not refuse.

    Args:
        path: Its file.
        models: The user's folder of brains, with the colours that a policy knows, or the
            model that an adapter is for, unless they are shipped.
        question: The question that a model is asked.

    Raises:
        MinibrainsError: It cannot be loaded, or something that it needs is not here.
    """
    limit_threads()
    if read_header(path).kind == PolicyHeadBrain.kind:
        return AskedPolicy(path, models)
    if not question.strip():
        raise MinibrainsError("the question is empty; expected what the model is asked in play")
    return AskedModel(path, models, question)


def questions_of(header: BrainHeader) -> list[str]:
    """Return the questions that a model has learned to answer; none if its header has none."""
    try:
        found = json.loads(header.metadata.get("prompts", "[]"))
    except ValueError:
        return []
    if not isinstance(found, list):
        return []
    return [str(question) for question in found]


def refusal(header: BrainHeader, actions: Sequence[str]) -> str:
    """Return why a brain cannot be asked about a data set, in words; empty if it can.

    Its pictures are looked at only when it is asked.

    Args:
        header: The header of a brain.
        actions: The names of the data set's actions.
    """
    if header.kind not in KINDS:
        return f"it is of the kind {header.kind}; expected {', '.join(KINDS)}"
    if header.kind == PolicyHeadBrain.kind:
        names = header.config.get("action_names", ())
        if list(names) != list(actions):
            return "it chooses among other actions"
        if "eyes" not in header.metadata:
            return "its header does not say what it was shown in training"
        return ""
    if header.kind == LoraAdapter.kind:
        return ""
    answers = header.config.get("answers", ())
    if not answers:
        return "it names no answers to choose from"
    known = {str(action) for action in range(len(actions))}
    if not known.issuperset(answers):
        return "its answers are not the numbers of these actions"
    return ""


def _find(kind: str, sha256: str, whose: Path, models: Path) -> Path:
    """Return the brain with this SHA-256. Raises BrainError if it is not here."""
    for path in _brains(kind, models):
        if hash_file(path) == sha256:
            return path
    raise BrainError(
        f"{whose} needs the {kind} brain with the SHA-256 {sha256[:12]}…, which is not here; "
        f"put it into {models}"
    )


def _brains(kind: str, models: Path) -> Iterator[Path]:
    """Yield the brains of a kind, the user's own first."""
    for folder in (models, bundled_dir("models")):
        for path in sorted(folder.rglob("*.safetensors")):
            try:
                found = read_header(path).kind
            except BrainError:
                continue
            if found == kind:
                yield path
