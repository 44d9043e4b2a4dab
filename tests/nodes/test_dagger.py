"""DAgger in rounds: what is run in which order, when it ends, and how it goes on after a stop.

What the workflows of a round do is tested with them; `Host.run` with tests/run/test_nested.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from minibrains import Episode, MinibrainsError
from minibrains.testing import ScratchHost, opened
from nodes.training.dagger import DaggerRounds


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@dataclass
class PlayingHost(ScratchHost):
    """A host whose runs are not played: it remembers them, and says how many matches were won."""

    won: list[int] = field(default_factory=list)
    """Of the validation matches, round by round."""
    runs: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    stops_at: str = ""
    """The workflow during which the run is stopped."""

    def run(self, workflow: str, **how: Any) -> dict[str, Any]:
        self.runs.append((workflow, how))
        self.stopping = self.stopping or workflow == self.stops_at
        episodes = []
        if workflow == "sf2_pixels" and not self.stopping:
            won = self.won.pop(0)
            episodes = [{"won": index < won} for index in range(how["episodes"])]
        return {"state": "stopped" if self.stopping else "done", "episodes": episodes}


def rounds(**settings: Any) -> DaggerRounds:
    return DaggerRounds(name="test", data="fights", validation=10, **settings)


def play(node: DaggerRounds, host: PlayingHost) -> list[Any]:
    """Play to the end of the episode; return the number and the share of each round."""
    shown: list[Any] = []
    with opened(node, host):
        node.reset(Episode(0, 0, "node"))
        while not node.emit().finished and not host.stopping:
            node.latch()
            now = node.emit()
            shown.append((now.round, now.won))
    return shown


def order(host: PlayingHost) -> list[str]:
    return [workflow for workflow, _ in host.runs]


def test_a_round_corrects_trains_and_plays(tmp_path: Path, home: Path) -> None:
    host = PlayingHost(tmp_path, won=[3, 5, 5])
    assert play(rounds(matches=7, workers=2), host) == [(0, 0.3), (1, 0.5), (2, 0.5)]
    again = ["duel_correct", "duel_clone", "sf2_pixels"]
    assert order(host) == ["duel_clone", "sf2_pixels", *again, *again]

    policies = home / "models/policy_head"
    train, check, correct = host.runs[:3]
    assert train[1]["widgets"] == {"clone.name": "test-0", "clone.data": "fights"}
    assert check[1]["brains"] == {"head": policies / "test-0.safetensors"}
    assert check[1]["widgets"]["console.states"] == ["validation/Level6.*"]
    assert correct[1]["brains"] == {"head": policies / "test-0.safetensors"}
    assert (correct[1]["episodes"], correct[1]["seed"]) == (7, 1)
    assert {how["workers"] for _, how in host.runs} == {2}
    assert host.facts == {"best_round": "1", "policy": str(policies / "test-1.safetensors")}


@pytest.mark.parametrize(
    ("settings", "won", "played"),
    [
        ({}, [5, 4], 2),
        ({"patience": 2}, [5, 4, 5], 3),
        ({"patience": 2}, [5, 4, 6, 1, 1], 5),
        ({"rounds": 1}, [1, 2], 2),
    ],
)
def test_it_ends_when_rounds_bring_nothing_more(
    tmp_path: Path, settings: dict[str, Any], won: list[int], played: int
) -> None:
    assert len(play(rounds(**settings), PlayingHost(tmp_path, won=won))) == played


@pytest.mark.parametrize("stops_at", ["duel_correct", "duel_clone", "sf2_pixels"])
def test_a_round_that_was_stopped_is_done_again(tmp_path: Path, stops_at: str) -> None:
    play(rounds(rounds=1), host := PlayingHost(tmp_path, won=[3], stops_at="duel_correct"))
    assert order(host) == ["duel_clone", "sf2_pixels", "duel_correct"]

    play(rounds(rounds=1), PlayingHost(tmp_path, stops_at=stops_at))
    host = PlayingHost(tmp_path, won=[4])
    assert play(rounds(rounds=1), host) == [(1, 0.4)]
    assert order(host) == ["duel_correct", "duel_clone", "sf2_pixels"]


def test_a_finished_training_is_not_done_again(tmp_path: Path) -> None:
    play(rounds(), PlayingHost(tmp_path, won=[3, 3]))
    host = PlayingHost(tmp_path)
    assert play(rounds(), host) == [(1, 0.3)]
    assert host.runs == []


def test_rounds_with_other_settings_are_not_mixed(tmp_path: Path) -> None:
    play(rounds(), PlayingHost(tmp_path, won=[3, 3]))
    with pytest.raises(MinibrainsError, match="of rounds with other settings; choose another name"):
        play(rounds(matches=3), PlayingHost(tmp_path))


def test_a_damaged_file_of_rounds_is_refused(tmp_path: Path, home: Path) -> None:
    (home / "training/test").mkdir(parents=True)
    (home / "training/test/rounds.jsonl").write_text(json.dumps({"round": 0}) + "\n")
    with pytest.raises(MinibrainsError, match="a line is not a result of a round"):
        play(rounds(), PlayingHost(tmp_path))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"states": ("training/Level4.*",)}, "expected validation states"),
        ({"states": ("held_back/Level4.*",)}, "expected validation states"),
        ({"name": "a/b"}, "cannot be the name of a training"),
    ],
)
def test_what_it_cannot_do_is_said_at_once(settings: dict[str, Any], words: str) -> None:
    node = DaggerRounds(**{"name": "test", "data": "fights", **settings})
    with pytest.raises(MinibrainsError, match=words):
        node.check()
