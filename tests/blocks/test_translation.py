"""The grammar of the translator: right in both languages, linked word to word, never ambiguous."""

import random
import re
from itertools import chain

import pytest

from blocks.corpora.stories import Language
from blocks.corpora.synchronous import SynchronousGrammar, Tree, lexical, rule
from blocks.corpora.translation import (
    LENGTHS,
    Pair,
    held_out_pairs,
    is_held_out,
    n_pairs,
    pair,
    tokenizer,
    translations,
    with_mark,
)
from blocks.model.model_input import PADDING
from blocks.text.bilingual import BEGIN
from blocks.text.bpe import END

ENGLISH, CHINESE = Language.ENGLISH, Language.CHINESE
WRITTEN = {
    "I love you.": "我爱你。",
    "She read a book yesterday.": "她昨天看了一本书。",
    "Yesterday she read a book in the park.": "昨天她在公园里看了一本书。",
    "He did not see that cat last week.": "他上个星期没看见那只猫。",
    "Did they buy those two red chairs?": "他们买了那两把红色的椅子吗？",
    "Tom's mother is very tired today.": "汤姆的妈妈今天非常累。",
    "My friend was sad last night.": "我的朋友昨天晚上很难过。",
    "They are teachers.": "他们是老师。",
    "Is Mary an engineer?": "玛丽是工程师吗？",
    "He is also my friend.": "他也是我的朋友。",
    "This is our car.": "这是我们的汽车。",
    "Whose umbrellas are those?": "那些是谁的雨伞？",
    "Who is that young doctor?": "那位年轻的医生是谁？",
    "There are three small black dogs under the table.": "桌子下面有三只黑色的小狗。",
    "How many keys are there on the bed?": "床上有几把钥匙？",
    "There are no horses in the garden.": "花园里没有马。",
    "The cat ate the fish this morning.": "猫今天早上把鱼吃了。",
    "She lost the key yesterday.": "她昨天把钥匙弄丢了。",
    "Did David close the door?": "大卫把门关上了吗？",
    "We are waiting for her in the library.": "我们正在图书馆里等她。",
    "Anna is drinking a cup of tea.": "安娜正在喝一杯茶。",
    "She is wearing a hat.": "她戴着一顶帽子。",
    "Tom is wearing a coat.": "汤姆穿着一件外套。",
    "I play football every day.": "我每天踢足球。",
    "He plays the piano in the room every morning.": "他每天早上在房间里弹钢琴。",
    "The children never drink coffee.": "孩子们从不喝咖啡。",
    "Can you swim?": "你会游泳吗？",
    "They will go to Beijing tomorrow.": "他们明天会去北京。",
    "What does he want to eat?": "他想吃什么？",
    "What did the girl buy yesterday?": "女孩昨天买了什么？",
    "Which book did you find?": "你找到了哪本书？",
    "Where did Mary go last year?": "玛丽去年去了哪里？",
    "Why does she not like cats?": "她为什么不喜欢猫？",
    "Why are you angry?": "你为什么生气？",
    "Who can drive?": "谁会开车？",
    "He gave me two apples.": "他给了我两个苹果。",
    "He gave me two pens.": "他给了我两支笔。",
    "The book that I bought yesterday is too expensive.": "我昨天买的那本书太贵了。",
    "Those sheep are white.": "那些羊是白色的。",
    "That box is red.": "那个箱子是红色的。",
    "It does not like mice.": "它不喜欢老鼠。",
    "Where is the phone?": "手机在哪里？",
    "The students live in London.": "学生们住在伦敦。",
    "Do you have a brother?": "你有一个哥哥吗？",
    "Does he have a dog?": "他有一只狗吗？",
    "They do not have friends.": "他们没有朋友。",
    "Many children are watching a film.": "很多孩子正在看一部电影。",
    "Tom and Mary like swimming.": "汤姆和玛丽喜欢游泳。",
}
UNGRAMMATICAL = {
    ENGLISH: [
        "He see a cat.",
        "They likes cats.",
        "He did not saw that cat.",
        "She bought an book.",
        "She bought a umbrella.",
        "I saw two child.",
        "This cats are big.",
        "I is tired.",
        "They was tired yesterday.",
        "He will go to Beijing yesterday.",
        "I saw me.",
    ],
    CHINESE: [
        "他看见了二只猫。",
        "他看见了两猫。",
        "他看见了两本猫。",
        "他不看见了那只猫。",
        "他昨天没看见了那只猫。",
        "她在公园里昨天看了一本书。",
        "她看了一本书在公园里。",
        "什么他昨天买了？",
        "他是高兴。",
        "他不有一只狗。",
    ],
}
LINKED = {
    "She read a book in the park yesterday.": (
        "she-她 read-看 read-了 a-一 a-本 book-书 in-在 park-公园 in-里 yesterday-昨天 .-。"
    ),
    "He does not like Tom's cat.": "he-他 does-不 not-不 like-喜欢 Tom-汤姆 's-的 cat-猫 .-。",
    "Did you find those three small red cups?": (
        "did-吗 you-你 find-找到 find-了 those-那 three-三 three-个 small-小 red-红色 red-的 "
        "cups-杯子 ?-？"
    ),
    "The student is happy.": "student-学生 is-很 happy-高兴 .-。",
    "She lost the key.": "she-她 lost-弄丢 lost-了 key-钥匙 .-。",
    "How many cats are there behind the tree?": (
        "how-几 how-只 many-几 many-只 cats-猫 are-有 there-有 behind-后面 tree-树 ?-？"
    ),
    "Did you wait for me?": "did-吗 you-你 wait-等 wait-了 for-等 for-了 me-我 ?-？",
    "The girls are sleeping.": "girls-女孩 girls-们 are-正 are-在 sleeping-睡觉 .-。",
    "The book that he bought is new.": (
        "the-那 the-本 book-书 that-的 he-他 bought-买 is-很 new-新 .-。"
    ),
}
WITHOUT_COUNTERPART = {
    ENGLISH: {"the", "to", "a", "an", "is", "are", "am", "was", "were", "do", "does", "want"},
    CHINESE: {"把", "吗"},
}
N = 1500


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [pair(1, index) for index in range(N)]


