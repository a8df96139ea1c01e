"""The models that ship with Headscope."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from headscope.cli.command import Answer, Command, register


@register
class Specimens(Command):
    """The specimens as their cards describe them."""

    name = "specimens"
    about = "list the models that ship with Headscope"

    def arguments(self, parser: ArgumentParser) -> None:
        """Nothing is needed."""

    def run(self, options: Namespace) -> Answer:
        """Reads the cards."""
        from headscope.models.loading.known_models import read_card, specimen_names

        del options
        cards = {name: read_card(name) for name in specimen_names()}
        lines = []
        for name, card in cards.items():
            found = card["metrics"][0]
            judged = f"{found['metric']} {found['value']:.4g} ({found['low']:.4g} to {found['high']:.4g})"
            lines += [f"{name:<21} {card['title']}", f"{'':<21} {card['heads']}, {judged} on {found['split']}"]
        return {"specimens": cards}, "\n".join(lines)
