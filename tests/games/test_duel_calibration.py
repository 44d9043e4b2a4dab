"""The calibration: the counts of matches, the rows that are kept, and the verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from games.source.duel import calibrate, counting, fighters
from games.source.duel.calibrate import moves_too_strong, verdicts
from games.source.duel.matches import MOVES, Result, settings
from games.source.duel.source_hash import hash_sources
from tests.support.paths import ROOT
from tests.support.timeouts import TIMEOUT


def test_a_limit_holds_for_the_whole_interval() -> None:
    low, high = counting.wilson(60, 100)
    assert (round(low, 3), round(high, 3)) == (0.502, 0.691)
    row = {"n": 100, "wanted": 100, "won": 60, "low": low, "high": high}
    assert counting.Limit(least=0.5).met(row)
    assert not counting.Limit(least=0.6).met(row)
    assert not counting.Limit(most=0.65).met(row)
    assert not counting.Limit(most=0).met(row)
    assert not counting.Limit(least=0.5).met({**row, "wanted": 101}), "too few matches that differ"


def test_damage_is_told_by_move() -> None:
    """A round is won by taking all of the other's health, of which there are 177 points."""
    code = """if True:
        import itertools, json
        from games.source.duel import matches
        for policy in ("patient@30", "patient-stand@30", "random44"):
            for setting in itertools.islice(matches.settings(policy, 1), 3):
                result = matches.play_one(setting)
                print(json.dumps([policy, result.won, result.damage]))
    """
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    moves: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        policy, won, damage = json.loads(line)
        assert not won or policy == "random44" or sum(damage.values()) >= 177
        moves.setdefault(policy, set()).update(damage)
    assert len(moves["patient@30"]) > 2
    assert moves["patient@30"] <= set(MOVES)
    assert moves["patient-stand@30"]
    assert moves["random44"] == set(), "who does not look is played too quickly to see that"


def test_a_rule_that_the_teacher_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule 'dance'; expected one of in flight, "):
        fighters.Restricted(30, without="dance")


def test_matches_that_went_alike_count_once_and_are_made_up_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = [Result(True, False, 3000, 2, 0, (3, 3), trajectory) for trajectory in "abacd"]
    row = counting.row_of("some", results[:3])
    assert (row["n"], row["won"], row["repeated"]) == (2, 2, 1)
    coming = iter(results)
    monkeypatch.setattr(calibrate, "play_one", lambda _: next(coming))
    monkeypatch.setattr(calibrate, "goes_alike", lambda setting, *_: setting.agent == 0)
    row = calibrate.Run(1, None).tally("some", settings("noop", 1), 3)
    assert (row["n"], row["wanted"], row["repeated"]) == (3, 3, 1)
    assert row["on_rom"] == [1, 3]
    monkeypatch.setattr(calibrate, "play_one", lambda _: results[0])
    assert calibrate.Run(1, None).tally("some", settings("noop", 1), 3)["n"] == 1


def test_a_suite_is_alive_by_the_bounds_of_its_matches() -> None:
    def rows(timed_out: int, kinds: int = 3, frames: int = 3600) -> list[dict[str, Any]]:
        results = [
            Result(True, False, frames, 2, number < timed_out, (3, kinds), str(number))
            for number in range(100)
        ]
        return [counting.row_of("one", results[:50]), counting.row_of("other", results[50:])]

    assert calibrate.lifeless(rows(4)) == []
    assert calibrate.lifeless(rows(5)) == ["time-outs in up to 11.2%"], (
        "5 of 100 may be more than one in ten"
    )
    assert calibrate.lifeless(rows(0, kinds=2)) == ["too few have 3 kinds of move from both sides"]
    assert calibrate.lifeless(rows(0, frames=2000)) == ["too few last 40 s"]


def test_where_damage_comes_from_is_a_table_of_its_own() -> None:
    results = [
        Result(True, False, 3000, 2, 1, (3, 3), "a", damage={"rising": 30, "A": 10}),
        Result(True, False, 3000, 2, 0, (3, 3), "b", damage={"rising": 60}),
    ]
    row = counting.row_of("patient@30 at 4", results)
    assert row["damage"] == {"rising": 90, "A": 10}
    assert (
        calibrate.damage_table([row])[-1] == "| patient@30 at 4 | 2 of 2 | 25 | rising 90%, A 10% |"
    )
    assert calibrate.damage_table([]) == []


