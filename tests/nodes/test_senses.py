"""What an agent sees, remembers and presses,
beside ROMs that say themselves what they showed and what was pressed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibrains import BrainError, Episode, MinibrainsError
from minibrains.files import bundled_dir
from minibrains.testing import Inputs, ScratchHost, opened, play
from nodes.actions.gates import RecoveryBrain
from nodes.actions.sink import ActionTable, EmulatorSink
from nodes.consoles.pads import ButtonHistory, ButtonHistoryBrain
from nodes.consoles.retro import RetroEmulator
from nodes.fighting.features import FightVector, FightVectorBrain, GameFeatures
from nodes.fighting.fighters import ScriptedFighter
from nodes.vision.frames import FrameStack, FrameStackBrain, Resize
from tests.support.pad_barcode import BITS, read_barcode

MODELS = bundled_dir("models")
PAD = "Pad-Genesis"
COMBOS = ActionTable.load(MODELS / "action_table/combos57.safetensors")
NUMBERS = FightVectorBrain.load(MODELS / "fight_vector/sf2.safetensors")
HISTORY = ButtonHistoryBrain.load(MODELS / "button_history/genesis8.safetensors")


@pytest.fixture
def console(tmp_path: Path) -> Iterator[RetroEmulator]:
    console = RetroEmulator(game=PAD)
    with opened(console, ScratchHost(tmp_path)):
        yield console


def _mask(buttons: tuple[str, ...]) -> int:
    mask = 0
    for button in buttons:
        mask |= 1 << BITS[PAD].index(button)
    return mask


def _check_pressed(
    console: RetroEmulator, pads: Sequence[tuple[str, ...]], expected: Sequence[tuple[str, ...]]
) -> None:
    """Hold each of the pads for a frame; in each of the frames after,
    the game must have read the buttons expected.
    """
    ticks = [{"pad1": pad} for pad in pads]
    _, *after = play(console, *ticks, {})
    for (_, variables, *_), buttons in zip(after, expected, strict=True):
        assert variables["pad1"] == _mask(buttons)


# -- pictures --------------------------------------------------------------------------------------


def test_eight_colour_frames_are_24_channels_oldest_first_and_begin_anew(
    console: RetroEmulator,
) -> None:
    small = Resize(width=180, height=128)
    stack = FrameStack(brain=FrameStackBrain.load(MODELS / "frame_stack/rgb8.safetensors"))
    with opened(small), opened(stack):
        for index, ticks in enumerate((20, 12)):
            episode = Episode(index, 0, "node")
            console.reset(episode)
            stack.reset(episode)
            first = console.emit().variables["frame"]
            for tick in range(ticks):
                picture = small.tick(console.emit().frame())
                channels = stack.tick(picture)
                assert (channels.shape, channels.dtype) == ((24, 128, 180), np.dtype(np.float32))
                pictures = channels.reshape(8, 3, 128, 180).transpose(0, 2, 3, 1)
                assert np.array_equal(pictures[-1], picture / np.float32(255))
                for back, picture in enumerate(reversed(pictures)):
                    assert read_barcode(picture * 255).frame == first + max(tick - back, 0)
                console.latch()


# -- what was pressed ------------------------------------------------------------------------------


def test_the_button_history_is_the_echo_of_the_console(console: RetroEmulator) -> None:
    random = np.random.default_rng(2)
    node = ButtonHistory(brain=HISTORY)
    columns = np.array([BITS[PAD].index(button) for button in HISTORY.buttons])
    with opened(node):
        for index in range(2):
            console.reset(Episode(index, 0, "node"))
            node.reset(Episode(index, 0, "node"))
            echo = [0] * 8
            for tick in range(200):
                if tick:
                    echo.append(console.emit().variables["pad1"])
                rows = node.emit()
                expected = np.array(echo[-8:])[:, None] >> columns & 1
                assert (rows.shape, rows.dtype) == ((8, 12), np.dtype(np.uint8))
                assert rows.tolist() == expected.tolist()
                pad = tuple(button for button in HISTORY.buttons if random.random() < 0.3)
                console.latch(pad)
                node.latch(pad)
            assert any(echo[-8:]), "so that the next episode has something to forget"


def test_a_button_that_is_no_column_is_named() -> None:
    with (
        opened(node := ButtonHistory(brain=HISTORY)),
        pytest.raises(MinibrainsError, match="holds 'L', not a column"),
    ):
        play(node, {"pad": ("L",)})


@pytest.mark.parametrize(
    ("buttons", "steps"), [((), 8), (("A", "A"), 8), (("A",), 0), (("A",), 5000)]
)
def test_a_history_of_nothing_is_refused(buttons: tuple[str, ...], steps: int) -> None:
    with pytest.raises(BrainError, match=r"(buttons are|steps is) .*; expected"):
        ButtonHistoryBrain(buttons=buttons, steps=steps)


# -- actions ---------------------------------------------------------------------------------------


def test_57_combinations_are_57_rows_and_press_what_they_say(console: RetroEmulator) -> None:
    ways = [
        (),
        ("UP",),
        ("DOWN",),
        *itertools.product(("UP", "DOWN"), ("LEFT", "RIGHT")),
        ("LEFT",),
        ("RIGHT",),
    ]
    expected: list[frozenset[str]] = []
    for way in ways:
        expected.append(frozenset(way))
        if way == ("UP",):
            continue
        for button in "ABCXYZ":
            expected.append(frozenset((*way, button)))
    rows = []
    for action in range(COMBOS.sizes["actions"]):
        (row,) = COMBOS.pads(action)
        rows.append(row)
    assert len(expected) == len(set(expected)) == len(rows) == 57
    assert set(map(frozenset, rows)) == set(expected)
    assert len(np.unique(COMBOS.rows, axis=0)) == 57
    _check_pressed(console, rows, rows)


@pytest.mark.parametrize("right", [True, False])
def test_each_of_the_44_actions_presses_its_rows_one_a_frame_and_holds_the_last(
    console: RetroEmulator, right: bool
) -> None:
    table = ActionTable.load(MODELS / "action_table/sf2.safetensors")
    assert table.sizes["actions"] == 44
    longest = int(np.diff(table.starts).max())
    for action in range(44):
        rows = table.pads(action, right)
        with opened(sink := EmulatorSink(brain=table)):
            looks: list[Inputs] = [
                {"action": action, "facing": right},
                *[{"facing": right}] * longest,
            ]
            pressed = play(sink, *looks)
        pads = [out.pad for out in pressed]
        held = len(pads) - len(rows)
        _check_pressed(console, pads, [*rows, *[rows[-1]] * held])


def test_two_tables_stand_side_by_side() -> None:
    duel = ActionTable.load(MODELS / "action_table/duel.safetensors")
    assert (duel.sizes["actions"], duel.buttons) == (44, COMBOS.buttons)
    with opened(one := EmulatorSink(brain=duel)), opened(other := EmulatorSink(brain=COMBOS)):
        assert play(one, {"action": 43})[0].pad == duel.pads(43)[0]
        assert play(other, {"action": 43})[0].pad == COMBOS.pads(43)[0]


def _logged(path: Path) -> dict[int, Any]:
    """What a node logged, by tick."""
    values: dict[int, Any] = {}
    for line in path.read_text().splitlines():
        logged = json.loads(line)
        values[logged["tick"]] = logged["value"]
    return values


def test_20_decisions_in_600_frames_and_what_happens_between_them(
    summary: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Some actions take longer to recover than from one decision to the next;
    between decisions the last one is held.
    """
    recovery = np.arange(57, dtype=np.int32) * 7 % 50
    RecoveryBrain(recovery=recovery).save(
        tmp_path / "slow.safetensors", title="up to 49 frames", made_by="a test"
    )
    nodes = {
        "console": {"type": "RetroEmulator@3", "set": {"game": PAD}, "in": {"pad1": "sink.pad"}},
        "clock": {"type": "Every@1", "set": {"ticks": 30}},
        "random": {
            "type": "RandomPolicy@1",
            "set": {"actions": 57, "hold": 1},
            "when": "clock.now",
        },
        "gate": {
            "type": "CooldownGate@2",
            "in": {"action": "random.action"},
            "brain": "slow.safetensors",
        },
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "gate.action"},
            "brain": "action_table/combos57.safetensors",
        },
    }
    logged = {
        "chosen": "random.action",
        "sent": "gate.action",
        "remaining": "gate.remaining",
        "since": "gate.since",
        "variables": "console.variables",
    }
    for name, link in logged.items():
        nodes[name] = {"type": "Log@1", "in": {"value": link}}
    (tmp_path / "pad.json").write_text(
        json.dumps({"minibrains": 1, "title": "Pad", "nodes": nodes})
    )
    run = Path(summary("pad.json", "--ticks", 600, "--seed", 4)["run_dir"])
    chosen = _logged(run / "chosen.jsonl")
    sent = _logged(run / "sent.jsonl")
    remaining = _logged(run / "remaining.jsonl")
    since = _logged(run / "since.jsonl")
    variables = _logged(run / "variables.jsonl")
    assert list(chosen) == list(range(0, 600, 30))
    allowed = 0
    last = 0
    held = 0
    for tick in range(600):
        assert variables[tick]["pad1"] == held
        if tick in chosen and tick >= allowed:
            action = chosen[tick]
            assert sent[tick] == action
            last = tick
            allowed = tick + 1 + int(recovery[action])
            held = _mask(COMBOS.pads(action)[0])
        else:
            assert tick not in sent
        assert remaining[tick] == max(allowed - tick - 1, 0)
        assert since[tick] == tick - last
    assert 0 < len(sent) < 20, "the gate was closed at some of the decisions"


