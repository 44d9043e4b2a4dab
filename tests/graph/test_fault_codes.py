"""Every fault has a code that programs can rely on, and says who said the sizes that disagree."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest

from minibrains.errors import Fault, FaultCode, WorkflowError
from minibrains.files import bundled_dir
from minibrains.graph.catalog import brain_finder, node_types
from minibrains.graph.check import check, check_sizes
from minibrains.graph.workflow import load_workflow, parse_workflow
from tests.support.paths import ROOT

CODES = get_args(FaultCode)
REGISTRY, _ = node_types(packs=False)
PIXELS = bundled_dir("workflows") / "airstriker_pixels.json"


def test_the_protocol_says_what_every_code_means() -> None:
    protocol = (ROOT / "docs/protocol.md").read_text()
    written = set()
    for row in re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \| [a-z`]", protocol, re.MULTILINE):
        written.update(re.findall(r"`([a-z_]+)`", row))
    assert sorted(written & set(CODES)) == sorted(CODES)


def test_every_code_is_given_to_a_fault() -> None:
    text = ""
    for path in (*(ROOT / "minibrains").rglob("*.py"), *(ROOT / "server").rglob("*.py")):
        source = path.read_text()
        if "FaultCode = Literal" in source:
            continue
        text += source
    _, _, errors = (ROOT / "minibrains/errors.py").read_text().partition("class Fault:")
    assert [code for code in CODES if f'"{code}"' not in text + errors] == []


def _faults(nodes: dict[str, Any], **keys: Any) -> tuple[Fault, ...]:
    with pytest.raises(WorkflowError) as error:
        check(
            parse_workflow({"minibrains": 1, "nodes": nodes, **keys}), REGISTRY, brain_finder(None)
        )
    return error.value.faults


CLOCK = {"type": "Every@1"}
WRONG: dict[str, tuple[dict[str, Any], FaultCode]] = {
    "link": ({"log": {"type": "Log@1", "in": {"value": "clock"}}}, "bad_linked_input"),
    "loop": ({"a": {"type": "Reroute@1", "in": {"value": "a.value"}}}, "dependency_cycle"),
    "no brain": (
        {"head": {"type": "PolicyHead@1", "in": {"frames": "head.logits"}}},
        "required_brain_missing",
    ),
    "missing brain": (
        {"stack": {"type": "FrameStack@1", "brain": "no.safetensors"}},
        "invalid_brain",
    ),
    "input": ({"log": {"type": "Log@1"}}, "required_input_missing"),
    "widget": ({"name": {"type": "Variable@1"}}, "required_input_missing"),
    "unknown type": ({"new": {"type": "Nothing@1"}}, "missing_node_type"),
    "newer": ({"new": {"type": "Log@99"}}, "newer_version"),
    "type": ({"new": {"type": "Log"}}, "invalid_node_type"),
    "too small": ({"clock": {**CLOCK, "set": {"ticks": 0}}}, "value_smaller_than_min"),
    "too big": ({"small": {"type": "Resize@1", "set": {"width": 5000}}}, "value_bigger_than_max"),
    "no number": ({"clock": {**CLOCK, "set": {"ticks": "3"}}}, "invalid_input_type"),
    "no choice": (
        {"pick": {"type": "ActionSampler@1", "set": {"mode": "best"}}},
        "value_not_in_list",
    ),
    "no mode": ({"clock": {**CLOCK, "mode": "off"}}, "value_not_in_list"),
    "no such widget": ({"clock": {**CLOCK, "set": {"tick": 3}}}, "unknown_widget"),
    "no such output": (
        {"clock": CLOCK, "log": {"type": "Log@1", "in": {"value": "clock.then"}}},
        "unknown_output",
    ),
    "no such node": ({"log": {"type": "Log@1", "in": {"value": "nobody.there"}}}, "unknown_node"),
    "no such input": ({"clock": {**CLOCK, "in": {"x": "clock.now"}}}, "unknown_input"),
    "key": ({"clock": {**CLOCK, "evry": 3}}, "unknown_key"),
    "two links": (
        {"clock": CLOCK, "log": {"type": "Log@1", "in": {"value": ["clock.now", "clock.now"]}}},
        "too_many_links",
    ),
    "types": (
        {"clock": CLOCK, "sum": {"type": "Score@1", "in": {"rewards": "clock.now"}}},
        "return_type_mismatch",
    ),
    "file of the run": (
        {"clock": CLOCK, "episodes": {"type": "Log@1", "in": {"value": "clock.now"}}},
        "file_taken",
    ),
    "file name": (
        {"clock": CLOCK, "n" * 300: {"type": "Log@1", "in": {"value": "clock.now"}}},
        "invalid_file_name",
    ),
    "busy": ({"clock": {**CLOCK, "busy": "continue"}}, "not_applicable"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_fault_has_the_code_of_what_is_wrong(wrong: str) -> None:
    nodes, code = WRONG[wrong]
    codes = [fault.code for fault in _faults(nodes)]
    assert code in codes


def test_sizes_that_disagree_come_from_a_brain_and_a_widget() -> None:
    workflow = load_workflow(PIXELS)
    small = {**workflow.nodes["small"].raw, "set": {"width": 40, "height": 84}}
    with pytest.raises(WorkflowError) as error:
        check(workflow.with_node("small", small), REGISTRY, brain_finder(PIXELS))
    (fault,) = error.value.faults
    assert (fault.code, fault.node, fault.socket) == ("return_type_mismatch", "head", "frames")
    brain = workflow.nodes["head"].brain
    assert brain is not None
    assert (
        fault.cause
        == f"84 comes from the brain {brain.file} of head, 40 comes from the widget small.width"
    )
    assert fault.cause in str(fault)
    assert fault.as_json()["cause"] == fault.cause


def test_sizes_that_disagree_come_from_a_type_and_from_what_was_opened() -> None:
    nodes = {
        "console": {"type": "RetroEmulator@3"},
        "view": {"type": "Preview@2", "in": {"value": "console.frame"}},
        "grey": {"type": "Grayscale@1", "in": {"frame": "console.frame"}},
        "again": {"type": "Grayscale@1", "in": {"frame": "grey.frame"}},
    }
    (fault,) = _faults(nodes)
    assert (
        fault.cause
        == "3 is fixed by the type Grayscale of again, 1 is fixed by the type Grayscale of grey"
    )
    tiles = {
        "type": "TileTokenizer@1",
        "in": {"frame": "console.frame"},
        "brain": "tile_codebook/duel.safetensors",
    }
    del nodes["again"]
    nodes["tiles"] = tiles
    graph = check(parse_workflow({"minibrains": 1, "nodes": nodes}), REGISTRY, brain_finder(None))
    with pytest.raises(WorkflowError) as error:
        check_sizes(graph, {"tiles": {"c": 1}})
    (fault,) = error.value.faults
    assert fault.cause == (
        "1 is what tiles found when it was opened, 3 is fixed by the type RetroEmulator of console"
    )
