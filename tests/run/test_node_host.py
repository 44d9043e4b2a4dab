"""What a node is told about the workflow that it is in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import minibrains as mb
from minibrains.graph.workflow import load_workflow

PACK = """
from minibrains import Host, Node, Number, Text


class Reads(Node, background="either"):
    def open(self, host: Host) -> None:
        self.about = f"{host.workflow} {host.workflow_sha256}"

    def tick(self, number: Number) -> Text:
        return self.about
"""


@pytest.mark.parametrize("how", [{}, {"background": "process"}])
def test_a_node_knows_the_workflow_that_it_is_in(tmp_path: Path, how: dict[str, Any]) -> None:
    (tmp_path / "reading.py").write_text(PACK)
    nodes = {
        "ready": {"type": "Constant@1", "set": {"value": 1.0}},
        "reads": {"type": "reading.Reads@1", "in": {"number": "ready.value"}, **how},
        "log": {"type": "Log@1", "in": {"value": "reads.text"}},
        "clock": {"type": "Every@1"},
    }
    path = tmp_path / "about.json"
    path.write_text(json.dumps({"minibrains": 1, "run": {"ticks": 2}, "nodes": nodes}))
    with mb.Run(mb.RunSpec(path, packs=(tmp_path / "reading.py",), runs=tmp_path / "runs")) as run:
        list(run)
    (log,) = (tmp_path / "runs").glob("*/log.jsonl")
    first = json.loads(log.read_text().splitlines()[0])
    assert first["value"] == f"about {load_workflow(path).sha256}"


def test_settings_of_the_run_change_the_hash(tmp_path: Path) -> None:
    path = tmp_path / "about.json"
    nodes = {"clock": {"type": "Every@1"}}
    path.write_text(json.dumps({"minibrains": 1, "run": {"ticks": 2}, "nodes": nodes}))
    plain = mb.RunSpec(path).load_workflow().sha256
    assert plain == load_workflow(path).sha256
    assert mb.RunSpec(path, seed=3).load_workflow().sha256 != plain
    assert mb.RunSpec(path, widgets={"clock.ticks": 7}).load_workflow().sha256 != plain
