"""The command `serve`: the editor in the browser, and the service that runs workflows."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

from aiohttp import web

from minibrains.disk_cache import disk_cache
from minibrains.errors import MinibrainsError
from minibrains.files import home
from server.cli import DONE
from server.commands.workflow_arguments import read_registry
from server.http.app import LOCK, ServiceSettings, make_app, make_runner
from server.http.guard import is_loopback
from server.http.threads import DaemonPool

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM; a second one ends the process at once.

    Raises MinibrainsError if the address cannot be used.
    """
    registry = read_registry(arguments)
    disk_cache()  # an invalid size of the cache is reported now, instead of by each worker
    token = arguments.token or None
    if not token and not is_loopback(arguments.host):
        token = secrets.token_urlsafe(24)
    files = [Path(file).absolute() for file in arguments.pack]
    if arguments.data:
        data = Path(arguments.data)
    else:
        data = home()
    settings = ServiceSettings(
        data=data,
        host=arguments.host,
        token=token,
        parallel=arguments.parallel or max(2, os.cpu_count() or 1),
        packs=not arguments.no_packs,
        files=tuple(files),
    )
    asyncio.run(_serve(make_app(settings, registry), settings, arguments.port, arguments.json))
    return DONE


async def _serve(app: web.Application, settings: ServiceSettings, port: int, as_json: bool) -> None:
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.set_default_executor(DaemonPool(min(32, (os.cpu_count() or 1) + 4)))

    def end(number: int, frame: FrameType | None) -> None:
        # the next signal has its default effect, which ends the process whatever hangs here
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        with suppress(RuntimeError):  # the event loop has ended, and the process is about to end
            loop.call_soon_threadsafe(over.set)

    for each in _SIGNALS:
        signal.signal(each, end)
    runner = make_runner(app)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, settings.host, port).start()
        except OSError as error:
            raise MinibrainsError(
                f"the server cannot listen on {settings.host}:{port}: {error.strerror or error}. "
                "Choose another --port"
            ) from None
        port = runner.addresses[0][1]
        address = _address(settings, port)
        app[LOCK].announce(address)
        _announce(settings, address, port, as_json)
        await over.wait()
    finally:
        await runner.cleanup()


def _address(settings: ServiceSettings, port: int) -> str:
    """Return the address of the server for a browser on this machine."""
    host = settings.host
    if host in ("0.0.0.0", "::", ""):
        host = "127.0.0.1"
    elif ":" in host:
        host = f"[{host}]"
    return f"http://{host}:{port}/"


def _announce(settings: ServiceSettings, address: str, port: int, as_json: bool) -> None:
    """Print the address, once the server can be reached there."""
    opened = address
    if settings.token:
        opened += f"?token={settings.token}"
    if as_json:
        print(
            json.dumps(
                {
                    "address": address,
                    "open": opened,
                    "host": settings.host,
                    "port": port,
                    "data": str(settings.data),
                }
            )
        )
    else:
        print(f"Minibrains is at {opened} (Ctrl-C ends it)")
    sys.stdout.flush()
