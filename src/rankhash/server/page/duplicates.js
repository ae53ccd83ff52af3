// Groups of near-duplicates: which items stay and which go.

import * as api from "./api.js";
import { arrows, stop } from "./arrows.js";
import { byId, count, el, number } from "./dom.js";
import { card, tellingFields } from "./items.js";

const PAGE = 24;
const KEYS = { k: "keep", d: "drop", o: "only" };

/** The view; `find(radius)` is called for another radius, `changed()` after items were deleted, `refused(error)` when
 * the server refuses. */
export class Duplicates {
  constructor({ find, changed, refused }) {
    Object.assign(this, { changed, refused, asking: api.latest(), question: null, dropped: new Map(), seen: new Set() });
    this.list = byId("groups");
    byId("within-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const radius = byId("within").valueAsNumber;
      if (radius >= 0) find(radius);
    });
    byId("groups-previous").addEventListener("click", () => this.load(Math.max(0, this.offset - PAGE)));
    byId("groups-next").addEventListener("click", () => this.load(this.offset + PAGE));
    byId("drop").addEventListener("click", () => this.confirm());
    this.list.addEventListener("click", (event) => this.choose(event.target.closest("button"), "toggle"));
    this.list.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
      event.preventDefault();
      this.choose(event.target.closest("button"), KEYS[event.key]);
    });
    arrows(this.list, "button", (step) => this.turn(step));
  }

  /** Show the groups of a collection within a radius, or with null hide them. */
  show(collection, radius) {
    byId("duplicates").hidden = radius === null;
    for (const id of ["browse", "neighbours", "search"]) byId(id).hidden = radius !== null;
    const question = radius === null ? null : JSON.stringify([collection.name, radius]);
    if (question === this.question) return;
    Object.assign(this, { collection, radius, question, dropped: new Map(), seen: new Set() });
    if (question === null) return;
    byId("within").value = radius;
    this.load(0);
  }

  async load(offset) {
    byId("duplicates").setAttribute("aria-busy", "true");
    try {
      const answer = await this.asking((signal) => api.duplicates(this.collection.name, { radius: this.radius, offset, limit: PAGE }, signal));
      if (answer) this.draw(answer);
    } catch (error) {
      this.draw({ groups: [], total: 0, n_items: 0, offset: 0 });
      this.note([error.message, error.hint].filter(Boolean).join(" "));
      this.refused(error);
    }
    byId("duplicates").setAttribute("aria-busy", "false");
  }

  draw({ groups, total, n_items, offset }) {
    Object.assign(this, { groups, total, offset, items: groups.flat() });
    for (const [first, ...others] of groups) {
      if (this.seen.has(key(first))) continue;
      for (const item of [first, ...others]) this.seen.add(key(item));
      for (const item of others) this.dropped.set(key(item), item.id);
    }
    const fields = tellingFields(this.items);
    this.list.replaceChildren(...groups.map((group, place) =>
      el("li", { "aria-label": `Group ${number(offset + place + 1)}, ${count(group.length, "item")}` },
        el("ul", { class: "items" }, group.map((item) => el("li", {}, card(item, fields, this.collection.name)))))));
    const pictures = this.list.querySelectorAll("img").length > this.items.length / 2;
    for (const list of this.list.querySelectorAll(".items")) list.classList.toggle("pictures", pictures);
    byId("groups-range").textContent = groups.length ? `${number(offset + 1)}–${number(offset + groups.length)} of ${count(total, "group")} with ${count(n_items, "item")}` : "";
    byId("groups-previous").disabled = offset === 0;
    byId("groups-next").disabled = offset + groups.length >= total;
    this.note(groups.length ? "" : `No two items are within ${number(this.radius)} of each other.`);
    if (this.items.length) stop(this.buttons(), this.buttons()[0], false);
    this.mark();
  }

  turn(step) {
    const offset = this.offset + step * PAGE;
    if (offset >= 0 && offset < this.total) this.load(offset);
  }

  /** Keep or drop the item of a button, or with "only" drop all others of its group. */
  choose(button, what) {
    const item = this.items?.[this.buttons().indexOf(button)];
    if (!item) return;
    const drop = { keep: false, only: false, drop: true, toggle: !this.dropped.has(key(item)) }[what];
    if (drop) this.dropped.set(key(item), item.id);
    else this.dropped.delete(key(item));
    if (what === "only") {
      const others = this.groups.find((group) => group.includes(item)).filter((other) => other !== item);
      for (const other of others) this.dropped.set(key(other), other.id);
    }
    this.mark();
  }

  /** Show which items go. */
  mark() {
    this.buttons().forEach((button, place) => button.setAttribute("aria-pressed", String(this.dropped.has(key(this.items[place])))));
    byId("marked").textContent = this.seen.size ? `${count(this.dropped.size, "item")} of ${number(this.seen.size)} seen to drop` : "";
    byId("drop").disabled = !this.collection.writable || this.dropped.size === 0;
    byId("drop-note").hidden = this.collection.writable;
  }

  /** Delete what is marked, after its list was shown. */
  confirm() {
    const ids = [...this.dropped.values()];
    const dialog = el("dialog", { "aria-label": "Delete items", onclose: () => dialog.remove() },
      el("form", { method: "dialog", onsubmit: (event) => event.submitter.value === "delete" && this.remove(ids) },
        el("h2", {}, `Delete ${count(ids.length, "item")}?`), el("p", { class: "soft" }, "They cannot be brought back."),
        el("ul", { class: "ids" }, ids.map((id) => el("li", {}, `${id}`))),
        el("span", { class: "joined" }, el("button", { value: "delete" }, "Delete"), el("button", { value: "cancel", autofocus: true }, "Cancel"))));
    document.body.append(dialog);
    dialog.showModal();
  }

  async remove(ids) {
    try {
      const { deleted } = await api.remove(this.collection.name, ids);
      this.question = null;
      this.changed(`${count(deleted, "item")} deleted`);
    } catch (error) {
      this.note([error.message, error.hint].filter(Boolean).join(" "));
      this.refused(error);
    }
  }

  note(text) {
    byId("groups-note").textContent = text;
    byId("groups-note").hidden = text === "";
  }

  buttons() {
    return [...this.list.querySelectorAll("button")];
  }
}

const key = ({ id }) => `${typeof id} ${id}`;
