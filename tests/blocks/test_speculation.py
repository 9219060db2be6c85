"""What a model drafts by its own modules and checks: the text is the one that it writes."""

import torch
from toy import scramble, toy

from blocks import build
from blocks.model.models import GPT
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig
from blocks.text.speculation import Pass, speculate
from blocks.weights import trained
from blocks.weights.pocket import pocket

PROMPT, N_TOKENS, N_MODULES = (3, 1, 4), 9, 2
CONFIG = toy(
    architecture="gpt",
    vocab_size=5,
    n_layers=2,
    position_kind="rope",
    max_seq_len=64,
    n_mtp_modules=N_MODULES,
)


def a_model(**changes: object) -> GPT:
    model = scramble(build(CONFIG.replace(**changes)))
    assert isinstance(model, GPT)
    return model


def text_of(passes: tuple[Pass, ...]) -> list[int]:
    return [token for each in passes for token in each.written]


def test_the_text_is_the_one_that_is_written_token_by_token():
    for window in (None, 2):
        model, greedy = a_model(), SamplingConfig(temperature=0.0)
        plain = Generation(model, CONFIG, PROMPT, greedy, window_size=window, use_cache=False)
        plain.advance(N_TOKENS)
        passes = speculate(model, PROMPT, N_TOKENS, window_size=window)
        assert text_of(passes)[:N_TOKENS] == plain.token_ids[len(PROMPT) :]


def test_a_draft_is_what_the_modules_say_of_the_text_so_far():
    model, text = a_model(), list(PROMPT)
    first, *passes = speculate(model, PROMPT, N_TOKENS)
    assert first.drafted == () and passes
    text += first.written
    for each in passes:
        ids = torch.tensor([[*text, *each.drafted]])
        ahead = model.logits_ahead(ids)[1:]
        at = len(text) - 2  # the newest token whose next one is known
        found = tuple(int(logits[0, at].argmax()) for logits in ahead)
        assert each.drafted == found
        text += each.written


def test_without_modules_each_pass_writes_one_token():
    passes = speculate(a_model(n_mtp_modules=0), PROMPT, N_TOKENS)
    assert [each.written for each in passes] == [each.own for each in passes]
    assert len(passes) == N_TOKENS


def test_what_is_accepted_ends_at_the_first_token_that_it_would_not_have_written():
    for drafted, n in (((7, 8), 2), ((7, 9), 1), ((9, 8), 0), ((), 0)):
        found = Pass(drafted, (7, 8, 6)[: len(drafted) + 1])
        assert found.n_accepted == n
        assert found.written == (7, 8, 6)[: n + 1]


def test_what_is_switched_off_stays_off_in_each_pass():
    model = a_model()
    off = {"layers.0.attention_out": torch.zeros_like, "layers.1.attention_out": torch.zeros_like}
    passes = speculate(model, PROMPT, N_TOKENS, replace=off)
    assert text_of(passes) != text_of(speculate(model, PROMPT, N_TOKENS))


def test_the_model_that_ships_accepts_most_of_its_drafts():
    file = pocket("stories-mtp")
    model = trained(file.config, file.tensors)
    assert isinstance(model, GPT)
    passes = speculate(model, file.tokenizer.encode(file.card.samples["en"]), 30)
    drafted = [each for each in passes if each.drafted]
    of_first, of_second = (sum(each.n_accepted > k for each in drafted) for k in (0, 1))
    assert len(drafted) * 0.7 < of_first >= of_second > 0.5 * len(drafted)
