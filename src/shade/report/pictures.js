// The pictures: Bokeh draws them, this fills, recolours and listens to them.

const MOST_NAMES = 120;
let models = null;
let placedNames = [];
let barHeights = { key: "" };

// Let Bokeh draw one picture, and wait until it has found its place.
async function drawPicture(name) {
  await window.Bokeh.embed.embed_item(data.pictures[name], `${name}-picture`);
  const drawn = window.Bokeh.documents.find((document) => document.get_model_by_name(name));
  while (!drawn.is_idle) await nextTask();
}

function findModels() {
  const get = (name) => window.Bokeh.documents.map((document) => document.get_model_by_name(name)).find(Boolean);
  models = {
    names: get("names"), corners: get("corners"), nameLabels: get("name-labels"), bars: get("bars"), chosen: get("chosen"),
    candidates: get("candidates"), current: get("current"), colours: get("colours"), positions: get("reachability").x_range,
    figures: Object.fromEntries(Object.keys(data.pictures).map((name) => [name, get(name)])),
  };
}

// Use another layout of the points.
function useView(view) {
  const { embedding } = models.figures;
  state.view = view;
  Object.assign(points, { x: view.x, y: view.y });
  sortIntoCells();
  embedding.below[0].setv({ axis_label: view.axes[0], visible: view.measured });
  embedding.left[0].setv({ axis_label: view.axes[1], visible: view.measured });
  models.corners.data = { x: view.corners[0], y: view.corners[1] };
}

// Show all of a view: what was zoomed into is somewhere else now. Bokeh knows its extent from the next frame on.
function showWhole() {
  window.Bokeh.index.find_one(models.figures.embedding).reset();
}

// Two pictures over the same points show the same of them.
function linkRanges(first, second) {
  for (const [from, to] of [[first, second], [second, first]]) {
    for (const end of ["start", "end"]) from.properties[end].change.connect(() => to.setv({ start: from.start, end: from.end }));
  }
}

function colourOf(label) {
  const theme = state.dark ? "dark" : "light";
  return label < 0 ? data.noise[theme] : data.palette[theme][label % data.palette[theme].length];
}


// The number of each cluster, in the middle of its strongest points.
function paintNames() {
  placedNames = [];
  if (state.clusters.length <= MOST_NAMES) {
    state.clusters.forEach((cluster, label) => {
      let x = 0, y = 0, weight = 0;
      for (let position = cluster.start; position < cluster.stop; position++) {
        const strength = strengthOf(position) ** 2;
        x += strength * points.x[position];
        y += strength * points.y[position];
        weight += strength;
      }
      const nearest = nearestMember(cluster, { x: x / weight, y: y / weight });
      const place = { x: points.x[nearest], y: points.y[nearest] };
      const name = state.titles[label];
      placedNames.push({ ...place, height: heightAbove(cluster, place), text: name.length > 24 ? `${name.slice(0, 23)}…` : name || String(label) });
    });
  }
  thinNames();
}

// Only names that cover none before them, which are of larger clusters; zooming in brings the others.
function thinNames() {
  const { x_range: across, y_range: up, inner_width: width, inner_height: height } = models.figures.embedding;
  const xScale = width / (across.end - across.start), yScale = height / (up.end - up.start);
  const shown = [];
  for (const placed of placedNames) {
    // A name that would cover all of its cluster stands above it.
    const name = placed.height * yScale < 9 ? { ...placed, y: placed.y + placed.height + 14 / yScale } : placed;
    const covers = (other) => Math.abs(name.x - other.x) * xScale < 4 * (name.text.length + other.text.length) + 5 && Math.abs(name.y - other.y) * yScale < 17;
    if (!shown.some(covers)) shown.push(name);
  }
  const names = { x: shown.map((name) => name.x), y: shown.map((name) => name.y), text: shown.map((name) => name.text) };
  if (names.text.join() !== models.names.data.text.join() || names.x.join() !== models.names.data.x.join()) models.names.data = names;
}

