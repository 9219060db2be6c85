/* What the reader does, and the words around the picture. */

function listen(view) {
  const { parts } = view;
  parts.play.addEventListener("click", () => view.play(!view.isPlaying));
  parts.back.addEventListener("click", () => view.step(-1));
  parts.on.addEventListener("click", () => view.step(1));
  parts.out.addEventListener("click", () => view.zoomOut());
  parts.in.addEventListener("click", () => view.zoomIn());
  parts.next.addEventListener("click", () => view.write());
  parts.write.addEventListener("click", () => view.keepWriting(!view.isWriting));
  parts.backward.addEventListener("click", () => view.setDirection(view.scene.is_back ? "forward" : "backward"));
  parts.cached.addEventListener("click", () => view.setCached(!view.isCached));
  parts.drafts.addEventListener("click", () => view.setDrafts(!view.isDrafted));
  parts.speed.addEventListener("change", () => (view.speed = Number(parts.speed.value)));
  parts.scrub.addEventListener("input", () => scrubTo(view, Number(parts.scrub.value)));
  parts.canvas.addEventListener("keydown", (event) => onKey(view, event));
  parts.canvas.addEventListener("wheel", (event) => onWheel(view, event), { passive: false });
  view.onKeyOfPage = (event) => isOfPage(view, event) && onKey(view, event);
  view.onKeyOfRemote = (event) => onRemote(view, event);
  view.onAway = (event) => closeWords(view, event);
  listenToFingers(view);
}

