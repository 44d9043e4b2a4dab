"""Data sets over HTTP: samples are looked at, corrected, and brains are asked about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minibrains.brain_file import hash_file
from minibrains.games.splits import HELD_BACK, Splits
from nodes.training.data_set import DataSet
from nodes.training.episode_file import EpisodeInfo
from tests.support.data_sets import ACTIONS, INFO, rewrite, samples, write
from tests.support.fights import write_fights, write_untrained_policy
from tests.support.service_fixtures import Json, Server, Talk, serving
from tests.support.timeouts import TIMEOUT
from tests.support.tiny_vlm import save_model


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder, of this process and of the server."""
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def server(home: Path) -> Iterator[Server]:
    with serving(home.parent / "data", "--parallel", 1) as server:
        yield server


def _labels(data: DataSet, info: EpisodeInfo) -> list[int | None]:
    return list(data.label_by_tick(info.key).values())


def test_data_sets_are_listed_with_counts(server: Server, home: Path) -> None:
    data = write_fights(2)
    (home / "data" / "broken").mkdir()
    (home / "data" / "broken" / "x.parquet").write_bytes(b"no Parquet")

    async def talk(client: Talk) -> None:
        assert await client.get("/data/fights/asking") is None
        broken, fights = await client.get("/api/data")
        assert (broken["name"], broken["samples"]) == ("broken", 0)
        assert "x.parquet cannot be read" in broken["fault"]
        assert fights["name"] == "fights"
        assert (fights["game"], fights["count"], fights["samples"]) == ("Duel-Genesis", 2, 80)
        assert fights["size"] == sum(path.stat().st_size for path in data.files())
        found = await client.get("/data/fights")
        assert found["actions"] == list(ACTIONS)
        assert sum(found["labels"]) == 80
        assert [each["samples"] for each in found["episodes"]] == [40, 40]
        assert found["episodes"][0]["state"] == INFO.state

    server.talk(talk)


def test_a_page_of_samples_with_their_pictures_and_variables(server: Server, home: Path) -> None:
    write(home / "data" / "small")
    second = samples()[1]

    async def talk(client: Talk) -> None:
        found = await client.get("/data/small/samples?limit=2&offset=1")
        assert found["total"] == 3
        assert [each["tick"] for each in found["samples"]] == [10, 20]
        assert found["samples"][1] == {
            "episode": INFO.key, "tick": 20, "label": 2, "original": 2, "second": None,
            "played": 1, "actionable": True, "answer": None, "share": None,
        }  # fmt: skip
        one = f"/data/small/samples/{INFO.key}/10"
        assert await client.get(one) == {"features": dict(second.features), "prompt": None}
        assert await client.get(f"{one}/picture") == second.picture
        for query, ticks in (
            ("label=1", [10]),
            ("actionable=true", [0, 20]),
            ("actionable=false&label=1", [10]),
            (f"episode={INFO.key}", [0, 10, 20]),
            ("episode=other", []),
            ("kept=deleted", []),
        ):
            found = await client.get(f"/data/small/samples?{query}")
            assert [each["tick"] for each in found["samples"]] == ticks

    server.talk(talk)


def test_corrections_are_kept_and_taken_back(server: Server, home: Path) -> None:
    path = write(home / "data" / "small")
    before = hash_file(path)
    data = DataSet(home / "data" / "small")

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            corrections: Json = {INFO.key: {"0": 1, "10": None}}
            answer = await client.post("/data/small/correct", {"corrections": corrections})
            assert answer == {"changed": 2}
            assert await page.until("files") == {"what": "data"}
        assert _labels(data, INFO) == [1, None, 2]
        assert "| samples | 2 |" in (home / "data" / "small" / "README.md").read_text()
        found = await client.get("/data/small")
        assert (found["corrected"], found["deleted"], found["labels"]) == (1, 1, [0, 1, 1])
        (deleted,) = (await client.get("/data/small/samples?kept=deleted"))["samples"]
        assert (deleted["tick"], deleted["label"], deleted["original"]) == (10, None, 1)
        (corrected,) = (await client.get("/data/small/samples?kept=corrected"))["samples"]
        assert (corrected["tick"], corrected["label"], corrected["original"]) == (0, 1, 0)
        picture = await client.get(f"/data/small/samples/{INFO.key}/10/picture")
        assert picture == samples()[1].picture
        back: Json = {INFO.key: {"0": 0, "10": 1}}
        await client.post("/data/small/correct", {"corrections": back})
        assert hash_file(path) == before

    server.talk(talk)


