"""The curves of a training: as a picture while it runs, and as files at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np

from minibrains.errors import MinibrainsError
from minibrains.files import write_atomic
from minibrains.packages import install_extra_command

Curves = Mapping[str, Sequence[float]]

Line = tuple[Sequence[float], np.ndarray, tuple[int, int, int]]
"""The places of its points, from left to right; their heights, from 0 to 1; the colour."""

_WIDTH, _HEIGHT, _EDGE = 320, 180, 12
_PAPER: Final = (24, 26, 32)
_TRAINING: Final = (70, 90, 130)
_VALIDATION: Final = (110, 180, 255)
_AGREEMENT: Final = (120, 220, 140)


def sketch(training: Curves, validation: Curves, steps: int) -> np.ndarray:
    """Draw the curves so far, in a few milliseconds.

    Blue are the losses, the batches' dark and the validation's light, and green is the agreement in
    validation, from 0 at the bottom to 1 at the top.

    Args:
        training: "step" and "loss", of equal lengths.
        validation: "step", "loss" and "agreement", of equal lengths.
        steps: The number of steps at the right edge.

    Returns:
        uint8 [180, 320, 3].
    """
    highest = max([*training["loss"], *validation["loss"], 1e-6])
    lines: list[Line] = []
    for curve, values, top, color in (
        (training, "loss", highest, _TRAINING),
        (validation, "loss", highest, _VALIDATION),
        (validation, "agreement", 1.0, _AGREEMENT),
    ):
        lines.append((curve["step"], np.array(curve[values]) / top, color))
    return _drawn(lines, steps)


def sketch_rewards(training: Curves, decisions: int) -> np.ndarray:
    """Draw what a policy has got by playing so far, in a few milliseconds.

    Blue are the rewards, from the least to the greatest, and green the share of episodes that were
    won, from 0 at the bottom to 1 at the top.

    Args:
        training: "decisions", "ep_rew_mean" and "won", of equal lengths.
        decisions: The number of decisions at the right edge.

    Returns:
        uint8 [180, 320, 3].
    """
    rewards = np.array(training["ep_rew_mean"])
    lowest = np.nanmin(rewards, initial=np.inf)
    span = max(np.nanmax(rewards, initial=-np.inf) - lowest, 1e-6)
    lines = [
        (training["decisions"], (rewards - lowest) / span, _VALIDATION),
        (training["decisions"], np.array(training["won"]), _AGREEMENT),
    ]
    return _drawn(lines, decisions)


def _drawn(lines: Sequence[Line], right: int) -> np.ndarray:
    """Return a picture of lines, without points that are not finite.

    Args:
        lines: The lines.
        right: What is at the right edge.
    """
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (_WIDTH, _HEIGHT), _PAPER)
    pen = ImageDraw.Draw(image)
    for places, heights, color in lines:
        points: list[tuple[float, float]] = []
        for place, height in zip(places, heights, strict=True):
            if np.isfinite(height):
                x = _EDGE + (_WIDTH - 2 * _EDGE) * place / right
                points.append((x, _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * height))
        pen.line(points, color, 2)
    return np.asarray(image)


def draw(path: Path, title: str, training: Curves, validation: Curves) -> None:
    """Write the curves as a PNG file, for people.

    Args:
        path: The file, which is replaced as a whole.
        title: The line above them.
        training: "step", "loss", "agreement" and "rate", of equal lengths.
        validation: "step", "loss" and "agreement", of equal lengths.

    Raises:
        MinibrainsError: Matplotlib is missing.
        OSError: The file cannot be written.
    """
    pyplot = load_pyplot()
    figure, (losses, agreements, rates) = pyplot.subplots(
        3, 1, sharex=True, figsize=(8, 9), layout="constrained"
    )
    losses.set_title(title)
    losses.plot(training["step"], training["loss"], alpha=0.4, label="batch, with all its terms")
    losses.plot(validation["step"], validation["loss"], "o-", label="validation, cross-entropy")
    losses.set_ylabel("loss")
    losses.legend()
    agreements.plot(training["step"], training["agreement"], alpha=0.4, label="batch")
    agreements.plot(validation["step"], validation["agreement"], "o-", label="validation")
    agreements.set_ylabel("agreement with the teacher")
    agreements.legend()
    rates.plot(training["step"], training["rate"])
    rates.set_ylabel("learning rate")
    rates.set_xlabel("step")
    _save(figure, path)


def draw_rewards(path: Path, title: str, updates: Curves) -> None:
    """Write what a policy has got by playing as a PNG file, for people.

    Args:
        path: The file, which is replaced as a whole.
        title: The line above the curves.
        updates: "decisions", "won", "ep_rew_mean" and "entropy", of equal lengths.

    Raises:
        MinibrainsError: Matplotlib is missing.
        OSError: The file cannot be written.
    """
    pyplot = load_pyplot()
    figure, panels = pyplot.subplots(3, 1, sharex=True, figsize=(8, 9), layout="constrained")
    panels[0].set_title(title)
    panels[0].set_ylabel("won, of the last 100 episodes")
    panels[1].set_ylabel("mean sum of their rewards")
    panels[2].set_ylabel("entropy of the policy, in nats")
    for panel, name in zip(panels, ("won", "ep_rew_mean", "entropy"), strict=True):
        panel.plot(updates["decisions"], updates[name])
    panels[2].set_xlabel("decisions")
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib as a PNG file, and close it."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=100)
    load_pyplot().close(figure)
    write_atomic(path, file.getvalue())


def load_pyplot() -> Any:
    """Import and return matplotlib.pyplot, which draws without a screen.

    Raises MinibrainsError if it is missing.
    """
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise MinibrainsError(
            "the pictures need the Python package matplotlib, which is missing; "
            f"install it with: {install_extra_command('learn')}"
        ) from None
    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot


def write_csv(path: Path, curves: Curves) -> None:
    """Write curves as a table with one line for each step. Raises OSError."""
    lines = [",".join(curves)]
    for row in zip(*curves.values(), strict=True):
        cells = [f"{value:.9g}" for value in row]
        lines.append(",".join(cells))
    write_atomic(path, "\n".join(lines) + "\n")


class Events:
    """Scalars for TensorBoard, if the package tensorboardX is installed.

    They are only for people, so a disk that refuses them is no reason to end a training.
    """

    def __init__(self, folder: Path) -> None:
        """Name the folder for `tensorboard --logdir`."""
        self._folder = folder
        self._writer: Any = None

    def begin(self, step: int) -> None:
        """Open a new file. `step` is the last one that counts: a killed run may have written later
        ones.
        """
        self.close()
        try:
            from tensorboardX import SummaryWriter
        except ModuleNotFoundError:
            return
        with suppress(OSError):
            self._writer = SummaryWriter(str(self._folder), purge_step=step + 1)

    def add(self, name: str, value: float, step: int) -> None:
        """Add one scalar."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Write what is left, and close the file."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(OSError):
                writer.close()
