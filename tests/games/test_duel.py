"""Duel: it publishes what its README says, its rules hold,
its opponent is late and has only a pad.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.source.duel import FOLDER as DUEL
from games.source.duel import LEVELS, fighters
from games.source.duel.matches import BITS, MOST_PACE, QUEUED
from nodes.fighting.fighters import Scripted
from nodes.fighting.styles import STYLES
from tests.support.paths import ROOT

REACTIONS = {1: 30, 2: 18, 3: 15, 4: 12, 5: 11, 6: 10, 7: 9, 8: 6, 9: 4, 10: 2}
KNOWN_AT_ONCE = ("x", "y", "hp", "status", "stun", "move")
"""What an opponent knows of its own fighter, and without delay."""
FIGHT, MATCH_OVER = 3, 5
PAD_BITS = {**BITS, "MODE": 2048}
SHARED = (
    "agent_hp", "agent_status", "agent_victories", "agent_x", "agent_y", "enemy_character",
    "enemy_hp", "enemy_status", "enemy_victories", "enemy_x", "enemy_y", "reset_countdown",
    "round_countdown", "score",
)  # fmt: skip
Pad = tuple[str, ...]


class Game:
    """The ROM, driven frame by frame, all variables at hand."""

    def __init__(self) -> None:
        import stable_retro

        self.data = stable_retro.data.GameData()
        self.emulator = stable_retro.RetroEmulator(str(DUEL / "rom.md"))
        self.emulator.configure_data(self.data)
        self.emulator.step()
        assert self.data.load(str(DUEL / "data.json"), str(DUEL / "scenario.json"))
        self.buttons = stable_retro.get_system_info("Genesis")["buttons"]
        for _ in range(30):
            self.emulator.step()
        self.title = self.emulator.get_state()

    def hold(self, pad: Pad, player: int = 0) -> None:
        pressed = [name in pad for name in self.buttons]
        self.emulator.set_button_mask(np.array(pressed, np.uint8), player)

    def step(self, pad1: Pad = (), pad2: Pad = (), frames: int = 1) -> dict[str, int]:
        self.hold(pad1, 0)
        self.hold(pad2, 1)
        for _ in range(frames):
            self.emulator.step()
        return self.now()

    def now(self) -> dict[str, int]:
        return dict(self.data.lookup_all())

    def shared(self) -> tuple[int, ...]:
        now = self.now()
        return tuple(now[name] for name in SHARED)

    def write(self, **values: int) -> None:
        for name, value in values.items():
            self.data.set_value(name, value)

    def begin(self, **settings: int) -> None:
        """Play to the first frame of a fight; with two pads unless the settings say otherwise."""
        self.emulator.set_state(self.title)
        self.step()
        self.write(
            **{
                "mode": 1,
                "blank": 1,
                "agent_character": 0,
                "enemy_character": 0,
                **settings,
                "start": 1,
            }
        )
        while self.step()["phase"] != FIGHT:
            pass

    def approach(self, gap: int) -> None:
        """Let the agent walk until it is within `gap` pixels."""
        while self.now()["enemy_x"] - self.now()["agent_x"] > gap:
            self.step(("RIGHT",))
        self.step()

    def until(
        self,
        holds: Callable[[dict[str, int]], bool],
        most: int = 200,
        pad1: Pad = (),
        pad2: Pad = (),
    ) -> dict[str, int]:
        for _ in range(most):
            now = self.step(pad1, pad2)
            if holds(now):
                return now
        raise AssertionError("it did not happen")


@pytest.fixture(scope="module")
def game() -> Iterator[Game]:
    game = Game()
    yield game
    del game.emulator, game.data


def bits(pad: Pad) -> int:
    return sum(PAD_BITS[name] for name in pad)


# ---- what it publishes ----


def test_it_boots_and_publishes(game: Game) -> None:
    game.begin()
    now = game.now()
    assert now["magic"] == 0x4455454C
    assert (now["agent_x"], now["enemy_x"], now["agent_y"], now["enemy_y"]) == (205, 307, 192, 192)
    assert (now["agent_hp"], now["enemy_hp"], now["agent_status"], now["enemy_status"]) == (
        176,
        176,
        512,
        512,
    )
    assert (
        now["agent_victories"],
        now["enemy_victories"],
        now["reset_countdown"],
        now["score"],
    ) == (0, 0, 0, 0)
    assert now["round_countdown"] >> 8 == 0x99
    frame = now["frame"]
    assert game.step(frames=10)["frame"] == frame + 10


def test_the_pads_are_published_as_the_rules_saw_them(game: Game) -> None:
    game.begin()
    for name in PAD_BITS:
        if name == "START":
            continue
        now = game.step((name,), ())
        assert (now["agent_pad"], now["enemy_pad"]) == (PAD_BITS[name], 0), "in the very frame"
        now = game.step((), (name,))
        assert (now["agent_pad"], now["enemy_pad"]) == (0, PAD_BITS[name])


def test_the_shared_map_is_part_of_the_whole_one_and_a_cartridge_s() -> None:
    cartridge = DUEL.parent / "StreetFighterIISpecialChampionEdition-Genesis-v0/data.json"
    assert cartridge.read_bytes() == (DUEL / "data_sf2.json").read_bytes()
    shared = json.loads((DUEL / "data_sf2.json").read_text())["info"]
    whole = json.loads((DUEL / "data.json").read_text())["info"]
    assert set(shared) == set(SHARED)
    assert {name: whole[name] for name in shared} == shared


# ---- moves ----

BUTTONS = "XYZABC"


@pytest.mark.parametrize(("way", "first"), [((), 1), (("DOWN",), 7)])
@pytest.mark.parametrize("button", BUTTONS)
def test_every_button_is_a_move_with_its_frames(
    game: Game, button: str, way: Pad, first: int
) -> None:
    game.begin()
    now = game.step((*way, button))
    move = first + BUTTONS.index(button)
    assert now["agent_move"] == move
    frames = 0
    while game.step(way)["agent_move"]:
        frames += 1
    assert frames + 1 == frames_of(move)


def frames_of(move: int) -> int:
    """Return the sum of start-up, active and recovery frames of one of Kaze's moves,
    as in the README.
    """
    total = (15, 24, 37, 18, 27, 42, 15, 24, 37, 18, 27, 40)
    return total[move - 1]


LANDING = 7
"""Frames after a jump with an attack in which its owner takes no orders."""


@pytest.mark.parametrize("button", BUTTONS)
def test_jumping_attacks(game: Game, button: str) -> None:
    game.begin()
    game.step(("UP",), frames=4)
    game.step(frames=10)
    assert game.step((button,))["agent_move"] == 13 + BUTTONS.index(button)
    assert game.until(lambda now: now["agent_y"] == 192)["agent_status"] == 516
    landing = 1
    while game.step()["agent_status"] == 516:
        landing += 1
    assert (landing, game.now()["agent_status"]) == (LANDING, 512)


@pytest.mark.parametrize("faces_left", [False, True])
def test_the_quarter_circle_throws_a_projectile(game: Game, faces_left: bool) -> None:
    game.begin()
    forward = "LEFT" if faces_left else "RIGHT"
    for way in (("DOWN",), ("DOWN", forward), (forward,), (forward, "Y")):
        frames = 1 if "Y" in way else 2
        if faces_left:
            game.step((), way, frames)
        else:
            game.step(way, (), frames)
    side = "enemy" if faces_left else "agent"
    assert game.now()[f"{side}_move"] == 20
    assert game.now()[f"{side}_status"] == 522
    first = game.until(lambda now: now[f"{side}_projectile_x"] > 0)[f"{side}_projectile_x"]
    assert (game.step(frames=5)[f"{side}_projectile_x"] > first) != faces_left
    other = "agent" if faces_left else "enemy"
    assert game.until(lambda now: now[f"{other}_status"] == 524)[f"{other}_hp"] == 176 - 13


def test_nothing_is_shot_once_the_round_is_over(game: Game) -> None:
    """A throw that the clock cuts off, at each of its frames:
    no projectile is left hanging in the air.
    """
    game.begin()
    game.until(lambda now: now["round_countdown"] == 0x124, most=7000)  # 25 frames are left
    near_the_end = game.emulator.get_state()
    for frames in range(24):
        game.emulator.set_state(near_the_end)
        game.step(frames=frames)
        for way in (("DOWN",), ("DOWN", "RIGHT"), ("RIGHT", "Y")):
            game.step(way)
        game.until(lambda now: now["phase"] == FIGHT + 1)
        for _ in range(60):
            now = game.step()
            assert (now["phase"], now["agent_projectile_x"]) == (FIGHT + 1, 0), frames


def test_the_rising_attack_is_untouchable_at_first_and_long(game: Game) -> None:
    game.begin()
    game.approach(40)
    for way in (("RIGHT",), ("DOWN",)):
        game.step(way, frames=2)
    game.step(("DOWN", "RIGHT", "Z"), ("X",))
    assert game.now()["agent_move"] == 21
    now = game.until(lambda now: now["enemy_status"] == 524)
    assert now["agent_hp"] == 176, "the jab went through it"
    assert now["enemy_hp"] == 176 - 24, "16, and half as much again to who was hit while attacking"
    frames = now["agent_move_frame"]
    while game.step()["agent_move"] == 21:
        frames += 1
    assert frames > 45


# ---- hits and blocks ----


def hit_by(game: Game, pad: Pad, guard: Pad, gap: int = 40) -> dict[str, int]:
    """Let the agent attack an enemy that holds `guard`;
    return the variables after it was hit or has blocked.
    """
    game.begin()
    game.approach(gap)
    game.step((), guard)
    game.step(pad, guard)
    stays_low: Pad = ("DOWN",) if "DOWN" in pad else ()
    for _ in range(30):
        now = game.step(stays_low, guard)
        if now["enemy_stun"] or now["enemy_status"] == 524:
            return now
    return now


@pytest.mark.parametrize(
    ("pad", "guard", "damage"),
    [
        (("Y",), (), 16),
        (("Y",), ("RIGHT",), 0),
        (("B",), ("RIGHT", "DOWN"), 0),
        (("DOWN", "B"), ("RIGHT",), 13),
        (("DOWN", "B"), ("RIGHT", "DOWN"), 0),
        (("DOWN", "C"), ("RIGHT",), 19),
        (("DOWN", "Z"), ("RIGHT",), 0),
    ],
)
def test_high_and_low_blocks(game: Game, pad: Pad, guard: Pad, damage: int) -> None:
    now = hit_by(game, pad, guard)
    assert 176 - now["enemy_hp"] == damage
    assert now["enemy_status"] == (524 if damage else 518)


@pytest.mark.parametrize(("guard", "status"), [(("RIGHT",), 518), (("RIGHT", "DOWN"), 524)])
def test_a_jumping_attack_has_to_be_blocked_standing(game: Game, guard: Pad, status: int) -> None:
    game.begin()
    game.approach(90)
    game.step(("UP", "RIGHT"), guard, 4)
    game.step((), guard, 20)
    game.step(("C",), guard, 3)
    now = game.until(lambda now: now["enemy_status"] in (518, 524), pad2=guard)
    assert now["enemy_status"] == status


def test_a_blocked_projectile_chips(game: Game) -> None:
    game.begin()
    for way in (("DOWN",), ("DOWN", "RIGHT"), ("RIGHT",), ("RIGHT", "X")):
        game.step(way, ("DOWN", "RIGHT"), 2)
    now = game.until(lambda now: now["enemy_status"] == 518, pad2=("DOWN", "RIGHT"))
    assert now["enemy_hp"] == 176 - 13 // 3


def test_a_throw_beats_a_block_and_knocks_down(game: Game) -> None:
    game.begin()
    game.approach(40)
    now = game.step(("RIGHT", "Z"), ("RIGHT", "DOWN"))
    assert now["agent_move"] == 19
    now = game.until(lambda now: now["enemy_hp"] < 176, pad2=("DOWN",))
    assert now["enemy_hp"] == 176 - 24
    assert now["enemy_status"] == 524
    frames = 0
    while not game.step((), ())["enemy_actionable"]:
        frames += 1
    assert 40 < frames < 110


def grabbed(game: Game) -> None:
    """Play to the first frame of a throw on which the agent holds the enemy."""
    game.begin()
    game.approach(40)
    game.step(("RIGHT", "Z"))
    game.until(lambda now: now["enemy_status"] == 524)


@pytest.mark.parametrize("pad", [("LEFT", "Z"), ("RIGHT", "C")])
@pytest.mark.parametrize("late", [0, 3])
def test_a_throw_can_be_escaped(game: Game, pad: Pad, late: int) -> None:
    grabbed(game)
    game.step(frames=late)
    now = game.step((), pad)
    assert (now["agent_status"], now["enemy_status"]) == (518, 518), "both are pushed off"
    apart = now["enemy_x"] - now["agent_x"]
    now = game.until(lambda now: bool(now["agent_actionable"] and now["enemy_actionable"]))
    assert now["enemy_x"] - now["agent_x"] > apart
    assert (now["agent_hp"], now["enemy_hp"]) == (176, 176)


@pytest.mark.parametrize(
    ("pad", "late"), [(("LEFT", "Z"), 5), (("Z",), 0), (("LEFT",), 0), (("LEFT", "Y"), 0)]
)
def test_a_throw_is_not_escaped_late_or_by_another_button(game: Game, pad: Pad, late: int) -> None:
    grabbed(game)
    game.step(frames=late)
    now = game.step((), pad)
    assert now["enemy_status"] == 524
    now = game.until(lambda now: now["enemy_hp"] < 176)
    assert now["enemy_hp"] == 176 - 24


@pytest.mark.parametrize(
    ("gap", "attack", "hit", "damage"),
    [
        pytest.param(50, ("C",), ("A",), 9 + 4, id="before it can hit"),
        pytest.param(62, ("X",), ("B",), 17, id="in its recovery"),
    ],
)
def test_an_attack_that_is_hit_costs_more_until_its_recovery(
    game: Game, gap: int, attack: Pad, hit: Pad, damage: int
) -> None:
    game.begin()
    game.approach(gap)
    game.step((), attack)
    game.step(hit)
    now = game.until(lambda now: now["enemy_hp"] < 176)
    assert now["enemy_hp"] == 176 - damage
    assert now["agent_hp"] == 176


def test_a_sweep_knocks_down_and_who_lies_cannot_be_hit(game: Game) -> None:
    now = hit_by(game, ("DOWN", "C"), ())
    assert now["enemy_status"] == 524
    for _ in range(3):
        game.step((), (), 12)
        game.step(("DOWN", "A"))
    assert game.now()["enemy_hp"] == 176 - 19


def test_a_hit_stops_both_for_a_moment(game: Game) -> None:
    now = hit_by(game, ("C",), ())
    assert now["hit_stop"] > 5
    x, frame = now["enemy_x"], now["agent_move_frame"]
    now = game.step(frames=4)
    assert (now["enemy_x"], now["agent_move_frame"]) == (x, frame)


# ---- what is heard ----

LONGEST_SOUND = 64
"""Frames after which every sound has ended."""


def listen(game: Game, pads: Sequence[tuple[Pad, Pad]]) -> list[np.ndarray]:
    """Return what is heard on each frame on which these pads are held, float64 [736] each."""
    heard = []
    for pad1, pad2 in pads:
        game.step(pad1, pad2)
        stereo = game.emulator.get_audio()
        heard.append(stereo[:, 0].astype(np.float64))
    return heard


def loudness(samples: np.ndarray) -> float:
    power = float(np.mean(samples**2))
    return math.sqrt(power)


def pitch(game: Game, samples: np.ndarray) -> float:
    """Return the strongest frequency, in hertz."""
    size = 1 << 16
    swings = samples - samples.mean()
    strength = np.abs(np.fft.rfft(swings * np.hanning(len(swings)), size))
    rate: float = game.emulator.get_audio_rate()
    return float(strength.argmax()) * rate / size


def before_the_bell(game: Game) -> list[tuple[Pad, Pad]]:
    game.write(start=1)
    game.until(lambda now: now["phase"] == FIGHT - 1)
    game.step(frames=60)
    return []


def before_a_jump(game: Game) -> list[tuple[Pad, Pad]]:
    return [(("UP",), ())]


def before_a_shot(game: Game) -> list[tuple[Pad, Pad]]:
    game.step(("LEFT",), ("RIGHT",), frames=80)  # it meets nobody while it is heard
    for way in (("DOWN",), ("DOWN", "RIGHT"), ("RIGHT",)):
        game.step(way)
    return [(("RIGHT", "Y"), ())]


def before_a_hit(game: Game) -> list[tuple[Pad, Pad]]:
    game.approach(40)
    return [(("Y",), ())]


def before_a_block(game: Game) -> list[tuple[Pad, Pad]]:
    game.approach(40)
    guard = ("RIGHT",)
    return [(("Y",), guard), *[((), guard)] * 20]


def before_a_knock_out(game: Game) -> list[tuple[Pad, Pad]]:
    while game.now()["enemy_hp"] > 18:
        game.approach(50)
        game.step(("C",))
        game.step(frames=LONGEST_SOUND)
    game.approach(50)
    return [(("C",), ())]


@pytest.mark.parametrize(
    ("before", "low", "high", "frames"),
    [
        (before_the_bell, 960, 1000, 48),
        (before_a_jump, 320, 420, 12),
        (before_a_shot, 1050, 1300, 20),
        (before_a_hit, 160, 220, 10),
        (before_a_block, 1000, 1250, 5),
        (before_a_knock_out, 180, 260, 48),
    ],
)
def test_what_happens_is_heard(
    game: Game,
    before: Callable[[Game], list[tuple[Pad, Pad]]],
    low: float,
    high: float,
    frames: int,
) -> None:
    """Silence, then a sound of this pitch for so many frames, then silence."""
    game.begin(blank=0)
    game.step(frames=LONGEST_SOUND)
    pads = before(game)
    afterwards: list[tuple[Pad, Pad]] = [((), ())] * LONGEST_SOUND
    heard = listen(game, pads + afterwards)
    volumes = list(map(loudness, heard))
    (loud,) = np.nonzero(np.array(volumes) > 40)
    begins, ends = loud[0], loud[-1]
    assert max(volumes[:begins]) == 0
    assert volumes[begins + 1] > 500
    assert low < pitch(game, heard[begins + 1]) < high
    assert frames - 5 <= ends - begins + 1 <= frames + 2
    assert volumes[-1] < 1


@pytest.mark.parametrize("fast", [{"blank": 1}, {"pace": 2}])
def test_nothing_is_heard_of_a_game_that_is_played_fast(game: Game, fast: dict[str, int]) -> None:
    settings = {"mode": 2, "agent_level": 7, "enemy_level": 7, "seed": 3, "blank": 0}
    nobody: list[tuple[Pad, Pad]] = [((), ())] * 600
    game.begin(**settings)
    assert max(map(loudness, listen(game, nobody))) > 500
    game.begin(**settings)
    game.step(frames=4)
    game.write(**fast)
    game.step(frames=12)  # the bell breaks off, and the emulator's filter settles
    assert max(map(loudness, listen(game, nobody))) < 1


# ---- rounds and matches ----


def test_a_match_is_won_by_two_rounds_and_counts_down(game: Game) -> None:
    game.begin(enemy_level=8, mode=0, seed=5)
    seen: list[int] = []
    for _ in range(9000):
        now = game.step()
        if not seen or now["enemy_victories"] != seen[-1]:
            seen.append(now["enemy_victories"])
        if now["reset_countdown"]:
            break
    assert (seen, now["agent_victories"], now["reset_countdown"], now["phase"]) == (
        [0, 1, 2],
        0,
        10,
        MATCH_OVER,
    )
    assert now["agent_hp"] == -1
    assert game.step(frames=20)["reset_countdown"] == 9


@pytest.mark.slow
def test_time_runs_out_and_equal_health_is_a_draw(game: Game) -> None:
    game.begin()
    begin = game.now()["round_countdown"]
    assert begin >> 8 == 0x99
    assert game.step(frames=61)["round_countdown"] >> 8 == 0x98
    now = game.until(lambda now: now["phase"] != FIGHT, 99 * 60 + 2)
    assert (now["time_outs"], now["agent_victories"], now["enemy_victories"]) == (1, 0, 0)
    now = game.until(lambda now: now["phase"] == FIGHT, 400)
    assert (now["round"], now["agent_hp"]) == (2, 176)
    now = game.until(lambda now: now["reset_countdown"] == 10, 5 * 6300)
    assert (now["round"], now["agent_victories"], now["enemy_victories"]) == (5, 0, 0), (
        "a drawn match ends too"
    )


@pytest.mark.parametrize(("hits", "health", "victories"), [(2, 128, 0), (3, 104, 1)])
def test_the_clock_gives_a_round_to_who_is_ahead_if_a_third_of_the_health_is_gone(
    game: Game, hits: int, health: int, victories: int
) -> None:
    game.begin()
    for _ in range(hits):
        game.approach(50)
        game.step(("C",))
        game.step(frames=90)
    assert game.now()["enemy_hp"] == health
    now = game.until(lambda now: now["phase"] != FIGHT, 99 * 60 + 2)
    assert (now["agent_victories"], now["enemy_victories"]) == (victories, 0)
    assert now["time_outs"] == 1


# ---- the opponent ----


def known_at_once(now: dict[str, int], side: str) -> tuple[int, ...]:
    """Return what the opponent on this side knows without delay."""
    return tuple(now[f"{side}_{name}"] for name in KNOWN_AT_ONCE)


@pytest.mark.slow
@pytest.mark.parametrize("level", REACTIONS)
def test_the_opponent_reacts_no_sooner_than_its_level_allows(game: Game, level: int) -> None:
    game.begin(mode=0, enemy_level=level, seed=11)

    def future(start: bytes, pad: Pad) -> tuple[list[int], list[Any]]:
        """Return the opponent's pads if this one is held from here on,
        and what it knows at once.
        """
        game.emulator.set_state(start)
        pads: list[int] = []
        known: list[Any] = []
        for _ in range(REACTIONS[level] + 16):
            now = game.step(pad)
            pads.append(now["enemy_pad"])
            known.append(known_at_once(now, "enemy"))
        return pads, known

    soonest: list[int] = []
    for moment in range(30):
        way: Pad = ("RIGHT",) if moment % 2 else ()
        game.step(way, (), 47)
        start = game.emulator.get_state()
        quiet, own_quiet = future(start, ())
        for pad in (("UP",), ("C",), ("DOWN", "Z"), ("LEFT",), ("RIGHT",)):
            pads, own = future(start, pad)
            answers = first_difference(quiet, pads)
            # what happens to itself it knows at once
            if answers <= first_difference(own_quiet, own):
                soonest.append(answers)
        game.emulator.set_state(start)
    assert REACTIONS[level] <= min(soonest) < REACTIONS[level] + 16


def first_difference(one: list[Any], other: list[Any]) -> int:
    """Return the first position at which two lists differ, or their length if there is none."""
    for position, (a, b) in enumerate(zip(one, other, strict=True)):
        if a != b:
            return position
    return len(one)


@pytest.mark.slow
@pytest.mark.parametrize("level", REACTIONS)
def test_the_opponent_on_the_left_is_as_late(game: Game, level: int) -> None:
    """The one on the right becomes another in mid-fight;
    pad 1 follows after the reaction time at the soonest.
    """
    game.begin(mode=2, agent_level=level, enemy_level=1, seed=11)

    def future(start: bytes, other: int) -> tuple[list[int], list[int], list[Any]]:
        """Return both pads if the other has this level from here on,
        and what pad 1's opponent knows at once.
        """
        game.emulator.set_state(start)
        game.write(enemy_level=other)
        mine: list[int] = []
        theirs: list[int] = []
        known: list[Any] = []
        for _ in range(REACTIONS[level] + 60):
            now = game.step()
            mine.append(now["agent_pad"])
            theirs.append(now["enemy_pad"])
            known.append(known_at_once(now, "agent"))
        return mine, theirs, known

    after = []
    for _ in range(40):
        game.step(frames=23)
        start = game.emulator.get_state()
        mine, theirs, own_mine = future(start, 1)
        for other in (4, 8):
            pads, other_pads, own = future(start, other)
            differs = first_difference(mine, pads)
            if differs < len(mine) and differs <= first_difference(own_mine, own):
                after.append(differs - first_difference(theirs, other_pads))
        game.emulator.set_state(start)
    assert after
    assert min(after) >= REACTIONS[level]


def play_match(game: Game, frames: int, **settings: int) -> list[tuple[int, ...]]:
    game.begin(**settings)
    rng = np.random.default_rng(3)
    seen = []
    held: Pad = ()
    for frame in range(frames):
        if frame % 8 == 0:
            held = ()
            for name in PAD_BITS:
                if name not in ("START", "MODE") and rng.random() < 0.2:
                    held += (name,)
        seen.append((game.step(held)["enemy_pad"], *game.shared()))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "level", "won"), [("aggressive", 1, True), ("zoner", 1, True), (None, 10, False)]
)
def test_the_published_pad_replayed_as_pad_2_reproduces_the_match(
    game: Game, style: str | None, level: int, won: bool
) -> None:
    """A whole match that is drawn, frame by frame; again, as two pads, it is not drawn."""
    settings = {
        "enemy_level": level,
        "seed": 1000 + level,
        "agent_character": level % 4,
        "enemy_character": 3,
        "stage": 2,
    }
    rules = STYLES[style] if style else ()
    player = Scripted(rules)
    player.reset(level)
    game.begin(mode=0, blank=0, **settings)
    first = now = game.now()
    played = []
    while not now["reset_countdown"]:
        pad = player.pad(now)
        now = game.step(pad)
        played.append((pad, names_of(now["enemy_pad"]), game.shared()))
        assert now["frame"] == first["frame"] + len(played), "no frame takes longer than a frame"
    assert (now["agent_victories"] > now["enemy_victories"]) is won
    game.begin(mode=1, blank=1, **settings)
    first = game.now()
    for frame, (pad1, pad2, seen) in enumerate(played, 1):
        assert game.step(pad1, pad2)["frame"] == first["frame"] + frame
        assert game.shared() == seen, frame


def names_of(pad: int) -> Pad:
    return tuple(name for name, bit in PAD_BITS.items() if bit & pad)


@pytest.mark.slow
@pytest.mark.parametrize(("level", "character"), [(3, 0), (5, 1), (8, 2), (10, 3)])
def test_the_fight_in_the_mirror_goes_alike(game: Game, level: int, character: int) -> None:
    """A match of equals, then each with the other's pad, left for right:
    neither side is better for being left, or first.
    """
    settings = {"seed": 50 + level, "agent_character": character, "enemy_character": character}
    game.begin(mode=2, agent_level=level, enemy_level=level, **settings)
    played = []
    while not (now := game.step())["reset_countdown"]:
        played.append(now)
    game.begin(mode=1, **settings)
    for frame, was in enumerate(played):
        now = game.step(in_the_mirror(was["enemy_pad"]), in_the_mirror(was["agent_pad"]))
        assert now["hit_stop"] == was["hit_stop"], frame
        for part in ("hp", "y", "status", "victories", "move", "move_frame", "stun"):
            assert (now[f"agent_{part}"], now[f"enemy_{part}"]) == (
                was[f"enemy_{part}"],
                was[f"agent_{part}"],
            ), (frame, part)
        # what is published is rounded down, on either side
        assert (
            abs(now["agent_x"] + was["enemy_x"] - 512)
            <= 1
            >= abs(now["enemy_x"] + was["agent_x"] - 512)
        ), frame


@pytest.mark.slow
@pytest.mark.parametrize("blank", [0, 1])
def test_at_a_pace_the_match_goes_alike(game: Game, blank: int) -> None:
    """Several frames in one of the console's, also while it draws:
    what is published at the end of each is what it was.
    """
    settings = {"mode": 2, "agent_level": 9, "enemy_level": 10, "seed": 4, "blank": blank}
    game.begin(**settings)
    first = game.now()["frame"]
    played = [game.shared()]
    while not game.step()["reset_countdown"]:
        played.append(game.shared())
    game.begin(**settings)
    game.write(pace=MOST_PACE)
    last, steps = game.now()["frame"], 0
    while not (now := game.step())["reset_countdown"]:
        assert last < now["frame"] <= last + MOST_PACE
        last, steps = now["frame"], steps + 1
        assert game.shared() == played[last - first]
    gain = 2.5 if blank else 1.1
    assert len(played) > gain * steps


def test_pads_from_the_queue_are_pads(game: Game) -> None:
    """Another one on each frame, several frames in one of the console's:
    the match goes as with pads that are held.
    """
    rng = np.random.default_rng(6)
    pads = (rng.integers(4096, size=3000) & ~PAD_BITS["START"]).tolist()
    settings = {"mode": 0, "enemy_level": 4, "seed": 9}
    game.begin(**settings)
    first = game.now()["frame"]
    played = [game.shared()]
    for pad in pads:
        game.step(names_of(pad))
        played.append(game.shared())
    game.begin(**settings)
    game.write(pace=MOST_PACE)
    game.data.memory.assign(QUEUED, ">u2", 1)
    steps, at = 0, 0
    while at < len(pads) - MOST_PACE:
        for place in range(MOST_PACE):
            game.data.memory.assign(QUEUED + 2 + 2 * place, ">u2", pads[at + place])
        steps, at = steps + 1, game.step()["frame"] - first
        assert game.shared() == played[at]
    assert at > 5 * steps


def in_the_mirror(pad: int) -> Pad:
    other = {"LEFT": "RIGHT", "RIGHT": "LEFT"}
    return tuple(other.get(name, name) for name in names_of(pad))


def test_the_same_seed_is_the_same_match_and_another_is_not(game: Game) -> None:
    first = play_match(game, 600, mode=0, enemy_level=5, seed=1)
    assert play_match(game, 600, mode=0, enemy_level=5, seed=1) == first
    assert play_match(game, 600, mode=0, enemy_level=5, seed=2) != first


def test_what_the_host_writes_is_clamped(game: Game) -> None:
    game.begin()
    game.write(
        agent_level=0, enemy_level=99, mode=7, agent_character=200, enemy_character=9, stage=4
    )
    now = game.step()
    assert (now["agent_level"], now["enemy_level"], now["mode"]) == (1, LEVELS, 2)
    assert (now["agent_character"], now["enemy_character"], now["stage"]) == (3, 3, 3)


def odd_value(rng: np.random.Generator, name: str) -> int:
    """Return a number that fits into a variable, a small one often."""
    kind = json.loads((DUEL / "data.json").read_text())["info"][name]["type"]
    bits = 8 * int(kind[-1]) - (kind[1] == "i")
    most = 10**8 if kind[1] == "d" else 1 << bits
    if rng.random() < 0.5:
        most = min(most, 10)
    return int(rng.integers(most))


def test_nothing_that_the_host_writes_stops_it(game: Game) -> None:
    """Drawing or not, whatever is written into whatever it publishes,
    every frame of it takes one frame.
    """
    rng = np.random.default_rng(5)
    game.begin(mode=0, blank=0)
    names = sorted(set(game.now()) - {"frame"})
    settings = (
        "stage", "blank", "start", "mode", "seed", "agent_character", "enemy_character",
        "enemy_level", "demo",
    )  # fmt: skip
    frame = game.now()["frame"]
    drawn = 0
    for turn in range(4000):
        if turn % 5 == 0:
            some = names if turn % 10 else settings
            name = str(rng.choice(some))
            game.write(**{name: odd_value(rng, name)})
        if turn % 40 == 0:
            game.write(blank=0)
        pad: Pad = ()
        if rng.random() < 0.3:
            pad = names_of(int(rng.integers(4096)))
        now = game.step(pad)
        assert 1 <= now["frame"] - frame <= now["pace"]
        frame = now["frame"]
        drawn += not now["blank"]
        assert now["phase"] <= MATCH_OVER
        assert now["stage"] < 4
    assert drawn > 1000
    game.begin(mode=0, blank=0)
    for stage in range(256):
        frame = game.now()["frame"]
        game.write(stage=stage)
        assert game.step(frames=2)["frame"] == frame + 2


def test_cpu_against_cpu_needs_no_pad(game: Game) -> None:
    game.begin(mode=2, agent_level=4, enemy_level=4)
    pads = set()
    for _ in range(300):
        now = game.step(("START",))
        pads |= {now["agent_pad"] & ~PAD_BITS["START"], now["enemy_pad"]}
    assert len(pads) > 4


def test_the_title_demonstrates_and_start_leads_to_the_fight(game: Game) -> None:
    game.emulator.set_state(game.title)
    assert game.until(lambda now: now["demo"] == 1, 600)["phase"] == 2
    for phase in (0, 1):
        game.step(frames=20)  # another screen takes some frames to load
        assert game.step(("START",), (), 2)["phase"] == phase
    game.step(frames=20)
    game.step(("RIGHT",), (), 2)
    assert game.step()["agent_character"] == 1
    assert game.step(("START",), (), 2)["phase"] == 2


# ---- files ----


FIGHTERS = ("Kaze", "Bron", "Mira", "Tarn")
STAGES = ("Harbour", "Forest", "Foundry", "Observatory")
PARTS = ("training", "validation", "held_back")


def match_up_of(now: dict[str, int]) -> str:
    return f"{FIGHTERS[now['agent_character']]}Vs{FIGHTERS[now['enemy_character']]}"


def test_every_state_loads_and_is_what_its_name_says(game: Game) -> None:
    states = sorted(DUEL.glob("*.state"))
    assert len(states) == 16 * LEVELS + 18
    for path in states:
        game.emulator.set_state(gzip.decompress(path.read_bytes()))
        now = game.step()
        parts = path.name.split(".")
        match_up = parts[2] if parts[0].startswith("Random") else parts[1]
        assert match_up == match_up_of(now), path.name
        assert now["mode"] == int(parts[0] == "TwoPads")
        if "Level" in path.name:
            assert f"Level{now['enemy_level']}" in path.name
        if parts[0].startswith("Level"):
            game.step(frames=6)
            assert game.now()["phase"] == FIGHT
    assert sum(path.stat().st_size for path in states) < 1.5e6


def test_the_splits_name_every_state_by_its_file() -> None:
    splits = json.loads((DUEL / "splits.json").read_text())
    named: list[str] = []
    for part in PARTS:
        for name, digest in splits[part].items():
            named.append(name)
            assert hashlib.sha256((DUEL / f"{name}.state").read_bytes()).hexdigest() == digest
    assert sorted(named) == sorted(
        path.name.removesuffix(".state") for path in DUEL.glob("*.state")
    )
    rom = hashlib.sha1((DUEL / "rom.md").read_bytes()).hexdigest()
    assert splits["rom_sha1"] == (DUEL / "rom.sha").read_text().strip() == rom


def test_every_state_is_of_its_part_s_match_ups_and_stages(game: Game) -> None:
    splits = json.loads((DUEL / "splits.json").read_text())
    for part in PARTS:
        seen: set[tuple[str, str]] = set()
        for name in splits[part]:
            game.emulator.set_state(gzip.decompress((DUEL / f"{name}.state").read_bytes()))
            now = game.step()
            seen.add((match_up_of(now), STAGES[now["stage"]]))
        match_ups, stages = zip(*seen, strict=True)
        assert set(match_ups) == set(splits[f"{part}_match_ups"])
        assert set(stages) == set(splits[f"{part}_stages"])
        if part == "training":
            every_match_up_on_both_stages = itertools.product(set(match_ups), set(stages))
            assert seen == set(every_match_up_on_both_stages)


def test_the_splits_keep_apart_and_hold_back_what_was_not_held_back_before() -> None:
    splits = json.loads((DUEL / "splits.json").read_text())
    match_ups = {part: splits[f"{part}_match_ups"] for part in PARTS}
    stages = {part: splits[f"{part}_stages"] for part in PARTS}
    every_match_up = [f"{agent}Vs{enemy}" for agent, enemy in itertools.product(FIGHTERS, FIGHTERS)]
    assert sorted(itertools.chain(*match_ups.values())) == sorted(every_match_up), (
        "each is in one part"
    )
    assert sorted(itertools.chain(*stages.values())) == sorted(STAGES)
    assert [len(stages[part]) for part in PARTS] == [2, 1, 1]
    assert len(match_ups["validation"]) >= 4 <= len(match_ups["held_back"])
    for part in PARTS:
        pairs = [match_up.split("Vs") for match_up in match_ups[part]]
        agents, enemies = zip(*pairs, strict=True)
        assert set(agents) == set(enemies) == set(FIGHTERS), "each fighter on both sides"
    roms: list[str] = []
    for before in splits["held_back_before"]:
        roms.append(before["rom_sha1"])
        assert not set(before["match_ups"]) & set(match_ups["held_back"])
        assert not set(before["stages"]) & set(stages["held_back"])
    assert "436f95287f7d85e6e5caf336cae1f92297ee30c5" in roms
    assert splits["rom_sha1"] not in roms


def test_the_runtime_plays_it(summary: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    workflow = {
        "minibrains": 1,
        "title": "Nobody against the opponent",
        "run": {"episodes": 2, "ticks": 20000},
        "nodes": {
            "console": {
                "type": "RetroEmulator@3",
                "set": {
                    "game": "Duel-Genesis",
                    "states": ["Level8.KazeVsBron"],
                    "write": {"seed": "$seed"},
                },
            }
        },
    }
    path = tmp_path / "duel.json"
    path.write_text(json.dumps(workflow))
    result = summary(path, "--episodes", 2)
    for episode in result["episodes"]:
        assert (episode["ended"], episode["won"], episode["score"]) == ("done", False, -2.0)
    assert len(result["episodes"]) == 2
    assert result["distinct_episodes"] == 2


def test_the_table_has_the_first_seed_s_actions() -> None:
    names = fighters.action_names()
    assert len(names) == 44
    assert names[:4] == ["none", "up", "down", "left"]
    assert (names[6], names[9], names[21]) == ("right", "X", "A")


# ---- the calibration ----


@pytest.mark.parametrize("policy", ["random44", "noop"])
def test_a_player_that_does_not_look_comes_to_the_same_quickly(policy: str) -> None:
    """Its pads from the queue, or held one by one: the same match."""
    code = """if True:
        import itertools, sys
        from games.source.duel import matches
        policy = sys.argv[1]
        bench = matches.RomBench()
        for setting in itertools.islice(matches.settings(policy, 3), 2):
            for looks in (False, True):
                player = matches.player_named(policy)
                player.sees = looks
                result = bench.play(setting, player)
                print(result.won, result.drawn, result.rounds, result.time_outs, result.kinds)
    """
    command = [sys.executable, "-c", code, policy]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    first, again, second, once_more = done.stdout.splitlines()
    assert (first, second) == (again, once_more)


@pytest.mark.slow
def test_matches_go_alike_on_the_rom_and_on_the_compiled_game() -> None:
    code = """if True:
        import itertools
        from games.source.duel import matches
        policies = ("patient@30", "zoner", "random44")
        coming = [next(matches.settings(policy, 5)) for policy in policies]
        coming += itertools.islice(matches.computers(7, 6), 2)
        for setting in coming:
            here = matches.play_one(setting)
            print(matches.goes_alike(setting, matches.player_named(setting.policy), here))
    """
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True"] * 5


def random_pad(rng: np.random.Generator) -> Pad:
    """Draw some of all buttons, START seldom."""
    held: Pad = ()
    for name in PAD_BITS:
        likelihood = 0.02 if name == "START" else 0.2
        if rng.random() < likelihood:
            held += (name,)
    return held


@pytest.mark.soak
def test_a_million_frames_of_random_input(game: Game) -> None:
    rng = np.random.default_rng(0)
    game.emulator.set_state(game.title)
    phases, stuck, frame = set(), 0, game.now()["frame"]
    written = sorted(set(game.now()) - {"frame", "blank"})
    last: tuple[int, ...] = ()
    for turn in range(1_000_000 // 8):
        pads = [random_pad(rng), random_pad(rng)]
        if turn % 512 == 0:  # a quarter of the time it draws
            game.write(
                mode=int(rng.integers(3)),
                enemy_level=int(rng.integers(1, LEVELS + 1)),
                blank=int(turn % 2048 > 0),
            )
            odd = str(rng.choice(written))
            game.write(**{odd: odd_value(rng, odd)})
        now = game.step(pads[0], pads[1], 8)
        assert 8 <= now["frame"] - frame <= 8 * now["pace"]
        frame = now["frame"]
        phases.add(now["phase"])
        assert -1 <= now["agent_hp"] <= 176
        assert -1 <= now["enemy_hp"] <= 176
        assert 28 <= now["agent_x"] <= 484
        assert 28 <= now["enemy_x"] <= 484
        assert now["agent_y"] <= 192
        assert now["phase"] <= MATCH_OVER
        shown = (*game.shared(), now["phase"])
        stuck += 1
        if shown != last:
            stuck = 0
        last = shown
        assert stuck < 120, "nothing has moved for 16 seconds"
    assert phases == {0, 1, 2, 3, 4, 5}
