"""Layer-wise pruning of a model made of attention alone: a head takes its share of everything along."""

from __future__ import annotations

from headscope.web.lessons.lesson import Lesson, PaperFigure, Step, register

JUDGED = 60
"""Examples that judge the trained model: enough for a first answer in class, in seconds."""

PRICE = {"penalty": 0.1, "rate": 0.1}
GATES = {"gates": "layerwise", "scheme": PRICE, "n_steps": 60, "finetune": 20, "every": 30, "n": JUDGED}


@register
class LayerWise(Lesson):
    """Shim et al. 2021 on the all-attention writer, which is built as the model of the paper."""

    key = "layer_wise"
    number = 3
    title = "A model made of heads alone"
    paper = "Shim, Choi, Sung and Choi 2021"
    model = "all-attention-writer"
    promise = "See why head pruning saves more in an all-attention model, and how layers end with different numbers."
    minutes = 15
    reproduced = "docs/reproductions/layer-wise.md"
    steps = (
        Step(
            "How surprised is a model by the next word?",
            "The all-attention writer guesses the next word. Perplexity tells between how many words it wavers, so "
            "less is better here.\n\n"
            "Switch some heads off and watch the number rise.",
            "clicking",
            "Does a head in the first layer cost as much as one in the last?",
            "Perplexity has no upper end. A few bad choices can make it many times larger, which never happens to a "
            "percentage.",
        ),
        Step(
            "Here a head takes its share of everything along",
            "In an ordinary model most weights sit outside of the heads, in the feed-forward part, and stay when heads "
            "go. In this one there is no such part. Each head has persistent vectors of its own instead.\n\n"
            "Remove the same share of heads from both, and count.",
            "weight_share",
            "How much of an ordinary model could you save by removing all of its heads?",
            "The dotted line is the share of heads that is left. The closer a bar comes to it, the more a head is "
            "worth removing. What stays even so are the embeddings of the words.",
            {},
            PaperFigure(
                "computation and parameters fall in proportion to the number of pruned heads; an ordinary model keeps "
                "its heavy feed-forward part",
                "abstract",
            ),
            "of this model more parameters go with the same share of heads than of the ordinary one",
        ),
        Step(
            "One price for all, rising slowly",
            "Every gate starts wide open. In each step it is either 0 or 1. An open one costs something, and the price "
            "rises slowly from nothing, so that the model has time to adapt.",
            "gates",
            "What happens while the price is still low?",
            "At first nothing closes. Then the weakest go, one after the other. An early closing would have been "
            "final: a shut head learns nothing.",
            {**GATES, "share": 0.17},
            PaperFigure(
                "three runs keep 106, 87 and 59 of 128 heads, as the price is raised; the mildest removes 17 %",
                "the lists of heads in the released code",
            ),
            "at least 17 % of the heads go, and perplexity does not get significantly worse",
        ),
        Step(
            "Do all layers end with the same number of heads?",
            "Nobody said how many heads a layer must keep. There is one price, and each layer answers for itself. That "
            "is all that layer-wise means.",
            "layer_counts",
            "Which layers keep most: the first, the middle ones, or the last?",
            "Where the bars differ, a rule such as half of each layer would keep some heads that are useless, and "
            "throw away some that are not.",
            GATES,
            claim="layers end with different numbers of heads",
        ),
        Step(
            "What if the full price comes at once?",
            "The same training without the slow rise: from the first step on, every open gate costs the full price. "
            "Compare with the film before.",
            "gates",
            "Is the end the same, or only the way there?",
            "The idea of a slow rise: gates should not close before the model had time to shift work to other heads. "
            "Whether that helps in so short a course, the number tells.",
            {**GATES, "scheme": {**PRICE, "warm_up": 0.0}, "against": PRICE},
            PaperFigure("a slow rise is one of three measures that keep the training stable", "abstract, and the code"),
            "without the slow rise the model loses more than with it",
        ),
        Step(
            "Your turn: which layer kept most of its heads?",
            "Back to the first training, the one with the slow rise. Which layer kept most? Pick any head of it. The "
            "page tells you whether another kept more.",
            "layer_counts",
            "Would you have guessed it from the picture of one head alone?",
            "A layer that keeps all its heads is one whose work cannot be done elsewhere. The others have neighbours "
            "that step in.",
            {**GATES, "question": True},
        ),
    )  # fmt: skip
