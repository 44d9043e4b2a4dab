"""The JSON Schema of workflow files says the same as the reader and the checker."""

import copy
import json
from collections.abc import Mapping
from typing import Any, Literal

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibrains import Flag, Node, Number, On, widget
from minibrains.errors import WorkflowError
from minibrains.files import bundled_dir
from minibrains.graph import workflow
from minibrains.graph.catalog import brain_finder, node_types
from minibrains.graph.check import check
from minibrains.graph.schema import widget_schema, workflow_schema


class Gauge(
    Node, version=2, migrations={1: lambda entry: {**entry, "set": {"scale": 1.0, "table": {}}}}
):
    """A node with a widget of every sort, in its second version."""

    scale: float = widget(min=0.5, max=2.0)
    count: int = widget(default=3, min=1)
    label: str | None = widget(default=None)
    kind: Literal["peak", "mean"] = widget(default="peak")
    strict: bool = widget(default=False)
    names: tuple[str, ...] = widget(default=())
    table: Mapping[str, tuple[int | str, ...]] = widget()
    either: int | tuple[float, ...] = widget(default=1, max=9)

    def tick(self, values: list[Number], now: On[Flag] = None) -> Number:
        return 0.0


REGISTRY, _ = node_types(packs=False)
REGISTRY.add(Gauge)
REGISTRY.add(Gauge, "pack")
SCHEMA = workflow_schema(REGISTRY)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
GAUGE = {
    "type": "Gauge@2",
    "set": {"scale": 1, "table": {}},
    "in": {"now": "clock.now", "values": ["sum.number"]},
}
SOUND: dict[str, Any] = {
    "minibrains": 1,
    "title": "A gauge",
    "nodes": {
        "clock": {"type": "Every@1", "set": {"ticks": 4}},
        "sum": {"type": "Score@1"},
        "gauge": GAUGE,
        "random": {"type": "RandomPolicy@1", "set": {"actions": 6}},
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "random.action"},
            "brain": "action_table/airstriker.safetensors",
        },
    },
}


BOX = {"type": "defs/scores", "title": "Score", "in": {"more": ["sum.number"]}, "when": "clock.now"}
SCORES = {
    "title": "Scores",
    "description": "They are added",
    "version": 3,
    "part": "scores",
    "nodes": {"add": {"type": "Gauge@2", "set": {"scale": 1, "table": {}}}},
    "inputs": {"more": ["add.values.0"]},
    "outputs": {"number": "add.number"},
    "widgets": {"count": "add.count"},
    "brains": {},
    "layout": {"add": [0, 0]},
    "groups": [],
}


def changed(path: Any, value: Any) -> Any:
    """SOUND with `value` at a place in it."""
    data = copy.deepcopy(SOUND)
    *parents, last = path
    place = data
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    return data


def gauge(**changes: Any) -> Any:
    return changed(("nodes", "gauge"), {**GAUGE, **changes})


def checked(data: Any) -> Any:
    """What is wrong by the reader and the checker."""
    try:
        check(workflow.parse_workflow(data), REGISTRY, brain_finder(None))
    except WorkflowError as error:
        return error.faults
    return ()


def test_it_is_a_schema_and_json() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_it_knows_the_keys_that_the_reader_knows() -> None:
    assert set(SCHEMA["properties"]) == set(workflow._KEYS)
    assert set(SCHEMA["$defs"]["node"]["properties"]) == set(workflow._NODE_KEYS)


def test_shipped_workflows_are_valid() -> None:
    files = sorted(bundled_dir("workflows").glob("*.json"))
    assert files
    for file in files:
        VALIDATOR.validate(json.loads(file.read_text()))


@pytest.mark.parametrize(
    "data",
    [
        SOUND,
        gauge(every=8, offset=7),
        gauge(every="10 hz"),
        gauge(every="29.97hz"),
        gauge(when="clock.now", mode="bypass", on_error="hold"),
        gauge(when=None, brain=None),
        gauge(type="pack.Gauge@2"),
        gauge(type="Gauge@1", set={"size": 5}),
        gauge(**{"in": {"values": "sum.number"}}),
        gauge(
            set={
                "scale": 2,
                "table": {"a": [1, "b"]},
                "label": "x",
                "kind": "mean",
                "names": ["n"],
                "either": [90.5],
            }
        ),
        changed(
            ("nodes", "sink", "brain"),
            {"file": "action_table/airstriker.safetensors", "sha256": None},
        ),
        changed(("run",), {"episodes": 2, "ticks": 600, "seed": 0}),
        changed(("run",), {"clock": "realtime"}),
        changed(("layout",), {"clock": [40, 80]}),
        changed(("groups",), [{"title": "all", "nodes": ["clock"]}]),
        changed(("breakpoints",), {"sum.number": ">= 0.5"}),
        changed(("defs",), {}),
        changed(("nodes", "box"), BOX) | {"defs": {"scores": SCORES}},
        changed(("extra",), {"mine": [1]}),
        changed(("description",), "why"),
        changed(("nodes", "clock", "title"), "metronome"),
    ],
)
def test_what_is_sound_is_valid(data: Any) -> None:
    VALIDATOR.validate(data)
    assert checked(data) == ()


