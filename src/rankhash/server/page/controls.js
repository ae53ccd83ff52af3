// The form: what is asked, and how.

import { byId, el } from "./dom.js";

const NAMES = { auto: "Auto", hamming: "Hamming", weighted: "Weighted", asymmetric: "Asymmetric" };
const TOLD = {
  auto: "The best that the collection has: score tables, and re-ranking by stored vectors",
  hamming: "The number of differing symbols", weighted: "Differing symbols, each by its learned weight",
  asymmetric: "The query keeps its real-valued scores",
};

/** The form; `change(part)` is called with what changed in the state, `ask({id} or {text, view})` with what was typed. */
export class Controls {
  constructor({ change, ask }) {
    this.change = change;
    byId("search").addEventListener("submit", (event) => {
      event.preventDefault();
      if (document.activeElement === byId("where")) return this.filter();
      const typed = byId("query").value.trim();
      if (typed) ask(byId("kind").value === "text" ? { text: typed, view: byId("view").value } : { id: typed });
    });
    byId("kind").addEventListener("change", () => this.label());
    byId("where").addEventListener("change", () => this.filter());
    byId("clear").addEventListener("click", () => { byId("where").value = ""; byId("where").focus(); this.filter(); });
    byId("scoring").addEventListener("change", (event) => change({ scoring: event.target.value }));
    for (const id of ["rerank", "candidates"]) byId(id).addEventListener("change", () => this.reranked());
    byId("k").addEventListener("change", () => this.numbered("k", { k: byId("k").valueAsNumber }));
    byId("radius").addEventListener("change", () => {
      const radius = byId("radius").valueAsNumber;
      this.numbered("radius", { radius: Number.isNaN(radius) ? null : radius });
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
      event.preventDefault();
      byId("where").select();
      byId("where").focus();
    });
  }

  /** Show a state, and only the switches that the collection offers. */
  show(state, collection, limits) {
    byId("kind").hidden = !collection.text;
    if (!collection.text) byId("kind").value = "id";
    else if (state.text) byId("kind").value = "text";
    else if (state.id !== null) byId("kind").value = "id";
    this.views(collection.views, state.view);
    this.label();
    byId("query").value = state.text || (state.id === null ? "" : String(state.id));
    byId("where").value = state.where;
    byId("clear").hidden = state.where === "";
    this.offer(collection.scorings, state.scoring);
    byId("scorings").hidden = collection.scorings.length < 3;  // of two, "auto" is the other
    byId("reranking").hidden = !collection.rerank;
    byId("rerank").checked = state.rerank !== null;
    if (state.rerank !== null) byId("candidates").value = state.rerank;
    byId("candidates").disabled = state.rerank === null;
    byId("k").value = state.k;
    byId("k").max = limits?.k ?? "";
    byId("candidates").max = limits?.matches ?? "";
    byId("radius").value = state.radius ?? "";
    for (const id of ["query", "where", "k", "radius"]) this.complain(id, "");
  }

  offer(scorings, chosen) {
    const inputs = () => [...byId("scoring").querySelectorAll("input")];
    if (inputs().map((input) => input.value).join() !== scorings.join()) byId("scoring").replaceChildren(...scorings.map(segment));
    for (const input of inputs()) input.checked = input.value === chosen;
  }

  /** Offer the views that a text may be of: that of the state, else the one called "text", else the first. */
  views(names, chosen) {
    byId("view").replaceChildren(...names.map((name) => el("option", { value: name }, name)));
    if (names.length) byId("view").value = [chosen, "text", names[0]].find((name) => names.includes(name));
  }

  /** Suggest a filter over fields that are there. */
  suggest(items, fields) {
    const isShort = (value) => ["number", "string"].includes(typeof value) && String(value).length <= 20;
    const field = fields.find((name) => items.some((item) => isShort(item.metadata?.[name])));
    const item = items.find((one) => isShort(one.metadata?.[field]));
    const quoted = field && !/^[a-z_]\w*$/i.test(field) ? `\`${field}\`` : field;
    byId("where").placeholder = item ? `${quoted} = ${JSON.stringify(item.metadata[field])}`.slice(0, 60) : "price < 20";
  }

  /** Write a message below a control, or take it away. */
  complain(id, message, ...more) {
    byId(`${id}-error`).replaceChildren(message, ...more);
    if (message) byId(id).setAttribute("aria-invalid", "true");
    else byId(id).removeAttribute("aria-invalid");
  }

  /** Show a mistake in the filter where it is. */
  complainOfFilter(error) {
    const text = [...byId("where").value];
    const place = Number.isInteger(error.position) ? Math.min(error.position, text.length) : null;
    const message = error.message.replace(/^the filter .* has a mistake at character \d+: /su, "");
    if (place === null) return this.complain("where", message);
    const before = text.slice(0, place).join(""), at = text[place] ?? " ", after = text.slice(place + 1).join("");
    const shown = el("code", { "aria-hidden": "true" }, before.slice(-40), el("mark", {}, at), after.slice(0, 40));
    this.complain("where", shown, el("span", {}, `character ${place + 1}: ${message}`));
    if (document.activeElement === byId("where")) byId("where").setSelectionRange(before.length, before.length + at.length);
    return undefined;
  }

  label() {
    const text = byId("kind").value === "text";
    byId("query-label").textContent = text ? "Text" : "Item id";
    byId("view").hidden = !text || byId("view").options.length === 0;
  }

  filter() {
    this.change({ where: byId("where").value.trim(), offset: 0 });
  }

  reranked() {
    byId("candidates").disabled = !byId("rerank").checked;
    if (!byId("rerank").checked) this.change({ rerank: null });
    else if (byId("candidates").validity.valid && byId("candidates").value) this.change({ rerank: byId("candidates").valueAsNumber });
  }

  numbered(id, part) {
    const { valid } = byId(id).validity;
    this.complain(id, valid ? "" : byId(id).validationMessage);
    if (valid) this.change(part);
  }
}

function segment(scoring) {
  const input = el("input", { type: "radio", name: "scoring", value: scoring });
  return el("label", { title: TOLD[scoring] ?? scoring }, input, el("span", {}, NAMES[scoring] ?? scoring));
}
