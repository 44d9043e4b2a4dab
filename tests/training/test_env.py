"""A workflow as a Gymnasium environment."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from minibrains import Episode, MinibrainsError, Run, RunSpec, WorkflowEnv
from minibrains.sockets import SocketType, SocketTypes
from minibrains.training.module import region
from minibrains.training.spaces import Port, Ranked
from nodes.policies.network import ActionSampler

EMULATOR = {"type": "RetroEmulator@3", "set": {"game": "Airstriker-Genesis-v0"}}


def airstriker(**changes: Any) -> dict[str, Any]:
    """Return a workflow in which a network sees the game; `changes`: node -> entry, or None."""
    nodes: dict[str, Any] = {
        "console": {**EMULATOR, "in": {"pad1": "sink.pad"}},
        "grey": {"type": "Grayscale@1", "in": {"frame": "console.frame"}},
        "small": {
            "type": "Resize@1",
            "set": {"width": 84, "height": 84},
            "in": {"frame": "grey.frame"},
        },
        "stack": {
            "type": "FrameStack@1",
            "in": {"frame": "small.frame"},
            "brain": "frame_stack/grey4.safetensors",
        },
        "head": {
            "type": "PolicyHead@1",
            "in": {"frames": "stack.frames"},
            "brain": "policy_head/airstriker-untrained.safetensors",
            "every": 8,
        },
        "choose": {"type": "ActionSampler@1", "in": {"logits": "head.logits"}},
        "sink": {
            "type": "EmulatorSink@1",
            "in": {"action": "choose.action"},
            "brain": "action_table/airstriker.safetensors",
        },
    }
    for name, entry in changes.items():
        nodes[name] = entry
    left = {name: entry for name, entry in nodes.items() if entry is not None}
    return {"minibrains": 1, "run": {"ticks": 1200}, "nodes": left}


def play(env: WorkflowEnv, network: torch.nn.Module, seed: int | None) -> tuple[float, Any, int]:
    """Play an episode greedily; return the sum of the rewards, the last info, and the decisions."""
    frames, _ = env.reset(seed=seed)
    score, decisions = 0.0, 0
    while True:
        with torch.inference_mode():
            action = network(torch.from_numpy(frames)[None]).argmax()
        frames, reward, terminated, truncated, info = env.step(int(action))
        score += reward
        decisions += 1
        if terminated or truncated:
            return score, info, decisions


@pytest.mark.slow
def test_an_episode_is_that_of_a_run_in_which_the_node_itself_answers() -> None:
    with Run(RunSpec(airstriker(), episodes=2, seed=3)) as run:
        wanted = [episode.row for episode in run]
    env = WorkflowEnv(airstriker(), train=["head"])
    network = region(airstriker(), ["head"])
    found = [play(env, network, 3), play(env, network, None)]
    env.close()
    for (score, info, decisions), row in zip(found, wanted, strict=True):
        assert info["results"]["actions_sha256"] == row["actions_sha256"]
        assert info["results"]["trajectory_sha256"] == row["trajectory_sha256"]
        assert score == row["score"]
        assert decisions == 1200 // 8 or row["ended"] == "done"


def test_gymnasium_makes_and_checks_it() -> None:
    env = gymnasium.make(
        "minibrains:minibrains/Workflow-v0", workflow=airstriker(), train=["head"], ticks=100
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*infinity.*")
        # these two open another one, but a process can have only one emulator
        check_env(env.unwrapped, skip_render_check=True, skip_close_check=True)
    assert env.observation_space.shape == (4, 84, 84)
    assert env.action_space == gymnasium.spaces.Discrete(6)
    env.close()

    env = gymnasium.make(
        "minibrains:minibrains/Workflow-v0", workflow="duel_vector", train=["head"], ticks=100
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*infinity.*")
        check_env(env.unwrapped, skip_render_check=True)  # it has no picture
    env.close()


def test_the_limit_of_the_run_truncates() -> None:
    env = WorkflowEnv(airstriker(), train=["head"], ticks=20)
    env.reset(seed=1)
    steps = [env.step(0) for _ in range(3)]
    assert [step[2:4] for step in steps] == [(False, False), (False, False), (False, True)]
    assert [sorted(step[4]) for step in steps] == [[], [], ["results"]]
    with pytest.raises(
        MinibrainsError, match="no decision is open: the episode has not begun, or is over"
    ):
        env.step(0)
    env.close()


def test_a_picture_of_it() -> None:
    env = WorkflowEnv(airstriker(), train=["head"], render_mode="rgb_array")
    env.reset(seed=1)
    picture = env.render()
    assert (picture.shape, picture.dtype) == ((224, 320, 3), np.uint8)
    env.close()


def test_several_processes_play_it() -> None:
    envs = gymnasium.make_vec(
        "minibrains:minibrains/Workflow-v0",
        num_envs=2,
        vectorization_mode="async",
        vector_kwargs={"context": "spawn"},
        workflow=airstriker(),
        train=["head"],
        ticks=40,
    )
    frames, _ = envs.reset(seed=7)
    for _ in range(5):
        frames, _, _, truncated, info = envs.step(np.array([1, 2]))
    envs.close()
    alone = WorkflowEnv(airstriker(), train=["head"], ticks=40)
    for place, action in enumerate((1, 2)):
        alone.reset(seed=7 + place)
        for _ in range(5):
            seen, _, _, _, _ = alone.step(action)
        assert np.array_equal(seen, frames[place])
    alone.close()
    assert truncated.all()
    assert info["_results"].all()


def _play_on(env: WorkflowEnv) -> str:
    """Play the episode to its end; return the state in which it began."""
    over = False
    while not over:
        _, _, terminated, truncated, info = env.step(0)
        over = terminated or truncated
    state: str = info["results"]["start"]["state"]
    return state


def test_episodes_begin_in_the_states_that_they_are_given() -> None:
    env = WorkflowEnv("duel_vector", train=["head"], ticks=60)
    env.reset(seed=1, options={"states": ["Level5.KazeVsKaze", "Level7.Bron*"]})
    states = {_play_on(env)}
    for _ in range(8):
        env.reset()
        states.add(_play_on(env))
    assert states == {"Level5.KazeVsKaze", "Level7.BronVsBron", "Level7.BronVsTarn"}

    env.reset()
    moment = env.moment()
    env.reset(options={"states": []})
    env.go_to(moment)
    assert _play_on(env) in states
    env.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": ["Level99.*"]}, r"no state of the console is one of Level99\.\*"),
        ({"states": "Level5.*"}, r"the option 'states' is 'Level5\.\*'; expected a list"),
        ({"states": None}, "the option 'states' is None; expected a list"),
        ({"states": [5]}, r"the option 'states' is \[5\]; expected a list"),
        ({"state": ["Level5.*"]}, "reset has no option 'state'; expected 'states'"),
    ],
)
def test_a_wrong_option_is_refused_and_changes_nothing(
    options: dict[str, Any], message: str
) -> None:
    env = WorkflowEnv("duel_vector", train=["head"], ticks=60)
    env.reset(seed=1, options={"states": ["Level7.BronVsTarn"]})
    with pytest.raises(MinibrainsError, match=message):
        env.reset(options=options)
    env.reset()
    assert _play_on(env) == "Level7.BronVsTarn"
    env.close()


# -- spaces ----------------------------------------------------------------------------------------


def test_policy_and_sampler_together_choose_an_index() -> None:
    env = WorkflowEnv(airstriker(), train=["head", "choose"])
    assert env.action_space == gymnasium.spaces.Discrete(6)
    env.reset(seed=1)
    env.step(5)
    with pytest.raises(MinibrainsError, match=r"choose/action: the action 6 is none of Discrete"):
        env.step(6)
    env.close()


def test_a_picture_may_be_the_action() -> None:
    env = WorkflowEnv(airstriker(), train=["small"])
    assert env.observation_space == gymnasium.spaces.Box(0, 255, (224, 320, 1), np.uint8)
    assert env.action_space == gymnasium.spaces.Box(0, 255, (84, 84, 1), np.uint8)
    env.close()


PACK = """
from typing import NamedTuple

