"""`bench start`: every phase of a new process, and of its next run."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.mark.slow
def test_it_measures_every_phase_of_two_runs_in_new_processes(minibrains_process: Any) -> None:
    done = minibrains_process("bench", "start", "hello", "--json")
    assert done.returncode == 0, done.stderr
    cases = {case["phase"]: case for case in json.loads(done.stdout)["cases"]}
    assert list(cases) == ["process", "check", "open", "first tick"]
    assert all(case["new_ms"] > 0 for case in cases.values())
    assert [phase for phase, case in cases.items() if not case["next_ms"]] == ["process"]


def test_what_is_wrong_with_the_workflow_is_a_sentence(minibrains: Any) -> None:
    done = minibrains("bench", "start", "airstriker", "--set", "console.game=nothing", "--json")
    assert done.returncode == 2
    assert "console" in done.stderr
    assert "Traceback" not in done.stderr
