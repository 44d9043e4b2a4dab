"""What a node class says about itself: read from its annotations,
and refused at import where it is wrong.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Literal, NamedTuple, TypeVar

import pytest

from minibrains import (
    Absent,
    Action,
    Aged,
    Flag,
    Frame,
    Lazy,
    MinibrainsError,
    Node,
    Number,
    On,
    Register,
    Text,
    widget,
)
from minibrains.errors import NodeClassError
from minibrains.graph.registry import Registry
from minibrains.node_schema import Input, Output
from minibrains.sockets import read_socket

T = TypeVar("T")
MODULE = """
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar
import numpy
from minibrains import *
from minibrains import Aged

T = TypeVar("T")

class Table(Brain):
    kind = "table"
    rows: int = setting(1)

class Mixin:
    size: int = widget(default=3)
"""
Build = Callable[..., ModuleType]


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Build:
    """A module of nodes from its source, as an import would make it."""

    def make(source: str, future: bool = False) -> ModuleType:
        module = ModuleType("written_by_somebody")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        head = "from __future__ import annotations\n" if future else ""
        code = compile(
            head + MODULE + textwrap.dedent(source), "somebody.py", "exec", dont_inherit=True
        )
        exec(code, module.__dict__)
        return module

    return make


# -- refused ---------------------------------------------------------------------------------------

TICK, EMIT, LATCH = (
    "def tick(self) -> Flag: ...",
    "def emit(self) -> Flag: ...",
    "def latch(self) -> None: ...",
)
WRONG_NODES = {
    # inputs
    "input without annotation": (
        "def tick(self, x) -> Flag: ...",
        "Wrong.tick",
        "'x' has no annotation",
    ),
    "no return annotation": ("def tick(self, x: Frame): ...", "Wrong.tick", "no return annotation"),
    "unknown socket type": ("def tick(self, x: int) -> Flag: ...", "Wrong.x", "not a socket type"),
    "spec that cannot be read": (
        "def tick(self, x: Annotated[int, Socket('s', 'f33[3]')]) -> None: ...",
        "Wrong.x",
        "'f33[3]'",
    ),
    "*args": ("def tick(self, *xs: Frame) -> Flag: ...", "Wrong.tick", "*xs"),
    "**kwargs": ("def tick(self, **xs: Frame) -> Flag: ...", "Wrong.tick", "**xs"),
    "keyword only": ("def tick(self, *, x: Frame) -> Flag: ...", "Wrong.tick", "x: "),
    "default of an input": ("def tick(self, x: Number = 3.0) -> Flag: ...", "Wrong.x", "3.0"),
    "optional without default": (
        "def tick(self, x: Frame | None) -> Flag: ...",
        "Wrong.x",
        "= None",
    ),
    "optional list": (
        "def tick(self, x: list[Frame] | None = None) -> Flag: ...",
        "Wrong.x",
        "not a socket type",
    ),
    "nested readings": (
        "def tick(self, x: On[Aged[Frame]]) -> Flag: ...",
        "Wrong.x",
        "not a socket type",
    ),
    "Any with outputs": ("def tick(self, x: Any) -> Flag: ...", "Wrong", "takes Any"),
    # outputs
    "output that is not a socket": ("def tick(self) -> int: ...", "Wrong", "int"),
    "output of a plain tuple": ("def tick(self) -> tuple[Flag, Flag]: ...", "Wrong", "tuple"),
    "output Any": ("def tick(self) -> Any: ...", "Wrong", "Any"),
    "output no link can name": (
        "def tick(self) -> Annotated[int, Socket('my label')]: ...",
        "Wrong's output",
        "'my label'",
    ),
    "optional output": ("def tick(self) -> Flag | None: ...", "Wrong", "None"),
    "lazy output of a plain node": (
        "def tick(self) -> Lazy[Frame]: ...",
        "Wrong",
        "'frame' as Lazy",
    ),
    "no tick": ("", "Wrong", "no tick()"),
    "tick that is not a function": ("tick = 3", "Wrong", "not a callable"),
    # widgets
    "field that is not a widget": (f"size: int = 3\n{TICK}", "Wrong.size", "not a widget"),
    "field without a value": (f"size: int\n{TICK}", "Wrong.size", "not a widget"),
    "widget without annotation": (f"size = widget(default=3)\n{TICK}", "Wrong.size", "annotation"),
    "widget of no JSON type": (f"size: bytes = widget(default=b'')\n{TICK}", "Wrong.size", "bytes"),
    "widget of a mutable type": (f"size: list[int] = widget()\n{TICK}", "Wrong.size", "list"),
    "mutable default": (
        f"size: tuple[int, ...] = widget(default=[1])\n{TICK}",
        "Wrong.size",
        "mutable default [1]",
    ),
    "default of another type": (f"size: int = widget(default='3')\n{TICK}", "Wrong.size", "'3'"),
    "default out of range": (
        f"size: int = widget(default=9, max=3)\n{TICK}",
        "Wrong.size",
        "at most 3",
    ),
    "default that is not a choice": (
        f"size: Literal['a', 'b'] = widget(default='c')\n{TICK}",
        "Wrong.size",
        "'c'",
    ),
    "widget and input": (
        "x: int = widget(default=1)\ndef tick(self, x: Flag) -> Flag: ...",
        "Wrong.x",
        "both",
    ),
    "widget named like a method": (
        f"state: str = widget(default='')\n{TICK}",
        "Wrong.state",
        "another one",
    ),
    "widget named like the version": (
        f"version: int = widget(default=1)\n{TICK}",
        "Wrong.version",
        "another name",
    ),
    "widget named like the schema": (
        f"schema: int = widget(default=1)\n{TICK}",
        "Wrong.schema",
        "another one",
    ),
    # brain
    "brain that is not a Brain": (f"brain: int\n{TICK}", "Wrong.brain", "int"),
    "brain of no kind": (f"brain: Brain\n{TICK}", "Wrong.brain", "Brain"),
}
WRONG_REGISTERS = {
    "no emit": (TICK, "Wrong", "no emit()"),
    "no latch": (EMIT, "Wrong", "no latch()"),
    "emit with an input": (
        f"def emit(self, x: Flag) -> Flag: ...\n{LATCH}",
        "Wrong.emit",
        "Wrong.latch",
    ),
    "latch with an output": (f"def latch(self) -> Flag: ...\n{EMIT}", "Wrong.latch", "Wrong.emit"),
}
TEXT = "def emit(self) -> Text: ..."
WRONG_OPTIONS = {
    "unknown option": (
        "Node, evry_tick=True",
        TICK,
        "Wrong",
        "no class option 'evry_tick'. Did you mean 'every_tick'?",
    ),
    "renamed option": (
        "Node, keep=True",
        TICK,
        "Wrong",
        "no class option 'keep'. It is called 'cache_on_disk' now",
    ),
    "option like no other": (
        "Node, x=1",
        TICK,
        "Wrong",
        "The options are: abstract, category, version",
    ),
    "option of another type": ("Node, every_tick=1", TICK, "'every_tick'", "1; expected bool"),
    "category that is not text": ("Node, category=None", TICK, "'category'", "None; expected text"),
    "background of no kind": (
        "Node, background='fibre'",
        TICK,
        "'background'",
        "'process', 'either', 'allowed' or null",
    ),
    "background of a register": (
        "Register, background='thread'",
        f"{EMIT}\n{LATCH}",
        "Wrong",
        "this is a register",
    ),
    "version 0": ("Node, version=0", TICK, "'version'", "0"),
    "version that is not a number": ("Node, version='2'", TICK, "'version'", "'2'; expected int"),
    "missing migration": (
        "Node, version=3, migrations={1: dict}",
        TICK,
        "Wrong",
        "no migration from version 2",
    ),
    "migration that is not a function": (
        "Node, version=2, migrations={1: {}}",
        TICK,
        "Wrong",
        "no migration from version 1",
    ),
    "renamed outputs of a version to come": (
        "Node, renamed_outputs={1: {'a': 'flag'}}",
        TICK,
        "Wrong",
        "renames outputs of version 1; expected a version below",
    ),
    "renamed to an output it does not have": (
        "Node, version=2, renamed_outputs={1: {'a': 'b'}}",
        TICK,
        "Wrong",
        "the output 'a' to 'b', which it does not have",
    ),
    "renamed to a widget it does not have": (
        "Node, version=2, renamed_widgets={1: {'a': 'b'}}",
        TICK,
        "Wrong",
        "the widget 'a' to 'b', which it does not have",
    ),
    "renamed inputs of a version to come": (
        "Node, renamed_inputs={2: {'a': 'b'}}",
        TICK,
        "Wrong",
        "renames inputs of version 2; expected a version below",
    ),
    "migrations in a list": (
        "Node, migrations=[dict]",
        TICK,
        "'migrations'",
        "from a version to a function",
    ),
    "terminal of a plain node": ("Node, terminal='flag'", TICK, "'terminal'", "for registers"),
    "unknown terminal": ("Register, terminal='over'", f"{EMIT}\n{LATCH}", "'terminal'", "'over'"),
    "terminal that is not a flag": (
        "Register, terminal='text'",
        f"{TEXT}\n{LATCH}",
        "'terminal'",
        "'text'",
    ),
    "option in the body": (
        "Node",
        f"every_tick = True\n{TICK}",
        "Wrong.every_tick",
        "write class Wrong(Node, every_tick=True)",
    ),
    "misspelt option in the body": (
        "Node",
        f"backround = 'thread'\n{TICK}",
        "Wrong.backround",
        "background='thread'",
    ),
}
BRAIN, INITIAL = "brain: Table", "def initial(self, batch): ..."
OUT = "def forward(self, x: Frames) ->"
STATE = "def forward(self, x: Frames, state: Any) ->"
HALVES = "Annotated[numpy.ndarray, Socket('halves', 'bf16[n]')]"
WRONG_NETWORKS = {
    "no forward": (BRAIN, "Wrong", "no forward()"),
    "no brain": (f"{OUT} Logits: ...", "Wrong", "has no brain"),
    "brain that may be missing": (
        f"brain: Table | None = None\n{OUT} Logits: ...",
        "Wrong",
        "has no brain",
    ),
    "text for a network": (
        f"{BRAIN}\ndef forward(self, x: Text) -> Logits: ...",
        "Wrong.forward",
        "'x' is text",
    ),
    "two types": (
        f"{BRAIN}\ndef forward(self, x: Frames | Number) -> Logits: ...",
        "Wrong.forward",
        "one type",
    ),
    "type variable": (f"{BRAIN}\ndef forward(self, x: T) -> T: ...", "Wrong.forward", "'x' is T"),
    "Any for a network": (
        f"{BRAIN}\ndef forward(self, x: Any) -> Logits: ...",
        "Wrong",
        "takes Any",
    ),
    "bf16 on a link": (
        f"{BRAIN}\ndef forward(self, x: {HALVES}) -> Logits: ...",
        "Wrong.forward",
        "'x' is halves bf16[n]",
    ),
    "event": (
        f"{BRAIN}\ndef forward(self, x: On[Frames]) -> Logits: ...",
        "Wrong.forward",
        "'x' is On[…]",
    ),
    "no annotation": (
        f"{BRAIN}\ndef forward(self, x) -> Logits: ...",
        "Wrong.forward",
        "'x' has no annotation",
    ),
    "*args of forward": (
        f"{BRAIN}\ndef forward(self, *xs: Frames) -> Logits: ...",
        "Wrong.forward",
        "*xs",
    ),
    "keyword of forward": (
        f"{BRAIN}\ndef forward(self, *, x: Frames) -> Logits: ...",
        "Wrong.forward",
        "x: ",
    ),
    "absent output": (
        f"{BRAIN}\n{OUT} Logits | Absent: ...",
        "Wrong.forward",
        "'logits' is declared `| Absent`",
    ),
    "no output": (f"{BRAIN}\n{OUT} None: ...", "Wrong.forward", "gives out nothing"),
    "text of a network": (f"{BRAIN}\n{OUT} Text: ...", "Wrong.forward", "'text' is text"),
    "plain tuple": (
        f"{BRAIN}\n{OUT} tuple[Logits, Number]: ...",
        "Wrong.forward",
        "expected a NamedTuple",
    ),
    "initial without a state": (
        f"{BRAIN}\n{INITIAL}\n{OUT} tuple[Logits, Any]: ...",
        "Wrong.forward",
        "takes no state",
    ),
    "state that is not returned": (
        f"{BRAIN}\n{INITIAL}\n{STATE} Logits: ...",
        "Wrong.forward",
        "of outputs and state",
    ),
    "tick besides forward": (f"{BRAIN}\n{OUT} Logits: ...\n{TICK}", "Wrong", "writes tick()"),
    "reset besides initial": (
        f"{BRAIN}\n{INITIAL}\n{STATE} tuple[Logits, Any]: ...\ndef reset(self, episode): ...",
        "Wrong",
        "writes reset()",
    ),
}
WRONG_MIXTURES = {
    "widget of a class that is not a node": (TICK, "Wrong.size", "annotation in a node class")
}
BASES = {
    "Node": WRONG_NODES,
    "Register": WRONG_REGISTERS,
    "TorchNode": WRONG_NETWORKS,
    "Mixin, Node": WRONG_MIXTURES,
}
WRONG = {
    what: (base, *details) for base, table in BASES.items() for what, details in table.items()
} | WRONG_OPTIONS


@pytest.mark.parametrize("future", [False, True], ids=["plain", "future"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_class_is_refused_in_one_sentence(build: Build, wrong: str, future: bool) -> None:
    base, body, place, word = WRONG[wrong]
    with pytest.raises(NodeClassError) as error:
        build(f"class Wrong({base}):\n    '''A node.'''\n{textwrap.indent(body, '    ')}", future)
    assert place in str(error.value)
    assert word in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "source",
    [
        "class Wrong(Node):\n    def tick(self, x: Missing) -> Flag: ...",
        "class Wrong(Node):\n    def tick(self, x: np.ndarray) -> Flag: ...",
        "class Wrong(Node):\n    def tick(self, x: Text.nothing) -> Flag: ...",
        (
            "class Wrong(Node):\n    size: Missing = widget(default=3)\n    "
            "def tick(self) -> Flag: ..."
        ),
        (
            "class Both(NamedTuple):\n    a: Flag\n    b: "
            "Missing\nclass Wrong(Node):\n    def tick(self) -> Both: ..."
        ),
        "class Wrong(Node):\n    def tick(self, x: Flag | 'Missing') -> Flag: ...",
    ],
)
def test_an_annotation_that_cannot_be_evaluated_is_refused_in_one_sentence(
    build: Build, source: str
) -> None:
    with pytest.raises(NodeClassError, match=r"^Wrong: an annotation cannot be read"):
        build(source, future=True)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("x: int = setting(1)", "no kind"),
        ("kind = 3", "no kind"),
        ("kind = 'k'\n    x: int = 1", "Wrong.x"),
        ("kind = 'k'\n    x: bytes = setting(b'')", "Wrong.x"),
        ("kind = 'k'\n    x: int = tensor('f33[3]')", r"Wrong\.x: .*'f33\[3\]'"),
    ],
)
def test_a_wrong_brain_class_is_refused(build: Build, body: str, word: str) -> None:
    with pytest.raises(NodeClassError, match=word):
        build(f"class Wrong(Brain):\n    {body}\n")


# -- read ------------------------------------------------------------------------------------------


class Shown(NamedTuple):
    frame: Lazy[Frame]
    hit: Flag | Absent


class Reader(Node):
    def tick(
        self,
        last: Frame,
        event: On[Action],
        aged: Aged[Frame],
        many: list[Number],
        events: list[On[Number]],
        either: Frame | Text,
        same: T,
        optional: Frame | None = None,
        aged_optional: Aged[Frame] | None = None,
    ) -> T | Absent:
        raise NotImplementedError


class Shower(Register, terminal="hit"):
    def emit(self) -> Shown:
        raise NotImplementedError

    def latch(self, value: Number) -> None: ...


def kind(annotation: Any) -> Any:
    return read_socket(annotation)


def test_readings_of_inputs() -> None:
    expected = [
        Input("last", kind(Frame)),
        Input("event", kind(Action), "on", required=False),
        Input("aged", kind(Frame), "aged"),
        Input("many", kind(Number), many=True, must_be_linked=False),
        Input("events", kind(Number), "on", many=True, required=False, must_be_linked=False),
        Input("either", kind(Frame | Text)),
        Input("same", kind(T)),
        Input("optional", kind(Frame), required=False, must_be_linked=False),
        Input("aged_optional", kind(Frame), "aged", required=False, must_be_linked=False),
    ]
    assert dict(Reader.schema.inputs) == {declared.name: declared for declared in expected}


def test_outputs_are_one_value_or_the_fields_of_a_record() -> None:
    assert dict(Reader.schema.outputs) == {"value": Output("value", kind(T), absent=True)}
    assert not Reader.schema.returns_tuple
    assert dict(Shower.schema.outputs) == {
        "frame": Output("frame", kind(Frame), lazy=True),
        "hit": Output("hit", kind(Flag), absent=True),
    }
    assert Shower.schema.returns_tuple


class Settings(Node):
    """Every kind of widget there is."""

    size: int = widget(default=84, min=1, max=512, doc="pixels")
    share: float = widget(default=0.5, min=0)
    mode: Literal["greedy", "sample"] = widget(default="greedy")
    names: tuple[str, ...] = widget(default=("a",))
    rows: tuple[tuple[int, ...], ...] = widget(default=())
    table: Mapping[str, int | str] = widget(default=MappingProxyType({"x": 1}))
    maybe: int | None = widget(default=None)
    free: Any = widget()

    def tick(self) -> Flag:
        raise NotImplementedError


def test_widgets_have_their_defaults_and_ranges() -> None:
    node, widgets = Settings(free=None), Settings.schema.widgets
    assert (node.size, node.share, node.mode, node.names, dict(node.table), node.maybe) == (
        84,
        0.5,
        "greedy",
        ("a",),
        {"x": 1},
        None,
    )
    assert widgets["size"].describe() == "int from 1 to 512"
    assert (widgets["size"].doc, widgets["free"].required, widgets["size"].required) == (
        "pixels",
        True,
        False,
    )


def test_what_a_widget_is_set_to_is_immutable_inside_the_node() -> None:
    given = {
        "names": ["b", "c"],
        "rows": [[1, 2], []],
        "table": {"y": "z"},
        "free": {"deep": [1, [2]]},
        "share": 1,
    }
    node = Settings(**given)  # type: ignore[arg-type]
    assert (node.names, node.rows, node.free["deep"]) == (("b", "c"), ((1, 2), ()), (1, (2,)))
    assert type(node.share) is float
    for table in (node.table, node.free):
        with pytest.raises(TypeError):
            table["new"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("size", 0, "int from 1 to 512"),
        ("size", 513, "int from 1 to 512"),
        ("size", 3.0, "int from 1 to 512"),
        ("size", True, "int"),
        ("size", "3", "int"),
        ("share", -0.1, "float of at least 0"),
        ("share", True, "float"),
        ("share", float("nan"), "float"),
        ("share", float("inf"), "float"),
        ("share", 10**400, "float"),
        ("mode", "best", "one of 'greedy', 'sample'"),
        ("names", "ab", "list of text"),
        ("names", [1], "list of text"),
        ("table", [], "object of int or text"),
        ("table", {"x": 1.5}, "object of int or text"),
        ("maybe", "", "int or null"),
    ],
)
def test_a_wrong_value_is_refused_with_what_was_expected(
    name: str, value: Any, expected: str
) -> None:
    with pytest.raises(ValueError, match=f"^Settings.{name}: expected {expected}") as error:
        Settings(free=0, **{name: value})
    assert repr(value) in str(error.value)


def test_an_unknown_or_missing_widget_or_brain_is_refused(build: Build) -> None:
    with pytest.raises(TypeError, match=r"Settings has no widget 'sizes'. Did you mean 'size'\?"):
        Settings(free=0, sizes=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Settings needs its widget 'free'"):
        Settings()  # type: ignore[call-arg]
    module = build("class Holder(Node):\n    brain: Table\n    def tick(self) -> Flag: ...\n")
    with pytest.raises(TypeError, match="Holder needs a brain of kind 'table'"):
        module.Holder()
    with pytest.raises(TypeError, match="Holder needs a brain of kind 'table', found 'a text'"):
        module.Holder(brain="a text")
    with pytest.raises(TypeError, match="Settings has no brain"):
        Settings(free=0, brain=module.Table())  # type: ignore[call-arg]
    assert module.Holder(brain=module.Table()).brain.rows == 1


def test_a_brain_may_be_optional(build: Build) -> None:
    module = build(
        "class Holder(Node):\n    brain: Table | None\n    def tick(self) -> Flag: ...\n"
    )
    assert (module.Holder.schema.brain, module.Holder.schema.brain_required) == (
        module.Table,
        False,
    )
    assert module.Holder().brain is None


# -- documentation ---------------------------------------------------------------------------------

DOCUMENTED = """
class Parts(NamedTuple):
    action: Action
    ready: Flag

