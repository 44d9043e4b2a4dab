"""Duel without an emulator goes as on the ROM, in the same workflow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains import Episode, GameError, Hook, Run, RunSpec, WorkflowError
from minibrains.console import Console, find_console
from minibrains.graph.catalog import find_workflow
from minibrains.graph.workflow import load_workflow
from minibrains.testing import ScratchHost, opened, play
from nodes.consoles.native_duel import GAME, PAD_BITS, NativeDuel
from nodes.consoles.retro import RetroEmulator

TYPES = {"RetroEmulator@2": RetroEmulator, "NativeDuel@1": NativeDuel}
