"""Subgraphs are read flat: a workflow with boxes is the workflow without them."""

import copy
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibrains.engine.compile import compile_graph
from minibrains.engine.plan import Plan
from minibrains.errors import WorkflowError
from minibrains.files import bundled_dir
from minibrains.graph.catalog import brain_finder, node_types
from minibrains.graph.check import check
from minibrains.graph.socket_ref import SocketRef
from minibrains.graph.workflow import BrainPin, NodeEntry, Workflow, parse_workflow
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from server.commands.check import describe_plan, step_sources
from tests.support.boxes import boxed, renamed

REGISTRY, _ = node_types(packs=False)
SHIPPED = {
    file.stem: json.loads(file.read_text())
    for file in sorted(bundled_dir("workflows").glob("*.json"))
}
EYES: dict[str, Any] = {
    "minibrains": 1,
    "nodes": {
        "console": {"type": "RetroEmulator@3", "in": {"pad1": "sink.pad"}},
        "eyes": {
            "type": "defs/eyes",
            "set": {"width": 40},
            "in": {"frame": "console.frame"},
        },
        "seen": {"type": "Preview@2", "in": {"value": "eyes.small"}},
        "random": {"type": "RandomPolicy@1", "set": {"actions": 6}},
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "random.action"},
            "brain": "action_table/airstriker.safetensors",
        },
    },
    "defs": {
        "eyes": {
            "title": "Eyes",
            "version": 2,
            "nodes": {
                "grey": {"type": "Grayscale@1"},
                "small": {
                    "type": "Resize@1",
                    "set": {"width": 20, "height": 10},
                    "in": {"frame": "grey.frame"},
                },
            },
            "inputs": {"frame": "grey.frame"},
            "outputs": {"small": "small.frame"},
            "widgets": {"width": "small.width"},
            "layout": {"grey": [0, 0], "small": [300, 0]},
        }
    },
}


def eyes(path: str, value: Any) -> Any:
    """EYES with `value` at a place in it; None: without what is there."""
    data = copy.deepcopy(EYES)
    *parents, last = path.split(" ")
    place = data
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    return data


def meaning(workflow: Workflow) -> dict[str, NodeEntry]:
    """The nodes, in any order, without the texts that they were read from."""
    assert workflow.faults == ()
    return {name: replace(entry, raw={}) for name, entry in workflow.nodes.items()}


def checked(data: Any) -> list[str]:
    try:
        check(parse_workflow(data), REGISTRY, brain_finder(None))
    except WorkflowError as error:
        return list(map(str, error.faults))
    return []


# -- the same as the flat workflow -----------------------------------------------------------------


