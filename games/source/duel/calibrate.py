"""Play many matches of Duel and say who wins how often, and whether that is within limits.

    python -m games.source.duel.calibrate --workers 2 --rows rows.jsonl --json calibration.json

A limit holds if the Wilson 95 % interval lies within it. Only matches that differ count. With --rows every row is kept as it
comes, and a run that was cut off goes on from there, as long as the ROM and the players are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from games.source.duel import FOLDER, LEVELS, fighters
from games.source.duel.counting import KINDS, SECONDS, Limit, Row, different, row_of, wilson
from games.source.duel.matches import Result, Setting, computers, mirrored, play_one, settings
from games.source.duel.search.exploits import BUDGET, search_exploits
from games.source.duel.search.finals import table_of_finals
from minibrains import GameError
from nodes.fighting.fighters import RULES

FULL = 1000
"""--n of the whole calibration; a smaller one makes all but the screenings smaller in proportion."""
LEAST = 12
"""Matches in a row of the quickest run."""
SCREENED, SCREENED_ON = 20, 300
"""Matches with every macro, and with one whose upper bound stays over one half."""
LEVEL_OF_MACROS = 4
BEST_MACROS = 12
"""So many of the best macros are played at the higher levels too."""
PLAYED_AGAIN = 3
"""So many of them in SCREENED_ON other matches at the lowest level: a screening that ended when it looked well flatters."""
STYLES_NEEDED = 3
HERE = Path(__file__).resolve().parent
NODES = HERE.parents[2] / "nodes" / "fighting"
SUBJECT = (
    FOLDER / "rom.md",
    FOLDER / "data.json",
    FOLDER / "data_sf2.json",
    FOLDER / "scenario.json",
    FOLDER / "actions.json",
    HERE / "counting.py",
    HERE / "matches.py",
    HERE / "fighters.py",
    NODES / "fighters.py",
    NODES / "strategist.py",
    HERE / "calibrate.py",
)
"""The files that decide how a match goes, and how it is counted."""

# ---- limits ----


NEVER_HALF = Limit(most=0.5)
JUDGED_FROM = Limit(least=0.85)
"""Where the ceiling is so high, a learning agent can be judged."""
TIME_OUTS = 0.1


def lifeless(rows: list[Row]) -> list[str]:
    """What is wrong with how these matches go, whoever wins them. That most of them are so means: more than half,
    by the lower bound; this is what holds for a median then."""
    n = sum(row["n"] for row in rows)
    long, short, timed_out, varied = (wilson(sum(row[name] for row in rows), n) for name in LIFE)
    wrong = {
        f"not most last {SECONDS[0]} s": long[0] <= 0.5,
        f"not most are over after {SECONDS[1]} s": short[0] <= 0.5,
        f"time-outs in up to {timed_out[1]:.1%}": timed_out[1] > TIME_OUTS,
        f"not most have {KINDS} kinds of move from both sides": varied[0] <= 0.5,
    }
    return [name for name, holds in wrong.items() if holds]


LIFE = ("long_enough", "short_enough", "timed_out", "varied")
"""Of a row: matches that last so long, that are over so soon, in which the clock ended a round, in which both sides
landed so many kinds of move."""


# ---- rows ----


def screen(policy: str, level: int) -> Row:
    """SCREENED matches, and on to SCREENED_ON only while the upper bound is over one half.
    The first are broken off when those that are missing cannot change that."""
    done: list[Result] = []
    for setting in itertools.islice(settings(policy, level), SCREENED_ON):
        counted = different(done)
        missing = max(0, SCREENED - len(counted))
        if wilson(sum(result.won for result in counted) + missing, len(counted) + missing)[1] <= NEVER_HALF.most:
            break
        done.append(play_one(setting))
    return row_of(f"{policy} at {level}", done)


def subject() -> str:
    """Changes with whatever decides how matches go."""
    digests = [hashlib.sha1(path.read_bytes()).digest() for path in SUBJECT]
    return hashlib.sha1(b"".join(digests)).hexdigest()


def readable(line: str) -> Row | None:
    """A kept row, or None for a line that was cut off."""
    try:
        kept: Row = json.loads(line)
    except ValueError:
        return None
    return kept


class Run:
    """The processes that play, and the rows that are there already."""

    def __init__(self, workers: int, kept: Path | None, levels: Sequence[int] = range(1, LEVELS + 1)) -> None:
        self.pool = ProcessPoolExecutor(workers) if workers > 1 else None
        self.levels = levels
        self.kept, self.subject, self.latest = kept, subject(), time.time()
        self.rows: dict[str, Row] = {}
        if kept and kept.exists():
            text = kept.read_text()
            if text and not text.endswith("\n"):  # a run was killed while it wrote
                with kept.open("a") as file:
                    file.write("\n")
            lines = [line for line in map(readable, text.splitlines()) if line]
            self.rows = {line["key"]: line["row"] for line in lines if line["subject"] == self.subject}

    def close(self) -> None:
        if self.pool:
            self.pool.shutdown()

    def map(self, play: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        return self.pool.map(play, items) if self.pool else map(play, items)

    def keep(self, key: str, row: Row) -> Row:
        """Remember a row, with the seconds since the one before: over all sittings they add up."""
        now = time.time()
        row["seconds"], self.latest = round(now - self.latest, 2), now
        self.rows[key] = row
        if self.kept:
            with self.kept.open("a") as file:
                file.write(json.dumps({"subject": self.subject, "key": key, "row": row}) + "\n")
        words = "{what}: {won}/{n} = {share:.3f} [{low:.3f}, {high:.3f}], {median_s} s, {timed_out} timed out".format(**row)
        print(f"{row['seconds']:6.0f} s  {words}", file=sys.stderr, flush=True)
        return row

    def tally(self, what: str, matches: Iterator[Setting], n: int) -> Row:
        """n matches that differ; at most twice as many are played to get them."""
        key = f"{what}, {n}"
        if key in self.rows:
            return self.rows[key]
        done = list(self.map(play_one, itertools.islice(matches, n)))
        while (missing := n - len(different(done))) and len(done) < 2 * n:
            done += self.map(play_one, itertools.islice(matches, missing))
        return self.keep(key, row_of(what, done, n))

    def screen(self, policies: Iterable[str], level: int) -> list[Row]:
        """Every one of these policies is a piece of work of its own."""
        wanted = list(policies)
        keys = {policy: f"{policy} at {level}, screened" for policy in wanted}
        missing = [policy for policy in wanted if keys[policy] not in self.rows]
        for policy, row in zip(missing, self.map(partial(screen, level=level), missing), strict=True):
            self.keep(keys[policy], row)
        return [self.rows[key] for key in keys.values()]


# ---- suites ----

Judged = tuple[Row, Limit | None]


def noop(run: Run, n: int) -> Iterator[Judged]:
    for level in (1, 4, 8):
        yield run.tally(f"noop at {level}", settings("noop", level), part(n, 300 if level == 1 else 60)), Limit(most=0)


def random44(run: Run, n: int) -> Iterator[Judged]:
    for level, most in ((1, 0.35), (4, 0.05), (8, 0.01)):
        yield run.tally(f"random44 at {level}", settings("random44", level), part(n, 1000)), Limit(most=most)


MOST_OF_A_RUSHER = ((2, 0.6), (5, 0.15))


JUDGED_RUSHERS = ("rusher", "rusher:heavy_forward")
"""The plain one, and of the others the one that won most against the ROM before this one."""


def rusher(run: Run, n: int) -> Iterator[Judged]:
    for policy, (level, most) in itertools.product(JUDGED_RUSHERS, MOST_OF_A_RUSHER):
        yield run.tally(f"{policy} at {level}", settings(policy, level), part(n, 300)), Limit(most=most)


def rushers(run: Run, n: int) -> Iterator[Judged]:
    """Of other kinds; to look at, and played only when asked for."""
    for kind in fighters.RUSHERS:
        for level, _ in MOST_OF_A_RUSHER:
            yield run.tally(f"rusher:{kind} at {level}", settings(f"rusher:{kind}", level), part(n, 12)), None


def ladder(run: Run, n: int) -> Iterator[Judged]:
    for level in range(1, LEVELS - 1):
        matches = computers(level + 2, level)
        yield run.tally(f"level {level + 2} against level {level}", matches, part(n, 300)), Limit(least=0.6)


def mirror(run: Run, n: int) -> Iterator[Judged]:
    # of 1200 matches two equal sides miss the limit by chance one time in seven, of so many one in three hundred
    yield run.tally("left side, equal levels and fighters", mirrored(), part(n, 2400)), Limit(0.45, 0.55)


def styles(run: Run, n: int) -> Iterator[Judged]:
    for name in RULES:
        yield run.tally(f"{name} at 6", settings(name, 6), part(n, 200)), Limit(least=0.7)


def rules(run: Run, n: int) -> Iterator[Judged]:
    first = {rule.__name__: f"{name}/{rule.__name__}" for name, rules in RULES.items() for rule in rules}
    for row in run.screen(first.values(), 6):
        yield row, NEVER_HALF


INTERVALS = (30, 12, 6)
"""Frames from one decision to the next."""


def ceiling(run: Run, n: int) -> Iterator[Judged]:
    """How much can be won through the action table, with a decision every so many frames."""
    for interval, level in itertools.product(INTERVALS, range(1, LEVELS + 1)):
        policy = f"patient@{interval}"
        matches = part(n, 300 if (interval, level) == (30, 4) else 40)
        yield run.tally(f"{policy} at {level}", settings(policy, level), matches), JUDGED_FROM


def share(row: Row) -> float:
    """What the screened are ranked by. Not the bound: a screening that goes on ends as soon as that is below one half."""
    return float(row["share"])


def macros(run: Run, n: int) -> Iterator[Judged]:
    """Two actions in turn, or one: at the lowest level that they must not beat, and the best of them at every higher one.
    Which of two comes first makes no difference to what is repeated for ever."""
    pairs = itertools.combinations_with_replacement(range(len(fighters.actions())), 2)
    policies = [f"macro:{a}" if a == b else f"macro:{a},{b}" for a, b in pairs]
    rows = run.screen(policies, LEVEL_OF_MACROS)
    ranked = sorted(zip(rows, policies, strict=True), key=lambda pair: share(pair[0]), reverse=True)
    best = [policy for _, policy in ranked[:BEST_MACROS]]
    higher = (run.screen(best, level) for level in range(LEVEL_OF_MACROS + 1, LEVELS + 1))
    again = (
        run.tally(
            f"{policy} at {LEVEL_OF_MACROS} again",
            itertools.islice(settings(policy, LEVEL_OF_MACROS), SCREENED_ON, None),
            part(n, SCREENED_ON),
        )
        for policy in best[:PLAYED_AGAIN]
    )
    for row in itertools.chain(rows, *higher, again):
        yield row, NEVER_HALF


def exploits(run: Run, n: int) -> Iterator[Judged]:
    """The best simple players that a search finds, natively, at every level; only when asked for."""
    yield from search_exploits(run, run.levels, part(n, BUDGET), part(n, FULL))


EVERY = (noop, random44, rusher, rushers, ladder, mirror, styles, rules, ceiling, macros, exploits)
SUITES = {suite.__name__: suite for suite in EVERY}
THE_TABLE = [name for name in SUITES if name not in ("rushers", "exploits")]
PLAYED_AS_MEANT = ("ladder", "mirror", "styles")
"""Suites whose matches, taken together, have to be alive as well: both sides play."""


def part(n: int, of: int) -> int:
    return max(LEAST, of * n // FULL)


def judged(run: Run, n: int, wanted: Iterable[str]) -> Iterator[Row]:
    """All rows of these suites, with their limits and whether they are met."""
    for name in wanted:
        for row, limit in SUITES[name](run, n):
            yield {**row, "suite": name, "limit": str(limit) if limit else "", "met": limit.met(row) if limit else None}


def verdicts(rows: list[Row]) -> dict[str, str]:
    """What each suite asks for: met, or what of it is not."""
    result = {}
    for suite, group in itertools.groupby(rows, key=lambda row: row["suite"]):
        of_suite = list(group)
        limited = [row for row in of_suite if row["limit"]]
        missed = [row["what"] for row in limited if not row["met"]]
        if suite == "ceiling":
            result[suite] = "; ".join(can_be_won(of_suite, interval) for interval in INTERVALS)
        elif limited:
            met = len(limited) - len(missed) >= STYLES_NEEDED if suite == "styles" else not missed
            result[suite] = "met" if met else f"not met by {', '.join(missed)}"
        if suite in PLAYED_AS_MEANT:
            result[f"{suite}, alive"] = ", ".join(lifeless(of_suite)) or "met"
    return result


def can_be_won(rows: list[Row], interval: int) -> str:
    levels = [row["what"].split()[-1] for row in rows if row["met"] and row["what"].startswith(f"patient@{interval} ")]
    return f"{JUDGED_FROM} with a decision every {interval} frames at level {', '.join(levels) or 'none'}"


# ---- the report ----


def cells(row: Row) -> str:
    verdict = {True: "yes", False: "**no**", None: ""}[row["met"]]
    mine, theirs = row["kinds"]
    return (
        f"| {row['what']} | {row['n']} | {row['won']} | {row['share']:.3f} | {row['low']:.3f}–{row['high']:.3f} | {row['limit']} "
        f"| {verdict} | {row['drawn']} | {row['median_s']} | {row['timed_out'] / row['n']:.1%} "
        f"| {row['rounds_timed_out'] / row['rounds']:.1%} | {mine:g} / {theirs:g} |"
    )


def table(rows: list[Row]) -> list[str]:
    """The lines of the table. Of what was screened, the best at each level; the rest is counted."""
    lines = [
        "| matches | n | won | share | 95 % | limit | met | drawn | median s | timed out | rounds | kinds landed |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for suite, group in itertools.groupby(rows, key=lambda row: row["suite"]):
        shown = list(group)
        if suite == "macros":
            again = [row for row in shown if row["what"].endswith("again")]
            screened = sorted((row for row in shown if row not in again), key=share, reverse=True)
            over = [row for row in screened if not row["met"]]
            lines.append(f"| macros: {len(screened)} screened, {len(over)} not below one half; the best: " + "| " * 11 + "|")
            shown = screened[: max(len(over), BEST_MACROS)] + again
        lines += [cells(row) for row in shown]
    return lines


def markdown(rows: list[Row]) -> str:
    """Return the table, that of what a search has found, and the verdicts."""
    found = [row for row in rows if row["suite"] == "exploits"]
    others = [row for row in rows if row["suite"] != "exploits"]
    parts = [[f"- {name}: {verdict}" for name, verdict in verdicts(rows).items()]]
    if found:
        parts.insert(0, table_of_finals(found))
    if others:
        parts.insert(0, table(others))
    return "\n\n".join("\n".join(part) for part in parts)


def write(path: Path, text: str) -> None:
    """All or nothing."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, path)


