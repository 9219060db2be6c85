/* The component: time, camera, keys and fingers. Python is told where the reader is (`place`), and asked
   for what was not sent: the inside of another layer, the numbers of one cell, the next word. */

const ZOOMS = ["model", "layer", "head", "cell"];
const TRAVEL = 750; // milliseconds that the camera takes
const OF_ONE_ROW = 0.5; // of the time that all rows take
const HURRY = 0.4; // of the time of a pass, while word after word is written
const SETTLED = 450; // of rest, until Python is told
const views = new WeakMap();

export default function mount({ data, parentElement, setStateValue, setTriggerValue, isFile = false }) {
  const view = views.get(parentElement) || new View(parentElement);
  views.set(parentElement, view);
  Object.assign(view, { isFile, tellPlace: (place) => setStateValue("place", place), tellWrote: () => setTriggerValue("wrote", Date.now()) });
  view.show(data instanceof Uint8Array ? data : new Uint8Array(data));
  return () => view.rest();
}

class View {
  constructor(root) {
    this.root = root;
    const find = (name) => root.querySelector(`[data-part="${name}"]`);
    this.parts = Object.fromEntries(
      ["stage", "canvas", "tip", "play", "back", "on", "scrub", "speed", "out", "in", "crumbs", "title", "said", "next", "cached", "drafts", "write", "backward", "legend", "words", "sum"].map((name) => [name, find(name)]),
    );
    this.context = this.parts.canvas.getContext("2d");
    this.open = new Map();
    this.fold = new Map();
    this.bands = [];
    this.spread = null;
    this.marked = null;
    this.speed = 1;
    this.isPlaying = false;
    this.moment = { at: 0, share: 1 };
    this.place = { zoom: "model", head: 0, cell: null, cached: false };
    this.camera = null;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    listen(this);
    listenTogether(this);
    new ResizeObserver(() => this.resize()).observe(this.parts.stage);
  }

  /* A new message: the first opens its place; later ones go on where the reader is. */
  show(bytes) {
    document.addEventListener("keydown", this.onKeyOfPage);
    document.addEventListener("keydown", this.onKeyOfRemote, true);
    document.addEventListener("keydown", this.onAway, true);
    document.addEventListener("click", this.onAway, true);
    hear(this, true);
    const name = fingerprint(bytes);
    if (name === this.shown) return this.wake();
    const before = this.scene;
    this.shown = name;
    this.scene = readScene(bytes);
    if (this.isFile) Object.assign(this.scene, { sends: false, writes: false, learns: false });
    fillWords(this);
    const isNewText = before && before.text !== this.scene.text;
    if (isNewText) this.marked = null;
    if (before && before.is_back !== this.scene.is_back) this.turn();
    else if (isNewText && this.writes) this.begin();
    else if (!before || this.scene.place_id !== before.place_id) this.goTo(this.scene.place);
    else if (isNewText) this.goTo({ ...this.scene.place, zoom: this.place.zoom });
    else this.keepMoment(before);
    stayTogether(this);
    this.resize();
  }

  keepMoment(before) {
    const path = before.moves[this.moment.at].path;
    const { start, is_stream: isWhole } = before.moves[this.moment.at];
    const exact = this.scene.index.get(path);
    const first = this.scene.moves.findIndex((move) => move.start === start);
    this.moment.at = exact ?? Math.max(0, first);
    const heads = this.scene.moves.findLastIndex((move) => move.start === start && move.inHead);
    const isEntered = this.waits && isWhole && this.place.zoom === "layer" && this.width < 640;
    if (isEntered && heads >= 0) this.moment.at = heads; // as for a layer whose inside was here
    if (!this.scene.matrices.has(this.place.cell?.path)) this.place.cell = null;
    this.waits = false;
    this.tell();
  }

  begin() {
    this.writes = false;
    this.waits = false;
    this.moment = { at: 0, share: 0 };
    this.play(true);
  }

  /* The likeliest word joins the sentence; Python sends the pass that reads it. */
  write() {
    this.writes = true;
    this.waits = true;
    this.tellWrote();
  }

