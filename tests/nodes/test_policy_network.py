"""The policy network of sf2_policy: six nodes that are one network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from minibrains import Brain, Run, RunSpec
from minibrains.doctor.network import Network
from minibrains.errors import BrainError
from minibrains.files import bundled_dir
from minibrains.hooks import Budget, Hook
from minibrains.testing import opened, play
from minibrains.training.module import region
from nodes.doctor.examination import Examination
from nodes.policies.attention import (
    CrossAttention,
    CrossAttentionBrain,
    TemporalAttention,
    TemporalAttentionBrain,
)
from nodes.policies.encoder import FrameEncoder, FrameEncoderBrain
from nodes.policies.heads import ActionHead, ActionHeadBrain, ValueHead
from nodes.policies.history import FeatureHistory, FeatureHistoryBrain
from server.cli import main

PARTS = ("encoder", "history", "groups", "times", "head", "value")
CLASSES: dict[str, Any] = {
    "encoder": FrameEncoder,
    "groups": CrossAttention,
    "times": TemporalAttention,
    "head": ActionHead,
    "value": ValueHead,
}
"""The classes of those that have weights."""
SLIM_BYTES = 8_000_000
FULL_BYTES = 33_000_000


MODELS = bundled_dir("models")


def file_of(node: str, size: str) -> str:
    """Return the file of a brain, below a folder of brains."""
    return f"{CLASSES[node].schema.brain.kind}/sf2-{size}-untrained.safetensors"


@pytest.fixture(scope="module")
def brains(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Path]]:
    """The brains of the slim network by node, which is shipped, and those of the full one, which
    `make-brains` makes.
    """
    folder = tmp_path_factory.mktemp("full")
    names = {node: file_of(node, "full") for node in CLASSES}
    assert main(["make-brains", *names.values(), "--into", str(folder)]) == 0
    return {
        "slim": {node: MODELS / file_of(node, "slim") for node in CLASSES},
        "full": {node: folder / name for node, name in names.items()},
    }


@pytest.fixture(params=["slim", "full"])
def files(request: pytest.FixtureRequest, brains: dict[str, dict[str, Path]]) -> dict[str, Path]:
    """The brains of a network by node."""
    return brains[request.param]


def nodes_of(files: dict[str, Path]) -> dict[str, Any]:
    """Return the nodes of a network, ready to compute over batches."""
    nodes: dict[str, Any] = {}
    for name, cls in CLASSES.items():
        nodes[name] = cls(brain=cls.schema.brain.load(files[name]))
    brain = FeatureHistoryBrain.load(MODELS / "feature_history/sf2.safetensors")
    nodes["history"] = FeatureHistory(brain=brain)
    for node in nodes.values():
        node.module = node.make_module().eval()
    return nodes


def seen(count: int, seed: int = 0) -> dict[str, torch.Tensor]:
    """Return what the network is shown at some decisions."""
    generator = torch.Generator().manual_seed(seed)
    return {
        "stack/frames": torch.rand(count, 24, 128, 180, generator=generator),
        "numbers/vector": 2 * torch.rand(count, 21, generator=generator) - 1,
        "pressed/buttons": (torch.rand(count, 8, 12, generator=generator) < 0.3).byte(),
    }


def test_the_parts_have_the_shapes_of_the_plan(files: dict[str, Path]) -> None:
    nodes, shown = nodes_of(files), seen(2)
    width = nodes["groups"].brain.width

    features = nodes["encoder"].forward(shown["stack/frames"])
    assert features.shape == (2, 512)
    table, _ = nodes["history"].forward(
        features,
        shown["numbers/vector"],
        shown["pressed/buttons"],
        nodes["history"].start_state(2),
    )
    assert table.shape == (2, 8, 545)

    summary, rows = nodes["groups"].forward(table)
    assert (summary.shape, rows.shape) == ((2, width), (2, 8, 3 * width))

    found = nodes["times"].forward(summary, rows)
    assert found.shape == (2, width)
    assert nodes["head"].forward(found).shape == (2, 57)
    assert nodes["value"].forward(found).shape == (2,)


def test_the_full_network_has_the_widths_of_the_plan(brains: dict[str, dict[str, Path]]) -> None:
    nodes = nodes_of(brains["full"])
    assert [nodes[name].brain.heads for name in ("groups", "times")] == [8, 8]
    tensors = {name: node.brain.tensors for name, node in nodes.items()}
    assert tensors["groups"]["query"].shape == (256,)
    assert tensors["groups"]["fusion.weight"].shape == (256, 768)
    assert tensors["times"]["rows.weight"].shape == (2 * 256, 768)
    for name, outputs in (("head", 57), ("value", 1)):
        assert tensors[name]["hidden1.weight"].shape == (512, 256)
        assert tensors[name]["hidden2.weight"].shape == (256, 512)
        assert tensors[name]["output.weight"].shape == (outputs, 256)


def test_the_slim_brains_are_small_and_the_full_ones_are_not_shipped(
    brains: dict[str, dict[str, Path]],
) -> None:
    assert sum(file.stat().st_size for file in brains["slim"].values()) < SLIM_BYTES
    assert sum(file.stat().st_size for file in brains["full"].values()) < FULL_BYTES
    assert not list(MODELS.glob("*/sf2-full*"))


def test_an_attention_is_that_of_torch(files: dict[str, Path]) -> None:
    node = nodes_of(files)["times"]
    width, columns = node.brain.width, node.brain.columns
    torchs = torch.nn.MultiheadAttention(
        width, node.brain.heads, kdim=columns, vdim=columns, batch_first=True
    )
    keys, values = node.module["rows"].weight.chunk(2)
    weights = {
        "q_proj_weight": node.module["ask"].weight,
        "k_proj_weight": keys,
        "v_proj_weight": values,
        "in_proj_bias": torch.zeros(3 * width),
        "out_proj.weight": node.module["answer"].weight,
        "out_proj.bias": node.module["answer"].bias,
    }
    torchs.load_state_dict(weights)

    query, rows = torch.randn(3, width), torch.randn(3, 8, columns)
    with torch.no_grad():
        answer, _ = torchs(query[:, None], rows, rows)
        expected = torch.nn.functional.layer_norm(query + answer[:, 0], (width,))
        assert torch.allclose(node.forward(query, rows), expected, atol=1e-5)


def test_a_group_is_attended_by_itself(brains: dict[str, dict[str, Path]]) -> None:
    """The rows of a group change its own columns, and no others."""
    node = nodes_of(brains["slim"])["groups"]
    width = node.brain.width
    table = torch.rand(1, 8, 545)
    other = table.clone()
    other[:, :, 512:533] = 0
    with torch.no_grad():
        before, after = node.forward(table), node.forward(other)
    same = (before.rows == after.rows).all(1).unflatten(1, (3, width)).all(2)
    assert same.tolist() == [[True, False, True]]
    assert not torch.equal(before.summary, after.summary)


# -- learning --------------------------------------------------------------------------------------


def test_a_gradient_reaches_every_part(files: dict[str, Path]) -> None:
    network = region("sf2_policy", PARTS, brains=files)
    shown = seen(6)
    logits, _ = network(shown, network.initial(2))
    values, _ = network.with_output("value.number")(shown, network.initial(2))
    loss: Any = logits.logsumexp(1).sum() + values.sum()
    loss.backward()

    for name in CLASSES:
        for part, weights in network.network(name).named_parameters():
            assert weights.grad is not None, (name, part)
            assert weights.grad.abs().sum() > 0, (name, part)


def test_a_gradient_reaches_what_was_seen_seven_decisions_ago_and_no_more() -> None:
    network = region("sf2_policy", PARTS).eval()
    shown = seen(10)
    shown["stack/frames"].requires_grad_()
    logits, _ = network(shown, network.initial(1))
    loss: Any = logits[-1].logsumexp(0)
    loss.backward()

    gradient = shown["stack/frames"].grad
    assert gradient is not None
    assert (gradient.abs().amax((1, 2, 3)) > 0).tolist() == [False] * 2 + [True] * 8


@pytest.mark.parametrize("learner", ["encoder", "groups", "times", "head"])
def test_one_part_learns_while_the_others_keep_their_brains(learner: str) -> None:
    network = region("sf2_policy", PARTS)
    network.requires_grad_(False)
    before = network.brains()
    network.network(learner).requires_grad_()
    parameters = list(network.network(learner).parameters())
    optimizer = torch.optim.SGD(parameters, 0.1)
    logits, _ = network(seen(2), network.initial(2))
    loss: Any = torch.nn.functional.cross_entropy(logits, torch.tensor([3, 50]))
    loss.backward()
    optimizer.step()

    for name, brain in network.brains().items():
        if name != learner:
            assert brain is before[name]
            continue
        changed: list[bool] = []
        for part, array in brain.tensors.items():
            changed.append(not np.array_equal(array, before[name].tensors[part]))
        assert all(changed)


def test_units_are_left_out_only_in_training(brains: dict[str, dict[str, Path]]) -> None:
    head = nodes_of(brains["slim"])["head"]
    features = torch.ones(1, head.brain.numbers)
    assert torch.equal(head.forward(features), head.forward(features))
    head.module.train()
    assert not torch.equal(head.forward(features), head.forward(features))


# -- playing ---------------------------------------------------------------------------------------


class Watch(Hook):
    """What flows into the network, and its logits, at each decision."""

    INPUTS = ("stack.frames", "numbers.vector", "pressed.buttons")

    def __init__(self) -> None:
        self.decisions: list[dict[str, np.ndarray]] = []

    def between_ticks(self, run: Run) -> Budget:
        ticks = run.engine.tick % 4
        if ticks == 0:  # a register shows what it delivers on the coming tick, one of a decision
            self.decisions.append({"pressed.buttons": run.peek("pressed.buttons")})
        elif ticks == 1:
            for name in ("stack.frames", "numbers.vector", "head.logits"):
                self.decisions[-1][name] = np.array(run.peek(name))
        return Budget(ticks=1)


def test_it_plays_as_its_region_computes() -> None:
    watch = Watch()
    with Run(RunSpec("sf2_policy", ticks=50), [watch]) as run:
        for _ in run:
            pass
    decisions = watch.decisions
    assert len(decisions) == 13
    assert decisions[-1]["pressed.buttons"].any()

    network = region("sf2_policy", PARTS).eval()
    shown: dict[str, torch.Tensor] = {}
    for name in Watch.INPUTS:
        frames = np.stack([decision[name] for decision in decisions])
        shown[name.replace(".", "/")] = torch.from_numpy(frames)
    with torch.no_grad():
        # one sequence, from the start of an episode on
        logits, _ = network(shown, network.initial(1))
    played = np.stack([decision["head.logits"] for decision in decisions])
    np.testing.assert_allclose(logits.numpy(), played, rtol=1e-5, atol=1e-4)
    assert np.ptp(played, axis=0).max() > 1e-4, "what it sees matters"


def test_the_doctor_asks_about_decisions_with_what_was_remembered() -> None:
    spec = RunSpec("sf2_policy", ticks=50, episodes=2)
    registry, _ = spec.load_node_types()
    watch = Examination(spec, PARTS, registry).watch
    with Run(spec, [watch], registry=registry) as run:
        for _ in run:
            pass

    network = Network(region("sf2_policy", PARTS), "head/logits")
    asked = network.answer(watch.selection)
    assert asked.shape == (26, 57), "each episode has more decisions than a window"
    np.testing.assert_allclose(asked, np.stack(watch.logits), rtol=1e-5, atol=1e-4)


# -- the history -----------------------------------------------------------------------------------


def test_the_history_has_the_last_decisions_side_by_side_and_begins_anew() -> None:
    node = FeatureHistory(brain=FeatureHistoryBrain(steps=8, features=512, numbers=21, buttons=12))
    random = np.random.default_rng(0)
    features = random.random((20, 512), np.float32)
    numbers = random.random((20, 21), np.float32)
    pads = random.integers(0, 2, (20, 12), np.uint8)
    with opened(node):
        for begin in (0, 11):
            looks: list[dict[str, Any]] = []
            for step in range(begin, begin + 9):
                before = np.zeros((8, 12), np.uint8)
                before[-1] = pads[step]
                looks.append(
                    {"features": features[step], "numbers": numbers[step], "buttons": before}
                )
            tables = play(node, *looks)

            assert tables[0].shape == (8, 545)
            assert not tables[0][:-1].any(), "nothing is there before the first decision"
            last = slice(begin + 1, begin + 9)
            assert np.array_equal(tables[-1][:, :512], features[last])
            assert np.array_equal(tables[-1][:, 512:533], numbers[last])
            assert np.array_equal(tables[-1][:, 533:], pads[last])


def test_the_order_of_decisions_matters(brains: dict[str, dict[str, Path]]) -> None:
    nodes = nodes_of(brains["slim"])
    groups, times = nodes["groups"], nodes["times"]
    rows = torch.rand(1, 8, 545)
    with torch.no_grad():
        one = times.forward(*groups.forward(rows))
        other = times.forward(*groups.forward(rows.flip(1)))
    assert not torch.allclose(one, other, atol=1e-3)


def test_the_slim_network_looks_at_one_picture_at_a_time_with_the_same_weights(
    brains: dict[str, dict[str, Path]],
) -> None:
    encoder = nodes_of(brains["slim"])["encoder"]
    module = encoder.make_module()
    frames = torch.rand(2, 24, 128, 180)
    eyes = [module["convolution0"](frames[:, first : first + 3]) for first in range(0, 24, 3)]
    seen = torch.cat(eyes, 1).relu()
    seen = module["convolution2"](module["convolution1"](seen).relu()).relu()
    features = module["features"](seen.flatten(1)).relu()
    encoder.module = module
    assert torch.allclose(encoder.forward(frames), features, atol=1e-6)


# -- bad brains ------------------------------------------------------------------------------------


def test_a_width_that_the_heads_do_not_share_is_refused() -> None:
    configs: dict[type[Brain], dict[str, Any]] = {
        CrossAttentionBrain: {"steps": 8, "groups": (512, 21, 12), "width": 100},
        TemporalAttentionBrain: {"columns": 768, "width": 100},
    }
    for kind, config in configs.items():
        with pytest.raises(BrainError, match=r"width is 100, and heads 8; expected a width that"):
            kind.tensor_specs({**config, "heads": 8})


@pytest.mark.parametrize("groups", [(), (512, 0, 12)])
def test_groups_without_columns_are_refused(groups: tuple[int, ...]) -> None:
    config = {"steps": 8, "groups": groups, "width": 64, "heads": 8}
    with pytest.raises(BrainError, match="expected at least one step and one group"):
        CrossAttentionBrain.tensor_specs(config)


@pytest.mark.parametrize("sizes", [(0, 512, 21, 12), (8, 512, 0, 12), (5000, 512, 21, 12)])
def test_a_history_of_nothing_or_of_too_much_is_refused(sizes: tuple[int, ...]) -> None:
    steps, features, numbers, buttons = sizes
    with pytest.raises(BrainError, match="expected each at least 1, and a history of at most"):
        FeatureHistoryBrain(steps=steps, features=features, numbers=numbers, buttons=buttons)


@pytest.mark.parametrize("dropout", [-0.1, 1.0])
def test_a_dropout_of_everything_is_refused(dropout: float) -> None:
    config = {"numbers": 4, "hidden": (4,), "dropout": dropout, "actions": 2}
    with pytest.raises(BrainError, match="expected 0 to less than 1"):
        ActionHeadBrain.tensor_specs(config)


def test_brains_of_different_sizes_are_refused_before_anything_runs(
    brains: dict[str, dict[str, Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    times = brains["full"]["times"]
    assert main(["check", "sf2_policy", "--brain", f"times={times}"]) == 2
    assert "expected vector f32[256], found vector f32[64]" in capsys.readouterr().err


@pytest.mark.parametrize("pictures", [0, 7])
def test_channels_that_are_not_so_many_pictures_are_refused(pictures: int) -> None:
    config = {"channels": 24, "height": 128, "width": 180, "convolutions": ((8, 8, 8),)}
    with pytest.raises(BrainError, match="expected a divisor of the 24 channels"):
        FrameEncoderBrain.tensor_specs({**config, "features": 8, "pictures": pictures})
