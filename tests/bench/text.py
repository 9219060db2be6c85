"""How reading grows with the text, and what reading a corpus and making a batch take."""

from functools import partial

from blocks.corpora.texts import corpus_from_bytes
from blocks.model.randomness import generator
from blocks.text.bilingual import SentenceTokenizer
from blocks.text.tokenizers import shipped_tokenizer
from blocks.text.words import words
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from tests.bench.parameters import median_milliseconds
from tests.bench.report import report

N_CHARACTERS = 50_000
PIECES = {"words": "word ", "one word": "a", "accents": "\u0301", "emoji": "😀", "Chinese": "猫"}
SENTENCES = SentenceTokenizer(("the", "cat", "sat", "."), ("猫", "坐", "。"))
READERS = {
    "words": lambda text: words(text, at_most=10),
    "BPE": lambda text: shipped_tokenizer().encode(text),
    "sentences": SENTENCES.left_out,
}


def measure() -> None:
    """Print each ratio, and milliseconds of a batch of every task."""
    for reader in READERS:
        twice_as_long(reader)
    fifty_megabytes()
    for kind in TaskKind:
        batches(kind)


def twice_as_long(reader: str) -> None:
    """The worst of several texts."""
    read = READERS[reader]
    ratios = {
        name: median_milliseconds(partial(read, 2 * piece * N_CHARACTERS))
        / median_milliseconds(partial(read, piece * N_CHARACTERS))
        for name, piece in PIECES.items()
    }
    worst = max(ratios, key=ratios.__getitem__)
    found = f"{ratios[worst]:.2f} ×  ({worst})"
    report(f"(t) twice the text / once, {reader}", found, "≤ 2.5 ×")


def fifty_megabytes() -> None:
    """Text that a reader brings, in UTF-8 and in GB 18030."""
    for encoding in ("utf-8", "gb18030"):
        raw = "从前，湖边住着一头善良的大象。".encode(encoding)
        raw *= 50_000_000 // len(raw)
        took = median_milliseconds(partial(corpus_from_bytes, raw, most_characters=1_000_000))
        report(f"(t) 50 MB of text in {encoding}", f"{took:.0f} ms", "≤ 5 s")


def batches(kind: TaskKind) -> None:
    """Twelve rows of a task."""
    task = build_task(TaskConfig(kind=kind, seq_len=kind.usual_seq_len))
    took = median_milliseconds(partial(task.batch, 12, generator(0)))
    report(f"(t) a batch of {kind}", f"{took:.2f} ms", "≤ 1 ms, of pairs 5")
