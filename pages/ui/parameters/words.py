"""Sentences of the page of parameters, computed from what is set, and pictures in words."""

from math import isfinite

import streamlit as st

from blocks import ModelConfig
from blocks.cost.breakdown import Kind
from blocks.cost.fitting import MOST_BUILT, can_build
from blocks.cost.growth import Share
from blocks.cost.memory import bytes_text
from blocks.inspection.weight_values import N_BINS
from blocks.model import devices
from blocks.observe.run import Run
from pages.ui import cached, terms
from pages.ui.language import _, enumeration
from pages.ui.numbers import percent
from pages.ui.parameters import amounts, counted, measured, names, pieces
from pages.ui.settings import memory_budget
from pages.ui.words import parameter_count


def total(config: ModelConfig) -> None:
    """The total, whether formula and model agree, and what of it a token meets."""
    found = counted.total(config)
    with st.container(horizontal=True, vertical_alignment="center", key="parameter_count"):
        st.markdown(f"## {found:,}", width="content")
        if not can_build(config):
            st.badge(_("by formula"), icon=":material/functions:")
        elif cached.counted_parameters(config) == found:
            st.badge(_("formula = counted"), color="green", icon=":material/check:")
        else:
            text = _("formula {formula:,}, counted {counted:,}")
            said = text.format(formula=found, counted=cached.counted_parameters(config))
            st.badge(said, color="red")
    st.markdown(" · ".join(_in_brief(config)))


def _in_brief(config: ModelConfig) -> list[str]:
    found, active = counted.total(config), counted.active(config)
    said = [_("parameters")]
    if active < found:
        text = _("each token uses **{active:,}** of them ({share})")
        said.append(text.format(active=active, share=amounts.share(active, found)))
    if config.architecture.reads_tokens:
        said.append(_tied(config))
    in_two_bytes = bytes_text(counted.bytes_in(found, "bfloat16"))
    said.append(_("in bfloat16 **{size}**").format(size=in_two_bytes))
    return said


def _tied(config: ModelConfig) -> str:
    is_tied = config.vocabulary.tie_embeddings
    other = counted.total(config.replace(tie_embeddings=not is_tied))
    text = _("tied; if not, **{n:,}**") if is_tied else _("not tied; if it were, **{n:,}**")
    return text.format(n=other)


def breakdown_sentence(config: ModelConfig) -> str:
    """Where most of it is, and how little the small parts are."""
    found, whole = counted.kinds(config), counted.total(config)
    if not found:
        return _("This model has no parameters at all.")
    largest = max(found, key=found.__getitem__)
    text = _("The largest part is {kind}: {share} of all.")
    said = [text.format(kind=names.kind(largest), share=amounts.share(found[largest], whole))]
    rows = counted.rows(config)
    biases = sum(row.count for row in rows if row.part.endswith("bias") and row.kind != "position")
    norms = found.get(Kind.NORM, 0)
    text = _("Norms hold {norms:,} ({norm_share}), biases {biases:,} ({bias_share}).")
    shares = {
        "norm_share": amounts.share(norms, whole),
        "bias_share": amounts.share(biases, whole),
    }
    said.append(text.format(norms=norms, biases=biases, **shares))
    if config.architecture.reads_tokens:
        said.append(_tables(config))
    return " ".join(said)


def _tables(config: ModelConfig) -> str:
    found, whole = counted.kinds(config), counted.total(config)
    ends = found.get(Kind.EMBEDDING, 0) + found.get(Kind.OUTPUT, 0)
    text = _("Token embedding and output matrix hold {share}.")
    if config.vocabulary.tie_embeddings:
        text = _("The token embedding holds {share}; input and output are tied, so it counts once.")
    return text.format(share=amounts.share(ends, whole))


