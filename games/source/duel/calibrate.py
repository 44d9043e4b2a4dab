"""Play many matches of Duel and say who wins how often, and whether that is within limits.

    python -m games.source.duel.calibrate --workers 2 --rows rows.jsonl --json calibration.json

A limit holds if the Wilson 95 % interval lies within it. Only matches that differ count. They are played by the game compiled
for this computer, and the first of each row on the ROM as well. With --rows every row is kept as it
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
from pathlib import Path
from typing import Any

from games.source.duel import FOLDER, LEVELS
from games.source.duel.counting import KINDS, SECONDS, Limit, Row, different, row_of, wilson
from games.source.duel.matches import Result, Setting, computers, goes_alike, mirrored, play_one, player_named, settings
from games.source.duel.search.exploits import BUDGET, LATENESS, search_exploits
from games.source.duel.search.finals import ON_ROM, table_of_finals
from games.source.duel.search.genomes import TURTLE
from minibrains import GameError
from nodes.fighting.fighters import LATE
from nodes.fighting.strategist import PATIENT
from nodes.fighting.styles import STRONG

FULL = 1000
"""--n of the whole calibration; a smaller one makes everything smaller in proportion."""
LEAST = 12
"""Matches in a row of the quickest run."""
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
    NODES / "styles.py",
    NODES / "strategist.py",
    NODES / "choices.py",
    HERE / "calibrate.py",
    *sorted(HERE.glob("*.[ch]")),
    *sorted(HERE.glob("native/*.[cph]*")),
)
"""The files that decide how a match goes, and how it is counted."""

# ---- limits ----


OF_THE_TEACHER = Limit(least=0.85)
"""What the scripted teacher has to win at TAUGHT_AT: then an agent can be judged there."""
TAUGHT_AT = 4
MOST_BY_ONE_MOVE = 0.4
"""The part of the teacher's damage that one move may deal."""
BELOW_TEACHER = 0.15
"""By so much the best two thresholds or table stay below the teacher's lower bound at TAUGHT_AT."""
MOST_DRAWN = 0.1
"""The part of a row's matches that may be drawn, but for those of turtles."""
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
        first = list(itertools.islice(matches, n))
        done = list(self.map(play_one, first))
        while (missing := n - len(different(done))) and len(done) < 2 * n:
            done += self.map(play_one, itertools.islice(matches, missing))
        again = zip(first[:ON_ROM], done, strict=False)
        alike = list(self.map(goes_alike_again, again))
        return self.keep(key, {**row_of(what, done, n), "on_rom": [sum(alike), len(alike)]})


def goes_alike_again(played: tuple[Setting, Result]) -> bool:
    """Play a match that was played here on the ROM; return whether it comes to the same."""
    setting, here = played
    return goes_alike(setting, player_named(setting.policy), here)


# ---- suites ----

Judged = tuple[Row, Limit | None]


def noop(run: Run, n: int) -> Iterator[Judged]:
    for level in (1, 4, 8):
        yield run.tally(f"noop at {level}", settings("noop", level), scaled(n, 300)), Limit(most=0)


def random44(run: Run, n: int) -> Iterator[Judged]:
    for level, most in ((1, 0.35), (4, 0.05), (8, 0.01)):
        yield run.tally(f"random44 at {level}", settings("random44", level), scaled(n, 1000)), Limit(most=most)


MOST_OF_A_RUSHER = ((2, 0.6), (5, 0.15))


def rusher(run: Run, n: int) -> Iterator[Judged]:
    for policy, (level, most) in itertools.product(("rusher", "heavy_rusher"), MOST_OF_A_RUSHER):
        yield run.tally(f"{policy} at {level}", settings(policy, level), scaled(n, 1000)), Limit(most=most)


LADDER = {1: (0.55, 1000), 2: (0.6, 300)}
"""For each step, how often the higher level has to win at least, and of how many matches."""


def ladder(run: Run, n: int) -> Iterator[Judged]:
    for step, (least, matches) in LADDER.items():
        for level in range(1, LEVELS + 1 - step):
            higher = level + step
            coming = computers(higher, level)
            yield run.tally(f"level {higher} against level {level}", coming, scaled(n, matches)), Limit(least=least)


def mirror(run: Run, n: int) -> Iterator[Judged]:
    # of 1200 matches two equal sides miss the limit by chance one time in seven, of so many one in three hundred
    yield run.tally("left side, equal levels and fighters", mirrored(), scaled(n, 2400)), Limit(0.45, 0.55)


def styles(run: Run, n: int) -> Iterator[Judged]:
    for name in STRONG:
        yield run.tally(f"{name} at 6", settings(name, 6), scaled(n, 300)), None


INTERVALS = (30, 12, 6)
"""Frames from one decision to the next."""
FIRST = f"patient@{INTERVALS[0]}:0 at {TAUGHT_AT}"
"""The row that has a limit."""
ABLATED_AT = (4, 8)


def teacher(run: Run, n: int) -> Iterator[Judged]:
    """What can be won through the action table with so many decisions: by how late it sees, and by its rules."""
    policies = [f"patient@{interval}:{late}" for interval in INTERVALS for late in (0, LATE)]
    rows = list(itertools.product(policies, range(1, LEVELS + 1)))
    # the last of its rules always has something to say, so it stays
    without = [f"patient-{rule.name}@{INTERVALS[0]}" for rule in PATIENT[:-1]]
    rows += itertools.product(without, ABLATED_AT)
    for policy, level in rows:
        what = f"{policy} at {level}"
        yield run.tally(what, settings(policy, level), scaled(n, 300)), OF_THE_TEACHER if what == FIRST else None


