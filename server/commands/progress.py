"""The progress bar of `run`, on standard error if that is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minibrains.graph.workflow import RunSettings
from minibrains.run.play import Progress


@contextmanager
def progress_bar(settings: RunSettings) -> Iterator[Progress]:
    """Episode, ticks a second and score while a run goes on."""
    from tqdm import tqdm

    whole = settings.episodes * (settings.ticks or 0)
    form = "{desc} {bar} {elapsed}{postfix}" if whole else "{desc} {elapsed}{postfix}"
    with tqdm(total=whole or None, bar_format=form, disable=None, leave=False) as bar:

        def show(index: int, tick: int, rate: float, score: float | None) -> None:
            bar.set_description(f"episode {index + 1}/{settings.episodes}", refresh=False)
            bar.set_postfix_str(f"{rate:.0f} ticks/s" + ("" if score is None else f", score {score:g}"), refresh=False)
            bar.n = index * (settings.ticks or 0) + tick
            bar.refresh()

        yield show
