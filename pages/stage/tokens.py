"""The reader's text as the tokens of a whole model."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from blocks.corpora.translation import with_mark
from blocks.model.faults import ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.model.model_input import PADDING
from blocks.observe.run import Run
from blocks.text.bilingual import SentenceTokenizer
from blocks.text.bpe import END, MASK
from blocks.text.chat import Chat
from blocks.text.marks import MASKS, Marks
from blocks.text.published import PublishedTokenizer
from blocks.text.tokenizer import Piece, Tokenizer
from blocks.text.tokenizers import shipped_tokenizer
from pages.server import brought, starts
from pages.server.settings import MAX_TOKENS, longest_text
from pages.stage import link
from pages.state.fields import CHAT, START, TEXT
from pages.words.chips import SPECIAL

EMPTY = "∅"
BETWEEN_TEXTS = "<|endoftext|>"  # of GPT-2 and those that learned from texts in one row


class Reading(NamedTuple):
    """The tokens that the model reads, how many the text has in all, and what has no token."""

    pieces: tuple[Piece, ...]
    total: int
    left_out: tuple[str, ...]


def vocabulary() -> str:
    """Whose tokens the text is cut into: the trained model's; empty for those that ship with us."""
    return starts.start(link.value("preset")).weights


def tokenizer() -> Tokenizer:
    return tokenizer_of(vocabulary())


def tokenizer_of(vocabulary: str) -> Tokenizer:
    """The tokenizer of a trained model, or the one that ships with us."""
    return (
        starts.model(starts.original(vocabulary)).tokenizer if vocabulary else shipped_tokenizer()
    )


def label(run: Run, token_id: int) -> str:
    """What a token of a run is called; a model may know more tokens than its tokenizer."""
    return label_of(tokenizer_of(run.input.vocabulary), token_id)


def roles(run: Run, token_ids: Iterable[int], role: str = "read") -> list[str]:
    """How tokens of a run are drawn: in this role, or as special where one stands for no text."""
    special = {*tokenizer_of(run.input.vocabulary).special.values()}
    return [SPECIAL if token_id in special else role for token_id in token_ids]


def label_of(reader: Tokenizer, token_id: int) -> str:
    """What a tokenizer calls a token id, beyond its vocabulary too."""
    return reader.label(token_id) if token_id < reader.vocab_size else f"⟨{token_id}⟩"


def text_of(reader: Tokenizer, token_ids: Sequence[int]) -> str:
    """The text of some token ids, those beyond the vocabulary of the tokenizer too."""
    runs = groupby(token_ids, lambda token_id: token_id < reader.vocab_size)
    return "".join(
        reader.decode(list(ids)) if is_known else "".join(label_of(reader, each) for each in ids)
        for is_known, ids in runs
    )


def most_tokens() -> int:
    """As many as the model reads at once, and as are read here."""
    is_one = starts.start(link.value("preset")).config.architecture is Architecture.GPT
    most = longest_text(link.value("device")) if is_one else MAX_TOKENS
    return max(1, min(most, link.config().max_seq_len - link.value("n_padding")))


def reading(text: str | None = None) -> Reading:
    """A text (None: that of the state), cut to what the model can read."""
    text, reader = link.value("text") if text is None else text, tokenizer()
    found = _put(text, reader)
    pieces = _fitting(found, most_tokens()) or (Piece(padding_id(), 0, 0, EMPTY),)
    return Reading(pieces, len(found), reader.left_out(text))


def beginning(text: str, n_tokens: int) -> str:
    """As much of a text as leaves so many tokens, with what is put around it."""
    pieces = _fitting(_put(text, tokenizer()), n_tokens)
    return text[: max((piece.end for piece in pieces if piece.end > piece.start), default=0)]


def chat() -> Chat | None:
    return starts.chat(vocabulary())


def start_token() -> str:
    """What begins a text, where the tokenizer does not put it there itself; empty where none."""
    reader, said = tokenizer(), chat()
    if reader.encode("a")[:1] in [[number] for number in reader.special.values()]:
        return ""
    own = dict(said.names).get("bos_token", "") if said else END
    return next((name for name in (BETWEEN_TEXTS, own) if name in reader.special), "")


def prompts() -> tuple[str, ...]:
    """The ways in which a text can be put to the model: as it is, after a start token, asked."""
    is_gpt = starts.start(link.value("preset")).config.architecture is Architecture.GPT
    if not vocabulary() or not is_gpt:
        return (TEXT,)
    said = chat()
    found = {TEXT: True, START: bool(start_token()), CHAT: bool(said and said.template)}
    return tuple(name for name, is_there in found.items() if is_there)


