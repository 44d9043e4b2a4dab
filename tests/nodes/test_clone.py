"""Behaviour cloning: it learns, goes on after a kill, and refuses what must not be learned from."""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import torch
from pyarrow import parquet

from minibrains import Episode
from minibrains.brain_file import read_header
from minibrains.errors import DataError, MinibrainsError
from minibrains.games.splits import HELD_BACK, Splits
from minibrains.testing import ScratchHost, opened, play
from nodes.actions.sink import ActionTable
from nodes.policies.network import PolicyHead, PolicyHeadBrain
from nodes.training.checkpoint import RESUME, pack, unpack
from nodes.training.clone import ClonePolicy
from nodes.training.data_set import DataSet
from nodes.training.episode_file import Sample, decode_picture
from nodes.training.examples import (
    Examples,
    Job,
    PreprocessingParts,
    hash_data,
    preprocess,
    split,
)
from nodes.training.replay import PrioritizedReplay
from nodes.vision.fighters import CenterMasks, FighterMask
from nodes.vision.frames import Crop, FrameStack, FrameStackBrain, Resize
from tests.support.command import Command, end_a_run
from tests.support.data_sets import ACTIONS, TABLE
from tests.support.fights import (
    COLORS,
    NAME,
    PREPROCESSING,
    SMALL,
    clone,
    info,
    match,
    write_fights,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of commands, for this process as well."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def _train(node: ClonePolicy, tmp_path: Path, ticks: int = 1000) -> ScratchHost:
    """Let a node train until it is finished, or for some ticks."""
    folder = tmp_path / "run"
    folder.mkdir(exist_ok=True)
    with opened(node, ScratchHost(folder)) as host:
        node.reset(Episode(0, 0, "node"))
        for _ in range(ticks):
            if node.emit().finished:
                break
            node.latch()
    return host


def _curve(home: Path, name: str = "small", table: str = "training") -> dict[str, np.ndarray]:
    path = home / "training" / name / f"{table}.csv"
    with path.open() as file:
        head, *rows = csv.reader(file)
    columns = np.array(rows, float).T
    return dict(zip(head, columns, strict=True))


def _policy(home: Path, name: str = "small") -> PolicyHeadBrain:
    path = home / "models/policy_head" / f"{name}.safetensors"
    return PolicyHeadBrain.load(path)


def _played(data: DataSet, home: Path, folder: Path) -> tuple[np.ndarray, Examples]:
    """Return the trained policy's logits for a whole data set [n, actions], and its samples."""
    parts = PreprocessingParts.of(PREPROCESSING)
    jobs = [Job(data.folder, episode, parts, ()) for episode in data.episodes()]
    examples = Examples(PREPROCESSING, [preprocess(job) for job in jobs])
    frames = examples.frames(np.arange(len(examples))) / np.float32(255)
    head: Any = PolicyHead(brain=_policy(home))
    with opened(head, ScratchHost(folder)):
        return np.stack([head.tick(frame) for frame in frames]), examples


# -- learning


def test_it_learns_to_act_as_the_teacher(tmp_path: Path, home: Path) -> None:
    write_fights()
    host = _train(clone(), tmp_path)

    loss = _curve(home)["loss"]
    first, last = loss[:5].mean(), loss[-5:].mean()
    assert last < 0.6 * first

    validation = _curve(home, table="validation")
    header = read_header(home / "models/policy_head/small.safetensors")
    metrics = json.loads(header.metadata["metrics"])
    assert validation["agreement"].max() > metrics["validation_majority"] + 0.2
    assert metrics["validation_loss"] == pytest.approx(validation["loss"].min(), abs=1e-5)

    done, total = host.shown[-1][:2]
    assert done == total, "the progress bar is full"

    folder = home / "training/small"
    picture = folder / "training_curves.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert list((folder / "events").iterdir())
    assert not (folder / "looked").exists()


def test_it_computes_in_bf16(tmp_path: Path, home: Path) -> None:
    write_fights()
    _train(clone(), tmp_path)
    _train(clone(name="short", precision="bf16"), tmp_path)

    exact = _curve(home)["loss"]
    short = _curve(home, "short")["loss"]
    assert 0 < abs(exact[0] - short[0]) < 0.02
    assert short[-5:].mean() < 0.6 * short[:5].mean()


@pytest.mark.parametrize(("has_it", "said"), [(True, 0), (False, 1)])
def test_it_says_so_if_bf16_is_slow_here(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, has_it: bool, said: int
) -> None:
    found = {"architecture": "x86_64", "avx512_bf16": has_it, "amx_bf16": False}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found)
    write_fights(4)
    host = _train(clone(precision="bf16"), tmp_path, ticks=1)
    assert len([text for text in host.messages if "no instructions for bf16" in text]) == said


