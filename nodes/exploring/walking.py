"""WalkTo: a teacher that plays a world of tiles by its published map, towards one goal after
another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from minibrains import Episode, MinibrainsError, Node, Pad, Variables, widget
from nodes.exploring.paths import STEPS, find_path, next_area
from nodes.exploring.walk_script import Goal, WalkScript, read_goal
from nodes.exploring.world_state import BATTLE, MENU, WALK, Position, WorldState

ATTACK, POTION, FLEE = range(3)
"""The options in a battle."""
HURT: Final = 8
"""With so many health points or fewer, it drinks, flees, or goes to rest before it walks on."""
KEPT_POTIONS: Final = 3
"""These are for creatures from which nobody can flee."""


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
            for number, option in enumerate(world.options()):
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
