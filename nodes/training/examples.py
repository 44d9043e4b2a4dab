"""The examples that a policy learns from: the samples of a data set, preprocessed as in play."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains import Episode
from minibrains.brain_file import hash_file
from minibrains.errors import DataError
from minibrains.files import write_atomic
from minibrains.host import WorkflowInfo
from nodes.training.data_set import DataSet
from nodes.training.episode_file import NONE, EpisodeInfo, EpisodeSamples
from nodes.vision.fighters import CenterMasks, FighterColors, FighterMask
from nodes.vision.frames import Crop, Resize

_VERSION: Final = "5"
"""The version of the files of preprocessed episodes."""
COLORS: Final = 2
"""Number of masks that a FighterMask makes of a picture."""
PREPROCESSED_AT_ONCE: Final = 4
"""Number of episodes that are preprocessed on a tick: other workers of the run take some."""


class Preprocessing(NamedTuple):
    """The way from a stored picture to what the network is shown, by the nodes that also play."""

    colors: FighterColors
    """The brain of FighterMask."""
    mirror: bool
    """Its setting of that name."""
    pictures: int
    """Number of pictures that are one below the other in a stored one, oldest first."""
    center: tuple[int, ...]
    """The settings of CenterMasks: column and strip in pixels; empty: there is none."""
    box: tuple[int, ...]
    """The settings of Crop: left, top, width, height in pixels."""
    size: tuple[int, ...]
    """The settings of Resize: width and height in pixels."""

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any], colors: FighterColors) -> Preprocessing:
        """Return that of a training, from the entry "eyes" in the header of its brain."""
        return cls(
            colors,
            settings["turn"],
            settings["pictures"],
            tuple(settings["center"]),
            tuple(settings["box"]),
            tuple(settings["size"]),
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of what the network is shown."""
        width, height = self.size
        return self.pictures * COLORS, height, width

    @property
    def digest(self) -> str:
        """A SHA-256 of all settings and colours."""
        about = (self.colors.looks, self.colors.characters, *self[1:])
        digest = hashlib.sha256(repr(about).encode())
        digest.update(self.colors.colors.tobytes())
        digest.update(self.colors.share.tobytes())
        return digest.hexdigest()


class PreprocessingParts(NamedTuple):
    """Preprocessing in a form that can be pickled."""

    looks: tuple[str, ...]
    characters: tuple[str, ...]
    colors: np.ndarray
    share: np.ndarray
    settings: tuple[Any, ...]

    @classmethod
    def of(cls, preprocessing: Preprocessing) -> PreprocessingParts:
        """Take it apart."""
        colors = preprocessing.colors
        return cls(
            colors.looks,
            colors.characters,
            np.array(colors.colors),
            np.array(colors.share),
            preprocessing[1:],
        )

    def whole(self) -> Preprocessing:
        """Put it together again."""
        colors = FighterColors(
            looks=self.looks,
            characters=self.characters,
            colors=self.colors,
            share=self.share,
        )
        return Preprocessing(colors, *self.settings)


class Job(NamedTuple):
    """One episode to preprocess: all that a worker is told."""

    folder: Path
    """The folder of the data set."""
    info: EpisodeInfo
    preprocessing: PreprocessingParts
    targets: tuple[str, ...]
    actionable: bool = True
    """Leave the samples out in which no action has an effect."""


class EpisodeExamples(NamedTuple):
    """The samples of one episode that are learned from, in the order of their ticks."""

    pictures: list[bytes]
    """For each sample uint8 [channels, height, width] as the network is shown it, compressed."""
    labels: np.ndarray
    """int64 [n]: the teacher's actions."""
    second_best: np.ndarray
    """int64 [n]: its second best actions; its actions where it names no other."""
    targets: np.ndarray
    """float32 [n, targets], in the units of the game's variables."""
    probabilities: np.ndarray
    """float32 [n, actions]: the teacher's; [n, 0] if the data set does not have them."""


def preprocess(job: Job) -> EpisodeExamples:
    """Preprocess the samples of an episode.

    Every picture is preprocessed, because FighterMask follows a match from its first one; only
    then are samples left out.

    Raises:
        DataError: A picture is damaged or of another size, or a variable is missing; names file
            and row.
    """
    samples = DataSet(job.folder).read(job.info)
    return preprocess_samples(samples, job.preprocessing.whole(), job.targets, job.actionable)


