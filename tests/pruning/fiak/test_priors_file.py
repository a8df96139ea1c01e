from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from headscope.pruning.fiak.layers import PriorLayer
from headscope.pruning.fiak.priors_file import layers_in, read_priors, write_priors
from headscope.pruning.fiak.selection import KeptLayer

LAYER = PriorLayer("encoder", 3, "core", (0, 4), (0, 1), 8, 5, 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of one layer whose first head has lost its second key."""
    keys = torch.ones(2, 5, dtype=torch.bool)
    keys[0, 1] = False
    priors = torch.randn(2, 5, 5, generator=torch.Generator().manual_seed(0))
    write_priors(
        tmp_path / "priors.npz", [LAYER], {"encoder.3": priors}, {"encoder.3": KeptLayer.of_keys(keys, LAYER.visible())}
    )
    return tmp_path / "priors.npz"


def test_what_is_written_is_read(path: Path) -> None:
    priors, scores, keys = read_priors(path, "encoder.3")
    assert layers_in(path) == ["encoder.3"]
    assert (priors >= 0).all()
    assert (int(scores.sum()), keys[0].tolist()) == (45, [True, False, True, True, True])


def test_another_layer_is_refused_with_those_there_are(path: Path) -> None:
    with pytest.raises(KeyError, match=r"no layer 'encoder.4'; there are encoder.3"):
        read_priors(path, "encoder.4")


@pytest.mark.parametrize("left", [0, 1, 60, 300, -30])
def test_a_file_that_was_cut_off_is_one_sentence_with_its_name(path: Path, left: int) -> None:
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(ValueError, match=r"priors\.npz is no file of priors, or was cut off or altered"):
        read_priors(path, "encoder.3")


def test_an_altered_file_is_one_sentence_wherever_it_was_altered(path: Path) -> None:
    whole = path.read_bytes()
    before = [part.tobytes() for part in read_priors(path, "encoder.3")]
    refused = 0
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            found = [part.tobytes() for part in read_priors(path, "encoder.3")]
        except ValueError as error:
            refused += "priors.npz is no file of priors" in str(error)
        except KeyError as error:  # the name of the layer itself was altered
            assert "no layer 'encoder.3'" in str(error)
        else:
            assert found == before
    assert refused > 50


def test_other_files_are_refused_by_name_and_missing_ones_as_missing(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.ones(3))
    for name in ("one.npy", "text.npz"):
        (tmp_path / "text.npz").write_text("nothing of this kind")
        with pytest.raises(ValueError, match=f"{name} is no file of priors"):
            layers_in(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        layers_in(tmp_path / "none.npz")
