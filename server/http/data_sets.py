"""The user's data sets: looking at samples, correcting labels, and asking brains about them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from aiohttp import web

from minibrains.brain_file import read_header
from minibrains.errors import BrainError, DataError, MinibrainsError
from minibrains.files import home
from nodes.training.asked_brains import KINDS, Answers, questions_of, refusal
from nodes.training.data_set import Corrections, DataSet
from nodes.training.sample_table import Agreement, Kept, SampleFilter, SampleTable, Sorting
from server.http.asking import Asker, Asking
from server.http.brain_files import BrainFiles
from server.http.http_errors import RequestError, read_object, text, whole_number

_SHOWN: Final = 60
"""Default number of samples in GET /data/{name}/samples."""
_MOST_SHOWN: Final = 1000
_MOST_QUESTION: Final = 20_000
"""Largest number of characters of a question."""
_CHOICES: Final = {
    "kept": get_args(Kept),
    "answer": get_args(Agreement),
    "order": get_args(Sorting),
}
_FLAGS: Final = {"true": True, "false": False}
T = TypeVar("T")


class DataSets:
    """The data sets in `data/` of $MINIBRAINS_HOME."""

    def __init__(
        self,
        models: Path,
        brains: BrainFiles,
        changed: Callable[[str], None],
        broadcast: Callable[[str, Any], None],
    ) -> None:
        """Serve data sets.

        Args:
            models: The user's folder of brains.
            brains: The brains that can be asked.
            changed: Called with "data" after each correction.
            broadcast: Sends all pages an event, given its type and data.
        """
        self._brains, self._changed = brains, changed
        self._known: dict[str, DataSet] = {}
        """Data sets that were read, which need not read unchanged files again."""
        self._reading = asyncio.Lock()
        """Held while data sets are read, so that any number of requests uses only one thread of the
        server."""
        self._asker = Asker(models, lambda asking: broadcast("asking", asking.describe()))

    def routes(self) -> Iterator[web.RouteDef]:
        """Yield the routes."""
        yield web.get("/data", self.list)
        yield web.get("/data/{name}", self.overview)
        yield web.get("/data/{name}/samples", self.samples)
        yield web.get("/data/{name}/samples/{episode}/{tick}", self.sample)
        yield web.get("/data/{name}/samples/{episode}/{tick}/picture", self.picture)
        yield web.post("/data/{name}/correct", self.correct)
        yield web.get("/data/{name}/brains", self.brains)
        yield web.get("/data/{name}/asking", self.asking)
        yield web.post("/data/{name}/asking", self.ask)
        yield web.post("/data/{name}/asking/stop", self.stop)

    def close(self) -> None:
        """End the process that asks a brain."""
        self._asker.stop()

    # -- looking -----------------------------------------------------------------------------------

    async def list(self, request: web.Request) -> web.Response:
        """Answer GET /data: all data sets, with counts."""
        return web.json_response(await self._read(self._list))

    def _list(self) -> Sequence[dict[str, Any]]:
        folders = sorted(path for path in (home() / "data").glob("[!.]*") if path.is_dir())
        return [_summary(self._data(folder.name)) for folder in folders]

    async def overview(self, request: web.Request) -> web.Response:
        """Answer GET /data/{name}: the game, the actions, the episodes of a data set."""
        data = self._find(request)
        return web.json_response(await self._read(lambda: self._overview(data)))

    def _overview(self, data: DataSet) -> dict[str, Any]:
        table = self._table(data)
        left = Counter(table.episodes[table.select(SampleFilter())].tolist())
        episodes = []
        for number, info in enumerate(table.infos):
            about = {
                "episode": info.key,
                "state": info.state,
                "outcome": info.outcome,
                "workflow": info.workflow,
                "seed": info.seed,
                "number": info.episode,
                "ticks": info.ticks,
                "samples": left[number],
                "deleted": info.samples - left[number],
            }
            episodes.append(about)
        asked, agreed = table.agreement()
        return {
            **_summary(data),
            "folder": str(data.folder),
            "actions": table.actions,
            "episodes": episodes,
            "labels": _counts(table, SampleFilter()),
            "corrected": len(table.select(SampleFilter(kept="corrected"))),
            "deleted": len(table.select(SampleFilter(kept="deleted"))),
            "asked": asked,
            "agreed": agreed,
        }

    async def samples(self, request: web.Request) -> web.Response:
        """Answer GET /data/{name}/samples: a page of the samples that a filter selects."""
        data, wanted = self._find(request), _filter(request)
        offset = whole_number(request, "offset") or 0
        limit = whole_number(request, "limit")
        if limit is None:
            limit = _SHOWN
        if offset < 0 or not 0 <= limit <= _MOST_SHOWN:
            raise RequestError(
                400,
                "bad_request",
                f"'offset' is {offset} and 'limit' {limit}; expected an offset from 0, and a limit "
                f"of at most {_MOST_SHOWN}",
            )

        def select() -> dict[str, Any]:
            table = self._table(data)
            rows = table.select(wanted)
            shown = [table.describe(row) for row in rows[offset : offset + limit].tolist()]
            return {"total": len(rows), "samples": shown}

        return web.json_response(await self._read(select))

    async def sample(self, request: web.Request) -> web.Response:
        """Answer GET /data/{name}/samples/{episode}/{tick}: the variables of a sample,
        and what a model would be asked; null if nothing says it.
        """
        data, episode, tick = self._find(request), request.match_info["episode"], _tick(request)
        found = await self._read(lambda: data.sample(episode, tick))
        return web.json_response({"features": dict(found.features), "prompt": found.prompt})

    async def picture(self, request: web.Request) -> web.Response:
        """Answer GET /data/{name}/samples/{episode}/{tick}/picture: the picture, a PNG."""
        data, episode, tick = self._find(request), request.match_info["episode"], _tick(request)
        found = await self._read(lambda: data.picture(episode, tick))
        headers = {"Cache-Control": "private, max-age=3600"}  # corrections do not change it
        return web.Response(body=found, content_type="image/png", headers=headers)

    # -- correcting --------------------------------------------------------------------------------

    async def correct(self, request: web.Request) -> web.Response:
        """Answer POST /data/{name}/correct: correct labels, delete samples or bring them back."""
        data = self._find(request)
        corrections = _corrections(await read_object(request))
        await self._read(lambda: data.correct(corrections))
        self._changed("data")
        return web.json_response({"changed": sum(map(len, corrections.values()))})

    # -- asking ------------------------------------------------------------------------------------

    async def brains(self, request: web.Request) -> web.Response:
        """Answer GET /data/{name}/brains: the brains that can be asked, and why others cannot."""
        data = self._find(request)
        by_kind = await self._brains.by_kind()
        paths: dict[str, Path] = {}
        for kind in KINDS:
            paths.update((name, self._brains.find(name)) for name in by_kind.get(kind, ()))

        def describe() -> Sequence[dict[str, Any]]:
            actions = self._table(data).actions
            return [_describe_brain(name, path, actions) for name, path in paths.items()]

        return web.json_response(await self._read(describe))

    async def asking(self, request: web.Request) -> web.Response:
        """Answer GET /data/{name}/asking: how far a brain was asked, or null."""
        data, asking = self._find(request), self._asker.asking
        if asking is None or asking.data != data.folder.name:
            return web.json_response(None)
        return web.json_response(asking.describe())

    async def ask(self, request: web.Request) -> web.Response:
        """Answer POST /data/{name}/asking: begin to ask a brain."""
        data, body = self._find(request), await read_object(request)
        file, episode = text(body, "brain"), text(body, "episode")
        question = body.get("question") or ""
        if file is None or not isinstance(question, str) or len(question) > _MOST_QUESTION:
            message = (
                "expected 'brain', the name of a brain, and 'question', "
                f"a text of at most {_MOST_QUESTION} characters"
            )
            raise RequestError(400, "bad_request", message)
        running = self._asker.asking
        if running is not None and running.state == "running":
            raise RequestError(
                409,
                "busy",
                f"{running.brain} is being asked about {running.data}; stop that, or wait",
            )
        path = self._brains.find(file)

        def prepare() -> Asking:
            table = self._table(data)
            reason = _describe_brain(file, path, table.actions)["fault"]
            if reason:
                raise MinibrainsError(f"{file} cannot be asked about {data.folder.name}: {reason}")
            total = len(table.select(SampleFilter(episode=episode)))
            return Asking(data.folder.name, file, question, episode, total)

        asking = await self._read(prepare)
        await self._asker.start(asking, data, path)
        return web.json_response(asking.describe())

    async def stop(self, request: web.Request) -> web.Response:
        """Answer POST /data/{name}/asking/stop: end it; the answers that there are stay."""
        data, asking = self._find(request), self._asker.asking
        if asking is None or asking.data != data.folder.name:
            return web.json_response(None)
        self._asker.stop()
        return web.json_response(asking.describe())

    # -- reading -----------------------------------------------------------------------------------

    def _find(self, request: web.Request) -> DataSet:
        """Return the data set of a request. Raises RequestError if it is not there."""
        name = request.match_info["name"]
        try:
            data = self._data(name)
            is_there = data.folder.is_dir()
        except DataError:
            is_there = False
        if not is_there:
            raise RequestError(404, "not_found", f"there is no data set {name[:200]!r}")
        return data

    def _data(self, name: str) -> DataSet:
        if name not in self._known:
            self._known[name] = DataSet.named(name)
        return self._known[name]

    def _table(self, data: DataSet) -> SampleTable:
        """Return the samples, with the latest answers. Raises DataError."""
        asking, answers = self._asker.asking, dict[str, Answers]()
        if asking is not None and asking.data == data.folder.name:
            answers = dict(asking.answers)
        return SampleTable(data, answers)

    async def _read(self, work: Callable[[], T]) -> T:
        """Read or correct on a thread, one request after another."""
        async with self._reading:
            return await asyncio.to_thread(work)


def _summary(data: DataSet) -> dict[str, Any]:
    """Return the counts of a data set, or the fault because of which it cannot be read."""
    about: dict[str, Any] = {"name": data.folder.name, "game": None, "fault": None}
    about |= {"count": 0, "samples": 0, "size": 0, "modified": 0}
    try:
        names = data.names()
        if names and not data.files():  # people have deleted all samples, and can restore them
            return {**about, "game": data.read_original(names[0]).info.game}
        labels = data.labels()
    except DataError as error:
        return {**about, "fault": str(error)}
    stats = [episode.path.stat() for episode in labels]
    modified = max(stat.st_mtime for stat in stats)
    return {
        **about,
        "game": labels[0].info.game,
        "count": len(labels),
        "samples": sum(map(len, labels)),
        "size": sum(stat.st_size for stat in stats),
        "modified": int(1000 * modified),
    }


def _counts(table: SampleTable, wanted: SampleFilter) -> list[int]:
    """Return the number of samples with each action as their label."""
    counts = Counter(table.labels[table.select(wanted)].tolist())
    return [counts[action] for action in range(len(table.actions))]


def _describe_brain(name: str, path: Path, actions: tuple[str, ...]) -> dict[str, Any]:
    """Return what a page says of a brain that could be asked about these actions."""
    about: dict[str, Any] = {"file": name, "title": None, "kind": None, "questions": []}
    try:
        header = read_header(path)
    except BrainError as error:
        return {**about, "fault": str(error)}
    return {
        **about,
        "title": header.metadata.get("title"),
        "kind": header.kind,
        "questions": questions_of(header),
        "fault": refusal(header, actions) or None,
    }


def _filter(request: web.Request) -> SampleFilter:
    """Return the filter of a query. Raises RequestError."""
    query: Mapping[str, str] = request.query
    wanted: dict[str, Any] = {"label": whole_number(request, "label")}
    wanted["episode"] = query.get("episode") or None
    if "actionable" in query:
        wanted["actionable"] = _FLAGS.get(query["actionable"])
        if wanted["actionable"] is None:
            raise _expected("actionable", query["actionable"], tuple(_FLAGS))
    for name, choices in _CHOICES.items():
        if name in query:
            wanted[name] = query[name]
            if query[name] not in choices:
                raise _expected(name, query[name], choices)
    return SampleFilter(**wanted)


def _expected(name: str, found: str, choices: tuple[str, ...]) -> RequestError:
    message = f"{name!r} is {found[:50]!r}; expected one of {', '.join(choices)}"
    return RequestError(400, "bad_request", message)


def _tick(request: web.Request) -> int:
    found = request.match_info["tick"]
    if not (found.isascii() and found.isdigit() and len(found) <= 12):
        raise RequestError(
            400, "bad_request", f"the tick is {found[:50]!r}; expected a whole number from 0"
        )
    return int(found)


def _corrections(body: dict[str, Any]) -> Corrections:
    """Return the corrections of a request. Raises RequestError."""
    found = body.get("corrections")
    expected = RequestError(
        400,
        "bad_request",
        "expected {'corrections': {EPISODE: {TICK: the number of an action, or null to delete}}}",
    )
    if not isinstance(found, dict) or not found:
        raise expected
    corrections: dict[str, dict[int, int | None]] = {}
    for key, labels in found.items():
        if not isinstance(labels, dict):
            raise expected
        read: dict[int, int | None] = {}
        for tick, label in labels.items():
            if not (tick.isascii() and tick.isdigit() and len(tick) <= 12):
                raise expected
            if label is not None and type(label) is not int:
                raise expected
            read[int(tick)] = label
        corrections[key] = read
    return corrections
