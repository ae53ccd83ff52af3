// The page: an address is a state, a state is two questions (a page of items; the neighbours of one), and two answers.

import * as api from "./api.js";
import { Browse, PAGE } from "./browse.js";
import { Controls } from "./controls.js";
import { byId, count, el, number } from "./dom.js";
import { Duplicates } from "./duplicates.js";
import { askForToken } from "./gate.js";
import { Recall } from "./recall.js";
import { Results } from "./results.js";
import { DEFAULTS, idsIn, listed, parseId, read, write } from "./state.js";

const browsing = api.latest(), searching = api.latest();
const browse = new Browse({ choose, turn: (offset) => navigate({ offset }) });
const results = new Results({ choose, steer });
const recall = new Recall();
const controls = new Controls({ change: (part) => navigate(part), ask });

const duplicates = new Duplicates({ find: (radius) => navigate({ duplicates: radius }), changed, refused });

let known = { collections: [], limits: {} };
let state = null;
let drawn = { browse: "", search: "" };

function choose(item) {
  navigate({ id: item.id, text: "", like: "", unlike: "" }, item);
  if (matchMedia("(max-width: 60rem)").matches) byId("neighbours").scrollIntoView();
}

/** Search by examples: like `item` as well, or less like it, or ("" for `side`) without it. */
function steer(item, side) {
  const examples = { like: idsIn(state.like), unlike: idsIn(state.unlike) };
  if (!state.like && state.id !== null) examples.like.push(state.id);
  for (const name of ["like", "unlike"]) examples[name] = examples[name].filter((id) => id !== item.id);
  if (side) examples[side].push(item.id);
  const { like, unlike } = examples;
  if (like.length === 0) return say("Choose first what the results should be like.");
  if (like.length === 1 && unlike.length === 0) return navigate({ id: like[0], text: "", like: "", unlike: "" });
  return navigate({ id: null, text: "", like: listed(like), unlike: listed(unlike) });
}

byId("collection").addEventListener("change", (event) => {
  navigate({ ...DEFAULTS, k: state.k, scoring: state.scoring, collection: event.target.value });
});
byId("to-duplicates").addEventListener("click", () => {
  if (state) navigate({ duplicates: state.duplicates === null ? usualRadius(current()) : null });
});
addEventListener("popstate", () => go(read(location.search)));
start();

async function start() {
  try {
    known = await api.collections();
  } catch (error) {
    return refused(error);
  }
  byId("collection").replaceChildren(...known.collections.map(({ name }) => el("option", { value: name }, name)));
  byId("collection").disabled = known.collections.length < 2;
  if (known.collections.length === 0) return results.fail("This server has no collection. Start it with: rankhash serve FILE");
  return go(read(location.search));
}

/** Ask for what was typed; an integer may also be the name of an item. */
function ask({ id, text, view }) {
  if (text) navigate({ text, view, id: null, like: "", unlike: "" });
  else navigate({ id: parseId(id), text: "", like: "", unlike: "" });
}

/** Go to the state that differs from this one in a part. */
function navigate(part, item) {
  if (!state) return;
  const next = usable({ ...state, ...part });
  if (write(next) !== write(state)) history.pushState(null, "", write(next));
  else drawn = { browse: drawn.browse, search: "" };
  go(next, item);
}

/** Show a state; `item` is the query if it is at hand. */
async function go(wanted, item) {
  state = usable(wanted);
  const collection = current();
  byId("collection").value = state.collection;
  if (!collection) return results.fail(`There is no collection ${state.collection}.`);
  byId("facts").textContent = facts(collection);
  duplicates.show(collection, state.duplicates);
  byId("to-duplicates").setAttribute("aria-pressed", String(state.duplicates !== null));
  if (state.duplicates !== null) return undefined;
  showControls();
  const questions = { browse: key("collection", "where", "offset"), search: searchKey() };
  const open = state.id === null && !state.text && !state.like;
  const loading = questions.browse === drawn.browse ? true : load();
  if (open && !(await loading)) return undefined;
  browse.mark(state.id);
  if (open || questions.search !== drawn.search) await search(item);
  return undefined;
}

/** The radius of duplicates to begin with: symbols that differ, or without codes a distance of vectors. */
const usualRadius = (collection) => (collection?.hasher === null ? 0.05 : 3);

/** Begin anew after items were deleted. */
async function changed(told) {
  say(told);
  drawn = { browse: "", search: "" };
  known = await api.collections().catch(() => known);
  go({ ...state, id: null, offset: 0 });
}

/** A state that the server can answer: without switches that the collection does not have. */
function usable(wanted) {
  const next = { ...wanted, collection: wanted.collection || known.collections[0]?.name || "" };
  const collection = known.collections.find(({ name }) => name === next.collection);
  if (!collection) return next;
  if (!collection.text) next.text = "";
  if (collection.store_vectors === null) next.like = next.unlike = "";
  if (!next.like) next.unlike = "";
  if (!next.text || !collection.views.includes(next.view)) next.view = "";
  if (!offered(collection, next).includes(next.scoring)) next.scoring = DEFAULTS.scoring;
  if (!collection.rerank) next.rerank = null;
  if (known.limits?.k) next.k = Math.min(next.k, known.limits.k);
  return next;
}

