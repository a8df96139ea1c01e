"""Translation: teacher forcing against the library's own loss, and BLEU of what is written."""

import pytest
import sacrebleu
import torch

from headscope.tasks.task import Splits
from headscope.tasks.translation import TextPair, Translation
from tests.tasks.tiny import TEXTS, tiny

PAIRS = [TextPair(source, target) for source, target in zip(TEXTS, reversed(TEXTS), strict=True)]
TASK = Translation("t", "T", Splits.of(PAIRS, PAIRS, PAIRS))


@pytest.mark.parametrize("family", ["marian", "t5"])
def test_the_loss_is_the_librarys_on_a_single_sentence(family):
    translator = tiny(family)
    with torch.no_grad():
        for batch in TASK.batches(translator, "test", 5, budget=1):
            sources = {name: batch.inputs[name] for name in ("input_ids", "attention_mask")}
            expected = translator.model(**sources, labels=batch.labels).loss
            torch.testing.assert_close(TASK.losses(translator, batch)[0], expected)


def test_bleu_is_sacrebleus_on_what_is_written():
    translator = tiny("marian")
    outcomes = TASK.outcomes(translator, "test")
    assert outcomes["reference"].tolist() == [pair.target for pair in PAIRS]
    bleu, chrf = TASK.estimates(outcomes)
    written = outcomes["hypothesis"].tolist()
    assert bleu.value == pytest.approx(sacrebleu.corpus_bleu(written, [outcomes["reference"].tolist()]).score)
    assert chrf.value == pytest.approx(sacrebleu.corpus_chrf(written, [outcomes["reference"].tolist()]).score)
    assert "tok:13a" in TASK.metrics[0].about


def test_beams_are_searched_when_asked_for():
    translator = tiny("marian")
    translator.model.generation_config.pad_token_id = 0
    beams = Translation("t", "T", TASK.examples, n_beams=4).outcomes(translator, "test", 4)
    greedy = TASK.outcomes(translator, "test", 4)
    assert beams["hypothesis"].tolist() != greedy["hypothesis"].tolist()


def test_a_writer_is_refused():
    with pytest.raises(ValueError, match="predicts the next token; this task needs one that reads a text and writes"):
        TASK.outcomes(tiny("gpt2"), "test")
