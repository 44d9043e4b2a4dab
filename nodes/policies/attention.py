"""Attention over the last decisions of a policy network: what of them matters now."""

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
        specs = {"query": f"f32[{width}]", "positions": f"f32[{steps} {width}]"}
        for index, columns in enumerate(groups):
            specs[f"group{index}.weight"] = f"f32[{width} {columns}]"
            specs[f"group{index}.bias"] = f"f32[{width}]"
            specs |= _norm_specs(f"norm{index}", width)
            specs |= _attention_specs(f"attention{index}", width, width)
        specs["fusion.weight"] = f"f32[{width} {len(groups) * width}]"
        specs["fusion.bias"] = f"f32[{width}]"
        return specs


class Attended(NamedTuple):
    """The outputs of CrossAttention."""

    summary: AttentionQuery
    rows: GroupRows


class CrossAttention(TorchNode, category="policies"):
    """Ask the same learned question of what was seen, known and pressed at the last decisions.

    sequence:  float32 [steps, columns], of a FeatureHistory
    summary:   float32 [width], from 0: the answers of all groups, fused
    rows:      float32 [steps, groups * width]: the rows as the attentions saw them

    The columns are groups; each is brought to the same width, with a learned number for each step,
    so that the order of the steps is known. An attention for each group has the one query, and the
    fusion of their answers is the summary, which a TemporalAttention asks again.

    Source: A. Vaswani et al., Attention is all you need, NIPS 2017, arXiv:1706.03762.
    """

    brain: CrossAttentionBrain

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        import torch
        from torch import nn

        width = config["width"]
        layers: dict[str, nn.Module] = {}
        for index, columns in enumerate(config["groups"]):
            layers[f"group{index}"] = nn.Linear(columns, width)
            layers[f"norm{index}"] = nn.LayerNorm(width)
            layers[f"attention{index}"] = nn.MultiheadAttention(
                width, config["heads"], batch_first=True
            )
        layers["fusion"] = nn.Linear(len(config["groups"]) * width, width)
        module = nn.ModuleDict(layers)
        module.register_parameter("query", nn.Parameter(torch.randn(width)))
        positions = nn.Parameter(torch.randn(config["steps"], width))
        module.register_parameter("positions", positions)
        return module

    def forward(self, sequence: FeatureRows) -> Attended:
        import torch

        module = self.module
        query = module.query.expand(len(sequence), 1, -1)
        columns: Any = sequence
        answers: list[torch.Tensor] = []
        shown: list[torch.Tensor] = []
        for index, group in enumerate(columns.split(self.brain.groups, 2)):
            rows = module[f"norm{index}"](module[f"group{index}"](group)) + module.positions
            answer, _ = module[f"attention{index}"](query, rows, rows, need_weights=False)
            answers.append(answer[:, 0])
            shown.append(rows)
        summary: Any = module["fusion"](torch.cat(answers, 1)).relu()
        all_rows: Any = torch.cat(shown, 2)
        return Attended(summary, all_rows)


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
        return {**_attention_specs("attention", width, columns), **_norm_specs("norm", width)}


class TemporalAttention(TorchNode, category="policies"):
    """Look once more at the last decisions, with a question that depends on them.

    query:     float32 [width], the summary of a CrossAttention
    sequence:  float32 [rows, columns], its rows
    Out:       float32 [width]: the query and the answer, added and normalised

    Source: A. Vaswani et al., Attention is all you need, NIPS 2017, arXiv:1706.03762.
    """

    brain: TemporalAttentionBrain

    def build(self, config: Mapping[str, Any]) -> nn.Module:
        from torch import nn

        width, columns = config["width"], config["columns"]
        attention = nn.MultiheadAttention(
            width, config["heads"], kdim=columns, vdim=columns, batch_first=True
        )
        return nn.ModuleDict({"attention": attention, "norm": nn.LayerNorm(width)})

    def forward(self, query: AttentionQuery, sequence: ShownRows) -> AttentionQuery:
        asked: Any = query
        answer, _ = self.module["attention"](asked[:, None], sequence, sequence, need_weights=False)
        features: torch.Tensor = self.module["norm"](asked + answer[:, 0])
        return features  # type: ignore[return-value]


def _check_heads(width: int, heads: int) -> None:
    if min(width, heads) < 1 or width % heads:
        raise BrainError(
            f"width is {width}, and heads {heads}; expected a width that the heads share evenly"
        )


def _attention_specs(name: str, width: int, columns: int) -> dict[str, str]:
    """Return the specs of torch's MultiheadAttention, which has other tensors if the rows have
    another number of columns than the query.
    """
    specs: dict[str, str] = {}
    if columns == width:
        specs[f"{name}.in_proj_weight"] = f"f32[{3 * width} {width}]"
    else:
        specs[f"{name}.q_proj_weight"] = f"f32[{width} {width}]"
        specs[f"{name}.k_proj_weight"] = f"f32[{width} {columns}]"
        specs[f"{name}.v_proj_weight"] = f"f32[{width} {columns}]"
    specs[f"{name}.in_proj_bias"] = f"f32[{3 * width}]"
    specs[f"{name}.out_proj.weight"] = f"f32[{width} {width}]"
    specs[f"{name}.out_proj.bias"] = f"f32[{width}]"
    return specs


def _norm_specs(name: str, width: int) -> dict[str, str]:
    return {f"{name}.weight": f"f32[{width}]", f"{name}.bias": f"f32[{width}]"}
