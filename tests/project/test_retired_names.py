"""Names that were given up for standard terms do not come back.

`docs/architecture.md` has a glossary of the terms that we use, and says which words of our own
stay, and why. Only identifiers are looked at, and names of modules. Prose may use any word. The
TypeScript of the editor may use none of the names that the Python has given up, and has a list of
its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.paths import ROOT

FILES = [
    path
    for folder in ("games", "minibrains", "nodes", "server", "tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
TYPESCRIPT = [
    path for folder in ("src", "test") for path in sorted((ROOT / "web" / folder).rglob("*.ts"))
]

RETIRED = {
    # the engine
    "Motion": "ExecutionState",
    "motion": "execution",
    "World": "ExecutionContext",
    "_Binder": "_StepBuilder",
    "make_nodes": "instantiate_nodes",
    "KeptOutputs": "OutputCache",
    "work_out": "fold_constants",
    "Still": "ConstantResult",
    "StillFailed": "NodeFailed",
    "_find_still": "_find_constants",
    "is_still": "is_constant",
    "Thought": "NonBlockingCalls",
    "PendingResult": "NonBlockingCalls",
    "apply_limits": "apply_timing",
    "always_called": "unconditional",
    "always_ready": "inputs_certain",
    "always_due": "due_every_tick",
    "_thought": "_running",
    "_given_up": "_abandoned",
    "_give_up": "_abandon",
    "SlotKind": "SlotUse",
    "_AskHost": "_HostRead",
    "without_collector": "without_garbage_collection",
    "PATIENCE": "TIMEOUT",
    "_PATIENCE": "_TIMEOUT",
    "bear": "record_error",
    "_bear": "record_error",
    "borne": "errors",
    "_borne": "_node_failures",
    "heirs": "inheriting",
    "inputs_guaranteed": "inputs_certain",
    "due_when_open": "unconditional",
    "clocked": "every_tick",
    "awaited": "required",
    "event_slots": "one_tick_slots",
    "mark_index": "flag_index",
    "marks_of_readers": "flags_to_set",
    "registers_first": "sort_registers_first",
    "through_tape": "taped_emit",
    "_ancestors_of_flags": "_ancestors_of_conditions",
    "_is_flag_before": "_is_known_before",
    "_flag_sources": "_condition_sources",
    "checkpoint_report": "check_report",
    "Fate": "NodeChange",
    "always_polled": "always_called",
    "called_every_tick": "always_called",
    "ready_every_tick": "always_ready",
    "RunWorker": "WorkerHandle",
    "_find_sure": "_find_due_every_tick",
    "_is_sure": "_delivers_every_tick",
    "paced": "has_clock",
    "out_of": "out_edges",
    "_giver": "_producer",
    "_giving_step": "_producing_step",
    "Wire": "Edge",
    "wires": "edges",
    "_standstills": "_deadlocks",
    "Spent": "StepTimes",
    "spent": "step_seconds, step_times",
    "_spent": "_step_seconds",
    "spent_since": "seconds_since",
    "NodeTimes": "NodeStats",
    "node_times": "node_stats",
    "TickTimes": "LatencyHistogram",
    "ThinkTimes": "OctaveHistogram",
    "by_duration": "buckets",
    "hold_seconds": "blocked_seconds",
    "_with_gates": "_insert_clock_gates",
    "_find_due_of_reading": "_find_readiness",
    "prepared_latches": "initial_latches",
    "tape_record": "recorded_workflow",
    "_undo_settings": "_restore_widgets",
    "_has_optional_nodes": "_has_sheddable_nodes",
    "parse_link": "parse_socket_ref",
    "relaunch": "resubmit",
    "named_links": "reads_sources",
    "look_again": "wake",
    "_launch_of": "_submit_step_of",
    "take_over": "inherit_from",
    "transfer_from": "inherit_from",
    "take_state": "inherit_from",
    "Place": "Executor, SocketKey",
    "PLACES": "EXECUTORS",
    # processes
    "start_shielded": "start_with_signals_blocked",
    "take_no_orders": "ignore_signals",
    "Recipe": "NodeSpec, RunSpec",
    "WorkerRecipe": "WorkerConfig",
    "recipe": "spec, config",
    "_Seat": "_PooledWorker",
    "_WorkerSlot": "_PooledWorker",
    "_bury": "_replace",
    "orphan": "parent_lost",
    "last_words": "output_tail, describe_exit",
    # runs
    "unattended": "no hook",
    "Spread": "ParallelEpisodes",
    "Recall": "TapePlayer",
    "large_pages": "huge pages",
    "Monitor": "LoadShedder",
    "thinning": "decimation",
    "thinned": "decimated",
    "LiveFile": "WorkflowWatcher",
    "unkept": "snapshot_error",
    "troubles": "errors, close_errors",
    "node_facts": "describe_node",
    "brain_facts": "describe_brain",
    "plan_facts": "describe_plan",
    # the service
    "Hands": "InputOwnership",
    "hands": "input_ownership",
    "_hands": "_inputs",
    "Teller": "RunReporter",
    "teller": "reporter",
    "_teller": "_reporter",
    "Attendant": "RunController",
    "attendant": "controller",
    "_attendant": "_controller",
    "orders": "worker_protocol",
    "_orders": "_handlers",
    "Order": "RunRequest",
    "OrderWord": "WorkerCommand",
    "ReportWord": "WorkerEvent",
    "Slot": "WorkerHandle",
    "Scene": "VersionedState",
    "Runs": "RunQueue",
    "_want": "_request_pictures",
    "rewind_session": "rewind_handler",
    "RunSession": "RunHandler",
    "RewindSession": "RewindHandler",
    "_Performance": "RunHandler",
    "_obey": "_handle_command, _handle_message",
    "Hear": "OnEvent",
    "hear": "on_event",
    "Refused": "RequestError",
    # brains
    "VisionLanguageModel": "VLMBrain",
    "FrameStackTaps": "FrameStackBrain",
    "FightNumbers": "FightVectorBrain",
    "PolicyWeights": "PolicyHeadBrain",
    "ReflexTable": "ReflexBrain",
    "RecoveryTable": "RecoveryBrain",
    "ButtonColumns": "ButtonHistoryBrain",
    # what all of them use
    "Placed": "TypedSocket",
    "_is_record": "_is_named_tuple",
    "is_settled": "is_old_enough",
    "write_whole": "write_atomic",
    "in_words": "describe_error",
    "Loaded": "ModelCache",
    "LOADED": "MODEL_CACHE",
    "name_type": "describe_type",
    "plain_value": "to_json",
    "read_value": "parse_value",
    "shipped": "bundled_dir",
    # learning
    "EyesParts": "PreprocessingParts",
    "Lesson": "EpisodeExamples",
    "LessonFiles": "ExampleFiles",
    "look_at": "preprocess_samples",
    "as_shown": "normalised",
    "Interval": "CheckpointCallback",
    # what readers of the training code asked for
    "OwnCritic": "SharedCritic",
    "is_opposed": "is_compared",
    "learn_to_tell": "add_auxiliary_head",
    "ppo_figures": "ppo_metrics",
    "ChannelFigures": "ChannelStatistics",
    "_when_marked": "_when_pending",
    "_hear": "_on_note",
    "_unanswered": "_lifecycle_failed",
    "ends_when_unanswered": "ends_after_failed_call",
    "steps_to_mark": "steps_to_flag",
    "rewinds": "replay_of",
}
"""Retired identifier -> what to write instead.

