"""The policy network of sf2_policy: six nodes that are one network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from minibrains import Run, RunSpec
from minibrains.errors import BrainError
from minibrains.files import bundled_dir
from minibrains.hooks import Budget, Hook
from minibrains.testing import opened, play
from minibrains.training.module import RegionModule, region
from nodes.policies.attention import CrossAttention, TemporalAttention
from nodes.policies.heads import ActionHead
from nodes.policies.history import FeatureHistory, FeatureHistoryBrain
from server.cli import main

PARTS = ("encoder", "history", "groups", "times", "head", "value")
LEARNING = ("encoder", "groups", "times", "head", "value")
"""Those that have weights."""
KINDS = {
    "encoder": "frame_encoder",
    "groups": "cross_attention",
    "times": "temporal_attention",
    "head": "action_head",
    "value": "value_head",
}
SLIM_BYTES = 8_000_000
FULL_BYTES = 40_000_000


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The brains of the full network by node, made by `make-brains`."""
    folder = tmp_path_factory.mktemp("full")
    names = {node: f"{kind}/sf2-full-untrained.safetensors" for node, kind in KINDS.items()}
    assert main(["make-brains", *names.values(), "--into", str(folder)]) == 0
    return {node: folder / name for node, name in names.items()}


@pytest.fixture(params=["slim", "full"])
def network(request: pytest.FixtureRequest, full: dict[str, Path]) -> RegionModule:
    """The slim network, which is shipped, and the full one."""
    brains = {"slim": {}, "full": full}[request.param]
    return region("sf2_policy", PARTS, brains=brains)


def seen(count: int, seed: int = 0) -> dict[str, torch.Tensor]:
    """Return what the network is shown at some decisions."""
    generator = torch.Generator().manual_seed(seed)
    return {
        "stack/frames": torch.rand(count, 24, 128, 180, generator=generator),
        "numbers/vector": 2 * torch.rand(count, 21, generator=generator) - 1,
        "pressed/buttons": (torch.rand(count, 8, 12, generator=generator) < 0.3).byte(),
    }