def prompt() -> str:
    """The way in which it is put; on the front page as it is, where it grows by a click."""
    wanted = str(link.value("prompt"))
    is_put = wanted != TEXT and link.page() != link.HOME_PAGE and wanted in prompts()
    return wanted if is_put else TEXT


def prompt_fault() -> Fault | None:
    """Why the chat template of the model cannot put the text, where it should."""
    found = _asked(link.value("text"), tokenizer()) if prompt() == CHAT else ()
    return found if isinstance(found, Fault) else None


def _put(text: str, reader: Tokenizer) -> tuple[Piece, ...]:
    if can_hide():
        return _with_masks(text, reader)
    way = prompt()
    found = _asked(text, reader) if way == CHAT else ()
    if found and not isinstance(found, Fault):
        return found
    start = start_token() if way == START else ""
    begin = (Piece(reader.special[start], 0, 0, start),) if start else ()
    return (*begin, *_pieces(text, vocabulary()))


@lru_cache(maxsize=16)
def _pieces(text: str, vocabulary: str) -> tuple[Piece, ...]:
    """Kept: every rerun asks for it several times, and a long text takes 0.15 s."""
    return tokenizer_of(vocabulary).pieces(text)


def _asked(text: str, reader: Tokenizer) -> tuple[Piece, ...] | Fault:
    """The tokens of a question in the model's chat template, or why there are none."""
    said = chat()
    if said is None or not isinstance(reader, PublishedTokenizer):
        return ()
    try:
        return said.prompt(text, reader)
    except ConfigError as error:
        return error.faults[0]


def _fitting(pieces: tuple[Piece, ...], most: int) -> tuple[Piece, ...]:
    """The first of a text; of a question as many as leave room for the template around it."""
    n_over = len(pieces) - most
    if n_over <= 0 or prompt() != CHAT:
        return pieces[:most]
    own = [place for place, piece in enumerate(pieces) if piece.end > piece.start]
    gone = {*own[-n_over:]}
    return tuple(piece for place, piece in enumerate(pieces) if place not in gone)[-most:]


def _with_masks(text: str, reader: Tokenizer) -> tuple[Piece, ...]:
    """The tokens of a text in which a reader wrote [MASK] for what is to be guessed."""
    if isinstance(reader, PublishedTokenizer):
        own = mask_name()
        pieces = reader.pieces(text.replace(MASK, own))
        return tuple(replace(p, label=MASK) if p.label == own else p for p in pieces)
    found: list[Piece] = []
    start = 0
    for i, part in enumerate(text.split(MASK)):
        if i:
            found.append(Piece(reader.special[MASK], start, start + len(MASK), MASK))
            start += len(MASK)
        for piece in reader.pieces(part):
            found.append(replace(piece, start=start + piece.start, end=start + piece.end))
        start += len(part)
    return tuple(found)


def marks() -> Marks:
    """What begins and ends a target: of random weights token 0, and nothing."""
    start = starts.start(link.value("preset"))
    is_two = start.config.architecture is Architecture.ENCODER_DECODER
    return starts.model(start.weights).marks if is_two and start.weights else Marks(0, 0, -1)


def sentence(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The tokens of a source; where sentences end in a mark, with the one that was left out."""
    reader = tokenizer()
    if not isinstance(reader, SentenceTokenizer) or len(pieces) >= most_tokens():
        return pieces
    words = [reader.vocabulary[piece.token_id] for piece in pieces if piece.label != EMPTY]
    added, end = with_mark(words)[len(words) :], pieces[-1].end
    new = (Piece(reader.ids([mark])[0], end, end, mark) for mark in added)
    return (*pieces, *new)


def padding_id() -> int:
    """The token that fills up."""
    found, weights = tokenizer().special.get(PADDING), vocabulary()
    if found is None and brought.is_name(weights):
        return starts.model(weights).marks.padding
    return found or 0


def hide(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The tokens with the pinned one hidden behind [MASK], unless the reader has hidden one."""
    if any(piece.label == MASK for piece in pieces):
        return pieces
    n_tokens = len(pieces)
    chosen = link.value("token")
    i = n_tokens // 2 if chosen is None else min(chosen, n_tokens - 1)
    mask = Piece(tokenizer().special[mask_name()], pieces[i].start, pieces[i].end, MASK)
    return (*pieces[:i], mask, *pieces[i + 1 :])


def can_hide() -> bool:
    is_encoder = starts.start(link.value("preset")).config.architecture is Architecture.ENCODER
    return is_encoder and bool(mask_name())


def mask_name() -> str:
    """What the vocabulary calls the token that hides another; empty where it has none."""
    special = tokenizer().special
    return next((name for name in MASKS if name in special), "")
