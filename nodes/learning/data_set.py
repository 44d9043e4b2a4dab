"""DataSet: a folder of labelled moments of games, one Parquet file for each episode.

Any tool that reads Parquet opens the files, and Hugging Face's `datasets` decodes the pictures:

    load_dataset("parquet", data_files="…/*.parquet")

This module is the only one that knows the format; what writes and what learns goes through DataSet.
"""

from __future__ import annotations

import io
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args, get_type_hints

import numpy as np

from minibrains.errors import DataError, describe_error
from minibrains.files import home, is_plain_name, write_atomic
from minibrains.games.splits import refuse_held_back_start
from minibrains.values import parse_json, parse_value, to_json

FORMAT: Final = 1
"""The version of the format; raised by a change after which older readers would be wrong."""
NONE: Final = -1
"""The number of an action that is missing, in the arrays of EpisodeSamples."""
SUFFIX: Final = ".parquet"
CARD: Final = "README.md"

Outcome = Literal["won", "lost", "drawn", "unfinished", "unknown"]
"""The end of an episode: "unfinished" if the run's limit ended it, "unknown" in a game that does
not define winning."""

_KEY: Final = b"minibrains"
_HUGGING_FACE: Final = b"huggingface"
_ROWS_OF_A_GROUP: Final = 100
"""Hugging Face's advice for pictures: more would be read at once, and its viewer refuses them."""
_LARGEST_SIDE: Final = 4096
"""Largest width or height of a picture in pixels, because a small file can hold a huge one."""
_LARGEST_HEADER: Final = 1 << 20
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_ACTIONS: Final = ("action", "second", "played")
_OLD: Final = 3600.0
"""Seconds after which an unfinished file belongs to a process that was killed."""


class Sample(NamedTuple):
    """One labelled moment of an episode."""

    tick: int
    """The tick of the episode, from 0."""
    picture: bytes
    """A PNG, RGB or grey, of 8 bits."""
    action: int
    """The label: the action that the teacher would take now, an index of the action table."""
    second: int | None
    """The teacher's second best action; None if it names none."""
    played: int | None
    """The action that was taken now; None at a moment between two decisions."""
    actionable: bool | None
    """True if an action would have had an effect now; None: unknown."""
    features: Mapping[str, float]
    """The game's variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeInfo:
    """Everything about an episode except its samples: the metadata of its file."""

    game: str
    rom_sha1: str
    actions: tuple[str, ...]
    """The names of the actions, in the order of the action table."""
    state: str
    """The name of the save state that it began from."""
    state_sha256: str
    """The SHA-256 of that state's file; empty if it began without one."""
    seed: int
    """The seed of the run."""
    episode: int
    """The number of the episode in its run, from 0."""
    noops: int
    """Frames before the first tick in which no button was held."""
    written: Mapping[str, int]
    """The variables that were set at the start, such as a level, with their values."""
    workflow: str
    """The name of the workflow."""
    workflow_sha256: str
    command: str
    """The command that played it; empty: none was given."""
    outcome: Outcome
    score: float | None
    ticks: int
    """The number of ticks played."""
    frame_rate: float | None
    """Ticks a second of the game's own clock."""
    trajectory_sha256: str
    """The console's hash of rewards and variables: two episodes that have the same one are the same
    game twice. Empty if the console has none."""
    features: tuple[str, ...]
    """The names of the game's variables, sorted."""
    samples: int
    """The number of samples, at least 1."""

    @property
    def key(self) -> str:
        """The name that identifies the episode: that of its file, without the suffix."""
        return episode_key(self.workflow_sha256, self.seed, self.episode)


def episode_key(workflow_sha256: str, seed: int, episode: int) -> str:
    """Return the name of an episode: the same workflow, seed and number make the same game."""
    return f"{workflow_sha256[:16]}-{seed}-{episode:05d}"