Words of everyday English that may be right elsewhere are left out, such as `near`, which is
`suggest` in `minibrains.errors`.
"""

RETIRED_TYPESCRIPT = {
    "Beside": "Comparison",
    "BesideView": "ComparisonView",
    "askForBox": "promptForBox",
    "askBreakpoint": "promptForBreakpoint",
    "showBeside": "showComparison",
    "isLive": "isUnfinished",
    "isTicking": "isActive",
    # links
    "whyNot": "linkError",
    "NOTHING_SAID": "UNKNOWN_LINKING",
    "Loose": "DraggedLink",
    "LooseEnd": "DraggedEnd",
    "looseOf": "draggedLinkOf",
    "looseKind": "draggedEnd",
    "forwardWire": "forwardPath",
    "backWire": "backwardPath",
    "goesBack": "isBackward",
    "wireUnderNode": "linkUnderNode",
    "endText": "formatSocketRef",
    "readEnd": "parseSocketRef",
    # how nodes are drawn
    "Look": "NodeAppearance",
    "RunLook": "NodeStatus",
    "Notes": "NodeAnnotations",
    "seam": "registerArea",
    "tipAt": "tooltipAt",
    "placeOf": "positionOf",
    "freePlace": "findFreePosition",
    "thoughts": "thinkTimes",
    # server and page
    "LineEvents": "ConnectionEvents",
    "KeysEvents": "PlayerInputEvents",
    "Stale": "SaveConflict",
    "BadWorkflow": "WorkflowError",
    "asWorkflow": "workflowFromJson",
    "readWorkflow": "parseWorkflow",
    "mayLeave": "confirmLeave",
    "steer": "control",
    "say": "showMessage",
    "hush": "clearMessages",
    "Doors": "EditorCallbacks",
    "doors": "callbacks",
}
"""The same for the TypeScript of the editor alone."""


def _names(path: Path) -> Iterator[str]:
    """Yield every identifier in a file, and the name of its module."""
    yield path.stem
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.arg, ast.keyword)):
            yield node.arg or ""
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
        elif isinstance(node, ast.alias):
            yield from [*node.name.split("."), node.asname or ""]


_NO_CODE = re.compile(
    r"""/\*.*?\*/ | //[^\n]*
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | `(?P<template>(?:\\.|[^`\\])*)`""",
    re.DOTALL | re.VERBOSE,
)
"""Comments and strings of TypeScript."""


def _typescript_names(path: Path) -> set[str]:
    """Return the identifiers of a TypeScript file, with those in template strings,
    and the name of its module.
    """

    def expressions(match: re.Match[str]) -> str:
        return " ".join(re.findall(r"\$\{([^}]*)\}", match["template"] or ""))

    code = _NO_CODE.sub(expressions, path.read_text())
    return {path.name.split(".")[0], *re.findall(r"[A-Za-z_]\w*", code)}


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_retired_names_do_not_come_back() -> None:
    found: list[str] = []
    for path in FILES:
        for name in sorted(RETIRED.keys() & set(_names(path))):
            found.append(f"{_module(path)}: write {RETIRED[name]} for {name}")
    assert not found, "\n".join(found)


def test_retired_names_do_not_come_back_to_the_editor() -> None:
    retired = RETIRED | RETIRED_TYPESCRIPT
    found: list[str] = []
    for path in TYPESCRIPT:
        for name in sorted(retired.keys() & _typescript_names(path)):
            found.append(f"{_module(path)}: write {retired[name]} for {name}")
    assert not found, "\n".join(found)


def test_a_retired_name_is_found_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "teller.py"
    path.write_text(
        "from a.orders import Slot as Scene\nclass Hands: pass\ndef bear(heirs): "
        "x.motion = Order(teller=borne)\n"
    )
    assert RETIRED.keys() & set(_names(path)) == {
        *(
            "teller", "orders", "Slot", "Scene", "Hands", "bear", "heirs", "motion", "Order",
            "borne",
        ),
    }  # fmt: skip


def test_a_retired_name_is_found_in_code_and_not_in_words(tmp_path: Path) -> None:
    path = tmp_path / "teller.test.ts"
    path.write_text(
        'import { hush } from "./orders"; // seam\nclass A { #doors = `say ${whyNot}`; '
        '}\n/* Look */ const s = "Scene";\n'
    )
    assert (RETIRED | RETIRED_TYPESCRIPT).keys() & _typescript_names(path) == {
        "teller",
        "hush",
        "doors",
        "whyNot",
    }
