// What is known about the points. A point is told by its position in the order of the tree, in which every cluster is
// one range, its branch; so a clustering is a list of ranges, with the labels of points around them, its outskirts.
// Fewer clusters than were found are made of these: each is one or more of the parts.

const data = JSON.parse(document.getElementById("report-data").textContent);

function unpack(text, Kind) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = characters.charCodeAt(place);
  return new Kind(bytes.buffer);
}

// Ways to look at the points. `points` holds the places of the one that is shown.
const views = data.views.map((view) => ({ ...view, x: unpack(view.x, Float32Array), y: unpack(view.y, Float32Array) }));
const points = {
  x: views[0].x,
  y: views[0].y,
  row: unpack(data.points.row, Int32Array),
  reachability: unpack(data.points.reachability, Float32Array),
  leaving: unpack(data.points.leaving, Float32Array),
  outlier: unpack(data.points.outlier, Float32Array),
};
const n = points.x.length;
const truth = data.truth && { names: data.truth.names, codes: unpack(data.truth.codes, Int32Array) };
const positionOfRow = new Int32Array(n);
for (let position = 0; position < n; position++) positionOfRow[points.row[position]] = position;

const state = {
  view: views[0],
  number: 0, // of clusters asked for; 0 for the clustering as fitted, −1 for the first layer, −2 for the next
  clusters: [], // records, by label
  parts: [], // records of the branches of all clusters
  joined: [], // the label of each part
  part: new Int32Array(n), // of each point
  labels: new Float32Array(n), // as the colour mapper wants them
  titles: [], // the names of the clusters, by label
  sizes: [], // of the clusters, by label
  leaving: points.leaving, // the distance at which a point leaves its cluster
  selected: new Uint8Array(n),
  nSelected: 0,
  colour: null, // of points, by something else than their cluster
  colourBy: "cluster",
  dark: false,
};

function useNumber(number) {
  const chosen = number === 0 ? data.fitted : number < 0 ? data.layers[-number - 1] : data.numbers[number - 1];
  const whole = chosen.joined ? data.found : chosen;
  state.number = number > 0 && number === data.fittedNumber ? 0 : number;
  state.clusters = chosen.clusters.map((cluster) => data.clusters[cluster]);
  state.parts = whole.clusters.map((cluster) => data.clusters[cluster]);
  state.joined = chosen.joined || [...state.parts.keys()];
  state.leaving = whole.leaving ? unpack(whole.leaving, Float32Array) : points.leaving;
  state.part = new Int32Array(n).fill(-1);
  state.parts.forEach(({ start, stop }, part) => state.part.fill(part, start, stop));
  if (whole.outside) addOutside(whole);
  state.labels = Float32Array.from(state.part, (part) => (part < 0 ? -1 : state.joined[part]));
  state.sizes = new Array(state.clusters.length).fill(0);
  for (let position = 0; position < n; position++) if (state.labels[position] >= 0) state.sizes[state.labels[position]]++;
  findTitles();
}

// The parts of points in no range, one after the other; or of all points, where not all in a range belong to it.
function addOutside({ outside, narrow }) {
  const given = unpack(outside, narrow ? Uint8Array : Int32Array);
  const noise = narrow ? 255 : -1;
  const all = given.length === n;
  for (let position = 0, place = 0; position < n; position++) {
    if (!all && state.part[position] >= 0) continue;
    const part = given[place++];
    state.part[position] = part === noise ? -1 : part;
  }
}

function strengthOf(position) {
  if (state.part[position] < 0) return 0;
  const { start, stop, birth } = state.parts[state.part[position]];
  const { core } = state.clusters[state.labels[position]];
  const inside = position >= start && position < stop;
  return Math.min(core / (inside ? state.leaving[position] : Math.max(points.leaving[position], birth)), 1);
}

function nameOf(position) {
  return data.ids ? data.ids[position] : `row ${points.row[position]}`;
}

function countNoise() {
  return n - state.sizes.reduce((sum, size) => sum + size, 0);
}

function selectWhere(test) {
  state.nSelected = 0;
  for (let position = 0; position < n; position++) {
    state.selected[position] = test(position) ? 1 : 0;
    state.nSelected += state.selected[position];
  }
}

