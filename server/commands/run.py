"""`run`: play a workflow, show how it goes, print what came of it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from minibrains.errors import Fault, MinibrainsError, WorkflowError
from minibrains.workflow import RunSettings, Workflow
from server.cli import DONE, STOPPED, explain
from server.commands.workflow_arguments import check_workflow, read_registry, read_workflow
from server.engine.engine import Engine
from server.engine.plan import compile_graph
from server.run.folder import RunFolder
from server.run.play import Progress, Results, as_error, play, summarise


def main(arguments: argparse.Namespace) -> int:
    registry = read_registry(arguments)
    workflow, brains = read_workflow(arguments)
    given = {name: getattr(arguments, name) for name in ("episodes", "ticks", "seed")}
    settings = replace(workflow.run, **{name: value for name, value in given.items() if value is not None})
    video = Path(arguments.video).absolute() if arguments.video else None
    if video is not None:
        _check_clip(video)
        workflow = with_video(workflow)
    graph = check_workflow(workflow, registry, brains)
    engine = Engine(compile_graph(graph))
    folder = RunFolder(Path(arguments.runs), workflow)
    results, status = Results(), DONE
    error: BaseException | None = None
    try:
        with _stop_on_interrupt(engine), _progress(settings) as progress:
            play(engine, settings, folder, results, _say, progress)
        if video is not None and "clip" in results.facts:
            _move_clip(Path(results.facts["clip"]), video)
            results.facts["clip"] = str(video)
        status = STOPPED if engine.stopping else DONE
    except (Exception, KeyboardInterrupt) as caught:
        error = caught
    summary = {**(as_error(error) if error else {}), **summarise(engine, results, settings, folder)}
    folder.write_summary(summary)
    folder.close()
    if arguments.json:
        print(json.dumps(summary))
    elif error is None:
        print(describe(summary))
    return status if error is None else explain(error)


def with_video(workflow: Workflow) -> Workflow:
    """The workflow with a VideoWriter on its console's screen."""
    name = "video"
    while name in workflow.nodes:
        name += "_"
    console = next((node.id for node in workflow.nodes.values() if node.type == "RetroEmulator"), None)
    if console is None:
        raise WorkflowError([Fault("there is no console (RetroEmulator) in this workflow to film")], "--video")
    entry = {"type": "VideoWriter@1", "set": {"file": f"{name}.mp4"}, "in": {"frame": f"{console}.frame"}}
    return workflow.with_node(name, entry)


def _check_clip(video: Path) -> None:
    if video.suffix != ".mp4":
        raise MinibrainsError(f"--video: expected a file ending in .mp4, found {video}")
    if not video.parent.is_dir():
        raise MinibrainsError(f"--video: there is no folder {video.parent}")


def _move_clip(clip: Path, video: Path) -> None:
    partial = video.with_suffix(".partial.mp4")
    shutil.move(clip, partial)
    os.replace(partial, video)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def _stop_on_interrupt(engine: Engine) -> Iterator[None]:
    """The first Ctrl-C ends the run after the current tick, a second one at once."""

    def stop(number: int, frame: FrameType | None) -> None:
        if engine.stopping:
            raise KeyboardInterrupt
        engine.stopping = True

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _progress(settings: RunSettings) -> Iterator[Progress]:
    """A progress bar on standard error, if that is a terminal."""
    from tqdm import tqdm

    whole = settings.episodes * (settings.ticks or 0)
    form = "{desc} {bar} {elapsed}{postfix}" if whole else "{desc} {elapsed}{postfix}"
    with tqdm(total=whole or None, bar_format=form, disable=None, leave=False) as bar:

        def show(index: int, tick: int, ticks: int, score: float | None) -> None:
            bar.set_description(f"episode {index + 1}/{settings.episodes}", refresh=False)
            seconds = bar.format_dict["elapsed"]
            rate = f"{ticks / seconds:.0f} ticks/s" if seconds else ""
            bar.set_postfix_str(f"{rate}, score {score:g}" if score is not None else rate, refresh=False)
            bar.n = index * (settings.ticks or 0) + tick
            bar.refresh()

        yield show


def describe(summary: dict[str, Any]) -> str:
    """The summary as a table for people."""
    episodes = summary["episodes"]
    lines = [f"{'episode':>7}  {'score':>9}  {'won':>4}  {'ticks':>7}  ended"]
    for number, episode in enumerate(episodes[:40], 1):
        won = {True: "yes", False: "no", None: "-"}[episode["won"]]
        score = "-" if episode["score"] is None else f"{episode['score']:g}"
        lines.append(f"{number:>7}  {score:>9}  {won:>4}  {episode['ticks']:>7}  {episode['ended']}")
    if len(episodes) > 40:
        lines.append(f"    ... {len(episodes) - 40} more in episodes.jsonl")
    scores = [episode["score"] for episode in episodes if episode["score"] is not None]
    if scores:
        lines.append(f"mean score {sum(scores) / len(scores):.1f} over {len(scores)} episodes, "
                     f"{summary['distinct_episodes'] or '?'} distinct")  # fmt: skip
    times = summary["tick_ms"]
    if summary["ticks"]:
        lines.append(f"{summary['ticks']} ticks, {summary['ticks_per_s']:.0f} a second; a tick took "
                     f"p50 {times['p50']:.3f}, p99 {times['p99']:.3f}, at most {times['max']:.3f} ms")  # fmt: skip
    slow = sorted(summary["nodes"].items(), key=lambda item: -(item[1]["mean_us"] or 0) * item[1]["runs"])
    lines.append(f"{'slowest nodes':<20}  {'runs':>9}  {'skips':>9}  {'µs a run':>9}")
    for name, node in slow[:5]:
        mean = "-" if node["mean_us"] is None else f"{node['mean_us']:.2f}"
        lines.append(f"{name:<20}  {node['runs']:>9}  {node['skips']:>9}  {mean:>9}")
    if summary["game"]:
        lines.append(f"game {summary['game']}, actions {(summary['actions_sha256'] or '-')[:16]}, seed {summary['seed']}")
    lines.append(f"run folder {summary['run_dir']}")
    if "clip" in summary:
        lines.append(f"clip {summary['clip']}")
    return "\n".join(lines)
