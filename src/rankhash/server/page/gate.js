// The token of a server that is open to other machines.

import { useToken } from "./api.js";
import { el } from "./dom.js";

/** Ask for the token, saying why, then load the page again. */
export function askForToken(reason) {
  if (document.querySelector("dialog")) return;
  const token = el("input", { type: "password", autocomplete: "current-password", required: true, "aria-label": "Token" });
  const form = el("form", { onsubmit: (event) => {
    event.preventDefault();
    useToken(token.value);
    location.reload();
  } }, el("h2", {}, "This server asks for its token"), el("p", { class: "soft" }, `${reason} It is kept until the tab is closed.`),
    el("input", { hidden: true, autocomplete: "username", "aria-hidden": "true" }),
    el("span", { class: "joined" }, token, el("button", { type: "submit" }, "Open")));
  const dialog = el("dialog", { "aria-label": "Token" }, form);
  document.body.append(dialog);
  dialog.showModal();
}
