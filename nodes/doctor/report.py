"""The report of the doctor: a page and a picture, for people."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np

from minibrains.doctor.checks import DEAD, NOTICEABLE, UNIFORM, Diagnosis, press_rates
from minibrains.doctor.evidence import Evidence, entropies, largest_entropy
from minibrains.doctor.watch import Watch
from minibrains.evaluation.statistics import wilson
from minibrains.files import write_atomic
from nodes.training.curves import load_pyplot

CHECKS: Final = (
    "Is it shown what it was trained on?",
    "Does every part of its network take part?",
    "Does what it does depend on what it sees?",
    "Does it press what its teacher presses?",
    "Does it beat only one opponent?",
)
"""The question of each check."""
_COMMONEST: Final = 14
"""Number of actions, and of states of the game, that are drawn."""
_DATA, _ANSWERED, _PLAYED = "#9aa5b1", "#f0a04b", "#0b4fb3"
_COLORS: Final = {
    "healthy": "#1a7f37",
    "note": "#66727f",
    "sick": "#c62828",
    "untested": "#9a6700",
}
_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em;
  color: #1f2933; background: #fff }
.verdict { border-left: 8px solid; padding: .6em 1em; background: #f5f7fa; font-size: 1.1em }
table { border-collapse: collapse; width: 100% }
td { border-bottom: 1px solid #e3e7eb; padding: .35em .6em; vertical-align: top }
td:first-child { width: 5em; font-weight: 600 }
td:nth-child(2) { width: 16em }
img { max-width: 100% }
.frames { display: flex; flex-wrap: wrap; gap: 1em }
figure { margin: 0; width: 320px }
figure img { width: 100%; image-rendering: pixelated }
"""


def write_report(
    folder: Path,
    about: Mapping[str, Any],
    evidence: Evidence,
    diagnosis: Diagnosis,
    watch: Watch,
) -> list[str]:
    """Write doctor.html, which needs no other file, and doctor.png into a run folder.

    Args:
        folder: The run folder.
        about: "workflow", "nodes" and "brains", for the title.
        evidence: What was seen.
        diagnosis: What was found.
        watch: The frames and the roll-out.

    Returns:
        The files.

    Raises:
        MinibrainsError: Matplotlib is missing.
        OSError: A file cannot be written.
    """
    picture = _draw(about, evidence, diagnosis, watch)
    page, png = folder / "doctor.html", folder / "doctor.png"
    write_atomic(png, picture)
    write_atomic(page, _page(about, evidence, diagnosis, watch, picture))
    return [str(page), str(png)]


# -- the page


def _page(
    about: Mapping[str, Any],
    evidence: Evidence,
    diagnosis: Diagnosis,
    watch: Watch,
    picture: bytes,
) -> str:
    title = html.escape(_title(about))
    color = _COLORS["sick" if diagnosis.sick else "healthy"]
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>',
        f"<h1>{title}</h1>",
        f'<p class="verdict" style="border-color: {color}">{html.escape(diagnosis.verdict())}</p>',
        f"<p>{len(evidence.logits)} decisions in play. "
        f"<code>{html.escape(json.dumps(about['brains']))}</code></p>",
    ]
    for number, question in enumerate(CHECKS, start=1):
        lines.append(f"<h2>{number}. {question}</h2><table>")
        for finding in diagnosis.findings:
            if finding.check == number:
                lines.append(
                    f'<tr><td style="color: {_COLORS[finding.status]}">{finding.status}</td>'
                    f"<td>{html.escape(finding.test)}</td><td>{html.escape(finding.text)}</td></tr>"
                )
        lines.append("</table>")
    lines.append(f'<h2>Figures</h2><img alt="figures" src="{_data_url(picture)}">')
    if watch.moments:
        lines.append("<h2>The moments in which it is most likely to press</h2>")
        lines.append('<div class="frames">')
        for moment in sorted(watch.moments, reverse=True, key=lambda moment: moment.probability):
            caption = (
                f"episode {moment.episode + 1}, tick {moment.tick}: it presses with a probability "
                f"of {_percent(moment.probability)}, most likely {evidence.names[moment.press]}; "
                f"its likeliest choice is {evidence.names[moment.choice]}"
            )
            lines.append(
                f'<figure><img alt="" src="{_data_url(_png(moment.frame))}">'
                f"<figcaption>{html.escape(caption)}</figcaption></figure>"
            )
        lines.append("</div>")
    return "\n".join([*lines, "</html>", ""])


