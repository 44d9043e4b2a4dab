"""A workflow goes to another machine as one file: what is in it, where it lands, and what is
refused.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibrains import MinibrainsError
from minibrains.files import bundled_dir
from minibrains.sharing.archive import ArchiveReader
from minibrains.sharing.importing import import_workflow
from nodes.actions.sink import ActionTable
from tests.support.command import Command
from tests.support.paths import DATA

NAME = "steers"
BRAIN = "tables/mine.safetensors"
TYPES = frozenset({"Every", "RetroEmulator", "RandomPolicy", "EmulatorSink", "Score"})
PICTURE = b"\x89PNG\r\n\x1a\nnot looked at"


def table(*buttons: str) -> ActionTable:
    """Two actions: wait, and hold the last of some buttons."""
    rows = np.zeros((2, len(buttons)), np.uint8)
    rows[1, -1] = 1
    starts = np.array([0, 1, 2], np.int32)
    return ActionTable(names=("wait", "hold"), buttons=buttons, starts=starts, rows=rows)


def write_workflow(folder: Path, brain: str = BRAIN) -> Path:
    """Write a workflow of random actions with a brain beside it."""
    file = folder / brain
    file.parent.mkdir(parents=True)
    table("LEFT", "B").save(file, title="Mine", made_by="a test", license="CC-BY-4.0", author="Me")
    workflow = json.loads((bundled_dir("workflows") / "airstriker_random.json").read_text())
    workflow["nodes"]["random"]["set"]["actions"] = 2
    workflow["nodes"]["sink"]["brain"] = brain
    workflow["run"] = {"episodes": 1, "ticks": 200}
    path = folder / f"{NAME}.json"
    path.write_text(json.dumps(workflow))
    return path


@pytest.fixture
def shared(tmp_path: Path, minibrains: Command) -> Path:
    """The archive of a workflow with a brain of its own and a picture."""
    workflow = write_workflow(tmp_path / "made")
    (tmp_path / "look.png").write_bytes(PICTURE)
    done = minibrains("export", workflow, "shared.zip", "--picture", "look.png")
    assert done.returncode == 0, done.stderr
    shutil.rmtree(tmp_path / "made")
    return tmp_path / "shared.zip"


@pytest.fixture
def elsewhere(tmp_path: Path, minibrains: Command) -> Command:
    """Run a command with the home of another machine, which is empty at first."""

    def run(*arguments: object) -> Any:
        return minibrains(*arguments, env={"MINIBRAINS_HOME": str(tmp_path / "elsewhere")})

    return run


def change(
    path: Path, members: Mapping[str, bytes], without: str = "", lock: Mapping[str, Any] = {}
) -> Path:
    """Write an archive again, with some members added or replaced and one left out."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents["lock.json"] = json.dumps({**json.loads(contents["lock.json"]), **lock}).encode()
    contents = {**contents, **members}
    contents.pop(without, None)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


def left_in(root: Path) -> list[Path]:
    """Everything in a user's own folder but the file that imports lock."""
    return sorted(path for path in root.rglob("*") if path.name != ".import.lock")


def refusal(path: Path, tmp_path: Path, limit: int = 1 << 30) -> str:
    """Import an archive that is refused, and return why. Nothing of it may stay."""
    root = tmp_path / "untouched"
    with pytest.raises(MinibrainsError) as error:
        import_workflow(path, root, TYPES, limit)
    assert left_in(root) == []
    return str(error.value)


# -- there and back


def test_a_workflow_plays_elsewhere_as_it_did(
    tmp_path: Path, minibrains: Command, elsewhere: Command
) -> None:
    workflow = write_workflow(tmp_path / "made")
    # what films a run is on its tape, but no part of the workflow
    there = minibrains("run", workflow, "--record", "--video", "clip.mp4", "--json")
    assert there.returncode == 0, there.stderr
    done = minibrains(
        "export", workflow, "shared.zip", "--tape", json.loads(there.stdout)["run_dir"]
    )
    assert done.returncode == 0, done.stderr
    shutil.rmtree(tmp_path / "made")

    imported = json.loads(elsewhere("import", "shared.zip", "--json").stdout)
    home = tmp_path / "elsewhere"
    assert Path(imported["workflow"]) == home / "workflows" / f"{NAME}.json"
    pad_face = "pad_face/plain.safetensors"  # of what filmed it, which the tape names
    assert imported["brains"] == {BRAIN: BRAIN, pad_face: pad_face}
    assert (home / "models" / BRAIN).is_file()
    here = json.loads(elsewhere("run", imported["workflow"], "--json").stdout)
    there_rows, here_rows = json.loads(there.stdout)["episodes"], here["episodes"]
    for name in ("actions_sha256", "trajectory_sha256"):
        assert [row[name] for row in here_rows] == [row[name] for row in there_rows]
    replayed = elsewhere("replay", imported["tape"], "--json")
    assert json.loads(replayed.stdout)["equal"], replayed.stdout


