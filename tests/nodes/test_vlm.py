"""VLMStrategist and LoRALoader: the same numbers as transformers and PEFT,
and nothing but sentences for what is not a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from PIL import Image

from minibrains import ABSENT, Absent, BrainError, ColorFrame, MinibrainsError, Node, Number, Text
from minibrains.brain_file import read_header
from minibrains.engine.engine import Engine
from minibrains.errors import WorkflowError
from minibrains.files import bundled_dir
from minibrains.loading import MODEL_CACHE, BrainRef
from minibrains.tensors import as_array, as_tensor
from minibrains.testing import opened
from nodes.language.answering import Answer, Probabilities
from nodes.language.asking import Pretrained
from nodes.language.lora import Adapter, LoraAdapter, LoRALoader, merged
from nodes.language.pretrained import VLMBrain, load_pretrained
from nodes.language.prompt import PromptTemplate
from nodes.language.qwen3_vl_fast import FastQwen3VL
from nodes.language.vlm import VLMStrategist
from tests.support.engine_fixtures import Entries, FakeHost, make_plan
from tests.support.thinking_nodes import Clock

MODELS = bundled_dir("models")
FILE, LORA = (
    MODELS / "vlm/sf2-untrained.safetensors",
    MODELS / "lora_adapter/sf2-untrained.safetensors",
)
BRAIN, ADAPTER = VLMBrain.load(FILE), LoraAdapter.load(LORA)
IMAGE = np.random.default_rng(1).integers(0, 256, (96, 128, 3), np.uint8)
PROMPT = PromptTemplate.load(MODELS / "prompt_template/sf2.safetensors").template


pytestmark = pytest.mark.usefixtures("tried_here")


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where it is kept which models were tried out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINIBRAINS_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def pretrained() -> Pretrained:
    assert BRAIN.ref is not None
    return load_pretrained(BRAIN.ref)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, dict[str, torch.Tensor]]:
    """Model, tokenizer and inputs as one makes them with transformers alone, from a folder."""
    from transformers import PreTrainedTokenizerFast, Qwen3VLForConditionalGeneration
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("model")
    for name, text in BRAIN.files.items():
        (folder / name).write_text(text)
    tensors = {name: as_tensor(array) for name, array in BRAIN.tensors.items()}
    safetensors.torch.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    model = Qwen3VLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    picture = Qwen2VLImageProcessorPil.from_pretrained(folder)(IMAGE, return_tensors="pt")
    pads = "<|image_pad|>" * (96 // 32 * 128 // 32)
    turn = f"<|vision_start|>{pads}<|vision_end|>{PROMPT}"
    text = f"<|im_start|>user\n{turn}<|im_end|>\n<|im_start|>assistant\n"
    inputs = dict(tokenizer(text, return_tensors="pt"))
    kinds = (inputs["input_ids"] == model.config.image_token_id).int()
    return model, tokenizer, {**inputs, **picture, "mm_token_type_ids": kinds}


def _ask(*adapters: Adapter, answer: Any = "choose", **widgets: Any) -> Answer:
    node = VLMStrategist(brain=BRAIN, answer=answer, **widgets)
    with opened(node):
        return node.tick(IMAGE, PROMPT, list(adapters))


def _linked(brain: LoraAdapter = ADAPTER, weight: float = 1.0) -> Adapter:
    return LoRALoader(brain=brain, weight=weight).tick()


def _shares(answer: Answer) -> list[float]:
    assert answer.probabilities is not ABSENT
    return list(answer.probabilities.values())


def _check_equal(found: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> None:
    """Equal bit by bit; `found` may hold more tensors than are expected."""
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


def _each(key: str, entries: list[dict[str, Any]]) -> list[Any]:
    return [entry[key] for entry in entries]


# -- answers ---------------------------------------------------------------------------------------


def test_it_reads_as_transformers_does(pretrained: Pretrained, plain: Any) -> None:
    inputs = pretrained.read(IMAGE, PROMPT)
    assert inputs.keys() == plain[2].keys()
    for name, tensor in plain[2].items():
        assert inputs[name].tolist() == tensor.tolist(), name
    assert pretrained.processor.decode(inputs["input_ids"][0]).count(PROMPT) == 1, (
        "the tokenizer loses nothing"
    )
    message = {
        "role": "user",
        "content": [
            {"type": "image", "image": Image.fromarray(IMAGE)},
            {"type": "text", "text": PROMPT},
        ],
    }
    whole = pretrained.processor.apply_chat_template(
        [message], add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    assert inputs.keys() == whole.keys()
    _check_equal(inputs, whole)


@pytest.mark.parametrize("answer", ["choose", "generate"])
@pytest.mark.parametrize("marker", ["<|image_pad|>", "<|video_pad|>"])
def test_a_marker_in_the_question_is_no_second_picture(marker: str, answer: Any) -> None:
    node = VLMStrategist(brain=BRAIN, answer=answer)
    with (
        opened(node),
        pytest.raises(MinibrainsError, match=r"contains <\|\w+_pad\|>, which stands for a picture"),
    ):
        node.tick(IMAGE, f"what is {marker}?", [])


@pytest.mark.parametrize(
    ("height", "width"), [(96, 128), (64, 32), (90, 128), (32, 20), (1, 100), (800, 960)]
)
def test_pictures_of_any_size_are_read_as_transformers_does(
    pretrained: Pretrained, height: int, width: int
) -> None:
    random = np.random.default_rng(2)
    for _ in range(3):  # from the second on it knows whether this size needs scaling
        image = random.integers(0, 256, (height, width, 3), np.uint8)
        expected = pretrained.processor.image_processor(
            [Image.fromarray(image)], return_tensors="pt"
        )
        assert {"pixel_values", "image_grid_thw"} <= expected.keys()
        _check_equal(pretrained.read(image, PROMPT), expected)


def test_choosing_is_one_softmax_over_the_answers(pretrained: Pretrained, plain: Any) -> None:
    model, tokenizer, inputs = plain
    with torch.inference_mode():
        logits = model(**inputs).logits
        ours = pretrained.model(**pretrained.read(IMAGE, PROMPT)).logits
    assert torch.allclose(ours, logits, atol=1e-5), (
        "but for the order in which patches and norms are summed up"
    )
    tokens = [tokenizer.convert_tokens_to_ids(answer) for answer in BRAIN.answers]
    expected = torch.softmax(logits[0, -1, tokens], 0)
    answer = _ask()
    assert np.allclose(_shares(answer), expected, atol=1e-6)
    assert (answer.text, answer.tokens) == (
        BRAIN.answers[int(expected.argmax())],
        inputs["input_ids"].shape[1],
    )
    assert answer.confidence == max(_shares(answer))
    with torch.inference_mode():
        read = pretrained.read(IMAGE, PROMPT)
        plain_logits = pretrained.model(**read, logits_to_keep=1).logits[0, -1]
        for _ in range(2):  # the second time it knows the layout
            asked = pretrained.next_logits(pretrained.model, read)
            assert torch.allclose(asked, plain_logits, atol=1e-5), (
                "of the last layer only the last token is worked out"
            )
    assert not isinstance(answer.probabilities, Absent)
    assert answer.probabilities.keys() == set(BRAIN.answers) == {"0", "1", "2", "3", "6", "9", "21"}


def test_what_the_picture_says_to_deeper_layers_is_not_lost(pretrained: Pretrained) -> None:
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    config = pretrained.model.config.to_dict()
    vision = {**config["vision_config"], "depth": 3, "deepstack_visual_indexes": [0, 2]}
    torch.manual_seed(0)
    model = Qwen3VLForConditionalGeneration(
        Qwen3VLConfig(**{**config, "vision_config": vision})
    ).eval()
    read = pretrained.read(IMAGE, PROMPT)
    with torch.inference_mode():
        expected = model(**read).logits[0, -1]
        for asked_by in (Pretrained, FastQwen3VL):
            asked = asked_by(model, pretrained.processor)
            assert torch.allclose(asked.next_logits(model, read), expected, atol=1e-5)
        model.model.visual.deepstack_merger_list[0].linear_fc2.weight.mul_(9)
        assert not torch.allclose(model(**read).logits[0, -1], expected, atol=1e-3)


def test_generating_is_greedy_and_stops_at_the_limit(plain: Any) -> None:
    model, tokenizer, inputs = plain
    asked = inputs["input_ids"].shape[1]
    for max_tokens in (1, 12):
        with torch.inference_mode():
            tokens = model.generate(**inputs, do_sample=False, max_new_tokens=max_tokens)[0, asked:]
        expected = tokenizer.decode(tokens, skip_special_tokens=True)
        assert _ask(answer="generate", max_tokens=max_tokens) == Answer(
            expected, asked, ABSENT, ABSENT
        )
    assert VLMStrategist(brain=BRAIN).max_tokens == 50


def test_an_answer_of_several_tokens_cannot_be_chosen(tmp_path: Path) -> None:
    brain = VLMBrain(BRAIN.tensors, files=BRAIN.files, answers=("9", "wait 9"))
    brain.save(tmp_path / "vlm.safetensors", title="t", made_by="test")
    brain = VLMBrain.load(tmp_path / "vlm.safetensors")
    with (
        pytest.raises(BrainError, match=r"'wait 9' is \d tokens"),
        opened(VLMStrategist(brain=brain, answer="choose")),
    ):
        pass
    with opened(VLMStrategist(brain=brain)):
        pass


def test_a_model_that_has_nothing_to_choose_from_generates(tmp_path: Path) -> None:
    VLMBrain(BRAIN.tensors, files=BRAIN.files).save(
        tmp_path / "vlm.safetensors", title="t", made_by="test"
    )
    silent = VLMBrain.load(tmp_path / "vlm.safetensors")
    node = VLMStrategist(brain=silent, answer="choose", max_tokens=4)
    with opened(node) as host:
        assert node.tick(IMAGE, PROMPT, []) == _ask(answer="generate", max_tokens=4)
    assert host.messages == [
        "the brain names no answers to choose from, so the model generates them"
    ]


# -- adapters --------------------------------------------------------------------------------------


def test_an_adapter_changes_the_answer_and_leaves_the_model_as_it_is() -> None:
    before = _shares(_ask())
    changed = _shares(_ask(_linked()))
    assert max(abs(np.subtract(changed, before))) > 0.01
    assert _shares(_ask(_linked(weight=0.0))) == pytest.approx(before, abs=1e-6)
    assert _shares(_ask(_linked(weight=0.25), _linked(weight=0.75))) == pytest.approx(
        changed, abs=1e-5
    )
    assert _shares(_ask(_linked(weight=0.5))) != pytest.approx(changed, abs=1e-3)
    assert _shares(_ask()) == before


FIRST = next(iter(sorted(ADAPTER.tensors))).removesuffix(".lora_A.weight")
MODULE = FIRST.removeprefix("base_model.model.")


def _rank_two() -> dict[str, np.ndarray]:
    """The change, with a first module of rank 2."""
    a, b = f"{FIRST}.lora_A.weight", f"{FIRST}.lora_B.weight"
    return {**ADAPTER.tensors, a: ADAPTER.tensors[a][:2], b: ADAPTER.tensors[b][:, :2]}


def _other() -> dict[str, np.ndarray]:
    return {name: array[::-1].copy() for name, array in ADAPTER.tensors.items()}


def _in_bf16(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: as_array(as_tensor(array).bfloat16()) for name, array in tensors.items()}


def _saved(tensors: Mapping[str, np.ndarray], adapter: Mapping[str, Any], folder: Path) -> BrainRef:
    """A folder as PEFT saves an adapter; its tensors are the brain that it becomes."""
    settings = {**ADAPTER.adapter, **adapter}
    file = folder / "adapter_model.safetensors"
    folder.mkdir()
    brain = LoraAdapter(
        tensors, adapter=settings, base=ADAPTER.base, base_sha256=ADAPTER.base_sha256
    )
    brain.save(file, title="t", made_by="test")
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    return BrainRef(str(file), "")


@pytest.mark.parametrize(
    ("adapters", "weights"),
    [
        ([(ADAPTER.tensors, {})], [1.0]),
        ([(ADAPTER.tensors, {"use_rslora": True})], [-0.7]),
        (
            [
                (
                    _rank_two(),
                    {"rank_pattern": {MODULE: 2}, "alpha_pattern": {MODULE: 5, "o_proj": 3.5}},
                )
            ],
            [1.0],
        ),
        ([(ADAPTER.tensors, {}), (_other(), {"lora_alpha": 3})], [0.3, 1.6]),
        ([(_in_bf16(ADAPTER.tensors), {})], [1.0]),
    ],
    ids=["one", "rank-stabilized", "patterns", "two", "bf16"],
)
@pytest.mark.filterwarnings(
    "ignore:.*is_gradient_checkpointing:FutureWarning"
)  # of PEFT's own question to the model
def test_adapters_are_merged_bit_for_bit_as_peft_merges_them(
    adapters: Any, weights: list[float], pretrained: Pretrained, tmp_path: Path
) -> None:
    from peft import PeftModel
    from peft.tuners.lora import LoraLayer

    refs: list[BrainRef] = []
    for place, adapter in enumerate(adapters):
        tensors, changes = adapter
        refs.append(_saved(tensors, changes, tmp_path / str(place)))
    theirs = load_pretrained(BRAIN.ref).model  # type: ignore[arg-type]
    for place, weight in enumerate(weights):
        changed = PeftModel.from_pretrained(theirs, tmp_path / str(place))
        for layer in changed.modules():
            if isinstance(layer, LoraLayer):
                layer.scale_layer(weight)
        theirs = changed.merge_and_unload(safe_merge=True)
    before = {name: tensor.clone() for name, tensor in pretrained.model.state_dict().items()}
    ours = merged(pretrained.model, list(zip(refs, weights, strict=True)))
    expected, found = theirs.state_dict(), ours.state_dict()
    assert found.keys() == expected.keys()
    _check_equal(found, expected)
    after = pretrained.model.state_dict()
    _check_equal(after, before)
    changed_weights = 0
    for name, tensor in before.items():
        if torch.equal(found[name], tensor):
            assert found[name].data_ptr() == after[name].data_ptr(), "shared"
        else:
            changed_weights += 1
    assert changed_weights == len(ADAPTER.tensors) / 2


def test_an_adapter_for_another_model_is_refused_with_both_names(tmp_path: Path) -> None:
    other = LoraAdapter(
        ADAPTER.tensors, adapter=ADAPTER.adapter, base="A larger one", base_sha256="0" * 64
    )
    other.save(tmp_path / "lora.safetensors", title="t", made_by="test")
    link = _linked(LoraAdapter.load(tmp_path / "lora.safetensors"))
    with pytest.raises(
        BrainError,
        match=(
            r"lora\.safetensors .* 'A larger one' .* 'Qwen3-VL of 2.1 million numbers, "
            r"untrained'"
        ),
    ):
        _ask(link)


def test_with_the_weight_0_an_adapter_may_be_for_another_model(tmp_path: Path) -> None:
    other = LoraAdapter(
        ADAPTER.tensors, adapter=ADAPTER.adapter, base="A larger one", base_sha256="0" * 64
    )
    other.save(tmp_path / "lora.safetensors", title="t", made_by="test")
    link = _linked(LoraAdapter.load(tmp_path / "lora.safetensors"), weight=0.0)
    assert _ask(link) == _ask()


def _without(name: str) -> dict[str, np.ndarray]:
    return {key: array for key, array in ADAPTER.tensors.items() if not key.startswith(name)}


def _odd(number: float) -> np.ndarray:
    """The first half of the first change, with one number in it that is none."""
    array = ADAPTER.tensors[f"{FIRST}.lora_A.weight"].copy()
    array[0, 0] = number
    return array


def _named_otherwise() -> dict[str, np.ndarray]:
    """The same change, of a module that the model does not have."""
    tensors = _without(FIRST)
    for half in "AB":
        tensors[f"base_model.model.other_proj.lora_{half}.weight"] = ADAPTER.tensors[
            f"{FIRST}.lora_{half}.weight"
        ]
    return tensors


def _narrow() -> dict[str, np.ndarray]:
    """A first change of a layer that takes fewer numbers."""
    return {
        **ADAPTER.tensors,
        f"{FIRST}.lora_A.weight": ADAPTER.tensors[f"{FIRST}.lora_A.weight"][:, :5],
    }


def _large() -> dict[str, np.ndarray]:
    """A change that is larger than a number can be."""
    return {name: np.full(array.shape, 3e38, np.float32) for name, array in ADAPTER.tensors.items()}


@pytest.mark.parametrize(
    ("tensors", "adapter", "sentence"),
    [
        ({**ADAPTER.tensors, "weight": np.zeros((2, 2), np.float32)}, {}, "tensor 'weight'"),
        (_without(f"{FIRST}.lora_B"), {}, "not two matrices of one rank"),
        (
            {**ADAPTER.tensors, f"{FIRST}.lora_A.weight": np.zeros((3, 8), np.float32)},
            {},
            "not two matrices of one rank",
        ),
        (ADAPTER.tensors, {"peft_type": "IA3"}, "expected peft_type LORA"),
        (ADAPTER.tensors, {"megatron_config": {"a": 1}}, "'megatron_config'"),
        (
            ADAPTER.tensors,
            {"target_modules": ["q_proj"]},
            r"'model\..*_proj' has tensors, but is not among",
        ),
        (
            ADAPTER.tensors,
            {"target_modules": [r"(.*.*.*)*_proj"]},
            "expected plain names of modules",
        ),
        (ADAPTER.tensors, {"target_modules": [3]}, "has 3; expected plain names of modules"),
        (
            ADAPTER.tensors,
            {"rank_pattern": {r"(.*.*.*)*X": 4}},
            "rank_pattern has .*; expected numbers by the plain names",
        ),
        (
            ADAPTER.tensors,
            {"rank_pattern": {"q_proj": "4"}},
            "'q_proj': '4'; expected numbers by the plain names of modules",
        ),
        (
            ADAPTER.tensors,
            {"alpha_pattern": [1]},
            "alpha_pattern is .*; expected numbers by the names of modules",
        ),
        (ADAPTER.tensors, {"r": "4"}, "r is '4'; expected a whole number from 1"),
        (ADAPTER.tensors, {"r": 8}, r"the tensors of 'model.*' are of rank 4; the adapter says 8"),
        (ADAPTER.tensors, {"lora_alpha": {"a": 1}}, "lora_alpha is .*; expected a number"),
        (
            {**ADAPTER.tensors, f"{FIRST}.lora_A.weight": _odd(np.nan)},
            {},
            "contains infinity or NaN",
        ),
        (
            {**ADAPTER.tensors, f"{FIRST}.lora_A.weight": _odd(np.inf)},
            {},
            "contains infinity or NaN",
        ),
        (
            _in_bf16({**ADAPTER.tensors, f"{FIRST}.lora_A.weight": _odd(np.nan)}),
            {},
            "contains infinity or NaN",
        ),
        (
            _in_bf16({**ADAPTER.tensors, f"{FIRST}.lora_A.weight": _odd(-np.inf)}),
            {},
            "contains infinity or NaN",
        ),
    ],
)
def test_what_is_no_plain_lora_is_a_sentence(tensors: Any, adapter: Any, sentence: str) -> None:
    with pytest.raises(BrainError, match=sentence):
        LoraAdapter(tensors, adapter={**ADAPTER.adapter, **adapter}, base="b", base_sha256="0" * 64)


def test_a_folder_without_an_adapter_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        BrainError,
        match=r"adapter_config\.json is missing; expected the files that PEFT's save_pretrained",
    ):
        LoraAdapter.of_folder(tmp_path, BrainRef("model", ""))


def test_an_expression_for_modules_is_never_looked_at(tmp_path: Path) -> None:
    """Which modules it meant is seen from the tensors;
    this one would take longer than anybody waits.
    """
    hostile = {**ADAPTER.adapter, "target_modules": "(.*.*.*.*.*.*.*.*.*.*.*.*)*X"}
    brain = LoraAdapter(
        ADAPTER.tensors, adapter=hostile, base=ADAPTER.base, base_sha256=ADAPTER.base_sha256
    )
    brain.save(tmp_path / "lora.safetensors", title="t", made_by="test")
    changed = _ask(_linked(LoraAdapter.load(tmp_path / "lora.safetensors")))
    assert _shares(changed) == _shares(_ask(_linked()))


@pytest.mark.parametrize(
    ("tensors", "adapter", "sentence"),
    [
        (
            _named_otherwise(),
            {},
            r"it changes 'other_proj', and the model has no linear layer of that name",
        ),
        (_large(), {"target_modules": None}, "it gives infinity or NaN"),
        (
            _narrow(),
            {},
            r"its change of 'model.* is \d+ x 5; the model's weights there are \d+ x \d+",
        ),
    ],
)
def test_an_adapter_that_does_not_fit_its_model_is_a_sentence(
    tensors: Any, adapter: Any, sentence: str, tmp_path: Path
) -> None:
    brain = LoraAdapter(
        tensors, adapter={**ADAPTER.adapter, **adapter}, base=ADAPTER.base,
        base_sha256=ADAPTER.base_sha256
    )  # fmt: skip
    brain.save(tmp_path / "lora.safetensors", title="t", made_by="test")
    with pytest.raises(BrainError, match=sentence):
        _ask(_linked(LoraAdapter.load(tmp_path / "lora.safetensors")))


class Shows(Node):
    """The same picture and question on every tick."""

    def tick(self, number: Number) -> ColorFrame:
        return IMAGE


class Asks(Node):
    def tick(self, number: Number) -> Text:
        return PROMPT


class Hears(Node):
    """Keeps what it was told."""

    def open(self, host: Any) -> None:
        self.all: list[list[float]] = []

    def tick(self, probabilities: Probabilities) -> None:
        self.all.append(list(probabilities.values()))


def test_weight_and_brain_of_an_adapter_change_between_two_ticks(tmp_path: Path) -> None:
    stronger = {name: array * np.float16(2) for name, array in ADAPTER.tensors.items()}
    other = LoraAdapter(
        stronger, adapter=ADAPTER.adapter, base=ADAPTER.base, base_sha256=ADAPTER.base_sha256
    )
    for name, adapter in (("lora", ADAPTER), ("other", other)):
        adapter.save(tmp_path / name, title=name, made_by="test")
    (tmp_path / "vlm").write_bytes(FILE.read_bytes())
    stranger = LoraAdapter(stronger, adapter=ADAPTER.adapter, base="another", base_sha256="0" * 64)
    stranger.save(tmp_path / "stranger", title="stranger", made_by="test")

    def plan(brain: str, weight: float) -> Any:
        entries: Entries = {
            "clock": {"type": "Clock@1"},
            "shows": {"type": "Shows@1", "in": {"number": "clock.number"}},
            "asks": {"type": "Asks@1", "in": {"number": "clock.number"}},
            "lora": {"type": "LoRALoader@1", "set": {"weight": weight}, "brain": brain},
            "strategist": {
                "type": "VLMStrategist@2", "set": {"answer": "choose"}, "brain": "vlm",
                "in": {"image": "shows.frame", "prompt": "asks.text", "adapters": ["lora.adapter"]},
            },
            "hears": {"type": "Hears@1", "in": {"probabilities": "strategist.probabilities"}},
        }  # fmt: skip
        return make_plan(entries, [Clock, Shows, Asks, Hears, LoRALoader, VLMStrategist], tmp_path)

    def host(runtime: Any, engine: Any) -> Any:
        return FakeHost(runtime, engine)

    engine = Engine(plan("lora", 1.0))
    try:
        engine.open(host)
        engine.reset(0, 0)
        loads = MODEL_CACHE.loads
        engine.advance(2)
        strategist = engine.nodes["strategist"]
        for brain, weight in (("lora", 0.5), ("other", 0.5), ("lora", 1.0)):
            assert MODEL_CACHE.loads == loads, "no thought waits until an adapter is merged"
            edit = engine.prepare(plan(brain, weight), None, host)
            loads = MODEL_CACHE.loads
            engine.edits.append(edit)
            engine.advance(1)
            assert engine.finish_edit(edit) == []
            engine.advance(1)
        with pytest.raises(WorkflowError, match="lora was made for, 'another'"):
            plan("stranger", 1.0)
        assert engine.nodes["strategist"] is strategist
        heard = engine.nodes["hears"].all
    finally:
        assert engine.close() == []
    first, second, half, _, double, _, again, last = [*heard[:2], *heard[3:], heard[-1]][:8]
    assert first == second
    assert half != pytest.approx(first, abs=1e-3)
    assert double != pytest.approx(half, abs=1e-3)
    assert again == last == first


# -- files -----------------------------------------------------------------------------------------


def _files(**changed: str | None) -> dict[str, str]:
    return _there({**BRAIN.files, **changed})


def _there(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Without those that are None."""
    return {name: entry for name, entry in entries.items() if entry is not None}