class Gate(Node):
    '''Let an action through.

    Sometimes it does not:

        two:  this is prose, it is indented

    action:  wanted,
             now
    action (out):  let through
    first, second:  any
    Source: nowhere.
    '''
    def tick(self, action: Action, first: Flag, second: Flag) -> Parts: ...

class Inherits(Gate):
    '''Another.

    second:  the second
    '''

class Turned(Node):
    '''Turn it.

    Out:  the same
          again
    '''
    def tick(self, flag: Flag) -> Flag: ...

class Silent(Node):
    def tick(self, flag: Flag) -> Flag: ...
"""
WRONG_DOCS = {
    "of no socket": (
        "flagg: what is so",
        "'flagg', which is not one of its sockets. Did you mean 'flag'?",
    ),
    "of the only output by its name": (
        "text: what is said",
        "'text', which is not one of its sockets. Its sockets are: flag, Out",
    ),
    "of an output that is none": (
        "flag (out): what is so",
        "'flag (out)', which is not one of its sockets",
    ),
    "twice": ("flag: one\n\n    flag:  two", "two lines about 'flag'"),
    "one of two": ("flag, other: what is so", "'other', which is not one of its sockets"),
}


def test_lines_about_sockets_belong_to_the_sockets(build: Build) -> None:
    module = build(DOCUMENTED)
    gate = module.Gate.schema
    assert {name: declared.doc for name, declared in gate.inputs.items()} == {
        "action": "wanted, now",
        "first": "any",
        "second": "any",
    }
    assert {name: declared.doc for name, declared in gate.outputs.items()} == {
        "action": "let through",
        "ready": "",
    }
    prose = "Sometimes it does not:\n\n    two:  this is prose, it is indented\n\nSource: nowhere."
    assert (gate.summary, gate.doc) == (
        "Let an action through.",
        f"Let an action through.\n\n{prose}",
    )
    assert module.Turned.schema.outputs["flag"].doc == "the same again"
    assert module.Silent.schema.doc == module.Silent.schema.inputs["flag"].doc == ""


def test_what_a_base_says_of_its_sockets_is_inherited(build: Build) -> None:
    schema = build(DOCUMENTED).Inherits.schema
    assert schema.doc == "Another."
    assert (schema.inputs["first"].doc, schema.inputs["second"].doc) == ("any", "the second")
    assert schema.outputs["action"].doc == "let through"


@pytest.mark.parametrize("wrong", WRONG_DOCS)
def test_a_line_about_no_socket_is_refused(build: Build, wrong: str) -> None:
    line, words = WRONG_DOCS[wrong]
    with pytest.raises(NodeClassError) as error:
        build(
            f"class Wrong(Node):\n    '''A node.\n\n    {line}\n    '''\n    def tick(self, flag: "
            "Flag) -> Text: ...\n"
        )
    assert str(error.value).startswith("Wrong: the documentation has ")
    assert words in str(error.value)


# -- inheritance, modules --------------------------------------------------------------------------

FAMILY = """
class Base(Node, abstract=True, every_tick=True, category="tests"):
    size: int = widget(default=1, min=1)
    brain: Table

