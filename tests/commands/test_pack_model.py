"""Folders of transformers and PEFT become brains with the same numbers, and brains such folders;
nothing in them is run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from minibrains.brain import Brain
from minibrains.brain_file import read_header
from minibrains.loading import BrainRef
from minibrains.tensors import as_tensor
from nodes.language.lora import LoraAdapter, merged
from nodes.language.model_files import LANGUAGE_LAYERS
from nodes.language.pretrained import VLMBrain, load_pretrained
from server.commands.pack_model import pack
from tests.support.command import Command
from tests.support.tiny_vlm import save_model

pytestmark = [
    pytest.mark.usefixtures("tried_here"),
    pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning"),
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of the command."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    (tmp_path / "home/models/vlm").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def base(home: Path) -> BrainRef:
    """A model among the user's brains."""
    brain = save_model(home / "models/vlm/tiny.safetensors")
    assert brain.ref is not None
    return brain.ref


@pytest.fixture
def folder(base: BrainRef, tmp_path: Path) -> Path:
    """An adapter for that model, as PEFT saves it."""
    from peft import LoraConfig, get_peft_model

    settings = LoraConfig(
        r=4, lora_alpha=8, target_modules=LANGUAGE_LAYERS, init_lora_weights=False
    )
    changed = get_peft_model(load_pretrained(base).model, settings)
    changed.save_pretrained(tmp_path / "mine", save_embedding_layers=False)
    _name(tmp_path / "mine", "people/tiny")
    return tmp_path / "mine"


def _name(folder: Path, name: str | None) -> None:
    """Write the name of its model into an adapter's configuration."""
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text())
    config["base_model_name_or_path"] = name
    path.write_text(json.dumps(config))


def _said(minibrains: Command, folder: Path, file: Path) -> str:
    """Return what is said when a folder is refused."""
    result = minibrains("pack-model", str(folder), str(file))
    assert result.returncode != 0
    assert not file.exists()
    assert "Traceback" not in result.stderr
    return str(result.stderr)


def test_a_model_is_packed_bit_for_bit(
    minibrains: Command, base: BrainRef, tmp_path: Path, home: Path
) -> None:
    model = load_pretrained(base).model
    model.save_pretrained(tmp_path / "Tiny-VL")
    for name, text in VLMBrain.load(Path(base.file)).files.items():
        (tmp_path / "Tiny-VL" / name).write_text(text)
    file = home / "models/vlm/packed.safetensors"
    result = minibrains("pack-model", str(tmp_path / "Tiny-VL"), str(file))
    assert result.returncode == 0, result.stderr
    sha256, _ = result.stdout.split()
    packed = load_pretrained(BrainRef(str(file), sha256)).model.state_dict()
    for name, tensor in model.state_dict().items():
        assert torch.equal(packed[name], tensor)
    assert read_header(file).metadata["source"] == "Tiny-VL"
    again = minibrains("pack-model", str(tmp_path / "Tiny-VL"), str(file))
    assert "exists; choose another name" in again.stderr


def test_a_folder_is_no_brain_and_the_command_for_it_is_named(
    minibrains: Command, tmp_path: Path
) -> None:
    refused = minibrains("check", "sf2", "--brain", f"strategist={tmp_path}")
    assert refused.returncode == 2
    assert "It is a folder: the command pack-model makes a brain of" in refused.stderr