@dataclass(frozen=True, slots=True)
class EpisodeSamples:
    """The samples of one episode, as columns of the same length n, in the order of their ticks."""

    path: Path
    info: EpisodeInfo
    pictures: Sequence[bytes]
    """PNGs; see `picture`."""
    ticks: np.ndarray
    """int64 [n], rising."""
    actions: np.ndarray
    """int64 [n], from 0: the labels."""
    seconds: np.ndarray
    """int64 [n]; NONE where there is none, as in `played`."""
    played: np.ndarray
    """int64 [n]; NONE between two decisions."""
    actionable: np.ndarray
    """int8 [n]: 1, 0, or NONE where it is unknown."""
    features: np.ndarray
    """float64 [n, features], in the order of `info.features`."""

    def __len__(self) -> int:
        return len(self.pictures)

    def picture(self, row: int) -> np.ndarray:
        """Decode a picture.

        Args:
            row: The number of the sample, from 0.

        Returns:
            uint8 [h, w, 3], or [h, w, 1] if it is grey.

        Raises:
            DataError: It is damaged; names file and row.
        """
        try:
            return decode_picture(self.pictures[row])
        except DataError as error:
            raise DataError(f"{self.path}, row {row}: {error}") from None


class DataSet:
    """A folder of labelled moments of one game, one Parquet file for each episode.

    An episode is written as a whole, under a temporary name that is then changed: whenever a
    process is killed, every file that is there is complete. Several processes may write into one
    folder.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder, which is made when the first episode is written."""
        self.folder = folder

    @classmethod
    def named(cls, name: str) -> DataSet:
        """Return the user's data set of this name: `data/NAME` in $MINIBRAINS_HOME.

        Raises DataError if it cannot be the name of a folder.
        """
        if not is_plain_name(name):
            raise DataError(
                f"{name[:100]!r} cannot be the name of a data set; "
                "expected the name of a folder, without / and not beginning with a dot"
            )
        return cls(home() / "data" / name)

    # -- writing -----------------------------------------------------------------------------------

    def path_of(self, key: str) -> Path:
        """Return the file of an episode, whether or not it is there."""
        return self.folder / f"{key}{SUFFIX}"

    def has(self, key: str) -> bool:
        """Return whether an episode is there already."""
        return self.path_of(key).is_file()

    def write(self, info: EpisodeInfo, samples: Sequence[Sample]) -> Path:
        """Write an episode as a whole, and return its file. One that is there is replaced.

        Raises:
            DataError: The episode is not one that could be read again, it does not belong into this
                data set, or the file cannot be written.
        """
        path = self.path_of(info.key)
        _check_info(path, info)
        self.check_same(info.game, info.rom_sha1, info.actions)
        data = _encode(path, info, samples)
        _columns(path, info, _open(path, data))
        try:
            write_atomic(path, data)
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
        return path

    def check_same(self, game: str, rom_sha1: str, actions: Sequence[str]) -> None:
        """Raise DataError unless episodes of this game with this action table belong here."""
        path = next(iter(self.files()), None)
        if path is None:
            return
        there = _read_info(path)
        other = _difference(there, game, actions)
        if not other and there.rom_sha1 != rom_sha1:
            other = f"was played with the ROM {there.rom_sha1}, expected {rom_sha1}"
        if other:
            raise DataError(
                f"{path} {other}; a data set has one game and one action table, "
                "so write into one of another name"
            )

    def remove_leftovers(self) -> None:
        """Remove unfinished files of processes that were killed more than an hour ago.

        Raises DataError if one cannot be removed.
        """
        for path in self.folder.glob(f".*{SUFFIX}.*"):
            try:
                if time.time() - path.stat().st_mtime > _OLD:
                    path.unlink(missing_ok=True)
            except FileNotFoundError:
                continue  # its process has finished it
            except OSError as error:
                raise DataError(f"{path} cannot be removed: {error.strerror or error}") from None

    # -- reading -----------------------------------------------------------------------------------

    def files(self) -> list[Path]:
        """Return the files of all episodes, sorted by name; empty if the folder is not there."""
        return sorted(path for path in self.folder.glob(f"*{SUFFIX}") if path.name[0] != ".")

    def episodes(
        self, game: str | None = None, actions: Sequence[str] | None = None
    ) -> list[EpisodeInfo]:
        """Read the metadata of all episodes, in the order of `files`.

        Args:
            game: The game that they must be of; None: that of the first.
            actions: The action table that they must have; None: that of the first.

        Returns:
            The episodes; at least one.

        Raises:
            DataError: There is no episode; or one is damaged, of another game, has another action
                table, or began from a state that is held back; names the file.
        """
        files = self.files()
        if not files:
            raise DataError(
                f"{self.folder} has no episodes; expected *{SUFFIX}, "
                "as a workflow with a SampleWriter collects them"
            )
        episodes: list[EpisodeInfo] = []
        for path in files:
            info = _read_info(path)
            game = game or info.game
            actions = actions or info.actions
            other = _difference(info, game, actions)
            if other:
                raise DataError(f"{path} {other}; take the file out, or use another data set")
            if info.key != path.name.removesuffix(SUFFIX):
                raise DataError(
                    f"{path} is the episode {info.key}; expected that name, "
                    "so that no episode is there twice; rename the file or take it out"
                )
            episodes.append(info)
        return episodes

    def read(self, info: EpisodeInfo) -> EpisodeSamples:
        """Read the samples of an episode; pictures are decoded later, by `EpisodeSamples.picture`.

        Raises:
            DataError: The file is damaged, or is not this episode any more; names file and row.
        """
        path = self.path_of(info.key)
        file = _open(path)
        if _info_of(path, file) != info:
            raise DataError(f"{path} was replaced while it was being used; begin again")
        return _columns(path, info, file)

    def samples(
        self, game: str | None = None, actions: Sequence[str] | None = None
    ) -> Iterator[tuple[EpisodeInfo, Sample]]:
        """Yield every sample with its episode, in order. See `episodes`.

        Raises:
            DataError: As `episodes` and `read`, or a picture cannot be decoded; names file and row.
        """
        for info in self.episodes(game, actions):
            columns = self.read(info)
            for row in range(len(columns)):
                columns.picture(row)
                yield info, _sample(columns, row)

    # -- the card ----------------------------------------------------------------------------------

    def card(self) -> str:
        """Describe the data set in Markdown: counts, hours of play, actions, states.

        The first lines tell Hugging Face where the data is. Raises DataError, as `episodes`.
        """
        episodes = self.episodes()
        labels: Counter[int] = Counter()
        played: Counter[int] = Counter()
        for info in episodes:
            columns = self.read(info)
            labels.update(columns.actions.tolist())
            played.update(columns.played.tolist())
        return _card(self.folder.name, episodes, labels, played)

    def write_card(self) -> Path:
        """Write the card as README.md into the folder, and return that file. Raises DataError."""
        path = self.folder / CARD
        text = self.card()
        try:
            write_atomic(path, text)
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
        return path


