"""Sentences that read the masks and leak tests of this run, and what their pictures show."""

from collections.abc import Hashable

import numpy as np
import pandas as pd

from blocks.inspection.blind_rows import Treatment
from blocks.inspection.leaks import N_PROJECTIONS, AttentionPath, LeakTest, Verdict, known_leaks
from blocks.inspection.mask_faults import MaskFault
from blocks.inspection.mask_steps import of_kind
from blocks.model.faults import N_
from blocks.model.masks import MaskKind
from blocks.observe.run import Run
from pages.ui import terms
from pages.ui.language import _, enumeration, literal
from pages.ui.masks import measured
from pages.ui.masks.measured import Leaks

LONGEST_LABEL = 24
FAULTS = {
    MaskFault.NONE: N_("none: as configured"),
    MaskFault.WRONG_AXIS: N_("softmax over the wrong axis"),
    MaskFault.ADDITIVE: N_("−10,000 instead of −∞"),
    MaskFault.AFTER_SOFTMAX: N_("mask after the softmax"),
    MaskFault.OFF_BY_ONE: N_("off by one"),
    MaskFault.PADDING_ATTENDED: N_("padding attended to"),
}
WHAT_IT_DOES = {
    MaskFault.WRONG_AXIS: N_(
        "Each key shares its weight among the queries: columns sum to 1 instead of "
        "rows, so a weight depends on later queries."
    ),
    MaskFault.ADDITIVE: N_(
        "−10,000 is added to forbidden scores: enough while scores are small, too "
        "little where a forbidden score far exceeds the allowed ones or where a query "
        "cannot attend to any key."
    ),
    MaskFault.AFTER_SOFTMAX: N_(
        "Softmax sees all keys and the mask zeroes forbidden weights afterwards: they "
        "still take their share of the sum, so rows sum to less than 1."
    ),
    MaskFault.OFF_BY_ONE: N_(
        "The mask is one diagonal too wide: each query can attend to one more key, the "
        "one it has to predict."
    ),
    MaskFault.PADDING_ATTENDED: N_(
        "The mask does not know which tokens are padding: they are attended to like any other."
    ),
}
LEAKS = {
    "batchnorm": N_(
        "In training mode BatchNorm takes mean and variance over all tokens of the "
        "batch, later ones included: no mask can prevent that."
    ),
    "expert_capacity": N_(
        "With limited capacity, tokens compete for experts: where a token is routed "
        "depends on the others."
    ),
    "mean": N_(
        "A part was replaced by its mean over all tokens, later ones included: its "
        "output therefore depends on all of them."
    ),
}
TREATMENTS = {
    Treatment.ZEROS: N_("zeros (here)"),
    Treatment.MINUS_1E9: N_("−10⁹ added"),
    Treatment.LEAST: N_("filled with the smallest number"),
    Treatment.MINUS_INFINITY: N_("−∞ added"),
}


def fault(name: str) -> str:
    """What a planted fault is called."""
    return _(FAULTS[MaskFault(name)])


def what_it_does(name: MaskFault) -> str:
    """What the faulty code does."""
    return _(WHAT_IT_DOES[name])


def token(run: Run, place: int) -> str:
    """A token in a sentence: its number from 1, and what it is."""
    return f"{place + 1} {literal(run.input.labels[place])}"


def how(test: LeakTest) -> str:
    """How the test is done."""
    text = _(
        "Each token in turn is replaced by another (seed {seed}), and every output is "
        "compared with the original bit by bit. The gradient ‖∂output/∂input‖ is "
        "estimated from {n} random ±1 projections of the output (same seed); where it "
        "is 0, it is exactly 0."
    )
    return text.format(seed=test.change_seed, n=N_PROJECTIONS)


def path_note(run: Run, path: str, fault_name: str) -> str:
    """Why the path is not the one that was asked for; empty where it is."""
    if fault_name != MaskFault.NONE:
        return _(
            "The fault is planted in the softmax, so attention runs in eager mode, step by step."
        )
    if path == AttentionPath.FUSED and not measured.runs_fused(run):
        return _(
            "Dropout needs the attention weights, so attention runs in eager mode, step by step."
        )
    return ""


def tested(found: Leaks) -> str:
    """How much was tested, where that is not all."""
    n = len(found.test.run.input.labels)
    if len(found.tokens) == n == len(found.outputs):
        return ""
    text = _("Tested so far: {changed} of {n} tokens changed, gradients of {followed} outputs.")
    return text.format(changed=len(found.tokens), followed=len(found.outputs), n=n)


