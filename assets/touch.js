// Plotly selects what its last hover has found, and before a finger touches nothing hovers: each
// tap would act on what the tap before has touched. And it holds the page that a finger scrolls.
// So touches are kept from it, and a tap comes to it as a mouse would: it points, presses, releases.
// A phone whose name does not say that it is one is known by what it measures.
// The menu lies over the page on a narrow screen: it closes behind a finger that has chosen there.
const SLIP = 10; // pixels that a finger may move within a tap
const GESTURE = ["mousemove", "mousedown", "mouseup"];
const NARROW = "(max-width: 768px) and (pointer: coarse)"; // where Streamlit lays the menu over the page
const SIDEBAR = "[data-testid=stSidebar]";

const APP = "[data-testid=stApp]";
const CALM = 300; // milliseconds

const listening = new WeakMap(); // one pair of ears a page: this is called anew once what is known changes

export default ({ data: isKnown, parentElement, setStateValue }) => {
  if (!listening.has(parentElement)) {
    listening.set(parentElement, listen());
    if (!isKnown && window.matchMedia(NARROW).matches) onceCalm(() => setStateValue("narrow", true));
  }
  return () => {
    listening.get(parentElement)?.();
    listening.delete(parentElement);
  };
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

const listen = () => {
  let began = null;

  const begin = (event) => {
    began = null;
    if (!event.target.closest?.(".js-plotly-plot .drag")) return;
    event.stopPropagation();
    const [{ clientX, clientY }] = event.touches;
    if (event.touches.length === 1) began = { clientX, clientY };
  };

  const end = (event) => {
    if (!began) return;
    event.stopPropagation();
    const [{ clientX, clientY }] = event.changedTouches;
    const isTap = Math.hypot(clientX - began.clientX, clientY - began.clientY) < SLIP;
    if (!isTap || !event.cancelable) return; // the page scrolls
    event.preventDefault(); // or the browser would send events of a mouse as well
    document.activeElement?.blur(); // what is being typed is taken over
    for (const type of GESTURE) {
      event.target.dispatchEvent(new MouseEvent(type, { clientX, clientY, bubbles: true }));
    }
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
