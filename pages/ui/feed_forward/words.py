"""Sentences that read the wide layer of this run, and its pictures in words."""

import html

import pandas as pd

from blocks.inspection.activations import RELU_KINDS
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import terms
from pages.ui.cost.flop_words import capacity_note
from pages.ui.feed_forward import measured
from pages.ui.language import _, enumeration, literal
from pages.ui.numbers import percent

ROUNDING = 1e-4  # of the output's size, in float32 and more
COARSE_ROUNDING = 0.05  # in 16 bits


def where(run: Run, layer: int, expert: int) -> str:
    """Which wide layer the numbers are of, and whether its weights were learned."""
    text = _("Layer {layer}").format(layer=layer + 1)
    if run.config.n_experts > 1:
        n = measured.n_given(run, layer, expert)
        text += ", " + _("expert {expert} with the {n} tokens routed to it").format(
            expert=expert, n=n
        )
    return f"{text}, {weights(run)}"


def weights(run: Run) -> str:
    """Trained, or random and from which seed."""
    return _("trained weights") if run.weights else _("random weights, seed {n}").format(n=run.seed)


def shape(run: Run) -> str:
    """What the layer is, in a line."""
    config = run.config
    text = _(
        "{d_model:,} → {d_ff:,} → {d_model:,} · {activation} · {n:,} parameters in each layer; all "
        "feed-forward layers together hold {share} of the model."
    )
    kind = terms.option(measured.activation(run))
    experts = _("{n} experts, {k} active").format(n=config.n_experts, k=config.n_active_experts)
    return text.format(
        d_model=config.d_model,
        d_ff=config.d_ff,
        activation=kind if config.n_experts == 1 else f"{kind} · {experts}",
        n=measured.count_wide(config),
        share=percent(measured.share_of_model(run)),
    )


def definition(run: Run, layer: int, expert: int) -> str:
    """What dead and saturated mean here, exactly."""
    is_relu = measured.activation(run) in RELU_KINDS
    off = _("φ(z) = 0") if is_relu else _("|φ(z)| < 0.01")
    text = _(
        "At a token, a unit is **active** where z > 0, **off** where {off}, and "
        "**saturated** where |φ′(z)| < 0.01, so that hardly any gradient passes. "
        "**Dead** means off at all {n} tokens of this input (padding included); another "
        "input may revive it."
    )
    return text.format(off=off, n=measured.n_given(run, layer, expert))


def bend_sentence(run: Run, layer: int, expert: int) -> str:
    """Where the units of this run live on the bend."""
    found = measured.standing(run, layer, expert)
    text = _(
        "{where}: {below} of the pre-activations are below 0, the median is "
        "{median:.2f}. In {off} of all token–unit pairs the activation is off, in "
        "{flat} its slope is below 0.01."
    )
    said = text.format(
        where=where(run, layer, expert),
        below=percent(found.below_zero),
        median=round(found.median, 2) + 0.0,  # no −0.00
        off=percent(found.off),
        flat=percent(found.flat),
    )
    if found.outside:
        more = _("{share} lie outside the picture.").format(share=percent(found.outside))
        said += " " + more
    return said


def bend_alt(run: Run, layer: int, expert: int) -> str:
    """The curves in words."""
    text = _("{kind} and its derivative, above a histogram of pre-activations. {said}")
    kind = terms.option(measured.activation(run))
    return text.format(kind=kind, said=bend_sentence(run, layer, expert))


