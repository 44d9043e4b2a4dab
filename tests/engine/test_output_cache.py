"""Constant nodes run once, and only those downstream of a change run again."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from minibrains import (
    ABSENT,
    Absent,
    Brain,
    Episode,
    Node,
    Number,
    Register,
    Socket,
    setting,
    widget,
)
from minibrains.disk_cache import DiskCache, Made
from minibrains.engine.engine import Engine
from minibrains.engine.node_runtime import NodeFailed
from minibrains.engine.output_cache import OutputCache, size_of
from minibrains.graph.registry import Registry
from tests.support.engine_fixtures import Entries, Noted, make_plan, node, open_engine
from tests.support.paths import ROOT
from tests.support.timeouts import TIMEOUT

Row = Annotated[np.ndarray, Socket("row", "f32[n]")]


class Clock(Noted, Register):
    def reset(self, episode: Episode) -> None:
        self.now = 0

    def emit(self) -> Number:
        return self.now

    def latch(self) -> None:
        self.now += 1


class Offset(Brain):
    """A number."""

    kind = "offset"
    number: int = setting(0, "added")


class Data(Noted, Node):
    size: int = widget(default=4)
    first: int = widget(default=1)

    def tick(self) -> Row:
        self.note("tick")
        return np.full(self.size, self.first, np.float32)


class Double(Noted, Node):
    times: int = widget(default=2)

    def tick(self, row: Row) -> Row:
        self.note("tick")
        return row * self.times


class Shift(Noted, Node):
    brain: Offset

    def tick(self, row: Row) -> Row:
        self.note("tick")
        return row + self.brain.number


class Total(Noted, Node, cache_on_disk=True):
    def tick(self, row: Row) -> Number:
        self.note("tick")
        return float(row.sum())


class Halves(NamedTuple):
    left: Row
    right: Row | Absent


class Split(Noted, Node, cache_on_disk=True):
    def tick(self, row: Row) -> Halves:
        self.note("tick")
        return Halves(row[::2], ABSENT if len(row) < 2 else row[1::2])


class Unstorable(Noted, Node, cache_on_disk=True):
    def tick(self) -> Number:
        return {1, 2}  # type: ignore[return-value]


class Breaks(Noted, Node):
    def tick(self) -> Number:
        raise ValueError("there is no data")


class Seen(Noted, Node):
    def tick(self, number: Number, row: Row | None = None) -> None:
        self.note("seen", number)


TYPES = [cls for cls in Noted.__subclasses__() if cls.__module__ == __name__]


def chain() -> dict[str, dict[str, Any]]:
    """data -> double -> shift -> total, and two that are beside it."""
    return {
        "clock": node("Clock"),
        "data": node("Data"),
        "double": node("Double", {"row": "data.row"}),
        "shift": node("Shift", {"row": "double.row"}, brain="offset.safetensors"),
        "total": node("Total", {"row": "shift.row"}),
        "split": node("Split", {"row": "data.row"}),
        "beside": node("Double", {"row": "split.right"}),
        "seen": node("Seen", {"number": "total.number", "row": "beside.row"}),
    }


@pytest.fixture
def brains(tmp_path: Path) -> Path:
    _offset(tmp_path, 3)
    return tmp_path


def _offset(folder: Path, number: int) -> None:
    Offset(number=number).save(folder / "offset.safetensors", title="an offset", made_by="a test")


def ran(
    entries: Entries, cache: OutputCache, brains: Path, episodes: int = 1
) -> tuple[set[str], list[Any]]:
    """Return which constant nodes ran, and what was seen."""
    engine = Engine(make_plan(entries, TYPES, brains), cache)
    calls = open_engine(engine)
    for index in range(episodes):
        engine.reset(index, 0)
        engine.advance(5)
    assert engine.close() == []
    counted = {name: (times.runs, times.cached) for name, times in engine.node_stats().items()}
    found = [call.node for call in calls if call.what == "tick"]
    assert len(found) == len(set(found))
    constants = {name for name in entries if name not in ("clock", "seen")}
    waiting = {name for name in constants if counted[name] == (0, 0)}
    for name in constants - waiting:
        assert counted[name] == ((1, episodes - 1) if name in found else (0, episodes))
    return set(found), [call.arguments[0] for call in calls if call.what == "seen"]


EVERYTHING = {"data", "double", "shift", "total", "split", "beside"}


def test_constant_nodes_run_once_for_all_episodes(brains: Path) -> None:
    assert ran(chain(), OutputCache(), brains, episodes=4) == (EVERYTHING, [20.0] * 4)


def test_nothing_of_it_runs_again_in_the_next_run(brains: Path) -> None:
    cache = OutputCache()
    ran(chain(), cache, brains)
    assert ran(chain(), cache, brains, episodes=2) == (set(), [20.0, 20.0])


@pytest.mark.parametrize(
    ("name", "change", "again", "total"),
    [
        ("data", {"set": {"first": 2}}, EVERYTHING, 28.0),
        ("double", {"set": {"times": 3}}, {"double", "shift", "total"}, 24.0),
        ("beside", {"set": {"times": 3}}, {"beside"}, 20.0),
        ("beside", {"in": {"row": "split.left"}}, {"beside"}, 20.0),
        ("seen", {"every": 2}, set(), 20.0),
        ("total", {"title": "the sum"}, set(), 20.0),
    ],
)
def test_only_what_lies_downstream_of_a_change_runs_again(
    name: str, change: Mapping[str, Any], again: set[str], total: float, brains: Path
) -> None:
    cache = OutputCache()
    ran(chain(), cache, brains)
    entries = chain()
    entries[name] |= change
    assert ran(entries, cache, brains) == (again, [total])
    assert ran(chain(), cache, brains) == (set(), [20.0]), "what was before is still there"


def test_a_brain_with_other_content_under_the_same_name_is_another(brains: Path) -> None:
    cache = OutputCache()
    ran(chain(), cache, brains)
    _offset(brains, 4)
    assert ran(chain(), cache, brains) == ({"shift", "total"}, [24.0])
    _offset(brains, 3)
    assert ran(chain(), cache, brains)[0] == set()


def test_an_output_that_is_absent_is_kept_as_such(brains: Path) -> None:
    cache = OutputCache()
    entries = chain()
    entries["data"]["set"] = {"size": 1}
    assert ran(entries, cache, brains) == (EVERYTHING - {"beside"}, [5.0])
    assert ran(entries, cache, brains) == (set(), [5.0])


def test_the_budget_lets_go_of_what_was_not_used_for_longest() -> None:
    row = np.zeros(100, np.uint8)
    cache = OutputCache(budget=3 * size_of(row))
    for name in "abc":
        cache.put(name, Made(row, 0.0), on_disk=False)
    assert cache.used == 3 * size_of(row)
    cache.get("a", on_disk=False)
    cache.put("d", Made(row, 0.0), on_disk=False)
    with pytest.raises(KeyError):
        cache.get("b", on_disk=False)
    assert [cache.get(name, on_disk=False).value is row for name in "acd"] == [True] * 3
    assert cache.used == 3 * size_of(row)


def test_what_is_larger_than_the_budget_is_not_kept() -> None:
    cache = OutputCache(budget=1000)
    cache.put("small", Made(np.zeros(100, np.uint8), 0.0), on_disk=False)
    cache.put("large", Made(np.zeros(2000, np.uint8), 0.0), on_disk=False)
    assert cache.get("small", on_disk=False).value is not None
    with pytest.raises(KeyError):
        cache.get("large", on_disk=False)


def test_a_run_with_no_budget_comes_to_the_same(brains: Path) -> None:
    cache = OutputCache(budget=0)
    for _ in range(2):
        assert ran(chain(), cache, brains) == (EVERYTHING, [20.0])
    assert cache.used == 0


def test_what_was_found_is_told_with_the_time_it_took(brains: Path) -> None:
    disk = DiskCache(brains / "kept")
    savings: list[dict[str, Mapping[str, float]]] = []
    for cache in (OutputCache(disk=disk), OutputCache(disk=disk)):
        engine = Engine(make_plan(chain(), TYPES, brains), cache)
        open_engine(engine)
        savings.append(
            {name: times.savings for name, times in engine.node_stats().items() if times.savings}
        )
        assert engine.close() == []
    first, second = savings
    assert first == {}
    assert second.keys() == {"total", "split"}
    assert second["total"].keys() == {"its result"}
    assert second["total"]["its result"] > 0


# -- on disk ---------------------------------------------------------------------------------------


def test_another_process_finds_what_a_node_wants_kept(brains: Path) -> None:
    program = f"""
        import sys
        from pathlib import Path
        sys.path[:0] = {[str(ROOT)]!r}
        from tests.engine.test_output_cache import DiskCache, OutputCache, chain, ran
        print(ran(chain(), OutputCache(disk=DiskCache(Path("kept"))), Path(".")))
    """
    answers = []
    for _ in range(2):
        command = [sys.executable, "-c", textwrap.dedent(program)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            command, cwd=brains, env=environment, capture_output=True, text=True, timeout=TIMEOUT
        )
        assert done.returncode == 0, done.stderr
        answers.append(eval(done.stdout))
    assert answers == [(EVERYTHING, [20.0]), ({"data", "double", "shift", "beside"}, [20.0])]


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "longer", "gone"])
def test_a_damaged_file_is_worked_out_again(damage: str, brains: Path) -> None:
    folder = brains / "kept"
    ran(chain(), OutputCache(disk=DiskCache(folder)), brains)
    files = list(folder.iterdir())
    assert len(files) == 2
    for file in files:
        data = file.read_bytes()
        if damage == "gone":
            file.unlink()
            continue
        flipped = data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]
        file.write_bytes(
            {"cut": data[:-5], "empty": b"", "flipped": flipped, "longer": data + b"\0"}[damage]
        )
    assert ran(chain(), OutputCache(disk=DiskCache(folder)), brains) == (EVERYTHING, [20.0])
    assert ran(chain(), OutputCache(disk=DiskCache(folder)), brains) == (
        EVERYTHING - {"total", "split"},
        [20.0],
    ), "it is whole again"


def test_a_folder_that_cannot_be_written_costs_time_not_the_run(brains: Path) -> None:
    (brains / "file").write_text("no folder")
    assert ran(chain(), OutputCache(disk=DiskCache(brains / "file")), brains) == (
        EVERYTHING,
        [20.0],
    )


def test_a_node_whose_output_no_disk_can_have_is_named(brains: Path) -> None:
    engine = Engine(
        make_plan({"poor": node("Unstorable")}, TYPES), OutputCache(disk=DiskCache(brains / "kept"))
    )
    with pytest.raises(
        NodeFailed,
        match=(
            r"poor \(Unstorable\) failed before the first tick: TypeError: "
            r".*set cannot be packed"
        ),
    ):
        open_engine(engine)
    assert engine.close() == []


def test_an_error_in_a_constant_node_names_it() -> None:
    engine = Engine(make_plan({"poor": node("Breaks")}, TYPES))
    with pytest.raises(
        NodeFailed,
        match=r"poor \(Breaks\) failed before the first tick: ValueError: there is no data",
    ):
        open_engine(engine)
    assert engine.close() == []


NODE = """
from minibrains import Node, Number
{imports}

