"""WalkTo: a teacher that plays a world of tiles by its published map, towards one goal after
another.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, get_type_hints

from minibrains import Brain, Episode, MinibrainsError, Node, Pad, Variables, setting, widget
from minibrains.errors import BrainError
from minibrains.values import parse_value

Position = tuple[int, int]
"""Column and row of a tile."""

WALK, DIALOGUE, MENU, BATTLE, CUTSCENE = range(1, 6)
"""Values of the variable `mode`; 0 is the title."""
COLUMNS, ROWS = 30, 18
DIRECTIONS: Final = ("DOWN", "UP", "LEFT", "RIGHT")
STEPS: Final[Mapping[str, Position]] = {
    "DOWN": (0, 1),
    "UP": (0, -1),
    "LEFT": (-1, 0),
    "RIGHT": (1, 0),
}
ATTACK, POTION, FLEE = range(3)
"""The options in a battle."""
HURT: Final = 8
"""With so many health points or fewer, it drinks, flees, or goes to rest before it walks on."""
KEPT_POTIONS: Final = 3
"""These are for creatures from which nobody can flee."""
OPTION_LENGTH: Final = 12
THINGS, CREATURES, EXITS, WORDS = 8, 4, 4, 4
DAWN, NIGHTFALL = 6 * 60, 20 * 60
_WORD: Final = re.compile(r"\{(\w+)\.(\d)\}")


class Goal(NamedTuple):
    """Something to talk to, until something is known or carried."""

    talk: tuple[str, ...]
    """Names of things, one after the other, over and over."""
    until: str
    """The name of a flag or of an item."""
    choose: str = ""
    """The option to choose when there is a choice; empty: the first."""
    when: str = ""
    """"night": wait for it."""
    costs: int = 0
    """Coins that are needed for it."""
    earn_in: str = ""
    """The area whose creatures it fights for them."""
    quest: str = ""
    """The side quest that it belongs to; empty: the main quest."""


def read_goal(value: Mapping[str, Any]) -> Goal:
    """Read a goal from JSON. Raises ValueError, with a sentence, if it is not one."""
    if not {"talk", "until"} <= value.keys() <= {*Goal._fields}:
        raise ValueError(f"a goal has {', '.join(map(repr, value))}; expected {Goal._fields}")
    kinds = get_type_hints(Goal)
    fields: dict[str, Any] = {}
    for name, found in value.items():
        fields[name] = parse_value(kinds[name], found)
    goal = Goal(**fields)
    if not goal.talk or goal.when not in ("", "night"):
        raise ValueError("a goal needs something to talk to, and a time that is empty or night")
    return goal


class WalkScript(Brain):
    """A world's names, in the order of their numbers, and the goals of a walk through it."""

    kind = "walk_script"
    areas: tuple[str, ...] = setting(doc="the areas")
    ways: Mapping[str, tuple[str, ...]] = setting(doc="for each area those that it leads to")
    things: tuple[tuple[str, ...], ...] = setting(doc="the things, each with its area")
    flags: tuple[str, ...] = setting(doc="what can have happened")
    items: tuple[str, ...] = setting(doc="what can be carried")
    secrets: tuple[tuple[str, ...], ...] = setting(
        doc="the secrets, each with its words after its name"
    )
    creatures: tuple[str, ...] = setting(doc="the creatures")
    keepers: tuple[str, ...] = setting(doc="the creatures from which nobody can flee")
    rests: tuple[Mapping[str, str | int], ...] = setting(
        doc="the places that restore health: area, x and y of each"
    )
    goals: tuple[Mapping[str, str | int | tuple[str, ...]], ...] = setting(
        doc="for each goal what to talk to, until when, perhaps what to choose and what it costs"
    )

    def check(self, where: str) -> None:
        if not all(len(thing) == 2 for thing in self.things):
            raise BrainError(f"{where}: things are not all pairs; expected each with its area")
        if not all(len(secret) >= 2 for secret in self.secrets):
            raise BrainError(f"{where}: a secret has no words; expected its name and its words")
        self._check_areas(where)
        for value in self.goals:
            try:
                goal = read_goal(value)
            except ValueError as error:
                raise BrainError(f"{where}: {error}") from None
            self._check_goal(where, goal)

    def _check_areas(self, where: str) -> None:
        """Raise BrainError unless everything is in an area that there is."""
        named = {area for _, area in self.things}
        for area, beside in self.ways.items():
            named |= {area, *beside}
        for rest in self.rests:
            if rest.keys() != {"area", "x", "y"} or not isinstance(rest["area"], str):
                raise BrainError(f"{where}: a rest has {list(rest)}; expected area, x and y")
            named.add(rest["area"])
        unknown = named - {*self.areas}
        if unknown:
            raise BrainError(f"{where}: there is no area {min(unknown)!r}")
        if not self.ways.keys() >= {*self.areas} or not all(self.ways.values()):
            raise BrainError(f"{where}: an area leads nowhere; expected a way for each")

    def _check_goal(self, where: str, goal: Goal) -> None:
        """Raise BrainError if a goal names what there is not."""
        things = {thing for thing, _ in self.things}
        secrets = {secret[0] for secret in self.secrets}
        if goal.until not in (*self.flags, *self.items):
            raise BrainError(f"{where}: {goal.until!r} is neither a flag nor an item")
        if goal.costs and goal.earn_in not in self.areas:
            raise BrainError(f"{where}: there is no area {goal.earn_in!r} to earn money in")
        for text in (*goal.talk, goal.choose):
            for secret, number in _WORD.findall(text):
                if secret not in secrets or not 1 <= int(number) <= WORDS:
                    raise BrainError(f"{where}: there is no word {number} of a secret {secret!r}")
        for thing in goal.talk:
            if thing not in things and not _WORD.search(thing):
                raise BrainError(f"{where}: there is no {thing!r} to talk to")


