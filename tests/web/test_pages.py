"""Every page, run by Streamlit's own test harness on a store whose answers are there already."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headscope.runs.client import run_here
from headscope.runs.kinds.ablations import AblationsRun
from headscope.runs.kinds.attention import AttentionQuery, DrawingQuery
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.methods import MethodsQuery, code_mark
from headscope.runs.kinds.roles import RolesRun
from headscope.runs.run import DONE
from headscope.runs.store import Store
from headscope.web.page.site_map import SITE_MAP
from headscope.web.runs import requests
from tests.bad_input.mutations import check_sentence
from tests.web.parameters import parameters
from tests.web.reading import read, read_all

COMPARED = ("taylor", "wanda")
"""Methods that the Importance page asks for by itself."""

HOSTILE = (
    "../../etc/passwd",
    "<b>x</b>",
    "99999999999999999999",
    "a\0b",
    "-1",
    "²",
    "é" * 5000,
    "encoder.9.9",
    " ",
    "NaN",
)
ROOT = Path(__file__).parents[2]
PAGES = [page.file for group in SITE_MAP.values() for page in group]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which the looker was scored and looked into."""
    folder = tmp_path_factory.mktemp("store")
    store = Store(folder)
    tables = store.submit(AblationsRun("looker").as_run(folder))
    heads = [f"encoder.{place // 6}.{place % 6}" for place in range(1, 36)]
    alone = [{"head": head, "difference": -0.5, "low": -0.6, "high": -0.4, "n": 8} for head in heads]
    store.end(tables.id, DONE, result={"task": "Handwritten digits", "higher_is_better": True, "alone": alone})
    for kind in (
        FactsQuery("looker"),
        MethodsQuery("", code_mark()),
        ImportanceRun("looker"),
        ImportanceRun("looker", method="ablation", n=8),
        ImportanceRun("looker", method="confidence"),
        ImportanceRun("looker", method="metric"),
        RolesRun("looker"),
        AttentionQuery("looker", image=0),
        DrawingQuery("looker", image=0, view="model"),
    ):
        run_here(store, kind)
    return folder


