"""`check`: the plan in words, the faults in sentences, and nothing opened on the way."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minibrains.files import bundled_dir
from nodes.language.lora import LoraAdapter
from nodes.language.pretrained import VLMBrain
from server.cli import main
from tests.support.command import Command
from tests.support.paths import ROOT

WORKFLOWS = list(bundled_dir("workflows").glob("*.json"))
CONSOLE = {"type": "RetroEmulator@3"}
CLOCK = {"type": "Every@1", "set": {"ticks": 60}}
GREY = {"type": "Grayscale@1", "in": {"frame": "console.frame"}}


def write(folder: Path, **nodes: Any) -> Any:
    path = folder / "workflow.json"
    path.write_text(json.dumps({"minibrains": 1, "nodes": nodes}))
    return str(path)


def checked(capsys: pytest.CaptureFixture[str], *arguments: Any) -> Any:
    assert main(["check", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def steps(description: Any) -> Any:
    """The steps of a plan by role and node."""
    return {(step["role"], step["node"]): step for step in description["steps"]}


def runs(description: str) -> Any:
    """When each step of a plan runs, in words."""
    return {key: step["runs"] for key, step in steps(description).items()}


def test_a_button_that_the_console_lacks_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever the pad passes through on its way."""
    path = write(
        tmp_path,
        console={
            "type": "RetroEmulator@3",
            "set": {"game": "Pad-GbAdvance"},
            "in": {"pad1": "either.value"},
        },
        person={"type": "PersonPad@1"},
        either={"type": "Override@1", "in": {"value": "sink.pad", "urgent": "person.pad"}},
        policy={"type": "RandomPolicy@1", "set": {"actions": 44}},
        sink={
            "type": "EmulatorSink@1",
            "in": {"action": "policy.action"},
            "brain": "action_table/duel.safetensors",
        },
    )
    assert main(["check", path]) == 2
    said = capsys.readouterr().err
    assert (
        "sink: the brain action_table/duel.safetensors presses C, X, Y, Z, "
        "which the pad of console does not have; "
        "expected buttons out of B, SELECT, START, UP, DOWN, LEFT, RIGHT, A, L, R" in said
    )


HERE = "There are ROMs of Empty, Duel-Genesis, Meadow-GbAdvance, "
HERE += "MeadowMaze-GbAdvance, MeadowNorth-GbAdvance, Pad-GbAdvance, "
IMPORT = ". Import your own with: python -m server roms import PATH"


@pytest.mark.parametrize(
    ("widget", "said"),
    [
        ("game=Duel", f"there is no game called 'Duel'. {HERE}"),
        (
            "game=Duel-Genesys",
            "there is no game called 'Duel-Genesys'. Did you mean 'Duel-Genesis'?",
        ),
        ("game=", f"no game is named. {HERE}"),
        ("game=[]", f"no game is named. {HERE}"),
        ("game=SonicTheHedgehog-Genesis-v0", IMPORT),
        (
            'states=["Nowhere"]',
            "the game 'Airstriker-Genesis-v0' has no state 'Nowhere'. It has: Level1",
        ),
        ('states=["broken"]', "broken.state: the save state cannot be read: "),
        ("game=Empty", "the emulator cannot start "),
    ],
)
def test_a_console_without_its_game_is_a_fault_with_the_sentence_of_a_run(
    widget: Any, said: str, minibrains: Command, tmp_path: Path
) -> None:
    own = tmp_path / "home/games"
    (own / "Airstriker-Genesis-v0").mkdir(parents=True)
    (own / "Airstriker-Genesis-v0/broken.state").write_bytes(b"no state")
    (own / "Empty").mkdir()
    (own / "Empty/data.json").write_text("{}")
    (own / "Empty/rom.md").touch()
    checked = minibrains("check", "airstriker", "--set", f"console.{widget}")
    assert checked.returncode == 2
    assert said in checked.stderr
    played = minibrains("run", "airstriker", "--set", f"console.{widget}")
    assert (played.returncode, played.stderr) == (2, checked.stderr)


@pytest.fixture
def stranger(tmp_path: Path) -> Any:
    """An adapter that was made for another model than the one in sf2."""
    adapter = LoraAdapter.load(bundled_dir("models") / "lora_adapter/sf2-untrained.safetensors")
    other = LoraAdapter(
        adapter.tensors, adapter=adapter.adapter, base="another model", base_sha256="0" * 64
    )
    other.save(tmp_path / "stranger.safetensors", title="stranger", made_by="test")
    return tmp_path / "stranger.safetensors"


