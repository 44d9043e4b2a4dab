"""Nodes that think in a process of their own, for the tests of tapes."""

import os
import threading
import time

from minibrains import Action, Episode, Node, Number, Variables, widget


class Ponder(Node, background="process"):
    """Think about the frame counter for a while."""

    seconds: float = widget(default=0.0, min=0.0)

    def tick(self, variables: Variables) -> Number:
        time.sleep(self.seconds)
        return variables["score"] % 7 + 1


class Mix(Node):
    """Another action while the thought is odd."""

    def tick(self, action: Action, thought: Number | None = None) -> Action:
        return (action + 1) % 6 if thought and thought % 2 else action


class Pid(Node, background="process"):
    """Say in which process it runs."""

    def tick(self, variables: Variables) -> Number:
        return os.getpid()


class HoldsLock(Node):
    """Has a state that cannot be copied."""

    def reset(self, episode: Episode) -> None:
        self.lock = threading.Lock()

    def tick(self, variables: Variables) -> Number:
        with self.lock:
            return variables["score"]
