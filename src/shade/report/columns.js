// The columns of the data that are in the file: their values, what they say about a selection, and colours by them.

const KINDS = { u1: Uint8Array, u2: Uint16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
const EMPTY = { u1: 255, u2: 65535, i4: -1 };
const STEPS = 32; // colours of a scale
const MOST_COLOURED = 10; // values of a column that have a colour each
const SCALES = { // viridis without what would vanish before the page
  light: ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#d8cf20"],
  dark: ["#6f6fd8", "#3f8fc5", "#22a884", "#7ad151", "#fde725"],
};
const columns = data.columns;

function arrayOf(column) {
  if (!column.array) column.array = unpack(column.values, KINDS[column.type]);
  return column.array;
}

// The value of a point, null for an empty cell.
function valueAt(column, position) {
  const found = arrayOf(column)[position];
  if (!column.levels || column.sorted) return Number.isNaN(found) ? null : found;
  return found === EMPTY[column.type] ? null : column.levels[found];
}

function textOf(column, value) {
  if (value === null) return "—";
  if (column.date) return new Date(Math.round(value * 86400) * 1000).toISOString().replace(/T00:00:00\.000Z$|\.000Z$/, "");
  if (column.text || Number.isInteger(value)) return String(value);
  return Number(value.toPrecision(column.type === "f4" ? 6 : 12)).toString();
}

// For each point, the place of its value in `levels`, which are sorted; −1 for an empty cell.
function codesOf(column) {
  if (column.codes) return column.codes;
  const given = arrayOf(column);
  const codes = new Int32Array(n);
  if (column.levels) {
    const empty = EMPTY[column.type];
    for (let position = 0; position < n; position++) codes[position] = given[position] === empty ? -1 : given[position];
  } else {
    const sorted = given.slice().sort(); // NaN last
    const levels = sorted.filter((value, place) => !Number.isNaN(value) && value !== sorted[place - 1]);
    for (let position = 0; position < n; position++) {
      const value = given[position];
      let low = 0, high = levels.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (levels[middle] < value) low = middle + 1;
        else high = middle;
      }
      codes[position] = Number.isNaN(value) ? -1 : low;
    }
    Object.assign(column, { levels, sorted: true });
  }
  column.codes = codes;
  return codes;
}

// How often each level occurs in the selection and in the rest, and by how much these differ: Cliff's delta of numbers,
// and the largest difference of shares of text; 0 where nothing is selected.
function compareColumn(column) {
  const codes = codesOf(column);
  const own = new Float64Array(column.levels.length), rest = new Float64Array(column.levels.length);
  let nOwn = 0, nRest = 0;
  for (let position = 0; position < n; position++) {
    const code = codes[position];
    if (code < 0) continue;
    if (state.selected[position]) { own[code]++; nOwn++; } else { rest[code]++; nRest++; }
  }
  let effect = 0;
  if (nOwn && nRest) {
    let below = 0;
    for (let code = 0; code < own.length; code++) {
      if (column.text) {
        const difference = own[code] / nOwn - rest[code] / nRest;
        if (Math.abs(difference) > Math.abs(effect)) effect = difference;
      } else {
        effect += (own[code] / nOwn) * ((2 * below + rest[code]) / nRest - 1);
        below += rest[code];
      }
    }
  }
  return { column, own, rest, nOwn, nRest, effect };
}

// The level up to which a share of the counted values reaches.
function quantileOf(levels, counts, total, share) {
  let sum = 0;
  for (let code = 0; code < levels.length; code++) {
    sum += counts[code];
    if (sum >= share * total && sum > 0) return levels[code];
  }
  return levels[levels.length - 1];
}

function mixColours(share) {
  const scale = SCALES[state.dark ? "dark" : "light"];
  const place = share * (scale.length - 1);
  const [low, high] = [scale[Math.floor(place)], scale[Math.ceil(place)]].map(readColour);
  return `#${low.map((level, channel) => Math.round(level + (high[channel] - level) * (place % 1)).toString(16).padStart(2, "0")).join("")}`;
}

// Colours along a scale from low to high; values outside have the colours of its ends.
function colourByNumbers(valueOf, low, high) {
  const codes = new Int32Array(n);
  for (let position = 0; position < n; position++) {
    const value = valueOf(position);
    const share = high > low ? (value - low) / (high - low) : 0.5;
    codes[position] = value === null ? -1 : Math.floor(Math.min(Math.max(share, 0), 0.9999) * STEPS);
  }
  const palette = Array.from({ length: STEPS }, (_, step) => mixColours(step / (STEPS - 1)));
  return { codes, palette, ends: [low, high] };
}

// A colour each for the most frequent texts; the others are grey.
function colourByTexts(texts, codes) {
  const counts = new Float64Array(texts.length);
  for (const code of codes) if (code >= 0) counts[code]++;
  const common = [...counts.keys()].sort((one, other) => counts[other] - counts[one] || one - other).slice(0, MOST_COLOURED);
  const places = new Int32Array(texts.length).fill(-1);
  common.forEach((code, place) => { places[code] = place; });
  const named = common.map((code) => texts[code]);
  return { codes: codes.map((code) => (code < 0 ? -1 : places[code])), palette: null, named, others: texts.length > common.length };
}

// What points are coloured by: null for their cluster, "label", "probability", "outlier" or the number of a column.
function useColour(by) {
  state.colourBy = by;
  if (by === "cluster") state.colour = null;
  else if (by === "label") state.colour = colourByTexts(truth.names, truth.codes);
  else if (by === "probability") state.colour = colourByNumbers(strengthOf, 0, 1);
  else if (by === "outlier") state.colour = colourByNumbers((position) => points.outlier[position], 0, 1);
  else {
    const column = columns[by];
    const codes = codesOf(column);
    if (column.text) state.colour = colourByTexts(column.levels, codes);
    else {
      const counts = new Float64Array(column.levels.length);
      let total = 0;
      for (const code of codes) if (code >= 0) { counts[code]++; total++; }
      const [low, high] = [0.01, 0.99].map((share) => quantileOf(column.levels, counts, total, share));
      state.colour = colourByNumbers((position) => valueAt(column, position), low, high);
    }
  }
}

// The points whose name, given label or text contains what is searched for, in upper or lower case; for rows without
// names, a whole number is the number of a row.
function findPoints(text) {
  const wanted = text.trim().toLowerCase();
  if (!data.ids && /^\d+$/.test(wanted) && Number(wanted) < n) return (position) => points.row[position] === Number(wanted);
  const contains = (value) => value.toLowerCase().includes(wanted);
  const places = [truth && { levels: truth.names, codes: truth.codes }, ...columns.filter((column) => column.text).map((column) => ({ levels: column.levels, codes: codesOf(column) }))]
    .filter(Boolean).map(({ levels, codes }) => ({ codes, found: levels.map(contains) })).filter(({ found }) => found.includes(true));
  return (position) => places.some(({ codes, found }) => found[codes[position]]) || (data.ids !== null && contains(data.ids[position]));
}
