/* Words and numbers on the picture, all in one size whatever the zoom; and what lies under the pointer. */

const LEAST_PITCH = 9;
const ON_PROJECTOR = 16;
const CELL_WITH_NUMBER = 34;
const ON_PHONE = 640;
const SMALL = 0.05; // of a matrix whose numbers are told by their powers of ten

function font(p, size, weight = 400) {
  p.context.font = `${weight} ${Math.max(size * p.type, leastSign(p))}px ${FONT}`;
}

/* The height of the smallest sign in pixels: on a projector it is read from the back row. */
function leastSign(p) {
  return p.type > 1 ? ON_PROJECTOR : LEAST_PITCH;
}

/* What the model says at the end: a bar for each token that may come next. */
function paintEnds(p) {
  const { context, scene, layout } = p;
  if (!scene.ends.length) return;
  if (scene.is_back) return paintLoss(p);
  const box = screen(p, layout.ends);
  const [logits, choose] = ["logits", "choose"].map((kind) => progress(p, scene.moves.findIndex((m) => m.kind === kind)));
  const pitch = Math.min(box.h / scene.ends.length, 46);
  const top = box.y + (box.h - pitch * scene.ends.length) / 2;
  const most = scene.ends[0].logit - scene.ends.at(-1).logit || 1;
  font(p, 12);
  context.textBaseline = "middle";
  scene.ends.forEach((end, i) => {
    const y = top + pitch * (i + 0.5);
    const score = 0.25 + (0.75 * (end.logit - scene.ends.at(-1).logit)) / most;
    const share = mix(score, end.probability / scene.ends[0].probability, ease(choose));
    context.globalAlpha = logits;
    context.fillStyle = choose > 0 && i === 0 ? p.colors.pinned : p.colors.logits;
    context.globalAlpha = 0.85 * logits;
    context.fillRect(box.x, y + 3, Math.max(1, share * box.w * logits), Math.max(3, pitch * 0.16));
    context.globalAlpha = logits;
    context.fillStyle = p.colors.text;
    context.textAlign = "left";
    context.fillText(fitted(context, end.label, box.w - 34), box.x, y - 7);
    context.textAlign = "right";
    context.fillText(choose > 0.5 ? end.percent : end.score, box.x + box.w, y - 7);
  });
  context.globalAlpha = 1;
  paintJoining(p, box, top + pitch / 2 - 7);
}

/* Backwards: what each word got, the right one marked, and then the gradient of its logit. */
function paintLoss(p) {
  const { context, scene, layout } = p;
  const box = screen(p, layout.ends);
  const [asked, logits] = ["choose", "logits"].map((kind) => progress(p, scene.moves.findIndex((m) => m.kind === kind)));
  const pitch = Math.min(box.h / scene.ends.length, 46);
  const top = box.y + (box.h - pitch * scene.ends.length) / 2;
  const most = Math.max(...scene.ends.map((end) => Math.abs(end.logit)));
  const isGradient = logits > 0.5;
  font(p, 12);
  context.textBaseline = "middle";
  scene.ends.forEach((end, i) => {
    const y = top + pitch * (i + 0.5);
    const share = mix(end.probability, Math.abs(end.logit) / most, ease(logits));
    context.globalAlpha = 0.85 * asked;
    context.fillStyle = logits > 0 ? `rgb(${end.logit < 0 ? NEGATIVE : POSITIVE})` : p.colors.logits;
    context.fillRect(box.x, y + 3, Math.max(1, share * box.w), Math.max(3, pitch * 0.16));
    context.globalAlpha = asked;
    font(p, 12, i === 0 ? 700 : 400);
    context.fillStyle = i === 0 ? p.colors.pinned : p.colors.text;
    context.textAlign = "left";
    const number = isGradient ? end.score : end.percent;
    context.fillText(fitted(context, end.label, box.w - context.measureText(number).width - 6), box.x, y - 7);
    context.fillStyle = p.colors.text;
    context.textAlign = "right";
    context.fillText(number, box.x + box.w, y - 7);
  });
  context.globalAlpha = 1;
}

