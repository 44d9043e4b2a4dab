"""The command `unpack-model`: a model or an adapter in one brain file becomes a folder that
transformers or PEFT reads.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from minibrains.brain_file import read_header
from minibrains.errors import MinibrainsError
from minibrains.files import home
from minibrains.graph.catalog import find_brain_file
from minibrains.tensors import as_tensor
from nodes.language.lora import LoraAdapter
from nodes.language.pretrained import WEIGHTS, VLMBrain
from server.cli import DONE
from server.commands.pack_model import ADAPTER, BASE

ADAPTER_WEIGHTS: Final = "adapter_model.safetensors"


class Folder(NamedTuple):
    """The contents of a folder: its text files, and the file of its weights."""

    texts: Mapping[str, str]
    weights: str
    tensors: Mapping[str, Any]

    def write(self, folder: Path) -> None:
        """Make the folder. Raises OSError."""
        from safetensors.torch import save_file

        folder.mkdir()
        for file, text in self.texts.items():
            (folder / file).write_text(text, "utf-8", newline="")
        tensors = {name: as_tensor(array) for name, array in self.tensors.items()}
        save_file(tensors, folder / self.weights, {"format": "pt"})


def main(arguments: argparse.Namespace) -> int:
    """Write the folder, and print its name. Raises MinibrainsError."""
    path, folder = find_brain_file(arguments.file, None, home() / "models"), Path(arguments.folder)
    if folder.exists():
        raise MinibrainsError(f"{folder} exists; choose another name: unpack-model FILE FOLDER")
    found = unpack(path)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # renamed when it is complete, so that there is never half a model under its name
    with TemporaryDirectory(prefix=".unpacking.", dir=folder.parent) as name:
        unpacked = Path(name) / folder.name
        found.write(unpacked)
        unpacked.rename(folder)
    print(folder)
    return DONE


def unpack(path: Path) -> Folder:
    """Return what the folder of a brain contains.

    Raises BrainError if it cannot be read, or MinibrainsError if it is neither a model nor an
    adapter.
    """
    kind = read_header(path).kind
    if kind == VLMBrain.kind:
        model = VLMBrain.load(path)
        return Folder(model.files, WEIGHTS, model.tensors)
    if kind == LoraAdapter.kind:
        adapter = LoraAdapter.load(path)
        config = {**adapter.adapter, BASE: adapter.base}
        return Folder({ADAPTER: json.dumps(config, indent=2)}, ADAPTER_WEIGHTS, adapter.tensors)
    raise MinibrainsError(
        f"{path} is of kind {kind}, of which there is no folder; expected a model "
        f"({VLMBrain.kind}) or an adapter ({LoraAdapter.kind})"
    )
