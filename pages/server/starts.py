"""Where a configuration starts from: a published architecture, or a trained model.

Trained are the pocket models that ship with us, what a reader has trained here, and what readers
bring.
"""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from blocks import ConfigError, Fault, ModelConfig
from blocks.corpora.paragraphs import language_of
from blocks.cost.parameters import total_parameters
from blocks.cost.setup import StoredWeights
from blocks.efficiency.compression import NO_TOKENIZER, Calibrated, compress, compressed_config
from blocks.efficiency.expected import calibrated_bytes
from blocks.efficiency.names import compression_of
from blocks.efficiency.own_text import text_faults
from blocks.known.words import MODELS
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskKind
from blocks.model.presets import ENCODER_DECODER_TABLE, PRESET_TABLE, PUBLISHED_TABLE
from blocks.text.chat import Chat
from blocks.text.numbers import NumberTokenizer
from blocks.text.tokenizer import Tokenizer
from blocks.text.tokenizers import shipped_tokenizer
from blocks.training.examples import openings
from blocks.training.fast_model import FAST_SHAPE
from blocks.training.memory import training_memory_fault
from blocks.training.spec import spec_faults
from blocks.training.tasks import Task, TaskConfig, build_task
from blocks.training.training_run import TrainingRun
from blocks.weights.model_file import Card, ModelFile
from blocks.weights.pocket import pocket, pocket_names
from blocks.weights.tensors import bytes_of
from pages.server import brought, pasted, runs, score_texts
from pages.server.brought import Learned
from pages.server.once import once
from pages.server.settings import memory_budget
from pages.server.shelf import Shelf, weighed

POCKET_TITLES = {
    "stories-en-zh": N_("Stories"),
    "stories-mtp": N_("Stories, three tokens at once"),
    "induction": N_("Induction"),
    "sort": N_("Sorting"),
    "masked-words": N_("Masked words"),
    "translator": N_("Translator"),
}

FAST, MOST_VARIANTS = "fast", 8
NO_CARD = N_("Like other published models, {name} does not say which task it was trained on.")
NO_SUCH_TASK = N_(
    "The model card of {name} names no task that can be measured here: save the model "
    "again where it was trained, or choose one of these models."
)
PUBLISHED = PRESET_TABLE | ENCODER_DECODER_TABLE | PUBLISHED_TABLE
ON = "\n"  # between weights and the text that they are measured on; in no link
KNOWN = "known:"  # before the name of a model of known truth
RECIPE = "~"  # between the name of a trained model and how it was made smaller


class Start(NamedTuple):
    """A configuration, the mask it is used with, and its trained weights where it has some.

    `weights` names them for good: those of a run, with the step at which they were kept.
    `recipe`: how a trained model was made smaller, empty where it is as it was trained.
    """

    title: str
    config: ModelConfig
    mask_kind: MaskKind
    source: str
    weights: str = ""
    recipe: str = ""


def names() -> tuple[str, ...]:
    """All that ships with us for models of one text, trained models first."""
    return (*pocket_names(), FAST, *PRESET_TABLE)


def names_of_two() -> tuple[str, ...]:
    two = [name for name in pocket_names() if _is_of_two(pocket(name).config)]
    return tuple(dict.fromkeys((*two, *ENCODER_DECODER_TABLE, *names())))


def names_to_count() -> tuple[str, ...]:
    """Names of all that can be counted: also models too large to run."""
    return (*names_of_two(), *PUBLISHED_TABLE)


def _is_of_two(config: ModelConfig) -> bool:
    return config.architecture is Architecture.ENCODER_DECODER


def is_known(name: str) -> bool:
    """Whether one can start from this name; of a run, whether it is still kept."""
    if pasted.is_name(name):
        return pasted.read(name) is not None
    if _is_made_smaller(name):
        return _is_variant(name)
    return name in _shipped() or _run(name) is not None or brought.is_sound(name)


@lru_cache(maxsize=1)
def _shipped() -> frozenset[str]:
    """All that ships with us: asked for dozens of times in every rerun."""
    return frozenset((*names_to_count(), *(KNOWN + name for name in MODELS)))


def _is_made_smaller(name: str) -> bool:
    """Whether it ends in a recipe; what was brought or pasted may have such a name itself."""
    if pasted.is_name(name):
        return False
    _base, tilde, recipe = name.rpartition(RECIPE)
    return bool(tilde) and (not brought.is_name(name) or _is_recipe(recipe))


def _is_recipe(text: str) -> bool:
    try:
        return bool(compression_of(text)) and bool(text)
    except ConfigError:
        return False


def _is_variant(name: str) -> bool:
    base, _tilde, recipe = name.rpartition(RECIPE)
    try:
        is_whole = bool(recipe) and is_known(base) and not _is_made_smaller(base)
        weights = _start_of_variant(base, recipe, None).weights if is_whole else ""
        is_text_here = score_texts.find(text) if (text := compression_of(recipe).text) else True
        return bool(weights and is_text_here) and measuring_fault(original(weights)) is None
    except ConfigError:
        return False


