"""The five checks of the policy doctor, in the order in which faults explain each other.

1. inputs: is it shown what it was trained on?
2. gradients: does every part of its network take part?
3. attention: does what it does depend on what it sees?
4. actions: does it press what its teacher presses?
5. opponents: does it beat only one of them?

Each test compares an observed share with a threshold by an interval of 95 % (Wilson's), so that too
few samples are reported as such and never as a fault. The first fault in the order of CAUSES is the
diagnosis: a network that gets no gradient also ignores its input and is stuck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import numpy as np

from minibrains.doctor.evidence import (
    ChannelStatistics,
    Evidence,
    InputProbe,
    best,
    entropies,
    largest_entropy,
    log_probabilities,
    press_probabilities,
)
from minibrains.evaluation.statistics import wilson

Status = Literal["healthy", "note", "sick", "untested"]
Cause = Literal[
    "mismatched encodings",
    "constant input",
    "dead gradients",
    "ignores its input",
    "nearly uniform",
    "stuck in one action",
    "never presses",
    "unused in the data",
    "unused by the policy",
    "overfit to an opponent",
]

CAUSES: Final[Mapping[Cause, str]] = MappingProxyType({
    "mismatched encodings": "give the nodes before the policy the settings and brains of its "
        "training, or train it again with these",
    "constant input": "look at this input in the editor with a Preview; the nodes before it cut "
        "out, scale or mask the wrong thing, or are never due",
    "dead gradients": "train again with a lower learning rate or another seed, and look at the "
        "scale of the inputs; a part through which nothing flows does not recover",
    "ignores its input": "check that labels and inputs belong to the same moments, and whether "
        "the input shows what the labels depend on; then train again",
    "nearly uniform": "train it, or train it longer: it plays as a network with random weights "
        "does; if it was trained, the learning rate or the weight of the entropy is wrong",
    "stuck in one action": "look at the share of that action in the data and give others more "
        "importance; in learning by playing, raise the weight of the entropy",
    "never presses": "calibrate it: take thresholds from the press rates of the data, or sample "
        "with a bias; then give the presses more weight in the loss and train again",
    "unused in the data": "collect data in which it is used, or take it out of the action table",
    "unused by the policy": "give the actions that press it more importance, and train again",
    "overfit to an opponent": "train against several opponents, and evaluate with --opponents",
})  # fmt: skip
"""Every fault with what to do about it, in the order of diagnosis: one explains those below it."""

OUTSIDE: Final = 0.1
"""Share of the range of an input in training by which it may be outside of that range in play."""
SHIFT: Final = 3.0
"""Deviations of an input in training by which its mean may differ in play."""
RELATED: Final = 10
"""Number of moments in succession that count as one, because neighbours are nearly equal."""
UNLIKELY: Final = 0.001
"""Probability of what is not taken for chance."""
FEWEST_INPUTS: Final = 32
"""Moments of which the figures of an input are compared."""
DEAD: Final = 0.95
"""Share of the units of a part without a gradient from which on the part is dead."""
UNIFORM: Final = 0.95
"""Share of the largest entropy from which on a policy is nearly uniform."""
NOTICEABLE: Final = 0.1
"""Change of a log-probability by which an input has an effect on a decision: in nats, or of a
policy that is not sure of anything in deviations of its log-probabilities."""
SMALLEST: Final = 0.001
"""Change in nats that is taken for none, however unsure a policy is."""
IGNORED: Final = 0.05
"""Share of the decisions on which an input has an effect, below which it is ignored."""
WORTH: Final = 0.1
"""Share of the disagreement with the teacher, when it is shown another moment, that seeing the
right one must remove at least."""
STUCK: Final = 0.95
"""Share of one choice from which on a policy is stuck."""
RARE: Final = 0.01
"""Share of the decisions below which a button is unused."""
LESS: Final = 1 / 3
"""Share of the data's press rate below which a button counts as forgotten."""
FAVOURITE: Final = 0.2
"""Distance between the win rate against one opponent and that against all others."""
FEWEST_GAMES: Final = 20
"""Games against one opponent, and against all others, that tell something."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one test."""

    check: int
    """The number of the check, 1 to 5."""
    test: str
    """A few words that name the test."""
    status: Status
    text: str
    """A sentence with the figures."""
    cause: Cause | None = None
    """The fault, if it is sick."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings, in the order of the checks."""

    findings: tuple[Finding, ...]

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The faults that were found; the first one explains the others."""
        found = {finding.cause for finding in self.findings if finding.cause is not None}
        return tuple(cause for cause in CAUSES if cause in found)

    @property
    def sick(self) -> bool:
        """True if a fault was found."""
        return bool(self.causes)

    def of_cause(self, cause: Cause) -> tuple[Finding, ...]:
        """Return the findings of a fault."""
        return tuple(finding for finding in self.findings if finding.cause == cause)

    def verdict(self) -> str:
        """Return the diagnosis in words, with what to do."""
        if not self.sick:
            untested = sum(finding.status == "untested" for finding in self.findings)
            text = f"Healthy: no fault in {len(self.findings) - untested} tests"
            if untested:
                text += f"; {untested} could not be made"
            return f"{text}."
        first, *others = self.causes
        texts = [finding.text for finding in self.of_cause(first)]
        text = f"Sick: {first}: {'; '.join(texts)}. What to do: {CAUSES[first]}."
        if others:
            text += f" Perhaps only its consequences: {', '.join(others)}."
        return text


def examine(evidence: Evidence) -> Diagnosis:
    """Make all tests for which there is evidence.

    Args:
        evidence: At least the decisions of the policy in play.

    Returns:
        The findings.

    Example:
        >>> import numpy as np
        >>> from minibrains.doctor.evidence import Buttons, Evidence
        >>> logits = np.full((2000, 2), -7.0)
        >>> evidence = Evidence(
        ...     kind="buttons",
        ...     names=("A", "B"),
        ...     buttons=Buttons.alone(("A", "B")),
        ...     logits=logits,
        ...     chosen=logits > 0,
        ... )
        >>> examine(evidence).causes
        ('never presses',)
    """
    findings: list[Finding] = []
    for check in _CHECKS:
        findings.extend(check(evidence))
    return Diagnosis(tuple(findings))


# -- 1: inputs


def _check_encodings(evidence: Evidence) -> Iterator[Finding]:
    test = "encodings of training and play"
    differences = evidence.differences
    if differences is None:
        yield Finding(1, test, "untested", "its brain does not say what it was trained to see")
    elif differences:
        text = f"the nodes before it are not those of its training: {'; '.join(differences)}"
        yield Finding(1, test, "sick", text, "mismatched encodings")
    else:
        yield Finding(1, test, "healthy", "the nodes before it are those of its training")


def _check_inputs(evidence: Evidence) -> Iterator[Finding]:
    trained = {} if evidence.data is None else evidence.data.inputs
    for name, played in evidence.inputs.items():
        test = f"{name} in training and play"
        if name not in trained:
            continue
        if min(len(played.lows), len(trained[name].lows)) < FEWEST_INPUTS:
            text = f"there are fewer than {FEWEST_INPUTS} moments to compare"
            yield Finding(1, test, "untested", text)
            continue
        differences = _differences(trained[name], played)
        if differences:
            text = f"{name} is not what it was in training: {'; '.join(differences)}"
            yield Finding(1, test, "sick", text, "mismatched encodings")
        else:
            text = f"{name} has the range and the mean that it had in training"
            yield Finding(1, test, "healthy", text)


def _differences(trained: ChannelStatistics, played: ChannelStatistics) -> list[str]:
    """Return how an input in play differs from that of the training, by channel."""
    if len(trained.mean) != len(played.mean):
        return [f"it has {len(played.mean)} channels, and had {len(trained.mean)}"]
    differences: list[str] = []
    for channel in range(len(trained.mean)):
        difference = _difference(trained, played, channel)
        if difference:
            differences.append(f"channel {channel} {difference}")
    if len(differences) > 3:
        return [*differences[:3], f"{len(differences) - 3} more"]
    return differences


def _difference(trained: ChannelStatistics, played: ChannelStatistics, channel: int) -> str:
    """Return how a channel in play differs from that of the training; empty: not much."""
    # the range, in most moments
    low, high = trained.lows[:, channel].min(), trained.highs[:, channel].max()
    usual_low = float(np.median(played.lows[:, channel]))
    usual_high = float(np.median(played.highs[:, channel]))
    room = OUTSIDE * (high - low)
    if usual_low < low - room or usual_high > high + room:
        return (
            f"usually goes from {usual_low:.3g} to {usual_high:.3g}, and went from {low:.3g} to "
            f"{high:.3g}"
        )

    # a channel that does not change any more, if chance hardly explains that
    value = played.lows[0, channel]
    if (played.lows[:, channel] == value).all() and (played.highs[:, channel] == value).all():
        same = (trained.lows[:, channel] == value) & (trained.highs[:, channel] == value)
        least, _ = wilson(int((~same).sum()), len(same))
        if (1 - least) ** (len(played.lows) / RELATED) < UNLIKELY:
            return f"is always {value:.3g}, and went from {low:.3g} to {high:.3g}"

    mean, before = played.mean[channel], trained.mean[channel]
    if abs(mean - before) > SHIFT * trained.deviation[channel]:
        return f"has the mean {mean:.3g}, and had {before:.3g}"
    return ""


def _check_constant(evidence: Evidence) -> Iterator[Finding]:
    for probe in evidence.probes:
        test = f"{probe.name} changes"
        changed, moments = int(probe.differs.sum()), len(probe.differs)
        _, high = wilson(changed, moments)
        text = f"two moments show a different {probe.name} in {_share(changed, moments, 'pairs')}"
        if high < IGNORED:
            yield Finding(1, test, "sick", text, "constant input")
        elif changed == 0:
            yield Finding(1, test, "untested", f"{text}, which are too few to tell")
        else:
            yield Finding(1, test, "healthy", text)


# -- 2: gradients


def _check_gradients(evidence: Evidence) -> Iterator[Finding]:
    test = "every part gets a gradient"
    if not evidence.parts:
        yield Finding(2, test, "untested", "its network is not known")
        return
    dead: list[str] = []
    for part in evidence.parts:
        if part.dead >= DEAD * part.units:
            dead.append(f"{part.name} ({part.dead} of {part.units} units)")
    if dead:
        yield Finding(2, test, "sick", f"no gradient reaches {', '.join(dead)}", "dead gradients")
        return
    worst = max(evidence.parts, key=lambda part: part.dead / part.units)
    text = f"{worst.dead} of {worst.units} units of {worst.name} have none, the most of any part's"
    yield Finding(2, test, "healthy", text)


# -- 3: attention


def _check_probes(evidence: Evidence) -> Iterator[Finding]:
    noticeable = _noticeable(evidence)
    for probe in evidence.probes:
        yield _probed(probe, noticeable)


def _noticeable(evidence: Evidence) -> float:
    """Return the change of a log-probability, in nats, by which an input has an effect."""
    spread = float(log_probabilities(evidence.kind, evidence.logits).std(axis=1).mean())
    if not np.isfinite(spread):
        return NOTICEABLE  # some actions are impossible
    return max(SMALLEST, NOTICEABLE * min(1.0, spread))


def _probed(probe: InputProbe, noticeable: float) -> Finding:
    """Test whether decisions depend on an input."""
    test = f"it looks at {probe.name}"
    tried = probe.shuffled[probe.differs]
    affected, moments = int((tried > noticeable).sum()), len(tried)
    low, high = wilson(affected, moments)
    blank = float((probe.blank > noticeable).mean()) if len(probe.blank) else 0.0
    text = (
        f"with another moment's {probe.name} a probability changes by more than "
        f"{100 * noticeable:.2g} % of itself in {_share(affected, moments, 'decisions')}, and with "
        f"a blank one in {100 * blank:.0f} %"
    )
    if high < IGNORED:
        return Finding(3, test, "sick", text, "ignores its input")
    if low < IGNORED:
        return Finding(3, test, "untested", f"{text}, which does not tell")
    return Finding(3, test, "healthy", text)


def _check_worth(evidence: Evidence) -> Iterator[Finding]:
    """Test whether the right inputs help to agree with the teacher."""
    data = evidence.data
    if data is None or data.asked is None or data.logits is None or data.shuffled is None:
        return
    test = "the right input helps"
    right = _agreed(data.logits, data.asked)
    wrong = _agreed(data.shuffled, data.asked)
    gain = right.astype(np.float64) - wrong
    above = float(gain.mean()) + 1.96 * float(gain.std()) / len(gain) ** 0.5
    text = (
        f"it agrees with the teacher in "
        f"{_share(int(right.sum()), len(right), 'samples')}, and in {int(wrong.sum())} if it is "
        "shown another moment"
    )
    if len(gain) < 2 * FEWEST_INPUTS:
        yield Finding(3, test, "untested", f"there are only {len(gain)} samples")
    elif _is_uniform(evidence):
        yield Finding(3, test, "untested", f"{text}, and it is not sure of anything")
    elif above < WORTH * (1 - float(wrong.mean())):
        yield Finding(3, test, "sick", text, "ignores its input")
    else:
        yield Finding(3, test, "healthy", text)


def _check_entropy(evidence: Evidence) -> Iterator[Finding]:
    test = "entropy against uniform"
    mean = float(entropies(evidence.kind, evidence.logits).mean())
    largest = largest_entropy(evidence.kind, len(evidence.names))
    text = f"its entropy is {mean:.2f} nats, and a uniform policy has {largest:.2f}"
    if len(evidence.logits) < FEWEST_INPUTS:
        yield Finding(3, test, "untested", f"there are only {len(evidence.logits)} decisions")
    elif _is_uniform(evidence):
        yield Finding(3, test, "sick", text, "nearly uniform")
    else:
        yield Finding(3, test, "healthy", text)


def _is_uniform(evidence: Evidence) -> bool:
    """Return whether the mean entropy of all decisions is nearly the largest one."""
    values = entropies(evidence.kind, evidence.logits)
    below = float(values.mean()) - 1.96 * float(values.std()) / len(values) ** 0.5
    return bool(below > UNIFORM * largest_entropy(evidence.kind, len(evidence.names)))


def _agreed(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return whether the policy's best choice is the teacher's: bool [n].

    Of buttons, the most likely one is compared, since hardly any is more likely than not.
    """
    likeliest = logits.argmax(axis=1)
    agreed: np.ndarray = labels[np.arange(len(labels)), likeliest]
    return agreed


