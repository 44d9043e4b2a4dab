"""A fight in words and numbers, what is asked, what an answer means, and who acts how often."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from games.source.duel import fighters
from minibrains import ABSENT, Absent, BrainError, MinibrainsError, Node
from minibrains.files import bundled_dir
from minibrains.testing import opened, play
from nodes.actions.gates import AntiRepeat, CooldownGate, RecoveryBrain
from nodes.actions.sink import ActionTable, EmulatorSink
from nodes.fighting.features import FrameHistory, GameFeatures
from nodes.fighting.strategist import ScriptedStrategist
from nodes.language.pretrained import VLMBrain
from nodes.language.prompt import PromptBuilder, PromptTemplate
from nodes.language.reply import METHODS, ActionParser, ReplyWords
from tests.support.fight_moments import moments
from tests.support.paths import DATA

MODELS = bundled_dir("models")
TABLE = ActionTable.load(MODELS / "action_table/sf2.safetensors")
RECOVERY = RecoveryBrain.load(MODELS / "recovery/sf2.safetensors")
PROMPT = PromptTemplate.load(MODELS / "prompt_template/sf2.safetensors")
WORDS = ReplyWords.load(MODELS / "reply_words/sf2.safetensors")


def _outputs(node: Node, *ticks: Any) -> list[Any]:
    with opened(node):
        return play(node, *ticks)


def _actions(outputs: Iterable[Any]) -> list[Any]:
    return [out.action for out in outputs]


def _moment(**changed: int) -> dict[str, int]:
    still = {"hp": 176, "x": 100, "y": 192, "status": 512}
    variables: dict[str, int] = {}
    for name, value in still.items():
        variables[f"agent_{name}"] = value
        variables[f"enemy_{name}"] = value
    return variables | changed


@pytest.mark.parametrize(
    ("distance", "band"),
    [(0, "close"), (39, "close"), (40, "mid"), (41, "mid"), (79, "mid"), (80, "mid"), (81, "far")],
)
@pytest.mark.parametrize("side", [1, -1])
def test_the_ranges_and_their_edges(distance: int, band: str, side: int) -> None:
    (out,) = _outputs(GameFeatures(), {"variables": _moment(enemy_x=100 + side * distance)})
    assert (out.distance, out.band, out.facing) == (distance, band, side == 1 or distance == 0)


def test_health_is_a_share_and_knocked_out_is_none() -> None:
    (out,) = _outputs(
        GameFeatures(),
        {
            "variables": _moment(
                agent_hp=88, enemy_hp=-1, enemy_status=524, agent_status=3, enemy_y=150
            )
        },
    )
    assert (out.own_hp, out.enemy_hp, out.advantage) == (0.5, 0.0, 0.5)
    assert (out.fight.own_status, out.fight.enemy_status, out.fight.enemy_height) == (
        "unknown",
        "hit",
        42,
    )


def test_a_game_without_a_fight_is_named() -> None:
    with pytest.raises(
        MinibrainsError, match="no variable 'agent_hp'; a fight needs agent_hp, agent_x"
    ):
        _outputs(GameFeatures(), {"variables": {"lives": 3}})


def _fights(*scenes: dict[str, int]) -> list[dict[str, Any]]:
    fights = []
    for moment in scenes:
        features = GameFeatures().tick(moment)
        fights.append({"fight": features.fight})
    return fights


def test_history_tells_health_and_movement_also_when_sides_are_switched() -> None:
    scenes = _fights(
        _moment(agent_x=100, enemy_x=200),
        _moment(agent_x=120, enemy_x=230, enemy_hp=88),
        _moment(agent_x=260, enemy_x=229, enemy_hp=88, agent_hp=132),
        _moment(agent_x=250, enemy_x=190, enemy_hp=88, agent_hp=132),
    )
    out = _outputs(FrameHistory(steps=3), *scenes)
    assert out[0].text == "nothing yet"
    assert out[3].text.splitlines() == [
        "you 0 hp, toward; other -50 hp, away",
        "you -25 hp, toward; other 0 hp, still",
        "you 0 hp, toward; other 0 hp, away",
    ]
    assert (out[3].own_change, out[3].enemy_change) == (-0.25, -0.5)
    assert _outputs(FrameHistory(steps=1), *scenes)[3].text == "you 0 hp, toward; other 0 hp, away"


@pytest.mark.parametrize(
    ("distance", "advice"),
    [(39, PROMPT.close), (40, PROMPT.mid), (80, PROMPT.mid), (81, PROMPT.far)],
)
def test_the_prompt_advises_by_distance(distance: int, advice: str) -> None:
    scene = _fights(_moment(enemy_x=100 - distance, agent_hp=88))[0]
    (out,) = _outputs(PromptBuilder(brain=PROMPT), {**scene, "history": "you {own_hp} hp"})
    assert f"Strategy: {advice}\n" in out.prompt
    assert f"Distance: {distance} px" in out.prompt
    assert "looking left" in out.prompt
    assert "you 50 hp, standing; other 100 hp, standing; you are behind by 50." in out.prompt
    assert "\nyou {own_hp} hp\n" in out.prompt, "what is filled in is not read as a template"
    assert (out.characters, out.words) == (len(out.prompt), len(out.prompt.split()))


GOLDEN = json.loads((DATA / "prompts.json").read_text())


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    model = VLMBrain.load(MODELS / "vlm/sf2-untrained.safetensors")
    return Tokenizer.from_str(model.files["tokenizer.json"])


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden["state"])
def test_ten_golden_prompts(golden: dict[str, Any], tokenizer: Tokenizer) -> None:
    """Ten fights of Duel, each at three moments half a second apart,
    and how many tokens the question has for the model.
    """
    fights = _fights(*golden["moments"])
    history = _outputs(FrameHistory(steps=2), *fights)[-1].text
    (out,) = _outputs(PromptBuilder(brain=PROMPT), {**fights[-1], "history": history})
    assert out.prompt.splitlines() == golden["prompt"]
    assert len(tokenizer.encode(out.prompt).ids) == golden["tokens"]


@pytest.mark.parametrize(
    "template", ["{nobody}", "{own_hp.real}", "{own_hp!r}", "{own_hp:>9}", "{", "{0}", "{}"]
)
def test_a_template_with_anything_but_known_names_is_refused(template: str) -> None:
    with pytest.raises(BrainError, match="template"):
        PromptTemplate(template=template, close="", mid="", far="")


REPLIES = {
    "9": (9, "basic"), "Action: 21.": (21, "basic"), "**6**": (6, "basic"),
    "I would 12 or 3": (3, "basic"), "12": (9, "complex"), "33, then 40": (21, "complex"),
    "0021": (21, "basic"), "44": (0, "fallback"), "-3": (0, "fallback"), "0.5": (0, "fallback"),
    "40% punch": (9, "keyword"), "Jump kick!": (43, "keyword"), "JUMP": (1, "keyword"),
    "keep blocking": (0, "fallback"), "block": (42, "keyword"), "": (0, "fallback"),
    "\x00\ud800": (0, "fallback"), "९": (0, "fallback"), "9,21": (9, "basic"),
    "21,9,0": (21, "basic"), "[6, 3]": (6, "basic"), '{"action": 2}': (2, "basic"),
    "HP2, kick": (21, "keyword"), "I attack!": (9, "keyword"),
    "step back, then 43": (21, "complex"), "5": (2, "complex"), "Fireball": (39, "keyword"),
    "move forward": (41, "keyword"), "3.": (3, "basic"), "jumping around": (0, "fallback"),
}  # fmt: skip
"""A reply, the action it means to who looks right, and how it is found."""


@pytest.mark.parametrize("text", REPLIES, ids=repr)
def test_replies_and_how_they_are_read(text: str) -> None:
    assert _outputs(ActionParser(brain=WORDS), {"text": text}) == [REPLIES[text]]


@pytest.mark.parametrize(
    ("text", "right", "left"),
    [("41", 6, 3), ("42", 3, 6), ("9", 9, 9), ("4", 1, 1), ("12", 9, 9), ("22", 21, 21)],
)
def test_what_goes_by_facing_becomes_the_direction_it_means(
    text: str, right: int, left: int
) -> None:
    """41 is forward and 42 back, which is blocking."""
    looks = [{"text": text, "facing": True}, {"text": text, "facing": False}]
    parsed = _outputs(ActionParser(brain=WORDS), *looks)
    assert _actions(parsed) == [right, left]


def test_with_basic_first_off_every_action_is_within_reach() -> None:
    ticks = [{"text": f"{action}, or 9"} for action in range(44)]
    parsed = _outputs(ActionParser(brain=WORDS, basic_first=False), *ticks)
    assert len(parsed) == 44
    for action, out in enumerate(parsed):
        assert out == (action, "number")


def test_the_fallback_goes_through_the_basic_actions_and_methods_are_counted() -> None:
    node = ActionParser(brain=WORDS)
    out = _outputs(node, *[{"text": "?"}] * 8, {"text": "9"})
    assert _actions(out) == [0, 1, 2, 3, 6, 9, 21, 0, 9]
    assert node.report() == {
        "parse_methods": {**dict.fromkeys(METHODS, 0), "fallback": 8, "basic": 1}
    }


def test_no_text_gives_an_illegal_action() -> None:
    rng = random.Random(5)
    pieces = [
        "9", "21", "43", "44", "-1", "999999999999", "punch", "jump", " ", ",", ".", "%", "\n", "é",
        "0", "kick ", "\x00",
    ]  # fmt: skip
    texts = ["7" * 100_000, "0" * 100_000, "x" * 100_000, "1 " * 50_000, "-" * 100_000]
    for _ in range(10_000):
        length = rng.randrange(12)
        texts.append("".join(rng.choices(pieces, k=length)))
    ticks = [{"text": text} for text in texts]
    for basic_first in (True, False):
        parser = ActionParser(brain=WORDS, basic_first=basic_first)
        for parsed in _outputs(parser, *ticks):
            assert 0 <= parsed.action < 44
            assert parsed.method in METHODS


@given(st.text())
def test_any_text_has_an_action(text: str) -> None:
    (parsed,) = _outputs(ActionParser(brain=WORDS), {"text": text})
    assert 0 <= parsed.action < 44
    assert parsed.method in METHODS


@given(
    st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 3))), max_size=60),
    st.integers(1, 4),
)
def test_no_action_comes_more_often_than_the_limit(
    wanted: list[tuple[int, int | None]], limit: int
) -> None:
    ticks = [{"action": action, "second": second} for action, second in wanted]
    out = _outputs(AntiRepeat(limit=limit), *ticks)
    for _, run in itertools.groupby(out):
        assert len(list(run)) <= limit
    for place, (action, _) in enumerate(wanted):
        if out[place] != action:
            assert out[place - limit : place] == [action] * limit, (
                "only the one too many is replaced"
            )


def test_always_punching_is_broken_up_by_the_second_best_or_else_by_nothing() -> None:
    assert _outputs(AntiRepeat(), *[{"action": 9, "second": 21}] * 6) == [9, 9, 21, 9, 9, 21]
    assert _outputs(AntiRepeat(), *[{"action": 9}] * 4, *[{"action": 0}] * 3) == [
        9,
        9,
        0,
        9,
        0,
        0,
        1,
    ]
    with pytest.raises(MinibrainsError, match="at least two different actions"):
        _outputs(AntiRepeat(alternatives=(0, 0)), {"action": 1})


def test_a_second_best_alone_is_no_action() -> None:
    ticks = [
        {"action": 9, "second": None},
        {"action": None, "second": 21},
        {"action": 9, "second": None},
    ]
    assert _outputs(AntiRepeat(), *ticks) == [9, ABSENT, 9]


def test_a_reply_is_read_once_whatever_else_is_delivered() -> None:
    ticks = [
        {"text": "punch", "facing": True},
        {"text": None, "facing": False},
        {"text": None, "facing": True},
    ]
    first, second, third = _outputs(ActionParser(brain=WORDS), *ticks)
    assert first.method == "keyword"
    assert (second.action, second.method) == (ABSENT, ABSENT)
    assert (third.action, third.method) == (ABSENT, ABSENT)


def test_a_strategist_looks_once_at_a_frame() -> None:
    pad_alone = {"variables": None, "ask": True, "pad": ("LEFT",)}
    frames_alone = []
    frames_and_pads = []
    for scene in moments(40):
        frame = {"variables": scene, "ask": True, "pad": None}
        frames_alone.append(frame)
        frames_and_pads += [frame, pad_alone]
    expected = _outputs(ScriptedStrategist(brain=TABLE), *frames_alone)
    found = _outputs(ScriptedStrategist(brain=TABLE), *frames_and_pads)
    assert found[::2] == expected
    assert set(_actions(found[1::2])) == {ABSENT}


def test_the_table_is_the_first_seeds() -> None:
    assert TABLE.sizes["actions"] == 44
    basic = {0: (), 1: ("UP",), 2: ("DOWN",), 3: ("LEFT",), 6: ("RIGHT",), 9: ("X",), 21: ("A",)}
    for number, buttons in basic.items():
        assert TABLE.pads(number)[0] == buttons
    recovery = dict(zip(TABLE.names, RECOVERY.recovery.tolist(), strict=True))
    some = {"X": 11, "A": 12, "up": 15, "none": 0, "back": 0, "projectile": 11, "jump kick": 15}
    for name, frames in some.items():
        assert recovery[name] == frames
    for action, frames in enumerate(RECOVERY.recovery.tolist()):
        assert len(TABLE.pads(action)) <= frames + 1, "while the gate is open no sequence runs"


def test_ten_thousand_random_streams_never_pass_a_closed_gate() -> None:
    rng = random.Random(9)
    gate = CooldownGate(brain=RECOVERY)
    with opened(gate):
        for _ in range(10_000):
            stream = []
            for _ in range(rng.randrange(1, 40)):
                action = rng.choice((None, rng.randrange(44)))
                stream.append({"action": action})
            free = 0
            for tick, out in enumerate(play(gate, *stream)):
                action = stream[tick]["action"]
                if tick < free:
                    assert out.action is ABSENT
                elif action is not None:
                    assert out.action == action
                    free = tick + 1 + int(RECOVERY.recovery[action])


def test_a_motion_is_made_to_the_side_it_was_begun_on() -> None:
    projectile = TABLE.names.index("projectile")
    ticks = [
        {"action": projectile, "facing": True},
        *[{"action": None, "facing": False}] * 7,
        {"action": projectile, "facing": False},
        *[{"action": None, "facing": True}] * 7,
    ]
    outputs = _outputs(EmulatorSink(brain=TABLE), *ticks)
    pads = [out.pad for out in outputs]
    assert pads[:8] == [("DOWN",)] * 2 + [("DOWN", "RIGHT")] * 2 + [("RIGHT", "Y")] * 3 + [()]
    assert pads[8:] == [("DOWN",)] * 2 + [("DOWN", "LEFT")] * 2 + [("LEFT", "Y")] * 3 + [()]


def test_a_table_by_facing_needs_to_be_told_it() -> None:
    with pytest.raises(MinibrainsError, match="link facing"):
        _outputs(EmulatorSink(brain=TABLE), {"action": 0})


def _delivered(action: int | Absent | None) -> int | None:
    """The action, or None in the place of ABSENT."""
    if isinstance(action, Absent):
        return None
    return action


@pytest.mark.parametrize("side", [1, -1])
def test_the_strategist_plays_as_the_restricted_player_of_the_calibration(side: int) -> None:
    """Frame by frame, while nobody changes sides:
    the player counts left and right as two actions, the table as one.
    """
    expected = fighters.Restricted(30)
    expected.reset(3)
    strategist = ScriptedStrategist(brain=TABLE)
    repeat = AntiRepeat()
    gate = CooldownGate(brain=RECOVERY)
    sink = EmulatorSink(brain=TABLE)
    pad: tuple[str, ...] = ()
    with opened(strategist), opened(repeat), opened(gate), opened(sink):
        for node in (strategist, repeat, gate, sink):
            play(node)
        for frame, scene in enumerate(moments(9000)):
            distance = abs(scene["enemy_x"] - scene["agent_x"]) + 1
            now = {**scene, "enemy_x": scene["agent_x"] + side * distance}
            ask = frame % 30 == 0
            decision = strategist.tick(now, ask, pad)
            assert (decision.action is not ABSENT) == ask
            action: Any = None
            if ask:
                action = repeat.tick(_delivered(decision.action), _delivered(decision.second))
            sent = _delivered(gate.tick(_delivered(action)).action)
            facing = now["agent_x"] <= now["enemy_x"]
            pad = sink.tick(sent, facing).pad
            assert set(pad) == set(expected.pad(now))


def test_rules_need_their_actions_in_the_table() -> None:
    with pytest.raises(MinibrainsError, match="the action table has no 'back'"):
        _outputs(
            ScriptedStrategist(brain=ActionTable.load(MODELS / "action_table/duel.safetensors"))
        )


def _logged(folder: Path, name: str) -> dict[tuple[int, int], Any]:
    """The values of a log by episode and tick, in the order of the file."""
    (path,) = folder.rglob(f"{name}.jsonl")
    values: dict[tuple[int, int], Any] = {}
    for text in path.read_text().splitlines():
        line = json.loads(text)
        moment = line["episode"], line["tick"]
        assert moment not in values
        values[moment] = line["value"]
    return values


@pytest.mark.slow
@pytest.mark.parametrize(("beat", "waits"), [(30, False), (10, True)])
def test_the_scripted_workflow_plays_and_decides_by_the_clock(
    beat: int, waits: bool, summary: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """Every action has recovered after 30 frames;
    with a beat of 10 a closed gate waits for the next beat but one.
    """
    workflow = json.loads((bundled_dir("workflows") / "sf2_scripted.json").read_text())
    links = {
        "asked": "ask.flag",
        "chosen": "strategist.action",
        "taken": "repeat.action",
        "sent": "gate.action",
        "ready": "gate.ready",
    }
    for name, link in links.items():
        workflow["nodes"][f"{name}_log"] = {"type": "Log@1", "in": {"value": link}}
    workflow["nodes"]["clock"]["set"]["ticks"] = beat
    (tmp_path / "logged.json").write_text(json.dumps(workflow))
    result = summary("logged.json", "--episodes", 2)
    first, second = result["episodes"]
    assert (first["ended"], second["ended"]) == ("done", "done")
    asked = _logged(tmp_path, "asked_log")
    chosen = _logged(tmp_path, "chosen_log")
    taken = _logged(tmp_path, "taken_log")
    sent = _logged(tmp_path, "sent_log")
    ready = _logged(tmp_path, "ready_log")

    places = list(chosen)
    assert places == [moment for moment, flag in asked.items() if flag]
    assert list(sent.items()) == list(taken.items()), (
        "who is asked only while the gate is open is always let through"
    )
    assert list(sent) == places

    shut = set()
    for (episode, tick), action in sent.items():
        for later in range(tick, tick + int(RECOVERY.recovery[action])):
            shut.add((episode, later))
    for moment, is_open in ready.items():
        assert is_open == (moment not in shut), "as long as what was sent takes"

    beats = 0
    expected = []
    for episode, tick in asked:
        if tick % beat:
            continue
        beats += 1
        if (episode, tick - 1) not in shut:
            expected.append((episode, tick))
    assert places == expected
    assert {(0, 0), (1, 0)} < set(places)
    assert (len(places) < beats) is waits

    runs = itertools.groupby(taken.items(), key=lambda line: (line[0][0], line[1]))
    for _, run in runs:
        assert len(list(run)) <= 2


@pytest.mark.slow
def test_an_episode_keeps_nothing_of_the_one_before(summary: Callable[..., dict[str, Any]]) -> None:
    """With two workers each of them begins with nothing."""
    arguments = ("sf2_scripted", "--episodes", 2, "--ticks", 900)
    assert summary(*arguments)["episodes"] == summary(*arguments, "--workers", 2)["episodes"]
