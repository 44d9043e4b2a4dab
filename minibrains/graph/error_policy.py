"""The consequences of a failing node for the run: `"on_error"` in the node's entry of the workflow.

| what fails | `stop` | `hold` | `fallback` |
|---|---|---|---|
| `open`, `warm_up`, `state`, a constant result | the run ends | the run ends | the run ends |
| `tick` | the run ends | counted, nothing is delivered | counted, `fallback` is delivered |
| `emit` | the run ends | counted, nothing is delivered, lazy outputs are absent | the run ends |
| `latch`, a lazy output, undeclared ABSENT | the run ends | counted, not delivered | the run ends |
| a BrainError in any of these | the run ends | the run ends | the run ends |
| `reset`, `is_done`, `finish`, `report` | the run ends | the run ends | the run ends |
| the same, because the node's process died | the run ends | counted | counted |
| `reset`, `set` in a live edit | the edit is refused | the edit is refused | as `stop` |
| the latter in the background | its next `tick` fails | as `tick` | as `tick` |
| `close` | reported | reported | reported |
| the same, because a background thread hangs | reported | nothing more | nothing more |

The later result of a background node counts as its `tick`, and so does exceeding its time limit. A
thread that hangs was counted when its time limit was over, and every new call of the node fails at
once.

What the compiler and the checker may assume follows from this table:

| | `stop` | `hold` | `fallback` |
|---|---|---|---|
| the class needs a `fallback` | no | no | yes |
| every run of the node delivers what it declares | yes | no | yes |
| the compiler may skip runs (constant folding, inherited clocks) | yes | no | no |
"""

from __future__ import annotations

from minibrains.errors import BrainError
from minibrains.graph.workflow import OnError


def gives_fallback(on_error: OnError) -> bool:
    """Return whether the class's `fallback` is delivered in place of a failed result;
    the class must have one.
    """
    return on_error == "fallback"


def always_delivers(on_error: OnError) -> bool:
    """Return whether every call of the node delivers a result, unless it ends the run."""
    return on_error != "hold"


def may_skip_runs(on_error: OnError) -> bool:
    """Return whether a call of the node may be skipped when nothing reads its result.

    Where errors are counted, it may not: the skipped call could have failed.
    """
    return on_error == "stop"


def after_failed_step(on_error: OnError, error: BaseException) -> OnError:
    """Return what to do when `emit`, `tick` or `latch` raised.

    A brain that does not fit ends the run in any case: the workflow is wrong, and its games would
    be those of the fallback.
    """
    return "stop" if isinstance(error, BrainError) else on_error


def ends_after_failed_call(on_error: OnError, died: bool) -> bool:
    """Return whether the run ends when `reset` or `report` raised; `died`:
    because the node's process ended.

    A process that died is replaced by another.
    """
    return on_error == "stop" or not died


def reports_hanging(on_error: OnError) -> bool:
    """Return whether a background thread that hangs is reported when the node is closed."""
    return on_error == "stop"
