// The share of the true neighbours among the first candidates by code: how many candidates re-ranking needs.

import { byId, el, number, svg } from "./dom.js";

const HEIGHT = 124, LEFT = 34, RIGHT = 16, TOP = 8, BOTTOM = 26, MOST = 1000;

/** The folded view. It asks only while it is open: comparing the query with all vectors takes time. */
export class Recall {
  constructor() {
    this.view = byId("recall-view");
    this.figure = byId("recall");
    this.question = null;
    this.view.addEventListener("toggle", () => this.update());
  }

  /** Take a new question, or null if true neighbours are unknown; `ask(options)` gives the ids that a search finds. */
  set(question) {
    this.question = question;
    this.view.hidden = question === null;
    this.figure.replaceChildren();
    return this.update();
  }

  async update() {
    const { question } = this;
    if (!question || !this.view.open || this.figure.childElementCount) return;
    this.figure.replaceChildren(el("figcaption", {}, "Comparing with all vectors …"));
    try {
      const { ask, k, most, nItems, rerank } = question;
      const truth = await ask({ k, rerank: nItems });
      const order = await ask({ k: Math.min(MOST, most, nItems), rerank: 0 });
      if (question === this.question) draw(this.figure, ranks(order, truth), order.length, truth.length, rerank);
    } catch (error) {
      if (question === this.question) this.figure.replaceChildren(el("figcaption", {}, error.message));
    }
  }
}

/** The places of the true neighbours in the order of codes, from 1; those that are further back are left out. */
function ranks(order, truth) {
  const right = new Set(truth);
  return order.flatMap((id, place) => (right.has(id) ? [place + 1] : []));
}

function draw(figure, places, most, nTrue, rerank) {
  const width = Math.max(240, figure.clientWidth), right = width - RIGHT, base = HEIGHT - BOTTOM;
  const x = (n) => LEFT + (most > 1 ? Math.log(n) / Math.log(most) : 1) * (right - LEFT);
  const share = (n) => places.filter((place) => place <= n).length / Math.max(1, nTrue);
  const y = (n) => base - share(n) * (base - TOP);
  const marks = [1, 10, 100, 1000].filter((n) => n <= most);
  const told = [...new Set([...marks, most])].filter((n) => n >= nTrue || n === most)
    .map((n) => `${number(n)}: ${Math.round(share(n) * 100)} %`).join(" · ");
  const drawing = svg("svg", { width, height: HEIGHT, role: "img", "aria-label": `Recall by candidates: ${told}` });
  for (const part of [0, 0.5, 1]) {
    const high = base - part * (base - TOP);
    drawing.append(svg("path", { class: "rule", d: `M${LEFT} ${high}H${right}` }),
      svg("text", { class: "axis end", x: LEFT - 5, y: high + 3.5 }, `${part * 100}%`));
  }
  const steps = places.map((place) => `H${x(place)}V${y(place)}`).join("");
  drawing.append(svg("path", { class: "curve", d: `M${LEFT} ${base}${steps}H${right}` }));
  if (rerank && rerank <= most) drawing.append(svg("path", { class: "radius", d: `M${x(rerank)} ${TOP}V${base + 4}` }));
  for (const n of marks) drawing.append(svg("text", { class: "axis", x: x(n), y: HEIGHT - 7 }, number(n)));
  figure.replaceChildren(drawing, el("figcaption", {}, `candidates by code: share of the ${number(nTrue)} nearest · ${told}`));
}
