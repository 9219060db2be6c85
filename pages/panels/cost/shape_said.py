"""What is said of the GPT that a budget buys, and the tables below it."""

import pandas as pd

from blocks.cost import chosen_shape
from blocks.cost.budget_shape import Budget, ShapeFacts, Wish, with_fewest_devices
from blocks.cost.chosen_shape import AttentionShape
from blocks.cost.fit import cache_bytes_per_token
from blocks.cost.hardware import HARDWARE
from blocks.cost.loss_front import FrontFacts, PeopleFacts
from blocks.cost.scaling_laws import LAWS, Band, Counted, critical_batch
from blocks.cost.units import bytes_text, rounded
from blocks.model.config import ModelConfig
from blocks.model.faults import N_
from pages.figures.units import flops, long_duration
from pages.panels.cost.training import tokens
from pages.words.language import _, enumeration, sentences
from pages.words.numbers import fine_percent, percent

BYTES = 2  # of a number in the cache
FAR = 1.5  # times beyond the trainings of a law: then it is said
KINDS = {
    AttentionShape.MHA: N_("MHA · separate for each head"),
    AttentionShape.GQA: N_("GQA · shared by four heads"),
    AttentionShape.MLA: N_("MLA · one latent vector"),
}
COUNTED = {
    Counted.ALL: N_("all parameters"),
    Counted.INNER: N_("parameters without embeddings"),
    Counted.WORK: N_("training FLOPs per token without the vocabulary"),
}


def says_asked(budget: Budget, wish: Wish) -> str:
    """What is set, in one line."""
    return _("{flops} on {count:,} × {device}, {law}, texts of {n:,} tokens").format(
        n=wish.n,
        flops=flops(budget.flops),
        count=budget.n_devices,
        device=HARDWARE[budget.device].title,
        law=LAWS[wish.law].title,
    )


def says_shape(facts: ShapeFacts) -> str:
    """The answer in a sentence or two."""
    text = _(
        "With {budget} FLOPs, a GPT of {n} parameters ({n_layers} layers, d_model "
        "{d_model:,}) can be trained on {tokens} tokens, {ratio} per parameter, in texts of "
        "{context:,} tokens. On {devices} that takes {time}."
    )
    config = facts.config
    said = text.format(
        budget=f"{facts.budget.flops:.3g}".replace("e+", "e"),
        n=tokens(facts.n_parameters),
        n_layers=config.n_layers,
        d_model=config.d_model,
        tokens=tokens(facts.n_tokens),
        context=facts.wish.n,
        ratio=rounded(facts.tokens_per_parameter),
        devices=f"{facts.budget.n_devices:,} × {HARDWARE[facts.budget.device].title}",
        time=long_duration(facts.seconds, _=_),
    )
    return sentences(said, _says_loss(facts), _says_memory(facts), _says_far(facts))


def _says_loss(facts: ShapeFacts) -> str:
    if facts.loss is None:
        return _("{law} predicts no loss for this size.").format(law=facts.law.title)
    return _("The expected loss is {loss} nats per token.").format(loss=loss_text(facts.loss))


def loss_text(loss: Band | None) -> str:
    return "–" if loss is None else f"{loss.value:.2f} ({loss.least:.2f}–{loss.most:.2f})"


def _says_memory(facts: ShapeFacts) -> str:
    """Whether a device holds it."""
    sizes = {"need": bytes_text(facts.need.total), "memory": bytes_text(facts.memory)}
    if not facts.texts_at_once:
        text = _(
            "It does not fit, though: even with a single text, each device needs {need} but "
            "may use only {memory}."
        )
        return sentences(text.format(**sizes), _says_fewest(facts))
    text = _("It fits: {at_once:,} texts at once take {need} of the {memory} of each device.")
    return text.format(at_once=facts.texts_at_once, **sizes)


def _says_fewest(facts: ShapeFacts) -> str:
    """How many devices hold it, and for how long it keeps them."""
    fewest = with_fewest_devices(facts)
    if fewest is None:
        return _(
            "No number of devices is enough, since each keeps the activations of a whole "
            "text: use shorter texts or activation checkpointing."
        )
    return _(
        "At least {count:,} devices are needed to hold the training run, which then takes {time}."
    ).format(count=fewest.budget.n_devices, time=long_duration(fewest.seconds, _=_))


def _says_far(facts: ShapeFacts) -> str:
    """Where the law is asked about what it has not seen, or for what there is not."""
    said = []
    if facts.beyond > FAR:
        text = _(
            "The budget lies outside the range that the law was fitted to, by a factor of {times}."
        )
        said.append(text.format(times=rounded(facts.beyond)))
    if abs(facts.off) > 2 * chosen_shape.NEAR:
        text = _(
            "With this vocabulary, no GPT comes closer to the size that the law calls for ({size})."
        )
        said.append(text.format(size=tokens(round(facts.size))))
    return sentences(*said)


def says_exact(facts: ShapeFacts) -> str:
    """By how much the rule is off, and what the count takes in."""
    text = _(
        "The rule 6·N·D gives {rule}. The exact count is {share:.2f} times that; attention "
        "between tokens makes up {pairs} of it. All n² pairs of a text are counted here, "
        "masked ones included; a kernel that skips the masked half, as FlashAttention does "
        "(and as the count for serving assumes), would leave FLOPs for {more} more tokens."
    )
    said = text.format(
        rule=flops(facts.cost.rule),
        share=facts.of_rule,
        pairs=percent(facts.pairs_share),
        more=percent(facts.more_unmasked),
    )
    if not facts.cost.recomputed:
        return said
    more = _("A further {again} of the budget goes into what fused attention computes twice.")
    again = fine_percent(facts.recomputed_share)
    return sentences(said, more.format(again=again))


