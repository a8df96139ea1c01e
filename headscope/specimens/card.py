"""The model card of a specimen: how it was made and what it can do, measured."""

from __future__ import annotations

from typing import Any

from headscope.models.head_model import HeadModel
from headscope.specimens.measures import metrics, random_halves
from headscope.specimens.recipe import Recipe

HALVES = 200


def card_of(recipe: Recipe, head_model: HeadModel, counts: dict[str, Any]) -> dict[str, Any]:
    """Everything about a specimen that is worth a number."""
    heads = list(head_model.grid)
    random_half = {"all heads": random_halves(head_model, heads, "test", HALVES)}
    if len(head_model.grid.banks) > 1:
        encoder = [head for head in heads if head.bank == "encoder"]
        random_half["encoder heads"] = random_halves(head_model, encoder, "test", HALVES)
    return {
        "name": recipe.name,
        "title": recipe.title,
        "data": recipe.data,
        "heads": head_model.grid.describe(),
        "parameters": head_model.n_parameters,
        "seed": counts["seed"],
        "steps": counts["step"],
        "predictions": counts["tokens"],
        "minutes": round(counts["seconds"] / 60, 1),
        "metrics": metrics(head_model, "test"),
        "random half of the heads removed": random_half,
        "facts": recipe.facts(head_model),
    }


def readme(card: dict[str, Any]) -> str:
    """The card as a page."""
    lines = [
        f"# {card['name']}: {card['title']}",
        "",
        f"{card['data']} {card['heads']} heads, {card['parameters']:,} parameters, shipped in half precision.",
        "",
        f"Trained by `python -m headscope.specimens.train {card['name']} --seed {card['seed']}`: "
        f"{card['steps']:,} steps, "
        f"{card['predictions']:,} predictions, {card['minutes']} minutes of training on one shared core.",
        "",
        "| metric | value | 95 % interval | n | split | interval by |",
        "|---|---|---|---|---|---|",
    ]
    for row in card["metrics"]:
        interval = f"{row['low']:.4g} to {row['high']:.4g}"
        lines.append(
            f"| {row['metric']} | {row['value']:.4g} | {interval} | {row['n']} | {row['split']} | {row['method']} |"
        )
    lines += ["", f"With a random half of the heads removed, five seeds, first {HALVES} test examples:", ""]
    for heads, row in card["random half of the heads removed"].items():
        each = ", ".join(f"{value:.4g}" for value in row["halves"])
        lines.append(f"- {heads}: {row['whole']:.4g} becomes {row['mean']:.4g} on average ({each})")
    if card["facts"]:
        lines += ["", *(f"{name.capitalize()}: {value:.4g}." for name, value in card["facts"].items())]
    return "\n".join(lines) + "\n"