  /* Word after word, until it is switched off or the text has no room. */
  keepWriting(isWriting) {
    this.isWriting = isWriting && this.scene.writes;
    if (this.isWriting && this.scene.drafts && !this.isDrafted) return this.setDrafts(true);
    if (this.isWriting && this.isAtEnd) this.write();
    else if (this.isWriting) this.play(true);
    this.wake();
  }

  /* Into the way back, which begins with what it is for, and out of it; the whole model is seen first. */
  turn() {
    this.asked = null;
    this.waits = false;
    this.place.zoom = "model";
    this.spread = null;
    this.moment = { at: this.scene.is_back ? 0 : this.scene.moves.length - 1, share: 1 };
    if (this.move.kind === "next") this.moment.at -= 1;
    this.play(false);
  }

  /* Until the pass comes, all that is told asks for it: else what is told after an answer that was on
     its way takes the click back. */
  setDirection(direction) {
    this.asked = { direction, zoom: "model", moment: "", cell: null };
    this.tellNow();
  }

  /* Another pass is asked for; what was yet to be told is of this one. */
  tellNow(changes) {
    clearTimeout(this.telling);
    this.tellPlace({ ...placeOf(this), ...changes });
  }

  get isDrafted() {
    return this.scene.drafted?.n > 0;
  }

  /* With drafts another pass is shown, which reads them, too: it is played from its start. */
  setDrafts(drafts) {
    this.writes = this.waits = true;
    this.tellNow({ drafts, moment: "", cell: null });
  }

  setCached(isCached) {
    this.place.cached = isCached;
    if (isCached && this.isDone) return this.play(true);
    this.tell();
    this.wake();
  }

  goTo(place) {
    this.left = this.asked = null;
    const cell = this.scene.matrices.has(place.cell?.path) ? place.cell : null;
    const at = this.scene.index.get(place.moment || cell?.path);
    const isBegun = at === undefined && this.scene.is_presented;
    this.moment = isBegun ? { at: 0, share: 0 } : { at: at ?? this.scene.moves.length - 1, share: 1 };
    this.place = { zoom: place.zoom, head: place.head, cell, cached: place.cached && this.scene.keeps };
    if (this.scene.moves[this.moment.at].kind === "next") this.moment.at -= 1;
    this.tell();
    this.wake();
  }

  get move() {
    return this.scene.moves[this.moment.at];
  }

  play(isPlaying) {
    this.isPlaying = isPlaying;
    this.left = null;
    if (!isPlaying) this.isWriting = false;
    if (isPlaying && this.isDone) this.moment = { at: 0, share: 0 };
    this.place.cell = null;
    if (isPlaying && this.place.zoom === "cell") this.place.zoom = "head";
    this.stepped = performance.now();
    this.tell();
    this.wake();
  }

  get isCached() {
    return this.place.cached && this.scene.keeps;
  }

  /* The probabilities stand there: what follows is the next word alone. */
  get isDone() {
    return this.isAtEnd || (!this.scene.is_back && this.move.kind === "choose" && this.moment.share >= 1);
  }

  get isAtEnd() {
    return this.moment.at === this.lastSeen && this.moment.share >= 1;
  }

  get isAtStart() {
    return this.moment.at === 0;
  }

  get lastSeen() {
    return this.scene.moves.length - 1;
  }

  /* One move on or back; on the way on it is seen. Who steps on before it is over counts on: what moves is done at once. */
  step(direction) {
    const isMoving = this.isPlaying || this.isStepping;
    this.isPlaying = this.isStepping = false;
    this.left = null;
    if (direction > 0) {
      if (isMoving) this.moment.share = 1;
      if (this.moment.share >= 1) this.passBand();
      const next = this.nextSeen(this.moment.share < 1 ? this.moment.at : this.moment.at + 1);
      if (next !== null) this.run(next);
    } else {
      let at = this.moment.at - 1;
      const band = bandAt(this, this.move);
      const isPassed = (move) => !secondsOf(this, move) || (band && bandAt(this, move) === band);
      while (at > 0 && isPassed(this.scene.moves[at])) at--;
      this.moment = { at: Math.max(0, at), share: 1 };
    }
    this.keepCell();
    this.tell();
    this.wake();
  }

