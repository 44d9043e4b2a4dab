"""The compilation of the native library, and its loading."""

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
"""Programs that the compilation needs, which are also the names of their Debian packages."""


def build() -> Path:
    """Compile the library if it is missing, or older than its sources.

    Processes that start at the same time wait for each other.

    Returns:
        The path of the shared library.

    Raises:
        GameError: A program of COMPILER is missing, or the sources do not compile.
    """
    missing = [name for name in COMPILER if shutil.which(name) is None]
    if missing:
        raise GameError(
            "Duel cannot be compiled for this computer; on Debian: "
            f"apt-get install {' '.join(missing)}"
        )
    BUILD.mkdir(parents=True, exist_ok=True)
    # the variables of a make that started this process must not reach its own make
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

    Calls hold the GIL, since the library has one current game.
    """
    return ctypes.PyDLL(str(build()))
