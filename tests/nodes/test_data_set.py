"""A data set: what is written can be read, also by others; what is damaged is refused by name."""

from __future__ import annotations

import io
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from minibrains.errors import DataError
from minibrains.files import bundled_dir
from minibrains.games.splits import HELD_BACK, Splits
from nodes.language.pretrained import VLMBrain, load_pretrained
from nodes.training.data_set import DataSet
from nodes.training.episode_file import NONE, EpisodeInfo, Sample, decode_picture, encode_picture
from tests.support.data_sets import ACTIONS, INFO, Change, picture, rewrite, samples, write
from tests.support.page_scripts import read_scripts


def _held_back() -> tuple[str, str]:
    splits = Splits.named("Duel-Genesis")
    assert splits is not None
    return next(iter(splits.parts[HELD_BACK].items()))


def _read_all(data: DataSet) -> list[tuple[EpisodeInfo, Sample]]:
    return list(data.samples())


def test_an_episode_is_read_as_it_was_written(tmp_path: Path) -> None:
    data = DataSet(tmp_path / "new")
    path = data.write(INFO, samples())
    assert path == data.path_of(INFO.key)
    assert data.has(INFO.key)
    assert data.episodes() == [INFO]
    assert [sample for _, sample in _read_all(data)] == samples()


def test_prompts_are_a_column_and_stay_with_corrected_samples(tmp_path: Path) -> None:
    data = DataSet(tmp_path)
    prompted = [sample._replace(prompt=f"At {sample.tick}?") for sample in samples()]
    info = replace(INFO, prompted=True)
    data.write(info, prompted)
    assert [sample for _, sample in _read_all(data)] == prompted

    data.correct({info.key: {0: 2, 10: None}})
    assert data.read(data.episodes()[0]).prompts == ["At 0?", "At 20?"]

    other = replace(INFO, seed=INFO.seed + 1)
    with pytest.raises(DataError, match="has a prompt, unlike the others; the episodes of a"):
        data.write(other, samples())
    with pytest.raises(DataError, match="row 0: the sample has no prompt, unlike others"):
        data.write(info, samples())


def test_a_prompt_that_is_missing_is_named(tmp_path: Path) -> None:
    prompted = [sample._replace(prompt="") for sample in samples()]
    with pytest.raises(DataError, match="row 0: the prompt is missing or empty"):
        DataSet(tmp_path).write(replace(INFO, prompted=True), prompted)


def test_probabilities_are_a_column_and_certain_where_people_correct(tmp_path: Path) -> None:
    data = DataSet(tmp_path)
    each = (0.5, 0.25, 0.25)
    weighed = [sample._replace(probabilities=each) for sample in samples()]
    info = replace(INFO, probabilities=True)
    data.write(info, weighed)
    assert [sample for _, sample in _read_all(data)] == weighed

    data.correct({info.key: {0: 2}})
    found = data.read(data.episodes()[0])
    assert found.probabilities.tolist() == [[0, 0, 1], list(each), list(each)]

    other = replace(INFO, seed=INFO.seed + 1)
    with pytest.raises(DataError, match="has probabilities, unlike the others; the episodes of a"):
        data.write(other, samples())
    with pytest.raises(DataError, match="row 0: the sample has no probabilities, unlike others"):
        data.write(info, samples())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((0.5, 0.25, 0.0), "the probabilities have the sum 0.75, expected 1"),
        ((1.5, -0.25, -0.25), "a probability is -0.25, expected 0 to 1"),
        ((float("nan"), 0.5, 0.5), "the probabilities have the sum nan, expected 1"),
        ((0.5, 0.5), "the samples cannot be written"),
    ],
)
def test_wrong_probabilities_are_refused(
    tmp_path: Path, wrong: tuple[float, ...], message: str
) -> None:
    weighed = [sample._replace(probabilities=wrong) for sample in samples()]
    with pytest.raises(DataError, match=message):
        DataSet(tmp_path).write(replace(INFO, probabilities=True), weighed)


def test_its_columns_are_arrays(tmp_path: Path) -> None:
    write(tmp_path)
    columns = DataSet(tmp_path).read(INFO)
    assert len(columns) == 3
    assert columns.ticks.tolist() == [0, 10, 20]
    assert columns.actions.tolist() == [0, 1, 2]
    assert columns.second_best.tolist() == [2, NONE, 2]
    assert columns.played.tolist() == [1, NONE, 1]
    assert columns.actionable.tolist() == [1, 0, 1]
    assert columns.features.tolist() == [[90.0, 176.0], [90.0, 175.0], [90.0, 174.0]]
    assert np.array_equal(columns.picture(2), picture(2))


