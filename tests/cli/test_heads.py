from __future__ import annotations

import pytest

from tests.cli.conftest import Run


def test_heads_as_json_keeps_its_shape(folder: str, recorded: Run) -> None:
    banks = [{"bank": bank, "layers": 3, "heads": [4, 4, 4]} for bank in ("encoder", "decoder", "cross")]
    assert recorded("heads", folder) == {"model": folder, "heads": 36, "banks": banks}


def test_heads_prints_the_grid(folder: str, printed: Run) -> None:
    shown = printed("heads", folder)
    assert "36 heads (encoder 3 x 4, decoder 3 x 4, cross 3 x 4)" in shown
    assert shown.count("layer  2  0  1  2  3") == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/no/such/folder"], "no folder /no/such/folder"),
        (["FOLDER", "--dtype", "float8"], "float8"),
        (["FOLDER", "--device", "abacus"], "abacus"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_one_sentence(
    folder: str, refused: Run, arguments: list[str], message: str
) -> None:
    assert message in refused("heads", *[folder if one == "FOLDER" else one for one in arguments])