  /* A band of folded layers is one step. */
  passBand() {
    while (goesOnInBand(this)) this.moment.at = this.nextSeen(this.moment.at + 1);
  }

  /* Who has zoomed to a number sees one of the next matrix: of the same row, as near as can be. */
  keepCell() {
    const { cell } = this.place;
    const matrix = this.scene.matrices.get(this.move.path);
    if (!cell || !matrix) return;
    this.place.cell = { path: this.move.path, row: Math.min(cell.row, matrix.rows - 1), col: Math.min(cell.col, matrix.cols - 1) };
  }

  run(at) {
    this.moment = { at, share: this.still.matches ? 1 : 0 };
    this.isStepping = !this.still.matches;
    if (this.still.matches) this.passBand();
  }

  nextSeen(at) {
    while (at < this.scene.moves.length && !secondsOf(this, this.scene.moves[at])) at++;
    return at < this.scene.moves.length ? at : null;
  }

  setZoom(zoom, changes = {}, moment = this.moment) {
    if (seenZoom(this) === "model" && !this.isPlaying) this.left = { path: this.move.path, share: this.moment.share };
    this.moment = moment;
    Object.assign(this.place, { zoom, ...changes });
    if (zoom !== "cell") this.place.cell = null;
    if (zoom === "model") this.comeOut();
    if (zoom === "layer" || zoom === "head") this.enterLayer(zoom);
    this.tell();
    this.wake();
  }

  /* The whole model is seen as it was left, where time has not been moved since. */
  comeOut() {
    const at = this.left && this.scene.index.get(this.left.path);
    if (at != null) this.moment = { at, share: this.left.share };
    this.left = null;
  }

  /* Whoever zooms in between two layers, or at their end, sees a layer. */
  enterLayer(zoom) {
    const wanted = (move) => (zoom === "head" ? move.inHead : move.start !== "");
    if (wanted(this.move)) return;
    const own = this.move.start;
    const all = [...this.scene.moves.keys()].filter((i) => wanted(this.scene.moves[i]));
    const near = all.filter((i) => !own || this.scene.moves[i].start === own);
    const at = (near.length ? near : all).filter((i) => i <= this.moment.at).at(-1) ?? near[0] ?? all[0];
    if (at !== undefined) this.moment = { at, share: 1 };
    else if (zoom === "head") this.place.zoom = "layer";
  }

  /* The lines of a word alone stay lit, until it is chosen again. */
  mark(word) {
    const isSame = this.marked?.stack === word.stack && this.marked.row === word.row;
    this.marked = isSame ? null : word;
    this.wake();
  }

  zoomIn() {
    const next = ZOOMS[Math.min(ZOOMS.indexOf(seenZoom(this)) + 1, 2)];
    this.setZoom(next);
  }

  /* A band of folded layers is opened, or with null the whole model shown again. */
  setSpread(spread) {
    this.spread = spread && { from: spread.from, to: spread.to };
    this.place.zoom = "model";
    this.comeOut();
    this.tell();
    this.wake();
  }

  /* To the place that is named before this one. */
  zoomOut() {
    this.leads.at(-2)?.();
  }

  changeHead(by) {
    const n = this.scene.heads;
    if (this.place.zoom === "layer" || this.place.zoom === "model") return this.changeLayer(by);
    this.setZoom("head", { head: (this.place.head + by + n) % n });
  }

  changeLayer(by) {
    const starts = this.scene.layers.map((layer) => layer.start);
    const next = starts[starts.indexOf(this.move.start) + by];
    if (!next) return;
    const at = this.scene.moves.findLastIndex((move) => move.start === next);
    this.setZoom("layer", {}, { at, share: 1 });
    this.left = null;
  }

  resize() {
    const { stage, canvas } = this.parts;
    if (!this.scene || !stage.clientWidth) return;
    this.width = stage.clientWidth;
    this.height = heightFor(this.width, stage, this.parts.legend, this.scene.is_presented) * (this.scene.pair ? 0.65 : 1);
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    this.type = Math.max(1, Math.min(1.5, parseFloat(getComputedStyle(document.documentElement).fontSize) / 16));
    canvas.style.height = `${this.height}px`;
    canvas.width = this.width * this.ratio;
    canvas.height = this.height * this.ratio;
    this.wake();
  }

