"""Socket types: ordinary Python types with a label, and the unifier that checks them over a graph.

A socket type is written `Annotated[np.ndarray, Socket("frame", "u8[h w 3]")]`. The label names the
kind of value, the spec its dtype and shape. Dimension names belong to one node: `h` is the same
number in all sockets of a node, and unknown until a link or the opened node determines it;
`{width}` is read from the node's widgets or its brain.
"""

from __future__ import annotations

import re
import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple, TypeVar, Union, get_args, get_origin

import numpy as np

from minibrains.errors import NodeClassError


@dataclass(frozen=True, slots=True)
class Sha256:
    """The identity of a file, independent of its name."""

    hex: str

    def __str__(self) -> str:
        return self.hex[:12]


ANY_FILE: Final = Sha256("any file")
"""The identity that fits that of each file, and says nothing of it."""

Known = int | Sha256
"""A known size: the number, or for `sha256[…]` the file."""
Dim = Known | str
"""A size: known, a free name like `h`, or `{name}` for a size that the node itself knows."""

_SPEC = re.compile(r"([a-z]+\d*)\[([^\]]*)\]")
_DIM = re.compile(r"\d+|[a-z_][a-z0-9_]*|\{[a-z_][a-z0-9_]*\}")
_NO_ARRAYS = ("index", "sha256")
_CODES = {
    "bool": "?", "u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "f16": "<f2", "u32": "<u4",
    "i32": "<i4", "f32": "<f4", "u64": "<u8", "i64": "<i8", "f64": "<f8",
}  # fmt: skip
DTYPES: dict[str, np.dtype] = {
    "bf16": np.dtype([("bf16", "<u2")]),
    **{label: np.dtype(code) for label, code in _CODES.items()},
}
"""The dtypes that a spec may name -> NumPy's. NumPy has no bf16: such an array holds the bits in
records, and `minibrains.tensors` converts it to torch.bfloat16. There are also `index[n]`, a whole
number from 0 to n - 1, and `sha256[file]`, a value that belongs to one file, such as an adapter to
the model it was made for."""


def parse_spec(spec: str) -> tuple[str, tuple[int | str, ...]]:
    """Parse the spec of a socket.

    Args:
        spec: A dtype and a shape. A size is a number, a name, or a `{name}` that the node itself
            knows.

    Returns:
        The dtype, and the sizes.

    Raises:
        NodeClassError: The spec is not a valid one.

    Example:
        >>> parse_spec("u8[h {width} 3]")
        ('u8', ('h', '{width}', 3))
    """
    match = _SPEC.fullmatch(spec)
    if not match or match[1] not in (*DTYPES, *_NO_ARRAYS):
        raise NodeClassError(
            f"the socket spec {spec!r} cannot be read; expected for example 'f32[n {{width}} 3]'"
        )
    dims: list[int | str] = []
    for word in match[2].split():
        if not _DIM.fullmatch(word):
            raise NodeClassError(
                f"the size {word!r} in {spec!r} cannot be read; expected 3, name or {{name}}"
            )
        dims.append(int(word) if word.isdigit() else word)
    return match[1], tuple(dims)


@dataclass(frozen=True, slots=True)
class Socket:
    """The label of a socket type: its name and, for arrays, its dtype and shape.

    Example:
        >>> GreyFrame = Annotated[np.ndarray, Socket("frame", "u8[h w 1]")]
        >>> str(read_socket(GreyFrame))
        'frame u8[h w 1]'
    """

    name: str
    """The kind of value, such as "frame". It is also the default name of an output of this type."""
    spec: str | None = None
    """The dtype and shape, such as "u8[h w 3]"; None for a value that is not an array."""


@dataclass(frozen=True, slots=True)
class SocketType:
    """One concrete socket type: a Python type with its label, dtype and shape."""

    name: str
    dtype: str | None
    dims: tuple[Dim, ...]
    python: Any

    def __str__(self) -> str:
        if self.dtype is None:
            return self.name
        return f"{self.name} {self.dtype}[{' '.join(map(str, self.dims))}]"