# -- 4: actions


def _check_stuck(evidence: Evidence) -> Iterator[Finding]:
    test = "it does different things"
    choices, counts = np.unique(evidence.chosen, axis=0, return_counts=True)
    commonest = choices[counts.argmax()]
    count, total = int(counts.max()), len(evidence.chosen)
    what = _choice_name(evidence, commonest)
    text = f"it chooses {what} in {_share(count, total, 'decisions')}"
    low, _ = wilson(count, total)
    if low <= STUCK:
        yield Finding(4, test, "healthy", text)
    elif not (commonest @ evidence.buttons.presses).any():
        text += ", which presses nothing: the next test is about that"
        yield Finding(4, test, "note", text)
    else:
        yield Finding(4, test, "sick", text, "stuck in one action")


def _check_presses(evidence: Evidence) -> Iterator[Finding]:
    test = "it presses as often as its teacher"
    pressing = evidence.buttons.pressing
    pressed, total = _count(evidence.chosen, pressing)
    _, high = wilson(pressed, total)
    expected = press_probabilities(evidence.kind, evidence.logits, evidence.buttons).mean()
    text = (
        f"it presses a button ({', '.join(evidence.buttons.beyond_directions)}) in "
        f"{_share(pressed, total, 'decisions')}, and gives it a probability of "
        f"{100 * expected:.2g} %"
    )
    if evidence.data is None:
        if high < RARE:
            yield Finding(4, test, "sick", text, "never presses")
        elif pressed == 0:
            yield Finding(4, test, "untested", f"{text}, which are too few decisions to tell")
        else:
            yield Finding(4, test, "healthy", text)
        return
    wanted, samples = _count(evidence.data.labels, pressing)
    low, _ = wilson(wanted, samples)
    text += f"; its teacher presses one in {_share(wanted, samples, 'samples')}"
    if low >= RARE and high < LESS * low:
        yield Finding(4, test, "sick", text, "never presses")
    elif low >= RARE and pressed == 0:
        yield Finding(4, test, "untested", f"{text}, which are too few decisions to tell")
    else:
        yield Finding(4, test, "healthy", text)