class Answer(Node, cache_on_disk=True):
    def tick(self) -> Number:
        return {answer}
"""
"""The source of a node that is kept."""


def _answer_anew(folder: Path, module: str) -> str:
    """Return how often another process ran the node of a module in the folder,
    and what it came to.
    """
    program = f"""
        import sys
        from importlib import import_module
        from pathlib import Path
        sys.path[:0] = [{str(ROOT)!r}, "."]
        from tests.support.engine_fixtures import make_plan, open_engine
        from minibrains.engine.engine import Engine
        from minibrains.disk_cache import DiskCache
        from minibrains.engine.output_cache import OutputCache
        Answer = import_module({module!r}).Answer
        plan = make_plan({{"a": {{"type": "Answer@1"}}}}, [Answer])
        engine = Engine(plan, OutputCache(disk=DiskCache(Path("kept"))))
        open_engine(engine)
        engine.reset(0, 0)
        engine.advance(1)
        print(engine.node_stats()["a"].runs, engine.runtimes["a"].constant.result)
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_node_whose_file_was_edited_is_another(tmp_path: Path) -> None:
    answers = []
    for number in (41, 41, 42):
        (tmp_path / "answer.py").write_text(NODE.format(imports="", answer=number))
        answers.append(_answer_anew(tmp_path, "answer"))
    assert answers == ["1 41", "0 41", "1 42"]