// How far a cluster reaches above a place: nearly as far as its highest points, for a few may be anywhere.
function heightAbove(cluster, place) {
  const heights = points.y.slice(cluster.start, cluster.stop).sort();
  return Math.max(heights[Math.floor(0.9 * (heights.length - 1))] - place.y, 0);
}

function nearestMember(cluster, middle) {
  let best = cluster.start, least = Infinity;
  for (let position = cluster.start; position < cluster.stop; position++) {
    const distance = (points.x[position] - middle.x) ** 2 + (points.y[position] - middle.y) ** 2;
    if (distance < least) [best, least] = [position, distance];
  }
  return best;
}

// Bars for what is in view: one a point, or one for several neighbours with their highest and their median distance.
function paintBars() {
  const first = Math.max(0, Math.floor(models.positions.start));
  const last = Math.min(n, Math.ceil(models.positions.end));
  const step = Math.max(1, Math.ceil((last - first) / Math.max(models.figures.reachability.inner_width, 200)));
  const bars = { left: [], right: [], high: [], middle: [], label: [], alpha: [], faint: [] };
  const counts = new Int32Array(state.clusters.length + 1);
  const size = data.palette.light.length;
  const heights = heightsOfBars(first - (first % step), last, step);
  for (let start = first - (first % step), bar = 0; start < last; start += step, bar++) {
    const stop = Math.min(start + step, n);
    counts.fill(0);
    let lit = 0;
    for (let position = start; position < stop; position++) {
      counts[state.labels[position] < 0 ? counts.length - 1 : state.labels[position]]++;
      lit += state.selected[position];
    }
    let common = 0;
    for (let code = 1; code < counts.length; code++) if (counts[code] > counts[common]) common = code;
    const strength = !state.nSelected ? 1 : 0.15 + 0.85 * (lit / (stop - start));
    bars.left.push(start);
    bars.right.push(stop);
    bars.high.push(heights.high[bar]);
    bars.middle.push(heights.middle[bar]);
    bars.label.push(common === counts.length - 1 ? -1 : (common % size) + 0.5);
    bars.alpha.push(strength);
    bars.faint.push(0.4 * strength);
  }
  models.bars.data = bars;
  document.getElementById("thinning").textContent =
    step === 1 ? "" : `A bar stands for ${step} neighbours: full up to their median, faint up to their highest. Zoom in for each point.`;
}

// Of the bars in view, which stay the same whatever the clusters.
function heightsOfBars(first, last, step) {
  const key = `${first} ${last} ${step}`;
  if (barHeights.key === key) return barHeights;
  barHeights = { key, high: [], middle: [] };
  for (let start = first; start < last; start += step) {
    const values = points.reachability.slice(start, Math.min(start + step, n)).sort();
    barHeights.high.push(values[values.length - 1]);
    barHeights.middle.push(values[values.length >> 1]);
  }
  return barHeights;
}

function paintTree() {
  const counts = countSelected();
  const bars = { left: [], right: [], bottom: [], top: [], colour: [], alpha: [] };
  const range = models.figures.tree.y_range;
  state.parts.forEach((cluster, part) => {
    const label = state.joined[part];
    bars.left.push(cluster.start);
    bars.right.push(cluster.stop);
    bars.bottom.push(Math.max(cluster.death, range.start));
    bars.top.push(Math.min(cluster.birth, range.end));
    bars.colour.push(colourOf(label));
    bars.alpha.push(!state.nSelected ? 0.9 : 0.12 + (0.8 * counts[label]) / state.sizes[label]);
  });
  models.chosen.data = bars;
}

function paintStability() {
  const number = state.clusters.length;
  const known = state.number >= 0 && number <= data.scores.length && number > 0;
  models.current.data = known ? { x: [number], y: [data.scores[number - 1]] } : { x: [], y: [] };
}

