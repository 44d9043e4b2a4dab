"""Reports on a run to the server, on a thread of its own: statistics and values as deltas,
pictures encoded.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Final

import numpy as np

from minibrains.console import Console
from minibrains.engine.engine import Engine
from minibrains.engine.plan import Plan
from minibrains.engine.stats import NodeStats
from minibrains.engine.timing import buckets
from minibrains.graph.action_names import action_names
from minibrains.hooks import NodeProgress
from server.http.described_values import describe_in_full, describe_value
from server.http.previews import Encoded, Encoder
from server.http.recent_pictures import RecentPictures
from server.http.run_controller import RunController, StatsSample
from server.http.tick_times import WHOLE_TICK
from server.http.versioned_state import PARTS
from server.http.worker_protocol import RewindRequest, RunRequest, WorkerEvent

Send = Callable[[WorkerEvent, Any], None]
_EVERY: Final = 0.05
"""Seconds between two reports."""
_RATE_OVER: Final = 1.0
"""Seconds over which the ticks per second are averaged."""
_BACKGROUND_STATES: Final = ("thinking", "restarting", "lost")


class RunReporter:
    """The reporter of one run."""

    def __init__(
        self,
        request: RunRequest | RewindRequest,
        controller: RunController,
        wake: threading.Event,
        send: Send,
    ) -> None:
        self.progress: tuple[int, float | None] = 0, None
        """Episode and score, updated by the run at intervals."""
        self.node_progress: dict[str, NodeProgress] = {}
        """The latest progress of each node that has shown any, updated on any thread."""
        self.recent_pictures = RecentPictures()
        """Those of the game: of the console that comes first in the workflow."""
        self._request, self._controller, self._wake, self._send = request, controller, wake, send
        self._lines: deque[tuple[str | None, str]] = deque()
        self._encoders: dict[str, Encoder] = {}
        self._number = 0
        self._reported: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
        self._action_names: Mapping[str, tuple[str, ...]] = {}
        """Those of the graph of `_named_plan`, by socket."""
        self._named_plan: Plan | None = None
        self._described: dict[tuple[str, str], tuple[Any, Any]] = {}
        """Part and socket -> the last value, and its description."""
        self._stats: dict[str, NodeStats] = {}
        self._history: deque[tuple[float, int]] = deque()
        self._sampled: StatsSample | None = None
        self._over = False
        self._thread = threading.Thread(
            target=self._report, name="reports to the server", daemon=True
        )
        self._thread.start()

    def say(self, text: str, node: str | None = None) -> None:
        """Report a line for people. May be called within a tick."""
        self._lines.append((node, text))
        self._wake.set()

    def close(self) -> None:
        """Send the rest, then end."""
        self._over = True
        self._wake.set()
        self._thread.join()

    def _report(self) -> None:
        due = 0.0
        while not self._over:
            # no longer than that, because a blocking node thinks within a tick
            self._wake.wait(_EVERY)
            self._wake.clear()
            self._send_lines()
            self._send_pictures()
            now = perf_counter()
            # of a run that stands still, a page waits for each change: the tick that it asked for
            if now >= due or self._controller.waiting:
                due = now + _EVERY
                self._send_changes()
        self._send_lines()
        self._send_pictures()
        self._send_changes()

    def _send_lines(self) -> None:
        while self._lines:
            self._send("message", self._lines.popleft())

    def _send_pictures(self) -> None:
        done: dict[int, tuple[np.ndarray, Encoded]] = {}  # several nodes may show the same picture
        for node in list(self._controller.pictures):
            picture, tick, when = self._controller.pictures.pop(node)
            if node not in self._encoders:
                self._encoders[node] = Encoder()
            if id(picture) not in done:
                done[id(picture)] = picture, self._encoders[node].encode(picture)
            _, encoded = done[id(picture)]
            if node == self._first_console():
                self.recent_pictures.add(when, encoded)
            self._number += 1
            about = {
                "node": node,
                "node_id": node,
                "prompt_id": self._request.prompt_id,
                "seq": self._number,
                "tick": tick,
            }
            self._send("frame", (node, self._number, encoded.message(about)))

    def _first_console(self) -> str | None:
        engine = self._controller.engine
        if engine is not None:
            for name, node in engine.nodes.items():
                if isinstance(node, Console):
                    return name
        return None

    def _send_changes(self) -> None:
        is_paused = self._controller.waiting  # first, because it is set after the sample
        engine, stats = self._controller.engine, self._controller.stats
        is_paused = is_paused and self._controller.waiting  # it may have gone on meanwhile
        if engine is None or stats is None:
            return
        values = {key: describe_value(value) for key, value in self._controller.values.items()}
        is_new = stats is not self._sampled
        nodes = self._nodes(stats, _background_states(engine))
        parts = {
            "run": self._run(stats, is_paused),
            "values": values,
            "nodes": nodes,
            **self._in_full(),
        }
        if is_new:
            parts["budget"] = self._budget(engine, stats)
        news = {part: self._new(part, entries) for part, entries in parts.items()}
        if any(news.values()):
            self._send("changes", news)

    def _in_full(self) -> dict[str, dict[str, Any]]:
        """Return descriptions of the inputs and outputs of nodes that are watched in full.

        A value is described once: values on links do not change.
        """
        parts: dict[str, dict[str, Any]] = {"inputs": {}, "outputs": {}}
        before, self._described = self._described, {}
        names = self._find_action_names()
        for node, sockets in self._controller.full.items():
            for part, values in zip(parts, sockets, strict=True):
                for name, value in values.items():
                    key = f"{node}.{name}"
                    last, description = before.get((part, key), (None, None))
                    if last is not value:
                        description = describe_in_full(value, names.get(key, ()))
                    self._described[part, key] = value, description
                    parts[part][key] = description
        return parts

    def _find_action_names(self) -> Mapping[str, tuple[str, ...]]:
        """Return `action_names` of the graph that is played, which a live edit replaces."""
        engine = self._controller.engine
        if engine is not None and self._controller.full and engine.plan is not self._named_plan:
            self._named_plan = engine.plan
            self._action_names = action_names(engine.plan.graph, engine.nodes)
        return self._action_names

    def _new(self, part: str, entries: dict[str, Any]) -> dict[str, Any]:
        reported = self._reported[part]
        news: dict[str, Any] = {}
        for key, value in entries.items():
            if key not in reported or reported[key] != value:
                news[key] = value
        reported.update(news)
        return news

    def _run(self, stats: StatsSample, is_paused: bool) -> dict[str, Any]:
        self._history.append((stats.when, stats.ticks))
        while len(self._history) > 2 and stats.when - self._history[0][0] > _RATE_OVER:
            self._history.popleft()
        first_when, first_ticks = self._history[0]
        seconds, ticks = stats.when - first_when, stats.ticks - first_ticks
        ticks_per_s = None
        if is_paused:
            ticks_per_s = 0.0
        elif seconds:
            ticks_per_s = round(ticks / seconds, 1)
        episode, score = self.progress
        return {
            "state": "paused" if is_paused else "running",
            "breakpoints": list(self._controller.hit_breakpoints),
            "at": self._at(),
            "speed": self._controller.speed,
            "episode": episode,
            "episodes": self._request.settings.episodes,
            "tick": stats.tick,
            "ticks": stats.ticks,
            "ticks_per_s": ticks_per_s,
            "score": score,
            "clock": self._request.settings.clock,
            "misses": stats.misses,
        }

    def _at(self) -> dict[str, Any] | None:
        """Describe the step after which the run stands within a tick."""
        done = self._controller.stopped_after
        if done is None:
            return None
        about: dict[str, Any] = {"node": done.node, "role": done.role}
        for side, values in (("inputs", done.inputs), ("outputs", done.outputs)):
            about[side] = {name: describe_in_full(value) for name, value in values.items()}
        return about

    def _budget(self, engine: Engine, stats: StatsSample) -> dict[str, Any]:
        """Return how the time of the last ticks was spent, by the watched nodes and in all."""
        watched = self._controller.watch.budgets
        spans = self._controller.tick_times.spans()
        if not watched or spans is None:
            return {}
        frame_us = None
        if engine.frame_rate is not None:
            frame_us = round(1e6 / engine.frame_rate, 1)
        budget: dict[str, Any] = {node: spans.of(node) for node in watched if node in spans.nodes}
        if WHOLE_TICK in watched:
            budget[WHOLE_TICK] = {**spans.whole(), "frame_us": frame_us, "missed": stats.missed}
        return budget

    def _nodes(self, stats: StatsSample, states: Mapping[str, str]) -> dict[str, Any]:
        if stats is self._sampled:  # only background nodes can have changed meanwhile
            reported = self._reported["nodes"]
            changed: dict[str, Any] = {}
            for name, state in states.items():
                if name in reported:
                    changed[name] = {**reported[name], "state": state, **self._progress(name)}
            return changed
        self._sampled = stats
        entries = {
            name: self._node(name, now, states.get(name)) for name, now in stats.nodes.items()
        }
        self._stats = dict(stats.nodes)
        return entries

    def _progress(self, name: str) -> dict[str, Any]:
        """Return the part of the report on a node that has shown its progress."""
        shown = self.node_progress.get(name)
        if shown is None:
            return {}
        return {"progress": {"done": shown.done, "total": shown.total, "text": shown.text}}

    def _node(self, name: str, now: NodeStats, state: str | None) -> dict[str, Any]:
        """Return the report on a node; `state`: its state in the background, if it has one."""
        before = self._stats.get(name)
        reported: dict[str, Any] | None = self._reported["nodes"].get(name)
        runs, seconds = now.runs, now.seconds
        if before is not None:
            runs -= before.runs
            seconds -= before.seconds
        is_unchanged = before is not None and not runs and now.skips == before.skips
        if reported is not None and is_unchanged and state is None:
            if reported["state"] in _BACKGROUND_STATES:
                reported = {**reported, "state": "skipped"}
            return {**reported, **self._progress(name)}
        if state is None:
            state = _foreground_state(now, runs)
        us = None
        if runs > 0:
            us = round(seconds / runs * 1e6, 1)
        elif reported is not None:
            us = reported.get("us")
        if now.thinking and now.runs:  # a computation may begin and end in different reports
            us = round((now.seconds + now.thinking) / now.runs * 1e6, 1)
        report = {"state": state, "runs": now.runs, "us": us, **self._progress(name)}
        # most nodes have none of these
        now_and_then = {
            "errors": now.errors,
            "restarts": now.restarts,
            "think_times": buckets(now.think_times),
            "savings": list(now.savings.items()),
        }
        for key, value in now_and_then.items():
            if value:
                report[key] = value
        return report


def _foreground_state(now: NodeStats, runs: int) -> str:
    """Return the state of a node that is not in the background and ran `runs`
    times since the last report.
    """
    if runs > 0:
        return "running"
    if now.cached:
        return "cached"
    if now.skips:
        return "skipped"
    return "idle"


def _background_states(engine: Engine) -> dict[str, str]:
    """Return the states of the nodes whose process is not ready, and of those that are thinking."""
    states = dict.fromkeys(engine.thinking(), "thinking")
    for name, health in engine.health().items():
        if health != "ready":
            states[name] = health
    return states
