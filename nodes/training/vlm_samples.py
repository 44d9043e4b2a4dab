"""The samples of a data set as a vision-language model is asked about them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from minibrains.errors import DataError, MinibrainsError
from nodes.actions.history import fill_history, longest_history
from nodes.language.asking import Pretrained
from nodes.training.data_set import DataSet
from nodes.training.episode_file import NONE, EpisodeInfo, EpisodeSamples, decode_picture
from nodes.training.examples import target

if TYPE_CHECKING:
    import torch

_OWN: Final = "{prompt}"
"""The place in a question for the prompt of the sample."""
_SIZE_OF_PNG = slice(16, 24)
"""The bytes of a PNG with its width and height."""


class VLMSample(NamedTuple):
    """A picture, a question, and the right answer."""

    picture: bytes
    """A PNG, as SampleWriter has written it."""
    prompt: str
    label: int
    """The teacher's action."""
    second: int
    """Its second best action; its action where it names no other."""
    targets: np.ndarray
    """float32 [targets], the auxiliary variables in the units of the game."""


class VLMSamples:
    """The samples of some episodes in which an action has an effect, as a sequence of VLMSample."""

    def __init__(
        self,
        data: DataSet,
        infos: Sequence[EpisodeInfo],
        prompts: Sequence[str],
        targets: Sequence[str] = (),
        seed: int = 0,
    ) -> None:
        """Read episodes; the pictures are decoded later.

        Args:
            data: The data set.
            infos: Its episodes.
            prompts: Questions, of which each sample is given one; in {prompt} its own, and in
                {actions} the actions that were played before it, as ActionHistory tells them in
                play.
            targets: The auxiliary variables; a-b is the distance of two.
            seed: The seed of the choice of questions.

        Raises:
            DataError: A file is damaged, a variable or a prompt is missing, pictures differ in
                size, or there is no sample in which an action has an effect.
        """
        self.folder = data.folder
        """The folder of the data set."""
        self._pictures: list[bytes] = []
        labels: list[np.ndarray] = []
        seconds: list[np.ndarray] = []
        values: list[np.ndarray] = []
        self._names = infos[0].actions if infos else ()
        self._before: list[Sequence[int]] = []
        """The last actions that were played before each sample, as many as a question names."""
        self._prompts: list[str] = []
        rng = np.random.default_rng(seed)
        longest = max(map(longest_history, prompts), default=0)
        for info in infos:
            samples = data.read(info)
            kept = np.flatnonzero(samples.actionable == 1)
            before = played_before(samples, longest)
            self._before += [before[row] for row in kept.tolist()]
            for row in kept.tolist():
                self._pictures.append(samples.pictures[row])
                _check_size(samples.path, row, samples.pictures[row], self._pictures[0])
                prompt = prompts[int(rng.integers(len(prompts)))]
                self._prompts.append(with_own_prompt(prompt, samples, row))
            labels.append(samples.actions[kept])
            second = np.where(samples.second_best == NONE, samples.actions, samples.second_best)
            seconds.append(second[kept])
            columns = np.empty((len(kept), len(targets)), np.float32)
            for column, name in enumerate(targets):
                columns[:, column] = target(samples, name)[kept]
            values.append(columns)
        if not self._pictures:
            raise DataError(
                f"the matches of {data.folder} have no sample in which an action has an effect; "
                "expected actionable to be linked where the data was collected"
            )
        self.labels = np.concatenate(labels)
        """int64 [n]: the teacher's actions."""
        self.second_best = np.concatenate(seconds)
        """int64 [n]: its second best actions; its actions where it names no other."""
        self.targets = np.concatenate(values)
        """float32 [n, targets], in the units of the game's variables."""

    def add(self, others: VLMSamples) -> None:
        """Add the samples of another data set of the same actions.

        Raises DataError if its pictures differ in size from these.
        """
        _check_size(others.folder, 0, others._pictures[0], self._pictures[0])
        self._pictures += others._pictures
        self._before += others._before
        self._prompts += others._prompts
        self.labels = np.concatenate([self.labels, others.labels])
        self.second_best = np.concatenate([self.second_best, others.second_best])
        self.targets = np.concatenate([self.targets, others.targets])

    def leave_out_others(self, actions: Collection[int]) -> int:
        """Leave out the samples whose label is none of these actions, and return their number."""
        kept = np.isin(self.labels, list(actions))
        rows = np.flatnonzero(kept).tolist()
        self._pictures = [self._pictures[row] for row in rows]
        self._before = [self._before[row] for row in rows]
        self._prompts = [self._prompts[row] for row in rows]
        self.labels, self.second_best = self.labels[kept], self.second_best[kept]
        self.targets = self.targets[kept]
        return int(np.count_nonzero(~kept))

    def __len__(self) -> int:
        return len(self._pictures)

    def __getitem__(self, row: int) -> VLMSample:
        return VLMSample(
            self._pictures[row],
            fill_history(self._prompts[row], self._names, self._before[row]),
            int(self.labels[row]),
            int(self.second_best[row]),
            self.targets[row],
        )

    def decimated(self, most: int) -> list[VLMSample]:
        """Return at most so many of the samples, evenly spread."""
        rows = np.linspace(0, len(self) - 1, min(most, len(self))).astype(int)
        return [self[row] for row in rows.tolist()]