def translated(text: str, source: Language) -> list[str]:
    ours = tokenizer()
    target = CHINESE if source is ENGLISH else ENGLISH
    found = translations(ours.words(text), source)
    return [ours.decode(ours.ids(each.words(target))) for each in found]


@pytest.mark.parametrize("english", WRITTEN)
def test_a_sentence_written_by_hand_is_translated_both_ways(english: str):
    assert translated(english, ENGLISH) == [WRITTEN[english]]
    assert translated(WRITTEN[english], CHINESE) == [english]


@pytest.mark.parametrize(
    ("source", "text"), [(source, text) for source, all_ in UNGRAMMATICAL.items() for text in all_]
)
def test_what_breaks_a_rule_of_a_language_is_not_read(source: Language, text: str):
    assert tokenizer().left_out(text) == () or text == "他看见了二只猫。"
    assert translated(text, source) == []


@pytest.mark.parametrize("english", LINKED)
def test_words_are_linked_as_a_reader_would(english: str):
    (found,) = translations(tokenizer().words(english), ENGLISH)
    drawn = {(found.english[left], found.chinese[right]) for left, right in found.links}
    assert drawn == {tuple(link.split("-")) for link in LINKED[english].split()}


def test_links_lie_inside_and_leave_out_only_what_one_language_needs(pairs: list[Pair]):
    for each in pairs:
        assert each.links == tuple(sorted(set(each.links)))
        for source in (ENGLISH, CHINESE):
            places = {place for place, _ in each.links_from(source)}
            words = each.words(source)
            assert places <= set(range(len(words)))
            unlinked = {word for place, word in enumerate(words) if place not in places}
            assert unlinked <= WITHOUT_COUNTERPART[source]


def test_a_word_is_linked_to_few(pairs: list[Pair]):
    for each in pairs:
        for source in (ENGLISH, CHINESE):
            places = [place for place, _ in each.links_from(source)]
            assert max(map(places.count, places)) <= 3


def test_every_sentence_is_read_in_one_way_only(pairs: list[Pair]):
    """Counting readings proves more than a search for repeats: it compares with all pairs."""
    for each in pairs[:100]:
        for source in (ENGLISH, CHINESE):
            assert translations(each.words(source), source) == (each,)


def test_no_two_pairs_share_a_side(pairs: list[Pair]):
    different = set(pairs)
    assert len(different) > 0.9 * N
    for source in (ENGLISH, CHINESE):
        assert len({each.words(source) for each in different}) == len(different)


def test_pairs_are_counted_as_they_would_be_one_by_one():
    some = (
        rule("s", "{a} {b} x", "{a} {b}", a="a", b="b"),
        rule("s", "{a:pl}", "{a:m} {a}", a="a"),
        lexical("a", {"": "p", "pl": "p s"}, {"": "P", "m": "M"}),
        lexical("a", {"": "q r"}, {"": "Q", "m": "M"}),
        lexical("b", {"": "y"}, {"": "Y"}),
        lexical("b", {"": "z"}, {"": "Z Z"}),
    )
    for lengths, n in ((range(9), 6), (range(2, 4), 4), (range(3, 4), 1)):
        small = SynchronousGrammar(some, start="s", lengths=lengths)
        drawn = {(*tree.words(0), "|", *tree.words(1)) for tree in draws(small, 100)}
        assert small.n_trees == len(drawn) == n