@dataclass(frozen=True, slots=True)
class SocketTypes:
    """The types of a socket: one of `options`, the type that `variable` stands for,
    or (`anything`) any value.
    """

    options: tuple[SocketType, ...] = ()
    variable: str | None = None
    anything: bool = False

    @classmethod
    def named(cls, name: str) -> SocketTypes:
        """Return the type that has this label and no shape."""
        return cls((SocketType(name, None, (), object),))

    @property
    def label(self) -> str:
        """The default name of an output of this type."""
        if self.options:
            return self.options[0].name
        return "value"

    def __str__(self) -> str:
        if self.anything:
            return "anything"
        return self.variable or " or ".join(map(str, self.options))


def read_socket(annotation: Any) -> SocketTypes | None:
    """Return the socket types that an annotation stands for; None if it is not a socket type."""
    if annotation is Any:
        return SocketTypes(anything=True)
    if isinstance(annotation, TypeVar):
        return SocketTypes(variable=annotation.__name__)
    if get_origin(annotation) in (Union, types.UnionType):
        options: list[SocketType] = []
        for socket_types in [read_socket(part) for part in get_args(annotation)]:
            if socket_types is None or not socket_types.options:
                return None
            options.extend(socket_types.options)
        return SocketTypes(tuple(options))
    if get_origin(annotation) is Annotated:
        python, *labels = get_args(annotation)
        for label in labels:
            if not isinstance(label, Socket):
                continue
            if label.spec is None:
                return SocketTypes((SocketType(label.name, None, (), python),))
            dtype, dims = parse_spec(label.spec)
            return SocketTypes((SocketType(label.name, dtype, dims, python),))
    return None


Frame = Annotated[np.ndarray, Socket("frame", "u8[h w c]")]
"""A picture: uint8 [height, width, channels], channels 3 (RGB) or 1 (grey)."""
ColorFrame = Annotated[np.ndarray, Socket("frame", "u8[h w 3]")]
"""A picture in colour: uint8 [height, width, 3], red, green, blue."""
Frames = Annotated[np.ndarray, Socket("frames", "f32[channels h w]")]
"""Stacked, normalised pictures: float32 [channels, height, width], oldest first."""
Logits = Annotated[np.ndarray, Socket("logits", "f32[actions]")]
"""Unnormalised log-probabilities: float32 [actions]."""
Action = Annotated[int, Socket("action", "index[actions]")]
"""The index of an action in an action table: 0 to actions - 1."""
Situation = Annotated[int, Socket("situation", "index[situations]")]
"""The situation of the game, for a policy that tells situations apart: 0 to situations - 1."""
Pad = Annotated[tuple[str, ...], Socket("pad")]
"""The buttons held during one frame, by name, for example ("LEFT", "B")."""
Variables = Annotated[Mapping[str, int], Socket("variables")]
"""Named numbers read from the game's memory."""
Number = Annotated[float, Socket("number")]
"""A number; rewards are numbers."""
Flag = Annotated[bool, Socket("flag")]
"""True or False."""
Text = Annotated[str, Socket("text")]
"""A piece of text."""


@dataclass(frozen=True, slots=True)
class Size:
    """A known size, and the node that it comes from."""

    value: Known
    node: str
    dim: Dim
    """The node's name for it; the value itself if one of the node's socket types contains it."""


class Mismatch(Exception):
    """Two socket types do not fit; `expected` and `found` are texts for people."""

    def __init__(self, expected: str, found: str, sizes: tuple[Size, Size] | None = None) -> None:
        """Describe a mismatch; `sizes` are the expected and the found size,
        if it is the sizes that do not fit.
        """
        super().__init__(f"expected {expected}, found {found}")
        self.expected = expected
        self.found = found
        self.sizes = sizes


Key = tuple[str, str]
"""A dimension or type variable: (node id, name)."""
TypedSocket = tuple[str, SocketTypes]
"""(node id, the types of one of its sockets)."""


class _OpenLink(NamedTuple):
    """A link for which it is not decided yet which option of its target is meant."""

    source: str
    given: SocketType
    target: str
    expected: SocketTypes


