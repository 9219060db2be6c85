"""Words for changes inside the model: what was changed, and what came of it."""

from blocks.model.faults import N_
from blocks.observe.interventions import Intervention, InterventionKind, Part, heads_of
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.server import probed
from pages.show.interventions import measured
from pages.stage import interventions as state
from pages.stage import tokens
from pages.words.language import _, bracketed, listing, literal, ngettext, sentences
from pages.words.numbers import fine_percent
from pages.words.terms import STACKS

PARTS = {
    Part.HEAD: N_("one head"),
    Part.ATTENTION: N_("attention"),
    Part.CROSS_HEAD: N_("one head of cross-attention"),
    Part.CROSS_ATTENTION: N_("cross-attention"),
    Part.FEED_FORWARD: N_("feed-forward"),
    Part.STREAM: N_("the stream after the layer"),
}
KINDS = {
    InterventionKind.ZERO: N_("zeros (switched off)"),
    InterventionKind.MEAN: N_("its mean over the tokens"),
    InterventionKind.PATCH: N_("its value from another text"),
}
NOTHING = 1e-6
MOST_NAMED = 3  # changes in a sentence


def part(name: str) -> str:
    return _(PARTS[Part(name)])


def kind(name: str) -> str:
    """What passes instead."""
    return _(KINDS[InterventionKind(name)])


def change(run: Run, made: Intervention) -> str:
    """One change, said whole."""
    named = part_named(made)
    text = _("layer {layer}, {part} → {kind}")
    said = text.format(layer=from_one(made.layer), part=named, kind=kind(made.kind))
    if made.stack:
        said = _(STACKS[made.stack]).format(part=said)
    if made.token is None:
        return said
    n, token = _at(run, made)
    return _("{change} at token {n}, {token}").format(change=said, n=n, token=token)


def _at(run: Run, made: Intervention) -> tuple[int, str]:
    """The number of the token that is changed, and what stands there; 0 where all are."""
    if made.token is None:
        return 0, ""
    token = literal(run.input.labels[made.token])
    if made.kind is InterventionKind.PATCH and run.other:
        token = f"{token} ← {literal(run.other.labels[made.token])}"
    return from_one(made.token), token


def what_changed(run: Run) -> str:
    """What was changed, in a whole sentence where it is one thing."""
    made, n = run.interventions[:MOST_NAMED], len(run.interventions)
    if n > 1:
        named = [*(change(run, each) for each in made), *["…"] * (n > MOST_NAMED)]
        return _("Changes inside the model ({n}): {made}.").format(n=n, made=listing(named))
    (each,) = made
    where = _("layer {layer}").format(layer=from_one(each.layer))
    if each.stack:
        where = _(STACKS[each.stack]).format(part=where)
    text = _("In {where}, {part} is replaced with {kind}.")
    if each.token is not None:
        text = _("In {where}, {part} is replaced with {kind} at token {n}, {token}.")
    n, token = _at(run, each)
    return text.format(where=where, part=part_named(each), kind=kind(each.kind), n=n, token=token)


def part_named(made: Intervention) -> str:
    """What a changed part is called within its layer."""
    if made.head is None:
        return part(made.part)
    is_cross = made.part is Part.CROSS_HEAD
    text = _("cross-attention head {head}") if is_cross else _("head {head}")
    return text.format(head=from_one(made.head))


def of_heads(run: Run) -> str:
    """Why the pattern of a changed head is there all the same; empty where no head is changed."""
    if all(made.head is None for made in run.interventions):
        return ""
    return _(
        "The attention pattern of a changed head is still drawn as usual; only its output is "
        "replaced."
    )


def unit(run: Run) -> str:
    return _("bits (KL)") if measured.reads_tokens(run) else _("cosine distance")


def left_out(run: Run) -> str:
    """Which changes this model has no place for; nothing where all fit."""
    n = len(state.asked()) - len(run.interventions)
    text = ngettext(
        "{n} change ignored: it refers to a layer, head or token that does not exist here.",
        "{n} changes ignored: they refer to layers, heads or tokens that do not exist here.",
        n,
    )
    return text.format(n=n) if n else ""