  rest() {
    document.removeEventListener("keydown", this.onKeyOfPage);
    document.removeEventListener("keydown", this.onKeyOfRemote, true);
    document.removeEventListener("keydown", this.onAway, true);
    document.removeEventListener("click", this.onAway, true);
    hear(this, false);
    cancelAnimationFrame(this.frame);
    this.frame = this.before = 0;
  }

  wake() {
    if (!this.frame && this.width) this.frame = requestAnimationFrame((now) => this.draw(now));
  }

  draw(now) {
    const passed = Math.min(50, now - (this.before || now));
    this.before = now;
    this.frame = 0;
    const isMoving = advance(this, passed, now);
    const isTraveling = travel(this, now);
    paint(Object.assign(this.picture(), { isStill: !isTraveling }));
    follow(this);
    tellMoment(this);
    if (isMoving || isTraveling) this.wake();
    else this.before = 0;
  }

  picture() {
    const { scene, layout, camera, context, ratio, width, height, pointed, marked } = this;
    const cell = this.place.zoom === "cell" ? this.cell() : null;
    this.painted = { scene, layout, camera, context, ratio, width, height, pointed, marked, cell, type: this.type, isCached: this.isCached, colors: colorsOf(this), ...this.moment };
    return this.painted;
  }

  /* The chosen cell, where it stands now. */
  cell() {
    const { cell, head } = this.place;
    const index = cell && this.scene.index.get(cell.path);
    const matrix = cell && this.scene.matrices.get(cell.path);
    const box = matrix && this.layout.boxes.get(cell.path);
    if (!box) return null;
    const all = box.heads || [box];
    const at = box.heads ? head : 0;
    const given = Math.floor((at * matrix.heads) / all.length);
    return { move: this.scene.moves[index], matrix, head: at, given, box: all[at], row: cell.row, col: cell.col };
  }

  /* Python writes it into the link, once the reader rests; and sends the layer that is wanted. */
  tell() {
    showPlace(this);
    clearTimeout(this.telling);
    if (!this.scene.sends) return;
    const { start } = this.move;
    const isMissing = this.place.zoom !== "model" && start && !this.scene.opened.has(start);
    if (this.isPlaying && !isMissing) return;
    this.waits = isMissing;
    this.telling = setTimeout(() => this.tellPlace(placeOf(this)), isMissing ? 0 : SETTLED);
  }
}

/* As high as the window has room, so that controls, picture and legend are seen together. */
function heightFor(width, stage, legend, isPresented) {
  const top = stage.getBoundingClientRect().top + (document.scrollingElement?.scrollTop || 0);
  const room = innerHeight - Math.min(top, innerHeight * 0.6) - legend.offsetHeight - 24;
  if (width < 640) return Math.max(400, Math.min(540, innerHeight - 300)); // a phone scrolls to it
  const [least, most] = [isPresented ? 250 : 330, Math.min(620, width * 0.52)];
  return Math.max(least, Math.min(most, room));
}

function placeOf(view) {
  const { zoom, head, cell } = view.place;
  const cached = view.isCached;
  const { path, layer, stack } = view.move;
  const moment = view.isAtEnd || (!view.scene.is_back && ["choose", "next"].includes(view.move.kind)) ? "" : path;
  const direction = view.scene.is_back ? "backward" : "forward";
  return { zoom, head, cell, cached, drafts: view.isDrafted, direction, moment, layer, stack, ...view.asked };
}

/* How long a move takes: from afar only what can be seen from there, close by all of it. */
function secondsOf(view, move) {
  const hurry = view.isWriting && view.place.zoom === "model" ? HURRY : 1;
  return secondsOfAll(view, move) * hurry * (view.isCached ? OF_ONE_ROW : 1);
}

