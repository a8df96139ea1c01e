"""Images: patches stand where the grid says, and the picture is what the model sees."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope.analysis.attention.example import Example, inputs_of
from headscope.analysis.attention.example_run import see
from headscope.specimens.shipped import load
from headscope.tasks.vision import digit_split
from tests.tasks.tiny import tiny


def test_a_pixel_reaches_the_token_of_its_patch_and_no_other():
    looker = load("looker")
    picture = see(looker, Example(image=0)).picture
    image = inputs_of(looker, Example(image=0))["pixel_values"]
    changed = image.clone()
    changed[0, 0, 5, 2] += 1.0  # third row and second column of patches of 2 x 2 pixels
    embeddings = looker.model.vit.embeddings
    with torch.no_grad():
        differs = (embeddings(image) != embeddings(changed)).any(-1)[0].nonzero().flatten().tolist()
    assert (picture.rows, picture.columns, picture.n_before) == (4, 4, 1)
    assert differs == [picture.n_before + 2 * picture.columns + 1]
    names = see(looker, Example(image=0)).bank("encoder").keys
    assert names[0] == "[CLS]" and names[differs[0]] == "3,2"


def test_pixels_run_from_paper_to_ink():
    images, _ = digit_split("test")
    pixels = see(load("looker"), Example(image=11)).picture.pixels
    ink = (images[11, 0].numpy() + 1) / 2
    assert pixels.dtype == np.float32 and pixels.min() == 0 and pixels.max() == 1
    np.testing.assert_allclose(pixels, (ink - ink.min()) / (ink.max() - ink.min()), atol=1e-6)


@pytest.mark.parametrize(("name", "n_before"), [("vit", 1), ("deit", 2), ("clip-vision", 1)])
def test_tokens_before_the_patches_are_counted(name, n_before):
    seen = see(tiny(name), Example(image=0))
    assert (seen.picture.rows, seen.picture.columns, seen.picture.n_before) == (2, 2, n_before)
    assert seen.picture.has_class_token
    assert seen.bank("encoder").queries == (*("[CLS]", "[extra]")[:n_before], "1,1", "1,2", "2,1", "2,2")


def test_a_text_has_no_picture():
    assert see(tiny("bert"), Example("w1")).picture is None