# -- a fight in numbers ----------------------------------------------------------------------------


def _hp(value: int) -> float:
    return 2 * min(max(value, 0), 176) / 176 - 1


def _golden(before: Mapping[str, int], now: Mapping[str, int]) -> list[float]:
    """The 21 numbers once more, from the game's variables themselves."""
    own, enemy = _hp(now["agent_hp"]), _hp(now["enemy_hp"])
    vector = [
        own,
        enemy,
        (own - enemy) / 2,
        (own - _hp(before["agent_hp"])) * 2,
        (enemy - _hp(before["enemy_hp"])) * 2,
        abs(now["agent_x"] - now["enemy_x"]) / 128 - 1,
        _side(now),
        now["agent_x"] / 256 - 1,
        now["enemy_x"] / 256 - 1,
        (now["agent_x"] - before["agent_x"]) * _side(before) / 8,
        (before["enemy_x"] - now["enemy_x"]) * _side(before) / 8,
        max(192 - now["agent_y"], 0) / 128,
        max(192 - now["enemy_y"], 0) / 128,
    ]
    for status in (now["agent_status"], now["enemy_status"]):
        vector += [status == 514, status == 518, status in (520, 522), status == 524]
    clipped: list[float] = np.clip(np.array(vector, np.float64), -1, 1).tolist()
    return clipped


