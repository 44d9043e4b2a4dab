"""The games on this machine, with their save states and variables, which the editor offers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final

from aiohttp import web

from minibrains.errors import GameError, MinibrainsError, sentence
from minibrains.games.catalog import Game, find_game, games_here
from minibrains.games.splits import Splits
from nodes.consoles.state_pictures import state_pictures
from server.http.http_errors import RequestError

_GAMES_KEPT: Final = 4
"""Number of games whose pictures are kept in memory."""
_PLAYERS: Final = 1
"""Number of players whose default state is told."""


class GameRoutes:
    """The games whose ROM is on this machine."""

    def __init__(self) -> None:
        self._pictures: dict[tuple[Any, ...], Mapping[str, bytes]] = {}
        """Pictures by the game and the state of its files, the game that was asked for last at the
        end."""
        self._drawing = asyncio.Lock()
        """Held while pictures are drawn, so that all pictures of a game are drawn once."""

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/games", self.names)
        yield web.get("/games/{name}", self.game)
        yield web.get("/games/{name}/picture", self.picture)

    async def names(self, request: web.Request) -> web.Response:
        """Answer GET /games: the names of all games whose ROM is here."""
        return web.json_response(await asyncio.to_thread(lambda: list(games_here())))

    async def game(self, request: web.Request) -> web.Response:
        """Answer GET /games/{name}: the save states and variables of a game."""
        game = await _find(request)
        return web.json_response(await asyncio.to_thread(_describe, game))

    async def picture(self, request: web.Request) -> web.Response:
        """Answer GET /games/{name}/picture: the first frame from a save state, as PNG."""
        game = await _find(request)
        state = await asyncio.to_thread(_selected, game, request.query.get("state", ""))
        pictures = await self._pictures_of(game)
        if state not in pictures:
            raise RequestError(404, "not_found", f"there is no picture of the state {state!r}")
        return web.Response(body=pictures[state], content_type="image/png")

    async def _pictures_of(self, game: Game) -> Mapping[str, bytes]:
        async with self._drawing:
            key = await asyncio.to_thread(_files, game)
            if key not in self._pictures:
                self._pictures[key] = await asyncio.to_thread(_draw, game)
            pictures = self._pictures[key] = self._pictures.pop(key)
            while len(self._pictures) > _GAMES_KEPT:
                del self._pictures[next(iter(self._pictures))]
            return pictures


def _draw(game: Game) -> Mapping[str, bytes]:
    """Return the pictures of a game; none if they cannot be drawn, which is not tried again."""
    try:
        return state_pictures(game)
    except (ImportError, MinibrainsError) as error:
        logging.getLogger(__name__).warning(
            "no pictures of the states of %s: %s", game.name, sentence(error)
        )
        return {}


async def _find(request: web.Request) -> Game:
    try:
        return await asyncio.to_thread(find_game, (request.match_info["name"],))
    except GameError as error:
        raise RequestError(404, "not_found", str(error)) from None


def _describe(game: Game) -> dict[str, Any]:
    states = game.states()
    there = set(states)
    splits: dict[str, list[str]] = {}
    found = Splits.of(game)
    if found is not None:
        for split, names in found.parts.items():
            splits[split] = [name for name in sorted(names) if name in there]
    return {
        "name": game.name,
        "default_state": game.default_state(_PLAYERS),
        "states": states,
        "splits": splits,
        "variables": game.variables(),
    }


def _selected(game: Game, text: str) -> str:
    """Return the first state that a text of the widget `states` selects; for an empty one,
    the default state.

    Raises GameError if there is none.
    """
    if "/" in text:
        splits = Splits.of(game)
        if splits is None:
            raise GameError(f"the game {game.name!r} has no splits")
        return next(iter(splits.select(text)))
    return text or game.default_state(_PLAYERS) or ""


def _files(game: Game) -> tuple[Any, ...]:
    """Return a key that changes when the ROM or a save state does."""
    key: list[Any] = [game.name, game.rom.stat().st_mtime_ns]
    for state, file in sorted(game.state_files().items()):
        key += [state, file.stat().st_mtime_ns]
    return tuple(key)
