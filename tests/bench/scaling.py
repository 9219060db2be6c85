"""A law fitted to a few tiny trainings, asked for the best GPT of a budget, against its training.

Some minutes on two cores: `python -m tests.bench scaling`.
"""

from itertools import product

from blocks import ModelConfig
from blocks.cost.budget_shape import Budget, BudgetKind, Wish, shape_by
from blocks.cost.chosen_shape import AttentionShape, shape
from blocks.cost.fit import n_parameters
from blocks.cost.loss_fit import Trained, fitted_law
from blocks.training.events import Evaluation
from blocks.training.loop import Training
from blocks.training.recipe import RECIPES
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from tests.bench.report import report

SEQ_LEN, BATCH = 64, 16
TASK = TaskConfig(kind=TaskKind.STORIES, seq_len=SEQ_LEN)
SIZES, STEPS = ((32, 1), (64, 2), (96, 2)), (90, 180, 360)  # widths with depths, updates
MOST = 4e11  # FLOPs (6·N·D) of a training that the law is fitted to
ASKED, TRAINED = 1e14, 1e12  # FLOPs of the question, and a hundredth of them
AIM = "≤ 10 %"


def measure() -> None:
    """Fit, ask, train what was answered for a hundredth of the budget, and say the miss."""
    vocab_size = build_task(TASK).vocab_size
    law = fitted_law([*_runs(vocab_size)], "Stories", "this machine")
    wish = Wish(attention=AttentionShape.MHA, vocab_size=vocab_size, n=SEQ_LEN)
    for flops in (ASKED, TRAINED):
        found = shape_by(law, Budget(BudgetKind.FLOPS, flops), wish)
        config, loss = found.config, found.loss
        assert loss is not None
        print(
            f"{flops:g} FLOPs: {found.n_parameters:,} parameters ({config.n_layers} layers, "
            f"d_model {config.d_model}), {found.n_tokens:,} tokens, loss {loss.value:.3f} "
            f"({loss.least:.3f} to {loss.most:.3f})"
        )
    measured = _learned(config, found.n_tokens // (BATCH * SEQ_LEN))
    print(f"{law.fit}\ntrained: loss {measured:.3f}, predicted {loss.value:.3f}")
    report("miss of the predicted loss", f"{measured / loss.value - 1:+.1%}", AIM)


def _runs(vocab_size: int) -> list[Trained]:
    found = []
    for (d_model, n_layers), n_steps in product(SIZES, STEPS):
        config = shape(d_model, n_layers, AttentionShape.MHA, vocab_size, SEQ_LEN)
        n, d = n_parameters(config), n_steps * BATCH * SEQ_LEN
        if 6 * n * d <= MOST:
            found.append(Trained(n, d, _learned(config, n_steps)))
            print(found[-1], flush=True)
    return found


def _learned(config: ModelConfig, n_steps: int) -> float:
    """The held-out loss after so many updates."""
    recipe = RECIPES["fast"].replace(n_steps=n_steps, batch_size=BATCH, eval_every=n_steps)
    events = Training(TrainingSpec(config=config, task=TASK, recipe=recipe)).events()
    return [event.held_out_loss for event in events if isinstance(event, Evaluation)][-1]