def preprocess_samples(
    samples: EpisodeSamples, preprocessing: Preprocessing, targets: Sequence[str], actionable: bool
) -> EpisodeExamples:
    """Preprocess samples of an episode; see `preprocess` and Job.

    Raises:
        DataError: A picture is damaged or of another size, or a variable is missing; names file
            and row.
    """
    mask = FighterMask(brain=preprocessing.colors, mirror=preprocessing.mirror)
    after = _nodes_after_the_mask(preprocessing)
    mask.open(None)  # type: ignore[arg-type]  # it asks nothing of its host
    for node in (mask, *after):
        node.reset(Episode(0, 0))

    pictures: list[bytes] = []
    for row in range(len(samples)):
        planes: list[np.ndarray] = []
        for picture in _parts(samples, row, preprocessing):
            masks = mask.tick(picture).masks
            for node in after:
                masks = node.tick(masks)
            planes.append(masks.transpose(2, 0, 1))
        shown = np.concatenate(planes)
        pictures.append(zlib.compress(shown.tobytes(), 1))

    kept = np.arange(len(samples))
    if actionable:
        kept = np.flatnonzero(samples.actionable == 1)
    values = np.empty((len(samples), len(targets)), np.float32)
    for column, name in enumerate(targets):
        values[:, column] = target(samples, name)
    second_best = np.where(samples.second_best == NONE, samples.actions, samples.second_best)
    return EpisodeExamples(
        [pictures[row] for row in kept],
        samples.actions[kept],
        second_best[kept],
        values[kept],
        samples.probabilities[kept],
    )


def _nodes_after_the_mask(preprocessing: Preprocessing) -> list[Any]:
    """Return the nodes that the masks go through, in order."""
    left, top, width, height = preprocessing.box
    columns, rows = preprocessing.size
    nodes: list[Any] = [
        Crop(left=left, top=top, width=width, height=height),
        Resize(width=columns, height=rows),
    ]
    if preprocessing.center:
        column, strip = preprocessing.center
        nodes.insert(0, CenterMasks(column=column, strip=strip))
    return nodes


def _parts(samples: EpisodeSamples, row: int, preprocessing: Preprocessing) -> list[np.ndarray]:
    """Return the pictures of a sample, oldest first. Raises DataError."""
    stored = samples.picture(row)
    height, rest = divmod(len(stored), preprocessing.pictures)
    left, top, wide, high = preprocessing.box
    columns = stored.shape[1] + sum(preprocessing.center[1:])  # a strip makes the masks wider
    fits = stored.shape[2] == 3 and left + wide <= columns and top + high <= height
    if rest or not fits:
        found = "x".join(map(str, stored.shape[:2]))
        raise DataError(
            f"{samples.path}, row {row}: the picture has {found} pixels and {stored.shape[2]} "
            f"colours; expected {preprocessing.pictures} pictures in colour, one below the other, "
            f"that the box {list(preprocessing.box)} is inside of; set pictures and box, or use "
            "another data set"
        )
    return np.split(stored, preprocessing.pictures)


def target(samples: EpisodeSamples, name: str) -> np.ndarray:
    """Return the values of a variable, or of `a-b`: the distance of two; float64 [samples].

    Raises DataError if there is no such variable.
    """
    columns: list[np.ndarray] = []
    for variable in name.split("-"):
        if variable not in samples.info.features:
            raise DataError(
                f"{samples.path} has no variable {variable!r}; expected in auxiliary some of "
                f"{', '.join(samples.info.features)}"
            )
        columns.append(samples.features[:, samples.info.features.index(variable)])
    values = columns[0]
    if len(columns) == 2:
        values = np.abs(columns[0] - columns[1])
    return values


class Examples:
    """The samples of many episodes, numbered one after the other."""

    def __init__(self, preprocessing: Preprocessing, examples: Sequence[EpisodeExamples]) -> None:
        """Join episodes, which were preprocessed in the same way."""
        self._shape = preprocessing.shape
        self._pictures: list[bytes] = []
        for episode in examples:
            self._pictures += episode.pictures
        self.labels = np.concatenate([episode.labels for episode in examples])
        """int64 [n]: the teacher's actions."""
        self.second_best = np.concatenate([episode.second_best for episode in examples])
        """int64 [n]: its second best actions; its actions where it names no other."""
        self.targets = np.concatenate([episode.targets for episode in examples])
        """float32 [n, targets], in the units of the game's variables."""
        self.probabilities = np.concatenate([episode.probabilities for episode in examples])
        """float32 [n, actions]: the teacher's; [n, 0] if the data set does not have them."""

    def __len__(self) -> int:
        return len(self._pictures)

    def frames(self, rows: np.ndarray) -> np.ndarray:
        """Return what the network is shown: uint8 [rows, channels, height, width]."""
        frames = np.empty((len(rows), *self._shape), np.uint8)
        for index, row in enumerate(rows):
            pixels = np.frombuffer(zlib.decompress(self._pictures[row]), np.uint8)
            frames[index] = pixels.reshape(self._shape)
        return frames