def opened_sentence(run: Run, view: str, path: str) -> str:
    """What is opened: how much it is, and of one layer."""
    nodes = pieces.path_of(run, view, path)
    whole, found = nodes[0].count, nodes[-1].count
    if len(nodes) == 1:
        return _("Click a piece to open it: it then fills the width. All widths are exact.")
    label = names.node(nodes[-1])
    text = _("Opened: {piece}, {count:,} parameters, {share} of the model.")
    return text.format(piece=label, count=found, share=amounts.share(found, whole))


def breakdown_alt(run: Run, view: str, path: str) -> str:
    """The rows of bars in words."""
    top, *rest = pieces.levels(run, view, path)
    below = rest[0] if rest else top
    rows = "; ".join(f"{label} {said}" for _start, _count, _short, label, said, *_more in below)
    return _("Breakdown of {whole}: {rows}.").format(whole=top[0][3], rows=rows)


def changes_sentence(config: ModelConfig) -> str:
    """What heads change, and what changes most."""
    whole = counted.total(config)
    delta = {change.name: change.total - whole for change in counted.changes(config)}
    said = []
    if delta.get("twice_the_heads") == 0 or delta.get("half_the_heads") == 0:
        said.append(_("The number of heads changes nothing: heads share the same matrices."))
    small = [name for name in ("no_biases", "no_norms") if name in delta]
    if small and whole:
        share = -sum(delta[name] for name in small) / whole
        text = _("Biases and norms together are {share} of the model.")
        if len(small) == 1:
            text = _("All norms together are {share} of the model.")
        said.append(text.format(share=percent(share)))
    for name in ("tied", "untied"):
        if name in delta:
            text = _("Weight tying saves {n:,} parameters: vocab_size · d_model.")
            said.append(text.format(n=abs(delta[name])))
    return " ".join(said)


def changes_alt(run: Run) -> str:
    """The bars of changes in words."""
    whole = counted.total(run.config)
    rows = "; ".join(
        f"{names.change(change.name)} {amounts.signed(change.total - whole)}"
        for change in counted.changes(run.config)
    )
    return _("Change in parameters: {rows}.").format(rows=rows)


def growth_sentence(config: ModelConfig) -> str:
    """How the share of embeddings falls, over width and over depth."""
    own = counted.over(config, "d_model").set_index("d_model").loc[config.d_model]
    text = _(
        "Here embeddings hold {embeddings}, attention {attention}, feed-forward {feed_forward}."
    )
    shares = {str(name): percent(float(own[name])) for name in Share}
    said = [text.format(**{name: shares[name] for name in shares if name != "rest"})]
    if own[Share.EMBEDDINGS] > 0:
        wide = counted.over(config, "d_model").iloc[-1]
        deep = counted.over(config, "n_layers").iloc[-1]
        text = _(
            "Embeddings grow with d_model, layers with its square: at d_model "
            "{d_model:,} embeddings hold {wide}, and with {n_layers} layers at today's "
            "width {deep}."
        )
        ends = {"d_model": int(wide["d_model"]), "n_layers": int(deep["n_layers"])}
        shares = {"wide": percent(wide[Share.EMBEDDINGS]), "deep": percent(deep[Share.EMBEDDINGS])}
        said.append(text.format(**ends, **shares))
    return " ".join(said)


def growth_alt(run: Run, size: str) -> str:
    """The areas in words."""
    table = counted.over(run.config, size)
    first, last = table.iloc[0], table.iloc[-1]
    text = _("Shares against {size}: from {first} ({before}) to {last} ({after}).")
    before, after = (
        enumeration(f"{names.share(name)} {percent(float(row[name]))}" for name in Share)
        for row in (first, last)
    )
    ends = {"first": f"{int(first[size]):,}", "last": f"{int(last[size]):,}"}
    return text.format(size=size, before=before, after=after, **ends)


