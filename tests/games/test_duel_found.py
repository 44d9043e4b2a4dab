"""The players that people have found can be played, and are of the classes of the search."""

from __future__ import annotations

from games.source.duel.native.players import win_share
from games.source.duel.search.finals import MOST
from games.source.duel.search.found import class_of, found
from games.source.duel.search.genomes import kind_of


def test_the_players_play_without_the_patch() -> None:
    players = found()
    assert len(players) > 80
    assert {kind_of(player) for player in players} < MOST.keys()
    assert not any("own status" in class_of(player) for player in players)


def test_the_table_that_breaks_the_limit_at_level_10_wins_there() -> None:
    table = next(player for player in found() if player.height_edge == 33 and player.late == 12)
    assert class_of(table) == "table, late"
    assert win_share(table, level=10, matches=60, name="a test") > 5 / 60