class First(Base):
    more: str = widget(default="x")
    def tick(self, frame: Frame) -> Flag: ...

class Second(First):
    size: int = widget(default=2)
    limit: ClassVar[int] = 3
    def tick(self, text: Text) -> Number: ...
"""


@pytest.mark.parametrize("future", [False, True], ids=["plain", "future"])
def test_node_classes_inherit_widgets_brain_and_steps(build: Build, future: bool) -> None:
    module = build(FAMILY, future)
    table = module.Table()
    first, second = module.First(brain=table), module.Second(brain=table, more="y")
    assert (first.size, first.more, second.size, second.more) == (1, "x", 2, "y")
    assert (list(module.First.schema.inputs), list(module.Second.schema.inputs)) == (
        ["frame"],
        ["text"],
    )
    assert module.Second.schema.brain is module.Table
    assert (module.Second.every_tick, module.Second.category) == (True, "tests")
    with pytest.raises(ValueError, match=r"First.size: expected int of at least 1, found 0"):
        module.First(brain=table, size=0)
    assert module.Second(brain=table, size=0).size == 0


def test_names_near_a_class_option_are_free_for_methods_and_annotated_constants(
    build: Build,
) -> None:
    fields = "cached_on_disk: ClassVar[int] = 3\n    outsides: int = widget(default=1)"
    methods = f"def report(self): return {{}}\n    def collect_data(self): ...\n    {TICK}"
    module = build(f"class Fine(Node):\n    {fields}\n    {methods}\n")
    assert (module.Fine.cached_on_disk, module.Fine.cache_on_disk) == (3, False)
    assert module.Fine().outsides == 1


def test_a_registry_takes_the_nodes_a_module_defines(build: Build) -> None:
    registry = Registry()
    module = build(FAMILY + "class _Hidden(First): ...\n")
    registry.add_module(module, "pack")
    assert set(registry) == {"pack.First", "pack.Second"}
    with pytest.raises(MinibrainsError, match=r"two node classes are called pack\.First"):
        registry.add_module(build(FAMILY), "pack")


def test_a_single_file_is_a_pack_and_hides_no_module(tmp_path: Path) -> None:
    import random

    path = tmp_path / "random.py"
    path.write_text(f"from __future__ import annotations\n{MODULE}{FAMILY}")
    registry = Registry()
    registry.add_file(path)
    assert set(registry) == {"random.First", "random.Second"}
    assert sys.modules["random"] is random
    for name in ("missing.py", "my-nodes.py"):
        (tmp_path / "my-nodes.py").write_text("")
        with pytest.raises(MinibrainsError, match=name):
            registry.add_file(tmp_path / name)
