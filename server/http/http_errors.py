"""HTTP errors in one JSON form, and functions that read request bodies and may raise them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from minibrains.errors import MinibrainsError, faults_of
from minibrains.values import parse_json
from server.http.folders import BadName

REQUEST_TIMEOUT: Final = web.AppKey("request_timeout", float)
"""Seconds that a client gets to send a request or, in an upload, the next part."""
_LARGE: Final = 1 << 16
"""Size in bytes from which a body is parsed on a thread. A smaller one takes a millisecond and need
not wait for threads."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class RequestError(Exception):
    """A request that is answered with an error. `more` are further entries of the answer."""

    def __init__(
        self, status: int, type_: str, message: str, details: str = "", **more: Any
    ) -> None:
        super().__init__(message)
        self.status, self.type, self.details, self.more = status, type_, details, more


def error_response(
    status: int, type_: str, message: str, details: str = "", **more: Any
) -> web.Response:
    """Return an error response in the form that ComfyUI's clients expect."""
    error = {"type": type_, "message": message, "details": details, "extra_info": {}}
    return web.json_response({"error": error, **more}, status=status)


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer with JSON if the handler raises, whatever the exception."""
    try:
        return await handler(request)
    except RequestError as error:
        return error_response(error.status, error.type, str(error), error.details, **error.more)
    except BadName as error:
        return error_response(400, "bad_name", str(error))
    except MinibrainsError as error:
        return error_response(400, "bad_request", str(error), faults=faults_of(error))
    except web.HTTPRequestEntityTooLarge as error:
        return error_response(
            413,
            "too_large",
            f"the body is larger than {request.client_max_size} bytes",
            str(error.text),
        )
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return error_response(
            error.status, "http", f"{request.method} {request.path}: {error.reason}"
        )
    except OSError as error:
        return error_response(
            500, "disk", f"{error.filename or request.path}: {error.strerror or error}"
        )
    except Exception as error:
        logging.getLogger(__name__).exception("%s %s failed", request.method, request.path)
        return error_response(
            500, "internal", f"a fault in Minibrains itself: {type(error).__name__}: {error}"
        )


async def read_body(request: web.Request) -> bytes:
    """Return the whole body. Raises RequestError if it does not arrive in time."""
    try:
        async with asyncio.timeout(request.app[REQUEST_TIMEOUT]):
            return await request.read()
    except TimeoutError:
        raise too_slow(request) from None


def too_slow(request: web.Request) -> RequestError:
    """Return the error for a request whose body arrives too slowly."""
    return RequestError(
        408,
        "too_slow",
        f"the body did not come within {request.app[REQUEST_TIMEOUT]:g} s; send it again",
    )


async def read_object(request: web.Request) -> dict[str, Any]:
    """Return the body, a JSON object; an empty body counts as {}. Raises RequestError."""
    data = await read_body(request)
    body: Any = {}
    try:
        if data.strip():
            body = await _parse(data)
    except ValueError as error:
        raise RequestError(400, "no_json", f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise RequestError(
            400, "no_json", f"the body is not a JSON object, but {type(body).__name__}"
        )
    return body


async def _parse(data: bytes) -> Any:
    if len(data) < _LARGE:
        return parse_json(data)
    return await asyncio.to_thread(parse_json, data)


def texts(body: dict[str, Any], key: str) -> list[str]:
    """Return a list of strings from a body; empty if it is missing. Raises RequestError."""
    found = body.get(key, [])
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise RequestError(400, "bad_request", f"{key!r} is not a list of texts")
    return found


def text(body: dict[str, Any], key: str) -> str | None:
    """Return a string from a body; None if it is missing. Raises RequestError."""
    found = body.get(key)
    if found is not None and (not isinstance(found, str) or len(found) > 200):
        raise RequestError(400, "bad_request", f"{key!r} is not a text of at most 200 characters")
    return found


def whole_number(request: web.Request, key: str) -> int | None:
    """Return a number from a query; None if it is missing. Raises RequestError."""
    found = request.query.get(key)
    if found is None:
        return None
    try:
        return int(found[:12])
    except ValueError:
        raise RequestError(
            400, "bad_request", f"{key!r} is {found[:50]!r}; expected a whole number"
        ) from None
