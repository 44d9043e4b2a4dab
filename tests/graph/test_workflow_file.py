"""Workflow files: what is read is kept, every fault is named at once,
and no file does more than raise an error in words.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minibrains import (
    Brain,
    BrainError,
    Flag,
    MinibrainsError,
    Node,
    Number,
    Register,
    Text,
    setting,
    tensor,
    widget,
)
from minibrains.engine.compile import compile_graph
from minibrains.errors import Fault, WorkflowError
from minibrains.files import bundled_dir
from minibrains.graph.catalog import brain_finder, find_workflow, node_types
from minibrains.graph.check import Graph, check
from minibrains.graph.registry import Registry
from minibrains.graph.socket_ref import SocketRef
from minibrains.graph.workflow import (
    FORMAT,
    FORMAT_MIGRATIONS,
    BrainPin,
    Workflow,
    dump_json,
    load_workflow,
    parse_workflow,
)
from tests.support.json_values import JSON, mutate
from tests.support.paths import DATA

SHIPPED = sorted(bundled_dir("workflows").glob("*.json"))
T = TypeVar("T")
Entry = dict[str, Any]

# -- a few small nodes -----------------------------------------------------------------------------


class Ticked(NamedTuple):
    now: Flag
    count: Number  # type: ignore[assignment]  # tuples have a method of this name


class Clock(Node):
    ticks: int = widget(default=30, min=1)

    def tick(self) -> Ticked:
        raise NotImplementedError


def scale_from_1(entry: Entry) -> Entry:
    """Version 1 called the widget factor and the input x."""
    entry["in"]["value"] = entry["in"].pop("x")
    entry["set"] = {"gain": entry.get("set", {}).pop("factor", 1.0)}
    return entry


class Scale(Node, version=2, migrations={1: scale_from_1}):
    gain: float = widget(default=1.0)

    def tick(self, value: Number) -> Number:
        raise NotImplementedError


class Table(Brain):
    kind = "table"
    values: np.ndarray = tensor("f32[n]")
    unit: str = setting("")


class Lookup(Node):
    brain: Table

    def tick(self, value: Number) -> Number:
        raise NotImplementedError


class Sum(Node):
    def tick(self, terms: list[Number]) -> Number:
        raise NotImplementedError


class Named(Node):
    name: str = widget()

    def tick(self, value: Number | None = None) -> Text:
        raise NotImplementedError


class Pick(Node):
    def tick(self, flag: Flag, yes: T, no: T) -> T:
        raise NotImplementedError


class Hold(Register, Generic[T]):
    def emit(self) -> T:
        raise NotImplementedError

    def latch(self, value: T) -> None: ...


class Rung(NamedTuple):
    ringing: Flag
    silent: Flag
    count: Number  # type: ignore[assignment]  # tuples have a method of this name


RENAMED = {1: {"ring": "silent", "total": "count"}, 2: {"silent": "ringing", "ringing": "silent"}}


class Alarm(Node, version=3, renamed_outputs=RENAMED):
    """Version 1 called its outputs ring and total; version 2 took its two flags for one another."""

    def tick(self) -> Rung:
        raise NotImplementedError


class Loud(
    Node,
    version=3,
    renamed_inputs={1: {"sound": "signal"}},
    renamed_widgets={1: {"power": "gain"}, 2: {"gain": "volume"}},
):
    """Version 1 called its input sound; its widget was called power, and then gain."""

    volume: float = widget(default=1.0)

    def tick(self, signal: Number) -> Number:
        raise NotImplementedError


REGISTRY = Registry()
for _cls in (Clock, Scale, Lookup, Sum, Named, Pick, Hold, Alarm, Loud):
    REGISTRY.add(_cls)
CLOCK = {"type": "Clock@1"}


def scale(link: Any, **more: Any) -> Entry:
    return {"type": "Scale@2", "in": {"value": link}, **more}


def file_of(**nodes: Any) -> Entry:
    return {"minibrains": 1, "nodes": nodes}


def no_brain(pin: BrainPin) -> Path:
    raise BrainError(f"there is no brain {pin.file!r}")


def checked(workflow: Workflow | Entry, find: Callable[[BrainPin], Path] = no_brain) -> Graph:
    if not isinstance(workflow, Workflow):
        workflow = parse_workflow(workflow)
    return check(workflow, REGISTRY, find)


def faults(workflow: Workflow | Entry, find: Callable[[BrainPin], Path] = no_brain) -> list[Fault]:
    with pytest.raises(WorkflowError) as error:
        checked(workflow, find)
    for fault in error.value.faults:
        assert str(fault) in str(error.value)
    return list(error.value.faults)


def messages(found: Iterable[Fault]) -> list[tuple[str | None, str]]:
    return [(fault.node, fault.message) for fault in found]


def without(key: str, data: Entry) -> Entry:
    rest = dict(data)
    del rest[key]
    return rest


def edges(graph: Graph) -> list[str]:
    found = []
    for edge in graph.edges:
        source = f"{edge.source}.{edge.output.name}"
        target = f"{edge.target}.{edge.input.name}"
        found.append(f"{source} -> {target}")
    return found


def step_nodes(graph: Graph) -> set[str]:
    """The nodes that have a step in the plan of a graph."""
    return {step.node for step in compile_graph(graph).steps}


# -- reading and saving ----------------------------------------------------------------------------


def test_a_file_that_is_read_and_saved_keeps_everything(tmp_path: Path) -> None:
    text = (DATA / "everything.json").read_text()
    workflow = load_workflow(DATA / "everything.json")
    workflow.save(tmp_path / "saved.json")
    saved = json.loads((tmp_path / "saved.json").read_text())
    assert json.dumps(saved) == json.dumps(json.loads(text))  # also in this order
    again = load_workflow(tmp_path / "saved.json")
    assert (again.nodes, again.run, again.title, again.faults) == (
        workflow.nodes,
        workflow.run,
        workflow.title,
        workflow.faults,
    )
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "saved.json").read_bytes()


def test_one_node_is_replaced_and_the_others_kept_with_their_faults() -> None:
    workflow = load_workflow(DATA / "everything.json")
    changed = workflow.with_node("clock", {"type": "Clock@1", "set": {"ticks": 9}})
    assert changed.nodes["clock"].set == {"ticks": 9}
    assert changed.faults == workflow.faults
    expected = workflow.to_json()
    expected["nodes"] = {**expected["nodes"], "clock": {"type": "Clock@1", "set": {"ticks": 9}}}
    assert changed.to_json() == expected
    assert workflow.nodes["clock"].set == {"ticks": 5}


def test_what_stands_in_an_entry_is_read() -> None:
    nodes = load_workflow(DATA / "everything.json").nodes
    slow = nodes["slow"]
    rated = nodes["rated"]
    table = nodes["table"]
    stranger = nodes["stranger"]
    assert (slow.type, slow.version, slow.every, slow.offset, slow.mode, slow.on_error) == (
        "Scale",
        2,
        6,
        5,
        "mute",
        "stop",
    )
    assert (rated.every, rated.hertz, str(rated.when), rated.on_error) == (
        1,
        7.5,
        "clock.now",
        "hold",
    )
    assert table.brain == BrainPin("table.safetensors", "0123456789abcdef" * 4)
    assert (stranger.type, stranger.version, stranger.brain) == (
        "otherpack.Thing",
        12,
        BrainPin("nowhere.safetensors"),
    )
    assert list(map(str, nodes["sum"].inputs["terms"])) == ["clock.count", "rated.number"]


def test_an_unknown_type_is_a_placeholder_and_its_neighbours_are_checked() -> None:
    workflow = file_of(
        clock=CLOCK,
        odd={"type": "Odd@3", "in": {"x": "clock.nothing"}},
        after=scale("odd.out", set={"gian": 1}),
    )
    assert messages(faults(workflow)) == [
        ("odd", "the node type 'Odd' is not known"),
        ("after", "Scale has no widget 'gian'"),
        ("odd", "'clock' has no output 'nothing'"),
    ]


@given(JSON)
def test_our_json_is_json(value: Any) -> None:
    plain = json.loads(json.dumps(value))
    assert json.dumps(json.loads(dump_json(plain))) == json.dumps(plain)


@pytest.mark.parametrize(
    "value",
    ["[" + " " * 50_000, ["[" * 500] * 500, "[\n1,\n2\n]", ["a\u2028b", "x\x85y", "  , "]],
    ids=range(4),
)
def test_texts_like_lists_are_written_as_they_are(value: Any) -> None:
    assert json.loads(dump_json({"x": value})) == {"x": value}


def test_short_lists_stand_in_one_line() -> None:
    assert dump_json({"at": [40, -80.5], "long": ["x" * 300, 1]}).splitlines() == [
        "{", ' "at": [40, -80.5],', ' "long": [', f'  "{"x" * 300}",', "  1", " ]", "}",
    ]  # fmt: skip


# -- what is not a workflow ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "not JSON"),
        ("[]", "JSON object"),
        ("{}", '"minibrains"'),
        ('{"minibrains": true}', '"minibrains"'),
        ('{"minibrains": 0}', '"minibrains"'),
        ('{"minibrains": "1"}', '"minibrains"'),
        (
            '{"minibrains": 2}',
            "format 2 is not known; expected at most 1. It was saved by a newer Minibrains",
        ),
        ('{"minibrains": 1, "minibrains": 1}', "named twice"),
        ('{"minibrains": 1, "nodes": {"a": {"every": NaN}}}', "not JSON"),
        ('{"minibrains": 1, "nodes": {"a": {"every": 1e999}}}', "not JSON"),
        ('{"minibrains": 1, "extra": %s}' % ("9" * 30), "more than 64 bits"),
        ('{"minibrains": 1, "extra": %s}' % ("9" * 5000), "not JSON"),
        ('{"minibrains": 1, "extra": "\\ud800"}', "surrogates"),
        ('{"minibrains": 1, "extra": %s}' % ("[" * 200 + "]" * 200), "nested too deeply"),
        ('{"minibrains": 1, "extra": %s}' % ("[" * 100_000), "nested too deeply"),
    ],
)
def test_a_file_that_is_no_workflow_is_refused_with_the_reason(
    text: str, word: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(WorkflowError) as error:
        load_workflow(path)
    assert str(path) in str(error.value)
    assert word in str(error.value)


@pytest.mark.parametrize(
    ("name", "word"),
    [("missing.json", "No such file"), (".", "directory"), ("x" * 300, "too long")],
)
def test_a_file_that_cannot_be_read_is_refused(name: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(WorkflowError, match=word):
        load_workflow(tmp_path / name)


def test_what_is_nested_as_deeply_as_allowed_is_read_and_saved(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(90):
        deep = [deep]
    workflow = parse_workflow({**file_of(a={"type": "Any@1", "set": {"x": deep}}), "extra": deep})
    workflow.save(tmp_path / "x.json")
    assert load_workflow(tmp_path / "x.json").to_json() == workflow.to_json()


# -- faults ----------------------------------------------------------------------------------------

MANY_FAULTS = {
    "minibrains": 1,
    "run": {"episodes": 0, "tick": 5, "clock": "slow"},
    "note": "not under extra",
    "nodes": {
        "clock": CLOCK,
        "Clock": CLOCK,
        "widget": {"type": "Clock@1", "set": {"tick": 3}},
        "value": {"type": "Clock@1", "set": {"ticks": 0}},
        "unset": {"type": "Named@1"},
        "kind": {"type": "Clok@1"},
        "newer": {"type": "Clock@9"},
        "key": {"type": "Clock@1", "evry": 3},
        "rate": {"type": "Clock@1", "every": 0},
        "later": {"type": "Clock@1", "every": 3, "offset": 3},
        "mode": {"type": "Clock@1", "mode": "off"},
        "busy": {"type": "Clock@1", "busy": "wait"},
        "lonely": {"type": "Scale@2"},
        "emptied": scale([]),
        "nulled": scale(None),
        "far": scale("clcok.count"),
        "out": scale("clock.cuont"),
        "misfit": scale("words.text"),
        "input": scale("clock.count", **{"in": {"value": "clock.count", "valeu": "clock.count"}}),
        "many": scale(["clock.count", "value.count"]),
        "link": scale("clock"),
        "gate": {"type": "Clock@1", "when": "clock.count"},
        "brainless": {"type": "Lookup@1", "in": {"value": "clock.count"}, "brain": None},
        "brainy": {"type": "Clock@1", "brain": "x.safetensors"},
        "lost": {"type": "Lookup@1", "in": {"value": "clock.count"}, "brain": "lost.safetensors"},
        "pin": {
            "type": "Lookup@1",
            "in": {"value": "clock.count"},
            "brain": {"file": "x", "sha": "1"},
        },
        "unread": {"type": "Scale"},
        "behind": scale("unread.number", when="unread.now"),
        "words": {"type": "Named@1", "set": {"name": "w"}},
    },
}
EXPECTED = [
    # node, socket, expected, found, and words of message and hint
    (None, None, None, "0", "'episodes' from 1"),
    (None, None, None, None, "'tick' Did you mean 'ticks'?"),
    (None, None, "one of fast, realtime", "'slow'", "'clock'"),
    (None, None, None, None, "'note' \"extra\""),
    (None, None, None, None, "'Clock' a-z"),
    ("widget", None, None, None, "no widget 'tick' Did you mean 'ticks'?"),
    ("value", "ticks", "int of at least 1", "0", ""),
    ("unset", "name", "text", None, "must be set"),
    ("kind", None, None, None, "'Clok' Did you mean 'Clock'?"),
    ("newer", None, "at most @1", "Clock@9", "newer Update"),
    ("key", None, None, None, "'evry' Did you mean 'every'?"),
    ("rate", None, 'a number of ticks from 1 or a rate like "10 hz"', "0", '"every"'),
    ("later", None, 'a number of ticks below "every" (3)', "3", '"offset"'),
    ("mode", None, "one of run, mute, bypass", "'off'", '"mode"'),
    ("busy", None, None, None, '"busy"'),
    ("lonely", "value", "number", None, 'nothing is linked "node.output"'),
    ("emptied", "value", "number", None, "nothing is linked"),
    ("nulled", "value", '"node.output"', "None", "the link cannot be read"),
    ("far", "value", None, None, "no node 'clcok' Did you mean 'clock'?"),
    ("out", "value", None, None, "no output 'cuont' Did you mean 'count'?"),
    ("misfit", "value", "number", "text at words.text", "words.text"),
    ("input", None, None, None, "no input 'valeu' Did you mean 'value'?"),
    ("many", "value", None, "clock.count, value.count", "takes one link"),
    ("link", "value", '"node.output"', "'clock'", "the link cannot be read"),
    ("gate", "when", "flag", "number at clock.count", "does not fit"),
    ("brainless", "brain", None, None, "needs a brain of kind 'table'"),
    ("brainy", "brain", None, None, "has no brain 'x.safetensors'"),
    ("lost", "brain", None, None, "'lost.safetensors'"),
    (
        "pin",
        None,
        'a file name, or {"file": …, "sha256": …}',
        "{'file': 'x', 'sha': '1'}",
        '"brain"',
    ),
    ("unread", None, 'a type with its version, for example "FrameStack@1"', "'Scale'", '"type"'),
]


def names_all(words: str, fault: Fault) -> bool:
    text = f"{fault.message} {fault.hint}"
    return all(word in text for word in words.split())


def test_all_faults_are_reported_at_once_and_each_of_them_once() -> None:
    found = faults(copy.deepcopy(MANY_FAULTS))
    left = list(found)
    for node, socket, expected, what, words in EXPECTED:
        where = (node, socket, expected, what)
        alike = [
            fault
            for fault in left
            if (fault.node, fault.socket, fault.expected, fault.found) == where
        ]
        (fault,) = [fault for fault in alike if names_all(words, fault)]
        left.remove(fault)
    assert left == []
    lines = str(WorkflowError(found, "x.json")).splitlines()
    assert lines[0] == f"x.json has {len(EXPECTED)} faults:"
    assert len(lines) == len(EXPECTED) + 1


def test_a_fault_is_a_sentence_and_json() -> None:
    (fault,) = faults(file_of(clock={"type": "Clock@1", "set": {"ticks": 0}}))
    assert (
        str(fault)
        == "clock.ticks: the widget has a wrong value; expected int of at least 1, found 0"
    )
    assert fault.as_json() == {
        "code": "value_smaller_than_min", "message": "the widget has a wrong value",
        "node": "clock", "socket": "ticks", "expected": "int of at least 1", "found": "0",
        "cause": None, "hint": None,
    }  # fmt: skip


@pytest.mark.parametrize("when", ["hold.value", "pick.value", "named.text"])
def test_what_a_node_waits_for_must_be_a_flag_also_through_generic_nodes(when: str) -> None:
    numbers = {
        "pick": {
            "type": "Pick@1",
            "in": {"flag": "clock.now", "yes": "clock.count", "no": "clock.count"},
        }
    }
    nodes = {"clock": CLOCK, **numbers, "named": {"type": "Named@1", "set": {"name": "n"}}}
    nodes["hold"] = {"type": "Hold@1", "in": {"value": "pick.value"}}
    (fault,) = faults(file_of(**nodes, gated={**CLOCK, "when": when}))
    assert (fault.node, fault.socket, fault.expected) == ("gated", "when", "flag")
    assert checked(file_of(**nodes, gated={**CLOCK, "when": "clock.now"})).when_links.keys() == {
        "gated"
    }


def test_a_loop_must_cross_a_register_and_is_named() -> None:
    loop = file_of(a=scale("b.number"), b=scale("c.number"), c=scale("a.number"))
    with pytest.raises(WorkflowError, match=r"a -> c -> b -> a|c -> b -> a -> c|b -> a -> c -> b"):
        compile_graph(checked(loop))
    loop["nodes"]["c"] = {"type": "Hold@1", "in": {"value": "a.number"}}
    loop["nodes"]["b"]["in"]["value"] = "c.value"
    assert step_nodes(checked(loop)) == {"a", "b", "c"}


# -- mute and bypass -------------------------------------------------------------------------------


def test_a_muted_node_delivers_nothing_and_is_not_there() -> None:
    graph = checked(
        file_of(
            clock=CLOCK,
            a=scale("clock.count", mode="mute"),
            b=scale("a.number"),
            c=scale("clock.count"),
        )
    )
    assert list(graph.nodes) == ["clock", "b", "c"]
    assert edges(graph) == ["clock.count -> c.value"]


def test_a_bypassed_node_hands_on_what_fits_its_output() -> None:
    pick = {
        "type": "Pick@1",
        "in": {"flag": "clock.now", "yes": "clock.count", "no": "other.count"},
        "mode": "bypass",
    }
    graph = checked(
        file_of(
            clock=CLOCK,
            other=CLOCK,
            pick=pick,
            a=scale("pick.value", mode="bypass"),
            b=scale("a.number"),
        )
    )
    assert list(graph.nodes) == ["clock", "other", "b"]
    assert edges(graph) == ["clock.count -> b.value"]


def test_a_bypassed_node_without_a_fitting_input_delivers_nothing() -> None:
    named = {
        "type": "Named@1",
        "set": {"name": "n"},
        "in": {"value": "clock.count"},
        "mode": "bypass",
    }
    hold = {"type": "Hold@1", "in": {"value": "named.text"}}
    assert edges(checked(file_of(clock=CLOCK, named=named, hold=hold))) == []


def test_types_are_checked_past_bypassed_nodes() -> None:
    named = {"type": "Named@1", "set": {"name": "n"}}
    pick = {
        "type": "Pick@1",
        "in": {"flag": "clock.now", "yes": "named.text", "no": "named.text"},
        "mode": "bypass",
    }
    (fault,) = faults(file_of(clock=CLOCK, named=named, pick=pick, a=scale("pick.value")))
    assert (fault.node, fault.expected, fault.found) == ("a", "number", "text at named.text")


@pytest.mark.parametrize("mode", ["mute", "bypass"])
def test_a_gate_behind_a_node_that_is_off(mode: str) -> None:
    pick = {
        "type": "Pick@1",
        "in": {"flag": "clock.now", "yes": "other.now", "no": "clock.now"},
        "mode": mode,
    }
    graph = checked(file_of(clock=CLOCK, other=CLOCK, pick=pick, a={**CLOCK, "when": "pick.value"}))
    if mode == "mute":
        assert graph.when_links == {}
    else:
        assert graph.when_links == {"a": SocketRef("other", "now")}
    ticking = {step.node for step in compile_graph(graph).steps if step.role == "tick"}
    assert ticking == {"clock", "other", "a"}


def test_bypassed_nodes_in_a_ring_deliver_nothing() -> None:
    graph = checked(
        file_of(
            a=scale("b.number", mode="bypass"),
            b=scale("a.number", mode="bypass"),
            c=scale("a.number"),
        )
    )
    assert edges(graph) == []


# -- older and newer files -------------------------------------------------------------------------


def test_an_older_node_is_migrated_and_its_file_left_as_it_was(tmp_path: Path) -> None:
    workflow = load_workflow(DATA / "scale1.json")
    for _ in range(2):  # checking has no effect on the workflow
        graph = checked(workflow)
        assert graph.nodes["scale"].widgets == {"gain": 2.5}
        assert graph.nodes["scale"].entry.every == 2
        assert edges(graph) == ["clock.count -> scale.value"]
    workflow.save(tmp_path / "saved.json")
    assert json.loads((tmp_path / "saved.json").read_text()) == json.loads(
        (DATA / "scale1.json").read_text()
    )


ALARMED = {
    "alarm": {"type": "Alarm@1"},
    "late": {"type": "Alarm@2"},
    "sum": {"type": "Sum@1", "in": {"terms": ["alarm.total", "late.count", "alarm.total"]}},
    "pick": {
        "type": "Pick@1",
        "in": {"flag": "alarm.ring", "yes": "sum.number", "no": "alarm.total"},
        "when": "late.silent",
    },
    "gated": {"type": "Clock@1", "when": "alarm.ring"},
}


def test_links_follow_an_output_that_was_renamed() -> None:
    before = copy.deepcopy(ALARMED)
    graph = checked(file_of(**ALARMED))
    assert edges(graph) == [
        "alarm.count -> sum.terms", "late.count -> sum.terms", "alarm.count -> sum.terms",
        "alarm.ringing -> pick.flag", "sum.number -> pick.yes", "alarm.count -> pick.no",
    ]  # fmt: skip
    assert graph.when_links == {
        "pick": SocketRef("late", "ringing"),
        "gated": SocketRef("alarm", "ringing"),
    }
    assert before == ALARMED


def test_inputs_widgets_and_breakpoints_are_renamed() -> None:
    written = file_of(
        alarm={"type": "Alarm@1"},
        first={"type": "Loud@1", "in": {"sound": "alarm.total"}, "set": {"power": 2.0}},
        later={"type": "Loud@2", "in": {"signal": "alarm.total"}, "set": {"gain": 3.0}},
    )
    written["breakpoints"] = {"alarm.total": "> 3", "first.number": "> 1"}
    migrated = REGISTRY.migrate(parse_workflow(written)).to_json()
    loud = {"type": "Loud@3", "in": {"signal": "alarm.count"}}
    assert migrated["nodes"] == {
        "alarm": {"type": "Alarm@3"},
        "first": {**loud, "set": {"volume": 2.0}},
        "later": {**loud, "set": {"volume": 3.0}},
    }
    assert migrated["breakpoints"] == {"alarm.count": "> 3", "first.number": "> 1"}


def test_a_migrated_workflow_is_one_of_today() -> None:
    strange = {
        "type": "otherpack.Thing@1",
        "in": {"x": "alarm.ring", "y": 3},
        "when": None,
        "own": {"in": "alarm.ring"},
    }
    written = {
        **file_of(**ALARMED, strange=strange),
        "layout": {"alarm": [1, 2]},
        "extra": "alarm.ring",
    }
    migrated = REGISTRY.migrate(parse_workflow(written))
    again = migrated.to_json()
    assert again["nodes"]["alarm"] == again["nodes"]["late"] == {"type": "Alarm@3"}
    assert again["nodes"]["pick"]["when"] == "late.ringing"
    assert again["nodes"]["strange"] == {**strange, "in": {"x": "alarm.ringing", "y": 3}}, (
        "nodes that are not known as well"
    )
    assert without("nodes", again) == without("nodes", written)
    assert REGISTRY.migrate(migrated) is migrated


def test_links_to_a_node_that_cannot_be_migrated_stay_as_they_are() -> None:
    old = {"type": "Scale@1", "in": {"y": "alarm.total"}}
    workflow = file_of(
        alarm={"type": "Alarm@1"}, old=old, after=scale("old.number"), wrong=scale("alarm.totl")
    )
    migrated = REGISTRY.migrate(parse_workflow(workflow))
    assert migrated.nodes["old"].version == 1
    assert messages(faults(workflow)) == [
        ("old", "the node cannot be brought from @1 to @2: KeyError: 'x'"),
        ("wrong", "'alarm' has no output 'totl'"),
    ]


def test_faults_of_an_older_node_are_those_of_the_migrated_one() -> None:
    old = {"type": "Scale@1", "set": {"factor": "x"}, "in": {"x": "clock.cuont"}, "colour": 3}
    found = faults(file_of(clock=CLOCK, old=old))
    assert messages(found) == [
        ("old", "the key 'colour' is not known"),
        ("old", "the widget has a wrong value"),
        ("old", "'clock' has no output 'cuont'"),
    ]
    key, widget, link = found
    assert (key.socket, widget.socket, link.socket) == (None, "gain", "value")


def test_an_older_node_that_cannot_be_migrated_is_a_fault() -> None:
    (fault,) = faults(file_of(clock=CLOCK, old={"type": "Scale@1", "in": {"y": "clock.count"}}))
    assert (fault.node, fault.message) == (
        "old",
        "the node cannot be brought from @1 to @2: KeyError: 'x'",
    )


def test_an_older_format_is_migrated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nodes_were_called_parts(data: Entry) -> Entry:
        return {**without("parts", data), "nodes": data["parts"]}

    monkeypatch.setattr("minibrains.graph.workflow.FORMAT", FORMAT + 1)
    monkeypatch.setitem(FORMAT_MIGRATIONS, FORMAT, nodes_were_called_parts)
    workflow = parse_workflow({"minibrains": FORMAT, "parts": {"clock": CLOCK}, "extra": 1})
    assert list(checked(workflow).nodes) == ["clock"]
    workflow.save(tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == {
        "minibrains": FORMAT + 1,
        "extra": 1,
        "nodes": {"clock": CLOCK},
    }
    with pytest.raises(
        WorkflowError,
        match=f"format {FORMAT} cannot be brought to format {FORMAT + 1}: KeyError: 'parts'",
    ):
        parse_workflow({"minibrains": FORMAT})


def test_busy_may_have_its_former_value(tmp_path: Path) -> None:
    thinker = {"type": "Scale@2", "busy": "hold", "on_error": "hold"}
    nodes = {"box": {"type": "defs/thinking"}, "clock": CLOCK, "slow": thinker}
    defs = {"thinking": {"nodes": {"thinker": thinker}}, "plain": {"nodes": {"clock": CLOCK}}}
    data = {"minibrains": FORMAT, "nodes": nodes, "defs": defs}
    before = copy.deepcopy(data)

    workflow = parse_workflow(data)
    assert data == before
    assert workflow.faults == ()
    assert workflow.nodes["slow"].busy == workflow.nodes["box/thinker"].busy == "wait"

    workflow.save(tmp_path / "x.json")
    written = json.loads((tmp_path / "x.json").read_text())
    assert written["nodes"]["slow"] == {**thinker, "busy": "wait"}
    assert written["defs"]["thinking"]["nodes"]["thinker"] == {**thinker, "busy": "wait"}
    assert parse_workflow(written).raw is written


# -- brains ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a workflow, with table.safetensors in it, in models/ and outside of both."""
    monkeypatch.setattr("minibrains.graph.catalog.bundled_dir", lambda name: tmp_path / name)
    table = Table(values=np.zeros(3, np.float32))
    for place in ("table", "models/shipped", "flows/own"):
        table.save(tmp_path / f"{place}.safetensors", title="t", made_by="test")
    (tmp_path / "flows" / "link.safetensors").symlink_to(tmp_path / "table.safetensors")
    return tmp_path / "flows"


