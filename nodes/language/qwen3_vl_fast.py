"""Ask a Qwen3-VL in less time: the same numbers as transformers' own calls, part by part.

For a model as small as ours, most of the time of a decision is overhead of the libraries, which
check for options that are never used here. So the parts of processor and model are called one by
one, values that depend only on sizes are stored, the result for each of the 256 levels of a colour
is looked up, and the last layer is computed only for the last token. tests/nodes/test_vlm.py asks
the same questions in both ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from nodes.language.asking import Pretrained, expect_picture

if TYPE_CHECKING:
    import torch

MAX_LAYOUTS: Final = 256
"""Number of layouts kept per model: one for each length of prompt and size of picture."""
MAX_QUESTIONS: Final = 256
"""Number of questions kept per model: one for each prompt and size of picture."""


class Layout(NamedTuple):
    """Values that a model would otherwise compute each time from the picture's size and the
    positions of its tokens.
    """

    seen: torch.Tensor
    """bool [b, tokens]: True for tokens of the picture."""
    positions: torch.Tensor
    picture: Mapping[str, torch.Tensor]


class FastQwen3VL(Pretrained):
    """A Qwen3-VL with its processor, ready to be asked."""

    def __init__(self, model: Any, processor: Any) -> None:
        """Wrap a model, and replace the forward methods of its convolutions
        and norms by faster ones.
        """
        super().__init__(model, processor)
        _replace_forwards(model)
        self._levels = _levels(processor.image_processor)
        """f32 [3, 256]: the model's input for each level of each colour."""
        self._grids: dict[tuple[int, ...], torch.Tensor] = {}
        """Size of a picture that needs no scaling -> its patches in time, height and width."""
        self._layouts: dict[bytes, Layout] = {}
        self._questions: dict[tuple[str, bytes], Mapping[str, torch.Tensor]] = {}

    def read(self, image: np.ndarray | None, prompt: str) -> Mapping[str, torch.Tensor]:
        """Call the processor's parts one by one: its own call takes three milliseconds more,
        to check keywords. A question that was asked before is not read again.
        """
        picture = self._picture(expect_picture(image))
        key = prompt, picture["image_grid_thw"].numpy().tobytes()
        question = self._questions.get(key)
        if question is None:
            if len(self._questions) >= MAX_QUESTIONS:
                self._questions.clear()
            question = self._questions[key] = self._question(prompt, picture)
        return {**question, **picture}

    def next_logits(self, model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Call the model's parts one by one: its own call takes a millisecond more,
        to check for unused options.

        The last layer is computed for the last token only, because the answer depends on nothing
        else.
        """
        return self._last_logits(model, inputs)[0]

    def logits_of_each(
        self, model: Any, questions: Sequence[Mapping[str, torch.Tensor]]
    ) -> torch.Tensor:
        first = questions[0]["input_ids"].shape
        if any(question["input_ids"].shape != first for question in questions):
            return super().logits_of_each(model, questions)  # which can leave out padding
        return self._last_logits(model, self.joined(questions))

    def _last_logits(self, model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the logits after each of some questions of one length, f32 [b, vocabulary]."""
        kinds = inputs["mm_token_type_ids"]
        grid = inputs["image_grid_thw"]
        key = grid.numpy().tobytes() + kinds.numpy().tobytes()
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= MAX_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[key] = self._layout(inputs["input_ids"], kinds, grid)
        reads = model.model
        seen = reads.visual(inputs["pixel_values"], grid_thw=grid, **layout.picture)
        embeddings = reads.get_input_embeddings()(inputs["input_ids"])
        embeddings[layout.seen] = seen.pooler_output
        text = reads.language_model
        positions = text.rotary_emb(embeddings, layout.positions)
        hidden = embeddings
        *layers, last = text.layers
        for number, layer in enumerate(layers):
            hidden = layer(hidden, position_embeddings=positions)
            if number < len(seen.deepstack_features):
                hidden = text._deepstack_process(
                    hidden, layout.seen, seen.deepstack_features[number]
                )
        understood = _last_token(last, hidden, positions)
        logits: torch.Tensor = model.lm_head(text.norm(understood)[:, -1])
        return logits

    def _question(
        self, prompt: str, picture: Mapping[str, torch.Tensor]
    ) -> Mapping[str, torch.Tensor]:
        """Return a question in tokens, with those that stand for the picture."""
        import torch

        self.refuse_markers(prompt)
        processor = self.processor
        message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": prompt}]}
        text = processor.apply_chat_template([message], add_generation_prompt=True, tokenize=False)
        text = text.replace(processor.image_token, processor.replace_image_token(picture, 0), 1)
        tokens = torch.tensor([processor.tokenizer.backend_tokenizer.encode(text).ids])
        return {
            "input_ids": tokens,
            "attention_mask": torch.ones_like(tokens),
            "mm_token_type_ids": (tokens == processor.image_token_id).long(),
        }

    def _picture(self, image: np.ndarray) -> Mapping[str, torch.Tensor]:
        """Return a picture in patches.

        If it needs no scaling, each of its 256 levels a colour is looked up in a table.
        """
        import torch
        from PIL import Image

        reads = self.processor.image_processor
        size = image.shape[:2]
        if (grid := self._grids.get(size)) is not None:
            shown = np.empty((3, *size), np.float32)
            for colour, levels in enumerate(self._levels):
                # writes to `out` directly, unlike "raise"
                np.take(levels, image[:, :, colour], out=shown[colour], mode="clip")
            patches, *_ = reads.patchify(
                shown, reads.patch_size, reads.merge_size, reads.temporal_patch_size
            )
            return {"pixel_values": torch.from_numpy(patches), "image_grid_thw": grid}
        read: Mapping[str, torch.Tensor] = reads(
            [Image.fromarray(np.ascontiguousarray(image))], return_tensors="pt"
        )
        if (read["image_grid_thw"][0, 1:] * reads.patch_size).tolist() == [*size] and len(
            self._grids
        ) < MAX_LAYOUTS:
            self._grids[size] = read["image_grid_thw"]
        return read

    def _layout(self, tokens: torch.Tensor, kinds: torch.Tensor, grid: torch.Tensor) -> Layout:
        from transformers import vision_utils

        model = self.model.model
        visual = model.visual
        indices, weights = vision_utils.get_vision_interpolation_indices_and_weights(
            grid,
            num_grid_per_side=visual.num_grid_per_side,
            mode=visual.interpolation_mode,
            align_corners=visual.interpolation_align_corners,
            spatial_merge_size=visual.spatial_merge_size,
        )
        ends, _ = vision_utils.get_vision_attention_seqlens(grid, visual.config)
        picture = {
            "position_ids": vision_utils.get_vision_position_ids(grid, visual.spatial_merge_size),
            "cu_seqlens": ends,
            "interp_indices": indices,
            "interp_weights": weights,
        }
        return Layout(
            kinds == 1, model.get_rope_index(tokens, kinds, image_grid_thw=grid)[0], picture
        )


def _last_token(
    layer: Any, hidden: torch.Tensor, positions: tuple[torch.Tensor, torch.Tensor]
) -> torch.Tensor:
    """Return a layer's output for the last token, f32 [b, 1, size].

    The other tokens are in a cache, as if they had been read before: the layer attends to them, but
    computes no output.

    Args:
        layer: A decoder layer.
        hidden: The output of the layers before it for all tokens, f32 [b, tokens, size].
        positions: Cosines and sines of the tokens' positions, each f32 [b, tokens, size of a head].
    """
    from transformers import DynamicCache
    from transformers.models.qwen3_vl.modeling_qwen3_vl import rotate_half

    attention = layer.self_attn
    others = layer.input_layernorm(hidden[:, :-1])
    shape = (*others.shape[:-1], -1, attention.head_dim)
    keys = attention.k_norm(attention.k_proj(others).view(shape)).transpose(1, 2)
    values = attention.v_proj(others).view(shape).transpose(1, 2)
    cosines, sines = positions
    keys = keys * cosines[:, None, :-1] + rotate_half(keys) * sines[:, None, :-1]
    cache = DynamicCache()
    cache.update(keys, values, attention.layer_idx)
    last_place = (cosines[:, -1:], sines[:, -1:])
    last: torch.Tensor = layer(
        hidden[:, -1:], position_embeddings=last_place, past_key_values=cache
    )
    return last


def _replace_forwards(model: Any) -> None:
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.Conv3d):
            module.forward = MethodType(_convolve, module)  # type: ignore[method-assign]
        elif type(module).__name__.endswith("RMSNorm") and hasattr(module, "variance_epsilon"):
            module.forward = MethodType(_normalize, module)


