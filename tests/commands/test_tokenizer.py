"""The shipped model's tokenizer: its tokens are words of a language,
and a person may ask in other words.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from minibrains.files import bundled_dir
from nodes.language.pretrained import VLMBrain
from nodes.language.prompt import PromptTemplate
from server.commands.make_brains.questions import random_questions
from server.commands.make_brains.tokenizer import ACTIONS, VOCABULARY

FILE = VLMBrain.load(bundled_dir("models") / "vlm/sf2-untrained.safetensors").files[
    "tokenizer.json"
]
TOKENIZER = Tokenizer.from_str(FILE)
SHIPPED = PromptTemplate.load(bundled_dir("models") / "prompt_template/sf2.safetensors")
SPECIAL = {token["content"] for token in json.loads(FILE)["added_tokens"]}
PIECE = re.compile(r"[^\W\d_]+|\d|[^\w\s]|_")
"""A word, a digit or a sign."""
WORDINGS = [
    """\
Two warriors clash in the picture above and one of them obeys you. \
It gazes {facing}, it is {own_status}, and {own_hp}% of
its strength remains. The other one is {enemy_status} with {enemy_hp}% left, \
{distance} px apart from yours ({band}).
Earlier moments: {history}
A wise old master suggests: {strategy}
What would you like to do? Reply using just a number: 0 rest, 1 leap, 2 duck, 3 go left, \
6 go right, 9 fist, 21 foot.""",
    """\
Fighting game bot. Life {own_hp} vs {enemy_hp}, {advantage}. \
Gap {distance}, {band}. Facing {facing}.
Mine: {own_status}; theirs: {enemy_status}.
Before: {history}
Tip: {strategy}
Give one action id (0 idle, 1 hop, 2 low, 3 left, 6 right, 9 hand, 21 leg).""",
    """\
Please act as a very careful boxer who would rather lose some ground than be struck. \
If you have {own_hp} points and the
rival has {enemy_hp}, consider whether {advantage} is comfortable enough. \
He stays {distance} pixels away, which people
call {band}, and he is {enemy_status} while you are {own_status}, turned to the {facing}.
The latest events were: {history}
Our plan for such a distance: {strategy}
Tell me which of the seven moves 0, 1, 2, 3, 6, 9, 21 is the safest.""",
    """\
Be ruthless! Crush that clown before the bell rings, no excuses. \
You: {own_hp} hp, {own_status}. Victim: {enemy_hp} hp,
{enemy_status}, {distance} px to your {facing}. {strategy} {history} \
Smash which button? Only its number counts.""",
    """\
The image is one frame of a match. \
Work out silently where both players are and what each intends, then write down a
single integer without explanation. \
Facts that you can trust: health {own_hp} and {enemy_hp}; {advantage}; separation
{distance}; zone {band}; view {facing}; poses {own_status} and {enemy_status}. \
Notes about previous steps: {history}.
Guideline: {strategy}.""",
]
"""The same question as a person might put it; none of these stands in the corpus."""


def _tokens(text: str) -> list[str]:
    return TOKENIZER.encode(text).tokens


def _tokens_a_piece(template: str) -> float:
    """Return how many tokens a question's words, digits and signs are on average."""
    prompt = PromptTemplate(
        template=template, close=SHIPPED.close, mid=SHIPPED.mid, far=SHIPPED.far
    )
    questions = "\n".join(random_questions(prompt, 20, np.random.default_rng(7)))
    return len(_tokens(questions)) / len(PIECE.findall(questions))


@pytest.mark.parametrize("wording", WORDINGS)
def test_a_prompt_in_other_words_is_hardly_longer(wording: str) -> None:
    shipped_prompt = _tokens_a_piece(SHIPPED.template)
    assert shipped_prompt < 1.25
    assert _tokens_a_piece(wording) < 1.5 * shipped_prompt
    assert _tokens_a_piece(wording) < 1.5


def test_no_token_has_parts_of_two_words() -> None:
    vocabulary = TOKENIZER.get_vocab()
    assert len(vocabulary) == VOCABULARY
    decoded = [
        TOKENIZER.decode([number]) for token, number in vocabulary.items() if token not in SPECIAL
    ]
    spanning = [text for text in decoded if text != "\n" and " " in text[1:]]
    assert spanning == [], "a space is only ever at the beginning"
    mixed = [text for text in decoded if re.search(r"\w[^\w']|[^\W\d_]\d|\d[^\W\d_]", text)]
    assert mixed == []


@given(st.text(max_size=300))
def test_no_text_is_lost(text: str) -> None:
    tokens = TOKENIZER.encode(text, add_special_tokens=False).ids
    assert TOKENIZER.decode(tokens, skip_special_tokens=False) == text


def test_every_action_is_one_token_wherever_it_stands() -> None:
    for action in range(ACTIONS):
        assert _tokens(str(action)) == [str(action)]
        assert _tokens(f"press {action}, now")[-3:] == [f"Ġ{action}", ",", "Ġnow"]


@given(st.integers(ACTIONS, 10**12))
def test_other_numbers_are_told_digit_by_digit(number: int) -> None:
    digits = [*str(number)]
    assert _tokens(str(number)) == digits
    assert _tokens(f"{number}kicks")[: len(digits)] == digits
    assert _tokens(f"a {number}%")[1:-1] == [f"Ġ{digits[0]}", *digits[1:]]


@pytest.mark.slow
def test_it_is_trained_the_same_in_another_process_and_on_more_threads() -> None:
    program = (
        "from server.commands.make_brains.tokenizer import train_tokenizer\n"
        "print(train_tokenizer().backend_tokenizer.to_str(), end='')"
    )
    for threads in ("1", "3"):
        environment = {
            "RAYON_NUM_THREADS": threads,
            "PYTHONHASHSEED": threads,
            "PYTHONPATH": ":".join(sys.path),
        }
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout)["model"] == json.loads(FILE)["model"]