def looked_up(folder: Path, brain: Any) -> Path | None:
    """The brain file that a workflow in the folder gets."""
    workflow = file_of(
        clock=CLOCK, table={"type": "Lookup@1", "in": {"value": "clock.count"}, "brain": brain}
    )
    return checked(workflow, brain_finder(folder / "x.json")).nodes["table"].brain


def test_brains_lie_beside_the_workflow_or_in_models(folder: Path) -> None:
    assert looked_up(folder, "own.safetensors") == (folder / "own.safetensors").resolve()
    assert (
        looked_up(folder, "shipped.safetensors")
        == (folder.parent / "models/shipped.safetensors").resolve()
    )


@pytest.mark.parametrize(
    "name",
    [
        "missing.safetensors",
        "../table.safetensors",
        "link.safetensors",
        "{root}/table.safetensors",
        "x" * 300,
        ".",
    ],
)
def test_brains_anywhere_else_are_refused(name: str, folder: Path) -> None:
    name = name.format(root=folder.parent)
    with pytest.raises(WorkflowError) as error:
        looked_up(folder, name)
    (fault,) = error.value.faults
    assert (fault.node, fault.socket) == ("table", "brain")
    if "link" in name:
        assert fault.message.startswith(
            f"the brain {name!r} is a link that leads out of its folder"
        )
    else:
        assert fault.message.startswith(f"there is no brain {name!r} within {folder}")


