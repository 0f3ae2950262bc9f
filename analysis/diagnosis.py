"""Diagnoses for people: tables that a terminal and a page show alike, and the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from analysis.figures.diagnostics import asv_figure, sntd_figure, ted_histogram
from analysis.page import Grid, Picture, Section, write_page
from memsif_ray.datasets import LoadReport
from memsif_ray.diagnostics import published
from memsif_ray.diagnostics.corpus import CorpusSummary, Extent
from memsif_ray.diagnostics.dispersion import Change, EvidenceSpread, SpreadSummary
from memsif_ray.diagnostics.pairs import Division
from memsif_ray.diagnostics.tsm import Measure, TsmAverage, TsmMeasure

_NONE = "–"
_READINGS = (
    "Strict: an evidence entry counts only when it is exactly one valid message id; this gives the paper's "
    "numbers. Repaired: entries that hold several ids or spell one differently are read, too, as they are "
    "wherever else this project uses gold evidence."
)
_EFFECTS = {
    "enters": "enters NCE when repaired",
    "leaves": "leaves NCE when repaired",
    "gains_ted": "has two ids or more only when repaired",
    "ids": "other ids, same bin",
}


def as_text(grid: Grid) -> Table:
    """A table for a terminal: title above, caption below."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=grid.title, caption=grid.caption or None)
    table.title_justify = table.caption_justify = "left"
    for place, name in enumerate(grid.header):
        table.add_column(name, justify="right" if place else "left")
    for row in grid.rows:
        table.add_row(*map(str, row))
    return table


def nce_grids(summary: SpreadSummary, changes: Sequence[Change], reading: str, paper: str) -> list[Grid]:
    """The summary of one reading, and what the two readings see differently.

    Args:
        summary: Of `reading`.
        changes: Between the readings.
        reading: `strict` or `repaired`.
        paper: Whose published numbers to show beside ours; "" for none.
    """
    near, between, far = summary.bins
    rows = {
        "scored questions": ("questions", f"{summary.questions:,}"),
        "with ≥ 2 evidence ids": ("dispersed", f"{summary.dispersed:,}"),
        "TED in [0, 0.1)": ("near", f"{near:,}"),
        "TED in [0.1, 0.3)": ("between", f"{between:,}"),
        "TED in [0.3, 1]: NCE": ("far", f"{far:,}"),
        **{f"NCE {c.value}": (c.value, _share(n, far)) for c, n in summary.nce.items()},
        "mean TED of NCE": ("mean_ted", _number(summary.mean_ted, ".3f")),
        "mean span of NCE": ("mean_span", _number(summary.mean_span, ".1f")),
    }
    beside = _beside(rows, published.NCE.get(paper))
    found = [Grid("nce", f"Non-contiguous evidence, {reading} ids", *beside, caption=_READINGS)]
    if changes:
        found.append(
            Grid(
                "nce-readings",
                f"The two readings differ in {len(changes)} questions",
                ("question", "strict ids", "repaired ids", "effect"),
                [_changed(change) for change in changes],
            )
        )
    return found


def corpus_grid(summary: CorpusSummary, tokenizer: str, source: LoadReport, paper: str) -> Grid:
    """A dataset as in the paper's Table 12.

    Args:
        summary: Of all conversations.
        tokenizer: Whose tokens were counted.
        source: The file.
        paper: Whose published numbers to show beside ours; "" for none.
    """
    questions = summary.questions
    rows = {
        "conversations": ("conversations", f"{summary.conversations:,}"),
        "sessions per history": ("sessions", _extent(summary.sessions, ",.1f")),
        "tokens per history": ("tokens", _number(summary.tokens.mean, ",.0f")),
        "date span (days)": ("days", _extent(summary.days, ",.1f")),
        **{c.value: (c.value, _share(n, questions)) for c, n in summary.categories.items()},
        "questions": ("questions", f"{questions:,}"),
    }
    beside = _beside(rows, published.CORPUS.get(paper))
    return Grid(
        "corpus",
        f"{source.source}: {source.dataset}",
        *beside,
        caption=_corpus_caption(summary, tokenizer, source, paper),
    )


def tsm_grids(
    averages: Sequence[TsmAverage], divisions: Sequence[Division], embedder: str, paper: str
) -> list[Grid]:
    """Volatility, distance of neighbours beside chance, and how pairs were divided.

    Args:
        averages: Over conversations.
        divisions: Of pairs.
        embedder: Name of the model.
        paper: Whose published numbers to show beside ours; "" for none.
    """
    return [
        Grid(
            "asv",
            "Adjacent Semantic Volatility",
            ("messages per segment", "ASV", "least", "most", "conversations", "without"),
            [
                (str(one.segment_length), *map(_percent, (one.value, one.low, one.high)), *_counts(one))
                for one in averages
                if one.measure is Measure.ASV
            ],
            caption=f"Embeddings of {embedder}; means over conversations.",
        ),
        _sntd_grid(averages, embedder, paper),
        Grid(
            "pairs",
            "Pairs of segments for judging",
            ("bucket", "pairs", "sampled", "up to"),
            [row for division in divisions for row in _divided(division)],
            caption="Terciles over all conversations: of r_i for adjacent pairs, of distance for neighbours.",
        ),
    ]


