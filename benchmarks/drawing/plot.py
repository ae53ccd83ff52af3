"""Lines over two logarithmic axes as an SVG, for results that grow; needs nothing but Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
"""Colours that colour-blind people can tell apart (Okabe and Ito)."""

WIDTH, HEIGHT, LEFT, TOP, GAP, LEGEND = 320, 250, 70, 36, 30, 30
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """One picture: lines by name, and what the axes show."""

    title: str
    x_title: str
    lines: Mapping[str, Points]
    unit: str = "s"
    linear: bool = False
    """Whether a dotted line shows growth in proportion, from each line's first point."""

    x_ticks: Mapping[float, str] | None = None
    """Where the x axis has numbers, and what they are; None: at every point."""


def draw(panels: Sequence[Panel], *, columns: int | None = None, legend: Sequence[str] = ()) -> str:
    """The panels, ``columns`` beside each other (None: all).

    With a ``legend`` a line has the colour of its name's place in it; otherwise names stand at the lines.
    """
    columns = columns or len(panels)
    width, height = LEFT + WIDTH + GAP, TOP + HEIGHT + 60
    total, full = columns * width, -(-len(panels) // columns) * height + (LEGEND if legend else 0)
    parts = [f'<rect width="{total}" height="{full}" fill="white"/>', *_legend(legend, full)]
    for place, panel in enumerate(panels):
        x, y = place % columns * width, place // columns * height
        parts += [f'<g transform="translate({x} {y})">', *_panel(panel, LEFT, legend), "</g>"]
    size = f'width="{total}" height="{full}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def _legend(names: Sequence[str], bottom: float) -> list[str]:
    parts, x = [], float(LEFT)
    for i, name in enumerate(names):
        parts.append(f'<rect x="{x:.0f}" y="{bottom - 24}" width="12" height="12" fill="{COLOURS[i % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 18:.0f}" y="{bottom - 14}">{name}</text>')
        x += 45 + 6.5 * len(name)
    return parts


def _panel(panel: Panel, left: int, legend: Sequence[str] = ()) -> list[str]:
    points = [point for line in panel.lines.values() for point in line]
    ticks = panel.x_ticks or {x: _count(x) for x in sorted({x for x, _ in points})}
    xs = sorted({*ticks, *(x for x, _ in points)})
    x0, x1 = math.log10(xs[0]), max(math.log10(xs[-1]), math.log10(xs[0]) + 0.3)
    ys = [math.log10(y) for _, y in points]
    y0, y1 = min(ys) - 0.1, max(ys) + 0.2

    def place(x: float, y: float) -> tuple[float, float]:
        return left + (math.log10(x) - x0) / (x1 - x0) * WIDTH, TOP + (y1 - math.log10(y)) / (y1 - y0) * HEIGHT

    parts = [
        f'<text x="{left}" y="20" font-weight="bold">{panel.title}</text>',
        f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 40}" text-anchor="middle">{panel.x_title}</text>',
    ]
    for value in _ticks(y0, y1):
        y = place(xs[0], value)[1]
        parts.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{_label(value, panel.unit)}</text>')
    below = TOP + HEIGHT + 18
    middle = 'text-anchor="middle"'
    parts += [f'<text x="{place(x, 1)[0]:.1f}" y="{below}" {middle}>{text}</text>' for x, text in ticks.items()]
    for i, (name, line) in enumerate(panel.lines.items()):
        colour = COLOURS[(legend.index(name) if legend else i) % len(COLOURS)]
        parts += _line("" if legend else name, [place(*point) for point in line], colour)
        if panel.linear:
            (first, at), (last, _) = line[0], line[-1]
            growth = min(last / first, 10**y1 / at)
            ends = place(first, at), place(first * growth, at * growth)
            parts.append(_polyline(ends, colour, ' stroke-dasharray="2 4"'))
    return parts


def _line(name: str, points: list[tuple[float, float]], colour: str) -> list[str]:
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points]
    x, y = points[-1]
    label = f'<text x="{x:.1f}" y="{y - 7:.1f}" text-anchor="end" fill="{colour}">{name}</text>'
    return [_polyline(points, colour, ""), *dots, *([label] if name else [])]


def _polyline(points: Sequence[tuple[float, float]], colour: str, style: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{style}/>'


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten inside, with halves and fifths of them if there are few."""
    steps = (1,) if high - low > 2.5 else (1, 2, 5)
    found = [step * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for step in steps]
    return [value for value in found if low <= math.log10(value) <= high]


def _label(value: float, unit: str) -> str:
    if unit != "s":
        return f"{_count(value)} {unit}" if value >= 1e4 else f"{value:g} {unit}"
    scale = next(((s, p) for s, p in ((1, ""), (1e-3, "m"), (1e-6, "µ")) if value >= s * 0.999), (1e-9, "n"))
    return f"{value / scale[0]:g} {scale[1]}{unit}"


def _count(x: float) -> str:
    scale = next(((s, p) for s, p in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if x >= s), (1, ""))
    return f"{x / scale[0]:g}{scale[1]}"
