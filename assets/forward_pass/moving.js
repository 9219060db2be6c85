/* What moves is what is computed: rows on their way from what is read to what is made of them. */

const MOST_MOVING = 400; // rows at once; of more heads those in view go first

function paintMoving(p, move) {
  const box = move && p.layout.boxes.get(move.path);
  if (!box || box.alpha < 0.05) return;
  if (move.kind === "embed" && !p.scene.is_back) return paintUnrolling(p, move, box);
  const heads = box.heads || [box];
  heads.forEach((to, head) => {
    if (!isInView(p, to) && !p.isFollowing) return;
    if (p.scene.is_back) move.reads.forEach((read) => flyFrom(p, move, read, head, to));
    else if (move.kind === "scores") paintMeeting(p, move, head, to);
    else if (move.kind === "mix") paintMixing(p, move, head, to);
    else move.reads.forEach((read) => flyFrom(p, move, read, head, to));
  });
  p.context.globalAlpha = 1;
}

/* Rows fly from what is read; from all heads, where they are joined. */
function flyFrom(p, move, read, head, to) {
  const from = p.layout.boxes.get(read);
  if (!from || !p.scene.matrices.has(read) || !p.scene.matrices.has(move.path)) return;
  const starts = from.heads ? (move.inHead ? [from.heads[head]] : from.heads) : [from];
  starts.forEach((start, i) => {
    const own = from.heads && move.inHead ? head : i;
    const place = starts.length > 1 ? columnBox(to, starts.length, i) : to;
    flyRows(p, { read, start, head: own }, { path: move.path, to: place, head });
  });
}

function flyRows(p, { read, start, head }, target) {
  const { context, scene } = p;
  const [source, made] = [scene.matrices.get(read), scene.matrices.get(target.path)];
  const image = imageOf(scene, read, Math.min(head, source.heads - 1));
  const isAll = target.to.w > 0 && target.to === (p.layout.boxes.get(target.path).heads || [p.layout.boxes.get(target.path)])[target.head];
  const own = Math.floor((target.head * made.heads) / Math.max(1, (p.layout.boxes.get(target.path).heads || [0]).length));
  const result = isAll && imageOf(scene, target.path, own, { transposed: target.to.isTurned });
  const n = Math.min(source.rows, made.rows);
  for (let row = 0; row < n; row++) {
    const share = rowShare(p, row, n, p.share);
    if (share <= 0 || share >= 1) continue;
    const t = ease(share);
    const end = target.to.isTurned ? columnBox(target.to, n, row) : rowBox(target.to, n, row);
    const at = mixBox(rowBox(start, n, row), end, t);
    context.globalAlpha = 1 - t * 0.85;
    if (!target.to.isTurned || t < 0.5) context.drawImage(image, 0, row, image.width, 1, at.x, at.y, at.w, at.h);
    context.globalAlpha = t;
    if (result && target.to.isTurned) context.drawImage(result, row, 0, 1, result.height, at.x, at.y, at.w, at.h);
    else if (result) context.drawImage(result, 0, row, result.width, 1, at.x, at.y, at.w, at.h);
  }
}

/* A token becomes its row: the row comes out of the word. */
function paintUnrolling(p, move, box) {
  const image = imageOf(p.scene, move.path, 0);
  const n = image.height;
  for (let row = 0; row < n; row++) {
    const share = rowShare(p, row, n, p.share);
    if (share <= 0 || share >= 1) continue;
    const own = rowBox(box, n, row);
    const t = ease(share);
    p.context.globalAlpha = t;
    p.context.drawImage(image, 0, row, image.width, 1, own.x - (1 - t) * 40, own.y, own.w * t, own.h);
  }
  p.context.globalAlpha = 1;
}

/* One query meets every key: its row and the key's column are lit, and the cell where they cross. */
function paintMeeting(p, move, head, to) {
  const matrix = p.scene.matrices.get(move.path);
  const { row, part } = rowAt(p, matrix.rows);
  const col = Math.min(matrix.cols - 1, Math.floor(part * matrix.cols));
  const [query, key] = move.reads.map((read) => p.layout.boxes.get(read).heads[head]);
  outline(p, rowBox(query, matrix.rows, row), 1.5);
  outline(p, columnBox(key, matrix.cols, col), 1.5);
  outline(p, columnBox(rowBox(to, matrix.rows, row), matrix.cols, col), 2);
}

/* The values that a query attends to come to its row, as strong as their weights. */
function paintMixing(p, move, head, to) {
  const { context, scene, layout } = p;
  const [pattern, values] = move.reads;
  const [weights, v] = [scene.matrices.get(pattern), scene.matrices.get(values)];
  const { row, part } = rowAt(p, weights.rows);
  outline(p, rowBox(layout.boxes.get(pattern).heads[head], weights.rows, row), 1.5);
  const from = layout.boxes.get(values).heads[head];
  const image = imageOf(scene, values, Math.floor((head * v.heads) / layout.boxes.get(values).heads.length));
  const end = rowBox(to, weights.rows, row);
  for (let key = 0; key < weights.cols; key++) {
    const weight = weights.value(head, row, key);
    if (!(weight > 0.03)) continue;
    const at = mixBox(rowBox(from, v.rows, key), end, ease(part));
    context.globalAlpha = Math.min(1, 0.15 + weight);
    context.drawImage(image, 0, key, image.width, 1, at.x, at.y, at.w, at.h);
  }
  context.globalAlpha = 1;
  outline(p, end, 1.5);
}

function outline(p, box, width) {
  p.context.globalAlpha = 1;
  p.context.strokeStyle = p.colors.pinned;
  p.context.lineWidth = width / p.zoom;
  p.context.strokeRect(box.x, box.y, box.w, box.h);
}
