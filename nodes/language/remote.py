"""RemoteVLM: a vision-language model on a server, which is shown the fight and asked for an
action.
"""

from __future__ import annotations

import asyncio
from typing import Final

from minibrains import ABSENT, ColorFrame, Host, Node, Text, widget
from nodes.language.answering import Answer
from nodes.language.chat_endpoint import (
    ChatEndpoint,
    CircuitBreaker,
    EndpointError,
    Reply,
    TemporaryError,
    check_address,
    check_key_name,
    find_key,
)
from nodes.language.vlm import NO_ANSWER

FAILURES: Final = 5
"""Number of questions that fail in succession before the server is left alone."""
PAUSE: Final = 30.0
"""Seconds for which it is left alone."""
_FIRST_WAIT: Final = 0.5
"""Seconds before the second attempt, if the server names no time; doubled with each further one."""
_STOP_CHECK: Final = 0.1
"""Seconds between two looks at whether the run is to end."""


class RemoteVLM(
    Node,
    category="language",
    background="either",
    fallback=NO_ANSWER,
    version=2,
    renamed_widgets={1: {"most": "max_tokens"}},
):
    """Show a vision-language model on a server a picture, ask it a question, and deliver its
    answer.

    image:     uint8 [h, w, 3]; without a link, only the question is sent
    prompt:    the question
    text:      the answer
    tokens:    the number of tokens of picture and prompt, 0 if the server does not count them
    confidence, probabilities, second:  never delivered
    The server is any that has OpenAI's chat completions: vLLM, llama.cpp, Ollama. The answer is
    greedy (temperature 0). Connections that break and busy servers (status 429, 5xx) are tried
    again within the time limit. After five questions that failed in succession, the server is
    asked nothing for 30 seconds: questions fail at once. With `"on_error": "fallback"` a run goes
    on when a question fails: the answer is then an empty text.
    A key in the variable LAB_API_KEY is sent only to the server in the variable LAB_BASE_URL.
    """

    endpoint: str = widget(
        default="http://127.0.0.1:8000/v1", rebuild=True, doc="the address of the server's API"
    )
    model: str = widget(rebuild=True, doc="the name of the model on that server")
    key: str = widget(
        default="",
        rebuild=True,
        doc="the name of the environment variable with the key, like LAB_API_KEY; empty: no key",
    )
    max_tokens: int = widget(
        default=50, min=1, max=4096, doc="the largest number of tokens of the answer"
    )
    seconds: float = widget(
        default=10.0, min=0.1, max=600.0, doc="the time limit of an answer, with all attempts"
    )
    attempts: int = widget(default=3, min=1, max=10, doc="the largest number of attempts")

    def check(self) -> None:
        check_address(self.endpoint)
        check_key_name(self.key)

    def open(self, host: Host) -> None:
        self._host = host
        key = find_key(self.key, self.endpoint)
        self._server = ChatEndpoint(self.endpoint, self.model, key)
        self._breaker = CircuitBreaker(FAILURES, PAUSE)
        self._runner = asyncio.Runner()

    def close(self) -> None:
        if hasattr(self, "_runner"):
            self._runner.close()

    def tick(self, prompt: Text, image: ColorFrame | None = None) -> Answer:
        with self._breaker:
            reply = self._runner.run(self._ask(image, prompt))
        return Answer(reply.text, reply.tokens, ABSENT, ABSENT)

    async def _ask(self, image: ColorFrame | None, prompt: Text) -> Reply:
        """Ask until there is an answer, the time is up, or the run is to end."""
        asking = asyncio.create_task(self._attempt(image, prompt))
        stopped = asyncio.create_task(self._stopped())
        tasks = (asking, stopped)
        try:
            await asyncio.wait(tasks, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            if stopped.done():
                raise EndpointError("the run ended before there was an answer")
            raise EndpointError(
                f"{self._server.url}: no answer within the time limit of {self.seconds:g} s"
            )
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _attempt(self, image: ColorFrame | None, prompt: Text) -> Reply:
        import aiohttp

        clock = asyncio.get_running_loop()
        end = clock.time() + self.seconds
        attempt = 1
        no_limit = aiohttp.ClientTimeout()
        async with aiohttp.ClientSession(timeout=no_limit, auto_decompress=False) as session:
            while True:
                try:
                    return await self._server.ask(session, image, prompt, self.max_tokens)
                except TemporaryError as error:
                    wait = error.retry_after
                    if wait is None:
                        wait = _FIRST_WAIT * 2 ** (attempt - 1)
                    if attempt >= self.attempts or clock.time() + wait >= end:
                        raise
                await asyncio.sleep(wait)
                attempt += 1

    async def _stopped(self) -> None:
        while not self._host.stopping:
            await asyncio.sleep(_STOP_CHECK)
