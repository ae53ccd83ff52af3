// How an item looks: its picture if it has one, else the fields that distinguish it.

import { showImage } from "./api.js";
import { asText, el } from "./dom.js";

const PICTURE = /^data:image\/(png|jpeg|webp|gif);base64,[a-z0-9+/=\s]*$/i;
const NAMES = ["title", "name", "label", "caption", "class", "category", "word", "text", "headline"];

/** The fields of these items' metadata, the most telling first: known names, then short values that vary. */
export function tellingFields(items) {
  const fields = new Map();
  for (const { metadata } of items) {
    for (const [name, value] of Object.entries(metadata ?? {}).slice(0, 60)) {
      if (name === "image" || value === null) continue;
      if (!fields.has(name)) fields.set(name, { name, n: 0, values: new Set(), nested: 0, length: 0 });
      const field = fields.get(name);
      const text = asText(value, 100);
      field.n += 1;
      field.values.add(text);
      field.nested += typeof value === "object";
      field.length += text.length;
    }
  }
  const score = (field) => {
    const known = NAMES.indexOf(field.name.toLowerCase());
    const varies = field.values.size > 1 || items.length === 1;
    return (known < 0 ? 0 : 3 - known / 10) + (varies ? 2 : 0) + field.n / items.length
      - 2 * (field.nested / field.n) - (field.length / field.n > 60 ? 1 : 0);
  };
  return [...fields.values()].sort((one, other) => score(other) - score(one)).map((field) => field.name);
}

/** What an item is called: the first field that is a title by its name; without one, its id. */
export function nameOf(item, fields) {
  const field = titleField(item, fields);
  return field === undefined ? `${item.id}` : asText(item.metadata[field], 200);
}

/** Further details of an item: its id unless that is its name, and fields. */
export function detailsOf(item, fields, most) {
  const title = titleField(item, fields);
  const told = fields.filter((name) => name !== title && has(item, name)).slice(0, most);
  const lines = told.map((name) => el("span", { class: "line" }, el("span", { class: "soft" }, `${asText(name, 40)} `), asText(item.metadata[name], 80)));
  return title === undefined ? lines : [...lines, el("span", { class: "id" }, `${item.id}`)];
}

/** What is said of an item by a screen reader. */
export function spokenName(item, fields) {
  const told = fields.filter((name) => has(item, name)).slice(0, 2);
  return [`item ${item.id}`, ...told.map((name) => `${name} ${asText(item.metadata[name], 60)}`)].join(", ");
}

/** The picture of an item, or null. Only pictures in the metadata itself and those that the server keeps are shown. */
export function picture(item, collection) {
  const given = item.metadata?.image;
  if (typeof given !== "string" || given === "") return null;
  const inside = PICTURE.test(given);
  if (!inside && given.startsWith("data:")) return null;
  const image = el("img", { alt: "", loading: "lazy", decoding: "async" });
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth < 64));
  image.addEventListener("error", () => image.replaceWith(el("span", { class: "missing", title: "There is no such picture" })));
  if (inside) image.src = given;
  else showImage(image, collection, item.id);
  return image;
}

/** A card of the grid: a button that makes the item the query. */
export function card(item, fields, collection) {
  const image = picture(item, collection);
  return el("button", { type: "button", class: image ? "card pictured" : "card", tabindex: -1, "aria-label": spokenName(item, fields) },
    image, el("span", { class: "name" }, nameOf(item, fields)), detailsOf(item, fields, image ? 0 : 3));
}

/** All metadata of an item but its picture, as a list of terms. */
export function description(item, fields) {
  const names = Object.keys(item.metadata ?? {}).filter((name) => name !== "image");
  const rank = (name) => (fields.includes(name) ? fields.indexOf(name) : Infinity);
  names.sort((one, other) => rank(one) - rank(other) || 0);
  return el("dl", {}, names.slice(0, 40).map((name) => el("div", {}, el("dt", {}, asText(name, 60)), el("dd", {}, asText(item.metadata[name])))));
}

function titleField(item, fields) {
  return fields.find((name) => has(item, name) && NAMES.includes(name.toLowerCase()));
}

const has = (item, name) => Object.hasOwn(item.metadata ?? {}, name) && item.metadata[name] !== null;
