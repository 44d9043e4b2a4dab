"""Play many matches of Duel, and report how often each player wins and
whether that is within limits.

    python -m games.source.duel.calibrate --workers 2 --rows rows.jsonl --json calibration.json

A limit is met if the whole Wilson 95 % interval lies within it. Repeated matches count once. They
are played natively, and the first of each row on the ROM as well. With --rows each row is saved as
it is finished, and a run that was interrupted continues from there, as long as the ROM and the
players are the same.
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
from pathlib import Path
from typing import Any

from games.source.duel import FOLDER, LEVELS
from games.source.duel.command_line import (
    STOPPED,
    end_processes,
    level_numbers,
    positive,
    start_processes,
    writable,
)
from games.source.duel.counting import (
    KINDS,
    SECONDS,
    Limit,
    Row,
    different,
    outcome_of,
    row_of,
    wilson,
)
from games.source.duel.matches import (
    Result,
    Setting,
    computers,
    goes_alike,
    mirrored,
    play_one,
    player_named,
    settings,
)
from games.source.duel.search.exploits import search_exploits
from games.source.duel.search.finals import ON_ROM, table_of_finals
from games.source.duel.search.genomes import TURTLE
from games.source.duel.search.summary import table_of_classes
from games.source.duel.source_hash import hash_sources
from minibrains import GameError
from nodes.fighting.fighters import LATE
from nodes.fighting.strategist import PATIENT
from nodes.fighting.styles import STRONG

FULL = 1000
"""The value of --n for the full calibration; a smaller one scales all numbers of matches down."""
LEAST = 12
"""The smallest number of matches in a row."""
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
"""The files that decide how matches go, and how they are counted."""

# ---- limits ----


OF_THE_TEACHER = Limit(least=0.85)
"""The share of matches that the scripted teacher must win at TAUGHT_AT, the level for judging
agents."""
TAUGHT_AT = 4
MOST_BY_ONE_MOVE = 0.4
"""The greatest share of the teacher's damage that one move may deal."""
MOST_DRAWN = 0.1
"""The greatest share of draws in a row. Rows of turtles have no such limit."""
TIME_OUTS = 0.1


def lifeless(rows: list[Row]) -> list[str]:
    """Return the reasons why these matches are not lively, regardless of who wins them.

    "Most" means more than half, by the lower bound of the share; the same then holds for the
    median.
    """
    n = total(rows, "n")
    long, _ = wilson(total(rows, "long_enough"), n)
    short, _ = wilson(total(rows, "short_enough"), n)
    _, timed_out = wilson(total(rows, "timed_out"), n)
    varied, _ = wilson(total(rows, "varied"), n)
    wrong: list[str] = []
    if long <= 0.5:
        wrong.append(f"too few last {SECONDS[0]} s")
    if short <= 0.5:
        wrong.append(f"too few are over after {SECONDS[1]} s")
    if timed_out > TIME_OUTS:
        wrong.append(f"time-outs in up to {timed_out:.1%}")
    if varied <= 0.5:
        wrong.append(f"too few have {KINDS} kinds of move from both sides")
    return wrong


def total(rows: Iterable[Row], name: str) -> Any:
    """Return the sum of a number over all rows."""
    return sum(row[name] for row in rows)


# ---- rows ----


def subject() -> str:
    """Return a hash that changes with everything that decides how matches go."""
    return hash_sources(SUBJECT)


def readable(line: str) -> Row | None:
    """Return the entry on a line of the file of rows,
    or None if the line is truncated or no entry.
    """
    try:
        kept: Row = json.loads(line)
    except ValueError:
        return None
    is_entry = isinstance(kept, dict) and kept.keys() >= {"subject", "key", "row"}
    return kept if is_entry else None