@pytest.fixture
def app(answers: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("HEADSCOPE_HOME", str(answers))
    requests.store_of.clear()
    opened = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    opened.query_params["model"] = "looker"
    return opened


@pytest.mark.parametrize("page", PAGES)
def test_every_page_runs_without_an_exception_or_an_error(app: AppTest, page: str) -> None:
    app.run()
    app.switch_page(page).run()
    assert [error.value for error in app.exception] == []
    assert [error.value for error in app.error] == []
    assert "Headscope" in "".join(one.value for one in app.sidebar.get("html"))


def test_the_parameters_of_links_are_found_in_the_code() -> None:
    expected = {
        "model",
        "task",
        "data",
        "head",
        "mask",
        "run",
        "sweep",
        "text",
        "trees",
        "parser",
        "n",
        "view",
        "layer",
    }
    assert expected <= set(parameters())


@pytest.mark.parametrize("page", PAGES)
def test_a_page_makes_of_a_link_whose_every_parameter_is_broken_what_it_can_or_one_sentence(
    app: AppTest, page: str
) -> None:
    app.run()
    app.switch_page(page)
    link = {name: HOSTILE[place % len(HOSTILE)] for place, name in enumerate(parameters())} | {"model": "looker"}
    for name, value in link.items():
        app.query_params[name] = value
    app.run()
    assert [error.value for error in app.exception] == []
    for error in app.error:
        check_sentence(read(error.value))


def test_the_model_page_tells_where_its_scores_come_from(app: AppTest) -> None:
    app.run()
    shown = "".join(str(one.proto.body) for one in app.main.get("html"))
    assert "36 heads, coloured by how much the loss depends on each" in shown
    assert "Handwritten digits, calibration, 128 examples" in shown


@pytest.mark.parametrize("page", ["pages/model.py", "pages/importance.py", "pages/roles.py", "pages/dynamics.py"])
def test_the_card_of_a_head_tells_what_is_known_and_starts_nothing(app: AppTest, answers: Path, page: str) -> None:
    app.query_params["head"] = "encoder.2.3"
    app.run()
    before = {run.id for run in Store(answers).runs() if run.spec.get("method") not in COMPARED}
    app.switch_page(page)
    app.query_params["head"] = "encoder.2.3"
    app.run()
    shown = "".join(str(one.proto.body) for one in app.main.get("html"))
    assert "Encoder 2.3" in shown and "No role found." in shown and "Nearest: " in shown
    assert "Rank among 36" in shown and "Removing it alone" in shown and "8 examples" in shown
    assert "Where its strongest attention goes" in shown and "Where it looks" in shown
    after = {run.id for run in Store(answers).runs() if run.spec.get("method") not in COMPARED}
    assert after == before


def test_the_card_of_a_head_names_the_methods_that_were_not_computed(app: AppTest) -> None:
    app.run()
    app.switch_page("pages/dynamics.py")
    app.query_params["head"] = "encoder.2.3"
    app.run()
    (line,) = (str(one.proto.body) for one in app.main.get("html") if "Not computed: " in str(one.proto.body))
    assert "Shapley" in line and "Gradient" not in line and "Confidence" not in line
    assert app.button(key="quick-methods").label == "Compute the quick ones"


def test_thresholds_are_asked_by_the_link_and_told_with_whose_they_are(app: AppTest, answers: Path) -> None:
    run_here(Store(answers), RolesRun("looker", options={"broad.evenness": 0.5}))
    app.run()
    app.switch_page("pages/roles.py")
    app.query_params["role.broad.evenness"] = "0.5"
    app.run()
    shown = "".join(str(one.proto.body) for one in app.main.get("html"))
    assert "thresholds of your own" in shown
    assert app.number_input(key="role.broad.evenness").value == 0.5
    assert app.number_input(key="role.positional.share").value == 0.9


def test_roles_are_counted_among_the_heads_that_a_link_leaves(app: AppTest) -> None:
    app.query_params["mask"] = "encoder.0.0 encoder.0.1"
    app.run()
    app.switch_page("pages/roles.py")
    app.query_params["mask"] = "encoder.0.0 encoder.0.1"
    app.run()
    assert app.text_area(key="mask").value == "encoder.0.0 encoder.0.1"
    shown = "".join(str(one.proto.body) for one in app.main.get("html"))
    assert "they go by your list" in shown
    app.text_area(key="mask").set_value("encoder.9.9").run()
    assert read_all(app.error) == ["no head encoder.9.9 in this model; it has encoder 6 x 6"]


def importance_page(app: AppTest, method: str) -> str:
    """What the Importance page says under a method of the link."""
    app.run()
    app.switch_page("pages/importance.py")
    app.query_params["method"] = method
    app.run()
    return "".join(str(one.proto.body) for one in app.main.get("html"))


def test_a_method_without_its_run_leads_to_the_form_that_starts_it(app: AppTest) -> None:
    importance_page(app, "Subset gates · needs a run")
    (link,) = (one.proto for one in app.main.get("page_link") if one.proto.label == "Start one")
    assert "gates=Subset" in link.query_string
    assert "Subset gates" not in app.button_group(key="compare").options


def test_scores_of_a_run_stand_beside_the_others_without_heads_it_did_not_score(app: AppTest) -> None:
    shown = importance_page(app, "Ablation, metric · needs a run")
    assert app.selectbox(key="method").value == "metric"
    assert "1 head was not part of what that run learned: hatched, and not scored." in shown
    assert "read from run " in shown
    assert "Ablation, metric" in app.button_group(key="compare").options
    assert '<div class="hl-multiple">Ablation, metric</div>' in shown


def test_scores_that_are_not_complete_say_so_and_no_others(app: AppTest, answers: Path) -> None:
    store = Store(answers)
    known = store.get(ImportanceRun("looker").as_run(answers).id).result
    run = store.submit(ImportanceRun("looker", method="integrated-gradients").as_run(answers))
    balance = {"what all heads save": 1.0, "their scores": 0.5}
    store.end(run.id, DONE, result=known | {"notes": ["Not complete: in 2 of 3."], "balance": balance})
    shown = importance_page(app, "Integrated gradients")
    assert "Not complete: in 2 of 3." in shown
    assert "does not quite add up: 1 goes in, 0.5 comes out" in shown
    app.selectbox(key="method").set_value("gradient").run()
    assert "Not complete" not in "".join(str(one.proto.body) for one in app.main.get("html"))


@pytest.mark.parametrize(
    ("gates", "told"), [("Subset", "Differentiable subset pruning"), ("Layers", "Layer-wise pruning")]
)
def test_a_link_to_the_learn_page_says_which_gates(app: AppTest, gates: str, told: str) -> None:
    app.run()
    app.switch_page("pages/learn.py")
    app.query_params["gates"] = gates
    app.run()
    assert app.button_group(key="gates").value == gates
    assert any(told in caption.value for caption in app.main.caption)


def test_subset_gates_that_cannot_cool_well_are_told_before_they_start(app: AppTest) -> None:
    app.run()
    app.switch_page("pages/learn.py")
    app.query_params["gates"] = "Subset"
    app.run()
    assert not app.warning
    app.number_input(key="steps").set_value(20).run()
    assert "20 steps have a temperature from 10 to 0.01" in read(app.warning[0].value)
    app.number_input(key="dsp-hot").set_value(1e-9).run()
    assert "cold must be the lower temperature" in read(app.error[0].value)
    assert app.button(key="start-learning").disabled


def test_pages_load_no_torch() -> None:
    """A server that loads torch starts seconds later and shares its interpreter with heavy work."""
    code = f"""
import ast, sys
sys.path.insert(0, {str(ROOT)!r})
for page in {PAGES!r}:
    names = {{}}
    source = open(page).read()
    imports = [one for one in ast.parse(source).body if isinstance(one, ast.Import | ast.ImportFrom)]
    exec("\\n".join(map(ast.unparse, imports)), names)
assert "torch" not in sys.modules, "torch was imported"
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-500:]
