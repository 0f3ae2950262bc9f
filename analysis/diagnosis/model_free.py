"""Diagnoses as tables, with the paper's numbers beside ours where they are of the same data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analysis.diagnosis.cells import NONE, number, percent, share
from analysis.page import Grid
from memsif_ray.datasets import LoadReport
from memsif_ray.diagnostics import published
from memsif_ray.diagnostics.corpus import CorpusSummary, Extent
from memsif_ray.diagnostics.dispersion import Change, SpreadSummary
from memsif_ray.diagnostics.pairs import Division
from memsif_ray.diagnostics.tsm import Measure, TsmAverage

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


def comparable(source: LoadReport, *, selected: bool) -> str:
    """The dataset whose published numbers belong beside those of a file; "" for none.

    Args:
        source: The file: the paper measured the published one.
        selected: Whether some of its conversations were left out.
    """
    return source.dataset if source.release and not selected else ""


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
        **{f"NCE {c.value}": (c.value, share(n, far)) for c, n in summary.nce.items()},
        "mean TED of NCE": ("mean_ted", number(summary.mean_ted, ".3f")),
        "mean span of NCE": ("mean_span", number(summary.mean_span, ".1f")),
    }
    beside = _beside(rows, published.NCE.get(paper))
    found = [Grid("nce", f"Non-contiguous evidence, {reading} ids", *beside, caption=_READINGS)]
    if changes:
        found.append(
            Grid(
                "nce-readings",
                f"Questions that the two readings see differently: {len(changes)}",
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
        "tokens per history": ("tokens", number(summary.tokens.mean, ",.0f")),
        "date span (days)": ("days", _extent(summary.days, ",.1f")),
        **{c.value: (c.value, share(n, questions)) for c, n in summary.categories.items()},
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
            ("messages per segment", "ASV", "range", "of"),
            [
                (str(one.segment_length), percent(one.value), _range(one), _measured(one))
                for one in averages
                if one.measure is Measure.ASV
            ],
            caption=f"Embeddings of {embedder}. Mean and range over the conversations in the last column.",
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


def _sntd_grid(averages: Sequence[TsmAverage], embedder: str, paper: str) -> Grid:
    by_kind = {(one.measure, one.k): one for one in averages}
    told, told_random = published.SNTD.get(paper, {}), published.RANDOM_SNTD.get(paper, {})
    rows = []
    for k in [one.k for one in averages if one.measure is Measure.SNTD and one.k]:
        one, random = by_kind[Measure.SNTD, k], by_kind[Measure.RANDOM, None]
        drawn = _drawn(by_kind[Measure.DRAWN, k])
        row = [str(k), percent(one.value), _range(one), percent(random.value), drawn, _measured(one)]
        rows.append([*row, percent(told.get(k)), percent(told_random.get(k))] if paper else row)
    header = ["k", "SNTD@k", "range", "random", "drawn", "of"]
    caption = (
        f"Embeddings of {embedder}, segments of two messages; over conversations as above. Random: what is "
        "expected of neighbours drawn at random; drawn: the mean of such draws and its standard error."
    )
    if paper:
        header += [published.SOURCE, "its random"]
        caption += " The paper's embeddings are of Qwen3-Embedding-8B."
    return Grid("sntd", "Semantic-Neighbour Temporal Distance", header, rows, caption=caption)


def _beside(
    rows: Mapping[str, tuple[str, str]], paper: Mapping[str, str] | None
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    if paper is None:
        return ("what", "here"), [(name, value) for name, (_, value) in rows.items()]
    shown = [(name, value, paper.get(key, NONE)) for name, (key, value) in rows.items()]
    return ("what", "here", published.SOURCE), shown


def _changed(change: Change) -> tuple[str, str, str, str]:
    strict, repaired = (", ".join(one.message_ids) or NONE for one in (change.strict, change.repaired))
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
        yield name, f"{size:,}", str(division.sampled[bucket]), number(bound, ".4f")


def _measured(one: TsmAverage) -> str:
    missing = ", ".join(f"{n} {reason}" for reason, n in one.missing.items())
    return f"{one.conversations} (without: {missing})" if missing else str(one.conversations)


def _range(one: TsmAverage) -> str:
    if one.low is None or one.high is None:
        return NONE
    return f"{100 * one.low:.1f}–{100 * one.high:.1f}%"


def _drawn(one: TsmAverage) -> str:
    return NONE if one.value is None else f"{100 * one.value:.2f} ± {100 * (one.error or 0.0):.2f}%"


def _extent(extent: Extent, form: str) -> str:
    if extent.mean is None:
        return NONE
    return f"{extent.mean:{form}} ({extent.low:,}–{extent.high:,})"
