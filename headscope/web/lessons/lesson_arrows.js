// The arrow keys turn the page of a lesson, wherever they mean nothing else.

const TAKEN = "input, textarea, select, [contenteditable], [role=gridcell], [role=slider], [role=radiogroup], [role=tab]";
const BUTTONS = { ArrowLeft: "lesson-previous-", ArrowRight: "lesson-next-" };
let listening = false;

export default function () {
  if (listening) return;
  listening = true;
  document.addEventListener("keydown", (event) => {
    const name = BUTTONS[event.key];
    const modified = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
    const taken = event.composedPath().some((one) => one instanceof Element && one.matches(TAKEN));
    if (!name || modified || taken) return;
    const step = new URLSearchParams(location.search).get("step") ?? "1"; // a page may still show buttons of the last
    [...document.querySelectorAll(`[class*="st-key-${name}${Number(step)}"] button`)].at(-1)?.click();
  });
}
