/* What is drawn at a moment: `p` has scene, layout, camera, colours, and the moment itself, which is a
   move (`at`) and how far it has come (`share`, 0 to 1). Nothing is drawn that is not yet computed. */

const FONT = "'Source Sans 3', 'Source Sans Pro', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', system-ui, sans-serif";
const SPAN = 0.45;
const EDGE = 6; // pixels beside a part into which its lines reach

function paint(p) {
  const { context, ratio, camera, width, height } = p;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width * ratio, height * ratio);
  const s = (p.zoom = width / camera.w);
  context.setTransform(ratio * s, 0, 0, ratio * s, -camera.x * s * ratio, -camera.y * s * ratio);
  context.imageSmoothingEnabled = false;
  p.names = []; // where the words stand
  p.asides = []; // what is drawn of folded layers and can be pointed at
  paintLanes(p);
  paintBands(p);
  p.layout.bands.forEach((band) => paintBand(p, band));
  p.layout.zones.forEach((zone) => paintZone(p, zone));
  p.scene.moves.forEach((move, i) => paintMove(p, move, i));
  if (p.share < 1) paintMoving(p, p.scene.moves[p.at]);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  paintEnds(p);
  paintLabels(p);
  paintTitles(p);
  paintWayOn(p);
  paintGuesses(p);
  paintCacheNames(p);
  paintPointed(p);
}

function progress(p, index) {
  if (index < p.at) return 1;
  return index === p.at ? p.share : 0;
}

function progressOf(p, path) {
  return progress(p, p.scene.index.get(path));
}

function screen(p, box) {
  const s = p.zoom;
  return { x: (box.x - p.camera.x) * s, y: (box.y - p.camera.y) * s, w: box.w * s, h: box.h * s };
}

function isInView(p, box) {
  const { camera } = p;
  return box.x + box.w > camera.x && box.x < camera.x + camera.w && box.y + box.h > camera.y && box.y < camera.y + camera.h;
}

function rowMiddle(box, n, row) {
  return box.y + ((row + 0.5) * box.h) / n;
}

function rowBox(box, n, row) {
  return { x: box.x, y: box.y + (row * box.h) / n, w: box.w, h: box.h / n };
}

function columnBox(box, n, col) {
  return { x: box.x + (col * box.w) / n, y: box.y, w: box.w / n, h: box.h };
}

/* The residual stream: one line a token, from where it was to where it is next. */
function paintLanes(p) {
  const { context, layout, scene } = p;
  context.lineWidth = 1 / p.zoom;
  context.strokeStyle = p.colors.lane;
  context.beginPath();
  for (const [from, to] of scene.edges) {
    const [start, end] = [layout.boxes.get(from.path), layout.boxes.get(to.path)];
    const isLane = from.is_stream && (to.is_stream || to.stage === "final_norm") && from.stack === to.stack;
    if (isLane && start && end) lanesBetween(context, start, end, scene.tokens[to.stack].length);
  }
  for (const move of scene.moves.filter((each) => each.kind === "embed")) {
    const box = layout.boxes.get(move.path);
    lanesBetween(context, labelBox(p, move, box), box, scene.tokens[move.stack].length);
  }
  context.stroke();
}

function labelBox(p, move, box) {
  return { x: box.x - 14, y: box.y, w: 6, h: box.h };
}

function lanesBetween(context, from, to, n) {
  const [x, end] = [from.x + from.w, to.x];
  const bend = x + Math.min(110, end - x);
  const middle = (x + bend) / 2;
  for (let row = 0; row < n; row++) {
    const [y, z] = [rowMiddle(from, n, row), rowMiddle(to, n, row)];
    context.moveTo(x, y);
    if (Math.abs(y - z) > 0.5) context.bezierCurveTo(middle, y, middle, z, bend, z);
    context.lineTo(end, z);
  }
}

/* Which matrix an unfolded one is made of: a band from the one to the other, as wide as both. */
function paintBands(p) {
  const { context, layout, scene } = p;
  const unfolded = layout.groups.filter((each) => each.e > 0.02);
  for (const [from, to] of scene.edges) {
    const group = to.start && unfolded.find((each) => each.start === to.start && each.moves.includes(to));
    if (!group) continue;
    const isMade = progressOf(p, (scene.is_back ? from : to).path) > 0;
    context.globalAlpha = group.e * (isMade ? 0.13 : 0.05);
    context.fillStyle = p.colors[to.part] || p.colors.residual;
    bandsBetween(p, from, to);
  }
  context.globalAlpha = 1;
}

