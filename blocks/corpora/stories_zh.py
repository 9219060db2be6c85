"""The Chinese stories: words and plots."""

from blocks.corpora.grammar import Grammar, Step, Word


def _person(name: str, they: str) -> Word:
    return {"": name, "they": they, "their": f"{they}的"}


def _counted(text: str) -> tuple[Word, ...]:
    """Nouns, each after its measure word: 只狐狸 is counted 一只."""
    found = [word.partition(" ") for word in text.split("，")]
    return tuple(
        {"": noun, "one": f"一{measure}", "that": f"那{measure}"} for measure, _, noun in found
    )


def _words(text: str) -> tuple[Word, ...]:
    return tuple({"": word} for word in text.split("，"))


WORDS = {
    "person": (
        *(_person(name, "她") for name in ("朵朵", "小美", "小月", "花花", "圆圆", "小雪")),
        *(_person(name, "他") for name in ("小明", "乐乐", "豆豆", "阿福", "东东", "大宝")),
    ),
    "kind": _counted(
        "只 狐狸，只 兔子，头 熊，只 猫，头 象，匹 马，头 鹿，只 青蛙，头 牛，只 松鼠"
    ),
    "nature": _words("勇敢，聪明，善良，害羞，可爱，快乐，安静，好奇"),
    "place": _words("森林里，小河边，山坡上，村子里，大海边，花园里，竹林里，湖边"),
    "thing": _counted(
        "个 皮球，只 风筝，顶 帽子，面 小鼓，只 小船，把 雨伞，"
        "本 书，个 杯子，盏 灯笼，条 围巾，个 铃铛，件 毛衣"
    ),
    "colour": _words("红色，蓝色，绿色，白色，黑色，黄色，金色，粉色"),
    "time": _words("有一天，一天早上，一天晚上，一天下午"),
    "sad": _words("难过，着急，伤心"),
    "spot": _words("桥下，大树后面，草丛里，井边，石头下面，雪地里"),
    "happy": _words("高兴，开心，快乐"),
    "food": _words("苹果，蜂蜜，蛋糕，草莓，面条，桃子"),
    "span": _words("一天，一夜，三天，一个星期"),
    "far": _words("树上，河对岸，屋顶上，山那边"),
    "sky": _words("月亮，太阳，星星，白云"),
}
CATEGORIES = {
    **{category: category for category in WORDS if category != "person"},
    **{"hero": "person", "friend": "person", "friend_kind": "kind"},
}

INTRO: Step = (
    "从前，{place}住着{kind:one}{nature}的小{kind}，名叫{hero}。",
    "{hero}是{kind:one}{nature}的小{kind}，住在{place}。",
)
OWN: Step = (
    "{hero:they}有{thing:one}{colour}的{thing}。",
    "{hero:they}最喜欢{hero:their}{colour}{thing}。",
)
THANKS: Step = (
    "{hero}谢谢{friend}，请{friend:they}吃了{food}。",
    "{hero}{happy}地抱住了{friend}。",
    "从那天起，{hero}和{friend}成了最好的朋友。",
)

LOST = (
    INTRO,
    OWN,
    ("{time}，{hero:their}{thing}不见了。", "{time}，{hero:they}把{thing}弄丢了。"),
    ("", "{hero:they}很{sad}，到处找{thing}。"),
    ("小{friend_kind}{friend}来帮{hero:they}找{thing}。",),
    (
        "{friend:they}在{spot}找到了{thing:that}{colour}的{thing}。",
        "最后，{friend}在{spot}找到了{colour}的{thing}。",
    ),
    ("", *THANKS),
)
GIFT = (
    INTRO,
    ("{hero:their}朋友小{friend_kind}{friend}要过生日了。",),
    ("{hero:they}想送给{friend:they}{thing:one}{colour}的{thing}。",),
    ("", "{hero:they}做{thing}，做了整整{span}。"),
    ("{time}，{hero:they}把{thing}送到了{friend}家。",),
    (
        "{friend}打开盒子，看见了{thing:that}{colour}的{thing}。",
        "{friend}很喜欢{thing:that}{colour}的{thing}。",
    ),
    ("", "{friend}谢谢{hero}，请{hero:they}吃了{food}。"),
)
WIND = (
    INTRO,
    OWN,
    ("{time}，大风把{thing}吹到了{far}。",),
    ("", "{hero:they}拿不到{thing}，很{sad}。"),
    ("小{friend_kind}{friend}看见了，跑来帮{hero:they}。",),
    (
        "{friend:they}在{far}找到了{thing:that}{colour}的{thing}。",
        "{friend:they}把{thing:that}{colour}的{thing}拿了回来。",
    ),
    ("", *THANKS),
)
WISH = (
    INTRO,
    ("{hero:they}很想要{thing:one}{colour}的{thing}。",),
    ("{time}，{hero:they}对{sky}说出了心里的话。",),
    ("", "{sky}没有回答。"),
    ("可是小{friend_kind}{friend}听见了。",),
    ("{friend}把自己{thing:that}{colour}的{thing}送给了{hero:they}。",),
    ("", *THANKS),
)

CHINESE = Grammar(words=WORDS, categories=CATEGORIES, plots=(LOST, GIFT, WIND, WISH), separator="")