def test_the_form_of_background_work_is_known() -> None:
    VALIDATOR.validate(gauge(busy="wait", latency=12))
    assert not VALIDATOR.is_valid(gauge(busy="hold"))
    assert not VALIDATOR.is_valid(gauge(latency=-1))
    VALIDATOR.validate(gauge(background="process"))
    assert not VALIDATOR.is_valid(gauge(background="fibre"))


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        changed(("minibrains",), 2),
        changed(("nodes",), {}),
        changed(("nodez",), {}),
        changed(("title",), 5),
        changed(("breakpoints",), {"sum.number": "about 7"}),
        changed(("breakpoints",), ["sum.number"]),
        changed(("defs",), {"inner": {}}),
        changed(("run", "episodes"), 0),
        changed(("run", "ticks"), None),
        changed(("run", "seeds"), 1),
        changed(("run", "clock"), "slow"),
        changed(("run", "clock"), ["fast"]),
        changed(("nodes", "Clock"), {"type": "Every@1"}),
        changed(("nodes", "other"), {}),
        changed(("nodes", "other"), {"type": "Every"}),
        changed(("nodes", "other"), {"type": "Evry@1"}),
        changed(("nodes", "other"), {"type": "Every@2"}),
        changed(("nodes", "clock", "every"), 0),
        changed(("nodes", "clock", "every"), "often"),
        changed(("nodes", "clock", "offset"), -1),
        changed(("nodes", "clock", "widgets"), {}),
        changed(("nodes", "clock", "set"), []),
        changed(("nodes", "clock", "set", "tick"), 4),
        changed(("nodes", "clock", "set", "ticks"), 0),
        changed(("nodes", "clock", "set", "ticks"), "4"),
        changed(("nodes", "clock", "set", "ticks"), None),
        changed(("nodes", "clock", "mode"), "off"),
        changed(("nodes", "clock", "on_error"), "go"),
        changed(("nodes", "clock", "when"), "sum"),
        changed(("nodes", "sink", "brain"), ""),
        changed(("nodes", "sink", "brain"), {"sha256": "0" * 64}),
        changed(
            ("nodes", "sink", "brain"),
            {"file": "action_table/airstriker.safetensors", "sha256": "00"},
        ),
        gauge(set={"scale": 1}),
        gauge(set={"table": {}}),
        {**SOUND, "nodes": {"gauge": {"type": "Gauge@2"}}},
        gauge(set={"scale": 2.5, "table": {}}),
        gauge(set={"scale": True, "table": {}}),
        gauge(set={"scale": 1, "table": {"a": [None]}}),
        gauge(set={"scale": 1, "table": {}, "kind": "median"}),
        gauge(set={"scale": 1, "table": {}, "strict": 1}),
        gauge(set={"scale": 1, "table": {}, "either": 10}),
        gauge(**{"in": {"then": "clock.now"}}),
        gauge(**{"in": {"now": "clock"}}),
        gauge(**{"in": ["clock.now"]}),
    ],
)
def test_what_is_wrong_is_neither_valid_nor_passes_the_checker(data: Any) -> None:
    assert not VALIDATOR.is_valid(data)
    assert checked(data)


def no_whole_float(value: Any) -> Any:
    """JSON Schema takes 8.0 for a whole number, Python does not; everything else is the same."""
    return not (isinstance(value, float) and value.is_integer())


NAMES = st.text(max_size=3)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-12, 12)
    | st.floats(-3, 3).filter(no_whole_float)
    | NAMES
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2)
)
WIDGETS = [
    (name, widget) for name, cls in REGISTRY.items() for widget in cls.schema.widgets.values()
]


@pytest.mark.parametrize(
    "widget", [pytest.param(widget, id=f"{name}.{widget.name}") for name, widget in WIDGETS]
)
@settings(deadline=None, max_examples=10)  # of each widget, of which there are hundreds
@given(value=VALUES)
def test_a_widget_takes_what_its_schema_takes(widget: Any, value: Any) -> None:
    try:
        widget.read(value)
        taken = True
    except ValueError:
        taken = False
    assert jsonschema.Draft202012Validator(widget_schema(widget)).is_valid(value) == taken


@pytest.mark.parametrize(
    "widget", [pytest.param(w, id=f"{n}.{w.name}") for n, w in WIDGETS if not w.required]
)
def test_a_default_is_valid(widget: Any) -> None:
    schema = widget_schema(widget)
    jsonschema.validate(schema["default"], schema)
