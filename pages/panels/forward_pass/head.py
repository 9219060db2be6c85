"""What the moving picture is told beside its numbers: moves, names, sentences, and the end."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from blocks.cost.breakdown import Kind
from blocks.inspection.next_token import NextFacts
from blocks.inspection.scene import Scene
from blocks.inspection.scene_backward import can_learn
from blocks.inspection.scene_facts import move_facts
from blocks.inspection.scene_layers import cache_facts, keeps_a_cache
from blocks.inspection.scene_moves import Move, MoveKind, layer_path, stacks
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.counting import from_one, read_apart
from pages.figures.theme import word_of
from pages.panels.forward_pass import back, ghosts, kept, said
from pages.panels.forward_pass.legend import legend, zone_names
from pages.panels.forward_pass.moves import N_ENDS, named, plain
from pages.panels.forward_pass.shown import (
    Asked,
    depth_of,
    ends_of,
    keys_of,
    labels_of,
    moved_by,
    scene_of,
    sinks_of,
)
from pages.stage import tokens
from pages.words import glossary
from pages.words.language import _, current_language, sentences
from pages.words.numbers import percent


@lru_cache(maxsize=64)
def head_of(asked: Asked, head: int, language: str) -> dict[str, Any]:
    """What the picture says, in this language."""
    run, seen, pinned = asked.run, scene_of(asked), asked.looked_at
    labels, window = labels_of(run), next(iter(seen.windows.values()))
    told = back.told(asked, head) if asked.is_back else _told(asked, head)
    return {
        "text": " ".join(run.input.labels),
        "tokens": {s: labels[s][seen.windows[s]] for s in labels},
        "pinned": {s: pinned[s] - seen.windows[s].start for s in labels},
        "sinks": [i - window.start for i in sinks_of(run) if window.start <= i < window.stop],
        "heads": run.config.n_heads,
        "is_back": asked.is_back,
        "learns": can_learn(run) and not asked.n_drafted,
        "opened": sorted(asked.opened),
        "layers": [*_layers(run)],
        **{"depth": [], "moved": []},
        **told,
        "words": {**_words(), "glossary": _glossary(told)},
        "legend": [*legend(asked, scene_of(asked))],
        "colors": {
            **palette.PART_COLORS,
            "pinned": palette.PINNED,
            "logits": palette.KIND_COLORS[Kind.OUTPUT],
            "masked": palette.BEFORE,
            "band": palette.MASKED,
        },
    }


def _told(asked: Asked, head: int) -> dict[str, Any]:
    """The moves of the pass, and what the model says at the end."""
    run, found = asked.run, ghosts.checked(asked.run, asked.n_drafted)
    ends = ends_of(run, asked.token, len(found.drafted) - found.n_accepted)
    depth = [*_depth(run, ends)]
    moves = _moves(asked, head, ends, depth)
    return {
        "moves": [
            {**move, "says": ghosts.says(run, found, move["kind"], move["says"])} for move in moves
        ],
        "keeps": keeps_a_cache(run) and not found.drafted,
        "drafted": {"n": len(found.drafted), "accepted": found.n_accepted},
        "ends": [] if ends is None else [*_ends(ends)],
        "depth": depth,
        "moved": moved_by(run, ends.position) if ends else [],
    }


def _ends(facts: NextFacts) -> Iterator[dict[str, Any]]:
    first = facts.likeliest[:N_ENDS]
    for label, logit, share in zip(
        read_apart(list(first["label"])), first["logit"], first["model_probability"], strict=True
    ):
        yield {
            "label": label,
            "logit": float(logit),
            "score": f"{logit:.1f}".replace("-", "−"),
            "probability": float(share),
            "percent": percent(share),
        }


def _layers(run: Run) -> Iterator[dict[str, Any]]:
    for stack, n_layers in stacks(run.config).items():
        text = {"encoder": _("encoder layer {layer}"), "decoder": _("decoder layer {layer}")}
        for i in range(n_layers):
            title = text.get(stack, _("layer {layer}")).format(layer=from_one(i))
            yield {"start": layer_path(i, stack), "title": title, "number": from_one(i)}


def _depth(run: Run, ends: NextFacts | None) -> Iterator[dict[str, Any]]:
    """After each layer what a model that has learned would say."""
    if ends is None or run.has_target or not run.weights:
        return
    found = depth_of(run, ends.position)
    for token_id, share in zip(found.token_id, found.probability, strict=True):
        yield {"label": word_of(tokens.label(run, int(token_id))), "percent": percent(float(share))}


def _moves(
    asked: Asked, head: int, ends: NextFacts | None, guesses: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    run, seen = asked.run, scene_of(asked)
    keeps = keeps_a_cache(run)
    for move in seen.moves:
        says = _end_said(run, move, ends)
        told = {"says": says} if says else _said(asked, move, head, guesses)
        if keeps:
            last = _telling(run, seen, move, head, run.input.shape[1] - 1)
            if text := kept.says_kept(last, cache_facts(run), told["says"]):
                told["kept"] = text
        yield {**plain(move), **named(run, move, seen.matrices.get(move.path)), **told}
    if ends is not None and run.config.architecture is Architecture.GPT:
        name = _("next word")
        first = word_of(ends.likeliest["label"].iloc[0])
        size = kept.says_how_large(cache_facts(run)) if keeps else ""
        yield {
            **{"path": "next", "stage": "next", "kind": "next", "part": "embedding"},
            **{"reads": ["probs"], "layer": None, "stack": "", "is_stream": False},
            **{"title": name, "short": name, "says": said.says_next(first)},
            **({"kept": sentences(said.says_next(first), size)} if size else {}),
        }


def _said(asked: Asked, move: Move, head: int, guesses: list[dict[str, Any]]) -> dict[str, str]:
    """What is said of a move close by and from afar, and how large the numbers are."""
    run, seen, token = asked.run, scene_of(asked), asked.looked_at[move.stack]
    about = _telling(run, seen, move, head, token)
    told = {"says": said.says_move(about)}
    if move.layer is None or layer_path(move.layer, move.stack) in asked.opened:
        told["sizes"] = said.says_more(about)
    if kind := _from_far(run, move):
        told["far"] = said.says_move(_telling(run, seen, replace(move, kind=kind), head, token))
    if move.stage == "resid_post" and guesses and move.layer is not None:
        guess = guesses[move.layer]
        so_far = guess["label"], guess["percent"], about.token
        told["says"] = said.says_guess(run, move.layer, *so_far)
    return told


def _from_far(run: Run, move: Move) -> MoveKind | None:
    """What a move is where all of its part is seen as one."""
    if move.kind is MoveKind.NARROW:
        return MoveKind.FEED
    if move.kind is not MoveKind.JOIN:
        return None
    return MoveKind.ATTEND if run.config.attends_in(move.layer or 0) else MoveKind.CARRY


def _telling(run: Run, seen: Scene, move: Move, head: int, token: int) -> said.Telling:
    """What is told of a move at one token."""
    labels, facts = labels_of(run), move_facts(seen, run, move, head, token)
    of_keys = labels[keys_of(move)]
    key = of_keys[facts.key] if facts.key < len(of_keys) else ""
    is_rest = facts.key == 0 and 0 in sinks_of(run)
    keys = tuple(of_keys[i] for i in facts.keys)
    return said.Telling(run, facts, labels[move.stack][token], key, head, is_rest, keys)


def _end_said(run: Run, move: Move, ends: NextFacts | None) -> str | None:
    """The sentences about the vocabulary, where the move is one of those."""
    if ends is None or move.kind not in (MoveKind.LOGITS, MoveKind.CHOOSE):
        return None
    first, second = (row for _i, row in ends.likeliest[:2].iterrows())
    if move.kind is MoveKind.LOGITS:
        logit = f"{first['logit']:.1f}".replace("-", "−")
        after = labels_of(run)[move.stack][ends.position]
        return said.says_logits(after, word_of(first["label"]), logit, run.config.vocab_size)
    shares = percent(first["model_probability"]), percent(second["model_probability"])
    both = word_of(first["label"]), word_of(second["label"])
    return said.says_probabilities(*both, shares, not run.weights)


def _glossary(told: dict[str, Any]) -> dict[str, Any]:
    """The words of the field that are said, each with its sentence."""
    texts = [text for move in told["moves"] for text in (move["title"], move["says"])]
    used = glossary.used_in(tuple(texts), current_language())
    return {"title": _("Words"), "words": [glossary.in_bold(word) for word in used]}


def _words() -> dict[str, Any]:
    return {
        "model": _("whole model"),
        "head": _("head"),
        "cell": _("one number"),
        "guess": _("guess so far"),
        "band": _("layers {first}–{last}"),
        "in_band": _(
            "These layers do the same kind of work and are drawn as one: tap to open them."
        ),
        "after_band": _(
            "These layers do the same kind of work and are drawn as one: after them, the best"
            " guess for the next word is “{guess}” ({share})."
        ),
        "feature": _("feature"),
        "zones": zone_names(),
        "query": _("query"),
        "key": _("key"),
        "masked": _("masked"),
        "picture": _("The pass of this sentence through the model, in moving squares"),
        "parts": {
            "q": [_("queries q"), "q"],
            "k": [_("keys kᵀ"), "kᵀ"],
            "v": [_("values v"), "v"],
            "scores": [_("scores q · kᵀ"), _("scores")],
            "pattern": [_("weights")],
            "head_out": [_("output")],
        },
        "kept": {"cache_k": "k", "cache_v": "v", "cache_c": "c"},
        "asides": {
            "cache_k": [_("cached keys (norm of each)"), _("key/value head")],
            "cache_v": [_("cached values (norm of each)"), _("key/value head")],
            "cache_c": [_("cached latent vector (its norm)"), ""],
            "experts": [_("weight of the expert"), _("expert")],
        },
        "buttons": {
            "cached": _("KV cache"),
            "backward": _("Backward"),
            "forward": _("Back to the forward pass"),
            "drafts": _("Drafts"),
            "write": _("Keep writing"),
            "play": _("Play or pause (Space)"),
            "back": _("One step back (←)"),
            "on": _("One step forward (→)"),
            "scrub": _("The whole pass: drag to any moment"),
            "speed": _("Speed"),
            "out": _("Zoom out (Esc)"),
            "in": _("Zoom in (Enter)"),
            "next": _("Next word"),
        },
    }
