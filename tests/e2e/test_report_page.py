"""The report of `memsif report` in a real headless Chromium, opened from its file as a reader opens it."""

import pytest

from analysis.report.writing import write_report
from memsif_ray.methods import METHODS, expand
from tests.unit.analysis.conftest import small_run, written

pytestmark = pytest.mark.browser

TABLES = {
    *("main", "intervals", "differences", "ablations", "sensitivity-memsif"),
    *("costs", "cost-tokens", "cost-seconds", "runs", "prompts", "data"),
}
FIGURES = {"accuracy-by-category", "forest", "tradeoff", "budget-packing-budget"}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """On two runs of all systems that differ in their budget; every system has answers that are wrong."""
    root = tmp_path_factory.mktemp("runs")
    outcomes = ("rrwr", "rwrr", "wrrw", "rwwr", "wwrw")
    runs = [
        written(
            root,
            f"locomo-{budget}",
            small_run(
                {m: outcomes[(n + shift) % 5] for n, m in enumerate(expand(("all",), METHODS))}, failed="2"
            ),
            {"packing": {"budget": budget}},
        )
        for shift, budget in enumerate((512, 1024))
    ]
    return write_report(runs, root / "out")


@pytest.mark.parametrize("width", [360, 1280])
def test_every_table_and_figure_is_there_fits_the_screen_and_needs_no_network(browser, report, width):
    context = browser.new_context(viewport={"width": width, "height": 900}, locale="en-GB")
    page, said, asked = context.new_page(), [], []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda line: said.append(line.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())

    shown = {figure.get_attribute("id"): figure for figure in page.locator("figure").all()}
    assert shown.keys() >= TABLES | FIGURES
    assert all(shown[name].locator("table tbody tr").count() for name in TABLES)
    assert all(shown[name].locator("svg").bounding_box()["height"] > 100 for name in FIGURES)
    failure = page.locator("details", has_text="Gold evidence").first
    failure.locator("summary").click()
    terms = failure.locator("dt").all_inner_texts()
    assert [*terms[:5], terms[-1]] == [
        *("Question", "Gold answer", "Gold evidence", "Answer", "Verdict"),
        "Decisions",
    ]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("text=incomplete: ").first.is_visible()
    context.close()
    assert (said, asked) == ([], [report.as_uri()])