@pytest.mark.parametrize(
    ("node_file", "imports", "edited"),
    [
        ("answer.py", "from numbers_of_mine import NUMBER", "numbers_of_mine.py"),
        ("pack/nodes/answer.py", "from pack.data.table import NUMBER", "pack/data/table.py"),
    ],
)
def test_a_node_whose_pack_was_edited_is_another(
    node_file: str, imports: str, edited: str, tmp_path: Path
) -> None:
    for name in (node_file, edited):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / node_file).write_text(NODE.format(imports=imports, answer="NUMBER"))
    lock = (tmp_path / edited).with_name(".#table.py")
    lock.symlink_to("nobody@nowhere")
    answers = []
    for number in (41, 41, 42):
        (tmp_path / edited).write_text(f"NUMBER = {number}")
        answers.append(_answer_anew(tmp_path, node_file.removesuffix(".py").replace("/", ".")))
    assert answers == ["1 41", "0 41", "1 42"]


def test_what_an_older_pack_came_to_is_not_taken_for_what_the_edited_one_would(
    tmp_path: Path,
) -> None:
    file = tmp_path / "pack.py"
    disk = DiskCache(tmp_path / "kept")
    answers = []
    for read, edited in ((41, 420), (420, 4300), (41, 420)):
        file.write_text(NODE.format(imports="", answer=read))
        registry = Registry()
        registry.add_file(file)
        file.write_text(NODE.format(imports="", answer=edited))
        engine = Engine(
            make_plan({"a": node("Answer")}, [registry["pack.Answer"]]), OutputCache(disk=disk)
        )
        open_engine(engine)
        engine.reset(0, 0)
        engine.advance(1)
        times = engine.node_stats()["a"]
        constant = engine.runtimes["a"].constant
        assert constant is not None
        answers.append((times.runs, constant.result))
        assert engine.close() == []
    assert answers == [(1, 41), (1, 420), (0, 41)]


def test_another_version_of_an_installed_package_is_other_software(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(NODE.format(imports="", answer=41))
    installed = tmp_path / "library.dist-info"
    installed.mkdir()
    answers = []
    for version in ("1.0", "1.0", "1.1"):
        (installed / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: library\nVersion: {version}\n"
        )
        answers.append(_answer_anew(tmp_path, "answer"))
    assert answers == ["1 41", "0 41", "1 41"]
