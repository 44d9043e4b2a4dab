"""A generated brain, and the entries of its header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minibrains import Brain


@dataclass(frozen=True, slots=True)
class MadeBrain:
    """A brain with the entries of its header that are meant for people."""

    brain: Brain
    title: str
    made_by: str = "python models/make.py"
    """What the command `make-brains` was called when it made the first of them. It is part of the
    SHA-256 of a file, by which tapes know it, so it stays as it is in those that are shipped."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of the header: description, parents, metrics."""

    def save(self, path: Path) -> str:
        """Write the file and return its SHA-256. Equal brains give equal bytes."""
        return self.brain.save(
            path,
            title=self.title,
            made_by=self.made_by,
            license="MIT",
            author="Minibrains",
            **self.more,
        )