CONFIG = json.loads(BRAIN.files["config.json"])
WRONG: dict[str, tuple[dict[str, str], str]] = {
    "no tokenizer": (_files(**{"tokenizer.json": None}), r"tokenizer\.json is missing"),
    "another family": (
        _files(**{"config.json": '{"model_type": "llama"}'}),
        r"'llama' cannot be loaded yet; expected qwen3_vl",
    ),
    "SmolVLM2": (
        _files(**{"config.json": '{"model_type": "smolvlm"}'}),
        r"SmolVLM2, whose processor needs the packages torchvision and num2words, .* \(idefics3\)",
    ),
    "quantised": (
        _files(**{"config.json": json.dumps({**CONFIG, "quantization_config": {"bits": 4}})}),
        "its weights are quantised .* take the model as its authors trained it, in bf16, or ask",
    ),
    "code": (
        _files(**{"config.json": json.dumps({**CONFIG, "auto_map": {"AutoModel": "m.M"}})}),
        "not allowed",
    ),
    "another model": (
        _files(**{"processor_config.json": '{"audio_tokenizer": {}}'}),
        r"another model .*not allowed",
    ),
    "a file of code": (
        _files(**{"modeling.py": "1"}),
        r"'modeling\.py' is not a supported model file",
    ),
    "a path": (_files(**{"../config.json": "{}"}), "is not a supported model file"),
    "no JSON": (_files(**{"config.json": "{"}), r"config\.json is not JSON"),
    "too deep": (_files(**{"config.json": "[" * 10**5}), r"config\.json is not JSON"),
    "no object": (_files(**{"generation_config.json": "[]"}), "not a JSON object"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_model_is_a_sentence(case: str) -> None:
    files, sentence = WRONG[case]
    with pytest.raises(BrainError, match=sentence):
        VLMBrain(BRAIN.tensors, files=files)


def test_tensors_that_are_no_weights_are_a_sentence() -> None:
    with pytest.raises(BrainError, match=r"'odd' is u8\[2\]; expected one of f32, f16, bf16"):
        VLMBrain({"odd": np.zeros(2, np.uint8)}, files=BRAIN.files)


NORM = "model.language_model.norm.weight"


@pytest.mark.parametrize(
    ("changed", "files", "sentence"),
    [
        ({NORM: None}, {}, f"tensor '{NORM}' is not in the file"),
        ({"odd": np.zeros(2, np.float32)}, {}, "tensor 'odd' is not part of the model"),
        ({NORM: np.zeros(64, np.float16)}, {}, f"tensor '{NORM}' has another shape in the file"),
        ({}, {"tokenizer.json": "{}"}, "transformers cannot load it"),
    ],
)
def test_a_model_that_is_not_whole_is_a_sentence(
    changed: Any, files: Any, sentence: str, tmp_path: Path
) -> None:
    tensors = _there({**BRAIN.tensors, **changed})
    VLMBrain(tensors, files=_files(**files)).save(tmp_path / "vlm", title="t", made_by="test")
    with pytest.raises(BrainError, match=sentence):
        load_pretrained(BrainRef(str(tmp_path / "vlm"), ""))


def test_a_hugging_face_folder_becomes_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bf16 and in several files, as large models come;
    the one file may be named as seen from here.
    """
    folder = tmp_path / "folder"
    halves = {name: as_tensor(array).bfloat16() for name, array in BRAIN.tensors.items()}
    folder.mkdir()
    for name, text in BRAIN.files.items():
        (folder / name).write_text(text)
    items = list(halves.items())
    safetensors.torch.save_file(dict(items[::2]), folder / "model-0.safetensors")
    safetensors.torch.save_file(dict(items[1::2]), folder / "model-1.safetensors")
    VLMBrain.of_folder(folder).save(tmp_path / "vlm", title="t", made_by="test")
    for info in read_header(tmp_path / "vlm").tensors.values():
        assert info.dtype == "bf16"
    monkeypatch.chdir(tmp_path)
    weights = load_pretrained(BrainRef("vlm", "")).model.state_dict()
    assert torch.equal(weights[NORM], halves[NORM].float())
    assert weights[NORM].dtype == torch.float32


@pytest.mark.slow
def test_a_header_has_room_for_a_large_tokenizer(tmp_path: Path) -> None:
    """That of Gemma 3 has 33 MB; a quotation mark in it is four characters in the header."""
    tokenizer = '  "word": 12345,\n' * 1_950_000
    brain = VLMBrain(BRAIN.tensors, files=_files(**{"tokenizer.json": tokenizer}))
    brain.save(tmp_path / "vlm", title="t", made_by="test")
    assert VLMBrain.load(tmp_path / "vlm").files["tokenizer.json"] == tokenizer


def test_the_shipped_model_is_small_and_says_that_it_is_untrained() -> None:
    assert FILE.stat().st_size < 8e6
    numbers = sum(array.size for array in BRAIN.tensors.values())
    assert 2.0e6 < numbers < 2.2e6
    assert "untrained" in read_header(FILE).metadata["title"]


# -- the graph -------------------------------------------------------------------------------------


ANSWERS = '''
from collections.abc import Mapping
from typing import Any

from minibrains import ABSENT, ColorFrame, Host, Text
from nodes.language.lora import AdapterLink
from nodes.language.answering import Answer
from nodes.language.vlm import VLMStrategist


class Answers(VLMStrategist):
    """Knows one answer, and needs no model for it."""

    def open(self, host: Host) -> None:
        pass

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        pass

    def tick(self, image: ColorFrame, prompt: Text, adapters: list[AdapterLink]) -> Answer:
        return Answer("9", 1, ABSENT, ABSENT)
'''
HANGS = '''
import threading
from collections.abc import Mapping
from typing import Any

from minibrains import Absent, ColorFrame, Host, Text
from nodes.language.lora import AdapterLink
from nodes.language.answering import Answer
from nodes.language.vlm import VLMStrategist
from minibrains import ABSENT


class Hangs(VLMStrategist):
    """Answers twice, and never again."""

    def open(self, host: Host) -> None:
        self.left = [2]

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        pass

    def tick(self, image: ColorFrame, prompt: Text, adapters: list[AdapterLink]) -> Answer:
        if not self.left[0]:
            threading.Event().wait()
        self.left[0] -= 1
        return Answer("9", 1, ABSENT, ABSENT)
'''


def _logged(file: Path) -> list[dict[str, Any]]:
    """What a Log wrote down: "episode", "tick" and "value"."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_strategist_that_hangs_costs_its_time_limit_once_and_the_fight_goes_on(
    summary: Callable[..., dict[str, Any]], minibrains: Callable[..., Any], tmp_path: Path
) -> None:
    workflow = json.loads((bundled_dir("workflows") / "sf2_ram_text.json").read_text())
    workflow["nodes"]["strategist"] |= {"type": "hangs.Hangs@1", "timeout": 1.0}
    workflow["nodes"]["text"] = {"type": "Log@1", "in": {"value": "strategist.text"}}
    (tmp_path / "sf2_ram_text.json").write_text(json.dumps(workflow))
    (tmp_path / "hangs.py").write_text(HANGS)
    result = summary(
        "./sf2_ram_text.json", "--pack", "hangs.py", "--ticks", 150, "--episodes", 2, "--record"
    )
    assert _each("ticks", result["episodes"]) == [150, 150]
    node = result["nodes"]["strategist"]
    assert (node["runs"], node["errors"]) == (10, 8)
    assert node["first_error"] == "it took longer than its time limit of 1 s"
    assert _each("fallback", _each("parse_methods", result["episodes"])) == [3, 5]
    (log,) = tmp_path.rglob("text.jsonl")
    assert _each("value", _logged(log)) == ["9", "9", *[""] * 8]
    replayed = minibrains("replay", result["run_dir"], "--pack", "hangs.py")
    assert replayed.returncode == 0, replayed.stderr


def test_each_answer_of_a_strategist_that_continues_is_acted_on_once(
    summary: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    workflow = json.loads((bundled_dir("workflows") / "sf2_ram_text.json").read_text())
    workflow["nodes"]["strategist"] |= {
        "type": "answers.Answers@1",
        "busy": "continue",
        "latency": 5,
    }
    workflow["nodes"]["sent"] = {"type": "Log@1", "in": {"value": "gate.action"}}
    (tmp_path / "sf2_ram_text.json").write_text(json.dumps(workflow))
    (tmp_path / "answers.py").write_text(ANSWERS)
    result = summary("./sf2_ram_text.json", "--pack", "answers.py", "--ticks", 300)
    assert result["nodes"]["strategist"]["runs"] == 10
    assert sum(result["episodes"][0]["parse_methods"].values()) == 10
    (log,) = tmp_path.rglob("sent.jsonl")
    assert _each("tick", _logged(log)) == list(range(5, 300, 30)), (
        "no answer comes to a closed gate"
    )


@pytest.mark.slow
def test_sf2_plays_decides_by_the_clock_and_is_the_same_again(
    summary: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    first = summary("sf2_ram_text", "--ticks", 300)
    assert first["game"] == "Duel-Genesis"
    for name in ("strategist", "tiles", "overlay", "view", "features"):
        assert first["nodes"][name]["runs"] == 10, name
    assert 0 < first["episodes"][0]["unknown_tiles"] < 0.5
    workflow = json.loads((bundled_dir("workflows") / "sf2_ram_text.json").read_text())
    links = {"answer": "strategist.probabilities", "sent": "gate.action"}
    for name, link in links.items():
        workflow["nodes"][name] = {"type": "Log@1", "in": {"value": link}}
    workflow["nodes"]["strategist"]["background"] = "process"
    (tmp_path / "logged.json").write_text(json.dumps(workflow))
    again = summary("./logged.json", "--ticks", 300)
    assert again["actions_sha256"] == first["actions_sha256"], (
        "it is no matter where the model thinks"
    )
    (folder,) = tmp_path.glob("runs/*-logged")
    asked = _each("tick", _logged(folder / "answer.jsonl"))
    assert asked == list(range(0, 300, 30)) == _each("tick", _logged(folder / "sent.jsonl"))
