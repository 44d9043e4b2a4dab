"""Watch: a hook that remembers what a policy is shown in play, its logits and its choices."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from minibrains.doctor.evidence import Buttons, Kind, press_probabilities
from minibrains.doctor.network import WINDOW, Moments, Network
from minibrains.engine.steps import UNSET
from minibrains.errors import MinibrainsError, suggest
from minibrains.graph.check import Edge, Graph
from minibrains.graph.region import Region
from minibrains.graph.registry import Registry
from minibrains.graph.socket_ref import SocketRef
from minibrains.graph.workflow import Workflow
from minibrains.hooks import Budget, Hook
from minibrains.run.episode import EpisodeResult

if TYPE_CHECKING:
    from minibrains.run.run import Run

MOMENTS: Final = 256
"""Largest number of decisions of which the inputs are kept; a random selection of all."""
FEWEST_MOMENTS: Final = 80
"""So many are kept even if they are large: of fewer than 74, none at all would not tell that a
share is below 5 % (Wilson, 95 %)."""
LARGEST: Final = 128 << 20
"""Bytes that the inputs should not exceed."""
SHOWN: Final = 6
"""Number of frames that are kept of those decisions that are most likely to press."""
KINDS: Final = ("logits", "button_logits")
"""The socket types of logits: for an action, and for each button."""
CHOICES: Final = ("action", "pressed")
"""The socket types of what is chosen by them."""


class Moment(NamedTuple):
    """A decision with the game's screen."""

    probability: float
    """That it presses a button, 0 to 1."""
    number: int
    """The number of the decision in the run, from 0."""
    episode: int
    tick: int
    choice: int
    """The index of the most likely output."""
    press: int
    """The index of the most likely one that presses."""
    frame: np.ndarray
    """uint8 [h, w, 3]: the screen one tick later."""


class Sampler(NamedTuple):
    """The node that chooses by a policy's logits."""

    node: str
    output: str
    """Its output that is the choice: the number of an action, or bool [buttons]."""


