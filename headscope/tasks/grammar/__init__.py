"""English and German sentences from one derivation, with trees, alignment, stories and inference pairs."""

from headscope.tasks.grammar.conllu_text import to_conllu
from headscope.tasks.grammar.inference_pairs import InferencePair, inference_pairs
from headscope.tasks.grammar.sentence import Sentence
from headscope.tasks.grammar.splits import SPLITS, sentences
from headscope.tasks.grammar.stories import Story, stories

__all__ = ["SPLITS", "InferencePair", "Sentence", "Story", "inference_pairs", "sentences", "stories", "to_conllu"]
