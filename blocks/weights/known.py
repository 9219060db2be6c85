"""Models that people know, as the hub names them, and what is worth typing first.

Counts of parameters are the published ones.
"""

from typing import NamedTuple

from blocks.model.faults import N_
from blocks.model.kinds import Architecture

FRANCE = "The capital of France is"
MARY = "When Mary and John went to the store, John gave a drink to"
WEATHER = ">>cmn_Hans<< The weather is very nice today."
GERMANY = "The capital of Germany is"
BROTHER = "He called his brother (who lives in London"
ALICE = (
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
    "nothing to do: once or twice she had peeped into the book her sister was reading, but it had "
    "no pictures or conversations in it, “and what is the use of a book,” thought Alice “without "
    "pictures or conversations?” So she was considering in her own mind (as well as she could, for "
    "the hot day made her feel very sleepy and stupid), whether the pleasure of making a "
    "daisy-chain would be worth the trouble of getting up and picking the daisies, when suddenly a "
    "White Rabbit with pink eyes ran close by her."
)
CLASS = "今天下午老师在教室里讲注意力机制，学生们听得很"
ENGLISH, CHINESE = N_("English"), N_("Chinese")


class RealModel(NamedTuple):
    """A published model: its name on the hub, its size, what it reads, and a text to try first.

    `file`: what it is called where `make model` has brought it.
    """

    title: str
    name: str
    n_parameters: int
    languages: tuple[str, ...]
    license: str
    texts: dict[str, str]
    architecture: Architecture = Architecture.GPT
    file: str = ""


def language_of(text: str) -> str:
    """Which of the languages of these models a text is in, by its letters; empty: another."""
    letters = [sign for sign in text if sign.isalpha()]
    others = [sign for sign in letters if not sign.isascii()]
    if 10 * len(others) <= len(letters):
        return ENGLISH
    return CHINESE if 2 * sum("一" <= sign <= "鿿" for sign in others) > len(others) else ""


MODELS = (
    RealModel(
        "SmolLM2 135M Instruct",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        134_515_008,
        (ENGLISH,),
        "Apache-2.0",
        {"en": FRANCE},
        file="folder:SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
    RealModel("GPT-2 small", "openai-community/gpt2", 124_439_808, (ENGLISH,), "MIT", {"en": MARY}),
    RealModel(
        "Qwen3 0.6B",
        "Qwen/Qwen3-0.6B",
        596_049_920,
        (ENGLISH, CHINESE),
        "Apache-2.0",
        {"en": FRANCE, "zh": CLASS},
    ),
    RealModel(
        "Gemma 3 270M",
        "google/gemma-3-270m",
        268_098_176,
        (ENGLISH, CHINESE),
        "Gemma",
        {"en": FRANCE, "zh": CLASS},
    ),
    RealModel(
        "BERT base",
        "google-bert/bert-base-uncased",
        109_482_240,
        (ENGLISH,),
        "Apache-2.0",
        {"en": "The capital of France is [MASK]."},
        architecture=Architecture.ENCODER,
    ),
    RealModel(
        "opus-mt English–Chinese",
        "Helsinki-NLP/opus-mt-en-zh",
        77_419_008,
        (ENGLISH, CHINESE),
        "Apache-2.0",
        {"en": WEATHER},
        architecture=Architecture.ENCODER_DECODER,
    ),
)
