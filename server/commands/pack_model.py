"""The command `pack-model`: a folder of transformers or of PEFT becomes one brain file.

Only JSON, text and safetensors are read: nothing in the folder is executed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
from safetensors import SafetensorError

from minibrains.brain import Brain
from minibrains.brain_file import read_header
from minibrains.errors import BrainError, MinibrainsError
from minibrains.files import bundled_dir, home
from minibrains.loading import BrainRef
from minibrains.values import parse_json
from nodes.language.lora import TENSOR, LoraAdapter
from nodes.language.model_files import CONFIG
from nodes.language.placement import place
from nodes.language.pretrained import VLMBrain, empty_model, load_pretrained
from server.cli import DONE
from server.terminal import tell

ADAPTER: Final = "adapter_config.json"
BASE: Final = "base_model_name_or_path"
_QUANTIZED: Final = re.compile(r"(-unsloth)?-bnb-[48]bit$")
"""The end of the names of models that Unsloth has quantised for the training of adapters."""
PICKLES: Final = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
"""The endings of files that are pickles: reading one can run code."""


def main(arguments: argparse.Namespace) -> int:
    """Write the brain, and print its SHA-256 and file. Raises MinibrainsError."""
    folder, path = Path(arguments.folder), Path(arguments.file)
    if path.exists():
        raise MinibrainsError(f"{path} exists; choose another name: pack-model FOLDER FILE")
    if path.suffix != ".safetensors":
        raise MinibrainsError(
            f"{path} is not the name of a brain; expected one that ends in .safetensors"
        )
    brain, metadata = pack(folder, tuple(arguments.answers))
    path.parent.mkdir(parents=True, exist_ok=True)
    made_by = f"python -m server pack-model {folder.name} {path.name}"
    sha256 = brain.save(path, title=folder.resolve().name, made_by=made_by, **metadata)
    is_model = isinstance(brain, VLMBrain)
    del brain  # there may not be room for it twice
    if is_model:
        tell(f"{path} is written; now the model is loaded and tried out")
        try:
            loaded = load_pretrained(BrainRef(str(path), sha256), place("cpu", "bf16"))
            for answer in arguments.answers:
                loaded.token(answer)
        except BaseException as error:
            path.unlink()  # what does not load is not a brain, and what was not tried may be none
            if not isinstance(error, MinibrainsError):
                raise
            raise BrainError(
                f"{folder} was packed and refused, and the file is removed: {error}"
            ) from None
    print(f"{sha256}  {path}")
    return DONE


def pack(folder: Path, answers: tuple[str, ...] = ()) -> tuple[Brain, dict[str, Any]]:
    """Return the brain of a folder, and metadata for its header.

    Args:
        folder: What `save_pretrained` of transformers or PEFT has written.
        answers: The answers that a model chooses from; empty: it generates.

    Raises:
        BrainError: It is no such folder, its weights are pickled or damaged, or it is an adapter
            whose model is not named, or not among the brains here.
    """
    if not folder.is_dir():
        raise BrainError(f"{folder} is not a folder; expected one of save_pretrained")
    _check_weights(folder)
    try:
        if (folder / ADAPTER).is_file():
            if answers:
                raise BrainError(f"{folder} is an adapter, and only a model has --answers")
            base = _find_base(folder)
            adapter = LoraAdapter.of_folder(folder, base)
            _check_fit(folder, adapter, base)
            return adapter, {"parents": [base.sha256]}
        if (folder / CONFIG).is_file():
            return VLMBrain.of_folder(folder, answers), {"source": folder.resolve().name}
    except (SafetensorError, UnicodeDecodeError, ValueError) as error:
        raise BrainError(f"{folder} cannot be read: {error}") from None
    raise BrainError(
        f"{folder} has neither {CONFIG} nor {ADAPTER}; expected a folder that save_pretrained of "
        "transformers or PEFT has written"
    )


def _check_weights(folder: Path) -> None:
    """Raise BrainError unless there are weights in a safetensors file."""
    if any(path.is_file() for path in folder.glob("*.safetensors")):
        return
    pickled = sorted(path.name for path in folder.iterdir() if path.suffix in PICKLES)
    if pickled:
        raise BrainError(
            f"{folder / pickled[0]} is pickled, and to read it could run code that is in it; "
            "expected safetensors: save the model again with a current version of its library"
        )
    raise BrainError(f"{folder} has no weights; expected a file that ends in .safetensors")


def _find_base(folder: Path) -> BrainRef:
    """Return the model that an adapter's configuration names, out of the brains here.

    Raises BrainError.
    """
    path = folder / ADAPTER
    try:
        config = parse_json(path.read_bytes())
    except ValueError as error:
        raise BrainError(f"{path} cannot be read: {error}") from None
    name = None
    if isinstance(config, dict):
        name = config.get(BASE)
    if not isinstance(name, str) or not name.strip():
        raise BrainError(
            f"{path} does not name its model; expected the name in {BASE}: write there "
            "the title or the file of the brain that it was trained on"
        )
    titles: list[str] = []
    # a model that was quantised for the training is not what is packed
    wanted = {name, Path(name).name, _QUANTIZED.sub("", Path(name).name)}
    for path in _models():
        try:
            metadata = read_header(path).metadata
        except BrainError:
            titles.append(f"one that cannot be read ({path.name})")
            continue
        names = {path.name, path.stem, metadata.get("title"), metadata.get("source")}
        if names & wanted:
            brain = VLMBrain.load(path)
            assert brain.ref is not None
            return brain.ref
        titles.append(f"{metadata.get('title')!r} ({path.name})")
    raise BrainError(
        f"{folder} is an adapter for the model {name!r}, and the models here are "
        f"{', '.join(titles)}; pack that model first, into {home() / 'models' / 'vlm'}, or, if it "
        f"is among them, write its title as the {BASE} in {folder / ADAPTER}"
    )


def _models() -> Iterable[Path]:
    """Return the files of all models here, the user's own first."""
    files: list[Path] = []
    for models in (home() / "models", bundled_dir("models")):
        files += sorted((models / "vlm").glob("*.safetensors"))
    return files


def _check_fit(folder: Path, adapter: LoraAdapter, base: BrainRef) -> None:
    """Raise BrainError if an adapter changes what its model does not have."""
    model = empty_model(VLMBrain.load(Path(base.file)))
    layers = dict(model.named_modules())
    shapes: dict[str, list[int]] = {}
    for name, array in adapter.tensors.items():
        match = TENSOR.fullmatch(name)
        assert match is not None  # the brain has been checked
        shape = shapes.setdefault(match["module"], [0, 0])
        if match["half"] == "A":
            shape[1] = np.shape(array)[1]
        else:
            shape[0] = np.shape(array)[0]
    for module, shape in shapes.items():
        found = getattr(layers.get(module), "weight", None)
        if found is None or list(found.shape) != shape:
            has = "no such layer" if found is None else " x ".join(map(str, found.shape))
            raise BrainError(
                f"{folder} changes {module} of {' x '.join(map(str, shape))}, and the model "
                f"{adapter.base!r} ({Path(base.file).name}) has {has} there; it was trained on "
                f"another model than {BASE} says: write the right one there"
            )
