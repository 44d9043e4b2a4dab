"""The games on this machine, found on disk alone: stable-retro itself is not imported here."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from minibrains.errors import GameError, suggest
from minibrains.files import bundled_dir, home
from minibrains.packages import PACKAGES, install_command

STATE_SUFFIX = ".state"
_NO_ROM = (".sha", ".delta")
"""Suffixes of files called rom.* that are not ROMs: hashes, and patches for a ROM of one's own."""
_GAMES_TOLD: Final = 20
_LARGEST_JSON: Final = 16 << 20
_LARGEST_HASHES: Final = 1 << 16
"""Number of bytes that are read of a file of hashes, which anybody may have written."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game whose ROM is on this machine."""

    name: str
    rom: Path
    data: Path
    """The first of its folders with a data.json; scenario.json and metadata.json are read from
    there too."""
    folders: tuple[Path, ...]
    """All folders of its name, in the order in which save states are looked for."""

    def states(self) -> list[str]:
        """Return the names of its save states, sorted."""
        return sorted(self.state_files())

    def state_files(self) -> dict[str, Path]:
        """Return its save states by name."""
        states: dict[str, Path] = {}
        for folder in self.folders:
            for path in folder.glob(f"*{STATE_SUFFIX}"):
                if os.path.isfile(path):
                    states.setdefault(path.name.removesuffix(STATE_SUFFIX), path)
        return states

    def default_state(self, players: int) -> str | None:
        """Return the default start state for this number of players, or None for power-on."""
        metadata = read_json(self.data / "metadata.json")
        by_players = metadata.get("default_player_state")
        if isinstance(by_players, list) and players <= len(by_players):
            state = by_players[players - 1]
        else:
            state = metadata.get("default_state")
        return state if isinstance(state, str) else None

    def variables(self) -> list[str]:
        """Return the names of its variables, sorted. Raises GameError if they cannot be read."""
        info = read_json(self.data / "data.json").get("info")
        if not isinstance(info, dict):
            return []
        return sorted(info)

    def state_file(self, state: str) -> Path:
        """Return the file of a save state. Raises GameError, which lists the states that exist."""
        # not by a list of all states: there may be hundreds, and all of them are asked for in turn
        for folder in self.folders:
            path = folder / f"{state}{STATE_SUFFIX}"
            if path.parent == folder and os.path.isfile(path):
                return path
        states = self.states()
        some = ", ".join(states[:10])
        hint = suggest(state, states) or f"It has: {some or 'none'}"
        raise GameError(f"the game {self.name!r} has no state {state!r}. {hint}")

    def buttons(self) -> tuple[str, ...] | None:
        """Return the buttons of its console's pad, from stable-retro's description of its cores;
        None if there is none.
        """
        suffix = self.rom.suffix.removeprefix(".")
        for root in _stable_retro():
            for file in sorted((root / "cores").glob("*.json")):
                for system in read_json(file).values():
                    if suffix in system["ext"]:
                        return tuple(filter(None, system["buttons"]))
        return None


def folders() -> list[Path]:
    """Return the folders that are searched for games, in this order: the user's own, ours,
    stable-retro's.
    """
    result = [own_games(), bundled_dir("games")]
    for root in _stable_retro():
        for kind in ("stable", "contrib", "experimental"):
            result.append(root / "data" / kind)
    return [folder for folder in result if folder.is_dir()]


def _stable_retro() -> list[Path]:
    """Return stable-retro's folders of games, without importing it."""
    spec = importlib.util.find_spec("stable_retro")
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [Path(root) for root in spec.submodule_search_locations]


def own_games() -> Path:
    """Return the folder of the user's own games, and of the user's save states of any game,
    each in a folder of its name.
    """
    return home() / "games"


def rom_folder() -> Path:
    """Return the folder into which `roms import` puts the user's ROMs."""
    return home() / "roms"


def known_games() -> Iterator[tuple[str, Path]]:
    """Yield the name and data folder of every game, whether or not its ROM is there."""
    seen = set()
    for folder in folders():
        for data in _list(folder):
            if _has_data(data) and data.name not in seen:
                seen.add(data.name)
                yield data.name, data


