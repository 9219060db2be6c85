// Plotly selects what its last hover has found, and before a finger touches nothing hovers: each
// tap would act on what the tap before has touched. And it holds the page that a finger scrolls.
// So touches are kept from it, and a tap comes to it as a mouse would: it points, presses, releases.
// A phone whose name does not say that it is one is known by what it measures.
// A name beside a picture stands for its line, where a tap finds one and the same thing all along it.
// Another panel begins at its title.
// The menu lies over the page on a narrow screen: it closes behind a finger that has chosen there.
const SLIP = 10; // pixels that a finger may move within a tap
const GESTURE = ["mousemove", "mousedown", "mouseup"];
const NARROW = "(max-width: 768px) and (pointer: coarse)"; // where Streamlit lays the menu over the page
const NAMES = ".xtick text, .ytick text";
const SIDEBAR = "[data-testid=stSidebar]";

const APP = "[data-testid=stApp]";
const CALM = 300; // milliseconds

const TITLES = ".st-key-panel";

const listening = new WeakMap(); // one pair of ears a page: this is called anew once what is told changes

export default ({ data: { isPhone, panel }, parentElement, setStateValue }) => {
  const before = listening.get(parentElement);
  if (!before) {
    listening.set(parentElement, { stop: listen(), panel });
    if (!isPhone && window.matchMedia(NARROW).matches) onceCalm(() => setStateValue("narrow", true));
  } else if (before.panel !== panel) {
    before.panel = panel;
    beginAtTheTitles();
  }
  return () => {
    listening.get(parentElement)?.stop();
    listening.delete(parentElement);
  };
};

// Who goes on from the end of a panel would find themselves at the end of the next.
const beginAtTheTitles = () => {
  const titles = document.querySelector(TITLES);
  if (titles?.getBoundingClientRect().top < 0) titles.scrollIntoView();
};

// What is told while a page is being drawn cuts that off, and its widgets lose what they show.
const onceCalm = (tell) => {
  let since = Date.now();
  const timer = setInterval(() => {
    if (document.querySelector(APP)?.dataset.testScriptState !== "notRunning") since = Date.now();
    if (Date.now() - since < CALM) return;
    clearInterval(timer);
    tell();
  }, CALM / 5);
};

// Where the line begins whose name is under the finger; null where its marks are not all one thing.
const lineNamed = (chart, x, y) => {
  const ground = chart.querySelector(".nsewdrag");
  const names = [...chart.querySelectorAll(NAMES)].map((name) => ({ name, ...besideName(name, x, y) }));
  const [nearest] = names.sort((a, b) => a.far - b.far);
  if (!ground || !nearest || nearest.far > SLIP) return null;
  const { name, start } = nearest;
  const isBelow = Boolean(name.closest(".xtick"));
  const found = chart.data.filter(({ customdata }) => customdata).flatMap(({ customdata, ...marks }) => {
    const places = Array.from(isBelow ? marks.x : marks.y);
    return places.flatMap((place, i) => (place === name.__data__.x ? [JSON.stringify(customdata[i])] : []));
  });
  if (new Set(found).size !== 1) return null;
  const { left, bottom } = ground.getBoundingClientRect();
  const place = isBelow ? { clientX: start.x, clientY: bottom - 2 } : { clientX: left + 2, clientY: start.y };
  return { target: ground, ...place };
};

// How far a name is, which may be turned, and where it is tied to its axis.
const besideName = (name, x, y) => {
  const onScreen = name.getScreenCTM();
  const at = new DOMPoint(x, y).matrixTransform(onScreen.inverse());
  const box = name.getBBox();
  const far = Math.max(box.x - at.x, at.x - box.x - box.width, box.y - at.y, at.y - box.y - box.height);
  const middle = box.y + box.height / 2;
  return { far, start: new DOMPoint(name.getAttribute("x"), middle).matrixTransform(onScreen) };
};

const listen = () => {
  let began = null;

  const begin = (event) => {
    began = null;
    const chart = event.target.closest?.(".js-plotly-plot");
    if (!chart) return;
    const [{ clientX, clientY }] = event.touches;
    const named = event.target.closest(".nsewdrag") ? null : lineNamed(chart, clientX, clientY);
    if (!named && !event.target.closest(".drag")) return;
    event.stopPropagation();
    const mark = named || { target: event.target };
    if (event.touches.length === 1) began = { clientX, clientY, mark };
  };

  const end = (event) => {
    if (!began) return;
    event.stopPropagation();
    const [{ clientX, clientY }] = event.changedTouches;
    const isTap = Math.hypot(clientX - began.clientX, clientY - began.clientY) < SLIP;
    if (!isTap || !event.cancelable) return; // the page scrolls
    event.preventDefault(); // or the browser would send events of a mouse as well
    document.activeElement?.blur(); // what is being typed is taken over
    const { target, ...place } = { clientX, clientY, ...began.mark };
    for (const type of GESTURE) target.dispatchEvent(new MouseEvent(type, { ...place, bubbles: true }));
  };

  const leave = (event) => {
    const link = event.target.closest?.(`${SIDEBAR} [data-testid=stPageLink] a`);
    if (!link || !window.matchMedia(NARROW).matches) return;
    document.querySelector(`${SIDEBAR} [data-testid=stSidebarCollapseButton] button`)?.click();
  };

  const early = { capture: true };
  window.addEventListener("touchstart", begin, { ...early, passive: true });
  window.addEventListener("touchend", end, early);
  window.addEventListener("click", leave);
  return () => {
    window.removeEventListener("touchstart", begin, early);
    window.removeEventListener("touchend", end, early);
    window.removeEventListener("click", leave);
  };
};
