"""What a server does not take: too much of anything, and in a demo anything but specimens."""

from __future__ import annotations

from pathlib import Path

import pytest

from headscope.runs import client
from headscope.runs.client import run_here, submit
from headscope.runs.execution.execute import execute
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.process import Identity
from headscope.runs.kinds.attention import AttentionQuery
from headscope.runs.kinds.dynamics import DynamicsRun
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.kinds.methods import MethodsQuery, code_mark
from headscope.runs.kinds.roles import RolesRun
from headscope.runs.policy import uploads
from headscope.runs.policy.limits import SETTINGS, TEXT, demo
from headscope.runs.policy.visitor_store import VisitorStore
from headscope.runs.run import CANCELLED, DONE, FAILED, QUERY, QUEUED
from headscope.runs.store import Store
from tests.runs.counting import Counting

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(client, "supervise", lambda _: None)  # no worker starts: what waits goes on waiting
    return tmp_path


def test_a_setting_is_a_whole_number_from_1_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("0", "-1", "many", "1.5", "10000000000", "²"):
        monkeypatch.setenv(TEXT.variable, given)
        with pytest.raises(ValueError, match=r"HEADSCOPE_MAX_TEXT is .*; allowed is a whole number from 1"):
            _ = TEXT.value
    monkeypatch.setenv(TEXT.variable, "7")
    assert TEXT.value == 7
    monkeypatch.setenv(TEXT.variable, "")
    assert TEXT.value == TEXT.default


def test_every_setting_is_documented_with_its_default() -> None:
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    for setting in SETTINGS:
        assert f"| `{setting.variable}` | {setting.default} | {setting.about}" in text


def test_an_upload_may_have_its_size_and_not_a_byte_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_MAX_UPLOAD_MB", "1")
    assert uploads.keep("rows.csv", b"a" * 2**20)
    with pytest.raises(ValueError, match=r"rows.csv has 1.0 MB; at most 1 are allowed here"):
        uploads.keep("rows.csv", b"a" * (2**20 + 1))
    with pytest.raises(ValueError, match=r"^a\ufffdb.csv has 1.0 MB"):
        uploads.keep("a\nb.csv", b"a" * (2**20 + 1))


