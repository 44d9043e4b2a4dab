"""Workflow files, brains, pictures, node types: what the editor reads and writes besides runs."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from PIL import Image

from minibrains.files import bundled_dir
from nodes.language.lora import LoraAdapter
from tests.support.paths import DATA
from tests.support.service_fixtures import Server, Talk, film, serving, upload_form


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data"), "--parallel", 1) as server:
        yield server


# -- node types ------------------------------------------------------------------------------------


def test_node_types_say_everything_about_themselves(server: Server) -> None:
    async def talk(client: Talk) -> None:
        nodes = await client.get("/nodes")
        assert nodes == await client.get("/api/nodes")
        stack, film_ = nodes["FrameStack@1"], nodes["service_nodes.Film@1"]
        frame = stack["inputs"]["frame"]
        assert frame["kind"] == "frame u8[h w {c}]"
        assert (
            stack["inputs"]["frame"] | {"label": "frame", "dtype": "u8", "dims": ["h", "w", "{c}"]}
            == stack["inputs"]["frame"]
        )
        assert stack["brain"] == {"kind": "frame_stack", "required": True}
        assert film_["register"] is True
        assert film_["pack"] == "service_nodes"
        assert film_["outputs"].keys() == {"frame", "count"}
        assert film_["category"] == "service_nodes"
        assert film_["doc"] == "A picture a tick, 600 a second of its own clock."
        assert film_["outputs"]["count"]["doc"] == "its number"
        assert stack["category"] == "vision"
        assert frame["doc"] == "uint8 [h, w, c]"
        assert (
            film_["widgets"]["colours"] | {"default": 16, "min": 1, "max": 768}
            == film_["widgets"]["colours"]
        )
        assert film_["widgets"]["size"]["rebuild"] is True
        assert nodes["RetroEmulator@3"]["terminal"] == "terminated"
        assert nodes["Previous@1"]["inputs"]["value"]["variable"] == "T"
        for about in nodes.values():
            for widget in about["widgets"].values():
                Draft202012Validator.check_schema(widget["schema"])

    server.talk(talk)


def test_comfyui_s_clients_are_told_as_well(server: Server) -> None:
    async def talk(client: Talk) -> None:
        every = await client.get("/object_info")
        film_ = every["service_nodes.Film"]
        assert await client.get("/object_info/service_nodes.Film") == {"service_nodes.Film": film_}
        assert await client.get("/object_info/NoSuchNode") == {}
        assert film_["input"]["optional"]["colours"] == [
            "INT",
            {"default": 16, "min": 1, "max": 768, "tooltip": "in each picture"},
        ]
        assert (film_["output"], film_["output_name"]) == (["FRAME", "NUMBER"], ["frame", "count"])
        assert film_["output_tooltips"] == ["in as many colours as asked for", "its number"]
        assert every["FrameStack"]["input"]["required"]["frame"] == [
            "FRAME",
            {"tooltip": "uint8 [h, w, c]"},
        ]
        assert (every["FrameStack"]["category"], film_["category"]) == ("vision", "service_nodes")
        assert every["Preview"]["output_node"] is True
        stats = await client.get("/system_stats")
        assert stats["system"]["ram_total"] > 0
        assert (await client.get("/features"))["supports_preview_metadata"] is True

    server.talk(talk)


def test_checking_says_all_faults_and_what_flows_on_each_link(server: Server) -> None:
    async def talk(client: Talk) -> None:
        schema = await client.get("/schema")
        Draft202012Validator(schema).validate(film())
        sound = await client.post("/check", {"workflow": film()})
        assert sound["faults"] == []
        assert sound["outputs"]["film.frame"] == "frame u8[h w c]"
        assert (sound["outputs"]["adder.number"], sound["inputs"]["adder.value"]) == (
            "number",
            "number",
        )
        assert "number" in sound["fits"]["number"]
        assert "number" not in sound["fits"]["frame u8[h w c]"]
        assert sound["before"]["keep"] == ["adder"]
        broken = film()
        broken["nodes"]["adder"]["in"]["value"] = "film.frame"
        broken["nodes"]["film"]["set"]["colours"] = 0
        broken["nodes"]["gone"] = {"type": "NoSuchNode@1"}
        wrong = await client.post("/check", {"workflow": broken})
        places = {(fault["node"], fault["socket"]) for fault in wrong["faults"]}
        assert places == {("adder", "value"), ("film", "colours"), ("gone", None)}
        codes = {fault["code"] for fault in wrong["faults"]}
        assert codes == {"return_type_mismatch", "value_smaller_than_min", "missing_node_type"}
        assert wrong["outputs"]["film.frame"] == "frame u8[h w c]"
        unheard = {
            "minibrains": 1,
            "nodes": {"console": {"type": "RetroEmulator@3", "set": {"game": "Duell-Genesis"}}},
        }
        (fault,) = (await client.post("/check", {"workflow": unheard}))["faults"]
        assert fault["node"] == "console"
        assert "Duel-Genesis" in fault["message"]
        for data in ({}, {"workflow": None}, {"workflow": {"minibrains": 99}}):
            assert (await client.post("/check", data))["faults"]
        assert (await client.ask("POST", "/check", 400, data=b"{"))["error"]["type"] == "no_json"
        assert (await client.ask("POST", "/check", 400, data=b"[]"))["error"]["type"] == "no_json"

    server.talk(talk)


def test_an_older_workflow_is_checked_and_told_in_todays_form(server: Server) -> None:
    old = json.loads((DATA / "console1.json").read_text())

    async def talk(client: Talk) -> None:
        checked = await client.post("/check", {"workflow": old})
        assert checked["faults"] == []
        assert checked["outputs"]["console.truncated"] == "flag"
        assert checked["workflow"]["nodes"]["console"] == {
            **old["nodes"]["console"],
            "type": "RetroEmulator@3",
        }
        assert checked["workflow"]["nodes"]["last"]["when"] == "console.terminated"
        again = await client.post("/check", {"workflow": checked["workflow"]})
        assert (again["faults"], again["workflow"]) == ([], None)

    server.talk(talk)


def test_the_page_says_so_when_the_editor_is_not_built_and_unknown_routes_answer_in_json(
    server: Server,
) -> None:
    async def talk(client: Talk) -> None:
        async with client.session.get("/") as answer:
            assert (answer.status, answer.content_type) == (200, "text/html")
        for method, path in (
            ("GET", "/no/such/thing.js"),
            ("GET", "/runs/none"),
            ("POST", "/runs/none/stop"),
        ):
            refused = await client.ask(method, path, 404)
            assert refused["error"]["message"]
        await client.ask("DELETE", "/nodes", 405)

    server.talk(talk)


# -- workflows -------------------------------------------------------------------------------------


def test_a_workflow_is_saved_listed_opened_renamed_and_thrown_away(server: Server) -> None:
    async def talk(client: Talk) -> None:
        async with client.page() as page:
            saved = await client.post(
                "/userdata/workflows%2Fmine%2Fduel.json?full_info=true", film()
            )
            assert await page.until("files") == {"what": "workflows"}
        assert saved["path"] == "workflows/mine/duel.json"
        on_disk = (server.data / "workflows" / "mine" / "duel.json").read_bytes()
        assert json.loads(on_disk) == film()
        assert saved["sha256"] == hashlib.sha256(on_disk).hexdigest()
        assert await client.get("/userdata?dir=workflows&recurse=true") == ["mine/duel.json"]
        (listed,) = await client.get("/api/userdata?dir=workflows&recurse=true&full_info=true")
        assert listed == {**saved, "path": "mine/duel.json"}
        assert await client.get("/userdata?dir=workflows") == []
        assert await client.get("/userdata/workflows%2Fmine%2Fduel.json") == film()
        moved = await client.post(
            "/userdata/workflows%2Fmine%2Fduel.json/move/workflows%2Fnew name.json"
        )
        assert moved == "workflows/new name.json"
        await client.get("/userdata/workflows%2Fmine%2Fduel.json", 404)
        await client.ask("DELETE", "/userdata/workflows%2Fnew name.json", 204)
        await client.get("/userdata/workflows%2Fnew name.json", 404)
        (thrown,) = (server.data / "trash").iterdir()
        assert json.loads(thrown.read_text()) == film()

    server.talk(talk)


def test_a_save_over_somebody_s_newer_save_is_refused_and_shows_it(server: Server) -> None:
    path = "/userdata/workflows%2Fshared.json"

    async def talk(client: Talk) -> None:
        async with client.session.post(path, json=film()) as answer:
            first = answer.headers["ETag"]
        async with client.session.get(path) as answer:
            assert answer.headers["ETag"] == first
        theirs = {**film(), "title": "theirs"}
        await client.post(path, theirs, headers={"If-Match": first})
        refused = await client.post(
            path, {**film(), "title": "mine"}, 412, headers={"If-Match": first}
        )
        assert refused["workflow"] == theirs
        assert (
            refused["sha256"]
            == hashlib.sha256((server.data / "workflows" / "shared.json").read_bytes()).hexdigest()
        )
        assert await client.get(path) == theirs
        await client.ask("DELETE", path, 412, headers={"If-Match": first})
        await client.post(
            path, {**film(), "title": "mine"}, headers={"If-Match": f'"{refused["sha256"]}"'}
        )
        await client.post(path, film(), 409, headers={"If-None-Match": "*"})
        await client.post(f"{path}?overwrite=false", film(), 409)
        assert (await client.get(path))["title"] == "mine"
        await client.post("/userdata/workflows%2Fother.json", film())
        await client.post(
            f"/userdata/workflows%2Fother.json/move/{path.rpartition('/')[2]}", status=409
        )
        await client.ask("DELETE", path, 204)
        gone = await client.post(path, film(), 412, headers={"If-Match": first})
        assert gone["workflow"] is None

    server.talk(talk)


def test_what_a_workflow_has_that_is_not_known_is_kept_and_what_is_none_is_refused(
    server: Server,
) -> None:
    strange = {
        "minibrains": 1,
        "nodes": {"a": {"type": "other.Unknown@3", "set": {"x": [1]}}},
        "extra": {"mine": "<script>"},
    }

    async def talk(client: Talk) -> None:
        await client.post("/userdata/workflows%2Fstrange.json", strange)
        assert await client.get("/userdata/workflows%2Fstrange.json") == strange
        for body in (b"", b"{", b"[]", b'{"nodes": {}}', b'{"minibrains": 1, "a": NaN}', b"\xff"):
            await client.ask("POST", "/userdata/workflows%2Fbad.json", 400, data=body)
        await client.get("/userdata/workflows%2Fbad.json", 404)

    server.talk(talk)


def test_shipped_workflows_are_templates(server: Server) -> None:
    async def talk(client: Talk) -> None:
        about = {entry["name"]: entry for entry in await client.get("/templates")}
        assert about["airstriker"]["title"]
        for name in about:
            assert (await client.get(f"/templates/{name}"))["minibrains"] == 1
        await client.get("/templates/none", 404)

    server.talk(talk)


# -- brains and pictures ---------------------------------------------------------------------------


def test_brains_are_listed_read_and_uploaded(server: Server) -> None:
    source = bundled_dir("models") / "reflex" / "airstriker.safetensors"
    data = source.read_bytes()

    async def talk(client: Talk) -> None:
        brains = {brain["file"]: brain for brain in await client.get("/brains")}
        own = brains["reflex/airstriker.safetensors"]
        assert own["shipped"] is True
        header = await client.get("/brains/reflex/airstriker.safetensors")
        assert header["sha256"] == hashlib.sha256(data).hexdigest()
        assert header["kind"] == own["kind"]
        assert header["used_by"] == ["ReflexPolicy@1"]
        assert "reflex" in await client.get("/models")
        assert await client.get("/models/reflex") == ["airstriker.safetensors"]
        assert (await client.get("/view_metadata/reflex?filename=airstriker.safetensors"))[
            "minibrains.kind"
        ] == own["kind"]
        await client.get("/models/none", 404)
        await client.get("/brains/none.safetensors", 404)
        assert header["lineage"] == []
        tensor = header["tensors"][0]["name"]
        histogram = f"/brains/reflex/airstriker.safetensors/histogram?tensor={tensor}"
        found = await client.get(histogram)
        assert sum(found["counts"]) == found["numbers"]
        refused = await client.get(f"{histogram}x", 400)
        assert "there is no tensor" in refused["error"]["message"]
        learned = await client.get("/brains/policy_head/duel.safetensors")
        # its own predecessor is not shipped
        assert [parent["file"] for parent in learned["lineage"]] == [
            "fighter_colors/duel.safetensors",
            None,
        ]
        async with client.page() as page:
            first = await client.ask(
                "POST", "/upload/brain", data=upload_form("file", data, "mine.safetensors")
            )
            assert await page.until("files") == {"what": "brains"}
        again = await client.ask(
            "POST", "/upload/brain", data=upload_form("file", data, "mine.safetensors")
        )
        assert first == again
        assert (first["file"], first["renamed_from"]) == ("mine.safetensors", None)
        assert first["sha256"] == header["sha256"]
        other = (bundled_dir("models") / "action_table" / "airstriker.safetensors").read_bytes()
        renamed = await client.ask(
            "POST", "/upload/brain", data=upload_form("file", other, "mine.safetensors")
        )
        assert (renamed["file"], renamed["renamed_from"]) == (
            "mine (1).safetensors",
            "mine.safetensors",
        )
        assert (
            await client.ask(
                "POST", "/upload/brain", data=upload_form("file", other, "mine.safetensors")
            )
            == renamed
        )
        assert (server.data / "models" / "mine.safetensors").read_bytes() == data
        for bad in (b"", b"\x80\x04pickle", data[:-1], data + b"x"):
            refused = await client.ask(
                "POST", "/upload/brain", 400, data=upload_form("file", bad, "bad.safetensors")
            )
            assert "bad.safetensors" in refused["error"]["message"]
        await client.ask(
            "POST", "/upload/brain", 400, data=upload_form("other", data, "x.safetensors")
        )
        await client.ask("POST", "/upload/brain", 400, data=b"data")
        assert {path.name for path in (server.data / "models").iterdir()} == {
            "mine.safetensors",
            "mine (1).safetensors",
        }

    server.talk(talk)


def test_a_name_that_a_brain_beside_a_workflow_has_is_taken(server: Server) -> None:
    """That one a workflow would find first."""
    tables = bundled_dir("models") / "action_table"
    beside = server.data / "workflows" / "deep" / "mine.safetensors"
    beside.parent.mkdir()
    shutil.copy(tables / "combos57.safetensors", beside)

    async def talk(client: Talk) -> None:
        for _ in range(2):
            data = upload_form(
                "file", (tables / "airstriker.safetensors").read_bytes(), "mine.safetensors"
            )
            kept = await client.ask("POST", "/upload/brain", data=data)
            assert (kept["file"], kept["renamed_from"]) == (
                "mine (1).safetensors",
                "mine.safetensors",
            )
        sink = {"type": "EmulatorSink@1", "brain": {"file": kept["file"], "sha256": kept["sha256"]}}
        sink["in"] = {"action": "random.action"}
        random = {"type": "RandomPolicy@1", "set": {"actions": 6}}
        workflow = {"minibrains": 1, "nodes": {"random": random, "sink": sink}}
        answer = await client.post("/check", {"workflow": workflow, "name": "deep/new.json"})
        assert answer["faults"] == []

    server.talk(talk)


def test_a_workflow_finds_an_uploaded_brain(server: Server) -> None:
    own = server.data / "models" / "found.safetensors"
    shutil.copy(bundled_dir("models") / "reflex" / "airstriker.safetensors", own)
    workflow: dict[str, Any] = {
        "minibrains": 1,
        "nodes": {"reflex": {"type": "ReflexPolicy@1", "brain": "found.safetensors"}},
    }

    async def talk(client: Talk) -> None:
        assert (await client.post("/check", {"workflow": workflow}))["faults"] == []
        workflow["nodes"]["reflex"]["brain"] = "fuond.safetensors"
        (fault,) = (await client.post("/check", {"workflow": workflow}))["faults"]
        assert (fault["node"], fault["socket"]) == ("reflex", "brain")

    server.talk(talk)


def test_a_shipped_brain_is_found_by_the_name_that_its_folder_had(server: Server) -> None:
    file = bundled_dir("models") / "prompt_template/sf2.safetensors"
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()

    async def talk(client: Talk) -> None:
        workflow = await client.get("/templates/sf2_ram_text")
        workflow["nodes"]["lora"]["brain"] = "lora/sf2-untrained.safetensors"
        workflow["nodes"]["prompt"]["brain"] = {"file": "prompt/sf2.safetensors", "sha256": sha256}
        assert (await client.post("/check", {"workflow": workflow}))["faults"] == []
        assert (await client.get("/brains/prompt/sf2.safetensors"))["sha256"] == sha256
        assert (await client.get("/view_metadata/prompt?filename=sf2.safetensors"))[
            "minibrains.kind"
        ] == "prompt_template"
        assert "prompt" not in await client.get("/models")

    server.talk(talk)


def test_an_adapter_for_another_model_is_a_fault_in_the_editor(server: Server) -> None:
    adapter = LoraAdapter.load(bundled_dir("models") / "lora_adapter/sf2-untrained.safetensors")
    other = LoraAdapter(
        adapter.tensors, adapter=adapter.adapter, base="another model", base_sha256="0" * 64
    )
    other.save(server.data / "models" / "other.safetensors", title="other", made_by="test")

    async def talk(client: Talk) -> None:
        workflow = await client.get("/templates/sf2_ram_text")
        assert (await client.post("/check", {"workflow": workflow}))["faults"] == []
        workflow["nodes"]["lora"]["brain"] = "other.safetensors"
        (fault,) = (await client.post("/check", {"workflow": workflow}))["faults"]
        assert (fault["node"], fault["socket"]) == ("strategist", "adapters")
        assert "mute lora" in fault["hint"]

    server.talk(talk)


def test_pictures_are_uploaded_and_shown(server: Server) -> None:
    file = io.BytesIO()
    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)).save(file, "png")
    data = file.getvalue()

    async def talk(client: Talk) -> None:
        one = await client.ask(
            "POST", "/upload/image", data=upload_form("image", data, "a.png", subfolder="some")
        )
        assert one == {"name": "a.png", "subfolder": "some", "type": "input"}
        assert (
            await client.ask(
                "POST", "/upload/image", data=upload_form("image", data, "a.png", subfolder="some")
            )
            == one
        )
        other = await client.ask(
            "POST",
            "/upload/image",
            data=upload_form("image", data + b"x", "a.png", subfolder="some"),
        )
        assert other["name"] == "a (1).png"
        over = await client.ask(
            "POST",
            "/upload/image",
            data=upload_form("image", data, "a (1).png", subfolder="some", overwrite="true"),
        )
        assert over["name"] == "a (1).png"
        async with client.session.get("/view?filename=a.png&subfolder=some&type=input") as answer:
            assert answer.content_type == "image/png"
            assert await answer.read() == data
        await client.get("/view?filename=none.png&type=input", 404)
        await client.get("/view?filename=a.png&type=elsewhere", 400)
        await client.get("/view", 400)

    server.talk(talk)


# -- pictures of workflows -------------------------------------------------------------------------


def test_a_workflow_has_a_picture_that_goes_with_it(server: Server) -> None:
    async def talk(client: Talk) -> None:
        picture, file = _png(), "/userdata/workflows%2Fseen.{}"
        await client.ask("POST", file.format("png"), status=404, data=picture)
        await client.post(file.format("json"), film())
        assert not (await _described(client, "seen.json"))["picture"]
        await client.get(file.format("png"), status=404)
        await client.ask("POST", file.format("png"), data=picture)
        assert await client.get(file.format("png")) == picture
        assert (await _described(client, "seen.json"))["picture"]
        to = "/userdata/workflows%2Fseen.json/move/workflows%2F{}"
        await client.post(to.format("seen.png"), status=400)
        await client.post(to.format("moved.json"))
        assert await client.get("/userdata/workflows%2Fmoved.png") == picture
        await client.get(file.format("png"), status=404)
        await client.ask("DELETE", "/userdata/workflows%2Fmoved.json", status=204)
        await client.get("/userdata/workflows%2Fmoved.png", status=404)

    server.talk(talk)
    assert any(path.name.endswith("-moved.png") for path in (server.data / "trash").iterdir())


def test_a_picture_of_a_workflow_is_a_png_of_limited_size_within_the_folder(
    server: Server,
) -> None:
    async def talk(client: Talk) -> None:
        await client.post("/userdata/workflows%2Fshown.json", film())
        path = "/userdata/workflows%2F{}.png"
        for data, status in ((b"<svg onload='x'/>", 400), (_png() + bytes(4 << 20), 413)):
            await client.ask("POST", path.format("shown"), status, data=io.BytesIO(data))
        for name in ("..%2Fshown", ".hidden", "nul", "..%2F..%2Fmodels%2Fshown"):
            await client.ask("POST", path.format(name), status=400, data=_png())
        await client.get(path.format("shown"), status=404)
        assert not (await _described(client, "shown.json"))["picture"]

    server.talk(talk)


def _png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 6), "teal").save(file, "png")
    return file.getvalue()


async def _described(client: Talk, path: str) -> dict[str, Any]:
    listed = await client.get("/userdata?dir=workflows&full_info=true")
    (found,) = [about for about in listed if about["path"] == path]
    return dict(found)
