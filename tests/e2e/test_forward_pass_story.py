"""The moving picture in front of a reader: played, dragged through, zoomed into, and true."""

import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, WebSocketRoute, expect
from served import Reader
from told import expect_query, settle

from blocks import record
from blocks.weights.pocket import pocket

TEXT = "Once there was a shy owl called Nora. She had a"
LINK = f"/forward_pass?preset=stories-en-zh&text={TEXT}"

# Where each text was drawn last, from the top; the word that joins the sentence has its own weight.
DRAWN = """canvas => {
  const [context, seen] = [canvas.getContext("2d"), new Map()];
  const own = context.fillText;
  context.fillText = (text, x, y) => {
    seen.set(text + (context.font.startsWith("600") ? ", joining" : ""), y);
    own.call(context, text, x, y);
  };
  return seen;
}"""

# How opaque each line was drawn.
ALPHAS = """canvas => {
  const [context, seen] = [canvas.getContext("2d"), []];
  const own = context.stroke;
  context.stroke = () => {
    seen.push(context.globalAlpha);
    own.call(context);
  };
  return seen;
}"""

# Pressed faster than anything can move.
STEPS_AT_ONCE = """(canvas, n) => {
  const press = () => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  for (let i = 0; i < n; i++) press();
}"""


def part(page: Page, name: str):
    return page.locator(f"[data-part={name}]")


def test_the_pass_is_played_dragged_through_and_opened_down_to_a_number(reader: Reader):
    page = reader.load(f"{LINK}&zoom=head&moment=layers.1.head_out&layer=1&head=1")
    canvas, title = part(page, "canvas"), part(page, "title")
    expect(title).to_have_text("layer 2 · weighted values")
    expect(part(page, "said")).to_contain_text("in head 2")

    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] * 0.14, "y": box["height"] * 0.7})
    expect(part(page, "tip")).to_contain_text("queries, head 2")
    assert_is_recorded(part(page, "tip").inner_text())

    canvas.click(position={"x": box["width"] * 0.14, "y": box["height"] * 0.7})
    expect_query(page, zoom="cell")
    expect(page.get_by_text(re.compile("layer 2 · queries · head 2.*feature"))).to_be_visible()
    canvas.press("Escape")
    canvas.press("Escape")
    expect_query(page, zoom="layer", layer="1")

    canvas.press("ArrowRight")
    expect(title).to_have_text("layer 2 · attention")
    canvas.press("ArrowLeft")
    expect(title).to_have_text("layer 2 · weighted values")
    canvas.press("Home")
    expect(title).to_have_text("embedding")
    page.emulate_media(reduced_motion="no-preference")
    canvas.evaluate(STEPS_AT_ONCE, 4)  # the first shows the embedding, each other counts
    expect(title).to_have_text("layer 1 · keys")
    page.emulate_media(reduced_motion="reduce")
    canvas.press("Home")
    expect(title).to_have_text("embedding")
    canvas.press(" ")
    expect(title).not_to_have_text("embedding")
    page.set_viewport_size({"width": 1366, "height": 560})  # lines stand close
    drawn = canvas.evaluate_handle(DRAWN)
    canvas.press("End")
    expect(title).to_have_text("next word")
    page.wait_for_function("seen => seen.has('red, joining')", arg=drawn)
    gap = drawn.evaluate("seen => seen.get('red, joining') - seen.get('a₂')")
    assert gap > 15, gap  # from middle to middle of two lines
    part(page, "next").click()
    expect_query(page, text=f"{TEXT} red")
    expect(part(page, "cached")).to_have_attribute("aria-pressed", "false")  # nobody asked for it


def test_layers_of_a_deep_model_are_folded_and_open_at_a_tap(reader: Reader):
    page = reader.load(f"{LINK}&n_layers=14")
    canvas, crumbs = part(page, "canvas"), part(page, "crumbs")
    expect(crumbs).to_have_text("whole model")
    expect(part(page, "legend")).to_contain_text("drawn as one")
    box = canvas.bounding_box()
    for share in (0.3, 0.4, 0.5, 0.6):  # a band lies at one of these
        canvas.click(position={"x": box["width"] * share, "y": box["height"] * 0.5})
        if "–" in crumbs.inner_text():
            break
        canvas.press("Escape")
    expect(crumbs).to_contain_text("layers")
    canvas.click(position={"x": 20, "y": box["height"] * 0.5})  # a word: the layers stay open
    drawn = canvas.evaluate_handle(DRAWN)
    canvas.hover(position={"x": box["width"] - 4, "y": 4})
    expect(canvas).to_have_css("cursor", "default")
    page.wait_for_function("seen => seen.size > 5", arg=drawn)
    assert not drawn.evaluate("seen => seen.has('layer 1')")
    canvas.press("Escape")
    expect(crumbs).to_have_text("whole model")


class Answers:
    """What a server says to a page of its own: it can be held back for a while."""

    def __init__(self, page: Page):
        self.held: list[bytes | str] | None = None
        page.route_web_socket("**/stream", self._stand_between)

    def _stand_between(self, browser: WebSocketRoute) -> None:
        self.browser = browser
        browser.connect_to_server().on_message(self._said)

    def _said(self, message: bytes | str) -> None:
        self.browser.send(message) if self.held is None else self.held.append(message)

    def pass_on(self) -> None:
        """What was held back, and from now on all."""
        held, self.held = self.held or [], None
        for message in held:
            self.browser.send(message)