def sentence(run: Run, token: int) -> str:
    """What is changed, and what that did to the output, in this run."""
    moved, made = measured.moved(run), what_changed(run)
    if max(moved) < NOTHING:
        return sentences(made, _("The output did not change."), _why_not(run))
    most = max(range(len(moved)), key=moved.__getitem__)
    text = ngettext(
        "The output changed at {changed} of {n} token, most at token {most}, {token}: "
        "{value:.3g} {unit}.",
        "The output changed at {changed} of {n} tokens, most at token {most}, {token}: "
        "{value:.3g} {unit}.",
        len(moved),
    )
    changed = sum(value > NOTHING for value in moved)
    label, value = literal(run.input.labels[most]), moved[most]
    said = text.format(
        n=len(moved), changed=changed, most=from_one(most), token=label, value=value, unit=unit(run)
    )
    return sentences(made, said, _at_pinned(run, token))


def _why_not(run: Run) -> str:
    if run.other == run.input:
        return _("The other text is the same as this one. Change a word in it.")
    return _("The changed part passed on the same values as before, or no later part reads them.")


def _at_pinned(run: Run, token: int) -> str:
    """What became of the likeliest token at the pinned one."""
    if not measured.reads_tokens(run):
        return ""
    row = measured.change(run).iloc[token]
    before, after = int(row["top_before"]), int(row["top_after"])
    if before == after:
        text = _(
            "At the pinned token, {before} is still the top prediction: {p_before} → {p_after}."
        )
    else:
        text = _(
            "At the pinned token, the top prediction is now {after} instead of {before}, "
            "whose probability changes from {p_before} to {p_after}."
        )
    return text.format(
        before=literal(tokens.label(run, before)),
        after=literal(tokens.label(run, after)),
        p_before=fine_percent(row["p_before"]),
        p_after=fine_percent(row["p_after"]),
    )


def effect_sentence(run: Run, token: int, worth: tuple[float, ...]) -> str:
    """Which part matters most for the pinned token."""
    most = max(range(len(worth)), key=worth.__getitem__)
    layer, name = place(run, most)
    text = _(
        "The output at {token} depends most on layer {layer}, {part}: without that part it "
        "changes by {value:.3g} {unit}. Click a cell to ablate that part on the whole page."
    )
    label = literal(f"{token + 1} · {run.input.labels[token]}")
    values = {"layer": from_one(layer), "part": name, "value": worth[most], "unit": unit(run)}
    said = [text.format(token=label, **values), _most_of_heads(run, worth)]
    if len(worth) < len(heads_of(run.config)):
        text = _("Parts tried so far: {n} of {all}.")
        said.insert(0, text.format(n=len(worth), all=len(heads_of(run.config))))
    return sentences(*said)


def _most_of_heads(run: Run, worth: tuple[float, ...]) -> str:
    """Which head matters most, where whole parts outshine them all."""
    every = heads_of(run.config)
    heads = [number for number in range(len(worth)) if every[number].head is not None]
    if not heads:
        return ""
    most = max(heads, key=worth.__getitem__)
    layer, name = place(run, most)
    text = _("Among the heads, {head} in layer {layer} matters most: {value:.3g} {unit}.")
    return text.format(layer=from_one(layer), head=name, value=worth[most], unit=unit(run))


def part_column(made: Intervention) -> str:
    return part(made.part) if made.head is None else str(from_one(made.head))


def place(run: Run, number: int) -> tuple[int, str]:
    """The layer (from 0) and the name of a part, counted through all layers."""
    made = heads_of(run.config)[number]
    badge = "" if made.head is None else probed.badge(run, made.layer, made.head)
    return made.layer, bracketed(part_named(made), badge) if badge else part_named(made)


def part_called(run: Run, number: int) -> str:
    layer, name = place(run, number)
    return _("layer {layer}, {part}").format(layer=from_one(layer), part=name)


def marked(run: Run) -> tuple[int, ...]:
    """The parts that are switched off now, counted through all layers."""
    every = heads_of(run.config)
    return tuple(every.index(made) for made in state.asked() if made in every)


def moved_alt(run: Run, token: int) -> str:
    """Write the alt text of the picture of the change."""
    moved = measured.moved(run)
    return _(
        "Change in the output at each token, in {unit}: largest {most:.3g}; at the "
        "pinned token {at:.3g}."
    ).format(unit=unit(run), most=max(moved), at=moved[token])


def candidates_alt(run: Run, token: int, n: int) -> str:
    """Write the alt text of the candidates."""
    rows = listing(
        f"{row.label} {fine_percent(row.p_before)} → {fine_percent(row.p_after)}"
        for row in each_row(measured.candidates(run, token, n))
    )
    text = _("Probabilities at {token} before and after the change: {rows}.")
    return text.format(token=run.input.labels[token], rows=rows)
