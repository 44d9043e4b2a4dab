"""A server with a language model, asked in the form of OpenAI's API, which vLLM, llama.cpp and
Ollama have as well.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from minibrains import MinibrainsError
from minibrains.errors import text_of
from nodes.training.episode_file import encode_picture

if TYPE_CHECKING:
    import aiohttp

KEY_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]*_API_KEY")
"""The names of environment variables that may contain a key; no workflow can send any other."""
LARGEST_REPLY: Final = 1 << 20
"""Largest size of a server's reply in bytes."""

_TEMPORARY: Final = frozenset({408, 409, 425, 429})
"""The status codes below 500 after which another attempt may succeed."""
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
"""A character in JSON, by its number."""
_SHOWN: Final = 300
"""Number of characters of a server's words in an error message."""


class EndpointError(MinibrainsError):
    """A server did not answer, or not in the form that was expected."""


class TemporaryError(EndpointError):
    """The same question may be answered at the next attempt."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds to wait before the next attempt, as the server asks for; None: it does not."""


class Reply(NamedTuple):
    """The answer of a server's model."""

    text: str
    tokens: int
    """Number of tokens of the question, 0 if the server does not count them."""


class ChatEndpoint:
    """The address of a server, the name of a model there, and the key.

    Source: OpenAI, API Reference, Create chat completion.
    """

    def __init__(self, address: str, model: str, key: str = "") -> None:
        """Remember where and how to ask.

        Args:
            address: The address of the API, such as `http://127.0.0.1:8000/v1`.
            model: The name of the model on that server.
            key: The key; empty: none is sent.
        """
        self.url = f"{address.rstrip('/')}/chat/completions"
        self._model = model
        self._key = key

    async def ask(
        self, session: aiohttp.ClientSession, image: np.ndarray | None, prompt: str, max_tokens: int
    ) -> Reply:
        """Ask once.

        Args:
            session: The session of the HTTP client, which sets no limit of time.
            image: The picture, uint8 [h, w, 3]; None: only the question is sent.
            prompt: The question.
            max_tokens: The largest number of tokens of the answer.

        Raises:
            EndpointError: There is no answer.
            TemporaryError: There is none, but may be at another attempt.
        """
        import aiohttp

        content: Any = prompt
        if image is not None:
            png = base64.b64encode(encode_picture(image)).decode("ascii")
            picture = {"url": f"data:image/png;base64,{png}"}
            content = [
                {"type": "image_url", "image_url": picture},
                {"type": "text", "text": prompt},
            ]
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": content}],
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": False,
        }
        headers = {"Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            # a redirection could lead the picture and the key anywhere
            async with session.post(
                self.url, json=body, headers=headers, allow_redirects=False
            ) as response:
                reply = await self._read(response)
                self._check_status(response, reply)
        except aiohttp.ClientConnectorError as error:
            reason = os.strerror(error.errno) if error.errno else text_of(error.os_error)
            raise TemporaryError(
                f"{self.url}: cannot connect ({self._shown(reason)}); is the server running there?"
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise TemporaryError(f"{self.url}: {self._shown(text_of(error))}") from None
        return self._parse(reply)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        reply = bytearray()
        async for part in response.content.iter_any():
            reply += part
            if len(reply) > LARGEST_REPLY:
                raise EndpointError(
                    f"{self.url}: the reply is longer than {LARGEST_REPLY} bytes; "
                    "expected a chat completion"
                )
        return bytes(reply)

    def _check_status(self, response: aiohttp.ClientResponse, reply: bytes) -> None:
        status = response.status
        if status == 200:
            return
        message = f"{self.url}: status {status}: {self._shown(reply.decode('utf-8', 'replace'))}"
        if status in (401, 403):
            raise EndpointError(f"{message}; expected a valid key in the variable that key names")
        if status == 404:
            raise EndpointError(f"{message}; expected the address of an API and one of its models")
        if status in _TEMPORARY or status >= 500:
            raise TemporaryError(message, _seconds(response.headers.get("Retry-After", "")))
        raise EndpointError(message)

    def _parse(self, reply: bytes) -> Reply:
        try:
            completion = json.loads(reply)
            text = completion["choices"][0]["message"]["content"]
            usage = completion.get("usage")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            text = usage = None
        if not isinstance(text, str):
            raise EndpointError(
                f"{self.url}: the reply is not a chat completion with a text: "
                f"{self._shown(reply.decode('utf-8', 'replace'))}"
            )
        tokens = 0
        if isinstance(usage, Mapping) and type(usage.get("prompt_tokens")) is int:
            tokens = usage["prompt_tokens"]
        return Reply(self._without_key(text), tokens)

    def _shown(self, words: str) -> str:
        """Return a server's words for an error message: on one line, without escapes of JSON, which
        could hide the key, and without the key.
        """
        words = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), words).replace("\\/", "/")
        words = " ".join(self._without_key(words).split())
        if len(words) > _SHOWN:
            return f"{words[:_SHOWN]}…"
        return words

    def _without_key(self, words: str) -> str:
        """Return a server's words without the key, which some servers repeat. Answers are written
        down as well: on tapes, and in logs of decisions.
        """
        if not self._key:
            return words
        return words.replace(self._key, "…")


