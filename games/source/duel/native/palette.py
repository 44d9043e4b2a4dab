"""Players that draw their answers from a palette, to learn which is best in each cell:
see palette.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from games.source.duel.matches import Setting
from games.source.duel.native.players import (
    CELLS,
    RESULT,
    Answer,
    Player,
    Results,
    compiled,
    compiled_answer,
    compiled_settings,
    loaded,
)
from games.source.duel.native.teacher import LESSON, Lessons, Worth

MOST_PALETTE = 64
MOST_LESSONS = 16_384
"""The greatest number of decisions in a match."""


class _Palette(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_uint32),
        ("answer", type(compiled_answer((), 0)) * MOST_PALETTE),
        ("worth", ctypes.c_float * MOST_PALETTE * CELLS),
    )


def draw_answers(
    player: Player,
    palette: Sequence[Answer],
    worth: Worth,
    seed: int,
    matches: Sequence[Setting],
    weights: np.ndarray[Any, Any],
) -> tuple[Lessons, Results]:
    """Play some matches with the conditions of a rule, or the bands of a table, and answers that
    are drawn.

    Args:
        player: The rule or table, whose own answers are not used.
        palette: The answers to draw from, at most MOST_PALETTE.
        worth: The logits of each cell, f32 [cells, answers].
        seed: The seed of what is drawn.
        matches: The matches.
        weights: The weight of each frame after a decision in its return, f32 [frames].

    Returns:
        The decisions with their returns, LESSON [decisions], and the results, RESULT [matches].
    """
    in_c = _Palette(count=len(palette))
    for place, answer in enumerate(palette):
        in_c.answer[place] = compiled_answer(answer, player.interval)
    logits = np.zeros((CELLS, MOST_PALETTE), np.float32)
    logits[: len(worth), : len(palette)] = worth
    in_c.worth = type(in_c.worth).from_buffer_copy(logits)

    lessons = np.zeros(MOST_LESSONS * len(matches), LESSON)
    results = np.zeros(len(matches), RESULT)
    count = loaded().duel_draw_answers(
        ctypes.byref(compiled(player)),
        ctypes.byref(in_c),
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