def test_hugging_face_opens_it_with_its_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # it is read by the import
    import datasets

    write(tmp_path / "data")
    write(tmp_path / "data", episode=1, outcome="lost")
    DataSet(tmp_path / "data").write_card()
    cache = str(tmp_path / "cache")
    files = str(tmp_path / "data" / "*.parquet")
    opened = datasets.load_dataset("parquet", data_files=files, cache_dir=cache, split="train")
    assert isinstance(opened.features["picture"], datasets.Image)
    assert opened.features["action"].names == list(ACTIONS)
    assert len(opened) == 6
    row = opened[4]
    assert np.array_equal(np.asarray(row["picture"]), picture(1))
    assert (row["action"], row["second"], row["played"], row["tick"]) == (1, None, None, 10)
    assert row["features"] == {"enemy_hp": 90.0, "hp": 175.0}
    assert (row["outcome"], row["state"]) == ("lost", "Level4.KazeVsBron")
    folder = datasets.load_dataset(str(tmp_path / "data"), cache_dir=cache, split="train")
    assert len(folder) == 6, "the card says where the data is"


def test_the_script_of_the_page_makes_conversations_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # it is read by the import
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    write(tmp_path / ".minibrains/data/sf2-pictures")
    script = tmp_path / "conversations.py"
    script.write_text(read_scripts("data.md")["conversations.py"].text)
    runpy.run_path(str(script))
    rows = datasets.Dataset.from_parquet("conversations.parquet", cache_dir=str(tmp_path / "read"))
    model = VLMBrain.load(bundled_dir("models") / "vlm/sf2-untrained.safetensors")
    assert model.ref is not None
    processor = load_pretrained(model.ref).processor
    processor.chat_template = model.files["chat_template.jinja"]
    for number, row in enumerate(rows):
        assert np.array_equal(np.asarray(row["images"][0]), picture(number))
        text = processor.apply_chat_template(row["messages"], tokenize=False)
        assert text == (
            "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>You are on the left. "
            f"Which action?<|im_end|>\n<|im_start|>assistant\n{number}<|im_end|>\n"
        )


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_are_decoded_as_they_were(channels: int) -> None:
    pixels = picture(5)[:, :, :channels]
    assert np.array_equal(decode_picture(encode_picture(pixels)), pixels)


def test_the_card_counts(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, episode=1, outcome="lost", ticks=260, state="Level2.KazeVsBron")
    text = DataSet(tmp_path).write_card().read_text()
    assert "| episodes | 2, 1 distinct |" in text
    assert "| samples | 6 |" in text
    assert "| won | 1 |" in text
    assert "| hours of play | 0.00 |" in text
    assert "| 1 | kick | 2 | 33.3 % | 4 |" in text
    assert "| Level2.KazeVsBron | 1 | 3 | 0 |" in text


def test_a_data_set_of_the_user_is_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path))
    assert DataSet.named("duel").folder == tmp_path / "data/duel"
    with pytest.raises(DataError, match=r"'\.\./duel' cannot be the name of a data set"):
        DataSet.named("../duel")


def test_a_folder_without_episodes_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no episodes"):
        DataSet(tmp_path).episodes()


def test_unfinished_files_are_not_read(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / ".half.parquet.x1y2").write_bytes(b"PAR1")
    assert DataSet(tmp_path).episodes() == [INFO]


# -- what does not belong together


