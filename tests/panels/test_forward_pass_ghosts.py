"""Drafts in the moving picture are those of the speculation, and so is what is accepted."""

from typing import cast

from said_in import in_both

from blocks.model.masks import MaskConfig, MaskKind
from blocks.model.models import GPT
from blocks.observe.run import Input, Run
from blocks.text.speculation import Pass, speculate
from blocks.weights.pocket import pocket
from pages.panels.forward_pass import ghosts
from pages.server import cached

NAME, N_TOKENS = "stories-mtp", 12


def a_run() -> Run:
    file = pocket(NAME)
    ids = tuple(file.tokenizer.encode(file.card.samples["en"]))
    labels = tuple(file.tokenizer.label(each) for each in ids)
    mask = MaskConfig(mask_kind=MaskKind.CAUSAL)
    read = Input(tokens=labels, token_ids=ids, vocabulary=NAME)
    return Run(config=file.config, input=read, mask=mask, weights=NAME)


def test_each_pass_drafts_and_accepts_what_the_speculation_does():
    run = a_run()
    first, *passes = speculate(cast(GPT, cached.model(run)), run.input.token_ids, N_TOKENS)
    run = ghosts.with_draft(run, first.written)
    assert {each.n_accepted for each in passes} >= {0, 2}
    for each in passes:
        draft = ghosts.draft_of(run)
        assert ghosts.checked(ghosts.with_draft(run, draft), len(draft)) == each
        run = ghosts.with_draft(run, each.written)


def test_what_became_of_the_drafts_is_said_in_both_languages(monkeypatch):
    run = a_run()
    cat, owl, saw = (pocket(NAME).tokenizer.encode(f" {word}")[0] for word in ("cat", "owl", "saw"))
    own = {2: (cat, owl, saw), 1: (cat, saw, owl), 0: (owl, cat, saw)}
    for n_accepted, made in own.items():
        found = Pass((cat, owl), made)
        assert found.n_accepted == n_accepted
        for kind in ("embed", "choose", "next"):
            english, chinese = in_both(monkeypatch, ghosts.says, run, found, kind, "").values()
            assert english != chinese and "{" not in english + chinese
        for said in in_both(monkeypatch, ghosts.says, run, found, "choose", "").values():
            assert "2" in said and (n_accepted == 2 or str(n_accepted) in said)
    assert ghosts.says(run, Pass((), ()), "embed", "As before.") == "As before."
    assert "“cat owl”" in ghosts.says(run, Pass((cat, owl), own[2]), "embed", "")