function paintTheme() {
  const palette = data.palette[state.dark ? "dark" : "light"];
  models.colours.setv({ palette, low: 0, high: palette.length, low_color: colourOf(-1) });
  const [text, muted, line, card] = ["--text", "--muted", "--line", "--card"].map((name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  scatter.page = card;
  for (const figure of Object.values(models.figures)) {
    for (const axis of [...figure.below, ...figure.left]) {
      axis.setv({ axis_label_text_color: muted, major_label_text_color: muted, axis_line_color: line, major_tick_line_color: line });
    }
    for (const grid of figure.center) if ("grid_line_color" in grid) grid.setv({ grid_line_color: line, grid_line_alpha: 0.6 });
    for (const legend of figure.above) if ("label_text_color" in legend) legend.label_text_color = muted;
  }
  models.nameLabels.glyph.setv({ text_color: { value: text }, background_fill_color: { value: card } });
  if (models.figures.losses) {
    const colours = { "loss-loss": text, "loss-reconstruction_loss": state.dark ? "#5aa9e6" : "#0072b2", "loss-density_loss": state.dark ? "#f2854b" : "#d55e00" };
    for (const renderer of models.figures.losses.renderers) {
      if (colours[renderer.name]) renderer.glyph.line_color = { value: colours[renderer.name] };
    }
  }
}

// Tell `choose` of points chosen in a picture, `hover` of the point below the pointer, `ask` of a number of clusters.
function listenToPictures({ choose, hover, ask }) {
  const { embedding } = models.figures;
  linkRanges(models.figures.reachability.x_range, models.figures.tree.x_range);
  embedding.on_event("selectiongeometry", ({ geometry, final }) => {
    if (!final) return;
    const { x0, x1, y0, y1, x: xs, y: ys } = geometry;
    if (geometry.type === "rect") {
      choose((position) => points.x[position] >= x0 && points.x[position] <= x1 && points.y[position] >= y0 && points.y[position] <= y1);
    } else if (geometry.type === "poly") choose((position) => insidePolygon(xs, ys, points.x[position], points.y[position]));
  });
  embedding.on_event("tap", ({ x, y }) => {
    const nearest = nearestPoint(x, y);
    choose((position) => position === nearest);
  });
  embedding.on_event("mousemove", ({ x, y }) => hover(pointer.pressed ? undefined : nearestPoint(x, y)));
  embedding.on_event("mouseleave", () => hover(undefined));
  for (const name of ["reachability", "tree"]) {
    models.figures[name].on_event("selectiongeometry", ({ geometry, final }) => {
      if (final && geometry.type === "rect") choose((position) => position + 0.5 >= geometry.x0 && position + 0.5 <= geometry.x1);
    });
  }
  models.figures.tree.on_event("tap", ({ x, y }) => {
    const range = candidateAt(x, y);
    choose((position) => range && position >= range[0] && position < range[1]);
  });
  models.figures.reachability.on_event("tap", ({ x }) => {
    const label = state.labels[Math.floor(x)];
    choose((position) => label >= 0 && state.labels[position] === label);
  });
  models.figures.scores.on_event("tap", ({ x }) => {
    const number = Math.round(x);
    if (number >= 1 && number <= data.numbers.length) ask(number);
  });
  let waiting = false;
  const later = () => {
    if (!waiting) requestAnimationFrame(() => { waiting = false; paintBars(); });
    waiting = true;
  };
  for (const end of ["start", "end"]) models.positions.properties[end].change.connect(later);
  models.figures.reachability.properties.inner_width.change.connect(later);
  if (window.matchMedia("(pointer: coarse)").matches) {
    // Dragging a finger over a picture scrolls the page until a tool is picked.
    for (const figure of Object.values(models.figures)) {
      for (const tool of figure.toolbar.tools) if (tool.active) tool.active = false;
    }
  }
}

// The smallest candidate or chosen cluster drawn at a place.
function candidateAt(x, y) {
  let best = null;
  for (const source of [models.candidates, models.chosen]) {
    const { left, right, bottom, top } = source.data;
    for (let bar = 0; bar < left.length; bar++) {
      const inside = x >= left[bar] && x < right[bar] && y >= bottom[bar] && y <= top[bar];
      if (inside && (!best || right[bar] - left[bar] < best[1] - best[0])) best = [left[bar], right[bar]];
    }
  }
  return best;
}
