"""Attention over the last decisions of a policy network: which of them matter now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from minibrains import Brain, Socket, TorchNode, setting
from minibrains.errors import BrainError
from nodes.policies.history import FeatureRows

if TYPE_CHECKING:
    import torch
    from torch import nn

AttentionQuery = Annotated[np.ndarray, Socket("vector", "f32[{width}]")]
GroupRows = Annotated[np.ndarray, Socket("sequence", "f32[{steps} {grouped}]")]
ShownRows = Annotated[np.ndarray, Socket("sequence", "f32[rows {columns}]")]


class CrossAttentionBrain(Brain):
    """Weights and sizes of an attention over groups of columns, with one learned query."""

    kind = "cross_attention"
    steps: int = setting(doc="the number of rows of the input")
    groups: tuple[int, ...] = setting(
        doc="the number of columns of each group: features of frames, numbers, and buttons"
    )
    width: int = setting(doc="the size of the query, and of what each group becomes")
    heads: int = setting(doc="the number of heads of each attention; divides width")

    @classmethod
    def derived_sizes(
        cls, sizes: Mapping[str, int], config: Mapping[str, Any]
    ) -> Mapping[str, int]:
        return {
            "columns": sum(config["groups"]),
            "grouped": len(config["groups"]) * config["width"],
        }

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        steps, groups, width = config["steps"], config["groups"], config["width"]
        _check_heads(width, config["heads"])
        if not groups or min(steps, *groups) < 1:
            raise BrainError(
                f"steps is {steps}, and groups are {list(groups)}; expected at least one step and "
                "one group, and at least one column in each"
            )
        count = len(groups)
        specs = {
            "query": f"f32[{width}]",
            "positions": f"f32[{steps} {width}]",
            "ask.weight": f"f32[{count} {width} {width}]",
            "ask.bias": f"f32[{count} 1 {width}]",
            "rows.weight": f"f32[{count} {width} {2 * width}]",
            "rows.bias": f"f32[{count} 1 {2 * width}]",
            "answer.weight": f"f32[{count} {width} {width}]",
            "answer.bias": f"f32[{count} 1 {width}]",
            "fusion.weight": f"f32[{width} {count * width}]",
            "fusion.bias": f"f32[{width}]",
        }
        for index, columns in enumerate(groups):
            specs[f"group{index}.weight"] = f"f32[{width} {columns}]"
            specs[f"group{index}.bias"] = f"f32[{width}]"
            specs[f"norm{index}.weight"] = f"f32[{width}]"
            specs[f"norm{index}.bias"] = f"f32[{width}]"
        return specs


class Attended(NamedTuple):
    """The outputs of CrossAttention."""

    summary: AttentionQuery
    rows: GroupRows


class CrossAttention(TorchNode, category="policies"):
    """Attend to what was seen, known and pressed at the last decisions, with one learned query.

    sequence:  float32 [steps, columns], of a FeatureHistory
    summary:   float32 [width], not negative: the answers of all groups, fused
    rows:      float32 [steps, groups * width]: the rows as the attentions saw them

    The columns are groups; each is brought to the same width, and a learned vector for each step is
    added, so that the order of the steps is known. Each group has an attention of its own, all with
    the same query; what they find is fused into the summary, which is the query of a
    TemporalAttention.

    Source: A. Vaswani et al., Attention is all you need, NIPS 2017, arXiv:1706.03762.
    """

    brain: CrossAttentionBrain

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        import torch
        from torch import nn

        width, count = config["width"], len(config["groups"])
        layers: dict[str, nn.Module] = {}
        for index, columns in enumerate(config["groups"]):
            layers[f"group{index}"] = nn.Linear(columns, width)
            layers[f"norm{index}"] = nn.LayerNorm(width)
        # the attentions of all groups are computed at once
        for name, outputs in (("ask", width), ("rows", 2 * width), ("answer", width)):
            weight = torch.randn(count, width, outputs) / width**0.5
            bias = torch.zeros(count, 1, outputs)
            layers[name] = nn.ParameterDict({"weight": weight, "bias": bias})
        layers["fusion"] = nn.Linear(count * width, width)
        module = nn.ModuleDict(layers)
        module.register_parameter("query", nn.Parameter(torch.randn(width)))
        positions = nn.Parameter(torch.randn(config["steps"], width))
        module.register_parameter("positions", positions)
        return module

    def forward(self, sequence: FeatureRows) -> Attended:
        import torch

        module = self.module
        columns: Any = sequence
        groups: list[torch.Tensor] = []
        for index, group in enumerate(columns.split(self.brain.groups, 2)):
            groups.append(module[f"norm{index}"](module[f"group{index}"](group)))
        count, batch, (steps, width) = len(groups), len(columns), module.positions.shape
        tokens = torch.stack(groups) + module.positions  # [groups, batch, steps, width]

        # the projections: `ask` of the query, `rows` of keys and values, `answer` of the output
        query = module.query.expand(count, 1, width)
        queries = _grouped_linear(module["ask"], query)  # [groups, 1, width]
        queries = queries.expand(count, batch, width).flatten(0, 1)
        keys_values = _grouped_linear(module["rows"], tokens.flatten(1, 2))
        keys_values = keys_values.view(count * batch, steps, 2 * width)
        attended = _attend(queries, keys_values, self.brain.heads)  # [groups * batch, width]
        outputs = _grouped_linear(module["answer"], attended.view(count, batch, width))

        fused: Any = outputs.transpose(0, 1).flatten(1)  # [batch, groups * width]
        summary: Any = module["fusion"](fused).relu()
        rows: Any = tokens.permute(1, 2, 0, 3).flatten(2)  # [batch, steps, groups * width]
        return Attended(summary, rows)


class TemporalAttentionBrain(Brain):
    """Weights and sizes of an attention over steps."""

    kind = "temporal_attention"
    columns: int = setting(doc="the number of columns of the rows")
    width: int = setting(doc="the size of the query and of the output")
    heads: int = setting(doc="the number of heads; divides width")

    @classmethod
    def tensor_specs(cls, config: Mapping[str, Any]) -> Mapping[str, str]:
        width, columns = config["width"], config["columns"]
        _check_heads(width, config["heads"])
        if columns < 1:
            raise BrainError("columns must be at least 1")
        return {
            "ask.weight": f"f32[{width} {width}]",
            "ask.bias": f"f32[{width}]",
            "rows.weight": f"f32[{2 * width} {columns}]",
            "rows.bias": f"f32[{2 * width}]",
            "answer.weight": f"f32[{width} {width}]",
            "answer.bias": f"f32[{width}]",
            "norm.weight": f"f32[{width}]",
            "norm.bias": f"f32[{width}]",
        }


class TemporalAttention(TorchNode, category="policies"):
    """Attend to the last decisions once more, with their summary as the query.

    query:     float32 [width], the summary of a CrossAttention
    sequence:  float32 [rows, columns], its rows
    Out:       float32 [width]: the query and the answer, added and normalised

    Source: A. Vaswani et al., Attention is all you need, NIPS 2017, arXiv:1706.03762.
    """

    brain: TemporalAttentionBrain

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        from torch import nn

        width, columns = config["width"], config["columns"]
        layers = {
            "ask": nn.Linear(width, width),
            "rows": nn.Linear(columns, 2 * width),
            "answer": nn.Linear(width, width),
            "norm": nn.LayerNorm(width),
        }
        return nn.ModuleDict(layers)

    def forward(self, query: AttentionQuery, sequence: ShownRows) -> AttentionQuery:
        asked: Any = query
        module = self.module
        attended = _attend(module["ask"](asked), module["rows"](sequence), self.brain.heads)
        features: torch.Tensor = module["norm"](asked + module["answer"](attended))
        return features  # type: ignore[return-value]


def _grouped_linear(layer: nn.ParameterDict, values: torch.Tensor) -> torch.Tensor:
    """Return what a linear layer for each group gives: float32 [groups, n, outputs].

    Args:
        layer: The layers.
        values: float32 [groups, n, inputs].
    """
    import torch

    return torch.baddbmm(layer["bias"], values, layer["weight"])


def _attend(queries: torch.Tensor, keys_values: torch.Tensor, heads: int) -> torch.Tensor:
    """Return what attention with several heads finds: float32 [n, width].

    Args:
        queries: One for each item, float32 [n, width].
        keys_values: The keys of its rows, and beside them their values, float32
            [n, rows, 2 * width].
        heads: The number of heads.
    """
    from torch.nn.functional import scaled_dot_product_attention

    count, rows, _ = keys_values.shape
    queries = queries.view(count, heads, 1, -1)
    keys, values = keys_values.view(count, rows, 2, heads, -1).permute(2, 0, 3, 1, 4)
    return scaled_dot_product_attention(queries, keys, values).flatten(1)


def _check_heads(width: int, heads: int) -> None:
    if min(width, heads) < 1 or width % heads:
        raise BrainError(
            f"width is {width}, and heads {heads}; expected a width that the heads share evenly"
        )