def _check_buttons(evidence: Evidence) -> Iterator[Finding]:
    for rate in press_rates(evidence):
        yield from _used(rate)


@dataclass(frozen=True, slots=True)
class PressRate:
    """The press rate of one button, in the data and by the policy."""

    button: str
    labelled: tuple[int, int] | None
    """Number of samples in which the teacher presses it, and of all."""
    answered: tuple[int, int] | None
    """The same of the policy, in samples of which it was shown the inputs."""
    played: tuple[int, int]
    """Number of decisions in play in which the policy presses it, and of all."""


def press_rates(evidence: Evidence) -> list[PressRate]:
    """Count how often each button is held that any output presses."""
    rates: list[PressRate] = []
    for column, button in enumerate(evidence.buttons.names):
        outputs = evidence.buttons.presses[:, column]
        if not outputs.any():
            continue
        labelled = answered = None
        data = evidence.data
        if data is not None:
            labelled = _count(data.labels, outputs)
            if data.logits is not None:
                answers = best(evidence.kind, data.logits, evidence.thresholds)
                answered = _count(answers, outputs)
        rates.append(PressRate(button, labelled, answered, _count(evidence.chosen, outputs)))
    return rates


def _used(rate: PressRate) -> Iterator[Finding]:
    """Test whether a button of the table is used, in the data and by the policy."""
    test = f"{rate.button} is used"
    if rate.labelled is None:
        # without a teacher nothing says that it should be
        _, high = wilson(*rate.played)
        status: Status = "note" if high < RARE else "healthy"
        text = f"it presses {rate.button} in {_share(*rate.played, 'decisions')}"
        yield Finding(4, test, status, text)
        return
    low, high = wilson(*rate.labelled)
    text = f"the data has {rate.button} in {_share(*rate.labelled, 'samples')}"
    if high < RARE:
        yield Finding(4, test, "sick", text, "unused in the data")
        return
    # in the same moments as the teacher, if that is possible
    count, total = rate.answered or rate.played
    where = "samples of the data" if rate.answered else "decisions of play"
    _, most = wilson(count, total)
    text += f", and the policy presses it in {_share(count, total, where)}"
    if low >= RARE and most < min(RARE, LESS * low):
        yield Finding(4, test, "sick", text, "unused by the policy")
    elif low >= RARE and count == 0:
        yield Finding(4, test, "untested", f"{text}, which are too few to tell")
    else:
        yield Finding(4, test, "healthy", text)


