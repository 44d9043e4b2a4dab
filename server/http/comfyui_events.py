"""Events in ComfyUI's form, for its clients: the progress of a run, and pictures."""

from __future__ import annotations

import io
import json
import struct
from typing import Any, Final

import numpy as np

from server.http.previews import JPEG, PALETTE
from server.http.run_queue import ServerRun

_PREVIEW: Final = 1
"""ComfyUI's PREVIEW_IMAGE: a picture without the name of its node."""
_FORMATS: Final = {"image/jpeg": 1, "image/png": 2}
_STATES: Final = {"failed": "error", "lost": "error", "idle": "pending"}
"""The states of our nodes that are not "running" for ComfyUI's clients."""


def progress_state(run: ServerRun) -> dict[str, Any]:
    """Return the data of `progress_state`: all nodes of a run, each with the progress of its own
    work, or else that of the run.
    """
    about = run.live_state.parts["run"]
    done, total = about.get("episode", 0), run.settings.episodes
    if run.settings.ticks is not None:
        done = done * run.settings.ticks + (about.get("tick") or 0)
        total *= run.settings.ticks
    nodes: dict[str, Any] = {}
    for name, node in run.live_state.parts["nodes"].items():
        value, limit = done, total
        progress = node.get("progress")
        if progress and progress["total"] is not None:
            value, limit = progress["done"], progress["total"]
        state = _STATES.get(node["state"], "running")
        if run.over and state != "error":
            value, state = limit, "finished"
        nodes[name] = {"value": value, "max": limit, "state": state, **_names(run, name)}
    return {"prompt_id": run.prompt_id, "nodes": nodes}


def picture_message(run: ServerRun, node: str, message: bytes, with_metadata: bool) -> bytes:
    """Return the message with a picture as ComfyUI's clients read it: as PREVIEW_IMAGE, or, for
    those that know it, as PREVIEW_IMAGE_WITH_METADATA.

    Args:
        run: The run that shows it.
        node: The node that shows it.
        message: Our own binary message.
        with_metadata: True for PREVIEW_IMAGE_WITH_METADATA.
    """
    event, length = struct.unpack_from(">II", message)
    about, body = json.loads(message[8 : 8 + length]), message[8 + length :]
    image_type = "image/jpeg"
    if event == PALETTE:
        image_type, body = "image/png", _as_png(about, body)
    if not with_metadata:
        return struct.pack(">II", _PREVIEW, _FORMATS[image_type]) + body
    header = json.dumps({**_names(run, node), "image_type": image_type}).encode()
    return struct.pack(">II", JPEG, len(header)) + header + body


def _names(run: ServerRun, node: str) -> dict[str, Any]:
    return {
        "node_id": node,
        "prompt_id": run.prompt_id,
        "display_node_id": node,
        "parent_node_id": None,
        "real_node_id": node,
    }


def _as_png(about: dict[str, Any], body: bytes) -> bytes:
    """Return a palette-8 picture as PNG."""
    from PIL import Image

    size = 3 * about["colours"]
    indices = np.frombuffer(body, np.uint8, offset=size).reshape(about["height"], about["width"])
    image = Image.fromarray(indices, "P")
    image.putpalette(body[:size])
    file = io.BytesIO()
    image.save(file, "png", compress_level=1)
    return file.getvalue()
