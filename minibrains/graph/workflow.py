"""The workflow file: nodes, links, widget values, brains and layout.

The editor and the command line read the same file.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from minibrains.errors import Fault, FaultCode, WorkflowError, suggest
from minibrains.files import write_atomic
from minibrains.graph.breakpoint import Breakpoint, read_breakpoints
from minibrains.graph.socket_ref import NODE_ID, SocketRef, parse_socket_ref
from minibrains.graph.subgraphs import Box, expand, read_subgraphs
from minibrains.node_options import Executor
from minibrains.values import parse_json

FORMAT: Final = 1
"""The version of the file format, which is the value of `"minibrains"`."""
SIZE_LIMIT: Final = 64 * 2**20

FORMAT_MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""Version n -> a function that takes a whole file of version n and returns it in version n + 1."""

NODE_TYPE = re.compile(r"((?:[A-Za-z_][A-Za-z0-9_]*\.)?[A-Za-z_][A-Za-z0-9_]*)@([1-9][0-9]{0,5})")
RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?hz")
SHA256 = re.compile(r"[0-9a-f]{64}")

Mode = Literal["run", "mute", "bypass"]
OnError = Literal["stop", "hold", "fallback"]
Busy = Literal["wait", "continue"]
RunClock = Literal["fast", "realtime"]
"""fast: as fast as possible; realtime: at the console's own frame rate."""


@dataclass(frozen=True, slots=True)
class BrainPin:
    """The file name of a brain, and its SHA-256 if it must be exactly that one."""

    file: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """The entry of one node in a workflow file."""

    id: str
    type: str
    version: int
    set: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, tuple[SocketRef, ...]] = field(default_factory=dict)
    brain: BrainPin | None = None
    every: int = 1
    hertz: float | None = None
    offset: int = 0
    when: SocketRef | None = None
    mode: Mode = "run"
    on_error: OnError = "stop"
    background: Executor | None = None
    """The executor of a background node; None: the default of its class."""
    busy: Busy = "wait"
    """Whether the game waits while it thinks, or continues with the last result."""
    latency: int | None = None
    """Ticks from call to delivery under `continue`; None: 1."""
    timeout: float | None = None
    """Time limit of its thinking in seconds; exceeding it is an error, to which `on_error`
    applies."""
    optional: bool = False
    """The node may run less often when deadlines are missed."""
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The entry as it was read. Keys that this version does not know are kept here and saved
    again."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The run settings of a workflow, which the command line may override."""

    episodes: int = 1
    ticks: int | None = None
    seed: int = 0
    clock: RunClock = "fast"