def test_a_brain_may_be_pinned_by_its_hash(folder: Path) -> None:
    path = folder / "own.safetensors"
    digest = Table(values=np.zeros(3, np.float32)).save(path, title="t", made_by="test")
    assert looked_up(folder, {"file": path.name, "sha256": digest}) == path.resolve()
    Table(values=np.ones(3, np.float32)).save(path, title="t", made_by="test")
    with pytest.raises(
        WorkflowError, match=f"{path.name} is not the brain .* expected SHA-256 {digest}"
    ):
        looked_up(folder, {"file": path.name, "sha256": digest})


@pytest.mark.parametrize(
    "brain",
    ["", "\0", 3, [], {}, {"file": ""}, {"file": "x", "sha256": "12"}, {"file": "x", "more": 1}],
)
def test_a_brain_that_is_no_name_is_a_fault(brain: Any) -> None:
    (fault,) = faults(
        file_of(
            clock=CLOCK, table={"type": "Lookup@1", "in": {"value": "clock.count"}, "brain": brain}
        )
    )
    assert (fault.node, fault.message, fault.found) == (
        "table",
        '"brain" cannot be read',
        repr(brain),
    )


# -- files nobody would write ----------------------------------------------------------------------

NODES = node_types(packs=False)[0]
LINKS = [
    "console.terminated",
    "console.reward",
    "console.variables",
    "stack.frames",
    "head.logits",
    "gate.ready",
    "score.number",
]
for each in ("console", "sink", "clock", "grey", "gate"):
    LINKS += [f"{each}.pad", f"{each}.frame", f"{each}.now", f"{each}.action"]