@pytest.mark.parametrize("field", ["text", "pair"])
def test_a_text_may_have_its_length_and_not_a_letter_more(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    monkeypatch.setenv("HEADSCOPE_MAX_TEXT", "5")
    submit(Store(), AttentionQuery("reader", **{field: "12345"}))
    with pytest.raises(ValueError, match="a text of 6 characters; at most 5 are allowed here"):
        submit(Store(), AttentionQuery("reader", **{field: "123456"}))


def test_a_user_has_so_many_runs_under_way_and_others_have_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_MAX_JOBS", "2")
    ada, bob = Store(owner="ada"), Store(owner="bob")
    first = submit(ada, Counting("looker", to=1))
    submit(ada, Counting("looker", to=2))
    with pytest.raises(ValueError, match="2 of your runs wait or run already"):
        submit(ada, Counting("looker", to=3))
    assert submit(ada, Counting("looker", to=1)) == first, "what was asked for before is no new run"
    submit(bob, Counting("looker", to=3))
    ada.end(first.id, DONE, result={})
    submit(ada, Counting("looker", to=3))


def test_who_cancels_and_asks_for_more_does_not_resume_more_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_MAX_JOBS", "2")
    ada = VisitorStore(owner="ada")
    runs = []
    for to in range(1, 5):
        runs.append(submit(ada, Counting("looker", to=to)))
        ada.cancel(runs[-1].id)
    for run in runs[:2]:
        ada.resume(run.id)
    ada.resume(runs[0].id)  # which waits already, and is no new one
    for run in runs[2:]:
        with pytest.raises(ValueError, match="2 of your runs wait or run already"):
            ada.resume(run.id)
    assert [ada.get(run.id).state for run in runs] == [QUEUED, QUEUED, CANCELLED, CANCELLED]
    Store().resume(runs[3].id)
    assert ada.get(runs[3].id).state == QUEUED, "a shell is not limited"


def test_a_question_that_failed_is_not_asked_anew_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_MAX_JOBS", "1")
    failed = submit(Store(), Counting("looker", serve=QUERY))
    Store().end(failed.id, FAILED, "for a test")
    submit(Store(), Counting("looker", to=2))
    with pytest.raises(ValueError, match="1 of your runs wait or run already"):
        submit(Store(), Counting("looker", serve=QUERY))


def test_the_queue_has_a_length_for_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_MAX_QUEUE", "2")
    for name in ("ada", "bob"):
        submit(Store(owner=name), Counting("looker"))
    with pytest.raises(ValueError, match="2 runs wait or run already, which is the most allowed here"):
        submit(Store(owner="eve"), Counting("looker"))
    assert len(Store().runs()) == 2


def test_a_shell_is_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_MAX_JOBS", "1")
    submit(Store(), Counting("looker"))
    assert run_here(Store(), Counting("looker", to=2)).state == DONE


@pytest.fixture
def in_demo(monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("HEADSCOPE_DEMO", "1")
    return Store()


def test_a_demo_is_on_or_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADSCOPE_DEMO", raising=False)
    assert not demo()
    monkeypatch.setenv("HEADSCOPE_DEMO", "yes")
    with pytest.raises(ValueError, match="HEADSCOPE_DEMO is 'yes'; allowed is 0 or 1"):
        demo()


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Counting("openai-community/gpt2"), "shows its own models only"),
        (Counting(str(ROOT / "headscope" / "specimens" / "looker")), "shows its own models only"),
        (Counting("../looker"), "shows its own models only"),
        (DynamicsRun("looker", checkpoints=["looker", "/elsewhere"]), "shows its own models only"),
        (EvaluationRun("reader", data=__file__), "takes no data of your own"),
        (EvaluationRun("reader", data="hub:glue:mnli"), "takes no data of your own"),
        (RolesRun("reader", parser="en_core_web_sm"), "takes no parser"),
    ],
    ids=lambda one: one if isinstance(one, str) else f"{one.key}-{one.model[-12:]}",
)
def test_a_demo_takes_specimens_only_from_a_page_a_shell_or_a_lookup(
    in_demo: Store, kind: object, sentence: str
) -> None:
    for ask in (submit, run_here, lambda store, kind: kind.as_run(store.folder)):
        with pytest.raises(ValueError, match=sentence):
            ask(in_demo, kind)
    assert in_demo.runs() == []


def test_a_demo_takes_specimens(in_demo: Store) -> None:
    assert run_here(in_demo, Counting("looker")).state == DONE


def test_a_demo_takes_no_upload_and_opens_no_file(in_demo: Store) -> None:
    with pytest.raises(ValueError, match="takes no data of your own"):
        uploads.keep("rows.csv", b"text\nfirst")
    with pytest.raises(ValueError, match="takes no data of your own"):
        uploads.path_of(__file__)
    assert not (in_demo.folder / "uploads").exists()


def test_in_a_demo_nobody_takes_away_or_renames_what_all_share(in_demo: Store) -> None:
    run = run_here(in_demo, Counting("looker"))
    visitor = VisitorStore(in_demo.folder)
    assert visitor.shared
    for change in (lambda: visitor.rename(run.id, "x"), lambda: visitor.delete(run.id), lambda: visitor.prune(0)):
        with pytest.raises(ValueError, match="this is a demo, whose runs all visitors share; none is"):
            change()
    assert in_demo.get(run.id) == run
    assert run.folder.exists()
    answer = run_here(in_demo, MethodsQuery("", code_mark()))
    visitor.delete(answer.id)  # the page asks for it anew
    in_demo.delete(run.id)  # by a shell
    assert in_demo.runs() == []


def test_who_signs_in_to_a_demo_has_runs_of_their_own_to_change(in_demo: Store) -> None:
    ada = VisitorStore(in_demo.folder, "ada")
    run = submit(ada, Counting("looker"))
    ada.rename(run.id, "mine")
    ada.cancel(run.id)
    ada.delete(run.id)
    assert ada.runs() == []


def test_a_run_that_was_asked_for_before_the_demo_is_not_taken_up_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    run = submit(store, Counting("a"))
    monkeypatch.setenv("HEADSCOPE_DEMO", "1")
    execute(store, store.claim_one(run.id, Identity.own()), ModelCache())
    assert store.get(run.id).state == FAILED
    assert "shows its own models only" in store.get(run.id).message
