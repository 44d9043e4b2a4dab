"""The region of a graph that is trained: something outside of the graph answers in its place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from minibrains.errors import MinibrainsError, suggest
from minibrains.graph.socket_ref import SocketRef
from minibrains.sockets import SocketTypes

if TYPE_CHECKING:
    from minibrains.graph.check import CheckedNode, Edge


_EVERY_TICK: Final = 1, None, 0, None
"""The clock of a node to which the workflow gives none."""


@dataclass(frozen=True, slots=True)
class Region:
    """One node, or several, in whose place something outside of the graph answers."""

    nodes: tuple[str, ...]
    """Their ids, in the order of the file."""
    inputs: tuple[SocketRef, ...]
    """The outputs of other nodes that flow in, each once: what there is to observe."""
    outputs: tuple[SocketRef, ...]
    """The outputs of its nodes that other nodes read, each once: what there is to answer."""
    reward: SocketRef | None
    """The output whose deliveries are the reward."""


def find_region(
    nodes: Mapping[str, CheckedNode],
    edges: Iterable[Edge],
    when_links: Mapping[str, SocketRef],
    train: Iterable[str],
    reward: str | None,
    muted: Container[str] = (),
) -> Region:
    """Find the region of a checked graph that consists of these nodes.

    It must be convex: no way leads out of it and back into it within a tick. All of its nodes are
    due on the same ticks: they have the same clock, or only follow others of them.

    Args:
        nodes: The checked nodes by id.
        edges: Their links.
        when_links: Node id -> the flag that its `when` reads.
        train: The ids of the nodes of the region.
        reward: The output that is the reward, "node.socket"; None: the `reward` of the only node
            that has such an output, or of the console if another node has one as well.

        muted: The ids of nodes of the workflow that do not run.

    Raises:
        MinibrainsError: These nodes are not a region; names the nodes that are in the way.
    """
    finder = _RegionFinder(nodes, edges, when_links, train, muted)
    return finder.region(reward)


def _is_number(types: SocketTypes) -> bool:
    return all(option.python is float for option in types.options) and bool(types.options)


class _RegionFinder:
    def __init__(
        self,
        nodes: Mapping[str, CheckedNode],
        edges: Iterable[Edge],
        when_links: Mapping[str, SocketRef],
        train: Iterable[str],
        muted: Container[str],
    ) -> None:
        self.nodes, self.edges, self.when_links = nodes, list(edges), when_links
        wanted = tuple(train)
        if not wanted:
            raise MinibrainsError("train names no node; expected the ids of those to train")
        for name in wanted:
            if name in muted:
                raise MinibrainsError(
                    f"region: {name} is muted or bypassed; expected running nodes"
                )
            if name not in nodes:
                hint = suggest(name, nodes) or f"Its nodes are {', '.join(nodes)}"
                raise MinibrainsError(f"region: the workflow has no node {name!r}. {hint}")
        self.train = tuple(name for name in nodes if name in wanted)

    def region(self, reward: str | None) -> Region:
        for name in self.train:
            self._check_node(name)
        self._check_convex()
        self._check_registers()
        self._check_clocks()
        inputs: dict[SocketRef, None] = {}
        outputs: dict[SocketRef, None] = {}
        for edge in self.edges:
            link = SocketRef(edge.source, edge.output.name)
            if edge.target in self.train and edge.source not in self.train:
                self._check_input(edge)
                inputs[link] = None
            elif edge.source in self.train and edge.target not in self.train:
                outputs[link] = None
        for link in self.when_links.values():
            if link.node in self.train:
                outputs[link] = None
        shown = ", ".join(self.train)
        if not inputs:
            raise MinibrainsError(f"region: nothing flows into {shown}, so there is no observation")
        if not outputs:
            raise MinibrainsError(f"region: nothing reads from {shown}, so there is no action")
        return Region(self.train, tuple(inputs), tuple(outputs), self._find_reward(reward))

    # -- what a region must be ---------------------------------------------------------------------

    def _check_node(self, name: str) -> None:
        node = self.nodes[name]
        if node.is_register:
            raise MinibrainsError(
                f"region: {name} ({node.entry.type}) passes a value from one tick to the next; "
                "expected nodes that answer within the tick"
            )
        if node.is_non_blocking:
            raise MinibrainsError(
                f'train: {name} thinks while the game goes on ("busy": "continue"); '
                "expected nodes that answer within the tick"
            )
        linked = {edge.input.name for edge in self.edges if edge.target == name}
        for socket in node.cls.schema.inputs.values():
            if socket.required and not socket.many and socket.name not in linked:
                raise MinibrainsError(
                    f"region: nothing is delivered to {name}.{socket.name}, because the node "
                    "before it is muted; expected inputs that are delivered"
                )

    def _check_input(self, edge: Edge) -> None:
        socket = edge.input
        if socket.required and not socket.many and socket.reading == "last":
            return
        raise MinibrainsError(
            f"region: {edge.target}.{socket.name} reads {edge.source}.{edge.output.name} as one of "
            "several links, an event, or a value that may be missing; expected inputs that are "
            "always there once they were delivered"
        )

    def _check_convex(self) -> None:
        """Check that no way leads out of the region and back into it within a tick."""
        readers: dict[str, list[str]] = defaultdict(list)
        sources: dict[str, list[str]] = defaultdict(list)
        for edge in self.edges:
            if (
                not self.nodes[edge.source].breaks_cycles
                and not self.nodes[edge.target].is_register
            ):
                readers[edge.source].append(edge.target)
                sources[edge.target].append(edge.source)
        for name, link in self.when_links.items():
            if link.node in self.nodes and not self.nodes[link.node].breaks_cycles:
                readers[link.node].append(name)
                sources[name].append(link.node)

        for start in self.train:
            for end in self.train:
                passed = self._outside(start, readers) & self._outside(end, sources)
                if passed:
                    between = ", ".join(name for name in self.nodes if name in passed)
                    raise MinibrainsError(
                        f"region: it is not convex, because {start} leads out of it to {end} over "
                        f"{between}; add {between}, or leave {start} or {end} out"
                    )

    def _outside(self, start: str, links: Mapping[str, Sequence[str]]) -> set[str]:
        """Return the nodes outside of the region that these links reach from one of its nodes,
        without passing through it.
        """
        found: set[str] = set()
        waiting = [start]
        while waiting:
            for name in links[waiting.pop()]:
                if name not in found and name not in self.train:
                    found.add(name)
                    waiting.append(name)
        return found

    def _check_registers(self) -> None:
        """Check that no register passes a value of the region straight back into it."""
        fed: dict[str, str] = {}
        for edge in self.edges:
            if edge.source in self.train and self.nodes[edge.target].is_register:
                fed[edge.target] = edge.source
        for edge in self.edges:
            if edge.target in self.train and edge.source in fed and not self._is_game(edge.source):
                raise MinibrainsError(
                    f"region: {fed[edge.source]} leads to {edge.target} over the register "
                    f"{edge.source}, a state that nothing outside of the graph could keep; leave "
                    f"{fed[edge.source]} or {edge.target} out"
                )

    def _is_game(self, name: str) -> bool:
        """Return whether a register ends episodes, as consoles do."""
        return self.nodes[name].cls.terminal is not None

    def _check_clocks(self) -> None:
        """Check that all nodes are due on the same ticks.

        Two that read from outside must have a clock, and the same one: otherwise each of them is
        due whenever something is delivered to it.
        """
        fed = [edge.target for edge in self.edges if edge.source not in self.train]
        outer = [name for name in self.train if name in fed]
        if len(outer) > 1 and self._clock(outer[0]) == _EVERY_TICK:
            raise MinibrainsError(
                f"region: {outer[0]} and {outer[1]} are each due whenever something is delivered "
                'to it; give them the same clock, "every" or "when"'
            )
        for name in self.train:
            follows = name not in fed and self._clock(name) == _EVERY_TICK
            if outer and not follows and self._clock(name) != self._clock(outer[0]):
                raise MinibrainsError(
                    f"region: {outer[0]} and {name} have different clocks; expected nodes that are "
                    "due on the same ticks"
                )

    def _clock(self, name: str) -> tuple[object, ...]:
        entry = self.nodes[name].entry
        flag = self.when_links.get(name, entry.when)
        return entry.every, entry.hertz, entry.offset, flag

    # -- reward ------------------------------------------------------------------------------------

    def _find_reward(self, reward: str | None) -> SocketRef | None:
        if reward is not None:
            name, _, socket = reward.partition(".")
            node = self.nodes.get(name)
            if node is None or socket not in node.cls.schema.outputs:
                raise MinibrainsError(
                    f"the reward {reward!r} is not an output of the workflow; expected NODE.SOCKET"
                )
            types = node.cls.schema.outputs[socket].type
            if not _is_number(types):
                raise MinibrainsError(f"the reward {reward!r} carries {types}; expected a number")
            return SocketRef(name, socket)
        found = [name for name, node in self.nodes.items() if "reward" in node.cls.schema.outputs]
        sums = [name for name in found if not self._is_game(name)]
        chosen = sums or found
        if len(chosen) > 1:
            raise MinibrainsError(
                f"there are several rewards: {', '.join(chosen)}; say which, reward=NODE.SOCKET"
            )
        if not chosen:
            return None
        return SocketRef(chosen[0], "reward")
