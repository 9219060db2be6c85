/* Where everything stands, in pixels of a picture that nobody has zoomed: tokens are lanes, depth goes to
   the right. `open` says how far each layer is unfolded, 0 to 1; boxes lie between their two places. */

const TOP = 34;
const BOTTOM = 50;
const DEEP = 10; // layers that are all drawn; of more, most are folded
const GAP = 34;
const ROW_NAMES = 44; // pixels before what is read first in an unfolded layer
const CLOSED_UNITS = { embed: 1.1, position: 1.1, norm: 1, stream: 1, attend: 3.2, feed: 1.7 };
const LEADS = [46, 74]; // pixels before the second text, narrow and wide
const HEAD_SHAPE = { strip: 0.75, square: 1, gap: 0.2, title: 0.26, foot: 0.34 };
const SIGN = 11; // pixels of a sign of a token, at most; Latin ones are narrower

function layoutOf(scene, { width, height, open, fold, bands, type = 1 }) {
  const plan = planOf(scene);
  const folded = foldedUnits(bands, plan);
  const isNarrow = width < 640;
  const labels = Math.min(isNarrow ? narrowLabels(scene) : 104, width * 0.22);
  const ends = scene.ends.length ? (isNarrow ? (scene.is_back ? 124 : 100) : 190) : 24;
  const lanes = { y: TOP, h: height - TOP - BOTTOM - 24 * (type - 1) }; // larger words below need more
  const shareOf = (group) => fold.get(group.start) || 0;
  const unitsIn = (group) => mix(group.units, (folded.get(group) || { units: 0 }).units + CLOSED_UNITS.stream * Boolean(folded.get(group)?.isEnd), shareOf(group));
  const units = plan.reduce((sum, group) => sum + unitsIn(group), 0);
  const lead = LEADS[isNarrow ? 0 : 1];
  const room = width - labels - ends - 16 - lead * plan.filter((group) => group.isSecond).length;
  const unit = Math.min(room / units, isNarrow ? 60 : 64);
  const found = { boxes: new Map(), groups: [], heads: new Map(), zones: [], labels, lanes, width, height };
  let x = labels + 8;
  for (const group of plan) {
    const e = group.start ? open.get(group.start) || 0 : 0;
    const wide = openWidth(group, width);
    const own = group.isSecond ? lead : 0;
    const w = mix(unitsIn(group) * unit + own, wide, e);
    placeGroup(found, scene, group, { x, w, e, unit, lanes, lead: own, f: shareOf(group), ...folded.get(group) });
    x += w;
  }
  placeBands(found, bands, fold);
  found.ends = { x: x + 12, y: lanes.y, w: ends - 24, h: lanes.h };
  found.total = x + ends;
  return found;
}

/* Pixels before the first strip on a phone: as many as the longest token needs, no more. */
function narrowLabels(scene) {
  const longest = Math.max(...Object.values(scene.tokens).flat().map((token) => token.length));
  return Math.min(74, 22 + SIGN * longest);
}

/* Moves that stand side by side, up to the stream that they make. */
function planOf(scene) {
  if (scene.plan) return scene.plan;
  const groups = [];
  let group = null;
  scene.inOrder.forEach((move, i) => {
    if (["logits", "choose", "next"].includes(move.kind)) return;
    if (!group || group.start !== move.start || group.isDone || group.stack !== move.stack) {
      const isSecond = groups.length > 0 && groups.at(-1).stack !== move.stack;
      group = { start: move.start, stack: move.stack, moves: [], units: 0, isSecond, isDone: false };
      groups.push(group);
    }
    group.moves.push(move);
    group.units += unitsOf(move);
    const next = scene.inOrder[i + 1];
    group.isDone = move.is_stream && !(next && next.is_stream && next.start === move.start);
  });
  scene.plan = groups;
  return groups;
}

function unitsOf(move) {
  if (move.is_stream) return CLOSED_UNITS[move.kind] || CLOSED_UNITS.stream;
  if (move.stage === "final_norm" || move.stage === "prediction") return CLOSED_UNITS.norm;
  if (["attend", "join", "carry"].includes(move.kind)) return CLOSED_UNITS.attend;
  if (["feed", "narrow"].includes(move.kind)) return CLOSED_UNITS.feed;
  return 0;
}