class Run:
    """The worker processes, and the rows that are finished already."""

    def __init__(
        self, workers: int, kept: Path | None, levels: Sequence[int] = range(1, LEVELS + 1)
    ) -> None:
        """Start the processes, and read the finished rows.

        Args:
            workers: The number of processes; with 1, this process plays.
            kept: The file of finished rows, if any. Rows of another ROM or of other players are
                ignored.
            levels: The levels at which exploits are searched.
        """
        self.pool = start_processes(workers) if workers > 1 else None
        self.levels = levels
        self.kept, self.subject, self.latest = kept, subject(), time.time()
        self.rows: dict[str, Row] = {}
        if kept and kept.exists():
            self._read_rows(kept)

    def _read_rows(self, kept: Path) -> None:
        text = kept.read_text()
        if text and not text.endswith("\n"):  # a run was killed while writing
            with kept.open("a") as file:
                file.write("\n")
        for line in text.splitlines():
            entry = readable(line)
            if entry and entry["subject"] == self.subject:
                self.rows[entry["key"]] = entry["row"]

    def close(self) -> None:
        """Shut down the processes."""
        if self.pool:
            self.pool.shutdown()

    def map(self, play: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of `play` in the order of the items, like the built-in `map`."""
        if self.pool:
            return self.pool.map(play, items)
        return map(play, items)

    def keep(self, key: str, row: Row) -> Row:
        """Save a row, with the seconds since the one before, which add up over several runs.

        Return it.
        """
        now = time.time()
        row["seconds"] = round(now - self.latest, 2)
        self.latest = now
        self.rows[key] = row
        if self.kept:
            with self.kept.open("a") as file:
                file.write(json.dumps({"subject": self.subject, "key": key, "row": row}) + "\n")
        words = (
            "{what}: {won}/{n} = {share:.3f} [{low:.3f}, {high:.3f}], {median_s} s, "
            "{timed_out} timed out"
        ).format(**row)
        print(f"{row['seconds']:6.0f} s  {words}", file=sys.stderr, flush=True)
        return row

    def tally(self, what: str, matches: Iterator[Setting], n: int) -> Row:
        """Play until n matches differ, or 2 n have been played,
        and return the row of those that differ.

        Args:
            what: The name of the row. Together with `n`, it is the key of the row.
            matches: The matches in order, without end.
            n: The number of different matches.
        """
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
    """Repeat a native match on the ROM, and return True if the results are equal."""
    setting, here = played
    return goes_alike(setting, player_named(setting.policy), here)


# ---- suites ----

Judged = tuple[Row, Limit | None]


def noop(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of a player that presses nothing, which must not win."""
    for level in (1, 4, 8):
        yield run.tally(f"noop at {level}", settings("noop", level), scaled(n, 300)), Limit(most=0)


def random44(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of random actions."""
    for level, most in ((1, 0.35), (4, 0.05), (8, 0.01)):
        yield (
            run.tally(f"random44 at {level}", settings("random44", level), scaled(n, 1000)),
            Limit(most=most),
        )


MOST_OF_A_RUSHER = ((2, 0.6), (5, 0.15))


def rusher(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of the two rushers."""
    for policy, (level, most) in itertools.product(("rusher", "heavy_rusher"), MOST_OF_A_RUSHER):
        yield (
            run.tally(f"{policy} at {level}", settings(policy, level), scaled(n, 1000)),
            Limit(most=most),
        )


LADDER = {1: (0.55, 1000), 2: (0.6, 300)}
"""For each difference of levels: the least share that the higher one must win, and the number of
matches."""


def ladder(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of each level against the first and the second level below it."""
    for step, (least, matches) in LADDER.items():
        for level in range(1, LEVELS + 1 - step):
            higher = level + step
            coming = computers(higher, level)
            yield (
                run.tally(f"level {higher} against level {level}", coming, scaled(n, matches)),
                Limit(least=least),
            )


def mirror(run: Run, n: int) -> Iterator[Judged]:
    """Yield the row of equal opponents, in which neither side may have an advantage."""
    # equal sides miss the limit by chance once in 7 runs of 1200 matches, but once in 300 runs of
    # 2400
    yield (
        run.tally("left side, equal levels and fighters", mirrored(), scaled(n, 2400)),
        Limit(0.45, 0.55),
    )


def styles(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of the strong scripted styles, which have no limit."""
    for name in STRONG:
        yield run.tally(f"{name} at 6", settings(name, 6), scaled(n, 300)), None


INTERVALS = (30, 12, 6)
"""Frames between two decisions."""
FIRST = f"patient@{INTERVALS[0]}:0 at {TAUGHT_AT}"
"""The name of the row that has a limit."""
ABLATED_AT = (4, 8)


def teacher(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of the scripted teacher: by interval and delay,
    and with each rule left out.
    """
    rows: list[tuple[str, int]] = []
    for interval, late, level in itertools.product(INTERVALS, (0, LATE), range(1, LEVELS + 1)):
        rows.append((f"patient@{interval}:{late}", level))
    # the last rule always applies, and is needed
    for rule, level in itertools.product(PATIENT[:-1], ABLATED_AT):
        rows.append((f"patient-{rule.name}@{INTERVALS[0]}", level))
    for policy, level in rows:
        what = f"{policy} at {level}"
        limit = OF_THE_TEACHER if what == FIRST else None
        yield run.tally(what, settings(policy, level), scaled(n, 300)), limit


def exploits(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of the best simple players that a native search finds,
    at the levels of the run.
    """
    yield from search_exploits(run, run.levels, n / FULL, scaled(n, FULL))


EVERY = (noop, random44, rusher, ladder, mirror, styles, teacher, exploits)
SUITES = {suite.__name__: suite for suite in EVERY}
THE_TABLE = [name for name in SUITES if name != "exploits"]
PLAYED_AS_MEANT = ("ladder", "mirror", "styles")
"""Suites whose matches, taken together, must also be lively, since both sides play to win."""


def scaled(n: int, of: int) -> int:
    """Return a number of matches, `of`, scaled down by n / FULL, but at least LEAST."""
    return max(LEAST, of * n // FULL)


def judged(run: Run, n: int, wanted: Iterable[str]) -> Iterator[Row]:
    """Yield all rows of these suites, with their limits and whether they are met."""
    for name in wanted:
        for row, limit in SUITES[name](run, n):
            yield {**row, "suite": name, **outcome_of(row, limit)}


def verdicts(rows: list[Row]) -> dict[str, str]:
    """Return for each requirement of each suite either "met", or what does not meet it."""
    result: dict[str, str] = {}
    for suite, group in itertools.groupby(rows, key=lambda row: row["suite"]):
        of_suite = list(group)
        limited = [row for row in of_suite if row["limit"]]
        if limited:
            result[suite] = met_or(names_of(limited, is_missed))
        if suite in PLAYED_AS_MEANT:
            result[f"{suite}, lively"] = met_or(lifeless(of_suite))
        compared = [row for row in of_suite if "on_rom" in row]
        result[f"{suite}, equal on the ROM"] = met_or(names_of(compared, differs_on_rom))
        result[f"{suite}, few draws"] = met_or(names_of(compared, is_drawn_too_often))

    for row in rows:
        if row["what"] == FIRST:
            result["teacher, no dominant move"] = met_or(moves_too_strong(row))
    return result


def names_of(rows: Iterable[Row], is_wrong: Callable[[Row], bool]) -> list[str]:
    """Return the names of the rows for which a predicate holds."""
    return [row["what"] for row in rows if is_wrong(row)]


def met_or(missed: Sequence[str]) -> str:
    """Return "met", or a phrase that lists what does not meet it."""
    if missed:
        return f"not met by {', '.join(missed)}"
    return "met"


def moves_too_strong(row: Row) -> list[str]:
    """Return the moves that deal more than MOST_BY_ONE_MOVE of the damage, with their shares."""
    damage = sum(row["damage"].values())
    strong: list[str] = []
    for move, dealt in row["damage"].items():
        if dealt > MOST_BY_ONE_MOVE * damage:
            strong.append(f"{move} ({dealt / damage:.0%})")
    return strong


def is_missed(row: Row) -> bool:
    """Return True if a row misses its limit."""
    return not row["met"]


def differs_on_rom(row: Row) -> bool:
    """Return True if some matches of a row had other results on the ROM."""
    alike, compared = row["on_rom"]
    return bool(alike != compared)


def is_drawn_too_often(row: Row) -> bool:
    """Return True if a row that is not of a turtle has too many draws."""
    return TURTLE not in row["what"] and row["drawn"] > MOST_DRAWN * row["n"]


# ---- the report ----


def cells(row: Row) -> str:
    """Return a row as a line of the table."""
    verdict = {True: "yes", False: "**no**", None: ""}[row["met"]]
    mine, theirs = row["kinds"]
    same, compared = row["on_rom"]
    return (
        f"| {row['what']} | {row['n']} | {row['won']} | {row['share']:.3f} | "
        f"{row['low']:.3f}–{row['high']:.3f} | {row['limit']} "
        f"| {verdict} | {row['drawn']} | {row['median_s']} | {row['timed_out'] / row['n']:.1%} "
        f"| {row['rounds_timed_out'] / row['rounds']:.1%} | {mine:g} / {theirs:g} | "
        f"{same} of {compared} equal |"
    )


def table(rows: list[Row]) -> list[str]:
    """Return the lines of the table, in Markdown."""
    lines = [
        (
            "| matches | n | won | share | 95 % | limit | met | drawn | "
            "median s | timed out | rounds "
            "| kinds landed | on the ROM |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += map(cells, rows)
    return lines


def markdown(rows: list[Row]) -> str:
    """Return the tables and the verdicts, in Markdown."""
    by_suite: dict[str, list[Row]] = {}
    others: list[Row] = []
    for row in rows:
        by_suite.setdefault(row["suite"], []).append(row)
        if row["suite"] != "exploits":
            others.append(row)

    parts: list[str] = []
    if others:
        lines = table(others) + damage_table(by_suite.get("teacher", []))
        parts.append("\n".join(lines))
    if "exploits" in by_suite:
        found = by_suite["exploits"]
        parts.append("\n".join(table_of_classes(found)))
        parts.append("\n".join(table_of_finals(found)))
    lines = [f"- {name}: {verdict}" for name, verdict in verdicts(rows).items()]
    parts.append("\n".join(lines))
    return "\n\n".join(parts)


def damage_table(rows: list[Row]) -> list[str]:
    """Return the lines of a table with each row's wins and its damage by move."""
    if not rows:
        return []
    lines = ["", "| matches | won | damage a round | by move |", "|---|---|---|---|"]
    for row in rows:
        damage = sum(row["damage"].values())
        moves = sorted(row["damage"].items(), key=lambda entry: entry[1], reverse=True)
        shares = ", ".join(f"{move} {dealt / damage:.0%}" for move, dealt in moves)
        a_round = damage / row["rounds"]
        lines.append(f"| {row['what']} | {row['won']} of {row['n']} | {a_round:.0f} | {shares} |")
    return lines


def write(path: Path, text: str) -> None:
    """Write a file atomically: a reader sees either the old text or the new one."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, path)


def suites(text: str) -> list[str]:
    """Return the names of suites in an argument, such as "noop,ladder".

    Raises:
        ArgumentTypeError: There is no suite of that name.
    """
    names = text.split(",")
    for name in names:
        if name not in SUITES:
            raise argparse.ArgumentTypeError(
                f"there is no suite {name!r}; expected some of {','.join(SUITES)}"
            )
    return names


def main() -> int:
    """Play the selected suites, write the report, and print it. Return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--n", type=positive, default=FULL, help="number of matches of the longest measurements"
    )
    parser.add_argument("--workers", type=positive, default=1)
    parser.add_argument(
        "--only",
        type=suites,
        default=THE_TABLE,
        metavar="SUITES",
        help="suites, from " + ",".join(SUITES),
    )
    parser.add_argument(
        "--rows",
        type=writable,
        help="file of finished rows, which are read at the start and appended",
    )
    parser.add_argument("--json", type=writable, help="file for the full report")
    every_level = list(range(1, LEVELS + 1))
    parser.add_argument(
        "--levels",
        type=level_numbers,
        default=every_level,
        help="levels of the exploit search, such as 4,6",
    )
    options = parser.parse_args()
    run = Run(options.workers, options.rows, options.levels)
    try:
        rows = list(judged(run, options.n, options.only))
    except GameError as error:
        parser.exit(2, f"{error}\n")
    except KeyboardInterrupt:
        end_processes()
        print("stopped; with --rows, the same command continues from here", file=sys.stderr)
        return STOPPED
    finally:
        run.close()
    rom = hashlib.sha1((FOLDER / "rom.md").read_bytes()).hexdigest()
    seconds = round(total(rows, "seconds"))
    processor = round(total(rows, "processor_s"))
    if options.json:
        report = {
            "rom_sha1": rom,
            "seconds": seconds,
            "processor_s": processor,
            "verdicts": verdicts(rows),
            "rows": rows,
        }
        write(options.json, json.dumps(report, indent=1) + "\n")
    print(f"ROM {rom}, {seconds} s, {processor} s of processor time\n\n{markdown(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