def test_an_adapter_is_packed_bit_for_bit(
    minibrains: Command, base: BrainRef, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.safetensors"
    result = minibrains("pack-model", str(folder), str(file))
    assert result.returncode == 0, result.stderr
    brain = LoraAdapter.load(file)
    assert (brain.base, brain.base_sha256) == ("Tiny 0", base.sha256)
    found = load_file(folder / "adapter_model.safetensors")
    assert brain.tensors.keys() == found.keys()
    for name, tensor in found.items():
        assert np.array_equal(brain.tensors[name], tensor.numpy())


def test_a_model_is_unpacked_bit_for_bit(
    minibrains: Command, base: BrainRef, tmp_path: Path
) -> None:
    from transformers import Qwen3VLForConditionalGeneration

    folder = tmp_path / "out/Tiny-VL"
    result = minibrains("unpack-model", base.file, str(folder))
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == str(folder)
    brain = VLMBrain.load(Path(base.file))
    _same_tensors(folder / "model.safetensors", brain)
    for name, text in brain.files.items():
        assert (folder / name).read_bytes() == text.encode()
    assert [path.name for path in folder.parent.iterdir()] == ["Tiny-VL"]
    theirs = Qwen3VLForConditionalGeneration.from_pretrained(folder).state_dict()
    for name, tensor in load_pretrained(base).model.state_dict().items():
        assert torch.equal(theirs[name], tensor)
    again = minibrains("unpack-model", base.file, str(folder))
    assert again.returncode == 2
    assert "exists; choose another name" in again.stderr


def test_an_adapter_is_unpacked_for_peft(
    minibrains: Command, base: BrainRef, folder: Path, tmp_path: Path
) -> None:
    from peft import PeftModel

    file, unpacked = tmp_path / "mine.safetensors", tmp_path / "unpacked"
    minibrains("pack-model", str(folder), str(file))
    result = minibrains("unpack-model", str(file), str(unpacked))
    assert result.returncode == 0, result.stderr
    brain = LoraAdapter.load(file)
    _same_tensors(unpacked / "adapter_model.safetensors", brain)
    again, _ = pack(unpacked)
    assert again.config == brain.config
    before, after = (
        PeftModel.from_pretrained(load_pretrained(base).model, path).merge_and_unload()
        for path in (folder, unpacked)
    )
    for name, tensor in before.state_dict().items():
        assert torch.equal(after.state_dict()[name], tensor)


def test_what_is_neither_model_nor_adapter_is_not_unpacked(
    minibrains: Command, tmp_path: Path
) -> None:
    result = minibrains("unpack-model", "policy_head/duel.safetensors", str(tmp_path / "out"))
    assert result.returncode == 2
    assert "is of kind policy_head, of which there is no folder; expected a model" in result.stderr
    assert not (tmp_path / "out").exists()


def _same_tensors(file: Path, brain: Brain) -> None:
    found = load_file(file)
    assert found.keys() == brain.tensors.keys()
    for name, array in brain.tensors.items():
        expected = as_tensor(array)
        assert found[name].dtype == expected.dtype
        assert torch.equal(found[name], expected)


@pytest.fixture
def model_folder(base: BrainRef, tmp_path: Path) -> Path:
    """That model, as transformers saves it."""
    folder = tmp_path / "Tiny-VL"
    load_pretrained(base).model.save_pretrained(folder)
    for name, text in VLMBrain.load(Path(base.file)).files.items():
        (folder / name).write_text(text)
    return folder


def test_a_model_chooses_from_the_answers_that_it_was_packed_with(
    minibrains: Command, model_folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "digits.safetensors"
    result = minibrains("pack-model", str(model_folder), str(file), "--answers", "0", "1", "7")
    assert result.returncode == 0, result.stderr
    assert VLMBrain.load(file).answers == ("0", "1", "7")
    file.unlink()
    result = minibrains("pack-model", str(model_folder), str(file), "--answers", "0", "of course")
    assert result.returncode == 2
    assert "the answer 'of course' is" in result.stderr
    assert not file.exists()


def test_only_the_weights_that_belong_to_a_model_are_read(
    minibrains: Command, model_folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.safetensors"
    weights = load_file(model_folder / "model.safetensors")
    (model_folder / "consolidated.safetensors").write_bytes(b"of another library")
    result = minibrains("pack-model", str(model_folder), str(file))
    assert result.returncode == 0, result.stderr
    file.unlink()

    # in two files
    names = sorted(weights)
    halves = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for name, held in halves.items():
        save_file({each: weights[each] for each in held}, model_folder / name, {"format": "pt"})
    places = {each: name for name, held in halves.items() for each in held}
    index = model_folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    (model_folder / "model.safetensors").unlink()
    result = minibrains("pack-model", str(model_folder), str(file))
    assert result.returncode == 0, result.stderr
    _same_tensors_as(file, weights)
    file.unlink()
    (model_folder / "b.safetensors").unlink()
    said = _said(minibrains, model_folder, file)
    assert "b.safetensors is missing, one of 2 files with weights that model.safetensors" in said
    for text in ("[]", '{"weight_map": {"a": "../out.safetensors"}}', '{"weight_map": {"a": 1}}'):
        index.write_text(text)
        said = _said(minibrains, model_folder, file)
        assert "model.safetensors.index.json is not an index of weights" in said


def _same_tensors_as(file: Path, weights: dict[str, torch.Tensor]) -> None:
    found = load_file(file)
    assert found.keys() == weights.keys()
    for name, tensor in weights.items():
        assert torch.equal(found[name], tensor)


def test_damaged_weights_are_refused_with_their_file(
    minibrains: Command, model_folder: Path, tmp_path: Path
) -> None:
    file, path = tmp_path / "mine.safetensors", model_folder / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "model.safetensors is damaged, or not whole" in _said(minibrains, model_folder, file)
    path.write_bytes(whole)
    weights = load_file(path)
    name = sorted(weights)[0]
    weights[name].view(-1)[0] = float("nan")
    save_file(weights, path, {"format": "pt"})
    assert f"tensor '{name}' contains infinity or NaN" in _said(minibrains, model_folder, file)


def test_weights_of_another_model_are_refused_and_no_file_is_left(
    minibrains: Command, model_folder: Path, tmp_path: Path
) -> None:
    config = json.loads((model_folder / "config.json").read_text())
    config["text_config"]["intermediate_size"] *= 2
    (model_folder / "config.json").write_text(json.dumps(config))
    said = _said(minibrains, model_folder, tmp_path / "mine.safetensors")
    assert f"{model_folder} was packed and refused" in said
    assert "has another shape in the file than in the configuration" in said


def test_a_folder_in_the_place_of_weights_is_refused(
    minibrains: Command, model_folder: Path, tmp_path: Path
) -> None:
    (model_folder / "model.safetensors").unlink()
    (model_folder / "model.safetensors").mkdir()
    assert "has no weights" in _said(minibrains, model_folder, tmp_path / "mine.safetensors")


def test_an_adapter_finds_its_model_beside_a_file_that_is_no_brain(
    minibrains: Command, folder: Path, home: Path, tmp_path: Path
) -> None:
    (home / "models/vlm/aaa.safetensors").write_bytes(b"12345")
    packed = minibrains("pack-model", str(folder), str(tmp_path / "mine.safetensors"))
    assert packed.returncode == 0, packed.stderr
    _name(folder, "people/Large-VL")
    said = _said(minibrains, folder, tmp_path / "other.safetensors")
    assert "one that cannot be read (aaa.safetensors)" in said


def test_an_adapter_with_a_scale_of_zero_keeps_it(
    minibrains: Command, folder: Path, tmp_path: Path
) -> None:
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "lora_alpha": 0}))
    file = tmp_path / "mine.safetensors"
    assert minibrains("pack-model", str(folder), str(file)).returncode == 0
    assert LoraAdapter.load(file).adapter["lora_alpha"] == 0


