"""Which games there are on this machine, found on disk alone: stable-retro itself is not imported here."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minibrains.errors import GameError, near
from minibrains.files import home, shipped

STATE_SUFFIX = ".state"
_NO_ROM = (".sha", ".delta")
"""Files called rom.* that are none: hashes, and patches for a ROM of one's own."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game whose ROM is there. `data` holds data.json, scenario.json and states; there may be more in `others`."""

    name: str
    rom: Path
    data: Path
    others: tuple[Path, ...] = ()
    """The folders of the same name that come after it: where our map of a game is used, stable-retro's states are too."""

    def states(self) -> list[str]:
        """The names of its save states, sorted."""
        return sorted(self._states())

    def _states(self) -> dict[str, Path]:
        files = [path for folder in (self.data, *self.others) for path in folder.glob(f"*{STATE_SUFFIX}")]
        return {path.name.removesuffix(STATE_SUFFIX): path for path in reversed(files)}

    def default_state(self, players: int) -> str | None:
        """The state its maker chose to start from, or None for power-on."""
        metadata = read_json(self.data / "metadata.json")
        by_players = metadata.get("default_player_state", [])
        state = by_players[players - 1] if players <= len(by_players) else metadata.get("default_state")
        return state if isinstance(state, str) else None

    def state_file(self, state: str) -> Path:
        """The file of a save state. Raises GameError naming the states there are."""
        states = self._states()
        if state not in states:
            hint = near(state, sorted(states)) or f"It has: {', '.join(sorted(states)[:10]) or 'none'}"
            raise GameError(f"the game {self.name!r} has no state {state!r}. {hint}")
        return states[state]


def folders() -> list[Path]:
    """Where games are looked for, in this order: our own, stable-retro's."""
    result = [shipped("games")]
    spec = importlib.util.find_spec("stable_retro")
    for place in spec.submodule_search_locations or () if spec else ():
        result.extend(Path(place) / "data" / kind for kind in ("stable", "contrib", "experimental"))
    return [folder for folder in result if folder.is_dir()]


def rom_folder() -> Path:
    """Where `roms import` puts a person's own ROMs."""
    return home() / "roms"


def known_games() -> Iterator[tuple[str, Path]]:
    """Name and data folder of every game, whether or not its ROM is there."""
    seen = set()
    for folder in folders():
        for data in sorted(folder.iterdir()):
            if (data / "data.json").is_file() and data.name not in seen:
                seen.add(data.name)
                yield data.name, data


def known_hashes() -> dict[str, str]:
    """SHA-1 of a ROM -> the game it is."""
    hashes = {}
    for name, data in known_games():
        if (data / "rom.sha").is_file():
            for line in (data / "rom.sha").read_text().split():
                hashes[line.lower()] = name
    return hashes


def find_game(names: Sequence[str]) -> Game:
    """The first of the games whose ROM is there. Raises GameError saying where it was looked for."""
    places = folders()
    unknown = []
    for name in names:
        found = [folder / name for folder in places if _plain(name) and (folder / name / "data.json").is_file()]
        if not found:
            unknown.append(name)
        elif (rom := _rom(name, found)) is not None:
            return Game(name, rom, found[0], tuple(found[1:]))
    if names and len(unknown) == len(names):
        hint = near(names[0], [name for name, _ in known_games()])
        raise GameError(f"there is no game called {' or '.join(map(repr, names))}. {hint or ''}".rstrip(" "))
    looked = ", ".join(map(str, [*places, rom_folder()]))
    raise GameError(
        f"no ROM of {' or '.join(map(repr, names))} is there; looked in {looked}. "
        "Import your own with: python -m server roms import PATH"
    )


def _plain(name: str) -> bool:
    return bool(name) and "/" not in name and "\\" not in name and not name.startswith(".")


def _rom(name: str, folders: Sequence[Path]) -> Path | None:
    originals = [read_json(folder / "metadata.json").get("original_rom_name") for folder in folders]
    for folder in (*folders, rom_folder() / name):
        for original in originals:
            if isinstance(original, str) and _plain(original) and (folder / original).is_file():
                return folder / original
        for rom in sorted(folder.glob("rom.*")):
            if rom.suffix not in _NO_ROM:
                return rom
    return None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of a game's data, {} if there is none. Raises GameError if it cannot be read."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise GameError(f"{path}: the game's data cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise GameError(f"{path}: the game's data is not a JSON object")
    return value