def values(network: RegionModule, batch: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the outputs of all nodes for a batch, and their shapes."""
    shapes: dict[str, tuple[int, ...]] = {}

    def note(name: str, result: Any) -> None:
        parts = result if isinstance(result, tuple) else (result,)
        for number, part in enumerate(parts):
            shapes[f"{name} {number}"] = tuple(part.shape)

    shown = seen(batch)
    nodes = network._nodes
    encoded = nodes["encoder"].forward(shown["stack/frames"])
    note("encoder", encoded)
    rows, _ = nodes["history"].forward(
        encoded,
        shown["numbers/vector"],
        shown["pressed/buttons"],
        nodes["history"].start_state(batch),
    )
    note("history", rows)
    attended = nodes["groups"].forward(rows)
    note("groups", attended)
    features = nodes["times"].forward(*attended)
    note("times", features)
    note("head", nodes["head"].forward(features))
    note("value", nodes["value"].forward(features))
    yield from shapes.items()


def test_the_parts_have_the_shapes_of_the_plan(network: RegionModule) -> None:
    width = network.network("groups").query.numel()
    assert dict(values(network, 2)) == {
        "encoder 0": (2, 512),
        "history 0": (2, 8, 545),
        "groups 0": (2, width),
        "groups 1": (2, 8, 3 * width),
        "times 0": (2, width),
        "head 0": (2, 57),
        "value 0": (2,),
    }


def test_the_full_network_has_the_widths_of_the_plan(full: dict[str, Path]) -> None:
    network = region("sf2_policy", PARTS, brains=full)
    groups, times = network.network("groups"), network.network("times")
    assert groups.query.shape == (256,)
    assert groups["rows"]["weight"].shape == (3, 256, 2 * 256)
    assert groups["fusion"].weight.shape == (256, 768)
    assert times["rows"].weight.shape == (2 * 256, 768)
    assert [network._nodes[name].brain.heads for name in ("groups", "times")] == [8, 8]
    for name, outputs in (("head", 57), ("value", 1)):
        layers = [network.network(name)[layer] for layer in ("hidden1", "hidden2", "output")]
        assert [layer.weight.shape for layer in layers] == [(512, 256), (256, 512), (outputs, 256)]


def test_the_slim_brains_are_small_and_the_full_ones_are_not_shipped(
    full: dict[str, Path],
) -> None:
    models = bundled_dir("models")
    slim = [models / f"{kind}/sf2-slim-untrained.safetensors" for kind in KINDS.values()]
    assert sum(file.stat().st_size for file in slim) < SLIM_BYTES
    assert sum(file.stat().st_size for file in full.values()) < FULL_BYTES
    assert not list(models.glob("*/sf2-full*"))


# -- learning --------------------------------------------------------------------------------------


def test_a_gradient_reaches_every_part(network: RegionModule) -> None:
    shown = seen(6)
    logits, _ = network(shown, network.initial(2))
    features = network.network("value")
    loss = logits.logsumexp(1).sum() + sum(weights.sum() for weights in features.parameters())
    loss.backward()
    for name in LEARNING:
        for part, weights in network.network(name).named_parameters():
            assert weights.grad is not None, (name, part)
            assert weights.grad.abs().sum() > 0, (name, part)


def test_a_gradient_reaches_what_was_seen_seven_decisions_ago_and_no_more() -> None:
    network = region("sf2_policy", PARTS).eval()
    shown = seen(10)
    shown["stack/frames"].requires_grad_()
    logits, _ = network(shown, network.initial(1))
    logits[-1].logsumexp(0).backward()
    gradient = shown["stack/frames"].grad
    assert gradient is not None
    assert (gradient.abs().amax((1, 2, 3)) > 0).tolist() == [False] * 2 + [True] * 8


@pytest.mark.parametrize("learner", ["encoder", "groups", "times", "head"])
def test_one_part_learns_while_the_others_keep_their_brains(learner: str) -> None:
    network = region("sf2_policy", PARTS)
    before = {name: node.brain for name, node in network._nodes.items()}
    for name in PARTS:
        network.network(name).requires_grad_(name == learner)
    parameters = list(network.network(learner).parameters())
    optimizer = torch.optim.SGD(parameters, 0.1)
    logits, _ = network(seen(2), network.initial(2))
    torch.nn.functional.cross_entropy(logits, torch.tensor([3, 50])).backward()
    optimizer.step()

    for name, brain in network.brains().items():
        if name != learner:
            assert brain is before[name]
            continue
        changed: list[bool] = []
        for part, array in brain.tensors.items():
            changed.append(not np.array_equal(array, before[name].tensors[part]))
        assert all(changed)


def test_units_are_left_out_only_in_training() -> None:
    head = ActionHead(brain=region("sf2_policy", PARTS).brains()["head"])
    head.module = head.make_module()
    features = torch.ones(1, head.brain.numbers)
    assert not torch.equal(head.forward(features), head.forward(features))
    head.module.eval()
    assert torch.equal(head.forward(features), head.forward(features))


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
    assert np.abs(logits.numpy() - played).max() < 1e-5
    assert np.ptp(played, axis=0).max() > 1e-4, "what it sees matters"


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


def test_the_order_of_decisions_matters() -> None:
    network = region("sf2_policy", PARTS).eval()
    groups, times = network._nodes["groups"], network._nodes["times"]
    rows = torch.rand(1, 8, 545)
    with torch.no_grad():
        one = times.forward(*groups.forward(rows))
        other = times.forward(*groups.forward(rows.flip(1)))
    assert not torch.allclose(one, other, atol=1e-3)


# -- bad brains ------------------------------------------------------------------------------------


def test_a_width_that_the_heads_do_not_share_is_refused() -> None:
    for cls, config in (
        (CrossAttention, {"steps": 8, "groups": (512, 21, 12), "width": 100}),
        (TemporalAttention, {"columns": 768, "width": 100}),
    ):
        with pytest.raises(BrainError, match=r"width is 100, and heads 8; expected a width that"):
            cls.schema.brain.tensor_specs({**config, "heads": 8})  # type: ignore[union-attr]


@pytest.mark.parametrize("groups", [(), (512, 0, 12)])
def test_groups_without_columns_are_refused(groups: tuple[int, ...]) -> None:
    config = {"steps": 8, "groups": groups, "width": 64, "heads": 8}
    with pytest.raises(BrainError, match="expected at least one step and one group"):
        CrossAttention.schema.brain.tensor_specs(config)  # type: ignore[union-attr]


@pytest.mark.parametrize("sizes", [(0, 512, 21, 12), (8, 512, 0, 12), (5000, 512, 21, 12)])
def test_a_history_of_nothing_or_of_too_much_is_refused(sizes: tuple[int, ...]) -> None:
    names = ("steps", "features", "numbers", "buttons")
    with pytest.raises(BrainError, match="expected each at least 1, and a history of at most"):
        FeatureHistoryBrain(**dict(zip(names, sizes, strict=True)))


@pytest.mark.parametrize("dropout", [-0.1, 1.0])
def test_a_dropout_of_everything_is_refused(dropout: float) -> None:
    config = {"numbers": 4, "hidden": (4,), "dropout": dropout, "actions": 2}
    with pytest.raises(BrainError, match="expected 0 to less than 1"):
        ActionHead.schema.brain.tensor_specs(config)  # type: ignore[union-attr]


def test_brains_of_different_sizes_are_refused_before_anything_runs(
    full: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "sf2_policy", "--brain", f"times={full['times']}"]) == 2
    assert "expected vector f32[256], found vector f32[128]" in capsys.readouterr().err
