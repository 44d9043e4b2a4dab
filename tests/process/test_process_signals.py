"""Ctrl-C goes to the whole terminal: a process of ours must not hear it,
not even while it is being started.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.timeouts import TIMEOUT

SCRIPT = """
import multiprocessing, signal, time
from pathlib import Path
from minibrains.process.signals import start_with_signals_blocked

if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(0,))
    start_with_signals_blocked(process)
    status = Path(f"/proc/{process.pid}/status").read_text()
    (blocked,) = (line for line in status.splitlines() if line.startswith("SigBlk"))
    blocks_ctrl_c = int(blocked.split()[1], 16) >> (signal.SIGINT - 1) & 1
    print(blocks_ctrl_c, signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
    process.join()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_first_process_is_started_with_ctrl_c_held_back(tmp_path: object) -> None:
    file = f"{tmp_path}/script.py"
    with open(file, "w") as script:
        script.write(SCRIPT)
    done = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, check=True, timeout=TIMEOUT
    )
    assert done.stdout.split() == ["1", "False"]
