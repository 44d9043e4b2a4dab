"""Controls of the network that plays Duel from pixels: does it win by what it sees?

    python -m games.source.duel.controls --data duel build/controls

writes workflows into the folder, to be evaluated with `--pack` control_nodes.py beside this file.
In them the network of sf2_pixels

- `sf2_pixels_blank.json`: is shown black pictures
- `sf2_pixels_other.json`: is shown pictures of another match, out of the data set
- `sf2_pixels_histogram.json`: is replaced by chance: each action is drawn as often as the network
  takes it, which is counted in some validation matches

Beside the data set it writes two others for duel_clone, NAME-blank and NAME-other. They have the
same samples with the same labels, but the pictures are black, or those of another match.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Mapping
from itertools import cycle, groupby
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from tqdm import tqdm

from minibrains import MinibrainsError, Run, RunSpec
from minibrains.files import bundled_dir
from nodes.policies.network import PolicyHead, PolicyHeadBrain
from nodes.training.data_set import DataSet
from nodes.training.episode_file import Sample, decode_picture, encode_picture

PLAYER = "sf2_pixels"
PACK = Path(__file__).with_name("control_nodes.py")
MATCHES = 20
"""The number of validation matches in which the network's actions are counted."""
NEVER = -20.0
"""The logit of an action that the network never takes."""

BLANK: Mapping[str, Any] = MappingProxyType({"type": "control_nodes.BlankPicture@1"})

Nodes = dict[str, dict[str, Any]]


# ---- in play ----


def with_pictures(
    nodes: Nodes, entry: Mapping[str, Any], looks: str = "fighters", socket: str = "frame"
) -> Nodes:
    """Return the nodes of a player with another one before what looks at pictures.

    Args:
        nodes: The nodes of the player.
        entry: The type and the settings of the other one.
        looks: The node that looks at pictures: its eyes, or its model.
        socket: The input for them.
    """
    looking = nodes[looks]
    instead = {**entry, "in": {"frame": looking["in"][socket]}, "when": looking["when"]}
    inputs = {**looking["in"], socket: "instead.frame"}
    return {**nodes, "instead": instead, looks: {**looking, "in": inputs}}


def with_chance(nodes: Nodes, brain: str) -> Nodes:
    """Return the nodes of the player with a brain of `histogram` from which actions are drawn.

    Args:
        nodes: The nodes of the player.
        brain: The name of the brain.
    """
    sampler = {**nodes["choose"], "set": {"mode": "sample"}}
    return {**nodes, "head": {**nodes["head"], "brain": brain}, "choose": sampler}


def count_actions(player: Mapping[str, Any], nodes: Nodes) -> Counter[int]:
    """Let the network play some validation matches, and count the actions that it takes.

    Raises MinibrainsError if an episode fails.
    """
    counter = {"type": "control_nodes.ActionCounter@1", "in": {"action": "gate.action"}}
    spec = RunSpec(
        {**player, "nodes": {**nodes, "counter": counter}},
        episodes=MATCHES,
        widgets={"console.states": ["validation/Level4.*"], "console.write": {"seed": "$seed"}},
        packs=(str(PACK),),
    )
    counts: Counter[int] = Counter()
    with Run(spec) as run:
        for episode in tqdm(run, desc="counting actions", total=MATCHES, disable=None):
            counts.update(episode.row["actions"])
    return counts


def histogram(brain: PolicyHeadBrain, counts: Mapping[int, int]) -> PolicyHeadBrain:
    """Return a network of the same sizes whose probabilities are the shares of the counts,
    whatever it is shown.
    """
    import torch

    head = PolicyHead(brain=brain)
    net: Any = head.make_module()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
        net.output.bias.fill_(NEVER)
        for action, count in counts.items():
            net.output.bias[action] = math.log(count / sum(counts.values()))
    made: PolicyHeadBrain = head.brain_of(net)
    return made


def write_players(folder: Path, data: str) -> None:
    """Write the workflows, and the brain of the last one. Raises MinibrainsError or OSError."""
    player = json.loads((bundled_dir("workflows") / f"{PLAYER}.json").read_text())
    nodes: Nodes = player["nodes"]
    brain = PolicyHeadBrain.load(bundled_dir("models") / nodes["head"]["brain"])
    folder.mkdir(parents=True, exist_ok=True)
    chance = folder / "histogram.safetensors"
    histogram(brain, count_actions(player, nodes)).save(
        chance,
        title="Duel: the histogram of a network's actions",
        made_by="python -m games.source.duel.controls",
    )
    players = {
        "blank": with_pictures(nodes, BLANK),
        "other": with_pictures(nodes, other_match(data)),
        "histogram": with_chance(nodes, chance.name),
    }
    write_variants(folder, PLAYER, player, players)


def other_match(data: str, **settings: Any) -> dict[str, Any]:
    """Return the entry of a node that shows pictures of other matches of a data set."""
    return {"type": "control_nodes.OtherMatch@1", "set": {"name": data, **settings}}


def write_variants(
    folder: Path, name: str, workflow: Mapping[str, Any], variants: Mapping[str, Nodes]
) -> None:
    """Write a workflow with other nodes, as NAME_VARIANT.json. Raises OSError."""
    for control, nodes in variants.items():
        path = folder / f"{name}_{control}.json"
        path.write_text(json.dumps({**workflow, "nodes": nodes}, indent=1) + "\n")


# ---- in training ----


def write_data(source: DataSet, blank: DataSet, other: DataSet) -> None:
    """Write the samples of a data set with black pictures, and with those of another match.

    Raises DataError.
    """
    episodes = source.episodes()
    before = source.read(episodes[-1]).pictures
    bar = tqdm(total=len(episodes), desc="writing data sets", disable=None)
    for info, pairs in groupby(source.samples(), key=itemgetter(0)):
        samples = [sample for _, sample in pairs]
        black = encode_picture(np.zeros_like(decode_picture(samples[0].picture)))
        blank.write(info, [sample._replace(picture=black) for sample in samples])

        elsewhere: list[Sample] = []
        for sample, picture in zip(samples, cycle(before), strict=False):
            elsewhere.append(sample._replace(picture=picture))
        other.write(info, elsewhere)
        before = [sample.picture for sample in samples]
        bar.update()
    bar.close()


def main() -> int:
    """Write the controls, and return the exit code: 0, or 2 if something is missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder for the workflows")
    parser.add_argument("--data", required=True, help="the name of the data set")
    options = parser.parse_args()
    try:
        source = DataSet.named(options.data)
        source.episodes()
        write_players(options.folder, options.data)
        name = options.data
        write_data(source, DataSet.named(f"{name}-blank"), DataSet.named(f"{name}-other"))
    except (MinibrainsError, OSError) as error:
        parser.exit(2, f"{error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
