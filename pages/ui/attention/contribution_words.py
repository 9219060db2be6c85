"""Sentences about what a token adds, and about heads that rest on the first one."""

from blocks.inspection.contribution import SINK_ABOVE, SMALL_BELOW, Contribution
from blocks.observe.run import Run
from pages.ui.attention import measured
from pages.ui.attention.words import head_called, token
from pages.ui.language import _
from pages.ui.numbers import percent


def contribution_sentence(run: Run, layer: int, head: int | None, query: int) -> str:
    """Which key has the most weight, and which one adds most."""
    found = measured.contribution(run, layer, head, query)
    if found.out_norm == 0:
        return _("Attention adds nothing at this token: the vector has length 0.")
    if found.keys["weight"].max() == 0:
        return _("This token cannot attend to any key: attention adds its output bias alone.")
    weight, norm = (int(found.keys[name].argmax()) for name in ("weight", "norm"))
    return " ".join((_largest(run, found, weight, norm), *_rest(found, head)))


def _largest(run: Run, found: Contribution, weight: int, norm: int) -> str:
    keys = found.keys
    share = keys["norm"] / keys["norm"].sum()
    values = {
        "token": token(run, weight),
        "weight": percent(float(keys["weight"][weight])),
        "norm": percent(float(share[weight])),
    }
    if weight == norm:
        text = _(
            "{token} has the largest weight ({weight}) and contributes most ({norm} of the "
            "total length)."
        )
        return text.format(**values)
    text = _(
        "{token} has the largest weight ({weight}), but {other} contributes most: "
        "{other_norm} of the total length with a weight of {other_weight}; {token} "
        "contributes {norm}."
    )
    return text.format(
        **values,
        other=token(run, norm),
        other_norm=percent(float(share[norm])),
        other_weight=percent(float(keys["weight"][norm])),
    )


def _rest(found: Contribution, head: int | None) -> list[str]:
    """What of the write is no key of this head."""
    said = []
    if head is not None:
        text = _("This head contributes {share:.0%} of what the layer adds here.")
        said.append(text.format(share=found.keys["share"].sum()))
    if found.bias_norm > 0:
        text = _("The output bias contributes {share:.0%}: it comes from no token.")
        said.append(text.format(share=found.bias))
    return said


def contribution_alt(run: Run, layer: int, head: int | None, query: int) -> str:
    """The bars in words."""
    text = _("For each key: weight, length of what is added, share of the output. {sentence}")
    return text.format(sentence=contribution_sentence(run, layer, head, query))


def sinks_sentence(run: Run) -> str:
    """Which heads rest on the first token, by which numbers."""
    rule = _(
        "Some heads park their attention on the first token, an attention sink. Marked "
        "are heads whose mean weight on that token is above {above:.0%} although its "
        "‖v·W_O‖ is below {below} of the others' mean."
    ).format(above=SINK_ABOVE, below=SMALL_BELOW)
    table = measured.sinks(run)
    found = table[table["is_sink"]].sort_values("weight", ascending=False)
    if found.empty:
        top = table.loc[table["weight"].idxmax()]
        text = _(
            "No head uses the first token as an attention sink here; closest is {head}: "
            "weight {weight}, value {ratio:.2f}."
        )
        return (
            rule
            + " "
            + text.format(
                head=head_called(int(top["layer"]), int(top["head"])),
                weight=percent(float(top["weight"])),
                ratio=top["value_ratio"],
            )
        )
    each = _("{head} (weight {weight}, value {ratio:.2f})")
    listed = "; ".join(
        each.format(
            head=head_called(int(row.layer), int(row.head)),
            weight=percent(row.weight),
            ratio=row.value_ratio,
        )
        for row in found.head(4).itertuples()
    )
    text = _("{n} of {all} heads use the first token as an attention sink; most: {listed}.")
    return rule + " " + text.format(n=len(found), all=len(table), listed=listed)


def sinks_alt(run: Run, *_chosen: int) -> str:
    """The picture of the sinks in words."""
    return sinks_sentence(run)
