"""How Duel's opponent is tuned: the tables, what came of its choices, and a step of the policy gradient."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from random import Random

import numpy as np
import pytest

from games.source.duel.matches import settings
from games.source.duel.native.players import Player, Step, play
from games.source.duel.native.tactics import DEEDS, SITUATIONS, TABLE, Table, as_source, read_tactics, sample, write_tactics
from games.source.duel.search import tuning
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


def test_a_step_is_the_same_for_the_same_seed(table: Table) -> None:
    tables = []
    with ProcessPoolExecutor(2) as processes:
        for _ in range(2):
            tuner = Tuner([Exploiter(4, KICKS)], Random(3), processes, 2)
            tuner.step()
            tables.append(tuner.exact)
    assert (tables[0] == tables[1]).all()
    assert (np.rint(tables[0]) != table["logarithms"]).any()


def test_a_player_that_wins_joins_the_pool_and_is_beaten_less(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table["logarithms"] = 0
    write_tactics(table)
    monkeypatch.setattr(tuning, "BUDGET", 60)
    monkeypatch.setattr(tuning, "PLAYERS_A_STEP", 24)
    monkeypatch.setattr(tuning, "STEPS", 12)
    monkeypatch.setattr(tuning, "SKIPPED_STEPS", 4)
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
    results = play([exploiter.player for exploiter in pool[:8]], list(islice(settings("pool", 4), 1)))
    assert results.shape == (8, 1)


def test_the_source_says_how_it_was_made(table: Table) -> None:
    assert as_source(table, "By hand.").startswith("/* By hand. */\n")
