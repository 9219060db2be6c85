"""What is called what on the page of costs."""

from blocks import ModelConfig
from blocks.cost.hardware import HARDWARE
from blocks.model.devices import device_name
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from pages.ui import link, terms
from pages.ui.cost.counted import HERE
from pages.ui.language import _

PASSES = {
    "training": N_("training step"),
    "forward": N_("forward"),
    "prefill": N_("prefill · read a prompt"),
    "decode": N_("decode · generate one more token"),
}
USES = {"training": N_("training"), "inference": N_("inference")}
OPTIMIZERS = {
    "adam": "Adam",
    "sgd": "SGD",
    "momentum": N_("SGD with momentum"),
    "muon": "Muon",
}
OPERATIONS = {
    "scores": N_("scores Q·Kᵀ"),
    "values": N_("attention weights · V"),
}
CROSS = N_("cross: {part}")
NEEDS = {
    "weights": N_("weights"),
    "gradients": N_("gradients"),
    "master": N_("master weights"),
    "optimizer": N_("optimizer states"),
    "activations": N_("activations"),
    "cache": N_("KV cache"),
}
KEPT = {
    "layer_input": N_("inputs of the layers"),
    "norms": N_("norms: saved inputs"),
    "attention_in": N_("input of q, k and v"),
    "q_k_v": N_("queries, keys, values"),
    "qk_norm": N_("norms of queries and keys"),
    "rotation": N_("cosines and sines of RoPE"),
    "pattern": N_("attention weights"),
    "distances": N_("distances of the learned bias"),
    "mask": N_("additive mask"),
    "head_out": N_("outputs of the heads"),
    "dropout": N_("masks of dropout"),
    "feed_forward_in": N_("input of the feed-forward layer"),
    "routed": N_("inputs and outputs of the experts"),
    "hidden": N_("hidden values"),
    "token_ids": N_("token ids"),
    "embedding_norm": N_("embedding norm"),
    "final_norm": N_("final norm"),
    "unembed_in": N_("input of the output matrix"),
    "log_probs": N_("log-probabilities"),
    "working": N_("temporary, in the backward pass"),
}
VARIANTS = {
    "chosen": N_("as you chose"),
    "one_kv_head": N_("one key and value head"),
    "adam": "Adam",
    "sgd": "SGD",
    "momentum": N_("SGD with momentum"),
    "muon": "Muon",
}
TERMS = {
    "rule": N_("6·N·D"),
    "tables": N_("tables: looked up, not multiplied"),
    "vectors": N_("biases, norms: no matrix products"),
    "idle": N_("idle experts"),
    "pairs": N_("attention between tokens"),
    "rest": N_("the other half: left out"),
    "exact": N_("exact"),
    "recomputed": N_("recomputed"),
}


def pass_kind(kind: str) -> str:
    """A kind of step."""
    return _(PASSES[kind])


def use(name: str) -> str:
    """To train, or to use."""
    return _(USES[name])


def optimizer(name: str) -> str:
    """What steps the weights."""
    return _(OPTIMIZERS[name])


def operation(name: str) -> str:
    """A product of matrices, with its half of an encoder–decoder."""
    stack, _dot, rest = name.rpartition(".")
    base = rest.removeprefix("cross_")
    said = _(OPERATIONS[base]) if base in OPERATIONS else terms.part(base)
    said = _(CROSS).format(part=said) if rest.startswith("cross_") else said
    return _(terms.STACKS[stack]).format(part=said) if stack else said


def need(name: str) -> str:
    """What bytes are for."""
    return _(NEEDS[name])


def state(*, is_training: bool) -> str:
    """What there is however long the text."""
    return _("weights, gradients, states") if is_training else _("weights")


def term(name: str, config: ModelConfig) -> str:
    """What stands between the rule and the exact count."""
    if name == "rest" and config.architecture is Architecture.BLOCK:
        return _("gradient of the input: not needed")
    return _(TERMS[name])


def kept(name: str) -> str:
    """What waits for the way back."""
    stack, _dot, rest = name.rpartition(".")
    base = rest.removeprefix("cross_")
    said = _(CROSS).format(part=_(KEPT[base])) if rest.startswith("cross_") else _(KEPT[base])
    return _(terms.STACKS[stack]).format(part=said) if stack else said


def device(name: str) -> str:
    """A device of the table, or the one in front of the reader."""
    if name != HERE:
        return HARDWARE[name].title
    return _("this one: {device}").format(device=device_name(link.value("device")))


def variant(name: str, setup) -> str:
    """What is different in a bar; `setup` is what it is drawn for."""
    match name:
        case "checkpointing":
            return (
                _("with activation checkpointing")
                if setup.checkpointing
                else _("without activation checkpointing")
            )
        case "fused":
            return _("fused attention") if setup.fused else _("attention, eager")
        case "format":
            return str(setup.weight_format)
        case _:
            return _(VARIANTS.get(name, name))