class WorldState:
    """The variables of one tick, as the walk looks at them."""

    def __init__(self, variables: Mapping[str, int], script: WalkScript) -> None:
        self.variables = variables
        self.script = script
        self.mode = variables["mode"]
        self.here: Position = (variables["x"], variables["y"])
        self.facing = DIRECTIONS[variables["facing"]]
        self.area = script.areas[variables["area"]]
        self.is_night = not DAWN <= variables["clock"] < NIGHTFALL

    def has(self, name: str) -> bool:
        """Return True if a flag is set or an item is carried."""
        if name in self.script.flags:
            return bool(self.variables["flags"] >> self.script.flags.index(name) & 1)
        return self.variables[f"item_{name}"] > 0

    def with_words(self, text: str) -> str:
        """Return a text with the words of the secrets in the place of {secret.n}."""

        def word(found: re.Match[str]) -> str:
            names = [name for name, *_ in self.script.secrets]
            secret = names.index(found[1])
            place = secret * WORDS + int(found[2]) - 1
            return self.script.secrets[secret][1 + self.variables[f"secret_{place:02}"]]

        return _WORD.sub(word, text)

    def place_of(self, thing: str) -> Position | None:
        """Return where a thing of this area is; None if it is not there."""
        names = [name for name, _ in self.script.things]
        number = names.index(thing) + 1
        for slot in range(THINGS):
            if self.variables[f"thing_id_{slot:02}"] == number:
                return self.variables[f"thing_x_{slot:02}"], self.variables[f"thing_y_{slot:02}"]
        return None

    def exits(self) -> dict[Position, str]:
        """Return the doors of this area, with the areas that they lead to."""
        found: dict[Position, str] = {}
        for slot in range(EXITS):
            number = self.variables[f"exit_area_{slot:02}"]
            if number < len(self.script.areas):
                place = self.variables[f"exit_x_{slot:02}"], self.variables[f"exit_y_{slot:02}"]
                found[place] = self.script.areas[number]
        return found

    def creatures(self) -> set[Position]:
        """Return the tiles of the creatures."""
        found: set[Position] = set()
        for slot in range(CREATURES):
            if self.variables[f"creature_kind_{slot:02}"]:
                x, y = (
                    self.variables[f"creature_x_{slot:02}"],
                    self.variables[f"creature_y_{slot:02}"],
                )
                found.add((x, y))
        return found

    def blocked(self) -> list[int]:
        """Return rows of tiles that are not to be entered, bit x for column x: walls and
        creatures.
        """
        rows = [self.variables[f"wall_{row:02}"] for row in range(ROWS)]
        for x, y in self.creatures():
            rows[y] |= 1 << x
        return rows

    def way_out(self, area: str) -> tuple[set[Position], str]:
        """Return the tiles from which the hero leaves for another area: doors, or an edge and its
        direction.
        """
        doors = {place for place, leads_to in self.exits().items() if leads_to == area}
        if doors:
            return doors, ""
        for number, direction in enumerate(DIRECTIONS):
            if self.variables[f"edge_area_{number:02}"] == self.script.areas.index(area):
                columns = {"LEFT": [0], "RIGHT": [COLUMNS - 1]}.get(direction, range(COLUMNS))
                rows = {"UP": [0], "DOWN": [ROWS - 1]}.get(direction, range(ROWS))
                return {(x, y) for x in columns for y in rows}, direction
        return set(), ""