def test_a_data_set_whose_samples_were_all_deleted_can_be_restored(
    server: Server, home: Path
) -> None:
    before = hash_file(write(home / "data" / "small"))
    data = DataSet(home / "data" / "small")

    async def talk(client: Talk) -> None:
        nothing: Json = {INFO.key: dict.fromkeys(("0", "10", "20"))}
        await client.post("/data/small/correct", {"corrections": nothing})
        (listed,) = await client.get("/data")
        assert (listed["game"], listed["samples"], listed["fault"]) == ("Duel-Genesis", 0, None)
        deleted = await client.get("/data/small/samples?kept=deleted")
        assert deleted["total"] == 3
        everything: Json = {INFO.key: {"0": 0, "10": 1, "20": 2}}
        await client.post("/data/small/correct", {"corrections": everything})
        assert hash_file(data.path_of(INFO.key)) == before

    server.talk(talk)


def test_what_cannot_be_done_is_said(server: Server, home: Path) -> None:
    write(home / "data" / "small")

    async def talk(client: Talk) -> None:
        for path in ("/data/nothing", "/data/..%2Fdata", "/data/.hidden/samples"):
            answer = await client.get(path, status=404)
            assert "there is no data set" in answer["error"]["message"]
        for query, words in (
            ("label=x", "'label' is 'x'"),
            ("kept=lost", "'kept' is 'lost'; expected one of kept, corrected, deleted"),
            ("actionable=1", "'actionable' is '1'; expected one of true, false"),
            ("limit=5000", "a limit of at most 1000"),
        ):
            answer = await client.get(f"/data/small/samples?{query}", status=400)
            assert words in answer["error"]["message"]
        for path, words in (
            (f"{INFO.key}/5", "has no sample of the tick 5"),
            (f"{INFO.key}/x", "the tick is 'x'"),
            ("other/0", "has no episode 'other'"),
            ("..%2Fsmall/0", "has no episode '../small'"),
        ):
            answer = await client.get(f"/data/small/samples/{path}", status=400)
            assert words in answer["error"]["message"]
        wrong: list[Json] = [{}, {"corrections": {}}, {"corrections": {INFO.key: {"x": 1}}}]
        wrong.append({"corrections": {INFO.key: {"0": True}}})
        for body in wrong:
            answer = await client.post("/data/small/correct", body, status=400)
            assert "expected {'corrections'" in answer["error"]["message"]
        body = {"corrections": {INFO.key: {"0": 7}}}
        answer = await client.post("/data/small/correct", body, status=400)
        assert "the label is 7; expected 0 to 2" in answer["error"]["message"]

    server.talk(talk)


def test_what_is_held_back_is_not_shown(server: Server, home: Path) -> None:
    splits = Splits.named("Duel-Genesis")
    assert splits is not None
    _, sha256 = next(iter(splits.parts[HELD_BACK].items()))
    path = write(home / "data" / "small")
    rewrite(path, lambda columns, about: about.update(state_sha256=sha256))

    async def talk(client: Talk) -> None:
        one = f"/samples/{INFO.key}/0"
        for route in ("", "/samples", one, f"{one}/picture"):
            answer = await client.get(f"/data/small{route}", status=400)
            assert "is held back" in answer["error"]["message"]

    server.talk(talk)


_LOADING = 250.0
"""Seconds in which a process has started, and loaded a model, on a busy machine."""


def _is_over(asking: Json) -> bool:
    state: str = asking["state"]
    return state != "running"


