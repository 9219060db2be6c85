"""The words of the translator, by category: Chinese beside English.

A noun is written `measure 名词 = singular/plural`, a verb `动词 = base/past/-ing`. Forms that
follow the rule of spelling are left out. Words of a phrase are linked by the digit after them.
"""

from collections.abc import Iterator

from blocks.corpora.synchronous import MEASURE, Rule, lexical

NOUNS = {
    "human": """位 老师 = teacher, 位 医生 = doctor, 个 学生 = student, 个 孩子 = child/children,
        个 男孩 = boy, 个 女孩 = girl, 个 男人 = man/men, 个 女人 = woman/women""",
    "friend": "个 朋友 = friend, 个 邻居 = neighbour",
    "family": "个 妈妈 = mother, 个 爸爸 = father, 个 姐姐 = sister, 个 哥哥 = brother",
    "sibling": "个 姐姐 = sister, 个 哥哥 = brother",
    "job": """位 老师 = teacher, 位 医生 = doctor, 个 学生 = student,
        位 艺术家 = artist, 位 工程师 = engineer, 个 护士 = nurse""",
    "animal": """只 猫 = cat, 只 狗 = dog, 只 鸟 = bird, 匹 马 = horse,
        只 羊 = sheep/sheep, 只 老鼠 = mouse/mice, 只 兔子 = rabbit""",
    "readable": "本 书 = book, 封 信 = letter, 份 报纸 = newspaper, 个 故事 = story",
    "watchable": "部 电影 = film, 场 比赛 = match",
    "writable": "本 书 = book, 封 信 = letter, 个 故事 = story",
    "food": """个 苹果 = apple, 个 鸡蛋 = egg, 根 香蕉 = banana, 条 鱼 = fish/fish,
        个 蛋糕 = cake""",
    "small": """本 书 = book, 把 钥匙 = key, 个 杯子 = cup, 支 笔 = pen, 顶 帽子 = hat,
        部 手机 = phone, 个 球 = ball, 把 雨伞 = umbrella""",
    "large": """张 桌子 = table, 把 椅子 = chair, 张 床 = bed, 辆 汽车 = car,
        个 箱子 = box, 件 外套 = coat, 件 衬衫 = shirt""",
    "washable": "件 外套 = coat, 件 衬衫 = shirt, 辆 汽车 = car",
    "losable": "把 钥匙 = key, 部 手机 = phone, 把 雨伞 = umbrella, 顶 帽子 = hat",
    "breakable": "个 杯子 = cup, 部 手机 = phone, 把 椅子 = chair",
    "openable": "扇 门 = door, 扇 窗户 = window, 个 箱子 = box",
    "headwear": "顶 帽子 = hat",
    "clothing": "件 外套 = coat, 件 衬衫 = shirt",
    "vessel": "杯 = cup",
}
"""Countable nouns; a vessel is itself a measure and has none."""

PHRASES = {
    "boy": "汤姆 = Tom, 大卫 = David",
    "girl": "玛丽 = Mary, 安娜 = Anna",
    "liquid": "水 = water, 茶 = tea, 咖啡 = coffee, 牛奶 = milk, 果汁 = juice",
    "site": """公园 = park, 花园 = garden, 学校 = school, 图书馆 = library, 医院 = hospital,
        厨房 = kitchen, 商店 = shop, 房间 = room""",
    "city": "北京 = Beijing, 伦敦 = London, 巴黎 = Paris",
    "furniture": "桌子 = table, 床 = bed, 椅子 = chair, 箱子 = box",
    "landmark": "树 = tree, 房子 = house, 门 = door",
    "number": """两 = two, 三 = three, 四 = four, 五 = five, 六 = six, 七 = seven, 八 = eight,
        九 = nine, 十 = ten""",
    "past_time": """昨天 = yesterday, 昨天/1 晚上/2 = last/1 night/2, 去年 = last year,
        今天/1 早上/2 = this/1 morning/2, 上个/1 星期/2 = last/1 week/2""",
    "future_time": """明天 = tomorrow, 今天/1 晚上/2 = this/1 evening/2, 明年 = next year,
        下个/1 星期/2 = next/1 week/2""",
    "habit_time": """每天 = every day, 每天/1 早上/2 = every/1 morning/2, 每年 = every year,
        每个/1 星期/2 = every/1 week/2""",
    "now": "现在 = now",
    "today": "今天 = today",
    "frequency": "常常 = often, 总是 = always, 有时候 = sometimes, 通常 = usually, 从不 = never",
    "stress": "也 = also, 真的 = really",
    "colour": """红色 = red, 蓝色 = blue, 黑色 = black, 白色 = white, 绿色 = green,
        黄色 = yellow""",
    "fur": "黑色 = black, 白色 = white",
    "feeling": """高兴 = happy, 难过 = sad, 累 = tired, 忙 = busy, 饿 = hungry, 生气 = angry""",
    "trait": """高 = tall, 年轻 = young, 聪明 = clever, 友好 = friendly,
        有名 = famous""",
    "quality": """大 = big, 小 = small, 新 = new, 旧 = old, 贵 = expensive, 便宜 = cheap,
        漂亮 = beautiful""",
    "excess": "大 = big, 小 = small, 旧 = old, 贵 = expensive, 重 = heavy",
    "nature": "大 = big, 小 = small, 老 = old, 聪明 = clever, 可爱 = cute, 饿 = hungry",
    "human_epithet": "年轻 = young, 聪明 = clever, 友好 = friendly, 有名 = famous",
    "animal_epithet": "聪明 = clever, 可爱 = cute, 漂亮 = beautiful",
    "thing_epithet": "漂亮 = beautiful, 便宜 = cheap",
    "condition": "大 = big, 小 = small, 新 = new, 旧 = old",
    "size": "大 = big, 小 = small",
}
"""Words and phrases that are never inflected."""