def reach(run: Run) -> str:
    """How many cells stay forbidden through all layers."""
    cells = measured.forbidden(run)
    n_one, n_all = int((~measured.open_cells(run)).sum()), int(cells.sum())
    if n_one == n_all:
        text = _("{n_all:,} of {cells:,} output–token pairs are forbidden through all layers.")
    else:
        text = _(
            "One layer forbids {n_one:,} of {cells:,} cells. Across {n_layers} layers "
            "and residual connections, {n_all:,} output–token pairs stay forbidden."
        )
    return text.format(n_one=n_one, n_all=n_all, cells=cells.size, n_layers=run.config.n_layers)


def verdict(found: Leaks) -> str:
    """What the test says of this model, in a sentence or two."""
    change = measured.by_change(found)
    gradient = measured.by_gradient(found) if found.followed else None
    if not change.n_forbidden:
        return _("Nothing is forbidden here, so nothing can leak: choose a mask to test.")
    if unknown := change.n_unknown + (gradient.n_unknown if gradient else 0):
        text = _("{n:,} forbidden cells are NaN, so the test is inconclusive: {why}")
        return text.format(n=unknown, why=_("the model itself overflows."))
    if change.is_clean and (gradient is None or gradient.is_clean):
        return _no_leak(change, gradient)
    return " ".join((_leak(found, change, gradient), *_reasons(found)))


def _no_leak(change: Verdict, gradient: Verdict | None) -> str:
    if gradient is None:
        text = _("No leak so far: all {n:,} forbidden cells are exactly 0 when tokens change.")
    else:
        text = _(
            "No leak: all {n:,} forbidden cells are exactly 0, both when tokens change "
            "and in the gradient."
        )
    return text.format(n=change.n_forbidden)


def _leak(found: Leaks, change: Verdict, gradient: Verdict | None) -> str:
    run = found.test.run
    by = change if change.n_leaking or gradient is None else gradient
    if change.n_leaking:
        text = _("Leak: output {output} changes by {worst:.3g} when token {token} changes.")
    else:
        text = _(
            "Leak: output {output} has a gradient of {worst:.3g} with respect to token {token}."
        )
    said = text.format(output=token(run, by.output), token=token(run, by.token), worst=by.worst)
    text = _("{leaking:,} of {forbidden:,} forbidden cells are not 0.")
    return f"{said} {text.format(leaking=by.n_leaking, forbidden=by.n_forbidden)}"


def _reasons(found: Leaks) -> list[str]:
    reasons = [_(LEAKS[name]) for name in known_leaks(found.test.run)]
    if not found.together:
        text = _("Another sequence of the same batch changes too, by {x:.3g}.")
        reasons.append(text.format(x=measured.mixing(found.test)))
    return reasons


def is_clean(found: Leaks) -> bool | None:
    """Whether nothing leaks; None where the test cannot say."""
    verdicts = [measured.by_change(found)]
    verdicts += [measured.by_gradient(found)] if found.followed else []
    if any(each.n_leaking for each in verdicts):
        return False
    return True if all(each.is_clean for each in verdicts) else None


def what_is_seen(found: Leaks) -> str:
    """What the two pictures show of this test."""
    change = measured.moved(found)
    allowed = ~measured.forbidden(found.test.run)[:, found.tokens]
    seen = change[allowed & np.isfinite(change)]
    text = _(
        "{moving:,} of {n:,} allowed cells change, by up to {most:.3g}. Hatched cells "
        "are forbidden and must stay exactly 0."
    )
    most = float(seen.max()) if len(seen) else 0.0
    return text.format(n=int(allowed.sum()), moving=int((seen > 0).sum()), most=most)


def no_matter(run: Run, name: MaskFault) -> str:
    """Why a planted fault does nothing in this setting."""
    if not measured.forbidden(run).any():
        return _("Nothing is forbidden here, so this fault cannot leak anything.")
    if name is MaskFault.PADDING_ATTENDED:
        return _(
            "This mask hides no padding that anything could attend to: the fault changes nothing."
        )
    if name is MaskFault.ADDITIVE:
        return _("With scores of this size −10,000 is enough: nothing leaks.")
    return _("In this setting the fault leaks nothing.")