function bandsBetween(p, source, move) {
  const { layout } = p;
  const [from, to] = [layout.boxes.get(source.path), layout.boxes.get(move.path)];
  if (!from || !to || (source.is_stream && move.is_stream)) return;
  if (from.heads && to.heads) return;
  if (to.heads && move.kind !== "project") return;
  const isFirst = !to.heads || ["q", "cross_k"].includes(move.stage);
  if (isFirst) band(p.context, from.heads ? around(from.heads, 0) : from, to.heads ? around(to.heads, 0) : to);
}

function band(context, from, to) {
  const [x, end] = [from.x + from.w, to.x];
  const middle = (x + end) / 2;
  context.beginPath();
  context.moveTo(x, from.y);
  context.bezierCurveTo(middle, from.y, middle, to.y, end, to.y);
  context.lineTo(end, to.y + to.h);
  context.bezierCurveTo(middle, to.y + to.h, middle, from.y + from.h, x, from.y + from.h);
  context.fill();
}

/* A part of a folded layer: in attention who reads from whom, elsewhere what each token thinks alone. */
function paintZone(p, zone) {
  const { context, scene } = p;
  if (zone.alpha < 0.02 || !isInView(p, zone)) return;
  const color = p.colors[zone.move.part];
  const share = progressOf(p, zone.move.path);
  context.globalAlpha = zone.alpha;
  context.fillStyle = color;
  context.fillRect(zone.x + 1, zone.y - 5, Math.max(0, zone.w - 2), 3);
  if (zone.move.part === "feed_forward") paintThinking(p, zone, color, share);
  else paintReading(p, zone, color, share);
  context.globalAlpha = 1;
}

function paintThinking(p, zone, color, share) {
  const { context, scene } = p;
  const experts = `${zone.move.start}experts`;
  if (scene.readings.has(experts)) return paintExperts(p, zone, experts, share);
  const path = [`${zone.move.start}hidden`, zone.move.path].find((each) => scene.matrices.has(each));
  const box = { x: zone.x + zone.w * 0.22, y: zone.y, w: zone.w * 0.56, h: zone.h };
  const n = scene.tokens[zone.move.stack].length;
  context.globalAlpha = zone.alpha * 0.12;
  context.fillRect(box.x, box.y, box.w, box.h);
  if (!share) return;
  context.globalAlpha = zone.alpha;
  if (path && p.isCached) paintCached(p, zone.move, imageOf(scene, path, 0), box, n, share);
  else if (path) rowsDone(p, imageOf(scene, path, 0), box, n, share);
  else {
    context.globalAlpha = zone.alpha * 0.3 * share;
    context.fillRect(box.x, box.y, box.w, box.h);
  }
}

function paintReading(p, zone, color, share) {
  const reading = readingOf(p.scene, zone.move);
  if (!reading) return paintCarried(p, zone, color, share);
  const x = paintCache(p, zone, share);
  if (!share) return;
  const { context } = p;
  paintCurves(p, { ...zone, x, w: zone.x + zone.w - x }, reading, color, p.isCached ? clamp((share - JOINED) / (1 - JOINED)) : share);
}

/* Lines that stand are drawn once, and then copied while the camera rests. */
function paintCurves(p, zone, reading, color, share) {
  if (share < 1 || !p.isStill || p.marked) return drawCurves(p, p.context, zone, reading, color, share);
  const s = p.ratio * p.zoom;
  const [w, h] = [Math.ceil(zone.w * s), Math.ceil((zone.h + 2 * EDGE) * s)];
  const key = `${zone.name}|lines|${w}x${h}|${p.isCached}`;
  if (w < 1 || h < 1) return;
  if (!p.scene.images.has(key)) {
    const copy = Object.assign(document.createElement("canvas"), { width: w, height: h });
    const context = copy.getContext("2d");
    context.setTransform(s, 0, 0, s, -zone.x * s, (EDGE - zone.y) * s);
    drawCurves(p, context, { ...zone, alpha: 1 }, reading, color, 1);
    p.scene.images.set(key, copy);
  }
  p.context.globalAlpha = zone.alpha;
  p.context.drawImage(p.scene.images.get(key), zone.x, zone.y - EDGE, w / s, h / s);
}

