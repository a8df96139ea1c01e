from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sacrebleu.metrics.chrf import CHRF

from headscope.models.gating import gated
from headscope.models.heads import HeadId
from headscope.models.loading.loader import load
from headscope.pruning.evaluation.error_analysis import what_breaks
from headscope.pruning.evaluation.example_groups import CONSTRUCTIONS, by_construction, by_rarity, groups, word_counts
from headscope.pruning.evaluation.example_results import answers, shown
from headscope.pruning.masks import HeadMask
from headscope.tasks.classification import Classification, LabelledText
from headscope.tasks.fidelity import Fidelity
from headscope.tasks.grammar import sentences
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.task import Outcomes, Splits
from headscope.tasks.task_catalog import task
from headscope.tasks.translation import TextPair, Translation
from headscope.tasks.vision import digit_split
from tests.tasks.sounds import listener, spoken
from tests.tasks.tiny import TEXTS, tiny

LABELS = ["LABEL_0", "LABEL_1"]


def outcomes(key: str, **columns: list) -> Outcomes:  # type: ignore[type-arg]
    n = len(next(iter(columns.values())))
    return Outcomes(key, "development", np.arange(n), {name: np.array(column) for name, column in columns.items()})


def classification() -> Classification:
    examples = [LabelledText(text, LABELS[number % 2], f"pair {number}") for number, text in enumerate(TEXTS)]
    return Classification("own", "Own", Splits.of(examples[:10], examples[10:16], examples[16:]))


def test_flips_are_found_ranked_and_told_apart() -> None:
    gold = [0, 1, 0, 1, 0, 1]
    #          lost  same  won  same(wrong)  same  lost
    first = outcomes("own", predicted=[0, 1, 1, 0, 0, 1], gold=gold)
    second = outcomes("own", predicted=[1, 1, 0, 0, 0, 0], gold=gold)
    found = what_breaks(classification(), tiny("bert"), first, second)
    assert [(one.index, one.kind, one.harm) for one in found.examples] == [
        (0, "lost", 1),
        (5, "lost", 1),
        (2, "won", -1),
    ]
    assert found.counts == {"lost": 2, "won": 1, "same": 3}
    worst = found.examples[0]
    assert (worst.before.said, worst.after.said, worst.shown.label) == ("LABEL_0", "LABEL_1", "LABEL_0")
    assert (worst.shown.text, worst.shown.pair) == (TEXTS[10], "pair 10")
    assert found.whole.before.value == 4 / 6
    assert found.whole.after.value == 3 / 6
    assert found.whole.change.difference == pytest.approx(-1 / 6)


def test_a_choice_between_two_wrong_labels_has_changed() -> None:
    first = outcomes("own", predicted=[1, 0], gold=[0, 0])
    second = outcomes("own", predicted=[2, 0], gold=[0, 0])
    found = what_breaks(classification(), tiny("bert"), first, second)
    assert [(one.kind, one.before.said, one.after.said) for one in found.examples] == [("changed", "LABEL_1", "2")]


def test_every_label_is_a_bucket_with_the_metric_of_its_own_examples() -> None:
    gold = [0, 1, 0, 1, 0, 1]
    first = outcomes("own", predicted=[0, 1, 1, 0, 0, 1], gold=gold)
    second = outcomes("own", predicted=[1, 1, 0, 0, 0, 0], gold=gold)
    found = {one.name: one for one in what_breaks(classification(), tiny("bert"), first, second).buckets}
    assert {name: (one.before.n, one.before.value, one.after.value) for name, one in found.items()} == {
        "LABEL_0": (3, 2 / 3, 2 / 3),
        "LABEL_1": (3, 2 / 3, 1 / 3),
    }
    assert found["LABEL_1"].before.low < 2 / 3 < found["LABEL_1"].before.high


def test_images_are_ranked_by_the_fall_of_the_right_digit_and_come_with_their_pixels() -> None:
    head_model, judge = load("looker"), task("digits")
    first = judge.outcomes(head_model, "development", 100)
    with gated(head_model, HeadMask(head_model.grid, frozenset(head_model.grid.layer("encoder", 0))).as_gates()):
        second = judge.outcomes(head_model, "development", 100)
    found = what_breaks(judge, head_model, first, second, most=100)
    before, after = first["scores"].argmax(1), second["scores"].argmax(1)
    assert {one.index for one in found.examples} == set(np.flatnonzero(before != after).tolist()) != set()
    lost = [one for one in found.examples if one.kind == "lost"]
    assert [one.harm for one in lost] == sorted((one.harm for one in lost), reverse=True)
    assert lost == list(found.examples[: len(lost)])
    for one in lost:
        scores = second["scores"][one.index]
        chance = np.exp(scores[int(one.shown.label or "")]) / np.exp(scores).sum()
        assert one.after.score == pytest.approx(chance)
        assert (one.before.said, one.after.said) == (one.shown.label, str(scores.argmax()))
        assert np.array(one.shown.image).shape == (8, 8)


