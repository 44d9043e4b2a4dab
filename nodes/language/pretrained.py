"""A pretrained language model, with or without vision, in one safetensors file: weights,
configuration, tokenizer, processor.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from minibrains import Brain, BrainError, MinibrainsError, setting
from minibrains.brain_file import TensorInfo, read_header, short
from minibrains.errors import text_of
from minibrains.files import is_plain_name
from minibrains.loading import MODELS_VARIABLE, BrainRef, model_budget
from minibrains.packages import missing_package
from minibrains.process.trial import try_out
from minibrains.tensors import as_array, is_finite
from nodes.language.asking import Pretrained, TextModel
from nodes.language.chat_template import Frame, find_frame
from nodes.language.model_files import CONFIG, FAMILIES, FILES, Family, check_files, check_texts
from nodes.language.placement import BYTES, Placement, megabytes, place

if TYPE_CHECKING:
    import torch

WEIGHTS: Final = "model.safetensors"
GENERATION: Final = "generation_config.json"
TOKENS: Final = ("bos_token_id", "eos_token_id", "pad_token_id")
"""The entries of generation_config.json that are used: the node decides how an answer is
generated."""
OFFLINE: Final = {"local_files_only": True, "trust_remote_code": False}
"""Arguments of every `from_pretrained`: nothing is downloaded, and no code of a model is run."""
FLOATS: Final = ("f32", "f16", "bf16")
"""The dtypes in which weights may be stored, whatever it is that they are computed in."""
OURS: Final = frozenset({
    "3e47f9233c29fd1bce1131e2d560deaf2e13a52b7f209a2378fd30e50a3b6897",
    "67f28f8eafe3e9786563a1e6766cca1d2b944a26785e4f3aba6443d65936992e",
})  # fmt: skip
"""The SHA-256 of models that ship with Minibrains, whose text files need no trial."""

_UNQUANTIZED: Final = ("embed", "lm_head")
"""Parts of the names of matrices that are not weights of linear layers, or stay as they are."""
_FAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "missing_keys": "is not in the file",
        "unexpected_keys": "is not part of the model",
        "mismatched_keys": "has another shape in the file than in the configuration",
    }
)
"""What transformers calls tensors that do not fit a model, and what is wrong with each."""
_BLOCK: Final = 64
"""The number of weights of 4 bits that have a scale in common."""
_ROOM: Final = 1 << 22
"""Largest number of values that a model may have besides those of its file, for computed tables."""
_LARGEST_INPUT: Final = 256 << 20
"""Largest size of the inputs for a picture and a question, in bytes."""
_LARGEST_GROWTH: Final = 64
"""Largest number of characters that a tokenizer may make of one character."""
_ODD_TEXTS: Final = (
    "", "a" * 2000, " " * 2000, "1" * 2000, "-" * 2000, "\n" * 2000, "aA1 _-" * 400,
    "字é\u0301🙂" * 400,
)  # fmt: skip
_SIZES: Final = ((64, 64), (224, 320), (32, 640))


class VLMBrain(Brain):
    """A model that answers a prompt, about a picture if it sees.

    Its tensors are those that transformers saves.
    """

    kind = "vlm"
    files: Mapping[str, str] = setting(doc="the text files of a Hugging Face model folder, by name")
    answers: tuple[str, ...] = setting((), doc="the answers to choose from; each is one token")

    @classmethod
    def check_tensors(
        cls, where: str, config: Mapping[str, Any], tensors: Mapping[str, TensorInfo]
    ) -> Mapping[str, int]:
        """Check neither names nor shapes: transformers does that when the model is loaded."""
        check_texts(where, config["files"])  # whose sentences say more about quantised tensors
        for name, info in tensors.items():
            if info.dtype not in FLOATS:
                raise BrainError(
                    f"{where}: tensor {short(name)} is {info}; expected one of {', '.join(FLOATS)}"
                )
        check_files(where, config["files"], tensors)
        return {}

    @property
    def model_type(self) -> str:
        """The name of its family in FAMILIES."""
        name: str = json.loads(self.files[CONFIG])["model_type"]
        return name

    @property
    def sees(self) -> bool:
        """True if the model is shown pictures."""
        return FAMILIES[self.model_type].sees

    @classmethod
    def memory_sizes(cls, tensors: Mapping[str, TensorInfo]) -> Mapping[str, int]:
        numbers, linear, rows = 0, 0, 0
        for name, info in tensors.items():
            numbers += math.prod(info.shape)
            if len(info.shape) == 2 and not any(part in name for part in _UNQUANTIZED):
                linear += math.prod(info.shape)
                rows += info.shape[0]
        sizes = {precision: numbers * size for precision, size in BYTES.items()}
        others = (numbers - linear) * BYTES["bf16"]
        # a scale for each row, or for each block of a row
        sizes["int8"] = others + linear + 4 * rows
        sizes["nf4"] = others + linear // 2 + 4 * (linear // _BLOCK)
        return sizes

    @classmethod
    def of_folder(cls, folder: Path, answers: tuple[str, ...] = ()) -> Self:
        """Return the brain from a folder of transformers' `save_pretrained`.

        Raises BrainError if its model is not supported.
        """
        files: dict[str, str] = {}
        for name in FILES:
            if (folder / name).is_file():
                files[name] = (folder / name).read_text("utf-8")
        check_texts(str(folder), files)  # before a large model is read that cannot be loaded
        paths = weight_files(folder)
        size = sum(path.stat().st_size for path in paths)
        if size > model_budget():
            raise BrainError(
                f"{folder} has {megabytes(size)} of weights, which are read into memory, and "
                f"models may take {megabytes(model_budget())} (half of the memory, unless "
                f"{MODELS_VARIABLE} says otherwise); pack it on a machine with more, or raise that"
            )
        tensors: dict[str, np.ndarray] = {}
        for path in paths:
            tensors |= _read_weights(path)
        return cls(tensors, files=files, answers=answers)


def weight_files(folder: Path) -> list[Path]:
    """Return the files with the weights of a folder: those that its index names, or else
    model.safetensors, or else all that end in .safetensors.

    Raises BrainError if the index is damaged, or names a file that is missing.
    """
    index = folder / f"{WEIGHTS}.index.json"
    if not index.is_file():
        whole = folder / WEIGHTS
        if whole.is_file():
            return [whole]
        return [path for path in sorted(folder.glob("*.safetensors")) if path.is_file()]
    try:
        names = sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
        is_index = all(is_plain_name(name) for name in names)  # never out of the folder
    except (ValueError, LookupError, TypeError, AttributeError):
        is_index = False
    if not is_index:
        raise BrainError(f"{index} is not an index of weights; fetch it again")
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise BrainError(
            f"{folder}: {missing[0]} is missing, one of {len(names)} files with weights that "
            f"{index.name} names; fetch it again"
        )
    return [folder / name for name in names]


def _read_weights(path: Path) -> dict[str, np.ndarray]:
    """Return the tensors of a file by name. Raises BrainError."""
    from safetensors import SafetensorError, safe_open

    tensors: dict[str, np.ndarray] = {}
    try:
        with safe_open(path, "pt") as weights:
            for name in weights.keys():  # noqa: SIM118 - no dict
                tensors[name] = as_array(weights.get_tensor(name))
    except (SafetensorError, KeyError) as error:
        raise BrainError(
            f"{path} is damaged, or not whole: {text_of(error)}; fetch or save it again"
        ) from None
    for name, array in tensors.items():
        if not is_finite(array):
            raise BrainError(
                f"{path}: tensor {short(name)} contains infinity or NaN; a model with it answers "
                "nothing"
            )
    return tensors


def load_pretrained(ref: BrainRef, placement: Placement | None = None) -> Pretrained:
    """Load a model with transformers from this one file.

    A file that does not come with Minibrains is tried out first, once, in a process with limits,
    because its text files could use up all time or memory.

    Args:
        ref: Its file.
        placement: Where it computes, and in which type of numbers; None: in f32 on the processor.

    Raises:
        BrainError: The model does not fit its configuration, or failed its trial.
    """
    placement = placement or place("cpu", "f32")
    path = Path(ref.file)
    brain = VLMBrain.load(path)
    header = read_header(path)
    family = check_files(ref.file, brain.files, header.tensors)
    is_ours = brain.ref is not None and brain.ref.sha256 in OURS
    frame = None
    if not is_ours:
        frame = _tried(path, brain.files, header.tensors)
    silence_transformers()
    with _in_a_sentence(path), _folder(brain.files) as folder:
        if placement.precision == "nf4" and placement.device.type == "cpu":
            _check_blocks(path, folder, family, placement)
        _link(path, folder / WEIGHTS)
        model, faults = _load_model(folder, family, placement)
        processor = load_processor(folder, family)
        # the model's own template, which is a program, is not run here
        frame = frame or find_frame(processor, family.sees)
        processor.chat_template = frame.template(family.sees)
    for fault, meaning in _FAULTS.items():
        names: list[str] = []
        for key in faults.get(fault) or ():
            names.append(key if isinstance(key, str) else key[0])  # or a tuple with both shapes
        if names:
            raise BrainError(
                f"{path}: tensor {short(min(names))} {meaning} ({len(names)} such tensors in all); "
                "expected weights and configuration of one model: fetch or save it again"
            )
    asked_by = family.asked_by
    if family.faster is not None and placement.is_usual:
        asked_by = family.faster
    if not placement.is_quantized:
        model = model.to(placement.device)
    return asked_by(model.requires_grad_(False).eval(), processor)


def weights_of(model: Any) -> Mapping[str, torch.Tensor]:
    """Return a model's weights under the names that they have in its file, which for some families
    are those of older versions of transformers.
    """
    from transformers.core_model_loading import revert_weight_conversion

    weights: Mapping[str, torch.Tensor] = revert_weight_conversion(model, model.state_dict())
    return weights


def empty_model(brain: VLMBrain) -> Any:
    """Return the model of a brain without its values, to look at its layers.

    Raises BrainError if transformers cannot make it.
    """
    family = FAMILIES[brain.model_type]
    silence_transformers()
    with _in_a_sentence(), _folder(brain.files) as folder:
        return _empty_model(folder, family)


# -- the trial -------------------------------------------------------------------------------------


def _tried(path: Path, files: Mapping[str, str], tensors: Mapping[str, TensorInfo]) -> Frame:
    """Return the text around a question, from a trial.

    Raises BrainError if the model's text files fail it.
    """
    shapes = {name: [info.dtype, *info.shape] for name, info in tensors.items()}
    everything = json.dumps([dict(files), shapes], sort_keys=True)
    try:
        frame = try_out(
            hashlib.sha256(everything.encode()).hexdigest(), try_files, dict(files), tensors
        )
    except MinibrainsError as error:
        raise BrainError(f"{path}: it was tried out and refused: {error}") from None
    return Frame(*frame)


def try_files(files: Mapping[str, str], tensors: Mapping[str, TensorInfo]) -> Frame:
    """Make everything of a model except its weights, and read some pictures and texts.

    Args:
        files: The model's text files.
        tensors: The shapes of its weights.

    Returns:
        The text that its chat template puts around a question.

    Raises:
        BrainError: A part cannot be made, or is too large.
    """
    family = check_files("the model", files, tensors)
    file_size = sum(info.end - info.start for info in tensors.values())
    silence_transformers()
    with _in_a_sentence(), _folder(files) as folder:
        # its parts
        _check_numbers(folder, family, file_size)
        _check_growth(files["tokenizer.json"])
        processor = load_processor(folder, family)
        frame = find_frame(processor, family.sees)
        processor.chat_template = frame.template(family.sees)

        # pictures and texts, odd ones too
        pretrained: Pretrained = TextModel(None, processor)
        if family.sees:
            pretrained = Pretrained(None, processor)
            _check_pictures(pretrained)
        for text in _ODD_TEXTS:
            tokens = pretrained.tokenizer(text)["input_ids"]
            pretrained.tokenizer.decode(tokens)
    return frame


def _check_numbers(folder: Path, family: Family, file_size: int) -> None:
    """Make the model without values, and count its parameters.

    Raises BrainError if they are too many for `file_size` bytes.
    """
    model = _empty_model(folder, family)
    tensors = [*model.parameters(), *model.buffers()]
    numbers = sum(tensor.numel() for tensor in tensors)
    if numbers > file_size + _ROOM:  # each takes two bytes in a file, but may be used in two places
        raise BrainError(
            f"its configuration is of a model of {numbers} numbers, "
            f"and its file has {file_size} bytes of them"
        )


def _empty_model(folder: Path, family: Family) -> Any:
    """Return a model without values."""
    import torch
    import transformers

    kind = getattr(transformers, family.model)
    config = kind.config_class.from_pretrained(folder, **OFFLINE)
    with torch.device("meta"):
        return kind._from_config(config, attn_implementation=family.attention)


def _check_pictures(pretrained: Pretrained) -> None:
    """Read pictures of several sizes. Raises BrainError if their inputs are too large."""
    from PIL import Image

    for height, width in _SIZES:
        inputs = pretrained.read(np.asarray(Image.new("RGB", (width, height))), "what now?")
        size = sum(tensor.nbytes for tensor in inputs.values())
        if size > _LARGEST_INPUT:
            raise BrainError(
                f"a picture of {width} x {height} becomes {size} bytes; "
                f"expected at most {_LARGEST_INPUT}"
            )


def _check_growth(tokenizer: str) -> None:
    """Check how much longer a text may become on its way to tokens or back. Raises BrainError."""
    growth = 1
    parts = json.loads(tokenizer)
    waiting: list[Any] = [parts.get("normalizer"), parts.get("decoder")]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting.extend(part.get("normalizers") or ())
            waiting.extend(part.get("decoders") or ())
            if part.get("type") == "Replace":
                growth *= max(1, len(part["content"]))
    if growth > _LARGEST_GROWTH:
        raise BrainError(
            f"its tokenizer makes up to {growth} characters of one; "
            f"expected at most {_LARGEST_GROWTH}"
        )


@contextmanager
def _in_a_sentence(path: Path | None = None) -> Iterator[None]:
    """Turn whatever transformers and its libraries raise, not always an Exception,
    into a BrainError.
    """
    where = ""
    if path is not None:
        where = f"{path}: "
    try:
        yield
    except (KeyboardInterrupt, MemoryError, BrainError):
        raise
    except BaseException as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an error of the disk, not of the model
        if missing_package(error):
            raise  # an error of this installation
        message = " ".join(str(error).split())
        raise BrainError(
            f"{where}transformers cannot load it: {message or type(error).__name__}"[:1000]
        ) from None


# -- with transformers -----------------------------------------------------------------------------


def silence_transformers() -> None:
    """Silence transformers and what it imports: errors are reported in a sentence by the caller."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    # it would say what it lacks when it is imported, and for each layer that it computes in another
    # type than that of the inputs
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)


