"""Digits: fixed splits that share no image, and images in the shape a model looks at."""

import pytest
import torch
from sklearn.datasets import load_digits
from transformers import ViTImageProcessor

from headscope.models.head_model import HeadModel
from headscope.tasks.vision import DIGIT_SIZES, Digits, digit_split, pixel_values
from tests.tasks.tiny import tiny

TASK = Digits("d", "D")


@pytest.fixture
def looker():
    head_model = tiny("vit")
    head_model.model.config.id2label = {number: str(number) for number in range(10)}
    head_model.model.classifier = torch.nn.Linear(head_model.model.classifier.in_features, 10).double()
    return head_model


def test_the_splits_are_all_the_digits_once():
    images = torch.cat([digit_split(split)[0] for split in DIGIT_SIZES])
    digits = torch.cat([digit_split(split)[1] for split in DIGIT_SIZES])
    whole = load_digits()
    found = sorted((int(digit), image.flatten().tolist()) for digit, image in zip(digits, images, strict=True))
    expected = [(int(d), (i / 8 - 1).flatten().tolist()) for d, i in zip(whole.target, whole.images, strict=True)]
    assert found == sorted(expected)


def test_a_split_is_the_same_every_time_and_holds_every_digit():
    for split, size in DIGIT_SIZES.items():
        images, digits = digit_split(split)
        assert torch.equal(images, digit_split(split)[0])
        assert len(digits) == size and set(digits.tolist()) == set(range(10))


def test_a_model_of_one_order_has_the_shares_of_its_first_and_first_five_digits(looker):
    torch.nn.init.zeros_(looker.model.classifier.weight)
    with torch.no_grad():
        looker.model.classifier.bias.copy_(-torch.arange(10.0))
    digits = digit_split("test")[1]
    top_1, top_5 = TASK.estimates(TASK.outcomes(looker, "test"))
    assert top_1.value == pytest.approx(float((digits == 0).double().mean()))
    assert top_5.value == pytest.approx(float((digits < 5).double().mean()))


def test_labels_by_another_order_are_followed(looker):
    plain = TASK.estimates(TASK.outcomes(looker, "test", 50))[0].value
    order = list(range(9, -1, -1))
    looker.model.config.id2label = {number: str(order[number]) for number in range(10)}
    with torch.no_grad():
        looker.model.classifier.weight.copy_(looker.model.classifier.weight[order])
        looker.model.classifier.bias.copy_(looker.model.classifier.bias[order])
    assert TASK.estimates(TASK.outcomes(looker, "test", 50))[0].value == plain


def test_images_of_the_models_shape_are_left_alone_and_others_are_stretched(looker):
    images = digit_split("test")[0][:2]
    assert looker.model.config.num_channels == 3
    torch.testing.assert_close(pixel_values(looker, images), images.expand(-1, 3, -1, -1))
    looker.model.config.num_channels = 1
    assert pixel_values(looker, images) is images


def test_a_models_own_processor_is_used(looker):
    processor = ViTImageProcessor(size={"height": 8, "width": 8}, image_mean=[0.0] * 3, image_std=[1.0] * 3)
    images = digit_split("test")[0][:2]
    found = pixel_values(HeadModel.of(looker.model, processor), images)
    torch.testing.assert_close(found, ((images + 1) / 2).expand(-1, 3, -1, -1), atol=1 / 255, rtol=0)


def test_other_splits_and_labels_are_refused(looker):
    with pytest.raises(ValueError, match="no split 'dev' of the digits"):
        digit_split("dev")
    with pytest.raises(ValueError, match="no split 'train'; there are calibration"):
        TASK.outcomes(looker, "train")
    with pytest.raises(ValueError, match=r"the labels of .* are 'LABEL_0', 'LABEL_1'"):
        TASK.outcomes(tiny("vit"), "test")


def test_training_sees_all_training_images_moved_otherwise_in_every_round(looker):
    rounds = [TASK.training_rows(looker, seed, number) for seed, number in ((0, 0), (0, 0), (0, 1), (1, 0))]
    labels = digit_split("train")[1].tolist()
    assert all([row.labels for row in rows] == labels for rows in rounds)
    pixels = [torch.stack([row.inputs["pixel_values"] for row in rows[:20]]) for rows in rounds]
    assert torch.equal(pixels[0], pixels[1])
    assert not torch.equal(pixels[0], pixels[2]) and not torch.equal(pixels[0], pixels[3])
    still = pixel_values(looker, digit_split("train")[0][:20])
    moves = [float((one - still).abs().mean()) for one in pixels]
    assert all(0.01 < move < 0.5 for move in moves)
