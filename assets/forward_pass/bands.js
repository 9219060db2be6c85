/* Of a deep model a few layers are drawn large: the first, the last, and those in which the guess of the
   next word moves most. Those between are folded to bands; a tap opens one, and folds the others. */

const LARGE_WIDTH = 175; // pixels of the picture for each layer that is drawn large
const BAND_UNITS = [2.2, 0.12, 3.6]; // of a band: at least, for each layer, at most
const BAND_SECONDS = 1.3;

/* The folded layers, where several stand side by side, as [{from, to}, …], indices of scene.layers; `spread`: the band that is open, or null. */
function bandsOf(scene, width, spread) {
  const n = scene.layers.length;
  if (n <= DEEP || !scene.moved.length) return [];
  const large = largeLayers(scene.moved, spread || { from: 0, to: n - 1 }, Math.max(3, Math.round(width / LARGE_WIDTH)));
  const bands = [];
  for (let i = 0; i < n; i++) {
    if (large.has(i)) continue;
    if (bands.at(-1)?.to === i - 1) bands.at(-1).to = i;
    else bands.push({ from: i, to: i });
  }
  return bands.filter(({ from, to }) => to > from).map((band) => ({ ...band, starts: scene.layers.slice(band.from, band.to + 1).map((layer) => layer.start) }));
}

function largeLayers(moved, { from, to }, most) {
  const all = Array.from({ length: to - from + 1 }, (_none, i) => from + i);
  if (all.length <= 2 * most) return new Set(all.length < moved.length ? all : all.slice(0, most));
  const between = all.slice(1, -1).sort((a, b) => moved[b] - moved[a]);
  return new Set([from, to, ...between.slice(0, most - 2)]);
}

function bandAt(view, move) {
  return view.place.zoom === "model" ? view.bands.find((band) => band.starts.includes(move.start)) : undefined;
}

function bandUnder(p, x, y) {
  const at = { x: p.camera.x + x / p.zoom, y: p.camera.y + y / p.zoom };
  return p.layout.bands.find((band) => band.alpha > 0.5 && at.x >= band.x && at.x < band.end.x);
}

/* Whether the next thing that is seen belongs to the same band. */
function goesOnInBand(view) {
  const next = view.nextSeen(view.moment.at + 1);
  const band = bandAt(view, view.move);
  return Boolean(band) && next !== null && bandAt(view, view.scene.moves[next]) === band;
}

/* What a group takes while its layer is folded: a part of the band, and at its end the stream. */
function foldedUnits(bands, groups) {
  const found = new Map();
  for (const band of bands) {
    const own = groups.filter((group) => band.starts.includes(group.start));
    const [least, each, most] = BAND_UNITS;
    const units = Math.min(most, least + each * band.starts.length) / own.length;
    own.forEach((group, i) => found.set(group, { units, isEnd: i === own.length - 1 }));
  }
  return found;
}

/* Where a band stands: from the stream before it to the stream that it makes. */
function placeBands(found, bands, fold) {
  found.bands = bands.map((band) => {
    const groups = found.groups.filter((group) => band.starts.includes(group.start));
    const end = groups.at(-1);
    const x = groups[0].x + 3;
    const folded = Math.min(...band.starts.map((start) => fold.get(start) || 0));
    const opened = Math.max(...groups.map((group) => group.e));
    return { ...band, x, y: found.lanes.y, w: end.stream.x - 3 - x, h: found.lanes.h, alpha: folded * (1 - opened), end: end.stream, name: `band ${band.from} ${band.to}` };
  });
}

/* How much of a band is computed. */
function bandShare(p, band) {
  const own = band.moves || (band.moves = p.scene.moves.map((move, i) => (band.starts.includes(move.start) ? i : -1)).filter((i) => i >= 0));
  return own.reduce((sum, i) => sum + progress(p, i), 0) / own.length;
}

