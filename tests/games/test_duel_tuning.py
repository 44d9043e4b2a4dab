"""The tuning of Duel's opponent: the tables, the outcomes of its choices,
and a step of the policy gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pytest

from games.source.duel.matches import settings
from games.source.duel.native.players import NOBODY, Condition, Player, Step, play
from games.source.duel.native.tactics import (
    CIRCUMSTANCES,
    DEEDS,
    SITUATIONS,
    TABLE,
    Table,
    as_source,
    read_tactics,
    sample,
    write_tactics,
)
from games.source.duel.search import evolution, exploits, tuning
from games.source.duel.search.evolution import Effort
from games.source.duel.search.tuning import Exploiter, Tuner, read_pool, source_of, weights

KICKS = Player("loop", ((Step("F", 10), Step("C", 3), Step("DOWN+G", 20)),))


@pytest.fixture
def table() -> Iterator[Table]:
    """The table that is compiled in; what a test changes is put back."""
    compiled_in = read_tactics()
    yield compiled_in.copy()
    write_tactics(compiled_in)


def test_tactics_c_is_what_its_own_table_makes(table: Table) -> None:
    assert source_of(table) == TABLE.read_text()


def test_every_situation_has_options(table: Table) -> None:
    for name, options in zip(SITUATIONS, table, strict=True):
        count = int(options["count"])
        deeds = options["deeds"][:count].tolist()
        assert count > 1, name
        assert len(set(deeds)) == count
        assert max(deeds) < len(DEEDS)


def test_a_table_that_was_written_is_played_by(table: Table) -> None:
    matches = list(islice(settings("tactics", 6), 8))
    before = play([KICKS], matches)
    table["logarithms"][:, 1:, :] = 0
    write_tactics(table)
    assert (read_tactics() == table).all()
    assert (play([KICKS], matches)["trace"] != before["trace"]).any()


def test_the_opponent_s_choices_are_those_of_its_table(table: Table) -> None:
    samples, results = sample(KICKS, list(islice(settings("tactics", 6), 4)), weights())
    assert len(results) == 4
    assert len(samples) > 100
    assert (samples["option"] < table["count"][samples["situation"]]).all()
    assert (samples["circumstances"] & 1).all(), "ALWAYS is always the case"
    assert samples["gained"].any()


def test_what_a_match_brings_does_not_depend_on_being_watched() -> None:
    matches = list(islice(settings("tactics", 4), 4))
    assert (sample(KICKS, matches, weights())[1] == play([KICKS], matches)[0]).all()


def test_an_opponent_that_explores_tries_every_option(table: Table) -> None:
    matches = list(islice(settings("exploring", 10), 48))
    before = play([KICKS], matches)
    samples, _ = sample(KICKS, matches, weights(), explores=256)
    (situation,) = np.bincount(samples["situation"]).argsort()[-1:]
    chosen = samples["option"][samples["situation"] == situation]
    counts = np.bincount(chosen, minlength=table["count"][situation])
    expected = len(chosen) / len(counts)
    assert expected > 40
    assert counts.min() > expected / 2
    assert counts.max() < expected * 2
    assert (play([KICKS], matches)["trace"] == before["trace"]).all(), "it explores no longer"


def test_a_step_is_the_same_for_the_same_seed(table: Table) -> None:
    tables = []
    with ProcessPoolExecutor(2) as processes:
        for _ in range(2):
            tuner = Tuner([Exploiter(4, KICKS)], Random(3), processes, 2)
            tuner.step()
            tables.append(tuner.exact)
    assert (tables[0] == tables[1]).all()
    assert (np.rint(tables[0]) != table["logarithms"]).any()


@pytest.mark.parametrize(
    ("settings_of_tuner", "circumstance"),
    [({"instant": True}, "INSTANT"), ({"fighter": 3}, "AS_TARN")],
)
def test_a_step_may_change_only_the_adjustments_for_one_circumstance(
    table: Table, settings_of_tuner: dict[str, Any], circumstance: str
) -> None:
    pool = [Exploiter(4, KICKS), Exploiter(10, KICKS)]
    with ProcessPoolExecutor(1) as processes:
        tuner = Tuner(pool, Random(3), processes, 1, **settings_of_tuner)
        tuner.step()
    changed = tuner.exact != table["logarithms"]
    where = CIRCUMSTANCES.index(circumstance)
    assert changed[:, where].any()
    assert not np.delete(changed, where, axis=1).any()


def test_the_quickest_levels_are_tuned_in_matches_at_these_alone() -> None:
    slow, quick = Exploiter(4, KICKS), Exploiter(10, KICKS)
    with ProcessPoolExecutor(1) as processes:
        tuner = Tuner([slow, quick], Random(3), processes, 1, instant=True)
    assert {exploiter.level for exploiter in tuner.pool} == {8, 9, 10}
    assert quick in tuner.pool
    assert tuner.others == [slow]


def test_a_player_that_wins_joins_the_pool_and_is_beaten_less(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table["logarithms"] = 0
    write_tactics(table)
    monkeypatch.setattr(tuning, "EFFORT", Effort(60, 60))
    monkeypatch.setattr(evolution, "START", ((3, 20), (12, 8), (48, 4)))
    monkeypatch.setattr(evolution, "SELECTED", 8)
    monkeypatch.setattr(exploits, "SELECTION", 16)
    monkeypatch.setattr(tuning, "PLAYERS_A_STEP", 24)
    monkeypatch.setattr(tuning, "BURSTS", 1)
    monkeypatch.setattr(tuning, "STEPS", 6)
    monkeypatch.setattr(tuning, "SKIPPED_STEPS", 2)
    monkeypatch.setattr(tuning, "CHECKED_MATCHES", 8)
    with ProcessPoolExecutor(2) as processes:
        tuner = Tuner([], Random(1), processes, 2)
        found = tuner.search([6, 10])
        assert found
        tuner.extend(found)
        before, after = tuner.tune()
    assert after < before


def test_the_pool_can_be_read_and_played() -> None:
    pool = read_pool()
    assert {exploiter.level for exploiter in pool} >= {4, 6, 8, 10}
    results = play(
        [exploiter.player for exploiter in pool[:8]], list(islice(settings("pool", 4), 1))
    )
    assert results.shape == (8, 1)


def test_the_source_says_how_it_was_made(table: Table) -> None:
    assert as_source(table, "By hand.").startswith("/* By hand. */\n")


# ---- what the opponent goes by ----


def circumstances_of(
    player: Player, level: int, matches: int = 8
) -> list[np.ndarray[Any, np.dtype[np.uint16]]]:
    """Return for each match the circumstances in which the opponent chose, one after the other."""
    circumstances = []
    for match in islice(settings("circumstances", level), matches):
        samples, _ = sample(player, [match], weights())
        circumstances.append(samples["circumstances"])
    return circumstances


def later_circumstances_of(player: Player, level: int) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """Return the circumstances of the second halves of the matches."""
    later = [chosen[len(chosen) // 2 :] for chosen in circumstances_of(player, level)]
    return np.concatenate(later)


def bit(circumstance: str) -> int:
    return 1 << CIRCUMSTANCES.index(circumstance)


@pytest.mark.parametrize(
    ("level", "quick", "instant"),
    [(3, False, False), (4, True, False), (8, True, True), (9, True, True)],
)
def test_how_soon_a_level_reacts_is_a_circumstance(level: int, quick: bool, instant: bool) -> None:
    for chosen in circumstances_of(KICKS, level):
        assert ((chosen & bit("QUICK") > 0) == quick).all()
        assert ((chosen & bit("INSTANT") > 0) == instant).all()


def test_which_fighter_it_is_is_a_circumstance() -> None:
    fighters = (bit("AS_KAZE"), bit("AS_BRON"), bit("AS_MIRA"), bit("AS_TARN"))
    for match, chosen in zip(
        settings("circumstances", 6), circumstances_of(KICKS, 6, 16), strict=False
    ):
        assert (chosen & sum(fighters) == fighters[match.enemy]).all()


def test_who_has_lost_a_round_knows_it_until_the_end_of_the_match() -> None:
    beaten = 0
    for match, chosen in zip(
        settings("circumstances", 2), circumstances_of(KICKS, 2, 32), strict=False
    ):
        result = play([KICKS], [match])[0, 0]
        knows = (chosen & bit("BEATEN") > 0).astype(int)
        assert (np.diff(knows) >= 0).all()
        has_to_know = result["victories"][0] == 1 or result["rounds"] == 3
        assert bool(knows.any()) == bool(has_to_know or result["victories"][0] == 2)
        beaten += int(knows.any())
    assert 0 < beaten < 32


@pytest.mark.parametrize(
    ("player", "habit"),
    [
        (
            Player("loop", ((Step("DOWN", 2), Step("DOWN+F", 2), Step("F+Y", 3), Step("", 50)),)),
            "SHOOTS",
        ),
        (Player("loop", ((Step("UP", 4), Step("", 50)),)), "JUMPS"),
        (
            Player("loop", ((Step("F", 2), Step("DOWN", 2), Step("DOWN+F+Z", 3), Step("", 50)),)),
            "RISES",
        ),
        (Player("loop", ((Step("G", 60),),)), "GUARDS"),
        (Player("loop", ((Step("F", 40), Step("F+Z", 3)),)), "GRABS"),
    ],
    ids=["shoots", "jumps", "rises", "guards", "grabs"],
)
def test_what_the_other_does_all_the_time_is_noticed(player: Player, habit: str) -> None:
    late = later_circumstances_of(player, 8)
    others = later_circumstances_of(Player("loop", ((Step("", 60),),)), 8)
    assert (late & bit(habit) > 0).mean() > 0.3
    assert (others & bit(habit) > 0).mean() == 0


def test_what_a_match_teaches_makes_the_rest_of_it_better(table: Table) -> None:
    """Against one that repeats itself: without anything that it knows beforehand,
    the opponent gains more and more.
    """
    table["logarithms"] = 0
    write_tactics(table)
    halves = np.zeros(2)
    for match in islice(settings("learning", 8), 64):
        gained = sample(KICKS, [match], weights())[0]["gained"]
        middle = len(gained) // 2
        halves += gained[:middle].mean(), gained[middle:].mean()
    assert halves[1] > halves[0]


def test_after_a_while_without_a_blow_it_tries_something_else(table: Table) -> None:
    """Even if the table says to wait, whatever happens.

    Before it did, the clock ended two rounds of each match.
    """
    table["logarithms"] = 0
    for options in table:
        waits = options["deeds"] == DEEDS.index("STAY_LOW")
        options["logarithms"][0, waits] = 95
    write_tactics(table)
    results = play([NOBODY], list(islice(settings("patience", 8), 20)))[0]
    assert results["time_outs"].mean() < 1


def test_a_player_that_only_guards_loses() -> None:
    guards = Player("loop", ((Step("DOWN+G", 60),),))
    for level in (4, 10):
        results = play([guards], list(islice(settings("guarding", level), 40)))[0]
        assert (results["victories"][:, 1] == 2).all()
        assert results["taken"].mean() > 100


def test_options_are_drawn_by_their_weights(table: Table) -> None:
    """The first choice of many matches: nothing was learned yet."""
    samples, _ = sample(NOBODY, list(islice(settings("weights", 8), 1)), weights())
    first = samples["situation"][0]
    options = table[first]
    count = int(options["count"])
    options["logarithms"] = 0
    options["logarithms"][0, :count] = np.arange(count) * 4
    expected = np.exp2(np.arange(count) * 4 / 16)
    expected /= expected.sum()
    write_tactics(table)
    options_chosen = []
    for match in islice(settings("weights", 8), 2000):
        samples, _ = sample(NOBODY, [match], weights())
        if samples["situation"][0] == first:
            options_chosen.append(samples["option"][0])
    assert len(options_chosen) > 500
    shares = np.bincount(options_chosen, minlength=count) / len(options_chosen)
    deviation = np.sqrt(expected * (1 - expected) / len(options_chosen))
    assert (abs(shares - expected) < 4 * deviation).all()


# ---- the pool ----


def test_a_player_of_the_pool_may_win_a_part_of_its_limit() -> None:
    near = Condition("distance", 60)
    early = Player("rule", ((Step("", 1),), (Step("A", 3),)), conditions=(near,))
    late = replace(early, late=12)
    assert Exploiter(4, late).limit == pytest.approx(0.6 * 0.35)
    assert Exploiter(5, late).limit == Exploiter(4, late).limit, (
        "a level without a limit has that of the one below"
    )
    assert Exploiter(8, late).limit == pytest.approx(0.6 * 0.15)
    assert Exploiter(2, late).limit == 1, "no level below has a limit"
    assert Exploiter(4, early).limit == pytest.approx(0.6 * (0.35 + tuning.UNLIMITED) / 2)
    assert Exploiter(4, late, is_turtle=True).limit == pytest.approx(0.6 * 0.1)
    assert Exploiter(4, late, rival=3).limit == tuning.RIVALS_LIMIT


def test_a_full_pool_gives_up_who_wins_least_for_its_limit_and_no_rival(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tuning, "MOST_IN_POOL", len(tuning.RIVALS) + 2)
    weak, strong, new = Exploiter(4, KICKS), Exploiter(6, KICKS), Exploiter(8, KICKS)
    with ProcessPoolExecutor(1) as processes:
        tuner = Tuner([weak, strong], Random(1), processes, 1)
    tuner.shares[-2:] = (0.01, 0.3)
    tuner.extend([new])
    assert tuner.pool == [*tuning.RIVALS, strong, new]
    assert tuner.shares[-2:].tolist() == [0.3, 0.0]
