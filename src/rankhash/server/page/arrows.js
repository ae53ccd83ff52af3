// Arrow keys through a list of buttons, of which one at a time is a stop of the tab key.

/** Let the arrow keys, Home and End move through the buttons that `selector` finds in `list`; `beyond(step)` is called
 * when Page Up or Page Down is pressed. */
export function arrows(list, selector, beyond = () => {}) {
  const buttons = () => [...list.querySelectorAll(selector)];
  list.addEventListener("keydown", (event) => {
    const all = buttons();
    const here = all.indexOf(event.target.closest(selector));
    if (here < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "PageUp" || event.key === "PageDown") beyond(event.key === "PageDown" ? 1 : -1);
    const place = target(all, here, event.key);
    if (place === null && !event.key.startsWith("Page")) return;
    event.preventDefault();
    if (place !== null) stop(all, all[place], true);
  });
  list.addEventListener("focusin", (event) => {
    const button = event.target.closest(selector);
    if (button) stop(buttons(), button, false);
  });
}

/** Make one button the stop of the tab key, and give it the focus if asked. */
export function stop(buttons, chosen, focus) {
  for (const button of buttons) button.tabIndex = button === chosen ? 0 : -1;
  if (focus) {
    chosen.focus({ preventScroll: true });
    chosen.scrollIntoView({ block: "nearest" });
  }
}

function target(all, here, key) {
  const columns = Math.max(1, all.findIndex((button) => top(button) > top(all[0])) === -1
    ? all.length : all.findIndex((button) => top(button) > top(all[0])));
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
  if (key === "Home") return 0;
  if (key === "End") return all.length - 1;
  if (step === undefined) return null;
  return here + step < 0 || here + step >= all.length ? here : here + step;
}

const top = (button) => button.getBoundingClientRect().top;
