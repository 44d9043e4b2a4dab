"""Unfinished files of a server that was killed."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

from server.http.brain_files import UPLOADING
from server.http.folders import DataFolders

_HALF_WRITTEN: Final = re.compile(r"\..+\.(json|txt|png|jpe?g|gif|webp)\.[a-z0-9_]{8}")
"""Names of files that `write_atomic` has not renamed yet."""
_GRACE: Final = 60.0
"""Seconds for which workers of a killed server may still write while they end their runs."""


def sweep(folders: DataFolders) -> None:
    """Remove files that will never be finished. Only for the server that has locked the folder."""
    for path in chain(_of_the_server(folders), _of_workers(folders.runs)):
        with suppress(OSError):
            path.unlink()
    for folder in folders.uploads.glob(f"{UPLOADING}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _of_the_server(folders: DataFolders) -> Iterator[Path]:
    yield from folders.models.glob(f"{UPLOADING}*")
    for folder in (folders.workflows, folders.uploads, folders.queue):
        for path in folder.glob("**/.*"):
            if _HALF_WRITTEN.fullmatch(path.name):
                yield path


def _of_workers(runs: Path) -> Iterator[Path]:
    written = [path for path in runs.glob("*/.*") if _HALF_WRITTEN.fullmatch(path.name)]
    pictures = runs.glob("*/*/*.partial")
    for path in chain(written, pictures):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _GRACE:
                yield path