/* The word that comes next goes to the end of the sentence. */
function paintJoining(p, box, y) {
  const { context, scene } = p;
  const index = scene.moves.findIndex((move) => move.kind === "next");
  if (index < 0 || !progress(p, index)) return;
  const column = labelColumns(p).at(-1);
  const t = ease(progress(p, index));
  const { n, accepted } = scene.drafted || { n: 0, accepted: 0 };
  const pitch = column.h / scene.tokens[column.stack].length;
  const below = n > accepted ? 2 : Math.max(2, 16 * p.type - pitch / 2); // clear of the last word
  const end = { x: column.x - 10, y: column.y + column.h + below - (n - accepted) * pitch };
  const x = mix(box.x + 40, end.x, t);
  font(p, 13, 600);
  context.fillStyle = p.colors.pinned;
  context.textAlign = "right";
  context.fillText(scene.ends[0].label, x, mix(y, Math.min(end.y, p.height - 6), t) - Math.sin(Math.PI * t) * 60);
}

/* The places where tokens are written: before the first strip of each text. */
function labelColumns(p) {
  return p.scene.moves
    .filter((move) => move.kind === "embed")
    .map((move) => ({ ...screen(p, p.layout.boxes.get(move.path)), stack: move.stack }));
}

function paintLabels(p) {
  const { scene, layout, context } = p;
  for (const column of labelColumns(p)) {
    if (layout.groups.some((group) => group.stack === column.stack && group.e > 0.5)) continue; // named close by
    const [first] = layout.groups.filter((group) => group.stack === column.stack);
    const room = first === layout.groups[0] ? layout.labels - 8 : column.x - 12 - screen(p, first).x;
    rowLabels(p, column, column.stack, { align: "right", x: column.x - 12, room });
  }
  for (const box of layout.heads.values()) if (box.alpha > 0.5) headLabels(p, box);
  for (const group of layout.groups) {
    if (group.e < 0.6) continue;
    const move = group.moves.find((each) => !each.is_stream && !each.inHead);
    const box = move && layout.boxes.get(move.path);
    if (!box || p.zoom > 1.6) continue;
    const { x } = screen(p, box);
    const room = Math.min(74, x - 8);
    if (room < 20 || x > p.width) continue; // what it would name is out of the picture, or is cut
    context.globalAlpha = group.e;
    rowLabels(p, screen(p, box), group.stack, { align: "right", x: x - 5, room });
    context.globalAlpha = 1;
  }
}

function rowLabels(p, box, stack, { align, x, room }) {
  const { context } = p;
  const labels = p.scene.tokens[stack];
  const pitch = box.h / labels.length;
  context.textAlign = align;
  context.textBaseline = "middle";
  const pinned = p.scene.pinned[stack];
  const marked = p.marked?.stack === stack ? p.marked.row : -1;
  p.names.push({ stack, n: labels.length, y: box.y, h: box.h, left: align === "right" ? x - room : x, w: room });
  const every = Math.ceil(leastSign(p) / pitch);
  const size = Math.min(14, Math.max(LEAST_PITCH, (pitch * 0.8) / p.type));
  labels.forEach((label, row) => {
    const isPinned = row === pinned;
    if (!isPinned && row !== marked && (row % every || Math.abs(row - pinned) < every)) return;
    font(p, size, isPinned || row === marked ? 700 : 400);
    context.fillStyle = isPinned ? p.colors.pinned : p.colors.text;
    const text = fitted(context, label, room);
    const y = rowMiddle(box, labels.length, row);
    const fate = fateOf(p, row - labels.length);
    context.lineWidth = 4;
    context.strokeStyle = p.colors.paper;
    context.strokeText(text, x, y);
    if (fate) context.fillStyle = p.colors.ghost;
    context.fillText(text, x, y);
    const wide = context.measureText(text).width;
    if (row === marked) frameWord(p, align === "right" ? x - wide : x, y, wide, size * p.type);
    if (fate !== "struck") return;
    context.fillRect(align === "right" ? x - wide - 2 : x - 2, y - 1, wide + 4, 2);
  });
}

/* The word that is marked is outlined, as a chosen number is. */
function frameWord({ context, colors }, x, y, wide, high) {
  context.lineWidth = 2;
  context.strokeStyle = colors.pinned;
  context.beginPath();
  context.roundRect(x - 4, y - high * 0.75, wide + 8, high * 1.5, 4);
  context.stroke();
}

