// The keys of a remote control lead on, also where a slider was moved last and would take them.
const KEYS = ["PageDown", "PageUp"];
const SLIDER = "[role=slider], input[type=range]";

const leadOn = (event) => {
  if (!KEYS.includes(event.key) || !event.target.closest?.(SLIDER)) return;
  event.stopImmediatePropagation();
  event.preventDefault();
  event.target.blur();
  const { key, code } = event;
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code, bubbles: true }));
};

export default () => {
  window.addEventListener("keydown", leadOn, true);
  return () => window.removeEventListener("keydown", leadOn, true);
};
