"""sf2 plays with a model of any family that sees, when nothing but its brain is another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import tiny_families
from tests.support.command import Command

pytestmark = [
    pytest.mark.usefixtures("tried_here"),
    # transformers' processor of PaliGemma
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

Summary = Callable[..., dict[str, Any]]
DIGITS = tuple("0123456789")
SEEING = sorted(tiny_families.FAMILIES.keys() - {"Qwen3"})


def _play(
    family: str, folder: Path, minibrains: Command, summary: Summary, *options: str
) -> dict[str, Any]:
    """Pack a tiny model of the family, play 300 ticks with it, and return the summary."""
    tiny_families.FAMILIES[family](folder / "folder")
    path = folder / "mine.safetensors"
    packed = minibrains("pack-model", folder / "folder", path, "--answers", *DIGITS)
    assert packed.returncode == 0, packed.stderr
    short = ("--episodes", "1", "--ticks", "300")
    return summary("sf2", "--brain", f"strategist={path}", *short, *options)


def _check_answers(played: dict[str, Any]) -> None:
    """Check that there are at least ten answers, and that none had to be replaced."""
    methods = played["episodes"][0]["parse_methods"]  # that of `parser`, and not of `other`
    assert "other.parse_methods" in played["episodes"][0]
    assert methods.pop("number") >= 10
    assert not any(methods.values()), methods
    assert "errors" not in played["nodes"]["strategist"]


@pytest.mark.slow
@pytest.mark.parametrize("family", SEEING)
def test_sf2_plays_with_another_model_when_only_its_brain_is_changed(
    family: str, tmp_path: Path, minibrains: Command, summary: Summary
) -> None:
    _check_answers(_play(family, tmp_path, minibrains, summary))


@pytest.mark.slow
def test_the_question_may_be_in_other_words(
    tmp_path: Path, minibrains: Command, summary: Summary
) -> None:
    question = "question.value=Two fighters.\nWhat does the one above do now? Say a number!"
    _check_answers(_play("Idefics3", tmp_path, minibrains, summary, "--set", question))
