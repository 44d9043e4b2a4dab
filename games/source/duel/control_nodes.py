"""A node pack for controls: pictures that say nothing about the match, and a counter of actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from minibrains import Action, ColorFrame, Episode, Host, Node, On, widget
from nodes.training.data_set import DataSet


class BlankPicture(Node, category="vision"):
    """Show black in the place of every picture.

    frame:  uint8 [h, w, 3]
    Out:    uint8 [h, w, 3], black
    """

    def tick(self, frame: ColorFrame) -> ColorFrame:
        return np.zeros_like(frame)


class OtherMatch(Node, category="vision"):
    """Show the pictures of another match, which is drawn from a data set, in their order.

    frame:  uint8 [h, w, 3], whose arrival asks for the next picture
    Out:    uint8 [h, w, 3], of the other match; after its end it begins again
    """

    name: str = widget(rebuild=True, doc="the name of the data set")
    pictures: int = widget(
        default=3, min=1, rebuild=True, doc="pictures that are one below the other in its samples"
    )

    def open(self, host: Host) -> None:
        data = DataSet.named(self.name)
        infos = data.episodes()
        self._count = len(infos)
        # each tick wants a picture of the same match, whose file would be checked every time
        self._samples = lru_cache(maxsize=1)(lambda match: data.read(infos[match]))

    def reset(self, episode: Episode) -> None:
        self.match = int(episode.rng().integers(self._count))
        self.shown = 0

    def tick(self, frame: ColorFrame) -> ColorFrame:
        samples = self._samples(self.match)
        row, part = divmod(self.shown, self.pictures)
        self.shown = (self.shown + 1) % (len(samples) * self.pictures)
        return np.split(samples.picture(row), self.pictures)[part]


class ActionCounter(Node, category="actions"):
    """Count how often each action is delivered, and report it with the episode, as `actions`.

    action:  an action
    """

    def reset(self, episode: Episode) -> None:
        self.counts: Counter[int] = Counter()

    def tick(self, action: On[Action]) -> None:
        if action is not None:
            self.counts[action] += 1

    def report(self) -> Mapping[str, Any]:
        return {"actions": dict(self.counts)}
