"""Choose where workers run: as processes of this machine, given their number,
or on a Ray cluster, given its address.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from minibrains.errors import MinibrainsError
from minibrains.process.pool import Launcher

_MAX_WORKERS = 1024


def choose_launcher(text: str) -> Launcher | None:
    """Return the launcher that `--workers` asks for; None to play in this process.

    Raises MinibrainsError.
    """
    if text.startswith("ray://"):
        return _ray(text)
    count = _count(text)
    if count is None:
        raise MinibrainsError(
            f"workers: expected a whole number from 1 to {_MAX_WORKERS}, or ray://HOST:PORT, "
            f"found {text!r}"
        )
    if count == 1:
        return None
    from minibrains.process.local import ProcessLauncher

    return ProcessLauncher(count)


def _ray(text: str) -> Launcher:
    from minibrains.process.ray import RayLauncher

    expected = (
        "expected ray://HOST:PORT, ray://auto or ray://local, "
        "each with ?n=2 for the number of workers"
    )
    try:
        parts = urlsplit(text)
        query = dict(
            parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        )
        named = parts.netloc in ("auto", "local") or parts.port is not None
    except ValueError:
        named = False
    if not named or parts.path.strip("/") or parts.fragment or query.keys() - {"n"}:
        raise MinibrainsError(f"workers: {expected}, found {text!r}")
    count = None
    if "n" in query:
        count = _count(query["n"])
        if count is None:
            raise MinibrainsError(
                f"workers: {expected}, a whole number from 1 to {_MAX_WORKERS}, found {text!r}"
            )
    address = parts.netloc if parts.netloc in ("auto", "local") else f"ray://{parts.netloc}"
    return RayLauncher(address, count)


def _count(text: str) -> int | None:
    whole = text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= _MAX_WORKERS
    if whole:
        return int(text)
    return None
