"""LearnFighterColors: the colours of fighters, learned from the pictures of matches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from minibrains import (
    BrainError,
    ColorFrame,
    Episode,
    Host,
    MinibrainsError,
    Node,
    Variables,
    widget,
)
from minibrains.files import is_plain_name
from nodes.vision.fighters import FighterColors, pack_colors

STAGE: Final = 0.5
"""A colour that this share of an episode's pictures shows away from both fighters is one of the
stage, or of what is drawn over it."""
BODY: Final = 0.25
"""A colour that this share of a look's pictures shows at the fighter is one of its body."""
RARE: Final = 0.01
"""Least share of a colour that a look has."""
CLEAR: Final = 0.1
"""Share of a fighter's box that the other's box must leave free for the picture to count."""

READ = ("agent_x", "agent_y", "agent_character", "enemy_x", "enemy_y", "enemy_character")
"""The variables that are read."""


class Look(NamedTuple):
    """A fighter as it is drawn: in a mirror match the enemy has other colours."""

    character: int
    mirror: bool


class LearnFighterColors(Node, category="training", collects_data=True):
    """Learn the exact colours of fighters, and save them as a FighterColors brain, the file `file`
    in the run folder.

    frame:      uint8 [h, w, 3], the screen
    variables:  agent_x, agent_y, enemy_x, enemy_y in pixels, y of the feet on the screen, x on the
                stage; agent_character, enemy_character. They are read only here: FighterMask needs
                pictures alone

    A look has the colours that its pictures show in a box around the fighter, without those that an
    episode shows away from both fighters. A rare colour, such as one of a projectile, belongs to a
    character if it is the only one that takes part in all match-ups that show the colour. In a
    mirror match the enemy is assumed to have another look. The brain is saved once `pictures` have
    been seen, or at the end of the run; every worker of a run with `--workers` saves its own. No
    game begins in a held-back state while this node is in the graph.
    """

    pictures: int = widget(
        default=960, min=1, max=1_000_000, rebuild=True, doc="the number of pictures to learn from"
    )
    names: tuple[str, ...] = widget(
        default=(),
        rebuild=True,
        doc="the names of the characters by number; without one, it is called by its number",
    )
    arena: int = widget(
        default=512,
        min=1,
        rebuild=True,
        doc="width of the stage in pixels; the screen shows the part around the middle of the two",
    )
    reach: int = widget(
        default=64, min=1, rebuild=True, doc="pixels from a fighter's middle to its hands"
    )
    height: int = widget(
        default=88, min=1, rebuild=True, doc="pixels from a fighter's feet to its head"
    )
    below: int = widget(
        default=8, min=0, rebuild=True, doc="pixels below the feet that still are the fighter's"
    )
    title: str = widget(
        default="Colours of fighters", rebuild=True, doc="the title in the brain's header"
    )
    license: str = widget(
        default="", rebuild=True, doc="the licence in the brain's header; empty: none is named"
    )
    file: str = widget(
        default="fighter_colors.safetensors",
        rebuild=True,
        doc="the file's name within the run folder",
    )

    @classmethod
    def run_files(cls, node: str, widgets: Mapping[str, Any]) -> Sequence[str]:
        return (widgets["file"],)

    def check(self) -> None:
        if not (is_plain_name(self.file) and self.file.endswith(".safetensors")):
            raise MinibrainsError(
                f"the file is {self.file!r}; expected a plain name ending in .safetensors, "
                "within the run folder"
            )

    def open(self, host: Host) -> None:
        self._host = host
        self._seen = 0
        self._saved = False
        self._pictures = Counter[Look]()
        """Number of pictures of each look."""
        self._near = defaultdict[Look, Counter[int]](Counter)
        """Look -> colour -> number of its pictures that show the colour at the fighter."""
        self._match_ups = defaultdict[int, set[frozenset[int]]](set)
        """Colour -> the match-ups, as sets of characters, that show it at a fighter."""
        self._stages = list[_Stage]()
        """One for each episode."""

    def reset(self, episode: Episode) -> None:
        self._stages.append(_Stage())

    def tick(self, frame: ColorFrame, variables: Variables) -> None:
        if self._saved:
            return
        try:
            now = {name: int(variables[name]) for name in READ}
        except KeyError as missing:
            raise MinibrainsError(
                f"the game has no variable {missing}; colours are learned with {', '.join(READ)}"
            ) from None
        self._watch(pack_colors(frame), now)
        self._seen += 1
        self._host.progress(self._seen, self.pictures, f"{len(self._pictures)} looks")
        if self._seen == self.pictures:
            self._save()

    def close(self) -> None:
        if getattr(self, "_seen", 0) and not self._saved:
            self._save()

    def _watch(self, colors: np.ndarray, now: Mapping[str, int]) -> None:
        """Count the colours of one picture: those in each fighter's box that are not in the
        other's, and those in neither.
        """
        width = colors.shape[1]
        middle = (now["agent_x"] + now["enemy_x"]) // 2
        left = min(max(middle - width // 2, 0), max(self.arena - width, 0))
        agent = self._box(colors.shape, now["agent_x"] - left, now["agent_y"])
        enemy = self._box(colors.shape, now["enemy_x"] - left, now["enemy_y"])
        same = now["agent_character"] == now["enemy_character"]
        match_up = frozenset((now["agent_character"], now["enemy_character"]))
        for look, box, other in (
            (Look(now["agent_character"], False), agent, enemy),
            (Look(now["enemy_character"], same), enemy, agent),
        ):
            clear = box & ~other
            if np.count_nonzero(clear) < CLEAR * 2 * self.reach * self.height:
                continue
            seen = np.unique(colors[clear]).tolist()
            self._pictures[look] += 1
            self._near[look].update(seen)
            for color in seen:
                self._match_ups[color].add(match_up)
        away = np.unique(colors[~(agent | enemy)]).tolist()
        stage = self._stages[-1]
        stage.pictures += 1
        stage.away.update(away)

    def _box(self, shape: tuple[int, ...], x: int, feet: int) -> np.ndarray:
        """Return the pixels of the box around a fighter, bool [h, w]."""
        box = np.zeros(shape, bool)
        top, bottom = max(feet - self.height, 0), max(feet + self.below, 0)
        box[top:bottom, max(x - self.reach, 0) : max(x + self.reach, 0)] = True
        return box

    def _save(self) -> None:
        try:
            brain = self._learn()
        except BrainError as error:
            raise MinibrainsError(
                f"{self._seen} pictures show too little to learn from ({error}); "
                "let more match-ups be played, and longer"
            ) from None
        workflow = self._host.workflow
        sha256 = brain.save(
            self._host.dir / self.file,
            title=self.title,
            # not the command of this run: options such as --runs are not to change the file
            made_by=f"python -m server run {workflow.name}",
            license=self.license,
            workflow_sha256=workflow.sha256,
            description=f"Learned from {self._seen} pictures of {len(self._stages)} episodes",
        )
        self._saved = True
        self._host.say(
            f"saved {self.file}: {len(brain.colors)} colours of {len(brain.looks)} looks, {sha256}"
        )

    def _learn(self) -> FighterColors:
        stage = self._stage_colors()
        looks = sorted(self._pictures)
        shares: list[dict[int, float]] = []
        for look in looks:
            shares.append(self._shares(look, stage))
        colors = sorted(set[int]().union(*shares))
        share = np.zeros((len(looks), len(colors)), np.float32)
        for row, found in zip(share, shares, strict=True):
            for column, color in enumerate(colors):
                row[column] = found.get(color, 0)
        characters = [self._name(look.character) for look in looks]
        packed = np.array(colors, "<u4")
        pixels = packed.view(np.uint8).reshape(-1, 4)[:, :3]
        return FighterColors(
            looks=tuple(map(self._look_name, looks)),
            characters=tuple(characters),
            colors=np.ascontiguousarray(pixels),
            share=share,
        )

    def _stage_colors(self) -> set[int]:
        """Return the colours that any episode shows away from the fighters most of the time."""
        colors: set[int] = set()
        for stage in self._stages:
            for color, count in stage.away.items():
                if count >= STAGE * stage.pictures:
                    colors.add(color)
        return colors

    def _shares(self, look: Look, stage: set[int]) -> dict[int, float]:
        """Return the colours of a look, with the share of its pictures that show them."""
        shares: dict[int, float] = {}
        for color in self._match_ups.keys() - stage:
            share = self._share(look, color)
            characters = frozenset.intersection(*self._match_ups[color])
            alone = characters == {look.character}
            # what is thrown looks the same in a mirror match, the body does not
            if share >= BODY or (alone and (share >= RARE or not self._is_body(color))):
                shares[color] = max(share, RARE)
        return shares

    def _share(self, look: Look, color: int) -> float:
        return self._near[look][color] / self._pictures[look]

    def _is_body(self, color: int) -> bool:
        return any(self._share(look, color) >= BODY for look in self._pictures)

    def _name(self, character: int) -> str:
        if 0 <= character < len(self.names):
            return self.names[character]
        return str(character)

    def _look_name(self, look: Look) -> str:
        name = self._name(look.character)
        if look.mirror:
            return f"{name}, mirror match"
        return name


@dataclass(slots=True)
class _Stage:
    """The colours that the pictures of one episode show away from both fighters."""

    pictures: int = 0
    away: Counter[int] = field(default_factory=Counter)
    """Colour -> number of pictures."""
