"""Runs over workers: the same results as in one process, whatever happens to the workers."""

from __future__ import annotations

import itertools
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minibrains.engine.node_runtime import NodeFailed
from minibrains.engine.timing import LatencyHistogram
from minibrains.errors import Fault, RunError, WorkflowError
from minibrains.files import bundled_dir
from minibrains.process.messages import Failure
from minibrains.testing import ScratchHost
from tests.support.paths import DATA
from tests.support.timeouts import TIMEOUT

Summary = Callable[..., dict[str, Any]]
RANDOM = ("airstriker_random", "--episodes", 5, "--ticks", 250, "--seed", 3)
SAME = (
    "game", "rom_sha1", "episodes", "ticks", "actions_sha256", "distinct_episodes", "seed",
    "brains", "misses",
)  # fmt: skip
PACK = DATA / "worker_pack.py"
SQUARES = [number**2 for number in range(20)]


def _ends(result: dict[str, Any]) -> list[str]:
    return [episode["ended"] for episode in result["episodes"]]


def _has_played(folder: Path) -> bool:
    """Whether an episode of the run in this folder is over."""
    return any(file.stat().st_size for file in folder.glob("runs/*/episodes.jsonl"))


def _same(one: dict[str, Any], many: dict[str, Any]) -> None:
    for key in SAME:
        assert many[key] == one[key], key
    for name, expected in one["nodes"].items():
        node = many["nodes"][name]
        for key in ("runs", "skips", "errors"):
            assert node.get(key) == expected.get(key)
        assert node["mean_us"] > 0
    assert many["tick_ms"]["p50"] <= many["tick_ms"]["p99"] <= many["tick_ms"]["max"]
    assert many["ticks_per_s"] > 0
    rows = (Path(many["run_dir"]) / "episodes.jsonl").read_text().splitlines()
    assert list(map(json.loads, rows)) == many["episodes"]


@pytest.fixture
def random_with(tmp_path: Path) -> Callable[..., list[object]]:
    """airstriker_random with one more node, from the pack of this test:
    the arguments of a run of it.
    """

    def write(type_: str, **widgets: Any) -> list[object]:
        workflow = json.loads((bundled_dir("workflows") / "airstriker_random.json").read_text())
        entry = {
            "type": f"worker_pack.{type_}@1",
            "set": widgets,
            "in": {"reward": "console.reward"},
        }
        workflow["nodes"]["extra"] = entry
        (tmp_path / "w.json").write_text(json.dumps(workflow))
        return ["w.json", "--pack", str(PACK), *RANDOM[1:]]

    return write


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [RANDOM, ("airstriker_pixels", "--episodes", 3, "--ticks", 60)]
)
def test_two_workers_play_what_one_process_plays(
    summary: Summary, arguments: tuple[object, ...]
) -> None:
    one = summary(*arguments)
    two = summary(*arguments, "--workers", 2)
    _same(one, two)
    assert (one["workers"], two["workers"]) == (1, 2)
    assert two["worker_deaths"] == 0


@pytest.mark.slow
def test_each_worker_has_a_folder_and_the_clip_is_delivered(
    summary: Summary, tmp_path: Path
) -> None:
    workflow = json.loads((bundled_dir("workflows") / "airstriker_random.json").read_text())
    workflow["nodes"]["log"] = {"type": "Log@1", "in": {"value": "console.reward"}}
    (tmp_path / "log.json").write_text(json.dumps(workflow))
    result = summary(
        "log.json", "--episodes", 4, "--ticks", 100, "--workers", 2, "--video", "first.mp4"
    )
    logged = []
    for file in Path(result["run_dir"]).glob("workers/*/log.jsonl"):
        for text in file.read_text().splitlines():
            line = json.loads(text)
            logged.append((line["episode"], line["tick"]))
    assert sorted(logged) == list(itertools.product(range(4), range(100)))
    assert (tmp_path / "first.mp4").read_bytes()[4:8] == b"ftyp"
    assert result["clip"] == str(tmp_path / "first.mp4")


