"""Nodes that are asked now and then, for the tests of forks."""

from minibrains import ABSENT, Absent, Episode, Node, Number


class Sometimes(Node, every_tick=True):
    """Counts the ticks, and delivers the count on some of them."""

    def reset(self, episode: Episode) -> None:
        self.count = 0

    def tick(self) -> Number | Absent:
        self.count += 1
        return self.count if self.count % 7 in (1, 2, 4) else ABSENT


class Answers(Node, background="thread"):
    def tick(self, number: Number) -> Number:
        return number * 3


class Remembers(Node, background="thread"):
    """Has a state, which is not on a tape."""

    def reset(self, episode: Episode) -> None:
        self.total = 0.0

    def tick(self, number: Number) -> Number:
        self.total += number
        return self.total


class Totals(Node):
    def reset(self, episode: Episode) -> None:
        self.total = 0.0

    def tick(self, these: Number, those: Number, others: Number) -> Number:
        self.total += these + 2 * those + 3 * others
        return self.total


class Reads(Node):
    def tick(self, number: Number) -> Number:
        return number