/* The word under a place of the screen: of which text, and which row. */
function wordAt({ names }, x, y) {
  const found = names.find((each) => x >= each.left && x < each.left + each.w && y >= each.y && y < each.y + each.h);
  return found ? { stack: found.stack, row: Math.floor(((y - found.y) / found.h) * found.n) } : null;
}

/* A draft is a ghost until it is checked; then it is a word like any other, or struck. `back`: −1 is the
   last row. */
function fateOf(p, back) {
  const { n, accepted } = p.scene.drafted || { n: 0 };
  if (-back > n) return "";
  const isChecked = progressOf(p, "probs") > 0.5;
  if (!isChecked) return "ghost";
  return n + back < accepted ? "" : "struck";
}

/* Of a head: its name, its tokens where there is room, and what each of its matrices is. */
function headLabels(p, box) {
  const { context, scene } = p;
  if (!isInView(p, box)) return;
  const at = screen(p, box);
  const size = Math.max(9, Math.min(14, at.h * 0.07) / p.type);
  context.globalAlpha = box.alpha;
  font(p, size, 600);
  context.textBaseline = "top";
  context.textAlign = "left";
  context.fillStyle = p.colors.text;
  const corner = screen(p, box.parts.q); // the place above the queries is free
  const names = [`${scene.words.head} ${box.head + 1}`, `${box.head + 1}`];
  const name = names.find((text) => context.measureText(text).width <= Math.max(corner.w, 8));
  if (name && at.x + context.measureText(name).width < p.width) context.fillText(name, at.x, at.y);
  if (at.w > 84) partTitles(p, box, Math.max(9, Math.min(13, at.h * 0.055)));
  const q = screen(p, box.parts.q);
  const queries = scene.tokens[box.group.stack];
  const keys = box.cross ? scene.tokens.encoder : queries;
  if (at.w > 0.4 * p.width && (q.h > 12 * LEAST_PITCH * p.type || q.h / queries.length >= LEAST_PITCH)) {
    const room = Math.min(90, p.width < ON_PHONE ? roomBefore(p, box, q) - 8 : Math.max(20, q.x - 8));
    if (room >= 20) rowLabels(p, q, box.group.stack, { align: "right", x: q.x - 4, room });
    const isNamedInBlack = p.cell?.box === box.parts.pattern;
    if (!isNamedInBlack) turnedLabels(p, screen(p, box.parts.pattern), keys);
  }
  context.globalAlpha = 1;
}

/* Pixels before the queries of a head, up to the output of the head beside it or the edge. */
function roomBefore(p, box, q) {
  const beside = [...p.layout.heads.values()].filter((each) => each.x < box.x && Math.abs(each.y - box.y) < box.h / 2);
  const ends = beside.map(({ parts }) => screen(p, parts.head_out)).map((at) => at.x + at.w);
  return q.x - Math.max(0, ...ends);
}

/* What each matrix of a head is called: keys and values at their left, the others below. */
function partTitles(p, box, size) {
  const { context, scene } = p;
  font(p, size);
  context.fillStyle = p.colors.quiet;
  const space = screen(p, box.parts.scores).x - screen(p, box.parts.q).x;
  for (const [name, part] of Object.entries(box.parts)) {
    const at = screen(p, part);
    const isBeside = name === "k" || name === "v";
    const weights = screen(p, box.parts.pattern); // over them stand the names of the keys
    const room = name === "v" && p.width < ON_PHONE ? at.x - weights.x - weights.w - 6 : isBeside ? space - 6 : at.w + 4;
    const text = scene.words.parts[name].find((each) => context.measureText(each).width <= room);
    if (!text) continue;
    context.textAlign = isBeside ? "right" : "center";
    context.textBaseline = isBeside ? "middle" : "top";
    if (isBeside) context.fillText(text, at.x - 5, at.y + at.h / 2);
    else context.fillText(text, at.x + at.w / 2, at.y + at.h + 2);
  }
}

