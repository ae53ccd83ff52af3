"""How the time of learning grows, drawn as SVG: log-log panels with dotted lines of linear growth."""

from __future__ import annotations

from typing import Any

import numpy as np

COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44")
Panel = tuple[str, list[dict[str, Any]], str, str]
"""The key of the horizontal axis, rows with it, ``seconds`` and ``method``, the axis's title, and the caption."""


def draw_growth(panels: list[Panel]) -> str:
    """Panels side by side."""
    width = 20 + 370 * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="340" font-family="sans-serif" font-size="12">'
    ]
    parts.append(f'<rect width="{width}" height="340" fill="white"/>')
    for place, shown in enumerate(panels):
        parts += panel(60 + 370 * place, *shown)
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(left: int, axis: str, rows: list[dict[str, Any]], title: str, caption: str) -> list[str]:
    xs = sorted({row[axis] for row in rows})
    low, high = np.log2(xs[0]), np.log2(xs[-1])
    seconds = [row["seconds"] for row in rows]
    floor, ceiling = np.log2(min(seconds) / 1.5), np.log2(max(seconds) * 1.5)

    def at(x: float, y: float) -> str:
        across = left + 300 * (np.log2(x) - low) / (high - low)
        return f"{across:.1f},{280 - 240 * (np.log2(y) - floor) / (ceiling - floor):.1f}"

    parts = [f'<rect x="{left}" y="40" width="300" height="240" fill="none" stroke="#999"/>']
    parts.append(f'<text x="{left + 150}" y="318" text-anchor="middle">{title}</text>')
    parts.append(f'<text x="{left}" y="30">{caption}</text>')
    for x in xs:
        across = at(x, 2**floor).split(",")[0]
        parts.append(f'<text x="{across}" y="296" text-anchor="middle" font-size="10">{x}</text>')
    for power in range(int(np.ceil(floor)), int(ceiling) + 1):
        height = at(xs[0], 2.0**power).split(",")[1]
        parts.append(f'<text x="{left - 6}" y="{height}" text-anchor="end" font-size="10">{2.0**power:g}</text>')
    for colour, method in zip(COLOURS, sorted({row["method"] for row in rows}), strict=False):
        line = {row[axis]: row["seconds"] for row in rows if row["method"] == method}
        points = " ".join(at(x, line[x]) for x in xs)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        across, height = at(xs[-1], line[xs[-1]]).split(",")
        parts.append(
            f'<text x="{float(across) - 4}" y="{float(height) - 6}" text-anchor="end" fill="{colour}">{method}</text>'
        )
        linear = f"{at(xs[0], line[xs[0]])} {at(xs[-1], min(line[xs[0]] * xs[-1] / xs[0], 2.0**ceiling))}"
        parts.append(f'<polyline points="{linear}" fill="none" stroke="{colour}" stroke-dasharray="2 4"/>')
    return parts
