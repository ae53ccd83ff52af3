// The query and its neighbours, their codes one below the other.

import { arrows, stop } from "./arrows.js";
import { byId, count, el, number } from "./dom.js";
import { draw } from "./histogram.js";
import { description, detailsOf, nameOf, picture, spokenName, tellingFields } from "./items.js";
import { differing, layout, placeAt, strip } from "./strip.js";

/** The panel of neighbours; `choose(item)` is called for the neighbour that becomes the query, `steer(item, side)` for one
 * that becomes an example ("like"), a counterexample ("unlike") or none of them any more (""). */
export class Results {
  constructor({ choose, steer }) {
    this.steer = steer;
    this.codes = byId("codes");
    this.shown = null;
    this.codes.addEventListener("click", (event) => {
      const button = event.target.closest("button.found");
      if (button) choose(this.shown.result.matches[this.buttons().indexOf(button)]);
    });
    this.codes.addEventListener("keydown", (event) => {
      const place = this.buttons().indexOf(event.target.closest("button.found"));
      const side = { "+": "like", "-": "unlike" }[event.key];
      if (place >= 0 && side && this.shown.steered) steer(this.shown.result.matches[place], side);
    });
    arrows(this.codes, "button.found");
    this.codes.addEventListener("pointermove", (event) => this.point(event));
    this.codes.addEventListener("pointerleave", () => this.explain(null));
    new ResizeObserver(() => this.redraw()).observe(this.codes);
  }

  /** Show the answer to a question: `query` is the item asked for, or what was typed. */
  show(query, answer, state, truth, steered) {
    const result = answer.results[0], { collection } = state;
    const focused = this.codes.contains(document.activeElement);
    const distances = result.matches.map((match) => differing(match.symbols, result.query.symbols).length);
    this.shown = { result, state, distances, truth, steered, took: answer.took_ms };
    const fields = tellingFields([query, ...result.matches].filter((item) => item.metadata));
    this.title = query.like ? "Neighbours of examples" : query.id === undefined ? "Neighbours of a text" : `Neighbours of ${query.id}`;
    byId("neighbours-title").textContent = this.title;
    byId("query-card").replaceChildren(...this.card(query, fields, collection));
    byId("answer").hidden = false;
    byId("answer").classList.toggle("codeless", result.query.symbols.length === 0);
    byId("answer").classList.toggle("texts", !result.matches.some((match) => match.metadata?.image));
    this.codes.replaceChildren(this.legend(), this.queryRow(), this.rows(result.matches, fields, distances, collection));
    this.redraw();
    this.note([result.matches.length ? "" : emptiness(state), ...(answer.warnings ?? [])].filter(Boolean).join(" "));
    if (result.matches.length) stop(this.buttons(), this.buttons()[0], focused);
    this.summarize();
  }

  /** Add what takes longer: the histogram, and which neighbours are true. */
  complete({ histogram, recall, matches }) {
    if (!this.shown) return "";
    const { result, truth } = this.shown;
    Object.assign(result, { histogram, recall });
    this.redrawHistogram();
    if (!truth) return this.summarize();
    const right = new Map(matches.map((match) => [match.id, match.true]));
    const cells = this.codes.querySelectorAll(".rows .truth"), buttons = this.buttons();
    result.matches.forEach((match, place) => {
      match.true = right.get(match.id) ?? false;
      mark(cells[place], buttons[place], match.true);
    });
    return this.summarize();
  }

  /** Say why there is no more to add. */
  incomplete(message) {
    byId("histogram").replaceChildren(el("figcaption", {}, `No histogram: ${message}`));
    return this.summarize();
  }

  /** Show why there is no answer, and a button that asks once more if `again` is given. */
  fail(message, again = null) {
    this.shown = null;
    byId("neighbours-title").textContent = "Neighbours";
    byId("summary").textContent = "";
    byId("answer").hidden = true;
    this.note(message);
    if (again) byId("found-note").append(el("button", { type: "button", class: "plain", onclick: again }, "Try again"));
  }

  note(text) {
    byId("found-note").textContent = text;
    byId("found-note").hidden = text === "";
  }

  busy(is) {
    byId("neighbours").setAttribute("aria-busy", String(is));
  }

  buttons() {
    return [...this.codes.querySelectorAll("button.found")];
  }

  /** Write what was found in a line; the same to be spoken. */
  summarize() {
    const { result: { matches, recall, truncated }, took, state } = this.shown;
    const facts = [`${number(matches.length)} found in ${number(took)} ms`];
    const right = matches.filter((match) => match.true).length;
    if (typeof recall === "number") facts.push(`${right} of ${matches.length} true`, `recall ${Math.round(recall * 100)} %`);
    if (truncated) facts.push("more within the radius");
    if (state.where) facts.push("filtered");
    byId("summary").textContent = facts.join(" · ");
    return `${this.title}: ${facts.join(", ")}.`;
  }

  card(query, fields, collection) {
    if (query.like) return [el("div", { class: "told" }, el("h3", {}, "Examples"), this.examples(query))];
    const image = picture(query, collection);
    const heading = query.id === undefined ? "Text" : `Query ${query.id}`;
    const told = query.id === undefined ? el("p", { class: "text" }, query.text) : description(query, fields);
    return [image, el("div", { class: "told" }, el("h3", {}, heading), told)].filter(Boolean);
  }