def gate_sentence(run: Run, layer: int, expert: int, token: int) -> str:
    """What multiplies at the pinned token, and how often the gate is shut."""
    table = measured.strongest(run, layer, expert, token)
    if table.empty:
        text = _(
            "{token} was not routed to expert {expert}: pin another token or choose its expert."
        )
        return text.format(token=literal(run.input.labels[token]), expert=expert)
    first = table.iloc[0]
    off = measured.standing(run, layer, expert).off
    values = {"unit": int(first["unit"]), "hidden": first["hidden"], "off": percent(off)}
    values |= {"token": literal(run.input.labels[token])}
    if measured.activation(run).is_gated:
        text = _(
            "At {token} the strongest unit is {unit}: gate {gate:.3f} × value {up:.3f} "
            "= {hidden:.3f}. Over this input the gate is closed in {off} of all "
            "token–unit pairs."
        )
        return text.format(gate=first["gate"], up=first["up"], **values)
    text = _(
        "At {token} the strongest unit is {unit}: z = {pre:.3f} becomes {hidden:.3f}. "
        "Over this input {off} of all token–unit pairs are off."
    )
    return text.format(pre=first["pre"], **values)


def factors_alt(run: Run, layer: int, expert: int, token: int, _unit: int) -> str:
    """The strongest units in words."""
    rows = measured.strongest(run, layer, expert, token).head(6).itertuples()
    listed = "; ".join(f"{row.unit}: {row.hidden:.3f}" for row in rows)
    return _("Strongest units and their hidden values: {rows}.").format(rows=listed)


def closed_alt(run: Run, layer: int, expert: int, token: int) -> str:
    """The share of units that are off, in words."""
    shares = measured.off_shares(run, layer, expert)
    text = _("Share of units that are off at each token: {least} to {most}.")
    return text.format(least=percent(min(shares)), most=percent(max(shares)))


def units_sentence(run: Run, layer: int, expert: int) -> str:
    """How many units are dead or saturated."""
    table = measured.unit_table(run, layer, expert)
    n, n_dead = len(table), int(table["is_dead"].sum())
    n_saturated = int(table["is_saturated"].sum())
    text = _(
        "{where}: {dead:,} of {n:,} units are dead ({share}), {saturated:,} saturated "
        "at every token, {silent:,} never active. The median unit is active at {median} "
        "of the tokens."
    )
    return text.format(
        where=where(run, layer, expert),
        dead=n_dead,
        n=n,
        share=percent(n_dead / n),
        saturated=n_saturated,
        silent=int((table["active_share"] == 0).sum()),
        median=percent(float(table["active_share"].median())),
    )


def layers_alt(_run: Run, shares: tuple[tuple[float, ...], ...], _selected: int) -> str:
    """Dead and saturated units of all layers, in words."""
    text = _("layer {layer}: {dead} dead, {saturated} saturated, {active} active")
    rows = [
        text.format(
            layer=int(layer) + 1,
            dead=percent(dead),
            saturated=percent(saturated),
            active=percent(active),
        )
        for layer, dead, saturated, active in shares
    ]
    return "; ".join(rows)


def activity_alt(run: Run, layer: int, expert: int, _token: int, _unit: int) -> str:
    """The order of the units in words."""
    return units_sentence(run, layer, expert)


def map_alt(run: Run, layer: int, expert: int, token: int, unit: int) -> str:
    """The map of units and tokens in words."""
    text = _("hidden of the {n} strongest units at each token; outlined: unit {unit}, {token}.")
    n = len(measured.shown_units(run, layer, expert, token))
    return text.format(n=n, unit=unit, token=run.input.labels[token])


def unit_sentence(run: Run, layer: int, expert: int, unit: int) -> str:
    """What one unit answers to."""
    row = measured.unit_table(run, layer, expert).iloc[unit]
    table = measured.exciting(run, layer, expert, unit)
    names = enumeration(literal(label) for label in dict.fromkeys(table["label"].head(3)))
    text = _(
        "Unit {unit} is active at {active} of the tokens and saturated at {flat}. "
        "Strongest at {tokens} ({hidden:.2f})."
    )
    return text.format(
        unit=unit,
        active=percent(row["active_share"]),
        flat=percent(row["flat_share"]),
        tokens=names,
        hidden=table["hidden"].iloc[0],
    )


