"""Play many matches of Duel and say who wins how often: `python calibrate.py [--quick] [--workers N]`.

Plays the ROM beside this file on stable-retro's emulator, each match from a seed of its own, without
pictures, and prints shares of matches won with Wilson 95 % intervals as Markdown and JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import fighters  # noqa: E402

FRAMES_A_SECOND = 60
MOST_FRAMES = 60_000
CHECKED_EVERY = 8
"""Frames after which the end of the match is looked for; it can be seen for 16 times as long."""
BEST = "defensive"
"""The style whose ceiling is measured."""
TRACED = ("agent_x", "enemy_x", "agent_hp", "enemy_hp")
PAD_CPU, PAD_PAD, CPU_CPU = 0, 1, 2
CHARACTERS = 4


def wilson(won: int, played: int, z: float = 1.959964) -> tuple[float, float]:
    """The interval in which the true share lies with 95 % confidence."""
    if not played:
        return 0.0, 1.0
    share = won / played
    middle = (share + z * z / (2 * played)) / (1 + z * z / played)
    half = z * math.sqrt(share * (1 - share) / played + z * z / (4 * played * played)) / (1 + z * z / played)
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Setting:
    """One match: who holds pad 1 (a policy's name), against which level, and the rest of it."""

    policy: str
    level: int
    seed: int
    agent: int = 0
    enemy: int = 1
    stage: int = 0
    agent_level: int = 0
    """0: the policy plays; else both sides are computer opponents, and this is the level of pad 1's."""


@dataclass
class Result:
    won: bool
    drawn: bool
    frames: int
    rounds: int
    time_outs: int
    kinds: tuple[int, int]
    """How many kinds of move each side landed."""
    trajectory: str


class Bench:
    """The game in this process; a process can have one emulator."""

    def __init__(self) -> None:
        import stable_retro

        self.data = stable_retro.data.GameData()
        self.emulator = stable_retro.RetroEmulator(str(HERE / "rom.md"))
        self.emulator.configure_data(self.data)
        self.emulator.step()
        # the players see only these variables; fewer of them are also quicker to read
        self.data.load(str(HERE / "data_sf2.json"), str(HERE / "scenario.json"))
        self.overlay = json.loads((HERE / "data.json").read_text())["info"]
        buttons = stable_retro.get_system_info("Genesis")["buttons"]
        self.places = {name: place for place, name in enumerate(buttons)}
        self.masks: dict[tuple[str, ...], np.ndarray] = {}
        for _ in range(30):
            self.emulator.step()
        self.title = self.emulator.get_state()

    def get(self, name: str) -> int:
        where = self.overlay[name]
        return int(self.data.memory.extract(where["address"], where["type"]))

    def set(self, name: str, value: int) -> None:
        where = self.overlay[name]
        self.data.memory.assign(where["address"], where["type"], value)

    def press(self, pad: tuple[str, ...], player: int = 0) -> None:
        mask = self.masks.get(pad)
        if mask is None:
            mask = np.zeros(len(self.places), np.uint8)
            mask[[self.places[name] for name in pad]] = 1
            self.masks[pad] = mask
        self.emulator.set_button_mask(mask, player)

    def begin(self, **settings: int) -> None:
        """A new match, drawn or not, with these settings."""
        self.press((), 0)
        self.press((), 1)
        self.emulator.set_state(self.title)
        self.emulator.step()
        for name, value in settings.items():
            self.set(name, value)
        self.set("start", 1)

    def play(self, setting: Setting, player: fighters.Player) -> Result:
        self.begin(
            blank=1, mode=CPU_CPU if setting.agent_level else PAD_CPU,
            enemy_level=setting.level, agent_level=setting.agent_level or 1,
            seed=setting.seed, agent_character=setting.agent, enemy_character=setting.enemy, stage=setting.stage,
        )  # fmt: skip
        step, lookup, press = self.emulator.step, self.data.lookup_all, self.press
        player.reset(setting.seed)
        trace = hashlib.sha256()
        frames, held = 0, ()
        computer = bool(setting.agent_level)
        sees = not computer and getattr(player, "sees", True)
        step()
        variables = lookup()
        while frames < MOST_FRAMES:
            for _ in range(CHECKED_EVERY):
                if sees:
                    variables = lookup()
                if not computer and (pad := player.pad(variables)) is not held:
                    press(pad)
                    held = pad
                step()
            frames += CHECKED_EVERY
            variables = lookup()
            trace.update(bytes(variables[name] & 255 for name in TRACED))
            if variables["reset_countdown"]:
                break
        mine, theirs = variables["agent_victories"], variables["enemy_victories"]
        kinds = self.get("agent_landed").bit_count(), self.get("enemy_landed").bit_count()
        return Result(mine > theirs, mine == theirs, frames, self.get("round"), self.get("time_outs"), kinds, trace.hexdigest())


def player_named(policy: str) -> fighters.Player:
    """cpu (nobody: pad 1 has a computer opponent as well), noop, random44, rusher, macro:I[,J], a style,
    style/rule (that rule of it alone), or style@N (through the action table, a decision every N frames)."""
    if policy in ("noop", "cpu"):
        return fighters.Nothing()
    if policy == "random44":
        return fighters.random44()
    if policy == "rusher":
        return fighters.Rusher()
    if policy.startswith("macro:"):
        return fighters.macro([int(number) for number in policy[6:].split(",")])
    if "@" in policy:
        name, _, interval = policy.partition("@")
        return fighters.Restricted(fighters.RULES[name], int(interval))
    name, _, rule = policy.partition("/")
    rules = fighters.RULES[name]
    return fighters.Scripted([r for r in rules if r.__name__ == rule] if rule else rules)


@dataclass
class Tally:
    """Matches of one kind."""

    name: str
    results: list[Result] = field(default_factory=list)

    @property
    def won(self) -> int:
        return sum(result.won for result in self.results)

    def row(self) -> dict[str, Any]:
        played, won = len(self.results), self.won
        low, high = wilson(won, played)
        rounds = sum(result.rounds for result in self.results)
        return {
            "what": self.name, "n": played, "won": won,
            "share": round(won / played, 4), "low": round(low, 4), "high": round(high, 4),
            "drawn": sum(result.drawn for result in self.results),
            "distinct": len({result.trajectory for result in self.results}),
            "median_s": round(median(result.frames for result in self.results) / FRAMES_A_SECOND, 1),
            "time_outs": round(sum(result.time_outs for result in self.results) / rounds, 3),
            "kinds": [median(result.kinds[side] for result in self.results) for side in (0, 1)],
        }  # fmt: skip


_bench: Bench | None = None


def play_one(setting: Setting) -> Result:
    global _bench
    if _bench is None:
        _bench = Bench()
    return _bench.play(setting, player_named(setting.policy))


def settings(policy: str, level: int, n: int, *, agent_level: int = 0, salt: int = 0) -> Iterator[Setting]:
    """n matches over all match-ups and stages in turn, each with a seed of its own."""
    for number in range(n):
        seed = int.from_bytes(hashlib.sha256(f"{policy} {level} {agent_level} {number} {salt}".encode()).digest()[:4], "big")
        yield Setting(policy, level, seed, number % 4, number // 4 % 4, number // 16 % 4, agent_level)


Map = Callable[[Callable[[Setting], Result], Iterator[Setting]], Iterator[Result]]


def tally(run: Map, name: str, matches: Iterator[Setting]) -> dict[str, Any]:
    begin = time.time()
    row = Tally(name, list(run(play_one, matches))).row()
    words = "{what}: {won}/{n} = {share:.3f} [{low:.3f}, {high:.3f}], {drawn} drawn, {distinct} distinct, {median_s} s".format(
        **row
    )
    print(f"{words}, {row['time_outs']:.0%} time-outs ({time.time() - begin:.0f} s)", file=sys.stderr, flush=True)
    return row


def screen(run: Map, sequence: tuple[int, ...], level: int, least: int, most: int) -> dict[str, Any]:
    """A macro: `least` matches, and on to `most` while the upper bound is over one half. Stops as soon as it is not."""
    policy = "macro:" + ",".join(map(str, sequence))
    matches = settings(policy, level, most)
    done = Tally(f"{policy} at {level}")
    while len(done.results) < most:
        done.results.append(next(run(play_one, itertools.islice(matches, 1))))
        if wilson(done.won, len(done.results))[1] < 0.5:
            break
        if len(done.results) >= least and wilson(done.won, len(done.results))[0] > 0.5:
            break
    return done.row()


def suites(run: Map, n: int, wanted: set[str]) -> Iterator[dict[str, Any]]:
    """All measurements, n matches each where the issue says no other number."""
    if "noop" in wanted:
        for level in (1, 4, 8):
            yield tally(run, f"noop at {level}", settings("noop", level, max(n // 10, 12)))
    if "random" in wanted:
        for level in (1, 2, 4, 6, 8):
            yield tally(run, f"random44 at {level}", settings("random44", level, n))
    if "rusher" in wanted:
        for level in (1, 2, 4, 5, 8):
            yield tally(run, f"rusher at {level}", settings("rusher", level, n // 3))
    if "ladder" in wanted:
        for level in range(1, 7):
            yield tally(run, f"level {level + 2} against level {level}", settings("cpu", level, n // 3, agent_level=level + 2))
    if "mirror" in wanted:
        for level in (3, 6):
            yield tally(
                run,
                f"left side, both level {level}",
                (
                    Setting("cpu", s.level, s.seed, s.agent, s.agent, s.stage, level)
                    for s in settings("cpu", level, n, agent_level=level, salt=1)
                ),
            )
    if "styles" in wanted:
        for name in fighters.RULES:
            for level in (2, 4, 6, 8):
                yield tally(run, f"{name} at {level}", settings(name, level, n // 5))
    if "rules" in wanted:
        for name, rules in fighters.RULES.items():
            for rule in rules:
                yield tally(run, f"{name}/{rule.__name__} at 6", settings(f"{name}/{rule.__name__}", 6, max(n // 25, 8)))
    if "ceiling" in wanted:
        for interval, level in itertools.product((30, 12, 6), range(1, 9)):
            yield tally(run, f"{BEST}@{interval} at {level}", settings(f"{BEST}@{interval}", level, max(n // 20, 12)))
    if "macros" in wanted:
        for action in range(44):
            yield screen(run, (action,), 4, 20, 300)
    if "pairs" in wanted:
        for pair in itertools.permutations(range(44), 2):
            yield screen(run, pair, 4, 20, 300)


ALL = ("noop", "random", "rusher", "ladder", "mirror", "styles", "rules", "ceiling", "macros", "pairs")


def markdown(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| matches | n | won | share | 95 % | drawn | median s | time-outs | kinds landed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    form = "| {what} | {n} | {won} | {share:.3f} | {low:.3f}–{high:.3f} | {drawn} | {median_s} | {time_outs:.1%} |"
    form += " {mine:g} / {theirs:g} |"
    lines += [form.format(**row, mine=row["kinds"][0], theirs=row["kinds"][1]) for row in rows]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000, help="matches of the longest measurements")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default=",".join(ALL), help="of " + ", ".join(ALL))
    parser.add_argument("--json", type=Path, help="write all rows there")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    begin = time.time()
    if options.workers > 1:
        pool = ProcessPoolExecutor(options.workers)
        run: Map = lambda f, items: pool.map(f, items, chunksize=1)  # noqa: E731
    else:
        run = map  # type: ignore[assignment]
    rows.extend(suites(run, options.n, set(options.only.split(","))))
    rom = hashlib.sha1((HERE / "rom.md").read_bytes()).hexdigest()
    if options.json:
        options.json.write_text(
            json.dumps({"rom_sha1": rom, "seconds": round(time.time() - begin), "rows": rows}, indent=1) + "\n"
        )
    print(f"ROM {rom}, {time.time() - begin:.0f} s\n\n{markdown(rows)}")


if __name__ == "__main__":
    main()