def test_two_threads_learn_the_same_but_for_the_last_bits(tmp_path: Path, home: Path) -> None:
    write_fights(4)
    for threads in (1, 2):
        _train(clone(name=f"threads-{threads}", threads=threads, epochs=2), tmp_path)
        assert torch.get_num_threads() == threads
    assert _curve(home, "threads-2")["loss"] == pytest.approx(
        _curve(home, "threads-1")["loss"], rel=0.01
    )


def test_prioritised_samples_are_drawn_as_often_as_their_priorities_say() -> None:
    rng = np.random.default_rng(7)
    losses = rng.exponential(size=100_000)
    replay = PrioritizedReplay(len(losses), 0.6)
    replay.update(np.arange(len(losses)), losses)
    rows, weights = replay.draw(rng, 1_000_000, done=1.0)

    # χ² over groups of samples, each of which is drawn some thousand times
    weighted = replay.priorities**0.6
    shares = weighted / weighted.sum()
    groups = rng.permutation(np.arange(len(losses)) % 200)
    found = np.bincount(groups[rows], minlength=200)
    expected = np.bincount(groups, shares, minlength=200) * len(rows)
    statistic = float(((found - expected) ** 2 / expected).sum())
    assert statistic < 268.0  # 199 degrees of freedom: 1 in 1000 is more

    # in full, the correction makes the mean that of all samples
    corrected = np.average(losses[rows], weights=weights)
    assert corrected == pytest.approx(losses.mean(), rel=0.02)


def test_it_learns_from_prioritised_samples_and_goes_on(tmp_path: Path, home: Path) -> None:
    write_fights()
    _train(clone(priority_alpha=0.6), tmp_path)
    _train(clone(name="parts", priority_alpha=0.6), tmp_path, ticks=6)
    _train(clone(name="parts", priority_alpha=0.6), tmp_path)

    whole = _curve(home, table="validation")["loss"]
    parts = _curve(home, "parts", table="validation")["loss"]
    assert whole[-1] < 0.8 * whole[0]
    assert whole.tolist() == parts.tolist()


def test_its_second_choice_is_the_teacher_s(tmp_path: Path, home: Path) -> None:
    """Where the teacher would kick, its second best is to punch, and the other way round."""
    second_best = (0, 2, 1)
    data = write_fights()
    for number in range(8):
        samples: list[Sample] = []
        for sample in match(number):
            samples.append(sample._replace(second=second_best[sample.action]))
        data.write(info(number), samples)
    _train(clone(second_weight=0.2, epochs=16), tmp_path)

    logits, examples = _played(data, home, tmp_path)
    best, next_best = logits.argsort(axis=1).T[::-1][:2]
    known = (best == examples.labels) & (examples.labels > 0)
    assert np.mean(next_best[known] == examples.second_best[known]) > 0.9


@pytest.mark.parametrize(
    ("widgets", "learned"),
    [
        ({"distillation": 1.0}, 0.7),
        ({"distillation": 1.0, "class_weight": {"wait": 0.0, "kick": 0.0, "punch": 0.0}}, 0.7),
        ({"distillation": 1.0, "priority_alpha": 0.6}, 0.7),
        ({"distillation": 0.5, "second_weight": 0.0, "label_smoothing": 0.0}, (0.7 + 1) / 2),
    ],
)
def test_it_learns_how_probable_each_action_was_to_the_teacher(
    tmp_path: Path, home: Path, widgets: dict[str, Any], learned: float
) -> None:
    """The teacher chooses an action with 0.7, and the next one of the table with 0.3."""
    data = DataSet.named(NAME)
    for number in range(8):
        samples: list[Sample] = []
        for sample in match(number):
            probabilities = [0.0, 0.0, 0.0]
            probabilities[sample.action] = 0.7
            probabilities[(sample.action + 1) % 3] = 0.3
            samples.append(sample._replace(probabilities=tuple(probabilities)))
        data.write(info(number, probabilities=True), samples)
    _train(clone(**widgets, epochs=16), tmp_path)

    logits, examples = _played(data, home, tmp_path)
    weights = np.exp(logits)
    probabilities = weights / weights.sum(axis=1, keepdims=True)
    rows = np.arange(len(examples))
    known = logits.argmax(axis=1) == examples.labels
    assert known.mean() > 0.8
    assert probabilities[rows, examples.labels][known].mean() == pytest.approx(learned, abs=0.07)


