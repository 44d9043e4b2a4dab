"""SimpleFighter and the players of the native search are the same:
they press the same buttons on every frame.
"""

from __future__ import annotations

import json
from itertools import islice
from random import Random
from typing import get_args

import pytest

from games.source.duel import fighters
from games.source.duel.matches import BITS, Setting, settings
from games.source.duel.native import Game
from games.source.duel.native.players import CELLS, Condition, Kind, Player, Step, record
from nodes.fighting.simple import PlayerState, read_player

ACTIONS: dict[str, tuple[str, ...]] = {}
for name, pads in zip(fighters.action_names(), fighters.actions(), strict=True):
    ACTIONS[name] = tuple(map("+".join, pads))
LOOKS_AT = ("agent_x", "agent_status", "agent_hp", "enemy_x", "enemy_y", "enemy_status", "enemy_hp")


def _step(random: Random, interval: int) -> Step:
    if interval:
        return Step(random.choice(list(ACTIONS)))
    way = random.choice(["", "F", "G", "UP", "DOWN", "F+UP", "DOWN+F", "DOWN+G", "LEFT", "RIGHT"])
    button = random.choice(["", "", "A", "C", "Z", "Y"])
    held = f"{way}+{button}" if way and button else way or button
    return Step(held, random.randint(1, 20))


def _condition(random: Random) -> Condition:
    limits = {
        "distance": (40, 150),
        "height": (1, 40),
        "lead": (-50, 50),
        "enemy frames": (1, 30),
        "own frames": (1, 30),
        "enemy is": (1, 127),
        "own is": (1, 127),
    }
    feature = random.choice(list(limits))
    return Condition(feature, random.randint(*limits[feature]))


def _player(seed: int) -> Player:
    """Draw a player of any kind."""
    random = Random(seed)
    kinds: tuple[Kind, ...] = get_args(Kind)
    kind = kinds[seed % 3]
    interval = random.choice([0, 0, 6, 12, 30])
    conditions: list[Condition] = []
    if kind == "rule":
        for _ in range(random.randint(1, 2)):
            conditions.append(_condition(random))
    count = {"loop": 1, "rule": 2 ** len(conditions), "table": CELLS}[kind]
    answers = []
    for _ in range(count):
        steps = [_step(random, interval) for _ in range(random.randint(1, 4))]
        answers.append(tuple(steps))
    edges: list[int] = []
    groups: list[int] = []
    if kind == "table":
        edges = sorted(random.sample(range(30, 200), 3))
        groups = random.choices(range(3), k=7)
    return Player(
        kind=kind,
        answers=tuple(answers),
        late=random.choice([0, 12, 24]),
        interval=interval,
        knows_side=random.random() < 0.7,
        conditions=tuple(conditions),
        distance_edges=tuple(edges),
        height_edge=random.randint(1, 40),
        status_groups=tuple(groups),
    )


def _begun(setting: Setting) -> Game:
    game = Game()
    game.begin(
        blank=1,
        mode=0,
        enemy_level=setting.level,
        agent_level=1,
        seed=setting.seed,
        agent_character=setting.agent,
        enemy_character=setting.enemy,
        stage=setting.stage,
    )
    return game


@pytest.mark.parametrize("number", range(12))
def test_both_press_the_same_buttons_on_every_frame(number: int) -> None:
    player = _player(number)
    (setting,) = islice(settings("simple players", 4), number, number + 1)
    pads, _ = record(player, setting)
    written = json.loads(json.dumps(player.as_json()))
    state = PlayerState(read_player(written), ACTIONS)
    game = _begun(setting)
    pressed = []
    for _ in pads:
        variables = {name: game.get(name) for name in LOOKS_AT}
        pad = sum(BITS[button] for button in state.pad(variables))
        pressed.append(pad)
        game.step(pad)
    assert pressed == pads
