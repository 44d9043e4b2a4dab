"""Calibrate: a policy presses each button as often as its teacher does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from minibrains import (
    ABSENT,
    Absent,
    Episode,
    Flag,
    Host,
    MinibrainsError,
    Number,
    Register,
    widget,
)
from minibrains.brain_file import BrainHeader, hash_file, read_header
from minibrains.files import home
from minibrains.torch_node import limit_threads
from nodes.policies.buttons import (
    DIRECTIONS,
    ButtonCalibration,
    ButtonHead,
    ButtonHeadBrain,
    sigmoid,
)
from nodes.training.checkpoint import check_training_name
from nodes.training.data_set import DataSet
from nodes.training.episode_file import EpisodeInfo, load_arrow
from nodes.training.examples import (
    PREPROCESSED_AT_ONCE,
    Examples,
    Job,
    Preprocessing,
    PreprocessingParts,
    hash_data,
    preprocess,
    split,
)
from nodes.training.trainer import normalised
from nodes.vision.fighters import FighterColors

BATCH: Final = 256
"""Number of samples that the network is asked about at once."""
TOLERANCE: Final = 0.2
"""Share of the data's press rate by which that of a calibrated policy may differ."""
COUNTED: Final = 0.01
"""Press rate in the data from which on a button must keep to the tolerance: of rarer ones there are
too few presses to tell."""

MOST_BIAS: Final = 50.0
"""In nats."""
BISECTIONS: Final = 60
ROUNDS: Final = 50
"""In which thresholds of opposite directions are matched."""


class Calibrated(NamedTuple):
    """The outputs of Calibrate."""

    ratio: Number | Absent
    f1: Number | Absent
    finished: Flag


class Presses(NamedTuple):
    """A policy's answers for some samples, and the buttons that its teacher held."""

    logits: np.ndarray
    """float32 [n, buttons]."""
    held: np.ndarray
    """bool [n, buttons]."""