def test_a_clicked_word_keeps_its_lines_until_it_is_clicked_again(reader: Reader):
    page = reader.load(LINK)
    canvas = part(page, "canvas")
    drawn = canvas.evaluate_handle(DRAWN)
    canvas.press("End")
    page.wait_for_function("seen => seen.has('Nora')", arg=drawn)
    alphas = canvas.evaluate_handle(ALPHAS)
    for is_marked in (True, False):
        alphas.evaluate("seen => seen.splice(0)")
        canvas.click(position={"x": 40, "y": drawn.evaluate("seen => seen.get('Nora')")})
        page.wait_for_function("seen => seen.length", arg=alphas)
        assert alphas.evaluate("seen => seen.some(each => each < 0.1)") == is_marked


def test_each_way_out_of_the_picture_leads_to_what_is_named(reader: Reader):
    page = reader.new_tab()
    answers = Answers(page)
    page.goto(reader.server + LINK)
    settle(page)
    canvas, crumbs, words = (part(page, name) for name in ("canvas", "crumbs", "words"))
    expect(part(page, "title")).to_have_text("probabilities")
    for close in (lambda: page.keyboard.press("Escape"), part(page, "title").click):
        words.locator("summary").click()
        expect(words).to_have_attribute("open", "")
        close()
        expect(words).not_to_have_attribute("open", "")

    canvas.press("Enter")
    canvas.press("Enter")
    expect(crumbs).to_contain_text("head 1")
    box = canvas.bounding_box()
    page.wait_for_timeout(1000)  # the camera travels
    canvas.click(position={"x": box["width"] * 0.14, "y": box["height"] * 0.7})
    expect(crumbs).to_contain_text("one number")
    page.wait_for_timeout(1000)
    canvas.hover(position={"x": box["width"] * 0.51, "y": box["height"] * 0.51})
    expect(part(page, "tip")).to_be_visible()
    for _ in range(3):
        canvas.press("Escape")
    expect(crumbs).to_have_text("whole model")
    expect(part(page, "title")).to_have_text("probabilities")
    expect(part(page, "tip")).to_be_hidden()  # nor is what it told of outlined where it stood

    canvas.press("Enter")
    canvas.press("Enter")
    answers.held = []
    part(page, "backward").click()
    page.wait_for_timeout(900)  # longer than the picture waits before it tells where the reader is
    answers.pass_on()
    expect_query(page, direction="backward")
    expect(part(page, "backward")).to_have_attribute("aria-pressed", "true")
    expect(crumbs).to_have_text("whole model")
    expect(part(page, "out")).to_be_disabled()
    expect(part(page, "in")).to_be_enabled()


def assert_is_recorded(told: str) -> None:
    """The number under the pointer is the one that passed there, as far as it is told."""
    words = re.fullmatch(r".*layer 2 · queries, head 2 · (\S+) · feature (\d+) · ≈ (.*)", told)
    assert words is not None, told
    model = pocket("stories-en-zh")
    tokens = model.tokenizer.encode(TEXT)
    seen = record(model.build(), torch.tensor([tokens]))
    places = [
        i for i, piece in enumerate(tokens) if model.tokenizer.decode([piece]).strip() == words[1]
    ]
    exact = seen.tensor("q", 1)[0, 1, :, int(words[2]) - 1]
    shown = float(words[3].replace("−", "-"))
    step = seen.tensor("q", 1)[0, 1].abs().max().item() / 127
    assert any(abs(exact[i].item() - shown) < step + 0.005 for i in places), told


@pytest.mark.exhaustive
def test_a_chinese_reader_sees_it_on_a_phone(other_reader: Reader):
    page = other_reader.open("/forward_pass?lang=zh")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(part(page, "title")).to_have_text("概率")
    assert part(page, "canvas").bounding_box()["width"] < 390
    assert part(page, "play").get_attribute("aria-label").startswith("播放")


def test_a_and_b_are_played_in_step(reader: Reader):
    page = reader.load(f"{LINK}&n_layers=2&kept=Four%3Dpreset%253Dstories-en-zh")
    expect(part(page, "canvas")).to_have_count(2)
    part(page, "canvas").first.press("Home")
    expect(part(page, "title")).to_have_text(["embedding", "embedding"])
    part(page, "canvas").first.press("End")
    expect(part(page, "title")).to_have_text(["next word", "next word"])
    expect(part(page, "play").nth(1)).to_be_hidden()


def test_the_saved_file_plays_without_a_network(reader: Reader, tmp_path: Path):
    page = reader.load(LINK)
    expect(part(page, "title")).to_have_text("probabilities")
    page.get_by_text("Save the results").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="pass.html").click()
    saved.value.save_as(tmp_path / "pass.html")
    alone = page.context.new_page()
    alone.route("http*://**", lambda route: route.abort())
    alone.goto((tmp_path / "pass.html").as_uri())
    part(alone, "canvas").press("Home")
    part(alone, "canvas").press("ArrowRight")
    part(alone, "canvas").press("Enter")
    expect(part(alone, "title")).to_contain_text("layer 1")
    assert part(alone, "next").is_hidden() and part(alone, "backward").is_hidden()
    alone.close()