function selectedPositions(most = n) {
  const positions = [];
  for (let position = 0; position < n && positions.length < most; position++) {
    if (state.selected[position]) positions.push(position);
  }
  return positions;
}

// How many of the selected points each cluster holds, noise last.
function countSelected() {
  const counts = new Array(state.clusters.length + 1).fill(0);
  for (let position = 0; position < n; position++) {
    if (state.selected[position]) counts[state.labels[position] < 0 ? counts.length - 1 : state.labels[position]]++;
  }
  return counts;
}

// The farthest outside first; sorting all points would be felt.
function mostOutlying(most) {
  const found = [];
  for (let position = 0; position < n; position++) {
    if (found.length === most && points.outlier[position] <= points.outlier[found[most - 1]]) continue;
    let place = found.length;
    while (place > 0 && points.outlier[found[place - 1]] < points.outlier[position]) place--;
    found.splice(place, 0, position);
    found.length = Math.min(found.length, most);
  }
  return found;
}

// The most frequent given label of each cluster's points, and its share.
function commonTruths() {
  const counts = state.clusters.map(() => new Map());
  for (let position = 0; position < n; position++) {
    const own = counts[state.labels[position]], code = truth.codes[position];
    if (own) own.set(code, (own.get(code) || 0) + 1);
  }
  return counts.map((own, label) => {
    const [best, amount] = [...own].reduce((most, entry) => (entry[1] > most[1] || (entry[1] === most[1] && entry[0] < most[0]) ? entry : most));
    return { name: truth.names[best], share: amount / state.sizes[label] };
  });
}

// Adjusted Rand index of the clusters and the given labels of their points; noise is left out.
function agreementWithTruth() {
  const k = state.clusters.length;
  const rows = new Float64Array(k);
  const columns = new Float64Array(truth.names.length);
  const few = k * columns.length <= 1e6; // else most pairs of a cluster and a label never occur
  const cells = few ? new Float64Array(k * columns.length) : new Map();
  let clustered = 0;
  for (let position = 0; position < n; position++) {
    const label = state.labels[position];
    if (label < 0) continue;
    clustered++;
    const code = truth.codes[position];
    const cell = label * columns.length + code;
    if (few) cells[cell]++;
    else cells.set(cell, (cells.get(cell) || 0) + 1);
    rows[label]++;
    columns[code]++;
  }
  const pairs = (counts) => [...counts].reduce((sum, count) => sum + (count * (count - 1)) / 2, 0);
  const together = pairs(cells.values());
  const inRows = pairs(rows);
  const inColumns = pairs(columns);
  const expected = (inRows * inColumns) / Math.max((clustered * (clustered - 1)) / 2, 1);
  const most = (inRows + inColumns) / 2;
  if (clustered === 0) return NaN;
  return most === expected ? 1 : (together - expected) / (most - expected);
}

// A cell as text: what a spreadsheet would take for a formula gets an apostrophe.
function quoteCell(value) {
  const formula = /^'*[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value));
  const text = formula ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// The selected rows, or all if none is selected, in the order of the data; a part for so many rows at a time.
function* selectionAsCsv(rowsAtOnce = 5000) {
  const header = ["row", ...(data.ids ? ["id"] : []), "label", ...(givenNames.size ? ["cluster_name"] : []), "probability", "outlier_score", ...(truth ? ["given_label"] : [])];
  // What is chosen may change between two parts of the file.
  const labels = state.labels.slice();
  const titles = givenNames.size ? state.titles : null;
  const strengths = Float64Array.from({ length: n }, (_, position) => strengthOf(position));
  const selected = state.nSelected ? state.selected.slice() : null;
  yield `${header.join(",")}\r\n`;
  for (let first = 0; first < n; first += rowsAtOnce) {
    let lines = "";
    for (let row = first; row < Math.min(first + rowsAtOnce, n); row++) {
      const position = positionOfRow[row];
      if (selected && !selected[position]) continue;
      lines += `${row},${data.ids ? `${quoteCell(data.ids[position])},` : ""}${labels[position]},${titles ? `${quoteCell(titles[labels[position]] || "")},` : ""}${strengths[position].toPrecision(6)}`;
      lines += `,${points.outlier[position].toPrecision(6)}${truth ? `,${quoteCell(truth.names[truth.codes[position]])}` : ""}\r\n`;
    }
    yield lines;
  }
}
