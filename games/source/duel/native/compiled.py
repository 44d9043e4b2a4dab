"""Compile the game for this computer, once, and load it."""

from __future__ import annotations

import ctypes
import fcntl
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from minibrains import GameError

SOURCE = Path(__file__).resolve().parent.parent
BUILD = SOURCE / "build" / "native"
COMPILER = ("gcc", "make")
"""Programs that compile it, which are also the names of their Debian packages."""


def build() -> Path:
    """Compile the library if there is none yet, or if its sources have changed.

    Processes that begin at the same time wait for each other.

    Returns:
        The shared library.

    Raises:
        GameError: A compiler is missing, or the sources do not compile.
    """
    missing = [name for name in COMPILER if shutil.which(name) is None]
    if missing:
        raise GameError(
            "Duel cannot be compiled for this computer; on Debian: "
            f"apt-get install {' '.join(missing)}"
        )
    BUILD.mkdir(parents=True, exist_ok=True)
    # make's own variables of a make that runs this are none of this one's
    environment = dict(os.environ)
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
        environment.pop(name, None)
    command = ["make", "-C", str(SOURCE), f"PYTHON={sys.executable}", "native"]
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise GameError(f"Duel does not compile for this computer: {done.stderr.strip()}")
    return BUILD / "libduel.so"


@functools.cache
def library() -> ctypes.PyDLL:
    """Return the library of this process.

    A call holds Python's lock: the library has one game in work at a time.
    """
    return ctypes.PyDLL(str(build()))
