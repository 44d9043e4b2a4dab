"""Named opponents of an evaluation: those that the game names, and those of a file.

Such a file is a JSON object. Each key is a name, and its value one of

- `{"states": PATTERN}`: the game's own opponent, in the save states of the split that match;
- `{"opponent": GROUP/NAME}`: one that the game's evaluation.json names;
- `{"workflow": NAME}`: a workflow that holds the other pad, perhaps with `brains` (node -> file)
  and `set` ("node.widget" -> value).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from minibrains.errors import Fault, MinibrainsError, WorkflowError
from minibrains.evaluation.protocol import Protocol, only_console
from minibrains.evaluation.rules import Opponent, OtherPad, Rules
from minibrains.games.catalog import read_json
from minibrains.graph.registry import Registry
from minibrains.graph.socket_ref import SocketRef
from minibrains.graph.workflow import NodeEntry, Workflow
from minibrains.run.spec import RunSpec
from minibrains.values import parse_value

_FORMS: Final = (
    '{"states": PATTERN}, {"opponent": GROUP/NAME} or {"workflow": NAME, "brains": …, "set": …}'
)
_PREFIX: Final = "opponent_"
"""The beginning of the ids that the nodes of a workflow get at the other pad."""


def name_opponents(
    text: str, protocol: Protocol, rules: Rules, spec: RunSpec, registry: Registry
) -> dict[str, Protocol]:
    """Return the protocol of the games against each opponent, by its name.

    Args:
        text: A GROUP, GROUP/NAME or pattern of such names of the game's evaluation.json, or a file
            of named opponents (.json).
        protocol: The protocol of games against nobody in particular.
        rules: The contents of the game's evaluation.json.
        spec: The evaluated workflow, whose packs the opponents may use.
        registry: The node types.

    Raises:
        MinibrainsError: There is no such opponent, or one cannot play.
    """
    if not text.endswith(".json"):
        chosen = rules.choose_opponents(text)
        return {opponent.title: protocol.against(opponent) for opponent in chosen}
    path = Path(text)
    if not path.is_file():
        raise MinibrainsError(f"--opponents: there is no file {path}")
    entries = read_json(path)
    if not entries:
        raise MinibrainsError(
            f"--opponents: {path} names nobody; expected a JSON object of names, each with {_FORMS}"
        )
    protocols: dict[str, Protocol] = {}
    for name, entry in entries.items():
        try:
            conditions = _protocol(entry, protocol, rules, spec, registry)
        except ValueError as error:
            raise MinibrainsError(f"{path}: {name}: {error}") from None
        for known, other in protocols.items():
            if other == conditions:
                raise MinibrainsError(
                    f"{path}: {known} and {name} are the same opponent; leave one of them out"
                )
        protocols[name] = conditions
    return protocols


def _protocol(
    entry: Any, protocol: Protocol, rules: Rules, spec: RunSpec, registry: Registry
) -> Protocol:
    """Return the protocol of one entry of a file. Raises ValueError or MinibrainsError."""
    if not isinstance(entry, dict):
        raise ValueError(f"it is {entry!r}; expected {_FORMS}")
    if entry.keys() == {"states"}:
        return _in_states(protocol, parse_value(str, entry["states"]))
    if entry.keys() == {"opponent"}:
        title = parse_value(str, entry["opponent"])
        for opponent in rules.opponents:
            if opponent.title == title:
                return protocol.against(opponent)
        known = ", ".join(opponent.title for opponent in rules.opponents)
        raise ValueError(f"there is no opponent {title!r}; expected one of {known}")
    if not {"workflow"} <= entry.keys() <= {"workflow", "brains", "set"}:
        raise ValueError(f"it has {', '.join(entry) or 'nothing'}; expected {_FORMS}")
    if rules.other_pad is None:
        raise ValueError("the game's evaluation.json does not say how a workflow holds another pad")
    other = RunSpec(
        parse_value(str, entry["workflow"]),
        widgets=parse_value(Mapping[str, Any], entry.get("set", {})),
        brains=parse_value(Mapping[str, str], entry.get("brains", {})),
        packs=spec.packs,
        installed_packs=spec.installed_packs,
    )
    return protocol.against(_at_other_pad(other, rules.other_pad, registry))


def _in_states(protocol: Protocol, pattern: str) -> Protocol:
    """Return the protocol for those of its states that match; raises ValueError if none does."""
    states: dict[str, str] = {}
    for state, sha256 in protocol.states.items():
        if fnmatchcase(state, pattern):
            states[state] = sha256
    if not states:
        raise ValueError(
            f"no state of {protocol.split}/{protocol.only} matches {pattern!r}; "
            f"expected some of {', '.join(protocol.states)}"
        )
    return replace(protocol, only=pattern, states=states)


def _at_other_pad(spec: RunSpec, other_pad: OtherPad, registry: Registry) -> Opponent:
    """Return the opponent that a workflow is: those of its nodes on which its pad depends.

    Raises WorkflowError if it has no pad, or sees what nobody can see from there.
    """
    workflow = registry.migrate(spec.load_workflow())
    console, _ = only_console(workflow, registry)
    pads = workflow.nodes[console].inputs.get("pad1", ())
    if not pads:
        fault = Fault(
            "nothing is linked to it, so this cannot be an opponent",
            console,
            "pad1",
            code="bad_linked_input",
        )
        raise WorkflowError([fault], workflow.where)
    brains = spec.check(workflow, registry).brain_files()
    nodes: dict[str, Mapping[str, Any]] = {}
    files: dict[str, Path] = {}
    for node in _upstream(workflow, console, pads[0].node):
        name = _PREFIX + node
        nodes[name] = _as_opponent(workflow, node, console, other_pad)
        if node in brains:
            files[name] = Path(brains[node]["file"]).absolute()
            pin = {"file": files[name].name, "sha256": brains[node]["sha256"]}
            nodes[name] = {**nodes[name], "brain": pin}
    for output, view in other_pad.views.items():
        nodes[_view(output)] = view
    links = dict.fromkeys(other_pad.console.get("in", {}), _PREFIX + str(pads[0]))
    nodes["console"] = {**other_pad.console, "in": links}
    return Opponent(workflow.name, "workflow", other_pad.write, nodes, files)


def _upstream(workflow: Workflow, console: str, last: str) -> list[str]:
    """Return the nodes on which an output of `last` depends, with itself, without the console."""
    found: dict[str, None] = {}
    pending = [last]
    while pending:
        node = pending.pop()
        if node in found or node == console:
            continue
        found[node] = None
        for link in _links(workflow.nodes[node]):
            pending.append(link.node)
    return list(found)


def _links(entry: NodeEntry) -> list[SocketRef]:
    links: list[SocketRef] = []
    for sources in entry.inputs.values():
        links.extend(sources)
    if entry.when is not None:
        links.append(entry.when)
    return links


def _as_opponent(
    workflow: Workflow, node: str, console: str, other_pad: OtherPad
) -> dict[str, Any]:
    """Return a node's entry with links between the renamed nodes, and to the views of the console.

    Raises WorkflowError if it reads an output of the console of which there is no view.
    """
    entry = workflow.nodes[node]

    def renamed(link: SocketRef) -> str:
        if link.node != console:
            return f"{_PREFIX}{link}"
        if link.socket in other_pad.views:
            return f"{_view(link.socket)}.{link.socket}"
        fault = Fault(
            "at the other pad it cannot read this output of the console",
            node,
            expected=" or ".join(other_pad.views),
            found=str(link),
            hint="Choose a workflow that plays by the game's variables",
            code="bad_linked_input",
        )
        raise WorkflowError([fault], workflow.where)

    raw = dict(entry.raw)
    if entry.inputs:
        raw["in"] = {}
        for socket, sources in entry.inputs.items():
            links = list(map(renamed, sources))
            raw["in"][socket] = links if isinstance(entry.raw["in"][socket], list) else links[0]
    if entry.when is not None:
        raw["when"] = renamed(entry.when)
    return raw


def _view(output: str) -> str:
    """Return the id of the node that gives a player at the other pad this output of the console."""
    return f"view_{output}"
