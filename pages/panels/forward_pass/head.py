"""What the moving picture is told beside its numbers: moves, names, sentences, and the end."""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

from blocks.cost.breakdown import Kind
from blocks.inspection import next_token
from blocks.inspection import scene as scenes
from blocks.inspection.next_token import NextFacts
from blocks.inspection.scene import Scene
from blocks.inspection.scene_facts import move_facts
from blocks.inspection.scene_layers import cache_facts, keeps_a_cache
from blocks.inspection.scene_matrix import Matrix
from blocks.inspection.scene_moves import Move, MoveKind, layer_path, stacks
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from blocks.text.sampling import SamplingConfig
from pages.figures import palette
from pages.figures.counting import from_one, read_apart
from pages.figures.theme import word_of
from pages.panels.forward_pass import kept, said
from pages.ui import cached, labelled, sinks, tokens
from pages.ui.language import _, bracketed, sentences
from pages.ui.numbers import percent
from pages.ui.once import once
from pages.ui.shelf import Shelf, weighed

N_ENDS, MOST_SCENES = 8, 64


class _Asked(NamedTuple):
    """What decides a scene."""

    run: Run
    opened: frozenset[str]
    token: int


def scene_of(run: Run, opened: frozenset[str], token: int) -> Scene:
    """One pass with what is drawn of it."""
    return _scenes().get(_Asked(run, opened, token))


@once
def _scenes() -> Shelf[_Asked, Scene]:
    """Those of all readers."""
    return weighed(_drawn, lambda found: found.n_bytes + found.seen.kept_bytes, 8, MOST_SCENES)


def _drawn(asked: _Asked) -> Scene:
    model = cached.model(asked.run)
    with cached.turn(asked.run.device):
        return scenes.scene(asked.run, model, asked.opened, asked.token)


@lru_cache(maxsize=64)
def head_of(
    run: Run, opened: frozenset[str], head: int, token: int, language: str
) -> dict[str, Any]:
    """What the picture says, in this language."""
    seen, ends = scene_of(run, opened, token), ends_of(run, token)
    labels = labels_of(run)
    pinned = {"": token, "encoder": token, "decoder": len(labels.get("decoder", "x")) - 1}
    return {
        "text": " ".join(run.input.labels),
        "tokens": {s: labels[s][seen.windows[s]] for s in labels},
        "pinned": {s: pinned[s] - seen.windows[s].start for s in labels},
        "sinks": [i - seen.windows[""].start for i in sinks_of(run) if i in _range(seen)],
        "heads": run.config.n_heads,
        "moves": [*_moves(run, seen, head, pinned, ends)],
        "keeps": keeps_a_cache(run),
        "opened": sorted(opened),
        "layers": [*_layers(run)],
        "ends": [] if ends is None else [*_ends(ends)],
        "words": _words(),
        "colors": {
            **palette.PART_COLORS,
            "pinned": palette.PINNED,
            "logits": palette.KIND_COLORS[Kind.OUTPUT],
            "masked": palette.BEFORE,
        },
    }


def sinks_of(run: Run) -> tuple[int, ...]:
    """The tokens that outweigh all others: lines from there are pale."""
    is_looked_for = run.config.attention_layers and not run.has_target
    return sinks.set_apart(run, True) if is_looked_for else ()


def _range(seen: Scene) -> range:
    window = seen.windows[""]
    return range(window.start, window.stop)


def labels_of(run: Run) -> dict[str, tuple[str, ...]]:
    """What the tokens of each text are called."""
    labels = read_apart(run.input.labels)
    if not run.has_target:
        return {"": labels}
    return {"encoder": labels, "decoder": read_apart(run.target_or_start.labels)}


@lru_cache(maxsize=8)
def ends_of(run: Run, token: int) -> NextFacts | None:
    """What the model says at the end: of a GPT after its last token; None of a block."""
    if not run.config.architecture.reads_tokens:
        return None
    at = labelled.last_token(run) if run.config.architecture is Architecture.GPT else token
    if run.has_target:
        at = len(run.target_or_start.labels) - 1
    found = next_token.vocabulary(cached.recording(run).output[0, at], SamplingConfig())
    return NextFacts(run, at, SamplingConfig(), found, partial(tokens.label, run))


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


def _moves(
    run: Run, seen: Scene, head: int, pinned: dict[str, int], ends: NextFacts | None
) -> Iterator[dict[str, Any]]:
    keeps = keeps_a_cache(run)
    for move in seen.moves:
        told = {"says": _end_said(run, move, ends)}
        if told["says"] is None:
            about = _telling(run, seen, move, head, pinned[move.stack])
            told = {"says": said.says_move(about)}
            if keeps:
                last = _telling(run, seen, move, head, run.input.shape[1] - 1)
                told["kept"] = kept.says_kept(last, cache_facts(run))
        yield {**_plain(move), **_named(run, move, seen.matrices.get(move.path)), **told}
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


def _telling(run: Run, seen: Scene, move: Move, head: int, token: int) -> said.Telling:
    """What is told of a move at one token."""
    labels, facts = labels_of(run), move_facts(seen, run, move, head, token)
    of_keys = labels[keys_of(move)]
    key = of_keys[facts.key] if facts.key < len(of_keys) else ""
    return said.Telling(run, facts, labels[move.stack][token], key, head, len(of_keys))


def keys_of(move: Move) -> str:
    """Whose keys the queries of this move meet."""
    return "encoder" if move.stage.startswith("cross_") else move.stack


def _plain(move: Move) -> dict[str, Any]:
    return {
        "path": move.path,
        "stage": move.stage,
        "kind": str(move.kind),
        "part": str(move.part),
        "reads": move.reads,
        "layer": move.layer,
        "stack": move.stack,
        "is_stream": move.is_stream,
    }


def _named(run: Run, move: Move, made: Matrix | None) -> dict[str, str]:
    """A title, and a short name, which says how much of what is made is drawn."""
    short = said.short_name(run, move)
    if made is not None and made.columns is None and made.codes.shape[-1] < made.of:
        drawn = _("{n} of {of} drawn").format(n=made.codes.shape[-1], of=made.of)
        short = bracketed(short, drawn)
    return {"title": said.title(run, move), "short": short}


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


def _words() -> dict[str, Any]:
    return {
        "model": _("whole model"),
        "head": _("head"),
        "cell": _("one number"),
        "feature": _("feature"),
        "query": _("query"),
        "key": _("key"),
        "masked": _("masked"),
        "picture": _("The pass of this sentence through the model, in moving squares"),
        "parts": {
            "q": "q",
            "k": "kᵀ",
            "v": "v",
            "scores": _("scores"),
            "pattern": _("weights"),
            "head_out": _("output"),
        },
        "kept": {"cache_k": "k", "cache_v": "v", "cache_c": "c"},
        "asides": {
            "cache_k": [_("cached keys (their length)"), _("key head")],
            "cache_v": [_("cached values (their length)"), _("key head")],
            "cache_c": [_("cached latent vector (its length)"), ""],
            "experts": [_("weight of the expert"), _("expert")],
        },
        "buttons": {
            "cached": _("KV cache"),
            "write": _("Keep writing"),
            "play": _("Play or pause (Space)"),
            "back": _("One step back (←)"),
            "on": _("One step on (→)"),
            "scrub": _("The whole pass: drag to any moment"),
            "speed": _("Speed"),
            "out": _("Zoom out (Esc)"),
            "in": _("Zoom in (Enter)"),
            "next": _("Next word"),
        },
    }
