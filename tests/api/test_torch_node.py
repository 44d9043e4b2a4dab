"""TorchNode: tick is derived from build, forward and, for recurrent ones, initial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from minibrains import (
    Action,
    Aged,
    Brain,
    BrainError,
    Flag,
    Logits,
    MinibrainsError,
    Node,
    Number,
    Socket,
    TorchNode,
    setting,
)
from minibrains.engine.engine import Engine
from minibrains.errors import NodeClassError
from minibrains.sockets import parse_spec
from minibrains.tensors import as_array, as_tensor
from minibrains.testing import check_node, opened, play
from minibrains.torch_node import find_device
from tests.support.engine_fixtures import FakeHost, make_plan
from tests.support.thinking_nodes import Clock

Vector = Annotated[np.ndarray, Socket("vector", "f32[{inputs}]")]
Vector3 = Annotated[np.ndarray, Socket("vector", "f32[3]")]


class CellWeights(Brain):
    """A recurrent cell and a read-out."""

    kind = "test_cell"
    inputs: int = setting()
    hidden: int = setting()
    actions: int = setting()

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        inputs, hidden, actions = config["inputs"], config["hidden"], config["actions"]
        gates = 3 * hidden
        return {
            "cell.weight_ih": f"f32[{gates} {inputs}]",
            "cell.weight_hh": f"f32[{gates} {hidden}]",
            "cell.bias_ih": f"f32[{gates}]",
            "cell.bias_hh": f"f32[{gates}]",
            "out.weight": f"f32[{actions} {hidden}]",
            "out.bias": f"f32[{actions}]",
        }


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
        state = self.module["cell"](vector, state)
        return self.module["out"](state), state


def _brain(**sizes: int) -> CellWeights:
    config = {"inputs": 3, "hidden": 5, "actions": 2, **sizes}
    random = np.random.default_rng(0)
    tensors: dict[str, np.ndarray] = {}
    for name, spec in CellWeights.tensor_specs(config).items():
        _, shape = parse_spec(spec)
        tensors[name] = random.standard_normal(shape).astype(np.float32)
    return CellWeights(tensors, **config)


def test_a_recurrent_node_keeps_the_rules() -> None:
    outputs = check_node(Recurrent(brain=_brain()), *_vectors(4))
    assert outputs[0].shape == (2,)
    assert outputs[0].dtype == np.float32


def test_its_memory_is_the_state_it_was_given() -> None:
    import torch

    node = Recurrent(brain=_brain())
    vector = np.ones(3, np.float32)
    with opened(node):
        first, second = play(node, {"vector": vector}, {"vector": vector})
        state = node.initial(1)
        for expected in (first, second):
            out, state = node.forward(torch.from_numpy(vector)[None], state)
            assert np.allclose(out[0].numpy(), expected)
    assert not np.allclose(first, second), "the second tick remembers the first"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch itself uses it
def test_a_compiled_network_computes_the_same() -> None:
    inputs = _vectors(4)
    with opened(plain := Recurrent(brain=_brain())):
        expected = play(plain, *inputs)
    with opened(compiled := Recurrent(brain=_brain(), compiled=True)):
        found = play(compiled, *inputs)
    assert np.allclose(found, expected, atol=1e-5)


def test_a_network_in_bf16_computes_nearly_the_same() -> None:
    import torch

    inputs = _vectors(4)
    with opened(plain := Recurrent(brain=_brain())):
        expected = play(plain, *inputs)
    with opened(half := Recurrent(brain=_brain(), precision="bf16")):
        assert half.module["out"].weight.dtype == torch.bfloat16
        found = play(half, *inputs)
        state = half.state()
    assert np.allclose(found, expected, atol=0.05)
    assert not np.array_equal(found, expected), "it is rounded"
    assert found[0].dtype == state["memory"].dtype == np.float32


def test_to_compile_without_a_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    node = Recurrent(brain=_brain(), compiled=True)
    sentence = "needs a C\\+\\+ compiler, and there is no no-such-compiler; install one"
    with pytest.raises(MinibrainsError, match=sentence), opened(node):
        pass


class HalfWeights(CellWeights):
    """The same in bf16."""

    kind = "test_half_cell"

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        specs = dict(super().tensor_specs(config))
        for name, spec in specs.items():
            specs[name] = spec.replace("f32", "bf16", 1)
        return specs


class Half(Recurrent):
    """Stores its weights in half the space; the network itself computes in f32."""

    brain: HalfWeights


def _half_brain() -> HalfWeights:
    brain = _brain()
    halves: dict[str, np.ndarray] = {}
    for name, array in brain.tensors.items():
        halves[name] = as_array(as_tensor(array).bfloat16())
    return HalfWeights(halves, **brain.config)


def test_weights_in_bf16_are_the_numbers_they_stand_for() -> None:
    halves = _half_brain()
    rounded: dict[str, np.ndarray] = {}
    for name, array in halves.tensors.items():
        rounded[name] = as_array(as_tensor(array).float())
    vector = {"vector": np.ones(3, np.float32)}
    found = check_node(Half(brain=halves), vector, vector)
    expected = check_node(Recurrent(brain=CellWeights(rounded, **halves.config)), vector, vector)
    assert np.array_equal(found, expected)


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
            return super().forward(vector, state)

    sentence = r"the brain does not fit the network: .*size mismatch for cell\.weight_ih"
    with pytest.raises(BrainError, match=sentence), opened(Wider(brain=_brain())):
        pass


class Sharper(Recurrent):
    """Inherits forward and, with it, its sockets and tick."""


def test_forward_is_inherited() -> None:
    assert replace(Sharper.schema, doc="") == replace(Recurrent.schema, doc="")
    inputs = [{"vector": np.ones(3, np.float32)}] * 2
    found = check_node(Sharper(brain=_brain()), *inputs)
    expected = check_node(Recurrent(brain=_brain()), *inputs)
    assert np.array_equal(found, expected)


def test_a_torch_node_that_does_not_say_what_it_gives_out_is_refused() -> None:
    def forward(self: Any, vector: Vector):  # type: ignore[no-untyped-def]
        return vector

    with pytest.raises(NodeClassError, match=r"Mute\.forward has no return annotation"):
        type("Mute", (TorchNode,), {"__module__": __name__, "forward": forward})


def test_a_torch_node_without_forward_is_refused() -> None:
    with pytest.raises(NodeClassError, match=r"Silent has no forward\(\)"):
        type("Silent", (TorchNode,), {"__module__": __name__})


# -- several outputs, and inputs of all kinds ------------------------------------------------------


class Heads(NamedTuple):
    """One output of each kind."""

    logits: Logits
    value: Number
    best: Action
    sure: Flag


class HeadWeights(Brain):
    """A layer, a policy and a value."""

    kind = "test_heads"
    inputs: int = setting()
    actions: int = setting(3)
    hidden: int = setting(8)

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        return {
            "body.weight": "f32[{hidden} {inputs}]",
            "body.bias": "f32[{hidden}]",
            "policy.weight": "f32[{actions} {hidden}]",
            "policy.bias": "f32[{actions}]",
            "value.weight": "f32[1 {hidden}]",
            "value.bias": "f32[1]",
        }


class TwoHeads(TorchNode):
    """A policy and a value over one hidden layer."""

    brain: HeadWeights

    def build(self, config: Mapping[str, Any]) -> Any:
        from torch import nn

        hidden = config["hidden"]
        body = nn.Linear(config["inputs"], hidden)
        return nn.ModuleDict(
            {
                "body": body,
                "policy": nn.Linear(hidden, config["actions"]),
                "value": nn.Linear(hidden, 1),
            }
        )

    def heads(self, x: Any) -> Any:
        hidden = self.module["body"](x).relu()
        logits = self.module["policy"](hidden)
        value = self.module["value"](hidden).squeeze(1)
        return Heads(logits, value, logits.argmax(1), value > 0)

    def forward(self, vector: Vector) -> Heads:
        return self.heads(vector)


def _vectors(count: int, inputs: int = 3) -> list[dict[str, Any]]:
    random = np.random.default_rng(count)
    vectors = random.standard_normal((count, inputs)).astype(np.float32)
    return [{"vector": vector} for vector in vectors]


def test_several_outputs_are_what_links_carry() -> None:
    brain = TwoHeads.new_brain({"inputs": 3}, seed=1)
    outputs = check_node(TwoHeads(brain=brain), *_vectors(4))
    for heads in outputs:
        assert isinstance(heads, Heads)
        assert list(map(type, heads)) == [np.ndarray, float, int, bool]
        assert (heads.logits.dtype, heads.logits.shape) == (np.float32, (3,))
        assert heads.best == heads.logits.argmax()
        assert heads.sure == (heads.value > 0)


class PlainTuple(TwoHeads):
    """Gives a plain tuple of tensors."""

    def forward(self, vector: Vector) -> Heads:
        return tuple(self.heads(vector))


def test_a_plain_tuple_of_tensors_will_do() -> None:
    brain = TwoHeads.new_brain({"inputs": 3})
    plain = check_node(PlainTuple(brain=brain), *_vectors(2))
    named = check_node(TwoHeads(brain=brain), *_vectors(2))
    for mine, expected in zip(plain, named, strict=True):
        assert isinstance(mine, Heads)
        assert mine.value == expected.value


class Hungry(TwoHeads):
    """Takes an input of every kind, and adds them all up."""

    def forward(
        self,
        vector: Vector,
        number: Number,
        flag: Flag,
        action: Action,
        others: list[Vector],
        aged: Aged[Vector],
        extra: Vector | None = None,
        recent: Aged[Number] | None = None,
    ) -> Heads:
        import torch

        assert (number.dtype, flag.dtype, action.dtype) == (torch.float32, torch.bool, torch.int64)
        scale = number + flag + action
        total = vector * scale[:, None] + aged.value * aged.age[:, None]
        for other in others:
            if other is not None:
                total = total + other
        if extra is not None:
            total = total + extra
        if recent is not None:
            total = total + recent.value[:, None]
        return self.heads(total)


def test_inputs_of_all_kinds_become_tensors() -> None:
    first = np.array([1, 1, 1], np.float32)
    second = np.array([2, 2, 2], np.float32)
    third = np.array([4, 4, 4], np.float32)
    full = {
        "vector": first,
        "number": 2.0,
        "flag": True,
        "action": 3,
        "others": [second, None],
        "aged": Aged(third, 5),
        "extra": second,
        "recent": Aged(1.5, 0),
    }
    bare = {**full, "others": [], "flag": False, "number": 7}
    del bare["extra"], bare["recent"]
    brain = TwoHeads.new_brain({"inputs": 3})
    outputs = check_node(Hungry(brain=brain), full, bare)
    full_sum = np.full(3, 6 + 20 + 2 + 2 + 1.5, np.float32)
    bare_sum = np.full(3, 10 + 20, np.float32)
    expected = check_node(TwoHeads(brain=brain), {"vector": full_sum}, {"vector": bare_sum})
    for found, heads in zip(outputs, expected, strict=True):
        assert np.allclose(found.logits, heads.logits, atol=1e-5)


class Memory(NamedTuple):
    """What a state may be made of."""

    hidden: Any
    seen: Any


class Remembers(TwoHeads):
    """Several outputs and a state: the mean of what it has seen."""

    def initial(self, batch: int) -> Memory:
        import torch

        return Memory({"sum": torch.zeros(batch, self.brain.inputs)}, torch.zeros(batch))

    def forward(
        self, vector: Vector, scale: Number | None = None, state: Any = None
    ) -> tuple[Heads, Memory]:
        if scale is not None:
            vector = vector * scale[:, None]
        total = state.hidden["sum"] + vector
        count = state.seen + 1
        return self.heads(total / count[:, None]), Memory({"sum": total}, count)


def test_a_recurrent_node_may_have_several_outputs() -> None:
    brain = TwoHeads.new_brain({"inputs": 3})
    inputs = _vectors(3)
    outputs = check_node(Remembers(brain=brain), *inputs)
    vectors: list[np.ndarray] = []
    means = []
    for entry in inputs:
        vectors.append(entry["vector"])
        means.append({"vector": np.mean(vectors, 0)})
    expected = check_node(TwoHeads(brain=brain), *means)
    for mine, same in zip(outputs, expected, strict=True):
        assert np.allclose(mine.logits, same.logits, atol=1e-5)


def test_a_network_with_two_heads_plays_in_a_graph(tmp_path: Path) -> None:
    TwoHeads.new_brain({"inputs": 3}, seed=1).save(tmp_path / "heads", title="t", made_by="test")
    entries = {
        "clock": {"type": "Clock@1"},
        "vector": {"type": "Three@1", "in": {"number": "clock.number"}},
        "heads": {"type": "TwoHeads@1", "brain": "heads", "in": {"vector": "vector.vector"}},
        "hears": {
            "type": "Hears@1",
            "in": {"value": "heads.value", "best": "heads.best", "sure": "heads.sure"},
        },
    }
    engine = Engine(make_plan(entries, [Clock, Three, TwoHeads, Hears], tmp_path))
    try:
        engine.open(FakeHost)
        engine.reset(0, 0)
        engine.advance(3)
        heard = engine.nodes["hears"].heard
    finally:
        assert engine.close() == []
    inputs = [{"vector": Three().tick(number)} for number in (0.0, 1.0, 2.0)]
    outputs = check_node(TwoHeads(brain=HeadWeights.load(tmp_path / "heads")), *inputs)
    for found, heads in zip(heard, outputs, strict=True):
        assert found == (heads.value, heads.best, heads.sure)


class Three(Node):
    """Three numbers."""

    def tick(self, number: Number) -> Vector3:
        return np.array([number, number + 1, -number], np.float32)


class Hears(Node):
    """Keeps what it was told."""

    def open(self, host: Any) -> None:
        self.heard: list[tuple[float, int, bool]] = []

    def tick(self, value: Number, best: Action, sure: Flag) -> None:
        self.heard.append((value, best, sure))


def test_what_it_gave_out_is_its_own() -> None:
    """A view of a weight or of the state would change with it."""

    class Shows(TwoHeads):
        def forward(self, vector: Vector) -> Annotated[np.ndarray, Socket("bias", "f32[n]")]:
            return self.module["policy"].bias[None].expand(len(vector), -1)

    node = Shows(brain=TwoHeads.new_brain({"inputs": 3}))
    with opened(node):
        (shown,) = play(node, *_vectors(1))
        shown[:] = 9
        (again,) = play(node, *_vectors(1))
        assert not (again == 9).any()


# -- training --------------------------------------------------------------------------------------


def test_a_module_to_train_is_nobody_elses_and_becomes_a_brain_again(tmp_path: Path) -> None:
    import torch

    TwoHeads.new_brain({"inputs": 3}, seed=2).save(tmp_path / "heads", title="t", made_by="test")
    brain = HeadWeights.load(tmp_path / "heads")
    player = TwoHeads(brain=brain)
    learner = TwoHeads(brain=brain)
    batch = torch.randn(5, 3)
    with opened(player):
        before = play(player, *_vectors(2))
        learner.module = learner.make_module()
        assert learner.module.training
        assert learner.module is not player.module
        heads = learner.forward(batch)
        assert heads.logits.shape == (5, 3)
        (heads.logits.square().mean() + heads.value.square().mean()).backward()
        for name, weight in learner.module.named_parameters():
            assert weight.grad is not None, name
            assert weight.grad.abs().sum() > 0, name
        torch.optim.SGD(learner.module.parameters(), lr=0.5).step()
        assert repr(play(player, *_vectors(2))) == repr(before), (
            "who plays has a network of its own"
        )
    learned = learner.brain_of(learner.module)
    assert learned.config == brain.config
    learned.save(tmp_path / "learned", title="t", made_by="test")
    after = TwoHeads(brain=HeadWeights.load(tmp_path / "learned"))
    with opened(after):
        inputs = _vectors(2)
        found = play(after, *inputs)
        vectors = [entry["vector"] for entry in inputs]
        expected = learner.forward(torch.from_numpy(np.stack(vectors)))
    for heads, value in zip(found, expected.value.tolist(), strict=True):
        assert np.isclose(heads.value, value, atol=1e-6)
    assert not np.allclose(found[0].logits, before[0].logits)


def test_a_recurrent_network_learns_through_its_state() -> None:
    import torch

    node = Recurrent(brain=_brain())
    node.module = node.make_module()
    state = node.start_state(4)
    for _ in range(3):
        out, state = node.forward(torch.randn(4, 3), state)
    out.sum().backward()
    for weight in node.module.parameters():
        assert weight.grad.abs().sum() > 0


def test_a_brain_is_stored_in_the_types_of_its_kind() -> None:
    brain = _half_brain()
    node = Half(brain=brain)
    again = node.brain_of(node.make_module())
    for name, array in brain.tensors.items():
        assert np.array_equal(again.tensors[name], array), name


def test_a_new_brain_follows_from_its_seed() -> None:
    import torch

    state = torch.get_rng_state()
    first = TwoHeads.new_brain({"inputs": 3}, seed=1)
    same = TwoHeads.new_brain({"inputs": 3}, seed=1)
    other = TwoHeads.new_brain({"inputs": 3}, seed=2)
    assert torch.equal(torch.get_rng_state(), state), "nobody else's numbers change"
    name = "body.weight"
    assert (
        first.tensors[name].tolist() == same.tensors[name].tolist() != other.tensors[name].tolist()
    )
    assert first.config == {"inputs": 3, "actions": 3, "hidden": 8}
    with pytest.raises(BrainError, match="TwoHeads: the setting 'inputs' is missing"):
        TwoHeads.new_brain({})


def test_a_module_with_other_weights_makes_no_brain() -> None:
    from torch import nn

    node = TwoHeads(brain=TwoHeads.new_brain({"inputs": 3}))
    with pytest.raises(BrainError, match=r"HeadWeights: the tensor 'body\.weight' .* is missing"):
        node.brain_of(nn.Linear(3, 3))


# -- devices ---------------------------------------------------------------------------------------


def test_a_device_that_is_not_there_is_a_sentence() -> None:
    import torch

    missing = f"cuda:{torch.cuda.device_count()}"
    node = TwoHeads(brain=TwoHeads.new_brain({"inputs": 3}), device=missing)
    with (
        pytest.raises(MinibrainsError, match=f"there is no device '{missing}' here; expected cpu"),
        opened(node),
    ):
        pass
    with pytest.raises(ValueError, match=r"TwoHeads\.device: expected one of 'cpu', 'auto'"):
        TwoHeads(brain=node.brain, device="gpu")


@pytest.mark.parametrize(
    ("accelerators", "name", "found"),
    [
        (0, "auto", "cpu"),
        (0, "cpu", "cpu"),
        (2, "auto", "cuda:0"),
        (2, "cuda", "cuda:0"),
        (2, "cuda:1", "cuda:1"),
    ],
)
def test_devices_by_name(
    accelerators: int, name: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: accelerators)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert str(find_device(name)) == found


def test_nodes_on_one_device_share_a_network(tmp_path: Path) -> None:
    TwoHeads.new_brain({"inputs": 3}).save(tmp_path / "heads", title="t", made_by="test")
    brain = HeadWeights.load(tmp_path / "heads")
    one = TwoHeads(brain=brain, device="cpu")
    other = TwoHeads(brain=brain, device="cpu")
    with opened(one), opened(other):
        assert one.module is other.module
        for weight in one.module.parameters():
            assert not weight.requires_grad
        assert not one.module.training


# -- what is refused at import: see also tests/api/test_node_class.py ------------------------------


def test_an_annotation_of_forward_that_cannot_be_evaluated_is_refused() -> None:
    def forward(self: Any, vector: Missing) -> Logits:  # type: ignore[name-defined]  # noqa: F821
        raise NotImplementedError

    with pytest.raises(
        NodeClassError, match=r"^Lost\.forward: an annotation cannot be read: .*Missing"
    ):
        type("Lost", (TorchNode,), {"__module__": __name__, "forward": forward})


def test_a_network_without_a_brain_is_refused() -> None:
    def forward(self: Any, vector: Vector) -> Logits:
        raise NotImplementedError

    with pytest.raises(NodeClassError, match="Bare has no brain; annotate it with the class"):
        type("Bare", (TorchNode,), {"__module__": __name__, "forward": forward})


# -- what a forward gives that is not as it was declared -------------------------------------------


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (
            lambda h: h.logits,
            "forward gave a Tensor; expected a tuple of 4 tensors: logits, value, best, sure",
        ),
        (lambda h: h[:2], "forward gave a tuple of 2; expected a tuple of 4 tensors"),
        (
            lambda h: (h[0][0], *h[1:]),
            r"'logits' as float32 \[3\] for a batch of 1; expected float32 \[B, …\]",
        ),
        (lambda h: (h[0].double(), *h[1:]), r"'logits' as float64 \[1, 3\]"),
        (
            lambda h: (h[0], h[1][:, None], *h[2:]),
            r"'value' as float32 \[1, 1\] for a batch of 1; expected float32 \[B\]",
        ),
        (lambda h: (h[0], 3.0, *h[2:]), "gave a float as 'value'; expected a tensor"),
        (lambda h: (*h[:2], h[1], h[3]), r"'best' as float32 \[1\]"),
        (lambda h: (*h[:3], h[1]), r"'sure' as float32 \[1\]"),
    ],
)
def test_outputs_that_are_not_as_declared_are_a_sentence(result: Any, sentence: str) -> None:
    class Odd(TwoHeads):
        def forward(self, vector: Vector) -> Heads:
            return result(self.heads(vector))

    node = Odd(brain=TwoHeads.new_brain({"inputs": 3}))
    with opened(node), pytest.raises(MinibrainsError, match=sentence):
        play(node, *_vectors(1))


@pytest.mark.parametrize(
    ("first", "later", "sentence"),
    [
        (
            "torch.zeros(1, batch, 4)",
            "state",
            r"initial\(2\) gave a state with a tensor \[1, 2, 4\]; expected \[2, …\]",
        ),
        (
            "torch.zeros(batch, 4)",
            "state[0]",
            r"forward gave a state with a tensor \[4\]; expected \[1, …\]",
        ),
        ("(torch.zeros(batch), 3)", "state", "a state has a int in it; expected tensors"),
    ],
)
def test_a_state_that_is_no_batch_is_a_sentence(first: str, later: str, sentence: str) -> None:
    import torch

    class Odd(TwoHeads):
        def initial(self, batch: int) -> Any:
            return eval(first, {"torch": torch, "batch": batch})

        def forward(self, vector: Vector, state: Any) -> tuple[Heads, Any]:
            return self.heads(vector), eval(later, {"state": state})

    node = Odd(brain=TwoHeads.new_brain({"inputs": 3}))
    with pytest.raises(MinibrainsError, match=sentence), opened(node):
        play(node, *_vectors(1))


def test_a_state_that_does_not_come_back_is_a_sentence() -> None:
    class Forgets(Remembers):
        def forward(self, vector: Vector, state: Any) -> tuple[Heads, Memory]:
            return self.heads(vector)

    node = Forgets(brain=TwoHeads.new_brain({"inputs": 3}))
    with (
        opened(node),
        pytest.raises(
            MinibrainsError, match=r"forward gave a tuple of 4; expected \(outputs, state\)"
        ),
    ):
        play(node, *_vectors(1))


# -- the conformance test --------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["vector - vector.mean(0)", "vector.reshape(1, -1)"])
def test_a_network_whose_items_see_each_other_does_not_conform(fault: str) -> None:
    class Mixes(TwoHeads):
        def forward(self, vector: Vector) -> Heads:
            return self.heads(eval(fault, {"vector": vector}))

    with pytest.raises(
        AssertionError,
        match=r"Mixes: on tick 0 (it gave .* in a batch of two|forward cannot take a batch)",
    ):
        check_node(Mixes(brain=TwoHeads.new_brain({"inputs": 3})), *_vectors(2))