def exploits(run: Run, n: int) -> Iterator[Judged]:
    """The best simple players that a search finds, natively, at every level."""
    yield from search_exploits(run, run.levels, scaled(n, BUDGET), scaled(n, FULL))


EVERY = (noop, random44, rusher, ladder, mirror, styles, teacher, exploits)
SUITES = {suite.__name__: suite for suite in EVERY}
THE_TABLE = [name for name in SUITES if name != "exploits"]
PLAYED_AS_MEANT = ("ladder", "mirror", "styles")
"""Suites whose matches, taken together, have to be alive as well: both sides play."""


def scaled(n: int, of: int) -> int:
    """Return so many matches, or fewer in proportion if the longest measurement has only n."""
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
        if limited:
            result[suite] = met_or([row["what"] for row in limited if not row["met"]])
        if suite in PLAYED_AS_MEANT:
            result[f"{suite}, alive"] = met_or(lifeless(of_suite))
        compared = [row for row in of_suite if "on_rom" in row]
        result[f"{suite}, alike on the ROM"] = met_or([row["what"] for row in compared if len(set(row["on_rom"])) > 1])
        result[f"{suite}, few draws"] = met_or([row["what"] for row in compared if is_drawn_too_often(row)])
    by_name = {row["what"]: row for row in rows}
    if FIRST in by_name:
        result["teacher, no move too much"] = met_or(moves_too_strong(by_name[FIRST]))
    rivals = [row for row in rows if is_rival(row)]
    if FIRST in by_name and rivals:
        result["teacher, above simple players"] = met_or(too_near(by_name[FIRST], rivals))
    return result


def met_or(missed: Sequence[str]) -> str:
    """Return "met", or what is not."""
    return f"not met by {', '.join(missed)}" if missed else "met"


def moves_too_strong(row: Row) -> list[str]:
    """The moves that deal too much of the damage."""
    total = sum(row["damage"].values())
    return [f"{move} ({dealt / total:.0%})" for move, dealt in row["damage"].items() if dealt > MOST_BY_ONE_MOVE * total]


def is_drawn_too_often(row: Row) -> bool:
    """Whether a row that is not a turtle's has too many draws."""
    return TURTLE not in row["what"] and row["drawn"] > MOST_DRAWN * row["n"]


def is_rival(row: Row) -> bool:
    """Whether a row is of the best of the simple players that the teacher has to be far above."""
    player_class, *rest = row["what"].split(", ")
    return player_class in ("two thresholds", "table") and rest in ([f"{late} late", f"at {TAUGHT_AT}"] for late in LATENESS[1:])


def too_near(taught: Row, rivals: Iterable[Row]) -> list[str]:
    """The simple players that come too near to the teacher at its level."""
    most = taught["low"] - BELOW_TEACHER
    return [f"{row['what']} ({row['high']:.1%})" for row in rivals if row["high"] > most]


# ---- the report ----


def cells(row: Row) -> str:
    verdict = {True: "yes", False: "**no**", None: ""}[row["met"]]
    mine, theirs = row["kinds"]
    same, compared = row["on_rom"]
    return (
        f"| {row['what']} | {row['n']} | {row['won']} | {row['share']:.3f} | {row['low']:.3f}–{row['high']:.3f} | {row['limit']} "
        f"| {verdict} | {row['drawn']} | {row['median_s']} | {row['timed_out'] / row['n']:.1%} "
        f"| {row['rounds_timed_out'] / row['rounds']:.1%} | {mine:g} / {theirs:g} | {same} of {compared} alike |"
    )


def table(rows: list[Row]) -> list[str]:
    """The lines of the table."""
    lines = [
        "| matches | n | won | share | 95 % | limit | met | drawn | median s | timed out | rounds | kinds landed | on the ROM |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    return lines + [cells(row) for row in rows]


def markdown(rows: list[Row]) -> str:
    """Return the tables and the verdicts."""
    found = [row for row in rows if row["suite"] == "exploits"]
    others = [row for row in rows if row["suite"] != "exploits"]
    parts = [[f"- {name}: {verdict}" for name, verdict in verdicts(rows).items()]]
    if found:
        parts.insert(0, table_of_finals(found))
    if others:
        parts.insert(0, table(others) + damage_table([row for row in others if row["suite"] == "teacher"]))
    return "\n\n".join("\n".join(part) for part in parts)


def damage_table(rows: list[Row]) -> list[str]:
    """Of each row, the wins by the clock, and which moves its damage comes from."""
    if not rows:
        return []
    lines = ["", "| matches | won | by the clock | damage a round | by move |", "|---|---|---|---|---|"]
    for row in rows:
        total = sum(row["damage"].values())
        moves = sorted(row["damage"].items(), key=lambda entry: entry[1], reverse=True)
        shares = ", ".join(f"{move} {dealt / total:.0%}" for move, dealt in moves)
        a_round = total / row["rounds"]
        lines.append(f"| {row['what']} | {row['won']} of {row['n']} | {row['by_clock']} | {a_round:.0f} | {shares} |")
    return lines


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
