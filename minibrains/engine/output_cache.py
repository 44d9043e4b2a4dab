"""Constant folding: nodes whose result never changes run once,
and their outputs are cached by signature.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, Final

import numpy as np

from minibrains.annotations import ABSENT, Aged
from minibrains.disk_cache import DiskCache, Made
from minibrains.engine.node_runtime import ConstantResult, NodeRuntime
from minibrains.engine.plan import Plan
from minibrains.graph.check import CheckedNode, Edge
from minibrains.software import hash_pack, hash_with_software

MEMORY: Final = 1 << 30
"""Default size limit in bytes."""


class OutputCache:
    """Outputs by signature; the least recently used are evicted first.

    A process has one, which its runs share.
    """

    def __init__(self, budget: int = MEMORY, disk: DiskCache | None = None) -> None:
        """Make an empty cache of `budget` bytes.

        `disk` outlives the process and is used for nodes with `cache_on_disk=True`.
        """
        self.budget = budget
        self.disk = disk
        self.used = 0
        self._known: OrderedDict[str, tuple[Made, int]] = OrderedDict()

    def get(self, signature: str, on_disk: bool) -> Made:
        """Return the value that is cached under the signature. Raises KeyError."""
        if signature in self._known:
            self._known.move_to_end(signature)
            return self._known[signature][0]
        if not on_disk or self.disk is None:
            raise KeyError(signature)
        made = self.disk.get(hash_with_software(signature))
        self._remember(signature, made)
        return made

    def put(self, signature: str, made: Made, on_disk: bool) -> None:
        """Cache a value, unless it is larger than the budget.

        Raises TypeError if it cannot be written to the disk.
        """
        self._remember(signature, made)
        if on_disk and self.disk is not None:
            self.disk.put(hash_with_software(signature), made)

    def _remember(self, signature: str, made: Made) -> None:
        size = size_of(made.value)
        if size > self.budget:
            return
        if signature in self._known:
            self.used -= self._known.pop(signature)[1]
        self._known[signature] = made, size
        self.used += size
        while self.used > self.budget:
            self.used -= self._known.popitem(last=False)[1][1]


def size_of(value: Any) -> int:
    """Estimate how many bytes of memory a value on a link takes."""
    if isinstance(value, np.ndarray):
        return value.nbytes + 128
    if isinstance(value, Mapping):
        return sum(size_of(key) + size_of(item) for key, item in value.items()) + 64
    if isinstance(value, (tuple, list)):
        return sum(map(size_of, value)) + 64
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        values = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return sum(map(size_of, values)) + 64
    return sys.getsizeof(value)


def fold_constants(plan: Plan, runtimes: Mapping[str, NodeRuntime], cache: OutputCache) -> None:
    """Give every constant node its result, from the cache or by running the node.

    Then warm up the consumers of constant nodes with these results.

    Raises NodeFailed.
    """
    outputs: dict[tuple[str, str], Any] = {}
    signatures: dict[str, str] = {}
    in_edges: dict[str, list[Edge]] = defaultdict(list)
    for edge in plan.graph.edges:
        in_edges[edge.target].append(edge)
    for step in plan.steps:
        if not step.constant:
            continue
        runtime, edges = runtimes[step.node], in_edges[step.node]
        node = runtime.checked
        signature = signatures[node.id] = _signature(node, edges, signatures)
        if _waits_forever(node, edges, outputs):
            continue
        try:
            made, computed = _result(runtime, signature, _arguments(node, edges, outputs), cache)
            outputs_of = _by_output(node, made.value)
            if computed:
                cache.put(signature, made, node.cls.cache_on_disk)
        except Exception as error:
            raise runtime.failure(None, error) from error
        runtime.constant = ConstantResult(made.value, computed, signature, outputs_of)
        for output, value in outputs_of.items():
            outputs[node.id, output] = value
    for name, runtime in runtimes.items():
        if runtime.constant is None:
            runtime.warm_up(_constants(in_edges[name], outputs))


def _result(
    runtime: NodeRuntime, signature: str, arguments: Iterator[Any], cache: OutputCache
) -> tuple[Made, bool]:
    """Return a constant result, and whether it had to be computed. Raises what the node raises."""
    try:
        made = cache.get(signature, runtime.checked.cls.cache_on_disk)
    except KeyError:
        began = perf_counter()
        value = runtime.callee.tick(*arguments)
        return Made(value, perf_counter() - began), True
    runtime.savings["its result"] = made.seconds
    return made, False


def _constants(edges: list[Edge], outputs: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
    """Return the values of the inputs that only constant nodes feed, by name."""
    constants: dict[str, Any] = {}
    moving = {edge.input.name for edge in edges if (edge.source, edge.output.name) not in outputs}
    for edge in edges:
        name = edge.input.name
        if name in moving or edge.input.reading != "last":
            continue
        value = outputs[edge.source, edge.output.name]
        if edge.input.many:
            constants.setdefault(name, []).append(value)
        else:
            constants[name] = value
    return constants


def _waits_forever(
    node: CheckedNode, edges: list[Edge], outputs: Mapping[tuple[str, str], Any]
) -> bool:
    """Return whether nothing is ever delivered to a required input of the node."""
    delivered: set[str] = set()
    lacking: set[str] = set()
    for edge in edges:
        if (edge.source, edge.output.name) in outputs:
            delivered.add(edge.input.name)
        else:
            lacking.add(edge.input.name)
    for name, declared in node.cls.schema.inputs.items():
        unlinked = name not in delivered and not declared.many
        if declared.required and (name in lacking or unlinked):
            return True
    return False


def _by_output(node: CheckedNode, result: Any) -> dict[str, Any]:
    schema = node.cls.schema
    results = result if schema.returns_tuple else (result,)
    return {
        output: value
        for output, value in zip(schema.outputs, results, strict=True)
        if value is not ABSENT
    }


def _arguments(
    node: CheckedNode, edges: list[Edge], outputs: Mapping[tuple[str, str], Any]
) -> Iterator[Any]:
    for socket, declared in node.cls.schema.inputs.items():
        read: list[Any] = []
        for edge in edges:
            if edge.input.name != socket:
                continue
            value = outputs.get((edge.source, edge.output.name))
            if declared.reading == "aged" and value is not None:
                value = Aged(value, 0)
            read.append(value)
        if declared.many:
            yield read
        else:
            yield read[0] if read else None


def _signature(node: CheckedNode, edges: list[Edge], signatures: Mapping[str, str]) -> str:
    """Return the hash of a node's type, code, widgets and brain,
    and of the signatures of the nodes that feed it.
    """
    feeding = [(edge.input.name, signatures[edge.source], edge.output.name) for edge in edges]
    widgets = sorted(node.widgets.items())
    code = [hash_pack(cls.__module__) for cls in node.cls.__mro__]
    about = (node.entry.type, node.cls.version, code, widgets, node.brain_sha256, feeding)
    return hashlib.sha256(repr(about).encode()).hexdigest()
