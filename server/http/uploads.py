"""Multipart bodies of uploads, read part by part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Final, TypeVar

from aiohttp import BodyPartReader, web

from server.http.http_errors import REQUEST_TIMEOUT, RequestError, too_slow

T = TypeVar("T")
_CHUNK: Final = 1 << 20
"""Size of a chunk in bytes."""


async def read_parts(request: web.Request) -> AsyncIterator[BodyPartReader]:
    """Yield the parts of a body, except those that are multipart themselves.

    Raises RequestError.
    """
    if not request.content_type.startswith("multipart/"):
        raise RequestError(
            400, "bad_request", f"expected multipart/form-data, found {request.content_type}"
        )
    reader = await _next(request, request.multipart())
    while (part := await _next(request, reader.next())) is not None:
        if isinstance(part, BodyPartReader):
            yield part


async def read_chunks(request: web.Request, part: BodyPartReader) -> AsyncIterator[bytes]:
    """Yield the contents of a part in chunks. Raises RequestError."""
    while chunk := await _next(request, part.read_chunk(_CHUNK)):
        yield chunk


async def read_whole(request: web.Request, part: BodyPartReader, limit: int) -> bytes:
    """Return the contents of a part.

    Raises RequestError, also if it is larger than `limit` bytes.
    """
    data = bytearray()
    async for chunk in read_chunks(request, part):
        data += chunk
        if len(data) > limit:
            raise RequestError(
                413, "too_large", f"the part {part.name!r} is larger than {limit} bytes"
            )
    return bytes(data)


async def _next(request: web.Request, reading: Awaitable[T]) -> T:
    """Wait for aiohttp's next read.

    Raises RequestError if it takes too long, or the body cannot be read.
    """
    try:
        async with asyncio.timeout(request.app[REQUEST_TIMEOUT]):
            return await reading
    except TimeoutError:
        raise too_slow(request) from None
    except (ConnectionError, web.HTTPException):
        raise
    except Exception as error:  # aiohttp has no exception class of its own for a malformed body
        raise RequestError(
            400, "bad_request", f"the body is not multipart/form-data: {error}"
        ) from None