def suites(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in SUITES]:
        raise argparse.ArgumentTypeError(f"there is no suite {unknown[0]!r}; expected some of {','.join(SUITES)}")
    return names


def level_numbers(text: str) -> list[int]:
    try:
        levels = [int(part) for part in text.split(",")]
    except ValueError:
        levels = []
    if not levels or not set(levels) <= set(range(1, LEVELS + 1)):
        raise argparse.ArgumentTypeError(f"{text!r} are no levels; expected some of 1 to {LEVELS}, such as 4,6")
    return levels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=FULL, help="matches of the longest measurements")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", type=suites, default=THE_TABLE, metavar="SUITES", help="some of " + ",".join(SUITES))
    parser.add_argument("--rows", type=Path, help="keep rows there as they come, and use those that are there")
    parser.add_argument("--json", type=Path, help="write the whole report there")
    every_level = list(range(1, LEVELS + 1))
    parser.add_argument("--levels", type=level_numbers, default=every_level, help="where exploits are searched, such as 4,6")
    options = parser.parse_args()
    run = Run(options.workers, options.rows, options.levels)
    try:
        rows = list(judged(run, options.n, options.only))
    except GameError as error:
        parser.exit(2, f"{error}\n")
    finally:
        run.close()
    rom = hashlib.sha1((FOLDER / "rom.md").read_bytes()).hexdigest()
    seconds, processor = (round(sum(row[name] for row in rows)) for name in ("seconds", "processor_s"))
    if options.json:
        report = {"rom_sha1": rom, "seconds": seconds, "processor_s": processor, "verdicts": verdicts(rows), "rows": rows}
        write(options.json, json.dumps(report, indent=1) + "\n")
    print(f"ROM {rom}, {seconds} s, {processor} s of processor time\n\n{markdown(rows)}")


if __name__ == "__main__":
    main()
