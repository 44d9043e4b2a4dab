"""Play many matches of Duel and say who wins how often, and whether that is within limits.

    python calibrate.py --workers 2 --rows rows.jsonl --json calibration.json

A limit holds if the Wilson 95 % interval lies within it. Only matches that differ count. With --rows every row is kept as it
comes, and a run that was cut off goes on from there, as long as the ROM and the players are the same.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import fighters  # noqa: E402
from matches import FRAMES_A_SECOND, Result, Setting, play_one, settings  # noqa: E402

FULL = 1000
"""--n of the whole calibration; a smaller one makes all but the screenings smaller in proportion."""
LEAST = 12
"""Matches in a row of the quickest run."""
SCREENED, SCREENED_ON = 20, 300
"""Matches with every macro, and with one whose upper bound stays over one half."""
LEVEL_OF_MACROS, LEVELS_OF_THE_BEST = 4, (6, 8)
BEST_MACROS = 12
"""So many of the best macros are played at the higher levels too."""
STYLES_NEEDED = 3
SUBJECT = ("rom.md", "data.json", "data_sf2.json", "actions.json", "fighters.py", "../../nodes/fighters.py")
"""The files that decide how a match goes."""

Row = dict[str, Any]


def wilson(won: int, played: int, z: float = 1.959964) -> tuple[float, float]:
    """The interval in which the true share lies with 95 % confidence."""
    if not played:
        return 0.0, 1.0
    share = won / played
    middle = (share + z * z / (2 * played)) / (1 + z * z / played)
    half = z * math.sqrt(share * (1 - share) / played + z * z / (4 * played * played)) / (1 + z * z / played)
    return max(0.0, middle - half), min(1.0, middle + half)


# ---- limits ----


@dataclass(frozen=True)
class Limit:
    """What the whole interval of a share has to lie within. `most` 0: nothing may be won at all."""

    least: float = 0.0
    most: float = 1.0

    def met(self, row: Row) -> bool:
        if self.most == 0:
            return bool(row["won"] == 0)
        return bool(row["low"] >= self.least and row["high"] <= self.most)

    def __str__(self) -> str:
        if self.least and self.most < 1:
            return f"{self.least:.0%} to {self.most:.0%}"
        return f"at least {self.least:.0%}" if self.least else "none" if self.most == 0 else f"at most {self.most:.0%}"


NEVER_HALF = Limit(most=0.5)
SECONDS = (40, 150)
TIME_OUTS = 0.1
KINDS = 3


def not_alive(row: Row) -> list[str]:
    """What is wrong with how these matches go, whoever wins them."""
    wrong = {
        "length": not SECONDS[0] <= row["median_s"] <= SECONDS[1],
        "time-outs": row["time_outs"] > TIME_OUTS,
        "kinds": min(row["kinds"]) < KINDS,
    }
    return [name for name, holds in wrong.items() if holds]


# ---- rows ----


def row_of(what: str, results: Iterable[Result]) -> Row:
    """A row of the table. Of matches that went alike, only the first counts."""
    every = list(results)
    counted = list({result.trajectory: result for result in every}.values())
    played, won = len(counted), sum(result.won for result in counted)
    low, high = wilson(won, played)
    return {
        "what": what, "n": played, "won": won,
        "share": round(won / played, 4), "low": round(low, 4), "high": round(high, 4),
        "drawn": sum(result.drawn for result in counted), "repeated": len(every) - played,
        "median_s": round(median(result.frames for result in counted) / FRAMES_A_SECOND, 1),
        "time_outs": round(sum(r.time_outs for r in counted) / sum(r.rounds for r in counted), 3),
        "kinds": [median(result.kinds[side] for result in counted) for side in (0, 1)],
        "frames": sum(result.frames for result in every),
    }  # fmt: skip


def screen(policy: str, level: int, least: int = SCREENED, most: int = SCREENED_ON) -> Row:
    """`least` matches, and on to `most` only while the upper bound is over one half."""
    matches, done = settings(policy, level, most), [play_one(s) for s in settings(policy, level, least)]
    rest = itertools.islice(matches, least, None)
    while len(done) < most and wilson(sum(result.won for result in done), len(done))[1] > NEVER_HALF.most:
        done.append(play_one(next(rest)))
    return row_of(f"{policy} at {level}", done)


def subject() -> str:
    """Changes with whatever decides how matches go."""
    return hashlib.sha1(b"".join(hashlib.sha1((HERE / name).read_bytes()).digest() for name in SUBJECT)).hexdigest()


class Run:
    """The processes that play, and the rows that are there already."""

    def __init__(self, workers: int, kept: Path | None) -> None:
        self.pool = ProcessPoolExecutor(workers) if workers > 1 else None
        self.kept, self.subject, self.begin = kept, subject(), time.time()
        self.rows: dict[str, Row] = {}
        if kept and kept.exists():
            lines = [json.loads(line) for line in kept.read_text().splitlines() if line.endswith("}")]
            self.rows = {line["key"]: line["row"] for line in lines if line["subject"] == self.subject}

    def map(self, play: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        return self.pool.map(play, items) if self.pool else map(play, items)

    def keep(self, key: str, row: Row) -> Row:
        self.rows[key] = row
        if self.kept:
            with self.kept.open("a") as file:
                file.write(json.dumps({"subject": self.subject, "key": key, "row": row}) + "\n")
        words = "{what}: {won}/{n} = {share:.3f} [{low:.3f}, {high:.3f}], {median_s} s".format(**row)
        print(f"{time.time() - self.begin:6.0f} s  {words}, {row['time_outs']:.0%} time-outs", file=sys.stderr, flush=True)
        return row

    def tally(self, what: str, matches: Iterable[Setting]) -> Row:
        planned = list(matches)
        key = f"{what}, {len(planned)}"
        return self.rows.get(key) or self.keep(key, row_of(what, self.map(play_one, planned)))

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
        yield run.tally(f"noop at {level}", settings("noop", level, part(n, 300))), Limit(most=0)


def random44(run: Run, n: int) -> Iterator[Judged]:
    for level, most in ((1, 0.35), (4, 0.05), (8, 0.01)):
        yield run.tally(f"random44 at {level}", settings("random44", level, part(n, 1000))), Limit(most=most)


MOST_OF_A_RUSHER = ((2, 0.6), (5, 0.15))


def rusher(run: Run, n: int) -> Iterator[Judged]:
    for level, most in MOST_OF_A_RUSHER:
        yield run.tally(f"rusher at {level}", settings("rusher", level, part(n, 300))), Limit(most=most)


def rushers(run: Run, n: int) -> Iterator[Judged]:
    for kind in fighters.RUSHERS:
        for level, most in MOST_OF_A_RUSHER:
            yield run.tally(f"rusher:{kind} at {level}", settings(f"rusher:{kind}", level, part(n, 200))), Limit(most=most)


def ladder(run: Run, n: int) -> Iterator[Judged]:
    for level in range(1, 7):
        matches = settings("cpu", level, part(n, 300), agent_level=level + 2)
        yield run.tally(f"level {level + 2} against level {level}", matches), Limit(least=0.6)


def mirror(run: Run, n: int) -> Iterator[Judged]:
    # with 1000, one fair game in four would seem unfair: the interval alone is 6 % wide
    matches = settings("cpu", 5, part(n, 2000), agent_level=5, mirrored=True)
    yield run.tally("left side, both level 5", matches), Limit(0.45, 0.55)


def styles(run: Run, n: int) -> Iterator[Judged]:
    for name in fighters.RULES:
        for level in (2, 4, 6, 8):
            matches = settings(name, level, part(n, 200 if level == 6 else 32))
            yield run.tally(f"{name} at {level}", matches), Limit(least=0.7) if level == 6 else None


def rules(run: Run, n: int) -> Iterator[Judged]:
    first = {rule.__name__: f"{name}/{rule.__name__}" for name, rules in fighters.RULES.items() for rule in rules}
    for row in run.screen(first.values(), 6):
        yield row, NEVER_HALF


def ceiling(run: Run, n: int) -> Iterator[Judged]:
    """How much can be won through the action table, with a decision every so many frames."""
    for interval, level in itertools.product((30, 12, 6), (2, 4, 6, 8)):
        policy = f"patient@{interval}"
        yield run.tally(f"{policy} at {level}", settings(policy, level, part(n, 16))), None


def screened(run: Run, policies: list[str]) -> Iterator[Judged]:
    """All of them at the lowest level that they must not beat, and the best of them higher up."""
    rows = run.screen(policies, LEVEL_OF_MACROS)
    ranked = sorted(zip(rows, policies, strict=True), key=lambda pair: -pair[0]["high"])
    best = [policy for _, policy in ranked[:BEST_MACROS]]
    for row in itertools.chain(rows, *(run.screen(best, level) for level in LEVELS_OF_THE_BEST)):
        yield row, NEVER_HALF


def macros(run: Run, n: int) -> Iterator[Judged]:
    yield from screened(run, [f"macro:{action}" for action in range(len(fighters.actions()))])


def pairs(run: Run, n: int) -> Iterator[Judged]:
    """Two actions in turn. Which of them comes first makes no difference to what is repeated for ever."""
    yield from screened(run, [f"macro:{a},{b}" for a, b in itertools.combinations(range(len(fighters.actions())), 2)])


EVERY = (noop, random44, rusher, rushers, ladder, mirror, styles, rules, ceiling, macros, pairs)
SUITES = {suite.__name__: suite for suite in EVERY}
PLAYED_AS_MEANT = ("ladder", "mirror", "styles")
"""Suites whose matches have to be alive as well: both sides play."""


def part(n: int, of: int) -> int:
    return max(LEAST, of * n // FULL)


def judged(run: Run, n: int, wanted: Iterable[str]) -> Iterator[Row]:
    """All rows of these suites, with their limits and whether they are met."""
    for name in wanted:
        for row, limit in SUITES[name](run, n):
            verdict: Row = {"suite": name, "limit": str(limit) if limit else "", "met": limit.met(row) if limit else None}
            if name in PLAYED_AS_MEANT:
                verdict["not_alive"] = not_alive(row)
            yield {**row, **verdict}


def verdicts(rows: list[Row]) -> dict[str, bool]:
    """Suite by suite: is what it asks for so?"""
    result = {}
    for suite, group in itertools.groupby(rows, key=lambda row: row["suite"]):
        limited = [row["met"] for row in group if row["limit"]]
        if limited:
            result[suite] = sum(limited) >= STYLES_NEEDED if suite == "styles" else all(limited)
    played = [row for row in rows if "not_alive" in row]
    if played:
        result["alive"] = not any(row["not_alive"] for row in played)
    return result


# ---- the report ----


def cells(row: Row) -> str:
    verdict = {True: "yes", False: "**no**", None: ""}[row["met"]]
    interval = f"{row['low']:.3f}–{row['high']:.3f}"
    mine, theirs = row["kinds"]
    alive = ", ".join(row.get("not_alive", ()))
    return (
        f"| {row['what']} | {row['n']} | {row['won']} | {row['share']:.3f} | {interval} | {row['limit']} | {verdict} "
        f"| {row['drawn']} | {row['median_s']} | {row['time_outs']:.1%} | {mine:g} / {theirs:g} | {alive} |"
    )


def markdown(rows: list[Row]) -> str:
    """The table. Of what was screened, the best of each suite and level; the rest is counted."""
    lines = [
        "| matches | n | won | share | 95 % | limit | met | drawn | median s | time-outs | kinds landed | not alive |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for suite, group in itertools.groupby(rows, key=lambda row: row["suite"]):
        shown = list(group)
        if suite in ("macros", "pairs"):
            over = [row for row in shown if not row["met"]]
            shown = sorted(shown, key=lambda row: -row["high"])
            text = f"{suite}: {len(shown)} screened, {len(over)} not below one half; the best:"
            lines.append(f"| {text} " + "| " * 11 + "|")
            shown = shown[: max(len(over), BEST_MACROS)]
        lines += [cells(row) for row in shown]
    lines += ["", *(f"- {suite}: {'met' if met else '**not met**'}" for suite, met in verdicts(rows).items())]
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    """All or nothing."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=FULL, help="matches of the longest measurements")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default=",".join(SUITES), help="of " + ", ".join(SUITES))
    parser.add_argument("--rows", type=Path, help="keep rows there as they come, and use those that are there")
    parser.add_argument("--json", type=Path, help="write the whole report there")
    options = parser.parse_args()
    run = Run(options.workers, options.rows)
    rows = list(judged(run, options.n, options.only.split(",")))
    rom = hashlib.sha1((HERE / "rom.md").read_bytes()).hexdigest()
    seconds = round(time.time() - run.begin)
    if options.json:
        report = {"rom_sha1": rom, "seconds": seconds, "verdicts": verdicts(rows), "rows": rows}
        write(options.json, json.dumps(report, indent=1) + "\n")
    print(f"ROM {rom}, {seconds} s\n\n{markdown(rows)}")


if __name__ == "__main__":
    main()