  /** Examples and counterexamples; a click takes one away. */
  examples({ like, unlike }) {
    const row = (label, ids) => (ids.length === 0 ? null : el("p", { class: "examples" }, el("span", { class: "soft" }, `${label} `),
      ids.map((id) => el("button", { type: "button", "aria-label": `no longer ${label} ${id}`, onclick: () => this.steer({ id }, "") }, `${id} ×`))));
    return [row("like", like), row("less like", unlike)];
  }

  legend() {
    this.column = el("span", { class: "column", hidden: true });
    this.hint = el("span");
    return el("p", { class: "legend soft", "aria-hidden": "true" }, this.hint, this.column);
  }

  queryRow() {
    return el("div", { class: "row asked" }, el("span", { class: "rank" }), el("span", { class: "who" }, "Query"),
      el("span", { class: "distance soft" }, "distance"),
      el("span", { class: "code" }), this.shown.truth ? el("span", { class: "truth soft" }, "true") : null);
  }

  rows(matches, fields, distances, collection) {
    const { truth } = this.shown;
    return el("ol", { class: truth ? "rows with-truth" : "rows", "aria-label": "Neighbours, the nearest first" }, matches.map((match, place) => {
      const image = picture(match, collection);
      const said = `${place + 1}: ${spokenName(match, fields)}, distance ${number(match.distance)}${match.symbols.length ? `, ${count(distances[place], "symbol")} differ` : ""}`;
      const who = el("button", { type: "button", class: "found", tabindex: -1, "aria-label": said },
        image, el("span", { class: "told" }, el("span", { class: "name" }, nameOf(match, fields)), el("span", { class: "sub" }, detailsOf(match, fields, image ? 0 : 1))));
      return el("li", { class: "row" }, el("span", { class: "rank", "aria-hidden": "true" }, String(place + 1)),
        el("span", { class: "who-cell" }, who, this.steering(match)), this.distance(match, distances[place]), el("span", { class: "code" }), truth ? el("span", { class: "truth no", "aria-hidden": "true" }) : null);
    }));
  }

  /** Buttons for more and less of the same; keys do the same on a neighbour. */
  steering(match) {
    if (!this.shown.steered) return null;
    const button = (sign, side, title) => el("button", { type: "button", tabindex: -1, title, "aria-label": `${title}: ${match.id}`, onclick: () => this.steer(match, side) }, sign);
    return el("span", { class: "steer" }, button("+", "like", "More like this"), button("−", "unlike", "Less like this"));
  }

  distance(match, differ) {
    const plain = match.distance === differ || match.symbols.length === 0;
    return el("span", { class: "distance", "aria-hidden": "true" }, el("b", {}, number(match.distance)),
      plain ? null : el("span", { class: "soft" }, `${differ} differ`));
  }

  /** Draw the strips anew for the width that there is. */
  redraw() {
    if (!this.shown) return;
    const { query, matches } = this.shown.result;
    const places = [...this.codes.querySelectorAll(".code")];
    const width = places.length ? Math.min(...places.map((place) => Math.floor(place.clientWidth))) : 0;
    if (width === 0 || this.shown.width === width) return;
    this.shown.width = width;
    this.redrawHistogram();
    if (query.symbols.length === 0) return;
    const codes = [query.symbols, ...matches.map((match) => match.symbols)];
    places.forEach((place, i) => place.replaceChildren(strip(codes[i], i ? query.symbols : null, width)));
    this.explain(null);
  }

  redrawHistogram() {
    const { result, state, distances } = this.shown;
    const limit = state.scoring === "hamming" ? state.radius : null;
    if (result.histogram) draw(byId("histogram"), result.histogram, distances, limit);
  }

  /** Say what the symbol under the pointer is. */
  point(event) {
    const drawing = event.target.closest("svg.strip");
    if (!drawing || !this.shown) return this.explain(null);
    const box = drawing.getBoundingClientRect();
    const asked = this.shown.result.query.symbols;
    const place = placeAt(asked.length, this.shown.width, box.height, event.clientX - box.left, event.clientY - box.top);
    const row = [...this.codes.querySelectorAll("svg.strip")].indexOf(drawing);
    if (place === null) return this.explain(null);
    this.highlight(place, drawing);
    const here = row > 0 ? `, here ${this.shown.result.matches[row - 1].symbols[place]}` : "";
    return this.explain(`symbol ${place + 1}: query ${asked[place]}${here}`);
  }

  /** Show the same symbol of all codes. */
  highlight(place, drawing) {
    const { columns, rows, cell } = layout(this.shown.result.query.symbols.length, this.shown.width);
    const left = drawing.getBoundingClientRect().left - this.codes.getBoundingClientRect().left;
    Object.assign(this.column.style, { left: `${left + (place % columns) * cell}px`, width: `${cell - 1}px` });
    this.column.hidden = rows > 1;
  }

  explain(text) {
    if (text === null) this.column.hidden = true;
    this.hint.textContent = text ?? "tall, underlined: differs from the query · low: agrees";
  }
}

function mark(cell, button, is) {
  cell.className = is ? "truth yes" : "truth no";
  cell.title = is ? "A true neighbour: among the nearest by stored vectors" : "Not among the nearest by stored vectors";
  cell.textContent = is ? "✓" : "·";
  button.ariaLabel += is ? ", a true neighbour" : ", not a true neighbour";
}

function emptiness(state) {
  if (state.radius !== null) return `No neighbour within the radius ${state.radius}. Make it larger, or leave it empty.`;
  return state.where ? "No other item passes the filter." : "There is no other item.";
}
