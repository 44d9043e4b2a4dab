"""The controls of the network that plays Duel: it is shown nothing, another match, or not asked."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.source.duel import model_controls
from games.source.duel.control_nodes import ActionCounter, BlankPicture, OtherMatch
from games.source.duel.controls import (
    PACK,
    histogram,
    with_chance,
    with_pictures,
    write_data,
)
from minibrains import Episode, Run, RunSpec
from minibrains.files import bundled_dir
from minibrains.testing import ScratchHost, opened
from nodes.policies.network import PolicyHead, PolicyHeadBrain
from nodes.training.data_set import DataSet
from nodes.training.episode_file import decode_picture
from tests.support.fights import NAME, match, screen, write_fights

BRAIN = bundled_dir("models") / "policy_head/duel.safetensors"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "control_nodes.BlankPicture@1"},
        {"type": "control_nodes.OtherMatch@1", "set": {"name": NAME}},
    ],
)
def test_the_eyes_of_the_player_see_only_what_they_are_shown(entry: dict[str, Any]) -> None:
    player = json.loads((bundled_dir("workflows") / "sf2_pixels.json").read_text())
    changed = {**player, "nodes": with_pictures(player["nodes"], entry)}
    write_fights(1)
    graph = Run(RunSpec(changed, packs=(str(PACK),))).graph
    looking: list[str] = []
    for node in graph.workflow.nodes.values():
        if "console.frame" in node.raw.get("in", {}).values():
            looking.append(node.id)
    assert looking == ["instead"]


def test_the_model_sees_and_is_told_only_what_the_control_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_fights(1)
    folder = tmp_path / "controls"
    monkeypatch.setattr("sys.argv", ["model_controls", str(folder), "--data", NAME])
    assert model_controls.main() == 0

    inputs = {
        "blank": ("instead.frame", "question.value"),
        "other": ("instead.frame", "question.value"),
        "both": ("view.frame", "words.prompt"),
        "words": ("instead.frame", "words.prompt"),
    }
    for control, (image, prompt) in inputs.items():
        run = Run(RunSpec(str(folder / f"sf2_{control}.json"), packs=(str(PACK),)))
        told = run.graph.workflow.nodes["strategist"].raw["in"]
        assert (told["image"], told["prompt"]) == (image, prompt)


@pytest.mark.slow
def test_the_words_of_a_match_are_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_fights(1)
    folder = tmp_path / "controls"
    monkeypatch.setattr("sys.argv", ["model_controls", str(folder), "--data", NAME])
    assert model_controls.main() == 0
    collector = str(folder / "sf2_distil_words.json")
    with Run(RunSpec(collector, episodes=1, ticks=300, packs=(str(PACK),))) as run:
        for _ in run:
            pass
    data = DataSet.named("sf2-words")
    samples = data.read(data.episodes()[0])
    assert samples.prompts[0].startswith("You are ")
    assert samples.prompts[0].endswith("Which action?")
    assert not samples.picture(0).any()


def test_chance_takes_each_action_as_often_as_the_network(tmp_path: Path) -> None:
    counts = Counter({0: 10, 3: 30, 43: 60})
    brain = histogram(PolicyHeadBrain.load(BRAIN), counts)
    head: Any = PolicyHead(brain=brain)
    sizes = (brain.channels, brain.height, brain.width)
    shown = np.random.default_rng(0).random(sizes, np.float32)
    with opened(head, ScratchHost(tmp_path)):
        logits = head.tick(shown)
    shares = np.exp(logits) / np.exp(logits).sum()
    assert shares[[0, 3, 43]] == pytest.approx([0.1, 0.3, 0.6], abs=1e-3)
    assert shares.sum() == pytest.approx(1)


def test_chance_is_drawn_and_not_the_likeliest() -> None:
    nodes: dict[str, Any] = {"head": {"brain": "a"}, "choose": {"set": {"mode": "greedy"}}}
    changed = with_chance(nodes, "histogram.safetensors")
    assert changed["choose"]["set"]["mode"] == "sample"
    assert changed["head"]["brain"] == "histogram.safetensors"


def test_pictures_are_exchanged_and_labels_stay() -> None:
    source = write_fights(3)
    blank, other = DataSet.named("blank"), DataSet.named("other")
    write_data(source, blank, other)
    infos = source.episodes()
    assert blank.episodes() == other.episodes() == infos
    for number, info in enumerate(infos):
        own, black, exchanged = source.read(info), blank.read(info), other.read(info)
        assert own.actions.tolist() == black.actions.tolist() == exchanged.actions.tolist()
        assert not decode_picture(black.pictures[7]).any()
        assert exchanged.pictures == source.read(infos[number - 1]).pictures


def test_another_match_is_shown_in_its_order_and_again_from_its_beginning(
    tmp_path: Path,
) -> None:
    write_fights(1)
    node = OtherMatch(name=NAME)
    shown: list[np.ndarray] = []
    with opened(node, ScratchHost(tmp_path)):
        node.reset(Episode(0, 0, "node"))
        for _ in range(121):
            shown.append(node.tick(screen(0, 30)))
    expected = decode_picture(match(0)[1].picture)
    assert np.array_equal(np.concatenate(shown[3:6]), expected)
    assert np.array_equal(shown[120], shown[0])


def test_blank_pictures_are_black_and_actions_are_counted() -> None:
    assert not BlankPicture().tick(screen(0, 30)).any()
    counter = ActionCounter()
    counter.reset(Episode(0, 0, "node"))
    for action in (3, None, 3, 5):
        counter.tick(action)
    assert counter.report() == {"actions": {3: 2, 5: 1}}