def encode_picture(picture: np.ndarray) -> bytes:
    """Encode a picture as PNG.

    Args:
        picture: uint8 [h, w, 3], or [h, w, 1] for grey.
    """
    from PIL import Image

    if picture.shape[2] == 1:
        picture = picture[:, :, 0]
    buffer = io.BytesIO()
    # more compression takes several times as long, and saves a tenth
    Image.fromarray(np.ascontiguousarray(picture)).save(buffer, "png", compress_level=1)
    return buffer.getvalue()


def decode_picture(png: bytes) -> np.ndarray:
    """Decode a PNG to uint8 [h, w, 3], or [h, w, 1] if it is grey.

    Raises DataError if it is damaged, or not of a kind that `encode_picture` makes.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
            if max(image.size) > _LARGEST_SIDE:
                found = f"{image.width} by {image.height} pixels"
                raise DataError(
                    f"the picture has {found}; expected at most {_LARGEST_SIDE} by {_LARGEST_SIDE}"
                )
            if image.mode not in ("RGB", "L"):
                raise DataError(f"the picture's mode is {image.mode}; expected RGB, or L for grey")
            # the checksums, which decoding does not look at; afterwards it has to be opened again
            image.verify()
        with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
            pixels = np.asarray(image)
    except DataError:
        raise
    except Exception as error:
        # any error: Pillow raises many kinds for damaged files
        raise DataError(
            f"the picture is damaged: {describe_error(error)}; expected a PNG; "
            "take the file out, or collect it again"
        ) from None
    if pixels.ndim == 2:
        return pixels[:, :, None]
    return pixels


# -- the file


def load_arrow() -> Any:
    """Import and return pyarrow, with its module for Parquet. Raises DataError if it is missing."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise DataError(
            "a data set needs the Python package pyarrow, which is missing; "
            "install it with: pip install 'minibrains[learn]'"
        ) from None
    return pyarrow


