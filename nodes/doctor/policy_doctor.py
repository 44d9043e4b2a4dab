"""PolicyDoctor: the policy doctor as a node, for workflows that train a policy and look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

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
    Run,
    RunSpec,
    Text,
    widget,
)
from minibrains.run.nested import ShownAt
from nodes.doctor.examination import MOST_EPISODES, Examination, as_json
from nodes.training import curves


class Examined(NamedTuple):
    """The outputs of PolicyDoctor."""

    verdict: Text | Absent
    healthy: Flag | Absent
    picture: ColorFrame | Absent
    finished: Flag


class PolicyDoctor(Register, category="training", terminal="finished"):
    """Play with a policy of another workflow, and say what is wrong with it.

    verdict:   the fault with its figures and what to do, or that there is none
    healthy:   True: no fault was found
    picture:   uint8 [h, w, 3]: the figures of the examination
    finished:  True: it is over; this ends the episode

    It makes the checks of the command `doctor`, and leaves doctor.html and doctor.png in the run
    folder; the results of the run have all findings. It plays within one tick, so the game of the
    other workflow cannot be that of its own.
    """

    workflow: str = widget(rebuild=True, doc="in which the policy plays: its name, or its file")
    nodes: tuple[str, ...] = widget(
        default=("head",), rebuild=True, doc="the ids of the nodes that the policy consists of"
    )
    brains: Mapping[str, str] = widget(
        default=MappingProxyType({}),
        rebuild=True,
        doc="brains that replace those of that workflow, by the id of the node",
    )
    data: str = widget(default="", rebuild=True, doc="the data set to compare it with; empty: none")
    variable: str = widget(
        default="", rebuild=True, doc="a variable of the game to count the values of; empty: none"
    )
    episodes: int = widget(
        default=0,
        min=0,
        rebuild=True,
        doc="number of episodes to play; 0: at most 50, until it has made 500 decisions",
    )
    ticks: int = widget(
        default=0, min=0, rebuild=True, doc="that end an episode; 0: as that workflow says"
    )
    seed: int = widget(default=0, min=0, rebuild=True, doc="of all randomness")

    @classmethod
    def run_files(cls, node: str, widgets: Mapping[str, Any]) -> Sequence[str]:
        return ("doctor.html", "doctor.png")

    def check(self) -> None:
        if not self.nodes:
            raise MinibrainsError("nodes is empty; expected the ids of the policy's nodes")

    def open(self, host: Host) -> None:
        curves.load_pyplot()  # a missing package is refused now, not after the game
        self._host = host

    def reset(self, episode: Episode) -> None:
        self.now = Examined(ABSENT, ABSENT, ABSENT, False)
        self.results: dict[str, Any] = {}

    def emit(self) -> Examined:
        return self.now

    def latch(self) -> None:
        if self.now.finished:
            return
        spec = RunSpec(
            self.workflow,
            episodes=self.episodes or MOST_EPISODES,
            ticks=self.ticks or None,
            seed=self.seed,
            brains=self.brains,
            packs=self._host.packs,
        )
        registry, _ = spec.load_node_types()
        examination = Examination(
            spec, self.nodes, registry, data=self.data, variable=self.variable or None
        )
        run = Run(spec, [ShownAt(self._host), examination.watch], registry=registry)
        with run:
            examination.play(run, all_episodes=bool(self.episodes))
        if self._host.stopping:
            return
        diagnosis = examination.diagnose()
        _, picture = examination.write(self._host.dir)
        self.results = as_json(diagnosis)
        self._host.say(diagnosis.verdict())
        self.now = Examined(diagnosis.verdict(), not diagnosis.sick, _read(picture), True)

    def report(self) -> Mapping[str, Any]:
        """Return the findings and the verdict."""
        if not self.results:
            return {}
        return {"doctor": self.results}


def _read(png: str) -> np.ndarray:
    """Return a picture in colour: uint8 [h, w, 3]."""
    from PIL import Image

    with Image.open(png) as image:
        return np.array(image.convert("RGB"))
