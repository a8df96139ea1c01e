"""Removes heads from a BERT classifier with another project's tool, in the environment of that tool.

Run by benchmarks/peers.py as `python benchmarks/peer.py NAME FOLDER`; needs torch, transformers and the tool alone.
Reads task.json (configuration, heads by layer, tokens, rounds) and weights.pt from the folder and writes answer.json:
the logits, the seconds that the removal took, and how many times faster the smaller model is than the dense one.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification


def main(name: str, folder: Path) -> None:
    """Write the answer of one tool."""
    torch.set_num_threads(1)
    task = json.loads((folder / "task.json").read_text())
    model = BertForSequenceClassification(BertConfig(**task["config"])).eval()
    model.load_state_dict(torch.load(folder / "weights.pt"))
    dense = copy.deepcopy(model)
    inputs = {
        "input_ids": torch.tensor(task["tokens"]),
        "attention_mask": torch.ones_like(torch.tensor(task["tokens"])),
    }
    started = time.perf_counter()
    TOOLS[name](model, {int(layer): heads for layer, heads in task["heads"].items()}, inputs)
    seconds = time.perf_counter() - started
    with torch.inference_mode():
        logits = model(**inputs).logits.tolist()
    answer = {"logits": logits, "seconds": seconds, "parameters": sum(one.numel() for one in model.parameters())}
    answer["speedups"] = [measured(dense, inputs) / measured(model, inputs) for _ in range(task["rounds"])]
    (folder / "answer.json").write_text(json.dumps(answer))


def measured(model: nn.Module, inputs: dict[str, Tensor]) -> float:
    """Processor seconds of one pass."""
    with torch.inference_mode():
        started = time.process_time()
        model(**inputs)
        return time.process_time() - started


def torch_pruning(model: nn.Module, heads: dict[int, list[int]], inputs: dict[str, Tensor]) -> None:
    """As its examples for transformers do it; which heads go is said by scores, and sizes are mended afterwards."""
    import torch_pruning as tp

    layers = [layer.attention.self for layer in model.bert.encoder.layer]
    width = layers[0].attention_head_size
    gone = {
        projection: {head * width + column for head in heads[number] for column in range(width)}
        for number, layer in enumerate(layers)
        for projection in (layer.query, layer.key, layer.value)
    }

    class Chosen(tp.importance.Importance):
        """Nothing for what shall go, one for everything else."""

        def __call__(self, group: object, **_: object) -> Tensor | None:
            for dependency, indices in group:
                if dependency.target.module in gone and dependency.handler == tp.prune_linear_out_channels:
                    return torch.tensor([float(index not in gone[dependency.target.module]) for index in indices])
            return None

    ratio = len(heads[0]) / layers[0].num_attention_heads
    pruner = tp.pruner.BasePruner(
        model,
        inputs,
        importance=Chosen(),
        pruning_ratio=ratio,  # at 0 no head goes either; what has no score stays in any case
        head_pruning_ratio=ratio,
        prune_num_heads=True,
        prune_head_dims=False,
        num_heads=dict.fromkeys(gone, layers[0].num_attention_heads),
        ignored_layers=[model.classifier],
        output_transform=lambda output: output.logits.sum(),
    )
    pruner.step()
    for layer in layers:
        layer.num_attention_heads = pruner.num_heads[layer.query]
        layer.all_head_size = layer.num_attention_heads * width


def textpruner(model: nn.Module, heads: dict[int, list[int]], inputs: dict[str, Tensor]) -> None:
    """By a mask of heads, which is one of its own ways."""
    from textpruner import GeneralConfig, TransformerPruner, TransformerPruningConfig

    del inputs
    config = model.config
    mask = torch.ones(config.num_hidden_layers, config.num_attention_heads)
    for layer, gone in heads.items():
        mask[layer, gone] = 0
    with tempfile.TemporaryDirectory() as folder:
        pruner = TransformerPruner(
            model,
            transformer_pruning_config=TransformerPruningConfig(pruning_method="masks"),
            general_config=GeneralConfig(use_device="cpu", output_dir=folder),
        )
        pruner.prune(head_mask=mask, save_model=False)


TOOLS = {"torch-pruning": torch_pruning, "textpruner": textpruner}

if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
