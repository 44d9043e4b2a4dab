"""A chart of the results: a line for each player, with its share of wins and the 95 % interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from minibrains.evaluation.report import headline, interval, share
from minibrains.files import write_atomic

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

_WIDTH, _LINE, _TOP, _FOOT = 1600, 88, 190, 110
_LEFT, _RIGHT = 480, 1230
"""The left and right end of the scale from 0 to 100 %, in pixels."""
_LONGEST = 24
"""Number of characters of a name that fit beside the scale."""
_PAPER, _INK, _PALE, _GRID = "#ffffff", "#1f2933", "#66727f", "#e3e7eb"
_MINE, _OTHERS = ("#0b4fb3", "#8fb8f6", "#e4eefd"), ("#3e4954", "#b4bdc7", "#eef0f2")
"""Colours of the mark, the interval and the bar."""


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw all players, or only the evaluated one if there are opponents, and write a PNG file.

    Args:
        result: The result of an evaluation.
        path: The PNG file, which is replaced as a whole.

    Raises:
        OSError: The file cannot be written.
    """
    sections = result.get("opponents") or [result]
    title = f"Episodes won: {sections[0]['players'][0]['name']}"
    draw_bars(title, headline(result), _bars(result), path)


class Bar(NamedTuple):
    """One line of a chart."""

    name: str
    note: str
    player: Mapping[str, Any]
    """The player's figures."""
    is_mine: bool = False
    """It is drawn in the colours of the evaluated player."""


def draw_bars(title: str, subtitle: str, bars: Sequence[Bar], path: Path) -> None:
    """Draw a line for each player, and write a PNG file, which is replaced as a whole.

    Raises OSError.
    """
    from PIL import Image, ImageDraw

    bottom = _TOP + _LINE * len(bars)
    image = Image.new("RGB", (_WIDTH, bottom + _FOOT), _PAPER)
    pen = ImageDraw.Draw(image)

    # the title
    _write(pen, (48, 40), title, 40, _INK)
    _write(pen, (48, 100), subtitle, 24, _PALE)

    # the scale, behind the lines of the players
    for tenth in range(0, 11, 2):
        x = _position(tenth / 10)
        pen.line([(x, _TOP - 8), (x, bottom)], _GRID, 2)
        _write(pen, (x, bottom + 14), f"{10 * tenth} %", 22, _PALE, "ma")

    # the players
    for number, bar in enumerate(bars):
        colours = _MINE if bar.is_mine else _OTHERS
        _draw_bar(pen, bar, _TOP + _LINE * number + _LINE // 2, colours)
    _write(
        pen,
        (48, bottom + 58),
        "Mark: share of distinct episodes won. Box: Wilson 95 % interval.",
        20,
        _PALE,
    )

    data = BytesIO()
    image.save(data, "PNG")
    write_atomic(path, data.getvalue())


def _bars(result: Mapping[str, Any]) -> list[Bar]:
    """Return a line for each player, or for each opponent if there are some."""
    bars: list[Bar] = []
    if "opponents" in result:
        for section in result["opponents"]:
            name = section["name"].rpartition("/")[2]
            note = section["protocol"]["opponent"] or section["protocol"]["only"]
            bars.append(Bar(f"against {name}", note, section["players"][0], True))
        return bars
    for player in result["players"]:
        is_mine = "evaluated" in player["roles"]
        bars.append(Bar(player["name"], ", ".join(player["roles"]), player, is_mine))
    return bars


def _draw_bar(pen: ImageDraw, bar: Bar, y: int, colours: tuple[str, str, str]) -> None:
    """Draw one line of the chart, with its middle at y, in the colours of the mark,
    the interval and the bar.
    """
    mark_colour, interval_colour, bar_colour = colours
    player = bar.player

    # the name, on the left
    name = bar.name
    if len(name) > _LONGEST:
        name = name[: _LONGEST - 1] + "…"
    _write(pen, (48, y - 30), name, 28, _INK)
    _write(pen, (48, y + 4), bar.note, 20, _PALE)

    # the bar, the interval and the mark
    low, high, won = _position(player["low"]), _position(player["high"]), _position(player["share"])
    pen.rectangle([_LEFT, y - 22, max(won, _LEFT + 1), y + 22], bar_colour)
    pen.rectangle([low, y - 11, high, y + 11], interval_colour)
    pen.rectangle([won - 3, y - 22, won + 2, y + 22], mark_colour)

    # the figures, on the right
    _write(pen, (_RIGHT + 48, y - 30), share(player), 28, _INK)
    _write(pen, (_RIGHT + 48, y + 4), f"{interval(player)}, n {player['distinct']}", 20, _PALE)


def _position(share: float) -> int:
    """Return the x of a share on the scale, in pixels."""
    return round(_LEFT + share * (_RIGHT - _LEFT))


def _write(
    pen: ImageDraw,
    position: tuple[float, float],
    text: str,
    size: int,
    colour: str,
    anchor: str = "la",
) -> None:
    """Write text of a size in pixels; the anchor says which point of it the position is,
    as Pillow names it.
    """
    from PIL import ImageFont

    pen.text(position, text, colour, ImageFont.load_default(size), anchor)