def draws(some: SynchronousGrammar, n: int) -> list[Tree]:
    source = random.Random(0)
    return [some.draw(source) for _ in range(n)]


def test_there_are_more_than_a_million_pairs():
    assert n_pairs() > 10**9


def test_sentences_have_the_promised_lengths(pairs: list[Pair]):
    lengths = {len(each.words(source)) for each in pairs for source in (ENGLISH, CHINESE)}
    assert lengths <= set(LENGTHS) and max(lengths) >= 13


@pytest.mark.usefixtures("process_state_kept")
def test_seed_and_index_decide_the_pair():
    assert pair(3, 0) == pair(3, 0)
    assert pair(3, 0) != pair(4, 0)
    assert held_out_pairs(20) == held_out_pairs(30)[:20]
    assert len(set(held_out_pairs(300))) == 300


def test_nothing_that_is_held_out_is_trained_on_in_any_form(pairs: list[Pair]):
    unseen = held_out_pairs(300)
    assert all(each.is_held_out for each in unseen)
    assert not any(each.is_held_out for each in pairs)
    assert not {each.core for each in unseen} & {each.core for each in pairs}
    forms = ("Tom read a book.", "Tom did not read that book.", "Tom is reading my book now.")
    cores = {translations(tokenizer().words(text), ENGLISH)[0].core for text in forms}
    assert cores == {("汤姆", "看", "书")}


def test_one_core_in_eight_is_held_out():
    cores = [(str(a), str(b)) for a in range(100) for b in range(100)]
    share = sum(map(is_held_out, cores)) / len(cores)
    assert share == pytest.approx(1 / 8, abs=0.01)
    assert not is_held_out(("猫",)) and not is_held_out(())


def test_what_is_held_out_is_made_of_words_that_are_trained_on(pairs: list[Pair]):
    for source in (ENGLISH, CHINESE):
        unknown = {word for each in held_out_pairs(300) for word in each.words(source)}
        for each in chain(pairs, (pair(2, index) for index in range(6_000))):
            unknown -= {*each.words(source)}
            if not unknown:
                break
        assert not unknown


def test_each_word_has_one_id_and_the_special_tokens_come_first(pairs: list[Pair]):
    ours = tokenizer()
    assert ours.special == {PADDING: 0, BEGIN: 1, END: 2}
    assert len(set(ours.vocabulary)) == ours.vocab_size
    assert 300 < len(ours.english) < 400 and 200 < len(ours.chinese) < 300
    assert ours.encode("[PAD] [END]") == []


def test_a_sentence_is_written_and_cut_again(pairs: list[Pair]):
    ours = tokenizer()
    for each in pairs:
        english, chinese = (ours.ids(each.words(source)) for source in (ENGLISH, CHINESE))
        text = ours.decode([1, *english, 2, 0])
        assert ours.encode(text) == ours.encode(text.upper()) == english
        assert re.fullmatch(r"[A-Z][A-Za-z' ]*[.?]", text)
        assert ours.encode(ours.decode(chinese)) == chinese
        assert re.fullmatch(r"[\u4e00-\u9fff]+[。？]", ours.decode(chinese))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("he doesn't like cats", "He does not like cats."),
        ("Isn’t", "Is not?"),
        ("I can't swim.", "I cannot swim."),
        ("They won't go to Paris tomorrow.", "They will not go to Paris tomorrow."),
        ("What's this?", "What is this?"),
        ("it's TOM'S dog", "It is Tom's dog."),
        ("I'm happy", "I am happy."),
        ("is he a teacher", "Is he a teacher?"),
        ("他是老师吗", "他是老师吗？"),
        ("我 爱 你.", "我爱你。"),
        ("", ""),
    ],
)
def test_a_reader_may_write_as_people_write(text: str, written: str):
    ours = tokenizer()
    assert ours.decode(ours.ids(with_mark(ours.words(text)))) == written
    assert ours.left_out(text) == ()


def test_unknown_words_are_told():
    ours = tokenizer()
    assert ours.left_out("The Unicorn saw a unicorn, they've 3 cats!") == (
        *("Unicorn", "unicorn", ",", "'", "ve", "3", "!"),
    )
    assert ours.left_out("他喜欢独角兽和猫，对吗？") == ("独角兽", "，", "对")
    text = "他喜欢独角兽和猫。"
    pieces = ours.pieces(text)
    assert [text[piece.start : piece.end] for piece in pieces] == ["他", "喜欢", "和", "猫", "。"]
    assert [piece.label for piece in pieces] == ["他", "喜欢", "和", "猫", "。"]
