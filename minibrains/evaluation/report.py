"""The results of an evaluation: figures of each player, pairwise comparisons, the verdict,
and a table of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import itemgetter
from statistics import fmean
from typing import Any, Final

from minibrains.errors import RunError
from minibrains.evaluation.statistics import (
    mean_interval,
    paired_difference,
    sign_test,
    wilson,
)
from minibrains.games.splits import HELD_BACK
from minibrains.software import machine, software

OUTCOMES: Final = ("won", "lost", "drawn", "timed_out", "failed")
"""The outcomes of an episode. Only the first is a win; all of them count."""

Row = Mapping[str, Any]


def outcome(row: Row) -> str:
    """Return the outcome of an episode, one of OUTCOMES."""
    if row["ended"] == "limit":
        return "timed_out"
    if row["ended"] != "done":
        return "failed"
    if row["won"]:
        return "won"
    return "drawn" if row["drawn"] else "lost"


def figures(
    rows: Iterable[Row], measures: Mapping[str, int | None] | None = None
) -> dict[str, Any]:
    """Return the figures of one player.

    Of identical episodes only the first counts, because the others add no information.

    Args:
        rows: The results of its episodes.
        measures: Names of numbers in these results -> the largest that there can be, or None.

    Returns:
        `n`: the number of episodes played; `distinct`: the number of those that count. The other
        entries are over the episodes that count: the number of each of OUTCOMES, the `share` of
        wins and its interval `low` to `high`, the mean of `ticks`, and `by_state`. `by_clock`: the
        number of wins that the clock decided; None if no node reports it. `reward`: the mean sum of
        the rewards in an episode, and `reward_of` where it comes from: "reward" of a RewardSum in
        the workflow, or else "score", the game's own reward, as that of an environment; None if
        every episode failed. `measures`: for each of them the `mean`, its interval `low` to `high`,
        and `most`, over the episodes that did not fail.
        `nodes`: over all episodes, the nodes that failed while the episode went on.
    """
    played = list(rows)
    counted = _distinct(played)
    ends = Counter(map(outcome, counted))
    low, high = wilson(ends["won"], len(counted))
    ticks = sum(row["ticks"] for row in counted)
    return {
        "n": len(played),
        "distinct": len(counted),
        **{name: ends[name] for name in OUTCOMES},
        "by_clock": _by_clock(counted),
        "share": round(ends["won"] / len(counted), 6),
        "low": round(low, 6),
        "high": round(high, 6),
        "ticks": round(ticks / len(counted), 1),
        **_reward(counted),
        "measures": _measured(counted, measures or {}),
        "by_state": _by_state(counted),
        "nodes": _node_failures(played),
    }


def _distinct(rows: Sequence[Row]) -> list[Row]:
    """Return the first of each group of identical episodes,
    in the position of the last of the group.
    """
    firsts: dict[object, Row] = {}
    for row in reversed(rows):
        firsts[_trajectory(row)] = row
    return list(firsts.values())[::-1]


def _by_state(rows: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Count, for each start state, the episodes and those that were won."""
    by_state: dict[str, dict[str, int]] = {}
    for row in rows:
        name = "unknown"
        if row["start"]:
            name = row["start"]["state"]
        state = by_state.setdefault(name, {"n": 0, "won": 0})
        state["n"] += 1
        state["won"] += outcome(row) == "won"
    return dict(sorted(by_state.items()))


def _won(row: Row) -> bool:
    return outcome(row) == "won"


def _won_by_clock(row: Row) -> bool:
    return _won(row) and row.get("rounds_by_clock", 0) > 0


def _won_by_knockout(row: Row) -> bool:
    return _won(row) and not _won_by_clock(row)


def _by_clock(rows: Sequence[Row]) -> int | None:
    if any("rounds_by_clock" in row for row in rows):
        return sum(map(_won_by_clock, rows))
    return None


def _reward(rows: Sequence[Row]) -> dict[str, Any]:
    source = "score"
    if any("reward" in row for row in rows):
        source = "reward"
    rewards: list[float] = []
    for row in rows:
        # what a failed episode has is not the reward of a whole one
        if outcome(row) != "failed" and row.get(source) is not None:
            rewards.append(row[source])
    mean = None
    if rewards:
        mean = round(fmean(rewards), 6)
    return {"reward": mean, "reward_of": source}


def _measured(
    rows: Sequence[Row], measures: Mapping[str, int | None]
) -> dict[str, dict[str, float | None]]:
    """Return the mean of each measure, with its interval; a measure that nobody reports is left
    out.
    """
    whole = [row for row in rows if outcome(row) != "failed"]
    measured: dict[str, dict[str, float | None]] = {}
    for name, most in measures.items():
        values = [row[name] for row in whole if name in row]
        if values:
            low, high = mean_interval(values, most)
            measured[name] = {
                "mean": round(fmean(values), 6),
                "low": round(low, 6),
                "high": round(high, 6),
                "most": most,
            }
    return measured


