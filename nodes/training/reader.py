"""SampleReader: the episodes of a data set, played back to the nodes that play games."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    ColorFrame,
    Episode,
    Flag,
    Host,
    MinibrainsError,
    Register,
    Text,
    Variables,
    widget,
)
from minibrains.errors import DataError
from minibrains.host import EpisodeStart
from nodes.actions.sink import ActionTable, TableAction
from nodes.training.data_set import DataSet
from nodes.training.episode_file import NONE, load_arrow

_OUTCOMES: Final = {"won": (True, False), "lost": (False, False), "drawn": (False, True)}
"""`won` and `drawn` of a console's report, by the outcome of an episode."""


class Moment(NamedTuple):
    """The outputs of SampleReader."""

    picture: ColorFrame
    now: Flag
    variables: Variables | Absent
    label: TableAction | Absent
    second: TableAction | Absent
    played: TableAction | Absent
    actionable: Flag | Absent
    over: Flag
    prompt: Text | Absent


class SampleReader(Register, category="training", terminal="over"):
    """Play the episodes of a data set back, one sample after the other, in the place of a console.

    picture:    uint8 [h, w, 3], the next picture; a sample of `pictures` takes as many ticks
    now:        True with the last picture of a sample: the moment that was labelled
    variables, label, second, played, actionable:  of the sample, as SampleWriter has written them,
                delivered with its last picture
    over:       True with the last picture of the episode
    prompt:     of the sample, if it has one

    So a network can be asked about recorded games by the same nodes that play. Its brain is the
    action table of the data set. The episodes of the run are those of the data set, sorted by the
    names of their files. It tells other nodes how each of them began, so that a SampleWriter can
    write them again with other labels; such a run goes on where it was killed, as long as the data
    set is the same.
    """

    brain: ActionTable
    name: str = widget(rebuild=True, doc="the name of the data set")
    game: str = widget(default="", rebuild=True, names="game", doc="of the data set; empty: any")
    pictures: int = widget(
        default=1,
        min=1,
        max=64,
        rebuild=True,
        doc="pictures that are one below the other in those of the data set, as RecentFrames does",
    )

    def check(self) -> None:
        DataSet.named(self.name)

    def open(self, host: Host) -> None:
        load_arrow()  # it takes a while, and may be missing
        self._host = host
        self._data = DataSet.named(self.name)
        self._infos = self._data.episodes(self.game or None, self.brain.names)
        self._samples = self._data.read(self._infos[0])
        height, width, _ = self._parts_of(0, 0)[0].shape
        host.size(h=height, w=width)

    def reset(self, episode: Episode) -> None:
        count = len(self._infos)
        if episode.index >= count:
            raise MinibrainsError(
                f"the data set {self.name} has {count} episodes, and there is no number "
                f"{episode.index + 1}; run with --episodes {count}"
            )
        self.episode = episode.index
        self._read(episode.index)
        info = self._samples.info
        start = EpisodeStart(
            info.game, info.rom_sha1, info.state, info.state_sha256, info.noops, info.written
        )
        self._host.begin(start)
        self.row = self.part = 0

    def emit(self) -> Moment:
        if not self.part:
            self._parts = self._parts_of(self.episode, self.row)
        picture = self._parts[self.part]
        if self.part + 1 < self.pictures:
            return Moment(picture, False, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, False, ABSENT)
        samples, row = self._samples, self.row
        actionable = samples.actionable[row]
        return Moment(
            picture,
            True,
            dict(zip(samples.info.features, samples.features[row].tolist(), strict=True)),
            int(samples.actions[row]),
            _present(samples.second_best[row]),
            _present(samples.played[row]),
            ABSENT if actionable == NONE else bool(actionable),
            row + 1 == len(samples),
            samples.prompts[row] if samples.prompts else ABSENT,
        )

    def latch(self) -> None:
        self.part += 1
        if self.part == self.pictures:
            self.row, self.part = self.row + 1, 0

    def report(self) -> Mapping[str, Any]:
        """Return the results of the game that was recorded."""
        info = self._samples.info
        won, drawn = _OUTCOMES.get(info.outcome, (None, None))
        return {
            "score": info.score,
            "won": won,
            "drawn": drawn,
            "start": {"state": info.state, "noops": info.noops, "write": dict(info.written)},
            "trajectory_sha256": info.trajectory_sha256,
        }

    def state(self) -> dict[str, Any]:
        """Return the place in the data set, without the samples."""
        return {"episode": self.episode, "row": self.row, "part": self.part}

    def load_state(self, state: Mapping[str, Any]) -> None:
        super().load_state(state)
        self._parts = self._parts_of(self.episode, self.row)

    def _read(self, number: int) -> None:
        """Read the samples of an episode, if they are not those that were read last."""
        if self._samples.info != self._infos[number]:
            self._samples = self._data.read(self._infos[number])

    def _parts_of(self, number: int, row: int) -> list[np.ndarray]:
        """Return the pictures of a sample, oldest first. Raises DataError."""
        self._read(number)
        stored = self._samples.picture(row)
        if len(stored) % self.pictures or stored.shape[2] != 3:
            found = "x".join(map(str, stored.shape))
            raise DataError(
                f"{self._samples.path}, row {row}: the picture is {found}; expected "
                f"{self.pictures} pictures in colour, one below the other; set `pictures`"
            )
        return np.split(stored, self.pictures)


def _present(action: int) -> int | Absent:
    """Return an action of EpisodeSamples, or ABSENT if it is missing."""
    return ABSENT if action == NONE else int(action)
