"""The console against stable-retro's own environment, and what only a console does."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minibrains import Episode, GameError
from minibrains.console import without_opposites
from minibrains.games import catalog as games
from minibrains.games.catalog import find_game
from minibrains.testing import ScratchHost, opened, play
from nodes.consoles.retro import RetroEmulator
from nodes.consoles.scenario import PlainScenario

GAME = "Airstriker-Genesis-v0"


@pytest.fixture
def host(tmp_path: Path) -> ScratchHost:
    return ScratchHost(tmp_path)


def _random_pads(count: int, seed: int = 0) -> list[tuple[str, ...]]:
    random = np.random.default_rng(seed)
    buttons = ("B", "LEFT", "RIGHT", "START", "A")
    pads = []
    for _ in range(count):
        pad = tuple(button for button in buttons if random.random() < 0.4)
        pads.append(without_opposites(pad))
    return pads


def _trajectory(written: dict[str, int], pad: tuple[str, ...] = ()) -> str:
    """Of two seconds of a fight for two pads,
    in which no computer plays and so no number decides.
    """
    console = RetroEmulator(
        game="Duel-Genesis", states=("TwoPads.KazeVsBron",), players=2, write=written
    )
    with opened(console):
        play(
            console,
            *[{"pad1": (), "pad2": ("LEFT",)}] * 60,
            *[{"pad1": pad, "pad2": ("LEFT",)}] * 60,
        )
        trajectory: str = console.report()["trajectory_sha256"]
    return trajectory


def test_games_that_go_alike_are_one_whatever_was_written_before_them() -> None:
    first = _trajectory({"seed": 1, "frame": 100})
    assert _trajectory({"seed": 2, "frame": 100}) == first
    assert _trajectory({"seed": 3, "frame": 70_000}) == first
    assert _trajectory({"seed": 1, "frame": 100}, ("X",)) != first


def test_frames_rewards_and_variables_are_those_of_stable_retro(host: ScratchHost) -> None:
    import stable_retro

    pads = []
    for pad in _random_pads(200):
        pads += [pad] * 4
    environment = stable_retro.make(
        GAME, use_restricted_actions=stable_retro.Actions.ALL, render_mode="rgb_array"
    )
    try:
        first, _ = environment.reset()
        expected: list[Any] = [(first, 0.0, False)]
        for pad in pads[:-1]:
            action = np.array([button in pad for button in environment.buttons], np.int8)
            frame, reward, done, _, variables = environment.step(action)
            expected.append((frame, reward, done, variables))
    finally:
        environment.close()
        del environment
    console = RetroEmulator()
    ticks = [{"pad1": pad} for pad in pads]
    with opened(console, host):
        shown = play(console, *ticks)
    rewarded = 0
    for theirs, ours in zip(expected, shown, strict=True):
        frame, reward, done, *variables = theirs
        our_frame, our_variables, our_reward, our_done, _ = ours
        assert np.array_equal(frame, our_frame)
        assert (reward, done) == (our_reward, our_done)
        assert variables in ([], [our_variables])
        if reward:
            rewarded += 1
    assert rewarded, "a test without a reward says little"


def test_the_console_says_its_size_rate_and_game(host: ScratchHost) -> None:
    with opened(RetroEmulator(), host):
        assert host.sizes == {"h": 224, "w": 320}
        assert host.frame_rate == pytest.approx(59.92, abs=0.01)
        assert host.facts == {"game": GAME, "rom_sha1": "a8be7b0ca850119b167f9644e6a4a22e983d61a4"}


def test_31_episodes_start_after_31_different_waits(host: ScratchHost) -> None:
    console = RetroEmulator(noop_max=30)
    with opened(console, host):
        waits = []
        for index in range(31):
            console.reset(Episode(index, 7, "console"))
            waits.append(console.report()["start"]["noops"])
    assert sorted(waits) == list(range(31))
    assert waits != sorted(waits)


def test_written_variables_are_there_from_the_first_frame(host: ScratchHost) -> None:
    console = RetroEmulator(write={"lives": 7, "score": "$seed"})
    with opened(console, host):
        ((_, variables, *_),) = play(console, {}, episode=Episode(0, 3, "console"))
        assert variables["lives"] == 7
        assert variables["score"] == console.report()["start"]["write"]["score"] < 2**32
        console.reset(Episode(0, 4, "console"))
        assert console.report()["start"]["write"]["score"] != variables["score"]


def test_a_button_the_pad_does_not_have_is_named(host: ScratchHost) -> None:
    console = RetroEmulator()
    with (
        opened(console, host),
        pytest.raises(GameError, match="no button 'L2'; it has B, A, MODE, START"),
    ):
        play(console, {"pad1": ("L2",)})


def test_a_second_console_in_the_process_is_refused(host: ScratchHost) -> None:
    with (
        opened(RetroEmulator(), host),
        pytest.raises(GameError, match="a process can have one emulator"),
    ):
        RetroEmulator().open(host)


@pytest.fixture
def own_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A games folder of our own with Airstriker under another name, to be changed by the test."""
    folder = tmp_path / "games"
    original = find_game([GAME])
    shutil.copytree(original.data, folder / "Mine-Genesis-v0")
    monkeypatch.setattr(games, "bundled_dir", lambda name: folder)
    return folder / "Mine-Genesis-v0"


