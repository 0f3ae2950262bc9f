from __future__ import annotations

import csv
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from analysis.figures.style import as_svg, new_figure
from analysis.page import Folded, Grid, Marked, Picture, Section, as_csv, as_latex, write_page


class Outline(HTMLParser):
    """Start tags with their attributes, and texts, of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


GRID = Grid(
    "main",
    "Main",
    ("Method", "ACC", "Note"),
    [["a_b & <i>", Marked("12.5†", "best"), 'said "50 %"\nand left'], ["c", Marked("7.0", "second"), "x, y"]],
    "In %.",
)


def picture() -> Picture:
    figure, axes = new_figure()
    axes.plot([0, 1], [0, 1], label="line")
    axes.legend()
    return Picture("curve", "A curve", as_svg(figure, "A curve"), "It rises.")


@pytest.fixture
def outline(tmp_path) -> Outline:
    section = Section(
        "One & two", ["A < B"], [picture(), GRID, Folded("Why?", [("Answer", "<script>x</script>")])]
    )
    page = write_page(tmp_path, "T", [section, Section("Empty")], facts={"Run": "r<1>"})
    return Outline(page.read_text(encoding="utf-8"))


def test_everything_is_shown_as_text(outline):
    for text in ("a_b & <i>", "<script>x</script>", "A < B", "r<1>", "One & two"):
        assert text in outline.texts
    assert not outline.all("script") and not outline.all("i")


def test_nothing_is_fetched(outline):
    fetching = {"link", "img", "iframe", "object", "embed", "video", "audio", "source"}
    assert not fetching & {tag for tag, _ in outline.tags}
    policy = [meta["content"] for meta in outline.all("meta") if "http-equiv" in meta]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_tables_and_figures_tell_a_screen_reader_what_they_are(outline):
    scopes = [th["scope"] for th in outline.all("th")]
    assert scopes == ["col", "col", "col", "row", "row"]
    assert outline.all("figcaption") and outline.all("html")[0]["lang"] == "en"
    (svg,) = outline.all("svg")
    assert svg["role"] == "img" and svg["aria-labelledby"] in {tag.get("id") for _, tag in outline.tags}
    assert " (best)" in outline.texts and " (second)" in outline.texts


def test_contents_lead_to_every_section_and_ids_are_unique(outline):
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {a["href"].removeprefix("#") for a in outline.all("a") if a["href"].startswith("#")}
    assert {"s1", "s2"} <= targets <= set(ids)


def test_files_lie_beside_the_page(tmp_path, outline):
    with (tmp_path / "tables" / "main.csv").open(encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [
            ["Method", "ACC", "Note"],
            ["a_b & <i>", "12.5†", 'said "50 %"\nand left'],
            ["c", "7.0", "x, y"],
        ]
    assert (tmp_path / "figures" / "curve.svg").read_text(encoding="utf-8").startswith("<svg")
    assert as_csv(Grid("e", "E", ["A"], [])) == "A\n"


def test_latex_escapes_and_marks():
    lines = as_latex(GRID).splitlines()
    assert (
        r"{}a\_b \& \textless{}i\textgreater{} & \textbf{12.5\textdagger{}} & said "
        '"50 \\%" and left \\\\' in lines
    )
    assert r"{}c & \underline{7.0} & x, y \\" in lines
    assert r"\begin{tabular}{lrl}" in lines
    assert r"\caption{Main. In \%.}" in lines


@pytest.mark.parametrize(
    "parts",
    [
        [Grid("../up", "T", ["A"], [])],
        [Grid("same", "T", ["A"], []), Grid("same", "T", ["A"], [])],
        [Grid("short", "T", ["A", "B"], [["1"]])],
    ],
    ids=["path", "twice", "short row"],
)
def test_what_would_make_a_wrong_file_is_refused(tmp_path, parts):
    with pytest.raises(ValueError):
        write_page(tmp_path, "T", [Section("S", [], parts)])
    assert not list(tmp_path.iterdir())


def test_a_digest_is_no_number():
    grid = Grid(
        "g", "G", ["A", "B", "C", "D"], [["1", "052bd802", "<0.001", "16,273+"], ["2", "9f2", "–", "–"]]
    )
    assert r"\begin{tabular}{llrr}" in as_latex(grid)


def test_the_template_ships_with_the_package():
    assert files("analysis").joinpath("templates", "page.html.j2").is_file()


def test_a_figure_is_the_same_twice_and_has_no_colour_of_the_page():
    first, second = picture().svg, picture().svg
    assert first == second
    assert "<dc:date>" not in first and "#000000" not in first and "currentColor" in first
    assert ">line</text>" in first.replace("\n", "")
