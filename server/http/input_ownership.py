"""Input ownership: for each register of a run, the page whose input counts.

The last page to claim a register owns it.
"""

from __future__ import annotations

from typing import Any, Protocol

from server.http.run_queue import ServerRun


class InputClient(Protocol):
    """A page that may own inputs."""

    def queue(self, type_: str, data: Any) -> None:
        """Queue an event for the page."""


class InputOwnership:
    """The owner of each input.

    When an input is released or its page is gone, its buttons are released in the game.
    """

    def __init__(self) -> None:
        self._owners: dict[tuple[ServerRun, str], InputClient] = {}

    def claim(self, client: InputClient, run: ServerRun, node: str) -> None:
        """Make the page the owner of an input; the previous owner is notified."""
        before = self._owners.get((run, node))
        if before is client:
            return
        if before is not None:
            before.queue("taken", {"prompt_id": run.prompt_id, "node": node})
            run.send("input", (node, None))
        self._owners[run, node] = client

    def forward(self, client: InputClient, run: ServerRun, node: str, value: Any) -> None:
        """Send a value to the node if it comes from the owner; ignore it otherwise."""
        if self._owners.get((run, node)) is client:
            run.send("input", (node, value))

    def runs_of(self, client: InputClient) -> list[ServerRun]:
        """Return the runs in which a page owns inputs."""
        return [run for (run, _), owner in self._owners.items() if owner is client]

    def release(self, client: InputClient, run: ServerRun, node: str) -> None:
        """Release an input if the page owns it."""
        if self._owners.get((run, node)) is client:
            del self._owners[run, node]
            run.send("input", (node, None))

    def release_all(self, client: InputClient) -> None:
        """Release all inputs of a page that is gone."""
        for run, node in list(self._owners):
            self.release(client, run, node)

    def remove_run(self, run: ServerRun) -> None:
        """Forget the owners of a run that is over."""
        for key in list(self._owners):
            if key[0] is run:
                del self._owners[key]