def test_language_is_ranked_by_the_rise_of_the_loss_of_a_token() -> None:
    head_model = tiny("gpt2")
    judge = LanguageModelling("own", "Own", Splits.of(TEXTS[:8], TEXTS[8:16], TEXTS[16:]))
    first = judge.outcomes(head_model, "development")
    second = replace(first, columns={**first.columns, "nll": first["nll"] + np.array([0, 3, -1, 9, 0, 2, 2, 2.0])})
    found = what_breaks(judge, head_model, first, second, most=3)
    rises = np.array([0, 3, -1, 9, 0, 2, 2, 2]) / first["n_tokens"] / np.log(2)
    expected = sorted(range(8), key=lambda place: (-rises[place], place))[:3]
    assert [one.index for one in found.examples] == expected
    assert [one.harm for one in found.examples] == pytest.approx([rises[place] for place in expected])
    assert found.counts == {"worse": 5, "better": 1, "same": 2}
    assert found.examples[0].shown.text == TEXTS[8 + expected[0]]
    assert found.buckets == ()


def test_sentences_are_ranked_by_the_fall_of_their_own_chrf() -> None:
    pairs = [TextPair(f"source w{number}", f"das Haus {number} ist rot und alt") for number in range(4)]
    judge = Translation("own", "Own", Splits.of(pairs, pairs, pairs))
    wanted = [pair.target for pair in pairs]
    written = [wanted[0], "das Haus", wanted[2], "ganz anders"]
    first = outcomes("own", hypothesis=wanted, reference=wanted)
    second = outcomes("own", hypothesis=written, reference=wanted)
    found = what_breaks(judge, tiny("marian"), first, second)
    literal = [CHRF().sentence_score(text, [target]).score for text, target in zip(written, wanted, strict=True)]
    assert [one.index for one in found.examples] == [3, 1]
    assert [one.after.score for one in found.examples] == pytest.approx([literal[3], literal[1]])
    assert [one.before.score for one in found.examples] == pytest.approx([100, 100])
    assert (found.examples[0].after.said, found.examples[0].shown.reference) == ("ganz anders", wanted[3])
    assert found.examples[0].shown.text == "source w3"


def test_fidelity_tells_what_was_chosen_and_how_far_it_drifted() -> None:
    head_model = tiny("gpt2")
    judge = Fidelity("own", "Own", head_model, Splits.of(TEXTS[:8], TEXTS[8:16], TEXTS[16:]))
    first = judge.outcomes(head_model, "development")
    with gated(head_model, HeadMask(head_model.grid, frozenset(head_model.grid.layer("decoder", 1))).as_gates()):
        second = judge.outcomes(head_model, "development")
    found = what_breaks(judge, head_model, first, second)
    flips = np.flatnonzero(second["predicted"] != second["reference"])
    assert sorted(one.index for one in found.examples) == flips.tolist() != []
    assert found.counts["lost"] == len(flips)
    assert all(one.before.said == one.shown.reference != one.after.said for one in found.examples)
    assert all(one.shown.text == TEXTS[8 + one.index] for one in found.examples)
    assert [one.harm for one in found.examples] == pytest.approx(sorted(second["kl"][flips], reverse=True), abs=1e-9)


def test_fidelity_on_images_shows_the_images() -> None:
    head_model = load("looker")
    judge = Fidelity("digit-fidelity", "Fidelity on digits", head_model)
    first = judge.outcomes(head_model, "development", 30)
    with gated(head_model, HeadMask(head_model.grid, frozenset(head_model.grid.layer("encoder", 0))).as_gates()):
        second = judge.outcomes(head_model, "development", 30)
    found = what_breaks(judge, head_model, first, second)
    assert found.examples
    images, _ = digit_split("development")
    for one in found.examples:
        assert np.array_equal(np.array(one.shown.image), images[one.index, 0].numpy())
        assert one.shown.reference == str(int(second["reference"][one.index])) == one.before.said


def test_a_model_of_features_says_which_example_is_the_likest() -> None:
    tower = tiny("clip-vision")
    judge = Fidelity("digit-fidelity", "Fidelity on digits", tower)
    first = judge.outcomes(tower, "development", 12)
    with gated(tower, HeadMask(tower.grid, frozenset(tower.grid)).as_gates()):
        second = judge.outcomes(tower, "development", 12)
    found = what_breaks(judge, tower, first, second).examples[0]
    assert found.before.said == f"like example {first['predicted'][found.index] + 1} of calibration"
    assert found.after.said == f"like example {second['predicted'][found.index] + 1} of calibration"
    assert found.shown.reference == found.before.said