def lead(run: Run) -> str:
    """How large scores must be for −10,000 to be too little."""
    found = measured.lead(run)
    if found.largest <= 0:
        return _(
            "In layer 1 no forbidden score exceeds the best allowed one, so −10,000 is "
            "enough there at any size of the scores."
        )
    text = _(
        "In layer 1 a forbidden score exceeds the best allowed one of its query by at "
        "most {lead:.2f}. In {dtype}, −10,000 holds up to about {bearable:,.0f}: scores "
        "would have to be {scale:,.0f} times as large."
    )
    return text.format(
        lead=found.largest, bearable=found.bearable, scale=found.scale, dtype=run.dtype
    )


def row_sums(run: Run, layer: int, head: int, name: MaskFault, scale: int) -> str:
    """What the fault does to one head, in numbers."""
    _scores, pattern = measured.steps(run, layer, head, name, scale)
    is_open = measured.open_cells(run)
    sums = pattern.sum(axis=1)
    text = _(
        "Rows sum to {least:.3f} to {most:.3f}; {share:.1%} of all weight lies on forbidden cells."
    )
    if not np.isfinite(pattern).all():
        return _("Some of its weights are NaN.")
    total = max(float(pattern.sum()), 1e-30)
    share = float(pattern[~is_open].sum()) / total
    return text.format(least=float(sums.min()), most=float(sums.max()), share=share)


def kinds_note(run: Run) -> str:
    """How to read the small masks, and what they cannot show for this input."""
    note = _(
        "Blue cells are allowed, grey ones forbidden. Choose a mask by a click, or by name above."
    )
    if not run.input.n_padding:
        note += " " + _("This input has no padding token, so padding masks hide nothing.")
    return note


def steps_sentence(run: Run, layer: int, head: int, query: int) -> str:
    """What the mask changes for the pinned query of this head."""
    is_open = measured.open_cells(run)[query]
    scores, pattern = measured.steps(run, layer, head)
    said = _("Query {query} may attend to {n} of {all} keys.")
    begun = said.format(query=token(run, query), n=int(is_open.sum()), all=len(is_open))
    if not is_open.any():
        return " ".join((begun, _("Its row is all zeros: attention adds nothing there.")))
    if not np.isfinite(scores[query]).all():
        return " ".join((begun, _("Some of its scores are too large for this number format.")))
    key = int(pattern[query].argmax())
    text = _("Its largest weight, {weight:.3f}, goes to key {key}.")
    most = text.format(key=token(run, key), weight=float(pattern[query, key]))
    return f"{begun} {most} {_without_mask(run, layer, head)}"


def _without_mask(run: Run, layer: int, head: int) -> str:
    """What the softmax would have given to keys that are forbidden."""
    scores, _pattern = measured.steps(run, layer, head)
    is_open = measured.open_cells(run)
    if not np.isfinite(scores).all() or is_open.all():
        return ""
    rows = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    shares = np.where(is_open, 0, rows).sum(axis=1) / rows.sum(axis=1)
    text = _(
        "Without the mask, keys that are forbidden would take {mean:.0%} of the weight of this "
        "head, and {most:.0%} at query {query}."
    )
    worst = int(shares.argmax())
    return text.format(mean=shares.mean(), most=shares[worst], query=token(run, worst))


def blind_sentence(run: Run, layer: int, head: int, query: int, is_real: bool) -> str:
    """What becomes of a query that may see no key."""
    if is_real:
        text = _("Query {query} cannot attend to any key in this run.")
    else:
        text = _("Every query can attend to some key in this run. Suppose query {query} could not.")
    spoiled = measured.spoiled_outputs(run, layer, head, query)
    rest = _(
        "A row of −∞ gives 0/0 = NaN; from this row of head {head} in layer {layer} NaN "
        "spreads to {n} of {all} outputs, since 0 × NaN is NaN: a mask in a later layer "
        "does not stop it."
    )
    rest = rest.format(head=head, layer=layer + 1, n=spoiled, all=len(run.input.labels))
    return f"{text.format(query=token(run, query))} {_by_1e9(run, layer, head, query)} {rest}"


def _by_1e9(run: Run, layer: int, head: int, query: int) -> str:
    row = measured.blind_rows(run, layer, head, query)[list(Treatment).index(Treatment.MINUS_1E9)]
    if not np.isfinite(row).all():
        return _("In {dtype} −10⁹ is out of range and becomes −∞.").format(dtype=run.dtype)
    if np.ptp(row) < 1e-3 / len(row):
        text = _(
            "Adding −10⁹ wipes out the scores in {dtype}: all {n} keys get {weight:.4f} "
            "each, padding and later tokens included."
        )
    else:
        text = _(
            "Adding −10⁹ to all scores changes nothing in {dtype}: the row attends to all {n} "
            "keys as if there were no mask."
        )
    return text.format(dtype=run.dtype, n=len(row), weight=float(row.mean()))