class Unifier:
    """Unifies the socket types of a graph, link by link.

    The order of the links does not affect whether they agree.

    `known(node, name)` returns a size that the node itself knows, or None: from a widget, from its
    brain, from the hash of a file, or from opening the node. Sizes and type variables that links
    have made equal are kept in one union-find.
    """

    def __init__(self, known: Callable[[str, str], Known | None]) -> None:
        self._known = known
        self._parent: dict[Key, Key] = {}
        self._sizes: dict[Key, Size] = {}
        self._given: dict[Key, TypedSocket] = {}
        """Type variable -> the type that flows into its sockets."""
        self._expected: dict[Key, list[TypedSocket]] = defaultdict(list)
        """Type variable -> the types of the inputs that its outputs are linked to."""
        self._open: list[_OpenLink] = []

    def link(self, source: str, given: SocketTypes, target: str, expected: SocketTypes) -> None:
        """Join an output of node `source` to an input of node `target`. Raises Mismatch."""
        if expected.anything:
            return
        if given.variable is not None and expected.variable is not None:
            self._merge(self._variable(source, given), self._variable(target, expected))
        elif given.variable is not None:
            self._expect(self._variable(source, given), target, expected)
        elif expected.variable is not None:
            self._give(self._variable(target, expected), source, given)
        else:
            self._fit(source, given, target, expected)

    def resolve(self, node: str, socket_types: SocketTypes) -> SocketTypes:
        """Return `socket_types` with all sizes filled in that are known by now."""
        if socket_types.variable is not None:
            root = self._variable(node, socket_types)
            if root in self._given:
                node, socket_types = self._given[root]
            elif self._expected.get(root):
                node, socket_types = self._expected[root][0]
        options: list[SocketType] = []
        for option in socket_types.options:
            dims = tuple(self._shown(node, dim) for dim in option.dims)
            options.append(SocketType(option.name, option.dtype, dims, option.python))
        return SocketTypes(tuple(options), socket_types.variable, socket_types.anything)

    def is_given(self, node: str, variable: SocketTypes) -> bool:
        """Return whether the type that flows into the sockets with this type variable is known."""
        return self._variable(node, variable) in self._given

    def _variable(self, node: str, socket_types: SocketTypes) -> Key:
        return self._root((node, f"<{socket_types.variable}>"))

    def _give(self, variable: Key, node: str, socket_types: SocketTypes) -> None:
        """Let a type, of an output of `node`, flow into the sockets with a type variable: it must
        agree with what flows into them already, and fit the inputs that they are linked to.
        """
        if variable in self._given:
            first_node, first = self._given[variable]
            if len(first.options) != len(socket_types.options):
                raise Mismatch(
                    str(self.resolve(first_node, first)), str(self.resolve(node, socket_types))
                )
            self._fit(node, socket_types, first_node, first)
            return
        self._given[variable] = (node, socket_types)
        for target, expected in self._expected[variable]:
            self._fit(node, socket_types, target, expected)

    def _expect(self, variable: Key, node: str, socket_types: SocketTypes) -> None:
        """Link a type variable to an input of `node`, which what flows into it must fit."""
        self._expected[variable].append((node, socket_types))
        if variable in self._given:
            self._fit(*self._given[variable], node, socket_types)

    def _merge(self, variable: Key, other: Key) -> None:
        """Make two type variables one, with all that was given to or expected of either."""
        if variable == other:
            return
        given, expected = self._given.pop(variable, None), self._expected.pop(variable, [])
        self._parent[variable] = other
        for node, socket_types in expected:
            self._expect(other, node, socket_types)
        if given is not None:
            self._give(other, *given)

    def _fit(self, source: str, given: SocketTypes, target: str, expected: SocketTypes) -> None:
        """Add a link between types without variables, then decide each link of which only one
        option fits, as often as that decides others.
        """
        for option in given.options:
            self._open.append(_OpenLink(source, option, target, expected))
        decided, mismatches = True, list[Mismatch]()
        while decided:
            decided = False
            for link in list(self._open):
                options = self._options(*link)
                if len(options) > 1:
                    continue
                self._open.remove(link)
                decided = True
                mismatch = self._decide(link, options)
                if mismatch is not None:
                    mismatches.append(mismatch)
        if mismatches:
            raise mismatches[0]

    def _decide(self, link: _OpenLink, options: list[SocketType]) -> Mismatch | None:
        """Make the sizes of a link equal, of which at most one option fits; return why it cannot
        be.
        """
        source, given, target, expected = link
        if options and self._equate_all(target, options[0].dims, source, given.dims):
            return None
        meant = SocketTypes(tuple(options)) if options else expected
        expected_text = str(self.resolve(target, meant))
        found_text = str(self.resolve(source, SocketTypes((given,))))
        return Mismatch(expected_text, found_text, self._disagreement(*link))

    def _options(
        self, source: str, given: SocketType, target: str, expected: SocketTypes
    ) -> list[SocketType]:
        """Return the options of the target that fit `given`, by the sizes known so far."""
        options: list[SocketType] = []
        for option in expected.options:
            if _same_form(option, given) and self._different(source, given, target, option) is None:
                options.append(option)
        return options

    def _disagreement(
        self, source: str, given: SocketType, target: str, expected: SocketTypes
    ) -> tuple[Size, Size] | None:
        """Return the first two sizes that keep `given` from fitting, the expected one first;
        None if no sizes do.
        """
        for option in expected.options:
            if _same_form(option, given):
                return self._different(source, given, target, option)
        return None

    def _different(
        self, source: str, given: SocketType, target: str, option: SocketType
    ) -> tuple[Size, Size] | None:
        for mine, other in zip(option.dims, given.dims, strict=True):
            size, other_size = self._size(target, mine), self._size(source, other)
            if size and other_size and not _are_equal(size, other_size):
                return size, other_size
        return None

    def _equate_all(
        self, node: str, dims: Sequence[Dim], other_node: str, other_dims: Sequence[Dim]
    ) -> bool:
        """Equate pairs of sizes up to the first pair that cannot be equal;
        return whether all could be.
        """
        for dim, other in zip(dims, other_dims, strict=True):
            if not self._equate(node, dim, other_node, other):
                return False
        return True

    def _equate(self, node: str, dim: Dim, other_node: str, other: Dim) -> bool:
        size, other_size = self._size(node, dim), self._size(other_node, other)
        root, other_root = self._size_root(node, dim), self._size_root(other_node, other)
        if _fits_any_file(size) or _fits_any_file(other_size):
            return True
        if size is None and other_size is None:
            if root != other_root:
                self._parent[root] = other_root
        elif other_size is not None and size is None:
            self._sizes[root] = other_size
        elif size is not None and other_size is None:
            self._sizes[other_root] = size
        return size is None or other_size is None or _are_equal(size, other_size)

    def _size(self, node: str, dim: Dim) -> Size | None:
        if not isinstance(dim, str):
            return Size(dim, node, dim)
        name = dim.strip("{}")
        known = self._known(node, name)
        if known is not None:
            return Size(known, node, name)
        return self._sizes.get(self._size_root(node, dim))

    def _size_root(self, node: str, dim: Dim) -> Key:
        return self._root((node, str(dim).strip("{}")))

    def _shown(self, node: str, dim: Dim) -> Dim:
        size = self._size(node, dim)
        if size is None or _fits_any_file(size):
            return dim
        return size.value

    def _root(self, key: Key) -> Key:
        path = list(self._walk(key))
        for step in path[:-1]:
            self._parent[step] = path[-1]
        return path[-1]

    def _walk(self, key: Key) -> Iterator[Key]:
        yield key
        while key in self._parent:
            key = self._parent[key]
            yield key


def _fits_any_file(size: Size | None) -> bool:
    return size is not None and size.value == ANY_FILE


def _are_equal(size: Size, other: Size) -> bool:
    """Return whether two sizes are equal, or one of them fits any."""
    return size.value == other.value or _fits_any_file(size) or _fits_any_file(other)


def _same_form(option: SocketType, given: SocketType) -> bool:
    """Return whether two types are the same apart from their sizes."""
    return (option.name, option.dtype, len(option.dims)) == (
        given.name,
        given.dtype,
        len(given.dims),
    )
