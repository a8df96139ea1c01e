"""English and German sentences from one derivation, with trees, alignment, stories and inference pairs."""

from tasks.corpus.conllu import to_conllu
from tasks.corpus.inference import InferencePair, inference_pairs
from tasks.corpus.sentence import Sentence
from tasks.corpus.splits import SPLITS, sentences
from tasks.corpus.stories import Story, stories

__all__ = ["SPLITS", "InferencePair", "Sentence", "Story", "inference_pairs", "sentences", "stories", "to_conllu"]
