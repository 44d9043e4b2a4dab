"""How long tests wait."""

from __future__ import annotations

from typing import Final

TIMEOUT: Final = 300.0
"""Seconds after which something that a test waits for has not happened. Only tests that fail wait
for so long, and other programs may keep the machine busy."""