VERBS = {
    "read": "看 = read/read",
    "watch": "看 = watch",
    "write": "写 = write/wrote",
    "eat": "吃 = eat/ate",
    "drink": "喝 = drink/drank",
    "buy": "买 = buy/bought",
    "sell": "卖 = sell/sold",
    "wash": "洗 = wash",
    "seek": "找 = look for",
    "await": "等 = wait for",
    "help": "帮助 = help",
    "meet": "看见 = see/saw, 遇见 = meet/met",
    "perceive": "看见 = see/saw, 找到 = find/found",
    "give": "给 = give/gave",
    "go": "去 = go/went",
    "live": "住 = live",
    "like": "喜欢 = like",
    "know": "爱 = love, 喜欢 = like, 认识 = know/knew",
    "need": "需要 = need, 想要 = want",
    "want": "喜欢 = like, 需要 = need, 想要 = want",
    "have": "有 = have/had",
    "wear_hat": "戴 = wear/wore",
    "wear_coat": "穿 = wear/wore",
    "lose": "弄丢 = lose/lost",
    "break": "打破 = break/broke",
    "open": "打开 = open, 关上 = close",
    "kick": "踢 = play",
    "throw": "打 = play",
    "strum": "弹 = play",
    "get": "买 = buy/bought, 找到 = find/found, 看见 = see/saw, 卖 = sell/sold",
    "own": "买 = buy/bought, 找到 = find/found, 弄丢 = lose/lost",
    "make": "买 = buy/bought, 吃 = eat/ate, 喝 = drink/drank, 卖 = sell/sold, 写 = write/wrote",
    "greet": "看见 = see/saw, 遇见 = meet/met, 帮助 = help",
    "outing": "游泳 = swim/swam/swimming, 开车 = drive/drove",
    "work": """跑步 = run/ran/running, 工作 = work, 跳舞 = dance, 唱歌 = sing/sang,
        做饭 = cook, 哭 = cry""",
    "sleep": "睡觉 = sleep/slept",
    "skill": "游泳 = swim//swimming, 开车 = drive, 跳舞 = dance, 唱歌 = sing, 做饭 = cook",
}
"""Verbs by what they take; the third person and all regular forms are spelt by rule."""


def lexicon() -> Iterator[Rule]:
    """Every word as a rule of the grammar."""
    for category, text in NOUNS.items():
        yield from (_noun(category, *sides) for sides in _entries(text))
    for category, text in VERBS.items():
        yield from (_verb(category, *sides) for sides in _entries(text))
    for category, text in PHRASES.items():
        for chinese, english in _entries(text):
            yield lexical(category, {"": english}, {"": chinese})


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for entry in text.split(","):
        chinese, _, english = entry.strip().partition(" = ")
        yield chinese, english


def _noun(category: str, chinese: str, english: str) -> Rule:
    measure, _, noun = chinese.rpartition(" ")
    singular, _, plural = english.partition("/")
    forms = {"": noun, **({MEASURE: measure} if measure else {})}
    return lexical(category, {"": singular, "pl": plural or _with_s(singular)}, forms)


def _verb(category: str, chinese: str, english: str) -> Rule:
    base, past, ing, *_ = (*english.split("/"), "", "")
    verb, _, particle = base.partition(" ")
    forms = {
        "": verb,
        "s": "has" if verb == "have" else _with_s(verb),
        "past": past or _with_ed(verb),
        "ing": ing or _with_ing(verb),
    }
    return lexical(
        category, {name: f"{form} {particle}" for name, form in forms.items()}, {"": chinese}
    )


def _with_s(word: str) -> str:
    if _ends_in_y(word):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "sh", "ch", "x", "o")) else f"{word}s"


def _with_ed(verb: str) -> str:
    if _ends_in_y(verb):
        return f"{verb[:-1]}ied"
    return f"{verb}d" if verb.endswith("e") else f"{verb}ed"


def _with_ing(verb: str) -> str:
    return f"{verb[:-1]}ing" if verb.endswith("e") and not verb.endswith("ee") else f"{verb}ing"


def _ends_in_y(word: str) -> bool:
    """After a consonant, as in story; not as in monkey."""
    return word.endswith("y") and word[-2] not in "aeiou"
