"""The node protocol: a small class whose annotations are its sockets and
whose fields are its widgets.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, Unpack, dataclass_transform

from minibrains.brain import Brain
from minibrains.errors import NodeClassError, suggest
from minibrains.host import Episode, Host
from minibrains.node_options import Background, Migration, NodeOptions, check_options, set_options
from minibrains.node_schema import NodeSchema, read_schema
from minibrains.widgets import Widget, widget


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(widget,))
class Node:
    """A part of an agent.

    Subclass it and annotate `tick`: its arguments are the inputs, its result is the outputs.

    The engine calls `open(host)`, then for each episode `reset(episode)` and many `tick(…)`, and
    finally `close()`. A node with `reset` has state. A node never modifies its inputs, and never
    writes to an output after returning it.

    Example:
        >>> from minibrains import Number, widget
        >>> class Scale(Node):
        ...     factor: float = widget(default=2.0, doc="multiplies the number")
        ...
        ...     def tick(self, number: Number) -> Number:
        ...         return self.factor * number
        >>> Scale(factor=3.0).tick(4.0)
        12.0
    """

    # the defaults of the class options
    category: ClassVar[str | None] = None
    version: ClassVar[int] = 1
    migrations: ClassVar[Mapping[int, Migration]] = MappingProxyType({})
    renamed_inputs: ClassVar[Mapping[int, Mapping[str, str]]] = MappingProxyType({})
    renamed_outputs: ClassVar[Mapping[int, Mapping[str, str]]] = MappingProxyType({})
    renamed_widgets: ClassVar[Mapping[int, Mapping[str, str]]] = MappingProxyType({})
    renamed_attributes: ClassVar[Mapping[str, str]] = MappingProxyType({})
    every_tick: ClassVar[bool] = False
    background: ClassVar[Background | None] = None
    cache_on_disk: ClassVar[bool] = False
    collects_data: ClassVar[bool] = False
    reads_sources: ClassVar[bool] = False
    fallback: ClassVar[Any] = None
    terminal: ClassVar[str | None] = None
    external: ClassVar[bool] = False

    schema: ClassVar[NodeSchema]

    brain: Any

    def __init__(self, *, brain: Brain | None = None, **widgets: Any) -> None:
        """Make a node.

        Args:
            brain: Its brain, if the class declares one.
            widgets: Its widgets by name; those with a default may be left out.

        Raises:
            TypeError: A widget is unknown or missing, or the brain is not of the kind that the
                class declares.
            ValueError: A widget has a wrong value.
        """
        cls = type(self)
        _check_widget_names(cls, widgets)
        _check_brain(cls, brain)
        for name, declared in cls.schema.widgets.items():
            setattr(self, name, _widget_value(cls, declared, widgets))
        self.brain = brain
        self._made_by_open: frozenset[str] = frozenset(vars(self)) | {"_made_by_open"}

    def __init_subclass__(cls, **options: Unpack[NodeOptions]) -> None:
        super().__init_subclass__()
        set_options(cls, options)
        if not options.get("abstract", False):
            bases = [
                base
                for base in reversed(cls.__mro__)
                if issubclass(base, Node) and base not in (Node, Register)
            ]
            cls.schema = read_schema(bases, register=issubclass(cls, Register), reserved=_RESERVED)
            check_options(cls, cls.schema, register=issubclass(cls, Register))

    @classmethod
    def run_files(cls, node: str, widgets: Mapping[str, Any]) -> Sequence[str]:
        """Return the files that a node will write in the run folder,
        so that no two nodes write the same one.

        Args:
            node: Its id in the workflow, with a dot for each `/`: see `Host.file_stem`.
            widgets: The values of its widgets, by name.

        Returns:
            Names of files and folders directly within `host.dir`.
        """
        return ()

    @classmethod
    def fits_any_file(cls, widgets: Mapping[str, Any]) -> bool:
        """Return whether its outputs may be linked to nodes with any brain, although their type
        says for which file its own brain was made.

        Args:
            widgets: The values of its widgets, by name; none if one of them is at fault.
        """
        return False

    def check(self) -> None:
        """Check widgets and brain together, before anything is opened. Raises a MinibrainsError."""

    def open(self, host: Host) -> None:
        """Acquire what the node needs: files, processes, modules.

        Raises a MinibrainsError with a sentence for people.
        """

    def warm_up(self, constants: Mapping[str, Any]) -> None:
        """Do slow work in advance that depends only on inputs that do not change,
        such as merging an adapter into a model.

        Called once the node is open, and at each live edit, which may change the constants. `tick`
        may be running on another thread meanwhile. So keep the result with `host.load`, where
        `tick` finds it, and set no attributes.

        Args:
            constants: The values of the inputs that only constant nodes feed, by name.
        """

    def reset(self, episode: Episode) -> None:
        """Start an episode. Afterwards the node must behave like a new one."""

    def is_done(self, episode: Episode) -> bool:
        """Return whether this node has everything of an episode that has not begun, from an
        earlier run.

        Override it in a node that keeps what episodes leave behind. If all such nodes of a graph
        say so, the episode is not played, and its result is "skipped". So a run that was killed
        goes on where it stopped.
        """
        return False

    def finish(self, results: Mapping[str, Any]) -> None:
        """Finish an episode that is over.

        Args:
            results: Its results, as written to episodes.jsonl: what the nodes reported, "ticks",
                and "ended", which is "done", "limit" or "stopped". This is not called after an
                episode that has failed.
        """

    def close(self) -> None:
        """Release everything. Called once after `open`, even if the run failed."""

    def report(self) -> Mapping[str, Any]:
        """Return the results of the episode so far: score, won, start, …

        Called between two ticks, about ten times a second, and again when the episode is over. It
        must not change anything.
        """
        return {}

    def check_collectors(self, names: Sequence[str]) -> None:
        """Refuse nodes that collect or train,
        if this node brings something into the game that is held back from training.

        Called before the node is opened, and when a running graph is edited. Raises
        MinibrainsError.
        """

    def state(self) -> dict[str, Any]:
        """Return a copy of everything that `reset` and `tick` have set."""
        return {
            name: copy.deepcopy(value)
            for name, value in vars(self).items()
            if name not in self._made_by_open
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `state()` returned."""
        for name, value in state.items():
            setattr(self, name, copy.deepcopy(value))

    def set(self, **widgets: Any) -> None:
        """Set widgets in a running graph, between two calls of the node.

        They were checked, and have no `rebuild`.
        """
        for name, value in widgets.items():
            setattr(self, name, value)

    def settle(self) -> None:
        """Note, after `open`, which attributes exist: they belong to the node,
        and those that are set later are its state.
        """
        self._made_by_open = frozenset(vars(self))