def test_the_lock_and_the_licences_say_what_is_in_it(shared: Path) -> None:
    with ArchiveReader(shared) as archive:
        lock = archive.lock
        licenses = archive.read("LICENSES.md").decode()
        workflow = json.loads(archive.read("workflow.json"))
        brain = archive.read(f"brains/{BRAIN}")
    digest = hashlib.sha256(brain).hexdigest()
    assert workflow["nodes"]["sink"]["brain"] == {"file": BRAIN, "sha256": digest}
    assert lock.brains == {BRAIN: digest}
    assert lock.games.keys() == {"Airstriker-Genesis-v0"}
    assert lock.software.keys() >= {"minibrains", "python", "torch", "stable-retro"}
    assert "Mine, by Me, licence: CC-BY-4.0" in licenses


def test_equal_workflows_are_equal_bytes(tmp_path: Path, minibrains: Command) -> None:
    workflow = write_workflow(tmp_path / "made")
    for name in ("first.zip", "second.zip"):
        assert minibrains("export", workflow, name).returncode == 0
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()


def test_the_brain_of_a_muted_node_is_in_it_too(tmp_path: Path, minibrains: Command) -> None:
    workflow = write_workflow(tmp_path / "made")
    done = minibrains("export", workflow, "shared.zip", "--mute", "sink", "--json")
    assert json.loads(done.stdout)["lock"]["brains"].keys() == {BRAIN}


def test_a_picture_lies_beside_the_workflow(shared: Path, elsewhere: Command) -> None:
    workflow = Path(json.loads(elsewhere("import", shared, "--json").stdout)["workflow"])
    assert workflow.with_suffix(".png").read_bytes() == PICTURE


# -- names that are taken


def test_a_second_import_copies_nothing(shared: Path, tmp_path: Path, elsewhere: Command) -> None:
    first = elsewhere("import", shared, "--json").stdout
    files = sorted((tmp_path / "elsewhere").rglob("*"))
    assert elsewhere("import", shared, "--json").stdout == first
    assert sorted((tmp_path / "elsewhere").rglob("*")) == files


@pytest.mark.parametrize("folder", ["models", "workflows"])
def test_a_brain_of_the_same_name_is_kept_apart(
    shared: Path, tmp_path: Path, elsewhere: Command, folder: str
) -> None:
    mine = tmp_path / "elsewhere" / folder / BRAIN
    mine.parent.mkdir(parents=True)
    table("UP", "B").save(mine, title="Another", made_by="a test")
    before = mine.read_bytes()
    imported = json.loads(elsewhere("import", shared, "--json").stdout)
    (brain,) = imported["brains"].values()
    assert mine.read_bytes() == before
    assert brain.startswith("tables/mine-")
    done = elsewhere("run", imported["workflow"], "--json")
    assert done.returncode == 0, done.stdout


def test_a_shipped_brain_is_not_replaced(
    tmp_path: Path, minibrains: Command, elsewhere: Command
) -> None:
    airstriker = "action_table/airstriker.safetensors"
    workflow = write_workflow(tmp_path / "made", airstriker)
    assert minibrains("export", workflow, "shared.zip").returncode == 0
    imported = json.loads(elsewhere("import", "shared.zip", "--json").stdout)
    assert not (tmp_path / "elsewhere" / "models" / airstriker).exists()
    assert elsewhere("run", "airstriker_random", "--ticks", 5).returncode == 0
    assert elsewhere("run", imported["workflow"], "--ticks", 5).returncode == 0


