"""A vision-language model learns from a data set, goes on after a kill, and is adapted."""

from __future__ import annotations

import csv
import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from minibrains import Episode
from minibrains.brain_file import read_header
from minibrains.errors import BrainError, DataError, MinibrainsError
from minibrains.files import bundled_dir
from minibrains.testing import ScratchHost, opened, play
from nodes.language.lora import LoraAdapter, LoRALoader
from nodes.language.merging import MergeLoRA
from nodes.language.model_files import LANGUAGE_LAYERS
from nodes.language.pretrained import VLMBrain, load_pretrained
from nodes.language.vlm import VLMStrategist
from nodes.training.data_set import DataSet
from nodes.training.train_vlm import LoRAPreset, TrainLoRA, TrainVLM, VLMTraining
from nodes.training.vlm_samples import BatchReader, VLMSamples
from tests.support.command import Command, end_a_run
from tests.support.data_sets import ACTIONS
from tests.support.fights import info
from tests.support.tiny_vlm import LEARNING, NAME, PROMPTS, match, save_model, write_pictures

pytestmark = pytest.mark.usefixtures("tried_here")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, for this process."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def model(tmp_path: Path) -> VLMBrain:
    return save_model(tmp_path / "tiny.safetensors")


class _Host(ScratchHost):
    """A host that is asked to stop after some steps."""

    steps: float = np.inf

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        super().progress(done, total, text)
        if done >= self.steps - 1:
            self.stopping = True


def _train(node: VLMTraining, tmp_path: Path, stop: float = np.inf) -> ScratchHost:
    """Let a node train until it is finished, or is stopped after some steps."""
    folder = tmp_path / "run"
    folder.mkdir(exist_ok=True)
    host = _Host(folder)
    host.steps = stop

    with opened(node, host):
        node.reset(Episode(0, 0, "node"))
        while not node.emit().finished and not host.stopping:
            node.latch()
    return host


def _base(model: VLMBrain, **widgets: Any) -> TrainVLM:
    settings = {
        **LEARNING,
        "epochs": 26,
        "learning_rate": 3e-3,
        "auxiliary": ("agent_x-enemy_x", "height"),
        **widgets,
    }
    return TrainVLM(brain=model, **settings)


def _lora(model: VLMBrain, **widgets: Any) -> TrainLoRA:
    settings = {
        **LEARNING,
        "name": "adapter",
        **widgets,
    }
    return TrainLoRA(brain=model, **settings)


def _curve(home: Path, name: str = "small", table: str = "training") -> dict[str, np.ndarray]:
    path = home / "training" / name / f"{table}.csv"
    with path.open() as file:
        head, *rows = csv.reader(file)
    columns = np.array(rows, float).T
    return dict(zip(head, columns, strict=True))


def _trained(home: Path, name: str = "small") -> VLMBrain:
    path = home / "models/vlm" / f"{name}.safetensors"
    return VLMBrain.load(path)