@pytest.mark.slow
def test_what_a_node_says_in_a_worker_is_heard(minibrains: Any, tmp_path: Path) -> None:
    done = minibrains(
        "run", *RANDOM, "--workers", 2, "--set", 'console.game=["Airstriker-Genesis-v0"]'
    )
    assert done.returncode == 0
    assert "worker 0: console: plays Airstriker-Genesis-v0" in done.stderr
    assert "5 distinct" in done.stdout
    assert not list(tmp_path.glob("runs/*/workers")), "no node asked for a folder"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["kill", "exit", "crash"])
def test_a_worker_that_dies_is_replaced_and_its_episode_repeated(
    summary: Summary, random_with: Any, tmp_path: Path, way: str
) -> None:
    arguments = random_with("Dies", episode=2, times=1, way=way, marks=str(tmp_path))
    two = summary(*arguments, "--workers", 2)
    assert (tmp_path / "died0").exists()
    one = summary(*arguments)
    _same(one, two)
    assert two["worker_deaths"] == 1


@pytest.mark.slow
def test_people_hear_of_a_worker_that_dies(
    minibrains: Any, random_with: Any, tmp_path: Path
) -> None:
    done = minibrains(
        "run",
        *random_with("Dies", episode=2, times=1, way="kill", marks=str(tmp_path)),
        "--workers",
        2,
    )
    assert done.returncode == 0
    assert re.search(r"worker \d died \(signal SIGKILL\)", done.stderr)
    assert "workers died 1 times" in done.stdout


@pytest.mark.slow
def test_an_episode_whose_worker_dies_twice_is_given_up(
    minibrains: Any, summary: Summary, random_with: Any, tmp_path: Path
) -> None:
    arguments = random_with("Dies", episode=2, times=2, way="kill", marks=str(tmp_path))
    done = minibrains("run", *arguments, "--workers", 2, "--json")
    assert done.returncode == 1
    two = json.loads(done.stdout)
    one = summary(*arguments)
    lost = two["episodes"].pop(2)
    assert lost["ended"] == "failed"
    assert lost["error"] == "episode 3 was given up: the worker died twice (signal SIGKILL)"
    assert lost["error"] in two["error"]["message"]
    assert two["worker_deaths"] == 2
    assert two["episodes"] == one["episodes"][:2] + one["episodes"][3:]


def test_a_node_that_raises_ends_the_run_with_its_sentence(
    minibrains: Any, random_with: Any
) -> None:
    arguments = random_with("Raises", episode=1)
    one = minibrains("run", *arguments, "--json", "--workers", 1)
    two = minibrains("run", *arguments, "--json", "--workers", 2)
    assert one.returncode == two.returncode == 1
    result = json.loads(two.stdout)
    sentence = "extra (worker_pack.Raises) failed on tick 50: ValueError: REAL REASON"
    assert result["error"]["message"] == json.loads(one.stdout)["error"]["message"] == sentence
    assert _ends(result).count("failed") == 1
    assert "worker_pack.py" in (Path(result["run_dir"]) / "error.txt").read_text(), (
        "who wrote the node sees file and line"
    )
    assert "Traceback" not in two.stderr
    assert result["worker_deaths"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["2", "ray://local?n=2"])
def test_ctrl_c_stops_all_workers_after_the_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    for name, value in _ray_environment().items():
        monkeypatch.setenv(name, value)
    with _started(
        tmp_path,
        "airstriker_random",
        "--episodes",
        "100000",
        "--ticks",
        "200",
        "--workers",
        workers,
        "--json",
    ) as run:
        _await(lambda: _has_played(tmp_path), run)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to every process of the group
        out, err = run.communicate(timeout=TIMEOUT)
        assert run.returncode == 130, err
        assert "Traceback" not in err
        result = json.loads(out)
        assert result["episodes"][-1]["ended"] == "stopped"
        assert json.loads((Path(result["run_dir"]) / "summary.json").read_text()) == result
        assert result["worker_deaths"] == 0
        _await(lambda: not _members(run.pid))


