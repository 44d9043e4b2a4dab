"""Every shipped node, made as for a test, and what it is given tick by tick."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from minibrains import Node
from minibrains.files import bundled_dir, home
from minibrains.testing import Inputs
from nodes.actions import gates, mixing, sink
from nodes.actions import history as action_history
from nodes.consoles import pads
from nodes.consoles.native_duel import NativeDuel
from nodes.consoles.retro import RetroEmulator
from nodes.control import flow, rules
from nodes.doctor import policy_doctor
from nodes.exploring import progress
from nodes.exploring import walking as exploring
from nodes.exploring.walk_script import WalkScript
from nodes.fighting import features, fighters, rounds, simple, strategist
from nodes.language import lora, merging, pretrained, prompt, remote, reply, vlm
from nodes.policies import (
    attention,
    baselines,
    buttons,
    encoder,
    heads,
    history,
    memory,
    network,
    vector,
)
from nodes.recording import decision_log, output
from nodes.rewards import fight as fight_rewards
from nodes.rewards import general
from nodes.rewards import sum as reward_sum
from nodes.training import (
    agreement,
    calibrate,
    clone_network,
    colors,
    dagger,
    ppo,
    reader,
    train_vlm,
    writer,
)
from nodes.vision import fighters as fighters_seen
from nodes.vision import frames, overlay, tiles
from tests.support import chat_server, data_sets, fights, meadow, tiny_families, tiny_vlm, walking

MODELS = bundled_dir("models")
RANDOM = np.random.default_rng(7)
FRAMES = list(RANDOM.integers(0, 256, (5, 30, 40, 3), np.uint8))
GREY = [frame[:, :, :1] for frame in FRAMES]


def _brain(kind: Any, name: str) -> Any:
    return kind.load(MODELS / name)


def _ticks(**inputs: list[Any]) -> list[Inputs]:
    """What a node is given tick by tick, from what each of its inputs is given."""
    ticks: list[Inputs] = []
    for values in zip(*inputs.values(), strict=True):
        ticks.append(dict(zip(inputs, values, strict=True)))
    return ticks


LABELS = np.array([[0, 1, -1]] * 2, np.int32)
FIGHT = _ticks(
    agent_x=[150] * 36,
    agent_status=[512] * 36,
    enemy_x=[350, 340, 270, 220, 210, 190] * 6,
    enemy_y=[192, 192, 152, 162, 192, 192] * 6,
    enemy_status=[512, 522, 516, 520, 520, 512] * 6,
)
VICTORIES = _ticks(agent_victories=[0, 1, 1, 2], enemy_hp=[90, 40, 176, -1])
MOMENTS = _ticks(
    agent_hp=[176, 156, 136, 116, 96, 76, 56, 36],
    agent_x=[100, 109, 118, 127, 136, 145, 154, 163],
    agent_y=[192] * 8,
    agent_status=[512, 514, 516, 518, 520, 522, 524, 0],
    enemy_hp=[176, 151, 126, 101, 76, 51, 26, 1],
    enemy_x=[150] * 8,
    enemy_y=[192, 191, 190, 189, 188, 187, 186, 185],
    enemy_status=[512, 0, 524, 522, 520, 518, 516, 514],
)
RESULTS = _ticks(agent_victories=[1, 2], enemy_victories=[1, 1])
ROUNDS = _ticks(
    agent_hp=[176, 176, 30, 30, 30, 176, 176],
    agent_x=[100, 104, 110, 120, 120, 205, 205],
    agent_status=[512, 520, 524, 518, 512, 512, 512],
    enemy_hp=[176, 160, 160, 20, -1, 176, 170],
    enemy_x=[300, 300, 460, 470, 480, 307, 300],
    round_countdown=[900, 899, 898, 897, 896, 999, 998],
)
"""A round that ends by a knock-out, and the beginning of the next one."""
FIGHTS = [features.GameFeatures().tick(moment).fight for moment in MOMENTS]
CODEBOOK = tiles.TileCodebook(
    labels=("wall", "floor"),
    tiles=RANDOM.integers(0, 256, (3, 8, 8, 3), np.uint8),
    label=np.array([1, 0, 1], np.int32),
)
TILED = list(RANDOM.integers(0, 256, (3, 16, 24, 3), np.uint8))
TILED[1][:8, 8:16] = CODEBOOK.tiles[2]
FIGHTER_COLORS = fighters_seen.FighterColors(
    looks=("red", "green"),
    colors=np.array([[200, 0, 0], [0, 200, 0]], np.uint8),
    share=np.eye(2, dtype=np.float32),
)


def _fighters(red: int, green: int) -> np.ndarray:
    """A picture of two fighters, 4 pixels wide, at these columns."""
    picture = np.zeros((30, 40, 3), np.uint8)
    picture[10:20, red : red + 4] = (200, 0, 0)
    picture[10:20, green : green + 4] = (0, 200, 0)
    return picture


FIGHTERS = [_fighters(5, 30), _fighters(20, 10), _fighters(20, 10), _fighters(9, 30), FRAMES[0]]
MASKS = list(RANDOM.integers(0, 2, (2, 16, 24, 2), np.uint8) * np.uint8(255))
CHARACTERS = _ticks(
    agent_x=[7, 22, 22, 11],
    agent_y=[20] * 4,
    agent_character=[0] * 4,
    enemy_x=[32, 12, 12, 32],
    enemy_y=[20] * 4,
    enemy_character=[1] * 4,
)


def _clone() -> Node:
    """A node that learns from a data set, which is written into $MINIBRAINS_HOME."""
    fights.write_fights(2)
    return fights.clone(steps=2)


def _clone_buttons() -> Node:
    """A node that learns buttons from a data set, which is written into $MINIBRAINS_HOME."""
    fights.write_fights(2)
    return fights.clone_buttons(steps=2)


def _calibrate() -> Node:
    """A node that calibrates an untrained policy, which is written into $MINIBRAINS_HOME."""
    fights.write_fights(2)
    fights.write_untrained_buttons()
    return calibrate.Calibrate(data=fights.NAME, name="small", brain=fights.COLORS)


CALIBRATION = buttons.ButtonCalibration(
    buttons=("FORWARD", "BACK", "A"),
    thresholds=(0.5, 0.5, 0.9),
    bias=(0.0, 0.0, 1.0),
    temperature=0.5,
)


def _rounds() -> Node:
    """A node whose rounds are over: their results are written into $MINIBRAINS_HOME."""
    node = dagger.DaggerRounds(name="rounds", data="fights")
    file = home() / "training" / "rounds" / dagger.LOG
    file.parent.mkdir(parents=True, exist_ok=True)
    results = [{"won": won, "settings": node.settings()} for won in (0.5, 0.4)]
    file.write_text("".join(f"{json.dumps(result)}\n" for result in results))
    return node


def _ppo() -> Node:
    """A node that learns by playing a workflow, which is written into $MINIBRAINS_HOME."""
    home().mkdir(parents=True, exist_ok=True)
    return ppo.TrainPPO(
        workflow=walking.write_walk(home()),
        train=("head",),
        name="walker",
        reward="reward.number",
        n_envs=2,
        total_timesteps=10_000,
        n_steps=8,
        batch_size=16,
        n_epochs=1,
    )


def _clone_network() -> Node:
    """A node that learns from a teacher, in a workflow that is written into $MINIBRAINS_HOME."""
    home().mkdir(parents=True, exist_ok=True)
    return clone_network.CloneNetwork(
        workflow=walking.write_walk(home(), teacher=True),
        train=("head",),
        teacher="teacher.action",
        name="walker",
        total_timesteps=10_000,
        n_steps=4,
        batch_size=2,
    )


def _doctor() -> Node:
    """A node that examines an untrained policy in a short game, in a workflow that is written into
    $MINIBRAINS_HOME.
    """
    home().mkdir(parents=True, exist_ok=True)
    return policy_doctor.PolicyDoctor(workflow=walking.write_walk(home()), episodes=1, ticks=60)


def _reader() -> Node:
    """A node that plays a data set back, which is written into $MINIBRAINS_HOME."""
    fights.write_fights(2)
    return reader.SampleReader(name=fights.NAME, pictures=3, brain=data_sets.TABLE)


def _train_vlm() -> Node:
    """A node that trains a model on a data set, both of which are written into $MINIBRAINS_HOME."""
    tiny_vlm.write_pictures(2)
    settings = {**tiny_vlm.LEARNING, "checkpoint": 1, "epochs": 8}
    model = tiny_vlm.save_model(home() / "tiny.safetensors")
    return train_vlm.TrainVLM(brain=model, **settings)


def _llm() -> Node:
    """A node with a model that does not see, which is written into $MINIBRAINS_HOME."""
    tiny_families.save_qwen3(home() / "qwen3")
    brain = pretrained.VLMBrain.of_folder(home() / "qwen3", ("0", "1", "9"))
    brain.save(home() / "qwen3.safetensors", title="tiny", made_by="a test")
    return vlm.LLMStrategist(
        answer="choose", brain=pretrained.VLMBrain.load(home() / "qwen3.safetensors")
    )


def _train_lora() -> Node:
    """A node that adapts a model to a data set, both of which are written into $MINIBRAINS_HOME."""
    tiny_vlm.write_pictures(2)
    settings = {**tiny_vlm.LEARNING, "checkpoint": 1, "epochs": 8}
    model = tiny_vlm.save_model(home() / "tiny.safetensors")
    return train_vlm.TrainLoRA(brain=model, **settings)


def _adapter() -> lora.Adapter:
    """A link from a LoRALoader with the shipped adapter."""
    return lora.LoRALoader(
        brain=_brain(lora.LoraAdapter, "lora_adapter/sf2-untrained.safetensors")
    ).tick()


ACTIONS = [3, None, 4, 0, None, 5, 1, None, None, 2]
CASES: dict[str, tuple[Callable[[], Node], list[Inputs]]] = {
    "ActionHistory": (
        lambda: action_history.ActionHistory(brain=data_sets.TABLE, prompt="{actions:2}"),
        _ticks(action=[None, 1, 2, None, 0]),
    ),
    "ActionParser": (
        lambda: reply.ActionParser(brain=_brain(reply.ReplyWords, "reply_words/sf2.safetensors")),
        _ticks(
            text=["9", "", "I would kick", "12", "41", "no"],
            facing=[True, True, False, False, False, True],
        ),
    ),
    "ActionSampler": (
        lambda: network.ActionSampler(mode="sample"),
        _ticks(logits=list(RANDOM.standard_normal((8, 6), np.float32))),
    ),
    "Agreement": (agreement.Agreement, _ticks(action=[1, None, 2, 0], label=[1, 1, None, 2])),
    "All": (flow.All, _ticks(flags=[[], [True], [True, False], [True, True]])),
    "AntiRepeat": (
        gates.AntiRepeat,
        _ticks(action=[9, 9, 9, 9, 0, 0, 0], second=[None, 9, 3, None, None, 0, None]),
    ),
    "AttackBias": (
        lambda: network.AttackBias(
            brain=_brain(sink.ActionTable, "action_table/sf2.safetensors"), bias=2.0
        ),
        _ticks(logits=list(RANDOM.standard_normal((4, 44)).astype(np.float32))),
    ),
    "AttackShare": (
        lambda: rounds.AttackShare(brain=_brain(sink.ActionTable, "action_table/sf2.safetensors")),
        _ticks(action=ACTIONS),
    ),
    "Any": (flow.Any, _ticks(flags=[[], [False], [True, False]])),
    "ButtonHead": (
        lambda: buttons.ButtonHead(brain=fights.untrained_buttons()),
        _ticks(frames=list(RANDOM.random((3, 6, 12, 40), np.float32))),
    ),
    "ButtonHistory": (
        lambda: pads.ButtonHistory(
            brain=_brain(pads.ButtonHistoryBrain, "button_history/genesis8.safetensors")
        ),
        _ticks(pad=[("UP", "B"), None, (), ("LEFT",)] * 3),
    ),
    "ButtonSampler": (
        lambda: buttons.ButtonSampler(brain=CALIBRATION, mode="sample", hold=2),
        _ticks(
            logits=[*RANDOM.standard_normal((2, 3)).astype(np.float32), None, None, None],
            facing=[True, False, False, True, True],
        ),
    ),
    "Calibrate": (_calibrate, [{}] * 3),
    "CenterMasks": (
        lambda: fighters_seen.CenterMasks(column=4, strip=6, least=1),
        _ticks(masks=MASKS),
    ),
    "Changed": (flow.Changed, _ticks(value=[GREY[0], GREY[0], GREY[1], 1, 1, True])),
    "CloneButtons": (_clone_buttons, [{}] * 3),
    "ClonePolicy": (_clone, [{}] * 3),
    "ComboReward": (fight_rewards.ComboReward, _ticks(variables=ROUNDS)),
    "Compare": (
        lambda: rules.Compare(op=">=", value=2),
        _ticks(number=[1.0, 2.0, 3.0], limit=[None, 3.0, 3.0]),
    ),
    "Constant": (lambda: rules.Constant(value=["DOWN", "LEFT"]), _ticks(now=[None, True, False])),
    "CooldownGate": (
        lambda: gates.CooldownGate(
            idle="release", brain=_brain(gates.RecoveryBrain, "recovery/airstriker.safetensors")
        ),
        _ticks(action=ACTIONS),
    ),
    "Crop": (
        lambda: frames.Crop(left=3, top=2, width=8, height=6),
        _ticks(frame=[*FRAMES, *GREY]),
    ),
    "DaggerRounds": (_rounds, [{}] * 3),
    "DamageReward": (fight_rewards.DamageReward, _ticks(variables=ROUNDS)),
    "DangerReward": (fight_rewards.DangerReward, _ticks(variables=ROUNDS)),
    "DecisionLog": (
        lambda: decision_log.DecisionLog(
            brain=_brain(sink.ActionTable, "action_table/sf2.safetensors")
        ),
        _ticks(
            image=[*FRAMES[:2], None],
            prompt=["a", None, "b"],
            text=["9", "21", None],
            method=["basic"] * 3,
            action=[9, 21, 0],
        ),
    ),
    "DistanceReward": (fight_rewards.DistanceReward, _ticks(variables=ROUNDS)),
    "EdgeReward": (fight_rewards.EdgeReward, _ticks(variables=ROUNDS)),
    "EmulatorSink": (
        lambda: sink.EmulatorSink(
            brain=_brain(sink.ActionTable, "action_table/airstriker.safetensors")
        ),
        _ticks(action=ACTIONS * 3),
    ),
    "Every": (lambda: flow.Every(ticks=3, offset=1), [{}] * 8),
    "FighterMask": (
        lambda: fighters_seen.FighterMask(brain=FIGHTER_COLORS, mirror=True),
        _ticks(frame=FIGHTERS, restart=[None, None, True, None, None]),
    ),
    "FighterTiles": (
        fighters_seen.FighterTiles,
        _ticks(masks=MASKS, labels=[None, LABELS], legend=[None, ("water",)]),
    ),
    "FightVector": (
        lambda: features.FightVector(
            brain=_brain(features.FightVectorBrain, "fight_vector/sf2.safetensors")
        ),
        _ticks(fight=FIGHTS),
    ),
    "FrameHistory": (lambda: features.FrameHistory(steps=2), _ticks(fight=FIGHTS)),
    "FrameStack": (
        lambda: frames.FrameStack(
            brain=_brain(frames.FrameStackBrain, "frame_stack/grey4.safetensors")
        ),
        _ticks(frame=GREY * 4),
    ),
    "GameFeatures": (features.GameFeatures, _ticks(variables=MOMENTS)),
    "Grayscale": (frames.Grayscale, _ticks(frame=FRAMES)),
    "GridOverlay": (
        lambda: overlay.GridOverlay(
            brain=_brain(overlay.OverlayStyle, "overlay_style/plain.safetensors")
        ),
        _ticks(
            frame=TILED, labels=[None, LABELS, None], markers=[[], [(1, 1, "me")], [(9, 9, "x")]]
        ),
    ),
    "KnockoutReward": (fight_rewards.KnockoutReward, _ticks(variables=ROUNDS)),
    "LLMStrategist": (
        _llm,
        _ticks(prompt=["you 50 hp", "", "jump or kick?"], adapters=[[], [None], []]),
    ),
    "LoRALoader": (
        lambda: lora.LoRALoader(
            weight=0.5, brain=_brain(lora.LoraAdapter, "lora_adapter/sf2-untrained.safetensors")
        ),
        [{}] * 2,
    ),
    "LearnFighterColors": (
        lambda: colors.LearnFighterColors(arena=40, reach=4, height=12, below=2, names=("Ada",)),
        _ticks(frame=FIGHTERS[:4], variables=CHARACTERS),
    ),
    "Log": (output.Log, _ticks(value=[1, 2.5, "text", GREY[0], {"hp": 3}, (1, 2)])),
    "MergeLoRA": (
        lambda: merging.MergeLoRA(
            name="merged", brain=_brain(pretrained.VLMBrain, "vlm/sf2-untrained.safetensors")
        ),
        _ticks(adapters=[[_adapter()], [_adapter()]]),
    ),
    "MixedAction": (
        mixing.MixedAction,
        _ticks(student=[1, None, 2, 3, None], teacher=[4, None, 5, None, 6]),
    ),
    "NativeDuel": (
        lambda: NativeDuel(noop_max=30, states=("training/Level4.*",), write={"seed": "$seed"}),
        _ticks(pad1=[("LEFT", "B"), ("LEFT",), None, ("DOWN", "Z"), (), ("B",)] * 5),
    ),
    "NoisyAction": (
        lambda: mixing.NoisyAction(
            probability=0.5, brain=_brain(sink.ActionTable, "action_table/sf2.safetensors")
        ),
        _ticks(action=ACTIONS),
    ),
    "Not": (rules.Not, _ticks(flag=[True, False])),
    "Override": (flow.Override, _ticks(value=[1, 2, None, 4], urgent=[None, 9, None, None])),
    "PadToAction": (
        lambda: sink.PadToAction(brain=_brain(sink.ActionTable, "action_table/sf2.safetensors")),
        _ticks(pad=[None, (), ("UP", "RIGHT"), ("START",)], facing=[True, True, False, False]),
    ),
    "PadView": (
        lambda: pads.PadView(brain=_brain(pads.PadFace, "pad_face/plain.safetensors")),
        _ticks(frame=FRAMES[:3], pad=[None, ("UP", "B"), ()]),
    ),
    "PersonPad": (pads.PersonPad, [{}] * 3),
    "PolicyDoctor": (_doctor, [{}] * 2),
    "PolicyHead": (
        lambda: network.PolicyHead(
            brain=_brain(network.PolicyHeadBrain, "policy_head/airstriker-untrained.safetensors")
        ),
        _ticks(frames=list(RANDOM.random((3, 4, 84, 84), np.float32))),
    ),
    "Preview": (output.Preview, _ticks(value=FRAMES)),
    "Previous": (lambda: flow.Previous(initial=None), _ticks(value=[3, 1, 2, 2])),
    "ProgressReward": (
        lambda: general.ProgressReward(variable="quest", fall=-1.0),
        _ticks(
            variables=[{"quest": step} for step in (0, 0, 2, 1)], priority=[None, 1.0, 5.0, 3.0]
        ),
    ),
    "PromptBuilder": (
        lambda: prompt.PromptBuilder(
            brain=_brain(prompt.PromptTemplate, "prompt_template/sf2.safetensors")
        ),
        _ticks(fight=FIGHTS[:3], history=[None, "you 0 hp", "x"]),
    ),
    "RandomPolicy": (lambda: baselines.RandomPolicy(actions=6, hold=2), [{}] * 12),
    "RecentFrames": (
        lambda: frames.RecentFrames(taps=(3, 1, 0)),
        _ticks(frame=FRAMES * 2, now=[True, False, None, True, False] * 2),
    ),
    "ReflexPolicy": (
        lambda: baselines.ReflexPolicy(
            brain=_brain(baselines.ReflexBrain, "reflex/airstriker.safetensors")
        ),
        [{}] * 130,
    ),
    "Reroute": (flow.Reroute, _ticks(value=[FRAMES[0], 2])),
    "RemoteVLM": (
        lambda: remote.RemoteVLM(endpoint=chat_server.shared_address(), model="tiny"),
        _ticks(image=[*FRAMES[:2], None], prompt=["you 50 hp", "", "jump or kick?"]),
    ),
    "Resize": (lambda: frames.Resize(width=8, height=6), _ticks(frame=[*FRAMES, *GREY])),
    "RewardSum": (
        lambda: reward_sum.RewardSum(brain=None),
        _ticks(
            rewards=[[1.0, None], [None, None], [None, 2.0], [0.5, 1.0]],
            now=[None, True, False, True],
        ),
    ),
    "RetroEmulator": (
        lambda: RetroEmulator(noop_max=30, states=("Level1",)),
        _ticks(pad1=[("LEFT", "B"), ("LEFT",), None, ("RIGHT", "B"), (), ("B",)] * 5),
    ),
    "RoundEnds": (rounds.RoundEnds, _ticks(variables=VICTORIES)),
    "ScriptedFighter": (
        lambda: fighters.ScriptedFighter(style="zoner", late=2),
        _ticks(variables=FIGHT),
    ),
    "ScriptedStrategist": (
        lambda: strategist.ScriptedStrategist(
            brain=_brain(sink.ActionTable, "action_table/sf2.safetensors"), late=2
        ),
        _ticks(variables=FIGHT, ask=[True, False, True] * 12, pad=[None, ("RIGHT",), ()] * 12),
    ),
    "SampleReader": (_reader, [{}] * 8),
    "SampleWriter": (
        lambda: writer.SampleWriter(
            name="moments", brain=_brain(sink.ActionTable, "action_table/sf2.safetensors")
        ),
        _ticks(
            picture=FRAMES[:3],
            variables=MOMENTS[:3],
            label=[3, None, 4],
            second=[None, None, 5],
            played=[3, None, None],
            actionable=[None, True, False],
            logits=[None, None, None],
        ),
    ),
    "Score": (output.Score, _ticks(rewards=[[], [1.0, None], [2.0], [None, 0.5]])),
    "SimpleFighter": (
        lambda: simple.SimpleFighter(
            brain=_brain(simple.SimplePlayers, "simple_players/duel.safetensors"),
            player="level 4, two thresholds",
        ),
        _ticks(variables=[{**moment, "agent_hp": 176, "enemy_hp": 90} for moment in FIGHT]),
    ),
    "SwapSides": (features.SwapSides, _ticks(variables=MOMENTS)),
    "Switch": (flow.Switch, _ticks(flag=[True, False], yes=[1, 2], no=[3, 4])),
    "TileTokenizer": (lambda: tiles.TileTokenizer(brain=CODEBOOK), _ticks(frame=TILED)),
    "TemporalColor": (
        frames.TemporalColor,
        _ticks(stacked=[frame[:, :, :2] for frame in FRAMES[:3]]),
    ),
    "TimePenalty": (general.TimePenalty, [{}] * 3),
    "ToPicture": (
        frames.ToPicture,
        _ticks(frame=[*FRAMES, GREY[0][:, :, 0], FRAMES[1].transpose(2, 0, 1)]),
    ),
    "TrainLoRA": (_train_lora, [{}] * 2),
    "TrainPPO": (_ppo, [{}] * 2),
    "TrainVLM": (_train_vlm, [{}] * 2),
    "Variable": (
        lambda: flow.Variable(name="lives"),
        _ticks(variables=[{"lives": 3}, {"lives": 2}]),
    ),
    "VLMStrategist": (
        lambda: vlm.VLMStrategist(
            answer="choose", brain=_brain(pretrained.VLMBrain, "vlm/sf2-untrained.safetensors")
        ),
        _ticks(
            image=FRAMES[:3], prompt=["you 50 hp", "", "jump or kick?"], adapters=[[], [None], []]
        ),
    ),
    "WalkTo": (
        lambda: exploring.WalkTo(brain=_brain(WalkScript, "walk_script/meadow.safetensors")),
        _ticks(variables=meadow.WALK),
    ),
    "WinReward": (
        fight_rewards.WinReward,
        _ticks(variables=RESULTS, terminated=[False, True]),
    ),
    "WorldProgress": (progress.WorldProgress, _ticks(variables=meadow.WALK)),
    "VectorPolicy": (
        lambda: vector.VectorPolicy(
            brain=_brain(vector.VectorPolicyBrain, "vector_policy/fight-untrained.safetensors")
        ),
        _ticks(vector=list(RANDOM.random((3, 21), np.float32))),
    ),
    "VectorMemory": (
        lambda: memory.VectorMemory(
            brain=memory.VectorMemory.new_brain({"numbers": 3, "hidden": 4, "layers": 2})
        ),
        _ticks(vector=list(RANDOM.random((5, 3), np.float32))),
    ),
    "CloneNetwork": (_clone_network, [{}] * 2),
    "FrameEncoder": (
        lambda: encoder.FrameEncoder(
            brain=encoder.FrameEncoder.new_brain(
                {
                    "channels": 2,
                    "height": 12,
                    "width": 16,
                    "convolutions": ((4, 4, 2),),
                    "features": 6,
                }
            )
        ),
        _ticks(frames=list(RANDOM.random((3, 2, 12, 16), np.float32))),
    ),
    "FeatureHistory": (
        lambda: history.FeatureHistory(
            brain=history.FeatureHistoryBrain(steps=3, features=2, numbers=1, buttons=2)
        ),
        _ticks(
            features=list(RANDOM.random((5, 2), np.float32)),
            numbers=list(RANDOM.random((5, 1), np.float32)),
            buttons=list(RANDOM.integers(0, 2, (5, 8, 2), np.uint8)),
        ),
    ),
    "CrossAttention": (
        lambda: attention.CrossAttention(
            brain=attention.CrossAttention.new_brain(
                {"steps": 3, "groups": (2, 1, 2), "width": 8, "heads": 2}
            )
        ),
        _ticks(sequence=list(RANDOM.random((3, 3, 5), np.float32))),
    ),
    "TemporalAttention": (
        lambda: attention.TemporalAttention(
            brain=attention.TemporalAttention.new_brain({"columns": 12, "width": 8, "heads": 2})
        ),
        _ticks(
            query=list(RANDOM.random((3, 8), np.float32)),
            sequence=list(RANDOM.random((3, 3, 12), np.float32)),
        ),
    ),
    "ActionHead": (
        lambda: heads.ActionHead(
            brain=heads.ActionHead.new_brain(
                {"numbers": 8, "hidden": (6, 4), "dropout": 0.5, "actions": 5}
            )
        ),
        _ticks(vector=list(RANDOM.random((3, 8), np.float32))),
    ),
    "ValueHead": (
        lambda: heads.ValueHead(brain=heads.ValueHead.new_brain({"numbers": 8, "hidden": (6,)})),
        _ticks(vector=list(RANDOM.random((3, 8), np.float32))),
    ),
    "VideoWriter": (lambda: output.VideoWriter(episodes=0), _ticks(frame=FRAMES)),
}
LINKED: dict[str, dict[str, tuple[str, ...]]] = {"RewardSum": {"rewards": ("damage", "win")}}
"""Node -> where its links come from, for those that ask."""
