"""`nodes`: the list, one type in full, the schema."""

import json
from pathlib import Path
from typing import Any

import pytest

from minibrains.graph.catalog import node_types
from server.cli import main

REGISTRY, _ = node_types(packs=False)

PACK = '''
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from minibrains import ABSENT, Absent, Brain, Flag, Frame, Lazy, Node, Number, On, Register, Aged
from minibrains import setting, tensor, widget


class Table(Brain):
    kind = "table"
    version = 3
    steps: int = setting(4, doc="how many")
    name: str = setting(doc="what for")
    rows: np.ndarray = tensor("f32[n {steps}]", "the rows")


class Shown(NamedTuple):
    frame: Lazy[Frame]
    ready: Flag | Absent


class Screen(Register, version=2, migrations={1: lambda entry: entry}):
    """A screen.

    Two lines of it.

    wish:   what is wanted,
            in two lines
    power, heat:  what it takes
    frame:  the picture
    """

    brain: Table | None
    speed: float = widget(min=0.0, doc="pixels a tick")
    limits: Mapping[str, int] = widget(default=MappingProxyType({}), doc="by name")

    def emit(self) -> Shown:
        return Shown(lambda: np.zeros((1, 1, 3), np.uint8), ABSENT)

    def latch(
        self,
        wish: On[Flag],
        power: list[Number],
        heat: Aged[Number],
        mood: Flag | None = None,
    ) -> None: ...


class Plain(Node, category="control", every_tick=True):
    def tick(self) -> Flag:
        return True
'''