def variant_of(name: str, recipe: str) -> str:
    """The name of a model made smaller by a recipe; of a variant, anew from the original."""
    base = original(name)
    return f"{base}{RECIPE}{recipe}" if recipe else base


def _known_file(weights: str) -> ModelFile:
    from blocks.known.subjects import subject  # what makes them is not loaded by every page

    return subject(weights.removeprefix(KNOWN)).file


def start(name: str, step: int | None = None) -> Start:
    """What has this name; of a run, the weights kept nearest to this step, or the newest."""
    if _is_made_smaller(name):
        base, _tilde, recipe = name.rpartition(RECIPE)
        return _start_of_variant(base, recipe, step)
    if name == FAST:
        source = N_("modded-nanogpt (Jordan et al. 2024), scaled down")
        return Start(N_("Fast learner"), _fast(), MaskKind.CAUSAL, source)
    if preset := PUBLISHED.get(name):
        return Start(preset.title, preset.config, preset.mask_kind, preset.source)
    if name in pocket_names():
        config = pocket(name).config
        source = N_("trained by us; `make pocket` retrains it")
        return Start(POCKET_TITLES.get(name, name), config, _mask(config), source, name)
    if name.startswith(KNOWN):
        config, source = _known_file(name).config, N_("written by a program, not trained")
        return Start(MODELS[name.removeprefix(KNOWN)], config, _mask(config), source, name)
    if brought.is_name(name):
        return _start_of_brought(name)
    if found := pasted.read(name) if pasted.is_name(name) else None:
        title = f"{found.name} · config.json"
        return Start(title, found.config, _mask(found.config), N_("pasted by a user"))
    run = _run(name)
    if run is None:
        raise KeyError(name)
    return _start_of_run(run, step)


def _start_of_variant(base: str, recipe: str, step: int | None) -> Start:
    """Raises `ConfigError` where the recipe cannot be; without weights there is no variant."""
    whole, how = start(base, step), compression_of(recipe)
    config = compressed_config(whole.config, how)
    weights = whole.weights and variant_of(whole.weights, recipe)
    return whole._replace(config=config, weights=weights, recipe=recipe)


@lru_cache(maxsize=1)
def _fast() -> ModelConfig:
    """The shape that learns fast, with the tokens that ship with us."""
    vocab_size = shipped_tokenizer().vocab_size
    return ModelConfig.from_flat(
        FAST_SHAPE | {"architecture": Architecture.GPT, "vocab_size": vocab_size}
    )


def _mask(config: ModelConfig) -> MaskKind:
    is_causal = config.architecture is Architecture.GPT or _is_of_two(config)
    return MaskKind.CAUSAL if is_causal else MaskKind.NONE


def _run(name: str) -> TrainingRun | None:
    is_run = name.startswith(runs.PREFIX)
    run = runs.find(name.removeprefix(runs.PREFIX)) if is_run else None
    return run if run is not None and run.snapshots.steps else None


def _start_of_run(run: TrainingRun, step: int | None) -> Start:
    kept_step, _tensors = run.snapshots.at(run.snapshots.steps[-1] if step is None else step)
    weights = f"{runs.preset_of(run.id)}@{kept_step}"
    config = run.spec.config
    return Start(N_("Trained here"), config, _mask(config), N_("trained by you"), weights)


def _start_of_brought(name: str) -> Start:
    found = brought.find(name)
    if found is None or found.learned is None:
        raise KeyError(name)
    config = found.learned.config
    weights = f"{name}@{found.short_digest}"
    return Start(brought.title(name), config, _mask(config), N_("opened by a user"), weights)


def model(weights: str) -> Learned:
    """The trained model that `Start.weights` names. KeyError where it is forgotten."""
    if _is_made_smaller(weights):
        return Learned.of_file(variant_file(weights))
    name, _at, which = weights.rpartition("@")
    if brought.is_name(name):
        found = brought.find(name)
        if found is None or found.learned is None or found.short_digest != which:
            raise KeyError(weights)
        return found.learned
    if weights.startswith(KNOWN):
        return Learned.of_file(_known_file(weights))
    if not name:
        return Learned.of_file(pocket(weights))
    run = _run(name)
    if run is None:
        raise KeyError(weights)
    return Learned.of_file(model_of_run(run, int(which)))


def chat(weights: str) -> Chat | None:
    """How published weights are asked, and where they end; None of all others."""
    return model(original(weights)).chat if weights else None


def original(weights: str) -> str:
    """The name as it was trained, of which this is a smaller variant or all; of weights too."""
    return weights.rpartition(RECIPE)[0] if _is_made_smaller(weights) else weights


def start_of(weights: str) -> Start:
    """What trained weights start from, by their own name; of a run, at the step that it has."""
    name, _at, step = weights.rpartition("@")
    if weights.startswith(runs.PREFIX):
        return start(name, int(step))
    return start(name if brought.is_name(weights) else weights)


def variant_file(weights: str) -> ModelFile:
    return _variants().get(weights)


@once
def _variants() -> Shelf[str, ModelFile]:
    return weighed(_made_smaller, lambda file: bytes_of(file.tensors), 4, MOST_VARIANTS)


