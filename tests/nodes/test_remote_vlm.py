"""RemoteVLM: the answer of a model on a server, and a sentence for every server that has none."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import ABSENT, MinibrainsError
from minibrains.files import bundled_dir
from minibrains.testing import ScratchHost, opened
from nodes.language import chat_endpoint
from nodes.language.answering import Answer
from nodes.language.chat_endpoint import LARGEST_REPLY, EndpointError
from nodes.language.pretrained import VLMBrain
from nodes.language.remote import FAILURES, PAUSE, RemoteVLM
from nodes.language.vlm import LLMStrategist
from tests.support import tiny_families
from tests.support.chat_server import (
    ChatServer,
    Fault,
    break_off,
    completion,
    drip,
    hang_up,
    reply,
    serving,
    stall,
)
from tests.support.command import Command
from tests.support.timeouts import TIMEOUT

IMAGE = np.random.default_rng(1).integers(0, 256, (96, 128, 3), np.uint8)
KEY = "sk-a-key-that-nobody-may-see"


@pytest.fixture(scope="module")
def running() -> Iterator[ChatServer]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: ChatServer) -> ChatServer:
    running.asked.clear()
    running.faults.clear()
    return running


def _ask(server: ChatServer, **widgets: Any) -> Answer:
    node = RemoteVLM(endpoint=server.address, model="tiny", **widgets)
    with opened(node):
        return node.tick("kick?", IMAGE)


# -- answers ---------------------------------------------------------------------------------------


def test_its_answer_is_that_of_the_model_on_the_server(server: ChatServer) -> None:
    local = server.node.tick(IMAGE, "kick?", [])
    assert _ask(server, max_tokens=7) == Answer(local.text, local.tokens, ABSENT, ABSENT)
    ((path, key, body),) = server.asked
    assert (path, key) == ("/v1/chat/completions", None)
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("tiny", 7, 0)


def test_without_a_picture_it_sends_the_question_alone(server: ChatServer) -> None:
    node = RemoteVLM(endpoint=f"{server.address}/", model="tiny")
    with opened(node):
        assert node.tick("kick?", None).text
    assert server.asked[0].body["messages"] == [{"role": "user", "content": "kick?"}]


@pytest.mark.parametrize(
    "fault",
    [break_off, hang_up, reply(429, Retry_After="0"), reply(500, Retry_After="0"), reply(503)],
    ids=["breaks off", "hangs up", "429", "500", "503"],
)
def test_what_may_pass_is_tried_again(server: ChatServer, fault: Fault) -> None:
    server.faults.append(fault)
    assert _ask(server).text
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (reply(400, '{"error": "no such thing"}'), r'status 400: {"error": "no such thing"}'),
        (reply(401), "status 401: no; expected a valid key"),
        (reply(404), "status 404: no; expected the address of an API and one of its models"),
        (reply(302, Location="http://127.0.0.1:1/"), "status 302"),
        (reply(429, Retry_After="3600"), "status 429"),
        (reply(200, "<html>\n\x1b[2J hello"), "not a chat completion with a text: <html>"),
        (reply(200, "[" * 100_000), "not a chat completion"),
        (reply(200, '{"choices": []}'), "not a chat completion"),
        (reply(200, completion(None, 3)), "not a chat completion"),
        (reply(200, "x" * (LARGEST_REPLY + 1)), "longer than 1048576 bytes"),
    ],
)
def test_what_will_not_pass_is_one_sentence_at_once(
    server: ChatServer, fault: Fault, sentence: str
) -> None:
    server.faults.append(fault)
    with pytest.raises(EndpointError, match=sentence) as caught:
        _ask(server)
    assert len(str(caught.value)) < 500
    assert len(server.asked) == 1


@pytest.mark.parametrize("fault", [stall, drip])
def test_the_time_limit_is_that_of_the_whole_answer(server: ChatServer, fault: Fault) -> None:
    server.faults.append(fault)
    with pytest.raises(EndpointError, match=r"no answer within the time limit of 0\.2 s"):
        _ask(server, seconds=0.2)
    # the server takes it perhaps only now, and it is not for the next question
    end = time.monotonic() + TIMEOUT
    while server.faults:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_server_that_is_not_there_is_tried_as_often_as_the_widget_says(
    server: ChatServer,
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # it does not listen
        node = RemoteVLM(
            endpoint=f"http://127.0.0.1:{nobody.getsockname()[1]}/v1", model="t", attempts=1
        )
        with (
            opened(node),
            pytest.raises(EndpointError, match=r"cannot connect .*is the server running there"),
        ):
            node.tick("kick?", IMAGE)
    server.faults.extend([reply(503, Retry_After="0")] * 4)
    with pytest.raises(EndpointError, match="status 503"):
        _ask(server, attempts=4)
    assert len(server.asked) == 4


def test_a_run_that_ends_does_not_wait_for_an_answer(server: ChatServer, tmp_path: Path) -> None:
    host = ScratchHost(tmp_path)

    def hold(handler: Any) -> None:
        host.stopping = True
        stall(handler)

    server.faults.append(hold)
    node = RemoteVLM(endpoint=server.address, model="tiny", seconds=600.0)
    with opened(node, host), pytest.raises(EndpointError, match="the run ended before"):
        node.tick("kick?", IMAGE)


def test_a_server_that_keeps_failing_is_left_alone_for_a_while(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(chat_endpoint, "monotonic", lambda: now)
    node = RemoteVLM(endpoint=server.address, model="tiny")
    with opened(node):
        for _ in range(2):  # a pause, and the next one after a failure
            server.faults.extend([reply(400)] * FAILURES)
            while server.faults:
                with pytest.raises(EndpointError, match="status 400"):
                    node.tick("kick?", IMAGE)
                if len(server.asked) > FAILURES:
                    server.faults.clear()
            asked = len(server.asked)
            with pytest.raises(EndpointError, match=r"not asked: the last . questions failed.*400"):
                node.tick("kick?", IMAGE)
            assert len(server.asked) == asked
            now += PAUSE
        assert asked == FAILURES + 1, "after a pause, one question is enough"
        assert node.tick("kick?", IMAGE).text
        server.faults.append(reply(400))
        with pytest.raises(EndpointError, match="status 400"):
            node.tick("kick?", IMAGE)
        assert node.tick("kick?", IMAGE).text, "one failure among answers is nothing"


# -- transformers' own server ----------------------------------------------------------------------


@pytest.fixture
def transformers_serve(tmp_path: Path) -> Iterator[str]:
    """The address of `transformers serve`, which finds models in folders."""
    code = "from transformers.cli.transformers import main; main()"
    command = [sys.executable, "-c", code, "serve", "--host", "127.0.0.1", "--port", "0"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")}
    with subprocess.Popen(
        [*command, "--device", "cpu"], env=environment, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        found = None
        for line in server.stderr:
            found = re.search(r"running on (http://127\.0\.0\.1:\d+)", line)
            if found:
                break
        assert found, "it does not start"
        yield f"{found[1]}/v1"
        server.terminate()


@pytest.mark.slow
@pytest.mark.usefixtures("tried_here")
def test_transformers_serve_answers_as_the_model_does_here(
    transformers_serve: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIBRAINS_HOME", str(tmp_path / "home"))
    tiny_families.save_qwen3(tmp_path / "qwen3")
    brain = VLMBrain.of_folder(tmp_path / "qwen3")
    brain.save(tmp_path / "qwen3.safetensors", title="t", made_by="test")
    local = LLMStrategist(brain=VLMBrain.load(tmp_path / "qwen3.safetensors"), max_tokens=8)
    with opened(local):
        expected = local.tick("kick?", [])
    node = RemoteVLM(
        endpoint=transformers_serve, model=str(tmp_path / "qwen3"), max_tokens=8, seconds=300.0
    )
    with opened(node):
        assert node.tick("kick?", None) == expected
    tiny_families.save_idefics3(tmp_path / "idefics3")
    node = RemoteVLM(
        endpoint=transformers_serve, model=str(tmp_path / "idefics3"), max_tokens=8, seconds=300.0
    )
    with opened(node):
        seen = node.tick("kick?", IMAGE)
        blind = node.tick("kick?", None)
    assert seen.tokens > blind.tokens > 0


# -- keys and addresses ----------------------------------------------------------------------------


@pytest.fixture
def key(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the variable with the key for the server."""
    monkeypatch.setenv("LAB_API_KEY", f"{KEY}\n")
    monkeypatch.setenv("LAB_BASE_URL", server.address)
    return "LAB_API_KEY"