def test_won_is_what_the_metadata_says(own_games: Path, host: ScratchHost) -> None:
    metadata = {"default_state": "Level1", "won": ["score", "lives"]}
    (own_games / "metadata.json").write_text(json.dumps(metadata))
    console = RetroEmulator(game="Mine-Genesis-v0", write={"score": 5, "lives": 0})
    with opened(console, host):
        play(console, *[{}] * 3)
        assert console.report()["won"] is False, "an episode that has not ended is not won"
        for _ in range(4000):
            console.latch()
            if console.emit().terminated:
                break
        assert console.emit().terminated
        assert console.report()["won"] is True


@pytest.mark.parametrize("players", [1, 2])
def test_two_players_have_a_pad_each(own_games: Path, host: ScratchHost, players: int) -> None:
    console = RetroEmulator(game="Mine-Genesis-v0", players=players)
    with opened(console, host):
        plain = play(console, *[{"pad1": ("LEFT",)}] * 30)
        alone = console.report()["actions_sha256"]
        other = play(console, *[{"pad1": ("LEFT",), "pad2": ("RIGHT",)}] * 30)
        assert np.array_equal(plain[-1][0], other[-1][0]), "this game does not read its second pad"
        assert (console.report()["actions_sha256"] == alone) is (players == 1)


def test_a_state_that_is_no_state_is_a_sentence(own_games: Path) -> None:
    (own_games / "Level1.state").write_bytes(b"no state")
    console = RetroEmulator(game="Mine-Genesis-v0")
    with (
        pytest.raises(GameError, match=r"Level1\.state: the save state cannot be read"),
        opened(console),
    ):
        pass


def test_broken_game_data_is_a_sentence(own_games: Path) -> None:
    (own_games / "metadata.json").write_text("{")
    with pytest.raises(GameError, match=r"metadata.json cannot be read"):
        RetroEmulator(game="Mine-Genesis-v0").check()


_SPEC = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(
            [
                "equal", "negative-equal", "not-equal", "less-than", "greater-than",
                "less-or-equal", "greater-or-equal", "nonzero", "zero", "negative", "positive",
                "sign", "nonsense",
            ]
        ),
        "reference": st.integers(-3, 3),
        "measurement": st.sampled_from(["absolute", "delta"]),
        "reward": st.sampled_from([1.0, 0.5, -2.0]),
        "penalty": st.sampled_from([1.0, 4.0]),
    },
)  # fmt: skip
_VARIABLES = st.dictionaries(st.sampled_from(["score", "lives", "gameover"]), _SPEC, max_size=3)
_CONDITION = st.fixed_dictionaries(
    {}, optional={"condition": st.sampled_from(["any", "all"]), "variables": _VARIABLES}
)
_DONE = st.fixed_dictionaries(
    {},
    optional={
        "condition": st.sampled_from(["any", "all"]),
        "variables": _VARIABLES,
        "nodes": st.dictionaries(st.sampled_from(["one", "two"]), _CONDITION, max_size=2),
    },
)
_REWARD = st.fixed_dictionaries({}, optional={"variables": _VARIABLES, "time": _SPEC})


def test_scenarios_are_judged_as_stable_retro_judges_them(tmp_path: Path) -> None:
    import stable_retro

    data_file = find_game([GAME]).data / "data.json"
    emulator = stable_retro.RetroEmulator(str(find_game([GAME]).rom))
    emulator.configure_data(stable_retro.data.GameData())
    emulator.step()
    start = emulator.get_state()
    frames = [
        {"score": 0, "lives": 3, "gameover": 1},
        {"score": 2, "lives": 3, "gameover": 0},
        {"score": 2, "lives": 1, "gameover": 2},
        {"score": 1, "lives": 0, "gameover": 1},
        {"score": 1, "lives": 0, "gameover": 1},
    ]

    @settings(
        max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(_REWARD, _DONE)
    def judge(reward: dict[str, Any], done: dict[str, Any]) -> None:
        scenario = {"reward": reward, "done": done}
        file = tmp_path / "scenario.json"
        file.write_text(json.dumps(scenario))
        # a new one: an old one keeps conditions of scenarios it had before
        data = stable_retro.data.GameData()
        emulator.configure_data(data)
        emulator.set_state(start)
        assert data.load(str(data_file), str(file))

        def put(variables: dict[str, int]) -> None:
            for name, value in variables.items():
                data.set_value(name, value)
            data.update_ram()

        data.reset()
        put(frames[0])
        ours = PlainScenario(scenario)
        ours.restart(frames[0])
        for variables in frames[1:]:
            put(variables)
            our_reward, our_done = ours.frame(variables)
            assert our_reward == pytest.approx(data.current_reward(0))
            assert our_done == bool(data.is_done())

    try:
        judge()
    finally:
        emulator = None


def test_every_bundled_scenario_can_be_read() -> None:
    read = 0
    for _, folder in games.known_games():
        scenario = games.read_json(folder / "scenario.json")
        for key in set(scenario) - {"reward", "done"}:
            del scenario[key]
        PlainScenario(scenario)
        read += 1
    assert read > 900


def test_states_are_gzipped_saves() -> None:
    game = find_game([GAME])
    assert game.states() == ["Level1"]
    assert len(gzip.decompress(game.state_file("Level1").read_bytes())) > 10_000
