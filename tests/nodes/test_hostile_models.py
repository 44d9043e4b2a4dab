"""What a stranger's model can do with its text files: be refused in a sentence,
in bounded time and memory, and once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minibrains import BrainError
from minibrains.brain_file import hash_file
from minibrains.disk_cache import DiskCache, Made
from minibrains.files import bundled_dir
from minibrains.loading import BrainRef
from minibrains.process import trial
from nodes.language.model_files import REFUSED
from nodes.language.pretrained import OURS, VLMBrain, load_pretrained

BRAIN = VLMBrain.load(bundled_dir("models") / "vlm/sf2-untrained.safetensors")
CONFIG = json.loads(BRAIN.files["config.json"])
TOKENIZER = json.loads(BRAIN.files["tokenizer.json"])
TEMPLATE = BRAIN.files["chat_template.jinja"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))


def _model(**files: str) -> VLMBrain:
    return VLMBrain(BRAIN.tensors, files={**BRAIN.files, **files}, answers=BRAIN.answers)


def _saved(folder: Path, **files: str) -> BrainRef:
    path = folder / "vlm.safetensors"
    _model(**files).save(path, title="hostile", made_by="a test")
    return BrainRef(str(path), "")


# -- before anything is made -----------------------------------------------------------------------


@pytest.mark.parametrize("key", REFUSED)
@pytest.mark.parametrize(
    "part",
    ["config.json", "text_config", "a list", "tokenizer_config.json", "generation_config.json"],
)
def test_a_key_that_names_code_or_kernels_is_refused(key: str, part: str) -> None:
    odd: dict[str, Any] = {key: "kernels-community/flash-attn2"}
    if part == "text_config":
        file, config = "config.json", {**CONFIG, "text_config": {**CONFIG["text_config"], **odd}}
    elif part == "a list":
        file, config = "config.json", {**CONFIG, "parts": [[odd]]}
    elif part == "config.json":
        file, config = part, {**CONFIG, **odd}
    else:
        file, config = part, odd
    with pytest.raises(BrainError, match=rf"{file} asks for .* \({key}\), which is not allowed"):
        _model(**{file: json.dumps(config)})


@pytest.mark.parametrize(
    ("part", "key", "claim", "sentence"),
    [
        (
            "text_config",
            "num_hidden_layers",
            10**6,
            "num_hidden_layers is 1000000, and the tensors .*layers. are of 2",
        ),
        ("vision_config", "depth", 10**6, "vision_config.depth is 1000000"),
        ("text_config", "vocab_size", 10**9, "text_config.vocab_size is 1000000000"),
        (
            "vision_config",
            "num_position_embeddings",
            10**10,
            "num_position_embeddings is 10000000000",
        ),
        (
            "text_config",
            "num_labels",
            10**9,
            "num_labels is 1000000000, and no tensor of such a model is of labels",
        ),
        ("text_config", "num_hidden_layers", "many", "num_hidden_layers is 'many'"),
    ],
)
def test_a_size_that_the_tensors_do_not_have_is_refused(
    part: str, key: str, claim: Any, sentence: str
) -> None:
    with pytest.raises(BrainError, match=sentence):
        _model(**{"config.json": json.dumps({**CONFIG, part: {**CONFIG[part], key: claim}})})


# -- when it is tried out --------------------------------------------------------------------------


def _template(text: str) -> dict[str, str]:
    return {"chat_template.jinja": TEMPLATE + text}


def _tokenizer(**changed: Any) -> dict[str, str]:
    return {"tokenizer.json": json.dumps({**TOKENIZER, **changed})}


def _text_config(**changed: Any) -> dict[str, str]:
    return {
        "config.json": json.dumps({**CONFIG, "text_config": {**CONFIG["text_config"], **changed}})
    }


def _pictures(**changed: Any) -> dict[str, str]:
    return {
        "preprocessor_config.json": json.dumps(
            {**json.loads(BRAIN.files["preprocessor_config.json"]), **changed}
        )
    }


ENDLESS = "a loop without end"
GROWS = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}
BROKEN = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
HOSTILE: dict[str, tuple[dict[str, str], str]] = {
    ENDLESS: (
        _template("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"),
        "takes more than 6 s of processor time",
    ),
    "a text without end": (
        _template(
            "{% set n = namespace(t='x') %}{% for i in range(50) %}{% set n.t = "
            "n.t + n.t %}{% endfor %}"
        ),
        "needs more than 4 GiB of memory",
    ),
    "a long text": (_template("{{ '%100000d' % 1 }}"), "puts 10.* characters around a question"),
    "a text that depends on the question": (
        _template("{% if 'Flee' in messages[0].content[1].text %}{{ '9' }}{% endif %}"),
        "does more to a question than to put something before and after it",
    ),
    "a text that is not a template": (_template("{% if %}"), "transformers cannot load it"),
    "a tokenizer that panics": (_tokenizer(normalizer=BROKEN), "transformers cannot load it"),
    "a tokenizer that grows": (
        _tokenizer(normalizer={"type": "Sequence", "normalizers": [GROWS] * 3}),
        "makes up to 1000000000 characters of one",
    ),
    "large matrices": (
        _text_config(intermediate_size=10**8),
        ("is of a model of .* numbers, and its file has"),
    ),
    "pictures made large": (
        _pictures(size={"shortest_edge": 10**9, "longest_edge": 10**10}),
        "memory",
    ),
}
NEED_A_PROCESS = (ENDLESS, "a text without end", "a tokenizer that panics", "pictures made large")
"""The cases that only the limits of a process stop, or that write to its standard error."""


@pytest.mark.slow
@pytest.mark.parametrize("case", HOSTILE)
def test_a_model_that_asks_for_too_much_is_refused_in_a_sentence_and_once(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    files, sentence = HOSTILE[case]
    if case not in NEED_A_PROCESS:
        request.getfixturevalue("tried_here")
    # the others take their time on a busy machine
    monkeypatch.setattr(trial, "SECONDS", 6 if case == ENDLESS else 600)
    ref = _saved(tmp_path, **files)
    with pytest.raises(
        BrainError, match=rf"vlm\.safetensors: it was tried out and refused: .*{sentence}"
    ):
        load_pretrained(ref)
    with _no_trial(), pytest.raises(BrainError, match=sentence):
        load_pretrained(ref)


@pytest.mark.slow
def test_a_sound_model_is_tried_out_once(tmp_path: Path) -> None:
    files = _template("{# another text, that says the same #}")
    first = load_pretrained(_saved(tmp_path, **files))
    with _no_trial():
        second = load_pretrained(_saved(tmp_path, **files))
    assert first.processor.chat_template == second.processor.chat_template


def test_the_verdict_on_another_model_is_not_taken_for_its_own(
    tmp_path: Path, tried_here: None
) -> None:
    cache = tmp_path / "home" / "cache"
    sound = _saved(tmp_path, **_template("{# another text, that says the same #}"))
    load_pretrained(sound)
    (verdict,) = cache.iterdir()
    kept = verdict.read_bytes()
    other = _saved(tmp_path, **_template("{{ messages[0]['content'][1]['text'] | upper }}"))
    with pytest.raises(BrainError, match="tried out and refused"):
        load_pretrained(other)
    (refused,) = set(cache.iterdir()) - {verdict}
    refused.write_bytes(kept)
    with pytest.raises(BrainError, match="tried out and refused"):
        load_pretrained(other)
    DiskCache(cache).put(refused.name, Made({"refused": 1}, 0.0))
    with pytest.raises(BrainError, match="tried out and refused"):
        load_pretrained(other)


def test_the_shipped_models_are_known_by_their_hash() -> None:
    files = (bundled_dir("models") / "vlm").glob("*.safetensors")
    assert {hash_file(file) for file in files} == OURS


def test_a_model_of_ours_is_not_tried_out() -> None:
    assert BRAIN.ref is not None
    with _no_trial():
        load_pretrained(BRAIN.ref)


def test_a_template_that_strips_questions_is_kept(tmp_path: Path, tried_here: None) -> None:
    template = TEMPLATE.replace("part.text", "part.text | trim")
    asked = load_pretrained(_saved(tmp_path, **{"chat_template.jinja": template})).processor
    content = [{"type": "image"}, {"type": "text", "text": "  what\n now? \n"}]
    shown = asked.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
    )
    assert shown == (
        "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>what\n "
        "now?<|im_end|>\n<|im_start|>assistant\n"
    )


@contextmanager
def _no_trial() -> Iterator[None]:
    """Within it nothing may be tried out."""

    def refuse(*arguments: Any, **named: Any) -> None:
        raise AssertionError("it was tried out once more")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "_verdict", refuse)
        yield
