"""The training of a policy: the nodes before it, and the samples of a data set."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from minibrains.doctor.evidence import ChannelStatistics, Demonstrations
from minibrains.doctor.network import Moments, Network
from minibrains.errors import MinibrainsError
from minibrains.graph.check import CheckedNode, Graph
from minibrains.graph.encoding import Encoding, TrainedEncoding, find_encoding
from minibrains.run.spec import RunSpec
from nodes.policies.buttons import ButtonHeadBrain
from nodes.training.calibrate import read_presses
from nodes.training.data_set import DataSet
from nodes.training.episode_file import EpisodeInfo, load_arrow
from nodes.training.examples import (
    EpisodeExamples,
    Examples,
    Job,
    Preprocessing,
    PreprocessingParts,
    preprocess,
)
from nodes.vision.fighters import FighterColors, FighterMask

LABELLED: Final = 40
"""Largest number of episodes of a data set whose labels are counted; a random selection."""
EPISODES: Final = 4
"""Number of these whose pictures are preprocessed."""
SAMPLES: Final = 512
"""Number of samples that the policy is asked about."""


def find_trained_encoding(graph: Graph) -> Encoding | None:
    """Return the settings of the nodes before a policy when it was trained.

    ClonePolicy writes into the header of a brain how it preprocessed the data set; TrainPPO and
    CloneNetwork write which workflow was played, and what was changed in it.

    Returns:
        The encoding; None if the brain does not say, or the workflow is not there.
    """
    for node in _policy_nodes(graph):
        if node.header is None:
            continue
        if isinstance(node.cls, TrainedEncoding):
            return node.cls.trained_encoding(node.header.metadata)
        if "environment" in node.header.metadata:
            return _encoding_of_environment(json.loads(node.header.metadata["environment"]), graph)
    return None


def find_trained_together(graph: Graph) -> frozenset[str]:
    """Return the SHA-256 of the brains that come from the same training as the policy's: those of
    other nodes of its network, which learned with it.
    """
    trainings: set[tuple[str | None, ...]] = set()
    for node in _policy_nodes(graph):
        if node.header is not None and "environment" in node.header.metadata:
            trainings.add(_training_of(node.header.metadata))
    found: set[str] = set()
    for node in graph.nodes.values():
        if node.header is None or node.brain_sha256 is None:
            continue
        if _training_of(node.header.metadata) in trainings:
            found.add(node.brain_sha256)
    return frozenset(found)


def _training_of(metadata: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return what is the same in the headers of all brains of a training, and in no other."""
    names = ("made_by", "workflow_sha256", "environment", "metrics")
    return tuple(metadata.get(name) for name in names)


def read_demonstrations(
    name: str,
    graph: Graph,
    network: Network,
    names: tuple[str, ...],
    corrected: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
) -> Demonstrations:
    """Read the labels of a data set, and show some of its samples to the policy if possible.

    Args:
        name: The user's data set.
        graph: The workflow with the policy as its region.
        network: The policy's network.
        names: The names of its outputs.
        corrected: Returns logits as they are turned into probabilities.
        rng: Chooses the samples.

    Raises:
        MinibrainsError: There is no such data set, or it has other actions.
    """
    load_arrow()
    data = DataSet.named(name)
    targets = _targets(graph, names)
    found = data.episodes()
    actions = found[0].actions
    if sorted(actions) != sorted(targets):
        found = data.episodes(actions=tuple(targets))  # which says how they differ
    # the header of a brain does not keep their order
    targets = {action: targets[action] for action in actions}
    choices = np.stack(list(targets.values()))
    infos: list[EpisodeInfo] = []
    for number in rng.permutation(len(found))[:LABELLED]:
        infos.append(found[number])
    columns: list[np.ndarray] = []
    for info in infos:
        samples = data.read(info)
        columns.append(samples.actions[samples.actionable != 0])
    labels = choices[np.concatenate(columns)]
    if not len(labels):
        raise MinibrainsError(
            f"the data set {name} has no sample in which an action has an effect; expected "
            "actionable to be linked where the data was collected"
        )
    preprocessing = _find_preprocessing(graph)
    if preprocessing is None or network.is_recurrent:
        return Demonstrations(labels=labels)
    return _shown(data, infos, labels, choices, preprocessing, graph, network, corrected, rng)


