"""What is drawn can be clicked, and what the mark carries is set and shown."""

from clicked import click
from opened import figure, opened, press, said, settings, visit, words_in_pictures

TEXT = {"preset": "course", "text": "a b c d", "d_model": 32}


def says(at, **settings: object) -> bool:
    """Whether the address bar says all of it."""
    return {name: str(value) for name, value in settings.items()}.items() <= at.query_params.items()


def test_a_head_is_opened_by_its_tile_and_a_token_pinned_by_its_row():
    link = {"preset": "translator", "sort_aligned_by": "layer"}
    at = opened("pages/seq2seq.py", **link, panel="attention")
    row, column = 2, 1
    tiles = figure(at, "tiles_decoder")["data"][1]["customdata"]
    second = next(i for i, (_head, told) in enumerate(tiles) if told.startswith("layer 2, head 3"))
    place = [figure(at, "tiles_decoder")["data"][1][axis][second] for axis in "xy"]
    click(at, "tiles_decoder", x=place[0], y=place[1])
    assert says(at, attention_of="decoder", layer=1, head=2)
    assert "Target to target · layer 2, head 3" in words_in_pictures(at)
    click(at, "tiles_cross", x=place[0], y=place[1])
    assert "Target to source · layer 2, head 3" in words_in_pictures(at)
    click(at, "two_text_map", x=column, y=row)
    assert says(at, token=column, target_token=row)
    click(at, "strips", customdata=[0, 0])
    assert says(at, token=0, pinned_in="source")
    assert "receives the most attention from" in said(at)
    visit(at, **link, panel="alignment")
    click(at, "aligned_heads", x=0, y=3)
    assert says(at, aligned_head="one_head", head=3)
    assert "Layer 1, head 4" in words_in_pictures(at)
    click(at, "alignment_map", x=0, y=1)
    assert says(at, token=0, target_token=2)


def test_a_cell_is_written_out_and_a_head_opened_everywhere():
    link = {"preset": "sort", "text": "transform"}
    at = opened("pages/attention.py", **link, panel="steps", attention_step="softmax")
    click(at, "step", x=2, y=4)
    assert says(at, token=4, key=2)
    visit(at, **link, panel="heads")
    click(at, "head_measures", x=2, y=6)
    assert says(at, layer=1, head=2)


def test_a_mask_is_chosen_by_its_picture_and_painted_by_a_click():
    at = opened("pages/masks.py", **TEXT, panel="steps", planted_fault="off_by_one")
    drawn = figure(at, "mask_kinds")["data"][1]["customdata"]
    number = next(own[0] for own in drawn if own[1] == "sliding window")
    click(at, "mask_kinds", says=number)
    assert says(at, mask_kind="sliding_window", planted_fault="off_by_one")
    visit(at, **TEXT, panel="steps")
    click(at, "mask_map", x=3, y=1)
    assert says(at, mask_kind="painted", painted="4.je8")


def test_a_position_is_pinned_with_its_pair_and_another_kind_looked_at():
    small = {"d_model": 16, "n_heads": 2, "trained_len": 8, "n_positions": 16}
    at = opened("pages/positions.py", **small, panel="kinds")
    click(at, "position_table", x=5, y=3)  # of 16 columns sines come first: feature 10
    assert says(at, token=3, position_pair=5)
    assert figure(at, "position_table")["layout"]["shapes"][0]["y0"] == 2.5
    visit(at, **small, panel="claims")
    click(at, "claim_grid", x=4, y=1)
    assert says(at, shown_position="alibi")
    visit(at, **small, panel="kinds", shown_position="alibi")
    press(at, "use_position")
    assert says(at, position_kind="alibi")
    visit(at, **small, panel="claims", position_kind="alibi")
    assert figure(at, "claim_grid")["layout"]["shapes"][0]["x0"] == 3.5


def test_a_unit_is_opened_by_its_cell_and_an_expert_by_its_bar():
    at = opened("pages/feed_forward.py", **TEXT, n_heads=4, panel="unit")
    unit, token = figure(at, "unit_map")["data"][1]["customdata"][3 * 4 + 1]
    click(at, "unit_map", x=token, y=3)
    assert says(at, unit=unit, token=token)
    assert f"Unit {unit + 1} is active at" in said(at)
    visit(at, **TEXT, n_heads=4, panel="experts", n_experts=8)
    click(at, "load", y=2)
    assert says(at, expert=2)


def test_pieces_changes_and_published_models_are_clicked():
    at = opened("pages/parameters.py", preset="gpt2-small", panel="breakdown")
    click(at, "pieces", says="attention")
    assert settings(at)["opened_piece"] == "attention"
    assert "Opened: attention, 28,348,416 parameters" in said(at)
    visit(at, preset="gpt2-small", panel="changes")
    click(at, "differences", says="untied")
    assert says(at, tie_embeddings="false")
    visit(at, preset="gpt2-small", panel="published")
    click(at, "published", says="llama-3-8b")
    assert says(at, preset="llama-3-8b")


def test_a_candidate_is_written_and_the_search_goes_on():
    link = {"preset": None, "text": "I like the small cat.", "beam_width": 3}
    at = opened("pages/seq2seq.py", **link, target_step=1, panel=None)
    click(at, "next_choices", y=2)
    assert says(at, target_step=2)
    assert len(at.query_params["forced_ids"].split(".")) == 2
    press(at, "unforce")
    assert "forced_ids" not in at.query_params