function turnedLabels(p, box, labels) {
  const { context } = p;
  const pitch = box.w / labels.length;
  const every = Math.ceil(leastSign(p) / pitch);
  font(p, Math.min(13, Math.max(LEAST_PITCH, (pitch * 0.8) / p.type)));
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = p.colors.quiet;
  labels.forEach((label, col) => {
    if (col % every) return;
    if (UPRIGHT.test(label)) return stackedLabel(p, label, box.x + (col + 0.5) * pitch, box.y - 4);
    context.save();
    context.translate(box.x + (col + 0.5) * pitch, box.y - 4);
    context.rotate(-Math.PI / 2);
    context.fillText(fitted(context, label, box.h * 0.6), 0, 0);
    context.restore();
  });
}

function namesAtEdge(p, at, stack) {
  const { context } = p;
  font(p, 14);
  const room = Math.min(110, Math.max(...p.scene.tokens[stack].map((label) => context.measureText(label).width)));
  context.fillStyle = p.colors.paper;
  context.fillRect(0, 0, room + 12, p.height);
  rowLabels(p, at, stack, { align: "left", x: 6, room });
}

/* Characters that are never set on their side stand above each other. */
const UPRIGHT = /[\u2e80-\u9fff\uf900-\ufaff]/;

function stackedLabel(p, label, x, bottom) {
  const { context } = p;
  const high = parseFloat(context.font.match(/([\d.]+)px/)[1]);
  context.textAlign = "center";
  [...label].reverse().forEach((letter, i) => context.fillText(letter, x, bottom - (i + 0.5) * high));
  context.textAlign = "left";
}

/* What stands in a column: layers above a folded model, stages in an unfolded layer. */
function paintTitles(p) {
  const { context, scene, layout } = p;
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  for (const layer of scene.layers) {
    const groups = layout.groups.filter((group) => group.start === layer.start);
    const box = screen(p, around(groups, 0));
    const isFolded = layout.bands.some((band) => band.alpha > 0.5 && band.starts.includes(layer.start));
    if (p.zoom > 1.6 || isFolded) continue;
    title(p, box, [layer.title, `${layer.number}`], [layer.start]);
  }
  for (const band of layout.bands) {
    const [first, last] = [band.from, band.to].map((i) => scene.layers[i].number);
    if (band.alpha > 0.5) title(p, screen(p, { ...band, w: band.w + band.end.w }), [`${first}–${last}`], band.starts, 10);
  }
  for (const zone of layout.zones) zoneName(p, zone);
  for (const move of scene.moves) {
    const box = layout.boxes.get(move.path);
    if (!box || box.heads || p.zoom > 3) continue;
    const group = layout.groups.find((each) => each.start === move.start);
    const alpha = move.start ? group.e : 1;
    const at = screen(p, box);
    if (alpha < 0.5 || at.x > p.width || at.x + at.w < 0) continue;
    font(p, 11);
    context.globalAlpha = alpha;
    context.fillStyle = p.colors.quiet;
    if (context.measureText(move.short).width < at.w + (move.start ? 30 : 6)) {
      const half = context.measureText(move.short).width / 2 + 2;
      context.fillText(move.short, Math.max(half, Math.min(p.width - half, at.x + at.w / 2)), move.start ? at.y - 5 : 16);
    }
  }
  context.globalAlpha = 1;
}

/* The longest of the names that has room, above what it names; in bold where it is being computed. */
function title(p, box, names, starts, extra = -5) {
  const { context } = p;
  if (box.x > p.width || box.x + box.w < 0) return;
  const isNow = p.share < 1 && starts.includes(p.scene.moves[p.at]?.start);
  font(p, 12, isNow ? 700 : 400);
  context.fillStyle = isNow ? p.colors.text : p.colors.quiet;
  const [left, right] = [Math.max(box.x, 0), Math.min(box.x + box.w, p.width)];
  const name = names.find((text) => context.measureText(text).width < right - left + extra);
  if (name) context.fillText(name, (left + right) / 2, 16);
}

/* Which of the strips of a cache are keys, and which values. */
function paintCacheNames(p) {
  const { context, scene } = p;
  font(p, 11);
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillStyle = p.colors.quiet;
  for (const { name, box } of p.asides) {
    const at = screen(p, box);
    const short = scene.words.kept[name];
    if (short && at.w > context.measureText(short).width) context.fillText(short, at.x + at.w / 2, at.y + at.h + 2);
  }
}

