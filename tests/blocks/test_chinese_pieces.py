"""How Chinese is cut, counted on the tokens of a text."""

from tokenizers import Tokenizer, models, trainers

from blocks.text.chinese import chinese_pieces
from blocks.text.tokenizer import Piece
from pages.stage.tokens import tokenizer_of


class Joining:
    """Hugging Face's BPE over whole sentences, which joins characters as large models do."""

    def __init__(self, text: str):
        self.bpe = Tokenizer(models.BPE())
        self.bpe.train_from_iterator([text], trainers.BpeTrainer(show_progress=False))
        self.vocab_size = self.bpe.get_vocab_size()

    def pieces(self, text: str) -> list[Piece]:
        found = self.bpe.encode(text)
        rows = zip(found.ids, found.offsets, found.tokens, strict=True)
        return [Piece(number, *place, label) for number, place, label in rows]

    def decode(self, ids: list[int]) -> str:
        return self.bpe.id_to_token(ids[0])


def test_characters_are_alone_joined_or_cut_into_bytes():
    found = chinese_pieces("人工", Joining("人工智人工能人工"))
    assert (found.characters, found.joined, found.cut, found.alone) == (2, 2, 0, 0)
    assert found.of_several >= 1
    stories = chinese_pieces("小猫看见蝴蝶", tokenizer_of("stories-en-zh"))
    assert stories == (6, 2, 0, 0, 1024) and stories.alone == 4
    assert chinese_pieces("a cat", tokenizer_of("stories-en-zh")).characters == 0
