"""The file of one episode of a data set: labelled moments of a game, as Parquet.

Any tool that reads Parquet opens the files, and Hugging Face's `datasets` decodes the pictures:

    load_dataset("parquet", data_files="…/*.parquet")

This module is the only one that knows the format; what writes and what learns goes through DataSet.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args, get_type_hints

import numpy as np

from minibrains.errors import DataError, describe_error
from minibrains.games.splits import refuse_held_back_start
from minibrains.packages import install_extra_command
from minibrains.values import parse_json, parse_value, to_json

FORMAT: Final = 1
"""The version of the format; raised by a change after which older readers would be wrong."""
NONE: Final = -1
"""The number of an action that is missing, in the arrays of EpisodeLabels."""
SUFFIX: Final = ".parquet"

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
_REMEDY: Final = "remove the file, and collect it again if you need it"
"""What to do about a damaged file."""
_NUMBERS: Final = ("tick", "actionable", *_ACTIONS)
_ADDED: Final = frozenset({"corrections_sha256", "prompted", "probabilities"})
"""Fields of EpisodeInfo that older files lack."""
_TEXTS: Final = ("outcome", "state", "episode")
_PROMPT: Final = "prompt"
"""The column of prompts, which only some files have."""
_PROBABILITIES: Final = "probabilities"
"""The column of the teacher's probabilities, which only some files have."""


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
    prompt: str | None = None
    """What a model would be asked now; None if nothing was linked that says it."""
    probabilities: tuple[float, ...] | None = None
    """The teacher's probability of each action of the table, 0 to 1; None if it names none."""


class Extras(NamedTuple):
    """Which of the columns there are that only some files have."""

    prompted: bool
    probabilities: bool


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
    corrections_sha256: str = ""
    """A SHA-256 of what people have corrected and deleted; empty: nothing. So an episode that was
    changed meanwhile is not taken for the same one."""
    prompted: bool = False
    """Whether its samples have prompts."""
    probabilities: bool = False
    """Whether its samples have the teacher's probabilities."""

    @property
    def key(self) -> str:
        """The name that identifies the episode: that of its file, without the suffix."""
        return episode_key(self.workflow_sha256, self.seed, self.episode)

    @property
    def extras(self) -> Extras:
        """Which of the columns it has that only some files have."""
        return Extras(self.prompted, self.probabilities)


def episode_key(workflow_sha256: str, seed: int, episode: int) -> str:
    """Return the name of an episode: the same workflow, seed and number make the same game."""
    return f"{workflow_sha256[:16]}-{seed}-{episode:05d}"


@dataclass(frozen=True, slots=True)
class EpisodeLabels:
    """The samples of one episode without pictures and variables, which take longer to read, as
    columns of the same length n, in the order of their ticks.
    """

    path: Path
    info: EpisodeInfo
    ticks: np.ndarray
    """int64 [n], rising."""
    actions: np.ndarray
    """int64 [n], from 0: the labels."""
    second_best: np.ndarray
    """int64 [n]; NONE where there is none, as in `played`."""
    played: np.ndarray
    """int64 [n]; NONE between two decisions."""
    actionable: np.ndarray
    """int8 [n]: 1, 0, or NONE where it is unknown."""

    def __len__(self) -> int:
        return len(self.ticks)


