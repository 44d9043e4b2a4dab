"""What an agent sees, remembers and presses, beside ROMs that say themselves what they showed and what was pressed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pad_barcode import BITS, read_barcode

from minibrains import BrainError, Episode, MinibrainsError
from minibrains.files import shipped
from minibrains.testing import ScratchHost, opened, play
from nodes.actions.gates import RecoveryTable
from nodes.actions.sink import ActionTable, EmulatorSink
from nodes.consoles.pads import ButtonColumns, ButtonHistory
from nodes.consoles.retro import RetroEmulator
from nodes.fighting.features import FightNumbers, FightVector, GameFeatures
from nodes.fighting.fighters import ScriptedFighter
from nodes.vision.frames import FrameStack, FrameStackTaps, Resize

MODELS, PAD = shipped("models"), "Pad-Genesis"
COMBOS = ActionTable.load(MODELS / "action_table/combos57.safetensors")
NUMBERS = FightNumbers.load(MODELS / "fight_vector/sf2.safetensors")
HISTORY = ButtonColumns.load(MODELS / "button_history/genesis8.safetensors")


@pytest.fixture
def console(tmp_path: Path) -> Iterator[RetroEmulator]:
    console = RetroEmulator(game=PAD)
    with opened(console, ScratchHost(tmp_path)):
        yield console


def _mask(buttons: tuple[str, ...]) -> int:
    return sum(1 << BITS[PAD].index(button) for button in buttons)


# -- pictures -----------------------------------------------------------------------------------------


def test_eight_colour_frames_are_24_channels_oldest_first_and_begin_anew(console: RetroEmulator) -> None:
    small = Resize(width=180, height=128)
    stack = FrameStack(brain=FrameStackTaps.load(MODELS / "frame_stack/rgb8.safetensors"))
    with opened(small), opened(stack):
        for index, ticks in enumerate((20, 12)):
            episode = Episode(index, 0, "node")
            console.reset(episode)
            stack.reset(episode)
            first = console.emit().variables["frame"]
            for tick in range(ticks):
                picture = small.tick(console.emit().frame())
                channels = stack.tick(picture)
                assert (channels.shape, channels.dtype) == ((24, 128, 180), np.float32)
                pictures = channels.reshape(8, 3, 128, 180).transpose(0, 2, 3, 1)
                assert np.array_equal(pictures[-1], picture / np.float32(255))
                shown = [read_barcode(picture * 255).frame for picture in pictures]
                assert shown == [first + max(tick - back, 0) for back in range(7, -1, -1)]
                console.latch()


# -- what was pressed ---------------------------------------------------------------------------------


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
                assert (rows.shape, rows.dtype) == ((8, 12), np.uint8)
                assert rows.tolist() == (np.array(echo[-8:])[:, None] >> columns & 1).tolist()
                pad = tuple(button for button in HISTORY.buttons if random.random() < 0.3)
                console.latch(pad)
                node.latch(pad)
            assert any(echo[-8:]), "so that the next episode has something to forget"


def test_a_button_that_is_no_column_is_named() -> None:
    with opened(node := ButtonHistory(brain=HISTORY)), pytest.raises(MinibrainsError, match="holds 'L', which is no column"):
        play(node, {"pad": ("L",)})


@pytest.mark.parametrize(("buttons", "steps"), [((), 8), (("A", "A"), 8), (("A",), 0), (("A",), 5000)])
def test_a_history_of_nothing_is_refused(buttons: tuple[str, ...], steps: int) -> None:
    with pytest.raises(BrainError, match=r"(buttons are|steps is) .*; expected"):
        ButtonColumns(buttons=buttons, steps=steps)


# -- actions ------------------------------------------------------------------------------------------


def test_57_combinations_are_57_rows_and_press_what_they_say(console: RetroEmulator) -> None:
    pads = [COMBOS.pads(action) for action in range(COMBOS.sizes["actions"])]
    ways = [(), ("UP",), ("DOWN",), *itertools.product(("UP", "DOWN"), ("LEFT", "RIGHT")), ("LEFT",), ("RIGHT",)]
    expected = [frozenset(way) for way in ways]
    expected += [frozenset((*way, button)) for way in ways if way != ("UP",) for button in "ABCXYZ"]
    assert len(expected) == len(set(expected)) == len(pads) == 57
    assert {frozenset(row) for (row,) in pads} == set(expected)
    assert len({tuple(row) for row in COMBOS.rows.tolist()}) == 57
    _, *after = play(console, *({"pad1": row} for (row,) in pads), {})
    assert [variables["pad1"] for _, variables, *_ in after] == [_mask(row) for (row,) in pads]


@pytest.mark.parametrize("right", [True, False])
def test_each_of_the_44_actions_presses_its_rows_one_a_frame_and_holds_the_last(console: RetroEmulator, right: bool) -> None:
    table = ActionTable.load(MODELS / "action_table/sf2.safetensors")
    assert table.sizes["actions"] == 44
    longest = max(len(table.pads(action)) for action in range(44))
    for action in range(44):
        rows = table.pads(action, right)
        with opened(sink := EmulatorSink(brain=table)):
            looks = [{"action": action, "facing": right}, *[{"facing": right}] * longest]
            pads = [pressed.pad for pressed in play(sink, *looks)]
        _, *after = play(console, *({"pad1": pad} for pad in pads), {})
        expected = [*rows, *[rows[-1]] * (len(pads) - len(rows))]
        assert [variables["pad1"] for _, variables, *_ in after] == [_mask(row) for row in expected], table.names[action]


def test_two_tables_stand_side_by_side() -> None:
    duel = ActionTable.load(MODELS / "action_table/duel.safetensors")
    assert (duel.sizes["actions"], duel.buttons) == (44, COMBOS.buttons)
    with opened(one := EmulatorSink(brain=duel)), opened(other := EmulatorSink(brain=COMBOS)):
        assert [play(sink, {"action": 43})[0].pad for sink in (one, other)] == [duel.pads(43)[0], COMBOS.pads(43)[0]]


def test_20_decisions_in_600_frames_and_what_happens_between_them(summary: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """Some actions take longer to recover than from one decision to the next; between decisions the last one is held."""
    recovery = np.arange(57, dtype=np.int32) * 7 % 50
    RecoveryTable(recovery=recovery).save(tmp_path / "slow.safetensors", title="up to 49 frames", made_by="a test")
    nodes = {
        "console": {"type": "RetroEmulator@2", "set": {"game": PAD}, "in": {"pad1": "sink.pad"}},
        "clock": {"type": "Every@1", "set": {"ticks": 30}},
        "random": {"type": "RandomPolicy@1", "set": {"actions": 57, "hold": 1}, "when": "clock.now"},
        "gate": {"type": "CooldownGate@1", "in": {"action": "random.action"}, "brain": "slow.safetensors"},
        "sink": {"type": "EmulatorSink@1", "in": {"action": "gate.action"}, "brain": "action_table/combos57.safetensors"},
    }
    logged = ("random.action", "gate.action", "gate.left", "gate.since", "console.variables")
    logs = {link.replace(".", "_"): {"type": "Log@1", "in": {"value": link}} for link in logged}
    (tmp_path / "pad.json").write_text(json.dumps({"minibrains": 1, "title": "Pad", "nodes": {**nodes, **logs}}))
    run = Path(summary("pad.json", "--ticks", 600, "--seed", 4)["run_dir"])
    lines = [[json.loads(line) for line in (run / f"{name}.jsonl").read_text().splitlines()] for name in logs]
    chosen, sent, left, since, variables = [{line["tick"]: line["value"] for line in log} for log in lines]
    assert list(chosen) == list(range(0, 600, 30))
    allowed, last, held = 0, 0, 0
    for tick in range(600):
        assert variables[tick]["pad1"] == held
        if tick in chosen and tick >= allowed:
            assert sent[tick] == chosen[tick]
            last, allowed, held = tick, tick + 1 + int(recovery[chosen[tick]]), _mask(COMBOS.pads(chosen[tick])[0])
        else:
            assert tick not in sent
        assert (left[tick], since[tick]) == (max(allowed - tick - 1, 0), tick - last)
    assert 0 < len(sent) < 20, "the gate was closed at some of the decisions"


# -- a fight in numbers -------------------------------------------------------------------------------


def _hp(value: int) -> float:
    return 2 * min(max(value, 0), 176) / 176 - 1


def _golden(before: dict[str, int], now: dict[str, int]) -> list[float]:
    """The 21 numbers once more, from the game's variables themselves."""
    side = {name: 1 if moment["agent_x"] <= moment["enemy_x"] else -1 for name, moment in (("before", before), ("now", now))}
    vector = [_hp(now["agent_hp"]), _hp(now["enemy_hp"]), (_hp(now["agent_hp"]) - _hp(now["enemy_hp"])) / 2]
    vector += [(_hp(now[f"{who}_hp"]) - _hp(before[f"{who}_hp"])) * 2 for who in ("agent", "enemy")]
    vector += [abs(now["agent_x"] - now["enemy_x"]) / 128 - 1, side["now"]]
    vector += [now[f"{who}_x"] / 256 - 1 for who in ("agent", "enemy")]
    vector += [(now["agent_x"] - before["agent_x"]) * side["before"] / 8]
    vector += [(before["enemy_x"] - now["enemy_x"]) * side["before"] / 8]
    vector += [max(192 - now[f"{who}_y"], 0) / 128 for who in ("agent", "enemy")]
    kinds = ((514,), (518,), (520, 522), (524,))
    vector += [now[f"{who}_status"] in kind for who in ("agent", "enemy") for kind in kinds]
    return [min(max(float(number), -1.0), 1.0) for number in vector]


