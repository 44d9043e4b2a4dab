"""The loops by hand that workflows are measured against do what the workflows do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minibrains import Episode
from minibrains.engine.peek import peek
from minibrains.run.run import Run
from minibrains.run.spec import RunSpec
from server.commands.bench import agent
from server.commands.bench.street_fighter import in_time, is_the_agent, street_fighter

TICKS = 900


def test_the_agent_written_out_presses_the_same_buttons(tmp_path: Path) -> None:
    with Run(RunSpec("sf2_ram_text"), dir=tmp_path) as run:
        engine = run.engine
        engine.reset(0, 0)
        pads = []
        for _ in range(TICKS):
            assert not engine.advance(1)
            pads.append(peek(engine, "sink", "pad"))
        assert is_the_agent(engine.nodes)
        score = engine.report()["score"]
        with ThreadPoolExecutor(1) as pool:
            ask = in_time(engine.nodes["strategist"], pool, 60)
            played = street_fighter(engine.nodes, Episode(0, 0, "console"), TICKS, ask)()
    assert played.pads == pads
    assert len(set(pads)) >= 3, "what is compared is not one pad that is held throughout"
    assert played.score == score


@pytest.mark.slow
def test_it_is_measured_against_both_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "REPEATS", 4)
    result = agent.run(RunSpec("sf2_ram_text"))
    assert result["ticks"] == 300
    for side in ("", "written_out_", "unlimited_"):
        low, high = result[f"{side}quartiles"]
        assert low <= result[f"{side}ratio"] <= high
        least, most = result[f"{side}ratio_95"]
        assert least <= result[f"{side}ratio"] <= most
    assert result["pairs"] == 4
    assert "written_out_ratio" not in agent.run(RunSpec("airstriker_random"))