@pytest.fixture
def pack(tmp_path: Path) -> Any:
    path = tmp_path / "nodepack.py"
    path.write_text(PACK)
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: Any) -> Any:
    assert main(["nodes", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_the_list_has_every_type_under_its_category(capsys: pytest.CaptureFixture[str]) -> None:
    category, found = "", {}
    for line in printed(capsys, "--no-packs").splitlines():
        if line.startswith("  "):
            type_, doc = line.split(maxsplit=1)
            found[type_] = (category, doc)
        else:
            category = line
    assert found["FrameStack@1"][0] == "vision"
    assert found["RetroEmulator@3"][0] == "consoles"
    assert len(found) == len(REGISTRY)
    for name, cls in REGISTRY.items():
        _, doc = found[f"{name}@{cls.version}"]
        paragraph, _, _ = (cls.__doc__ or "").partition("\n\n")
        assert doc.split() == paragraph.split()


def test_the_list_as_json(capsys: pytest.CaptureFixture[str], pack: Path) -> None:
    nodes = json.loads(printed(capsys, "--json", "--pack", pack))["nodes"]
    assert {"type": "nodepack.Screen@2", "category": "nodepack", "doc": "A screen."} in nodes
    assert {"type": "nodepack.Plain@1", "category": "control", "doc": ""} in nodes
    assert len(nodes) >= len(REGISTRY) + 2


def test_everything_about_a_type_as_json(capsys: pytest.CaptureFixture[str], pack: Path) -> None:
    description = json.loads(printed(capsys, "nodepack.Screen", "--json", "--pack", pack))
    assert description["doc"] == "A screen.\n\nTwo lines of it."
    assert (description["version"], description["every_tick"], description["register"]) == (
        2,
        False,
        True,
    )
    inputs = {entry.pop("name"): entry for entry in description["inputs"]}
    assert inputs == {
        "wish": {
            "type": "flag",
            "reading": "on",
            "many": False,
            "optional": True,
            "doc": "what is wanted, in two lines",
        },
        "power": {
            "type": "number",
            "reading": "last",
            "many": True,
            "optional": False,
            "doc": "what it takes",
        },
        "heat": {
            "type": "number",
            "reading": "aged",
            "many": False,
            "optional": False,
            "doc": "what it takes",
        },
        "mood": {"type": "flag", "reading": "last", "many": False, "optional": True, "doc": ""},
    }
    assert description["outputs"] == [
        {
            "name": "frame",
            "type": "frame u8[h w c]",
            "lazy": True,
            "absent": False,
            "doc": "the picture",
        },
        {"name": "ready", "type": "flag", "lazy": False, "absent": True, "doc": ""},
    ]
    speed, limits = description["widgets"]
    assert (speed["type"], speed["required"], speed["default"]) == (
        "float of at least 0.0",
        True,
        None,
    )
    assert speed["schema"] == {"type": "number", "minimum": 0.0, "description": "pixels a tick"}
    assert (limits["type"], limits["required"], limits["default"]) == ("object of int", False, {})
    assert description["brain"] == {
        "kind": "table",
        "version": 3,
        "required": False,
        "tensors": [{"name": "rows", "type": "f32[n {steps}]", "doc": "the rows"}],
        "further_tensors": False,
        "settings": [
            {"name": "steps", "type": "int", "required": False, "default": 4, "doc": "how many"},
            {"name": "name", "type": "text", "required": True, "default": None, "doc": "what for"},
        ],
    }


def test_everything_about_a_type_for_people(capsys: pytest.CaptureFixture[str], pack: Path) -> None:
    lines = []
    for line in printed(capsys, "nodepack.Screen@2", "--pack", pack).splitlines():
        words = line.split()
        lines.append(" ".join(words))
    assert lines[0] == "nodepack.Screen@2, in nodepack"
    for line in [
        "A register: gives out at the start of a tick and takes its inputs at the end.",
        "wish flag, on delivery, may be left unlinked, what is wanted, in two lines",
        "power number, the last value, any number of links, what it takes",
        "heat number, the last value with its age, what it takes",
        "frame frame u8[h w c], made only when something reads it, the picture",
        "ready flag, not delivered on every tick",
        "speed float of at least 0.0, must be set, pixels a tick",
        "limits object of int, default {}, by name",
        "brain of kind table, version 3, optional",
        "rows f32[n {steps}], the rows",
        "steps int, default 4, how many",
        "name text, must be set, what for",
    ]:
        assert line in lines


def test_a_clocked_node_says_so(capsys: pytest.CaptureFixture[str], pack: Path) -> None:
    assert "Clocked: runs on every tick" in printed(capsys, "nodepack.Plain", "--pack", pack)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_type_can_be_shown(capsys: pytest.CaptureFixture[str], name: str) -> None:
    description = json.loads(printed(capsys, name, "--json"))
    schema = REGISTRY[name].schema
    assert (description["brain"] is None) == (schema.brain is None)
    text = printed(capsys, name)
    for part in ("inputs", "outputs", "widgets"):
        for entry, expected in zip(description[part], getattr(schema, part), strict=True):
            assert entry["name"] == expected
            assert f"\n  {expected} " in text


def test_tensors_of_a_network_follow_from_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    networks = []
    for name, cls in REGISTRY.items():
        brain = cls.schema.brain
        if brain and "tensor_specs" in vars(brain):
            networks.append(name)
            assert "tensors that follow from the settings" in printed(capsys, name)
    assert "PolicyHead" in networks


def test_an_unknown_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nodes", "FrameStak", "--json"]) == 2
    out, err = capsys.readouterr()
    sentence = "there is no node type 'FrameStak'. Did you mean 'FrameStack'?"
    assert json.loads(out) == {"error": {"message": sentence}}
    assert err == f"{sentence}\n"


def test_the_schema_is_one_json_object(capsys: pytest.CaptureFixture[str], pack: Path) -> None:
    schema = json.loads(printed(capsys, "--schema", "--pack", pack))
    assert schema["$schema"].endswith("2020-12/schema")
    assert "nodepack.Screen@2" in schema["$defs"]


def test_an_unknown_option_is_answered_with_the_nearest_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["nodes", "--jsn"]) == 2
    message = capsys.readouterr().err
    assert "nodes: unrecognized arguments: --jsn (Did you mean '--json'?). All options" in message