/* Of an unfolded layer one half fills the picture; at its edge stands what follows. */
function paintWayOn(p) {
  const { context, layout, scene } = p;
  const at = layout.groups.findIndex((group) => group.moves.includes(scene.moves[p.at]));
  const next = layout.groups[at + 1];
  if (at < 0 || layout.groups[at].e < 0.9 || p.zoom > 1.6 || !next?.start) return;
  const zone = next.moves.find(isZone);
  const name = next.start === layout.groups[at].start && zone ? scene.words.zones[zone.part] : scene.layers.find((layer) => layer.start === next.start).title;
  font(p, 12, 600);
  Object.assign(context, { textAlign: "right", textBaseline: "alphabetic", fillStyle: p.colors.text });
  if (name) context.fillText(`${name} →`, p.width - 6, p.height - 8);
}

/* What a part of a folded layer does, where its name has room. */
function zoneName(p, zone) {
  const { context, scene } = p;
  const at = screen(p, zone);
  if (zone.alpha < 0.5 || at.x > p.width || at.x + at.w < 0) return;
  font(p, 10);
  const name = scene.words.zones[zone.move.part];
  const half = context.measureText(name || "").width / 2;
  const isCut = at.x + at.w / 2 < half || at.x + at.w / 2 > p.width - half;
  if (!name || (p.isCached && zone.move.part === "attention") || isCut || 2 * half > at.w + (p.type > 1 ? 24 : 8)) return;
  context.fillStyle = p.colors.quiet;
  context.fillText(name, at.x + at.w / 2, at.y + at.h + 12 * p.type + 1);
}

function fitted(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && context.measureText(text.slice(0, end) + "…").width > room) end--;
  return `${text.slice(0, end)}…`;
}

/* The cell under a place of the screen: which matrix, head, row and column; the smallest box wins. */
function cellAt(p, x, y) {
  const at = { x: p.camera.x + x / p.zoom, y: p.camera.y + y / p.zoom };
  for (const move of [...p.scene.moves].reverse()) {
    const box = p.layout.boxes.get(move.path);
    const matrix = p.scene.matrices.get(move.path);
    if (!box || !matrix || box.alpha < 0.5 || progressOf(p, move.path) < 1) continue;
    const all = box.heads || [box];
    const head = all.findIndex((each) => each.w > 1 && isInside(at, each));
    if (head < 0) continue;
    const own = all[head];
    const [across, down] = [(at.x - own.x) / own.w, (at.y - own.y) / own.h];
    const [row, col] = own.isTurned ? [across, down] : [down, across];
    const given = Math.floor((head * matrix.heads) / all.length);
    return { move, matrix, head, given, box: own, row: Math.floor(row * matrix.rows), col: Math.floor(col * matrix.cols) };
  }
  return asideAt(p, at);
}

function asideAt(p, at) {
  const found = p.asides.find(({ box }) => isInside(at, box));
  if (!found) return null;
  const { name, matrix, box, move } = found;
  const [row, col] = [Math.floor(((at.y - box.y) / box.h) * matrix.rows), Math.floor(((at.x - box.x) / box.w) * matrix.cols)];
  return { move, matrix, head: 0, given: 0, box, row, col, aside: name };
}

function isInside(at, box) {
  return at.x >= box.x && at.x < box.x + box.w && at.y >= box.y && at.y < box.y + box.h;
}

function cellBox(cell) {
  const { box, matrix, row, col } = cell;
  if (box.isTurned) return columnBox(rowBox(box, matrix.cols, col), matrix.rows, row);
  return columnBox(rowBox(box, matrix.rows, row), matrix.cols, col);
}

/* The cell under the pointer is outlined; close by, every cell shows its number. */
function paintPointed(p) {
  const { context } = p;
  if (p.cell) paintNumbers(p, p.cell);
  if (p.cell) rowsBeside(p, p.cell);
  for (const cell of [p.cell, p.pointed]) {
    if (!cell) continue;
    const at = screen(p, cellBox(cell));
    context.strokeStyle = p.colors.pinned;
    context.lineWidth = 2;
    context.strokeRect(at.x, at.y, Math.max(at.w, 2), Math.max(at.h, 2));
  }
}