function secondsOfAll(view, move) {
  const { zoom } = view.place;
  const n = view.scene.layers.length - view.bands.flatMap((band) => band.starts).length;
  if (move.kind === "next") return 1.4;
  if (["embed", "logits", "choose"].includes(move.kind)) return 1.2;
  if (zoom === "model") {
    const band = bandAt(view, move);
    if (band && !["norm"].includes(move.kind)) return BAND_SECONDS / (4 * band.starts.length);
    const hurry = Math.min(1, 4 / n);
    if (move.is_stream) return Math.max(0.1, 0.7 * hurry);
    if (["attend", "join", "carry"].includes(move.kind)) return Math.max(0.2, 1.5 * hurry);
    if (["feed", "narrow"].includes(move.kind)) return Math.max(0.1, 0.7 * hurry);
    return move.start ? 0 : 0.8;
  }
  const isClose = zoom === "head";
  const long = { scores: isClose ? 6 : 3, mix: isClose ? 6 : 3, softmax: isClose ? 3 : 2, mask: 1.6, join: 2 };
  return long[move.kind] || 1.3;
}

/* Time goes on: true while something moves. */
function advance(view, passed, now) {
  if (view.waits || !(view.isPlaying || view.isStepping)) return false;
  if (view.still.matches) return advanceInSteps(view, now);
  const seconds = secondsOf(view, view.move);
  view.moment.share = seconds ? Math.min(1, view.moment.share + (passed / 1000 / seconds) * view.speed) : 1;
  if (view.moment.share < 1) return true;
  if (view.isStepping && !goesOnInBand(view)) {
    view.isStepping = false;
    view.tell();
    return false;
  }
  return nextMove(view);
}

function nextMove(view) {
  if (view.still.matches) view.passBand();
  const at = view.nextSeen(view.moment.at + 1);
  if (at === null) {
    view.moment.at = view.lastSeen;
    if (view.isWriting && view.scene.writes) view.write();
    else view.play(false);
    return false;
  }
  view.moment = { at, share: view.still.matches ? 1 : 0 };
  view.tell();
  return true;
}

/* Where motion is not wanted, a picture after the other. */
function advanceInSteps(view, now) {
  if (now - view.stepped < (1000 * secondsOf(view, view.move)) / view.speed) return true;
  view.stepped = now;
  return nextMove(view);
}

/* The camera goes to what is looked at; layers unfold on the way. True until it is there. */
function travel(view, now) {
  const { scene, move, place } = view;
  const isOpen = place.zoom !== "model" && move.start;
  const wanted = new Map(isOpen ? [[move.start, 1]] : []);
  const target = `${place.zoom}|${isOpen ? focusName(view) : ""}|${JSON.stringify([place.cell, view.spread])}|${view.width}|${scene.moved.length}`;
  const isNew = target !== view.target;
  if (isNew) {
    const isFirst = !view.camera || view.still.matches;
    view.bands = bandsOf(scene, view.width, view.spread);
    view.stays = place.zoom === "cell" && isReadable(view) ? view.camera : null;
    Object.assign(view, { from: { open: new Map(view.open), fold: new Map(view.fold), focus: view.focus, camera: view.camera }, target, wanted, started: isFirst ? now - TRAVEL : now });
    view.isNewFocus = true;
  }
  const t = ease(clamp((now - view.started) / TRAVEL));
  if (isNew || t < 1) pointNowhere(view); // what was pointed at stands elsewhere now
  const laid = `${target}|${view.height}|${view.shown}`;
  if (t >= 1 && view.laid === laid) return false; // all stands where it stood
  view.laid = t >= 1 ? laid : "";
  for (const { start } of scene.layers) {
    view.open.set(start, mix(view.from.open.get(start) || 0, view.wanted.get(start) || 0, t));
    const isFolded = view.bands.some((band) => band.starts.includes(start));
    view.fold.set(start, mix(view.from.fold.get(start) || 0, Number(isFolded), t));
  }
  view.layout = layoutOf(scene, view);
  view.focus = focusOf(view);
  const to = framed(view, view.focus(view.layout));
  const old = view.from.focus && t < 1 ? framed(view, view.from.focus(view.layout)) : to;
  view.camera = mixBox(old, to, t);
  return t < 1;
}

function focusName(view) {
  const { move, place } = view;
  if (view.width < 640 && place.zoom === "layer") return move.path;
  if (place.zoom === "layer") return view.layout?.groups.find((g) => g.moves.includes(move))?.moves[0].path || move.path;
  return `${place.head}|${move.inHead ? move.start + move.stage.startsWith("cross_") : move.path}`;
}

