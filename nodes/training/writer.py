"""SampleWriter: what is seen in a game and what a teacher would do about it, into a data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minibrains import (
    Episode,
    Flag,
    Frame,
    Host,
    Logits,
    MinibrainsError,
    Node,
    On,
    Text,
    Variables,
    widget,
)
from nodes.actions.sink import ActionTable, TableAction
from nodes.training.data_set import DataSet
from nodes.training.episode_file import (
    EpisodeInfo,
    Extras,
    Outcome,
    Sample,
    encode_picture,
    episode_key,
    load_arrow,
)


class SampleWriter(Node, category="training", collects_data=True):
    """Write labelled moments into a data set of the user, `data/NAME` in $MINIBRAINS_HOME.

    picture:    uint8 [h, w, 1 | 3], what an agent may see now: the console's screen, or the stack
                of a RecentFrames
    variables:  the game's variables, which become the features of the sample
    label:      the teacher's action; a sample is made on the ticks on which it is delivered
    second:     the teacher's second best, on the same tick
    played:     the action that is taken, on the same tick; nothing between two decisions
    actionable: whether an action has an effect now
    prompt:     what a model would be asked now, for a TrainVLM; with all samples or none
    logits:     float32 [actions]: the teacher's, on the same tick, whose softmax is stored for
                `distillation` of ClonePolicy; with all samples or none
    Its brain is the action table that the sink uses; it has the names of the actions.

    An episode is written when it is over, as a whole. One that is stopped or fails is left out, and
    so is one that this node was added to while it ran. Episodes are added to those that are there:
    one that is there already, of the same workflow with the same seed and number, is not played
    again, so a run that was killed goes on where it stopped. A model is trained on these files, so
    no game begins in a held-back state while this node is in the graph.
    """

    brain: ActionTable
    name: str = widget(rebuild=True, doc="the name of the data set")
    limit: int = widget(
        default=10_000,
        min=1,
        max=1_000_000,
        doc="the largest number of samples of an episode; later moments are left out",
    )

    def check(self) -> None:
        DataSet.named(self.name)

    def open(self, host: Host) -> None:
        load_arrow()  # it takes a while, and may be missing
        self._host = host
        self._data = DataSet.named(self.name)
        self._data.remove_leftovers()
        self._wrote = False

    def is_done(self, episode: Episode) -> bool:
        key = episode_key(self._host.workflow.sha256, episode.seed, episode.index)
        return self._data.has(key)

    def reset(self, episode: Episode) -> None:
        self.episode = episode
        self.samples: list[Sample] = []
        self.whole = self._host.tick == 0
        start = self._host.start
        if start is not None:
            self._data.check_same(start.game, start.rom_sha1, self.brain.names)

    def tick(
        self,
        picture: Frame,
        variables: Variables,
        label: On[TableAction],
        second: On[TableAction] = None,
        played: On[TableAction] = None,
        actionable: Flag | None = None,
        prompt: Text | None = None,
        logits: On[Logits] = None,
    ) -> None:
        if label is None or len(self.samples) >= self.limit:
            return
        if not self.samples:
            self._check_columns(Extras(prompt is not None, logits is not None))
        actions = len(self.brain.names)
        if logits is not None and len(logits) != actions:
            raise MinibrainsError(
                f"the logits are of {len(logits)} actions, and the action table of this node has "
                f"{actions}; expected the logits of a policy with the same action table"
            )
        png = encode_picture(picture)
        tick = self._host.tick
        self.samples.append(
            Sample(
                tick=tick,
                picture=png,
                action=label,
                second=second,
                played=played,
                actionable=actionable,
                features=variables,
                prompt=prompt,
                probabilities=None if logits is None else _softmax(logits),
            )
        )

    def finish(self, results: Mapping[str, Any]) -> None:
        samples, self.samples = self.samples, []
        if results["ended"] not in ("done", "limit"):
            return
        if not self.whole or not samples:
            why = "it had no samples"
            if not self.whole:
                why = "this node was not there from its beginning"
            self._host.say(f"episode {self.episode.index + 1} is not in the data set: {why}")
            return
        self._data.write(self._info(results, samples), samples)
        self._wrote = True
        count = len(self._data.files())
        self._host.progress(count, None, f"episodes in {self.name}")

    def close(self) -> None:
        if getattr(self, "_wrote", False):
            self._data.write_card()

    def state(self) -> dict[str, Any]:
        """Return nothing: snapshots would have the pictures of the whole episode.

        Nothing depends on them but the file, which a replay does not write.
        """
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.whole = False

    def _check_columns(self, extras: Extras) -> None:
        """Raise DataError if other episodes have other columns: better now than after a match."""
        start = self._host.start
        if start is not None:
            self._data.check_same(start.game, start.rom_sha1, self.brain.names, extras)

    def _info(self, results: Mapping[str, Any], samples: list[Sample]) -> EpisodeInfo:
        start = self._host.start
        if start is None:
            raise MinibrainsError(
                "nothing says how the episode began; expected a console in the graph that calls "
                "host.begin, like RetroEmulator"
            )
        workflow = self._host.workflow
        return EpisodeInfo(
            game=start.game,
            rom_sha1=start.rom_sha1,
            actions=tuple(self.brain.names),
            state=start.state,
            state_sha256=start.state_sha256,
            seed=self.episode.seed,
            episode=self.episode.index,
            noops=start.noops,
            written=dict(start.written),
            workflow=workflow.name,
            workflow_sha256=workflow.sha256,
            command=workflow.command,
            outcome=_outcome(results),
            score=results["score"],
            ticks=results["ticks"],
            frame_rate=self._host.frame_rate,
            trajectory_sha256=results.get("trajectory_sha256", ""),
            features=tuple(sorted(samples[0].features)),
            samples=len(samples),
            prompted=samples[0].prompt is not None,
            probabilities=samples[0].probabilities is not None,
        )


def _softmax(logits: np.ndarray) -> tuple[float, ...]:
    """Return the probability of each action, as float32."""
    weights = np.exp(logits.astype(np.float64) - logits.max())
    probabilities = (weights / weights.sum()).astype(np.float32)
    return tuple(probabilities.tolist())


def _outcome(results: Mapping[str, Any]) -> Outcome:
    if results["ended"] == "limit":
        return "unfinished"
    if results["won"] is None:
        return "unknown"
    if results["won"]:
        return "won"
    if results["drawn"]:
        return "drawn"
    return "lost"
