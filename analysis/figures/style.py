"""One look for all figures: readable on a light and on a dark page, and without telling colours apart.

Figures are drawn on matplotlib's objects, never through `pyplot`, whose state would outlive them.
"""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

PALETTE = ("#0077bb", "#d55e00", "#009071", "#bb5a96", "#a67c00", "#7a6ad8", "#808080", "#b04a3a")
"""Okabe and Ito's hues, darkened or lightened until each has a contrast of 3 to white and to near-black."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
"""Nine, so that colour and marker together repeat only after 72 series."""

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_METADATA = f"{{{_SVG}}}metadata"
_BLACK = ": #000000"


def new_figure(width: float = 6.4, height: float = 3.6) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes, `width` by `height` inches.

    Whatever stays black (text, axes, error bars) is drawn in the page's own text colour.
    """
    figure, (axes,) = new_panels(1, width=width, height=height)
    return figure, axes


def new_panels(count: int, *, width: float = 6.4, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    """Like `new_figure`, with `count` pairs of axes side by side that share their vertical axis."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    figure.patch.set_alpha(0)
    panels = list(figure.subplots(1, count, sharey=True, squeeze=False)[0])
    for axes in panels:
        axes.patch.set_alpha(0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
        axes.tick_params(axis="y", left=axes is panels[0])
        axes.grid(axis="y", color="#808080", alpha=0.3, linewidth=0.6)
        axes.set_axisbelow(True)
    return figure, panels


def look(place: int) -> dict[str, Any]:
    """Colour and marker of the series at `place`, from 0."""
    return {"color": PALETTE[place % len(PALETTE)], "marker": MARKERS[place % len(MARKERS)]}


def as_svg(figure: Figure, title: str) -> str:
    """The figure as an SVG element, for a page or a file of its own.

    Args:
        figure: From [`new_figure`][analysis.figures.style.new_figure].
        title: What a screen reader says of it; also keeps its ids apart from those of other figures of one
            page, so no two figures of a page share a title.
    """
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    for legend in filter(None, legends):
        legend.set_frame_on(False)  # its box would be white on a dark page
    buffer = io.StringIO()
    # Text stays text, to be searched and read aloud; ids depend on the content only.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "memsif-ray"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    for child in root.findall(_METADATA):
        root.remove(child)
    prefix = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "figure"
    for element in root.iter():
        _adapt(element, prefix)
    _announce(root, title, prefix)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _adapt(element: ElementTree.Element, prefix: str) -> None:
    """Ids of its own, and the page's ink where matplotlib drew black."""
    for name, value in element.attrib.items():
        if name == "id":
            value = f"{prefix}-{value}"
        elif name.endswith("href"):
            value = value.replace("#", f"#{prefix}-")
        else:
            value = value.replace("url(#", f"url(#{prefix}-")
        element.set(name, value.replace(_BLACK, ": currentColor"))


def _announce(root: ElementTree.Element, title: str, prefix: str) -> None:
    heading = ElementTree.Element(f"{{{_SVG}}}title", {"id": f"{prefix}-title"})
    heading.text = title
    root.insert(0, heading)
    # Black fills are not written at all but inherited, so the root names the ink once.
    root.attrib.update({"role": "img", "aria-labelledby": f"{prefix}-title", "fill": "currentColor"})
