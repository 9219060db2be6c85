"""Sentences about three architectures side by side."""

import pandas as pd

from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from blocks.text.corruption import Example
from pages.ui import chips
from pages.ui.chips import Chip
from pages.ui.language import _
from pages.ui.seq2seq import architectures
from pages.ui.tokens import EMPTY

UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def flops_text(count: float) -> str:
    """FLOPs as people read them."""
    for size, unit in UNITS:
        if count >= size:
            return f"{count / size:.3g} {unit}FLOP"
    return f"{count:.0f} FLOP"


def about(kind: Architecture, run: Run) -> str:
    """How large it is and who sees whom, in a short list."""
    row = _row(kind, run)
    return _list(
        (_("Who attends to whom"), _(architectures.ABOUT[kind].reads)),
        (_("Parameters"), f"{int(row['parameters']):,}"),
        (_("FLOPs per output token"), flops_text(row["per_token"])),
    )


def more_about(kind: Architecture) -> str:
    """Where it comes from and what it is good for."""
    known = architectures.ABOUT[kind]
    return _list(
        (_("Pre-training objective"), _(known.trained)),
        (_("Typical use"), _(known.used)),
        (_("Examples"), known.examples),
    )


def _list(*rows: tuple[str, str]) -> str:
    return "\n".join(f"- **{name}:** {value}" for name, value in rows)


def _row(kind: Architecture, run: Run) -> pd.Series:
    table = architectures.compared(run.config, *architectures.lengths(run))
    return table.set_index("architecture").loc[str(kind)]


def compared_sentence(run: Run) -> str:
    """Twice the parameters, about the same work."""
    n_source, n_target = architectures.lengths(run)
    gpt, two = _row(Architecture.GPT, run), _row(Architecture.ENCODER_DECODER, run)
    text = _(
        "To read {n_source} tokens and generate {n_target}, at d_model {d_model}: the "
        "encoder–decoder has {parameters:.2f} times the parameters of the decoder-only "
        "model and takes {work:.2f} times its FLOPs. A source token passes through the "
        "encoder and the keys and values of cross-attention only, a target token "
        "through the decoder only."
    )
    total = [row["reading"] + row["writing"] for row in (two, gpt)]
    return text.format(
        n_source=n_source,
        n_target=n_target,
        d_model=run.config.d_model,
        parameters=two["parameters"] / gpt["parameters"],
        work=total[0] / total[1],
    )


def flops_note(run: Run) -> str:
    """What is counted."""
    return _(
        "Exact count: 2·m·n·k per matrix product, with cached keys and values and "
        "logits computed once per output token. The encoder-only model reads once and "
        "labels as many tokens as the others generate; it generates none."
    )


def flops_alt(run: Run) -> str:
    """The bars in words."""
    table = architectures.compared(run.config, *architectures.lengths(run))
    rows = "; ".join(
        f"{row.architecture} {flops_text(row.reading)} + {flops_text(row.writing)}"
        for row in table.itertuples()
    )
    return _("FLOPs to read and to generate: {rows}.").format(rows=rows)


def drawing_alt(kind: Architecture, run: Run) -> str:
    """A drawing in words."""
    parts = "; ".join(
        f"{stack.reads} → {stack.n_layers} × ({', '.join(label for label, _r in stack.parts)})"
        for stack in architectures.stacks(kind, run.config)
    )
    return _("Diagram of the architecture: {parts}.").format(parts=parts)


def sees_alt(kind: Architecture, run: Run) -> str:
    """A mask in words."""
    return _(architectures.ABOUT[kind].reads)


def reads_chips(example: Example) -> str:
    """What goes in; what was spoilt stands out."""
    return chips.as_markdown(
        Chip(token, "", "pinned" if i in example.spoilt else "read")
        for i, token in enumerate(example.reads or (EMPTY,))
    )


def asked_chips(example: Example) -> str:
    """What should come out: a text, or a token at each place that is asked."""
    asked = [token for token in example.asked if token is not None]
    return chips.as_markdown(Chip(token, "", "written") for token in asked or (EMPTY,))


def example_sentence(kind: Architecture, example: Example) -> str:
    """What is asked, counted."""
    n_asked = sum(token is not None for token in example.asked)
    match kind:
        case Architecture.ENCODER:
            text = _(
                "Targets: {n} of {total} tokens; {spoilt} of them are masked or "
                "replaced, the others stay as they are."
            )
            values = {"total": len(example.reads), "spoilt": len(example.spoilt)}
            return text.format(n=n_asked, **values)
        case Architecture.GPT if not n_asked:
            return _("Nothing to predict: a single token has none before it.")
        case Architecture.GPT:
            text = _("Targets: all {n} tokens, each predicted from those before it.")
            return text.format(n=n_asked)
        case _:
            text = _(
                "Spans removed: {n}. The decoder generates {written} tokens instead of "
                "the whole sentence."
            )
            return text.format(n=len(example.spoilt), written=n_asked)
