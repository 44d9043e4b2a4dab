"""What was asked and answered, in the run folder: whole decisions,
also of a run that was killed.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from minibrains import MinibrainsError
from minibrains.errors import RunError
from minibrains.files import bundled_dir
from minibrains.testing import ScratchHost, opened, play
from nodes.actions.sink import ActionTable
from nodes.recording.decision_log import DecisionLog
from tests.support.timeouts import TIMEOUT

TABLE = ActionTable.load(bundled_dir("models") / "action_table/sf2.safetensors")
BLACK = np.full((16, 24, 3), 0, np.uint8)
WHITE = np.full((16, 24, 3), 255, np.uint8)
GREY = np.full((16, 24, 1), 128, np.uint8)


def decisions(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "decisions.jsonl").read_text().splitlines()]


def logged(folder: Path, *ticks: dict[str, Any], **widgets: Any) -> list[dict[str, Any]]:
    node = DecisionLog(brain=TABLE, **widgets)
    with opened(node, ScratchHost(folder, "decisions")):
        play(node, *ticks)
    return decisions(folder)


def picture_of(folder: Path, line: dict[str, Any]) -> np.ndarray:
    return np.asarray(Image.open(folder / line["image"]))


def asked(
    image: np.ndarray | None, prompt: str = "what now?", text: str = "21", action: int = 21
) -> dict[str, Any]:
    return {"image": image, "prompt": prompt, "text": text, "method": "basic", "action": action}


def test_a_line_a_decision_with_its_picture(tmp_path: Path) -> None:
    first, second, grey = logged(
        tmp_path,
        asked(BLACK),
        {"image": WHITE},
        asked(WHITE, "und jetzt, Jürgen?", "9", 9),
        asked(GREY),
    )
    assert np.array_equal(picture_of(tmp_path, first), BLACK)
    del first["image"]
    expected = {
        "episode": 0,
        "tick": 0,
        "prompt": "what now?",
        "text": "21",
        "method": "basic",
        "action": 21,
        "name": "A",
    }
    assert first == expected
    assert (second["prompt"], second["name"]) == ("und jetzt, Jürgen?", "X")
    assert np.array_equal(picture_of(tmp_path, second), WHITE)
    assert np.array_equal(picture_of(tmp_path, grey), GREY[:, :, 0])


def test_how_much_of_the_pictures_is_unknown_is_told(tmp_path: Path) -> None:
    node = DecisionLog(brain=TABLE)
    with opened(node, ScratchHost(tmp_path, "decisions")):
        play(
            node,
            {**asked(BLACK), "unknown": 1.0},
            {"image": WHITE, "unknown": 0.0},
            {**asked(WHITE), "unknown": 0.5},
        )
        assert node.report() == {"unknown_tiles": 0.75}
    first, second = decisions(tmp_path)
    assert first["unknown"] == 1.0
    assert second["unknown"] == 0.5


def test_an_answer_that_comes_later_has_a_line_of_its_own(tmp_path: Path) -> None:
    question = {"image": BLACK, "prompt": "?"}
    answer = {"image": WHITE, "text": "9", "method": "basic", "action": 9}
    first, second = logged(tmp_path, question, {"image": WHITE}, answer)
    assert set(first) - {"episode", "tick"} == {"prompt", "image"}
    assert set(second) - {"episode", "tick"} == {"text", "method", "action", "name"}


def test_equal_pictures_are_one_file_and_there_are_only_so_many(tmp_path: Path) -> None:
    one = asked(np.full((8, 8, 3), 1, np.uint8))
    two = asked(np.full((8, 8, 3), 2, np.uint8))
    three = asked(np.full((8, 8, 3), 3, np.uint8))
    first, second, third, fourth, fifth = logged(tmp_path, one, two, one, three, two, pictures=2)
    assert len(list((tmp_path / "decisions").iterdir())) == 2
    assert third["image"] == first["image"]
    assert "image" not in fourth, "there are two pictures already"
    assert fifth["image"] == second["image"]


def test_half_a_surrogate_pair_is_written_as_json_has_it(tmp_path: Path) -> None:
    assert logged(tmp_path, asked(BLACK, "\ud83d ?"))[0]["prompt"] == "\ud83d ?"


def test_a_picture_that_is_no_picture_is_a_sentence_and_nobody_waits_for_ever(
    tmp_path: Path,
) -> None:
    with pytest.raises(RunError, match=r"decisions\.jsonl cannot be written: TypeError"):
        logged(tmp_path, *[asked(np.zeros((8, 8, 5), np.uint8))] * 200)


def test_an_action_that_the_table_does_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        MinibrainsError, match="action 44 is not in the action table, which has 0 to 43"
    ):
        logged(tmp_path, asked(BLACK, action=44))


WORKFLOW = {
    "minibrains": 1,
    "run": {"ticks": 100, "episodes": 4},
    "nodes": {
        "console": {
            "type": "RetroEmulator@3",
            "set": {"game": "Duel-Genesis"},
            "in": {"pad1": "sink.pad"},
        },
        "features": {"type": "GameFeatures@1", "in": {"variables": "console.variables"}},
        "clock": {"type": "Every@1", "set": {"ticks": 30}},
        "prompt": {
            "type": "PromptBuilder@1",
            "in": {"fight": "features.fight"},
            "when": "clock.now",
            "brain": "prompt_template/sf2.safetensors",
        },
        "parser": {
            "type": "ActionParser@2",
            "in": {"text": "prompt.prompt"},
            "brain": "reply_words/sf2.safetensors",
        },
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "parser.action", "facing": "features.facing"},
            "brain": "action_table/sf2.safetensors",
        },
        "decisions": {
            "type": "DecisionLog@2",
            "in": {
                "image": "console.frame",
                "prompt": "prompt.prompt",
                "text": "prompt.prompt",
                "method": "parser.method",
                "action": "parser.action",
            },
            "when": "clock.now",
            "brain": "action_table/sf2.safetensors",
        },
    },
}


@pytest.fixture
def workflow(tmp_path: Path) -> Path:
    (tmp_path / "asks.json").write_text(json.dumps(WORKFLOW))
    return tmp_path / "asks.json"


@pytest.mark.parametrize("workers", [(), ("--workers", 2)])
def test_a_run_leaves_its_decisions(
    summary: Callable[..., dict[str, Any]], workflow: Path, workers: tuple[Any, ...]
) -> None:
    folder = Path(summary(workflow, *workers)["run_dir"])
    folders = [folder]
    if workers:
        folders = list(folder.glob("workers/*"))
    found = []
    for each in folders:
        for line in decisions(each):
            found.append((line["episode"], line["tick"]))
            assert line["prompt"] == line["text"]
            assert TABLE.names[line["action"]] == line["name"]
            assert picture_of(each, line).shape == (224, 320, 3)
    assert sorted(found) == list(itertools.product(range(4), (0, 30, 60, 90)))


def test_a_killed_run_leaves_whole_decisions(workflow: Path, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "server", "run", workflow, "--ticks", 10**9, "--set", "clock.ticks=1",
    ]  # fmt: skip
    with subprocess.Popen([*map(str, command)], cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + TIMEOUT
        while (
            not (found := [*tmp_path.glob("runs/*/decisions.jsonl")])
            or found[0].read_text().count("\n") < 50
        ):
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    text = found[0].read_text()
    whole = text[: text.rindex("\n")]
    for tick, decision in enumerate(whole.splitlines()):
        line = json.loads(decision)
        assert line["tick"] == tick
        Image.open(found[0].parent / line["image"]).load()
