"""Every value that a link can carry: how it is read, and what it is where the link is silent."""

from collections.abc import Callable, Mapping
from typing import Any

from blocks.model.config import FIELDS as CONFIG_FIELDS
from blocks.model.devices import DTYPES, available_devices
from blocks.model.masks import MaskKind
from blocks.observe.run import PaddingSide
from blocks.text.numbers import NumberTokenizer
from blocks.text.sampling import SamplingConfig
from pages.server import starts
from pages.server.readers import (
    MOST_SHOWN_TEMPERATURE,
    Field,
    UnreadableError,
    choice,
    flag,
    identifier,
    of_type,
    sentence,
    temperature,
    whole,
    within,
)
from pages.server.settings import MAX_NEW_TOKENS, MAX_TOKENS
from pages.session.slot import Slot
from pages.state.link_fields import (
    attention,
    circuit,
    compare,
    cost,
    efficiency,
    feed_forward,
    forward_pass,
    home,
    instruments,
    lessons,
    masks,
    normalization,
    parameters,
    phases,
    positions,
    scaling,
    seq2seq,
    share,
    sweep,
    training,
)
from pages.state.link_fields import interventions as changes
from pages.state.link_fields.training import HEAD_MEASURES, LOOKED_AT, TRAINING, telling_measure
from pages.words.language import LANGUAGES, browser_language

SAMPLES = {
    "en": "the small robot saw the red ball and the small robot smiled",
    "zh": "小机器人看见红色的球，小机器人笑了。",
}
INPUT_KINDS = ("sentence", "random")
PROMPTS = TEXT, START, CHAT = "text", "start", "chat"
WEIGHTS = ("trained", "random")
LARGEST_SEED = 2**31 - 1
# What the page that is drawn begins with, where it differs from the others.
DEFAULT_PRESET, DEFAULT_MASK = Slot("default_preset", ""), Slot[str | None]("default_mask", None)
PADDING_SHOWN, N_NUMBERS = 3, 12


def default_preset() -> str:
    """The model that a page shows first; which one, its frame says. Without one: the course's."""
    wanted = DEFAULT_PRESET.get()
    return wanted if starts.is_known(wanted) else "course"


def known_preset(text: str) -> str:
    """Read the name of something to start from."""
    if not starts.is_known(text):
        raise UnreadableError
    return text


def _start(values: Mapping[str, Any]) -> starts.Start:
    return starts.start(_preset(values))


def _preset(values: Mapping[str, Any]) -> str:
    name = values.get("preset") or default_preset()
    return name if starts.is_known(name) else default_preset()


