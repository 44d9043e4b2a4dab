"""What an evaluation has come to: figures of each player, pairs, the verdict, and the table of all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from operator import itemgetter
from typing import Any, Final

from minibrains.errors import RunError
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
    `by_state` are of those that count. `by_clock` of those that were won, the clock decided; None if nobody tells.
    `nodes` failed in any of them, and their fallback played.
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
        "by_clock": _by_clock(counted),
        "share": round(ends["won"] / len(counted), 6),
        "low": round(low, 6),
        "high": round(high, 6),
        "ticks": round(sum(row["ticks"] for row in counted) / len(counted), 1),
        "by_state": dict(sorted(by_state.items())),
        "nodes": _borne(played),
    }


def _by_clock(rows: Sequence[Row]) -> int | None:
    with_clock = [row for row in rows if "rounds_by_clock" in row]
    decided = [row for row in with_clock if outcome(row) == "won" and row["rounds_by_clock"]]
    return len(decided) if with_clock else None


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


def compared(players: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[int, Row]]) -> list[dict[str, Any]]:
    """Give each player its figures; the first is the one that is evaluated, with whom the others are compared.

    `players` say who they are, `rows` are their episodes by number. Raises RunError unless episodes began alike for all.
    """
    mine = rows[0]
    results = []
    for who, theirs in zip(players, rows, strict=True):
        for index in mine.keys() & theirs:
            starts = mine[index]["start"], theirs[index]["start"]
            if all(starts) and starts[0] != starts[1]:  # of a lost episode nothing is known
                raise RunError(f"episode {index} did not begin alike for two players: {starts[0]} and {starts[1]}")
        result = {**who, **figures(theirs.values())}
        if theirs is not mine:
            result["paired"] = compare(mine, theirs)
        results.append(result)
    return results


def made_with() -> dict[str, Any]:
    """Say what an evaluation was made with, for its result."""
    return {"software": software(), "machine": machine()}


def judge(players: Sequence[Mapping[str, Any]], level: str | None, simple: Set[str]) -> dict[str, Any]:
    """Say whether the first player is better than simple players are at this level.

    Args:
        players: Figures; the first is the one that is evaluated.
        level: The pattern of states for which the game names simple players; None if there is none for these states.
        simple: The roles of those.

    Returns:
        `above`: whether its lower bound is above the upper bound of the best of them, None where that cannot be said;
        `best`: who that is; `sentence`: the same for people.
    """
    mine = players[0]
    if level is None:
        sentence = "No verdict: the game names simple players for the states of one level; these are of another, or of several"
        return {"level": None, "above": None, "best": None, "sentence": sentence}
    best = max((player for player in players if not simple.isdisjoint(player["roles"])), key=itemgetter("high"))
    above = mine["low"] > best["high"]
    sentence = (
        f"{mine['name']} is {'better' if above else 'not shown to be better'} than simple players at {level}: its lower bound is "
        f"{percent(mine['low'])}, the upper bound of the best of them, {label(best)}, is {percent(best['high'])}"
    )
    return {"level": level, "above": above, "best": label(best), "sentence": sentence}


def describe(result: Mapping[str, Any]) -> str:
    """Write the results as a table for people."""
    sections = result.get("opponents") or [result]
    players = [player for section in sections for player in section["players"]]
    width = max(len(label(player)) for player in players)
    lines = [
        headline(sections[0]),
        f"{'':<{width}}  {'n':>5}  {'distinct':>8}  {'won':>5}  {'by clock':>8}  {'lost':>5}  {'drawn':>5}  {'time-out':>8}  "
        f"{'failed':>6}  {'wins':>7}  {'95 % interval':>15}  {'better/worse':>12}  {'p':>7}",
    ]
    for section in sections:
        if section["protocol"]["opponent"]:
            lines.append(f"against {section['protocol']['opponent']}")
        lines.extend(_line(player, width) for player in section["players"])
    lines.append("better/worse: episodes that only the first, or only this one, won; p: exact two-sided sign test of those")
    lines.extend(
        f"{label(player)}: {name} was left out, because it collects or trains, and these states or opponents are held back"
        for player in players
        for name in player["left_out"]
    )
    lines.extend(
        f"{label(player)}: {name} failed {node['errors']} times, and the game went on: {node['first_error']}"
        for player in players
        for name, node in player["nodes"].items()
    )
    if "verdict" in result:
        lines.append(result["verdict"]["sentence"])
    return "\n".join(lines)


def _line(player: Mapping[str, Any], width: int) -> str:
    pair = player.get("paired")
    sides, p = (f"{pair['better']}/{pair['worse']}", f"{pair['p']:.2g}") if pair else ("", "")
    by_clock = "" if player["by_clock"] is None else player["by_clock"]
    line = (
        f"{label(player):<{width}}  {player['n']:>5}  {player['distinct']:>8}  {player['won']:>5}  {by_clock:>8}  "
        f"{player['lost']:>5}  {player['drawn']:>5}  {player['timed_out']:>8}  {player['failed']:>6}  {share(player):>7}  "
        f"{interval(player):>15}  {sides:>12}  {p:>7}"
    )
    return line.rstrip()


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
    return percent(player["share"])


def interval(player: Mapping[str, Any]) -> str:
    """Of that share, in words."""
    return f"{100 * player['low']:.1f} to {100 * player['high']:.1f} %"


def percent(share: float) -> str:
    """A share of 0 to 1 in words."""
    return f"{100 * share:.1f} %"


def _trajectory(row: Row) -> object:
    """Equal for episodes that went alike. One that failed is like no other."""
    return id(row) if row["ended"] == "failed" else row.get("trajectory_sha256") or id(row)