@st.composite
def selections(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """A workflow, and two selections of its nodes: one to put into a box, and one of the nodes that
    there are then.
    """
    name = draw(st.sampled_from(sorted(SHIPPED)))
    nodes = sorted(SHIPPED[name]["nodes"])
    first = draw(st.lists(st.sampled_from(nodes), min_size=1, unique=True))
    left = ["box_1", *(node for node in nodes if node not in first)]
    return name, first, draw(st.lists(st.sampled_from(left), min_size=1, unique=True))


@settings(deadline=None)
@given(selections())
def test_any_boxes_are_the_flat_workflow(chosen: tuple[str, list[str], list[str]]) -> None:
    name, first, second = chosen
    data = boxed(boxed(SHIPPED[name], first, "box_1"), second, "box_2")
    flat = renamed(SHIPPED[name], first, "box_1")
    within = set(second)
    if "box_1" in second:
        within |= {f"box_1/{node}" for node in first}
    flat = renamed(flat, within, "box_2")
    assert meaning(parse_workflow(data)) == meaning(parse_workflow(flat))


def plans(name: str) -> tuple[Plan, Plan]:
    """The plans of a workflow with every other node in a box, and of the flat one in that order."""
    inside = list(SHIPPED[name]["nodes"])[::2]
    box = parse_workflow(boxed(SHIPPED[name], inside, "box_1"))
    nodes = renamed(SHIPPED[name], inside, "box_1")["nodes"]
    flat = parse_workflow({"minibrains": 1, "nodes": {name: nodes[name] for name in box.nodes}})
    compiled = []
    for workflow in (box, flat):
        compiled.append(compile_graph(check(workflow, REGISTRY, brain_finder(None))))
    return compiled[0], compiled[1]


@pytest.mark.parametrize("name", ["airstriker_pixels", "sf2_pixels", "sf2_realtime"])
def test_the_plan_is_that_of_the_flat_workflow(name: str) -> None:
    box, flat = plans(name)
    assert describe_plan(box) == describe_plan(flat)
    assert step_sources(box) == step_sources(flat)


def test_a_game_is_that_of_the_flat_workflow() -> None:
    data = SHIPPED["airstriker_random"]
    rows = []
    for make in (boxed, renamed):
        workflow = make(data, ["console", "random", "score"], "box")
        with Run(RunSpec(workflow, episodes=1, ticks=200, seed=3)) as run:
            for _ in run:
                pass
        rows.append(run.summary["episodes"][0])
    assert rows[0] == rows[1]


# -- what a box gives to its nodes -----------------------------------------------------------------


def test_a_box_is_its_nodes_with_paths() -> None:
    workflow = parse_workflow(EYES)
    assert workflow.faults == ()
    assert list(workflow.nodes)[1:3] == ["eyes/grey", "eyes/small"]
    assert workflow.nodes["eyes/grey"].inputs == {"frame": (SocketRef("console", "frame"),)}
    assert workflow.nodes["eyes/small"].inputs == {"frame": (SocketRef("eyes/grey", "frame"),)}
    assert workflow.nodes["eyes/small"].set == {"width": 40, "height": 10}
    assert workflow.nodes["seen"].inputs == {"value": (SocketRef("eyes/small", "frame"),)}
    assert workflow.to_json() == EYES
    assert checked(EYES) == []


def test_two_boxes_of_one_subgraph_have_settings_of_their_own() -> None:
    data = eyes("nodes other", {"type": "defs/eyes", "in": {"frame": "console.frame"}})
    workflow = parse_workflow(data)
    assert workflow.nodes["eyes/small"].set["width"] == 40
    assert workflow.nodes["other/small"].set["width"] == 20


def test_a_clock_and_a_mode_are_for_all_nodes_of_a_box() -> None:
    data = eyes("nodes eyes when", "clock.now")
    data["nodes"]["clock"] = {"type": "Every@1", "set": {"ticks": 4}}
    data["nodes"]["eyes"]["mode"] = "mute"
    workflow = parse_workflow(data)
    for node in workflow.nodes_of("eyes"):
        assert workflow.nodes[node].when == SocketRef("clock", "now")
        assert workflow.nodes[node].mode == "mute"
    data["defs"]["eyes"]["nodes"]["small"]["when"] = "grey.frame"
    (fault,) = parse_workflow(data).faults
    assert str(fault) == (
        'eyes/small: "when" is given more than once, by itself or by boxes around it; '
        "found eyes/grey.frame, clock.now"
    )


def test_brains_settings_and_clocks_reach_nodes_of_boxes_within_boxes() -> None:
    inner = {
        "nodes": {"head": {"type": "PolicyHead@1"}, "other": {"type": "Not@1"}},
        "inputs": {"go": "head.when", "frames": "head.frames"},
        "outputs": {"logits": "head.logits"},
        "widgets": {"choice": "head.choice"},
        "brains": {"head": "head"},
    }
    outer = {
        "nodes": {"policy": {"type": "defs/inner", "set": {"choice": 1}}},
        "inputs": {"go": ["policy.go"], "frames": "policy.frames"},
        "outputs": {"logits": "policy.logits"},
        "widgets": {"which": "policy.choice"},
        "brains": {"net": "policy.head"},
    }
    box = {
        "type": "defs/outer",
        "in": {"go": "a.flag", "frames": ["b.frames"]},
        "set": {"which": 2},
        "brains": {"net": "x.safetensors"},
    }
    data: dict[str, Any] = {
        "minibrains": 1,
        "nodes": {"box": box, "reader": {"type": "Reroute@1", "in": {"value": "box.logits"}}},
        "defs": {"inner": inner, "outer": outer},
        "breakpoints": {"box.logits": "> 1"},
    }
    workflow = parse_workflow(data)
    head = workflow.nodes["box/policy/head"]
    assert head.when == SocketRef("a", "flag")
    assert head.inputs == {"frames": (SocketRef("b", "frames"),)}
    assert (head.set, head.brain) == ({"choice": 2}, BrainPin("x.safetensors"))
    assert workflow.nodes["box/policy/other"].when is None
    assert workflow.nodes["reader"].inputs["value"] == (SocketRef("box/policy/head", "logits"),)
    assert workflow.breakpoints[0].node == "box/policy/head"
    assert workflow.boxes["box"].inputs["go"] == (SocketRef("box/policy/head", "when"),)
    assert workflow.boxes["box"].widgets == {"which": SocketRef("box/policy/head", "choice")}
    assert workflow.boxes["box"].brains == {"net": "box/policy/head"}
    pinned = workflow.with_brains({"x.safetensors": BrainPin("y.safetensors", "0" * 64)})
    assert pinned.nodes["box/policy/head"].brain == BrainPin("y.safetensors", "0" * 64)
    assert pinned.raw["nodes"].keys() == data["nodes"].keys()


def test_a_spec_changes_one_box_and_its_nodes() -> None:
    data = eyes("nodes other", {"type": "defs/eyes", "in": {"frame": "console.frame"}})
    spec = RunSpec(data, widgets={"eyes.width": 8, "eyes/small.height": 6}, mute=("other",))
    workflow = spec.load_workflow()
    assert workflow.nodes["eyes/small"].set == {"width": 8, "height": 6}
    assert workflow.nodes["other/small"].set == {"width": 20, "height": 10}
    assert workflow.nodes["other/grey"].mode == "mute"
    assert workflow.nodes["seen"].inputs == {"value": (SocketRef("eyes/small", "frame"),)}
    assert parse_workflow(workflow.to_json()) == replace(workflow, raw=workflow.to_json())
    with pytest.raises(WorkflowError, match="'eyes' is a box, which has no such part"):
        RunSpec(data, widgets={"eyes.depth": 8}).load_workflow()


def test_older_nodes_of_a_box_are_migrated_where_they_are() -> None:
    data = eyes("defs eyes nodes shown", {"type": "Preview@1", "in": {"frame": "small.frame"}})
    data["defs"]["eyes"]["nodes"]["far"] = {"type": "Preview@1"}
    data["defs"]["eyes"]["inputs"]["frame"] = ["grey.frame", "far.frame"]
    migrated = REGISTRY.migrate(parse_workflow(data))
    assert migrated.raw["defs"]["eyes"]["inputs"] == {"frame": ["grey.frame", "far.value"]}
    assert migrated.raw["nodes"] == data["nodes"]
    assert migrated.nodes["eyes/far"].inputs == {"value": (SocketRef("console", "frame"),)}
    assert checked(data) == []


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("defs", [], '"defs" is not an object of subgraphs; found list'),
        ("defs Eyes", EYES["defs"]["eyes"], "the subgraph 'Eyes': its name may only have"),
        ("defs eyes nodes", {}, "the subgraph 'eyes': \"nodes\" is not an object with at least"),
        ("defs eyes size", 1, "the subgraph 'eyes': the key 'size' is not known"),
        ("defs eyes version", 0, "the subgraph 'eyes': \"version\" is not a whole number from 1"),
        ("defs eyes nodes a/b", {}, "the subgraph 'eyes': the node id 'a/b' may only have"),
        (
            "defs eyes inputs frame",
            "gray.frame",
            "the subgraph 'eyes': \"inputs\": 'frame' leads to gray.frame, but it has no node "
            "'gray'. Did you mean 'grey'?",
        ),
        ("defs eyes inputs when", "grey.frame", '"when" is the clock of a box; give it another'),
        ("defs eyes outputs small", 3, "\"outputs\": 'small' cannot be read; expected"),
        ("defs eyes widgets", [], "the subgraph 'eyes': \"widgets\" is not an object; found list"),
        ("nodes eyes every", 4, 'eyes: "every" is not for a box; give it to nodes inside of it'),
        ("nodes eyes brain", "x", 'eyes: "brain" is not for a box'),
        ("nodes eyes in", [], 'eyes: "in" is not an object; found list'),
        ("nodes eyes in frame", 3, "eyes.frame: the link cannot be read"),
        ("nodes eyes in screen", "console.frame", "eyes: the subgraph 'eyes' has no input 'scree"),
        ("nodes eyes set height", 3, "eyes: the subgraph 'eyes' has no widget 'height'"),
        ("nodes eyes brains", {"net": "x"}, "eyes: the subgraph 'eyes' has no brain 'net'. It has"),
        ("nodes eyes type", "defs/eye", "eyes: \"defs\" has no subgraph 'eye'. Did you mean"),
        ("nodes seen in value", "eyes.smal", "seen.value: the box 'eyes' has no output 'smal'. "),
        (
            "defs eyes nodes small set width",
            "wide",
            "",
        ),
        ("nodes eyes set width", "wide", "eyes/small.width: the widget has a wrong value"),
        (
            "defs eyes nodes small in frame",
            "console.frame",
            "eyes/small.frame: there is no node 'eyes/console'",
        ),
        (
            "defs eyes nodes more",
            {"type": "defs/eyes"},
            "eyes/more: the subgraph 'eyes' contains itself: eyes -> eyes",
        ),
    ],
)
def test_faults_name_the_whole_path(path: str, value: Any, fault: str) -> None:
    faults = checked(eyes(path, value))
    assert len(faults) <= 1 or fault
    assert not fault or any(fault in found for found in faults), faults