class ExampleFiles:
    """Files of preprocessed episodes: a training that goes on need not preprocess them again."""

    def __init__(
        self, folder: Path, preprocessing: Preprocessing, targets: tuple[str, ...], actionable: bool
    ) -> None:
        """Name the folder, and what the files depend on beside the data."""
        self._folder = folder
        self._about = {
            "version": _VERSION,
            "eyes": preprocessing.digest,
            "targets": json.dumps(targets),
            "actionable": json.dumps(actionable),
        }

    def read(self, data: DataSet, info: EpisodeInfo) -> EpisodeExamples | None:
        """Return what was seen of an episode; None: nothing, or of other data."""
        import safetensors

        try:
            with safetensors.safe_open(self._path(info), "np") as file:
                if file.metadata() != self._expected(data, info):
                    return None
                found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, safetensors.SafetensorError):
            return None
        pixels = found["pixels"].tobytes()
        pictures: list[bytes] = []
        start = 0
        for end in found["ends"].tolist():
            pictures.append(pixels[start:end])
            start = end
        return EpisodeExamples(
            pictures,
            found["labels"],
            found["seconds"],
            found["targets"],
            found["probabilities"],
        )

    def write(self, data: DataSet, info: EpisodeInfo, episode: EpisodeExamples) -> None:
        """Keep what was seen of an episode. Raises OSError."""
        from safetensors.numpy import save

        sizes = [len(picture) for picture in episode.pictures]
        arrays: dict[str, np.ndarray] = {
            "pixels": np.frombuffer(b"".join(episode.pictures), np.uint8),
            "ends": np.cumsum(sizes, dtype=np.int64),
            "labels": episode.labels,
            "seconds": episode.second_best,
            "targets": episode.targets,
            "probabilities": episode.probabilities,
        }
        write_atomic(self._path(info), save(arrays, self._expected(data, info)))

    def remove(self) -> None:
        """Remove all files."""
        for path in self._folder.glob("*.safetensors"):
            path.unlink(missing_ok=True)
        if self._folder.is_dir():
            self._folder.rmdir()

    def _path(self, info: EpisodeInfo) -> Path:
        return self._folder / f"{info.key}.safetensors"

    def _expected(self, data: DataSet, info: EpisodeInfo) -> dict[str, str]:
        return {**self._about, "data": hash_file(data.path_of(info.key))}


def hash_data(data: DataSet, infos: Sequence[EpisodeInfo]) -> str:
    """Return a SHA-256 over the files of episodes: of a line `SHA-256 NAME` for each."""
    lines: list[str] = []
    for info in infos:
        path = data.path_of(info.key)
        lines.append(f"{hash_file(path)} {path.name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def hash_states(infos: Sequence[EpisodeInfo]) -> Mapping[str, Any]:
    """Return the number of different save states that episodes began from, and a SHA-256 over
    their sorted hashes.
    """
    states = sorted({info.state_sha256 for info in infos})
    return {"count": len(states), "sha256": hashlib.sha256("".join(states).encode()).hexdigest()}


def lineage(
    workflow: WorkflowInfo,
    data: DataSet,
    infos: Sequence[EpisodeInfo],
    sha256: str,
    labels: Mapping[str, int],
    samples: tuple[int, int],
) -> dict[str, Any]:
    """Return metadata for the header of a brain that was learned from a data set.

    Args:
        workflow: The workflow that trained it.
        data: The data set.
        infos: Its episodes, at least one.
        sha256: The result of `hash_data`.
        labels: Number of samples of each action, by name.
        samples: The number of samples to learn from, and to validate with.
    """
    return {
        "made_by": workflow.made_by,
        "workflow": workflow.name,
        "workflow_sha256": workflow.sha256,
        "data": {
            "name": data.folder.name,
            "sha256": sha256,
            "game": infos[0].game,
            "rom_sha1": infos[0].rom_sha1,
            "episodes": len(infos),
            "samples": samples[0],
            "validation_samples": samples[1],
            "labels": labels,
        },
        "states": hash_states(infos),
    }


def split(
    infos: Sequence[EpisodeInfo], share: float, seed: int
) -> tuple[list[EpisodeInfo], list[EpisodeInfo]]:
    """Split episodes into those to learn from and those to validate with.

    Neighbouring samples are nearly equal, so matches are split and never samples; a match that was
    played twice is on one side. The side depends on the match itself and the seed, not on how many
    others there are: what a policy was validated with, one that begins with it on more matches does
    not learn from, and the other way round.

    Args:
        infos: The episodes.
        share: The probability that a match is one to validate with.
        seed: The seed of the choice.

    Returns:
        Both lists, neither empty.

    Raises:
        DataError: There are fewer than two different matches.
    """
    matches: dict[str, list[EpisodeInfo]] = {}
    for info in infos:
        matches.setdefault(info.trajectory_sha256 or info.key, []).append(info)
    if len(matches) < 2:
        raise DataError(
            "the data set has a single match; expected at least two, because one of them is not "
            "learned from, to validate with; collect more"
        )
    places = {name: _place(name, seed) for name in matches}
    names = sorted(matches, key=places.__getitem__)
    count = sum(place < share for place in places.values())
    count = min(max(count, 1), len(names) - 1)
    training: list[EpisodeInfo] = []
    validation: list[EpisodeInfo] = []
    for number, name in enumerate(names):
        side = validation if number < count else training
        side += matches[name]
    return training, validation


def _place(name: str, seed: int) -> float:
    """Return the place of a match among all there could be: 0 to 1, evenly distributed."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