function openWidth(group, width) {
  const hasHeads = group.moves.some((move) => move.inHead);
  const isBoth = hasHeads && group.moves.some((move) => move.part === "feed_forward");
  return Math.max(width - 120, isBoth ? 1300 : hasHeads ? 940 : 600);
}

function placeGroup(found, scene, group, at) {
  const closed = closedBoxes(group, at);
  const opened = at.e > 0 ? openBoxes(scene, group, at) : closed;
  const region = { x: at.x, y: 0, w: at.w, h: found.height };
  const last = group.moves.at(-1);
  found.groups.push({ ...region, start: group.start, stack: group.stack, e: at.e, moves: group.moves, stream: mixBox(closed.get(last.path), opened.get(last.path), at.e) });
  for (const move of group.moves) {
    if (move.inHead) continue;
    const box = mixBox(closed.get(move.path), opened.get(move.path), at.e);
    const isSeen = unitsOf(move) > 0 && !isZone(move);
    const own = at.isEnd && move === last ? 1 : 1 - at.f;
    found.boxes.set(move.path, { ...box, alpha: isSeen ? mix(own, 1, at.e) : at.e });
    if (isZone(move)) found.zones.push({ ...closed.get(move.path), move, name: move.path, alpha: own * (1 - at.e) });
  }
  placeHeads(found, scene, group, closed, opened, at);
}

function isZone(move) {
  return ["attend", "join", "carry", "feed", "narrow"].includes(move.kind);
}

/* A folded layer: strips as high as the lanes, with room between them for who reads from whom. */
function closedBoxes(group, { x, unit, lanes, lead, f, units = 0, isEnd }) {
  const boxes = new Map();
  let at = x + lead + f * units * unit;
  for (const move of group.moves) {
    const own = isEnd && move === group.moves.at(-1) ? 1 : 1 - f;
    const w = unitsOf(move) * unit * own;
    const isStrip = w > 0 && !isZone(move);
    const inset = isStrip ? Math.min(6, w * 0.12) : 0;
    boxes.set(move.path, { x: at + inset, y: lanes.y, w: Math.max(0, w - 2 * inset), h: lanes.h });
    at += w;
  }
  return boxes;
}

/* An unfolded one: the stream above, what is read from it and added to it below. */
function openBoxes(scene, group, { x, w, lanes }) {
  const boxes = new Map();
  const items = [];
  for (const move of group.moves) {
    if (move.inHead) {
      if (items.at(-1)?.kind !== "heads") items.push({ kind: "heads", weight: 8, paths: [] });
      items.at(-1).paths.push(move.path);
    } else {
      const weight = { widen: 4, route: 1.6, send: 1.6, compress: 1.4, state: 2, gate: 0.7, attend: 3, carry: 3, feed: 3 }[move.kind] || 1;
      items.push({ kind: "strip", weight, paths: [move.path], isStream: move.is_stream });
    }
  }
  const total = items.reduce((sum, item) => sum + item.weight, 0);
  const names = items[0].isStream ? 0 : ROW_NAMES;
  const unit = Math.min((w - names - GAP * (items.length + 1)) / total, 130);
  const trunk = { y: lanes.y + 14, h: lanes.h * 0.2 };
  const branch = { y: lanes.y + lanes.h * 0.3, h: lanes.h * 0.7 };
  const spread = items.reduce((sum, item) => sum + item.weight * unit, 0);
  const gap = (w - names - spread) / (items.length + 1);
  let at = x + names + gap;
  for (const item of items) {
    const row = item.isStream ? trunk : branch;
    const inset = item.kind === "heads" ? 0 : row.h * (item.isStream ? 0 : 0.16);
    const box = { x: at, y: row.y + inset, w: item.weight * unit, h: row.h - 2 * inset };
    item.paths.forEach((path) => boxes.set(path, box));
    at += item.weight * unit + gap;
  }
  return boxes;
}