def write_nce_page(
    folder: Path, source: LoadReport, spreads: Sequence[EvidenceSpread], grids: Sequence[Grid]
) -> Path:
    """`report.html` with the histogram of TED; returns its path."""
    teds = [spread.ted for spread in spreads if spread.ted is not None]
    title = "Temporal evidence dispersion"
    picture = Picture("ted-histogram", title, ted_histogram(teds, title), "Questions with two ids or more.")
    sections = [Section("Non-contiguous evidence", parts=[picture, *grids])]
    return write_page(folder, "Dispersion of evidence", sections, facts=_facts(source))


def write_corpus_page(folder: Path, source: LoadReport, grid: Grid) -> Path:
    """`report.html` with the statistics; returns its path."""
    return write_page(folder, "Dataset statistics", [Section("Table 12", parts=[grid])], facts=_facts(source))


def write_tsm_page(
    folder: Path,
    source: LoadReport,
    measures: Sequence[TsmMeasure],
    averages: Sequence[TsmAverage],
    grids: Sequence[Grid],
    *,
    paper: str,
) -> Path:
    """`report.html` with Figures 6 and 7; returns its path."""
    asv, sntd, pairs = grids
    six, seven = "Adjacent semantic volatility", "Distance of semantic neighbours"
    told = published.SNTD.get(paper, {})
    sections = [
        Section(six, parts=[Picture("asv", six, asv_figure(measures, averages, six)), asv]),
        Section(seven, parts=[Picture("sntd", seven, sntd_figure(averages, told, seven)), sntd]),
        Section("Pairs", parts=[pairs]),
    ]
    return write_page(folder, "Temporal-structural misalignment", sections, facts=_facts(source))


def comparable(source: LoadReport, *, selected: bool) -> str:
    """The dataset whose published numbers belong beside those of a file; "" for none.

    Args:
        source: The file: the paper measured the published one.
        selected: Whether some of its conversations were left out.
    """
    return source.dataset if source.release and not selected else ""


def _sntd_grid(averages: Sequence[TsmAverage], embedder: str, paper: str) -> Grid:
    by_kind = {(one.measure, one.k): one for one in averages}
    expected = by_kind[Measure.RANDOM, None]
    told, told_random = published.SNTD.get(paper, {}), published.RANDOM_SNTD.get(paper, {})
    header = ["k", "SNTD@k", "least", "most", "random, expected", "random, drawn", "conversations", "without"]
    rows = []
    for k in [one.k for one in averages if one.measure is Measure.SNTD and one.k]:
        one, drawn = by_kind[Measure.SNTD, k], by_kind[Measure.DRAWN, k]
        numbers = [*map(_percent, (one.value, one.low, one.high, expected.value)), _drawn(drawn)]
        rows.append([str(k), *numbers, *_counts(one)])
        if paper:
            rows[-1] += [_percent(told.get(k)), _percent(told_random.get(k))]
    if paper:
        header += [published.SOURCE, f"{published.SOURCE}, random"]
    caption = f"Embeddings of {embedder}, segments of two messages; the paper's are of Qwen3-Embedding-8B."
    return Grid("sntd", "Semantic-Neighbour Temporal Distance", header, rows, caption=caption)


def _beside(
    rows: Mapping[str, tuple[str, str]], paper: Mapping[str, str] | None
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    if paper is None:
        return ("what", "here"), [(name, value) for name, (_, value) in rows.items()]
    shown = [(name, value, paper.get(key, _NONE)) for name, (key, value) in rows.items()]
    return ("what", "here", published.SOURCE), shown


def _changed(change: Change) -> tuple[str, str, str, str]:
    strict, repaired = (", ".join(one.message_ids) or _NONE for one in (change.strict, change.repaired))
    return change.question_id, strict, repaired, _EFFECTS[change.effect]


def _corpus_caption(summary: CorpusSummary, tokenizer: str, source: LoadReport, paper: str) -> str:
    said = [
        f"Tokens of {tokenizer}, of what was said, without speakers and captions. Days are whole days from "
        "the first session with messages to the last."
    ]
    undated = source.counts.get("dates_without_session", 0)
    if undated:
        also = "; the paper's date span includes them" if paper else ""
        said.append(f"The file has {undated} dates without a session, which count for nothing here{also}.")
    if summary.left_out:
        said.append(f"{summary.left_out} conversations have no scored question and are left out.")
    return " ".join(said)


def _divided(division: Division) -> Iterable[tuple[str, str, str, str]]:
    bounds = (*(division.cuts or (None, None)), None)
    for (bucket, size), bound in zip(division.sizes.items(), bounds, strict=True):
        name = f"{division.kind}: {bucket}"
        yield name, f"{size:,}", str(division.sampled[bucket]), _number(bound, ".4f")


def _counts(one: TsmAverage) -> tuple[str, str]:
    missing = ", ".join(f"{n} {reason}" for reason, n in one.missing.items())
    return str(one.conversations), missing or "0"


def _drawn(one: TsmAverage) -> str:
    return _NONE if one.value is None else f"{_percent(one.value)} ± {100 * (one.error or 0.0):.2f}"


def _facts(source: LoadReport) -> dict[str, str]:
    release = source.release or "no published release"
    return {"data": f"{source.source} ({release})", "SHA-256": source.sha256}


def _extent(extent: Extent, form: str) -> str:
    if extent.mean is None:
        return _NONE
    return f"{extent.mean:{form}} ({extent.low:,}–{extent.high:,})"


def _share(number: int, whole: int) -> str:
    return f"{number:,} ({100 * number / max(whole, 1):.1f}%)"


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.2f}%"


def _number(value: float | None, form: str) -> str:
    return _NONE if value is None else f"{value:{form}}"
