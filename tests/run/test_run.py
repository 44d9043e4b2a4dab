"""`run` as a person has it: results, reproducibility, stopping, bad requests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minibrains.files import bundled_dir
from nodes.policies.network import PolicyHeadBrain
from tests.support.timeouts import TIMEOUT

Summary = Callable[..., dict[str, Any]]
PIXELS = ("airstriker_pixels", "--ticks", 400)


def test_the_summary_has_what_it_promises(summary: Summary) -> None:
    result = summary("airstriker", "--episodes", 2, "--ticks", 300, "--seed", 5)
    assert result["game"] == "Airstriker-Genesis-v0"
    assert result["rom_sha1"] == "a8be7b0ca850119b167f9644e6a4a22e983d61a4"
    assert result["seed"] == 5
    assert result["ticks"] == 600
    assert result["ticks_per_s"] > 0
    assert result["tick_ms"]["p50"] <= result["tick_ms"]["p99"] <= result["tick_ms"]["max"]
    assert (result["clock"], result["misses"]) == ("fast", 0)
    assert "deadlines" not in result
    assert result["distinct_episodes"] == 2
    assert len(result["actions_sha256"]) == 64
    for episode in result["episodes"]:
        assert episode["ticks"] == 300
        assert episode["ended"] == "limit"
        assert episode["won"] is None, "this game has no such thing as winning"
        assert episode["start"]["state"] == "Level1"
        assert 0 <= episode["start"]["noops"] <= 30
    assert set(result["nodes"]) == {"console", "reflex", "sink", "score"}
    for node in result["nodes"].values():
        assert node["runs"] + node["skips"] == 600
        assert node["mean_us"] > 0
    run_dir = Path(result["run_dir"])
    assert json.loads((run_dir / "summary.json").read_text()) == result
    assert [
        json.loads(line) for line in (run_dir / "episodes.jsonl").read_text().splitlines()
    ] == result["episodes"]
    assert (
        json.loads((run_dir / "workflow.json").read_text())["nodes"]["sink"]["type"]
        == "EmulatorSink@1"
    )


def test_an_episode_that_is_over_says_so(summary: Summary) -> None:
    (episode,) = summary("airstriker", "--episodes", 1)["episodes"]
    assert episode["ended"] == "done"
    assert episode["score"] > 0
    assert episode["score"] % 20 == 0, "20 points an enemy"


def test_same_seed_same_actions_with_and_without_a_clip(summary: Summary, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    plain, filmed = summary(*PIXELS), summary(*PIXELS, "--video", clip)
    assert filmed["actions_sha256"] == plain["actions_sha256"]
    assert filmed["clip"] == str(clip)
    assert clip.read_bytes()[4:8] == b"ftyp"
    assert clip.stat().st_size > 10_000
    assert not list(tmp_path.glob("**/*.partial*"))


def test_other_seed_or_brain_other_actions(summary: Summary, tmp_path: Path) -> None:
    brain = PolicyHeadBrain.load(
        bundled_dir("models") / "policy_head/airstriker-untrained.safetensors"
    )
    other = PolicyHeadBrain(
        {name: array * 1.5 for name, array in brain.tensors.items()}, **brain.config
    )
    other.save(tmp_path / "other.safetensors", title="other", made_by="a test")
    hashes = [
        summary(*PIXELS)["actions_sha256"],
        summary(*PIXELS, "--seed", 1)["actions_sha256"],
        summary(*PIXELS, "--brain", "head=other.safetensors")["actions_sha256"],
    ]
    assert len(set(hashes)) == 3


def test_a_widget_set_at_the_command_line_counts(summary: Summary) -> None:
    result = summary("airstriker", "--ticks", 50, "--episodes", 1, "--set", "console.noop_max=0")
    assert result["episodes"][0]["start"]["noops"] == 0


def test_people_get_a_table(minibrains: Any) -> None:
    done = minibrains("run", "airstriker", "--ticks", 100, "--episodes", 2)
    assert done.returncode == 0
    for word in (
        "episode",
        "score",
        "ticks",
        "p50",
        "p99",
        "began in",
        "Level1",
        "slowest nodes",
        "console",
        "run folder",
    ):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["airstrikr"], ["no such workflow", "Did you mean 'airstriker'?"]),
        (["airstriker", "--set", "sink.speed=3"], ["sink", "no widget 'speed'"]),
        (
            ["airstriker", "--set", "console.noop_max=31"],
            ["console.noop_max", "int from 0 to 30", "31"],
        ),
        (
            ["airstriker", "--set", "console.noops=0"],
            ["RetroEmulator has no widget 'noops'", "It is called 'noop_max' now"],
        ),
        (
            ["sf2", "--set", "strategist.most=5"],
            ["VLMStrategist has no widget 'most'", "It is called 'max_tokens' now"],
        ),
        (
            ["airstriker", "--set", "consol.noop_max=3"],
            ["no node 'consol'", "Did you mean 'console'?"],
        ),
        (["airstriker", "--set", "noops"], ["NODE.WIDGET=VALUE"]),
        (["airstriker", "--brain", "sink=nothing.safetensors"], ["no brain 'nothing.safetensors'"]),
        (
            ["airstriker", "--brain", "sink=reflex/airstriker.safetensors"],
            ["expected a brain of kind 'action_table'"],
        ),
        (
            ["airstriker", "--set", 'console.game="Airstrike-Genesis-v0"'],
            ["no game", "Airstriker-Genesis-v0"],
        ),
        (["airstriker", "--set", 'console.states=["Level9"]'], ["no state 'Level9'", "Level1"]),
        (["airstriker", "--set", 'console.write={"lifes": 1}'], ["no variable 'lifes'", "lives"]),
        (["airstriker", "--video", "clip.avi"], ["ending in .mp4"]),
        (["airstriker", "--video", "nowhere/clip.mp4"], ["nowhere is not there"]),
        (
            ["airstriker", "--set", 'console.write={"lives": 99999999999}'],
            ["'lives' is >u2", "0 to 65535"],
        ),
        (["hello", "--video", "clip.mp4"], ["no running console"]),
        (
            ["airstriker_random", "--set", "random.actions=7"],
            ["sink.action", "index[6]", "index[7]"],
        ),
    ],
)
def test_a_wrong_request_is_one_sentence_and_exit_2(
    minibrains: Any, arguments: list[str], words: list[str]
) -> None:
    done = minibrains("run", *arguments, "--json")
    assert done.returncode == 2
    message = json.loads(done.stdout)["error"]["message"]
    for word in words:
        assert word in message
        assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_rom_says_where_it_looked_and_what_to_do(minibrains: Any) -> None:
    game = "StreetFighterIISpecialChampionEdition-Genesis-v0"
    done = minibrains("run", "airstriker", "--set", f'console.game=["{game}"]')
    assert done.returncode == 2
    for word in (game, "looked in", "home/roms", "python -m server roms import PATH"):
        assert word in done.stderr


def test_the_first_game_that_is_there_plays_and_is_named(minibrains: Any) -> None:
    games = '["StreetFighterIISpecialChampionEdition-Genesis-v0", "Airstriker-Genesis-v0"]'
    done = minibrains("run", "airstriker", "--ticks", 5, "--set", f"console.game={games}")
    assert done.returncode == 0
    assert "console: plays Airstriker-Genesis-v0" in done.stderr


def test_a_node_that_fails_is_named_and_the_summary_is_there(
    minibrains: Any, tmp_path: Path
) -> None:
    workflow = json.loads((bundled_dir("workflows") / "airstriker.json").read_text())
    workflow["nodes"]["hp"] = {
        "type": "Variable@1",
        "set": {"name": "hp"},
        "in": {"variables": "console.variables"},
    }
    (tmp_path / "broken.json").write_text(json.dumps(workflow))
    done = minibrains("run", "broken.json", "--json")
    assert done.returncode == 1
    printed = json.loads(done.stdout)
    assert (
        "hp (Variable) failed on tick 0: the game has no variable 'hp'"
        in printed["error"]["message"]
    )
    assert json.loads((Path(printed["run_dir"]) / "summary.json").read_text()) == printed
    assert "Traceback" not in done.stderr


def test_holding_an_error_goes_on_and_counts(summary: Summary, tmp_path: Path) -> None:
    workflow = json.loads((bundled_dir("workflows") / "airstriker.json").read_text())
    links = {"variables": "console.variables"}
    workflow["nodes"]["hp"] = {
        "type": "Variable@1",
        "set": {"name": "hp"},
        "in": links,
        "on_error": "hold",
    }
    (tmp_path / "broken.json").write_text(json.dumps(workflow))
    shutil.copytree(bundled_dir("models"), tmp_path, dirs_exist_ok=True)
    result = summary("broken.json", "--ticks", 20, "--episodes", 1)
    assert result["nodes"]["hp"]["errors"] == result["nodes"]["hp"]["runs"] == 20


def test_an_episode_that_failed_is_in_the_results(minibrains: Any, tmp_path: Path) -> None:
    (tmp_path / "brittle.py").write_text(
        "from minibrains import Node, Number\n\n\nclass Brittle(Node):\n"
        '    """Breaks on the third tick, and again when it is closed."""\n\n    def tick(self, '
        "number: Number) -> None:\n"
        '        if number > 0:\n            raise ValueError("REAL REASON")\n\n    '
        "def close(self) -> None:\n"
        '        raise OSError("close trouble")\n'
    )
    breaking = {"type": "brittle.Brittle@1", "in": {"number": "lives.number"}}
    lives = {
        "type": "Variable@1",
        "set": {"name": "lives"},
        "in": {"variables": "console.variables"},
    }
    nodes = {"console": {"type": "RetroEmulator@3"}, "lives": lives, "break": breaking}
    (tmp_path / "brittle.json").write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    done = minibrains("run", "brittle.json", "--pack", "brittle.py", "--json")
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert (
        result["error"]["message"]
        == "break (brittle.Brittle) failed on tick 0: ValueError: REAL REASON"
    )
    assert [episode["ended"] for episode in result["episodes"]] == ["failed"]
    assert result["ticks_per_s"] is not None or result["ticks"] == 0
    assert "break could not be closed: OSError: close trouble" in done.stderr
    assert "brittle.py" in (Path(result["run_dir"]) / "error.txt").read_text(), (
        "who wrote the node sees file and line"
    )


def test_a_pack_file_that_cannot_be_imported_is_a_sentence(minibrains: Any, tmp_path: Path) -> None:
    ends = "import sys; sys.exit(0)"
    for name, text in (("boom.py", "1/0"), ("syntax.py", "class X("), ("ends.py", ends)):
        (tmp_path / name).write_text(text)
        done = minibrains("run", "hello", "--pack", name)
        assert done.returncode == 2
        assert f"{name}: the file cannot be imported" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_node_class_that_is_declared_wrongly_is_named_with_its_file(
    minibrains: Any, tmp_path: Path
) -> None:
    text = "from minibrains import Node\nclass Odd(Node):\n    def tick(self, frame): ..."
    (tmp_path / "odd.py").write_text(text)
    done = minibrains("run", "hello", "--pack", "odd.py")
    assert done.returncode == 2
    expected = "odd.py: Odd.tick: the input 'frame' has no annotation; write its socket type"
    assert expected in done.stderr


def test_a_clip_of_a_workflow_with_a_writer_of_its_own(summary: Summary, tmp_path: Path) -> None:
    workflow = json.loads((bundled_dir("workflows") / "airstriker.json").read_text())
    small = {
        "type": "Resize@1",
        "set": {"width": 32, "height": 32},
        "in": {"frame": "console.frame"},
    }
    writer = {
        "type": "VideoWriter@1",
        "set": {"file": "thumb.mp4", "scale": 1},
        "in": {"frame": "small.frame"},
    }
    workflow["nodes"].update(small=small, thumb=writer)
    (tmp_path / "two.json").write_text(json.dumps(workflow))
    result = summary("two.json", "--ticks", 60, "--episodes", 1, "--video", "full.mp4")
    full, thumb = tmp_path / "full.mp4", Path(result["run_dir"]) / "thumb.mp4"
    assert full.stat().st_size > thumb.stat().st_size > 500
    assert result["clip"] == str(full)
    assert set(result["brains"]) == {"reflex", "sink", "video_pad"}


def test_a_run_folder_says_what_was_played(summary: Summary) -> None:
    result = summary("airstriker", "--ticks", 30, "--episodes", 2, "--seed", 9)
    saved = json.loads((Path(result["run_dir"]) / "workflow.json").read_text())
    assert saved["run"] == {"episodes": 2, "ticks": 30, "seed": 9, "clock": "fast"}
    again = summary(Path(result["run_dir"]) / "workflow.json")
    assert again["actions_sha256"] == result["actions_sha256"]
    assert again["brains"] == result["brains"]


def test_a_folder_that_cannot_be_written_is_a_sentence(minibrains: Any) -> None:
    done = minibrains("run", "hello", "--json", "--ticks", 50, "--runs", "/proc")
    assert done.returncode == 2
    assert "the run folder" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.slow
def test_ctrl_c_ends_the_run_after_the_tick_with_its_summary(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "server", "run", "airstriker", "--episodes", "100000", "--json",
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        episodes = _wait_for_an_episode(process, tmp_path)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 130, err
    result = json.loads(out)
    assert len(result["episodes"]) >= episodes
    assert result["episodes"][-1]["ended"] in ("stopped", "done"), (
        "done: the signal came between two episodes"
    )
    assert json.loads((Path(result["run_dir"]) / "summary.json").read_text()) == result


def _wait_for_an_episode(process: subprocess.Popen[str], folder: Path) -> int:
    while process.poll() is None:
        for file in folder.glob("runs/*/episodes.jsonl"):
            if count := len(file.read_text().splitlines()):
                return count
    raise AssertionError(f"the run ended by itself: {process.communicate()}")


@pytest.mark.slow
def test_reading_a_workflow_imports_no_emulator_and_no_torch(tmp_path: Path) -> None:
    commands = [["--help"]]
    for path in sorted(bundled_dir("workflows").glob("*.json")):
        commands.append(["check", str(path)])
    code = (
        "import sys\nfrom server.cli import main\n"
        f"for arguments in {commands!r}:\n"
        "    try: status = main(arguments)\n"
        "    except SystemExit as end: status = end.code\n"
        "    assert not status, (arguments, status)\n"
        "    loaded = {'torch', 'stable_retro', 'transformers', 'aiohttp'} & set(sys.modules)\n"
        "    assert not loaded, (arguments, loaded)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["run"], "WORKFLOW"),
        (["run", "hello", "--episodes", "0"], "expected a whole number from 1, found '0'"),
        (["run", "hello", "--sed", "1"], "--sed"),
        (["dance"], "dance"),
    ],
)
def test_a_wrong_command_line_is_exit_2(minibrains: Any, arguments: list[str], word: str) -> None:
    plain, as_json = minibrains(*arguments), minibrains(*arguments, "--json")
    assert plain.returncode == as_json.returncode == 2
    assert word in plain.stderr
    assert word in json.loads(as_json.stdout)["error"]["message"]
    assert plain.stdout == ""


def test_a_brain_that_was_dropped_into_the_editor_is_found_by_every_command(
    tmp_path: Path, minibrains: Callable[..., Any]
) -> None:
    models = tmp_path / "home" / "models"
    models.mkdir(parents=True)
    shutil.copy(
        bundled_dir("models") / "action_table/airstriker.safetensors",
        models / "dropped.safetensors",
    )
    workflow = json.loads((bundled_dir("workflows") / "airstriker_random.json").read_text())
    workflow["nodes"]["sink"]["brain"] = "dropped.safetensors"
    (tmp_path / "mine.json").write_text(json.dumps(workflow))
    for command in (
        ["run", "mine.json", "--ticks", "20"],
        ["run", "mine.json", "--ticks", "20", "--workers", "2"],
        ["run", "airstriker_random", "--ticks", "20", "--brain", "sink=dropped.safetensors"],
        ["check", "mine.json"],
        ["brain", "dropped.safetensors"],
    ):
        done = minibrains(*command)
        assert done.returncode == 0, done.stderr


def test_a_node_is_muted_for_one_run(summary: Summary) -> None:
    loud, muted = (
        summary("airstriker_random", "--episodes", 1, "--ticks", 60, *options)
        for options in ((), ("--mute", "sink"))
    )
    assert loud["nodes"]["sink"]["runs"] == 60
    assert "sink" not in muted["nodes"] or not muted["nodes"]["sink"]["runs"]


def test_muting_a_node_that_is_not_there_is_refused(minibrains: Callable[..., Any]) -> None:
    done = minibrains("run", "airstriker_random", "--mute", "sinc")
    assert done.returncode == 2
    assert "there is no node 'sinc'. Did you mean 'sink'" in done.stderr