def doubling(depth: int) -> Any:
    """Subgraphs of two boxes each, within each other, whose inputs and clocks lead to both."""
    defs: dict[str, Any] = {}
    ends = ["a.x", "a.y", "b.x", "b.y", "a.when", "b.when"]
    for level in range(depth):
        boxes = {"type": f"defs/level{level + 1}"}
        nodes = {"a": boxes, "b": boxes}
        defs[f"level{level}"] = {"nodes": nodes, "inputs": {"x": ends, "y": ends}}
    node = {"type": "Preview@2"}
    ends = ["a.value", "b.value"]
    defs[f"level{depth}"] = {"nodes": {"a": node, "b": node}, "inputs": {"x": ends, "y": ends}}
    box = {"type": "defs/level0", "in": {"x": "console.frame"}}
    return {"minibrains": 1, "nodes": {"box": box}, "defs": defs}


@pytest.mark.parametrize(
    ("depth", "fault"),
    [
        (12, "box/.*: there are more than 10000 nodes inside of boxes"),
        (40, "box/.*: there are more than 32 boxes within each other"),
    ],
)
def test_boxes_that_grow_without_end_are_refused(depth: int, fault: str) -> None:
    found = list(map(str, parse_workflow(doubling(depth)).faults))
    assert any(re.match(fault, text) for text in found), found[:5]
