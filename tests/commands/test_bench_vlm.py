"""`bench vlm`: a row for each way to ask a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.slow
def test_a_model_is_asked_in_every_way(minibrains_process: Callable[..., Any]) -> None:
    done = minibrains_process("bench", "vlm", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    cases = {case["what"]: case for case in result["cases"]}
    assert list(cases) == [
        "choose",
        "choose, 8 together",
        "generate",
        "generate, 8 together",
        "in new words",
        "one run, own",
        "one run, shared",
        "eight runs, own",
        "eight runs, shared",
    ]
    for case in cases.values():
        assert min(case["per_s"], case["cpu_ms"]) > 0
    assert min(result["together"], result["at_8_runs"], result["cpu_at_8_runs"]) > 0


def test_a_workflow_without_a_model_is_refused(minibrains: Callable[..., Any]) -> None:
    done = minibrains("bench", "vlm", "airstriker", "--json")
    assert done.returncode == 2
    assert "the workflow has no VLMStrategist; expected one with it, such as sf2" in done.stderr
