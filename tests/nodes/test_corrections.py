"""Labels of a data set are corrected and samples deleted; everything can be taken back."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from minibrains.brain_file import hash_file
from minibrains.errors import DataError
from minibrains.games.splits import HELD_BACK, Splits
from nodes.training.data_set import DataSet
from nodes.training.episode_file import Sample
from nodes.training.examples import hash_data
from tests.support.data_sets import INFO, rewrite, samples, write

KEY = INFO.key


def written(folder: Path) -> DataSet:
    """A data set of two episodes of three samples, with labels 0, 1, 2 on ticks 0, 10, 20."""
    for episode in range(2):
        write(folder, episode=episode, trajectory_sha256=f"{episode:064x}")
    data = DataSet(folder)
    data.write_card()
    return data


def read(data: DataSet, key: str = KEY) -> list[Sample]:
    infos = {info.key: info for info in data.episodes()}
    columns = data.read(infos[key])
    return [columns.sample(row) for row in range(len(columns))]


def test_a_label_is_corrected(tmp_path: Path) -> None:
    data = written(tmp_path)
    before = hash_data(data, data.episodes())
    data.correct({KEY: {10: 2}})

    first, second, third = samples()
    assert read(data) == [first, second._replace(action=2), third]
    assert hash_data(data, data.episodes()) != before
    assert data.label_by_tick(KEY) == {0: 0, 10: 2, 20: 2}


def test_the_second_best_action_is_not_the_label_too(tmp_path: Path) -> None:
    data = written(tmp_path)
    assert read(data)[0].second == 2
    data.correct({KEY: {0: 2}})
    assert (read(data)[0].action, read(data)[0].second) == (2, None)

    data.correct({KEY: {0: 1}})
    assert (read(data)[0].action, read(data)[0].second) == (1, 2)


def test_samples_are_deleted_and_brought_back(tmp_path: Path) -> None:
    data = written(tmp_path)
    data.correct({KEY: {0: None, 10: None}})
    assert [sample.tick for sample in read(data)] == [20]
    assert data.label_by_tick(KEY) == {0: None, 10: None, 20: 2}

    data.correct({KEY: {10: 0}})
    _, second, third = samples()
    assert read(data) == [second._replace(action=0), third]


def test_an_episode_with_its_original_labels_is_the_file_that_it_was(tmp_path: Path) -> None:
    data = written(tmp_path)
    before = hash_file(data.path_of(KEY))
    data.correct({KEY: {0: None, 20: 1}})
    assert hash_file(data.path_of(KEY)) != before

    data.correct({KEY: {0: 0, 20: 2}})
    assert hash_file(data.path_of(KEY)) == before
    assert not list((tmp_path / ".originals").iterdir())


def test_the_same_corrections_make_the_same_file(tmp_path: Path) -> None:
    one, other = written(tmp_path / "one"), written(tmp_path / "other")
    one.correct({KEY: {0: 1, 10: None}})
    for labels in ({10: None}, {0: 2}, {0: 1}):
        other.correct({KEY: labels})
    assert hash_file(one.path_of(KEY)) == hash_file(other.path_of(KEY))


def test_an_episode_without_samples_has_no_file_and_is_not_collected_again(tmp_path: Path) -> None:
    data = written(tmp_path)
    data.correct({KEY: dict.fromkeys((0, 10, 20))})
    assert [info.episode for info in data.episodes()] == [1]
    assert data.has(KEY)

    data.write(INFO, samples())  # by a run that began before
    assert not data.path_of(KEY).exists()
    assert data.names() == sorted([KEY, replace(INFO, episode=1).key])

    data.correct({KEY: {20: 2}})
    assert [sample.tick for sample in read(data)] == [20]


def test_a_run_does_not_replace_what_was_corrected(tmp_path: Path) -> None:
    data = written(tmp_path)
    data.correct({KEY: {10: 2}})
    data.write(INFO, samples())
    assert data.label_by_tick(KEY)[10] == 2


def test_the_card_counts_what_is_left(tmp_path: Path) -> None:
    data = written(tmp_path)
    data.correct({KEY: {0: None, 10: 2}})
    card = (tmp_path / "README.md").read_text()
    assert card == data.card()
    assert "| samples | 5 |" in card
    assert "| episodes corrected by hand | 1 |" in card
    assert "| 2 | punch | 3 | 60.0 % |" in card

    for key in data.names():
        data.correct({key: dict.fromkeys((0, 10, 20))})
    assert not (tmp_path / "README.md").exists()


def test_who_reads_an_episode_that_was_changed_meanwhile_is_told(tmp_path: Path) -> None:
    data = written(tmp_path)
    (info, _) = data.episodes()
    data.correct({KEY: {10: 2}})
    with pytest.raises(DataError, match="was replaced while it was being used; begin again"):
        data.read(info)


def test_a_sample_is_read_alone_even_if_it_was_deleted(tmp_path: Path) -> None:
    data = DataSet(tmp_path)
    many = samples(230)
    data.write(replace(INFO, samples=230), many)
    data.correct({KEY: {1500: None}})
    for row in (0, 99, 100, 150, 229):
        assert data.sample(KEY, 10 * row) == many[row]
        assert data.picture(KEY, 10 * row) == many[row].picture
    with pytest.raises(DataError, match=r"has no sample of the tick 5$"):
        data.sample(KEY, 5)


@pytest.mark.parametrize(
    ("corrections", "message"),
    [
        ({"other": {0: 1}}, "has no episode 'other'"),
        ({"../other": {0: 1}}, "has no episode '../other'"),
        ({KEY: {5: 1}}, "has no sample of the tick 5$"),
        ({KEY: {0: 3}}, "the label is 3; expected 0 to 2"),
        ({KEY: {0: -1}}, "the label is -1; expected 0 to 2"),
    ],
)
def test_what_is_wrong_changes_nothing(
    tmp_path: Path, corrections: dict[str, dict[int, int | None]], message: str
) -> None:
    data = written(tmp_path)
    before = hash_data(data, data.episodes())
    right = replace(INFO, episode=1).key
    with pytest.raises(DataError, match=message):
        data.correct({right: {0: 1}, **corrections})
    assert hash_data(data, data.episodes()) == before


def test_an_episode_that_is_held_back_is_not_corrected(tmp_path: Path) -> None:
    splits = Splits.named("Duel-Genesis")
    assert splits is not None
    _, sha256 = next(iter(splits.parts[HELD_BACK].items()))
    data = written(tmp_path)
    rewrite(data.path_of(KEY), lambda columns, about: about.update(state_sha256=sha256))
    held_back = data.path_of(KEY).read_bytes()

    for use in (data.sample, data.picture):
        with pytest.raises(DataError, match="is held back"):
            use(KEY, 0)
    with pytest.raises(DataError, match="is held back"):
        data.correct({KEY: {0: 1}})
    assert data.path_of(KEY).read_bytes() == held_back


def _correct(folder: Path, tick: int) -> None:
    data = DataSet(folder)
    for label in (1, 0, 2, 1):
        data.correct({KEY: {tick: label}})


def _collect(folder: Path) -> None:
    for episode in range(2, 12):
        write(folder, episode=episode)


@pytest.mark.slow
def test_processes_that_write_and_correct_lose_nothing(tmp_path: Path) -> None:
    data = written(tmp_path)
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_correct, args=(tmp_path, tick)) for tick in (0, 10)]
    workers.append(spawn.Process(target=_collect, args=(tmp_path,)))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0

    assert data.label_by_tick(KEY) == {0: 1, 10: 1, 20: 2}
    assert len(data.episodes()) == 12
    data.write_card()
    assert "| samples | 36 |" in (tmp_path / "README.md").read_text()
