"""Duel compiled for this computer goes as the ROM goes, frame by frame."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any

import numpy as np
import pytest

from games.source.duel import FOLDER, LEVELS, fighters
from games.source.duel.matches import BITS, CHARACTERS, STAGES, RomBench, Setting, settings
from games.source.duel.native import Game
from games.source.duel.native.compiled import build
from games.source.duel.native.players import (
    CELLS,
    NOBODY,
    STATUSES,
    Answer,
    Condition,
    Player,
    Step,
    mirrored,
    play,
    record,
    won,
)
from games.source.duel.search.finals import Recorded
from minibrains import GameError

MODES = 3
MOST_FRAMES = 40_000
CONSOLES_OWN = ("blank", "pace")
"""Variables that tell the console how to draw."""


@pytest.fixture(scope="module")
def bench() -> Iterator[RomBench]:
    """The ROM, with all of its variables."""
    bench = RomBench()
    bench.data.load(str(FOLDER / "data.json"), str(FOLDER / "scenario.json"))
    yield bench
    del bench.emulator, bench.data


def names_of(pad: int) -> tuple[str, ...]:
    return tuple(name for name, bit in BITS.items() if bit & pad)


def random_pad(rng: np.random.Generator) -> int:
    """Any buttons but MODE, a few of them at a time."""
    bits = np.array(list(BITS.values()))
    held = rng.random(len(bits)) < 0.2
    return int(bits[held].sum())


def shown_by_rom(bench: RomBench) -> dict[str, int]:
    return without_the_consoles_own(dict(bench.data.lookup_all()))


def shown_by(game: Game) -> dict[str, int]:
    return without_the_consoles_own(game.variables())


def without_the_consoles_own(variables: dict[str, int]) -> dict[str, int]:
    for name in CONSOLES_OWN:
        del variables[name]
    return variables


def compare_match(bench: RomBench, number: int) -> int:
    """Play one match on both until it is decided, and compare all variables on each frame.

    Returns:
        The number of frames.
    """
    rng = np.random.default_rng(number)
    settings = {
        "mode": number % MODES,
        "seed": int(rng.integers(1, 2**32)),
        "agent_level": int(rng.integers(1, LEVELS + 1)),
        "enemy_level": number % LEVELS + 1,
        "agent_character": number % CHARACTERS,
        "enemy_character": number // CHARACTERS % CHARACTERS,
        "stage": int(rng.integers(STAGES)),
    }
    game = Game()
    game.begin(**settings)
    bench.begin(blank=1, **settings)
    game.set("frame", bench.get("frame"))
    pads = [0, 0]
    for frame in range(MOST_FRAMES):
        assert shown_by(game) == shown_by_rom(bench), (settings, frame)
        if game.get("reset_countdown"):
            return frame
        for side in (0, 1):
            if rng.random() < 0.2:
                pads[side] = random_pad(rng)
            bench.press(names_of(pads[side]), side)
        bench.emulator.step()
        game.step(*pads)
    raise AssertionError("the match does not end")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_a_match_is_the_rom_s_frame_by_frame(bench: RomBench, number: int) -> None:
    assert compare_match(bench, number) > 500


# ---- players ----


SWEEP, RISE, WALK = (
    (Step("DOWN+C", 3), Step("DOWN", 30)),
    (Step("F", 2), Step("DOWN", 2), Step("DOWN+F+Z", 3), Step("", 30)),
    (Step("F", 1),),
)
NEAR = Condition("distance", 70)
IN_THE_AIR = Condition("enemy is", 1 << STATUSES.index("jump"))


def walks_and_sweeps() -> tuple[Answer, ...]:
    """The answers of a table: a sweep, and a walk of another length, by turns."""
    answers: list[Answer] = []
    for cell in range(CELLS):
        if cell % 2:
            answers.append((Step("F", cell + 1), Step("C", 2)))
        else:
            answers.append(SWEEP)
    return tuple(answers)


def actions_in_turn() -> tuple[Answer, ...]:
    """The answers of a table: an action each."""
    names = fighters.action_names()[:CELLS]
    return tuple((Step(name),) for name in names)


TABLE = {
    "kind": "table",
    "answers": walks_and_sweeps(),
    "distance_edges": (60, 80, 120),
    "status_groups": (0,) * len(STATUSES),
}
PLAYERS = {
    "a loop that knows the side": Player(
        "loop", ((Step("UP+F", 6), Step("", 4), Step("C", 4), Step("", 38)),)
    ),
    "a blind loop of actions": Player(
        "loop",
        ((Step("right+C"), Step("projectile left"), Step("up+right")),),
        interval=12,
        knows_side=False,
    ),
    "a rule with one threshold": Player("rule", (WALK, RISE), late=12, conditions=(NEAR,)),
    "a rule with two": Player(
        "rule", (WALK, (Step("G+DOWN", 9),), SWEEP, RISE), late=24, conditions=(NEAR, IN_THE_AIR)
    ),
    "a table": Player(
        "table",
        walks_and_sweeps(),
        late=12,
        distance_edges=(60, 80, 120),
        height_edge=20,
        status_groups=(0, 0, 1, 0, 2, 2, 1),
    ),
    "a table of actions": Player(
        "table",
        actions_in_turn(),
        interval=6,
        distance_edges=(50, 90, 150),
        height_edge=40,
        status_groups=(0, 1, 2, 0, 1, 2, 1),
    ),
}


@pytest.mark.parametrize("name", PLAYERS)
def test_a_match_of_a_player_ends_on_the_rom_as_here(bench: RomBench, name: str) -> None:
    for level, setting in enumerate(islice(settings("test", 0), 3), 2):
        match = replace(setting, level=level)
        pads, result = record(PLAYERS[name], match)
        on_rom = bench.play(match, Recorded(pads))
        assert on_rom.won == bool(won(result))
        assert (on_rom.rounds, on_rom.time_outs) == (
            int(result["rounds"]),
            int(result["time_outs"]),
        )
        mine, theirs = map(int, result["landed"])
        assert on_rom.kinds == (mine.bit_count(), theirs.bit_count())


def test_a_player_that_is_late_does_as_it_would_at_once_but_later() -> None:
    """Out of reach of anything, walking in until it is near: it notices so many frames later."""
    match = Setting("test", 1, seed=7)
    stops = {}
    for late in (0, 12, 24):
        player = Player(
            "rule", (WALK, (Step("", 1),)), late=late, conditions=(Condition("distance", 90),)
        )
        pads, _ = record(player, match)
        stops[late] = len(list(takewhile(bool, pads)))
    assert stops[0] > 0
    assert stops[12] - stops[0] == 12
    assert stops[24] - stops[0] == 24


def test_a_player_is_mirrored_with_the_enemy_s_side() -> None:
    names = fighters.action_names()
    assert {mirrored(mirrored(name)) for name in names} == set(names)
    assert mirrored("down+left+C") == "down+right+C"
    assert mirrored("projectile right") == "projectile left"
    assert mirrored("jump kick") == "jump kick"


def test_a_player_is_the_same_once_it_was_written_and_read() -> None:
    for player in PLAYERS.values():
        assert Player.from_json(json.loads(json.dumps(player.as_json()))) == player


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"answers": ()}, "a loop with 0 answers; expected 1"),
        ({"kind": "rule", "conditions": (NEAR,)}, "a rule with 1 answers; expected 2"),
        ({"late": 61}, "a player that is 61 frames late; expected 0 to 60"),
        ({"interval": 256}, "an action every 256 frames; expected 0 to 255"),
        (
            {"kind": "rule", "answers": (WALK,) * 2, "conditions": (Condition("lead", 40000),)},
            "a condition lead < 40000; expected a number of 16 bits",
        ),
        ({**TABLE, "distance_edges": (40,)}, "1 edges of distances; expected 3"),
        ({**TABLE, "status_groups": (0,) * 6}, "groups of 6 statuses; expected 7"),
        (
            {**TABLE, "status_groups": (0, 1, 2, 3, 0, 0, 0)},
            r"groups of statuses \(0, 1, 2, 3, 0, 0, 0\); expected 0 to 2",
        ),
        ({"answers": (WALK * 7,)}, "an answer of 7 steps; expected 1 to 6"),
        ({"answers": ((Step("C", 0),),)}, "a step that is not 1 to 255 frames long"),
    ],
)
def test_a_player_out_of_range_is_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        Player(**{"kind": "loop", "answers": (WALK,), **wrong})


def test_damage_and_time_outs_are_counted() -> None:
    result = play([NOBODY], [Setting("test", 8, seed=5)])[0, 0]
    assert tuple(result["victories"]) == (0, 2)
    assert (result["dealt"], result["taken"], result["rounds"], result["time_outs"]) == (
        0,
        2 * 176,
        2,
        0,
    )
    attack = (Step("C", 3), Step("G+DOWN", 20))
    turtle = Player("rule", ((Step("G+DOWN", 20),), attack), conditions=(Condition("lead", 1),))
    results = play([turtle], list(islice(settings("test", 1), 60)))[0]
    assert results["time_outs"].any()
    drawn = results["rounds"] - results["victories"].sum(axis=1)
    assert (drawn <= results["time_outs"]).all(), "only the clock ends a round without a winner"


def test_several_games_are_played_at_once() -> None:
    """Two games a frame each in turn: neither knows of the other."""
    one, other = Game(), Game()
    one.begin(mode=2, seed=1)
    other.begin(mode=2, seed=2)
    for _ in range(1000):
        one.step()
        other.step()
    assert one.variables() == played_alone(1)
    assert other.variables() == played_alone(2)
    assert one.variables() != other.variables()


def played_alone(seed: int) -> dict[str, int]:
    """The variables after a thousand frames of a match between two computer opponents."""
    game = Game()
    game.begin(mode=2, seed=seed)
    game.step(frames=1000)
    return game.variables()


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        GameError,
        match=r"^Duel cannot be compiled for this computer; on Debian: apt-get install gcc make$",
    ):
        build()


@pytest.mark.soak
def test_a_thousand_matches_are_the_rom_s_frame_by_frame(bench: RomBench) -> None:
    for number in range(20, 1020):
        compare_match(bench, number)