/** The scorings for this query: an item whose vector is not stored has no real-valued scores. */
function offered({ scorings, store_vectors }, { text }) {
  return scorings.filter((scoring) => scoring !== "asymmetric" || store_vectors !== null || text);
}

function showControls() {
  const collection = current();
  controls.show(state, { ...collection, scorings: offered(collection, state) }, known.limits);
}

const current = () => known.collections.find(({ name }) => name === state.collection);
const key = (...names) => JSON.stringify(names.map((name) => `${typeof state[name]} ${state[name]}`));

const searchKey = () => key("collection", "id", "like", "unlike", "text", "view", "k", "radius", "where", "scoring", "rerank");

/** Load the page of items; whether it is there now. */
async function load() {
  const { collection, where, offset } = state;
  const wanted = key("collection", "where", "offset");
  browse.busy(true);
  try {
    const page = await browsing((signal) => api.items(collection, { offset, limit: PAGE, where }, signal));
    if (!page) return false;
    browse.show(page, collection, where);
    browse.mark(state.id);
    if (!where) controls.suggest(page.items, browse.fields);
    drawn.browse = wanted;
    browse.busy(false);
    return true;
  } catch (error) {
    browse.busy(false);
    drawn.browse = "";
    if (error.code !== "bad_filter") browse.fail(error.message);
    refused(error);
    return false;
  }
}

/** Search for the neighbours of the query and show them. */
async function search(item) {
  if (state.id === null && !state.text && !state.like) {
    if (browse.items.length === 0) return results.fail("There is nothing to search for.");
    [item] = browse.items;
    state = { ...state, id: item.id };
    history.replaceState(null, "", write(state));
    showControls();
    browse.mark(state.id);
  }
  const asked = state;
  const wanted = searchKey();
  results.busy(true);
  try {
    await searching((signal) => answer(asked, item, signal, wanted));
  } catch (error) {
    results.busy(false);
    drawn.search = "";
    refused(error);
  }
  return undefined;
}

/** Two questions, so that the time taken is that of the search alone: what is near, then what the whole looks like. */
async function answer(asked, item, signal, wanted) {
  const { collection, text, view, id, k, radius, where, scoring, rerank } = asked;
  const type = typeof id === "string" && api.looksWhole(id) ? "string" : "";
  const examples = asked.like ? { like: idsIn(asked.like), unlike: idsIn(asked.unlike) } : null;
  const query = examples ?? (text ? { text } : item ?? await api.item(collection, id, type, signal));
  const question = { ...(examples ?? (text ? { text, view: view || null } : { id: query.id })), k, radius, where: where || null, scoring, rerank };
  const found = await api.search(collection, { ...question, metadata: true, symbols: true }, signal);
  if (signal.aborted) return;
  const { store_vectors, n_items, hasher } = current();
  const truth = store_vectors !== null && n_items <= (known.limits?.stored ?? Infinity);
  drawn.search = wanted;
  recall.set(null);
  settle(query);
  results.show(query, found, asked, truth, store_vectors !== null);
  document.title = `${text || (query.id ?? "examples")} · ${collection} · rankhash`;
  outdated(false);
  results.busy(false);
  try {
    const whole = await api.search(collection, { ...question, histogram: hasher !== null, truth }, signal);
    if (signal.aborted) return;
    say(results.complete(whole.results[0]));
    if (hasher !== null && truth) {
      const ask = async (options) => idsOf(await api.search(collection, { ...question, radius: null, ...options }, signal));
      recall.set({ ask, k, most: known.limits?.k ?? k, nItems: n_items, rerank });
    }
  } catch (error) {
    if (!signal.aborted) say(results.incomplete(error.message));
  }
}

const idsOf = (answer) => answer.results[0].matches.map((match) => match.id);

function say(text) {
  byId("status").textContent = text;
}

/** Take over the id as the server knows it: text that looks like an integer may be the name of an item. */
function settle(query) {
  if (query.id === undefined || query.id === state.id) return;
  state = { ...state, id: query.id };
  history.replaceState(null, "", write(state));
  browse.mark(state.id);
}

/** Say what went wrong, where it went wrong. */
function refused(error) {
  const message = [error.message, error.hint].filter(Boolean).join(" ");
  if (error.code === "bad_filter") controls.complainOfFilter(error);
  else if (error.code === "unknown_id") controls.complain("query", message);
  else if (error.status === 401) askForToken(`${error.message}.`);
  else results.fail(message, error.status === 0 || error.status >= 429 ? again : null);
  say(message);
  outdated(true);
}

function again() {
  if (known.collections.length) go(state);
  else start();
}

function outdated(is) {
  document.body.classList.toggle("outdated", is);
}

function facts({ n_items, hasher, n_symbols, arity, bits, metric, store_vectors }) {
  if (hasher === null) return [count(n_items, "item"), metric, `vectors as ${store_vectors}`].join(" · ");
  const code = `${count(n_symbols, "symbol")} of arity ${arity} (${number(bits)} bits)`;
  return [count(n_items, "item"), hasher, code, store_vectors ? `vectors as ${store_vectors}` : "codes only"].join(" · ");
}
