"""What Home opens with where its address says nothing: a real model, or the one that ships with us.

Its address says then which one runs: it means the same to whoever gets the link.
"""

from collections.abc import Mapping

from blocks.model.kinds import Architecture
from blocks.weights.known import MODELS, RealModel
from pages.server import address, brought, settings, starts
from pages.words.language import LANGUAGES, _, browser_language

OF_THE_READER = {"lang", "hide"}
OURS = "none"


def completed(query: dict[str, str]) -> dict[str, str]:
    """The bare address of Home with the model that it stands for, and a text to try first."""
    if query.keys() - OF_THE_READER:
        return query
    return {**query, **first(query.get("lang", ""))}


def first(lang: str) -> dict[str, str]:
    """The model that Home opens with and a text for it, in the language of the reader if it can.

    That of `BLOCKSCOPE_HOME`; else, where this serves nobody but this machine, the first real model
    that is here and sound. Nothing: the one that ships with us.
    """
    if told := settings.home_model():
        return {} if told == OURS else {"preset": told}
    if not address.is_alone():
        return {}
    lang = lang if lang in LANGUAGES else browser_language()
    models = sorted(_of_home(), key=lambda model: lang not in model.texts)
    found = ((here(model), model) for model in models)
    return next((_begun(name, model, lang) for name, model in found if brought.is_sound(name)), {})


def _of_home() -> list[RealModel]:
    return [model for model in MODELS if model.architecture is Architecture.GPT]


def _begun(preset: str, model: RealModel, lang: str) -> dict[str, str]:
    return {"preset": preset, "text": text_for(model.texts, lang)}


def text_for(texts: Mapping[str, str], lang: str) -> str:
    """The text to try first, in this language where the model reads it."""
    return texts.get(lang, texts["en"])


def here(model: RealModel) -> str:
    """The name under which it opens at once; empty where it has to be fetched first."""
    return model.file if brought.is_here(model.file) else brought.from_the_hub(model.name)


def title(preset: str) -> str:
    found = known(preset)
    return found.title if found else _(starts.start(preset).title)


def known(preset: str) -> RealModel | None:
    """The model that people know by another name than this, where it is one."""
    return next((each for each in MODELS if preset in (each.file, brought.HUB + each.name)), None)
