"""MergeLoRA: a model with its adapters, as one model."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from minibrains import Episode, Flag, Host, MinibrainsError, Register, widget
from minibrains.files import home, is_plain_name
from minibrains.tensors import as_array, torch_dtype
from nodes.language.lora import OwnAdapter, check_base, merged
from nodes.language.pretrained import VLMBrain, load_pretrained, weights_of


class Merged(NamedTuple):
    """The output of MergeLoRA."""

    finished: Flag


class MergeLoRA(Register, category="language", collects_data=True, terminal="finished"):
    """Add adapters to a model's weights, and save the result as a model of its own: it answers the
    same, and needs no adapter.

    adapters:  any number of LoRALoaders, all for this model
    finished:  True: the model is saved; this ends the episode

    The result is the brain `vlm/NAME.safetensors`, in `models` in $MINIBRAINS_HOME.
    """

    brain: VLMBrain
    name: str = widget(rebuild=True, doc="the name of the new brain")
    weights: Literal["f16", "f32"] = widget(
        default="f32",
        rebuild=True,
        doc="the type in which it stores the weights; f16 halves the file, and rounds them",
    )
    title: str = widget(default="", doc="the title in its header; empty: the name")
    license: str = widget(default="", doc="the licence in its header; empty: none is named")

    def check(self) -> None:
        if not is_plain_name(self.name):
            raise MinibrainsError(
                f"{self.name[:100]!r} cannot be the name of a brain; expected a plain file name"
            )

    def open(self, host: Host) -> None:
        if self.brain.ref is None:
            raise MinibrainsError("this model has no file to be loaded from; save it first")
        self._host, self._ref = host, self.brain.ref

    def reset(self, episode: Episode) -> None:
        self.finished = False

    def emit(self) -> Merged:
        return Merged(self.finished)

    def latch(self, adapters: list[OwnAdapter]) -> None:
        adapters = [adapter for adapter in adapters if adapter is not None]
        if not adapters:
            raise MinibrainsError("there is nothing to merge; link a LoRALoader to adapters")
        for adapter in adapters:
            check_base(self._ref, adapter)
        refs = [(adapter.ref, adapter.weight) for adapter in adapters]
        found = weights_of(merged(load_pretrained(self._ref).model, refs))
        tensors: dict[str, Any] = {}
        for name in self.brain.tensors:
            tensors[name] = as_array(found[name].to(torch_dtype(self.weights)))
        brain = VLMBrain(tensors, files=self.brain.files, answers=self.brain.answers)

        path = home() / "models" / "vlm" / f"{self.name}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        sha256 = brain.save(
            path,
            title=self.title or self.name,
            made_by=self._host.workflow.made_by,
            license=self.license,
            parents=[self._ref.sha256, *(ref.sha256 for ref, _ in refs)],
            adapter_weights=[weight for _, weight in refs],
        )
        self._host.say(f"saved the brain vlm/{path.name}, {sha256}")
        self._host.record(model=str(path), model_sha256=sha256)
        self.finished = True
