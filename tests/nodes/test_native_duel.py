"""Duel compiled for this computer, in a workflow: everything goes as on the ROM."""

from __future__ import annotations

import gzip
import json
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import Budget, Console, Episode, GameError, Hook, Run, RunSpec
from minibrains.errors import WorkflowError
from minibrains.files import bundled_dir
from minibrains.games.splits import Splits
from minibrains.testing import Inputs, ScratchHost, opened, play
from nodes.consoles.native_duel import GAME, PAD_BITS, NativeDuel
from nodes.consoles.retro import RetroEmulator

REACHED = (
    "training/Level*", "training/TwoPads*", "validation/*", "held_back/*",
)  # fmt: skip


# -- as on the ROM ---------------------------------------------------------------------------------


class Watch(Hook):
    """Keeps pads, variables and the rest of every tick."""

    def __init__(self) -> None:
        self.ticks: list[Any] = []

    def between_ticks(self, run: Run) -> Budget:
        variables = run.peek("console.variables")
        shown = [run.peek(f"console.{name}") for name in ("reward", "terminated", "truncated")]
        self.ticks.append((run.peek("sink.pad"), *variables.items(), *shown))
        return Budget(ticks=1)


def played(workflow: str, console: str, widgets: Mapping[str, Any]) -> tuple[list[Any], Any]:
    """Play a shipped workflow with another console; return its ticks and its episodes."""
    whole = json.loads((bundled_dir("workflows") / f"{workflow}.json").read_text())
    whole["nodes"]["console"]["type"] = console
    watch = Watch()
    with Run(RunSpec(whole, episodes=1, widgets=widgets, seed=5), [watch]) as run:
        (episode,) = run
    return watch.ticks, episode


@pytest.mark.parametrize(
    ("workflow", "states"),
    [("sf2_scripted", "training/Level9.*"), ("duel_random", "validation/Level[13579].*")],
)
def test_a_workflow_plays_on_the_rom_as_it_plays_here(workflow: str, states: str) -> None:
    widgets = {
        "console.game": GAME, "console.states": [states], "console.noop_max": 30,
        "console.write": {"seed": "$seed"},
    }  # fmt: skip
    there, on_rom = played(workflow, "RetroEmulator@3", widgets)
    here, native = played(workflow, "NativeDuel@2", widgets)
    assert on_rom.ended == "done"
    assert on_rom.ticks == len(there) > 1000
    for tick, (expected, found) in enumerate(zip(there, here, strict=True)):
        assert found == expected, tick
    assert native == on_rom, "with all hashes"


def random_pads(count: int) -> list[Inputs]:
    """Pads with any buttons, also opposite ones, each held for a while."""
    rng = np.random.default_rng(3)
    ticks: list[Inputs] = []
    while len(ticks) < count:
        held = [tuple(name for name in PAD_BITS if rng.random() < 0.2) for _ in range(2)]
        ticks += [{"pad1": held[0], "pad2": held[1]}] * 8
    return ticks[:count]


def both(ticks: list[Inputs], episode: Episode, **widgets: Any) -> tuple[Any, Any]:
    """Play the same episode on the ROM and here; return both, without pictures."""
    results = []
    for console in (RetroEmulator(game=GAME, **widgets), NativeDuel(**widgets)):
        with opened(console, ScratchHost(Path("/nonexistent"))) as host:
            shown = play(console, *ticks, episode=episode)
            emitted = [rest for _, *rest in shown]
            results.append((emitted, console.report(), host.start, host.facts, host.frame_rate))
    return results[0], results[1]


@pytest.mark.parametrize(
    ("state", "players", "write"),
    [
        ("TwoPads.KazeVsBron", 2, {}),
        ("TwoPads.MiraVsMira", 1, {"seed": "$seed"}),
        ("Level9.TarnVsBron", 1, {"score": "$seed", "agent_hp": -3, "stage": 2}),
        ("Level2.MiraVsKaze", 2, {"mode": 2, "agent_level": 99, "agent_character": 3, "start": 1}),
    ],
)
def test_any_pads_and_settings_have_the_same_effect(
    state: str, players: int, write: Mapping[str, Any]
) -> None:
    there, here = both(
        random_pads(1100),
        Episode(4, 9, "console", limit=1100),
        states=(state,),
        players=players,
        write=write,
        noop_max=30,
    )
    assert there == here


def test_every_state_begins_here_as_on_the_rom() -> None:
    count = 10 * 16 + 2
    begun = []
    for kind in (RetroEmulator, NativeDuel):
        console: Console = kind(game=GAME, states=REACHED)
        with opened(console, ScratchHost(Path("/nonexistent"))) as host:
            shown = []
            for index in range(count):
                ((_, variables, *_),) = play(console, {}, episode=Episode(index, 1, "console"))
                shown.append((host.start, variables))
        begun.append(shown)
    assert begun[0] == begun[1]
    assert len({start.state for start, _ in begun[0] if start}) == count


# -- a console -------------------------------------------------------------------------------------


