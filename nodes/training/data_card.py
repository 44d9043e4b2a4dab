"""The card of a data set: a page of Markdown with what is in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import get_args

from nodes.training.episode_file import SUFFIX, EpisodeLabels, Outcome


def describe_data(name: str, read: Sequence[EpisodeLabels]) -> str:
    """Describe a data set in Markdown: counts, hours of play, actions, states.

    The first lines tell Hugging Face where the data is.

    Args:
        name: The name of the data set.
        read: The labels of all of its episodes, at least one.
    """
    episodes = [labels.info for labels in read]
    labelled: Counter[int] = Counter()
    played: Counter[int] = Counter()
    for labels in read:
        labelled.update(labels.actions.tolist())
        played.update(labels.played.tolist())
    first = episodes[0]
    samples = ticks = by_hand = 0
    seconds = 0.0
    outcomes: Counter[Outcome] = Counter()
    trajectories: set[str] = set()
    for info in episodes:
        samples += info.samples
        ticks += info.ticks
        if info.frame_rate:
            seconds += info.ticks / info.frame_rate
        outcomes[info.outcome] += 1
        trajectories.add(info.trajectory_sha256 or info.key)
        by_hand += bool(info.corrections_sha256)
    lines = [
        "---",
        f"pretty_name: {json.dumps(name)}",
        "configs:",
        "- config_name: default",
        f'  data_files: "*{SUFFIX}"',
        "---",
        "",
        f"# {name}",
        "",
        f"Labelled moments of {first.game} (ROM {first.rom_sha1}), collected by Minibrains.",
        "",
        "| | |",
        "|---|---|",
        f"| episodes | {len(episodes)}, {len(trajectories)} distinct |",
        f"| samples | {samples} |",
        f"| ticks | {ticks} |",
        f"| hours of play | {seconds / 3600:.2f} |",
    ]
    for outcome in get_args(Outcome):
        if outcomes[outcome]:
            lines.append(f"| {outcome} | {outcomes[outcome]} |")
    if by_hand:
        lines.append(f"| episodes corrected by hand | {by_hand} |")
    lines += [
        "",
        "## Actions",
        "",
        "| | action | labels | share | played |",
        "|---|---|---|---|---|",
    ]
    for index, action in enumerate(first.actions):
        if labelled[index] or played[index]:
            share = f"{100 * labelled[index] / samples:.1f} %"
            lines.append(f"| {index} | {action} | {labelled[index]} | {share} | {played[index]} |")
    lines += ["", "## States", "", "| state | episodes | samples | won |", "|---|---|---|---|"]
    for state in sorted({info.state for info in episodes}):
        those = [info for info in episodes if info.state == state]
        won = sum(info.outcome == "won" for info in those)
        count = sum(info.samples for info in those)
        lines.append(f"| {state} | {len(those)} | {count} | {won} |")
    lines += [
        "",
        "## Workflows",
        "",
        "| workflow | SHA-256 | seed | episodes |",
        "|---|---|---|---|",
    ]
    workflows = Counter((info.workflow, info.workflow_sha256, info.seed) for info in episodes)
    for (workflow, sha256, seed), count in sorted(workflows.items()):
        lines.append(f"| {workflow} | {sha256[:16]} | {seed} | {count} |")
    return "\n".join(lines) + "\n"
