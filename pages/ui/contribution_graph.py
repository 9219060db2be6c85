"""The contribution graph of a run: cached, with its alt text."""

from dataclasses import replace
from functools import lru_cache

import pandas as pd

from blocks.inspection import contribution_graph as graphs
from blocks.inspection.contribution_graph import ContributionGraph
from blocks.observe.run import Run
from pages.ui import cached, labelled, link
from pages.ui.language import _, literal
from pages.ui.numbers import percent
from pages.ui.tokens import word

MOST_SHOWN = 40
MOST_NUMBERS = 2**30  # parts of all streams together: seconds on a small machine


def fits(run: Run) -> bool:
    """Whether all parts of all streams are few enough to be looked at."""
    return run.config.n_layers * run.input.shape[1] ** 2 * run.config.d_model <= MOST_NUMBERS


def too_large() -> str:
    """Why there is no graph."""
    return _(
        "This text is too long for the contribution graph of a model of this size: shorten it."
    )


@lru_cache(maxsize=4)
def measured(run: Run) -> ContributionGraph:
    """The graph of a run, in evaluation mode: dropout would be a part that comes from nowhere."""
    calm = replace(run, training=False)
    seen, model = cached.recording(calm), cached.model(calm)
    with cached.turn(run.device):
        changed = calm.replacements(model)
        return graphs.contribution_graph(seen, model, calm.config, replace=changed)


def shown(run: Run, token: int) -> slice:
    """The tokens in the picture: of a long text those around the pinned one."""
    return labelled.window(run, token, MOST_SHOWN)


def least_share() -> float:
    """The thinnest wire that is drawn."""
    return link.value("least_share") / 100


def sentence(run: Run, token: int) -> str:
    """Where what a token has become comes from."""
    found = measured(run)
    origin = found.routes(token)[0].copy()
    own, name = origin[token], called(run, token)
    origin[token] = 0
    first, second = origin.argsort()[::-1][:2] if len(origin) > 1 else (token, token)
    if origin[first] == 0:
        return _("{token} takes nothing from another token.").format(token=name)
    values = {
        "token": name,
        "own": percent(own),
        "first": called(run, first),
        "first_share": percent(origin[first]),
        "second": called(run, second),
        "second_share": percent(origin[second]),
        "layer": 1 + int(found.wires[:, token].sum(-1).argmax()),
    }
    text = _("{token} after the last layer: {own} its own, {first_share} from {first}.")
    if origin[second] > 0:
        text = _(
            "{token} after the last layer: {own} its own, {first_share} from {first}, "
            "{second_share} from {second}."
        )
    most = _("It takes most in layer {layer}.")
    return f"{text.format(**values)} {most.format(**values)}"


def called(run: Run, token: int) -> str:
    """A token in a sentence, as it is read."""
    return literal(word(run.input.labels[token]))


def note(run: Run, token: int, least: float) -> str:
    """Which wires and tokens are drawn, and what they carry."""
    text = _("Wires from {least:.0%} on are drawn: {carried} of all that tokens take from others.")
    said = [text.format(least=least, carried=percent(measured(run).carried(least)))]
    said.append(part_drawn(run, token))
    if run.training:
        said.append(_("Measured with training mode off."))
    return " ".join(filter(None, said))


def part_drawn(run: Run, token: int) -> str:
    """Which tokens of a long text are in the picture; nothing where all are."""
    window, n = shown(run, token), len(run.input.labels)
    if window.stop - window.start == n:
        return ""
    text = _("Drawn are tokens {first} to {last} of {n}.")
    return text.format(first=window.start + 1, last=window.stop, n=n)


def alt(run: Run, token: int, least: float, _row: int) -> str:
    """The graph in words: its size, its widest wires, the way to the pinned token."""
    found, n = measured(run), len(run.input.labels)
    wires = found.wires.ravel()
    widest = [int(place) for place in wires.argsort()[::-1][:3] if wires[place] >= least]
    each = _("layer {layer}: {reader} takes {share} from {source}")
    listed = []
    for place in widest:
        layer, reader, source = place // n**2, place // n % n, place % n
        values = {"layer": layer + 1, "share": percent(wires[place])}
        listed.append(each.format(**values, reader=called(run, reader), source=called(run, source)))
    text = _("{n} tokens at {n_layers} layers; {wires} wires. Widest: {listed}.")
    n_wires = int((found.wires >= least).sum())
    sizes = {"n": n, "n_layers": run.config.n_layers, "wires": n_wires}
    return text.format(**sizes, listed="; ".join(listed) or "–")


def table(run: Run) -> pd.DataFrame:
    """Every share above 0 with the tokens' names; layers and tokens from 1."""
    found, labels = measured(run).frame(), run.input.labels
    rows = found.assign(
        layer=found["layer"] + 1,
        token_label=[labels[i] for i in found["token"]],
        source_label=[labels[i] if i >= 0 else "" for i in found["source"]],
    )
    return rows.assign(token=rows["token"] + 1, source=rows["source"] + 1)