class Watch(Hook):
    """Remembers the decisions of a policy while it plays.

    It adds a Reroute for the logits, and one for what the sampler chooses, which changes no game.
    """

    def __init__(
        self,
        region: Region,
        network: Network,
        logits: SocketRef,
        buttons: Buttons,
        variable: str | None,
        seed: int,
        *,
        kind: Kind = "actions",
        sampler: Sampler | None = None,
        corrected: Callable[[np.ndarray], np.ndarray] = np.asarray,
    ) -> None:
        """Prepare to watch.

        Args:
            region: The nodes of the policy.
            network: Their network.
            logits: Their output that is the policy's answer.
            buttons: The buttons that its outputs press.
            variable: A variable of the game whose values are counted on each tick; None: none.
            seed: Chooses the decisions of which the inputs are kept.
            kind: What the logits mean.
            sampler: The node that chooses by them; None: there is none, and the best is meant.
            corrected: Returns logits as the sampler turns them into probabilities.
        """
        self._network, self._link, self._variable = network, logits, variable
        self._buttons, self._kind = buttons, kind
        self._sampler, self._corrected = sampler, corrected
        self._rng = np.random.default_rng(seed)
        self.logits: list[np.ndarray] = []
        """[outputs] of each decision, corrected."""
        self.choices: list[np.ndarray] = []
        """The choice of the sampler in each decision: bool [outputs]; empty if there is none."""
        self.moments: list[Moment] = []
        """The decisions that were most likely to press."""
        self.states: Counter[float] = Counter()
        """Number of ticks on which the variable had each value."""
        self.pads: Counter[tuple[str, ...]] = Counter()
        """Number of ticks on which the console was given these buttons."""
        self.games: dict[str, list[bool]] = defaultdict(list)
        """The victories by the name of the state that each episode began from."""
        self._names = {f"{link.node}/{link.socket}": link for link in region.inputs}
        self._kept: list[Moments] = []
        """A random selection of decisions, one each."""
        self._window: deque[tuple[np.ndarray, dict[str, np.ndarray]]] = deque(maxlen=WINDOW)
        """The last decisions of the episode of a recurrent policy: state before, and inputs."""
        self._visits = -1

    @property
    def selection(self) -> Moments:
        """The inputs of a random selection of decisions, at least one."""
        return Moments.joined(self._kept)

    def prepare(self, workflow: Workflow, registry: Registry) -> Workflow:
        """Add nodes that read the logits and the sampler's choice, so that both are kept."""
        links = [str(self._link)]
        if self._sampler is not None:
            links.append(f"{self._sampler.node}.{self._sampler.output}")
        for link in links:
            reader = "doctor"
            while reader in workflow.nodes:
                reader += "_"
            workflow = workflow.with_node(reader, {"type": "Reroute@1", "in": {"value": link}})
        return workflow

    def after_open(self, run: Run) -> None:
        """Find the steps and slots to look at. Raises MinibrainsError."""
        graph = run.engine.plan.graph
        execution = run.engine.execution
        steps = zip(execution.roles, execution.owners, strict=True)
        self._step = next(
            index for index, step in enumerate(steps) if step == ("tick", self._link.node)
        )
        self._pad = _pad_link(graph)
        self._console = _console(graph)
        if self._variable is not None and self._console is None:
            raise MinibrainsError(
                f"no node has the variable {self._variable!r}; expected a console in the workflow"
            )

    def before_episode(self, run: Run, index: int) -> None:
        self._episode, self._tick = index, 0
        self._window.clear()
        if self._network.is_recurrent:
            self._state = self._network.initial()
        self._visits = self._ran(run)

    def between_ticks(self, run: Run) -> Budget:
        """Look whether the policy has just decided, and remember that."""
        self._look(run)
        return Budget(ticks=1)

    def after_episode(self, run: Run, episode: EpisodeResult) -> None:
        if episode.ended != "failed":
            self._look(run)
        if episode.won is not None:
            start = episode.row.get("start") or {}
            self.games[_opponent(start.get("state") or "")].append(episode.won)

    # -- one tick

    def _look(self, run: Run) -> None:
        """Look at the tick that is over, once."""
        if run.engine.tick == self._tick:
            return
        self._tick = run.engine.tick
        if self._variable is not None:
            self._count_state(run)
        if self._pad is not None:
            pad = _delivered(run, self._pad)
            self.pads[tuple(sorted(pad or ()))] += 1
        calls = self._ran(run)
        if calls == self._visits:
            return
        self._visits = calls
        logits = _delivered(run, self._link)
        self.logits.append(self._corrected(np.array(logits, np.float32)))
        if self._sampler is not None:
            choice = _delivered(run, SocketRef(self._sampler.node, self._sampler.output))
            if self._kind == "actions":
                choice = np.arange(len(logits)) == choice
            self.choices.append(np.array(choice))
        self._keep_inputs(run)
        self._keep_frame(run)

    def _ran(self, run: Run) -> int:
        execution = run.engine.execution
        return int(execution.calls[self._step] - execution.idle_calls[self._step])

    def _count_state(self, run: Run) -> None:
        variables = run.peek(f"{self._console}.variables")
        if not isinstance(variables, Mapping) or self._variable not in variables:
            known = ", ".join(sorted(variables or ()))
            raise MinibrainsError(
                f"the game has no variable {self._variable!r}; expected one of {known}"
            )
        self.states[variables[self._variable]] += 1

    def _keep_inputs(self, run: Run) -> None:
        """Keep the inputs of a random selection of all decisions so far (reservoir sampling)."""
        inputs: dict[str, np.ndarray] = {}
        for name, link in self._names.items():
            inputs[name] = np.array(_delivered(run, link))
        size = sum(value.nbytes for value in inputs.values())
        if self._network.is_recurrent:
            size *= WINDOW
            self._window.append((self._state, inputs))
            self._state = self._network.advance(inputs, self._state)

        number = len(self.logits) - 1
        room = max(FEWEST_MOMENTS, min(MOMENTS, LARGEST // max(size, 1)))
        place = number
        if number >= room:
            place = int(self._rng.integers(number + 1))
        if place >= room:
            return
        moment = self._moment(inputs)
        if place == len(self._kept):
            self._kept.append(moment)
        else:
            self._kept[place] = moment

    def _moment(self, inputs: Mapping[str, np.ndarray]) -> Moments:
        """Return the present decision, of a recurrent policy with those before it."""
        if not self._network.is_recurrent:
            return Moments(inputs={name: value[None] for name, value in inputs.items()})
        before = WINDOW - len(self._window)
        windows: dict[str, np.ndarray] = {}
        for name, value in inputs.items():
            window = np.zeros((1, WINDOW, *value.shape), value.dtype)
            window[0, before:] = [earlier[name] for _, earlier in self._window]
            windows[name] = window
        starts = np.zeros((1, WINDOW), bool)
        if before:
            starts[0, before] = True
        state, _ = self._window[0]
        return Moments(inputs=windows, state=state[None], starts=starts)

    def _keep_frame(self, run: Run) -> None:
        """Keep the screen if this decision is one of those that are most likely to press."""
        if self._console is None:
            return
        logits = self.logits[-1][None]
        probability = float(press_probabilities(self._kind, logits, self._buttons)[0])
        if len(self.moments) == SHOWN and probability <= self.moments[0].probability:
            return
        frame: Any = run.peek(f"{self._console}.frame")
        if not isinstance(frame, np.ndarray):
            return
        of_presses = np.where(self._buttons.pressing, logits[0], -np.inf)
        moment = Moment(
            probability=probability,
            number=len(self.logits) - 1,
            episode=self._episode,
            tick=run.engine.tick - 1,
            choice=int(logits[0].argmax()),
            press=int(of_presses.argmax()),
            frame=frame.copy(),
        )
        heapq.heappush(self.moments, moment)
        if len(self.moments) > SHOWN:
            heapq.heappop(self.moments)


def find_logits(graph: Graph, nodes: Sequence[str]) -> SocketRef:
    """Return the output of a policy's nodes that is its answer.

    Raises MinibrainsError if there is no such node, or unless exactly one of the outputs that other
    nodes read carries logits.
    """
    for name in nodes:
        if name not in graph.workflow.nodes:
            hint = suggest(name, graph.nodes) or f"Its nodes are {', '.join(graph.nodes)}"
            raise MinibrainsError(f"the policy's nodes: the workflow has no node {name!r}. {hint}")
        if name not in graph.nodes:
            raise MinibrainsError(
                f"the policy's nodes: {name} is muted or bypassed; expected running nodes"
            )
    found: dict[SocketRef, None] = {}
    for edge in graph.edges:
        if edge.source not in nodes or edge.target in nodes:
            continue
        if _carries(edge, *KINDS):
            found[SocketRef(edge.source, edge.output.name)] = None
    if len(found) != 1:
        raise MinibrainsError(
            f"the policy's nodes: {', '.join(nodes)} has {len(found)} outputs with logits that "
            "other nodes read; expected one, as PolicyHead, VectorPolicy and ButtonHead have; name "
            "the nodes of one policy"
        )
    return next(iter(found))


def kind_of(graph: Graph, logits: SocketRef) -> Kind:
    """Return what the logits of an output mean."""
    for edge in graph.edges:
        if SocketRef(edge.source, edge.output.name) == logits and _carries(edge, "button_logits"):
            return "buttons"
    return "actions"


def find_sampler(graph: Graph, logits: SocketRef) -> Sampler | None:
    """Return the first node that reads logits and has an output that is a choice by them."""
    for edge in graph.edges:
        if SocketRef(edge.source, edge.output.name) != logits:
            continue
        for output in graph.nodes[edge.target].cls.schema.outputs.values():
            if any(option.name in CHOICES for option in output.type.options):
                return Sampler(edge.target, output.name)
    return None


def _carries(edge: Edge, *names: str) -> bool:
    return any(option.name in names for option in edge.output.type.options)


def _console(graph: Graph) -> str | None:
    """Return the node that ends episodes and has variables, if there is one."""
    for name, node in graph.nodes.items():
        if node.cls.terminal is not None and "variables" in node.cls.schema.outputs:
            return name
    return None


def _pad_link(graph: Graph) -> SocketRef | None:
    """Return the output that holds the buttons of the first pad."""
    console = _console(graph)
    for edge in graph.edges:
        if edge.target == console and edge.input.name == "pad1":
            return SocketRef(edge.source, edge.output.name)
    return None


def _delivered(run: Run, link: SocketRef) -> Any:
    """Return the value that was delivered last on a link; None: nothing, or it is not kept.

    Unlike `Run.peek`, it is of the tick that is over, for registers as well.
    """
    execution = run.engine.execution
    for use in ("last", "last_or_none"):
        slot = execution.output_slots.get((link.node, link.socket, use))
        if slot is not None and execution.values[slot] is not UNSET:
            return execution.values[slot]
    return None


def _opponent(state: str) -> str:
    """Return what a state's name has after the last dot: the match-up, without the level."""
    return state.rpartition(".")[2]
