"""Save states that people make, from a workflow and from a recorded run."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minibrains import Episode, GameError
from minibrains.games.catalog import find_game
from minibrains.testing import ScratchHost, opened, play
from nodes.consoles.retro import RetroEmulator
from tests.support.command import Command
from tests.support.paths import DATA

PACK = DATA / "console_pack.py"
PAD = "Pad-Genesis"
DUEL = "Duel-Genesis"
HELD_BACK = "Level4.KazeVsTarn"
FORWARD = [{"pad1": ("RIGHT",)}] * 40

Summary = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "games"


def saved(name: str, ticks: int, replace: bool = False, **console: Any) -> Path:
    """Save the state of a console after some ticks of its first episode."""
    node = RetroEmulator(**console)
    with opened(node, ScratchHost(Path("/nonexistent"))):
        play(node, *[{}] * ticks)
        return node.save_state().keep(name, replace)


def shown(ticks: list[Any], **console: Any) -> list[Any]:
    """The variables of an episode, tick by tick."""
    node = RetroEmulator(**console)
    with opened(node, ScratchHost(Path("/nonexistent"))):
        return [
            variables for _, variables, *_ in play(node, *ticks, episode=Episode(0, 0, "console"))
        ]


# -- a console's state -----------------------------------------------------------------------------


def test_an_episode_goes_on_from_a_state_that_was_saved(games: Path) -> None:
    file = saved("After a while", 90, game=DUEL)
    assert file == games / DUEL / "After a while.state"
    assert find_game([DUEL]).state_file("After a while") == file
    # a start takes one frame without a button, with which a core loads the state
    whole = shown([{}] * 91 + FORWARD, game=DUEL)
    again = shown(FORWARD, game=DUEL, states=("After a while",))
    assert again == whole[91:]


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        ".hidden",
        "a.",
        "a ",
        "x" * 101,
        "a\nb",
        "Mine.state",
        "a:b",
    ],
)
def test_a_name_that_no_file_can_have_is_refused(name: str, games: Path) -> None:
    with pytest.raises(GameError, match="cannot be the name of a save state"):
        saved(name, 1, game=PAD)
    assert not games.exists()


def test_a_state_that_came_with_the_game_stays_its_own() -> None:
    with pytest.raises(GameError, match=f"'Start' is a save state that came with {PAD}"):
        saved("Start", 1, replace=True, game=PAD)
    with pytest.raises(GameError, match=f"'{HELD_BACK}' is a save state that"):
        saved(HELD_BACK, 1, replace=True, game=DUEL)


def test_one_of_one_s_own_is_only_replaced_if_that_is_said(games: Path) -> None:
    file = saved("Mine", 1, game=PAD)
    before = file.read_bytes()
    with pytest.raises(GameError, match=r"Mine\.state is there already; choose another name"):
        saved("Mine", 50, game=PAD)
    assert file.read_bytes() == before
    saved("Mine", 50, replace=True, game=PAD)
    assert file.read_bytes() != before
    assert [path.name for path in file.parent.iterdir()] == ["Mine.state"]


def test_nothing_is_saved_of_what_is_held_back(games: Path) -> None:
    with pytest.raises(
        GameError, match=f"began from the state '{HELD_BACK}', which .*splits.json holds back"
    ):
        saved("Mine", 60, game=DUEL, states=(HELD_BACK,))
    (games / DUEL).mkdir(parents=True)
    shutil.copyfile(find_game([DUEL]).state_file(HELD_BACK), games / DUEL / "Other.state")
    with pytest.raises(GameError, match="began from the state 'Other'"):
        saved("Mine", 60, game=DUEL, states=("Other",))
    with pytest.raises(GameError, match="began with 'enemy_character' written"):
        saved("Mine", 60, game=DUEL, write={"enemy_character": 1})
    saved("Mine", 60, game=DUEL, write={"seed": "$seed"})


def test_a_state_that_cannot_be_written_is_a_sentence(games: Path) -> None:
    games.parent.mkdir()
    games.write_text("in the way")
    with pytest.raises(GameError, match=r"Mine\.state: the save state cannot be written"):
        saved("Mine", 1, game=PAD)


# -- the command -----------------------------------------------------------------------------------


def variables(name: str) -> Any:
    return shown([{}], game=DUEL, states=(name,))


def test_a_tick_of_a_workflow_and_of_its_recorded_run_are_the_same(
    summary: Summary, minibrains: Command, minibrains_process: Command, games: Path
) -> None:
    played = summary("duel_expert", "--episodes", 2, "--ticks", 120, "--record")
    wanted = ("--episode", 2, "--tick", 100)
    done = minibrains("save-state", "duel_expert", "Played", *wanted)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{DUEL}, tick 100 of episode 2: {games / DUEL / 'Played.state'}\n"
    done = minibrains("save-state", played["run_dir"], "Recorded", *wanted, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "state": "Recorded", "game": DUEL, "episode": 2, "tick": 100,
        "file": str(games / DUEL / "Recorded.state"),
    }  # fmt: skip
    assert variables("Played") == variables("Recorded")
    assert minibrains_process("save-state", "duel_expert", "First", "--tick", 100).returncode == 0
    assert variables("First") != variables("Played"), "of the first episode"
    found = summary(
        "duel_expert", "--set", 'console.states=["Recorded"]', "--ticks", 30, "--episodes", 1
    )
    assert found["episodes"][0]["start"]["state"] == "Recorded"


def test_a_tape_of_an_older_version_will_do(minibrains: Command) -> None:
    tape = DATA / "tapes" / "duel_expert.tape"
    done = minibrains("save-state", tape, "Old", "--tick", 40)
    assert done.returncode == 0, done.stderr
    assert minibrains("save-state", "duel_expert", "New", "--tick", 40, "--seed", 7).returncode == 0
    assert variables("Old") == variables("New")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["no_such_thing", "Mine"], 2, "no such workflow file"),
        (["hello", "Mine"], 2, "one console, a RetroEmulator say, is needed; found 0"),
        (["duel_expert", "a/b"], 2, "cannot be the name of a save state"),
        (["duel_expert", HELD_BACK], 2, "is a save state that"),
        (
            ["duel_expert", "Mine", "--tick", "40000"],
            2,
            "ends an episode after 40000 ticks; expected a tick below",
        ),
        (["airstriker_random", "Mine", "--tick", "5399"], 1, "the episode ended on its tick"),
        (["duel_expert", "Mine", "--episode", "0"], 2, "expected a whole number from 1"),
        (["duel_expert", "Mine", "--tick", "-1"], 2, "expected a whole number from 0"),
    ],
)
def test_what_cannot_be_saved_is_a_sentence(
    arguments: list[str], status: int, words: str, minibrains: Command, games: Path
) -> None:
    done = minibrains("save-state", *arguments)
    assert done.returncode == status, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(games.rglob("*.state"))


def test_a_recorded_run_has_only_the_ticks_it_has(summary: Summary, minibrains: Command) -> None:
    run = summary("duel_expert", "--episodes", 2, "--ticks", 50, "--record")["run_dir"]
    for arguments, words in (
        (["--tick", 50], "that episode of the run has 50 ticks; expected one below"),
        (["--episode", 3], "the run has 2 episodes"),
        (["--seed", 3], "--set, --brain and --seed are for a workflow"),
        (["--set", "console.noop_max=3"], "--set, --brain and --seed are for a workflow"),
    ):
        done = minibrains("save-state", run, "Mine", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert words in done.stderr
    assert minibrains("save-state", run, "Last", "--tick", 49).returncode == 0
    assert minibrains("save-state", run, "Last", "--tick", 49).returncode == 2
    assert minibrains("save-state", run, "Last", "--tick", 48, "--force").returncode == 0


def test_a_run_without_a_tape_and_a_console_without_states(
    summary: Summary, minibrains: Command, tmp_path: Path
) -> None:
    done = minibrains(
        "save-state", summary("duel_expert", "--episodes", 1, "--ticks", 5)["run_dir"], "Mine"
    )
    assert done.returncode == 2
    assert "has no run.tape; record one with" in done.stderr
    workflow = {
        "minibrains": 1,
        "nodes": {"console": {"type": "console_pack.Counting@1", "set": {"game": "x"}}},
    }
    (tmp_path / "counting.json").write_text(json.dumps(workflow))
    done = minibrains("save-state", "counting.json", "Mine", "--pack", PACK)
    assert done.returncode == 2
    assert done.stderr == "Counting cannot save states\n"


def test_a_state_is_gzipped_as_stable_retro_reads_it() -> None:
    assert len(gzip.decompress(saved("Mine", 1, game=PAD).read_bytes())) > 10_000