@pytest.mark.parametrize("command", ["check", "run"])
def test_an_adapter_for_another_model_is_refused_before_anything_is_opened(
    command: str, stranger: Any, minibrains: Command
) -> None:
    done = minibrains(command, "sf2_ram_text", "--brain", f"lora={stranger}")
    assert done.returncode == 2
    assert (
        "'Qwen3-VL of 2.1 million numbers, untrained', "
        f"000000000000 is what the brain {stranger} of lora was made for, "
        "'another model'. Give strategist and lora brains that belong together, "
        "or mute lora (--mute lora)" in done.stderr
    )
    assert "plays" not in done.stderr


def test_another_model_is_played_without_the_adapter_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = VLMBrain.load(bundled_dir("models") / "vlm/sf2-untrained.safetensors")
    model.save(tmp_path / "mine.safetensors", title="my own model", made_by="test")
    brain = ["--brain", f"strategist={tmp_path / 'mine.safetensors'}"]
    assert main(["check", "sf2_ram_text", *brain]) == 2
    assert "of strategist, 'my own model', " in capsys.readouterr().err
    assert main(["check", "sf2_ram_text", *brain, "--mute", "lora"]) == 0
    assert main(["check", "sf2_ram_text", *brain, "--set", "lora.weight=0"]) == 0


def test_an_adapter_of_weight_0_may_be_linked_to_two_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = VLMBrain.load(bundled_dir("models") / "vlm/sf2-untrained.safetensors")
    model.save(tmp_path / "mine.safetensors", title="my own model", made_by="test")
    workflow = json.loads((bundled_dir("workflows") / "sf2_ram_text.json").read_text())
    nodes = workflow["nodes"]
    nodes["second"] = {**nodes["strategist"], "brain": str(tmp_path / "mine.safetensors")}
    (tmp_path / "two.json").write_text(json.dumps(workflow))
    assert main(["check", str(tmp_path / "two.json")]) == 2
    assert "of second, 'my own model', " in capsys.readouterr().err
    assert main(["check", str(tmp_path / "two.json"), "--set", "lora.weight=0"]) == 0