def test_the_brain_says_what_it_comes_from(tmp_path: Path, home: Path) -> None:
    write_fights()
    host = _train(clone(license="MIT", title="Squares"), tmp_path)

    metadata = read_header(home / "models/policy_head/small.safetensors").metadata
    workflow = host.workflow
    assert metadata["title"] == "Squares"
    assert metadata["license"] == "MIT"
    command = workflow.command or f"python -m server run {workflow.name}"
    assert metadata["made_by"] == command
    assert metadata["workflow_sha256"] == workflow.sha256

    fights = DataSet.named(NAME)
    data = json.loads(metadata["data"])
    assert data["name"] == NAME
    assert data["episodes"] == 8
    assert data["sha256"] == hash_data(fights, fights.episodes())
    assert data["samples"] + data["validation_samples"] == 8 * 35, "only actionable ones"
    states = json.loads(metadata["states"])
    assert states["count"] == 1

    brain = _policy(home)
    assert brain.action_names == ACTIONS
    for array in brain.tensors.values():
        assert array.dtype == np.float16


def test_training_and_play_see_the_same(tmp_path: Path) -> None:
    data = write_fights(2)
    episode = data.episodes()[0]
    job = Job(data.folder, episode, PreprocessingParts.of(PREPROCESSING), ())
    learned = preprocess(job)
    examples = Examples(job.preprocessing.whole(), [learned])
    rows = np.arange(len(learned.pictures))
    shown = examples.frames(rows).astype(np.float32) / np.float32(255)

    mask = FighterMask(brain=COLORS, mirror=True)
    center = CenterMasks(column=12, strip=16)
    crop = Crop(left=0, top=4, width=80, height=24)
    resize = Resize(width=40, height=12)
    brain = FrameStackBrain(
        taps=np.array([2, 1, 0], np.int32),
        mean=np.zeros(2, np.float32),
        std=np.ones(2, np.float32),
    )
    stack = FrameStack(brain=brain)

    samples = data.read(episode)
    played: list[np.ndarray] = []
    with opened(mask), opened(stack):
        mask.reset(Episode(0, 0))
        center.reset(Episode(0, 0))
        stack.reset(Episode(0, 0))
        for row in range(len(samples)):
            pictures = decode_picture(samples.pictures[row])
            for picture in np.split(pictures, 3):
                found = mask.tick(picture)
                centered = center.tick(found.masks)
                cropped = crop.tick(centered)
                small = resize.tick(cropped)
                frames = stack.tick(small)
            if samples.actionable[row]:
                played.append(frames)
    assert np.array_equal(np.stack(played), shown)


def test_masks_need_not_be_centred(tmp_path: Path, home: Path) -> None:
    write_fights(4)
    _train(clone(center=(), box=(0, 4, 64, 24), size=(32, 12), epochs=1), tmp_path)
    brain = _policy(home)
    assert brain.channels == 6
    assert brain.height == 12
    assert brain.width == 32


def test_every_checkpoint_plays(tmp_path: Path, home: Path) -> None:
    write_fights(4)
    _train(clone(epochs=4), tmp_path)

    folder = home / "training/small"
    checkpoints = sorted(folder.glob("step-*.safetensors"))
    assert len(checkpoints) > 1
    frames = np.zeros((6, 12, 40), np.float32)
    for path in checkpoints:
        brain = PolicyHeadBrain.load(path)
        node = PolicyHead(brain=brain)
        with opened(node):
            (logits,) = play(node, {"frames": frames})
        assert logits.shape == (3,)
        assert np.isfinite(logits).all()


