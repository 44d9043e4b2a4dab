"""The Python packages that Minibrains needs, and the commands that install them."""

from __future__ import annotations

import shlex
import sys
from typing import Final

from minibrains.files import checkout

PACKAGES: Final = {
    "PIL": "pillow",
    "aiohttp": "aiohttp",
    "gymnasium": "gymnasium",
    "huggingface_hub": "huggingface-hub",
    "imageio_ffmpeg": "imageio-ffmpeg",
    "msgpack": "msgpack",
    "numpy": "numpy",
    "peft": "peft",
    "psutil": "psutil",
    "safetensors": "safetensors",
    "stable_retro": "stable-retro",
    "torch": "torch",
    "tqdm": "tqdm",
    "transformers": "transformers",
}
"""The packages that are always needed: import name -> name on PyPI."""


def missing_package(error: BaseException | None) -> str | None:
    """Return the PyPI name of the required package whose absence caused an error;
    None if that is not the cause.
    """
    while isinstance(error, ImportError):
        # after a plain ImportError the package is there, but lacks a name
        if isinstance(error, ModuleNotFoundError) and error.name in PACKAGES:
            return PACKAGES[error.name]
        error = error.__cause__
    return None


def install_command(package: str) -> str:
    """Return the command that installs a package for the Python that runs, from any folder.

    In a checkout, `constraints.txt` pins its version and that of torch.
    """
    return _pip_install(package)


def install_extra_command(extra: str) -> str:
    """Return the command that installs the packages of an extra of pyproject.toml, for example
    `learn`, for the Python that runs, from any folder.
    """
    repository = checkout()
    if repository is None:
        return _pip_install(f"minibrains[{extra}]")
    return _pip_install("--editable", f"{repository}[{extra}]")


def _pip_install(*what: str) -> str:
    command = [sys.executable or "python", "-m", "pip", "install"]
    repository = checkout()
    if repository is not None:
        command += ["--constraint", str(repository / "constraints.txt")]
    return shlex.join([*command, *what])
