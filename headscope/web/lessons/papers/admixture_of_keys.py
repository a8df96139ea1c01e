"""A finite admixture of keys: prune single scores and keys instead of whole heads."""

from __future__ import annotations

from headscope.web.lessons.lesson import Lesson, PaperFigure, Step, register

SCORES, KEYS = 0.5, 0.2


@register
class AdmixtureOfKeys(Lesson):
    """Nguyen et al. 2023 on the looker: images, as in the paper."""

    key = "admixture_of_keys"
    number = 5
    title = "Prune scores and keys, not heads"
    paper = "Nguyen and others 2023, FiAK"
    model = "looker"
    promise = "Learn how likely each key is to be looked at, and drop what nobody needs."
    minutes = 15
    reproduced = "docs/reproductions/fiak.md"
    steps = (
        Step(
            "Every token is compared with every token",
            "A head compares each token with each other one. Each comparison is a score. Twice as many tokens, four "
            "times as many scores.\n\n"
            "Choose a length and see what would be left if half of the scores were never computed.",
            "lengths",
            "From which length on do the scores cost more than all the rest?",
            "For short inputs the rest of the layer costs more than the scores, and pruning them saves little. For "
            "long ones nearly all the work is in the scores.",
            {"scores": SCORES},
        ),
        Step(
            "Give every pair of places a prior",
            "Think of a query as a draw from a mixture whose parts are the keys. Then each pair of query and key has a "
            "prior: how likely this look is, before anything is seen. It is one learned number.\n\n"
            "Dark squares are strong priors. White ones were too weak and went.",
            "priors",
            "Do all heads of a layer keep the same pattern?",
            "Heads differ. A prior knows only places and no content, so it shows what a head does on every image "
            "alike.",
            {"scores": SCORES},
        ),
        Step(
            "Half of the scores go",
            "First the priors are trained along with the model. Then the weakest go and the others are set to one. "
            "Then fine-tuning repairs what is left.\n\n"
            "The line shows the accuracy at each stage.",
            "stages",
            "Where is the largest fall, and how much of it is won back?",
            "Cutting hurts, training on repairs. The paper trains for a hundred epochs after the cut; this is a course "
            "of seconds on a small model, so compare directions rather than digits.",
            {"scores": SCORES},
            PaperFigure(
                "DeiT-tiny on ImageNet: 72.23 % dense, 73.56 % with half of the scores pruned, 73.09 % with 70 %",
                "the table of ImageNet results",
            ),
            "half of the scores go, and after the second training the accuracy is not significantly worse",
        ),
        Step(
            "Would any half have done?",
            "The control: the same number of scores goes, drawn by lot, and the same training follows. What learned "
            "priors are worth is the distance between the two lines.",
            "stages",
            "At which stage do the two lines differ most?",
            "Training on repairs a lot, even what was cut by lot. That is why a method should be judged beside a "
            "random order, and at equal training.",
            {"scores": SCORES, "by": ("prior", "random")},
            claim="after the second training, weak priors were the better choice than scores drawn by lot",
        ),
        Step(
            "Whole keys can die",
            "If no query needs a key, the key itself can go, and with it the work of making it. Sum the priors of a "
            "key over all queries: the weakest fifth of the keys goes, and scores besides.\n\n"
            "Laid back on the image, the sums show which patches are looked at.",
            "priors",
            "Which parts of the image does a layer not need as keys?",
            "Each head gives up other patches. Compare them with where digits have ink: a patch that is nearly always "
            "empty has little to tell.",
            {"scores": SCORES, "keys": KEYS, "view": "patches"},
            PaperFigure(
                "DeiT-tiny: 72.25 % with 70 % of the scores and 20 % of the keys pruned, of 72.23 % dense",
                "the table of ImageNet results",
            ),
            "half of the scores and a fifth of the keys go, and the accuracy is not significantly worse",
        ),
        Step(
            "What it saves depends on the length",
            "Now with keys gone too. The curves are arithmetic: what a perfect program could save. A real one has to "
            "find its way between the scores that are left.",
            "lengths",
            "Why does memory fall faster than operations?",
            "The scores are nearly all of the memory and only a part of the operations. A saving on paper becomes one "
            "on the clock only if the program really skips the work.",
            {"scores": SCORES, "keys": KEYS},
            PaperFigure("508 to 649 images a second on a GPU, and 76 to 95 on a CPU", "the table of throughput"),
        ),
        Step(
            "Your turn: where do heads agree on a key to drop?",
            "Each head gives up a fifth of its keys. White columns are keys that are gone. In some layer more heads "
            "than elsewhere give up the very same key. Which one is it? Pick a layer and look at its maps.",
            "shared_key",
            "What could it mean that several heads give up the same place?",
            "A place that hardly any head looks at holds nothing that this layer needs. That may be an empty corner, "
            "or the place where the answer is gathered, which need not be read before the end.",
            {"scores": SCORES, "keys": KEYS},
        ),
    )  # fmt: skip
