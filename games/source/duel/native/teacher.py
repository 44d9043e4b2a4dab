"""The scripted teacher as data, with which it plays and learns natively: see teacher.h."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from games.source.duel import fighters
from games.source.duel.matches import Setting
from games.source.duel.native.players import (
    MOST_FRAMES,
    RESULT,
    Results,
    action_numbers,
    compiled_settings,
    loaded,
)
from nodes.fighting.strategist import CASES, NEARER_THAN

BANDS = len(NEARER_THAN) + 1
CELLS = len(CASES) * BANDS
"""The number of cells of the table: the bands of each case, case by case."""
ACTIONS = 44
MOST_LESSONS = 4096
"""The greatest number of decisions in a match."""
LESSON = np.dtype([("cell", np.uint8), ("action", np.uint8), ("gained", np.float32)], align=True)
"""A decision and its return: `struct lesson` of teacher.h."""
Lessons = np.ndarray[Any, np.dtype[np.void]]
Worth = np.ndarray[Any, np.dtype[np.float32]]


class _Teacher(ctypes.Structure):
    _fields_ = (
        ("interval", ctypes.c_uint8),
        ("late", ctypes.c_uint8),
        ("explores", ctypes.c_uint8),
        ("cooldown", ctypes.c_uint8 * ACTIONS),
        ("may", ctypes.c_uint8 * ACTIONS),
        ("worth", ctypes.c_float * ACTIONS * CELLS),
    )


@dataclass(frozen=True)
class Teacher:
    """A teacher that takes the best action of a cell, or, if it explores,
    draws one from the softmax.
    """

    worth: Worth
    """Logits, f32 [CELLS, ACTIONS], of the actions for an enemy on the right."""
    may: Sequence[int]
    """The numbers of the actions that it chooses from."""
    interval: int = 30
    late: int = 0
    explores: bool = False

    def compiled(self) -> _Teacher:
        """Return the teacher as a structure of C."""
        in_c = _Teacher(interval=self.interval, late=self.late, explores=self.explores)
        for name, number in action_numbers().items():
            in_c.cooldown[number] = fighters.cooldown_of(name)
        for number in self.may:
            in_c.may[number] = 1
        in_c.worth = type(in_c.worth).from_buffer_copy(np.ascontiguousarray(self.worth, np.float32))
        return in_c


def teach(
    teacher: Teacher, seed: int, matches: Sequence[Setting], weights: np.ndarray[Any, Any]
) -> tuple[Lessons, Results]:
    """Play some matches with a teacher, and record its decisions.

    Args:
        teacher: The player of pad 1.
        seed: The seed of its exploration.
        matches: The matches.
        weights: The weight of each frame after a decision in its return, f32 [frames].

    Returns:
        The decisions with their returns, LESSON [decisions], and the results, RESULT [matches].
    """
    lessons = np.zeros(MOST_LESSONS * len(matches), LESSON)
    results = np.zeros(len(matches), RESULT)
    count = loaded().duel_teach(
        ctypes.byref(teacher.compiled()),
        ctypes.c_uint32(seed),
        compiled_settings(matches),
        len(matches),
        weights.astype(np.float32).ctypes.data_as(ctypes.c_void_p),
        len(weights),
        lessons.ctypes.data_as(ctypes.c_void_p),
        len(lessons),
        results.ctypes.data_as(ctypes.c_void_p),
    )
    return lessons[:count], results


def record_teacher(teacher: Teacher, match: Setting) -> list[int]:
    """Play a match with a teacher, and return its pad on each frame, as bits."""
    pads = (ctypes.c_uint16 * MOST_FRAMES)()
    result = np.zeros(1, RESULT)
    frames = loaded().duel_record_teacher(
        ctypes.byref(teacher.compiled()),
        compiled_settings([match]),
        pads,
        MOST_FRAMES,
        result.ctypes.data_as(ctypes.c_void_p),
    )
    return pads[:frames]