def test_a_tape_finds_its_brain_under_its_new_name(
    tmp_path: Path, minibrains: Command, elsewhere: Command
) -> None:
    workflow = write_workflow(tmp_path / "made")
    own = tmp_path / "made" / BRAIN
    done = minibrains("run", workflow, "--record", "--json", "--brain", f"sink={own}")
    tape = json.loads(done.stdout)["run_dir"]
    done = minibrains("export", workflow, "shared.zip", "--tape", tape, "--brain", f"sink={own}")
    assert done.returncode == 0, done.stderr
    shutil.rmtree(tmp_path / "made")
    other = tmp_path / "elsewhere/models/mine.safetensors"
    other.parent.mkdir(parents=True)
    table("UP", "B").save(other, title="Another", made_by="a test")
    imported = json.loads(elsewhere("import", "shared.zip", "--json").stdout)
    replayed = elsewhere("replay", imported["tape"], "--json")
    assert json.loads(replayed.stdout)["equal"], replayed.stderr


def test_a_workflow_of_the_same_name_stays(
    shared: Path, tmp_path: Path, elsewhere: Command
) -> None:
    mine = tmp_path / "elsewhere" / "workflows" / f"{NAME}.json"
    mine.parent.mkdir(parents=True)
    mine.write_text("{}")
    mine.with_suffix(".png").write_bytes(b"mine")
    imported = Path(json.loads(elsewhere("import", shared, "--json").stdout)["workflow"])
    assert mine.read_text() == "{}"
    assert mine.with_suffix(".png").read_bytes() == b"mine"
    assert imported.name.startswith(f"{NAME}-")
    assert imported.with_suffix(".png").read_bytes() == PICTURE
    imported.write_text("{}")
    again = elsewhere("import", shared)
    assert again.returncode == 2
    assert "is in the way" in again.stderr
    assert imported.read_text() == "{}"


def test_nothing_is_written_through_a_link(
    shared: Path, tmp_path: Path, elsewhere: Command
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.safetensors").write_bytes(b"precious")
    models = tmp_path / "elsewhere" / "models"
    models.mkdir(parents=True)
    (models / "tables").symlink_to(outside)
    assert elsewhere("import", shared).returncode == 2
    assert (outside / "mine.safetensors").read_bytes() == b"precious"
    assert list(outside.iterdir()) == [outside / "mine.safetensors"]


def test_a_home_may_be_a_link(shared: Path, tmp_path: Path, minibrains: Command) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for home in ("link", "relative"):
        done = minibrains("import", shared, env={"MINIBRAINS_HOME": home})
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "real" / "models" / BRAIN).is_file()
    assert (tmp_path / "relative" / "models" / BRAIN).is_file()


def test_what_a_killed_import_has_left_is_removed(
    shared: Path, tmp_path: Path, elsewhere: Command
) -> None:
    left = tmp_path / "elsewhere" / ".import.abc"
    left.mkdir(parents=True)
    (left / "0.safetensors").write_bytes(b"half")
    assert elsewhere("import", shared).returncode == 0
    assert not left.exists()


# -- what is missing


def test_a_missing_pack_is_named_with_where_to_get_it(
    tmp_path: Path, minibrains: Command, elsewhere: Command
) -> None:
    nodes = {"ponder": {"type": "thinking_pack.Ponder@1", "in": {"variables": "console.variables"}}}
    nodes["console"] = {"type": "RetroEmulator@3"}
    path = tmp_path / "thinks.json"
    path.write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    pack = ("--pack", DATA / "thinking_pack.py")
    assert minibrains("export", path, "shared.zip", *pack).returncode == 0
    done = elsewhere("import", "shared.zip")
    assert done.returncode == 0
    assert "thinking_pack.… are missing here; they are in the file thinking_pack.py" in done.stderr
    assert "missing" not in elsewhere("import", "shared.zip", *pack).stderr
    muted = ("--mute", "ponder")
    assert minibrains("export", path, "muted.zip", *pack, *muted).returncode == 0
    assert "are missing here" in elsewhere("import", "muted.zip").stderr