/* The mean of what the tokens of its layers read, and a tick for each layer. */
function paintBand(p, band) {
  const { context } = p;
  if (band.alpha < 0.02 || !isInView(p, band)) return;
  const share = bandShare(p, band);
  context.globalAlpha = band.alpha * 0.1;
  context.fillStyle = p.colors.residual;
  context.beginPath();
  context.roundRect(band.x, band.y - 5, band.w, band.h + 10, 8);
  context.fill();
  if (share) paintCurves(p, band, meanReading(p.scene, band), p.colors.attention, share);
  paintTicks(p, band, share);
  context.globalAlpha = 1;
}

function paintTicks(p, band, share) {
  const { context } = p;
  const n = band.starts.length;
  const pitch = Math.min(7, band.w / n);
  band.starts.forEach((_start, i) => {
    const passed = (p.scene.is_back ? n - i - 0.5 : i + 0.5) / n < share;
    context.globalAlpha = band.alpha * (passed ? 0.9 : 0.25);
    context.fillStyle = p.colors.attention;
    context.fillRect(band.x + band.w / 2 + (i - n / 2) * pitch, band.y - 13, pitch - 1.5, 4);
  });
}

function meanReading(scene, { name, starts }) {
  if (scene.images.has(name)) return scene.images.get(name);
  const all = starts.map((start) => scene.readings.get(`${start}reading`)).filter(Boolean);
  const mean = (head, row, col) => all.reduce((sum, each) => sum + each.value(head, row, col) / all.length, 0);
  const [{ rows, cols, strong }] = all;
  const found = { rows, cols, strong, value: mean };
  scene.images.set(name, found);
  return found;
}

function bandName(scene, { from, to }) {
  return scene.words.band.replace("{first}", scene.layers[from].number).replace("{last}", scene.layers[to].number);
}

function bandSays(scene, band) {
  const after = scene.depth[band.to];
  return after ? scene.words.after_band.replace("{guess}", after.label).replace("{share}", after.percent) : scene.words.in_band;
}

/* At the foot of each layer, the best next word so far. */
function paintGuesses(p) {
  const { context, scene, layout } = p;
  if (!scene.depth.length || p.zoom > 1.6) return;
  const folded = new Set(layout.bands.filter((band) => band.alpha > 0.5).flatMap((band) => band.starts.slice(0, -1)));
  const low = screen(p, { x: 0, y: layout.lanes.y + layout.lanes.h, w: 0, h: 0 }).y + 16 + 14 * p.type;
  let left = screen(p, { x: layout.labels, y: 0, w: 0, h: 0 }).x - 4;
  if (left > 40) guessTitle(p, left - 4, low);
  scene.layers.forEach((layer, i) => {
    const group = layout.groups.findLast((each) => each.start === layer.start);
    if (folded.has(layer.start) || group.e > 0.5) return; // of an unfolded one the sentence tells it
    const at = screen(p, group.stream);
    const right = at.x + at.w + 4;
    context.globalAlpha = progressOf(p, `${layer.start}resid_post`);
    if (right < p.width && context.globalAlpha) paintGuess(p, scene.depth[i], (left + right) / 2, low, right - left - 4);
    left = right;
  });
  context.globalAlpha = 1;
}

function guessTitle(p, x, y) {
  font(p, 11);
  Object.assign(p.context, { textAlign: "right", textBaseline: "alphabetic", fillStyle: p.colors.quiet });
  p.context.fillText(fitted(p.context, p.scene.words.guess, x - 2), x, y);
}

/* In the middle of its layer, and how sure it is below. */
function paintGuess(p, { label, percent }, middle, y, room) {
  const { context, scene } = p;
  const isFinal = label === scene.depth.at(-1).label;
  Object.assign(context, { textAlign: "center", textBaseline: "alphabetic", fillStyle: isFinal ? p.colors.pinned : p.colors.text });
  font(p, 12, isFinal ? 700 : 400);
  context.fillText(fitted(context, label, room), middle, y);
  font(p, 11);
  context.fillStyle = p.colors.quiet;
  context.fillText(percent, middle, y + 13 * p.type);
}
