"""What can be said of a training once its end is known: the same parts, looked for at each step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy as mean_loss

from blocks.inspection.head_probe import KINDS, head_probe
from blocks.model.models import Encoder, build
from blocks.model.probe import listening
from blocks.model.randomness import generator
from blocks.observe.interventions import Intervention, Part, replacements
from blocks.observe.recording import Recorder
from blocks.phases import fourier
from blocks.phases.setups import MODULAR, Setup
from blocks.training.algorithms import FIRST, MODULUS, all_pairs
from blocks.training.loss import cross_entropy
from blocks.training.questions import QuestionTask
from blocks.training.task import IGNORED, Batch
from blocks.training.tasks import TaskKind, build_task
from blocks.weights.tensors import Weights, load_weights

Arrays = Mapping[str, NDArray[Any]]
FOUND_ABOVE = 0.5
N_SEEN = 24  # tokens of the row at which a head is looked at
N_ASKED = 64


@dataclass(frozen=True, eq=False)
class Hindsight:
    """Arrays by name, of which the first axis is the steps that were looked at.

    modular sums: `keys` (k − 1 of each key frequency), `energy` (steps, frequencies), `circle`
    (steps, keys, numbers, 2): the embedding in the plane in which a frequency turns in the end;
    losses `restricted`, `excluded`, `without_keys`, `without_others` (of the embedding without
    these frequencies, on all pairs).

    induction: `scores` (steps, heads, kinds of the head probe), `found` (numbers of the induction
    heads at the end, the strongest first), `without_found`, `without_one`: held-out losses where
    they, or the strongest alone, write nothing; `removed` (3, heads of a layer + 1): the losses at
    the end without the n first heads of `removal_orders`; `previous`: the head that looks back
    most; `head` (steps, query, key): the pattern of the strongest on the token ids `row`; `ov`,
    `qk` (steps, token, token).
    """

    arrays: Arrays


def hindsight(setup: Setup, seen: Sequence[Weights], seed: int) -> Hindsight:
    """Look back at the weights of each step."""
    model = build(setup.config, seed=0)
    assert isinstance(model, Encoder)
    with torch.no_grad():
        if setup.task.kind in MODULAR:
            return Hindsight(_of_sums(setup, model, seen))
        if setup.task.kind is TaskKind.INDUCTION:
            return Hindsight(_of_induction(setup, model, seen, seed))
        return Hindsight({})


def _of_sums(setup: Setup, model: Encoder, seen: Sequence[Weights]) -> Arrays:
    task = build_task(setup.task)
    assert isinstance(task, QuestionTask)
    batch, learned = task.posed(all_pairs()), ~task.splits(all_pairs())
    answers = batch.targets[:, -1] - FIRST
    sign = 1 if setup.task.kind is TaskKind.MODULAR_ADDITION else -1
    last = _numbers(seen[-1])
    keys = fourier.key_frequencies(last)
    others = _as_many_others(last, keys)
    basis = fourier.sum_waves(MODULUS, keys, sign)
    planes = fourier.planes(last, keys)

    def measured(weights: Weights) -> tuple[float, ...]:
        numbers = _numbers(weights)
        logits = _answers(_loaded(model, weights), batch)
        cut = [
            mean_loss(_answers(_embedding(model, fourier.without(numbers, each)), batch), answers)
            for each in (keys, others)
        ]
        restricted = fourier.restricted_loss(logits, answers, basis)
        excluded = fourier.excluded_loss(logits, answers, basis, learned)
        return restricted, excluded, *map(float, cut)

    names = ("restricted", "excluded", "without_keys", "without_others")
    losses = _over(seen, lambda weights: torch.tensor(measured(weights)))
    return {
        "keys": keys.numpy(),
        "energy": _over(seen, lambda weights: fourier.energy(_numbers(weights))),
        "circle": _over(
            seen, lambda weights: torch.einsum("pd,kdx->kpx", _numbers(weights).double(), planes)
        ),
        **{name: losses[:, i] for i, name in enumerate(names)},
    }


def _of_induction(setup: Setup, model: Encoder, seen: Sequence[Weights], seed: int) -> Arrays:
    config, task = setup.config, build_task(setup.task)
    batch = task.held_out(N_ASKED, generator(seed, "looked back"))
    scores = _over(seen, lambda weights: _scores(_loaded(model, weights)))
    at = scores[-1, :, KINDS.index("induction")]
    order = np.argsort(-at, kind="stable")
    found = order[: max(1, int((at > FOUND_ABOVE).sum()))]
    previous = int(scores[-1, :, KINDS.index("previous_token")].argmax())
    places = tuple(divmod(int(each), config.n_heads) for each in found)

    def cut(weights: Weights) -> Tensor:
        _loaded(model, weights)
        return torch.tensor([_loss_without(model, batch, each) for each in (places, places[:1])])

    losses = _over(seen, cut)
    leading, row = int(found[0]), _soonest(batch)
    removed = [
        [_loss_without(model, batch, order[:n]) for n in range(config.n_heads + 1)]
        for order in removal_orders(scores[-1], config.n_heads)
    ]
    return {
        "scores": scores,
        "found": found,
        "previous": np.array([previous]),
        "without_found": losses[:, 0],
        "without_one": losses[:, 1],
        "removed": np.array(removed, dtype=np.float32),
        "row": row[0].numpy(),
        "head": _over(seen, lambda weights: _pattern(_loaded(model, weights), row, leading)),
        "ov": _over(seen, lambda weights: ov_circuit(_loaded(model, weights), leading)),
        "qk": _over(seen, lambda weights: qk_circuit(_loaded(model, weights), leading, previous)),
    }


def removal_orders(scores: NDArray[np.float32], n: int) -> list[list[tuple[int, int]]]:
    """Heads of layer 2 by their induction score; of layer 1 by that of the token before, and up.

    `scores`: (heads, kinds of the head probe), of a model with n heads a layer.
    """
    induction, previous = (scores[:, KINDS.index(kind)] for kind in ("induction", "previous_token"))
    last = [(1, int(i)) for i in np.argsort(-induction[n:], kind="stable")]
    first = [(0, int(i)) for i in np.argsort(-previous[:n], kind="stable")]
    return [last, first, first[::-1]]


def ov_circuit(model: Encoder, number: int) -> Tensor:
    """What reading a token (column) adds to the logit of each token (row): W_U W_O W_V W_E.

    Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; norms are left out.
    """
    return _weight(model, "unembed") @ _moved(model, number)


def qk_circuit(model: Encoder, number: int, previous: int) -> Tensor:
    """The score of a query token (row) with a key whose previous token is the column.

    The key is what the `previous` head wrote there (K-composition, Elhage et al. 2021); norms and
    positions are left out.
    """
    layer, head = divmod(number, model.config.n_heads)
    at = f"layers.{layer}.attention."
    query, key = (_rows(_weight(model, at + each), head, model) for each in ("q_proj", "k_proj"))
    scores = (query @ _weight(model, "embed").T).T @ (key @ _moved(model, previous))
    return scores / model.config.d_head**0.5


def _moved(model: Encoder, number: int) -> Tensor:
    """What a head writes into the stream for each token that it reads: (d_model, vocab_size)."""
    layer, head = divmod(number, model.config.n_heads)
    at = f"layers.{layer}.attention."
    out = _rows(_weight(model, at + "out_proj").T, head, model)
    return out.T @ _rows(_weight(model, at + "v_proj"), head, model) @ _weight(model, "embed").T


def _weight(model: Encoder, path: str) -> Tensor:
    return model.get_parameter(f"{path}.weight")


def _rows(weight: Tensor, head: int, model: Encoder) -> Tensor:
    n = model.config.d_head
    return weight[head * n : (head + 1) * n]


def _loaded(model: Encoder, weights: Weights) -> Encoder:
    load_weights(model, weights)
    return model


def _numbers(weights: Weights) -> Tensor:
    """The rows of the numbers 0 to p − 1."""
    return weights["embed.weight"][FIRST:]


def _embedding(model: Encoder, numbers: Tensor) -> Encoder:
    """The model with these rows in the place of its own."""
    _weight(model, "embed")[FIRST:] = numbers
    return model


def _as_many_others(embedding: Tensor, keys: Tensor) -> Tensor:
    """As many of the other frequencies, the strongest: the control."""
    order = fourier.energy(embedding).argsort(descending=True)
    return order[~torch.isin(order, keys)][: len(keys)]


def _answers(model: Encoder, batch: Batch) -> Tensor:
    """The logits of the numbers after the equals sign: (batch, p)."""
    logits: Tensor = model(*batch.read)
    return logits[:, -1, FIRST:]


def _scores(model: Encoder) -> Tensor:
    return torch.tensor(head_probe(model, model.config).heads[list(KINDS)].to_numpy())


def _loss_without(model: Encoder, batch: Batch, places: Sequence[tuple[int, int]]) -> float:
    changes = [Intervention(part=Part.HEAD, layer=layer, head=head) for layer, head in places]
    with listening(Recorder((), replacements(changes))):
        return float(cross_entropy(model(*batch.read), batch.targets))


def _soonest(batch: Batch) -> Tensor:
    """The beginning of the row that repeats first: (1, N_SEEN)."""
    assert isinstance(batch.token_ids, Tensor)
    row = int((batch.targets != IGNORED).int().argmax(1).argmin())
    return batch.token_ids[row : row + 1, :N_SEEN]


def _pattern(model: Encoder, row: Tensor, number: int) -> Tensor:
    """Of one head, by its number through all layers: (query, key)."""
    recorder = Recorder({"pattern"}, {})
    with listening(recorder):
        model(row)
    return torch.cat([*recorder.tensors.values()], dim=1)[0, number]


def _over(seen: Sequence[Weights], measure: Callable[[Weights], Tensor]) -> NDArray[np.float32]:
    return np.stack([np.asarray(measure(weights), dtype=np.float32) for weights in seen])