function placeHeads(found, scene, group, closed, opened, { e }) {
  const paths = group.moves.filter((move) => move.inHead && move.kind !== "mask");
  for (const cross of ["", "cross_"]) {
    const own = paths.filter((move) => move.stage.startsWith("cross_") === (cross !== ""));
    if (!own.length) continue;
    const zone = group.moves.find((move) => move.kind === "join" && move.stage.startsWith(cross || "attention"));
    const n = scene.matrices.get(own[0].path).heads;
    const small = gridOf(closed.get(zone.path), n);
    const area = opened.get(own[0].path);
    const large = gridOf(found.width < 640 ? shapedAs(found, area) : area, n);
    for (let head = 0; head < n; head++) {
      const box = mixBox(small[head], large[head], e);
      const parts = headParts(box);
      found.heads.set(`${group.start}${cross}${head}`, { ...box, alpha: e, parts, head, group, cross });
      for (const move of own) {
        const kind = move.stage.replace("cross_", "");
        const list = found.boxes.get(move.path) || { heads: [], alpha: e };
        list.heads[head] = parts[kind];
        found.boxes.set(move.path, list);
      }
    }
  }
}

/* A phone shows the heads alone: they fill its picture where their place has its shape. */
function shapedAs({ width, height }, area) {
  const w = Math.min(area.w, (area.h * width) / height);
  return { ...area, x: area.x + (area.w - w) / 2, w };
}

/* As many columns as let the heads be as large as they can. */
function gridOf(area, n) {
  const aspect = 1.8;
  let best = { size: 0, columns: 1 };
  for (let columns = 1; columns <= n; columns++) {
    const rows = Math.ceil(n / columns);
    const size = Math.min(area.w / columns, (area.h / rows) * aspect);
    if (size > best.size) best = { size, columns };
  }
  const rows = Math.ceil(n / best.columns);
  const [w, h] = [area.w / best.columns, area.h / rows];
  const inner = Math.min(w, h * aspect) * 0.96;
  return Array.from({ length: n }, (_, i) => ({
    x: area.x + (i % best.columns) * w + (w - inner) / 2,
    y: area.y + Math.floor(i / best.columns) * h + (h - inner / aspect) / 2,
    w: inner,
    h: inner / aspect,
  }));
}

/* As matrices are multiplied on paper: queries at the left, keys above, what they make between. */
function headParts(box) {
  const { strip, square, gap, title, foot } = HEAD_SHAPE;
  const unit = box.w / (2 * strip + 2 * square + 3 * gap);
  const high = box.h / (strip + square + gap + title + foot);
  const xs = [0, strip + gap, strip + square + 2 * gap, strip + 2 * square + 3 * gap].map((x) => box.x + x * unit);
  const [up, down] = [box.y + title * high, box.y + (title + strip + gap) * high];
  const [thin, wide] = [strip * unit, square * unit];
  const [low, tall] = [strip * high, square * high];
  return {
    q: { x: xs[0], y: down, w: thin, h: tall },
    k: { x: xs[1], y: up, w: wide, h: low, isTurned: true },
    scores: { x: xs[1], y: down, w: wide, h: tall },
    pattern: { x: xs[2], y: down, w: wide, h: tall },
    v: { x: xs[3], y: up, w: thin, h: low },
    head_out: { x: xs[3], y: down, w: thin, h: tall },
  };
}

function mix(a, b, share) {
  return a + (b - a) * share;
}

function mixBox(a, b, share) {
  return { x: mix(a.x, b.x, share), y: mix(a.y, b.y, share), w: mix(a.w, b.w, share), h: mix(a.h, b.h, share) };
}

function around(boxes, edge) {
  const x = Math.min(...boxes.map((box) => box.x)) - edge;
  const y = Math.min(...boxes.map((box) => box.y)) - edge;
  const right = Math.max(...boxes.map((box) => box.x + box.w)) + edge;
  const low = Math.max(...boxes.map((box) => box.y + box.h)) + edge;
  return { x, y, w: right - x, h: low - y };
}
