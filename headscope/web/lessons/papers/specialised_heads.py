"""Specialised heads do the heavy lifting: heads with a role are important, and go last."""

from __future__ import annotations

from headscope.web.lessons.lesson import Lesson, PaperFigure, Step, register

JUDGED = 60
"""Examples that judge the trained model: enough for a first answer in class, in seconds."""

GATES = {"gates": "l0", "scheme": {"penalty": 0.02}, "banks": "encoder", "n_steps": 60, "every": 30, "n": JUDGED}


@register
class SpecialisedHeads(Lesson):
    """Voita et al. 2019 on the translator, the setting of the paper."""

    key = "specialised_heads"
    number = 2
    title = "Specialised heads do the heavy lifting"
    paper = "Voita, Talbot, Moiseev, Sennrich and Titov 2019"
    model = "translator"
    promise = "Find out what heads are for, and which of them training keeps when every head has a price."
    minutes = 20
    reproduced = "docs/reproductions/specialised-heads.md"
    steps = (
        Step(
            "Which heads does a translation rest on?",
            "The translator turns English into German. Its encoder bank reads the English sentence, its decoder bank "
            "the German words so far, and its cross bank looks from one to the other.\n\n"
            "Relevance follows a prediction back through the model and hands out shares. Dark heads got much.",
            "scores",
            "Which bank gets most of the relevance?",
            "The shares are uneven, within a layer and between the banks. Relevance tells that a head matters. It does "
            "not tell what the head does.",
            {"method": "lrp"},
        ),
        Step(
            "Some heads have a trade",
            "Where does a head look? If nine of ten times it looks at the token before, it is positional. If it looks "
            "from a verb to its object more often than any fixed distance could explain, it is syntactic.\n\n"
            "Each role is a test with a baseline. Pick a head with a letter and read what it does.",
            "roles",
            "Which role is the most common, and in which bank?",
            "Only some of the heads pass a test. The rest do something that no test here asks for, or a little of "
            "everything.",
            {},
            PaperFigure(
                "the most important and confident heads have consistent roles, often ones that a linguist can name",
                "abstract",
            ),
            "some heads pass the test of a role",
        ),
        Step(
            "A head that follows grammar beats every fixed distance",
            "A head that always looks two words back would find many objects, just because objects often stand there. "
            "So each score has a rival: the best fixed distance. The tick in each bar shows how far the rival gets.",
            "relations",
            "For which relation is the head furthest ahead of its tick?",
            "Where distances vary a lot, a fixed one is hopeless and a head that follows the relation is far ahead. "
            "Where they hardly vary, no head can prove much.",
        ),
        Step(
            "Do heads with a role matter more?",
            "Now both findings together. A bar is the share of the relevance that heads of a role have. The tick is "
            "their share of the heads. A bar beyond its tick means: more than their share.",
            "role_importance",
            "Which role is worth most for each of its heads?",
            "Confident heads get more relevance anyway. The last column holds confidence fixed and asks what is left "
            "of the link. It is often less than the bars suggest.",
            {"bank": "encoder"},
            PaperFigure("the heads that do the heavy lifting are those with a role", "title and abstract"),
            "heads with a role have more than their share of the relevance",
        ),
        Step(
            "Give every head a gate, and every open gate a price",
            "Each encoder head gets a gate. Training may close it. An L0 penalty makes every open gate cost something, "
            "so a head stays only if it earns its price. BLEU tells what the translations are worth then.\n\n"
            "This is a real training, a short one. It goes on if you turn the page.",
            "gates",
            "Which heads close first?",
            "Some gates close at once, some waver, some never move. In the paper the model trains until it has "
            "settled; here it is a short course, so expect a larger loss.",
            {**GATES, "share": 0.5, "cost": 1.0},
            PaperFigure(
                "38 of 48 encoder heads pruned, for a loss of only 0.15 BLEU, English to Russian",
                "abstract",
            ),
            "most of the encoder heads go for less than one BLEU",
        ),
        Step(
            "Are the specialists the last to go?",
            "The bars run from all encoder heads to the last few, in the order of the gates. Letters are roles. White "
            "are heads without one.",
            "survivors",
            "Does the white part shrink faster than the rest?",
            "If roles did not matter, every colour would shrink alike. Compare the share of heads with a role at the "
            "left with that at the right.",
            {},
            PaperFigure("specialised heads are the last to be pruned", "abstract"),
            "heads with a role are a larger share of the last heads than of all",
        ),
        Step(
            "Your turn: find the head that looks one token back",
            "The letters are hidden now. One head of the encoder looks at the token before, for nine of ten tokens. "
            "Pick heads and read what they do until you have found it.",
            "roles",
            "Low or high in the model: where would you look first, and why?",
            "Looking back by one needs no understanding of the sentence. So it can be done low in the model, where "
            "tokens are hardly more than themselves.",
            {"wanted": "positional"},
        ),
    )  # fmt: skip
