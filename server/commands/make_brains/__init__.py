"""The command `make-brains`: rebuild the shipped brains byte for byte.

Most are made by functions here. Those that are learned from games come from shipped workflows, as a
user's own brains do. Networks are trained for longer than this command should take, by workflows
too; it names them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from minibrains.errors import MinibrainsError, suggest
from minibrains.graph.catalog import present_name
from server.cli import DONE
from server.commands.make_brains import (
    action_tables,
    duel_tiles,
    exploring,
    fighting,
    language,
    meadow_tiles,
    pictures,
    policies,
    policy_network,
    rewards,
)
from server.commands.make_brains.made_brain import MadeBrain
from server.commands.make_brains.policy_network import FULL, SLIM
from server.commands.make_brains.workflow_brain import WorkflowBrain

MAKERS: Mapping[str, Callable[[], MadeBrain]] = {
    "action_head/sf2-slim-untrained.safetensors": partial(policy_network.actions, SLIM),
    "action_table/airstriker.safetensors": action_tables.airstriker,
    "action_table/combos57.safetensors": action_tables.combos57,
    "action_table/combos57-by-facing.safetensors": action_tables.combos57_by_facing,
    "action_table/duel.safetensors": action_tables.duel,
    "action_table/meadow.safetensors": action_tables.meadow,
    "action_table/sf2.safetensors": action_tables.sf2,
    "button_calibration/airstriker.safetensors": policies.airstriker_likelier,
    "button_head/airstriker-untrained.safetensors": policies.airstriker_buttons_untrained,
    "button_history/genesis8.safetensors": action_tables.genesis8,
    "cross_attention/sf2-slim-untrained.safetensors": partial(policy_network.groups, SLIM),
    "feature_history/sf2.safetensors": policy_network.history,
    "fight_vector/duel.safetensors": fighting.duel_vector,
    "fight_vector/sf2.safetensors": fighting.fight_vector,
    "frame_encoder/sf2-slim-untrained.safetensors": partial(policy_network.encoder, SLIM),
    "frame_stack/grey4.safetensors": policies.grey4,
    "frame_stack/masks3.safetensors": policies.masks3,
    "frame_stack/rgb8.safetensors": policies.rgb8,
    "lora_adapter/sf2-untrained.safetensors": language.untrained_lora,
    "overlay_style/duel.safetensors": pictures.duel_overlay,
    "overlay_style/fighters.safetensors": pictures.fighters_overlay,
    "overlay_style/plain.safetensors": pictures.plain_overlay,
    "pad_face/plain.safetensors": pictures.plain_face,
    "policy_head/airstriker-untrained.safetensors": policies.airstriker_untrained,
    "prompt_template/sf2.safetensors": fighting.prompt,
    "recovery/airstriker.safetensors": action_tables.airstriker_recovery,
    "recovery/sf2.safetensors": action_tables.sf2_recovery,
    "reflex/airstriker.safetensors": policies.airstriker_sweep,
    "reply_words/sf2.safetensors": fighting.reply_words,
    "reward_weights/bars.safetensors": rewards.bars,
    "reward_weights/dense.safetensors": rewards.dense,
    "reward_weights/sparse.safetensors": rewards.sparse,
    "simple_players/duel.safetensors": fighting.simple_players,
    "temporal_attention/sf2-slim-untrained.safetensors": partial(policy_network.times, SLIM),
    "tile_codebook/duel.safetensors": duel_tiles.duel,
    "tile_codebook/flat.safetensors": pictures.flat_tiles,
    "tile_codebook/meadow.safetensors": meadow_tiles.meadow,
    "value_head/sf2-slim-untrained.safetensors": partial(policy_network.value, SLIM),
    "vector_policy/combos-untrained.safetensors": policies.combos_untrained,
    "vector_policy/duel-untrained.safetensors": policies.duel_untrained,
    "vector_policy/fight-untrained.safetensors": policies.fight_untrained,
    "vector_memory/duel-untrained.safetensors": policies.duel_memory_untrained,
    "vlm/sf2-untrained.safetensors": language.untrained_vlm,
    "walk_script/maze.safetensors": exploring.maze_walk,
    "walk_script/meadow.safetensors": exploring.meadow_walk,
    "walk_script/north.safetensors": exploring.north_walk,
}
"""File in models/ -> the function that makes it."""

LARGE: Mapping[str, Callable[[], MadeBrain]] = {
    "action_head/sf2-full-untrained.safetensors": partial(policy_network.actions, FULL),
    "cross_attention/sf2-full-untrained.safetensors": partial(policy_network.groups, FULL),
    "frame_encoder/sf2-full-untrained.safetensors": partial(policy_network.encoder, FULL),
    "temporal_attention/sf2-full-untrained.safetensors": partial(policy_network.times, FULL),
    "value_head/sf2-full-untrained.safetensors": partial(policy_network.value, FULL),
}
"""File -> the function that makes it, for brains that are too large to be shipped: only those that
are named are made."""

FROM_WORKFLOWS: Mapping[str, WorkflowBrain] = {
    "fighter_colors/duel.safetensors": WorkflowBrain("duel_colors", "fighter_colors.safetensors"),
}
"""File in models/ -> the workflow that makes it. Its hash is in the header of the brain, so its
file keeps the versions of nodes with which the brain was made."""

TRAINED: Mapping[str, str] = {
    "action_head/sf2-slim.safetensors": "docs/reinforcement.md",
    "cross_attention/sf2-slim.safetensors": "docs/reinforcement.md",
    "frame_encoder/sf2-slim.safetensors": "docs/reinforcement.md",
    "temporal_attention/sf2-slim.safetensors": "docs/reinforcement.md",
    "policy_head/duel.safetensors": "docs/cloning.md",
    "vector_policy/combos.safetensors": "docs/reinforcement.md",
    "vector_policy/duel.safetensors": "docs/reinforcement.md",
    "vector_policy/fight.safetensors": "docs/reinforcement.md",
    "vlm/sf2.safetensors": "docs/sf2.md",
    "lora_adapter/sf2-aggressive.safetensors": "docs/sf2.md",
    "lora_adapter/sf2-defensive.safetensors": "docs/sf2.md",
    "lora_adapter/sf2-kicks.safetensors": "docs/sf2.md",
}
"""File in models/ -> the page that says how it was trained."""


def main(arguments: argparse.Namespace) -> int:
    """Make the named brains, or all of them, and print the SHA-256 of each.

    Raises MinibrainsError for an unknown name.
    """
    in_models = [*MAKERS, *FROM_WORKFLOWS]
    known = [*in_models, *LARGE]
    names = [present_name(name) for name in arguments.names or in_models]
    for name in names:
        if name in TRAINED:
            raise MinibrainsError(f"{name} is trained for a while; {TRAINED[name]} says how")
        if name not in known:
            hint = suggest(name, known) or f"Expected some of {', '.join(known)}"
            raise MinibrainsError(f"there is no shipped brain {name!r} to make. {hint}")
    folder = Path(arguments.into)
    for name in names:
        if name in FROM_WORKFLOWS:
            digest = FROM_WORKFLOWS[name].save(folder / name)
        else:
            make = MAKERS.get(name) or LARGE[name]
            digest = make().save(folder / name)
        print(f"{digest}  {name}", flush=True)
    return DONE
