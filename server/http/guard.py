"""Access control: which clients may use the server, by machine or by token,
and what our pages may do.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

from server.http.http_errors import Handler, error_response

COOKIE: Final = "minibrains_token"
_HOST: Final = re.compile(
    r"(\[(?P<address>[0-9a-fA-F:.]+)\]|(?P<name>[0-9a-zA-Z.-]+))(:[0-9]{0,5})?"
)
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; media-src 'self' blob:; worker-src 'self' blob:; "
    "connect-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def guard(loopback: bool, token: str | None) -> Middleware:
    """Return a middleware that refuses requests from elsewhere.

    `loopback`: the server listens on this machine only, so the Host must be this machine too
    (another site can make its own name resolve to our address). `token`: must be sent in the
    address (?token=…), as a cookie, or as a bearer token; the address sets the cookie.
    """

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
        if loopback and not is_loopback(_name(host)):
            return error_response(
                403,
                "forbidden",
                f"the host {host!r} is not this machine; open http://127.0.0.1 instead",
            )
        if origin is not None and _netloc(origin) != host:
            return error_response(
                403,
                "forbidden",
                f"the request comes from a page of {origin!r}, not from this server's own",
            )
        if token is None:
            return await handler(request)
        if (
            "token" in request.query
            and request.method == "GET"
            and not request.path.endswith("/ws")
        ):
            return _let_in(request, token)
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        given = [request.cookies.get(COOKIE, ""), bearer, request.query.get("token", "")]
        if not any(_same(text, token) for text in given):
            return error_response(
                401, "token", "the token is missing or wrong; open the address that `serve` printed"
            )
        return await handler(request)

    return check


def _let_in(request: web.Request, token: str) -> web.StreamResponse:
    if not _same(request.query["token"], token):
        return error_response(
            401, "token", "the token is wrong; open the address that `serve` printed"
        )
    # //name would be another server
    rest = str(request.rel_url.without_query_params("token")).lstrip("/\\")
    answer = web.Response(status=303, headers={"Location": f"/{rest}"})
    answer.set_cookie(COOKIE, token, httponly=True, samesite="Strict", path="/")
    return answer


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), token.encode())


def _name(host: str) -> str:
    """Return the name or address in a Host header;
    "" if it does not have the form that browsers send.
    """
    match = _HOST.fullmatch(host)
    if match:
        return (match["address"] or match["name"]).lower()
    return ""


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add headers to every response: run our own scripts only, and do not guess content types."""
    response.headers.update(_HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")
