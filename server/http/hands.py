"""Who plays: which page's input counts for which register of a run. The last one that took it has it."""

from __future__ import annotations

from typing import Any, Protocol

from server.http.runs import Run


class Player(Protocol):
    """A page that may play."""

    def queue(self, type_: str, data: Any) -> None:
        """Tell it something."""


class Hands:
    """What is held by whom. What a page lets go of, or a page that is gone had, is let go of in the game as well."""

    def __init__(self) -> None:
        self._held: dict[tuple[Run, str], Player] = {}

    def take(self, player: Player, run: Run, node: str) -> None:
        """From now on this page's input counts; who had it is told so."""
        before = self._held.get((run, node))
        if before is player:
            return
        if before is not None:
            before.queue("taken", {"prompt_id": run.prompt_id, "node": node})
            run.tell("input", (node, None))
        self._held[run, node] = player

    def give(self, player: Player, run: Run, node: str, value: Any) -> None:
        """Something for the node, from whoever has it; from others it is left aside."""
        if self._held.get((run, node)) is player:
            run.tell("input", (node, value))

    def runs_of(self, player: Player) -> list[Run]:
        """Return the runs in which a page plays."""
        return [run for (run, _), holder in self._held.items() if holder is player]

    def release(self, player: Player, run: Run, node: str) -> None:
        """Let go of it, if it is this page's."""
        if self._held.get((run, node)) is player:
            del self._held[run, node]
            run.tell("input", (node, None))

    def drop(self, player: Player) -> None:
        """The page is gone."""
        for run, node in [place for place, holder in self._held.items() if holder is player]:
            self.release(player, run, node)

    def forget(self, run: Run) -> None:
        """The run is over."""
        self._held = {place: holder for place, holder in self._held.items() if place[0] is not run}