def test_it_stops_early_when_nothing_gets_better(tmp_path: Path, home: Path) -> None:
    write_fights(4, random=True)
    _train(clone(epochs=100, patience=3), tmp_path)

    losses = _curve(home, table="validation")["loss"]
    best = int(losses.argmin())
    last = len(losses) - 1
    assert len(_curve(home)["loss"]) < 600
    assert last - best == 3

    header = read_header(home / "models/policy_head/small.safetensors")
    metrics = json.loads(header.metadata["metrics"])
    assert metrics["best_step"] == 10 * (best + 1)


def test_matches_are_split_and_not_samples() -> None:
    infos = [info(number) for number in range(10)]
    twice = replace(infos[3], episode=99)

    training, validation = split([*infos, twice], 0.3, seed=1)
    keys = {one.key for one in validation}
    assert len(training) + len(validation) == 11
    assert len(keys) == len(validation)
    assert (infos[3] in validation) == (twice in validation)

    assert split(infos, 0.3, seed=1) == split(infos, 0.3, seed=1)
    _, least = split(infos, 0.0, seed=1)
    assert len(least) == 1
    with pytest.raises(DataError, match="a single match"):
        split(infos[:1], 0.3, seed=1)


def test_it_learns_from_fewer_matches_and_validates_with_the_same(
    tmp_path: Path, home: Path
) -> None:
    episodes = write_fights().episodes()
    training, validation = split(episodes, 0.25, seed=0)
    assert len(training) > 2

    _train(clone(name="two", matches=2, epochs=1, validation=0.25), tmp_path)
    _train(clone(name="all", matches=0, epochs=1, validation=0.25), tmp_path)

    for name, matches in (("two", 2), ("all", len(training))):
        header = read_header(home / "models/policy_head" / f"{name}.safetensors")
        data = json.loads(header.metadata["data"])
        assert data["samples"] == matches * 35
        assert data["validation_samples"] == len(validation) * 35


def test_more_matches_leave_the_others_on_their_sides() -> None:
    infos = [info(number) for number in range(200)]
    few = split(infos[:100], 0.1, seed=1)
    many = split(infos, 0.1, seed=1)

    for before, after in zip(few, many, strict=True):
        keys_before = {one.key for one in before}
        keys_after = {one.key for one in after}
        assert keys_before < keys_after

    _, validation = many
    assert 10 <= len(validation) <= 30
    assert split(infos, 0.1, seed=2) != many


# -- parts of the network


def test_frozen_parts_keep_their_bytes(tmp_path: Path, home: Path) -> None:
    write_fights(4)
    _train(clone(epochs=2), tmp_path)
    node = clone(
        name="next",
        epochs=2,
        freeze=("convolution0",),
        start="models/policy_head/small.safetensors",
    )
    _train(node, tmp_path)

    before = _policy(home)
    after = _policy(home, "next")
    for name, array in before.tensors.items():
        same = array.tobytes() == after.tensors[name].tobytes()
        assert same == name.startswith("convolution0"), name

    header = read_header(home / "models/policy_head/next.safetensors")
    assert before.ref is not None
    assert before.ref.sha256 in header.metadata["parents"]


def test_a_factor_slows_parts_down(tmp_path: Path, home: Path) -> None:
    write_fights(4)
    node = clone(
        epochs=2,
        lr_multipliers={"hidden.": 0.0},
        weights="f32",
        layers=2,
        weight_decay=0.0,
    )
    _train(node, tmp_path)

    trained = _policy(home)
    config = dict(trained.config)
    before = PolicyHead.new_brain(config, seed=0).tensors
    after = trained.tensors
    assert np.array_equal(before["hidden.weight"], after["hidden.weight"])
    for name in ("hidden2.weight", "output.weight"):
        assert not np.array_equal(before[name], after[name])


def test_the_network_is_as_the_settings_say_or_as_its_start(tmp_path: Path, home: Path) -> None:
    write_fights(4)
    _train(clone(epochs=2, layers=2, profiles=True), tmp_path)
    _train(clone(name="next", epochs=2, start="models/policy_head/small.safetensors"), tmp_path)
    for name in ("small", "next"):
        policy = _policy(home, name)
        assert policy.layers == 2
        assert policy.profiles

    _train(clone(name="plain", epochs=2), tmp_path)
    header = read_header(home / "models/policy_head/plain.safetensors")
    config = json.loads(header.metadata["config"])
    assert config.keys().isdisjoint({"layers", "profiles"}), "brains were so before there were any"


