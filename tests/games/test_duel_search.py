"""The search for simple players that beat Duel's opponent, and the judge."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from games.source.duel import LEVELS, calibrate
from games.source.duel.counting import Row, wilson
from games.source.duel.matches import rom
from games.source.duel.native.players import (
    CELLS,
    DISTANCE_BANDS,
    HEIGHT_BANDS,
    MOST_STEPS,
    NOBODY,
    RESULT,
    Condition,
    Player,
    Results,
    Step,
    play,
    won,
)
from games.source.duel.native.teacher import LESSON
from games.source.duel.search import exploits, gradient, judge, judge_log
from games.source.duel.search.cards import player_of, sizes
from games.source.duel.search.evolution import (
    CHECKS,
    SELECTION,
    Candidate,
    Effort,
    Evolution,
    shuffled_settings,
    strength,
    turtling,
)
from games.source.duel.search.finals import (
    Final,
    Finalist,
    Groups,
    add_finalists,
    finals,
    limit_of,
    play_final,
    row_of_player,
)
from games.source.duel.search.genomes import LONGEST, Space, kind_of
from games.source.duel.search.summary import table_of_classes
from minibrains import GameError

KINDS = ("blind loop", "side loop", "one threshold", "two thresholds", "table")
SPACES: list[Space] = []
for kind in KINDS:
    SPACES += [Space(kind, 0, 0), Space(kind, 12, 6)]
ANSWERS = {"one threshold": 2, "two thresholds": 4, "table": CELLS}


def check_player(space: Space, player: Player) -> None:
    """Check that a player is one of its space, and can play."""
    assert kind_of(player) == space.kind
    assert (player.late, player.interval) == (space.late, space.interval)
    assert len(player.answers) == ANSWERS.get(space.kind, 1)
    for answer in player.answers:
        assert 1 <= len(answer) <= MOST_STEPS
        for step in answer:
            assert 1 <= step.frames <= LONGEST
            if space.kind == "blind loop":
                assert not {"F", "G"} & set(step.held.split("+"))
    assert play([player], matches(1)).size == 1


def matches(count: int, level: int = 1) -> list[Any]:
    return list(islice(shuffled_settings("test", level), count))


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_what_is_drawn_changed_or_crossed_is_a_player_of_its_space(space: Space) -> None:
    rng = Random(3)
    players = [space.random(rng) for _ in range(30)]
    for player in players * 3:
        players.append(space.changed(rng, player))
    for one in players[:30]:
        players.append(space.crossed(rng, one, rng.choice(players)))
    for player in players:
        check_player(space, player)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_card_is_a_player(space: Space) -> None:
    rng = Random(4)
    highest = [size - 1 for size in sizes(space)]
    check_player(space, player_of(space, tuple(highest)))
    for _ in range(30):
        card = tuple(map(rng.randrange, sizes(space)))
        check_player(space, player_of(space, card))


def test_a_rule_with_one_threshold_goes_on_as_it_was_among_those_with_two() -> None:
    rng = Random(5)
    narrow, wide = Space("one threshold", 12, 0), Space("two thresholds", 12, 0)
    for _ in range(5):
        player = narrow.random(rng)
        widened = wide.widened(rng, player)
        before, after = play([player, widened], matches(3))
        assert (before["trace"] == after["trace"]).all()


def of_a_table(condition: Condition) -> bool:
    """Whether a table can have this condition."""
    return condition.feature in ("distance", "height", "enemy is")


def test_a_rule_goes_on_as_it_was_among_tables() -> None:
    rng = Random(5)
    rules, tables = Space("two thresholds", 12, 0), Space("table", 12, 0)
    compared = 0
    while compared < 8:
        rule = rules.random(rng)
        features = [condition.feature for condition in rule.conditions]
        if not all(map(of_a_table, rule.conditions)) or len(set(features)) < 2:
            continue
        before, after = play([rule, tables.widened(rng, rule)], matches(3))
        assert (before["trace"] == after["trace"]).all()
        compared += 1


def test_a_table_of_bands_has_an_answer_for_each_band_and_others_for_some_statuses() -> None:
    table = Space("table", 12, 0).table_of_bands(Random(6))
    cells = np.arange(CELLS).reshape(DISTANCE_BANDS, -1, HEIGHT_BANDS)
    usual: set[Any] = set()
    special: set[Any] = set()
    for groups in cells:
        for group, (low, high) in enumerate(groups):
            assert table.answers[low] == table.answers[high]
            (special if group == 1 else usual).add(table.answers[low])
    assert len(usual) <= DISTANCE_BANDS
    assert len(special) <= 2
    assert 1 <= sum(table.status_groups) <= 2


# ---- policy gradient ----


@pytest.mark.slow
@pytest.mark.parametrize("interval", [0, 6])
def test_a_table_learns_by_policy_gradient(interval: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient, "MATCHES_A_STEP", 16)
    space = Space("table", 12, interval)
    scores = []
    for steps in (1, 40):
        monkeypatch.setattr(gradient, "STEPS", steps)
        learned = gradient.learned_table(space, 1, "test")
        check_player(space, learned)
        assert learned == gradient.learned_table(space, 1, "test")
        scores.append(strength(play([learned], matches(60))[0]))
    assert scores[1] > scores[0] + 0.2


@pytest.mark.slow
def test_a_table_that_only_waits_learns_to_walk_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """It throws whoever comes near, and the enemy does so too seldom."""
    monkeypatch.setattr(gradient, "AGAIN", 4)
    space = Space("table", 12, 0)
    guard, throw = (Step("DOWN+G", 3),), (Step("F+C", 2), Step("DOWN+G", 20))
    near = CELLS // DISTANCE_BANDS
    waits = replace(
        gradient.drawn_table(space, Random(3)),
        distance_edges=(60, 80, 100),
        answers=(throw,) * near + (guard,) * (CELLS - near),
    )
    walks = gradient.with_best_waiting(space, 2, "test", waits)
    check_player(space, walks)
    before, after = play([waits, walks], matches(60, 2))
    assert strength(after) > strength(before) + 0.2
    assert walks.answers[1::2] == waits.answers[1::2], "who is high is answered as before"


def test_the_best_answer_of_a_cell_gains_weight() -> None:
    worth = np.zeros((2, 3), np.float32)
    lessons = np.zeros(60, LESSON)
    lessons["action"] = np.arange(60) % 3
    lessons["gained"] = np.where(lessons["action"] == 1, 10.0, -5.0)
    gradient.GRADIENT.improve(worth, lessons)
    assert worth[0].argmax() == 1
    assert worth[0].max() == 0
    assert worth[0].min() >= gradient.GRADIENT.least
    assert (worth[1] == 0).all(), "nothing was learned about the other cell"


def test_every_sixteen_matches_have_all_match_ups() -> None:
    for block in (matches(16), matches(32)[16:]):
        match_ups = {(match.agent, match.enemy) for match in block}
        assert len(match_ups) == 16
    seeds = {match.seed for match in matches(64)}
    assert len(seeds) == 64


@pytest.mark.slow
def test_evolution_climbs_and_finds_the_same_again() -> None:
    found: list[list[Player]] = []
    for _ in range(2):
        search = Evolution(Space("side loop", 0, 0), matches(CHECKS[-1]), Random(1))
        search.run(Effort(400, 2000))
        best = search.selected(matches(40), 3)
        found.append([candidate.player for candidate in best])
        assert 2000 <= search.played < 9000
    first, again = found
    assert first == again
    assert won(play(first[:1], matches(100)[40:])).mean() > 0.9


def test_even_the_least_effort_varies_the_players_that_were_drawn() -> None:
    search = Evolution(Space("two thresholds", 0, 0), matches(CHECKS[-1]), Random(1))
    drawn = Random(1)
    at_first = {search.space.random(drawn) for _ in range(20)}
    search.run(Effort(20, 400))
    assert set(search.known) - at_first, "somebody has climbed"


@pytest.mark.slow
def test_who_begins_with_the_best_does_not_lose_it() -> None:
    course = matches(CHECKS[-1])
    good = Player("loop", ((Step("UP+F", 6), Step("", 4), Step("C", 4), Step("", 38)),))
    search = Evolution(Space("side loop", 0, 0), course, Random(1))
    search.run(Effort(100, 1000), [good])
    found = search.selected(course, 1)[0]
    assert found.score >= search.score(play([good], course)[0])


def test_a_victory_counts_one_and_all_health_a_fifth() -> None:
    results = np.zeros(2, RESULT)
    results["rounds"], results["victories"], results["dealt"] = 2, (2, 0), 2 * 176
    assert strength(results) == pytest.approx(1.2)
    results["rounds"], results["victories"], results["dealt"], results["taken"] = (
        3,
        (0, 2),
        0,
        3 * 176,
    )
    assert strength(results) == pytest.approx(-0.2)


def won_with(dealt: int, share: float = 1.0) -> Results:
    """Results of ten matches of two rounds,
    in which so much damage was dealt altogether and half of it taken.
    """
    results = np.zeros(10, RESULT)
    results["rounds"], results["dealt"], results["taken"] = 2, dealt, dealt // 2
    results["victories"][: int(10 * share), 0] = 2
    return results


def test_a_turtle_is_better_the_more_it_wins_and_the_less_it_deals_down_to_its_measure() -> None:
    assert turtling(won_with(70)) == turtling(won_with(20)) == 1.0
    assert (
        turtling(won_with(70))
        > turtling(won_with(70, 0.5))
        > turtling(won_with(350))
        > turtling(won_with(70, 0.0))
        >= 0
    )
    beaten = won_with(70, 0.0)
    beaten["taken"] = 352
    assert turtling(beaten) < 0


# ---- finals ----


def finalist(frames: int, score: float, dealt: float = 100.0) -> Finalist:
    return Finalist(Player("loop", ((Step("C", frames),),), late=12, knows_side=True), score, dealt)


def test_the_ten_best_play_on_and_who_deals_little_is_a_turtle_as_well() -> None:
    groups: Groups = {}
    add_finalists(groups, 4, [finalist(frames, frames / 100, 90.0) for frames in range(1, 11)])
    add_finalists(groups, 4, [finalist(11, 0.11, 20.0), finalist(12, 0.12, 20.0)])
    loops, turtles = finals(groups, 5, "test")
    assert (loops.player_class, loops.late, loops.level) == ("side loop", 12, 4)
    assert frames_of(loops) == list(range(12, 2, -1))
    assert (turtles.player_class, turtles.late, turtles.level) == ("turtle", 12, 4)
    assert frames_of(turtles) == [12, 11]


def test_finals_at_levels_without_limits_are_shorter() -> None:
    groups: Groups = {}
    for level in (4, 5):
        add_finalists(groups, level, [finalist(1, 0.5)])
    limited, unlimited = finals(groups, 1000, "test")
    assert (limited.level, limited.matches) == (4, 1000)
    assert (unlimited.level, unlimited.matches) == (5, 300)


def test_who_wins_by_damage_is_of_its_class_though_it_was_found_among_turtles() -> None:
    results = won_with(350)
    found = Finalist.of(Candidate(finalist(1, 0.0).player, results, turtling(results)))
    assert found.score == strength(results) > 1.0
    groups: Groups = {}
    add_finalists(groups, 4, [found])
    assert list(groups) == [(4, 12, "side loop")]


def frames_of(final: Final) -> list[int]:
    """Return for how many frames each of the players holds its first step."""
    return [player.answers[0][0].frames for player in final.players]


def test_limits_are_for_a_class_at_a_level_from_a_delay_on() -> None:
    assert str(limit_of("one threshold", 12, 4)) == "at most 35%"
    assert str(limit_of("one threshold", 14, 4)) == "at most 35%"
    assert limit_of("one threshold", 0, 4) is None
    assert str(limit_of("table", 24, 4)) == "at most 70%", "15 points below the teacher"
    assert str(limit_of("turtle", 0, 6)) == "at most 5%"
    assert str(limit_of("side loop", 0, 4)) == "at most 20%"
    assert limit_of("blind loop", 0, 3) is None


@pytest.fixture
def emulator() -> Iterator[None]:
    """The one emulator that this process can have: given back for the tests after this one."""
    yield
    rom.cache_clear()


@pytest.mark.usefixtures("emulator")
def test_a_final_plays_here_and_on_the_rom() -> None:
    players = (
        NOBODY,
        Player("loop", ((Step("UP+F", 6), Step("", 4), Step("C", 4), Step("", 38)),)),
    )
    row = play_final(Final("side loop", 0, 1, players, 8, "test"))
    assert (row["n"], row["on_rom"]) == (8, [8, 8])
    assert row["won"] > 0
    nobody, winner = row["all"]
    assert (nobody["won"], winner["won"]) == (0, row["won"])
    assert Player.from_json(row["player"]) == players[1]


# ---- the suite ----


def a_row(what: str) -> Row:
    row = row_of_player(what, NOBODY, play([NOBODY], matches(2))[0])
    row["players"] = [finalist(1, 0.5).as_json()]
    return row


def test_a_search_that_was_cut_off_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []

    def search(task: exploits.Task) -> list[tuple[Space, Row]]:
        asked.append(str(task.interval))
        if len(asked) == 3:
            raise KeyboardInterrupt
        rows = []
        for space in task.spaces():
            found = Finalist(space.random(Random(1)), 0.5, 100.0)
            rows.append((space, {**a_row(str(space)), "players": [found.as_json()]}))
        return rows

    def final(final: Final) -> Row:
        asked.append(final.what)
        return {**a_row(final.what), "all": [], "on_rom": [0, 0]}

    monkeypatch.setattr(exploits, "search", search)
    monkeypatch.setattr(exploits, "play_final", final)
    with pytest.raises(KeyboardInterrupt):
        list(exploits.search_exploits(calibrate.Run(1, tmp_path / "rows"), [4], 0.01, 20))
    rows = list(exploits.search_exploits(calibrate.Run(1, tmp_path / "rows"), [4], 0.01, 20))
    assert asked[:5] == ["0", "30", "12", "12", "6"]
    limits = {row["what"]: str(limit) for row, limit in rows}
    assert limits["one threshold, 12 late, at 4"] == "at most 35%"
    assert "side loop, 12 late, at 4" in asked
    played = len(asked)
    assert len(
        list(exploits.search_exploits(calibrate.Run(1, tmp_path / "rows"), [4], 0.01, 20))
    ) == len(rows)
    assert len(asked) == played, "all of it was kept"


def test_the_best_of_a_level_are_tried_at_the_others() -> None:
    strong = Player("loop", ((Step("UP+F", 6), Step("", 4), Step("C", 4), Step("", 38)),))
    group = (4, 0, "side loop")
    groups = {
        (1, 0, "side loop"): [Finalist(strong, 0.5, 90.0)],
        (1, 12, "side loop"): [Finalist(NOBODY, 0.5, 0.0)],
        group: [Finalist(NOBODY, 0.1, 0.0)],
    }
    found = {visit.group: visit for visit in exploits.visits(groups)}
    assert found[group].players == (strong,)
    assert (1, 12, "side loop") not in found, "nobody else was found who is so late"
    row = exploits.visit(found[1, 0, "side loop"])
    assert (row["n"], row["won"]) == (SELECTION, 0)
    assert row["what"] == "search: side loop, 0 late, at 1, found at other levels"
    assert Player.from_json(row["players"][0]["player"]) == NOBODY


def test_levels_that_do_not_exist_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("4,x", "0", "99", ""):
        monkeypatch.setattr(sys, "argv", ["calibrate.py", "--only", "exploits", "--levels", text])
        with pytest.raises(SystemExit) as stopped:
            calibrate.main()
        assert stopped.value.code == 2
        assert f"expected some of 1 to {LEVELS}, such as 4,6" in capsys.readouterr().err


def final_row(what: str, won: int, drawn: int = 0) -> Row:
    low, high = wilson(won, 1000)
    row = {"what": what, "n": 1000, "won": won, "drawn": drawn, "share": won / 1000, "all": []}
    return row | {"low": low, "high": high}


def test_the_summary_has_the_best_of_each_class_by_level() -> None:
    rows = [
        final_row("two thresholds, 12 late, at 4", 100),
        final_row("table, 24 late, at 4", 200, 31),
        final_row("table, 8 late, at 4", 300),
        final_row("turtle, 0 late, at 5", 0),
    ]
    limited, others = "\n".join(table_of_classes(rows)).split("\n\n")
    assert "| the best of ten at level | 4 |" in limited
    assert "| a blind loop | none found |" in limited
    assert (
        "| two thresholds or a table, 12 late or more | 20.0 % (17.6 to 22.6), 3% drawn |"
        in limited
    )
    assert "| two thresholds or a table, sooner | 30.0 % (27.2 to 32.9) |" in limited
    assert "| a turtle | 0.0 % (0.0 to 0.4) |" in others


# ---- the judge ----


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A log of its own."""
    monkeypatch.setattr(judge_log, "LOG", tmp_path / "judge.jsonl")
    return tmp_path / "judge.jsonl"


