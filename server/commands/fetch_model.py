"""The command `fetch-model`: download a model's files from the Hugging Face Hub, one at a time.

The bytes are fetched by `http_get` of huggingface_hub, which goes on where a connection broke. This
module decides what is fetched, keeps the part that a killed download has, and checks the hashes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from huggingface_hub import HfApi, ModelInfo, constants, hf_hub_url
from huggingface_hub.errors import (  # type: ignore[attr-defined]
    GatedRepoError,
    HFValidationError,
    HTTPError,
    RepositoryNotFoundError,
)
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

from minibrains.errors import MinibrainsError, RunError, text_of
from minibrains.files import home, is_plain_name
from nodes.language.model_files import FILES
from server.cli import DONE
from server.commands.known_models import KNOWN_MODELS, describe_known_models
from server.terminal import tell

WANTED: Final = (*FILES, "model.safetensors.index.json", "adapter_config.json")
"""The names of small files that are fetched; besides them, licences, READMEs and safetensors."""
_CHUNK: Final = 1 << 20
"""Bytes that are written at a time: what a connection brings beyond that is kept when it breaks."""
_FOR_PEOPLE: Final = ("LICENSE", "LICENCE", "NOTICE", "README")


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


def main(arguments: argparse.Namespace) -> int:
    """Fetch what a folder does not have yet, and print the folder; without a repository, print the
    models that are known.

    Raises:
        MinibrainsError: The repository does not exist, is not open to everybody, or has no weights
            in safetensors; or what answers is not the Hub.
        RunError: The download broke off, or a file is not what the Hub says it is.
    """
    repository, endpoint = arguments.repository, arguments.endpoint
    if repository is None:
        print(describe_known_models())
        return DONE
    if repository in KNOWN_MODELS:
        known = KNOWN_MODELS[repository]
        tell(f"{repository}: {known.licence}; {known.gigabytes:.1f} GB; {known.here}")
    where = endpoint or "the Hub"
    if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
        raise MinibrainsError(
            f"--endpoint is {endpoint!r}; expected an address like http://127.0.0.1:8080"
        )
    constants.DOWNLOAD_CHUNK_SIZE = min(constants.DOWNLOAD_CHUNK_SIZE, _CHUNK)
    # a token that was saved for the Hub is for no other server
    token = False if endpoint else None
    try:
        info = HfApi(endpoint, token).model_info(repository, files_metadata=True)
        files = choose(info)
        folder = home() / "downloads" / repository
        folder.mkdir(parents=True, exist_ok=True)
        _check_room(folder, files)
        headers = {**build_hf_headers(token=token), "Accept-Encoding": "identity"}
        for number, file in enumerate(files, start=1):
            tell(f"{number}/{len(files)} {file.name}, {file.size / 1e6:.1f} MB")
            if not _is_there(folder / file.name, file):
                url = hf_hub_url(repository, file.name, revision=info.sha, endpoint=endpoint)
                _fetch(url, folder, file, headers)
    except HFValidationError as error:
        raise MinibrainsError(f"{repository!r} is no name of a repository: {error}") from None
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
    except HTTPError as error:
        raise RunError(
            f"{repository} on {where}: {' '.join(text_of(error).split())}; "
            "the same command goes on where it stopped"
        ) from None
    except ValueError as error:
        raise MinibrainsError(
            f"{where} did not answer as the Hub does ({text_of(error)}); check --endpoint"
        ) from None
    print(folder)
    return DONE


def choose(info: ModelInfo) -> list[RemoteFile]:
    """Return the files of a repository that are fetched, the smallest first.

    These are the text files that a model needs, licences, and weights in safetensors, all of them
    in the uppermost folder.

    Raises:
        MinibrainsError: There are no weights in safetensors, or a file has no hash.
    """
    files: list[RemoteFile] = []
    for file in info.siblings or ():
        name = file.rfilename
        wanted = name in WANTED or name.startswith(_FOR_PEOPLE) or name.endswith(".safetensors")
        if not wanted or not is_plain_name(name):
            continue
        sha256 = file.lfs.sha256 if file.lfs else ""
        if file.size is None or not (sha256 or file.blob_id):
            raise MinibrainsError(f"{info.id}: the server names no size or hash of {name}")
        files.append(RemoteFile(name, file.size, sha256, file.blob_id or ""))
    if not any(file.name.endswith(".safetensors") for file in files):
        raise MinibrainsError(
            f"{info.id} has no weights in safetensors, and pickles are not fetched; "
            "look for another version of the model"
        )
    return sorted(files, key=lambda file: (file.size, file.name))


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


def _fetch(url: str, folder: Path, file: RemoteFile, headers: dict[str, Any]) -> None:
    """Fetch a file, after what its part has already. Raises RunError, or an error of httpx."""
    part = folder / file.part
    with part.open("ab") as stream:
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
        except (OSError, ValueError) as error:
            if isinstance(error, HTTPError):
                raise
            raise RunError(f"{file.name}: {' '.join(text_of(error).split())}") from None
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
