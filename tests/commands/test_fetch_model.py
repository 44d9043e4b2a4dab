"""Models are downloaded file by file, from a server that breaks off and changes bytes."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains.file_lock import lock_now
from nodes.language.pretrained import VLMBrain
from server.commands.bench.published_models import PUBLISHED
from server.commands.bench.random_models import RandomModel
from server.commands.known_models import KNOWN_MODELS
from tests.support.command import Command

COMMIT = "1" * 40
WEIGHTS = np.random.default_rng(0).bytes(300_000)
FILES = {
    "config.json": b'{"model_type": "qwen3_vl"}',
    "model-00002-of-00002.safetensors": WEIGHTS[:100_000],
    "model-00001-of-00002.safetensors": WEIGHTS,
    "LICENSE": b"Apache-2.0",
    "pytorch_model.bin": b"a pickle",
    "onnx/model.safetensors": b"of a folder",
    "../out.safetensors": b"of another folder",
}
CHOSEN = ["LICENSE", "config.json", *sorted(FILES)[3:5][::-1]]


class Hub(ThreadingHTTPServer):
    """A server with one repository, in the form of the Hugging Face Hub."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = dict(FILES)
        self.got: list[tuple[str, str | None]] = []
        """The files that were asked for, with the header Range."""
        self.headers: list[str | None] = []
        """The header Authorization of each request."""
        self.cuts: list[int] = []
        """After how many bytes of weights the next connections break."""
        self.is_there = True
        self.listed: Any = None
        """What it answers instead of the listing, as JSON."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def listing(self) -> str:
        if self.listed is not None:
            return json.dumps(self.listed)
        siblings: list[dict[str, Any]] = []
        for name, data in FILES.items():
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            file: dict[str, Any] = {"rfilename": name, "size": len(data), "blobId": blob}
            if name.endswith((".safetensors", ".bin")):
                sha256 = hashlib.sha256(data).hexdigest()
                file["lfs"] = {"sha256": sha256, "size": len(data), "pointerSize": 1}
            siblings.append(file)
        return json.dumps({"id": "people/tiny", "sha": COMMIT, "siblings": siblings})


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self.server.headers.append(self.headers["Authorization"])
        path = self.path.partition("?")[0]
        if not self.server.is_there:
            self.reply(503, b"", 0)
        elif path == "/api/models/people/tiny":
            data = self.server.listing().encode()
            self.reply(200, data, len(data))
        elif path.startswith(f"/people/tiny/resolve/{COMMIT}/"):
            self.send(path.rpartition("/")[2])
        elif path == "/api/models/people/html":
            page = b"<html>log in</html>"
            self.reply(200, page, len(page))
        else:
            self.reply(404, b"", 0)

    def send(self, name: str) -> None:
        range_ = self.headers["Range"]
        self.server.got.append((name, range_))
        data, status = self.server.files[name], 200
        if range_:
            data, status = data[int(range_.removeprefix("bytes=").rstrip("-")) :], 206
        sent = data
        if name.endswith(".safetensors") and self.server.cuts:
            sent = data[: self.server.cuts.pop(0)]
        self.reply(status, sent, len(data))

    def reply(self, status: int, data: bytes, length: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, args=(0.02,))
        thread.start()
        yield hub
        hub.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let huggingface_hub write what it has every 10 kB, not 10 MB, and try again at once."""
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 10_000)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home/downloads/people/tiny"


