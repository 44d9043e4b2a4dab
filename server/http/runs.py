"""The runs of this server: a queue, worker processes that take from it, and what is to be seen of each run."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from minibrains.errors import Fault, MinibrainsError, RunError, as_error
from minibrains.graph.workflow import RunSettings, Workflow, parse_workflow
from minibrains.run.folder import RunFolder
from minibrains.run.spec import RunSpec
from server.http.folders import DataFolders
from server.http.history import History
from server.http.orders import Order, OrderWord, Outcome, ReportWord, Watch, WorkerRecipe
from server.http.pending import PendingRequests
from server.http.scene import Scene
from server.http.slot import Slot

Tell = Callable[["Run", str, dict[str, Any]], None]
"""Told of everything that happens to a run: an event's name and what belongs to it."""
_KEPT: Final = 50
"""Runs that are over and still kept in memory, with their last pictures."""
_SAID: Final = 200
"""Lines that are kept of what a run says."""


@dataclass(eq=False)
class Run:
    """One run, from its request to its end."""

    prompt_id: str
    number: float
    workflow: Workflow
    settings: RunSettings
    client_id: str | None
    extra: Mapping[str, Any]
    data: Mapping[str, Any]
    """The workflow as it was sent, or as it was last edited."""
    sequence: int
    """In which place it was asked for, whatever its number says."""
    scene: Scene = field(default_factory=Scene)
    pictures: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Node -> number and message of its newest picture."""
    wanted: set[str] = field(default_factory=set)
    """Nodes whose next picture the worker was asked for."""
    watch: Watch = field(default_factory=Watch)
    said: list[dict[str, Any]] = field(default_factory=list)
    slot: Slot | None = None
    folder: RunFolder | None = None
    outcome: Outcome | None = None
    asked: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    """Answers of the worker that are waited for."""

    @property
    def state(self) -> str:
        return str(self.scene.parts["run"]["state"])

    @state.setter
    def state(self, state: str) -> None:
        self.scene.put("run", {"state": state})

    @property
    def over(self) -> bool:
        return self.state in ("done", "failed", "stopped")

    def tell(self, word: Any, content: Any = None) -> None:
        """Give the worker an order, if there is one yet."""
        if self.slot is not None and not self.over:
            self.slot.tell(word, content)

    def request(self) -> dict[str, Any]:
        """Return who asked for it, as it stands in files."""
        return {
            "prompt_id": self.prompt_id,
            "number": self.number,
            "client_id": self.client_id,
            "extra_data": dict(self.extra),
        }

    def details(self) -> dict[str, Any]:
        """All of its present state: what a client needs that comes back."""
        parts = self.scene.parts
        summary = self.outcome.summary if self.outcome else None
        return {
            "prompt_id": self.prompt_id,
            **parts["run"],
            "workflow": self.data,
            "settings": self.workflow.raw.get("run", {}),
            "nodes": parts["nodes"],
            "values": parts["values"],
            "said": self.said,
            "result": summary,
            "error": summary.get("error") if summary else None,
        }


class Runs:
    """Takes requests, starts them on free workers, hears what becomes of them."""

    def __init__(self, folders: DataFolders, history: History, recipe: WorkerRecipe, parallel: int, tell: Tell) -> None:
        """`parallel`: how many runs go at once, each in a worker of its own."""
        self.queue: list[Run] = []
        self.known: dict[str, Run] = {}
        """Runs that wait or run, and the last that are over."""
        self._folders, self._history, self._recipe, self._parallel, self._tell = folders, history, recipe, parallel, tell
        self._pending = PendingRequests(folders.queue)
        self._slots: dict[Slot, Run | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._counter = 0
        self._questions = 0
        self._closing = False

    @property
    def running(self) -> list[Run]:
        return [run for run in self._slots.values() if run is not None]

    @property
    def remaining(self) -> int:
        return len(self.queue) + len(self.running)

    async def start(self) -> None:
        """Go on with what waited when the last server ended. Make one worker warm before anybody asks."""
        self._counter = max(self._pending.sequences(), default=0)
        for run in await asyncio.to_thread(self._read_pending):
            self._add(run)
        self._add_slot()
        self._fill()

    async def close(self) -> None:
        """End every run and every worker. What waits is for the next server."""
        self._closing = True
        for task in list(self._tasks):
            await asyncio.wait([task])
        await asyncio.gather(*(slot.close() for slot in list(self._slots)))

    def next_number(self) -> int:
        self._counter += 1
        return self._counter

    async def submit(self, run: Run) -> None:
        """Put a run into the queue, once that is on the disk; lower numbers run first. Raises OSError."""
        request = {**run.request(), "workflow": run.data}
        await asyncio.to_thread(self._pending.add, run.sequence, request)
        self._add(run)
        self._fill()

    async def cancel(self, prompt_ids: Collection[str]) -> None:
        """Take runs out of the queue. Raises OSError."""
        cancelled = [run for run in self.queue if run.prompt_id in prompt_ids]
        for run in cancelled:
            self.queue.remove(run)
            run.state = "stopped"
            self._tell(run, "cancelled", {})
        self._forget_old()
        await asyncio.to_thread(self._pending.remove, *(run.sequence for run in cancelled))

    async def stop(self, run: Run) -> None:
        """End a run after its current tick. The second time its worker is ended, whatever it is doing."""
        if run in self.queue:
            await self.cancel([run.prompt_id])
        elif not run.over and run.slot is not None:
            if run.state == "stopping":
                run.slot.kill()
            run.state = "stopping"
            run.tell("stop")
            self._tell(run, "changed", {})

    async def edit(self, run: Run, workflow: Mapping[str, Any]) -> dict[str, Any]:
        """Change the graph of a running run: `changed` in words, or `error` and `faults`."""
        found = await self._ask(run, "edit", workflow)
        if "error" not in found:
            run.data = workflow
        return found

    async def save_state(self, run: Run, node: str, name: str) -> dict[str, Any]:
        """Keep a running console's game as a save state: `state`, `game` and `file`, or `error` and `faults`."""
        return await self._ask(run, "save_state", node, name)

    async def _ask(self, run: Run, word: OrderWord, *content: Any) -> dict[str, Any]:
        """Give the worker an order and wait for its answer."""
        if run.over or run.slot is None:
            raise MinibrainsError(f"the run is {run.state}; expected one that is running")
        self._questions += 1
        number = self._questions
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        run.asked[number] = answer
        run.slot.tell(word, (number, *content))
        return await answer

    async def free(self) -> None:
        """Let go of what idle workers keep, by ending them. The next run starts a new one."""
        await asyncio.gather(*(slot.close() for slot, run in list(self._slots.items()) if run is None))

    # -- the queue ------------------------------------------------------------------------------------

    def _add(self, run: Run) -> None:
        run.state = "queued"
        self.known[run.prompt_id] = run
        self.queue.append(run)
        self.queue.sort(key=lambda run: (run.number, run.sequence))
        self._tell(run, "queued", {})

    def _read_pending(self) -> list[Run]:
        """Return the runs that waited when the last server ended. One that has a folder had begun, and is not tried again."""
        waiting = []
        for sequence in self._pending.sequences():
            try:
                run = self._read_run(sequence)
                if run.prompt_id in self._history:
                    self._pending.remove(sequence)
                else:
                    waiting.append(run)
            except (OSError, ValueError, KeyError, TypeError, MinibrainsError) as error:
                logging.getLogger(__name__).error("request %d, which waited, cannot be read: %r", sequence, error)
        return waiting

    def _read_run(self, sequence: int) -> Run:
        request = self._pending.read(sequence)
        extra, data = request["extra_data"], request["workflow"]
        workflow = parse_workflow(data, self._folders.workflow(extra.get("name")))
        return Run(
            request["prompt_id"],
            request["number"],
            workflow,
            workflow.run,
            request["client_id"],
            extra,
            data,
            sequence,
        )

    # -- workers --------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Give waiting runs to free workers; start workers for the others."""
        if self._closing:
            return
        free = [slot for slot, run in self._slots.items() if run is None and slot.ready and not slot.closing]
        for slot in free:
            if self.queue:
                self._begin(slot, self.queue.pop(0))
        idle = [slot for slot, run in self._slots.items() if run is None and not slot.closing]
        living = [slot for slot in self._slots if not slot.closing]
        for _ in range(min(len(self.queue) - len(idle), self._parallel - len(living))):
            self._add_slot()

    def _add_slot(self) -> None:
        if self._closing:
            return
        slot = Slot(self._recipe, self._hear, self._ended)
        self._slots[slot] = None
        self._spawn(self._start(slot))

    async def _start(self, slot: Slot) -> None:
        try:
            await asyncio.to_thread(slot.start)
        except (OSError, RuntimeError) as error:
            del self._slots[slot]
            for run in list(self.queue):
                self.queue.remove(run)
                self._refuse(run, f"no worker can be started: {getattr(error, 'strerror', None) or error}")

    def _begin(self, slot: Slot, run: Run) -> None:
        self._slots[slot], run.slot = run, slot
        run.state = "starting"
        self._spawn(self._order(slot, run))

    async def _order(self, slot: Slot, run: Run) -> None:
        try:
            run.folder = await asyncio.to_thread(self._make_folder, run)
        except (MinibrainsError, OSError) as error:
            self._slots[slot] = None
            self._refuse(run, str(error))
            self._fill()
            return
        self._tell(run, "started", {})
        slot.tell("play", Order(run.prompt_id, self._spec(run), run.settings, run.folder))
        slot.tell("watch", run.watch)
        for node in run.wanted:
            slot.tell("want", node)

    def _spec(self, run: Run) -> RunSpec:
        return RunSpec(
            run.workflow.with_run(run.settings),
            packs=self._recipe.files,
            installed_packs=self._recipe.packs,
            record=bool(run.extra.get("record")),
            models=self._recipe.models,
        )

    def _make_folder(self, run: Run) -> RunFolder:
        folder = RunFolder(self._folders.runs, run.workflow)
        self._history.add(run.prompt_id, folder.path, {**run.request(), "started": int(time.time() * 1000)})
        self._pending.remove(run.sequence)
        return folder

    # -- what workers say -----------------------------------------------------------------------------

    def _hear(self, slot: Slot, word: ReportWord, content: Any) -> None:
        if word == "ready":
            slot.ready = True
            self._fill()
            return
        run = self._slots.get(slot)
        if run is None:
            return
        if word == "seen":
            if run.state == "stopping":
                content["run"].pop("state", None)
            for part, entries in content.items():
                run.scene.put(part, entries)
            self._tell(run, "changed", {})
        elif word == "frame":
            node, number, message = content
            run.pictures[node] = number, message
            run.wanted.discard(node)
            self._tell(run, "picture", {})
        elif word == "said":
            line = {"prompt_id": run.prompt_id, "node": content[0], "text": content[1]}
            run.said = [*run.said, line][-_SAID:]
            self._tell(run, "said", line)
        elif word == "spent":
            slot.closing = True
        elif word == "answer":
            number, answer = content
            if (waiting := run.asked.pop(number, None)) is not None and not waiting.done():
                waiting.set_result(answer)
        else:
            self._slots[slot] = None
            self._finish(run, content)
            if slot.closing:
                self._spawn(slot.close())
            self._fill()

    def _ended(self, slot: Slot) -> None:
        run = self._slots.pop(slot, None)
        if run is not None:
            words = f"the worker that played this run died: {slot.last_words()}"
            if run.state == "stopping":
                words = f"the run did not stop, so its worker was ended: {slot.last_words()}"
            self._finish(run, self._failed(run, words))
        elif not slot.ready and not slot.closing and not self._closing and self.queue:
            first = self.queue.pop(0)
            self._refuse(first, f"a worker could not start: {slot.last_words()}")
        self._fill()

    def _refuse(self, run: Run, words: str) -> None:
        """End a run that could not begin."""
        self._finish(run, self._failed(run, words))
        self._spawn(asyncio.to_thread(self._pending.remove, run.sequence))

    def _failed(self, run: Run, words: str) -> Outcome:
        """The outcome of a run that could not write its own; goes into its folder as well."""
        summary: dict[str, Any] = {**as_error(RunError(words)), "state": "failed", "seed": run.settings.seed}
        if run.folder is not None:
            summary |= {"episodes": _episodes(run.folder.path), "run_dir": str(run.folder.path)}
            try:
                run.folder.finish(summary)
            except RunError as error:
                summary["error"]["message"] += f"; {error}"
        return Outcome("failed", summary, exception="WorkerDied")

    def _finish(self, run: Run, outcome: Outcome) -> None:
        run.outcome = outcome
        run.slot = None
        run.wanted.clear()
        for waiting in run.asked.values():
            if not waiting.done():
                error = "the run ended before that could be done"
                waiting.set_result({"error": error, "faults": [Fault(error, code="request_failed").as_json()]})
        if outcome.state == "failed" and outcome.node is not None:
            was = run.scene.parts["nodes"].get(outcome.node, {"runs": 0, "us": None})
            message = outcome.summary["error"]["message"]
            run.scene.put("nodes", {outcome.node: {**was, "state": "failed", "error": message}})
        run.state = outcome.state
        self._tell(run, "over", {})
        self._forget_old()

    def _forget_old(self) -> None:
        over = [known for known in self.known.values() if known.over]
        for known in over[:-_KEPT]:
            del self.known[known.prompt_id]

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _episodes(folder: Path) -> list[Any]:
    """What a run had played before it died: each episode is on the disk as soon as it is over."""
    try:
        lines = (folder / "episodes.jsonl").read_bytes().splitlines()
    except OSError:
        return []
    episodes = []
    for line in lines:
        try:
            episode = json.loads(line)
        except ValueError:  # the last line was cut
            break
        episodes.append(episode)
    return episodes
