"""ScriptedFighter plays Duel by the variables of the shared map alone;
the scripted teacher has the limits of an agent.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from games.source.duel import fighters
from minibrains import MinibrainsError
from minibrains.evaluation.rules import HELD_BACK as HELD_BACK_GROUP
from minibrains.evaluation.rules import TRAINING, read_rules
from minibrains.files import bundled_dir
from minibrains.testing import opened, play
from nodes.fighting.fighters import READ, Scripted, ScriptedFighter
from nodes.fighting.styles import ATTACK, HELD_BACK, STYLES
from tests.support.fight_moments import moments


def test_it_reads_only_variables_of_the_shared_map() -> None:
    shared = json.loads((bundled_dir("games") / "Duel-Genesis/data_sf2.json").read_text())["info"]
    assert set(READ) <= set(shared)
    assert len(shared) == 14


def test_a_game_without_these_variables_is_told_which_is_missing() -> None:
    node = ScriptedFighter()
    with (
        opened(node),
        pytest.raises(MinibrainsError, match=r"data\.json, has no variable 'agent_x'; a fighter"),
    ):
        play(node, {"variables": {"health": 176, "enemy_health": 176}})


@pytest.mark.parametrize("style", STYLES)
def test_a_style_sees_nothing_of_the_latest_frames(style: Any) -> None:
    seen = moments(2000)
    pads = []
    for last in (seen[-1], {**seen[-1], "enemy_x": 256, "enemy_status": ATTACK}):
        player = Scripted(STYLES[style])
        player.reset(3)
        frames = seen + [last] * player.late
        pads.append(list(map(player.pad, frames)))
    assert pads[0] == pads[1]
    assert len(set(pads[0])) >= 5


@pytest.mark.parametrize("style", STYLES)
def test_either_side_sees_itself_as_the_one_who_plays(style: Any) -> None:
    """With all that is told of the two exchanged, the enemy's pad is the agent's."""
    pads = []
    for side in ("agent", "enemy"):
        fighter = ScriptedFighter(style=style, side=side)
        ticks = []
        for moment in moments(2000):
            if side == "enemy":
                moment = _exchanged(moment)
            ticks.append({"variables": moment})
        with opened(fighter):
            pads.append(play(fighter, *ticks))
    assert pads[0] == pads[1]


def _exchanged(moment: dict[str, int]) -> dict[str, int]:
    names = {"agent": "enemy", "enemy": "agent"}
    return {f"{names[name[:5]]}{name[5:]}": value for name, value in moment.items()}


@pytest.mark.parametrize("style", STYLES)
def test_what_is_held_back_for_evaluations_is_not_learned_from(style: Any) -> None:
    fighter = ScriptedFighter(style=style)
    if style not in HELD_BACK:
        fighter.check_collectors(["recorder"])
        return
    words = (
        f"recorder must not learn from the style '{style}': it is held back for evaluations; "
        "expected one of aggressive"
    )
    with pytest.raises(MinibrainsError, match=words):
        fighter.check_collectors(["recorder"])


def test_the_game_holds_the_same_styles_back_as_the_node() -> None:
    rules = read_rules(bundled_dir("games") / "Duel-Genesis/evaluation.json")
    groups: dict[str, set[str]] = {HELD_BACK_GROUP: set(), TRAINING: set()}
    for opponent in rules.opponents:
        groups[opponent.group].add(opponent.nodes["opponent"]["set"]["style"])
    assert groups == {HELD_BACK_GROUP: set(HELD_BACK), TRAINING: set(STYLES) - set(HELD_BACK)}


@pytest.mark.parametrize("interval", [30, 12, 6])
def test_the_restricted_player_keeps_to_the_restrictions(
    interval: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = fighters.Restricted(interval)
    player.reset(3)
    begun: list[tuple[int, str]] = []
    chosen: list[str] = []
    """By facing: the same button is forward, and back once the other has jumped over."""
    begin = player.begin

    def noted(name: str) -> None:
        begun.append((player.frame, name))
        chosen.append(player.latest[-1])
        begin(name)

    monkeypatch.setattr(player, "begin", noted)
    for now in moments(6000):
        player.pad(now)
    names = [name for _, name in begun]
    assert set(names) <= set(fighters.action_names())
    assert len(set(names)) > 8
    assert all(frame % interval == 0 for frame, _ in begun)
    for a, b, c in zip(chosen, chosen[1:], chosen[2:], strict=False):
        assert not a == b == c
    for (frame, name), (after, _) in itertools.pairwise(begun):
        assert after - frame >= _rest(name)


def _rest(name: str) -> int:
    """Return the frames that an action of the table binds its player, at least."""
    if name.startswith(("projectile", "rising")):
        return 11
    if name.startswith(("up", "jump")):
        return 15
    if name[-1] in "ABC":
        return 12
    if name[-1] in "XYZ":
        return 11
    return 0


@pytest.mark.slow
def test_every_style_plays_a_match_to_its_end(summary: Callable[..., dict[str, Any]]) -> None:
    trajectories = set()
    for style in STYLES:
        widgets = (
            "--set",
            f"fighter.style={style}",
            "--set",
            'console.write={"seed": "$seed", "blank": 1}',
        )
        result = summary("duel_expert", "--episodes", 1, *widgets)
        (episode,) = result["episodes"]
        assert result["game"] == "Duel-Genesis"
        assert episode["ended"] == "done"
        assert episode["won"] is (episode["score"] > 0)
        trajectories.add(episode["trajectory_sha256"])
    assert len(trajectories) == len(STYLES)


@pytest.mark.slow
def test_its_matches_differ_by_seed_and_repeat(summary: Callable[..., dict[str, Any]]) -> None:
    matches = ("duel_expert", "--episodes", 3, "--ticks", 900)
    first, again = summary(*matches), summary(*matches)
    assert first["actions_sha256"] == again["actions_sha256"]
    assert first["distinct_episodes"] == 3
    assert summary(*matches, "--seed", 1)["actions_sha256"] != first["actions_sha256"]