def _schema(info: EpisodeInfo) -> Any:
    """Return the Arrow schema of an episode's file, with its metadata."""
    arrow = load_arrow()
    picture = arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])
    features = arrow.struct([(name, arrow.float64()) for name in info.features])
    columns = [
        ("picture", picture),
        ("action", arrow.int64()),
        ("second", arrow.int64()),
        ("played", arrow.int64()),
        ("tick", arrow.int64()),
        ("features", features),
        ("actionable", arrow.bool_()),
        ("outcome", arrow.string()),
        ("state", arrow.string()),
        ("episode", arrow.string()),
    ]
    about: dict[str, Any] = {"format": FORMAT}
    for field in fields(EpisodeInfo):
        about[field.name] = to_json(getattr(info, field.name))
    metadata = {
        _KEY: json.dumps(about).encode(),
        _HUGGING_FACE: json.dumps({"info": {"features": _hugging_face(info)}}).encode(),
    }
    return arrow.schema(columns, metadata=metadata)


def _hugging_face(info: EpisodeInfo) -> dict[str, Any]:
    """Return the types of the columns in the form of Hugging Face's `datasets.Features`."""
    number = {"dtype": "float64", "_type": "Value"}
    text = {"dtype": "string", "_type": "Value"}
    label = {"names": list(info.actions), "_type": "ClassLabel"}
    return {
        "picture": {"_type": "Image"},
        "action": label,
        "second": label,
        "played": label,
        "tick": {"dtype": "int64", "_type": "Value"},
        "features": dict.fromkeys(info.features, number),
        "actionable": {"dtype": "bool", "_type": "Value"},
        "outcome": text,
        "state": text,
        "episode": text,
    }


