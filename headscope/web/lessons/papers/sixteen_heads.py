"""Are sixteen heads really better than one? Most heads can be spared, one at a time and many together."""

from __future__ import annotations

from headscope.web.lessons.lesson import Lesson, PaperFigure, Step, register


@register
class SixteenHeads(Lesson):
    """Michel et al. 2019 on the looker, which can spare as large a share of its heads as the models of the paper."""

    key = "sixteen_heads"
    number = 1
    title = "Are sixteen heads really better than one?"
    paper = "Michel, Levy and Neubig 2019"
    model = "looker"
    promise = "Switch heads off without any training, and see how many a model can spare."
    minutes = 15
    reproduced = "docs/reproductions/sixteen-heads.md"
    steps = (
        Step(
            "A model looks with many heads at once",
            "The looker reads handwritten digits. It cuts an image into small pieces, its tokens. Every square of "
            "the grid is a head, every row a layer. Each head looks from piece to piece in its own way, by "
            "attention.\n\nClick a square to switch a head off. Click again and it is back.",
            "clicking",
            "Which head would you take away first, and why?",
            "You cannot tell by looking. All squares look alike until somebody measures what each of them is worth.",
            {"method": ""},
        ),
        Step(
            "Take one head away: does anything happen?",
            "Switch off a single head, note the number, and switch it on again. Try five of them. The number on the "
            "left is measured anew for every mask, on development examples.\n\n"
            "A change counts only if it is larger than chance. That is what the p-value says.",
            "clicking",
            "Can you find one head that the model cannot do without?",
            "Count how many of your heads changed the number by more than chance does. Where it is few, one head at a "
            "time is the wrong unit: what matters is what the others can take over.",
            {"method": ""},
            PaperFigure(
                "in the encoder of a translation model, only 8 of 96 heads change BLEU significantly when they are "
                "removed alone, and half of those improve it",
                "section 3.2, table 1",
                second_hand=True,
            ),
            "this head alone can go without a significant loss",
        ),
        Step(
            "A layer can often live on one head",
            "Now be harsh. In one layer, remove all heads but the best. The other layers keep all of theirs. The bars "
            "show what that costs, layer by layer.",
            "one_head",
            "Which layer needs its many heads most?",
            "Layers differ a lot. Where one head is nearly enough, the others of that layer are spares. Where it is "
            "not, several heads share one piece of work.",
            {},
            PaperFigure(
                "for BERT on natural language inference, no layer gets significantly worse when all its heads but the "
                "best are removed",
                "section 3.3, table 3",
                second_hand=True,
            ),
            "no layer gets significantly worse when it keeps only its best head",
        ),
        Step(
            "One look at the gradient scores every head",
            "Trying all heads takes long. There is a short cut. Put a gate on every head, leave it open, and ask how "
            "much the loss would change if the gate moved a little. That is the gradient. Its mean size over "
            "calibration examples is the score of the head.\n\n"
            "Pick a head to see its place.",
            "scores",
            "Where do the important heads lie: low, high, or everywhere?",
            "The scores are very uneven: a few heads have a large share of the whole. All of them come from one pass "
            "over the examples, however many heads there are.",
        ),
        Step(
            "The least important go first, with no training at all",
            "Heads go from the lowest score to the highest. Nothing is trained afterwards. Drag the slider and watch "
            "the number. The dashed line is the whole curve. The grey band shows random orders.\n\n"
            "Look for the knee, where quality begins to fall.",
            "curve",
            "How many heads can go before you would notice?",
            "Where the curve stays flat, heads are spare. Where it lies above the grey band, the scores know more than "
            "chance: the gap between line and band is what they are worth.",
            {"spared": 0.2},
            PaperFigure(
                "about 40 % of BERT's heads, and about 20 % of a translation model's, go with no noticeable loss",
                "section 4.2, figure 3",
                second_hand=True,
            ),
            "at least a fifth of the heads goes before the model is significantly worse",
        ),
        Step(
            "Turn the order round, and the model breaks early",
            "The same scores, the other way: now the most important heads go first. If scores meant nothing, this "
            "line would lie in the grey band too.",
            "curve",
            "How many of the most important heads break the model?",
            "A few heads at the top of the list do more than a large part of the rest. So the model does need heads. "
            "It does not need most of them.",
            {"strategy": "reverse"},
        ),
        Step(
            "Your turn: find the two heads it can spare least",
            "Switch off exactly two heads, so that the model loses as much as possible. The squares are coloured by "
            "the gradient score, dark is important. The page tells you when you have found a pair that hurts.",
            "costly_pair",
            "Are the two darkest heads the pair that costs most?",
            "The score looks at one head at a time. Two heads that stand in for each other look harmless one by one, "
            "and hurt together.",
            {"worth": 0.03},
        ),
    )  # fmt: skip
