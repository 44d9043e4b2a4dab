"""WorkflowEnv: a workflow as a Gymnasium environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from minibrains.engine.stepper import Stepper
from minibrains.errors import MinibrainsError
from minibrains.graph.check import Graph, resolve_sizes
from minibrains.graph.socket_ref import SocketRef
from minibrains.graph.workflow import Workflow
from minibrains.run.episode import episode_row
from minibrains.run.memory import freeze_heap
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from minibrains.training.spaces import Port

_SEEDS = 2**31
"""The number of different seeds that are drawn if none is given."""
_EMPTY_EPISODES = 10
"""Number of episodes without a decision that may follow each other."""


def find_teacher(graph: Graph, teacher: str) -> SocketRef:
    """Return the output with a teacher's action.

    Args:
        graph: A graph with the region that is to be taught.
        teacher: The output, "node.socket".

    Raises:
        MinibrainsError: Its values are not kept, or come from what it is to teach.
    """
    node, _, socket = teacher.partition(".")
    read = {SocketRef(edge.source, edge.output.name) for edge in graph.edges}
    assert graph.region is not None
    if SocketRef(node, socket) not in read or node in graph.region.nodes:
        raise MinibrainsError(
            f"the teacher {teacher!r} is not an output that something reads, outside of "
            f"{', '.join(graph.region.nodes)}; expected NODE.SOCKET, linked to an Agreement say"
        )
    return SocketRef(node, socket)


class WorkflowEnv(gymnasium.Env[Any, Any]):
    """A workflow as a Gymnasium environment: a policy from outside answers in the place of some of
    its nodes.

    These nodes are the *region*. What flows into it is the observation, what it gives out is the
    action, and everything else belongs to the environment: the game, clocks, gates, rewards. A step
    goes on to the next tick on which the region is due, which may be many frames later; the answer
    is delivered within that tick, as if the nodes had given it.

    - Observation and action: one output is a space of its own, several are a `Dict` by
      "node/socket". Which type has which space: `minibrains.training.spaces.Port`.
    - Reward: the sum of what the reward output has delivered since the last decision; that of the
      first step has what came before it as well.
    - `terminated`: the game is over by its own rules. `truncated`: the limit of the episode in
      ticks is reached. The observation is then what the region was shown last: on a tick on which
      it was not due, there is no newer one.
    - `info` has "teacher", the action that `teacher` delivered last, if there is one.
    - `info` at the end of an episode has "results": what the nodes report, as in episodes.jsonl
      (score, won, start …).
    - `reset(options={"states": ["Level4.*"]})` begins in one of these states, out of those of the
      console; so do the episodes after it, until other states are given.
    - `reset(seed=S)` begins with episode 0 of a run with seed S; further calls without a seed play
      episodes 1, 2, … So an episode is the same as that of a `Run` with this seed, if the same is
      answered.

    It begins in no state that is held back. A process can play only one environment with an
    emulator at a time; `gymnasium.make_vec(…, vectorization_mode="async")` has a process for each.

    Example:
        >>> from minibrains import WorkflowEnv
        >>> env = WorkflowEnv("airstriker_pixels", train=["head"])
        >>> observation, _ = env.reset(seed=1)
        >>> observation.shape, env.action_space
        ((4, 84, 84), Discrete(6))
        >>> observation, reward, terminated, truncated, _ = env.step(3)
        >>> reward, terminated, truncated
        (0.0, False, False)
        >>> env.close()
    """

    # an instance variable to Gymnasium
    metadata = {"render_modes": ["rgb_array"], "render_fps": 60}  # noqa: RUF012

    def __init__(
        self,
        workflow: str | os.PathLike[str] | Mapping[str, Any] | Workflow,
        train: Sequence[str],
        *,
        reward: str | None = None,
        teacher: str | None = None,
        ticks: int | None = None,
        widgets: Mapping[str, Any] | None = None,
        brains: Mapping[str, str | os.PathLike[str]] | None = None,
        mute: Sequence[str] = (),
        packs: Sequence[str | os.PathLike[str]] = (),
        render_mode: str | None = None,
    ) -> None:
        """Check and open the workflow.

        Args:
            workflow: A file, the name of a shipped workflow, a JSON object, or a Workflow.
            train: The ids of the nodes in whose place the policy answers.
            reward: The output that is the reward, "node.socket". None: the output `reward` of the
                only node that has one, or else of the console.
            teacher: The output with the action that a teacher would choose, "node.socket", which
                something must read; None: there is no teacher.
            ticks: Number of ticks after which an episode is truncated; None: as the workflow says.
            widgets: Widget values that replace those of the file: "node.widget" -> value.
            brains: Brains that replace those of the file: node -> file.
            mute: Nodes that deliver nothing.
            packs: Python files with nodes.
            render_mode: "rgb_array" for `render`, or None.

        Raises:
            MinibrainsError: The workflow is wrong, `train` is not a region of it, or what flows
                in or out of that has no space.
        """
        if isinstance(train, str):
            raise MinibrainsError(f"train is {train!r}; expected a list of ids, [{train!r}]")
        if not all(isinstance(name, str) for name in train):
            raise MinibrainsError(f"train is {list(train)}; expected the ids of nodes")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise MinibrainsError(f"render_mode is {render_mode!r}; expected 'rgb_array' or None")
        self.render_mode = render_mode
        spec = RunSpec(
            workflow,
            ticks=ticks,
            clock="fast",
            widgets=widgets or {},
            brains=brains or {},
            mute=tuple(mute),
            packs=tuple(packs),
            train=tuple(train),
            reward=reward,
        )
        self._closed = False
        self._teacher: SocketRef | None = None
        self._run = Run(spec)
        self._run.open()
        try:
            self._ports()
            if teacher is not None:
                self._teacher = find_teacher(self._run.engine.plan.graph, teacher)
        except BaseException:
            self.close()
            raise
        freeze_heap()
        self._stepper = Stepper(self._run.engine)
        self._index = 0
        self._seed: int | None = None
        """The seed of the run; None before there is one."""
        self._actions: list[Any] = []
        """The actions of the episode so far."""
        self._begun_in: tuple[str, ...] = ()
        """The states that the episode might begin from."""

    def _ports(self) -> None:
        """Find the spaces of observation and action."""
        engine = self._run.engine
        region = engine.plan.graph.region
        assert region is not None
        if region.reward is None:
            raise MinibrainsError(
                "nothing in the workflow is a reward; expected a console, or a node with an output "
                "`reward` such as RewardSum, or reward=NODE.SOCKET"
            )
        opened = {name: runtime.sizes for name, runtime in engine.runtimes.items()}
        unifier = resolve_sizes(engine.plan.graph, opened)

        def port(link: SocketRef, is_action: bool) -> Port:
            schema = engine.plan.graph.nodes[link.node].cls.schema
            socket_types = unifier.resolve(link.node, schema.outputs[link.socket].type)
            return Port(f"{link.node}/{link.socket}", socket_types, is_action)

        self._observed = {link: port(link, is_action=False) for link in region.inputs}
        self._acted = {link: port(link, is_action=True) for link in region.outputs}
        self.observation_space = _joined(self._observed)
        self.action_space = _joined(self._acted)

    def teacher_action(self) -> Any:
        """Return what the teacher would do at the present decision; None: there is no teacher."""
        if self._teacher is None:
            return None
        return self._stepper.value(self._teacher)

    @property
    def workflow(self) -> Workflow:
        """The workflow, with the changes of the arguments."""
        return self._run.workflow

    @property
    def nodes(self) -> Mapping[str, Any]:
        """The nodes by id, those of the region among them, which are not called."""
        return self._run.engine.nodes

    @property
    def workflow_sha256(self) -> str:
        """The workflow hash."""
        return self._run.info.sha256

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and go on to its first decision.

        Args:
            seed: The seed of the run whose episode 0 is played; None: the next episode. The first
                seed is drawn if there is none.
            options: "states": names or patterns of the states that this episode and those after it
                may begin from; an empty list: any state of the console.

        Returns:
            The observation, and an info that has "teacher" if there is one.

        Raises:
            MinibrainsError: The console has no such state, there is no such option, or a node
                failed. The states are then those of before.
        """
        if self._closed:
            raise MinibrainsError("the environment is closed; make another one")
        super().reset(seed=seed)
        states_before = self._run.engine.start_states
        self.begin_in(_states_of(options or {}, states_before))
        if seed is None and self._seed is None:
            seed = int(self.np_random.integers(_SEEDS))
        if seed is not None:
            self._seed, self._index = seed, 0
        else:
            self._index += 1
        try:
            self._begin()
        except BaseException:
            self.begin_in(states_before)
            raise
        return self._observation(), self._info()

    def begin_in(self, states: Sequence[str]) -> None:
        """Let the episodes from the next one on begin in these states, as the option of `reset`."""
        self._run.engine.start_states = tuple(states)

    def _begin(self) -> None:
        assert self._seed is not None
        self._actions.clear()
        self._begun_in = self._run.engine.start_states
        for _ in range(_EMPTY_EPISODES):
            if self._stepper.reset(self._index, self._seed, self._run.settings.ticks):
                return
            self._index += 1  # over before there was a decision
        region = self._run.engine.plan.graph.region
        assert region is not None
        raise MinibrainsError(
            f"{', '.join(region.nodes)} was not due in {_EMPTY_EPISODES} whole episodes; give it "
            "another clock, or the episodes more ticks"
        )

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Answer in the region's place, and go on to the next decision, or to the end.

        Args:
            action: An element of `action_space`; for logits also a `spaces.Ranked`.

        Returns:
            Observation, reward, terminated, truncated, info.

        Raises:
            MinibrainsError: The action is not in the space, the episode is over, or a node failed.
        """
        stepper = self._stepper
        if self._closed:
            raise MinibrainsError("the environment is closed; make another one")
        goes_on = stepper.step(self._answer(action))
        self._actions.append(action)
        info = self._info()
        if not goes_on:
            engine = self._run.engine
            ended = "done" if stepper.terminated else "limit"
            info["results"] = episode_row(engine.report(), engine.tick, ended)
            engine.finish_episode(info["results"])
        observation = self._observation()
        return observation, float(stepper.reward), stepper.terminated, stepper.truncated, info

    def _info(self) -> dict[str, Any]:
        if self._teacher is None:
            return {}
        return {"teacher": self.teacher_action()}

    def moment(self) -> dict[str, Any]:
        """Return the present moment of the episode, for `go_to`."""
        return {
            "seed": self._seed,
            "index": self._index,
            "states": self._begun_in,
            "actions": list(self._actions),
        }

    def go_to(self, moment: Mapping[str, Any]) -> Any:
        """Go to a moment, perhaps of another process, by playing the same actions again.

        Args:
            moment: A result of `moment`.

        Returns:
            The observation there.
        """
        self._seed, self._index = moment["seed"], moment["index"]
        afterwards = self._run.engine.start_states
        self.begin_in(moment["states"])
        self._begin()
        self.begin_in(afterwards)
        for action in moment["actions"]:
            self._stepper.step(self._answer(action))
            self._actions.append(action)
        return self._observation()

    def render(self) -> Any:
        """Return the game's screen, uint8 [h, w, 3], if the render mode is "rgb_array"."""
        if self.render_mode is None:
            return None
        for name, node in self._run.graph.nodes.items():
            if node.cls.terminal is not None and "frame" in node.cls.schema.outputs:
                picture = self._run.peek(f"{name}.frame")
                if isinstance(picture, np.ndarray):
                    return picture.copy()
        raise MinibrainsError("render: the workflow has no console with a picture")

    def close(self) -> None:
        """Close the nodes."""
        self._closed = True
        self._run.close()

    def _observation(self) -> Any:
        values = zip(self._observed.values(), self._stepper.observation, strict=True)
        parts = {port.name: port.observed(value) for port, value in values}
        if len(parts) == 1:
            return next(iter(parts.values()))
        return parts

    def _answer(self, action: Any) -> dict[SocketRef, Any]:
        if len(self._acted) == 1:
            ((link, port),) = self._acted.items()
            return {link: port.value(action)}
        names = [port.name for port in self._acted.values()]
        if not isinstance(action, Mapping) or set(action) != set(names):
            raise MinibrainsError(
                f"the action {action!r} is none of {self.action_space}; expected a mapping with "
                f"{', '.join(names)}"
            )
        return {link: port.value(action[port.name]) for link, port in self._acted.items()}


def _states_of(options: Mapping[str, Any], default: Sequence[str]) -> Sequence[str]:
    """Return the states to begin in, out of the options of `reset`, or else the default."""
    for name in options:
        if name != "states":
            raise MinibrainsError(f"reset has no option {name!r}; expected 'states'")
    states = options.get("states", default)
    if not isinstance(states, list | tuple) or not all(isinstance(name, str) for name in states):
        raise MinibrainsError(
            f"the option 'states' is {states!r}; expected a list of names or patterns of states"
        )
    return states


def _joined(ports: Mapping[SocketRef, Port]) -> spaces.Space[Any]:
    if len(ports) == 1:
        return next(iter(ports.values())).space
    return spaces.Dict({port.name: port.space for port in ports.values()})
