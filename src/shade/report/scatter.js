// The points of the embedding, painted pixel by pixel into a canvas that lies behind Bokeh's axes and tools. That takes
// some milliseconds for 70,000 points on any machine; marks drawn one by one would need a graphics card.

const GRID = 256; // cells a side, to find points near a place
const scatter = { canvas: null, figure: null, waiting: false, cells: null, starts: null, box: null, layers: null, mixed: null, page: "#ffffff" };

// `moved` is called after what is in view has been painted anew.
function startScatter(figure, moved) {
  scatter.canvas = document.getElementById("scatter");
  scatter.figure = figure;
  scatter.mixed = mixPositions();
  sortIntoCells();
  const later = () => {
    if (!scatter.waiting) requestAnimationFrame(() => { scatter.waiting = false; paintScatter(); moved(); });
    scatter.waiting = true;
  };
  for (const range of [figure.x_range, figure.y_range]) {
    for (const end of ["start", "end"]) range.properties[end].change.connect(later);
  }
  for (const side of ["inner_width", "inner_height"]) figure.properties[side].change.connect(later);
}

// Say what is not in view.
function countOutside() {
  const { x_range: across, y_range: up } = scatter.figure;
  const [left, right, low, high] = [across.start, across.end, up.start, up.end]; // Bokeh's own are slow to ask
  let outside = 0;
  for (let position = 0; position < n; position++) {
    const x = points.x[position], y = points.y[position];
    if (x < left || x > right || y < low || y > high) outside++;
  }
  document.getElementById("outside").textContent = outside ? `${outside.toLocaleString("en")} points outside the view` : "";
}

// Where the axes are within the page's own box around them; null before Bokeh has laid them out.
function frameOf(figure, around) {
  const view = window.Bokeh.index.find_one(figure);
  if (!view || !figure.inner_width) return null;
  const drawn = view.canvas_view.el.getBoundingClientRect();
  const outer = around.getBoundingClientRect();
  const { x, y, width, height } = view.frame.bbox;
  return { left: drawn.left - outer.left + x, top: drawn.top - outer.top + y, width, height };
}

function paintScatter() {
  const { canvas, figure } = scatter;
  const frame = frameOf(figure, canvas.parentElement);
  if (!frame) return;
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const width = Math.max(1, Math.round(frame.width * ratio));
  const height = Math.max(1, Math.round(frame.height * ratio));
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  Object.assign(canvas.style, { left: `${frame.left}px`, top: `${frame.top}px`, width: `${frame.width}px`, height: `${frame.height}px` });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const page = readColour(scatter.page);
  pixels.fill((255 << 24) | (page[2] << 16) | (page[1] << 8) | page[0]);
  const radius = Math.min(Math.max((165 / Math.sqrt(n)) * Math.min(frame.width / 560, 1.2), 1.2), 4);
  const stamp = makeStamp(radius * ratio);
  const { layers, alphas } = scatter.layers || (scatter.layers = sortIntoLayers());
  layers.forEach((layer, place) => stampPoints(pixels, width, height, stamp, layer, alphas[place]));
  context.putImageData(image, 0, 0);
  countOutside();
}

// What is painted first and last: noise below clusters, what is selected above the rest.
function sortIntoLayers() {
  const { labels, selected, nSelected } = state;
  const above = new Int32Array(n), below = new Int32Array(n);
  let high = 0, low = 0;
  for (const position of scatter.mixed) {
    if (nSelected ? selected[position] : labels[position] >= 0) above[high++] = position;
    else below[low++] = position;
  }
  return { layers: [below.subarray(0, low), above.subarray(0, high)], alphas: nSelected ? [0.1, 0.95] : [0.5, 0.8] };
}

// To be called when labels or the selection have changed.
function repaintScatter() {
  scatter.layers = null;
  paintScatter();
}

function readColour(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

// A disc as offsets and the share of each pixel that it covers.
function makeStamp(radius) {
  const stamp = [];
  const reach = Math.ceil(radius);
  for (let down = -reach; down <= reach; down++) {
    for (let across = -reach; across <= reach; across++) {
      const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(across, down)));
      if (cover > 0.05) stamp.push({ across, down, cover });
    }
  }
  return { stamp, reach };
}