def test_a_fight_is_21_numbers_in_20_states_of_duel(tmp_path: Path) -> None:
    training = list(json.loads((shipped("games") / "Duel-Genesis/splits.json").read_text())["training"])
    console = RetroEmulator(game="Duel-Genesis", states=tuple(training[: 4 * 20 : 4]))
    features, vector, fighter = GameFeatures(), FightVector(brain=NUMBERS), ScriptedFighter(style="aggressive")
    seen = []
    with opened(console, ScratchHost(tmp_path)), opened(features), opened(vector), opened(fighter):
        for index in range(20):
            for node in (console, vector, fighter):
                node.reset(Episode(index, 0, "node"))
            before = console.emit().variables
            for _ in range(120):
                now = console.emit().variables
                numbers = vector.tick(features.tick(now).fight)
                assert (numbers.shape, numbers.dtype) == ((21,), np.float32)
                assert numbers == pytest.approx(_golden(before, now), abs=1e-6)
                seen.append(numbers)
                before = now
                console.latch(fighter.tick(now))
    moved = np.ptp(seen, axis=0)
    assert (moved > 0).sum() >= 18, "nearly every number has been several"


def _variables() -> st.SearchStrategy[dict[str, int]]:
    words = {"hp": st.integers(-(2**15), 2**15 - 1), "x": st.integers(0, 2**16 - 1), "y": st.integers(0, 2**16 - 1)}
    words["status"] = st.sampled_from((0, 512, 514, 516, 518, 520, 522, 524))
    return st.fixed_dictionaries({f"{who}_{name}": values for who in ("agent", "enemy") for name, values in words.items()})