def _check_whole(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == set(CHOSEN)
    for name in CHOSEN:
        assert (folder / name).read_bytes() == FILES[name]


def test_files_are_fetched_one_at_a_time_and_the_smallest_first(
    minibrains: Command, hub: Hub, folder: Path
) -> None:
    done = minibrains(
        "fetch-model", "people/tiny", "--endpoint", hub.address, env={"HF_TOKEN": "hf_secret"}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(folder)
    _check_whole(folder)
    assert hub.got == [(name, None) for name in CHOSEN]
    assert set(hub.headers) == {None}, "the token of the Hub is for the Hub"
    assert "4/4 model-00001-of-00002.safetensors, 0.3 MB" in done.stderr
    again = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert again.returncode == 0
    assert len(hub.got) == len(CHOSEN), "what is there is not fetched again"


def test_a_connection_that_breaks_in_mid_file_goes_on_where_it_broke(
    minibrains: Command, hub: Hub, folder: Path
) -> None:
    hub.cuts = [100_000, 70_000, 30_000]
    done = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert done.returncode == 0, done.stderr
    _check_whole(folder)
    ranges = [range_ for name, range_ in hub.got if name == CHOSEN[-1]]
    assert ranges == [None, "bytes=70000-", "bytes=100000-"]


def test_a_command_that_was_ended_goes_on_where_it_stopped(
    minibrains: Command, hub: Hub, folder: Path
) -> None:
    hub.cuts = [100_000, 70_000, *[0] * 5]
    done = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert done.returncode == 1
    assert "the same command goes on where it stopped" in done.stderr
    assert not (folder / CHOSEN[-1]).exists()
    hub.got.clear()
    done = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert done.returncode == 0, done.stderr
    assert hub.got == [(CHOSEN[-1], "bytes=70000-")]
    _check_whole(folder)


def test_a_file_with_other_bytes_is_refused_and_removed(
    minibrains: Command, hub: Hub, folder: Path
) -> None:
    hub.files[CHOSEN[-1]] = bytes(len(WEIGHTS))
    done = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert done.returncode == 1
    assert f"{CHOSEN[-1]} is not the file whose hash the server names" in done.stderr
    assert {path.name for path in folder.iterdir()} == set(CHOSEN[:-1])
    hub.files = dict(FILES)
    done = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert done.returncode == 0, done.stderr
    _check_whole(folder)


def test_known_models_are_listed_with_licence_and_size(minibrains: Command) -> None:
    listed = minibrains("fetch-model")
    assert listed.returncode == 0
    head, *rows = listed.stdout.splitlines()
    assert head.startswith("model")
    assert len(rows) == 7
    (smol,) = [row for row in rows if row.startswith("HuggingFaceTB/SmolVLM-Instruct")]
    assert "Apache 2.0" in smol
    assert "9.0 / 4.5 / 2.4 / 1.6" in smol


@pytest.mark.parametrize(
    ("known", "published"),
    [
        ("Qwen/Qwen3-4B-Instruct-2507", "Qwen3-4B"),
        ("Qwen/Qwen2.5-VL-3B-Instruct", "Qwen2.5-VL-3B"),
    ],
)
def test_the_memory_of_a_known_model_is_what_the_loader_counts(known: str, published: str) -> None:
    model = PUBLISHED[published]
    counted = VLMBrain.memory_sizes(RandomModel(model.model_type, model.size).tensors)
    listed = KNOWN_MODELS[known].memory.split(" / ")
    for precision, gigabytes in zip(("f32", "bf16", "int8", "nf4"), listed, strict=True):
        assert float(gigabytes) == pytest.approx(counted[precision] / 1e9, abs=0.1)


def test_the_token_is_not_sent_to_a_server_that_takes_the_place_of_the_hub(
    minibrains: Command, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as $HF_ENDPOINT does when huggingface_hub is imported
    urls = f"{hub.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.address)
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", urls)
    done = minibrains("fetch-model", "people/tiny", env={"HF_TOKEN": "hf_secret"})
    assert done.returncode == 0, done.stderr
    assert set(hub.headers) == {None}


def test_a_file_that_is_longer_than_the_server_says_is_not_kept(
    minibrains: Command, hub: Hub, folder: Path
) -> None:
    hub.files[CHOSEN[-1]] = WEIGHTS + bytes(50_000)
    done = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert done.returncode == 1
    assert f"{CHOSEN[-1]} is longer than the {len(WEIGHTS)} bytes" in done.stderr
    assert {path.name for path in folder.iterdir()} == set(CHOSEN[:-1])


def test_two_processes_do_not_fetch_the_same_model_at_once(
    minibrains: Command, hub: Hub, folder: Path
) -> None:
    folder.parent.mkdir(parents=True)
    with (folder.parent / ".tiny.lock").open("ab") as lock:
        lock_now(lock.fileno())
        done = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert done.returncode == 2
    assert "another process is fetching into" in done.stderr
    assert minibrains("fetch-model", "people/tiny", "--endpoint", hub.address).returncode == 0
    _check_whole(folder)


def listed(**changes: Any) -> dict[str, Any]:
    """Return a listing with one file."""
    file = {"rfilename": "model.safetensors", "size": 12, "blobId": "0" * 40, **changes}
    return {"id": "people/tiny", "sha": COMMIT, "siblings": [file]}


@pytest.mark.parametrize(
    "listing",
    [
        {},
        [],
        {"id": "people/tiny", "siblings": "abc"},
        {"id": "people/tiny", "siblings": [{}]},
        listed(size="12"),
        listed(size=-5),
        listed(size=None),
        listed(blobId=None),
        listed(blobId="/./../../../up"),
        listed(lfs={"size": 12}),
        listed(lfs={"size": 12, "sha256": "../" * 8, "pointerSize": 1}),
    ],
)
def test_a_listing_that_is_wrong_is_refused(
    minibrains: Command, hub: Hub, tmp_path: Path, listing: Any
) -> None:
    hub.listed = listing
    done = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert done.returncode == 2, done.stderr
    assert "as the Hub" in done.stderr
    assert not hub.got
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    "address", ["nonsense", "http://[::1", "http://127.0.0.1:abc", "http://me:PASS@127.0.0.1:1"]
)
def test_what_is_no_address_is_refused_and_not_repeated(minibrains: Command, address: str) -> None:
    done = minibrains("fetch-model", "people/tiny", "--endpoint", address)
    assert done.returncode == 2
    assert "expected one like http://127.0.0.1:8000, without a password" in done.stderr
    assert address not in done.stderr


def test_what_cannot_be_fetched_is_a_sentence(
    minibrains: Command, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for repository, words in (
        ("people/other", "the status 404; check the name of the model, and that of the server"),
        ("a/b/c", "not the name of a repository"),
        ("people/html", "did not answer as the Hub does"),
    ):
        done = minibrains("fetch-model", repository, "--endpoint", hub.address)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    for name in [name for name in FILES if name.endswith(".safetensors")]:
        monkeypatch.delitem(FILES, name)
    done = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert "has no weights in safetensors, and pickles are not fetched" in done.stderr
    hub.is_there = False
    done = minibrains("fetch-model", "people/tiny", "--endpoint", hub.address)
    assert done.returncode == 1
    assert "the status 503; the same command goes on" in done.stderr


def test_a_server_that_is_not_there_is_a_sentence(minibrains: Command) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # it does not listen
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        done = minibrains("fetch-model", "people/tiny", "--endpoint", address)
    assert done.returncode == 1
    assert f"the connection to {address} failed" in done.stderr
    assert "Traceback" not in done.stderr
