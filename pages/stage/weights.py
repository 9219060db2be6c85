"""Which weights run: those that a model has learned, or some drawn from the seed."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from blocks import ModelConfig
from blocks.known.words import ANSWERS
from blocks.model.kinds import Architecture
from blocks.text.numbers import NumberTokenizer
from blocks.text.tokenizer import Tokenizer
from blocks.training.tasks import TaskKind
from blocks.weights.model_file import Card
from blocks.weights.pocket import pocket_names
from pages.server import brought, runs, starts
from pages.stage import link
from pages.state.fields import default_preset
from pages.words import terms
from pages.words.language import _, enumeration, literal, ngettext, sentences

MOST_OF_A_NAME = 40
FREE_TO_CHANGE = {"dropout", "initialization", "residual"}


def learned(architecture: Architecture | None) -> str:
    """The name of the trained weights that run on a page of this architecture, or nothing.

    None, here and below: the page shows each model as what it is.
    """
    is_random = why_random(architecture) or lost_to(architecture)
    return "" if is_random else started_from().weights


def started_from() -> starts.Start:
    """What the configuration starts from; of a run, at the step that the link names."""
    return starts.start(link.value("preset"), link.value("at_step"))


def whose() -> str:
    """Who made the weights that one can start from; nothing where there are none."""
    weights = started_from().weights
    if not weights:
        return ""
    if weights.startswith(starts.KNOWN):
        return says_known(starts.original(weights).removeprefix(starts.KNOWN))
    card = starts.model(starts.original(weights)).card
    taught = ""
    if card:
        taught = _of_another(
            card, "teaching", _("Distilled from {model} (seed {seed}).")
        ) + _of_another(card, "origin", _("Trained further, starting from {model} (seed {seed})."))
    if brought.is_name(weights):
        text = _("Opened: {name} · SHA-256 {digest} …")
        digest = starts.original(weights).partition("@")[2]
        said = text.format(name=literal(brought.title(weights)), digest=digest) + taught
        found = starts.model(starts.original(weights))
        return sentences(said, says_numbers(found.tokenizer), *_rounded(found))
    if weights.startswith(runs.PREFIX) and card:
        text = ngettext(
            "Trained here for {n:,} step.", "Trained here for {n:,} steps.", card.n_steps
        )
        return text.format(n=card.n_steps) + taught
    return _("Shipped with Blockscope, trained by us.")


def says_known(name: str) -> str:
    """What a model of known truth does, and which parts of it do so."""
    from blocks.known.subjects import subject  # what makes them is not loaded by every page

    known = subject(name)
    text = _(
        "Compiled from a program. Its output at each token: {answer}. The heads that compute "
        "this are {heads} (layer.head); the answer is complete after layer {layer}."
    )
    heads = (f"{layer + 1}.{head + 1}" for layer, head in sorted(known.needed or ()))
    answer = _(ANSWERS[known.program])
    return text.format(answer=answer, heads=enumeration(heads), layer=known.decides)


def says_numbers(tokenizer: Tokenizer) -> str:
    """Where a model came without a tokenizer; empty where it has one."""
    if not isinstance(tokenizer, NumberTokenizer):
        return ""
    return _("This model came without a tokenizer: type token ids separated by spaces.")


def _rounded(found: brought.Learned) -> Iterator[str]:
    """How many bits a file of ours keeps of its matrices, and of what they read."""
    if found.file is None or not found.file.quantized:
        return
    matrices, inputs = found.file.quantized.values(), found.inputs.values()
    text = _("{n} matrices of this model are rounded to {bits} bits.")
    yield text.format(n=len(matrices), bits=_bits(each.n_bits for each in matrices))
    if inputs:
        text = _("The inputs to {n} of them are also rounded, to {bits} bits.")
        yield text.format(n=len(inputs), bits=_bits(each.n_bits for each in inputs))


def _bits(found: Iterable[int]) -> str:
    return enumeration(map(str, sorted({*found})))


def _of_another(card: Card, key: str, text: str) -> str:
    """Whose student it is, or what it was before, where its card says so; it may say anything."""
    other = card.recipe.get(key)
    if not isinstance(other, Mapping) or not isinstance(other.get("teacher"), str):
        return ""
    return " " + text.format(model=_name_of(other["teacher"]), seed=card.seed)


def _name_of(teacher: str) -> str:
    """What a model is called whose weights have this name, here or elsewhere."""
    base, _tilde, recipe = teacher.partition(starts.RECIPE)
    if base in pocket_names():
        title = _(starts.start(base).title)
        return f"{title} · {literal(recipe[:MOST_OF_A_NAME])}" if recipe else title
    name = literal(brought.title(teacher)[:MOST_OF_A_NAME])
    if teacher.startswith(runs.PREFIX):
        return _("training run {name}").format(name=name)
    return name or _("another model")


def shown(architecture: Architecture | None) -> Architecture | None:
    """What a page of any one text shows of an encoder–decoder: an encoder of its shape."""
    if architecture is None and link.config().architecture is Architecture.ENCODER_DECODER:
        return Architecture.ENCODER
    return architecture


def config(architecture: Architecture | None, learned: str) -> ModelConfig:
    """What is built: the trained model whole, or what the page shows, of these sizes."""
    architecture = shown(architecture)
    return link.config() if learned or architecture is None else _as(link.config(), architecture)


@lru_cache(maxsize=256)
def _as(config: ModelConfig, architecture: Architecture) -> ModelConfig:
    """These sizes in another architecture; made once for all that asks for it in a rerun."""
    if architecture is Architecture.BLOCK:
        return config.one_block()
    return config.nearest(architecture=architecture)[0]


def back_to_trained() -> None:
    """Undo what keeps the trained weights from running on a page of their architecture."""
    for name in link.now().config_changes.keys() - FREE_TO_CHANGE:
        link.restore(name)
    link.change("weights", "trained")
    link.change("input_kind", "sentence")


def fit(architecture: Architecture | None) -> bool:
    """Whether this page can show the trained model at all, as it was trained."""
    trained, architecture = started_from().config.architecture, shown(architecture)
    is_a_block_of_it = architecture is Architecture.BLOCK and not _has_target(trained)
    return is_a_block_of_it or architecture in (None, trained)


def _has_target(architecture: Architecture) -> bool:
    return architecture is Architecture.ENCODER_DECODER


def is_another_model(architecture: Architecture | None) -> bool:
    """Whether a page shows a model that has no weights for it.

    On a page about parts that is one whose weights are of another kind; an architecture without
    any is studied there as it is.
    """
    if started_from().weights:
        return not fit(architecture)
    is_of_whole = architecture not in (None, Architecture.BLOCK)
    return is_of_whole and link.value("preset") != default_preset()


def tells_stories() -> bool:
    """Whether a model that ships with us and was trained on stories runs, in whatever format."""
    name = starts.original(started_from().weights)
    return name in pocket_names() and _is_about_stories(starts.model(name).card)


def _is_about_stories(card: Card | None) -> bool:
    return card is not None and card.recipe["task"]["kind"] == TaskKind.STORIES


def lost_to(architecture: Architecture | None) -> list[str]:
    """The settings that were changed so that trained weights no longer fit; none where they do."""
    can_run = started_from().weights and fit(architecture)
    if not can_run or link.value("weights") == "random":
        return []
    changed = link.now().config_changes.keys() - FREE_TO_CHANGE
    return [] if changed == {"n_layers"} and _is_cut() else sorted(changed)


def _is_cut() -> bool:
    """Whether the model that is set is the first layers of the one that it starts from."""
    whole, n_layers = started_from().config, link.value("n_layers")
    is_two = whole.architecture is Architecture.ENCODER_DECODER
    return (
        n_layers < whole.n_layers
        and not is_two
        and whole.replace(n_layers=n_layers) == whole.first_layers(n_layers)
    )


def why_random(architecture: Architecture | None) -> str:
    """Why trained weights cannot run or are not wanted; nothing where a change alone is in the way.

    That is said beside the result, with what was changed (`lost_to`).
    """
    start = started_from()
    if not start.weights:
        return _(
            "This architecture ships without trained weights, so its weights are random, "
            "drawn from the seed."
        )
    if not fit(architecture):
        text = _("The trained model's architecture ({kind}) is not the one shown on this page.")
        return text.format(kind=terms.option(start.config.architecture))
    if link.value("weights") == "random":
        return _("You chose random weights.")
    is_random = architecture is Architecture.BLOCK and link.value("input_kind") == "random"
    return _("The trained model reads words, not a random tensor.") if is_random else ""
