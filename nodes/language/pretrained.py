"""A pretrained vision-language model in one safetensors file: weights, configuration, tokenizer, processor."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from minibrains import Brain, BrainError, MinibrainsError, setting
from minibrains.brain_file import TensorInfo, read_header, short
from minibrains.loading import BrainRef
from minibrains.tensors import as_array

if TYPE_CHECKING:
    import torch

WEIGHTS: Final = "model.safetensors"
CONFIG: Final = "config.json"
FILES: Final = (
    CONFIG, "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "merges.txt", "processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json",
    "chat_template.jinja", "chat_template.json",
)  # fmt: skip
"""The files of a Hugging Face model folder that are taken over: all of them text, none of them code."""
NEEDED: Final = (CONFIG, "tokenizer.json", "tokenizer_config.json")
FLOATS: Final = ("f32", "f16", "bf16")
"""The types weights may be stored in; computed is in f32."""
MOST_LAYOUTS: Final = 256
"""Kept of a model: one for each length of prompt and size of picture."""


class Family(NamedTuple):
    """Classes of transformers that make up a kind of model."""

    model: str
    processor: str


FAMILIES: Final = {"qwen3_vl": Family("Qwen3VLForConditionalGeneration", "Qwen3VLProcessor")}
"""`model_type` of a configuration -> how such a model is loaded."""


class VisionLanguageModel(Brain):
    """A model that looks at a picture, reads a prompt and answers. Its tensors are those that transformers saves."""

    kind = "vlm"
    files: Mapping[str, str] = setting(doc="the text files of a Hugging Face model folder, by name")
    answers: tuple[str, ...] = setting((), doc="what it may be asked to choose from; each is one token")

    @classmethod
    def check_tensors(cls, where: str, config: Mapping[str, Any], tensors: Mapping[str, TensorInfo]) -> Mapping[str, int]:
        """Whether names and shapes are those of the model is for transformers to say, when it is loaded."""
        check_files(where, config["files"])
        for name, info in tensors.items():
            if info.dtype not in FLOATS:
                raise BrainError(f"{where}: tensor {short(name)} is {info}; expected one of {', '.join(FLOATS)}")
        return {}

    @classmethod
    def of_folder(cls, folder: Path, answers: tuple[str, ...] = ()) -> Self:
        """What transformers' `save_pretrained` wrote. Raises BrainError if that is no model of ours."""
        from safetensors import safe_open

        files = {name: (folder / name).read_text("utf-8") for name in FILES if (folder / name).is_file()}
        check_files(str(folder), files)
        tensors: dict[str, np.ndarray] = {}
        for path in sorted(folder.glob("*.safetensors")):
            with safe_open(path, "pt") as weights:
                tensors.update({name: as_array(weights.get_tensor(name)) for name in weights.keys()})  # noqa: SIM118 - no dict
        return cls(tensors, files=files, answers=answers)


def check_files(where: str, files: Mapping[str, str]) -> Family:
    """How this model is loaded. Raises BrainError if files are missing, want code of their own, or are of another family."""
    for name in files:
        if name not in FILES:
            raise BrainError(f"{where}: {short(name)} is no file of a model that is taken over; expected {', '.join(FILES)}")
    for name in NEEDED:
        if name not in files:
            raise BrainError(f"{where}: {name} is missing")
    configs = {name: _object(f"{where}: {name}", text) for name, text in files.items() if name.endswith("config.json")}
    for name, config in configs.items():
        if "auto_map" in config:
            raise BrainError(f"{where}: {name} wants Python code to be loaded with the model (auto_map); that is never done")
    family = configs[CONFIG].get("model_type")
    if family not in FAMILIES:
        raise BrainError(f"{where}: a model of type {short(family)} cannot be loaded yet; expected {' or '.join(FAMILIES)}")
    return FAMILIES[family]