function drawCurves(p, context, zone, reading, color, share) {
  const isNew = (curve) => !p.isCached || curve.query === reading.rows - 1;
  const curves = curvesOf(p, zone, reading).filter(isNew);
  context.strokeStyle = context.fillStyle = `color-mix(in srgb, ${color} 80%, ${p.colors.text})`;
  const isMoving = share < 1;
  for (const curve of curves) {
    const paleness = (isMoving ? 0.35 : 1) * (curve.isFromSink ? 0.4 : 1) * (isOfMarked(p, zone, curve) ? 1 : 0.12);
    context.globalAlpha = zone.alpha * (0.12 + 0.75 * curve.weight) * paleness;
    context.lineWidth = Math.max(0.7 / p.zoom, curve.weight * Math.min(9, curve.pitch * 0.7, zone.w * 0.16));
    context.beginPath();
    context.moveTo(zone.x, curve.from);
    context.bezierCurveTo(zone.x + zone.w * 0.5, curve.from, zone.x + zone.w * 0.5, curve.to, zone.x + zone.w, curve.to);
    context.stroke();
  }
  if (isMoving) curves.forEach((curve) => paintPulse(p, zone, curve, share));
}

/* Whether a line begins or ends at the word that is marked; each does where none is. */
function isOfMarked({ marked }, { move }, { query, key }) {
  if (!marked) return true;
  const stack = move?.stack || "";
  const keys = move?.stage.startsWith("cross_") ? "encoder" : stack;
  return (marked.stack === stack && marked.row === query) || (marked.stack === keys && marked.row === key);
}

function readingOf(scene, move) {
  const cross = move.stage.startsWith("cross_") ? "cross_" : "";
  return scene.readings.get(`${move.start}${cross}reading`);
}

/* Weights that can be seen, the mean of all heads. */
function curvesOf(p, zone, reading) {
  const key = `${zone.name}|curves`;
  let pairs = p.scene.images.get(key);
  if (!pairs) {
    pairs = [];
    for (let query = 0; query < reading.rows; query++) {
      for (let from = 0; from < reading.cols; from++) {
        const isFromSink = p.scene.sinks.includes(from);
        const weight = reading.value(0, query, from) / (isFromSink ? 1 : widest(p.scene));
        if (weight > 0.04) pairs.push([query, from, Math.min(1, weight)]);
      }
    }
    p.scene.images.set(key, pairs);
  }
  const pitch = zone.h / reading.rows;
  return pairs.map(([query, from, weight]) => ({
    weight,
    pitch,
    query,
    key: from,
    isFromSink: p.scene.sinks.includes(from),
    from: rowMiddle(zone, reading.cols, from),
    to: rowMiddle(zone, reading.rows, query),
  }));
}

/* The weight that is drawn widest: all of one's attention, or where a sink takes most of it, the largest of the rest. */
function widest(scene) {
  if (!scene.sinks.length) return 1;
  if (scene.widest) return scene.widest;
  scene.widest = 0;
  for (const [name, each] of scene.readings) {
    if (!name.endsWith("reading")) continue;
    for (let row = 0; row < each.rows; row++) for (let col = 0; col < each.cols; col++) if (!scene.sinks.includes(col)) scene.widest = Math.max(scene.widest, each.value(0, row, col) || 0);
  }
  return scene.widest;
}

function paintPulse(p, zone, curve, share) {
  const { context } = p;
  const along = ease(clamp(share * 1.25 - 0.12));
  const t = p.scene.is_back ? 1 - along : along;
  const u = 1 - t;
  const [x0, x1, x2] = [zone.x, zone.x + zone.w * 0.5, zone.x + zone.w];
  const x = u * u * u * x0 + 3 * u * t * x1 + t * t * t * x2;
  const y = (u * u * u + 3 * u * u * t) * curve.from + (3 * u * t * t + t * t * t) * curve.to;
  const faint = curve.isFromSink ? 0.35 : 1;
  context.globalAlpha = zone.alpha * (0.25 + 0.75 * curve.weight) * faint;
  context.beginPath();
  context.arc(x, y, 1 + Math.sqrt(curve.weight * faint) * Math.min(6, curve.pitch * 0.45), 0, 7);
  context.fill();
}

/* A state that is handed from each token to the next: no token reads from those before it directly. */
function paintCarried(p, zone, color, share) {
  const { context } = p;
  const n = p.scene.tokens[zone.move.stack].length;
  context.strokeStyle = color;
  context.lineWidth = 1.6 / p.zoom;
  const middle = zone.x + zone.w / 2;
  for (let row = 0; row < n * share; row++) {
    const y = rowMiddle(zone, n, row);
    context.globalAlpha = zone.alpha * 0.8;
    context.strokeRect(middle - 4, y - 3, 8, 6);
    if (row) {
      context.beginPath();
      context.moveTo(middle, rowMiddle(zone, n, row - 1) + 3);
      context.lineTo(middle, y - 3);
      context.stroke();
    }
  }
}