def test_a_missing_game_and_other_versions_are_remarks(shared: Path, elsewhere: Command) -> None:
    software = {"torch": "1.0", "python": "3.9"}
    change(shared, {}, lock={"games": {"Nowhere-Genesis": "ab" * 20}, "software": software})
    done = elsewhere("import", shared)
    assert done.returncode == 0
    assert "Nowhere-Genesis cannot be played here" in done.stderr
    assert "exported with torch 1.0 (here " in done.stderr


# -- what is refused


def test_a_tape_of_another_workflow_is_not_exported(tmp_path: Path, minibrains: Command) -> None:
    workflow = write_workflow(tmp_path / "made")
    ran = minibrains("run", "airstriker_random", "--record", "--ticks", 20, "--json")
    done = minibrains("export", workflow, "shared.zip", "--tape", json.loads(ran.stdout)["run_dir"])
    assert done.returncode == 2
    assert f"is not a run of {NAME} as it is now" in done.stderr
    assert not (tmp_path / "shared.zip").exists()


def test_nothing_that_goes_into_the_archive_is_replaced(
    tmp_path: Path, minibrains: Command
) -> None:
    workflow = write_workflow(tmp_path / "made")
    before = workflow.read_bytes()
    brain = tmp_path / "made" / BRAIN
    for target in (workflow, brain, tmp_path / "made", tmp_path / "nowhere" / "x.zip"):
        done = minibrains("export", workflow, target)
        assert done.returncode == 2, done.stderr
        assert target.name in done.stderr
    assert workflow.read_bytes() == before


@pytest.mark.parametrize("kind", ["a text", "a zip", "a cut archive"])
def test_only_an_archive_is_replaced(kind: str, tmp_path: Path, minibrains: Command) -> None:
    workflow = write_workflow(tmp_path / "made")
    target = tmp_path / "mine.zip"
    for _ in range(2):
        assert minibrains("export", workflow, target).returncode == 0, "its own archive"
    if kind == "a text":
        target.write_text("what I wrote")
    elif kind == "a zip":
        with zipfile.ZipFile(target, "w") as other:
            other.writestr("holiday.txt", "by the sea")
    else:
        target.write_bytes(target.read_bytes()[:1000])
    before = target.read_bytes()
    done = minibrains("export", workflow, target)
    assert done.returncode == 2
    assert "mine.zip is there already, and was not written by `export`" in done.stderr
    assert target.read_bytes() == before


def test_whatever_brains_are_called_the_archive_can_be_imported(
    tmp_path: Path, minibrains: Command, elsewhere: Command
) -> None:
    workflow = write_workflow(tmp_path / "made")
    odd = tmp_path / ".hidden.bin"
    table("UP", "B").save(odd, title="Odd", made_by="a test")
    done = minibrains("export", workflow, "shared.zip", "--brain", f"sink={odd}")
    assert done.returncode == 0, done.stderr
    done = elsewhere("import", "shared.zip")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "../evil.json",
        "/etc/evil",
        "brains/../../evil.safetensors",
        "brains//evil.safetensors",
        "brains/a/b/c/d/e.safetensors",
        "brains/.hidden.safetensors",
        "brains\\evil.safetensors",
        "brains/run.py",
        "nodes.py",
        "brains/",
    ],
)
def test_a_member_that_has_no_place_is_refused(shared: Path, tmp_path: Path, name: str) -> None:
    assert "has no place in it" in refusal(change(shared, {name: b""}), tmp_path)


def test_a_link_is_refused(shared: Path, tmp_path: Path) -> None:
    change(shared, {}, without="picture.png")
    info = zipfile.ZipInfo("picture.png")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(shared, "a") as archive:
        archive.writestr(info, "/etc/passwd")
    assert "not a plain file but a link" in refusal(shared, tmp_path)