def _side(moment: Mapping[str, int]) -> int:
    """1 if the agent looks to the right."""
    if moment["agent_x"] <= moment["enemy_x"]:
        return 1
    return -1


def test_a_fight_is_21_numbers_in_20_states_of_duel(tmp_path: Path) -> None:
    training = list(
        json.loads((bundled_dir("games") / "Duel-Genesis/splits.json").read_text())["training"]
    )
    console = RetroEmulator(game="Duel-Genesis", states=tuple(training[: 4 * 20 : 4]))
    features = GameFeatures()
    vector = FightVector(brain=NUMBERS)
    fighter = ScriptedFighter(style="aggressive")
    seen = []
    with opened(console, ScratchHost(tmp_path)), opened(features), opened(vector), opened(fighter):
        for index in range(20):
            for node in (console, vector, fighter):
                node.reset(Episode(index, 0, "node"))
            before = console.emit().variables
            for _ in range(120):
                now = console.emit().variables
                numbers = vector.tick(features.tick(now).fight)
                assert (numbers.shape, numbers.dtype) == ((21,), np.dtype(np.float32))
                assert numbers == pytest.approx(_golden(before, now), abs=1e-6)
                seen.append(numbers)
                before = now
                console.latch(fighter.tick(now))
    moved = np.ptp(seen, axis=0)
    assert (moved > 0).sum() >= 18, "nearly every number has been several"


def _variables() -> st.SearchStrategy[dict[str, int]]:
    words = {
        "hp": st.integers(-(2**15), 2**15 - 1),
        "x": st.integers(0, 2**16 - 1),
        "y": st.integers(0, 2**16 - 1),
    }
    words["status"] = st.sampled_from((0, 512, 514, 516, 518, 520, 522, 524))
    variables = {}
    for name, values in words.items():
        variables[f"agent_{name}"] = values
        variables[f"enemy_{name}"] = values
    return st.fixed_dictionaries(variables)