def test_an_adapter_is_compared_wherever_its_link_passes_through(
    tmp_path: Path, stranger: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow = json.loads((bundled_dir("workflows") / "sf2_ram_text.json").read_text())
    nodes = workflow["nodes"]
    nodes["between"] = {"type": "Reroute@1", "in": {"value": "lora.adapter"}}
    nodes["strategist"]["in"]["adapters"] = ["between.value"]
    (tmp_path / "longer.json").write_text(json.dumps(workflow))
    assert main(["check", str(tmp_path / "longer.json")]) == 0
    nodes["lora"]["brain"] = stranger.name
    (tmp_path / "longer.json").write_text(json.dumps(workflow))
    assert main(["check", str(tmp_path / "longer.json")]) == 2
    assert "or mute lora (--mute lora)" in capsys.readouterr().err


REWARD = {"rewards": ["console.reward"]}


@pytest.mark.parametrize(
    ("score", "lost"),
    [({}, False), ({"every": 4}, True), ({"when": "clock.now"}, True), ({"optional": True}, True)],
)
def test_events_behind_a_slow_clock_are_said_to_be_lost(
    score: Any, lost: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path, console=CONSOLE, clock=CLOCK, score={"type": "Score@1", "in": REWARD, **score}
    )
    message = (
        "score, input 'rewards': reads events, "
        "and loses what console.reward delivers on a tick on which it does not run"
    )
    expected = []
    if lost:
        expected = [{"node": "score", "socket": "rewards", "message": message}]
    assert checked(capsys, path)["lost_events"] == expected
    assert main(["check", path]) == 0
    assert (f"warning: {message}" in capsys.readouterr().out) is lost


def test_sf2_loses_no_decision_unless_its_strategist_continues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log runs when it is asked; an answer that comes later comes while it does not."""
    assert checked(capsys, "sf2_ram_text")["lost_events"] == []
    workflow = json.loads((bundled_dir("workflows") / "sf2_ram_text.json").read_text())
    workflow["nodes"]["strategist"] |= {"busy": "continue", "latency": 5}
    (tmp_path / "continues.json").write_text(json.dumps(workflow))
    lost = set()
    for event in checked(capsys, str(tmp_path / "continues.json"))["lost_events"]:
        lost.add((event["node"], event["socket"]))
    assert lost == {
        ("decisions", "text"),
        ("decisions", "method"),
        ("decisions", "tokens"),
        ("decisions", "action"),
    }


@pytest.mark.parametrize("workflow", [path.stem for path in WORKFLOWS])
def test_no_shipped_workflow_loses_events(
    workflow: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(capsys, workflow)["lost_events"] == []


def test_a_node_that_thinks_beside_the_clock_loses_events_meanwhile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "slow.py").write_text(
        "from minibrains import Node, Number, On\n\n\n"
        'class Slow(Node, background="thread"):\n'
        "    def tick(self, number: On[Number]) -> Number:\n"
        "        return number or 0.0\n"
    )
    slow = {"type": "slow.Slow@1", "in": {"number": "console.reward"}}
    pack = ["--pack", str(tmp_path / "slow.py")]
    path = write(tmp_path, console=CONSOLE, slow={**slow, "busy": "wait"})
    assert checked(capsys, path, *pack)["lost_events"] == []
    path = write(tmp_path, console=CONSOLE, slow={**slow, "busy": "continue"})
    (lost,) = checked(capsys, path, *pack)["lost_events"]
    assert lost["message"].endswith("delivers while it thinks")


@pytest.fixture
def slow(tmp_path: Path) -> Any:
    """A picture that is only looked at once a second."""
    log = {"type": "Log@1", "in": {"value": "grey.frame"}, "when": "clock.now"}
    policy = {"type": "RandomPolicy@1", "set": {"actions": 6}}
    sink = {
        "type": "EmulatorSink@1",
        "in": {"action": "policy.action"},
        "brain": "action_table/airstriker.safetensors",
    }
    console = {**CONSOLE, "in": {"pad1": "sink.pad"}}
    return write(
        tmp_path, console=console, clock=CLOCK, grey=GREY, log=log, policy=policy, sink=sink
    )


def test_the_plan_as_json(capsys: pytest.CaptureFixture[str], slow: Any) -> None:
    description = checked(capsys, slow)
    assert description["workflow"] == slow
    assert description["nodes"] == 6
    assert runs(description).keys() == {
        ("emit", "console"), ("tick", "clock"), ("gate", "log"), ("read", "console"),
        ("tick", "sink"), ("tick", "grey"), ("tick", "log"), ("tick", "policy"),
    }  # fmt: skip
    order = list(steps(description))
    assert (
        order.index(("tick", "clock"))
        < order.index(("tick", "grey"))
        < order.index(("tick", "log"))
    )
    (grey,) = [step for step in description["steps"] if step["node"] == "grey"]
    assert grey["type"] == "Grayscale@1"
    assert grey["reads"] == {"frame": ["console.frame"]}
    (latch,) = description["latches"]
    assert latch["node"] == "console"
    assert latch["reads"] == {"pad1": ["sink.pad"]}


def test_a_node_without_state_inherits_the_clock_of_its_consumers(
    capsys: pytest.CaptureFixture[str], slow: Any
) -> None:
    description = checked(capsys, slow)
    of = steps(description)
    for key in [("read", "console"), ("tick", "grey"), ("tick", "log")]:
        assert of[key]["runs"].startswith("while clock.now is true")
        assert of[key]["inherited"] is (key != ("tick", "log"))
    (gate,) = [step for step in description["steps"] if step["role"] == "gate"]
    assert gate["reads"] == {"when": ["clock.now"]}
    assert gate["opens"] == ["console.frame", "grey", "log"]


def test_the_plan_for_people(capsys: pytest.CaptureFixture[str], slow: Any) -> None:
    assert main(["check", slow]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = []
    for line in out.splitlines():
        words = line.split()
        lines.append(" ".join(words))
    assert lines[0] == f"{slow}: nodes 6, steps 8, latches 1"
    assert "emit console RetroEmulator@3 every tick" in lines
    assert "clock gate console.frame, grey, log while clock.now is true when: clock.now" in lines
    assert "tick grey Grayscale@1 while clock.now is true (inherited) frame: console.frame" in lines
    assert lines[-1] == "latch console RetroEmulator@3 after the steps pad1: sink.pad"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, "every tick"),
        ({"every": 8}, "every 8"),
        ({"every": 8, "offset": 3}, "every 8 from tick 3"),
        ({"every": "10 hz"}, "at 10 hz"),
        ({"when": "clock.now"}, "while clock.now is true"),
        ({"every": 8, "when": "clock.now"}, "every 8 while clock.now is true"),
    ],
)
def test_clocks_in_words(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, entry: Any, words: str
) -> None:
    stack = {
        "type": "FrameStack@1",
        "in": {"frame": "grey.frame"},
        "brain": "frame_stack/grey4.safetensors",
        **entry,
    }
    description = checked(
        capsys, write(tmp_path, console=CONSOLE, clock=CLOCK, grey=GREY, stack=stack)
    )
    assert runs(description)["tick", "stack"] == words


def test_what_is_not_due_by_a_clock(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(
        tmp_path,
        yes={"type": "All@1"},
        later={"type": "All@1", "every": 4, "offset": 2},
        random={"type": "RandomPolicy@1", "set": {"actions": 6}},
        often={"type": "Log@1", "in": {"value": "random.action"}},
        seldom={"type": "Log@1", "in": {"value": "random.action"}, "every": 4},
        silent={**CLOCK, "mode": "mute"},
        unfed={"type": "Reroute@1", "in": {"value": "silent.now"}},
        unasked={"type": "Log@1", "in": {"value": "random.action"}, "when": "silent.now"},
    )
    words = runs(checked(capsys, path))
    assert words["tick", "yes"] == "once"
    assert words["tick", "later"] == "every 4 from tick 2, once"
    assert words["tick", "often"] == "when delivered"
    assert words["tick", "seldom"] == "every 4, when delivered"
    assert words["tick", "unfed"] == "never: nothing that runs is linked to value"
    assert words["tick", "unasked"] == "while silent.now (muted) is true, when delivered"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"every": 8}, "every 8"),
        ({"when": "clock.now"}, "while clock.now is true"),
        ({}, "every tick"),
    ],
)
def test_a_node_that_thinks_beside_the_clock_is_submitted_and_polled(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, entry: Any, words: str
) -> None:
    pack = tmp_path / "thinks.py"
    pack.write_text(
        "from minibrains import Node, Number, Variables\n\n\n"
        "class Thinks(Node, background='thread'):\n"
        "    def tick(self, variables: Variables) -> Number:\n"
        "        return 1\n"
    )
    thinks = {
        "type": "thinks.Thinks@1",
        "in": {"variables": "console.variables"},
        "busy": "continue",
        **entry,
    }
    path = write(tmp_path, console=CONSOLE, clock=CLOCK, thinks=thinks)
    description = checked(capsys, path, "--pack", str(pack))
    of = steps(description)
    assert of["submit", "thinks"]["runs"] == words
    assert of["submit", "thinks"]["reads"] == {"variables": ["console.variables"]}
    assert of["submit", "thinks"]["inherited"] is False
    assert of["poll", "thinks"]["reads"] == {}
    if entry:
        assert of["gate", "thinks"]["opens"] == ["thinks"]


def test_a_missing_rom_is_a_wrong_request(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = write(tmp_path, console={**CONSOLE, "set": {"game": "SonicTheHedgehog-Genesis-v0"}})
    assert main(["check", path, "--json"]) == 2
    out, err = capsys.readouterr()
    (fault,) = json.loads(out)["error"]["faults"]
    assert fault["node"] == "console"
    assert "roms import" in fault["message"]
    assert "roms import" in err


def test_all_faults_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write(tmp_path, clock={**CLOCK, "in": {"flag": "log.value"}}, log={"type": "Lag@1"})
    assert main(["check", path, "--set", "clock.ticks=0"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "clock.ticks: the widget has a wrong value; expected int of at least 1, found 0" in err
    assert "clock: Every has no input 'flag'" in err
    assert "log: the node type 'Lag' is not known. Did you mean 'Log'?" in err


def test_a_setting_that_was_meant_as_json_is_told_what_is_wrong_with_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "duel_clone", "--set", "clone.size=[176. 76]"]) == 2
    err = capsys.readouterr().err
    assert "expected list of int, found '[176. 76]'. It is not JSON: Expecting ','" in err


def test_another_brain_is_checked_too(capsys: pytest.CaptureFixture[str], slow: Any) -> None:
    assert main(["check", slow, "--brain", "sink=recovery/airstriker.safetensors"]) == 2
    assert "expected a brain of kind 'action_table'" in capsys.readouterr().err


def test_nothing_is_opened(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pack = tmp_path / "checkpack.py"
    pack.write_text(
        "from minibrains import Flag, Host, Node\n\n\n"
        "class Guard(Node):\n"
        "    def open(self, host: Host) -> None:\n"
        "        raise SystemExit('opened')\n\n"
        "    def tick(self) -> Flag:\n"
        "        return True\n"
    )
    description = checked(
        capsys, write(tmp_path, guard={"type": "checkpack.Guard@1"}), "--pack", str(pack)
    )
    assert runs(description) == {("tick", "guard"): "once"}


def test_shipped_workflows_are_sound_and_need_neither_torch_nor_stable_retro() -> None:
    names = sorted(map(str, WORKFLOWS))
    assert names
    program = (
        "import sys\nfrom server.cli import main\n"
        "wrong = [name for name in sys.argv[1:] if main(['check', name])]\n"
        "print(*wrong, *({'torch', 'stable_retro'} & set(sys.modules)), file=sys.stderr, end='')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    for name in names:
        assert f"{name}: nodes" in done.stdout


VALUE = {"in": {"value": "clock.now"}}


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        (
            {"one": {"type": "VideoWriter@1"}, "two": {"type": "VideoWriter@1"}},
            ("two: it would write clip.mp4 in the run folder, which is written by one. "
             "Set file to another name"),
        ),
        (
            {
                "one": {"type": "VideoWriter@1", "set": {"file": "A.mp4"}},
                "two": {"type": "VideoWriter@1", "set": {"file": "a.mp4"}},
            },
            "two: it would write a.mp4 in the run folder, which is written by one",
        ),
        (
            {"episodes": {"type": "Log@1", **VALUE}},
            "episodes: it would write episodes.jsonl in the run folder, "
            "which is written by the run itself. "
            "Give the node another name",
        ),
        (
            {"workers": {"type": "DecisionLog@2", "in": {"prompt": "text.text"}}},
            "workers: it would write workers in the run folder, which is written by the run itself",
        ),
        (
            {"one": {"type": "VideoWriter@1", "set": {"file": "a\0.mp4"}}},
            r"one: no file in the run folder can have this name; found 'a\x00.mp4'",
        ),
        ({"a" * 300: {"type": "Log@1", **VALUE}}, ("no file in the run folder can have this name; "
                                                   "found 'aaa")),
    ],
)  # fmt: skip
def test_who_writes_what_in_the_run_folder_is_settled_before_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, nodes: Any, sentence: str
) -> None:
    for node in nodes.values():
        if node["type"] == "VideoWriter@1":
            node["in"] = {"frame": "console.frame"}
    text = {"type": "checktext.Says@1"}
    (tmp_path / "checktext.py").write_text(
        "from minibrains import Node, Text\n\n\nclass Says(Node):\n    def tick(self) -> "
        "Text:\n        return ''\n"
    )
    path = write(tmp_path, console=CONSOLE, clock=CLOCK, text=text, **nodes)
    assert main(["check", path, "--pack", str(tmp_path / "checktext.py")]) == 2
    assert sentence in capsys.readouterr().err


def test_a_muted_node_writes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    checked(
        capsys, write(tmp_path, clock=CLOCK, episodes={"type": "Log@1", **VALUE, "mode": "mute"})
    )


def test_the_step_functions_of_a_plan_are_printed_each_shape_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path,
        clock=CLOCK,
        first={"type": "Log@1", "in": {"value": "clock.now"}},
        second={"type": "Log@1", "in": {"value": "clock.now"}},
    )
    assert main(["check", path, "--source"]) == 0
    said = capsys.readouterr().out
    assert "# tick clock\ndef make(call, values," in said
    assert said.count("# tick first, tick second\n") == 1

    assert main(["check", path, "--source", "--json"]) == 0
    one, two = json.loads(capsys.readouterr().out)["step_functions"]
    assert one["steps"] == ["tick clock"]
    assert two["steps"] == ["tick first", "tick second"]
    assert one["source"] in said
    assert two["source"] in said
