"""The command `fetch-model`: download a model's files from the Hugging Face Hub, one at a time.

The bytes are fetched by `http_get` of huggingface_hub, which goes on where a connection broke. This
module decides what is fetched, keeps the part that a killed download has, and checks the hashes.
What the server says is checked before it becomes the name of a file, or is written.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from huggingface_hub import HfApi, ModelInfo, constants, hf_hub_url
from huggingface_hub.errors import (  # type: ignore[attr-defined]
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    HTTPError,
    RepositoryNotFoundError,
)
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

from minibrains.errors import MinibrainsError, RunError, text_of
from minibrains.file_lock import lock_now
from minibrains.files import home, is_plain_name
from nodes.language.chat_endpoint import check_address
from nodes.language.model_files import FILES
from server.cli import DONE
from server.commands.known_models import KNOWN_MODELS, describe_known_models
from server.terminal import tell

HUB: Final = "https://huggingface.co"
"""The only server that is sent the user's token."""
WANTED: Final = (*FILES, "model.safetensors.index.json", "adapter_config.json")
"""The names of small files that are fetched; besides them, licences, READMEs and safetensors."""
_CHUNK: Final = 1 << 20
"""Bytes that are written at a time: what a connection brings beyond that is kept when it breaks."""
_FOR_PEOPLE: Final = re.compile(r"(LICEN[SC]E|NOTICE|README)([-_.]\w+)?(\.md|\.txt)?")
_BUSY: Final = (408, 429)
"""Of the status codes from 400 to 499, those after which it is worth trying again."""


class RemoteFile(NamedTuple):
    """A file of a repository."""

    name: str
    size: int
    """In bytes."""
    sha256: str
    """Its SHA-256; empty if it is not stored by Git LFS."""
    blob: str
    """The SHA-1 of its Git blob, if it has no SHA-256."""

    @property
    def part(self) -> str:
        """The name of the file with what has been fetched of it; another content has another."""
        return f".{(self.sha256 or self.blob)[:16]}.part"


class PartFile(io.BufferedWriter):
    """The file with what has been fetched, which is written at its end, and never beyond a size."""

    def __init__(self, path: Path, size: int) -> None:
        super().__init__(io.FileIO(path, "ab"))
        self._size = size
        self.is_too_long = False

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > self._size:
            self.is_too_long = True
            raise OSError("too long")
        return super().write(data)


def main(arguments: argparse.Namespace) -> int:
    """Fetch what a folder does not have yet, and print the folder; without a repository, print the
    models that are known.

    Raises:
        MinibrainsError: The repository does not exist, is not open to everybody, or has no weights
            in safetensors; what answers is not the Hub; or another process is fetching it.
        RunError: The download broke off, or a file is not what the Hub says it is.
    """
    repository = arguments.repository
    if repository is None:
        print(describe_known_models())
        return DONE
    endpoint = (arguments.endpoint or constants.ENDPOINT).rstrip("/")
    check_address(endpoint, "http://127.0.0.1:8000")
    if repository in KNOWN_MODELS:
        known = KNOWN_MODELS[repository]
        tell(f"{repository}: {known.licence}; {known.gigabytes:.1f} GB; {known.here}")
    constants.DOWNLOAD_CHUNK_SIZE = min(constants.DOWNLOAD_CHUNK_SIZE, _CHUNK)
    where = "the Hub" if endpoint == HUB else endpoint
    try:
        folder = fetch(repository, endpoint, where)
    except HFValidationError as error:
        raise MinibrainsError(f"{repository!r} is not the name of a repository: {error}") from None
    except GatedRepoError:
        raise MinibrainsError(
            f"{repository} is given only to those who accepted its licence; do that on its page on "
            f"{where}, and save a token of your account with: hf auth login"
        ) from None
    except RepositoryNotFoundError:
        raise MinibrainsError(
            f"{where} has no model {repository}, or it is private; check the name, or save a token "
            "with: hf auth login"
        ) from None
    except HfHubHTTPError as error:
        status = error.response.status_code
        if 400 <= status < 500 and status not in _BUSY:
            raise MinibrainsError(
                f"{where} does not give out {repository}: it answered with the status {status}; "
                "check the name of the model, and that of the server"
            ) from None
        raise RunError(
            f"{where} answered with the status {status}; the same command goes on where it stopped"
        ) from None
    except HTTPError as error:
        raise RunError(
            f"the connection to {where} failed: {_in_a_line(error)}; if the address is right, the "
            "same command goes on where it stopped"
        ) from None
    print(folder)
    return DONE


def fetch(repository: str, endpoint: str, where: str) -> Path:
    """Fetch the files of a model, and return their folder.

    Args:
        repository: Its name on the server.
        endpoint: The address of the server.
        where: The server, for people.

    Raises:
        MinibrainsError, RunError: As `main`.
        HFValidationError, HTTPError: As huggingface_hub.
    """
    # a token that was saved for the Hub is for no other server
    token = None if endpoint == HUB else False
    info, files = _find(HfApi(endpoint, token), repository, where)
    folder = home() / "downloads" / repository
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        _check_room(folder, files)
        headers = {**build_hf_headers(token=token), "Accept-Encoding": "identity"}
        for number, file in enumerate(files, start=1):
            tell(f"{number}/{len(files)} {file.name}, {file.size / 1e6:.1f} MB")
            if not _is_there(folder / file.name, file):
                url = hf_hub_url(repository, file.name, revision=info.sha, endpoint=endpoint)
                _fetch_file(url, folder, file, headers)
    return folder


