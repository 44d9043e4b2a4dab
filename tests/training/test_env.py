"""A workflow as a Gymnasium environment."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from minibrains import MinibrainsError, Run, RunSpec, WorkflowEnv
from minibrains.training.module import region

EMULATOR = {"type": "RetroEmulator@2", "set": {"game": "Airstriker-Genesis-v0"}}


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


def test_the_limit_of_the_run_truncates() -> None:
    env = WorkflowEnv(airstriker(), train=["head"], ticks=20)
    env.reset(seed=1)
    steps = [env.step(0) for _ in range(3)]
    assert [step[2:4] for step in steps] == [(False, False), (False, False), (False, True)]
    assert [sorted(step[4]) for step in steps] == [[], [], ["results"]]
    with pytest.raises(MinibrainsError, match="the episode is over; begin another one"):
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


def test_episodes_begin_in_the_states_that_they_are_given() -> None:
    env = WorkflowEnv("duel_vector", train=["head"], ticks=60)

    def play_on() -> str:
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(0)
            over = terminated or truncated
        state: str = info["results"]["start"]["state"]
        return state

    env.reset(seed=1, options={"states": ["Level5.KazeVsKaze", "Level7.Bron*"]})
    states = {play_on()}
    for _ in range(8):
        env.reset()
        states.add(play_on())
    assert states == {"Level5.KazeVsKaze", "Level7.BronVsBron", "Level7.BronVsTarn"}

    env.reset()
    moment = env.moment()
    env.reset(options={"states": []})
    env.go_to(moment)
    assert play_on() in states
    with pytest.raises(MinibrainsError, match=r"no state of the console is one of Level99\.\*"):
        env.reset(options={"states": ["Level99.*"]})
    env.close()


# -- spaces ----------------------------------------------------------------------------------------


def test_policy_and_sampler_together_choose_an_index() -> None:
    env = WorkflowEnv(airstriker(), train=["head", "choose"])
    assert env.action_space == gymnasium.spaces.Discrete(6)
    env.reset(seed=1)
    env.step(5)
    with pytest.raises(MinibrainsError, match=r"choose.action: the action 6 is none of Discrete"):
        env.step(6)
    env.close()


def test_more_than_one_input_and_output() -> None:
    blend = {"type": "Any@1", "in": {"flags": ["console.terminated"]}}
    note = {"type": "Preview@1", "in": {"frame": "small.frame"}}
    env = WorkflowEnv(airstriker(blend=blend, note=note), train=["small"])
    assert env.observation_space == gymnasium.spaces.Box(0, 255, (224, 320, 1), np.uint8)
    assert env.action_space == gymnasium.spaces.Box(0, 255, (84, 84, 1), np.uint8)
    env.close()


# -- what is no region -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "train", "sentence"),
    [
        ({}, [], "train names no node"),
        ({}, ["haed"], "the workflow has no node 'haed'. Did you mean 'head'?"),
        ({}, ["console"], "console (RetroEmulator) passes a value from one tick to the next"),
        ({}, ["grey", "stack"], "grey leads out of it to small, which leads back to stack"),
        ({}, ["stack", "head"], "stack and head have different clocks"),
        ({}, ["sink"], "sink.action reads choose.action as one of several links, an event"),
        (
            {"head": {**airstriker()["nodes"]["head"], "busy": "continue"}},
            ["head"],
            'head thinks while the game goes on ("busy": "continue")',
        ),
        (
            {"seen": {"type": "Preview@1", "in": {"frame": "small.frame"}}},
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
        MinibrainsError, match=r"console.variables carries variables, which a learner"
    ):
        WorkflowEnv(
            airstriker(
                features=features, read={"type": "Score@1", "in": {"rewards": ["features.own_hp"]}}
            ),
            train=["features"],
        )


def test_it_begins_in_no_held_back_state() -> None:
    with pytest.raises(MinibrainsError, match="held back"):
        WorkflowEnv(
            "sf2_pixels", train=["head"], widgets={"console.states": ["held_back/Level4.*"]}
        )


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
    network.networks["head"].requires_grad_(False)
    assert network.brains()["head"].ref is not None  # its own file


def test_a_node_without_a_network_is_refused() -> None:
    with pytest.raises(MinibrainsError, match=r"choose \(ActionSampler\) has no network"):
        region(airstriker(), ["head", "choose"])
