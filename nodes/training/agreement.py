"""Agreement: how often a student does what its teacher would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minibrains import ABSENT, Absent, Episode, Node, Number, On
from nodes.actions.sink import TableAction


class Agreement(Node, category="training"):
    """Count how often a student does what its teacher would do.

    action:  the student's
    label:   the teacher's, on the same tick
    Out:     the share of the episode's decisions so far in which both are the same, 0 to 1
    """

    def reset(self, episode: Episode) -> None:
        self.decisions = self.agreed = 0

    def tick(self, action: On[TableAction], label: On[TableAction]) -> Number | Absent:
        if action is None or label is None:
            return ABSENT
        self.decisions += 1
        self.agreed += action == label
        return self.agreed / self.decisions

    def report(self) -> Mapping[str, Any]:
        """Return the number of decisions, and in how many both agreed."""
        return {"decisions": self.decisions, "agreed": self.agreed}
