"""A trained model, pruned and exported, translates elsewhere as the masked one translates here."""

from __future__ import annotations

from pathlib import Path

import pytest

from headscope.models.gating import gated
from headscope.models.loading.loader import load
from headscope.pruning.export.exporter import export, read_record
from headscope.pruning.masks import HeadMask
from tests import fresh

CONTINUE = """
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
inputs = tokenizer(["The old teacher"], return_tensors="pt")
tokens = model.float().generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=12, pad_token_id=0)
print(tokens[0].tolist())
"""
SENTENCE = "The old teacher does not know the answer because the letter has not arrived."
HEADS = "encoder.0.1 encoder.0.2 encoder.3.4 decoder.0.0 cross.0.6"
TRANSLATE = f"""
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(folder)
inputs = tokenizer([{SENTENCE!r}], return_tensors="pt")
tokens = model.float().generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=40)
print(tokenizer.batch_decode(tokens, skip_special_tokens=True)[0])
"""


@pytest.mark.parametrize("form", ["stock", "standalone"])
def test_an_exported_translator_translates_as_its_mask(form: str, tmp_path: Path) -> None:
    head_model = load("translator", device="cpu")
    mask = HeadMask.of(head_model.grid, HEADS)
    proof = export(head_model, mask, tmp_path / "out", form)
    assert proof.equal
    inputs = head_model.tokenizer([SENTENCE], return_tensors="pt")
    with gated(head_model, mask.as_gates()):
        tokens = head_model.model.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=40)
    expected = head_model.tokenizer.batch_decode(tokens, skip_special_tokens=True)[0]
    code = f"folder = {str(tmp_path / 'out')!r}\n{read_record(tmp_path / 'out')['snippet']}\n{TRANSLATE}"
    run = fresh.run(cwd=tmp_path, code=code)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == expected
    assert "Lehrer" in expected


def test_an_architecture_of_our_own_goes_with_its_code(tmp_path: Path) -> None:
    head_model = load("all-attention-writer", device="cpu")
    mask = HeadMask(head_model.grid, frozenset(head_model.grid.layer("decoder", 0)[:5]))
    assert export(head_model, mask, tmp_path / "out", "standalone").equal
    inputs = head_model.tokenizer(["The old teacher"], return_tensors="pt")
    with gated(head_model, mask.as_gates()):
        tokens = head_model.model.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=12, pad_token_id=0)
    code = f"folder = {str(tmp_path / 'out')!r}\n{read_record(tmp_path / 'out')['snippet']}\n{CONTINUE}"
    run = fresh.run(cwd=tmp_path, code=code)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(tokens[0].tolist())
    with pytest.raises(ValueError, match="AllAttentionForCausalLM is no architecture of transformers"):
        export(head_model, mask, tmp_path / "stock", "stock")
