"""Recorded games are played back to the nodes that play, and can be written again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import Episode
from minibrains.errors import DataError, MinibrainsError
from minibrains.testing import ScratchHost, opened
from nodes.actions.sink import ActionTable
from nodes.policies.network import PolicyHead, PolicyHeadBrain
from nodes.training.agreement import Agreement
from nodes.training.data_set import DataSet
from nodes.training.episode_file import decode_picture
from nodes.training.examples import Examples, Job, PreprocessingParts, preprocess
from nodes.training.reader import Moment, SampleReader
from nodes.training.trainer import normalised
from tests.support.command import Command
from tests.support.data_sets import TABLE
from tests.support.fights import COLORS, NAME, PREPROCESSING, SMALL, write_fights


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's brains, with the action table and the colours of these tests."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "models"
    folder.mkdir(parents=True)
    TABLE.save(folder / "table.safetensors", title="Three actions", made_by="a test")
    COLORS.save(folder / "colors.safetensors", title="Two squares", made_by="a test")
    return folder


def _reader(**widgets: Any) -> SampleReader:
    return SampleReader(**{"name": NAME, "pictures": 3, "brain": TABLE, **widgets})


def _played(node: SampleReader, episode: int, tmp_path: Path) -> list[Moment]:
    """Everything that a reader delivers in an episode."""
    moments: list[Moment] = []
    with opened(node, ScratchHost(tmp_path)):
        node.reset(Episode(episode, 0, "reader"))
        while not moments or not moments[-1].over:
            moments.append(node.emit())
            node.latch()
    return moments


def _save_workflow(path: Path, **nodes: dict[str, Any]) -> Path:
    """Write a workflow that reads the data set of `write_fights`, with these nodes besides."""
    reader = {
        "type": "SampleReader@1",
        "set": {"name": NAME, "pictures": 3},
        "brain": "table.safetensors",
    }
    workflow = {"minibrains": 1, "run": {"ticks": 10_000}, "nodes": {"reader": reader, **nodes}}
    path.write_text(json.dumps(workflow))
    return path


def test_samples_are_delivered_in_order_with_their_pictures_one_by_one(tmp_path: Path) -> None:
    data = write_fights(2)
    moments = _played(_reader(), 1, tmp_path)
    samples = data.read(data.episodes()[1])
    assert [moment.now for moment in moments] == [False, False, True] * len(samples)
    for row in range(len(samples)):
        parts = moments[3 * row : 3 * row + 3]
        shown = np.concatenate([part.picture for part in parts])
        assert np.array_equal(shown, decode_picture(samples.pictures[row]))
        last = parts[-1]
        assert last.label == samples.actions[row]
        assert last.actionable == bool(samples.actionable[row])
        values = samples.features[row]
        assert last.variables == dict(zip(samples.info.features, values, strict=True))


def test_a_snapshot_goes_on_at_the_same_picture(tmp_path: Path) -> None:
    write_fights(2)
    first, second = _reader(), _reader()
    with opened(first, ScratchHost(tmp_path)), opened(second, ScratchHost(tmp_path)):
        first.reset(Episode(1, 0, "reader"))
        for _ in range(5):
            first.emit()
            first.latch()
        second.reset(Episode(0, 0, "reader"))
        second.load_state(first.state())
        for _ in range(5):
            expected, found = first.emit(), second.emit()
            assert np.array_equal(found.picture, expected.picture)
            assert found[1:] == expected[1:]
            first.latch()
            second.latch()


def test_recorded_games_are_written_again_and_a_second_run_skips_them(
    tmp_path: Path, minibrains: Command
) -> None:
    data = write_fights(2)
    writer = {
        "type": "SampleWriter@1",
        "set": {"name": "again"},
        "in": {
            "picture": "reader.picture",
            "variables": "reader.variables",
            "label": "reader.label",
            "actionable": "reader.actionable",
        },
        "brain": "table.safetensors",
    }
    path = _save_workflow(tmp_path / "again.json", writer=writer)
    for ended in ("done", "skipped"):
        done = minibrains("run", path, "--episodes", 2, "--json")
        assert done.returncode == 0, done.stderr
        assert [row["ended"] for row in json.loads(done.stdout)["episodes"]] == [ended, ended]
    infos = data.episodes()
    again = DataSet.named("again").episodes()
    for before, after in zip(infos, again, strict=True):
        assert (after.game, after.state_sha256, after.outcome, after.score) == (
            before.game,
            before.state_sha256,
            before.outcome,
            before.score,
        )
        old, new = data.read(before), DataSet.named("again").read(after)
        assert np.array_equal(new.actions, old.actions)
        assert np.array_equal(new.features, old.features)


def test_a_network_agrees_as_often_as_the_trainer_says(
    tmp_path: Path, models: Path, minibrains: Command
) -> None:
    data = write_fights(2)
    column, strip = SMALL["center"]
    left, top, width, height = SMALL["box"]
    columns, rows = SMALL["size"]
    config = {
        "channels": 6,
        "height": rows,
        "width": columns,
        "actions": 3,
        "hidden": 8,
        "convolutions": ((4, 4, 2),),
    }
    PolicyHead.new_brain(config, seed=2).save(
        models / "head.safetensors", title="Untrained", made_by="a test"
    )
    path = _save_workflow(
        tmp_path / "agreement.json",
        ask={"type": "All@1", "in": {"flags": ["reader.now", "reader.actionable"]}},
        fighters={
            "type": "FighterMask@2",
            "set": {"mirror": True},
            "in": {"frame": "reader.picture"},
            "brain": "colors.safetensors",
        },
        center={
            "type": "CenterMasks@1",
            "set": {"column": column, "strip": strip},
            "in": {"masks": "fighters.masks"},
        },
        box={
            "type": "Crop@1",
            "set": {"left": left, "top": top, "width": width, "height": height},
            "in": {"frame": "center.frame"},
        },
        small={
            "type": "Resize@1",
            "set": {"width": columns, "height": rows},
            "in": {"frame": "box.frame"},
        },
        stack={
            "type": "FrameStack@1",
            "in": {"frame": "small.frame"},
            "brain": "frame_stack/masks3.safetensors",
        },
        head={
            "type": "PolicyHead@1",
            "in": {"frames": "stack.frames"},
            "brain": "head.safetensors",
            "when": "ask.flag",
        },
        choose={
            "type": "ActionSampler@1",
            "set": {"mode": "greedy"},
            "in": {"logits": "head.logits"},
        },
        agreement={
            "type": "Agreement@1",
            "in": {"action": "choose.action", "label": "reader.label"},
        },
    )
    done = minibrains("run", path, "--episodes", 2, "--json")
    assert done.returncode == 0, done.stderr

    import torch

    head = PolicyHead(brain=PolicyHeadBrain.load(models / "head.safetensors"))
    head.module = head.make_module()
    for info, row in zip(data.episodes(), json.loads(done.stdout)["episodes"], strict=True):
        found = preprocess(Job(data.folder, info, PreprocessingParts.of(PREPROCESSING), ()))
        shown = Examples(PREPROCESSING, [found]).frames(np.arange(len(found.pictures)))
        with torch.no_grad():
            logits: Any = head.forward(normalised(shown))  # type: ignore[arg-type]
            best = logits.argmax(1).numpy()
        agreed = int((best == found.labels).sum())
        assert (row["agreed"], row["decisions"]) == (agreed, len(found.labels))


def test_only_a_tick_with_both_counts() -> None:
    node = Agreement()
    node.reset(Episode(0, 0))
    assert node.tick(1, 1) == 1.0
    assert not isinstance(node.tick(1, None), float)
    assert not isinstance(node.tick(None, 1), float)
    assert node.tick(2, 1) == 0.5
    assert node.report() == {"decisions": 2, "agreed": 1}


def test_what_does_not_fit_is_refused_in_a_sentence(tmp_path: Path) -> None:
    write_fights(2)
    with pytest.raises(MinibrainsError, match=r"has 2 episodes, .* run with --episodes 2"):
        _played(_reader(), 2, tmp_path)
    with pytest.raises(DataError, match="5 pictures in colour, one below the other"):
        _played(_reader(pictures=5), 0, tmp_path)
    with pytest.raises(DataError, match="has no episodes"):
        _played(_reader(name="nothing"), 0, tmp_path)
    with pytest.raises(DataError, match="is of the game 'Duel-Genesis', expected 'Airstriker'"):
        _played(_reader(game="Airstriker"), 0, tmp_path)
    other = ActionTable(
        names=("wait", "kick", "throw"), buttons=("B",), starts=TABLE.starts, rows=TABLE.rows
    )
    with pytest.raises(DataError, match="action 2 is 'punch', expected 'throw'"):
        _played(_reader(brain=other), 0, tmp_path)
