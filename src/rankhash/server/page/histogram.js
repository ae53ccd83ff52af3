// How many items lie at each distance from the query, and where those are that were found.

import { count, el, number, svg } from "./dom.js";

const HEIGHT = 124, LEFT = 34, RIGHT = 6, TOP = 8, BOTTOM = 26, MOST_BARS = 96;

/** Draw counts by distance into a figure; `found` are the distances of what was found, `radius` a limit or null. */
export function draw(figure, counts, found, radius) {
  const width = Math.max(240, figure.clientWidth), right = width - RIGHT;
  const bars = binned(counts, found);
  const most = Math.max(1, ...bars.map((bar) => bar.n));
  const high = (n) => (Math.log1p(n) / Math.log1p(most)) * (HEIGHT - TOP - BOTTOM);
  const step = (right - LEFT) / bars.length;
  const base = HEIGHT - BOTTOM;
  const drawing = svg("svg", { width, height: HEIGHT, role: "img", "aria-label": spoken(counts, found) });
  for (const n of ticks(most)) {
    const y = base - high(n);
    drawing.append(svg("path", { class: "rule", d: `M${LEFT} ${y}H${right}` }),
      svg("text", { class: "axis end", x: LEFT - 5, y: y + 3.5 }, short(n)));
  }
  bars.forEach((bar, place) => {
    const x = LEFT + place * step, wide = Math.max(1, step - (step > 4 ? 1.5 : 0.4));
    drawing.append(svg("g", {}, svg("title", {}, `${bar.label}: ${count(bar.n, "item")}, ${number(bar.found)} found`),
      svg("rect", { class: "all", x, y: base - high(bar.n), width: wide, height: high(bar.n) }),
      bar.found ? svg("rect", { class: "hit", x, y: base - high(bar.found), width: wide, height: high(bar.found) }) : null,
      bar.found ? svg("path", { class: "hit", d: `M${x + wide / 2} ${base + 2}l4 5h-8z` }) : null));
  });
  if (radius !== null && radius < counts.length) {
    const x = LEFT + ((Math.floor(radius) + 1) / counts.length) * (right - LEFT) - 0.5;
    drawing.append(svg("path", { class: "radius", d: `M${x} ${TOP - 4}V${base + 4}` }));
  }
  for (const place of labelled(bars.length)) {
    drawing.append(svg("text", { class: "axis", x: LEFT + (place + 0.5) * step, y: HEIGHT - 7 }, String(bars[place].from)));
  }
  figure.replaceChildren(drawing, el("figcaption", {}, "items by differing symbols, log scale; ", el("i", { class: "hit" }), " found"));
}

function binned(counts, found) {
  const size = Math.ceil(counts.length / MOST_BARS);
  const bars = Array.from({ length: Math.ceil(counts.length / size) }, (_, place) => {
    const from = place * size, to = Math.min(counts.length, from + size) - 1;
    return { from, label: from === to ? `distance ${from}` : `distances ${from} to ${to}`, n: 0, found: 0 };
  });
  counts.forEach((n, distance) => (bars[Math.floor(distance / size)].n += n));
  found.forEach((distance) => (bars[Math.floor(distance / size)].found += 1));
  return bars;
}

function ticks(most) {
  const powers = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9].filter((n) => n <= most);
  const every = Math.ceil(powers.length / 4);
  return powers.filter((_, place) => place % every === 0);
}

const short = (n) => (n >= 1e6 ? `${n / 1e6}M` : n >= 1e3 ? `${n / 1e3}k` : String(n));

function labelled(nBars) {
  const every = [1, 2, 4, 8, 16, 32].find((step) => nBars / step <= 12) ?? 64;
  return Array.from({ length: nBars }, (_, place) => place).filter((place) => place % every === 0);
}

function spoken(counts, found) {
  const total = counts.reduce((sum, n) => sum + n, 0);
  const peak = counts.indexOf(Math.max(...counts));
  const range = found.length ? `those found differ in ${Math.min(...found)} to ${Math.max(...found)} symbols` : "none was found";
  return `Histogram of ${count(total, "item")} by differing symbols: most, ${number(counts[peak])}, differ in ${peak}; ${range}.`;
}
