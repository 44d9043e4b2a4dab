"""A node that keeps episodes, for tests: it says which ones it has, and what it was told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minibrains import Episode, Host, Node, Variables, widget


class Keeper(Node, background="allowed"):
    """Keep a line for each episode in a file.

    variables:  of the game
    """

    file: str = widget(doc="the file, which has the episodes of earlier runs as well")

    def open(self, host: Host) -> None:
        self._host = host

    def is_done(self, episode: Episode) -> bool:
        return any(line["episode"] == episode.index for line in self._lines())

    def reset(self, episode: Episode) -> None:
        self.episode = episode.index

    def tick(self, variables: Variables) -> None:
        pass

    def finish(self, results: Mapping[str, Any]) -> None:
        start, workflow = self._host.start, self._host.workflow
        assert start is not None
        line = {
            "episode": self.episode,
            "ended": results["ended"],
            "ticks": results["ticks"],
            "state": start.state,
            "state_sha256": start.state_sha256,
            "workflow": workflow.name,
            "sha256": workflow.sha256,
            "command": workflow.command,
        }
        with Path(self.file).open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _lines(self) -> list[dict[str, Any]]:
        path = Path(self.file)
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines()]