@dataclass(frozen=True, slots=True)
class EpisodeSamples(EpisodeLabels):
    """The samples of one episode, with everything."""

    pictures: Sequence[bytes]
    """PNGs; see `picture`."""
    features: np.ndarray
    """float64 [n, features], in the order of `info.features`."""
    prompts: Sequence[str]
    """What a model would be asked; empty if the samples have no prompts."""
    probabilities: np.ndarray
    """float32 [n, actions]: the teacher's; [n, 0] if the samples have none."""

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

    def sample(self, row: int) -> Sample:
        """Return one row, from 0."""
        second, played = int(self.second_best[row]), int(self.played[row])
        actionable = int(self.actionable[row])
        return Sample(
            tick=int(self.ticks[row]),
            picture=self.pictures[row],
            action=int(self.actions[row]),
            second=None if second == NONE else second,
            played=None if played == NONE else played,
            actionable=None if actionable == NONE else bool(actionable),
            features=dict(zip(self.info.features, self.features[row].tolist(), strict=True)),
            prompt=self.prompts[row] if self.prompts else None,
            probabilities=tuple(self.probabilities[row].tolist()) or None,
        )


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
            f"the picture is damaged: {describe_error(error)}; expected a PNG; {_REMEDY}"
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
            f"install it with: {install_extra_command('learn')}"
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
    if info.prompted:
        columns.append((_PROMPT, arrow.string()))
    if info.probabilities:
        columns.append((_PROBABILITIES, arrow.list_(arrow.float32(), len(info.actions))))
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
    columns = {
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
    if info.prompted:
        columns[_PROMPT] = text
    if info.probabilities:
        probability = {"dtype": "float32", "_type": "Value"}
        columns[_PROBABILITIES] = {
            "feature": probability, "length": len(info.actions), "_type": "Sequence"
        }  # fmt: skip
    return columns


def encode_episode(path: Path, info: EpisodeInfo, samples: Sequence[Sample]) -> bytes:
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
        if (sample.prompt is not None) != info.prompted:
            raise DataError(
                f"{path}, row {row}: the sample {_prompts(not info.prompted)}, unlike others; "
                "expected a prompt in all samples, or in none"
            )
        if (sample.probabilities is not None) != info.probabilities:
            raise DataError(
                f"{path}, row {row}: the sample {_probabilities(not info.probabilities)}, unlike "
                "others; expected probabilities in all samples, or in none"
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
    if info.prompted:
        columns[_PROMPT] = [sample.prompt for sample in samples]
    if info.probabilities:
        columns[_PROBABILITIES] = [sample.probabilities for sample in samples]
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


def read_info(path: Path) -> EpisodeInfo:
    """Read the metadata of an episode. Raises DataError if it is damaged."""
    with _opened(path) as file:
        return _info_of(path, file)


def read_labels(path: Path) -> EpisodeLabels:
    """Read an episode without pictures and variables. Raises DataError if it is damaged."""
    with _opened(path) as file:
        info = _info_of(path, file)
        return _labels(path, info, _table(path, file, _NUMBERS))


def read_samples(path: Path) -> EpisodeSamples:
    """Read an episode; pictures are decoded later. Raises DataError if it is damaged."""
    with _opened(path) as file:
        info = _info_of(path, file)
        return _samples(path, info, _table(path, file))


def check_encoded(path: Path, data: bytes) -> None:
    """Raise DataError unless the contents of a file can be read again."""
    file = _parquet(path, load_arrow().BufferReader(data))
    _samples(path, _info_of(path, file), _table(path, file))


def read_sample(path: Path, row: int) -> Sample:
    """Read one sample, from row 0 on, without reading the others.

    Raises DataError if the file is damaged, or has no such row.
    """
    with _opened(path) as file:
        info = _info_of(path, file)
        return _samples(path, replace(info, samples=1), _row(path, file, row)).sample(0)


def read_picture(path: Path, row: int) -> bytes:
    """Read the picture of one sample, a PNG, without reading anything else.

    Raises DataError if the file is damaged, or has no such row.
    """
    with _opened(path) as file:
        (picture,) = _lists(path, _row(path, file, row, ("picture",)), ("picture",))["picture"]
    _refuse_row(path, row, _picture_problem(picture))
    png: bytes = picture["bytes"]
    return png


def _row(path: Path, file: Any, row: int, columns: Sequence[str] | None = None) -> Any:
    """Read some columns of one row, or all. Raises DataError."""
    group, place = 0, row
    while group < file.num_row_groups and place >= file.metadata.row_group(group).num_rows:
        place -= file.metadata.row_group(group).num_rows
        group += 1
    if group == file.num_row_groups:
        raise _damaged(path, f"has no row {row}")
    return _table(path, file, columns, group).slice(place, 1)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file, of which only what is asked for is read. Raises DataError."""
    load_arrow()  # its absence is another error
    try:
        stream = path.open("rb")
    except OSError as error:
        raise _damaged(path, f"cannot be read: {error.strerror or error}") from None
    with stream:
        yield _parquet(path, stream)


def _parquet(path: Path, source: Any) -> Any:
    """Return what a stream contains. Raises DataError."""
    try:
        return load_arrow().parquet.ParquetFile(source, page_checksum_verification=True)
    except Exception as error:
        # any error: a damaged file makes pyarrow raise many kinds
        raise _damaged(path, f"cannot be read: {describe_error(error)}") from None


def _table(
    path: Path, file: Any, columns: Sequence[str] | None = None, group: int | None = None
) -> Any:
    """Read some columns, or all, of a group of rows, or of all. Raises DataError.

    Without threads of Arrow: one that still has what Python has read when Python ends aborts the
    process.
    """
    names = None if columns is None else list(columns)
    try:
        if group is None:
            table = file.read(columns=names, use_threads=False)
        else:
            table = file.read_row_group(group, columns=names, use_threads=False)
        table.validate(full=True)
    except Exception as error:
        # any error: a damaged file makes pyarrow raise many kinds
        raise _damaged(path, f"cannot be read: {describe_error(error)}") from None
    return table


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"{path} {what}; expected the Parquet file of an episode; {_REMEDY}")


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
        if name not in about and name in _ADDED:
            continue
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


def check_start(path: Path, info: EpisodeInfo) -> None:
    """Raise DataError if an episode began from a state that is held back."""
    try:
        refuse_held_back_start(info.game, info.state, info.state_sha256, info.written)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path} must not be learned from: {describe_error(error)}") from None


def difference(
    info: EpisodeInfo, game: str, actions: Sequence[str], extras: Extras | None = None
) -> str:
    """Return how an episode differs from what is expected, in words; empty if it does not.

    Args:
        info: The metadata of the episode.
        game: The game.
        actions: The action table.
        extras: The columns that only some files have; None: any are expected.
    """
    if info.game != game:
        return f"is of the game {info.game!r}, expected {game!r}"
    if extras is not None and extras.prompted != info.prompted:
        return f"{_prompts(info.prompted)}, unlike the others"
    if extras is not None and extras.probabilities != info.probabilities:
        return f"{_probabilities(info.probabilities)}, unlike the others"
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


def _prompts(prompted: bool) -> str:
    return "has a prompt" if prompted else "has no prompt"


def _probabilities(there: bool) -> str:
    return "has probabilities" if there else "has no probabilities"


def _labels(path: Path, info: EpisodeInfo, table: Any) -> EpisodeLabels:
    """Check the columns of numbers. Raises DataError."""
    numbers = _lists(path, table, _NUMBERS)
    ticks = numbers["tick"]
    if len(ticks) != info.samples or not ticks:
        raise _damaged(path, f"has {len(ticks)} rows, but its metadata says {info.samples}")
    for row in range(len(ticks)):
        _refuse_row(path, row, _number_problem(info, row, numbers))
    for row, (before, after) in enumerate(pairwise(ticks)):
        if before >= after:
            raise DataError(
                f"{path}, row {row + 1}: the tick {after} comes after {before}; "
                f"expected rising ticks; {_REMEDY}"
            )
    return EpisodeLabels(
        path,
        info,
        np.array(ticks, np.int64),
        np.array(numbers["action"], np.int64),
        _with_none(numbers["second"], np.int64),
        _with_none(numbers["played"], np.int64),
        _with_none(numbers["actionable"], np.int8),
    )


def _samples(path: Path, info: EpisodeInfo, table: Any) -> EpisodeSamples:
    """Check all columns. Raises DataError."""
    labels = _labels(path, info, table)
    texts = _lists(path, table, _TEXTS)
    rest = _lists(path, table, ("picture", "features"))
    pictures, features = rest["picture"], rest["features"]
    expected = {"outcome": info.outcome, "state": info.state, "episode": info.key}
    for row, picture in enumerate(pictures):
        _refuse_row(path, row, _moment_problem(picture, features[row]))
        for name, value in expected.items():
            if texts[name][row] != value:
                problem = f"{name} is {texts[name][row]!r}, but its metadata says {value!r}"
                _refuse_row(path, row, problem)
    matrix = np.empty((len(features), len(info.features)), np.float64)
    for column, name in enumerate(info.features):
        matrix[:, column] = [moment[name] for moment in features]
    encoded = [picture["bytes"] for picture in pictures]
    prompts: list[str] = []
    if info.prompted:
        prompts = _lists(path, table, (_PROMPT,))[_PROMPT]
    for row, prompt in enumerate(prompts):
        _refuse_row(path, row, "" if prompt else "the prompt is missing or empty")
    probabilities = np.empty((len(pictures), 0), np.float32)
    if info.probabilities:
        rows = _lists(path, table, (_PROBABILITIES,))[_PROBABILITIES]
        for row, found in enumerate(rows):
            _refuse_row(path, row, _probability_problem(found))
        probabilities = np.array(rows, np.float32)
    return EpisodeSamples(
        path,
        info,
        labels.ticks,
        labels.actions,
        labels.second_best,
        labels.played,
        labels.actionable,
        encoded,
        matrix,
        prompts,
        probabilities,
    )


def _lists(path: Path, table: Any, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Return columns as lists, by name. Raises DataError."""
    try:
        return {name: table[name].to_pylist() for name in columns}
    except Exception as error:
        # any error: a damaged file makes pyarrow raise many kinds
        raise _damaged(path, f"cannot be read: {describe_error(error)}") from None


def _refuse_row(path: Path, row: int, problem: str) -> None:
    """Raise DataError if something is wrong with a row."""
    if problem:
        raise DataError(f"{path}, row {row}: {problem}; {_REMEDY}")


def _number_problem(info: EpisodeInfo, row: int, numbers: Mapping[str, Sequence[Any]]) -> str:
    """Return what is wrong with the numbers of a row, in words; empty if nothing is."""
    for name in _ACTIONS:
        action = numbers[name][row]
        if action is None and name != "action":
            continue
        if action is None or not 0 <= action < len(info.actions):
            return f"{name} is {action}, expected 0 to {len(info.actions) - 1}"
    tick = numbers["tick"][row]
    if tick is None or tick < 0:
        return f"tick is {tick}, expected a number from 0"
    return ""


def _probability_problem(probabilities: Sequence[float | None] | None) -> str:
    """Return what is wrong with the probabilities of a row, in words; empty if nothing is."""
    if probabilities is None:
        return "the probabilities are missing; expected one of each action"
    found = np.array(probabilities, np.float64)  # None becomes NaN
    if found.min() < 0:
        return f"a probability is {found.min():.3g}, expected 0 to 1"
    if not 0.999 < found.sum() < 1.001:
        return f"the probabilities have the sum {found.sum():.6g}, expected 1"
    return ""


def _moment_problem(
    picture: Mapping[str, Any] | None, features: Mapping[str, float | None] | None
) -> str:
    """Return what is wrong with a picture or variables, in words; empty if nothing is."""
    problem = _picture_problem(picture)
    if problem:
        return problem
    if features is None:
        return "the features are missing"
    for name, value in features.items():
        if value is None or not np.isfinite(value):
            return f"the feature {name!r} is {value}, expected a number"
    return ""


def _picture_problem(picture: Mapping[str, Any] | None) -> str:
    """Return what is wrong with a picture, in words; empty if nothing is."""
    if picture is None or not picture["bytes"]:
        return "the picture is missing; expected a PNG"
    if not picture["bytes"].startswith(_PNG):
        return "the picture is damaged; expected a PNG"
    return ""


def _with_none(values: Sequence[int | None], dtype: Any) -> np.ndarray:
    numbers = np.full(len(values), NONE, dtype)
    for row, value in enumerate(values):
        if value is not None:
            numbers[row] = value
    return numbers
