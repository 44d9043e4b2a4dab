"""The agent of `workflows/sf2_ram_text.json` written without a graph: one loop,
to be read from top to bottom.

It plays exactly the same game, button by button. The processing of pictures, the model and the log
are the same functions as in the graph; everything between them, from the variables to the buttons,
is written out here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains import Console, Episode, Pad
from minibrains.console import find_console
from nodes.fighting.features import STATUS
from nodes.language.answering import Answer
from nodes.language.vlm import VLMStrategist

AGENT: Final = (
    "ActionParser", "All", "AntiRepeat", "CooldownGate", "DecisionLog", "EmulatorSink", "Every",
    "FrameHistory", "GameFeatures", "GridOverlay", "LoRALoader", "Previous", "PromptBuilder",
    "Resize", "TileTokenizer", "VLMStrategist",
)  # fmt: skip
"""The types of the graph's nodes apart from the console, one of each."""


Pads = tuple[Pad, ...]
"""The buttons that an action holds, one frame after another."""


class GameResult(NamedTuple):
    """The result of a game."""

    pads: list[Pad]
    """The buttons held on each tick."""
    score: float
    model_seconds: float
    """Seconds that the model took."""


def is_the_agent(nodes: Mapping[str, Any]) -> bool:
    """Return whether a graph consists of exactly these nodes,
    and its model chooses among given answers.
    """
    part = {type(node).__name__: node for node in nodes.values() if not isinstance(node, Console)}
    if len(nodes) != len(part) + 1 or tuple(sorted(part)) != AGENT:
        return False
    return bool(part["VLMStrategist"].answer == "choose")


Ask = Callable[..., Answer]
"""A function that asks the model: picture, prompt, adapters."""


def in_time(strategist: VLMStrategist, thinks: ThreadPoolExecutor, limit: float | None) -> Ask:
    """Return a function that asks on a thread, so that a model that hangs cannot stop the fight;
    a late answer is dropped.
    """
    fallback: Answer = strategist.fallback

    def ask(*question: Any) -> Answer:
        try:
            return thinks.submit(strategist.tick, *question).result(limit)
        except TimeoutError:
            return fallback

    return ask


def street_fighter(
    nodes: Mapping[str, Any], episode: Episode, ticks: int, ask: Ask
) -> Callable[[], GameResult]:
    """Return the loop over the first `ticks` ticks of an episode,
    with the settings and the brains of these opened nodes.
    """
    import stable_retro

    part = {type(node).__name__: node for node in nodes.values()}
    console: Any = find_console(nodes)[1]
    tiles, overlay, view = part["TileTokenizer"], part["GridOverlay"], part["Resize"]
    log, history, repeat = part["DecisionLog"], part["FrameHistory"], part["AntiRepeat"]
    every, recovery = part["Every"].ticks, part["CooldownGate"].brain.recovery.tolist()
    template, table = part["PromptBuilder"].brain, part["EmulatorSink"].brain
    advice = {"close": template.close, "mid": template.mid, "far": template.far}
    looking_right, looking_left = list[Pads](), list[Pads]()
    for action in range(len(table.names)):
        looking_right.append(table.pads(action, True))
        looking_left.append(table.pads(action, False))
    adapters = [part["LoRALoader"].tick()]
    buttons = stable_retro.get_system_info("Genesis")["buttons"]

    def moved(pixels: int) -> str:
        if abs(pixels) <= history.still:
            return "still"
        if pixels > 0:
            return "toward"
        return "away"

    def points(change: float) -> str:
        hundredths = round(change * 100)
        if hundredths:
            return f"{hundredths:+d}"
        return "0"

    def play() -> GameResult:
        console.reset(episode)
        emulator, data, scenario = console.emulator, console.data, console.scenario
        masks: dict[Pad, np.ndarray] = {}
        variables = data.lookup_all()
        pressed, score, model_seconds = list[Pad](), 0.0, 0.0
        held: Pad | None = None
        sequence: Pads = ((),)
        position, recovers, latest, times = 0, 0, -1, 0
        moments: list[tuple[float, float, int, int, bool]] = []
        for tick in range(ticks):
            # decide, if it is time to do so and the last action is over
            sent = None
            if tick % every == 0 and not recovers:
                # the picture for the model
                frame = emulator.get_screen()
                tokens = tiles.tick(frame)
                picture = view.tick(overlay.tick(frame, [], tokens.labels, tokens.legend))

                # the prompt for the model
                own_hp = min(max(variables["agent_hp"], 0) / 176, 1.0)
                enemy_hp = min(max(variables["enemy_hp"], 0) / 176, 1.0)
                own_x, enemy_x = variables["agent_x"], variables["enemy_x"]
                distance, right = abs(own_x - enemy_x), own_x <= enemy_x
                if distance < 40:
                    band = "close"
                elif distance <= 80:
                    band = "mid"
                else:
                    band = "far"
                moments = [*moments, (own_hp, enemy_hp, own_x, enemy_x, right)][
                    -history.steps - 1 :
                ]
                happened: list[str] = []
                for was, now in pairwise(moments):
                    ahead = 1 if was[4] else -1
                    mine = f"you {points(now[0] - was[0])} hp, {moved((now[2] - was[2]) * ahead)}"
                    theirs = (
                        f"other {points(now[1] - was[1])} hp, {moved((now[3] - was[3]) * -ahead)}"
                    )
                    happened.append(f"{mine}; {theirs}")
                own, enemy = round(100 * own_hp), round(100 * enemy_hp)
                advantage = "even"
                if own > enemy:
                    advantage = f"you lead by {own - enemy}"
                elif own < enemy:
                    advantage = f"you are behind by {enemy - own}"
                prompt = template.template.format(
                    own_hp=own, enemy_hp=enemy, distance=distance, band=band,
                    facing="right" if right else "left",
                    advantage=advantage,
                    own_status=STATUS.get(variables["agent_status"], "unknown"),
                    enemy_status=STATUS.get(variables["enemy_status"], "unknown"),
                    own_height=max(192 - variables["agent_y"], 0),
                    enemy_height=max(192 - variables["enemy_y"], 0),
                    history="\n".join(happened) or "nothing yet", strategy=advice[band],
                )  # fmt: skip

                began = perf_counter()
                answer = ask(picture, prompt, adapters)
                model_seconds += perf_counter() - began

                # its answer, which is one of several numbers
                action = int(answer.text or 0)
                if action == latest and times >= repeat.limit:
                    action = next(other for other in repeat.alternatives if other != action)
                if action == latest:
                    times += 1
                else:
                    times = 1
                latest = sent = action
                recovers = recovery[action]
                log.tick(
                    picture, prompt, answer.text, "basic", action, answer.tokens, tokens.unknown
                )
            elif recovers:
                recovers -= 1

            # the buttons of this tick
            if position + 1 < len(sequence):
                position += 1
            elif sent is not None:
                right = variables["agent_x"] <= variables["enemy_x"]
                looking = looking_right if right else looking_left
                sequence, position = looking[sent], 0
            pad = sequence[position]
            if pad is not held:
                if pad not in masks:
                    masks[pad] = np.array([button in pad for button in buttons], np.uint8)
                emulator.set_button_mask(masks[pad], 0)
                held = pad
            pressed.append(pad)

            # the game
            emulator.step()
            variables = data.lookup_all()
            reward, done = scenario.frame(variables)
            score += reward
            if done:
                break
        return GameResult(pressed, score, model_seconds)

    return play