@pytest.mark.slow
def test_a_second_ctrl_c_ends_a_run_whose_node_hangs(tmp_path: Path, random_with: Any) -> None:
    arguments = random_with("Hangs", marks=str(tmp_path))
    with _started(tmp_path, *map(str, arguments), "--workers", "2", "--json") as run:
        _await((tmp_path / "hangs").exists, run)
        os.killpg(run.pid, signal.SIGINT)
        assert run.stderr is not None
        assert any("Ctrl-C again" in line for line in iter(run.stderr.readline, "")), (
            "it says what helps"
        )
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=TIMEOUT)
        assert run.returncode == 130, err
        assert json.loads(out)["error"]["message"] == "stopped by Ctrl-C"
        _await(lambda: not _members(run.pid))


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    with _started(
        tmp_path, "airstriker_random", "--episodes", "100000", "--ticks", "200", "--workers", "2"
    ) as run:
        _await(lambda: _has_played(tmp_path), run)
        assert len(_members(run.pid)) >= 3
        run.kill()
        run.wait()
        _await(lambda: not _members(run.pid))


@pytest.mark.parametrize(
    "value", ["0", "x", "-2", "1.5", "ray://", "ray://host", "ray://local?n=0", "ray://local?m=2"]
)
def test_a_number_of_workers_that_is_none_is_a_sentence(minibrains: Any, value: str) -> None:
    done = minibrains("run", "airstriker_random", f"--workers={value}")
    assert done.returncode == 2
    assert "workers: expected" in done.stderr
    assert repr(value) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_workflow_starts_no_worker(minibrains: Any, tmp_path: Path) -> None:
    done = minibrains("run", "airstriker", "--workers", 2, "--set", 'console.states=["Level9"]')
    assert done.returncode == 2
    assert "no state 'Level9'" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_without_ray_the_sentence_says_what_to_install(
    minibrains_process: Any, tmp_path: Path
) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError('not here')")
    done = minibrains_process("run", "airstriker_random", "--workers", "ray://local")
    assert done.returncode == 2
    assert "[cluster]" in done.stderr


# -- host.map


@pytest.fixture
def mapping(tmp_path: Path) -> Callable[..., list[object]]:
    """A workflow of one node that maps: the arguments of a run of it."""

    def write(what: str) -> list[object]:
        node = {"type": "worker_pack.Maps@1", "set": {"what": what, "marks": str(tmp_path)}}
        (tmp_path / "map.json").write_text(json.dumps({"minibrains": 1, "nodes": {"maps": node}}))
        return ["map.json", "--pack", str(PACK), "--ticks", 1]

    return write


@pytest.mark.parametrize("workers", [1, 2])
def test_map_gives_results_in_order(summary: Summary, mapping: Any, workers: int) -> None:
    result = summary(*mapping("squares"), "--workers", workers)
    assert json.loads(result["squares"]) == SQUARES
    assert result["empty"] == "[]"


def test_map_uses_the_free_workers(summary: Summary, mapping: Any) -> None:
    result = summary(*mapping("meet"), "--workers", 2)
    processes = json.loads(result["meet"])
    assert len(set(processes)) == 2


def test_both_workers_may_map_at_the_same_time(summary: Summary, mapping: Any) -> None:
    result = summary(*mapping("squares"), "--episodes", 4, "--workers", 2)
    assert _ends(result) == ["limit"] * 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "workers", "words"),
    [
        ("lambda", 1, ["host.map", "lambda", "expected a function at the top of a module"]),
        ("lambda", 2, ["host.map", "lambda", "expected a function at the top of a module"]),
        ("item", 2, ["host.map: item 0 cannot be sent to another process"]),
        ("result", 2, ["host.map: a result of give_lambda cannot be sent to another process"]),
        ("raise", 1, ["ValueError: item 3"]),
        ("raise", 2, ["ValueError: item 3"]),
    ],
)
def test_what_a_map_cannot_do_is_a_sentence(
    minibrains: Any, mapping: Any, what: str, workers: int, words: list[str]
) -> None:
    done = minibrains("run", *mapping(what), "--workers", workers)
    assert done.returncode == 1
    for word in ["maps (worker_pack.Maps) failed on tick 0", *words]:
        assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_an_item_whose_worker_dies_is_repeated_by_another(summary: Summary, mapping: Any) -> None:
    result = summary(*mapping("die"), "--workers", 2)
    assert result["die"] == "[0, 1]"
    assert result["worker_deaths"] == 1


