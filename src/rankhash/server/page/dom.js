// Elements and text. Whatever comes from a collection goes into text nodes and plain attributes, never into markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes (and `on…` listeners) and children: nodes, or text. Empty children are left out. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

export const byId = (id) => document.getElementById(id);

const whole = new Intl.NumberFormat("en");

/** An integer with separators, another number with four digits that count. */
export function number(value) {
  if (value === null) return "∞";
  if (typeof value === "bigint" || Number.isInteger(value)) return whole.format(value);
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : String(value);
}

/** "1 item", "2 items". */
export const count = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;

/** A value of metadata as short text. */
export function asText(value, limit = 240) {
  let text;
  if (value === null || value === undefined) text = "–";
  else if (typeof value === "object") text = JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part));
  else text = String(value);
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}
