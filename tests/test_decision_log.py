"""What was asked and answered, in the run folder: whole decisions, also of a run that was killed."""

from __future__ import annotations

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
from minibrains.files import shipped
from minibrains.testing import ScratchHost, opened, play
from nodes.actions.sink import ActionTable
from nodes.recording.decision_log import DecisionLog

TABLE = ActionTable.load(shipped("models") / "action_table/sf2.safetensors")
BLACK, WHITE, GREY = (np.full((16, 24, colors), shade, np.uint8) for shade, colors in ((0, 3), (255, 3), (128, 1)))


def decisions(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "decisions.jsonl").read_text().splitlines()]


def logged(folder: Path, *ticks: dict[str, Any], **widgets: Any) -> list[dict[str, Any]]:
    node, host = DecisionLog(brain=TABLE, **widgets), ScratchHost(folder, "decisions")
    with opened(node, host):
        play(node, *ticks)
    return decisions(folder)


def asked(image: np.ndarray | None, prompt: str = "what now?", text: str = "21", action: int = 21) -> dict[str, Any]:
    return {"image": image, "prompt": prompt, "text": text, "rung": "basic", "action": action}


def test_a_line_a_decision_with_its_picture(tmp_path: Path) -> None:
    first, second, grey = logged(
        tmp_path, asked(BLACK), {"image": WHITE}, asked(WHITE, "und jetzt, Jürgen?", "9", 9), asked(GREY)
    )
    picture = first.pop("image")
    expected = {"episode": 0, "tick": 0, "prompt": "what now?", "text": "21", "rung": "basic", "action": 21, "name": "A"}
    assert first == expected
    assert np.array_equal(np.asarray(Image.open(tmp_path / picture)), BLACK)
    assert (second["prompt"], second["name"]) == ("und jetzt, Jürgen?", "X")
    assert np.array_equal(np.asarray(Image.open(tmp_path / second["image"])), WHITE)
    assert np.array_equal(np.asarray(Image.open(tmp_path / grey["image"])), GREY[:, :, 0])


def test_how_much_of_the_pictures_is_unknown_is_told(tmp_path: Path) -> None:
    node = DecisionLog(brain=TABLE)
    with opened(node, ScratchHost(tmp_path, "decisions")):
        play(node, {**asked(BLACK), "unknown": 1.0}, {"image": WHITE, "unknown": 0.0}, {**asked(WHITE), "unknown": 0.5})
        assert node.report() == {"unknown_tiles": 0.75}
    assert [line["unknown"] for line in decisions(tmp_path)] == [1.0, 0.5]


def test_an_answer_that_comes_later_has_a_line_of_its_own(tmp_path: Path) -> None:
    question, answer = {"image": BLACK, "prompt": "?"}, {"image": WHITE, "text": "9", "rung": "basic", "action": 9}
    lines = logged(tmp_path, question, {"image": WHITE}, answer)
    assert [set(line) - {"episode", "tick"} for line in lines] == [{"prompt", "image"}, {"text", "rung", "action", "name"}]


def test_equal_pictures_are_one_file_and_there_are_only_so_many(tmp_path: Path) -> None:
    shades = [np.full((8, 8, 3), shade, np.uint8) for shade in (1, 2, 1, 3, 2)]
    lines = logged(tmp_path, *map(asked, shades), pictures=2)
    assert len(list((tmp_path / "decisions").iterdir())) == 2
    assert [line.get("image") for line in lines] == [
        lines[0]["image"],
        lines[1]["image"],
        lines[0]["image"],
        None,
        lines[1]["image"],
    ]


def test_half_a_surrogate_pair_is_written_as_json_has_it(tmp_path: Path) -> None:
    assert logged(tmp_path, asked(BLACK, "\ud83d ?"))[0]["prompt"] == "\ud83d ?"


def test_a_picture_that_is_no_picture_is_a_sentence_and_nobody_waits_for_ever(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"decisions\.jsonl cannot be written: TypeError"):
        logged(tmp_path, *[asked(np.zeros((8, 8, 5), np.uint8))] * 200)


def test_an_action_that_the_table_does_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(MinibrainsError, match="action 44 is not in the action table, which has 0 to 43"):
        logged(tmp_path, asked(BLACK, action=44))


WORKFLOW = {
    "minibrains": 1,
    "run": {"ticks": 100, "episodes": 4},
    "nodes": {
        "console": {"type": "RetroEmulator@2", "set": {"game": "Duel-Genesis"}, "in": {"pad1": "sink.pad"}},
        "features": {"type": "GameFeatures@1", "in": {"variables": "console.variables"}},
        "clock": {"type": "Every@1", "set": {"ticks": 30}},
        "prompt": {
            "type": "PromptBuilder@1",
            "in": {"fight": "features.fight"},
            "when": "clock.now",
            "brain": "prompt/sf2.safetensors",
        },
        "parser": {"type": "ActionParser@1", "in": {"text": "prompt.prompt"}, "brain": "reply_words/sf2.safetensors"},
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "parser.action", "facing": "features.facing"},
            "brain": "action_table/sf2.safetensors",
        },
        "decisions": {
            "type": "DecisionLog@1",
            "in": {
                "image": "console.frame",
                "prompt": "prompt.prompt",
                "text": "prompt.prompt",
                "rung": "parser.rung",
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
def test_a_run_leaves_its_decisions(summary: Callable[..., dict[str, Any]], workflow: Path, workers: tuple[Any, ...]) -> None:
    folder = Path(summary(workflow, *workers)["run_dir"])
    folders = sorted(folder.glob("workers/*")) if workers else [folder]
    lines = [(each, line) for each in folders for line in decisions(each)]
    found = sorted((line["episode"], line["tick"]) for _, line in lines)
    assert found == [(episode, tick) for episode in range(4) for tick in (0, 30, 60, 90)]
    for each, line in lines:
        assert line["prompt"] == line["text"]
        assert TABLE.names[line["action"]] == line["name"]
        assert np.asarray(Image.open(each / line["image"])).shape == (224, 320, 3)


def test_a_killed_run_leaves_whole_decisions(workflow: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "server", "run", workflow, "--ticks", 10**9, "--set", "clock.ticks=1"]
    with subprocess.Popen([*map(str, command)], cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while not (found := [*tmp_path.glob("runs/*/decisions.jsonl")]) or found[0].read_text().count("\n") < 50:
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    text = found[0].read_text()
    lines = [json.loads(line) for line in text[: text.rindex("\n")].splitlines()]
    assert [line["tick"] for line in lines] == list(range(len(lines)))
    for line in lines:
        Image.open(found[0].parent / line["image"]).load()