def _agreement(
    brain: VLMBrain, data: DataSet, loader: LoRALoader | None = None, prompt: str = PROMPTS[0]
) -> float:
    """The share of a match's samples that a strategist answers as labelled."""
    adapters = []
    if loader is not None:
        adapters.append(loader.tick())
    episode = data.episodes()[0]
    samples = data.read(episode)

    right: list[bool] = []
    node = VLMStrategist(brain=brain, answer="choose")
    with opened(node):
        for row in range(len(samples)):
            inputs = {
                "image": samples.picture(row),
                "prompt": prompt,
                "adapters": adapters,
            }
            (answer,) = play(node, inputs)
            label = str(samples.actions[row])
            right.append(answer.text == label)
    return float(np.mean(right))


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a base that was trained."""
    folder = tmp_path_factory.mktemp("learned")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINIBRAINS_HOME", str(folder / "home"))
        write_pictures()
        model = save_model(folder / "tiny.safetensors")
        _train(_base(model), folder)
    return folder / "home"


# -- the base


@pytest.mark.slow
def test_it_learns_to_answer_as_the_teacher(learned: Path) -> None:
    loss = _curve(learned)["loss"]
    first, last = loss[:5].mean(), loss[-5:].mean()
    assert last < 0.5 * first

    validation = _curve(learned, table="validation")
    assert validation["agreement"].max() > 0.9
    data = DataSet(learned / "data" / NAME)
    assert _agreement(_trained(learned), data) > 0.9

    picture = learned / "training/small/training_curves.png"
    assert picture.read_bytes().startswith(b"\x89PNG")

    header = read_header(learned / "models/vlm/small.safetensors").metadata
    about = json.loads(header["data"])
    assert about["name"] == NAME
    assert about["episodes"] == 6
    assert about["samples"] == 5 * 35
    metrics = json.loads(header["metrics"])
    assert metrics["validation_agreement"] > 0.9
    assert json.loads(header["prompts"]) == list(PROMPTS[:1])


@pytest.mark.slow
def test_it_ends_its_answers(learned: Path) -> None:
    data = DataSet(learned / "data" / NAME)
    episode = data.episodes()[0]
    picture = data.read(episode).picture(0)

    node = VLMStrategist(brain=_trained(learned), answer="generate")
    with opened(node):
        (answer,) = play(node, {"image": picture, "prompt": PROMPTS[0]})
    assert answer.text in ("0", "1", "2")


@pytest.mark.slow
def test_every_checkpoint_answers(model: VLMBrain, tmp_path: Path, home: Path) -> None:
    data = write_pictures(4)
    _train(_base(model, epochs=2), tmp_path)

    folder = home / "training/small"
    checkpoints = sorted(folder.glob("step-*.safetensors"))
    names = [path.stem for path in checkpoints]
    assert names == ["step-000005", "step-000010", "step-000014"]
    for path in checkpoints:
        brain = VLMBrain.load(path)
        assert 0 <= _agreement(brain, data) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_a_training_that_was_stopped_goes_on_as_if_it_had_not_been(
    precision: str, model: VLMBrain, tmp_path: Path, home: Path
) -> None:
    settings: dict[str, Any] = {"epochs": 2, "precision": precision}
    write_pictures(4)
    _train(_base(model, name="whole", **settings), tmp_path)

    _train(_base(model, **settings), tmp_path, stop=3)
    host = _train(_base(model, **settings), tmp_path, stop=5)
    assert "goes on after step 3" in host.messages[0]
    _train(_base(model, **settings), tmp_path)

    for table in ("training", "validation"):
        whole = _curve(home, "whole", table)
        parts = _curve(home, "small", table)
        for name, values in whole.items():
            assert parts[name] == pytest.approx(values, abs=1e-5)

    whole_weights = _trained(home, "whole").tensors
    parts_weights = _trained(home).tensors
    for name, array in whole_weights.items():
        assert np.array_equal(array, parts_weights[name])


def test_a_batch_is_read_as_in_play(model: VLMBrain) -> None:
    """Questions of different lengths in one batch change no answer."""
    import torch

    data = write_pictures(2)
    assert model.ref is not None
    asked = load_pretrained(model.ref)
    episodes = data.episodes()
    samples = VLMSamples(data, episodes, PROMPTS, ("height",))
    few = [samples[row] for row in range(7)]  # in row 7 no action has an effect
    prompts = {sample.prompt for sample in few}
    assert len(prompts) == 2

    mean = np.zeros(1, np.float32)
    std = np.ones(1, np.float32)
    reader = BatchReader(asked, model.answers, mean, std)
    batch = reader(few)
    pictures = data.read(episodes[0])

    with torch.inference_mode():
        output = asked.model(**batch["inputs"], use_cache=False)
        together = output.logits[:, -2]
        for row, sample in enumerate(few):
            picture = pictures.picture(row)
            alone = asked.read(picture, sample.prompt)
            logits = asked.next_logits(asked.model, alone)
            assert torch.allclose(together[row], logits, atol=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("model")
def test_a_training_of_an_adapter_that_was_killed_goes_on(
    tmp_path: Path, home: Path, minibrains: Command
) -> None:
    write_pictures(4)
    killed, whole = (_workflow(tmp_path, name) for name in ("killed", "whole"))
    training = home / "training/killed"
    # by then the checkpoint before is complete
    end_a_run(killed, tmp_path, signal.SIGKILL, (training / "step-000010.safetensors").exists)
    assert not (home / "models").exists(), "it was not finished"

    done = minibrains("run", killed)
    assert done.returncode == 0, done.stderr
    assert "the training killed goes on after step " in done.stdout + done.stderr
    assert minibrains("run", whole).returncode == 0
    for table in ("training", "validation"):
        parts, unbroken = _curve(home, "killed", table), _curve(home, "whole", table)
        assert parts["loss"] == pytest.approx(unbroken["loss"], abs=1e-5)


def _workflow(folder: Path, name: str) -> Path:
    """Write a workflow that trains an adapter of the model."""
    settings = {**LEARNING, "name": name, "epochs": 20}
    node = {"type": "TrainLoRA@3", "set": settings, "brain": "tiny.safetensors"}
    path = folder / f"{name}.json"
    path.write_text(
        json.dumps({"minibrains": 1, "run": {"ticks": 10_000}, "nodes": {"train": node}})
    )
    return path


@pytest.mark.slow
def test_a_full_disk_keeps_the_last_checkpoint(
    model: VLMBrain, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pictures(4)
    _train(_base(model, epochs=2), tmp_path, stop=5)

    with monkeypatch.context() as full:
        full.setattr("os.fsync", _no_space)
        with pytest.raises(MinibrainsError, match="No space left on device; the checkpoint of ste"):
            _train(_base(model, epochs=2), tmp_path)

    _train(_base(model, epochs=2), tmp_path)
    assert len(_curve(home)["loss"]) == 14


def _no_space(handle: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_loss_that_is_no_number_leaves_its_batch(
    model: VLMBrain, tmp_path: Path, home: Path
) -> None:
    write_pictures(4)
    with pytest.raises(MinibrainsError, match=r"the loss of step \d+ is (nan|inf)") as refused:
        _train(_base(model, learning_rate=1e25), tmp_path)
    assert "\n" not in str(refused.value)

    folder = home / "training/small"
    (path,) = folder.glob("not-finite-*.npz")
    with np.load(path) as batch:
        assert len(batch["labels"]) == 16
        assert batch["input_ids"].shape[0] == 16


def test_another_training_of_the_same_name_is_refused(
    model: VLMBrain, tmp_path: Path, home: Path
) -> None:
    write_pictures(4)
    _train(_base(model, epochs=1), tmp_path)
    with pytest.raises(MinibrainsError, match="with batch_size 16 instead of 8; choose another"):
        _train(_base(model, epochs=1, batch_size=8), tmp_path)

    path = home / "training/small/training.json"
    path.write_text("{")
    with pytest.raises(MinibrainsError, match=r"training.json cannot be read.*choose another name"):
        _train(_base(model, epochs=1), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["learner.safetensors", "optimizer.pt", "trainer_state.json"])
def test_a_damaged_checkpoint_is_named(
    file: str, model: VLMBrain, tmp_path: Path, home: Path
) -> None:
    write_pictures(4)
    _train(_base(model, epochs=1), tmp_path, stop=2)

    path = home / "training/small/checkpoint-2" / file
    path.write_bytes(b"{")
    with pytest.raises(MinibrainsError, match=r"cannot be read, so the training cannot go on"):
        _train(_base(model, epochs=1), tmp_path)


def test_what_cannot_be_learned_from_is_refused(model: VLMBrain, tmp_path: Path) -> None:
    data = write_pictures(2)
    with pytest.raises(MinibrainsError, match="expected at least one question, none empty"):
        _train(_base(model, prompts=(" ",)), tmp_path)
    with pytest.raises(DataError, match="has no variable 'width'"):
        _train(_base(model, auxiliary=("width",)), tmp_path)

    for path in data.files():
        path.unlink()
    for number in range(2):
        unknown = [sample._replace(actionable=None) for sample in match(number)]
        data.write(info(number), unknown)
    with pytest.raises(DataError, match="no sample in which an action has an effect"):
        _train(_base(model), tmp_path)


# -- the prompts of samples


def test_a_sample_is_asked_its_own_prompt(model: VLMBrain, tmp_path: Path) -> None:
    data = DataSet.named("prompted")
    for number in range(2):
        samples = [sample._replace(prompt=f"{sample.tick} pixels") for sample in match(number)]
        data.write(replace(info(number), prompted=True), samples)
    infos = data.episodes()
    asked = VLMSamples(data, infos, ("You see {prompt}. Which action?",))
    first = data.read(infos[0])
    rows = np.flatnonzero(first.actionable == 1).tolist()
    for place, row in enumerate(rows[:5]):
        assert asked[place].prompt == f"You see {first.ticks[row]} pixels. Which action?"

    plain = write_pictures(2)
    with pytest.raises(DataError, match="has no prompts, and the question is"):
        VLMSamples(plain, plain.episodes(), ("{prompt}",))


# -- instructions

_OTHERWISE = "Now play the other way."


@pytest.mark.slow
def test_it_learns_to_follow_an_instruction(model: VLMBrain, tmp_path: Path, home: Path) -> None:
    data = write_pictures()
    others = write_pictures(other=True, name="others")
    _train(_base(model, instructions={"others": (_OTHERWISE,)}), tmp_path)

    learned = _trained(home)
    assert _agreement(learned, data) > 0.9
    assert _agreement(learned, others, prompt=_OTHERWISE) > 0.9

    header = read_header(home / "models/vlm/small.safetensors").metadata
    assert json.loads(header["prompts"]) == [PROMPTS[0], _OTHERWISE]
    instructed = json.loads(header["instructions"])["others"]
    assert instructed["questions"] == [_OTHERWISE]
    assert instructed["episodes"] == 6


def test_instructions_that_cannot_be_learned_are_refused(
    model: VLMBrain, tmp_path: Path, home: Path
) -> None:
    write_pictures(2)
    with pytest.raises(MinibrainsError, match=r"instructions of others is .*; expected at least"):
        _train(_base(model, instructions={"others": ()}), tmp_path)
    with pytest.raises(DataError, match="others has no episodes"):
        _train(_base(model, instructions={"others": (_OTHERWISE,)}), tmp_path)

    renamed = replace(info(0), actions=("run", *ACTIONS[1:]))
    DataSet.named("others").write(renamed, match(0))
    with pytest.raises(DataError, match="take the file out, or use another data set"):
        _train(_base(model, instructions={"others": (_OTHERWISE,)}), tmp_path)


def test_a_training_goes_on_only_with_the_instructions_that_it_began_with(
    model: VLMBrain, tmp_path: Path
) -> None:
    write_pictures(2)
    others = write_pictures(2, other=True, name="others")
    settings: dict[str, Any] = {"epochs": 2, "instructions": {"others": (_OTHERWISE,)}}
    _train(_base(model, **settings), tmp_path, stop=3)
    others.write(info(2), match(2, other=True))
    with pytest.raises(MinibrainsError, match="instructed"):
        _train(_base(model, **settings), tmp_path)


# -- an adapter


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_an_adapter_learns_another_rule_and_leaves_the_base_alone(
    learned: Path, tmp_path: Path, home: Path
) -> None:
    other = write_pictures(other=True)
    base = _trained(learned)
    before = {name: array.copy() for name, array in base.tensors.items()}
    assert _agreement(base, other) < 0.2

    _train(_lora(base, epochs=12), tmp_path)
    adapter = LoraAdapter.load(home / "models/lora_adapter/adapter.safetensors")
    loader = LoRALoader(brain=adapter)
    assert _agreement(base, other, loader) > 0.9
    assert adapter.adapter["r"] == 16
    assert adapter.adapter["lora_alpha"] == 32

    modules: set[str] = set()
    for name in adapter.tensors:
        assert "visual" not in name
        modules.add(name.split(".")[-3])
    assert modules == {
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
        "gate_proj",
        "up_proj",
        "down_proj",
    }
    for name, array in before.items():
        assert array.tobytes() == base.tensors[name].tobytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_an_adapter_s_training_goes_on_with_its_dropout(
    model: VLMBrain, tmp_path: Path, home: Path
) -> None:
    write_pictures(4)
    settings: dict[str, Any] = {
        "preset": "careful",
        "batch_size": 0,
        "epochs": 1,
        "learning_rate": 1e-3,
    }
    _train(_lora(model, name="whole", **settings), tmp_path)
    _train(_lora(model, **settings), tmp_path, stop=3)
    _train(_lora(model, **settings), tmp_path)

    whole = _curve(home, "whole")["loss"]
    parts = _curve(home, "adapter")["loss"]
    assert len(whole) == 14, "3 * 35 samples in steps of 8"
    assert parts == pytest.approx(whole, abs=1e-5)


def test_presets(model: VLMBrain) -> None:
    usual = _lora(model, batch_size=0).lora()
    assert usual == LoRAPreset(16, 32, 0.0, 32, 1, 2e-3, 3)

    careful = _lora(model, batch_size=0, preset="careful").lora()
    assert careful == LoRAPreset(16, 16, 0.05, 2, 4, 2e-4, 3)
    assert careful.batch_size * careful.gradient_accumulation_steps == 8

    changed = _lora(model, preset="careful", rank=4, dropout=0.0).lora()
    assert changed.rank == 4
    assert changed.alpha == 16
    assert changed.dropout == 0.0


def _answering(model: VLMBrain, path: Path, *answers: str) -> VLMBrain:
    """Save a model with the same weights and other answers, and return it."""
    other = VLMBrain(model.tensors, files=model.files, answers=answers)
    other.save(path, title="Other answers", made_by="a test")
    return VLMBrain.load(path)


def test_samples_of_actions_that_the_model_cannot_answer_are_left_out(
    tmp_path: Path, home: Path, model: VLMBrain
) -> None:
    data = write_pictures(2)
    unknown = 0
    for episode in data.episodes():
        samples = data.read(episode)
        unknown += int(((samples.actions == 2) & (samples.actionable == 1)).sum())
    two = _answering(model, tmp_path / "two.safetensors", "0", "1")
    host = _train(_lora(two, epochs=1), tmp_path)
    reason = f"actions are not answers of the model: {ACTIONS[2]}"
    assert f"left out {unknown} samples whose {reason}" in host.messages
    assert (home / "models/lora_adapter/adapter.safetensors").is_file()


def test_an_adapter_for_actions_that_the_model_cannot_answer_is_refused(
    tmp_path: Path, model: VLMBrain
) -> None:
    write_pictures(2)
    others = _answering(model, tmp_path / "others.safetensors", "7", "8")
    with pytest.raises(DataError, match="has the actions kick, punch, wait, which are not answers"):
        _train(_lora(others), tmp_path)


# -- merging


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
@pytest.mark.parametrize("weights", ["f32", "f16"])
def test_a_merged_model_answers_as_the_base_with_its_adapter(
    weights: Literal["f32", "f16"], model: VLMBrain, tmp_path: Path, home: Path
) -> None:
    import torch
    from peft import LoraConfig, get_peft_model

    assert model.ref is not None
    config = LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules=LANGUAGE_LAYERS,
        init_lora_weights=False,
    )
    pretrained = load_pretrained(model.ref)
    unmerged = get_peft_model(pretrained.model, config)
    folder = tmp_path / "peft"
    unmerged.save_pretrained(folder, save_embedding_layers=False)

    path = tmp_path / "lora.safetensors"
    LoraAdapter.of_folder(folder, model.ref).save(path, title="t", made_by="a test")
    loader = LoRALoader(brain=LoraAdapter.load(path))
    node = MergeLoRA(brain=model, name="one", weights=weights)
    with opened(node):
        first_tick = {"adapters": [loader.tick()]}
        second_tick = {"adapters": [loader.tick()]}
        before, after = play(node, first_tick, second_tick)
    assert before == (False,)
    assert after == (True,)

    brain = VLMBrain.load(home / "models/vlm/one.safetensors")
    assert brain.ref is not None
    assert brain.answers == model.answers
    asked = load_pretrained(brain.ref)
    plain = load_pretrained(model.ref)
    tolerance = {"f32": 1e-3, "f16": 3e-2}[weights]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        picture = rng.integers(0, 256, (32, 96, 3), np.uint8)
        inputs = asked.read(picture, PROMPTS[0])
        with torch.inference_mode():
            expected = unmerged(**inputs, use_cache=False).logits[0, -1]
            merged = asked.next_logits(asked.model, inputs)
            unchanged = plain.next_logits(plain.model, inputs)
        assert torch.allclose(merged, expected, atol=tolerance)
        assert not torch.allclose(unchanged, expected, atol=10 * tolerance)


def test_what_cannot_be_merged_is_refused(model: VLMBrain, tmp_path: Path) -> None:
    node = MergeLoRA(brain=model, name="one")
    with opened(node), pytest.raises(MinibrainsError, match="nothing to merge; link a LoRALoader"):
        play(node, {"adapters": []})

    path = bundled_dir("models") / "lora_adapter/sf2-untrained.safetensors"
    untrained = LoraAdapter.load(path)
    link = LoRALoader(brain=untrained).tick()
    with opened(node), pytest.raises(BrainError, match=r"the model 'Qwen3-VL.*this one is 'Tiny 0"):
        play(node, {"adapters": [link]})

    with pytest.raises(MinibrainsError, match="cannot be the name of a brain"):
        MergeLoRA(brain=model, name="../one").check()