class Calibrate(Register, category="training", collects_data=True, terminal="finished"):
    """Find thresholds for a policy's buttons, so that it presses each as often as its teacher.

    ratio:  presses of the policy for one of its teacher, directions aside, on matches that the
            thresholds were not chosen by
    f1:     F1 score of these presses, 0 to 1
    finished:  True: the calibration is saved; this ends the episode

    The policy is the brain `button_head/NAME.safetensors` in $MINIBRAINS_HOME/models, as
    CloneButtons saves it. `button_calibration/NAME.safetensors` there, the brain of ButtonSampler,
    is replaced: bias and temperature stay as they are, unless the bias is adjusted. Its brain is
    that of the FighterMask that the policy sees through. The results of the run, and the header of
    the brain, have the press rate of each button in the data, before and after.

    The data set must be another one than that of the training: a policy is surer of matches that it
    has learned from, so thresholds from them are too high for others.
    """

    brain: FighterColors
    data: str = widget(
        rebuild=True, doc="the name of the data set, another one than that of the training"
    )
    name: str = widget(rebuild=True, doc="the name of the policy")
    game: str = widget(default="", rebuild=True, names="game", doc="of the data set; empty: any")
    adjust: Literal["thresholds", "bias", "nothing"] = widget(
        default="thresholds",
        rebuild=True,
        doc="thresholds: for a ButtonSampler that presses what is above them; bias: for one that "
        "draws; nothing: only measure",
    )
    validation: float = widget(
        default=0.5, min=0.0, max=0.9, rebuild=True, doc="share of the matches to validate with"
    )
    seed: int = widget(default=0, min=0, rebuild=True, doc="of the split")

    def check(self) -> None:
        DataSet.named(self.data)
        check_training_name(self.name)

    def open(self, host: Host) -> None:
        load_arrow()
        limit_threads()
        self._host = host
        self._data = DataSet.named(self.data)
        infos = self._data.episodes(game=self.game or None)
        self._training, self._validation = split(infos, self.validation, self.seed)
        path = self._path("button_head")
        if not path.is_file():
            raise MinibrainsError(
                f"there is no brain {path}; expected that of a training with CloneButtons called "
                f"{self.name}: run it first, or set name to that of another"
            )
        header = read_header(path)
        self._parent = hash_file(path)
        _check_new(header, self._data, infos)
        brain = ButtonHeadBrain.load(path)
        self._head = ButtonHead(brain=brain)
        self._head.module = self._head.make_module().eval()
        self._preprocessing = _read_preprocessing(header, self.brain)
        self._presses = read_presses(header, brain.buttons)
        self._before = ButtonCalibration.load(self._path("button_calibration"))

    def reset(self, episode: Episode) -> None:
        self._asked: dict[str, Presses] = {}
        self._figures: dict[str, Any] = {}
        self.now = Calibrated(ABSENT, ABSENT, False)

    def emit(self) -> Calibrated:
        return self.now

    def latch(self) -> None:
        infos = [*self._training, *self._validation]
        waiting = [info for info in infos if info.key not in self._asked][:PREPROCESSED_AT_ONCE]
        if waiting:
            self._ask(waiting)
            self._host.progress(len(self._asked), len(infos), "matches preprocessed")
            return
        after = self._adjusted(self._joined(self._training))
        self._figures = self._compare(after, self._joined(self._validation))
        if self.adjust != "nothing":
            self._save(after)
        figures = self._figures["after"]
        self.now = Calibrated(figures["ratio"], figures["f1"], True)

    def report(self) -> Mapping[str, Any]:
        """Return the press rates of each button."""
        if not self._figures:
            return {}
        return {"calibration": self._figures}

    def _path(self, kind: str) -> Path:
        return home() / "models" / kind / f"{self.name}.safetensors"

    def _ask(self, infos: Sequence[EpisodeInfo]) -> None:
        """Ask the policy about some matches."""
        import torch

        preprocessing = PreprocessingParts.of(self._preprocessing)
        jobs = [Job(self._data.folder, info, preprocessing, ()) for info in infos]
        for info, found in zip(infos, self._host.map(preprocess, jobs), strict=True):
            examples = Examples(self._preprocessing, [found])
            held = [self._presses[info.actions[label]] for label in examples.labels]
            logits = np.empty((len(examples), len(self._before.buttons)), np.float32)
            with torch.inference_mode():
                for start in range(0, len(examples), BATCH):
                    rows = np.arange(start, min(start + BATCH, len(examples)))
                    logits[rows] = self._head.logits(normalised(examples.frames(rows))).numpy()
            self._asked[info.key] = Presses(logits, np.array(held, bool).reshape(logits.shape))

    def _joined(self, infos: Sequence[EpisodeInfo]) -> Presses:
        asked = [self._asked[info.key] for info in infos]
        logits = [presses.logits for presses in asked]
        held = [presses.held for presses in asked]
        return Presses(np.concatenate(logits), np.concatenate(held))

    def _adjusted(self, presses: Presses) -> ButtonCalibration:
        before = self._before
        if self.adjust == "nothing":
            return before
        if self.adjust == "thresholds":
            return match_thresholds(before, presses.logits, presses.held)
        bias = match_bias(presses.logits, presses.held, before.temperature)
        return ButtonCalibration(**{**before.config, "bias": bias})

    def _compare(self, after: ButtonCalibration, presses: Presses) -> dict[str, Any]:
        """Return the figures of the validation matches, before and after."""
        return {
            "matches": len(self._training),
            "validation_matches": len(self._validation),
            "validation_samples": len(presses.held),
            "data": rates(self._before.buttons, presses.held),
            "before": self._measure(self._before, presses),
            "after": self._measure(after, presses),
        }

    def _measure(self, calibration: ButtonCalibration, presses: Presses) -> dict[str, Any]:
        """Return how a policy presses in the samples, with its thresholds or drawing."""
        rng = np.random.default_rng(self.seed) if self.adjust == "bias" else None
        pressed = calibration.press(presses.logits, rng)
        attacks = [button not in DIRECTIONS for button in calibration.buttons]
        right = int((pressed & presses.held)[:, attacks].sum())
        count, wanted = int(pressed[:, attacks].sum()), int(presses.held[:, attacks].sum())
        return {
            "rates": rates(calibration.buttons, pressed),
            "ratio": round(count / max(wanted, 1), 4),
            "f1": round(2 * right / max(count + wanted, 1), 4),
            "off": off(calibration.buttons, pressed, presses.held),
        }

    def _save(self, calibration: ButtonCalibration) -> None:
        path = self._path(calibration.kind)
        try:
            sha256 = calibration.save(
                path,
                title=f"{self.name}, calibrated on {self.data}",
                made_by=self._host.workflow.made_by,
                parents=[self._parent],
                metrics=self._figures,
            )
        except OSError as error:
            raise MinibrainsError(
                f"{path} cannot be written: {error.strerror or error}; make room, then run the "
                "workflow again"
            ) from None
        self._host.say(f"saved the brain {calibration.kind}/{path.name}, {sha256}")
        left = self._figures["after"]["off"]
        if left:
            self._host.say(
                f"on the validation matches {', '.join(left)} still differs by more than "
                f"{TOLERANCE:.0%} from the data; collect more matches"
            )


def _check_new(header: BrainHeader, data: DataSet, infos: Sequence[EpisodeInfo]) -> None:
    """Raise MinibrainsError if a policy has learned from these episodes."""
    learned = json.loads(header.metadata.get("data", "{}"))
    if learned.get("sha256") == hash_data(data, infos):
        raise MinibrainsError(
            f"{header.path} has learned from the data set {data.folder.name}, and is too sure of "
            "its matches; collect others into a data set of another name, by another seed"
        )


