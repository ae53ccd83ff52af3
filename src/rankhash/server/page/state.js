// What the page shows is its address: every state can be shared, and back and forward work.

import { looksWhole, readJson, writeJson } from "./api.js";

export const DEFAULTS = Object.freeze({
  collection: "", id: null, like: "", unlike: "", text: "", view: "", k: 10, radius: null, where: "", scoring: "auto", rerank: null, offset: 0, duplicates: null,
});

/** The state of an address' query; whatever cannot be read is as if it were not there. */
export function read(query) {
  const given = new URLSearchParams(query);
  const state = { ...DEFAULTS };
  for (const name of ["collection", "text", "view", "where", "scoring"]) state[name] = given.get(name) ?? DEFAULTS[name];
  state.k = whole(given.get("k"), 1) ?? DEFAULTS.k;
  state.rerank = whole(given.get("rerank"), 1);
  state.offset = whole(given.get("offset"), 0) ?? 0;
  for (const name of ["radius", "duplicates"]) {
    const distance = Number.parseFloat(given.get(name) ?? "");
    state[name] = distance >= 0 && distance < Infinity ? distance : null;
  }
  if (idsIn(given.get("like")).length) {
    for (const name of ["like", "unlike"]) state[name] = listed(idsIn(given.get(name)));
  }
  if (given.has("id")) state.id = parseId(given.get("id"), given.get("type"));
  return state;
}

/** The address of a state, without what is as usual. */
export function write(state) {
  const query = new URLSearchParams();
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    if (state[name] !== usual) query.set(name, String(state[name]));
  }
  if (typeof state.id === "string" && looksWhole(state.id)) query.set("type", "string");
  return `?${query}`;
}

/** An id as it was typed: an integer if it reads as one, unless it is said to be text. */
export function parseId(text, type) {
  if (type === "string" || !looksWhole(text)) return text;
  return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
}

/** The ids in a list of examples, which is text in the state and in the address: `[4, "chair"]`. */
export function idsIn(text) {
  const ids = readJson(text ?? "");
  const fine = Array.isArray(ids) && ids.every((id) => ["number", "string", "bigint"].includes(typeof id));
  return fine ? ids : [];
}

/** Ids as a list of examples. */
export const listed = (ids) => (ids.length ? writeJson(ids) : "");

function whole(text, least) {
  const value = /^\d{1,9}$/.test(text ?? "") ? Number(text) : NaN;
  return value >= least ? value : null;
}
