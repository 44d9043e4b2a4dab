"""A type checker knows a node: its widgets, its brain, its class options; and the file that
`new-node` writes has no fault.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from server.cli import main

PACK = """
from typing import Literal

from minibrains import Brain, Flag, Node, Register, TorchNode, setting, widget


class Table(Brain):
    kind = "table"
    rows: int = setting(1)


class Resize(Node, category="vision", every_tick=True):
    width: int = widget(default=84, min=1)
    height: int = widget(default=84, min=1)
    filter: Literal["box", "near"] = widget(default="box")
    title: str = widget()

    def tick(self) -> Flag:
        return self.width > self.height


class Wider(Resize, version=1):
    margin: int = widget(default=0)


class Holder(Node):
    brain: Table

    def tick(self) -> Flag:
        return self.brain.rows > 0


class Network(TorchNode):
    brain: Table


Resize(title="a", width=3)
Wider(title="a", width=3, margin=2)
Holder(brain=Table())
Network(brain=Table())
width: int = Wider(title="a").width
"""
WRONG = {
    'Resize(title="a", heigth=3)': (
        'Unexpected keyword argument "heigth" for "Resize"; did you mean "height"?'
    ),
    "Resize()": 'Missing named argument "title" for "Resize"',
    'Resize(title="a", width="3")': (
        'Argument "width" to "Resize" has incompatible type "str"; expected "int"'
    ),
    'Resize(title="a", filter="far")': "expected \"Literal['box', 'near']\"",
    'Wider(title="a", margins=3)': 'Unexpected keyword argument "margins" for "Wider"',
    'text: str = Wider(title="a").width': (
        'Incompatible types in assignment (expression has type "int", variable has type "str")'
    ),
    "Holder()": 'Missing named argument "brain" for "Holder"',
    "Holder(brain=3)": 'Argument "brain" to "Holder" has incompatible type "int"; expected "Table"',
    "Network()": 'Missing named argument "brain" for "Network"',
    "class A(Node, clokced=True): ...": 'Unexpected keyword argument "clokced"',
    "class B(Register, terminal=3): ...": 'expected "str | None"',
    "class C(TorchNode, category=3): ...": 'expected "str"',
    'widget(84, doc="pixels")': 'Too many positional arguments for "widget"',
}


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy prints about a pack, and about a node that `new-node` has written."""
    file = tmp_path_factory.mktemp("typed") / "typed_pack.py"
    file.write_text(PACK + "\n".join(WRONG) + "\n")
    with pytest.MonkeyPatch.context() as changes:
        changes.chdir(file.parent)
        assert main(["new-node", "EdgeFilter"]) == 0
    config = file.with_name("mypy.ini")
    # all of torch takes ten seconds
    config.write_text("[mypy]\nstrict = True\n[mypy-torch.*]\nfollow_imports = skip\n")
    options = ("--config-file", str(config), "--no-pretty", "--hide-error-context")
    command = [sys.executable, "-m", "mypy", *options, file.name, "edge_filter.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=file.parent)
    assert done.returncode == 1, done.stderr
    return done.stdout


@pytest.fixture
def said(output: str) -> dict[int, list[str]]:
    """What mypy says of each line of the pack: the sound part first,
    then a wrong statement a line.
    """
    lines: dict[int, list[str]] = {}
    for line in output.splitlines():
        place, _, message = line.partition(": ")
        if place.startswith("typed_pack.py"):
            lines.setdefault(int(place.split(":")[1]), []).append(message)
    return lines


@pytest.mark.slow
def test_a_node_that_was_just_written_has_no_fault(output: str) -> None:
    *found, count = output.splitlines()
    assert count.endswith("in 1 file (checked 2 source files)")
    assert all(line.startswith("typed_pack.py") for line in found)


@pytest.mark.slow
def test_what_is_right_is_left_alone(said: dict[int, list[str]]) -> None:
    assert all(number > len(PACK.splitlines()) for number in said), said


@pytest.mark.slow
@pytest.mark.parametrize("statement", WRONG)
def test_what_is_wrong_is_named(said: dict[int, list[str]], statement: str) -> None:
    number = len(PACK.splitlines()) + 1 + list(WRONG).index(statement)
    assert WRONG[statement] in "\n".join(said.get(number, []))
