"""What the sixteen-heads paper reports, as the page that is set beside it quotes it."""

from __future__ import annotations

INTRODUCTION = """# Are sixteen heads better than one? On our specimens

Made by `python -m reproductions.sixteen_heads`. Michel, Levy and Neubig (2019) removed heads of two trained models: a
large translator (WMT14 English to French, 6 layers of 16 heads in each of three banks) and BERT-base on MNLI (12 layers
of 12 heads). Here the same is done to the specimens: small models, trained on a grammar and on digits, so that no
figure of ours can confirm or refute one of theirs; what can be compared is the pattern.

**The paper's figures are second-hand**: they come from notes on the paper, not from its text, and those of its plots
are read off.

**How.** Heads are gated, nothing is trained again. A change is significant if a paired test on the same examples gives
p < 0.01: exact McNemar for shares of right answers, the paired bootstrap for BLEU and perplexity. With that many tests
about one head in a hundred is marked by chance. Heads are scored on calibration examples and chosen on development;
what is said to be on test was chosen without it. Curves are those of development.

**Orders.** Heads go in steps of a tenth, scored once. Scores by gradient are divided by the norm of their layer, as in
the paper; "not by layer" is the same without that. The order by ablation is that of the loss without each head alone;
the paper calls its like, by the metric, the oracle order. A bank alone is pruned by gradient, divided by layer.

## The paper and the specimens

A higher BLEU, accuracy or share is better; a lower perplexity is. The mean over a curve of perplexities is the
geometric one, since without its last heads a writer has a perplexity of thousands.
"""

SUBJECTS = ("paper: translator, BLEU", "paper: BERT on MNLI, accuracy")

SUMMARY = (
    ("metric with all heads", ("36.05", "about 0.83")),
    ("heads that change it when removed alone", ("8 of 96 encoder heads, half of them for the better", "–")),
    ("the largest changes", ("−0.53, +0.24", "–")),
    (
        "layers that can do with one head, chosen on other data",
        ("the last cross layer cannot: −18.89; the first encoder layer −1.96", "12 of 12, chosen on the same data"),
    ),
    ("correlation of the changes on a second data set", ("0.56", "0.68")),
    ("heads that can go by gradient before the metric falls", ("about 20 %", "about 40 %")),
    ("mean over the curve, by order", ("by gradient better than by ablation", "by gradient better than by ablation")),
)

TABLES = """
Two more tables of the paper, for the eye. The best change when a layer keeps one head, by layer:

| paper | 1 | 2 | 3 | 4 | 5 | 6 |
|---|---|---|---|---|---|---|
| translator, encoder | −1.31 | −0.16 | +0.12 | −0.15 | +0.02 | −0.36 |
| translator, cross | +0.24 | +0.06 | +0.05 | −0.24 | −1.55 | −13.56 |
| translator, decoder | −0.03 | +0.12 | +0.18 | +0.17 | −0.04 | +0.24 |
| BERT, layers 1 to 6, in % | −0.01 | +0.10 | −0.14 | −0.53 | −0.29 | −0.52 |
| BERT, layers 7 to 12, in % | +0.05 | −0.72 | −0.96 | +0.07 | −0.19 | −0.12 |

Of the banks of its translator the paper says that cross heads are needed most: beyond 60 % of them removed the model
collapses, while either kind of self-attention keeps about 30 BLEU with a fifth of its heads.

Of speed it says that BERT without half of its heads is faster by 1.9 % at batches of 1, by 2.7 % at 4 and by 17.5 % at
16 and 64. Ours depends on the machine, so it is not told here: `headscope speed` measures any mask at the same four
sizes, and `python -m benchmarks.engine` half of the heads of every specimen at 16, beside what operations predict.
"""