/* What is looked at, as a function of the layout: it moves while layers unfold. */
function focusOf(view) {
  const { move, place, scene, width, height } = view;
  if (place.zoom === "model" || !move.start) return () => ({ x: 0, y: 0, w: width, h: height });
  if (place.zoom === "cell" && view.place.cell) {
    const { stays } = view;
    if (stays) return () => stays;
    const cell = { ...view.place };
    return (layout) => cellFocus(layout, scene, cell);
  }
  const cross = move.stage.startsWith("cross_") ? "cross_" : "";
  if (place.zoom !== "layer" && move.inHead) {
    const name = `${move.start}${cross}${place.head}`;
    return (layout) => (layout.heads.has(name) ? headFocus(layout, layout.heads.get(name)) : partFocus(layout, move, width));
  }
  return (layout) => partFocus(layout, move, width);
}

/* On a phone it begins at the top and fills the width, up to the heads beside it, with room for the names
   of its rows where there is some. */
function headFocus({ heads, width, height }, head) {
  const edge = 0.05 * head.w;
  if (width >= 640) return around([head], edge);
  const beside = [...heads.values()].filter((each) => each !== head && Math.abs(each.y - head.y) < head.h / 2);
  const before = beside.filter((each) => each.x < head.x).map((each) => each.x + 1.01 * each.w);
  const after = beside.filter((each) => each.x > head.x).map((each) => each.x - 0.01 * each.w);
  const x = Math.max(head.x - 0.12 * head.w - edge, ...before);
  const w = Math.min(head.x + head.w + edge, ...after) - x;
  return { x, y: head.y - edge, w, h: (w * height) / width };
}

function partFocus(layout, move, width) {
  const group = layout.groups.find((each) => each.moves.some((own) => own.path === move.path));
  if (!group) return { x: 0, y: 0, w: layout.width, h: layout.height };
  const boxes = group.moves.flatMap((each) => boxesOf(layout, each.path));
  if (width >= 640) return { ...around(boxes, 0), x: group.x - 56, w: group.w + 60, y: 0, h: layout.height };
  const heads = [...layout.heads.values()].filter((head) => head.group.moves.some((own) => own.path === move.path));
  if (move.inHead && heads.length) return around(heads, 12);
  const own = [move.path, ...move.reads].flatMap((path) => boxesOf(layout, path));
  return around(own.length ? own : boxes, 30);
}

function boxesOf(layout, path) {
  const box = layout.boxes.get(path);
  return box ? box.heads || [box] : [];
}

function cellFocus(layout, scene, { cell, head }) {
  const boxes = boxesOf(layout, cell.path);
  const box = boxes[Math.min(head, boxes.length - 1)];
  if (!box) return { x: 0, y: 0, w: layout.width, h: layout.height };
  const at = cellBox({ box, matrix: scene.matrices.get(cell.path), row: cell.row, col: cell.col });
  const size = Math.max(at.w, at.h) * 9;
  return { x: at.x + at.w / 2 - size / 2, y: at.y + at.h / 2 - size / 4, w: size, h: size / 2 };
}

/* Whether the chosen number can be read as the camera stands, which then does not move under a finger. */
function isReadable(view) {
  const chosen = view.painted?.width === view.width && view.cell();
  if (!chosen) return false;
  const { x, y, w, h } = screen(view.painted, cellBox(chosen));
  return w >= CELL_WITH_NUMBER && x >= 0 && y >= 0 && x + w <= view.width && y + h <= view.height;
}

/* The same with the shape of the canvas. */
function framed(view, box) {
  const shape = view.width / view.height;
  const w = Math.max(box.w, box.h * shape);
  return { x: box.x + box.w / 2 - w / 2, y: box.y + box.h / 2 - w / shape / 2, w, h: w / shape };
}

/* A number by which two messages are told apart. */
function fingerprint(bytes) {
  let found = bytes.length;
  for (let i = 0; i < bytes.length; i++) found = (Math.imul(found, 31) + bytes[i]) | 0;
  return found;
}