@given(st.lists(_variables(), min_size=1, max_size=4))
def test_whatever_the_variables_the_numbers_stay_within_one(moments: list[dict[str, int]]) -> None:
    features = GameFeatures()
    vector = FightVector(brain=NUMBERS)
    fights = []
    for moment in moments:
        fights.append({"fight": features.tick(moment).fight})
    with opened(vector):
        for numbers in play(vector, *fights):
            assert np.isfinite(numbers).all()
            assert (abs(numbers) <= 1).all()


def test_the_names_stand_in_the_brain_and_choose_what_comes_out() -> None:
    assert len(set(NUMBERS.names)) == NUMBERS.sizes["numbers"] == 21
    two = FightVectorBrain(
        names=("distance", "own_hp"),
        middle=np.array([0, 0], np.float32),
        scale=np.array([100, 2], np.float32),
    )
    agent = {"agent_hp": 176, "agent_x": 100, "agent_y": 192, "agent_status": 512}
    enemy = {"enemy_hp": 176, "enemy_x": 150, "enemy_y": 192, "enemy_status": 512}
    fight = GameFeatures().tick({**agent, **enemy}).fight
    with opened(vector := FightVector(brain=two)):
        (numbers,) = play(vector, {"fight": fight})
    assert numbers.tolist() == [0.5, 0.5]


def _own_and_enemy(name: str) -> tuple[str, str]:
    return f"own_{name}", f"enemy_{name}"


def test_moves_and_characters_of_duel_are_told_one_by_one(tmp_path: Path) -> None:
    names = list(_own_and_enemy("move_frame"))
    for move in range(1, 22):
        names += _own_and_enemy(f"move_{move}")
    for character in range(4):
        names += _own_and_enemy(f"character_{character}")
    brain = FightVectorBrain(
        names=tuple(names),
        middle=np.zeros(len(names), np.float32),
        scale=np.full(len(names), 1000, np.float32),
    )
    console = RetroEmulator(game="Duel-Genesis", states=("training/Level4.MiraVsKaze",))
    features = GameFeatures()
    vector = FightVector(brain=brain)
    fighter = ScriptedFighter(style="aggressive")
    moves = set()
    with opened(console, ScratchHost(tmp_path)), opened(features), opened(vector), opened(fighter):
        for node in (console, vector, fighter):
            node.reset(Episode(0, 0, "node"))
        for _ in range(600):
            now = console.emit().variables
            told = dict(zip(names, vector.tick(features.tick(now).fight) * 1000, strict=True))
            expected = dict.fromkeys(names, 0)
            for side, variables in (("own", "agent"), ("enemy", "enemy")):
                move, frame = now[f"{variables}_move"], now[f"{variables}_move_frame"]
                expected[f"{side}_move_frame"] = frame
                if move:
                    expected[f"{side}_move_{move}"] = 1
                    moves.add(move)
            expected["own_character_2"] = expected["enemy_character_0"] = 1  # Mira and Kaze
            assert told == pytest.approx(expected, abs=1e-3)
            console.latch(fighter.tick(now))
    assert len(moves) > 3, "several moves have been made"


def test_a_game_that_does_not_tell_its_characters_has_none_of_them() -> None:
    names = tuple(f"own_character_{character}" for character in range(4))
    brain = FightVectorBrain(
        names=names, middle=np.zeros(4, np.float32), scale=np.ones(4, np.float32)
    )
    agent = {"agent_hp": 176, "agent_x": 100, "agent_y": 192, "agent_status": 512}
    enemy = {"enemy_hp": 176, "enemy_x": 150, "enemy_y": 192, "enemy_status": 512}
    fight = GameFeatures().tick({**agent, **enemy}).fight
    with opened(vector := FightVector(brain=brain)):
        (numbers,) = play(vector, {"fight": fight})
    assert numbers.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("names", "scale", "sentence"),
    [
        ((), [], "at least one"),
        (("own_hp",), [1, 1], "2 numbers and 1 names"),
        (("luck",), [1], "no number 'luck'"),
        (("own_hp",), [0], "greater than 0"),
        (("own_hp",), [np.nan], "finite"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    names: tuple[str, ...], scale: list[float], sentence: str
) -> None:
    with pytest.raises(BrainError, match=sentence):
        FightVectorBrain(
            names=names, middle=np.zeros(len(scale), np.float32), scale=np.array(scale, np.float32)
        )