def _made_smaller(weights: str) -> ModelFile:
    base, _tilde, recipe = weights.rpartition(RECIPE)
    how = compression_of(recipe)
    return compress(calibrated(measured_on(base, how.text)), how)


def is_rounded(weights: str) -> bool:
    """Whether a file keeps matrices of these weights as codes; nothing is made for it."""
    if _is_made_smaller(weights):
        base, _tilde, recipe = weights.rpartition(RECIPE)
        return compression_of(recipe).quantization is not None or is_rounded(base)
    file = model(weights).file if brought.is_name(weights) else None
    return bool(file and file.quantized)


@lru_cache(maxsize=32)
def stored(weights: str) -> StoredWeights | None:
    """What rounded weights take in their file, one that is saved or was brought; None of others."""
    if not weights or not is_rounded(weights):
        return None
    file = model(weights).file
    if file is None or not file.quantized:
        return None
    n_bytes = file.weight_bytes() if _is_made_smaller(weights) else file.weight_bytes(None)
    return StoredWeights(n_bytes, total_parameters(file.config))


def calibrated(measured: str) -> Calibrated:
    """A trained model with what it is calibrated and measured on, as `measured_on` names them.

    KeyError where the model or the text is forgotten.
    """
    return _calibrated().get(measured)


@once
def _calibrated() -> Shelf[str, Calibrated]:
    return weighed(_with_text, lambda each: calibrated_bytes(each.file.config), 4, MOST_VARIANTS)


def _with_text(measured: str) -> Calibrated:
    weights, _on, name = measured.partition(ON)
    found, text = model(weights), score_texts.find(name) if name else None
    if name and text is None:
        raise KeyError(measured)
    file = found.file or ModelFile(found.config, found.tokenizer, None, found.tensors)
    return Calibrated(file, text)


def measured_on(weights: str, text: str = "") -> str:
    """The name of whole weights with a text that they are measured on, one of `score_texts`.

    Without one it is their own task, or where they came without it, what ships in their language.
    """
    if not text and not has_task(weights):
        text = _language(weights)
    return f"{weights}{ON}{text}" if text else weights


@lru_cache(maxsize=64)
def _language(weights: str) -> str:
    """The language of the text that these weights are measured on; all of it is encoded once."""
    return language_of(model(weights).tokenizer)


def text_on(measured: str) -> str:
    """The text that such a name says; empty where it is the task of the model."""
    return measured.partition(ON)[2]


def measuring_fault(weights: str) -> Fault | None:
    """Why neither a task nor a text says how good a model is; None where one does."""
    if has_task(weights):
        return None
    found = model(original(weights))
    if isinstance(found.tokenizer, NumberTokenizer):
        return Fault(NO_TOKENIZER)
    fault = next(text_faults(found.config, found.tokenizer), None)
    return task_fault(weights) if fault and found.card else fault


def has_task(weights: str) -> bool:
    """Whether it is known what a model was trained on; of one that was brought its file says so."""
    return bool(weights) and task_fault(original(weights)) is None


def task_fault(weights: str) -> Fault | None:
    """Why what a trained model still can do cannot be measured; None where it can."""
    name = {"name": brought.title(weights)}
    if model(weights).card is None:
        return Fault(NO_CARD, name)
    if brought.is_name(weights) and not _is_sound_task(weights):
        return Fault(NO_SUCH_TASK, name)
    return None


@lru_cache(maxsize=32)
def _is_sound_task(weights: str) -> bool:
    """Whether what a card says can be asked here; it may say anything."""
    try:
        found = calibrated(weights)
        spec = replace(found.spec, config=found.file.config, teaching=None)
        task = build_task_once(spec.task)
        too_large = training_memory_fault(spec, memory_budget(spec.device))
        faults = [*spec_faults(spec.config, task), too_large]
    except (ConfigError, KeyError, TypeError, ValueError, AttributeError):
        return False
    return not any(faults) and task.tokenizer.to_json() == found.file.tokenizer.to_json()


def model_of_run(run: TrainingRun, step: int) -> ModelFile:
    """The model of a run as it was at the kept step nearest to this."""
    kept_step, tensors = run.snapshots.at(step)
    return ModelFile(run.spec.config, task_tokenizer(run.spec.task), _card(run, kept_step), tensors)


def _card(run: TrainingRun, step: int) -> Card:
    measured = [each for each in run.log.evaluations.items() if each.step <= step]
    newest = measured[-1] if measured else None
    return Card(
        task=str(run.spec.task.kind),
        recipe=run.spec.plain(),
        seed=run.spec.seed,
        n_steps=step,
        seconds=run.seconds,
        held_out_loss=newest.held_out_loss if newest else None,
        score=newest.score if newest else None,
        score_name=build_task_once(run.spec.task).score_name,
        samples=openings(build_task_once(run.spec.task)),
    )


@lru_cache(maxsize=4)
def build_task_once(task: TaskConfig) -> Task:
    """A task, its texts encoded once."""
    return build_task(task)


def task_tokenizer(task: TaskConfig) -> Tokenizer:
    return build_task_once(task).tokenizer