def test_speech_is_told_in_bits_and_by_its_transcript() -> None:
    ear, judge = listener(), spoken()
    seen = judge.outcomes(ear, "test", 3)
    told = answers(judge, ear, seen)
    assert told.scores.tolist() == pytest.approx((seen["nll"] / seen["n_tokens"] / np.log(2)).tolist())
    assert [one.text for one in shown(judge, ear, seen, [2, 0])] == [TEXTS[2], TEXTS[0]]


def test_the_same_mask_twice_breaks_nothing() -> None:
    first = outcomes("own", predicted=[0, 1], gold=[0, 0])
    found = what_breaks(classification(), tiny("bert"), first, first)
    assert found.examples == ()
    assert found.counts == {"same": 2}
    assert found.whole.change.p_value == 1.0


def test_outcomes_of_other_examples_are_refused() -> None:
    first = outcomes("own", predicted=[0, 1], gold=[0, 0])
    second = outcomes("own", predicted=[0, 1, 1], gold=[0, 0, 0])
    with pytest.raises(ValueError, match="a pair needs the same examples"):
        what_breaks(classification(), tiny("bert"), first, second)
    with pytest.raises(ValueError, match="0 examples to list; at least 1"):
        what_breaks(classification(), tiny("bert"), first, first, most=0)


def test_a_text_is_as_rare_as_its_rarest_word() -> None:
    counts = word_counts(["The cat saw the cat .", "the Cat ran 7 times", "the the the"])
    assert counts["the"] == 6
    assert counts["cat"] == 3
    found = by_rarity(["The the", "The cat", "the dog", "7 !"], counts)
    assert {name: members.tolist() for name, members in found.items()} == {
        "never seen": [False, False, True, False],
        "seen 1 to 4 times": [False, True, False, False],
        "seen 5 times or more": [True, False, False, True],
    }


def test_the_constructions_of_an_example_are_those_of_its_derivation() -> None:
    examples = task("translation").examples.first("development", 300)  # type: ignore[attr-defined]
    found = by_construction(examples, "development")
    derived = {}
    for sentence in sentences(20, "development"):
        derived.setdefault((sentence.english, sentence.german_text), sentence.constructions)
        if len(derived) == 400:
            break
    for place, pair in enumerate(examples):
        own = derived[pair.source, pair.target]
        assert found["verb at the end"][place] == ("verb-final" in own)
        assert found["agreement across an attractor"][place] == ("attractor" in own and "agreement" in own)
    assert all(5 < members.sum() < 300 for members in found.values())


def test_every_construction_of_the_grammar_is_in_a_group() -> None:
    stream = sentences(20, "test")
    shown = set().union(*(next(stream).constructions for _ in range(500)))
    assert shown == set().union(*CONSTRUCTIONS.values())


def test_own_translations_are_grouped_by_rare_words_of_their_own_calibration_only() -> None:
    pairs = [TextPair("common words", "x")] * 6 + [TextPair("common oddity", "x"), TextPair("common words", "x")]
    judge = Translation("mine.csv", "Mine", Splits.of(pairs[:6], pairs[6:], pairs))
    found = groups(judge, tiny("marian"), outcomes("mine.csv", hypothesis=["a", "b"], reference=["x", "x"]))
    assert list(found) == ["rarest word, in calibration"]
    assert found["rarest word, in calibration"]["never seen"].tolist() == [True, False]


def test_buckets_of_the_grammar_hold_the_bleu_of_their_own_sentences() -> None:
    judge = task("translation")
    pairs = judge.examples.first("development", 60)  # type: ignore[attr-defined]
    wanted = [pair.target for pair in pairs]
    broken = by_construction(pairs, "development")["passive"]
    written = ["nichts davon" if gone else text for text, gone in zip(wanted, broken, strict=True)]
    first, second = (outcomes("translation", hypothesis=text, reference=wanted) for text in (wanted, written))
    found = {one.name: one for one in what_breaks(judge, tiny("marian"), first, second).buckets}
    assert found["passive"].before.value == pytest.approx(100)
    assert found["passive"].after.value < 1
    assert found["passive"].before.n == broken.sum()
    assert all(one.family for one in found.values())


def test_all_is_plain_json() -> None:
    head_model, judge = load("looker"), task("digits")
    first = judge.outcomes(head_model, "development", 40)
    with gated(head_model, HeadMask(head_model.grid).prune(HeadId("encoder", 0, 0)).as_gates()):
        second = judge.outcomes(head_model, "development", 40)
    record = what_breaks(judge, head_model, first, second).to_json()
    assert json.loads(json.dumps(record)) == json.loads(json.dumps(record, default=str))
    assert set(record["whole"]) >= {"n", "before", "after", "change"}