def test_the_key_is_sent_and_never_told(server: ChatServer, key: str) -> None:
    assert _ask(server, key=key).text
    assert server.asked[0].key == f"Bearer {KEY}"
    escaped = KEY.replace("-", "\\u002d")
    for words in (f"wrong key {KEY}", f'{{"error": "wrong key {escaped}"}}'):
        server.faults.append(reply(401, words))
        with pytest.raises(EndpointError, match="…") as caught:
            _ask(server, key=key)
        assert KEY not in str(caught.value)
        assert escaped not in str(caught.value)
    message = {"role": "assistant", "content": f"3, for {KEY}"}
    server.faults.append(reply(200, json.dumps({"choices": [{"message": message}]})))
    assert _ask(server, key=key).text == "3, for …"
    server.faults.append(reply(200, f"{KEY} is a fine key"))
    with pytest.raises(EndpointError, match="…") as caught:
        _ask(server, key=key)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("LAB_BASE_URL", "https://example.org/v1", "the key in LAB_API_KEY is not for http://127"),
        ("LAB_BASE_URL", "", "set the environment variable LAB_BASE_URL to http://127"),
        ("LAB_API_KEY", "", "LAB_API_KEY is not set"),
        ("LAB_API_KEY", f"{KEY}\r\nHost: a", "characters that no key has"),
    ],
)
def test_a_key_is_for_one_server(
    server: ChatServer,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    sentence: str,
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(MinibrainsError, match=sentence) as caught:
        _ask(server, key=key)
    assert KEY not in str(caught.value)
    assert not server.asked


@pytest.mark.parametrize(
    ("widgets", "sentence"),
    [
        ({"key": KEY}, "never the key itself"),
        ({"key": "AWS_SECRET_ACCESS_KEY"}, "never the key itself"),
        ({"endpoint": f"http://me:{KEY}@127.0.0.1/v1"}, "without a password"),
        ({"endpoint": f"http://127.0.0.1/v1?key={KEY}"}, "without parameters"),
        ({"endpoint": "127.0.0.1:8000"}, "expected one like http://127"),
        ({"endpoint": "file:///etc/passwd"}, "expected one like http://127"),
        ({"endpoint": "http://[::1/v1"}, "expected one like http://127"),
    ],
)
def test_check_refuses_what_is_no_address_or_no_name_of_a_key(
    widgets: dict[str, str], sentence: str
) -> None:
    with pytest.raises(MinibrainsError, match=sentence) as caught:
        RemoteVLM(model="tiny", **widgets).check()  # type: ignore[arg-type]
    assert KEY not in str(caught.value)


# -- in a game -------------------------------------------------------------------------------------


def _workflow(file: Path, server: ChatServer, **entry: Any) -> Path:
    """Write the Street Fighter agent with a RemoteVLM."""
    workflow = json.loads((bundled_dir("workflows") / "sf2_ram_text.json").read_text())
    strategist = workflow["nodes"]["strategist"]
    strategist["type"] = "RemoteVLM@2"
    strategist["set"] = {"endpoint": server.address, "model": "tiny", **entry.pop("set", {})}
    strategist["in"].pop("adapters")
    strategist.pop("brain")
    strategist.update(entry)
    workflow["nodes"]["console"]["set"]["game"] = "Duel-Genesis"
    file.write_text(json.dumps(workflow))
    return file


def _parse_methods(summary: dict[str, Any]) -> dict[str, int]:
    """Return how the actions of the only episode were found."""
    episode = json.loads((Path(summary["run_dir"]) / "episodes.jsonl").read_text())
    methods: dict[str, int] = episode["parse_methods"]
    return methods


def test_it_plays_and_its_key_is_nowhere(
    server: ChatServer, key: str, minibrains: Command, tmp_path: Path
) -> None:
    file = _workflow(tmp_path / "remote.json", server, set={"key": key})
    done = minibrains("run", file, "--ticks", 300, "--record", "--json")
    assert done.returncode == 0, done.stderr
    assert server.asked[0].key == f"Bearer {KEY}"
    methods = _parse_methods(json.loads(done.stdout))
    assert sum(methods.values()) == len(server.asked) >= 10
    assert methods["fallback"] == 0
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in done.stdout + done.stderr


def test_the_game_goes_on_while_a_server_fails(
    server: ChatServer, summary: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    server.faults.extend([reply(503), hang_up, reply(401), reply(200, "rubbish")])
    widgets = {"seconds": 100.0, "attempts": 1}
    file = _workflow(tmp_path / "remote.json", server, set=widgets, busy="continue", latency=6)
    result = summary(file, "--ticks", 300)
    assert result["nodes"]["strategist"]["errors"] == 4
    methods = _parse_methods(result)
    assert methods["fallback"] == 4
    assert sum(methods.values()) >= 9
