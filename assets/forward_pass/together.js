/* A and B in step: the picture of B leads, that of A shows the same moment of its own pass. */

const MOMENT = "blockscope-pass-moment";
const ASKED = "blockscope-pass-asked";

function stayTogether(view) {
  const { pair } = view.scene;
  view.root.querySelector(".pass").classList.toggle("follows", pair === "a");
  view.root.querySelector(".pass").classList.toggle("leads", pair === "b");
  view.parts.title.parentElement.ariaLive = pair === "a" ? "off" : "polite"; // spoken once
  if (pair === "a") document.dispatchEvent(new CustomEvent(ASKED));
}

/* What a view listens to while it stands; the other does not hear what it tells itself. */
function listenTogether(view) {
  view.onMoment = (event) => view.scene?.pair === "a" && followMoment(view, event.detail);
  view.onAsked = () => view.scene?.pair === "b" && tellMoment(view);
}

function hear(view, isOn) {
  const change = isOn ? "addEventListener" : "removeEventListener";
  document[change](MOMENT, view.onMoment);
  document[change](ASKED, view.onAsked);
}

function tellMoment(view) {
  if (view.scene.pair !== "b") return;
  const { at, share } = view.moment;
  const { moves, layers } = view.scene;
  const detail = { path: moves[at].path, share, part: (at + share) / moves.length, nLayers: layers.length, place: view.place };
  document.dispatchEvent(new CustomEvent(MOMENT, { detail }));
}

/* Of as many layers the same move, where there is one; else as far along the whole pass. */
function followMoment(view, { path, share, part, nLayers, place }) {
  const { moves, index, layers } = view.scene;
  const own = layers.length === nLayers ? index.get(path) : undefined;
  const along = Math.min(part * moves.length, moves.length - 1e-9);
  view.moment = own === undefined ? { at: Math.floor(along), share: along % 1 } : { at: own, share };
  const zoom = place.zoom === "cell" ? "head" : place.zoom;
  view.place = { zoom, head: Math.min(place.head, view.scene.heads - 1), cell: null, cached: place.cached };
  view.wake();
}
