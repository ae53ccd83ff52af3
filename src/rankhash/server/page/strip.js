// A code as a strip: one cell a symbol, its colour the value. Beside a query, what agrees is low and pale; what differs
// stands tall, has its value written in it where there is room, and a line below, so that no colour is needed to see it.

import { svg } from "./dom.js";

const WIDEST = 22, NARROWEST = 4, LINE = 3;

/** How cells are laid out in a width: columns, and the size of a cell in pixels. */
export function layout(nSymbols, width) {
  const fitting = Math.max(8, Math.floor(width / NARROWEST));
  const columns = nSymbols <= fitting ? nSymbols : fitting - (fitting % 8);
  const rows = Math.ceil(nSymbols / columns);
  const cell = Math.max(NARROWEST, Math.min(WIDEST, Math.floor(width / columns)));
  return { columns, rows, cell, height: rows === 1 ? 24 : rows <= 4 ? 15 : 8 };
}

/** The positions at which two codes differ. */
export function differing(symbols, others) {
  return symbols.flatMap((value, place) => (value === others[place] ? [] : [place]));
}

/** The drawing of a code; `query` is the code that it is compared with, or null. */
export function strip(symbols, query, width) {
  const { columns, rows, cell, height } = layout(symbols.length, width);
  const gap = cell >= 6 ? 1 : 0;
  const step = height + (query ? LINE + 1 : 1) + (rows > 1 ? 2 : 0);
  const low = Math.round(height * 0.4);
  const same = new Map(), tall = new Map(), lines = [];
  symbols.forEach((value, place) => {
    const x = (place % columns) * cell, y = Math.floor(place / columns) * step;
    const differs = !query || query[place] !== value;
    const top = differs ? 0 : height - low;
    const cells = differs ? tall : same;
    if (!cells.has(value)) cells.set(value, []);
    cells.get(value).push([x, y + top, cell - gap, height - top]);
    if (differs && query) lines.push([x, y + height + 1, cell - gap, LINE - 1]);
  });
  const label = query ? spoken(symbols, query) : `Code of the query: ${symbols.join(" ")}`;
  const drawing = svg("svg", { class: "strip", role: "img", "aria-label": label, width: columns * cell, height: rows * step });
  for (const [value, cells] of same) drawing.append(svg("path", { class: `same v${value}`, d: path(cells) }));
  for (const [value, cells] of tall) drawing.append(svg("path", { class: `v${value}`, d: path(cells) }), ...glyphs(value, cells));
  if (lines.length) drawing.append(svg("path", { class: "mark", d: path(lines) }));
  return drawing;
}

/** Which symbol is drawn at a point of a strip, or null. */
export function placeAt(nSymbols, width, height, x, y) {
  const { columns, rows, cell } = layout(nSymbols, width);
  const place = Math.floor(y / (height / rows)) * columns + Math.floor(x / cell);
  return x >= 0 && x < columns * cell && y >= 0 && place < nSymbols ? place : null;
}

function spoken(symbols, query) {
  const places = differing(symbols, query);
  if (!places.length) return "the same code";
  const first = places.slice(0, 12).map((place) => `${place + 1} (${query[place]} becomes ${symbols[place]})`);
  const more = places.length > 12 ? ` and ${places.length - 12} more` : "";
  return `${places.length} of ${symbols.length} symbols differ: ${first.join(", ")}${more}`;
}

const path = (cells) => cells.map(([x, y, w, h]) => `M${x} ${y}h${w}v${h}h${-w}z`).join("");

function glyphs(value, cells) {
  const [, , width, height] = cells[0];
  if (width < 9 || height < 14) return [];
  return cells.map(([x, y]) => svg("text", { class: `g${value}`, x: x + width / 2, y: y + height / 2 + 4 }, value.toString(16).toUpperCase()));
}
