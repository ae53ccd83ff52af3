// The grid of a collection's items, a page at a time.

import { arrows, stop } from "./arrows.js";
import { byId, count, number } from "./dom.js";
import { card, tellingFields } from "./items.js";

export const PAGE = 48;

/** The grid; `choose(item)` is called for the item that becomes the query, `turn(offset)` for another page. */
export class Browse {
  constructor({ choose, turn }) {
    this.items = [];
    this.list = byId("items");
    this.turn = turn;
    this.wanted = null;
    this.list.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) choose(this.items[this.buttons().indexOf(button)]);
    });
    byId("previous").addEventListener("click", () => this.page(-1));
    byId("next").addEventListener("click", () => this.page(1));
    arrows(this.list, "button", (step) => this.page(step, true));
  }

  /** Show a page of items as the server gave it. */
  show({ items, total, offset }, collection, where) {
    Object.assign(this, { items, total, offset });
    this.fields = tellingFields(items);
    this.list.replaceChildren(...items.map((item) => {
      const place = document.createElement("li");
      place.append(card(item, this.fields, collection));
      return place;
    }));
    this.list.classList.toggle("pictures", this.list.querySelectorAll("img").length > items.length / 2);
    byId("range").textContent = items.length ? `${number(offset + 1)}–${number(offset + items.length)} of ${number(total)}` : "";
    byId("previous").disabled = offset === 0;
    byId("next").disabled = offset + items.length >= total;
    this.note(items.length ? "" : where ? "No item passes the filter." : total ? "There is no such page." : "This collection is empty. Add items with: rankhash add");
    if (items.length) stop(this.buttons(), this.buttons()[0], this.wanted !== null);
    this.wanted = null;
  }

  /** Say why there is nothing to see. */
  note(text) {
    byId("items-note").textContent = text;
    byId("items-note").hidden = text === "";
  }

  fail(message) {
    this.show({ items: [], total: 0, offset: 0 }, "", "");
    this.note(message);
  }

  busy(is) {
    byId("browse").setAttribute("aria-busy", String(is));
  }

  /** Mark the item that is the query. */
  mark(id) {
    this.buttons().forEach((button, place) => {
      if (this.items[place].id === id) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
  }

  page(step, focus = false) {
    const offset = Math.max(0, this.offset + step * PAGE);
    if (offset === this.offset || offset >= this.total) return;
    this.wanted = focus ? true : null;
    this.turn(offset);
  }

  buttons() {
    return [...this.list.querySelectorAll("button")];
  }

  spoken() {
    return `${count(this.items.length, "item")} of ${number(this.total)}`;
  }
}
