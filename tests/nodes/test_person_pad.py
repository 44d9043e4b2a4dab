"""A person's pad: keys come through the websocket into the game,
are let go of when nobody holds them, and replay.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from minibrains import ABSENT, Absent, Episode, Number, Pad, Register
from minibrains.files import bundled_dir
from minibrains.testing import opened
from nodes.consoles.pads import KEYS, PersonPad
from nodes.control.flow import Override
from nodes.training.data_set import DataSet
from tests.support.command import Command
from tests.support.engine_fixtures import make_engine, node, open_engine
from tests.support.service_fixtures import PACK, Json, Page, Server, Talk, serving

UP, LEFT, A = 1, 4, 64
"""Their bits in what Pad-Genesis writes into its RAM."""
DOWN, LOW_PUNCH = 2, 22
"""Their numbers in the action table of Street Fighter."""
GAME = {
    "minibrains": 1,
    "run": {"clock": "realtime"},
    "nodes": {
        "pad": {"type": "PersonPad@1"},
        "console": {
            "type": "RetroEmulator@3",
            "set": {"game": "Pad-Genesis"},
            "in": {"pad1": "pad.pad"},
        },
        "held": {
            "type": "Variable@1",
            "set": {"name": "pad1"},
            "in": {"variables": "console.variables"},
        },
        "log": {"type": "Log@1", "in": {"value": "held.number"}},
    },
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 1) as server:
        yield server


async def send(page: Page, type_: str, prompt_id: str, **more: Any) -> None:
    await page.socket.send_json(
        {"type": type_, "data": {"prompt_id": prompt_id, "node": "pad", **more}}
    )


async def ram(page: Page, held: int) -> None:
    """Wait until the game has read these buttons."""
    await page.until("values", lambda data: data["values"].get("held.number") == held)


async def act(page: Page, prompt_id: str, action: int, *keys: str) -> None:
    """Hold keys until they are named as this action."""
    await send(page, "input", prompt_id, value=keys)
    await page.until("values", lambda data: data["values"].get("action.action") == action)


def held(*keys: object) -> Pad | Absent:
    with opened(pad := PersonPad()):
        pad.receive(list(keys))
        return pad.emit()


def test_keys_become_buttons() -> None:
    assert held("ArrowUp", "KeyZ", "KeyQ", 7, None) == ("A", "UP")
    assert held(*KEYS) == ("A", "B", "C", "START", "X", "Y", "Z"), "opposite directions are neither"
    with opened(pad := PersonPad(keys={"KeyQ": "L"})):
        assert pad.emit() is ABSENT
        wrong_values: list[Any] = [None, {}, 3, "KeyQ", [["KeyQ"]], [{"KeyQ": 1}]]
        for wrong in wrong_values:
            pad.receive(["KeyQ"])
            assert pad.emit() == ("L",)
            pad.receive(wrong)
            assert pad.emit() == ()


class Agent(Register):
    """Holds B from beginning to end."""

    def emit(self) -> Pad:
        return ("B",)

    def latch(self) -> None:
        pass


class Player(Register):
    """What a console is given."""

    def reset(self, episode: Episode) -> None:
        self.pads: list[Pad | None] = []

    def emit(self) -> Number:
        return len(self.pads)

    def latch(self, pad: Pad | None = None) -> None:
        self.pads.append(pad)


def test_a_person_takes_over_within_a_tick_and_the_agent_goes_on_when_the_hands_are_off() -> None:
    entries = {
        "person": node("PersonPad"),
        "agent": node("Agent"),
        "either": node("Override", {"value": "agent.pad", "urgent": "person.pad"}),
        "console": node("Player", {"pad": "either.value"}),
    }
    engine = make_engine(entries, [PersonPad, Agent, Override, Player])
    open_engine(engine)
    engine.reset(0, 0)
    for value in (None, [], ["ArrowLeft"], [], ["ArrowLeft"], None, None):
        engine.nodes["person"].receive(value)
        engine.advance(1)
    assert engine.nodes["console"].pads == [("B",), (), ("LEFT",), (), ("LEFT",), (), ("B",)]
    engine.close()


def test_it_gives_out_the_same_pad_for_as_long_as_it_is_held() -> None:
    with opened(pad := PersonPad()):
        pad.receive(["KeyA", "KeyC"])
        before = pad.emit()
        pad.receive(["KeyC", "KeyA", "Tab"])
        assert pad.emit() is before


def test_keys_reach_the_game_and_are_let_go_of_when_the_page_is_gone(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as looker:
            prompt_id = await client.run(GAME)
            await looker.watch(prompt_id, values=("held",))
            await ram(looker, 0)
            async with client.page("player") as player:
                await send(player, "input", prompt_id, value=["ArrowUp"])
                await send(player, "take", prompt_id)
                await send(player, "input", prompt_id, value=["ArrowLeft", "KeyZ"])
                await ram(looker, LEFT | A)
                await send(player, "input", prompt_id, value=["KeyZ"])
                await ram(looker, A)
            await ram(looker, 0)
            numbers = [
                data["values"]["held.number"]
                for type_, data in looker.events
                if type_ == "values" and data["values"]
            ]
            assert UP not in numbers, "before it was taken nothing counted"
            async with client.page("player") as player:
                await send(player, "take", prompt_id)
                await send(player, "input", prompt_id, value=["ArrowUp"])
                await ram(looker, UP)
                await send(player, "release", prompt_id)
                await ram(looker, 0)
            await client.post(f"/runs/{prompt_id}/stop")
            assert (await client.outcome(looker, prompt_id))["state"] == "stopped"

    server.talk(talk)


def test_the_last_page_that_took_it_has_it(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page("first") as first, client.page("second") as second:
            prompt_id = await client.run(GAME)
            await second.watch(prompt_id, values=("held",))
            await ram(second, 0)
            await send(first, "take", prompt_id)
            await send(first, "input", prompt_id, value=["ArrowLeft"])
            await ram(second, LEFT)
            await send(second, "take", prompt_id)
            assert await first.until("taken") == {"prompt_id": prompt_id, "node": "pad"}
            await ram(second, 0)
            await send(first, "input", prompt_id, value=["ArrowLeft"])
            await send(first, "release", prompt_id)
            await send(second, "input", prompt_id, value=["ArrowUp"])
            await ram(second, UP)
            of_a_log = {"prompt_id": prompt_id, "node": "log", "value": 1}
            wrong_data: list[Any] = [{"prompt_id": prompt_id}, of_a_log, {"node": []}, 3]
            for wrong in wrong_data:
                for type_ in ("take", "input", "release"):
                    await second.socket.send_json({"type": type_, "data": wrong})
            await send(second, "input", prompt_id, value=["KeyZ"])
            await ram(second, A)
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(second, prompt_id)

    server.talk(talk)


def test_a_pad_that_a_live_edit_added_takes_keys(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page("player") as player:
            without = json.loads(json.dumps(GAME))
            del without["nodes"]["pad"], without["nodes"]["console"]["in"]
            prompt_id = await client.run(without)
            await player.watch(prompt_id, values=("held",))
            await ram(player, 0)
            await client.post(f"/runs/{prompt_id}/edit", {"workflow": GAME})
            await send(player, "take", prompt_id)
            await send(player, "input", prompt_id, value=["ArrowLeft"])
            await ram(player, LEFT)
            await client.post(f"/runs/{prompt_id}/stop")
            await client.outcome(player, prompt_id)

    server.talk(talk)


def test_what_a_person_played_replays(server: Server, minibrains: Command) -> None:
    async def talk(client: Talk) -> Json:
        async with client.page() as page:
            prompt_id = await client.run(GAME, extra_data={"record": True})
            await page.watch(prompt_id, values=("held",))
            await ram(page, 0)
            await send(page, "take", prompt_id)
            for keys, mask in (
                (["ArrowUp"], UP),
                (["ArrowUp", "KeyZ"], UP | A),
                ([], 0),
                (["ArrowLeft"], LEFT),
            ):
                await send(page, "input", prompt_id, value=keys)
                await ram(page, mask)
            await client.post(f"/runs/{prompt_id}/stop")
            summary: Json = (await client.outcome(page, prompt_id))["summary"]
            return summary

    played = server.talk(talk)
    assert played["episodes"][0]["score"] == 3, "one for each press"
    done = minibrains("replay", played["run_dir"], "--pack", PACK, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ticks"] == played["ticks"]


def test_what_a_person_plays_becomes_a_data_set(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow: Json = json.loads((bundled_dir("workflows") / "duel_person.json").read_text())
    workflow["run"] |= {"episodes": 1, "ticks": 420}

    async def talk(client: Talk) -> None:
        async with client.page() as page:
            prompt_id = await client.run(workflow)
            await page.watch(prompt_id, values=("state", "action"))
            await page.until("values", lambda data: data["values"].get("state.number") == 1)
            # so slow that everything is pressed before the run is over
            await client.post(f"/runs/{prompt_id}/speed", {"speed": 0.2})
            await send(page, "take", prompt_id)
            await act(page, prompt_id, DOWN, "ArrowDown")
            await act(page, prompt_id, LOW_PUNCH, "ArrowDown", "KeyZ")
            await client.post(f"/runs/{prompt_id}/speed", {"speed": 1})
            assert (await client.outcome(page, prompt_id))["state"] == "done"

    server.talk(talk)
    monkeypatch.setenv("MINIBRAINS_HOME", str(server.data.parent / "home"))
    data = DataSet.named("person")
    (info,) = data.episodes(game="Duel-Genesis")
    samples = data.read(info)
    assert len(samples) > 10
    assert set(samples.actions.tolist()) == {DOWN, LOW_PUNCH}
    assert (samples.actionable == 1).all()


@pytest.mark.slow
def test_on_the_command_line_the_pad_is_empty_and_it_says_so(minibrains: Command) -> None:
    done = minibrains("run", "sf2_human", "--ticks", 30, "--clock", "fast", "--json")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("pad: ")]
    assert lines == [
        "pad: no input arrives on the command line; play with --person, or in the editor: "
        "python -m server serve"
    ]
    assert json.loads(done.stdout)["game"] == "Duel-Genesis"
