"""Words for other ways to attend, and for heads that share keys and values."""

import pandas as pd

from blocks.cost.attention_time import Measured
from blocks.cost.memory import bytes_text
from blocks.model.attention_kinds import AttentionKind, Reach
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.ui import terms
from pages.ui.attention_kinds import measured
from pages.ui.changes.measured import reads_tokens
from pages.ui.language import _, enumeration

KINDS = {
    AttentionKind.FULL: N_("full attention"),
    AttentionKind.FUSED: N_("fused"),
    AttentionKind.WINDOW: N_("window"),
    AttentionKind.STRIDED: N_("strided"),
    AttentionKind.LINEAR: N_("linear"),
}
IN_THEORY = {
    AttentionKind.FULL: ("n²", "n²"),
    AttentionKind.FUSED: ("n²", "n"),
    AttentionKind.WINDOW: ("n", "n"),
    AttentionKind.STRIDED: ("n√n", "n√n"),
    AttentionKind.LINEAR: ("n", "n"),
}
EXACT = 1e-3


def kind(name: str) -> str:
    """What a way to attend is called."""
    return _(KINDS[AttentionKind(name)])


def names() -> dict[str, str]:
    """All of them."""
    return {str(name): kind(name) for name in AttentionKind}


def tiles_of(run: Run, layer: int, head: int, reach: Reach) -> pd.DataFrame:
    """One row a map: its title, and what is said under the cursor."""
    table = measured.errors(run, layer, head, reach)
    labels = [f"<b>{kind(name)}</b>" for name in table["kind"]]
    text = _("{kind}: error {error:.1%}, {pairs:,} pairs scored")
    hovers = [
        text.format(kind=kind(row.kind), error=row.error, pairs=row.pairs)
        for row in table.itertuples()
    ]
    return table.assign(head=range(len(table)), label=labels, hover=hovers)


def error_sentence(run: Run, layer: int, head: int, reach: Reach) -> str:
    """Which way is nearest to the full one in this head."""
    table = measured.errors(run, layer, head, reach).set_index("kind")
    others = table.loc[["window", "strided", "linear"]]
    nearest, furthest = others["error"].idxmin(), others["error"].idxmax()
    text = _(
        "Head {head} of layer {layer}: the fused kernel gives the same output (error "
        "{fused:.0e}); the closest of the others is {nearest} (error {least:.1%}, "
        "{share:.0%} of the pairs scored), the furthest {furthest} (error {most:.1%})."
    )
    return text.format(
        head=head,
        layer=layer + 1,
        fused=table["error"]["fused"],
        nearest=kind(nearest),
        least=table["error"][nearest],
        share=table["pairs"][nearest] / table["pairs"]["full"],
        furthest=kind(furthest),
        most=table["error"][furthest],
    )


def alibi_note(run: Run) -> str:
    """What these maps leave out."""
    if run.config.position.position_kind != "alibi":
        return ""
    return _("The maps leave out ALiBi's bias: they compare which pairs are scored and kept.")


def growth_sentence(found: tuple[Measured, ...]) -> str:
    """What the longest length costs, in each way."""
    table = measured.table(found)
    longest = table[table["seq_len"] == table["seq_len"].max()].set_index("kind")
    fastest = longest["milliseconds"].idxmin()
    text = _(
        "Measured here at n = {n:,}: {fastest} takes {least:.1f} ms, {slowest} {most:.1f} ms, "
        "{ratio:.0f} times as long; memory from {small} to {large}."
    )
    slowest = longest["milliseconds"].idxmax()
    return text.format(
        n=int(table["seq_len"].max()),
        fastest=kind(fastest),
        least=longest["milliseconds"][fastest],
        slowest=kind(slowest),
        most=longest["milliseconds"][slowest],
        ratio=longest["milliseconds"][slowest] / longest["milliseconds"][fastest],
        small=bytes_text(int(longest["peak_bytes"].min())),
        large=bytes_text(int(longest["peak_bytes"].max())),
    )


