"""A server with a model of ours, in the form of OpenAI's chat completions, and its faults."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from minibrains.files import bundled_dir
from minibrains.testing import opened
from nodes.language.answering import Answer
from nodes.language.pretrained import VLMBrain
from nodes.language.vlm import VLMStrategist

BRAIN = bundled_dir("models") / "vlm/sf2-untrained.safetensors"


class Asked(NamedTuple):
    """A request to the server."""

    path: str
    key: str | None
    """The value of its header Authorization."""
    body: dict[str, Any]


class ChatServer(ThreadingHTTPServer):
    """A server on a port of its own; it answers with the most probable of the brain's answers."""

    def __init__(self, node: VLMStrategist) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.node = node
        self.asked: list[Asked] = []
        self.faults: deque[Fault] = deque()
        """What is done to the next requests, instead of answering them."""
        self.released = threading.Event()
        """Ends the faults that hold a request."""
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def answer(self, content: Any) -> Answer:
        """Return the model's answer to the content of a message; without a picture, it is shown a
        black one.
        """
        image, prompt = np.zeros((96, 128, 3), np.uint8), content
        if isinstance(content, list):
            picture, text = content
            png = picture["image_url"]["url"].removeprefix("data:image/png;base64,")
            image = np.asarray(Image.open(io.BytesIO(base64.b64decode(png, validate=True))))
            prompt = text["text"]
        with self.lock:
            return self.node.tick(image, prompt, [])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that have gone."""


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(Asked(self.path, self.headers["Authorization"], body))
        if self.server.faults:
            self.server.faults.popleft()(self)
            return
        (message,) = body["messages"]
        answer = self.server.answer(message["content"])
        self.reply(200, completion(answer.text, int(answer.tokens)))

    def reply(self, status: int, text: str, **headers: str) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""


Fault = Callable[[_Handler], None]


def completion(text: Any, tokens: int) -> str:
    """Return a reply with a text."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": tokens}})


def reply(status: int, text: str = "no", **headers: str) -> Fault:
    """Return the fault of another reply."""
    return lambda handler: handler.reply(status, text, **headers)


def break_off(handler: _Handler) -> None:
    """Send half a reply."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')


def hang_up(handler: _Handler) -> None:
    """Send nothing."""


def stall(handler: _Handler) -> None:
    """Send nothing, and hold the connection."""
    handler.server.released.wait()


def drip(handler: _Handler) -> None:
    """Send a reply that has no end, so that something is always received."""
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):
        while not handler.server.released.is_set():
            handler.wfile.write(b" ")
            time.sleep(0.01)  # what is tested is that this takes for ever


@contextmanager
def serving() -> Iterator[ChatServer]:
    """Run a server until the end of the `with` block."""
    node = VLMStrategist(brain=VLMBrain.load(BRAIN), answer="choose")
    with opened(node), ChatServer(node) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()


@cache
def shared_address() -> str:
    """Return the address of a server that runs until the process ends."""
    node = VLMStrategist(brain=VLMBrain.load(BRAIN), answer="choose")
    opened(node).__enter__()
    server = ChatServer(node)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.address