def test_a_model_for_which_there_is_no_memory_is_refused_unread(
    minibrains: Command, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIBRAINS_MODELS_MB", "1")
    said = _said(minibrains, model_folder, tmp_path / "mine.safetensors")
    assert "of weights, which are read into memory, and models may take 1.0 MB" in said


def test_an_adapter_for_a_model_that_unsloth_quantised_is_one_for_the_model(
    minibrains: Command, folder: Path, home: Path, tmp_path: Path
) -> None:
    (home / "models/vlm/tiny.safetensors").rename(home / "models/vlm/Tiny-VL.safetensors")
    _name(folder, "unsloth/Tiny-VL-unsloth-bnb-4bit")
    result = minibrains("pack-model", str(folder), str(tmp_path / "mine.safetensors"))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("way", ["pissa", "olora"])
def test_an_adapter_that_changed_the_model_itself_is_refused(
    way: str, minibrains: Command, folder: Path, tmp_path: Path
) -> None:
    _set(folder, init_lora_weights=way)
    said = _said(minibrains, folder, tmp_path / "mine.safetensors")
    assert f"its init_lora_weights is '{way}', which has changed the model's own weights" in said
    assert "path_initial_model_for_weight_conversion" in said


def _set(folder: Path, **values: Any) -> None:
    """Change entries of an adapter's configuration."""
    path = folder / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_modules_may_be_chosen_and_scaled_by_regular_expressions(
    minibrains: Command, base: BrainRef, folder: Path, tmp_path: Path
) -> None:
    from peft import PeftModel

    pattern = {r"layers\.0\..*(q|v)_proj": 3}
    _set(folder, alpha_pattern=pattern, exclude_modules=["lm_head"], layers_to_transform=[0, 1])
    file = tmp_path / "mine.safetensors"
    result = minibrains("pack-model", str(folder), str(file))
    assert result.returncode == 0, result.stderr
    sha256, _ = result.stdout.split()
    ours = merged(load_pretrained(base).model, [(BrainRef(str(file), sha256), 1.0)])
    _set(folder, exclude_modules=None, layers_to_transform=None)
    theirs = PeftModel.from_pretrained(load_pretrained(base).model, folder).merge_and_unload()
    for name, tensor in theirs.state_dict().items():
        assert torch.allclose(ours.state_dict()[name], tensor, atol=1e-6), name
    assert any("layers.0" in name for name in LoraAdapter.load(file).adapter["alpha_pattern"])


def test_an_adapter_for_another_model_is_refused_by_both_names(
    minibrains: Command, folder: Path, home: Path, tmp_path: Path
) -> None:
    _name(folder, "people/Large-VL")
    said = _said(minibrains, folder, tmp_path / "mine.safetensors")
    assert "an adapter for the model 'people/Large-VL'" in said
    assert "'Tiny 0' (tiny.safetensors)" in said
    _name(folder, "Qwen3-VL of 2.1 million numbers, untrained")
    said = _said(minibrains, folder, tmp_path / "mine.safetensors")
    assert "'Qwen3-VL of 2.1 million numbers, untrained' (sf2-untrained.safetensors) has" in said
    assert "it was trained on another model than base_model_name_or_path says" in said


@pytest.mark.parametrize("name", [None, " "])
def test_an_adapter_that_does_not_name_its_model_is_refused(
    name: str | None, minibrains: Command, folder: Path, tmp_path: Path
) -> None:
    _name(folder, name)
    said = _said(minibrains, folder, tmp_path / "mine.safetensors")
    assert "adapter_config.json does not name its model; expected" in said


def test_pickled_weights_are_refused_unread(
    minibrains: Command, folder: Path, tmp_path: Path
) -> None:
    (folder / "adapter_model.safetensors").unlink()
    (folder / "adapter_model.bin").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    said = _said(minibrains, folder, tmp_path / "mine.safetensors")
    assert "adapter_model.bin is pickled" in said


def test_what_is_no_such_folder_is_refused(
    minibrains: Command, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.safetensors"
    assert "is not a folder; expected one of save_pretrained" in _said(
        minibrains, tmp_path / "no", file
    )
    assert "expected one that ends in .safetensors" in _said(
        minibrains, folder, tmp_path / "mine.bin"
    )
    (folder / "adapter_model.safetensors").write_bytes(b"{}")
    assert "cannot be read" in _said(minibrains, folder, file)
    (folder / "adapter_config.json").write_text("[")
    assert "adapter_config.json" in _said(minibrains, folder, file)
    (folder / "adapter_config.json").unlink()
    assert "has neither config.json nor adapter_config.json" in _said(minibrains, folder, file)


def test_an_adapter_of_another_kind_is_refused(
    minibrains: Command, folder: Path, tmp_path: Path
) -> None:
    weights: dict[str, Any] = load_file(folder / "adapter_model.safetensors")
    save_file({**weights, "more.weight": torch.ones(2)}, folder / "adapter_model.safetensors")
    said = _said(minibrains, folder, tmp_path / "mine.safetensors")
    assert "tensor 'more.weight' f32[2]; expected base_model.model" in said


def test_a_packed_adapter_changes_the_model_as_peft_does(
    minibrains: Command, base: BrainRef, folder: Path, tmp_path: Path
) -> None:
    from peft import PeftModel

    file = tmp_path / "mine.safetensors"
    sha256, _ = minibrains("pack-model", str(folder), str(file)).stdout.split()
    asked = load_pretrained(base)
    inputs = asked.read(np.zeros((32, 96, 3), np.uint8), "Which action?")
    with torch.inference_mode():
        plain = asked.next_logits(asked.model, inputs)
        ours = asked.next_logits(merged(asked.model, [(BrainRef(str(file), sha256), 1.0)]), inputs)
        theirs = PeftModel.from_pretrained(load_pretrained(base).model, folder)
        unmerged = theirs(**inputs, use_cache=False).logits[0, -1]
    assert not torch.allclose(ours, plain, atol=1e-2)
    assert torch.allclose(ours, unmerged, atol=1e-3)