@dataclass(frozen=True, slots=True)
class Workflow:
    """A parsed workflow.

    `faults` lists what is wrong with its form; checking finds the rest.
    """

    nodes: Mapping[str, NodeEntry]
    title: str = ""
    run: RunSettings = RunSettings()
    path: Path | None = None
    faults: tuple[Fault, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The file as it was read, migrated to this format. Unknown and unreadable parts are kept here
    and saved again."""
    breakpoints: tuple[Breakpoint, ...] = ()
    """Conditions that pause a run of the service. They change nothing of what is played."""
    boxes: Mapping[str, Box] = field(default_factory=dict)
    """The boxes of the file by path. Their nodes are among `nodes`."""

    @property
    def name(self) -> str:
        """The name of the file, without its suffix."""
        return self.path.stem if self.path else "workflow"

    @property
    def where(self) -> str:
        """The name of the workflow in messages."""
        return str(self.path or "the workflow")

    def to_json(self) -> dict[str, Any]:
        """Return the contents of the file, including everything that this version does not know."""
        return {**self.raw, "minibrains": FORMAT}

    def hash(self, brains: Mapping[str, str]) -> str:
        """Return the SHA-256, in hexadecimal, of everything that determines its games: the nodes
        with settings and links, their brains, and the limit of an episode. Layout, titles, the
        seed, the number of episodes and the files of the game do not change it.

        Args:
            brains: The SHA-256 of each node's brain, by node; the name of its file does not count.
        """
        nodes: dict[str, Any] = {}
        for name, entry in self.nodes.items():
            nodes[name] = {**entry.raw, "brain": brains.get(name)}
        text = json.dumps({"nodes": nodes, "ticks": self.run.ticks}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def save(self, path: Path) -> None:
        """Write the file under a temporary name, then rename it."""
        write_atomic(path, dump_json(self.to_json()))

    def with_run(self, settings: RunSettings) -> Workflow:
        """Return this workflow with other run settings."""
        run = {key: value for key, value in asdict(settings).items() if value is not None}
        return replace(self, run=settings, raw={**self.raw, "run": run})

    def with_node(self, name: str, entry: Mapping[str, Any]) -> Workflow:
        """Return this workflow with one node added or replaced, given as an entry of the file.

        An entry for a node of a box, given by its path, replaces it in this box alone.
        """
        nodes = self.raw.get("nodes")
        if not isinstance(nodes, dict):
            nodes = {}
        return parse_workflow({**self.to_json(), "nodes": {**nodes, name: entry}}, self.path)

    def with_brains(self, brains: Mapping[str, BrainPin]) -> Workflow:
        """Return this workflow with other brains, also inside of its boxes.

        Args:
            brains: The new brain for each file; other files stay.
        """

        def changed(brain: Any) -> Any:
            pin = _read_brain(brain, _ignore)
            if pin is None or pin.file not in brains:
                return brain
            return asdict(brains[pin.file])

        def change(nodes: Any) -> None:
            for entry in nodes.values():
                if "brain" in entry:
                    entry["brain"] = changed(entry["brain"])
                for name, brain in entry.get("brains", {}).items():
                    entry["brains"][name] = changed(brain)

        data = copy.deepcopy(self.to_json())
        change(data["nodes"])
        for name in {box.subgraph for box in self.boxes.values()}:
            change(data["defs"][name]["nodes"])
        return parse_workflow(data, self.path)

    def nodes_of(self, name: str) -> tuple[str, ...]:
        """Return the nodes that an id stands for: itself, or those of a box."""
        if name in self.boxes:
            return self.boxes[name].nodes
        return (name,)


def dump_json(value: Any) -> str:
    """Return JSON in the layout of our files: indented, short lists on one line,
    a newline at the end.
    """
    text = json.dumps(value, indent=1, ensure_ascii=False)
    # a line ends with [ only where a list begins: JSON texts contain no line breaks
    return re.sub(r"\[\n([^\[\]{}]{0,200}?)\n *\]", _in_one_line, text) + "\n"


def _in_one_line(lines: re.Match[str]) -> str:
    items = [line.strip() for line in lines[1].split("\n")]
    return f"[{' '.join(items)}]"


def load_workflow(path: Path) -> Workflow:
    """Read a workflow file.

    Raises WorkflowError if it is not a workflow at all; `Workflow.faults` has the rest.
    """
    try:
        if path.stat().st_size > SIZE_LIMIT:
            raise WorkflowError(
                [Fault(f"the file is larger than {SIZE_LIMIT >> 20} MB", code="invalid_file")],
                str(path),
            )
        data = parse_json(path.read_bytes())
    except OSError as error:
        fault = Fault(f"the file cannot be read: {error.strerror or error}", code="invalid_file")
        raise WorkflowError([fault], str(path)) from None
    except ValueError as error:
        raise WorkflowError(
            [Fault(f"this is not JSON: {error}", code="invalid_file")], str(path)
        ) from None
    return parse_workflow(data, path)


def parse_workflow(data: Any, path: Path | None = None) -> Workflow:
    """Read a workflow from JSON data. Raises WorkflowError only if it is not a workflow at all."""
    data = _in_our_format(data, str(path or "the workflow"))
    faults: list[Fault] = []
    nodes = data.get("nodes")
    if not isinstance(nodes, dict) or not nodes:
        faults.append(
            Fault('"nodes" is not an object with at least one node', code="invalid_workflow")
        )
        nodes = {}
    subgraphs = read_subgraphs(data.get("defs", {}), faults)
    nodes, boxes = expand(nodes, subgraphs, faults)
    entries: dict[str, NodeEntry] = {}
    for name in nodes:
        entry = read_node(name, nodes[name], faults)
        if entry is not None:
            entries[name] = entry
    for key in data:
        if key not in _KEYS:
            hint = 'Data of your own belongs under "extra"'
            faults.append(Fault(f"the key {key!r} is not known", hint=hint, code="unknown_key"))
    title = data.get("title", "")
    if not isinstance(title, str):
        faults.append(Fault('"title" is not a text', found=repr(title), code="invalid_value"))
        title = ""
    run = _read_run(data.get("run", {}), faults)
    breakpoints = []
    for breakpoint in read_breakpoints(data.get("breakpoints", {}), faults):
        if breakpoint.node in boxes and breakpoint.socket in boxes[breakpoint.node].outputs:
            output = boxes[breakpoint.node].outputs[breakpoint.socket]
            breakpoint = replace(breakpoint, node=output.node, socket=output.socket)
        breakpoints.append(breakpoint)
    return Workflow(entries, title, run, path, tuple(faults), data, tuple(breakpoints), boxes)


def _in_our_format(data: Any, where: str) -> Any:
    """Return a workflow's data in today's format.

    Raises WorkflowError if it is not a workflow, or cannot be migrated.
    """
    if not isinstance(data, dict):
        fault = Fault(
            "a workflow is a JSON object", found=type(data).__name__, code="invalid_workflow"
        )
        raise WorkflowError([fault], where)
    if "minibrains" not in data:
        _refuse_comfyui(data, where)
    number = data.get("minibrains")
    if type(number) is not int or number < 1:
        fault = Fault(
            'the key "minibrains" is missing',
            expected=f'"minibrains": {FORMAT}',
            code="invalid_workflow",
        )
        raise WorkflowError([fault], where)
    if number > FORMAT:
        hint = "It was saved by a newer Minibrains; update yours"
        fault = Fault(
            f"format {number} is not known",
            expected=f"at most {FORMAT}",
            hint=hint,
            code="newer_version",
        )
        raise WorkflowError([fault], where)
    for step in range(number, FORMAT):
        try:
            data = FORMAT_MIGRATIONS[step](data)
        except Exception as error:
            message = (
                f"format {step} cannot be brought to format {step + 1}: "
                f"{type(error).__name__}: {error}"
            )
            raise WorkflowError([Fault(message, code="migration_failed")], where) from error
    return _with_wait(data)


def _with_wait(data: dict[str, Any]) -> dict[str, Any]:
    """Return a workflow's data with `"busy": "wait"` for `"hold"`, its former name; the same
    object if no node has it.
    """
    data = _with_waiting_nodes(data)
    subgraphs = data.get("defs")
    if not isinstance(subgraphs, dict):
        return data
    changed: dict[str, Any] = {}
    for name, subgraph in subgraphs.items():
        if isinstance(subgraph, dict):
            migrated = _with_waiting_nodes(subgraph)
            if migrated is not subgraph:
                changed[name] = migrated
    if not changed:
        return data
    return {**data, "defs": {**subgraphs, **changed}}


def _with_waiting_nodes(graph: dict[str, Any]) -> dict[str, Any]:
    """Do the same for the nodes of a workflow, or of a subgraph."""
    nodes = graph.get("nodes")
    if not isinstance(nodes, dict):
        return graph
    changed: dict[str, Any] = {}
    for name, entry in nodes.items():
        if isinstance(entry, dict) and entry.get("busy") == "hold":
            changed[name] = {**entry, "busy": "wait"}
    if not changed:
        return graph
    return {**graph, "nodes": {**nodes, **changed}}


def is_comfyui_prompt(data: Any) -> bool:
    """Return whether JSON data is a prompt in ComfyUI's API format: nodes with a `class_type`,
    by id.
    """
    if not isinstance(data, dict) or not data or "minibrains" in data:
        return False
    return all(isinstance(node, dict) and "class_type" in node for node in data.values())


def _refuse_comfyui(data: Mapping[str, Any], where: str) -> None:
    """Raise WorkflowError if the data is in one of ComfyUI's formats."""
    if is_comfyui_prompt(data):
        found = "a prompt in ComfyUI's API format"
        hint = "POST /prompt of a server plays such a prompt, if its nodes are those of Minibrains"
    elif isinstance(data.get("nodes"), list) and "links" in data:
        found = "a workflow as ComfyUI's editor saves it"
        hint = "Build the graph here, or export it there in the API format, for POST /prompt"
    else:
        return
    expected = f'a workflow of Minibrains, with "minibrains": {FORMAT}'
    fault = Fault(
        "this is a file of ComfyUI",
        expected=expected,
        found=found,
        hint=hint,
        code="invalid_workflow",
    )
    raise WorkflowError([fault], where)


_KEYS = (
    "minibrains", "title", "description", "nodes", "layout", "groups", "breakpoints", "run", "defs",
    "extra",
)  # fmt: skip
_NODE_KEYS = (
    "type", "set", "in", "brain", "every", "offset", "when", "background", "busy", "latency",
    "timeout", "optional", "mode", "on_error", "title",
)  # fmt: skip


def read_node(name: str, entry: Any, faults: list[Fault]) -> NodeEntry | None:
    """Read one node's entry and append its faults to `faults`;
    return None if it cannot be read at all.
    """

    def wrong(message: str, code: FaultCode = "invalid_value", **details: Any) -> None:
        faults.append(Fault(message, name, code=code, **details))

    def choice(key: str, options: tuple[str | None, ...]) -> Any:
        value = entry.get(key, options[0])
        if value in options:
            return value
        named = [option for option in options if option is not None]
        expected = "one of " + ", ".join(named)
        wrong(f'"{key}" is not known', "value_not_in_list", expected=expected, found=repr(value))
        return options[0]

    if not NODE_ID.fullmatch(name):
        faults.append(
            Fault(f"the node id {name!r} may only have a-z, 0-9 and _", code="invalid_node_id")
        )
    if not isinstance(entry, dict):
        wrong("a node is a JSON object", found=type(entry).__name__)
        return None
    match = None
    if isinstance(entry.get("type"), str):
        match = NODE_TYPE.fullmatch(entry["type"])
    if match is None:
        expected = 'a type with its version, for example "FrameStack@1"'
        wrong(
            '"type" cannot be read',
            "invalid_node_type",
            expected=expected,
            found=repr(entry.get("type")),
        )
        return None
    for key in entry:
        if key not in _NODE_KEYS:
            wrong(f"the key {key!r} is not known", "unknown_key", hint=suggest(key, _NODE_KEYS))
    settings = entry.get("set", {})
    if not isinstance(settings, dict):
        wrong('"set" is not an object of widget values', found=type(settings).__name__)
        settings = {}
    every, hertz, offset = _read_rate(entry, wrong)
    links = _read_links(entry.get("in", {}), wrong)
    brain = _read_brain(entry.get("brain"), wrong)
    when = None
    if entry.get("when") is not None:
        when = _read_link("when", entry["when"], wrong)
    return NodeEntry(
        name,
        match[1],
        int(match[2]),
        settings,
        links,
        brain,
        every,
        hertz,
        offset,
        when,
        choice("mode", ("run", "mute", "bypass")),
        choice("on_error", ("stop", "hold", "fallback")),
        choice("background", (None, "thread", "process")),
        choice("busy", ("wait", "continue")),
        *_read_background_keys(entry, wrong),
        entry,
    )


def _read_rate(
    entry: Mapping[str, Any], wrong: Callable[..., None]
) -> tuple[int, float | None, int]:
    every, hertz = entry.get("every", 1), None
    if isinstance(every, str) and (match := RATE.fullmatch(every)) and 0 < float(match[1]) < 1e6:
        every, hertz = 1, float(match[1])
    elif type(every) is not int or not 1 <= every < 2**31:
        wrong(
            '"every" cannot be read',
            expected='a number of ticks from 1 or a rate like "10 hz"',
            found=repr(every),
        )
        every = 1
    offset = entry.get("offset", 0)
    if type(offset) is not int or not 0 <= offset < every:
        wrong(
            '"offset" cannot be read',
            expected=f'a number of ticks below "every" ({every})',
            found=repr(offset),
        )
        offset = 0
    return every, hertz, offset


def _read_background_keys(
    entry: Mapping[str, Any], wrong: Callable[..., None]
) -> tuple[int | None, float | None, bool]:
    """Return `latency`, `timeout` and `optional` of an entry."""
    latency, timeout, optional = (
        entry.get("latency"),
        entry.get("timeout"),
        entry.get("optional", False),
    )
    if latency is not None and (type(latency) is not int or not 1 <= latency < 2**31):
        wrong(
            '"latency" is not a number of ticks',
            expected="a whole number from 1",
            found=repr(latency),
        )
        latency = None
    elif latency is not None and entry.get("busy") != "continue":
        wrong(
            (
                '"latency" is for nodes with "busy": "continue"; '
                'under "wait" the result is there on the same tick'
            ),
            "not_applicable",
        )
    if timeout is not None and (type(timeout) not in (int, float) or not 0 < timeout < 1e6):
        wrong(
            '"timeout" is not a number of seconds', expected="a number above 0", found=repr(timeout)
        )
        timeout = None
    if type(optional) is not bool:
        wrong('"optional" is neither true nor false', found=repr(optional))
        optional = False
    return latency, None if timeout is None else float(timeout), optional


def _read_link(key: str, text: Any, wrong: Callable[..., None]) -> SocketRef | None:
    link = parse_socket_ref(text)
    if link is None:
        wrong(
            "the link cannot be read",
            "bad_linked_input",
            socket=key,
            expected='"node.output"',
            found=repr(text),
        )
    return link


def _read_links(inputs: Any, wrong: Callable[..., None]) -> dict[str, tuple[SocketRef, ...]]:
    if not isinstance(inputs, dict):
        wrong('"in" is not an object of links', "bad_linked_input", found=type(inputs).__name__)
        return {}
    result = {}
    for socket, texts in inputs.items():
        if texts == []:
            continue  # an input with an empty list counts as not linked
        links: list[SocketRef] = []
        for text in texts if isinstance(texts, list) else [texts]:
            link = _read_link(socket, text, wrong)
            if link is not None:
                links.append(link)
        result[socket] = tuple(links)
    return result


def _ignore(*_: Any, **__: Any) -> None:
    """Take a fault that is reported elsewhere."""


def _read_brain(brain: Any, wrong: Callable[..., None]) -> BrainPin | None:
    if brain is None:
        return None
    pin = {"file": brain} if isinstance(brain, str) else brain
    if (
        not isinstance(pin, dict)
        or not {"file"} <= set(pin) <= {"file", "sha256"}
        or not isinstance(pin["file"], str)
        or not pin["file"]
        or "\0" in pin["file"]
        or not (
            pin.get("sha256") is None
            or (isinstance(pin["sha256"], str) and SHA256.fullmatch(pin["sha256"]))
        )
    ):
        wrong(
            '"brain" cannot be read',
            expected='a file name, or {"file": …, "sha256": …}',
            found=repr(brain),
        )
        return None
    return BrainPin(pin["file"], pin.get("sha256"))


def _read_run(settings: Any, faults: list[Fault]) -> RunSettings:
    result = RunSettings()
    if not isinstance(settings, dict):
        expected = '{"episodes": 1, "ticks": 600, "seed": 0}'
        faults.append(Fault('"run" is not an object', expected=expected, code="invalid_value"))
        return result
    run_clocks, known = get_args(RunClock), [field.name for field in fields(RunSettings)]
    for key, value in settings.items():
        if key not in known:
            faults.append(
                Fault(f'"run" has no key {key!r}', hint=suggest(key, known), code="unknown_key")
            )
        elif key == "clock" and value not in run_clocks:
            message, expected = f'"run": {key!r} is not known', "one of " + ", ".join(run_clocks)
            faults.append(
                Fault(message, expected=expected, found=repr(value), code="value_not_in_list")
            )
        elif key != "clock" and (type(value) is not int or not (key != "seed") <= value < 2**63):
            message = f'"run": {key!r} is not a whole number from {int(key != "seed")}'
            faults.append(Fault(message, found=repr(value), code="invalid_value"))
        else:
            result = replace(result, **{key: value})
    return result
