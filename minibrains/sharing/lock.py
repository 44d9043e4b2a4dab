"""The lock of a shared workflow: what it was exported with, and what has to agree with it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, get_type_hints

from minibrains.errors import MinibrainsError
from minibrains.files import is_portable_name
from minibrains.graph.workflow import SHA256, RunSettings, Workflow, parse_workflow
from minibrains.tape.recording import read_events
from minibrains.values import parse_json, parse_value

FORMAT: Final = 1
"""The version of the format; raised by a change after which older readers would be wrong."""
_SHA1: Final = re.compile(r"[0-9a-f]{40}")
_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f]{0,200}")
"""A text of a lock, which is shown to people: short, and on one line."""
_LONGEST_LIST: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The versions and hashes that a workflow was exported with."""

    minibrains_archive: int
    """FORMAT"""
    name: str
    """The name of the workflow."""
    workflow_sha256: str
    """`hash_of` its workflow."""
    software: Mapping[str, str]
    """Versions by name, of Python and the packages that play."""
    packs: Mapping[str, str]
    """Name of a node pack -> what to install to have it."""
    brains: Mapping[str, str]
    """Name of a brain below brains/ -> its SHA-256."""
    games: Mapping[str, str]
    """Name of a game -> the SHA-1 of its ROM."""

    @classmethod
    def parse(cls, text: bytes) -> Lock:
        """Read a lock. Raises ValueError if it is none."""
        data = parse_json(text)
        if not isinstance(data, dict):
            raise ValueError("it is not a JSON object")
        number = data.get("minibrains_archive")
        if type(number) is not int or number < 1:
            raise ValueError('"minibrains_archive" is not the number of a format')
        if number > FORMAT:
            raise ValueError("its format is newer than this Minibrains; update it")
        values: dict[str, Any] = {}
        types = get_type_hints(cls)
        for declared in fields(cls):
            if declared.name not in data:
                raise ValueError(f"{declared.name!r} is missing")
            values[declared.name] = parse_value(types[declared.name], data[declared.name])
        lock = cls(**values)
        lock._check()
        return lock

    def _check(self) -> None:
        """Raise ValueError if a text is not what it should be."""
        if not is_portable_name(f"{self.name}.json"):
            raise ValueError(f"{self.name[:100]!r} cannot be the name of a workflow")
        for entries, pattern in (
            (self.software, _TEXT),
            (self.packs, _TEXT),
            (self.brains, SHA256),
            (self.games, _SHA1),
        ):
            if len(entries) > _LONGEST_LIST:
                raise ValueError(f"it lists {len(entries)} things; expected {_LONGEST_LIST}")
            for name, value in entries.items():
                if not _TEXT.fullmatch(name) or not pattern.fullmatch(value):
                    raise ValueError(f"{name[:100]!r}: {value[:100]!r} cannot be in it")

    def to_json(self) -> str:
        """Return the contents of lock.json."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def hash_of(workflow: Workflow, nodes: Collection[str] | None = None) -> str:
    """Return the hash of a workflow whose brains have their SHA-256, without the limit of an
    episode, which the command line may set.

    Args:
        workflow: The workflow.
        nodes: The nodes whose brains count; None: all.
    """
    brains: dict[str, str] = {}
    for name, entry in workflow.nodes.items():
        if entry.brain is not None and (nodes is None or name in nodes):
            brains[name] = str(entry.brain.sha256)
    return workflow.with_run(RunSettings()).hash(brains)


def recorded_versions(tape: Path, workflow: Workflow) -> list[Mapping[str, Any]]:
    """Return the workflows of a tape, the first one and that of each live edit, with their brains.

    Args:
        tape: The tape.
        workflow: The workflow that it must end with; its brains have their SHA-256.

    Raises:
        MinibrainsError: It is not a whole tape, or of another workflow.
    """
    events, cut = read_events(tape)
    if cut:
        raise MinibrainsError(f"{tape}: {cut}")
    recorded = [event.value for event in events if event.kind in ("header", "edit")]
    try:
        last = recorded[-1]
        brains = {node: brain["sha256"] for node, brain in last["brains"].items()}
        played = parse_workflow(last["workflow"]).with_run(RunSettings())
    except (AttributeError, KeyError, TypeError):
        raise MinibrainsError(f"{tape} holds no run of a workflow") from None
    # nodes that were added to film the run change nothing of what the others do
    nodes = {name: entry for name, entry in played.nodes.items() if name in workflow.nodes}
    if replace(played, nodes=nodes).hash(brains) != hash_of(workflow, brains.keys()):
        raise MinibrainsError(
            f"{tape} is not a run of {workflow.name} as it is now; "
            "expected a tape of the same nodes, settings and brains: record it again"
        )
    return recorded
