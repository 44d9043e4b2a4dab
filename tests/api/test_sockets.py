"""Socket types: how they are read, and how the checker makes them agree over links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, Union

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibrains import (
    Brain,
    Flag,
    Frame,
    Logits,
    Node,
    Number,
    Register,
    Socket,
    Text,
    setting,
    tensor,
    widget,
)
from minibrains.errors import NodeClassError, WorkflowError
from minibrains.graph.check import Graph, check, check_sizes
from minibrains.graph.registry import Registry
from minibrains.graph.workflow import parse_workflow
from minibrains.sockets import Mismatch, SocketTypes, Unifier, parse_spec, read_socket

T, U = TypeVar("T"), TypeVar("U")
Links = Iterable[tuple[str, str, str, str]]
"""Node and socket type of the output, node and socket type of the input."""


def kind(text: str) -> SocketTypes:
    """`"frame u8[h w 3] | text"`, a type variable `"T"`, or `"*"` for anything,
    as an annotation would be read.
    """

    def annotation(part: str) -> Any:
        name, _, spec = part.partition(" ")
        return {"T": T, "U": U, "*": Any}.get(name) or Annotated[object, Socket(name, spec or None)]

    parts = [annotation(part.strip()) for part in text.split("|")]
    result = read_socket(Union[tuple(parts)])
    assert result is not None
    return result


def unify(links: Links, known: Mapping[str, Mapping[str, int]] | None = None) -> Unifier:
    """Join the links in order. Raises Mismatch at the first that does not fit."""
    unifier = Unifier(lambda node, name: (known or {}).get(node, {}).get(name))
    for source, gives, target, wants in links:
        unifier.link(source, kind(gives), target, kind(wants))
    return unifier


# -- how specs and annotations are read ------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "dtype", "dims"),
    [
        ("u8[h w 3]", "u8", ("h", "w", 3)),
        ("f32[]", "f32", ()),
        ("bool[n]", "bool", ("n",)),
        ("bf16[{width} tile_2]", "bf16", ("{width}", "tile_2")),
        ("index[actions]", "index", ("actions",)),
        ("sha256[file]", "sha256", ("file",)),
    ],
)
def test_a_spec_is_a_dtype_and_sizes(spec: str, dtype: str, dims: tuple[int | str, ...]) -> None:
    assert parse_spec(spec) == (dtype, dims)


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "f32",
        "float[3]",
        "f32[3",
        "f32[3]]",
        "F32[3]",
        "f32[-1]",
        "f32[1.5]",
        "f32[H]",
        "f32[{h]",
        "f32[{}]",
        "f32[a,b]",
    ],
)
def test_a_spec_that_cannot_be_read_is_named(spec: str) -> None:
    with pytest.raises(NodeClassError, match="cannot be read") as error:
        parse_spec(spec)
    assert repr(spec) in str(error.value)


def test_an_annotation_is_read_as_types_a_variable_or_anything() -> None:
    assert str(read_socket(Frame)) == "frame u8[h w c]"
    assert str(read_socket(Frame | Text)) == "frame u8[h w c] or text"
    assert read_socket(T) == SocketTypes(variable="T")
    assert read_socket(Any) == SocketTypes(anything=True)


@pytest.mark.parametrize(
    "annotation",
    [int, np.ndarray, "frame", None, Annotated[int, "a label"], Frame | int, Frame | T],
)
def test_other_annotations_are_no_socket_types(annotation: Any) -> None:
    assert read_socket(annotation) is None


# -- one link --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gives", "wants", "becomes"),
    [
        ("text", "text", "text"),
        ("text", "*", "anything"),
        ("text", "number | text", "number or text"),
        ("text | number", "number | flag | text", "number or flag or text"),
        ("frame u8[h w 3]", "frame u8[a b c]", "frame u8[a b 3]"),
        ("frame u8[4 4 c]", "frame u8[n n 3]", "frame u8[4 4 3]"),
        ("text", "T", "text"),
        ("T", "text", "text"),
        ("T", "*", "anything"),
    ],
)
def test_types_that_fit(gives: str, wants: str, becomes: str) -> None:
    assert str(unify([("a", gives, "b", wants)]).resolve("b", kind(wants))) == becomes


@pytest.mark.parametrize(
    ("gives", "wants"),
    [
        ("text", "number"),
        ("text", "number | flag"),
        ("text | number", "text"),
        ("v f32[3]", "v f64[3]"),
        ("v f32[3]", "v f32[3 1]"),
        ("v f32[3]", "v"),
        ("v f32[3]", "w f32[3]"),
        ("v f32[3]", "v f32[4]"),
        ("v f32[3 4]", "v f32[n n]"),
        ("v f32[3]", "v f32[4] | v f32[5]"),
    ],
)
def test_types_that_do_not_fit_are_named_in_full(gives: str, wants: str) -> None:
    with pytest.raises(Mismatch) as error:
        unify([("a", gives, "b", wants)])
    assert error.value.found in gives
    assert error.value.expected == wants.replace("|", "or").replace("n n", "3 3")


# -- sizes and type variables over several links ---------------------------------------------------


def test_a_mismatch_shows_the_sizes_that_other_links_have_said() -> None:
    links = [
        ("table", "v f32[545]", "head", "v f32[actions]"),
        ("net", "logits f32[8 512]", "head", "logits f32[{n} actions]"),
    ]
    with pytest.raises(Mismatch) as error:
        unify(links, {"head": {"n": 8}})
    assert (error.value.expected, error.value.found) == ("logits f32[8 545]", "logits f32[8 512]")


def test_a_size_is_the_same_number_in_all_sockets_of_a_node_and_travels_along_a_chain() -> None:
    chain = [(f"n{i}", "v f32[{h} w]", f"n{i + 1}", "v f32[h w]") for i in range(50)]
    ends = [("start", "v f32[3 4]", "n0", "v f32[h w]"), ("n50", "v f32[h w]", "end", "v f32[a b]")]
    assert str(unify([*chain, *ends]).resolve("end", kind("v f32[b a]"))) == "v f32[4 3]"
    with pytest.raises(Mismatch, match=r"expected v f32\[3 5\], found v f32\[3 4\]"):
        unify([*chain, *ends, ("n50", "v f32[h w]", "other", "v f32[3 5]")])


def test_the_same_name_in_two_nodes_is_two_sizes() -> None:
    unifier = unify([("a", "v f32[3]", "b", "v f32[n]"), ("a", "v f32[4]", "c", "v f32[n]")])
    assert str(unifier.resolve("a", kind("v f32[n]"))) == "v f32[n]"
    assert str(unifier.resolve("b", kind("v f32[n]"))) == "v f32[3]"
    assert str(unifier.resolve("c", kind("v f32[n]"))) == "v f32[4]"


@pytest.mark.parametrize("size", ["n", "{n}"])
def test_what_a_node_knows_counts_like_a_link(size: str) -> None:
    link = ("a", "v f32[m]", "b", f"v f32[{size}]")
    assert str(unify([link], {"b": {"n": 3}}).resolve("a", kind("v f32[m]"))) == "v f32[3]"
    with pytest.raises(Mismatch, match=r"expected v f32\[4\], found v f32\[3\]"):
        unify([link], {"a": {"m": 3}, "b": {"n": 4}})


def test_a_type_variable_is_one_type_through_a_chain_of_generic_nodes() -> None:
    chain = [("camera", "frame u8[84 84 1]", "r0", "T")]
    chain += [(f"r{i}", "T", f"r{i + 1}", "T") for i in range(5)]
    unifier = unify([*chain, ("r5", "T", "stack", "frame u8[h w c]")])
    assert (
        str(unifier.resolve("r5", kind("T")))
        == str(unifier.resolve("stack", kind("frame u8[h w c]")))
        == "frame u8[84 84 1]"
    )
    with pytest.raises(Mismatch, match="expected text, found frame"):
        unify([*chain, ("r5", "T", "log", "text")])


def test_the_inputs_of_a_switch_have_one_type() -> None:
    yes = ("camera", "frame u8[h w 3]", "switch", "T")
    unifier = unify(
        [("other", "frame u8[h w c]", "switch", "T"), ("flag", "flag", "switch", "flag"), yes]
    )
    assert str(unifier.resolve("switch", kind("T"))) == "frame u8[h w 3]"
    for no in ("text", "frame u8[h w 1]", "text | frame u8[h w 3]"):
        with pytest.raises(Mismatch):
            unify([yes, ("other", no, "switch", "T")])


def test_two_type_variables_of_a_node_are_two_types() -> None:
    unifier = unify(
        [("a", "text", "pair", "T"), ("b", "flag", "pair", "U"), ("pair", "T", "c", "text | flag")]
    )
    assert str(unifier.resolve("pair", kind("T"))) == "text"
    assert str(unifier.resolve("pair", kind("U"))) == "flag"


def test_a_union_is_narrowed_by_what_really_flows() -> None:
    unifier = unify(
        [
            ("hold", "T", "log", "text | flag"),
            ("hold", "T", "gate", "flag"),
            ("clock", "flag", "hold", "T"),
        ]
    )
    assert str(unifier.resolve("hold", kind("T"))) == "flag"


def test_an_option_is_chosen_when_sizes_become_known() -> None:
    either = ("a", "v f32[n]", "b", "v f32[3] | v f32[4]")
    three, five = ("a", "v f32[n]", "c", "v f32[3]"), ("a", "v f32[n]", "c", "v f32[5]")
    assert str(unify([either, three]).resolve("a", kind("v f32[n]"))) == "v f32[3]"
    for links in ([either, five], [five, either]):
        with pytest.raises(Mismatch):
            unify(links)


LABELS = ("a", "b", "a | b", "T"), ("a", "a | b", "T", "*")
SIZES = (
    ("v f32[n]", "v f32[{m}]", "v f32[3]", "T"),
    ("v f32[n]", "v f32[m]", "v f32[3] | v f32[4]", "v f32[m] | a", "T"),
)
SHAPES = (
    ("v f32[n 3]", "v f32[m n]", "v f32[3 {n}]"),
    ("v f32[n m]", "v f32[n 3] | v f32[3 m]", "v f32[n n] | v f32[4 n]", "T"),
)
NODES = st.sampled_from("pqr")
LINKS = st.sampled_from([LABELS, SIZES, SHAPES]).flatmap(
    lambda kinds: st.lists(
        st.tuples(NODES, st.sampled_from(kinds[0]), NODES, st.sampled_from(kinds[1])),
        min_size=2,
        max_size=6,
    )
)
KNOWN = st.dictionaries(
    NODES, st.dictionaries(st.sampled_from("nm"), st.integers(2, 4), max_size=2), max_size=2
)


@settings(max_examples=500, deadline=None)
@given(LINKS, KNOWN, st.randoms(use_true_random=False))
def test_the_order_of_links_never_changes_whether_they_are_accepted(
    links: list[Any], known: Any, random: Any
) -> None:
    def sizes(order: Links) -> list[Any] | None:
        try:
            unifier = unify(order, known)
        except Mismatch:
            return None
        found: list[Any] = []
        for source, gives, target, wants in links:
            for node, text in ((source, gives), (target, wants)):
                if set("|*TU") & set(text):
                    continue
                for size in unifier.resolve(node, kind(text)).options[0].dims:
                    found.append(size if isinstance(size, int) else None)
        return found

    assert sizes(links) == sizes(random.sample(links, len(links))) == sizes(links[::-1])


# -- over a workflow -------------------------------------------------------------------------------


class Weights(Brain):
    kind = "weights"
    weight: np.ndarray = tensor("f32[outputs inputs]")
    steps: int = setting(8)


StepLogits = Annotated[np.ndarray, Socket("logits", "f32[{steps} {outputs}]")]
Wide = Annotated[np.ndarray, Socket("logits", "f32[8 {width}]")]


class Camera(Register):
    def emit(self) -> Frame:
        raise NotImplementedError

    def latch(self) -> None: ...


class Source(Node):
    width: int = widget(default=512)

    def tick(self) -> Wide:
        raise NotImplementedError


class Head(Node):
    brain: Weights

    def tick(self, logits: StepLogits) -> Number:
        raise NotImplementedError


class Grey(Node):
    def tick(self, frame: Annotated[np.ndarray, Socket("frame", "u8[h w 1]")]) -> Flag:
        raise NotImplementedError


class Both(NamedTuple):
    first: Logits
    second: Text


class Two(Node):
    def tick(self) -> Both:
        raise NotImplementedError


def checked(tmp_path: Path, **nodes: dict[str, Any]) -> Graph:
    """Check a workflow of the nodes above; its brain is Weights of 545 outputs."""
    path = tmp_path / "weights.safetensors"
    Weights(weight=np.zeros((545, 2), np.float32)).save(path, title="t", made_by="test")
    registry = Registry()
    for cls in (Camera, Source, Head, Grey, Two):
        registry.add(cls)
    return check(parse_workflow({"minibrains": 1, "nodes": nodes}), registry, lambda pin: path)


def test_a_head_refuses_logits_of_another_width_naming_nodes_sockets_and_shapes(
    tmp_path: Path,
) -> None:
    def graph(width: int) -> Graph:
        source = {"type": "Source@1", "set": {"width": width}}
        return checked(
            tmp_path,
            src=source,
            head={"type": "Head@1", "brain": "w", "in": {"logits": "src.logits"}},
        )

    assert [edge.input.name for edge in graph(545).edges] == ["logits"]
    with pytest.raises(WorkflowError) as error:
        graph(512)
    (fault,) = error.value.faults
    assert (fault.node, fault.socket) == ("head", "logits")
    assert (fault.expected, fault.found) == ("logits f32[8 545]", "logits f32[8 512] at src.logits")
    assert "src.logits" in fault.message


def test_the_second_output_of_a_record_has_its_own_type(tmp_path: Path) -> None:
    with pytest.raises(
        WorkflowError, match=r"expected logits f32\[8 545\], found text at two\.second"
    ):
        checked(
            tmp_path,
            two={"type": "Two@1"},
            head={"type": "Head@1", "brain": "w", "in": {"logits": "two.second"}},
        )


def test_sizes_that_a_node_says_when_it_is_opened_are_unified_too(tmp_path: Path) -> None:
    graph = checked(
        tmp_path, cam={"type": "Camera@1"}, grey={"type": "Grey@1", "in": {"frame": "cam.frame"}}
    )
    check_sizes(graph, {"cam": {"h": 224, "w": 320, "c": 1}})
    with pytest.raises(
        WorkflowError,
        match=r"expected frame u8\[h w 1\], found frame u8\[224 320 3\] at cam\.frame",
    ):
        check_sizes(graph, {"cam": {"h": 224, "w": 320, "c": 3}})
