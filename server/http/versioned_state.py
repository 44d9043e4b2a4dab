"""The state of a run for pages, with the version in which each entry last changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

PARTS: Final = ("run", "nodes", "values", "inputs", "outputs", "budget")


class VersionedState:
    """The tables about a run.

    A client that has version n is sent the entries that changed later.
    """

    def __init__(self) -> None:
        self.version = 0
        self.parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
        self._since: dict[str, dict[str, int]] = {part: {} for part in PARTS}

    def put(self, part: str, entries: Mapping[str, Any]) -> None:
        """Set entries of a part, and increase the version."""
        self.version += 1
        table, since = self.parts[part], self._since[part]
        for key, value in entries.items():
            if key not in table or table[key] != value:
                table[key] = value
                since[key] = self.version

    def since(self, part: str, version: int, keys: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the entries of a part that changed after `version`; with `keys`,
        only those below one of them.
        """
        if self.version <= version:
            return {}
        heads = None if keys is None else frozenset(keys)
        entries: dict[str, Any] = {}
        for key, changed in self._since[part].items():
            if changed > version and (heads is None or key.partition(".")[0] in heads):
                entries[key] = self.parts[part][key]
        return entries
