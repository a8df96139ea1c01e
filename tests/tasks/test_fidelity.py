"""Fidelity: a model is wholly faithful to itself, and less without its heads."""

import pytest
import torch
import transformers as hf

from headscope.models.gating import gated
from headscope.tasks.features import Landmarks, features_of
from headscope.tasks.fidelity import LANDMARKS_OF, Fidelity, TranslationFidelity, divergences
from headscope.tasks.task import SPLITS, Splits
from headscope.tasks.translation import TextPair
from tests.families import SEQ2SEQ, TEXT
from tests.tasks.tiny import TEXTS, closed, filler, opened, sharpened, tiny, tokenizer

TEXT_SPLITS = Splits.of(TEXTS, TEXTS, TEXTS)
MODELS = {
    "bert": lambda: tiny("bert", "<s> $A </s>"),
    "gpt2": lambda: tiny("gpt2"),
    "llama": lambda: tiny("llama"),
    "filler": filler,
    "vit": lambda: tiny("vit"),
    "clip-vision": lambda: tiny("clip-vision"),
    "headless": lambda: headless("<s> $A </s>"),
}


def headless(pattern="$A </s>"):
    return sharpened(lambda: hf.BertModel(hf.BertConfig(**TEXT)), tokenizer(pattern))


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    head_model = MODELS[request.param]()
    return Fidelity("f", "F", head_model, None if request.param in ("vit", "clip-vision") else TEXT_SPLITS), head_model


def test_a_model_is_wholly_faithful_to_itself(case):
    task, head_model = case
    agreement, divergence = task.estimates(task.outcomes(head_model, "test", 24))
    assert (agreement.value, divergence.value, agreement.n) == (1, 0, 24)


def test_shut_heads_cost_fidelity_even_if_the_reference_first_runs_under_them(case):
    _, head_model = case
    fresh = Fidelity("f", "F", head_model, case[0].examples)
    with gated(head_model, closed(head_model)):
        outcomes = fresh.outcomes(head_model, "test", 24)
    assert outcomes["kl"].mean() > 1e-5  # a reference with shut heads would differ from the model by nothing at all
    assert fresh.outcomes(head_model, "test", 24)["kl"].max() == 0


def test_more_examples_are_asked_of_the_reference_when_needed(case):
    task, head_model = Fidelity("f", "F", case[1], case[0].examples), case[1]
    assert [task.outcomes(head_model, "test", n).n for n in (3, 20, 5)] == [3, 20, 5]


def test_the_loss_has_a_gradient_where_the_divergence_has_none(case):
    task, head_model = case
    task.outcomes(head_model, "test", 8)
    gates = opened(head_model).requires_grad_()
    with gated(head_model, gates):
        total = sum(task.losses(head_model, batch).sum() for batch in task.batches(head_model, "test", 8))
    assert torch.autograd.grad(total, gates)[0].abs().max() > 1e-3


def test_divergences_are_those_of_hand():
    reference, found = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75]]).log()
    expected = 0.5 * torch.tensor([2.0]).log() + 0.5 * torch.tensor([2 / 3]).log()
    torch.testing.assert_close(divergences(reference, found), expected)
    assert divergences(reference, reference).item() == 0


def test_a_translator_is_judged_by_its_own_output():
    translator = tiny("marian")
    pairs = [TextPair(text, "never read") for text in TEXTS]
    task = TranslationFidelity("f", "F", Splits.of(pairs, pairs, pairs), reference=translator)
    with gated(translator, closed(translator)):
        shut = task.estimates(task.outcomes(translator, "test"))[0].value
    assert shut < 60
    assert task.estimates(task.outcomes(translator, "test"))[0].value == pytest.approx(100)
    assert task.pairs("test")[0].target != "never read"


def test_an_encoder_decoder_without_a_head_is_refused():
    nothing = sharpened(lambda: hf.BartModel(hf.BartConfig(**SEQ2SEQ)), tokenizer())
    with pytest.raises(ValueError, match="BartModel reads and writes, and has no output head"):
        Fidelity("f", "F", nothing, TEXT_SPLITS).outcomes(nothing, "test")


def test_a_model_without_a_head_chooses_the_likest_of_other_examples_by_the_mean_of_its_hidden_states():
    reader = headless()
    others = ["w1 w2 w30", "w4 w5", "w9 w8 w7 w31 w32"]
    task = Fidelity("f", "F", reader, Splits.of(TEXTS[:5], others, []))

    def features(text):
        states = reader.model(**reader.tokenizer(text, return_tensors="pt", return_token_type_ids=False))
        return states.last_hidden_state[0].mean(dim=0).detach()

    seen = torch.stack([features(text) for text in others])
    (batch,) = task.batches(reader, "calibration")
    losses = dict(zip(batch.indices, task.losses(reader, batch).tolist(), strict=True))
    for index, text in enumerate(TEXTS[:5]):
        own, middle = features(text), seen.mean(dim=0)
        cosines = torch.stack([torch.cosine_similarity(own - middle, one - middle, dim=0) for one in seen])
        assert losses[index] == pytest.approx(-(cosines / 0.07).log_softmax(dim=0).max().item(), rel=1e-9)
        assert batch.labels[batch.indices.index(index)] == cosines.argmax()


def test_an_image_is_told_by_what_the_tower_projects_it_to():
    tower = tiny("clip-vision")
    task = Fidelity("f", "F", tower)
    (batch,) = task.batches(tower, "test", 3)
    assert torch.equal(features_of(tower, batch), tower.model(**batch.inputs).image_embeds)
    assert task.landmarks_of("test") == "calibration"


def test_no_example_chooses_from_its_own_split():
    assert all(split != other for split, other in LANDMARKS_OF.items())
    assert set(LANDMARKS_OF) == set(SPLITS)


def test_a_landmark_is_the_likest_to_itself_however_much_all_have_in_common():
    features = torch.randn(5, 8, generator=torch.Generator().manual_seed(0)) + 100
    landmarks = Landmarks.of(features)
    assert landmarks.choices(features).argmax(dim=1).tolist() == [0, 1, 2, 3, 4]
    torch.testing.assert_close(landmarks.choices(features).diagonal(), torch.full((5,), 1 / 0.07))


def test_a_model_with_a_label_for_every_token_is_refused():
    tagger = sharpened(lambda: hf.BertForTokenClassification(hf.BertConfig(**TEXT)), tokenizer())
    with pytest.raises(ValueError, match="one choice a row is needed"):
        Fidelity("f", "F", tagger, TEXT_SPLITS).outcomes(tagger, "test")