def _node_failures(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """Count the failures of each node in episodes that went on, with the message of the first."""
    nodes: dict[str, dict[str, Any]] = {}
    for row in rows:
        for name, node in row.get("nodes", {}).items():
            nodes.setdefault(name, {**node, "errors": 0})["errors"] += node["errors"]
    return nodes


def compare(mine: Mapping[int, Row], theirs: Mapping[int, Row]) -> dict[str, Any]:
    """Compare two players in pairs of episodes with the same start.

    If both episodes of a pair are identical to those of an earlier pair, the pair does not count.

    Args:
        mine: The episodes of the first player, by number.
        theirs: Those of the second player.

    Returns:
        `pairs`: the number of pairs; `better`: of those that only the first player won; `worse`: of
        those that only the second won; `p`: the p-value of the sign test; `difference`: the first
        player's share of wins minus that of the second, with its interval `low` to `high`.
        If a node reports which wins the clock decided, `by_knockout` and `by_clock` have the same
        entries, in which only such wins count.
    """
    pairs: dict[tuple[object, object], int] = {}
    for index in sorted(mine.keys() & theirs, reverse=True):
        pairs[_trajectory(mine[index]), _trajectory(theirs[index])] = index
    rows = [(mine[index], theirs[index]) for index in pairs.values()]
    compared = _paired(rows, _won)
    if any("rounds_by_clock" in row for row in mine.values()):
        compared["by_knockout"] = _paired(rows, _won_by_knockout)
        compared["by_clock"] = _paired(rows, _won_by_clock)
    return compared


def _paired(pairs: Sequence[tuple[Row, Row]], is_win: Callable[[Row], bool]) -> dict[str, Any]:
    """Compare two players by the episodes that are wins in this sense."""
    wins: Counter[tuple[bool, bool]] = Counter()
    for mine, theirs in pairs:
        wins[is_win(mine), is_win(theirs)] += 1
    both, neither = wins[True, True], wins[False, False]
    better, worse = wins[True, False], wins[False, True]
    low, high = paired_difference(both, better, worse, neither)
    return {
        "pairs": len(pairs),
        "better": better,
        "worse": worse,
        "p": sign_test(better, worse),
        "difference": round((better - worse) / max(len(pairs), 1), 6),
        "low": round(low, 6),
        "high": round(high, 6),
    }


def compared(
    players: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[int, Row]],
    measures: Mapping[str, int | None],
) -> list[dict[str, Any]]:
    """Return the figures of each player.

    The first is the evaluated one, and the others are compared with it.

    Args:
        players: The identities of the players.
        rows: The episodes of each player, by number.
        measures: See figures.

    Raises:
        RunError: An episode did not begin in the same way for all players.
    """
    mine = rows[0]
    results = []
    for who, theirs in zip(players, rows, strict=True):
        check_starts(mine, theirs)
        result = {**who, **figures(theirs.values(), measures)}
        if theirs is not mine:
            result["paired"] = compare(mine, theirs)
        results.append(result)
    return results


def check_starts(mine: Mapping[int, Row], theirs: Mapping[int, Row]) -> None:
    """Raise RunError if an episode did not begin in the same way for two players."""
    for index in mine.keys() & theirs:
        starts = mine[index]["start"], theirs[index]["start"]
        # nothing is known of an episode that was lost
        if all(starts) and starts[0] != starts[1]:
            raise RunError(
                f"episode {index} did not begin alike for two players: {starts[0]} and {starts[1]}"
            )


