"""Duel compiled for this computer goes as the ROM goes, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from games.source.duel import FOLDER
from games.source.duel.matches import BITS, CHARACTERS, LEVELS, STAGES, Bench
from games.source.duel.native import Game
from games.source.duel.native.library import build
from minibrains import GameError

MODES = 3
MOST_FRAMES = 30_000
CONSOLES_OWN = ("blank", "pace")
"""Variables that tell the console how to draw."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """The ROM, with all of its variables."""
    bench = Bench()
    bench.data.load(str(FOLDER / "data.json"), str(FOLDER / "scenario.json"))
    yield bench
    del bench.emulator, bench.data


def names_of(pad: int) -> tuple[str, ...]:
    return tuple(name for name, bit in BITS.items() if bit & pad)


def random_pad(rng: np.random.Generator) -> int:
    """Any buttons but MODE, a few of them at a time."""
    held = rng.random(len(BITS)) < 0.2
    return sum(bit for bit, is_held in zip(BITS.values(), held, strict=True) if is_held)


def shown_by_rom(bench: Bench) -> dict[str, int]:
    variables = dict(bench.data.lookup_all())
    return {name: value for name, value in variables.items() if name not in CONSOLES_OWN}


def shown_by(game: Game) -> dict[str, int]:
    return {name: value for name, value in game.variables().items() if name not in CONSOLES_OWN}


def compare_match(bench: Bench, number: int) -> int:
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


@pytest.mark.parametrize("number", range(20))
def test_a_match_is_the_rom_s_frame_by_frame(bench: Bench, number: int) -> None:
    assert compare_match(bench, number) > 500


def test_several_games_are_played_at_once() -> None:
    """Two games a frame each in turn: neither knows of the other."""
    alone = [played_alone(seed) for seed in (1, 2)]
    together = [Game(), Game()]
    for seed, game in enumerate(together, 1):
        game.begin(mode=2, seed=seed)
    for _ in range(1000):
        for game in together:
            game.step()
    assert [game.variables() for game in together] == alone
    assert alone[0] != alone[1]


def played_alone(seed: int) -> dict[str, int]:
    """The variables after a thousand frames of a match between two computer opponents."""
    game = Game()
    game.begin(mode=2, seed=seed)
    game.step(frames=1000)
    return game.variables()


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GameError, match=r"^Duel cannot be compiled for this computer; on Debian: apt-get install gcc make$"):
        build()


@pytest.mark.soak
def test_a_thousand_matches_are_the_rom_s_frame_by_frame(bench: Bench) -> None:
    for number in range(20, 1020):
        compare_match(bench, number)
