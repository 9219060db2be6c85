/* A pass with a KV cache: of all tokens but the last, only keys and values are there; they are kept, and
   nothing else is computed of them again. The last token alone moves. */

const PALE = 0.1; // what is not computed again
const CACHE_WIDTH = 34; // pixels at most, of keys and values together
const JOINED = 0.35; // of the move, until the new key and value are in the cache

function isKept(move) {
  return ["k", "v", "kv_latent"].includes(move.stage);
}

/* The row that is made, and how much of it: with a cache always the last. */
function rowAt(p, rows) {
  if (p.isCached) return { row: rows - 1, part: p.share };
  const row = Math.min(rows - 1, Math.floor(p.share * rows));
  return { row, part: p.share * rows - row };
}

/* Rows of a matrix where it stands: those before pale or kept, the last one as far as it has come. */
function paintCached(p, move, image, box, n, share) {
  const { context } = p;
  const alpha = context.globalAlpha;
  context.globalAlpha = alpha * (isKept(move) ? 1 : PALE);
  paintPart(context, image, box, n, 0, n - 1);
  context.globalAlpha = alpha;
  if (isKept(move)) frameKept(p, rowsOf(box, n, 0, n - 1));
  if (share >= 1) paintPart(context, image, box, n, n - 1, n);
  else if (move.kind === "scores") cellsOfRow(context, image, rowBox(box, n, n - 1), n - 1, share);
}

function rowsOf(box, n, from, to) {
  if (box.isTurned) return { ...box, x: box.x + (from * box.w) / n, w: ((to - from) * box.w) / n };
  return { ...box, y: box.y + (from * box.h) / n, h: ((to - from) * box.h) / n };
}

function paintPart(context, image, box, n, from, to) {
  if (to <= from) return;
  const at = rowsOf(box, n, from, to);
  if (box.isTurned) context.drawImage(image, from, 0, to - from, image.height, at.x, at.y, at.w, at.h);
  else context.drawImage(image, 0, from, image.width, to - from, at.x, at.y, at.w, at.h);
}

function cellsOfRow(context, image, at, row, share) {
  const part = Math.floor(share * image.width);
  if (part) context.drawImage(image, 0, row, part, 1, at.x, at.y, (at.w * part) / image.width, at.h);
}

function frameKept(p, box) {
  p.context.strokeStyle = p.colors.text;
  p.context.lineWidth = Math.min(1.5 / p.zoom, box.w * 0.1);
  p.context.strokeRect(box.x, box.y, box.w, box.h);
}

/* The cache of a folded layer: keys and values of every token, as long as they are; returns where it ends. */
function paintCache(p, zone, share) {
  const names = ["cache_c", "cache_k", "cache_v"].filter((name) => p.scene.readings.has(zone.move.start + name));
  if (!p.isCached || !names.length || zone.move.part !== "attention") return zone.x;
  const wide = Math.min(zone.w * 0.34, CACHE_WIDTH) / names.length;
  names.forEach((name, i) => {
    const path = zone.move.start + name;
    const matrix = p.scene.readings.get(path);
    const box = { x: zone.x + 2 + i * (wide + 1), y: zone.y, w: wide, h: zone.h };
    for (let row = 0; row < matrix.rows - 1; row++) paintCard(p, zone, matrix, row, rowBox(box, matrix.rows, row));
    joinCache(p, zone, matrix, box, clamp(share / JOINED));
    p.asides.push({ name, path, matrix, box, move: zone.move });
  });
  return zone.x + 4 + names.length * (wide + 1);
}

/* A key or a value as a card, the darker the longer it is. */
function paintCard(p, zone, matrix, row, at, share = 1) {
  const sizes = Array.from({ length: matrix.cols }, (_none, col) => matrix.value(0, row, col));
  const size = sizes.reduce((sum, each) => sum + each, 0) / matrix.cols / matrix.strong;
  p.context.globalAlpha = zone.alpha * share * (0.2 + 0.5 * clamp(size));
  p.context.fillStyle = p.colors[zone.move.part];
  p.context.beginPath();
  p.context.roundRect(at.x, at.y + at.h * 0.16, at.w, at.h * 0.68, Math.min(3, at.w / 4));
  p.context.fill();
}

/* The newest key and value come from the stream to the end of their column. */
function joinCache(p, zone, matrix, box, share) {
  if (!share) return;
  const end = rowBox(box, matrix.rows, matrix.rows - 1);
  const at = { ...end, x: mix(end.x - 26, end.x, ease(share)) };
  paintCard(p, zone, matrix, matrix.rows - 1, at, 0.3 + 0.7 * share);
  p.context.globalAlpha = zone.alpha;
  p.context.strokeStyle = p.colors.pinned;
  p.context.lineWidth = 1.5 / p.zoom;
  p.context.stroke();
}

/* Experts of a folded layer: at each token those that it is sent to, as strong as their weights. */
function paintExperts(p, zone, path, share) {
  const matrix = p.scene.readings.get(path);
  const box = { x: zone.x + zone.w * 0.12, y: zone.y, w: zone.w * 0.76, h: zone.h };
  const { context } = p;
  context.globalAlpha = zone.alpha * 0.16;
  context.fillRect(box.x, box.y, box.w, box.h);
  context.globalAlpha = zone.alpha;
  const image = imageOf(p.scene, path, 0);
  if (p.isCached) paintCached(p, zone.move, image, box, matrix.rows, share);
  else if (share) rowsDone(p, image, box, matrix.rows, share);
  if (share >= 1) p.asides.push({ name: "experts", path, matrix, box, move: zone.move });
}
