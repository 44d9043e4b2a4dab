"""The last actions are told in words, in play as in a training from a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from minibrains.errors import MinibrainsError
from minibrains.testing import play
from nodes.actions.history import ActionHistory
from nodes.fighting.features import GameFeatures
from nodes.language.prompt import PromptBuilder, PromptTemplate
from nodes.training.data_set import DataSet
from nodes.training.episode_file import Sample
from nodes.training.vlm_samples import VLMSamples
from tests.support.data_sets import INFO, TABLE, samples

PROMPT = "You did: {actions:2}. Which action?"
PLAYED = (1, None, 2, None, 0, 2, 2)
TOLD = ["nothing yet", "kick", "kick", "kick, punch", "kick, punch", "punch, wait", "wait, punch"]


def _told(node: ActionHistory, played: Sequence[int | None]) -> list[str]:
    """Return the text on each tick of an episode in which these actions are taken."""
    return [text for (text,) in play(node, *[{"action": action} for action in played])]


def test_the_last_actions_are_told_before_the_next_one() -> None:
    node = ActionHistory(brain=TABLE, prompt=PROMPT)
    assert _told(node, PLAYED) == [f"You did: {told}. Which action?" for told in TOLD]


def test_three_are_told_if_no_number_is_given() -> None:
    node = ActionHistory(brain=TABLE)
    assert _told(node, (1, 2, 0, 1, 0))[-1] == "punch, wait, kick"
    assert _told(node, (2,)) == ["nothing yet"]


def _write_episodes(folder: Path, count: int) -> DataSet:
    """Write episodes in which the actions of PLAYED are taken, and return the data set."""
    rows: list[Sample] = []
    for sample, action in zip(samples(len(PLAYED)), PLAYED, strict=True):
        rows.append(sample._replace(played=action, actionable=True))
    data = DataSet(folder)
    for episode in range(count):
        data.write(replace(INFO, episode=episode, samples=len(rows)), rows)
    return data


def _prompts(asked: VLMSamples) -> list[str]:
    """Return the question of each sample."""
    return [asked[row].prompt for row in range(len(asked))]


def test_a_training_asks_the_same_about_a_data_set(tmp_path: Path) -> None:
    data = _write_episodes(tmp_path, 2)
    asked = VLMSamples(data, data.episodes(), [PROMPT])
    node = ActionHistory(brain=TABLE, prompt=PROMPT)
    assert _prompts(asked) == _told(node, PLAYED) * 2


def test_samples_that_are_left_out_take_their_history_with_them(tmp_path: Path) -> None:
    data = _write_episodes(tmp_path, 2)
    asked = VLMSamples(data, data.episodes(), [PROMPT])
    labels, prompts = asked.labels.tolist(), _prompts(asked)
    wanted = labels[-1]
    expected: list[str] = []
    for label, prompt in zip(labels, prompts, strict=True):
        if label == wanted:
            expected.append(prompt)

    assert asked.leave_out_others([wanted]) == len(labels) - len(expected) > 0
    assert _prompts(asked) == expected


def test_a_description_of_the_fight_has_a_place_for_them() -> None:
    template = PromptTemplate(template="Before: {actions}.", close="", mid="", far="")
    names = ("hp", "x", "y", "status")
    variables = {f"{who}_{name}": 100 for who in ("agent", "enemy") for name in names}
    fight = GameFeatures().tick(variables).fight
    ticks = ({"fight": fight, "actions": "back, none"}, {"fight": fight, "actions": None})
    told, unlinked = play(PromptBuilder(brain=template), *ticks)
    assert (told.prompt, unlinked.prompt) == ("Before: back, none.", "Before: unknown.")


@pytest.mark.parametrize("prompt", ["Which action?", "{action}", "{actions:0}", "{actions:x}"])
def test_a_prompt_without_a_place_is_a_sentence(prompt: str) -> None:
    with pytest.raises(MinibrainsError, match=r"expected \{actions\} or \{actions:5\} in it"):
        ActionHistory(brain=TABLE, prompt=prompt).check()