def measured_note(run: Run) -> str:
    """On what it was measured."""
    text = _(
        "Random q, k, v (seed {seed}), {n_heads} heads of width {d_head}, {dtype}, "
        "causal; fastest of 5; window 16, stride √n. The exponent is fitted over the "
        "three longest; memory used inside a fused kernel is not counted on CPU."
    )
    config = run.config
    sizes = {"n_heads": config.n_heads, "d_head": config.d_head}
    return text.format(seed=run.seed, dtype=run.dtype, **sizes)


def sharing_sentence(run: Run, layer: int) -> str:
    """What sharing saves, and what becomes of the maps."""
    shared = measured.shared(run)
    rows = [measured.sharing_row(run, n, layer) for n in shared]
    first, last = rows[0], rows[-1]
    text = _(
        "From {first} to {last} the cache per token shrinks from {before:,} to "
        "{after:,} bytes and the model from {parameters:,} to {fewer:,} parameters; "
        "n_heads stays {n_heads}."
    )
    said = text.format(
        first=terms.attention_kind(run.config),
        last=terms.attention_kind(measured.with_shared(run, shared[-1])),
        before=first["cache_bytes"],
        after=last["cache_bytes"],
        parameters=first["parameters"],
        fewer=last["parameters"],
        n_heads=run.config.n_heads,
    )
    return " ".join((said, _alike(rows), _moved(run, rows[-1]["moved"]))).strip()


def _moved(run: Run, moved: float) -> str:
    """What becomes of the output."""
    text = _("Nothing is retrained: with one key and value head the output changes by {moved}.")
    bits = _("{bits:.2f} bits (KL, mean over the tokens)").format(bits=moved)
    return text.format(moved=bits if reads_tokens(run) else f"{moved:.1%}")


def _alike(rows: list[dict]) -> str:
    both = (row for row in rows if None not in (row["within"], row["across"]))
    grouped = next(both, None)
    if grouped is None:
        return ""
    text = _(
        "With {n} key and value heads, the attention maps of two heads of one group "
        "have cosine {within:.3f}, of two groups {across:.3f}."
    )
    return text.format(n=grouped["n_kv_heads"], within=grouped["within"], across=grouped["across"])


def growth_alt(found: tuple[Measured, ...], of: str) -> str:
    """How a cost grows, in words."""
    exponents = measured.exponents(found, of)
    rows = "; ".join(f"{kind(name)} n^{found:.2f}" for name, found in exponents.items())
    is_time = of == "milliseconds"
    text = _("Time as n grows: {rows}.") if is_time else _("Peak memory as n grows: {rows}.")
    return text.format(rows=rows)


def maps_alt(run: Run, layer: int, head: int, reach: Reach, *_marked: int) -> str:
    """The maps in words."""
    rows = "; ".join(tiles_of(run, layer, head, reach)["hover"])
    return _("One head with five attention variants: {rows}.").format(rows=rows)


def sharing_alt(run: Run, layer: int, *_marked: int) -> str:
    """The three rows of maps in words."""
    configs = (measured.with_shared(run, n) for n in measured.shared(run))
    kinds = enumeration(map(terms.attention_kind, configs))
    text = _("The first heads of layer {layer} in {kinds}, a row each.")
    return text.format(layer=layer + 1, kinds=kinds)


def shared_tiles(run: Run) -> pd.DataFrame:
    """One row a map: its title tells which key and value head it reads with."""
    rows = []
    for n in measured.shared(run):
        group = run.config.n_heads // n
        for head in range(measured.n_shown(run)):
            kind, kv = terms.attention_kind(measured.with_shared(run, n)), head // group
            starts_a_group = head % group == 0
            label = f"<b>{kind}</b>" if head == 0 else f"kv {kv}" if starts_a_group else ""
            text = _("{kind}, head {head}: uses key and value head {kv}")
            rows.append({"label": label, "hover": text.format(kind=kind, head=head, kv=kv)})
    return pd.DataFrame(rows).assign(head=range(len(rows)))


def pooled_note(run: Run) -> str:
    """Where the shared keys and values come from."""
    text = _(
        "Shared keys and values are the means of this model's own, as in a conversion before "
        "further training (Ainslie et al. 2023). Weights: {weights}."
    )
    random = _("random, seed {seed}").format(seed=run.seed)
    return text.format(weights=_("trained") if run.weights else random)