/* A matrix where it stands: what of it is computed. */
function paintMove(p, move, index) {
  const box = p.layout.boxes.get(move.path);
  if (!box || box.alpha < 0.02 || !p.scene.matrices.has(move.path)) return;
  const share = progress(p, index);
  const matrix = p.scene.matrices.get(move.path);
  const all = box.heads || [box];
  all.forEach((each, head) => {
    if (!isInView(p, each)) return;
    const own = Math.floor((head * matrix.heads) / all.length);
    p.context.globalAlpha = box.alpha;
    paintMatrix(p, move, matrix, own, each, share);
  });
  p.context.globalAlpha = 1;
}

function paintMatrix(p, move, matrix, head, box, share) {
  const { context, scene } = p;
  const alpha = context.globalAlpha;
  context.globalAlpha = alpha * 0.8;
  context.fillStyle = p.colors.paper;
  context.fillRect(box.x, box.y, box.w, box.h);
  context.globalAlpha = alpha;
  const isRows = p.scene.is_back || !["scores", "mix"].includes(move.kind);
  const image = share > 0 && imageOf(scene, move.path, head, { transposed: box.isTurned });
  if (p.isCached) paintCached(p, move, imageOf(scene, move.path, head, { transposed: box.isTurned }), box, matrix.rows, share);
  else if (image && share >= 1) context.drawImage(image, box.x, box.y, box.w, box.h);
  else if (image && box.isTurned) columnsDone(p, image, box, matrix.rows, share);
  else if (image && isRows) rowsDone(p, image, box, matrix.rows, share);
  else if (image) cellsDone(p, image, box, matrix, share);
  if (move.kind === "scores") paintMask(p, move, head, box);
  context.globalAlpha = alpha * (share > 0 ? 0.75 : 0.3);
  context.lineWidth = 1 / p.zoom;
  context.strokeStyle = p.colors[move.part] || p.colors.residual;
  context.strokeRect(box.x, box.y, box.w, box.h);
  context.globalAlpha = alpha;
}

function rowShare(p, row, n, share) {
  if (p.isCached) return row < n - 1 ? 1 : share;
  const start = n > 1 ? (row / (n - 1)) * (1 - SPAN) : 0;
  return clamp((share - start) / SPAN);
}

/* How many rows have arrived. */
function nDone(p, n, share) {
  if (share >= 1) return n;
  let done = 0;
  while (done < n && rowShare(p, done, n, share) >= 1) done++;
  return done;
}

function rowsDone(p, image, box, n, share) {
  const done = nDone(p, n, share);
  if (done) p.context.drawImage(image, 0, 0, image.width, done, box.x, box.y, box.w, (box.h * done) / n);
}

function columnsDone(p, image, box, n, share) {
  const done = nDone(p, n, share);
  if (done) p.context.drawImage(image, 0, 0, done, image.height, box.x, box.y, (box.w * done) / n, box.h);
}

/* Row by row, and in the row that is made cell by cell. */
function cellsDone(p, image, box, matrix, share) {
  const { rows, cols } = matrix;
  const done = Math.floor(share * rows);
  const part = Math.floor((share * rows - done) * cols);
  const { context } = p;
  if (done) context.drawImage(image, 0, 0, cols, done, box.x, box.y, box.w, (box.h * done) / rows);
  if (part) {
    const row = rowBox(box, rows, done);
    context.drawImage(image, 0, done, part, 1, row.x, row.y, (row.w * part) / cols, row.h);
  }
}

/* What a query may not see is struck out, the farthest first. */
function paintMask(p, move, head, box) {
  const { scene, context } = p;
  const prefix = move.path.slice(0, -"scores".length);
  const share = progressOf(p, `${prefix}mask`);
  const weights = scene.matrices.get(`${prefix}pattern`);
  if (!share || !weights) return;
  const alpha = context.globalAlpha;
  const far = weights.rows + weights.cols;
  for (let row = 0; row < weights.rows; row++) {
    for (let col = 0; col < weights.cols; col++) {
      if (!weights.isMasked(head, row, col)) continue;
      const own = clamp(share * 2 - (weights.cols - col + row) / far);
      if (!own) continue;
      const cell = columnBox(rowBox(box, weights.rows, row), weights.cols, col);
      context.globalAlpha = alpha * own;
      context.fillStyle = p.colors.paper;
      context.fillRect(cell.x, cell.y, cell.w + 0.02, cell.h + 0.02);
      context.globalAlpha = alpha * own * 0.2;
      context.fillStyle = p.colors.masked;
      context.fillRect(cell.x, cell.y, cell.w + 0.02, cell.h + 0.02);
    }
  }
  context.globalAlpha = alpha;
}

function clamp(x) {
  return Math.max(0, Math.min(1, x));
}

function ease(x) {
  return x < 0.5 ? 4 * x * x * x : 1 - Math.pow(-2 * x + 2, 3) / 2;
}