class Register(Node, abstract=True):
    """A node that keeps a value from one tick to the next: `emit()` starts a tick,
    `latch(…)` ends it.

    Loops in a graph go through a register. `terminal` names a Flag output that ends the episode.
    """

    def receive(self, value: Any) -> None:
        """Receive a value that a page sends to an external register.

        Called on another thread, at any time: store the value in one assignment, and return it from
        `emit`. Return the same object as long as nothing has changed, because each new one is
        written to the tape.

        Args:
            value: Any JSON value; None once no page sends values any more.
        """


def _check_widget_names(cls: type[Node], widgets: Mapping[str, Any]) -> None:
    known = cls.schema.widgets
    for name in widgets:
        if name not in known:
            hint = suggest(name, known) or f"Its widgets are: {', '.join(known) or 'none'}"
            raise TypeError(f"{cls.__name__} has no widget {name!r}. {hint}")


def _widget_value(cls: type[Node], declared: Widget, widgets: Mapping[str, Any]) -> Any:
    name = declared.name
    if name not in widgets:
        if declared.required:
            raise TypeError(f"{cls.__name__} needs its widget {name!r} ({declared.describe()})")
        return declared.default
    try:
        return declared.read(widgets[name])
    except ValueError:
        expected = declared.describe()
        raise ValueError(
            f"{cls.__name__}.{name}: expected {expected}, found {widgets[name]!r}"
        ) from None


def _check_brain(cls: type[Node], brain: object) -> None:
    brain_class = cls.schema.brain
    if brain is None and not cls.schema.brain_required:
        return
    if brain_class is None:
        raise TypeError(f"{cls.__name__} has no brain, found {brain!r}")
    if not isinstance(brain, brain_class):
        raise TypeError(
            f"{cls.__name__} needs a brain of kind {brain_class.kind!r}, found {brain!r}"
        )


_RESERVED: Final = frozenset(dir(Register)).union(inspect.get_annotations(Node))
"""Names that every node has."""
_METHODS: Final = {"tick", "emit", "latch"} | {
    name for name in dir(Register) if callable(getattr(Register, name))
}


def check_names(node: object) -> None:
    """Raise NodeClassError if an attribute of the node hides one of its methods."""
    for name in _METHODS & vars(node).keys():
        raise NodeClassError(
            f"{type(node).__name__} sets self.{name}, but {name} is a method that every node has; "
            "give it another name"
        )