def with_own_prompt(question: str, samples: EpisodeSamples, row: int) -> str:
    """Return a question, in which {prompt} stands for the prompt of a sample.

    Raises DataError if it has none.
    """
    if _OWN not in question:
        return question
    if not samples.prompts:
        raise DataError(
            f"{samples.path} has no prompts, and the question is {question[:100]!r}; expected "
            "`prompt` to be linked where the data was collected"
        )
    return question.replace(_OWN, samples.prompts[row])


def played_before(samples: EpisodeSamples, most: int) -> list[tuple[int, ...]]:
    """Return for each sample the actions that were played before it, oldest first.

    Args:
        samples: The samples of an episode.
        most: The largest number of actions of a sample, the last ones.
    """
    before: list[tuple[int, ...]] = []
    taken: tuple[int, ...] = ()
    for action in samples.played.tolist():
        before.append(taken)
        if action != NONE and most:
            taken = (*taken, action)[-most:]
    return before


def _check_size(path: object, row: int, picture: bytes, first: bytes) -> None:
    """Raise DataError if a picture has another size than the first one."""
    if picture[_SIZE_OF_PNG] != first[_SIZE_OF_PNG]:
        raise DataError(
            f"{path}, row {row}: the picture has another size than the first one; expected "
            "pictures of one size, as a Resize makes them"
        )


class BatchReader:
    """Makes batches of samples, read as the model reads a picture and a question in play."""

    def __init__(
        self,
        asked: Pretrained,
        answers: Sequence[str],
        mean: np.ndarray,
        deviation: np.ndarray,
    ) -> None:
        """Name the model, its answers, and the scale of the auxiliary variables.

        Args:
            asked: The model with its processor.
            answers: The answers, each the number of an action.
            mean: float32 [targets].
            deviation: float32 [targets].

        Raises:
            BrainError: An answer is not a single token.
        """
        self._asked = asked
        self.tokens = tuple(asked.token(answer) for answer in answers)
        """The token of each answer."""
        self._index = {int(answer): index for index, answer in enumerate(answers)}
        self._mean, self._deviation = mean, deviation

    def __call__(self, samples: Sequence[VLMSample]) -> dict[str, Any]:
        """Return the arguments of `AnswerLearner.forward` for some samples."""
        import torch

        labels: list[int] = []
        seconds: list[int] = []
        read: list[dict[str, torch.Tensor]] = []
        for sample in samples:
            label = self._index[sample.label]
            labels.append(label)
            seconds.append(self._index.get(sample.second, label))
            read.append(self._with_answer(sample, self.tokens[label]))
        targets = np.stack([sample.targets for sample in samples])
        scaled = (targets - self._mean) / self._deviation
        return {
            "labels": torch.tensor(labels),
            "seconds": torch.tensor(seconds),
            "targets": torch.from_numpy(scaled),
            "inputs": self._asked.joined(read),
        }

    def _with_answer(self, sample: VLMSample, answer: int) -> dict[str, torch.Tensor]:
        """Return the model's inputs for a sample, with the answer after the question."""
        picture = decode_picture(sample.picture)
        if picture.shape[2] != 3:
            raise MinibrainsError("a picture is grey; expected colours, as a ToPicture makes them")
        return self._asked.with_answer(self._asked.read(picture, sample.prompt), answer)