@pytest.mark.parametrize(
    ("widgets", "message"),
    [
        ({"freeze": ("covolution",)}, "no parameter begins with 'covolution'"),
        ({"freeze": ("",)}, "which are all parameters"),
        ({"lr_multipliers": {"head": 0.1}}, "no parameter begins with 'head'"),
        ({"class_weight": {"jump": 2.0}}, "'jump', which is not an action"),
        ({"distillation": 0.5}, "does not have the probabilities that distillation learns from"),
        ({"auxiliary": ("hp",)}, "no variable 'hp'"),
        ({"box": (0, 0, 64, 40)}, "row 0: the picture has 96x64 pixels"),
        ({"pictures": 5}, "expected 5 pictures"),
        ({"start": "models/none.safetensors"}, "there is no file 'models/none.safetensors'"),
        ({"data": "nothing"}, "has no episodes"),
        ({"convolutions": ((4, 99, 1),)}, "convolution 0 leaves nothing of a picture"),
        ({"center": (12,)}, "expected column and strip in pixels, or nothing"),
        ({"game": "Airstriker-Genesis-v0"}, "is of the game 'Duel-Genesis', expected 'Airstriker"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, widgets: dict[str, Any], message: str) -> None:
    write_fights(2)
    with pytest.raises(MinibrainsError, match=message) as refused:
        _train(clone(**widgets), tmp_path)
    assert "\n" not in str(refused.value)


# -- going on


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(
    tmp_path: Path, home: Path, precision: str
) -> None:
    write_fights(4)
    _train(clone(name="whole", precision=precision), tmp_path)

    # the looking takes one tick, and each further one five steps
    for ticks in (3, 4):
        _train(clone(precision=precision), tmp_path, ticks=ticks)
    host = _train(clone(precision=precision), tmp_path)
    # on some processors the first message is that bf16 is slow there
    assert any("goes on after step 25" in message for message in host.messages)

    for table in ("training", "validation"):
        whole = _curve(home, "whole", table)
        parts = _curve(home, "small", table)
        for name, values in whole.items():
            assert parts[name] == pytest.approx(values, abs=1e-5)

    whole_weights = _policy(home, "whole").tensors
    parts_weights = _policy(home).tensors
    for name, array in whole_weights.items():
        assert np.array_equal(array, parts_weights[name])


def _workflow(tmp_path: Path, name: str) -> Path:
    COLORS.save(tmp_path / "colors.safetensors", title="Squares", made_by="a test")
    workflow = {
        "minibrains": 1,
        "run": {"ticks": 10_000},
        "nodes": {
            "clone": {
                "type": "ClonePolicy@4",
                "set": {**SMALL, "name": name, "epochs": 30, "steps": 1},
                "brain": "colors.safetensors",
            },
            "log": {
                "type": "Log@1",
                "in": {"value": "clone.validation_loss"},
            },
        },
    }
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(workflow))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_training_that_was_killed_goes_on(
    tmp_path: Path, home: Path, minibrains: Command, number: signal.Signals
) -> None:
    write_fights(4)
    killed = _workflow(tmp_path, "killed")
    checkpoint = home / "training/killed/training.safetensors"

    end_a_run(killed, tmp_path, number, checkpoint.exists)

    with safetensors.safe_open(checkpoint, "np") as file:
        step = int(file.metadata()["step"])
    assert not (home / "models").exists(), "it was not finished"
    if number == signal.SIGKILL:
        assert step % 10 == 0, "only checkpoints are left"

    done = minibrains("run", killed)
    assert done.returncode == 0, done.stderr
    assert f"goes on after step {step}" in done.stdout + done.stderr

    done = minibrains("run", _workflow(tmp_path, "whole"))
    assert done.returncode == 0
    for table in ("training", "validation"):
        whole = _curve(home, "whole", table)["loss"]
        parts = _curve(home, "killed", table)["loss"]
        assert parts == pytest.approx(whole, abs=1e-5)


def test_a_full_disk_keeps_the_last_checkpoint(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_fights(4)
    _train(clone(name="whole", epochs=4), tmp_path)
    _train(clone(epochs=4), tmp_path, ticks=3)

    with monkeypatch.context() as full:
        full.setattr("os.fsync", _no_space)
        with pytest.raises(MinibrainsError, match="No space left on device; the checkpoint of st"):
            _train(clone(epochs=4), tmp_path)
    folder = home / "training/small"
    assert not list(folder.glob(".*")), "nothing unfinished is left"

    _train(clone(epochs=4), tmp_path)
    whole = _curve(home, "whole")["loss"]
    parts = _curve(home)["loss"]
    assert parts == pytest.approx(whole, abs=1e-5)


def test_a_training_from_before_its_settings_were_renamed_goes_on(
    tmp_path: Path, home: Path
) -> None:
    write_fights(4)
    _train(clone(name="whole", epochs=2), tmp_path)
    _train(clone(epochs=2), tmp_path, ticks=3)
    file = home / "training/small" / RESUME
    parts, metadata = unpack(file.read_bytes())
    about = json.loads(metadata["about"])
    for former, present in (("rate", "learning_rate"), ("batch", "batch_size")):
        about[former] = about.pop(present)
    del about["threads"]  # which was added later
    file.write_bytes(pack(parts, {**metadata, "about": json.dumps(about)}))

    host = _train(clone(epochs=2), tmp_path)
    assert "the training small goes on" in host.messages[0]
    whole = _curve(home, "whole")["loss"]
    assert _curve(home)["loss"] == pytest.approx(whole, abs=1e-5)


def _no_space(handle: int) -> None:
    raise OSError(28, "No space left on device")


def test_another_training_of_the_same_name_is_refused(tmp_path: Path, home: Path) -> None:
    write_fights(4)
    _train(clone(epochs=1), tmp_path)
    with pytest.raises(MinibrainsError, match=r"with batch_size 16 instead of 8; choose another"):
        _train(clone(epochs=1, batch_size=8), tmp_path)
    assert not (home / "training/small/looked").exists(), "before anything is preprocessed"

    data = DataSet.named(NAME)
    data.write(info(9), match(9))
    with pytest.raises(
        MinibrainsError,
        match="another training has this name, with a data set that has changed since",
    ):
        _train(clone(epochs=1), tmp_path)


def test_a_loss_that_is_no_number_leaves_its_batch(tmp_path: Path, home: Path) -> None:
    write_fights(4)
    with pytest.raises(MinibrainsError, match=r"the loss of step \d+ is (nan|inf)") as refused:
        _train(clone(learning_rate=1e25), tmp_path)
    assert "\n" not in str(refused.value)

    folder = home / "training/small"
    (path,) = folder.glob("not-finite-*.npz")
    with np.load(path) as batch:
        assert batch["frames"].shape == (16, 6, 12, 40)
        assert len(batch["labels"]) == 16


# -- what is not learned from


def test_a_held_back_state_is_not_learned_from(tmp_path: Path) -> None:
    data = write_fights(3)
    splits = Splits.named("Duel-Genesis")
    assert splits is not None
    held_back = splits.parts[HELD_BACK]
    state, sha256 = next(iter(held_back.items()))
    path = data.files()[1]
    _change(path, state=state, state_sha256=sha256)
    with pytest.raises(DataError, match=f"{path.name} must not be learned from"):
        _train(clone(), tmp_path)


def test_data_of_two_action_tables_is_refused(tmp_path: Path) -> None:
    data = write_fights(3)
    path = data.files()[1]
    _change(path, actions=["wait", "punch", "kick"])
    with pytest.raises(DataError, match=f"{path.name} has another action table: action 1 is"):
        _train(clone(), tmp_path)


def test_a_damaged_picture_is_named(tmp_path: Path) -> None:
    path = write_fights(3).files()[1]
    table = parquet.read_table(path)
    columns = table.to_pydict()
    picture = columns["picture"][4]
    picture["bytes"] = picture["bytes"][:-40] + bytes(40)
    damaged = type(table).from_pydict(columns, schema=table.schema)
    parquet.write_table(damaged, path)

    with pytest.raises(DataError, match=f"{path.name}, row 4: the picture is damaged"):
        _train(clone(), tmp_path)


def _change(path: Path, **changes: Any) -> None:
    """Write an episode again with other metadata."""
    table = parquet.read_table(path)
    columns = table.to_pydict()
    if "state" in changes:
        columns["state"] = [changes["state"]] * len(table)

    metadata = dict(table.schema.metadata)
    about = json.loads(metadata[b"minibrains"])
    about |= changes
    metadata[b"minibrains"] = json.dumps(about).encode()
    schema = table.schema.with_metadata(metadata)

    changed = type(table).from_pydict(columns, schema=schema)
    parquet.write_table(changed, path)


def _write_play(folder: Path, **widgets: Mapping[str, Any]) -> Path:
    """Write a workflow in which the policy `small` plays Duel with the table of a folder; return
    its file.

    Args:
        folder: The folder, which has table.safetensors.
        widgets: Settings that differ from those of the training, by node.
    """
    sets: dict[str, dict[str, Any]] = {
        "console": {"game": "Duel-Genesis"},
        "masks": {"mirror": True},
        "center": {"column": 12, "strip": 16},
        "box": {"left": 0, "top": 4, "width": 80, "height": 24},
        "small": {"width": 40, "height": 12},
    }
    nodes: dict[str, dict[str, Any]] = {
        "console": {
            "type": "RetroEmulator@3",
            "in": {"pad1": "sink.pad"},
        },
        "masks": {
            "type": "FighterMask@2",
            "in": {"frame": "console.frame"},
            "brain": "fighter_colors/duel.safetensors",
        },
        "center": {
            "type": "CenterMasks@1",
            "in": {"masks": "masks.masks"},
        },
        "box": {
            "type": "Crop@1",
            "in": {"frame": "center.frame"},
        },
        "small": {
            "type": "Resize@1",
            "in": {"frame": "box.frame"},
        },
        "stack": {
            "type": "FrameStack@1",
            "in": {"frame": "small.frame"},
            "brain": "frame_stack/masks3.safetensors",
        },
        "head": {
            "type": "PolicyHead@1",
            "in": {"frames": "stack.frames"},
            "brain": "policy_head/small.safetensors",
        },
        "choose": {
            "type": "ActionSampler@1",
            "in": {"logits": "head.logits"},
        },
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "choose.action"},
            "brain": "table.safetensors",
        },
    }
    for node, settings in sets.items():
        nodes[node]["set"] = {**settings, **widgets.get(node, {})}

    workflow = {
        "minibrains": 1,
        "run": {"ticks": 20},
        "nodes": nodes,
    }
    path = folder / "play.json"
    path.write_text(json.dumps(workflow))
    return path


