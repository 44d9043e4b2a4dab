"""The examples in the documentation run as they stand there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minibrains.graph.registry import Registry
from minibrains.testing import check_node
from tests.support.paths import ROOT
from tests.support.timeouts import TIMEOUT

PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "games").rglob("README.md")),
]
LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)\s]+)\)")
"""Whether it is a picture, and where it leads."""
BLOCK = re.compile(r"^```(?:python|json) (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def examples(tmp_path: Path) -> dict[str, Path]:
    """The named code blocks of docs/nodes.md as files in tmp_path."""
    files = {}
    for name, text in BLOCK.findall((ROOT / "docs/nodes.md").read_text()):
        files[name] = tmp_path / name
        files[name].write_text(text)
    return files


def _logged_ticks(result: dict[str, Any]) -> list[int]:
    """The ticks on which the node `log` of a run was given something."""
    lines = (Path(result["run_dir"]) / "log.jsonl").read_text().splitlines()
    return [json.loads(line)["tick"] for line in lines]


def test_the_example_node_runs_in_the_example_workflow(
    examples: dict[str, Path], summary: Callable[..., dict[str, Any]]
) -> None:
    result = summary(examples["bright.json"], "--pack", examples["brightness.py"])
    assert result["nodes"]["light"]["runs"] == 50
    assert _logged_ticks(result) == list(range(0, 300, 6))


def test_the_example_of_a_slow_node_thinks_beside_the_game(
    examples: dict[str, Path], summary: Callable[..., dict[str, Any]]
) -> None:
    result = summary(examples["ponder.json"], "--pack", examples["ponder.py"])
    assert _logged_ticks(result) == [30, 90, 150, 210, 270]


def test_the_example_test_passes(examples: dict[str, Path]) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        str(examples["test_brightness.py"]),
    ]
    done = subprocess.run(
        command,
        cwd=examples["brightness.py"].parent,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_example_brain_is_made_and_used(examples: dict[str, Path]) -> None:
    subprocess.run(
        [sys.executable, examples["limiter.py"]],
        cwd=examples["limiter.py"].parent,
        check=True,
        timeout=TIMEOUT,
    )
    registry = Registry()
    registry.add_file(examples["limiter.py"])
    limiter = registry["limiter.Limiter"]
    assert limiter.schema.brain is not None
    brain = limiter.schema.brain.load(examples["limiter.py"].parent / "digit.safetensors")
    assert check_node(limiter(brain=brain), {"number": 3.0}, {"number": 12.0}) == [3.0, 9.0]


@pytest.mark.slow
def test_the_example_network_is_made_trained_and_played(
    examples: dict[str, Path], summary: Callable[..., dict[str, Any]]
) -> None:
    train = examples["train.py"]
    subprocess.run([sys.executable, train], cwd=train.parent, check=True, timeout=TIMEOUT)
    result = summary(examples["two_heads.json"], "--pack", examples["two_heads.py"])
    assert result["nodes"]["heads"]["runs"] == 38
    registry = Registry()
    registry.add_file(examples["two_heads.py"])
    network: Any = registry["two_heads.TwoHeads"]
    frames = np.random.default_rng(0).random((4, 12, 12), np.float32)
    values = []
    for name in ("two_heads", "trained"):
        brain = network.schema.brain.load(train.parent / f"{name}.safetensors")
        outputs = check_node(network(brain=brain), {"frames": frames}, {"frames": 1 - frames})
        assert outputs[0].logits.shape == (6,)
        values.append(outputs[0].value)
    assert values[0] != values[1], "it has learned something"


def test_the_example_register_keeps_the_rules(examples: dict[str, Path]) -> None:
    registry = Registry()
    registry.add_file(examples["countdown.py"])
    outputs = check_node(registry["countdown.Countdown"](start=3), {"step": 2.0}, {"step": 1.0}, {})
    assert outputs == [(3, False), (1.0, False), (0.0, True)]


@pytest.mark.slow
def test_the_examples_are_as_strictly_typed_as_our_own_code(examples: dict[str, Path]) -> None:
    names = ["brightness.py", "limiter.py", "two_heads.py", "countdown.py"]
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *names]
    done = subprocess.run(
        command, cwd=examples[names[0]].parent, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stdout


def _links(page: Path) -> Iterator[tuple[bool, Path, str]]:
    """For each link within the project: whether it is a picture, the file, the heading or ""."""
    for picture, target in LINK.findall(page.read_text()):
        if "://" not in target:
            name, _, heading = target.partition("#")
            file = page
            if name:
                file = page.parent / name
            yield bool(picture), file.resolve(), heading


def _headings(page: Path) -> set[str]:
    """What a link may name after #, as GitHub makes it of the headings."""
    names = set()
    for heading in re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.lower())
        names.add(words.replace(" ", "-"))
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for _, file, heading in _links(page):
        assert file.exists(), f"{page} links to {file}, which is not there"
        if heading:
            assert heading in _headings(file), (
                f"{page} links to #{heading}, which {file} has no heading for"
            )


def test_every_picture_of_the_documentation_is_shown() -> None:
    shown = set()
    for page in PAGES:
        for picture, file, _ in _links(page):
            if picture:
                shown.add(file)
    kept = {path for path in (ROOT / "docs").rglob("*") if path.is_file() and path.suffix != ".md"}
    assert kept, "a page without pictures says little"
    assert kept <= shown, "nobody shows these; delete them"
    for path in kept:
        assert path.parent == ROOT / "docs" / "images"


def test_the_plan_in_the_architecture_is_the_one_that_check_prints(
    minibrains: Callable[..., Any],
) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    shown = re.search(r"`python -m server check (\w+)`:\n\n```\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    printed = minibrains("check", shown[1]).stdout
    assert shown[2] in printed


def test_the_claims_of_the_readme_name_commands_that_exist() -> None:
    commands = re.findall(r"python -m server ([a-z-]+)", (ROOT / "README.md").read_text())
    helped = subprocess.run(
        [sys.executable, "-m", "server", "--help"], capture_output=True, text=True, timeout=TIMEOUT
    )
    assert commands
    for command in set(commands):
        assert command in helped.stdout