@contextmanager
def _folder(files: Mapping[str, str]) -> Iterator[Path]:
    """Make a temporary folder with a model's text files, which transformers can read."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text, "utf-8")
        generation = json.loads(files.get(GENERATION, "{}"))
        tokens = {key: value for key, value in generation.items() if key in TOKENS}
        (folder / GENERATION).write_text(json.dumps(tokens))
        yield folder


def _load_model(folder: Path, family: Family, placement: Placement) -> Any:
    """Return the model, and the tensors that its file lacks or has in excess.

    Weights that are quantised are on their device then, the others on the processor.
    """
    import transformers

    kind = getattr(transformers, family.model)
    quantized: dict[str, Any] = {}
    if placement.is_quantized:
        quantized = {
            "quantization_config": _quantization(placement),
            "device_map": {"": str(placement.device)},
        }
    return kind.from_pretrained(
        folder,
        dtype=placement.dtype,
        attn_implementation=family.attention,
        ignore_mismatched_sizes=True,
        output_loading_info=True,
        **quantized,
        **OFFLINE,
    )


def _quantization(placement: Placement) -> Any:
    """Return how transformers quantises the weights of a model that it loads."""
    import transformers

    return transformers.BitsAndBytesConfig(
        load_in_8bit=placement.precision == "int8",
        load_in_4bit=placement.precision == "nf4",
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=placement.dtype,
    )


def _check_blocks(path: Path, folder: Path, family: Family, placement: Placement) -> None:
    """Check, before a model is loaded, that the rows of all weights that will have 4 bits consist
    of whole blocks, as bitsandbytes needs them on a processor. Raises BrainError.
    """
    from bitsandbytes.nn.modules import Linear4bit
    from transformers.quantizers import AutoHfQuantizer

    model = _empty_model(folder, family)
    quantizer = AutoHfQuantizer.from_config(_quantization(placement), pre_quantized=False)
    quantizer.preprocess_model(model, device_map=None)
    for name, layer in model.named_modules():
        if isinstance(layer, Linear4bit) and layer.in_features % _BLOCK:
            raise BrainError(
                f"{path}: {name} has {layer.in_features} inputs, and in nf4 a processor computes "
                f'with multiples of {_BLOCK}; set precision to "int8"'
            )


def load_processor(folder: Path, family: Family) -> Any:
    """Return the processor, without its part for videos, which needs torchvision and is not used
    here; for a model that does not see, the tokenizer.
    """
    import PIL  # noqa: F401 - transformers would report in its own words that it is missing
    import transformers
    from transformers.video_processing_utils import VideoProcessorMixin

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **OFFLINE)
    if not family.sees:
        return tokenizer
    kind = getattr(transformers, family.processor)
    # unchanged, it would refuse the placeholder of the video processor
    unchecked: Any = type(
        kind.__name__,
        (kind,),
        {"check_argument_for_proper_class": lambda self, name, part: type(part)},
    )
    parts = {
        "tokenizer": tokenizer,
        "image_processor": transformers.AutoImageProcessor.from_pretrained(
            folder, backend="pil", **OFFLINE
        ),
        "video_processor": VideoProcessorMixin(),
    }
    settings, _ = kind.get_processor_dict(folder, **OFFLINE)
    settings.setdefault("chat_template", tokenizer.chat_template or family.template)
    in_order = [parts[name] for name in kind.get_attributes()]
    return unchecked.from_args_and_dict(in_order, settings)


def _link(file: Path, name: Path) -> None:
    try:
        name.symlink_to(file.absolute())
    except OSError:  # the user may not create links here
        shutil.copyfile(file, name)


def title_of(ref: BrainRef) -> str:
    """Return the title of a model, for people."""
    return read_header(Path(ref.file)).metadata.get("title") or Path(ref.file).name