def find_path(world: WorldState, targets: set[Position], stop_beside: bool) -> str | None:
    """Return the first direction of a shortest path, "" if the hero is there; None if there is
    none.

    It avoids walls, creatures and doors that are no target; hazards, unless there is no other way.

    Args:
        world: The present tick.
        targets: The tiles to reach.
        stop_beside: The tile before a target is enough, as for what is talked to.
    """
    blocked = world.blocked()
    for x, y in world.exits():
        if (x, y) not in targets:
            blocked[y] |= 1 << x
    hazards = [world.variables[f"hazard_{row:02}"] for row in range(ROWS)]
    careful = [row | hazard for row, hazard in zip(blocked, hazards, strict=True)]
    found = _search(world.here, targets, careful, stop_beside)
    if found is None:
        found = _search(world.here, targets, blocked, stop_beside)
    return found


def _search(
    start: Position, targets: set[Position], blocked: list[int], stop_beside: bool
) -> str | None:
    """Search breadth first; see find_path."""
    first: dict[Position, str] = {start: ""}
    queue = deque([start])
    while queue:
        place = queue.popleft()
        if place in targets and not stop_beside:
            return first[place]
        for direction, (dx, dy) in STEPS.items():
            x, y = there = place[0] + dx, place[1] + dy
            if stop_beside and there in targets:
                return first[place]
            is_inside = 0 <= x < COLUMNS and 0 <= y < ROWS
            if there in first or not is_inside or blocked[y] >> x & 1:
                continue
            first[there] = first[place] or direction
            queue.append(there)
    return None


def next_area(script: WalkScript, here: str, target: str) -> str | None:
    """Return the area to enter next on the shortest way to another; None if there is none."""
    first: dict[str, str] = {here: ""}
    queue = deque([here])
    while queue:
        area = queue.popleft()
        if area == target:
            return first[area]
        for beside in script.ways[area]:
            if beside not in first:
                first[beside] = first[area] or beside
                queue.append(beside)
    return None


@dataclass
class WalkState:
    """The memory of a walk from tick to tick."""

    tapped: bool = False
    """A button was tapped on the last tick, and is to be released."""
    talks: int = 0
    """The number of times that something was talked to for the present goal."""
    goal: int = -1
    in_talk: bool = False
    resting: bool = False
    moment: Any = None
    """The places of everything when the way was found."""
    way: Pad = ()


