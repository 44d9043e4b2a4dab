"""The games on this machine: their save states by split, with their pictures, and variables."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from minibrains.games.catalog import find_game
from minibrains.testing import ScratchHost, opened, play
from nodes.consoles.retro import RetroEmulator
from tests.support.service_fixtures import Server, Talk, serving
from tests.support.timeouts import TIMEOUT

SHIPPED = "Airstriker-Genesis-v0"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's own games: one that plays, with a damaged save state, and one that is broken."""
    home: Path = tmp_path_factory.mktemp("user") / "home"
    original = find_game([SHIPPED])
    mine = home / "games" / "Mine-Genesis-v0"
    shutil.copytree(original.data, mine)
    shutil.copyfile(original.rom, mine / "rom.md")
    (mine / "Damaged.state").write_bytes(b"no save state")
    broken = home / "games" / "Broken-Genesis-v0"
    broken.mkdir()
    (broken / "data.json").write_text("{}")
    (broken / "metadata.json").write_text("no JSON")
    return home


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home.parent / "data", "--parallel", 1) as server:
        yield server


def test_the_games_with_a_rom_are_listed_the_user_s_own_first(server: Server) -> None:
    async def talk(client: Talk) -> None:
        names = await client.get("/games")
        assert names[:2] == ["Mine-Genesis-v0", "Duel-Genesis"]
        assert SHIPPED in names
        assert "Broken-Genesis-v0" not in names
        assert "StreetFighterIISpecialChampionEdition-Genesis-v0" not in names

    server.talk(talk)


def test_a_game_has_states_by_split_and_variables(server: Server) -> None:
    async def talk(client: Talk) -> None:
        duel = await client.get("/games/Duel-Genesis")
        assert duel["default_state"] == "Level4.KazeVsBron"
        assert {split: len(states) for split, states in duel["splits"].items()} == {
            "training": 98,
            "validation": 40,
            "held_back": 40,
        }
        assert len(duel["states"]) == 178
        assert "agent_hp" in duel["variables"]
        mine = await client.get("/games/Mine-Genesis-v0")
        assert mine["splits"] == {}
        assert mine["states"] == ["Damaged", "Level1"]
        assert mine["variables"] == ["gameover", "lives", "score"]

    server.talk(talk)


def test_a_state_has_the_picture_that_an_episode_begins_with(server: Server) -> None:
    console = RetroEmulator(game="Duel-Genesis", states=("validation/Level6.*",))
    with opened(console, ScratchHost(Path("/nonexistent"))):
        ((frame, *_),) = play(console, {})
        first = frame.copy()
        state = console.report()["start"]["state"]

    async def talk(client: Talk) -> None:
        picture = await client.get(f"/games/Duel-Genesis/picture?state={state}")
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(picture))), first)
        default = await client.get("/games/Duel-Genesis/picture")
        named = await client.get("/games/Duel-Genesis/picture?state=Level4.KazeVsBron")
        assert default == named
        of_split = await client.get("/games/Duel-Genesis/picture?state=training/Level2.B*")
        first_of_split = await client.get("/games/Duel-Genesis/picture?state=Level2.BronVsBron")
        assert of_split == first_of_split

    server.talk(talk, timeout=TIMEOUT)


def test_what_is_not_there_is_said(server: Server) -> None:
    async def talk(client: Talk) -> None:
        for path, words in (
            ("/games/Duel", "there is no game called 'Duel'"),
            ("/games/..%2Fhome/picture", "there is no game called"),
            ("/games/Mine-Genesis-v0/picture?state=Damaged", "no picture of the state 'Damaged'"),
            ("/games/Mine-Genesis-v0/picture?state=Level9", "no picture of the state 'Level9'"),
        ):
            answer = await client.get(path, status=404)
            assert words in answer["error"]["message"]
        answer = await client.get("/games/Duel-Genesis/picture?state=train/*", status=400)
        assert "has no split 'train'" in answer["error"]["message"]

    server.talk(talk, timeout=TIMEOUT)


def test_widgets_say_what_they_name(server: Server) -> None:
    async def talk(client: Talk) -> None:
        nodes = await client.get("/nodes")
        console = nodes["RetroEmulator@3"]["widgets"]
        assert console["game"]["names"] == "game"
        assert console["states"]["names"] == "state"
        assert console["noop_max"]["names"] is None
        assert nodes["Variable@1"]["widgets"]["name"]["names"] == "variable"

    server.talk(talk)


def test_a_game_that_cannot_be_started_has_no_pictures(home: Path, server: Server) -> None:
    original = find_game([SHIPPED])
    empty = home / "games" / "Empty-Genesis-v0"
    shutil.copytree(original.data, empty)
    (empty / original.rom.name).write_bytes(b"")

    async def talk(client: Talk) -> None:
        for _ in range(2):
            answer = await client.get("/games/Empty-Genesis-v0/picture", status=404)
            assert "no picture of the state 'Level1'" in answer["error"]["message"]

    server.talk(talk, timeout=TIMEOUT)