def _levels(reads: Any) -> np.ndarray:
    """Return a picture processor's result for each level of each colour, f32 [3, 256]."""
    levels = np.tile(np.arange(256, dtype=np.uint8), (3, 1, 1))
    if reads.do_rescale:
        levels = reads.rescale(levels, reads.rescale_factor)
    if reads.do_normalize:
        levels = reads.normalize(levels, reads.image_mean, reads.image_std)
    return levels[:, 0].astype(np.float32)


def _convolve(module: torch.nn.Conv3d, patches: torch.Tensor) -> torch.Tensor:
    """Convolve patches as large as the kernel by a matrix product,
    which is ten times faster on a CPU.
    """
    import torch

    if tuple(patches.shape[2:]) != module.kernel_size:
        return torch.nn.Conv3d.forward(module, patches)
    return torch.nn.functional.linear(patches.flatten(1), module.weight.flatten(1), module.bias)[
        :, :, None, None, None
    ]


def _normalize(module: Any, hidden: torch.Tensor) -> torch.Tensor:
    """Normalise in one call from Python, where transformers makes six."""
    import torch

    weight = module.weight.to(hidden.dtype)  # in training, autocast gives out bf16
    return torch.nn.functional.rms_norm(hidden, weight.shape, weight, module.variance_epsilon)
