from __future__ import annotations

from headscope.models.heads import HeadId
from headscope.web.charts.findings import findings_html, share_of_the_first

SCORES = {HeadId("encoder", 0, head): score for head, score in enumerate([6.0, 1.0, 0.1, 1.0, 0.9, 1.0])}


def test_the_tiles_tell_the_share_the_first_head_and_those_that_count_little() -> None:
    html = findings_html(SCORES)
    assert "<b>70 %</b><span>of the gradient sits in a third of the heads" in html
    assert "<b>encoder.0.0</b>" in html
    assert "<b>1</b><span>heads have less than a third of the mean score" in html


def test_all_heads_together_have_the_whole_gradient() -> None:
    assert share_of_the_first(SCORES, 6) == 1.0