from minibrains import Episode, Flag, Node, Number, Register


class Said(NamedTuple):
    low: Number
    high: Number
    done: Flag
    paid: Number


class Game(Register, terminal="done"):
    def reset(self, episode: Episode) -> None:
        self.tick_ = 0
        self.heard = 0.0

    def emit(self) -> Said:
        paid = 100.0 if self.tick_ == 5 else 0.0
        return Said(self.tick_, self.tick_ * 10, self.tick_ == 5, paid)

    def latch(self, first: Number | None = None, second: Number | None = None) -> None:
        self.tick_ += 1
        self.heard = (first or 0.0) + (second or 0.0)

    def report(self):
        return {"heard": self.heard}


class Answers(NamedTuple):
    plus: Number
    minus: Number


class Learner(Node):
    def tick(self, low: Number, high: Number) -> Answers:
        return Answers(low + high, low - high)


class Cost(Node):
    def tick(self, action: Number) -> Number:
        return -1.0
"""


def small_game(tmp_path: Path, every: int, costs: bool) -> WorkflowEnv:
    """Return an environment of a game of six ticks that pays 100 on its last one."""
    (tmp_path / "small.py").write_text(PACK)
    terms = ["game.paid", "cost.number"] if costs else ["game.paid"]
    nodes = {
        "game": {
            "type": "small.Game@1",
            "in": {"first": "learner.plus", "second": "learner.minus"},
        },
        "learner": {
            "type": "small.Learner@1",
            "in": {"low": "game.low", "high": "game.high"},
            "every": every,
        },
        "cost": {"type": "small.Cost@1", "in": {"action": "learner.plus"}},
        "sum": {"type": "RewardSum@2", "in": {"rewards": terms}},
    }
    workflow = {"minibrains": 1, "nodes": nodes}
    return WorkflowEnv(workflow, train=["learner"], packs=[tmp_path / "small.py"])


def test_several_inputs_and_outputs_are_mappings(tmp_path: Path) -> None:
    env = small_game(tmp_path, every=2, costs=False)
    observed, acted = env.observation_space, env.action_space
    assert isinstance(observed, gymnasium.spaces.Dict)
    assert isinstance(acted, gymnasium.spaces.Dict)
    assert sorted(observed.spaces) == ["game/high", "game/low"]
    assert sorted(acted.spaces) == ["learner/minus", "learner/plus"]
    observation, _ = env.reset(seed=0)
    assert observation == {"game/low": [0.0], "game/high": [0.0]}
    observation, _, _, _, _ = env.step({"learner/plus": [3.0], "learner/minus": [4.0]})
    assert observation == {"game/low": [2.0], "game/high": [20.0]}
    with pytest.raises(MinibrainsError, match="expected a mapping with learner/plus"):
        env.step({"learner/plus": [3.0]})
    _, _, _, _, _ = env.step({"learner/plus": [5.0], "learner/minus": [6.0]})
    _, reward, terminated, _, info = env.step({"learner/plus": [1.0], "learner/minus": [1.0]})
    assert (reward, terminated, info["results"]["heard"]) == (100.0, True, 2.0)
    env.close()
    with pytest.raises(MinibrainsError, match="the environment is closed"):
        env.reset()


@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("every", [1, 2, 3])
def test_the_reward_of_the_last_tick_is_paid(tmp_path: Path, every: int, costs: bool) -> None:
    env = small_game(tmp_path, every, costs)
    env.reset(seed=0)
    score, over = 0.0, False
    while not over:
        action = {"learner/plus": [0.0], "learner/minus": [0.0]}
        _, reward, terminated, truncated, info = env.step(action)
        score += reward
        over = terminated or truncated
    env.close()
    assert info["results"]["rewards"]["game"] == 100.0
    assert score == info["results"]["reward"]


@pytest.mark.parametrize("action", [-1, 6, 2.5, [2], "x", None, Ranked(2, 2), Ranked(2, 6)])
def test_what_is_no_action_is_refused(action: Any) -> None:
    port = Port("head/logits", SocketTypes((SocketType("logits", "f32", (6,), np.ndarray),)), True)
    with pytest.raises(
        MinibrainsError, match=r"head/logits: the action .* is none of Discrete\(6\)"
    ):
        port.value(action)


def test_a_sampler_takes_the_action_at_any_temperature() -> None:
    port = Port("head/logits", SocketTypes((SocketType("logits", "f32", (6,), np.ndarray),)), True)
    sampler = ActionSampler(mode="sample", temperature=100.0)
    sampler.reset(Episode(0, 0, "choose"))
    choices = {sampler.tick(port.value(Ranked(2, 4))) for _ in range(1000)}
    assert choices == {(2, 4)}


def test_a_region_that_is_never_due_ends_with_a_sentence() -> None:
    env = WorkflowEnv("duel_vector", train=["head"], widgets={"clock.offset": 200}, ticks=100)
    with pytest.raises(MinibrainsError, match="head was not due in 10 whole episodes"):
        env.reset(seed=1)
    env.close()


# -- what is not a region --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "train", "sentence"),
    [
        ({}, [], "train names no node"),
        ({}, ["haed"], "the workflow has no node 'haed'. Did you mean 'head'?"),
        ({}, ["console"], "console (RetroEmulator) passes a value from one tick to the next"),
        ({}, ["grey", "stack"], "grey leads out of it to stack over small; add small"),
        ({}, ["grey", "head"], "grey leads out of it to head over small, stack; add small, stack"),
        ({}, ["stack", "head"], "stack and head have different clocks"),
        ({}, ["sink"], "sink.action reads choose.action as one of several links, an event"),
        (
            {"head": {**airstriker()["nodes"]["head"], "busy": "continue"}},
            ["head"],
            'head thinks while the game goes on ("busy": "continue")',
        ),
        (
            {"seen": {"type": "Preview@2", "in": {"value": "small.frame"}}},
            ["seen"],
            "nothing reads from seen, so there is no action",
        ),
    ],
)
def test_no_region(changes: Any, train: list[str], sentence: str) -> None:
    with pytest.raises(MinibrainsError) as refusal:
        WorkflowEnv(airstriker(**changes), train=train)
    assert sentence in str(refusal.value)


def test_a_word_is_no_list_of_nodes() -> None:
    with pytest.raises(
        MinibrainsError, match=r"train is 'head'; expected a list of ids, \['head'\]"
    ):
        WorkflowEnv(airstriker(), train="head")


def test_what_has_no_space_is_refused() -> None:
    features = {"type": "GameFeatures@1", "in": {"variables": "console.variables"}}
    with pytest.raises(
        MinibrainsError, match=r"console/variables carries variables, which a learner"
    ):
        WorkflowEnv(
            airstriker(
                features=features, read={"type": "Score@1", "in": {"rewards": ["features.own_hp"]}}
            ),
            train=["features"],
        )


def test_it_begins_in_no_held_back_state() -> None:
    with pytest.raises(MinibrainsError, match="held back") as refusal:
        WorkflowEnv(
            "sf2_pixels", train=["head"], widgets={"console.states": ["held_back/Level4.*"]}
        )
    assert "mute" not in str(refusal.value), "what is trained cannot be muted"


def test_a_run_does_not_play_it() -> None:
    with (
        Run(RunSpec(airstriker(), train=("head",))) as run,
        pytest.raises(MinibrainsError, match="play it with WorkflowEnv"),
    ):
        list(run)


# -- the networks ----------------------------------------------------------------------------------


def test_the_networks_of_a_region_are_trained_and_become_brains_again() -> None:
    network = region(airstriker(), ["head"])
    network(torch.rand(3, 4, 84, 84)).sum().backward()
    for parameter in network.parameters():
        assert parameter.grad is not None
    before = network.brains()["head"]
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.5)
    after = network.brains()["head"]
    for name, array in before.tensors.items():
        assert np.allclose(after.tensors[name], array + np.float32(0.5))
    network.network("head").requires_grad_(False)
    assert network.brains()["head"].ref is not None  # its own file
    with pytest.raises(MinibrainsError, match=r"no node 'haed'\. Did you mean 'head'\?"):
        network.network("haed")


def test_a_node_without_a_network_is_refused() -> None:
    with pytest.raises(MinibrainsError, match=r"choose \(ActionSampler\) has no network"):
        region(airstriker(), ["head", "choose"])
