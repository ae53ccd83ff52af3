"""Figures as SVG, without scripts: they print well, follow the colours of the page, and each method can be hidden."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 50, 10, 10, 42
SYMBOLS = {
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "triangle-up": "▲",
    "x": "✖",
    "triangle-down": "▼",
    "pentagon": "⬟",
    "star": "★",
    "cross": "✚",
}
DASHES = {"solid": "", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}
INK = "#000000"
"""The colour that is replaced by the colour of text, which is light on a dark page"""


def svg(figure: dict[str, Any], places: dict[str, int], label: str) -> str:
    """A figure of ``figures`` as SVG; ``places`` numbers the methods, and classes ``m0``, ``m1``, … name them."""
    lines = figure["data"]
    x_axis, y_axis = figure["layout"]["xaxis"], figure["layout"]["yaxis"]
    x = _Scale([value for line in lines for value in line["x"]], LEFT, WIDTH - RIGHT, x_axis.get("range"))
    y = _Scale([0, *(value for line in lines for value in line["y"])], HEIGHT - BOTTOM, TOP, None)
    parts = [f'<svg class=plot viewBox="0 0 {WIDTH} {HEIGHT}" role=img aria-label="{escape(label)}">']
    for value in y.ticks():
        parts.append(f'<path class=rule d="M{LEFT} {y(value)}H{WIDTH - RIGHT}"/>')
        parts.append(f"<text x={LEFT - 6} y={y(value)} dy=.35em text-anchor=end>{value:g}</text>")
    parts += [
        f"<text x={x(value)} y={HEIGHT - BOTTOM + 16} text-anchor=middle>{value:g}</text>"
        for value in x_axis.get("tickvals") or x.ticks()
    ]
    parts.append(f'<path class=axis d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f"<text x={middle} y={HEIGHT - 8} text-anchor=middle>{escape(x_axis['title']['text'])}</text>")
    parts.append(f'<text transform="translate(12 {HEIGHT / 2}) rotate(-90)" text-anchor=middle>')
    parts.append(f"{escape(y_axis['title']['text'])}</text>")
    parts += [_trace(line, places[line["name"]], x, y) for line in lines]
    return "".join([*parts, "</svg>"])


def sample(style: dict[str, str]) -> str:
    """A piece of a method's line, for the legend."""
    colour, dash = _colour(style["colour"]), DASHES[style["dash"]]
    return (
        f'<svg width=34 height=12 aria-hidden=true><path d="M0 6H34" stroke="{colour}" stroke-width=2 '
        f'stroke-dasharray="{dash}"/><text x=17 y=10.5 text-anchor=middle font-size=12 fill="{colour}">'
        f"{SYMBOLS[style['marker']]}</text></svg>"
    )


class _Scale:
    """A linear map from values to coordinates between ``start`` and ``end``."""

    def __init__(self, values: Sequence[float], start: float, end: float, limits: Sequence[float] | None) -> None:
        low, high = limits or (min(values), max(values))
        self.low, self.high = low, high if high > low else low + 1
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """About five round numbers."""
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.99)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(place * step, 10) for place in range(first, last + 1)]


def _trace(line: dict[str, Any], place: int, x: _Scale, y: _Scale) -> str:
    """A band, or a line with markers whose tooltips show their values."""
    points = [f"{x(a)} {y(b)}" for a, b in zip(line["x"], line["y"], strict=True)]
    if "fill" in line:
        return f'<path class="m{place} band" d="M{"L".join(points)}Z" fill="{_colour(line["colour"])}"/>'
    colour, dash = _colour(line["line"]["color"]), DASHES[line["line"]["dash"]]
    drawn = f'<path d="M{"L".join(points)}" stroke="{colour}" stroke-dasharray="{dash}"/>'
    every = max(1, len(points) // line["marker"].get("maxdisplayed", 0)) if line["marker"].get("maxdisplayed") else 1
    marks = "".join(
        f"<text x={x(a)} y={y(b)} dy=.35em text-anchor=middle>{SYMBOLS[line['marker']['symbol']]}"
        f"<title>{escape(line['name'])} at {a:g}: {b:.3f} ± {spread:.3f}</title></text>"
        for a, b, spread in list(zip(line["x"], line["y"], line["customdata"], strict=True))[::every]
    )
    return f'<g class="m{place} line" fill="{colour}">{drawn}{marks}</g>'


def _colour(colour: str) -> str:
    return "currentColor" if colour == INK else colour
