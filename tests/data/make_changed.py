"""Store today's results of what has changed since the reference commit: changed_since.json.

    python -m tests.data.make_changed

An entry is made by hand, with "because"; its results are made anew here. What is not in the file
has the results of reference.json. A workflow's "replay" is the exit code with which its tape is
refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.paths import DATA, ROOT

FILE = DATA / "changed_since.json"
REFERENCE: dict[str, Any] = json.loads((DATA / "reference.json").read_text())
KEPT = ("game", "rom_sha1", "ticks", "actions_sha256", "distinct_episodes")


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def results_of(workflow: str) -> dict[str, Any]:
    """Play a workflow as for the reference, and return its results, as far as those are known."""
    known = REFERENCE["workflows"][workflow]["episodes"][0]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "server", "run", workflow, *REFERENCE["arguments"], "--json",
            "--runs", folder,
        ]  # fmt: skip
        environment = {**os.environ, "MINIBRAINS_HOME": str(Path(folder) / "home")}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        summary = json.loads(done.stdout)
        logs: dict[str, str] = {}
        for file in sorted(Path(summary["run_dir"]).glob("*.jsonl")):
            if file.name != "episodes.jsonl":
                logs[file.name] = sha256(file)
    episodes = []
    for episode in summary["episodes"]:
        episodes.append({name: value for name, value in episode.items() if name in known})
    return {**{name: summary[name] for name in KEPT}, "episodes": episodes, "logs": logs}


def main() -> None:
    """Write the results of all entries anew."""
    changed: dict[str, dict[str, Any]] = json.loads(FILE.read_text())
    for name, entry in changed.items():
        if name in REFERENCE["workflows"]:
            by_hand = {key: entry[key] for key in ("because", "replay") if key in entry}
            changed[name] = by_hand | results_of(name)
        else:
            entry["sha256"] = sha256(ROOT / name)
    FILE.write_text(json.dumps(changed, indent=1) + "\n")


if __name__ == "__main__":
    main()
