"""What an evaluation has come to: figures of each player, pairs, and the table of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from minibrains.errors import RunError
from minibrains.evaluation.protocol import Protocol
from minibrains.evaluation.statistics import sign_test, wilson
from minibrains.software import machine, software

OUTCOMES: Final = ("won", "lost", "drawn", "timed_out", "failed")
"""How an episode ends. All but the first are no wins, and all of them count."""

Row = Mapping[str, Any]


def outcome(row: Row) -> str:
    """One of OUTCOMES."""
    if row["ended"] != "done":
        return "timed_out" if row["ended"] == "limit" else "failed"
    return "won" if row["won"] else "drawn" if row["drawn"] else "lost"


def figures(rows: Iterable[Row]) -> dict[str, Any]:
    """How one player did. Of episodes that went exactly alike only the first counts: the others say nothing new.

    `n` were played, `distinct` count; OUTCOMES, `share` and its interval `low` to `high`, `ticks` (the mean) and
    `by_state` are of those that count. `nodes` failed in any of them, and their fallback played.
    """
    played = list(rows)
    counted = list({_trajectory(row): row for row in reversed(played)}.values())[::-1]
    ends = Counter(map(outcome, counted))
    low, high = wilson(ends["won"], len(counted))
    by_state: dict[str, dict[str, int]] = {}
    for row in counted:
        state = by_state.setdefault((row["start"] or {"state": "unknown"})["state"], {"n": 0, "won": 0})
        state["n"] += 1
        state["won"] += outcome(row) == "won"
    return {
        "n": len(played),
        "distinct": len(counted),
        **{name: ends[name] for name in OUTCOMES},
        "share": round(ends["won"] / len(counted), 6),
        "low": round(low, 6),
        "high": round(high, 6),
        "ticks": round(sum(row["ticks"] for row in counted) / len(counted), 1),
        "by_state": dict(sorted(by_state.items())),
        "nodes": _borne(played),
    }


def _borne(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """Which nodes failed in episodes that went on all the same: how often, and why the first time."""
    nodes: dict[str, dict[str, Any]] = {}
    for row in rows:
        for name, node in row.get("nodes", {}).items():
            nodes.setdefault(name, {**node, "errors": 0})["errors"] += node["errors"]
    return nodes


def compare(mine: Mapping[int, Row], theirs: Mapping[int, Row]) -> dict[str, Any]:
    """Episode by episode, which began alike: `better` were won by me alone, `worse` by them alone, `p` of the sign test.

    Of pairs in which both went exactly as in an earlier pair only the first counts.
    """
    pairs = {
        (_trajectory(mine[index]), _trajectory(theirs[index])): index for index in sorted(mine.keys() & theirs, reverse=True)
    }
    sides = [(outcome(mine[index]) == "won", outcome(theirs[index]) == "won") for index in pairs.values()]
    better, worse = sides.count((True, False)), sides.count((False, True))
    return {"pairs": len(sides), "better": better, "worse": worse, "p": sign_test(better, worse)}


def evaluation(protocol: Protocol, players: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[int, Row]]) -> dict[str, Any]:
    """Everything there is to say; the first player is the one that is evaluated, with whom the others are compared.

    `players` say who they are, `rows` are their episodes by number. Raises RunError unless episodes began alike for all.
    """
    mine, *others = rows
    for theirs in others:
        for index in mine.keys() & theirs:
            starts = mine[index]["start"], theirs[index]["start"]
            if all(starts) and starts[0] != starts[1]:  # of a lost episode nothing is known
                raise RunError(f"episode {index} did not begin alike for two players: {starts[0]} and {starts[1]}")
    pairs = [{}, *({"paired": compare(mine, theirs)} for theirs in others)]
    return {
        "protocol": protocol.as_json(),
        "episodes": len(mine),
        "players": [{**who, **figures(each.values()), **pair} for who, each, pair in zip(players, rows, pairs, strict=True)],
        "software": software(),
        "machine": machine(),
    }


def describe(result: Mapping[str, Any]) -> str:
    """The results as a table for people."""
    players = result["players"]
    width = max(len(label(player)) for player in players)
    lines = [
        headline(result),
        f"{'':<{width}}  {'n':>5}  {'distinct':>8}  {'won':>5}  {'lost':>5}  {'drawn':>5}  {'time-out':>8}  {'failed':>6}  "
        f"{'wins':>7}  {'95 % interval':>15}  {'better/worse':>12}  {'p':>7}",
    ]
    for player in players:
        pair = player.get("paired")
        sides, p = (f"{pair['better']}/{pair['worse']}", f"{pair['p']:.2g}") if pair else ("", "")
        lines.append(
            f"{label(player):<{width}}  {player['n']:>5}  {player['distinct']:>8}  {player['won']:>5}  {player['lost']:>5}  "
            f"{player['drawn']:>5}  {player['timed_out']:>8}  {player['failed']:>6}  {share(player):>7}  "
            f"{interval(player):>15}  {sides:>12}  {p:>7}".rstrip()
        )
    lines.append("better/worse: episodes that only the first, or only this one, won; p: exact two-sided sign test of those")
    lines.extend(
        f"{label(player)}: {name} was left out, because it collects or trains, and these states are held back"
        for player in players
        for name in player["left_out"]
    )
    lines.extend(
        f"{label(player)}: {name} failed {node['errors']} times, and the game went on: {node['first_error']}"
        for player in players
        for name, node in player["nodes"].items()
    )
    return "\n".join(lines)


def headline(result: Mapping[str, Any]) -> str:
    """The conditions in one line."""
    protocol = result["protocol"]
    only = "" if protocol["only"] == "*" else f", {protocol['only']}"
    return (
        f"{protocol['game']}, split {protocol['split']}{only} ({len(protocol['states'])} states), "
        f"{result['episodes']} episodes each, seed {protocol['seed']}"
    )


def label(player: Mapping[str, Any]) -> str:
    """Name and roles."""
    return f"{player['name']} ({', '.join(player['roles'])})"


def share(player: Mapping[str, Any]) -> str:
    """Of episodes won, in words."""
    return f"{100 * player['share']:.1f} %"


def interval(player: Mapping[str, Any]) -> str:
    """Of that share, in words."""
    return f"{100 * player['low']:.1f} to {100 * player['high']:.1f} %"


def _trajectory(row: Row) -> object:
    """Equal for episodes that went alike. One that failed is like no other."""
    return id(row) if row["ended"] == "failed" else row.get("trajectory_sha256") or id(row)