def judged(monkeypatch: pytest.MonkeyPatch, met: bool) -> int:
    """Run a judge that finds one player."""
    row = a_row("blind loop, 0 late, at 4")
    row |= {
        "limit": "at most 20%",
        "met": met,
        "on_rom": [0, 0],
        "all": [{"player": NOBODY.as_json()}],
    }
    monkeypatch.setattr(judge, "verdict", lambda draw, levels, pool: iter([row]))
    monkeypatch.setattr(sys, "argv", ["judge.py", "--draw", "7"])
    return judge.main()


def test_every_use_of_a_judge_is_written_down(monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    assert judged(monkeypatch, met=True) == 0
    begun, ended = map(json.loads, log.read_text().splitlines())
    assert (begun["draw"], begun["begins"], ended["met"]) == (7, True, True)
    assert begun["rom_sha1"] == ended["rom_sha1"]
    assert list(judge_log.players_of_judges()) == []


def test_a_judge_that_has_failed_a_rom_is_spent_and_its_players_are_known(
    monkeypatch: pytest.MonkeyPatch, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(monkeypatch, met=False) == 1
    assert list(judge_log.players_of_judges()) == [NOBODY]
    assert NOBODY in exploits.immigrants(Space("blind loop", 0, 0), {})
    capsys.readouterr()
    assert judged(monkeypatch, met=True) == 2
    assert "cannot be used again; choose another --draw" in capsys.readouterr().err
    assert len(log.read_text().splitlines()) == 2


def test_another_draw_is_another_judge() -> None:
    first = list(judge.Draw(1).spaces())
    assert first == list(judge.Draw(1).spaces())
    assert set(first) != set(judge.Draw(2).spaces())
    for space in first:
        assert not space.interval or space.interval not in exploits.DELAYS


@pytest.mark.slow
def test_annealing_finds_who_wins() -> None:
    task = judge.Task(1, 1, Space("side loop", 5, 0), 2000)
    best = judge.anneal(task)
    assert won(play([best[0].player], matches(60))).mean() > 0.6
    assert judge.anneal(task) == best


@pytest.mark.usefixtures("emulator")
def test_the_judge_tries_the_players_of_all_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = (Step("UP+F", 6), Step("", 4), Step("C", 4), Step("", 38))
    strong = Finalist(Player("loop", (answer,), late=5, knows_side=True), 0.5, 90.0)
    weak = Finalist(replace(NOBODY, late=5, knows_side=True), 0.1, 90.0)
    monkeypatch.setattr(judge, "LIMITED", [1])
    monkeypatch.setattr(judge, "MATCHES", 40)
    monkeypatch.setattr(judge.Draw, "spaces", lambda self: [Space("side loop", 5, 0)])
    monkeypatch.setattr(judge, "anneal", lambda task: [strong if task.level == 2 else weak])
    with ThreadPoolExecutor(1) as pool:
        (row,) = judge.verdict(judge.Draw(1), [1, 2], pool)
    assert row["what"] == "side loop, 5 late, at 1"
    assert Player.from_json(row["player"]) == strong.player
    assert row["won"] > row["n"] / 4


def test_what_cannot_be_compiled_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise GameError("Duel cannot be compiled for this computer")

    monkeypatch.setattr(exploits, "library", missing)
    monkeypatch.setattr(judge, "library", missing)
    for main, arguments in (
        (calibrate.main, ["--only", "exploits"]),
        (judge.main, ["--draw", "1"]),
    ):
        monkeypatch.setattr(sys, "argv", ["command", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        assert capsys.readouterr().err == "Duel cannot be compiled for this computer\n"