def test_a_scratch_host_maps_here(tmp_path: Path) -> None:
    assert ScratchHost(tmp_path).map(abs, [-1, 2]) == [1, 2]
    with pytest.raises(RunError, match="expected a function at the top of a module"):
        ScratchHost(tmp_path).map(lambda item: item, [1])


# -- parts


def test_merged_times_are_those_of_one(tmp_path: Path) -> None:
    whole = LatencyHistogram()
    thirds = LatencyHistogram()
    others = LatencyHistogram()
    for number in range(1, 2001):
        seconds = number * 1e-5
        whole.add(seconds)
        if number % 3 == 0:
            thirds.add(seconds)
        else:
            others.add(seconds)
    merged = LatencyHistogram()
    merged.merge(others)
    merged.merge(thirds)
    assert merged.count == 2000
    assert merged.longest == whole.longest
    for share in (0, 0.1, 0.5, 0.99, 1):
        assert merged.quantile(share) == whole.quantile(share)


@pytest.mark.parametrize(
    "error",
    [
        NodeFailed("hp", "Variable", 7, ValueError("no")),
        WorkflowError([Fault("is wrong", "a", code="invalid_value")], "w.json"),
        OSError(28, "No space left on device", "/x"),
    ],
)
def test_an_exception_arrives_as_it_was_sent(error: Exception) -> None:
    again = Failure.of(error).unpack()
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_an_exception_that_cannot_travel_is_its_words() -> None:
    class Local(Exception):
        pass

    again = Failure.of(Local("words")).unpack()
    assert type(again) is RunError
    assert str(again) == "Local: words"


# -- Ray


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    """The environment in which `$RAY_TEST` is the address of a cluster."""
    with _ray_cluster() as (environment, _):
        yield environment


@contextmanager
def _ray_cluster() -> Iterator[tuple[dict[str, str], int]]:
    """A Ray cluster of this machine with two CPUs:
    the environment in which `$RAY_TEST` is its address, and its process group.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = _ray_environment()
    # short: sockets lie in it, whose names have at most 107 letters
    folder = tempfile.mkdtemp(prefix="ray")
    options = [
        "--head",
        "--block",
        "--port=0",
        "--num-cpus=2",
        "--include-dashboard=false",
        f"--temp-dir={folder}",
    ]
    command = [
        str(Path(sys.executable).parent / "ray"),
        "start",
        *options,
        f"--ray-client-server-port={port}",
    ]
    with (
        open(Path(folder) / "start.log", "w+") as log,
        subprocess.Popen(
            command,
            env={**os.environ, **token},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as ray,
    ):
        try:
            _await(
                lambda: (
                    "block forever" in (Path(folder) / "start.log").read_text() and _listens(port)
                ),
                ray,
            )
            _await(lambda: _lets_in(f"ray://127.0.0.1:{port}", token), ray)
            yield {**token, "RAY_TEST": f"ray://127.0.0.1:{port}?n=2"}, ray.pid
        finally:
            ray.terminate()
            ray.wait(TIMEOUT)
    shutil.rmtree(folder, ignore_errors=True)


def _ray_run(
    minibrains_process: Any, cluster: dict[str, str], *arguments: object
) -> dict[str, Any]:
    done = minibrains_process(
        "run", *arguments, "--workers", cluster["RAY_TEST"], "--json", env=cluster
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.soak
def test_a_second_process_is_asked_for_if_the_first_that_the_cluster_starts_dies(
    minibrains_process: Any,
) -> None:
    """The cluster's head starts a process for each client."""
    with (
        _ray_cluster() as (environment, group),
        _kills_one("--mode=specific-server", group) as killed,
    ):
        _ray_run(minibrains_process, environment, "airstriker_random", "--ticks", 10)
    assert len(killed) == 1


@pytest.mark.slow
def test_a_network_on_ray_plays_what_it_plays_here(
    minibrains_process: Any, summary: Summary, cluster: dict[str, str]
) -> None:
    arguments = ("airstriker_pixels", "--episodes", 2, "--ticks", 60)
    many = _ray_run(minibrains_process, cluster, *arguments)
    _same(summary(*arguments), many)
    assert (many["workers"], many["worker_deaths"]) == (2, 0)


