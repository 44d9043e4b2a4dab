"""Play many matches of Duel and say who wins how often, and whether that is within limits.

    python -m games.source.duel.calibrate --workers 2 --rows rows.jsonl --json calibration.json

A limit holds if the Wilson 95 % interval lies within it. Only matches that differ count. They are
played by the game compiled for this computer, and the first of each row on the ROM as well. With
--rows every row is kept as it comes, and a run that was cut off goes on from there, as long as the
ROM and the players are the same.
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
"""The share that the scripted teacher has to win at TAUGHT_AT, so that an agent can be judged
there."""
TAUGHT_AT = 4
MOST_BY_ONE_MOVE = 0.4
"""The part of the teacher's damage that one move may deal."""
BELOW_TEACHER = 0.15
"""By so much the best two thresholds or table stay below the teacher's lower bound at TAUGHT_AT."""
MOST_DRAWN = 0.1
"""The part of a row's matches that may be drawn, but for those of turtles."""
TIME_OUTS = 0.1


def lifeless(rows: list[Row]) -> list[str]:
    """Return what is wrong with how these matches go, whoever wins them.

    "Most" means more than half, by the lower bound of the share; the same then holds for a median.
    """
    n = total(rows, "n")
    long, _ = wilson(total(rows, "long_enough"), n)
    short, _ = wilson(total(rows, "short_enough"), n)
    _, timed_out = wilson(total(rows, "timed_out"), n)
    varied, _ = wilson(total(rows, "varied"), n)
    wrong: list[str] = []
    if long <= 0.5:
        wrong.append(f"not most last {SECONDS[0]} s")
    if short <= 0.5:
        wrong.append(f"not most are over after {SECONDS[1]} s")
    if timed_out > TIME_OUTS:
        wrong.append(f"time-outs in up to {timed_out:.1%}")
    if varied <= 0.5:
        wrong.append(f"not most have {KINDS} kinds of move from both sides")
    return wrong


def total(rows: Iterable[Row], name: str) -> Any:
    """Return the sum of a number over all rows."""
    return sum(row[name] for row in rows)


# ---- rows ----


def subject() -> str:
    """Return a hash that changes with whatever decides how matches go."""
    whole = hashlib.sha1()
    for path in SUBJECT:
        digest = hashlib.sha1(path.read_bytes()).digest()
        whole.update(digest)
    return whole.hexdigest()


def readable(line: str) -> Row | None:
    """Return the entry on a line of the file of rows, or None for a line that was cut off."""
    try:
        kept: Row = json.loads(line)
    except ValueError:
        return None
    return kept