def exciting_alt(run: Run, layer: int, expert: int, unit: int, _token: int) -> str:
    """What excites a unit, in words."""
    return unit_sentence(run, layer, expert, unit)


def ratio_sentence(run: Run, layer: int, rows: tuple[tuple[float, ...], ...]) -> str:
    """What eight times the width costs and does."""
    first, last = rows[0], rows[-1]
    text = _(
        "From {low:.0f} to {high:.0f} times d_model, parameters and FLOPs grow "
        "{cost:.1f}-fold ({few:,} to {many:,} parameters, {ops:,} to {more:,} FLOPs per "
        "token). The output's RMS goes from {small:.3f} to {large:.3f}; this run's own "
        "layer, {weights}, adds RMS {own:.3f} to a stream of {stream:.3f}."
    )
    return text.format(
        low=first[0],
        high=last[0],
        cost=last[1] / first[1],
        few=int(first[1]),
        many=int(last[1]),
        ops=int(first[2]),
        more=int(last[2]),
        small=first[3],
        large=last[3],
        weights=weights(run),
        own=measured.own_write(run, layer),
        stream=last[4],
    )


def too_wide(run: Run, wanted: tuple[int, ...]) -> str:
    """Which ratios were left out for want of memory."""
    text = _("Ratios above {most} need more memory than this server allows and are left out.")
    return text.format(most=max(wanted, default=0))


def ratio_note(run: Run) -> str:
    """What was run, and what is compared with what."""
    text = _(
        "FLOPs are exact: 2 · d_model · d_ff per matrix and token. At each ratio the "
        "layer itself ran on its real input, in evaluation mode, with random weights "
        "(seed {seed}), since trained ones fit one width only. The change is the RMS of "
        "the difference from the output of this run's layer."
    )
    note = text.format(seed=run.seed)
    if not run.weights and run.config.d_ff % run.config.d_model == 0:
        note += " " + _("At this run's own ratio it is 0: the weights are the same.")
    return note


def ratio_alt(_run: Run, _layer: int, rows: tuple[tuple[float, ...], ...]) -> str:
    """The sweep in words."""
    text = _("ratio {ratio:.0f}: {n:,} parameters, {flops:,} FLOPs, RMS {rms:.3f}, change {change}")
    listed = [
        text.format(
            ratio=row[0], n=int(row[1]), flops=int(row[2]), rms=row[3], change=percent(row[5])
        )
        for row in rows
    ]
    return "; ".join(listed)


def route_sentence(run: Run, layer: int, token: int) -> str:
    """Where the pinned token goes, how even the load is, and who was dropped."""
    found, config = measured.routes(run, layer), measured.mixture(run)
    experts = [int(expert) for expert in found.index[token]]
    no_room = _("over capacity")
    listed = enumeration(
        f"{expert} ({weight:.0%})" if is_kept else f"{expert} ({no_room})"
        for expert, weight, is_kept in zip(
            experts, found.weight[token], found.kept[token], strict=True
        )
    )
    text = _(
        "{token} is routed to {listed} of {n} experts. The busiest expert is chosen "
        "{most} times, an even share is {even:.1f}; the load-balancing loss of Switch "
        "is {balance:.2f} (1: perfectly balanced)."
    )
    table = measured.loads(run, layer)
    said = text.format(
        token=literal(run.input.labels[token]),
        listed=listed,
        n=config.n_experts,
        most=int(table["asked"].max()),
        even=table["asked"].sum() / len(table),
        balance=measured.imbalance(run, layer),
    )
    return f"{said} {_dropped(run, layer)}"


def _dropped(run: Run, layer: int) -> str:
    found = measured.routes(run, layer)
    if not found.room:
        return _("There is no capacity limit: nothing is dropped.")
    n_dropped, n_passed = int((~found.kept).sum()), int(measured.passed_by(run, layer).sum())
    text = _(
        "Each expert takes at most {room}. Routed choices dropped: {dropped}; tokens "
        "that reach no expert at all and pass through the residual connection only: "
        "{passed}."
    )
    return text.format(room=found.room, dropped=n_dropped, passed=n_passed)


