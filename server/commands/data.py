"""The command `data`: the user's data sets, and how often a brain agrees with their labels."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minibrains.brain_file import read_header
from minibrains.errors import DataError, MinibrainsError
from minibrains.files import home
from minibrains.graph.catalog import find_brain_file
from nodes.training.asked_brains import Answers, load_asked, questions_of, refusal
from nodes.training.data_set import DataSet
from nodes.training.episode_file import read_samples
from nodes.training.sample_table import SampleFilter, SampleTable
from server.cli import DONE
from server.terminal import printable, tell


def main(arguments: argparse.Namespace) -> int:
    """Print the data sets, or what is in one of them."""
    if arguments.name is None:
        if arguments.brain is not None:
            raise MinibrainsError("--brain needs the name of the data set that it is asked about")
        listed = list_data()
        text = "\n".join(map(_line, listed)) or f"no data sets in {home() / 'data'}"
        print(json.dumps(listed) if arguments.json else printable(text))
        return DONE
    data = DataSet.named(arguments.name)
    answers: dict[str, Answers] = {}
    if arguments.brain is not None:
        answers = _ask(data, arguments.brain, arguments.question)
    found = describe_data(data, SampleTable(data, answers))
    print(json.dumps(found) if arguments.json else printable("\n".join(describe(found))))
    return DONE


def list_data() -> list[dict[str, Any]]:
    """Return name, counts and fault of each data set, sorted by name."""
    found: list[dict[str, Any]] = []
    for folder in sorted((home() / "data").glob("[!.]*/")):
        entry = {"name": folder.name, "game": None, "episodes": 0, "samples": 0, "fault": None}
        try:
            labels = DataSet(folder).labels()
        except DataError as error:
            entry["fault"] = str(error)
        else:
            entry["game"] = labels[0].info.game
            entry["episodes"], entry["samples"] = len(labels), sum(map(len, labels))
        found.append(entry)
    return found


def describe_data(data: DataSet, table: SampleTable) -> dict[str, Any]:
    """Return the counts of a data set, in all and by label, with those of the answers."""
    kept = table.select(SampleFilter())
    asked, agreed = table.agreement()
    labels = Counter(table.labels[kept].tolist())
    right = Counter(table.labels[table.select(SampleFilter(answer="agrees"))].tolist())
    wrong = Counter(table.labels[table.select(SampleFilter(answer="differs"))].tolist())
    mistakes: dict[int, str] = {}
    for label, answer, _ in table.confusions():
        mistakes.setdefault(label, table.actions[answer])
    rows: list[dict[str, Any]] = []
    for action, name in enumerate(table.actions):
        if labels[action]:
            row = {"label": name, "samples": labels[action], "asked": right[action] + wrong[action]}
            row |= {"agreed": right[action], "commonest_mistake": mistakes.get(action)}
            rows.append(row)
    return {
        "name": data.folder.name,
        "folder": str(data.folder),
        "game": table.infos[0].game,
        "episodes": len(data.files()),
        "samples": len(kept),
        "corrected": len(table.select(SampleFilter(kept="corrected"))),
        "deleted": len(table.select(SampleFilter(kept="deleted"))),
        "asked": asked,
        "agreed": agreed,
        "labels": rows,
    }


def describe(found: dict[str, Any]) -> Iterator[str]:
    """Yield the counts of a data set for people, line by line."""
    yield f"{found['folder']}: {found['game']}"
    yield f"{found['episodes']} episodes, {found['samples']} samples"
    if found["corrected"] or found["deleted"]:
        yield f"{found['corrected']} samples corrected by hand, {found['deleted']} deleted"
    asked = found["asked"]
    if asked:
        yield f"the answer is the label in {found['agreed']} of {asked} samples, {_share(found)}"
    yield ""
    width = max((len(row["label"]) for row in found["labels"]), default=0)
    for row in sorted(found["labels"], key=lambda row: -row["samples"]):
        line = f"{row['label']:<{width}}  {row['samples']:>7}"
        if row["asked"]:
            line += f"  {_share(row):>7}"
        if row["commonest_mistake"]:
            line += f"  else mostly {row['commonest_mistake']}"
        yield line


def _share(counts: dict[str, Any]) -> str:
    return f"{100 * counts['agreed'] / counts['asked']:.1f} %"


def _line(entry: dict[str, Any]) -> str:
    if entry["fault"]:
        return f"{entry['name']}: {entry['fault']}"
    counts = f"{entry['episodes']} episodes, {entry['samples']} samples"
    return f"{entry['name']}: {entry['game']}, {counts}"


def _ask(data: DataSet, file: str, question: str | None) -> dict[str, Answers]:
    """Ask a brain about a whole data set.

    Raises MinibrainsError if it does not fit.
    """
    path = find_brain_file(file, None, home() / "models")
    _check_brain(data, path)
    if question is None:
        question = next(iter(questions_of(read_header(path))), "")
    asked = load_asked(path, home() / "models", question)
    answers: dict[str, Answers] = {}
    files = data.files()
    for number, episode in enumerate(files):
        samples = read_samples(episode)
        answers[samples.info.key] = asked.ask(samples)
        tell(f"episode {number + 1} of {len(files)}")
    return answers


def _check_brain(data: DataSet, path: Path) -> None:
    """Raise MinibrainsError unless a brain can be asked about a data set."""
    reason = refusal(read_header(path), data.episodes()[0].actions)
    if reason:
        raise MinibrainsError(f"{path} cannot be asked about {data.folder.name}: {reason}")
