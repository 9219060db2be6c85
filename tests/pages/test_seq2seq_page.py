"""The page of encoder–decoders: what is written, how, and without its source."""

from functools import partial

import pytest
from opened import assert_works, control, figure, move, opened, press, said, settings, visit

from blocks.corpora.translation import held_out_pairs, tokenizer
from pages.panels.seq2seq.inputs import seen
from pages.server import starts
from pages.server.settings import MAX_TOKENS

PAGE = "pages/seq2seq.py"
SMALL = {"preset": "course", "d_model": 32, "n_heads": 4, "text": "one two three"}
TRANSLATOR = {"preset": "translator", "panel": "decoding"}
translated = partial(opened, PAGE, **TRANSLATOR)
everything = {**TRANSLATOR, "panel": "all"}


def target(at) -> str:
    """What is written, as one writes it."""
    heads = [str(each.value) for each in at.main.markdown]
    found = next(text for text in heads if text.startswith("### "))
    return found.removeprefix("### ").strip("\u2068\u2069").replace("\\", "")


def test_the_first_view_translates_as_the_grammar_does():
    at = opened(PAGE, preset=None, panel=None)
    assert_works(at)
    assert control(at, "preset").value == "translator"
    assert "Identical to the grammar's translation." in said(at)


def test_held_out_sentences_are_translated_both_ways():
    at, right = translated(), 0
    for i, pair in enumerate(held_out_pairs(4)):
        source, wanted = (pair.english, pair.chinese)[:: 1 if i % 2 else -1]
        text, expected = (tokenizer().decode(tokenizer().ids(w)) for w in (source, wanted))
        visit(at, **TRANSLATOR, text=text)
        right += target(at) == expected
    assert_works(at)
    assert right >= 3


def test_a_sentence_needs_no_full_stop():
    at = translated(text="I like cats", target_step=0, panel="attention")
    labels = control(at, "token").options
    assert [label.partition(" · ")[2] for label in labels] == ["I", "like", "cats", "."]


def test_unknown_words_are_named_and_the_rest_is_translated():
    at = translated(text="The dragon likes quantum milk.")
    assert_works(at)
    assert "not `dragon`, `quantum`. Unknown words are left out, so the" in said(at)
    assert target(at)


def test_what_cannot_be_seen_is_named_by_its_code():
    at = translated(text="I like 👨\u200d👩 milk \ufe0f.", panel="all")
    assert_works(at)
    assert "not `👨`, `U+200D`, `👩`, `U+FE0F`. Unknown" in said(at)
    assert "The decoder writes “`" in said(at)
    assert [seen(each) for each in (" ", "\n", "\u3000", "a b")] == ["␣", "↵", "U+3000", "a␣b"]


@pytest.mark.parametrize("text", ["", "milk " * 400, "🤖 <b>"])
@pytest.mark.thinned
def test_any_source_is_read(text: str):
    at = translated(text=text, panel="attention")
    assert_works(at)
    n_tokens = len(control(at, "token").options)
    assert n_tokens == min(32, max(1, text.count("milk")))
    assert (f"has 400 tokens; the first {n_tokens} are used" in said(at)) is (len(text) > 999)


def test_what_is_not_read_is_said_beside_the_translation():
    at = translated(panel="decoding", text="dragon " + "milk " * 300)
    assert_works(at)
    assert "The source has 300 tokens; the first 32 are used." in said(at)
    assert "not `dragon`" in said(at)


def test_a_long_source_is_read_by_a_model_with_room_for_it():
    at = opened(PAGE, **{**SMALL, "text": "é " * 1000, "n_layers": 1, "max_new_tokens": 2})
    assert_works(at)
    assert len(control(at, "token").options) == MAX_TOKENS


def test_a_target_longer_than_the_limit_is_cut_and_said():
    at = translated(max_new_tokens=3)
    assert_works(at)
    assert "The target was cut off: max_new_tokens limits it to 3 tokens." in said(at)
    forced = ".".join(["40"] * 40)
    visit(at, **everything, max_new_tokens=40, forced_ids=forced)
    assert_works(at)
    assert "max_seq_len limits it to 32 tokens" in said(at)
    assert len(control(at, "target_token").options) == 32


