"""`bench network`: a row for each network of a workflow, and one for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from minibrains.files import bundled_dir
from nodes.policies.network import PolicyHeadBrain

HEAD = "policy_head/airstriker-untrained.safetensors"


def test_each_network_is_measured_and_loaded(minibrains: Callable[..., Any]) -> None:
    done = minibrains("bench", "network", "airstriker_pixels", "--json")
    assert done.returncode == 0, done.stderr
    cases = {case.pop("what"): case for case in json.loads(done.stdout)["cases"]}
    assert list(cases) == ["head", "all"]
    brain = PolicyHeadBrain.load(bundled_dir("models") / HEAD)
    numbers = sum(array.size for array in brain.tensors.values())
    for case in cases.values():
        assert case["numbers"] == numbers
        assert 0 < case["median_ms"] <= case["p99_ms"]
        assert 0 < case["cpu_median_ms"] <= case["cpu_p99_ms"]
        assert min(case["load_ms"], case["torch_load_ms"]) > 0


def test_a_workflow_without_a_network_is_refused(minibrains: Callable[..., Any]) -> None:
    done = minibrains("bench", "network", "airstriker", "--json")
    assert done.returncode == 2
    assert "the workflow has no network; expected one with TorchNodes" in done.stderr
