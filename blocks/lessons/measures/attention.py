"""What heads do."""

import torch

from blocks.inspection.head_steps import HeadSteps, attention_steps, head_steps
from blocks.inspection.scaling import N_KEYS, random_sharpness
from blocks.lessons.maps import Map
from blocks.lessons.place import Place
from blocks.model.masks import everyone

WIDEST = 4096


def weight(at: Place, *, layer: int = 0, head: int = 0, query: int = -1, key: int = 0) -> float:
    """The attention weight of a query on a key, from 0; query −1 is the last."""
    return float(_row(at, layer, head, query)[key])


def weights(at: Place, *, layer: int = 0, head: int = 0, query: int = -1) -> tuple[float, ...]:
    """The weights of a query on all keys."""
    return tuple(_row(at, layer, head, query).tolist())


def _row(at: Place, layer: int, head: int, query: int) -> torch.Tensor:
    """The weights of a query on all keys: (key,)."""
    n = at.seen.pattern_shape(layer)[2]
    row = slice(range(n)[query], range(n)[query] + 1)
    return at.seen.pattern(layer, heads=slice(head, head + 1), queries=row)[0, 0, 0].float()


def cross_weights(
    at: Place, *, layer: int = 0, head: int = 0, query: int = -1
) -> tuple[float, ...]:
    """The weights of a target token on all source tokens."""
    pattern = at.seen.tensor("cross_pattern", layer, stack="decoder")
    return tuple(pattern[0, head, query].float().tolist())


def weight_map(at: Place, *, layer: int = 0, head: int = 0) -> Map:
    """All weights of a head, a row a query."""
    return _rows(at.seen.pattern(layer, heads=slice(head, head + 1))[0, 0])


def cross_map(at: Place, *, layer: int = 0, head: int = 0, key: int = -1) -> Map:
    """All weights of target tokens on source tokens; with a `key`, those on it, beside zeros."""
    pattern = at.seen.tensor("cross_pattern", layer, stack="decoder")[0, head]
    if key >= 0:
        pattern = pattern * (torch.arange(pattern.shape[1], device=pattern.device) == key)
    return _rows(pattern)


def _rows(pattern: torch.Tensor) -> Map:
    return tuple(map(tuple, pattern.float().tolist()))


def head_vector(
    at: Place, *, of: str = "q", layer: int = 0, head: int = 0, token: int = -1
) -> tuple[float, ...]:
    """The query, key or value (`of`: q, k, v) of a token in a head."""
    if of not in ("q", "k", "v"):
        raise KeyError(of)
    return tuple(getattr(_steps(at, layer, head), of)[token].tolist())


def score(at: Place, *, layer: int = 0, head: int = 0, query: int = -1, key: int = 0) -> float:
    """q · k / √d_head, before mask and softmax."""
    return float(_steps(at, layer, head).scaled[query, key])


def score_by_hand(
    at: Place, *, layer: int = 0, head: int = 0, query: int = -1, key: int = 0, digits: int = 3
) -> float:
    """The same of q and k rounded to so many digits, which is what a question gives of them."""
    steps = _steps(at, layer, head)
    pairs = zip(steps.q[query].tolist(), steps.k[key].tolist(), strict=True)
    dot = sum(round(q, digits) * round(k, digits) for q, k in pairs)
    return float(dot / steps.q.shape[-1] ** 0.5)


def dot_product(
    at: Place, *, layer: int = 0, head: int = 0, query: int = -1, key: int = 0
) -> float:
    """q · k, not yet divided."""
    return float(_steps(at, layer, head).raw[query, key])


def asymmetry(at: Place, *, layer: int = 0, head: int = 0, query: int = -1, key: int = 0) -> float:
    """How far q · k is from that of the two tokens with their roles exchanged."""
    raw = _steps(at, layer, head).raw
    return abs(float(raw[query, key] - raw[key, query]))


def entropy_bits(at: Place, *, layer: int = 0, head: int = 0, query: int = -1) -> float:
    """How spread the weights of a query are: 0 is one key, log₂ n is n keys alike."""
    pattern = _row(at, layer, head, query)
    return float(torch.special.entr(pattern).sum() / torch.log(torch.tensor(2.0)))


def head_share(at: Place, *, layer: int = 0, head: int = 0, of: str = "previous_token") -> float:
    """The share of a head's weight on what `of` names.

    first_token, same_token, previous_token, induction.
    """
    labels = at.run.input.labels
    table = at.seen.heads(at.run.build_mask(layer), layer, labels)
    return float(table[of][head])


def score_std(at: Place, *, d: int, is_scaled: bool = False) -> float:
    """The standard deviation of q · k of random vectors of `d` features, N(0, 1)."""
    return _random(at, d, "score_std", is_scaled)


def largest_weight(at: Place, *, d: int, is_scaled: bool = False) -> float:
    """The mean of the largest weight that softmax makes of such scores among 16 keys."""
    return _random(at, d, "largest_weight", is_scaled)


def softmax_slope(at: Place, *, d: int, is_scaled: bool = False) -> float:
    """Σ p(1 − p): how much the weights still answer to their scores; near 0, nothing is learned."""
    return _random(at, d, "slope", is_scaled)


def hidden_cells(at: Place, *, layer: int = 0) -> float:
    """The share of all pairs of query and key that the mask hides."""
    n = at.run.input.shape[1]
    mask = at.run.build_mask(layer)
    if mask is None:
        return 0.0
    return 1 - float(mask.reshape(-1, *mask.shape[-2:])[0].expand(n, n).float().mean())


def _steps(at: Place, layer: int, head: int) -> HeadSteps:
    model = at.model(at.run)
    replace = at.run.replacements(model)
    mask = at.run.build_mask()
    found = attention_steps(at.seen, model, at.config, layer, mask, replace=replace)
    return head_steps(found, head)


def _random(at: Place, d: int, column: str, is_scaled: bool) -> float:
    if not 1 <= d <= WIDEST:
        raise ValueError(f"d must be 1 to {WIDEST}")
    mask = everyone(N_KEYS)
    table = random_sharpness(mask, at.run.seed, (int(d),))
    return float(table.loc[table["is_scaled"] == is_scaled, column].iloc[0])