async def _asked(client: Talk, name: str, body: Json) -> Json:
    """Ask a brain, and return what became of it."""
    async with client.page() as page:
        answer = await client.post(f"/data/{name}/asking", body)
        assert answer["state"] == "running"
        return await page.until("asking", _is_over, timeout=_LOADING)


def test_a_policy_is_asked_and_its_errors_are_found(server: Server, home: Path) -> None:
    write_fights(2)
    write_untrained_policy(home.parent / "data" / "models")

    async def talk(client: Talk) -> None:
        brains = {each["file"]: each for each in await client.get("/data/fights/brains")}
        assert brains["policy_head/small.safetensors"]["fault"] is None
        assert "other actions" in brains["policy_head/duel.safetensors"]["fault"]
        ended = await _asked(client, "fights", {"brain": "policy_head/small.safetensors"})
        assert (ended["state"], ended["done"], ended["total"]) == ("done", 80, 80)
        assert await client.get("/data/fights/asking") == ended
        found = await client.get("/data/fights")
        assert found["asked"] == 80
        differs = await client.get("/data/fights/samples?answer=differs&order=share&limit=80")
        assert differs["total"] == 80 - found["agreed"]
        shares = [each["share"] for each in differs["samples"]]
        assert shares == sorted(shares, reverse=True)
        assert all(each["answer"] != each["label"] for each in differs["samples"])
        # a correction to the answer is an agreement, without asking again
        first = differs["samples"][0]
        body = {"corrections": {first["episode"]: {str(first["tick"]): first["answer"]}}}
        await client.post("/data/fights/correct", body)
        again = await client.get("/data/fights")
        assert (again["asked"], again["agreed"]) == (80, found["agreed"] + 1)

    server.talk(talk, timeout=TIMEOUT)


@pytest.mark.slow
def test_a_model_is_asked_a_question_about_one_episode(server: Server, home: Path) -> None:
    data = write_fights(2)
    save_model(home.parent / "data" / "models" / "vlm" / "tiny.safetensors")
    key = data.names()[1]
    body = {"brain": "vlm/tiny.safetensors", "question": "Which action?", "episode": key}

    async def talk(client: Talk) -> None:
        ended = await _asked(client, "fights", body)
        assert (ended["state"], ended["total"], ended["error"]) == ("done", 40, None)
        found = await client.get(f"/data/fights/samples?episode={key}")
        assert all(each["answer"] in (0, 1, 2) for each in found["samples"])
        assert (await client.get("/data/fights"))["asked"] == 40

    server.talk(talk, timeout=TIMEOUT)


@pytest.mark.slow
def test_asking_ends_with_a_sentence_or_when_it_is_stopped(server: Server, home: Path) -> None:
    write_fights(40)
    write(home / "data" / "small")
    write_untrained_policy(home.parent / "data" / "models")
    policy = {"brain": "policy_head/small.safetensors"}

    async def talk(client: Talk) -> None:
        ended = await _asked(client, "small", policy)
        assert ended["state"] == "failed"
        assert "the picture has 12x16 pixels" in ended["error"]
        for body, words in (
            ({}, "expected 'brain', the name of a brain"),
            ({"brain": "policy_head/duel.safetensors"}, "it chooses among other actions"),
        ):
            answer = await client.post("/data/small/asking", body, status=400)
            assert words in answer["error"]["message"]
        missing = {"brain": "vlm/nothing.safetensors"}
        answer = await client.post("/data/small/asking", missing, status=404)
        assert "there is no brain" in answer["error"]["message"]
        async with client.page() as page:
            await client.post("/data/fights/asking", policy)
            busy = await client.post("/data/small/asking", policy, status=409)
            assert "is being asked about fights; stop that, or wait" in busy["error"]["message"]
            await client.post("/data/fights/asking/stop")
            ended = await page.until("asking", _is_over)
            assert ended["state"] == "stopped"
        assert (await client.get("/data/fights/asking"))["state"] == "stopped"

    server.talk(talk, timeout=TIMEOUT)