def hovering(run: Run, layer: int) -> pd.DataFrame:
    """The choices of the first sequence, with what is said under the cursor."""
    table = measured.chosen(run, layer)
    text = _("{number} · {token} → expert {expert}: choice {rank}, probability {share:.3f}, {fate}")
    taken, dropped = _("weight {weight:.2f}"), _("dropped: over capacity")
    hovers = [
        text.format(
            number=row.token + 1,
            token=html.escape(run.input.labels[row.token], quote=False),
            expert=row.expert,
            rank=row.rank + 1,
            share=row.share,
            fate=taken.format(weight=row.weight) if row.is_kept else dropped,
        )
        for row in table.itertuples()
    ]
    return table.assign(hover=hovers)


def too_many_experts(run: Run) -> str:
    """Why no experts are shown."""
    return _("Experts of this width need more memory than this server allows: use a smaller d_ff.")


def no_wide_layer() -> str:
    """For a model of attention alone."""
    return _(
        "This model has attention only and no feed-forward network. With feed-forward "
        "layers its weights are random, since trained ones fit one configuration."
    )


def idle_expert(layer: int, expert: int) -> str:
    """For an expert without tokens."""
    text = _("No token of this input was routed to expert {expert} of layer {layer}.")
    return text.format(expert=expert, layer=layer + 1)


def demo_note(run: Run) -> str:
    """What is shown where the model has no experts."""
    text = _(
        "This model is dense. Shown: 8 experts, 2 active, each as wide as its "
        "feed-forward layer, with random weights (seed {seed}), on the layer's real "
        "input: they are untrained."
    )
    return text.format(seed=run.seed)


def mixture_note(run: Run) -> str:
    """How the router decides."""
    text = _(
        "Router: linear without bias, softmax over {n} experts, the {k} largest "
        "rescaled to sum 1 (as in Mixtral). {weights}."
    )
    n, k = run.config.n_experts, run.config.n_active_experts
    said = weights(run)
    return text.format(n=n, k=k, weights=said[:1].upper() + said[1:])


def totals_sentence(run: Run) -> str:
    """What experts buy."""
    table = measured.totals(run).set_index("layout")
    total, active = table["total"]["mixture"], table["active"]["mixture"]
    text = _(
        "The mixture has {total:,} parameters, of which each token uses {active:,} "
        "({share}): {ratio:.1f} times the parameters of the dense model for {flops:.1f} "
        "times the FLOPs of its feed-forward layer."
    )
    said = text.format(
        total=total,
        active=active,
        share=percent(active / total),
        ratio=total / table["total"]["dense"],
        flops=table["flops"]["mixture"] / table["flops"]["dense"],
    )
    return f"{said} {capacity_note(run.config)}".strip()


def routes_alt(run: Run, layer: int, token: int, _expert: int) -> str:
    """The routes in words."""
    return route_sentence(run, layer, token)


def load_alt(run: Run, layer: int) -> str:
    """The load in words."""
    text = _("expert {expert}: {kept} taken, {dropped} dropped")
    rows = measured.loads(run, layer).itertuples()
    return "; ".join(
        text.format(expert=row.expert, kept=row.kept, dropped=row.dropped) for row in rows
    )


def totals_alt(run: Run) -> str:
    """The totals in words."""
    return totals_sentence(run)


def layout(name: str, run: Run) -> str:
    """What one of the compared layouts is called."""
    config = measured.mixture(run)
    match name:
        case "mixture":
            text = _("{n} experts, {k} active")
            return text.format(n=config.n_experts, k=config.n_active_experts)
        case "dense":
            return _("dense, d_ff {d_ff:,}").format(d_ff=config.d_ff)
        case _:
            return _("dense, d_ff {d_ff:,}").format(d_ff=config.n_experts * config.d_ff)


