"""TorchNode: tick is derived from build, forward and, for recurrent ones, initial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pytest

from minibrains import Brain, BrainError, Logits, Socket, TorchNode, setting
from minibrains.errors import NodeClassError
from minibrains.tensors import as_array, as_tensor
from minibrains.testing import check_node, opened, play

Vector = Annotated[np.ndarray, Socket("vector", "f32[{inputs}]")]


class CellWeights(Brain):
    """A recurrent cell and a read-out."""

    kind = "test_cell"
    inputs: int = setting()
    hidden: int = setting()
    actions: int = setting()

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        i, h, a = config["inputs"], config["hidden"], config["actions"]
        cell = {"weight_ih": f"f32[{3 * h} {i}]", "weight_hh": f"f32[{3 * h} {h}]"}
        biases = {"bias_ih": f"f32[{3 * h}]", "bias_hh": f"f32[{3 * h}]"}
        return {**{f"cell.{name}": spec for name, spec in (cell | biases).items()},
                "out.weight": f"f32[{a} {h}]", "out.bias": f"f32[{a}]"}  # fmt: skip


class Recurrent(TorchNode):
    """A GRU: its state is handed in and out, never kept in the module."""

    brain: CellWeights

    def build(self, config: Mapping[str, Any]) -> Any:
        from torch import nn

        cell = nn.GRUCell(config["inputs"], config["hidden"])
        return nn.ModuleDict({"cell": cell, "out": nn.Linear(config["hidden"], config["actions"])})

    def initial(self, batch: int) -> Any:
        import torch

        return torch.zeros(batch, self.brain.config["hidden"])

    def forward(self, vector: Vector, state: Any) -> tuple[Logits, Any]:
        state = self.module["cell"](vector, state)  # type: ignore[index]
        return self.module["out"](state), state  # type: ignore[index]


def _brain(**sizes: int) -> CellWeights:
    config = {"inputs": 3, "hidden": 5, "actions": 2, **sizes}
    random = np.random.default_rng(0)
    shapes = {
        name: [int(n) for n in spec[4:-1].split()] for name, spec in CellWeights.tensor_specs(config).items()
    }  # fmt: skip
    return CellWeights({name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}, **config)


def test_a_recurrent_node_keeps_the_rules() -> None:
    inputs = [{"vector": np.random.default_rng(k).standard_normal(3).astype(np.float32)} for k in range(4)]
    outputs = check_node(Recurrent(brain=_brain()), *inputs)
    assert outputs[0].shape == (2,)
    assert outputs[0].dtype == np.float32


def test_its_memory_is_the_state_it_was_given() -> None:
    import torch

    node, vector = Recurrent(brain=_brain()), np.ones(3, np.float32)
    with opened(node):
        first, second = play(node, {"vector": vector}, {"vector": vector})
        state = node.initial(1)
        for expected in (first, second):
            out, state = node.forward(torch.from_numpy(vector)[None], state)
            assert np.allclose(out[0].numpy(), expected)
    assert not np.allclose(first, second), "the second tick remembers the first"


class HalfWeights(CellWeights):
    """The same in bf16."""

    kind = "test_half_cell"

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        return {name: spec.replace("f32", "bf16", 1) for name, spec in super().tensor_specs(config).items()}


class Half(Recurrent):
    """Stores its weights in half the space; the network itself computes in f32."""

    brain: HalfWeights


def test_weights_in_bf16_are_the_numbers_they_stand_for() -> None:
    brain, vector = _brain(), {"vector": np.ones(3, np.float32)}
    halves = {name: as_array(as_tensor(array).bfloat16()) for name, array in brain.tensors.items()}
    rounded = {name: as_array(as_tensor(array).float()) for name, array in halves.items()}
    half = check_node(Half(brain=HalfWeights(halves, **brain.config)), vector, vector)
    assert np.array_equal(half, check_node(Recurrent(brain=CellWeights(rounded, **brain.config)), vector, vector))


def test_sockets_come_from_forward() -> None:
    assert list(Recurrent.schema.inputs) == ["vector"]
    assert list(Recurrent.schema.outputs) == ["logits"]


def test_weights_that_do_not_fit_the_network_are_a_sentence() -> None:
    class Wider(Recurrent):
        """Builds a network its brain was not made for."""

        def build(self, config: Mapping[str, Any]) -> Any:
            return super().build({**config, "hidden": config["hidden"] + 1})

        def initial(self, batch: int) -> Any:
            return super().initial(batch)

        def forward(self, vector: Vector, state: Any) -> tuple[Logits, Any]:
            return super().forward(vector, state)  # type: ignore[no-any-return]

    sentence = r"the brain does not fit the network: .*size mismatch for cell\.weight_ih"
    with pytest.raises(BrainError, match=sentence), opened(Wider(brain=_brain())):
        pass


class Sharper(Recurrent):
    """Inherits forward and, with it, its sockets and tick."""


def test_forward_is_inherited() -> None:
    assert Sharper.schema == Recurrent.schema
    inputs = [{"vector": np.ones(3, np.float32)}] * 2
    both = [check_node(cls(brain=_brain()), *inputs) for cls in (Sharper, Recurrent)]
    assert np.array_equal(both[0], both[1])


def test_a_torch_node_that_does_not_say_what_it_gives_out_is_refused() -> None:
    def forward(self: Any, vector: Vector):  # type: ignore[no-untyped-def]
        return vector

    with pytest.raises(NodeClassError, match=r"Mute\.forward has no return annotation"):
        type("Mute", (TorchNode,), {"__module__": __name__, "forward": forward})


def test_a_torch_node_without_forward_is_refused() -> None:
    with pytest.raises(NodeClassError, match=r"Silent has no forward\(\)"):
        type("Silent", (TorchNode,), {"__module__": __name__})
