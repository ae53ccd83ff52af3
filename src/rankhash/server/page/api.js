// Questions to the server that this page came from.

const ROOT = new URL("v1/", document.baseURI);

/** What the server refused, or could not be asked: `code`, `message`, `hint`, and for filters the `position`. */
export class Refusal extends Error {
  constructor({ code, message, hint, position }, status) {
    super(message);
    Object.assign(this, { code, hint: hint ?? "", position, status });
  }
}

let token = sessionStorage.getItem("token") ?? "";

/** Remember the token of a server that asks for one, until the tab is closed. */
export function useToken(value) {
  token = value;
  sessionStorage.setItem("token", value);
}

export const collections = (signal) => ask("collections", { signal });

export function items(name, { offset, limit, where }, signal) {
  const parameters = new URLSearchParams({ offset, limit });
  if (where) parameters.set("where", where);
  return ask(`collections/${encodeURIComponent(name)}/items?${parameters}`, { signal });
}

export function item(name, id, type, signal) {
  const forced = type ? `?type=${type}` : "";
  return ask(`collections/${encodeURIComponent(name)}/items/${encodeURIComponent(id)}${forced}`, { signal });
}

export function search(name, question, signal) {
  return ask(`collections/${encodeURIComponent(name)}/search`, { method: "POST", body: writeJson(question), signal });
}

export function duplicates(name, question, signal) {
  return ask(`collections/${encodeURIComponent(name)}/duplicates?${new URLSearchParams(question)}`, { signal });
}

/** Delete items; the server must be one that may be changed. */
export function remove(name, ids) {
  return ask(`collections/${encodeURIComponent(name)}/items`, { method: "DELETE", body: writeJson({ ids }) });
}

/** Let an image show the picture that an item's metadata names by a file. */
export async function showImage(image, name, id) {
  const forced = typeof id === "string" && looksWhole(id) ? "?type=string" : "";
  const address = new URL(`collections/${encodeURIComponent(name)}/images/${encodeURIComponent(id)}${forced}`, ROOT);
  if (!token) image.src = address;
  else image.src = await dataAddress(address).catch(() => "data:,");  // which is no picture
}

async function dataAddress(address) {
  const response = await fetch(address, { headers: { Authorization: `Bearer ${token}` } });
  const reader = new FileReader();
  const done = new Promise((resolve) => reader.addEventListener("loadend", resolve));
  reader.readAsDataURL(await response.blob());
  await done;
  return reader.result;
}

/** Whether text reads as an integer id. */
export const looksWhole = (text) => /^(0|-?[1-9]\d*)$/.test(text);

/** A function that runs one question at a time: a new one ends the one before, which then gives undefined. */
export function latest() {
  let current = null;
  return async (question) => {
    current?.abort();
    const mine = (current = new AbortController());
    try {
      const answer = await question(mine.signal);
      return mine.signal.aborted ? undefined : answer;
    } catch (error) {
      if (mine.signal.aborted) return undefined;
      throw error;
    }
  };
}

async function ask(path, options) {
  const headers = { Accept: "application/json" };
  if (options.body) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(new URL(path, ROOT), { ...options, headers, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal({ code: "unreachable", message: "The server does not answer.", hint: "Is it still running?" }, 0);
  }
  const answer = readJson(await response.text());
  if (response.ok && answer) return answer;
  const fallback = { code: "unknown", message: `The server answered with status ${response.status}.` };
  throw new Refusal(answer?.error ?? fallback, response.status);
}

// Ids may have 64 bits, more than a number of JavaScript holds: those stay exact as BigInt, in both directions.
export function readJson(text) {
  try {
    return JSON.parse(text, (_, value, context) =>
      typeof value === "number" && !Number.isSafeInteger(value) && looksWhole(context?.source ?? "") ? BigInt(context.source) : value);
  } catch {
    return null;
  }
}

export function writeJson(value) {
  return JSON.stringify(value, (_, part) => (typeof part === "bigint" ? JSON.rawJSON(String(part)) : part));
}