def test_it_goes_on_from_a_state_in_another_console() -> None:
    ticks = random_pads(1500)
    whole = NativeDuel(write={"seed": "$seed"})
    with opened(whole):
        expected = play(whole, *ticks)
        first, other = NativeDuel(write={"seed": "$seed"}), NativeDuel()
        with opened(first), opened(other):
            play(first, *ticks[:1100])
            play(other, *ticks[:7])
            other.load_state(pickle.loads(pickle.dumps(first.state())))
            for tick, inputs in enumerate(ticks[1100:], 1100):
                assert other.emit().variables() == expected[tick][1]
                other.latch(**inputs)
            assert other.report() == whole.report()


def test_a_state_of_another_build_is_refused() -> None:
    console = NativeDuel()
    with opened(console):
        play(console, {})
        state = {**console.state(), "image": b"short"}
        with pytest.raises(GameError, match="has 5 bytes, and this build of Duel"):
            console.load_state(state)


def test_several_consoles_play_at_once() -> None:
    ticks = random_pads(300)
    alone = NativeDuel(states=("Level4.KazeVsBron",))
    with opened(alone):
        expected = play(alone, *ticks)
    one, other = NativeDuel(states=("Level4.KazeVsBron",)), NativeDuel(states=("training/Level9*",))
    with opened(one), opened(other):
        one.reset(Episode(0, 0, "node"))
        other.reset(Episode(0, 0, "node"))
        for tick, inputs in enumerate(ticks):
            assert one.emit().variables() == expected[tick][1]
            one.latch(**inputs)
            other.latch()


def test_a_button_that_no_pad_has_is_named() -> None:
    console = NativeDuel()
    with opened(console), pytest.raises(GameError, match="no button 'L2'; it has B, A, MODE"):
        play(console, {"pad1": ("L2",)})


# -- what it cannot do -----------------------------------------------------------------------------


def test_a_node_that_sees_is_refused_before_anything_is_opened() -> None:
    workflow = {
        "minibrains": 1,
        "nodes": {
            "console": {"type": "NativeDuel@2"},
            "grey": {"type": "Grayscale@1", "in": {"frame": "console.frame"}},
        },
    }
    with pytest.raises(
        WorkflowError,
        match=r"link from console\.frame does not fit.*found no picture \(a RetroEmulator has one",
    ):
        Run(RunSpec(workflow))


@pytest.mark.parametrize(
    ("widgets", "sentence"),
    [
        ({"states": ("Random00.Level2.KazeVsKaze",)}, "only an emulator can load 'Random00"),
        ({"states": ("training/*",)}, "only an emulator can load 'Random00"),
        ({"states": ("Level4.KazeVsNobody",)}, "has no state 'Level4.KazeVsNobody'"),
        ({"game": "Airstriker-Genesis-v0"}, "plays only Duel-Genesis, not Airstriker-Genesis-v0"),
        ({"write": {"pace": 4}}, "write: 'pace' has no effect in NativeDuel"),
        ({"write": {"seed": "seed"}}, "write: 'seed' is 'seed'; expected a number"),
        ({"write": {"sed": 1}}, "write: the game has no variable 'sed'"),
        ({"write": {"stage": 65536}}, "write: 'stage' is >u2, a number from 0 to 65535"),
    ],
)
def test_a_wrong_setting_is_a_sentence(widgets: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GameError, match=sentence), opened(NativeDuel(**widgets)):
        pass


@pytest.fixture
def own_duel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's own folder for Duel."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path))
    folder = tmp_path / "games" / GAME
    folder.mkdir(parents=True)
    return folder


def test_a_state_in_the_place_of_a_shipped_one_is_refused(own_duel: Path) -> None:
    (own_duel / "Level4.KazeVsBron.state").write_bytes(gzip.compress(b"another"))
    with pytest.raises(GameError, match=r"only an emulator can load 'Level4\.KazeVsBron'"):
        NativeDuel().check()


def test_another_rom_is_refused(own_duel: Path) -> None:
    (own_duel / "rom.md").write_bytes(b"another")
    with pytest.raises(GameError, match=r"the ROM 39063755, but .*rom\.md is"):
        NativeDuel().check()


def test_other_variables_are_refused(own_duel: Path) -> None:
    (own_duel / "data.json").write_text('{"info": {}}')
    with pytest.raises(GameError, match=r"plays with the data that Duel-Genesis came with, but"):
        NativeDuel().check()


def test_without_its_sources_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "games.source.duel.native.compiled", None)
    with (
        pytest.raises(GameError, match=r"^NativeDuel needs the sources of Duel, .* in a checkout"),
        opened(NativeDuel()),
    ):
        pass


def test_a_held_back_state_is_refused_to_who_collects() -> None:
    state = next(iter(Splits.named(GAME).parts["held_back"]))  # type: ignore[union-attr]
    with pytest.raises(GameError, match=f"log collects or trains, and the state '{state}' is held"):
        NativeDuel(states=(state,)).check_collectors(["log"])