SENSIBLE: dict[str, list[Any]] = {
    "type": [f"{name}@{cls.version}" for name, cls in NODES.items()],
    "every": [1, 2, 8, "10 hz", 0],
    "offset": [0, 1, 7],
    "mode": ["run", "mute", "bypass"],
    "on_error": ["stop", "hold", "fallback"],
    "when": [*LINKS, None],
    "in": [{}],
    "set": [{}],
}
fuzz = settings(
    deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
"""Few examples of each shipped workflow, because there are many."""


def compile_or_refuse(data: bytes, path: Path) -> None:
    """Loading, checking and compiling either succeed or raise a MinibrainsError;
    any other exception fails the test.
    """
    path.write_bytes(data)
    try:
        workflow = load_workflow(path)
        workflow.save(path)
        assert load_workflow(path).to_json() == workflow.to_json()
        found = step_nodes(check(workflow, NODES, brain_finder(path)))
    except MinibrainsError as error:
        assert str(error)  # noqa: PT017
    else:
        assert found <= set(workflow.nodes)


every_shipped_workflow = pytest.mark.parametrize("name", [path.name for path in SHIPPED])


@every_shipped_workflow
@fuzz
@given(data=st.data())
def test_a_shipped_workflow_changed_at_random_is_compiled_or_refused(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    value = json.loads((bundled_dir("workflows") / name).read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        value = mutate(value, data.draw)
    compile_or_refuse(json.dumps(value).encode(), tmp_path / "x.json")


@every_shipped_workflow
@fuzz
@given(data=st.data())
def test_a_shipped_workflow_wired_at_random_is_compiled_or_refused(
    name: str, data: st.DataObject, tmp_path: Path
) -> None:
    value = json.loads((bundled_dir("workflows") / name).read_text())
    links: st.SearchStrategy[Any] = st.sampled_from(LINKS) | st.lists(st.sampled_from(LINKS))
    for _ in range(data.draw(st.integers(1, 5))):
        node = value["nodes"][data.draw(st.sampled_from(sorted(value["nodes"])))]
        inputs = sorted(node.get("in", {}))
        linked: bool = data.draw(st.booleans())
        if inputs and linked:
            socket = data.draw(st.sampled_from(inputs))
            node["in"][socket] = data.draw(links)
        else:
            key = data.draw(st.sampled_from(sorted(SENSIBLE)))
            node[key] = copy.deepcopy(data.draw(st.sampled_from(SENSIBLE[key])))
    compile_or_refuse(json.dumps(value).encode(), tmp_path / "x.json")


@every_shipped_workflow
@fuzz
@given(
    edits=st.lists(
        st.tuples(st.integers(0, 3000), st.integers(0, 3), st.binary(max_size=3)),
        min_size=1,
        max_size=3,
    )
)
def test_a_shipped_workflow_with_other_bytes_is_compiled_or_refused(
    name: str, edits: list[Any], tmp_path: Path
) -> None:
    data = bytearray((bundled_dir("workflows") / name).read_bytes())
    for place, length, new in edits:
        place %= len(data)
        data[place : place + length] = new
    compile_or_refuse(bytes(data), tmp_path / "x.json")


def test_a_workflow_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path))
    saved = tmp_path / "workflows"
    saved.mkdir()
    for name in ("mine", "sf2"):
        (saved / f"{name}.json").write_text("{}")
    assert find_workflow("mine") == saved / "mine.json"
    bundled = bundled_dir("workflows") / "sf2.json"
    assert find_workflow("sf2") == bundled, "a command means the same everywhere"
    with pytest.raises(WorkflowError, match="Did you mean 'mine'"):
        find_workflow("mime")