def _seconds(text: str) -> float | None:
    """Return the seconds of a Retry-After header; None if it names none, or a date."""
    if re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text, re.ASCII):
        return float(text)
    return None


# -- addresses and keys, which a workflow from a stranger names ------------------------------------


def check_address(address: str, example: str = "http://127.0.0.1:8000/v1") -> None:
    """Check the address of a server, like `example`. Raises MinibrainsError."""
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_address = is_address and not re.search(r"[\s%]", parts.netloc)
        _ = parts.port
    except ValueError:
        is_address = False
    # not repeated, because it may contain a password
    if not is_address or "@" in address or "?" in address or "#" in address:
        raise MinibrainsError(
            f"the endpoint is not the address of a server; expected one like {example}, without a "
            "password and without parameters"
        )


def check_key_name(name: str) -> None:
    """Check the name of a key's environment variable; empty: no key. Raises MinibrainsError."""
    if name and not KEY_NAME.fullmatch(name):
        # not repeated, because it may be the key itself
        raise MinibrainsError(
            "key is not the name of a key's environment variable; expected one like LAB_API_KEY, "
            "never the key itself"
        )


def find_key(name: str, address: str) -> str:
    """Return the key in an environment variable. An empty name means no key.

    A key in LAB_API_KEY is sent only to the server that LAB_BASE_URL names: otherwise a stranger's
    workflow could have it sent anywhere.

    Raises:
        MinibrainsError: It is not set, cannot be sent, or is for another server.
    """
    if not name:
        return ""
    key = os.environ.get(name, "").strip()
    if not key:
        raise MinibrainsError(f"the environment variable {name} is not set; expected a key there")
    if not re.fullmatch(r"[!-~]+", key, re.ASCII):
        raise MinibrainsError(f"the environment variable {name} has characters that no key has")
    place = name.removesuffix("_API_KEY") + "_BASE_URL"
    if _origin(os.environ.get(place, "")) != _origin(address):
        raise MinibrainsError(
            f"the key in {name} is not for {_origin(address)}; to send it there, "
            f"set the environment variable {place} to {address}"
        )
    return key


def _origin(address: str) -> str:
    """Return the part of an address that names the server."""
    parts = urlsplit(address)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{parts.hostname}:{port}"


# -- a server that does not answer -----------------------------------------------------------------


class CircuitBreaker:
    """A guard that refuses at once what has failed several times in succession.

    After `limit` failures, its `with` block is refused for `pause` seconds. Then one is let
    through: if it fails as well, the next pause begins.

    Source: M. T. Nygard, Release It!, 2nd edition, 2018, chapter 5.
    """

    def __init__(self, limit: int, pause: float) -> None:
        self._limit = limit
        self._pause = pause
        self._failures = 0
        self._opens = 0.0
        """The time from which it lets through again."""
        self._last = ""

    def __enter__(self) -> None:
        if self._failures >= self._limit and monotonic() < self._opens:
            raise EndpointError(
                f"not asked: the last {self._failures} questions failed, and it is asked again "
                f"{self._pause:g} s after the last one: {self._last}"
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._failures = 0
            return
        self._failures += 1
        self._opens = monotonic() + self._pause
        self._last = text_of(error)