def test_the_tokens_generated_are_counted_once():
    text = said(translated(max_new_tokens=3))
    assert "`[BEGIN]` + 3 target tokens ×" in text and "After 3 of 3 steps" in text


def test_a_chosen_model_without_weights_says_so_and_leads_back():
    at = opened(PAGE, preset="course", panel="parameters")
    assert "**Random weights**: " in said(at)
    press(at, "to_trained")
    assert_works(at)
    assert "**Random weights**" not in said(at) and "preset" not in at.query_params


def test_steps_go_on_and_back():
    at = translated(target_step=2, panel="all")
    assert len(control(at, "target_token").options) == 3
    press(at, "target_on")
    assert settings(at)["target_step"] == "3"
    press(at, "target_back")
    press(at, "target_back")
    assert len(control(at, "target_token").options) == 2
    press(at, "target_start")
    assert "There is only the start token," in said(at)
    press(at, "target_end")
    assert_works(at)
    assert "target_step" not in settings(at)


def test_a_beam_keeps_several_and_the_link_keeps_where_one_looks():
    at = translated(beam_width=3)
    assert_works(at)
    nodes = {trace["name"]: trace for trace in figure(at, "beam_tree")["data"] if "name" in trace}
    assert max(nodes["kept"]["x"]) >= 2
    assert len(nodes["finished"]["x"]) >= 3
    visit(at, **TRANSLATOR, beam_width=3, beam_node=7)
    assert_works(at)
    assert figure(at, "beam_tree")["layout"]["shapes"]
    dropped = at.session_state["values"]["beam_node"]
    press(at, "go_on_from")
    assert "beam_node" not in settings(at) and settings(at)["forced_ids"] and dropped == 7
    move(at, "beam_width", 1)


def test_what_is_forced_is_written_and_can_be_taken_back():
    at = translated()
    first, id_of = target(at), tokenizer().ids
    forced = ".".join(map(str, id_of(["他们"])))
    visit(at, **TRANSLATOR, forced_ids=forced)
    assert_works(at)
    assert target(at).startswith("他们") and target(at) != first
    press(at, "unforce")
    assert target(at) == first


def test_what_is_forced_has_its_own_rank_and_is_no_choice_of_the_model():
    at = translated(target_step=0)
    (fourth,) = figure(at, "next_choices")["data"][1]["customdata"][3]
    visit(at, **TRANSLATOR, forced_ids=fourth, target_step=1)
    assert_works(at)
    tree = figure(at, "beam_tree")
    assert "#4 " in str(tree["data"])
    assert tree["layout"]["xaxis"]["ticktext"] == ["1", "2", "> 2"]
    assert "at step 1" not in said(at)


def test_nonsense_in_the_link_of_a_target_is_mended():
    at = opened(PAGE, **SMALL, forced_ids="5.999999.7", beam_node=99999, target_step=200)
    assert_works(at)
    visit(at, **SMALL, forced_ids="a.b")
    assert_works(at, warnings=1)


def test_another_text_begins_a_target_anew():
    at = translated(forced_ids="300", target_step=1, panel="all")
    at.text_area(key="text").set_value("I like milk.")
    at.run()
    assert_works(at)
    assert not {"forced_ids", "target_step"} & settings(at).keys()


@pytest.mark.parametrize(
    "changes",
    [
        {"norm_placement": "sandwich", "norm_kind": "rmsnorm", "hide_each": True},
        {"norm_placement": "parallel", "n_layers": 3, "n_decoder_layers": 1},
        {"norm_kind": "batchnorm", "training": True, "attention_only": True},
        {"norm_kind": "none", "residual": False},
        {"position_kind": "alibi", "relative_bias": True, "embedding_norm": True},
        {"position_kind": "learned", "share_embeddings": False, "tie_embeddings": False},
        {"n_kv_heads": 1, "n_experts": 4, "mask_kind": "sliding_window"},
        {"mask_kind": "none", "n_padding": 3, "padding_side": "left", "dtype": "bfloat16"},
        {"text": "a", "max_new_tokens": 1, "n_padding": 16},
        {"interventions": "decoder.cross_attention_out.0:zero,head_out.0.0:zero"},
    ],
)
@pytest.mark.thinned
def test_every_choice_runs(changes: dict):
    at = opened(PAGE, **{**SMALL, "max_new_tokens": 3, "n_layers": 1, **changes})
    assert_works(at)