def _object(what: str, text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)  # not by our rules: transformers writes numbers of more than 64 bits
    except (ValueError, RecursionError) as error:
        raise BrainError(f"{what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BrainError(f"{what} is not a JSON object")
    return value


class Layout(NamedTuple):
    """What a model would work out anew each time from the picture's size and its tokens' places."""

    seen: torch.Tensor
    """bool [1, tokens]: the picture's."""
    places: torch.Tensor
    picture: Mapping[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Pretrained:
    """A model ready to be asked."""

    model: Any
    processor: Any
    _levels: np.ndarray = field(init=False)
    """f32 [3, 256]: what the model is shown of a colour's level."""
    _grids: dict[tuple[int, ...], torch.Tensor] = field(default_factory=dict)
    """Patches, as times, down, across, of the pictures' sizes that need no scaling."""
    _layouts: dict[bytes, Layout] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_levels", _levels(self.processor.image_processor))

    def read(self, image: np.ndarray, prompt: str) -> Mapping[str, torch.Tensor]:
        """A picture, uint8 [h, w, 3], and a question as the model takes them: one message, the picture first.

        The processor's own parts, one by one: its call comes to the same and takes three milliseconds more, to check keywords.
        Raises MinibrainsError if the question has a marker of the tokenizer's in it that stands for a picture.
        """
        import torch

        processor = self.processor
        for marker in (processor.image_token, processor.video_token):
            if marker in prompt:
                raise MinibrainsError(f"the question has {marker} in it, which stands for a picture; take it out")
        picture = self._picture(image)
        message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": prompt}]}
        asked = processor.apply_chat_template([message], add_generation_prompt=True, tokenize=False)
        asked = asked.replace(processor.image_token, processor.replace_image_token(picture, 0), 1)
        tokens = torch.tensor([processor.tokenizer.backend_tokenizer.encode(asked).ids])
        kinds = (tokens == processor.image_token_id).long()
        return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), **picture, "mm_token_type_ids": kinds}

    def _picture(self, image: np.ndarray) -> Mapping[str, torch.Tensor]:
        """The picture in patches. One of a size that needs no scaling has 256 levels a colour, and they have been worked out."""
        import torch
        from PIL import Image

        reads, size = self.processor.image_processor, image.shape[:2]
        if (grid := self._grids.get(size)) is not None:
            shown = np.empty((3, *size), np.float32)
            for colour, levels in enumerate(self._levels):
                np.take(levels, image[:, :, colour], out=shown[colour], mode="clip")  # into `out` at once, unlike "raise"
            patches, *_ = reads.patchify(shown, reads.patch_size, reads.merge_size, reads.temporal_patch_size)
            return {"pixel_values": torch.from_numpy(patches), "image_grid_thw": grid}
        read: Mapping[str, torch.Tensor] = reads([Image.fromarray(np.ascontiguousarray(image))], return_tensors="pt")
        if (read["image_grid_thw"][0, 1:] * reads.patch_size).tolist() == [*size] and len(self._grids) < MOST_LAYOUTS:
            self._grids[size] = read["image_grid_thw"]
        return read

    def next_logits(self, model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Of every token, f32 [vocabulary], how well it follows on what was read. `model`: this one, or with merged adapters.

        Its parts, one by one: its own call comes to the same and takes a millisecond more, to look for what is never given here.
        """
        kinds, grid = inputs["mm_token_type_ids"], inputs["image_grid_thw"]
        key = grid.numpy().tobytes() + kinds.numpy().tobytes()
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= MOST_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[key] = self._layout(inputs["input_ids"], kinds, grid)
        reads = model.model
        seen = reads.visual(inputs["pixel_values"], grid_thw=grid, **layout.picture)
        words = reads.get_input_embeddings()(inputs["input_ids"])
        words[layout.seen] = seen.pooler_output
        deeper = {"visual_pos_masks": layout.seen, "deepstack_visual_embeds": seen.deepstack_features}
        understood = reads.language_model(inputs_embeds=words, position_ids=layout.places, use_cache=False, **deeper)
        logits: torch.Tensor = model.lm_head(understood.last_hidden_state[0, -1])
        return logits

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
        return Layout(kinds == 1, model.get_rope_index(tokens, kinds, image_grid_thw=grid)[0], picture)

    def token(self, answer: str) -> int:
        """The token an answer consists of. Raises BrainError if it is not just one."""
        tokens = self.processor.tokenizer(answer, add_special_tokens=False)["input_ids"]
        if len(tokens) != 1:
            raise BrainError(f"the answer {answer!r} is {len(tokens)} tokens; one to choose must be one, else let it generate")
        return int(tokens[0])


def load_pretrained(ref: BrainRef) -> Pretrained:
    """Load a model with transformers, as f32, from this one file. Raises BrainError if it does not fit its configuration."""
    import torch
    import transformers
    from transformers.video_processing_utils import VideoProcessorMixin

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # what is wrong is said below, in a sentence
    path = Path(ref.file)
    files = VisionLanguageModel.load(path).files
    family = check_files(ref.file, files)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text, "utf-8")
        _link(path, folder / WEIGHTS)
        offline = {"local_files_only": True, "trust_remote_code": False}
        try:
            model, info = getattr(transformers, family.model).from_pretrained(
                folder, dtype=torch.float32, ignore_mismatched_sizes=True, output_loading_info=True, **offline
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **offline)
            images = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **offline)
        except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
            raise BrainError(f"{path}: transformers cannot load it: {' '.join(str(error).split())}") from None
    for fault in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if found := sorted(map(str, info.get(fault) or ())):
            raise BrainError(f"{path}: {short(found[0])} is one of {len(found)} {fault.replace('_', ' ')} of the model's tensors")
    template = tokenizer.chat_template
    processor = _without_videos(getattr(transformers, family.processor))(
        images, tokenizer, VideoProcessorMixin(), chat_template=template
    )
    for module in model.modules():
        if isinstance(module, torch.nn.Conv3d):
            module.forward = MethodType(_convolve, module)  # type: ignore[method-assign]
        elif type(module).__name__.endswith("RMSNorm") and hasattr(module, "variance_epsilon"):
            module.forward = MethodType(_normalize, module)
    return Pretrained(model.requires_grad_(False).eval(), processor)


def _levels(reads: Any) -> np.ndarray:
    """What a processor of pictures makes of each level of each colour, f32 [3, 256]."""
    levels = np.tile(np.arange(256, dtype=np.uint8), (3, 1, 1))
    if reads.do_rescale:
        levels = reads.rescale(levels, reads.rescale_factor)
    if reads.do_normalize:
        levels = reads.normalize(levels, reads.image_mean, reads.image_std)
    return levels[:, 0].astype(np.float32)


def _convolve(module: torch.nn.Conv3d, patches: torch.Tensor) -> torch.Tensor:
    """Of patches as large as the kernel that is a product of matrices, and a CPU does it ten times as fast as one."""
    import torch

    if tuple(patches.shape[2:]) != module.kernel_size:
        return torch.nn.Conv3d.forward(module, patches)
    return torch.nn.functional.linear(patches.flatten(1), module.weight.flatten(1), module.bias)[:, :, None, None, None]


def _normalize(module: Any, hidden: torch.Tensor) -> torch.Tensor:
    """What transformers writes out in six calls from Python, in one."""
    import torch

    return torch.nn.functional.rms_norm(hidden, module.weight.shape, module.weight, module.variance_epsilon)


def _without_videos(processor: Any) -> Any:
    """The class of a processor that does not look for what reads videos: that needs torchvision, and nobody shows any here."""
    return type(processor.__name__, (processor,), {"check_argument_for_proper_class": lambda self, name, part: type(part)})


def _link(file: Path, name: Path) -> None:
    try:
        name.symlink_to(file.absolute())
    except OSError:  # where a person may not link
        shutil.copyfile(file, name)


def title_of(ref: BrainRef) -> str:
    """What people call a model."""
    return read_header(Path(ref.file)).metadata.get("title") or Path(ref.file).name
