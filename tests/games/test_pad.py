"""The Pad ROMs, and through them the console: button order, latency, stacking,
dropped or doubled frames.

Pad echoes its pads and a frame counter to RAM and, as a barcode, to the screen
(games/Pad-*/README.md).
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibrains import Episode, Node, Number, On, Socket, Variables
from minibrains.engine.compile import compile_graph
from minibrains.engine.engine import Engine
from minibrains.files import bundled_dir
from minibrains.graph.check import check
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import parse_workflow
from minibrains.testing import ScratchHost, opened, play
from nodes.actions.sink import ActionTable, EmulatorSink
from nodes.consoles.retro import RetroEmulator
from nodes.policies.baselines import RandomPolicy
from nodes.vision.frames import FrameStack, FrameStackBrain, Grayscale, Resize
from tests.support.engine_fixtures import FakeHost, make_plan
from tests.support.pad_barcode import BITS, Barcode, read_barcode
from tests.support.thinking_nodes import Even, InProcess, InThread
from tests.support.thinking_nodes import Seen as SeenNumbers

GAMES = ("Pad-Genesis", "Pad-GbAdvance")
GENESIS, GBA = GAMES
BARCODE_LINE = 24
FIRST_BLANK_LINE = {GENESIS: 224, GBA: 160}
Pads = tuple[tuple[str, ...], tuple[str, ...]]

every_game = pytest.mark.parametrize("game", GAMES)


@pytest.fixture
def console(game: str, tmp_path: Path) -> Iterator[RetroEmulator]:
    console = RetroEmulator(game=game, players=2)
    with opened(console, ScratchHost(tmp_path)):
        yield console


def _mask(game: str, pad: tuple[str, ...]) -> int:
    """What the game reads of a pad: a direction and its opposite are neither."""
    held = set(pad)
    for pair in ({"LEFT", "RIGHT"}, {"UP", "DOWN"}):
        if pair <= held:
            held -= pair
    return _bits(game, held)


def _bits(game: str, buttons: Iterable[str]) -> int:
    bits = 0
    for button in buttons:
        bits |= 1 << BITS[game].index(button)
    return bits


def _random_pads(game: str, count: int, seed: int = 0) -> list[Pads]:
    random = np.random.default_rng(seed)

    def pad() -> tuple[str, ...]:
        return tuple(button for button in BITS[game] if random.random() < 0.4)

    pads = []
    for _ in range(count):
        one = pad()
        two = pad()
        pads.append((one, two))
    return pads


def _ticks(pads: Iterable[Pads]) -> list[dict[str, Any]]:
    return [{"pad1": one, "pad2": two} for one, two in pads]


def _variable(name: str, shown: Iterable[Any]) -> list[int]:
    """A variable of the game, tick by tick."""
    return [variables[name] for _, variables, *_ in shown]


def _barcode_of(variables: Variables) -> Barcode:
    return Barcode(
        variables["frame"], variables["pad1"], variables["pad2"], variables["presses"] & 0xFFFF
    )


def _shown(console: RetroEmulator) -> tuple[np.ndarray, Variables, float, bool]:
    shown = console.emit()
    return shown.frame(), shown.variables, shown.reward, shown.terminated


# -- one console -----------------------------------------------------------------------------------


@every_game
def test_every_button_sets_its_own_bit_and_no_other(game: str, console: RetroEmulator) -> None:
    import stable_retro

    system = game.removeprefix("Pad-")
    assert set(BITS[game]) == set(filter(None, stable_retro.get_system_info(system)["buttons"]))
    ticks: list[dict[str, Any]] = []
    expected = [(0, 0)]
    for place, button in enumerate(BITS[game]):
        ticks.append({"pad1": (button,)})
        expected.append((1 << place, 0))
    for place, button in enumerate(BITS[game]):
        ticks.append({"pad2": (button,)})
        if game == GENESIS:
            expected.append((0, 1 << place))
        else:
            expected.append((0, 0))
    shown = play(console, *ticks, {})
    assert list(zip(_variable("pad1", shown), _variable("pad2", shown), strict=True)) == expected


@every_game
def test_opposite_directions_reach_no_pad(game: str, console: RetroEmulator) -> None:
    arrows = ("UP", "DOWN", "LEFT", "RIGHT")
    others = set(BITS[game]) - set(arrows)
    arrives = {
        ("LEFT", "A", "RIGHT"): {"A"},
        ("DOWN", "UP", "LEFT"): {"LEFT"},
        arrows: set(),
        BITS[game]: others,
    }
    ticks = [{"pad1": pad} for pad in arrives]
    _, *after = play(console, *ticks, {})
    for found, expected in zip(_variable("pad1", after), arrives.values(), strict=True):
        assert found == _bits(game, expected)


@every_game
def test_what_is_latched_on_a_tick_is_in_ram_and_on_screen_on_the_next(
    game: str, console: RetroEmulator
) -> None:
    pads = _random_pads(game, 600)
    shown = play(console, *_ticks(pads), {})
    start = shown[0][1]
    presses = start["presses"]
    old = [0, 0]
    for tick, ((one, two), on_screen) in enumerate(zip([((), ()), *pads], shown, strict=True)):
        frame, variables, reward, done, _ = on_screen
        masks = [_mask(game, one), _mask(game, two)]
        if game == GBA:
            masks[1] = 0
        new = (masks[0] & ~old[0]).bit_count() + (masks[1] & ~old[1]).bit_count()
        presses += new
        old = masks
        assert variables["frame"] == start["frame"] + tick, "one frame a latch"
        assert [variables["pad1"], variables["pad2"]] == masks
        assert (variables["presses"], reward, done) == (presses, new, False)
        assert variables["magic"] == 0x50414431
        assert read_barcode(frame) == _barcode_of(variables), (
            "the screen shows this tick, not another"
        )
        assert not BARCODE_LINE <= variables["idle_line"] < FIRST_BLANK_LINE[game], (
            "drawn before the picture got there"
        )


@every_game
def test_a_screen_looked_at_now_and_then_shows_the_tick_it_is_looked_at(
    game: str, console: RetroEmulator
) -> None:
    random = np.random.default_rng(1)
    play(console)
    for one, two in _random_pads(game, 200, seed=1):
        shown = console.emit()
        if random.random() < 0.3:
            assert read_barcode(shown.frame()) == _barcode_of(shown.variables)
        console.latch(one, two)


@pytest.mark.parametrize("game", [GBA])
def test_the_mailbox_is_a_second_pad(game: str, console: RetroEmulator) -> None:
    play(console)
    for mailbox in (1, 512, 1023, 0xFFFF, 0):
        console.data.set_value("mailbox", mailbox)
        console.latch((), ())
        frame, variables, _, _ = _shown(console)
        assert variables["pad2"] == read_barcode(frame).pad2 == mailbox & 1023


@pytest.mark.parametrize("game", [GENESIS])
def test_one_player_is_one_pad(game: str, tmp_path: Path) -> None:
    console = RetroEmulator(game=game)
    with opened(console, ScratchHost(tmp_path)):
        shown = play(console, {"pad1": ("A",), "pad2": ("B",)}, {})
    assert (shown[1][1]["pad1"], shown[1][1]["pad2"]) == (_mask(game, ("A",)), 0)


@every_game
def test_a_barcode_is_read_from_any_size(game: str, console: RetroEmulator) -> None:
    play(console)

    @settings(max_examples=60, deadline=None)
    @given(
        pad=st.sets(st.sampled_from(BITS[game])),
        scale=st.sampled_from([0.5, 1.0, 1.5, 2.0]),
        grey=st.booleans(),
        frames=st.integers(1, 5),
    )
    def read(pad: set[str], scale: float, grey: bool, frames: int) -> None:
        for _ in range(frames):
            console.latch(tuple(sorted(pad)))
        frame, variables, _, _ = _shown(console)
        height, width, _ = frame.shape
        resize = Resize(width=int(width * scale), height=int(height * scale))
        if grey:
            frame = Grayscale().tick(frame)
        picture = resize.tick(frame)
        assert read_barcode(picture) == _barcode_of(variables)

    read()


@every_game
def test_pictures_without_a_barcode_have_none(game: str, console: RetroEmulator) -> None:
    ((frame, *_),) = play(console, {})
    spoilt = frame.copy()
    spoilt[BARCODE_LINE + 8 : BARCODE_LINE + 16, 16:24] = (
        255  # the highest bit of the frame counter
    )
    for picture in (
        np.zeros_like(frame),
        np.full_like(frame, 255),
        255 - frame,
        np.roll(frame, 8, axis=0),
        spoilt,
    ):
        with pytest.raises(ValueError, match="no barcode"):
            read_barcode(picture)


# -- saved and repeated ----------------------------------------------------------------------------


@pytest.mark.slow
@every_game
def test_200_saves_and_loads_are_exact(game: str, console: RetroEmulator) -> None:
    pads = _random_pads(game, 5, seed=3)
    play(console)

    def go_on() -> list[Any]:
        after = []
        for one, two in pads:
            frame, variables, reward, done = _shown(console)
            after.append((frame.tobytes(), dict(variables), reward, done))
            console.latch(one, two)
        return after

    for place in range(200):
        console.latch(*pads[0])  # what is held at the save and goes on being held
        saved = console.state()
        stored = pickle.dumps(saved)
        first = go_on()
        if place % 2:
            saved = pickle.loads(stored)
        console.load_state(saved)
        assert go_on() == first


@every_game
def test_two_episodes_from_one_state_are_identical(game: str, console: RetroEmulator) -> None:
    ticks = _ticks(_random_pads(game, 120, seed=4))
    runs = []
    for _ in range(2):
        ticked = []
        for frame, *others in play(console, *ticks, episode=Episode(0, 7, "console")):
            ticked.append((frame.tobytes(), *others))
        runs.append((ticked, console.report()))
    assert runs[0] == runs[1]


@pytest.mark.soak
@every_game
def test_a_million_frames_of_random_pads(game: str, console: RetroEmulator) -> None:
    play(console)
    first = console.emit().variables["frame"]
    pads = _random_pads(game, 4096, seed=6)
    for frame in range(1_000_000):
        one, two = pads[frame % 4096 - frame // 4096 % 4096]
        console.latch(one, two)
        if frame % 997 == 0:
            screen, variables, _, done = _shown(console)
            assert variables["frame"] == first + frame + 1
            assert variables["pad1"] == _mask(game, one)
            assert read_barcode(screen) == _barcode_of(variables)
            assert not done


# -- through workflows -----------------------------------------------------------------------------

Stack = Annotated[np.ndarray, Socket("frames", "f32[c h w]")]


class Seen(Node):
    """Note every stack of pictures, by its barcodes, and what the console says on that tick."""

    def open(self, host: Any) -> None:
        self.host = host

    def reset(self, episode: Episode) -> None:
        self.stacks: list[tuple[int, list[Barcode], Barcode]] = []

    def tick(self, frames: On[Stack], variables: Variables) -> None:
        if frames is not None:
            barcodes = [read_barcode(picture * 255) for picture in frames]
            self.stacks.append((self.host.tick, barcodes, _barcode_of(variables)))


def _table(game: str, path: Path) -> Path:
    """A brain with one action a button, and one that releases them all."""
    rows = np.eye(len(BITS[game]) + 1, len(BITS[game]), dtype=np.uint8)
    starts = np.arange(len(rows) + 1, dtype=np.int32)
    ActionTable(names=(*BITS[game], "nothing"), buttons=BITS[game], starts=starts, rows=rows).save(
        path, title="a button each", made_by="a test"
    )
    return path


def _agent(game: str, **console: Any) -> dict[str, Any]:
    """A console whose first pad a random policy presses, another button on every tick."""
    return {
        "console": {
            "type": "RetroEmulator@3",
            "set": {"game": game, **console},
            "in": {"pad1": "sink.pad"},
        },
        "random": {"type": "RandomPolicy@1", "set": {"actions": len(BITS[game]) + 1, "hold": 1}},
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "random.action"},
            "brain": "table.safetensors",
        },
    }


@every_game
@pytest.mark.parametrize(
    ("taps", "every"), [((3, 2, 1, 0), 4), ((12, 8, 4, 0), 1), ((3, 2, 1, 0), 1), ((9, 1), 3)]
)
def test_a_stack_has_the_frames_it_says_oldest_first(
    game: str, tmp_path: Path, taps: tuple[int, ...], every: int
) -> None:
    _table(game, tmp_path / "table.safetensors")
    FrameStackBrain(
        taps=np.array(taps, np.int32), mean=np.array([0], np.float32), std=np.array([1], np.float32)
    ).save(tmp_path / "stack.safetensors", title="taps", made_by="a test")
    nodes = {
        **_agent(game),
        "grey": {"type": "Grayscale@1", "in": {"frame": "console.frame"}},
        "half": {
            "type": "Resize@1",
            "set": {"width": 120, "height": 80},
            "in": {"frame": "grey.frame"},
        },
        "stack": {
            "type": "FrameStack@1",
            "in": {"frame": "half.frame"},
            "brain": "stack.safetensors",
            "every": every,
        },
        "seen": {
            "type": "Seen@1",
            "in": {"frames": "stack.frames", "variables": "console.variables"},
        },
    }
    if game == GENESIS:
        nodes["half"]["set"] = {"width": 160, "height": 112}
    registry = Registry()
    for cls in (RetroEmulator, Grayscale, Resize, FrameStack, RandomPolicy, EmulatorSink, Seen):
        registry.add(cls)
    graph = check(
        parse_workflow({"minibrains": 1, "nodes": nodes}), registry, lambda pin: tmp_path / pin.file
    )
    engine = Engine(compile_graph(graph))
    try:
        engine.open(lambda runtime, engine: FakeHost(runtime, engine, folder=tmp_path))
        engine.reset(0, 5)
        engine.advance(60)
        stacks = engine.nodes["seen"].stacks
    finally:
        engine.close()
    first = stacks[0][2].frame
    shown = {now.frame: now for _, _, now in stacks}
    ticks = range(0, 60, every)
    for (tick, barcodes, now), expected_tick in zip(stacks, ticks, strict=True):
        assert tick == expected_tick, "none dropped, none doubled"
        assert now.frame == first + tick
        # before the episode is old enough: its first picture
        for barcode, tap in zip(barcodes, taps, strict=True):
            assert barcode.frame == first + max(0, tick - tap * every)
            assert barcode == shown[barcode.frame]


@every_game
@pytest.mark.parametrize("kind", [InThread, InProcess])
def test_while_a_node_holds_not_one_frame_passes(
    game: str, kind: type[Node], tmp_path: Path
) -> None:
    """100 random times of thinking, in the middle of the loop from the screen to the pad."""
    _table(game, tmp_path / "table.safetensors")
    nodes = _agent(game)
    nodes["frames"] = {"type": "FrameCount@1", "in": {"variables": "console.variables"}}
    nodes["slow"] = {
        "type": f"{kind.__name__}@1",
        "set": {"most": 20.0},
        "in": {"number": "frames.number"},
    }
    nodes["seen"] = {"type": "Seen@1", "in": {"value": "slow.number"}}
    nodes["sink"]["when"] = "even.flag"
    nodes["even"] = {"type": "Even@1", "in": {"number": "slow.number"}}
    types = (RetroEmulator, RandomPolicy, EmulatorSink, FrameCount, kind, SeenNumbers, Even)
    engine = Engine(make_plan(nodes, types, tmp_path))
    try:
        engine.open(lambda runtime, engine: FakeHost(runtime, engine, folder=tmp_path))
        engine.reset(0, 5)
        engine.advance(100)
        seen = engine.nodes["seen"].all
        held = engine.blocked_seconds
    finally:
        assert engine.close() == []
    ticks = range(100)
    first = seen[0][1]
    frames = range(first, first + 100)
    assert seen == list(zip(ticks, frames, strict=True)), "one frame a tick"
    assert held > 0


class FrameCount(Node):
    """The frame counter of Pad."""

    def tick(self, variables: Variables) -> Number:
        return variables["frame"]


@every_game
def test_the_command_line_plays_to_the_tick_that_was_asked_for(
    game: str, summary: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    _table(game, tmp_path / "table.safetensors")
    written: dict[str, Any] = {"countdown": 100}
    if game == GBA:
        written["mailbox"] = "$seed"
    nodes = {
        **_agent(game, noop_max=20, write=written),
        "log": {"type": "Log@1", "in": {"value": "console.variables"}},
        "score": {"type": "Score@1", "in": {"rewards": ["console.reward"]}},
    }
    (tmp_path / "pad.json").write_text(
        json.dumps({"minibrains": 1, "title": "Pad", "nodes": nodes})
    )
    result = summary("pad.json", "--episodes", 5, "--seed", 3)
    assert result["game"] == game
    assert result["rom_sha1"] == (bundled_dir("games") / game / "rom.sha").read_text().strip()
    assert result["distinct_episodes"] == 5
    text = (Path(result["run_dir"]) / "log.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    for index, episode in enumerate(result["episodes"]):
        log = [line["value"] for line in lines if line["episode"] == index]
        waited = episode["start"]["noops"]
        # the frames without a button count down as well, and the tick that sees the end is a tick
        assert (episode["ended"], episode["ticks"]) == ("done", 100 - waited + 1)
        first, *others = log
        last = log[-1]
        assert first["countdown"] == 100 - waited
        assert len(log) == 100 - waited + 1
        for tick, variables in enumerate(log):
            assert variables["frame"] == first["frame"] + tick
            assert variables["finished"] == (variables is last)
        assert episode["score"] == last["presses"] - first["presses"] > 20
        if game == GBA:
            mailbox = episode["start"]["write"]["mailbox"] & 1023
            for variables in others:
                assert variables["pad2"] == mailbox


@every_game
def test_the_directory_is_whole(game: str) -> None:
    folder = bundled_dir("games") / game
    for name in (
        "README.md",
        "data.json",
        "scenario.json",
        "metadata.json",
        "Start.state",
        "picture.png",
    ):
        assert (folder / name).stat().st_size
    for word in (*BITS[game], *json.loads((folder / "data.json").read_text())["info"]):
        assert word in (folder / "README.md").read_text(), f"the README does not speak of {word}"