class WalkTo(Node, category="exploring"):
    """Walk through a world of tiles towards one goal after another: a teacher, which knows the map.

    It needs the variables of the game's truth.json: set the console's `overlay`. Goals that are
    reached are passed
    over, so it goes on from any moment of a game.

    variables:  of Meadow, on every tick
    Out:        the buttons to hold now
    """

    brain: WalkScript
    side_quests: bool = widget(default=False, doc="complete the side quests, too")

    def reset(self, episode: Episode) -> None:
        self.memory = WalkState()
        self._goals = self._chosen_goals()

    def state(self) -> dict[str, Any]:
        """Return what is remembered, without the way, which is found again."""
        return {**vars(self.memory), "moment": None, "way": ()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.memory = WalkState(**{**state, "way": ()})
        self._goals = self._chosen_goals()

    def _chosen_goals(self) -> list[Goal]:
        """Return the goals of the main quest, and of the side quests if they are wanted."""
        goals = [read_goal(goal) for goal in self.brain.goals]
        return [goal for goal in goals if self.side_quests or not goal.quest]

    def tick(self, variables: Variables) -> Pad:
        try:
            return self._pad(WorldState(variables, self.brain))
        except KeyError as missing:
            raise MinibrainsError(
                f"the game has no variable {missing}, which the walk needs; "
                "expected those of Meadow with the console's overlay truth.json"
            ) from None

    def _pad(self, world: WorldState) -> Pad:
        if self.memory.tapped:
            self.memory.tapped = False
            return ()
        self._next_goal(world)
        match world.mode:
            case 0:
                return self._tap("START")
            case mode if mode == BATTLE:
                return self._fight(world)
            case mode if mode == MENU:
                return self._tap("B")
            case mode if mode == WALK:
                return self._walk_on(world)
        return self._listen(world)

    def _tap(self, button: str) -> Pad:
        """Press a button now, and release it on the next tick."""
        self.memory.tapped = True
        return (button,)

    def _next_goal(self, world: WorldState) -> None:
        """Find the first goal that is not reached."""
        goal = 0
        while goal < len(self._goals) and world.has(self._goals[goal].until):
            goal += 1
        # what is carried can be used up: a goal that was passed is not begun again
        goal = max(goal, self.memory.goal)
        while goal < len(self._goals) and world.has(self._goals[goal].until):
            goal += 1
        if goal != self.memory.goal:
            self.memory.goal = goal
            self.memory.talks = 0

    # -- dialogue and battle -----------------------------------------------------------------------

    def _listen(self, world: WorldState) -> Pad:
        if not self.memory.in_talk:
            self.memory.in_talk = True
            self.memory.talks += 1
        if not world.variables["choices"]:
            return self._tap("A")
        wanted = 0
        if self.memory.goal < len(self._goals):
            choose = world.with_words(self._goals[self.memory.goal].choose).lower()
            for number, option in enumerate(_options(world.variables)):
                if option.lower() == choose:
                    wanted = number
        return self._choose(world, wanted)

    def _choose(self, world: WorldState, wanted: int) -> Pad:
        if world.variables["choice"] == wanted:
            return self._tap("A")
        return self._tap("DOWN")

    def _fight(self, world: WorldState) -> Pad:
        if not world.variables["choices"]:
            return self._tap("A")
        kind = self.brain.creatures[world.variables["enemy"] - 1]
        is_hurt = world.variables["hp"] <= HURT
        kept = 0 if kind in self.brain.keepers else KEPT_POTIONS
        if is_hurt and world.variables["item_potion"] > kept:
            return self._choose(world, POTION)
        if is_hurt and kind not in self.brain.keepers:
            return self._choose(world, FLEE)
        return self._choose(world, ATTACK)

    # -- walking -----------------------------------------------------------------------------------

    def _walk_on(self, world: WorldState) -> Pad:
        """Hold on to a direction until the hero or a creature is on another tile: a step takes
        several ticks.
        """
        self.memory.in_talk = False
        health = world.variables["hp"]
        moment = (world.area, world.here, health, sorted(world.creatures()), self.memory.goal)
        if moment != self.memory.moment or not self.memory.way:
            self.memory.moment = moment
            self.memory.way = self._walk(world)
            if self.memory.tapped:
                way, self.memory.way = self.memory.way, ()
                return way
        return self.memory.way

    def _walk(self, world: WorldState) -> Pad:
        rest = self._rest(world)
        if rest is not None:
            return rest
        if self.memory.goal == len(self._goals):
            return ()
        goal = self._goals[self.memory.goal]
        if world.variables["money"] < goal.costs:
            return self._hunt(world, goal.earn_in)
        thing = world.with_words(goal.talk[self.memory.talks % len(goal.talk)])
        area = next(area for name, area in self.brain.things if name == thing)
        if world.area != area:
            return self._leave(world, area)
        place = world.place_of(thing)
        if place is None:
            return ()
        direction = find_path(world, {place}, stop_beside=True)
        if direction:
            return (direction,)
        if direction is None or (goal.when == "night" and not world.is_night):
            return ()
        facing = _direction_to(world.here, {place})
        return self._tap("A") if world.facing == facing else self._tap(facing)

    def _hunt(self, world: WorldState, area: str) -> Pad:
        """Fight the creatures of an area; when there are none left, more have come once it was
        away.
        """
        if world.area != area:
            return self._leave(world, area)
        prey = world.creatures()
        direction = find_path(world, prey, stop_beside=True)
        if direction is None:
            return self._leave(world, self.brain.ways[area][0])
        return (direction or _direction_to(world.here, prey),)

    def _leave(self, world: WorldState, target: str) -> Pad:
        """Walk towards another area."""
        area = next_area(self.brain, world.area, target)
        if area is None:
            return ()
        places, direction = world.way_out(area)
        if direction and world.here in places:
            return (direction,)
        way = find_path(world, places, stop_beside=False)
        return (way,) if way else ()

    def _rest(self, world: WorldState) -> Pad | None:
        """Walk to the nearest place that restores health, if the hero needs it; None if not."""
        health, most = world.variables["hp"], world.variables["max_hp"]
        if health == most:
            self.memory.resting = False
        if health <= HURT:
            self.memory.resting = True
        if not self.memory.resting:
            return None
        area = next(self._areas_to_rest(world.area), None)
        if area is None:
            return None
        if area != world.area:
            return self._leave(world, area)
        places = {(rest["x"], rest["y"]) for rest in self.brain.rests if rest["area"] == area}
        way = find_path(world, places, stop_beside=False)  # type: ignore[arg-type]
        return (way,) if way else None

    def _areas_to_rest(self, here: str) -> Iterator[str]:
        """Yield the areas with a place to rest, the nearest first."""
        having = {rest["area"] for rest in self.brain.rests}
        queue = deque([here])
        seen = {here}
        while queue:
            area = queue.popleft()
            if area in having:
                yield area
            for beside in self.brain.ways[area]:
                if beside not in seen:
                    seen.add(beside)
                    queue.append(beside)


def _direction_to(here: Position, places: set[Position]) -> str:
    """Return the direction of one of the places, which is the next tile."""
    for direction, (dx, dy) in STEPS.items():
        if (here[0] + dx, here[1] + dy) in places:
            return direction
    raise ValueError(f"none of {places} is beside {here}")


def _options(variables: Mapping[str, int]) -> list[str]:
    """Return the options of a choice, as they are on the screen."""
    raw = b""
    for key in range(6):
        raw += variables[f"option_{key:02}"].to_bytes(8, "little")
    names: list[str] = []
    for start in range(0, len(raw), OPTION_LENGTH):
        names.append(raw[start : start + OPTION_LENGTH].decode("ascii").strip("\0 "))
    return names
