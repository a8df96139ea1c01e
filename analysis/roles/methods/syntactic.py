"""The syntactic role: a head that looks from a word to a word it depends on, or back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headscope.analysis.roles.layer_attention import WORD
from headscope.analysis.roles.pointing import Ask, Pointing
from headscope.analysis.roles.role import RoleFinding, register
from headscope.analysis.roles.sample import Reading, Sample
from headscope.analysis.roles.word_pieces import NO_WORD

UP, DOWN = "dependent to head", "head to dependent"

NAMES = {
    "acl:relcl": ("a relative clause", "the noun it describes", "a noun", "its relative clause"),
    "advcl": ("an adverbial clause", "the verb above it", "a verb", "the clause that modifies it"),
    "advmod": ("an adverb", "the word it modifies", "a word", "the adverb that modifies it"),
    "amod": ("an adjective", "its noun", "a noun", "its adjective"),
    "antecedent": ("a pronoun", "the noun it stands for", "a noun", "the pronoun that stands for it"),
    "aux": ("an auxiliary", "its verb", "a verb", "its auxiliary"),
    "aux:pass": ("a passive auxiliary", "its verb", "a passive verb", "its auxiliary"),
    "case": ("a preposition", "its noun", "a noun", "its preposition"),
    "cc": ("a conjunction", "the word after it that it adds", "a conjunct", "its conjunction"),
    "ccomp": ("the verb of a complement", "the verb above it", "a verb", "the verb of its complement"),
    "compound": ("the first part of a compound", "its noun", "a noun", "the first part of its compound"),
    "compound:prt": ("a particle", "its verb", "a verb", "its particle"),
    "conj": ("a second conjunct", "the first", "a first conjunct", "the second"),
    "cop": ("a form of be", "its predicate", "a predicate", "its form of be"),
    "det": ("a determiner", "its noun", "a noun", "its determiner"),
    "iobj": ("an indirect object", "its verb", "a verb", "its indirect object"),
    "mark": ("a clause marker", "the verb of its clause", "the verb of a clause", "its marker"),
    "nmod": ("a noun in a noun phrase", "the noun above it", "a noun", "the noun that modifies it"),
    "nmod:poss": ("an owner", "what is owned", "what is owned", "its owner"),
    "nsubj": ("a subject", "its verb", "a verb", "its subject"),
    "nsubj:pass": ("a passive subject", "its verb", "a passive verb", "its subject"),
    "nummod": ("a number", "its noun", "a noun", "its number"),
    "obj": ("an object", "its verb", "a verb", "its object"),
    "obl": ("a noun in an adverbial", "its verb", "a verb", "the noun of its adverbial"),
    "obl:agent": ("an agent", "its verb", "a passive verb", "its agent"),
}
"""What looks and what it looks at, from the dependent to the head and back."""


@register
@dataclass(frozen=True)
class Syntactic(Pointing):
    """For one relation and direction the strongest attention goes to the related word, Voita et al. 2019.

    acc(h, relation, direction) = #(argmax_j a_ij is the related word) / #(words i with that relation and direction);
    the baseline is the best fixed offset for it. A word with several dependents of a relation has all of them as
    targets. Differs: the paper looks at four relations by a parser, we at all that are frequent enough, with the trees
    that are given; and where even attention does better than any offset, that is the baseline.
    """

    margin: float = 0.10

    key = "syntactic"
    letter = "S"
    title = "Syntactic"
    reference = "Voita et al. 2019"
    asks = "the strongest attention goes to the related word at least 10 points more often than a fixed offset would"
    ours = "the paper does not say whether its 10 % are points; even attention as a second rival"

    def fits(self, reading: Reading, bank: str) -> bool:
        """Where the tokens of a tree look at each other."""
        return bool(reading.links) and (bank == "encoder" or (bank == "decoder" and reading.target is None))

    def ask(self, sample: Sample, reading: Reading, bank: str) -> Iterable[Ask]:
        """Both directions of every link between words that have pieces."""
        del sample, bank
        known = set(reading.source.owners) - {NO_WORD}
        targets: dict[tuple[str, int], set[int]] = {}
        for link in reading.links:
            if {link.dependent, link.head} <= known:
                targets.setdefault((f"{link.relation}: {UP}", link.dependent), set()).add(link.head)
                targets.setdefault((f"{link.relation}: {DOWN}", link.head), set()).add(link.dependent)
        return [Ask(case, WORD, query, frozenset(found)) for (case, query), found in targets.items()]

    def needed(self, baseline: float) -> float:
        """A margin over the baseline."""
        return baseline + self.margin

    def phrase(self, finding: RoleFinding) -> str:
        """Looks from what to what."""
        relation, _, direction = str(finding.detail["case"]).rpartition(": ")
        unnamed = (f"a dependent ({relation})", "its head", "a word", f"its dependent ({relation})")
        dependent, its_head, head, its_dependent = NAMES.get(relation, unnamed)
        return f"looks from {dependent} to {its_head}" if direction == UP else f"looks from {head} to {its_dependent}"