def cross_sentence(n_queries: int, n_tokens: int, n_padding: int, seed: int) -> str:
    """What the rectangle shows."""
    text = _(
        "{n_queries} queries of this input attend to {n_keys} keys of another sequence, "
        "{n_padding} of them padding: those columns are masked for every query, and "
        "each row spreads its weight over the {n_tokens} tokens. Queries and keys are "
        "random here (seed {seed})."
    )
    return text.format(
        n_queries=n_queries,
        n_keys=n_tokens + n_padding,
        n_padding=n_padding,
        n_tokens=n_tokens,
        seed=seed,
    )


def kinds_alt(run: Run, *_more: Hashable) -> str:
    """The small masks in words."""
    counts = []
    for kind in MaskKind:
        n_open = int(measured.open_cells(of_kind(run, kind)).sum())
        counts.append(f"{terms.option(kind)} {n_open}")
    text = _("Masks of this input side by side, with the number of allowed cells: {counts}.")
    return text.format(counts=enumeration(counts))


def mask_alt(run: Run, *_more: Hashable) -> str:
    """The large mask in words."""
    is_open = measured.open_cells(run)
    text = _("Mask {mask}: {n:,} of {all:,} cells are allowed; queries down, keys across.")
    name = terms.option(run.mask.mask_kind)
    return text.format(mask=name, n=int(is_open.sum()), all=is_open.size)


def scores_alt(run: Run, layer: int, head: int, *_more: Hashable) -> str:
    """The scores in words."""
    scores, _pattern = measured.steps(run, layer, head)
    finite = scores[np.isfinite(scores)]
    text = _("Scores of head {head} before the mask, {least:.2f} to {most:.2f}.")
    least, most = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    return text.format(head=head, least=least, most=most)


def pattern_alt(run: Run, layer: int, head: int, *_more: Hashable) -> str:
    """The pattern in words."""
    text = _(
        "Attention weights of head {head} in layer {layer} after the mask; queries down, "
        "keys across."
    )
    return text.format(head=head, layer=layer + 1)


def moved_alt(found: Leaks, *_more: Hashable) -> str:
    """The first leak picture in words."""
    begun = _("How much each output changes when one token changes.")
    return f"{begun} {verdict(found)}"


def gradient_alt(found: Leaks, *_more: Hashable) -> str:
    """The second leak picture in words."""
    begun = _("Gradient of each output with respect to each token.")
    return f"{begun} {verdict(found)}"


def blind_alt(run: Run, layer: int, head: int, query: int) -> str:
    """The rows without a key in words."""
    rows = measured.blind_rows(run, layer, head, query)
    said = [
        f"{_(TREATMENTS[treatment])}: "
        + (
            _("{least:.3f} to {most:.3f}").format(least=float(row.min()), most=float(row.max()))
            if np.isfinite(row).all()
            else _("NaN")
        )
        for treatment, row in zip(Treatment, rows, strict=True)
    ]
    return _("Weights of a query that sees no key: {rows}.").format(rows="; ".join(said))


def cross_alt(*_more: Hashable) -> str:
    """The rectangle in words."""
    return _("Attention over another, padded sequence: padding columns are masked.")


def unit(run: Run) -> str:
    """What an output is made of."""
    return _("max |Δ logit|") if run.config.architecture.reads_tokens else _("max |Δ output|")


def treatments() -> list[str]:
    """What the ways of masking a whole row are called."""
    return [_(TREATMENTS[treatment]) for treatment in Treatment]


def in_picture(run: Run, place: int) -> str:
    """A token in the title of a picture: plain, Plotly takes markup otherwise."""
    label = run.input.labels[place]
    shown = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"{place + 1} {escaped}"


def frame(found: Leaks) -> pd.DataFrame:
    """One row a pair of output and changed token, to take away."""
    change, cells = measured.moved(found), measured.forbidden(found.test.run)
    rows = [
        (output, found.tokens[column], bool(cells[output, found.tokens[column]]), x)
        for (output, column), x in np.ndenumerate(change)
    ]
    table = pd.DataFrame(rows, columns=["output", "token", "is_forbidden", "moved"])
    if not found.followed:
        return table
    slopes = [
        (output, token, x)
        for (row, token), x in np.ndenumerate(measured.gradients(found))
        for output in (found.outputs[row],)
    ]
    gradient = pd.DataFrame(slopes, columns=["output", "token", "gradient"])
    return table.merge(gradient, how="left", on=["output", "token"])
