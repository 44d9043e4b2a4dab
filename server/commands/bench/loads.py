"""A node for `bench editor` that reports how many models its process has made so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minibrains import Node, Number
from minibrains.loading import MODEL_CACHE


class Loads(Node):
    """Count the models that this process has made.

    value:  anything that comes on every tick
    The episode's report says `loads`.
    """

    def tick(self, value: Number) -> None:
        pass

    def report(self) -> Mapping[str, Any]:
        return {"loads": MODEL_CACHE.loads}
