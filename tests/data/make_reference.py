"""Store the results of a reference commit: reference.json and tapes/ here,
for tests/project/test_reference.py.

Play in a checkout of that commit. Tapes hold its absolute paths, so check it out where nobody
works:

    git worktree add --detach /nowhere/minibrains 8e59630
    cd /nowhere/minibrains
    rm -r games/Duel-Genesis
    cp -r PATH/TO/games/Duel-Genesis games/
    cp PATH/TO/models/tile_codebook/duel.safetensors models/tile_codebook/
    python PATH/TO/tests/data/make_reference.py

Only that commit's own code plays and records. Duel and its codebook are those of today,
because its ROM has changed since. A tape keeps no snapshots here, which are most of it and name
Python modules.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent
COMMIT = "8e59630"
ARGUMENTS = ["--episodes", "2", "--ticks", "3000", "--seed", "7", "--clock", "fast"]
MADE_BY = [
    f"git worktree add --detach /nowhere/minibrains {COMMIT}",
    "cd /nowhere/minibrains",
    "rm -r games/Duel-Genesis",
    "cp -r PATH/TO/games/Duel-Genesis games/",
    "cp PATH/TO/models/tile_codebook/duel.safetensors models/tile_codebook/",
    "python PATH/TO/tests/data/make_reference.py",
]
RECORD = """import math, sys
from server import cli
from minibrains.tape import recording
recording._SNAPSHOT_EVERY = math.inf
sys.exit(cli.main(sys.argv[1:]))"""
KEPT = ("game", "rom_sha1", "ticks", "actions_sha256", "distinct_episodes", "episodes")
"""Of the summary: what is the same every time."""


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def play(workflow: Path, folder: Path) -> dict[str, Any]:
    """Play and record a workflow; return its results and keep its tape."""
    command = [
        sys.executable, "-c", RECORD, "run", str(workflow), *ARGUMENTS, "--record", "--json",
        "--runs", str(folder),
    ]  # fmt: skip
    environment = {
        **os.environ,
        "MINIBRAINS_HOME": str(folder / "home"),
        "PYTHONPATH": str(Path.cwd()),
    }
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    summary = json.loads(done.stdout)
    run = Path(summary["run_dir"])
    shutil.copyfile(run / "run.tape", DATA / "tapes" / f"{workflow.stem}.tape")
    logs = [file for file in sorted(run.glob("*.jsonl")) if file.name != "episodes.jsonl"]
    return {
        **{name: summary[name] for name in KEPT},
        "logs": {file.name: sha256(file) for file in logs},
    }


def main() -> None:
    """Write reference.json and the tapes anew."""
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    if not head.startswith(COMMIT):
        sys.exit(f"this is a checkout of {head}, not of {COMMIT}; see the top of {__file__}")
    (DATA / "tapes").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        workflows = {
            file.stem: play(file, Path(folder)) for file in sorted(Path("workflows").glob("*.json"))
        }
    brains = {str(file): sha256(file) for file in sorted(Path("models").rglob("*.safetensors"))}
    stored = {
        "commit": head,
        "made_by": MADE_BY,
        "arguments": ARGUMENTS,
        "workflows": workflows,
        "brains": brains,
    }
    (DATA / "reference.json").write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