def _count(chosen: np.ndarray, outputs: np.ndarray) -> tuple[int, int]:
    return int(chosen[:, outputs].any(axis=1).sum()), len(chosen)


def _choice_name(evidence: Evidence, choice: np.ndarray) -> str:
    held = [name for name, on in zip(evidence.names, choice, strict=True) if on]
    return " and ".join(held) or "nothing"


# -- 5: opponents


def _check_opponents(evidence: Evidence) -> Iterator[Finding]:
    test = "it beats all opponents alike"
    games = evidence.games
    if len(games) < 2:
        yield Finding(5, test, "untested", "it played fewer than two opponents")
        return
    all_won, all_played = map(int, np.sum(list(games.values()), axis=0))
    favourite, gap = "", -1.0
    for name, (won, played) in games.items():
        distance = wilson(won, played)[0] - wilson(all_won - won, all_played - played)[1]
        if distance > gap:
            favourite, gap = name, distance
    won, played = games[favourite]
    others = all_played - played
    text = (
        f"it wins {won} of {played} games against {favourite}, and {all_won - won} of {others} "
        f"against {len(games) - 1} others"
    )
    if gap > FAVOURITE:
        yield Finding(5, test, "sick", text, "overfit to an opponent")
    elif min(played, others) < FEWEST_GAMES:
        yield Finding(5, test, "untested", f"{text}; play {FEWEST_GAMES} against each side")
    else:
        yield Finding(5, test, "healthy", text)


def _share(count: int, total: int, what: str) -> str:
    """Return a share with its interval, in words."""
    low, high = wilson(count, total)
    return f"{count} of {total} {what} ({100 * low:.1f} to {100 * high:.1f} %)"


_CHECKS: Final[tuple[Callable[[Evidence], Iterator[Finding]], ...]] = (
    _check_encodings,
    _check_inputs,
    _check_constant,
    _check_gradients,
    _check_probes,
    _check_worth,
    _check_entropy,
    _check_stuck,
    _check_presses,
    _check_buttons,
    _check_opponents,
)
