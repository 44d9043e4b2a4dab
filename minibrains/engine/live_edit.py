"""Live edit: what has to be done to go on with another plan, made ready beside the game."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from minibrains.engine.background import Thinker, Thought, close_node
from minibrains.engine.kept import Still
from minibrains.engine.make import make_nodes
from minibrains.engine.motion import Motion
from minibrains.engine.plan import Plan
from minibrains.errors import RunError
from minibrains.node import Node


@dataclass(eq=False)
class Edit:
    """One edit. Nodes are matched by id and type: they keep their state, and widgets are set in place.

    A node whose brain changed is made anew and inherits the state of the one before; one with a changed widget that
    says `rebuild` starts afresh.
    """

    base: Plan
    """The plan it was made for: when another edit came first, it cannot be applied."""
    plan: Plan
    source: Any
    """What the tape shall have of it."""
    nodes: dict[str, Any]
    """All nodes of the new plan."""
    fresh: list[str]
    """Those that are new objects, registers first."""
    heirs: set[str]
    """Of these, the ones that inherit a state."""
    settings: dict[str, dict[str, Any]]
    """Of the others: widgets that change."""
    motion: Motion = field(init=False)
    still: dict[str, Still] = field(default_factory=dict)
    thinkers: dict[str, Thinker] = field(default_factory=dict)
    thoughts: dict[str, Thought] = field(default_factory=dict)
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    """Node id -> the sizes it said when it was opened."""
    opened: list[str] = field(default_factory=list)
    """Of the fresh ones."""
    retired: dict[str, Any] = field(default_factory=dict)
    """Nodes that were taken out, or not taken in."""
    closing: list[tuple[str, Any, Thinker | None]] = field(default_factory=list)
    """Of these, the ones that are still open, with the threads they think on."""
    error: RunError | None = None
    """Why it could not be applied."""
    done: threading.Event = field(default_factory=threading.Event)
    """It was applied, or refused."""

    def __post_init__(self) -> None:
        self.motion = Motion(self.plan)

    def close(self) -> list[str]:
        """Close what has to be; returns a sentence for each that failed."""
        sentences: list[str] = []
        while self.closing:
            sentences.extend(close_node(*self.closing.pop()))
        return sentences

    def describe(self) -> str:
        """What it changes, for people."""
        parts = [f"{name}.{widget} = {value!r}" for name, widgets in self.settings.items() for widget, value in widgets.items()]
        parts += [f"{name} made anew" if name in self.retired else f"{name} added" for name in self.fresh]
        parts += [f"{name} taken out" for name in self.retired if name not in self.nodes]
        return ", ".join(parts) or "links and clocks only"

    @classmethod
    def between(cls, old: Plan, new: Plan, nodes: Mapping[str, Any], source: Any) -> Edit:
        """What is between two plans. Makes the nodes that are new; raises what making them raises."""
        fresh, heirs, settings = [], set(), {}
        stood, stands = ({step.node for step in plan.steps if step.still} for plan in (old, new))
        for name, checked in new.graph.nodes.items():
            before = old.graph.nodes.get(name)
            if before is None or before.cls is not checked.cls:
                fresh.append(name)
                continue
            changed = {key: value for key, value in checked.widgets.items() if before.widgets.get(key) != value}
            if any(checked.cls.schema.widgets[key].rebuild for key in changed):
                fresh.append(name)
            elif name in stands and (changed or name not in stood):
                fresh.append(name)  # it is run beside the game, where the old one may still be needed as it is
            elif before.brain_sha256 != checked.brain_sha256:
                fresh.append(name)
                if checked.cls.reset is not Node.reset:
                    heirs.add(name)
            elif changed:
                settings[name] = changed
        make_nodes(new, settings)  # a node of its own finds out whether the widgets go together
        made = make_nodes(new, fresh)
        fresh.sort(key=lambda name: not new.graph.nodes[name].register)
        all_nodes = {name: made[name] if name in made else nodes[name] for name in new.graph.nodes}
        return cls(old, new, source, all_nodes, fresh, heirs, settings)

    def again(self, still: Mapping[str, Still], thoughts: Mapping[str, Thought]) -> set[str]:
        """Nodes that have to run though they stay: the still part came to something else, or a thought is dropped."""
        before = {name: result.signature for name, result in still.items()}
        changed = {name for name, result in self.still.items() if before.get(name) != result.signature}
        dropped = {name for name, thought in thoughts.items() if thought.job is not None or thought.wanted}
        return changed | dropped - self.thoughts.keys()

    def refuse(self, error: RunError) -> None:
        """It is not applied: what it opened has to be closed."""
        self.error = error
        self.retire({name: self.nodes[name] for name in self.opened}, self.thinkers)

    def retire(self, nodes: dict[str, Any], thinkers: Mapping[str, Thinker]) -> None:
        """These have to be closed."""
        self.retired = nodes
        self.closing = [(name, node, thinkers.get(name)) for name, node in nodes.items()]