def published_sentence(config: ModelConfig) -> str:
    """Between which published models this one stands."""
    own = counted.total(config)
    below = [each for each in counted.published() if each.total < own]
    above = [each for each in counted.published() if each.total > own]
    same = [each for each in counted.published() if each.total == own]
    if same:
        text = _("As large as {title}, down to the last parameter.")
        return text.format(title=_(same[0].title))
    if below and above:
        text = _("Yours, {own:,}, lies between {below} and {above}.")
        return text.format(own=own, below=_(below[-1].title), above=_(above[0].title))
    text = _("Yours, {own:,}, is {times} times {title}, the largest here.")
    if not below:
        text = _("Yours, {own:,}, is {times} times {title}, the smallest here.")
    end = below[-1] if below else above[0]
    return text.format(own=own, times=f"{own / end.total:.2g}", title=_(end.title))


def published_alt(run: Run) -> str:
    """The dots in words."""
    rows = "; ".join(f"{_(each.title)} {each.total:,}" for each in counted.published())
    text = _("Parameters of published models on a logarithmic axis: {rows}; yours {own:,}.")
    return text.format(rows=rows, own=counted.total(run.config))


def values_sentence(run: Run, moments) -> str:
    """Where weights spread most and least, and what they are."""
    rows = moments[moments["kind"] != Kind.NORM].dropna()
    said = [_whose(run)]
    if len(rows) > 1:
        widest, narrowest = rows.loc[rows["std"].idxmax()], rows.loc[rows["std"].idxmin()]
        text = _(
            "The widest distribution is that of {wide} (σ = {most:.3g}), the narrowest "
            "that of {narrow} ({least:.3g})."
        )
        ends = {"wide": names.kind(widest["kind"]), "narrow": names.kind(narrowest["kind"])}
        said.append(text.format(**ends, most=widest["std"], least=narrowest["std"]))
    tails = rows[rows["outside"] > 0]
    if len(tails):
        share = tails["outside"].sum() / rows["count"].sum()
        said.append(
            _("{n:,} values ({share}) lie beyond 5 σ; the table lists the largest.").format(
                n=int(tails["outside"].sum()), share=percent(share)
            )
        )
    return " ".join(said)


def _whose(run: Run) -> str:
    if run.weights:
        return _("The weights are trained.")
    text = _("The weights are random: {how}, seed {seed}.")
    return text.format(how=terms.option(run.config.initialization), seed=run.seed)


def too_large(run: Run) -> str:
    """Why the weights are not drawn here, with the numbers; nothing where they can be."""
    if not can_build(run.config):
        text = _(
            "To inspect the values the model must be built, and more than {most} "
            "layers, counting every expert, are not built here. Choose fewer layers."
        )
        return text.format(most=MOST_BUILT)
    need, budget = measured.need(run), memory_budget()
    if need <= budget:
        return ""
    text = _(
        "To inspect the values the model must be built, which takes {need}, more than "
        "the {budget} allowed here. Choose a smaller model, or fewer layers."
    )
    return text.format(need=bytes_text(need), budget=bytes_text(budget))


def building_note(run: Run) -> str:
    """Why a large model waits for the reader."""
    text = _("This first samples {n:,} weights ({size}) and takes a moment.")
    n = counted.total(run.config)
    return text.format(n=n, size=bytes_text(n * devices.DTYPES[run.dtype].itemsize))


def values_note(run: Run) -> str:
    """How it was counted."""
    text = _(
        "Every weight is counted, on {device}, in {bins} bins over the range of values, "
        "at most 5 σ from the mean; solid: mean, dotted: ±σ (standard deviation)."
    )
    return text.format(device=devices.device_name(run.device), bins=N_BINS)


def values_alt(run: Run) -> str:
    """The histograms in words."""
    return spread_alt(measured.values(run).moments)


def spread_alt(moments) -> str:
    """Mean and σ of each kind in words."""
    rows = "; ".join(f"{names.kind(row.kind)} {_spread(row)}" for row in moments.itertuples())
    return _("Distribution of the weights, mean ± σ by kind: {rows}.").format(rows=rows)


def _spread(row) -> str:
    return f"{row.mean:.3g} ± {row.std:.3g}" if isfinite(row.std) else _("not finite")


def caption(config: ModelConfig) -> str:
    """What was set, under pictures that are taken away."""
    return parameter_count(config)