def says_law(facts: ShapeFacts) -> str:
    """What the law asked for, and how near to it this model is."""
    text = _(
        "The law ({source}) calls for a size of {size} ({counted}); this model differs from "
        "it by {off:+.1%}."
    )
    return text.format(
        source=facts.law.source,
        size=_size_text(facts),
        counted=_(COUNTED[facts.law.counted]),
        off=facts.off,
    )


def _size_text(facts: ShapeFacts) -> str:
    if facts.law.counted is Counted.WORK:
        return flops(facts.size)
    return tokens(round(facts.size))


def says_front(facts: FrontFacts) -> str:
    """What use in the end makes of the best size."""
    text = _(
        "With recomputation included, every size costs {share:.2f} times 6·N·D here, as the "
        "GPT above does (loss {here:.3f}). Counted this way, {n} parameters give the lowest "
        "loss, {loss:.3f}, if the model is never used; {law} counts only 6·N·D and therefore "
        "recommends a different size. If {served} tokens are read or generated afterwards, at"
        " 2·N FLOPs each, the same total of {total} is better spent on {m} parameters, "
        "trained on {tokens} tokens (loss {less:.3f})."
    )
    best, start = facts.best, facts.start
    return text.format(
        share=facts.of_rule,
        here=facts.here["loss"],
        law=facts.law.title,
        n=tokens(round(start["n"])),
        loss=start["loss"],
        served=tokens(round(facts.served)),
        total=flops(facts.total),
        m=tokens(round(best["n"])),
        tokens=tokens(round(best["tokens_served"])),
        less=best["loss_served"],
    )


def says_people(facts: PeopleFacts) -> str:
    """On which side of the best published models stand."""
    text = _(
        "{above} of {all} published models were trained on more than 20 tokens per active "
        "parameter; {most} was trained on {ratio}."
    )
    return text.format(
        above=facts.n_above, all=len(facts.rows), most=facts.longest, ratio=rounded(facts.most)
    )


def kinds_table(found: tuple[ShapeFacts, ...]) -> pd.DataFrame:
    rows = {_("what the budget buys"): _names()}
    return pd.DataFrame(rows | {_(KINDS[each.wish.attention]): [*_column(each)] for each in found})


def says_kinds(found: tuple[ShapeFacts, ...]) -> str:
    """What speaks for one of them, since no law does."""
    text = _(
        "These laws take only the parameters and FLOPs of attention into account. What really"
        " sets the kinds apart is their KV cache: {caches} per token."
    )
    caches = enumeration(
        f"{each.wish.attention.upper()} {bytes_text(_cached(each.config))}" for each in found
    )
    return text.format(caches=caches)


def _cached(config: ModelConfig) -> int:
    return cache_bytes_per_token(config, BYTES)


def _names() -> list[str]:
    return [
        _("parameters"),
        _("training tokens"),
        _("layers × d_model"),
        _("heads × d_head"),
        _("key/value heads"),
        "d_ff",
        _("batch, texts"),
        _("batch, tokens"),
        _("updates"),
        _("peak learning rate"),
        _("device-hours"),
        _("memory of each device"),
        _("KV cache per token (16 bits)"),
        _("expected loss"),
    ]


def _column(facts: ShapeFacts) -> list[str]:
    config = facts.config
    heads = f"{config.n_kv_heads:,}" if not config.is_latent else _("latent {d}")
    return [
        f"{facts.n_parameters:,}",
        f"{facts.n_tokens:,}",
        f"{config.n_layers} × {config.d_model:,}",
        f"{config.n_heads} × {config.d_head}",
        heads.format(d=config.latent.d_kv_latent),
        f"{config.d_ff:,}",
        f"{facts.texts:,}",
        f"{facts.texts * facts.wish.n:,}",
        f"{facts.n_steps:,}",
        f"{facts.learning_rate:.2e}",
        f"{facts.device_hours:,.2f}",
        bytes_text(facts.need.total),
        bytes_text(_cached(config)),
        loss_text(facts.loss),
    ]


def says_batch(facts: ShapeFacts) -> str:
    """Where batch and learning rate come from."""
    text = _(
        "Batch size and learning rate follow DeepSeek-AI 2024 (equation 1): 0.2920 · C^0.3271"
        " tokens and 0.3118 · C^−0.1250. Memory is that of AdamW in bfloat16 with float32 "
        "master weights; the states are sharded across all devices (ZeRO-3)."
    )
    if facts.loss is None:
        return text
    more = _(
        "According to Kaplan et al. 2020 (equation 1.4), batches larger than {critical} "
        "tokens save few updates."
    )
    return sentences(text, more.format(critical=tokens(round(critical_batch(facts.loss.value)))))


def laws_table(found: tuple[ShapeFacts, ...]) -> pd.DataFrame:
    """The same budget by each law."""
    return pd.DataFrame(
        {
            _("scaling law"): [each.law.title for each in found],
            _("parameters"): [f"{each.n_parameters:,}" for each in found],
            _("training tokens"): [f"{each.n_tokens:,}" for each in found],
            _("tokens per parameter"): [rounded(each.tokens_per_parameter) for each in found],
            _("expected loss"): [loss_text(each.loss) for each in found],
            _("counts"): [_(COUNTED[each.law.counted]) for each in found],
            _("reference"): [each.law.source for each in found],
        }
    )