def _percent(share: float) -> str:
    """Return a share with so many digits that a small one does not look like none."""
    if share >= 0.01:
        return f"{100 * share:.0f} %"
    return f"{100 * share:.1g} %"


def _title(about: Mapping[str, Any]) -> str:
    return f"{about['workflow']}: {', '.join(about['nodes'])}"


def _png(frame: np.ndarray) -> bytes:
    from PIL import Image

    file = BytesIO()
    Image.fromarray(frame).save(file, "PNG")
    return file.getvalue()


def _data_url(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


# -- the picture


def _draw(
    about: Mapping[str, Any], evidence: Evidence, diagnosis: Diagnosis, watch: Watch
) -> bytes:
    pyplot = load_pyplot()
    figure = pyplot.figure(figsize=(12, 13), layout="constrained")
    color = _COLORS["sick" if diagnosis.sick else "healthy"]
    cause = diagnosis.causes[0] if diagnosis.sick else "healthy"
    figure.suptitle(f"{_title(about)} — {cause}", color=color, fontsize=16)
    grid = figure.add_gridspec(4, 6, height_ratios=[1, 1, 1, 0.8])
    _draw_presses(figure.add_subplot(grid[0, :3]), evidence)
    _draw_actions(figure.add_subplot(grid[0, 3:]), evidence)
    _draw_entropy(figure.add_subplot(grid[1, :3]), evidence)
    _draw_probes(figure.add_subplot(grid[1, 3:]), evidence)
    _draw_parts(figure.add_subplot(grid[2, :3]), evidence)
    _draw_roll_out(figure.add_subplot(grid[2, 3:]), watch)
    moments = sorted(watch.moments, reverse=True, key=lambda moment: moment.probability)
    for column, moment in enumerate(moments):
        axes = figure.add_subplot(grid[3, column])
        axes.imshow(moment.frame)
        axes.set_axis_off()
        press, choice = evidence.names[moment.press], evidence.names[moment.choice]
        title = f"presses {_percent(moment.probability)}:\n{press}\nbest: {choice}"
        axes.set_title(title, fontsize=9)
    file = BytesIO()
    figure.savefig(file, format="png", dpi=90)
    pyplot.close(figure)
    return file.getvalue()


def _draw_presses(axes: Any, evidence: Evidence) -> None:
    rates = press_rates(evidence)
    series: list[tuple[str, str, list[tuple[int, int] | None]]] = [
        ("its teacher, in the data", _DATA, [rate.labelled for rate in rates]),
        ("the policy, in samples of the data", _ANSWERED, [rate.answered for rate in rates]),
        ("the policy, in play", _PLAYED, [rate.played for rate in rates]),
    ]
    shown = [entry for entry in series if any(entry[2])]
    width = 0.8 / len(shown)
    for number, (label, color, counts) in enumerate(shown):
        places = np.arange(len(rates)) + (number - (len(shown) - 1) / 2) * width
        _bars(axes, places, counts, width, color, label)
    axes.set_xticks(range(len(rates)), [rate.button for rate in rates], fontsize=8)
    axes.set_ylabel("% of decisions")
    axes.set_title("buttons pressed, with intervals of 95 %")
    axes.legend(fontsize=8)


def _bars(
    axes: Any,
    places: np.ndarray,
    counts: Sequence[tuple[int, int] | None],
    width: float,
    color: str,
    label: str,
) -> None:
    """Draw shares as bars with their intervals."""
    shares: list[float] = []
    below: list[float] = []
    above: list[float] = []
    for entry in counts:
        count, total = entry or (0, 0)
        share = count / total if total else 0.0
        low, high = wilson(count, total)
        shares.append(100 * share)
        below.append(100 * max(share - low, 0.0))
        above.append(100 * max(high - share, 0.0))
    axes.bar(places, shares, width, color=color, label=label, yerr=(below, above), capsize=2)


def _draw_actions(axes: Any, evidence: Evidence) -> None:
    played = evidence.chosen.mean(axis=0)
    taught = np.zeros_like(played)
    if evidence.data is not None:
        taught = evidence.data.labels.mean(axis=0)
    share = np.maximum(played, taught)
    commonest = share.argsort()[::-1][:_COMMONEST]
    commonest = commonest[share[commonest] > 0][::-1]
    places = np.arange(len(commonest))
    axes.barh(places, 100 * played[commonest], 0.4, color=_PLAYED, label="the policy, in play")
    if evidence.data is not None:
        heights = 100 * taught[commonest]
        axes.barh(places + 0.4, heights, 0.4, color=_DATA, label="its teacher, in the data")
    axes.set_yticks(places, [evidence.names[action] for action in commonest], fontsize=8)
    axes.set_xlabel("% of decisions")
    axes.set_title("commonest actions")
    axes.legend(fontsize=8)


def _draw_entropy(axes: Any, evidence: Evidence) -> None:
    largest = largest_entropy(evidence.kind, len(evidence.names))
    values = entropies(evidence.kind, evidence.logits)
    axes.hist(values, bins=40, range=(0, 1.02 * largest), color=_PLAYED)
    axes.axvline(values.mean(), color="black", label=f"mean {values.mean():.2f}")
    axes.axvline(largest, color=_COLORS["sick"], label=f"uniform {largest:.2f}")
    axes.axvspan(UNIFORM * largest, largest, color=_COLORS["sick"], alpha=0.15)
    axes.set_xlabel("entropy of a decision in nats")
    axes.set_title("how sure it is")
    axes.legend(fontsize=8)


def _draw_probes(axes: Any, evidence: Evidence) -> None:
    for number, probe in enumerate(evidence.probes):
        for offset, values, color, label in (
            (-0.2, probe.shuffled, _PLAYED, "that of another moment"),
            (0.2, probe.blank, _ANSWERED, "blank"),
        ):
            axes.boxplot(
                np.maximum(values, 1e-6),
                positions=[number + offset],
                widths=0.3,
                patch_artist=True,
                boxprops={"facecolor": color},
                medianprops={"color": "black"},
                label=label if number == 0 else None,
            )
    axes.axhline(NOTICEABLE, color=_COLORS["sick"], linestyle="--", label="no effect below")
    axes.set_yscale("log")
    axes.set_xticks(range(len(evidence.probes)), [probe.name for probe in evidence.probes])
    axes.set_ylabel("nats")
    axes.set_title("change of log-probabilities if an input is replaced")
    axes.legend(fontsize=8)


def _draw_parts(axes: Any, evidence: Evidence) -> None:
    names = [part.name for part in evidence.parts]
    shares = [100 * (1 - part.dead / part.units) for part in evidence.parts]
    axes.bar(range(len(names)), shares, color=_PLAYED)
    axes.axhline(100 * (1 - DEAD), color=_COLORS["sick"], linestyle="--", label="dead below")
    axes.set_ylim(0, 105)
    axes.set_xticks(range(len(names)), names, rotation=20, fontsize=8, ha="right")
    axes.set_ylabel("% of units")
    axes.set_title("units that a gradient reaches")
    axes.legend(fontsize=8, loc="lower right")


def _draw_roll_out(axes: Any, watch: Watch) -> None:
    counts: dict[str, int] = {}
    if watch.states:
        title = "states of the game, in ticks"
        for state, count in watch.states.most_common(_COMMONEST):
            counts[f"{state:g}"] = count
    else:
        title = "buttons that the game was given, in ticks"
        for pad, count in watch.pads.most_common(_COMMONEST):
            counts["+".join(pad) or "nothing"] = count
    names = list(counts)[::-1]
    axes.barh(names, [counts[name] for name in names], color=_PLAYED)
    axes.tick_params(axis="y", labelsize=8)
    axes.set_title(title)