def _targets(graph: Graph, names: tuple[str, ...]) -> Mapping[str, np.ndarray]:
    """Return what a policy's outputs should be for each action of a data set: bool [outputs].

    They are the actions themselves, or the buttons that CloneButtons has written into its brain.
    """
    for node in _policy_nodes(graph):
        if node.header is not None and node.header.kind == ButtonHeadBrain.kind:
            return read_presses(node.header, names)
    return dict(zip(names, np.eye(len(names), dtype=bool), strict=True))


def _shown(
    data: DataSet,
    infos: list[EpisodeInfo],
    labels: np.ndarray,
    choices: np.ndarray,
    preprocessing: Preprocessing,
    graph: Graph,
    network: Network,
    corrected: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
) -> Demonstrations:
    """Look at some episodes as the training did, and ask the policy about them."""
    examples: list[EpisodeExamples] = []
    for info in infos[:EPISODES]:
        examples.append(
            preprocess(Job(data.folder, info, PreprocessingParts.of(preprocessing), ()))
        )
    joined = Examples(preprocessing, examples)
    rows = rng.choice(len(joined), min(SAMPLES, len(joined)), replace=False)
    assert graph.region is not None
    (link,) = graph.region.inputs
    frames = joined.frames(rows).astype(np.float32) / np.float32(255)
    name = f"{link.node}/{link.socket}"
    moments = Moments(inputs={name: frames})
    return Demonstrations(
        labels=labels,
        asked=choices[joined.labels[rows]],
        logits=corrected(network.answer(moments)),
        shuffled=corrected(network.answer_shuffled(moments, rng)),
        inputs={name: ChannelStatistics.of(frames)},
    )


def _find_preprocessing(graph: Graph) -> Preprocessing | None:
    """Return the way from a picture of a data set to what the policy was shown in training.

    None: its brain does not say, or the FighterMask has other colours now.
    """
    assert graph.region is not None
    metadata: Mapping[str, str] = {}
    for node in _policy_nodes(graph):
        if node.header is not None and "eyes" in node.header.metadata:
            metadata = node.header.metadata
    if not metadata or len(graph.region.inputs) != 1:
        return None
    settings = json.loads(metadata["eyes"])
    for node in graph.nodes.values():
        if not issubclass(node.cls, FighterMask) or node.brain is None:
            continue
        if node.brain_sha256 == settings["fighter_colors_sha256"]:
            return Preprocessing.of_settings(settings, FighterColors.load(node.brain))
    return None


def _encoding_of_environment(environment: Mapping[str, Any], graph: Graph) -> Encoding | None:
    """Return the encoding of the workflow in which a policy was trained; None: it is not there.

    Args:
        environment: What the header of a brain says of that workflow.
        graph: The workflow with the policy as its region.
    """
    assert graph.region is not None
    brains = dict(environment.get("brains", {}))
    # the brains that the policy's own nodes began with may be gone, and do not matter
    for name in brains.keys() & set(graph.region.nodes):
        brains[name] = graph.nodes[name].brain

    spec = RunSpec(environment["workflow"], widgets=environment.get("widgets", {}), brains=brains)
    registry, _ = spec.load_node_types()
    try:
        trained = spec.check(spec.load_workflow(), registry)
        places = [_first_of_type(trained, node.cls.__name__) for node in _policy_nodes(graph)]
        trained = trained.with_region(places, None)
    except MinibrainsError:
        return None
    assert trained.region is not None
    return find_encoding(trained, [link.node for link in trained.region.inputs])


def _first_of_type(graph: Graph, node_type: str) -> str:
    """Return the id of the first node of a type. Raises MinibrainsError if there is none."""
    for name, node in graph.nodes.items():
        if node.cls.__name__ == node_type:
            return name
    raise MinibrainsError(f"there is no {node_type}")


def _policy_nodes(graph: Graph) -> list[CheckedNode]:
    assert graph.region is not None
    return [graph.nodes[name] for name in graph.region.nodes]
