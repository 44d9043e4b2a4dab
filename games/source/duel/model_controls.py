"""Controls of the vision-language model that plays Duel: does it win by pictures, or by words?

    python -m games.source.duel.model_controls --data sf2-pictures build/controls

writes workflows into the folder, to be evaluated with `--pack` control_nodes.py beside this file.
In them the model of sf2

- `sf2_blank.json`: is shown black pictures
- `sf2_other.json`: is shown pictures of other matches, out of the data set
- `sf2_both.json`: is told the situation in words from the game's memory, beside the picture
- `sf2_words.json`: is told it in words, and shown black pictures

A model for the last two learns from `sf2_distil_both.json`, which collects the data set sf2-both
with these words; one for words alone from `sf2_distil_words.json`, whose pictures are black:

    python -m server run build/controls/sf2_distil_both.json --workers 2 --episodes 160
    python -m server run sf2_train_base --set train.data=sf2-both --set train.name=sf2-both \\
        --set 'train.prompts=["{prompt}"]'
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from games.source.duel.controls import BLANK, Nodes, other_match, with_pictures, write_variants
from minibrains import MinibrainsError
from minibrains.files import bundled_dir
from nodes.language.prompt import PromptTemplate
from nodes.training.data_set import DataSet

PLAYER: Final = "sf2"
COLLECTOR: Final = "sf2_distil"
TEMPLATE: Final = "words.safetensors"
"""The file of the prompt, beside the workflows."""
_WORDS: Final = (
    "You are {own_status}, {own_height} high. The other is {enemy_status}, {enemy_height} high, "
    "{distance} away. You have {own_hp}, the other {enemy_hp}. Which action?"
)


def with_words(nodes: Nodes, asks: str, when: str) -> Nodes:
    """Return nodes in which something is told the situation in words.

    Args:
        nodes: The nodes of a workflow.
        asks: The node with the input `prompt`.
        when: The wire that says when it is needed.
    """
    features = {
        "type": "GameFeatures@1",
        "in": {"variables": "console.variables"},
        "when": when,
    }
    words = {
        "type": "PromptBuilder@1",
        "in": {"fight": "features.fight"},
        "brain": TEMPLATE,
        "when": when,
    }
    asked = nodes[asks]
    told = {**asked, "in": {**asked["in"], "prompt": "words.prompt"}}
    return {"features": features, **nodes, "words": words, asks: told}


def write_players(folder: Path, data: str) -> None:
    """Write the workflows that play. Raises OSError."""
    workflow = _read(PLAYER)
    nodes: Nodes = workflow["nodes"]
    shown = ("strategist", "image")
    told = with_words(nodes, "strategist", "ask.flag")
    variants = {
        "blank": with_pictures(nodes, BLANK, *shown),
        "other": with_pictures(nodes, other_match(data, pictures=1), *shown),
        "both": told,
        "words": with_pictures(told, BLANK, *shown),
    }
    write_variants(folder, PLAYER, workflow, variants)


def write_collectors(folder: Path) -> None:
    """Write the workflows that collect what the models for words learn from. Raises OSError."""
    workflow = _read(COLLECTOR)
    both: Nodes = with_words(workflow["nodes"], "writer", "worth.flag")
    blank = {**BLANK, "in": {"frame": "view.frame"}}
    writer = both["writer"]
    writing = {**writer, "in": {**writer["in"], "picture": "instead.frame"}}
    words = {**both, "instead": blank, "writer": writing}
    variants = {"both": _named(both, "sf2-both"), "words": _named(words, "sf2-words")}
    write_variants(folder, COLLECTOR, workflow, variants)


def _named(nodes: Nodes, name: str) -> Nodes:
    """Return nodes that write into the data set of this name."""
    return {**nodes, "writer": {**nodes["writer"], "set": {"name": name}}}


def _read(name: str) -> dict[str, Any]:
    text = (bundled_dir("workflows") / f"{name}.json").read_text()
    workflow: dict[str, Any] = json.loads(text)
    return workflow


def main() -> int:
    """Write the controls, and return the exit code: 0, or 2 if something is missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder for the workflows")
    parser.add_argument("--data", required=True, help="the name of the data set of other matches")
    options = parser.parse_args()
    folder: Path = options.folder
    try:
        DataSet.named(options.data).episodes()
        folder.mkdir(parents=True, exist_ok=True)
        template = PromptTemplate(template=_WORDS, close="", mid="", far="")
        template.save(
            folder / TEMPLATE,
            title="Duel: the situation in words",
            made_by="python -m games.source.duel.model_controls",
        )
        write_players(folder, options.data)
        write_collectors(folder)
    except (MinibrainsError, OSError) as error:
        parser.exit(2, f"{error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