def table(sections: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the figures of the evaluated player against each opponent: name -> `won`, `n` (the
    number of episodes that count), `share`, `low`, `high` and `reward`.
    """
    rows: dict[str, dict[str, Any]] = {}
    for section in sections:
        player = section["players"][0]
        rows[section["name"]] = {
            "won": player["won"],
            "n": player["distinct"],
            "share": player["share"],
            "low": player["low"],
            "high": player["high"],
            "reward": player["reward"],
        }
    return rows


def made_with() -> dict[str, Any]:
    """Return the versions and the machine that an evaluation was made with, for its results."""
    return {"software": software(), "machine": machine()}


def judge(
    players: Sequence[Mapping[str, Any]], level: str | None, simple: Set[str]
) -> dict[str, Any]:
    """Judge whether the first player is better than the simple players of this level.

    Args:
        players: The figures of the players; the first is the evaluated one.
        level: The pattern of states for which the game names simple players; None if there is no
            such pattern.
        simple: The roles of the simple players.

    Returns:
        `above`: whether its lower bound is above the upper bound of the best of them, None if that
            cannot be decided;
        `best`: the best of them; `sentence`: the verdict for people.
    """
    mine = players[0]
    if level is None:
        sentence = (
            "No verdict: the game names no simple players for these states, "
            "or they are of several levels"
        )
        return {"level": None, "above": None, "best": None, "sentence": sentence}
    simple_players = [player for player in players if not simple.isdisjoint(player["roles"])]
    if not simple_players:
        sentence = f"No verdict: no simple player at {level} has played"
        return {"level": level, "above": None, "best": None, "sentence": sentence}
    best = max(simple_players, key=itemgetter("high"))
    above = mine["low"] > best["high"]
    found = "better" if above else "not shown to be better"
    sentence = (
        f"{mine['name']} is {found} than simple players at {level}: "
        f"its lower bound is {percent(mine['low'])}, "
        f"the upper bound of the best of them, {label(best)}, is {percent(best['high'])}"
    )
    return {"level": level, "above": above, "best": label(best), "sentence": sentence}


def describe(result: Mapping[str, Any]) -> str:
    """Return the results as a table for people."""
    sections = result.get("opponents") or [result]
    players: list[Mapping[str, Any]] = []
    for section in sections:
        players.extend(section["players"])
    lines = [headline(result)]
    if "opponents" in result:
        opponents: list[tuple[str, Mapping[str, Any]]] = []
        for section in sections:
            opponents.append((section["name"], section["players"][0]))
        lines.extend(table_lines(f"{players[0]['name']} against", opponents))
    if "opponents" not in result or len(players) > len(sections):
        width = max(len(label(player)) for player in players)
        for section in sections:
            title = section.get("name", "")
            if title:
                title = f"against {title}"
            named = [(label(player), player) for player in section["players"]]
            lines.extend(table_lines(title, named, width))
    for section in sections:
        lines.extend(_measure_lines(section))
    lines.append(_about_rewards(players))
    if len(players) > len(sections):
        lines.append(
            "better/worse: episodes that only the first, or only this one, won; p: "
            "exact two-sided sign test of those"
        )
    for section in sections:
        mine, *others = section["players"]
        if is_compared(mine["roles"]):
            lines.append(f"{label(mine)}: these are the same nodes and brains, so the same games")
        for player in others:
            if is_compared(player["roles"]):
                lines.extend(_differences(mine, player))
    for section in sections:
        why = _why_left_out(section["protocol"])
        for player in section["players"]:
            for name in player["left_out"]:
                lines.append(f"{label(player)}: {name} was left out, {why}")
    for player in players:
        for name, node in player["nodes"].items():
            failed = f"{name} failed {node['errors']} times, and the game went on"
            lines.append(f"{label(player)}: {failed}: {node['first_error']}")
    if "verdict" in result:
        lines.append(result["verdict"]["sentence"])
    if "look" in result:
        look = result["look"]
        lines.append(f"look {look['number']} at held-back states of this ROM: {look['ledger']}")
    return "\n".join(lines)


def _about_rewards(players: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence that says what the rewards in the table are."""
    summed = dict.fromkeys(label(each) for each in players if each["reward_of"] == "reward")
    line = "reward: mean of an episode's sum of the game's own rewards"
    if summed:
        line += f"; for {', '.join(summed)} of what the RewardSum of the workflow delivers"
    return line


def _why_left_out(protocol: Mapping[str, Any]) -> str:
    group, _, _ = protocol["opponent"].partition("/")
    if HELD_BACK in (protocol["split"], group):
        return "because it collects or trains, and these states or opponents are held back"
    return "because an evaluation adds no episodes to a data set"


def table_lines(
    title: str, players: Sequence[tuple[str, Mapping[str, Any]]], width: int = 0
) -> list[str]:
    """Return a table of players by their names, of which the longest may have that width."""
    width = max(width, len(title), *[len(name) for name, _ in players])
    lines = [
        f"{title:<{width}}  {'n':>5}  {'distinct':>8}  {'won':>5}  {'by clock':>8}  {'lost':>5}  "
        f"{'drawn':>5}  {'time-out':>8}  "
        f"{'failed':>6}  {'wins':>7}  {'95 % interval':>15}  {'reward':>9}  {'better/worse':>12}  "
        f"{'p':>7}"
    ]
    for name, player in players:
        lines.append(_line(name, player, width))
    return lines


def _line(name: str, player: Mapping[str, Any], width: int) -> str:
    sides = p = reward = ""
    pair = player.get("paired")
    if pair:
        sides, p = f"{pair['better']}/{pair['worse']}", f"{pair['p']:.2g}"
    if player["reward"] is not None:
        reward = f"{player['reward']:.2f}"
    by_clock = "" if player["by_clock"] is None else player["by_clock"]
    line = (
        f"{name:<{width}}  {player['n']:>5}  {player['distinct']:>8}  "
        f"{player['won']:>5}  {by_clock:>8}  "
        f"{player['lost']:>5}  {player['drawn']:>5}  {player['timed_out']:>8}  "
        f"{player['failed']:>6}  {share(player):>7}  "
        f"{interval(player):>15}  {reward:>9}  {sides:>12}  {p:>7}"
    )
    return line.rstrip()


def _measure_lines(section: Mapping[str, Any]) -> list[str]:
    """Return a table of the measures of the players, a line each; none if the game has no
    measures.
    """
    players = section["players"]
    measures = players[0]["measures"]
    if not measures:
        return []
    title = "mean of an episode"
    if section.get("name"):
        title += f" against {section['name']}"
    width = max(len(title), *[len(label(player)) for player in players])
    head = f"{title:<{width}}"
    for name, measure in measures.items():
        head += f"  {_measure_title(name, measure):>18}  {'95 % interval':>16}"
    lines = [head]
    for player in players:
        line = f"{label(player):<{width}}"
        for name in measures:
            line += _measure_columns(player["measures"].get(name))
        lines.append(line.rstrip())
    return lines


def _measure_title(name: str, measure: Mapping[str, Any]) -> str:
    if measure["most"] is None:
        return name
    return f"{name}, of {measure['most']}"


def _measure_columns(measure: Mapping[str, Any] | None) -> str:
    if measure is None:
        return f"{'':>38}"
    mean, low, high = [_short(measure[key]) for key in ("mean", "low", "high")]
    return f"  {mean:>18}  {f'{low} to {high}':>16}"


def _short(value: float) -> str:
    """Return a number with two decimals, or none if it is large."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.2f}"


def _differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Return lines about the difference of two players in pairs of episodes,
    and about what distinguishes them.
    """
    paired = theirs["paired"]
    pairs = f"{paired['pairs']} pairs"
    lines = [f"{mine['name']} minus {label(theirs)}: {_difference(paired, pairs)}"]
    for kind, words in (("by_knockout", "by knock-out"), ("by_clock", "by the clock")):
        if kind in paired:
            lines.append(f"  {words}: {_difference(paired[kind], pairs)}")
    if mine["nodes_sha256"] != theirs["nodes_sha256"]:
        hashes = f"{mine['nodes_sha256'][:12]} and {theirs['nodes_sha256'][:12]}"
        lines.append(f"  other nodes or settings, SHA-256 {hashes}")
    for node in sorted(mine["brains"].keys() & theirs["brains"]):
        brains = mine["brains"][node]["sha256"], theirs["brains"][node]["sha256"]
        if brains[0] != brains[1]:
            lines.append(f"  other brain of {node}, SHA-256 {brains[0][:12]} and {brains[1][:12]}")
    return lines


def _difference(paired: Mapping[str, Any], pairs: str) -> str:
    points = [f"{100 * paired[name]:+.1f}" for name in ("difference", "low", "high")]
    return (
        f"{points[0]} points in {pairs}, 95 % interval {points[1]} to {points[2]}, "
        f"better/worse {paired['better']}/{paired['worse']}, p {paired['p']:.2g}"
    )


def headline(result: Mapping[str, Any]) -> str:
    """Return the conditions in one line."""
    protocol = result["protocol"]
    only = ""
    if protocol["only"] != "*":
        only = f", {protocol['only']}"
    count = len(protocol["states"])
    states = "1 state" if count == 1 else f"{count} states"
    episodes = "1 episode" if result["episodes"] == 1 else f"{result['episodes']} episodes"
    baselines = ""
    if result["baseline_episodes"] is not None:
        baselines = f" (baselines: {result['baseline_episodes']})"
    return (
        f"{protocol['game']}, split {protocol['split']}{only} ({states}), "
        f"{episodes} each{baselines}, seed {protocol['seed']}"
    )


def is_compared(roles: Iterable[str]) -> bool:
    """Return True for the roles of a player that `--compare-with` names."""
    return any(role.partition(":")[0] == "compared" for role in roles)


def label(player: Mapping[str, Any]) -> str:
    """Return a player's name and roles."""
    return f"{player['name']} ({', '.join(player['roles'])})"


def share(player: Mapping[str, Any]) -> str:
    """Return a player's share of wins, for people."""
    return percent(player["share"])


def interval(player: Mapping[str, Any]) -> str:
    """Return the interval of a player's share of wins, for people."""
    return f"{100 * player['low']:.1f} to {100 * player['high']:.1f} %"


def percent(share: float) -> str:
    """Return a share of 0 to 1 as a percentage, for people."""
    return f"{100 * share:.1f} %"


def _trajectory(row: Row) -> object:
    """Return a key that is equal for identical episodes. A failed episode is equal to no other."""
    if row["ended"] == "failed":
        return id(row)
    return row.get("trajectory_sha256") or id(row)
