"""What the scores of a model say at first sight, each as one number and one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from headscope.models.heads import HeadId


def findings_html(scores: Mapping[HeadId, float]) -> str:
    """Three tiles: how unevenly the scores lie, the head that counts most, and how many count little."""
    ranked = sorted(scores, key=lambda head: scores[head], reverse=True)
    total = sum(scores.values()) or 1.0
    third = share_of_the_first(scores, max(1, len(ranked) // 3))
    little = sum(score < total / len(scores) / 3 for score in scores.values())
    tiles = (
        (f"{100 * third:.0f} %", "of the gradient sits in a third of the heads"),
        (str(ranked[0]), "is the head that the loss depends on most"),
        (str(little), "heads have less than a third of the mean score"),
    )
    return (
        '<div class="hl-tiles">'
        + "".join(f"<div><b>{value}</b><span>{text}</span></div>" for value, text in tiles)
        + "</div>"
    )


def share_of_the_first(scores: Mapping[HeadId, float], n: int) -> float:
    """The share of all scores that the n highest have."""
    ranked = sorted(scores.values(), reverse=True)
    return sum(ranked[:n]) / (sum(ranked) or 1.0)


def head_line(head: HeadId, scores: Mapping[HeadId, float]) -> str:
    """One tile about one head."""
    ranked = sorted(scores, key=lambda one: scores[one], reverse=True)
    share = scores.get(head, 0.0) / (sum(scores.values()) or 1.0)
    place = f"is number {ranked.index(head) + 1} of {len(ranked)}" if head in scores else "is gone"
    return (
        f'<div class="hl-tiles hl-one"><div><b>{head}</b><span>{place} and has {100 * share:.1f} % of all scores; '
        "the mean head has "
        f"{100 / len(ranked):.1f} %</span></div></div>"
    )
