"""Classification: known answers, and labels that must fit the model."""

import pytest
import torch

from headscope.tasks.classification import Classification, LabelledText, label_numbers
from headscope.tasks.task import Splits
from tests.tasks.tiny import TEXTS, filler, tiny


@pytest.fixture
def bert():
    return tiny("bert", "<s> $A </s>")


def always(head_model, label):
    """The model, which now gives every text the same label with logit 2 against 0."""
    torch.nn.init.zeros_(head_model.model.classifier.weight)
    with torch.no_grad():
        head_model.model.classifier.bias.copy_(torch.tensor([2.0, 0.0] if label == 0 else [0.0, 2.0]))
    return head_model


def test_a_model_of_one_answer_is_right_where_that_is_the_label(bert):
    examples = [LabelledText(text, "POSITIVE" if number < 18 else "negative") for number, text in enumerate(TEXTS)]
    bert.model.config.id2label = {0: "negative", 1: "positive"}
    task = Classification("c", "C", Splits.of(examples, examples, examples))
    always(bert, 1)
    accuracy, macro_f1 = task.estimates(task.outcomes(bert, "test"))
    assert accuracy.value == 18 / 24
    assert macro_f1.value == pytest.approx((0 + 36 / 42) / 2)
    losses = torch.cat([task.losses(bert, batch) for batch in task.batches(bert, "test", 18)])
    torch.testing.assert_close(losses, torch.full((18,), 2.0).exp().add(1).log().sub(2).double())


def test_a_better_model_is_seen_in_the_comparison(bert):
    examples = [LabelledText(text, "1") for text in TEXTS]
    task = Classification("c", "C", Splits.of(examples, examples, examples))
    wrong = task.outcomes(always(bert, 0), "test")
    right = task.outcomes(always(bert, 1), "test")
    comparison = task.compare(wrong, right)
    assert comparison.difference == 1
    assert comparison.p_value == pytest.approx(2 * 0.5**24)


def test_a_pair_is_read_as_a_pair(bert):
    bert.tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    examples = [LabelledText(text, "0", "w1 w2") for text in TEXTS]
    (row, *_) = Classification("c", "C", Splits.of(examples, examples, examples)).rows(bert, "test", None)
    words = bert.tokenizer.convert_ids_to_tokens(row.inputs["input_ids"])
    assert words == ["<s>", *TEXTS[0].split(), "</s>", "w1", "w2", "</s>"]
    assert row.inputs["token_type_ids"] == [0] * 6 + [1] * 3


def test_labels_that_the_model_does_not_know_are_named(bert):
    with pytest.raises(ValueError, match=r"labels 'bad', 'good'; the labels of .* are 'LABEL_0', 'LABEL_1'"):
        label_numbers(bert, {"good", "bad", "1"})


def test_a_model_of_another_kind_is_refused():
    examples = [LabelledText(text, "0") for text in TEXTS]
    with pytest.raises(ValueError, match=r"fills gaps in a text; this task needs one that chooses a label"):
        Classification("c", "C", Splits.of(examples, examples, examples)).outcomes(filler(), "test")


def test_half_a_pair_is_refused(bert):
    examples = [LabelledText("w1", "0", "w2"), LabelledText("w3", "1")]
    with pytest.raises(ValueError, match="all or none"):
        Classification("c", "C", Splits.of(examples, examples, examples)).outcomes(bert, "test")