def _encode(path: Path, info: EpisodeInfo, samples: Sequence[Sample]) -> bytes:
    """Return the file of an episode. Raises DataError if the samples do not fit the info."""
    arrow = load_arrow()
    if len(samples) != info.samples or not samples:
        raise DataError(
            f"{path}: the episode has {len(samples)} samples; "
            f"expected {info.samples}, and at least one"
        )
    schema = _schema(info)
    pictures = []
    features = []
    for row, sample in enumerate(samples):
        if tuple(sorted(sample.features)) != info.features:
            raise DataError(
                f"{path}, row {row}: its features are {', '.join(sorted(sample.features))}; "
                f"expected {', '.join(info.features)}"
            )
        pictures.append({"bytes": sample.picture, "path": f"{info.key}-{sample.tick:06d}.png"})
        features.append(sample.features)
    columns = {
        "picture": pictures,
        "action": [sample.action for sample in samples],
        "second": [sample.second for sample in samples],
        "played": [sample.played for sample in samples],
        "tick": [sample.tick for sample in samples],
        "features": features,
        "actionable": [sample.actionable for sample in samples],
        "outcome": [info.outcome] * len(samples),
        "state": [info.state] * len(samples),
        "episode": [info.key] * len(samples),
    }
    try:
        table = arrow.table(columns, schema=schema)
    except (arrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{path}: the samples cannot be written: {describe_error(error)}") from None
    sink = arrow.BufferOutputStream()
    arrow.parquet.write_table(
        table,
        sink,
        compression="zstd",
        row_group_size=_ROWS_OF_A_GROUP,
        write_page_checksum=True,
    )
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _open(path: Path, data: bytes | None = None) -> Any:
    """Open a file, or its contents. Raises DataError."""
    arrow = load_arrow()
    try:
        source = arrow.BufferReader(data if data is not None else path.read_bytes())
        return arrow.parquet.ParquetFile(source, page_checksum_verification=True)
    except OSError as error:
        reason = error.strerror or error
    except Exception as error:
        # any error: a damaged file makes pyarrow raise many kinds
        reason = describe_error(error)
    raise _damaged(path, f"cannot be read: {reason}")


def _damaged(path: Path, what: str) -> DataError:
    return DataError(
        f"{path} {what}; expected the Parquet file of an episode; "
        "take the file out, or collect it again"
    )


def _read_info(path: Path) -> EpisodeInfo:
    """Read the metadata of an episode, which must not be of a held-back state. Raises DataError."""
    info = _info_of(path, _open(path))
    _check_info(path, info)
    return info


def _info_of(path: Path, file: Any) -> EpisodeInfo:
    try:
        schema = file.schema_arrow
        header = (schema.metadata or {}).get(_KEY)
    except Exception as error:
        raise _damaged(path, f"cannot be read: {describe_error(error)}") from None
    if header is None or len(header) > _LARGEST_HEADER:
        raise _damaged(path, "has no metadata of Minibrains")
    try:
        about = parse_json(header)
        if not isinstance(about, dict):
            raise ValueError("it is not an object")
        if about.get("format") != FORMAT:
            raise ValueError(f'its "format" is {about.get("format")!r}, expected {FORMAT}')
        info = EpisodeInfo(**_values(about))
    except ValueError as error:
        raise _damaged(path, f"has metadata that cannot be read: {error}") from None
    if not schema.equals(_schema(info).remove_metadata()):
        raise _damaged(path, f"has other columns than its metadata says: {_columns_of(schema)}")
    return info


def _values(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an EpisodeInfo from its JSON. Raises ValueError."""
    values: dict[str, Any] = {}
    for name, annotation in get_type_hints(EpisodeInfo).items():
        if name not in about:
            raise ValueError(f"{name!r} is missing")
        try:
            values[name] = parse_value(annotation, about[name])
        except ValueError as error:
            raise ValueError(f"{name!r}: {error}") from None
    if values["outcome"] not in get_args(Outcome):
        raise ValueError(f"'outcome' is {values['outcome']!r}")
    if len(set(values["features"])) != len(values["features"]):
        raise ValueError("'features' names one twice")
    return values


def _columns_of(schema: Any) -> str:
    return ", ".join(f"{field.name} {field.type}"[:100] for field in schema)[:1000]


def _check_info(path: Path, info: EpisodeInfo) -> None:
    """Raise DataError if an episode began from a state that is held back."""
    try:
        refuse_held_back_start(info.game, info.state, info.state_sha256, info.written)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path} must not be learned from: {describe_error(error)}") from None


def _difference(info: EpisodeInfo, game: str, actions: Sequence[str]) -> str:
    """Return how an episode differs from what is expected, in words; empty if it does not."""
    if info.game != game:
        return f"is of the game {info.game!r}, expected {game!r}"
    differences: list[str] = []
    for index, (found, expected) in enumerate(zip(info.actions, actions, strict=False)):
        if found != expected:
            differences.append(f"action {index} is {found!r}, expected {expected!r}")
    if len(info.actions) != len(actions):
        differences.append(f"it has {len(info.actions)} actions, expected {len(actions)}")
    if not differences:
        return ""
    shown = ", ".join(differences[:5])
    if len(differences) > 5:
        shown += f", and {len(differences) - 5} more differences"
    return f"has another action table: {shown}"


def _columns(path: Path, info: EpisodeInfo, file: Any) -> EpisodeSamples:
    """Read and check the columns of an episode. Raises DataError."""
    try:
        table = file.read()
        table.validate(full=True)
        numbers = {name: table[name].to_pylist() for name in ("tick", "actionable", *_ACTIONS)}
        texts = {name: table[name].to_pylist() for name in ("outcome", "state", "episode")}
        pictures = table["picture"].to_pylist()
        features = table["features"].to_pylist()
    except Exception as error:
        # any error: a damaged file makes pyarrow raise many kinds
        raise _damaged(path, f"cannot be read: {describe_error(error)}") from None
    if len(pictures) != info.samples or not pictures:
        raise _damaged(path, f"has {len(pictures)} rows, but its metadata says {info.samples}")
    expected = {"outcome": info.outcome, "state": info.state, "episode": info.key}
    for row, picture in enumerate(pictures):
        problem = _row_problem(info, row, numbers, picture, features[row])
        for name, value in expected.items():
            if texts[name][row] != value:
                problem = f"{name} is {texts[name][row]!r}, but its metadata says {value!r}"
        if problem:
            raise DataError(f"{path}, row {row}: {problem}; take the file out, or collect it again")
    for row, (before, after) in enumerate(pairwise(numbers["tick"])):
        if before >= after:
            raise DataError(
                f"{path}, row {row + 1}: the tick {after} comes after {before}; "
                "expected rising ticks; take the file out, or collect it again"
            )
    matrix = np.empty((len(features), len(info.features)), np.float64)
    for column, name in enumerate(info.features):
        matrix[:, column] = [moment[name] for moment in features]
    return EpisodeSamples(
        path,
        info,
        [picture["bytes"] for picture in pictures],
        np.array(numbers["tick"], np.int64),
        np.array(numbers["action"], np.int64),
        _with_none(numbers["second"], np.int64),
        _with_none(numbers["played"], np.int64),
        _with_none(numbers["actionable"], np.int8),
        matrix,
    )


def _row_problem(
    info: EpisodeInfo,
    row: int,
    numbers: Mapping[str, Sequence[Any]],
    picture: Mapping[str, Any] | None,
    features: Mapping[str, float | None] | None,
) -> str:
    """Return what is wrong with a row, in words; empty if nothing is."""
    if picture is None or not picture["bytes"]:
        return "the picture is missing; expected a PNG"
    if not picture["bytes"].startswith(_PNG):
        return "the picture is damaged; expected a PNG"
    for name in _ACTIONS:
        action = numbers[name][row]
        if action is None and name != "action":
            continue
        if action is None or not 0 <= action < len(info.actions):
            return f"{name} is {action}, expected 0 to {len(info.actions) - 1}"
    tick = numbers["tick"][row]
    if tick is None or tick < 0:
        return f"tick is {tick}, expected a number from 0"
    if features is None:
        return "the features are missing"
    for name, value in features.items():
        if value is None or not np.isfinite(value):
            return f"the feature {name!r} is {value}, expected a number"
    return ""


def _with_none(values: Sequence[int | None], dtype: Any) -> np.ndarray:
    numbers = np.full(len(values), NONE, dtype)
    for row, value in enumerate(values):
        if value is not None:
            numbers[row] = value
    return numbers


def _sample(columns: EpisodeSamples, row: int) -> Sample:
    """Return one row of an episode."""
    second, played = int(columns.seconds[row]), int(columns.played[row])
    actionable = int(columns.actionable[row])
    return Sample(
        tick=int(columns.ticks[row]),
        picture=columns.pictures[row],
        action=int(columns.actions[row]),
        second=None if second == NONE else second,
        played=None if played == NONE else played,
        actionable=None if actionable == NONE else bool(actionable),
        features=dict(zip(columns.info.features, columns.features[row].tolist(), strict=True)),
    )


# -- the card


def _card(
    name: str, episodes: Sequence[EpisodeInfo], labels: Counter[int], played: Counter[int]
) -> str:
    first = episodes[0]
    samples = sum(info.samples for info in episodes)
    ticks = sum(info.ticks for info in episodes)
    seconds = 0.0
    for info in episodes:
        if info.frame_rate:
            seconds += info.ticks / info.frame_rate
    outcomes = Counter(info.outcome for info in episodes)
    distinct = len({info.trajectory_sha256 or info.key for info in episodes})
    lines = [
        "---",
        f"pretty_name: {json.dumps(name)}",
        "configs:",
        "- config_name: default",
        f'  data_files: "*{SUFFIX}"',
        "---",
        "",
        f"# {name}",
        "",
        f"Labelled moments of {first.game} (ROM {first.rom_sha1}), collected by Minibrains.",
        "",
        "| | |",
        "|---|---|",
        f"| episodes | {len(episodes)}, {distinct} distinct |",
        f"| samples | {samples} |",
        f"| ticks | {ticks} |",
        f"| hours of play | {seconds / 3600:.2f} |",
    ]
    for outcome in get_args(Outcome):
        if outcomes[outcome]:
            lines.append(f"| {outcome} | {outcomes[outcome]} |")
    lines += [
        "",
        "## Actions",
        "",
        "| | action | labels | share | played |",
        "|---|---|---|---|---|",
    ]
    for index, action in enumerate(first.actions):
        if labels[index] or played[index]:
            share = f"{100 * labels[index] / samples:.1f} %"
            lines.append(f"| {index} | {action} | {labels[index]} | {share} | {played[index]} |")
    lines += ["", "## States", "", "| state | episodes | samples | won |", "|---|---|---|---|"]
    for state in sorted({info.state for info in episodes}):
        those = [info for info in episodes if info.state == state]
        won = sum(info.outcome == "won" for info in those)
        count = sum(info.samples for info in those)
        lines.append(f"| {state} | {len(those)} | {count} | {won} |")
    lines += [
        "",
        "## Workflows",
        "",
        "| workflow | SHA-256 | seed | episodes |",
        "|---|---|---|---|",
    ]
    workflows = Counter((info.workflow, info.workflow_sha256, info.seed) for info in episodes)
    for (workflow, sha256, seed), count in sorted(workflows.items()):
        lines.append(f"| {workflow} | {sha256[:16]} | {seed} | {count} |")
    return "\n".join(lines) + "\n"