def test_rows_are_kept_and_used_again(tmp_path: Path) -> None:
    row = counting.row_of("some", [Result(True, False, 3000, 2, 0, (3, 3), "a")])
    calibrate.Run(1, tmp_path / "rows").keep("some, 1", row)
    assert row["seconds"] >= 0
    with (tmp_path / "rows").open("a") as file:
        file.write('{"something": "else"}\n{"subject": "cut o')
    again = calibrate.Run(1, tmp_path / "rows")
    assert again.rows == {"some, 1": row}
    again.keep("more, 1", row)
    again.subject = "another ROM"
    again.keep("other, 1", row)
    assert set(calibrate.Run(1, tmp_path / "rows").rows) == {"some, 1", "more, 1"}


def test_what_sources_do_decides_whether_rows_are_used_again(tmp_path: Path) -> None:
    python, c = tmp_path / "a.py", tmp_path / "a.c"

    def hash_of(python_source: str, c_source: str) -> str:
        python.write_text(python_source)
        c.write_text(c_source)
        return hash_sources([python, c])

    plain = hash_of("def f():\n    return 1 + 2\n", 'char *a = "//";\n')
    described = hash_of(
        'def f():\n    """Add."""\n    # both\n    return (1 +\n            2)\n',
        'char *a =  "//"; // a\n/* b\n */',
    )
    assert plain == described
    assert plain != hash_of("def f():\n    return 1 + 3\n", 'char *a = "//";\n')
    assert plain != hash_of("def f():\n    return 1 + 2\n", 'char *a = "/*";\n')


def test_a_suite_that_does_not_exist_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["calibrate.py", "--only", "noop,foo"])
    with pytest.raises(SystemExit) as stopped:
        calibrate.main()
    assert stopped.value.code == 2
    assert "there is no suite 'foo'; expected some of noop,random44" in capsys.readouterr().err


# ---- verdicts ----


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--n 0", "argument --n: '0' is not a number of at least 1"),
        ("--workers none", "argument --workers: 'none' is not a number of at least 1"),
        ("--rows nowhere/rows", "argument --rows: there is no folder nowhere to write rows to"),
        ("--json .", "argument --json: . is a folder; expected a file"),
    ],
)
def test_a_wrong_argument_is_a_sentence(
    arguments: str,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["calibrate.py", *arguments.split()])
    with pytest.raises(SystemExit) as stopped:
        calibrate.main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.endswith(f"{sentence}\n")


def test_ctrl_c_ends_a_calibration() -> None:
    code = (
        "from games.source.duel import calibrate; import os; calibrate.play_one = lambda _: "
        "os.kill(os.getpid(), 2)"
    )
    command = [
        sys.executable,
        "-c",
        f"{code}; raise SystemExit(calibrate.main())",
        "--only",
        "noop",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stderr) == (
        130,
        "stopped; with --rows, the same command continues from here\n",
    )


def a_row(what: str, suite: str = "exploits", **more: Any) -> dict[str, Any]:
    """A row as `judged` yields it, with nothing wrong."""
    return {
        "what": what,
        "suite": suite,
        "limit": "",
        "met": None,
        "n": 300,
        "drawn": 0,
        "on_rom": [30, 30],
        "damage": {},
        **more,
    }


def test_a_suite_is_met_if_every_row_keeps_its_limit() -> None:
    kept = a_row("noop at 1", "noop", limit="none", met=True)
    broken = a_row("noop at 4", "noop", limit="none", met=False)
    assert verdicts([kept])["noop"] == "met"
    assert verdicts([kept, broken])["noop"] == "not met by noop at 4"


def test_what_ends_otherwise_on_the_rom_is_named() -> None:
    rows = [a_row("noop at 1", "noop"), a_row("noop at 4", "noop", on_rom=[29, 30])]
    assert verdicts(rows)["noop, equal on the ROM"] == "not met by noop at 4"
    finals = [
        a_row("table, 12 late, at 4", on_rom=[30, 30]),
        a_row("table, 24 late, at 4", on_rom=[0, 30]),
    ]
    assert verdicts(finals)["exploits, equal on the ROM"] == "not met by table, 24 late, at 4"


def test_draws_count_but_not_those_of_turtles() -> None:
    rows = [
        a_row("table, 12 late, at 4", drawn=30),
        a_row("table, 24 late, at 4", drawn=31),
        a_row("turtle, 0 late, at 4", drawn=200),
    ]
    assert verdicts(rows)["exploits, few draws"] == "not met by table, 24 late, at 4"


def test_a_move_that_deals_too_much_is_named() -> None:
    assert moves_too_strong({"damage": {"throw": 40, "A": 60}}) == ["A (60%)"]
    assert moves_too_strong({"damage": {"throw": 40, "A": 30, "B": 30}}) == []