def test_what_is_switched_off_holds_for_what_is_written():
    at = translated(panel="all")
    first = target(at)
    press(at, "cross_off")
    assert_works(at)
    off = "decoder.cross_attention_out.0:zero,decoder.cross_attention_out.1:zero"
    assert settings(at)["interventions"] == off
    assert "Changes inside" in said(at) and target(at) != first
    assert "Unless noted otherwise, every picture shows the changed model." in said(at)


def test_a_mask_changes_nothing_that_is_written_and_the_page_says_why():
    at = translated(target_step=4)
    first = figure(at, "beam_tree")["data"]
    visit(at, **everything, mask_kind="none", target_step=4)
    assert_works(at)
    assert figure(at, "beam_tree")["data"] == first
    assert "processed once, before later ones exist" in said(at)
    assert "Scores on validation sentences use the causal mask." in said(at)


def test_without_its_source_the_target_is_another_one():
    at = translated(panel="all")
    blind = next(t.value for t in at.dataframe if "model output" in t.value)
    assert target(at) not in set(blind["model output"])
    ways = figure(at, "missing_ways")
    assert len(ways["layout"]["yaxis"]["ticktext"]) == 5
    assert "Without cross-attention, the next-token prediction changes by" in said(at)


def spoilt(at) -> tuple[str, str]:
    """The text with tokens masked, and with spans left out."""
    lines = [line for line in said(at).splitlines() if "-badge[" in line]
    return tuple(next(line for line in lines if mark in line) for mark in ("MASK", "id\\_0"))


def test_each_architecture_has_its_numbers_and_its_example():
    spans = {"corrupted_share": 0.3, "mean_span_len": 1.0, "corruption_seed": 3}
    text = "We like cats and milk, and they like two small dogs."
    at = translated(panel="architectures", text=text)
    assert "times the parameters of the decoder-only model" in said(at)
    visit(at, **TRANSLATOR | {"panel": "pretraining"}, **spans, text=text)
    assert_works(at)
    assert "extra\\_id\\_0" in said(at) and "MASK" in said(at)
    drawn = [spoilt(at)]
    for seed in (4, 5):
        move(at, "corruption_seed", seed)
        drawn.append(spoilt(at))
    assert settings(at)["corruption_seed"] == "5"
    assert all(len({*texts}) > 1 for texts in zip(*drawn, strict=True))


def test_halves_are_not_called_equal_where_they_are_not():
    at = opened(PAGE, **SMALL, n_layers=3, n_decoder_layers=1, max_new_tokens=2)
    assert_works(at)
    assert "a target token only through the decoder" in said(at)
    assert "and itself" in at.table[0].value.to_string()


def test_cross_attention_takes_half_of_a_decoder_layer():
    at = translated(panel="parameters")
    assert "attention accounts for 33% in an encoder layer and 50% in a decoder layer" in said(at)
    visit(at, **SMALL, panel="parameters", attention_only=True, max_new_tokens=2)
    assert "in a decoder layer, which also has" not in said(at)


def test_nothing_is_spoilt_in_an_empty_source():
    at = translated(text="", panel="pretraining")
    assert_works(at)
    assert "The source is empty: there is no token to corrupt." in said(at)
    assert "Targets:" not in said(at)


def test_an_empty_sequence_is_seen_as_one():
    at = translated(text="milk", panel="all")
    assert_works(at)
    cards = [str(each.value) for each in at.markdown if "∅" in str(each.value)]
    assert len(cards) == 2
    assert "a single token has no token before it" in said(at)


@pytest.mark.parametrize("preset", ["vaswani-big", "t5-small"])
def test_published_encoder_decoders_are_shown(preset: str):
    at = opened(PAGE, preset=preset, text="Hi", max_new_tokens=1, n_layers=1)
    assert_works(at)
    assert control(at, "preset").value == preset


@pytest.mark.parametrize("page", ["pages/gpt.py", "pages/masks.py"])
def test_other_pages_show_such_a_preset_in_their_way(page: str):
    at = opened(page, preset="t5-small", n_layers=1, text="Hi")
    assert_works(at)
    assert control(at, "preset").value == "t5-small"
    assert starts.start("t5-small").config.architecture == "encoder-decoder"
