"""The conformance test that every node passes, for our nodes and yours.

A test of a node usually needs only `check_node`:

    from minibrains.testing import check_node

    def test_my_node() -> None:
        check_node(MyNode(strength=3), {"frame": picture}, {"frame": other_picture}, {"frame":
        picture})
"""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from minibrains.annotations import ABSENT, Aged
from minibrains.host import Episode, EpisodeStart, Host, WorkflowInfo
from minibrains.node import Node, Register, check_names
from minibrains.torch_node import TorchNode

Inputs = Mapping[str, Any]
_WORKFLOW = WorkflowInfo("workflow", "0" * 64)


@dataclass
class ScratchHost(Host):
    """A Host for tests: remembers the calls of a node, whose files go to `folder`.

    See Host for its methods.
    """

    folder: Path
    node: str = "node"
    tick: int = 0
    frame_rate: float | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    """The sentences that the node gave to `say`."""
    facts: dict[str, str] = field(default_factory=dict)
    shown: list[tuple[float, float | None, str]] = field(default_factory=list)
    stopping: bool = False
    workflow: WorkflowInfo = _WORKFLOW
    start: EpisodeStart | None = None
    linked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The answers of `sources`: input -> the ids of the nodes that are linked to it."""

    @property
    def said(self) -> list[str]:
        """The former name of `messages`, for tests that were written with it."""
        return self.messages

    @property
    def dir(self) -> Path:
        return self.folder

    def sources(self, socket: str) -> tuple[str, ...]:
        return self.linked.get(socket, ())

    def size(self, **sizes: int) -> None:
        self.sizes.update(sizes)

    def rate(self, frames_per_second: float) -> None:
        self.frame_rate = frames_per_second

    def say(self, text: str) -> None:
        self.messages.append(text)

    def record(self, **facts: str) -> None:
        self.facts.update(facts)

    def begin(self, start: EpisodeStart) -> None:
        self.start = start

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        self.shown.append((done, total, text))


@contextmanager
def opened(node: Node, host: ScratchHost | None = None) -> Iterator[ScratchHost]:
    """Check and open a node, and close it at the end of the `with` block.

    Without a host, its folder is temporary.
    """
    with tempfile.TemporaryDirectory() as folder:
        host = host or ScratchHost(Path(folder))
        try:
            node.check()
            node.open(host)
            check_names(node)
            node.settle()
            yield host
        finally:
            node.close()


def play(node: Node, *ticks: Inputs, episode: Episode | None = None) -> list[Any]:
    """Play an episode with an opened node.

    Args:
        node: An opened node; it is reset first.
        ticks: The inputs of each tick, by name.
        episode: The episode to reset it for; None: the first one, with seed 0.

    Returns:
        The result of `tick`, or of `emit`, on each tick.
    """
    node.reset(episode or Episode(0, 0, "node"))
    check_names(node)
    return [_step(node, inputs) for inputs in ticks]


def check_node(node: Node, *ticks: Inputs, host: ScratchHost | None = None) -> list[Any]:
    """Check that a node keeps the rules.

    It accepts read-only inputs and does not change them; its results are unchanged a tick later;
    after `reset` it behaves like a new node; `state()` and `load_state()` restore any tick, and the
    state can be pickled. A TorchNode's `forward` returns the same for an item in a batch as for the
    item alone.

    Args:
        node: A node that is not open yet.
        ticks: The inputs of each tick, by name; at least two ticks.
        host: The host to open the node with; None: a new one, with a temporary folder.

    Returns:
        The result of `tick`, or of `emit`, on each tick.

    Raises:
        AssertionError: The node breaks a rule, which the message names.

    Example:
        >>> import numpy as np
        >>> from nodes.vision.frames import Grayscale
        >>> black, white = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 255, np.uint8)
        >>> frames = check_node(Grayscale(), {"frame": black}, {"frame": white})
        >>> [int(frame.max()) for frame in frames]
        [0, 255]
    """
    if len(ticks) < 2:
        raise AssertionError("check_node needs at least two ticks of inputs")
    name = type(node).__name__
    with opened(node, host):
        first = _checked_run(node, name, ticks)
        _same(
            first,
            _checked_run(node, name, ticks),
            f"{name}: after reset() it is not as good as new",
        )
        for stop in range(len(ticks)):
            before = play(node, *ticks[:stop])
            saved = node.state()
            after = [_step(node, inputs) for inputs in ticks[stop:]]
            _same(first, before + after, f"{name}: state() changes what the node does")
            restored = pickle.loads(pickle.dumps(saved))
            node.load_state(restored)
            again = [_step(node, inputs) for inputs in ticks[stop:]]
            _same(after, again, f"{name}: load_state() of tick {stop} does not bring it back")
        play(node, *ticks, episode=Episode(1, 0, "node"))
        _same(first, play(node, *ticks), f"{name}: an episode changes a later one")
        if isinstance(node, TorchNode):
            _check_batch(node, name, ticks, first)
    return first


def _checked_run(node: Node, name: str, ticks: tuple[Inputs, ...]) -> list[Any]:
    node.reset(Episode(0, 0, "node"))
    results: list[Any] = []
    last: tuple[Any, Any] | None = None
    for inputs in ticks:
        given = {key: _read_only(value) for key, value in inputs.items()}
        original = copy.deepcopy(_thawed(given))
        result = _step(node, given)
        if not _equal(original, _thawed(given)):
            raise AssertionError(f"{name} changes its inputs")
        if last is not None and not _equal(*last):
            raise AssertionError(f"{name} writes into an output after it was returned")
        _check_absent(node, name, result)
        last = (result, copy.deepcopy(result))
        results.append(last[1])
    return results


def _step(node: Node, inputs: Inputs) -> Any:
    arguments = [_argument(node, name, inputs) for name in node.schema.inputs]
    if not isinstance(node, Register):
        tick: Callable[..., Any] = getattr(node, "tick")  # noqa: B009 - each class has its own signature
        return tick(*arguments)
    emit: Callable[[], Any] = getattr(node, "emit")  # noqa: B009
    latch: Callable[..., None] = getattr(node, "latch")  # noqa: B009
    given = emit()
    outputs = node.schema.outputs.values()
    if node.schema.returns_tuple:
        read: list[Any] = []
        for output, value in zip(outputs, given, strict=True):
            if output.lazy:
                read.append(value())
            else:
                read.append(value)
        given = tuple(read)
    latch(*arguments)
    return given


def _argument(node: Node, name: str, inputs: Inputs) -> Any:
    declared = node.schema.inputs[name]
    if name not in inputs and declared.required and not declared.many:
        raise AssertionError(
            f"{type(node).__name__} needs the input {name!r} on every tick of the test"
        )
    if declared.many:
        return inputs.get(name, [])
    return inputs.get(name)


def _check_absent(node: Node, name: str, result: Any) -> None:
    outputs = list(node.schema.outputs.values())
    if not outputs:
        return
    values = result if node.schema.returns_tuple else (result,)
    for output, value in zip(outputs, values, strict=True):
        if value is ABSENT and not output.absent:
            raise AssertionError(
                f"{name}.{output.name} is ABSENT, but it is not declared `| Absent`"
            )


def _check_batch(node: TorchNode, name: str, ticks: Sequence[Inputs], alone: Sequence[Any]) -> None:
    """Play the ticks in a batch of two, beside an item of zeros;
    `alone` holds the results of a batch of one.
    """
    import torch

    state = None
    if hasattr(node, "initial"):
        state = node.start_state(2)
    for tick, (inputs, expected) in enumerate(zip(ticks, alone, strict=True)):
        arguments = [_argument(node, key, inputs) for key in node.schema.inputs]
        batch = [_beside_zeros(value) for value in node.as_inputs(arguments)]
        with torch.inference_mode():
            try:
                if state is None:
                    outputs = node.forward(*batch)
                else:
                    outputs, state = node.forward(*batch, state=state)
            except Exception as error:
                raise AssertionError(
                    f"{name}: on tick {tick} forward cannot take a batch of two: {error}"
                ) from error
            found = node.as_outputs(_first_item(outputs))
        if not _close(found, expected):
            raise AssertionError(
                f"{name}: on tick {tick} it gave {found!r} in a batch of two, "
                f"but {expected!r} alone"
            )


def _beside_zeros(value: Any) -> Any:
    import torch

    if value is None:
        return None
    if isinstance(value, list):
        return [_beside_zeros(item) for item in value]
    if isinstance(value, Aged):
        return Aged(_beside_zeros(value.value), _beside_zeros(value.age))
    return torch.cat([value, torch.zeros_like(value)])


def _first_item(outputs: Any) -> Any:
    """Return the first item as a batch of one."""
    if isinstance(outputs, tuple):
        return tuple(output[:1] for output in outputs)
    return outputs[:1]


def _close(a: Any, b: Any) -> bool:
    """Return whether two results are equal apart from rounding:
    a larger batch may be summed in another order.
    """
    if isinstance(a, tuple):
        return all(map(_close, a, b))
    if isinstance(a, float) or (isinstance(a, np.ndarray) and a.dtype.kind == "f"):
        return np.shape(a) == np.shape(b) and np.allclose(
            a, b, rtol=1e-4, atol=1e-5, equal_nan=True
        )
    return _equal(a, b)


def _read_only(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        copied = value.copy()
        copied.flags.writeable = False
        return copied
    if isinstance(value, dict):
        return MappingProxyType(value)
    if isinstance(value, list):
        return [_read_only(item) for item in value]
    return value


def _thawed(inputs: Inputs) -> dict[str, Any]:
    """Return the inputs, with read-only views of dicts, which cannot be copied,
    replaced by dicts.
    """
    thawed: dict[str, Any] = {}
    for key, value in inputs.items():
        thawed[key] = dict(value) if isinstance(value, Mapping) else value
    return thawed


def _same(first: list[Any], second: list[Any], rule: str) -> None:
    for tick, (a, b) in enumerate(zip(first, second, strict=True)):
        if not _equal(a, b):
            raise AssertionError(f"{rule}: on tick {tick} it gave {b!r}, not {a!r}")


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.dtype != b.dtype:
            return False
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_equal, a, b))
    return type(a) is type(b) and bool(a == b or a != a)