def _find(api: HfApi, repository: str, where: str) -> tuple[ModelInfo, list[RemoteFile]]:
    """Return what the server says of a repository, and its files to be fetched."""
    try:
        info = api.model_info(repository, files_metadata=True)
        return info, choose(info)
    except HFValidationError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MinibrainsError(
            f"{where} did not answer as the Hub does ({type(error).__name__}: "
            f"{_in_a_line(error)}); check the address of the server"
        ) from None


def choose(info: ModelInfo) -> list[RemoteFile]:
    """Return the files of a repository that are fetched, the smallest first.

    These are the text files that a model needs, licences, and weights in safetensors, all of them
    in the uppermost folder.

    Raises:
        MinibrainsError: There are no weights in safetensors, or a file has no size or no hash.
    """
    files: list[RemoteFile] = []
    for file in info.siblings or ():
        name = file.rfilename
        wanted = name in WANTED or name.endswith(".safetensors") or _FOR_PEOPLE.fullmatch(name)
        if not wanted or not is_plain_name(name):
            continue
        sha256 = file.lfs.sha256 if file.lfs else ""
        blob = "" if sha256 else file.blob_id or ""
        is_sized = type(file.size) is int and file.size >= 0
        is_hashed = re.fullmatch(r"[0-9a-f]{64}|[0-9a-f]{40}", sha256 or blob)
        if not (is_sized and is_hashed):
            raise MinibrainsError(
                f"{info.id}: the server gives no size or no hash of {name}; expected both, as the "
                "Hub gives them"
            )
        files.append(RemoteFile(name, file.size or 0, sha256, blob))
    if not any(file.name.endswith(".safetensors") for file in files):
        raise MinibrainsError(
            f"{info.id} has no weights in safetensors, and pickles are not fetched; "
            "look for another version of the model"
        )
    return sorted(files, key=lambda file: (file.size, file.name))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let no other process fetch into a folder meanwhile. Raises MinibrainsError if one does."""
    with folder.with_name(f".{folder.name}.lock").open("ab") as lock:
        try:
            lock_now(lock.fileno())
        except OSError:
            raise MinibrainsError(
                f"another process is fetching into {folder}; wait until it has ended"
            ) from None
        yield


def _check_room(folder: Path, files: list[RemoteFile]) -> None:
    """Raise MinibrainsError if the disk has no room for what is missing."""
    missing = 0
    for file in files:
        if not (folder / file.name).exists():
            part = folder / file.part
            missing += file.size - (part.stat().st_size if part.exists() else 0)
    free = shutil.disk_usage(folder).free
    if missing > free:
        raise MinibrainsError(
            f"{folder} has room for {free / 1e9:.1f} GB, and {missing / 1e9:.1f} GB are to be "
            "fetched; make room, or set MINIBRAINS_HOME to a folder on another disk"
        )


def _fetch_file(url: str, folder: Path, file: RemoteFile, headers: dict[str, Any]) -> None:
    """Fetch a file, after what its part has already. Raises RunError, or an HTTPError."""
    part = folder / file.part
    with PartFile(part, file.size) as stream:
        if stream.tell() > file.size:
            stream.truncate(0)
        try:
            http_get(
                url,
                stream,
                resume_size=stream.tell(),
                headers=headers,
                expected_size=file.size,
                displayed_filename=file.name,
            )
        except HTTPError:
            raise
        except (OSError, ValueError) as error:
            if stream.is_too_long:
                part.unlink()
                raise RunError(
                    f"{file.name} is longer than the {file.size} bytes that the server names; it "
                    "was removed, and the same command fetches it again"
                ) from None
            # what is not from the system is advice for a caller in Python
            reason = getattr(error, "strerror", None) or "the server sent something else"
            raise RunError(
                f"{file.name}: {stream.tell()} of {file.size} bytes are there ({reason}); "
                "the same command goes on from there"
            ) from None
        stream.flush()
        os.fsync(stream.fileno())
    if not _is_there(part, file):
        part.unlink()
        raise RunError(
            f"{file.name} is not the file whose hash the server names; it was removed, and the "
            "same command fetches it again"
        )
    part.replace(folder / file.name)


def _is_there(path: Path, file: RemoteFile) -> bool:
    """Return whether a file has the size and the hash that it should have."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    digest, expected = hashlib.sha256(), file.sha256
    if not expected:
        digest, expected = hashlib.sha1(b"blob %d\0" % file.size), file.blob
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: digest).hexdigest() == expected


def _in_a_line(error: Exception) -> str:
    return " ".join(text_of(error).split())