@pytest.mark.parametrize("names", [ACTIONS, ("wait", "punch", "kick")])
def test_play_refuses_another_action_table(
    tmp_path: Path, minibrains: Command, names: tuple[str, ...]
) -> None:
    write_fights(4)
    _train(clone(epochs=1), tmp_path)
    table = ActionTable(
        names=names,
        buttons=("A", "B"),
        starts=np.array([0, 1, 2, 3], np.int32),
        rows=np.array([[0, 0], [1, 0], [0, 1]], np.uint8),
    )
    table.save(tmp_path / "table.safetensors", title="Three actions", made_by="a test")

    path = _write_play(tmp_path)
    done = minibrains("run", path)
    assert (done.returncode == 0) == (names == ACTIONS), done.stderr
    if names != ACTIONS:
        expected = "head was trained for other actions: action 1 is 'kick' there, and 'punch' here"
        assert expected in done.stderr


def test_play_refuses_to_show_something_else_than_the_training_did(
    tmp_path: Path, minibrains: Command
) -> None:
    write_fights(4)
    _train(clone(epochs=1), tmp_path)
    TABLE.save(tmp_path / "table.safetensors", title="Three actions", made_by="a test")

    path = _write_play(tmp_path, masks={"mirror": False}, box={"top": 8})
    done = minibrains("run", path)
    assert done.returncode == 2
    assert (
        "head was trained to see something else: FighterMask.mirror is False, and was True; "
        "Crop.top is 8, and was 4" in done.stderr
    )
    assert "Traceback" not in done.stderr