/* Close by, the names of rows and columns stand at the edges of the picture. */
function rowsBeside(p, { box, matrix }) {
  const at = screen(p, box);
  const [down, across] = box.isTurned ? [null, matrix.rowsOf] : [matrix.rowsOf, matrix.colsOf];
  if (down !== null && at.x < 90) namesAtEdge(p, at, down);
  else if (down !== null) rowLabels(p, at, down, { align: "right", x: at.x - 6, room: at.x - 10 });
  if (across === null) return;
  const { context } = p;
  const [pitch, high] = [at.w / p.scene.tokens[across].length, Math.max(5, at.y - 18)];
  font(p, 13);
  context.fillStyle = p.colors.paper;
  if (at.y < high + 18) context.fillRect(0, 0, p.width, high + 18);
  Object.assign(context, { textAlign: "center", textBaseline: "top", fillStyle: p.colors.text, strokeStyle: p.colors.paper, lineWidth: 4 });
  p.scene.tokens[across].forEach((label, col) => context.strokeText(fitted(context, label, pitch), at.x + (col + 0.5) * pitch, high));
  p.scene.tokens[across].forEach((label, col) => context.fillText(fitted(context, label, pitch), at.x + (col + 0.5) * pitch, high));
}

function paintNumbers(p, chosen) {
  const { context } = p;
  const box = screen(p, chosen.box);
  const { matrix } = chosen;
  const [nRows, nCols] = chosen.box.isTurned ? [matrix.cols, matrix.rows] : [matrix.rows, matrix.cols];
  const [w, h] = [box.w / nCols, box.h / nRows];
  if (w < CELL_WITH_NUMBER || h < 12 || !sentOf(p.scene, chosen)) return;
  const isTight = matrix.strong < SMALL && w < 64;
  font(p, Math.min(15, w / (isTight ? 5 : 4)));
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = p.colors.text;
  for (let i = 0; i < nRows; i++) {
    for (let j = 0; j < nCols; j++) {
      const [x, y] = [box.x + (j + 0.5) * w, box.y + (i + 0.5) * h];
      if (x < 0 || y < 0 || x > p.width || y > p.height) continue;
      const [row, col] = chosen.box.isTurned ? [j, i] : [i, j];
      context.fillText(isRuledOut(p, chosen, row, col) ? "−∞" : shownNumber(numberOf(p.scene, chosen, row, col), matrix.strong, isTight ? 0 : 1), x, y);
    }
  }
}

/* The numbers of the head as they passed, as its sum has them: Python sends those of the chosen cell. */
function sentOf({ written }, { move, matrix, head }) {
  return written?.path === move.path && (written.head === head || matrix.heads === 1) ? written.numbers : null;
}

/* Exactly, where it was sent; else in the steps of the picture. NaN where masked. */
function numberOf(scene, cell, row, col) {
  const { matrix, given } = cell;
  const exact = matrix.isMasked(given, row, col) ? null : sentOf(scene, cell)?.[row]?.[col];
  return exact ?? matrix.value(given, row, col);
}

/* A score that the mask has taken. */
function isRuledOut(p, cell, row, col) {
  if (cell.move.kind !== "scores") return false;
  const start = cell.move.path.slice(0, -"scores".length);
  const weights = p.scene.matrices.get(`${start}pattern`);
  return progressOf(p, `${start}mask`) >= 1 && weights.isMasked(Math.min(cell.given, weights.heads - 1), row, col);
}

/* Where all numbers are small (`strong`: the large ones of the matrix), by their power of ten. */
function shownNumber(value, strong, decimals = 1) {
  if (Number.isNaN(value)) return "×";
  if (value && strong < SMALL) return value.toExponential(decimals).replace(/e(.*)/, (_all, power) => `×10${raised(power)}`).replace("-", "−");
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return value.toFixed(digits).replace("-", "−");
}

function raised(power) {
  return [...String(Number(power))].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign])).join("");
}