class Run:
    """The processes that play, and the rows that are there already."""

    def __init__(
        self, workers: int, kept: Path | None, levels: Sequence[int] = range(1, LEVELS + 1)
    ) -> None:
        """Start the processes, and read the rows.

        Args:
            workers: The number of processes; with 1 this process plays.
            kept: The file in which rows are kept, if any. Those of another ROM or other players are
                ignored.
            levels: The levels at which exploits are searched.
        """
        self.pool = ProcessPoolExecutor(workers) if workers > 1 else None
        self.levels = levels
        self.kept, self.subject, self.latest = kept, subject(), time.time()
        self.rows: dict[str, Row] = {}
        if kept and kept.exists():
            self._read_rows(kept)

    def _read_rows(self, kept: Path) -> None:
        text = kept.read_text()
        if text and not text.endswith("\n"):  # a run was killed while it wrote
            with kept.open("a") as file:
                file.write("\n")
        for line in text.splitlines():
            entry = readable(line)
            if entry and entry["subject"] == self.subject:
                self.rows[entry["key"]] = entry["row"]

    def close(self) -> None:
        """Stop the processes."""
        if self.pool:
            self.pool.shutdown()

    def map(self, play: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of `play` in the order of the items, like `map`."""
        if self.pool:
            return self.pool.map(play, items)
        return map(play, items)

    def keep(self, key: str, row: Row) -> Row:
        """Remember a row, with the seconds since the one before, which add up over all sittings.

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
        """Return the row of n matches that differ; to get them, at most twice as many are played.

        Args:
            what: The name of the row. With `n` it is the key by which the row is kept.
            matches: The matches in their order, at least twice as many.
            n: How many are wanted.
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
    """Play a match on the ROM that was played here, and return whether it comes to the same."""
    setting, here = played
    return goes_alike(setting, player_named(setting.policy), here)


# ---- suites ----

Judged = tuple[Row, Limit | None]


def noop(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of a player that presses nothing: it must not win."""
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
"""For each difference of levels: the share that the higher one has to win at least, and the number
of matches."""


def ladder(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of each level against the one below it, and against the next below that."""
    for step, (least, matches) in LADDER.items():
        for level in range(1, LEVELS + 1 - step):
            higher = level + step
            coming = computers(higher, level)
            yield (
                run.tally(f"level {higher} against level {level}", coming, scaled(n, matches)),
                Limit(least=least),
            )


def mirror(run: Run, n: int) -> Iterator[Judged]:
    """Yield the row of equal opponents, of which neither side may be better."""
    # of 1200 matches two equal sides miss the limit by chance one time in seven, of so many one in
    # three hundred
    yield (
        run.tally("left side, equal levels and fighters", mirrored(), scaled(n, 2400)),
        Limit(0.45, 0.55),
    )


def styles(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of the strong scripted styles, which have no limit."""
    for name in STRONG:
        yield run.tally(f"{name} at 6", settings(name, 6), scaled(n, 300)), None


INTERVALS = (30, 12, 6)
"""Frames from one decision to the next."""
FIRST = f"patient@{INTERVALS[0]}:0 at {TAUGHT_AT}"
"""The row that has a limit."""
ABLATED_AT = (4, 8)


def teacher(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of the scripted teacher: by its interval, by how late it sees,
    and without one of its rules.
    """
    rows: list[tuple[str, int]] = []
    for interval, late, level in itertools.product(INTERVALS, (0, LATE), range(1, LEVELS + 1)):
        rows.append((f"patient@{interval}:{late}", level))
    # the last of its rules always has something to say, so it stays
    for rule, level in itertools.product(PATIENT[:-1], ABLATED_AT):
        rows.append((f"patient-{rule.name}@{INTERVALS[0]}", level))
    for policy, level in rows:
        what = f"{policy} at {level}"
        limit = OF_THE_TEACHER if what == FIRST else None
        yield run.tally(what, settings(policy, level), scaled(n, 300)), limit


def exploits(run: Run, n: int) -> Iterator[Judged]:
    """Yield the rows of the best simple players that a search finds, natively, at every level."""
    yield from search_exploits(run, run.levels, scaled(n, BUDGET), scaled(n, FULL))


EVERY = (noop, random44, rusher, ladder, mirror, styles, teacher, exploits)
SUITES = {suite.__name__: suite for suite in EVERY}
THE_TABLE = [name for name in SUITES if name != "exploits"]
PLAYED_AS_MEANT = ("ladder", "mirror", "styles")
"""Suites whose matches, taken together, have to be lively as well, since both sides play to win."""


def scaled(n: int, of: int) -> int:
    """Return `of` matches, or fewer in proportion if the longest measurement has only n;
    at least LEAST.
    """
    return max(LEAST, of * n // FULL)


def judged(run: Run, n: int, wanted: Iterable[str]) -> Iterator[Row]:
    """Yield all rows of these suites, with their limits and whether they are met."""
    for name in wanted:
        for row, limit in SUITES[name](run, n):
            yield {**row, "suite": name, **outcome_of(row, limit)}


def verdicts(rows: list[Row]) -> dict[str, str]:
    """Return for each demand of each suite either "met", or what does not meet it."""
    result: dict[str, str] = {}
    for suite, group in itertools.groupby(rows, key=lambda row: row["suite"]):
        of_suite = list(group)
        limited = [row for row in of_suite if row["limit"]]
        if limited:
            result[suite] = met_or(names_of(limited, is_missed))
        if suite in PLAYED_AS_MEANT:
            result[f"{suite}, alive"] = met_or(lifeless(of_suite))
        compared = [row for row in of_suite if "on_rom" in row]
        result[f"{suite}, alike on the ROM"] = met_or(names_of(compared, differs_on_rom))
        result[f"{suite}, few draws"] = met_or(names_of(compared, is_drawn_too_often))

    # the teacher, which is compared with the simple players
    taught: Row | None = None
    rivals: list[Row] = []
    for row in rows:
        if row["what"] == FIRST:
            taught = row
        elif is_rival(row):
            rivals.append(row)
    if taught:
        result["teacher, no move too much"] = met_or(moves_too_strong(taught))
    if taught and rivals:
        result["teacher, above simple players"] = met_or(too_near(taught, rivals))
    return result


def names_of(rows: Iterable[Row], is_wrong: Callable[[Row], bool]) -> list[str]:
    """Return the names of the rows with which something is wrong."""
    return [row["what"] for row in rows if is_wrong(row)]


def met_or(missed: Sequence[str]) -> str:
    """Return "met", or a sentence with what misses it."""
    if missed:
        return f"not met by {', '.join(missed)}"
    return "met"


def moves_too_strong(row: Row) -> list[str]:
    """Return the moves that deal too much of the damage, with their shares."""
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
    """Return True if some matches of a row went otherwise on the ROM."""
    alike, compared = row["on_rom"]
    return bool(alike != compared)


def is_drawn_too_often(row: Row) -> bool:
    """Return True if a row has too many draws and is not a turtle's."""
    return TURTLE not in row["what"] and row["drawn"] > MOST_DRAWN * row["n"]


def is_rival(row: Row) -> bool:
    """Return True if a row is of the best of the simple players that the
    teacher has to be far above.
    """
    player_class, *rest = row["what"].split(", ")
    if player_class not in ("two thresholds", "table"):
        return False
    return any(rest == [f"{late} late", f"at {TAUGHT_AT}"] for late in LATENESS[1:])


def too_near(taught: Row, rivals: Iterable[Row]) -> list[str]:
    """Return the simple players that come too near to the teacher at its level,
    with their upper bounds.
    """
    most = taught["low"] - BELOW_TEACHER
    near: list[str] = []
    for row in rivals:
        if row["high"] > most:
            near.append(f"{row['what']} ({row['high']:.1%})")
    return near


# ---- the report ----


def cells(row: Row) -> str:
    """Return the line of a row in the table."""
    verdict = {True: "yes", False: "**no**", None: ""}[row["met"]]
    mine, theirs = row["kinds"]
    same, compared = row["on_rom"]
    return (
        f"| {row['what']} | {row['n']} | {row['won']} | {row['share']:.3f} | "
        f"{row['low']:.3f}–{row['high']:.3f} | {row['limit']} "
        f"| {verdict} | {row['drawn']} | {row['median_s']} | {row['timed_out'] / row['n']:.1%} "
        f"| {row['rounds_timed_out'] / row['rounds']:.1%} | {mine:g} / {theirs:g} | "
        f"{same} of {compared} alike |"
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
        lines = table_of_finals(by_suite["exploits"])
        parts.append("\n".join(lines))
    lines = [f"- {name}: {verdict}" for name, verdict in verdicts(rows).items()]
    parts.append("\n".join(lines))
    return "\n\n".join(parts)


def damage_table(rows: list[Row]) -> list[str]:
    """Return the lines of a table with each row's wins by the clock,
    and the moves that its damage comes from.
    """
    if not rows:
        return []
    lines = [
        "",
        "| matches | won | by the clock | damage a round | by move |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        damage = sum(row["damage"].values())
        moves = sorted(row["damage"].items(), key=lambda entry: entry[1], reverse=True)
        shares = ", ".join(f"{move} {dealt / damage:.0%}" for move, dealt in moves)
        a_round = damage / row["rounds"]
        lines.append(
            f"| {row['what']} | {row['won']} of {row['n']} | {row['by_clock']} | "
            f"{a_round:.0f} | {shares} |"
        )
    return lines


def write(path: Path, text: str) -> None:
    """Write a file as a whole: a reader sees the old text or the new one."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, path)


def suites(text: str) -> list[str]:
    """Return the suites named in an argument, such as "noop,ladder".

    Raises ArgumentTypeError if there is none of a name.
    """
    names = text.split(",")
    for name in names:
        if name not in SUITES:
            raise argparse.ArgumentTypeError(
                f"there is no suite {name!r}; expected some of {','.join(SUITES)}"
            )
    return names


def level_numbers(text: str) -> list[int]:
    """Return the levels named in an argument, such as "4,6".

    Raises ArgumentTypeError if one does not exist.
    """
    try:
        levels = list(map(int, text.split(",")))
    except ValueError:
        levels = []
    if not levels or not set(levels) <= set(range(1, LEVELS + 1)):
        raise argparse.ArgumentTypeError(
            f"{text!r} are no levels; expected some of 1 to {LEVELS}, such as 4,6"
        )
    return levels


def main() -> None:
    """Play the suites that were asked for, write the report, and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=FULL, help="matches of the longest measurements")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--only",
        type=suites,
        default=THE_TABLE,
        metavar="SUITES",
        help="some of " + ",".join(SUITES),
    )
    parser.add_argument(
        "--rows", type=Path, help="keep rows there as they come, and use those that are there"
    )
    parser.add_argument("--json", type=Path, help="write the whole report there")
    every_level = list(range(1, LEVELS + 1))
    parser.add_argument(
        "--levels",
        type=level_numbers,
        default=every_level,
        help="where exploits are searched, such as 4,6",
    )
    options = parser.parse_args()
    run = Run(options.workers, options.rows, options.levels)
    try:
        rows = list(judged(run, options.n, options.only))
    except GameError as error:
        parser.exit(2, f"{error}\n")
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


if __name__ == "__main__":
    main()