def match_thresholds(
    calibration: ButtonCalibration, logits: np.ndarray, held: np.ndarray
) -> ButtonCalibration:
    """Return a calibration by which each button is pressed in as many samples as it was held.

    Of two opposite directions only one is pressed, so their thresholds are lowered until each is
    pressed as often as wanted nevertheless, if that is possible.

    Args:
        calibration: Has bias and temperature.
        logits: float32 [n, buttons].
        held: bool [n, buttons].

    Returns:
        The calibration with other thresholds; 1, which none is above, for a button that was never
        held.
    """
    wanted = held.sum(axis=0)
    probabilities = sigmoid(calibration.corrected(logits))
    # how many samples have a probability above the threshold of each button: adjusted until the
    # button is pressed in as many as wanted
    counts = wanted
    for _ in range(ROUNDS):
        thresholds = _thresholds_above(probabilities, counts)
        config = {**calibration.config, "thresholds": tuple(thresholds.tolist())}
        matched = ButtonCalibration(**config)
        missing = wanted - matched.press(logits).sum(axis=0)
        if not missing.any():
            break
        counts = np.where(wanted == 0, 0, np.clip(counts + missing, 1, len(logits)))
    return matched


def _thresholds_above(probabilities: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the threshold of each button that so many of its probabilities are above, in the
    middle between two of them; 1, which none is above, for a count of 0.

    Args:
        probabilities: float64 [n, buttons].
        counts: int64 [buttons], from 0 to n.
    """
    buttons = np.arange(len(counts))
    ends = np.ones(len(counts))
    # none is above 1, and all are above -1
    falling = np.vstack([ends, -np.sort(-probabilities, axis=0), -ends])
    middle = (falling[counts, buttons] + falling[counts + 1, buttons]) / 2
    return np.where(counts == 0, 1.0, np.maximum(middle, 0.0))


def match_bias(logits: np.ndarray, held: np.ndarray, temperature: float) -> tuple[float, ...]:
    """Return the bias by which the mean probability of each button is the share of samples in which
    it was held, found by bisection.

    Args:
        logits: [n, buttons], without bias and temperature.
        held: bool [n, buttons].
        temperature: By which logits and bias are divided.

    Returns:
        A bias for each button in nats, from -MOST_BIAS to MOST_BIAS.
    """
    low = np.full(logits.shape[1], -MOST_BIAS)
    high = -low
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        above = sigmoid((logits + middle) / temperature).mean(axis=0) > held.mean(axis=0)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return tuple(((low + high) / 2).tolist())


def rates(buttons: Sequence[str], pressed: np.ndarray) -> dict[str, float]:
    """Return the share of samples in which each button is pressed, by name."""
    shares = pressed.mean(axis=0).round(5).tolist()
    return dict(zip(buttons, shares, strict=True))


def off(buttons: Sequence[str], pressed: np.ndarray, held: np.ndarray) -> list[str]:
    """Return the buttons whose press rate differs by more than TOLERANCE from that of the data."""
    found: list[str] = []
    for button, rate, wanted in zip(buttons, pressed.mean(axis=0), held.mean(axis=0), strict=True):
        if wanted >= COUNTED and abs(rate - wanted) > TOLERANCE * wanted:
            found.append(button)
    return found


def read_presses(header: BrainHeader, buttons: Sequence[str]) -> Mapping[str, np.ndarray]:
    """Return the buttons that each action of a policy's training began with: bool [buttons].

    Raises MinibrainsError if the header does not say.
    """
    if "presses" not in header.metadata:
        raise MinibrainsError(
            f"{header.path} does not say which buttons the actions of its training held; expected "
            "a brain that CloneButtons has saved"
        )
    presses: dict[str, np.ndarray] = {}
    for action, names in json.loads(header.metadata["presses"]).items():
        presses[action] = np.isin(buttons, names)
    return presses


def _read_preprocessing(header: BrainHeader, colors: FighterColors) -> Preprocessing:
    """Return what a policy was shown in its training. Raises MinibrainsError."""
    if "eyes" not in header.metadata:
        raise MinibrainsError(
            f"{header.path} does not say what its training was shown; expected a brain that "
            "CloneButtons has saved"
        )
    settings = json.loads(header.metadata["eyes"])
    sha256 = colors.ref.sha256 if colors.ref is not None else ""
    if sha256 != settings["fighter_colors_sha256"]:
        raise MinibrainsError(
            f"{header.path} was trained with the fighter_colors brain "
            f"{settings['fighter_colors_sha256'][:8]}, and this one is {sha256[:8]}; expected the "
            "same"
        )
    return Preprocessing.of_settings(settings, colors)