def part_name(part: str) -> str:
    """What one of the compared parts is called."""
    names = {
        "feed_forward": _("feed-forward"),
        "unmasked": _("attention, no mask"),
        "masked": _("attention, this run's mask"),
    }
    return names[part]


def is_rounding(run: Run, found: measured.Shuffled) -> bool:
    """Whether a difference is no more than rounding makes."""
    is_coarse = run.dtype in ("float16", "bfloat16")
    return found.difference <= (COARSE_ROUNDING if is_coarse else ROUNDING) * max(found.size, 1e-9)


def shuffle_sentence(run: Run, layer: int) -> str:
    """What shuffling the tokens changes, and why."""
    found = {each.part: each for each in measured.shuffled(run, layer)}
    text = _(
        "Shuffle the {n} tokens ({orders} orders tried): feed-forward outputs of "
        "shuffled tokens differ from the shuffled outputs by at most {difference}, "
        "{verdict}."
    )
    own = found["feed_forward"]
    is_same = is_rounding(run, own)
    verdict = _("rounding only") if own.difference else _("exactly 0")
    verdict = verdict if is_same else _("more than rounding: with a capacity limit, order decides")
    difference = f"{own.difference:.1e}" if own.difference else "0"
    tried = {"n": run.input.shape[1], "orders": measured.N_ORDERS}
    said = text.format(difference=difference, verdict=verdict, **tried)
    return " ".join((said, *_attention(run, found)))


def _attention(run: Run, found: dict[str, measured.Shuffled]) -> tuple[str, ...]:
    bare, kind = found["unmasked"], run.config.position.position_kind
    inside = kind in (PositionKind.ROPE, PositionKind.ALIBI)
    if is_rounding(run, bare):
        text = _(
            "Attention without a mask does the same ({difference:.1e}): it treats tokens as a set."
        )
    elif inside:
        text = _(
            "Even without a mask attention changes by up to {difference:.2g}, since "
            "{kind} gives it positions."
        )
    else:
        text = _("Attention changes by up to {difference:.2g} without a mask.")
    first = text.format(difference=bare.difference, kind=terms.option(kind))
    if "masked" not in found:
        return (first,)
    second = _("With this run's mask it changes by up to {difference:.2g}.")
    return first, second.format(difference=found["masked"].difference)


def reach_sentence(run: Run, layer: int, token: int) -> str:
    """Whose output one changed token moves."""
    changed = measured.changed_token(run, token)
    table = measured.moved(run, layer, changed)
    wide, read = (int((table[part] > 0).sum()) for part in ("feed_forward", "attention"))
    text = _(
        "The input of {token} (position {position}) was replaced by a random vector of "
        "the same size. Feed-forward outputs that changed: {wide} of {n}; attention "
        "outputs: {read} of {n}."
    )
    name = literal(run.input.labels[changed])
    said = text.format(token=name, position=changed + 1, wide=wide, read=read, n=len(table))
    return " ".join((said, *_why_elsewhere(run, token, changed, wide)))


def _why_elsewhere(run: Run, token: int, changed: int, wide: int) -> tuple[str, ...]:
    notes = []
    if changed != token:
        text = _(
            "Only {token} itself may attend to the pinned {token}, so another token was changed."
        )
        notes.append(text.format(token=literal(run.input.labels[token])))
    if wide > 1 and run.config.n_experts > 1:
        text = _("With a capacity limit, changing one token can displace others.")
        rounding = _("An expert that processes other tokens in the same batch rounds differently.")
        notes.append(text if run.config.feed_forward.expert_capacity else rounding)
    return tuple(notes)


def reach_alt(run: Run, layer: int, token: int) -> str:
    """The reach in words."""
    return reach_sentence(run, layer, token)
