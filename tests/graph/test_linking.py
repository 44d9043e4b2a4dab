"""What the editor is told about links before they are made is what the check says once they are."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from minibrains.errors import WorkflowError
from minibrains.files import bundled_dir
from minibrains.graph.catalog import brain_finder, node_types
from minibrains.graph.check import check, examine
from minibrains.graph.linking import Linking, linking
from minibrains.graph.workflow import load_workflow, parse_workflow

REGISTRY, _ = node_types(packs=False)
WORKFLOWS = sorted(bundled_dir("workflows").glob("*.json"))
CONSOLE = {"type": "RetroEmulator@3"}


def _linking(nodes: dict[str, Any], path: Path | None = None) -> Linking:
    workflow = parse_workflow({"minibrains": 1, "nodes": nodes}, path)
    return linking(examine(workflow, REGISTRY, brain_finder(path)), REGISTRY.values())


def _may(found: Linking, source: str, target: str) -> bool:
    giver, output = source.split(".")
    taker, socket = target.split(".")
    type_ = found.outputs[giver, output]
    return found.inputs[taker, socket] in found.fits[type_]


def test_what_flows_through_generic_nodes_and_from_widgets_is_known() -> None:
    found = _linking(
        {
            "console": CONSOLE,
            "knee": {"type": "Reroute@1", "in": {"value": "console.reward"}},
            "loose": {"type": "Reroute@1"},
            "last": {"type": "Previous@1", "set": {"initial": None}, "in": {"value": "knee.value"}},
            "pick": {
                "type": "Switch@1",
                "in": {"flag": "console.terminated", "yes": "console.reward"},
            },
            "small": {
                "type": "Resize@1",
                "set": {"width": 40, "height": 30},
                "in": {"frame": "console.frame"},
            },
            "stack": {
                "type": "FrameStack@1",
                "in": {"frame": "small.frame"},
                "brain": "frame_stack/grey4.safetensors",
            },
            "score": {"type": "Score@1"},
            "view": {"type": "Preview@2"},
        }
    )
    assert (
        found.outputs["knee", "value"]
        == found.outputs["last", "value"]
        == found.outputs["pick", "value"]
        == "number"
    )
    assert found.outputs["small", "frame"] == "frame u8[30 40 3]"
    assert found.inputs["pick", "no"] == "number"
    assert found.inputs["stack", "frame"] == "frame u8[h w 1]"
    assert _may(found, "last.value", "score.rewards")
    assert _may(found, "knee.value", "pick.no")
    assert not _may(found, "console.frame", "pick.no")
    assert not _may(found, "knee.value", "console.pad1")
    assert not _may(found, "small.frame", "stack.frame")
    for node, socket in found.inputs:
        assert _may(found, "loose.value", f"{node}.{socket}")


def test_another_link_may_take_the_place_of_the_one_there_is() -> None:
    found = _linking(
        {
            "console": CONSOLE,
            "knee": {"type": "Reroute@1", "in": {"value": "console.reward"}},
            "grey": {"type": "Grayscale@1", "in": {"frame": "console.frame"}},
            "small": {"type": "Resize@1", "in": {"frame": "grey.frame"}},
        }
    )
    assert found.inputs["knee", "value"] == "T"
    assert found.inputs["small", "frame"] == "frame u8[h w c]"
    assert _may(found, "console.frame", "knee.value")
    assert _may(found, "console.frame", "small.frame")


def test_types_that_are_not_in_the_workflow_are_known_too() -> None:
    found = _linking({"console": CONSOLE})
    for cls in REGISTRY.values():
        for output in cls.schema.outputs.values():
            takers = found.fits[str(output.type)]
            assert "anything" in takers
    assert "frame u8[h w {c}]" in found.fits["frame u8[h w 3]"]
    assert "pad" not in found.fits["frame u8[h w 3]"]
    assert "flag" in found.fits["flag"]


def test_nodes_that_wait_for_each_other_within_a_tick_are_known() -> None:
    knee = {"type": "Reroute@1"}
    found = _linking(
        {
            "console": {**CONSOLE, "in": {"pad1": "d.value"}},
            "a": {**knee, "in": {"value": "console.frame"}},
            "b": {**knee, "in": {"value": "a.value"}},
            "c": {**knee, "mode": "bypass", "in": {"value": "b.value"}},
            "d": {**knee, "in": {"value": "c.value"}, "when": "e.value"},
            "e": knee,
        }
    )
    assert found.before == {"a": [], "b": ["a"], "c": [], "d": ["b", "e"], "e": []}


def test_a_workflow_with_faults_is_known_as_far_as_it_goes() -> None:
    found = _linking(
        {
            "gone": {"type": "Nothing@1"},
            "sum": {"type": "Score@1", "in": {"rewards": ["clock.now", "gone.value"]}},
            "clock": {"type": "Every@1", "set": {"ticks": 0}},
        }
    )
    assert found.outputs == {("sum", "number"): "number", ("clock", "now"): "flag"}
    assert found.inputs == {("sum", "rewards"): "number"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_it_says_what_the_check_says(path: Path) -> None:
    """Every link that is there may be made; of those that are not,
    none that is refused here passes the check.
    """
    workflow = load_workflow(path)
    nodes = {name: dict(entry.raw) for name, entry in workflow.nodes.items()}
    found = _linking(nodes, path)
    for name, entry in workflow.nodes.items():
        for socket, links in entry.inputs.items():
            for link in links:
                assert _may(found, str(link), f"{name}.{socket}")
    refused = []
    for source, target in itertools.product(found.outputs, found.inputs):
        if not _may(found, ".".join(source), ".".join(target)):
            refused.append((source, target))
    for source, (name, socket) in refused[:: max(1, len(refused) // 25)]:
        inputs = {**nodes[name].get("in", {}), socket: ".".join(source)}
        changed = workflow.with_node(name, {**nodes[name], "in": inputs})
        with pytest.raises(WorkflowError) as error:
            check(changed, REGISTRY, brain_finder(path))
        codes = [fault.code for fault in error.value.faults]
        assert "return_type_mismatch" in codes
