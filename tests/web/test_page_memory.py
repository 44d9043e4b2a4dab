"""An hour of a page that shows a run, and now and then its last ticks: its memory does not grow."""

from __future__ import annotations

from statistics import median

import pytest
from playwright.sync_api import CDPSession

from tests.support.editor_page import EditorPage

MINUTES = 60
NOISE = 1 << 20
"""Bytes by which the heap differs from one moment to the next."""


def held(session: CDPSession) -> tuple[int, int]:
    """Return the bytes of the page's heap after its garbage was collected, and the number of nodes
    of the document that are in memory.
    """
    session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    found = {metric["name"]: int(metric["value"]) for metric in metrics}
    return found["JSHeapUsedSize"], found["Nodes"]


@pytest.mark.soak
def test_the_memory_of_a_page_stays_the_same(page: EditorPage) -> None:
    page.start_with("airstriker_pixels")
    page.set_many_episodes()
    session = page.page.context.new_cdp_session(page.page)
    session.send("Performance.enable")
    session.send("HeapProfiler.enable")
    page.run()
    page.until("session.run?.tick > 60")
    heaps: list[int] = []
    nodes: list[int] = []
    for minute in range(MINUTES):
        # what a person does now and then: values in full, the last ticks, and on
        page.ask("editor.board.select(['head'])")
        page.press("v")
        page.press("p")
        page.until("session.run.state === 'paused'")
        page.press(",")
        page.until("session.isInThePast && session.run.state === 'paused'")
        page.press("Shift+L")
        page.until("session.run.replayOf === null && session.run.state === 'running'")
        page.press("v")
        page.deselect()
        page.page.wait_for_timeout(60_000)
        heap, count = held(session)
        heaps.append(heap)
        nodes.append(count)
        print(f"minute {minute + 1}: {heap / 1e6:.2f} MB, {count} nodes", flush=True)
    quarter = max(1, MINUTES // 4)
    assert median(heaps[-quarter:]) <= median(heaps[quarter : 2 * quarter]) + NOISE
    assert median(nodes[-quarter:]) <= 1.1 * median(nodes[quarter : 2 * quarter])
