"""Differentiable subset pruning: heads compete for exactly K places."""

from __future__ import annotations

from headscope.web.lessons.lesson import Lesson, PaperFigure, Step, register

KEEP = 24
GATES = {"gates": "dsp", "scheme": {"keep": KEEP}, "weights": "frozen", "n_steps": 60}


@register
class SubsetPruning(Lesson):
    """Li et al. 2021 on the reader, whose task, natural language inference, is one of the two of the paper."""

    key = "subset_pruning"
    number = 4
    title = "Choosing exactly K heads"
    paper = "Li, Cotterell and Sachan 2021"
    model = "reader"
    promise = "Say how many heads may stay, and let training find which."
    minutes = 12
    reproduced = "docs/reproductions/subset-pruning.md"
    steps = (
        Step(
            "Forty-eight heads, and room for half of them",
            "The reader decides whether one sentence follows from another. It has forty-eight heads in six layers.\n\n"
            "Suppose a small device has room for half of them. Which half? Switch the others off by hand, if you like, "
            "and watch the number. Drag a box to switch off many at once.",
            "clicking",
            "How would you go about choosing half of the heads?",
            "There are more than thirty million million ways to choose 24 of 48. Trying is hopeless. Either heads get "
            "a rank, or training has to search.",
        ),
        Step(
            "A ranking does not know about teams",
            "Lesson 1 ranks heads one by one and removes from the bottom. Drag the slider until half "
            "of them are left.\n\n"
            "The rank of a head is made while all others are there. Nobody asks how it does when they are gone.",
            "curve",
            "What is left of the accuracy with half of the heads?",
            "The order is better than chance at first. Far to the right it may be no better than the grey band: the "
            "ranking was made for another model, the full one.",
            {"start": 24},
        ),
        Step(
            "Let the heads fight for K places",
            "Every head gets a number, its weight in the fight. A soft choice gives out exactly 24 places in all, "
            "and chance is added so that every head gets a try. Training moves the numbers. The temperature falls, and "
            "the choice becomes hard.\n\n"
            "Drag the frame to and fro and watch the gates.",
            "gates",
            "When is it decided which heads stay?",
            "At first all gates are half open. As it cools, most of them shut. Whatever happens, the gates add up to "
            "24.",
            GATES,
            PaperFigure(
                "precise control of how many heads stay, where a price for open gates needs trial and error",
                "abstract",
            ),
            "exactly as many heads stay as were asked for",
        ),
        Step(
            "Exactly K, whatever K is",
            "Choose how many heads may stay. Each choice is one short training of the gates alone; the weights of the "
            "model do not move. So line and crosses differ only in which heads they keep.",
            "subset",
            "Where does learning pay most: with many heads left, or with few?",
            "The line below the paper's says whether the choice by training is as good, at the number you picked. Try "
            "all four. It may hold for some and not for others: so short a training need not find the best team.",
            {"counts": (12, 18, 24, 36), "start": KEEP, "n_steps": 60},
            PaperFigure(
                "comparable or better than earlier methods on inference and translation. Its tables could not be "
                "checked, so no number is quoted",
                "abstract",
            ),
            "heads that training chose do at least as well as those of the highest rank, at this number",
        ),
        Step(
            "The same, hard from the first step",
            "There is a simpler way: keep the best 24 in every step, with no chance and no temperature, and train "
            "straight through the cut.\n\n"
            "Compare the film with the one before.",
            "gates",
            "Which heads change sides during training, and when?",
            "Gates are black or white from the first step. A head that is out gets no trial by chance, so it comes "
            "back only if its number passes that of another.",
            {**GATES, "gates": "dsp-ste"},
        ),
        Step(
            "Your turn: where do ranking and training disagree?",
            "Both keep 24 heads. Training chose the dark ones in the grid. Find a head that one of the two keeps "
            "and the other throws away, and click it.",
            "disagreement",
            "Why might a low-ranked head be worth keeping?",
            "A head of low rank can be the one that fits best to the others. A rank sees heads alone; a subset "
            "sees them together.",
            {"keep": KEEP, "n_steps": 60},
        ),
    )  # fmt: skip