def games_here() -> Iterator[str]:
    """Yield the names of all games whose ROM is on this machine: first the user's own games, then
    ours. Games whose metadata.json cannot be read are left out.
    """
    roots = folders()
    for name, _ in known_games():
        with suppress(GameError):
            if _rom(name, [root / name for root in roots]) is not None:
                yield name


def known_hashes() -> dict[str, str]:
    """Return the games by the SHA-1 of their ROMs."""
    hashes = {}
    for name, data in known_games():
        for line in _read_hashes(data / "rom.sha"):
            hashes[line.lower()] = name
    return hashes


def find_game(names: Sequence[str]) -> Game:
    """Return the first of the games whose ROM is there.

    Raises GameError, which lists the folders that were searched.
    """
    if not any(names):
        raise GameError(f"no game is named. {_what_there_is()}")
    roots = folders()
    unknown = []
    for name in names:
        found = [folder / name for folder in roots if _plain(name) and os.path.isdir(folder / name)]
        data = next(filter(_has_data, found), None)
        if data is None:
            unknown.append(name)
            continue
        rom = _rom(name, found)
        if rom is not None:
            return Game(name, rom, data, tuple(found))
    for name in unknown:
        if _plain(name) and os.path.isdir(own_games() / name):
            raise GameError(
                f"{own_games() / name} is not a game: it has no data.json, "
                "and no game that comes with Minibrains has this name; "
                "expected data.json, scenario.json, metadata.json and the ROM as rom.*"
            )
    if len(unknown) == len(names):
        hint = suggest(names[0], [name for name, _ in known_games()]) or _what_there_is()
        raise GameError(f"there is no game called {' or '.join(map(repr, names))}. {hint}")
    looked = ", ".join(map(str, [*roots, rom_folder()]))
    raise GameError(
        f"no ROM of {' or '.join(map(repr, names))} is there; looked in {looked}. "
        "Import your own with: python -m server roms import PATH"
    )


def _what_there_is() -> str:
    """Return a hint: the games with a ROM here, and the command that imports more."""
    there = list(games_here())
    if not _stable_retro():
        more = (
            "Many games come with a package that is missing: "
            f"{install_command(PACKAGES['stable_retro'])}"
        )
    else:
        more = "Import your own with: python -m server roms import PATH"
    return f"There are ROMs of {', '.join(there[:_GAMES_TOLD]) or 'none'}. {more}"


def _plain(name: str) -> bool:
    return bool(name) and "/" not in name and "\\" not in name and not name.startswith(".")


def _rom(name: str, folders: Sequence[Path]) -> Path | None:
    originals = [read_json(folder / "metadata.json").get("original_rom_name") for folder in folders]
    for folder in (*folders, rom_folder() / name):
        for original in originals:
            if isinstance(original, str) and _plain(original) and os.path.isfile(folder / original):
                return folder / original
        for rom in sorted(folder.glob("rom.*")):
            if rom.suffix not in _NO_ROM and os.path.isfile(rom):
                return rom
    return None


def _has_data(folder: Path) -> bool:
    return os.path.isfile(folder / "data.json")


def _list(folder: Path) -> list[Path]:
    """Return the contents of a folder, sorted; empty if it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _read_hashes(path: Path) -> list[str]:
    """Return the words of a file of hashes; empty if it cannot be read."""
    if not os.path.isfile(path):
        return []
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_HASHES).decode(errors="replace").split()
    except OSError:
        return []


def read_json(path: Path) -> dict[str, Any]:
    """Read a file with a JSON object; {} if there is no such file.

    Raises GameError if it cannot be read.
    """
    if not os.path.isfile(path):
        return {}
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise ValueError(f"it is larger than {_LARGEST_JSON >> 20} MiB")
        value = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise GameError(f"{path} cannot be read: {error}") from None
    except RecursionError:
        raise GameError(f"{path} cannot be read: it is nested too deeply") from None
    if not isinstance(value, dict):
        raise GameError(f"{path} is not a JSON object")
    return value