function stampPoints(pixels, width, height, { stamp, reach }, layer, alpha) {
  const { x_range: across, y_range: up } = scatter.figure;
  const [left, top] = [across.start, up.end];
  const xScale = width / (across.end - left);
  const yScale = height / (top - up.start);
  const offsets = Int32Array.from(stamp, (part) => part.down * width + part.across);
  const covers = Int32Array.from(stamp, (part) => Math.round(256 * alpha * part.cover));
  const palette = state.colour ? state.colour.palette || state.colour.named.map((_, place) => colourOf(place)) : state.clusters.map((_, label) => colourOf(label));
  const colours = [colourOf(-1), ...palette].map(readColour);
  const [reds, greens, blues] = [0, 1, 2].map((channel) => Uint8Array.from(colours, (colour) => colour[channel]));
  const { x, y } = points;
  const labels = state.colour ? state.colour.codes : state.labels;
  const [lastColumn, lastLine, parts, count] = [width - reach, height - reach, offsets.length, layer.length];
  for (let turn = 0; turn < count; turn++) {
    const position = layer[turn];
    const column = ((x[position] - left) * xScale + 0.5) | 0;
    const line = ((top - y[position]) * yScale + 0.5) | 0;
    if (column < reach || line < reach || column >= lastColumn || line >= lastLine) continue;
    const label = labels[position] + 1;
    const red = reds[label], green = greens[label], blue = blues[label];
    const centre = line * width + column;
    for (let part = 0; part < parts; part++) {
      const place = centre + offsets[part];
      const below = pixels[place];
      const cover = covers[part];
      const r = below & 255, g = (below >> 8) & 255, b = (below >> 16) & 255;
      pixels[place] = 0xff000000 | ((b + (((blue - b) * cover) >> 8)) << 16) | ((g + (((green - g) * cover) >> 8)) << 8) | (r + (((red - r) * cover) >> 8));
    }
  }
}

// Every point once, far from the one before: no cluster is painted on top of another as a whole.
function mixPositions() {
  const divisor = (a, b) => (b ? divisor(b, a % b) : a);
  let step = Math.max(1, Math.floor(n * 0.618));
  while (divisor(step, n) !== 1) step++;
  const mixed = new Int32Array(n);
  for (let turn = 1; turn < n; turn++) mixed[turn] = (mixed[turn - 1] + step) % n;
  return mixed;
}

function cellOf(value, [low, high]) {
  return Math.min(GRID - 1, Math.max(0, Math.floor(((value - low) / (high - low || 1)) * GRID)));
}

function sortIntoCells() {
  const extent = (values) => {
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return [low, high];
  };
  scatter.box = { x: extent(points.x), y: extent(points.y) };
  scatter.starts = new Int32Array(GRID * GRID + 1);
  const cells = Int32Array.from(points.x, (x, position) => cellOf(points.y[position], scatter.box.y) * GRID + cellOf(x, scatter.box.x));
  for (const cell of cells) scatter.starts[cell + 1]++;
  for (let cell = 0; cell < GRID * GRID; cell++) scatter.starts[cell + 1] += scatter.starts[cell];
  const next = scatter.starts.slice();
  scatter.cells = new Int32Array(n);
  cells.forEach((cell, position) => { scatter.cells[next[cell]++] = position; });
}

// The point nearest to a place, within so many pixels; undefined if there is none.
function nearestPoint(x, y, within = 8) {
  const { figure, box, starts, cells } = scatter;
  const unit = (figure.x_range.end - figure.x_range.start) / figure.inner_width;
  const far = within * unit;
  let best, least = far * far;
  const [left, right, low, high] = [cellOf(x - far, box.x), cellOf(x + far, box.x), cellOf(y - far, box.y), cellOf(y + far, box.y)];
  for (let line = low; line <= high; line++) {
    for (let place = starts[line * GRID + left]; place < starts[line * GRID + right + 1]; place++) {
      const position = cells[place];
      const distance = (points.x[position] - x) ** 2 + (points.y[position] - y) ** 2;
      if (distance < least) [best, least] = [position, distance];
    }
  }
  return best;
}

// Whether a point lies within a polygon, by counting the sides that a ray from it crosses.
function insidePolygon(xs, ys, x, y) {
  let inside = false;
  for (let corner = 0, before = xs.length - 1; corner < xs.length; before = corner++) {
    const crosses = ys[corner] > y !== ys[before] > y;
    if (crosses && x < ((xs[before] - xs[corner]) * (y - ys[corner])) / (ys[before] - ys[corner]) + xs[corner]) inside = !inside;
  }
  return inside;
}
