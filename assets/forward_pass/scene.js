/* The scene: what Python says of one pass. A message is four bytes with the length of its head, the head
   as JSON (see pages/panels/forward_pass/message.py), the steps of all rows (float32), and one byte for
   each number. Nothing is computed here but number = (code − 127) · step. */

const ZERO = 127;
const MASKED = 255;

function readScene(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const nHead = view.getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + nHead)));
  const stepsAt = 4 + nHead;
  const steps = new Float32Array(bytes.slice(stepsAt, stepsAt + 4 * head.n_steps).buffer);
  const codes = bytes.subarray(stepsAt + 4 * head.n_steps);
  const matrixOf = (given) => new Matrix(given, steps, codes);
  const scene = { ...head, images: new Map() };
  scene.matrices = new Map(Object.entries(head.matrices).map(([path, m]) => [path, matrixOf(m)]));
  scene.readings = new Map(Object.entries(head.readings).map(([path, m]) => [path, matrixOf(m)]));
  scene.index = new Map(head.moves.map((move, i) => [move.path, i]));
  scene.opened = new Set(head.opened);
  scene.inOrder = head.is_back ? [...scene.moves].reverse() : scene.moves; // as it stands, left to right
  scene.edges = edgesOf(scene);
  scene.moves.forEach((move) => {
    move.start = move.layer === null ? "" : layerStart(move.layer, move.stack);
    move.inHead = IN_HEAD.has(move.kind);
  });
  return scene;
}

/* What flows where in the pass itself: [from, to], moves both. */
function edgesOf(scene) {
  const named = (path) => scene.moves[scene.index.get(path)];
  const pairs = scene.moves.flatMap((move) => move.reads.map((read) => [named(read), move]));
  const known = pairs.filter(([read]) => read);
  return scene.is_back ? known.map(([read, move]) => [move, read]) : known;
}

const IN_HEAD = new Set(["project", "scores", "mask", "softmax", "mix"]);

function layerStart(layer, stack) {
  return stack ? `${stack}.layers.${layer}.` : `layers.${layer}.`;
}

class Matrix {
  constructor(given, steps, codes) {
    [this.heads, this.rows, this.cols] = given.shape;
    Object.assign(this, { of: given.of, first: given.first || 0, rowsOf: given.rows, colsOf: given.columns, strong: given.strong });
    this.steps = steps.subarray(given.steps_at, given.steps_at + this.heads * this.rows);
    const n = this.heads * this.rows * this.cols;
    this.codes = codes.subarray(given.codes_at, given.codes_at + n);
  }

  /* NaN where masked. */
  value(head, row, col) {
    const at = head * this.rows + row;
    const code = this.codes[at * this.cols + col];
    return code === MASKED ? NaN : (code - ZERO) * this.steps[at];
  }

  isMasked(head, row, col) {
    return this.codes[(head * this.rows + row) * this.cols + col] === MASKED;
  }
}

/* One pixel a number; drawn large without smoothing, it is the matrix. */
function imageOf(scene, path, head, { transposed = false } = {}) {
  const key = `${path}|${head}|${transposed}`;
  if (scene.images.has(key)) return scene.images.get(key);
  const matrix = scene.matrices.get(path) || scene.readings.get(path);
  const canvas = document.createElement("canvas");
  canvas.width = transposed ? matrix.rows : matrix.cols;
  canvas.height = transposed ? matrix.cols : matrix.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let row = 0; row < matrix.rows; row++) {
    for (let col = 0; col < matrix.cols; col++) {
      const at = transposed ? col * matrix.rows + row : row * matrix.cols + col;
      const [r, g, b, a] = colorOf(matrix.value(head, row, col), matrix.strong);
      image.data.set([r, g, b, a], 4 * at);
    }
  }
  context.putImageData(image, 0, 0);
  scene.images.set(key, canvas);
  return canvas;
}

const POSITIVE = [20, 130, 210];
const NEGATIVE = [226, 145, 0];

/* Blue above 0, orange below, clear at 0: seen on light and dark alike. Gray where masked. */
function colorOf(value, strong) {
  if (Number.isNaN(value)) return [128, 138, 150, 40];
  const share = Math.min(1, Math.abs(value) / strong);
  return [...(value < 0 ? NEGATIVE : POSITIVE), Math.round(255 * Math.pow(share, 0.7))];
}