def _preset_value(name: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda values: _start(values).config.plain(name)


def _text(values: Mapping[str, Any]) -> str:
    return values["text"] if "text" in values else _sample(values)


def _sample(values: Mapping[str, Any]) -> str:
    return samples(_preset(values))[(values.get("lang") or browser_language())]


def samples(preset: str) -> Mapping[str, str]:
    """A text to begin with, by language: one that the trained model was made for."""
    weights = starts.start(preset).weights
    if not weights:
        return SAMPLES
    learned = starts.model(starts.original(weights))
    if isinstance(learned.tokenizer, NumberTokenizer):
        numbers = range(min(N_NUMBERS, learned.tokenizer.vocab_size))
        return dict.fromkeys(SAMPLES, " ".join(map(str, numbers)))
    return {**SAMPLES, **(learned.card.samples if learned.card else {})}


def _usual_sampling(values: Mapping[str, Any]) -> SamplingConfig:
    """As the files of a published model say, or calm, where it writes; of ours, and where one looks
    at what comes next, the model's own probabilities."""
    if values.get("panel", "") in ("", "next"):
        return SamplingConfig()
    chat = starts.chat(_start(values).weights)
    return chat.sampling if chat else SamplingConfig()


def _usual_temperature(values: Mapping[str, Any]) -> float:
    return min(_usual_sampling(values).temperature, MOST_SHOWN_TEMPERATURE)


def _preset_mask(values: Mapping[str, Any]) -> str:
    """The page's own where it has one: a GPT is causal, whatever it was started from."""
    return DEFAULT_MASK.get() or str(_start(values).mask_kind)


def _weight_format(values: Mapping[str, Any]) -> str:
    weights = _start(values).weights
    return cost.AS_IN_FILE if weights and starts.is_rounded(weights) else "bfloat16"


def _padding(values: Mapping[str, Any]) -> int:
    kind = MaskKind(values.get("mask_kind") or _preset_mask(values))
    return PADDING_SHOWN if kind.hides_padding else 0


# The architecture is the page's to say.
CONFIG = {
    name: Field(of_type(kind), _preset_value(name))
    for name, kind in CONFIG_FIELDS.items()
    if name != "architecture"
}
# In this order they are read: a default may depend on what stands before it.
RUN = {
    "lang": Field(choice(LANGUAGES), None),
    "preset": Field(known_preset, lambda values: default_preset()),
    "at_step": Field(whole(0, 10**7), None),
    "weights": Field(choice(WEIGHTS), "trained"),
    "input_kind": Field(choice(INPUT_KINDS), "sentence"),
    "text": Field(sentence, _sample),
    "prompt": Field(choice(PROMPTS), TEXT),
    "batch": Field(whole(1, 64), 1),
    "seq_len": Field(whole(1, MAX_TOKENS), 16),
    "mask_kind": Field(choice(MaskKind), _preset_mask),
    "window_size": Field(whole(1, MAX_TOKENS), 4),
    "prefix_len": Field(whole(0, MAX_TOKENS), 3),
    **masks.PAINTED,
    "n_padding": Field(whole(0, 64), _padding),
    "padding_side": Field(choice(PaddingSide), "right"),
    "seed": Field(whole(0, LARGEST_SEED), 0),
    "device": Field(choice(available_devices()), available_devices()[0]),
    "dtype": Field(choice(DTYPES), "float32"),
    "training": Field(flag, False),
    "hide_token": Field(flag, True),
}
# How the next token is chosen, and how many are written; 0 keeps all of them for top_k.
SAMPLING = {
    "temperature": Field(temperature, _usual_temperature),
    "top_k": Field(whole(0, 10**6), lambda values: _usual_sampling(values).top_k or 0),
    "top_p": Field(within(0.01, 1.0), lambda values: _usual_sampling(values).top_p),
    "sampling_seed": Field(whole(0, LARGEST_SEED), 0),
    "n_new_tokens": Field(whole(0, MAX_NEW_TOKENS), 12),
}
VIEW = {
    "panel": Field(identifier, ""),
    "present": Field(flag, False),
    # Where the reader has chosen none, a telling one is shown.
    "layer": Field(whole(0, 10**6), None),
    "stage": Field(sentence, "attention_out"),
    "head": Field(whole(0, 10**6), None),
    "token": Field(whole(0, 10**6), None),
    "sinks_apart": Field(flag, True),
    **compare.KEPT,
    **lessons.FIELDS,
    **share.FIELDS,
}
# What is changed inside the model, and the text that is patched from.
CHANGES = {**changes.FIELDS, "other_text": Field(sentence, _text)}
WATCHED = {
    "log_steps": Field(flag, False),
    "looked_at": Field(choice(LOOKED_AT), "task"),
    "head_measure": Field(choice(HEAD_MEASURES), telling_measure),
}
FORMAT = {"weight_format": Field(choice((*cost.WEIGHT_FORMATS, cost.AS_IN_FILE)), _weight_format)}
# What the panels of a page are set by, page by page: a link to that page says it, no other does.
OF_PAGES: Mapping[str, Mapping[str, Field]] = {
    "app": {**attention.GRAPH, **lessons.LEFT, **home.FIELDS},
    "block": {"n_dims": Field(whole(1, 128), 20)},
    "gpt": {**SAMPLING, "new_token": Field(whole(0, MAX_NEW_TOKENS), 0)},
    "encoder": {},
    "forward_pass": forward_pass.FIELDS,
    "seq2seq": {
        **seq2seq.FIELDS,
        **seq2seq.ATTENTION_FIELDS,
        **attention.LINES,
        **forward_pass.FIELDS,
    },
    "training": {
        **TRAINING,
        **WATCHED,
        **sweep.FIELDS,
        **sweep.VERDICT,
        **seq2seq.WHO_READS_WHOM,
        **attention.LINES,
    },
    "attention": {**attention.FIELDS, **attention.KINDS_FIELDS},
    "feed_forward": feed_forward.FIELDS,
    "normalization": normalization.FIELDS,
    "masks": masks.FIELDS,
    "positions": positions.FIELDS,
    "parameters": parameters.FIELDS,
    "scaling": scaling.FIELDS,
    "cost": {**cost.FIELDS, **FORMAT, **cost.MEASURED_FIELDS, **attention.GROWTH},
    "efficiency": {**efficiency.FIELDS, **training.RUN},
    "compare": {**compare.FIELDS, **cost.CONTEXT, **FORMAT},
    "instruments": {**instruments.FIELDS, **circuit.FIELDS},
    "phases": phases.FIELDS,
}
OF_PANELS = {name: field for fields in OF_PAGES.values() for name, field in fields.items()}
FIELDS: dict[str, Field] = {**RUN, **CONFIG, **OF_PANELS, **VIEW, **CHANGES}


def is_of_page(name: str, page: str) -> bool:
    """Whether a link to this page says it: what runs and what goes in, or what a panel there shows.

    A page that has no row says everything.
    """
    return name not in OF_PANELS or name in OF_PAGES.get(page, OF_PANELS)
