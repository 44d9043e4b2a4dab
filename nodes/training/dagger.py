"""DaggerRounds: a policy plays, is corrected by a teacher, and is trained again, in rounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from minibrains import (
    ABSENT,
    Absent,
    Episode,
    Flag,
    Host,
    MinibrainsError,
    Number,
    Register,
    widget,
)
from minibrains.files import LineFile, home
from nodes.training.checkpoint import check_training_name, renamed, settings_of
from nodes.training.data_set import DataSet
from nodes.training.episode_file import load_arrow

LOG: Final = "rounds.jsonl"
"""The name of the file with the results of the rounds, in the folder of the training."""


class Rounds(NamedTuple):
    """The outputs of DaggerRounds."""

    round: Number | Absent
    won: Number | Absent
    finished: Flag


class DaggerRounds(
    Register,
    category="training",
    collects_data=True,
    terminal="finished",
    version=2,
    renamed_widgets={1: renamed("patience")},
):
    """Improve a policy in rounds: train it, let it play, and let a teacher label what it gets into.

    round:     the number of the round that is over, from 0
    won:       share of the validation matches that its policy wins, 0 to 1
    finished:  True: the last `patience` rounds were no better than one before, or it was the last
               one; this ends the episode

    Each tick is a round. Round 0 trains on the data set `data` as it is. Each other one first lets
    the policy of the round before play `matches` matches in the workflow `correct`, which adds what
    the teacher would do to the data set. Then the workflow `train` trains a policy on all data, and
    the workflow `play` plays with it. The policy of a round is the brain
    `policy_head/NAME-ROUND.safetensors` in $MINIBRAINS_HOME/models; the results of the run name the
    best. The results of the rounds are in `training/NAME/rounds.jsonl` there: a run that was
    stopped or killed goes on after the last complete round, and the workflows within a round go on
    where they were.

    Source: S. Ross, G. Gordon, D. Bagnell, A Reduction of Imitation Learning and Structured
        Prediction to No-Regret Online Learning, AISTATS 2011.
    """

    name: str = widget(rebuild=True, doc="the name of the training and of its policies")
    data: str = widget(rebuild=True, doc="the name of the data set")
    correct: str = widget(
        default="duel_correct",
        rebuild=True,
        doc="a workflow in which a policy `head` plays, and a SampleWriter `writer` writes what "
        "a teacher would do",
    )
    train: str = widget(
        default="duel_clone", rebuild=True, doc="a workflow with a ClonePolicy `clone`"
    )
    play: str = widget(
        default="sf2_pixels",
        rebuild=True,
        doc="a workflow in which a policy `head` plays in a console `console`",
    )
    states: tuple[str, ...] = widget(
        default=("validation/Level6.*",),
        rebuild=True,
        names="state",
        doc="the states of the validation matches",
    )
    rounds: int = widget(default=4, min=1, max=1000, rebuild=True, doc="the most rounds after 0")
    patience: int = widget(
        default=1,
        min=1,
        max=1000,
        rebuild=True,
        doc="number of rounds without a better one after which it ends",
    )
    matches: int = widget(
        default=40, min=1, max=100_000, rebuild=True, doc="that the policy plays to be corrected"
    )
    validation: int = widget(
        default=120, min=1, max=100_000, rebuild=True, doc="the number of validation matches"
    )
    workers: int = widget(default=1, min=1, max=256, doc="the number of processes that play")

    def check(self) -> None:
        DataSet.named(self.data)
        check_training_name(self.name)
        for state in self.states:
            split, _, _ = state.partition("/")
            if split != "validation":
                raise MinibrainsError(
                    f"states has {state!r}; expected validation states, such as "
                    "'validation/Level6.*': the best round is chosen by them"
                )

    def open(self, host: Host) -> None:
        load_arrow()  # a missing package is refused now, not after an hour
        self._host = host
        self._log = home() / "training" / self.name / LOG

    def reset(self, episode: Episode) -> None:
        self.now = Rounds(ABSENT, ABSENT, False)

    def emit(self) -> Rounds:
        return self.now

    def latch(self) -> None:
        results = self._results()
        if not self._is_over(results):
            won = self._round(len(results))
            if self._host.stopping:
                return
            results.append(won)
            self._write(len(results) - 1, won)
        self.now = Rounds(len(results) - 1, results[-1], self._is_over(results))
        best = results.index(max(results))
        self._host.record(best_round=str(best), policy=str(self._policy(best)))

    def _round(self, number: int) -> float:
        """Play a round, and return the share of validation matches that its policy wins.

        The result means nothing if the run is stopped.
        """
        run = self._host.run
        if number > 0:
            run(
                self.correct,
                episodes=self.matches,
                seed=number,
                workers=self.workers,
                widgets={"writer.name": self.data},
                brains={"head": self._policy(number - 1)},
            )
        if not self._host.stopping:
            run(
                self.train,
                workers=self.workers,
                widgets={"clone.name": f"{self.name}-{number}", "clone.data": self.data},
            )
        if self._host.stopping:
            return 0.0
        played = run(
            self.play,
            episodes=self.validation,
            seed=0,
            workers=self.workers,
            widgets={"console.states": list(self.states), "console.write": {"seed": "$seed"}},
            brains={"head": self._policy(number)},
        )
        if self._host.stopping:
            return 0.0
        won = sum(episode["won"] for episode in played["episodes"])
        self._host.say(f"round {number} wins {won} of {self.validation} validation matches")
        return float(won / self.validation)

    def _is_over(self, results: list[float]) -> bool:
        if not results:
            return False
        since_best = len(results) - 1 - results.index(max(results))
        return len(results) > self.rounds or since_best >= self.patience

    def _policy(self, number: int) -> Path:
        return home() / "models" / "policy_head" / f"{self.name}-{number}.safetensors"

    def _results(self) -> list[float]:
        """Return the share that was won in each complete round.

        Raises MinibrainsError if the file was made with other settings, or cannot be read.
        """
        if not self._log.exists():
            return []
        shares: list[float] = []
        for line in self._log.read_text().splitlines():
            try:
                entry = json.loads(line)
                shares.append(float(entry["won"]))
                settings = entry["settings"]
            except (ValueError, KeyError, TypeError):
                raise MinibrainsError(
                    f"{self._log}: a line is not a result of a round; "
                    "choose another name, or remove the folder"
                ) from None
            if settings != self.settings():
                raise MinibrainsError(
                    f"{self._log} is of rounds with other settings; "
                    "choose another name, or remove the folder"
                )
        return shares

    def _write(self, number: int, won: float) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        entry = {"round": number, "won": won, "settings": self.settings()}
        with closing(LineFile(self._log)) as file:
            file.append(json.dumps(entry))

    def settings(self) -> Mapping[str, Any]:
        """Return the widgets on which the result of a round depends, as they are in JSON."""
        return settings_of(self, {"rounds", "patience", "workers"})