/* A remote control of a projector steps through the pass, and then leads to what is next. */
function onRemote(view, event) {
  const by = { PageDown: 1, PageUp: -1 }[event.key];
  if (!by || !view.scene.is_presented || view.scene.pair === "a" || (by > 0 ? view.isDone : view.isAtStart)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  view.step(by);
}

/* The list of words closes at Escape and at a click beside it. */
function closeWords({ parts: { words } }, event) {
  if (!words.open || (event.type === "keydown" ? event.key !== "Escape" : event.composedPath().includes(words))) return;
  words.open = false;
  if (event.type === "keydown") event.stopPropagation();
}

/* Space and the arrows that step are the picture's where nothing else has the focus. */
function isOfPage(view, event) {
  const { top, bottom } = view.parts.canvas.getBoundingClientRect();
  if (view.scene.pair === "a") return false;
  const isSeen = top < innerHeight && bottom > 0;
  return isSeen && event.target === document.body && [" ", "ArrowLeft", "ArrowRight"].includes(event.key);
}

const KEYS = {
  " ": (view) => view.play(!view.isPlaying),
  ArrowRight: (view) => view.step(1),
  ArrowLeft: (view) => view.step(-1),
  ArrowDown: (view) => view.changeHead(1),
  ArrowUp: (view) => view.changeHead(-1),
  Enter: (view) => view.zoomIn(),
  "+": (view) => view.zoomIn(),
  "-": (view) => view.zoomOut(),
  Escape: (view) => view.zoomOut(),
  Home: (view) => scrubTo(view, 0),
  End: (view) => scrubTo(view, view.lastSeen + 1),
};

function onKey(view, event) {
  const act = KEYS[event.key];
  if (!act || view.scene.pair === "a" || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  act(view);
}

/* A place of the scrubber: the move, and how far it has come. */
function scrubTo(view, place) {
  const at = Math.min(view.lastSeen, Math.floor(place));
  view.isPlaying = view.isStepping = false;
  view.place.cell = view.left = null;
  if (view.place.zoom === "cell") view.place.zoom = "head";
  view.moment = { at, share: Math.min(1, place - at) };
  view.tell();
  view.wake();
}

/* A page scrolls under the wheel; with Ctrl, as a trackpad sends a pinch, the picture zooms. */
function onWheel(view, event) {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  view.turned = (view.turned || 0) + event.deltaY;
  if (Math.abs(view.turned) < 24) return;
  const isIn = view.turned < 0;
  view.turned = 0;
  if (performance.now() - (view.zoomed || 0) < 500) return;
  view.zoomed = performance.now();
  if (isIn) zoomInto(view, ...placeIn(view, event));
  else view.zoomOut();
}

function placeIn(view, event) {
  const box = view.parts.canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/* One finger along the picture moves time, and close by the picture itself; two zoom, a tap goes into
   what is tapped. */
function listenToFingers(view) {
  const { canvas } = view.parts;
  const down = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    const { at, share } = view.moment;
    const start = { first: event.clientX, low: event.clientY, place: at + share, camera: view.camera };
    down.set(event.pointerId, { x: event.clientX, y: event.clientY, ...start });
    view.fingersApart = spreadOf(down);
  });
  canvas.addEventListener("pointermove", (event) => {
    const finger = down.get(event.pointerId);
    if (finger) Object.assign(finger, { x: event.clientX, y: event.clientY });
    if (down.size === 2) pinch(view, down);
    else if (finger && Math.abs(finger.x - finger.first) > 12) drag(view, finger);
    else point(view, event);
  });
  const lift = (event) => {
    const finger = down.get(event.pointerId);
    const isTap = finger && down.size === 1 && Math.hypot(event.clientX - finger.first, event.clientY - finger.low) < 8;
    down.delete(event.pointerId);
    if (isTap && event.type === "pointerup") zoomInto(view, ...placeIn(view, event));
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => {
    pointNowhere(view);
    view.wake();
  });
}

/* Across the whole picture lies the whole pass; around a number lie those beside it. */
function drag(view, finger) {
  if (view.scene.pair === "a" || ["layer", "head"].includes(seenZoom(view))) return;
  if (seenZoom(view) === "cell") {
    const { camera, first, low } = finger;
    view.stays = { ...camera, x: camera.x - (finger.x - first) / view.painted.zoom, y: camera.y - (finger.y - low) / view.painted.zoom };
    view.laid = "";
    return view.wake();
  }
  const place = finger.place + ((finger.x - finger.first) / view.width) * view.scene.moves.length;
  scrubTo(view, Math.max(0, Math.min(view.lastSeen + 1, place)));
}

function spreadOf(down) {
  const [a, b] = [...down.values()];
  return b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
}

function pinch(view, down) {
  const now = spreadOf(down);
  const share = now / (view.fingersApart || now);
  if (share < 1.35 && share > 0.74) return;
  view.fingersApart = now;
  const fingers = [...down.values()];
  const middle = { clientX: (fingers[0].x + fingers[1].x) / 2, clientY: (fingers[0].y + fingers[1].y) / 2 };
  if (share > 1) zoomInto(view, ...placeIn(view, middle));
  else view.zoomOut();
}

/* Into what lies there: a layer, a head of it, a cell. */
function zoomInto(view, x, y) {
  if (!view.painted || view.scene.pair === "a") return;
  const lead = leadAt(view, x, y);
  view.isPlaying = false;
  view.parts.tip.hidden = true;
  if (lead) lead();
}

/* What a click there does; null where it does nothing, and the pointer is no hand. */
function leadAt(view, x, y) {
  const p = view.painted;
  const word = wordAt(p, x, y);
  if (word) return () => view.mark(word);
  const at = { x: p.camera.x + x / p.zoom, y: p.camera.y + y / p.zoom };
  const cell = cellAt(p, x, y);
  const under = p.layout.groups.find((each) => each.start && at.x >= each.x && at.x < each.x + each.w);
  if (seenZoom(view) === "model") {
    if (!under) return null;
    const band = bandUnder(p, x, y);
    if (band) return () => view.setSpread(band);
    const heads = under.moves.filter((move) => move.inHead);
    const shown = heads.length && view.width < 640 ? heads : under.moves; // a phone has room for the heads alone
    const last = Math.max(...shown.map((move) => p.scene.index.get(move.path)));
    return () => view.setZoom("layer", {}, { at: last, share: 1 });
  }
  const head = [...p.layout.heads.values()].find((each) => each.alpha > 0.5 && isInside(at, each));
  if (view.place.zoom === "layer" && head) {
    const move = p.scene.moves.findLast((each) => each.start === head.group.start && each.inHead && each.stage.startsWith("cross_") === (head.cross !== ""));
    return () => {
      view.moment = { at: p.scene.moves.indexOf(move), share: 1 };
      view.setZoom("head", { head: head.head });
    };
  }
  if (!cell && view.place.zoom === "layer" && under && !under.moves.includes(view.move)) {
    return () => {
      view.moment = { at: p.scene.index.get(under.moves.at(-1).path), share: 1 };
      view.setZoom("layer");
    };
  }
  if (!cell || cell.aside) return null;
  return () => view.setZoom("cell", { head: cell.head, cell: { path: cell.move.path, row: cell.row, col: cell.col } });
}

function pointNowhere(view) {
  view.pointed = null;
  view.parts.tip.hidden = true;
}

/* The number under the pointer, with the words that belong to it. */
function point(view, event) {
  if (!view.painted) return;
  const { tip, stage, canvas } = view.parts;
  const [x, y] = placeIn(view, event);
  canvas.style.cursor = view.scene.pair === "a" || leadAt(view, x, y) ? "" : "default";
  const cell = cellAt(view.painted, x, y);
  const band = !cell && bandUnder(view.painted, x, y);
  view.pointed = cell;
  tip.hidden = !cell && !band;
  if (!tip.hidden) {
    tip.textContent = cell ? sayCell(view.painted, cell) : view.scene.words.in_band;
    const room = stage.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(4, Math.min(x + 14, room))}px`;
    tip.style.top = `${besideMatrix(view, cell) ?? (y > 70 ? y - tip.offsetHeight - 12 : y + 22)}px`;
  }
  view.wake();
}

/* Below the matrix that is read, or above it, so that none of its rows is covered; null where neither has room. */
function besideMatrix(view, cell) {
  if (!cell) return null;
  const [{ y, h }, high] = [screen(view.painted, cell.box), view.parts.tip.offsetHeight];
  if (y + h + high + 6 < view.height) return y + h + 6;
  return y - high - 6 > 0 ? y - high - 6 : null;
}

function sayCell(p, cell) {
  const { scene } = p;
  const { move, matrix, head, row, col } = cell;
  const words = scene.words;
  if (cell.aside) return sayAside(scene, cell);
  const rows = scene.tokens[matrix.rowsOf];
  const value = numberOf(scene, cell, row, col);
  const where = matrix.colsOf === null ? `${words.feature} ${col + 1 + matrix.first}` : `${words.key} ${scene.tokens[matrix.colsOf][col]}`;
  const who = matrix.colsOf === null ? rows[row] : `${words.query} ${rows[row]}`;
  const named = move.inHead ? `${move.title}, ${words.head} ${head + 1}` : move.title;
  const isOut = Number.isNaN(value) || isRuledOut(p, cell, row, col);
  const shown = isOut ? words.masked : `≈ ${shownNumber(value, matrix.strong)}`;
  return `${named} · ${who} · ${where} · ${shown}`;
}

/* Of a folded layer: what the cache holds of a token, or how much of it an expert has. */
function sayAside(scene, { move, matrix, aside, row, col }) {
  const [title, column] = scene.words.asides[aside];
  const layer = scene.layers.find((each) => each.start === move.start);
  const of = matrix.cols > 1 ? ` · ${column} ${col + 1}` : "";
  return `${layer.title} · ${title} · ${scene.tokens[matrix.rowsOf][row]}${of} · ≈ ${shownNumber(matrix.value(0, row, col), matrix.strong)}`;
}

function fillWords(view) {
  const { parts, scene } = view;
  const { words } = scene;
  for (const [name, text] of Object.entries(words.buttons)) {
    if (!parts[name]) continue;
    parts[name].setAttribute("aria-label", text);
    parts[name].title = text;
  }
  for (const name of ["next", "write", "cached", "drafts", "backward"]) parts[name].textContent = words.buttons[name];
  parts.next.hidden = parts.write.hidden = !scene.writes;
  parts.cached.hidden = !scene.keeps;
  parts.backward.hidden = !scene.learns;
  parts.drafts.hidden = !scene.drafts || !scene.writes;
  parts.drafts.setAttribute("aria-pressed", view.isDrafted);
  parts.backward.setAttribute("aria-pressed", scene.is_back);
  parts.backward.textContent = scene.is_back ? words.buttons.forward : words.buttons.backward;
  fillLegend(parts.legend, scene);
  fillGlossary(parts.words, scene.words.glossary);
  parts.scrub.max = scene.moves.length;
  parts.scrub.style.setProperty("--parts", partsOf(view));
  parts.canvas.setAttribute("aria-label", words.picture);
}

/* What colours and lines mean. */
function fillLegend(list, scene) {
  list.replaceChildren(
    ...scene.legend.map(([part, text]) => {
      const entry = document.createElement("li");
      entry.dataset.of = part;
      const swatch = document.createElement("span");
      swatch.style.background = scene.colors[part] || "currentColor";
      entry.append(swatch, text);
      return entry;
    }),
  );
}

function fillGlossary(details, { title, words }) {
  const [summary, list] = details.children;
  summary.textContent = title;
  list.replaceChildren(...words.map((text) => withBold("li", text)));
}

/* An element with this text, in which ** sets what is bold. */
function withBold(name, text) {
  const made = document.createElement(name);
  text.split("**").forEach((piece, i) => {
    const part = document.createElement(i % 2 ? "b" : "span");
    part.textContent = piece;
    made.append(part);
  });
  return made;
}

/* The arithmetic of the chosen number, in the place of the sentence of the moment: it covers no other number. */
function showSum(view) {
  const { sum, said } = view.parts;
  const { written } = view.scene;
  const cell = view.painted.cell;
  const isTold = cell && written && written.cell === `${cell.move.path}:${cell.row},${cell.col}`;
  sum.hidden = !cell || !written || (!isTold && sum.hidden); // that of the number before, until the next is sent
  said.parentElement.hidden = !sum.hidden;
  if (!isTold) return;
  if (view.told !== written) sum.replaceChildren(withBold("div", written.text));
  view.told = written;
}

/* The scrubber shows the whole pass: a colour for each part. */
function partsOf(view) {
  const { moves } = view.scene;
  const colors = colorsOf(view);
  const stops = moves.map((move, i) => {
    const color = move.kind === "logits" || move.kind === "choose" || move.kind === "next" ? colors.logits : colors[move.part];
    return `${color} ${(100 * i) / moves.length}% ${(100 * (i + 1)) / moves.length}%`;
  });
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

/* After each picture: the scrubber goes along, and the sentence of the moment stands below. */
function follow(view) {
  const { parts, moment, move } = view;
  if (view.root.activeElement !== parts.scrub || view.isPlaying) parts.scrub.value = moment.at + moment.share;
  parts.play.classList.toggle("playing", view.isPlaying);
  parts.cached.setAttribute("aria-pressed", view.isCached);
  parts.write.setAttribute("aria-pressed", Boolean(view.isWriting));
  for (const [name, isShown] of [["kept", view.isCached], ["band", view.bands.length], ["masked", view.place.zoom !== "model"]]) {
    const entry = parts.legend.querySelector(`[data-of=${name}]`);
    if (entry) entry.hidden = !isShown;
  }
  showSum(view);
  const band = bandAt(view, move);
  const said = band ? bandSays(view.scene, band) : view.isCached && move.kept ? move.kept : (view.place.zoom === "model" && move.far) || move.says;
  if (view.saying === said && view.sayingIn === view.scene) return;
  view.saying = said;
  view.sayingIn = view.scene;
  const title = band ? bandName(view.scene, band) : move.title;
  parts.title.textContent = title;
  parts.said.textContent = said;
  parts.said.title = (!band && move.sizes) || "";
  parts.scrub.setAttribute("aria-valuetext", title);
  showPlace(view);
}

/* Where the reader is: each word leads back out. */
function showPlace(view) {
  const { crumbs, out } = view.parts;
  const { words, layers } = view.scene;
  const { head } = view.place;
  const zoom = seenZoom(view);
  const layer = layers.find((each) => each.start === view.move.start);
  const depth = ZOOMS.indexOf(zoom);
  const names = [words.model, layer?.title, isInHead(view) ? `${words.head} ${head + 1}` : null, words.cell];
  const all = names.slice(0, depth + 1).map((name, i) => [name, () => view.setZoom(ZOOMS[i])]).filter(([name]) => name);
  const { spread } = view;
  const shown = spread ? [[words.model, () => view.setSpread(null)], [bandName(view.scene, spread), () => view.setZoom("model")], ...all.slice(1)] : all;
  const key = JSON.stringify([shown, spread]);
  out.disabled = shown.length < 2;
  view.parts.in.disabled = depth >= 2;
  if (view.crumbs === key) return;
  view.crumbs = key;
  view.leads = shown.map(([, lead]) => lead);
  crumbs.replaceChildren(
    ...shown.map(([name, lead], i) => {
      const button = document.createElement("button");
      button.textContent = name;
      button.disabled = i === shown.length - 1;
      button.addEventListener("click", lead);
      return button;
    }),
  );
}

/* How close the picture stands: between layers, and beside the heads, it is farther than was asked for. */
function seenZoom(view) {
  const { zoom, cell } = view.place;
  if (zoom === "cell" && cell) return zoom;
  if (!view.move.start) return "model";
  return ZOOMS.indexOf(zoom) > 1 ? (view.move.inHead ? "head" : "layer") : zoom;
}

/* A number is of a head where its matrix is; the moment may be a later one. */
function isInHead(view) {
  const { cell } = view.place;
  return cell ? view.scene.moves[view.scene.index.get(cell.path)]?.inHead : view.move.inHead;
}

/* Roles of Python's palette; paper and text of the page's theme. */
function colorsOf(view) {
  const now = performance.now();
  if (view.colors && now - view.colored < 500 && view.coloredFor === view.scene) return view.colors;
  const style = getComputedStyle(view.parts.stage);
  const own = (name, other) => style.getPropertyValue(name).trim() || other;
  view.colored = now;
  view.coloredFor = view.scene;
  const text = own("--st-text-color", "#1e293b");
  view.colors = {
    ...view.scene.colors,
    paper: own("--st-background-color", "#ffffff"),
    text,
    quiet: `color-mix(in srgb, ${text} 62%, transparent)`,
    ghost: `color-mix(in srgb, ${text} 45%, transparent)`,
    lane: `color-mix(in srgb, ${view.scene.colors.residual} 45%, transparent)`,
  };
  return view.colors;
}