@pytest.mark.parametrize("name", ["lock.json", f"brains/{BRAIN.upper()[:-12]}.safetensors"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused(shared: Path, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(shared, "a") as archive:
        archive.writestr(name, b"")
    assert "is there twice" in refusal(shared, tmp_path)


def test_more_than_the_limit_is_refused(shared: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(shared, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.tape", bytes(5 << 20))
    sentence = refusal(shared, tmp_path, limit=4 << 20)
    assert f"expected at most {4 << 20}" in sentence


@pytest.mark.parametrize("member", ["lock.json", "workflow.json", f"brains/{BRAIN}"])
def test_what_is_missing_is_named(shared: Path, tmp_path: Path, member: str) -> None:
    sentence = refusal(change(shared, {}, without=member), tmp_path)
    assert member.removeprefix("brains/") in sentence


def test_another_brain_than_the_locks_is_refused(shared: Path, tmp_path: Path) -> None:
    assert "expected" in refusal(change(shared, {f"brains/{BRAIN}": b"something"}), tmp_path)


def test_a_pickle_is_no_brain(shared: Path, tmp_path: Path) -> None:
    pickle = b"\x80\x04cos\nsystem\n"
    with ArchiveReader(shared) as archive:
        brains = dict(archive.lock.brains)
    brains["other.safetensors"] = hashlib.sha256(pickle).hexdigest()
    change(shared, {"brains/other.safetensors": pickle}, lock={"brains": brains})
    sentence = refusal(shared, tmp_path)
    assert "other.safetensors: this is a Python pickle" in sentence


def test_a_brain_that_is_not_in_it_is_refused(shared: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(shared) as archive:
        workflow = json.loads(archive.read("workflow.json"))
    workflow["nodes"]["sink"]["brain"] = "action_table/airstriker.safetensors"
    text = json.dumps(workflow).encode()
    assert "sink needs the brain" in refusal(change(shared, {"workflow.json": text}), tmp_path)


@pytest.mark.parametrize(
    "workflow", [b"[]", b"{", b'{"minibrains": 1, "nodes": {}}', b'{"minibrains": 1, "x": 1}']
)
def test_a_workflow_with_faults_is_refused(shared: Path, tmp_path: Path, workflow: bytes) -> None:
    assert refusal(change(shared, {"workflow.json": workflow}), tmp_path)


@pytest.mark.parametrize("member", ["run.tape", "picture.png"])
def test_a_tape_and_a_picture_are_looked_at(shared: Path, tmp_path: Path, member: str) -> None:
    assert member in refusal(change(shared, {member: b"<script>"}), tmp_path)


@pytest.mark.parametrize(
    "lock",
    [
        {"name": "../up"},
        {"name": "con"},
        {"minibrains_archive": 2},
        {"minibrains_archive": 0},
        {"brains": 3},
        {"games": {"a": None}},
        {"games": {"a": "no hash"}},
        {"packs": {"a": "one line\nand another"}},
        {"packs": {str(number): "" for number in range(1001)}},
        {"software": {"torch": "x" * 1000}},
        {"workflow_sha256": "ab" * 32},
    ],
)
def test_a_lock_that_cannot_be_read_is_refused(
    shared: Path, tmp_path: Path, lock: dict[str, Any]
) -> None:
    assert refusal(change(shared, {}, lock=lock), tmp_path)


def test_what_is_no_archive_is_a_sentence(tmp_path: Path, minibrains: Command) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    for name in ("notes.txt", "nowhere.zip"):
        done = minibrains("import", name)
        assert done.returncode == 2
        assert f"{name} is not a shared workflow" in done.stderr


@pytest.fixture(scope="module")
def archive_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An archive without a brain, which is small."""
    from minibrains.run.run import Run
    from minibrains.run.spec import RunSpec
    from minibrains.sharing.exporting import export_workflow

    path = tmp_path_factory.mktemp("small") / "small.zip"
    nodes = {"clock": {"type": "Every@1"}}
    run = Run(RunSpec({"minibrains": 1, "nodes": nodes}))
    export_workflow(run.graph, run.spec.brain_finder(run.workflow), path)
    return path.read_bytes()


Damage = Callable[[bytes], bytes]


@given(data=st.data())
def test_a_damaged_archive_is_refused_or_the_same(
    archive_bytes: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    changed = bytearray(archive_bytes)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(changed) - 1))
        changed[place] = data.draw(st.integers(0, 255))
    path = folder / "damaged.zip"
    path.write_bytes(changed[: data.draw(st.integers(0, len(changed)))])
    try:
        imported = import_workflow(path, folder / "home", TYPES)
    except MinibrainsError:
        assert left_in(folder / "home") == []
    else:
        assert json.loads(imported.workflow.read_text())["nodes"].keys() == {"clock"}
