"""DataSet: a folder of labelled moments of one game, one Parquet file for each episode.

`episode_file` has the format of these files; what writes and what learns goes through DataSet.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from minibrains.errors import DataError
from minibrains.file_lock import locked
from minibrains.files import home, is_plain_name, sync_folders, write_atomic
from minibrains.known_digests import FileKey
from nodes.training.data_card import describe_data
from nodes.training.episode_file import (
    SUFFIX,
    EpisodeInfo,
    EpisodeLabels,
    EpisodeSamples,
    Extras,
    Sample,
    check_encoded,
    check_start,
    difference,
    encode_episode,
    read_info,
    read_labels,
    read_picture,
    read_sample,
    read_samples,
)

CARD: Final = "README.md"
ORIGINALS: Final = ".originals"
"""The folder with the files that people have corrected, as they were collected. Its name begins
with a dot, so that no reader takes it for more data."""
_LOCK: Final = ".lock"
_OLD: Final = 3600.0
"""Seconds after which an unfinished file belongs to a process that was killed."""

Corrections = Mapping[str, Mapping[int, int | None]]
"""By the name of the episode and the tick: the right action, or None to delete the sample."""


class DataSet:
    """A folder of labelled moments of one game, one Parquet file for each episode.

    An episode is written as a whole, under a temporary name that is then changed: whenever a
    process is killed, every file that is there is complete. Several processes may write into one
    folder, and correct what is there.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder, which is made when the first episode is written."""
        self.folder = folder
        self._known: dict[Path, tuple[FileKey, EpisodeLabels]] = {}
        """The labels that were read, each with the state of its file at that time."""

    @classmethod
    def named(cls, name: str) -> DataSet:
        """Return the user's data set of this name: `data/NAME` in $MINIBRAINS_HOME.

        Raises DataError if it cannot be the name of a folder.
        """
        if not is_plain_name(name):
            raise DataError(
                f"{name[:100]!r} cannot be the name of a data set; "
                "expected the name of a folder, without / and not beginning with a dot"
            )
        return cls(home() / "data" / name)

    # -- writing -----------------------------------------------------------------------------------

    def path_of(self, key: str) -> Path:
        """Return the file of an episode, whether or not it is there."""
        return self.folder / f"{key}{SUFFIX}"

    def has(self, key: str) -> bool:
        """Return whether an episode is there already, or was until all its samples were deleted."""
        return self.path_of(key).is_file() or self._original(key).is_file()

    def write(self, info: EpisodeInfo, samples: Sequence[Sample]) -> Path:
        """Write an episode as a whole, and return its file.

        One that is there is replaced, unless people have corrected it: then it stays as it is.

        Raises:
            DataError: The episode is not one that could be read again, it does not belong into this
                data set, or the file cannot be written.
        """
        path = self.path_of(info.key)
        check_start(path, info)
        self.check_same(info.game, info.rom_sha1, info.actions, info.extras)
        data = encode_episode(path, info, samples)
        check_encoded(path, data)
        with self._alone():
            if not self._original(info.key).is_file():
                _write(path, data)
        return path

    def check_same(
        self, game: str, rom_sha1: str, actions: Sequence[str], extras: Extras | None = None
    ) -> None:
        """Raise DataError unless episodes of this game with this action table belong here, and
        with these columns.
        """
        path = next(iter(self.files()), None)
        if path is None:
            return
        there = _read_info(path)
        other = difference(there, game, actions, extras)
        if not other and there.rom_sha1 != rom_sha1:
            other = f"was played with the ROM {there.rom_sha1}, expected {rom_sha1}"
        if other:
            raise DataError(
                f"{path} {other}; the episodes of a data set have one game and one action table, "
                "and all have prompts, or none, and the same for probabilities; write into one of "
                "another name"
            )

    def remove_leftovers(self) -> None:
        """Remove unfinished files of processes that were killed more than an hour ago.

        Raises DataError if one cannot be removed.
        """
        for folder in (self.folder, self.folder / ORIGINALS):
            for path in folder.glob(f".*{SUFFIX}.*"):
                _remove_if_old(path)

    # -- correcting --------------------------------------------------------------------------------

    def correct(self, corrections: Corrections) -> None:
        """Correct labels by hand, delete samples, or bring deleted ones back; write the card.

        The file of an episode as it was collected is kept in ORIGINALS. So a sample that was
        deleted is there again once it is given a label, and an episode whose samples all have
        their original labels is again the file that it was. An episode without samples has no file.

        Args:
            corrections: The new labels. A second best action that is the label now is left out.

        Raises:
            DataError: There is no such episode, sample or action, and nothing was changed; or a
                file is damaged, or cannot be written, and those before it were changed.
        """
        with self._alone():
            for key, labels in corrections.items():
                self._check_corrections(key, labels)
            for key, labels in corrections.items():
                self._correct_episode(key, labels)
            self._write_card()

    def read_original(self, key: str) -> EpisodeLabels:
        """Read the labels of an episode as it was collected. Raises DataError."""
        return self._read_labels(self._collected(key))

    def label_by_tick(self, key: str) -> dict[int, int | None]:
        """Return the labels of an episode by tick; None for a sample that was deleted.

        Raises DataError.
        """
        original = self.read_original(key)
        if original.path == self.path_of(key):
            return dict(zip(original.ticks.tolist(), original.actions.tolist(), strict=True))
        labels: dict[int, int | None] = dict.fromkeys(original.ticks.tolist())
        if self.path_of(key).is_file():
            now = self._read_labels(self.path_of(key))
            labels.update(zip(now.ticks.tolist(), now.actions.tolist(), strict=True))
        return labels

    def _check_corrections(self, key: str, labels: Mapping[int, int | None]) -> None:
        """Raise DataError if there is no such episode, sample or action."""
        if not is_plain_name(key) or not self.has(key):
            raise DataError(f"{self.folder} has no episode {key[:100]!r}")
        original = self.read_original(key)
        ticks, actions = set(original.ticks.tolist()), len(original.info.actions)
        for tick, label in labels.items():
            if tick not in ticks:
                raise DataError(f"{self.path_of(key)} has no sample of the tick {tick}")
            if label is None:
                continue
            if not isinstance(label, int | np.integer) or not 0 <= label < actions:
                raise DataError(
                    f"{self.path_of(key)}, tick {tick}: the label is {label!r}; "
                    f"expected 0 to {actions - 1}"
                )

    def _correct_episode(self, key: str, labels: Mapping[int, int | None]) -> None:
        """Write an episode with new labels. Raises DataError."""
        path, kept = self.path_of(key), self._original(key)
        original = read_samples(self._collected(key))
        check_start(original.path, original.info)
        wanted = {**self.label_by_tick(key), **labels}

        samples: list[Sample] = []
        changes: list[tuple[int, int | None]] = []
        for row, tick in enumerate(original.ticks.tolist()):
            sample, label = original.sample(row), wanted[tick]
            if label != sample.action:
                changes.append((tick, label))
            if label is not None:
                samples.append(_labelled(sample, label))
        if not changes and original.path == path:
            return

        if original.path == path:
            _write(kept, path.read_bytes())
        if not changes:
            _write(path, kept.read_bytes())
            kept.unlink()
        elif samples:
            digest = hashlib.sha256(json.dumps(changes).encode()).hexdigest()
            info = replace(original.info, samples=len(samples), corrections_sha256=digest)
            _write(path, encode_episode(path, info, samples))
        else:
            path.unlink(missing_ok=True)
            sync_folders(self.folder)

    def _original(self, key: str) -> Path:
        """Return where the file of an episode is kept once people have corrected it."""
        return self.folder / ORIGINALS / f"{key}{SUFFIX}"

    def _collected(self, key: str) -> Path:
        """Return the file of an episode as it was collected."""
        kept = self._original(key)
        return kept if kept.is_file() else self.path_of(key)

    def _alone(self) -> AbstractContextManager[None]:
        """Return a lock: no other process that writes or corrects holds it.

        Raises DataError if the folder cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _not_written(self.folder, error) from None
        return locked(self.folder / _LOCK)

    # -- reading -----------------------------------------------------------------------------------

    def files(self) -> list[Path]:
        """Return the files of all episodes, sorted by name; empty if the folder is not there."""
        return sorted(path for path in self.folder.glob(f"*{SUFFIX}") if path.name[0] != ".")

    def episodes(
        self, game: str | None = None, actions: Sequence[str] | None = None
    ) -> list[EpisodeInfo]:
        """Read the metadata of all episodes, in the order of `files`.

        Args:
            game: The game that they must be of; None: that of the first.
            actions: The action table that they must have; None: that of the first.

        Returns:
            The episodes; at least one.

        Raises:
            DataError: There is no episode; or one is damaged, of another game, has another action
                table, or began from a state that is held back; names the file.
        """
        infos = [(path, _read_info(path)) for path in self.files()]
        self._check_together(infos, game, actions)
        return [info for _, info in infos]

    def labels(self) -> list[EpisodeLabels]:
        """Read all episodes without their pictures and variables, in the order of `files`.

        Those that have not changed since the last time are not read again. Raises DataError, as
        `episodes`.
        """
        found = [self._read_labels(path) for path in self.files()]
        self._check_together([(labels.path, labels.info) for labels in found])
        return found

    def read(self, info: EpisodeInfo) -> EpisodeSamples:
        """Read the samples of an episode; pictures are decoded later, by `EpisodeSamples.picture`.

        Raises:
            DataError: The file is damaged, or is not this episode any more; names file and row.
        """
        path = self.path_of(info.key)
        samples = read_samples(path)
        if samples.info != info:
            raise DataError(f"{path} was replaced while it was being used; begin again")
        return samples

    def samples(
        self, game: str | None = None, actions: Sequence[str] | None = None
    ) -> Iterator[tuple[EpisodeInfo, Sample]]:
        """Yield every sample with its episode, in order. See `episodes`.

        Raises:
            DataError: As `episodes` and `read`, or a picture cannot be decoded; names file and row.
        """
        for info in self.episodes(game, actions):
            columns = self.read(info)
            for row in range(len(columns)):
                columns.picture(row)
                yield info, columns.sample(row)

    def sample(self, key: str, tick: int) -> Sample:
        """Read one sample as it was collected, even if it was corrected or deleted since.

        Raises DataError if there is none, or its file is damaged or held back.
        """
        return read_sample(*self._find_sample(key, tick))

    def picture(self, key: str, tick: int) -> bytes:
        """Read the picture of one sample, a PNG, without the rest of it. See `sample`."""
        return read_picture(*self._find_sample(key, tick))

    def _find_sample(self, key: str, tick: int) -> tuple[Path, int]:
        """Return the file of a sample as it was collected, and its row. Raises DataError."""
        if not is_plain_name(key) or not self.has(key):
            raise DataError(f"{self.folder} has no episode {key[:100]!r}")
        original = self.read_original(key)
        (rows,) = np.nonzero(original.ticks == tick)
        if not len(rows):
            raise DataError(f"{original.path} has no sample of the tick {tick}")
        return original.path, int(rows[0])

    def names(self) -> list[str]:
        """Return the names of all episodes, sorted, also of those without samples since people have
        deleted them.
        """
        kept = (self.folder / ORIGINALS).glob(f"[!.]*{SUFFIX}")
        names = {path.name.removesuffix(SUFFIX) for path in (*self.files(), *kept)}
        return sorted(names)

    def _check_together(
        self,
        infos: Sequence[tuple[Path, EpisodeInfo]],
        game: str | None = None,
        actions: Sequence[str] | None = None,
    ) -> None:
        """Raise DataError unless files are there, and are episodes of one data set."""
        if not infos:
            raise DataError(
                f"{self.folder} has no episodes; expected *{SUFFIX}, "
                "as a workflow with a SampleWriter collects them"
            )
        for path, info in infos:
            game = game or info.game
            actions = actions or info.actions
            other = difference(info, game, actions, infos[0][1].extras)
            if other:
                raise DataError(f"{path} {other}; take the file out, or use another data set")
            if info.key != path.name.removesuffix(SUFFIX):
                raise DataError(
                    f"{path} is the episode {info.key}; expected that name, "
                    "so that no episode is there twice; rename the file or take it out"
                )

    def _read_labels(self, path: Path) -> EpisodeLabels:
        """Read an episode that is not held back, unless it was read before. Raises DataError."""
        try:
            key = FileKey.of(path.stat())
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
        known, labels = self._known.get(path, (None, None))
        if labels is None or known != key:
            labels = read_labels(path)
            check_start(path, labels.info)
            self._known[path] = key, labels
        return labels

    # -- the card ----------------------------------------------------------------------------------

    def card(self) -> str:
        """Describe the data set in Markdown: counts, hours of play, actions, states.

        The first lines tell Hugging Face where the data is. Raises DataError, as `episodes`.
        """
        return describe_data(self.folder.name, self.labels())

    def write_card(self) -> Path:
        """Write the card as README.md into the folder, and return that file. Raises DataError.

        If people have deleted all samples, there is no card.
        """
        with self._alone():
            return self._write_card()

    def _write_card(self) -> Path:
        path = self.folder / CARD
        if self.files() or not self.names():
            _write(path, self.card().encode())
        else:
            path.unlink(missing_ok=True)
        return path


def _read_info(path: Path) -> EpisodeInfo:
    """Read the metadata of an episode that is not held back. Raises DataError."""
    info = read_info(path)
    check_start(path, info)
    return info


def _labelled(sample: Sample, label: int) -> Sample:
    """Return a sample with this label. What is the label now is not second best, and is certain."""
    if label == sample.action:
        return sample
    second = None if sample.second == label else sample.second
    probabilities = sample.probabilities
    if probabilities is not None:
        probabilities = tuple(float(action == label) for action in range(len(probabilities)))
    return sample._replace(action=label, second=second, probabilities=probabilities)


def _write(path: Path, data: bytes) -> None:
    """Write a file as a whole. Raises DataError."""
    try:
        write_atomic(path, data)
    except OSError as error:
        raise _not_written(path, error) from None


def _not_written(path: Path, error: OSError) -> DataError:
    return DataError(f"{path} cannot be written: {error.strerror or error}")


def _remove_if_old(path: Path) -> None:
    """Remove an unfinished file, unless its process may be at work. Raises DataError."""
    try:
        if time.time() - path.stat().st_mtime > _OLD:
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        pass  # its process has finished it
    except OSError as error:
        raise DataError(f"{path} cannot be removed: {error.strerror or error}") from None