@given(st.lists(_variables(), min_size=1, max_size=4))
def test_whatever_the_variables_the_numbers_stay_within_one(moments: list[dict[str, int]]) -> None:
    features, vector = GameFeatures(), FightVector(brain=NUMBERS)
    with opened(vector):
        for numbers in play(vector, *({"fight": features.tick(moment).fight} for moment in moments)):
            assert np.isfinite(numbers).all()
            assert (abs(numbers) <= 1).all()


def test_the_names_stand_in_the_brain_and_choose_what_comes_out() -> None:
    assert len(set(NUMBERS.names)) == NUMBERS.sizes["numbers"] == 21
    two = FightNumbers(names=("distance", "own_hp"), middle=np.float32([0, 0]), scale=np.float32([100, 2]))
    still = {f"{who}_{name}": value for who in ("agent", "enemy") for name, value in {"hp": 176, "y": 192, "status": 512}.items()}
    with opened(vector := FightVector(brain=two)):
        (numbers,) = play(vector, {"fight": GameFeatures().tick({**still, "agent_x": 100, "enemy_x": 150}).fight})
    assert numbers.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("names", "scale", "sentence"),
    [((), [], "at least one"), (("own_hp",), [1, 1], "2 numbers and 1 names"), (("luck",), [1], "no number 'luck'"),
     (("own_hp",), [0], "greater than 0"), (("own_hp",), [np.nan], "finite")],
)  # fmt: skip
def test_numbers_that_make_no_sense_are_refused(names: tuple[str, ...], scale: list[float], sentence: str) -> None:
    with pytest.raises(BrainError, match=sentence):
        FightNumbers(names=names, middle=np.zeros(len(scale), np.float32), scale=np.float32(scale))