@pytest.mark.slow
def test_a_worker_on_ray_that_dies_is_replaced(
    minibrains_process: Any,
    summary: Summary,
    random_with: Any,
    tmp_path: Path,
    cluster: dict[str, str],
) -> None:
    arguments = random_with("Dies", episode=2, times=1, way="kill", marks=str(tmp_path))
    many = _ray_run(minibrains_process, cluster, *arguments)
    assert many["worker_deaths"] == 1
    _same(summary(*arguments), many)


@pytest.mark.slow
def test_a_run_whose_cluster_is_gone_says_so_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _ray_cluster() as (environment, group):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("RAY_CLIENT_RECONNECT_GRACE_PERIOD", "1")
        many = ("--episodes", "100000", "--ticks", "1000")
        with _started(
            tmp_path, "airstriker_random", *many, "--workers", environment["RAY_TEST"], "--json"
        ) as run:
            _await(lambda: _has_played(tmp_path), run)
            os.killpg(group, signal.SIGKILL)
            out, err = run.communicate(timeout=TIMEOUT)
    result = json.loads(out)
    assert run.returncode == 1
    assert re.search(
        r"worker \d cannot be started on the Ray cluster ray://", result["error"]["message"]
    )
    assert len(result["episodes"]) > 0
    assert "Traceback" not in err
    assert _members(run.pid) == []


@pytest.mark.slow
def test_map_on_ray_gives_results_in_order(
    minibrains_process: Any, mapping: Any, cluster: dict[str, str]
) -> None:
    result = _ray_run(minibrains_process, cluster, *mapping("squares"))
    assert json.loads(result["squares"]) == SQUARES


@pytest.mark.slow
def test_more_workers_than_the_cluster_has_cpus_is_a_sentence(
    minibrains_process: Any, cluster: dict[str, str]
) -> None:
    address = cluster["RAY_TEST"].replace("n=2", "n=3")
    done = minibrains_process("run", *RANDOM, "--workers", address, env=cluster)
    assert done.returncode == 2
    assert "3 workers need a CPU each" in done.stderr


# -- processes


def _ray_environment() -> dict[str, str]:
    """A token of the test's own, so that Ray leaves none in the person's home;
    time to begin on a busy machine; and no handlers of gRPC at a fork, whose threads now and then
    abort the process that the head starts for a client (ray-project/ray, issue 63202).
    """
    return {
        "GRPC_ENABLE_FORK_SUPPORT": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "120",
        "RAY_USAGE_STATS_ENABLED": "0",
    }


@contextmanager
def _started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`run …` as the first of a process group of its own, which is ended with the test."""
    command = [sys.executable, "-m", "server", "run", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as run:
        try:
            yield run
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)


def _members(group: int) -> list[int]:
    """The living processes of a process group."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, owner = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # it has just ended
        if int(owner) == group and state != "Z":
            members.append(int(stat.parent.name))
    return members


def _arguments(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:
        return []  # it has just ended


@contextmanager
def _kills_one(argument: str, group: int) -> Iterator[list[int]]:
    """Kill the next process of the group that is started with an argument,
    before it has begun its work.
    """
    killed: list[int] = []
    before = set(_members(group))
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.01):
            for process in set(_members(group)) - before:
                if argument in _arguments(process):
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                    return

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield killed
    finally:
        ended.set()
        watching.join()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _lets_in(cluster: str, token: dict[str, str]) -> bool:
    """Whether a client is let in: a cluster that listens may still refuse the first one,
    or let it wait.
    """
    client = [sys.executable, "-c", f"import ray; ray.init({cluster!r}, log_to_driver=False)"]
    try:
        return not subprocess.run(
            client, env={**os.environ, **token}, capture_output=True, timeout=TIMEOUT / 3
        ).returncode
    except subprocess.TimeoutExpired:
        # the server that Ray starts for a client may hang; the next client gets another
        return False


def _await(condition: Callable[[], object], process: subprocess.Popen[Any] | None = None) -> None:
    # on a busy machine, Ray may take minutes until the first episode is over
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        assert process is None or process.poll() is None, f"it ended with {process.returncode}"
        time.sleep(0.02)