def test_another_game_is_named(tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.raises(DataError, match=rf"{path} is of the game 'Duel-Genesis', expected 'Pong'"):
        DataSet(tmp_path).episodes("Pong")


def test_another_action_table_is_shown_as_a_difference(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(DataError) as error:
        DataSet(tmp_path).episodes(actions=("wait", "throw", "punch", "block"))
    assert (
        "has another action table: action 1 is 'kick', expected 'throw', "
        "it has 3 actions, expected 4; take the file out" in str(error.value)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": "Pong"}, "is of the game 'Duel-Genesis', expected 'Pong'"),
        ({"actions": ("wait", "throw", "punch")}, "action 1 is 'kick', expected 'throw'"),
        ({"rom_sha1": "99" * 20}, "was played with the ROM abab.*, expected 9999"),
    ],
)
def test_what_does_not_belong_there_is_not_written(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    write(tmp_path)
    with pytest.raises(DataError, match=message):
        write(tmp_path, episode=1, **change)
    assert DataSet(tmp_path).episodes() == [INFO]


@pytest.mark.parametrize("known_by", ["name", "contents"])
def test_a_held_back_state_is_neither_written_nor_read(tmp_path: Path, known_by: str) -> None:
    name, sha256 = _held_back()
    change = {"state": name} if known_by == "name" else {"state_sha256": sha256}
    with pytest.raises(DataError, match=r"must not be learned from: the state .* is held back by"):
        write(tmp_path, **change)
    assert not list(tmp_path.iterdir())
    # a file that somebody else has made
    path = rewrite(write(tmp_path), lambda columns, about: about.update(change))
    with pytest.raises(DataError, match=rf"{path} must not be learned from"):
        DataSet(tmp_path).episodes()


def test_nor_is_one_made_by_writing_into_another(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="writing 'stage' makes another state"):
        write(tmp_path, written={"stage": 3})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": 3}, "row 0: action is 3, expected 0 to 2"),
        ({"played": -1}, "row 0: played is -1, expected 0 to 2"),
        ({"tick": 5}, "row 1: the tick 5 comes after 5"),
        ({"picture": b""}, "row 0: the picture is missing"),
        ({"picture": b"GIF89a"}, "row 0: the picture is damaged"),
        ({"features": {"hp": 1.0}}, "row 0: its features are hp; expected enemy_hp, hp"),
        ({"features": {"hp": float("nan"), "enemy_hp": 0.0}}, "row 0: the feature 'hp' is nan"),
        ({"action": 2**70}, "the samples cannot be written"),
    ],
)
def test_wrong_samples_are_not_written(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        DataSet(tmp_path).write(INFO, samples(**change))
    assert not list(tmp_path.iterdir())


# -- damaged files


def _damage_picture(columns: dict[str, Any], about: dict[str, Any]) -> None:
    png = columns["picture"][1]["bytes"]
    columns["picture"][1]["bytes"] = png[:-40] + bytes(40)


def _huge_picture(columns: dict[str, Any], about: dict[str, Any]) -> None:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("L", (5000, 10)).save(buffer, "png")
    columns["picture"][1]["bytes"] = buffer.getvalue()


def _cell(column: str, row: int, value: Any) -> Change:
    def change(columns: dict[str, Any], about: dict[str, Any]) -> None:
        columns[column][row] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_damage_picture, "row 1: the picture is damaged"),
        (_huge_picture, "row 1: the picture has 5000 by 10 pixels; expected at most 4096"),
        (_cell("picture", 2, None), "row 2: the picture is missing"),
        (_cell("action", 1, 9), "row 1: action is 9, expected 0 to 2"),
        (_cell("action", 1, None), "row 1: action is None, expected 0 to 2"),
        (_cell("tick", 2, 3), "row 2: the tick 3 comes after 10"),
        (_cell("state", 0, "x"), "row 0: state is 'x', but its metadata says 'Level4.KazeVsBron'"),
        (lambda columns, about: about.update(samples=4), "has 3 rows, but its metadata says 4"),
        (lambda columns, about: about.update(format=2), "its \"format\" is 2, expected 1"),
        (lambda columns, about: about.update(seed="3"), "'seed': expected int, found '3'"),
        (lambda columns, about: about.pop("game"), "'game' is missing"),
        (lambda columns, about: about.update(features=["hp"]), "has other columns than its meta"),
        (lambda columns, about: about.update(episode=5), "is the episode .*-00005; expected that"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_named_with_its_row(tmp_path: Path, change: Change, message: str) -> None:
    write(tmp_path)
    path = rewrite(write(tmp_path, episode=1), change)
    with pytest.raises(DataError, match=message) as error:
        _read_all(DataSet(tmp_path))
    assert str(error.value).startswith(str(path))


def test_a_file_of_somebody_else_is_named(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet has no metadata of Minibrains; expected"):
        DataSet(tmp_path).episodes()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write(tmp_path_factory.mktemp("whole")).read_bytes()


@given(data=st.data())
def test_any_damage_is_an_error_of_ours_or_changes_nothing(
    written: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    kind = data.draw(st.sampled_from(["bytes", "cut", "whole"]))
    damaged = bytearray(written)
    if kind == "bytes":
        places = st.integers(0, len(written) - 1)
        changes = data.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1))
        for place, value in changes:
            damaged[place] = value
    elif kind == "cut":
        del damaged[data.draw(st.integers(0, len(written) - 1)) :]
    else:
        damaged = bytearray(data.draw(st.binary(max_size=200)))
    folder = tmp_path_factory.mktemp("damaged", numbered=True)
    DataSet(folder).path_of(INFO.key).write_bytes(damaged)
    try:
        found = _read_all(DataSet(folder))
    except DataError as error:
        assert str(folder) in str(error)  # noqa: PT017 - it may also be read
    else:
        assert [sample for _, sample in found] == samples()


def _names() -> st.SearchStrategy[str]:
    """Names of variables that an episode may begin with."""
    splits = Splits.named("Duel-Genesis")
    assert splits is not None
    decisive = splits.decided_by
    return st.text(max_size=5).filter(lambda name: name not in decisive)


@given(
    levels=st.lists(st.integers(0, 200), min_size=1, max_size=5),
    seconds=st.lists(st.none() | st.integers(0, 2), min_size=5, max_size=5),
    written_values=st.dictionaries(_names(), st.integers(-(2**63), 2**63 - 1)),
    score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_episode_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    levels: list[int],
    seconds: list[int | None],
    written_values: dict[str, int],
    score: float | None,
) -> None:
    made: list[Sample] = []
    for row, level in enumerate(levels):
        (sample,) = samples(1, tick=row, picture=encode_picture(picture(level)))
        made.append(sample._replace(second=seconds[row]))
    data = DataSet(tmp_path_factory.mktemp("episode", numbered=True))
    info = replace(INFO, written=written_values, score=score, samples=len(made))
    data.write(info, made)
    assert _read_all(data) == [(info, sample) for sample in made]
